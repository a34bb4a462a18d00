//! The check of the token's capabilities while a program runs. When a capability is lost, its data is deleted
//! (OST-10, OST-14). When one is added, its data is read.

use std::{sync::Arc, time::Duration};

use exchange_api::scopes::Scope;

use super::{MIN_SYNC_INTERVAL, ReplicaSync, SyncSession, lock};
use crate::{
    connection::Connection,
    feed::{Area, Collection, FeedReader},
    ownership::Ownership,
    rate_limiter::CallInitiator,
    transport::RetryPolicy,
};

// The call makes a single attempt, because the next check follows soon.
const SINGLE_ATTEMPT: RetryPolicy = RetryPolicy::new(1, Duration::from_secs(60), CallInitiator::Program);

/// The time of the last check and the scopes of the token at that time.
#[derive(Clone, Debug, Default)]
pub(super) struct CapabilityCheck {
    at: Duration,
    scopes: Arc<[Scope]>,
}

impl SyncSession {
    /// Returns true if a connection may read the same data as this session.
    fn has_same_access(&self, connection: &Connection) -> bool {
        let demand = connection.has_capability(&Scope::ExchangeDemandRead);
        let areas = Area::ALL.into_iter().filter(|area| connection.has_capability(&area.scope()));
        (&self.reader, self.demand) == (&FeedReader::from_connection(connection), demand)
            && areas.eq(self.areas.iter().copied())
    }

    /// Returns the collections of the organization that the session may not read.
    pub(super) fn unreadable_collections(&self) -> Vec<Collection> {
        let may = |collection: &Collection| match collection {
            Collection::Area(area) => self.areas.contains(area),
            Collection::Demand => self.demand,
        };
        Collection::ORGANIZATION.into_iter().filter(|collection| !may(collection)).collect()
    }
}

impl ReplicaSync {
    /// Returns the record of a check at this time, with the current scopes of the token.
    pub(super) fn capability_check(&self, at: Duration) -> CapabilityCheck {
        let scopes = self.0.exchange.as_ref().map(|exchange| exchange.tokens().granted_scopes());
        CapabilityCheck { at, scopes: scopes.unwrap_or_default() }
    }

    /// Returns the time of the next check; `None` if no check is needed.
    pub(super) fn next_capability_check(&self) -> Option<Duration> {
        self.0.exchange.as_ref()?;
        if lock(&self.0.schedule).is_stopped() {
            return None;
        }
        let session = lock(&self.0.session);
        let has_begun = session.number > 0 && session.owner != Ownership::default();
        has_begun.then(|| session.capability_check.at.saturating_add(MIN_SYNC_INTERVAL))
    }

    /// Checks the access of the token if this is due, and begins the session again if the access changed. A
    /// connection without an installation id that the program read itself is not checked, because its owner
    /// is unknown.
    pub(super) async fn refresh_capabilities(&self) {
        let (Some(exchange), Some(due)) = (&self.0.exchange, self.next_capability_check()) else { return };
        let now = self.capability_check(self.monotonic_time());
        let session = {
            let mut session = lock(&self.0.session);
            if now.at < due && now.scopes == session.capability_check.scopes {
                return;
            }
            session.capability_check = now;
            session.clone()
        };
        let connection = match exchange.connection_for(&session.owner, SINGLE_ATTEMPT).await {
            Ok(connection) => connection,
            Err(error) => return tracing::debug!(%error, "the capability check failed"),
        };
        if session.has_same_access(&connection) {
            return;
        }
        let _alone = self.0.session_lock.lock().await;
        // Another session may have begun since, possibly of another member.
        if lock(&self.0.session).number != session.number {
            return;
        }
        tracing::info!("the capabilities of the token changed");
        if let Err(error) = self.begin_session_locked(&connection).await {
            tracing::warn!(%error, "the capabilities changed, but the local data could not be updated completely yet");
        }
    }

    /// Deletes the organization's data in an area after the exchange refused access because of a missing
    /// scope (OST-14).
    pub(super) async fn handle_lost_scope(&self, area: Area, session: &SyncSession) {
        if !area.is_organization_data() || lock(&self.0.session).number != session.number {
            return;
        }
        {
            let (mut lost, collection) = (lock(&self.0.lost_collections), Collection::Area(area));
            if !lost.contains(&collection) {
                lost.push(collection);
            }
        }
        if let Err(error) = self.forget_expired().await {
            tracing::warn!(%error, "data that may no longer be read could not be deleted yet");
        }
    }
}
