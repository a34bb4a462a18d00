//! The backend: implements the generated server trait over the members' data.
//!
//! Every handler starts with the admission check (`admission`). It first checks the state of the member, then
//! repeats the gateway's checks of the switch, the registry, revocation and scope (GW-02). The check runs in
//! the same snapshot or transaction as the work that follows. All change sets of all areas take the same path
//! ([`change`]):
//!
//! ```text
//! admit ─► resolve ─► load ─► decide ─► guard ─► apply ─► feed ─► journal ─► complete ─► commit
//!          (pure)             (pure)    (pure)
//! ```
//!
//! An area defines how the references of its ops are resolved, which state a decision needs, and how ops are
//! decided. It does not send responses, assign feed numbers or write the journal.

mod admission;
mod blueprints;
mod catalogue;
pub mod change;
pub mod confirm;
mod connection;
mod demand;
pub mod drafts;
pub mod guard;
mod handled;
mod handler_error;
mod held_batches;
mod journal;
mod member_data;
mod org_stock;
mod page;
mod profile;
mod reservations;
mod ships;
mod stock;
pub mod undo;
mod units;
pub(crate) mod warehouse;

pub use blueprints::set_defaults;
pub use change::{BatchDescription, ChangeError, EntryChange, FaultInjector, RefusedOp, WriteStep};
pub use confirm::{BatchPreview, ConfirmOutcome};
pub(crate) use drafts::{list_reviews, prune_drafts, prune_reviews};
pub use handled::HandledOutcome;
pub(crate) use handled::prune_outcomes;
pub use held_batches::OpenBatch;
pub(crate) use held_batches::{list_batches, prune_held_batches as prune_held};
pub(crate) use journal::prune_entries as prune_journal;
pub use member_data::DeletedData;
pub(crate) use member_data::delete_member_data;
pub(crate) use org_stock::publish_holder_change;
pub use profile::MemberProfile;
pub use reservations::StockReservation;
pub(crate) use ships::rename_unit;
pub use warehouse::{EarmarkPurpose, StockOwnership};

use std::fmt;
use std::sync::Arc;

use contract_runtime::server::{Rejection, RequestContext, Response};
use exchange_api::calls::{
    AccountCheckCall, BlueprintsReadCall, BlueprintsWriteCall, CatalogLocationsCall, CatalogResolveCall,
    DemandReadCall, DraftsBlueprintsCall, DraftsRefineryCall, InstallationLabelCall, OrgStockMembersCall,
    OrgStockReadCall, OrgStockWriteCall, OrgUnitsReadCall, ServiceDocumentCall, ShipsReadCall,
    ShipsWriteCall, StockReadCall, StockWriteCall,
};
use exchange_api::server::{ErrorResponse, Service};
use exchange_api::types::{
    AccountCheckResponse, BlueprintChangeSet, BlueprintPage, ChangeResult, DraftResult, Installation,
    LocationList, OrgDemand, OrgStockMembers, OrgStockPage, OrgUnitList, Problem, ResolveResponse,
    ServiceDocument, ShipPage, StockPage,
};

use crate::catalogue::Catalogue;
use crate::config::Config;
use crate::environment::Environment;
use crate::feed::{self, ChangeAuthor};
use crate::ids::MemberId;
use crate::shares::ShareLimiter;
use crate::store::{Store, StoreError};

/// The handlers of all areas of the exchange, over one store.
#[derive(Clone)]
pub struct Backend {
    store: Store,
    environment: Environment,
    config: Arc<Config>,
    catalogue: Arc<Catalogue>,
    fault_injector: FaultInjector,
    /// Limits each member to one undo run or preview at a time.
    active_undos: ShareLimiter<MemberId>,
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backend").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Backend {
    /// Creates a backend over a store. Creates the keys for cursors and pseudonyms if the store lacks them.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the keys cannot be written.
    pub async fn new(
        store: Store,
        environment: Environment,
        config: Arc<Config>,
    ) -> Result<Self, StoreError> {
        let random = environment.clone();
        let prepare = move |connection: &rusqlite::Connection| {
            feed::prepare_store(connection, random.random())?;
            org_stock::prepare_key(connection, random.random())
        };
        store.write(prepare).await?;
        let catalogue = Arc::default();
        let (fault_injector, active_undos) = (FaultInjector::default(), ShareLimiter::new(1));
        Ok(Self { store, environment, config, catalogue, fault_injector, active_undos })
    }

    /// Calls the fault injector at every step of a write. Tests use it to check the state after a crash.
    #[must_use]
    pub fn with_fault_injector(mut self, fault_injector: FaultInjector) -> Self {
        self.fault_injector = fault_injector;
        self
    }

