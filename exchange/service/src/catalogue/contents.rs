//! The contents of the catalogue and their replacement in the store, from an administrator's document or a
//! seed.

use dpop_bound::RandomSource;
use exchange_api::types::CatalogKind;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::store::{StoreError, read_setting};

/// The complete contents of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogueContents {
    /// Entries of all kinds.
    pub entries: Vec<NewEntry>,
    /// Additional names of entries.
    pub aliases: Vec<EntryAlias>,
    /// The locations of the warehouse.
    pub locations: Vec<NewLocation>,
}

/// An entry as the document contains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEntry {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The service's own key; for a blueprint, the product key of any length.
    pub id: String,
    /// The name that the game shows.
    pub name: String,
    /// The record or class name in the game's data; for blueprints and materials, the wiki's key.
    #[serde(default)]
    pub sc_record: Option<String>,
    /// The UUID of the entry in the community wiki.
    #[serde(default)]
    pub wiki_guid: Option<String>,
    /// The UUID of the entry in the game's files.
    #[serde(default)]
    pub game_guid: Option<String>,
    /// The UUID of the item that a blueprint produces.
    #[serde(default)]
    pub output_guid: Option<String>,
    /// The numeric id in the external catalogue (UEX).
    #[serde(default)]
    pub uex_id: Option<i64>,
    /// The localization key of the name, without its leading `@`.
    #[serde(default)]
    pub loc_key: Option<String>,
    /// Properties of this kind only, for example a material's type and unit or a ship type's `manufacturer`.
    #[serde(default = "no_facts")]
    pub facts: serde_json::Value,
}

fn no_facts() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

impl NewEntry {
    /// Creates an entry with a key and a name, without other fields.
    #[must_use]
    pub fn new(kind: EntryKind, id: impl Into<String>, name: impl Into<String>) -> Self {
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

/// The kinds of catalogue entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EntryKind {
    /// Blueprints, identified by their product.
    Blueprint,
    /// Items of the game, which are counted in pieces.
    Item,
    /// Raw and refined materials.
    Material,
    /// The types of ships that members can own.
    ShipType,
}

impl EntryKind {
    /// All kinds, in declaration order.
    pub const ALL: [Self; 4] = [Self::Blueprint, Self::Item, Self::Material, Self::ShipType];

    /// Returns the name in the store and on the wire.
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

impl From<&CatalogKind> for EntryKind {
    fn from(kind: &CatalogKind) -> Self {
        match kind {
            CatalogKind::Blueprint => Self::Blueprint,
            CatalogKind::Item => Self::Item,
            CatalogKind::Material => Self::Material,
            CatalogKind::ShipType => Self::ShipType,
        }
    }
}

/// An additional name of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryAlias {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The additional name.
    pub alias: String,
    /// The key of the entry.
    pub id: String,
}

/// A location of the warehouse as the document contains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewLocation {
    /// The service's own key.
    pub id: String,
    /// The display name of the location.
    pub name: String,
    /// The id of its city in the external catalogue (UEX).
    #[serde(default)]
    pub city: Option<i64>,
    /// The id of its space station in the external catalogue (UEX).
    #[serde(default)]
    pub station: Option<i64>,
    /// Whether it is omitted from the list of locations.
    #[serde(default)]
    pub hidden: bool,
}

/// Replaces the whole catalogue and assigns a new revision. Must run within one transaction.
///
/// # Errors
/// Returns the database's error, or [`StoreError::Random`].
pub fn replace_contents(
    connection: &Connection,
    random: &dyn RandomSource,
    contents: &CatalogueContents,
) -> Result<(), StoreError> {
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
    for EntryAlias { kind, alias, id } in &contents.aliases {
        insert.execute(params![kind.as_str(), alias, id])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO location (id, name, city, station, hidden) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for location in &contents.locations {
        let NewLocation { id, name, city, station, hidden } = location;
        insert.execute(params![id, name, city, station, hidden])?;
    }
    // Random, so that a revision from a rolled-back state never returns with other contents.
    let mut revision = [0_u8; 8];
    random.fill(&mut revision)?;
    let revision = format!("{:016x}", u64::from_be_bytes(revision));
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute(params![REVISION, revision])?;
    Ok(())
}

const REVISION: &str = "catalogue";

/// Returns the revision of the contents; empty if the catalogue was never filled.
pub(super) fn load_revision(connection: &Connection) -> Result<String, StoreError> {
    Ok(read_setting(connection, REVISION)?.unwrap_or_default())
}
