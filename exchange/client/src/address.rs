//! The address of the exchange: a pinned issuer and the gateway's origin (IDP-02, CON-01), or a sandbox from
//! an environment variable (IDP-03).

use std::fmt;

use dpop_bound::Htu;

/// The environment variable that selects a sandbox (IDP-03). Its value is the origin under which both the
/// issuer and the gateway are reached. Do not offer the variable in settings or in a user interface.
pub const SANDBOX_VARIABLE: &str = "EXCHANGE_SANDBOX";

/// The pinned issuer and gateway of an exchange.
#[derive(Clone, PartialEq, Eq)]
pub struct ExchangeAddress {
    issuer: Box<str>,
    gateway: Box<str>,
    sandbox: bool,
}

/// The reason an address is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeAddressError {
    /// The address is not an http(s) URL.
    #[error("{0:?} is not an http(s) URL")]
    InvalidUrl(String),
    /// The address is not an https URL. Only loopback addresses may omit TLS, because a proof does not cover
    /// the body of its request.
    #[error("{0:?} is not an https URL: without TLS, requests can be modified in transit")]
    InsecureScheme(String),
    /// The address has a query or a fragment, or, for a gateway, a path.
    #[error("{0:?} must have no query or fragment, and a gateway also no path")]
    NotAnOrigin(String),
}

impl ExchangeAddress {
    /// Creates an address from the exact issuer of the identity provider and the origin of the gateway.
    ///
    /// # Errors
    /// Returns an error if the issuer or the gateway is not an http(s) URL of this form, or omits TLS without
    /// being a loopback address.
    pub fn new(issuer: &str, gateway: &str) -> Result<Self, ExchangeAddressError> {
        let _ = parse_origin(issuer)?;
        let origin = parse_origin(gateway)?;
        if gateway.trim_end_matches('/') != origin {
            return Err(ExchangeAddressError::NotAnOrigin(gateway.to_owned()));
        }
        Ok(Self { issuer: issuer.into(), gateway: origin.into(), sandbox: false })
    }

    /// Returns the address of the sandbox in the variable [`SANDBOX_VARIABLE`], or `None` if the variable is
    /// unset or empty: `ExchangeAddress::from_variable(|name| std::env::var(name).ok())`. Call this before
    /// reading the program's own configuration.
    ///
    /// # Errors
    /// Returns an error if the value is not an origin.
    pub fn from_variable(
        variable: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Option<Self>, ExchangeAddressError> {
        let Some(origin) = variable(SANDBOX_VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let origin = origin.trim_end_matches('/');
        let address = Self::new(&format!("{origin}/idp"), origin)?;
        Ok(Some(Self { sandbox: true, ..address }))
    }

    /// Returns the pinned issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the gateway's origin without a trailing slash: `{base_url}` (CON-01).
    #[must_use]
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// Returns true if the address comes from [`SANDBOX_VARIABLE`].
    #[must_use]
    pub const fn is_sandbox(&self) -> bool {
        self.sandbox
    }
}

impl fmt::Debug for ExchangeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, gateway, sandbox } = self;
        let mut address = f.debug_struct("ExchangeAddress");
        address.field("issuer", issuer).field("gateway", gateway).field("sandbox", sandbox).finish()
    }
}

/// Returns true if requests may be sent to a URL: it uses TLS, or its host is a loopback address.
pub(crate) fn is_allowed_url(text: &str) -> bool {
    parse_origin(text).is_ok()
}

/// Returns the origin of a URL, or an error if requests must not be sent to the URL.
fn parse_origin(text: &str) -> Result<String, ExchangeAddressError> {
    if text.contains(['?', '#']) {
        return Err(ExchangeAddressError::NotAnOrigin(text.to_owned()));
    }
    let htu = Htu::from_url(text).map_err(|_| ExchangeAddressError::InvalidUrl(text.to_owned()))?;
    let origin = htu.origin();
    let uri = origin
        .as_str()
        .parse::<http::Uri>()
        .map_err(|_| ExchangeAddressError::InvalidUrl(text.to_owned()))?;
    let loopback = matches!(uri.host(), Some("127.0.0.1" | "[::1]" | "localhost"));
    if uri.scheme_str() != Some("https") && !loopback {
        return Err(ExchangeAddressError::InsecureScheme(text.to_owned()));
    }
    Ok(origin.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IDP-02, CON-01: the issuer is kept exactly as given, and the gateway's origin has no trailing slash.
    #[test]
    fn address_is_pinned() {
        let address = ExchangeAddress::new("https://id.example/realms/x", "https://api.example/").unwrap();
        assert_eq!(
            (address.issuer(), address.gateway()),
            ("https://id.example/realms/x", "https://api.example")
        );
        assert!(!address.is_sandbox());
        assert!(ExchangeAddress::new("http://127.0.0.1:8080/idp", "http://127.0.0.1:8080").is_ok());
        assert!(ExchangeAddress::new("http://[::1]:8080/idp", "http://localhost:1").is_ok());
    }

    #[test]
    fn invalid_address_is_rejected() {
        let check = |issuer: &str, gateway: &str| ExchangeAddress::new(issuer, gateway).err();
        let ok = "https://a.example";
        for plain in ["http://a.example", "http://127.0.0.1.a.example", "http://localhost.example"] {
            assert_eq!(check(plain, ok), Some(ExchangeAddressError::InsecureScheme(plain.to_owned())));
            assert_eq!(check(ok, plain), Some(ExchangeAddressError::InsecureScheme(plain.to_owned())));
        }
        for more in ["https://a.example?x", "https://a.example#x"] {
            assert_eq!(check(more, ok), Some(ExchangeAddressError::NotAnOrigin(more.to_owned())));
        }
        assert_eq!(
            check(ok, "https://a.example/api"),
            Some(ExchangeAddressError::NotAnOrigin("https://a.example/api".into()))
        );
        for none in ["", "a.example", "ftp://a.example", "https://"] {
            assert_eq!(check(none, ok), Some(ExchangeAddressError::InvalidUrl(none.to_owned())));
        }
    }

    /// IDP-03: only the environment variable selects a sandbox.
    #[test]
    fn sandbox_is_selected_by_the_environment() {
        let of = |value: Option<&str>| {
            ExchangeAddress::from_variable(|name| {
                assert_eq!(name, "EXCHANGE_SANDBOX");
                value.map(str::to_owned)
            })
        };
        assert_eq!(of(None), Ok(None));
        assert_eq!(of(Some("")), Ok(None));
        let address = of(Some("http://127.0.0.1:9000/")).unwrap().unwrap();
        assert_eq!(
            (address.issuer(), address.gateway()),
            ("http://127.0.0.1:9000/idp", "http://127.0.0.1:9000")
        );
        assert!(address.is_sandbox());
        assert!(of(Some("http://far.example")).is_err());
    }
}
