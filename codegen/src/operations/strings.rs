//! Writes an enum without fields whose values are strings on the wire.

use proc_macro2::TokenStream;
use quote::quote;

use super::doc;
use crate::emit::ident;

/// An enum to write.
pub(crate) struct StringEnum<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its documentation, Markdown paragraphs.
    pub(crate) doc: Vec<String>,
    /// Its values; names are distinct.
    pub(crate) values: Vec<StringValue>,
}

/// One value.
pub(crate) struct StringValue {
    /// As written in JSON.
    pub(crate) wire: String,
    /// The variant.
    pub(crate) name: String,
    /// Its documentation, Markdown paragraphs.
    pub(crate) doc: Vec<String>,
}

impl StringEnum<'_> {
    /// The enum with `ALL`, `as_str`, `Display`, `FromStr` and its reading and writing.
    pub(crate) fn tokens(&self) -> TokenStream {
        let name = ident(self.name);
        let text = self.name;
        let about = doc(&self.doc);
        let docs = self.values.iter().map(|value| doc(&value.doc));
        let variants: Vec<_> = self.values.iter().map(|value| ident(&value.name)).collect();
        let wires: Vec<_> = self.values.iter().map(|value| value.wire.as_str()).collect();
        let traits = string_traits(&quote!(#name));
        quote! {
            #about
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum #name { #(#docs #variants),* }

            impl #name {
                /// Every value, in the order of the contract.
                pub const ALL: &'static [Self] = &[#(Self::#variants),*];

                /// As the contract writes it.
                #[must_use]
                pub const fn as_str(self) -> &'static str {
                    match self { #(Self::#variants => #wires),* }
                }
            }

            impl ::std::str::FromStr for #name {
                type Err = ::contract_runtime::contract::UnknownValue;

                fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                    match text {
                        #(#wires => Ok(Self::#variants),)*
                        _ => Err(::contract_runtime::contract::UnknownValue(#text)),
                    }
                }
            }

            #traits
        }
    }
}

/// `Display`, `Serialize`, `Deserialize` and `Read` for a type with `as_str` and `FromStr`.
pub(crate) fn string_traits(name: &TokenStream) -> TokenStream {
    quote! {
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for #name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::contract_runtime::contract::read_text(deserializer, <Self as ::std::str::FromStr>::from_str)
            }
        }

        impl<'de> ::contract_runtime::read::Read<'de> for #name {
            fn read<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::serde::Deserialize::deserialize(deserializer)
            }
        }
    }
}
