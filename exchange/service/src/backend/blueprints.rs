//! The member's blueprints: their own, and those that every member is granted (BPR rows).

mod collection;
mod decide;
mod table;
mod undo;

use contract_runtime::Map;
use contract_runtime::server::Context;
use exchange_api::calls::BlueprintsRead;
use exchange_api::operations::OperationId;
use exchange_api::server::Refusal;
use exchange_api::types::{BlueprintChangeSet, BlueprintOp, BlueprintPage, OpId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::{Area, Batch, Decided, Touched, Warnings, Writer};
use super::connection::moment;
use super::page::{Reading, Shown};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, Resolution, Resolved};
use crate::ids::MemberId;
use crate::store::StoreError;
use crate::time::Moment;
use collection::Mine;
use decide::{Known, Op, Wish};
pub use table::set_defaults;

/// The area's name in journal, audit and feeds.
const NAME: &str = "blueprints";

/// The area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blueprints;

/// A blueprint that the member holds, beside the default grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) acquired_at: Option<Moment>,
    pub(crate) source: Option<String>,
    pub(crate) note: Option<String>,
}

/// What an op names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A product.
    Product(String),
    /// The hash of a product's key that the catalogue does not know; the member may still hold it.
    Hashed(String),
    /// Nothing.
    Nothing,
    /// Several products.
    Several,
}

impl Area for Blueprints {
    const NAME: &'static str = NAME;
    const OPERATION: OperationId = OperationId::BlueprintsWrite;

    type ChangeSet = BlueprintChangeSet;
    type Op = Op;
    type Target = Target;
    type State = Known;
    type Entry = Held;

    fn batch(body: BlueprintChangeSet) -> Batch<Op> {
        let dry_run = body.dry_run.unwrap_or(false);
        let ops: Vec<Op> = body.ops.into_iter().map(Op::from).collect();
        Batch { broken: ops.iter().any(|op| op.broken), ops, dry_run }
    }

    fn op_id(op: &Op) -> Option<&OpId> {
        op.op_id.as_ref()
    }

    fn resolve(index: &Index, ops: &[Op], warnings: &mut Warnings) -> Vec<Target> {
        let target = |(at, op): (usize, &Op)| {
            if let Some(key) = &op.key {
                return of_key(index, key);
            }
            let Some(reference) = &op.reference else { return Target::Nothing };
            let Resolved { resolution, loc_key_unresolved, .. } = index.resolve(Kind::Blueprint, reference);
            if loc_key_unresolved {
                warnings.loc_key(&format!("/ops/{at}/ref/locKey"));
            }
            match resolution {
                Resolution::One(entry) => Target::Product(entry.id.clone()),
                Resolution::Several(_) => Target::Several,
                Resolution::Nothing => Target::Nothing,
            }
        };
        ops.iter().enumerate().map(target).collect()
    }

    fn load(
        connection: &Connection,
        writer: &Writer,
        _: &[Op],
        targets: &[Target],
    ) -> Result<Known, StoreError> {
        table::known(connection, &writer.member, targets)
    }

    fn decide(state: Known, ops: &[Op], targets: &[Target], writer: &Writer) -> Decided<Held> {
        decide::decide(state, ops, targets, writer)
    }

    fn entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
        table::count(connection, member)
    }

    fn apply(connection: &Connection, writer: &Writer, touched: &[Touched<Held>]) -> Result<(), StoreError> {
        table::apply(connection, &writer.member, touched)
    }

    fn name(index: &Index, touched: &Touched<Held>) -> String {
        index.name_of(Kind::Blueprint, &touched.key)
    }
}

/// A key from the feed: a product's, or the hash of one.
fn of_key(index: &Index, key: &str) -> Target {
    match index.entry(Kind::Blueprint, key) {
        Some(entry) => Target::Product(entry.id.clone()),
        None if key.starts_with("h:") => Target::Hashed(key.to_owned()),
        None => Target::Product(key.to_owned()),
    }
}

impl From<BlueprintOp> for Op {
    fn from(op: BlueprintOp) -> Self {
        match op {
            BlueprintOp::Add(add) => {
                let acquired_at = add.acquired_at.as_ref().map(moment);
                let observed_at =
                    add.provenance.as_ref().and_then(|from| from.observed_at.as_ref()).map(moment);
                Self {
                    op_id: add.op_id,
                    key: None,
                    reference: Some(add.ref_),
                    wish: Wish::Add {
                        entry: Held {
                            acquired_at: acquired_at.flatten(),
                            source: add.provenance.map(|from| table::source(&from.source).to_owned()),
                            note: None,
                        },
                        overrule: add.override_.unwrap_or(false),
                    },
                    broken: acquired_at == Some(None) || observed_at == Some(None),
                }
            }
            BlueprintOp::Remove(remove) => Self {
                op_id: remove.op_id,
                key: remove.key.map(|key| key.into_string()),
                reference: remove.ref_,
                wish: Wish::Remove,
                broken: false,
            },
        }
    }
}

impl Backend {
    pub(super) async fn read_blueprints(
        &self,
        options: BlueprintsRead,
        context: &Context,
    ) -> Result<BlueprintPage, Refusal> {
        let BlueprintsRead { cursor, limit, .. } = options;
        let page = self.page(Reading { cursor, limit }, context, |admitted, index| Mine {
            member: admitted.member.id.clone(),
            index,
        });
        let Shown { items, removed, next_cursor, has_more } = page.await?;
        Ok(BlueprintPage { items, removed, next_cursor, has_more, extra: Map::new() })
    }
}
