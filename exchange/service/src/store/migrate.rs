//! Migrations of the database, which are compiled into the binary. The store records the checksum of each
//! applied migration.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::OpenError;
use crate::secrets;

const MIGRATIONS: [&str; 8] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
];

/// Migrates the database to the version of this service.
///
/// # Errors
/// Returns [`OpenError::Newer`] or [`OpenError::Altered`] without changing anything, or an error if the
/// database fails.
pub(super) fn run_migrations(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, checksum BLOB NOT NULL) STRICT",
    )?;
    let ran = applied_version(&transaction)?;
    for (number, sql) in (1_u32..).zip(MIGRATIONS).filter(|(number, _)| *number > ran) {
        transaction.execute_batch(sql)?;
        transaction.execute(
            "INSERT INTO migration (number, checksum) VALUES (?1, ?2)",
            params![number, secrets::sha256(sql)],
        )?;
    }
    transaction.commit()?;
    if (1..latest_version()).contains(&ran) {
        // The migration is in the log. Writing the log back here avoids a delay of the first writes.
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    }
    Ok(())
}

/// Checks that the database has the version of this service. Changes nothing.
///
/// # Errors
/// Returns [`OpenError::Newer`], [`OpenError::Older`] or [`OpenError::Altered`], or an error if the database
/// fails.
pub(super) fn check_version(connection: &Connection) -> Result<(), OpenError> {
    match applied_version(connection)? {
        found if found < latest_version() => Err(OpenError::Older { found, known: latest_version() }),
        _ => Ok(()),
    }
}

