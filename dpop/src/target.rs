//! `htu`: the address that a proof is for, without query and fragment (RFC 9449, 4.2).
//!
//! The client writes an [`Htu`] from the URL it is about to request, the server compares it as plain
//! text with its [`Target`]. RFC 9449, 4.3 would let a server normalise both sides; this crate does not, so
//! both sides have to agree on one spelling, and that is made here and nowhere else. It is the one in which the
//! `url` crate, and every other that follows the URL standard of browsers, writes an address.

use std::fmt;

/// A URL as `htu` has it: scheme and host in lower case, no default port, the path exactly as sent, no
/// query, no fragment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Htu(Box<str>);

/// A server's public address: scheme, host, and the port unless it is the scheme's own.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin(Box<str>);

/// Why a URL is none that a proof can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlRefusal {
    /// A character before query and fragment that no URL holds there: a space, a quote, a control character, one
    /// outside ASCII. Hosts in other scripts are written in Punycode, paths with `%`.
    #[error("the URL holds a character that has to be encoded")]
    Character,
    /// It does not begin with `http://` or `https://`.
    #[error("the URL does not begin with http:// or https://")]
    Scheme,
    /// It has no host, or one that is none.
    #[error("the URL has no host")]
    Host,
    /// The port is no number up to 65535.
    #[error("the port is no number up to 65535")]
    Port,
    /// It names a user: nobody may send such a URL (RFC 9110, 4.2.4), so it is never a proof's.
    #[error("the URL names a user")]
    User,
    /// An origin has no path, query and fragment.
    #[error("an origin has no path, query and fragment")]
    Path,
}

impl Htu {
    /// The `htu` of a request to this URL.
    ///
    /// The path is taken as it stands (same percent-encoding, same trailing slash), so the URL has to be
    /// the one that is sent: after whatever the HTTP client does to it. An absent path is `/`. Query and
    /// fragment are not looked at, whatever they hold.
    ///
    /// # Errors
    /// When the text is no absolute `http` or `https` URL, or names a user.
    pub fn of(url: &str) -> Result<Self, UrlRefusal> {
        let (mut text, path) = origin(before_query(url))?;
        text.push_str(if path.is_empty() { "/" } else { path });
        Ok(Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The origin: all before the path.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let authority = self.0.find("://").map_or(0, |at| at + 3);
        let end = self.0[authority..].find('/').map_or(self.0.len(), |at| authority + at);
        Origin(self.0[..end].into())
    }
}

impl Origin {
    /// A configured public address, such as `https://gateway.example`. A slash at its end is left out.
    ///
    /// # Errors
    /// When the text is no absolute `http` or `https` URL, or has more than an origin.
    pub fn of(url: &str) -> Result<Self, UrlRefusal> {
        let address = before_query(url);
        let (text, path) = origin(address)?;
        if matches!(path, "" | "/") && address.len() == url.len() {
            Ok(Self(text.into()))
        } else {
            Err(UrlRefusal::Path)
        }
    }

