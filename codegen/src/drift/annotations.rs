//! Compares annotation keywords: `default`, `deprecated`, `readOnly`, `writeOnly`, `format`, the content
//! keywords, titles, descriptions, examples and extensions.

use contract_codegen_core::schema::{SchemaId, TypeSet};

use contract_runtime::Json;

use super::{
    comparison::{Comparison, SchemaPair},
    enumerations::format_value,
    flattened::{FlattenedSchema, ValueListing},
    formats::FormatComparer,
    proof::VersionSide,
    rules,
    site::AnnotationSource,
};

/// A comparer for the annotations of a pair of schemas.
struct AnnotationComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

/// Compares the annotations of a pair. Skips a pair whose annotations were already compared together with
/// those of the union around it ([`AnnotationSource::AlreadyCompared`]).
pub(super) fn compare_annotations<'g>(comparison: &mut Comparison<'g>, pair: &SchemaPair<'g>) {
    if pair.site.annotations != AnnotationSource::AlreadyCompared {
        let with_union = with_union_annotations(pair);
        let pair = with_union.as_ref().unwrap_or(pair);
        AnnotationComparer { comparison, pair }.compare_keywords();
    }
}

impl<'g> AnnotationComparer<'_, 'g> {
    fn compare_keywords(&mut self) {
        let pair = self.pair;
        let (old, new) = (&pair.old, &pair.new);
        self.compare_flags();
        self.compare_defaults();
        FormatComparer::new(self.comparison, pair).compare_formats();
        let content = |flat: &FlattenedSchema<'g>| {
            let encoding = flat.find_first(|schema| schema.content_encoding.as_deref());
            (encoding, flat.find_first(|schema| schema.content_media_type.as_deref()))
        };
        if content(old) != content(new) && content_encoding_and_type(old) != content_encoding_and_type(new) {
            let describe = |(encoding, media): (Option<&str>, Option<&str>)| match (encoding, media) {
                (None, None) => "plain text".to_owned(),
                (one, other) => [other, one].into_iter().flatten().collect::<Vec<_>>().join(" in "),
            };
            let message = format!(
                "the content of the string changed from {} to {}",
                describe(content(old)),
                describe(content(new))
            );
            self.comparison.report_change(rules::CONTENT_CHANGED, pair, message);
        }
        if old.schema_ids.is_empty() || new.schema_ids.is_empty() {
            return;
        }
        let title = |flat: &FlattenedSchema<'g>| flat.find_first(|schema| schema.title.as_deref());
        let description =
            |flat: &FlattenedSchema<'g>| flat.find_first(|schema| schema.description.as_deref());
        let examples = |flat: &FlattenedSchema<'g>| {
            flat.schemas().find(|schema| !schema.examples.is_empty()).map(|schema| &schema.examples)
        };
        let mut changed = Vec::new();
        if title(old) != title(new) {
            changed.push("title");
        }
        if description(old) != description(new) {
            changed.push("description");
        }
        if examples(old) != examples(new) {
            changed.push("examples");
        }
        if !changed.is_empty() {
            self.comparison.report_change(rules::EDITORIAL, pair, format!("{} changed", changed.join(", ")));
        }
        self.compare_extensions();
    }

    fn compare_flags(&mut self) {
        let pair = self.pair;
        let (old, new) = (&pair.old, &pair.new);
        let flags = [
            (
                old.any_schema(|s| s.deprecated),
                new.any_schema(|s| s.deprecated),
                rules::DEPRECATED_SET,
                rules::DEPRECATED_UNSET,
                "deprecated",
            ),
            (
                old.any_schema(|s| s.read_only),
                new.any_schema(|s| s.read_only),
                rules::READ_ONLY_SET,
                rules::READ_ONLY_UNSET,
                "read-only",
            ),
            (
                old.any_schema(|s| s.write_only),
                new.any_schema(|s| s.write_only),
                rules::WRITE_ONLY_SET,
                rules::WRITE_ONLY_UNSET,
                "write-only",
            ),
        ];
        for (was, is, set, unset, word) in flags {
            if !was && is {
                self.comparison.report_change(set, pair, format!("it became {word}"));
            } else if was && !is && !new.schema_ids.is_empty() {
                self.comparison.report_change(unset, pair, format!("it is no longer {word}"));
            }
        }
    }

    fn compare_defaults(&mut self) {
        let pair = self.pair;
        let pick = |flat: &FlattenedSchema<'g>| flat.find_first(|schema| schema.default.as_ref());
        match (pick(&pair.old), pick(&pair.new)) {
            (None, Some(new)) => self.comparison.report_change(
                rules::DEFAULT_ADDED,
                pair,
                format!("the default {} was added", format_value(new)),
            ),
            (Some(old), None) => {
                self.comparison.report_change(
                    rules::DEFAULT_CHANGED,
                    pair,
                    format!("the default {} was removed", format_value(old)),
                );
            }
            (Some(old), Some(new)) if old != new => {
                self.comparison.report_change(
                    rules::DEFAULT_CHANGED,
                    pair,
                    format!("the default changed from {} to {}", format_value(old), format_value(new)),
                );
            }
            _ => {}
        }
    }

    fn compare_extensions(&mut self) {
        let pair = self.pair;
        let pick = |flat: &FlattenedSchema<'g>, key: &str| {
            flat.find_first(|schema| schema.extensions.get(key).cloned())
        };
        let mut keys: Vec<&str> = Vec::new();
        for schema in pair.old.schemas().chain(pair.new.schemas()) {
            for key in schema.extensions.keys() {
                if key.starts_with("x-") && !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        self.compare_known_values();
        for key in keys {
            if key == "x-extensible-enum"
                && known_values(&pair.old).is_some()
                && known_values(&pair.new).is_some()
            {
                continue;
            }
            if pick(&pair.old, key) != pick(&pair.new, key) {
                self.comparison.report_change(rules::EXTENSION_CHANGED, pair, format!("`{key}` changed"));
            }
        }
    }
}

