//! What every [`ReplayStore`] keeps, as tests: for whoever writes one over a database or a cache.
//!
//! Implement [`Stores`] for what makes yours, and await [`every_rule`] in a test; or one rule in each test of
//! your own, whose name then says what is broken. All time is given: `now` never comes from a clock, nothing
//! waits, and years of it pass in a moment. A rule that is broken panics and says what was asked, what was
//! expected and what came.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use dpop_bound::{LiveProofs, Window, live::{Caps, contract::{self, Stores}}};
//!
//! struct InMemory;
//!
//! impl Stores for InMemory {
//!     type Store = Arc<Mutex<LiveProofs>>;
//!
//!     async fn empty(&self, window: Window, caps: Caps) -> Self::Store {
//!         Arc::new(Mutex::new(LiveProofs::new(window, caps)))
//!     }
//!
//!     async fn another(&self, store: &Self::Store) -> Self::Store {
//!         Arc::clone(store)
//!     }
//!
//!     async fn with_window(&self, store: Self::Store, window: Window) -> Self::Store {
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
//! block_on(contract::every_rule(&InMemory));
//! ```

use std::{
    future::{poll_fn, ready},
    net::{IpAddr, Ipv4Addr},
    task::Poll,
    time::Duration,
};

use super::{Candidate, Caps, Holder, LiveRefusal, ReplayStore};
use crate::{Thumbprint, UnixTime, Window};

/// What makes the stores that are tested.
pub trait Stores {
    /// The store.
    type Store: ReplayStore;

    /// One that holds nothing, and shares nothing with any other that was made so.
    fn empty(&self, window: Window, caps: Caps) -> impl Future<Output = Self::Store>;

    /// The same store as another process has it.
    fn another(&self, store: &Self::Store) -> impl Future<Output = Self::Store>;

    /// The same store, with all that it holds, after its window was changed.
    fn with_window(&self, store: Self::Store, window: Window) -> impl Future<Output = Self::Store>;

    /// One that cannot be asked, its server being down; none where there is nothing to go down.
    fn unreachable(&self) -> impl Future<Output = Option<Self::Store>> {
        ready(None)
    }
}

/// All of them, one after another.
pub async fn every_rule(stores: &impl Stores) {
    a_proof_counts_in_the_window_and_no_longer(stores).await;
    a_replay_is_refused_for_as_long_as_it_counts(stores).await;
    one_of_many_at_once_is_admitted(stores).await;
    processes_share_what_they_know(stores).await;
    ids_belong_to_keys(stores).await;
    refusals_come_in_their_order(stores).await;
    what_is_refused_leaves_no_trace(stores).await;
    each_holder_has_room_of_its_own(stores).await;
    waiting_as_long_as_told_helps(stores).await;
    a_step_back_admits_nothing_twice(stores).await;
    a_wider_window_admits_nothing_twice(stores).await;
    a_narrower_window_counts_at_once(stores).await;
    what_cannot_be_asked_refuses(stores).await;
}

/// Windows of every shape, the longest of them longer than any cache keeps things by default.
const WINDOWS: [Window; 5] = [
    Window::seconds(30, 30),
    Window::seconds(25, 15),
    Window::seconds(0, 0),
    Window::seconds(300, 0),
    Window::seconds(7200, 60),
];

/// A proof's time, both bounds included, to the nanosecond; whatever the length of the window.
pub async fn a_proof_counts_in_the_window_and_no_longer(stores: &impl Stores) {
    for window in WINDOWS {
        let (past, future) = (secs(window.past), secs(window.future));
        let rows = [
            ("made now", 0, 0, Says::Admitted),
            ("as old as may be", -past, 0, Says::Admitted),
            ("older by a nanosecond", -past, 1, Says::Over),
            ("older by a second", -past - 1, 0, Says::Over),
            ("as far ahead as may be", future, 0, Says::Admitted),
            ("further ahead by a nanosecond", future + 1, 1, Says::Early),
            ("further ahead by a second", future + 1, 0, Says::Early),
        ];
        for (name, iat, nanos, expect) in rows {
            let store = stores.empty(window, ROOMY).await;
            assert_eq!(store.window(), window, "the window that it was made with");
            ask(&store, &format!("{name} of {window:?}"), proof("a", iat), after(0, nanos), expect).await;
        }
    }
}

