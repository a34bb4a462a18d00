//! Conformance checks for implementations of [`ReplicaStore`].

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a panic is a check failure"
)]

use dpop_bound::UnixTime;
use exchange_api::types::{Cursor, InstallationId};

use super::{
    AreaCommit, CURSOR_LIFETIME, CommitOutcome, CommitTally, DemandDocument, ForgottenCollection, OwnerNote,
    RemovalRecord, ReplicaRow, ReplicaStore,
};
use crate::feed::{Area, AreaState, Collection, FeedPosition, FeedReader, model};

/// Checks a store: each method, and random runs against a model. `open` returns an empty store. `reopen`
/// returns the store in the state in which a new process finds it after this one was killed.
pub fn check_store<S: ReplicaStore>(mut open: impl FnMut() -> S, reopen: impl Fn(S) -> S) {
    check_commits(&open());
    check_pools(&open());
    check_demand_and_forgetting(&reopen(open()));
    check_owners(&reopen(open()));
    for seed in 0..16 {
        model::run_seeded(open(), &reopen, seed, 200);
    }
}

/// Returns a test row with a body that contains its key.
#[must_use]
pub fn test_row(key: &str, unit: Option<&str>, details: Option<&str>) -> ReplicaRow {
    let body = format!(r#"{{"key":"{key}"}}"#).into_bytes().into();
    ReplicaRow {
        key: key.into(),
        unit: unit.map(Into::into),
        body,
        details: details.map(|text| text.as_bytes().into()),
    }
}

/// Returns the area state after `sequence` commits.
#[must_use]
pub fn test_area_state(sequence: u64, generation: u64, cursor: &str) -> AreaState {
    let at = Some(UnixTime::from_secs(1_000 + sequence));
    let position = FeedPosition::Feed(Cursor::new(cursor).unwrap());
    AreaState { sequence, generation, position, as_of: at, read_at: at, since: at, ..AreaState::default() }
}

fn commit_done(store: &impl ReplicaStore, commit: &AreaCommit) -> CommitTally {
    match store.commit(commit).unwrap() {
        CommitOutcome::Done(tally) => tally,
        CommitOutcome::Superseded(area_state) => panic!("{commit:?} is superseded by {area_state:?}"),
    }
}

fn list_keys(store: &impl ReplicaStore, area: Area) -> Vec<String> {
    store.entries(area, None, usize::MAX).unwrap().into_iter().map(|row| row.key.into()).collect()
}

fn check_commits(store: &impl ReplicaStore) {
    let area = Area::Ships;
    assert_eq!(store.area_state(area).unwrap(), AreaState::default());
    let first = AreaCommit {
        upserts: vec![test_row("b", None, None), test_row("a", None, None), test_row("c", None, None)],
        removals: vec![RemovalRecord { key: "x".into(), is_own: true }],
        ..AreaCommit::new(area, 0, test_area_state(1, 1, "one"))
    };
    assert_eq!(commit_done(store, &first), CommitTally::default());
    assert_eq!(store.area_state(area).unwrap(), first.area_state);
    assert_eq!(list_keys(store, area), ["a", "b", "c"]);
    assert_eq!(list_keys(store, Area::Stock), [""; 0]);
    assert_eq!(store.entry(area, "b").unwrap(), Some(test_row("b", None, None)));
    assert_eq!(store.entry(Area::Stock, "b").unwrap(), None);
    let page = store.entries(area, Some("a"), 1).unwrap();
    assert_eq!(page, [test_row("b", None, None)]);
    assert_eq!(store.count(area).unwrap(), 3);
    assert_eq!(store.removal(area, "x").unwrap(), Some(RemovalRecord { key: "x".into(), is_own: true }));

    // A commit with an outdated sequence changes nothing.
    assert_eq!(store.commit(&first).unwrap(), CommitOutcome::Superseded(first.area_state.clone()));

    // This commit replaces an entry, and removes an existing key and an unknown one.
    let newer = ReplicaRow { body: (*b"{}").into(), ..test_row("a", None, None) };
    let second = AreaCommit {
        upserts: vec![newer.clone(), test_row("x", None, None)],
        removals: ["b", "never"].map(|key| RemovalRecord { key: key.into(), is_own: false }).into(),
        ..AreaCommit::new(area, 1, test_area_state(2, 2, "two"))
    };
    assert_eq!(commit_done(store, &second), CommitTally::default());
    assert_eq!(store.entry(area, "a").unwrap(), Some(newer));
    assert_eq!(list_keys(store, area), ["a", "c", "x"]);
    assert_eq!(store.removal(area, "x").unwrap(), None, "the entry was inserted again");
    assert_eq!(store.removal(area, "b").unwrap(), Some(RemovalRecord { key: "b".into(), is_own: false }));

    // Entries that the snapshot does not contain are swept. Recorded removals are deleted when their
    // tombstones have expired.
    let mut later = test_area_state(3, 2, "three");
    later.read_at = later.read_at.map(|at| at + CURSOR_LIFETIME);
    let sweep = AreaCommit { sweep: true, ..AreaCommit::new(area, 2, later) };
    assert_eq!(commit_done(store, &sweep), CommitTally::new(vec!["c".into()], Vec::new()));
    assert_eq!(list_keys(store, area), ["a", "x"]);
    assert_eq!(store.removal(area, "b").unwrap(), None);

    // The baseline is the merged version, which may differ from the current entry.
    let merged = test_row("a", None, Some("[\"merged\"]"));
    store.set_baseline(area, &[merged.clone(), test_row("x", None, None)], &["gone"]).unwrap();
    assert_eq!(store.baseline(area, "a").unwrap(), Some(merged));
    let clear = AreaCommit {
        clear: true,
        upserts: vec![test_row("x", None, None)],
        ..AreaCommit::new(area, 3, test_area_state(4, 3, "four"))
    };
    assert_eq!(commit_done(store, &clear), CommitTally::new(vec!["a".into()], Vec::new()));
    assert_eq!((list_keys(store, area), store.baseline(area, "a").unwrap()), (vec!["x".into()], None));
    store.set_baseline(area, &[test_row("x", None, None)], &[]).unwrap();
    let gone = AreaCommit {
        removals: vec![RemovalRecord { key: "x".into(), is_own: false }],
        ..AreaCommit::new(area, 4, test_area_state(5, 3, "five"))
    };
    commit_done(store, &gone);
    assert!(store.baseline(area, "x").unwrap().is_some(), "a baseline outlives its entry");
    store.set_baseline(area, &[], &["x"]).unwrap();
    assert_eq!(store.baseline(area, "x").unwrap(), None);
}

/// OST-05, OST-10: a commit can delete the details of all entries, and the entries of units that are no
/// longer listed.
fn check_pools(store: &impl ReplicaStore) {
    let area = Area::OrgStock;
    let rows = vec![
        test_row("1", Some("a"), Some("[1]")),
        test_row("2", Some("b"), None),
        test_row("3", Some("c"), Some("[3]")),
    ];
    let units = Some(["a", "b"].map(Into::into).into());
    let first = AreaCommit { upserts: rows, units, ..AreaCommit::new(area, 0, test_area_state(1, 1, "one")) };
    assert_eq!(commit_done(store, &first).gone, ["3".into()]);
    assert_eq!(list_keys(store, area), ["1", "2"]);
    assert_eq!(store.entry(area, "1").unwrap(), Some(test_row("1", Some("a"), Some("[1]"))));
    let strip = AreaCommit { strip: true, ..AreaCommit::new(area, 1, test_area_state(2, 1, "one")) };
    assert_eq!(commit_done(store, &strip), CommitTally::new(Vec::new(), vec!["1".into()]));
    assert_eq!(store.entry(area, "1").unwrap(), Some(test_row("1", Some("a"), None)));
    let left = AreaCommit {
        units: Some(vec!["b".into()]),
        ..AreaCommit::new(area, 2, test_area_state(3, 1, "two"))
    };
    assert_eq!(commit_done(store, &left).gone, ["1".into()]);
    let left =
        AreaCommit { units: Some(Vec::new()), ..AreaCommit::new(area, 3, test_area_state(4, 1, "three")) };
    assert_eq!(commit_done(store, &left).gone, ["2".into()]);
}

fn check_demand_and_forgetting(store: &impl ReplicaStore) {
    assert_eq!(store.demand().unwrap(), None);
    let document =
        |at, body: &str| DemandDocument { at: UnixTime::from_secs(at), body: body.as_bytes().into() };
    let one = InstallationId::new("one").unwrap();
    note_owner(store, Area::OrgStock, &one);
    assert!(store.store_demand(&document(1, "old"), &one).unwrap());
    assert!(store.store_demand(&document(2, "new"), &one).unwrap());
    assert_eq!(store.demand().unwrap(), Some(document(2, "new")));
    assert_eq!(store.demand_requested_at().unwrap(), None);
    for at in [3, 2] {
        store.note_demand_request(UnixTime::from_secs(at)).unwrap();
        assert_eq!(store.demand_requested_at().unwrap(), Some(UnixTime::from_secs(at)));
    }
    assert_eq!(store.demand().unwrap(), Some(document(2, "new")));
    for area in [Area::Stock, Area::OrgStock] {
        let removals = vec![RemovalRecord { key: "y".into(), is_own: true }];
        let upserts = vec![test_row("1", Some("a"), None), test_row("2", Some("a"), None)];
        let before = store.area_state(area).unwrap().sequence;
        let area_state = AreaState { sequence: before + 1, ..test_area_state(1, 1, "one") };
        commit_done(store, &AreaCommit { upserts, removals, ..AreaCommit::new(area, before, area_state) });
        if area == Area::Stock {
            store.set_baseline(area, &[test_row("1", Some("a"), None)], &[]).unwrap();
        }
    }
    let forgotten = |collection, entries| ForgottenCollection { collection, entries };
    let [stock, pools] = [Area::Stock, Area::OrgStock].map(Collection::Area);
    let deleted = store.forget(&[pools, Collection::Demand], OwnerNote::Remove).unwrap();
    assert_eq!(deleted, [forgotten(pools, 2), forgotten(Collection::Demand, 1)]);
    assert_eq!((list_keys(store, Area::OrgStock).len(), store.demand().unwrap()), (0, None));
    assert_eq!(store.demand_requested_at().unwrap(), None);
    assert_eq!(store.area_state(Area::OrgStock).unwrap().position, FeedPosition::Start);
    assert_eq!(store.area_state(Area::OrgStock).unwrap().since, None);
    // A page that was read before the deletion must not restore the data.
    let late = AreaCommit {
        upserts: vec![test_row("1", Some("a"), None)],
        ..AreaCommit::new(Area::OrgStock, 2, test_area_state(3, 1, "two"))
    };
    assert!(matches!(store.commit(&late).unwrap(), CommitOutcome::Superseded(_)));
    // The same holds for an area that had no data before.
    store.forget(&[Collection::Area(Area::Ships)], OwnerNote::Remove).unwrap();
    let late = AreaCommit { area: Area::Ships, ..AreaCommit { expected_sequence: 0, ..late } };
    assert!(matches!(store.commit(&late).unwrap(), CommitOutcome::Superseded(_)));
    assert_eq!(list_keys(store, Area::Stock), ["1", "2"]);
    let deleted = store.forget(&[stock, pools], OwnerNote::Remove).unwrap();
    assert_eq!(deleted, [forgotten(stock, 2), forgotten(pools, 0)]);
    assert_eq!(store.removal(Area::Stock, "y").unwrap(), None);
    assert_eq!(store.baseline(Area::Stock, "1").unwrap(), None);
    store.purge_removed(UnixTime::from_secs(1_000)).unwrap();
}

/// Records the owner of an area, as the beginning of a session does.
fn note_owner(store: &impl ReplicaStore, area: Area, installation: &InstallationId) {
    let mut area_state = store.area_state(area).unwrap();
    area_state.sequence += 1;
    area_state.reader.installation = Some(installation.clone());
    commit_done(store, &AreaCommit::new(area, area_state.sequence - 1, area_state));
}

/// OST-14, DEM-10: expiry keeps the owner of an area, and a disconnection removes it. Demand is stored only
/// for the owner of org stock.
fn check_owners(store: &impl ReplicaStore) {
    let [one, two] = ["one", "two"].map(|id| InstallationId::new(id).unwrap());
    let owner = |area| store.area_state(area).unwrap().reader.installation;
    let demand = DemandDocument { at: UnixTime::from_secs(1), body: (*b"{}").into() };
    assert!(!store.store_demand(&demand, &one).unwrap(), "the area has no owner");
    for area in Area::ALL {
        note_owner(store, area, &one);
    }
    assert!(store.store_demand(&demand, &one).unwrap());
    store.forget(&Collection::ALL, OwnerNote::Keep).unwrap();
    for area in Area::ALL {
        assert_eq!(owner(area), Some(one.clone()));
        assert_eq!(
            store.area_state(area).unwrap().reader,
            FeedReader { installation: Some(one.clone()), ..FeedReader::default() }
        );
    }
    note_owner(store, Area::OrgStock, &two);
    assert!(!store.store_demand(&demand, &one).unwrap(), "the area has another owner");
    assert_eq!(store.demand().unwrap(), None);
    assert!(store.store_demand(&demand, &two).unwrap());
    store.forget(&Collection::ALL, OwnerNote::Remove).unwrap();
    assert!(Area::ALL.into_iter().all(|area| owner(area).is_none()));
    assert!(!store.store_demand(&demand, &two).unwrap());
}
