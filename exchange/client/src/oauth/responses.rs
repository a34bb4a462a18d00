//! Tolerant parsing of the provider's responses (RFC 8628, 3.2; RFC 6749, 5.1 and 5.2). Errors contain no
//! part of a response.

use std::{sync::Arc, time::Duration};

use dpop_bound::AccessToken;
use exchange_api::{oauth_errors::OauthError, scopes::Scope};
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

use super::{endpoints::is_safe_url, scopes};

/// The lifetime of an access token if the response contains none.
const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_secs(300);
/// The polling interval if the response has no `interval` (RFC 8628, 3.2).
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
/// The maximum length of a code or URL that is displayed to the member.
const MAX_DISPLAYED_LENGTH: usize = 2048;

/// The response to a device authorization request. `verification_uri_complete` is never parsed, so that
/// nothing can open, display, or send it (IDP-12).
pub(crate) struct DeviceResponse {
    pub(crate) device_code: Zeroizing<String>,
    pub(crate) user_code: Box<str>,
    pub(crate) verification_uri: Box<str>,
    pub(crate) expires_in: Duration,
    pub(crate) interval: Duration,
}

/// The response to a token request.
pub(crate) struct TokenResponse {
    pub(crate) access: Arc<AccessToken>,
    /// The refresh token that replaces the one that was sent.
    pub(crate) refresh: Option<RefreshToken>,
    pub(crate) expires_in: Duration,
    /// The granted scopes; `None` if they are the requested ones (RFC 6749, 5.1).
    pub(crate) scopes: Option<Vec<Scope>>,
}

/// A refresh token. It is zeroed when dropped and never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RefreshToken(Zeroizing<String>);

impl RefreshToken {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// The reason a success response is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResponseError {
    #[error("the response of the identity provider is not valid JSON")]
    Unreadable,
    #[error("the response of the identity provider has no {0}")]
    MissingField(&'static str),
    #[error("the identity provider returned a token that is not bound to the key of this installation")]
    NotBound,
    #[error("the identity provider returned an access token with characters that HTTP does not allow")]
    InvalidToken,
    #[error("the identity provider returned a code or URL that is unsafe to display")]
    UnsafeToDisplay,
}

#[derive(Deserialize)]
struct DeviceResponseBody {
    device_code: Option<String>,
    user_code: Option<String>,
    verification_uri: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    #[serde(default, deserialize_with = "seconds")]
    interval: Option<Duration>,
}

impl DeviceResponse {
    pub(crate) fn parse(issuer: &str, body: &[u8]) -> Result<Self, ResponseError> {
        let wire: DeviceResponseBody = serde_json::from_slice(body).map_err(|_| ResponseError::Unreadable)?;
        let need = |text: Option<String>, name| {
            text.filter(|text| !text.is_empty()).ok_or(ResponseError::MissingField(name))
        };
        let user_code = need(wire.user_code, "user_code")?;
        let verification_uri = need(wire.verification_uri, "verification_uri")?;
        // These strings are printed to a terminal and opened in a browser, so control characters and other
        // URL schemes are rejected.
        let plain = |text: &str| {
            text.len() <= MAX_DISPLAYED_LENGTH && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        };
        if !plain(&user_code) || !plain(&verification_uri) || !is_safe_url(issuer, &verification_uri) {
            return Err(ResponseError::UnsafeToDisplay);
        }
        Ok(Self {
            device_code: Zeroizing::new(need(wire.device_code, "device_code")?),
            user_code: user_code.into(),
            verification_uri: verification_uri.into(),
            expires_in: wire.expires_in.ok_or(ResponseError::MissingField("expires_in"))?,
            interval: wire.interval.unwrap_or(DEFAULT_INTERVAL),
        })
    }
}

#[derive(Deserialize)]
struct TokenResponseBody {
    access_token: Option<String>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    scope: Option<String>,
}

impl TokenResponse {
    /// Parses a token response. Rejects a token that is not bound to a key: its `token_type` must be `DPoP`,
    /// compared case-insensitively (IDP-17; RFC 6749, 5.1).
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ResponseError> {
        let wire: TokenResponseBody = serde_json::from_slice(body).map_err(|_| ResponseError::Unreadable)?;
        let refresh = wire.refresh_token.filter(|token| !token.is_empty()).map(RefreshToken::new);
        let access = wire.access_token.map(AccessToken::new);
        if !wire.token_type.ok_or(ResponseError::MissingField("token_type"))?.eq_ignore_ascii_case("DPoP") {
            return Err(ResponseError::NotBound);
        }
        let access = access
            .ok_or(ResponseError::MissingField("access_token"))?
            .map_err(|_| ResponseError::InvalidToken)?;
        Ok(Self {
            access: Arc::new(access),
            refresh,
            expires_in: wire.expires_in.unwrap_or(DEFAULT_TOKEN_LIFETIME),
            scopes: wire.scope.as_deref().map(scopes::parse_scopes),
        })
    }
}

#[derive(Deserialize)]
struct ErrorResponseBody {
    error: String,
}

/// Returns the error code of an error response (RFC 6749, 5.2); `None` if the body is not such a response,
/// for example the page of a proxy. `error_description` is ignored because its text is not trusted.
pub(crate) fn parse_error(body: &[u8]) -> Option<OauthError> {
    let wire: ErrorResponseBody = serde_json::from_slice(body).ok()?;
    let named = !wire.error.is_empty()
        && wire.error.len() <= 64
        && wire.error.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
    named.then(|| OauthError::from(wire.error))
}

/// Deserializes a number of seconds from a JSON number or string; `None` for anything else.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    Ok(number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://id.example";

