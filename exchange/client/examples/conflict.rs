//! Two programs change one lot: the one that comes second reads what is there now, merges, and asks the member.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example conflict`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Outbox, Replica, StockChanges,
    api::{
        scopes::Scope,
        types::{Quantity, QuantityUnit, StockLot},
    },
    changes::{Held, quantity},
    outbox::Written,
    replica::{Merge, Question, merge_lot},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await?;
    let connection = exchange.connection().await?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.session(&connection).await?;
    sync.once().await?;
    let lots = replica.stock().collect::<Result<Vec<_>, _>>()?;
    let lot = lots.iter().find(|lot| lot.quantity.unit == QuantityUnit::Scu).ok_or("no lot in SCU")?;
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;

    // Somebody else, whom this program does not see: another one of the member's, or the member on the web.
    set(&outbox, lot, &quantity::scu("100")?).await?;
    // The member types this here, before the lot as it was read: the exchange refuses to overwrite what nobody saw.
    let mine = quantity::scu("142.5")?;
    if set(&outbox, lot, &mine).await? {
        return Err("nobody came in between".into());
    }

    // Read what is there now, and merge: what both sides agreed on, what it is here, what it is there.
    sync.area(Area::Stock).await?;
    let now = replica.lot(&lot.key)?;
    let theirs = now.as_ref().map(|lot| &lot.quantity);
    let removal = replica.removal(Area::Stock, lot.key.as_str())?;
    let wanted = match merge_lot(Some(&lot.quantity), Some(&mine), theirs, removal.as_ref()) {
        Merge::Ask(Question::Differs(what)) => {
            println!("both changed the {}: the member is asked, and says {} SCU", what.concat(), mine.amount);
            mine
        }
        Merge::Send(quantity) => quantity,
        other => return Err(format!("nothing is left to be sent: {other:?}").into()),
    };
    // A new change, from what the lot holds now.
    let done = set(&outbox, &now.ok_or("the lot is gone")?, &wanted).await?;
    println!("{}", if done { "and the exchange has it" } else { "somebody came in between again" });
    Ok(())
}

/// Sets what a lot holds, if it still holds what it held when it was read; whether it did.
async fn set(outbox: &Outbox, lot: &StockLot, to: &Quantity) -> common::Result<bool> {
    let mut changes = StockChanges::new();
    changes.set(Held::of(lot)?, to.clone())?;
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    let Some(Written::Stock(outcome)) = outbox.outcome(entry).await? else {
        return Err("it is not decided yet: `flush` goes on later".into());
    };
    for (_, remedy) in outcome.open() {
        println!("{} to {} SCU is refused: {}", lot.quantity.amount, to.amount, remedy.text());
    }
    Ok(outcome.is_as_asked())
}
