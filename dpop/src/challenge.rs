//! Challenges: what the header field `WWW-Authenticate` says, read and written (RFC 9110, 11.2–11.6.1).
//!
//! A server refuses with a list of challenges. Each names a scheme and says what the scheme needs,
//! as parameters or as one opaque `token68`. The list is hard to read because the same comma stands
//! between challenges and between the parameters of one, and because servers and proxies differ in
//! all that the grammar leaves open: quoted or bare values, order, case, empty elements, one header
//! line or several.
//!
//! [`Challenge`] is one challenge of any scheme, [`DpopChallenge`] is what a DPoP challenge means
//! (RFC 9449, 7.1, 8 and 9). Which answer calls for a new proof is not decided here.
//!
//! ```
//! use dpop_bound::challenge::{DpopChallenge, DpopError};
//!
//! let lines: [&[u8]; 2] = [b"Basic realm=\"proxy\"", b"Bearer, dpop algs=ES256, error=use_dpop_nonce"];
//! let challenge = DpopChallenge::find(lines).unwrap();
//!
//! assert_eq!(challenge.error(), Some(&DpopError::UseDpopNonce));
//! assert_eq!(challenge.supports("ES256"), Some(true));
//! assert_eq!(DpopChallenge::use_nonce().to_string(), r#"DPoP algs="ES256", error="use_dpop_nonce""#);
//! ```

mod dpop;
mod parse;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod word;

use std::{
    collections::HashSet,
    fmt::{self, Write as _},
};

pub use dpop::{DpopChallenge, DpopError};
use word::Word;

use crate::grammar::is_token68;

/// One challenge: a scheme, and nothing more, or a `token68`, or parameters (RFC 9110, 11.3).
///
/// Always one that can be written: what is built is checked, what is read was written before. Two
/// are equal when their schemes and the names of their parameters differ in case at most, and
/// everything else is the same in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    scheme: Word,
    credentials: Credentials,
}

/// What follows the scheme. Never an empty list of parameters, which is written as nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Credentials {
    None,
    Token68(Box<str>),
    Parameters(Vec<Parameter>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameter {
    name: Word,
    value: Box<str>,
}

/// The line is no list of challenges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no list of challenges: malformed at byte {at}")]
pub struct MalformedChallenge {
    /// Offset of the first byte that cannot stand where it stands, the length of the line when it
    /// ends too early; of the name for a parameter that is repeated or belongs to no challenge.
    pub at: usize,
}

/// Why a challenge cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnwritableChallenge {
    /// The scheme is no token (RFC 9110, 5.6.2).
    #[error("the scheme is no token")]
    Scheme,
    /// The text is no `token68` (RFC 9110, 11.2).
    #[error("no token68: letters, digits and -._~+/ are, with = at the end")]
    Token68,
    /// The name of a parameter is no token (RFC 9110, 5.6.2).
    #[error("the name of a parameter is no token")]
    Name,
    /// The name of a parameter stands twice (RFC 9110, 11.2).
    #[error("a parameter stands twice")]
    Repeated,
    /// A value holds a control character other than the tab (RFC 9110, 5.6.4), or, in a DPoP
    /// challenge, a character that its parameter does not allow (RFC 6750, 3).
    #[error("a value holds a character that cannot be written")]
    Value,
}

impl Challenge {
    /// A challenge that names its scheme alone, such as `Negotiate`.
    ///
    /// # Errors
    /// When the scheme is no token.
    pub fn bare(scheme: &str) -> Result<Self, UnwritableChallenge> {
        let scheme = Word::new(scheme).ok_or(UnwritableChallenge::Scheme)?;
        Ok(Self { scheme, credentials: Credentials::None })
    }

    /// A challenge with one opaque text, such as `Negotiate oYG3MIG0oAMKAQ==`.
    ///
    /// # Errors
    /// When the scheme is no token or the text no `token68`.
    pub fn with_token68(scheme: &str, text: &str) -> Result<Self, UnwritableChallenge> {
        if !is_token68(text.as_bytes()) {
            return Err(UnwritableChallenge::Token68);
        }
        Ok(Self { credentials: Credentials::Token68(text.into()), ..Self::bare(scheme)? })
    }

