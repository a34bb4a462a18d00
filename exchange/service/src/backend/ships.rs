//! The member's ships, and the clients' own ids of them (SHP rows).

mod collection;
mod decide;
mod desk;
mod table;
mod undo;

pub(crate) use desk::rename_unit;

use std::collections::BTreeMap;

use contract_runtime::server::Context;
use contract_runtime::{Map, Nullable};
use exchange_api::calls::ShipsRead;
use exchange_api::operations::OperationId;
use exchange_api::reasons::Reason;
use exchange_api::server::Refusal;
use exchange_api::types::{
    Insurance, ItemRef, LocationRef, OpId, ShipChangeSet, ShipOp, ShipPage, UpsertShip,
};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::{Area, Batch, Decided, Touched, Warnings, Writer};
use super::page::{Reading, Shown};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, Resolution, Resolved};
use crate::feed::Author;
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::store::StoreError;
use collection::Mine;
use decide::Known;

/// The area's name in journal, audit and feeds.
const NAME: &str = "ships";

/// The area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ships;

/// A ship, with the ids that clients have for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ship {
    pub(crate) ship_type: String,
    pub(crate) name: Option<String>,
    /// Months of insurance; none for one that is insured for its lifetime.
    pub(crate) insured_months: Option<i64>,
    /// A location's key.
    pub(crate) location: Option<String>,
    pub(crate) fitted: bool,
    pub(crate) unit: Option<UnitId>,
    pub(crate) unit_version: i64,
    pub(crate) version: i64,
    /// By installation.
    pub(crate) links: BTreeMap<InstallationId, String>,
    /// The ship that had been removed, and in whose place this one came (SHP-19): said where it is made, for the journal,
    /// and kept nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<String>,
}

impl Ship {
    /// The id that the author's installation has for it.
    pub(crate) fn link(&self, author: &Author) -> Option<&String> {
        author.connected().and_then(|(_, installation)| self.links.get(installation))
    }
}

/// One op.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Op {
    op_id: Option<OpId>,
    pub(crate) wish: Wish,
}

/// What an op wants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish {
    /// The client's id is that of this ship (SHP-07).
    Link { external: String, ship: String },
    /// There is such a ship (SHP-08, SHP-09).
    Upsert(Box<Upsert>),
    /// There is no such ship (SHP-10).
    Remove { ship: String, version: i64 },
}

/// A ship as a client wants it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upsert {
    pub(crate) external: String,
    /// The ship to update, and its version.
    pub(crate) ship: Option<(String, i64)>,
    ship_type: ItemRef,
    location: Option<LocationRef>,
    pub(crate) name: Option<String>,
    pub(crate) insured_months: Option<i64>,
    pub(crate) fitted: Option<bool>,
    /// Left out, none, or one (SHP-12).
    pub(crate) unit: Option<Option<UnitId>>,
    pub(crate) unit_version: Option<i64>,
    /// Whether the member was asked about a removal by somebody else (WRT-14).
    pub(crate) overrule: bool,
}

/// What the references of an upsert found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) ship_type: String,
    pub(crate) location: Option<String>,
}

impl From<ShipOp> for Op {
    fn from(op: ShipOp) -> Self {
        match op {
            ShipOp::Link(link) => Self {
                op_id: link.op_id,
                wish: Wish::Link {
                    external: link.external_id.into_string(),
                    ship: link.ship_id.into_string(),
                },
            },
            ShipOp::Upsert(mut upsert) => {
                Self { op_id: upsert.op_id.take(), wish: Wish::Upsert(Box::new(upsert.into())) }
            }
            ShipOp::Remove(remove) => Self {
                op_id: remove.op_id,
                wish: Wish::Remove { ship: remove.ship_id.into_string(), version: remove.version.get() },
            },
        }
    }
}

