//! Generates the models: type definitions, their reading and writing, and their checks.

mod builders;
mod checks;
mod conversions;
mod docs;
mod equality;
mod json_schemas;
mod markdown;
mod records;
mod scalars;
mod strategies;
mod unions;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::{
    checks::{Check, CheckScope},
    conjunction::{SchemaConjunction, SchemaFacts},
    options::SchemaOptions,
    rust_types::{EqualityTraits, RustTypes},
    schema::{SchemaGraph, SchemaId},
    shape::{ContainmentIndex, DefaultableTypes, IntKind, Shapes, TypeBody, TypeDef, TypeId, TypeRef},
    tables::TableSet,
};

pub(crate) use docs::any_deprecated;
pub(crate) use json_schemas::ExtraStringEnum;
pub(crate) use markdown::end_sentence;
pub use markdown::rustdoc_markdown;
pub(crate) use scalars::string_enum_macro;

/// Returns an identifier for a name, which may start with `r#`.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// The runtime items that a module of models imports, in the order of its `use` declaration. Macros name
/// further ones themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RuntimeImport {
    Contract,
    Json,
    Map,
    Nullable,
    Number,
    Secret,
    /// The module whose functions some checks call.
    Conditions,
    IsApart,
    Validator,
    AtLeast,
    AtMost,
}

impl RuntimeImport {
    /// Returns the path below the runtime crate.
    fn import_path(self) -> TokenStream {
        match self {
            Self::Contract => quote!(Contract),
            Self::Json => quote!(Json),
            Self::Map => quote!(Map),
            Self::Nullable => quote!(Nullable),
            Self::Number => quote!(Number),
            Self::Secret => quote!(Secret),
            Self::Conditions => quote!(contract),
            Self::IsApart => quote!(read::is_disjoint),
            Self::Validator => quote!(schema::Validator),
            Self::AtLeast => quote!(text::char_count_at_least),
            Self::AtMost => quote!(text::char_count_at_most),
        }
    }
}

/// The imports that the current module needs.
#[derive(Debug, Default)]
struct ModuleImports {
    runtime: BTreeSet<RuntimeImport>,
    /// Types of other areas, as area and name.
    siblings: BTreeSet<(String, String)>,
}

/// Generates the models of a contract.
#[derive(Debug)]
pub struct ModelEmitter<'a> {
    graph: &'a SchemaGraph,
    shapes: &'a Shapes,
    tables: &'a TableSet<'a>,
    implied_objects: bool,
    builders: BTreeSet<TypeId>,
    /// Types that may contain undeclared properties, at any depth.
    may_hold_undeclared: ContainmentIndex,
    /// Types that may contain secrets, at any depth.
    may_hold_secrets: ContainmentIndex,
    equality: equality::TypeEqualities,
    defaults: DefaultableTypes,
    options: Option<&'a SchemaOptions>,
    area: RefCell<String>,
    imports: RefCell<ModuleImports>,
}

impl<'a> ModelEmitter<'a> {
    /// Prepares to generate the types of a contract; the types in `builders` get a builder.
    #[must_use]
    pub fn new(
        graph: &'a SchemaGraph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
        builders: BTreeSet<TypeId>,
    ) -> Self {
        let is_open = |body: &TypeBody| matches!(body, TypeBody::Struct(body) if body.additional.is_none());
        Self {
            graph,
            shapes,
            tables,
            implied_objects,
            builders,
            may_hold_undeclared: ContainmentIndex::from_predicates(shapes, is_open, |_| false),
            may_hold_secrets: ContainmentIndex::from_predicates(
                shapes,
                |_| false,
                |ty| *ty == TypeRef::Secret,
            ),
            equality: equality::TypeEqualities::from_shapes(shapes, &BTreeSet::new()),
            defaults: DefaultableTypes::from_shapes(shapes),
            options: None,
            area: RefCell::default(),
            imports: RefCell::default(),
        }
    }

    /// Registers generated types outside the models, which implement all equality traits.
    #[must_use]
    pub fn with_generated_types(mut self, generated: &BTreeSet<String>) -> Self {
        self.equality = equality::TypeEqualities::from_shapes(self.shapes, generated);
        self
    }

    /// Applies the configured attributes to types and fields.
    #[must_use]
    pub fn with_attributes(mut self, options: &'a SchemaOptions) -> Self {
        self.options = Some(options);
        self
    }

