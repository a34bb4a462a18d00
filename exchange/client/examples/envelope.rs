//! A file of blueprints for the web import, written and checked without an exchange.
//!
//! `cargo run -p exchange-client --example envelope`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use exchange_client::{
    EnvelopeBlueprint, EnvelopeBuilder, Environment, Identity,
    api::types::{ProvenanceSource, Timestamp},
    changes::known::Known,
    check_envelope,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Identity::new("sandbox-client", "ExchangeExamples", "1.0.0", "https://desk.example")?;
    let mut envelope = EnvelopeBuilder::new(&program, Environment::system().now().wall)?;
    for name in ["Sandbox Knife", "SBX Rifle"] {
        // All that is known of it: the more, the surer the exchange recognises it.
        let product =
            Known { name: Some(name.to_owned()), name_locale: Some("en".to_owned()), ..Known::default() };
        let blueprint = EnvelopeBlueprint::new(&product.item_ref()?)?;
        let blueprint = blueprint.acquired_at(Timestamp::new("2026-01-31T12:00:00Z")?)?;
        envelope.add(blueprint.known_from(ProvenanceSource::Log, None)?)?;
    }
    let file = std::env::temp_dir().join(format!("blueprints-{}.json", std::process::id()));
    // Whole or not at all, for its owner alone.
    envelope.seal().write_to(&file)?;

    let checked = check_envelope(&std::fs::read(&file)?)?;
    println!("{} blueprints, which the web import takes", checked.envelope().items.len());
    // Places, never values: paths of files tell others about this computer.
    println!("private: {:?}, not declared by the contract: {:?}", checked.private(), checked.undeclared());
    std::fs::remove_file(file)?;
    if let Err(fault) = check_envelope(b"{}") {
        println!("no envelope: {fault}");
    }
    Ok(())
}
