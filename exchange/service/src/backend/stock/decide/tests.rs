//! Property tests with batches of up to 500 ops over lots of arbitrary rows. They check that the bookings
//! match the ops, and that no reserved stock is lost. `MODEL_CASES` sets the number of batches.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::super::super::warehouse::{Measure, StockOwnership};
use super::*;
use crate::catalogue::contents::EntryKind;
use crate::feed::ChangeAuthor;
use crate::time::Moment;

const NOW: Moment = Moment::from_secs(1_000_000);

fn author(installation: &str) -> ChangeAuthor {
    ChangeAuthor::Client { client: "c".into(), installation: installation.into() }
}

fn writer() -> WriteContext {
    WriteContext {
        actor: crate::records::OwnedActor::Service,
        member: "m".into(),
        author: author("i"),
        now: NOW,
        change_set: "set".to_owned(),
        guarded_since: None,
    }
}

fn lot(index: usize) -> Lot {
    let measure = if index / 2 == 2 { Measure::Piece } else { Measure::Scu };
    let material = if index / 2 == 2 { "parts" } else { "ore" };
    Lot {
        kind: EntryKind::Material,
        material: material.to_owned(),
        measure,
        location: format!("place-{}", index / 2),
        quality: 0,
        stolen: index % 2 == 1,
    }
}

const LOTS: usize = 6;

fn row() -> impl Strategy<Value = StockRow> {
    let keeping =
        select(vec![StockOwnership::Personal, StockOwnership::Shared, StockOwnership::Pool("u".into())]);
    (1_i64..50, keeping, 0_i64..5, select(vec![0, 0, 30, 100]), select(vec![0, 0, 0, 40, 100])).prop_map(
        |(amount, keeping, age, reserved, offered)| StockRow {
            id: String::new(),
            amount,
            keeping,
            version: 7,
            note: None,
            booked_at: Moment::from_secs(age),
            reserved: amount * reserved / 100,
            offer: Some(amount * offered / 100)
                .filter(|amount| *amount > 0)
                .map(|amount| StockOffer { id: String::new(), amount }),
            number: None,
        },
    )
}

fn lot_states() -> impl Strategy<Value = BTreeMap<Lot, LotState>> {
    prop::collection::vec(prop::collection::vec(row(), 0..5), LOTS).prop_map(|lots| {
        let mut count = 0;
        let mut named = |mut row: StockRow| {
            count += 1;
            row.id = format!("row-{count}");
            row.offer = row.offer.map(|offer| StockOffer { id: format!("offer-{count}"), ..offer });
            row
        };
        let lot_state = |(index, rows): (usize, Vec<StockRow>)| {
            let rows: Vec<StockRow> = rows.into_iter().map(&mut named).collect();
            (lot(index), LotState { rows, ..LotState::default() })
        };
        lots.into_iter().enumerate().map(lot_state).collect()
    })
}

/// Generates ops; nine of ten contain the correct expected amount of the lot.
fn goals() -> impl Strategy<Value = Vec<(usize, i64, bool)>> {
    let one = (0..LOTS, select(vec![0, 0, 1, 2, 5, 10, 20, 60]), prop::bool::weighted(0.9));
    prop_oneof![9 => prop::collection::vec(one.clone(), 1..12), 1 => prop::collection::vec(one, 480..=500)]
}

fn totals_by_owner(rows: &[&StockRow]) -> BTreeMap<StockOwnership, i64> {
    let mut totals = BTreeMap::new();
    for row in rows {
        *totals.entry(row.keeping.clone()).or_default() += row.amount;
    }
    totals
}

