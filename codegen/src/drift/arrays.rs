//! Compares array keywords: the elements of `prefixItems` by position, the remaining elements, and
//! `contains`.

use contract_codegen_core::{
    conjunction::SchemaConjunction,
    schema::{ContainsConstraint, SchemaId, keywords::Keyword},
};
use contract_runtime::Json;

use super::{
    comparison::{Comparison, SchemaPair},
    flattened::FlattenedSchema,
    proof::VersionSide,
    rules,
    site::{StepKind, ValueUse},
    verdicts::KeywordFacet,
};

/// The maximum bound for which arrays are generated as candidates for a witness. A larger bound is replaced
/// by this value.
const MAX_SAMPLE_LENGTH: u64 = 20;

/// A comparer for the array keywords of a pair of schemas.
pub(super) struct ArrayComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> ArrayComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    pub(super) fn compare_arrays(&mut self) {
        let pair = self.pair;
        let prefix = pair.old.prefix_length().max(pair.new.prefix_length());
        for at in 0..prefix {
            self.compare_elements(Some(at), &at.to_string());
        }
        self.compare_elements(None, "*");
        self.compare_contains();
    }

    fn compare_elements(&mut self, index: Option<usize>, token: &str) {
        let pair = self.pair;
        let (old, new) = (pair.old.element_schemas(index), pair.new.element_schemas(index));
        if old.is_empty() && new.is_empty() {
            return;
        }
        let none = |flat: &FlattenedSchema<'g>, ids: &[SchemaId]| {
            ids.iter().any(|id| flat.graph.schema(*id).boolean == Some(false))
        };
        let facet = || KeywordFacet::new(&[Keyword::Items, Keyword::PrefixItems]);
        let elements =
            || index.map_or_else(|| "further elements".to_owned(), |at| format!("elements at index {at}"));
        match (none(&pair.old, &old), none(&pair.new, &new)) {
            (true, true) => {}
            (false, true) => {
                self.comparison.report_restriction(
                    rules::ITEMS_CLOSED,
                    pair,
                    format!("{} are now rejected", elements()),
                    facet(),
                );
            }
            (true, false) => {
                self.comparison.report_restriction(
                    rules::ITEMS_OPENED,
                    pair,
                    format!("{} are now valid", elements()),
                    facet(),
                );
            }
            (false, false) => {
                self.comparison.compare_schemas(&old, &new, &pair.site.below(StepKind::Element, token))
            }
        }
    }

    fn compare_contains(&mut self) {
        let pair = self.pair;
        // Bounds of 0 and infinity restrict nothing, but each matching element counts as evaluated.
        let looks = pair.old.any_schema(|schema| schema.unevaluated_items.is_some())
            || pair.new.any_schema(|schema| schema.unevaluated_items.is_some());
        let all = |flat: &FlattenedSchema<'g>| {
            let all = flat.schemas().filter_map(|schema| schema.contains.as_ref());
            all.filter(|contains| looks || contains_range(contains) != (0, u64::MAX)).collect::<Vec<_>>()
        };
        let (old, new) = (all(&pair.old), all(&pair.new));
        let facet = || KeywordFacet::new(&[Keyword::Contains, Keyword::MinContains, Keyword::MaxContains]);
        for at in 0..old.len().max(new.len()) {
            match (old.get(at), new.get(at)) {
                (None, Some(_)) => {
                    self.comparison.report_restriction(
                        rules::CONTAINS_ADDED,
                        pair,
                        "`contains` was added".to_owned(),
                        facet(),
                    );
                }
                (Some(_), None) => {
                    self.comparison.report_restriction(
                        rules::CONTAINS_REMOVED,
                        pair,
                        "`contains` was removed".to_owned(),
                        facet(),
                    );
                }
                (Some(old), Some(new)) => self.compare_contained_count(old, new, facet()),
                (None, None) => {}
            }
        }
    }

    /// Compares the schema and the bounds of `contains`.
    fn compare_contained_count(
        &mut self,
        old: &ContainsConstraint,
        new: &ContainsConstraint,
        facet: KeywordFacet,
    ) {
        let pair = self.pair;
        let ((old_min, old_max), (new_min, new_max)) = (contains_range(old), contains_range(new));
        let (rule, message) = if !self.comparison.has_no_difference(&[old.schema], &[new.schema]) {
            let message = "the schema or the bounds of `contains` changed";
            (rules::CONTAINS_CHANGED, message.to_owned())
        } else if (old_min, old_max) == (new_min, new_max) {
            return;
        } else {
            let rule =
                match (new_min >= old_min && new_max <= old_max, new_min <= old_min && new_max >= old_max) {
                    (true, _) => rules::CONTAINS_NARROWED,
                    (_, true) => rules::CONTAINS_WIDENED,
                    _ => rules::CONTAINS_CHANGED,
                };
            let format_range = |min: u64, max: u64| match max {
                u64::MAX => format!("{min} or more"),
                _ => format!("{min} to {max}"),
            };
            let message = format!(
                "the number of elements that must match `contains` changed from {} to {}",
                format_range(old_min, old_max),
                format_range(new_min, new_max)
            );
            (rule, message)
        };
        let candidates = self.sample_arrays(old, new);
        self.comparison.report_restriction(rule, pair, message, facet.with_candidates(candidates));
    }

    /// Returns arrays whose elements all match `contains`. There is one array for each length from 0 to one
    /// more than the largest bound, which is limited to [`MAX_SAMPLE_LENGTH`].
    fn sample_arrays(&self, old: &ContainsConstraint, new: &ContainsConstraint) -> Vec<Json> {
        let pair = self.pair;
        let Some(prover) = self.comparison.enabled_prover(pair.site.value_use) else { return Vec::new() };
        let (side, flat, constraint) = match pair.site.value_use {
            ValueUse::Read => (VersionSide::New, &pair.new, new),
            ValueUse::Write => (VersionSide::Old, &pair.old, old),
        };
        let ids: Vec<SchemaId> = flat.element_schemas(None).into_iter().chain([constraint.schema]).collect();
        let mut elements = prover.sample_values(side, &SchemaConjunction::from_schemas(ids.iter().copied()));
        elements.retain(|value| prover.accepts_value(side, &ids, value));
        let longest = [old.min, old.max, new.min, new.max]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(1)
            .min(MAX_SAMPLE_LENGTH);
        (0..=usize::try_from(longest).unwrap_or(1) + 1)
            .map(|count| Json::Array(elements.iter().cycle().take(count).cloned().collect()))
            .collect()
    }
}

/// Returns the minimum and maximum number of matching elements (Validation 6.4.4 and 6.4.5).
fn contains_range(contains: &ContainsConstraint) -> (u64, u64) {
    (contains.min.unwrap_or(1), contains.max.unwrap_or(u64::MAX))
}
