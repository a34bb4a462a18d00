//! The member's blueprints: those that the member acquired, and the default ones that every member has (BPR
//! rows).

mod collection;
mod decide;
mod table;
mod undo;

use contract_runtime::Map;
use contract_runtime::server::RequestContext;
use exchange_api::calls::BlueprintsReadOptions;
use exchange_api::operations::OperationId;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{BlueprintChangeSet, BlueprintOp, BlueprintPage, OpId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::{BatchDecision, EntryDelta, OpBatch, WarningList, WriteArea, WriteContext};
use super::connection::parse_timestamp;
use super::drafts::reference_label;
use super::journal::JournalEntry;
use super::page::{PageRequest, PageResponse};
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, Resolution, ResolvedReference};
use crate::ids::MemberId;
use crate::store::StoreError;
use crate::time::Moment;
use collection::BlueprintCollection;
use decide::{BlueprintAction, BlueprintState, ParsedBlueprintOp};
pub use table::set_defaults;

/// The area's name in journal, audit and feeds.
pub(super) const NAME: &str = "blueprints";

/// The implementation of the write path for blueprints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlueprintArea;

/// A blueprint that the member holds in addition to the default grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldBlueprint {
    pub(crate) acquired_at: Option<Moment>,
    pub(crate) source: Option<String>,
    pub(crate) note: Option<String>,
}

impl JournalEntry for HeldBlueprint {}

/// The product to which an op refers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlueprintTarget {
    Product(String),
    /// The hash of a product key that the catalogue does not contain. The member may still hold the product.
    Hashed(String),
    Unmatched,
    Ambiguous,
}

impl WriteArea for BlueprintArea {
    const NAME: &'static str = NAME;
    const OPERATION: OperationId = OperationId::BlueprintsWrite;

    type ChangeSet = BlueprintChangeSet;
    type Op = ParsedBlueprintOp;
    type Target = BlueprintTarget;
    type State = BlueprintState;
    type Entry = HeldBlueprint;

    fn into_batch(body: BlueprintChangeSet) -> OpBatch<ParsedBlueprintOp> {
        let dry_run = body.dry_run.unwrap_or(false);
        let ops: Vec<ParsedBlueprintOp> = body.ops.into_iter().map(ParsedBlueprintOp::from).collect();
        OpBatch { has_invalid_date: ops.iter().any(|op| op.has_invalid_date), ops, dry_run }
    }

    fn op_id(op: &ParsedBlueprintOp) -> Option<&OpId> {
        op.op_id.as_ref()
    }

    fn resolve_targets(
        index: &CatalogueIndex,
        ops: &[ParsedBlueprintOp],
        warnings: &mut WarningList,
    ) -> Vec<BlueprintTarget> {
        let target = |(position, op): (usize, &ParsedBlueprintOp)| {
            if let Some(key) = &op.key {
                return target_of_key(index, key);
            }
            let Some(reference) = &op.reference else { return BlueprintTarget::Unmatched };
            let ResolvedReference { resolution, loc_key_unresolved, .. } =
                index.resolve_reference(EntryKind::Blueprint, reference);
            if loc_key_unresolved {
                warnings.push_unresolved_loc_key(&format!("/ops/{position}/ref/locKey"));
            }
            match resolution {
                Resolution::Unique(entry) => BlueprintTarget::Product(entry.id.clone()),
                Resolution::Ambiguous(_) => BlueprintTarget::Ambiguous,
                Resolution::Unmatched => BlueprintTarget::Unmatched,
            }
        };
        ops.iter().enumerate().map(target).collect()
    }

    fn load_state(
        connection: &Connection,
        writer: &WriteContext,
        _: &[ParsedBlueprintOp],
        targets: &[BlueprintTarget],
    ) -> Result<BlueprintState, StoreError> {
        table::load_state(connection, &writer.member, targets)
    }

    fn decide_ops(
        state: BlueprintState,
        ops: &[ParsedBlueprintOp],
        targets: &[BlueprintTarget],
        writer: &WriteContext,
    ) -> BatchDecision<HeldBlueprint> {
        decide::decide_ops(state, ops, targets, writer)
    }

    fn count_entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
        table::count_blueprints(connection, member)
    }

    fn apply_changes(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<HeldBlueprint>],
    ) -> Result<(), StoreError> {
        table::write_blueprints(connection, &writer.member, touched)
    }

    fn entry_name(index: &CatalogueIndex, touched: &EntryDelta<HeldBlueprint>) -> String {
        index.name_of(EntryKind::Blueprint, &touched.key)
    }

    fn op_name(
        _: &Connection,
        index: &CatalogueIndex,
        _: &MemberId,
        op: &ParsedBlueprintOp,
        target: &BlueprintTarget,
    ) -> Result<String, StoreError> {
        Ok(match (target, &op.reference, &op.key) {
            (BlueprintTarget::Product(id), _, _) => index.name_of(EntryKind::Blueprint, id),
            (_, Some(reference), _) => reference_label(reference),
            (_, None, key) => key.clone().unwrap_or_default(),
        })
    }
}

/// Converts a feed key into the target of an op. A feed key is a product key or the hash of a product key.
fn target_of_key(index: &CatalogueIndex, key: &str) -> BlueprintTarget {
    match index.find_entry(EntryKind::Blueprint, key) {
        Some(entry) => BlueprintTarget::Product(entry.id.clone()),
        None if key.starts_with("h:") => BlueprintTarget::Hashed(key.to_owned()),
        None => BlueprintTarget::Product(key.to_owned()),
    }
}

impl From<BlueprintOp> for ParsedBlueprintOp {
    fn from(op: BlueprintOp) -> Self {
        match op {
            BlueprintOp::Add(add) => {
                let acquired_at = add.acquired_at.as_ref().map(parse_timestamp);
                let observed_at =
                    add.provenance.as_ref().and_then(|from| from.observed_at.as_ref()).map(parse_timestamp);
                Self {
                    op_id: add.op_id,
                    key: None,
                    reference: Some(add.ref_),
                    action: BlueprintAction::Add {
                        entry: HeldBlueprint {
                            acquired_at: acquired_at.flatten(),
                            source: add.provenance.map(|from| table::stored_source(&from.source).to_owned()),
                            note: None,
                        },
                        overrides_removal: add.override_.unwrap_or(false),
                    },
                    has_invalid_date: acquired_at == Some(None) || observed_at == Some(None),
                }
            }
            BlueprintOp::Remove(remove) => Self {
                op_id: remove.op_id,
                key: remove.key.map(|key| key.into_string()),
                reference: remove.ref_,
                action: BlueprintAction::Remove,
                has_invalid_date: false,
            },
        }
    }
}

impl Backend {
    pub(super) async fn read_blueprints(
        &self,
        options: BlueprintsReadOptions,
        context: &RequestContext,
    ) -> Result<BlueprintPage, ErrorResponse> {
        let BlueprintsReadOptions { cursor, limit, .. } = options;
        let page = self.read_page(PageRequest { cursor, limit }, context, |admitted, index| {
            BlueprintCollection { member: admitted.member.id.clone(), index }
        });
        let PageResponse { items, removed, next_cursor, has_more } = page.await?;
        Ok(BlueprintPage {
            items: Some(items),
            removed: Some(removed),
            next_cursor,
            has_more,
            extra: Map::new(),
        })
    }
}
