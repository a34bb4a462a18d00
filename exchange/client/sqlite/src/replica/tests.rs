//! Tests of the replica in files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use exchange_client::{
    Replica, UnixTime,
    api::types::OrgStockLot,
    feed::model::{self, ExchangeModel},
    replica::{MAX_ORGANISATION_AGE, check},
};

use super::*;

fn open(folder: &tempfile::TempDir) -> SqliteReplica {
    SqliteReplica::open(folder.path()).unwrap()
}

/// A store with its temporary folder, which is deleted with it.
#[derive(Debug)]
struct TestReplica(SqliteReplica, tempfile::TempDir);

macro_rules! delegated {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl ReplicaStore for TestReplica {
            $(fn $name(&self, $($argument: $type),*) -> Result<$answer, Error> { self.0.$name($($argument),*) })*
        }
    };
}

delegated! {
    area_state(area: Area) -> exchange_client::feed::AreaState;
    commit(commit: &AreaCommit) -> CommitOutcome;
    entry(area: Area, key: &str) -> Option<ReplicaRow>;
    entries(area: Area, after: Option<&str>, most: usize) -> Vec<ReplicaRow>;
    count(area: Area) -> u64;
    removal(area: Area, key: &str) -> Option<RemovalRecord>;
    set_baseline(area: Area, entries: &[ReplicaRow], gone: &[&str]) -> ();
    baseline(area: Area, key: &str) -> Option<ReplicaRow>;
    demand() -> Option<DemandDocument>;
    store_demand(demand: &DemandDocument, reader: &InstallationId) -> bool;
    demand_requested_at() -> Option<UnixTime>;
    note_demand_request(at: UnixTime) -> ();
    forget(collections: &[Collection], owner: OwnerNote) -> Vec<ForgottenCollection>;
    purge_removed(now: UnixTime) -> ();
}

/// OST-14: if the member's own file fails, organization data is deleted nevertheless.
#[test]
fn org_data_is_deleted_even_if_own_file_fails() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let mut commit = AreaCommit::new(Area::OrgStock, 0, check::test_area_state(1, 1, "one"));
    commit.upserts.push(check::test_row("1", Some("a"), None));
    let reader: InstallationId = "i-1".parse().unwrap();
    commit.area_state.reader.installation = Some(reader.clone());
    store.commit(&commit).unwrap();
    let demand = DemandDocument { at: UnixTime::from_secs(1), body: (*b"{}").into() };
    assert!(store.store_demand(&demand, &reader).unwrap());
    rusqlite::Connection::open(folder.path().join("replica.db"))
        .unwrap()
        .execute_batch("DROP TABLE entry")
        .unwrap();

    assert!(store.forget(&Collection::ALL, OwnerNote::Remove).is_err());
    assert_eq!(store.count(Area::OrgStock).unwrap(), 0);
    assert!(store.demand().unwrap().is_none());
}

/// OST-14: expired data is deleted even if the member's own file belongs to a newer version, and that file is
/// left unchanged.
#[test]
fn org_data_expires_beside_a_newer_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let mut commit = AreaCommit::new(Area::OrgStock, 0, check::test_area_state(1, 1, "one"));
    commit.upserts.push(check::test_row("1", Some("a"), None));
    store.commit(&commit).unwrap();
    drop(store);
    let member_file = folder.path().join("replica.db");
    rusqlite::Connection::open(&member_file).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let read = commit.area_state.since.unwrap();
    for (now, left) in [(read, 1), (read + MAX_ORGANISATION_AGE, 0)] {
        let error = SqliteReplica::expire(folder.path(), now).unwrap_err();
        assert!(error.to_string().contains("newer version"), "{error}");
        let organisation = rusqlite::Connection::open(folder.path().join("organisation.db")).unwrap();
        let count = organisation.query_row("SELECT count(*) FROM entry", [], |row| row.get::<_, i64>(0));
        assert_eq!(count.unwrap(), left);
    }
    assert!(SqliteReplica::open(folder.path()).is_err());
    fs::remove_file(member_file).unwrap();
    assert_eq!(SqliteReplica::expire(folder.path(), read).unwrap(), []);
}

