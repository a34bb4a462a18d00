//! Generates the models: the Rust types of a contract, with the code that parses, serializes and checks their
//! values.

mod builders;
mod checks;
mod conversions;
mod default_accessors;
mod docs;
mod equality;
mod html;
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

use contract_runtime::Json;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote};

use crate::{
    checks::{Check, CheckScope},
    conjunction::{SchemaConjunction, SchemaFacts},
    options::SchemaOptions,
    rust_types::{DefaultValue, EqualityTraits, ListArgument, RustTypes},
    schema::{SchemaGraph, SchemaId},
    shape::{
        ContainmentIndex, DefaultableTypes, IntKind, Shapes, TypeAlias, TypeBody, TypeDef, TypeId, TypeRef,
        find_aliases, place_alias,
    },
    tables::TableSet,
};

pub(crate) use default_accessors::{default_accessor, default_accessor_name};
pub(crate) use docs::any_deprecated;
pub(crate) use json_schemas::ExtraStringEnum;
pub(crate) use markdown::end_sentence;
pub use markdown::rustdoc_markdown;
pub(crate) use scalars::string_enum_macro;

/// Returns an identifier with this name. The name of a raw identifier starts with `r#`.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// The runtime items that a module of models may import, in the order of its `use` declaration. The runtime's
/// macros refer to further items by their full path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RuntimeImport {
    Contract,
    Json,
    Map,
    Nullable,
    Number,
    Secret,
    /// The runtime's module `contract`, which contains functions that some checks call.
    Conditions,
    IsApart,
    Validator,
    AtLeast,
    AtMost,
}

impl RuntimeImport {
    /// Returns the path of the item in the runtime crate.
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

/// The items that the module being generated has to import.
#[derive(Debug, Default)]
struct ModuleImports {
    runtime: BTreeSet<RuntimeImport>,
    /// The types in modules of other areas, each as area and type name.
    siblings: BTreeSet<(String, String)>,
}

/// A generator for the models of a contract.
#[derive(Debug)]
pub struct ModelEmitter<'a> {
    graph: &'a SchemaGraph,
    shapes: &'a Shapes,
    tables: &'a TableSet<'a>,
    implied_objects: bool,
    builders: BTreeSet<TypeId>,
    /// Whether each type may contain undeclared properties, at any depth.
    may_hold_undeclared: ContainmentIndex,
    /// Whether each type may contain secrets, at any depth.
    may_hold_secrets: ContainmentIndex,
    equality: equality::TypeEqualities,
    defaults: DefaultableTypes,
    options: Option<&'a SchemaOptions>,
    /// The names of all types and aliases of the contract. If an item of the standard library or the runtime has one of
    /// these names, generated code refers to the item by its full path.
    type_names: BTreeSet<String>,
    /// The type aliases to generate, by name.
    aliases: BTreeMap<String, TypeId>,
    area: RefCell<String>,
    imports: RefCell<ModuleImports>,
}

