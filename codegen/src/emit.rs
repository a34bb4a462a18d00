//! Writes the models: types, their reading and writing, their checks.

mod builders;
mod checks;
mod docs;
mod records;
mod scalars;
mod unions;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use crate::{
    checks::{Check, Scope},
    rust_types::RustTypes,
    schema::{Graph, SchemaId},
    shape::{Body, IntKind, Shapes, TypeDef, TypeId, TypeRef},
    tables::TableSet,
    together::{Conj, Facts},
};

pub(crate) use docs::printable;
pub use docs::{limits, markdown};

/// An identifier from a name that may be raw.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// All that writing a model needs to know.
#[derive(Debug)]
pub struct Emitter<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes,
    tables: &'a TableSet,
    implied_objects: bool,
    builders: BTreeSet<TypeId>,
    with_members: BTreeMap<TypeId, bool>,
    area: RefCell<String>,
    mentioned: RefCell<BTreeSet<(String, String)>>,
}

impl<'a> Emitter<'a> {
    /// Prepares to write the types of a contract; `builders` get a builder.
    #[must_use]
    pub fn new(
        graph: &'a Graph,
        shapes: &'a Shapes,
        tables: &'a TableSet,
        implied_objects: bool,
        builders: BTreeSet<TypeId>,
    ) -> Self {
        let mut emitter = Self {
            graph,
            shapes,
            tables,
            implied_objects,
            builders,
            with_members: BTreeMap::new(),
            area: RefCell::default(),
            mentioned: RefCell::default(),
        };
        emitter.find_members();
        emitter
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
                let items = quote!(#(#items)*);
                let uses = self.imports(&items);
                (area, quote!(#uses #items))
            })
            .collect()
    }

    /// The `use` lines that a module's items need, found by what they mention.
    fn imports(&self, items: &TokenStream) -> TokenStream {
        let mut words = BTreeSet::new();
        collect(items.clone(), &mut words);
        let has = |word: &str| words.contains(word);
        let pick =
            |list: &[&str]| -> Vec<Ident> { list.iter().filter(|w| has(w)).map(|w| ident(w)).collect() };
        let group = |path: TokenStream, names: Vec<Ident>| -> Option<TokenStream> {
            (!names.is_empty()).then(|| quote!(#path::{#(#names),*},))
        };
        let top =
            pick(&["Contract", "Json", "Map", "Nullable", "Number", "Secret", "Undeclared", "contract"]);
        let read = {
            let mut names = pick(&["FromMap", "Key", "Read", "Tag"]);
            if has("read") {
                names.insert(0, ident("self"));
            }
            group(quote!(read), names)
        };
        let kind = has("Kind").then(|| quote!(json::Kind,));
        let text = group(quote!(text), pick(&["char_count_at_least", "char_count_at_most"]));
        let violation = group(quote!(violation), pick(&["Path", "Violations"]));
        let de = group(quote!(de), {
            let mut names = pick(&["Deserializer", "MapAccess"]);
            if has("de") {
                names.insert(0, ident("self"));
            }
            names
        });
        let ser = group(quote!(ser), pick(&["Serialize", "Serializer"]));
        let serde = (de.is_some() || ser.is_some()).then(|| quote!(use ::serde::{#de #ser};));
        let mut areas: BTreeMap<String, Vec<Ident>> = BTreeMap::new();
        for (area, name) in self.mentioned.take() {
            // A check may have been looked at without being written.
            if has(&name) {
                areas.entry(area).or_default().push(ident(&name));
            }
        }
        let siblings = areas.into_iter().map(|(area, names)| {
            let area = ident(&area);
            quote!(#area::{#(#names),*},)
        });
        quote! {
            #serde
            use ::contract_runtime::{#(#top,)* #kind #read schema::Validator, #text #violation};
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
            Body::Tagged(body) => self.tagged(def, body),
            Body::ByKind(variants) => self.by_kind(def, variants),
            Body::Enum(list) => self.string_enum(def, list),
            Body::Newtype(inner) => self.newtype(def, inner),
            Body::Pending => TokenStream::new(),
        };
        let contract = self.contract(def, check);
        quote!(#body #contract)
    }

    fn contract(&self, def: &TypeDef, check: &Check) -> TokenStream {
        let name = ident(&def.name);
        let row = row_literal(self.tables.row(&def.conj));
        let lint = check.has_alternatives().then(|| {
            quote!(#[allow(clippy::nonminimal_bool, reason = "one condition for each rule of the schema")])
        });
        let check = self.check(check);
        let (report, at, found) = self.report(def);
        quote! {
            impl Contract for #name {
                const VALIDATOR: Validator = schemas::validator(#row);

                #lint
                fn is_valid(&self) -> bool {
                    #check
                }

                fn report_undeclared(&self, #at: &Path<'_>, #found: &mut Undeclared) {
                    #report
                }
            }
        }
    }

    /// The Rust type of a place, as seen from the module that is being written.
    fn ty(&self, ty: &TypeRef) -> TokenStream {
        match ty {
            TypeRef::Json => quote!(Json),
            TypeRef::Bool => quote!(bool),
            TypeRef::Int(IntKind::I64) => quote!(i64),
            TypeRef::Int(IntKind::U64) => quote!(u64),
            TypeRef::Number => quote!(Number),
            TypeRef::String => quote!(String),
            TypeRef::Secret => quote!(Secret),
            TypeRef::Named(id) => {
                let name = self.mention(self.shapes.get(*id));
                quote!(#name)
            }
            TypeRef::Replaced(path, _) => path.parse().unwrap_or_else(|_| quote!(Json)),
            TypeRef::Vec(inner) => wrap(quote!(Vec), &self.ty(inner)),
            TypeRef::Map(inner) => wrap(quote!(Map), &self.ty(inner)),
            TypeRef::Nullable(inner) => wrap(quote!(Nullable), &self.ty(inner)),
            TypeRef::Boxed(inner) => wrap(quote!(Box), &self.ty(inner)),
            TypeRef::Tuple(inner) => {
                let inner = inner.iter().map(|t| self.ty(t));
                quote!((#(#inner,)*))
            }
        }
    }

    /// Remembers that the module that is being written mentions a type.
    fn mention(&self, def: &TypeDef) -> Ident {
        if *self.area.borrow() != def.area {
            self.mentioned.borrow_mut().insert((def.area.clone(), def.name.clone()));
        }
        ident(&def.name)
    }

    fn facts(&self, conj: &Conj) -> Facts {
        Facts::of(self.graph, conj, self.implied_objects)
    }

    /// Which types can hold undeclared members, at any depth.
    fn find_members(&mut self) {
        let mut found: BTreeMap<TypeId, bool> = self
            .shapes
            .ids()
            .map(|id| (id, matches!(&self.shapes.get(id).body, Body::Struct(s) if s.additional.is_none())))
            .collect();
        loop {
            let next: BTreeMap<TypeId, bool> = found
                .iter()
                .map(|(&id, &known)| {
                    let holds = |ty: &TypeRef| holds_members(ty, &found);
                    let inside = match &self.shapes.get(id).body {
                        Body::Struct(s) => s.fields.iter().any(|f| holds(&f.ty)),
                        Body::Tagged(t) => t.variants.iter().any(|v| holds(&v.ty)),
                        Body::ByKind(v) => v.iter().any(|v| holds(&v.ty)),
                        Body::Newtype(inner) => holds(inner),
                        Body::Enum(_) | Body::Pending => false,
                    };
                    (id, known || inside)
                })
                .collect();
            if next == found {
                break;
            }
            found = next;
        }
        self.with_members = found;
    }

    fn holds_members(&self, ty: &TypeRef) -> bool {
        holds_members(ty, &self.with_members)
    }

    /// The statements of `report_undeclared`, and how its two arguments are called.
    fn report(&self, def: &TypeDef) -> (TokenStream, Ident, Ident) {
        let body = match &def.body {
            Body::Struct(body) => self.report_record(def, body),
            Body::Tagged(body) => {
                let arms = body.variants.iter().map(|v| (&v.name, &v.ty));
                self.report_variants(arms, body.open)
            }
            Body::ByKind(variants) => self.report_variants(variants.iter().map(|v| (&v.name, &v.ty)), false),
            Body::Newtype(inner) => self.report_at(inner, &quote!(self.0), &quote!(&self.0), &quote!(at)),
            Body::Enum(_) | Body::Pending => None,
        };
        match body {
            Some(body) => (body, format_ident!("at"), format_ident!("found")),
            None => (TokenStream::new(), format_ident!("_at"), format_ident!("_found")),
        }
    }

    fn report_variants<'v>(
        &self,
        variants: impl Iterator<Item = (&'v String, &'v TypeRef)>,
        open: bool,
    ) -> Option<TokenStream> {
        let mut rest = open;
        let mut arms = Vec::new();
        for (name, ty) in variants {
            let name = ident(name);
            match self.report_at(ty, &quote!(value), &quote!(value), &quote!(at)) {
                Some(report) => arms.push((quote!(Self::#name(value)), report)),
                None => rest = true,
            }
        }
        match (arms.as_slice(), rest) {
            ([], _) => None,
            ([(variant, report)], true) => Some(quote!(if let #variant = self { #report; })),
            (arms, rest) => {
                let rest = rest.then(|| quote!(_ => {}));
                let arms = arms.iter().map(|(variant, report)| quote!(#variant => #report));
                Some(quote!(match self { #(#arms,)* #rest }))
            }
        }
    }

    /// A call that reports what is undeclared in a value, when anything can be.
    fn report_at(
        &self,
        ty: &TypeRef,
        recv: &TokenStream,
        by_ref: &TokenStream,
        at: &TokenStream,
    ) -> Option<TokenStream> {
        if !self.holds_members(ty) {
            return None;
        }
        let own = (at.to_string() != "at").then(|| quote!(let at = #at;));
        match ty {
            TypeRef::Named(_) | TypeRef::Boxed(_) => Some(quote!(#recv.report_undeclared(#at, found))),
            TypeRef::Nullable(inner) => {
                let inner = self.report_at(inner, &quote!(value), &quote!(value), at)?;
                Some(quote!(if let Nullable::Value(value) = #by_ref { #inner; }))
            }
            TypeRef::Vec(inner) => match **inner {
                TypeRef::Named(_) => Some(quote!(found.elements(#at, #by_ref))),
                _ => {
                    let inner =
                        self.report_at(inner, &quote!(value), &quote!(value), &quote!(&at.index(i)))?;
                    Some(quote!({ #own for (i, value) in #recv.iter().enumerate() { #inner; } }))
                }
            },
            TypeRef::Map(inner) => match **inner {
                TypeRef::Named(_) => Some(quote!(found.values(#at, #by_ref))),
                _ => {
                    let inner =
                        self.report_at(inner, &quote!(value), &quote!(value), &quote!(&at.key(name)))?;
                    Some(quote!({ #own for (name, value) in #recv.iter() { #inner; } }))
                }
            },
            TypeRef::Tuple(inner) => {
                let parts: Vec<TokenStream> = inner
                    .iter()
                    .enumerate()
                    .filter_map(|(i, ty)| {
                        let index = proc_macro2::Literal::usize_unsuffixed(i);
                        let part = quote!(#recv.#index);
                        self.report_at(ty, &part, &quote!(&#part), &quote!(&at.index(#index)))
                    })
                    .collect();
                Some(quote!({ #own #(#parts;)* }))
            }
            _ => None,
        }
    }
}

fn holds_members(ty: &TypeRef, known: &BTreeMap<TypeId, bool>) -> bool {
    match ty {
        TypeRef::Named(id) => known.get(id).copied().unwrap_or(false),
        TypeRef::Vec(t) | TypeRef::Map(t) | TypeRef::Nullable(t) | TypeRef::Boxed(t) => {
            holds_members(t, known)
        }
        TypeRef::Tuple(inner) => inner.iter().any(|t| holds_members(t, known)),
        _ => false,
    }
}

/// The number of a table's row, as people write it.
fn row_literal(row: u32) -> proc_macro2::Literal {
    proc_macro2::Literal::u32_unsuffixed(row)
}

fn wrap(outer: TokenStream, inner: &TokenStream) -> TokenStream {
    quote!(#outer<#inner>)
}

/// The words of a module that stand for something from outside it. A word after `::` belongs to
/// what stands before, an enum's variants are its own, and a module is only meant before `::`.
fn collect(tokens: TokenStream, words: &mut BTreeSet<String>) {
    use proc_macro2::TokenTree;
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: Option<usize>, sign: char| matches!(at.and_then(|at| tokens.get(at)), Some(TokenTree::Punct(p)) if p.as_char() == sign);
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1);
        match token {
            TokenTree::Ident(word) => {
                let word = word.to_string();
                let member = is(before, ':') && is(at.checked_sub(2), ':');
                let module = ["contract", "de", "read"].contains(&word.as_str());
                let path = is(Some(at + 1), ':') && is(Some(at + 2), ':');
                if !member && !is(before, '\'') && (path || !module) {
                    words.insert(word);
                }
            }
            TokenTree::Group(group) => {
                let word = |back: usize| match at.checked_sub(back).and_then(|at| tokens.get(at)) {
                    Some(TokenTree::Ident(word)) => word.to_string(),
                    _ => String::new(),
                };
                if word(2) == "enum" {
                    for variant in group.stream() {
                        if let TokenTree::Group(held) = variant {
                            collect(held.stream(), words);
                        }
                    }
                } else {
                    collect(group.stream(), words);
                }
            }
            _ => {}
        }
    }
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

    fn validator(&self, schema: SchemaId) -> TokenStream {
        let row = row_literal(self.tables.row_of(schema));
        quote!(super::schemas::validator(#row))
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
