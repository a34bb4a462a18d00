//! Challenges of the `WWW-Authenticate` header field: parser, builder and formatter (RFC 9110, 11.2–11.6.1).
//!
//! A server rejects a request with a list of challenges. Each challenge consists of a scheme and either
//! parameters or one opaque `token68`. The list is hard to parse: a comma separates both challenges and the
//! parameters of one challenge, and servers and proxies differ in everything that the grammar allows: quoted
//! or bare values, order, case, empty elements, one header line or several.
//!
//! [`Challenge`] is a challenge of any scheme. [`DpopChallenge`] holds the parameters of a DPoP challenge
//! (RFC 9449, 7.1, 8 and 9). This module does not decide whether to retry a request; see [`crate::session`].
//!
//! ```
//! use dpop_bound::challenge::{DpopChallenge, DpopError};
//!
//! let lines: [&[u8]; 2] = [b"Basic realm=\"proxy\"", b"Bearer, dpop algs=ES256, error=use_dpop_nonce"];
//! let challenge = DpopChallenge::find_in_headers(lines).unwrap();
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
mod token;

use std::{
    collections::HashSet,
    fmt::{self, Write as _},
};

pub use dpop::{DpopChallenge, DpopError};
use token::CaseInsensitiveToken;

use crate::grammar::is_token68;

/// One challenge: a scheme, optionally followed by a `token68` or by parameters (RFC 9110, 11.3).
///
/// Invariant: every value can be written as a header field, because constructors and parser validate it. Two
/// challenges are equal if their schemes and parameter names differ at most in case and everything else is
/// identical and in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    scheme: CaseInsensitiveToken,
    credentials: ChallengeData,
}

/// The part after the scheme. Invariant: the parameter list is never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ChallengeData {
    None,
    Token68(Box<str>),
    Parameters(Vec<ChallengeParameter>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ChallengeParameter {
    name: CaseInsensitiveToken,
    value: Box<str>,
}

/// The error for a header line that is not a list of challenges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed challenge list at byte {at}")]
pub struct MalformedChallenge {
    /// The offset of the first invalid byte, or the length of the line if it ends too early. For a parameter
    /// that is repeated or belongs to no challenge: the offset of its name.
    pub at: usize,
}

/// An error from building a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChallengeError {
    /// The scheme is not a token (RFC 9110, 5.6.2).
    #[error("invalid scheme token")]
    Scheme,
    /// The string is not a `token68` (RFC 9110, 11.2).
    #[error("invalid token68: use letters, digits and -._~+/, with = only at the end")]
    Token68,
    /// The name of a parameter is not a token (RFC 9110, 5.6.2).
    #[error("invalid parameter name token")]
    Name,
    /// The name of a parameter is repeated (RFC 9110, 11.2).
    #[error("repeated parameter name")]
    Repeated,
    /// A value contains a control character other than the tab (RFC 9110, 5.6.4), or a DPoP challenge
    /// contains a character that its parameter does not allow (RFC 6750, 3).
    #[error("a parameter value contains a character that a challenge must not contain")]
    Value,
}

impl Challenge {
    /// Builds a challenge that consists only of a scheme, such as `Negotiate`.
    ///
    /// # Errors
    /// Returns an error if the scheme is not a token.
    pub fn bare(scheme: &str) -> Result<Self, ChallengeError> {
        let scheme = CaseInsensitiveToken::new(scheme).ok_or(ChallengeError::Scheme)?;
        Ok(Self { scheme, credentials: ChallengeData::None })
    }

    /// Builds a challenge with one opaque string, such as `Negotiate oYG3MIG0oAMKAQ==`.
    ///
    /// # Errors
    /// Returns an error if the scheme is not a token or the string is not a `token68`.
    pub fn with_token68(scheme: &str, text: &str) -> Result<Self, ChallengeError> {
        if !is_token68(text.as_bytes()) {
            return Err(ChallengeError::Token68);
        }
        Ok(Self { credentials: ChallengeData::Token68(text.into()), ..Self::bare(scheme)? })
    }

