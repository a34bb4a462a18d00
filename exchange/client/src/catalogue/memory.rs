//! Remembers the results of catalog lookups, so that later requests contain the keys of the exchange
//! (RES-13).

use std::{collections::HashMap, path::Path};

use exchange_api::types::{CatalogEntry, CatalogKind, ItemRef, UexId};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind},
    state_folder::durable,
};

/// References and the entries that they resolved to. The memory contains no data about the member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogMemory {
    entries: HashMap<(CatalogKind, ReferenceNames), CatalogEntry>,
}

/// The fields of a reference that identify its entry. Extensions are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferenceNames {
    #[serde(skip_serializing_if = "Option::is_none")]
    sc_record: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sc_guid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uex_id: Option<UexId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loc_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// An element of the stored JSON array.
#[derive(Serialize, Deserialize)]
struct MemoryRecord {
    kind: CatalogKind,
    #[serde(rename = "of")]
    names: ReferenceNames,
    entry: CatalogEntry,
}

/// The error returned when a stored memory cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the stored results of catalog lookups are corrupt: {0}; delete them to look up the references again"
)]
pub struct CatalogMemoryError(#[from] serde_json::Error);

impl CatalogMemory {
    /// Returns the remembered entry of a reference. Returns `None` if there is none, and for a reference that
    /// already contains the id `bt` and thus needs no lookup.
    #[must_use]
    pub fn entry(&self, kind: CatalogKind, reference: &ItemRef) -> Option<&CatalogEntry> {
        if reference.bt.is_some() {
            return None;
        }
        self.entries.get(&(kind, ReferenceNames::from_reference(reference)))
    }

    /// Remembers the entry that the exchange or the member assigned to a reference. Ignores a reference that
    /// has no field except `bt`.
    pub fn learn(&mut self, kind: CatalogKind, reference: &ItemRef, entry: CatalogEntry) {
        let named = ReferenceNames::from_reference(reference);
        if named != ReferenceNames::default() {
            self.entries.insert((kind, named), entry);
        }
    }

    /// Returns the number of remembered references.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if no reference is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Serializes the memory as JSON. Memories with equal contents produce equal JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut lines: Vec<MemoryRecord> = self
            .entries
            .iter()
            .map(|((kind, names), entry)| MemoryRecord {
                kind: *kind,
                names: names.clone(),
                entry: entry.clone(),
            })
            .collect();
        lines.sort_by(|a, b| (a.kind.as_str(), &a.names).cmp(&(b.kind.as_str(), &b.names)));
        // Strings and numbers in structs can always be serialized.
        serde_json::to_string(&lines).unwrap_or_default()
    }

    /// Writes [`CatalogMemory::to_json`] to a file atomically: a concurrent reader, or a reader after this
    /// process was killed, finds either the previous or the new contents.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] with the I/O error if the file cannot be written.
    pub fn write_to(&self, path: &Path) -> Result<(), Error> {
        std::path::absolute(path)
            .and_then(|path| durable::replace_file(&path, self.to_json().as_bytes()))
            .map_err(|error| {
                let what = format!("cannot write the results of catalog lookups to {}", path.display());
                Error::with_source(ErrorKind::Storage, what, error)
            })
    }

    /// Parses the output of [`CatalogMemory::to_json`].
    ///
    /// # Errors
    /// Returns an error if the JSON is corrupt. The program then starts with an empty memory.
    pub fn from_json(json: &[u8]) -> Result<Self, CatalogMemoryError> {
        let lines: Vec<MemoryRecord> = serde_json::from_slice(json)?;
        let entries =
            lines.into_iter().map(|MemoryRecord { kind, names, entry }| ((kind, names), entry)).collect();
        Ok(Self { entries })
    }
}

impl ReferenceNames {
    fn from_reference(reference: &ItemRef) -> Self {
        Self {
            sc_record: reference.sc_record.clone(),
            sc_guid: reference.sc_guid.clone(),
            uex_id: reference.uex_id,
            loc_key: reference.loc_key.as_deref().map(|key| key.trim_start_matches('@').to_owned()),
            name: reference.name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use exchange_api::Contract as _;

    use super::*;

    fn reference(json: &str) -> ItemRef {
        ItemRef::parse(json.as_bytes()).unwrap()
    }

    fn entry(bt: &str) -> CatalogEntry {
        CatalogEntry::parse(format!(r#"{{"bt": "{bt}", "name": "n"}}"#).as_bytes()).unwrap()
    }

    /// RES-13: learned references are unchanged after they are stored and parsed again.
    #[test]
    fn learned_references_round_trip() {
        let mut memory = CatalogMemory::default();
        memory.learn(CatalogKind::Item, &reference(r#"{"name": "One", "uexId": 7}"#), entry("b-1"));
        memory.learn(CatalogKind::Material, &reference(r#"{"name": "One"}"#), entry("m-1"));
        memory.learn(CatalogKind::Item, &reference(r#"{"locKey": "@item_x"}"#), entry("b-2"));
        // The last learned entry replaces earlier ones, and undeclared properties do not identify a
        // reference.
        let added =
            reference(r#"{"name": "One", "uexId": 7, "extensions": {"org.example": {}}, "later": 1}"#);
        memory.learn(CatalogKind::Item, &added, entry("b-9"));
        let read = CatalogMemory::from_json(memory.to_json().as_bytes()).unwrap();
        assert_eq!((read.len(), read.is_empty(), &read), (3, false, &memory));
        assert_eq!(read.to_json(), memory.to_json());
        let bt = |kind, json| read.entry(kind, &reference(json)).map(|entry| entry.bt.as_str().to_owned());
        assert_eq!(bt(CatalogKind::Item, r#"{"name": "One", "uexId": 7}"#).as_deref(), Some("b-9"));
        assert_eq!(bt(CatalogKind::Item, r#"{"locKey": "item_x"}"#).as_deref(), Some("b-2"));
        assert_eq!(bt(CatalogKind::Item, r#"{"name": "One"}"#), None);
        assert_eq!(bt(CatalogKind::Item, r#"{"name": "One", "uexId": 7, "bt": "b-3"}"#), None);
        let error = CatalogMemory::from_json(b"[{]").unwrap_err().to_string();
        assert!(error.starts_with("the stored results of catalog lookups are corrupt: "), "{error}");
    }

    /// A file is replaced atomically: if the replacement fails, the old file is unchanged and no temporary
    /// file remains.
    #[test]
    fn file_is_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("catalogue.json");
        let mut memory = CatalogMemory::default();
        for bt in ["b-1", "b-2"] {
            memory.learn(CatalogKind::Item, &reference(r#"{"name": "One"}"#), entry(bt));
            memory.write_to(&file).unwrap();
            assert_eq!(CatalogMemory::from_json(&std::fs::read(&file).unwrap()).unwrap(), memory);
        }
        let taken = folder.path().join("taken");
        std::fs::create_dir_all(taken.join("x")).unwrap();
        assert_eq!(memory.write_to(&taken).unwrap_err().kind(), ErrorKind::Storage);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    /// A reference with no field except its key is not remembered.
    #[test]
    fn reference_with_only_a_key_is_not_learned() {
        let mut memory = CatalogMemory::default();
        memory.learn(CatalogKind::Item, &reference(r#"{"bt": "b-1"}"#), entry("b-1"));
        assert!(memory.is_empty());
    }
}
