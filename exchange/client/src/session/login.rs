//! Signing in: a device login from the code that the member sees to tokens that are kept.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use exchange_api::{oauth_errors::OauthError, scopes::Scope};

use super::{
    inside::{Inside, Keyed},
    stored::Refresh,
};
use crate::{
    credentials::{Entry, SecretBytes},
    error::{Error, ErrorKind},
    oauth::{DeviceAnswer, Failure, Polling, Remark, Step, TokenAnswer, asked},
    state::SessionState,
};

/// What one second of a clock may hide.
const MOMENT: Duration = Duration::from_secs(1);

/// A device login that waits for its member.
///
/// To be shown: the [code](Self::user_code) and the bare [address](Self::verification_uri), both on the device
/// that began it and nowhere else (IDP-11, IDP-13). There is no address that has the code in it (IDP-12).
/// Dropping it gives it up: nothing is left but the key. [`finish`](Self::finish) says what becomes of one that is
/// dropped while the provider is being asked.
///
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
#[must_use = "nobody is signed in before `finish`"]
pub struct DeviceLogin {
    inside: Arc<Inside>,
    keyed: Keyed,
    answer: Arc<DeviceAnswer>,
    polling: Polling,
    asked: Arc<[Scope]>,
}

/// How a device login goes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoginProgress {
    /// The member has not decided.
    Waiting {
        /// When the provider is asked again.
        next: Duration,
        /// How long the code still holds.
        left: Duration,
    },
    /// The provider could not be asked; it is asked again.
    Unreachable {
        /// Why.
        error: Error,
        /// When the provider is asked again.
        next: Duration,
        /// How long the code still holds.
        left: Duration,
    },
    /// The provider finds that it is asked too often, though this program waits longer than it has to: the clock
    /// of this machine seems to run fast. Said once; the login goes on.
    ClockRunsFast,
}

impl DeviceLogin {
    pub(super) async fn begin(inside: &Arc<Inside>, scopes: &[Scope]) -> Result<Self, Error> {
        let scope = asked(scopes)?;
        let keyed = inside.key_for_login().await?;
        let answer = Arc::new(inside.provider.begin(&scope).await?);
        let polling = Polling::new(answer.interval, answer.expires_in, inside.environment.now());
        let asked = crate::oauth::granted(&scope).into();
        Ok(Self { inside: Arc::clone(inside), keyed, answer, polling, asked })
    }

    /// The code that the member types.
    #[must_use]
    pub fn user_code(&self) -> &str {
        &self.answer.user_code
    }

    /// The address that the member opens: in this machine's browser or another's.
    #[must_use]
    pub fn verification_uri(&self) -> &str {
        &self.answer.verification_uri
    }

    /// How long the code holds.
    #[must_use]
    pub fn expires_in(&self) -> Duration {
        self.polling.left(self.inside.environment.now())
    }

    /// When the provider is asked next.
    #[must_use]
    pub fn next_check(&self) -> Duration {
        self.polling.next(self.inside.environment.now())
    }

    /// Waits until the member decided.
    ///
    /// It can be dropped at any moment. A poll that is on its way then is heard out by a task of its own, and
    /// tokens that it brings are revoked there at once ([`Session::settled`](super::Session::settled) waits for
    /// that); tokens that are being kept already are kept, and the member is signed in. What remains beyond anybody's
    /// reach: if the program ends before that task does, or the answer with the tokens is lost on its way, the
    /// provider has a connection that nobody holds. It works for nobody without this installation's key, ends there
    /// by itself when it is not used, and the member can end it on the web.
    ///
    /// # Errors
    /// [`ErrorKind::Declined`] (ERR-45), [`ErrorKind::CodeExpired`] (ERR-46); what else ends it, such as a clock
    /// that has to be set or a secret store that does not take the tokens. The session stays what it was.
    pub async fn finish(self) -> Result<(), Error> {
        self.finish_with(|_| ()).await
    }