/// At every second from its admission to its end; then it is over.
pub async fn a_replay_is_refused_for_as_long_as_it_counts(stores: &impl Stores) {
    for iat in [-30, -1, 0, 30] {
        let store = stores.empty(Window::seconds(30, 30), ROOMY).await;
        let replay = proof("replay", iat);
        ask(&store, "the first", replay, after(0, 0), Says::Admitted).await;
        for second in 0..=(iat + 30) {
            ask(&store, "the same again", replay, after(second, 0), Says::Replayed).await;
        }
        ask(&store, "after its end", replay, after(iat + 30, 1), Says::Over).await;
        ask(&store, "long after its end", replay, after(iat + 3600, 0), Says::Over).await;
    }
}

/// Look-up and record are one step: half of the requests come by another process.
pub async fn one_of_many_at_once_is_admitted(stores: &impl Stores) {
    const MANY: usize = 16;
    let one = stores.empty(Window::default(), ROOMY).await;
    let other = stores.another(&one).await;
    let same = proof("at once", 0);
    let asked = (0..MANY).map(|at| if at % 2 == 0 { &one } else { &other });
    let answers = together(asked.map(|store| store.admit(&same, after(0, 0)))).await;
    let admitted = answers.iter().filter(|answer| answer.is_ok()).count();
    let replayed = answers.iter().filter(|answer| **answer == Err(LiveRefusal::Replayed)).count();
    assert_eq!((admitted, replayed), (1, MANY - 1), "equal proofs at once: {answers:?}");

    // And so are the caps: of as many different proofs as many as there is room for.
    let caps = Caps { per_account: 5, ..ROOMY };
    let one = stores.empty(Window::default(), caps).await;
    let other = stores.another(&one).await;
    let jtis: Vec<String> = (0..MANY).map(|at| format!("at once {at}")).collect();
    let proofs: Vec<_> = jtis.iter().map(|jti| proof(jti, 0)).collect();
    let asked = proofs.iter().enumerate().map(|(at, proof)| (if at % 2 == 0 { &one } else { &other }, proof));
    let answers = together(asked.map(|(store, proof)| store.admit(proof, after(0, 0)))).await;
    let admitted = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(admitted, 5, "different proofs at once, with room for five: {answers:?}");
}

/// What one process admitted, another knows; also when it was forgotten by one whose clock is ahead.
pub async fn processes_share_what_they_know(stores: &impl Stores) {
    let one = stores.empty(Window::default(), Caps { per_account: 2, ..ROOMY }).await;
    let other = stores.another(&one).await;
    ask(&one, "by one", proof("a", 0), after(0, 0), Says::Admitted).await;
    ask(&other, "the same by another", proof("a", 0), after(0, 0), Says::Replayed).await;
    ask(&other, "the next by another", proof("b", 0), after(0, 0), Says::Admitted).await;
    ask(&one, "no room for one more", proof("c", 0), after(0, 0), Says::AccountFull(31)).await;
    ask(&other, "by a clock that is ahead", proof("d", 31), after(31, 0), Says::Admitted).await;
    ask(&one, "a replay behind its back", proof("a", 0), after(1, 0), Says::Refused).await;
}

/// Another key's `jti` is another; the same key's is the same, whatever else the proof says.
pub async fn ids_belong_to_keys(stores: &impl Stores) {
    let store = stores.empty(Window::default(), ROOMY).await;
    let bob = Holder::Account("bob");
    let rows = [
        ("one key", proof("a", 0), Says::Admitted),
        ("another key", Candidate { key: &OTHER, ..proof("a", 0) }, Says::Admitted),
        ("issued later", proof("a", 1), Says::Replayed),
        ("of another account", Candidate { holder: bob, ..proof("a", 0) }, Says::Replayed),
        ("of a source", Candidate { holder: source(1), ..proof("a", 0) }, Says::Replayed),
        ("in another case", proof("A", 0), Says::Admitted),
        ("longer by a character", proof("aa", 0), Says::Admitted),
        ("with punctuation", proof("a:b", 0), Says::Admitted),
        ("with other punctuation", proof("a b", 0), Says::Admitted),
        ("outside of ASCII", proof("ä", 0), Says::Admitted),
        ("outside of ASCII, composed otherwise", proof("a\u{308}", 0), Says::Admitted),
    ];
    for (name, candidate, expect) in rows {
        ask(&store, name, candidate, after(0, 0), expect).await;
    }
}

