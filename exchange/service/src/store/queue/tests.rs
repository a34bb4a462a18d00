//! Tests of the store: transactions, durability, closing, backups and permissions.

use dpop_bound::SystemRandom;
use rusqlite::params;

use super::*;
use crate::store::{BackupError, epoch, restore_backup, restored_at, write_backup};
use crate::time::Moment;

const NOW: Moment = Moment::from_millis(1_790_000_000_250);

/// Counts the settings, without the one that a restore adds.
async fn count(store: &Store) -> i64 {
    store
        .read(|connection| {
            let sql = "SELECT count(*) FROM setting WHERE name <> 'restored-at'";
            Ok::<i64, StoreError>(connection.query_row(sql, [], |row| row.get(0))?)
        })
        .await
        .expect("the read succeeds")
}

async fn set(store: &Store, name: &'static str, keep: bool) -> Result<(), StoreError> {
    store
        .write(move |connection| {
            connection.execute("INSERT INTO setting (name, value) VALUES (?1, 'x')", params![name])?;
            if keep { Ok(()) } else { Err(StoreError::Corrupt("injected failure")) }
        })
        .await
}

/// A failed write has no effect, and the other writes of its group are kept.
#[tokio::test]
async fn failed_write_does_not_affect_its_group() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().join("store"))] {
        let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
        let (first, second, third) =
            tokio::join!(set(&store, "a", true), set(&store, "b", false), set(&store, "c", true));
        assert!(first.is_ok() && third.is_ok());
        assert!(matches!(second, Err(StoreError::Corrupt(_))));
        assert_eq!(count(&store).await, 2);
        assert!(
            matches!(set(&store, "d", false).await, Err(StoreError::Corrupt(_))),
            "a single write that fails has no effect"
        );
        assert_eq!(count(&store).await, 2);
    }
}

/// A group with one write has no savepoint, which would copy each page that the write changes.
#[tokio::test]
async fn single_write_has_no_savepoint() {
    let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).expect("the store opens");
    let released = store.write(|connection| {
        let released = connection.execute_batch("RELEASE job");
        Ok::<_, StoreError>(released.is_ok())
    });
    assert!(!released.await.expect("the write succeeds"));
}

/// The durability is set before the transaction begins: to the disk if the group contains an ordinary
/// write, and to the operating system if it contains only writes ahead.
#[tokio::test]
async fn ordinary_write_syncs_and_write_ahead_does_not() {
    fn waits(connection: &Connection) -> Result<i64, StoreError> {
        Ok(connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?)
    }
    const NORMAL: i64 = 1;
    const FULL: i64 = 2;
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
        .expect("the store opens");
    for _ in 0..2 {
        assert_eq!(store.write_ahead(waits).await.expect("the write succeeds"), NORMAL);
        assert_eq!(store.write(waits).await.expect("the write succeeds"), FULL);
    }
    // While the writer is blocked, the following writes are queued and form one group.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let blocked = store.write_ahead(move |_| {
        let _ = wait.recv();
        Ok::<(), StoreError>(())
    });
    let together = async {
        let both = async { tokio::join!(store.write_ahead(waits), store.write(waits)) };
        let release = async { drop(go) };
        tokio::join!(both, release).0
    };
    let (blocked, (ahead, waited)) = tokio::join!(blocked, together);
    blocked.expect("the write succeeds");
    assert_eq!((ahead.expect("the write succeeds"), waited.expect("the write succeeds")), (FULL, FULL));
}

/// If a closure panics, only its own write fails and is rolled back. The store continues to run.
#[tokio::test]
async fn panic_fails_only_its_own_write() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().join("store"))] {
        let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
        let panicked: Result<(), StoreError> = store
            .write(|connection| {
                connection.execute("INSERT INTO setting (name, value) VALUES ('p', 'x')", [])?;
                panic!("on purpose")
            })
            .await;
        assert!(matches!(panicked, Err(StoreError::Panicked)));
        let panicked: Result<(), StoreError> = store.read(|_| panic!("on purpose")).await;
        assert!(matches!(panicked, Err(StoreError::Panicked)));
        let panicked: Result<(), StoreError> = store.read_inline(|_| panic!("on purpose")).await;
        assert!(matches!(panicked, Err(StoreError::Panicked)));
        set(&store, "a", true).await.expect("the write succeeds");
        assert_eq!(count(&store).await, 1);
    }
}

