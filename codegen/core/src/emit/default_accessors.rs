//! Generates accessors for optional values with a `default`: `limit_or_default()`.
//!
//! A default is never written into a value or a request: the other side applies it. Accessors exist for the types
//! whose defaults are constants: scalars, string enumerations, and empty lists.

use contract_runtime::Json;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{ModelEmitter, ident};
use crate::{
    constraint_text::{describe_default, find_default},
    rust_types::{DefaultValue, RustTypes},
    schema::Schema,
    shape::{StructBody, TypeBody, TypeRef, integer_constants, integer_variants},
    tables::number_tokens,
};

impl ModelEmitter<'_> {
    /// Returns the default of a type, if it is a value of the type that can be written as an expression.
    /// `print_type` prints a type as seen from the module of the accessor.
    pub(super) fn default_value_with(
        &self,
        ty: &TypeRef,
        default: &Json,
        print_type: &dyn Fn(&TypeRef) -> TokenStream,
    ) -> Option<DefaultValue> {
        let own = || print_type(ty);
        Some(match (ty, default) {
            (TypeRef::Bool, Json::Bool(value)) => DefaultValue::Copied(own(), quote!(#value)),
            (TypeRef::Int(kind), Json::Number(number)) => {
                let value = Literal::i128_unsuffixed(kind.value_of(number)?);
                DefaultValue::Copied(own(), quote!(#value))
            }
            (TypeRef::Number, Json::Number(number)) => {
                let ty = own();
                let value = number_tokens(number, &ty);
                DefaultValue::Cloned(ty, value)
            }
            (TypeRef::String, Json::String(text)) => DefaultValue::Str(text.clone()),
            (TypeRef::Named(id), Json::String(text)) => {
                let TypeBody::Enum(list) = &self.shapes.get(*id).body else { return None };
                let (_, variant, _) = list.values.iter().find(|(wire, ..)| wire == text)?;
                let (own, variant) = (own(), ident(variant));
                let value = quote!(#own::#variant);
                if self.is_copy(ty) {
                    DefaultValue::Copied(own, value)
                } else {
                    DefaultValue::Cloned(own, value)
                }
            }
            (TypeRef::Named(id), Json::Number(number)) => {
                let def = self.shapes.get(*id);
                let TypeBody::Newtype(inner @ TypeRef::Int(kind)) = &def.body else { return None };
                let facts = self.facts_of(&def.conj);
                if let Some(variants) = integer_variants(self.graph, &facts, inner) {
                    let value = kind.value_of(number)?;
                    let name = ident(&variants.iter().find(|variant| variant.value == value)?.name);
                    let own = own();
                    return Some(DefaultValue::Copied(own.clone(), quote!(#own::#name)));
                }
                let constants = integer_constants(self.graph, &facts);
                let is_default = |value: &Json| value.as_number() == Some(number);
                let name = constants.into_iter().find(|constant| is_default(constant.value))?.name;
                let (own, name) = (own(), ident(&name));
                DefaultValue::Copied(own.clone(), quote!(#own::#name))
            }
            (TypeRef::Vec(inner), Json::Array(items)) if items.is_empty() => {
                DefaultValue::EmptySlice(print_type(inner))
            }
            _ => return None,
        })
    }

    /// Returns the accessors of a struct's optional properties.
    pub(super) fn default_accessors(
        &self,
        name: &proc_macro2::Ident,
        body: &StructBody,
    ) -> Option<TokenStream> {
        let optional = body.fields.iter().filter(|field| !field.omitted && !field.required);
        let accessors = optional.filter_map(|field| {
            let facts = self.facts_of(&field.conj);
            let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&id| self.graph.schema(id)).collect();
            let default = find_default(&schemas)?;
            let value = self.default_value_with(&field.ty, default, &|ty| self.type_tokens(ty))?;
            let deprecated = field.described_by.is_some_and(|id| self.graph.schema(id).deprecated);
            Some(default_accessor(&field.name, (&schemas, deprecated), value))
        });
        let accessors: Vec<TokenStream> = accessors.collect();
        (!accessors.is_empty()).then(|| quote!(impl #name { #(#accessors)* }))
    }
}

/// Returns the name of the accessor of a field.
#[must_use]
pub(crate) fn default_accessor_name(field: &str) -> String {
    format!("{}_or_default", field.trim_start_matches("r#").trim_end_matches('_'))
}

/// Returns the accessor of an optional field.
#[must_use]
pub(crate) fn default_accessor(
    field: &str,
    (schemas, deprecated): (&[&Schema], bool),
    value: DefaultValue,
) -> TokenStream {
    let plain = field.trim_start_matches("r#");
    let about = format!(" Returns `{plain}`, or the default of the contract if it is absent.");
    let described = describe_default(schemas).map(|text| format!(" {text}"));
    let described = described.map(|text| quote!(#[doc = ""] #[doc = #text]));
    let deprecated = deprecated.then(|| quote!(#[deprecated = "deprecated by the contract"]));
    let (method, field) = (ident(&default_accessor_name(field)), ident(field));
    let (ty, body) = match value {
        DefaultValue::Copied(ty, value) => (ty, quote!(self.#field.unwrap_or(#value))),
        DefaultValue::Cloned(ty, value) => (ty, quote!(self.#field.clone().unwrap_or(#value))),
        DefaultValue::Str(text) => (quote!(&str), quote!(self.#field.as_deref().unwrap_or(#text))),
        DefaultValue::EmptySlice(element) => {
            (quote!(&[#element]), quote!(self.#field.as_deref().unwrap_or_default()))
        }
    };
    quote! {
        #[doc = #about]
        #described
        #deprecated
        #[must_use]
        pub fn #method(&self) -> #ty {
            #body
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{generate::Project, load::Sources};

    /// Types without a constant default, and defaults of another type, have no accessor.
    #[test]
    fn optional_values_with_a_default_have_accessors() {
        let document = r"
openapi: 3.1.0
info: { title: T, version: '1' }
paths:
  /a:
    get:
      operationId: list
      parameters:
        - { name: limit, in: query, schema: { type: integer, default: 50 } }
        - { name: sort, in: query, schema: { enum: [up, down], default: down } }
        - { name: page, in: query, schema: { type: integer, default: first } }
        - { name: all, in: query, required: true, schema: { type: boolean, default: true } }
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/A' } } } } }
components:
  schemas:
    A: { type: object, properties: { name: { type: string, default: x }, tags: { type: array, items: { type: string }, default: [] }, o: { type: object, default: {} } } }
";
        let project = Project::default();
        let contract =
            project.analyze_sources(Sources::from_texts(&[("a.yaml", "", document)]).unwrap()).unwrap();
        let files = project.generate_from(contract).unwrap().files.0;
        let code: String = files.into_values().collect::<String>().split_whitespace().collect();
        for accessor in [
            "fnlimit_or_default(&self)->i64{self.limit.unwrap_or(50)}",
            "fnsort_or_default(&self)->super::types::ListSort{self.sort.unwrap_or(super::types::ListSort::Down)}",
            "fnname_or_default(&self)->&str{self.name.as_deref().unwrap_or(\"x\")}",
            "fntags_or_default(&self)->&[String]{self.tags.as_deref().unwrap_or_default()}",
        ] {
            assert!(code.contains(accessor), "{accessor}");
        }
        assert_eq!(code.matches("_or_default(&self)").count(), 4);
    }
}
