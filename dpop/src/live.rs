//! Live proofs: which proofs were accepted and still count, so that none is accepted twice and nobody
//! holds more of them than allowed (RFC 9449, 11.1).
//!
//! A proof is a bearer of its own for as long as its `iat` lies in the server's window: whoever reads it
//! on the way can send the very same bytes again. RFC 9449, 11.1 has the server remember the `jti` of each
//! accepted proof for that long and refuse it the second time. What is remembered takes room, so room is
//! capped, per member and in all.
//!
//! This is a structure in memory and nothing else. It reads no clock, checks no signature, window or
//! nonce, and is asked last: a proof refused for anything else never gets here (DPP-19). It lives as long
//! as its process; a server that restarts takes a new secret for its nonces, and with them every older
//! proof is void (LIM-12).
//!
//! # When a proof counts
//!
//! From acceptance while `now <= iat + lifetime`, both exact, and no longer one nanosecond after that end
//! (DPP-18). A proof from the future counts longer accordingly. Its record is forgotten at that moment,
//! never before.
//!
//! # When the clock is wrong
//!
//! The records held are those with `now <= end <= now + FURTHEST_END`. Whatever falls out of that span, at
//! either side, is forgotten: its room is free, but its end stays behind in a handful of spans of
//! forgotten ends, and a proof with an end in one of them is [`LiveRefusal::Expired`]. So:
//!
//! - *Forwards*: forgotten ends lie before `now`, where no proof counts anyway. Nobody notices.
//! - *A step back* of *s* seconds: some proofs that count now have ends that are forgotten already. They
//!   are refused for at most *s* seconds, or *s* and the window's length where ends fell out ahead; while
//!   *s* is below the lifetime a proof issued now is not among them. Two threads that read the clock in
//!   one order and arrive in the other are the same case, a thousand times smaller.
//! - *Far ahead and back*, say a year: at the step ahead everything held is forgotten, at the step back
//!   everything accepted in between. Room is free at once, so neither cap locks anyone out. Refused are
//!   the ends of the first lot, for no longer than their proofs would have counted, and those of the
//!   second in a year's time, for as long as the accident took. The time between the two stays open,
//!   because what is forgotten is a set of ends, not the latest time seen.
//!
//! # What it costs
//!
//! An admission is two SHA-256 of short text, a look-up in each of two hash tables and one in a tree with
//! as many entries as there are different ends (61 at the gateway: whole seconds of `iat`). Each record
//! is removed once, by the first call after its end, so a call's work is in proportion to what ended since
//! the call before: with [`LiveProofs::forget`] on a timer never more than the timer's interval. When that
//! is everything, the tables are dropped as they are. They grow to what the caps allow and no further, see
//! [`LiveProofs::BYTES_PER_PROOF`].

mod forgotten;
#[cfg(test)]
mod model;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use sha2::{Digest, Sha256};

use self::forgotten::Forgotten;
use crate::{Thumbprint, UnixTime};

/// How many proofs may be live at once. Zero counts as one: something live is needed to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caps {
    /// Of one member, over all clients and installations.
    pub per_member: usize,
    /// In all.
    pub total: usize,
}

impl Caps {
    /// The gateway's: 600 per member, 100 000 in all (LIM-06).
    pub const GATEWAY: Self = Self { per_member: 600, total: 100_000 };
}

/// A proof that has passed every other check.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The RFC 7638 thumbprint of the key it is signed with.
    pub key: &'a Thumbprint,
    /// Its `jti`, as it stands in the claims: compared byte by byte.
    pub jti: &'a str,
    /// Whose room it takes; `None` where proofs have no member (an identity provider's endpoints).
    pub member: Option<&'a str>,
    /// Its `iat`, in seconds since the epoch.
    pub iat: u64,
    /// How long past `iat` it counts: the past side of the server's window, 30 s at the gateway.
    pub lifetime: Duration,
}

