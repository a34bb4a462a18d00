//! Writes the models: types, their reading and writing, their checks.

mod builders;
mod checks;
mod docs;
mod equality;
mod json_schemas;
mod markdown;
mod records;
mod scalars;
mod strategies;
mod unions;
mod wider;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::{
    checks::{Check, Scope},
    options::Options,
    rust_types::{Equality, RustTypes},
    schema::{Graph, SchemaId},
    shape::{Body, Defaults, Holders, IntKind, Shapes, TypeDef, TypeId, TypeRef},
    tables::TableSet,
    together::{Conj, Facts},
};

pub(crate) use docs::any_deprecated;
pub(crate) use json_schemas::Text;
pub use markdown::markdown;
pub(crate) use markdown::sentence;
pub(crate) use scalars::string_enum;

/// An identifier from a name that may be raw.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// What a module of models names of the runtime, beside what its macros name themselves; in the order
/// of its `use`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Runtime {
    Contract,
    Json,
    Map,
    Nullable,
    Number,
    Secret,
    /// The module that some conditions call.
    Conditions,
    IsApart,
    Validator,
    AtLeast,
    AtMost,
}

impl Runtime {
    /// Below the runtime.
    fn path(self) -> TokenStream {
        match self {
            Self::Contract => quote!(Contract),
            Self::Json => quote!(Json),
            Self::Map => quote!(Map),
            Self::Nullable => quote!(Nullable),
            Self::Number => quote!(Number),
            Self::Secret => quote!(Secret),
            Self::Conditions => quote!(contract),
            Self::IsApart => quote!(read::is_apart),
            Self::Validator => quote!(schema::Validator),
            Self::AtLeast => quote!(text::char_count_at_least),
            Self::AtMost => quote!(text::char_count_at_most),
        }
    }
}

/// What the module that is being written names from outside it.
#[derive(Debug, Default)]
struct Imports {
    runtime: BTreeSet<Runtime>,
    /// Types of other areas: area, name.
    siblings: BTreeSet<(String, String)>,
}

/// All that writing a model needs to know.
#[derive(Debug)]
pub struct Emitter<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    tables: &'a TableSet<'a>,
    implied_objects: bool,
    builders: BTreeSet<TypeId>,
    /// Types that can hold undeclared members, at any depth.
    with_members: Holders,
    /// Types that can hold secrets.
    with_secrets: Holders,
    equality: equality::Equalities,
    defaults: Defaults,
    options: Option<&'a Options>,
    area: RefCell<String>,
    imports: RefCell<Imports>,
}

impl<'a> Emitter<'a> {
    /// Prepares to write the types of a contract; `builders` get a builder.
    #[must_use]
    pub fn new(
        graph: &'a Graph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
        builders: BTreeSet<TypeId>,
    ) -> Self {
        let is_open = |body: &Body| matches!(body, Body::Struct(body) if body.additional.is_none());
        Self {
            graph,
            shapes,
            tables,
            implied_objects,
            builders,
            with_members: Holders::of(shapes, is_open, |_| false),
            with_secrets: Holders::of(shapes, |_| false, |ty| *ty == TypeRef::Secret),
            equality: equality::Equalities::of(shapes, &BTreeSet::new()),
            defaults: Defaults::of(shapes),
            options: None,
            area: RefCell::default(),
            imports: RefCell::default(),
        }
    }

    /// Says which types of the owner are generated too, beside the models.
    #[must_use]
    pub fn beside(mut self, generated: &BTreeSet<String>) -> Self {
        self.equality = equality::Equalities::of(self.shapes, generated);
        self
    }

    /// Says which attributes the owner gives to types and fields.
    #[must_use]
    pub fn dressed(mut self, options: &'a Options) -> Self {
        self.options = Some(options);
        self
    }

