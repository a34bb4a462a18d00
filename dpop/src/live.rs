//! Live proofs: which proofs were accepted and still count, so that none is accepted twice and nobody
//! holds more of them than allowed (RFC 9449, 11.1).
//!
//! A proof is a bearer of its own for as long as its `iat` lies in the server's window: whoever reads it
//! on the way can send the very same bytes again. RFC 9449, 11.1 has the server remember the `jti` of each
//! accepted proof for that long and refuse it the second time. What is remembered takes room, so room is
//! capped, for each [`Holder`] and in all.
//!
//! [`ReplayStore`] is the seam and says what every store keeps; [`LiveProofs`] is a structure in memory, and
//! nothing else. It reads no clock, checks no signature, no claim but `iat` and no nonce, and is asked last: a
//! proof refused for anything else never gets here. It lives as long as its process; a server that restarts
//! takes a new secret for its nonces, and with them every older proof is void. Where the secret outlives the
//! process ([`NonceKey::from_bytes`](crate::nonce::NonceKey::from_bytes)) the store has to, as well.
//!
//! # When a proof counts
//!
//! From acceptance while its `iat` lies in the store's [`Window`], both bounds exact, and no longer one
//! nanosecond after `iat + past`, its end. A proof from the future counts longer accordingly. Its record is
//! forgotten at that moment, never before. No caller says how long: a proof that was remembered by one window
//! and asked about by another could be admitted twice.
//!
//! # When the clock is wrong, or the window another
//!
//! The records held are those whose `iat` lies in the window, or ahead of it by no more than the window's
//! length. Whatever falls out of that span, at either side, is forgotten: its room is free, but its `iat` stays
//! behind in a handful of spans, and a proof with an `iat` in one of them is [`LiveRefusal::Expired`]. So:
//!
//! - *Forwards*: what is forgotten lies before the window, where no proof counts anyway. Nobody notices.
//! - *A step back* of *s* seconds: some proofs that count now have an `iat` that is forgotten already. They
//!   are refused for at most *s* seconds, or *s* and the window's length where some fell out ahead; while
//!   *s* is below `past` a proof issued now is not among them. Two threads that read the clock in
//!   one order and arrive in the other are the same case, a thousand times smaller.
//! - *Far ahead and back*, say a year: at the step ahead everything held is forgotten, at the step back
//!   everything accepted in between. Room is free at once, so no cap locks anyone out. Refused are
//!   the times of the first lot, for no longer than their proofs would have counted, and those of the
//!   second in a year's time, for as long as the accident took. The time between the two stays open,
//!   because what is forgotten is a set of times, not the latest one seen.
//! - *A wider window* ([`LiveProofs::set_window`]): what the narrower one had forgotten stays forgotten, for as
//!   long as the window was widened by.
//!
//! # What it costs
//!
//! An admission is two SHA-256 of short text, a look-up in each of two hash tables and one in a tree with
//! as many entries as there are different times (61 with 30 s either side: `iat` has whole seconds). Each record
//! is removed once, by the first call after its end, so a call's work is in proportion to what ended since
//! the call before: with [`LiveProofs::forget`] on a timer never more than the timer's interval. When that
//! is everything, the tables are dropped as they are. They grow to what the caps allow and no further, see
//! [`LiveProofs::BYTES_PER_PROOF`].

#[cfg(any(test, feature = "contract-tests"))]
pub mod contract;
mod forgotten;
mod holder;
#[cfg(test)]
mod model;
#[cfg(test)]
mod properties;
mod store;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use sha2::{Digest, Sha256};

use self::forgotten::Forgotten;
pub use self::{
    holder::Holder,
    store::{Admission, ReplayStore},
};
use crate::{Thumbprint, UnixTime, Window, time::Timing};

/// How many proofs may be live at once. Zero counts as one: something live is needed to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caps {
    /// Of one account, over all its keys and clients ([`Holder::Account`]).
    pub per_account: usize,
    /// Of one source, where no account is known yet ([`Holder::Source`]): what keeps one host with a new key
    /// for each request from taking everybody's room. Far below `total`.
    pub per_source: usize,
    /// In all.
    pub total: usize,
}

/// 600 for each holder, which is 20 requests a second with a window of 30 s; 100 000 in all, which takes
/// 11 MB ([`LiveProofs::USUAL_BYTES_PER_PROOF`]).
impl Default for Caps {
    fn default() -> Self {
        Self { per_account: 600, per_source: 600, total: 100_000 }
    }
}

/// A proof that has passed every other check.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The RFC 7638 thumbprint of the key it is signed with.
    pub key: &'a Thumbprint,
    /// Its `jti`, as it stands in the claims: compared byte by byte.
    pub jti: &'a str,
    /// Whose room it takes.
    pub holder: Holder<'a>,
    /// Its `iat`, in seconds since the epoch.
    pub iat: u64,
}