    /// Changes a member's blueprints on behalf of the web pages, the platform's application or the system,
    /// not of a connected client. The mass-change guard does not apply, and no response is stored for
    /// repetition.
    ///
    /// # Errors
    /// Returns a [`ChangeError`] if the change fails; nothing is written in that case.
    pub async fn change_blueprints(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        body: BlueprintChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_server_side::<blueprints::BlueprintArea>(member, author, body).await
    }
}

impl Service for Backend {
    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        Problem::rejection_response(&rejection, handler_error::correlation_id(context), context)
    }

    async fn service_document(
        &self,
        _: ServiceDocumentCall,
        context: RequestContext,
    ) -> Result<ServiceDocument, ErrorResponse> {
        self.service_document_of(&context).await
    }

    async fn installation_label(
        &self,
        call: InstallationLabelCall,
        context: RequestContext,
    ) -> Result<Installation, ErrorResponse> {
        self.label_installation(call.body, &context).await
    }

    async fn account_check(
        &self,
        call: AccountCheckCall,
        context: RequestContext,
    ) -> Result<AccountCheckResponse, ErrorResponse> {
        self.check_account(call.body, &context).await
    }

    async fn catalog_resolve(
        &self,
        call: CatalogResolveCall,
        context: RequestContext,
    ) -> Result<ResolveResponse, ErrorResponse> {
        self.resolve_references(call.body, &context).await
    }

    async fn catalog_locations(
        &self,
        _: CatalogLocationsCall,
        context: RequestContext,
    ) -> Result<LocationList, ErrorResponse> {
        self.list_locations(&context).await
    }

    async fn blueprints_read(
        &self,
        call: BlueprintsReadCall,
        context: RequestContext,
    ) -> Result<BlueprintPage, ErrorResponse> {
        self.read_blueprints(call.options, &context).await
    }

    async fn blueprints_write(
        &self,
        call: BlueprintsWriteCall,
        context: RequestContext,
    ) -> Result<ChangeResult, ErrorResponse> {
        self.handle_change_set::<blueprints::BlueprintArea>(call.body, &context).await
    }

    async fn stock_read(
        &self,
        call: StockReadCall,
        context: RequestContext,
    ) -> Result<StockPage, ErrorResponse> {
        self.read_stock(call.options, &context).await
    }

    async fn stock_write(
        &self,
        call: StockWriteCall,
        context: RequestContext,
    ) -> Result<ChangeResult, ErrorResponse> {
        self.handle_change_set::<stock::StockArea>(call.body, &context).await
    }

    async fn ships_read(
        &self,
        call: ShipsReadCall,
        context: RequestContext,
    ) -> Result<ShipPage, ErrorResponse> {
        self.read_ships(call.options, &context).await
    }

    async fn ships_write(
        &self,
        call: ShipsWriteCall,
        context: RequestContext,
    ) -> Result<ChangeResult, ErrorResponse> {
        self.handle_change_set::<ships::ShipArea>(call.body, &context).await
    }

    async fn org_units_read(
        &self,
        _: OrgUnitsReadCall,
        context: RequestContext,
    ) -> Result<OrgUnitList, ErrorResponse> {
        self.read_units(&context).await
    }

    async fn org_stock_read(
        &self,
        call: OrgStockReadCall,
        context: RequestContext,
    ) -> Result<OrgStockPage, ErrorResponse> {
        self.read_org_stock(call.options, &context).await
    }

    async fn org_stock_members(
        &self,
        call: OrgStockMembersCall,
        context: RequestContext,
    ) -> Result<OrgStockMembers, ErrorResponse> {
        self.read_roster(call.unit, &context).await
    }

    async fn org_stock_write(
        &self,
        call: OrgStockWriteCall,
        context: RequestContext,
    ) -> Result<ChangeResult, ErrorResponse> {
        self.handle_change_set::<org_stock::OrgStockArea>(call.body, &context).await
    }

    async fn demand_read(
        &self,
        _: DemandReadCall,
        context: RequestContext,
    ) -> Result<OrgDemand, ErrorResponse> {
        self.read_demand(&context).await
    }

    async fn drafts_blueprints(
        &self,
        call: DraftsBlueprintsCall,
        context: RequestContext,
    ) -> Result<DraftResult, ErrorResponse> {
        self.draft_blueprints(call.body, &context).await
    }

    async fn drafts_refinery(
        &self,
        call: DraftsRefineryCall,
        context: RequestContext,
    ) -> Result<DraftResult, ErrorResponse> {
        self.draft_refinery(call.body, &context).await
    }
}
