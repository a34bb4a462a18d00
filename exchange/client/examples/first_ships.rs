//! Uploads ships for the first time. Ships that exist on both sides are linked before new ones are created.
//! Later changes are merged.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example first_ships`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    Area, MemoryOutbox, Outbox, Replica, ShipChanges,
    api::{
        scopes::Scope,
        types::{ExternalId, Ship, ShipName},
    },
    replica::{LocalShip, MergeAction, ShipMatchPlan, ShipValues, merge_ship},
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeHangarRead, Scope::ExchangeHangarWrite]).await?;
    let connection = exchange.connection().await?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.begin_session(&connection).await?;
    sync.sync_once().await?;
    let outbox = exchange.outbox(MemoryOutbox::new(), &connection)?;
    let theirs = ships(&replica)?;

    // The local ships: one that also exists on the exchange, and a new one of the same type.
    let known = theirs.iter().find(|ship| ship.name.is_some()).ok_or("no ship with a name")?;
    let same = ShipValues::from_ship(known);
    let new = ShipValues { name: Some(ShipName::new("Short Haul")?), org_unit: None, ..same.clone() };
    let plan = ShipMatchPlan::match_ships([local("hangar-1", same)?, local("hangar-2", new)?], &theirs);
    for unsure in &plan.ambiguous {
        // If the member chooses a candidate, pass the choice to `plan.decide`.
        println!("{:?} may be one of {} ships", unsure.local.external_id, unsure.candidates.len());
    }

    // Send all links before new ships, because unlinked ships would be created a second time.
    let mut links = ShipChanges::new();
    for link in plan.link_ops()? {
        links.push(link)?;
    }
    println!("linked: {}", send(&outbox, links).await?);
    sync.sync_area(Area::Ships).await?;
    let mut created = ShipChanges::new();
    for ship in plan.create_ops(&ships(&replica)?)? {
        created.push(ship)?;
    }
    println!("created: {}", send(&outbox, created).await?);
    sync.sync_area(Area::Ships).await?;
    // Both sides are equal now. Later changes are compared with this state.
    let agreed = ships(&replica)?;
    replica.set_baseline(&agreed, &[])?;

    // Later, the member renames the ship locally, and may have changed it on the website as well.
    let id = ExternalId::new("hangar-2")?;
    let ship = agreed.iter().find(|ship| ship.external_id.as_ref() == Some(&id)).ok_or("no such ship")?;
    let base = ShipValues::from_ship(ship);
    let mine = ShipValues { name: Some(ShipName::new("Shorter Haul")?), ..base.clone() };
    let now = replica.ship(&ship.ship_id)?.ok_or("the ship is gone")?;
    match merge_ship(Some(&base), Some(&mine), Some(&ShipValues::from_ship(&now)), None) {
        MergeAction::Send(values) => {
            let mut renamed = ShipChanges::new();
            renamed.push(values.to_upsert(id, Some(&now))?)?;
            println!("renamed: {}", send(&outbox, renamed).await?);
        }
        other => println!("nothing to send: {other:?}"),
    }
    Ok(())
}

/// Creates a ship of this program with its local id.
fn local(id: &str, values: ShipValues) -> common::Result<LocalShip> {
    Ok(LocalShip { external_id: ExternalId::new(id)?, values })
}

fn ships(replica: &Replica) -> common::Result<Vec<Ship>> {
    Ok(replica.ships().collect::<Result<Vec<_>, _>>()?)
}

/// Sends changes. Returns true if all of them were applied.
async fn send(outbox: &Outbox, changes: ShipChanges) -> common::Result<bool> {
    let entry = outbox.enqueue(changes).await?[0];
    outbox.flush().await?;
    Ok(outbox.load_outcome(entry).await?.is_some_and(|written| written.is_satisfied()))
}
