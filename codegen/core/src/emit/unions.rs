//! Generates enums for unions, which readers distinguish by a tag or by the JSON type.

use contract_runtime::schema::TagCertainty;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{ModelEmitter, ident, records::macro_section};
use crate::{
    schema::TypeSet,
    shape::{KindVariant, TaggedUnion, TypeDef, TypeId, TypeRef},
};

impl ModelEmitter<'_> {
    pub(super) fn tagged_union_item(&self, id: TypeId, def: &TypeDef, body: &TaggedUnion) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let hidden = self.secret_debug_impl(def, body);
        let derives = match hidden {
            Some(_) => {
                let equality = self.equality.equality_of_type(id).derive_list();
                quote!(Clone, #equality)
            }
            None => self.derive_list(id),
        };
        let tag = &body.tag;
        let variants = body.variants.iter().enumerate().map(|(at, v)| {
            let (variant, ty) = (ident(&v.name), self.type_tokens(&v.ty));
            let literals = v.literals.iter().map(|literal| self.constant_expression(literal));
            let others = (body.default_variant == Some(at))
                .then(|| quote!(#[doc = " Also used for other tags, or none, if it can hold the object."]));
            quote!(#others #variant(#ty) = #(#literals)|*,)
        });
        let tag = match body.default_variant.and_then(|at| body.variants.get(at)).map(|v| ident(&v.name)) {
            Some(otherwise) => quote!((#tag, #otherwise)),
            None => quote!(#tag),
        };
        let kind = ident(if body.open { "open_union" } else { "closed_union" });
        let by = ident(match body.certainty {
            TagCertainty::Required => "tag",
            TagCertainty::Present => "optional_tag",
            TagCertainty::Hint => "discriminator",
        });
        let large = (body.variants.len() > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "variants are held one at a time or in a list; a pointer for each costs more than the space")])
        });
        let held = self.variants_macro(def, body.variants.iter().map(|v| (&v.name, &v.ty)).collect());
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

    /// Generates the `Debug` implementation of an open union whose variants contain secrets: unknown objects
    /// may contain secrets as well.
    fn secret_debug_impl(&self, def: &TypeDef, body: &TaggedUnion) -> Option<TokenStream> {
        if !body.open || !body.variants.iter().any(|v| self.may_hold_secrets.place_contains(&v.ty)) {
            return None;
        }
        let (name, tag) = (ident(&def.name), &body.tag);
        let variants = body.variants.iter().map(|v| ident(&v.name));
        Some(quote!(::contract_runtime::secret_union! { #name #tag { #(#variants),* } }))
    }

    pub(super) fn kind_union_item(&self, id: TypeId, def: &TypeDef, variants: &[KindVariant]) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let derives = self.derive_list(id);
        let list = variants.iter().map(|v| {
            let (variant, ty, kind) = (ident(&v.name), self.type_tokens(&v.ty), runtime_kind(v.types));
            let doc = format!(" The value is {}.", kind_phrase(v.types));
            quote!(#[doc = #doc] #variant(#ty) = #kind,)
        });
        let all: Vec<&str> = variants.iter().map(|v| kind_phrase(v.types)).collect();
        let expected = all.join(" or ");
        let held = self.variants_macro(def, variants.iter().map(|v| (&v.name, &v.ty)).collect());
        quote! {
            ::contract_runtime::untagged_union! {
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

    /// Generates `From` for every variant with a unique type, and lists the variants that may contain
    /// undeclared properties.
    fn variants_macro(&self, def: &TypeDef, variants: Vec<(&String, &TypeRef)>) -> TokenStream {
        let name = ident(&def.name);
        let unique = variants.iter().filter(|(_, ty)| {
            variants.iter().filter(|(_, other)| other == ty).count() == 1 && **ty != TypeRef::Json
        });
        let from = macro_section(
            "from",
            unique.map(|(variant, ty)| {
                let variant = ident(variant);
                let ty = match ty {
                    TypeRef::Boxed(inner) => self.type_tokens(inner),
                    other => self.type_tokens(other),
                };
                quote!(#variant(#ty))
            }),
        );
        let nested = variants.iter().filter(|(_, ty)| self.holds_members(ty));
        let nested = macro_section(
            "nested",
            nested.map(|(variant, _)| {
                let variant = ident(variant);
                quote!(#variant)
            }),
        );
        quote!(::contract_runtime::union_variants! { #name { #from #nested } })
    }
}

/// Returns the runtime's name of a variant's JSON type.
fn runtime_kind(types: TypeSet) -> Ident {
    let kinds = [
        (TypeSet::NULL, "Null"),
        (TypeSet::BOOLEAN, "Boolean"),
        (TypeSet::INTEGER, "Number"),
        (TypeSet::STRING, "String"),
        (TypeSet::ARRAY, "Array"),
    ];
    let found = kinds.into_iter().find(|(t, _)| !types.intersection(*t).is_empty());
    ident(found.map_or("Object", |(_, name)| name))
}

fn kind_phrase(types: TypeSet) -> &'static str {
    if types == TypeSet::NULL {
        "null"
    } else if types == TypeSet::BOOLEAN {
        "true or false"
    } else if types == TypeSet::INTEGER {
        "a whole number"
    } else if !types.intersection(TypeSet::NUMBER).is_empty() {
        "a number"
    } else if types == TypeSet::STRING {
        "a string"
    } else if types == TypeSet::ARRAY {
        "an array"
    } else {
        "an object"
    }
}
