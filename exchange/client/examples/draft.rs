//! Stages blueprints as a draft, which the member reviews and accepts in a browser.
//!
//! Start `cargo xtask sandbox`, set the variable that it prints, then run
//! `cargo run -p exchange-client --example draft`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

#[path = "common/setup.rs"]
mod common;

use exchange_client::{EnvelopeBlueprint, api::scopes::Scope, changes::known::KnownItem};

#[tokio::main]
async fn main() -> common::Result {
    let exchange = common::sign_in(&[Scope::ExchangeDraftsBlueprints]).await?;
    let mut envelope = exchange.envelope()?;
    for name in ["Sandbox Knife", "SBX Rifle"] {
        let product = KnownItem { name: Some(name.to_owned()), ..KnownItem::default() }.item_ref()?;
        envelope.add(EnvelopeBlueprint::new(&product)?)?;
    }
    let envelope = envelope.seal();
    println!("{} blueprints; as a file:\n{}", envelope.len(), envelope.to_json_text()?);

    // If the response is lost, call `stage` again. It uses the same key, so the draft is staged only once.
    let mut staging = exchange.drafts().blueprints(envelope);
    let handoff = staging.stage().await?;
    // The link is a one-time secret. Pass it to the browser and never print it.
    let link = handoff.frontend_url().expose();
    println!("staged a draft of kind {}; its link has {} characters", handoff.kind(), link.len());
    println!("its debug output: {handoff:?}");
    Ok(())
}
