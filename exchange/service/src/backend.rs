//! The backend: members' data behind the generated server trait.
//!
//! Every handler goes through one door (`admission`): the member's checks, then switch, registry,
//! revocation and scope once more (GW-02), in the same snapshot or transaction as what follows. Every
//! change set of every area takes one path ([`change`]):
//!
//! ```text
//! admit ─► resolve ─► load ─► decide ─► guard ─► apply ─► feed ─► journal ─► complete ─► commit
//!          (pure)             (pure)    (pure)
//! ```
//!
//! An area says how its ops resolve, what they need to know, and what they come to; it sends no
//! answer, gives no numbers and writes no journal.

mod admission;
mod blueprints;
mod catalogue;
pub mod change;
pub mod confirm;
mod connection;
mod demand;
pub mod drafts;
pub mod guard;
mod held;
mod journal;
mod org_stock;
mod page;
mod profile;
mod refusal;
mod reservations;
mod ships;
mod stock;
pub mod undo;
mod units;
pub(crate) mod warehouse;

pub use blueprints::set_defaults;
pub use change::{ChangeError, Interruption, Step};
pub use confirm::{Confirmed, Preview};
pub(crate) use drafts::{prune as prune_drafts, prune_reviews};
pub(crate) use held::prune as prune_held;
pub(crate) use journal::prune as prune_journal;
pub(crate) use org_stock::tell_of_holder;
pub use profile::Profile;
pub use reservations::Reservation;
pub(crate) use ships::rename_unit;
pub use warehouse::{Keeping, Purpose};

use std::fmt;
use std::sync::Arc;

use contract_runtime::server::{Context, Rejection, Response};
use exchange_api::calls::{
    AccountCheckCall, BlueprintsReadCall, BlueprintsWriteCall, CatalogLocationsCall, CatalogResolveCall,
    DemandReadCall, DraftsBlueprintsCall, DraftsRefineryCall, InstallationLabelCall, OrgStockMembersCall,
    OrgStockReadCall, OrgStockWriteCall, OrgUnitsReadCall, ServiceDocumentCall, ShipsReadCall,
    ShipsWriteCall, StockReadCall, StockWriteCall,
};
use exchange_api::server::{Refusal, Service};
use exchange_api::types::{
    AccountCheckResponse, BlueprintChangeSet, BlueprintPage, ChangeResult, DraftResult, Installation,
    LocationList, OrgDemand, OrgStockMembers, OrgStockPage, OrgUnitList, Problem, ResolveResponse,
    ServiceDocument, ShipPage, StockPage,
};

use crate::catalogue::Catalogue;
use crate::config::Config;
use crate::environment::Environment;
use crate::feed::{self, Author};
use crate::ids::MemberId;
use crate::shares::Shares;
use crate::store::{Store, StoreError};

/// All areas of the exchange, over one store.
#[derive(Clone)]
pub struct Backend {
    store: Store,
    environment: Environment,
    config: Arc<Config>,
    catalogue: Arc<Catalogue>,
    interruption: Interruption,
    /// Who takes something back, or looks at what that comes to: each member once at a time.
    undoing: Shares<MemberId>,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Backend {
    /// Over a store, which is given what it lacks for cursors.
    ///
    /// # Errors
    /// What the store says.
    pub async fn new(
        store: Store,
        environment: Environment,
        config: Arc<Config>,
    ) -> Result<Self, StoreError> {
        let random = environment.clone();
        let prepare = move |connection: &rusqlite::Connection| {
            feed::prepare(connection, random.random())?;
            org_stock::prepare(connection, random.random())
        };
        store.write(prepare).await?;
        let catalogue = Arc::default();
        let (interruption, undoing) = (Interruption::default(), Shares::of(1));
        Ok(Self { store, environment, config, catalogue, interruption, undoing })
    }

    /// The same, interrupted where the interruption says: for tests of what a crash leaves behind.
    #[must_use]
    pub fn interrupted(mut self, interruption: Interruption) -> Self {
        self.interruption = interruption;
        self
    }

    /// Changes a member's blueprints by another way than a connected client: on the web, in the platform's
    /// application, by the system. No guard asks, and nothing is answered twice.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing is written then.
    pub async fn change_blueprints(
        &self,
        member: &MemberId,
        author: Author,
        body: BlueprintChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_beside::<blueprints::Blueprints>(member, author, body).await
    }
}

impl Service for Backend {
    fn reject(&self, context: &Context, rejection: Rejection) -> Response {
        Problem::reject(&rejection, refusal::correlation_id(context), context)
    }

