//! Where the exchange is: a pinned issuer and the gateway's origin (IDP-02, CON-01), or a sandbox that a
//! developer's environment names (IDP-03).

use std::fmt;

use dpop_bound::Htu;

/// The variable by which a developer points a client at a sandbox (IDP-03): its value is the origin, below
/// which issuer and gateway stand. No setting and no user interface has it.
pub const SANDBOX_VARIABLE: &str = "EXCHANGE_SANDBOX";

/// An identity provider and a gateway, both pinned.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    issuer: Box<str>,
    gateway: Box<str>,
    sandbox: bool,
}

/// Why there can be no exchange there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusablePlace {
    /// It is no address.
    #[error("{0:?} is no http(s) address")]
    Address(String),
    /// Only a loopback address may do without TLS: a proof does not cover the body of its request.
    #[error("{0:?} is not https: without TLS anybody on the way can change what is sent")]
    Plain(String),
    /// It has a query or a fragment; a gateway has no path either.
    #[error("{0:?} has more than an address: leave out path, query and fragment")]
    More(String),
}

impl Place {
    /// The exchange whose identity provider is exactly `issuer` and whose gateway has the origin `gateway`.
    ///
    /// # Errors
    /// When one of them is no such address.
    pub fn new(issuer: &str, gateway: &str) -> Result<Self, UnusablePlace> {
        let _ = address(issuer)?;
        let origin = address(gateway)?;
        if gateway.trim_end_matches('/') != origin {
            return Err(UnusablePlace::More(gateway.to_owned()));
        }
        Ok(Self { issuer: issuer.into(), gateway: origin.into(), sandbox: false })
    }

    /// The sandbox that the developer variable names, if it is set: `Place::of_developer(|name|
    /// std::env::var(name).ok())`. A program asks this before its own setting.
    ///
    /// # Errors
    /// When the variable holds no origin.
    pub fn of_developer(
        variable: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Option<Self>, UnusablePlace> {
        let Some(origin) = variable(SANDBOX_VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let origin = origin.trim_end_matches('/');
        let place = Self::new(&format!("{origin}/idp"), origin)?;
        Ok(Some(Self { sandbox: true, ..place }))
    }

    /// The pinned issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The gateway's origin, without a slash at its end: `{base_url}` (CON-01).
    #[must_use]
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// Whether a developer's variable named it.
    #[must_use]
    pub const fn is_sandbox(&self) -> bool {
        self.sandbox
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, gateway, sandbox } = self;
        let mut place = f.debug_struct("Place");
        place.field("issuer", issuer).field("gateway", gateway).field("sandbox", sandbox).finish()
    }
}

/// Whether an address may be spoken to: it has TLS, or is this machine's.
pub(crate) fn may_be_used(text: &str) -> bool {
    address(text).is_ok()
}

/// The origin of an address that may be spoken to.
fn address(text: &str) -> Result<String, UnusablePlace> {
    if text.contains(['?', '#']) {
        return Err(UnusablePlace::More(text.to_owned()));
    }
    let htu = Htu::of(text).map_err(|_| UnusablePlace::Address(text.to_owned()))?;
    let origin = htu.origin();
    let uri = origin.as_str().parse::<http::Uri>().map_err(|_| UnusablePlace::Address(text.to_owned()))?;
    let loopback = matches!(uri.host(), Some("127.0.0.1" | "[::1]" | "localhost"));
    if uri.scheme_str() != Some("https") && !loopback {
        return Err(UnusablePlace::Plain(text.to_owned()));
    }
    Ok(origin.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IDP-02, CON-01: an address stays as it was pinned.
    #[test]
    fn a_place_is_pinned() {
        let place = Place::new("https://id.example/realms/x", "https://api.example/").unwrap();
        assert_eq!((place.issuer(), place.gateway()), ("https://id.example/realms/x", "https://api.example"));
        assert!(!place.is_sandbox());
        assert!(Place::new("http://127.0.0.1:8080/idp", "http://127.0.0.1:8080").is_ok());
        assert!(Place::new("http://[::1]:8080/idp", "http://localhost:1").is_ok());
    }

    #[test]
    fn what_is_no_place_is_refused() {
        let check = |issuer: &str, gateway: &str| Place::new(issuer, gateway).err();
        let ok = "https://a.example";
        for plain in ["http://a.example", "http://127.0.0.1.a.example", "http://localhost.example"] {
            assert_eq!(check(plain, ok), Some(UnusablePlace::Plain(plain.to_owned())));
            assert_eq!(check(ok, plain), Some(UnusablePlace::Plain(plain.to_owned())));
        }
        for more in ["https://a.example?x", "https://a.example#x"] {
            assert_eq!(check(more, ok), Some(UnusablePlace::More(more.to_owned())));
        }
        assert_eq!(
            check(ok, "https://a.example/api"),
            Some(UnusablePlace::More("https://a.example/api".into()))
        );
        for none in ["", "a.example", "ftp://a.example", "https://"] {
            assert_eq!(check(none, ok), Some(UnusablePlace::Address(none.to_owned())));
        }
    }

    /// IDP-03: only the developer's variable chooses a sandbox.
    #[test]
    fn a_sandbox_comes_from_the_developers_environment() {
        let of = |value: Option<&str>| {
            Place::of_developer(|name| {
                assert_eq!(name, "EXCHANGE_SANDBOX");
                value.map(str::to_owned)
            })
        };
        assert_eq!(of(None), Ok(None));
        assert_eq!(of(Some("")), Ok(None));
        let place = of(Some("http://127.0.0.1:9000/")).unwrap().unwrap();
        assert_eq!((place.issuer(), place.gateway()), ("http://127.0.0.1:9000/idp", "http://127.0.0.1:9000"));
        assert!(place.is_sandbox());
        assert!(of(Some("http://far.example")).is_err());
    }
}
