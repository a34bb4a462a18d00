//! Decides ship ops with pure functions over the loaded state.
//!
//! If several reasons apply to an op, it is rejected with the first one in the order of A19: ownership, type,
//! location, version, removal by another author, link, unit.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::reasons::Reason;

use super::super::change::{BatchDecision, ChangeExtras, EntryDelta, EntryIds, OpStatus, WriteContext};
use super::{ParsedShipOp, ShipAction, ShipUpsert, StoredShip, UpsertTarget};
use crate::feed::KeyRemoval;
use crate::ids::{InstallationId, UnitId};

/// The stored state of the ships to which ops refer by id or by external id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ShipState {
    /// The member's ships, by id.
    pub(crate) ships: BTreeMap<String, StoredShip>,
    /// The recent removals of ships of the member, by ship id.
    pub(crate) gone: BTreeMap<String, KeyRemoval>,
    /// The units of which the member is a direct member.
    pub(crate) units: BTreeSet<UnitId>,
    /// The number of mission units that use a ship, by ship id.
    pub(crate) missions: BTreeMap<String, i64>,
}

/// The state of a ship while the ops of a batch are decided.
#[derive(Default)]
struct WorkingShip {
    before: Option<StoredShip>,
    now: Option<StoredShip>,
    /// Whether an op of the batch has created, updated or removed the ship. Only one op of a batch can change
    /// a ship (SHP-17).
    changed: bool,
    overridden: bool,
}

/// The states of all ships while the ops of a batch are decided.
struct WorkingFleet<'a> {
    ships: BTreeMap<String, WorkingShip>,
    gone: BTreeMap<String, KeyRemoval>,
    /// The ids of ships, by the external ids of the installation.
    links: BTreeMap<String, String>,
    units: BTreeSet<UnitId>,
    missions: BTreeMap<String, i64>,
    detached: i64,
    new_ids: EntryIds<'a>,
    writer: &'a WriteContext,
}

/// Decides the ops in order; each op sees the effects of the ops before it (WRT-02).
pub(crate) fn decide_ops(
    loaded: ShipState,
    ops: &[ParsedShipOp],
    targets: &[Result<Option<UpsertTarget>, Reason>],
    writer: &WriteContext,
) -> BatchDecision<StoredShip> {
    let ShipState { ships, gone, units, missions } = loaded;
    let link =
        |(id, ship): (&String, &StoredShip)| Some((ship.linked_id(&writer.author)?.clone(), id.clone()));
    let links = ships.iter().filter_map(link).collect();
    let state = |ship: StoredShip| WorkingShip {
        before: Some(ship.clone()),
        now: Some(ship),
        ..WorkingShip::default()
    };
    let ships = ships.into_iter().map(|(id, ship)| (id, state(ship))).collect();
    let created = EntryIds::new(writer);
    let mut fleet =
        WorkingFleet { ships, gone, links, units, missions, detached: 0, new_ids: created, writer };
    let mut end = |(op, target): (&ParsedShipOp, &Result<Option<UpsertTarget>, Reason>)| {
        let ended = match &op.action {
            ShipAction::Link { external, ship } => fleet.link_ship(external, ship),
            ShipAction::Upsert(upsert) => fleet.upsert_ship(upsert, target),
            ShipAction::Remove { ship, version } => fleet.remove_ship(ship, *version),
        };
        ended.unwrap_or_else(OpStatus::Refused)
    };
    let ends = ops.iter().zip(targets).map(&mut end).collect();
    let WorkingFleet { ships, new_ids: created, detached, .. } = fleet;
    let touched = ships.into_iter().filter(|(_, state)| state.before != state.now);
    let touched = touched.map(|(key, WorkingShip { before, now, overridden, .. })| EntryDelta {
        removal: is_removal(before.as_ref(), now.as_ref()),
        key,
        before,
        after: now,
        overridden,
    });
    let mut touched: Vec<EntryDelta<StoredShip>> = touched.collect();
    touched.sort_by_key(|touched| created.position(&touched.key));
    let extras = ChangeExtras { detached_from_missions: Some(detached), ..ChangeExtras::default() };
    BatchDecision { statuses: ends, touched, extras, notices: Vec::new() }
}

