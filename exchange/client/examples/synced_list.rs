//! From nothing to a synchronised list: sign in, read the member's stock, print it.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example synced_list`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use exchange_client::{Exchange, Identity, InMemory, Place, Replica, Session, api::scopes::Scope};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = Place::of_developer(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = Identity::new("sandbox-client", "StockList", "1.0.0", "https://desk.example")?;
    let session = Session::builder(&place, &identity).credentials(InMemory::new()).open().await?;

    let login = session.sign_in(&[Scope::ExchangeStockRead]).await?;
    println!("Open {} and type {}", login.verification_uri(), login.user_code());
    login.finish().await?;

    let exchange = Exchange::builder(place, identity).build(&session)?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.session(&exchange.connection().await?).await?;
    sync.once().await?;

    for lot in replica.stock() {
        let lot = lot?;
        println!(
            "{} {} of {} at {}",
            lot.quantity.amount, lot.quantity.unit, lot.material.name, lot.location.name
        );
    }
    Ok(())
}
