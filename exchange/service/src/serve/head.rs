//! What of a request's head is refused before any part of the exchange looks at it, and what may follow it.
//!
//! A little more than the configured size is read, so that a head that is too large is told so in a problem; of a
//! larger one, of more than a hundred headers, and of framing that two servers could read differently, hyper itself answers
//! a bare `431` or `400` and closes: it has no request to hand on then.

use exchange_api::refusals::PlainCode;
use http::request::Parts;
use http::{Version, header};

/// How much larger a head may be than allowed before nobody reads it.
pub(super) const SLACK: usize = 16 << 10;

/// Why this head goes no further: it is too large (LIM-23), or does not name one host (RFC 9112, 3.2).
pub(super) fn refusal(head: &Parts, most: usize) -> Option<PlainCode> {
    // `GET / HTTP/1.1`, then `name: value` and a line's end for each.
    let target = head.uri.path_and_query().map_or(1, |target| target.as_str().len());
    let line = head.method.as_str().len() + target + " HTTP/1.1\r\n".len() + 1;
    let headers: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if line + headers > most {
        return Some(PlainCode::PayloadTooLarge);
    }
    let hosts = head.headers.get_all(header::HOST).iter().count();
    let is_named = hosts == 1 || (hosts == 0 && head.version < Version::HTTP_11);
    (!is_named).then_some(PlainCode::SchemaInvalid)
}

/// Whether nothing behind this request is read on its connection. Of a body in chunks hyper does not say whether a
/// length was announced, too, which whoever stands in front may have gone by (RFC 9112, 6.1).
pub(super) fn is_last(head: &Parts) -> bool {
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
        assert_eq!(refusal(&head, 64), expect, "{headers:?}");
    }

    /// LIM-23, list H: `Host` once; older clients need none, and nobody two.
    #[test]
    fn what_no_part_looks_at() {
        let (new, old) = (Version::HTTP_11, Version::HTTP_10);
        check(new, &[("host", "x")], None);
        check(new, &[], Some(PlainCode::SchemaInvalid));
        check(old, &[], None);
        for version in [new, old] {
            check(version, &[("host", "x"), ("host", "x")], Some(PlainCode::SchemaInvalid));
        }
        // 17 for the line, 9 for the host, so 38 are left: four of them for the colon, the blank and the line's end.
        check(new, &[("host", "x"), ("x", &"y".repeat(33))], None);
        check(new, &[("host", "x"), ("x", &"y".repeat(34))], Some(PlainCode::PayloadTooLarge));
    }
}
