//! `exchange-service admin catalogue`, `admin unit` and `admin terms`: import and change the data that a
//! service needs.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use exchange_service::Environment;
use exchange_service::admin::{self, AdminContext, AdminError, ImportSummary};
use exchange_service::ids::UnitId;
use exchange_service::store::{edit_store, inspect_store};
use serde_json::{Value, json};

use super::audit::escape_controls;
use super::{CommandOutput, action_output, format_table};

#[derive(Debug, Subcommand)]
pub(super) enum CatalogueCommand {
    /// Replace the whole catalogue with the entries, aliases and locations of a document.
    ///
    /// The document is JSON with the lists `entries`, `aliases` and `locations`. Member data that refers to a
    /// removed entry is kept, and shows the entry's id. A running service uses the new catalogue from the
    /// next request on.
    #[command(
        after_help = "Example:\n\n    exchange-service admin catalogue import catalogue.json --dry-run\n\n\
                      A document:\n\n    {\n      \
                      \"entries\": [\n        \
                      { \"kind\": \"BLUEPRINT\", \"id\": \"bp-rifle\", \"name\": \"Rifle\",\n          \
                      \"scRecord\": \"BP_CRAFT_RIFLE_01\" },\n        \
                      { \"kind\": \"MATERIAL\", \"id\": \"ore\", \"name\": \"Ore\",\n          \
                      \"facts\": { \"unit\": \"SCU\" } }\n      ],\n      \
                      \"aliases\": [{ \"kind\": \"MATERIAL\", \"alias\": \"Raw ore\", \"id\": \"ore\" }],\n      \
                      \"locations\": [{ \"id\": \"hangar\", \"name\": \"City Hangar\" }]\n    }\n\n\
                      Kinds are BLUEPRINT, ITEM, MATERIAL and SHIP_TYPE."
    )]
    Import {
        /// The JSON document.
        file: PathBuf,
        /// Report the effect without changing anything.
        #[arg(long)]
        dry_run: bool,
    },
    /// Write the catalogue as a document that `catalogue import` reads.
    #[command(after_help = "Example:\n\n    exchange-service admin catalogue export > catalogue.json")]
    Export,
    /// Set or show the blueprints that every member has by default.
    ///
    /// Without a document, the command prints the current list as a document. The document is a JSON list of ids: ["bp-rifle", "bp-helmet"]. Blueprints that members acquired
    /// themselves are kept. The changes appear in the members' feeds.
    Defaults {
        /// The JSON document. Without it, the command prints the current list.
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum UnitCommand {
    /// Add org units, or change their names and members.
    ///
    /// An existing unit gets the name and the shorthand of the document; the change appears in the members'
    /// feeds. It keeps its kind. It also keeps `profitSharing` and `above` if the document omits them;
    /// `"above": null` removes the parent. If the document lists members of a unit, all other members are
    /// removed from it; without the list, the members are kept. Units that are not in the document are kept
    /// unchanged.
    #[command(after_help = "A document:\n\n    {\n      \"units\": [{\n        \
                      \"id\": \"u-1\", \"name\": \"First Squadron\", \"shorthand\": \"1ST\",\n        \
                      \"kind\": \"SQUADRON\",\n        \
                      \"profitSharing\": true, \"above\": null,\n        \
                      \"members\": [{ \"member\": \"m-1\", \"role\": \"leader\" }, { \"member\": \"m-2\" }]\n      }]\n    }\n\n\
                      Roles are member, logistician and leader.")]
    Import {
        /// The JSON document.
        file: PathBuf,
    },
    /// List all units. With --json, the output is a document that `unit import` reads.
    List,
    /// Remove a unit and its memberships. The unit must have no stock in its pool, no ships, no job orders and no
    /// units below it.
    Remove {
        /// The unit's id.
        id: UnitId,
    },
}

#[derive(Debug, Args)]
pub(super) struct TermsArgs {
    /// The version that members must accept. Without it, the command shows the current version.
    #[arg(conflicts_with = "none")]
    version: Option<String>,
    /// A file with the text of the version, which members read before they accept it. An empty line separates
    /// paragraphs.
    #[arg(long, value_name = "FILE", requires = "version")]
    text: Option<PathBuf>,
    /// Require no terms from now on.
    #[arg(long)]
    none: bool,
}

