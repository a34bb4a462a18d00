//! Stock set back: what was booked in is booked out again, and what was booked out stands where it stood, with its
//! keeping, age and note. What was offered of it stays unoffered (STK-17), and what is reserved stays (STK-13). Lots of
//! which a change set lowered some and raised others of the same material are set back together: it moved stock between
//! them, be it re-marked (STK-19) or elsewhere (STK-20).
//!
//! The journal has a lot under the member whose it is. What Logisticians do to its rows in pools stands under them, and
//! shows in that a change did not meet a row as the one before left it, or that a row is not as the last one left it.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::super::change::{Touched, Writer};
use super::super::undo::{Change, Hindrance, Restore, SetBack};
use super::super::warehouse::{self, Keeping, Lot, Row};
use super::decide::offers;
use super::moves::moved;
use super::{Holding, Stock};
use crate::ids::{MemberId, UnitId};
use crate::members;
use crate::store::StoreError;

/// All that a client did to a lot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Past {
    /// None for a lot that was filled and emptied at once.
    lot: Option<Lot>,
    rows: BTreeMap<String, Trail>,
    /// Whether each change of a row met what the one before it left.
    is_whole: bool,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq)]
struct Trail {
    was: Option<Row>,
    is: Option<Row>,
    /// The last version that it had.
    version: i64,
    /// How many rows the client met before it: rows come back in this order, which is that of their age.
    place: usize,
}

/// What is known of the lots now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Present {
    /// The member's rows, by the lots' keys.
    lots: BTreeMap<String, Vec<Row>>,
    /// Ids that rows have, of those that could come back.
    ids: BTreeSet<String>,
    /// Units that the member directly belongs to.
    units: BTreeSet<UnitId>,
}

/// What a lot is to become, but for the versions of rows that come back.
struct Draft {
    lot: Lot,
    before: Vec<Row>,
    /// Rows that stay, as they will be.
    stay: Vec<Row>,
    /// Rows that come back, as they were.
    back: Vec<Row>,
}

impl Restore for Stock {
    type Past = Past;
    type Present = Present;

    const MOVES: bool = true;

    fn moved(changes: &[Change<Holding>]) -> Vec<Vec<usize>> {
        moved(changes)
    }

    fn follow(past: Option<Past>, change: Change<Holding>) -> Past {
        let Change { before, after } = change;
        let lot = before.as_ref().or(after.as_ref()).map(|holding| holding.lot.clone());
        let new = || Past { lot: None, rows: BTreeMap::new(), is_whole: true };
        let mut past = past.unwrap_or_else(new);
        past.lot = past.lot.or(lot);
        let mut after: BTreeMap<String, Row> = by_id(after.map(|holding| holding.rows));
        for was in before.into_iter().flat_map(|holding| holding.rows) {
            let (id, place) = (was.id.clone(), past.rows.len());
            let is = after.remove(&id);
            past.is_whole &= past.rows.get(&id).is_none_or(|trail| are_alike(trail.is.as_ref(), Some(&was)));
            let version = is.as_ref().unwrap_or(&was).version;
            let new = || Trail { was: Some(was), is: None, version, place };
            let trail = past.rows.entry(id).or_insert_with(new);
            (trail.is, trail.version) = (is, version);
        }
        for (id, is) in after {
            past.is_whole &= past.rows.get(&id).is_none_or(|trail| trail.is.is_none());
            let (version, place) = (is.version, past.rows.len());
            let trail = past.rows.entry(id).or_insert(Trail { was: None, is: None, version, place });
            (trail.is, trail.version) = (Some(is), version);
        }
        past
    }

    fn faded(key: &str, past: &Past) -> Touched<Holding> {
        let holding = |lot: &Lot| Holding { lot: lot.clone(), held: 0, rows: Vec::new() };
        touched(key, [past.lot.as_ref().map(holding), None])
    }

