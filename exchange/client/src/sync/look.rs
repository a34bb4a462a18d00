//! What the token can read, looked at again while a program stays: a capability that goes takes what it showed along
//! (OST-10, OST-14), and one that comes is used.

use std::{sync::Arc, time::Duration};

use exchange_api::scopes::Scope;

use super::{EVERY, Session, Sync, locked};
use crate::{
    connection::Connection,
    feed::{Area, Collection, Reader},
    pace::Asked,
    transport::Patience,
    whose::Whose,
};

/// Once: the next time comes soon enough.
const PATIENCE: Patience = Patience::new(1, Duration::from_secs(60), Asked::ByProgram);

/// When it was looked at last, and what the token was granted then.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    at: Duration,
    scopes: Arc<[Scope]>,
}

impl Session {
    /// Whether a connection can read the same.
    fn reads_as(&self, connection: &Connection) -> bool {
        let demand = connection.can(&Scope::ExchangeDemandRead);
        let areas = Area::ALL.into_iter().filter(|area| connection.can(&area.scope()));
        (&self.reader, self.demand) == (&Reader::of(connection), demand)
            && areas.eq(self.areas.iter().copied())
    }

    /// What of the organisation's it cannot read.
    pub(super) fn lost(&self) -> Vec<Collection> {
        let may = |collection: &Collection| match collection {
            Collection::Area(area) => self.areas.contains(area),
            Collection::Demand => self.demand,
        };
        Collection::OF_ORGANISATION.into_iter().filter(|collection| !may(collection)).collect()
    }
}

impl Sync {
    /// It is looked at now.
    pub(super) fn looked(&self, at: Duration) -> Looked {
        let scopes = self.0.exchange.as_ref().map(|exchange| exchange.tokens().scopes());
        Looked { at, scopes: scopes.unwrap_or_default() }
    }

    /// When it is looked at next; `None` while it is not.
    pub(super) fn looks_at(&self) -> Option<Duration> {
        self.0.exchange.as_ref()?;
        if locked(&self.0.schedule).is_stopped() {
            return None;
        }
        let session = locked(&self.0.session);
        let has_begun = session.number > 0 && session.whose != Whose::default();
        has_begun.then(|| session.looked.at.saturating_add(EVERY))
    }

    /// Looks what the token can read, where that is due, and begins the session anew if it is something else. Of a
    /// connection that was read by hand and has no name nobody can tell whose it is, and nothing is looked at.
    pub(super) async fn look(&self) {
        let (Some(exchange), Some(due)) = (&self.0.exchange, self.looks_at()) else { return };
        let now = self.looked(self.monotonic());
        let session = {
            let mut session = locked(&self.0.session);
            if now.at < due && now.scopes == session.looked.scopes {
                return;
            }
            session.looked = now;
            session.clone()
        };
        let connection = match exchange.connection_of(&session.whose, PATIENCE).await {
            Ok(connection) => connection,
            Err(error) => return tracing::debug!(%error, "what can be read is not known anew"),
        };
        if session.reads_as(&connection) {
            return;
        }
        let _alone = self.0.sessions.lock().await;
        // Somebody may have begun another one meanwhile, perhaps another member's.
        if locked(&self.0.session).number != session.number {
            return;
        }
        tracing::info!("the token can read something else than before");
        if let Err(error) = self.begin(&connection).await {
            tracing::warn!(%error, "what can be read is something else, and not everything could be put right yet");
        }
    }

    /// The exchange does not let this token read an area any more: nothing of the organisation's is kept of it (OST-14).
    pub(super) async fn lost(&self, area: Area, session: &Session) {
        if !area.is_of_organisation() || locked(&self.0.session).number != session.number {
            return;
        }
        {
            let (mut lost, collection) = (locked(&self.0.lost), Collection::Area(area));
            if !lost.contains(&collection) {
                lost.push(collection);
            }
        }
        if let Err(error) = self.expire().await {
            tracing::warn!(%error, "what cannot be read any more could not be forgotten yet");
        }
    }
}
