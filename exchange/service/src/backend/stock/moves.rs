//! Between which lots a change set moved stock: what it lowered here it raised there.
//!
//! It is looked for from near to far: between a lot and its twin (STK-19), then between places and at last between
//! qualities of one material (STK-20, STK-21). Where falls and rises are as much as one another they are the move; what
//! is left of them moved further. So lots that have nothing to do with one another stay apart as far as can be told, and
//! none that gave to another is ever parted from it.

use std::collections::BTreeMap;

use super::super::undo::Change;
use super::super::warehouse::{Lot, Measure};
use super::Holding;
use crate::catalogue::contents::Kind;

/// What lots have in common, the nearest first.
#[derive(Clone, Copy, Debug)]
enum Near {
    /// All but whether it is stolen.
    Place,
    /// Quality and material.
    Quality,
    /// The material: what the guard takes for a move (STK-21).
    Material,
}

impl Near {
    /// What tells lots that are as near as this from others.
    fn name(self, lot: &Lot) -> (Kind, Measure, &str, Option<i64>, Option<&str>) {
        let Lot { kind, material, measure, location, quality, .. } = lot;
        let (quality, location) = match self {
            Self::Place => (Some(*quality), Some(&**location)),
            Self::Quality => (Some(*quality), None),
            Self::Material => (None, None),
        };
        (*kind, *measure, material, quality, location)
    }
}

/// Lots between which stock moved, and what came to all of them or left them.
struct Flow<'c> {
    /// One of them.
    lot: &'c Lot,
    by: i64,
    /// Their places among the changes.
    places: Vec<usize>,
}

impl<'c> Flow<'c> {
    /// None where as much is held as before.
    fn of((at, Change { before, after }): (usize, &'c Change<Holding>)) -> Option<Self> {
        let held = |holding: &Option<Holding>| holding.as_ref().map_or(0, |holding| holding.held);
        let by = held(after) - held(before);
        let lot = &before.as_ref().or(after.as_ref())?.lot;
        (by != 0).then(|| Self { lot, by, places: vec![at] })
    }
}

/// Which of the changes of a change set moved stock between their lots, by their places among them.
pub(super) fn moved(changes: &[Change<Holding>]) -> Vec<Vec<usize>> {
    let mut flows: Vec<Flow<'_>> = changes.iter().enumerate().filter_map(Flow::of).collect();
    let mut moved = Vec::new();
    for near in [Near::Place, Near::Quality, Near::Material] {
        let mut alike: BTreeMap<_, Vec<Flow<'_>>> = BTreeMap::new();
        for flow in flows {
            alike.entry(near.name(flow.lot)).or_default().push(flow);
        }
        flows = Vec::new();
        for mut alike in alike.into_values() {
            if alike.iter().all(|flow| flow.by > 0) || alike.iter().all(|flow| flow.by < 0) {
                flows.append(&mut alike);
                continue;
            }
            let by = alike.iter().map(|flow| flow.by).sum();
            let lot = alike.first().map(|flow| flow.lot);
            let places = alike.into_iter().flat_map(|flow| flow.places).collect();
            match lot {
                Some(lot) if by != 0 => flows.push(Flow { lot, by, places }),
                _ => moved.push(places),
            }
        }
    }
    moved.extend(flows.into_iter().map(|flow| flow.places).filter(|places| places.len() > 1));
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lots as `material place quality`, the stolen ones with a `!` behind it, and by how much each changed; then those
    /// between which it moved.
    fn check(changes: &[(&str, i64)], expect: &[&[usize]]) {
        let change = |(lot, by): &(&str, i64)| {
            let parts: Vec<&str> = lot.trim_end_matches('!').split(' ').collect();
            let lot = Lot {
                kind: Kind::Material,
                material: parts[0].to_owned(),
                measure: Measure::Scu,
                location: parts[1].to_owned(),
                quality: parts[2].parse().expect("a quality"),
                stolen: lot.ends_with('!'),
            };
            let holding = |held| Some(Holding { lot: lot.clone(), held, rows: Vec::new() });
            Change { before: holding(100), after: holding(100 + by) }
        };
        let mut found = moved(&changes.iter().map(change).collect::<Vec<_>>());
        found.iter_mut().for_each(|places| places.sort_unstable());
        found.sort_unstable();
        assert_eq!(found, expect, "{changes:?}");
    }

    /// STK-19, STK-20, STK-21
    #[test]
    fn what_falls_here_and_rises_there_moved() {
        check(&[("ore city 0", -5), ("ore city 0!", 5)], &[&[0, 1]]);
        check(&[("ore city 0", -5), ("ore moon 0", 5)], &[&[0, 1]]);
        check(&[("ore city 0", -5), ("ore moon 7!", 3)], &[&[0, 1]]);
        check(&[("ore city 0", -5), ("ore moon 0", 2), ("ore base 0", 2)], &[&[0, 1, 2]]);
        // Nothing gave, or nothing got, or it is of something else.
        check(&[("ore city 0", -5), ("ore moon 0", -5)], &[]);
        check(&[("ore city 0", 5), ("ore moon 0", 5)], &[]);
        check(&[("ore city 0", -5), ("tin city 0", 5)], &[]);
        check(&[("ore city 0", -5), ("ore moon 0", 0)], &[]);
    }

    /// STK-21: what moved no further has nothing to do with what did.
    #[test]
    fn what_moved_near_by_is_a_move_of_its_own() {
        check(&[("ore city 0", -5), ("ore city 0!", 5), ("ore moon 0", 3)], &[&[0, 1]]);
        let two = [("ore city 0", -5), ("ore city 7", -2), ("ore moon 7", 2), ("ore moon 0", 5)];
        check(&two, &[&[0, 3], &[1, 2]]);
        // What is left of the one goes to the other.
        check(&[("ore city 0", -5), ("ore city 0!", 3), ("ore moon 0", 2)], &[&[0, 1, 2]]);
        check(&[("ore city 0", -5), ("ore moon 0", 4), ("ore moon 7", 1)], &[&[0, 1, 2]]);
        let rest = [("ore city 0", -5), ("ore city 0!", 3), ("ore moon 7", -1), ("ore moon 7!", 2)];
        check(&rest, &[&[0, 1, 2, 3]]);
    }
}
