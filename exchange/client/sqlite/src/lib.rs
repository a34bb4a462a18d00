//! Replica and outbox of an exchange client in SQLite files: stores for `exchange-client` that outlive the
//! process.

mod database;
mod outbox;
mod replica;

pub use outbox::SqliteOutbox;
pub use replica::SqliteReplica;
