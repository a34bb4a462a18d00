//! The meta-schemas of every supported draft of JSON Schema. They are built in, so that contracts can refer
//! to them without network access.

use super::uri::strip_http_scheme;

/// Returns the name and the text of the built-in meta-schema with this URI, which must not have a fragment.
/// Returns `None` for other URIs.
pub(super) fn find_metaschema(uri: &str) -> Option<(&'static str, &'static str)> {
    let path = strip_http_scheme(uri)?.strip_prefix("json-schema.org/")?;
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

    /// The two URIs of a meta-schema, with `http` and with `https`, identify the same document.
    #[test]
    fn http_and_https_identify_the_same_metaschema() {
        for path in ["draft/2020-12/schema", "draft-07/schema"] {
            let text = format!(
                r#"{{"oneOf": [{{"$ref": "http://json-schema.org/{path}"}}, {{"$ref": "https://json-schema.org/{path}"}}]}}"#
            );
            let mut sources = Sources::from_texts(&[("a.json", "", &text)]).unwrap();
            let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
            assert_eq!(problems.iter().count(), 0, "{path}: {problems}");
            let targets: Vec<_> = graph.ids().filter(|id| graph.schema(*id).place.source.0 == 0).collect();
            let targets: Vec<_> = targets.iter().filter_map(|id| graph.schema(*id).reference).collect();
            assert!(targets.len() == 2 && targets[0] == targets[1], "{path}: {targets:?}");
        }
    }
}
