//! The meta-schemas of JSON Schema 2020-12, so that a contract may refer to them without a copy
//! of its own: nothing is fetched.

/// Where they are published.
const BASE: &str = "https://json-schema.org/draft/2020-12/";

/// The meta-schema of a URI without fragment: name below [`BASE`], and text.
pub(super) fn find(uri: &str) -> Option<(&'static str, &'static str)> {
    let name = uri.strip_prefix(BASE)?;
    ALL.iter().find(|(known, _)| *known == name).copied()
}

const ALL: [(&str, &str); 8] = [
    ("schema", include_str!("metaschemas/schema.json")),
    ("meta/core", include_str!("metaschemas/core.json")),
    ("meta/applicator", include_str!("metaschemas/applicator.json")),
    ("meta/unevaluated", include_str!("metaschemas/unevaluated.json")),
    ("meta/validation", include_str!("metaschemas/validation.json")),
    ("meta/meta-data", include_str!("metaschemas/meta-data.json")),
    ("meta/format-annotation", include_str!("metaschemas/format-annotation.json")),
    ("meta/content", include_str!("metaschemas/content.json")),
];
