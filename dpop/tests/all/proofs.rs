//! Creation of proofs: their claims, their exact bytes, and every error.

use std::{
    collections::HashSet,
    pin::pin,
    sync::Mutex,
    task::{Context, Poll, Waker},
};

use dpop_bound::{
    AccessToken, Es256, Htu, KeyPair, MaybeReady, Nonce, ProofRequest, ProofSigner, Prover, PublicKey,
    RandomSource, SyncSigner, SystemRandom, UnixTime,
    backend::p256,
    proof::ProveError,
    random::RandomError,
    signer::{SignError, SignFuture},
};
use serde_json::{Value, json};

use crate::{
    forge::{self, NOW, unbase64},
    gateway::{GatewayVerdict, verdict},
};

/// Returns the output of a future that is ready immediately.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future is pending"),
    }
}

/// A random source that returns 0, 1, 2, and so on.
#[derive(Default)]
struct CountingRandom(Mutex<u8>);

impl RandomSource for CountingRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        let mut next = self.0.lock().unwrap();
        for byte in bytes {
            *byte = *next;
            *next = next.wrapping_add(1);
        }
        Ok(())
    }
}

struct EmptyRandom;

impl RandomSource for EmptyRandom {
    fn fill(&self, _: &mut [u8]) -> Result<(), RandomError> {
        Err(RandomError)
    }
}

fn decoded(proof: &str) -> (Value, Value, Vec<u8>) {
    let parts: Vec<_> = proof.split('.').map(unbase64).collect();
    let json = |part: &[u8]| serde_json::from_slice(part).unwrap();
    (json(&parts[0]), json(&parts[1]), parts[2].clone())
}

fn request(htu: &Htu) -> ProofRequest<'_> {
    ProofRequest { method: "POST", htu, iat: UnixTime::from_secs(NOW), nonce: None, token: None }
}

