//! Lets a [`ReplicaSync`] react to the events of an outbox: an area that the outbox wrote to is read again.

use tokio::sync::broadcast::error::RecvError;

use super::ReplicaSync;
use crate::{
    changes::Lane,
    feed::Area,
    outbox::{Outbox, OutboxEvent},
};

impl ReplicaSync {
    /// Marks the area of an outbox event as due if its feed has to be pulled: after a decided change set
    /// (WRT-08), and before a merge or a comparison. It is meant for programs that run once, which call it
    /// between [`flush`](Outbox::flush) and [`sync_once`](Self::sync_once). A program that keeps running
    /// calls [`follow_outbox`](Self::follow_outbox).
    pub fn handle_outbox_event(&self, event: &OutboxEvent) {
        if let Some(lane) = event.lane_to_pull() {
            self.mark_changed(lane.into());
        }
    }

    /// Passes the events of an outbox to [`handle_outbox_event`](Self::handle_outbox_event) for as long as
    /// the future is polled and the outbox exists. Poll it together with [`run`](Self::run), which reads the
    /// due areas:
    ///
    /// ```no_run
    /// # use exchange_client::{Error, Exchange, MemoryOutbox, Replica};
    /// # async fn example(exchange: Exchange) -> Result<(), Error> {
    /// let sync = exchange.sync(&Replica::in_memory());
    /// let outbox = exchange.outbox(MemoryOutbox::new(), &exchange.connection().await?)?;
    /// tokio::join!(outbox.run(), sync.follow_outbox(&outbox), sync.run());
    /// # Ok(())
    /// # }
    /// ```
    pub fn follow_outbox(&self, outbox: &Outbox) -> impl Future<Output = ()> + Send + use<> {
        let (sync, mut events) = (self.clone(), outbox.events());
        async move {
            loop {
                match events.recv().await {
                    Ok(event) => sync.handle_outbox_event(&event),
                    // The missed events may be about any area.
                    Err(RecvError::Lagged(_)) => {
                        Area::ALL.into_iter().for_each(|area| sync.mark_changed(area))
                    }
                    Err(RecvError::Closed) => return,
                }
            }
        }
    }
}

/// Returns the area whose feed contains the changes of a lane.
impl From<Lane> for Area {
    fn from(lane: Lane) -> Self {
        match lane {
            Lane::Blueprints => Self::Blueprints,
            Lane::Stock => Self::Stock,
            Lane::Ships => Self::Ships,
            Lane::OrgStock => Self::OrgStock,
        }
    }
}
