//! Tests of the contract for replay stores: the in-memory cache satisfies it, and for each faulty store the
//! matching rule fails.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use dpop_bound::{
    MaybeReady, ProofHolder, ProofWindow, ReplayCache, ReplayStore, Thumbprint, UnixTime,
    replay::{
        AdmitFuture, ReplayCandidate, ReplayError, ReplayLimits,
        contract::{self, StoreFactory},
    },
};

/// Runs a future that may be pending.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// Yields to all other futures once.
async fn yield_once() {
    let mut waited = false;
    poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// A fault of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// No fault.
    None,
    /// No fault, but the response is delayed, as by a network.
    Slow,
    /// Lookup and record are not atomic.
    NotAtomic,
    /// Each process has a separate store.
    NotShared,
    /// Proofs are identified only by `jti`.
    IdsIgnoreKey,
    /// Proofs are identified by key, `jti` and `iat`.
    IdsIncludeTime,
    /// The comparison of ids ignores case.
    IdsIgnoreCase,
    /// Proofs are remembered for half of the window's past.
    EarlyExpiry,
    /// The time is not checked.
    TimeUnchecked,
    /// Proofs count one second too long.
    LateExpiry,
    /// All records are lost when the clock is set back.
    ForgetsOnClockStep,
    /// All records are lost when the window changes.
    ForgetsOnWindowChange,
    /// All holders share one limit.
    SharedLimit,
    /// Each key has a separate limit.
    LimitPerKey,
    /// A limit is reported before a replay.
    LimitBeforeReplay,
    /// The total limit is reported before the holder's limit.
    TotalLimitFirst,
    /// Proofs that were rejected for a limit are recorded.
    RecordsRejected,
    /// The reported wait ends at the last valid moment, not after it.
    ShortWait,
    /// Proofs are admitted while the store is unavailable.
    FailsOpen,
}

/// An in-memory cache with one injected fault.
struct FaultyStore {
    fault: Fault,
    window: ProofWindow,
    limits: ReplayLimits,
    live: Arc<Mutex<ReplayCache>>,
    /// The state that some faults need.
    state: Arc<Mutex<FaultState>>,
    reachable: bool,
}

#[derive(Default)]
struct FaultState {
    latest: UnixTime,
    rejected: Vec<String>,
}

impl FaultyStore {
    fn admit_with_fault(&self, proof: &ReplayCandidate<'_>, now: UnixTime) -> Result<(), ReplayError> {
        let mut live = self.live.lock().unwrap();
        let mut state = self.state.lock().unwrap();
        if !self.reachable {
            return if self.fault == Fault::FailsOpen { Ok(()) } else { Err(ReplayError::Unavailable) };
        }
        let jti = match self.fault {
            Fault::IdsIgnoreCase => proof.jti.to_lowercase(),
            Fault::IdsIncludeTime => format!("{}{}", proof.jti, proof.iat),
            _ => proof.jti.to_owned(),
        };
        let key = Thumbprint::from_bytes([0; 32]);
        let by_key = proof.key.to_string();
        let mut candidate = ReplayCandidate { jti: &jti, ..*proof };
        match self.fault {
            Fault::IdsIgnoreKey => candidate.key = &key,
            Fault::SharedLimit => candidate.holder = ProofHolder::Account("everybody"),
            Fault::LimitPerKey if matches!(proof.holder, ProofHolder::Source { .. }) => {
                candidate.holder = ProofHolder::Source { address: [192, 0, 2, 99].into(), client: &by_key };
            }
            Fault::ForgetsOnClockStep if now < state.latest => {
                *live = ReplayCache::new(self.window, self.limits)
            }
            Fault::RecordsRejected if state.rejected.contains(&jti) => return Err(ReplayError::Replayed),
            Fault::TimeUnchecked => candidate.iat = now.as_secs(),
            Fault::LimitBeforeReplay if live.proof_count() >= self.limits.total => {
                return Err(ReplayError::Full { wait: Duration::from_secs(20) });
            }
            Fault::LateExpiry => {
                let ProofWindow { past, future } = self.window;
                live.set_window(ProofWindow { past: past + Duration::from_secs(1), future });
            }
            _ => {}
        }
        state.latest = state.latest.max(now);
        let result = live.admit(&candidate, now);
        if matches!(result, Err(ReplayError::AccountFull { .. } | ReplayError::Full { .. })) {
            state.rejected.push(jti.clone());
        }
        let shortened = |wait: Duration| wait.saturating_sub(Duration::from_nanos(1));
        match (self.fault, result) {
            (Fault::ShortWait, Err(ReplayError::AccountFull { wait })) => {
                Err(ReplayError::AccountFull { wait: shortened(wait) })
            }
            (Fault::ShortWait, Err(ReplayError::Full { wait })) => {
                Err(ReplayError::Full { wait: shortened(wait) })
            }
            (Fault::TotalLimitFirst, Err(ReplayError::AccountFull { wait }))
                if live.proof_count() >= self.limits.total =>
            {
                Err(ReplayError::Full { wait })
            }
            (_, result) => result,
        }
    }
}

