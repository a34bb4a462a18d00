//! A change that removes so much that the member has to confirm it on the web.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example held`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Replica, StockChanges,
    api::{scopes::Scope, types::QuantityUnit},
    changes::{Held, quantity},
    outbox::{Found, State},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
    let connection = exchange.connection().await?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.session(&connection).await?;
    sync.once().await?;

    let mut changes = StockChanges::new();
    for lot in replica.stock() {
        let lot = lot?;
        let nothing =
            if lot.quantity.unit == QuantityUnit::Scu { quantity::scu("0")? } else { quantity::pieces(0)? };
        changes.set(Held::of(&lot)?, nothing)?;
    }
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    if outbox.entry(entry).await?.state() != State::Held {
        return Err("so little needs no confirmation".into());
    }

    // Only when the member asks: each link ends the one before. It is a secret: the browser gets it, and nobody else.
    let link = outbox.confirmation(entry).await?.ok_or("it is not held any more")?;
    println!(
        "held; the member opens a link of {} characters, of which this is printed: {link:?}",
        link.expose().len()
    );

    // After the member was there the feed tells what they said.
    sync.area(Area::Stock).await?;
    match replica.count(Area::Stock)? {
        0 => {
            outbox.resolve(entry, Found::Applied).await?;
            println!("confirmed: it is done");
        }
        left => {
            // `Found::Missing` would send it anew.
            outbox.discard(entry).await?;
            println!("not confirmed: {left} lots are there still, and the change is given up");
        }
    }
    Ok(())
}
