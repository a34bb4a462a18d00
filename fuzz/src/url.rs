//! URLs of requests, which the `htu` claim of a proof contains.

use dpop_bound::{Htu, Origin, RequestTarget};

/// Parses the bytes as a URL and asserts that the result is in canonical form.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(htu) = Htu::from_url(&text) else { return };
    assert_eq!(Htu::from_url(htu.as_str()).as_ref(), Ok(&htu), "{htu}");
    assert!(!htu.as_str().contains(['?', '#', ' ', '\\']) && htu.as_str().is_ascii(), "{htu}");
    let origin = htu.origin();
    assert_eq!(Origin::from_url(origin.as_str()).as_ref(), Ok(&origin), "{origin}");
    let path = &htu.as_str()[origin.as_str().len()..];
    assert!(!path.contains('"'), "{htu}");
    assert!(path.starts_with('/') && RequestTarget::Request(&origin, path).matches(htu.as_str()), "{htu}");
    assert!(RequestTarget::Request(&origin, &format!("{path}?a=b")).matches(htu.as_str()), "{htu}");
}
