//! Changes of stock, and what became of each op: first as a preview, then for good.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example change_set`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Replica, StockChanges,
    api::{
        scopes::Scope,
        types::{QuantityUnit, StockOp},
    },
    changes::{Held, Lot, Outcome, known::Known, place, quantity},
    outbox::Written,
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
    let connection = exchange.connection().await?;
    let sync = exchange.sync(&Replica::in_memory());
    sync.session(&connection).await?;
    sync.once().await?;
    let lots = sync.replica().stock().collect::<Result<Vec<_>, _>>()?;
    let lot = lots.iter().find(|lot| lot.quantity.unit == QuantityUnit::Scu).ok_or("no lot in SCU")?;

    let mut changes = StockChanges::new();
    // A lot as this program saw it: should it have changed meanwhile, the exchange says so.
    changes.set(Held::of(lot)?, quantity::scu("142.5")?)?;
    // A place that the exchange does not know.
    let material = Known { name: Some(lot.material.name.to_string()), ..Known::default() }.item_ref()?;
    changes.set(Lot::new(material, place("The far side of nowhere")?).empty(), quantity::scu("1")?)?;

    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    for outcome in outbox.preview(changes.clone()).await? {
        tell(&outcome);
    }
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    match outbox.outcome(entry).await? {
        Some(Written::Stock(outcome)) => tell(&outcome),
        _ => println!("not decided yet: {:?}", outbox.entry(entry).await?.state()),
    }
    // What was sent shows in the replica once the feed was read (WRT-08).
    sync.area(Area::Stock).await?;
    let now = sync.replica().lot(&lot.key)?.ok_or("the lot is gone")?;
    println!("{} at {}: {} SCU", now.material.name, now.location.name, now.quantity.amount);
    Ok(())
}

fn tell(outcome: &Outcome<StockOp>) {
    let word = if outcome.dry_run { "would be" } else { "is" };
    for (number, settled) in (1..).zip(&outcome.ops) {
        match settled.verdict.remedy() {
            None => println!("op {number} {word} as asked"),
            Some(remedy) => println!("op {number} {word} refused: {}", remedy.text()),
        }
    }
    for notice in outcome.notices() {
        println!("{notice}");
    }
}
