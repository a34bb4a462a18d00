//! Open demand of the member's units: withheld or open, counted one way, read seldom (DEM-07, DEM-08, DEM-11).

use std::{fmt, sync::Arc, time::Duration};

use dpop_bound::UnixTime;
use exchange_api::{
    Client,
    types::{DemandReason, DemandSource, ItemDemand, MaterialDemand, OrgDemand, Timestamp},
};
use tokio::sync::Mutex;

use crate::{
    connection::Connection,
    environment::{CORRECTION, Environment},
    error::Error,
    exchange::Exchange,
    retention::{ORGANISATION_FOR, is_over},
    tokens::{Signers, Tokens},
    transport::Terms,
    whose::Private,
};

/// What the exchange says of demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// The member may see it.
    Open(OpenDemand),
    /// The member may not: tell why the view is empty, and drop what was kept (DEM-07).
    Withheld(Withheld),
}

/// Why there is nothing to be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    reason: DemandReason,
}

impl Withheld {
    /// The exchange's reason, also one that this version does not know (CON-12).
    #[must_use]
    pub const fn reason(&self) -> &DemandReason {
        &self.reason
    }
}

/// What the member is told (CLI-04).
impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            DemandReason::NotPermitted => f.write_str(
                "demand is withheld: only members of a unit that takes part in profit sharing may see it",
            ),
            reason => write!(f, "demand is withheld by the exchange ({reason})"),
        }
    }
}

/// Demand that the member may see. Internal data of the member's organisation: shown to this member alone, kept
/// at most 7 days, passed on to nobody (DEM-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDemand {
    document: OrgDemand,
}

/// Everything that is open, counted by items where items are ordered (DEM-08).
#[derive(Clone, Copy, Debug)]
pub struct ByItems<'d> {
    document: &'d OrgDemand,
}

/// Everything that is open, counted by the materials that it takes (DEM-08).
#[derive(Clone, Copy, Debug)]
pub struct ByMaterials<'d> {
    document: &'d OrgDemand,
}

impl From<OrgDemand> for Demand {
    /// With a reason it is withheld, whatever the lists hold.
    fn from(document: OrgDemand) -> Self {
        match document.reason {
            Some(reason) => Self::Withheld(Withheld { reason }),
            None => Self::Open(OpenDemand { document }),
        }
    }
}

impl OpenDemand {
    /// When the exchange worked it out.
    #[must_use]
    pub const fn updated_at(&self) -> &Timestamp {
        &self.document.updated_at
    }

    /// Whether nothing is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.document.items.is_empty() && self.document.materials.is_empty()
    }

    /// Items as they are ordered, and the materials that are ordered as such: no order is counted twice.
    #[must_use]
    pub const fn by_items(&self) -> ByItems<'_> {
        ByItems { document: &self.document }
    }

    /// All materials, those of ordered items among them, and no items: no order is counted twice.
    #[must_use]
    pub const fn by_materials(&self) -> ByMaterials<'_> {
        ByMaterials { document: &self.document }
    }
}

impl<'d> ByItems<'d> {
    /// The items that are ordered.
    #[must_use]
    pub fn items(self) -> &'d [ItemDemand] {
        &self.document.items
    }

    /// The materials that are ordered as such. A source that this version does not know may be an item's, and
    /// is left out.
    pub fn materials(self) -> impl Iterator<Item = &'d MaterialDemand> {
        let ordered = |line: &&MaterialDemand| matches!(line.source, DemandSource::MaterialOrder);
        self.document.materials.iter().filter(ordered)
    }
}

impl<'d> ByMaterials<'d> {
    /// The materials that orders of either kind take.
    #[must_use]
    pub fn materials(self) -> &'d [MaterialDemand] {
        &self.document.materials
    }
}

/// When demand may be read: once when the member opens the view, and then at most every 5 minutes (DEM-11,
/// LIM-38). Decides only; closing and opening the view does not make it sooner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandCadence {
    read_at: Option<UnixTime>,
}

impl DemandCadence {
    /// The least time between two readings.
    pub const LEAST: Duration = Duration::from_secs(5 * 60);

    /// How long a copy may be kept (DEM-10, LIM-38).
    pub const KEPT: Duration = ORGANISATION_FOR;

