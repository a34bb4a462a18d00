//! The sign-in of a member: a device login, from the user code to the stored tokens.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use exchange_api::{oauth_errors::OauthError, scopes::Scope};

use super::{
    inner::{KeyProofs, SessionInner},
    stored::StoredRefresh,
};
use crate::{
    credentials::{CredentialEntry, SecretBytes},
    error::{Error, ErrorKind},
    oauth::{
        DeviceResponse, PollAction, PollHint, PollSchedule, ProviderFailure, TokenResponse, build_scope,
    },
    state::SessionState,
};

/// The maximum error of a time that was rounded up to a full second.
const ROUNDING: Duration = Duration::from_secs(1);

/// A device login that waits for the member's decision.
///
/// Show the [code](Self::user_code) and the [URL](Self::verification_uri) only on the device that started the
/// login (IDP-11, IDP-13). There is no URL that contains the code (IDP-12).
///
/// Dropping the value ends the login and leaves only the key. See [`finish`](Self::finish) for a drop during
/// a poll.
/// ```
/// fn open(login: &exchange_client::DeviceLogin) -> &str {
///     login.verification_uri()
/// }
/// ```
///
/// ```compile_fail,E0599
/// fn open(login: &exchange_client::DeviceLogin) -> &str {
///     login.verification_uri_complete()
/// }
/// ```
#[must_use = "no member is signed in before `finish`"]
pub struct DeviceLogin {
    session: Arc<SessionInner>,
    key_proofs: KeyProofs,
    response: Arc<DeviceResponse>,
    schedule: PollSchedule,
    requested_scopes: Arc<[Scope]>,
}

/// The progress of a device login.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoginProgress {
    /// The member has not decided yet.
    Waiting {
        /// The time until the next poll.
        next: Duration,
        /// The remaining lifetime of the code.
        left: Duration,
    },
    /// The provider could not be reached. The login continues.
    Unreachable {
        /// The failure of the last poll.
        error: Error,
        /// The time until the next poll.
        next: Duration,
        /// The remaining lifetime of the code.
        left: Duration,
    },
    /// The provider reports too many polls although the program waits longer than required, so the clock of
    /// this machine seems to run fast. This is reported once, and the login continues.
    ClockRunsFast,
}

impl DeviceLogin {
    pub(super) async fn start(inside: &Arc<SessionInner>, scopes: &[Scope]) -> Result<Self, Error> {
        let scope = build_scope(scopes)?;
        let keyed = inside.key_for_login().await?;
        let response = Arc::new(inside.provider.start_device_login(&scope).await?);
        let polling = PollSchedule::new(response.interval, response.expires_in, inside.environment.now());
        let requested_scopes = crate::oauth::parse_scopes(&scope).into();
        Ok(Self {
            session: Arc::clone(inside),
            key_proofs: keyed,
            response,
            schedule: polling,
            requested_scopes,
        })
    }

    /// Returns the code that the member types.
    #[must_use]
    pub fn user_code(&self) -> &str {
        &self.response.user_code
    }

    /// Returns the URL that the member opens, in a browser on this or another machine.
    #[must_use]
    pub fn verification_uri(&self) -> &str {
        &self.response.verification_uri
    }

    /// Returns the remaining lifetime of the code.
    #[must_use]
    pub fn expires_in(&self) -> Duration {
        self.schedule.remaining(self.session.environment.now())
    }

    /// Returns the time until the next poll.
    #[must_use]
    pub fn next_check(&self) -> Duration {
        self.schedule.until_next_poll(self.session.environment.now())
    }

    /// Waits for the member's decision, and then stores the tokens.
    ///
    /// The future can be dropped at any time. A poll in flight then continues in a separate task, which
    /// revokes the tokens that it may receive. [`Session::wait_until_idle`](super::Session::wait_until_idle)
    /// waits for this task. If tokens are already being stored, storing continues and the member is signed
    /// in.
    ///
    /// If the program ends before that task has ended, or if the response with the tokens is lost, the
    /// provider keeps an unused connection. It cannot be used without this installation's key, and it
    /// expires. The member can also end it in the web application.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Declined`] (ERR-45), [`ErrorKind::CodeExpired`] (ERR-46), or another error that
    /// ends the login, such as a wrong clock or a secret store that rejects the tokens. The state of the
    /// session is unchanged in all these cases.
    pub async fn finish(self) -> Result<(), Error> {
        self.finish_with(|_| ()).await
    }

