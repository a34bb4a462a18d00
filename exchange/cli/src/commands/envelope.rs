//! `envelope`: files for the web import (DRF-01 to DRF-03).

use std::{error::Error as _, path::Path};

use exchange_client::{
    EnvelopeBlueprint, EnvelopeBuilder, EnvelopeFault, Environment, Error, Identity, SealedEnvelope,
    api::{
        Contract as _, Json,
        runtime::violation::Violations,
        types::{ItemRef, Timestamp},
    },
    check_envelope,
};
use serde_json::json;

use super::input;
use crate::{
    args::{Envelope, EnvelopeCheck, EnvelopeWrite, values::Reference},
    config,
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Facts,
};

pub(super) async fn run(command: Envelope, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Envelope::Write(args) => write(&args, output),
        Envelope::Check(args) => check(&args, output).await,
    }
}

/// The reference that was typed, as the contract has it.
pub(super) fn item_ref(reference: &Reference) -> Result<ItemRef, Failure> {
    ItemRef::parse_valid(reference.0.to_string().as_bytes())
        .map_err(|_| Failure::usage(format!("{} is no reference to the catalogue", reference.0)))
}

/// An envelope of these products, by this program.
pub(super) fn sealed(
    program: &Identity,
    products: &[Reference],
    acquired_at: Option<&str>,
) -> Result<SealedEnvelope, Failure> {
    let moment = |text: &str| {
        Timestamp::new(text)
            .map_err(|_: Violations| Failure::usage("a moment is written like 2026-01-31T12:00:00Z"))
    };
    let acquired_at = acquired_at.map(moment).transpose()?;
    let mut envelope =
        EnvelopeBuilder::new(program, Environment::system().now().wall).map_err(Failure::usage)?;
    for product in products {
        let mut blueprint = EnvelopeBlueprint::new(&item_ref(product)?).map_err(Failure::usage)?;
        if let Some(at) = &acquired_at {
            blueprint = blueprint.acquired_at(at.clone()).map_err(Failure::usage)?;
        }
        envelope.add(blueprint).map_err(Failure::usage)?;
    }
    Ok(envelope.seal())
}

fn write(args: &EnvelopeWrite, output: &mut Output) -> Result<Exit, Failure> {
    let envelope = sealed(&config::program()?, &args.products, args.acquired_at.as_deref())?;
    if args.file == Path::new("-") {
        let text = envelope.to_text()?;
        match Json::parse(text.as_bytes()) {
            // A line, as everything else for programs.
            Ok(json) if output.is_json() => output.json(&json),
            _ => output.text(&text),
        }
        return Ok(Exit::Done);
    }
    envelope.write_to(&args.file).map_err(|error| unwritten(&args.file, error))?;
    if output.is_json() {
        output.json(&json!({ "blueprints": envelope.len() }));
    } else {
        output.note(format!("{} blueprints written", envelope.len()));
    }
    Ok(Exit::Done)
}

/// Which file it is, and what the system says of it.
fn unwritten(file: &Path, error: Error) -> Failure {
    match error.source().and_then(|cause| cause.downcast_ref()) {
        Some(cause) => Failure::file(&file.display().to_string(), cause),
        None => error.into(),
    }
}

/// Valid and clean is 0; what cannot be imported, and what should not leave, is 1.
async fn check(args: &EnvelopeCheck, output: &mut Output) -> Result<Exit, Failure> {
    let bytes = input(&args.file).await?;
    let checked = check_envelope(&bytes).map_err(|fault| {
        let next = match fault {
            EnvelopeFault::Version => "write it with a program that writes version 1",
            _ => "correct it, or write it anew with `envelope write`",
        };
        Failure::new(Exit::Failed, fault.to_string(), next)
    })?;
    if !checked.private().is_empty() {
        let places = checked.private().join(", ");
        let what = format!("paths of files stand at {places}: they tell others about this computer");
        return Err(Failure::new(Exit::Failed, what, "remove them before the file leaves"));
    }
    let envelope = checked.envelope();
    let version = envelope.format_version.as_deref().unwrap_or("1.0");
    if output.is_json() {
        let undeclared = checked.undeclared();
        output.json(&json!({
            "valid": true, "formatVersion": version, "blueprints": envelope.items.len(), "undeclared": undeclared,
        }));
        return Ok(Exit::Done);
    }
    let mut facts = Facts::default();
    facts.look("envelope", Look::Good, "the web import takes it");
    facts.say("version", version);
    facts.say("blueprints", envelope.items.len().to_string());
    if let Some(generator) = &envelope.generator {
        facts.say("written by", format!("{} {}", generator.name, generator.version));
    }
    facts.print(output);
    if !checked.undeclared().is_empty() {
        output.warn(format!(
            "members that the contract does not know, look at them: {}",
            checked.undeclared().join(", ")
        ));
    }
    Ok(Exit::Done)
}
