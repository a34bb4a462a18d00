//! A persistent outbox, whose enqueued changes survive a restart and are sent once.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run `cargo run -p
//! exchange-client-sqlite --example outbox`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "../../examples/common/setup.rs"]
mod common;

use exchange_client::{BlueprintChanges, OutboxEvent, api::scopes::Scope, changes::known::KnownItem};
use exchange_client_sqlite::SqliteOutbox;

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeBlueprintsRead, Scope::ExchangeBlueprintsWrite]).await?;
    let connection = exchange.connection().await?;
    // Use a folder for state, not for caches, because there is no other copy of its contents.
    let folder = tempfile::tempdir()?;

    let outbox = exchange.outbox(SqliteOutbox::open(folder.path())?, &connection)?;
    let mut changes = BlueprintChanges::new();
    let product = KnownItem { sc_record: Some("BP_CRAFT_SBXM_KNIFE_01".to_owned()), ..KnownItem::default() };
    changes.add(product.item_ref()?)?;
    let entry = outbox.enqueue(changes).await?[0];
    println!("stored as entry {}, with its bytes and its idempotency key", entry.0);
    drop(outbox);

    println!("the program restarts");
    let outbox = exchange.outbox(SqliteOutbox::open(folder.path())?, &connection)?;
    for entry in outbox.entries().await? {
        println!("found entry {} for {}: {:?}", entry.number().0, entry.lane(), entry.state());
    }
    // A program that keeps running calls `run` once, and subscribes to `events`.
    for event in outbox.flush().await? {
        match event {
            OutboxEvent::Decided { entry, written: Some(written), replayed, .. } => {
                let word = if written.is_satisfied() { "fully satisfied" } else { "not fully satisfied" };
                println!(
                    "entry {} is decided, {word}{}",
                    entry.0,
                    if replayed { " by an earlier request" } else { "" }
                );
            }
            OutboxEvent::Waiting { time, error, .. } => {
                println!("sent again in {} s: {error}", time.as_secs())
            }
            other => println!("needs a decision: {other:?}"),
        }
    }
    println!("{} removed and overwritten", outbox.forget_decided().await?);
    Ok(())
}
