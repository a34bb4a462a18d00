//! Replay detection: a record of the accepted proofs that are still valid, which ensures that no proof is
//! accepted twice and no holder has more valid proofs than allowed (RFC 9449, 11.1).
//!
//! While the `iat` of a proof lies in the server's window, the proof is itself a bearer credential: an
//! attacker who intercepts it can send the same bytes again. RFC 9449, 11.1 requires that the server remember
//! the `jti` of each accepted proof for that time and reject it when it is repeated. The records need memory,
//! so their number is limited, for each [`ProofHolder`] and in total.
//!
//! [`ReplayStore`] is the trait of all stores and documents their guarantees. [`ReplayCache`] is the
//! in-memory implementation. It reads no clock and checks neither signature nor nonce nor any claim except
//! `iat`. It is the last check: a proof that was rejected for another reason is never recorded. Its lifetime
//! is that of the process. A restarted server generates a new nonce secret, which invalidates all older
//! proofs. If the secret outlives the process ([`NonceKey::from_bytes`](crate::nonce::NonceKey::from_bytes)),
//! the store has to as well.
//!
//! # Validity of a proof
//!
//! A proof is valid from its acceptance while its `iat` lies in the store's [`ProofWindow`], both bounds
//! included. It expires one nanosecond after `iat + past`. A proof with an `iat` in the future is valid
//! longer accordingly. Its record is removed at that moment, never before. Callers cannot pass another
//! window: a proof that was recorded with one window and checked with another could be admitted twice.
//!
//! # Clock steps and changes of the window
//!
//! The cache keeps records whose `iat` lies in the window or is ahead of it by at most the window's length.
//! Other records are removed. Their memory is freed, but their `iat` stays in a small set of time spans, and
//! a proof with an `iat` in one of the spans is rejected as [`ReplayError::Expired`]. The consequences:
//!
//! - *A step forward*: the removed records lie before the window, where proofs are invalid anyway. No effect.
//! - *A step back* by *s* seconds: proofs with an `iat` whose records were removed are rejected, although
//!   they are valid, for at most *s* seconds (plus the window's length if records ahead of the window were
//!   removed). If *s* is less than `past`, proofs that are created after the step are not affected. A tiny
//!   step back also occurs without a clock error: two threads read the clock in one order and call the store
//!   in the other.
//! - *A step far ahead and back*, for example by a year: the step ahead removes all records, and the step
//!   back removes the records that were added in between. Memory is freed at once, so no client is locked out
//!   by a limit. Two time spans remain in which proofs are rejected: the one before the step, until its
//!   proofs would have expired anyway, and, a year later, the one during which the clock was wrong. Times
//!   between them are unaffected, because the cache stores a set of spans and not only the latest time.
//! - *A wider window* ([`ReplayCache::set_window`]): proofs whose records were removed because of the
//!   narrower window stay rejected. This lasts as long as the difference between the windows.
//!
//! # Cost
//!
//! An admission computes two SHA-256 hashes of short strings and makes three lookups: one in each of two hash
//! tables, and one in a tree with one entry for each second of the window (61 entries for the default
//! window). Each record is removed once, by the first call after its expiry, so the work of a call is
//! proportional to the number of records that expired since the previous call. Calling
//! [`ReplayCache::remove_expired`] on a timer limits it. If all records have expired, the tables are dropped
//! as a whole. Their size is limited by [`ReplayLimits`], see [`ReplayCache::BYTES_PER_PROOF`].

#[cfg(any(test, feature = "contract-tests"))]
pub mod contract;
mod forgotten_times;
#[cfg(test)]
mod model;
mod proof_holder;
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

use self::forgotten_times::ForgottenTimes;
pub use self::{
    proof_holder::ProofHolder,
    store::{AdmitFuture, ReplayStore},
};
use crate::{ProofWindow, Thumbprint, UnixTime, time::IatTiming};

/// The maximum numbers of valid proofs. Zero counts as one, because a wait time requires at least one valid
/// proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplayLimits {
    /// The maximum per account, over all its keys and clients ([`ProofHolder::Account`]).
    pub per_account: usize,
    /// The maximum per source if the account is not known yet ([`ProofHolder::Source`]). It prevents one host
    /// with a new key for each request from using up the total. Set it far below `total`.
    pub per_source: usize,
    /// The maximum over all holders.
    pub total: usize,
}

/// 600 per holder, which is 20 requests a second with a window of 30 s; 100,000 in total, which takes 11 MB
/// ([`ReplayCache::TYPICAL_BYTES_PER_PROOF`]).
impl Default for ReplayLimits {
    fn default() -> Self {
        Self { per_account: 600, per_source: 600, total: 100_000 }
    }
}

/// A proof that has passed all other checks.
#[derive(Clone, Copy, Debug)]
pub struct ReplayCandidate<'a> {
    /// The RFC 7638 thumbprint of the key that signed the proof.
    pub key: &'a Thumbprint,
    /// The claim `jti`, compared byte by byte.
    pub jti: &'a str,
    /// The holder against whose limit the proof counts.
    pub holder: ProofHolder<'a>,
    /// The claim `iat`, in seconds since the epoch.
    pub iat: u64,
}

