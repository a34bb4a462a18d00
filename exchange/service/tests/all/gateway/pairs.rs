//! GW-01: tests every pair of stages, generated from the list of stages. A request that violates two stages
//! is rejected by the earlier one, with its code, its headers, and the effects that the list declares for it.

use std::pin::Pin;
use std::time::Duration;

use contract_runtime::operation::OperationLookup;
use dpop_bound::KeyPair;
use exchange_api::operations::TABLE;
use exchange_service::caller::{Caller, TokenScopes};
use exchange_service::gateway::stages::{EffectFrequency, STAGES};
use exchange_service::idempotency::{self, ClaimOutcome, ClaimRequest};
use exchange_service::idp::tokens::TokenError;
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::shared::rate::{RateBucket, RatePolicy};

use super::harness::{
    ADD, CLIENT, GatewayHarness, MEMBER, NOW, ORG_WRITE, PEER, RequestEffects, TOKEN, TestRequest, WRITE,
};
use super::hostile_requests::broken_body;
use super::stand_ins::fixture;

/// A valid request, to which violations are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// A write that counts once towards the quota.
    Write,
    /// A write whose ops count towards the quota, once they are known.
    OrgWrite,
    /// The same write as `OrgWrite`, with a stored response.
    Repeated,
    /// A read of a collection.
    Read,
}

const BASES: [Base; 4] = [Base::Write, Base::OrgWrite, Base::Repeated, Base::Read];

impl Base {
    async fn build_request(self, harness: &GatewayHarness) -> TestRequest {
        let note = r#"{"ops":[{"op":"note","unit":"u-1","entry":"e-1","version":1}]}"#;
        let request = match self {
            Self::Write => harness.post(WRITE, ADD),
            Self::OrgWrite | Self::Repeated => harness.post(ORG_WRITE, note),
            Self::Read => return harness.get("/exchange/v1/me/blueprints"),
        };
        let request = request.header("Idempotency-Key", "key-0001");
        if self == Self::Repeated {
            store_response(harness, &request).await;
        }
        request
    }

    /// Returns the requests to which a violation applies: its own list, or that of its stage.
    fn named(named: &'static [Self], stage: usize) -> &'static [Self] {
        if named.is_empty() { Self::for_stage(stage) } else { named }
    }

    /// Returns the requests that can violate a stage, unless a violation lists others: a read has neither
    /// media type nor key, and a request with an invalid key or body cannot be replayed.
    fn for_stage(stage: usize) -> &'static [Self] {
        match stage {
            ..=11 => &BASES,
            12 => &[Self::Write, Self::OrgWrite, Self::Repeated],
            _ => &[Self::Write, Self::OrgWrite],
        }
    }
}

type ViolationFuture<'a> = Pin<Box<dyn Future<Output = TestRequest> + 'a>>;

/// A violation of a stage.
struct StageViolation {
    /// The index of the stage.
    stage: usize,
    name: &'static str,
    on: &'static [Base],
    code: &'static str,
    challenge: &'static str,
    nonce: bool,
    rate: bool,
    /// Whether the proof is recorded, whether an installation is created, and whether a write is counted.
    traces: (bool, bool, bool),
    commit: for<'a> fn(&'a GatewayHarness, TestRequest) -> ViolationFuture<'a>,
}

/// Builds a list of violations; the effects of each one are listed in brackets.
macro_rules! breaches {
    ($($stage:literal $name:literal $code:literal $challenge:literal [$($trace:ident)*] $(on [$($base:ident)*])? |$harness:pat_param, $asking:pat_param| $do:expr;)*) => {
        vec![$(StageViolation {
            stage: $stage - 1,
            name: $name,
            on: Base::named(&[$($(Base::$base),*)?], $stage),
            code: $code,
            challenge: $challenge,
            nonce: [$(stringify!($trace)),*].contains(&"nonce"),
            rate: [$(stringify!($trace)),*].contains(&"rate"),
            traces: (
                [$(stringify!($trace)),*].contains(&"proof"),
                [$(stringify!($trace)),*].contains(&"installation"),
                [$(stringify!($trace)),*].contains(&"write"),
            ),
            commit: |$harness, $asking| Box::pin(async move { $do }),
        }),*]
    };
}

