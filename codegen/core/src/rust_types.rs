//! The interface through which the generators print the Rust types that the `shape` stage selected.

use contract_runtime::Json;
use proc_macro2::{Ident, TokenStream};
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

    /// Returns the arguments that the setter of a list accepts, or `None` if the type is no list. A list that may be
    /// `null` is a list.
    fn list_argument(&self, ty: &TypeRef) -> Option<ListArgument>;

    /// Returns the equality traits that the type implements.
    fn equality(&self, ty: &TypeRef) -> EqualityTraits;

    /// Returns the default of an optional value as code, if an accessor can return it.
    fn default_value(&self, ty: &TypeRef, default: &Json) -> Option<DefaultValue>;

    /// Returns a constant expression of type `contract_runtime::schema::Validator` for a schema; it requires
    /// an import of the module `schemas`.
    fn validator_expression(&self, schema: SchemaId) -> TokenStream;
}

/// The arguments that the setter of a list accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListArgument {
    /// Any iterator of values that convert into the items, for lists of strings and of similar values.
    Converted,
    /// Any iterator of the items, if no other type converts into them.
    Exact,
    /// Any `IntoList`, for items with variants: an array converts each item, and the items of a vector are inferred
    /// from calls of `into`.
    IntoList,
}

impl ListArgument {
    /// Returns the name of the argument's kind in the macros of the runtime.
    #[must_use]
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Converted => "list",
            Self::Exact => "items",
            Self::IntoList => "into_list",
        }
    }
}

/// The argument type of a setter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetterArgument {
    Plain,
    Into,
    List(ListArgument),
}

impl SetterArgument {
    /// Returns the argument for a value of a type.
    #[must_use]
    pub fn for_type(ty: &TypeRef, types: &dyn RustTypes) -> Self {
        match types.list_argument(ty) {
            Some(list) => Self::List(list),
            None if *ty == TypeRef::String || types.has_conversions(ty) => Self::Into,
            None => Self::Plain,
        }
    }

    /// Returns the type of the argument and the expression that converts it. `path` is the path of the type `ty`.
    #[must_use]
    pub fn type_and_value(
        self,
        (ty, path): (&TypeRef, &TokenStream),
        argument: &Ident,
        types: &dyn RustTypes,
    ) -> (TokenStream, TokenStream) {
        let item = || match ty {
            TypeRef::Vec(item) => types.rust_type(item),
            ty => types.rust_type(ty),
        };
        match self {
            Self::Plain => (quote!(#path), quote!(#argument)),
            Self::Into => (quote!(impl Into<#path>), quote!(#argument.into())),
            Self::List(ListArgument::Converted) => {
                let item = item();
                let value = quote!(#argument.into_iter().map(Into::into).collect());
                (quote!(impl IntoIterator<Item = impl Into<#item>>), value)
            }
            Self::List(ListArgument::Exact) => {
                let item = item();
                (quote!(impl IntoIterator<Item = #item>), quote!(#argument.into_iter().collect()))
            }
            Self::List(ListArgument::IntoList) => {
                let value = quote!(::contract_runtime::contract::IntoList::into_list(#argument));
                (quote!(impl ::contract_runtime::contract::IntoList<#path>), value)
            }
        }
    }
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
    /// Returns [`Str`](Self::Str) for strings, [`Slice`](Self::Slice) for lists, [`ByValue`](Self::ByValue) for other
    /// types that are `Copy`, and [`ByReference`](Self::ByReference) for all remaining types.
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
