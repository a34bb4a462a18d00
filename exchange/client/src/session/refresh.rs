//! Token refresh. Only one refresh runs at a time, within this process and among all processes of the
//! installation (IDP-19).

use std::{future::Future, sync::Arc, time::Duration};

use dpop_bound::{TokenHash, clock::ClockReading};
use tokio::{sync::watch, task::JoinHandle};

use super::{
    inner::{ExclusiveGuard, SessionInner, UnsavedTokens},
    stored::StoredRefresh,
};
use crate::{
    backoff::Backoff,
    error::{Error, ErrorKind},
    oauth::ProviderFailure,
    state::{EndReason, SessionState},
    token_source::AccessGrant,
};

/// The receiver for the result of a running refresh. Its value is `None` until the refresh has ended.
pub(super) type RefreshReceiver = watch::Receiver<Option<Result<AccessGrant, Error>>>;

/// The age up to which a rejected token counts as new.
const MIN_TOKEN_AGE: Duration = Duration::from_secs(60);
/// The maximum number of attempts if other processes keep replacing the token.
const MAX_RETRIES: usize = 3;

/// A guard that counts a background task until it is dropped.
struct TaskGuard(Arc<SessionInner>);

impl TaskGuard {
    fn new(inside: &Arc<SessionInner>) -> Self {
        inside.background_tasks.send_modify(|number| *number += 1);
        Self(Arc::clone(inside))
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.background_tasks.send_modify(|number| *number -= 1);
    }
}

/// A limit on the rate of refreshes that fail or do not help.
#[derive(Default)]
pub(super) struct RefreshThrottle {
    /// The number of consecutive failures.
    failure_count: u32,
    last_failure: Option<(Duration, Error)>,
    /// The number of consecutive new tokens that the gateway rejected.
    refused_tokens: u32,
    /// The earliest monotonic time at which a rejected new token is replaced; `None` if there is no limit.
    next_replacement: Option<Duration>,
}

impl RefreshThrottle {
    /// Returns the error of the last attempt until its back-off has ended.
    fn pending_error(&self, now: ClockReading) -> Option<Error> {
        self.last_failure.as_ref().filter(|(until, _)| now.monotonic < *until).map(|(_, error)| error.clone())
    }

    fn record_failure(&mut self, error: Error, now: ClockReading, fraction: f64) {
        self.failure_count = self.failure_count.saturating_add(1);
        let wait = Backoff::default().delay_after(self.failure_count, error.retry_after(), fraction);
        self.last_failure = Some((now.monotonic.saturating_add(wait), error));
    }

    pub(super) fn record_success(&mut self) {
        self.failure_count = 0;
        self.last_failure = None;
    }

    /// Returns true if a rejected token may be replaced now. This is always the case for an old token and for
    /// the first two new tokens. Later new tokens are replaced with exponential back-off, because further
    /// tokens do not help if the gateway rejects all of them.
    fn may_replace(&mut self, age: Duration, now: ClockReading, fraction: f64) -> bool {
        if age >= MIN_TOKEN_AGE {
            self.refused_tokens = 0;
            self.next_replacement = None;
            return true;
        }
        if self.next_replacement.is_some_and(|until| now.monotonic < until) {
            return false;
        }
        self.refused_tokens = self.refused_tokens.saturating_add(1);
        if self.refused_tokens > 1 {
            let wait = Backoff::default().delay_after(self.refused_tokens - 1, None, fraction);
            self.next_replacement = Some(now.monotonic.saturating_add(wait));
        }
        true
    }
}