/// The reason why a proof is not admitted. A rejected proof is not recorded and does not count against any
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A proof with this `jti` and this key was accepted and is still valid: `invalid_dpop_proof`.
    #[error("this jti was used before")]
    Replayed,
    /// The proof has expired, or its record may have been removed already: `invalid_dpop_proof`.
    #[error("the proof has expired")]
    Expired,
    /// The `iat` of the proof is after the end of the window: `invalid_dpop_proof`.
    #[error("the proof's `iat` is too far in the future")]
    TooFarAhead,
    /// The account has the maximum number of valid proofs. This is not an authentication error: respond with
    /// 429 and [`Retry-After`](Self::retry_after).
    #[error("proof not admitted: its account has the maximum number of valid proofs; retry later")]
    AccountFull {
        /// The time from `now` until the account's oldest proof has expired.
        wait: Duration,
    },
    /// The source has the maximum number of valid proofs. Respond as for [`AccountFull`](Self::AccountFull).
    #[error("proof not admitted: its source has the maximum number of valid proofs; retry later")]
    SourceFull {
        /// The time from `now` until the source's oldest proof has expired.
        wait: Duration,
    },
    /// The store has the maximum number of valid proofs. This is not an authentication error: respond with
    /// 503 and [`Retry-After`](Self::retry_after).
    #[error("proof not admitted: the store has the maximum number of valid proofs; retry later")]
    Full {
        /// The time from `now` until the oldest proof has expired.
        wait: Duration,
    },
    /// The store is unavailable, so replays cannot be detected. Respond with 503; never let the request pass.
    #[error("proof not admitted: the replay store is unavailable; retry later")]
    Unavailable,
}

impl ReplayError {
    /// Returns the value of `Retry-After` in whole seconds, rounded up, at least 1. Returns `None` if waiting
    /// does not help, and for [`Unavailable`](Self::Unavailable), because only the server can estimate how
    /// long that lasts.
    ///
    /// After this time a proof can be admitted, unless other proofs were admitted in the meantime. A proof
    /// that expires in exactly 30 s gives 31, because it is still valid at that moment.
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

/// The valid proofs, in the memory of one process. The module documentation describes the rules.
///
/// Use one per server and purpose: that of a resource server limits accounts; that of an authorization server
/// has its own window and limits and counts sources. To share it between threads, use a
/// [`Mutex`](std::sync::Mutex), which implements [`ReplayStore`].
#[derive(Debug)]
pub struct ReplayCache {
    window: ProofWindow,
    limits: ReplayLimits,
    names: HashSet<RecordHash>,
    /// The same records, grouped by their `iat`.
    by_iat: BTreeMap<u64, Vec<CacheRecord>>,
    /// The `iat` of each holder's records, in ascending order. Invariant: never empty, and the capacity is at
    /// most four times the length.
    holders: HashMap<RecordHash, VecDeque<u64>>,
    forgotten_times: ForgottenTimes,
}

#[derive(Debug)]
struct CacheRecord {
    name: RecordHash,
    holder: RecordHash,
}

/// The first half of a SHA-256: of a key's thumbprint followed by a `jti`, or of the identity of a holder.
///
/// 16 bytes are enough because a collision only causes a rejection. An attacker who wants the proof of
/// another client rejected needs a second preimage: 2^128 attempts. An attacker who finds two own proofs with
/// the same hash (2^64 attempts) has one of them rejected. Among 100,000 valid proofs a collision by chance
/// has a probability of 10^-29. The thumbprint has a fixed length, so the boundary between key and `jti` is
/// unambiguous.
type RecordHash = [u8; 16];

impl ReplayCache {
    /// The maximum memory for each proof that [`ReplayLimits::total`] allows, for any input: 44 MB with the
    /// default. It assumes one proof per holder, distinct `iat` values and tables that have just doubled.
    /// While a table doubles, its previous size is added.
    pub const BYTES_PER_PROOF: usize = 440;

    /// The memory per proof with a window of 30 s on either side and 600 proofs per holder: 11 MB with the
    /// default.
    pub const TYPICAL_BYTES_PER_PROOF: usize = 110;

    /// Creates an empty cache.
    #[must_use]
    pub fn new(window: ProofWindow, limits: ReplayLimits) -> Self {
        Self {
            window,
            limits,
            names: HashSet::new(),
            by_iat: BTreeMap::new(),
            holders: HashMap::new(),
            forgotten_times: ForgottenTimes::default(),
        }
    }

    /// Returns the window of this cache. Check the claims with the same window.
    #[must_use]
    pub const fn window(&self) -> ProofWindow {
        self.window
    }

    /// Replaces the window. No proof is admitted twice because of the change, see the module documentation.
    /// The next call removes the records outside of a narrower window.
    pub const fn set_window(&mut self, window: ProofWindow) {
        self.window = window;
    }

