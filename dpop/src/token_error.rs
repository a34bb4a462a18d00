//! What the token endpoint answers a refused request: JSON with `error` (RFC 6749, 5.2; RFC 9449, 5 and 8).
//!
//! A resource server says what was wrong in a challenge ([`crate::challenge`]), an authorization server in the
//! body of a 400. The errors about proofs are the same two, and one more that says neither: some servers call
//! a proof that they refuse `invalid_request`, Keycloak among them.

use std::fmt;

use crate::{
    challenge::DpopError,
    json::{self, Json},
};

/// An error of the token endpoint, or of any other that answers as RFC 6749, 5.2 does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    error: DpopError,
    description: Option<Box<str>>,
}

/// Whether a request was refused for its proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AboutProof {
    /// It was: `use_dpop_nonce`, `invalid_dpop_proof`, or `invalid_request` with a description that says so.
    Yes,
    /// `invalid_request`, which says nothing: something about the request, and the proof is part of it.
    Perhaps,
    /// For something else. A grant that no longer holds is `invalid_grant`, and no new proof mends it.
    No,
}

impl TokenError {
    /// An error with a description for people, or none.
    #[must_use]
    pub fn new(error: DpopError, description: Option<&str>) -> Self {
        Self { error, description: description.map(Into::into) }
    }

    /// The error in the body of an answer; `None` when it is not a JSON object with one, such as the page of
    /// a proxy.
    #[must_use]
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut members = json::object(body).ok()?;
        let mut text = |name| match json::take(&mut members, name) {
            Some(Json::Text(text)) => Some(text),
            _ => None,
        };
        let error = DpopError::from_code(&text("error")?);
        Some(Self { error, description: text("error_description").map(Into::into) })
    }

    /// What was wrong.
    #[must_use]
    pub const fn error(&self) -> &DpopError {
        &self.error
    }

    /// The same for people. Text of the server: show it to nobody as your own.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Whether the proof was what was wrong.
    #[must_use]
    pub fn about_proof(&self) -> AboutProof {
        match &self.error {
            DpopError::UseDpopNonce | DpopError::InvalidDpopProof => AboutProof::Yes,
            DpopError::Other(code) if **code == *"invalid_request" => {
                if self.description().is_some_and(names_dpop) { AboutProof::Yes } else { AboutProof::Perhaps }
            }
            DpopError::InvalidToken | DpopError::InsufficientScope | DpopError::Other(_) => AboutProof::No,
        }
    }

    /// The answer's body: a server's side.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut members = serde_json::Map::new();
        members.insert("error".to_owned(), self.error.as_str().into());
        if let Some(description) = self.description() {
            members.insert("error_description".to_owned(), description.into());
        }
        serde_json::Value::Object(members).to_string()
    }
}

fn names_dpop(text: &str) -> bool {
    text.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"dpop"))
}

/// The error's name; the description is the server's text.
impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-17: what authorization servers answer, Keycloak's words among them.
    #[test]
    fn which_errors_are_about_the_proof() {
        use AboutProof::{No, Perhaps, Yes};
        for (body, error, expect) in [
            (r#"{"error":"use_dpop_nonce"}"#, "use_dpop_nonce", Yes),
            (r#"{"error":"use_dpop_nonce","error_description":"required"}"#, "use_dpop_nonce", Yes),
            (r#" {"error_description":"x","error":"invalid_dpop_proof"} "#, "invalid_dpop_proof", Yes),
            (
                r#"{"error":"invalid_request","error_description":"DPoP proof is missing"}"#,
                "invalid_request",
                Yes,
            ),
            (
                r#"{"error":"invalid_request","error_description":"Invalid dpop proof"}"#,
                "invalid_request",
                Yes,
            ),
            (
                r#"{"error":"invalid_request","error_description":"no grant_type"}"#,
                "invalid_request",
                Perhaps,
            ),
            (r#"{"error":"invalid_request","error_description":1}"#, "invalid_request", Perhaps),
            (r#"{"error":"invalid_request"}"#, "invalid_request", Perhaps),
            (r#"{"error":"invalid_grant","error_description":"DPoP"}"#, "invalid_grant", No),
            (r#"{"error":"authorization_pending","interval":5}"#, "authorization_pending", No),
            (r#"{"error":"Invalid_DPoP_Proof"}"#, "Invalid_DPoP_Proof", No),
            (r#"{"error":"invalid_token"}"#, "invalid_token", No),
        ] {
            let read = TokenError::read(body.as_bytes()).unwrap();
            assert_eq!((read.to_string().as_str(), read.about_proof()), (error, expect), "{body}");
        }
        for body in
            ["", "<html>", "[]", "\"use_dpop_nonce\"", r#"{"error":1}"#, r#"{"code":"use_dpop_nonce"}"#]
        {
            assert_eq!(TokenError::read(body.as_bytes()), None, "{body}");
        }
        assert_eq!(TokenError::read(b"{\"error\":\"a\",\"error\":\"use_dpop_nonce\"}"), None);
    }

    #[test]
    fn what_is_written_is_read() {
        for description in [None, Some("plain"), Some("with \"quotes\", \\ and \u{e4}")] {
            let error = TokenError::new(DpopError::UseDpopNonce, description);
            assert_eq!(TokenError::read(error.to_json().as_bytes()), Some(error));
        }
    }
}
