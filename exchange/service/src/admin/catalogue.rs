//! Imports of the catalogue and of the default blueprints. Each import replaces all existing entries.

use std::collections::{BTreeMap, BTreeSet};

use dpop_bound::RandomSource;
use exchange_api::types::{LocationName, UexId};
use rusqlite::Connection;
use serde::Serialize;

use super::documents::{JsonDocument, invalid_at, parse_items, parse_json};
use super::{AdminContext, AdminError};
use crate::backend;
use crate::catalogue::contents::{self, CatalogueContents, EntryKind};

/// The number of entries that a catalogue import affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportSummary {
    /// The number of entries whose id did not exist before.
    pub added: usize,
    /// The number of entries whose id existed before, whether or not they changed.
    pub kept: usize,
    /// The number of removed entries. Member data that refers to a removed entry is kept and shows the
    /// entry's id.
    pub removed: usize,
    /// The number of aliases, which are further names of entries.
    pub aliases: usize,
    /// The number of warehouse locations.
    pub locations: usize,
}

/// Parses and validates a catalogue: a JSON document with `entries`, `aliases` and `locations`.
///
/// # Errors
/// Returns [`AdminError::Invalid`], with the JSON Pointer of the invalid value.
pub fn read_catalogue(text: &str) -> Result<CatalogueContents, AdminError> {
    let mut document = JsonDocument::parse_object(text, &["entries", "aliases", "locations"])?;
    let contents = CatalogueContents {
        entries: document.take_list("entries")?,
        aliases: document.take_list("aliases")?,
        locations: document.take_list("locations")?,
    };
    check_contents(&contents)?;
    Ok(contents)
}

fn check_contents(
    CatalogueContents { entries, aliases, locations }: &CatalogueContents,
) -> Result<(), AdminError> {
    if entries.is_empty() {
        return Err(invalid_at("/entries", "the catalogue needs at least one entry"));
    }
    let mut first = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let place = format!("/entries/{index}");
        check_named(&place, &entry.id, &entry.name)?;
        check_unique(&mut first, (entry.kind, &*entry.id), &format!("{place}/id"))?;
        if !entry.facts.is_object() {
            return Err(invalid_at(&format!("{place}/facts"), "expected an object"));
        }
    }
    let mut further = BTreeMap::new();
    for (index, alias) in aliases.iter().enumerate() {
        let place = format!("/aliases/{index}");
        check_named(&place, &alias.id, &alias.alias)?;
        if !first.contains_key(&(alias.kind, &*alias.id)) {
            return Err(invalid_at(&format!("{place}/id"), "the document has no entry of this kind and id"));
        }
        check_unique(&mut further, (alias.kind, &*alias.alias, &*alias.id), &place)?;
    }
    let mut places = BTreeMap::new();
    for (index, location) in locations.iter().enumerate() {
        let place = format!("/locations/{index}");
        check_named(&place, &location.id, &location.name)?;
        check_unique(&mut places, &*location.id, &format!("{place}/id"))?;
        // Every list of locations would fail if it contained a name that the contract does not allow.
        if let Err(error) = LocationName::new(&*location.name) {
            return Err(invalid_at(&format!("{place}/name"), error.to_string()));
        }
        for (name, id) in [("city", location.city), ("station", location.station)] {
            if let Some(Err(error)) = id.map(UexId::new) {
                return Err(invalid_at(&format!("{place}/{name}"), error.to_string()));
            }
        }
    }
    Ok(())
}

fn check_named(place: &str, id: &str, name: &str) -> Result<(), AdminError> {
    if id.trim().is_empty() || name.trim().is_empty() {
        return Err(invalid_at(place, "id and name must not be empty"));
    }
    Ok(())
}

fn check_unique<K: Ord>(known: &mut BTreeMap<K, String>, key: K, place: &str) -> Result<(), AdminError> {
    match known.insert(key, place.to_owned()) {
        Some(first) => Err(invalid_at(place, format!("duplicate of {first}"))),
        None => Ok(()),
    }
}

/// Computes the effect of an import without writing anything.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn compare_catalogue(
    connection: &Connection,
    contents: &CatalogueContents,
) -> Result<ImportSummary, AdminError> {
    let mut rows = connection.prepare("SELECT kind, id FROM catalogue_entry")?;
    let existing = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let existing: BTreeSet<(String, String)> = existing.collect::<Result<_, _>>()?;
    let key = |kind: EntryKind, id: &str| (kind.as_str().to_owned(), id.to_owned());
    let unchanged =
        contents.entries.iter().filter(|entry| existing.contains(&key(entry.kind, &entry.id))).count();
    Ok(ImportSummary {
        added: contents.entries.len() - unchanged,
        kept: unchanged,
        removed: existing.len() - unchanged,
        aliases: contents.aliases.len(),
        locations: contents.locations.len(),
    })
}

/// Replaces the whole catalogue and returns the effect.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails or the random number generator fails.
pub fn import_catalogue(
    connection: &Connection,
    admin: &AdminContext<'_>,
    random: &dyn RandomSource,
    contents: &CatalogueContents,
) -> Result<ImportSummary, AdminError> {
    let imported = compare_catalogue(connection, contents)?;
    contents::replace_contents(connection, random, contents)?;
    let ImportSummary { added, kept, removed, aliases, locations } = imported;
    let detail = format!(
        "{added} entries added, {kept} kept, {removed} removed; {aliases} aliases, {locations} locations"
    );
    admin.record_audit(connection, None, ("catalogue.import", "catalogue"), &detail)?;
    Ok(imported)
}

/// Parses a JSON list of blueprint ids.
///
/// # Errors
/// Returns [`AdminError::Invalid`], with the JSON Pointer of the invalid value.
pub fn read_defaults(text: &str) -> Result<Vec<String>, AdminError> {
    parse_items(parse_json(text)?, "")
}

/// Sets the blueprints that every member has by default (BPR-10), and returns their number. Blueprints that members
/// acquired themselves are not affected.
///
/// # Errors
/// Returns [`AdminError::Invalid`] for a blueprint that is not in the catalogue, or [`AdminError::Store`] if the
/// database fails.
pub fn set_defaults(
    connection: &Connection,
    admin: &AdminContext<'_>,
    products: &[String],
) -> Result<usize, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM catalogue_entry WHERE kind = ?1 AND id = ?2)";
    let mut known = connection.prepare(sql)?;
    for (index, product) in products.iter().enumerate() {
        if !known.query_row([EntryKind::Blueprint.as_str(), product], |row| row.get(0))? {
            return Err(invalid_at(&format!("/{index}"), "the catalogue has no such blueprint"));
        }
    }
    let all: BTreeSet<&str> = products.iter().map(String::as_str).collect();
    backend::set_defaults(connection, all.iter().copied(), admin.now)?;
    let detail = format!("{} blueprints", all.len());
    admin.record_audit(connection, None, ("catalogue.defaults", "default blueprints"), &detail)?;
    Ok(all.len())
}

/// Returns the whole catalogue, in the form that [`read_catalogue`] reads.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn export_catalogue(connection: &Connection) -> Result<CatalogueContents, AdminError> {
    Ok(contents::load_contents(connection)?)
}

/// Lists the ids of the blueprints that every member has by default, in the form that [`read_defaults`] reads.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn list_defaults(connection: &Connection) -> Result<Vec<String>, AdminError> {
    let mut rows = connection.prepare("SELECT product FROM default_blueprint ORDER BY product")?;
    Ok(rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}
