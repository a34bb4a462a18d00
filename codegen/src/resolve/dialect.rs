//! Which keywords a schema may use: drafts by `$schema`, vocabularies by a meta-schema.

use crate::{
    load::{Sources, is_early, uri},
    schema::keywords::{Draft, Drafts, Keyword, vocabulary},
    tree::{Tree, Value},
};

/// Draft, vocabularies, and whether OpenAPI's own keywords count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) draft: Draft,
    /// Bits of [`vocabulary`].
    pub(crate) vocabularies: u8,
    /// `discriminator`, `xml`, `externalDocs`, `example`.
    pub(crate) openapi: bool,
    /// Whether words of OpenAPI 3.0 are read as they are meant, with a warning: documents that
    /// were moved to 3.1 by their version number alone are many.
    pub(crate) migrated: bool,
    /// Whether `format` is asserted (Validation 7.2.2).
    pub(crate) asserts: bool,
    /// Whether it is draft-04: `id`, and bounds that a boolean makes exclusive.
    pub(crate) early: bool,
}

impl Dialect {
    /// Of schema files that say nothing.
    pub(crate) const LATEST: Self = Self { openapi: true, ..Self::json(Draft::Latest) };
    /// Of OpenAPI 3.1.
    pub(crate) const OPENAPI_31: Self = Self { migrated: true, ..Self::LATEST };
    /// Of OpenAPI 3.0.
    pub(crate) const OPENAPI_30: Self = Self { openapi: true, ..Self::json(Draft::OpenApi30) };
    /// Of draft-04, which is draft-07 with other words for some of it and without the rest.
    const EARLY: Self = Self { early: true, ..Self::json(Draft::Draft7) };

    const fn json(draft: Draft) -> Self {
        Self {
            draft,
            vocabularies: vocabulary::ALL,
            openapi: false,
            migrated: false,
            asserts: false,
            early: false,
        }
    }

    /// Whether the keyword means something here.
    pub(crate) const fn knows(self, keyword: Keyword) -> bool {
        if self.vocabularies & keyword.vocabulary() == 0 || (self.early && keyword.is_late()) {
            return false;
        }
        match keyword.drafts() {
            Drafts::All => true,
            Drafts::Json => !matches!(self.draft, Draft::OpenApi30),
            Drafts::From2019 => matches!(self.draft, Draft::Latest | Draft::Draft2019),
            Drafts::Only2019 => matches!(self.draft, Draft::Draft2019),
            Drafts::Until2019 => matches!(self.draft, Draft::Draft2019 | Draft::Draft7),
            Drafts::From2020 => matches!(self.draft, Draft::Latest),
            Drafts::Deprecated => !matches!(self.draft, Draft::Draft7),
            Drafts::OpenApi30 => matches!(self.draft, Draft::OpenApi30),
            Drafts::OpenApi => self.openapi,
        }
    }

    /// The keyword that names a schema.
    pub(crate) const fn id(self) -> &'static str {
        if self.early { "id" } else { "$id" }
    }

    /// Whether `$ref` makes everything beside it void.
    pub(crate) const fn lonely_ref(self) -> bool {
        matches!(self.draft, Draft::Draft7 | Draft::OpenApi30)
    }

    /// What messages call it.
    pub(crate) const fn name(self) -> &'static str {
        match self.draft {
            _ if self.early => "JSON Schema draft-04",
            Draft::Latest => "JSON Schema 2020-12",
            Draft::Draft2019 => "JSON Schema 2019-09",
            Draft::Draft7 => "JSON Schema draft-07",
            Draft::OpenApi30 => "OpenAPI 3.0",
        }
    }
}

/// The version that an OpenAPI document says it has; a number, as YAML reads `3.0` without quotes,
/// says it too. `None` for what is no such document, empty for what is no version.
pub(crate) fn version(tree: &Tree) -> Option<&str> {
    tree.get("openapi").map(|found| match &found.value {
        Value::String(text) | Value::Number(text) => text.as_str(),
        _ => "",
    })
}

/// What a `$schema` turned out to be.
pub(crate) enum Choice {
    /// A dialect that is read.
    Known(Dialect),
    /// A meta-schema that no source holds (yet).
    Missing(String),
    /// Not read, with the reason.
    Refused(String),
    /// Without this vocabulary nobody may read it (Core 8.1.2.1).
    Unknown(String),
}

/// Whether a dialect is that of a version of OpenAPI, whatever its date.
fn is_openapi(path: &str, version: &str) -> bool {
    let rest = path.strip_prefix("spec.openapis.org/oas/").and_then(|rest| rest.strip_prefix(version));
    rest.is_some_and(|rest| rest.starts_with("/dialect/"))
}

