//! Checks a request head before any handler runs, and determines whether the connection can be reused.
//!
//! The server reads somewhat more than the configured size, so that a head slightly above the limit gets a
//! problem document. If a head is larger, has more than a hundred headers, or has an ambiguous body length,
//! hyper itself responds with a bare `431` or `400` and closes the connection.

use exchange_api::error_responses::PlainCode;
use http::request::Parts;
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
    let hosts = head.headers.get_all(header::HOST).iter().count();
    let is_named = hosts == 1 || (hosts == 0 && head.version < Version::HTTP_11);
    (!is_named).then_some(PlainCode::SchemaInvalid)
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
        // The request line has 17 bytes and the host header 9, so 38 remain. Four of them are for colon,
        // space and CRLF.
        check(new, &[("host", "x"), ("x", &"y".repeat(33))], None);
        check(new, &[("host", "x"), ("x", &"y".repeat(34))], Some(PlainCode::PayloadTooLarge));
    }
}