/// Returns true if the guard counts the change as a removal: the ship no longer exists, or both its name and
/// its type changed (SHP-22).
pub(super) fn is_removal(before: Option<&StoredShip>, after: Option<&StoredShip>) -> bool {
    match (before, after) {
        (Some(_), None) => true,
        (Some(before), Some(after)) => before.name != after.name && before.ship_type != after.ship_type,
        (None, _) => false,
    }
}

/// The status of an op, or the reason for refusing it.
type ShipOpResult = Result<OpStatus, Reason>;

/// The kind of removal after which a ship is created again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RemovalOrigin {
    /// A removal that needs no confirmation.
    Acknowledged,
    /// A removal by another author, which the member allowed the client to override (SHP-18).
    Elsewhere,
}

impl WorkingFleet<'_> {
    /// Links an external id to a ship (SHP-07, SHP-16).
    fn link_ship(&mut self, external: &str, ship: &str) -> ShipOpResult {
        let Some(link) = self.find_ship(ship).map(|ship| ship.linked_id(&self.writer.author)) else {
            return Err(Reason::Unmatched);
        };
        match link {
            Some(link) if link == external => return Ok(OpStatus::Unchanged),
            Some(_) => return Err(Reason::LinkTargetTaken),
            None => {}
        }
        if !self.set_link(external, ship) {
            return Ok(OpStatus::Unchanged);
        }
        Ok(OpStatus::Applied)
    }

    /// Creates or updates a ship (SHP-08, SHP-09).
    fn upsert_ship(
        &mut self,
        upsert: &ShipUpsert,
        target: &Result<Option<UpsertTarget>, Reason>,
    ) -> ShipOpResult {
        let named = || target.clone()?.ok_or(Reason::Unmatched);
        let Some((id, version)) = &upsert.ship else {
            let named = named()?;
            self.is_free(&upsert.external)?;
            return self.create_ship(upsert, named, None);
        };
        let Some(state) = self.ships.get(id) else {
            let gone = self.gone.get(id).ok_or(Reason::Unmatched)?;
            let removed = if self.writer.needs_override(gone) {
                RemovalOrigin::Elsewhere
            } else {
                RemovalOrigin::Acknowledged
            };
            let named = named()?;
            // The version is not compared (A13), but the external id must not belong to another ship.
            self.is_free(&upsert.external)?;
            if removed == RemovalOrigin::Elsewhere && !upsert.overrides_removal {
                return Err(Reason::RemovedElsewhere);
            }
            return self.create_ship(upsert, named, Some((id, removed)));
        };
        let named = named()?;
        let Some(ship) = state.now.clone().filter(|ship| !state.changed && ship.version == *version) else {
            return Err(Reason::VersionConflict);
        };
        if ship.linked_id(&self.writer.author).is_some_and(|link| *link != upsert.external) {
            return Err(Reason::LinkTargetTaken);
        }
        let unit = match &upsert.unit {
            Some(unit) if *unit != ship.unit => {
                self.check_unit(unit.as_ref())?;
                if upsert.unit_version != Some(ship.unit_version) {
                    return Err(Reason::OrgUnitVersionConflict);
                }
                unit.clone()
            }
            _ => ship.unit.clone(),
        };
        let mut requested = StoredShip {
            ship_type: named.ship_type,
            name: upsert.name.clone(),
            insured_months: upsert.insured_months,
            location: named.location,
            fitted: upsert.fitted.unwrap_or(ship.fitted),
            ..ship.clone()
        };
        requested.version += i64::from(requested != ship);
        requested.unit_version += i64::from(unit != ship.unit);
        requested.unit = unit;
        let changes = requested != ship;
        if let Some(state) = self.ships.get_mut(id) {
            state.changed = changes;
            state.now = Some(requested);
        }
        // An existing link is kept; a missing link is added.
        let links = ship.linked_id(&self.writer.author).is_none() && self.set_link(&upsert.external, id);
        Ok(if changes || links { OpStatus::Applied } else { OpStatus::Unchanged })
    }

    /// Checks that the installation has not assigned the external id to another ship (SHP-17).
    fn is_free(&self, external: &str) -> Result<(), Reason> {
        if self.links.contains_key(external) { Err(Reason::VersionConflict) } else { Ok(()) }
    }

    /// Creates a ship, optionally as the replacement of a removed one (SHP-08, SHP-12, SHP-19).
    fn create_ship(
        &mut self,
        upsert: &ShipUpsert,
        named: UpsertTarget,
        replaces: Option<(&str, RemovalOrigin)>,
    ) -> ShipOpResult {
        let only = || self.units.first().filter(|_| self.units.len() == 1).cloned();
        let unit = upsert.unit.clone().unwrap_or_else(only);
        self.check_unit(unit.as_ref())?;
        let id = self.new_ids.next_id();
        let ship = StoredShip {
            ship_type: named.ship_type,
            name: upsert.name.clone(),
            insured_months: upsert.insured_months,
            location: named.location,
            fitted: upsert.fitted.unwrap_or(false),
            unit,
            unit_version: 1,
            version: 1,
            links: BTreeMap::new(),
            replaces: replaces.map(|(gone, _)| gone.to_owned()),
        };
        let overridden = matches!(replaces, Some((_, RemovalOrigin::Elsewhere)));
        self.ships
            .insert(id.clone(), WorkingShip { now: Some(ship), changed: true, overridden, before: None });
        self.set_link(&upsert.external, &id);
        Ok(OpStatus::Applied)
    }

    /// Removes a ship and its links (SHP-10).
    fn remove_ship(&mut self, id: &str, version: i64) -> ShipOpResult {
        let Some(state) = self.ships.get_mut(id) else {
            let known = self.gone.contains_key(id);
            return if known { Ok(OpStatus::Unchanged) } else { Err(Reason::Unmatched) };
        };
        if state.changed || state.now.as_ref().is_none_or(|ship| ship.version != version) {
            return Err(Reason::VersionConflict);
        }
        state.changed = true;
        let ship = state.now.take();
        if let Some(link) = ship.as_ref().and_then(|ship| ship.linked_id(&self.writer.author)) {
            self.links.remove(link);
        }
        self.detached += self.missions.get(id).copied().unwrap_or(0);
        Ok(OpStatus::Applied)
    }

    fn find_ship(&self, id: &str) -> Option<&StoredShip> {
        self.ships.get(id)?.now.as_ref()
    }

    /// Links an external id to a ship, and removes its link to any other ship. Returns false if the author
    /// has no installation.
    fn set_link(&mut self, external: &str, id: &str) -> bool {
        let Some((_, installation)) = self.writer.author.client_installation() else { return false };
        if let Some(old) = self.links.insert(external.to_owned(), id.to_owned())
            && let Some(links) = links_of(&mut self.ships, &old)
        {
            links.remove(installation);
        }
        if let Some(links) = links_of(&mut self.ships, id) {
            links.insert(installation.clone(), external.to_owned());
        }
        true
    }

    /// Checks that the member is a direct member of the unit (SHP-14).
    fn check_unit(&self, unit: Option<&UnitId>) -> Result<(), Reason> {
        match unit {
            Some(unit) if !self.units.contains(unit) => Err(Reason::OrgUnitNotAllowed),
            _ => Ok(()),
        }
    }
}

fn links_of<'s>(
    ships: &'s mut BTreeMap<String, WorkingShip>,
    id: &str,
) -> Option<&'s mut BTreeMap<InstallationId, String>> {
    Some(&mut ships.get_mut(id)?.now.as_mut()?.links)
}
