//! Reads the stock pool of a unit, books stock in, and changes the new entry.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example org_stock`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, Error, MemoryOutbox, OrgStockChanges, Outbox, Replica,
    api::{
        scopes::Scope,
        types::{BookIn, OrgStockLot, Quality, UnitId},
    },
    changes::{StockSelection, known::KnownItem, location_by_name, quantity},
};

#[tokio::main]
async fn main() -> common::Result {
    // Entries with holders and notes are visible only to Logisticians, and require the details scope.
    let scopes = [Scope::ExchangeOrgstockRead, Scope::ExchangeOrgstockDetails, Scope::ExchangeOrgstockWrite];
    let exchange = common::sign_in(&scopes).await?;
    let connection = exchange.connection().await?;
    // The replica keeps this data for at most seven days, in memory as well as in files.
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.begin_session(&connection).await?;
    sync.sync_once().await?;
    println!("{} lots in the pools of the member's units", replica.count(Area::OrgStock)?);

    // The roster lists the holders. Their references are valid only for this program.
    let unit = UnitId::new("unit-squadron")?;
    let roster = exchange.api().org_stock_members(&unit).await.map_err(Error::from)?.into_body();
    let holder = roster.items.iter().flatten().next().ok_or("nobody can hold stock there")?;
    let ore = KnownItem { name: Some("Sandbox Ore".to_owned()), ..KnownItem::default() };
    let book_in = BookIn::builder()
        .unit(unit.clone())
        .holder(holder.ref_.clone())
        .material(ore.item_ref()?)
        .location(location_by_name("Sandbox City Hangar")?)
        .quality(Quality::new(123)?)
        .stolen(false)
        .quantity(quantity::scu("2")?);
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    let mut changes = OrgStockChanges::new();
    changes.push(book_in.build()?)?;
    println!("booked in: {}", send(&outbox, changes).await?);

    // The change is visible in the replica after the feed is read (WRT-08).
    sync.sync_area(Area::OrgStock).await?;
    let lot = lot_of(&replica, 123)?;
    let entry = lot.entries.iter().flatten().next().ok_or("the entries are not shown to this member")?;
    // Each of several ops on one entry uses the version that the previous op creates.
    let mut changes = OrgStockChanges::new();
    let mut on_entry = changes.on_entry(lot.unit.id.clone(), entry);
    on_entry.note(Some("for the next run".to_owned()))?;
    on_entry.book_out(StockSelection::new(quantity::scu("0.5")?))?;
    println!("noted and booked out: {}", send(&outbox, changes).await?);
    sync.sync_area(Area::OrgStock).await?;
    println!("{} SCU are left", lot_of(&replica, 123)?.quantity.amount);
    Ok(())
}

fn lot_of(replica: &Replica, quality: i64) -> common::Result<OrgStockLot> {
    let lots = replica.org_stock().collect::<Result<Vec<_>, _>>()?;
    Ok(lots.into_iter().find(|lot| lot.quality.get() == quality).ok_or("the lot is not there")?)
}

/// Sends changes. Returns true if all of them were applied.
async fn send(outbox: &Outbox, changes: OrgStockChanges) -> common::Result<bool> {
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    Ok(outbox.load_outcome(entry).await?.is_some_and(|written| written.is_satisfied()))
}
