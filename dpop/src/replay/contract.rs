//! A test suite for implementations of [`ReplayStore`], for example one with a database or a cache server.
//!
//! Implement [`StoreFactory`] for your store and await [`check_every_rule`] in a test, or call each rule in a
//! separate test for more specific names. The suite passes all times as arguments, reads no clock and never
//! waits, so it covers years in a moment. A violated rule panics with the input, the expected and the actual
//! outcome.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use dpop_bound::{ReplayCache, ProofWindow, replay::{ReplayLimits, contract::{self, StoreFactory}}};
//!
//! struct InMemory;
//!
//! impl StoreFactory for InMemory {
//!     type Store = Arc<Mutex<ReplayCache>>;
//!
//!     async fn create_empty(&self, window: ProofWindow, limits: ReplayLimits) -> Self::Store {
//!         Arc::new(Mutex::new(ReplayCache::new(window, limits)))
//!     }
//!
//!     async fn open_again(&self, store: &Self::Store) -> Self::Store {
//!         Arc::clone(store)
//!     }
//!
//!     async fn with_window(&self, store: Self::Store, window: ProofWindow) -> Self::Store {
//!         store.lock().unwrap().set_window(window);
//!         store
//!     }
//! }
//!
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     let mut future = std::pin::pin!(future);
//! #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
//! #     loop {
//! #         if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) { return output }
//! #     }
//! # }
//! block_on(contract::check_every_rule(&InMemory));
//! ```

use std::{
    future::{poll_fn, ready},
    net::{IpAddr, Ipv4Addr},
    task::Poll,
    time::Duration,
};

use super::{ProofHolder, ReplayCandidate, ReplayError, ReplayLimits, ReplayStore};
use crate::{ProofWindow, Thumbprint, UnixTime};

/// A factory of the stores under test.
pub trait StoreFactory {
    /// The type of the store under test.
    type Store: ReplayStore;

    /// Creates an empty store that shares nothing with any other store of this factory.
    fn create_empty(&self, window: ProofWindow, limits: ReplayLimits) -> impl Future<Output = Self::Store>;

    /// Opens the same store again, as another process would.
    fn open_again(&self, store: &Self::Store) -> impl Future<Output = Self::Store>;

    /// Changes the window of a store and keeps its records.
    fn with_window(&self, store: Self::Store, window: ProofWindow) -> impl Future<Output = Self::Store>;

    /// Creates a store whose server is unavailable, or returns `None` if the store has no server.
    fn create_unreachable(&self) -> impl Future<Output = Option<Self::Store>> {
        ready(None)
    }
}

/// Checks all rules, one after another.
pub async fn check_every_rule(stores: &impl StoreFactory) {
    check_window_bounds(stores).await;
    check_replays_until_expiry(stores).await;
    check_concurrent_admissions(stores).await;
    check_shared_records(stores).await;
    check_ids_per_key(stores).await;
    check_rejection_order(stores).await;
    check_rejections_are_not_recorded(stores).await;
    check_limits_per_holder(stores).await;
    check_retry_after(stores).await;
    check_clock_set_back(stores).await;
    check_wider_window(stores).await;
    check_narrower_window(stores).await;
    check_unavailable_store(stores).await;
}

/// Windows of different shapes, the longest of them longer than the default expiry of caches.
const WINDOWS: [ProofWindow; 5] = [
    ProofWindow::from_secs(30, 30),
    ProofWindow::from_secs(25, 15),
    ProofWindow::from_secs(0, 0),
    ProofWindow::from_secs(300, 0),
    ProofWindow::from_secs(7200, 60),
];

/// Checks the validity of a proof to the nanosecond, both bounds included, for each window.
pub async fn check_window_bounds(stores: &impl StoreFactory) {
    for window in WINDOWS {
        let (past, future) = (to_seconds(window.past), to_seconds(window.future));
        let rows = [
            ("created now", 0, 0, ExpectedOutcome::Admitted),
            ("at the maximum age", -past, 0, ExpectedOutcome::Admitted),
            ("older by a nanosecond", -past, 1, ExpectedOutcome::Expired),
            ("older by a second", -past - 1, 0, ExpectedOutcome::Expired),
            ("at the maximum distance in the future", future, 0, ExpectedOutcome::Admitted),
            ("later by a nanosecond", future + 1, 1, ExpectedOutcome::Early),
            ("later by a second", future + 1, 0, ExpectedOutcome::Early),
        ];
        for (name, iat, nanos, expect) in rows {
            let store = stores.create_empty(window, UNREACHED_LIMITS).await;
            assert_eq!(store.window(), window, "the window of the new store");
            check_admission(
                &store,
                &format!("{name}, {window:?}"),
                account_proof("a", iat),
                seconds_after_start(0, nanos),
                expect,
            )
            .await;
        }
    }
}

