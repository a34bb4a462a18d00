//! Generates enums for unions, which readers distinguish by a tag, by properties or by the JSON type.

use contract_runtime::{Json, schema::TagCertainty};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{ModelEmitter, ident, records::macro_section};
use crate::{
    schema::TypeSet,
    shape::{
        KindVariant, MemberRule, ObjectForm, ObjectUnion, TypeDef, TypeId, TypeRef, VariantSelector,
        VariantTag,
    },
};

impl ModelEmitter<'_> {
    pub(super) fn object_union_item(&self, id: TypeId, def: &TypeDef, body: &ObjectUnion) -> TokenStream {
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
        let large = (body.variants.len() > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "variants are held one at a time or in a list; a pointer for each costs more than the space")])
        });
        let held = self.variants_macro(def, body.variants.iter().map(|v| (&v.name, &v.ty)).collect());
        let tag = match &body.selector {
            VariantSelector::Tag(tag) => tag,
            VariantSelector::Members(forms) => {
                let variants = self.form_selection(body, forms);
                let declared = body.variants.iter().zip(forms).map(|(v, form)| {
                    let (variant, ty) = (ident(&v.name), self.type_tokens(&v.ty));
                    let doc = format!(" An object {form}.");
                    quote!(#[doc = #doc] #variant(#ty),)
                });
                let unknown = body.open.then(|| {
                    quote!(
                        #[doc = " Any other object, as received."]
                        Unknown(::contract_runtime::Json),
                    )
                });
                let rest = body.open.then(|| quote!(open Unknown));
                return quote! {
                    #docs
                    #[derive(#derives)]
                    #large
                    pub enum #name {
                        #(#declared)*
                        #unknown
                    }
                    ::contract_runtime::object_union! { #name #rest { #(#variants)* } }
                    #hidden
                    #held
                };
            }
        };
        let (by, variants) = self.tag_selection(body, tag);
        let kind = ident(if body.open { "open_union" } else { "closed_union" });
        quote! {
            ::contract_runtime::#kind! {
                #[#by]
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

    /// Returns the attribute that names the tag, and each variant with its values.
    fn tag_selection(&self, body: &ObjectUnion, tag: &VariantTag) -> (TokenStream, Vec<TokenStream>) {
        let name = &tag.name;
        let variants = body.variants.iter().zip(&tag.literals).enumerate().map(|(at, (v, literals))| {
            let (variant, ty) = (ident(&v.name), self.type_tokens(&v.ty));
            let literals = literals.iter().map(|literal| self.constant_expression(literal));
            let others = (tag.default_variant == Some(at))
                .then(|| quote!(#[doc = " Also used for other tags, or none, if it can hold the object."]));
            quote!(#others #variant(#ty) = #(#literals)|*,)
        });
        let value = match tag.default_variant.and_then(|at| body.variants.get(at)).map(|v| ident(&v.name)) {
            Some(otherwise) => quote!((#name, #otherwise)),
            None => quote!(#name),
        };
        let by = ident(match tag.certainty {
            TagCertainty::Required => "tag",
            TagCertainty::Present => "optional_tag",
            TagCertainty::Hint => "discriminator",
        });
        (quote!(#by = #value), variants.collect())
    }

    /// Writes each variant with its form, as in
    /// `User(User) { "id" required [Number], "kind" optional [String] = Text("a") }`. An empty list allows all types.
    fn form_selection(&self, body: &ObjectUnion, forms: &[ObjectForm]) -> Vec<TokenStream> {
        let rule_tokens = |rule: &MemberRule| {
            let name = &rule.name;
            let presence = ident(if rule.required { "required" } else { "optional" });
            let types = KINDS.into_iter().filter(|(types, _)| !types.intersection(rule.types).is_empty());
            let types: Vec<Ident> = types.map(|(_, name)| ident(name)).collect();
            let types = if types.len() == KINDS.len() { Vec::new() } else { types };
            let literals = rule.literals.iter().map(|literal| {
                let kind = ident(match literal {
                    Json::String(_) => "Text",
                    Json::Bool(_) => "Bool",
                    _ => "Int",
                });
                let value = self.constant_expression(literal);
                quote!(#kind(#value))
            });
            let literals = (!rule.literals.is_empty()).then(|| quote!(= #(#literals)|*));
            quote!(#name #presence [#(#types),*] #literals)
        };
        let variants = body.variants.iter().zip(forms).map(|(v, form)| {
            let variant = ident(&v.name);
            let ty = match &v.ty {
                TypeRef::Boxed(inner) => self.type_tokens(inner),
                other => self.type_tokens(other),
            };
            let members = form.members.iter().map(rule_tokens);
            let closed = form.closed.then(|| quote!(closed));
            quote!(#variant(#ty) #closed { #(#members),* })
        });
        variants.collect()
    }

    /// Generates the `Debug` implementation of an open union whose variants contain secrets: unknown objects
    /// may contain secrets as well.
    fn secret_debug_impl(&self, def: &TypeDef, body: &ObjectUnion) -> Option<TokenStream> {
        if !body.open || !body.variants.iter().any(|v| self.may_hold_secrets.place_contains(&v.ty)) {
            return None;
        }
        let (name, tag) = (ident(&def.name), body.tag().map(|tag| &tag.name));
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

/// The runtime's names of the JSON types.
const KINDS: [(TypeSet, &str); 6] = [
    (TypeSet::NULL, "Null"),
    (TypeSet::BOOLEAN, "Boolean"),
    (TypeSet::NUMBER, "Number"),
    (TypeSet::STRING, "String"),
    (TypeSet::ARRAY, "Array"),
    (TypeSet::OBJECT, "Object"),
];

/// Returns the runtime's name of a variant's JSON type.
fn runtime_kind(types: TypeSet) -> Ident {
    let found = KINDS.into_iter().find(|(t, _)| !types.intersection(*t).is_empty());
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
