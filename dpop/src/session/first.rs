//! Who goes first to a server of which nothing is known, and who waits for that.
//!
//! Ten requests at once to a server that wants nonces are ten challenges, unless one of them goes first. That
//! one's answer, or its failure, lets the others go on; a failure makes one of them the first.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroUsize,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{Known, Transmission, lock};

/// A request's turn.
#[derive(Debug)]
#[must_use]
pub enum Turn {
    /// Send it now.
    Go(Transmission),
    /// Another one is on its way to the same server, of which nothing is known: wait for its end, then prepare
    /// anew.
    Wait(First),
}

/// Which servers have answered, and to which a first request is on its way.
#[derive(Default)]
pub(super) struct Firsts {
    /// Those that answered last stand last.
    answered: Vec<Box<str>>,
    /// Who waits for each first.
    under_way: HashMap<Box<str>, Vec<Waker>>,
}

impl Firsts {
    pub(super) fn has_answered(&self, origin: &str) -> bool {
        self.answered.iter().any(|known| **known == *origin)
    }

    pub(super) fn is_under_way(&self, origin: &str) -> bool {
        self.under_way.contains_key(origin)
    }

    /// Whether the caller is the first; there is one at a time.
    pub(super) fn claim(&mut self, origin: &str) -> bool {
        if self.is_under_way(origin) {
            return false;
        }
        self.under_way.insert(origin.into(), Vec::new());
        true
    }

    /// Who waits for a first to a server of which something is known now, whatever became of that first: to be
    /// woken when nobody holds the lock.
    #[must_use]
    pub(super) fn waiting(&mut self, is_known: impl Fn(&str) -> bool) -> Vec<Waker> {
        let known = self.under_way.iter_mut().filter(|(origin, _)| is_known(origin));
        known.flat_map(|(_, waiting)| std::mem::take(waiting)).collect()
    }

    /// Remembers the origin as one that answers; of these as many as `most`.
    pub(super) fn answered(&mut self, origin: &str, most: NonZeroUsize) {
        if self.answered.last().is_some_and(|known| **known == *origin) {
            return;
        }
        self.answered.retain(|known| **known != *origin);
        self.answered.push(origin.into());
        self.answered.drain(..self.answered.len().saturating_sub(most.get()));
    }
}

/// Being the first. Ends when it is dropped, with an answer or without.
pub(super) struct Claim {
    origin: Box<str>,
    known: Arc<Known>,
}

impl Claim {
    pub(super) fn new(origin: &str, known: &Arc<Known>) -> Self {
        Self { origin: origin.into(), known: Arc::clone(known) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let waiting = lock(&self.known).firsts.under_way.remove(&self.origin);
        wake(waiting.unwrap_or_default());
    }
}

/// Lets those go on who waited. Not under the lock: a waker may run what it wakes.
pub(super) fn wake(waiting: Vec<Waker>) {
    waiting.into_iter().for_each(Waker::wake);
}

/// The end of another request, which is the first to its server: a future, of whatever runtime. Whoever
/// awaits it prepares anew afterwards; one of those that waited may then be the first in turn.
#[must_use = "nobody waits before it is awaited"]
pub struct First {
    origin: Box<str>,
    known: Arc<Known>,
}

impl First {
    pub(super) fn new(origin: &str, known: &Arc<Known>) -> Self {
        Self { origin: origin.into(), known: Arc::clone(known) }
    }
}

impl Future for First {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.known);
        if state.is_open(&self.origin) {
            return Poll::Ready(());
        }
        match state.firsts.under_way.get_mut(&self.origin) {
            None => Poll::Ready(()),
            Some(waiting) => {
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

/// Shows the server.
impl fmt::Debug for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("First").field(&self.origin).finish()
    }
}
