//! Writes and checks a file of blueprints for the import on the website. Does not need an exchange.
//!
//! Run `cargo run -p exchange-client --example envelope`.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use exchange_client::{
    ClientIdentity, EnvelopeBlueprint, EnvelopeBuilder, Environment,
    api::types::{ProvenanceSource, Timestamp},
    changes::known::KnownItem,
    check_envelope,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = ClientIdentity::new("sandbox-client", "ExchangeExamples", "1.0.0", "https://desk.example")?;
    let mut envelope = EnvelopeBuilder::new(&program, Environment::system().now().wall)?;
    for name in ["Sandbox Knife", "SBX Rifle"] {
        // Set all data that is known about the product, because more data makes the match more reliable.
        let product = KnownItem {
            name: Some(name.to_owned()),
            name_locale: Some("en".to_owned()),
            ..KnownItem::default()
        };
        let blueprint = EnvelopeBlueprint::new(&product.item_ref()?)?;
        let blueprint = blueprint.with_acquired_at(Timestamp::new("2026-01-31T12:00:00Z")?)?;
        envelope.add(blueprint.with_provenance(ProvenanceSource::Log, None)?)?;
    }
    let file = std::env::temp_dir().join(format!("blueprints-{}.json", std::process::id()));
    // The file is written atomically, and only its owner can read it.
    envelope.seal().write_to(&file)?;

    let checked = check_envelope(&std::fs::read(&file)?)?;
    println!("{} blueprints in a valid envelope", checked.envelope().items.len());
    // The check returns positions and never values, because file paths would reveal details of this computer.
    println!(
        "private: {:?}, not declared by the contract: {:?}",
        checked.private(),
        checked.undeclared_pointers()
    );
    std::fs::remove_file(file)?;
    if let Err(fault) = check_envelope(b"{}") {
        println!("invalid envelope: {fault}");
    }
    Ok(())
}
