//! A feed by hand: the machine says what to do next, this program does it, and keeps the position itself.
//!
//! `Sync` does the same for all areas, with schedule and back-off. This is for programs with a loop, or a store, of
//! their own.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example feed`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, Error, ErrorKind, Exchange, MemoryReplica,
    api::{calls::BlueprintsRead, scopes::Scope, types::Blueprint},
    feed::{Action, Feed, Input, Reader},
    replica::{Outcome, ReplicaStore},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeBlueprintsRead]).await?;
    // A position is worth nothing to another reader, so that it is kept with whose it is.
    let reader = Reader::of(&exchange.connection().await?);
    // The place of entries and position: here in memory, in a program a store of its own.
    let store = MemoryReplica::default();
    let mut feed = Feed::new();
    for round in ["first", "second"] {
        println!("The {round} round:");
        read(&exchange, &mut feed, &store, &reader).await?;
    }
    Ok(())
}

async fn read(
    exchange: &Exchange,
    feed: &mut Feed<Blueprint>,
    store: &impl ReplicaStore,
    reader: &Reader,
) -> Result<(), Error> {
    let mut input = Input::Go { kept: store.kept(Area::Blueprints)?, reader: reader.clone() };
    loop {
        let step = feed.handle(input)?;
        if let Some(event) = step.event {
            println!("  {:?}: {} entries, {} removed", event.phase, event.changed.len(), event.removed.len());
        }
        input = match step.action {
            Action::Read(from) => {
                println!("  reads on from {from:?}");
                let mut page = BlueprintsRead::new().limit(4);
                if let Some(cursor) = from.cursor() {
                    page = page.cursor(cursor.to_string());
                }
                let asked_at = exchange.environment().now().wall;
                match exchange.api().blueprints_read(page).await.map_err(Error::from) {
                    Ok(answer) => Input::Page { page: Box::new(answer.into_body()), asked_at },
                    Err(error) if error.kind() == ErrorKind::CursorExpired => Input::Expired,
                    Err(error) => return Err(error),
                }
            }
            // Entries and the place to read on from: together, or not at all.
            Action::Commit(commit) => match store.commit(&commit)? {
                Outcome::Done(tally) => Input::Committed(tally),
                Outcome::Superseded(kept) => Input::Superseded(kept),
            },
            Action::Done => {
                println!("  the end: {} blueprints are here", store.count(Area::Blueprints)?);
                return Ok(());
            }
            Action::Stuck(why) => return Err(Error::new(ErrorKind::Protocol, why.to_string())),
            _ => return Err(Error::new(ErrorKind::Bug, "the feed ignored its own answer")),
        };
    }
}
