//! The dialects of schemas. `$schema` names a meta-schema, which determines the draft and, by `$vocabulary`,
//! the keywords that schemas may use. The entry point is [`find_dialect`].

use crate::{
    load::{Sources, is_draft_04, uri},
    schema::keywords::{Draft, DraftSupport, Keyword, vocabulary},
    tree::{DocumentNode, NodeValue},
};

/// The draft, vocabularies and settings by which the keywords of a schema are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SchemaDialect {
    pub(crate) draft: Draft,
    /// The supported vocabularies, as bits of [`vocabulary`].
    pub(crate) vocabularies: u8,
    /// True if the dialect defines `discriminator`, `xml`, `externalDocs` and `example`.
    pub(crate) has_openapi_keywords: bool,
    /// True if keywords of OpenAPI 3.0 are accepted with a warning. Many documents were migrated to 3.1 by
    /// changing only their version number.
    pub(crate) accepts_openapi_30: bool,
    /// True if a value that violates `format` is invalid in this dialect (Validation 7.2.2).
    pub(crate) asserts_formats: bool,
    /// True for draft-04, in which `id` identifies schemas and boolean keywords make bounds exclusive.
    pub(crate) is_draft_04: bool,
}

impl SchemaDialect {
    /// The dialect of schema files without `$schema`: draft 2020-12 with the keywords of OpenAPI.
    pub(crate) const LATEST: Self = Self { has_openapi_keywords: true, ..Self::for_draft(Draft::Latest) };
    /// The dialect of OpenAPI 3.1 and 3.2: draft 2020-12, in which keywords of OpenAPI 3.0 are accepted with
    /// a warning.
    pub(crate) const OPENAPI_31: Self = Self { accepts_openapi_30: true, ..Self::LATEST };
    /// The dialect of OpenAPI 3.0: an older draft with `nullable` and without the keywords of 2019-09 and
    /// later.
    pub(crate) const OPENAPI_30: Self =
        Self { has_openapi_keywords: true, ..Self::for_draft(Draft::OpenApi30) };
    /// Draft-04, which is treated as draft-07 with other spellings and fewer keywords.
    const DRAFT_04: Self = Self { is_draft_04: true, ..Self::for_draft(Draft::Draft7) };

    const fn for_draft(draft: Draft) -> Self {
        Self {
            draft,
            vocabularies: vocabulary::ALL,
            has_openapi_keywords: false,
            accepts_openapi_30: false,
            asserts_formats: false,
            is_draft_04: false,
        }
    }

    /// Returns true if the dialect defines the keyword.
    pub(crate) const fn supports_keyword(self, keyword: Keyword) -> bool {
        if self.vocabularies & keyword.vocabulary() == 0 || (self.is_draft_04 && keyword.is_after_draft_04())
        {
            return false;
        }
        match keyword.drafts() {
            DraftSupport::All => true,
            DraftSupport::Json => !matches!(self.draft, Draft::OpenApi30),
            DraftSupport::From2019 => matches!(self.draft, Draft::Latest | Draft::Draft2019),
            DraftSupport::Only2019 => matches!(self.draft, Draft::Draft2019),
            DraftSupport::Until2019 => matches!(self.draft, Draft::Draft2019 | Draft::Draft7),
            DraftSupport::From2020 => matches!(self.draft, Draft::Latest),
            DraftSupport::Deprecated => !matches!(self.draft, Draft::Draft7),
            DraftSupport::OpenApi30 => matches!(self.draft, Draft::OpenApi30),
            DraftSupport::OpenApi => self.has_openapi_keywords,
        }
    }

    /// Returns the name of the keyword that identifies a schema: `id` in draft-04, or `$id`.
    pub(crate) const fn id_keyword(self) -> &'static str {
        if self.is_draft_04 { "id" } else { "$id" }
    }

    /// Returns true if the keywords next to a `$ref` are ignored, as in drafts before 2019-09.
    pub(crate) const fn ref_overrides_siblings(self) -> bool {
        matches!(self.draft, Draft::Draft7 | Draft::OpenApi30)
    }

    /// Returns the name of the dialect for messages.
    pub(crate) const fn display_name(self) -> &'static str {
        match self.draft {
            _ if self.is_draft_04 => "JSON Schema draft-04",
            Draft::Latest => "JSON Schema 2020-12",
            Draft::Draft2019 => "JSON Schema 2019-09",
            Draft::Draft7 => "JSON Schema draft-07",
            Draft::OpenApi30 => "OpenAPI 3.0",
        }
    }
}