/// Time, replay, the holder's cap, the cap of all.
pub async fn refusals_come_in_their_order(stores: &impl Stores) {
    let caps = Caps { per_account: 1, per_source: 1, total: 2 };
    let store = stores.empty(Window::default(), caps).await;
    let from = |jti, iat| Candidate { holder: source(1), ..proof(jti, iat) };
    let bob = |jti, iat| Candidate { holder: Holder::Account("bob"), ..proof(jti, iat) };
    let rows = [
        ("the account's", proof("a", -10), Says::Admitted),
        ("the source's", from("b", 0), Says::Admitted),
        ("a replay where all is full", proof("a", -10), Says::Replayed),
        ("a replay by another where all is full", bob("a", -10), Says::Replayed),
        ("too old where all is full", proof("c", -31), Says::Over),
        ("too early where all is full", proof("c", 31), Says::Early),
        ("the account before all", proof("c", 0), Says::AccountFull(21)),
        ("the source before all", from("d", 0), Says::SourceFull(31)),
        ("all", bob("e", 0), Says::Full(21)),
    ];
    for (name, candidate, expect) in rows {
        ask(&store, name, candidate, after(0, 0), expect).await;
    }
}

/// It takes no room, and may come again and be admitted.
pub async fn what_is_refused_leaves_no_trace(stores: &impl Stores) {
    let caps = Caps { per_account: 1, per_source: 1, total: 3 };
    let store = stores.empty(Window::default(), caps).await;
    let of = |account, jti, iat| Candidate { holder: Holder::Account(account), ..proof(jti, iat) };
    let rows = [
        ("the first", proof("a", 0), Says::Admitted),
        ("replayed, for another", of("eve", "a", 0), Says::Replayed),
        ("over", of("eve", "b", -31), Says::Over),
        ("early", of("eve", "b", 31), Says::Early),
        ("no room for the account", proof("b", 0), Says::AccountFull(31)),
        ("refused five times, and now another's", of("bob", "b", 0), Says::Admitted),
        ("the account has its room yet", of("eve", "c", 0), Says::Admitted),
        ("no room at all", of("dan", "d", 0), Says::Full(31)),
    ];
    for (name, candidate, expect) in rows {
        ask(&store, name, candidate, after(0, 0), expect).await;
    }
    ask(&store, "refused, and now there is room", of("dan", "d", 0), after(30, 1), Says::Over).await;
    ask(&store, "the same id, made anew", of("dan", "d", 31), after(31, 0), Says::Admitted).await;
}

/// Accounts and sources do not take each other's room, and a new key is no new holder.
pub async fn each_holder_has_room_of_its_own(stores: &impl Stores) {
    let caps = Caps { per_account: 2, per_source: 3, total: 100 };
    let store = stores.empty(Window::default(), caps).await;
    for at in 0..20_u8 {
        let (key, jti) = (Thumbprint::from_bytes([at + 10; 32]), format!("own {at}"));
        let by = |holder| Candidate { key: &key, holder, ..proof(&jti, 0) };
        let expect = if at < 3 { Says::Admitted } else { Says::SourceFull(31) };
        ask(&store, "a key of its own for each, from one source", by(source(1)), after(0, 0), expect).await;
    }
    let rows = [
        ("another address", "a", source(2), Says::Admitted),
        (
            "another client there",
            "b",
            Holder::Source { address: address(1), client: "other" },
            Says::Admitted,
        ),
        ("an account", "c", Holder::Account("ada"), Says::Admitted),
        ("an account", "d", Holder::Account("ada"), Says::Admitted),
        ("no room", "e", Holder::Account("ada"), Says::AccountFull(31)),
        ("an account of a like name", "e", Holder::Account("ada "), Says::Admitted),
        ("an account of another case", "f", Holder::Account("Ada"), Says::Admitted),
        ("an account named like a source", "g", Holder::Account("192.0.2.1"), Says::Admitted),
    ];
    for (name, jti, holder, expect) in rows {
        ask(&store, name, Candidate { holder, ..proof(jti, 0) }, after(0, 0), expect).await;
    }
}

