//! The in-memory index of the catalogue, with a lookup for every field that a reference can contain.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use rusqlite::Connection;

use super::contents::EntryKind;
use super::fuzzy::FuzzyIndex;
use super::locations::LocationIndex;
use super::names::{canonical_name, fold_name, without_maker};
use super::products::ProductIndex;
use crate::secrets;
use crate::store::StoreError;

/// The maximum length of a key that clients see unhashed, in characters (LIM-29).
const MAX_KEY_CHARS: usize = 128;
/// The number of the column with the UUID of a blueprint's product.
const OUTPUT_COLUMN: usize = 5;
/// The maximum length of a name that clients see, in characters (BPR-02).
const MAX_NAME_CHARS: usize = 200;

/// A catalogue entry in memory, with the key and the name that clients see.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueEntry {
    /// The internal id of the entry, as stored.
    pub id: String,
    /// The key that clients see.
    pub key: String,
    /// The name that clients see.
    pub name: String,
    /// The properties that only this kind of entry has.
    pub facts: serde_json::Value,
}

/// Returns the key that clients see. A key of more than 128 characters is replaced by its hash (BPR-02, A33).
#[must_use]
pub fn shown_key(id: &str) -> String {
    client_key(id).into_owned()
}

/// Returns the key that clients see, without an allocation if it equals the stored key.
fn client_key(id: &str) -> Cow<'_, str> {
    // The number of characters never exceeds the number of bytes.
    if id.len() <= MAX_KEY_CHARS || id.chars().nth(MAX_KEY_CHARS).is_none() {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("h:{}", secrets::encode_hex(&secrets::sha256(id))))
}

/// Returns the name that clients see, truncated to 200 characters (BPR-02).
#[must_use]
pub(super) fn shown_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// An index of one revision of the whole catalogue.
#[derive(Debug, Default)]
pub struct CatalogueIndex {
    revision: String,
    by_kind: HashMap<EntryKind, KindIndex>,
    locations: LocationIndex,
    products: ProductIndex,
}

/// The entries of one kind. The values of the maps are positions in `entries`.
#[derive(Debug, Default)]
pub(super) struct KindIndex {
    pub(super) entries: Vec<CatalogueEntry>,
    pub(super) by_key: HashMap<String, u32>,
    pub(super) by_record: MultiMap,
    pub(super) by_guid: MultiMap,
    /// The UUIDs of the items that blueprints produce, with the positions of the blueprints.
    pub(super) outputs: Vec<(String, u32)>,
    pub(super) by_uex: HashMap<i64, Vec<u32>>,
    pub(super) by_loc_key: MultiMap,
    pub(super) by_name: MultiMap,
    pub(super) by_canonical: MultiMap,
    pub(super) by_alias: MultiMap,
    /// Positions by the canonical name without the manufacturer.
    pub(super) by_model: MultiMap,
    pub(super) makers: BTreeSet<String>,
    pub(super) fuzzy: FuzzyIndex,
}

type MultiMap = HashMap<String, Vec<u32>>;

/// Adds a position to the positions of a key. Omits a position that was just added, because two fields of an
/// entry can have the same value.
fn insert_position<K: Eq + Hash>(map: &mut HashMap<K, Vec<u32>>, key: K, index: u32) {
    let places = map.entry(key).or_default();
    if places.last() != Some(&index) {
        places.push(index);
    }
}

impl CatalogueIndex {
    pub(super) fn from_tables(connection: &Connection, revision: String) -> Result<Self, StoreError> {
        let mut parts: HashMap<EntryKind, KindIndex> = HashMap::new();
        for kind in EntryKind::ALL {
            parts.insert(kind, KindIndex::from_table(connection, kind)?);
        }
        let products = match (parts.get(&EntryKind::Blueprint), parts.get(&EntryKind::Item)) {
            (Some(blueprints), Some(items)) => ProductIndex::from_indexes(blueprints, items),
            _ => ProductIndex::default(),
        };
        Ok(Self { revision, by_kind: parts, locations: LocationIndex::from_table(connection)?, products })
    }

    /// Returns the revision of the tables from which the index was built.
    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// Returns the index of the warehouse's locations.
    #[must_use]
    pub fn locations(&self) -> &LocationIndex {
        &self.locations
    }

