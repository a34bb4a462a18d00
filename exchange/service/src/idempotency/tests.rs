//! Tests of the life cycle of claims, with a store in memory.

use std::time::Duration;

use bytes::Bytes;
use contract_runtime::server::{EncodedResponse, HeaderMap, StatusCode};

use super::*;
use crate::Caller;
use crate::caller::{KeyClaim, TokenScopes};
use crate::config::LimitsConfig;
use crate::ids::{ClientId, MemberId};
use crate::store::{Store, StoreError, StoreLocation, StoreOptions};
use crate::time::Moment;

const NOW: Moment = Moment::from_secs(1_790_000_000);

fn at_second(seconds: u64) -> Moment {
    NOW.plus(Duration::from_secs(seconds))
}

fn store() -> Store {
    Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap()
}

fn terms() -> KeyRetention {
    KeyRetention::from_config(&LimitsConfig::default())
}

fn response(status: u16, body: &str) -> EncodedResponse {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    EncodedResponse {
        status: StatusCode::from_u16(status).unwrap(),
        headers,
        body: Bytes::from(body.to_owned()),
    }
}

fn caller(member: &str, claim: &KeyClaim) -> Caller {
    Caller {
        member: MemberId::from(member),
        client: ClientId::from("c"),
        installation: None,
        jkt: String::new(),
        scopes: TokenScopes::default(),
        auth_time: NOW,
        correlation_id: String::new(),
        claim: Some(claim.clone()),
    }
}

/// Claims a key for a member and a request body, with a fencing token.
async fn ask(
    store: &Store,
    (member, key, body): (&str, &str, &str),
    fence: i64,
    now: Moment,
) -> ClaimOutcome {
    ask_within(store, (member, key, body), fence, now, terms()).await
}

async fn ask_within(
    store: &Store,
    (member, key, body): (&str, &str, &str),
    fence: i64,
    now: Moment,
    terms: KeyRetention,
) -> ClaimOutcome {
    let (member, key) = (MemberId::from(member), key.to_owned());
    let request = request_hash("blueprints_write", body.as_bytes());
    let claimed = store.write(move |connection| {
        let client = ClientId::from("c");
        let claim_request = ClaimRequest { client: &client, member: &member, key: &key, request, fence };
        claim_key(connection, &claim_request, &terms, now)
    });
    claimed.await.unwrap()
}

async fn claimed(store: &Store, key: &str, fence: i64, now: Moment) -> KeyClaim {
    match ask(store, ("m", key, "{}"), fence, now).await {
        ClaimOutcome::Claimed(claim) => claim,
        other => panic!("{other:?}"),
    }
}

async fn completed(store: &Store, claim: &KeyClaim, response: EncodedResponse, now: Moment) -> Completion {
    let caller = caller("m", claim);
    store.write(move |connection| complete_claim(connection, &caller, &response, now)).await.unwrap()
}

