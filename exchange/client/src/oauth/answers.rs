//! What the provider answers, read tolerantly: RFC 8628, 3.2; RFC 6749, 5.1 and 5.2. Reasons for refusing an
//! answer hold nothing of it.

use std::{sync::Arc, time::Duration};

use dpop_bound::AccessToken;
use exchange_api::{oauth_errors::OauthError, scopes::Scope};
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

use super::{endpoints::is_safe, scopes};

/// How long an access token holds when nobody says.
const TOKEN_LIFE: Duration = Duration::from_secs(300);
/// RFC 8628, 3.2: when the answer has no `interval`.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest text that a member is to type or open.
const SHOWN: usize = 2048;

/// A device login that has begun. There is no `verification_uri_complete`: nothing of this crate reads it, so
/// that nothing can open, show or send it (IDP-12).
pub(crate) struct DeviceAnswer {
    pub(crate) device_code: Zeroizing<String>,
    pub(crate) user_code: Box<str>,
    pub(crate) verification_uri: Box<str>,
    pub(crate) expires_in: Duration,
    pub(crate) interval: Duration,
}

/// Tokens.
pub(crate) struct TokenAnswer {
    pub(crate) access: Arc<AccessToken>,
    /// A new one, in place of the one that was sent.
    pub(crate) refresh: Option<RefreshToken>,
    pub(crate) expires_in: Duration,
    /// What was granted, when the answer says it: else what was asked for (RFC 6749, 5.1).
    pub(crate) scopes: Option<Vec<Scope>>,
}

/// A refresh token. Cleared when it is dropped, never printed.
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

/// Why an answer of success is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unacceptable {
    #[error("the answer of the identity provider cannot be read")]
    Unreadable,
    #[error("the identity provider's answer lacks {0}")]
    Lacks(&'static str),
    #[error("the identity provider gave a token that is not bound to the key of this installation")]
    NotBound,
    #[error("the identity provider gave an access token that no request can carry")]
    Token,
    #[error("the identity provider gave a code or an address that cannot be shown safely")]
    Shown,
}

#[derive(Deserialize)]
struct DeviceWire {
    device_code: Option<String>,
    user_code: Option<String>,
    verification_uri: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    #[serde(default, deserialize_with = "seconds")]
    interval: Option<Duration>,
}

impl DeviceAnswer {
    pub(crate) fn read(issuer: &str, body: &[u8]) -> Result<Self, Unacceptable> {
        let wire: DeviceWire = serde_json::from_slice(body).map_err(|_| Unacceptable::Unreadable)?;
        let need = |text: Option<String>, name| {
            text.filter(|text| !text.is_empty()).ok_or(Unacceptable::Lacks(name))
        };
        let user_code = need(wire.user_code, "user_code")?;
        let verification_uri = need(wire.verification_uri, "verification_uri")?;
        // They go to a terminal and to a browser: no control characters, no other schemes.
        let plain = |text: &str| text.len() <= SHOWN && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if !plain(&user_code) || !plain(&verification_uri) || !is_safe(issuer, &verification_uri) {
            return Err(Unacceptable::Shown);
        }
        Ok(Self {
            device_code: Zeroizing::new(need(wire.device_code, "device_code")?),
            user_code: user_code.into(),
            verification_uri: verification_uri.into(),
            expires_in: wire.expires_in.ok_or(Unacceptable::Lacks("expires_in"))?,
            interval: wire.interval.unwrap_or(INTERVAL),
        })
    }
}

#[derive(Deserialize)]
struct TokenWire {
    access_token: Option<String>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<Duration>,
    scope: Option<String>,
}

impl TokenAnswer {
    /// IDP-17: refused unless it is bound to a key, which is what the type `DPoP` says, in any case (RFC 6749,
    /// 5.1).
    pub(crate) fn read(body: &[u8]) -> Result<Self, Unacceptable> {
        let wire: TokenWire = serde_json::from_slice(body).map_err(|_| Unacceptable::Unreadable)?;
        let refresh = wire.refresh_token.filter(|token| !token.is_empty()).map(RefreshToken::new);
        let access = wire.access_token.map(AccessToken::new);
        if !wire.token_type.ok_or(Unacceptable::Lacks("token_type"))?.eq_ignore_ascii_case("DPoP") {
            return Err(Unacceptable::NotBound);
        }
        let access = access.ok_or(Unacceptable::Lacks("access_token"))?.map_err(|_| Unacceptable::Token)?;
        Ok(Self {
            access: Arc::new(access),
            refresh,
            expires_in: wire.expires_in.unwrap_or(TOKEN_LIFE),
            scopes: wire.scope.as_deref().map(scopes::granted),
        })
    }
}

#[derive(Deserialize)]
struct RefusalWire {
    error: String,
}

