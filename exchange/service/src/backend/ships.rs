//! The member's ships, and the external ids that clients assign to them (SHP rows).

mod collection;
mod decide;
mod server_side_changes;
mod table;
mod undo;

pub(crate) use server_side_changes::rename_unit;

use std::collections::BTreeMap;

use contract_runtime::server::RequestContext;
use contract_runtime::{Map, Nullable};
use exchange_api::calls::ShipsReadOptions;
use exchange_api::operations::OperationId;
use exchange_api::reasons::Reason;
use exchange_api::server::ErrorResponse;
use exchange_api::types::{
    Insurance, ItemRef, LocationRef, OpId, ShipChangeSet, ShipOp, ShipPage, UpsertShip,
};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::Backend;
use super::change::{BatchDecision, EntryChange, EntryDelta, OpBatch, WarningList, WriteArea, WriteContext};
use super::drafts::reference_label;
use super::journal::JournalEntry;
use super::page::{PageRequest, PageResponse};
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, Resolution, ResolvedReference};
use crate::feed::ChangeAuthor;
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::store::StoreError;
use collection::ShipCollection;
use decide::ShipState;

/// The area's name in journal, audit and feeds.
pub(super) const NAME: &str = "ships";

/// The implementation of the write path for ships.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShipArea;

/// A ship, with the external ids that installations assigned to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredShip {
    pub(crate) ship_type: String,
    pub(crate) name: Option<String>,
    /// The insurance in months; `None` for lifetime insurance.
    pub(crate) insured_months: Option<i64>,
    /// The key of the ship's location.
    pub(crate) location: Option<String>,
    pub(crate) fitted: bool,
    pub(crate) unit: Option<UnitId>,
    pub(crate) unit_version: i64,
    pub(crate) version: i64,
    pub(crate) links: BTreeMap<InstallationId, String>,
    /// The removed ship that this ship replaces (SHP-19). It is set only when the ship is created, and only
    /// the journal stores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replaces: Option<String>,
}

impl JournalEntry for StoredShip {}

impl StoredShip {
    /// Returns the external id that the author's installation assigned to the ship.
    pub(crate) fn linked_id(&self, author: &ChangeAuthor) -> Option<&String> {
        author.client_installation().and_then(|(_, installation)| self.links.get(installation))
    }
}

/// A ship op after parsing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedShipOp {
    op_id: Option<OpId>,
    pub(crate) action: ShipAction,
}

/// The requested change of a ship op.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ShipAction {
    /// Links an external id of the client to a ship (SHP-07).
    Link { external: String, ship: String },
    /// Creates or updates a ship (SHP-08, SHP-09).
    Upsert(Box<ShipUpsert>),
    /// Removes a ship (SHP-10).
    Remove { ship: String, version: i64 },
}

/// The state of a ship that an upsert requests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShipUpsert {
    pub(crate) external: String,
    /// The id and the version of the ship to update; `None` to create a ship.
    pub(crate) ship: Option<(String, i64)>,
    ship_type: ItemRef,
    location: Option<LocationRef>,
    pub(crate) name: Option<String>,
    pub(crate) insured_months: Option<i64>,
    pub(crate) fitted: Option<bool>,
    /// The outer `None` keeps the unit; the inner `None` removes the ship from its unit (SHP-12).
    pub(crate) unit: Option<Option<UnitId>>,
    pub(crate) unit_version: Option<i64>,
    /// Whether the member allowed the upsert despite a removal by another author (WRT-14).
    pub(crate) overrides_removal: bool,
}

/// The catalogue keys to which the references of an upsert resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpsertTarget {
    pub(crate) ship_type: String,
    pub(crate) location: Option<String>,
}

impl From<ShipOp> for ParsedShipOp {
    fn from(op: ShipOp) -> Self {
        match op {
            ShipOp::Link(link) => Self {
                op_id: link.op_id,
                action: ShipAction::Link {
                    external: link.external_id.into_string(),
                    ship: link.ship_id.into_string(),
                },
            },
            ShipOp::Upsert(mut upsert) => {
                Self { op_id: upsert.op_id.take(), action: ShipAction::Upsert(Box::new(upsert.into())) }
            }
            ShipOp::Remove(remove) => Self {
                op_id: remove.op_id,
                action: ShipAction::Remove {
                    ship: remove.ship_id.into_string(),
                    version: remove.version.get(),
                },
            },
        }
    }
}

impl From<UpsertShip> for ShipUpsert {
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
                // Request bodies are validated, so no other variant occurs.
                Insurance::Lti(_) | Insurance::Unknown(_) => None,
            },
            fitted: upsert.fitted,
            unit: upsert.org_unit.map(|unit| match unit {
                Nullable::Null => None,
                Nullable::Value(unit) => Some(UnitId::new(unit.into_string())),
            }),
            unit_version: upsert.org_unit_version.map(|version| version.get()),
            overrides_removal: upsert.override_.unwrap_or(false),
        }
    }
}

impl WriteArea for ShipArea {
    const NAME: &'static str = NAME;
    const OPERATION: OperationId = OperationId::ShipsWrite;

    type ChangeSet = ShipChangeSet;
    type Op = ParsedShipOp;
    /// `Ok(None)` for an op without references to the catalogue.
    type Target = Result<Option<UpsertTarget>, Reason>;
    type State = ShipState;
    type Entry = StoredShip;

