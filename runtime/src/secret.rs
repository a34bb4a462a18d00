//! [`Secret`]: a value that is sent over the wire but never logged.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::Json;

/// A confidential value, such as a password or a token. `Debug` and `Display` print `[secret]`, but
/// `Serialize` writes the real value.
///
/// A deserialization error does not contain the input. `Hash` and `Ord` are not implemented, so that a secret
/// cannot become a map key by accident.
///
/// ```
/// use contract_runtime::Secret;
///
/// let token = Secret::from(String::from("hunter2"));
/// assert_eq!(format!("{token} {token:?}"), "[secret] [secret]");
/// assert_eq!(token.expose(), "hunter2");
/// ```
#[derive(Clone)]
pub struct Secret<T = String>(T);

impl<T> Secret<T> {
    /// Returns a reference to the real value. Do not put it into messages or logs.
    #[inline]
    #[must_use]
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// Returns the real value without its protection.
    #[inline]
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Replaces a deserialization error of a secret by one that does not contain the input.
pub(crate) fn redact_error<E: Error, F: Error>(_reason: F) -> E {
    E::custom("a secret does not have the expected form")
}

/// Formats an object that matches no known variant of a union. Only its `tag` is shown, because any other
/// member may contain a secret of one of the variants.
///
/// # Errors
/// Returns the error of the formatter.
pub fn debug_unknown_variant(object: &Json, tag: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut shown = f.debug_struct("Unknown");
    let value = if let Json::Object(members) = object { members.get(tag) } else { None };
    if let Some(value) = value.filter(|value| !matches!(value, Json::Array(_) | Json::Object(_))) {
        shown.field(tag, &format_args!("{value}"));
    }
    shown.finish_non_exhaustive()
}

impl<T> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<T: AsRef<str>> PartialEq for Secret<T> {
    /// Compares every byte of `self`, so that the duration does not depend on the number of correct bytes in
    /// a guess.
    fn eq(&self, other: &Self) -> bool {
        let (own, guess) = (self.0.as_ref().as_bytes(), other.0.as_ref().as_bytes());
        let mut difference = own.len() ^ guess.len();
        for (index, byte) in own.iter().enumerate() {
            difference |= usize::from(byte ^ guess.get(index).unwrap_or(&0));
        }
        std::hint::black_box(difference) == 0
    }
}

impl<T: AsRef<str>> Eq for Secret<T> {}

impl<T: Serialize> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self).map_err(redact_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_prints_the_value() {
        let secret: Secret = serde_json::from_str(r#""tr\u0075th""#).unwrap();
        assert_eq!(secret.expose(), "truth");
        assert_eq!(format!("{secret} {secret:?} {:#?}", Some(&secret)).matches("truth").count(), 0);
        assert_eq!(serde_json::to_string(&secret).unwrap(), r#""truth""#);
        assert_eq!(secret.into_inner(), "truth");
    }

    #[test]
    fn errors_do_not_contain_the_value() {
        let error = serde_json::from_str::<Secret>("123456").unwrap_err().to_string();
        assert!(error.contains("a secret does not have the expected form"), "{error}");
        assert!(!error.contains("123456"));
    }

    #[test]
    fn unknown_objects_show_their_tag_only() {
        struct DebugText(&'static str);
        impl fmt::Debug for DebugText {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                debug_unknown_variant(&Json::parse(self.0.as_bytes()).unwrap(), "kind", f)
            }
        }
        for (object, shown) in [
            (r#"{"token":"truth","kind":"new"}"#, r#"Unknown { kind: "new", .. }"#),
            (r#"{"kind":7.0,"list":["truth"]}"#, "Unknown { kind: 7.0, .. }"),
            (r#"{"kind":{"token":"truth"}}"#, "Unknown { .. }"),
            (r#"{"kind":["truth"]}"#, "Unknown { .. }"),
            (r#"{"token":"truth"}"#, "Unknown { .. }"),
            (r#""truth""#, "Unknown { .. }"),
        ] {
            assert_eq!(format!("{:?}", DebugText(object)), shown);
        }
    }

    #[test]
    fn compares() {
        let secret = |text: &str| Secret::from(text.to_owned());
        for (a, b) in [
            ("", ""),
            ("a", "a"),
            ("ab", "ab"),
            ("a", "b"),
            ("a", "ab"),
            ("ab", "a"),
            ("", "a"),
            ("a\0", "a"),
        ] {
            assert_eq!(secret(a) == secret(b), a == b, "{a:?} {b:?}");
        }
    }
}
