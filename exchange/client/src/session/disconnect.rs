//! Ending a connection because the member asks (IDP-24, CLI-06).

use std::sync::Arc;

use super::{
    inside::{Inside, Keyed},
    stored::Refresh,
};
use crate::{
    credentials::Entry,
    error::Error,
    keys::{KeySource as _, StoredKey},
    state::SessionState,
    tokens::Later,
};

/// Something that is kept of a connection and goes with it: a replica, an outbox.
pub trait LocalData: Send + Sync {
    /// What it is called when the member is told that it is gone.
    fn name(&self) -> &str;

    /// Deletes it, so that nothing of it can be read any more.
    ///
    /// # Errors
    /// When something of it may still be there.
    fn delete(&self) -> Later<'_, Result<(), Error>>;

    /// What a session holds to delete it: all of it, unless there is less that can. Of what sends with the session it is
    /// less, for else the two would hold each other, and neither would go with the program's last use of it.
    fn kept(self) -> Arc<dyn LocalData>
    where
        Self: Sized + 'static,
    {
        Arc::new(self)
    }
}

/// What became of one step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StepTaken {
    /// It is done.
    Done,
    /// There was nothing to do.
    NotNeeded,
    /// It is not done.
    Failed(Error),
}

impl StepTaken {
    /// Whether nothing is left to do.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }

    /// Both: failed where one is, done where one is.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed(error), _) | (_, Self::Failed(error)) => Self::Failed(error),
            (Self::NotNeeded, Self::NotNeeded) => Self::NotNeeded,
            _ => Self::Done,
        }
    }

    fn of(done: Result<(), Error>) -> Self {
        match done {
            Ok(()) => Self::Done,
            Err(error) => Self::Failed(error),
        }
    }
}

/// What became of each step of a disconnection, in their order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Disconnected {
    /// The provider ended the connection, and one of which tokens stand under [names of
    /// before](crate::Owner::before_gateways). If it did not, the connection ends by itself when nobody uses it; the
    /// member can end it on the web at once.
    pub revoked: StepTaken,
    /// The tokens are deleted, and what stands under names of before.
    pub tokens: StepTaken,
    /// The key is deleted: whoever signs in next is a new installation.
    pub key: StepTaken,
    /// Notes of the connection, and the rest of what was kept, by name.
    pub data: Vec<(String, StepTaken)>,
}

impl Disconnected {
    /// Whether nothing is left on this machine.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.tokens.is_done() && self.key.is_done() && self.data.iter().all(|(_, step)| step.is_done())
    }
}

pub(super) async fn disconnect(inside: &Arc<Inside>) -> Disconnected {
    let all = Arc::clone(inside);
    let done = inside.apart(async move { all.disconnected().await }).await;
    done.unwrap_or_else(|error| {
        let failed = || StepTaken::Failed(error.clone());
        Disconnected { revoked: failed(), tokens: failed(), key: failed(), data: Vec::new() }
    })
}

impl Inside {
    async fn disconnected(&self) -> Disconnected {
        let alone = self.alone_at_any_rate().await;
        let revoked = self.revoke().await.and(self.revoke_earlier().await);
        let connection = self.known_connection().await;
        let tokens = StepTaken::of(self.delete_all_tokens().await);
        let key = StepTaken::of(self.keys.delete().await);
        // What could not be deleted signs nobody in again: the next process that can get at it deletes it.
        let left = connection.filter(|_| !tokens.is_done() || !key.is_done());
        self.drop_connection();
        self.held().keyed = None;
        self.set_state(SessionState::SignedOut);
        let mut data = vec![("notes".to_owned(), StepTaken::of(self.forget_notes(&alone, left).await))];
        for kept in self.local() {
            data.push((kept.name().to_owned(), StepTaken::of(kept.delete().await)));
        }
        Disconnected { revoked, tokens, key, data }
    }

    /// What came in the place of a refresh token, if the store did not take it yet.
    fn latest(&self, stored: Refresh) -> Refresh {
        match &self.held().unsaved {
            Some(unsaved)
                if unsaved.spent == stored.token && unsaved.refresh.connection == stored.connection =>
            {
                unsaved.refresh.clone()
            }
            _ => stored,
        }
    }

    /// Best effort: once, and whatever comes of it, the rest follows.
    async fn revoke(&self) -> StepTaken {
        let refresh = match self.stored_refresh().await {
            Ok(Some(refresh)) => self.latest(refresh),
            Ok(None) => return StepTaken::NotNeeded,
            Err(error) => return StepTaken::Failed(error),
        };
        match self.has_key(&refresh.jkt).await {
            Ok(true) => {}
            // Without the key nobody takes the token, neither to revoke it nor for anything else.
            Ok(false) => return StepTaken::NotNeeded,
            Err(error) => return StepTaken::Failed(error),
        }
        let Some(keyed) = self.held().keyed.clone() else { return StepTaken::NotNeeded };
        self.revoke_with(&keyed, &refresh).await
    }

    /// The same with what stands under names of before: nothing here uses it, but the provider would still take it.
    async fn revoke_earlier(&self) -> StepTaken {
        let earlier = self.vault.before_gateways();
        let refresh = match earlier.read(Entry::RefreshToken).await {
            Ok(bytes) => bytes.and_then(|bytes| Refresh::read(&bytes)),
            Err(error) => return StepTaken::Failed(error),
        };
        let Some(refresh) = refresh else { return StepTaken::NotNeeded };
        let key = match StoredKey(earlier).load().await {
            Ok(Some(key)) => key,
            Ok(None) => return StepTaken::NotNeeded,
            Err(error) => return StepTaken::Failed(error),
        };
        let keyed = self.keyed(key).await;
        if keyed.jkt != refresh.jkt {
            return StepTaken::NotNeeded;
        }
        self.revoke_with(&keyed, &refresh).await
    }

    async fn revoke_with(&self, keyed: &Keyed, refresh: &Refresh) -> StepTaken {
        StepTaken::of(self.provider.revoke(&keyed.provider, &refresh.token).await.map_err(Error::from))
    }
}