/// `Retry-After` is until the earliest in the way no longer counts, and no shorter wait will do.
pub async fn waiting_as_long_as_told_helps(stores: &impl Stores) {
    let rows = [
        ("made now", 0, 0, 31),
        ("made now, and half a second is gone", 0, 500_000_000, 30),
        ("made ahead", 30, 0, 61),
        ("nearly over", -29, 0, 2),
        ("at its end", -30, 0, 1),
    ];
    for (name, iat, nanos, wait) in rows {
        for (caps, full) in [
            (Caps { per_account: 1, ..ROOMY }, Says::AccountFull(wait)),
            (Caps { total: 1, ..ROOMY }, Says::Full(wait)),
        ] {
            let store = stores.empty(Window::default(), caps).await;
            let wait = wait.cast_signed();
            ask(&store, name, proof("in the way", iat), after(0, 0), Says::Admitted).await;
            ask(&store, name, proof("refused", 0), after(0, nanos), full).await;
            let next = proof("waited", iat + 30);
            let last = if full.is_of_account() { Says::AccountFull(1) } else { Says::Full(1) };
            ask(&store, &format!("{name}, at its end"), next, after(iat + 30, 0), last).await;
            let waited = proof("waited", wait);
            ask(&store, &format!("{name}, after waiting"), waited, after(wait, nanos), Says::Admitted).await;
        }
    }
}

/// What was forgotten while the clock was ahead is not admitted when it is back; and nobody is locked out.
pub async fn a_step_back_admits_nothing_twice(stores: &impl Stores) {
    let day = 86_400;
    for ahead in [31, 61, 3600, 365 * day] {
        let store = stores.empty(Window::default(), Caps { per_account: 2, ..ROOMY }).await;
        ask(&store, "before", proof("a", 0), after(0, 0), Says::Admitted).await;
        ask(&store, "before, ahead", proof("b", 20), after(0, 0), Says::Admitted).await;
        let then = proof("c", ahead);
        ask(&store, "with a clock that is ahead", then, after(ahead, 0), Says::Admitted).await;
        for (name, jti, iat) in [("back", "a", 0), ("back, ahead", "b", 20)] {
            ask(&store, name, proof(jti, iat), after(5, 0), Says::Refused).await;
        }
        ask(&store, "when that time comes", then, after(ahead, 0), Says::Refused).await;
        let (now, later) = (ahead + day, proof("e", ahead + day));
        ask(&store, "a day later", later, after(now, 0), Says::Admitted).await;
    }
}

/// What the narrower window had forgotten stays refused, in the wider one, too.
pub async fn a_wider_window_admits_nothing_twice(stores: &impl Stores) {
    let store = stores.empty(Window::seconds(30, 30), ROOMY).await;
    ask(&store, "in the narrow one", proof("a", 0), after(0, 0), Says::Admitted).await;
    ask(&store, "the next", proof("b", 31), after(31, 0), Says::Admitted).await;
    let store = stores.with_window(store, Window::seconds(300, 60)).await;
    assert_eq!(store.window(), Window::seconds(300, 60), "the window that it was changed to");
    for now in [31, 60, 300] {
        ask(&store, "over, and in the window again", proof("a", 0), after(now, 0), Says::Refused).await;
    }
    ask(&store, "still known", proof("b", 31), after(331, 0), Says::Replayed).await;
    ask(&store, "of the wider one", proof("c", 60), after(331, 0), Says::Admitted).await;
    ask(&store, "ahead in the wider one", proof("d", 391), after(331, 0), Says::Admitted).await;
}

/// What was in the wider window alone is over; its room is free; and it does not come back with the window.
pub async fn a_narrower_window_counts_at_once(stores: &impl Stores) {
    let caps = Caps { per_account: 1, ..ROOMY };
    let store = stores.empty(Window::seconds(300, 30), caps).await;
    ask(&store, "in the wide one", proof("a", 0), after(0, 0), Says::Admitted).await;
    let store = stores.with_window(store, Window::seconds(30, 30)).await;
    ask(&store, "over", proof("a", 0), after(31, 0), Says::Over).await;
    ask(&store, "its room is free", proof("b", 31), after(31, 0), Says::Admitted).await;
    let store = stores.with_window(store, Window::seconds(300, 30)).await;
    ask(&store, "wide again", proof("a", 0), after(32, 0), Says::Refused).await;
}