/// The store passes the conformance checks, which include restarts of the program.
#[test]
fn store_passes_conformance_checks() {
    let folder = || tempfile::tempdir().unwrap();
    let opened = |folder: tempfile::TempDir| TestReplica(open(&folder), folder);
    check::check_store(
        || opened(folder()),
        |TestReplica(store, folder)| {
            drop(store);
            opened(folder)
        },
    );
}

/// OST-14, DEM-10, LIM-38: after 7 days, the bytes are erased from all files, both at the start of a program
/// and while it runs.
#[test]
fn org_data_is_erased_after_seven_days() {
    let folder = tempfile::tempdir().unwrap();
    let found = |what: &[u8]| {
        let files = fs::read_dir(folder.path()).unwrap();
        let bytes = files.map(|file| fs::read(file.unwrap().path()).unwrap());
        bytes.map(|bytes| bytes.windows(what.len()).filter(|part| *part == what).count()).sum::<usize>()
    };
    let replica = Replica::new(open(&folder));
    let mut pools = ExchangeModel::new(Area::OrgStock);
    let mut ships = ExchangeModel::new(Area::Ships);
    for at in 0..300 {
        pools.put(&format!("a-geheim-{at}"), at);
        ships.put(&format!("ship-{at}"), at);
    }
    model::read_all::<OrgStockLot>(&replica, &mut pools, 100);
    model::read_all::<exchange_client::api::types::Ship>(&replica, &mut ships, 100);
    for at in 0..300 {
        pools.put(&format!("a-geheim-{at}"), at + 1);
    }
    model::read_all::<OrgStockLot>(&replica, &mut pools, 100);
    let read = UnixTime::from_secs(1_000);
    let document = DemandDocument { at: read, body: (*b"{\"demand\":\"geheim\"}").into() };
    let reader = replica.store().area_state(Area::OrgStock).unwrap().reader.installation.unwrap();
    assert!(replica.store().store_demand(&document, &reader).unwrap());
    assert!(found(b"geheim") > 600);

    // A different process is started 7 days later.
    let later = Replica::new(open(&folder));
    let deleted = later.expire(read + MAX_ORGANISATION_AGE).unwrap();
    assert_eq!(deleted.iter().map(|gone| gone.entries).collect::<Vec<_>>(), [300, 1]);
    assert_eq!(found(b"geheim"), 0);
    assert_eq!((replica.count(Area::OrgStock).unwrap(), replica.count(Area::Ships).unwrap()), (0, 300));

    // CLI-06: a disconnection deletes the other data.
    assert!(found(b"ship-") > 0);
    replica.forget().unwrap();
    assert_eq!(found(b"ship-"), 0);
}

/// OST-14: entries that a tombstone removed are erased from the write-ahead log by a timer.
#[test]
fn entries_removed_by_the_feed_are_erased_by_timer() {
    let folder = tempfile::tempdir().unwrap();
    let replica = Replica::new(open(&folder));
    let mut pools = ExchangeModel::new(Area::OrgStock);
    pools.put("a-geheim", 1);
    model::read_all::<OrgStockLot>(&replica, &mut pools, 100);
    pools.toggle_unit('a');
    model::read_all::<OrgStockLot>(&replica, &mut pools, 100);
    assert_eq!(replica.expire(UnixTime::from_secs(1_000)).unwrap(), []);
    for file in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"geheim"));
    }
}