fn breaches() -> Vec<StageViolation> {
    breaches! {
        1 "dot segments" "NOT_FOUND" "-" []
            |_, mut request| { request.target = "/exchange/v1/../v1/me".to_owned(); request };
        1 "TRACE" "NOT_FOUND" "-" [] |_, mut request| { request.method = "TRACE".to_owned(); request };
        1 "a parameter without a name" "SCHEMA_INVALID" "-" []
            |_, mut request| {
                request.target += if request.target.contains('?') { "&=1" } else { "?=1" };
                request
            };

        2 "the source asks too often" "RATE_LIMITED" "-" [] |harness, request| {
            let peer = exchange_service::peer::PeerAddr(PEER.parse().unwrap());
            harness.exhaust(RateBucket::for_peer(peer), RatePolicy::per_minute(120)).await;
            request
        };
        2 "a large body" "PAYLOAD_TOO_LARGE" "-" []
            |_, mut request| { request.body = vec![b'['; (2 << 20) + 1]; request };
        2 "a body that breaks off" "SCHEMA_INVALID" "-" []
            |_, mut request| { request.coming = Some(broken_body); request };
        2 "the source's limit cannot be asked" "SERVICE_UNAVAILABLE" "-" []
            |harness, request| { harness.rates.wholly_off(); request };

        3 "no token" "UNAUTHENTICATED" "" [nonce]
            |_, mut request| { request.authorization.clear(); request };
        3 "a token of nobody" "UNAUTHENTICATED" "invalid_token" [nonce] |_, request| request.token("nobodys");
        3 "Bearer" "DPOP_REQUIRED" "" [nonce]
            |_, mut request| { request.authorization = vec![format!("Bearer {TOKEN}")]; request };
        3 "no proof" "DPOP_REQUIRED" "" [nonce] |_, mut request| { request.proofs = Some(Vec::new()); request };
        3 "two proofs" "DPOP_INVALID" "invalid_dpop_proof" [nonce]
            |_, mut request| { request.proofs = Some(vec!["a.b.c".to_owned(); 2]); request };
        3 "the provider is down" "SERVICE_UNAVAILABLE" "-" [] |harness, request| {
            harness.refused_token("unknowable", TokenError::Unavailable);
            request.token("unknowable")
        };
        3 "too many newcomers" "SERVICE_UNAVAILABLE" "-" [] |harness, request| {
            harness.exhaust(RateBucket::Newcomers, RatePolicy::per_second(500)).await;
            request
        };
        3 "a signature of another" "DPOP_INVALID" "invalid_dpop_proof" [nonce] |_, request| {
            request.draft(|draft| draft.signed_by(KeyPair::generate().unwrap()))
        };
        3 "no nonce" "DPOP_INVALID" "use_dpop_nonce" [nonce]
            |_, request| request.draft(|draft| draft.without_claim("nonce"));
        3 "another method" "DPOP_INVALID" "invalid_dpop_proof" [nonce]
            |_, request| request.draft(|draft| draft.claim("htm", "DELETE"));
        3 "an unbound token" "DPOP_REQUIRED" "" [nonce] |harness, request| {
            harness.token("unbound", |claims| claims.jkt = None);
            request.token("unbound")
        };
        3 "a replay" "DPOP_INVALID" "invalid_dpop_proof" [nonce] |harness, request| {
            harness.fill(MEMBER, 1);
            request.draft(|draft| draft.claim("jti", format!("filled-{MEMBER}-{:08}", 0)))
        };
        3 "as many live proofs as a member may have" "DPOP_PROOF_LIMIT" "-" [nonce]
            |harness, request| { harness.fill(MEMBER, 600); request };
        3 "as many live proofs as there may be" "SERVICE_UNAVAILABLE" "-" [nonce] |harness, request| {
            for at in 0..2 { harness.fill(&format!("other-{at}"), 600); }
            request
        };
        3 "the live proofs cannot be asked" "SERVICE_UNAVAILABLE" "-" [nonce]
            |harness, request| { harness.live.off(); request };

        4 "another audience" "UNAUTHENTICATED" "invalid_token" [nonce proof] |harness, request| {
            harness.token(TOKEN, |claims| claims.audiences = ["other".to_owned()].into());
            request
        };

        5 "no such path" "NOT_FOUND" "-" [nonce proof] |_, mut request| {
            request.target = "/exchange/v1/nothing".to_owned();
            request.draft(|draft| draft.claim("htu", "https://gateway.example/exchange/v1/nothing"))
        };
        5 "no such method" "NOT_FOUND" "-" [nonce proof] |_, mut request| {
            request.method = "PUT".to_owned();
            request.draft(|draft| draft.claim("htm", "PUT"))
        };
        5 "HEAD where there is no GET" "NOT_FOUND" "-" [nonce proof] on [Write OrgWrite] |_, mut request| {
            request.method = "HEAD".to_owned();
            request.draft(|draft| draft.claim("htm", "HEAD"))
        };

        6 "the registry is down" "REGISTRY_UNAVAILABLE" "-" [nonce proof]
            |harness, request| { harness.registry.off(); request };
        6 "the exchange is off" "EXCHANGE_DISABLED" "-" [nonce proof]
            |harness, request| { harness.sql("UPDATE setting SET value = 'off'").await; request };
        6 "no such client" "CLIENT_NOT_ALLOWED" "-" [nonce proof] |harness, request| {
            harness.sql("DELETE FROM client_scope; DELETE FROM client").await;
            request
        };
        6 "suspended" "CLIENT_SUSPENDED" "-" [nonce proof]
            |harness, request| { harness.sql("UPDATE client SET state = 'suspended'").await; request };

        7 "the store is down" "SERVICE_UNAVAILABLE" "-" [nonce proof]
            |harness, request| { harness.installations.off(); request };
        7 "a disconnected key" "INSTALLATION_REVOKED" "invalid_token" [nonce proof] |harness, request| {
            let jkt = harness.key.public_key().thumbprint();
            harness.sql(&format!(
                "INSERT INTO installation (id, client, member, jkt, first_seen, last_seen, revoked_at) \
                 VALUES ('i', 'else', 'somebody', '{jkt}', 0, 0, 1)"
            )).await;
            request
        };

        8 "a disconnected client" "CLIENT_REVOKED" "invalid_token" [nonce proof] |harness, request| {
            let at = NOW.minus(Duration::from_secs(60)).as_millis();
            harness.sql(&format!("INSERT INTO client_revocation VALUES ('{CLIENT}', '{MEMBER}', {at})")).await;
            request
        };

        9 "a scope that was not granted" "SCOPE_MISSING" "-" [nonce proof installation] |harness, request| {
            harness.sql("DELETE FROM client_scope WHERE scope <> 'exchange.connect'").await;
            request
        };

        10 "an old client" "CLIENT_VERSION_UNSUPPORTED" "-" [nonce proof installation] |harness, request| {
            harness.sql("UPDATE client SET min_version = '2.0.0'").await;
            request.header("User-Agent", "Client/1.9.9")
        };
        10 "no version" "CLIENT_VERSION_UNSUPPORTED" "-" [nonce proof installation]
            |harness, request| { harness.sql("UPDATE client SET min_version = '2.0.0'").await; request };

        11 "the member's client asks too often" "RATE_LIMITED" "-" [nonce proof installation]
            |harness, request| {
                let bucket = RateBucket::Member(ClientId::from(CLIENT), MemberId::from(MEMBER));
                harness.exhaust(bucket, RatePolicy::per_minute(120)).await;
                request
            };
        11 "the client asks too often" "RATE_LIMITED" "-" [nonce proof installation] |harness, request| {
            harness.exhaust(RateBucket::Client(ClientId::from(CLIENT)), RatePolicy::per_minute(1200)).await;
            request
        };
        11 "the limits cannot be asked" "SERVICE_UNAVAILABLE" "-" [nonce proof installation]
            |harness, request| { harness.rates.off(); request };
        11 "the day's writes are used" "QUOTA_EXCEEDED" "-" [nonce proof installation rate] on [Write]
            |harness, request| { use_up_quota(harness).await; request };
        11 "writes cannot be counted" "SERVICE_UNAVAILABLE" "-" [nonce proof installation rate] on [Write]
            |harness, request| { harness.quota.off(); request };

        12 "no media type" "UNSUPPORTED_MEDIA_TYPE" "-" [nonce proof installation rate write]
            |_, request| request.without("Content-Type");
        12 "two media types" "UNSUPPORTED_MEDIA_TYPE" "-" [nonce proof installation rate write]
            |_, request| request.header("Content-Type", "application/json");
        12 "a packed body" "UNSUPPORTED_MEDIA_TYPE" "-" [nonce proof installation rate write]
            |_, request| request.header("Content-Encoding", "gzip");

        13 "no key" "IDEMPOTENCY_KEY_MISSING" "-" [nonce proof installation rate write]
            |_, request| request.without("Idempotency-Key");
        13 "a short key" "IDEMPOTENCY_KEY_MISSING" "-" [nonce proof installation rate write]
            |_, request| request.without("Idempotency-Key").header("Idempotency-Key", "short");
        13 "two keys" "IDEMPOTENCY_KEY_MISSING" "-" [nonce proof installation rate write]
            |_, request| request.header("Idempotency-Key", "key-0002");
        13 "no JSON" "SCHEMA_INVALID" "-" [nonce proof installation rate write]
            |_, mut request| { request.body = b"{".to_vec(); request };
        13 "the keys cannot be asked" "SERVICE_UNAVAILABLE" "-" [nonce proof installation rate write]
            |harness, request| { harness.keys.off(); request };
        13 "another request's key" "IDEMPOTENCY_KEY_REUSED" "-" [nonce proof installation rate write]
            |harness, request| { claim_key(harness, &request, b"other").await; request };
        13 "a key in use" "IDEMPOTENCY_IN_PROGRESS" "-" [nonce proof installation rate write]
            |harness, request| { claim_key(harness, &request, &request.body).await; request };
        13 "no room for an answer" "EXCHANGE_BUDGET_EXHAUSTED" "-" [nonce proof installation rate]
            |harness, request| {
                harness.sql(&format!("INSERT INTO kept_bytes VALUES ('{CLIENT}', '{MEMBER}', 1048576)")).await;
                request
            };
        13 "a repetition, and the day's writes are used" "QUOTA_EXCEEDED" "-"
            [nonce proof installation rate] on [Repeated]
            |harness, request| { use_up_quota(harness).await; request };
        13 "a repetition that cannot be counted" "SERVICE_UNAVAILABLE" "-"
            [nonce proof installation rate] on [Repeated]
            |harness, request| { harness.quota.off(); request };

        14 "no ops" "SCHEMA_INVALID" "-" [nonce proof installation rate write]
            |_, mut request| { request.body = br#"{"ops":[]}"#.to_vec(); request };
        14 "501 ops" "BATCH_TOO_LARGE" "-" [nonce proof installation rate write] on [Write] |_, mut request| {
            let ops = vec![r#"{"op":"add","ref":{"bt":"b"}}"#; 501].join(",");
            request.body = format!(r#"{{"ops":[{ops}]}}"#).into_bytes();
            request
        };
        14 "an undeclared member with a long name" "SCHEMA_INVALID" "-" [nonce proof installation rate write]
            |_, mut request| {
                let body = String::from_utf8(request.body).unwrap();
                request.body = body.replacen('{', &format!(r#"{{"{}":1,"#, "x".repeat(200)), 1).into_bytes();
                request
            };
        14 "a cursor twice" "CURSOR_EXPIRED" "-" [nonce proof installation rate] on [Read]
            |_, mut request| { request.target += "?cursor=a&cursor=b"; request };
        14 "more ops than the day has writes" "QUOTA_EXCEEDED" "-" [nonce proof installation rate] on [OrgWrite]
            |harness, request| { use_up_quota(harness).await; request };
        14 "ops that cannot be counted" "SERVICE_UNAVAILABLE" "-" [nonce proof installation rate] on [OrgWrite]
            |harness, request| { harness.quota.off(); request };
    }
}

/// Exhausts the daily quota.
async fn use_up_quota(harness: &GatewayHarness) {
    let day = NOW.utc_day();
    harness.sql(&format!("INSERT INTO write_quota VALUES ('{CLIENT}', '{MEMBER}', {day}, 500)")).await;
}

/// Claims the request's idempotency key for a body.
async fn claim_key(harness: &GatewayHarness, asking: &TestRequest, body: &[u8]) -> ClaimOutcome {
    let OperationLookup::Found(operation) = TABLE.find("POST", &asking.target) else {
        panic!("{} is not a write", asking.target);
    };
    let request = idempotency::request_hash(operation.id, body);
    let terms = idempotency::KeyRetention::from_config(&harness.config.limits);
    let done = harness.store.write(move |connection| {
        let (client, member) = (ClientId::from(CLIENT), MemberId::from(MEMBER));
        let key_request =
            ClaimRequest { client: &client, member: &member, key: "key-0001", request, fence: 1 };
        idempotency::claim_key(connection, &key_request, &terms, NOW)
    });
    done.await.unwrap()
}

/// Stores a response for the request.
async fn store_response(harness: &GatewayHarness, request: &TestRequest) {
    let ClaimOutcome::Claimed(claim) = claim_key(harness, request, &request.body).await else {
        panic!("the key is already claimed")
    };
    let caller = Caller {
        member: MemberId::from(MEMBER),
        client: ClientId::from(CLIENT),
        installation: None,
        jkt: String::new(),
        scopes: TokenScopes::default(),
        auth_time: NOW,
        correlation_id: "c-1".to_owned(),
        claim: Some(claim),
    };
    let response = fixture("org_stock_write");
    let stored = harness
        .store
        .write(move |connection| idempotency::complete_claim(connection, &caller, &response, NOW));
    assert_eq!(stored.await.unwrap(), idempotency::Completion::Stored);
}

async fn harness() -> GatewayHarness {
    GatewayHarness::with_config(|config| config.limits.live_proofs = 1200).await
}

/// Returns the requests to which all of these violations apply.
fn bases(breaches: &[&StageViolation]) -> Vec<Base> {
    let all_apply = |base: &Base| breaches.iter().all(|breach| breach.on.contains(base));
    BASES.into_iter().filter(all_apply).collect()
}

/// Checks the first request to which all of these violations apply. Returns false if there is no such
/// request.
async fn check(breaches: &[&StageViolation]) -> bool {
    let Some(base) = bases(breaches).first().copied() else { return false };
    check_on(base, breaches).await;
    true
}

/// Applies the violations to a request, the last one first, and checks the response and the effects.
async fn check_on(base: Base, breaches: &[&StageViolation]) {
    let harness = harness().await;
    let mut request = base.build_request(&harness).await;
    for breach in breaches.iter().rev() {
        request = (breach.commit)(&harness, request).await;
    }
    let first = breaches[0];
    let head = request.method == "HEAD";
    let before = harness.traces().await;
    let reply = harness.send(request).await;
    let after = harness.traces().await;
    let names: (Base, Vec<_>) = (base, breaches.iter().map(|breach| breach.name).collect());
    let stage = &STAGES[first.stage];
    if !head {
        assert_eq!(reply.code(), first.code, "{names:?}");
    }
    assert_eq!(reply.challenge(), first.challenge, "{names:?}");
    assert_eq!(reply.has("dpop-nonce"), first.nonce, "{names:?}");
    assert_eq!(reply.has("ratelimit"), first.rate, "{names:?}");
    assert_eq!(reply.has("ratelimit-policy"), first.rate, "{names:?}");
    let (proof, installation, write) = first.traces;
    let counts = base == Base::Write;
    let expected = RequestEffects {
        live: before.live + usize::from(proof),
        installations: before.installations + i64::from(installation),
        writes: before.writes + u32::from(write && counts),
        relayed: before.relayed,
        claims: after.claims,
    };
    assert_eq!(after, expected, "{names:?}");
    // The list of stages declares the same code and effects.
    assert!(stage.codes.iter().any(|code| code.as_str() == first.code), "{} {}", stage.name, first.code);
    for (actual, declared) in [
        (stage.effects.nonce, first.nonce),
        (stage.effects.rate, first.rate),
        (stage.effects.proof, proof),
        (stage.effects.installation, installation),
        (if counts { stage.effects.quota } else { EffectFrequency::Sometimes }, write),
    ] {
        assert!(
            actual == EffectFrequency::Sometimes || (actual == EffectFrequency::Always) == declared,
            "{}: {names:?}",
            stage.name
        );
    }
}

/// Requests without violations are accepted and have their effects.
#[tokio::test]
async fn unmodified_requests_pass() {
    for (base, writes, relayed, claims) in
        [(Base::Write, 1, 1, 1), (Base::OrgWrite, 1, 1, 1), (Base::Repeated, 1, 0, 1), (Base::Read, 0, 1, 0)]
    {
        let harness = harness().await;
        let request = base.build_request(&harness).await;
        let reply = harness.send(request).await;
        assert_eq!((reply.status, reply.challenge().as_str()), (200, "-"), "{base:?}: {}", reply.body);
        assert!(reply.has("dpop-nonce") && reply.has("ratelimit"));
        assert_eq!(reply.has("idempotency-replayed"), base == Base::Repeated);
        let traces = harness.traces().await;
        assert_eq!(traces, RequestEffects { live: 1, installations: 1, writes, relayed, claims }, "{base:?}");
    }
}

/// GW-01: every stage has violations, and each of its codes is caused by one of them.
#[test]
fn every_stage_and_code_has_a_violation() {
    assert_eq!(STAGES.len(), 14);
    let all = breaches();
    for (index, stage) in STAGES.iter().enumerate() {
        for code in stage.codes {
            let has_violation =
                all.iter().any(|breach| breach.stage == index && breach.code == code.as_str());
            assert!(has_violation, "{} {code}", stage.name);
        }
    }
}

/// Each single violation is rejected, on every request to which it applies.
#[tokio::test]
async fn every_violation_is_rejected() {
    for breach in &breaches() {
        assert!(!breach.on.is_empty(), "{}", breach.name);
        for base in breach.on {
            check_on(*base, &[breach]).await;
        }
    }
}

/// GW-01: in each of the 91 pairs of stages, every violation of the earlier stage determines the response.
#[tokio::test]
async fn earlier_of_two_violated_stages_responds() {
    let all = breaches();
    let mut pairs = 0;
    for (later, stage) in STAGES.iter().enumerate() {
        for earlier in 0..later {
            let second = all.iter().find(|breach| breach.stage == later).expect(stage.name);
            let mut checked = false;
            for first in all.iter().filter(|breach| breach.stage == earlier) {
                checked |= check(&[first, second]).await;
            }
            pairs += u32::from(checked);
        }
    }
    assert_eq!(pairs, 91);
}

/// GW-01: in each pair of stages, no violation of the later stage changes the response.
#[tokio::test]
async fn every_later_violation_is_ignored() {
    let all = breaches();
    let mut without = Vec::new();
    for second in &all {
        for earlier in 0..second.stage {
            let goes =
                |breach: &&StageViolation| breach.stage == earlier && !bases(&[*breach, second]).is_empty();
            match all.iter().find(goes) {
                Some(first) => assert!(check(&[first, second]).await),
                None => without.push((earlier, second.name)),
            }
        }
    }
    // These stages check only media type and key, which a read does not have.
    assert_eq!(without, [(11, "a cursor twice"), (12, "a cursor twice")]);
}

/// GW-01: a request that violates all stages is rejected by the first one, after its correction by the
/// second, and so on.
#[tokio::test]
async fn stages_are_checked_in_order() {
    let all = breaches();
    let one_of_each: Vec<&StageViolation> =
        (0..14).map(|stage| all.iter().find(|breach| breach.stage == stage).unwrap()).collect();
    for from in 0..14 {
        assert!(check(&one_of_each[from..]).await);
    }
}
