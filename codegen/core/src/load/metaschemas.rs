//! The meta-schemas of JSON Schema 2020-12. They are built in, so that contracts can refer to them without
//! network access.

/// The base URI of the meta-schemas.
const BASE_URI: &str = "https://json-schema.org/draft/2020-12/";

/// Returns the name below [`BASE_URI`] and the text of the meta-schema with this URI (without fragment).
pub(super) fn find_metaschema(uri: &str) -> Option<(&'static str, &'static str)> {
    let name = uri.strip_prefix(BASE_URI)?;
    METASCHEMAS.iter().find(|(known, _)| *known == name).copied()
}

const METASCHEMAS: [(&str, &str); 8] = [
    ("schema", include_str!("metaschemas/schema.json")),
    ("meta/core", include_str!("metaschemas/core.json")),
    ("meta/applicator", include_str!("metaschemas/applicator.json")),
    ("meta/unevaluated", include_str!("metaschemas/unevaluated.json")),
    ("meta/validation", include_str!("metaschemas/validation.json")),
    ("meta/meta-data", include_str!("metaschemas/meta-data.json")),
    ("meta/format-annotation", include_str!("metaschemas/format-annotation.json")),
    ("meta/content", include_str!("metaschemas/content.json")),
];
