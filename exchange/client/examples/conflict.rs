//! Two programs change one lot. The second one gets a conflict, reads the current state, merges, and lets the
//! member decide.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example conflict`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Outbox, Replica, StockChanges,
    api::{
        scopes::Scope,
        types::{Quantity, QuantityUnit, StockLot},
    },
    changes::{ExpectedLot, quantity},
    outbox::WriteOutcome,
    replica::{MergeAction, MergeConflict, merge_lot},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
    let connection = exchange.connection().await?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.begin_session(&connection).await?;
    sync.sync_once().await?;
    let lots = replica.stock().collect::<Result<Vec<_>, _>>()?;
    let lot = lots.iter().find(|lot| lot.quantity.unit == QuantityUnit::Scu).ok_or("no lot in SCU")?;
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;

    // Simulate a concurrent change by another program of the member, or by the member on the website.
    set(&outbox, lot, &quantity::scu("100")?).await?;
    // The member's input is based on the earlier state of the lot, so the exchange does not overwrite the
    // other change.
    let mine = quantity::scu("142.5")?;
    if set(&outbox, lot, &mine).await? {
        return Err("nobody came in between".into());
    }

    // Read the current state and merge three values: the common base, the local value, and the remote value.
    sync.sync_area(Area::Stock).await?;
    let now = replica.lot(&lot.key)?;
    let theirs = now.as_ref().map(|lot| &lot.quantity);
    let removal = replica.removal(Area::Stock, lot.key.as_str())?;
    let wanted = match merge_lot(Some(&lot.quantity), Some(&mine), theirs, removal.as_ref()) {
        MergeAction::AskMember(MergeConflict::FieldsDiffer(what)) => {
            println!("conflict in {}: the member keeps {} SCU", what.concat(), mine.amount);
            mine
        }
        MergeAction::Send(quantity) => quantity,
        other => return Err(format!("nothing is left to be sent: {other:?}").into()),
    };
    // Send a new change that is based on the current state of the lot.
    let done = set(&outbox, &now.ok_or("the lot is gone")?, &wanted).await?;
    println!(
        "{}",
        if done { "the resolved change is applied" } else { "another writer changed the lot again" }
    );
    Ok(())
}

/// Sets the quantity of a lot unless the lot has changed since it was read. Returns true if it was set.
async fn set(outbox: &Outbox, lot: &StockLot, to: &Quantity) -> common::Result<bool> {
    let mut changes = StockChanges::new();
    changes.set_quantity(ExpectedLot::from_stock_lot(lot)?, to.clone())?;
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    let Some(WriteOutcome::Stock(outcome)) = outbox.load_outcome(entry).await? else {
        return Err("it is not decided yet: `flush` goes on later".into());
    };
    for (_, remedy) in outcome.unapplied_ops() {
        println!("{} to {} SCU is rejected: {}", lot.quantity.amount, to.amount, remedy.message());
    }
    Ok(outcome.is_satisfied())
}
