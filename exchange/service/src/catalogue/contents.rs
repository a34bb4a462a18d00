//! The contents of the catalogue, from an administrator's document or from the seed, and their import into
//! the store.

use dpop_bound::RandomSource;
use exchange_api::types::CatalogKind;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::store::{StoreError, read_setting};

/// The complete contents of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogueContents {
    /// The entries of all kinds.
    pub entries: Vec<NewEntry>,
    /// The aliases of entries.
    pub aliases: Vec<EntryAlias>,
    /// The locations of the warehouse.
    pub locations: Vec<NewLocation>,
}

/// A catalogue entry as in the imported document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEntry {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The internal id of the entry; for a blueprint, the key of its product, which can have any length.
    pub id: String,
    /// The name of the entry in the game.
    pub name: String,
    /// The name of the record or class in the game's data; for blueprints and materials, the key in the wiki.
    #[serde(default)]
    pub sc_record: Option<String>,
    /// The UUID of the entry in the community wiki.
    #[serde(default)]
    pub wiki_guid: Option<String>,
    /// The UUID of the entry in the game's files.
    #[serde(default)]
    pub game_guid: Option<String>,
    /// The UUID of the item that the blueprint produces.
    #[serde(default)]
    pub output_guid: Option<String>,
    /// The numeric id of the entry in the external catalogue (UEX).
    #[serde(default)]
    pub uex_id: Option<i64>,
    /// The localization key of the entry's name, without the leading `@`.
    #[serde(default)]
    pub loc_key: Option<String>,
    /// The properties that only this kind of entry has, for example the type and unit of a material or the
    /// `manufacturer` of a ship type.
    #[serde(default = "no_facts")]
    pub facts: serde_json::Value,
}

fn no_facts() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

impl NewEntry {
    /// Creates an entry with an id and a name; all other fields are empty.
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
    /// Blueprints, each identified by its product.
    Blueprint,
    /// Items of the game, which are counted in pieces.
    Item,
    /// Materials, raw or refined.
    Material,
    /// The types of ships that members can own.
    ShipType,
}

impl EntryKind {
    /// All kinds, in declaration order.
    pub const ALL: [Self; 4] = [Self::Blueprint, Self::Item, Self::Material, Self::ShipType];

    /// Returns the name that the store and the contract use.
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

/// An alias, which is an additional name of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryAlias {
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The additional name.
    pub alias: String,
    /// The id of the entry.
    pub id: String,
}

/// A location of the warehouse as in the imported document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewLocation {
    /// The internal id of the location.
    pub id: String,
    /// The display name of the location.
    pub name: String,
    /// The id of the location's city in the external catalogue (UEX).
    #[serde(default)]
    pub city: Option<i64>,
    /// The id of the location's space station in the external catalogue (UEX).
    #[serde(default)]
    pub station: Option<i64>,
    /// Whether the location is omitted from the list of locations.
    #[serde(default)]
    pub hidden: bool,
}

/// Replaces the whole catalogue and assigns a new revision. Must run within one transaction.
///
/// # Errors
/// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
/// database fails.
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
    // The revision is random: after a rollback, a counter would assign the same revision to different
    // contents.
    let mut revision = [0_u8; 8];
    random.fill(&mut revision)?;
    let revision = format!("{:016x}", u64::from_be_bytes(revision));
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute(params![REVISION, revision])?;
    Ok(())
}

/// Loads the whole catalogue, ordered by kinds and ids.
///
/// # Errors
/// Returns [`StoreError::Corrupt`] for an unknown kind or invalid facts, or another [`StoreError`] if the database
/// fails.
pub fn load_contents(connection: &Connection) -> Result<CatalogueContents, StoreError> {
    let kind = |name: String| {
        let found = EntryKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        found.ok_or(StoreError::Corrupt("unknown kind of a catalogue entry"))
    };
    let mut contents = CatalogueContents::default();
    let sql = "SELECT kind, id, name, sc_record, wiki_guid, game_guid, output_guid, uex_id, loc_key, facts \
               FROM catalogue_entry ORDER BY kind, id";
    let mut rows = connection.prepare(sql)?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let facts: String = row.get(9)?;
        contents.entries.push(NewEntry {
            kind: kind(row.get(0)?)?,
            id: row.get(1)?,
            name: row.get(2)?,
            sc_record: row.get(3)?,
            wiki_guid: row.get(4)?,
            game_guid: row.get(5)?,
            output_guid: row.get(6)?,
            uex_id: row.get(7)?,
            loc_key: row.get(8)?,
            facts: serde_json::from_str(&facts)
                .map_err(|_| StoreError::Corrupt("invalid facts of an entry"))?,
        });
    }
    let mut rows =
        connection.prepare("SELECT kind, alias, id FROM catalogue_alias ORDER BY kind, alias, id")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        contents.aliases.push(EntryAlias { kind: kind(row.get(0)?)?, alias: row.get(1)?, id: row.get(2)? });
    }
    let mut rows = connection.prepare("SELECT id, name, city, station, hidden FROM location ORDER BY id")?;
    let rows = rows.query_map([], |row| {
        Ok(NewLocation {
            id: row.get(0)?,
            name: row.get(1)?,
            city: row.get(2)?,
            station: row.get(3)?,
            hidden: row.get(4)?,
        })
    })?;
    contents.locations = rows.collect::<Result<_, _>>()?;
    Ok(contents)
}

const REVISION: &str = "catalogue";

/// Returns the revision of the contents, or an empty string if the catalogue was never imported.
pub(super) fn load_revision(connection: &Connection) -> Result<String, StoreError> {
    Ok(read_setting(connection, REVISION)?.unwrap_or_default())
}