/// Why a proof is not admitted. It has taken no room and left no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LiveRefusal {
    /// A proof with this `jti`, by this key, was accepted and still counts: `invalid_dpop_proof` (ERR-08).
    #[error("this jti was used before")]
    Replayed,
    /// It no longer counts, or its record would be forgotten already: `invalid_dpop_proof` (ERR-08).
    #[error("the proof's time is over")]
    Expired,
    /// It would count for longer than [`LiveProofs::FURTHEST_END`]: `invalid_dpop_proof` (ERR-08). The
    /// window keeps such proofs away; this holds the number of ends where it does not.
    #[error("the proof's time is too far ahead")]
    TooFarAhead,
    /// The member has as many live proofs as allowed: `DPOP_PROOF_LIMIT` (ERR-09).
    #[error("the member has too many live proofs")]
    MemberFull {
        /// From `now` to the first moment at which the member's earliest proof no longer counts.
        wait: Duration,
    },
    /// There are as many live proofs as allowed: `SERVICE_UNAVAILABLE` (ERR-10).
    #[error("there are too many live proofs")]
    Full {
        /// From `now` to the first moment at which the earliest proof no longer counts.
        wait: Duration,
    },
}

impl LiveRefusal {
    /// The value of `Retry-After`: whole seconds, rounded up, at least 1; `None` where waiting is no cure.
    ///
    /// Whoever waits this long finds room, unless others took it. That is why 30 s to the very end of a
    /// proof are 31: at the end it still counts.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::MemberFull { wait } | Self::Full { wait } => {
                Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
            }
            Self::Replayed | Self::Expired | Self::TooFarAhead => None,
        }
    }
}

/// The proofs that count now. See the module for the rules.
///
/// One per server and task: a gateway's has the gateway's caps and members, an identity provider's has caps
/// of its own and no members (DPP-19). Shared between threads behind a lock.
#[derive(Debug)]
pub struct LiveProofs {
    caps: Caps,
    names: HashSet<Name>,
    /// The same records by the last moment they count.
    by_end: BTreeMap<UnixTime, Vec<Record>>,
    /// The ends of each member's records, earliest first; never empty, never room for more than four times
    /// as many.
    members: HashMap<Name, VecDeque<UnixTime>>,
    forgotten: Forgotten,
}

#[derive(Debug)]
struct Record {
    name: Name,
    member: Option<Name>,
}

/// The first half of a SHA-256: of a key's thumbprint followed by a `jti`, or of a member's name.
///
/// 16 bytes are enough, because equal names only ever refuse more. Whoever wants another's proof refused
/// must hit its name with a key of his own: 2^128 tries. Whoever finds two proofs of his own with one
/// name (2^64 tries) has one of them refused. By chance it happens among 100 000 live proofs with a
/// probability of 10^-29. The thumbprint has a fixed length, so key and `jti` cannot be shifted into each
/// other. For a member, 16 bytes are no more than a pointer and a length to the text would be.
type Name = [u8; 16];

impl LiveProofs {
    /// How far past `now` the end of a proof may lie: twice what a window of 30 s either side needs.
    pub const FURTHEST_END: Duration = Duration::from_secs(120);

    /// No more memory than this for each proof that `caps.total` allows, whatever they are: 64 MB at the
    /// gateway. That is with one proof per member, no two with the same end and all tables just doubled;
    /// while one is being doubled, its old half comes on top.
    pub const BYTES_PER_PROOF: usize = 640;

    /// The same for ends in whole seconds and 600 proofs per member: 15 MB at the gateway.
    pub const USUAL_BYTES_PER_PROOF: usize = 150;

    /// Nothing is live yet.
    #[must_use]
    pub fn new(caps: Caps) -> Self {
        Self {
            caps,
            names: HashSet::new(),
            by_end: BTreeMap::new(),
            members: HashMap::new(),
            forgotten: Forgotten::default(),
        }
    }

