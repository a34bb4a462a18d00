//! Nonces that clients send and that servers issue.

use dpop_bound::{
    Nonce, NonceIssuer, NonceJar, UnixTime,
    nonce::{NonceKey, SavedNonces},
};

const NOW: UnixTime = UnixTime::from_secs(1_790_000_000);

/// Parses the bytes as the nonce of a proof, as the nonce of a header, and as a file of saved nonces.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let issuer = NonceIssuer::new(&NonceKey::from_bytes([7; 32]), "gateway");
    if issuer.check_nonce(Some(&text), NOW).is_ok() {
        let previous = UnixTime::from_secs(NOW.as_secs() - 300);
        let issued = [issuer.issue(NOW), issuer.issue(previous)];
        assert!(issued.iter().any(|nonce| nonce.as_str() == text), "{text}");
    }
    if let Ok(nonce) = Nonce::new(&text) {
        assert_eq!(nonce.as_str(), text);
    }
    let mut jar = NonceJar::default();
    let recorded = jar.record_nonces("https://gateway.example", [data], NOW).is_some();
    assert_eq!(recorded, std::str::from_utf8(data).is_ok_and(|text| Nonce::new(text).is_ok()));
    assert_eq!(jar.current_nonce("https://other.example"), None);
    if let Ok(saved) = serde_json::from_slice::<SavedNonces>(data) {
        jar.restore(saved, NOW);
        let again = jar.save();
        let mut other = NonceJar::default();
        other.restore(again.clone(), NOW);
        assert_eq!(other.save().nonces.len(), again.nonces.len());
    }
}