fn journalled(holding: Option<&LotHolding>) -> &[StockRow] {
    holding.map_or(&[], |holding| &holding.rows)
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(2000), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// STK-02, STK-10, STK-11, STK-13, STK-15, STK-16, STK-17, STK-19, WRT-02: the statuses of the ops, the
    /// booked rows, the offers and the removals match a simple model of the lots.
    #[test]
    fn bookings_match_the_ops(lot_states in lot_states(), goals in goals()) {
        let mut held: BTreeMap<Lot, i64> =
            lot_states.iter().map(|(lot, lot_state)| (lot.clone(), super::total_amount(&lot_state.rows))).collect();
        let mut targets = Vec::new();
        let mut ends = Vec::new();
        for (index, to, knows) in goals {
            let lot = lot(index);
            let reserved: i64 = lot_states[&lot].rows.iter().map(|row| row.reserved).sum();
            let held_amount = held[&lot];
            let expected = held_amount + i64::from(!knows);
            ends.push(if !knows {
                OpStatus::Refused(Reason::VersionConflict)
            } else if held_amount == to {
                OpStatus::Unchanged
            } else if to < held_amount && held_amount - to > held_amount - reserved {
                OpStatus::Refused(Reason::StockEarmarked)
            } else {
                held.insert(lot.clone(), to);
                OpStatus::Applied
            });
            targets.push(Ok(QuantityTarget { lot, quantity: to, expected, overrides_removal: false }));
        }
        let state = StockState { is_marking_enabled: true, lots: lot_states.clone() };
        let decided = decide_ops(state, &targets, &writer());
        prop_assert_eq!(&decided.statuses, &ends);

        let mut after = lot_states.clone();
        for touched in &decided.touched {
            let Some(holding) = touched.after.as_ref().or(touched.before.as_ref()) else {
                let emptied = held.iter().any(|(lot, held)| lot.key() == touched.key && *held == 0);
                prop_assert!(emptied, "only a lot that was filled and emptied has no holding");
                continue;
            };
            let lot_state = after.get_mut(&holding.lot).expect("the lot exists");
            prop_assert_eq!(&touched.key, &holding.lot.key());
            prop_assert_eq!(touched.before.as_ref().map_or(0, |before| before.total), super::total_amount(&lot_state.rows));
            let (was, current) = (journalled(touched.before.as_ref()), journalled(touched.after.as_ref()));
            prop_assert!(was.iter().all(|row| lot_state.rows.contains(row)));
            prop_assert!(!was.iter().any(|row| current.contains(row)), "unchanged rows are not journaled");
            lot_state.rows.retain(|row| !was.contains(row));
            lot_state.rows.extend_from_slice(current);
            prop_assert_eq!(touched.after.as_ref().map(|after| after.total).unwrap_or_default(), super::total_amount(&lot_state.rows));
            prop_assert_eq!(touched.after.is_none(), lot_state.rows.is_empty());
        }
        let all = |lot_states: &BTreeMap<Lot, LotState>| -> BTreeMap<String, (Lot, StockRow)> {
            let rows = lot_states.iter().flat_map(|(lot, lot_state)| lot_state.rows.iter().map(move |row| (lot, row)));
            rows.map(|(lot, row)| (row.id.clone(), (lot.clone(), row.clone()))).collect()
        };
        let (were, are) = (all(&lot_states), all(&after));
        prop_assert_eq!(are.len(), after.values().map(|lot_state| lot_state.rows.len()).sum::<usize>(), "ids are unique");
        for (lot, lot_state) in &after {
            prop_assert_eq!(super::total_amount(&lot_state.rows), held[lot]);
        }
        for (id, (lot, row)) in &are {
            let offered = row.offer.as_ref().map_or(0, |offer| offer.amount);
            prop_assert!(row.amount > 0 && row.reserved <= row.amount && offered <= row.amount, "{:?}", row);
            match were.get(id) {
                None => prop_assert!(row.version == 1 && row.reserved == 0 && row.offer.is_none()),
                Some((was_in, was)) => {
                    prop_assert_eq!((row.reserved, row.booked_at, &row.keeping), (was.reserved, was.booked_at, &was.keeping));
                    let moved = lot != was_in;
                    let is_whole = row.amount == was.amount || lot.measure == Measure::Piece;
                    prop_assert!(!moved || (is_whole && row.reserved == 0 && was.offer.is_none()));
                    let changed = moved || row.amount != was.amount;
                    prop_assert_eq!(row.version, was.version + i64::from(changed));
                }
            }
        }
        for (id, (_, was)) in &were {
            prop_assert!(are.contains_key(id) || was.reserved == 0, "rows with reserved stock are kept");
        }
        let offers = |rows: &BTreeMap<String, (Lot, StockRow)>| -> BTreeMap<String, i64> {
            rows.values().filter_map(|(_, row)| row.offer.clone()).map(|offer| (offer.id, offer.amount)).collect()
        };
        let (offered, offers) = (offers(&were), offers(&are));
        let lost = offered.keys().filter(|id| !offers.contains_key(*id)).count();
        let lowered = offered.iter().filter(|(id, was)| offers.get(*id).is_some_and(|current| current < *was)).count();
        let extras = (decided.extras.offers_removed, decided.extras.offers_reduced);
        prop_assert_eq!(extras, (Some(lost as i64), Some(lowered as i64)));

        // Re-marking stock as stolen or not stolen never turns personal stock into shared or pool stock.
        for lot in (0..LOTS).step_by(2).map(lot) {
            let pair = [lot.clone(), lot.stolen_twin()];
            let of = |lot_states: &BTreeMap<Lot, LotState>| -> BTreeMap<StockOwnership, i64> {
                totals_by_owner(&pair.iter().flat_map(|lot| &lot_states[lot].rows).collect::<Vec<_>>())
            };
            let (was, current) = (of(&lot_states), of(&after));
            for keeping in [StockOwnership::Shared, StockOwnership::Pool("u".into())] {
                prop_assert!(current.get(&keeping) <= was.get(&keeping));
            }
            let sum = |lot_states: &BTreeMap<Lot, LotState>, index: usize| super::total_amount(&lot_states[&pair[index]].rows);
            let level = sum(&lot_states, 0) + sum(&lot_states, 1) == sum(&after, 0) + sum(&after, 1);
            let is_fixed = pair.iter().flat_map(|lot| &lot_states[lot].rows).any(|row| row.movable_amount() < row.amount);
            if level && !is_fixed {
                prop_assert_eq!(current, was, "re-marking keeps the amounts per ownership");
            }
        }
        let removed: BTreeSet<&str> =
            decided.touched.iter().filter(|touched| touched.removal).map(|touched| &*touched.key).collect();
        for (lot, lot_state) in lot_states.iter().filter(|(lot, _)| removed.contains(&*lot.key())) {
            prop_assert!(held[lot] * 10 <= super::total_amount(&lot_state.rows), "at most a tenth remains");
        }
    }
}