/// Returns the version of an OpenAPI document. The result is `None` for other documents, and an empty string
/// for an invalid value. A number is accepted, because YAML parses an unquoted `3.0` as a number.
pub(crate) fn openapi_version(tree: &DocumentNode) -> Option<&str> {
    tree.get("openapi").map(|found| match &found.value {
        NodeValue::String(text) | NodeValue::Number(text) => text.as_str(),
        _ => "",
    })
}

/// The result of looking up the dialect that a `$schema` or `jsonSchemaDialect` identifies.
pub(crate) enum DialectLookup {
    /// A supported dialect.
    Known(SchemaDialect),
    /// The URI of a custom meta-schema that is not loaded. The caller may load it and repeat the lookup.
    Missing(String),
    /// An unsupported dialect, with the error message.
    Refused(String),
    /// A dialect whose meta-schema requires an unsupported vocabulary. Contains the URI of the vocabulary.
    /// Schemas of the dialect must not be processed (Core 8.1.2.1).
    Unknown(String),
}

/// Returns true if a URI path identifies a schema dialect of the given OpenAPI version. The date of the
/// dialect is ignored.
fn is_openapi_dialect(path: &str, version: &str) -> bool {
    let rest = path.strip_prefix("spec.openapis.org/oas/").and_then(|rest| rest.strip_prefix(version));
    rest.is_some_and(|rest| rest.starts_with("/dialect/"))
}

/// Returns the dialect that the URI `name`, the value of a `$schema` or `jsonSchemaDialect`, identifies.
pub(crate) fn find_dialect(sources: &Sources, name: &str) -> DialectLookup {
    let bare = name.strip_suffix('#').unwrap_or(name);
    let path = uri::strip_http_scheme(bare).unwrap_or(bare);
    match path {
        "json-schema.org/draft/2020-12/schema" => {
            return DialectLookup::Known(SchemaDialect::for_draft(Draft::Latest));
        }
        "json-schema.org/draft/2019-09/schema" => {
            return DialectLookup::Known(SchemaDialect::for_draft(Draft::Draft2019));
        }
        // Draft-06 is a subset of draft-07.
        "json-schema.org/draft-07/schema" | "json-schema.org/draft-06/schema" => {
            return DialectLookup::Known(SchemaDialect::for_draft(Draft::Draft7));
        }
        _ if is_draft_04(name) => return DialectLookup::Known(SchemaDialect::DRAFT_04),
        // The URI without a version identifies the latest draft (draft-04, 6).
        "json-schema.org/schema" => return DialectLookup::Known(SchemaDialect::for_draft(Draft::Latest)),
        _ if ["3.1", "3.2"].iter().any(|version| is_openapi_dialect(path, version)) => {
            return DialectLookup::Known(SchemaDialect::OPENAPI_31);
        }
        _ if path.starts_with("json-schema.org/") => {
            return DialectLookup::Refused(format!(
                "unsupported dialect `{name}`: expected 2020-12, 2019-09, draft-07, draft-06 or draft-04"
            ));
        }
        _ => {}
    }
    if !uri::is_absolute(bare) {
        return DialectLookup::Refused(format!("the dialect `{name}` is not an absolute URI"));
    }
    let Some(meta) = sources.find(bare).and_then(|id| sources.get(id)) else {
        return DialectLookup::Missing(bare.to_owned());
    };
    custom_dialect(sources, name, &meta.tree)
}