/// An inline read sees the latest commit, sees one snapshot in all of its statements, and cannot write.
#[tokio::test]
async fn inline_read_is_one_snapshot_and_read_only() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
        .expect("the store opens");
    set(&store, "a", true).await.expect("the write succeeds");
    let other =
        Connection::open(folder.path().join(DATABASE_FILE)).expect("a second connection can be opened");
    let counted = store.read_inline(move |connection| {
        let count = || connection.query_row("SELECT count(*) FROM setting", [], |row| row.get::<_, i64>(0));
        let before = count()?;
        other.execute("INSERT INTO setting (name, value) VALUES ('b', 'x')", [])?;
        Ok::<_, StoreError>((before, count()?))
    });
    assert_eq!(counted.await.expect("the read succeeds"), (1, 1));
    let count = "SELECT count(*) FROM setting";
    let counted = store.read_inline(move |connection| {
        Ok::<i64, StoreError>(connection.query_row(count, [], |row| row.get(0))?)
    });
    assert_eq!(counted.await.expect("the read succeeds"), 2);
    let written: Result<usize, StoreError> =
        store.read_inline(|connection| Ok(connection.execute("DELETE FROM setting", [])?)).await;
    assert!(written.is_err());
}

/// A statement is not planned again for another limit or start key.
#[tokio::test]
async fn statements_are_prepared_once() {
    fn plans(connection: &Connection) -> Result<i32, StoreError> {
        let sql = "SELECT name FROM setting WHERE name > ?1 ORDER BY name LIMIT ?2";
        let mut rows = connection.prepare_cached(sql)?;
        for (behind, limit) in [("a", 1), ("b", 2), ("c", 500)] {
            let found = rows.query_map(params![behind, limit], |row| row.get::<_, String>(0))?;
            assert!(found.collect::<Result<Vec<_>, _>>()?.is_empty());
        }
        Ok(rows.get_status(rusqlite::StatementStatus::RePrepare))
    }
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().join("store"))] {
        let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
        let planned = (store.read(plans).await, store.read_inline(plans).await, store.write(plans).await);
        assert!(matches!(planned, (Ok(0), Ok(0), Ok(0))), "{planned:?}");
    }
}

/// Actions for the commit run once, after a commit, and only those of writes that are kept.
#[tokio::test]
async fn actions_run_after_the_commit() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
        .expect("the store opens");
    let (sender, receiver) = std::sync::mpsc::channel();
    let write = |name: &'static str, keep: bool| {
        let sender = sender.clone();
        store.write(move |connection| {
            writer::on_commit(move || {
                let _ = sender.send(name);
            });
            assert!(!connection.is_autocommit());
            if keep { Ok(()) } else { Err(StoreError::Corrupt("injected failure")) }
        })
    };
    let _ = tokio::join!(write("a", true), write("b", false), write("c", true));
    let _ = write("d", false).await;
    write("e", true).await.expect("the write succeeds");
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), ["a", "c", "e"]);
}