/// DPP-01 to DPP-06: a proof contains header, claims and signature, at the token endpoint and at the API.
#[test]
fn proof_contains_header_claims_and_signature() {
    let htu = Htu::from_url("https://Gateway.example:443/exchange/v1?limit=1").unwrap();
    let prover = Prover::new(forge::client(), CountingRandom::default());
    let (header, claims, signature) = decoded(prover.prove_now(&request(&htu)).unwrap().as_str());
    let jwk: Value = prover.signer().public_key().to_jwk().parse().unwrap();
    assert_eq!(header, json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": jwk }));
    assert_eq!(
        claims,
        json!({ "jti": "AAECAwQFBgcICQoLDA0ODw", "htm": "POST", "htu": "https://gateway.example/exchange/v1", "iat": NOW })
    );
    assert_eq!(signature.len(), 64);

    let (nonce, token) = (Nonce::new("!#[]~").unwrap(), AccessToken::new(forge::TOKEN).unwrap());
    let iat = UnixTime::from_millis(NOW * 1000 + 999);
    let full = ProofRequest { nonce: Some(&nonce), token: Some(token.hash()), iat, ..request(&htu) };
    let (_, claims, _) = decoded(prover.prove_now(&full).unwrap().as_str());
    assert_eq!(
        claims,
        json!({
            "jti": "EBESExQVFhcYGRobHB0eHw",
            "htm": "POST",
            "htu": "https://gateway.example/exchange/v1",
            "iat": NOW,
            "ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo",
            "nonce": "!#[]~",
        })
    );
}

/// With a deterministic signature (RFC 6979) and known random numbers, a proof has exactly these bytes.
#[test]
fn a_proof_byte_for_byte() {
    let key = p256::KeyPair::from_pkcs8(&forge::client().to_pkcs8().unwrap()).unwrap();
    let htu = Htu::from_url("https://gateway.example/exchange/v1").unwrap();
    let proof = Prover::new(key, CountingRandom::default()).prove_now(&request(&htu)).unwrap();
    assert_eq!(proof.as_str(), include_str!("proof.txt").trim_end());
}

/// DPP-01, DPP-03: every proof has a new id of 128 random bits.
#[test]
fn proof_ids_are_unique() {
    let htu = Htu::from_url("https://gateway.example/").unwrap();
    let prover = Prover::new(forge::client(), SystemRandom);
    let ids: HashSet<Vec<u8>> = (0..200)
        .map(|_| {
            let (_, claims, _) = decoded(prover.prove_now(&request(&htu)).unwrap().as_str());
            unbase64(claims["jti"].as_str().unwrap())
        })
        .collect();
    assert!(ids.len() == 200 && ids.iter().all(|id| id.len() == 16));
}

/// The computed capacity of a proof equals its length.
#[test]
fn proof_capacity_is_exact() {
    let (nonce, token) = (Nonce::new("nonce").unwrap(), AccessToken::new(forge::TOKEN).unwrap());
    let prover = Prover::new(forge::client(), SystemRandom);
    for path in ["", "/a", "/ab", "/abc"] {
        let htu = Htu::from_url(&format!("https://gateway.example{path}")).unwrap();
        let full = ProofRequest { nonce: Some(&nonce), token: Some(token.hash()), ..request(&htu) };
        for request in [request(&htu), full] {
            let text = prover.prove_now(&request).unwrap().into_string();
            assert_eq!(text.capacity(), text.len());
        }
    }
}

/// DPP-01 to DPP-05, DPP-08: the gateway accepts the client's proofs.
#[test]
fn gateway_accepts_client_proofs() {
    let htu = Htu::from_url(&format!("{}{}?a=b", forge::ORIGIN, forge::PATH)).unwrap();
    let (nonce, token) =
        (forge::issuer().issue(UnixTime::from_secs(NOW)), AccessToken::new(forge::TOKEN).unwrap());
    let request = ProofRequest { nonce: Some(&nonce), token: Some(token.hash()), ..request(&htu) };
    let prover = Prover::new(forge::client(), SystemRandom);
    assert_eq!(verdict(prover.prove_now(&request).unwrap().into_string()), GatewayVerdict::Accepted);
    assert_eq!(verdict(now(prover.prove(&request)).unwrap().into_string()), GatewayVerdict::Accepted);
}

/// Changing any character of a proof invalidates it.
#[test]
fn no_character_can_be_changed() {
    let proof = forge::Draft::good().proof();
    for at in 0..proof.len() {
        for other in ["A", "Q", "-", "."] {
            let mut changed = proof.clone();
            changed.replace_range(at..=at, other);
            if changed != proof {
                let response = verdict(&changed);
                assert!(matches!(response, GatewayVerdict::Form(_)), "{at} {other}: {response:?}");
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 64, failure_persistence: None, ..Default::default()
    })]

    /// DPP-01, DPP-03 to DPP-05, DPP-08: a proof is accepted for its request, and for no request that differs
    /// in one property.
    #[test]
    fn proof_is_valid_for_one_request_only(
        method in "[A-Z!#$%&'*+.^_`|~-]{1,12}",
        host in "[a-zA-Z0-9.-]{1,20}",
        port in proptest::option::of(1u16..),
        path in "(/[a-zA-Z0-9._~!$&'()*+,;=:@%|^-]{0,12}){1,4}",
        query in "[a-z=&/?]{0,10}",
        nonce in "[!#-\\[\\]-~]{1,40}",
        token in "[A-Za-z0-9._~+/-]{1,60}={0,2}",
        seconds in 1_000_000u64..4_000_000_000,
        off in -30i64..=30,
    ) {
        use dpop_bound::{KeyBinding, ExpectedRequest, Origin, SignedProof, RequestTarget, TokenHash, ProofWindow};

        let authority = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let htu = Htu::from_url(&format!("https://{authority}{path}?{query}")).unwrap();
        let (nonce, token) = (Nonce::new(&nonce).unwrap(), AccessToken::new(token).unwrap());
        let iat = UnixTime::from_secs(seconds);
        let request = ProofRequest { method: &method, htu: &htu, iat, nonce: Some(&nonce), token: Some(token.hash()) };
        let key = forge::client();
        let bound = key.public_key().thumbprint();
        let proof = Prover::new(key, SystemRandom).prove_now(&request).unwrap();
        let signed = SignedProof::verify_signature(proof.as_str(), &Es256).unwrap();
        proptest::prop_assert_eq!(signed.nonce(), Some(nonce.as_str()));

        let origin = Origin::from_url(&format!("https://{authority}")).unwrap();
        let target = format!("{path}?{query}");
        let expected = ExpectedRequest {
            method: &method,
            target: RequestTarget::Request(&origin, &target),
            now: UnixTime::from_secs(seconds.strict_add_signed(off)),
            window: ProofWindow::from_secs(30, 30),
            binding: KeyBinding::Token { hash: token.hash(), jkt: Some(&bound) },
        };
        let check = |expected: ExpectedRequest<'_>| signed.clone().check_claims(&expected).err();
        let bound_to = |hash, jkt| ExpectedRequest { binding: KeyBinding::Token { hash, jkt }, ..expected };
        let (longer, other) = (format!("{method}X"), TokenHash::from_token("other"));
        let stranger = forge::key(2).public_key().thumbprint();
        let elsewhere = format!("{path}/?{query}");
        let later = UnixTime::from_secs(seconds + 31);
        let errors = [
            check(expected),
            check(ExpectedRequest { method: &longer, ..expected }),
            check(ExpectedRequest { target: RequestTarget::Request(&origin, &elsewhere), ..expected }),
            check(ExpectedRequest { now: later, ..expected }),
            check(bound_to(token.hash(), None)),
            check(bound_to(token.hash(), Some(&stranger))),
            check(bound_to(&other, Some(&bound))),
        ];
        use dpop_bound::claims::ClaimError::{Ath, Htm, Htu as Url, Key, NotBound, Old};
        let expect = [None, Some(Htm), Some(Url), Some(Old), Some(NotBound), Some(Key), Some(Ath)];
        proptest::prop_assert_eq!(errors, expect);
    }
}

/// A signer with a remote key, whose future is pending at first.
struct RemoteSigner<'a>(&'a KeyPair);

