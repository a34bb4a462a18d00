//! Replay and limits of the complete gateway. The tests of [`dpop_bound::replay`] cover waits and
//! memory use.

use std::{sync::Barrier, thread, time::Duration};

use dpop_bound::{
    ProofWindow, ReplayCache, UnixTime, VerificationError,
    claims::ClaimError::{Htm, NotBound, Old},
    nonce::{NonceError::Foreign, NonceIssuer, NonceKey},
    replay::{ReplayError, ReplayLimits},
    signed_proof::ProofFormatError::Signature,
};

use crate::{
    forge::{Draft, NOW, key},
    gateway::{CAPS, Gateway, GatewayVerdict, GatewayVerdict::*, Request, WINDOW},
};

const REPLAYED: GatewayVerdict = Live(ReplayError::Replayed);

fn numbered(number: usize) -> Request<'static> {
    Request::with_proof(Draft::good().claim("jti", format!("{number:0>16}")).proof())
}

fn gateway(per_account: usize, total: usize) -> Gateway {
    let gateway = Gateway::new();
    *gateway.live.lock().unwrap() = ReplayCache::new(WINDOW, ReplayLimits { per_account, total, ..CAPS });
    gateway
}

/// DPP-18: of identical proofs that arrive at the same time, only one is served.
#[test]
fn concurrent_replay_is_served_once() {
    let (gateway, start) = (Gateway::new(), Barrier::new(8));
    let request = numbered(1);
    let responses: Vec<GatewayVerdict> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    gateway.serve(&request, "ada")
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(responses.iter().filter(|response| **response == Accepted).count(), 1);
    assert_eq!(responses.iter().filter(|response| **response == REPLAYED).count(), 7);
}

/// Only id and key identify a proof: another signature, the other value of s or additional claims do not make
/// another proof.
#[test]
fn same_id_in_another_proof_is_a_replay() {
    let gateway = Gateway::new();
    let draft = Draft::good();
    let once = Request::with_proof(draft.proof());
    let serve = |proof: String| gateway.serve(&Request::with_proof(proof), "ada");
    assert_eq!(gateway.serve(&once, "ada"), Accepted);
    assert_eq!(serve(draft.proof()), REPLAYED);
    assert_eq!(serve(crate::proof_encoding::other_s(&draft.proof())), REPLAYED);
    assert_eq!(serve(Draft::good().claim("more", 1).proof()), REPLAYED);
    assert_eq!(serve(Draft::good().claim("iat", NOW - 1).proof()), REPLAYED);
    // A replay is also rejected for another account.
    assert_eq!(gateway.serve(&once, "bob"), REPLAYED);
}

/// An id belongs to a key: two clients with different keys may use the same id.
#[test]
fn equal_ids_of_two_keys_are_accepted() {
    let mut gateway = Gateway::new();
    assert_eq!(gateway.serve(&Request::with_proof(Draft::good().proof()), "ada"), Accepted);
    gateway.bound = Some(key(2).public_key().thumbprint());
    assert_eq!(
        gateway.serve(&Request::with_proof(Draft::good().signed_with(key(2)).proof()), "bob"),
        Accepted
    );
    assert_eq!(
        gateway.serve(&Request::with_proof(Draft::good().signed_with(key(2)).proof()), "bob"),
        REPLAYED
    );
}

/// DPP-18: a proof is a replay at every moment from its acceptance to the end of its window, and too old
/// afterwards.
#[test]
fn replay_is_rejected_at_every_moment() {
    for iat in [NOW - 30, NOW, NOW + 30] {
        let mut gateway = Gateway::new();
        let request = |gateway: &Gateway| {
            let nonce = gateway.issuer.issue(gateway.now);
            Request::with_proof(Draft::good().claim("iat", iat).claim("nonce", nonce.as_str()).proof())
        };
        assert_eq!(gateway.serve(&request(&gateway), "ada"), Accepted);
        let end = UnixTime::from_secs(iat + 30);
        while gateway.now < end {
            gateway.now = gateway.now + Duration::from_millis(500);
            assert_eq!(gateway.serve(&request(&gateway), "ada"), REPLAYED, "{iat} {}", gateway.now);
        }
        gateway.now = end + Duration::from_millis(1);
        assert_eq!(gateway.serve(&request(&gateway), "ada"), Claim(Old), "{iat}");
    }
}