    /// Does the same as [`finish`](Self::finish), and reports the progress after each poll.
    ///
    /// # Errors
    /// Returns the errors of [`finish`](Self::finish).
    pub async fn finish_with(mut self, mut on_progress: impl FnMut(LoginProgress)) -> Result<(), Error> {
        // This value is dropped together with this future, so that a poll detects that no caller waits for
        // it.
        let somebody = Arc::new(());
        loop {
            let now = || self.session.environment.now();
            match self.schedule.next_action(now()) {
                PollAction::Wait(time) => {
                    self.session.environment.sleep(time).await;
                    continue;
                }
                PollAction::Expired => {
                    return Err(Error::new(
                        ErrorKind::CodeExpired,
                        "the code expired before the member decided",
                    ));
                }
                PollAction::Poll => {}
            }
            let failure = match self.poll_once(Arc::downgrade(&somebody)).await? {
                Ok(result) => return result,
                Err(failure) => failure,
            };
            // Another process may have saved the provider's `Retry-After` time, rounded up. A poll that is
            // delayed only by this rounding was not sent and is not reported.
            if let Some(wait) = failure.local_wait().filter(|wait| *wait <= ROUNDING) {
                self.schedule.delay_by(wait, now());
                continue;
            }
            let Some(polled) = failure.poll_result() else { return Err(map_login_error(failure.error)) };
            let remark = self.schedule.record_result(polled, now());
            if let Some(retry_after) = failure.error.retry_after() {
                self.schedule.delay_by(retry_after, now());
            }
            if let Some(PollHint::ClockRunsFast) = remark {
                on_progress(LoginProgress::ClockRunsFast);
            }
            let (next, left) = (self.schedule.until_next_poll(now()), self.schedule.remaining(now()));
            on_progress(
                if failure.is_transient
                    && failure.error.oauth_error().is_none_or(|error| error.action().is_none())
                {
                    LoginProgress::Unreachable { error: failure.error, next, left }
                } else {
                    LoginProgress::Waiting { next, left }
                },
            );
        }
    }
}

impl DeviceLogin {
    /// Polls once. Stores the tokens if the caller still waits for the login.
    async fn poll_once(&self, waits: Weak<()>) -> Result<Result<Result<(), Error>, ProviderFailure>, Error> {
        let (inside, keyed) = (Arc::clone(&self.session), self.key_proofs.clone());
        let (response, requested) = (Arc::clone(&self.response), Arc::clone(&self.requested_scopes));
        let work = async move {
            let tokens = inside.provider.poll_device_login(&keyed.provider, &response.device_code).await?;
            if waits.strong_count() == 0 {
                inside.revoke_unused(&keyed, &tokens).await;
                return Ok(Err(Error::new(ErrorKind::Cancelled, "the login was abandoned")));
            }
            Ok(inside.start_connection(&keyed, &tokens, requested).await)
        };
        self.session.run_to_completion(work).await
    }
}

/// Maps `invalid_grant` to an expired code, because an earlier response that was lost has consumed the code.
fn map_login_error(error: Error) -> Error {
    match error.oauth_error() {
        Some(OauthError::InvalidGrant) => {
            Error::new(ErrorKind::CodeExpired, "the code of this device login was already used")
        }
        _ => error,
    }
}

