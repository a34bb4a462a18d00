//! `envelope`: writes and checks files of blueprints for the import on the website (DRF-01 to DRF-03).

use std::{error::Error as _, path::Path};

use exchange_client::{
    ClientIdentity, EnvelopeBlueprint, EnvelopeBuilder, EnvelopeFault, Environment, Error, SealedEnvelope,
    api::{
        Contract as _, Json,
        runtime::violation::Violations,
        types::{ItemRef, Timestamp},
    },
    check_envelope,
};
use serde_json::json;

use super::read_input;
use crate::{
    args::{EnvelopeCheck, EnvelopeCommand, EnvelopeWrite, values::CatalogueReference},
    config,
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle, count_text},
    table::PropertyList,
};

pub(super) async fn run_envelope(
    command: EnvelopeCommand,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    match command {
        EnvelopeCommand::Write(args) => write_envelope(&args, output),
        EnvelopeCommand::Check(args) => check_file(&args, output).await,
    }
}

/// Converts an argument into a catalogue reference of the contract.
pub(super) fn parse_item_ref(reference: &CatalogueReference) -> Result<ItemRef, CommandError> {
    ItemRef::parse_valid(reference.0.to_string().as_bytes())
        .map_err(|_| CommandError::from_usage_error(format!("{} is not a catalogue reference", reference.0)))
}

/// Builds an envelope of these products. The envelope names this program as its generator.
pub(super) fn build_envelope(
    program: &ClientIdentity,
    products: &[CatalogueReference],
    acquired_at: Option<&str>,
) -> Result<SealedEnvelope, CommandError> {
    let moment = |text: &str| {
        Timestamp::new(text).map_err(|_: Violations| {
            CommandError::from_usage_error("invalid time: write it like 2026-01-31T12:00:00Z")
        })
    };
    let acquired_at = acquired_at.map(moment).transpose()?;
    let mut envelope = EnvelopeBuilder::new(program, Environment::system().now().wall)
        .map_err(CommandError::from_usage_error)?;
    for product in products {
        let mut blueprint =
            EnvelopeBlueprint::new(&parse_item_ref(product)?).map_err(CommandError::from_usage_error)?;
        if let Some(at) = &acquired_at {
            blueprint = blueprint.with_acquired_at(at.clone()).map_err(CommandError::from_usage_error)?;
        }
        envelope.add(blueprint).map_err(CommandError::from_usage_error)?;
    }
    Ok(envelope.seal())
}

fn write_envelope(args: &EnvelopeWrite, output: &mut Output) -> Result<ExitStatus, CommandError> {
    let envelope = build_envelope(&config::program_identity()?, &args.products, args.acquired_at.as_deref())?;
    if args.file == Path::new("-") {
        let text = envelope.to_json_text()?;
        match Json::parse(text.as_bytes()) {
            // In the JSON format, all output is on one line.
            Ok(json) if output.is_json() => output.write_json(&json),
            _ => output.write_text(&text),
        }
        return Ok(ExitStatus::Success);
    }
    // A dangling link is replaced, too, so links are not followed.
    if !args.force && std::fs::symlink_metadata(&args.file).is_ok() {
        let what = format!("{} exists already", args.file.display());
        return Err(CommandError::new(
            ExitStatus::Usage,
            what,
            "choose another name, or replace it with --force",
        ));
    }
    envelope.write_to(&args.file).map_err(|error| write_error(&args.file, error))?;
    if output.is_json() {
        output.write_json(&json!({ "blueprints": envelope.len() }));
    } else {
        output.print_note(format!("{} written", count_text(envelope.len(), "blueprint")));
    }
    Ok(ExitStatus::Success)
}

/// Creates the error for a file that cannot be written. It contains the file name and the operating system's
/// error.
fn write_error(file: &Path, error: Error) -> CommandError {
    match error.source().and_then(|cause| cause.downcast_ref()) {
        Some(cause) => CommandError::from_io_error(&file.display().to_string(), cause),
        None => error.into(),
    }
}

/// Checks a file. The exit code is 1 if the website would reject the file, or if the file contains private
/// data.
async fn check_file(args: &EnvelopeCheck, output: &mut Output) -> Result<ExitStatus, CommandError> {
    let bytes = read_input(&args.file).await?;
    let checked = check_envelope(&bytes).map_err(|fault| {
        let next = match fault {
            EnvelopeFault::Version => "write it with a program that writes version 1",
            _ => "correct it, or write a new one with `envelope write`",
        };
        CommandError::new(ExitStatus::Failure, fault.to_string(), next)
    })?;
    if !checked.private().is_empty() {
        let places = checked.private().join(", ");
        let what = format!("file paths at {places} reveal details of this computer");
        return Err(CommandError::new(ExitStatus::Failure, what, "remove them before you share the file"));
    }
    let envelope = checked.envelope();
    let version = envelope.format_version.as_deref().unwrap_or("1.0");
    if output.is_json() {
        let undeclared = checked.undeclared_pointers();
        output.write_json(&json!({
            "valid": true, "formatVersion": version, "blueprints": envelope.items.len(), "undeclared": undeclared,
        }));
        return Ok(ExitStatus::Success);
    }
    let mut properties = PropertyList::default();
    properties.push_styled_property("envelope", TextStyle::Good, "accepted by the web import");
    properties.push_property("version", version);
    properties.push_property("blueprints", envelope.items.len().to_string());
    if let Some(generator) = &envelope.generator {
        properties.push_property("written by", format!("{} {}", generator.name, generator.version));
    }
    properties.print(output);
    if !checked.undeclared_pointers().is_empty() {
        output.print_warning(format!(
            "the envelope has properties that the contract does not describe; check them: {}",
            checked.undeclared_pointers().join(", ")
        ));
    }
    Ok(ExitStatus::Success)
}