impl ProofSigner for RemoteSigner<'_> {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign<'a>(&'a self, message: &'a [u8]) -> SignFuture<'a> {
        MaybeReady::boxed(async move {
            let mut called = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut called, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            self.0.sign_now(message)
        })
    }
}

/// RFC 9449, 11.2: the signature of a platform's key store may be pending.
#[test]
fn remote_signer_may_be_pending() {
    let (key, htu) = (forge::client(), Htu::from_url("https://gateway.example/").unwrap());
    let prover = Prover::new(RemoteSigner(&key), SystemRandom);
    let request = request(&htu);
    let mut proof = pin!(prover.prove(&request));
    let mut context = Context::from_waker(Waker::noop());
    assert!(proof.as_mut().poll(&mut context).is_pending());
    let Poll::Ready(Ok(proof)) = proof.poll(&mut context) else {
        panic!("the future is ready when it is polled again")
    };
    assert!(dpop_bound::SignedProof::verify_signature(proof.as_str(), &Es256).is_ok());
}

/// A signer whose key cannot sign.
struct LostSigner(PublicKey);

impl ProofSigner for LostSigner {
    fn public_key(&self) -> &PublicKey {
        &self.0
    }

    fn sign<'a>(&'a self, _: &'a [u8]) -> SignFuture<'a> {
        MaybeReady::ready(Err(SignError::new("the key store is locked")))
    }
}

#[test]
fn failures_have_distinct_errors() {
    let (key, htu) = (forge::client(), Htu::from_url("https://gateway.example/").unwrap());
    let lost = Prover::new(LostSigner(key.public_key().clone()), SystemRandom);
    let error = now(lost.prove(&request(&htu))).unwrap_err();
    assert_eq!(error.to_string(), "signing failed: the key store is locked");
    let empty = Prover::new(&key, EmptyRandom).prove_now(&request(&htu));
    assert!(matches!(empty, Err(ProveError::Random(RandomError))));
    let prover = Prover::new(&key, SystemRandom);
    for method in ["", "GET ", "G\"ET", "G\\ET", "GET\n", "GÉT"] {
        let refused = prover.prove_now(&ProofRequest { method, ..request(&htu) });
        assert!(matches!(refused, Err(ProveError::Method)), "{method:?}");
    }
    assert!(prover.prove_now(&ProofRequest { method: "M-SEARCH", ..request(&htu) }).is_ok());
}

/// `Debug` output contains no proof, token, id or key.
#[test]
fn debug_output_contains_no_secrets() {
    let (key, htu) = (forge::client(), Htu::from_url("https://gateway.example/").unwrap());
    let prover = Prover::new(&key, SystemRandom);
    let proof = prover.prove_now(&request(&htu)).unwrap();
    let signed = dpop_bound::SignedProof::verify_signature(proof.as_str(), &Es256).unwrap();
    let jkt = key.public_key().thumbprint();
    assert_eq!(format!("{proof:?}"), format!("Proof({} bytes)", proof.as_str().len()));
    assert_eq!(format!("{signed:?}"), format!("SignedProof(Thumbprint({jkt}))"));
    assert_eq!(format!("{prover:?}"), format!("Prover(PublicKey({jkt}))"));
}