/// The error of a refusal (RFC 6749, 5.2); `None` when it is none of a provider: the page of a proxy. The
/// description is the server's text, which is nobody's to repeat.
pub(crate) fn refusal(body: &[u8]) -> Option<OauthError> {
    let wire: RefusalWire = serde_json::from_slice(body).ok()?;
    let named = !wire.error.is_empty()
        && wire.error.len() <= 64
        && wire.error.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
    named.then(|| OauthError::from(wire.error))
}

/// A number of seconds, also one that came as text; nothing of what is no such number.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    Ok(number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://id.example";

    fn device(json: &str) -> Result<DeviceAnswer, Unacceptable> {
        DeviceAnswer::read(ISSUER, json.as_bytes())
    }

    /// IDP-11, IDP-12: the code and the bare address, whatever else there is.
    #[test]
    fn a_device_answer_has_the_bare_address() {
        let answer = device(
            r#"{"device_code":"d","user_code":"BCDF-GHJK","verification_uri":"https://id.example/device",
            "verification_uri_complete":"https://id.example/device?user_code=BCDF-GHJK","expires_in":600,
            "interval":"7","more":[]}"#,
        )
        .unwrap();
        assert_eq!(
            (&*answer.user_code, &*answer.verification_uri),
            ("BCDF-GHJK", "https://id.example/device")
        );
        assert_eq!((answer.expires_in.as_secs(), answer.interval.as_secs()), (600, 7));
        let answer = |rest: &str| {
            device(&format!(r#"{{"device_code":"d","user_code":"c","verification_uri":"https://a"{rest}}}"#))
        };
        assert_eq!(answer(r#","expires_in":1"#).unwrap().interval.as_secs(), 5);
        assert_eq!(answer("").err(), Some(Unacceptable::Lacks("expires_in")));
        assert_eq!(answer(r#","expires_in":-1"#).err(), Some(Unacceptable::Lacks("expires_in")));
    }

    /// IDP-11: what is shown in a terminal and opened in a browser does nothing else there.
    #[test]
    fn what_cannot_be_shown_is_refused() {
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
            assert_eq!(device(&json).err(), Some(Unacceptable::Shown), "{uri}");
        }
        assert_eq!(device(r#"{"device_code":"d"}"#).err(), Some(Unacceptable::Lacks("user_code")));
        assert_eq!(device("<html>").err(), Some(Unacceptable::Unreadable));
    }

    /// IDP-17
    #[test]
    fn only_bound_tokens_are_taken() {
        let read = |kind: &str| {
            let json = format!(r#"{{"access_token":"a","token_type":{kind},"refresh_token":"r"}}"#);
            TokenAnswer::read(json.as_bytes())
        };
        for kind in [r#""DPoP""#, r#""dpop""#, r#""DPOP""#] {
            let answer = read(kind).ok().unwrap();
            assert_eq!(answer.expires_in.as_secs(), 300);
            assert!(answer.scopes.is_none() && answer.refresh == Some(RefreshToken::new("r")));
        }
        for kind in [r#""Bearer""#, r#""bearer""#, r#""""#, r#""DPoP ""#] {
            assert_eq!(read(kind).err(), Some(Unacceptable::NotBound), "{kind}");
        }
        assert_eq!(read("null").err(), Some(Unacceptable::Lacks("token_type")));
        let read = |json: &str| TokenAnswer::read(json.as_bytes());
        assert_eq!(read(r#"{"token_type":"DPoP"}"#).err(), Some(Unacceptable::Lacks("access_token")));
        assert_eq!(read(r#"{"token_type":"DPoP","access_token":"a b"}"#).err(), Some(Unacceptable::Token));
        let answer = read(
            r#"{"token_type":"DPoP","access_token":"a","expires_in":60.5,"scope":"exchange.connect x"}"#,
        );
        let answer = answer.ok().unwrap();
        assert_eq!(answer.expires_in, Duration::from_millis(60_500));
        assert_eq!(answer.scopes, Some(vec![Scope::ExchangeConnect, Scope::from("x")]));
        assert!(answer.refresh.is_none());
    }

    /// ERR-43 to ERR-50, and what is none of them.
    #[test]
    fn errors_are_told_from_pages() {
        let all = OauthError::ALL;
        assert!(all.len() >= 8);
        for error in all {
            let body = format!(r#"{{"error":"{error}","error_description":"d","x":1}}"#);
            assert_eq!(refusal(body.as_bytes()), Some(error.clone()));
        }
        assert_eq!(refusal(br#"{"error":"new_one"}"#), Some(OauthError::from("new_one")));
        let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(65));
        for body in
            ["", "<html>502</html>", "{}", r#"{"error":1}"#, r#"{"error":""}"#, r#"{"error":"a b"}"#, &long]
        {
            assert_eq!(refusal(body.as_bytes()), None, "{body}");
        }
    }
}
