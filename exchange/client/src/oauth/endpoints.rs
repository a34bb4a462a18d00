//! The provider's endpoints from its discovery document (IDP-01, IDP-02).

use dpop_bound::Htu;
use serde::Deserialize;

use crate::address;

/// The endpoints that this client uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProviderEndpoints {
    pub(super) device_authorization: Htu,
    pub(super) token: Htu,
    pub(super) revocation: Htu,
}

/// The reason a discovery document is rejected. It contains no part of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DiscoveryError {
    #[error("the identity provider's discovery document cannot be read")]
    Unreadable,
    #[error("the discovery document names another issuer: the connection may be intercepted")]
    IssuerMismatch,
    #[error("the discovery document has no valid `{0}`: it must be an https URL")]
    InvalidEndpoint(&'static str),
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: Option<String>,
    device_authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
}

impl ProviderEndpoints {
    /// Parses the document. Its `issuer` must be exactly the pinned one (IDP-02).
    pub(super) fn parse(issuer: &str, body: &[u8]) -> Result<Self, DiscoveryError> {
        let document: DiscoveryDocument =
            serde_json::from_slice(body).map_err(|_| DiscoveryError::Unreadable)?;
        if document.issuer.as_deref() != Some(issuer) {
            return Err(DiscoveryError::IssuerMismatch);
        }
        let usable = |name, address: Option<String>| {
            let address =
                address.filter(|address| is_safe_url(issuer, address) && !address.contains(['?', '#']));
            address
                .and_then(|address| Htu::from_url(&address).ok())
                .ok_or(DiscoveryError::InvalidEndpoint(name))
        };
        Ok(Self {
            device_authorization: usable(
                "device_authorization_endpoint",
                document.device_authorization_endpoint,
            )?,
            token: usable("token_endpoint", document.token_endpoint)?,
            revocation: usable("revocation_endpoint", document.revocation_endpoint)?,
        })
    }
}

/// Returns the URL of the discovery document (OpenID Connect Discovery 1.0, 4.1).
pub(super) fn discovery_url(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

/// Returns true if a URL from the provider may be used: it is an https URL, or the provider is on this
/// machine and the URL is a loopback URL.
pub(super) fn is_safe_url(issuer: &str, address: &str) -> bool {
    let is_https = |text: &str| text.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    is_https(address) && Htu::from_url(address).is_ok()
        || !is_https(issuer) && address::is_allowed_url(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://id.example/realms/x";

    fn document(issuer: &str, token: &str) -> String {
        format!(
            r#"{{"issuer":"{issuer}","device_authorization_endpoint":"https://id.example/d",
            "token_endpoint":"{token}","revocation_endpoint":"https://id.example/r","jwks_uri":[1],"x":null}}"#
        )
    }

    /// IDP-02: the issuer in the document must equal the pinned issuer exactly.
    #[test]
    fn issuer_is_compared_exactly() {
        let read = |issuer: &str| {
            ProviderEndpoints::parse(ISSUER, document(issuer, "https://id.example/t").as_bytes()).map(|_| ())
        };
        assert_eq!(read(ISSUER), Ok(()));
        for other in ["https://id.example/realms/x/", "https://ID.example/realms/x", "https://id.example", ""]
        {
            assert_eq!(read(other), Err(DiscoveryError::IssuerMismatch), "{other}");
        }
        for body in ["", "<html>", "[]", r#"{"issuer":1}"#] {
            assert_eq!(
                ProviderEndpoints::parse(ISSUER, body.as_bytes()),
                Err(DiscoveryError::Unreadable),
                "{body}"
            );
        }
        assert_eq!(ProviderEndpoints::parse(ISSUER, b"{}"), Err(DiscoveryError::IssuerMismatch));
    }

    /// IDP-02: a document whose endpoints would receive tokens without TLS is rejected.
    #[test]
    fn endpoints_require_tls_or_loopback() {
        let read =
            |issuer: &str, token: &str| ProviderEndpoints::parse(issuer, document(issuer, token).as_bytes());
        assert_eq!(read(ISSUER, "HTTPS://id.example/t").unwrap().token.as_str(), "https://id.example/t");
        for other in
            ["http://id.example/t", "http://127.0.0.1/t", "ftp://a/t", "", "/t", "https://", "https://a/t?x"]
        {
            assert_eq!(
                read(ISSUER, other),
                Err(DiscoveryError::InvalidEndpoint("token_endpoint")),
                "{other}"
            );
        }
        let local = "http://127.0.0.1:9/idp";
        assert!(read(local, "http://127.0.0.1:9/idp/t").is_ok());
        assert!(read(local, "https://id.example/t").is_ok());
        assert!(read(local, "http://id.example/t").is_err());
        let missing = format!(r#"{{"issuer":"{ISSUER}","token_endpoint":"https://id.example/t"}}"#);
        assert_eq!(
            ProviderEndpoints::parse(ISSUER, missing.as_bytes()),
            Err(DiscoveryError::InvalidEndpoint("device_authorization_endpoint"))
        );
    }

    #[test]
    fn discovery_url_is_below_the_issuer() {
        let expect = "https://id.example/realms/x/.well-known/openid-configuration";
        assert_eq!(discovery_url(ISSUER), expect);
        assert_eq!(discovery_url("https://id.example/realms/x/"), expect);
    }
}
