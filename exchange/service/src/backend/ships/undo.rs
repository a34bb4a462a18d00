//! Ships set back: with their counters, which only go on, and the clients' ids, where nobody else has them by now. A ship
//! that was removed and the one that came in its place are one ship, and are set back together (SHP-19).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::super::change::{Extras, Touched, Writer};
use super::super::undo::{Change, Hindrance, Restore, SetBack};
use super::decide::is_removal;
use super::{Ship, Ships, table};
use crate::ids::{InstallationId, MemberId, UnitId};
use crate::members;
use crate::store::StoreError;

/// All that a client did to a ship.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Past {
    change: Change<Ship>,
    /// The ship as it was last, whose counters new ones go on from.
    last: Option<Ship>,
}

/// What is known of the ships now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Present {
    ships: BTreeMap<String, Ship>,
    /// Units that the member directly belongs to.
    units: BTreeSet<UnitId>,
    /// How many parts of missions fly a ship.
    missions: BTreeMap<String, i64>,
    /// Ships that have the ids which others had.
    linked: BTreeMap<(InstallationId, String), String>,
}

impl Restore for Ships {
    type Past = Past;
    type Present = Present;

    const REPLACES: bool = true;

    fn replaced(ship: &Ship) -> Option<&str> {
        ship.replaces.as_deref()
    }

    fn follow(past: Option<Past>, Change { before, after }: Change<Ship>) -> Past {
        // Whence it came is no part of what it is.
        let [before, after] = [before, after].map(|ship| ship.map(|ship| Ship { replaces: None, ..ship }));
        let change = Change { before, after };
        let last = change.after.clone().or_else(|| change.before.clone());
        match past {
            Some(past) => Past {
                change: Change { before: past.change.before, after: change.after },
                last: last.or(past.last),
            },
            None => Past { change, last },
        }
    }

    fn faded(key: &str, past: &Past) -> Touched<Ship> {
        touched(key, past.last.clone(), None)
    }

    fn present(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &Past)],
    ) -> Result<Present, StoreError> {
        let units = members::units(connection, member)?.into_iter().collect();
        let mut present = Present { units, ..Present::default() };
        for (key, past) in pasts {
            if let Some(ship) = table::find(connection, member, key)? {
                present.ships.insert((*key).to_owned(), ship);
            }
            present.missions.insert((*key).to_owned(), table::missions(connection, key)?);
            for (installation, external) in past.change.before.iter().flat_map(|ship| &ship.links) {
                if let Some(ship) = table::linked(connection, installation, external)? {
                    present.linked.insert((installation.clone(), external.clone()), ship);
                }
            }
        }
        Ok(present)
    }

    fn set_back(present: &Present, pasts: &[(&str, &Past)], _: &Writer) -> SetBack<Ship> {
        let mut ends: Vec<_> = pasts.iter().map(|(key, past)| one(present, key, past)).collect();
        // An id can go back when the ship that has it gives it back in turn, which may hang on another one's.
        loop {
            let taken = taken(present, &ends);
            if taken.is_empty() {
                break;
            }
            for at in taken {
                if let Some(end) = ends.get_mut(at) {
                    *end = Err(Hindrance::LinkTaken);
                }
            }
        }
        let gone = ends.iter().flatten().flatten().filter(|touched| touched.after.is_none());
        let detached = gone.filter_map(|touched| present.missions.get(&touched.key)).sum();
        let extras = Extras { detached_from_missions: Some(detached), ..Extras::default() };
        SetBack { ends, extras, notices: Vec::new() }
    }
}

type Ended = Result<Option<Touched<Ship>>, Hindrance>;

