//! Keeping tokens fresh: one refresh at a time, in this process and among all of this installation (IDP-19).

use std::{future::Future, sync::Arc, time::Duration};

use dpop_bound::{TokenHash, clock::Reading};
use tokio::{sync::watch, task::JoinHandle};

use super::{
    inside::{Alone, Inside, Unsaved},
    stored::Refresh,
};
use crate::{
    backoff::Backoff,
    error::{Error, ErrorKind},
    oauth::Failure,
    state::{End, SessionState},
    tokens::Grant,
};

/// A refresh that is under way; it becomes `Some` with what it came to.
pub(super) type Flight = watch::Receiver<Option<Result<Grant, Error>>>;

/// How young a token is that should not have been refused.
const YOUNG: Duration = Duration::from_secs(60);
/// How often another process may have put a token in the place of the one that was just read.
const OVERTAKEN: usize = 3;

/// Something goes on by itself until this is dropped.
struct Busy(Arc<Inside>);

impl Busy {
    fn of(inside: &Arc<Inside>) -> Self {
        inside.under_way.send_modify(|number| *number += 1);
        Self(Arc::clone(inside))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|number| *number -= 1);
    }
}

/// How often the provider is asked while that does not help.
#[derive(Default)]
pub(super) struct Pace {
    /// In a row, with what the last one was and until when (by the monotonic clock) nobody asks again.
    failures: u32,
    failed: Option<(Duration, Error)>,
    /// New tokens that the gateway refused in a row, and until when it gets no other.
    refusals: u32,
    refused: Option<Duration>,
}

impl Pace {
    /// The error of the last attempt, while it is too early for another.
    fn waits(&self, now: Reading) -> Option<Error> {
        self.failed.as_ref().filter(|(until, _)| now.monotonic < *until).map(|(_, error)| error.clone())
    }

    fn failed(&mut self, error: Error, now: Reading, fraction: f64) {
        self.failures = self.failures.saturating_add(1);
        let wait = Backoff::default().after(self.failures, error.retry_after(), fraction);
        self.failed = Some((now.monotonic.saturating_add(wait), error));
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.failed = None;
    }

    /// Whether a token that was refused may be replaced now. One that was old is; of new ones the first two,
    /// then one at a time with longer and longer waits: a gateway that takes none is not helped by more.
    fn may_replace(&mut self, age: Duration, now: Reading, fraction: f64) -> bool {
        if age >= YOUNG {
            self.refusals = 0;
            self.refused = None;
            return true;
        }
        if self.refused.is_some_and(|until| now.monotonic < until) {
            return false;
        }
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals > 1 {
            let wait = Backoff::default().after(self.refusals - 1, None, fraction);
            self.refused = Some(now.monotonic.saturating_add(wait));
        }
        true
    }
}

