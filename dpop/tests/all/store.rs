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
async fn others_first() {
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
    TwoSteps,
    /// Each process has a separate store.
    NotShared,
    /// Proofs are identified only by `jti`.
    IdsOfAllKeys,
    /// Proofs are identified by key, `jti` and `iat`.
    IdsOfASecond,
    /// The comparison of ids ignores case.
    IdsWithoutCase,
    /// Proofs are remembered for half of the window's past.
    ShortMemory,
    /// The time is not checked.
    NoTime,
    /// Proofs count one second too long.
    ASecondLonger,
    /// All records are lost when the clock is set back.
    StepsBack,
    /// All records are lost when the window changes.
    ForgetsWithItsWindow,
    /// All holders share one limit.
    OneRoom,
    /// Each key has a separate limit.
    RoomByKey,
    /// A limit is reported before a replay.
    RoomFirst,
    /// The total limit is reported before the holder's limit.
    AllFirst,
    /// Proofs that were rejected for a limit are recorded.
    Trace,
    /// The reported wait ends at the last valid moment, not after it.
    ShortWait,
    /// Proofs are admitted while the store is unavailable.
    Open,
}

/// An in-memory cache with one injected fault.
struct FaultyStore {
    fault: Fault,
    window: ProofWindow,
    caps: ReplayLimits,
    live: Arc<Mutex<ReplayCache>>,
    /// The state that some faults need.
    own: Arc<Mutex<Own>>,
    reachable: bool,
}

#[derive(Default)]
struct Own {
    latest: UnixTime,
    refused: Vec<String>,
}

impl FaultyStore {
    fn ask(&self, proof: &ReplayCandidate<'_>, now: UnixTime) -> Result<(), ReplayError> {
        let mut live = self.live.lock().unwrap();
        let mut own = self.own.lock().unwrap();
        if !self.reachable {
            return if self.fault == Fault::Open { Ok(()) } else { Err(ReplayError::Unavailable) };
        }
        let jti = match self.fault {
            Fault::IdsWithoutCase => proof.jti.to_lowercase(),
            Fault::IdsOfASecond => format!("{}{}", proof.jti, proof.iat),
            _ => proof.jti.to_owned(),
        };
        let key = Thumbprint::from_bytes([0; 32]);
        let by_key = proof.key.to_string();
        let mut candidate = ReplayCandidate { jti: &jti, ..*proof };
        match self.fault {
            Fault::IdsOfAllKeys => candidate.key = &key,
            Fault::OneRoom => candidate.holder = ProofHolder::Account("everybody"),
            Fault::RoomByKey if matches!(proof.holder, ProofHolder::Source { .. }) => {
                candidate.holder = ProofHolder::Source { address: [192, 0, 2, 99].into(), client: &by_key };
            }
            Fault::StepsBack if now < own.latest => *live = ReplayCache::new(self.window, self.caps),
            Fault::Trace if own.refused.contains(&jti) => return Err(ReplayError::Replayed),
            Fault::NoTime => candidate.iat = now.as_secs(),
            Fault::RoomFirst if live.proof_count() >= self.caps.total => {
                return Err(ReplayError::Full { wait: Duration::from_secs(20) });
            }
            Fault::ASecondLonger => {
                let ProofWindow { past, future } = self.window;
                live.set_window(ProofWindow { past: past + Duration::from_secs(1), future });
            }
            _ => {}
        }
        own.latest = own.latest.max(now);
        let result = live.admit(&candidate, now);
        if matches!(result, Err(ReplayError::AccountFull { .. } | ReplayError::Full { .. })) {
            own.refused.push(jti.clone());
        }
        let short = |wait: Duration| wait.saturating_sub(Duration::from_nanos(1));
        match (self.fault, result) {
            (Fault::ShortWait, Err(ReplayError::AccountFull { wait })) => {
                Err(ReplayError::AccountFull { wait: short(wait) })
            }
            (Fault::ShortWait, Err(ReplayError::Full { wait })) => {
                Err(ReplayError::Full { wait: short(wait) })
            }
            (Fault::AllFirst, Err(ReplayError::AccountFull { wait }))
                if live.proof_count() >= self.caps.total =>
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
                others_first().await;
                let result = self.ask(proof, now);
                others_first().await;
                result
            }),
            Fault::TwoSteps => MaybeReady::boxed(async move {
                let jti = format!("{}{}", proof.key, proof.jti);
                let known = self.own.lock().unwrap().refused.contains(&jti);
                others_first().await;
                if known && now.saturating_since(UnixTime::from_secs(proof.iat)) <= self.window.past {
                    return Err(ReplayError::Replayed);
                }
                let unique = format!("{jti}{}", self.own.lock().unwrap().refused.len());
                let result = self.ask(&ReplayCandidate { jti: &unique, ..*proof }, now);
                self.own.lock().unwrap().refused.push(jti);
                result
            }),
            _ => MaybeReady::ready(self.ask(proof, now)),
        }
    }
}

