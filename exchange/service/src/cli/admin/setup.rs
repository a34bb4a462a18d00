//! `admin catalogue`, `admin unit` and `admin terms`: what there is before anybody writes anything.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use exchange_service::Environment;
use exchange_service::admin::{self, AdminError, By, Imported};
use exchange_service::store::{edit, inspect};
use serde_json::json;

use super::{Told, done};

#[derive(Debug, Subcommand)]
pub(super) enum CatalogueCommand {
    /// Put a document's entries, aliases and locations in the place of all that the catalogue has.
    ///
    /// The document is JSON with the lists `entries`, `aliases` and `locations`. What members have of an entry that is not
    /// there any more is kept, and called by its key. A running service sees the new catalogue with the next request.
    #[command(
        after_help = "Example:\n\n    exchange-service admin catalogue import catalogue.json --dry-run\n\n\
                      A document:\n\n    {\n      \
                      \"entries\": [\n        \
                      { \"kind\": \"BLUEPRINT\", \"id\": \"bp-rifle\", \"name\": \"Rifle\", \"scRecord\": \"BP_CRAFT_RIFLE_01\" },\n        \
                      { \"kind\": \"MATERIAL\", \"id\": \"ore\", \"name\": \"Ore\", \"facts\": { \"unit\": \"SCU\" } }\n      ],\n      \
                      \"aliases\": [{ \"kind\": \"MATERIAL\", \"alias\": \"Raw ore\", \"id\": \"ore\" }],\n      \
                      \"locations\": [{ \"id\": \"hangar\", \"name\": \"City Hangar\" }]\n    }\n\n\
                      Kinds are BLUEPRINT, ITEM, MATERIAL and SHIP_TYPE."
    )]
    Import {
        /// The document.
        file: PathBuf,
        /// Say what would become of the entries, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Give every member these blueprints, and no others that they have not got themselves.
    ///
    /// The document is a JSON list of keys: ["bp-rifle", "bp-helmet"]. The members' feeds tell of the difference.
    Defaults {
        /// The document.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum UnitCommand {
    /// Add org units, rename them, and say who is in them.
    ///
    /// A unit that is there already keeps its kind, and its `profitSharing` and `above` where the document says nothing of
    /// them; `"above": null` takes it from below another one. It gets the document's name and shorthand, and the feeds of
    /// members who see it tell of them. Where a unit names members, it has those and no others from then on; without the
    /// list they stay. Units that are not named stay as they are.
    #[command(after_help = "A document:\n\n    {\n      \"units\": [{\n        \
                      \"id\": \"u-1\", \"name\": \"First Squadron\", \"shorthand\": \"1ST\", \"kind\": \"SQUADRON\",\n        \
                      \"profitSharing\": true, \"above\": null,\n        \
                      \"members\": [{ \"member\": \"m-1\", \"role\": \"leader\" }, { \"member\": \"m-2\" }]\n      }]\n    }\n\n\
                      Roles are member, logistician and leader.")]
    Import {
        /// The document.
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct TermsArgs {
    /// The version that members have to have accepted; without it the command says which it is.
    #[arg(conflicts_with = "none")]
    version: Option<String>,
    /// Members have to accept nothing.
    #[arg(long)]
    none: bool,
}

pub(super) fn catalogue(
    folder: &Path,
    by: &By<'_>,
    environment: &Environment,
    command: CatalogueCommand,
) -> Result<Told, AdminError> {
    match command {
        CatalogueCommand::Import { file, dry_run } => {
            let contents = of_file(&file, admin::read_catalogue)?;
            let imported = if dry_run {
                inspect(folder, |store| admin::compare_catalogue(store, &contents))?
            } else {
                edit(folder, |store| admin::import_catalogue(store, by, environment.random(), &contents))?
            };
            let Imported { added, kept, removed, aliases, locations } = imported;
            let would = if dry_run { "nothing is written; there would be " } else { "" };
            let text = format!(
                "{would}{added} entries added, {kept} kept, {removed} removed; {aliases} aliases, {locations} locations"
            );
            done("catalogue.import", &text, json!({ "catalogue": imported, "dryRun": dry_run }))
        }
        CatalogueCommand::Defaults { file } => {
            let products = of_file(&file, admin::read_defaults)?;
            let count = edit(folder, |store| {
                admin::set_defaults(store, by, &products).map_err(|error| in_file(&file, error))
            })?;
            done(
                "catalogue.defaults",
                &format!("every member has {count} blueprints"),
                json!({ "count": count }),
            )
        }
    }
}

pub(super) fn unit(folder: &Path, by: &By<'_>, command: UnitCommand) -> Result<Told, AdminError> {
    let UnitCommand::Import { file } = command;
    let units = of_file(&file, admin::read_units)?;
    edit(folder, |store| admin::set_units(store, by, &units).map_err(|error| in_file(&file, error)))?;
    done(
        "unit.import",
        &format!("{} units are as {} has them", units.len(), file.display()),
        json!({ "count": units.len() }),
    )
}

pub(super) fn terms(folder: &Path, by: &By<'_>, args: TermsArgs) -> Result<Told, AdminError> {
    let TermsArgs { version, none } = args;
    if none || version.is_some() {
        edit(folder, |store| admin::set_terms(store, by, version.as_deref()))?;
    }
    let version = inspect(folder, admin::terms)?;
    let text = match &version {
        Some(version) => format!("members have to have accepted version {version}"),
        None => "members have to accept nothing".to_owned(),
    };
    Ok(Told { text, json: json!({ "terms": version }) })
}

fn of_file<T>(file: &Path, read: impl FnOnce(&str) -> Result<T, AdminError>) -> Result<T, AdminError> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| AdminError::Wrong(format!("cannot read {}: {error}", file.display())))?;
    read(&text).map_err(|error| in_file(file, error))
}

fn in_file(file: &Path, error: AdminError) -> AdminError {
    match error {
        AdminError::Wrong(said) => AdminError::Wrong(format!("{}: {said}", file.display())),
        other => other,
    }
}