    /// The text, without a slash at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Scheme and authority in their one spelling, and the path, of a URL without query and fragment.
fn origin(address: &str) -> Result<(String, &str), UrlRefusal> {
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\\".contains(&byte)) {
        return Err(UrlRefusal::Character);
    }
    let (scheme, rest) = address.split_once("://").ok_or(UrlRefusal::Scheme)?;
    let scheme = scheme.to_ascii_lowercase();
    let own_port = match scheme.as_str() {
        "https" => 443,
        "http" => 80,
        _ => return Err(UrlRefusal::Scheme),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // The URL standard encodes these in a path, and refuses those in a host.
    if path.contains(['"', '`', '{', '}']) || authority.contains(['^', '|']) {
        return Err(UrlRefusal::Character);
    }
    if authority.contains('@') {
        return Err(UrlRefusal::User);
    }
    let (host, port) = host_and_port(authority)?;
    let mut text = format!("{scheme}://{}", host.to_ascii_lowercase());
    if let Some(port) = port.filter(|port| *port != own_port) {
        text.push_str(&format!(":{port}"));
    }
    Ok((text, path))
}

/// RFC 3986, 3.2.2 and 3.2.3; the port may be empty.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), UrlRefusal> {
    let end = if authority.starts_with('[') {
        let end = authority.find(']').ok_or(UrlRefusal::Host)? + 1;
        let inside = &authority[1..end - 1];
        if !inside.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte)) || inside.len() < 2 {
            return Err(UrlRefusal::Host);
        }
        end
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at(end);
    if host.is_empty() || (!host.starts_with('[') && host.contains(['[', ']'])) {
        return Err(UrlRefusal::Host);
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        Some("") => Ok((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => match digits.parse() {
            Ok(port) => Ok((host, Some(port))),
            Err(_) => Err(UrlRefusal::Port),
        },
        Some(_) => Err(UrlRefusal::Port),
        None => Err(UrlRefusal::Host),
    }
}

/// All before the query and the fragment.
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

/// What a proof has to be for, on the server's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// This URL: an endpoint that the server announces, such as the token endpoint's.
    Url(&'a Htu),
    /// The server's origin and the path of the request line, exactly as it came; a query behind it is
    /// not compared. Nothing of the request's own `Host` goes into it.
    Request(&'a Origin, &'a str),
}

impl Target<'_> {
    /// Whether `htu` is exactly this.
    #[must_use]
    pub fn is(&self, htu: &str) -> bool {
        match self {
            Self::Url(url) => url.as_str() == htu,
            Self::Request(origin, sent) => htu.strip_prefix(origin.as_str()) == Some(before_query(sent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expect: Result<&str, UrlRefusal>) {
        assert_eq!(Htu::of(url).as_ref().map(Htu::as_str), expect.as_ref().copied(), "{url}");
    }

    /// DPP-03, DPP-08, A29: one spelling.
    #[test]
    fn the_htu_of_a_url() {
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
    fn what_is_no_url_of_a_request() {
        use UrlRefusal::{Character, Host, Port, Scheme, User};
        for (url, refusal) in [
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
            check(url, Err(refusal));
        }
    }

    #[test]
    fn origins() {
        for (url, origin) in [
            ("https://Gateway.example", Ok("https://gateway.example")),
            ("https://gateway.example:443/", Ok("https://gateway.example")),
            ("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080")),
            ("https://gateway.example/a", Err(UrlRefusal::Path)),
            ("https://gateway.example?a", Err(UrlRefusal::Path)),
            ("https://gateway.example/?", Err(UrlRefusal::Path)),
            ("https://gateway.example#", Err(UrlRefusal::Path)),
            ("gateway.example", Err(UrlRefusal::Scheme)),
        ] {
            assert_eq!(Origin::of(url).as_ref().map(Origin::as_str), origin.as_ref().copied(), "{url}");
        }
        for (url, origin) in [
            ("https://a.example:8443/b/c", "https://a.example:8443"),
            ("http://a/b//c", "http://a"),
            ("https://a", "https://a"),
        ] {
            assert_eq!(Htu::of(url).unwrap().origin().as_str(), origin);
        }
    }

    /// DPP-08: the gateway compares plain text.
    #[test]
    fn targets_compare_as_they_stand() {
        let origin = Origin::of("https://gateway.example").unwrap();
        let url = Htu::of("https://id.example/token").unwrap();
        for (target, htu, is) in [
            (Target::Url(&url), "https://id.example/token", true),
            (Target::Url(&url), "https://id.example/token/", false),
            (Target::Request(&origin, "/a/b"), "https://gateway.example/a/b", true),
            (Target::Request(&origin, "/a/b?c=d"), "https://gateway.example/a/b", true),
            (Target::Request(&origin, "/a/b?c=d"), "https://gateway.example/a/b?c=d", false),
            (Target::Request(&origin, "/a/b"), "https://gateway.example/a/b/", false),
            (Target::Request(&origin, "/a/b"), "https://gateway.example/a/B", false),
            (Target::Request(&origin, "/a/b"), "https://gateway.example:443/a/b", false),
            (Target::Request(&origin, "/a/b"), "https://gateway.example.evil/a/b", false),
            (Target::Request(&origin, "/%7Ea"), "https://gateway.example/~a", false),
            (Target::Request(&origin, "/a/b"), "/a/b", false),
        ] {
            assert_eq!(target.is(htu), is, "{target:?} {htu}");
        }
    }
}
