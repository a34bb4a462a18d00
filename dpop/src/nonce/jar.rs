//! The nonces of a client: the latest one of each server, their export for the next process, and the decision
//! whether to retry after a challenge (RFC 9449, 8, 8.2 and 9).
//!
//! A server that requires nonces responds to a proof without one with the challenge `use_dpop_nonce` and
//! sends a nonce in `DPoP-Nonce`. Every later response may contain the next nonce. A client avoids further
//! challenges with three rules:
//!
//! - Record the nonce of *every* response, including rejections and the response to a retry, in which most
//!   servers renew their nonce.
//! - Keep the stored nonce if a response contains none (RFC 9449, 8.2).
//! - Send a nonce only to the server that issued it.
//!
//! This module neither reads headers nor sends requests: the caller passes the values of `DPoP-Nonce` and
//! decides with [`after_challenge`]. [`crate::challenge`] detects challenges in `WWW-Authenticate`.

use std::{fmt, num::NonZeroUsize, time::Duration};

use serde::{Deserialize, Serialize};

use super::Nonce;
use crate::{Attempt, UnixTime};

/// The latest nonce of each origin.
///
/// An origin is a string such as `https://gateway.example`, compared byte by byte: in lower case, and with a
/// port only if it is not the scheme's default. When the jar is full, it drops the origin that was least
/// recently recorded or looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonceJar {
    limits: JarLimits,
    /// Invariant: sorted by last use, the most recent last; every origin at most once.
    entries: Vec<JarEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct JarEntry {
    origin: Box<str>,
    nonce: Nonce,
    /// The time of receipt, in seconds since the epoch.
    received_at: u64,
}

/// The serializable form of a [`NonceJar`], created by [`NonceJar::save`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedNonces {
    /// The nonces, sorted by last use, the most recent last.
    pub nonces: Vec<SavedNonce>,
}

/// The nonce of one origin. It is not a secret: without the key no proof can be signed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNonce {
    /// The origin that issued the nonce.
    pub origin: String,
    /// The nonce, as received in `DPoP-Nonce`.
    pub nonce: String,
    /// The time of receipt on the client's clock, in seconds since the epoch.
    pub received_at: u64,
}

/// Shows only the length of the nonce, as [`Nonce`] does.
impl fmt::Debug for SavedNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, nonce, received_at } = self;
        write!(f, "SavedNonce({origin}, {} bytes, received at {received_at})", nonce.len())
    }
}

/// The client's reaction to a nonce challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum ChallengeAction {
    /// Send the request again, once, with a new proof that contains the nonce of the response. A write keeps
    /// its `Idempotency-Key`.
    Retry,
    /// Give up: the server requires the nonce that it was just sent.
    SameNonce,
    /// Give up: the server requires a nonce but sent none, or more than one.
    NoNonce,
    /// Give up: the request was already retried with a nonce.
    AlreadyRetried,
}

/// Decides whether to send a request again after a response with `use_dpop_nonce`.
///
/// `sent` is the nonce of the rejected proof, `answered` the result of [`NonceJar::record_nonces`] for the
/// challenge. If several reasons to give up apply, the result is the one that describes the server's error
/// most precisely.
pub fn after_challenge(sent: Option<&Nonce>, answered: Option<&Nonce>, attempt: Attempt) -> ChallengeAction {
    match (answered, attempt) {
        (None, _) => ChallengeAction::NoNonce,
        (Some(_), _) if sent == answered => ChallengeAction::SameNonce,
        (Some(_), Attempt::Retry) => ChallengeAction::AlreadyRetried,
        (Some(_), Attempt::First) => ChallengeAction::Retry,
    }
}

/// The capacity of a jar and the maximum age of saved nonces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JarLimits {
    /// The maximum number of origins.
    pub max_origins: NonZeroUsize,
    /// The maximum length of a nonce in bytes. Every proof contains the nonce.
    pub max_nonce_bytes: usize,
    /// The maximum age of a saved nonce. Few servers accept a nonce for longer than the default.
    pub max_age: Duration,
    /// The maximum time by which a saved nonce may be ahead of the clock, in case the clock was set back a
    /// little.
    pub max_ahead: Duration,
}

/// 100 origins, nonces of 256 bytes, ten minutes of age, one minute ahead.
// A7, LIM-12
impl Default for JarLimits {
    fn default() -> Self {
        Self {
            max_origins: NonZeroUsize::new(100).unwrap_or(NonZeroUsize::MIN),
            max_nonce_bytes: Nonce::MAX_BYTES,
            max_age: Duration::from_secs(600),
            max_ahead: Duration::from_secs(60),
        }
    }
}

