//! Error responses of token endpoints: a JSON object with `error` (RFC 6749, 5.2; RFC 9449, 5 and 8).
//!
//! A resource server reports an error in a challenge ([`crate::challenge`]), an authorization server in the
//! body of a 400 response. Both use the same two codes for proofs. Some authorization servers, such as
//! Keycloak, report an invalid proof as `invalid_request` instead.

use std::fmt;

use crate::{
    challenge::DpopError,
    json::{self, JsonValue},
};

/// An error of the token endpoint, or of another endpoint with error bodies as in RFC 6749, 5.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    error: DpopError,
    description: Option<Box<str>>,
}

/// An estimate whether an error was caused by the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProofRelevance {
    /// The proof caused the error: `use_dpop_nonce`, `invalid_dpop_proof`, or `invalid_request` with a
    /// description that mentions DPoP.
    Yes,
    /// The cause is unknown: `invalid_request`, which covers every part of the request, including the proof.
    Unclear,
    /// Another part of the request caused the error, and a new proof does not help. Example: `invalid_grant`
    /// for an expired grant.
    No,
}

impl TokenError {
    /// Creates an error with an optional human-readable description.
    #[must_use]
    pub fn new(error: DpopError, description: Option<&str>) -> Self {
        Self { error, description: description.map(Into::into) }
    }

    /// Parses the error in the body of a response. Returns `None` if the body is not a JSON object with
    /// `error`, for example the error page of a proxy.
    #[must_use]
    pub fn from_body(body: &[u8]) -> Option<Self> {
        let mut members = json::parse_object(body).ok()?;
        let mut text = |name| match json::take_member(&mut members, name) {
            Some(JsonValue::String(text)) => Some(text),
            _ => None,
        };
        let error = DpopError::from_code(&text("error")?);
        Some(Self { error, description: text("error_description").map(Into::into) })
    }

    /// Returns the error code.
    #[must_use]
    pub const fn error(&self) -> &DpopError {
        &self.error
    }

    /// Returns the human-readable description. The server chose the text: do not display it as a message of
    /// the client.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Reports whether the proof caused the error.
    #[must_use]
    pub fn proof_relevance(&self) -> ProofRelevance {
        match &self.error {
            DpopError::UseDpopNonce | DpopError::InvalidDpopProof => ProofRelevance::Yes,
            DpopError::Other(code) if **code == *"invalid_request" => {
                if self.description().is_some_and(names_dpop) {
                    ProofRelevance::Yes
                } else {
                    ProofRelevance::Unclear
                }
            }
            DpopError::InvalidToken | DpopError::InsufficientScope | DpopError::Other(_) => {
                ProofRelevance::No
            }
        }
    }

    /// Serializes the error as the body of a server's response.
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

/// Shows only the error code, because the server controls the description.
impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-17: errors of authorization servers are classified, including Keycloak's descriptions.
    #[test]
    fn errors_about_the_proof() {
        use ProofRelevance::{No, Unclear, Yes};
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
                Unclear,
            ),
            (r#"{"error":"invalid_request","error_description":1}"#, "invalid_request", Unclear),
            (r#"{"error":"invalid_request"}"#, "invalid_request", Unclear),
            (r#"{"error":"invalid_grant","error_description":"DPoP"}"#, "invalid_grant", No),
            (r#"{"error":"authorization_pending","interval":5}"#, "authorization_pending", No),
            (r#"{"error":"Invalid_DPoP_Proof"}"#, "Invalid_DPoP_Proof", No),
            (r#"{"error":"invalid_token"}"#, "invalid_token", No),
        ] {
            let read = TokenError::from_body(body.as_bytes()).unwrap();
            assert_eq!((read.to_string().as_str(), read.proof_relevance()), (error, expect), "{body}");
        }
        for body in
            ["", "<html>", "[]", "\"use_dpop_nonce\"", r#"{"error":1}"#, r#"{"code":"use_dpop_nonce"}"#]
        {
            assert_eq!(TokenError::from_body(body.as_bytes()), None, "{body}");
        }
        assert_eq!(TokenError::from_body(b"{\"error\":\"a\",\"error\":\"use_dpop_nonce\"}"), None);
    }

    #[test]
    fn error_round_trips() {
        for description in [None, Some("plain"), Some("with \"quotes\", \\ and \u{e4}")] {
            let error = TokenError::new(DpopError::UseDpopNonce, description);
            assert_eq!(TokenError::from_body(error.to_json().as_bytes()), Some(error));
        }
    }
}