async fn stored_sizes(store: &Store) -> (i64, i64) {
    let read = store.read(|connection| {
        let sql = "SELECT coalesce((SELECT bytes FROM kept_bytes WHERE client = '' AND member = ''), 0), \
                   coalesce((SELECT sum(size) FROM idempotency), 0)";
        Ok::<_, StoreError>(connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
    });
    read.await.unwrap()
}

/// GW-10: a retry with the same key gets the first response, byte for byte.
#[tokio::test]
async fn retry_gets_the_first_response() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{}"), 2, NOW).await, ClaimOutcome::InProgress);
    let first = response(200, r#"{ "applied" : 1 }"#);
    assert_eq!(completed(&store, &claim, first.clone(), NOW).await, Completion::Stored);
    for seconds in [0, 3600, 86_399] {
        assert_eq!(
            ask(&store, ("m", "key-0001", "{}"), 3, at_second(seconds)).await,
            ClaimOutcome::Answered(first.clone())
        );
    }
}

/// GW-10, ERR-24: a key that was used for another body or operation is rejected, even while the first request
/// is running.
#[tokio::test]
async fn key_reused_for_another_request_is_rejected() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{ }"), 2, NOW).await, ClaimOutcome::Reused);
    completed(&store, &claim, response(200, "{}"), NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{ }"), 2, NOW).await, ClaimOutcome::Reused);
    assert_ne!(request_hash("a", b"bc"), request_hash("ab", b"c"));
}

/// GW-10: the same key of another member is a different key.
#[tokio::test]
async fn keys_are_per_member() {
    let store = store();
    claimed(&store, "key-0001", 1, NOW).await;
    assert!(matches!(ask(&store, ("n", "key-0001", "[]"), 2, NOW).await, ClaimOutcome::Claimed(_)));
}

/// GW-11: the key is free again after a response that is never stored.
#[tokio::test]
async fn transient_error_frees_the_key() {
    let store = store();
    for (index, response) in [
        response(403, r#"{"code":"NO_ROLE"}"#),
        response(409, r#"{"code":"MASS_CHANGE_CONFIRMATION_REQUIRED"}"#),
        response(500, "{}"),
        // LIM-22: this response is too large to be stored.
        response(200, &"x".repeat(32 << 10)),
    ]
    .into_iter()
    .enumerate()
    {
        let claim = claimed(&store, "key-0001", index as i64, NOW).await;
        assert_eq!(completed(&store, &claim, response, NOW).await, Completion::NotStored, "{index}");
    }
    assert_eq!(stored_sizes(&store).await, (0, 0));
}

/// LIM-22: a stored response expires after its window, and the key is then free.
#[tokio::test]
async fn responses_expire() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    completed(&store, &claim, response(200, "{}"), NOW).await;
    let found = ask(&store, ("m", "key-0001", "[1]"), 2, at_second(86_400)).await;
    assert!(matches!(found, ClaimOutcome::Claimed(_)), "{found:?}");
}

/// ERR-25, GW-10: if a process dies with its claim, a retry takes the claim over after the lease. The first
/// attempt then loses the claim, whatever its response is.
#[tokio::test]
async fn claim_taken_over_after_its_lease_is_lost() {
    let store = store();
    let first = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{}"), 2, at_second(59)).await, ClaimOutcome::InProgress);
    let second = claimed(&store, "key-0001", 2, at_second(60)).await;
    assert_eq!(completed(&store, &first, response(200, "late"), at_second(61)).await, Completion::Lost);
    let passing = response(429, r#"{"code":"RELAY_BUSY"}"#);
    assert_eq!(completed(&store, &first, passing, at_second(61)).await, Completion::Lost);
    assert_eq!(
        completed(&store, &second, response(200, "taken over"), at_second(62)).await,
        Completion::Stored
    );
    assert_eq!(completed(&store, &first, response(200, "late"), at_second(63)).await, Completion::Lost);
    let found = ask(&store, ("m", "key-0001", "{}"), 3, at_second(64)).await;
    assert_eq!(found, ClaimOutcome::Answered(response(200, "taken over")));
}

/// LIM-20: an abandoned claim occupies its bytes until its lease ends, not for the whole storage window. An
/// attempt whose expired claim was deleted loses the claim.
#[tokio::test]
async fn abandoned_claims_release_their_bytes() {
    let store = store();
    let terms =
        KeyRetention { max_answer_bytes: 1000, reserved_bytes: 1512, bytes_per_member: 4000, ..terms() };
    let ask =
        async |key: &str, seconds| ask_within(&store, ("m", key, "{}"), 1, at_second(seconds), terms).await;
    let ClaimOutcome::Claimed(abandoned) = ask("key-0000", 0).await else { panic!("there is room") };
    assert!(matches!(ask("key-0001", 30).await, ClaimOutcome::Claimed(_)));
    // The delay ends exactly when the lease of the first claim ends.
    assert_eq!(ask("key-0002", 30).await, ClaimOutcome::BudgetExhausted(Duration::from_secs(30)));
    assert_eq!(ask("key-0002", 59).await, ClaimOutcome::BudgetExhausted(Duration::from_secs(1)));
    assert!(matches!(ask("key-0002", 60).await, ClaimOutcome::Claimed(_)));
    assert_eq!(stored_sizes(&store).await, (3024, 3024));
    assert_eq!(completed(&store, &abandoned, response(200, "{}"), at_second(61)).await, Completion::Lost);
    // Without further requests, upkeep deletes the expired claims.
    let gone = store.write(move |connection| expire_keys(connection, &terms, at_second(120), 1));
    assert_eq!((gone.await.unwrap(), stored_sizes(&store).await), (1, (1512, 1512)));
    let gone = store.write(move |connection| expire_keys(connection, &terms, at_second(120), 9));
    assert_eq!((gone.await.unwrap(), stored_sizes(&store).await), (1, (0, 0)));
}

/// A slow attempt whose lease has expired can still complete its claim if no other attempt took it over.
#[tokio::test]
async fn expired_lease_without_takeover_completes() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(completed(&store, &claim, response(200, "{}"), at_second(600)).await, Completion::Stored);
}

/// LIM-20, ERR-35: claims reserve bytes, and responses replace the reservations. If the budget is exhausted,
/// the client gets the delay until enough bytes are released, at most an hour.
#[tokio::test]
async fn stored_bytes_are_bounded() {
    let store = store();
    let terms =
        KeyRetention { max_answer_bytes: 1000, reserved_bytes: 1512, bytes_per_member: 4000, ..terms() };
    let ask =
        async |key: &str, seconds| ask_within(&store, ("m", key, "{}"), 1, at_second(seconds), terms).await;
    let mut claims = Vec::new();
    for index in 0..2 {
        let ClaimOutcome::Claimed(claim) = ask(&format!("key-000{index}"), 0).await else {
            panic!("{index}")
        };
        claims.push(claim);
    }
    assert_eq!(stored_sizes(&store).await, (3024, 3024));
    // A running request occupies its bytes at most until its lease ends.
    assert_eq!(ask("key-0002", 0).await, ClaimOutcome::BudgetExhausted(Duration::from_secs(60)));
    for claim in &claims {
        assert_eq!(completed(&store, claim, response(200, "{}"), NOW).await, Completion::Stored);
    }
    let (total, rows) = stored_sizes(&store).await;
    assert_eq!(total, rows);
    assert!(total < 1200, "{total}");
    let ClaimOutcome::Claimed(claim) = ask("key-0002", 0).await else { panic!("there is room again") };
    assert_eq!(completed(&store, &claim, response(200, &"x".repeat(900)), NOW).await, Completion::Stored);
    assert_eq!(ask("key-0003", 0).await, ClaimOutcome::BudgetExhausted(Duration::from_secs(3600)));
    // Another member has a separate budget.
    let other = ask_within(&store, ("n", "key-0001", "{}"), 1, NOW, terms).await;
    assert!(matches!(other, ClaimOutcome::Claimed(_)));
    // Near the end of the window, the delay is exact.
    assert_eq!(ask("key-0003", 86_400 - 90).await, ClaimOutcome::BudgetExhausted(Duration::from_secs(90)));
    assert!(matches!(ask("key-0003", 86_400).await, ClaimOutcome::Claimed(_)));
}

/// A released claim leaves no row and no reserved bytes.
#[tokio::test]
async fn released_claim_leaves_nothing() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    let passing = response(429, r#"{"code":"RELAY_BUSY"}"#);
    assert_eq!(completed(&store, &claim, passing, NOW).await, Completion::NotStored);
    assert_eq!(stored_sizes(&store).await, (0, 0));
    let rows = store.read(|connection| {
        let sql = "SELECT count(*) FROM kept_bytes WHERE member <> ''";
        Ok::<i64, StoreError>(connection.query_row(sql, [], |row| row.get(0))?)
    });
    assert_eq!(rows.await.unwrap(), 0, "a member without stored responses has no row");
    assert!(matches!(ask(&store, ("m", "key-0001", "[]"), 2, NOW).await, ClaimOutcome::Claimed(_)));
}

#[tokio::test]
async fn keys_are_stored_as_hashes() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(claim.key_hash.len(), 64);
    assert!(!claim.key_hash.contains("key"));
}
