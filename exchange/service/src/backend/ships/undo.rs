//! Reverts ships to an earlier state. The version counters only increase, and an external id is restored only
//! if no other ship has it now. A removed ship and its replacement are treated as one ship and are reverted
//! together (SHP-19).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::super::change::{ChangeExtras, EntryDelta, WriteContext};
use super::super::undo::{EntryChange, RevertOutcome, UndoConflict, UndoableArea};
use super::decide::is_removal;
use super::{ShipArea, StoredShip, table};
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::members;
use crate::store::StoreError;

/// The combined changes that a client made to one ship.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShipHistory {
    change: EntryChange<StoredShip>,
    /// The last state in which the ship existed; its version counters continue from there.
    last: Option<StoredShip>,
}

/// The current state of the ships to revert.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CurrentShips {
    ships: BTreeMap<String, StoredShip>,
    /// The units of which the member is a direct member.
    units: BTreeSet<UnitId>,
    /// The number of mission units that use a ship, by ship id.
    missions: BTreeMap<String, i64>,
    /// For each link (installation and external id) that undo would restore, the id of the ship that has the
    /// link now.
    linked: BTreeMap<(InstallationId, String), String>,
}

impl UndoableArea for ShipArea {
    type EntryHistory = ShipHistory;
    type CurrentState = CurrentShips;

    const REPLACES: bool = true;

    fn replaced_key(ship: &StoredShip) -> Option<&str> {
        ship.replaces.as_deref()
    }

    fn fold_change(
        past: Option<ShipHistory>,
        EntryChange { before, after }: EntryChange<StoredShip>,
    ) -> ShipHistory {
        // `replaces` is removed, because it is not part of the ship's state.
        let [before, after] =
            [before, after].map(|ship| ship.map(|ship| StoredShip { replaces: None, ..ship }));
        let change = EntryChange { before, after };
        let last = change.after.clone().or_else(|| change.before.clone());
        match past {
            Some(past) => ShipHistory {
                change: EntryChange { before: past.change.before, after: change.after },
                last: last.or(past.last),
            },
            None => ShipHistory { change, last },
        }
    }

    fn history_delta(key: &str, past: &ShipHistory) -> EntryDelta<StoredShip> {
        ship_delta(key, past.last.clone(), None)
    }

    fn load_current(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &ShipHistory)],
    ) -> Result<CurrentShips, StoreError> {
        let units = members::list_units(connection, member)?.into_iter().collect();
        let mut present = CurrentShips { units, ..CurrentShips::default() };
        for (key, past) in pasts {
            if let Some(ship) = table::find_ship(connection, member, key)? {
                present.ships.insert((*key).to_owned(), ship);
            }
            present.missions.insert((*key).to_owned(), table::count_missions(connection, key)?);
            for (installation, external) in past.change.before.iter().flat_map(|ship| &ship.links) {
                if let Some(ship) = table::find_linked_ship(connection, installation, external)? {
                    present.linked.insert((installation.clone(), external.clone()), ship);
                }
            }
        }
        Ok(present)
    }

    fn revert_entries(
        present: &CurrentShips,
        pasts: &[(&str, &ShipHistory)],
        _: &WriteContext,
    ) -> RevertOutcome<StoredShip> {
        let mut ends: Vec<_> = pasts.iter().map(|(key, past)| revert_ship(present, key, past)).collect();
        // An external id is free if the ship that has it now gives it up in this run. That can in turn depend
        // on another ship, so the check is repeated.
        loop {
            let taken = find_taken_links(present, &ends);
            if taken.is_empty() {
                break;
            }
            for index in taken {
                if let Some(end) = ends.get_mut(index) {
                    *end = Err(UndoConflict::LinkTaken);
                }
            }
        }
        let gone = ends.iter().flatten().flatten().filter(|touched| touched.after.is_none());
        let detached = gone.filter_map(|touched| present.missions.get(&touched.key)).sum();
        let extras = ChangeExtras { detached_from_missions: Some(detached), ..ChangeExtras::default() };
        RevertOutcome { results: ends, extras, notices: Vec::new() }
    }
}

type ShipRevert = Result<Option<EntryDelta<StoredShip>>, UndoConflict>;