fn one(present: &Present, key: &str, past: &Past) -> Ended {
    let Past { change: Change { before, after }, last } = past;
    let now = present.ships.get(key);
    // Counters move when something is set back, too.
    let is_same = match (now, after) {
        (Some(now), Some(after)) => {
            let (unit_version, version) = (now.unit_version, now.version);
            *now == Ship { unit_version, version, ..after.clone() }
        }
        (None, None) => true,
        _ => false,
    };
    if !is_same {
        return Err(Hindrance::ChangedSince(None));
    }
    let Some(before) = before else {
        return Ok(now.map(|now| touched(key, Some(now.clone()), None)));
    };
    let is_in = |unit| now.is_some_and(|now| now.unit.as_ref() == Some(unit));
    if before.unit.as_ref().is_some_and(|unit| !present.units.contains(unit) && !is_in(unit)) {
        return Err(Hindrance::UnitLeft);
    }
    let counters = now.or(last.as_ref()).unwrap_or(before);
    let counted = |version| Ship {
        unit_version: counters.unit_version + i64::from(counters.unit != before.unit),
        version,
        ..before.clone()
    };
    // Links move no version, a unit its own.
    let as_it_is = Ship {
        unit: before.unit.clone(),
        unit_version: before.unit_version,
        version: before.version,
        links: before.links.clone(),
        ..counters.clone()
    };
    let moves = now.is_none() || as_it_is != *before;
    let wanted = counted(counters.version + i64::from(moves));
    Ok((now != Some(&wanted)).then(|| touched(key, now.cloned(), Some(wanted))))
}

/// Which of the ships would have an id that another ship keeps.
fn taken(present: &Present, ends: &[Ended]) -> Vec<usize> {
    let changed: BTreeMap<&str, Option<&Ship>> =
        ends.iter().flatten().flatten().map(|touched| (&*touched.key, touched.after.as_ref())).collect();
    let keeps = |ship: &str, installation: &InstallationId, external: &String| match changed.get(ship) {
        Some(after) => after.is_some_and(|after| after.links.get(installation) == Some(external)),
        None => true,
    };
    let is_taken = |touched: &Touched<Ship>| {
        let links = touched.after.iter().flat_map(|ship| &ship.links);
        links.into_iter().any(|(installation, external)| {
            let has = present.linked.get(&(installation.clone(), external.clone()));
            has.is_some_and(|ship| *ship != touched.key && keeps(ship, installation, external))
        })
    };
    let taken = |(at, end): (usize, &Ended)| {
        let touched = end.as_ref().ok()?.as_ref()?;
        is_taken(touched).then_some(at)
    };
    ends.iter().enumerate().filter_map(taken).collect()
}