pub(super) fn latest_version() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Returns the number of the last applied migration. Checks that the checksums of all applied migrations
/// match.
fn applied_version(connection: &Connection) -> Result<u32, OpenError> {
    let found: Option<u32> =
        connection.query_row("SELECT max(number) FROM migration", [], |row| row.get(0))?;
    let found = found.unwrap_or_default();
    if found > latest_version() {
        return Err(OpenError::Newer { found, known: latest_version() });
    }
    for (number, sql) in (1..=found).zip(MIGRATIONS) {
        let checksum: Option<Vec<u8>> = connection
            .query_row("SELECT checksum FROM migration WHERE number = ?1", [number], |row| row.get(0))
            .optional()?;
        if checksum.is_none_or(|checksum| checksum != secrets::sha256(sql)) {
            return Err(OpenError::Altered { number });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rusqlite::Batch;
    use rusqlite::fallible_iterator::FallibleIterator as _;

    use super::*;

    /// Creates a database to which the first `count` migrations are applied.
    fn left_by(count: usize) -> Connection {
        leave(Connection::open_in_memory().unwrap(), count)
    }

    fn leave(connection: Connection, count: usize) -> Connection {
        connection
            .execute_batch(
                "CREATE TABLE migration (number INTEGER PRIMARY KEY, checksum BLOB NOT NULL) STRICT",
            )
            .unwrap();
        for (number, sql) in (1..).zip(MIGRATIONS.iter().take(count)) {
            connection.execute_batch(sql).unwrap();
            let ran = params![number, secrets::sha256(sql)];
            connection.execute("INSERT INTO migration (number, checksum) VALUES (?1, ?2)", ran).unwrap();
        }
        connection
    }

    fn rows(connection: &Connection, sql: &str) -> Vec<String> {
        let mut rows = connection.prepare(sql).unwrap();
        let columns = rows.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            Ok((0..columns).map(|at| format!("{:?} ", row.get_ref(at).unwrap())).collect())
        };
        rows.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// WRT-03: a migration preserves the journal. Consecutive entries of one change set become one row of
    /// `journal_set`.
    #[test]
    fn migration_preserves_the_journal() {
        let mut connection = left_by(1);
        let stock = r#"'{"lot":{"material":"ore"},"held":5,"rows":[]}'"#;
        let journal = format!(
            "INSERT INTO feed_head (id, stream, seq) VALUES (7, 'member/stock/m', 3);
             INSERT INTO journal (id, at, member, area, key, change_set, channel, client, installation, removal,
             override, undoes, before, after) VALUES
             (4, 10, 'm', 'stock', 'a', 's', 'client', 'c', 'i', 0, 0, NULL, NULL, {stock}),
             (5, 10, 'm', 'stock', 'b', 's', 'client', 'c', 'i', 1, 1, NULL, {stock}, NULL),
             (6, 11, 'm', 'stock', 'b', 't', 'web', NULL, NULL, 0, 0, 5, NULL, {stock}),
             (7, 10, 'm', 'stock', 'c', 's', 'client', 'c', 'i', 1, 0, NULL, {stock}, {stock}),
             (9, 12, 'n', 'blueprints', 'ä', 'u', 'client', 'c', 'j', 1, 0, NULL, '{{}}', NULL)"
        );
        connection.execute_batch(&journal).unwrap();
        let before = rows(&connection, "SELECT * FROM journal ORDER BY id");
        run_migrations(&mut connection).unwrap();
        assert_eq!(rows(&connection, "SELECT * FROM journal ORDER BY id"), before);
        assert_eq!(before.len(), 5);
        let sets = rows(&connection, "SELECT first, last, removals FROM journal_set ORDER BY first");
        let expected = [(4, 5, 1), (6, 6, 0), (7, 7, 1), (9, 9, 1)];
        let expected = expected
            .map(|(first, last, removals)| format!("Integer({first}) Integer({last}) Integer({removals}) "));
        assert_eq!(sets, expected);
        let lots = "SELECT first, CAST(lots AS BLOB) = CAST(?1 AS BLOB) FROM journal_lots ORDER BY first";
        let lots = lots.replace("?1", "iif(first = 4, 'a     b     ', 'c     ')");
        assert_eq!(rows(&connection, &lots), ["Integer(4) Integer(1) ", "Integer(7) Integer(1) "]);
    }

    /// A migration never sorts, because sorting would need all rows in memory.
    #[test]
    fn migration_never_sorts() {
        let connection = Connection::open_in_memory().unwrap();
        let mut copies = 0;
        for sql in MIGRATIONS {
            let mut statements = Batch::new(&connection, sql);
            while let Some(mut statement) = statements.next().unwrap() {
                let text = statement.expanded_sql().unwrap();
                if text.contains("INSERT INTO") {
                    let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
                    let steps = plan.query_map([], |row| row.get::<_, String>("detail")).unwrap();
                    let plan: String = steps.map(|step| step.unwrap() + "\n").collect();
                    assert!(plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "{text}: {plan}");
                    copies += 1;
                }
                statement.raw_execute().unwrap();
            }
        }
        assert_eq!(copies, 3);
    }

    /// The log of a migration is written back immediately, without waiting for a write.
    #[test]
    fn migration_log_is_checkpointed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        let mut connection = leave(connection, 1);
        let log = || std::fs::metadata(folder.path().join("store.db-wal")).unwrap().len();
        assert!(log() > 0);
        run_migrations(&mut connection).unwrap();
        assert_eq!((log(), applied_version(&connection).unwrap()), (0, latest_version()));
    }

    /// GW-05: notices that were recorded without an id still refer to the same installation.
    #[test]
    fn older_notices_keep_their_installation() {
        let mut connection = left_by(4);
        let written = "PRAGMA foreign_keys = OFF;
             INSERT INTO installation (id, client, member, jkt, label, first_seen, last_seen, revoked_at) VALUES
             ('i-1', 'c', 'm', 'j-1', 'Bridge', 1, 1, 10), ('i-2', 'c', 'm', 'j-2', NULL, 1, 1, 20),
             ('i-3', 'c', 'n', 'j-3', 'Bridge', 1, 1, 10), ('i-4', 'c', 'm', 'j-4', 'Bridge', 1, 1, 30);
             INSERT INTO notice (member, at, kind, subject) VALUES
             ('m', 10, 'installation-disconnected', 'Bridge'), ('m', 20, 'installation-disconnected', 'c'),
             ('m', 30, 'installation-disconnected', 'i-4'), ('m', 40, 'installation-disconnected', 'Bridge'),
             ('m', 50, 'connected', 'Bridge')";
        connection.execute_batch(written).unwrap();
        run_migrations(&mut connection).unwrap();
        let ids = "SELECT group_concat(subject) = 'i-1,i-2,i-4,Bridge,Bridge' FROM \
                   (SELECT subject FROM notice ORDER BY id)";
        assert_eq!(rows(&connection, ids), ["Integer(1) "]);
    }

    /// Sessions and notices of an older store are kept, and the new tables are empty.
    #[test]
    fn older_sessions_and_notices_are_kept() {
        let mut connection = left_by(5);
        let written = "INSERT INTO session (hash, member, auth_time, expires_at, ended_at) VALUES
             (x'01', 'm', 10, 20, NULL), (x'02', 'n', 11, 21, 15);
             INSERT INTO notice (member, at, kind, subject, acknowledged_at) VALUES
             ('m', 10, 'connected', 'c', NULL), ('m', 11, 'connected', 'c', 12)";
        connection.execute_batch(written).unwrap();
        let kept =
            ["SELECT hash, member, auth_time, expires_at, ended_at FROM session", "SELECT * FROM notice"];
        let before = kept.map(|sql| rows(&connection, sql));
        run_migrations(&mut connection).unwrap();
        assert_eq!(kept.map(|sql| rows(&connection, sql)), before);
        assert_eq!(rows(&connection, "SELECT DISTINCT browser FROM session"), ["Null "]);
        let empty = "SELECT (SELECT count(*) FROM handled_request), (SELECT count(*) FROM password_reset), \
                     (SELECT count(*) FROM terms_text)";
        assert_eq!(rows(&connection, empty), ["Integer(0) Integer(0) Integer(0) "]);
        let history =
            "EXPLAIN QUERY PLAN SELECT id FROM notice WHERE member = 'm' AND id < 9 ORDER BY id DESC";
        let plan: String = connection.query_row(history, [], |row| row.get("detail")).unwrap();
        assert!(plan.contains("notice_of_member"), "{plan}");
    }

    /// A migration that was already applied is not repeated.
    #[test]
    fn store_is_migrated_once() {
        let mut connection = left_by(MIGRATIONS.len());
        run_migrations(&mut connection).unwrap();
        check_version(&connection).unwrap();
        assert_eq!(applied_version(&connection).unwrap(), latest_version());
    }
}
