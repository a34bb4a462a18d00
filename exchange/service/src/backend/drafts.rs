//! Drafts: what a client prepares for the member to review and take over on the web (DRF rows).
//!
//! ```text
//! prepare ─► stage ─► open ─► review ─► take over | discard
//! (pure)     client   member, once      member, on the web
//! ```
//!
//! A staged draft waits under the hash of the handoff in its link. The member opens it once, and from then on
//! it is a *review* of theirs, which a file that they import becomes as well. Nothing is written to what
//! the member has before they take a review over; then it is a change of their own, on the web.

mod blueprints;
mod file;
mod handoffs;
mod refinery;
mod reviews;
mod taking;

pub use blueprints::{Found, Row};
pub use file::{FileRefusal, LARGEST as LARGEST_FILE};
pub(crate) use handoffs::prune;
pub use refinery::{Further, Good, Panel, RefineryGood, RefineryOrder, SavedOrder, thousandths};
pub(crate) use reviews::prune as prune_reviews;
pub use reviews::{Named, Review, Reviewed, Unmatched};
pub use taking::{Choice, TakenOver};

use contract_runtime::Map;
use contract_runtime::server::{Answer, Context};
use exchange_api::refusals::PlainCode;
use exchange_api::server::{self, Refusal};
use exchange_api::types::{BlueprintDraft, DraftKind, DraftResult, FrontendUrl, HandoffId, RefineryDraft};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::admission::{Admitted, asked};
use super::change::{Step, keep};
use super::refusal::{Asked, Failure, written};
use crate::records::{self, Actor, Deed};
use crate::store::StoreError;
use handoffs::{Room, Waiting};

/// Where the link of a draft leads, below the origin of the member's pages.
const PATH: &str = "/draft/";

/// What is staged: as it was prepared, by the keys of the catalogue where it found them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Draft {
    /// For the member's blueprints.
    Blueprints {
        /// In the order in which they were sent, each once.
        rows: Vec<Row>,
    },
    /// For the form of a refinery order.
    Refinery(Panel),
}

impl Draft {
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
        context: &Context,
    ) -> Result<DraftResult, Refusal> {
        let catalogue = self.catalogue.clone();
        let index = self.read(context, move |connection, _| Ok(catalogue.at(connection)?)).await?;
        // Beside the store: 2000 references take their time.
        let draft = blueprints::prepare(&index, &body).map(|rows| Draft::Blueprints { rows });
        self.stage(draft, context).await
    }

    pub(super) async fn draft_refinery(
        &self,
        body: RefineryDraft,
        context: &Context,
    ) -> Result<DraftResult, Refusal> {
        self.stage(refinery::prepare(body).map(Draft::Refinery), context).await
    }

    /// Stages a draft in one transaction with the answer that is kept for a repetition; none is a body
    /// that matches its schema and is refused for what it holds (DRF-11).
    async fn stage(&self, draft: Option<Draft>, context: &Context) -> Result<DraftResult, Refusal> {
        let (asked, _) = asked(context)?;
        let backend = self.clone();
        let answer = self.write(context, move |connection, admitted| {
            backend.interruption.at(Step::Admitted)?;
            let answer = match &draft {
                Some(draft) => backend.staged(connection, admitted, &asked, draft)?,
                None => asked.refused(PlainCode::SchemaInvalid)?,
            };
            // The link stands in it, for whoever repeats the request with the same key (DRF-15).
            keep(connection, admitted.caller, &answer, backend.environment.now())?;
            backend.interruption.at(Step::Completed)?;
            Ok(answer)
        });
        Err(server::Refusal::written(answer.await?))
    }

    fn staged(
        &self,
        connection: &Connection,
        admitted: &Admitted,
        asked: &Asked,
        draft: &Draft,
    ) -> Result<Answer, Failure> {
        let rule = &self.config.drafts;
        let content = serde_json::to_string(draft).map_err(|_| PlainCode::InternalError)?;
        if content.len() > rule.prepared_bytes {
            return Err(PlainCode::PayloadTooLarge.into());
        }
        let handoff = self.environment.token::<32>().map_err(StoreError::from)?;
        let now = self.environment.now();
        let (client, member) = (&admitted.caller.client, &admitted.member.id);
        let waiting = Waiting { client, member, handoff: &handoff, content: &content };
        if let Room::After(wait) = handoffs::stage(connection, rule, &waiting, now)? {
            return asked.without_room(wait);
        }
        let kind = draft.kind();
        let detail = format!("{}: {kind}, for the member to review", admitted.client.name);
        let deed = Deed { client: Some(client), action: "drafts.stage", subject: "draft", detail: &detail };
        records::audit(connection, now, Actor::Member(member), deed)?;
        self.interruption.at(Step::Applied)?;
        let url = FrontendUrl::new(format!("{}{PATH}{handoff}", self.config.web_origin()));
        let result = DraftResult {
            frontend_url: url.map_err(|_| PlainCode::InternalError)?,
            handoff_id: HandoffId::new(handoff).map_err(|_| PlainCode::InternalError)?,
            kind,
            extra: Map::new(),
        };
        written(&result, "application/json")
    }
}
