//! The provider's endpoints, as its discovery document has them (IDP-01, IDP-02).

use dpop_bound::Htu;
use serde::Deserialize;

use crate::place;

/// Where to send what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoints {
    pub(super) device_authorization: Htu,
    pub(super) token: Htu,
    pub(super) revocation: Htu,
}

/// Why a discovery document is none for this issuer. Says nothing that stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("the identity provider's discovery document cannot be read")]
    Unreadable,
    #[error("the discovery document is another issuer's: somebody may stand in between")]
    Issuer,
    #[error("the discovery document has no usable `{0}`: it has to be an https address")]
    Endpoint(&'static str),
}

#[derive(Deserialize)]
struct Document {
    issuer: Option<String>,
    device_authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
}

impl Endpoints {
    /// Reads the document, which is used only when its `issuer` is exactly the pinned one (IDP-02).
    pub(super) fn read(issuer: &str, body: &[u8]) -> Result<Self, Unusable> {
        let document: Document = serde_json::from_slice(body).map_err(|_| Unusable::Unreadable)?;
        if document.issuer.as_deref() != Some(issuer) {
            return Err(Unusable::Issuer);
        }
        let usable = |name, address: Option<String>| {
            let address = address.filter(|address| is_safe(issuer, address) && !address.contains(['?', '#']));
            address.and_then(|address| Htu::of(&address).ok()).ok_or(Unusable::Endpoint(name))
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

/// The document's address (OpenID Connect Discovery 1.0, 4.1).
pub(super) fn document_of(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

/// Whether an address that the provider names may be used: https, and without TLS only this machine when the
/// provider is on it too.
pub(super) fn is_safe(issuer: &str, address: &str) -> bool {
    let is_https = |text: &str| text.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    is_https(address) && Htu::of(address).is_ok() || !is_https(issuer) && place::may_be_used(address)
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

    /// IDP-02: exactly the pinned issuer.
    #[test]
    fn the_issuer_is_compared_exactly() {
        let read = |issuer: &str| {
            Endpoints::read(ISSUER, document(issuer, "https://id.example/t").as_bytes()).map(|_| ())
        };
        assert_eq!(read(ISSUER), Ok(()));
        for other in ["https://id.example/realms/x/", "https://ID.example/realms/x", "https://id.example", ""]
        {
            assert_eq!(read(other), Err(Unusable::Issuer), "{other}");
        }
        for body in ["", "<html>", "[]", r#"{"issuer":1}"#] {
            assert_eq!(Endpoints::read(ISSUER, body.as_bytes()), Err(Unusable::Unreadable), "{body}");
        }
        assert_eq!(Endpoints::read(ISSUER, b"{}"), Err(Unusable::Issuer));
    }

    /// IDP-02: a document may not send tokens where anybody can read them.
    #[test]
    fn endpoints_have_tls_or_are_this_machines() {
        let read = |issuer: &str, token: &str| Endpoints::read(issuer, document(issuer, token).as_bytes());
        assert_eq!(read(ISSUER, "HTTPS://id.example/t").unwrap().token.as_str(), "https://id.example/t");
        for other in
            ["http://id.example/t", "http://127.0.0.1/t", "ftp://a/t", "", "/t", "https://", "https://a/t?x"]
        {
            assert_eq!(read(ISSUER, other), Err(Unusable::Endpoint("token_endpoint")), "{other}");
        }
        let local = "http://127.0.0.1:9/idp";
        assert!(read(local, "http://127.0.0.1:9/idp/t").is_ok());
        assert!(read(local, "https://id.example/t").is_ok());
        assert!(read(local, "http://id.example/t").is_err());
        let missing = format!(r#"{{"issuer":"{ISSUER}","token_endpoint":"https://id.example/t"}}"#);
        assert_eq!(
            Endpoints::read(ISSUER, missing.as_bytes()),
            Err(Unusable::Endpoint("device_authorization_endpoint"))
        );
    }

    #[test]
    fn the_document_stands_below_the_issuer() {
        let expect = "https://id.example/realms/x/.well-known/openid-configuration";
        assert_eq!(document_of(ISSUER), expect);
        assert_eq!(document_of("https://id.example/realms/x/"), expect);
    }
}
