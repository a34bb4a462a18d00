//! Compares enumerations: `enum`, `const`, and unions that list values. A closed enumeration accepts only the
//! listed values. An open enumeration is a union with a further branch that accepts other values.

use contract_codegen_core::{
    conjunction::type_of,
    schema::{SchemaId, keywords::Keyword},
};
use contract_runtime::Json;

use super::{
    comparison::{Comparison, SchemaPair},
    flattened::{FlattenedSchema, OpenListing, SchemaUnion, ValueListing},
    proof::VersionSide,
    rules::{self, DriftRule},
    unions::{UnionBranches, UnionComparer},
    verdicts::KeywordFacet,
};

/// The parts of a pair that were already compared as enumerations. Other comparers skip these parts, because
/// they would report the same differences again.
#[derive(Clone, Debug, Default)]
pub(super) struct EnumerationOutcome {
    /// Whether the listed values were compared one by one. In this case, patterns and limits need no
    /// comparison.
    pub(super) covers_scalars: bool,
    /// The schema of the old version that contains the compared union of listed values, if there is one.
    pub(super) old_holder: Option<SchemaId>,
    /// The schema of the new version that contains the compared union of listed values, if there is one.
    pub(super) new_holder: Option<SchemaId>,
}

const CONSTANT_KEYWORDS: &[Keyword] = &[Keyword::Enum, Keyword::Const];
const ENUMERATION_KEYWORDS: &[Keyword] = &[Keyword::Enum, Keyword::Const, Keyword::OneOf, Keyword::AnyOf];