fn touched(key: &str, before: Option<Ship>, after: Option<Ship>) -> Touched<Ship> {
    let removal = is_removal(before.as_ref(), after.as_ref());
    Touched { key: key.to_owned(), before, after, removal, overridden: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::undo::tests::writer;

    /// `name@version/unit version unit`, and the ids that the installation `i` has; `-` is none.
    fn ship(text: &str) -> Option<Ship> {
        let (name, rest) = text.split_once('@')?;
        let mut rest = rest.split(['/', ' ']);
        let mut number = || rest.next().and_then(|text| text.parse().ok()).expect("a number");
        let (version, unit_version) = (number(), number());
        let unit = rest.next().filter(|unit| *unit != "-").map(UnitId::new);
        let links = rest.next().map(|link| ("i".into(), link.to_owned())).into_iter().collect();
        Some(Ship {
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

    /// Ships by key: what each was before, what each change made of it; then what each becomes.
    fn check(ships: &[(&str, &[&str])], now: &[(&str, &str)], linked: &[(&str, &str)], expect: &[&str]) {
        let change = |pair: &[&str]| Change { before: ship(pair[0]), after: ship(pair[1]) };
        let past = |states: &[&str]| {
            let past = states.windows(2).fold(None, |past, pair| Some(Ships::follow(past, change(pair))));
            past.expect("a change")
        };
        let pasts: Vec<_> = ships.iter().map(|(key, states)| ((*key).to_owned(), past(states))).collect();
        let mut present = Present { units: ["u".into()].into(), ..Present::default() };
        present.ships.extend(now.iter().filter_map(|(key, text)| Some(((*key).to_owned(), ship(text)?))));
        let link = |(id, ship): &(&str, &str)| (("i".into(), (*id).to_owned()), (*ship).to_owned());
        present.linked.extend(linked.iter().map(link));
        let shown = |end: Ended| match end {
            Err(hindrance) => hindrance.as_str().to_owned(),
            Ok(None) => "=".to_owned(),
            Ok(Some(Touched { after: None, .. })) => "-".to_owned(),
            Ok(Some(Touched { after: Some(ship), .. })) => {
                let unit = ship.unit.map_or("-".to_owned(), |unit| unit.to_string());
                let link = ship.links.values().next().map(|link| format!(" {link}")).unwrap_or_default();
                let name = ship.name.expect("a name");
                format!("{name}@{}/{} {unit}{link}", ship.version, ship.unit_version)
            }
        };
        let pasts: Vec<(&str, &Past)> = pasts.iter().map(|(key, past)| (&**key, past)).collect();
        let SetBack { ends, .. } = Ships::set_back(&present, &pasts, &writer("m"));
        assert_eq!(ends.into_iter().map(shown).collect::<Vec<_>>(), expect, "{ships:?}");
    }

    /// A14: counters only go on.
    #[test]
    fn a_ship_is_set_back_and_its_counters_go_on() {
        check(&[("s", &["-", "a@1/1 -"])], &[("s", "a@1/1 -")], &[], &["-"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -", "c@3/1 -"])], &[("s", "c@3/1 -")], &[], &["a@4/1 -"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -", "a@3/1 -"])], &[("s", "a@3/1 -")], &[], &["="]);
        check(&[("s", &["a@1/1 u", "a@1/2 -"])], &[("s", "a@1/2 -")], &[], &["a@1/3 u"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -", "-"])], &[], &[], &["a@3/1 -"]);
        check(&[("s", &["-", "a@1/1 -", "-"])], &[], &[], &["="]);
        // They went on when something later was set back.
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "b@7/3 -")], &[], &["a@8/3 -"]);
    }

    #[test]
    fn a_ship_that_is_another_by_now_stays() {
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "c@3/1 -")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "b@2/2 u")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[("s", "b@2/1 - e")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "b@2/1 -"])], &[], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 -", "-"])], &[("s", "a@2/1 -")], &[], &["changed-since"]);
        check(&[("s", &["a@1/1 - e", "-"])], &[], &[], &["a@2/1 - e"]);
    }

    #[test]
    fn no_ship_comes_into_a_unit_that_its_member_left() {
        check(&[("s", &["a@1/1 v", "a@1/2 -"])], &[("s", "a@1/2 -")], &[], &["unit-left"]);
        check(&[("s", &["a@1/1 v", "-"])], &[], &[], &["unit-left"]);
        check(&[("s", &["a@1/1 v", "b@2/1 v"])], &[("s", "b@2/1 v")], &[], &["a@3/1 v"]);
    }

    /// SHP-07: an id goes back with the ship that gives it back, and stays with one that does not.
    #[test]
    fn ids_go_back_where_they_are_free() {
        let moved: &[(&str, &[&str])] = &[("s", &["a@1/1 - e", "a@1/1 -"]), ("t", &["-", "b@1/1 - e"])];
        let now = &[("s", "a@1/1 -"), ("t", "b@1/1 - e")];
        check(moved, now, &[("e", "t")], &["a@1/1 - e", "-"]);
        // It was changed by somebody else, and keeps the id.
        let other = &[("s", "a@1/1 -"), ("t", "c@2/1 - e")];
        check(moved, other, &[("e", "t")], &["link-taken", "changed-since"]);
        check(&moved[..1], now, &[("e", "t")], &["link-taken"]);
        // One hangs on the other.
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