    /// Generates the modules of the models, one for each area, by name.
    #[must_use]
    pub fn area_modules(&self) -> BTreeMap<String, TokenStream> {
        let mut areas: BTreeMap<String, Vec<TypeId>> = BTreeMap::new();
        for id in self.shapes.ids() {
            areas.entry(self.shapes.get(id).area.clone()).or_default().push(id);
        }
        let checks =
            CheckScope::new(self.graph, self.shapes, self.tables, self.implied_objects).build_checks();
        areas
            .into_iter()
            .map(|(area, mut ids)| {
                ids.sort_by(|a, b| self.shapes.get(*a).name.cmp(&self.shapes.get(*b).name));
                self.area.replace(area.clone());
                let items: Vec<TokenStream> =
                    ids.into_iter().map(|id| self.type_item(id, checks.for_type(id))).collect();
                let uses = self.use_items();
                (area, quote!(#uses #(#items)*))
            })
            .collect()
    }

    /// Records that the current module uses a runtime item.
    fn add_import(&self, what: RuntimeImport) {
        self.imports.borrow_mut().runtime.insert(what);
    }

    /// Returns the `use` declarations of the current module and resets them.
    fn use_items(&self) -> TokenStream {
        let ModuleImports { runtime, siblings } = self.imports.take();
        // Modules with expanded checks import `Validator`.
        let conditions = runtime.contains(&RuntimeImport::Validator).then(|| {
            quote! {
                #![allow(clippy::nonminimal_bool, reason = "one condition for each rule of the schema")]
            }
        });
        let runtime: Vec<TokenStream> = runtime.iter().map(|each| each.import_path()).collect();
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

    /// Generates the module `types`, which re-exports every model.
    #[must_use]
    pub fn types_module(&self) -> TokenStream {
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

    fn type_item(&self, id: TypeId, check: &Check) -> TokenStream {
        let def = self.shapes.get(id);
        let body = match &def.body {
            TypeBody::Struct(body) => self.struct_item(id, def, body),
            TypeBody::Objects(body) => self.object_union_item(id, def, body),
            TypeBody::ByKind(variants) => self.kind_union_item(id, def, variants),
            TypeBody::Enum(list) => self.string_enum_item(def, list),
            TypeBody::Newtype(inner) => self.newtype_item(id, def, inner),
            TypeBody::Pending => TokenStream::new(),
        };
        let contract = self.contract_impl(def, check);
        quote!(#body #contract)
    }

    fn contract_impl(&self, def: &TypeDef, check: &Check) -> TokenStream {
        let name = ident(&def.name);
        let row = self.tables.row_expression(&def.conj);
        if matches!(check, Check::Always) {
            return quote!(::contract_runtime::unconstrained_contract!(#name = schemas::validator(#row)););
        }
        self.add_import(RuntimeImport::Contract);
        self.add_import(RuntimeImport::Validator);
        let check = self.check_expression(check);
        quote! {
            impl Contract for #name {
                const VALIDATOR: Validator<'static> = schemas::validator(#row);

                fn is_valid(&self) -> bool {
                    #check
                }
            }
        }
    }

    /// Returns the derive list of a type.
    fn derive_list(&self, id: TypeId) -> TokenStream {
        let equality = self.equality.equality_of_type(id).derive_list();
        quote!(Clone, Debug, #equality)
    }

    /// Returns the Rust type as seen from the current module.
    fn type_tokens(&self, ty: &TypeRef) -> TokenStream {
        match ty {
            TypeRef::Json => {
                self.add_import(RuntimeImport::Json);
                quote!(Json)
            }
            TypeRef::Bool => quote!(bool),
            TypeRef::Int(IntKind::I64) => quote!(i64),
            TypeRef::Int(IntKind::U64) => quote!(u64),
            TypeRef::Number => {
                self.add_import(RuntimeImport::Number);
                quote!(Number)
            }
            TypeRef::String => quote!(String),
            TypeRef::Secret => {
                self.add_import(RuntimeImport::Secret);
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
            TypeRef::Vec(inner) => generic_type(quote!(Vec), &self.type_tokens(inner)),
            TypeRef::Map(inner) => {
                self.add_import(RuntimeImport::Map);
                generic_type(quote!(Map), &self.type_tokens(inner))
            }
            TypeRef::Nullable(inner) => {
                self.add_import(RuntimeImport::Nullable);
                generic_type(quote!(Nullable), &self.type_tokens(inner))
            }
            TypeRef::Boxed(inner) => generic_type(quote!(Box), &self.type_tokens(inner)),
            TypeRef::Tuple(inner) => {
                let inner = inner.iter().map(|t| self.type_tokens(t));
                quote!((#(#inner,)*))
            }
        }
    }

    fn facts_of(&self, conj: &SchemaConjunction) -> SchemaFacts {
        SchemaFacts::from_conjunction(self.graph, conj, self.implied_objects)
    }

    fn holds_members(&self, ty: &TypeRef) -> bool {
        self.may_hold_undeclared.place_contains(ty)
    }
}

fn generic_type(outer: TokenStream, inner: &TokenStream) -> TokenStream {
    quote!(#outer<#inner>)
}

impl RustTypes for ModelEmitter<'_> {
    fn rust_type(&self, ty: &TypeRef) -> TokenStream {
        full_type(self.shapes, ty)
    }

    fn type_name<'s>(&'s self, ty: &TypeRef) -> Option<&'s str> {
        match ty {
            TypeRef::Named(id) => Some(&self.shapes.get(*id).name),
            _ => None,
        }
    }

    fn is_copy(&self, ty: &TypeRef) -> bool {
        self.shapes.is_copy(ty)
    }

    fn equality(&self, ty: &TypeRef) -> EqualityTraits {
        self.equality.equality_of(ty)
    }

    fn validator_expression(&self, schema: SchemaId) -> TokenStream {
        let row = self.tables.schema_row_expression(schema);
        quote!(schemas::validator(#row))
    }
}

/// Returns the Rust type as seen from a sibling of the areas.
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
        TypeRef::Vec(inner) => generic_type(quote!(Vec), &full_type(shapes, inner)),
        TypeRef::Map(inner) => generic_type(quote!(#runtime::Map), &full_type(shapes, inner)),
        TypeRef::Nullable(inner) => generic_type(quote!(#runtime::Nullable), &full_type(shapes, inner)),
        TypeRef::Boxed(inner) => generic_type(quote!(Box), &full_type(shapes, inner)),
        TypeRef::Tuple(inner) => {
            let inner = inner.iter().map(|t| full_type(shapes, t));
            quote!((#(#inner,)*))
        }
    }
}