/// On a full disk, writes fail and reads continue. Writes succeed again once there is space.
#[tokio::test]
async fn full_disk_allows_reads() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
        .expect("the store opens");
    set(&store, "before", true).await.expect("the write succeeds");
    let bound = |pages: i64| {
        let store = store.clone();
        async move {
            let sql = format!("PRAGMA max_page_count = {pages}");
            store
                .write(move |connection| {
                    Ok::<i64, StoreError>(connection.query_row(&sql, [], |row| row.get(0))?)
                })
                .await
                .expect("the page limit can be set")
        }
    };
    let pages = bound(1).await;
    let large = || {
        store.write(|connection| {
            connection
                .execute("INSERT INTO secret (name, value) VALUES ('large', zeroblob(10000000))", [])?;
            Ok::<(), StoreError>(())
        })
    };
    assert!(matches!(large().await, Err(StoreError::Full)), "{pages} pages");
    assert_eq!(count(&store).await, 1, "reads continue");
    bound(1_000_000).await;
    large().await.expect("the write succeeds once there is space");
}

/// An error of the database file names the file.
#[test]
fn unusable_database_is_named() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let file = folder.path().join(DATABASE_FILE);
    std::fs::create_dir(&file).expect("the folder is created");
    let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
    let refused = Store::open(&options).expect_err("an error is returned").to_string();
    assert!(refused.contains(&file.display().to_string()), "{refused}");
    let edited = crate::store::edit_store(folder.path(), |_| Ok::<_, crate::store::EditError>(()));
    assert!(edited.expect_err("there is no store").to_string().contains("exchange"), "the folder is named");
    std::fs::remove_dir(&file).expect("the folder is removed");
    std::fs::write(&file, "no database").expect("the file is written");
    for refused in [
        Store::open(&options).expect_err("an error is returned").to_string(),
        crate::store::edit_store(folder.path(), |_| Ok::<_, crate::store::EditError>(()))
            .expect_err("an error is returned")
            .to_string(),
    ] {
        assert!(refused.contains(&file.display().to_string()), "{refused}");
    }
}

/// A store that a newer service wrote is not changed, and the error contains the next step.
#[tokio::test]
async fn newer_store_is_rejected() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
    let store = Store::open(&options).expect("the store opens");
    let newer = store.write(|connection| {
        connection.execute("INSERT INTO migration (number, checksum) VALUES (99, x'00')", [])?;
        Ok::<(), StoreError>(())
    });
    newer.await.expect("the write succeeds");
    let refused = Store::open(&options).expect_err("an error is returned");
    let known_version = migrate::latest_version();
    assert!(matches!(refused, OpenError::Newer { found: 99, known } if known == known_version));
    assert!(refused.to_string().contains("version that wrote the store"));
}

/// FED-08: a restored store has all data of the backup and another epoch. Nothing is overwritten.
#[tokio::test]
async fn restored_backup_is_complete_with_a_new_epoch() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    let file = folder.path().join("backup.db");
    let store =
        Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
    set(&store, "kept", true).await.expect("the write succeeds");
    let epoch = |store: &Store| {
        let store = store.clone();
        async move {
            store
                .write(|connection| epoch::ensure_epoch(connection, &SystemRandom))
                .await
                .expect("the epoch exists")
        }
    };
    let before = epoch(&store).await;
    write_backup(&first, &file).expect("the backup is written");
    assert!(matches!(write_backup(&first, &file), Err(BackupError::Exists(_))));
    set(&store, "later", true).await.expect("the write succeeds");

    restore_backup(&file, &second, &SystemRandom, NOW).expect("the backup is restored");
    assert!(matches!(restore_backup(&file, &second, &SystemRandom, NOW), Err(BackupError::Exists(_))));
    let restored = Store::open(&StoreOptions::new(StoreLocation::Folder(second))).expect("the store opens");
    let when = async |store: &Store| store.read(restored_at).await.expect("the read succeeds");
    assert_eq!((when(&store).await, when(&restored).await), (None, Some(NOW)));
    assert_eq!(count(&restored).await, 1);
    assert_ne!(epoch(&restored).await, before);
}

