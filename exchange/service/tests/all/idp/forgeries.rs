//! Tests of forged proofs at the token endpoint: a forged proof never affects the grant.

use exchange_service::config::ProofProfile;
use exchange_service::idp::{DEVICE_GRANT, REFRESH_GRANT};
use exchange_service::store::StoreError;

use super::harness::{Device, ProviderHarness, SCOPES, Tokens, config};
use crate::proofs::forgeries::{self, Forgery, Verdict};

/// Returns all stored connections.
async fn grants(harness: &ProviderHarness) -> Vec<String> {
    let work = |database: &rusqlite::Connection| {
        let sql = "SELECT id || hex(current_hash) || coalesce(hex(previous_hash), '') || used_at \
                   || coalesce(ended_at, '') FROM connection ORDER BY id";
        let mut rows = database.prepare(sql)?;
        let rows = rows.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok::<_, StoreError>(rows)
    };
    harness.store.read(work).await.unwrap()
}

/// The check that rejects proofs whose only fault is a forgery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RejectionPoint {
    /// The check of the format, before the nonce (DPP-16).
    AtOnce,
    /// The check of the claims, after the nonce, for some of the proofs (DPP-15).
    WithItsClaims,
}

/// Sends each proof in both profiles. All forged proofs cause the same error and leave the grant unchanged.
/// Proofs that only look forged are accepted.
async fn check(forgeries: fn() -> Vec<Forgery>, when: RejectionPoint) {
    for profile in [ProofProfile::Keycloak, ProofProfile::Rfc9449] {
        let harness = ProviderHarness::with_config(&config(profile)).await;
        let device = Device::new();
        // In the profile with nonces, every response contains one.
        let nonce = harness.refresh("x.y", &device).await.header("dpop-nonce").to_owned();
        let draft = || match &*nonce {
            "" => device.draft(harness.now()),
            nonce => device.draft(harness.now()).nonce(nonce),
        };
        let send = async |fields: [(&str, &str); 2], proof: String| {
            let fields = [&fields[..], &[("client_id", "tool")]].concat();
            harness.form("token", &fields, &[&proof]).await
        };
        let refresh = async |tokens: &Tokens, proof: String| {
            send([("grant_type", REFRESH_GRANT), ("refresh_token", &*tokens.refresh)], proof).await
        };
        let login = harness.begin(SCOPES).await;
        harness.browser().await.decide(&harness, &login, "approve").await.expect(200);
        let fields = [("grant_type", DEVICE_GRANT), ("device_code", &*login.device_code)];
        let mut tokens = Tokens::from_reply(&send(fields, draft().proof()).await);
        for Forgery { name, verdict, make } in forgeries() {
            if verdict == Verdict::Taken {
                tokens = Tokens::from_reply(&refresh(&tokens, make(&draft())).await);
                continue;
            }
            let before = grants(&harness).await;
            let bare = (when == RejectionPoint::AtOnce).then(|| device.draft(harness.now()));
            for draft in [Some(draft()), bare].into_iter().flatten() {
                let reply = refresh(&tokens, make(&draft)).await;
                assert_eq!(reply.status, 400, "{profile:?} {name}: {}", reply.body);
                // A proof outside of its window has the error of the profile (docs/decisions.md).
                let late = profile == ProofProfile::Keycloak && name == "iat of 2^63";
                reply.expect_error(400, if late { "invalid_request" } else { "invalid_dpop_proof" });
                assert_eq!(grants(&harness).await, before, "{profile:?} {name}: the grant is unchanged");
            }
        }
        Tokens::from_reply(&refresh(&tokens, draft().proof()).await);
    }
}

/// DPP-02, DPP-06, DPP-16, ERR-48, IDP-22; RFC 9449, 4.3 (2) to (7): malformed proofs do not affect the
/// grant.
#[tokio::test]
async fn malformed_proofs_do_not_reach_the_grant() {
    check(forgeries::form, RejectionPoint::AtOnce).await;
}

/// DPP-06, ERR-48, IDP-22: proofs with invalid signatures do not affect the grant.
#[tokio::test]
async fn invalid_signatures_do_not_reach_the_grant() {
    check(forgeries::signatures, RejectionPoint::AtOnce).await;
}

/// DPP-02, DPP-16, ERR-48, IDP-22; RFC 7518, 6.2.1: proofs with invalid keys do not affect the grant.
#[tokio::test]
async fn invalid_keys_do_not_reach_the_grant() {
    check(forgeries::keys, RejectionPoint::AtOnce).await;
}

/// ERR-48, IDP-22; RFC 7515, 2, 4 and 5.2: proofs with other encodings do not affect the grant.
#[tokio::test]
async fn alternative_encodings_do_not_reach_the_grant() {
    check(forgeries::spellings, RejectionPoint::AtOnce).await;
}

/// ERR-48, IDP-22, LIM-23; RFC 7515, 4.1; RFC 7797: header members that change the encoding, and oversized
/// proofs, do not affect the grant.
#[tokio::test]
async fn header_rules_and_sizes_do_not_reach_the_grant() {
    check(forgeries::rules_and_sizes, RejectionPoint::WithItsClaims).await;
}
