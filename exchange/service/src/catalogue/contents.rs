//! What the catalogue holds, as it is written into the store: whole, from an administrator's document or a seed.

use dpop_bound::Random;
use exchange_api::types::CatalogKind;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::store::{StoreError, setting};

/// Everything in the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contents {
    /// Entries of all kinds.
    pub entries: Vec<NewEntry>,
    /// Further names.
    pub aliases: Vec<Alias>,
    /// The warehouse's locations.
    pub locations: Vec<NewLocation>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEntry {
    /// The part of the catalogue.
    pub kind: Kind,
    /// The service's own key; for a blueprint the product key, of any length.
    pub id: String,
    /// The name that the game shows.
    pub name: String,
    /// Record or class name in the game's data; the wiki's key of blueprints and materials.
    #[serde(default)]
    pub sc_record: Option<String>,
    /// The wiki's UUID.
    #[serde(default)]
    pub wiki_guid: Option<String>,
    /// The game files' UUID.
    #[serde(default)]
    pub game_guid: Option<String>,
    /// The UUID of what a blueprint makes.
    #[serde(default)]
    pub output_guid: Option<String>,
    /// The external catalogue's id.
    #[serde(default)]
    pub uex_id: Option<i64>,
    /// The localisation key of the name, without its leading `@`.
    #[serde(default)]
    pub loc_key: Option<String>,
    /// What only this kind has: a material's kind and unit, a ship type's `manufacturer`.
    #[serde(default = "no_facts")]
    pub facts: serde_json::Value,
}

fn no_facts() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

impl NewEntry {
    /// An entry of which only the key and the name are known.
    #[must_use]
    pub fn new(kind: Kind, id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.into(),
            name: name.into(),
            sc_record: None,
            wiki_guid: None,
            game_guid: None,
            output_guid: None,
            uex_id: None,
            loc_key: None,
            facts: no_facts(),
        }
    }
}

/// The parts of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// Blueprints, by their product.
    Blueprint,
    /// Items of the game.
    Item,
    /// Materials.
    Material,
    /// Types of ships.
    ShipType,
}

impl Kind {
    /// Every one of them.
    pub const ALL: [Self; 4] = [Self::Blueprint, Self::Item, Self::Material, Self::ShipType];

    /// Its name, in the store as on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blueprint => "BLUEPRINT",
            Self::Item => "ITEM",
            Self::Material => "MATERIAL",
            Self::ShipType => "SHIP_TYPE",
        }
    }
}

impl From<&CatalogKind> for Kind {
    fn from(kind: &CatalogKind) -> Self {
        match kind {
            CatalogKind::Blueprint => Self::Blueprint,
            CatalogKind::Item => Self::Item,
            CatalogKind::Material => Self::Material,
            CatalogKind::ShipType => Self::ShipType,
        }
    }
}

/// Another name of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// The part of the catalogue.
    pub kind: Kind,
    /// The name.
    pub alias: String,
    /// The entry's key.
    pub id: String,
}

/// A location of the warehouse.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewLocation {
    /// The service's own key.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The external catalogue's id of its city.
    #[serde(default)]
    pub city: Option<i64>,
    /// The external catalogue's id of its space station.
    #[serde(default)]
    pub station: Option<i64>,
    /// Whether it is kept from the list.
    #[serde(default)]
    pub hidden: bool,
}

/// Puts these contents in the place of all that was there.
///
/// Belongs into one transaction; whoever resolves after it sees all of it.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub fn replace(connection: &Connection, random: &dyn Random, contents: &Contents) -> Result<(), StoreError> {
    connection
        .execute_batch("DELETE FROM catalogue_alias; DELETE FROM catalogue_entry; DELETE FROM location;")?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO catalogue_entry (kind, id, name, sc_record, wiki_guid, game_guid, output_guid, \
         uex_id, loc_key, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    for entry in &contents.entries {
        insert.execute(params![
            entry.kind.as_str(),
            entry.id,
            entry.name,
            entry.sc_record,
            entry.wiki_guid,
            entry.game_guid,
            entry.output_guid,
            entry.uex_id,
            entry.loc_key,
            entry.facts.to_string(),
        ])?;
    }
    let mut insert =
        connection.prepare_cached("INSERT INTO catalogue_alias (kind, alias, id) VALUES (?1, ?2, ?3)")?;
    for Alias { kind, alias, id } in &contents.aliases {
        insert.execute(params![kind.as_str(), alias, id])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO location (id, name, city, station, hidden) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for location in &contents.locations {
        let NewLocation { id, name, city, station, hidden } = location;
        insert.execute(params![id, name, city, station, hidden])?;
    }
    // Random, so that a revision that was undone never comes again with other contents.
    let mut revision = [0_u8; 8];
    random.fill(&mut revision)?;
    let revision = format!("{:016x}", u64::from_be_bytes(revision));
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute(params![REVISION, revision])?;
    Ok(())
}

const REVISION: &str = "catalogue";

/// What the contents are known by; empty as long as nothing was ever put there.
pub(super) fn revision(connection: &Connection) -> Result<String, StoreError> {
    Ok(setting(connection, REVISION)?.unwrap_or_default())
}
