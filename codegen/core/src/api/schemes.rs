//! Classifies a security scheme by the part of the request that carries its credential.

use std::borrow::Cow;

use contract_runtime::Json;

use super::tokens::is_token;

/// The part of a request that carries the credential of a security scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecuritySchemeKind {
    Header(String),
    Query(String),
    Cookie(String),
    Basic,
    BearerToken { token_url: String },
    HttpScheme(String),
    MutualTls,
}

/// The reason why a security scheme cannot be classified.
#[derive(Debug, PartialEq, Eq)]
pub struct UnsupportedScheme {
    /// The name of the invalid or missing property.
    pub(crate) property: &'static str,
    /// The problem, as a sentence.
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

impl SecuritySchemeKind {
    /// Classifies a Security Scheme Object (OpenAPI 3.1, 4.8.27).
    ///
    /// # Errors
    /// Returns an error if the object matches no scheme of OpenAPI. Generated code does not add the
    /// credential of such a scheme, because a credential in the wrong part of a request could be disclosed.
    /// The transport must add it.
    pub fn from_json(raw: &Json) -> Result<Self, UnsupportedScheme> {
        Self::classify(raw).map_err(|unclear| {
            let message = match raw.pointer(&format!("/{}", unclear.property)) {
                Some(Json::String(_) | Json::Number(_)) => return unclear,
                Some(_) => format!("`{}` is not a string", unclear.property),
                None => format!("`{}` is missing", unclear.property),
            };
            UnsupportedScheme { message, ..unclear }
        })
    }

    fn classify(raw: &Json) -> Result<Self, UnsupportedScheme> {
        let string_at = |pointer: &str| match raw.pointer(pointer) {
            Some(Json::String(text)) => Cow::Borrowed(text.as_str()),
            Some(Json::Number(number)) => Cow::Owned(number.to_string()),
            _ => Cow::Borrowed(""),
        };
        let unclear =
            |member, message: String, help| Err(UnsupportedScheme { property: member, message, help });
        match &*string_at("/type") {
            "apiKey" => Self::classify_api_key(&string_at("/in"), string_at("/name").into_owned()),
            "http" => match &*string_at("/scheme") {
                basic if basic.eq_ignore_ascii_case("basic") => Ok(Self::Basic),
                bearer if bearer.eq_ignore_ascii_case("bearer") => {
                    Ok(Self::BearerToken { token_url: String::new() })
                }
                word if is_token(word) => Ok(Self::HttpScheme(word.to_owned())),
                other => {
                    let message =
                        format!("invalid HTTP authentication scheme `{other}`: expected a single token");
                    unclear(
                        "scheme",
                        message,
                        Some("write the name of a scheme, such as `bearer` or `basic`"),
                    )
                }
            },
            "mutualTLS" => Ok(Self::MutualTls),
            "oauth2" => Ok(Self::BearerToken {
                token_url: string_at("/flows/clientCredentials/tokenUrl").into_owned(),
            }),
            "openIdConnect" => Ok(Self::BearerToken { token_url: String::new() }),
            other => {
                let help = match other.to_ascii_lowercase().as_str() {
                    "basic" => Some("in OpenAPI 3, write `type: http` and `scheme: basic`"),
                    "bearer" | "jwt" | "token" => {
                        Some("in OpenAPI 3, write `type: http` and `scheme: bearer`")
                    }
                    "apikey" => Some("did you mean `apiKey`?"),
                    "oauth" | "oauth2.0" => Some("did you mean `oauth2`?"),
                    _ => None,
                };
                let message = format!(
                    "the type of a security scheme must be `apiKey`, `http`, `mutualTLS`, `oauth2` or `openIdConnect`, \
                     not `{other}`"
                );
                unclear("type", message, help)
            }
        }
    }

    fn classify_api_key(place: &str, name: String) -> Result<Self, UnsupportedScheme> {
        let unclear = |member, message| Err(UnsupportedScheme { property: member, message, help: None });
        if !matches!(place, "header" | "query" | "cookie") {
            return unclear("in", format!("`in` must be `query`, `header` or `cookie`, not `{place}`"));
        }
        // A query parameter may have any name; the names of headers and cookies must be tokens.
        if name.is_empty() || (place != "query" && !is_token(&name)) {
            return unclear("name", format!("`{name}` is not a valid name of a {place} parameter"));
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

    /// An unsupported scheme is reported as an error and never treated as a bearer token.
    #[test]
    fn security_schemes_are_classified() {
        let token = |url: &str| Ok(SecuritySchemeKind::BearerToken { token_url: url.to_owned() });
        let kind = |kind: fn(String) -> SecuritySchemeKind, name: &str| Ok(kind(name.to_owned()));
        for (scheme, expected) in [
            (
                r#"{"type": "apiKey", "in": "header", "name": "X-Key"}"#,
                kind(SecuritySchemeKind::Header, "X-Key"),
            ),
            (r#"{"type": "apiKey", "in": "query", "name": "a b"}"#, kind(SecuritySchemeKind::Query, "a b")),
            (r#"{"type": "apiKey", "in": "cookie", "name": 7}"#, kind(SecuritySchemeKind::Cookie, "7")),
            (r#"{"type": "http", "scheme": "Basic"}"#, Ok(SecuritySchemeKind::Basic)),
            (r#"{"type": "http", "scheme": "BEARER"}"#, token("")),
            (r#"{"type": "http", "scheme": "Digest"}"#, kind(SecuritySchemeKind::HttpScheme, "Digest")),
            (r#"{"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/t"}}}"#, token("/t")),
            (r#"{"type": "openIdConnect", "openIdConnectUrl": "https://a"}"#, token("")),
            (r#"{"type": "mutualTLS"}"#, Ok(SecuritySchemeKind::MutualTls)),
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
            let found = SecuritySchemeKind::from_json(&Json::parse(scheme.as_bytes()).unwrap());
            assert_eq!(found.map_err(|unclear| unclear.property), expected, "{scheme}");
        }
    }

    /// The message for a missing property does not quote a value.
    #[test]
    fn missing_properties_are_named() {
        for (scheme, message) in [
            (r#"{"type": "apiKey", "in": "header"}"#, "`name` is missing"),
            (r#"{"type": "apiKey", "name": "key"}"#, "`in` is missing"),
            (r#"{"type": "apiKey", "in": ["header"], "name": "key"}"#, "`in` is not a string"),
            (r#"{"type": "http"}"#, "`scheme` is missing"),
            ("{}", "`type` is missing"),
            (
                r#"{"type": "apiKey", "in": "header", "name": ""}"#,
                "`` is not a valid name of a header parameter",
            ),
        ] {
            let found = SecuritySchemeKind::from_json(&Json::parse(scheme.as_bytes()).unwrap());
            assert_eq!(found.map_err(|unclear| unclear.message), Err(message.to_owned()), "{scheme}");
        }
    }
}