    fn device(json: &str) -> Result<DeviceResponse, ResponseError> {
        DeviceResponse::parse(ISSUER, json.as_bytes())
    }

    /// IDP-11, IDP-12: the code and the URL without the code are parsed; the URL with the code is ignored.
    #[test]
    fn device_response_has_the_plain_url() {
        let response = device(
            r#"{"device_code":"d","user_code":"BCDF-GHJK","verification_uri":"https://id.example/device",
            "verification_uri_complete":"https://id.example/device?user_code=BCDF-GHJK","expires_in":600,
            "interval":"7","more":[]}"#,
        )
        .unwrap();
        assert_eq!(
            (&*response.user_code, &*response.verification_uri),
            ("BCDF-GHJK", "https://id.example/device")
        );
        assert_eq!((response.expires_in.as_secs(), response.interval.as_secs()), (600, 7));
        let response = |rest: &str| {
            device(&format!(r#"{{"device_code":"d","user_code":"c","verification_uri":"https://a"{rest}}}"#))
        };
        assert_eq!(response(r#","expires_in":1"#).unwrap().interval.as_secs(), 5);
        assert_eq!(response("").err(), Some(ResponseError::MissingField("expires_in")));
        assert_eq!(response(r#","expires_in":-1"#).err(), Some(ResponseError::MissingField("expires_in")));
    }

    /// IDP-11: codes and URLs that are unsafe to display or open are rejected.
    #[test]
    fn unsafe_codes_and_urls_are_rejected() {
        for (code, uri) in [
            ("\\u001b[2J", "https://a"),
            ("c", "javascript:alert(1)"),
            ("c", "file:///etc"),
            ("c", "http://a.example"),
            ("c", "https://a\\nb"),
        ] {
            let json = format!(
                r#"{{"device_code":"d","user_code":"{code}","verification_uri":"{uri}","expires_in":1}}"#
            );
            assert_eq!(device(&json).err(), Some(ResponseError::UnsafeToDisplay), "{uri}");
        }
        assert_eq!(device(r#"{"device_code":"d"}"#).err(), Some(ResponseError::MissingField("user_code")));
        assert_eq!(device("<html>").err(), Some(ResponseError::Unreadable));
    }

    /// IDP-17: only tokens that are bound to a key are accepted.
    #[test]
    fn only_bound_tokens_are_accepted() {
        let read = |kind: &str| {
            let json = format!(r#"{{"access_token":"a","token_type":{kind},"refresh_token":"r"}}"#);
            TokenResponse::parse(json.as_bytes())
        };
        for kind in [r#""DPoP""#, r#""dpop""#, r#""DPOP""#] {
            let response = read(kind).ok().unwrap();
            assert_eq!(response.expires_in.as_secs(), 300);
            assert!(response.scopes.is_none() && response.refresh == Some(RefreshToken::new("r")));
        }
        for kind in [r#""Bearer""#, r#""bearer""#, r#""""#, r#""DPoP ""#] {
            assert_eq!(read(kind).err(), Some(ResponseError::NotBound), "{kind}");
        }
        assert_eq!(read("null").err(), Some(ResponseError::MissingField("token_type")));
        let read = |json: &str| TokenResponse::parse(json.as_bytes());
        assert_eq!(read(r#"{"token_type":"DPoP"}"#).err(), Some(ResponseError::MissingField("access_token")));
        assert_eq!(
            read(r#"{"token_type":"DPoP","access_token":"a b"}"#).err(),
            Some(ResponseError::InvalidToken)
        );
        let response = read(
            r#"{"token_type":"DPoP","access_token":"a","expires_in":60.5,"scope":"exchange.connect x"}"#,
        );
        let response = response.ok().unwrap();
        assert_eq!(response.expires_in, Duration::from_millis(60_500));
        assert_eq!(response.scopes, Some(vec![Scope::ExchangeConnect, Scope::from("x")]));
        assert!(response.refresh.is_none());
    }

    /// ERR-43 to ERR-50: OAuth errors are distinguished from other responses.
    #[test]
    fn oauth_errors_are_distinguished_from_pages() {
        let all = OauthError::ALL;
        assert!(all.len() >= 8);
        for error in all {
            let body = format!(r#"{{"error":"{error}","error_description":"d","x":1}}"#);
            assert_eq!(parse_error(body.as_bytes()), Some(error.clone()));
        }
        assert_eq!(parse_error(br#"{"error":"new_one"}"#), Some(OauthError::from("new_one")));
        let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(65));
        for body in
            ["", "<html>502</html>", "{}", r#"{"error":1}"#, r#"{"error":""}"#, r#"{"error":"a b"}"#, &long]
        {
            assert_eq!(parse_error(body.as_bytes()), None, "{body}");
        }
    }
}
