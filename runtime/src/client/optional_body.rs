//! The argument for a request body that may be absent.

/// A request body that may be absent: `&body`, `Some(&body)` or `None`.
///
/// Exactly one implementation fits each form of the argument, so that the compiler infers `T` from the method.
/// With `Into<Option<&T>>`, `&value.into()` would be ambiguous (E0283).
///
/// ```
/// use contract_runtime::client::OptionalBody;
///
/// fn send<'b>(body: impl OptionalBody<'b, String>) -> usize {
///     body.into_option().map_or(0, String::len)
/// }
///
/// assert_eq!(send(&"four".into()), 4);
/// assert_eq!(send(Some(&"four".into())), 4);
/// assert_eq!(send(None), 0);
/// ```
pub trait OptionalBody<'b, T> {
    /// Returns the body, or `None` if the request has no body.
    fn into_option(self) -> Option<&'b T>;
}

impl<'b, T> OptionalBody<'b, T> for &'b T {
    fn into_option(self) -> Option<&'b T> {
        Some(self)
    }
}

impl<'b, T> OptionalBody<'b, T> for Option<&'b T> {
    fn into_option(self) -> Self {
        self
    }
}
