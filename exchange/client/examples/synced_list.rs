//! A synchronized list in 20 lines: signs in, reads the member's stock, and prints it.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example synced_list`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use exchange_client::{
    ClientIdentity, Exchange, ExchangeAddress, MemoryCredentials, Replica, Session, api::scopes::Scope,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address =
        ExchangeAddress::from_variable(|name| std::env::var(name).ok())?.ok_or("set EXCHANGE_SANDBOX")?;
    let identity = ClientIdentity::new("sandbox-client", "StockList", "1.0.0", "https://desk.example")?;
    let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new()).open().await?;

    let login = session.sign_in(&[Scope::ExchangeStockRead]).await?;
    println!("Open {} and type {}", login.verification_uri(), login.user_code());
    login.finish().await?;

    let exchange = Exchange::builder(address, identity).build(&session)?;
    let replica = Replica::in_memory();
    let sync = exchange.sync(&replica);
    sync.begin_session(&exchange.connection().await?).await?;
    sync.sync_once().await?;

    for lot in replica.stock() {
        let lot = lot?;
        println!(
            "{} {} of {} at {}",
            lot.quantity.amount, lot.quantity.unit, lot.material.name, lot.location.name
        );
    }
    Ok(())
}
