//! What the exchange said of references, so that their keys are sent from then on (RES-13).

use std::{collections::HashMap, path::Path};

use exchange_api::types::{CatalogEntry, CatalogKind, ItemRef, UexId};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind},
    lock::durable,
};

/// References and the entries that they resolved to. Holds nothing about the member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueMemory {
    entries: HashMap<(CatalogKind, Named), CatalogEntry>,
}

/// What of a reference names its entry; what others added to it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
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

/// One line of what is stored.
#[derive(Serialize, Deserialize)]
struct Line {
    kind: CatalogKind,
    of: Named,
    entry: CatalogEntry,
}

/// Whether what was stored can be read.
#[derive(Debug, thiserror::Error)]
#[error("what was remembered of the catalogue cannot be read: {0}")]
pub struct UnreadableMemory(#[from] serde_json::Error);

impl CatalogueMemory {
    /// The entry of a reference: by what is remembered. A reference that holds a `bt` is asked about anew, since
    /// its name is not known here.
    #[must_use]
    pub fn entry(&self, kind: CatalogKind, reference: &ItemRef) -> Option<&CatalogEntry> {
        if reference.bt.is_some() {
            return None;
        }
        self.entries.get(&(kind, Named::of(reference)))
    }

    /// The exchange, or the member, said which entry it is. A reference that has nothing but its `bt` teaches
    /// nothing.
    pub fn learn(&mut self, kind: CatalogKind, reference: &ItemRef, entry: CatalogEntry) {
        let named = Named::of(reference);
        if named != Named::default() {
            self.entries.insert((kind, named), entry);
        }
    }

    /// How many references are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// As JSON, the same for the same content.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut lines: Vec<Line> = self
            .entries
            .iter()
            .map(|((kind, of), entry)| Line { kind: *kind, of: of.clone(), entry: entry.clone() })
            .collect();
        lines.sort_by(|a, b| (a.kind.as_str(), &a.of).cmp(&(b.kind.as_str(), &b.of)));
        // Texts and numbers under fixed names are always JSON.
        serde_json::to_string(&lines).unwrap_or_default()
    }

    /// Writes [`CatalogueMemory::to_json`] to a file, whole or not at all, so that who reads it meanwhile, or after
    /// this process was killed, finds what was there before.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`] with what the system says.
    pub fn write_to(&self, path: &Path) -> Result<(), Error> {
        std::path::absolute(path).and_then(|path| durable::write(&path, self.to_json().as_bytes())).map_err(
            |error| {
                let what = "what is remembered of the catalogue cannot be written";
                Error::caused(ErrorKind::Storage, what, error)
            },
        )
    }

    /// What [`CatalogueMemory::to_json`] wrote.
    ///
    /// # Errors
    /// When it is none of it; forgetting it is right then.
    pub fn from_json(json: &[u8]) -> Result<Self, UnreadableMemory> {
        let lines: Vec<Line> = serde_json::from_slice(json)?;
        let entries = lines.into_iter().map(|Line { kind, of, entry }| ((kind, of), entry)).collect();
        Ok(Self { entries })
    }
}

impl Named {
    fn of(reference: &ItemRef) -> Self {
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

    /// RES-13: what was learned outlives the process, and is read as it was.
    #[test]
    fn what_was_learned_is_stored_and_read() {
        let mut memory = CatalogueMemory::default();
        memory.learn(CatalogKind::Item, &reference(r#"{"name": "One", "uexId": 7}"#), entry("b-1"));
        memory.learn(CatalogKind::Material, &reference(r#"{"name": "One"}"#), entry("m-1"));
        memory.learn(CatalogKind::Item, &reference(r#"{"locKey": "@item_x"}"#), entry("b-2"));
        // The latest word counts, and what others added names nothing.
        let added =
            reference(r#"{"name": "One", "uexId": 7, "extensions": {"org.example": {}}, "later": 1}"#);
        memory.learn(CatalogKind::Item, &added, entry("b-9"));
        let read = CatalogueMemory::from_json(memory.to_json().as_bytes()).unwrap();
        assert_eq!((read.len(), read.is_empty(), &read), (3, false, &memory));
        assert_eq!(read.to_json(), memory.to_json());
        let bt = |kind, json| read.entry(kind, &reference(json)).map(|entry| entry.bt.as_str().to_owned());
        assert_eq!(bt(CatalogKind::Item, r#"{"name": "One", "uexId": 7}"#).as_deref(), Some("b-9"));
        assert_eq!(bt(CatalogKind::Item, r#"{"locKey": "item_x"}"#).as_deref(), Some("b-2"));
        assert_eq!(bt(CatalogKind::Item, r#"{"name": "One"}"#), None);
        assert_eq!(bt(CatalogKind::Item, r#"{"name": "One", "uexId": 7, "bt": "b-3"}"#), None);
        assert!(CatalogueMemory::from_json(b"[{]").unwrap_err().to_string().contains("cannot be read"));
    }

    /// A file is replaced whole: what cannot be put in its place changes nothing, and leaves nothing beside it.
    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("catalogue.json");
        let mut memory = CatalogueMemory::default();
        for bt in ["b-1", "b-2"] {
            memory.learn(CatalogKind::Item, &reference(r#"{"name": "One"}"#), entry(bt));
            memory.write_to(&file).unwrap();
            assert_eq!(CatalogueMemory::from_json(&std::fs::read(&file).unwrap()).unwrap(), memory);
        }
        let taken = folder.path().join("taken");
        std::fs::create_dir_all(taken.join("x")).unwrap();
        assert_eq!(memory.write_to(&taken).unwrap_err().kind(), ErrorKind::Storage);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    /// A key alone is no name of anything.
    #[test]
    fn a_bare_key_teaches_nothing() {
        let mut memory = CatalogueMemory::default();
        memory.learn(CatalogKind::Item, &reference(r#"{"bt": "b-1"}"#), entry("b-1"));
        assert!(memory.is_empty());
    }
}
