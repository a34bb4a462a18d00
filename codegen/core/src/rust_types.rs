//! The interface through which the generators print the Rust types that the `shape` stage selected.

use contract_runtime::Json;
use proc_macro2::TokenStream;
use quote::quote;

use crate::{schema::SchemaId, shape::TypeRef};

/// A printer of references to types and validators. Paths are relative to a module directly below the
/// generated root.
pub trait RustTypes {
    /// Returns the path of a type, such as `super::types::StockLot`, `i64`, `String` or
    /// `Vec<super::types::Ship>`.
    fn rust_type(&self, ty: &TypeRef) -> TokenStream;

    /// Returns the path of the type of a schema, which may be an alias.
    fn schema_type(&self, ty: &TypeRef, schema: SchemaId) -> TokenStream;

    /// Returns the name of a generated type without its path, or `None` for other types.
    fn type_name<'s>(&'s self, ty: &TypeRef) -> Option<&'s str>;

    /// Returns true if the type is known to be `Copy`.
    fn is_copy(&self, ty: &TypeRef) -> bool;

    /// Returns true if other types can be converted into this one. For example, the contents of variants can
    /// be converted into their union.
    fn has_conversions(&self, ty: &TypeRef) -> bool;

    /// Returns the equality traits that the type implements.
    fn equality(&self, ty: &TypeRef) -> EqualityTraits;

    /// Returns the default of an optional value as code, if an accessor can return it.
    fn default_value(&self, ty: &TypeRef, default: &Json) -> Option<DefaultValue>;

    /// Returns a constant expression of type `contract_runtime::schema::Validator` for a schema; it requires
    /// an import of the module `schemas`.
    fn validator_expression(&self, schema: SchemaId) -> TokenStream;
}

/// The default that a generated accessor returns.
pub enum DefaultValue {
    /// A default that is returned by value, because its type is `Copy`. Contains the Rust type and the value
    /// as code.
    Copied(TokenStream, TokenStream),
    /// A default of a type that is not `Copy`; the accessor clones a present value. Contains the Rust type
    /// and the value as code.
    Cloned(TokenStream, TokenStream),
    Str(String),
    /// An empty slice. Contains the type of its elements.
    EmptySlice(TokenStream),
}

/// The equality traits of a type, from fewest to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EqualityTraits {
    /// `PartialEq` only, for a type from outside the generated crate whose other traits are unknown.
    Partial,
    /// `PartialEq` and `Eq`, but not `Hash`, because a hash could reveal a secret.
    Full,
    /// `PartialEq`, `Eq` and `Hash`.
    Hashable,
}

impl EqualityTraits {
    /// Returns the traits that a type can derive if its fields implement these traits.
    #[must_use]
    pub fn weakest_of(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::Hashable, Self::min)
    }

    /// Returns the traits as a derive list.
    #[must_use]
    pub fn derive_list(self) -> TokenStream {
        match self {
            Self::Partial => quote!(PartialEq),
            Self::Full => quote!(PartialEq, Eq),
            Self::Hashable => quote!(PartialEq, Eq, Hash),
        }
    }
}

/// The form in which generated code passes a value that is only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassingMode {
    /// By value, for types that are `Copy`.
    ByValue,
    Str,
    /// By a slice of the elements.
    Slice,
    ByReference,
}

impl PassingMode {
    /// Returns the passing mode of a type.
    #[must_use]
    pub fn for_type(ty: &TypeRef, types: &dyn RustTypes) -> Self {
        match ty {
            TypeRef::String => Self::Str,
            TypeRef::Vec(_) => Self::Slice,
            ty if types.is_copy(ty) => Self::ByValue,
            _ => Self::ByReference,
        }
    }

    /// Returns the passing mode of a type and the type of the argument.
    #[must_use]
    pub fn with_argument_type(ty: &TypeRef, types: &dyn RustTypes) -> (Self, TokenStream) {
        let handed = Self::for_type(ty, types);
        let of = match ty {
            TypeRef::Vec(inner) => inner,
            ty => ty,
        };
        (handed, handed.argument_type(&types.rust_type(of)))
    }

    /// Returns the type of the argument. `ty` is the type of the value, or of the elements for slices.
    #[must_use]
    pub fn argument_type(self, ty: &TokenStream) -> TokenStream {
        match self {
            Self::ByValue => quote!(#ty),
            Self::Str => quote!(&str),
            Self::Slice => quote!(&[#ty]),
            Self::ByReference => quote!(&#ty),
        }
    }
}
