//! Blueprints set back: what is held is as it was, or stays.

use rusqlite::Connection;

use super::super::change::{Touched, Writer};
use super::super::undo::{Change, Hindrance, Restore, SetBack};
use super::decide::Known;
use super::{Blueprints, Held, Target, table};
use crate::ids::MemberId;
use crate::store::StoreError;

impl Restore for Blueprints {
    type Past = Change<Held>;
    type Present = Known;

    fn follow(past: Option<Change<Held>>, change: Change<Held>) -> Change<Held> {
        match past {
            Some(past) => Change { before: past.before, after: change.after },
            None => change,
        }
    }

    fn faded(key: &str, past: &Change<Held>) -> Touched<Held> {
        touched(key, past.before.clone(), past.after.clone())
    }

    fn present(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &Change<Held>)],
    ) -> Result<Known, StoreError> {
        let targets: Vec<Target> = pasts.iter().map(|(key, _)| Target::Product((*key).to_owned())).collect();
        table::known(connection, member, &targets)
    }

    fn set_back(present: &Known, pasts: &[(&str, &Change<Held>)], _: &Writer) -> SetBack<Held> {
        let one = |(key, past): &(&str, &Change<Held>)| {
            let held = present.products.get(*key).and_then(|product| product.held.clone());
            match held == past.after {
                false => Err(Hindrance::ChangedSince(None)),
                true if held == past.before => Ok(None),
                true => Ok(Some(touched(key, held, past.before.clone()))),
            }
        };
        let (extras, notices) = Default::default();
        SetBack { ends: pasts.iter().map(one).collect(), extras, notices }
    }
}

fn touched(key: &str, before: Option<Held>, after: Option<Held>) -> Touched<Held> {
    let removal = before.is_some() && after.is_none();
    Touched { key: key.to_owned(), before, after, removal, overridden: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::blueprints::decide::Product;
    use crate::backend::undo::tests::writer;

    fn held(note: &str) -> Option<Held> {
        (note != "-").then(|| Held { note: Some(note.to_owned()), ..Held::default() })
    }

    #[test]
    fn what_nobody_else_changed_is_set_back() {
        let check = |before: &str, after: &str, now: &str, expect: Result<Option<&str>, ()>| {
            let mut known = Known::default();
            known.products.insert("p".to_owned(), Product { held: held(now), ..Product::default() });
            let past = Change { before: held(before), after: held(after) };
            let SetBack { mut ends, .. } = Blueprints::set_back(&known, &[("p", &past)], &writer("m"));
            let end = ends.pop().expect("one").map_err(|hindrance| {
                assert_eq!(hindrance, Hindrance::ChangedSince(None));
            });
            let expect = expect.map(|after| after.map(|after| touched("p", held(now), held(after))));
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