/// STK-12, WRT-14: filling a lot that another author emptied requires the member's permission, and the
/// journal records the permission. Refilling a lot that the same batch emptied requires none.
#[test]
fn refilling_a_foreign_emptied_lot_needs_override() {
    let gone = |installation: &str| Some(KeyRemoval { at: NOW, by: author(installation) });
    let goal = |expected, quantity, overrides_removal| {
        Ok(QuantityTarget { lot: lot(0), quantity, expected, overrides_removal })
    };
    let check =
        |by: &str, targets: Vec<Result<QuantityTarget, Reason>>, ends: &[OpStatus], overridden: bool| {
            let lots = BTreeMap::from([(lot(0), LotState { last_removal: gone(by), ..LotState::default() })]);
            let decided = decide_ops(StockState { is_marking_enabled: true, lots }, &targets, &writer());
            assert_eq!(decided.statuses, ends);
            assert_eq!(decided.touched.iter().any(|touched| touched.overridden), overridden);
        };
    let refused = OpStatus::Refused(Reason::RemovedElsewhere);
    check("other", vec![goal(0, 1, false)], std::slice::from_ref(&refused), false);
    check("other", vec![goal(0, 1, true)], &[OpStatus::Applied], true);
    check("i", vec![goal(0, 1, false)], &[OpStatus::Applied], false);
    let round = vec![goal(0, 1, true), goal(1, 0, false), goal(0, 2, false)];
    check("other", round, &[OpStatus::Applied, OpStatus::Applied, OpStatus::Applied], true);
    let emptied = vec![goal(0, 1, true), goal(1, 0, false)];
    check("other", emptied, &[OpStatus::Applied, OpStatus::Applied], true);
    check("other", vec![goal(0, 0, false)], &[OpStatus::Unchanged], false);
}
