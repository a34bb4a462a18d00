//! The meta-schemas of every supported draft of JSON Schema. They are built in, so that contracts can refer
//! to them without network access.

/// Returns the name and the text of the built-in meta-schema with this URI, which must not have a fragment.
/// Returns `None` for other URIs.
pub(super) fn find_metaschema(uri: &str) -> Option<(&'static str, &'static str)> {
    let path = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let path = path.strip_prefix("json-schema.org/")?;
    let name = |path: &'static str| path.strip_prefix("draft/2020-12/").unwrap_or(path);
    let found = METASCHEMAS.iter().find(|(known, _)| *known == path);
    found.map(|(path, text)| (name(path), *text))
}

/// The URI paths and the texts of the meta-schemas.
const METASCHEMAS: [(&str, &str); 18] = [
    ("draft/2020-12/schema", include_str!("metaschemas/schema.json")),
    ("draft/2020-12/meta/core", include_str!("metaschemas/core.json")),
    ("draft/2020-12/meta/applicator", include_str!("metaschemas/applicator.json")),
    ("draft/2020-12/meta/unevaluated", include_str!("metaschemas/unevaluated.json")),
    ("draft/2020-12/meta/validation", include_str!("metaschemas/validation.json")),
    ("draft/2020-12/meta/meta-data", include_str!("metaschemas/meta-data.json")),
    ("draft/2020-12/meta/format-annotation", include_str!("metaschemas/format-annotation.json")),
    ("draft/2020-12/meta/content", include_str!("metaschemas/content.json")),
    ("draft/2019-09/schema", include_str!("metaschemas/2019-09/schema.json")),
    ("draft/2019-09/meta/core", include_str!("metaschemas/2019-09/core.json")),
    ("draft/2019-09/meta/applicator", include_str!("metaschemas/2019-09/applicator.json")),
    ("draft/2019-09/meta/validation", include_str!("metaschemas/2019-09/validation.json")),
    ("draft/2019-09/meta/meta-data", include_str!("metaschemas/2019-09/meta-data.json")),
    ("draft/2019-09/meta/format", include_str!("metaschemas/2019-09/format.json")),
    ("draft/2019-09/meta/content", include_str!("metaschemas/2019-09/content.json")),
    ("draft-07/schema", include_str!("metaschemas/draft-07.json")),
    ("draft-06/schema", include_str!("metaschemas/draft-06.json")),
    ("draft-04/schema", include_str!("metaschemas/draft-04.json")),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{
        load::Sources,
        resolve::{ResolveOptions, resolve_documents},
    };

    /// Each built-in meta-schema, resolved as the only input, has no errors or warnings.
    #[test]
    fn metaschemas_are_built_in() {
        for uri in [
            "https://json-schema.org/draft/2020-12/schema",
            "https://json-schema.org/draft/2019-09/schema",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft-07/schema",
            "http://json-schema.org/draft-06/schema#",
            "http://json-schema.org/draft-04/schema#",
        ] {
            let text = format!(r#"{{"$schema": "{uri}", "properties": {{"a": {{"$ref": "{uri}"}}}}}}"#);
            let mut sources = Sources::from_texts(&[("a.json", "", &text)]).unwrap();
            let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
            assert_eq!(problems.iter().count(), 0, "{uri}: {problems}");
            assert!(graph.schemas.len() > 30, "{uri}: {}", graph.schemas.len());
        }
    }
}
