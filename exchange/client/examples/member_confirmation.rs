//! Sends a change that removes so much that the member has to confirm it on the website.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example member_confirmation`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Replica, StockChanges,
    api::{scopes::Scope, types::QuantityUnit},
    changes::{ExpectedLot, quantity},
    outbox::{ComparisonResult, EntryState},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
    let connection = exchange.connection().await?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.begin_session(&connection).await?;
    sync.sync_once().await?;

    let mut changes = StockChanges::new();
    for lot in replica.stock() {
        let lot = lot?;
        let nothing =
            if lot.quantity.unit == QuantityUnit::Scu { quantity::scu("0")? } else { quantity::pieces(0)? };
        changes.set_quantity(ExpectedLot::from_stock_lot(&lot)?, nothing)?;
    }
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    if outbox.entry(entry).await?.state() != EntryState::Held {
        return Err("so little needs no confirmation".into());
    }

    // Request a link only if the member wants to confirm now, because a new link invalidates the previous
    // one. Pass the link only to the browser.
    let link = outbox.request_confirmation_link(entry).await?.ok_or("it is not held any more")?;
    println!(
        "held; the member opens a link of {} characters, whose debug output is {link:?}",
        link.expose().len()
    );

    // After the member has decided, the feed shows the decision.
    sync.sync_area(Area::Stock).await?;
    match replica.count(Area::Stock)? {
        0 => {
            outbox.resolve_unknown(entry, ComparisonResult::Applied).await?;
            println!("confirmed and applied");
        }
        left => {
            // `ComparisonResult::Missing` would send the change again.
            outbox.discard(entry).await?;
            println!("not confirmed: {left} lots remain, and the change is dropped");
        }
    }
    Ok(())
}
