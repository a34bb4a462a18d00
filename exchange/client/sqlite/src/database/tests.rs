//! Tests of new, old, newer, foreign, corrupt, full and shared database files.

use std::{fs, thread};

use tempfile::TempDir;

use super::*;

const FIRST: &str = "CREATE TABLE note (text TEXT NOT NULL) STRICT";
const SECOND: &str = "ALTER TABLE note ADD COLUMN more TEXT";

const fn plan(migrations: &'static [&'static str], corrupt_file: CorruptFilePolicy) -> DatabasePlan {
    DatabasePlan { name: "notebook", application: 7, migrations, corrupt_file }
}

static OLD: DatabasePlan = plan(&[FIRST], CorruptFilePolicy::Rename);
static NEW: DatabasePlan = plan(&[FIRST, SECOND], CorruptFilePolicy::Rename);
static ORG: DatabasePlan = plan(&[FIRST], CorruptFilePolicy::Delete);
static KEPT: DatabasePlan = plan(&[FIRST], CorruptFilePolicy::Refuse);

fn note(database: &Database, text: &str) -> Result<(), Error> {
    database.write(|transaction| transaction.execute("INSERT INTO note (text) VALUES (?1)", [text]).map(drop))
}

fn notes(database: &Database) -> Vec<String> {
    let read = database.read(|connection| {
        connection.prepare("SELECT text FROM note ORDER BY rowid")?.query_map([], |row| row.get(0))?.collect()
    });
    read.unwrap()
}

fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.db");
    (folder, path)
}

fn why(result: Result<Database, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    error.to_string()
}

#[test]
fn file_persists_and_is_migrated() {
    let (_folder, path) = file();
    note(&Database::open(&path, &OLD).unwrap(), "one").unwrap();
    let database = Database::open(&path, &NEW).unwrap();
    note(&database, "two").unwrap();
    assert_eq!(notes(&database), ["one", "two"]);
    assert_eq!(notes(&Database::open(&path, &NEW).unwrap()), ["one", "two"]);
}

/// A file of a newer version is left unchanged.
#[test]
fn newer_file_is_left_unchanged() {
    let (_folder, path) = file();
    note(&Database::open(&path, &NEW).unwrap(), "one").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(why(Database::open(&path, &OLD)).contains("newer version"));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(notes(&Database::open(&path, &NEW).unwrap()), ["one"]);
}

