//! Enums of several types: told apart by a tag, or by their JSON type.

use contract_runtime::schema::Certainty;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{Emitter, ident, records::section};
use crate::{
    schema::Types,
    shape::{KindVariant, Tagged, TypeDef, TypeId, TypeRef},
};

impl Emitter<'_> {
    pub(super) fn tagged(&self, id: TypeId, def: &TypeDef, body: &Tagged) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let hidden = self.hidden(def, body);
        let derives = match hidden {
            Some(_) => {
                let equality = self.equality.of_type(id).derives();
                quote!(Clone, #equality)
            }
            None => self.derives(id),
        };
        let tag = &body.tag;
        let variants = body.variants.iter().enumerate().map(|(at, v)| {
            let (variant, ty) = (ident(&v.name), self.ty(&v.ty));
            let literals = v.literals.iter().map(|literal| self.constant(literal));
            let others = (body.otherwise == Some(at)).then(
                || quote!(#[doc = " Another tag, or none, means it too, where it can hold the object."]),
            );
            quote!(#others #variant(#ty) = #(#literals)|*,)
        });
        let tag = match body.otherwise.and_then(|at| body.variants.get(at)).map(|v| ident(&v.name)) {
            Some(otherwise) => quote!((#tag, #otherwise)),
            None => quote!(#tag),
        };
        let kind = ident(if body.open { "open_union" } else { "closed_union" });
        let by = ident(match body.certainty {
            Certainty::Required => "tag",
            Certainty::Present => "optional_tag",
            Certainty::Meant => "discriminator",
        });
        let large = (body.variants.len() > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "variants are held one at a time or in a list; a pointer for each costs more than the space")])
        });
        let held = self.held(def, body.variants.iter().map(|v| (&v.name, &v.ty)).collect());
        quote! {
            ::contract_runtime::#kind! {
                #[#by = #tag]
                #docs
                #[derive(#derives)]
                #large
                pub enum #name {
                    #(#variants)*
                }
            }
            #hidden
            #held
        }
    }

    /// The `Debug` of a union that keeps what it does not know, where its variants hold secrets:
    /// what they keep secret may stand in that, too.
    fn hidden(&self, def: &TypeDef, body: &Tagged) -> Option<TokenStream> {
        if !body.open || !body.variants.iter().any(|v| self.with_secrets.of_place(&v.ty)) {
            return None;
        }
        let (name, tag) = (ident(&def.name), &body.tag);
        let variants = body.variants.iter().map(|v| ident(&v.name));
        Some(quote!(::contract_runtime::secret_union! { #name #tag { #(#variants),* } }))
    }

    pub(super) fn by_kind(&self, id: TypeId, def: &TypeDef, variants: &[KindVariant]) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let derives = self.derives(id);
        let list = variants.iter().map(|v| {
            let (variant, ty, kind) = (ident(&v.name), self.ty(&v.ty), kind(v.types));
            let doc = format!(" The value is {}.", words(v.types));
            quote!(#[doc = #doc] #variant(#ty) = #kind,)
        });
        let all: Vec<&str> = variants.iter().map(|v| words(v.types)).collect();
        let expected = all.join(" or ");
        let held = self.held(def, variants.iter().map(|v| (&v.name, &v.ty)).collect());
        quote! {
            ::contract_runtime::kinds! {
                #[expected = #expected]
                #docs
                #[derive(#derives)]
                pub enum #name {
                    #(#list)*
                }
            }
            #held
        }
    }

    /// `From` for every variant whose type no other variant has, and which of them may hold
    /// undeclared members.
    fn held(&self, def: &TypeDef, variants: Vec<(&String, &TypeRef)>) -> TokenStream {
        let name = ident(&def.name);
        let unique = variants.iter().filter(|(_, ty)| {
            variants.iter().filter(|(_, other)| other == ty).count() == 1 && **ty != TypeRef::Json
        });
        let from = section(
            "from",
            unique.map(|(variant, ty)| {
                let variant = ident(variant);
                let ty = match ty {
                    TypeRef::Boxed(inner) => self.ty(inner),
                    other => self.ty(other),
                };
                quote!(#variant(#ty))
            }),
        );
        let nested = variants.iter().filter(|(_, ty)| self.holds_members(ty));
        let nested = section(
            "nested",
            nested.map(|(variant, _)| {
                let variant = ident(variant);
                quote!(#variant)
            }),
        );
        quote!(::contract_runtime::variants! { #name { #from #nested } })
    }
}

/// The one JSON type that a variant has, as the runtime calls it.
fn kind(types: Types) -> Ident {
    let kinds = [
        (Types::NULL, "Null"),
        (Types::BOOLEAN, "Boolean"),
        (Types::INTEGER, "Number"),
        (Types::STRING, "String"),
        (Types::ARRAY, "Array"),
    ];
    let found = kinds.into_iter().find(|(t, _)| !types.and(*t).is_empty());
    ident(found.map_or("Object", |(_, name)| name))
}

fn words(types: Types) -> &'static str {
    if types == Types::NULL {
        "null"
    } else if types == Types::BOOLEAN {
        "true or false"
    } else if types == Types::INTEGER {
        "a whole number"
    } else if !types.and(Types::NUMBER).is_empty() {
        "a number"
    } else if types == Types::STRING {
        "a string"
    } else if types == Types::ARRAY {
        "an array"
    } else {
        "an object"
    }
}
