//! Query strings and form bodies, split into pairs but not decoded.
//!
//! Values remain percent-encoded, because the style of the parameter determines which characters are
//! separators. In `ids=a%2Cb,c`, for example, the first comma is data and the second one is a separator.

use std::borrow::Cow;
use std::fmt;

/// The error of a query that cannot be split into names and values. It contains no name and no value, because
/// these may be confidential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedQuery {
    /// The position of the malformed parameter among the parameters of the query, starting at 1.
    pub position: usize,
    /// The malformed part of the parameter.
    pub part: MalformedPart,
}

/// The malformed part of a query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedPart {
    /// The name is empty.
    EmptyName,
    /// The name is not UTF-8, or not percent-encoded correctly.
    Name,
    /// The value is not UTF-8, or not percent-encoded correctly.
    Value,
}

impl MalformedQuery {
    /// Returns a human-readable message. It is the predicate of a sentence about the query, such as `must be
    /// percent-encoded UTF-8, but the value of parameter 2 is not`.
    #[must_use]
    pub fn message(&self) -> String {
        let position = self.position;
        match self.part {
            MalformedPart::EmptyName => {
                format!("must name each parameter, but parameter {position} has no name")
            }
            MalformedPart::Name => {
                format!("must be percent-encoded UTF-8, but the name of parameter {position} is not")
            }
            MalformedPart::Value => {
                format!("must be percent-encoded UTF-8, but the value of parameter {position} is not")
            }
        }
    }
}

impl fmt::Display for MalformedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the query {}", self.message())
    }
}

impl std::error::Error for MalformedQuery {}

/// The pairs of a query string, in order.
#[derive(Clone, Default)]
pub struct QueryPairs<'a> {
    pairs: Vec<(Cow<'a, str>, &'a str)>,
}

/// Shows only the number of pairs, because names and values may be confidential.
impl fmt::Debug for QueryPairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryPairs").field("pairs", &self.pairs.len()).finish_non_exhaustive()
    }
}

impl<'a> QueryPairs<'a> {
    /// Splits a query such as `a=1&b=2`. Skips empty parts (`a=1&&b=2`). A part without `=`, such as `a`, is
    /// read as `a=`.
    ///
    /// # Errors
    /// [`MalformedQuery`] with the position of the first malformed parameter.
    pub fn parse(raw: &'a str) -> Result<Self, MalformedQuery> {
        let mut pairs = Vec::new();
        for part in raw.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let malformed = |part| MalformedQuery { position: pairs.len() + 1, part };
            let name = decode_query(name).ok_or_else(|| malformed(MalformedPart::Name))?;
            if name.is_empty() {
                return Err(malformed(MalformedPart::EmptyName));
            }
            if decode_query(value).is_none() {
                return Err(malformed(MalformedPart::Value));
            }
            pairs.push((name, value));
        }
        Ok(Self { pairs })
    }

    /// Splits `Cookie` headers into pairs. Returns `None` if they are not UTF-8.
    pub(super) fn from_cookies(lines: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut pairs = Vec::new();
        for line in lines {
            let line = std::str::from_utf8(line).ok()?;
            let each = line.split(';').filter_map(|pair| pair.trim().split_once('='));
            let decoded = |name| decode_percent(name).unwrap_or(Cow::Borrowed(name));
            pairs.extend(each.map(|(name, value)| (decoded(name), value)));
        }
        Some(Self { pairs })
    }

    /// Iterates over the decoded names and raw values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.pairs.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// Iterates over the raw values of a name, in order.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(n, _)| *n == name).map(|(_, value)| value)
    }
}

/// Decodes `+` and `%XX`. Returns `None` if a `%` is not followed by two hexadecimal digits, or if the
/// decoded bytes are not UTF-8.
pub(crate) fn decode_query(raw: &str) -> Option<Cow<'_, str>> {
    if raw.contains('+') {
        let spaced = raw.replace('+', " ");
        return decode_percent(&spaced).map(|text| Cow::Owned(text.into_owned()));
    }
    decode_percent(raw)
}

/// Decodes only `%XX`, for paths and cookies.
pub(super) fn decode_percent(raw: &str) -> Option<Cow<'_, str>> {
    let bytes = raw.as_bytes();
    let broken = bytes.iter().enumerate().any(|(i, byte)| {
        let hex = |offset| bytes.get(i + offset).is_some_and(u8::is_ascii_hexdigit);
        *byte == b'%' && !(hex(1) && hex(2))
    });
    if broken { None } else { percent_encoding::percent_decode_str(raw).decode_utf8().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameless_and_broken_parameters_are_malformed() {
        let (encoding, named) = ("must be percent-encoded UTF-8, but", "must name each parameter, but");
        for (raw, message) in [
            ("=1", format!("{named} parameter 1 has no name")),
            ("a=1&&=", format!("{named} parameter 2 has no name")),
            ("a=%", format!("{encoding} the value of parameter 1 is not")),
            ("a=%4", format!("{encoding} the value of parameter 1 is not")),
            ("b&a=%zz", format!("{encoding} the value of parameter 2 is not")),
            ("%ff=1", format!("{encoding} the name of parameter 1 is not")),
            ("a=%ff", format!("{encoding} the value of parameter 1 is not")),
        ] {
            assert_eq!(
                QueryPairs::parse(raw).map(drop).map_err(|error| error.message()),
                Err(message),
                "{raw}"
            );
        }
        for raw in ["", "&", "a", "a=", "a=1&&b=2&", "a=b=c", "%61=%20+"] {
            assert!(QueryPairs::parse(raw).is_ok(), "{raw}");
        }
    }

    #[test]
    fn values_keep_their_encoding() {
        let query = QueryPairs::parse("ids=a%2Cb,c&%69ds=d&x=").unwrap();
        assert_eq!(query.values("ids").collect::<Vec<_>>(), ["a%2Cb,c", "d"]);
        assert_eq!(decode_query("a+b%2B").as_deref(), Some("a b+"));
    }
}