impl Inside {
    /// Goes on by itself, whoever is dropped.
    pub(super) fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let busy = Busy::of(self);
        tokio::spawn(async move {
            let _busy = busy;
            work.await
        })
    }

    /// Runs to its end, also when whoever waits for it is dropped.
    pub(super) async fn apart<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        self.spawn(work).await.map_err(|_| given_up())
    }

    /// Waits until nothing goes on by itself.
    pub(super) async fn settled(&self) {
        // It cannot fail while there is somebody to ask.
        let _ = self.under_way.subscribe().wait_for(|number| *number == 0).await;
    }

    /// What to sign with now. A token that is due is used on while it holds and there is no other to be had.
    pub(super) async fn current(self: &Arc<Self>) -> Result<Grant, Error> {
        self.is_active()?;
        let life = self.held().access.as_ref().map(|access| access.life);
        let now = self.environment.now();
        if life.is_some_and(|life| life.holds(now) && !life.is_due(now))
            && let Some(grant) = self.grant()
        {
            return Ok(grant);
        }
        let renewed = self.renewal(None).await;
        match (renewed, life) {
            (Err(error), Some(life)) if self.is_active().is_ok() && life.holds(self.environment.now()) => {
                tracing::debug!(%error, "the token is not refreshed yet; it still holds");
                self.grant().ok_or(error)
            }
            (renewed, _) => renewed,
        }
    }

    /// Another than a token that was refused.
    pub(super) async fn renewed(self: &Arc<Self>, refused: &TokenHash) -> Result<Grant, Error> {
        self.is_active()?;
        if let Some(grant) = self.grant_other_than(refused) {
            return Ok(grant);
        }
        // A refresh that began before may have come to the token that was refused.
        for _ in 0..2 {
            let grant = self.renewal(Some(*refused)).await?;
            if grant.token.hash() != refused {
                return Ok(grant);
            }
        }
        Err(not_taken())
    }

    fn grant_other_than(&self, refused: &TokenHash) -> Option<Grant> {
        self.grant().filter(|grant| grant.token.hash() != refused)
    }

    /// Joins the refresh that is under way, or begins one. It goes on when whoever began it is dropped.
    async fn renewal(self: &Arc<Self>, refused: Option<TokenHash>) -> Result<Grant, Error> {
        let mut flight = {
            let mut flights = self.flight.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match &*flights {
                // One that came to something is over, as is one that was given up.
                Some(flight) if flight.has_changed().is_ok() && flight.borrow().is_none() => flight.clone(),
                _ => {
                    let (told, flight) = watch::channel(None);
                    let inside = Arc::clone(self);
                    drop(self.spawn(async move {
                        let renewed = inside.renew(refused).await;
                        told.send_replace(Some(renewed));
                    }));
                    *flights = Some(flight.clone());
                    flight
                }
            }
        };
        match flight.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(renewed)) => renewed.clone(),
            _ => Err(given_up()),
        }
    }

    async fn renew(&self, refused: Option<TokenHash>) -> Result<Grant, Error> {
        let alone = self.alone().await?;
        for _ in 0..OVERTAKEN {
            self.is_active()?;
            let Some(refresh) = self.stored_refresh().await? else { return Err(self.signed_out().await) };
            // Another process may have noted its end, and not have got at the store.
            if self.finish(&alone, &refresh).await? {
                return Err(self.is_active().err().unwrap_or_else(not_taken));
            }
            self.read_notes_of(&refresh.connection).await;
            if !self.has_key(&refresh.jkt).await? {
                self.set_state(SessionState::Ended(End::KeyLost));
                self.is_active()?;
            }
            if let Some(grant) = self.without_asking(&alone, &refresh, refused.as_ref()).await? {
                return Ok(grant);
            }
            let asked = self.ask(&alone, &refresh, refused.is_some()).await?;
            if let Some(grant) = asked {
                return Ok(grant);
            }
        }
        Err(Error::new(ErrorKind::Busy, "other processes of this program refresh all the time"))
    }

    /// A token that is there already: one that the store did not take before, or another process's.
    async fn without_asking(
        &self,
        alone: &Alone,
        refresh: &Refresh,
        refused: Option<&TokenHash>,
    ) -> Result<Option<Grant>, Error> {
        let unsaved = self.held().unsaved.clone();
        if let Some(Unsaved { spent, refresh: next, access }) = unsaved {
            if spent == refresh.token && next.connection == refresh.connection {
                return self.adopt(alone, &next, access).await.map(Some);
            }
            self.held().unsaved = None;
        }
        let now = self.environment.now();
        let shared = self.stored_access(refresh).await?;
        let usable = shared.filter(|access| {
            access.life.holds(now) && !access.life.is_due(now) && refused != Some(access.token.hash())
        });
        usable.map(|access| self.take(refresh, access)).transpose()
    }

    /// Asks the provider. `None` when another process was faster.
    async fn ask(&self, alone: &Alone, refresh: &Refresh, is_refused: bool) -> Result<Option<Grant>, Error> {
        // Those of this connection's token, else the noted ones: an answer without any changes none.
        let scopes = self.held().scopes_of(&refresh.connection);
        let keyed = {
            let (now, fraction) = (self.environment.now(), self.environment.fraction());
            let mut held = self.held();
            if let Some(error) = held.pace.waits(now) {
                return Err(error);
            }
            let age = held.access.as_ref().map_or(Duration::MAX, |access| access.life.age(now));
            if is_refused && !held.pace.may_replace(age, now, fraction) {
                return Err(not_taken());
            }
            held.keyed.clone()
        };
        let keyed = keyed.ok_or_else(|| Error::new(ErrorKind::Bug, "a refresh without a key"))?;
        tracing::debug!("refreshes");
        let failure = match self.provider.refresh(&keyed.provider, &refresh.token).await {
            Ok(answer) => {
                let next = Refresh {
                    token: answer.refresh.clone().unwrap_or_else(|| refresh.token.clone()),
                    ..refresh.clone()
                };
                let access = self.accepted(&refresh.connection, &keyed.jkt, &answer, scopes);
                // Whatever comes now, these are the tokens: the one that was sent is spent.
                self.held().unsaved = Some(Unsaved {
                    spent: refresh.token.clone(),
                    refresh: next.clone(),
                    access: access.clone(),
                });
                return self.adopt(alone, &next, access).await.map(Some);
            }
            Err(failure) => failure,
        };
        self.failed(alone, refresh, failure).await
    }

    async fn failed(
        &self,
        alone: &Alone,
        refresh: &Refresh,
        failure: Failure,
    ) -> Result<Option<Grant>, Error> {
        let error = of_refresh(failure.error);
        match error.kind() {
            ErrorKind::Ended(end) => {
                // ERR-47: only if it is still the stored one. Another process, or an older program that knows of
                // no lock, may have spent it.
                let stored = self.stored_refresh().await?;
                if stored.is_some_and(|stored| stored != *refresh) {
                    return Ok(None);
                }
                self.end(alone, end, &refresh.jkt).await;
            }
            ErrorKind::Halted(halt) => self.set_state(SessionState::Halted(halt)),
            _ => {
                let (now, fraction) = (self.environment.now(), self.environment.fraction());
                self.held().pace.failed(error.clone(), now, fraction);
            }
        }
        Err(error)
    }

    /// Another process signed out.
    async fn signed_out(&self) -> Error {
        let connection = self.held().connection.clone();
        // The notes say why, if it was not the member.
        let ended = match self.noted_end().await {
            Some((of, end)) if connection.as_deref().is_none_or(|connection| *connection == *of) => Some(end),
            _ => None,
        };
        self.drop_connection();
        self.set_state(ended.map_or(SessionState::SignedOut, SessionState::Ended));
        self.is_active().err().unwrap_or_else(not_taken)
    }

    /// What the gateway said of the session (ERR-12 to ERR-20).
    pub(super) async fn told(self: &Arc<Self>, refused: &Grant, refusal: &Error) {
        let end = match refusal.kind() {
            ErrorKind::Halted(halt) => {
                // What the member lifted meanwhile is asked anew by the next call.
                if self.is_active().is_ok() && self.held().is_of_now(refused) {
                    self.set_state(SessionState::Halted(halt));
                }
                return;
            }
            ErrorKind::Ended(end) => end,
            _ => return,
        };
        let (inside, refused) = (Arc::clone(self), refused.clone());
        let _ = self.apart(async move { inside.ended(&refused, end).await }).await;
    }

    async fn ended(&self, refused: &Grant, end: End) {
        if let SessionState::Ended(_) | SessionState::SignedOut = *self.state.borrow() {
            return;
        }
        let alone = self.alone_at_any_rate().await;
        // The member signed in anew or disconnected meanwhile: this is not about what there is now.
        if self.held().connection != refused.whose.connection {
            return;
        }
        match self.stored_refresh().await {
            // The same, in another process.
            Ok(Some(stored)) if !refused.whose.is_connection(&stored.connection) => {
                self.drop_connection();
                self.held().connection = Some(stored.connection);
            }
            Ok(_) => self.end(&alone, end, &refused.jkt).await,
            // A store that answers later may hold another process's by then: its tokens are not this one's to delete.
            Err(error) => {
                tracing::warn!(%error, "the connection is over, and nobody can tell whether it is the one that is kept");
                self.set_state(SessionState::Ended(end));
                self.drop_connection();
            }
        }
    }
}

