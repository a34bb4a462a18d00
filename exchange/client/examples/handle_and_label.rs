//! What a program asks after the sign-in: whether the game account is the member's, and what this installation is called.
//!
//! `cargo xtask sandbox`, then with the variable that it prints
//! `cargo run -p exchange-client --example handle_and_label`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{HandleCheck, Label, MachineNames, api::scopes::Scope};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead]).await?;
    // Read from the game; it goes to this check and nowhere else, and is asked about once in a session.
    for handle in ["Sandbox_Member", "Somebody_Else"] {
        let check = exchange.handles().check(handle).await?;
        println!("{}", check.text());
        match check {
            check if check.may_sync() => println!("  -> synchronise"),
            HandleCheck::Mismatch => println!("  -> stop, and let the member look at it"),
            // Yes is told by `handles().confirmed`.
            _ => println!("  -> ask the member whether it is theirs"),
        }
    }

    // The member's words, by which they find this installation among their applications: never a computer's name.
    let machine = MachineNames::of_this_computer();
    let label = Label::new("Gaming desk", &machine)?;
    println!("called {}", exchange.label(&label).await?.label.as_str());
    if let Err(why) = Label::new("desk:1", &machine) {
        println!("desk:1 is no label: {why}");
    }
    Ok(())
}
