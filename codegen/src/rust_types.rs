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

    /// A constant expression of type `contract_runtime::schema::Validator` for a schema, where the
    /// module `schemas` is imported.
    fn validator(&self, schema: SchemaId) -> TokenStream;
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
