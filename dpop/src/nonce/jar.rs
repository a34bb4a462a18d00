//! The client's nonces: which one each server handed out last, what the next process may keep of them, and
//! whether a challenge is worth another attempt (RFC 9449, 8, 8.2 and 9).
//!
//! A server that wants nonces answers a proof without one with a challenge, `use_dpop_nonce`, and hands
//! one out in `DPoP-Nonce`; with every later answer it may hand out the next. A client that keeps to three
//! rules is challenged once and never again:
//!
//! - learn from *every* answer: also from a refusal, also from the answer to the retried request, which is
//!   where most servers renew their nonce;
//! - keep what it has when an answer brings none (RFC 9449, 8.2);
//! - send a nonce to the server it came from, never to another.
//!
//! Nothing here reads headers or sends: the caller hands over the values of `DPoP-Nonce` and decides with
//! [`after_challenge`]. Recognising a challenge in `WWW-Authenticate` is not done here.

use std::{fmt, num::NonZeroUsize, time::Duration};

use serde::{Deserialize, Serialize};

use super::Nonce;
use crate::{Attempt, UnixTime};

/// The latest nonce of each origin.
///
/// An origin is text such as `https://gateway.example`, compared byte by byte: lower case, and a port only
/// where it is not the scheme's own. A full jar drops the origin whose nonce was neither learnt nor asked
/// for the longest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonceJar {
    limits: JarLimits,
    /// In order of use, the latest last; no origin twice.
    kept: Vec<Kept>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    origin: Box<str>,
    nonce: Nonce,
    /// Seconds since the epoch.
    received_at: u64,
}

/// What [`NonceJar::save`] hands to the next process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedNonces {
    /// In order of use, the latest last.
    pub nonces: Vec<SavedNonce>,
}

/// One origin's nonce. Not a secret: without the key nothing can be signed with it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNonce {
    /// Whose nonce it is.
    pub origin: String,
    /// The nonce as it stood in `DPoP-Nonce`.
    pub nonce: String,
    /// When it was received, in seconds since the epoch by the client's clock.
    pub received_at: u64,
}

/// Shows the nonce's length alone, as [`Nonce`] does.
impl fmt::Debug for SavedNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, nonce, received_at } = self;
        write!(f, "SavedNonce({origin}, {} bytes, received at {received_at})", nonce.len())
    }
}

/// What to do about a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum AfterChallenge {
    /// Send the request again, once, with a new proof that carries the answer's nonce. A write keeps its
    /// `Idempotency-Key`.
    Retry,
    /// Give up: the server asks for the nonce that it was just sent.
    SameNonce,
    /// Give up: the server asks for a nonce and hands none out, or not exactly one.
    NoNonce,
    /// Give up: the request was sent twice.
    AlreadyRetried,
}

/// Whether a request that was answered with `use_dpop_nonce` is sent again.
///
/// `sent` is the nonce of the proof that was challenged, `answered` what [`NonceJar::learn`] found in the
/// challenge. Of several reasons to give up the one that says most about the server is named.
pub fn after_challenge(sent: Option<&Nonce>, answered: Option<&Nonce>, attempt: Attempt) -> AfterChallenge {
    match (answered, attempt) {
        (None, _) => AfterChallenge::NoNonce,
        (Some(_), _) if sent == answered => AfterChallenge::SameNonce,
        (Some(_), Attempt::Retry) => AfterChallenge::AlreadyRetried,
        (Some(_), Attempt::First) => AfterChallenge::Retry,
    }
}

/// What a jar keeps, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JarLimits {
    /// How many origins it has room for.
    pub origins: NonZeroUsize,
    /// The longest nonce that is kept, in bytes: it travels in every proof.
    pub nonce: usize,
    /// A saved nonce is of use while it is younger than this: few servers accept one for longer.
    pub max_age: Duration,
    /// How far in the future a saved nonce may have been received: the clock was set back a little.
    pub max_ahead: Duration,
}

