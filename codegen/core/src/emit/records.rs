//! Generates structs: their fields, and the code that parses and serializes them.

use contract_runtime::Json;
use proc_macro2::TokenStream;
use quote::quote;

use super::{ModelEmitter, RuntimeImport, ident};
use crate::{
    conjunction::SchemaConjunction,
    rust_types::SetterArgument,
    schema::TypeSet,
    shape::{StructBody, StructField, TypeBody, TypeDef, TypeId, TypeRef},
};

impl ModelEmitter<'_> {
    pub(super) fn struct_item(&self, id: TypeId, def: &TypeDef, body: &StructBody) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let default = self.is_default_derived(def, body).then(|| quote!(, Default));
        let derives = self.derive_list(id);
        let declarations = visible_fields(body).map(|f| {
            let (field, docs) = (ident(&f.name), self.field_docs(f));
            let ty = self.place_type_tokens(&f.ty, &f.conj);
            let option = self.prelude_item("Option");
            let ty = if f.required { ty } else { quote!(#option<#ty>) };
            quote!(#docs pub #field: #ty,)
        });
        let rest = self.rest_type(def, body);
        let rest_docs = match body.additional {
            Some(_) => " The other members of the object.",
            None => " Members that the contract does not declare, kept unchanged.",
        };
        let members = self.object_macro(def, body);
        let wider = self.widening_conversions(id, def);
        let defaults = self.default_accessors(&name, body);
        let builder = self.builders.contains(&id).then(|| self.builder_macro(def, body));
        quote! {
            #docs
            #[derive(#derives #default)]
            pub struct #name {
                #(#declarations)*
                #[doc = #rest_docs]
                pub extra: #rest,
            }
            #members
            #wider
            #defaults
            #builder
        }
    }

    fn rest_type(&self, def: &TypeDef, body: &StructBody) -> TokenStream {
        let schemas = self.facts_of(&def.conj).unconditional.into_iter();
        let place = schemas.filter_map(|id| self.graph.schema(id).additional_properties);
        let place = SchemaConjunction::from_schemas(place);
        let value = self.place_type_tokens(body.additional.as_ref().unwrap_or(&TypeRef::Json), &place);
        let map = self.runtime_item(RuntimeImport::Map);
        quote!(#map<#value>)
    }

    /// Generates the macro call that implements parsing and serialization of a struct, and that lists the
    /// fields in which undeclared properties may occur.
    fn object_macro(&self, def: &TypeDef, body: &StructBody) -> TokenStream {
        let name = ident(&def.name);
        let tags = body.fields.iter().filter(|f| f.omitted).map(|f| {
            let (slot, wire) = (ident(&f.name), &f.wire);
            let constant =
                f.constant.as_ref().map_or_else(|| quote!(()), |constant| self.constant_expression(constant));
            quote!(#slot = #wire is #constant)
        });
        let row = |f: &StructField| {
            let (field, wire) = (ident(&f.name), &f.wire);
            quote!(#field = #wire)
        };
        let tags = macro_section("tag", tags);
        let required = macro_section("required", visible_fields(body).filter(|f| f.required).map(row));
        let optional = macro_section("optional", visible_fields(body).filter(|f| !f.required).map(row));
        let nested =
            macro_section("nested", visible_fields(body).filter(|f| self.holds_members(&f.ty)).map(row));
        let (new, constant) = self.constructor_sections(def, body);
        let extra = self.extra_mode(def, body);
        quote! {
            ::contract_runtime::object! {
                #name { #tags #required #optional #nested #new #constant extra #extra }
            }
        }
    }

    /// Returns true if the struct derives `Default` because it has no required field. Returns false if the
    /// configuration already derives it.
    fn is_default_derived(&self, def: &TypeDef, body: &StructBody) -> bool {
        self.has_generated_default(def) && visible_fields(body).all(|field| !field.required)
    }

    /// Returns two lists for the macro call of a struct: the arguments of its constructor, and the required
    /// fields with a constant value. Both are `None` if the struct has no constructor.
    fn constructor_sections(
        &self,
        def: &TypeDef,
        body: &StructBody,
    ) -> (Option<TokenStream>, Option<TokenStream>) {
        let required = || visible_fields(body).filter(|field| field.required);
        let arguments: Vec<&StructField> =
            required().filter(|field| self.default_of(field).is_none()).collect();
        // A longer list of arguments is hard to read; a struct with so many required fields has no
        // constructor.
        if arguments.len() > MAX_ARGUMENTS || (arguments.is_empty() && !self.has_generated_default(def)) {
            return (None, None);
        }
        let rows = arguments.into_iter().map(|field| {
            let ty = self.place_type_tokens(field.ty.unboxed(), &field.conj);
            let name = ident(&field.name);
            let kind = ident(match SetterArgument::for_type(&field.ty, self) {
                SetterArgument::List(list) => list.keyword(),
                SetterArgument::Into => "into",
                SetterArgument::Plain if matches!(field.ty, TypeRef::Boxed(_)) => "boxed",
                SetterArgument::Plain => "plain",
            });
            quote!(#name: #kind #ty)
        });
        let constants = required().filter_map(|field| {
            let (name, value) = (ident(&field.name), self.default_of(field)?);
            Some(quote!(#name = #value))
        });
        (macro_section("new", rows), macro_section("constant", constants))
    }

    /// Returns true if every value of the type converts from a string, a number or a boolean.
    pub(super) fn is_scalar_choice(&self, ty: &TypeRef) -> bool {
        let scalars = TypeSet::STRING.union(TypeSet::NUMBER).union(TypeSet::BOOLEAN);
        match ty {
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Enum(list) => list.open,
                TypeBody::ByKind(variants) => variants.iter().all(|v| scalars.contains(v.types)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns the mode of the macro call for properties without a field: `values` (declared, and their values
    /// may contain undeclared properties), `declared`, or `undeclared`.
    fn extra_mode(&self, def: &TypeDef, body: &StructBody) -> TokenStream {
        match &body.additional {
            Some(ty) if self.holds_members(ty) => quote!(values),
            Some(_) => quote!(declared),
            None if self.allows_others(def) => quote!(declared),
            None => {
                let patterns = self.member_patterns(def);
                let unless = (!patterns.is_empty()).then(|| quote!(unless [#(schemas::#patterns),*]));
                quote!(undeclared #unless)
            }
        }
    }

    /// Returns true if `additionalProperties` explicitly allows properties that the schema does not declare.
    fn allows_others(&self, def: &TypeDef) -> bool {
        self.facts_of(&def.conj).unconditional.iter().any(|&m| {
            self.graph
                .schema(m)
                .additional_properties
                .is_some_and(|a| self.graph.schema(a).boolean != Some(false))
        })
    }

    /// Prints a boolean, string or number as a Rust expression.
    pub(super) fn constant_expression(&self, constant: &Json) -> TokenStream {
        match constant {
            Json::Bool(b) => quote!(#b),
            Json::String(s) => quote!(#s),
            Json::Number(n) => match n.as_i64() {
                Some(n) => quote!(#n),
                None => self.number_expression(n),
            },
            _ => quote!(()),
        }
    }

    fn member_patterns(&self, def: &TypeDef) -> Vec<proc_macro2::Ident> {
        let facts = self.facts_of(&def.conj);
        let sources = facts.unconditional.iter().flat_map(|&m| &self.graph.schema(m).pattern_properties);
        let mut names: Vec<_> = sources.filter_map(|(p, _)| self.tables.pattern_constant(p)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The maximum number of arguments of a generated constructor.
const MAX_ARGUMENTS: usize = 7;

/// Iterates over the properties of a struct that are fields. A tag with a constant value may be omitted.
pub(super) fn visible_fields(body: &StructBody) -> impl Iterator<Item = &StructField> {
    body.fields.iter().filter(|f| !f.omitted)
}

/// Returns a list with a name for a macro call, such as `new { … }`, or `None` if it is empty.
pub(super) fn macro_section(name: &str, rows: impl Iterator<Item = TokenStream>) -> Option<TokenStream> {
    let mut rows = rows.peekable();
    rows.peek()?;
    let name = ident(name);
    Some(quote!(#name { #(#rows),* }))
}
