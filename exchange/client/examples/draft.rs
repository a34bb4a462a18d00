//! Blueprints staged as a draft, which the member looks at and takes over in a browser.
//!
//! `cargo xtask sandbox`, then with the variable that it prints `cargo run -p exchange-client --example draft`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{EnvelopeBlueprint, api::scopes::Scope, changes::known::Known};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeDraftsBlueprints]).await?;
    let mut envelope = exchange.envelope()?;
    for name in ["Sandbox Knife", "SBX Rifle"] {
        let product = Known { name: Some(name.to_owned()), ..Known::default() }.item_ref()?;
        envelope.add(EnvelopeBlueprint::new(&product)?)?;
    }
    let envelope = envelope.seal();
    println!("{} blueprints; the same as a file:\n{}", envelope.len(), envelope.to_text()?);

    // Should the answer be lost, `stage` is called again: it goes under the same key, and is staged once.
    let mut staging = exchange.drafts().blueprints(envelope);
    let handoff = staging.stage().await?;
    // The link is a secret that works once: hand it to the browser, and print it nowhere.
    let link = handoff.frontend_url().expose();
    println!("staged a draft of kind {}; its link has {} characters", handoff.kind(), link.len());
    println!("what is printed of it: {handoff:?}");
    Ok(())
}
