//! Sets of up to 500 ops over lots of any rows: what is booked comes to what the ops say, and nothing that
//! stands on stock is lost. `MODEL_CASES` is how many sets are decided.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

use super::super::super::warehouse::{Keeping, Measure};
use super::*;
use crate::catalogue::contents::Kind;
use crate::feed::Author;
use crate::time::Moment;

const NOW: Moment = Moment::from_secs(1_000_000);

fn author(installation: &str) -> Author {
    Author::Client { client: "c".into(), installation: installation.into() }
}

fn writer() -> Writer {
    Writer {
        by: crate::records::Doer::Service,
        member: "m".into(),
        author: author("i"),
        now: NOW,
        change_set: "set".to_owned(),
        guarded_since: None,
    }
}

fn lot(at: usize) -> Lot {
    let measure = if at / 2 == 2 { Measure::Piece } else { Measure::Scu };
    let material = if at / 2 == 2 { "parts" } else { "ore" };
    Lot {
        kind: Kind::Material,
        material: material.to_owned(),
        measure,
        location: format!("place-{}", at / 2),
        quality: 0,
        stolen: at % 2 == 1,
    }
}

const LOTS: usize = 6;

fn row() -> impl Strategy<Value = Row> {
    let keeping = select(vec![Keeping::Personal, Keeping::Shared, Keeping::Pool("u".into())]);
    (1_i64..50, keeping, 0_i64..5, select(vec![0, 0, 30, 100]), select(vec![0, 0, 0, 40, 100])).prop_map(
        |(amount, keeping, age, reserved, offered)| Row {
            id: String::new(),
            amount,
            keeping,
            version: 7,
            note: None,
            booked_at: Moment::from_secs(age),
            reserved: amount * reserved / 100,
            offer: Some(amount * offered / 100)
                .filter(|amount| *amount > 0)
                .map(|amount| Offer { id: String::new(), amount }),
            number: None,
        },
    )
}

fn shelves() -> impl Strategy<Value = BTreeMap<Lot, Shelf>> {
    prop::collection::vec(prop::collection::vec(row(), 0..5), LOTS).prop_map(|lots| {
        let mut count = 0;
        let mut named = |mut row: Row| {
            count += 1;
            row.id = format!("row-{count}");
            row.offer = row.offer.map(|offer| Offer { id: format!("offer-{count}"), ..offer });
            row
        };
        let shelf = |(at, rows): (usize, Vec<Row>)| {
            let rows: Vec<Row> = rows.into_iter().map(&mut named).collect();
            (lot(at), Shelf { rows, ..Shelf::default() })
        };
        lots.into_iter().enumerate().map(shelf).collect()
    })
}

/// Ops that know what the lots hold, but for one in ten.
fn wishes() -> impl Strategy<Value = Vec<(usize, i64, bool)>> {
    let one = (0..LOTS, select(vec![0, 0, 1, 2, 5, 10, 20, 60]), prop::bool::weighted(0.9));
    prop_oneof![9 => prop::collection::vec(one.clone(), 1..12), 1 => prop::collection::vec(one, 480..=500)]
}

/// What is held in each way of keeping it.
fn kept(rows: &[&Row]) -> BTreeMap<Keeping, i64> {
    let mut kept = BTreeMap::new();
    for row in rows {
        *kept.entry(row.keeping.clone()).or_default() += row.amount;
    }
    kept
}

fn journalled(holding: Option<&Holding>) -> &[Row] {
    holding.map_or(&[], |holding| &holding.rows)
}

