//! Ships for the first time: what is on both sides is linked before anything is created; later changes are merged.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example first_ships`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Outbox, Replica, ShipChanges,
    api::{
        scopes::Scope,
        types::{ExternalId, Ship, ShipName},
    },
    replica::{FirstShips, LocalShip, Merge, ShipValues, merge_ship},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeHangarRead, Scope::ExchangeHangarWrite]).await?;
    let connection = exchange.connection().await?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.session(&connection).await?;
    sync.once().await?;
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    let theirs = ships(&replica)?;

    // What this program has: a ship that the exchange has too, and one of the same type that is new.
    let known = theirs.iter().find(|ship| ship.name.is_some()).ok_or("no ship with a name")?;
    let same = ShipValues::of(known);
    let new = ShipValues { name: Some(ShipName::new("Short Haul")?), org_unit: None, ..same.clone() };
    let plan = FirstShips::plan([local("hangar-1", same)?, local("hangar-2", new)?], &theirs);
    for unsure in &plan.unsure {
        // `plan.decide` takes what the member says.
        println!("{:?} may be one of {} ships", unsure.local.external_id, unsure.candidates.len());
    }

    // Links first, and all of them: else every ship would be there twice.
    let mut links = ShipChanges::new();
    for link in plan.links()? {
        links.push(link)?;
    }
    println!("linked: {}", send(&outbox, links).await?);
    sync.area(Area::Ships).await?;
    let mut created = ShipChanges::new();
    for ship in plan.create(&ships(&replica)?)? {
        created.push(ship)?;
    }
    println!("created: {}", send(&outbox, created).await?);
    sync.area(Area::Ships).await?;
    // Both sides have the same now: what either changes later is told from this.
    let agreed = ships(&replica)?;
    replica.agree(&agreed, &[])?;

    // Later: the member gave the ship another name here, and may have moved it on the web meanwhile.
    let id = ExternalId::new("hangar-2")?;
    let ship = agreed.iter().find(|ship| ship.external_id.as_ref() == Some(&id)).ok_or("no such ship")?;
    let base = ShipValues::of(ship);
    let mine = ShipValues { name: Some(ShipName::new("Shorter Haul")?), ..base.clone() };
    let now = replica.ship(&ship.ship_id)?.ok_or("the ship is gone")?;
    match merge_ship(Some(&base), Some(&mine), Some(&ShipValues::of(&now)), None) {
        Merge::Send(values) => {
            let mut renamed = ShipChanges::new();
            renamed.push(values.upsert(id, Some(&now))?)?;
            println!("renamed: {}", send(&outbox, renamed).await?);
        }
        other => println!("nothing to be sent: {other:?}"),
    }
    Ok(())
}

/// A ship of this program, under the id that it has here.
fn local(id: &str, values: ShipValues) -> common::Result<LocalShip> {
    Ok(LocalShip { external_id: ExternalId::new(id)?, values })
}

fn ships(replica: &Replica) -> common::Result<Vec<Ship>> {
    Ok(replica.ships().collect::<Result<Vec<_>, _>>()?)
}

/// Sends changes; whether all of them are there now.
async fn send(outbox: &Outbox, changes: ShipChanges) -> common::Result<bool> {
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    Ok(outbox.outcome(entry).await?.is_some_and(|written| written.is_as_asked()))
}