impl SessionInner {
    /// Returns the key for a login. Creates a key if there is none; concurrent processes create only one.
    async fn key_for_login(&self) -> Result<KeyProofs, Error> {
        let guard = self.acquire_exclusive().await?;
        // Secrets that are left from an ended connection must not be used for signing in.
        if let Some(refresh) = self.stored_refresh().await? {
            self.finish_ended(&guard, &refresh).await?;
        }
        let key = match self.keys.load().await? {
            Some(key) => key,
            None => {
                let key = self.keys.create().await?;
                // A new key means a new installation.
                self.update_notes(&guard, |notes| notes.installation_id = None).await?;
                key
            }
        };
        let jkt = key.public_key().thumbprint().to_string();
        let known = self.connection_state().key_proofs.clone().filter(|keyed| *keyed.jkt == *jkt);
        match known {
            Some(keyed) => Ok(keyed),
            None => Ok(self.load_proofs(key).await),
        }
    }

    /// Stores the tokens of a login, or revokes them if they cannot be stored.
    async fn start_connection(
        &self,
        keyed: &KeyProofs,
        response: &TokenResponse,
        requested_scopes: Arc<[Scope]>,
    ) -> Result<(), Error> {
        let stored = self.store_connection(keyed, response, requested_scopes).await;
        if stored.is_err() {
            self.revoke_unused(keyed, response).await;
        }
        stored
    }

    /// Revokes tokens that were not stored.
    async fn revoke_unused(&self, keyed: &KeyProofs, response: &TokenResponse) {
        let Some(token) = &response.refresh else { return };
        if let Err(failure) = self.provider.revoke_token(&keyed.provider, token).await {
            tracing::warn!(error = %failure.error, "cannot revoke an unused connection");
        }
    }

    async fn store_connection(
        &self,
        keyed: &KeyProofs,
        response: &TokenResponse,
        requested_scopes: Arc<[Scope]>,
    ) -> Result<(), Error> {
        let guard = self.acquire_exclusive().await?;
        let token = response.refresh.clone().ok_or_else(|| {
            Error::new(ErrorKind::Protocol, "the identity provider returned no refresh token")
        })?;
        let key = self.keys.load().await?.map(|key| key.public_key().thumbprint().to_string());
        if key.as_deref() != Some(&*keyed.jkt) {
            let what = "the key of the new tokens was deleted during the login";
            return Err(Error::new(ErrorKind::Secrets, what));
        }
        let connection = self.environment.random_token()?.into();
        let refresh = StoredRefresh { connection, jkt: keyed.jkt.clone(), token };
        let access = self.access_from_response(&refresh.connection, &keyed.jkt, response, requested_scopes);
        let before = self.vault.read_entry(CredentialEntry::RefreshToken).await?;
        // The connection may belong to another member with a different installation id (SVC-07). The id is
        // cleared before the token is stored, so that a crash cannot assign the previous id to the new
        // connection.
        let former = self.noted_installation().await?;
        self.update_notes(&guard, |notes| notes.installation_id = None).await?;
        // Before the new token is stored, the tokens of the old connection may exist only in memory.
        if let Err(error) = self.vault.write_entry(CredentialEntry::RefreshToken, &refresh.to_bytes()).await {
            self.restore_previous(before).await;
            let update = self.update_notes(&guard, |notes| notes.installation_id.clone_from(&former)).await;
            if let Err(error) = update {
                tracing::warn!(%error, "cannot restore the installation id; it is read again from the exchange");
            }
            return Err(error);
        }
        self.connection_state().notes.assign_to(&refresh.connection);
        self.drop_connection();
        self.connection_state().key_proofs = Some(keyed.clone());
        self.finish_storing(&guard, &refresh, access).await?;
        self.set_state(SessionState::Active);
        Ok(())
    }

    /// Restores the previous refresh token in the store, after the new one could not be stored. If the store
    /// timed out, it may still perform that write, but the previous token is written after it.
    async fn restore_previous(&self, before: Option<SecretBytes>) {
        let put_back = match &before {
            Some(before) => self.vault.write_entry(CredentialEntry::RefreshToken, before).await,
            None => self.vault.delete_entry(CredentialEntry::RefreshToken).await,
        };
        if let Err(error) = put_back {
            tracing::warn!(%error, "cannot restore the previous refresh token in the secret store");
        }
    }
}

/// Does not print the code and the URL, which only the member may see.
impl fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLogin").field("expires_in", &self.expires_in()).finish_non_exhaustive()
    }
}