/// 100 origins, nonces of 256 bytes, ten minutes of age and one ahead.
// A7, LIM-12
impl Default for JarLimits {
    fn default() -> Self {
        Self {
            origins: NonZeroUsize::new(100).unwrap_or(NonZeroUsize::MIN),
            nonce: Nonce::MAX_BYTES,
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
    /// An empty jar.
    #[must_use]
    pub const fn new(limits: JarLimits) -> Self {
        Self { limits, kept: Vec::new() }
    }

    /// What it keeps, and for how long.
    #[must_use]
    pub const fn limits(&self) -> JarLimits {
        self.limits
    }

    /// Learns from an answer of this origin, received `now`. `values` are those of its `DPoP-Nonce` fields,
    /// one each, without whitespace around them.
    ///
    /// Returns the answer's nonce, which is the origin's from then on. With no value, an ill-formed one or
    /// more than one (RFC 9449, 8.1 and 8.2 allow one at most, even of equal ones) it is `None`, and the
    /// jar stays as it is.
    pub fn learn<'a>(
        &mut self,
        origin: &str,
        values: impl IntoIterator<Item = &'a [u8]>,
        now: UnixTime,
    ) -> Option<&Nonce> {
        let mut values = values.into_iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let nonce = self.nonce(str::from_utf8(value).ok()?)?;
        self.kept.retain(|kept| *kept.origin != *origin);
        self.kept.push(Kept { origin: origin.into(), nonce, received_at: now.as_secs() });
        self.drop_surplus();
        self.kept.last().map(|kept| &kept.nonce)
    }

    /// The nonce for the next proof to this origin; asking for it counts as use.
    ///
    /// It is given whatever its age: the server says when it wants another, and one that has handed out
    /// nonces accepts no proof without (RFC 9449, 8.2 and 11.3).
    pub fn current(&mut self, origin: &str) -> Option<&Nonce> {
        let at = self.kept.iter().position(|kept| *kept.origin == *origin)?;
        self.kept[at..].rotate_left(1);
        self.kept.last().map(|kept| &kept.nonce)
    }

    /// Whether there is a nonce of this origin; looking is no use.
    #[must_use]
    pub fn knows(&self, origin: &str) -> bool {
        self.kept.iter().any(|kept| *kept.origin == *origin)
    }

    /// All of it, for the next process, which then starts without a challenge.
    #[must_use]
    pub fn save(&self) -> SavedNonces {
        let save = |kept: &Kept| SavedNonce {
            origin: kept.origin.as_ref().into(),
            nonce: kept.nonce.as_str().into(),
            received_at: kept.received_at,
        };
        SavedNonces { nonces: self.kept.iter().map(save).collect() }
    }

    /// Adds what another process saved: for origins that are not in the jar, and for others where it is
    /// newer.
    ///
    /// Left out is what is not younger than [`JarLimits::max_age`], from further in the future than
    /// [`JarLimits::max_ahead`], or no nonce. What is new in the jar counts as used before all that was in
    /// it, and goes first when there is not enough room.
    pub fn restore(&mut self, saved: SavedNonces, now: UnixTime) {
        let mut added: Vec<Kept> = Vec::new();
        for SavedNonce { origin, nonce, received_at } in saved.nonces {
            let received = UnixTime::from_secs(received_at);
            let JarLimits { max_age, max_ahead, .. } = self.limits;
            let in_time = now < received + max_age && received <= now + max_ahead;
            let (true, Some(nonce)) = (in_time, self.nonce(&nonce)) else { continue };
            // From the future is as good as from now, and no newer.
            let received_at = received_at.min(now.as_secs());
            match self.kept.iter_mut().chain(&mut added).find(|kept| *kept.origin == *origin) {
                Some(kept) if kept.received_at < received_at => {
                    (kept.nonce, kept.received_at) = (nonce, received_at)
                }
                Some(_) => {}
                None => added.push(Kept { origin: origin.into(), nonce, received_at }),
            }
        }
        self.kept.splice(..0, added);
        self.drop_surplus();
    }

    fn nonce(&self, text: &str) -> Option<Nonce> {
        Nonce::within(text, self.limits.nonce).ok()
    }

    fn drop_surplus(&mut self) {
        self.kept.drain(..self.kept.len().saturating_sub(self.limits.origins.get()));
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
        NonceJar::new(JarLimits { origins: NonZeroUsize::new(capacity).unwrap(), ..JarLimits::default() })
    }

    fn saved<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str, u64)>) -> SavedNonces {
        let save = |(origin, nonce, secs): (&str, &str, u64)| SavedNonce {
            origin: origin.into(),
            nonce: nonce.into(),
            received_at: at(secs).as_secs(),
        };
        SavedNonces { nonces: rows.into_iter().map(save).collect() }
    }

    /// What the jar holds for each of these origins.
    #[track_caller]
    fn check(name: &str, jar: &NonceJar, expect: &[(&str, Option<&str>)]) {
        for (origin, text) in expect {
            let mut jar = jar.clone();
            assert_eq!(jar.current(origin).map(Nonce::as_str), *text, "{name}: {origin}");
        }
    }

    /// DPP-05, DPP-12: what an answer's `DPoP-Nonce` fields make of an origin that has "old".
    #[test]
    fn an_answer_brings_one_nonce_or_none() {
        let longest = [b'n'; Nonce::MAX_BYTES];
        let longest = str::from_utf8(&longest).unwrap();
        type Values<'a> = &'a [&'a [u8]];
        let rows: [(&str, Values<'_>, Option<&str>); 13] = [
            ("a new one", &[b"new"], Some("new")),
            ("the same", &[b"old"], Some("old")),
            ("the longest", &[longest.as_bytes()], Some(longest)),
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
            jar.learn(A, [b"old".as_slice()], at(0));
            jar.learn(B, [b"other".as_slice()], at(0));
            let answered = jar.learn(A, values.iter().copied(), at(1)).map(Nonce::as_str);
            assert_eq!(answered, learnt, "{name}");
            check(name, &jar, &[(A, learnt.or(Some("old"))), (B, Some("other")), (C, None)]);
        }
    }

    /// DPP-12, DPP-17
    #[test]
    fn each_origin_has_its_own_latest() {
        let mut jar = jar(9);
        check("at first", &jar, &[(A, None), (B, None)]);
        jar.learn(A, [b"challenge".as_slice()], at(0));
        check("the gateway's is not the provider's", &jar, &[(A, Some("challenge")), (B, None), (C, None)]);
        jar.learn(A, [b"retried".as_slice()], at(0));
        check("from the retried answer", &jar, &[(A, Some("retried"))]);
        jar.learn(A, [], at(1));
        check("an answer without", &jar, &[(A, Some("retried"))]);
        jar.learn(B, [b"own".as_slice()], at(2));
        check(
            "each its own",
            &jar,
            &[(A, Some("retried")), (B, Some("own")), ("https://GATEWAY.example", None)],
        );
    }

    /// The origin that was unused for the longest goes first.
    #[test]
    fn a_full_jar_drops_the_least_used() {
        fn learn(jar: &mut NonceJar, origin: &str) {
            jar.learn(origin, [b"n".as_slice()], at(0));
        }
        type Touch = fn(&mut NonceJar);
        let rows: [(&str, Touch, [bool; 3]); 4] = [
            ("the first learnt", |_| {}, [false, true, true]),
            ("asked for is used", |jar| drop(jar.current(A).cloned()), [true, false, true]),
            (
                "learnt again is used",
                |jar| drop(jar.learn(A, [b"m".as_slice()], at(1)).cloned()),
                [true, false, true],
            ),
            ("learnt nothing is not", |jar| drop(jar.learn(A, [], at(1)).cloned()), [false, true, true]),
        ];
        for (name, touch, expect) in rows {
            let mut jar = jar(2);
            learn(&mut jar, A);
            learn(&mut jar, B);
            touch(&mut jar);
            learn(&mut jar, C);
            assert_eq!([A, B, C].map(|origin| jar.clone().current(origin).is_some()), expect, "{name}");
        }
        let mut jar = NonceJar::default();
        (0..=100).for_each(|i| learn(&mut jar, &format!("https://{i}.example")));
        assert_eq!(jar.save().nonces.len(), 100);
        check("101 origins", &jar, &[("https://0.example", None), ("https://1.example", Some("n"))]);
    }

    /// A7, LIM-12: what one process saves at 1 000 and another restores.
    #[test]
    fn a_saved_nonce_is_restored_while_it_is_young() {
        let known = Some("known");
        // Origin, nonce, received at; then what a jar has that knew A since 1 000.
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
            jar.learn(A, [b"known".as_slice()], at(1000));
            jar.restore(saved([row]), at(1000));
            check(name, &jar, &[(A, known), (row.0, expect)]);
        }
        let mut late = jar(9);
        late.learn(A, [b"known".as_slice()], at(998));
        late.restore(
            saved([(A, "newer", 999), (B, "older", 997), (B, "newest", 999), (B, "old", 998)]),
            at(1000),
        );
        check("newer ones", &late, &[(A, Some("newer")), (B, Some("newest"))]);
        let half = at(1000) + Duration::from_millis(500);
        late.restore(saved([(C, "saved", 401)]), half);
        check("599.5 s old", &late, &[(C, Some("saved"))]);
    }

    /// What was saved gives way to what this process uses.
    #[test]
    fn a_restored_nonce_is_the_first_to_go() {
        let mut jar = jar(2);
        jar.learn(A, [b"a".as_slice()], at(0));
        jar.restore(saved([(B, "b", 0), (C, "c", 0)]), at(0));
        check("the later used of the two fits", &jar, &[(A, Some("a")), (B, None), (C, Some("c"))]);
        jar.learn(B, [b"new".as_slice()], at(0));
        check("and goes before what was known", &jar, &[(A, Some("a")), (B, Some("new")), (C, None)]);
    }

    /// What a server hands out that is longer than most: as long as it was allowed to be.
    #[test]
    fn limits_are_settings() {
        let limits = JarLimits { nonce: 1000, max_age: Duration::from_secs(5), ..JarLimits::default() };
        let mut jar = NonceJar::new(limits);
        let text = "n".repeat(1000);
        assert!(jar.learn(A, [text.as_bytes()], at(0)).is_some());
        assert!(jar.learn(B, [format!("{text}n").as_bytes()], at(0)).is_none());
        for (now, expect) in [(4, true), (5, false)] {
            let mut next = NonceJar::new(limits);
            next.restore(jar.save(), at(now));
            assert_eq!((next.knows(A), next.knows(B)), (expect, false), "{now}");
        }
    }

    /// The file's shape, and that a nonce is not printed.
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

    /// DPP-14, DPP-15, DPP-17, ERR-07
    #[test]
    fn a_challenge_is_answered_once() {
        use AfterChallenge::{AlreadyRetried, NoNonce, Retry, SameNonce};
        use Attempt::First;
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
    enum Step {
        Learn(usize, Vec<&'static str>),
        Ask(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let values = prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "", "e f"]), 0..=2);
        let learn = (0..5_usize, values).prop_map(|(origin, values)| Step::Learn(origin, values));
        prop::collection::vec(prop_oneof![3 => learn, 1 => (0..5_usize).prop_map(Step::Ask)], 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 256, failure_persistence: None, ..ProptestConfig::default()
        })]

        /// DPP-05, DPP-12, A7: after any answers the jar is the map of the latest nonces, less what was
        /// unused for the longest, and the next process has the same jar.
        #[test]
        fn the_jar_is_a_map_of_the_latest(capacity in 1..=6_usize, steps in steps()) {
            let mut jar = jar(capacity);
            let mut latest: HashMap<String, (&str, usize)> = HashMap::new();
            let mut now = at(0);
            for (tick, step) in steps.into_iter().enumerate() {
                now = at(tick as u64);
                match step {
                    Step::Learn(origin, values) => {
                        let origin = format!("https://{origin}.example");
                        jar.learn(&origin, values.iter().map(|value| value.as_bytes()), now);
                        if let [value @ ("a" | "b" | "c" | "d")] = values[..] {
                            latest.insert(origin, (value, tick));
                        }
                    }
                    Step::Ask(origin) => {
                        let origin = format!("https://{origin}.example");
                        let expect = latest.get_mut(&origin).map(|kept| { kept.1 = tick; kept.0 });
                        prop_assert_eq!(jar.current(&origin).map(Nonce::as_str), expect);
                    }
                }
                if latest.len() > capacity {
                    let (oldest, _) = latest.iter().min_by_key(|(_, (_, tick))| *tick).unwrap();
                    latest.remove(&oldest.clone());
                }
            }
            for i in 0..5 {
                let origin = format!("https://{i}.example");
                let expect = latest.get(&origin).map(|kept| kept.0);
                let mut jar = jar.clone();
                prop_assert_eq!(jar.current(&origin).map(Nonce::as_str), expect);
            }
            let mut next = NonceJar::new(jar.limits);
            next.restore(jar.save(), now);
            prop_assert_eq!(&next, &jar);
            next.restore(jar.save(), now);
            prop_assert_eq!(next, jar);
        }
    }
}
