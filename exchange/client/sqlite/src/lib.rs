//! Persistent SQLite stores for the replica and the outbox of `exchange-client`.

mod database;
mod outbox;
mod replica;

pub use outbox::SqliteOutbox;
pub use replica::SqliteReplica;
