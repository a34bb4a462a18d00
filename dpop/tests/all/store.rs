//! The rules of stores, kept by the one in memory; and stores that break them, each caught by the rule that it
//! breaks.

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
    Holder, LiveProofs, Pending, ReplayStore, Thumbprint, UnixTime, Window,
    live::{
        Admission, Candidate, Caps, LiveRefusal,
        contract::{self, Stores},
    },
};

/// Runs what may wait.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// One turn of everybody else's.
async fn others_first() {
    let mut waited = false;
    poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// What can be wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing.
    None,
    /// It answers later, as a store over a network does.
    Slow,
    /// It looks first and records later.
    TwoSteps,
    /// Each process has its own.
    NotShared,
    /// It knows proofs by their `jti` alone.
    IdsOfAllKeys,
    /// It knows them by key, `jti` and `iat`.
    IdsOfASecond,
    /// It compares ids without case.
    IdsWithoutCase,
    /// It remembers for the length of some other window.
    ShortMemory,
    /// It takes whatever was checked before.
    NoTime,
    /// It counts one more second.
    ASecondLonger,
    /// It forgets all when the clock goes back.
    StepsBack,
    /// It starts anew with another window.
    ForgetsWithItsWindow,
    /// One cap for everybody.
    OneRoom,
    /// A new key has new room.
    RoomByKey,
    /// Full is said before replayed.
    RoomFirst,
    /// All is said before the holder.
    AllFirst,
    /// What is refused for room is remembered all the same.
    Trace,
    /// It says when the end is, not when it is over.
    ShortWait,
    /// It lets pass what it cannot know.
    Open,
}

/// A store with one fault: the one in memory, asked wrongly.
struct Faulty {
    fault: Fault,
    window: Window,
    caps: Caps,
    live: Arc<Mutex<LiveProofs>>,
    /// What it does wrong by itself.
    own: Arc<Mutex<Own>>,
    reachable: bool,
}

#[derive(Default)]
struct Own {
    latest: UnixTime,
    refused: Vec<String>,
}

impl Faulty {
    fn ask(&self, proof: &Candidate<'_>, now: UnixTime) -> Result<(), LiveRefusal> {
        let mut live = self.live.lock().unwrap();
        let mut own = self.own.lock().unwrap();
        if !self.reachable {
            return if self.fault == Fault::Open { Ok(()) } else { Err(LiveRefusal::Unavailable) };
        }
        let jti = match self.fault {
            Fault::IdsWithoutCase => proof.jti.to_lowercase(),
            Fault::IdsOfASecond => format!("{}{}", proof.jti, proof.iat),
            _ => proof.jti.to_owned(),
        };
        let key = Thumbprint::from_bytes([0; 32]);
        let by_key = proof.key.to_string();
        let mut asked = Candidate { jti: &jti, ..*proof };
        match self.fault {
            Fault::IdsOfAllKeys => asked.key = &key,
            Fault::OneRoom => asked.holder = Holder::Account("everybody"),
            Fault::RoomByKey if matches!(proof.holder, Holder::Source { .. }) => {
                asked.holder = Holder::Source { address: [192, 0, 2, 99].into(), client: &by_key };
            }
            Fault::StepsBack if now < own.latest => *live = LiveProofs::new(self.window, self.caps),
            Fault::Trace if own.refused.contains(&jti) => return Err(LiveRefusal::Replayed),
            Fault::NoTime => asked.iat = now.as_secs(),
            Fault::RoomFirst if live.live() >= self.caps.total => {
                return Err(LiveRefusal::Full { wait: Duration::from_secs(20) });
            }
            Fault::ASecondLonger => {
                let Window { past, future } = self.window;
                live.set_window(Window { past: past + Duration::from_secs(1), future });
            }
            _ => {}
        }
        own.latest = own.latest.max(now);
        let answer = live.admit(&asked, now);
        if matches!(answer, Err(LiveRefusal::AccountFull { .. } | LiveRefusal::Full { .. })) {
            own.refused.push(jti.clone());
        }
        let short = |wait: Duration| wait.saturating_sub(Duration::from_nanos(1));
        match (self.fault, answer) {
            (Fault::ShortWait, Err(LiveRefusal::AccountFull { wait })) => {
                Err(LiveRefusal::AccountFull { wait: short(wait) })
            }
            (Fault::ShortWait, Err(LiveRefusal::Full { wait })) => {
                Err(LiveRefusal::Full { wait: short(wait) })
            }
            (Fault::AllFirst, Err(LiveRefusal::AccountFull { wait })) if live.live() >= self.caps.total => {
                Err(LiveRefusal::Full { wait })
            }
            (_, answer) => answer,
        }
    }
}