impl SessionInner {
    /// Spawns a background task and counts it. The task continues if the caller is dropped.
    pub(super) fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let busy = TaskGuard::new(self);
        tokio::spawn(async move {
            let _busy = busy;
            work.await
        })
    }

    /// Runs work to completion, even if the caller is dropped.
    pub(super) async fn run_to_completion<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        self.spawn(work).await.map_err(|_| cancelled_error())
    }

    /// Waits until no background task is running.
    pub(super) async fn wait_until_idle(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.background_tasks.subscribe().wait_for(|number| *number == 0).await;
    }

    /// Returns the grant for signing calls. If a due refresh fails but the token is still valid, the token
    /// stays in use.
    pub(super) async fn current_grant(self: &Arc<Self>) -> Result<AccessGrant, Error> {
        self.check_active()?;
        let life = self.connection_state().access.as_ref().map(|access| access.lifetime);
        let now = self.environment.now();
        if life.is_some_and(|life| life.is_valid(now) && !life.is_due(now))
            && let Some(grant) = self.grant()
        {
            return Ok(grant);
        }
        let renewed = self.join_refresh(None).await;
        match (renewed, life) {
            (Err(error), Some(life))
                if self.check_active().is_ok() && life.is_valid(self.environment.now()) =>
            {
                tracing::debug!(%error, "token refresh failed; the current token is still valid");
                self.grant().ok_or(error)
            }
            (renewed, _) => renewed,
        }
    }

    /// Returns a grant whose token is not the rejected one.
    pub(super) async fn renew_grant(self: &Arc<Self>, refused: &TokenHash) -> Result<AccessGrant, Error> {
        self.check_active()?;
        if let Some(grant) = self.grant_other_than(refused) {
            return Ok(grant);
        }
        // A refresh that was already running may return the rejected token.
        for _ in 0..2 {
            let grant = self.join_refresh(Some(*refused)).await?;
            if grant.token.hash() != refused {
                return Ok(grant);
            }
        }
        Err(token_refused_error())
    }

    fn grant_other_than(&self, refused: &TokenHash) -> Option<AccessGrant> {
        self.grant().filter(|grant| grant.token.hash() != refused)
    }

    /// Waits for the running refresh, or starts one. The refresh continues if the caller is dropped.
    async fn join_refresh(self: &Arc<Self>, refused: Option<TokenHash>) -> Result<AccessGrant, Error> {
        let mut flight = {
            let mut flights = self.active_refresh.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match &*flights {
                // A refresh has ended if it has a result or if its task was dropped.
                Some(flight) if flight.has_changed().is_ok() && flight.borrow().is_none() => flight.clone(),
                _ => {
                    let (sender, flight) = watch::channel(None);
                    let inside = Arc::clone(self);
                    drop(self.spawn(async move {
                        let renewed = inside.refresh_grant(refused).await;
                        sender.send_replace(Some(renewed));
                    }));
                    *flights = Some(flight.clone());
                    flight
                }
            }
        };
        match flight.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(renewed)) => renewed.clone(),
            _ => Err(cancelled_error()),
        }
    }

    async fn refresh_grant(&self, refused: Option<TokenHash>) -> Result<AccessGrant, Error> {
        let guard = self.acquire_exclusive().await?;
        for _ in 0..MAX_RETRIES {
            self.check_active()?;
            let Some(refresh) = self.stored_refresh().await? else {
                return Err(self.handle_sign_out().await);
            };
            // Another process may have recorded the end of the connection without access to the store.
            if self.finish_ended(&guard, &refresh).await? {
                return Err(self.check_active().err().unwrap_or_else(token_refused_error));
            }
            self.read_notes_for(&refresh.connection).await;
            if !self.has_key(&refresh.jkt).await? {
                self.set_state(SessionState::Ended(EndReason::KeyLost));
                self.check_active()?;
            }
            if let Some(grant) = self.reuse_tokens(&guard, &refresh, refused.as_ref()).await? {
                return Ok(grant);
            }
            let outcome = self.request_refresh(&guard, &refresh, refused.is_some()).await?;
            if let Some(grant) = outcome {
                return Ok(grant);
            }
        }
        Err(Error::new(ErrorKind::Busy, "other processes of this program keep replacing the token"))
    }

    /// Returns a grant without sending a request: from unsaved tokens, or from a token that another process
    /// stored.
    async fn reuse_tokens(
        &self,
        guard: &ExclusiveGuard,
        refresh: &StoredRefresh,
        refused: Option<&TokenHash>,
    ) -> Result<Option<AccessGrant>, Error> {
        let unsaved = self.connection_state().unsaved.clone();
        if let Some(UnsavedTokens { spent, refresh: next, access }) = unsaved {
            if spent == refresh.token && next.connection == refresh.connection {
                return self.store_tokens(guard, &next, access).await.map(Some);
            }
            self.connection_state().unsaved = None;
        }
        let now = self.environment.now();
        let shared = self.stored_access(refresh).await?;
        let usable = shared.filter(|access| {
            access.lifetime.is_valid(now)
                && !access.lifetime.is_due(now)
                && refused != Some(access.token.hash())
        });
        usable.map(|access| self.use_tokens(refresh, access)).transpose()
    }

    /// Requests new tokens from the provider. Returns `None` if another process replaced the token first.
    async fn request_refresh(
        &self,
        guard: &ExclusiveGuard,
        refresh: &StoredRefresh,
        is_refused: bool,
    ) -> Result<Option<AccessGrant>, Error> {
        // A response without scopes means that the scopes are unchanged.
        let scopes = self.connection_state().scopes_of(&refresh.connection);
        let keyed = {
            let (now, fraction) = (self.environment.now(), self.environment.random_fraction());
            let mut state = self.connection_state();
            if let Some(error) = state.throttle.pending_error(now) {
                return Err(error);
            }
            let age = state.access.as_ref().map_or(Duration::MAX, |access| access.lifetime.age(now));
            if is_refused && !state.throttle.may_replace(age, now, fraction) {
                return Err(token_refused_error());
            }
            state.key_proofs.clone()
        };
        let keyed = keyed.ok_or_else(|| Error::new(ErrorKind::Bug, "no key for the token refresh"))?;
        tracing::debug!("refreshing the tokens");
        let failure = match self.provider.refresh_tokens(&keyed.provider, &refresh.token).await {
            Ok(answer) => {
                let next = StoredRefresh {
                    token: answer.refresh.clone().unwrap_or_else(|| refresh.token.clone()),
                    ..refresh.clone()
                };
                let access = self.access_from_response(&refresh.connection, &keyed.jkt, &answer, scopes);
                // The tokens are first kept in memory, because the old refresh token can no longer be used.
                self.connection_state().unsaved = Some(UnsavedTokens {
                    spent: refresh.token.clone(),
                    refresh: next.clone(),
                    access: access.clone(),
                });
                return self.store_tokens(guard, &next, access).await.map(Some);
            }
            Err(failure) => failure,
        };
        self.handle_failure(guard, refresh, failure).await
    }

    async fn handle_failure(
        &self,
        guard: &ExclusiveGuard,
        refresh: &StoredRefresh,
        failure: ProviderFailure,
    ) -> Result<Option<AccessGrant>, Error> {
        let error = map_refresh_error(failure.error);
        match error.kind() {
            ErrorKind::Ended(end) => {
                // ERR-47 applies only if the token is still the stored one. Another process, or an older
                // version that does not lock, may have used the token.
                let stored = self.stored_refresh().await?;
                if stored.is_some_and(|stored| stored != *refresh) {
                    return Ok(None);
                }
                self.end_connection(guard, end, &refresh.jkt).await;
            }
            ErrorKind::Halted(halt) => self.set_state(SessionState::Halted(halt)),
            _ => {
                let (now, fraction) = (self.environment.now(), self.environment.random_fraction());
                self.connection_state().throttle.record_failure(error.clone(), now, fraction);
            }
        }
        Err(error)
    }

    /// Handles a missing refresh token, which means that another process signed out.
    async fn handle_sign_out(&self) -> Error {
        let connection = self.connection_state().connection.clone();
        // The notes contain the reason, unless the member signed out.
        let ended = match self.noted_end().await {
            Some((of, end)) if connection.as_deref().is_none_or(|connection| *connection == *of) => Some(end),
            _ => None,
        };
        self.drop_connection();
        self.set_state(ended.map_or(SessionState::SignedOut, SessionState::Ended));
        self.check_active().err().unwrap_or_else(token_refused_error)
    }

    /// Handles an error of the gateway that affects the session (ERR-12 to ERR-20).
    pub(super) async fn handle_rejection(self: &Arc<Self>, refused: &AccessGrant, error: &Error) {
        let end = match error.kind() {
            ErrorKind::Halted(halt) => {
                // If the halt was lifted since, the next call determines the state.
                if self.check_active().is_ok() && self.connection_state().is_current_grant(refused) {
                    self.set_state(SessionState::Halted(halt));
                }
                return;
            }
            ErrorKind::Ended(end) => end,
            _ => return,
        };
        let (inside, refused) = (Arc::clone(self), refused.clone());
        let _ = self.run_to_completion(async move { inside.handle_end(&refused, end).await }).await;
    }

    async fn handle_end(&self, refused: &AccessGrant, end: EndReason) {
        if let SessionState::Ended(_) | SessionState::SignedOut = *self.state.borrow() {
            return;
        }
        let guard = self.acquire_exclusive_or_local().await;
        // The end does not apply to a newer connection.
        if self.connection_state().connection != refused.owner.connection {
            return;
        }
        match self.stored_refresh().await {
            // Another process has stored a newer connection.
            Ok(Some(stored)) if !refused.owner.is_connection(&stored.connection) => {
                self.drop_connection();
                self.connection_state().connection = Some(stored.connection);
            }
            Ok(_) => self.end_connection(&guard, end, &refused.jkt).await,
            // When the store is available again, it may contain the tokens of another process, which must not
            // be deleted.
            Err(error) => {
                tracing::warn!(%error, "the connection has ended; the stored connection cannot be read");
                self.set_state(SessionState::Ended(end));
                self.drop_connection();
            }
        }
    }
}

