//! Drafts: data that a client prepares and that the member reviews and accepts in the web interface (DRF
//! rows).
//!
//! ```text
//! prepare ─► stage ─► open ─► review ─► accept | discard
//! (pure)     client   member, once      member, web pages
//! ```
//!
//! A staged draft is stored under the hash of the handoff in its link. Opening the draft consumes the handoff
//! and turns the draft into a *review* of the member. An imported file also becomes a review. The member's
//! data does not change until the member accepts a review. The change is then attributed to the member in the
//! web interface, not to the client.

mod acceptance;
mod blueprints;
mod file;
mod handoffs;
mod refinery;
mod reviews;

pub use acceptance::{AcceptOutcome, BlueprintChoice};
pub(super) use blueprints::reference_label;
pub use blueprints::{BlueprintMatch, BlueprintRow};
pub use file::{ImportError, MAX_FILE_BYTES};
pub(crate) use handoffs::prune_drafts;
pub use refinery::{
    FurtherOrder, PanelRow, RefineryGood, RefineryOrder, RefineryPanel, SavedOrder, format_thousandths,
};
pub use reviews::{DraftReview, MatchedBlueprint, OpenReview, ReviewContent, UnmatchedBlueprint};
pub(crate) use reviews::{list_reviews, prune_reviews};

use contract_runtime::Map;
use contract_runtime::server::{EncodedResponse, RequestContext};
use exchange_api::error_responses::PlainCode;
use exchange_api::server::{self, ErrorResponse};
use exchange_api::types::{BlueprintDraft, DraftKind, DraftResult, FrontendUrl, HandoffId, RefineryDraft};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::admission::{AdmittedCaller, request_context};
use super::change::{WriteStep, store_response};
use super::handler_error::{CallerContext, HandlerError, json_response};
use crate::records::{self, Actor, AuditEntry};
use crate::store::StoreError;
use handoffs::{NewDraft, StageOutcome};

/// The path of a draft's link, below the origin of the members' web pages.
const PATH: &str = "/draft/";

/// The content of a draft. Resolved references are stored as catalogue keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum StagedDraft {
    Blueprints {
        /// The blueprints in the order in which they were sent, without duplicates.
        rows: Vec<BlueprintRow>,
    },
    Refinery(RefineryPanel),
}

impl StagedDraft {
    const fn kind(&self) -> DraftKind {
        match self {
            Self::Blueprints { .. } => DraftKind::Blueprint,
            Self::Refinery(_) => DraftKind::Refinery,
        }
    }
}

impl Backend {
    pub(super) async fn draft_blueprints(
        &self,
        body: BlueprintDraft,
        context: &RequestContext,
    ) -> Result<DraftResult, ErrorResponse> {
        let catalogue = self.catalogue.clone();
        let index =
            self.read_admitted(context, move |connection, _| Ok(catalogue.index_at(connection)?)).await?;
        // This runs outside the store's closure, because resolving up to 2000 references would block a reader
        // thread.
        let draft = blueprints::prepare_rows(&index, &body).map(|rows| StagedDraft::Blueprints { rows });
        self.stage_draft(draft, context).await
    }

    pub(super) async fn draft_refinery(
        &self,
        body: RefineryDraft,
        context: &RequestContext,
    ) -> Result<DraftResult, ErrorResponse> {
        self.stage_draft(refinery::prepare_panel(body).map(StagedDraft::Refinery), context).await
    }

    /// Stages a draft and stores the response for repetitions in the same transaction. A `draft` of `None`
    /// stands for a body that matches its schema but has invalid content (DRF-11); the request is then
    /// rejected.
    async fn stage_draft(
        &self,
        draft: Option<StagedDraft>,
        context: &RequestContext,
    ) -> Result<DraftResult, ErrorResponse> {
        let (request, _) = request_context(context)?;
        let backend = self.clone();
        let response = self.write_admitted(context, move |connection, admitted| {
            backend.fault_injector.check_step(WriteStep::Admitted)?;
            let response = match &draft {
                Some(draft) => backend.insert_draft(connection, admitted, &request, draft)?,
                None => request.rejection_response(PlainCode::SchemaInvalid)?,
            };
            // The stored response contains the link, so a repetition with the same idempotency key returns
            // the link again (DRF-15).
            store_response(connection, admitted.caller, &response, backend.environment.now())?;
            backend.fault_injector.check_step(WriteStep::Completed)?;
            Ok(response)
        });
        Err(server::ErrorResponse::encoded(response.await?))
    }

    fn insert_draft(
        &self,
        connection: &Connection,
        admitted: &AdmittedCaller,
        request: &CallerContext,
        draft: &StagedDraft,
    ) -> Result<EncodedResponse, HandlerError> {
        let rule = &self.config.drafts;
        let content = serde_json::to_string(draft).map_err(|_| PlainCode::InternalError)?;
        if content.len() > rule.prepared_bytes {
            return Err(PlainCode::PayloadTooLarge.into());
        }
        let handoff = self.environment.random_token::<32>().map_err(StoreError::from)?;
        let now = self.environment.now();
        let (client, member) = (&admitted.caller.client, &admitted.member.id);
        let waiting = NewDraft { client, member, handoff: &handoff, content: &content };
        if let StageOutcome::RetryAfter(wait) = handoffs::insert_draft(connection, rule, &waiting, now)? {
            return request.no_capacity_response(wait);
        }
        let kind = draft.kind();
        let detail = format!("{}: {kind}, for the member to review", admitted.client.name);
        let entry =
            AuditEntry { client: Some(client), action: "drafts.stage", subject: "draft", detail: &detail };
        records::record_audit(connection, now, Actor::Member(member), entry)?;
        self.fault_injector.check_step(WriteStep::Applied)?;
        let url = FrontendUrl::new(format!("{}{PATH}{handoff}", self.config.web_origin()));
        let result = DraftResult {
            frontend_url: url.map_err(|_| PlainCode::InternalError)?,
            handoff_id: HandoffId::new(handoff).map_err(|_| PlainCode::InternalError)?,
            kind,
            extra: Map::new(),
        };
        json_response(&result, "application/json")
    }
}