/// OST-05, OST-14: copies that SQLite leaves when it moves rows between pages are erased as well: a day after
/// entries were removed, and immediately if the member can no longer see their unit.
#[test]
fn copies_left_by_page_moves_are_erased() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let secret = |at: usize, round: usize| format!("geheim-{at:03}-{round:02}");
    let found = || {
        let mut found = BTreeSet::new();
        for file in fs::read_dir(folder.path()).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            let secrets = bytes.windows(13).filter(|part| part.starts_with(b"geheim-"));
            found.extend(secrets.map(|secret| String::from_utf8_lossy(secret).into_owned()));
        }
        found
    };
    let (mut live, mut sequence, mut random) = (BTreeMap::new(), 0, 1_usize);
    let mut commit = |change: &dyn Fn(&mut AreaCommit)| {
        let mut commit =
            AreaCommit::new(Area::OrgStock, sequence, check::test_area_state(sequence + 1, 1, "here"));
        change(&mut commit);
        assert!(matches!(store.commit(&commit), Ok(CommitOutcome::Done(_))));
        sequence += 1;
    };
    for round in 0..40 {
        let (mut upserts, mut removals) = (Vec::new(), Vec::new());
        for at in 0..400 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let row = check::test_row(&format!("{at:03}"), Some("mine"), None);
            match random >> 60 {
                0..4 if live.remove(&at).is_some() => {
                    removals.push(RemovalRecord { key: row.key, is_own: false })
                }
                0..8 => {
                    live.insert(at, secret(at, round));
                    let body = secret(at, round) + &"x".repeat((random >> 40) % 900);
                    upserts.push(ReplicaRow { body: body.into_bytes().into(), ..row });
                }
                _ => {}
            }
        }
        commit(&|commit| (commit.upserts, commit.removals) = (upserts.clone(), removals.clone()));
    }
    let live: BTreeSet<_> = live.into_values().collect();
    let read = UnixTime::from_secs(2_000);
    store.purge_removed(read).unwrap();
    assert!(
        found().is_superset(&live) && found() != live,
        "SQLite left no copies, so this test shows nothing"
    );
    store.purge_removed(read + Duration::from_secs(2 * 86_400)).unwrap();
    assert_eq!(found(), live);

    commit(&|commit| commit.units = Some(Vec::new()));
    store.purge_removed(read).unwrap();
    assert_eq!(found(), BTreeSet::new());
}

/// OST-14, DEM-10, LIM-38: data may be replaced shortly before it is seven days old. Its copies are then
/// erased before that age, and not a day after the replacement as usual.
#[test]
fn copies_of_late_replacements_are_erased_in_time() {
    const HOUR: Duration = Duration::from_secs(3600);
    for of_demand in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder);
        let found = || {
            let mut files = fs::read_dir(folder.path()).unwrap();
            files.any(|file| fs::read(file.unwrap().path()).unwrap().windows(6).any(|part| part == b"geheim"))
        };
        let reader: InstallationId = "i-1".parse().unwrap();
        let mut first = AreaCommit::new(Area::OrgStock, 0, check::test_area_state(1, 1, "one"));
        first.upserts.push(check::test_row("1", Some("a"), None));
        first.area_state.reader.installation = Some(reader.clone());
        store.commit(&first).unwrap();
        let read = first.area_state.since.unwrap();
        let demand = |at| DemandDocument { at, body: (*b"{}").into() };
        assert!(store.store_demand(&demand(read), &reader).unwrap());
        store.purge_removed(read + 48 * HOUR).unwrap();

        let late = read + (MAX_ORGANISATION_AGE - 3 * HOUR);
        if of_demand {
            assert!(store.store_demand(&demand(late), &reader).unwrap());
        } else {
            let mut second = AreaCommit::new(Area::OrgStock, 1, check::test_area_state(2, 1, "two"));
            (second.area_state.as_of, second.area_state.read_at, second.area_state.since) =
                (Some(late), Some(late), Some(late));
            second.upserts.push(check::test_row("1", Some("a"), None));
            assert!(matches!(store.commit(&second), Ok(CommitOutcome::Done(_))));
        }
        // This simulates a copy that SQLite leaves when it moves a row.
        let copies = rusqlite::Connection::open(folder.path().join("organisation.db")).unwrap();
        copies.pragma_update(None, "secure_delete", "OFF").unwrap();
        copies
            .execute_batch("CREATE TABLE copy (text); INSERT INTO copy VALUES ('geheim'); DROP TABLE copy")
            .unwrap();
        drop(copies);
        store.purge_removed(read + (MAX_ORGANISATION_AGE - 2 * HOUR)).unwrap();
        assert!(found(), "there is no copy, so this test shows nothing");
        store.purge_removed(read + (MAX_ORGANISATION_AGE - HOUR)).unwrap();
        assert!(!found(), "of demand: {of_demand}");
    }
}