    fn present(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &Past)],
    ) -> Result<Present, StoreError> {
        let units = members::units(connection, member)?.into_iter().collect();
        let mut present = Present { units, ..Present::default() };
        let mut known = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM stock_row WHERE id = ?1)")?;
        for (key, past) in pasts {
            let rows = warehouse::rows(connection, member, key)?;
            present.lots.insert((*key).to_owned(), rows);
            for (id, _) in past.rows.iter().filter(|(_, trail)| trail.was.is_some() && trail.is.is_none()) {
                if known.query_row([id], |row| row.get(0))? {
                    present.ids.insert(id.clone());
                }
            }
        }
        Ok(present)
    }

    fn set_back(present: &Present, pasts: &[(&str, &Past)], _: &Writer) -> SetBack<Holding> {
        let drafts: Vec<_> = pasts.iter().map(|(key, past)| draft(present, key, past)).collect();
        // A row that leaves one lot can come back to another; one that stays elsewhere cannot.
        let mut leaving: BTreeMap<&str, i64> = BTreeMap::new();
        for Draft { before, stay, .. } in drafts.iter().flatten().flatten() {
            let leave = before.iter().filter(|row| stay.iter().all(|stays| stays.id != row.id));
            leaving.extend(leave.map(|row| (&*row.id, row.version)));
        }
        let mut taken: BTreeSet<&str> =
            present.ids.iter().map(|id| &**id).filter(|id| !leaving.contains_key(id)).collect();
        // Its version goes on from the last one that it had, in whichever lot.
        let mut versions = leaving.clone();
        for (id, trail) in pasts.iter().flat_map(|(_, past)| &past.rows) {
            let version = versions.entry(id).or_insert(trail.version);
            *version = trail.version.max(*version);
        }
        let settle = |Draft { lot, before, stay, back }: &Draft, key: &str| {
            let mut after = stay.clone();
            for row in back {
                let version = versions.get(&*row.id).map_or(row.version, |version| version + 1);
                after.push(Row { version, ..row.clone() });
            }
            touched(key, Holding::pair(lot, [before, &after]))
        };
        let mut ends = Vec::new();
        for ((key, _), draft) in pasts.iter().zip(&drafts) {
            ends.push(match draft {
                Err(hindrance) => Err(hindrance.clone()),
                Ok(None) => Ok(None),
                Ok(Some(draft)) if draft.back.iter().all(|row| taken.insert(&row.id)) => {
                    Ok(Some(settle(draft, key)))
                }
                Ok(Some(_)) => Err(Hindrance::OtherHalf),
            });
        }
        let booked: Vec<_> = ends.iter().flatten().flatten().collect();
        let extras = offers(
            booked.iter().filter_map(|touched| touched.before.as_ref()).flat_map(|was| &was.rows),
            booked.iter().filter_map(|touched| touched.after.as_ref()).flat_map(|is| &is.rows),
        );
        SetBack { ends, extras, notices: Vec::new() }
    }
}

/// What becomes of a lot.
fn draft(present: &Present, key: &str, past: &Past) -> Result<Option<Draft>, Hindrance> {
    let now = present.lots.get(key).map(Vec::as_slice).unwrap_or_default();
    if !past.is_whole {
        return Err(Hindrance::ChangedSince(None));
    }
    let mut draft = Draft {
        lot: match &past.lot {
            Some(lot) => lot.clone(),
            None => return Ok(None),
        },
        before: now.to_vec(),
        stay: now.to_vec(),
        back: Vec::new(),
    };
    let is_other = |Trail { was, is, .. }: &&Trail| !are_alike(was.as_ref(), is.as_ref());
    let mut changed: Vec<_> = past.rows.iter().filter(|(_, trail)| is_other(trail)).collect();
    changed.sort_by_key(|(_, trail)| trail.place);
    let is_changed = !changed.is_empty();
    for (id, trail) in changed {
        let row = now.iter().find(|row| row.id == *id);
        if !are_alike(trail.is.as_ref(), row) {
            return Err(Hindrance::ChangedSince(None));
        }
        let amount = trail.was.as_ref().map_or(0, |was| was.amount);
        if row.is_some_and(|row| row.reserved > amount) {
            return Err(Hindrance::Reserved);
        }
        let unit = trail.was.as_ref().and_then(|was| was.keeping.unit());
        let is_in = trail.is.as_ref().and_then(|is| is.keeping.unit());
        if unit.is_some_and(|unit| is_in != Some(unit) && !present.units.contains(unit)) {
            return Err(Hindrance::UnitLeft);
        }
        match (&trail.was, row) {
            (Some(was), None) => {
                draft.back.push(Row { reserved: 0, offer: None, ..was.clone() });
            }
            (was, Some(_)) => {
                draft.stay.retain(|stays| stays.id != *id || was.is_some());
                if let (Some(was), Some(stays)) = (was, draft.stay.iter_mut().find(|row| row.id == *id)) {
                    (stays.amount, stays.version) = (was.amount, stays.version + 1);
                    (stays.keeping, stays.note) = (was.keeping.clone(), was.note.clone());
                    if let Some(offer) = &mut stays.offer {
                        offer.amount = offer.amount.min(stays.amount);
                    }
                }
            }
            (None, None) => {}
        }
    }
    Ok(is_changed.then_some(draft))
}

