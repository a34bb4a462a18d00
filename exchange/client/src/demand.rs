//! The open demand of the member's units (DEM-07, DEM-08, DEM-11): the reason if the exchange withholds it,
//! the demand by ordered item or by material, and the minimum interval between reads.

use std::{fmt, sync::Arc, time::Duration};

use dpop_bound::UnixTime;
use exchange_api::{
    Client,
    types::{DemandReason, DemandSource, ItemDemand, MaterialDemand, OrgDemand, Timestamp},
};
use tokio::sync::Mutex;

use crate::{
    connection::Connection,
    environment::{CLOCK_TOLERANCE, Environment},
    error::Error,
    exchange::Exchange,
    ownership::OwnedCache,
    retention::{MAX_ORGANISATION_AGE, is_expired},
    token_source::{CurrentSigner, TokenSource},
    transport::SendConditions,
};

/// Demand as the exchange returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Demand that the member may see.
    Open(OpenDemand),
    /// Demand that the member may not see: show the reason, and delete stored demand (DEM-07).
    Withheld(DemandWithheld),
}

/// The reason the exchange withholds demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandWithheld {
    reason: DemandReason,
}

impl DemandWithheld {
    /// Returns the reason, which may be unknown to this version (CON-12).
    #[must_use]
    pub const fn reason(&self) -> &DemandReason {
        &self.reason
    }
}

/// Formats the message for the member (CLI-04).
impl fmt::Display for DemandWithheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            DemandReason::NotPermitted => f.write_str(
                "demand is withheld: only members of a unit that takes part in profit sharing may see it",
            ),
            reason => write!(f, "demand is withheld by the exchange ({reason})"),
        }
    }
}

/// Demand that the member may see. It is internal data of the member's organization: show it only to this
/// member, and keep it for at most 7 days (DEM-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDemand {
    document: OrgDemand,
}

/// All open demand, counted as ordered: items by item, orders for materials by material (DEM-08).
#[derive(Clone, Copy, Debug)]
pub struct DemandByItems<'d> {
    document: &'d OrgDemand,
}

/// All open demand, counted by material: ordered items count as the materials that they require (DEM-08).
#[derive(Clone, Copy, Debug)]
pub struct DemandByMaterials<'d> {
    document: &'d OrgDemand,
}

impl From<OrgDemand> for Demand {
    /// Returns `Withheld` for a document with a reason, even if the document contains lines.
    fn from(document: OrgDemand) -> Self {
        match document.reason {
            Some(reason) => Self::Withheld(DemandWithheld { reason }),
            None => Self::Open(OpenDemand { document }),
        }
    }
}

impl OpenDemand {
    /// Returns the time at which the exchange computed the demand.
    #[must_use]
    pub const fn updated_at(&self) -> &Timestamp {
        &self.document.updated_at
    }

    /// Returns true if there is no open demand.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.document.items.is_empty() && self.document.materials.is_empty()
    }

    /// Counts ordered items, and the materials of orders for materials. Does not count the materials that
    /// ordered items need. No order is counted twice.
    #[must_use]
    pub const fn by_items(&self) -> DemandByItems<'_> {
        DemandByItems { document: &self.document }
    }

    /// Counts all materials, including those of ordered items, but not the items. No order is counted twice.
    #[must_use]
    pub const fn by_materials(&self) -> DemandByMaterials<'_> {
        DemandByMaterials { document: &self.document }
    }
}

impl<'d> DemandByItems<'d> {
    /// Returns the ordered items.
    #[must_use]
    pub fn items(self) -> &'d [ItemDemand] {
        &self.document.items
    }

    /// Returns the materials of orders for materials. Lines with an unknown source are omitted, because they
    /// may belong to an item.
    pub fn materials(self) -> impl Iterator<Item = &'d MaterialDemand> {
        let ordered = |line: &&MaterialDemand| matches!(line.source, DemandSource::MaterialOrder);
        self.document.materials.iter().filter(ordered)
    }
}