#[test]
fn file_of_another_program_is_left_unchanged() {
    let (_folder, path) = file();
    let other = DatabasePlan { application: 8, ..plan(&[FIRST], CorruptFilePolicy::Rename) };
    note(&Database::open(&path, Box::leak(Box::new(other))).unwrap(), "one").unwrap();
    assert!(why(Database::open(&path, &OLD)).contains("another program"));

    let path = path.with_file_name("plain.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE note (text)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(why(Database::open(&path, &OLD)).contains("another program"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A corrupt file is renamed, deleted or left unchanged, depending on its plan.
#[test]
fn corrupt_file_is_renamed_deleted_or_rejected() {
    for (plan, is_renamed) in [(&OLD, Some(true)), (&ORG, Some(false)), (&KEPT, None)] {
        let (_folder, path) = file();
        note(&Database::open(&path, plan).unwrap(), "one").unwrap();
        fs::write(&path, vec![b'x'; 9_000]).unwrap();
        let opened = Database::open(&path, plan);
        match is_renamed {
            Some(is_renamed) => {
                let database = opened.unwrap();
                assert_eq!(notes(&database), [""; 0]);
                note(&database, "two").unwrap();
                assert_eq!(sibling_path(&path, ".damaged").exists(), is_renamed);
                delete_renamed_file_twice(&path, plan);
            }
            None => {
                assert!(why(opened).contains("corrupt"));
                assert_eq!(fs::read(&path).unwrap(), vec![b'x'; 9_000]);
            }
        }
    }
}

fn delete_renamed_file_twice(path: &Path, plan: &DatabasePlan) {
    for _ in 0..2 {
        corruption::delete_renamed_file(path, plan).unwrap();
        assert!(!sibling_path(path, ".damaged").exists());
    }
}

/// If a file turns out to be corrupt later, the call fails, and the following calls use a new file.
#[test]
fn file_found_corrupt_later_is_recreated() {
    let (_folder, path) = file();
    let database = Database::open(&path, &OLD).unwrap();
    for at in 0..2_000 {
        note(&database, &format!("note {at:>100}")).unwrap();
    }
    drop(database);
    let mut bytes = fs::read(&path).unwrap();
    for byte in bytes.iter_mut().skip(8_192) {
        *byte = 0xee;
    }
    fs::write(&path, bytes).unwrap();
    let database = Database::open(&path, &OLD).unwrap();
    let all = |connection: &Connection| -> rusqlite::Result<Vec<String>> {
        connection.prepare("SELECT text FROM note")?.query_map([], |row| row.get(0))?.collect()
    };
    let message = database.read(all).unwrap_err().to_string();
    assert!(message.contains("has been replaced"), "{message}");
    assert_eq!(notes(&database), [""; 0]);
    note(&database, "two").unwrap();
    assert_eq!(notes(&Database::open(&path, &OLD).unwrap()), ["two"]);
}

/// A full disk causes an error without loss: committed data is kept, the failed transaction is not applied,
/// and writing continues when there is space again.
#[test]
fn full_disk_loses_nothing() {
    let (_folder, path) = file();
    let database = Database::open(&path, &OLD).unwrap();
    note(&database, "one").unwrap();
    let limit = |pages: i64| {
        let writer = lock_connection(&database.writer);
        writer.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| row.get::<_, i64>(0)).unwrap()
    };
    limit(1);
    let long = "x".repeat(40_000);
    let error = database
        .write(|transaction| {
            transaction.execute("INSERT INTO note (text) VALUES ('half')", [])?;
            transaction.execute("INSERT INTO note (text) VALUES (?1)", [&long]).map(drop)
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(notes(&database), ["one"]);
    limit(1_000_000);
    note(&database, &long).unwrap();
    assert_eq!(notes(&database).len(), 2);
}

/// Two processes see each other's commits, and their writers wait for each other.
#[test]
fn two_processes_use_one_file() {
    let (_folder, path) = file();
    let (one, other) = (Database::open(&path, &OLD).unwrap(), Database::open(&path, &OLD).unwrap());
    std::thread::scope(|scope| {
        for database in [&one, &other] {
            scope.spawn(|| (0..50).for_each(|at| note(database, &at.to_string()).unwrap()));
        }
    });
    assert_eq!((notes(&one).len(), notes(&other).len()), (100, 100));
}

/// Deleted bytes are erased from all files once no process reads them.
#[test]
fn deleted_data_is_erased_from_all_files() {
    let (folder, path) = file();
    let database = Database::open(&path, &OLD).unwrap();
    let secret = "geheim".repeat(1_000);
    note(&database, &secret).unwrap();
    database.erase_remnants(0).unwrap();
    note(&database, &secret).unwrap();
    let found = || {
        let files = fs::read_dir(folder.path()).unwrap();
        let bytes = files.map(|file| fs::read(file.unwrap().path()).unwrap());
        bytes.filter(|bytes| bytes.windows(6).any(|part| part == b"geheim")).count()
    };
    assert_eq!(found(), 2);
    let mut other = open_connection(&path, &OLD).unwrap();
    let reading = other.transaction().unwrap();
    let _: i64 = reading.query_row("SELECT count(*) FROM note", [], |row| row.get(0)).unwrap();
    database.write(|transaction| transaction.execute("DELETE FROM note", []).map(drop)).unwrap();
    // While another process reads, the erasure fails.
    {
        lock_connection(&database.writer).busy_timeout(Duration::ZERO).unwrap();
        let error = database.erase_remnants_within(0, Duration::ZERO).unwrap_err();
        assert!(error.to_string().contains("still reads deleted data"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Busy, "another process is no fault of the disk");
    }
    drop(reading);
    database.erase_remnants(0).unwrap();
    assert_eq!(found(), 0);
    database.erase_remnants(0).unwrap();
}

/// On a full disk or in a read-only folder, existing data can be read, and a write fails.
#[test]
fn unwritable_file_can_be_read() {
    let (_folder, path) = file();
    note(&Database::open(&path, &OLD).unwrap(), "kept").unwrap();
    let (reader, writer) = open_read_only(&path, &OLD).unwrap();
    let database =
        Database { path: path.clone(), plan: &OLD, reader: Mutex::new(reader), writer: Mutex::new(writer) };
    assert_eq!(notes(&database), ["kept"]);
    let error = note(&database, "more").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(error.to_string().contains("it cannot be written"), "{error}");
    assert!(open_read_only(&path, &NEW).is_err(), "a file that needs a migration is refused");
    for kind in
        [io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::StorageFull, io::ErrorKind::PermissionDenied]
    {
        assert!(DatabaseFault::Io(kind.into()).is_unwritable());
    }
    assert!(!DatabaseFault::Io(io::ErrorKind::NotFound.into()).is_unwritable());
}

/// Processes that erase at the same time wait for each other: SQLite refuses a second checkpoint without waiting.
#[test]
fn concurrent_erasures_wait_for_each_other() {
    let (_folder, path) = file();
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let path = path.clone();
            thread::spawn(move || {
                let database = Database::open(&path, &OLD).unwrap();
                for round in 0..10 {
                    note(&database, &format!("{number} {round}")).unwrap();
                    database.write(|transaction| note_remnants(transaction, 0)).unwrap();
                    database.erase_remnants(1).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(notes(&Database::open(&path, &OLD).unwrap()).len(), 40);
}

/// The environment variable that marks the child process of [`the_holder_of_a_lock_is_named`].
#[cfg(target_os = "linux")]
const HOLDER: &str = "EXCHANGE_DATABASE_HOLDER";

/// Holds a read transaction on the file that the environment variable names, until the standard input is closed.
#[cfg(target_os = "linux")]
#[test]
fn child_process_that_reads() {
    let Some(path) = std::env::var_os(HOLDER) else { return };
    let mut connection = open_connection(Path::new(&path), &OLD).unwrap();
    let reading = connection.transaction().unwrap();
    let _: i64 = reading.query_row("SELECT count(*) FROM note", [], |row| row.get(0)).unwrap();
    println!("reading");
    let _ = io::Read::read_to_end(&mut io::stdin(), &mut Vec::new());
}

/// The error names the process that reads deleted data.
#[cfg(target_os = "linux")]
#[test]
fn the_holder_of_a_lock_is_named() {
    use std::io::BufRead as _;
    use std::process::{Command, Stdio};
    let (_folder, path) = file();
    let database = Database::open(&path, &OLD).unwrap();
    note(&database, "text").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "database::tests::child_process_that_reads", "--nocapture"])
        .env(HOLDER, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("reading")));
    note(&database, "more").unwrap();
    lock_connection(&database.writer).busy_timeout(Duration::ZERO).unwrap();
    let error = database.erase_remnants_within(0, Duration::ZERO).unwrap_err().to_string();
    assert!(error.contains(&format!("process {} (", child.id())), "{error}");
    drop(child.stdin.take());
    child.wait().unwrap();
    database.erase_remnants(0).unwrap();
}

/// The environment variable that marks the child process of [`rewriting_a_large_file_needs_little_memory`].
#[cfg(target_os = "linux")]
const CHILD: &str = "EXCHANGE_DATABASE_CHILD";

#[cfg(target_os = "linux")]
#[test]
fn child_process_with_measured_memory() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let (folder, path) = file();
    let database = Database::open(&path, &OLD).unwrap();
    let text = "x".repeat(10_000);
    let insert = "INSERT INTO note (text) VALUES (?1)";
    let rows = |transaction: &Transaction<'_>| {
        (0..4_000).try_for_each(|_| transaction.execute(insert, [&text]).map(drop))?;
        note_remnants(transaction, 0)
    };
    database.write(rows).unwrap();
    let max_number = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim();
        line.strip_suffix(" kB").unwrap().parse::<u64>().unwrap() / 1024
    };
    let before = max_number();
    database.erase_remnants(1).unwrap();
    let after = max_number();
    assert!(fs::metadata(&path).unwrap().len() > 40_000_000);
    assert!(after < before + 16, "rewriting 40 MB raised the peak from {before} to {after} MiB");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4, "the number of files differs");
    assert_eq!(notes(&database).len(), 4_000);
}