    /// As it was when demand was read last, perhaps by another process.
    #[must_use]
    pub const fn since(read_at: UnixTime) -> Self {
        Self { read_at: Some(read_at) }
    }

    /// How long to wait; nothing when it may be read now. A clock that was set back says nothing
    /// of how long ago that was, and it may be read; one that was corrected by a minute does.
    #[must_use]
    pub fn due_in(&self, now: UnixTime) -> Duration {
        let Some(read_at) = self.read_at.filter(|read_at| *read_at <= now + CORRECTION) else {
            return Duration::ZERO;
        };
        Self::LEAST.saturating_sub(now.saturating_since(read_at))
    }

    /// It is read now, whether or not that succeeds.
    pub const fn read(&mut self, now: UnixTime) {
        self.read_at = Some(now);
    }
}

/// Demand for one view: reads it when the cadence lets it, keeps the latest in memory, never longer than seven days, and
/// for nobody but the member who was signed in.
pub struct DemandView {
    api: Client,
    environment: Environment,
    signers: Signers,
    state: Mutex<Private<State>>,
}

#[derive(Default)]
struct State {
    cadence: DemandCadence,
    copy: Option<(UnixTime, Arc<Demand>)>,
}

impl Exchange {
    /// The demand of the member's units, for a view of it. `cadence` is [`DemandCadence::default`], or
    /// [when another process read it last](DemandCadence::since).
    ///
    /// ```
    /// # use exchange_client::{Demand, DemandCadence, Error, Exchange};
    /// # async fn example(exchange: Exchange) -> Result<(), Error> {
    /// let view = exchange.demand(DemandCadence::default());
    /// match view.look().await?.as_deref() {
    ///     Some(Demand::Open(open)) => println!("{} items", open.by_items().items().len()),
    ///     Some(Demand::Withheld(why)) => println!("{why}"),
    ///     None => println!("not read yet"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn demand(&self, cadence: DemandCadence) -> DemandView {
        let tokens = Some(Arc::clone(self.tokens()));
        DemandView::over(self.api().clone(), self.environment().clone(), tokens, cadence)
    }

    /// Reads the demand now, for this very connection: for a program that keeps it in a
    /// [`Replica`](crate::Replica::keep_demand) and minds the [`DemandCadence`] itself, which the replica
    /// [has](crate::Replica::demand_cadence) for all processes. Where this fails, what is kept may still be shown, with its
    /// age.
    ///
    /// # Errors
    /// As every call; [`ErrorKind::SignInNeeded`](crate::ErrorKind::SignInNeeded) when somebody else signed in since the
    /// connection was read.
    pub async fn read_demand(&self, connection: &Connection) -> Result<OrgDemand, Error> {
        let terms = Terms { whose: connection.whose(), signed_at: None };
        Ok(self.api().demand_read().with(terms).await?.into_body())
    }
}

impl DemandView {
    /// Nothing was read yet. `cadence` is [`DemandCadence::default`], or when another process read it last. For calls that
    /// are one member's as long as it lives, or until [`forget`](Self::forget); [`Exchange::demand`] looks at who is
    /// signed in.
    #[must_use]
    pub fn new(api: Client, environment: Environment, cadence: DemandCadence) -> Self {
        Self::over(api, environment, None, cadence)
    }

    fn over(
        api: Client,
        environment: Environment,
        tokens: Option<Arc<dyn Tokens>>,
        cadence: DemandCadence,
    ) -> Self {
        let state = Mutex::new(Private::new(State { cadence, copy: None }));
        Self { api, environment, signers: Signers::new(tokens), state }
    }

    /// When the member opens the view, and whenever the view wants to be newer: reads if it is due, otherwise
    /// gives what was read before; `None` when there is nothing yet and it is not due.
    ///
    /// # Errors
    /// As every call; [`DemandView::copy`] has what was read before.
    pub async fn look(&self) -> Result<Option<Arc<Demand>>, Error> {
        let mut private = self.state.lock().await;
        let now = self.environment.now().wall;
        let state = private.of(self.signers.now().as_ref());
        if state.cadence.due_in(now).is_zero() {
            state.cadence.read(now);
            let answer = self.api.demand_read().await?;
            // Somebody may have signed in meanwhile.
            let state = private.of(self.signers.of(&answer).as_ref());
            state.cadence.read(now);
            // What was kept before is dropped here, also when it is withheld now (DEM-07).
            state.copy = Some((now, Arc::new(Demand::from(answer.into_body()))));
        }
        Ok(private.of(self.signers.now().as_ref()).copy(now))
    }