/// Checks that a proof stays a replay for every second from its admission to its expiry, and is expired
/// afterwards.
pub async fn check_replays_until_expiry(stores: &impl StoreFactory) {
    for iat in [-30, -1, 0, 30] {
        let store = stores.create_empty(ProofWindow::from_secs(30, 30), UNREACHED_LIMITS).await;
        let replay = account_proof("replay", iat);
        check_admission(&store, "first use", replay, seconds_after_start(0, 0), ExpectedOutcome::Admitted)
            .await;
        for second in 0..=(iat + 30) {
            check_admission(
                &store,
                "second use",
                replay,
                seconds_after_start(second, 0),
                ExpectedOutcome::Replayed,
            )
            .await;
        }
        check_admission(
            &store,
            "after expiry",
            replay,
            seconds_after_start(iat + 30, 1),
            ExpectedOutcome::Expired,
        )
        .await;
        check_admission(
            &store,
            "long after expiry",
            replay,
            seconds_after_start(iat + 3600, 0),
            ExpectedOutcome::Expired,
        )
        .await;
    }
}

/// Checks that lookup and record are one atomic step; half of the requests use another process.
pub async fn check_concurrent_admissions(stores: &impl StoreFactory) {
    const CONCURRENT_CALLS: usize = 16;
    let one = stores.create_empty(ProofWindow::default(), UNREACHED_LIMITS).await;
    let other = stores.open_again(&one).await;
    let same = account_proof("concurrent", 0);
    let calls = (0..CONCURRENT_CALLS).map(|at| if at % 2 == 0 { &one } else { &other });
    let results = join_all(calls.map(|store| store.admit(&same, seconds_after_start(0, 0)))).await;
    let admitted = results.iter().filter(|result| result.is_ok()).count();
    let replayed = results.iter().filter(|result| **result == Err(ReplayError::Replayed)).count();
    assert_eq!((admitted, replayed), (1, CONCURRENT_CALLS - 1), "concurrent identical proofs: {results:?}");

    // The limits are also atomic: of several different proofs, exactly as many as the limit allows are
    // admitted.
    let limits = ReplayLimits { per_account: 5, ..UNREACHED_LIMITS };
    let one = stores.create_empty(ProofWindow::default(), limits).await;
    let other = stores.open_again(&one).await;
    let jtis: Vec<String> = (0..CONCURRENT_CALLS).map(|at| format!("concurrent {at}")).collect();
    let proofs: Vec<_> = jtis.iter().map(|jti| account_proof(jti, 0)).collect();
    let calls = proofs.iter().enumerate().map(|(at, proof)| (if at % 2 == 0 { &one } else { &other }, proof));
    let results = join_all(calls.map(|(store, proof)| store.admit(proof, seconds_after_start(0, 0)))).await;
    let admitted = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(admitted, 5, "concurrent different proofs, with a limit of five: {results:?}");
}