    /// The modules of the models, by name: one for each area.
    #[must_use]
    pub fn areas(&self) -> BTreeMap<String, TokenStream> {
        let mut areas: BTreeMap<String, Vec<TypeId>> = BTreeMap::new();
        for id in self.shapes.ids() {
            areas.entry(self.shapes.get(id).area.clone()).or_default().push(id);
        }
        let checks = Scope::new(self.graph, self.shapes, self.tables, self.implied_objects).checks();
        areas
            .into_iter()
            .map(|(area, mut ids)| {
                ids.sort_by(|a, b| self.shapes.get(*a).name.cmp(&self.shapes.get(*b).name));
                self.area.replace(area.clone());
                let items: Vec<TokenStream> =
                    ids.into_iter().map(|id| self.item(id, checks.of(id))).collect();
                let uses = self.uses();
                (area, quote!(#uses #(#items)*))
            })
            .collect()
    }

    /// Remembers that the module that is being written names something of the runtime.
    fn import(&self, what: Runtime) {
        self.imports.borrow_mut().runtime.insert(what);
    }

    /// The `use` lines of the module that was written.
    fn uses(&self) -> TokenStream {
        let Imports { runtime, siblings } = self.imports.take();
        // Where a type is written with its conditions, its validator is named.
        let conditions = runtime.contains(&Runtime::Validator).then(|| {
            quote! {
                #![allow(clippy::nonminimal_bool, reason = "one condition for each rule of the schema")]
            }
        });
        let runtime: Vec<TokenStream> = runtime.iter().map(|each| each.path()).collect();
        let runtime = (!runtime.is_empty()).then(|| quote!(use ::contract_runtime::{#(#runtime),*};));
        let mut areas: BTreeMap<String, Vec<Ident>> = BTreeMap::new();
        for (area, name) in siblings {
            areas.entry(area).or_default().push(ident(&name));
        }
        let siblings = areas.into_iter().map(|(area, names)| {
            let area = ident(&area);
            quote!(#area::{#(#names),*},)
        });
        quote! {
            #conditions
            #runtime
            use super::{schemas, #(#siblings)*};
        }
    }

    /// The module `types`: every model by its own name.
    #[must_use]
    pub fn reexports(&self) -> TokenStream {
        let mut areas: BTreeMap<&str, Vec<Ident>> = BTreeMap::new();
        for def in &self.shapes.types {
            areas.entry(&def.area).or_default().push(ident(&def.name));
        }
        let uses = areas.into_iter().map(|(area, mut names)| {
            names.sort();
            let area = ident(area);
            quote!(pub use super::#area::{#(#names),*};)
        });
        quote!(#(#uses)*)
    }

    fn item(&self, id: TypeId, check: &Check) -> TokenStream {
        let def = self.shapes.get(id);
        let body = match &def.body {
            Body::Struct(body) => self.record(id, def, body),
            Body::Tagged(body) => self.tagged(id, def, body),
            Body::ByKind(variants) => self.by_kind(id, def, variants),
            Body::Enum(list) => self.string_enum(def, list),
            Body::Newtype(inner) => self.newtype(id, def, inner),
            Body::Pending => TokenStream::new(),
        };
        let contract = self.contract(def, check);
        quote!(#body #contract)
    }

    fn contract(&self, def: &TypeDef, check: &Check) -> TokenStream {
        let name = ident(&def.name);
        let row = self.tables.row(&def.conj);
        if matches!(check, Check::Always) {
            return quote!(::contract_runtime::contract!(#name = schemas::validator(#row)););
        }
        self.import(Runtime::Contract);
        self.import(Runtime::Validator);
        let check = self.check(check);
        quote! {
            impl Contract for #name {
                const VALIDATOR: Validator<'static> = schemas::validator(#row);

                fn is_valid(&self) -> bool {
                    #check
                }
            }
        }
    }

    /// What a type derives of `Clone`, `Debug`, `PartialEq`, `Eq` and `Hash`.
    fn derives(&self, id: TypeId) -> TokenStream {
        let equality = self.equality.of_type(id).derives();
        quote!(Clone, Debug, #equality)
    }

    /// The Rust type of a place, as seen from the module that is being written.
    fn ty(&self, ty: &TypeRef) -> TokenStream {
        match ty {
            TypeRef::Json => {
                self.import(Runtime::Json);
                quote!(Json)
            }
            TypeRef::Bool => quote!(bool),
            TypeRef::Int(IntKind::I64) => quote!(i64),
            TypeRef::Int(IntKind::U64) => quote!(u64),
            TypeRef::Number => {
                self.import(Runtime::Number);
                quote!(Number)
            }
            TypeRef::String => quote!(String),
            TypeRef::Secret => {
                self.import(Runtime::Secret);
                quote!(Secret)
            }
            TypeRef::Named(id) => {
                let def = self.shapes.get(*id);
                if *self.area.borrow() != def.area {
                    self.imports.borrow_mut().siblings.insert((def.area.clone(), def.name.clone()));
                }
                let name = ident(&def.name);
                quote!(#name)
            }
            TypeRef::Replaced(path, _) => path.parse().unwrap_or_else(|_| quote!(Json)),
            TypeRef::Vec(inner) => wrap(quote!(Vec), &self.ty(inner)),
            TypeRef::Map(inner) => {
                self.import(Runtime::Map);
                wrap(quote!(Map), &self.ty(inner))
            }
            TypeRef::Nullable(inner) => {
                self.import(Runtime::Nullable);
                wrap(quote!(Nullable), &self.ty(inner))
            }
            TypeRef::Boxed(inner) => wrap(quote!(Box), &self.ty(inner)),
            TypeRef::Tuple(inner) => {
                let inner = inner.iter().map(|t| self.ty(t));
                quote!((#(#inner,)*))
            }
        }
    }

    fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.graph, conj, self.implied_objects)
    }

    fn holds_members(&self, ty: &TypeRef) -> bool {
        self.with_members.of_place(ty)
    }
}

fn wrap(outer: TokenStream, inner: &TokenStream) -> TokenStream {
    quote!(#outer<#inner>)
}

impl RustTypes for Emitter<'_> {
    fn rust_type(&self, ty: &TypeRef) -> TokenStream {
        full_type(self.shapes, ty)
    }

    fn name<'s>(&'s self, ty: &TypeRef) -> Option<&'s str> {
        match ty {
            TypeRef::Named(id) => Some(&self.shapes.get(*id).name),
            _ => None,
        }
    }

    fn is_copy(&self, ty: &TypeRef) -> bool {
        self.shapes.is_copy(ty)
    }

    fn equality(&self, ty: &TypeRef) -> Equality {
        self.equality.of_place(ty)
    }

    fn validator(&self, schema: SchemaId) -> TokenStream {
        let row = self.tables.row_of(schema);
        quote!(schemas::validator(#row))
    }
}

/// A type as seen from a module beside the areas.
fn full_type(shapes: &Shapes, ty: &TypeRef) -> TokenStream {
    let runtime = quote!(::contract_runtime);
    match ty {
        TypeRef::Json => quote!(#runtime::Json),
        TypeRef::Bool => quote!(bool),
        TypeRef::Int(IntKind::I64) => quote!(i64),
        TypeRef::Int(IntKind::U64) => quote!(u64),
        TypeRef::Number => quote!(#runtime::Number),
        TypeRef::String => quote!(String),
        TypeRef::Secret => quote!(#runtime::Secret),
        TypeRef::Named(id) => {
            let name = ident(&shapes.get(*id).name);
            quote!(super::types::#name)
        }
        TypeRef::Replaced(path, _) => path.parse().unwrap_or_else(|_| quote!(#runtime::Json)),
        TypeRef::Vec(inner) => wrap(quote!(Vec), &full_type(shapes, inner)),
        TypeRef::Map(inner) => wrap(quote!(#runtime::Map), &full_type(shapes, inner)),
        TypeRef::Nullable(inner) => wrap(quote!(#runtime::Nullable), &full_type(shapes, inner)),
        TypeRef::Boxed(inner) => wrap(quote!(Box), &full_type(shapes, inner)),
        TypeRef::Tuple(inner) => {
            let inner = inner.iter().map(|t| full_type(shapes, t));
            quote!((#(#inner,)*))
        }
    }
}