/// Maps an unknown outcome of a refresh to `Unreachable`, because the call that needed the token was not
/// sent.
fn map_refresh_error(error: Error) -> Error {
    if error.kind() != ErrorKind::OutcomeUnknown {
        return error;
    }
    let what = "the identity provider does not respond";
    match error.status() {
        Some(status) => Error::from_status(ErrorKind::Unreachable, what, status, error.retry_after()),
        None => Error::with_source(ErrorKind::Unreachable, what, error),
    }
}

fn cancelled_error() -> Error {
    Error::new(ErrorKind::Cancelled, "the program is shutting down")
}

fn token_refused_error() -> Error {
    Error::new(ErrorKind::SignInNeeded, "the exchange rejects even newly issued tokens")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> ClockReading {
        ClockReading { wall: dpop_bound::UnixTime::default(), monotonic: Duration::from_secs(seconds) }
    }

    /// ERR-05: rejected tokens are not replaced in a loop, but with exponential back-off.
    #[test]
    fn replacing_rejected_tokens_backs_off() {
        let mut pace = RefreshThrottle::default();
        let young = Duration::from_secs(1);
        let replaced: Vec<u64> = (0..60).filter(|now| pace.may_replace(young, at(*now), 0.0)).collect();
        assert_eq!(replaced, [0, 1, 6, 16, 36]);
        // A token that was in use for some time may be replaced immediately.
        assert!(pace.may_replace(Duration::from_secs(61), at(60), 0.0));
        assert!(pace.may_replace(young, at(60), 0.0));
    }

    /// CLI-02, LIM-16: no request is sent to the provider before the back-off has ended.
    #[test]
    fn failures_back_off() {
        let mut pace = RefreshThrottle::default();
        let error = Error::new(ErrorKind::Unreachable, "no connection");
        for (failed, until) in [(0, 5), (5, 15), (15, 35)] {
            pace.record_failure(error.clone(), at(failed), 0.0);
            assert!(pace.pending_error(at(until - 1)).is_some() && pace.pending_error(at(until)).is_none());
        }
        pace.record_success();
        assert!(pace.pending_error(at(16)).is_none());
    }
}