impl<'a> ModelEmitter<'a> {
    /// Creates a generator for the types of a contract. A builder is generated for the types in `builders`.
    #[must_use]
    pub fn new(
        graph: &'a SchemaGraph,
        shapes: &'a Shapes,
        tables: &'a TableSet<'a>,
        implied_objects: bool,
        builders: BTreeSet<TypeId>,
    ) -> Self {
        let is_open = |body: &TypeBody| matches!(body, TypeBody::Struct(body) if body.additional.is_none());
        let aliases = find_aliases(graph, shapes);
        let type_names = shapes.types.iter().map(|def| &def.name).chain(aliases.keys()).cloned().collect();
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
            type_names,
            aliases,
            area: RefCell::default(),
            imports: RefCell::default(),
        }
    }

    /// Registers the paths of generated types outside the models, such as table enums. They implement all
    /// equality traits.
    #[must_use]
    pub fn with_generated_types(mut self, generated: &BTreeSet<String>) -> Self {
        self.equality = equality::TypeEqualities::from_shapes(self.shapes, generated);
        self
    }

    /// Sets the options whose attributes and derives are applied to types and fields.
    #[must_use]
    pub fn with_attributes(mut self, options: &'a SchemaOptions) -> Self {
        self.options = Some(options);
        self
    }

    /// Generates the modules of the models: one for each area, by the name of the area.
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
                let items = ids.into_iter().map(|id| self.type_item(id, checks.for_type(id)));
                let aliases =
                    self.aliases.iter().filter(|(_, target)| self.shapes.get(**target).area == area);
                let aliases = aliases.map(|(name, target)| self.alias_item(name, *target));
                let items: Vec<TokenStream> = items.chain(aliases).collect();
                let uses = self.use_items();
                (area, quote!(#uses #(#items)*))
            })
            .collect()
    }

    /// Adds a runtime item to the imports of the current module.
    fn add_import(&self, what: RuntimeImport) {
        self.imports.borrow_mut().runtime.insert(what);
    }

    /// Returns the name of a runtime item and imports it into the current module. If a type of the contract
    /// has the same name, returns the full path of the item instead.
    fn runtime_item(&self, what: RuntimeImport) -> TokenStream {
        let path = what.import_path();
        let name = path.clone().into_iter().last().to_token_stream();
        if self.type_names.contains(name.to_string().as_str()) {
            return quote!(::contract_runtime::#path);
        }
        self.add_import(what);
        name
    }

    /// Returns the name of an item in Rust's prelude, or its full path if a type of the contract has the same
    /// name.
    fn prelude_item(&self, name: &str) -> TokenStream {
        let item = ident(name);
        if !self.type_names.contains(name) {
            return quote!(#item);
        }
        match name {
            "Box" => quote!(::std::boxed::Box),
            "From" => quote!(::std::convert::From),
            "Option" => quote!(::std::option::Option),
            "String" => quote!(::std::string::String),
            "Vec" => quote!(::std::vec::Vec),
            _ => quote!(#item),
        }
    }

    /// Returns the `use` declarations of the current module, and resets the imports for the next module.
    fn use_items(&self) -> TokenStream {
        let ModuleImports { runtime, siblings } = self.imports.take();
        // A module that imports `Validator` contains checks as expressions, about which Clippy would warn.
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
        for (name, target) in &self.aliases {
            areas.entry(&self.shapes.get(*target).area).or_default().push(ident(name));
        }
        let uses = areas.into_iter().map(|(area, mut names)| {
            names.sort();
            let area = ident(area);
            quote!(pub use super::#area::{#(#names),*};)
        });
        quote!(#(#uses)*)
    }

    fn alias_item(&self, name: &str, target: TypeId) -> TokenStream {
        let doc = format!(" Alias of [`{}`], because the schemas are equal.", self.shapes.get(target).name);
        let (name, target) = (ident(name), self.type_tokens(&TypeRef::Named(target)));
        quote! {
            #[doc = #doc]
            pub type #name = #target;
        }
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
        let (contract, validator) =
            (self.runtime_item(RuntimeImport::Contract), self.runtime_item(RuntimeImport::Validator));
        let check = self.check_expression(check);
        quote! {
            impl #contract for #name {
                const VALIDATOR: #validator<'static> = schemas::validator(#row);

                fn is_valid(&self) -> bool {
                    #check
                }
            }
        }
    }

    /// Returns the traits that a type derives.
    fn derive_list(&self, id: TypeId) -> TokenStream {
        let equality = self.equality.equality_of_type(id).derive_list();
        quote!(Clone, Debug, #equality)
    }

    /// Returns a Rust type as it is written in the current module.
    fn type_tokens(&self, ty: &TypeRef) -> TokenStream {
        self.aliased_type_tokens(ty, None)
    }

    /// Returns the Rust type of a field or element, as it is written in the current module. If the location
    /// has an alias for the type, the alias is used.
    fn place_type_tokens(&self, ty: &TypeRef, conj: &SchemaConjunction) -> TokenStream {
        self.aliased_type_tokens(ty, place_alias(self.graph, self.shapes, ty, conj))
    }

    fn aliased_type_tokens(&self, ty: &TypeRef, alias: Option<TypeAlias<'_>>) -> TokenStream {
        let inner_tokens = |inner: &TypeRef| self.aliased_type_tokens(inner, alias);
        match ty {
            TypeRef::Json => self.runtime_item(RuntimeImport::Json),
            TypeRef::Bool => quote!(bool),
            TypeRef::Int(kind) => int_type(*kind),
            TypeRef::Number => self.runtime_item(RuntimeImport::Number),
            TypeRef::String => self.prelude_item("String"),
            TypeRef::Secret => self.runtime_item(RuntimeImport::Secret),
            TypeRef::Named(id) => {
                let def = self.shapes.get(*id);
                let name =
                    alias.filter(|alias| alias.target == *id).map_or(def.name.as_str(), |own| own.name);
                if *self.area.borrow() != def.area {
                    self.imports.borrow_mut().siblings.insert((def.area.clone(), name.to_owned()));
                }
                let name = ident(name);
                quote!(#name)
            }
            TypeRef::Replaced(path, _) => {
                path.parse().unwrap_or_else(|_| self.runtime_item(RuntimeImport::Json))
            }
            TypeRef::Vec(inner) => generic_type(self.prelude_item("Vec"), &inner_tokens(inner)),
            TypeRef::Map(inner) => generic_type(self.runtime_item(RuntimeImport::Map), &inner_tokens(inner)),
            TypeRef::Nullable(inner) => {
                generic_type(self.runtime_item(RuntimeImport::Nullable), &inner_tokens(inner))
            }
            TypeRef::Boxed(inner) => generic_type(self.prelude_item("Box"), &inner_tokens(inner)),
            TypeRef::Tuple(inner) => {
                let inner = inner.iter().map(inner_tokens);
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
        full_type(self.shapes, ty, None)
    }

    fn schema_type(&self, ty: &TypeRef, schema: SchemaId) -> TokenStream {
        full_type(self.shapes, ty, self.shapes.alias_at(self.graph, ty, schema))
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

    fn has_conversions(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Objects(_) | TypeBody::ByKind(_) => true,
                TypeBody::Enum(list) => list.open,
                TypeBody::Pending | TypeBody::Struct(_) | TypeBody::Newtype(_) => false,
            },
            _ => false,
        }
    }

    fn list_argument(&self, ty: &TypeRef) -> Option<ListArgument> {
        let item = match ty {
            TypeRef::Vec(item) => item,
            TypeRef::Nullable(list) => match &**list {
                TypeRef::Vec(_) => return Some(ListArgument::IntoList),
                _ => return None,
            },
            _ => return None,
        };
        Some(match &**item {
            TypeRef::String => ListArgument::Converted,
            item if self.is_scalar_choice(item) => ListArgument::Converted,
            TypeRef::Json | TypeRef::Number | TypeRef::Secret | TypeRef::Nullable(_) => {
                ListArgument::IntoList
            }
            item if self.has_conversions(item) => ListArgument::IntoList,
            _ => ListArgument::Exact,
        })
    }

    fn equality(&self, ty: &TypeRef) -> EqualityTraits {
        self.equality.equality_of(ty)
    }

    fn default_value(&self, ty: &TypeRef, default: &Json) -> Option<DefaultValue> {
        self.default_value_with(ty, default, &|ty| self.rust_type(ty))
    }

    fn validator_expression(&self, schema: SchemaId) -> TokenStream {
        let row = self.tables.schema_row_expression(schema);
        quote!(schemas::validator(#row))
    }
}

fn int_type(kind: IntKind) -> TokenStream {
    let name = ident(kind.name());
    quote!(#name)
}

/// Returns a Rust type as it is written in a module beside those of the areas, such as `client`.
fn full_type(shapes: &Shapes, ty: &TypeRef, alias: Option<TypeAlias<'_>>) -> TokenStream {
    let inner_type = |inner: &TypeRef| full_type(shapes, inner, alias);
    let runtime = quote!(::contract_runtime);
    match ty {
        TypeRef::Json => quote!(#runtime::Json),
        TypeRef::Bool => quote!(bool),
        TypeRef::Int(kind) => int_type(*kind),
        TypeRef::Number => quote!(#runtime::Number),
        TypeRef::String => quote!(String),
        TypeRef::Secret => quote!(#runtime::Secret),
        TypeRef::Named(id) => {
            let alias = alias.filter(|alias| alias.target == *id);
            let name = ident(alias.map_or(shapes.get(*id).name.as_str(), |alias| alias.name));
            quote!(super::types::#name)
        }
        TypeRef::Replaced(path, _) => path.parse().unwrap_or_else(|_| quote!(#runtime::Json)),
        TypeRef::Vec(inner) => generic_type(quote!(Vec), &inner_type(inner)),
        TypeRef::Map(inner) => generic_type(quote!(#runtime::Map), &inner_type(inner)),
        TypeRef::Nullable(inner) => generic_type(quote!(#runtime::Nullable), &inner_type(inner)),
        TypeRef::Boxed(inner) => generic_type(quote!(Box), &inner_type(inner)),
        TypeRef::Tuple(inner) => {
            let inner = inner.iter().map(inner_type);
            quote!((#(#inner,)*))
        }
    }
}