    /// Builds a challenge with the given parameter names and values, in this order.
    ///
    /// # Errors
    /// Returns an error if the scheme or a name is not a token, a name is repeated (compared
    /// case-insensitively), or a value contains a control character other than the tab.
    pub fn with_parameters<'a>(
        scheme: &str,
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ChallengeError> {
        let bare = Self::bare(scheme)?;
        let mut seen = HashSet::new();
        let mut list = Vec::new();
        for (name, value) in parameters {
            let name = CaseInsensitiveToken::new(name).ok_or(ChallengeError::Name)?;
            if !seen.insert(name.clone()) {
                return Err(ChallengeError::Repeated);
            }
            if value.bytes().any(is_control) {
                return Err(ChallengeError::Value);
            }
            list.push(ChallengeParameter { name, value: value.into() });
        }
        Ok(Self { credentials: ChallengeData::from_parameters(list), ..bare })
    }

    /// Parses the challenges of one header line: the value of one `WWW-Authenticate` field.
    ///
    /// A quoted value is decoded as UTF-8, or as ISO 8859-1 if it is not valid UTF-8. The parser is more
    /// lenient than the grammar in one respect: a tab may follow the scheme. The run time is linear in the
    /// length of the line.
    ///
    /// # Errors
    /// Returns an error if the line is not a list of challenges or a challenge repeats a parameter.
    pub fn parse_line(line: &[u8]) -> Result<Vec<Self>, MalformedChallenge> {
        parse::parse_strict(line)
    }

    /// Parses all header lines and returns the well-formed challenges in order.
    ///
    /// A malformed line does not hide other lines, and a malformed challenge does not hide other challenges
    /// of the same line: proxies add challenges, sometimes to an existing line (RFC 9110, 5.3). The run time
    /// is linear in the length of the lines.
    pub fn parse_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<Self> {
        lines.into_iter().flat_map(parse::parse_tolerant).collect()
    }

    /// Returns the scheme in its original case, such as `DPoP`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.scheme.as_str()
    }

    /// Returns true if the challenge has this scheme, compared case-insensitively (RFC 9110, 11.1).
    #[must_use]
    pub fn has_scheme(&self, scheme: &str) -> bool {
        self.scheme.matches(scheme)
    }

    /// Returns the opaque `token68`, or `None` if the challenge has parameters or only a scheme.
    #[must_use]
    pub fn token68(&self) -> Option<&str> {
        match &self.credentials {
            ChallengeData::Token68(text) => Some(text),
            ChallengeData::None | ChallengeData::Parameters(_) => None,
        }
    }

    /// Returns names and values of the parameters, in order. Names have their original case; values have no
    /// quotes and no escapes.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let list = match &self.credentials {
            ChallengeData::Parameters(list) => list.as_slice(),
            ChallengeData::None | ChallengeData::Token68(_) => &[],
        };
        list.iter().map(|parameter| (parameter.name.as_str(), &*parameter.value))
    }

    /// Returns the value of a parameter. The name is compared case-insensitively (RFC 9110, 11.2).
    #[must_use]
    pub fn param(&self, name: &str) -> Option<&str> {
        self.parameters().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Formats the challenge as the value of a header field, with every parameter value in quotes.
///
/// Characters outside ASCII are written as UTF-8. The caller has to set the header field from bytes.
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

impl ChallengeData {
    fn from_parameters(list: Vec<ChallengeParameter>) -> Self {
        if list.is_empty() { Self::None } else { Self::Parameters(list) }
    }
}

/// Returns true if the byte is not allowed in a quoted string, escaped or not (RFC 9110, 5.6.4).
const fn is_control(byte: u8) -> bool {
    byte != b'\t' && byte.is_ascii_control()
}