impl<'d> DemandByMaterials<'d> {
    /// Returns the materials of orders for items and of orders for materials.
    #[must_use]
    pub fn materials(self) -> &'d [MaterialDemand] {
        &self.document.materials
    }
}

/// The schedule of reading demand: when the member opens the view, and then at most once every 5 minutes
/// (DEM-11, LIM-38). Closing and opening the view again does not shorten the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandCadence {
    read_at: Option<UnixTime>,
}

impl DemandCadence {
    /// The minimum interval between two reads.
    pub const MIN_INTERVAL: Duration = Duration::from_secs(5 * 60);

    /// The maximum age of a stored copy (DEM-10, LIM-38).
    pub const MAX_AGE: Duration = MAX_ORGANISATION_AGE;

    /// Continues from the last read, which another process may have made.
    #[must_use]
    pub const fn from_last_read(read_at: UnixTime) -> Self {
        Self { read_at: Some(read_at) }
    }

    /// Returns the time until demand may be read again; zero if it may be read now. If the time of the last
    /// read is more than a minute in the future, the clock was set back since, and demand may be read.
    #[must_use]
    pub fn due_in(&self, now: UnixTime) -> Duration {
        let Some(read_at) = self.read_at.filter(|read_at| *read_at <= now + CLOCK_TOLERANCE) else {
            return Duration::ZERO;
        };
        Self::MIN_INTERVAL.saturating_sub(now.saturating_since(read_at))
    }

    /// Records a read, successful or not.
    pub const fn mark_read(&mut self, now: UnixTime) {
        self.read_at = Some(now);
    }
}

/// The demand that one view shows. Reads demand when the cadence permits it. Keeps the latest copy in memory
/// for at most seven days, and only for the member who was signed in.
pub struct DemandView {
    api: Client,
    environment: Environment,
    signers: CurrentSigner,
    state: Mutex<OwnedCache<DemandState>>,
}

#[derive(Default)]
struct DemandState {
    cadence: DemandCadence,
    copy: Option<(UnixTime, Arc<Demand>)>,
}

impl Exchange {
    /// Creates a view of the demand of the member's units. Pass [`DemandCadence::default`], or
    /// [`DemandCadence::from_last_read`] if another process has read the demand.
    ///
    /// ```
    /// # use exchange_client::{Demand, DemandCadence, Error, Exchange};
    /// # async fn example(exchange: Exchange) -> Result<(), Error> {
    /// let view = exchange.demand(DemandCadence::default());
    /// match view.read_if_due().await?.as_deref() {
    ///     Some(Demand::Open(open)) => println!("{} items", open.by_items().items().len()),
    ///     Some(Demand::Withheld(reason)) => println!("{reason}"),
    ///     None => println!("not read yet"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn demand(&self, cadence: DemandCadence) -> DemandView {
        let tokens = Some(Arc::clone(self.tokens()));
        DemandView::with_token_source(self.api().clone(), self.environment().clone(), tokens, cadence)
    }

    /// Reads demand now, for this connection. It is meant for programs that store demand in a
    /// [`Replica`](crate::Replica::store_demand) and respect the [`DemandCadence`], which the replica
    /// [shares](crate::Replica::demand_cadence) between processes. If the read fails, the stored copy may
    /// still be shown with its age.
    ///
    /// # Errors
    /// Returns the errors that every call can return, and
    /// [`ErrorKind::SignInNeeded`](crate::ErrorKind::SignInNeeded) if another member signed in since the
    /// connection was read.
    pub async fn read_demand(&self, connection: &Connection) -> Result<OrgDemand, Error> {
        let terms = SendConditions { owner: connection.ownership(), proof_time: None };
        Ok(self.api().demand_read().with_extension(terms).await?.into_body())
    }
}

