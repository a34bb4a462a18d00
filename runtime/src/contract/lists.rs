//! [`IntoList`]: the arguments that setters of lists accept.

use std::iter;

use crate::Nullable;

/// A conversion into the list type `L`, which is `Vec<T>` or `Nullable<Vec<T>>`.
///
/// Arrays and mapped iterators convert each item. A vector has the exact type, so that the compiler infers the
/// type of its items: `vec![system.into(), user.into()]`.
///
/// ```
/// use contract_runtime::{Json, Nullable, contract::IntoList};
///
/// fn set(items: impl IntoList<Nullable<Vec<Json>>>) -> Nullable<Vec<Json>> {
///     items.into_list()
/// }
/// assert_eq!(set(["a", "b"]), set(vec!["a".into(), "b".into()]));
/// assert_eq!(set(Vec::new()), Nullable::Value(Vec::new()));
/// assert_eq!(set(Nullable::Null), Nullable::Null);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of the type `{L}`",
    note = "an array of values that convert into the items, such as `[a, b]`, and a `Vec` of the items are lists",
    note = "other iterators convert by `.collect::<Vec<_>>()`"
)]
pub trait IntoList<L> {
    /// Returns the list.
    fn into_list(self) -> L;
}

impl<T> IntoList<Self> for Vec<T> {
    fn into_list(self) -> Self {
        self
    }
}

impl<T, U: Into<T>, const N: usize> IntoList<Vec<T>> for [U; N] {
    fn into_list(self) -> Vec<T> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T, U: Into<T>, I: Iterator, F: FnMut(I::Item) -> U> IntoList<Vec<T>> for iter::Map<I, F> {
    fn into_list(self) -> Vec<T> {
        self.map(Into::into).collect()
    }
}

impl<T> IntoList<Self> for Nullable<Vec<T>> {
    fn into_list(self) -> Self {
        self
    }
}

impl<T> IntoList<Nullable<Self>> for Vec<T> {
    fn into_list(self) -> Nullable<Self> {
        Nullable::Value(self)
    }
}

impl<T> IntoList<Nullable<Vec<T>>> for Option<Vec<T>> {
    fn into_list(self) -> Nullable<Vec<T>> {
        self.into()
    }
}

impl<T, U: Into<T>, const N: usize> IntoList<Nullable<Vec<T>>> for [U; N] {
    fn into_list(self) -> Nullable<Vec<T>> {
        Nullable::Value(self.into_list())
    }
}

impl<T, U: Into<T>, I: Iterator, F: FnMut(I::Item) -> U> IntoList<Nullable<Vec<T>>> for iter::Map<I, F> {
    fn into_list(self) -> Nullable<Vec<T>> {
        Nullable::Value(self.into_list())
    }
}