    /// A challenge with these parameters, names and values, in this order.
    ///
    /// # Errors
    /// When the scheme or a name is no token, a name stands twice in whatever case, or a value
    /// holds a control character other than the tab.
    pub fn with_parameters<'a>(
        scheme: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, UnwritableChallenge> {
        let bare = Self::bare(scheme)?;
        let mut seen = HashSet::new();
        let mut list = Vec::new();
        for (name, value) in parameters {
            let name = Word::new(name).ok_or(UnwritableChallenge::Name)?;
            if !seen.insert(name.clone()) {
                return Err(UnwritableChallenge::Repeated);
            }
            if value.bytes().any(is_control) {
                return Err(UnwritableChallenge::Value);
            }
            list.push(Parameter { name, value: value.into() });
        }
        Ok(Self { credentials: Credentials::of(list), ..bare })
    }

    /// The challenges of one header line: the value of one `WWW-Authenticate` field.
    ///
    /// A value in quotes is read as UTF-8 where it is UTF-8, else each byte becomes the character
    /// of that number (ISO 8859-1). More lenient than the grammar in one place: a tab may follow
    /// the scheme.
    ///
    /// # Errors
    /// When the line is no list of challenges, or a challenge names a parameter twice. The work is
    /// proportional to the length of the line.
    pub fn parse_line(line: &[u8]) -> Result<Vec<Self>, MalformedChallenge> {
        parse::strict(line)
    }

    /// The challenges of all header lines together, in order, as far as they are well-formed.
    ///
    /// A line that is malformed hides no other line, and what is malformed within a line hides no
    /// challenge but its own, for proxies add challenges of theirs, at times to the same line
    /// (RFC 9110, 5.3). The work is proportional to the length of the lines.
    pub fn parse_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<Self> {
        lines.into_iter().flat_map(parse::tolerant).collect()
    }

    /// The scheme as it was written, such as `DPoP`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.scheme.as_str()
    }

    /// Whether this is the scheme, in any case (RFC 9110, 11.1).
    #[must_use]
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.is(scheme)
    }

    /// The opaque text, when the challenge has that instead of parameters.
    #[must_use]
    pub fn token68(&self) -> Option<&str> {
        match &self.credentials {
            Credentials::Token68(text) => Some(text),
            Credentials::None | Credentials::Parameters(_) => None,
        }
    }

    /// Names and values of the parameters, in order. Names are as they were written, values
    /// without quotes and escapes.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let list = match &self.credentials {
            Credentials::Parameters(list) => list.as_slice(),
            Credentials::None | Credentials::Token68(_) => &[],
        };
        list.iter().map(|parameter| (parameter.name.as_str(), &*parameter.value))
    }

    /// The value of a parameter, its name in any case (RFC 9110, 11.2).
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        self.parameters().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The challenge as it stands in a header field, every value in quotes.
///
/// Characters outside ASCII are written as UTF-8; a header field takes them as bytes.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme())?;
        if let Some(text) = self.token68() {
            write!(f, " {text}")?;
        }
        let mut separator = " ";
        for (name, value) in self.parameters() {
            write!(f, "{separator}{name}=\"")?;
            for c in value.chars() {
                if matches!(c, '"' | '\\') {
                    f.write_char('\\')?;
                }
                f.write_char(c)?;
            }
            f.write_char('"')?;
            separator = ", ";
        }
        Ok(())
    }
}

impl Credentials {
    fn of(list: Vec<Parameter>) -> Self {
        if list.is_empty() { Self::None } else { Self::Parameters(list) }
    }
}

/// Whether a byte cannot stand in a quoted string, escaped or not (RFC 9110, 5.6.4).
const fn is_control(byte: u8) -> bool {
    byte != b'\t' && byte.is_ascii_control()
}
