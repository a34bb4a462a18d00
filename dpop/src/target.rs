//! `htu`: the URL of a proof, without query and fragment (RFC 9449, 4.2).
//!
//! The client derives an [`Htu`] from the URL that it is about to request. The server compares it byte by
//! byte with its [`RequestTarget`]. RFC 9449, 4.3 permits normalization of both sides; this crate does not
//! normalize on comparison, so both sides have to produce the same spelling. Only this module produces this
//! spelling. It equals the output of the `url` crate and of every other implementation of the WHATWG URL
//! standard.

use std::fmt;

/// A URL in the form of `htu`: scheme and host in lower case, no default port, the path exactly as sent, no
/// query, no fragment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Htu(Box<str>);

/// The public origin of a server: scheme, host, and the port unless it is the scheme's default.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin(Box<str>);

/// The reason why a string is not a valid URL or origin for proofs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// A character before query and fragment that is not allowed there: a space, a quote, a control character
    /// or a character outside ASCII. Hosts in other scripts have to be written in Punycode, paths with `%`.
    #[error("the URL contains a character that has to be encoded")]
    Character,
    /// The URL does not begin with `http://` or `https://`.
    #[error("the URL does not begin with http:// or https://")]
    Scheme,
    /// The host is missing or invalid.
    #[error("the URL has no valid host")]
    Host,
    /// The port is not a number up to 65535.
    #[error("the port is not a number up to 65535")]
    Port,
    /// The URL contains user information, which RFC 9110, 4.2.4 forbids.
    #[error("the URL contains user information")]
    User,
    /// The URL of an origin has a path, a query or a fragment.
    #[error("the URL of an origin must not have a path, query or fragment")]
    Path,
}

impl Htu {
    /// Returns the `htu` of a request to this URL.
    ///
    /// The path stays unchanged (same percent-encoding, same trailing slash). Pass the URL that is actually
    /// sent, after every change that the HTTP client makes. An absent path becomes `/`. Query and fragment
    /// are dropped without validation.
    ///
    /// # Errors
    /// Returns an error if the string is not an absolute `http` or `https` URL, or contains user information.
    pub fn from_url(url: &str) -> Result<Self, UrlError> {
        let (mut text, path) = parse_origin(before_query(url))?;
        text.push_str(if path.is_empty() { "/" } else { path });
        Ok(Self(text.into()))
    }

    /// Returns the URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the origin: the part before the path.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let authority = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0[authority..].find('/').map_or(self.0.len(), |at| authority + at);
        Origin(self.0[..end].into())
    }
}

impl Origin {
    /// Parses a configured public origin, such as `https://gateway.example`. A trailing slash is removed.
    ///
    /// # Errors
    /// Returns an error if the string is not an absolute `http` or `https` URL, or has more parts than an
    /// origin.
    pub fn from_url(url: &str) -> Result<Self, UrlError> {
        let address = before_query(url);
        let (text, path) = parse_origin(address)?;
        if matches!(path, "" | "/") && address.len() == url.len() {
            Ok(Self(text.into()))
        } else {
            Err(UrlError::Path)
        }
    }

