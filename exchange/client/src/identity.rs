//! The identity of the client: its registered id and its `User-Agent` (CLI-01).

use http::HeaderValue;

/// A registered client: id, product name, version, and `User-Agent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    client_id: Box<str>,
    name: Box<str>,
    version: Box<str>,
    user_agent: HeaderValue,
}

/// The reason a client identity is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientIdentityError {
    /// The client id is empty or contains a character that is not visible ASCII.
    #[error("invalid client id {0:?}: use visible ASCII characters")]
    ClientId(String),
    /// The name is not an HTTP token.
    #[error("invalid product name {0:?}: use letters, digits and any of !#$%&'*+-.^_`|~")]
    Name(String),
    /// The version is not a semantic version.
    #[error("invalid version {0:?}: use a semantic version such as 1.4.0")]
    Version(String),
    /// The information URL is not an http(s) URL.
    #[error("invalid information URL {0:?}: use the http(s) URL of a page about the client")]
    InfoUrl(String),
}

impl ClientIdentity {
    /// Creates an identity. `client_id` is the registered id. The other arguments form the `User-Agent`
    /// `<name>/<version> (+<info_url>)`, from which the exchange recognizes unsupported versions (CLI-01,
    /// ERR-16).
    ///
    /// # Errors
    /// Returns an error that names the first invalid argument.
    pub fn new(
        client_id: &str,
        name: &str,
        version: &str,
        info_url: &str,
    ) -> Result<Self, ClientIdentityError> {
        if client_id.is_empty() || !client_id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ClientIdentityError::ClientId(client_id.to_owned()));
        }
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(ClientIdentityError::Name(name.to_owned()));
        }
        if !is_version(version) {
            return Err(ClientIdentityError::Version(version.to_owned()));
        }
        let user_agent = HeaderValue::try_from(format!("{name}/{version} (+{info_url})")).ok();
        let is_page = info_url.parse::<http::Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| !host.is_empty())
        });
        match user_agent {
            Some(user_agent) if is_page && !info_url.contains(['(', ')']) => Ok(Self {
                client_id: client_id.into(),
                name: name.into(),
                version: version.into(),
                user_agent,
            }),
            _ => Err(ClientIdentityError::InfoUrl(info_url.to_owned())),
        }
    }

    /// Returns the registered client id.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Returns the product name, which is also the `generator` of an envelope.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version of the program.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the header value `<name>/<version> (+<info_url>)`.
    #[must_use]
    pub const fn user_agent(&self) -> &HeaderValue {
        &self.user_agent
    }
}

/// Returns true if the character is permitted in an HTTP token (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns true for three numbers with an optional pre-release and build suffix, such as `1.4.0-rc.1`
/// (semantic versioning).
fn is_version(text: &str) -> bool {
    let (core, rest) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let mut parts = core.split('.');
    let three = parts.by_ref().take(3).filter(|part| number(part)).count() == 3 && parts.next().is_none();
    three
        && rest.len() != 1
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CLI-01: the `User-Agent` contains the name, the version and the information URL.
    #[test]
    fn a_user_agent_has_name_version_and_address() {
        let identity = ClientIdentity::new("desk", "Desk", "1.4.0", "https://desk.example/about").unwrap();
        assert_eq!(identity.user_agent(), "Desk/1.4.0 (+https://desk.example/about)");
        assert_eq!((identity.client_id(), identity.name(), identity.version()), ("desk", "Desk", "1.4.0"));
    }

    /// CLI-01, ERR-16: an identity that the exchange could not parse is rejected.
    #[test]
    fn invalid_client_identity_is_rejected() {
        let check = |id: &str, name: &str, version: &str, url: &str| {
            ClientIdentity::new(id, name, version, url).err()
        };
        let url = "https://desk.example";
        assert!(matches!(check("", "Desk", "1.0.0", url), Some(ClientIdentityError::ClientId(_))));
        assert!(matches!(check("de sk", "Desk", "1.0.0", url), Some(ClientIdentityError::ClientId(_))));
        for name in ["", "My Desk", "Desk/2", "D\u{e9}sk"] {
            assert!(matches!(check("d", name, "1.0.0", url), Some(ClientIdentityError::Name(_))), "{name}");
        }
        for version in ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "v1.0.0", "1.0.0-", "1.0.0 beta"] {
            assert!(
                matches!(check("d", "D", version, url), Some(ClientIdentityError::Version(_))),
                "{version}"
            );
        }
        for version in ["0.1.0", "1.0.0-rc.1", "1.0.0+build.5"] {
            assert_eq!(check("d", "D", version, url), None, "{version}");
        }
        for url in
            ["", "desk.example", "ftp://desk.example", "https://", "https://a.example/)", "https://a b/"]
        {
            assert!(matches!(check("d", "D", "1.0.0", url), Some(ClientIdentityError::InfoUrl(_))), "{url}");
        }
    }
}
