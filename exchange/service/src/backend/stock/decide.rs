//! What stock ops come to: plain functions over what is known.
//!
//! How an op ends is arithmetic over what its lot holds. What is done to rows is booked after that, once
//! for each lot ([`book`]): how stock is booked never changes how an op ends, since re-marking and booking
//! out leave what is reserved where it is.

use std::collections::BTreeMap;

use exchange_api::reasons::Reason;

use super::super::change::{Decided, Extras, OpEnd, Touched, Writer};
use super::super::warehouse::{Lot, Offer, Row, held};
use super::Holding;
use super::book::book;
use super::removals::removals;
use crate::feed::Removal;

/// What an op wants, once the catalogue has had its say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) lot: Lot,
    pub(crate) quantity: i64,
    pub(crate) expected: i64,
    pub(crate) overrule: bool,
}

/// What is known of the lots that ops name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    /// Whether stock may be marked as stolen.
    pub(crate) marking: bool,
    pub(crate) lots: BTreeMap<Lot, Shelf>,
}

/// What is known of one lot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shelf {
    /// What the feed calls the lot, where that was looked up by: a hash, which is not made twice.
    pub(crate) key: Option<String>,
    /// The oldest first.
    pub(crate) rows: Vec<Row>,
    /// The last removal, when the lot is empty.
    pub(crate) gone: Option<Removal>,
    /// What it held before the client's first change within the guard's window, when there was one.
    pub(crate) base: Option<i64>,
    /// Whether it was counted as removed within the window: a lot counts once.
    pub(crate) counted: bool,
}

/// A lot on its way through the batch.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) before: Shelf,
    /// The rows as they are booked.
    pub(super) rows: Vec<Row>,
    /// What it holds after the ops so far.
    pub(super) holds: i64,
    /// The part that nobody may take: nothing in a batch changes it.
    reserved: i64,
    gone: Option<Removal>,
    overridden: bool,
    /// The first op that changed it.
    pub(super) first: Option<usize>,
}

impl State {
    fn of(shelf: Shelf) -> Self {
        Self {
            rows: shelf.rows.clone(),
            holds: held(&shelf.rows),
            reserved: shelf.rows.iter().map(|row| row.reserved).sum(),
            gone: shelf.gone.clone(),
            overridden: false,
            first: None,
            before: shelf,
        }
    }

    /// What the batch adds to it; below 0 for what it takes away.
    pub(super) fn change(&self) -> i64 {
        self.holds - held(&self.before.rows)
    }

    /// Whether anybody has to hear of it: its rows changed, or it was filled and is empty again, by this
    /// author now (STK-12).
    fn is_touched(&self) -> bool {
        self.rows != self.before.rows || (self.first.is_some() && self.rows.is_empty())
    }
}

/// Decides ops in order, each as if those before it had run (WRT-02), and books what they come to.
pub(crate) fn decide(known: Known, targets: &[Result<Wish, Reason>], writer: &Writer) -> Decided<Holding> {
    let Known { marking, lots } = known;
    let mut states: BTreeMap<Lot, State> =
        lots.into_iter().map(|(lot, shelf)| (lot, State::of(shelf))).collect();
    let end = |(at, target): (usize, &Result<Wish, Reason>)| match target {
        Err(reason) => OpEnd::Refused(reason.clone()),
        Ok(wish) => {
            let state = states.entry(wish.lot.clone()).or_insert_with(|| State::of(Shelf::default()));
            one(state, at, wish, marking, writer)
        }
    };
    let ends = targets.iter().enumerate().map(end).collect();
    book(&mut states, writer);
    let removed = removals(&states);
    let extras = offers(
        states.values().flat_map(|state| &state.before.rows),
        states.values().flat_map(|state| &state.rows),
    );
    let touched = states.iter().filter(|(_, state)| state.is_touched());
    let touched = touched.map(|(lot, state)| {
        let [before, after] = Holding::pair(lot, [&state.before.rows, &state.rows]);
        let (removal, overridden) = (removed.contains(lot), state.overridden);
        let key = state.before.key.clone().unwrap_or_else(|| lot.key());
        Touched { key, before, after, removal, overridden }
    });
    Decided { ends, touched: touched.collect(), extras, notices: Vec::new() }
}

/// Steps four to eight (STK-09 to STK-13); the first that fails ends it.
fn one(state: &mut State, at: usize, wish: &Wish, marking: bool, writer: &Writer) -> OpEnd {
    let Wish { lot, quantity, expected, overrule } = wish;
    // A43: what leaves nothing marked needs no marking.
    if lot.stolen && *quantity > 0 && !marking {
        return OpEnd::Refused(Reason::StolenMarkingDisabled);
    }
    // What the client can have seen: more than can be said is shown as the most that can.
    let seen = lot.measure.shown(state.holds);
    if seen != *expected {
        return OpEnd::Refused(Reason::VersionConflict);
    }
    if seen == *quantity {
        return OpEnd::Unchanged;
    }
    let elsewhere = state.holds == 0 && state.gone.as_ref().is_some_and(|gone| writer.must_ask(gone));
    if elsewhere && !overrule {
        return OpEnd::Refused(Reason::RemovedElsewhere);
    }
    if *quantity < state.reserved {
        return OpEnd::Refused(Reason::StockEarmarked);
    }
    state.overridden |= elsewhere;
    state.first.get_or_insert(at);
    state.holds = *quantity;
    let removal = || Removal { at: writer.now, by: writer.author.clone() };
    state.gone = (*quantity == 0).then(removal);
    OpEnd::Applied
}

/// Offers that promise less than before, and those that are gone (STK-17).
pub(super) fn offers<'r>(
    before: impl Iterator<Item = &'r Row>,
    after: impl Iterator<Item = &'r Row>,
) -> Extras {
    let after: BTreeMap<&str, i64> =
        after.filter_map(|row| row.offer.as_ref()).map(|offer| (&*offer.id, offer.amount)).collect();
    let (mut reduced, mut removed) = (0, 0);
    for Offer { id, amount } in before.filter_map(|row| row.offer.as_ref()) {
        match after.get(&**id) {
            None => removed += 1,
            Some(left) if left < amount => reduced += 1,
            Some(_) => {}
        }
    }
    Extras { offers_reduced: Some(reduced), offers_removed: Some(removed), ..Extras::default() }
}

#[cfg(test)]
mod tests;