fn revert_ship(present: &CurrentShips, key: &str, past: &ShipHistory) -> ShipRevert {
    let ShipHistory { change: EntryChange { before, after }, last } = past;
    let now = present.ships.get(key);
    // The version counters are not compared, because they also change with reverts.
    let is_same = match (now, after) {
        (Some(now), Some(after)) => {
            let (unit_version, version) = (now.unit_version, now.version);
            *now == StoredShip { unit_version, version, ..after.clone() }
        }
        (None, None) => true,
        _ => false,
    };
    if !is_same {
        return Err(UndoConflict::ChangedSince(None));
    }
    let Some(before) = before else {
        return Ok(now.map(|now| ship_delta(key, Some(now.clone()), None)));
    };
    let is_in = |unit| now.is_some_and(|now| now.unit.as_ref() == Some(unit));
    if before.unit.as_ref().is_some_and(|unit| !present.units.contains(unit) && !is_in(unit)) {
        return Err(UndoConflict::UnitLeft);
    }
    let counters = now.or(last.as_ref()).unwrap_or(before);
    let counted = |version| StoredShip {
        unit_version: counters.unit_version + i64::from(counters.unit != before.unit),
        version,
        ..before.clone()
    };
    // Changes of the links or of the unit do not increment the version.
    let as_it_is = StoredShip {
        unit: before.unit.clone(),
        unit_version: before.unit_version,
        version: before.version,
        links: before.links.clone(),
        ..counters.clone()
    };
    let moves = now.is_none() || as_it_is != *before;
    let target = counted(counters.version + i64::from(moves));
    Ok((now != Some(&target)).then(|| ship_delta(key, now.cloned(), Some(target))))
}

/// Returns the indexes of the ships that would get an external id that another ship keeps.
fn find_taken_links(present: &CurrentShips, ends: &[ShipRevert]) -> Vec<usize> {
    let changed: BTreeMap<&str, Option<&StoredShip>> =
        ends.iter().flatten().flatten().map(|touched| (&*touched.key, touched.after.as_ref())).collect();
    let keeps = |ship: &str, installation: &InstallationId, external: &String| match changed.get(ship) {
        Some(after) => after.is_some_and(|after| after.links.get(installation) == Some(external)),
        None => true,
    };
    let is_taken = |touched: &EntryDelta<StoredShip>| {
        let links = touched.after.iter().flat_map(|ship| &ship.links);
        links.into_iter().any(|(installation, external)| {
            let has = present.linked.get(&(installation.clone(), external.clone()));
            has.is_some_and(|ship| *ship != touched.key && keeps(ship, installation, external))
        })
    };
    let taken = |(index, end): (usize, &ShipRevert)| {
        let touched = end.as_ref().ok()?.as_ref()?;
        is_taken(touched).then_some(index)
    };
    ends.iter().enumerate().filter_map(taken).collect()
}

