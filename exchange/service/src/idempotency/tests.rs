//! Claims, from the first to the last, over a store.

use std::time::Duration;

use bytes::Bytes;
use contract_runtime::server::{Answer, HeaderMap, StatusCode};

use super::*;
use crate::Caller;
use crate::caller::{Claim, TokenScopes};
use crate::config::Limits;
use crate::ids::{ClientId, MemberId};
use crate::store::{Options, Place, Store, StoreError};
use crate::time::Moment;

const NOW: Moment = Moment::from_secs(1_790_000_000);

fn after(seconds: u64) -> Moment {
    NOW.plus(Duration::from_secs(seconds))
}

fn store() -> Store {
    Store::open(&Options::new(Place::Memory)).unwrap()
}

fn terms() -> Terms {
    Terms::of(&Limits::default())
}

fn answer(status: u16, body: &str) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "application/json".parse().unwrap());
    Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: Bytes::from(body.to_owned()) }
}

fn caller(member: &str, claim: &Claim) -> Caller {
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

/// Whoever asks, for whom, with which body, under which number.
async fn ask(store: &Store, (member, key, body): (&str, &str, &str), fence: i64, now: Moment) -> Found {
    ask_within(store, (member, key, body), fence, now, terms()).await
}

async fn ask_within(
    store: &Store,
    (member, key, body): (&str, &str, &str),
    fence: i64,
    now: Moment,
    terms: Terms,
) -> Found {
    let (member, key) = (MemberId::from(member), key.to_owned());
    let request = request_hash("blueprints_write", body.as_bytes());
    let asked = store.write(move |connection| {
        let client = ClientId::from("c");
        let asked = Claiming { client: &client, member: &member, key: &key, request, fence };
        claim(connection, &asked, &terms, now)
    });
    asked.await.unwrap()
}

async fn claimed(store: &Store, key: &str, fence: i64, now: Moment) -> Claim {
    match ask(store, ("m", key, "{}"), fence, now).await {
        Found::Claimed(claim) => claim,
        other => panic!("{other:?}"),
    }
}

async fn completed(store: &Store, claim: &Claim, given: Answer, now: Moment) -> Completion {
    let caller = caller("m", claim);
    store.write(move |connection| complete(connection, &caller, &given, now)).await.unwrap()
}

async fn kept(store: &Store) -> (i64, i64) {
    let read = store.read(|connection| {
        let sql = "SELECT coalesce((SELECT bytes FROM kept_bytes WHERE client = '' AND member = ''), 0), \
                   coalesce((SELECT sum(size) FROM idempotency), 0)";
        Ok::<_, StoreError>(connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
    });
    read.await.unwrap()
}

/// GW-10: a retry under the same key gets the first answer, byte for byte.
#[tokio::test]
async fn the_first_answer_is_given_again() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{}"), 2, NOW).await, Found::InProgress);
    let first = answer(200, r#"{ "applied" : 1 }"#);
    assert_eq!(completed(&store, &claim, first.clone(), NOW).await, Completion::Stored);
    for seconds in [0, 3600, 86_399] {
        assert_eq!(
            ask(&store, ("m", "key-0001", "{}"), 3, after(seconds)).await,
            Found::Answered(first.clone())
        );
    }
}

/// GW-10, ERR-24: with another body or another route the key is another request's, also while that one runs.
#[tokio::test]
async fn a_key_stands_for_one_request() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{ }"), 2, NOW).await, Found::Reused);
    completed(&store, &claim, answer(200, "{}"), NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{ }"), 2, NOW).await, Found::Reused);
    assert_ne!(request_hash("a", b"bc"), request_hash("ab", b"c"));
}

/// GW-10: the same key of another member is another key.
#[tokio::test]
async fn keys_belong_to_members() {
    let store = store();
    claimed(&store, "key-0001", 1, NOW).await;
    assert!(matches!(ask(&store, ("n", "key-0001", "[]"), 2, NOW).await, Found::Claimed(_)));
}

/// GW-11: what is never kept leaves the key free.
#[tokio::test]
async fn a_refusal_that_passes_frees_the_key() {
    let store = store();
    for (at, given) in [
        answer(403, r#"{"code":"NO_ROLE"}"#),
        answer(409, r#"{"code":"MASS_CHANGE_CONFIRMATION_REQUIRED"}"#),
        answer(500, "{}"),
        // LIM-22: too large to be kept.
        answer(200, &"x".repeat(32 << 10)),
    ]
    .into_iter()
    .enumerate()
    {
        let claim = claimed(&store, "key-0001", at as i64, NOW).await;
        assert_eq!(completed(&store, &claim, given, NOW).await, Completion::NotStored, "{at}");
    }
    assert_eq!(kept(&store).await, (0, 0));
}

/// LIM-22: after its window an answer is forgotten, and the key is free.
#[tokio::test]
async fn answers_are_forgotten() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    completed(&store, &claim, answer(200, "{}"), NOW).await;
    let found = ask(&store, ("m", "key-0001", "[1]"), 2, after(86_400)).await;
    assert!(matches!(found, Found::Claimed(_)), "{found:?}");
}

/// ERR-25, GW-10: a process dies with its claim; when the lease is over a retry takes it over, and the first
/// attempt, late, loses, whatever it comes to.
#[tokio::test]
async fn a_claim_that_was_taken_over_is_lost() {
    let store = store();
    let first = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(ask(&store, ("m", "key-0001", "{}"), 2, after(59)).await, Found::InProgress);
    let second = claimed(&store, "key-0001", 2, after(60)).await;
    assert_eq!(completed(&store, &first, answer(200, "late"), after(61)).await, Completion::Lost);
    let passing = answer(429, r#"{"code":"RELAY_BUSY"}"#);
    assert_eq!(completed(&store, &first, passing, after(61)).await, Completion::Lost);
    assert_eq!(completed(&store, &second, answer(200, "taken over"), after(62)).await, Completion::Stored);
    assert_eq!(completed(&store, &first, answer(200, "late"), after(63)).await, Completion::Lost);
    let found = ask(&store, ("m", "key-0001", "{}"), 3, after(64)).await;
    assert_eq!(found, Found::Answered(answer(200, "taken over")));
}

/// LIM-20: a claim that nobody completes takes room for its lease, and not for the day that its answer would be kept;
/// who is overtaken by that loses.
#[tokio::test]
async fn claims_that_nobody_completes_leave_their_room() {
    let store = store();
    let terms = Terms { answer: 1000, reserve: 1512, of_member: 4000, ..terms() };
    let ask = async |key: &str, seconds| ask_within(&store, ("m", key, "{}"), 1, after(seconds), terms).await;
    let Found::Claimed(abandoned) = ask("key-0000", 0).await else { panic!("there is room") };
    assert!(matches!(ask("key-0001", 30).await, Found::Claimed(_)));
    // As long as the first of them holds, and no longer.
    assert_eq!(ask("key-0002", 30).await, Found::NoRoom(Duration::from_secs(30)));
    assert_eq!(ask("key-0002", 59).await, Found::NoRoom(Duration::from_secs(1)));
    assert!(matches!(ask("key-0002", 60).await, Found::Claimed(_)));
    assert_eq!(kept(&store).await, (3024, 3024));
    assert_eq!(completed(&store, &abandoned, answer(200, "{}"), after(61)).await, Completion::Lost);
    // With nobody asking, upkeep does it.
    let gone = store.write(move |connection| expire(connection, &terms, after(120), 1));
    assert_eq!((gone.await.unwrap(), kept(&store).await), (1, (1512, 1512)));
    let gone = store.write(move |connection| expire(connection, &terms, after(120), 9));
    assert_eq!((gone.await.unwrap(), kept(&store).await), (1, (0, 0)));
}

/// A slow attempt whose lease is over but whom nobody overtook still completes.
#[tokio::test]
async fn a_lease_that_nobody_took_over_still_counts() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(completed(&store, &claim, answer(200, "{}"), after(600)).await, Completion::Stored);
}

/// LIM-20, ERR-35: room is reserved by claims and settled by answers; without any the client is told how long
/// until enough is free again, at most an hour.
#[tokio::test]
async fn room_is_bounded() {
    let store = store();
    let terms = Terms { answer: 1000, reserve: 1512, of_member: 4000, ..terms() };
    let ask = async |key: &str, seconds| ask_within(&store, ("m", key, "{}"), 1, after(seconds), terms).await;
    let mut claims = Vec::new();
    for at in 0..2 {
        let Found::Claimed(claim) = ask(&format!("key-000{at}"), 0).await else { panic!("{at}") };
        claims.push(claim);
    }
    assert_eq!(kept(&store).await, (3024, 3024));
    // What is on its way takes no more room than its lease lasts.
    assert_eq!(ask("key-0002", 0).await, Found::NoRoom(Duration::from_secs(60)));
    for claim in &claims {
        assert_eq!(completed(&store, claim, answer(200, "{}"), NOW).await, Completion::Stored);
    }
    let (total, rows) = kept(&store).await;
    assert_eq!(total, rows);
    assert!(total < 1200, "{total}");
    let Found::Claimed(claim) = ask("key-0002", 0).await else { panic!("there is room again") };
    assert_eq!(completed(&store, &claim, answer(200, &"x".repeat(900)), NOW).await, Completion::Stored);
    assert_eq!(ask("key-0003", 0).await, Found::NoRoom(Duration::from_secs(3600)));
    // Another member has room of its own.
    let other = ask_within(&store, ("n", "key-0001", "{}"), 1, NOW, terms).await;
    assert!(matches!(other, Found::Claimed(_)));
    // Close to the end of the window the wait is exact.
    assert_eq!(ask("key-0003", 86_400 - 90).await, Found::NoRoom(Duration::from_secs(90)));
    assert!(matches!(ask("key-0003", 86_400).await, Found::Claimed(_)));
}

/// What is given back leaves nothing, and no bytes.
#[tokio::test]
async fn a_claim_is_given_back() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    let passing = answer(429, r#"{"code":"RELAY_BUSY"}"#);
    assert_eq!(completed(&store, &claim, passing, NOW).await, Completion::NotStored);
    assert_eq!(kept(&store).await, (0, 0));
    let rows = store.read(|connection| {
        let sql = "SELECT count(*) FROM kept_bytes WHERE member <> ''";
        Ok::<i64, StoreError>(connection.query_row(sql, [], |row| row.get(0))?)
    });
    assert_eq!(rows.await.unwrap(), 0, "no row of a member who keeps nothing");
    assert!(matches!(ask(&store, ("m", "key-0001", "[]"), 2, NOW).await, Found::Claimed(_)));
}

/// A key is stored nowhere.
#[tokio::test]
async fn keys_are_stored_as_hashes() {
    let store = store();
    let claim = claimed(&store, "key-0001", 1, NOW).await;
    assert_eq!(claim.key_hash.len(), 64);
    assert!(!claim.key_hash.contains("key"));
}
