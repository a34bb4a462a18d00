//! Checks whether a game account belongs to the member, and sets the label of this installation. Both require
//! a sign-in.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example handle_and_label`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{ComputerNames, HandleCheck, Label, api::scopes::Scope};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeStockRead]).await?;
    // Handles come from the game. Each handle is sent only for this check, and only once per session.
    for handle in ["Sandbox_Member", "Somebody_Else"] {
        let check = exchange.handles().check(handle).await?;
        println!("{}", check.message());
        match check {
            check if check.may_sync() => println!("  -> synchronise"),
            HandleCheck::Mismatch => println!("  -> stop, and show the mismatch to the member"),
            // If the member confirms that the handle is theirs, call `handles().confirm`.
            _ => println!("  -> ask the member whether it is theirs"),
        }
    }

    // The member chooses the label, which identifies this installation to the member. It must not be the
    // computer's name.
    let machine = ComputerNames::detect();
    let label = Label::new("Gaming desk", &machine)?;
    println!("label: {}", exchange.set_label(&label).await?.label.as_str());
    if let Err(why) = Label::new("desk:1", &machine) {
        println!("desk:1 is not a valid label: {why}");
    }
    Ok(())
}