impl DemandView {
    /// Creates a view without cached demand. `cadence` is [`DemandCadence::default`], or continues from the
    /// last read of another process. All calls of `api` must belong to one member until the next call of
    /// [`clear`](Self::clear). [`Exchange::demand`] detects a change of the signed-in member.
    #[must_use]
    pub fn new(api: Client, environment: Environment, cadence: DemandCadence) -> Self {
        Self::with_token_source(api, environment, None, cadence)
    }

    fn with_token_source(
        api: Client,
        environment: Environment,
        tokens: Option<Arc<dyn TokenSource>>,
        cadence: DemandCadence,
    ) -> Self {
        let state = Mutex::new(OwnedCache::new(DemandState { cadence, copy: None }));
        Self { api, environment, signers: CurrentSigner::new(tokens), state }
    }

    /// Reads demand if it is due, otherwise returns the cached copy; `None` if there is none. Call this when
    /// the member opens the view, and whenever the view should be refreshed.
    ///
    /// # Errors
    /// Returns the errors that every call can return. [`DemandView::cached`] still returns the cached copy.
    pub async fn read_if_due(&self) -> Result<Option<Arc<Demand>>, Error> {
        let mut private = self.state.lock().await;
        let now = self.environment.now().wall;
        let state = private.value_for(self.signers.owner().as_ref());
        if state.cadence.due_in(now).is_zero() {
            state.cadence.mark_read(now);
            let response = self.api.demand_read().await?;
            // Another member may have signed in during the request.
            let state = private.value_for(self.signers.response_owner(&response).as_ref());
            state.cadence.mark_read(now);
            // The response replaces the copy even if it withholds demand (DEM-07).
            state.copy = Some((now, Arc::new(Demand::from(response.into_body()))));
        }
        Ok(private.value_for(self.signers.owner().as_ref()).cached(now))
    }

    /// Returns the cached demand without a request; `None` if there is none or if it is at least seven days
    /// old.
    pub async fn cached(&self) -> Option<Arc<Demand>> {
        let mut private = self.state.lock().await;
        private.value_for(self.signers.owner().as_ref()).cached(self.environment.now().wall)
    }

    /// Returns the time until [`DemandView::read_if_due`] sends a request again.
    pub async fn due_in(&self) -> Duration {
        let mut private = self.state.lock().await;
        private.value_for(self.signers.owner().as_ref()).cadence.due_in(self.environment.now().wall)
    }

    /// Deletes the cached demand. Call this when the member may no longer see it.
    pub async fn clear(&self) {
        self.state.lock().await.value_for(self.signers.owner().as_ref()).copy = None;
    }
}

impl DemandState {
    fn cached(&mut self, now: UnixTime) -> Option<Arc<Demand>> {
        self.copy.take_if(|(read_at, _)| is_expired(*read_at, now, DemandCadence::MAX_AGE));
        self.copy.as_ref().map(|(_, demand)| Arc::clone(demand))
    }
}