impl<'g> AnnotationComparer<'_, 'g> {
    /// Compares the known values of `x-extensible-enum`. Generated types have a variant for each of them, as
    /// for a union of listed values and other strings.
    fn compare_known_values(&mut self) {
        let pair = self.pair;
        let has_extension =
            |flat: &FlattenedSchema<'g>| flat.any_schema(|schema| schema.known_strings().is_some());
        if !has_extension(&pair.old) && !has_extension(&pair.new) {
            return;
        }
        let (old, new) =
            (known_values(&pair.old).unwrap_or_default(), known_values(&pair.new).unwrap_or_default());
        for value in new.iter().filter(|value| !old.contains(value)) {
            let message = format!("{} is a new known value", format_value(value));
            self.comparison.report_change(rules::ENUM_VALUE_ADDED_OPEN, pair, message);
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            let message = format!("{} is no longer a known value", format_value(value));
            self.comparison.report_change(rules::ENUM_VALUE_REMOVED_OPEN, pair, message);
        }
    }
}

/// Returns the values for which a generated string type has variants: those of `enum`, of `x-extensible-enum`,
/// or of a union of listed values. Returns `None` if there are none.
fn known_values(flat: &FlattenedSchema<'_>) -> Option<Vec<Json>> {
    match flat.value_listing() {
        ValueListing::Closed { values, .. } => Some(values.into_iter().cloned().collect()),
        ValueListing::Open(listing) => Some(listing.values.into_iter().cloned().collect()),
        ValueListing::None => {
            let strings = flat.find_first(|schema| schema.known_strings())?;
            Some(strings.into_iter().map(|text| Json::String(text.to_owned())).collect())
        }
    }
}

/// Returns the pair with the annotations that apply to its values but belong to other schemas. A branch of a
/// union gets the annotations of the schemas that contain the union. A union with only one branch other than
/// `null` gets the annotations of this branch. Returns `None` if the pair needs no such annotations.
pub(super) fn with_union_annotations<'g>(pair: &SchemaPair<'g>) -> Option<SchemaPair<'g>> {
    let (old, new) = match &pair.site.annotations {
        AnnotationSource::EnclosingUnion(VersionSide::Old, around) => (
            FlattenedSchema::from_schemas(pair.old.graph, around).with_inner(&pair.old.schema_ids),
            pair.new.clone(),
        ),
        AnnotationSource::EnclosingUnion(VersionSide::New, around) => (
            pair.old.clone(),
            FlattenedSchema::from_schemas(pair.new.graph, around).with_inner(&pair.new.schema_ids),
        ),
        AnnotationSource::Site | AnnotationSource::AlreadyCompared => {
            let (old, new) = (single_non_null_branch(&pair.old), single_non_null_branch(&pair.new));
            let is_one = old.is_some() && new.is_some();
            let has_branches = || pair.old.has_branches() && pair.new.has_branches();
            if old.is_none() && new.is_none() || !is_one && has_branches() {
                return None;
            }
            (pair.old.with_inner(old.as_slice()), pair.new.with_inner(new.as_slice()))
        }
    };
    let (old_ids, new_ids) = (pair.old_ids.clone(), pair.new_ids.clone());
    Some(SchemaPair { old, new, old_ids, new_ids, site: pair.site.clone() })
}

/// Returns the only branch other than `null`. Returns `None` if there is not exactly one union, or if the
/// union has several such branches.
pub(super) fn single_non_null_branch(flat: &FlattenedSchema<'_>) -> Option<SchemaId> {
    let unions = flat.unions();
    let [union] = unions.as_slice() else { return None };
    let is_null = |id: SchemaId| FlattenedSchema::from_schemas(flat.graph, &[id]).types() == TypeSet::NULL;
    let mut forms = union.branches.iter().copied().filter(|id| !is_null(*id));
    forms.next().filter(|_| forms.next().is_none())
}

/// Returns the encoding and the media type of a string's content. OpenAPI 3.0 specifies them with `format`,
/// and OpenAPI 3.1 with `contentEncoding` and `contentMediaType` (OpenAPI 3.1, 4.4.1.2).
pub(super) fn content_encoding_and_type<'g>(
    flat: &FlattenedSchema<'g>,
) -> (Option<&'g str>, Option<&'g str>) {
    let is = |format: &str| flat.any_schema(|schema| schema.format.as_deref() == Some(format));
    let encoding = flat.find_first(|schema| schema.content_encoding.as_deref());
    let media = flat.find_first(|schema| schema.content_media_type.as_deref());
    match (encoding, media) {
        (None, media) if is("byte") => (Some("base64"), media),
        (None, None) if is("binary") => (None, Some("application/octet-stream")),
        other => other,
    }
}