/// The dialect that a `$schema` (or `jsonSchemaDialect`) names.
pub(crate) fn choose(sources: &Sources, name: &str) -> Choice {
    let bare = name.strip_suffix('#').unwrap_or(name);
    let path = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://")).unwrap_or(bare);
    match path {
        "json-schema.org/draft/2020-12/schema" => return Choice::Known(Dialect::json(Draft::Latest)),
        "json-schema.org/draft/2019-09/schema" => return Choice::Known(Dialect::json(Draft::Draft2019)),
        // draft-06 is draft-07 without the keywords that came then.
        "json-schema.org/draft-07/schema" | "json-schema.org/draft-06/schema" => {
            return Choice::Known(Dialect::json(Draft::Draft7));
        }
        _ if is_early(name) => return Choice::Known(Dialect::EARLY),
        // Nobody means anything else by the place without a version (draft-04, 6).
        "json-schema.org/schema" => return Choice::Known(Dialect::json(Draft::Latest)),
        _ if ["3.1", "3.2"].iter().any(|version| is_openapi(path, version)) => {
            return Choice::Known(Dialect::OPENAPI_31);
        }
        _ if path.starts_with("json-schema.org/") => {
            return Choice::Refused(format!(
                "the dialect `{name}`: 2020-12, 2019-09, draft-07, -06 and -04 are read"
            ));
        }
        _ => {}
    }
    if !uri::is_absolute(bare) {
        return Choice::Refused(format!("the dialect `{name}`, which is not an absolute URI"));
    }
    let Some(meta) = sources.find(bare).and_then(|id| sources.get(id)) else {
        return Choice::Missing(bare.to_owned());
    };
    custom(sources, name, &meta.tree)
}

/// A meta-schema of one's own: a draft by its `$schema`, vocabularies by `$vocabulary`.
fn custom(sources: &Sources, name: &str, meta: &Tree) -> Choice {
    let base =
        meta.get("$schema").and_then(Tree::as_str).unwrap_or("https://json-schema.org/draft/2020-12/schema");
    // One step only: a meta-schema described by another custom one is beyond reason.
    let mut dialect = match base == name {
        true => Dialect::json(Draft::Latest),
        false => match choose(&Sources::default(), base) {
            Choice::Known(dialect) => dialect,
            Choice::Missing(_) => match sources.find(base) {
                Some(_) => Dialect::json(Draft::Latest),
                None => return Choice::Missing(base.to_owned()),
            },
            refused @ (Choice::Refused(_) | Choice::Unknown(_)) => return refused,
        },
    };
    let Some(list) = meta.get("$vocabulary") else { return Choice::Known(dialect) };
    dialect.vocabularies = vocabulary::CORE;
    for member in list.members() {
        let required = member.value.as_bool() == Some(true);
        let short = member.key.rsplit('/').next().unwrap_or_default();
        let known =
            member.key.starts_with("https://json-schema.org/draft/20") && member.key.contains("/vocab/");
        dialect.vocabularies |= match short {
            "core" if known => vocabulary::CORE,
            "applicator" if known => {
                // 2019-09 had the unevaluated keywords in here.
                let unevaluated = if dialect.draft == Draft::Draft2019 { vocabulary::UNEVALUATED } else { 0 };
                vocabulary::APPLICATOR | unevaluated
            }
            "unevaluated" if known => vocabulary::UNEVALUATED,
            "validation" if known => vocabulary::VALIDATION,
            "meta-data" if known => vocabulary::META,
            // 2019-09 asserts where everybody has to know it (2019-09 Validation 7.2.2).
            "format" if known => {
                dialect.asserts |= required;
                vocabulary::FORMAT
            }
            "format-annotation" if known => vocabulary::FORMAT,
            // Who knows it asserts, whether or not others have to know it, too.
            "format-assertion" if known => {
                dialect.asserts = true;
                vocabulary::FORMAT
            }
            "content" if known => vocabulary::CONTENT,
            _ if member.key.starts_with("https://spec.openapis.org/oas/3.1/vocab/") => {
                dialect.openapi = true;
                0
            }
            _ if required => {
                return Choice::Unknown(member.key.clone());
            }
            _ => 0,
        };
    }
    Choice::Known(dialect)
}

#[cfg(test)]
mod tests {
    use crate::{
        resolve::tests::{clean, graph, shown},
        schema::Gap,
    };

    /// Validation 7.2.2 of 2020-12; of 2019-09 the same section, where one vocabulary has both readings.
    #[test]
    fn formats_are_asserted_where_the_vocabulary_says_so() {
        for (draft, vocabulary, value, asserts) in [
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
            let found = clean(&[schema, ("meta.json", &meta)]);
            let asserted = found.schemas.iter().any(|schema| schema.asserted.is_some());
            assert_eq!(asserted, asserts, "{draft} {vocabulary}: {value}");
        }
    }

    /// What cannot be asserted costs its spot alone, and what `not` says of it; Validation 7.2.3: names of
    /// others are annotations.
    #[test]
    fn formats_that_cannot_be_asserted_are_told() {
        let base = "https://json-schema.org/draft/2020-12";
        let meta = format!(
            r#"{{"$id": "https://own/meta", "$schema": "{base}/schema", "$vocabulary": {{"{base}/vocab/core": true, "{base}/vocab/format-assertion": true}}}}"#
        );
        for (format, said, gap) in [
            ("regex", "unsupported /format", Gap::Check),
            ("idn-hostname", "unsupported /format", Gap::Check),
            ("ulid", "?ignored /format", Gap::None),
            ("datetime", "?ignored /format", Gap::None),
            ("int32", "", Gap::None),
            ("date", "", Gap::None),
        ] {
            let schema = format!(r#"{{"$schema": "https://own/meta", "format": "{format}"}}"#);
            let (found, problems) = graph(&[("a.json", &schema), ("meta.json", &meta)]);
            assert_eq!(shown(&problems), said, "{format}");
            assert!(!problems.has_fatal(), "{format}: {problems}");
            let schema = found.schemas.iter().find(|schema| schema.place.source.0 == 0).unwrap();
            assert_eq!((schema.gap, schema.asserted.is_some()), (gap, format == "date"), "{format}");
        }
    }
}
