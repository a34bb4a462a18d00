//! The index: every field of every entry, by what references name it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use rusqlite::Connection;

use super::contents::Kind;
use super::fuzzy::Likeness;
use super::names::{canonical, folded, without_maker};
use super::places::Places;
use super::products::Products;
use crate::secrets;
use crate::store::StoreError;

/// The longest key that is shown as it is (LIM-29).
const LONGEST_KEY: usize = 128;
/// The column of what a blueprint produces.
const OUTPUT: usize = 5;
/// The longest name that is shown (BPR-02).
const LONGEST_NAME: usize = 200;

/// One entry of the catalogue.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The service's own key, as the store has it.
    pub id: String,
    /// The key as clients see it.
    pub key: String,
    /// The name as clients see it.
    pub name: String,
    /// What only its kind has.
    pub facts: serde_json::Value,
}

/// A key as clients see it: one of more than 128 characters by its hash (BPR-02, A33).
#[must_use]
pub fn shown_key(id: &str) -> String {
    shown(id).into_owned()
}

/// The same, made only where it is another.
fn shown(id: &str) -> Cow<'_, str> {
    // What has no more bytes has no more characters.
    if id.len() <= LONGEST_KEY || id.chars().nth(LONGEST_KEY).is_none() {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("h:{}", secrets::hex(&secrets::hash(id))))
}

/// A name as clients see it: of a longer one the first 200 characters (BPR-02).
#[must_use]
pub(super) fn shown_name(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// The whole catalogue of one revision.
#[derive(Debug, Default)]
pub struct Index {
    revision: String,
    parts: HashMap<Kind, Part>,
    places: Places,
    products: Products,
}

/// The entries of one kind, each by its place among them.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) entries: Vec<Entry>,
    pub(super) by_key: HashMap<String, u32>,
    pub(super) by_record: Several,
    pub(super) by_guid: Several,
    /// The UUIDs of what blueprints produce.
    pub(super) outputs: Vec<(String, u32)>,
    pub(super) by_uex: HashMap<i64, Vec<u32>>,
    pub(super) by_loc_key: Several,
    pub(super) by_name: Several,
    pub(super) by_canonical: Several,
    pub(super) by_alias: Several,
    /// Canonical names without the manufacturer.
    pub(super) by_model: Several,
    pub(super) makers: BTreeSet<String>,
    pub(super) likeness: Likeness,
}

type Several = HashMap<String, Vec<u32>>;

/// Each entry once, also when two of its fields say the same.
fn note<K: Eq + Hash>(map: &mut HashMap<K, Vec<u32>>, key: K, at: u32) {
    let places = map.entry(key).or_default();
    if places.last() != Some(&at) {
        places.push(at);
    }
}

impl Index {
    /// Reads the tables, whole.
    pub(super) fn read(connection: &Connection, revision: String) -> Result<Self, StoreError> {
        let mut parts: HashMap<Kind, Part> = HashMap::new();
        for kind in Kind::ALL {
            parts.insert(kind, Part::read(connection, kind)?);
        }
        let products = match (parts.get(&Kind::Blueprint), parts.get(&Kind::Item)) {
            (Some(blueprints), Some(items)) => Products::of(blueprints, items),
            _ => Products::default(),
        };
        Ok(Self { revision, parts, places: Places::read(connection)?, products })
    }

    /// What the contents are known by.
    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// The warehouse's locations.
    #[must_use]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// What blueprints produce.
    #[must_use]
    pub fn products(&self) -> &Products {
        &self.products
    }

    pub(super) fn part(&self, kind: Kind) -> Option<&Part> {
        self.parts.get(&kind)
    }

    /// The entry of a key as clients see it.
    #[must_use]
    pub fn entry(&self, kind: Kind, key: &str) -> Option<&Entry> {
        let part = self.part(kind)?;
        part.entries.get(*part.by_key.get(key)? as usize)
    }

    /// Every entry of a kind, by name.
    #[must_use]
    pub fn entries(&self, kind: Kind) -> &[Entry] {
        self.part(kind).map(|part| part.entries.as_slice()).unwrap_or_default()
    }

    /// The name of an entry by the key that the store has; its key as long as the catalogue does not
    /// know it any more.
    #[must_use]
    pub fn name_of(&self, kind: Kind, id: &str) -> String {
        let known = self.entry(kind, &shown(id));
        known.map_or_else(|| shown_name(id), |entry| entry.name.clone())
    }
}

impl Part {
    fn read(connection: &Connection, kind: Kind) -> Result<Self, StoreError> {
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
                .map_err(|_| StoreError::Corrupt("more entries than the catalogue can have"))?;
            let text = |column| row.get::<_, Option<String>>(column);
            if let Some(record) = text(2)? {
                note(&mut part.by_record, record.to_lowercase(), at);
            }
            // A ship type has the wiki's only, a blueprint its output's too (RES-03 to RES-06).
            for column in 3..=OUTPUT {
                if let Some(guid) = text(column)? {
                    let guid = guid.to_lowercase();
                    if column == OUTPUT {
                        part.outputs.push((guid.clone(), at));
                    }
                    note(&mut part.by_guid, guid, at);
                }
            }
            if let Some(id) = row.get::<_, Option<i64>>(6)? {
                note(&mut part.by_uex, id, at);
            }
            if let Some(key) = text(7)? {
                note(&mut part.by_loc_key, key.to_lowercase(), at);
            }
            let facts: String = row.get(8)?;
            let facts: serde_json::Value =
                serde_json::from_str(&facts).map_err(|_| StoreError::Corrupt("facts that are no JSON"))?;
            note(&mut part.by_name, folded(&name), at);
            note(&mut part.by_canonical, canonical(&name), at);
            let maker = facts.get("manufacturer").and_then(serde_json::Value::as_str);
            let model = maker.and_then(|maker| without_maker(&name, maker)).unwrap_or(&name);
            note(&mut part.by_model, canonical(model), at);
            part.likeness.add(&name, at);
            if model.len() < name.len() {
                part.likeness.add(model, at);
            }
            part.makers.extend(maker.map(str::to_owned));
            let key = shown_key(&id);
            part.by_key.insert(key.clone(), at);
            ids.insert(id.clone(), at);
            part.entries.push(Entry { id, key, name: shown_name(&name), facts });
        }
        let mut rows =
            connection.prepare_cached("SELECT alias, id FROM catalogue_alias WHERE kind = ?1 ORDER BY id")?;
        let mut rows = rows.query([kind.as_str()])?;
        while let Some(row) = rows.next()? {
            let (alias, id): (String, String) = (row.get(0)?, row.get(1)?);
            if let Some(&at) = ids.get(&id) {
                note(&mut part.by_alias, folded(&alias), at);
            }
        }
        Ok(part)
    }
}