impl ReplayStore for Faulty {
    fn window(&self) -> Window {
        self.window
    }

    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a> {
        match self.fault {
            Fault::Slow => Pending::later(async move {
                others_first().await;
                let answer = self.ask(proof, now);
                others_first().await;
                answer
            }),
            Fault::TwoSteps => Pending::later(async move {
                let jti = format!("{}{}", proof.key, proof.jti);
                let known = self.own.lock().unwrap().refused.contains(&jti);
                others_first().await;
                if known && now.saturating_since(UnixTime::from_secs(proof.iat)) <= self.window.past {
                    return Err(LiveRefusal::Replayed);
                }
                let unique = format!("{jti}{}", self.own.lock().unwrap().refused.len());
                let answer = self.ask(&Candidate { jti: &unique, ..*proof }, now);
                self.own.lock().unwrap().refused.push(jti);
                answer
            }),
            _ => Pending::ready(self.ask(proof, now)),
        }
    }
}

/// Makes stores with one fault.
struct Makes(Fault);

impl Makes {
    fn new_store(&self, window: Window, caps: Caps, reachable: bool) -> Faulty {
        let inner = match self.0 {
            Fault::ShortMemory => Window { past: window.past / 2, ..window },
            Fault::NoTime => Window::seconds(1_000_000_000, 1_000_000_000),
            _ => window,
        };
        let live = Arc::new(Mutex::new(LiveProofs::new(inner, caps)));
        Faulty { fault: self.0, window, caps, live, own: Arc::default(), reachable }
    }
}

impl Stores for Makes {
    type Store = Faulty;

    async fn empty(&self, window: Window, caps: Caps) -> Faulty {
        self.new_store(window, caps, true)
    }

    async fn another(&self, store: &Faulty) -> Faulty {
        if self.0 == Fault::NotShared {
            return self.new_store(store.window, store.caps, true);
        }
        let (live, own) = (Arc::clone(&store.live), Arc::clone(&store.own));
        Faulty { live, own, ..*store }
    }

    async fn with_window(&self, store: Faulty, window: Window) -> Faulty {
        match self.0 {
            Fault::ForgetsWithItsWindow => self.new_store(window, store.caps, true),
            _ => {
                store.live.lock().unwrap().set_window(window);
                Faulty { window, ..store }
            }
        }
    }

    async fn unreachable(&self) -> Option<Faulty> {
        Some(self.new_store(Window::default(), Caps::default(), false))
    }
}

/// DPP-18, DPP-19, LIM-06, LIM-10: the store in memory keeps every rule, at once and with a wait.
#[test]
fn the_store_in_memory_keeps_every_rule() {
    block_on(contract::every_rule(&Makes(Fault::None)));
    block_on(contract::every_rule(&Makes(Fault::Slow)));
}

/// Each fault is caught, by the rule that names it.
#[test]
fn a_store_that_breaks_a_rule_is_caught() {
    let faults = [
        (Fault::TwoSteps, "equal proofs at once"),
        (Fault::NotShared, "equal proofs at once"),
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
        (Fault::Open, "nobody answers"),
    ];
    let mut wrong = Vec::new();
    for (fault, name) in faults {
        let broken = catch_unwind(AssertUnwindSafe(|| block_on(contract::every_rule(&Makes(fault)))));
        let said = match &broken {
            Ok(()) => "is not caught",
            Err(said) => said.downcast_ref::<String>().map_or("", String::as_str),
        };
        if !said.contains(name) {
            wrong.push(format!("{fault:?}: {said}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// A lock that was poisoned refuses, since what is behind it may be half done.
#[test]
fn a_poisoned_store_refuses() {
    let window = Window::seconds(25, 15);
    let store: Arc<dyn ReplayStore> = {
        let live = Arc::new(Mutex::new(LiveProofs::new(window, Caps::default())));
        let poison = Arc::clone(&live);
        let panicked = thread::spawn(move || {
            let _held = poison.lock();
            panic!("with the lock held");
        });
        assert!(panicked.join().is_err());
        live
    };
    let key = Thumbprint::from_bytes([1; 32]);
    let proof = Candidate { key: &key, jti: "a", holder: Holder::Account("ada"), iat: 100 };
    assert_eq!(block_on(store.admit(&proof, UnixTime::from_secs(100))), Err(LiveRefusal::Unavailable));
    assert_eq!(store.window(), window);
}