/// Closing completes queued work, refuses new work, and leaves one file with all data.
#[tokio::test]
async fn closed_store_is_one_file() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().to_owned())] {
        let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
        set(&store, "before", true).await.expect("the write succeeds");
        let looked = store.read_inline(|_| Ok::<_, StoreError>(()));
        looked.await.expect("the read succeeds");
        // Both writes are queued when the store is closed.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let blocked = store.write(move |_| {
            let _ = wait.recv();
            Ok::<(), StoreError>(())
        });
        let closing = async {
            drop(go);
            store.close().await;
        };
        let (blocked, waiting, ()) = tokio::join!(blocked, set(&store, "waiting", true), closing);
        assert!(blocked.is_ok() && waiting.is_ok());
        assert!(matches!(set(&store, "after", true).await, Err(StoreError::Closed)));
        let read: Result<(), StoreError> = store.read(|_| Ok(())).await;
        let looked: Result<(), StoreError> = store.read_inline(|_| Ok(())).await;
        assert!(matches!((read, looked), (Err(StoreError::Closed), Err(StoreError::Closed))));
        store.clone().close().await;
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder is readable");
    let left: Vec<_> = left.map(|file| file.expect("the entry is readable").file_name()).collect();
    assert_eq!(left, [DATABASE_FILE]);
    let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
    assert_eq!(count(&Store::open(&options).expect("the store opens")).await, 2);
}

/// A read that does not end cannot delay the shutdown without limit.
#[tokio::test]
async fn shutdown_does_not_wait_without_bound() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
        .expect("the store opens");
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let read = store.read(move |_| {
        let _ = wait.recv();
        Ok::<(), StoreError>(())
    });
    let stopping = async {
        assert!(!store.close_within(Duration::ZERO).await);
        drop(go);
        assert!(
            store.close_within(Duration::from_secs(60)).await,
            "the store closes once the read has ended"
        );
    };
    let (read, ()) = tokio::join!(read, stopping);
    read.expect("queued work is completed");
}

/// A restore is refused if the folder contains a log or journal, which SQLite would apply to the restored
/// database.
#[tokio::test]
async fn restore_refuses_leftover_log_files() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let path = |name: &str| folder.path().join(name);
    let store =
        Store::open(&StoreOptions::new(StoreLocation::Folder(path("first")))).expect("the store opens");
    set(&store, "kept", true).await.expect("the write succeeds");
    let file = path("backup.db");
    write_backup(&path("first"), &file).expect("the backup is written");
    set(&store, "later", true).await.expect("the write succeeds");
    // A killed service leaves these files behind.
    std::fs::create_dir(path("second")).expect("the folder is created");
    for name in ["exchange.db-wal", "exchange.db-shm", "exchange.db-journal"] {
        let left = path("second").join(name);
        match name {
            "exchange.db-journal" => std::fs::write(&left, "").expect("the file is written"),
            name => drop(std::fs::copy(path("first").join(name), &left).expect("the file is copied")),
        }
        let refused =
            restore_backup(&file, &path("second"), &SystemRandom, NOW).expect_err("an error is returned");
        assert!(matches!(&refused, BackupError::Exists(found) if *found == left), "{refused}");
        let beside = std::fs::read_dir(path("second")).expect("the folder is readable").count();
        assert_eq!(beside, 1, "no further file is created");
        std::fs::remove_file(left).expect("the file is removed");
    }
    restore_backup(&file, &path("second"), &SystemRandom, NOW).expect("the backup is restored");
    let restored =
        Store::open(&StoreOptions::new(StoreLocation::Folder(path("second")))).expect("the store opens");
    assert_eq!(count(&restored).await, 1);
}

/// Changes in the log of the source are restored, for example from a copy of a data folder.
#[tokio::test]
async fn changes_in_the_log_are_restored() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let path = |name: &str| folder.path().join(name);
    let store =
        Store::open(&StoreOptions::new(StoreLocation::Folder(path("first")))).expect("the store opens");
    set(&store, "kept", true).await.expect("the write succeeds");
    std::fs::create_dir(path("copy")).expect("the folder is created");
    for name in ["exchange.db", "exchange.db-wal"] {
        std::fs::copy(path("first").join(name), path("copy").join(name)).expect("the file is copied");
    }
    restore_backup(&path("copy").join("exchange.db"), &path("second"), &SystemRandom, NOW)
        .expect("the backup is restored");
    let restored =
        Store::open(&StoreOptions::new(StoreLocation::Folder(path("second")))).expect("the store opens");
    assert_eq!(count(&restored).await, 1);
}

