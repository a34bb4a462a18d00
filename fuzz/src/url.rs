//! Addresses that proofs are for.

use dpop_bound::{Htu, Origin, Target};

/// Reads the bytes as a URL; what comes of it has one spelling.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(htu) = Htu::of(&text) else { return };
    assert_eq!(Htu::of(htu.as_str()).as_ref(), Ok(&htu), "{htu}");
    assert!(!htu.as_str().contains(['?', '#', ' ', '\\']) && htu.as_str().is_ascii(), "{htu}");
    let origin = htu.origin();
    assert_eq!(Origin::of(origin.as_str()).as_ref(), Ok(&origin), "{origin}");
    let path = &htu.as_str()[origin.as_str().len()..];
    assert!(!path.contains('"'), "{htu}");
    assert!(path.starts_with('/') && Target::Request(&origin, path).is(htu.as_str()), "{htu}");
    assert!(Target::Request(&origin, &format!("{path}?a=b")).is(htu.as_str()), "{htu}");
}