/// Why a proof is not admitted. It has taken no room and left no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LiveRefusal {
    /// A proof with this `jti`, by this key, was accepted and still counts: `invalid_dpop_proof`.
    #[error("this jti was used before")]
    Replayed,
    /// It no longer counts, or its record would be forgotten already: `invalid_dpop_proof`.
    #[error("the proof's time is over")]
    Expired,
    /// It does not count yet: `invalid_dpop_proof`.
    #[error("the proof's time is too far ahead")]
    TooFarAhead,
    /// The account has as many live proofs as allowed: no matter of authentication, 429 with
    /// [`Retry-After`](Self::retry_after).
    #[error("the account has too many live proofs")]
    AccountFull {
        /// From `now` to the first moment at which the account's earliest proof no longer counts.
        wait: Duration,
    },
    /// The source has as many live proofs as allowed: as above.
    #[error("the source has too many live proofs")]
    SourceFull {
        /// From `now` to the first moment at which the source's earliest proof no longer counts.
        wait: Duration,
    },
    /// There are as many live proofs as allowed: no matter of authentication, 503 with
    /// [`Retry-After`](Self::retry_after).
    #[error("there are too many live proofs")]
    Full {
        /// From `now` to the first moment at which the earliest proof no longer counts.
        wait: Duration,
    },
    /// The store could not be asked, so nobody knows: 503. Never a reason to let a request pass.
    #[error("the store of live proofs cannot be asked")]
    Unavailable,
}

impl LiveRefusal {
    /// The value of `Retry-After`: whole seconds, rounded up, at least 1; `None` where waiting is no cure, and
    /// for [`Unavailable`](Self::Unavailable), of which only the server knows how long it may take.
    ///
    /// Whoever waits this long finds room, unless others took it. That is why 30 s to the very end of a
    /// proof are 31: at the end it still counts.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::AccountFull { wait } | Self::SourceFull { wait } | Self::Full { wait } => {
                Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
            }
            Self::Replayed | Self::Expired | Self::TooFarAhead | Self::Unavailable => None,
        }
    }
}

/// The proofs that count now, in the memory of one process. See the module for the rules.
///
/// One per server and task: a resource server's counts accounts, an authorization server's has a window and
/// caps of its own and counts sources. Shared between threads in a [`Mutex`](std::sync::Mutex), which is a
/// [`ReplayStore`].
#[derive(Debug)]
pub struct LiveProofs {
    window: Window,
    caps: Caps,
    names: HashSet<Name>,
    /// The same records by their `iat`.
    by_iat: BTreeMap<u64, Vec<Record>>,
    /// The `iat` of each holder's records, earliest first; never empty, never room for more than four times
    /// as many.
    holders: HashMap<Name, VecDeque<u64>>,
    forgotten: Forgotten,
}

#[derive(Debug)]
struct Record {
    name: Name,
    holder: Name,
}

/// The first half of a SHA-256: of a key's thumbprint followed by a `jti`, or of what tells a holder.
///
/// 16 bytes are enough, because equal names only ever refuse more. Whoever wants another's proof refused
/// must hit its name with a key of his own: 2^128 tries. Whoever finds two proofs of his own with one
/// name (2^64 tries) has one of them refused. By chance it happens among 100 000 live proofs with a
/// probability of 10^-29. The thumbprint has a fixed length, so key and `jti` cannot be shifted into each
/// other. For a holder, 16 bytes are no more than a pointer and a length to the text would be.
type Name = [u8; 16];

impl LiveProofs {
    /// No more memory than this for each proof that `caps.total` allows, whatever they are: 44 MB with the
    /// default. That is with one proof per holder, no two with the same `iat` and all tables just doubled;
    /// while one is being doubled, its old half comes on top.
    pub const BYTES_PER_PROOF: usize = 440;

    /// The same for a window of 30 s either side and 600 proofs per holder: 11 MB with the default.
    pub const USUAL_BYTES_PER_PROOF: usize = 110;

    /// Nothing is live yet.
    #[must_use]
    pub fn new(window: Window, caps: Caps) -> Self {
        Self {
            window,
            caps,
            names: HashSet::new(),
            by_iat: BTreeMap::new(),
            holders: HashMap::new(),
            forgotten: Forgotten::default(),
        }
    }

    /// The window that it goes by: the one to check claims with.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    /// Goes by another window from now on. Nothing is admitted twice by it, see the module; of what a narrower
    /// window no longer holds, the room is free with the next call.
    pub const fn set_window(&mut self, window: Window) {
        self.window = window;
    }

