//! The catalogue, and the blueprints that every member has: whole, from a document.

use std::collections::{BTreeMap, BTreeSet};

use dpop_bound::Random;
use exchange_api::types::{LocationName, UexId};
use rusqlite::Connection;
use serde::Serialize;

use super::documents::{Document, items, value, wrong};
use super::{AdminError, By};
use crate::backend;
use crate::catalogue::contents::{self, Contents, Kind};

/// What an import makes of the entries that were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// So many are there that were not.
    pub added: usize,
    /// So many are there with the same key, changed or not.
    pub kept: usize,
    /// So many are not there any more. What members have of them is kept under its key.
    pub removed: usize,
    /// Further names.
    pub aliases: usize,
    /// Locations of the warehouse.
    pub locations: usize,
}

/// Reads the contents of a catalogue out of a document with `entries`, `aliases` and `locations`.
///
/// # Errors
/// [`AdminError::Wrong`], with the place of what is wrong.
pub fn read_catalogue(text: &str) -> Result<Contents, AdminError> {
    let mut document = Document::read(text, &["entries", "aliases", "locations"])?;
    let contents = Contents {
        entries: document.list("entries")?,
        aliases: document.list("aliases")?,
        locations: document.list("locations")?,
    };
    check(&contents)?;
    Ok(contents)
}

fn check(Contents { entries, aliases, locations }: &Contents) -> Result<(), AdminError> {
    if entries.is_empty() {
        return Err(wrong("/entries", "nothing would be left of the catalogue: it needs at least one entry"));
    }
    let mut first = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        let place = format!("/entries/{at}");
        named(&place, &entry.id, &entry.name)?;
        once(&mut first, (entry.kind, &*entry.id), &format!("{place}/id"))?;
        if !entry.facts.is_object() {
            return Err(wrong(&format!("{place}/facts"), "an object is wanted"));
        }
    }
    let mut further = BTreeMap::new();
    for (at, alias) in aliases.iter().enumerate() {
        let place = format!("/aliases/{at}");
        named(&place, &alias.id, &alias.alias)?;
        if !first.contains_key(&(alias.kind, &*alias.id)) {
            return Err(wrong(&format!("{place}/id"), "there is no such entry of its kind in the document"));
        }
        once(&mut further, (alias.kind, &*alias.alias, &*alias.id), &place)?;
    }
    let mut places = BTreeMap::new();
    for (at, location) in locations.iter().enumerate() {
        let place = format!("/locations/{at}");
        named(&place, &location.id, &location.name)?;
        once(&mut places, &*location.id, &format!("{place}/id"))?;
        // What the contract has no room for could not be answered by anybody's list of locations.
        if let Err(error) = LocationName::new(&*location.name) {
            return Err(wrong(&format!("{place}/name"), error.to_string()));
        }
        for (name, id) in [("city", location.city), ("station", location.station)] {
            if let Some(Err(error)) = id.map(UexId::new) {
                return Err(wrong(&format!("{place}/{name}"), error.to_string()));
            }
        }
    }
    Ok(())
}

fn named(place: &str, id: &str, name: &str) -> Result<(), AdminError> {
    if id.trim().is_empty() || name.trim().is_empty() {
        return Err(wrong(place, "neither its key nor its name may be empty"));
    }
    Ok(())
}

fn once<K: Ord>(known: &mut BTreeMap<K, String>, key: K, place: &str) -> Result<(), AdminError> {
    match known.insert(key, place.to_owned()) {
        Some(first) => Err(wrong(place, format!("this stands at {first} already"))),
        None => Ok(()),
    }
}

/// What an import of these contents would make of the catalogue; nothing is written.
///
/// # Errors
/// What the database says.
pub fn compare_catalogue(connection: &Connection, contents: &Contents) -> Result<Imported, AdminError> {
    let mut rows = connection.prepare("SELECT kind, id FROM catalogue_entry")?;
    let had = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let had: BTreeSet<(String, String)> = had.collect::<Result<_, _>>()?;
    let key = |kind: Kind, id: &str| (kind.as_str().to_owned(), id.to_owned());
    let kept = contents.entries.iter().filter(|entry| had.contains(&key(entry.kind, &entry.id))).count();
    Ok(Imported {
        added: contents.entries.len() - kept,
        kept,
        removed: had.len() - kept,
        aliases: contents.aliases.len(),
        locations: contents.locations.len(),
    })
}

/// Puts these contents in the place of all that the catalogue has.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub fn import_catalogue(
    connection: &Connection,
    by: &By<'_>,
    random: &dyn Random,
    contents: &Contents,
) -> Result<Imported, AdminError> {
    let imported = compare_catalogue(connection, contents)?;
    contents::replace(connection, random, contents)?;
    let Imported { added, kept, removed, aliases, locations } = imported;
    let detail = format!(
        "{added} entries added, {kept} kept, {removed} removed; {aliases} aliases, {locations} locations"
    );
    by.audit(connection, None, ("catalogue.import", "catalogue"), &detail)?;
    Ok(imported)
}

/// Reads keys of blueprints out of a document that is a list of them.
///
/// # Errors
/// [`AdminError::Wrong`], with the place of what is wrong.
pub fn read_defaults(text: &str) -> Result<Vec<String>, AdminError> {
    items(value(text)?, "")
}

/// Gives every member these blueprints, and no others that they have not got themselves (BPR-10). Says how many.
///
/// # Errors
/// [`AdminError::Wrong`] for one that is not in the catalogue, or what the database says.
pub fn set_defaults(connection: &Connection, by: &By<'_>, products: &[String]) -> Result<usize, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM catalogue_entry WHERE kind = ?1 AND id = ?2)";
    let mut known = connection.prepare(sql)?;
    for (at, product) in products.iter().enumerate() {
        if !known.query_row([Kind::Blueprint.as_str(), product], |row| row.get(0))? {
            return Err(wrong(&format!("/{at}"), "there is no such blueprint in the catalogue"));
        }
    }
    let all: BTreeSet<&str> = products.iter().map(String::as_str).collect();
    backend::set_defaults(connection, all.iter().copied(), by.now)?;
    let detail = format!("{} blueprints", all.len());
    by.audit(connection, None, ("catalogue.defaults", "default blueprints"), &detail)?;
    Ok(all.len())
}