    /// Admits the proof, which counts from then on, or says why not.
    ///
    /// The checks in their order: the proof's time, replay, the member's cap, the cap of all. A replay is
    /// refused as such even when there is no room.
    ///
    /// # Errors
    /// See [`LiveRefusal`]. A refused proof takes no room and leaves no trace (DPP-19).
    pub fn admit(&mut self, proof: &Candidate<'_>, now: UnixTime) -> Result<(), LiveRefusal> {
        self.forget(now);
        let end = UnixTime::from_secs(proof.iat) + proof.lifetime;
        if end < now || self.forgotten.contains(end) {
            return Err(LiveRefusal::Expired);
        }
        if end > now + Self::FURTHEST_END {
            return Err(LiveRefusal::TooFarAhead);
        }
        let name = named(proof.key.as_bytes(), proof.jti);
        if self.names.contains(&name) {
            return Err(LiveRefusal::Replayed);
        }
        let member = proof.member.map(|member| named(&[], member));
        if let Some(ends) = member.and_then(|member| self.members.get(&member))
            && ends.len() >= self.caps.per_member
            && let Some(earliest) = ends.front()
        {
            return Err(LiveRefusal::MemberFull { wait: until_after(*earliest, now) });
        }
        if self.names.len() >= self.caps.total
            && let Some((earliest, _)) = self.by_end.first_key_value()
        {
            return Err(LiveRefusal::Full { wait: until_after(*earliest, now) });
        }
        self.names.insert(name);
        self.by_end.entry(end).or_default().push(Record { name, member });
        if let Some(member) = member {
            let ends = self.members.entry(member).or_default();
            ends.insert(ends.partition_point(|other| *other <= end), end);
        }
        Ok(())
    }

    /// Forgets what no longer counts at `now`. [`LiveProofs::admit`] does so by itself; on its own it is
    /// for counts without an admission, and for a server that rests.
    pub fn forget(&mut self, now: UnixTime) {
        if let Some((last, _)) = self.by_end.last_key_value()
            && *last < now
        {
            // All of it is over: cheaper than one by one, and the memory is given back.
            self.by_end.keys().for_each(|end| self.forgotten.add(*end, now));
            (self.names, self.by_end, self.members) = Default::default();
        }
        while let Some(first) = self.by_end.first_entry()
            && *first.key() < now
        {
            let (end, records) = first.remove_entry();
            self.forget_all(end, &records, now);
        }
        while let Some(last) = self.by_end.last_entry()
            && *last.key() > now + Self::FURTHEST_END
        {
            let (end, records) = last.remove_entry();
            self.forget_all(end, &records, now);
        }
    }

    /// How many proofs count, as of the last call's `now`.
    #[must_use]
    pub fn live(&self) -> usize {
        self.names.len()
    }

    /// How many of this member's proofs count, as of the last call's `now`.
    #[must_use]
    pub fn live_of(&self, member: &str) -> usize {
        self.members.get(&named(&[], member)).map_or(0, VecDeque::len)
    }

    /// How many members have proofs that count, as of the last call's `now`.
    #[must_use]
    pub fn members(&self) -> usize {
        self.members.len()
    }

    fn forget_all(&mut self, end: UnixTime, records: &[Record], now: UnixTime) {
        self.forgotten.add(end, now);
        for Record { name, member } in records {
            self.names.remove(name);
            let Some(member) = member else { continue };
            let Some(ends) = self.members.get_mut(member) else { continue };
            // In order of time it is the member's first, else, the clock having been ahead, its last.
            if ends.front() == Some(&end) {
                ends.pop_front();
            } else {
                ends.pop_back();
            }
            if ends.is_empty() {
                self.members.remove(member);
            } else if ends.capacity() > 4 * ends.len() {
                // Or each member would keep the room of its busiest half minute.
                ends.shrink_to(2 * ends.len());
            }
        }
    }
}

/// From `now` to the first moment after `end`: the end itself still counts, and time is in nanoseconds.
fn until_after(end: UnixTime, now: UnixTime) -> Duration {
    end.saturating_since(now).saturating_add(Duration::from_nanos(1))
}

fn named(key: &[u8], text: &str) -> Name {
    let digest = Sha256::new().chain_update(key).chain_update(text).finalize();
    let mut name = Name::default();
    name.copy_from_slice(&digest[..size_of::<Name>()]);
    name
}