/// A comparer for the enumerations of a pair of schemas.
pub(super) struct EnumerationComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> EnumerationComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares the `const` of both versions. Returns false if one version has none.
    pub(super) fn compare_constants(&mut self) -> bool {
        let pair = self.pair;
        let constant = |flat: &FlattenedSchema<'g>| {
            let values = flat.listed_values()?;
            (values.len() == 1 && flat.any_schema(|schema| schema.constant.is_some())).then(|| values[0])
        };
        let (Some(old), Some(new)) = (constant(&pair.old), constant(&pair.new)) else { return false };
        if old != new {
            let facet = KeywordFacet::new(CONSTANT_KEYWORDS).with_candidates([old.clone(), new.clone()]);
            self.comparison.report_restriction(
                rules::CONST_CHANGED,
                pair,
                format!("the value changed from {} to {}", format_value(old), format_value(new)),
                facet,
            );
        }
        true
    }

    /// Compares the listed values of both versions. Returns the parts of the pair that other comparers must
    /// not compare again.
    pub(super) fn compare_enumerations(&mut self) -> EnumerationOutcome {
        let pair = self.pair;
        if self.compare_constants() {
            let values = |flat: &FlattenedSchema<'g>| flat.listed_values().unwrap_or_default();
            self.report_acceptance_changes(&common_values(&values(&pair.old), &values(&pair.new)));
            return EnumerationOutcome { covers_scalars: true, ..EnumerationOutcome::default() };
        }
        let (old_holder, new_holder) = match (pair.old.value_listing(), pair.new.value_listing()) {
            // If neither version has a closed list and at most one has an open list, the unions are compared
            // by their branches.
            (ValueListing::None | ValueListing::Open(_), ValueListing::None)
            | (ValueListing::None, ValueListing::Open(_)) => return EnumerationOutcome::default(),
            (ValueListing::Open(old), ValueListing::Open(new)) => return self.compare_open_lists(&old, &new),
            (
                ValueListing::Closed { values: old, holder },
                ValueListing::Closed { values: new, holder: other },
            ) => {
                self.compare_closed_lists(&old, &new);
                (holder, other)
            }
            (ValueListing::Closed { values, holder }, ValueListing::None) => {
                let message = format!("values are no longer restricted to {}", format_values(&values));
                self.report_list_change(rules::ENUM_DROPPED, message);
                self.report_lost_values(&values);
                (holder, holder.and(single_union(&pair.new)))
            }
            (ValueListing::None, ValueListing::Closed { values, holder }) => {
                let message = format!("values are now restricted to {}", format_values(&values));
                self.report_list_change(rules::ENUM_ADDED, message);
                self.report_gained_values(&values);
                (holder.and(single_union(&pair.old)), holder)
            }
            (ValueListing::Closed { values, holder }, ValueListing::Open(new)) => {
                let message = format!("values other than {} are now valid", format_values(&values));
                self.report_list_change(rules::ENUM_OPENED, message);
                self.report_known_values(&values, &new.values);
                self.report_lost_values(&values);
                (holder, Some(new.holder))
            }
            (ValueListing::Open(old), ValueListing::Closed { values, holder }) => {
                let message = format!("values other than {} are no longer valid", format_values(&values));
                self.report_list_change(rules::ENUM_CLOSED, message);
                self.report_known_values(&old.values, &values);
                self.report_gained_values(&values);
                (Some(old.holder), holder)
            }
        };
        let id = |holder: Option<SchemaUnion<'g>>| holder.map(|union| union.holder);
        EnumerationOutcome { covers_scalars: true, old_holder: id(old_holder), new_holder: id(new_holder) }
    }

    fn compare_closed_lists(&mut self, old: &[&'g Json], new: &[&'g Json]) {
        let pair = self.pair;
        for value in new.iter().filter(|value| !old.contains(value)) {
            let facet = KeywordFacet::new(ENUMERATION_KEYWORDS).with_candidates([(*value).clone()]);
            let message = format!("{} is a new value", format_value(value));
            self.comparison.report_restriction(rules::ENUM_VALUE_ADDED, pair, message, facet);
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            let facet = KeywordFacet::new(ENUMERATION_KEYWORDS).with_candidates([(*value).clone()]);
            let message = format!("{} is no longer a value", format_value(value));
            self.comparison.report_restriction(rules::ENUM_VALUE_REMOVED, pair, message, facet);
        }
        self.report_acceptance_changes(&common_values(old, new));
    }

    fn compare_open_lists(&mut self, old: &OpenListing<'g>, new: &OpenListing<'g>) -> EnumerationOutcome {
        let pair = self.pair;
        self.report_known_values(&old.values, &new.values);
        // `oneOf` refuses a listed value that another branch also accepts.
        let added = new.values.iter().filter(|value| !old.values.contains(value));
        let listed: Vec<&'g Json> = old.values.iter().chain(added).copied().collect();
        self.report_acceptance_changes(&listed);
        let mut unions = UnionComparer::new(self.comparison, pair);
        unions.compare_union_kind(&old.holder, &new.holder);
        if let ([old], [new]) = (old.other_branches.as_slice(), new.other_branches.as_slice()) {
            self.comparison.compare_schemas(&[*old], &[*new], &pair.site);
        } else {
            unions.compare_branches(
                UnionBranches { union: old.holder, branches: &old.other_branches },
                UnionBranches { union: new.holder, branches: &new.other_branches },
            );
        }
        EnumerationOutcome {
            covers_scalars: false,
            old_holder: Some(old.holder.holder),
            new_holder: Some(new.holder.holder),
        }
    }

    fn report_list_change(&mut self, rule: &'static DriftRule, message: String) {
        let facet = KeywordFacet::new(ENUMERATION_KEYWORDS);
        self.comparison.report_restriction(rule, self.pair, message, facet);
    }

    /// Reports each listed value that only one version accepts, for example because of another keyword or
    /// another branch.
    fn report_acceptance_changes(&mut self, listed: &[&'g Json]) {
        self.report_lost_values(listed);
        self.report_gained_values(listed);
    }

    /// Reports the listed values that the old version accepts and the new version refuses.
    fn report_lost_values(&mut self, listed: &[&'g Json]) {
        let pair = self.pair;
        let values = listed.iter().filter(|value| pair.site.types.contains(type_of(value)));
        for value in values {
            let (old, new) = ((VersionSide::Old, &pair.old_ids), (VersionSide::New, &pair.new_ids));
            let prover = self.comparison.prover(pair.site.value_use);
            if prover.accepts_value(old.0, old.1, value) && !prover.accepts_value(new.0, new.1, value) {
                self.comparison.report_change(
                    rules::ENUM_VALUE_REMOVED,
                    pair,
                    format!("{} is no longer valid", format_value(value)),
                );
            }
        }
    }

    /// Reports the listed values that the new version accepts and the old version refuses.
    fn report_gained_values(&mut self, listed: &[&'g Json]) {
        let pair = self.pair;
        let values = listed.iter().filter(|value| pair.site.types.contains(type_of(value)));
        for value in values {
            let (old, new) = ((VersionSide::Old, &pair.old_ids), (VersionSide::New, &pair.new_ids));
            let prover = self.comparison.prover(pair.site.value_use);
            if prover.accepts_value(new.0, new.1, value) && !prover.accepts_value(old.0, old.1, value) {
                self.comparison.report_change(
                    rules::ENUM_VALUE_ADDED,
                    pair,
                    format!("{} is now valid", format_value(value)),
                );
            }
        }
    }

    /// Reports values that were added to or removed from a list, in the case that at least one version also
    /// accepts unlisted values.
    fn report_known_values(&mut self, old: &[&'g Json], new: &[&'g Json]) {
        let pair = self.pair;
        for value in new.iter().filter(|value| !old.contains(value)) {
            self.comparison.report_change(
                rules::ENUM_VALUE_ADDED_OPEN,
                pair,
                format!("{} is a new known value", format_value(value)),
            );
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            self.comparison.report_change(
                rules::ENUM_VALUE_REMOVED_OPEN,
                pair,
                format!("{} is no longer a known value", format_value(value)),
            );
        }
    }
}

/// Returns the union of a schema, or `None` if the schema does not have exactly one union.
fn single_union<'g>(flat: &FlattenedSchema<'g>) -> Option<SchemaUnion<'g>> {
    let unions = flat.unions();
    unions.first().copied().filter(|_| unions.len() == 1)
}

