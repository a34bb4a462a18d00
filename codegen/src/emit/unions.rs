//! Enums of several types: told apart by a tag, or by their JSON type.

use contract_runtime::Json;
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident};
use crate::{
    schema::Types,
    shape::{Body, KindVariant, Tagged, TypeDef, TypeRef},
};

impl Emitter<'_> {
    pub(super) fn tagged(&self, def: &TypeDef, body: &Tagged) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let expecting = format!("an object ({})", def.name);
        let tag = &body.tag;
        let variants = body.variants.iter().map(|v| {
            let (variant, ty) = (ident(&v.name), self.ty(&v.ty));
            let literals: Vec<String> = v.literals.iter().map(|l| format!("`{l}`")).collect();
            let doc = format!(" `{tag}` is {}.", literals.join(" or "));
            quote!(#[doc = #doc] #variant(#ty),)
        });
        let unknown = body.open.then(|| {
            quote! {
                /// Any other tag; the object as it came.
                Unknown(Json),
            }
        });
        let reading = body.variants.iter().map(|v| {
            let variant = ident(&v.name);
            let literals = v.literals.iter().map(tag_pattern);
            let read = if self.reads_members(&v.ty) {
                quote!(FromMap::from_map(rest.with_tag()))
            } else {
                quote!(contract::read_rest(rest.with_tag()))
            };
            quote!(#(#literals)|* => #read.map(Self::#variant),)
        });
        let other = if body.open {
            quote!(_ => contract::read_members(rest.with_tag()).map(Self::Unknown),)
        } else {
            quote!(_ => Err(de::Error::custom("no variant has this tag")),)
        };
        let writing = body.variants.iter().map(|v| {
            let variant = ident(&v.name);
            quote!(Self::#variant(value) => value.serialize(serializer),)
        });
        let write_unknown = body.open.then(|| quote!(Self::Unknown(value) => value.serialize(serializer),));
        let from = self.conversions(def, body.variants.iter().map(|v| (&v.name, &v.ty)).collect());
        let large = (body.variants.len() > 1).then(|| {
            quote!(#[allow(clippy::large_enum_variant, reason = "variants are held one at a time or in a list; a pointer for each costs more than the space")])
        });
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            #large
            pub enum #name {
                #(#variants)*
                #unknown
            }
            impl<'de> FromMap<'de> for #name {
                const EXPECTING: &'static str = #expecting;

                fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
                    read::tagged(map, #tag, |tag, rest| match tag {
                        #(#reading)*
                        #other
                    })
                }
            }
            ::contract_runtime::read_object!(#name);
            impl Serialize for #name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    match self {
                        #(#writing)*
                        #write_unknown
                    }
                }
            }
            #from
        }
    }

    /// Whether a type can be read from the members of an object.
    fn reads_members(&self, ty: &TypeRef) -> bool {
        let TypeRef::Named(id) = ty else { return false };
        matches!(self.shapes.get(*id).body, Body::Struct(_) | Body::Tagged(_))
    }

    pub(super) fn by_kind(&self, def: &TypeDef, variants: &[KindVariant]) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let list = variants.iter().map(|v| {
            let (variant, ty) = (ident(&v.name), self.ty(&v.ty));
            let doc = format!(" The value is {}.", words(v.types));
            quote!(#[doc = #doc] #variant(#ty),)
        });
        let arms = variants.iter().map(|v| {
            let variant = ident(&v.name);
            let kinds = kinds(v.types);
            quote!(#(#kinds)|* => value.parse().map(Self::#variant),)
        });
        let all: Vec<&str> = variants.iter().map(|v| words(v.types)).collect();
        let expected = all.join(" or ");
        let writing = variants.iter().map(|v| {
            let variant = ident(&v.name);
            quote!(Self::#variant(value) => value.serialize(serializer),)
        });
        let from = self.conversions(def, variants.iter().map(|v| (&v.name, &v.ty)).collect());
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name {
                #(#list)*
            }
            impl<'de> Read<'de> for #name {
                fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let value = read::peek(deserializer)?;
                    match value.kind() {
                        #(#arms)*
                        _ => Err(value.unexpected(#expected)),
                    }
                }
            }
            ::contract_runtime::deserialize_by_read!(#name);
            impl Serialize for #name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    match self {
                        #(#writing)*
                    }
                }
            }
            #from
        }
    }

    /// `From` for every variant whose type no other variant has.
    fn conversions(&self, def: &TypeDef, variants: Vec<(&String, &TypeRef)>) -> TokenStream {
        let name = ident(&def.name);
        let unique = variants.iter().filter(|(_, ty)| {
            variants.iter().filter(|(_, other)| other == ty).count() == 1 && **ty != TypeRef::Json
        });
        let impls = unique.map(|(variant, ty)| {
            let variant = ident(variant);
            let (ty, make) = match ty {
                TypeRef::Boxed(inner) => (self.ty(inner), quote!(Box::new(value))),
                other => (self.ty(other), quote!(value)),
            };
            quote! {
                impl From<#ty> for #name {
                    fn from(value: #ty) -> Self {
                        Self::#variant(#make)
                    }
                }
            }
        });
        quote!(#(#impls)*)
    }
}

fn tag_pattern(literal: &Json) -> TokenStream {
    match literal {
        Json::String(text) => quote!(Tag::Text(#text)),
        Json::Bool(value) => quote!(Tag::Bool(#value)),
        Json::Number(n) => {
            let n = proc_macro2::Literal::i64_unsuffixed(n.as_i64().unwrap_or_default());
            quote!(Tag::Int(#n))
        }
        // Only these three are taken as tags.
        _ => quote!(Tag::Other),
    }
}

fn kinds(types: Types) -> Vec<TokenStream> {
    [
        (Types::NULL, quote!(Kind::Null)),
        (Types::BOOLEAN, quote!(Kind::Boolean)),
        (Types::INTEGER, quote!(Kind::Number)),
        (Types::STRING, quote!(Kind::String)),
        (Types::ARRAY, quote!(Kind::Array)),
        (Types::OBJECT, quote!(Kind::Object)),
    ]
    .into_iter()
    .filter(|(t, _)| !types.and(*t).is_empty())
    .map(|(_, tokens)| tokens)
    .collect()
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