/// A factory of stores with one fault.
struct FaultyStoreFactory(Fault);

impl FaultyStoreFactory {
    fn new_store(&self, window: ProofWindow, caps: ReplayLimits, reachable: bool) -> FaultyStore {
        let inner = match self.0 {
            Fault::ShortMemory => ProofWindow { past: window.past / 2, ..window },
            Fault::NoTime => ProofWindow::from_secs(1_000_000_000, 1_000_000_000),
            _ => window,
        };
        let live = Arc::new(Mutex::new(ReplayCache::new(inner, caps)));
        FaultyStore { fault: self.0, window, caps, live, own: Arc::default(), reachable }
    }
}

impl StoreFactory for FaultyStoreFactory {
    type Store = FaultyStore;

    async fn create_empty(&self, window: ProofWindow, caps: ReplayLimits) -> FaultyStore {
        self.new_store(window, caps, true)
    }

    async fn open_again(&self, store: &FaultyStore) -> FaultyStore {
        if self.0 == Fault::NotShared {
            return self.new_store(store.window, store.caps, true);
        }
        let (live, own) = (Arc::clone(&store.live), Arc::clone(&store.own));
        FaultyStore { live, own, ..*store }
    }

    async fn with_window(&self, store: FaultyStore, window: ProofWindow) -> FaultyStore {
        match self.0 {
            Fault::ForgetsWithItsWindow => self.new_store(window, store.caps, true),
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
        (Fault::TwoSteps, "concurrent identical proofs"),
        (Fault::NotShared, "concurrent identical proofs"),
        (Fault::IdsOfAllKeys, "another key"),
        (Fault::IdsOfASecond, "issued later"),
        (Fault::IdsWithoutCase, "in another case"),
        (Fault::ShortMemory, "as old as may be"),
        (Fault::NoTime, "older by a nanosecond"),
        (Fault::ASecondLonger, "older by a nanosecond"),
        (Fault::StepsBack, "a replay behind its back"),
        (Fault::ForgetsWithItsWindow, "over, and in the window again"),
        (Fault::OneRoom, "the source's"),
        (Fault::RoomByKey, "a key of its own for each, from one source"),
        (Fault::RoomFirst, "a replay where all is full"),
        (Fault::AllFirst, "the account before all"),
        (Fault::Trace, "refused five times, and now another's"),
        (Fault::ShortWait, "no room for one more"),
        (Fault::Open, "an unreachable store"),
    ];
    let mut wrong = Vec::new();
    for (fault, name) in faults {
        let broken = catch_unwind(AssertUnwindSafe(|| {
            block_on(contract::check_every_rule(&FaultyStoreFactory(fault)))
        }));
        let message = match &broken {
            Ok(()) => "is not caught",
            Err(message) => message.downcast_ref::<String>().map_or("", String::as_str),
        };
        if !message.contains(name) {
            wrong.push(format!("{fault:?}: {message}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
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