/// Whatever the proof: nobody knows, so nobody passes.
pub async fn what_cannot_be_asked_refuses(stores: &impl Stores) {
    let Some(store) = stores.unreachable().await else { return };
    for jti in ["a", "b", "a"] {
        ask(&store, "nobody answers", proof(jti, 0), after(0, 0), Says::Unavailable).await;
    }
}

/// 2026-01-15, a whole second.
const START: u64 = 1_768_435_200;
const KEY: Thumbprint = Thumbprint::from_bytes([1; 32]);
const OTHER: Thumbprint = Thumbprint::from_bytes([2; 32]);
/// No cap is in the way.
const ROOMY: Caps = Caps { per_account: 1000, per_source: 1000, total: 1000 };

/// What a store may say.
#[derive(Clone, Copy, Debug)]
enum Says {
    Admitted,
    Over,
    Early,
    Replayed,
    /// As a replay, or because its time was forgotten: whichever, it is refused.
    Refused,
    /// With this many seconds of `Retry-After`.
    AccountFull(u64),
    SourceFull(u64),
    Full(u64),
    Unavailable,
}

impl Says {
    const fn is_of_account(self) -> bool {
        matches!(self, Self::AccountFull(_))
    }

    /// Whether this is the answer.
    fn is(self, answer: Result<(), LiveRefusal>) -> bool {
        let full = |seconds| move |refusal: LiveRefusal| refusal.retry_after() == Some(seconds);
        match (self, answer) {
            (Self::Admitted, Ok(()))
            | (Self::Over, Err(LiveRefusal::Expired))
            | (Self::Early, Err(LiveRefusal::TooFarAhead))
            | (Self::Replayed, Err(LiveRefusal::Replayed))
            | (Self::Refused, Err(LiveRefusal::Replayed | LiveRefusal::Expired))
            | (Self::Unavailable, Err(LiveRefusal::Unavailable)) => true,
            (Self::AccountFull(seconds), Err(refusal @ LiveRefusal::AccountFull { .. }))
            | (Self::SourceFull(seconds), Err(refusal @ LiveRefusal::SourceFull { .. }))
            | (Self::Full(seconds), Err(refusal @ LiveRefusal::Full { .. })) => full(seconds)(refusal),
            _ => false,
        }
    }
}

async fn ask(store: &impl ReplayStore, name: &str, proof: Candidate<'_>, now: UnixTime, expect: Says) {
    let answer = store.admit(&proof, now).await;
    let said = match answer {
        Ok(()) => "admitted".to_owned(),
        Err(refusal) => format!("refused, as {refusal} ({refusal:?})"),
    };
    let Candidate { jti, iat, .. } = proof;
    let (iat, now) = (i128::from(iat) - i128::from(START), now.since_epoch());
    let now = now.saturating_sub(Duration::from_secs(START));
    assert!(expect.is(answer), "{name}: `{jti}` of {iat} s at {now:?} is {said}, not {expect:?}");
}

/// An account's proof, made so many seconds after the start.
fn proof(jti: &str, iat: i64) -> Candidate<'_> {
    Candidate { key: &KEY, jti, holder: Holder::Account("ada"), iat: START.saturating_add_signed(iat) }
}

fn after(seconds: i64, nanos: u64) -> UnixTime {
    UnixTime::from_secs(START.saturating_add_signed(seconds)) + Duration::from_nanos(nanos)
}

const fn address(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
}

const fn source(last: u8) -> Holder<'static> {
    Holder::Source { address: address(last), client: "client" }
}

fn secs(length: Duration) -> i64 {
    i64::try_from(length.as_secs()).unwrap_or(i64::MAX)
}

/// All at once: whoever waits lets the others go on.
async fn together<F: Future + Unpin>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<F> = futures.collect();
    let mut answers: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, answer) in futures.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(ready) = std::pin::Pin::new(future).poll(context)
            {
                *answer = Some(ready);
            }
        }
        if answers.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}
