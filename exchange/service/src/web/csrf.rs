//! Tokens against cross-site request forgery. They are derived from the secret of the session and need not be
//! stored.

use std::fmt;

use aws_lc_rs::hmac;
use maud::{Markup, html};

use crate::secrets;

/// The name of the form field with the token.
const FIELD_NAME: &str = "csrf";

/// The token that each form of a session must contain.
#[derive(Clone, PartialEq, Eq)]
pub struct CsrfToken(String);

/// The token is not printed.
impl fmt::Debug for CsrfToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CsrfToken(…)")
    }
}

impl CsrfToken {
    /// Derives the token from the secret in a cookie. The secret cannot be computed from the token.
    pub(super) fn from_secret(secret: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Self(secrets::hmac_base64(&key, &["csrf"]))
    }

    /// Returns true if the token of a form matches. The comparison takes constant time.
    #[must_use]
    pub fn matches(&self, token: &str) -> bool {
        secrets::constant_time_eq(self.0.as_bytes(), token.as_bytes())
    }

    /// Renders the hidden form field with the token.
    #[must_use]
    pub fn hidden_field(&self) -> Markup {
        html! { input type="hidden" name=(FIELD_NAME) value=(self.0); }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csrf_token_differs_per_session() {
        let (one, other) = (CsrfToken::from_secret("one"), CsrfToken::from_secret("other"));
        assert!(one.matches(&CsrfToken::from_secret("one").0) && !one.matches(&other.0) && !one.matches(""));
        assert!(one.hidden_field().into_string().contains(&one.0));
        assert_eq!(format!("{one:?}"), "CsrfToken(…)");
    }
}