fn ship_delta(key: &str, before: Option<StoredShip>, after: Option<StoredShip>) -> EntryDelta<StoredShip> {
    let removal = is_removal(before.as_ref(), after.as_ref());
    EntryDelta { key: key.to_owned(), before, after, removal, overridden: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::undo::tests::writer;

    /// Parses `name@version/unit-version unit external-id`; `-` stands for no unit.
    fn ship(text: &str) -> Option<StoredShip> {
        let (name, rest) = text.split_once('@')?;
        let mut rest = rest.split(['/', ' ']);
        let mut number = || rest.next().and_then(|text| text.parse().ok()).expect("the number is valid");
        let (version, unit_version) = (number(), number());
        let unit = rest.next().filter(|unit| *unit != "-").map(UnitId::new);
        let links = rest.next().map(|link| ("i".into(), link.to_owned())).into_iter().collect();
        Some(StoredShip {
            ship_type: "t".to_owned(),
            name: Some(name.to_owned()),
            insured_months: None,
            location: None,
            fitted: false,
            unit,
            unit_version,
            version,
            links,
            replaces: None,
        })
    }

    /// Checks the result of reverting ships. Each ship has its key, its state before the first change and its
    /// state after each change.
    fn check(ships: &[(&str, &[&str])], now: &[(&str, &str)], linked: &[(&str, &str)], expect: &[&str]) {
        let change = |pair: &[&str]| EntryChange { before: ship(pair[0]), after: ship(pair[1]) };
        let past = |states: &[&str]| {
            let past =
                states.windows(2).fold(None, |past, pair| Some(ShipArea::fold_change(past, change(pair))));
            past.expect("there is at least one change")
        };
        let pasts: Vec<_> = ships.iter().map(|(key, states)| ((*key).to_owned(), past(states))).collect();
        let mut present = CurrentShips { units: ["u".into()].into(), ..CurrentShips::default() };
        present.ships.extend(now.iter().filter_map(|(key, text)| Some(((*key).to_owned(), ship(text)?))));
        let link = |(id, ship): &(&str, &str)| (("i".into(), (*id).to_owned()), (*ship).to_owned());
        present.linked.extend(linked.iter().map(link));
        let shown = |end: ShipRevert| match end {
            Err(conflict) => conflict.as_str().to_owned(),
            Ok(None) => "=".to_owned(),
            Ok(Some(EntryDelta { after: None, .. })) => "-".to_owned(),
            Ok(Some(EntryDelta { after: Some(ship), .. })) => {
                let unit = ship.unit.map_or("-".to_owned(), |unit| unit.to_string());
                let link = ship.links.values().next().map(|link| format!(" {link}")).unwrap_or_default();
                let name = ship.name.expect("the ship has a name");
                format!("{name}@{}/{} {unit}{link}", ship.version, ship.unit_version)
            }
        };
        let pasts: Vec<(&str, &ShipHistory)> = pasts.iter().map(|(key, past)| (&**key, past)).collect();
        let RevertOutcome { results: ends, .. } = ShipArea::revert_entries(&present, &pasts, &writer("m"));
        assert_eq!(ends.into_iter().map(shown).collect::<Vec<_>>(), expect, "{ships:?}");
    }

    /// A14: the counters of a reverted ship only increase.
    #[test]
    fn reverted_ship_increments_its_counters() {
        check(&[("s", &["-", "a@1/1 -"])], &[("s", "a@1/1 -")], &[], &["-"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -", "c@3/1 -"])], &[("s", "c@3/1 -")], &[], &["a@4/1 -"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -", "a@3/1 -"])], &[("s", "a@3/1 -")], &[], &["="]);
        check(&[("s", &["a@1/1 u", "a@1/2 -"])], &[("s", "a@1/2 -")], &[], &["a@1/3 u"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -", "-"])], &[], &[], &["a@3/1 -"]);
        check(&[("s", &["-", "a@1/1 -", "-"])], &[], &[], &["="]);
        // The counters are higher because a later change was reverted.
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "b@7/3 -")], &[], &["a@8/3 -"]);
    }

    #[test]
    fn ship_changed_by_another_author_is_a_conflict() {
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "c@3/1 -")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "b@2/2 u")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "b@2/1 - e")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "-"])], &[("s", "a@2/1 -")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 - e", "-"])], &[], &[], &["a@2/1 - e"]);
    }

    #[test]
    fn ship_does_not_return_to_a_left_unit() {
        check(&[("s", &["a@1/1 v", "a@1/2 -"])], &[("s", "a@1/2 -")], &[], &["unit-left"]);
        check(&[("s", &["a@1/1 v", "-"])], &[], &[], &["unit-left"]);
        check(&[("s", &["a@1/1 v", "b@2/1 v"])], &[("s", "b@2/1 v")], &[], &["a@3/1 v"]);
    }

    /// SHP-07: an external id is restored only if the ship that has it gives it up.
    #[test]
    fn external_ids_return_if_free() {
        let moved: &[(&str, &[&str])] = &[("s", &["a@1/1 - e", "a@1/1 -"]), ("t", &["-", "b@1/1 - e"])];
        let now = &[("s", "a@1/1 -"), ("t", "b@1/1 - e")];
        check(moved, now, &[("e", "t")], &["a@1/1 - e", "-"]);
        // Another author changed the second ship, so that ship keeps the external id.
        let other = &[("s", "a@1/1 -"), ("t", "c@2/1 - e")];
        check(moved, other, &[("e", "t")], &["link-taken", "changed-since"]);
        check(&moved[..1], now, &[("e", "t")], &["link-taken"]);
        // Each revert depends on the next one.
        let chain: &[(&str, &[&str])] = &[
            ("s", &["a@1/1 - e", "a@1/1 -"]),
            ("t", &["b@1/1 - f", "b@1/1 - e"]),
            ("v", &["c@1/1 -", "c@1/1 - f"]),
        ];
        let now = |c| [("s", "a@1/1 -"), ("t", "b@1/1 - e"), ("v", c)];
        let linked = [("e", "t"), ("f", "v")];
        check(chain, &now("c@1/1 - f"), &linked, &["a@1/1 - e", "b@1/1 - f", "c@1/1 -"]);
        check(chain, &now("d@2/1 - f"), &linked, &["link-taken", "link-taken", "changed-since"]);
    }
}
