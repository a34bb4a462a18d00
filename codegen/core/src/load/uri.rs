//! URI operations (RFC 3986) on strings: resolution, normalization, percent-encoding.

use std::net::IpAddr;

use fluent_uri::{Uri, UriRef};

/// An absolute URI, split from its fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AbsoluteUri {
    /// The URI without the fragment.
    pub(crate) uri: String,
    /// The percent-decoded fragment, or `None` if there is no `#`.
    pub(crate) fragment: Option<String>,
}

/// Resolves a reference against an absolute base URI (RFC 3986, 5.2). The error is a message that explains
/// why the reference is invalid.
///
/// The fragment may contain characters that a URI must escape, because keys of `$defs` such as `Page<Lot>`
/// are often used unescaped in references.
pub(crate) fn resolve_reference(base: &str, reference: &str) -> Result<AbsoluteUri, String> {
    let (address, fragment) = match reference.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (reference, None),
    };
    let fragment = match fragment {
        Some(text) => {
            Some(percent_decode(text).ok_or_else(|| format!("`#{text}` is not percent-encoded UTF-8"))?)
        }
        None => None,
    };
    if address.is_empty() {
        return Ok(AbsoluteUri { uri: base.to_owned(), fragment });
    }
    let relative = UriRef::parse(address).map_err(|_| format!("`{address}` is not a URI reference"))?;
    let base = Uri::parse(base).map_err(|_| format!("its base `{base}` is not an absolute URI"))?;
    let absolute = relative
        .resolve_against(&base)
        .map_err(|_| format!("`{address}` cannot be resolved against `{base}`"))?;
    Ok(AbsoluteUri { uri: absolute.into_string(), fragment })
}

/// Resolves a reference against an absolute URI, without the fragment. Returns `None` if one of them is
/// invalid.
#[must_use]
pub fn resolve(base: &str, reference: &str) -> Option<String> {
    resolve_reference(base, reference).ok().map(|absolute| absolute.uri)
}

/// Percent-encodes a relative file reference that contains characters that a URI must escape (RFC 3986, 2),
/// such as braces, spaces and quotes. Returns `None` if no character needs escaping, or if the reference has
/// a scheme or a host.
pub(crate) fn escape_file_reference(reference: &str) -> Option<String> {
    let (address, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
    let wild =
        |each: char| !each.is_ascii() || matches!(each, ' ' | '"' | '<' | '>' | '^' | '`' | '{' | '|' | '}');
    let elsewhere = address.starts_with("//")
        || address.split(['/', '?']).next().is_some_and(|first| first.contains(':'));
    if elsewhere || !address.contains(wild) {
        return None;
    }
    let mut out = String::with_capacity(reference.len());
    for each in address.chars() {
        if wild(each) {
            let mut bytes = [0; 4];
            for byte in each.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(each);
        }
    }
    UriRef::parse(out.as_str()).ok()?;
    Some(out + fragment)
}

/// Returns the form of a URI that is used as a key for lookups: normalized (RFC 3986, 6.2.2) and without a
/// fragment. The meta-schemas of JSON Schema are identified by `http` and by `https`; both have the same key.
pub(crate) fn normalized_key(uri: &str) -> String {
    let bare = uri.split_once('#').map_or(uri, |(bare, _)| bare);
    let key = Uri::parse(bare).map_or_else(|_| bare.to_owned(), |parsed| parsed.normalize().into_string());
    match key.strip_prefix("http://json-schema.org/") {
        Some(path) => format!("https://json-schema.org/{path}"),
        None => key,
    }
}

/// Removes `https://` or `http://` from the start of a URI. Returns `None` if it has another scheme.
pub fn strip_http_scheme(uri: &str) -> Option<&str> {
    uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))
}

/// Returns true if the string is a URI with a scheme.
pub fn is_absolute(uri: &str) -> bool {
    Uri::parse(uri).is_ok()
}

/// Returns a URL without its query and fragment.
pub fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

/// Returns true if the host of a URL is this machine: `localhost`, or an address of the loopback interface. An IPv6
/// address may be in brackets.
pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Percent-decodes a string. Returns `None` if it contains an invalid escape or is not valid UTF-8 after
/// decoding.
pub fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// Returns the path of a URI that is derived from the name of a file. Other URIs are returned unchanged.
#[must_use]
pub fn without_file_scheme(uri: &str) -> &str {
    uri.strip_prefix("file:///").unwrap_or(uri)
}

/// Converts a relative file name to a `file` URI without a host, such as `file:///v1/stock.json`.
pub(crate) fn from_file_name(name: &str) -> String {
    let mut uri = String::from("file:///");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_against_a_base() {
        let cases = [
            ("https://x.y/a/b.json", "c.json", "https://x.y/a/c.json", None),
            ("https://x.y/a/b.json", "../c.json#/x", "https://x.y/c.json", Some("/x")),
            ("https://x.y/a/b.json", "/c", "https://x.y/c", None),
            ("https://x.y/a/b.json", "//z/c", "https://z/c", None),
            ("https://x.y/a/b.json", "#", "https://x.y/a/b.json", Some("")),
            ("https://x.y/a/b.json", "#/a%25b", "https://x.y/a/b.json", Some("/a%b")),
            ("https://x.y/a/b.json", "#/Page<Lot>", "https://x.y/a/b.json", Some("/Page<Lot>")),
            ("https://x.y/a/b.json", "?q", "https://x.y/a/b.json?q", None),
            ("urn:x:y", "#a", "urn:x:y", Some("a")),
            ("urn:x:y", "urn:x:z#a", "urn:x:z", Some("a")),
            ("file:///a/b.yaml", "./c.yaml", "file:///a/c.yaml", None),
        ];
        for (base, reference, uri, fragment) in cases {
            let expected = AbsoluteUri { uri: uri.to_owned(), fragment: fragment.map(str::to_owned) };
            assert_eq!(resolve_reference(base, reference), Ok(expected), "{base} {reference}");
        }
        for reference in ["a b", "#/%zz", "#%ff", "urn%3", "http://[x"] {
            assert!(resolve_reference("https://x.y/", reference).is_err(), "{reference}");
        }
        assert!(resolve_reference("nonsense", "b.json").is_err());
    }

    #[test]
    fn file_names_are_escaped() {
        let check = |reference: &str, expected: Option<&str>| {
            assert_eq!(escape_file_reference(reference).as_deref(), expected, "{reference}");
        };
        check("./paths/objects@{object_id}.yaml", Some("./paths/objects@%7Bobject_id%7D.yaml"));
        check("a b|c.json#/x y", Some("a%20b%7Cc.json#/x y"));
        check("\"ü\".json", Some("%22%C3%BC%22.json"));
        check("a%20b.json", None);
        check("#/a b", None);
        check("https://x.y/{a}", None);
        check("//x y/a", None);
        check("a\\{b}.json", None);
        check("{a}%zz", None);
    }

    #[test]
    fn keys() {
        assert_eq!(normalized_key("HTTPS://X.y/%7Ea/../b#"), "https://x.y/b");
        assert_eq!(normalized_key("https://x.y/%7ea"), "https://x.y/~a");
        assert_eq!(normalized_key("http://json-schema.org/schema#"), "https://json-schema.org/schema");
        assert_eq!(normalized_key("http://x.y/schema"), "http://x.y/schema");
        assert_eq!(from_file_name("a b/ü.json"), "file:///a%20b/%C3%BC.json");
    }
}
