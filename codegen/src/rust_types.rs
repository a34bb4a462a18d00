//! How stages that write operations print the Rust types that shape decided.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{schema::SchemaId, shape::TypeRef};

/// Prints types and validators, as seen from a module directly below the generated root.
pub trait RustTypes {
    /// `super::types::StockLot`, `i64`, `String`, `Vec<super::types::Ship>`.
    fn rust_type(&self, ty: &TypeRef) -> TokenStream;

    /// The type's name without its path, when it is one of the contract.
    fn name<'s>(&'s self, ty: &TypeRef) -> Option<&'s str>;

    /// Whether the type is known to be `Copy`.
    fn is_copy(&self, ty: &TypeRef) -> bool;

    /// How values of the type can be told apart.
    fn equality(&self, ty: &TypeRef) -> Equality;

    /// A constant expression of type `contract_runtime::schema::Validator` for a schema, where the
    /// module `schemas` is imported.
    fn validator(&self, schema: SchemaId) -> TokenStream;
}

/// How values of a type can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equality {
    /// `PartialEq` alone: a type of the owner's, of which no more is known.
    Compared,
    /// `Eq`, but no `Hash`: secrets have no hash that anybody could see.
    Equal,
    /// `Eq` and `Hash`.
    Hashed,
}

impl Equality {
    /// That of what holds values of all of these.
    #[must_use]
    pub fn of_all(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::Hashed, Self::min)
    }

    /// What a type derives for it.
    #[must_use]
    pub fn derives(self) -> TokenStream {
        match self {
            Self::Compared => quote!(PartialEq),
            Self::Equal => quote!(PartialEq, Eq),
            Self::Hashed => quote!(PartialEq, Eq, Hash),
        }
    }
}

/// How a value is handed to who only looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    /// By value, since it is `Copy`.
    Copied,
    /// As `&str`.
    Text,
    /// As a slice.
    List,
    /// By reference.
    Borrowed,
}

impl Handed {
    /// How values of a type are handed over.
    #[must_use]
    pub fn of(ty: &TypeRef, types: &dyn RustTypes) -> Self {
        match ty {
            TypeRef::String => Self::Text,
            TypeRef::Vec(_) => Self::List,
            ty if types.is_copy(ty) => Self::Copied,
            _ => Self::Borrowed,
        }
    }

    /// The same, and the type of what is handed over.
    #[must_use]
    pub fn given(ty: &TypeRef, types: &dyn RustTypes) -> (Self, TokenStream) {
        let handed = Self::of(ty, types);
        let of = match ty {
            TypeRef::Vec(inner) => inner,
            ty => ty,
        };
        (handed, handed.rust_type(&types.rust_type(of)))
    }

    /// The type of what is handed over; `ty` is that of the value, of a list the element's.
    #[must_use]
    pub fn rust_type(self, ty: &TokenStream) -> TokenStream {
        match self {
            Self::Copied => quote!(#ty),
            Self::Text => quote!(&str),
            Self::List => quote!(&[#ty]),
            Self::Borrowed => quote!(&#ty),
        }
    }
}
