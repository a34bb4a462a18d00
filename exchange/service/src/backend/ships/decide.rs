//! What ship ops come to: plain functions over what is known.
//!
//! Of several reasons to refuse an op the first counts, in the order of A19: whose ship it is, its type, its
//! location, its version, a removal elsewhere, its link, its unit.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::reasons::Reason;

use super::super::change::{Decided, Extras, Made, OpEnd, Touched, Writer};
use super::{Named, Op, Ship, Upsert, Wish};
use crate::feed::Removal;
use crate::ids::{InstallationId, UnitId};

/// What is known of the ships that ops name, and of those that the installation links to their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    /// The member's, by id.
    pub(crate) ships: BTreeMap<String, Ship>,
    /// Those that the member had, as long as that is remembered.
    pub(crate) gone: BTreeMap<String, Removal>,
    /// Units that the member directly belongs to.
    pub(crate) units: BTreeSet<UnitId>,
    /// How many parts of missions fly a ship.
    pub(crate) missions: BTreeMap<String, i64>,
}

/// A ship on its way through the batch.
#[derive(Default)]
struct State {
    before: Option<Ship>,
    now: Option<Ship>,
    /// Whether an op updated or removed it, which a batch does once (SHP-17).
    changed: bool,
    overridden: bool,
}

/// All ships on their way through the batch.
struct Fleet<'a> {
    ships: BTreeMap<String, State>,
    gone: BTreeMap<String, Removal>,
    /// The installation's ids, and the ships that they are linked to.
    links: BTreeMap<String, String>,
    units: BTreeSet<UnitId>,
    missions: BTreeMap<String, i64>,
    detached: i64,
    made: Made<'a>,
    writer: &'a Writer,
}

/// Decides ops in order, each as if those before it had run (WRT-02).
pub(crate) fn decide(
    known: Known,
    ops: &[Op],
    targets: &[Result<Option<Named>, Reason>],
    writer: &Writer,
) -> Decided<Ship> {
    let Known { ships, gone, units, missions } = known;
    let link = |(id, ship): (&String, &Ship)| Some((ship.link(&writer.author)?.clone(), id.clone()));
    let links = ships.iter().filter_map(link).collect();
    let state = |ship: Ship| State { before: Some(ship.clone()), now: Some(ship), ..State::default() };
    let ships = ships.into_iter().map(|(id, ship)| (id, state(ship))).collect();
    let made = Made::new(writer);
    let mut fleet = Fleet { ships, gone, links, units, missions, detached: 0, made, writer };
    let mut end = |(op, target): (&Op, &Result<Option<Named>, Reason>)| {
        let ended = match &op.wish {
            Wish::Link { external, ship } => fleet.link(external, ship),
            Wish::Upsert(upsert) => fleet.upsert(upsert, target),
            Wish::Remove { ship, version } => fleet.remove(ship, *version),
        };
        ended.unwrap_or_else(OpEnd::Refused)
    };
    let ends = ops.iter().zip(targets).map(&mut end).collect();
    let Fleet { ships, made, detached, .. } = fleet;
    let touched = ships.into_iter().filter(|(_, state)| state.before != state.now);
    let touched = touched.map(|(key, State { before, now, overridden, .. })| Touched {
        removal: is_removal(before.as_ref(), now.as_ref()),
        key,
        before,
        after: now,
        overridden,
    });
    let mut touched: Vec<Touched<Ship>> = touched.collect();
    touched.sort_by_key(|touched| made.place(&touched.key));
    let extras = Extras { detached_from_missions: Some(detached), ..Extras::default() };
    Decided { ends, touched, extras, notices: Vec::new() }
}

/// SHP-22: it is gone, or neither its name nor its type is left.
pub(super) fn is_removal(before: Option<&Ship>, after: Option<&Ship>) -> bool {
    match (before, after) {
        (Some(_), None) => true,
        (Some(before), Some(after)) => before.name != after.name && before.ship_type != after.ship_type,
        (None, _) => false,
    }
}

/// How an op ends, or why it is refused.
type Ended = Result<OpEnd, Reason>;

/// Who removed the ship in whose place a new one comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Removed {
    /// Nobody, or whoever needs not ask.
    Here,
    /// Somebody else: the member let it be overruled (SHP-18).
    Elsewhere,
}

