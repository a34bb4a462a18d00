//! Tokens against forged forms: computed from the session's own secret, so that each session has another
//! and nothing is stored.

use std::fmt;

use aws_lc_rs::hmac;
use maud::{Markup, html};

use crate::secrets;

/// The name of the field that carries it.
const FIELD: &str = "csrf";

/// What a form has to bring back.
#[derive(Clone, PartialEq, Eq)]
pub struct Csrf(String);

/// Shows nothing of it.
impl fmt::Debug for Csrf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Csrf(…)")
    }
}

impl Csrf {
    /// The one that goes with a cookie's secret. It does not tell the secret.
    pub(super) fn of(secret: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Self(secrets::mac(&key, &["csrf"]))
    }

    /// Whether a form brought it back.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        secrets::same(self.0.as_bytes(), given.as_bytes())
    }

    /// The hidden field for a form; what comes back is the form's `csrf`.
    #[must_use]
    pub fn field(&self) -> Markup {
        html! { input type="hidden" name=(FIELD) value=(self.0); }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_another() {
        let (one, other) = (Csrf::of("one"), Csrf::of("other"));
        assert!(one.is(&Csrf::of("one").0) && !one.is(&other.0) && !one.is(""));
        assert!(one.field().into_string().contains(&one.0));
        assert_eq!(format!("{one:?}"), "Csrf(…)");
    }
}
