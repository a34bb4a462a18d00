//! Names of things: looked up in batches, remembered, and sent by their keys from then on.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example catalogue`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    CatalogueMemory, Resolution,
    api::{scopes::Scope, types::CatalogKind},
    changes::known::Known,
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead]).await?;
    // `CatalogueMemory::from_json`, where an earlier run wrote one.
    let catalogue = exchange.catalogue(CatalogueMemory::default());
    let names = ["Sandbox Metal", "Sandbox Mettal", "Nothing at all"];
    let by_name = |name: &str| Known { name: Some(name.to_owned()), ..Known::default() }.item_ref();
    let references = names.into_iter().map(by_name).collect::<Result<Vec<_>, _>>()?;

    let found = catalogue.resolve(CatalogKind::Material, &references).await?;
    for ((name, reference), lookup) in names.iter().zip(&references).zip(found) {
        match lookup.resolution {
            Resolution::Resolved(entry) => println!("{name} is {}", entry.bt.as_str()),
            Resolution::Ambiguous(entries) => {
                // The member picks one, and is not asked again.
                let picked = entries.into_iter().next().ok_or("nothing to pick from")?;
                println!("{name} may be {}: the member says yes", picked.name);
                catalogue.picked(CatalogKind::Material, reference, picked);
            }
            _ => println!("{name} is nothing that the exchange knows: it is sent in no change"),
        }
    }
    let sent = catalogue.sendable(CatalogKind::Material, &references[1]);
    println!("sent from now on: {:?} as {:?}", sent.name, sent.bt);
    // Keys stay: write this down, and no name is asked for twice.
    println!("{} bytes to remember", catalogue.remember().to_json().len());

    for place in catalogue.locations().await?.iter() {
        println!("a place for stock and ships: {}", place.name);
    }
    Ok(())
}