impl Fleet<'_> {
    /// SHP-07, SHP-16.
    fn link(&mut self, external: &str, ship: &str) -> Ended {
        let Some(link) = self.ship(ship).map(|ship| ship.link(&self.writer.author)) else {
            return Err(Reason::Unmatched);
        };
        match link {
            Some(link) if link == external => return Ok(OpEnd::Unchanged),
            Some(_) => return Err(Reason::LinkTargetTaken),
            None => {}
        }
        if !self.tie(external, ship) {
            return Ok(OpEnd::Unchanged);
        }
        Ok(OpEnd::Applied)
    }

    /// SHP-08, SHP-09.
    fn upsert(&mut self, upsert: &Upsert, target: &Result<Option<Named>, Reason>) -> Ended {
        let named = || target.clone()?.ok_or(Reason::Unmatched);
        let Some((id, version)) = &upsert.ship else {
            let named = named()?;
            self.is_free(&upsert.external)?;
            return self.create(upsert, named, None);
        };
        let Some(state) = self.ships.get(id) else {
            let gone = self.gone.get(id).ok_or(Reason::Unmatched)?;
            let removed = if self.writer.must_ask(gone) { Removed::Elsewhere } else { Removed::Here };
            let named = named()?;
            // Any version will do (A13); a client's id that is another ship's will not.
            self.is_free(&upsert.external)?;
            if removed == Removed::Elsewhere && !upsert.overrule {
                return Err(Reason::RemovedElsewhere);
            }
            return self.create(upsert, named, Some((id, removed)));
        };
        let named = named()?;
        let Some(ship) = state.now.clone().filter(|ship| !state.changed && ship.version == *version) else {
            return Err(Reason::VersionConflict);
        };
        if ship.link(&self.writer.author).is_some_and(|link| *link != upsert.external) {
            return Err(Reason::LinkTargetTaken);
        }
        let unit = match &upsert.unit {
            Some(unit) if *unit != ship.unit => {
                self.permit(unit.as_ref())?;
                if upsert.unit_version != Some(ship.unit_version) {
                    return Err(Reason::OrgUnitVersionConflict);
                }
                unit.clone()
            }
            _ => ship.unit.clone(),
        };
        let mut wanted = Ship {
            ship_type: named.ship_type,
            name: upsert.name.clone(),
            insured_months: upsert.insured_months,
            location: named.location,
            fitted: upsert.fitted.unwrap_or(ship.fitted),
            ..ship.clone()
        };
        wanted.version += i64::from(wanted != ship);
        wanted.unit_version += i64::from(unit != ship.unit);
        wanted.unit = unit;
        let changes = wanted != ship;
        if let Some(state) = self.ships.get_mut(id) {
            state.changed = changes;
            state.now = Some(wanted);
        }
        // What is linked stays so; what is not, is.
        let links = ship.link(&self.writer.author).is_none() && self.tie(&upsert.external, id);
        Ok(if changes || links { OpEnd::Applied } else { OpEnd::Unchanged })
    }

    /// Whether the installation has linked an id to no ship: else that ship is there (SHP-17).
    fn is_free(&self, external: &str) -> Result<(), Reason> {
        if self.links.contains_key(external) { Err(Reason::VersionConflict) } else { Ok(()) }
    }

    /// A new ship, in the place of one that was removed or of none (SHP-08, SHP-12, SHP-19).
    fn create(&mut self, upsert: &Upsert, named: Named, replaces: Option<(&str, Removed)>) -> Ended {
        let only = || self.units.first().filter(|_| self.units.len() == 1).cloned();
        let unit = upsert.unit.clone().unwrap_or_else(only);
        self.permit(unit.as_ref())?;
        let id = self.made.id();
        let ship = Ship {
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
        let overridden = matches!(replaces, Some((_, Removed::Elsewhere)));
        self.ships.insert(id.clone(), State { now: Some(ship), changed: true, overridden, before: None });
        self.tie(&upsert.external, &id);
        Ok(OpEnd::Applied)
    }

    /// SHP-10.
    fn remove(&mut self, id: &str, version: i64) -> Ended {
        let Some(state) = self.ships.get_mut(id) else {
            let known = self.gone.contains_key(id);
            return if known { Ok(OpEnd::Unchanged) } else { Err(Reason::Unmatched) };
        };
        if state.changed || state.now.as_ref().is_none_or(|ship| ship.version != version) {
            return Err(Reason::VersionConflict);
        }
        state.changed = true;
        let ship = state.now.take();
        if let Some(link) = ship.as_ref().and_then(|ship| ship.link(&self.writer.author)) {
            self.links.remove(link);
        }
        self.detached += self.missions.get(id).copied().unwrap_or(0);
        Ok(OpEnd::Applied)
    }

    fn ship(&self, id: &str) -> Option<&Ship> {
        self.ships.get(id)?.now.as_ref()
    }

    /// Links an id to a ship, and takes it off the one that had it. Says whether there is an installation
    /// to link it for.
    fn tie(&mut self, external: &str, id: &str) -> bool {
        let Some((_, installation)) = self.writer.author.connected() else { return false };
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

    /// SHP-14.
    fn permit(&self, unit: Option<&UnitId>) -> Result<(), Reason> {
        match unit {
            Some(unit) if !self.units.contains(unit) => Err(Reason::OrgUnitNotAllowed),
            _ => Ok(()),
        }
    }
}

fn links_of<'s>(
    ships: &'s mut BTreeMap<String, State>,
    id: &str,
) -> Option<&'s mut BTreeMap<InstallationId, String>> {
    Some(&mut ships.get_mut(id)?.now.as_mut()?.links)
}
