//! Reverts blueprints to an earlier state.

use rusqlite::Connection;

use super::super::change::{EntryDelta, WriteContext};
use super::super::undo::{EntryChange, RevertOutcome, UndoConflict, UndoableArea};
use super::decide::BlueprintState;
use super::{BlueprintArea, BlueprintTarget, HeldBlueprint, table};
use crate::ids::MemberId;
use crate::store::StoreError;

impl UndoableArea for BlueprintArea {
    type EntryHistory = EntryChange<HeldBlueprint>;
    type CurrentState = BlueprintState;

    fn fold_change(
        past: Option<EntryChange<HeldBlueprint>>,
        change: EntryChange<HeldBlueprint>,
    ) -> EntryChange<HeldBlueprint> {
        match past {
            Some(past) => EntryChange { before: past.before, after: change.after },
            None => change,
        }
    }

    fn history_delta(key: &str, past: &EntryChange<HeldBlueprint>) -> EntryDelta<HeldBlueprint> {
        entry_delta(key, past.before.clone(), past.after.clone())
    }

    fn load_current(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &EntryChange<HeldBlueprint>)],
    ) -> Result<BlueprintState, StoreError> {
        let targets: Vec<BlueprintTarget> =
            pasts.iter().map(|(key, _)| BlueprintTarget::Product((*key).to_owned())).collect();
        table::load_state(connection, member, &targets)
    }

    fn revert_entries(
        present: &BlueprintState,
        pasts: &[(&str, &EntryChange<HeldBlueprint>)],
        _: &WriteContext,
    ) -> RevertOutcome<HeldBlueprint> {
        let one = |(key, past): &(&str, &EntryChange<HeldBlueprint>)| {
            let current = present.products.get(*key).and_then(|product| product.held.clone());
            match current == past.after {
                false => Err(UndoConflict::ChangedSince(None)),
                true if current == past.before => Ok(None),
                true => Ok(Some(entry_delta(key, current, past.before.clone()))),
            }
        };
        let (extras, notices) = Default::default();
        RevertOutcome { results: pasts.iter().map(one).collect(), extras, notices }
    }
}

fn entry_delta(
    key: &str,
    before: Option<HeldBlueprint>,
    after: Option<HeldBlueprint>,
) -> EntryDelta<HeldBlueprint> {
    let removal = before.is_some() && after.is_none();
    EntryDelta { key: key.to_owned(), before, after, removal, overridden: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::blueprints::decide::ProductState;
    use crate::backend::undo::tests::writer;

    fn held(note: &str) -> Option<HeldBlueprint> {
        (note != "-").then(|| HeldBlueprint { note: Some(note.to_owned()), ..HeldBlueprint::default() })
    }

    #[test]
    fn changes_without_other_authors_are_reverted() {
        let check = |before: &str, after: &str, now: &str, expect: Result<Option<&str>, ()>| {
            let mut state = BlueprintState::default();
            state
                .products
                .insert("p".to_owned(), ProductState { held: held(now), ..ProductState::default() });
            let past = EntryChange { before: held(before), after: held(after) };
            let RevertOutcome { results: mut ends, .. } =
                BlueprintArea::revert_entries(&state, &[("p", &past)], &writer("m"));
            let end = ends.pop().expect("there is one result").map_err(|conflict| {
                assert_eq!(conflict, UndoConflict::ChangedSince(None));
            });
            let expect = expect.map(|after| after.map(|after| entry_delta("p", held(now), held(after))));
            assert_eq!(end, expect, "{before} {after} {now}");
        };
        check("-", "a", "a", Ok(Some("-")));
        check("a", "-", "-", Ok(Some("a")));
        check("a", "b", "b", Ok(Some("a")));
        check("a", "a", "a", Ok(None));
        check("-", "-", "-", Ok(None));
        check("a", "-", "a", Err(()));
        check("a", "b", "c", Err(()));
        check("-", "a", "-", Err(()));
    }
}
