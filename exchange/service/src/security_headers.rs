//! The headers that protect every response in a browser.

use http::header::{CONTENT_SECURITY_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue};

/// The content security policy of responses that are not pages: a browser that displays one loads nothing and
/// does not frame it.
const CONTENT_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Makes browsers use TLS for a year (RFC 6797, section 6.1). Subdomains are excluded, because other services
/// may run there.
const HSTS_ONE_YEAR: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Adds the headers to a response that does not have them. `uses_tls` is true if browsers use TLS to reach the
/// service; otherwise, HSTS is omitted (RFC 6797, section 7.2).
pub(crate) fn add_security_headers(headers: &mut HeaderMap, uses_tls: bool) {
    headers.entry(X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(CONTENT_POLICY);
    if uses_tls {
        headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(HSTS_ONE_YEAR);
    }
}