    /// Returns the origin, without a trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Splits a URL without query and fragment into its normalized origin and its path.
fn parse_origin(address: &str) -> Result<(String, &str), UrlError> {
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\\".contains(&byte)) {
        return Err(UrlError::Character);
    }
    let (scheme, rest) = address.split_once("://").ok_or(UrlError::Scheme)?;
    let scheme = scheme.to_ascii_lowercase();
    let own_port = match scheme.as_str() {
        "https" => 443,
        "http" => 80,
        _ => return Err(UrlError::Scheme),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // The URL standard encodes the first set in a path and rejects the second set in a host.
    if path.contains(['"', '`', '{', '}']) || authority.contains(['^', '|']) {
        return Err(UrlError::Character);
    }
    if authority.contains('@') {
        return Err(UrlError::User);
    }
    let (host, port) = host_and_port(authority)?;
    let mut text = format!("{scheme}://{}", host.to_ascii_lowercase());
    if let Some(port) = port.filter(|port| *port != own_port) {
        text.push_str(&format!(":{port}"));
    }
    Ok((text, path))
}

/// Splits an authority into host and port (RFC 3986, 3.2.2 and 3.2.3). The port may be empty.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), UrlError> {
    let end = if authority.starts_with('[') {
        let end = authority.find(']').ok_or(UrlError::Host)? + 1;
        let inside = &authority[1..end - 1];
        if !inside.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte)) || inside.len() < 2 {
            return Err(UrlError::Host);
        }
        end
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at(end);
    if host.is_empty() || (!host.starts_with('[') && host.contains(['[', ']'])) {
        return Err(UrlError::Host);
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        Some("") => Ok((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => match digits.parse() {
            Ok(port) => Ok((host, Some(port))),
            Err(_) => Err(UrlError::Port),
        },
        Some(_) => Err(UrlError::Port),
        None => Err(UrlError::Host),
    }
}

/// Returns the part of a URL before query and fragment.
fn before_query(url: &str) -> &str {
    url.find(['?', '#']).map_or(url, |end| &url[..end])
}

impl fmt::Display for Htu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Htu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Htu({})", self.0)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({})", self.0)
    }
}

/// The URL that a proof has to contain, from the server's perspective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    /// A complete URL: an endpoint that the server announces, such as the token endpoint.
    Url(&'a Htu),
    /// The server's origin and the request target exactly as received. A query is not compared, and the
    /// request's `Host` is not used.
    Request(&'a Origin, &'a str),
}

