//! Generates `From` conversions from a type to each type that it refines. A type refines another type if its
//! schema includes the schema of the other type and only adds constraints.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::{ModelEmitter, ident, records::visible_fields};
use crate::shape::{StructBody, StructField, TypeBody, TypeDef, TypeId, TypeRef, integer_variants};

impl ModelEmitter<'_> {
    /// Generates the conversions from a type to all types that it refines.
    pub(super) fn widening_conversions(&self, id: TypeId, def: &TypeDef) -> TokenStream {
        let refined = self.facts_of(&def.conj).unconditional.into_iter().filter_map(|member| {
            match self.shapes.type_of_schema(member) {
                TypeRef::Named(other) if *other != id => Some(*other),
                _ => None,
            }
        });
        let refined: BTreeSet<TypeId> = refined.collect();
        let name = ident(&def.name);
        let each = refined.into_iter().filter_map(|other| {
            let value = self.widening_expression(def, self.shapes.get(other))?;
            let other = self.type_tokens(&TypeRef::Named(other));
            let from = self.prelude_item("From");
            Some(quote! {
                impl #from<#name> for #other {
                    fn from(value: #name) -> Self {
                        #value
                    }
                }
            })
        });
        each.collect()
    }

    /// Prints the conversion of a `value` of type `narrow` to `wide`. Returns `None` if the types differ in more
    /// than their constraints.
    fn widening_expression(&self, narrow: &TypeDef, wide: &TypeDef) -> Option<TokenStream> {
        let is_enum = |def: &TypeDef, inner: &TypeRef| {
            matches!(inner, TypeRef::Int(_))
                && integer_variants(self.graph, &self.facts_of(&def.conj), inner).is_some()
        };
        match (&narrow.body, &wide.body) {
            (TypeBody::Newtype(own), TypeBody::Newtype(other)) => {
                let scalar =
                    matches!(own, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number);
                (scalar && own == other).then(|| match (is_enum(narrow, own), is_enum(wide, other)) {
                    (false, false) => quote!(Self(value.0)),
                    (true, false) => quote!(Self(value.get())),
                    (_, true) => quote!(value.get().into()),
                })
            }
            (TypeBody::Struct(own), TypeBody::Struct(other)) => struct_expression(own, other),
            _ => None,
        }
    }
}

/// Prints the conversion of a struct field by field. Returns `None` unless both structs have the same fields
/// with the same types. A required field may be optional in `wide`.
fn struct_expression(narrow: &StructBody, wide: &StructBody) -> Option<TokenStream> {
    let tags = |body: &StructBody| -> Vec<_> {
        let omitted = body.fields.iter().filter(|field| field.omitted);
        omitted.map(|field| (field.wire.clone(), field.constant.clone())).collect()
    };
    if narrow.fields.len() != wide.fields.len()
        || narrow.additional != wide.additional
        || tags(narrow) != tags(wide)
    {
        return None;
    }
    let rows = visible_fields(wide).map(|field| {
        let own = visible_fields(narrow).find(|own| own.wire == field.wire)?;
        let (to, from) = (ident(&field.name), ident(&own.name));
        Some(match required_change(own, field)? {
            RequiredChange::Same => quote!(#to: value.#from,),
            RequiredChange::Dropped => quote!(#to: Some(value.#from),),
        })
    });
    let rows = rows.collect::<Option<TokenStream>>()?;
    Some(quote!(Self { #rows extra: value.extra }))
}

/// Whether a field is required in only one of two structs.
enum RequiredChange {
    Same,
    Dropped,
}

fn required_change(narrow: &StructField, wide: &StructField) -> Option<RequiredChange> {
    match (narrow.required, wide.required) {
        _ if narrow.ty != wide.ty => None,
        (true, false) => Some(RequiredChange::Dropped),
        (false, true) => None,
        _ => Some(RequiredChange::Same),
    }
}