/// When one row of a replica with 200,000 rows is erased, the replica is not loaded into memory.
#[cfg(target_os = "linux")]
#[test]
fn rewriting_a_large_file_needs_little_memory() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "database::tests::child_process_with_measured_memory", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

#[cfg(unix)]
#[test]
fn files_are_private_to_the_user() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, path) = file();
    let database = Database::open(&path, &OLD).unwrap();
    note(&database, "one").unwrap();
    let mut names = Vec::new();
    for file in fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        names.push(file.file_name().into_string().unwrap());
    }
    names.sort_unstable();
    assert_eq!(names, ["notes.db", "notes.db-shm", "notes.db-wal", "notes.db.lock"]);
    let sub = folder.path().join("a/b");
    create_private_folder(&sub).unwrap();
    assert_eq!(fs::metadata(sub).unwrap().permissions().mode() & 0o777, 0o700);
}

/// SQLite is built without the features that neither this crate nor the service uses (`.cargo/config.toml`).
#[test]
fn sqlite_is_built_with_required_features_only() {
    let connection = Connection::open_in_memory().unwrap();
    let mut options = connection.prepare("SELECT compile_options FROM pragma_compile_options").unwrap();
    let options: Vec<String> =
        options.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    for gone in [
        "ENABLE_DBSTAT_VTAB",
        "ENABLE_FTS3",
        "ENABLE_FTS3_PARENTHESIS",
        "ENABLE_FTS5",
        "ENABLE_RTREE",
        "SOUNDEX",
    ] {
        assert!(!options.iter().any(|option| option == gone), "{gone}: {options:?}");
    }
    assert!(options.iter().any(|option| option == "THREADSAFE=1"), "{options:?}");
}