/// Returns the values that both lists contain.
fn common_values<'g>(old: &[&'g Json], new: &[&'g Json]) -> Vec<&'g Json> {
    old.iter().filter(|value| new.contains(value)).copied().collect()
}

/// Formats a value for a message, as JSON in backticks. The JSON is cut after 60 characters.
pub(super) fn format_value(value: &Json) -> String {
    let text = escape_invisible(&value.to_string());
    if text.chars().count() <= 60 {
        return format!("`{text}`");
    }
    let start: String = text.chars().take(57).collect();
    format!("`{start}…`")
}

/// Replaces invisible characters, and characters that change the text direction, with JSON escapes. The input
/// is JSON or a pattern.
pub(super) fn escape_invisible(text: &str) -> String {
    let is_hidden = |letter: char| {
        letter.is_control()
            || letter.is_whitespace() && letter != ' '
            // Characters without width, direction marks and tags (Unicode `Default_Ignorable_Code_Point`).
            || matches!(
                letter,
                '\u{ad}'
                    | '\u{61c}'
                    | '\u{180e}'
                    | '\u{200b}'..='\u{200f}'
                    | '\u{202a}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}'
                    | '\u{fe00}'..='\u{fe0f}'
                    | '\u{feff}'
                    | '\u{e0000}'..='\u{e0fff}'
            )
    };
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            out.extend(letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(letter);
        }
    }
    out
}

fn format_values(values: &[&Json]) -> String {
    let mut texts: Vec<String> = values.iter().take(4).map(|value| format_value(value)).collect();
    if values.len() > 4 {
        texts.push(format!("{} more", values.len() - 4));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        for (text, expected) in [
            ("a\u{2028}b\u{a0}c d", "`\"a\\u2028b\\u00a0c d\"`"),
            ("\u{7f}\u{200b}\u{202e}", "`\"\\u007f\\u200b\\u202e\"`"),
            ("\u{e0001}\u{e9}\u{1f600}", "`\"\\udb40\\udc01\u{e9}\u{1f600}\"`"),
        ] {
            assert_eq!(format_value(&Json::String(text.to_owned())), expected);
        }
    }
}
