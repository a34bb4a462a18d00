//! Looks up catalogue names in one batch, caches the results, and then sends keys instead of names.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example catalogue`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{
    CatalogMemory, ReferenceResolution,
    api::{scopes::Scope, types::CatalogKind},
    changes::known::KnownItem,
};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead]).await?;
    // Use `CatalogMemory::from_json` if an earlier run saved its cache.
    let catalogue = exchange.catalog(CatalogMemory::default());
    let names = ["Sandbox Metal", "Sandbox Mettal", "Nothing at all"];
    let by_name = |name: &str| KnownItem { name: Some(name.to_owned()), ..KnownItem::default() }.item_ref();
    let references = names.into_iter().map(by_name).collect::<Result<Vec<_>, _>>()?;

    let found = catalogue.resolve(CatalogKind::Material, &references).await?;
    for ((name, reference), lookup) in names.iter().zip(&references).zip(found) {
        match lookup.resolution {
            ReferenceResolution::Resolved(entry) => println!("{name} is {}", entry.bt.as_str()),
            ReferenceResolution::Ambiguous(entries) => {
                // The member selects one entry. The choice is stored.
                let picked = entries.into_iter().next().ok_or("nothing to pick from")?;
                println!("{name} may be {}: the member selects it", picked.name);
                catalogue.record_choice(CatalogKind::Material, reference, picked);
            }
            _ => println!("{name} is unknown to the exchange and is not sent"),
        }
    }
    let sent = catalogue.sendable(CatalogKind::Material, &references[1]);
    println!("sent from now on: {:?} as {:?}", sent.name, sent.bt);
    // Keys are permanent. If the cache is saved, no name has to be looked up twice.
    println!("{} bytes to remember", catalogue.memory_snapshot().to_json().len());

    for place in catalogue.locations().await?.iter() {
        println!("a place for stock and ships: {}", place.name);
    }
    Ok(())
}