/// Checks that processes share their records, even if a process with a fast clock has removed one of them.
pub async fn check_shared_records(stores: &impl StoreFactory) {
    let one = stores
        .create_empty(ProofWindow::default(), ReplayLimits { per_account: 2, ..UNREACHED_LIMITS })
        .await;
    let other = stores.open_again(&one).await;
    check_admission(
        &one,
        "first process",
        account_proof("a", 0),
        seconds_after_start(0, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    check_admission(
        &other,
        "same proof at the second process",
        account_proof("a", 0),
        seconds_after_start(0, 0),
        ExpectedOutcome::Replayed,
    )
    .await;
    check_admission(
        &other,
        "next proof at the second process",
        account_proof("b", 0),
        seconds_after_start(0, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    check_admission(
        &one,
        "account limit at the first process",
        account_proof("c", 0),
        seconds_after_start(0, 0),
        ExpectedOutcome::AccountFull(31),
    )
    .await;
    check_admission(
        &other,
        "process with a fast clock",
        account_proof("d", 31),
        seconds_after_start(31, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    check_admission(
        &one,
        "replay after the other process removed the record",
        account_proof("a", 0),
        seconds_after_start(1, 0),
        ExpectedOutcome::Rejected,
    )
    .await;
}

/// Checks that the same `jti` with another key is another proof, and with the same key a replay.
pub async fn check_ids_per_key(stores: &impl StoreFactory) {
    let store = stores.create_empty(ProofWindow::default(), UNREACHED_LIMITS).await;
    let bob = ProofHolder::Account("bob");
    let rows = [
        ("first key", account_proof("a", 0), ExpectedOutcome::Admitted),
        (
            "same id with another key",
            ReplayCandidate { key: &OTHER, ..account_proof("a", 0) },
            ExpectedOutcome::Admitted,
        ),
        ("same id, issued later", account_proof("a", 1), ExpectedOutcome::Replayed),
        (
            "same proof of another account",
            ReplayCandidate { holder: bob, ..account_proof("a", 0) },
            ExpectedOutcome::Replayed,
        ),
        (
            "same proof of a source",
            ReplayCandidate { holder: source(1), ..account_proof("a", 0) },
            ExpectedOutcome::Replayed,
        ),
        ("id in another case", account_proof("A", 0), ExpectedOutcome::Admitted),
        ("id with one more character", account_proof("aa", 0), ExpectedOutcome::Admitted),
        ("id with punctuation", account_proof("a:b", 0), ExpectedOutcome::Admitted),
        ("id with other punctuation", account_proof("a b", 0), ExpectedOutcome::Admitted),
        ("id outside of ASCII", account_proof("ä", 0), ExpectedOutcome::Admitted),
        ("id outside of ASCII, decomposed", account_proof("a\u{308}", 0), ExpectedOutcome::Admitted),
    ];
    for (name, candidate, expect) in rows {
        check_admission(&store, name, candidate, seconds_after_start(0, 0), expect).await;
    }
}

/// Checks the order of rejections: time, replay, the holder's limit, the total limit.
pub async fn check_rejection_order(stores: &impl StoreFactory) {
    let limits = ReplayLimits { per_account: 1, per_source: 1, total: 2 };
    let store = stores.create_empty(ProofWindow::default(), limits).await;
    let from = |jti, iat| ReplayCandidate { holder: source(1), ..account_proof(jti, iat) };
    let bob = |jti, iat| ReplayCandidate { holder: ProofHolder::Account("bob"), ..account_proof(jti, iat) };
    let rows = [
        ("first proof of the account", account_proof("a", -10), ExpectedOutcome::Admitted),
        ("first proof of the source", from("b", 0), ExpectedOutcome::Admitted),
        ("replay while every limit is reached", account_proof("a", -10), ExpectedOutcome::Replayed),
        ("replay by another account while every limit is reached", bob("a", -10), ExpectedOutcome::Replayed),
        ("expired while every limit is reached", account_proof("c", -31), ExpectedOutcome::Expired),
        ("early while every limit is reached", account_proof("c", 31), ExpectedOutcome::Early),
        ("account limit before the total limit", account_proof("c", 0), ExpectedOutcome::AccountFull(21)),
        ("source limit before the total limit", from("d", 0), ExpectedOutcome::SourceFull(31)),
        ("total limit", bob("e", 0), ExpectedOutcome::Full(21)),
    ];
    for (name, candidate, expect) in rows {
        check_admission(&store, name, candidate, seconds_after_start(0, 0), expect).await;
    }
}

/// Checks that a rejected proof does not count against the limits and can be admitted later.
pub async fn check_rejections_are_not_recorded(stores: &impl StoreFactory) {
    let limits = ReplayLimits { per_account: 1, per_source: 1, total: 3 };
    let store = stores.create_empty(ProofWindow::default(), limits).await;
    let of = |account, jti, iat| ReplayCandidate {
        holder: ProofHolder::Account(account),
        ..account_proof(jti, iat)
    };
    let rows = [
        ("first use", account_proof("a", 0), ExpectedOutcome::Admitted),
        ("replay by another account", of("eve", "a", 0), ExpectedOutcome::Replayed),
        ("expired", of("eve", "b", -31), ExpectedOutcome::Expired),
        ("early", of("eve", "b", 31), ExpectedOutcome::Early),
        ("account limit", account_proof("b", 0), ExpectedOutcome::AccountFull(31)),
        ("id that was rejected before, by another account", of("bob", "b", 0), ExpectedOutcome::Admitted),
        ("first proof of an account with rejected proofs", of("eve", "c", 0), ExpectedOutcome::Admitted),
        ("total limit", of("dan", "d", 0), ExpectedOutcome::Full(31)),
    ];
    for (name, candidate, expect) in rows {
        check_admission(&store, name, candidate, seconds_after_start(0, 0), expect).await;
    }
    check_admission(
        &store,
        "rejected before, expired now",
        of("dan", "d", 0),
        seconds_after_start(30, 1),
        ExpectedOutcome::Expired,
    )
    .await;
    check_admission(
        &store,
        "same id in a new proof",
        of("dan", "d", 31),
        seconds_after_start(31, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
}

/// Checks that accounts and sources have separate limits, and that a new key is not a new holder.
pub async fn check_limits_per_holder(stores: &impl StoreFactory) {
    let limits = ReplayLimits { per_account: 2, per_source: 3, total: 100 };
    let store = stores.create_empty(ProofWindow::default(), limits).await;
    for at in 0..20_u8 {
        let (key, jti) = (Thumbprint::from_bytes([at + 10; 32]), format!("key {at}"));
        let by = |holder| ReplayCandidate { key: &key, holder, ..account_proof(&jti, 0) };
        let expect = if at < 3 { ExpectedOutcome::Admitted } else { ExpectedOutcome::SourceFull(31) };
        check_admission(
            &store,
            "new key for each proof, from one source",
            by(source(1)),
            seconds_after_start(0, 0),
            expect,
        )
        .await;
    }
    let rows = [
        ("another address", "a", source(2), ExpectedOutcome::Admitted),
        (
            "another client at the same address",
            "b",
            ProofHolder::Source { address: address(1), client: "other" },
            ExpectedOutcome::Admitted,
        ),
        ("account", "c", ProofHolder::Account("ada"), ExpectedOutcome::Admitted),
        ("account", "d", ProofHolder::Account("ada"), ExpectedOutcome::Admitted),
        ("account limit", "e", ProofHolder::Account("ada"), ExpectedOutcome::AccountFull(31)),
        ("account with a similar name", "e", ProofHolder::Account("ada "), ExpectedOutcome::Admitted),
        ("account name in another case", "f", ProofHolder::Account("Ada"), ExpectedOutcome::Admitted),
        (
            "account named like a source address",
            "g",
            ProofHolder::Account("192.0.2.1"),
            ExpectedOutcome::Admitted,
        ),
    ];
    for (name, jti, holder, expect) in rows {
        check_admission(
            &store,
            name,
            ReplayCandidate { holder, ..account_proof(jti, 0) },
            seconds_after_start(0, 0),
            expect,
        )
        .await;
    }
}

/// Checks that a proof is admitted after the time in `Retry-After`, when the oldest proof that counts against
/// the limit has expired, and that it is rejected before.
pub async fn check_retry_after(stores: &impl StoreFactory) {
    let rows = [
        ("created now", 0, 0, 31),
        ("created now, half a second later", 0, 500_000_000, 30),
        ("created in the future", 30, 0, 61),
        ("one second before expiry", -29, 0, 2),
        ("at expiry", -30, 0, 1),
    ];
    for (name, iat, nanos, wait) in rows {
        for (limits, full) in [
            (ReplayLimits { per_account: 1, ..UNREACHED_LIMITS }, ExpectedOutcome::AccountFull(wait)),
            (ReplayLimits { total: 1, ..UNREACHED_LIMITS }, ExpectedOutcome::Full(wait)),
        ] {
            let store = stores.create_empty(ProofWindow::default(), limits).await;
            let wait = wait.cast_signed();
            check_admission(
                &store,
                name,
                account_proof("counted", iat),
                seconds_after_start(0, 0),
                ExpectedOutcome::Admitted,
            )
            .await;
            check_admission(&store, name, account_proof("rejected", 0), seconds_after_start(0, nanos), full)
                .await;
            let next = account_proof("retried", iat + 30);
            let last = if full.is_account_limit() {
                ExpectedOutcome::AccountFull(1)
            } else {
                ExpectedOutcome::Full(1)
            };
            check_admission(
                &store,
                &format!("{name}, at expiry"),
                next,
                seconds_after_start(iat + 30, 0),
                last,
            )
            .await;
            let waited = account_proof("retried", wait);
            check_admission(
                &store,
                &format!("{name}, after the wait"),
                waited,
                seconds_after_start(wait, nanos),
                ExpectedOutcome::Admitted,
            )
            .await;
        }
    }
}

/// Checks that proofs whose records were removed while the clock was ahead are not admitted after the clock
/// is set back, and that they no longer count against the limits.
pub async fn check_clock_set_back(stores: &impl StoreFactory) {
    let day = 86_400;
    for ahead in [31, 61, 3600, 365 * day] {
        let store = stores
            .create_empty(ProofWindow::default(), ReplayLimits { per_account: 2, ..UNREACHED_LIMITS })
            .await;
        check_admission(
            &store,
            "before the clock is set back",
            account_proof("a", 0),
            seconds_after_start(0, 0),
            ExpectedOutcome::Admitted,
        )
        .await;
        check_admission(
            &store,
            "created in the future, before the clock is set back",
            account_proof("b", 20),
            seconds_after_start(0, 0),
            ExpectedOutcome::Admitted,
        )
        .await;
        let then = account_proof("c", ahead);
        check_admission(
            &store,
            "with a fast clock",
            then,
            seconds_after_start(ahead, 0),
            ExpectedOutcome::Admitted,
        )
        .await;
        for (name, jti, iat) in [
            ("replay after the clock is set back", "a", 0),
            ("replay of the future proof after the clock is set back", "b", 20),
        ] {
            check_admission(
                &store,
                name,
                account_proof(jti, iat),
                seconds_after_start(5, 0),
                ExpectedOutcome::Rejected,
            )
            .await;
        }
        check_admission(
            &store,
            "replay at the time of the fast clock",
            then,
            seconds_after_start(ahead, 0),
            ExpectedOutcome::Rejected,
        )
        .await;
        let (now, later) = (ahead + day, account_proof("e", ahead + day));
        check_admission(
            &store,
            "new proof a day later",
            later,
            seconds_after_start(now, 0),
            ExpectedOutcome::Admitted,
        )
        .await;
    }
}

/// Checks that proofs removed by a narrower window stay rejected in a wider one.
pub async fn check_wider_window(stores: &impl StoreFactory) {
    let store = stores.create_empty(ProofWindow::from_secs(30, 30), UNREACHED_LIMITS).await;
    check_admission(
        &store,
        "in the narrow window",
        account_proof("a", 0),
        seconds_after_start(0, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    check_admission(
        &store,
        "next proof in the narrow window",
        account_proof("b", 31),
        seconds_after_start(31, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    let store = stores.with_window(store, ProofWindow::from_secs(300, 60)).await;
    assert_eq!(store.window(), ProofWindow::from_secs(300, 60), "the changed window");
    for now in [31, 60, 300] {
        check_admission(
            &store,
            "expired, and within the wider window",
            account_proof("a", 0),
            seconds_after_start(now, 0),
            ExpectedOutcome::Rejected,
        )
        .await;
    }
    check_admission(
        &store,
        "recorded in the narrow window",
        account_proof("b", 31),
        seconds_after_start(331, 0),
        ExpectedOutcome::Replayed,
    )
    .await;
    check_admission(
        &store,
        "new proof in the wider window",
        account_proof("c", 60),
        seconds_after_start(331, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    check_admission(
        &store,
        "future proof in the wider window",
        account_proof("d", 391),
        seconds_after_start(331, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
}

/// Checks that a narrower window expires proofs at once, that these no longer count against the limits, and
/// that widening the window again admits none of them twice.
pub async fn check_narrower_window(stores: &impl StoreFactory) {
    let limits = ReplayLimits { per_account: 1, ..UNREACHED_LIMITS };
    let store = stores.create_empty(ProofWindow::from_secs(300, 30), limits).await;
    check_admission(
        &store,
        "in the wide window",
        account_proof("a", 0),
        seconds_after_start(0, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    let store = stores.with_window(store, ProofWindow::from_secs(30, 30)).await;
    check_admission(
        &store,
        "expired",
        account_proof("a", 0),
        seconds_after_start(31, 0),
        ExpectedOutcome::Expired,
    )
    .await;
    check_admission(
        &store,
        "new proof after the expiry",
        account_proof("b", 31),
        seconds_after_start(31, 0),
        ExpectedOutcome::Admitted,
    )
    .await;
    let store = stores.with_window(store, ProofWindow::from_secs(300, 30)).await;
    check_admission(
        &store,
        "replay in the wide window again",
        account_proof("a", 0),
        seconds_after_start(32, 0),
        ExpectedOutcome::Rejected,
    )
    .await;
}

/// Checks that an unavailable store rejects every proof.
pub async fn check_unavailable_store(stores: &impl StoreFactory) {
    let Some(store) = stores.create_unreachable().await else { return };
    for jti in ["a", "b", "a"] {
        check_admission(
            &store,
            "unavailable store",
            account_proof(jti, 0),
            seconds_after_start(0, 0),
            ExpectedOutcome::Unavailable,
        )
        .await;
    }
}

/// 2026-01-15T00:00:00Z.
const START_TIME: u64 = 1_768_435_200;
const KEY: Thumbprint = Thumbprint::from_bytes([1; 32]);
const OTHER: Thumbprint = Thumbprint::from_bytes([2; 32]);
/// Limits that no test reaches.
const UNREACHED_LIMITS: ReplayLimits = ReplayLimits { per_account: 1000, per_source: 1000, total: 1000 };

/// The outcome that a store has to return.
#[derive(Clone, Copy, Debug)]
enum ExpectedOutcome {
    Admitted,
    Expired,
    Early,
    Replayed,
    /// A rejection as a replay or as expired; both are correct.
    Rejected,
    /// A rejection with this number of seconds in `Retry-After`.
    AccountFull(u64),
    SourceFull(u64),
    Full(u64),
    Unavailable,
}

impl ExpectedOutcome {
    const fn is_account_limit(self) -> bool {
        matches!(self, Self::AccountFull(_))
    }

    /// Returns true if the result matches this outcome.
    fn matches(self, result: Result<(), ReplayError>) -> bool {
        let full = |seconds| move |error: ReplayError| error.retry_after() == Some(seconds);
        match (self, result) {
            (Self::Admitted, Ok(()))
            | (Self::Expired, Err(ReplayError::Expired))
            | (Self::Early, Err(ReplayError::TooFarAhead))
            | (Self::Replayed, Err(ReplayError::Replayed))
            | (Self::Rejected, Err(ReplayError::Replayed | ReplayError::Expired))
            | (Self::Unavailable, Err(ReplayError::Unavailable)) => true,
            (Self::AccountFull(seconds), Err(error @ ReplayError::AccountFull { .. }))
            | (Self::SourceFull(seconds), Err(error @ ReplayError::SourceFull { .. }))
            | (Self::Full(seconds), Err(error @ ReplayError::Full { .. })) => full(seconds)(error),
            _ => false,
        }
    }
}

async fn check_admission(
    store: &impl ReplayStore,
    name: &str,
    proof: ReplayCandidate<'_>,
    now: UnixTime,
    expect: ExpectedOutcome,
) {
    let result = store.admit(&proof, now).await;
    let description = match result {
        Ok(()) => "admitted".to_owned(),
        Err(error) => format!("rejected: {error} ({error:?})"),
    };
    let ReplayCandidate { jti, iat, .. } = proof;
    let (iat, now) = (i128::from(iat) - i128::from(START_TIME), now.since_epoch());
    let now = now.saturating_sub(Duration::from_secs(START_TIME));
    assert!(expect.matches(result), "{name}: `{jti}` of {iat} s at {now:?} is {description}, not {expect:?}");
}

/// Creates a proof of an account; `iat` is in seconds relative to `START_TIME`.
fn account_proof(jti: &str, iat: i64) -> ReplayCandidate<'_> {
    ReplayCandidate {
        key: &KEY,
        jti,
        holder: ProofHolder::Account("ada"),
        iat: START_TIME.saturating_add_signed(iat),
    }
}

fn seconds_after_start(seconds: i64, nanos: u64) -> UnixTime {
    UnixTime::from_secs(START_TIME.saturating_add_signed(seconds)) + Duration::from_nanos(nanos)
}

const fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
}

const fn source(last: u8) -> ProofHolder<'static> {
    ProofHolder::Source { address: address(last), client: "client" }
}

fn to_seconds(length: Duration) -> i64 {
    i64::try_from(length.as_secs()).unwrap_or(i64::MAX)
}

/// Polls all futures concurrently on the current task and returns their outputs.
async fn join_all<F: Future + Unpin>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<F> = futures.collect();
    let mut results: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = std::pin::Pin::new(future).poll(context)
            {
                *result = Some(ready);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