/// LIM-12: after a restart, the gateway has forgotten all proofs, but rejects their nonces, so that no proof
/// can be replayed.
#[test]
fn replay_after_a_restart() {
    let gateway = Gateway::new();
    let request = numbered(1);
    assert_eq!(gateway.serve(&request, "ada"), Accepted);
    let mut restarted = Gateway::new();
    restarted.issuer = NonceIssuer::new(&NonceKey::from_bytes([8; 32]), "gateway");
    assert_eq!(restarted.serve(&request, "ada"), Nonce(Foreign));
}

/// LIM-06, ERR-09: at a member's limit, the exact wait is reported, other members are not affected, and a
/// proof is admitted after the wait.
#[test]
fn member_limit() {
    let mut gateway = gateway(3, 100);
    for number in 0..3 {
        assert_eq!(gateway.serve(&numbered(number), "ada"), Accepted);
    }
    let wait = Duration::from_secs(30) + Duration::from_nanos(1);
    let full = ReplayError::AccountFull { wait };
    assert_eq!(gateway.serve(&numbered(3), "ada"), Live(full));
    assert_eq!(full.retry_after(), Some(31));
    assert_eq!(
        gateway.serve(&numbered(0), "ada"),
        REPLAYED,
        "a replay is reported as a replay even at the limit"
    );
    assert_eq!(gateway.serve(&numbered(4), "bob"), Accepted);
    gateway.now = UnixTime::from_secs(NOW + 31);
    let nonce = gateway.issuer.issue(gateway.now);
    let later = Draft::good().claim("iat", NOW + 31).claim("nonce", nonce.as_str());
    assert_eq!(gateway.serve(&Request::with_proof(later.proof()), "ada"), Accepted);
}

/// LIM-06, ERR-10: the limit for all members together is enforced.
#[test]
fn total_limit() {
    let gateway = gateway(3, 4);
    for (number, member) in ["ada", "bob", "ada", "bob"].into_iter().enumerate() {
        assert_eq!(gateway.serve(&numbered(number), member), Accepted);
    }
    let wait = Duration::from_secs(30) + Duration::from_nanos(1);
    assert_eq!(gateway.serve(&numbered(4), "eve"), Live(ReplayError::Full { wait }));
}

/// DPP-19: a proof that is rejected for its format, nonce, claims or a limit does not count against any
/// limit.
#[test]
fn rejected_proof_takes_no_capacity() {
    let gateway = gateway(2, 100);
    let good = Draft::good;
    let one = |draft: Draft| {
        gateway.serve(&Request::with_proof(draft.claim("jti", "refused-refused-").proof()), "ada")
    };
    assert_eq!(one(good().signed_by(key(2))), Form(Signature));
    assert_eq!(one(good().claim("nonce", "stale")), Nonce(Foreign));
    assert_eq!(one(good().claim("htm", "GET")), Claim(Htm));
    assert_eq!(gateway.live.lock().unwrap().proof_count(), 0);
    assert_eq!(gateway.serve(&numbered(0), "ada"), Accepted);
    assert_eq!(gateway.serve(&numbered(1), "ada"), Accepted);
    assert!(matches!(one(good()), Live(ReplayError::AccountFull { .. })));
    assert_eq!(gateway.live.lock().unwrap().proof_count(), 2);
    // The id was not recorded, so a request of another member may use it.
    assert_eq!(
        gateway.serve(&Request::with_proof(good().claim("jti", "refused-refused-").proof()), "bob"),
        Accepted
    );
}

/// ERR-06: a token that is bound to no key is rejected like a bearer token, with any proof, and nothing is
/// recorded.
#[test]
fn unbound_token() {
    let mut gateway = Gateway::new();
    gateway.bound = None;
    let request = Request::with_proof(Draft::good().proof());
    assert_eq!(gateway.serve(&request, "ada"), Claim(NotBound));
    assert_eq!(gateway.live.lock().unwrap().proof_count(), 0);
    assert!(VerificationError::from(NotBound).is_proof_required());
    // Errors in the request are reported first, as for a bound token.
    let elsewhere = Request { method: "GET", ..request };
    assert_eq!(gateway.serve(&elsewhere, "ada"), Claim(Htm));
}

/// LIM-10: the claims are checked with the window of the store.
#[test]
fn verification_uses_the_window_of_the_store() {
    let mut gateway = Gateway::new();
    gateway.live = std::sync::Mutex::new(ReplayCache::new(ProofWindow::from_secs(300, 0), CAPS));
    let old = Request::with_proof(Draft::good().claim("iat", NOW - 300).proof());
    assert_eq!(gateway.serve(&old, "ada"), Accepted);
    assert_eq!(gateway.serve(&old, "ada"), REPLAYED);
    gateway.live.lock().unwrap().set_window(WINDOW);
    assert_eq!(gateway.serve(&old, "ada"), Claim(Old));
}
