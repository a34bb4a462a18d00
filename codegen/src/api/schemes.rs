//! What one of `securitySchemes` comes to: how a request shows its secret, or why nobody can tell.

use std::borrow::Cow;

use contract_runtime::Json;

use super::tokens::is_token;

/// How a request shows that it knows the secret of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Header(String),
    Query(String),
    Cookie(String),
    Basic,
    Token { token_url: String },
    Authorization(String),
    Connection,
}

/// Why nobody can tell how a secret is shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unclear {
    /// The member that does not say it; the scheme itself where that is not there.
    pub(crate) member: &'static str,
    /// What is wrong, as a sentence.
    pub(crate) message: String,
    /// What may be meant.
    pub(crate) help: Option<&'static str>,
}

impl Kind {
    /// What a scheme says (OpenAPI 3.1, 4.8.27).
    ///
    /// # Errors
    /// When what it says is none of the ways that OpenAPI has: what is shown is then the transport's affair,
    /// since a secret in the wrong place is one that somebody else may read.
    pub(crate) fn of(raw: &Json) -> Result<Self, Unclear> {
        Self::read(raw).map_err(|unclear| {
            let message = match raw.pointer(&format!("/{}", unclear.member)) {
                Some(Json::String(_) | Json::Number(_)) => return unclear,
                Some(_) => format!("`{}` is no text", unclear.member),
                None => format!("`{}` is missing", unclear.member),
            };
            Unclear { message, ..unclear }
        })
    }

    fn read(raw: &Json) -> Result<Self, Unclear> {
        let said = |pointer: &str| match raw.pointer(pointer) {
            Some(Json::String(text)) => Cow::Borrowed(text.as_str()),
            Some(Json::Number(number)) => Cow::Owned(number.to_string()),
            _ => Cow::Borrowed(""),
        };
        let unclear = |member, message: String, help| Err(Unclear { member, message, help });
        match &*said("/type") {
            "apiKey" => Self::key(&said("/in"), said("/name").into_owned()),
            "http" => match &*said("/scheme") {
                basic if basic.eq_ignore_ascii_case("basic") => Ok(Self::Basic),
                bearer if bearer.eq_ignore_ascii_case("bearer") => {
                    Ok(Self::Token { token_url: String::new() })
                }
                word if is_token(word) => Ok(Self::Authorization(word.to_owned())),
                other => {
                    let message = format!("`{other}` is no scheme of HTTP, which is one word");
                    unclear("scheme", message, Some("write `bearer`, `basic` or another one"))
                }
            },
            "mutualTLS" => Ok(Self::Connection),
            "oauth2" => Ok(Self::Token { token_url: said("/flows/clientCredentials/tokenUrl").into_owned() }),
            "openIdConnect" => Ok(Self::Token { token_url: String::new() }),
            other => {
                let help = match other.to_ascii_lowercase().as_str() {
                    "basic" => Some("OpenAPI 3 says `type: http` and `scheme: basic`"),
                    "bearer" | "jwt" | "token" => Some("OpenAPI 3 says `type: http` and `scheme: bearer`"),
                    "apikey" => Some("did you mean `apiKey`?"),
                    "oauth" | "oauth2.0" => Some("did you mean `oauth2`?"),
                    _ => None,
                };
                let message = format!(
                    "a security scheme is of the type `apiKey`, `http`, `mutualTLS`, `oauth2` or `openIdConnect`, \
                     not `{other}`"
                );
                unclear("type", message, help)
            }
        }
    }

    fn key(place: &str, name: String) -> Result<Self, Unclear> {
        let unclear = |member, message| Err(Unclear { member, message, help: None });
        if !matches!(place, "header" | "query" | "cookie") {
            return unclear("in", format!("a key is in `query`, `header` or `cookie`, not `{place}`"));
        }
        // A query can hold any name.
        if name.is_empty() || (place != "query" && !is_token(&name)) {
            return unclear("name", format!("`{name}` is no name of a {place} parameter"));
        }
        Ok(match place {
            "query" => Self::Query(name),
            "cookie" => Self::Cookie(name),
            _ => Self::Header(name),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// What is not one of OpenAPI's ways shows nothing, least of all a bearer token.
    #[test]
    fn schemes_are_shown_as_they_say_or_not_at_all() {
        let token = |url: &str| Ok(Kind::Token { token_url: url.to_owned() });
        let kind = |kind: fn(String) -> Kind, name: &str| Ok(kind(name.to_owned()));
        for (scheme, expected) in [
            (r#"{"type": "apiKey", "in": "header", "name": "X-Key"}"#, kind(Kind::Header, "X-Key")),
            (r#"{"type": "apiKey", "in": "query", "name": "a b"}"#, kind(Kind::Query, "a b")),
            (r#"{"type": "apiKey", "in": "cookie", "name": 7}"#, kind(Kind::Cookie, "7")),
            (r#"{"type": "http", "scheme": "Basic"}"#, Ok(Kind::Basic)),
            (r#"{"type": "http", "scheme": "BEARER"}"#, token("")),
            (r#"{"type": "http", "scheme": "Digest"}"#, kind(Kind::Authorization, "Digest")),
            (r#"{"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/t"}}}"#, token("/t")),
            (r#"{"type": "openIdConnect", "openIdConnectUrl": "https://a"}"#, token("")),
            (r#"{"type": "mutualTLS"}"#, Ok(Kind::Connection)),
            (r#"{"type": "basic"}"#, Err("type")),
            (r#"{"type": "apikey", "in": "header", "name": "X"}"#, Err("type")),
            ("{}", Err("type")),
            (r#"{"type": "apiKey", "in": "header"}"#, Err("name")),
            (r#"{"type": "apiKey", "in": "header", "name": "X Key"}"#, Err("name")),
            (r#"{"type": "apiKey", "in": "body", "name": "key"}"#, Err("in")),
            (r#"{"type": "apiKey", "name": "key"}"#, Err("in")),
            (r#"{"type": "http"}"#, Err("scheme")),
            (r#"{"type": "http", "scheme": "bearer token"}"#, Err("scheme")),
        ] {
            let found = Kind::of(&Json::parse(scheme.as_bytes()).unwrap());
            assert_eq!(found.map_err(|unclear| unclear.member), expected, "{scheme}");
        }
    }

    /// What is not there is not quoted.
    #[test]
    fn what_is_missing_is_named() {
        for (scheme, message) in [
            (r#"{"type": "apiKey", "in": "header"}"#, "`name` is missing"),
            (r#"{"type": "apiKey", "name": "key"}"#, "`in` is missing"),
            (r#"{"type": "apiKey", "in": ["header"], "name": "key"}"#, "`in` is no text"),
            (r#"{"type": "http"}"#, "`scheme` is missing"),
            ("{}", "`type` is missing"),
            (r#"{"type": "apiKey", "in": "header", "name": ""}"#, "`` is no name of a header parameter"),
        ] {
            let found = Kind::of(&Json::parse(scheme.as_bytes()).unwrap());
            assert_eq!(found.map_err(|unclear| unclear.message), Err(message.to_owned()), "{scheme}");
        }
    }
}
