//! Changes stock and prints the outcome of each op, first as a preview and then for real.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example change_set`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Replica, StockChanges,
    api::{
        scopes::Scope,
        types::{QuantityUnit, StockOp},
    },
    changes::{ChangeSetOutcome, ExpectedLot, LotSpec, known::KnownItem, location_by_name, quantity},
    outbox::WriteOutcome,
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
    let connection = exchange.connection().await?;
    let sync = exchange.sync(&Replica::in_memory());
    sync.begin_session(&connection).await?;
    sync.sync_once().await?;
    let lots = sync.replica().stock().collect::<Result<Vec<_>, _>>()?;
    let lot = lots.iter().find(|lot| lot.quantity.unit == QuantityUnit::Scu).ok_or("no lot in SCU")?;

    let mut changes = StockChanges::new();
    // The op contains the lot as this program read it. The exchange reports a conflict if the lot has changed
    // since.
    changes.set_quantity(ExpectedLot::from_stock_lot(lot)?, quantity::scu("142.5")?)?;
    // The exchange does not know this location, so it rejects the op.
    let material =
        KnownItem { name: Some(lot.material.name.to_string()), ..KnownItem::default() }.item_ref()?;
    changes.set_quantity(
        LotSpec::new(material, location_by_name("The far side of nowhere")?).expecting_nothing(),
        quantity::scu("1")?,
    )?;

    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    for outcome in outbox.preview_changes(changes.clone()).await? {
        print_outcome(&outcome);
    }
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    match outbox.load_outcome(entry).await? {
        Some(WriteOutcome::Stock(outcome)) => print_outcome(&outcome),
        _ => println!("not decided yet: {:?}", outbox.entry(entry).await?.state()),
    }
    // The change is visible in the replica after the feed is read (WRT-08).
    sync.sync_area(Area::Stock).await?;
    let now = sync.replica().lot(&lot.key)?.ok_or("the lot is gone")?;
    println!("{} at {}: {} SCU", now.material.name, now.location.name, now.quantity.amount);
    Ok(())
}

fn print_outcome(outcome: &ChangeSetOutcome<StockOp>) {
    let word = if outcome.dry_run { "would be" } else { "is" };
    for (number, op) in (1..).zip(&outcome.ops) {
        match op.verdict.remedy() {
            None => println!("op {number} {word} satisfied"),
            Some(remedy) => println!("op {number} {word} rejected: {}", remedy.message()),
        }
    }
    for notice in outcome.notices() {
        println!("{notice}");
    }
}