    /// Admits and records a proof, or returns the reason for rejecting it.
    ///
    /// The order of the checks: the proof's time, replay, the holder's limit, the total limit. A replay is
    /// therefore reported as a replay even if a limit is reached.
    ///
    /// # Errors
    /// Returns a [`ReplayError`]. A rejected proof is not recorded.
    pub fn admit(&mut self, proof: &ReplayCandidate<'_>, now: UnixTime) -> Result<(), ReplayError> {
        self.remove_expired(now);
        match self.window.classify_iat(proof.iat, now) {
            IatTiming::TooOld => return Err(ReplayError::Expired),
            IatTiming::TooEarly => return Err(ReplayError::TooFarAhead),
            IatTiming::Within if self.forgotten_times.contains(proof.iat) => {
                return Err(ReplayError::Expired);
            }
            IatTiming::Within => {}
        }
        let name = truncate_hash(Sha256::new().chain_update(proof.key.as_bytes()).chain_update(proof.jti));
        if self.names.contains(&name) {
            return Err(ReplayError::Replayed);
        }
        let holder = proof.holder.record_hash();
        if let Some(iats) = self.holders.get(&holder)
            && iats.len() >= proof.holder.max_proofs(&self.limits)
            && let Some(earliest) = iats.front()
        {
            return Err(proof.holder.limit_error(self.window.wait_until_expired(*earliest, now)));
        }
        if self.names.len() >= self.limits.total
            && let Some((earliest, _)) = self.by_iat.first_key_value()
        {
            return Err(ReplayError::Full { wait: self.window.wait_until_expired(*earliest, now) });
        }
        self.names.insert(name);
        self.by_iat.entry(proof.iat).or_default().push(CacheRecord { name, holder });
        let iats = self.holders.entry(holder).or_default();
        iats.insert(iats.partition_point(|other| *other <= proof.iat), proof.iat);
        Ok(())
    }

    /// Removes the records that have expired at `now`. [`ReplayCache::admit`] calls it; call it directly
    /// before reading counts, and on a timer while there are no requests.
    pub fn remove_expired(&mut self, now: UnixTime) {
        let retention = RetentionWindow { window: self.window, now };
        if let Some((last, _)) = self.by_iat.last_key_value()
            && retention.is_expired(*last)
        {
            // All records have expired. Dropping the tables is faster than removing each record, and frees
            // the memory.
            self.by_iat.keys().for_each(|iat| self.forgotten_times.insert(*iat, retention));
            (self.names, self.by_iat, self.holders) = Default::default();
        }
        while let Some(first) = self.by_iat.first_entry()
            && retention.is_expired(*first.key())
        {
            let (iat, records) = first.remove_entry();
            self.remove_records(iat, &records, retention);
        }
        while let Some(last) = self.by_iat.last_entry()
            && retention.is_too_far_ahead(*last.key())
        {
            let (iat, records) = last.remove_entry();
            self.remove_records(iat, &records, retention);
        }
    }

    /// Returns the number of valid proofs, as of `now` of the last call.
    #[must_use]
    pub fn proof_count(&self) -> usize {
        self.names.len()
    }

    /// Returns the number of this holder's valid proofs, as of `now` of the last call.
    #[must_use]
    pub fn proof_count_for(&self, holder: &ProofHolder<'_>) -> usize {
        self.holders.get(&holder.record_hash()).map_or(0, VecDeque::len)
    }

    /// Returns the number of holders with valid proofs, as of `now` of the last call.
    #[must_use]
    pub fn holder_count(&self) -> usize {
        self.holders.len()
    }

    fn remove_records(&mut self, iat: u64, records: &[CacheRecord], retention: RetentionWindow) {
        self.forgotten_times.insert(iat, retention);
        for CacheRecord { name, holder } in records {
            self.names.remove(name);
            let Some(iats) = self.holders.get_mut(holder) else { continue };
            // Records expire in the order of their `iat`, so the expired one is usually the first. After a
            // clock step it is the last one.
            if iats.front() == Some(&iat) {
                iats.pop_front();
            } else {
                iats.pop_back();
            }
            if iats.is_empty() {
                self.holders.remove(holder);
            } else if iats.capacity() > 4 * iats.len() {
                // Without this, each holder would keep the memory of its busiest half minute.
                iats.shrink_to(2 * iats.len());
            }
        }
    }
}

/// The span of `iat` values whose records the cache keeps at a given time.
#[derive(Clone, Copy)]
struct RetentionWindow {
    window: ProofWindow,
    now: UnixTime,
}

impl RetentionWindow {
    /// Returns true if a proof with this `iat` has expired.
    fn is_expired(self, iat: u64) -> bool {
        self.window.classify_iat(iat, self.now) == IatTiming::TooOld
    }

    /// Returns true if an `iat` is ahead of the window by more than the window's length, which happens if the
    /// clock was set back. Records that are ahead by less are kept.
    fn is_too_far_ahead(self, iat: u64) -> bool {
        let ProofWindow { past, future } = self.window;
        UnixTime::from_secs(iat) > self.now + future + past.saturating_add(future)
    }
}

fn truncate_hash(hash: Sha256) -> RecordHash {
    let digest = hash.finalize();
    let mut name = RecordHash::default();
    name.copy_from_slice(&digest[..size_of::<RecordHash>()]);
    name
}