/// Returns the dialect that a custom meta-schema defines. The `$schema` of the meta-schema determines the
/// draft, and its `$vocabulary` the supported keywords.
fn custom_dialect(sources: &Sources, name: &str, meta: &DocumentNode) -> DialectLookup {
    let base = meta
        .get("$schema")
        .and_then(DocumentNode::as_str)
        .unwrap_or("https://json-schema.org/draft/2020-12/schema");
    // Only one level is supported: a custom meta-schema cannot be described by another custom meta-schema.
    let mut dialect = match base == name {
        true => SchemaDialect::for_draft(Draft::Latest),
        false => match find_dialect(&Sources::default(), base) {
            DialectLookup::Known(dialect) => dialect,
            DialectLookup::Missing(_) => match sources.find(base) {
                Some(_) => SchemaDialect::for_draft(Draft::Latest),
                None => return DialectLookup::Missing(base.to_owned()),
            },
            refused @ (DialectLookup::Refused(_) | DialectLookup::Unknown(_)) => return refused,
        },
    };
    let Some(list) = meta.get("$vocabulary") else { return DialectLookup::Known(dialect) };
    dialect.vocabularies = vocabulary::CORE;
    for member in list.members() {
        let required = member.value.as_bool() == Some(true);
        let short = member.key.rsplit('/').next().unwrap_or_default();
        let known =
            member.key.starts_with("https://json-schema.org/draft/20") && member.key.contains("/vocab/");
        dialect.vocabularies |= match short {
            "core" if known => vocabulary::CORE,
            "applicator" if known => {
                // In 2019-09, this vocabulary also contained the unevaluated keywords.
                let unevaluated = if dialect.draft == Draft::Draft2019 { vocabulary::UNEVALUATED } else { 0 };
                vocabulary::APPLICATOR | unevaluated
            }
            "unevaluated" if known => vocabulary::UNEVALUATED,
            "validation" if known => vocabulary::VALIDATION,
            "meta-data" if known => vocabulary::META,
            // In 2019-09, formats are asserted if the vocabulary is required (2019-09 Validation 7.2.2).
            "format" if known => {
                dialect.asserts_formats |= required;
                vocabulary::FORMAT
            }
            "format-annotation" if known => vocabulary::FORMAT,
            // This vocabulary asserts formats, whether it is required or not.
            "format-assertion" if known => {
                dialect.asserts_formats = true;
                vocabulary::FORMAT
            }
            "content" if known => vocabulary::CONTENT,
            _ if member.key.starts_with("https://spec.openapis.org/oas/3.1/vocab/") => {
                dialect.has_openapi_keywords = true;
                0
            }
            _ if required => {
                return DialectLookup::Unknown(member.key.clone());
            }
            _ => 0,
        };
    }
    DialectLookup::Known(dialect)
}

#[cfg(test)]
mod tests {
    use crate::{
        resolve::tests::{format_problems, resolve_clean, resolve_graph},
        schema::SchemaGap,
    };

    /// `format` is asserted if `$vocabulary` lists `format-assertion` or, in 2019-09, requires `format`
    /// (Validation 7.2.2).
    #[test]
    fn vocabularies_control_format_assertion() {
        for (draft, vocabulary, value, asserts_formats) in [
            ("2019-09", "format", true, true),
            ("2019-09", "format", false, false),
            ("2020-12", "format-annotation", true, false),
            ("2020-12", "format-assertion", true, true),
            ("2020-12", "format-assertion", false, true),
        ] {
            let base = format!("https://json-schema.org/draft/{draft}");
            let meta = format!(
                r#"{{"$id": "https://own/meta", "$schema": "{base}/schema", "$vocabulary": {{"{base}/vocab/core": true, "{base}/vocab/{vocabulary}": {value}}}}}"#
            );
            let schema = ("a.json", r#"{"$schema": "https://own/meta", "format": "date"}"#);
            let found = resolve_clean(&[schema, ("meta.json", &meta)]);
            let asserted = found.schemas.iter().any(|schema| schema.asserted.is_some());
            assert_eq!(asserted, asserts_formats, "{draft} {vocabulary}: {value}");
        }
    }

    /// If the dialect asserts formats, a format of the specification that cannot be checked is reported and
    /// leaves a gap in its schema. Other unknown formats are annotations (Validation 7.2.3) and cause only a
    /// warning.
    #[test]
    fn unsupported_asserted_formats_are_reported() {
        let base = "https://json-schema.org/draft/2020-12";
        let meta = format!(
            r#"{{"$id": "https://own/meta", "$schema": "{base}/schema", "$vocabulary": {{"{base}/vocab/core": true, "{base}/vocab/format-assertion": true}}}}"#
        );
        for (format, expected, gap) in [
            ("regex", "unsupported /format", SchemaGap::Assertion),
            ("idn-hostname", "unsupported /format", SchemaGap::Assertion),
            ("ulid", "?ignored /format", SchemaGap::None),
            ("datetime", "?ignored /format", SchemaGap::None),
            ("int32", "", SchemaGap::None),
            ("date", "", SchemaGap::None),
        ] {
            let schema = format!(r#"{{"$schema": "https://own/meta", "format": "{format}"}}"#);
            let (found, problems) = resolve_graph(&[("a.json", &schema), ("meta.json", &meta)]);
            assert_eq!(format_problems(&problems), expected, "{format}");
            assert!(!problems.has_fatal(), "{format}: {problems}");
            let schema = found.schemas.iter().find(|schema| schema.place.source.0 == 0).unwrap();
            assert_eq!((schema.gap, schema.asserted.is_some()), (gap, format == "date"), "{format}");
        }
    }
}