/// A path that is not UTF-8 is rejected, and no file is created.
#[cfg(unix)]
#[tokio::test]
async fn non_utf8_paths_are_rejected() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let first = folder.path().join("first");
    let _store =
        Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
    let to = folder.path().join(std::ffi::OsStr::from_bytes(b"backup-\xff.db"));
    let refused = write_backup(&first, &to).expect_err("an error is returned");
    assert!(matches!(refused, BackupError::Io { .. }), "{refused}");
    assert!(refused.to_string().contains("UTF-8"), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is readable").count(), 1);
}

/// A backup only reads the store, even one of a newer version. It does not create a missing store.
#[tokio::test]
async fn backup_is_read_only() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let (first, file) = (folder.path().join("first"), folder.path().join("backup.db"));
    let store =
        Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
    let newer = store.write(|connection| {
        connection.execute_batch(
            "INSERT INTO migration (number, checksum) VALUES (99, x'00'); \
             CREATE TABLE of_the_future (id INTEGER PRIMARY KEY) STRICT",
        )?;
        Ok::<(), StoreError>(())
    });
    newer.await.expect("the write succeeds");
    let log = || std::fs::read(first.join("exchange.db-wal")).expect("the log is readable");
    let before = log();
    write_backup(&first, &file).expect("the backup is written");
    assert!(log() == before, "the backup does not write to the store");
    set(&store, "later", true).await.expect("writes still succeed");
    let restored = restore_backup(&file, &folder.path().join("second"), &SystemRandom, NOW)
        .expect_err("an error is returned");
    assert!(matches!(restored, BackupError::Version(OpenError::Newer { found: 99, .. })), "{restored}");
    let empty = folder.path().join("empty");
    let missing = write_backup(&empty, &folder.path().join("other.db")).expect_err("an error is returned");
    assert!(matches!(missing, BackupError::Missing(_)) && !empty.exists(), "{missing}");
    assert!(!folder.path().join("other.db").exists());
}

/// Only the owner can read the folder, the database with its log, a backup and a restored store.
#[cfg(unix)]
#[tokio::test]
async fn store_files_are_private_to_the_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let (first, second) = (folder.path().join("a/first"), folder.path().join("second"));
    let file = folder.path().join("backup.db");
    let store =
        Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
    set(&store, "a", true).await.expect("the write succeeds");
    write_backup(&first, &file).expect("the backup is written");
    restore_backup(&file, &second, &SystemRandom, NOW).expect("the backup is restored");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("the path exists").permissions().mode() & 0o777
    };
    for path in [&first, &second] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    let files = ["exchange.db", "exchange.db-wal", "exchange.db-shm"].map(|name| first.join(name));
    for path in files.iter().chain([&file, &second.join("exchange.db")]) {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
}

#[test]
fn invalid_backup_is_rejected() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let file = folder.path().join("letter.txt");
    std::fs::write(&file, "dear reader, this is no database at all, however long it may be")
        .expect("the file is written");
    let target = folder.path().join("store");
    let refused = restore_backup(&file, &target, &SystemRandom, NOW).expect_err("an error is returned");
    assert!(matches!(refused, BackupError::Corrupt { .. }), "{refused}");
    assert!(!target.exists());
}

/// Committed data is present when the folder is opened again.
#[tokio::test]
async fn committed_data_persists_in_the_folder() {
    let folder = tempfile::tempdir().expect("the temporary folder is created");
    let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
    set(&Store::open(&options).expect("the store opens"), "a", true).await.expect("the write succeeds");
    assert_eq!(count(&Store::open(&options).expect("the store opens")).await, 1);
}