impl From<UpsertShip> for Upsert {
    fn from(upsert: UpsertShip) -> Self {
        let ship = upsert.ship_id.zip(upsert.version);
        Self {
            external: upsert.external_id.into_string(),
            ship: ship.map(|(ship, version)| (ship.into_string(), version.get())),
            ship_type: upsert.ship_type,
            location: upsert.location,
            name: upsert.name.map(|name| name.into_string()),
            insured_months: match upsert.insurance {
                Insurance::Months(months) => Some(months.months),
                // The contract knows no other, so that a request has none.
                Insurance::Lti(_) | Insurance::Unknown(_) => None,
            },
            fitted: upsert.fitted,
            unit: upsert.org_unit.map(|unit| match unit {
                Nullable::Null => None,
                Nullable::Value(unit) => Some(UnitId::new(unit.into_string())),
            }),
            unit_version: upsert.org_unit_version.map(|version| version.get()),
            overrule: upsert.override_.unwrap_or(false),
        }
    }
}

impl Area for Ships {
    const NAME: &'static str = NAME;
    const OPERATION: OperationId = OperationId::ShipsWrite;

    type ChangeSet = ShipChangeSet;
    type Op = Op;
    /// Nothing for ops without references.
    type Target = Result<Option<Named>, Reason>;
    type State = Known;
    type Entry = Ship;

    fn batch(body: ShipChangeSet) -> Batch<Op> {
        let dry_run = body.dry_run.unwrap_or(false);
        Batch { ops: body.ops.into_iter().map(Op::from).collect(), dry_run, broken: false }
    }

    fn op_id(op: &Op) -> Option<&OpId> {
        op.op_id.as_ref()
    }

    fn resolve(index: &Index, ops: &[Op], warnings: &mut Warnings) -> Vec<Self::Target> {
        let named = |(at, op): (usize, &Op)| {
            let Wish::Upsert(upsert) = &op.wish else { return Ok(None) };
            let Resolved { resolution, loc_key_unresolved, .. } =
                index.resolve(Kind::ShipType, &upsert.ship_type);
            if loc_key_unresolved {
                warnings.loc_key(&format!("/ops/{at}/shipType/locKey"));
            }
            let ship_type = match resolution {
                Resolution::One(entry) => entry.id.clone(),
                Resolution::Several(_) => return Err(Reason::Ambiguous),
                Resolution::Nothing => return Err(Reason::Unmatched),
            };
            let place = upsert.location.as_ref().map(|location| index.places().find(location));
            let location = match place {
                None => None,
                Some(place) => Some(place.ok_or(Reason::LocationUnknown)?.id.clone()),
            };
            Ok(Some(Named { ship_type, location }))
        };
        ops.iter().enumerate().map(named).collect()
    }

    fn load(
        connection: &Connection,
        writer: &Writer,
        ops: &[Op],
        _: &[Self::Target],
    ) -> Result<Known, StoreError> {
        table::known(connection, writer, ops)
    }

    fn decide(state: Known, ops: &[Op], targets: &[Self::Target], writer: &Writer) -> Decided<Ship> {
        decide::decide(state, ops, targets, writer)
    }

    fn name(index: &Index, touched: &Touched<Ship>) -> String {
        let Some(ship) = touched.before.as_ref().or(touched.after.as_ref()) else {
            return touched.key.clone();
        };
        let ship_type = index.name_of(Kind::ShipType, &ship.ship_type);
        ship.name.as_ref().map_or_else(|| ship_type.clone(), |name| format!("{name} ({ship_type})"))
    }

    fn entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
        table::count(connection, member)
    }

    fn apply(connection: &Connection, writer: &Writer, touched: &[Touched<Ship>]) -> Result<(), StoreError> {
        table::apply(connection, &writer.member, touched)
    }
}

impl Backend {
    pub(super) async fn read_ships(
        &self,
        options: ShipsRead,
        context: &Context,
    ) -> Result<ShipPage, Refusal> {
        let ShipsRead { cursor, limit, .. } = options;
        let page = self.page(Reading { cursor, limit }, context, |admitted, index| Mine {
            member: admitted.member.id.clone(),
            installation: admitted.known_installation().cloned(),
            index,
        });
        let Shown { items, removed, next_cursor, has_more } = page.await?;
        Ok(ShipPage { items, removed, next_cursor, has_more, extra: Map::new() })
    }
}
