//! Resolves the target of a link and extracts its query.

use std::fmt::Write as _;

use http::{
    Uri,
    uri::{Authority, PathAndQuery},
};

use super::{LinkPolicy, PageFault};

/// Returns the query of a target, which may be relative to the address of the request (RFC 3986, 5.2).
pub(super) fn resolve_query(base: &Uri, target: &str, targets: LinkPolicy) -> Result<String, PageFault> {
    let target = target.split('#').next().unwrap_or(target);
    let (scheme, rest) = split_scheme(target);
    let (authority, rest) = match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            (Some(authority.parse::<Authority>().map_err(|_| PageFault::InvalidLink)?), rest)
        }
        None => (None, rest),
    };
    if scheme.is_some() && authority.is_none() {
        return Err(PageFault::InvalidLink);
    }
    if targets != LinkPolicy::AnyOrigin && !same_origin(base, scheme, authority.as_ref()) {
        return Err(PageFault::ForeignTarget);
    }
    let (own_path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let resolved = match own_path {
        "" if authority.is_some() => "/".to_owned(),
        "" => base.path().to_owned(),
        path if path.starts_with('/') => remove_dot_segments(path),
        path => {
            let folder = &base.path()[..=base.path().rfind('/').unwrap_or(0)];
            remove_dot_segments(&format!("{folder}{path}"))
        }
    };
    if targets == LinkPolicy::SamePath && normalize_path(&resolved) != normalize_path(base.path()) {
        return Err(PageFault::ForeignTarget);
    }
    let query = match query {
        Some(query) => query,
        // An empty target refers to the address of the request itself (RFC 3986, 5.2.2).
        None if own_path.is_empty() && authority.is_none() => base.query().unwrap_or_default(),
        None => "",
    };
    match PathAndQuery::try_from(format!("/?{query}")) {
        Ok(_) if query.is_ascii() => Ok(query.to_owned()),
        _ => Err(PageFault::InvalidLink),
    }
}

/// Splits the scheme off, such as `https` in `https://…` (RFC 3986, 3.1).
fn split_scheme(target: &str) -> (Option<&str>, &str) {
    let end = target.find([':', '/', '?']).unwrap_or(target.len());
    match target.get(end..).and_then(|rest| rest.strip_prefix(':')) {
        Some(rest) => (Some(&target[..end]), rest),
        None => (None, target),
    }
}

/// Compares origins (RFC 6454, 4). An address with user information never has the same origin.
fn same_origin(base: &Uri, scheme: Option<&str>, authority: Option<&Authority>) -> bool {
    let base_scheme = base.scheme_str().unwrap_or_default();
    if !scheme.is_none_or(|scheme| scheme.eq_ignore_ascii_case(base_scheme)) {
        return false;
    }
    let Some(authority) = authority else { return true };
    let usual = match base_scheme {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    };
    let host = base.host().unwrap_or_default();
    !authority.as_str().contains('@')
        && authority.host().eq_ignore_ascii_case(host)
        && authority.port_u16().or(usual) == base.port_u16().or(usual)
}

/// Removes dot segments (RFC 3986, 5.2.4).
fn remove_dot_segments(path: &str) -> String {
    let mut output: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    output.pop();
                }
                if last {
                    output.push("");
                }
            }
            segment => output.push(segment),
        }
    }
    format!("/{}", output.join("/"))
}

/// Normalizes percent-encoding (RFC 3986, 6.2.2).
fn normalize_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3).filter(|two| two.bytes().all(|each| each.is_ascii_hexdigit()));
        let digits = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(byte) = digits else {
            out.push('%');
            rest = &rest[at + 1..];
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        rest = &rest[at + 3..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, rows: &[(&str, Result<&str, PageFault>)]) {
        let base: Uri = base.parse().unwrap();
        for (target, expect) in rows {
            let found = resolve_query(&base, target, LinkPolicy::SamePath);
            assert_eq!(found.as_deref(), expect.as_ref().map(|text| *text), "{target}");
        }
    }

    /// The examples in RFC 3986, 5.4 that keep the path are accepted.
    #[test]
    fn targets_of_the_same_list_are_followed() {
        check(
            "https://api.example/v1/a%2Fb/list?limit=2",
            &[
                ("https://api.example/v1/a%2Fb/list?page=2", Ok("page=2")),
                ("HTTPS://API.example:443/v1/a%2fb/list?page=2#end", Ok("page=2")),
                ("https://api.example/v1/a%2Fb/%6Cist", Ok("")),
                ("//api.example/v1/a%2Fb/list?x=a%20b", Ok("x=a%20b")),
                ("/v1/a%2Fb/list?page=2", Ok("page=2")),
                ("/v1/x/../a%2Fb/./list?page=2", Ok("page=2")),
                ("?page=2&q=/..//:", Ok("page=2&q=/..//:")),
                ("list?page=2", Ok("page=2")),
                ("./list?page=2", Ok("page=2")),
                ("", Ok("limit=2")),
                ("#x", Ok("limit=2")),
            ],
        );
        // `%+1` is not a percent-encoded byte.
        check(
            "https://api.example/%+1",
            &[("/%01?page=2", Err(PageFault::ForeignTarget)), ("/%+1?p", Ok("p"))],
        );
        check("http://h:8080/l", &[("http://h:8080/l?p", Ok("p")), ("//h:8080/l?p", Ok("p"))]);
    }

    #[test]
    fn foreign_targets_are_rejected() {
        let elsewhere = Err(PageFault::ForeignTarget);
        check(
            "https://api.example/v1/list",
            &[
                ("http://api.example/v1/list?page=2", elsewhere),
                ("https://api.example.evil/v1/list?page=2", elsewhere),
                ("https://api.example:8443/v1/list?page=2", elsewhere),
                ("https://me@api.example/v1/list?page=2", elsewhere),
                ("//other.example/v1/list?page=2", elsewhere),
                ("/v1/other?page=2", elsewhere),
                ("/v1/list/?page=2", elsewhere),
                ("/v1/a%2F../list?page=2", elsewhere),
                ("../list?page=2", elsewhere),
                ("https://api.example?page=2", elsewhere),
                ("other", elsewhere),
                ("mailto:a@b", Err(PageFault::InvalidLink)),
                ("https://a b/?page=2", Err(PageFault::InvalidLink)),
                ("?a b", Err(PageFault::InvalidLink)),
                ("?\u{e9}", Err(PageFault::InvalidLink)),
            ],
        );
    }

    /// If the policy allows it, targets with other paths and origins are accepted, but only their query is
    /// used.
    #[test]
    fn other_paths_and_origins_are_followed_if_allowed() {
        let base: Uri = "https://api.example/repos/me/it/issues".parse().unwrap();
        let found =
            resolve_query(&base, "https://api.example/repositories/7/issues?page=2", LinkPolicy::SameOrigin);
        assert_eq!(found.as_deref(), Ok("page=2"));
        let elsewhere = "http://inner.example/repositories/7/issues?page=2";
        assert_eq!(resolve_query(&base, elsewhere, LinkPolicy::SameOrigin), Err(PageFault::ForeignTarget));
        assert_eq!(resolve_query(&base, elsewhere, LinkPolicy::AnyOrigin).as_deref(), Ok("page=2"));
        assert_eq!(resolve_query(&base, "mailto:a@b", LinkPolicy::AnyOrigin), Err(PageFault::InvalidLink));
    }
}
