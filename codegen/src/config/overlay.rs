//! One entry of `overlays`: a file, or a file and the document that it is for.

use std::{fmt, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A file that mends a document: `"mend.yaml"`, or `{ file = "mend.json", document = "api.yaml" }`
/// where it does not say itself which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// The overlay, relative to the configuration.
    pub file: PathBuf,
    /// The document: its name below the inputs, its URI, or the end of its name. `None` for the one
    /// that the overlay `extends`, or the only one.
    pub document: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    file: PathBuf,
    document: Option<String>,
}

/// By hand: what is wrong with a table is said of the table, not that it is no text.
impl<'de> Deserialize<'de> for Overlay {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entry;

        impl<'de> Visitor<'de> for Entry {
            type Value = Overlay;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a file, or `{ file = \"…\", document = \"…\" }`")
            }

            fn visit_str<E: Error>(self, file: &str) -> Result<Overlay, E> {
                Ok(Overlay { file: PathBuf::from(file), document: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Overlay, A::Error> {
                let Table { file, document } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Overlay { file, document })
            }
        }

        from.deserialize_any(Entry)
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
        let entry = |file: &str, document: Option<&str>| Overlay {
            file: PathBuf::from(file),
            document: document.map(str::to_owned),
        };
        let both = read(r#""a.yaml", { file = "b.json" }, { file = "c.json", document = "v1/api.yaml" }"#);
        assert_eq!(
            both.unwrap().input.overlays,
            [entry("a.yaml", None), entry("b.json", None), entry("c.json", Some("v1/api.yaml"))]
        );
        for (list, said) in [
            (r#"{ file = "b", documents = "c" }"#, "unknown field `documents`"),
            (r#"{ document = "c" }"#, "missing field `file`"),
            ("3", "expected a file, or `{ file = \"…\", document = \"…\" }`"),
        ] {
            let error = read(list).unwrap_err().to_string();
            assert!(error.contains(said), "{list}: {error}");
        }
    }
}
