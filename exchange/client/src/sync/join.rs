//! What joins an outbox to it: whatever was sent is read back.

use tokio::sync::broadcast::error::RecvError;

use super::Sync;
use crate::{
    changes::Lane,
    feed::Area,
    outbox::{Outbox, OutboxEvent},
};

impl Sync {
    /// What an outbox says: the feed of an area is due at once when a set was decided there, for the new position
    /// (WRT-08), and before a merge or a comparison. For a program that runs once, between
    /// [`flush`](Outbox::flush) and [`once`](Self::once); one that stays calls [`follow`](Self::follow).
    pub fn told(&self, event: &OutboxEvent) {
        if let Some(lane) = event.pulls() {
            self.changed(lane.into());
        }
    }

    /// Listens to an outbox from now on, and takes in whatever it [says](Self::told), for as long as it is polled
    /// and the outbox is there. To be polled beside [`run`](Self::run), which reads what is due:
    ///
    /// ```no_run
    /// # use exchange_client::{Error, Exchange, MemoryOutbox, Replica};
    /// # async fn example(exchange: Exchange) -> Result<(), Error> {
    /// let sync = exchange.sync(&Replica::in_memory());
    /// let outbox = exchange.outbox(MemoryOutbox::new(), &exchange.connection().await?)?;
    /// tokio::join!(outbox.run(), sync.follow(&outbox), sync.run());
    /// # Ok(())
    /// # }
    /// ```
    pub fn follow(&self, outbox: &Outbox) -> impl Future<Output = ()> + Send + use<> {
        let (sync, mut events) = (self.clone(), outbox.events());
        async move {
            loop {
                match events.recv().await {
                    Ok(event) => sync.told(&event),
                    // What was missed may have been about any area.
                    Err(RecvError::Lagged(_)) => Area::ALL.into_iter().for_each(|area| sync.changed(area)),
                    Err(RecvError::Closed) => return,
                }
            }
        }
    }
}

/// The area whose feed tells of what is written there.
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
