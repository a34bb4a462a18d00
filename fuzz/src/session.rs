//! A client session with arbitrary server responses: every call ends, and a nonce is never sent to another
//! origin than the one that issued it.

use std::time::Duration;

use dpop_bound::{
    Htu, MaybeReady, PublicKey, Session, Signature, UnixTime,
    clock::ClockReading,
    random::{RandomError, RandomSource},
    session::{DpopRequest, NextStep, PrepareOutcome, ResponseHead, SavedSession},
    signer::{ProofSigner, SignError, SignFuture, SyncSigner},
};

/// A signer without cryptography. The signatures are never verified.
struct NullSigner(PublicKey);

impl ProofSigner for NullSigner {
    fn public_key(&self) -> &PublicKey {
        &self.0
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        MaybeReady::ready(self.sign_now(message))
    }
}

impl SyncSigner for NullSigner {
    fn sign_now(&self, _: &[u8]) -> Result<Signature, SignError> {
        Ok(Signature::from_bytes([7; 64]))
    }
}

struct ZeroRandom;

impl RandomSource for ZeroRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        bytes.fill(0);
        Ok(())
    }
}

/// The P-256 key of RFC 7517, A.1.
const KEY: &str = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#;

/// Runs a session. Two empty lines separate the responses; each has a status line, header lines, an empty
/// line, and a body. If the whole input is JSON, it is restored as the state that an earlier process saved.
pub fn run(data: &[u8]) {
    let session = Session::new(NullSigner(PublicKey::from_jwk(KEY).expect("the key is valid")), ZeroRandom);
    let reading = |seconds| ClockReading {
        wall: UnixTime::from_secs(1_790_000_000 + seconds),
        monotonic: Duration::from_secs(seconds),
    };
    if let Ok(saved) = serde_json::from_slice::<SavedSession>(data) {
        session.restore(saved, reading(0));
    }
    let text = String::from_utf8_lossy(data);
    let mut responses = text.split("\n\n\n").map(parse_response);
    let url = Htu::from_url("https://gateway.example/a").expect("the URL is valid");
    let mut call = DpopRequest::new("POST", url);
    let mut sent = 0;
    for seconds in 0.. {
        let Some((status, headers, body)) = responses.next() else { break };
        let Ok(PrepareOutcome::Send(transmission)) = session.prepare_now(&call, reading(seconds)) else {
            panic!("no other request is in flight");
        };
        sent += 1;
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        let response = ResponseHead::new(status, headers).with_body(body.as_bytes());
        match session.handle_response(&mut call, transmission, &response, reading(seconds)) {
            NextStep::Retry(_) => assert!(sent < 3, "a request was sent too often"),
            NextStep::Done | NextStep::GiveUp(_) => {
                call = DpopRequest::new("POST", call.htu().clone());
                sent = 0;
            }
        }
    }
    let other = DpopRequest::new("GET", Htu::from_url("https://other.invalid/").expect("the URL is valid"));
    let known =
        session.save(reading(99)).nonces.nonces.iter().any(|saved| saved.origin == "https://other.invalid");
    if let Ok(PrepareOutcome::Send(transmission)) = session.prepare_now(&other, reading(99)) {
        assert_eq!(transmission.nonce().is_some(), known);
    }
    let again = Session::new(NullSigner(PublicKey::from_jwk(KEY).expect("the key is valid")), ZeroRandom);
    again.restore(session.save(reading(99)), reading(99));
    assert!(again.save(reading(99)).nonces.nonces.len() <= 100);
}

/// Parses a response into its status, headers and body.
fn parse_response(text: &str) -> (u16, Vec<(&str, &str)>, &str) {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.trim().parse().ok()).unwrap_or(401);
    let headers = lines.filter_map(|line| line.split_once(':'));
    (status, headers.map(|(name, value)| (name, value.trim())).collect(), body)
}
