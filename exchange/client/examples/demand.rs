//! Reads the demand of the member's units: when the view is opened, and then at most once every five minutes.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example demand`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{Demand, DemandCadence, api::scopes::Scope};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeDemandRead]).await?;
    let view = exchange.demand(DemandCadence::default());
    match view.read_if_due().await?.as_deref() {
        Some(Demand::Open(open)) => {
            println!("as of {}, visible only to this member", open.updated_at().as_str());
            // Count by items or by materials. Never add the two, because an order would then be counted
            // twice.
            for line in open.by_items().items() {
                let name = line.item.name.as_deref().unwrap_or("an item without a name");
                let craftable = if line.craftable_by_me { ", craftable by you" } else { "" };
                println!("wanted: {} of {name}{craftable}", line.open_quantity.amount);
            }
            for line in open.by_items().materials() {
                let name = line.material.name.as_deref().unwrap_or("a material without a name");
                let (amount, unit) = (&line.open_quantity.amount, &line.open_quantity.unit);
                println!("wanted: {amount} {unit} of {name}, quality {} or better", line.min_quality.get());
            }
        }
        // Show the member the reason instead of an empty list.
        Some(Demand::Withheld(why)) => println!("{why}"),
        None => println!("the demand is not read yet"),
    }
    // Until then, `look` returns the cached demand, which is kept for at most seven days.
    println!("next read in {} s at the earliest", view.due_in().await.as_secs());
    Ok(())
}