/// Of the call that the token was for nothing was sent, whatever became of the refresh.
fn of_refresh(error: Error) -> Error {
    if error.kind() != ErrorKind::OutcomeUnknown {
        return error;
    }
    let what = "the identity provider does not answer";
    match error.status() {
        Some(status) => Error::of_answer(ErrorKind::Unreachable, what, status, error.retry_after()),
        None => Error::caused(ErrorKind::Unreachable, what, error),
    }
}

fn given_up() -> Error {
    Error::new(ErrorKind::Cancelled, "the program is ending")
}

fn not_taken() -> Error {
    Error::new(ErrorKind::SignInNeeded, "the exchange does not take new tokens either")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Reading {
        Reading { wall: dpop_bound::UnixTime::default(), monotonic: Duration::from_secs(seconds) }
    }

    /// ERR-05: never in a loop.
    #[test]
    fn new_tokens_that_are_refused_are_replaced_more_and_more_slowly() {
        let mut pace = Pace::default();
        let young = Duration::from_secs(1);
        let replaced: Vec<u64> = (0..60).filter(|now| pace.may_replace(young, at(*now), 0.0)).collect();
        assert_eq!(replaced, [0, 1, 6, 16, 36]);
        // One that was used for a while is another matter.
        assert!(pace.may_replace(Duration::from_secs(61), at(60), 0.0));
        assert!(pace.may_replace(young, at(60), 0.0));
    }

    /// CLI-02, LIM-16: the provider is not asked again before the back-off is over.
    #[test]
    fn failures_are_waited_out() {
        let mut pace = Pace::default();
        let error = Error::new(ErrorKind::Unreachable, "no connection");
        for (failed, until) in [(0, 5), (5, 15), (15, 35)] {
            pace.failed(error.clone(), at(failed), 0.0);
            assert!(pace.waits(at(until - 1)).is_some() && pace.waits(at(until)).is_none());
        }
        pace.succeeded();
        assert!(pace.waits(at(16)).is_none());
    }
}
