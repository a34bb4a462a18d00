//! Detects moves of stock between the lots of one change set: amounts that decreased in one lot and increased
//! in another.
//!
//! The search has three rounds: between a lot and its stolen twin (STK-19), between locations, and between
//! qualities of a material (STK-20, STK-21). Lots whose changes cancel out form a move. The remaining
//! difference of a group takes part in the next round. Unrelated lots are therefore kept separate as far as
//! the amounts allow, and two lots with a move between them always belong to the same group.

use std::collections::BTreeMap;

use super::super::undo::EntryChange;
use super::super::warehouse::{Lot, Measure};
use super::LotHolding;
use crate::catalogue::contents::EntryKind;

/// The properties that the lots of a group have in common, from narrow to wide.
#[derive(Clone, Copy, Debug)]
enum MoveScope {
    /// All properties except the stolen flag.
    Place,
    Quality,
    /// Only the material. The guard treats such a change as a move (STK-21).
    Material,
}

impl MoveScope {
    /// Returns a key that is equal for all lots of the same group at this scope.
    fn group_key(self, lot: &Lot) -> (EntryKind, Measure, &str, Option<i64>, Option<&str>) {
        let Lot { kind, material, measure, location, quality, .. } = lot;
        let (quality, location) = match self {
            Self::Place => (Some(*quality), Some(&**location)),
            Self::Quality => (Some(*quality), None),
            Self::Material => (None, None),
        };
        (*kind, *measure, material, quality, location)
    }
}

/// A group of lots between which stock moved, with the net change of the group.
struct StockFlow<'c> {
    lot: &'c Lot,
    by: i64,
    /// The indexes of the group's changes.
    places: Vec<usize>,
}

impl<'c> StockFlow<'c> {
    /// Creates a group of one change. Returns `None` if the amount did not change.
    fn from_change(
        (at, EntryChange { before, after }): (usize, &'c EntryChange<LotHolding>),
    ) -> Option<Self> {
        let amount = |holding: &Option<LotHolding>| holding.as_ref().map_or(0, |holding| holding.total);
        let by = amount(after) - amount(before);
        let lot = &before.as_ref().or(after.as_ref())?.lot;
        (by != 0).then(|| Self { lot, by, places: vec![at] })
    }
}

/// Groups the changes of a change set if stock moved between their lots. Returns the indexes of each group's
/// changes.
pub(super) fn find_moves(changes: &[EntryChange<LotHolding>]) -> Vec<Vec<usize>> {
    let mut flows: Vec<StockFlow<'_>> =
        changes.iter().enumerate().filter_map(StockFlow::from_change).collect();
    let mut moved = Vec::new();
    for near in [MoveScope::Place, MoveScope::Quality, MoveScope::Material] {
        let mut group: BTreeMap<_, Vec<StockFlow<'_>>> = BTreeMap::new();
        for flow in flows {
            group.entry(near.group_key(flow.lot)).or_default().push(flow);
        }
        flows = Vec::new();
        for mut group in group.into_values() {
            if group.iter().all(|flow| flow.by > 0) || group.iter().all(|flow| flow.by < 0) {
                flows.append(&mut group);
                continue;
            }
            let by = group.iter().map(|flow| flow.by).sum();
            let lot = group.first().map(|flow| flow.lot);
            let places = group.into_iter().flat_map(|flow| flow.places).collect();
            match lot {
                Some(lot) if by != 0 => flows.push(StockFlow { lot, by, places }),
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

    /// Checks the groups of changes to lots. A lot has the form `material location quality`, with a trailing
    /// `!` if it is stolen. `expect` contains the indexes of each group.
    fn check(changes: &[(&str, i64)], expect: &[&[usize]]) {
        let change = |(lot, by): &(&str, i64)| {
            let parts: Vec<&str> = lot.trim_end_matches('!').split(' ').collect();
            let lot = Lot {
                kind: EntryKind::Material,
                material: parts[0].to_owned(),
                measure: Measure::Scu,
                location: parts[1].to_owned(),
                quality: parts[2].parse().expect("the quality is a number"),
                stolen: lot.ends_with('!'),
            };
            let holding = |total| Some(LotHolding { lot: lot.clone(), total, rows: Vec::new() });
            EntryChange { before: holding(100), after: holding(100 + by) }
        };
        let mut found = find_moves(&changes.iter().map(change).collect::<Vec<_>>());
        found.iter_mut().for_each(|places| places.sort_unstable());
        found.sort_unstable();
        assert_eq!(found, expect, "{changes:?}");
    }

    /// STK-19, STK-20, STK-21: a decrease and an increase of the same material form a move.
    #[test]
    fn matching_decrease_and_increase_form_a_move() {
        check(&[("ore city 0", -5), ("ore city 0!", 5)], &[&[0, 1]]);
        check(&[("ore city 0", -5), ("ore moon 0", 5)], &[&[0, 1]]);
        check(&[("ore city 0", -5), ("ore moon 7!", 3)], &[&[0, 1]]);
        check(&[("ore city 0", -5), ("ore moon 0", 2), ("ore base 0", 2)], &[&[0, 1, 2]]);
        // There is no move if no lot decreased, if no lot increased, or if the materials differ.
        check(&[("ore city 0", -5), ("ore moon 0", -5)], &[]);
        check(&[("ore city 0", 5), ("ore moon 0", 5)], &[]);
        check(&[("ore city 0", -5), ("tin city 0", 5)], &[]);
        check(&[("ore city 0", -5), ("ore moon 0", 0)], &[]);
    }

    /// STK-21: a move between similar lots is separate from a move between lots that differ more.
    #[test]
    fn narrow_move_is_separate_from_a_wider_one() {
        check(&[("ore city 0", -5), ("ore city 0!", 5), ("ore moon 0", 3)], &[&[0, 1]]);
        let two = [("ore city 0", -5), ("ore city 7", -2), ("ore moon 7", 2), ("ore moon 0", 5)];
        check(&two, &[&[0, 3], &[1, 2]]);
        // The remaining difference of the narrow move takes part in the wider one.
        check(&[("ore city 0", -5), ("ore city 0!", 3), ("ore moon 0", 2)], &[&[0, 1, 2]]);
        check(&[("ore city 0", -5), ("ore moon 0", 4), ("ore moon 7", 1)], &[&[0, 1, 2]]);
        let rest = [("ore city 0", -5), ("ore city 0!", 3), ("ore moon 7", -1), ("ore moon 7!", 2)];
        check(&rest, &[&[0, 1, 2, 3]]);
    }
}