    /// Admits the proof, which counts from then on, or says why not.
    ///
    /// The checks in their order: the proof's time, replay, the cap of its holder, the cap of all. A replay is
    /// refused as such even when there is no room.
    ///
    /// # Errors
    /// See [`LiveRefusal`]. A refused proof takes no room and leaves no trace.
    pub fn admit(&mut self, proof: &Candidate<'_>, now: UnixTime) -> Result<(), LiveRefusal> {
        self.forget(now);
        match self.window.timing(proof.iat, now) {
            Timing::Old => return Err(LiveRefusal::Expired),
            Timing::Early => return Err(LiveRefusal::TooFarAhead),
            Timing::Within if self.forgotten.contains(proof.iat) => return Err(LiveRefusal::Expired),
            Timing::Within => {}
        }
        let name = name_of(Sha256::new().chain_update(proof.key.as_bytes()).chain_update(proof.jti));
        if self.names.contains(&name) {
            return Err(LiveRefusal::Replayed);
        }
        let holder = proof.holder.name();
        if let Some(iats) = self.holders.get(&holder)
            && iats.len() >= proof.holder.cap(&self.caps)
            && let Some(earliest) = iats.front()
        {
            return Err(proof.holder.full(self.window.wait(*earliest, now)));
        }
        if self.names.len() >= self.caps.total
            && let Some((earliest, _)) = self.by_iat.first_key_value()
        {
            return Err(LiveRefusal::Full { wait: self.window.wait(*earliest, now) });
        }
        self.names.insert(name);
        self.by_iat.entry(proof.iat).or_default().push(Record { name, holder });
        let iats = self.holders.entry(holder).or_default();
        iats.insert(iats.partition_point(|other| *other <= proof.iat), proof.iat);
        Ok(())
    }

    /// Forgets what no longer counts at `now`. [`LiveProofs::admit`] does so by itself; on its own it is
    /// for counts without an admission, and for a server that rests.
    pub fn forget(&mut self, now: UnixTime) {
        let held = Held { window: self.window, now };
        if let Some((last, _)) = self.by_iat.last_key_value()
            && held.is_over(*last)
        {
            // All of it is over: cheaper than one by one, and the memory is given back.
            self.by_iat.keys().for_each(|iat| self.forgotten.add(*iat, held));
            (self.names, self.by_iat, self.holders) = Default::default();
        }
        while let Some(first) = self.by_iat.first_entry()
            && held.is_over(*first.key())
        {
            let (iat, records) = first.remove_entry();
            self.forget_all(iat, &records, held);
        }
        while let Some(last) = self.by_iat.last_entry()
            && held.is_out_of_reach(*last.key())
        {
            let (iat, records) = last.remove_entry();
            self.forget_all(iat, &records, held);
        }
    }

    /// How many proofs count, as of the last call's `now`.
    #[must_use]
    pub fn live(&self) -> usize {
        self.names.len()
    }

    /// How many of this holder's proofs count, as of the last call's `now`.
    #[must_use]
    pub fn live_of(&self, holder: &Holder<'_>) -> usize {
        self.holders.get(&holder.name()).map_or(0, VecDeque::len)
    }

    /// How many holders have proofs that count, as of the last call's `now`.
    #[must_use]
    pub fn holders(&self) -> usize {
        self.holders.len()
    }

    fn forget_all(&mut self, iat: u64, records: &[Record], held: Held) {
        self.forgotten.add(iat, held);
        for Record { name, holder } in records {
            self.names.remove(name);
            let Some(iats) = self.holders.get_mut(holder) else { continue };
            // In order of time it is the holder's first, else, the clock having been ahead, its last.
            if iats.front() == Some(&iat) {
                iats.pop_front();
            } else {
                iats.pop_back();
            }
            if iats.is_empty() {
                self.holders.remove(holder);
            } else if iats.capacity() > 4 * iats.len() {
                // Or each holder would keep the room of its busiest half minute.
                iats.shrink_to(2 * iats.len());
            }
        }
    }
}

/// Which records are held at a moment.
#[derive(Clone, Copy)]
struct Held {
    window: Window,
    now: UnixTime,
}

impl Held {
    /// Whether the time of a proof with this `iat` is over.
    fn is_over(self, iat: u64) -> bool {
        self.window.timing(iat, self.now) == Timing::Old
    }

    /// Whether an `iat` lies ahead of the window by more than the window's length: the clock was stepped back.
    /// A proof that was admitted when the clock was ahead by less is still known as itself.
    fn is_out_of_reach(self, iat: u64) -> bool {
        let Window { past, future } = self.window;
        UnixTime::from_secs(iat) > self.now + future + past.saturating_add(future)
    }
}

fn name_of(hash: Sha256) -> Name {
    let digest = hash.finalize();
    let mut name = Name::default();
    name.copy_from_slice(&digest[..size_of::<Name>()]);
    name
}