impl ReplayStore for FaultyStore {
    fn window(&self) -> ProofWindow {
        self.window
    }

    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a> {
        match self.fault {
            Fault::Slow => MaybeReady::boxed(async move {
                yield_once().await;
                let result = self.admit_with_fault(proof, now);
                yield_once().await;
                result
            }),
            Fault::NotAtomic => MaybeReady::boxed(async move {
                let jti = format!("{}{}", proof.key, proof.jti);
                let known = self.state.lock().unwrap().rejected.contains(&jti);
                yield_once().await;
                if known && now.saturating_since(UnixTime::from_secs(proof.iat)) <= self.window.past {
                    return Err(ReplayError::Replayed);
                }
                let unique = format!("{jti}{}", self.state.lock().unwrap().rejected.len());
                let result = self.admit_with_fault(&ReplayCandidate { jti: &unique, ..*proof }, now);
                self.state.lock().unwrap().rejected.push(jti);
                result
            }),
            _ => MaybeReady::ready(self.admit_with_fault(proof, now)),
        }
    }
}

/// A factory of stores with one fault.
struct FaultyStoreFactory(Fault);

impl FaultyStoreFactory {
    fn new_store(&self, window: ProofWindow, limits: ReplayLimits, reachable: bool) -> FaultyStore {
        let inner = match self.0 {
            Fault::EarlyExpiry => ProofWindow { past: window.past / 2, ..window },
            Fault::TimeUnchecked => ProofWindow::from_secs(1_000_000_000, 1_000_000_000),
            _ => window,
        };
        let live = Arc::new(Mutex::new(ReplayCache::new(inner, limits)));
        FaultyStore { fault: self.0, window, limits, live, state: Arc::default(), reachable }
    }
}

impl StoreFactory for FaultyStoreFactory {
    type Store = FaultyStore;

    async fn create_empty(&self, window: ProofWindow, limits: ReplayLimits) -> FaultyStore {
        self.new_store(window, limits, true)
    }

    async fn open_again(&self, store: &FaultyStore) -> FaultyStore {
        if self.0 == Fault::NotShared {
            return self.new_store(store.window, store.limits, true);
        }
        let (live, state) = (Arc::clone(&store.live), Arc::clone(&store.state));
        FaultyStore { live, state, ..*store }
    }

    async fn with_window(&self, store: FaultyStore, window: ProofWindow) -> FaultyStore {
        match self.0 {
            Fault::ForgetsOnWindowChange => self.new_store(window, store.limits, true),
            _ => {
                store.live.lock().unwrap().set_window(window);
                FaultyStore { window, ..store }
            }
        }
    }

    async fn create_unreachable(&self) -> Option<FaultyStore> {
        Some(self.new_store(ProofWindow::default(), ReplayLimits::default(), false))
    }
}

/// DPP-18, DPP-19, LIM-06, LIM-10: the in-memory store satisfies every rule, with immediate and with delayed
/// responses.
#[test]
fn memory_store_satisfies_the_contract() {
    block_on(contract::check_every_rule(&FaultyStoreFactory(Fault::None)));
    block_on(contract::check_every_rule(&FaultyStoreFactory(Fault::Slow)));
}

/// Each fault is detected by the matching rule.
#[test]
fn contract_detects_faulty_stores() {
    let faults = [
        (Fault::NotAtomic, "concurrent identical proofs"),
        (Fault::NotShared, "concurrent identical proofs"),
        (Fault::IdsIgnoreKey, "same id with another key"),
        (Fault::IdsIncludeTime, "same id, issued later"),
        (Fault::IdsIgnoreCase, "id in another case"),
        (Fault::EarlyExpiry, "at the maximum age"),
        (Fault::TimeUnchecked, "older by a nanosecond"),
        (Fault::LateExpiry, "older by a nanosecond"),
        (Fault::ForgetsOnClockStep, "replay after the other process removed the record"),
        (Fault::ForgetsOnWindowChange, "expired, and within the wider window"),
        (Fault::SharedLimit, "first proof of the source"),
        (Fault::LimitPerKey, "new key for each proof, from one source"),
        (Fault::LimitBeforeReplay, "replay while every limit is reached"),
        (Fault::TotalLimitFirst, "account limit before the total limit"),
        (Fault::RecordsRejected, "id that was rejected before, by another account"),
        (Fault::ShortWait, "account limit at the first process"),
        (Fault::FailsOpen, "unavailable store"),
    ];
    let mut failures = Vec::new();
    for (fault, name) in faults {
        let broken = catch_unwind(AssertUnwindSafe(|| {
            block_on(contract::check_every_rule(&FaultyStoreFactory(fault)))
        }));
        let message = match &broken {
            Ok(()) => "is not caught",
            Err(message) => message.downcast_ref::<String>().map_or("", String::as_str),
        };
        if !message.contains(name) {
            failures.push(format!("{fault:?}: {message}"));
        }
    }
    assert_eq!(failures, [""; 0]);
}

/// A poisoned lock makes the store unavailable, because its content may be inconsistent.
#[test]
fn poisoned_store_is_unavailable() {
    let window = ProofWindow::from_secs(25, 15);
    let store: Arc<dyn ReplayStore> = {
        let live = Arc::new(Mutex::new(ReplayCache::new(window, ReplayLimits::default())));
        let poison = Arc::clone(&live);
        let panicked = thread::spawn(move || {
            let _held = poison.lock();
            panic!("panic with the lock held");
        });
        assert!(panicked.join().is_err());
        live
    };
    let key = Thumbprint::from_bytes([1; 32]);
    let proof = ReplayCandidate { key: &key, jti: "a", holder: ProofHolder::Account("ada"), iat: 100 };
    assert_eq!(block_on(store.admit(&proof, UnixTime::from_secs(100))), Err(ReplayError::Unavailable));
    assert_eq!(store.window(), window);
}