    /// Returns the index of blueprints by product.
    #[must_use]
    pub fn products(&self) -> &ProductIndex {
        &self.products
    }

    pub(super) fn kind_index(&self, kind: EntryKind) -> Option<&KindIndex> {
        self.by_kind.get(&kind)
    }

    /// Finds an entry by the key that clients see.
    #[must_use]
    pub fn find_entry(&self, kind: EntryKind, key: &str) -> Option<&CatalogueEntry> {
        let part = self.kind_index(kind)?;
        part.entries.get(*part.by_key.get(key)? as usize)
    }

    /// Returns all entries of a kind, sorted by name.
    #[must_use]
    pub fn entries(&self, kind: EntryKind) -> &[CatalogueEntry] {
        self.kind_index(kind).map(|part| part.entries.as_slice()).unwrap_or_default()
    }

    /// Returns the name of the entry with a stored id. Returns the id, truncated like a name, if the
    /// catalogue does not contain the entry.
    #[must_use]
    pub fn name_of(&self, kind: EntryKind, id: &str) -> String {
        let known = self.find_entry(kind, &client_key(id));
        known.map_or_else(|| shown_name(id), |entry| entry.name.clone())
    }
}

impl KindIndex {
    fn from_table(connection: &Connection, kind: EntryKind) -> Result<Self, StoreError> {
        let mut part = Self::default();
        let mut ids = HashMap::new();
        let mut rows = connection.prepare_cached(
            "SELECT id, name, sc_record, wiki_guid, game_guid, output_guid, uex_id, loc_key, facts \
             FROM catalogue_entry WHERE kind = ?1 ORDER BY name, id",
        )?;
        let mut rows = rows.query([kind.as_str()])?;
        while let Some(row) = rows.next()? {
            let (id, name): (String, String) = (row.get(0)?, row.get(1)?);
            let at = u32::try_from(part.entries.len())
                .map_err(|_| StoreError::Corrupt("too many catalogue entries"))?;
            let text = |column| row.get::<_, Option<String>>(column);
            if let Some(record) = text(2)? {
                insert_position(&mut part.by_record, record.to_lowercase(), at);
            }
            // A ship type has only the UUID of the wiki; a blueprint also has that of its product (RES-03 to
            // RES-06).
            for column in 3..=OUTPUT_COLUMN {
                if let Some(guid) = text(column)? {
                    let guid = guid.to_lowercase();
                    if column == OUTPUT_COLUMN {
                        part.outputs.push((guid.clone(), at));
                    }
                    insert_position(&mut part.by_guid, guid, at);
                }
            }
            if let Some(id) = row.get::<_, Option<i64>>(6)? {
                insert_position(&mut part.by_uex, id, at);
            }
            if let Some(key) = text(7)? {
                insert_position(&mut part.by_loc_key, key.to_lowercase(), at);
            }
            let facts: String = row.get(8)?;
            let facts: serde_json::Value = serde_json::from_str(&facts)
                .map_err(|_| StoreError::Corrupt("catalogue facts are not JSON"))?;
            insert_position(&mut part.by_name, fold_name(&name), at);
            insert_position(&mut part.by_canonical, canonical_name(&name), at);
            let maker = facts.get("manufacturer").and_then(serde_json::Value::as_str);
            let model = maker.and_then(|maker| without_maker(&name, maker)).unwrap_or(&name);
            insert_position(&mut part.by_model, canonical_name(model), at);
            part.fuzzy.add_name(&name, at);
            if model.len() < name.len() {
                part.fuzzy.add_name(model, at);
            }
            part.makers.extend(maker.map(str::to_owned));
            let key = shown_key(&id);
            part.by_key.insert(key.clone(), at);
            ids.insert(id.clone(), at);
            part.entries.push(CatalogueEntry { id, key, name: shown_name(&name), facts });
        }
        let mut rows =
            connection.prepare_cached("SELECT alias, id FROM catalogue_alias WHERE kind = ?1 ORDER BY id")?;
        let mut rows = rows.query([kind.as_str()])?;
        while let Some(row) = rows.next()? {
            let (alias, id): (String, String) = (row.get(0)?, row.get(1)?);
            if let Some(&at) = ids.get(&id) {
                insert_position(&mut part.by_alias, fold_name(&alias), at);
            }
        }
        Ok(part)
    }
}