    /// What was read before, without reading; `None` once it is seven days old.
    pub async fn copy(&self) -> Option<Arc<Demand>> {
        let mut private = self.state.lock().await;
        private.of(self.signers.now().as_ref()).copy(self.environment.now().wall)
    }

    /// How long until [`DemandView::look`] reads again.
    pub async fn due_in(&self) -> Duration {
        let mut private = self.state.lock().await;
        private.of(self.signers.now().as_ref()).cadence.due_in(self.environment.now().wall)
    }

    /// Drops the copy: the member may no longer see it.
    pub async fn forget(&self) {
        self.state.lock().await.of(self.signers.now().as_ref()).copy = None;
    }
}

impl State {
    fn copy(&mut self, now: UnixTime) -> Option<Arc<Demand>> {
        self.copy.take_if(|(read_at, _)| is_over(*read_at, now, DemandCadence::KEPT));
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
        double::{Double, problem},
        error::ErrorKind,
        members::{Members, connection},
        testkit::{Reply, ScriptedServer, VirtualEnvironment},
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

    /// DEM-08: one or the other, never both: no view has an item and the materials of its order.
    #[test]
    fn an_item_order_is_counted_once() {
        let Demand::Open(open) = demand(OPEN) else { panic!("it is open") };
        let amounts = |lines: Vec<&MaterialDemand>| {
            lines.iter().map(|line| line.open_quantity.amount.get().text().into_owned()).collect::<Vec<_>>()
        };
        let by_items = open.by_items();
        assert_eq!(by_items.items().len(), 1);
        assert_eq!(amounts(by_items.materials().collect()), ["12.5"]);
        assert_eq!(amounts(open.by_materials().materials().iter().collect()), ["12.5", "3", "1"]);
        assert!(!open.is_empty());
    }

    /// DEM-07, CON-12: a reason withholds, whichever it is, and says so.
    #[test]
    fn withheld_demand_says_why() {
        let told = |reason: &str| match demand(&withheld(reason)) {
            Demand::Withheld(withheld) => withheld.to_string(),
            Demand::Open(_) => panic!("it is withheld"),
        };
        assert!(told("NOT_PERMITTED").contains("profit sharing"));
        assert_eq!(told("LATER_REASON"), "demand is withheld by the exchange (LATER_REASON)");
        let both = OPEN.replacen('{', r#"{"reason": "LATER_REASON","#, 1);
        assert!(matches!(demand(&both), Demand::Withheld(_)));
    }

    /// DEM-11, LIM-38: once at the opening, then at most every five minutes; a clock that was set back does not stop it.
    #[test]
    fn demand_is_read_at_most_every_five_minutes() {
        let at = UnixTime::from_secs;
        let mut cadence = DemandCadence::default();
        assert!(cadence.due_in(at(1000)).is_zero());
        cadence.read(at(1000));
        assert_eq!(cadence, DemandCadence::since(at(1000)));
        assert_eq!(cadence.due_in(at(1000)), Duration::from_secs(300));
        assert_eq!(cadence.due_in(at(1299)), Duration::from_secs(1));
        assert!(cadence.due_in(at(1300)).is_zero());
        // Corrected by a little, it counts from then on.
        assert_eq!(cadence.due_in(at(999)), Duration::from_secs(300));
        assert_eq!(cadence.due_in(at(940)), Duration::from_secs(300));
        // The clock was set back: by that one it would be 1290 seconds and more.
        assert!(cadence.due_in(at(10)).is_zero());
        cadence.read(at(10));
        assert_eq!(cadence.due_in(at(11)), Duration::from_secs(299));
    }

    /// DEM-11: opening the view reads, opening it again does not, and a failure does not make it sooner.
    #[tokio::test(start_paused = true)]
    async fn a_view_is_read_when_it_is_opened() {
        let machine = VirtualEnvironment::new(1);
        let double = Double::answering([(200, OPEN.to_owned()), problem(503, "EXCHANGE_DISABLED")]);
        let view = DemandView::new(double.client(), machine.environment(), DemandCadence::default());
        let (first, second) = tokio::join!(view.look(), view.look());
        assert_eq!(first.unwrap().as_deref(), Some(&demand(OPEN)));
        assert_eq!(second.unwrap().as_deref(), Some(&demand(OPEN)));
        assert_eq!(double.requests(), ["GET /exchange/v1/me/org-demand"]);
        pass(300).await;
        assert_eq!(view.look().await.unwrap_err().kind(), ErrorKind::Busy);
        // What was read before is still there.
        assert_eq!(view.look().await.unwrap().as_deref(), Some(&demand(OPEN)));
        assert_eq!((double.requests().len(), view.due_in().await), (2, Duration::from_secs(300)));
    }

    /// DEM-07: what was kept goes when demand is withheld.
    #[tokio::test(start_paused = true)]
    async fn withheld_demand_takes_the_place_of_what_was_kept() {
        let machine = VirtualEnvironment::new(1);
        let double = Double::answering([(200, OPEN.to_owned()), (200, withheld("LATER_REASON"))]);
        let view = DemandView::new(double.client(), machine.environment(), DemandCadence::default());
        view.look().await.unwrap();
        pass(301).await;
        assert!(matches!(view.look().await.unwrap().as_deref(), Some(Demand::Withheld(_))));
        assert!(matches!(view.copy().await.as_deref(), Some(Demand::Withheld(_))));
    }

    /// DEM-10, DEM-11: what one member read is shown to nobody else, who reads at once.
    #[tokio::test(start_paused = true)]
    async fn a_view_is_one_members() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(|seen| {
            let of_first = seen.token() == Some("token-of-i-1");
            Reply::json(200, if of_first { OPEN.to_owned() } else { withheld("NOT_PERMITTED") })
        });
        let members = Members::new(&machine);
        let view = members.exchange(&machine, &gateway).demand(DemandCadence::default());
        assert!(matches!(view.look().await.unwrap().as_deref(), Some(Demand::Open(_))));
        view.look().await.unwrap();
        assert_eq!(gateway.count(), 1);
        members.sign_in(&[Some("i-2")]);
        assert!(view.copy().await.is_none() && view.due_in().await.is_zero());
        assert!(matches!(view.look().await.unwrap().as_deref(), Some(Demand::Withheld(_))));
        members.sign_in(&[Some("i-1")]);
        assert!(view.copy().await.is_none(), "it does not come back");
        // What another process read for whoever is signed in counts for them.
        let view = members
            .exchange(&machine, &gateway)
            .demand(DemandCadence::since(machine.environment().now().wall));
        assert_eq!((view.look().await.unwrap(), gateway.count()), (None, 2));
    }

    /// DEM-10: what a program keeps of it was read for the connection that it is kept for.
    #[tokio::test(start_paused = true)]
    async fn demand_is_read_for_one_connection() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        gateway.answer(|_| Reply::json(200, OPEN));
        let members = Members::new(&machine);
        let exchange = members.exchange(&machine, &gateway);
        let connection = connection("i-1", &["demand.read"]);
        exchange.read_demand(&connection).await.unwrap();
        members.sign_in(&[Some("i-2")]);
        let error = exchange.read_demand(&connection).await.unwrap_err();
        assert_eq!((error.kind(), gateway.count()), (ErrorKind::SignInNeeded, 1));
    }

    /// LIM-38, DEM-10: seven days, and not a second more.
    #[tokio::test(start_paused = true)]
    async fn a_copy_is_kept_for_seven_days() {
        let machine = VirtualEnvironment::new(1);
        let double = Double::answering([(200, OPEN.to_owned())]);
        let view = DemandView::new(double.client(), machine.environment(), DemandCadence::default());
        view.look().await.unwrap();
        pass(7 * 86_400 - 1).await;
        assert!(view.copy().await.is_some());
        pass(1).await;
        assert!(view.copy().await.is_none());
        view.forget().await;
    }
}
