//! An entry of `input.overlays`: an overlay file, or a table with the file and the document to which it
//! applies.

use std::{fmt, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// An overlay or JSON merge patch that is applied to a document: `"mend.yaml"`, or
/// `{ file = "mend.json", document = "api.yaml" }` if the file does not name its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayEntry {
    /// The path of the overlay file, relative to the folder of `codegen.toml`.
    pub file: PathBuf,
    /// The document to which the overlay applies: its name below the inputs, its URI, or the end of its name.
    /// By default, it is the document in the field `extends` of the overlay, or the only document.
    pub document: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverlayTable {
    file: PathBuf,
    document: Option<String>,
}

/// Implemented by hand, because a derived untagged enum would hide the errors inside a table.
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
