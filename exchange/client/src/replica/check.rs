//! What every [`ReplicaStore`] must do, as a check that its own tests call.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a check that cannot go on fails"
)]

use dpop_bound::UnixTime;
use exchange_api::types::{Cursor, InstallationId};

use super::{CURSOR_FOR, Commit, Document, Forgotten, Outcome, OwnerNote, Removal, ReplicaStore, Row, Tally};
use crate::feed::{Area, Collection, Kept, Position, Reader, model};

/// Checks a store: every method on its own, and then plays. `open` gives an empty one, `reopen` the same as another
/// process finds it that starts after this one was killed.
pub fn store<S: ReplicaStore>(mut open: impl FnMut() -> S, reopen: impl Fn(S) -> S) {
    commits(&open());
    pools(&open());
    others(&reopen(open()));
    owners(&reopen(open()));
    for seed in 0..16 {
        model::play_seeded(open(), &reopen, seed, 200);
    }
}

/// A row with a body of its own.
#[must_use]
pub fn row(key: &str, unit: Option<&str>, details: Option<&str>) -> Row {
    let body = format!(r#"{{"key":"{key}"}}"#).into_bytes().into();
    Row {
        key: key.into(),
        unit: unit.map(Into::into),
        body,
        details: details.map(|text| text.as_bytes().into()),
    }
}

/// What is kept after so many commits.
#[must_use]
pub fn kept(sequence: u64, generation: u64, cursor: &str) -> Kept {
    let at = Some(UnixTime::from_secs(1_000 + sequence));
    let position = Position::Feed(Cursor::new(cursor).unwrap());
    Kept { sequence, generation, position, as_of: at, read_at: at, since: at, ..Kept::default() }
}

fn done(store: &impl ReplicaStore, commit: &Commit) -> Tally {
    match store.commit(commit).unwrap() {
        Outcome::Done(tally) => tally,
        Outcome::Superseded(kept) => panic!("{commit:?} is superseded by {kept:?}"),
    }
}

fn keys(store: &impl ReplicaStore, area: Area) -> Vec<String> {
    store.entries(area, None, usize::MAX).unwrap().into_iter().map(|row| row.key.into()).collect()
}

fn commits(store: &impl ReplicaStore) {
    let area = Area::Ships;
    assert_eq!(store.kept(area).unwrap(), Kept::default());
    let first = Commit {
        upserts: vec![row("b", None, None), row("a", None, None), row("c", None, None)],
        removals: vec![Removal { key: "x".into(), own: true }],
        ..Commit::of(area, 0, kept(1, 1, "one"))
    };
    assert_eq!(done(store, &first), Tally::default());
    assert_eq!(store.kept(area).unwrap(), first.kept);
    assert_eq!(keys(store, area), ["a", "b", "c"]);
    assert_eq!(keys(store, Area::Stock), [""; 0]);
    assert_eq!(store.entry(area, "b").unwrap(), Some(row("b", None, None)));
    assert_eq!(store.entry(Area::Stock, "b").unwrap(), None);
    let page = store.entries(area, Some("a"), 1).unwrap();
    assert_eq!(page, [row("b", None, None)]);
    assert_eq!(store.count(area).unwrap(), 3);
    assert_eq!(store.removal(area, "x").unwrap(), Some(Removal { key: "x".into(), own: true }));

    // Who comes too late changes nothing.
    assert_eq!(store.commit(&first).unwrap(), Outcome::Superseded(first.kept.clone()));

    // A newer entry in the place of the older, a removal of what is there and of what is not.
    let newer = Row { body: (*b"{}").into(), ..row("a", None, None) };
    let second = Commit {
        upserts: vec![newer.clone(), row("x", None, None)],
        removals: ["b", "never"].map(|key| Removal { key: key.into(), own: false }).into(),
        ..Commit::of(area, 1, kept(2, 2, "two"))
    };
    assert_eq!(done(store, &second), Tally::default());
    assert_eq!(store.entry(area, "a").unwrap(), Some(newer));
    assert_eq!(keys(store, area), ["a", "c", "x"]);
    assert_eq!(store.removal(area, "x").unwrap(), None, "it came back");
    assert_eq!(store.removal(area, "b").unwrap(), Some(Removal { key: "b".into(), own: false }));

    // What was not seen since goes; what is known of removals goes with the age of tombstones.
    let mut later = kept(3, 2, "three");
    later.read_at = later.read_at.map(|at| at + CURSOR_FOR);
    let sweep = Commit { sweep: true, ..Commit::of(area, 2, later) };
    assert_eq!(done(store, &sweep), Tally::new(vec!["c".into()], Vec::new()));
    assert_eq!(keys(store, area), ["a", "x"]);
    assert_eq!(store.removal(area, "b").unwrap(), None);

    // What was merged, and not what is there by now.
    let merged = row("a", None, Some("[\"merged\"]"));
    store.agree(area, &[merged.clone(), row("x", None, None)], &["gone"]).unwrap();
    assert_eq!(store.agreed(area, "a").unwrap(), Some(merged));
    let clear = Commit {
        clear: true,
        upserts: vec![row("x", None, None)],
        ..Commit::of(area, 3, kept(4, 3, "four"))
    };
    assert_eq!(done(store, &clear), Tally::new(vec!["a".into()], Vec::new()));
    assert_eq!((keys(store, area), store.agreed(area, "a").unwrap()), (vec!["x".into()], None));
    store.agree(area, &[row("x", None, None)], &[]).unwrap();
    let gone = Commit {
        removals: vec![Removal { key: "x".into(), own: false }],
        ..Commit::of(area, 4, kept(5, 3, "five"))
    };
    done(store, &gone);
    assert!(store.agreed(area, "x").unwrap().is_some(), "what was agreed on outlives the entry");
    store.agree(area, &[], &["x"]).unwrap();
    assert_eq!(store.agreed(area, "x").unwrap(), None);
}

/// OST-05, OST-10.
fn pools(store: &impl ReplicaStore) {
    let area = Area::OrgStock;
    let rows =
        vec![row("1", Some("a"), Some("[1]")), row("2", Some("b"), None), row("3", Some("c"), Some("[3]"))];
    let units = Some(["a", "b"].map(Into::into).into());
    let first = Commit { upserts: rows, units, ..Commit::of(area, 0, kept(1, 1, "one")) };
    assert_eq!(done(store, &first).gone, ["3".into()]);
    assert_eq!(keys(store, area), ["1", "2"]);
    assert_eq!(store.entry(area, "1").unwrap(), Some(row("1", Some("a"), Some("[1]"))));
    let strip = Commit { strip: true, ..Commit::of(area, 1, kept(2, 1, "one")) };
    assert_eq!(done(store, &strip), Tally::new(Vec::new(), vec!["1".into()]));
    assert_eq!(store.entry(area, "1").unwrap(), Some(row("1", Some("a"), None)));
    let left = Commit { units: Some(vec!["b".into()]), ..Commit::of(area, 2, kept(3, 1, "two")) };
    assert_eq!(done(store, &left).gone, ["1".into()]);
    let left = Commit { units: Some(Vec::new()), ..Commit::of(area, 3, kept(4, 1, "three")) };
    assert_eq!(done(store, &left).gone, ["2".into()]);
}

fn others(store: &impl ReplicaStore) {
    assert_eq!(store.demand().unwrap(), None);
    let document = |at, body: &str| Document { at: UnixTime::from_secs(at), body: body.as_bytes().into() };
    let one = InstallationId::new("one").unwrap();
    note_owner(store, Area::OrgStock, &one);
    assert!(store.keep_demand(&document(1, "old"), &one).unwrap());
    assert!(store.keep_demand(&document(2, "new"), &one).unwrap());
    assert_eq!(store.demand().unwrap(), Some(document(2, "new")));
    assert_eq!(store.demand_asked_at().unwrap(), None);
    for at in [3, 2] {
        store.note_demand_asked(UnixTime::from_secs(at)).unwrap();
        assert_eq!(store.demand_asked_at().unwrap(), Some(UnixTime::from_secs(at)));
    }
    assert_eq!(store.demand().unwrap(), Some(document(2, "new")));
    for area in [Area::Stock, Area::OrgStock] {
        let removals = vec![Removal { key: "y".into(), own: true }];
        let upserts = vec![row("1", Some("a"), None), row("2", Some("a"), None)];
        let before = store.kept(area).unwrap().sequence;
        let kept = Kept { sequence: before + 1, ..kept(1, 1, "one") };
        done(store, &Commit { upserts, removals, ..Commit::of(area, before, kept) });
        if area == Area::Stock {
            store.agree(area, &[row("1", Some("a"), None)], &[]).unwrap();
        }
    }
    let forgotten = |collection, entries| Forgotten { collection, entries };
    let [stock, pools] = [Area::Stock, Area::OrgStock].map(Collection::Area);
    let told = store.forget(&[pools, Collection::Demand], OwnerNote::Goes).unwrap();
    assert_eq!(told, [forgotten(pools, 2), forgotten(Collection::Demand, 1)]);
    assert_eq!((keys(store, Area::OrgStock).len(), store.demand().unwrap()), (0, None));
    assert_eq!(store.demand_asked_at().unwrap(), None);
    assert_eq!(store.kept(Area::OrgStock).unwrap().position, Position::Start);
    assert_eq!(store.kept(Area::OrgStock).unwrap().since, None);
    // A page that was read before may not come back after it.
    let late = Commit {
        upserts: vec![row("1", Some("a"), None)],
        ..Commit::of(Area::OrgStock, 2, kept(3, 1, "two"))
    };
    assert!(matches!(store.commit(&late).unwrap(), Outcome::Superseded(_)));
    // Not even where there was nothing to be forgotten yet.
    store.forget(&[Collection::Area(Area::Ships)], OwnerNote::Goes).unwrap();
    let late = Commit { area: Area::Ships, ..Commit { expects: 0, ..late } };
    assert!(matches!(store.commit(&late).unwrap(), Outcome::Superseded(_)));
    assert_eq!(keys(store, Area::Stock), ["1", "2"]);
    let told = store.forget(&[stock, pools], OwnerNote::Goes).unwrap();
    assert_eq!(told, [forgotten(stock, 2), forgotten(pools, 0)]);
    assert_eq!(store.removal(Area::Stock, "y").unwrap(), None);
    assert_eq!(store.agreed(Area::Stock, "1").unwrap(), None);
    store.settle(UnixTime::from_secs(1_000)).unwrap();
}

/// Notes whose an area is, as the beginning of a session does.
fn note_owner(store: &impl ReplicaStore, area: Area, installation: &InstallationId) {
    let mut kept = store.kept(area).unwrap();
    kept.sequence += 1;
    kept.reader.installation = Some(installation.clone());
    done(store, &Commit::of(area, kept.sequence - 1, kept));
}

/// OST-14, DEM-10: age and the end of a connection differ in whose an area is afterwards, and demand is kept for whose org
/// stock is, for nobody else.
fn owners(store: &impl ReplicaStore) {
    let [one, two] = ["one", "two"].map(|id| InstallationId::new(id).unwrap());
    let owner = |area| store.kept(area).unwrap().reader.installation;
    let demand = Document { at: UnixTime::from_secs(1), body: (*b"{}").into() };
    assert!(!store.keep_demand(&demand, &one).unwrap(), "nobody reads here");
    for area in Area::ALL {
        note_owner(store, area, &one);
    }
    assert!(store.keep_demand(&demand, &one).unwrap());
    store.forget(&Collection::ALL, OwnerNote::Stays).unwrap();
    for area in Area::ALL {
        assert_eq!(owner(area), Some(one.clone()));
        assert_eq!(
            store.kept(area).unwrap().reader,
            Reader { installation: Some(one.clone()), ..Reader::default() }
        );
    }
    note_owner(store, Area::OrgStock, &two);
    assert!(!store.keep_demand(&demand, &one).unwrap(), "somebody else took over");
    assert_eq!(store.demand().unwrap(), None);
    assert!(store.keep_demand(&demand, &two).unwrap());
    store.forget(&Collection::ALL, OwnerNote::Goes).unwrap();
    assert!(Area::ALL.into_iter().all(|area| owner(area).is_none()));
    assert!(!store.keep_demand(&demand, &two).unwrap());
}