/// DEM-10: the folder is marked as a cache, and only this user has access to it.
#[test]
fn folder_is_marked_as_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("exchange");
    drop(SqliteReplica::open(&inner).unwrap());
    let tag = fs::read_to_string(inner.join("CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(inner).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

const CHILD: &str = "EXCHANGE_REPLICA_CHILD";

/// The code of the child process: commits pages of 40 entries that all contain the number of their commit,
/// and prints the number of each completed commit.
#[test]
fn child_process_that_is_killed() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let store = SqliteReplica::open(folder).unwrap();
    let area = Area::Stock;
    loop {
        let before = store.area_state(area).unwrap();
        let now = before.sequence + 1;
        let mut commit =
            AreaCommit::new(area, before.sequence, check::test_area_state(now, now, &format!("c{now}")));
        for key in 0..40 {
            let body = format!(r#"{{"of":{now:>4000}}}"#).into_bytes().into();
            commit.upserts.push(ReplicaRow { body, ..check::test_row(&key.to_string(), None, None) });
        }
        commit.upserts.push(check::test_row(&format!("only-{now}"), None, None));
        commit.sweep = true;
        assert!(matches!(store.commit(&commit).unwrap(), CommitOutcome::Done(_)));
        let mut out = std::io::stdout();
        writeln!(out, "committed {now}").unwrap();
        out.flush().unwrap();
    }
}

/// After a process was killed, each of its commits is stored completely or not at all, and each commit that
/// it reported is stored.
#[test]
fn killed_process_leaves_whole_commits() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "replica::tests::child_process_that_is_killed", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let committed = lines.filter_map(|line| line.strip_prefix("committed ")?.parse::<u64>().ok());
        let committed = committed.take(3 + round).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();

        let store = open(&folder);
        let area_state = store.area_state(Area::Stock).unwrap();
        assert!(area_state.sequence >= committed, "{area_state:?}: the process reported {committed}");
        let rows = store.entries(Area::Stock, None, 100).unwrap();
        assert_eq!(rows.len(), 41);
        let (of, only) =
            (format!(r#"{{"of":{:>4000}}}"#, area_state.sequence), format!("only-{}", area_state.sequence));
        assert!(rows.iter().all(|row| *row.body == *of.as_bytes() || *row.key == *only));
        assert_eq!(
            area_state,
            check::test_area_state(
                area_state.sequence,
                area_state.sequence,
                &format!("c{}", area_state.sequence)
            )
        );
    }
}

/// FED-03: another process continues a snapshot at the stored cursor.
#[test]
fn snapshot_continues_in_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let area = Area::Ships;
    let mut area_state = check::test_area_state(1, 1, "middle:of.it");
    area_state.position =
        exchange_client::feed::FeedPosition::Snapshot(area_state.position.cursor().unwrap().clone());
    area_state.as_of = None;
    let commit = AreaCommit::new(area, 0, area_state.clone());
    assert!(matches!(open(&folder).commit(&commit).unwrap(), CommitOutcome::Done(_)));
    assert_eq!(open(&folder).area_state(area).unwrap(), area_state);
    assert_eq!(area_state.since, Some(UnixTime::from_secs(1_000) + Duration::from_secs(1)));
}
