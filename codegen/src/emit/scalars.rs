//! Enumerations of strings, and single values with rules of their own.

use contract_runtime::Number;
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, docs::doc_lines, ident};
use crate::{
    schema::Schema,
    shape::{IntKind, StringEnum, TypeDef, TypeRef},
};

impl Emitter<'_> {
    pub(super) fn string_enum(&self, def: &TypeDef, list: &StringEnum) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let variants = list.values.iter().map(|(wire, rust, doc)| {
            let variant = ident(rust);
            let mut paragraphs = vec![format!("`{wire}`")];
            paragraphs.extend(doc.clone());
            let docs = doc_lines(&paragraphs);
            quote!(#docs #variant,)
        });
        let (wires, rust): (Vec<&String>, Vec<_>) =
            list.values.iter().map(|(wire, rust, _)| (wire, ident(rust))).unzip();
        let (derives, unknown, unknown_arm, all, accessor, implementation) = if list.open {
            (
                quote!(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash),
                quote! {
                    /// A value that this version of the contract does not list, as it came.
                    Unknown(String),
                },
                quote!(Self::Unknown(text) => text,),
                quote! {
                    /// Every value that this version of the contract lists.
                    pub const KNOWN: &'static [Self] = &[#(Self::#rust),*];
                },
                quote! {
                    /// The text of a value that this version of the contract does not list.
                    #[must_use]
                    pub fn unknown(&self) -> Option<&str> {
                        match self {
                            Self::Unknown(text) => Some(text),
                            _ => None,
                        }
                    }
                },
                quote!(::contract_runtime::open_enum!(#name);),
            )
        } else {
            (
                quote!(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash),
                quote!(),
                quote!(),
                quote! {
                    /// Every value.
                    pub const ALL: &'static [Self] = &[#(Self::#rust),*];
                },
                quote!(),
                quote!(::contract_runtime::closed_enum!(#name);),
            )
        };
        let constant = (!list.open).then(|| quote!(const));
        quote! {
            #docs
            #[derive(#derives)]
            pub enum #name {
                #(#variants)*
                #unknown
            }
            impl #name {
                #all

                /// The value as it stands on the wire.
                #[must_use]
                pub #constant fn as_str(&self) -> &str {
                    match self {
                        #(Self::#rust => #wires,)*
                        #unknown_arm
                    }
                }
                #accessor

                fn from_wire(text: &str) -> Option<Self> {
                    Some(match text {
                        #(#wires => Self::#rust,)*
                        _ => return None,
                    })
                }
            }
            #implementation
        }
    }

    pub(super) fn newtype(&self, def: &TypeDef, inner: &TypeRef) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let limits = self.limit_constants(def, inner);
        let (derives, field, implementation) = match inner {
            TypeRef::String if def.secret => (
                quote!(Clone, Debug, PartialEq),
                quote!(Secret),
                quote!(::contract_runtime::secret_newtype!(#name);),
            ),
            TypeRef::Secret => (
                quote!(Clone, Debug, PartialEq),
                quote!(Secret),
                quote!(::contract_runtime::secret_newtype!(#name);),
            ),
            // The order of their texts is not the order of time.
            TypeRef::String if self.is_moment(def) => {
                (quote!(Clone, Debug), quote!(String), quote!(::contract_runtime::moment_newtype!(#name);))
            }
            TypeRef::String => (
                quote!(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash),
                quote!(String),
                quote!(::contract_runtime::string_newtype!(#name);),
            ),
            TypeRef::Int(kind) => {
                let int = match kind {
                    IntKind::I64 => quote!(i64),
                    IntKind::U64 => quote!(u64),
                };
                (
                    quote!(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash),
                    int.clone(),
                    quote!(::contract_runtime::int_newtype!(#name, #int);),
                )
            }
            TypeRef::Number => (
                quote!(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash),
                quote!(Number),
                quote!(::contract_runtime::number_newtype!(#name);),
            ),
            other => {
                let ty = self.ty(other);
                let copy = matches!(other, TypeRef::Bool).then(|| quote!(Copy, Eq,));
                (
                    quote!(Clone, #copy Debug, PartialEq),
                    quote!(pub #ty),
                    quote!(::contract_runtime::wrapper!(#name, #ty);),
                )
            }
        };
        let scalar = matches!(inner, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number);
        let field = if scalar { quote!(pub(super) #field) } else { field };
        quote! {
            #docs
            #[derive(#derives)]
            pub struct #name(#field);
            #limits
            #implementation
        }
    }

    /// Whether a text is an RFC 3339 date-time (JSON Schema Validation, 7.3.1).
    fn is_moment(&self, def: &TypeDef) -> bool {
        let facts = self.facts(&def.conj);
        facts.members.iter().any(|&member| self.graph.schema(member).format.as_deref() == Some("date-time"))
    }

    /// The limits of a newtype as constants, for who lays out a form or cuts a text.
    fn limit_constants(&self, def: &TypeDef, inner: &TypeRef) -> TokenStream {
        let facts = self.facts(&def.conj);
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| self.graph.schema(m)).collect();
        let mut constants = Vec::new();
        let mut constant = |name: &str, ty: TokenStream, value: Option<TokenStream>, doc: &str| {
            if let Some(value) = value {
                let name = ident(name);
                constants.push(quote!(#[doc = #doc] pub const #name: #ty = #value;));
            }
        };
        let size = |n: u64| {
            let n = proc_macro2::Literal::u64_unsuffixed(n);
            quote!(#n)
        };
        match inner {
            TypeRef::String | TypeRef::Secret => {
                let min = schemas.iter().filter_map(|s| s.min_length).max();
                let max = schemas.iter().filter_map(|s| s.max_length).min();
                constant("MIN_LENGTH", quote!(usize), min.map(size), " The least number of characters.");
                constant("MAX_LENGTH", quote!(usize), max.map(size), " The greatest number of characters.");
            }
            TypeRef::Int(IntKind::I64) => {
                let whole = |n: i128| {
                    let n = proc_macro2::Literal::i64_unsuffixed(i64::try_from(n).ok()?);
                    Some(quote!(#n))
                };
                let min = schemas.iter().filter_map(|s| s.minimum.as_ref()).max();
                let max = schemas.iter().filter_map(|s| s.maximum.as_ref()).min();
                constant("MIN", quote!(i64), min.and_then(Number::ceil).and_then(whole), " The least value.");
                constant(
                    "MAX",
                    quote!(i64),
                    max.and_then(Number::floor).and_then(whole),
                    " The greatest value.",
                );
            }
            _ => {}
        }
        if constants.is_empty() {
            return TokenStream::new();
        }
        let name = ident(&def.name);
        quote!(impl #name { #(#constants)* })
    }
}