impl RequestTarget<'_> {
    /// Returns true if `htu` is exactly this URL.
    #[must_use]
    pub fn matches(&self, htu: &str) -> bool {
        match self {
            Self::Url(url) => url.as_str() == htu,
            Self::Request(origin, sent) => htu.strip_prefix(origin.as_str()) == Some(before_query(sent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: Result<&str, UrlError>) {
        assert_eq!(Htu::from_url(url).as_ref().map(Htu::as_str), expect.as_ref().copied(), "{url}");
    }

    /// DPP-03, DPP-08, A29: every URL has exactly one `htu`.
    #[test]
    fn htu_from_url() {
        for (url, htu) in [
            ("https://gateway.example/exchange/v1", "https://gateway.example/exchange/v1"),
            ("HTTPS://Gateway.EXAMPLE/Exchange/V1", "https://gateway.example/Exchange/V1"),
            ("https://gateway.example:443/a", "https://gateway.example/a"),
            ("https://gateway.example:0443/a", "https://gateway.example/a"),
            ("https://gateway.example:/a", "https://gateway.example/a"),
            ("https://gateway.example:80/a", "https://gateway.example:80/a"),
            ("http://127.0.0.1:80/a", "http://127.0.0.1/a"),
            ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
            ("http://[::1]:8080/a", "http://[::1]:8080/a"),
            ("http://[2001:DB8::1]/a", "http://[2001:db8::1]/a"),
            ("http://[::]/a", "http://[::]/a"),
            ("https://gateway.example", "https://gateway.example/"),
            ("https://gateway.example?a=b", "https://gateway.example/"),
            ("https://gateway.example#a", "https://gateway.example/"),
            ("https://gateway.example/a?b=/c#d", "https://gateway.example/a"),
            ("https://gateway.example/a#b?c", "https://gateway.example/a"),
            ("https://gateway.example/a/", "https://gateway.example/a/"),
            ("https://gateway.example//a/../b", "https://gateway.example//a/../b"),
            ("https://gateway.example/%7Ea%2f~", "https://gateway.example/%7Ea%2f~"),
            ("https://gateway.example/a:b@c", "https://gateway.example/a:b@c"),
            ("https://gateway.example/a|b^c", "https://gateway.example/a|b^c"),
            ("https://gateway.example/a?b={\"c\": \\ ä}\n", "https://gateway.example/a"),
            ("https://gateway.example/a#b c", "https://gateway.example/a"),
            ("https://gateway.example:0/a", "https://gateway.example:0/a"),
            ("https://a\"`{b}/", "https://a\"`{b}/"),
        ] {
            check(url, Ok(htu));
        }
    }

    #[test]
    fn invalid_request_urls_are_rejected() {
        use UrlError::{Character, Host, Port, Scheme, User};
        for (url, error) in [
            ("", Scheme),
            ("/exchange/v1", Scheme),
            ("gateway.example/a", Scheme),
            ("ftp://gateway.example/", Scheme),
            ("https:/gateway.example/", Scheme),
            ("https:///a", Host),
            ("https://:443/a", Host),
            ("https://[::1/a", Host),
            ("https://[]/a", Host),
            ("https://[::1]x/a", Host),
            ("https://a]b/", Host),
            ("https://gateway.example:65536/a", Port),
            ("https://gateway.example:+1/a", Port),
            ("https://gateway.example:1:2/a", Port),
            ("https://me@gateway.example/a", User),
            ("https://gateway.example@other.example/a", User),
            ("https://gateway.example/a b", Character),
            ("https://gateway.example/\"", Character),
            ("https://gateway.example/{a}", Character),
            ("https://gateway.example/`", Character),
            ("https://gateway|example/", Character),
            ("https://gateway^example/", Character),
            ("https://gateway.example/<a>", Character),
            ("https://gateway.example/ä?", Character),
            ("https://gateway.example/\\a", Character),
            ("https://gateway.example/\n", Character),
            ("https://gateway.example/\0", Character),
            ("https://gätewäy.example/", Character),
        ] {
            check(url, Err(error));
        }
    }

    #[test]
    fn origins() {
        for (url, origin) in [
            ("https://Gateway.example", Ok("https://gateway.example")),
            ("https://gateway.example:443/", Ok("https://gateway.example")),
            ("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080")),
            ("https://gateway.example/a", Err(UrlError::Path)),
            ("https://gateway.example?a", Err(UrlError::Path)),
            ("https://gateway.example/?", Err(UrlError::Path)),
            ("https://gateway.example#", Err(UrlError::Path)),
            ("gateway.example", Err(UrlError::Scheme)),
        ] {
            assert_eq!(Origin::from_url(url).as_ref().map(Origin::as_str), origin.as_ref().copied(), "{url}");
        }
        for (url, origin) in [
            ("https://a.example:8443/b/c", "https://a.example:8443"),
            ("http://a/b//c", "http://a"),
            ("https://a", "https://a"),
        ] {
            assert_eq!(Htu::from_url(url).unwrap().origin().as_str(), origin);
        }
    }

    /// DPP-08: the gateway compares URLs byte by byte.
    #[test]
    fn targets_are_compared_as_plain_text() {
        let origin = Origin::from_url("https://gateway.example").unwrap();
        let url = Htu::from_url("https://id.example/token").unwrap();
        for (target, htu, is) in [
            (RequestTarget::Url(&url), "https://id.example/token", true),
            (RequestTarget::Url(&url), "https://id.example/token/", false),
            (RequestTarget::Request(&origin, "/a/b"), "https://gateway.example/a/b", true),
            (RequestTarget::Request(&origin, "/a/b?c=d"), "https://gateway.example/a/b", true),
            (RequestTarget::Request(&origin, "/a/b?c=d"), "https://gateway.example/a/b?c=d", false),
            (RequestTarget::Request(&origin, "/a/b"), "https://gateway.example/a/b/", false),
            (RequestTarget::Request(&origin, "/a/b"), "https://gateway.example/a/B", false),
            (RequestTarget::Request(&origin, "/a/b"), "https://gateway.example:443/a/b", false),
            (RequestTarget::Request(&origin, "/a/b"), "https://gateway.example.evil/a/b", false),
            (RequestTarget::Request(&origin, "/%7Ea"), "https://gateway.example/~a", false),
            (RequestTarget::Request(&origin, "/a/b"), "/a/b", false),
        ] {
            assert_eq!(target.matches(htu), is, "{target:?} {htu}");
        }
    }
}