fn cases() -> ProptestConfig {
    let asked = std::env::var("MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(2000), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// STK-02, STK-10, STK-11, STK-13, STK-15, STK-16, STK-17, STK-19, WRT-02.
    #[test]
    fn what_is_booked_comes_to_what_the_ops_say(shelves in shelves(), wishes in wishes()) {
        let mut held: BTreeMap<Lot, i64> =
            shelves.iter().map(|(lot, shelf)| (lot.clone(), super::held(&shelf.rows))).collect();
        let mut targets = Vec::new();
        let mut ends = Vec::new();
        for (at, to, knows) in wishes {
            let lot = lot(at);
            let reserved: i64 = shelves[&lot].rows.iter().map(|row| row.reserved).sum();
            let is = held[&lot];
            let expected = is + i64::from(!knows);
            ends.push(if !knows {
                OpEnd::Refused(Reason::VersionConflict)
            } else if is == to {
                OpEnd::Unchanged
            } else if to < is && is - to > is - reserved {
                OpEnd::Refused(Reason::StockEarmarked)
            } else {
                held.insert(lot.clone(), to);
                OpEnd::Applied
            });
            targets.push(Ok(Wish { lot, quantity: to, expected, overrule: false }));
        }
        let known = Known { marking: true, lots: shelves.clone() };
        let decided = decide(known, &targets, &writer());
        prop_assert_eq!(&decided.ends, &ends);

        let mut after = shelves.clone();
        for touched in &decided.touched {
            let Some(holding) = touched.after.as_ref().or(touched.before.as_ref()) else {
                let emptied = held.iter().any(|(lot, held)| lot.key() == touched.key && *held == 0);
                prop_assert!(emptied, "filled and emptied");
                continue;
            };
            let shelf = after.get_mut(&holding.lot).expect("a lot that is known");
            prop_assert_eq!(&touched.key, &holding.lot.key());
            prop_assert_eq!(touched.before.as_ref().map_or(0, |before| before.held), super::held(&shelf.rows));
            let (was, is) = (journalled(touched.before.as_ref()), journalled(touched.after.as_ref()));
            prop_assert!(was.iter().all(|row| shelf.rows.contains(row)));
            prop_assert!(!was.iter().any(|row| is.contains(row)), "what stays as it is is not journalled");
            shelf.rows.retain(|row| !was.contains(row));
            shelf.rows.extend_from_slice(is);
            prop_assert_eq!(touched.after.as_ref().map(|after| after.held).unwrap_or_default(), super::held(&shelf.rows));
            prop_assert_eq!(touched.after.is_none(), shelf.rows.is_empty());
        }
        let all = |shelves: &BTreeMap<Lot, Shelf>| -> BTreeMap<String, (Lot, Row)> {
            let rows = shelves.iter().flat_map(|(lot, shelf)| shelf.rows.iter().map(move |row| (lot, row)));
            rows.map(|(lot, row)| (row.id.clone(), (lot.clone(), row.clone()))).collect()
        };
        let (were, are) = (all(&shelves), all(&after));
        prop_assert_eq!(are.len(), after.values().map(|shelf| shelf.rows.len()).sum::<usize>(), "ids are unique");
        for (lot, shelf) in &after {
            prop_assert_eq!(super::held(&shelf.rows), held[lot]);
        }
        for (id, (lot, row)) in &are {
            let offered = row.offer.as_ref().map_or(0, |offer| offer.amount);
            prop_assert!(row.amount > 0 && row.reserved <= row.amount && offered <= row.amount, "{:?}", row);
            match were.get(id) {
                None => prop_assert!(row.version == 1 && row.reserved == 0 && row.offer.is_none()),
                Some((was_in, was)) => {
                    prop_assert_eq!((row.reserved, row.booked_at, &row.keeping), (was.reserved, was.booked_at, &was.keeping));
                    let moved = lot != was_in;
                    let whole = row.amount == was.amount || lot.measure == Measure::Piece;
                    prop_assert!(!moved || (whole && row.reserved == 0 && was.offer.is_none()));
                    let changed = moved || row.amount != was.amount;
                    prop_assert_eq!(row.version, was.version + i64::from(changed));
                }
            }
        }
        for (id, (_, was)) in &were {
            prop_assert!(are.contains_key(id) || was.reserved == 0, "reserved stock stays");
        }
        let offers = |rows: &BTreeMap<String, (Lot, Row)>| -> BTreeMap<String, i64> {
            rows.values().filter_map(|(_, row)| row.offer.clone()).map(|offer| (offer.id, offer.amount)).collect()
        };
        let (offered, offers) = (offers(&were), offers(&are));
        let lost = offered.keys().filter(|id| !offers.contains_key(*id)).count();
        let lowered = offered.iter().filter(|(id, was)| offers.get(*id).is_some_and(|is| is < *was)).count();
        let extras = (decided.extras.offers_removed, decided.extras.offers_reduced);
        prop_assert_eq!(extras, (Some(lost as i64), Some(lowered as i64)));

        // Twins: what is shared does not become personal by being marked, and never grows.
        for lot in (0..LOTS).step_by(2).map(lot) {
            let pair = [lot.clone(), lot.twin()];
            let of = |shelves: &BTreeMap<Lot, Shelf>| -> BTreeMap<Keeping, i64> {
                kept(&pair.iter().flat_map(|lot| &shelves[lot].rows).collect::<Vec<_>>())
            };
            let (was, is) = (of(&shelves), of(&after));
            for keeping in [Keeping::Shared, Keeping::Pool("u".into())] {
                prop_assert!(is.get(&keeping) <= was.get(&keeping));
            }
            let sum = |shelves: &BTreeMap<Lot, Shelf>, at: usize| super::held(&shelves[&pair[at]].rows);
            let level = sum(&shelves, 0) + sum(&shelves, 1) == sum(&after, 0) + sum(&after, 1);
            let stands = pair.iter().flat_map(|lot| &shelves[lot].rows).any(|row| row.movable() < row.amount);
            if level && !stands {
                prop_assert_eq!(is, was, "re-marked, and nothing else");
            }
        }
        let removed: BTreeSet<&str> =
            decided.touched.iter().filter(|touched| touched.removal).map(|touched| &*touched.key).collect();
        for (lot, shelf) in shelves.iter().filter(|(lot, _)| removed.contains(&*lot.key())) {
            prop_assert!(held[lot] * 10 <= super::held(&shelf.rows), "cut to a tenth at least");
        }
    }
}

/// STK-12, WRT-14: a lot that somebody else emptied is filled by leave of the member only, which is recorded; one
/// that the batch itself emptied is nobody else's.
#[test]
fn a_lot_that_was_emptied_elsewhere_asks() {
    let gone = |installation: &str| Some(Removal { at: NOW, by: author(installation) });
    let wish = |expected, quantity, overrule| Ok(Wish { lot: lot(0), quantity, expected, overrule });
    let check = |by: &str, targets: Vec<Result<Wish, Reason>>, ends: &[OpEnd], overridden: bool| {
        let lots = BTreeMap::from([(lot(0), Shelf { gone: gone(by), ..Shelf::default() })]);
        let decided = decide(Known { marking: true, lots }, &targets, &writer());
        assert_eq!(decided.ends, ends);
        assert_eq!(decided.touched.iter().any(|touched| touched.overridden), overridden);
    };
    let refused = OpEnd::Refused(Reason::RemovedElsewhere);
    check("other", vec![wish(0, 1, false)], std::slice::from_ref(&refused), false);
    check("other", vec![wish(0, 1, true)], &[OpEnd::Applied], true);
    check("i", vec![wish(0, 1, false)], &[OpEnd::Applied], false);
    let round = vec![wish(0, 1, true), wish(1, 0, false), wish(0, 2, false)];
    check("other", round, &[OpEnd::Applied, OpEnd::Applied, OpEnd::Applied], true);
    let emptied = vec![wish(0, 1, true), wish(1, 0, false)];
    check("other", emptied, &[OpEnd::Applied, OpEnd::Applied], true);
    check("other", vec![wish(0, 0, false)], &[OpEnd::Unchanged], false);
}
