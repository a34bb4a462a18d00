//! An entry of `overlays`: a file, or a file with the document to which it applies.

use std::{fmt, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A file that patches a document: `"mend.yaml"`, or `{ file = "mend.json", document = "api.yaml" }` if the
/// file does not name its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayEntry {
    /// The path of the overlay, relative to the configuration.
    pub file: PathBuf,
    /// The document: its name below the inputs, its URI, or the end of its name. `None` for the document that
    /// the overlay `extends`, or for the only one.
    pub document: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverlayTable {
    file: PathBuf,
    document: Option<String>,
}

/// Implemented by hand: an untagged enum would hide the errors inside of a table.
impl<'de> Deserialize<'de> for OverlayEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OverlayVisitor;

        impl<'de> Visitor<'de> for OverlayVisitor {
            type Value = OverlayEntry;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a file, or `{ file = \"…\", document = \"…\" }`")
            }

            fn visit_str<E: Error>(self, file: &str) -> Result<OverlayEntry, E> {
                Ok(OverlayEntry { file: PathBuf::from(file), document: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OverlayEntry, A::Error> {
                let OverlayTable { file, document } =
                    OverlayTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(OverlayEntry { file, document })
            }
        }

        from.deserialize_any(OverlayVisitor)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Config;

    #[test]
    fn entries_are_files_or_tables() {
        let read = |list: &str| toml::from_str::<Config>(&format!("[input]\noverlays = [{list}]\n"));
        let entry = |file: &str, document: Option<&str>| OverlayEntry {
            file: PathBuf::from(file),
            document: document.map(str::to_owned),
        };
        let both = read(r#""a.yaml", { file = "b.json" }, { file = "c.json", document = "v1/api.yaml" }"#);
        assert_eq!(
            both.unwrap().input.overlays,
            [entry("a.yaml", None), entry("b.json", None), entry("c.json", Some("v1/api.yaml"))]
        );
        for (list, expected) in [
            (r#"{ file = "b", documents = "c" }"#, "unknown field `documents`"),
            (r#"{ document = "c" }"#, "missing field `file`"),
            ("3", "expected a file, or `{ file = \"…\", document = \"…\" }`"),
        ] {
            let error = read(list).unwrap_err().to_string();
            assert!(error.contains(expected), "{list}: {error}");
        }
    }
}
