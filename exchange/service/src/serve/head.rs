//! Checks a request head before any handler runs, and determines whether the connection can be reused.
//!
//! The server reads somewhat more than the configured size, so that a head slightly above the limit gets a
//! problem document. If a head is larger, has more than a hundred headers, or has an ambiguous body length,
//! hyper itself responds with a bare `431` or `400` and closes the connection.

use exchange_api::error_responses::PlainCode;
use http::request::Parts;
use http::uri::Authority;
use http::{Version, header};

/// The number of bytes by which a head may exceed the limit and still get a problem document.
pub(super) const OVERSIZE_SLACK: usize = 16 << 10;

/// Returns the error code if the request head must be refused: it exceeds `limit` (LIM-23), or it does not
/// name exactly one host (RFC 9112, section 3.2).
pub(super) fn check_head(head: &Parts, limit: usize) -> Option<PlainCode> {
    // The size is that of `GET / HTTP/1.1`, and of `name: value` with CRLF for each header.
    let target = head.uri.path_and_query().map_or(1, |target| target.as_str().len());
    let line = head.method.as_str().len() + target + " HTTP/1.1\r\n".len() + 1;
    let headers: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if line + headers > limit {
        return Some(PlainCode::PayloadTooLarge);
    }
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let is_named = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(is_host),
        (None, _) => head.version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    (!is_named).then_some(PlainCode::SchemaInvalid)
}

/// Returns true if the value of `Host` is a host with an optional port (RFC 9110, section 7.2). An empty host is
/// only valid for a target without an authority, which this service does not have.
fn is_host(value: &str) -> bool {
    let authority = value.parse::<Authority>();
    // The parser accepts user information, which `Host` must not contain.
    authority.is_ok_and(|authority| {
        !authority.host().is_empty() && !value.contains('@') && has_valid_port(&authority)
    })
}

/// Returns true if the authority has no port, an empty one, or a number up to 65535.
fn has_valid_port(authority: &Authority) -> bool {
    let host = authority.host();
    match authority.as_str().strip_prefix(host) {
        Some("" | ":") => true,
        Some(_) => authority.port_u16().is_some(),
        None => false,
    }
}

/// Returns true if the connection must be closed after this request. For a chunked body, hyper does not
/// report whether the request also had a `Content-Length`, which a proxy may have used instead (RFC 9112,
/// section 6.1).
pub(super) fn must_close(head: &Parts) -> bool {
    head.headers.contains_key(header::TRANSFER_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: Version, headers: &[(&str, &str)], expect: Option<PlainCode>) {
        let mut request = http::Request::get("/a").version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(check_head(&head, 64), expect, "{headers:?}");
    }

    /// LIM-23: a head must fit into the limit and have exactly one `Host`; HTTP/1.0 clients may omit
    /// it.
    #[test]
    fn request_heads_are_checked() {
        let (new, old) = (Version::HTTP_11, Version::HTTP_10);
        check(new, &[("host", "x")], None);
        check(new, &[], Some(PlainCode::SchemaInvalid));
        check(old, &[], None);
        for version in [new, old] {
            check(version, &[("host", "x"), ("host", "x")], Some(PlainCode::SchemaInvalid));
        }
        for host in ["", "a/b", "a b", "u@a", "a:b", "a:99999", "a?b", "a#b", "[::1", "a,b/"] {
            check(new, &[("host", host)], Some(PlainCode::SchemaInvalid));
        }
        for host in ["x", "exchange.example:8080", "127.0.0.1", "[::1]:8080", "x:"] {
            check(new, &[("host", host)], None);
        }
        // The request line has 17 bytes and the host header 9, so 38 remain. Four of them are for colon,
        // space and CRLF.
        check(new, &[("host", "x"), ("x", &"y".repeat(33))], None);
        check(new, &[("host", "x"), ("x", &"y".repeat(34))], Some(PlainCode::PayloadTooLarge));
    }
}
