//! Determines the server of an operation, and checks that requests to it are encrypted.

use contract_codegen_core::load::uri;
use contract_runtime::client::resolve_address;
use http::Uri;

/// Returns the base URL of an operation. `own` is the server that the operation declares; one without a host is
/// resolved against `base`, the server of the document.
pub(super) fn operation_url(own: Option<&str>, base: Option<&str>) -> Option<String> {
    let base = base.filter(|url| uri::is_absolute(url));
    let url = match (own, base) {
        (Some(own), Some(base)) => resolve_address(base, own),
        (Some(own), None) => Some(own).filter(|url| uri::is_absolute(url))?.to_owned(),
        (None, base) => base?.to_owned(),
    };
    Some(url.trim_end_matches('/').to_owned())
}

/// Returns true if requests to a URL cannot be read by others: the URL is `https:`, or the host is this machine.
///
/// ```
/// use contract_codegen::mcp::is_protected;
///
/// assert!(is_protected(&"https://api.example.com/v1".parse()?));
/// assert!(is_protected(&"http://127.0.0.1:8080".parse()?));
/// assert!(!is_protected(&"http://api.example.com/v1".parse()?));
/// # Ok::<(), http::uri::InvalidUri>(())
/// ```
#[must_use]
pub fn is_protected(url: &Uri) -> bool {
    match (url.scheme_str(), url.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(host)) => uri::is_loopback(host),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic on failure")]
mod tests {
    use super::*;

    #[test]
    fn server_of_the_operation_replaces_that_of_the_document() {
        let base = Some("https://a.example/v1/");
        for (own, base, expected) in [
            (None, base, Some("https://a.example/v1")),
            (Some("https://b.example"), base, Some("https://b.example")),
            (Some("/v2"), base, Some("https://a.example/v2")),
            (Some("/v2"), Some("https://a.example"), Some("https://a.example/v2")),
            (Some("/v2"), Some("/v1"), None),
            (Some("https://b.example"), None, Some("https://b.example")),
            (None, Some("/v1"), None),
            (None, None, None),
        ] {
            assert_eq!(operation_url(own, base).as_deref(), expected, "{own:?} {base:?}");
        }
    }

    #[test]
    fn plain_http_is_protected_only_on_this_machine() {
        for (url, expected) in [
            ("https://a.example", true),
            ("http://localhost:1/x", true),
            ("http://LOCALHOST", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:80", true),
            ("http://localhost.example", false),
            ("http://10.0.0.1", false),
            ("http://0.0.0.0", false),
            ("ftp://localhost", false),
            ("/v1", false),
        ] {
            assert_eq!(is_protected(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