impl Default for NonceJar {
    fn default() -> Self {
        Self::new(JarLimits::default())
    }
}

impl NonceJar {
    /// Creates an empty jar.
    #[must_use]
    pub const fn new(limits: JarLimits) -> Self {
        Self { limits, entries: Vec::new() }
    }

    /// Returns the limits of this jar.
    #[must_use]
    pub const fn limits(&self) -> JarLimits {
        self.limits
    }

    /// Records the nonce of a response of this origin, received at `now`. `values` are the values of its
    /// `DPoP-Nonce` fields, one each, without surrounding whitespace.
    ///
    /// Returns the nonce of the response, which replaces the origin's previous one. If there is no value, an
    /// invalid one or more than one (RFC 9449, 8.1 and 8.2 allow at most one, even if they are equal),
    /// returns `None` and leaves the jar unchanged.
    pub fn record_nonces<'a>(
        &mut self,
        origin: &str,
        values: impl IntoIterator<Item = &'a [u8]>,
        now: UnixTime,
    ) -> Option<&Nonce> {
        let mut values = values.into_iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let nonce = self.parse_nonce(str::from_utf8(value).ok()?)?;
        self.entries.retain(|entry| *entry.origin != *origin);
        self.entries.push(JarEntry { origin: origin.into(), nonce, received_at: now.as_secs() });
        self.drop_surplus();
        self.entries.last().map(|entry| &entry.nonce)
    }

    /// Returns the nonce for the next proof to this origin, and marks it as used.
    ///
    /// The age of the nonce does not matter: the server requests a new one when necessary, and a server that
    /// has issued nonces rejects proofs without one (RFC 9449, 8.2 and 11.3).
    pub fn current_nonce(&mut self, origin: &str) -> Option<&Nonce> {
        let at = self.entries.iter().position(|entry| *entry.origin == *origin)?;
        self.entries[at..].rotate_left(1);
        self.entries.last().map(|entry| &entry.nonce)
    }

    /// Returns true if there is a nonce of this origin. Does not mark it as used.
    #[must_use]
    pub fn has_nonce(&self, origin: &str) -> bool {
        self.entries.iter().any(|entry| *entry.origin == *origin)
    }

    /// Exports all nonces, so that the next process starts without a challenge.
    #[must_use]
    pub fn save(&self) -> SavedNonces {
        let save = |entry: &JarEntry| SavedNonce {
            origin: entry.origin.as_ref().into(),
            nonce: entry.nonce.as_str().into(),
            received_at: entry.received_at,
        };
        SavedNonces { nonces: self.entries.iter().map(save).collect() }
    }

    /// Imports the nonces that another process saved, for origins that are missing here or have an older
    /// nonce.
    ///
    /// Skips nonces that are invalid, older than [`JarLimits::max_age`] or further ahead than
    /// [`JarLimits::max_ahead`]. New origins count as used before all existing ones, and are dropped first
    /// when the jar is full.
    pub fn restore(&mut self, saved: SavedNonces, now: UnixTime) {
        let mut added: Vec<JarEntry> = Vec::new();
        for SavedNonce { origin, nonce, received_at } in saved.nonces {
            let received = UnixTime::from_secs(received_at);
            let JarLimits { max_age, max_ahead, .. } = self.limits;
            let in_time = now < received + max_age && received <= now + max_ahead;
            let (true, Some(nonce)) = (in_time, self.parse_nonce(&nonce)) else { continue };
            // A nonce with a receipt time ahead of the clock counts as received now.
            let received_at = received_at.min(now.as_secs());
            match self.entries.iter_mut().chain(&mut added).find(|entry| *entry.origin == *origin) {
                Some(entry) if entry.received_at < received_at => {
                    (entry.nonce, entry.received_at) = (nonce, received_at)
                }
                Some(_) => {}
                None => added.push(JarEntry { origin: origin.into(), nonce, received_at }),
            }
        }
        self.entries.splice(..0, added);
        self.drop_surplus();
    }

    fn parse_nonce(&self, text: &str) -> Option<Nonce> {
        Nonce::with_max_bytes(text, self.limits.max_nonce_bytes).ok()
    }

    fn drop_surplus(&mut self) {
        self.entries.drain(..self.entries.len().saturating_sub(self.limits.max_origins.get()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const A: &str = "https://gateway.example";
    const B: &str = "https://id.example";
    const C: &str = "https://gateway.example:8443";

    fn at(secs: u64) -> UnixTime {
        UnixTime::from_secs(1_000_000 + secs)
    }

    fn nonce(text: &str) -> Nonce {
        Nonce::new(text).unwrap()
    }

    fn jar(capacity: usize) -> NonceJar {
        NonceJar::new(JarLimits { max_origins: NonZeroUsize::new(capacity).unwrap(), ..JarLimits::default() })
    }

    fn saved<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str, u64)>) -> SavedNonces {
        let save = |(origin, nonce, secs): (&str, &str, u64)| SavedNonce {
            origin: origin.into(),
            nonce: nonce.into(),
            received_at: at(secs).as_secs(),
        };
        SavedNonces { nonces: rows.into_iter().map(save).collect() }
    }

    /// Asserts which nonce the jar stores for each of these origins.
    #[track_caller]
    fn check(name: &str, jar: &NonceJar, expect: &[(&str, Option<&str>)]) {
        for (origin, text) in expect {
            let mut jar = jar.clone();
            assert_eq!(jar.current_nonce(origin).map(Nonce::as_str), *text, "{name}: {origin}");
        }
    }

    /// DPP-05, DPP-12: a response replaces the stored nonce "old" only if it contains exactly one valid
    /// nonce.
    #[test]
    fn response_sets_at_most_one_nonce() {
        let max_nonce = [b'n'; Nonce::MAX_BYTES];
        let max_nonce = str::from_utf8(&max_nonce).unwrap();
        type Values<'a> = &'a [&'a [u8]];
        let rows: [(&str, Values<'_>, Option<&str>); 13] = [
            ("a new one", &[b"new"], Some("new")),
            ("the same", &[b"old"], Some("old")),
            ("the longest", &[max_nonce.as_bytes()], Some(max_nonce)),
            ("a comma is part of it", &[b"a,b"], Some("a,b")),
            ("none", &[], None),
            ("empty", &[b""], None),
            ("too long", &[&[b'n'; Nonce::MAX_BYTES + 1]], None),
            ("two", &[b"new", b"newer"], None),
            ("two equal ones", &[b"new", b"new"], None),
            ("two, one ill-formed", &[b"new", b""], None),
            ("two in one field", &[b"new, newer"], None),
            ("quoted", &[b"\"new\""], None),
            ("not UTF-8", &[b"new\xff"], None),
        ];
        for (name, values, learnt) in rows {
            let mut jar = jar(9);
            jar.record_nonces(A, [b"old".as_slice()], at(0));
            jar.record_nonces(B, [b"other".as_slice()], at(0));
            let answered = jar.record_nonces(A, values.iter().copied(), at(1)).map(Nonce::as_str);
            assert_eq!(answered, learnt, "{name}");
            check(name, &jar, &[(A, learnt.or(Some("old"))), (B, Some("other")), (C, None)]);
        }
    }

    /// DPP-12, DPP-17: every origin has its own nonce.
    #[test]
    fn each_origin_has_its_own_nonce() {
        let mut jar = jar(9);
        check("at first", &jar, &[(A, None), (B, None)]);
        jar.record_nonces(A, [b"challenge".as_slice()], at(0));
        check("the gateway's is not the provider's", &jar, &[(A, Some("challenge")), (B, None), (C, None)]);
        jar.record_nonces(A, [b"retried".as_slice()], at(0));
        check("from the retried answer", &jar, &[(A, Some("retried"))]);
        jar.record_nonces(A, [], at(1));
        check("an answer without", &jar, &[(A, Some("retried"))]);
        jar.record_nonces(B, [b"own".as_slice()], at(2));
        check(
            "each its own",
            &jar,
            &[(A, Some("retried")), (B, Some("own")), ("https://GATEWAY.example", None)],
        );
    }

    /// A full jar evicts the nonce of the least recently used origin.
    #[test]
    fn full_jar_drops_the_least_recently_used() {
        fn learn(jar: &mut NonceJar, origin: &str) {
            jar.record_nonces(origin, [b"n".as_slice()], at(0));
        }
        type JarOperation = fn(&mut NonceJar);
        let rows: [(&str, JarOperation, [bool; 3]); 4] = [
            ("the first learnt", |_| {}, [false, true, true]),
            ("asked for is used", |jar| drop(jar.current_nonce(A).cloned()), [true, false, true]),
            (
                "learnt again is used",
                |jar| drop(jar.record_nonces(A, [b"m".as_slice()], at(1)).cloned()),
                [true, false, true],
            ),
            (
                "learnt nothing is not",
                |jar| drop(jar.record_nonces(A, [], at(1)).cloned()),
                [false, true, true],
            ),
        ];
        for (name, touch, expect) in rows {
            let mut jar = jar(2);
            learn(&mut jar, A);
            learn(&mut jar, B);
            touch(&mut jar);
            learn(&mut jar, C);
            assert_eq!([A, B, C].map(|origin| jar.clone().current_nonce(origin).is_some()), expect, "{name}");
        }
        let mut jar = NonceJar::default();
        (0..=100).for_each(|i| learn(&mut jar, &format!("https://{i}.example")));
        assert_eq!(jar.save().nonces.len(), 100);
        check("101 origins", &jar, &[("https://0.example", None), ("https://1.example", Some("n"))]);
    }

    /// A7, LIM-12: a nonce that one process saves at 1,000 is restored by another one until it expires.
    #[test]
    fn saved_nonce_is_restored_until_it_expires() {
        let known = Some("known");
        // Each row: origin, nonce, and receipt time of the saved nonce, then the nonces in a jar that has had
        // a nonce for A since 1,000.
        let rows = [
            ("just received", (B, "saved", 1000), Some("saved")),
            ("just younger than ten minutes", (B, "saved", 401), Some("saved")),
            ("ten minutes old", (B, "saved", 400), None),
            ("older", (B, "saved", 0), None),
            ("a minute ahead", (B, "saved", 1060), Some("saved")),
            ("further ahead", (B, "saved", 1061), None),
            ("the end of time", (B, "saved", u64::MAX - 1_000_000), None),
            ("no nonce", (B, "two words", 1000), None),
            ("empty", (B, "", 1000), None),
            ("known, older", (A, "saved", 999), known),
            ("known, as old", (A, "saved", 1000), known),
            ("known, from the future, so as old", (A, "saved", 1030), known),
        ];
        for (name, row, expect) in rows {
            let mut jar = jar(9);
            jar.record_nonces(A, [b"known".as_slice()], at(1000));
            jar.restore(saved([row]), at(1000));
            check(name, &jar, &[(A, known), (row.0, expect)]);
        }
        let mut late = jar(9);
        late.record_nonces(A, [b"known".as_slice()], at(998));
        late.restore(
            saved([(A, "newer", 999), (B, "older", 997), (B, "newest", 999), (B, "old", 998)]),
            at(1000),
        );
        check("newer ones", &late, &[(A, Some("newer")), (B, Some("newest"))]);
        let half = at(1000) + Duration::from_millis(500);
        late.restore(saved([(C, "saved", 401)]), half);
        check("599.5 s old", &late, &[(C, Some("saved"))]);
    }

    /// Restored nonces are evicted before the nonces that this process uses.
    #[test]
    fn restored_nonce_is_evicted_first() {
        let mut jar = jar(2);
        jar.record_nonces(A, [b"a".as_slice()], at(0));
        jar.restore(saved([(B, "b", 0), (C, "c", 0)]), at(0));
        check("the later used of the two fits", &jar, &[(A, Some("a")), (B, None), (C, Some("c"))]);
        jar.record_nonces(B, [b"new".as_slice()], at(0));
        check("and goes before what was known", &jar, &[(A, Some("a")), (B, Some("new")), (C, None)]);
    }

    /// A nonce may have the configured maximum length, but not more.
    #[test]
    fn limits_are_configurable() {
        let limits =
            JarLimits { max_nonce_bytes: 1000, max_age: Duration::from_secs(5), ..JarLimits::default() };
        let mut jar = NonceJar::new(limits);
        let text = "n".repeat(1000);
        assert!(jar.record_nonces(A, [text.as_bytes()], at(0)).is_some());
        assert!(jar.record_nonces(B, [format!("{text}n").as_bytes()], at(0)).is_none());
        for (now, expect) in [(4, true), (5, false)] {
            let mut next = NonceJar::new(limits);
            next.restore(jar.save(), at(now));
            assert_eq!((next.has_nonce(A), next.has_nonce(B)), (expect, false), "{now}");
        }
    }

    /// Saved nonces are plain JSON, and `Debug` does not print them.
    #[test]
    fn saved_nonces_are_plain_json() {
        let saved = saved([(A, "n-1", 5)]);
        let text = r#"[{"origin":"https://gateway.example","nonce":"n-1","received_at":1000005}]"#;
        assert_eq!(serde_json::to_string(&saved).unwrap(), text);
        assert_eq!(serde_json::from_str::<SavedNonces>(text).unwrap(), saved);
        let mut jar = jar(1);
        jar.restore(saved.clone(), at(5));
        for shown in [format!("{saved:?}"), format!("{jar:?}")] {
            assert!(shown.contains(A) && shown.contains("3 bytes") && !shown.contains("n-1"), "{shown}");
        }
    }

    /// DPP-14, DPP-15, DPP-17, ERR-07: a request is retried once if the response contains a new nonce.
    #[test]
    fn challenge_is_retried_once() {
        use Attempt::First;
        use ChallengeAction::{AlreadyRetried, NoNonce, Retry, SameNonce};
        let retried = Attempt::Retry;
        let rows = [
            ("the first of a process", None, Some("a"), First, Retry),
            ("with one that is too old", Some("a"), Some("b"), First, Retry),
            ("a new one each time", Some("a"), Some("b"), retried, AlreadyRetried),
            ("retried without the answer's", None, Some("b"), retried, AlreadyRetried),
            ("the one it was sent", Some("a"), Some("a"), First, SameNonce),
            ("the one of the first challenge", Some("a"), Some("a"), retried, SameNonce),
            ("a challenge without a nonce", None, None, First, NoNonce),
            ("the same, sent with one", Some("a"), None, First, NoNonce),
            ("the same, retried", Some("a"), None, retried, NoNonce),
        ];
        for (name, sent, answered, attempt, expect) in rows {
            let (sent, answered) = (sent.map(nonce), answered.map(nonce));
            assert_eq!(after_challenge(sent.as_ref(), answered.as_ref(), attempt), expect, "{name}");
        }
    }

    #[derive(Clone, Debug)]
    enum JarStep {
        Learn(usize, Vec<&'static str>),
        Ask(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<JarStep>> {
        let values = prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "", "e f"]), 0..=2);
        let learn = (0..5_usize, values).prop_map(|(origin, values)| JarStep::Learn(origin, values));
        prop::collection::vec(prop_oneof![3 => learn, 1 => (0..5_usize).prop_map(JarStep::Ask)], 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256, failure_persistence: None, ..ProptestConfig::default()
        })]

        /// DPP-05, DPP-12, A7: after any responses, the jar equals a map of the latest nonces without the
        /// least recently used ones, and the next process restores the same jar.
        #[test]
        fn jar_equals_a_map_of_the_latest_nonces(capacity in 1..=6_usize, steps in steps()) {
            let mut jar = jar(capacity);
            let mut latest: HashMap<String, (&str, usize)> = HashMap::new();
            let mut now = at(0);
            for (tick, step) in steps.into_iter().enumerate() {
                now = at(tick as u64);
                match step {
                    JarStep::Learn(origin, values) => {
                        let origin = format!("https://{origin}.example");
                        jar.record_nonces(&origin, values.iter().map(|value| value.as_bytes()), now);
                        if let [value @ ("a" | "b" | "c" | "d")] = values[..] {
                            latest.insert(origin, (value, tick));
                        }
                    }
                    JarStep::Ask(origin) => {
                        let origin = format!("https://{origin}.example");
                        let expect = latest.get_mut(&origin).map(|entry| { entry.1 = tick; entry.0 });
                        prop_assert_eq!(jar.current_nonce(&origin).map(Nonce::as_str), expect);
                    }
                }
                if latest.len() > capacity {
                    let (oldest, _) = latest.iter().min_by_key(|(_, (_, tick))| *tick).unwrap();
                    latest.remove(&oldest.clone());
                }
            }
            for i in 0..5 {
                let origin = format!("https://{i}.example");
                let expect = latest.get(&origin).map(|entry| entry.0);
                let mut jar = jar.clone();
                prop_assert_eq!(jar.current_nonce(&origin).map(Nonce::as_str), expect);
            }
            let mut next = NonceJar::new(jar.limits);
            next.restore(jar.save(), now);
            prop_assert_eq!(&next, &jar);
            next.restore(jar.save(), now);
            prop_assert_eq!(next, jar);
        }
    }
}