    /// The same, and tells how it goes: after each poll.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub async fn finish_with(mut self, mut told: impl FnMut(LoginProgress)) -> Result<(), Error> {
        // Dropped with this future.
        let somebody = Arc::new(());
        loop {
            let now = || self.inside.environment.now();
            match self.polling.step(now()) {
                Step::Wait(time) => {
                    self.inside.environment.sleep(time).await;
                    continue;
                }
                Step::Expired => {
                    return Err(Error::new(ErrorKind::CodeExpired, "nobody decided while the code held"));
                }
                Step::Poll => {}
            }
            let failure = match self.poll(Arc::downgrade(&somebody)).await? {
                Ok(kept) => return kept,
                Err(failure) => failure,
            };
            // What the provider asks for is kept for other processes by its moment on the wall, which may round it up:
            // a poll that is a moment too early was not sent, and is no trouble to tell of.
            if let Some(wait) = failure.held().filter(|wait| *wait <= MOMENT) {
                self.polling.asked(wait, now());
                continue;
            }
            let Some(polled) = failure.of_poll() else { return Err(of_login(failure.error)) };
            let remark = self.polling.answered(polled, now());
            if let Some(asked) = failure.error.retry_after() {
                self.polling.asked(asked, now());
            }
            if let Some(Remark::ClockRunsFast) = remark {
                told(LoginProgress::ClockRunsFast);
            }
            let (next, left) = (self.polling.next(now()), self.polling.left(now()));
            told(
                if failure.passes && failure.error.oauth_error().is_none_or(|error| error.action().is_none())
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
    /// Asks once, and keeps the tokens that come of it while somebody waits for them.
    async fn poll(&self, waits: Weak<()>) -> Result<Result<Result<(), Error>, Failure>, Error> {
        let (inside, keyed) = (Arc::clone(&self.inside), self.keyed.clone());
        let (answer, asked) = (Arc::clone(&self.answer), Arc::clone(&self.asked));
        let work = async move {
            let tokens = inside.provider.poll(&keyed.provider, &answer.device_code).await?;
            if waits.strong_count() == 0 {
                inside.let_go(&keyed, &tokens).await;
                return Ok(Err(Error::new(ErrorKind::Cancelled, "nobody waits for this login any more")));
            }
            Ok(inside.begin_connection(&keyed, &tokens, asked).await)
        };
        self.inside.apart(work).await
    }
}

/// A code that is no grant any more was used: by an answer that did not arrive.
fn of_login(error: Error) -> Error {
    match error.oauth_error() {
        Some(OauthError::InvalidGrant) => {
            Error::new(ErrorKind::CodeExpired, "the code of this device login is used up")
        }
        _ => error,
    }
}

impl Inside {
    /// The key to sign in with: the one that there is, else a new one, of which there is one however many
    /// processes sign in.
    async fn key_for_login(&self) -> Result<Keyed, Error> {
        let alone = self.alone().await?;
        // What is left of a connection that is over is nothing to sign in with.
        if let Some(refresh) = self.stored_refresh().await? {
            self.finish(&alone, &refresh).await?;
        }
        let key = match self.keys.load().await? {
            Some(key) => key,
            None => {
                let key = self.keys.create().await?;
                // Another installation from now on.
                self.renote(&alone, |notes| notes.installation_id = None).await?;
                key
            }
        };
        let jkt = key.public_key().thumbprint().to_string();
        let known = self.held().keyed.clone().filter(|keyed| *keyed.jkt == *jkt);
        match known {
            Some(keyed) => Ok(keyed),
            None => Ok(self.keyed(key).await),
        }
    }

    /// Keeps what a device login came to.
    async fn begin_connection(
        &self,
        keyed: &Keyed,
        answer: &TokenAnswer,
        asked: Arc<[Scope]>,
    ) -> Result<(), Error> {
        let kept = self.keep_connection(keyed, answer, asked).await;
        if kept.is_err() {
            self.let_go(keyed, answer).await;
        }
        kept
    }

    /// Nobody has these tokens from now on.
    async fn let_go(&self, keyed: &Keyed, answer: &TokenAnswer) {
        let Some(token) = &answer.refresh else { return };
        if let Err(failure) = self.provider.revoke(&keyed.provider, token).await {
            tracing::warn!(error = %failure.error, "a connection that is not kept could not be revoked");
        }
    }

    async fn keep_connection(
        &self,
        keyed: &Keyed,
        answer: &TokenAnswer,
        asked: Arc<[Scope]>,
    ) -> Result<(), Error> {
        let alone = self.alone().await?;
        let token = answer.refresh.clone().ok_or_else(|| {
            Error::new(
                ErrorKind::Protocol,
                "the identity provider gave no refresh token, which was asked for",
            )
        })?;
        let key = self.keys.load().await?.map(|key| key.public_key().thumbprint().to_string());
        if key.as_deref() != Some(&*keyed.jkt) {
            let what = "the key that the tokens are bound to was deleted meanwhile";
            return Err(Error::new(ErrorKind::Secrets, what));
        }
        let connection = self.environment.token()?.into();
        let refresh = Refresh { connection, jkt: keyed.jkt.clone(), token };
        let access = self.accepted(&refresh.connection, &keyed.jkt, answer, asked);
        let before = self.vault.read(Entry::RefreshToken).await?;
        // It may be another member's, whose installation has another name (SVC-07). From before it is kept on nobody
        // takes it for the former one's, wherever this ends.
        let former = self.noted_name().await?;
        self.renote(&alone, |notes| notes.installation_id = None).await?;
        // Until it is kept, there may be tokens of the old connection that are nowhere but in memory.
        if let Err(error) = self.vault.write(Entry::RefreshToken, &refresh.to_bytes()).await {
            self.take_back(before).await;
            let noted = self.renote(&alone, |notes| notes.installation_id.clone_from(&former)).await;
            if let Err(error) = noted {
                tracing::warn!(%error, "the connection that goes on is told its name anew");
            }
            return Err(error);
        }
        self.held().notes.belong_to(&refresh.connection);
        self.drop_connection();
        self.held().keyed = Some(keyed.clone());
        self.adopted(&alone, &refresh, access).await?;
        self.set_state(SessionState::Active);
        Ok(())
    }

    /// Puts back what stood in the place of a refresh token that is about to be revoked. A store that gave no answer
    /// in time may do what it was told all the same: what it is told after that is what it keeps.
    async fn take_back(&self, before: Option<SecretBytes>) {
        let put_back = match &before {
            Some(before) => self.vault.write(Entry::RefreshToken, before).await,
            None => self.vault.delete(Entry::RefreshToken).await,
        };
        if let Err(error) = put_back {
            tracing::warn!(%error, "nobody can tell yet what the secret store holds of a login that is not kept");
        }
    }
}

/// Shows nothing that anybody could use: the code is for its member's eyes.
impl fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLogin").field("expires_in", &self.expires_in()).finish_non_exhaustive()
    }
}
