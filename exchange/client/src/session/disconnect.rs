//! Disconnecting at the member's request (IDP-24, CLI-06).

use std::sync::Arc;

use super::{
    inner::{KeyProofs, SessionInner},
    stored::StoredRefresh,
};
use crate::{
    credentials::CredentialEntry,
    error::Error,
    keys::{KeySource as _, StoredKey},
    state::SessionState,
    token_source::BoxFuture,
};

/// Local data of a connection, such as a replica or an outbox, that is deleted when the member disconnects.
pub trait LocalData: Send + Sync {
    /// Returns the name under which the deletion is reported to the member.
    fn name(&self) -> &str;

    /// Deletes the data so that it cannot be recovered.
    ///
    /// # Errors
    /// Returns an error if some of the data may still exist.
    fn delete(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Returns the value that the session keeps in order to delete the data later. By default this is `self`.
    /// Data that holds the session must return a smaller handle, to avoid a reference cycle that keeps both
    /// alive.
    fn into_registered(self) -> Arc<dyn LocalData>
    where
        Self: Sized + 'static,
    {
        Arc::new(self)
    }
}

/// The result of one step of a disconnect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StepOutcome {
    /// The step succeeded.
    Done,
    /// There was nothing to do.
    NotNeeded,
    /// The step failed.
    Failed(Error),
}

impl StepOutcome {
    /// Returns true unless the step failed.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// Combines two results. The combination has failed if either step failed. Otherwise it is done if either
    /// step is done.
    fn combine(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed(error), _) | (_, Self::Failed(error)) => Self::Failed(error),
            (Self::NotNeeded, Self::NotNeeded) => Self::NotNeeded,
            _ => Self::Done,
        }
    }

    fn from_result(done: Result<(), Error>) -> Self {
        match done {
            Ok(()) => Self::Done,
            Err(error) => Self::Failed(error),
        }
    }
}

/// The results of the steps of a disconnection, in the order of execution.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DisconnectReport {
    /// Revocation of the connection at the provider, and of a connection under the [names of earlier
    /// versions](crate::CredentialOwner::without_gateway). If it failed, the connection expires when it is
    /// not used, and the member can end it immediately in the web application.
    pub revoked: StepOutcome,
    /// Deletion of the tokens, and of all secrets under the names of earlier versions.
    pub tokens: StepOutcome,
    /// Deletion of the key. The next sign-in creates a new installation.
    pub key: StepOutcome,
    /// Deletion of the recorded data of the connection, and of each registered [`LocalData`], by name.
    pub data: Vec<(String, StepOutcome)>,
}

impl DisconnectReport {
    /// Returns true if no data of the connection is left on this machine.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.tokens.is_done() && self.key.is_done() && self.data.iter().all(|(_, step)| step.is_done())
    }
}

pub(super) async fn disconnect(inside: &Arc<SessionInner>) -> DisconnectReport {
    let all = Arc::clone(inside);
    let done = inside.run_to_completion(async move { all.run_disconnect().await }).await;
    done.unwrap_or_else(|error| {
        let failed = || StepOutcome::Failed(error.clone());
        DisconnectReport { revoked: failed(), tokens: failed(), key: failed(), data: Vec::new() }
    })
}

impl SessionInner {
    async fn run_disconnect(&self) -> DisconnectReport {
        let guard = self.acquire_exclusive_or_local().await;
        let revoked = self.revoke_current().await.combine(self.revoke_legacy().await);
        let connection = self.known_connection().await;
        let tokens = StepOutcome::from_result(self.delete_all_tokens().await);
        let key = StepOutcome::from_result(self.keys.delete().await);
        // If a secret could not be deleted, its connection is recorded, so that the next process ignores the
        // secret and deletes it.
        let left = connection.filter(|_| !tokens.is_done() || !key.is_done());
        self.drop_connection();
        self.connection_state().key_proofs = None;
        self.set_state(SessionState::SignedOut);
        let mut data =
            vec![("notes".to_owned(), StepOutcome::from_result(self.clear_notes(&guard, left).await))];
        for local in self.local_data() {
            data.push((local.name().to_owned(), StepOutcome::from_result(local.delete().await)));
        }
        DisconnectReport { revoked, tokens, key, data }
    }

    /// Returns the newest refresh token: the unsaved token if it replaces the stored one, otherwise the
    /// stored token.
    fn latest_refresh(&self, stored: StoredRefresh) -> StoredRefresh {
        match &self.connection_state().unsaved {
            Some(unsaved)
                if unsaved.spent == stored.token && unsaved.refresh.connection == stored.connection =>
            {
                unsaved.refresh.clone()
            }
            _ => stored,
        }
    }

    /// Revokes the current refresh token, with a single request. The following steps run even if this fails.
    async fn revoke_current(&self) -> StepOutcome {
        let refresh = match self.stored_refresh().await {
            Ok(Some(refresh)) => self.latest_refresh(refresh),
            Ok(None) => return StepOutcome::NotNeeded,
            Err(error) => return StepOutcome::Failed(error),
        };
        match self.has_key(&refresh.jkt).await {
            Ok(true) => {}
            // Without its key, the token can neither be used nor revoked.
            Ok(false) => return StepOutcome::NotNeeded,
            Err(error) => return StepOutcome::Failed(error),
        }
        let Some(keyed) = self.connection_state().key_proofs.clone() else { return StepOutcome::NotNeeded };
        self.revoke_token(&keyed, &refresh).await
    }

    /// Revokes the token that an earlier version stored under its own name. The token is no longer used, but
    /// the provider still accepts it.
    async fn revoke_legacy(&self) -> StepOutcome {
        let earlier = self.vault.without_gateway();
        let refresh = match earlier.read_entry(CredentialEntry::RefreshToken).await {
            Ok(bytes) => bytes.and_then(|bytes| StoredRefresh::from_bytes(&bytes)),
            Err(error) => return StepOutcome::Failed(error),
        };
        let Some(refresh) = refresh else { return StepOutcome::NotNeeded };
        let key = match StoredKey(earlier).load().await {
            Ok(Some(key)) => key,
            Ok(None) => return StepOutcome::NotNeeded,
            Err(error) => return StepOutcome::Failed(error),
        };
        let keyed = self.load_proofs(key).await;
        if keyed.jkt != refresh.jkt {
            return StepOutcome::NotNeeded;
        }
        self.revoke_token(&keyed, &refresh).await
    }

    async fn revoke_token(&self, keyed: &KeyProofs, refresh: &StoredRefresh) -> StepOutcome {
        StepOutcome::from_result(
            self.provider.revoke_token(&keyed.provider, &refresh.token).await.map_err(Error::from),
        )
    }
}