    async fn service_document(
        &self,
        _: ServiceDocumentCall,
        context: Context,
    ) -> Result<ServiceDocument, Refusal> {
        self.service_document_of(&context).await
    }

    async fn installation_label(
        &self,
        call: InstallationLabelCall,
        context: Context,
    ) -> Result<Installation, Refusal> {
        self.label(call.body, &context).await
    }

    async fn account_check(
        &self,
        call: AccountCheckCall,
        context: Context,
    ) -> Result<AccountCheckResponse, Refusal> {
        self.check_account(call.body, &context).await
    }

    async fn catalog_resolve(
        &self,
        call: CatalogResolveCall,
        context: Context,
    ) -> Result<ResolveResponse, Refusal> {
        self.resolve(call.body, &context).await
    }

    async fn catalog_locations(
        &self,
        _: CatalogLocationsCall,
        context: Context,
    ) -> Result<LocationList, Refusal> {
        self.locations(&context).await
    }

    async fn blueprints_read(
        &self,
        call: BlueprintsReadCall,
        context: Context,
    ) -> Result<BlueprintPage, Refusal> {
        self.read_blueprints(call.options, &context).await
    }

    async fn blueprints_write(
        &self,
        call: BlueprintsWriteCall,
        context: Context,
    ) -> Result<ChangeResult, Refusal> {
        self.change::<blueprints::Blueprints>(call.body, &context).await
    }

    async fn stock_read(&self, call: StockReadCall, context: Context) -> Result<StockPage, Refusal> {
        self.read_stock(call.options, &context).await
    }

    async fn stock_write(&self, call: StockWriteCall, context: Context) -> Result<ChangeResult, Refusal> {
        self.change::<stock::Stock>(call.body, &context).await
    }

    async fn ships_read(&self, call: ShipsReadCall, context: Context) -> Result<ShipPage, Refusal> {
        self.read_ships(call.options, &context).await
    }

    async fn ships_write(&self, call: ShipsWriteCall, context: Context) -> Result<ChangeResult, Refusal> {
        self.change::<ships::Ships>(call.body, &context).await
    }

    async fn org_units_read(&self, _: OrgUnitsReadCall, context: Context) -> Result<OrgUnitList, Refusal> {
        self.read_units(&context).await
    }

    async fn org_stock_read(
        &self,
        call: OrgStockReadCall,
        context: Context,
    ) -> Result<OrgStockPage, Refusal> {
        self.read_org_stock(call.options, &context).await
    }

    async fn org_stock_members(
        &self,
        call: OrgStockMembersCall,
        context: Context,
    ) -> Result<OrgStockMembers, Refusal> {
        self.read_roster(call.unit, &context).await
    }

    async fn org_stock_write(
        &self,
        call: OrgStockWriteCall,
        context: Context,
    ) -> Result<ChangeResult, Refusal> {
        self.change::<org_stock::OrgStock>(call.body, &context).await
    }

    async fn demand_read(&self, _: DemandReadCall, context: Context) -> Result<OrgDemand, Refusal> {
        self.read_demand(&context).await
    }

    async fn drafts_blueprints(
        &self,
        call: DraftsBlueprintsCall,
        context: Context,
    ) -> Result<DraftResult, Refusal> {
        self.draft_blueprints(call.body, &context).await
    }

    async fn drafts_refinery(
        &self,
        call: DraftsRefineryCall,
        context: Context,
    ) -> Result<DraftResult, Refusal> {
        self.draft_refinery(call.body, &context).await
    }
}
