//! The low-level feed API. A state machine returns the next action, and this program performs it and stores
//! the position.
//!
//! `Sync` does the same for all areas, with a schedule and back-off. Use the low-level API in programs that
//! have their own loop or store.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example feed`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, Error, ErrorKind, Exchange, MemoryReplica,
    api::{calls::BlueprintsReadOptions, scopes::Scope, types::Blueprint},
    feed::{Feed, FeedAction, FeedInput, FeedReader},
    replica::{CommitOutcome, ReplicaStore},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeBlueprintsRead]).await?;
    // A position is valid only for the reader that it was created for, so both are stored together.
    let reader = FeedReader::from_connection(&exchange.connection().await?);
    // The store of entries and positions. This one is in memory; a real program uses a persistent store.
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
    reader: &FeedReader,
) -> Result<(), Error> {
    let mut input =
        FeedInput::Begin { area_state: store.area_state(Area::Blueprints)?, reader: reader.clone() };
    loop {
        let step = feed.handle_input(input)?;
        if let Some(event) = step.event {
            println!("  {:?}: {} entries, {} removed", event.phase, event.changed.len(), event.removed.len());
        }
        input = match step.action {
            FeedAction::Read(from) => {
                println!("  next page from {from:?}");
                let mut page = BlueprintsReadOptions::new().limit(4);
                if let Some(cursor) = from.cursor() {
                    page = page.cursor(cursor.to_string());
                }
                let asked_at = exchange.environment().now().wall;
                match exchange.api().blueprints_read(page).await.map_err(Error::from) {
                    Ok(answer) => FeedInput::Page { page: Box::new(answer.into_body()), asked_at },
                    Err(error) if error.kind() == ErrorKind::CursorExpired => FeedInput::Expired,
                    Err(error) => return Err(error),
                }
            }
            // Entries and position are committed in one transaction.
            FeedAction::Commit(commit) => match store.commit(&commit)? {
                CommitOutcome::Done(tally) => FeedInput::Committed(tally),
                CommitOutcome::Superseded(area_state) => FeedInput::Superseded(area_state),
            },
            FeedAction::Done => {
                println!("  complete: {} blueprints in the store", store.count(Area::Blueprints)?);
                return Ok(());
            }
            FeedAction::Stuck(why) => return Err(Error::new(ErrorKind::Protocol, why.to_string())),
            _ => return Err(Error::new(ErrorKind::Bug, "the feed ignored the response that it requested")),
        };
    }
}
