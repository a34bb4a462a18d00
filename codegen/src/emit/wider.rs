//! `From` a refinement to what it refines: where a type adds rules only, every value of the one is
//! a value of the other.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident, records::shown};
use crate::shape::{Body, Field, Struct, TypeDef, TypeId, TypeRef};

impl Emitter<'_> {
    /// The conversions out of a type.
    pub(super) fn wider(&self, id: TypeId, def: &TypeDef) -> TokenStream {
        let refined =
            self.facts(&def.conj).members.into_iter().filter_map(|member| match self.shapes.of(member) {
                TypeRef::Named(other) if *other != id => Some(*other),
                _ => None,
            });
        let refined: BTreeSet<TypeId> = refined.collect();
        let name = ident(&def.name);
        let each = refined.into_iter().filter_map(|other| {
            let value = conversion(def, self.shapes.get(other))?;
            let other = self.ty(&TypeRef::Named(other));
            Some(quote! {
                impl From<#name> for #other {
                    fn from(value: #name) -> Self {
                        #value
                    }
                }
            })
        });
        each.collect()
    }
}

/// The wider value, made of the narrow one; nothing where they differ in more than rules.
fn conversion(narrow: &TypeDef, wide: &TypeDef) -> Option<TokenStream> {
    match (&narrow.body, &wide.body) {
        (Body::Newtype(own), Body::Newtype(other)) => {
            let scalar = matches!(own, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number);
            (scalar && own == other).then(|| quote!(Self(value.0)))
        }
        (Body::Struct(own), Body::Struct(other)) => members(own, other),
        _ => None,
    }
}

/// The fields one by one, when both structs have the same. What the narrow one requires, the wide
/// one may leave out.
fn members(narrow: &Struct, wide: &Struct) -> Option<TokenStream> {
    let tags = |body: &Struct| -> Vec<_> {
        let omitted = body.fields.iter().filter(|field| field.omitted);
        omitted.map(|field| (field.wire.clone(), field.constant.clone())).collect()
    };
    if narrow.fields.len() != wide.fields.len()
        || narrow.additional != wide.additional
        || tags(narrow) != tags(wide)
    {
        return None;
    }
    let rows = shown(wide).map(|field| {
        let own = shown(narrow).find(|own| own.wire == field.wire)?;
        let (to, from) = (ident(&field.name), ident(&own.name));
        Some(match requirement(own, field)? {
            Requirement::Same => quote!(#to: value.#from,),
            Requirement::Dropped => quote!(#to: Some(value.#from),),
        })
    });
    let rows = rows.collect::<Option<TokenStream>>()?;
    Some(quote!(Self { #rows extra: value.extra }))
}

/// What becomes of `required` on the way.
enum Requirement {
    Same,
    Dropped,
}

fn requirement(narrow: &Field, wide: &Field) -> Option<Requirement> {
    match (narrow.required, wide.required) {
        _ if narrow.ty != wide.ty => None,
        (true, false) => Some(Requirement::Dropped),
        (false, true) => None,
        _ => Some(Requirement::Same),
    }
}
