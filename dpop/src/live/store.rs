//! The seam to wherever proofs are remembered: one process's memory, or a store that several share.

use std::sync::{Arc, Mutex};

use super::{Candidate, LiveProofs, LiveRefusal};
use crate::{Pending, UnixTime, Window};

/// The answer of a [`ReplayStore`]: there, or on its way.
pub type Admission<'a> = Pending<'a, Result<(), LiveRefusal>>;

/// Where proofs are remembered, so that none is accepted twice (RFC 9449, 11.1).
///
/// [`LiveProofs`] behind a [`Mutex`] is one, for a server that is one process. As soon as two processes
/// accept each other's nonces, and be it that there are no nonces, each would admit the same proof once: they
/// need a store that they share.
///
/// # What every store keeps
///
/// The module `live::contract` (feature `contract-tests`) has these rules as tests for whoever writes one.
///
/// - *One step*: look-up, caps and record are atomic. Of a hundred equal proofs at once, in whichever
///   processes, one is admitted.
/// - *Order*: the proof's time, replay, the cap of its holder, the cap of all. A replay is one whether or not
///   there is room.
/// - *No trace*: what is refused takes no room and is not remembered; it may come again and be admitted.
/// - *Time*: a proof counts while its `iat` lies in [`window`](Self::window), both bounds included, takes room
///   for so long and no longer, and is refused after it. Waits are from `now` to the first moment at which the
///   earliest proof that is in the way no longer counts.
/// - *Never twice*: neither a clock that steps back nor a window that is widened admits a proof again. A store
///   that goes by its callers' clocks remembers proofs for longer than they count, by as much as those clocks
///   may be apart; it need not count them for so long.
/// - *Ids belong to keys*: the same `jti` by another key is another proof; the same by the same key is a
///   replay, whatever else it says.
/// - *Closed*: a store that cannot be asked, or does not answer in time, refuses
///   ([`LiveRefusal::Unavailable`]). That holds too where it may have recorded the proof before the answer got
///   lost: the client comes back with a new one. Why it could not be asked is the store's own to log.
pub trait ReplayStore: Send + Sync {
    /// The window that it goes by: the one to check claims with ([`Expected::window`](crate::Expected::window)).
    fn window(&self) -> Window;

    /// Admits the proof, which counts from then on, or says why not.
    ///
    /// `now` is the caller's time, the same that the claims were checked at.
    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a>;
}

/// Answers at once. A lock that is poisoned refuses: what stands behind it may be half done.
impl ReplayStore for Mutex<LiveProofs> {
    fn window(&self) -> Window {
        // A poisoned store admits nothing, whatever the window.
        self.lock().map_or_else(|poisoned| poisoned.get_ref().window(), |live| live.window())
    }

    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a> {
        Pending::ready(match self.lock() {
            Ok(mut live) => live.admit(proof, now),
            Err(_) => Err(LiveRefusal::Unavailable),
        })
    }
}

impl<S: ReplayStore + ?Sized> ReplayStore for &S {
    fn window(&self) -> Window {
        (**self).window()
    }

    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a> {
        (**self).admit(proof, now)
    }
}

impl<S: ReplayStore + ?Sized> ReplayStore for Box<S> {
    fn window(&self) -> Window {
        (**self).window()
    }

    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a> {
        (**self).admit(proof, now)
    }
}

impl<S: ReplayStore + ?Sized> ReplayStore for Arc<S> {
    fn window(&self) -> Window {
        (**self).window()
    }

    fn admit<'a>(&'a self, proof: &'a Candidate<'a>, now: UnixTime) -> Admission<'a> {
        (**self).admit(proof, now)
    }
}