/// Whether a row holds the same in the same way as another one, or both are not there. What is reserved and offered of
/// it is another matter, and versions move when something is set back, too.
fn are_alike(one: Option<&Row>, other: Option<&Row>) -> bool {
    fn parts(row: &Row) -> (i64, &Keeping, Option<&str>) {
        (row.amount, &row.keeping, row.note.as_deref())
    }
    one.map(parts) == other.map(parts)
}

fn by_id(rows: Option<Vec<Row>>) -> BTreeMap<String, Row> {
    rows.into_iter().flatten().map(|row| (row.id.clone(), row)).collect()
}

fn touched(key: &str, [before, after]: [Option<Holding>; 2]) -> Touched<Holding> {
    let removal = before.is_some() && after.is_none();
    Touched { key: key.to_owned(), before, after, removal, overridden: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::undo::moves::{Case, together};
    use crate::backend::undo::tests::writer;
    use crate::backend::warehouse::{Measure, Offer};
    use crate::catalogue::contents::Kind;
    use crate::time::Moment;

    fn lot(material: &str) -> Lot {
        Lot {
            kind: Kind::Material,
            material: material.to_owned(),
            measure: Measure::Scu,
            location: "city".to_owned(),
            quality: 0,
            stolen: false,
        }
    }

    /// `id:amount@version`, then `reserved=N`, `offer=N` and a unit, in any order.
    fn row(text: &str) -> Row {
        let mut parts = text.split(' ');
        let (id, rest) = parts.next().and_then(|part| part.split_once(':')).expect("an id");
        let (amount, version) = rest.split_once('@').expect("a version");
        let number = |text: &str| text.parse().expect("a number");
        let mut row = Row {
            id: id.to_owned(),
            amount: number(amount),
            keeping: Keeping::Personal,
            version: number(version),
            note: None,
            booked_at: Moment::from_secs(1),
            reserved: 0,
            offer: None,
            number: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("reserved", amount)) => row.reserved = number(amount),
                Some((_, amount)) => row.offer = Some(Offer { id: "o".to_owned(), amount: number(amount) }),
                None => row.keeping = Keeping::Pool(part.into()),
            }
        }
        row
    }

    fn shown(row: &Row) -> String {
        let offer = row.offer.as_ref().map(|offer| format!(" offer={}", offer.amount)).unwrap_or_default();
        let unit = row.keeping.unit().map(|unit| format!(" {unit}")).unwrap_or_default();
        format!("{}:{}@{}{offer}{unit}", row.id, row.amount, row.version)
    }

    /// The rows of a lot once what is said of them is done.
    fn booked(now: Vec<Row>, touched: Touched<Holding>) -> Vec<Row> {
        let was = by_id(touched.before.map(|holding| holding.rows));
        let mut is = touched.after.map(|holding| holding.rows).unwrap_or_default();
        let mut left = Vec::new();
        for row in now {
            match is.iter().position(|other| other.id == row.id) {
                Some(at) => left.push(is.remove(at)),
                None if was.contains_key(&row.id) => {}
                None => left.push(row),
            }
        }
        left.into_iter().chain(is).collect()
    }

    fn rows(texts: &[&str]) -> Vec<Row> {
        texts.iter().map(|text| row(text)).collect()
    }

    /// Lots: what each held before the changes and after each, `...` where somebody else came between; what it holds
    /// now; what becomes of it.
    type Lots<'a> = &'a [(&'a [&'a [&'a str]], &'a [&'a str], &'a [&'a str])];

    fn check(lots: Lots<'_>, ids: &[&str]) {
        check_moved(lots, ids, None);
    }

    /// The same of lots between which stock moved.
    fn check_halves(lots: Lots<'_>, ids: &[&str]) {
        check_moved(lots, ids, Some(0));
    }

    fn check_moved(lots: Lots<'_>, ids: &[&str], together_in: Option<usize>) {
        let units = ["u".into()].into();
        let mut present = Present { units, ..Present::default() };
        present.ids.extend(ids.iter().map(|id| (*id).to_owned()));
        let (mut cases, mut expect) = (Vec::new(), Vec::new());
        for (number, (states, now, becomes)) in lots.iter().enumerate() {
            let lot = lot(&format!("m{number}"));
            let change = |pair: &[&[&str]]| {
                let [before, after] = Holding::pair(&lot, [&rows(pair[0]), &rows(pair[1])]);
                Change { before, after }
            };
            let changes = states.split(|state| *state == ["..."]).flat_map(|own| own.windows(2));
            let past = changes.fold(None, |past, pair| Some(Stock::follow(past, change(pair))));
            present.lots.insert(lot.key(), rows(now));
            let (key, past, group) = (lot.key(), past.expect("a change"), together_in.unwrap_or(number));
            cases.push(Case { key, past, group, stays: None });
            expect.push(becomes.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        }
        let SetBack { ends, .. } = together::<Stock>(&present, &cases, &writer("m"));
        let told = |(end, (_, now, _)): (Result<Option<Touched<Holding>>, Hindrance>, _)| match end {
            Err(hindrance) => vec![hindrance.as_str().to_owned()],
            Ok(None) => vec!["=".to_owned()],
            Ok(Some(touched)) => booked(rows(now), touched).iter().map(shown).collect(),
        };
        assert_eq!(ends.into_iter().zip(lots.iter().copied()).map(told).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn what_was_booked_is_booked_back() {
        // In, out, both, and nothing in the end.
        check(&[(&[&[], &["a:5@1"]], &["a:5@1"], &[])], &[]);
        check(&[(&[&["a:5@1"], &["a:5@1", "b:2@1"]], &["a:5@1", "b:2@1"], &["a:5@1"])], &[]);
        check(&[(&[&["a:5@1 u", "b:2@4"], &["a:3@2 u"]], &["a:3@2 u"], &["a:5@3 u", "b:2@5"])], &[]);
        check(&[(&[&["a:5@1"], &["a:3@2"], &[]], &[], &["a:5@3"])], &[]);
        check(&[(&[&["a:5@1"], &["a:3@2"], &["a:5@3"]], &["a:5@3"], &["="])], &[]);
        check(&[(&[&[], &["a:3@2"], &[]], &[], &["="])], &[]);
        check(&[(&[&[], &[]], &[], &["="])], &[]);
        // Versions go on, and one that an earlier undo moved is no change.
        check(&[(&[&["a:5@1"], &["a:3@2"]], &["a:3@6"], &["a:5@7"])], &[]);
        // What the journal leaves out because it did not change, and what is of another area.
        check(&[(&[&["a:5@1"], &["a:3@2"]], &["a:3@2", "c:0@1"], &["a:5@3", "c:0@1"])], &[]);
    }

    #[test]
    fn what_is_otherwise_by_now_stays() {
        let fall: &[&[&str]] = &[&["a:5@1"], &["a:3@2"]];
        check(&[(fall, &["a:4@3"], &["changed-since"])], &[]);
        check(&[(fall, &["a:3@2 u"], &["changed-since"])], &[]);
        check(&[(fall, &["b:3@1"], &["changed-since"])], &[]);
        check(&[(fall, &[], &["changed-since"])], &[]);
        // Another row is another matter.
        check(&[(&[&["a:5@1"], &[]], &["b:1@1"], &["b:1@1", "a:5@2"])], &[]);
    }

    /// STK-16: nor is what another Logistician booked between two changes set back with them.
    #[test]
    fn what_came_between_two_changes_stays() {
        let stays: &[&str] = &["changed-since"];
        let between = |before: &[&str], after: &[&str]| {
            let states: &[&[&str]] = &[&["a:9@1 u", "c:1@1"], before, &["..."], after, &["a:2@5 u", "c:1@1"]];
            check(&[(states, &["a:2@5 u", "c:1@1"], stays)], &[]);
        };
        between(&["a:8@2 u", "c:1@1"], &["a:5@3 u", "c:1@1"]);
        between(&["a:8@2 u", "c:1@1"], &["a:8@3 v", "c:1@1"]);
        between(&["a:8@2 u", "c:1@1"], &["b:8@3 u", "c:1@1"]);
        between(&["c:1@1"], &["a:5@3 u", "c:1@1"]);
        // The same amount in all, by another row; and a row that was taken away and put back.
        between(&["a:8@2 u", "c:1@1"], &["a:5@3 u", "c:4@2"]);
        let appears: &[&[&str]] = &[&["a:9@1"], &["a:8@2"], &["..."], &["b:8@1"], &["a:1@3", "b:8@1"]];
        check(&[(appears, &["a:1@3", "b:8@1"], stays)], &[]);
        // What came to another row is not in the way.
        let beside: &[&[&str]] =
            &[&["a:9@1"], &["a:8@2"], &["..."], &["a:8@2", "b:3@1"], &["a:1@3", "b:3@1"]];
        check(&[(beside, &["a:1@3", "b:2@2"], &["a:9@4", "b:2@2"])], &[]);
        // Nothing came between, and what moved there and back is nothing.
        let whole: &[&[&str]] =
            &[&["a:9@1 u", "c:1@1"], &["a:8@2 u", "c:1@1"], &["..."], &["a:8@4 u", "c:1@1"], &["c:1@1"]];
        check(&[(whole, &["c:1@1"], &["c:1@1", "a:9@5 u"])], &[]);
    }

    /// STK-13, STK-17: what is reserved stays, and what is offered is lowered like by any other booking.
    #[test]
    fn reservations_and_offers_are_kept_or_lowered() {
        let rise: &[&[&str]] = &[&["a:3@1"], &["a:5@2"]];
        check(&[(rise, &["a:5@2 reserved=4"], &["reserved"])], &[]);
        check(&[(rise, &["a:5@2 reserved=3 offer=4"], &["a:3@3 offer=3"])], &[]);
        check(&[(&[&[], &["a:5@1"]], &["a:5@1 reserved=1"], &["reserved"])], &[]);
        check(&[(&[&[], &["a:5@1"]], &["a:5@1 offer=1"], &[])], &[]);
        check(&[(&[&["a:3@1 offer=2"], &[]], &[], &["a:3@2"])], &[]);
    }

    #[test]
    fn no_row_comes_into_the_pool_of_a_unit_that_its_holder_left() {
        check(&[(&[&["a:3@1 v"], &[]], &[], &["unit-left"])], &[]);
        check(&[(&[&["a:3@1 v"], &["a:2@2 v"]], &["a:2@2 v"], &["a:3@3 v"])], &[]);
        check(&[(&[&["a:3@1 u"], &[]], &[], &["a:3@2 u"])], &[]);
    }

    /// STK-19: a row that was moved goes back as it is, and neither lot is set back without the other.
    #[test]
    fn a_row_that_was_moved_goes_back() {
        let (from, to): (&[&[&str]], &[&[&str]]) = (&[&["a:3@1"], &[]], &[&[], &["a:3@2"]]);
        check_halves(&[(from, &[], &["a:3@3"]), (to, &["a:3@2"], &[])], &["a"]);
        check_halves(&[(to, &["a:3@2"], &[]), (from, &[], &["a:3@3"])], &["a"]);
        // The one that would get it back is hindered, or the one that would give it back.
        let left: &[&[&str]] = &[&["a:3@1 v"], &[]];
        check_halves(&[(left, &[], &["unit-left"]), (to, &["a:3@2"], &["other-half"])], &["a"]);
        check_halves(&[(from, &[], &["other-half"]), (to, &["a:4@3"], &["changed-since"])], &["a"]);
        check_halves(&[(from, &[], &["other-half"]), (to, &["a:3@2 reserved=1"], &["reserved"])], &["a"]);
        // Whatever the journal says, no row is there twice.
        check(&[(from, &[], &["other-half"])], &["a"]);
        check(&[(from, &[], &["other-half"]), (to, &["a:4@3"], &["changed-since"])], &["a"]);
    }

    /// STK-19: the same of a part, which was a row of its own.
    #[test]
    fn a_part_that_was_moved_goes_back() {
        let (from, to): (&[&[&str]], &[&[&str]]) = (&[&["a:5@1"], &["a:3@2"]], &[&[], &["b:2@1"]]);
        check_halves(&[(from, &["a:3@2"], &["a:5@3"]), (to, &["b:2@1"], &[])], &[]);
        check_halves(&[(from, &["a:3@2"], &["other-half"]), (to, &["b:1@2"], &["changed-since"])], &[]);
        check_halves(&[(from, &["a:4@3"], &["changed-since"]), (to, &["b:2@1"], &["other-half"])], &[]);
    }

    /// A row that moved and then ended has had its version there, too.
    #[test]
    fn no_row_has_a_version_twice() {
        let to: &[&[&str]] = &[&[], &["a:3@2"], &["a:2@3"], &[]];
        check_halves(&[(&[&["a:3@1"], &[]], &[], &["a:3@4"]), (to, &[], &["="])], &[]);
        let back: &[&[&str]] = &[&[], &["a:3@7"], &[]];
        check_halves(&[(back, &[], &["="]), (&[&["a:3@1"], &[], &["a:3@8"], &[]], &[], &["a:3@9"])], &[]);
    }
}