    fn into_batch(body: ShipChangeSet) -> OpBatch<ParsedShipOp> {
        let dry_run = body.dry_run.unwrap_or(false);
        OpBatch {
            ops: body.ops.into_iter().map(ParsedShipOp::from).collect(),
            dry_run,
            has_invalid_date: false,
        }
    }

    fn op_id(op: &ParsedShipOp) -> Option<&OpId> {
        op.op_id.as_ref()
    }

    fn resolve_targets(
        index: &CatalogueIndex,
        ops: &[ParsedShipOp],
        warnings: &mut WarningList,
    ) -> Vec<Self::Target> {
        let named = |(position, op): (usize, &ParsedShipOp)| {
            let ShipAction::Upsert(upsert) = &op.action else { return Ok(None) };
            let ResolvedReference { resolution, loc_key_unresolved, .. } =
                index.resolve_reference(EntryKind::ShipType, &upsert.ship_type);
            if loc_key_unresolved {
                warnings.push_unresolved_loc_key(&format!("/ops/{position}/shipType/locKey"));
            }
            let ship_type = match resolution {
                Resolution::Unique(entry) => entry.id.clone(),
                Resolution::Ambiguous(_) => return Err(Reason::Ambiguous),
                Resolution::Unmatched => return Err(Reason::Unmatched),
            };
            let place = upsert.location.as_ref().map(|location| index.locations().find_location(location));
            let location = match place {
                None => None,
                Some(place) => Some(place.ok_or(Reason::LocationUnknown)?.id.clone()),
            };
            Ok(Some(UpsertTarget { ship_type, location }))
        };
        ops.iter().enumerate().map(named).collect()
    }

    fn load_state(
        connection: &Connection,
        writer: &WriteContext,
        ops: &[ParsedShipOp],
        _: &[Self::Target],
    ) -> Result<ShipState, StoreError> {
        table::load_state(connection, writer, ops)
    }

    fn decide_ops(
        state: ShipState,
        ops: &[ParsedShipOp],
        targets: &[Self::Target],
        writer: &WriteContext,
    ) -> BatchDecision<StoredShip> {
        decide::decide_ops(state, ops, targets, writer)
    }

    fn entry_name(index: &CatalogueIndex, touched: &EntryDelta<StoredShip>) -> String {
        let Some(ship) = touched.before.as_ref().or(touched.after.as_ref()) else {
            return touched.key.clone();
        };
        let ship_type = index.name_of(EntryKind::ShipType, &ship.ship_type);
        ship.name.as_ref().map_or_else(|| ship_type.clone(), |name| format!("{name} ({ship_type})"))
    }

    fn describe_change(index: &CatalogueIndex, touched: &EntryDelta<StoredShip>) -> EntryChange {
        let place = |ship: &StoredShip| {
            let id = ship.location.as_ref()?;
            Some(index.locations().get(id).map_or_else(|| id.clone(), |place| place.name.clone()))
        };
        let details = |ship: &StoredShip| {
            let insurance = match ship.insured_months {
                Some(0) => "not insured".to_owned(),
                Some(1) => "insured for 1 month".to_owned(),
                Some(months) => format!("insured for {months} months"),
                None => "insured for its lifetime".to_owned(),
            };
            let place = place(ship).map(|name| format!("at {name}, ")).unwrap_or_default();
            let unit = if ship.unit.is_some() { ", shared with a unit" } else { "" };
            format!("{place}{insurance}{unit}")
        };
        EntryChange {
            name: Self::entry_name(index, touched),
            place: touched.before.as_ref().or(touched.after.as_ref()).and_then(place),
            before: touched.before.as_ref().map(details),
            after: touched.after.as_ref().map(details),
            removed: false,
        }
    }

    fn op_name(
        connection: &Connection,
        index: &CatalogueIndex,
        member: &MemberId,
        op: &ParsedShipOp,
        _: &Self::Target,
    ) -> Result<String, StoreError> {
        let id = match &op.action {
            ShipAction::Link { ship, .. } | ShipAction::Remove { ship, .. } => Some(ship),
            ShipAction::Upsert(upsert) => upsert.ship.as_ref().map(|(ship, _)| ship),
        };
        let stored = id.map(|id| table::ship_name(connection, member, id)).transpose()?.flatten();
        Ok(match (stored, &op.action) {
            (Some((Some(name), _)), _) => name,
            (Some((None, ship_type)), _) => index.name_of(EntryKind::ShipType, &ship_type),
            (None, ShipAction::Upsert(upsert)) => {
                upsert.name.clone().unwrap_or_else(|| reference_label(&upsert.ship_type))
            }
            (None, _) => "a ship that is not yours".to_owned(),
        })
    }

    fn count_entries(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
        table::count_ships(connection, member)
    }

    fn apply_changes(
        connection: &Connection,
        writer: &WriteContext,
        touched: &[EntryDelta<StoredShip>],
    ) -> Result<(), StoreError> {
        table::write_ships(connection, &writer.member, touched)
    }
}

impl Backend {
    pub(super) async fn read_ships(
        &self,
        options: ShipsReadOptions,
        context: &RequestContext,
    ) -> Result<ShipPage, ErrorResponse> {
        let ShipsReadOptions { cursor, limit, .. } = options;
        let page = self.read_page(PageRequest { cursor, limit }, context, |admitted, index| ShipCollection {
            member: admitted.member.id.clone(),
            installation: admitted.known_installation().cloned(),
            index,
        });
        let PageResponse { items, removed, next_cursor, has_more } = page.await?;
        Ok(ShipPage { items: Some(items), removed: Some(removed), next_cursor, has_more, extra: Map::new() })
    }
}
