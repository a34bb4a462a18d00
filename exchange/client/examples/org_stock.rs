//! The pool of a unit: what is there, a booking, and what becomes of its entry.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example org_stock`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, Error, MemoryOutbox, OrgStockChanges, Outbox, Replica,
    api::{
        scopes::Scope,
        types::{BookIn, OrgStockLot, Quality, UnitId},
    },
    changes::{Take, known::Known, place, quantity},
};

#[tokio::main]
async fn main() -> common::Result {
    // Entries, with their holders and notes, are shown to Logisticians who allowed the details.
    let scopes = [Scope::ExchangeOrgstockRead, Scope::ExchangeOrgstockDetails, Scope::ExchangeOrgstockWrite];
    let exchange = common::sign_in(&scopes).await?;
    let connection = exchange.connection().await?;
    // Kept for seven days at most, in memory as in files.
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.session(&connection).await?;
    sync.once().await?;
    println!("{} lots in the pools of the member's units", replica.count(Area::OrgStock)?);

    // Holders are named by the roster, under references that are this program's alone.
    let unit = UnitId::new("unit-squadron")?;
    let roster = exchange.api().org_stock_members(&unit).await.map_err(Error::from)?.into_body();
    let holder = roster.items.first().ok_or("nobody can hold stock there")?;
    let ore = Known { name: Some("Sandbox Ore".to_owned()), ..Known::default() };
    let book_in = BookIn::builder()
        .unit(unit.clone())
        .holder(holder.ref_.clone())
        .material(ore.item_ref()?)
        .location(place("Sandbox City Hangar")?)
        .quality(Quality::new(123)?)
        .stolen(false)
        .quantity(quantity::scu("2")?);
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    let mut changes = OrgStockChanges::new();
    changes.push(book_in.build()?)?;
    println!("booked in: {}", send(&outbox, changes).await?);

    // What was sent shows once the feed was read (WRT-08).
    sync.area(Area::OrgStock).await?;
    let lot = lot_of(&replica, 123)?;
    let entry = lot.entries.iter().flatten().next().ok_or("the entries are not shown to this member")?;
    // Ops on one entry, one after another: each knows the version that the one before it leaves behind.
    let mut changes = OrgStockChanges::new();
    let mut on_entry = changes.on_entry(lot.unit.id.clone(), entry);
    on_entry.note(Some("for the next run".to_owned()))?;
    on_entry.book_out(Take::of(quantity::scu("0.5")?))?;
    println!("noted and booked out: {}", send(&outbox, changes).await?);
    sync.area(Area::OrgStock).await?;
    println!("{} SCU are left", lot_of(&replica, 123)?.quantity.amount);
    Ok(())
}

fn lot_of(replica: &Replica, quality: i64) -> common::Result<OrgStockLot> {
    let lots = replica.org_stock().collect::<Result<Vec<_>, _>>()?;
    Ok(lots.into_iter().find(|lot| lot.quality.get() == quality).ok_or("the lot is not there")?)
}

/// Sends changes; whether all of them are there now.
async fn send(outbox: &Outbox, changes: OrgStockChanges) -> common::Result<bool> {
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    Ok(outbox.outcome(entry).await?.is_some_and(|written| written.is_as_asked()))
}
