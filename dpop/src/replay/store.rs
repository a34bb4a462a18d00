//! The trait of replay stores, and its implementations for a cache in memory.

use std::sync::{Arc, Mutex};

use super::{ReplayCache, ReplayCandidate, ReplayError};
use crate::{MaybeReady, ProofWindow, UnixTime};

/// The future that [`ReplayStore::admit`] returns.
pub type AdmitFuture<'a> = MaybeReady<'a, Result<(), ReplayError>>;

/// A store of accepted proofs, so that no proof is accepted twice (RFC 9449, 11.1).
///
/// A [`ReplayCache`] behind a [`Mutex`] is sufficient for a server with one process. If several processes
/// accept each other's nonces, or use no nonces, each of them would admit the same proof once; they need a
/// shared store.
///
/// # Requirements of an implementation
///
/// The module `replay::contract` (feature `contract-tests`) tests these requirements.
///
/// - *Atomicity*: lookup, limits and record are one atomic step. Of a hundred concurrent equal proofs, in any
///   processes, exactly one is admitted.
/// - *Order*: the proof's time, replay, the holder's limit, the total limit. A replay is reported as a
///   replay, whether or not a limit is reached.
/// - *No trace*: a rejected proof is not recorded and does not count; it may be admitted later.
/// - *Time*: a proof is valid while its `iat` lies in [`window`](Self::window), both bounds included. It
///   counts against the limits for exactly that time and is rejected afterwards. Wait times extend from `now`
///   until the oldest proof that counts against the limit has expired.
/// - *Never twice*: neither a clock step back nor a wider window lets a proof be admitted again. A store that
///   uses the clocks of its callers keeps records longer than proofs are valid, by the maximum difference of
///   these clocks. It need not count them for the additional time.
/// - *Ids belong to keys*: the same `jti` with another key is another proof. The same `jti` with the same key
///   is a replay, regardless of the other claims.
/// - *Fail closed*: a store that is unavailable or times out rejects the proof
///   ([`ReplayError::Unavailable`]), even if it may have recorded the proof before the response was lost; the
///   client retries with a new proof. The store logs the cause itself.
pub trait ReplayStore: Send + Sync {
    /// Returns the window of this store. Check the claims with it
    /// ([`ExpectedRequest::window`](crate::ExpectedRequest::window)).
    fn window(&self) -> ProofWindow;

    /// Admits and records a proof, or returns the reason for rejecting it.
    ///
    /// `now` is the caller's time, with which the claims were also checked.
    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a>;
}

/// Completes immediately. A poisoned lock rejects all proofs, because the cache may be inconsistent.
impl ReplayStore for Mutex<ReplayCache> {
    fn window(&self) -> ProofWindow {
        // The window is irrelevant for a poisoned cache, which admits nothing.
        self.lock().map_or_else(|poisoned| poisoned.get_ref().window(), |live| live.window())
    }

    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a> {
        MaybeReady::ready(match self.lock() {
            Ok(mut live) => live.admit(proof, now),
            Err(_) => Err(ReplayError::Unavailable),
        })
    }
}

impl<S: ReplayStore + ?Sized> ReplayStore for &S {
    fn window(&self) -> ProofWindow {
        (**self).window()
    }

    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a> {
        (**self).admit(proof, now)
    }
}

impl<S: ReplayStore + ?Sized> ReplayStore for Box<S> {
    fn window(&self) -> ProofWindow {
        (**self).window()
    }

    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a> {
        (**self).admit(proof, now)
    }
}

impl<S: ReplayStore + ?Sized> ReplayStore for Arc<S> {
    fn window(&self) -> ProofWindow {
        (**self).window()
    }

    fn admit<'a>(&'a self, proof: &'a ReplayCandidate<'a>, now: UnixTime) -> AdmitFuture<'a> {
        (**self).admit(proof, now)
    }
}
