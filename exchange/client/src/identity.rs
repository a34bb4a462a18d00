//! Who the client is: its registered id and what its `User-Agent` says (CLI-01).

use http::HeaderValue;

/// A registered client, as it names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    client_id: Box<str>,
    name: Box<str>,
    version: Box<str>,
    user_agent: HeaderValue,
}

/// Why a client cannot name itself so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableIdentity {
    /// The client id is empty, or holds what is no visible ASCII.
    #[error("the client id {0:?} is empty or holds something else than visible ASCII characters")]
    ClientId(String),
    /// The name is no token of HTTP.
    #[error("the name {0:?} is no product name: use letters, digits and any of !#$%&'*+-.^_`|~")]
    Name(String),
    /// The version is no semantic version.
    #[error("the version {0:?} is no version like 1.4.0")]
    Version(String),
    /// The information URL is none.
    #[error("the address {0:?} is no http(s) address of a page about the client")]
    InfoUrl(String),
}

impl Identity {
    /// `client_id` is what the client is registered as; the rest makes the `User-Agent`
    /// `<name>/<version> (+<info_url>)`, by which the exchange tells a version that it no longer supports
    /// (CLI-01, ERR-16).
    ///
    /// # Errors
    /// When one of them does not fit its place.
    pub fn new(client_id: &str, name: &str, version: &str, info_url: &str) -> Result<Self, UnusableIdentity> {
        if client_id.is_empty() || !client_id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(UnusableIdentity::ClientId(client_id.to_owned()));
        }
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(UnusableIdentity::Name(name.to_owned()));
        }
        if !is_version(version) {
            return Err(UnusableIdentity::Version(version.to_owned()));
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
            _ => Err(UnusableIdentity::InfoUrl(info_url.to_owned())),
        }
    }

    /// What it is registered as.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Its name: also the `generator` of an envelope.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// `<name>/<version> (+<info_url>)`
    #[must_use]
    pub const fn user_agent(&self) -> &HeaderValue {
        &self.user_agent
    }
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// `1.4.0`, with what semantic versions may have behind it.
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

    /// CLI-01.
    #[test]
    fn a_user_agent_has_name_version_and_address() {
        let identity = Identity::new("desk", "Desk", "1.4.0", "https://desk.example/about").unwrap();
        assert_eq!(identity.user_agent(), "Desk/1.4.0 (+https://desk.example/about)");
        assert_eq!((identity.client_id(), identity.name(), identity.version()), ("desk", "Desk", "1.4.0"));
    }

    /// CLI-01, ERR-16: what the exchange could not read is refused here.
    #[test]
    fn what_makes_no_user_agent_is_refused() {
        let check =
            |id: &str, name: &str, version: &str, url: &str| Identity::new(id, name, version, url).err();
        let url = "https://desk.example";
        assert!(matches!(check("", "Desk", "1.0.0", url), Some(UnusableIdentity::ClientId(_))));
        assert!(matches!(check("de sk", "Desk", "1.0.0", url), Some(UnusableIdentity::ClientId(_))));
        for name in ["", "My Desk", "Desk/2", "D\u{e9}sk"] {
            assert!(matches!(check("d", name, "1.0.0", url), Some(UnusableIdentity::Name(_))), "{name}");
        }
        for version in ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "v1.0.0", "1.0.0-", "1.0.0 beta"] {
            assert!(matches!(check("d", "D", version, url), Some(UnusableIdentity::Version(_))), "{version}");
        }
        for version in ["0.1.0", "1.0.0-rc.1", "1.0.0+build.5"] {
            assert_eq!(check("d", "D", version, url), None, "{version}");
        }
        for url in
            ["", "desk.example", "ftp://desk.example", "https://", "https://a.example/)", "https://a b/"]
        {
            assert!(matches!(check("d", "D", "1.0.0", url), Some(UnusableIdentity::InfoUrl(_))), "{url}");
        }
    }
}