pub(super) fn run_catalogue(
    folder: &Path,
    admin: &AdminContext<'_>,
    environment: &Environment,
    command: CatalogueCommand,
) -> Result<CommandOutput, AdminError> {
    match command {
        CatalogueCommand::Import { file, dry_run } => {
            let contents = read_document(&file, admin::read_catalogue)?;
            let imported = if dry_run {
                inspect_store(folder, |store| admin::compare_catalogue(store, &contents))?
            } else {
                edit_store(folder, |store| {
                    admin::import_catalogue(store, admin, environment.random(), &contents)
                })?
            };
            let ImportSummary { added, kept, removed, aliases, locations } = imported;
            let would = if dry_run { "dry run; would be: " } else { "" };
            let text = format!(
                "{would}{added} entries added, {kept} kept, {removed} removed; {aliases} aliases, {locations} locations"
            );
            action_output("catalogue.import", &text, json!({ "catalogue": imported, "dryRun": dry_run }))
        }
        CatalogueCommand::Export => {
            let contents = inspect_store(folder, admin::export_catalogue)?;
            document_output(json!(contents))
        }
        CatalogueCommand::Defaults { file: None } => {
            let products = inspect_store(folder, admin::list_defaults)?;
            document_output(json!(products))
        }
        CatalogueCommand::Defaults { file: Some(file) } => {
            let products = read_document(&file, admin::read_defaults)?;
            let count = edit_store(folder, |store| {
                admin::set_defaults(store, admin, &products).map_err(|error| with_file(&file, error))
            })?;
            action_output(
                "catalogue.defaults",
                &format!("every member has {count} default blueprints"),
                json!({ "count": count }),
            )
        }
    }
}

pub(super) fn run_unit(
    folder: &Path,
    admin: &AdminContext<'_>,
    command: UnitCommand,
) -> Result<CommandOutput, AdminError> {
    let file = match command {
        UnitCommand::Import { file } => file,
        UnitCommand::List => {
            let units = inspect_store(folder, admin::list_units)?;
            let rows = units.iter().map(|unit| {
                let above = unit.above.as_ref().map_or("-", UnitId::as_str);
                let sharing = if unit.profit_sharing { "yes" } else { "no" };
                let members = unit.members.len().to_string();
                [unit.id.as_str(), &unit.shorthand, &unit.name, &unit.kind, above, sharing, &members]
                    .map(escape_controls)
                    .to_vec()
            });
            let head = ["unit", "shorthand", "name", "kind", "above", "profit sharing", "members"];
            return Ok(CommandOutput { text: format_table(&head, rows), json: json!({ "units": units }) });
        }
        UnitCommand::Remove { id } => {
            edit_store(folder, |store| admin::remove_unit(store, admin, &id))?;
            return action_output("unit.remove", &format!("{id} is removed"), json!({ "unit": id }));
        }
    };
    let units = read_document(&file, admin::read_units)?;
    edit_store(folder, |store| {
        admin::set_units(store, admin, &units).map_err(|error| with_file(&file, error))
    })?;
    action_output(
        "unit.import",
        &format!("{} units are imported from {}", units.len(), file.display()),
        json!({ "count": units.len() }),
    )
}

pub(super) fn run_terms(
    folder: &Path,
    admin: &AdminContext<'_>,
    args: TermsArgs,
) -> Result<CommandOutput, AdminError> {
    let TermsArgs { version, text, none } = args;
    let text =
        text.map(|file| read_document(&file, |text| Ok((file.clone(), text.to_owned())))).transpose()?;
    if none || version.is_some() {
        edit_store(folder, |store| {
            if let (Some(version), Some((file, text))) = (&version, &text) {
                let stored = admin::set_terms_text(store, admin, version, text);
                stored.map_err(|error| with_file(file, error))?;
            }
            admin::set_terms(store, admin, version.as_deref())
        })?;
    }
    let version = inspect_store(folder, admin::current_terms)?;
    let text = match &version {
        Some(version) => format!("members must accept version {version}"),
        None => "members need not accept any terms".to_owned(),
    };
    Ok(CommandOutput { text, json: json!({ "terms": version }) })
}

/// Prints a document that can be imported, for people and for programs.
fn document_output(document: Value) -> Result<CommandOutput, AdminError> {
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| AdminError::Invalid(format!("cannot write the document: {error}")))?;
    Ok(CommandOutput { text, json: document })
}

fn read_document<T>(file: &Path, read: impl FnOnce(&str) -> Result<T, AdminError>) -> Result<T, AdminError> {
    let text = std::fs::read_to_string(file);
    let text =
        text.map_err(|error| AdminError::Invalid(format!("cannot read {}: {error}", file.display())))?;
    read(&text).map_err(|error| with_file(file, error))
}

fn with_file(file: &Path, error: AdminError) -> AdminError {
    match error {
        AdminError::Invalid(message) => AdminError::Invalid(format!("{}: {message}", file.display())),
        other => other,
    }
}