impl fmt::Debug for DemandView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DemandView").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract as _;

    use super::*;
    use crate::{
        error::ErrorKind,
        mock_gateway::{MockGateway, problem_response},
        test_members::{TestMembers, test_connection},
        testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment},
    };

    const OPEN: &str = r#"{"updatedAt": "2026-01-01T00:00:00Z",
        "materials": [
            {"material": {"bt": "m-1", "name": "Agricium"}, "rawRefs": [], "minQuality": 0,
             "openQuantity": {"amount": 12.5, "unit": "SCU"}, "source": "material-order"},
            {"material": {"bt": "m-1", "name": "Agricium"}, "rawRefs": [], "minQuality": 650,
             "openQuantity": {"amount": 3, "unit": "SCU"}, "source": "item-order"},
            {"material": {"bt": "m-2", "name": "Titanium"}, "rawRefs": [], "minQuality": 0,
             "openQuantity": {"amount": 1, "unit": "SCU"}, "source": "later-order"}],
        "items": [{"item": {"name": "P4-AR"}, "openQuantity": {"amount": 4, "unit": "PIECE"},
                   "craftableByMe": true}]}"#;

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    fn demand(text: &str) -> Demand {
        OrgDemand::parse(text.as_bytes()).unwrap().into()
    }

    fn withheld(reason: &str) -> String {
        format!(
            r#"{{"updatedAt": "2026-01-01T00:00:00Z", "materials": [], "items": [], "reason": "{reason}"}}"#
        )
    }

    /// DEM-08: no way of counting includes both an item and the materials of its order.
    #[test]
    fn item_order_is_counted_once() {
        let Demand::Open(open) = demand(OPEN) else { panic!("the demand is open") };
        let amounts = |lines: Vec<&MaterialDemand>| {
            lines
                .iter()
                .map(|line| line.open_quantity.amount.get().to_json_text().into_owned())
                .collect::<Vec<_>>()
        };
        let by_items = open.by_items();
        assert_eq!(by_items.items().len(), 1);
        assert_eq!(amounts(by_items.materials().collect()), ["12.5"]);
        assert_eq!(amounts(open.by_materials().materials().iter().collect()), ["12.5", "3", "1"]);
        assert!(!open.is_empty());
    }

    /// DEM-07, CON-12: demand with any reason is withheld, and the reason is shown.
    #[test]
    fn withheld_demand_shows_its_reason() {
        let reason_text = |reason: &str| match demand(&withheld(reason)) {
            Demand::Withheld(withheld) => withheld.to_string(),
            Demand::Open(_) => panic!("the demand is withheld"),
        };
        assert!(reason_text("NOT_PERMITTED").contains("profit sharing"));
        assert_eq!(reason_text("LATER_REASON"), "demand is withheld by the exchange (LATER_REASON)");
        let both = OPEN.replacen('{', r#"{"reason": "LATER_REASON","#, 1);
        assert!(matches!(demand(&both), Demand::Withheld(_)));
    }

    /// DEM-11, LIM-38: demand is read when the view is opened, then at most once every five minutes. A clock
    /// that was set back does not block reads.
    #[test]
    fn demand_is_read_at_most_every_five_minutes() {
        let at = UnixTime::from_secs;
        let mut cadence = DemandCadence::default();
        assert!(cadence.due_in(at(1000)).is_zero());
        cadence.mark_read(at(1000));
        assert_eq!(cadence, DemandCadence::from_last_read(at(1000)));
        assert_eq!(cadence.due_in(at(1000)), Duration::from_secs(300));
        assert_eq!(cadence.due_in(at(1299)), Duration::from_secs(1));
        assert!(cadence.due_in(at(1300)).is_zero());
        // A correction of the clock by up to a minute restarts the interval.
        assert_eq!(cadence.due_in(at(999)), Duration::from_secs(300));
        assert_eq!(cadence.due_in(at(940)), Duration::from_secs(300));
        // The clock was set back so far that the interval would be at least 1290 seconds.
        assert!(cadence.due_in(at(10)).is_zero());
        cadence.mark_read(at(10));
        assert_eq!(cadence.due_in(at(11)), Duration::from_secs(299));
    }

    /// DEM-11: opening the view reads demand. Opening it again within the interval does not, and a failed
    /// read does not shorten the interval.
    #[tokio::test(start_paused = true)]
    async fn opening_a_view_reads_demand() {
        let machine = VirtualEnvironment::new(1);
        let double =
            MockGateway::with_responses([(200, OPEN.to_owned()), problem_response(503, "EXCHANGE_DISABLED")]);
        let view = DemandView::new(double.client(), machine.environment(), DemandCadence::default());
        let (first, second) = tokio::join!(view.read_if_due(), view.read_if_due());
        assert_eq!(first.unwrap().as_deref(), Some(&demand(OPEN)));
        assert_eq!(second.unwrap().as_deref(), Some(&demand(OPEN)));
        assert_eq!(double.requests(), ["GET /exchange/v1/me/org-demand"]);
        pass(300).await;
        assert_eq!(view.read_if_due().await.unwrap_err().kind(), ErrorKind::Busy);
        // The cached copy is still available after the failed read.
        assert_eq!(view.read_if_due().await.unwrap().as_deref(), Some(&demand(OPEN)));
        assert_eq!((double.requests().len(), view.due_in().await), (2, Duration::from_secs(300)));
    }

    /// DEM-07: withheld demand replaces the cached copy.
    #[tokio::test(start_paused = true)]
    async fn withheld_demand_replaces_the_copy() {
        let machine = VirtualEnvironment::new(1);
        let double = MockGateway::with_responses([(200, OPEN.to_owned()), (200, withheld("LATER_REASON"))]);
        let view = DemandView::new(double.client(), machine.environment(), DemandCadence::default());
        view.read_if_due().await.unwrap();
        pass(301).await;
        assert!(matches!(view.read_if_due().await.unwrap().as_deref(), Some(Demand::Withheld(_))));
        assert!(matches!(view.cached().await.as_deref(), Some(Demand::Withheld(_))));
    }

    /// DEM-10, DEM-11: the cached copy of one member is not shown to another member, for whom demand is read
    /// immediately.
    #[tokio::test(start_paused = true)]
    async fn demand_view_belongs_to_one_member() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(|seen| {
            let of_first = seen.token() == Some("token-of-i-1");
            ScriptedReply::json(200, if of_first { OPEN.to_owned() } else { withheld("NOT_PERMITTED") })
        });
        let members = TestMembers::new(&machine);
        let view = members.exchange_for(&machine, &gateway).demand(DemandCadence::default());
        assert!(matches!(view.read_if_due().await.unwrap().as_deref(), Some(Demand::Open(_))));
        view.read_if_due().await.unwrap();
        assert_eq!(gateway.request_count(), 1);
        members.sign_in(&[Some("i-2")]);
        assert!(view.cached().await.is_none() && view.due_in().await.is_zero());
        assert!(matches!(view.read_if_due().await.unwrap().as_deref(), Some(Demand::Withheld(_))));
        members.sign_in(&[Some("i-1")]);
        assert!(view.cached().await.is_none(), "a deleted copy does not return");
        // The last read of another process counts as a read for the signed-in member.
        let view = members
            .exchange_for(&machine, &gateway)
            .demand(DemandCadence::from_last_read(machine.environment().now().wall));
        assert_eq!((view.read_if_due().await.unwrap(), gateway.request_count()), (None, 2));
    }

    /// DEM-10: demand is read only for the connection for which it will be stored.
    #[tokio::test(start_paused = true)]
    async fn demand_is_read_for_its_connection_only() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.set_script(|_| ScriptedReply::json(200, OPEN));
        let members = TestMembers::new(&machine);
        let exchange = members.exchange_for(&machine, &gateway);
        let connection = test_connection("i-1", &["demand.read"]);
        exchange.read_demand(&connection).await.unwrap();
        members.sign_in(&[Some("i-2")]);
        let error = exchange.read_demand(&connection).await.unwrap_err();
        assert_eq!((error.kind(), gateway.request_count()), (ErrorKind::SignInNeeded, 1));
    }

    /// LIM-38, DEM-10: a cached copy expires after exactly seven days.
    #[tokio::test(start_paused = true)]
    async fn demand_copy_expires_after_seven_days() {
        let machine = VirtualEnvironment::new(1);
        let double = MockGateway::with_responses([(200, OPEN.to_owned())]);
        let view = DemandView::new(double.client(), machine.environment(), DemandCadence::default());
        view.read_if_due().await.unwrap();
        pass(7 * 86_400 - 1).await;
        assert!(view.cached().await.is_some());
        pass(1).await;
        assert!(view.cached().await.is_none());
        view.clear().await;
    }
}
