//! Compares a pair of schemas keyword by keyword.

use contract_codegen_core::schema::{TypeSet, keywords::Keyword};

use super::{
    alternatives::compare_alternatives,
    annotations::compare_annotations,
    arrays::ArrayComparer,
    comparison::{Comparison, SchemaPair},
    conditions::ConditionComparer,
    discriminators::DiscriminatorComparer,
    enumerations::EnumerationComparer,
    flattened::{FlattenedSchema, SchemaUnion, ValueListing, type_names},
    objects::ObjectComparer,
    rules,
    scalars::ScalarComparer,
    site::{StepKind, ValueUse},
    unions::UnionComparer,
    verdicts::KeywordFacet,
};

/// The maximum nesting depth of unions that are searched for a branch that accepts every string.
const MAX_UNION_DEPTH: u8 = 6;

/// A comparer for all keywords of a pair of schemas.
pub(super) struct SchemaComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> SchemaComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares all keywords of a pair and, recursively, its subschemas.
    pub(super) fn compare_keywords(&mut self) {
        let pair = self.pair;
        if compare_alternatives(self.comparison, pair) {
            return;
        }
        compare_annotations(self.comparison, pair);
        DiscriminatorComparer::new(self.comparison, pair).compare_discriminators();
        let (old, new) = (pair.old.types(), pair.new.types());
        if old.is_empty() && new.is_empty() {
            return;
        }
        if self.compare_with_elements(old, new) {
            return;
        }
        if !self.compare_string_encoded_scalars(old, new) && self.compare_types(old, new) {
            return;
        }
        let common = old.intersection(new);
        let listed = EnumerationComparer::new(self.comparison, pair).compare_enumerations();
        if !listed.covers_scalars {
            ScalarComparer::new(self.comparison, pair).compare_scalars(common);
        }
        if common.contains(TypeSet::ARRAY) {
            ArrayComparer::new(self.comparison, pair).compare_arrays();
        }
        if common.contains(TypeSet::OBJECT) {
            ObjectComparer::new(self.comparison, pair).compare_objects();
        }
        UnionComparer::new(self.comparison, pair).compare_unions(&listed);
        ConditionComparer::new(self.comparison, pair).compare_conditions();
    }

    /// Compares a scalar with the elements of the array that replaces it, at a site where an array with one
    /// element is sent like the element, such as a query parameter. Returns false if the types did not change
    /// in this way, or if the array may reject a single element.
    fn compare_with_elements(&mut self, old: TypeSet, new: TypeSet) -> bool {
        let pair = self.pair;
        let was_scalar =
            !old.is_empty() && old.intersection(TypeSet::ARRAY.union(TypeSet::OBJECT)).is_empty();
        let is_array = new.difference(TypeSet::NULL) == TypeSet::ARRAY;
        let loses_null = old.contains(TypeSet::NULL) && !new.contains(TypeSet::NULL);
        let applies = pair.site.sends_element_as_value()
            && pair.site.value_use == ValueUse::Write
            && !pair.site.is_part;
        if !(applies && was_scalar && is_array && !loses_null && accepts_single_elements(&pair.new)) {
            return false;
        }
        let (was, is) = (type_names(old), type_names(new));
        self.comparison.report_change(
            rules::TYPE_WIDENED,
            pair,
            format!("the type changed from {was} to {is}, and a single value is sent as before"),
        );
        let scalars = TypeSet::ALL.difference(TypeSet::NULL);
        let site = pair.site.below(StepKind::Element, "*").restricted_to(scalars);
        self.comparison.compare_schemas(&pair.old_ids, &pair.new.element_schemas(None), &site);
        true
    }

    /// Reports a scalar type that became `string` at a site where scalars are sent as plain strings, such as
    /// a query parameter. The old values remain valid there. For readers, also reports the reverse change.
    /// Returns true if the types need no further comparison.
    fn compare_string_encoded_scalars(&mut self, old: TypeSet, new: TypeSet) -> bool {
        let pair = self.pair;
        if !pair.site.is_plain_string() {
            return false;
        }
        let (rule, wide, narrow, texts) =
            if with_scalars_as_strings(old, new, &pair.new).is_some_and(|old| new.contains(old)) {
                (rules::TYPE_WIDENED, new, old, &pair.new)
            } else if pair.site.value_use == ValueUse::Read
                && with_scalars_as_strings(new, old, &pair.old).is_some_and(|new| old.contains(new))
            {
                (rules::TYPE_NARROWED, old, new, &pair.old)
            } else {
                return false;
            };
        // The branches of a union are compared separately.
        if texts.unions().is_empty() || wide.intersection(narrow).is_empty() {
            let (was, is) = (type_names(old), type_names(new));
            self.comparison.report_change(
                rule,
                pair,
                format!("the type changed from {was} to {is}, and both are sent as plain strings"),
            );
        }
        true
    }

    /// Reports a change of the accepted types. Returns true if the two versions have no type in common.
    fn compare_types(&mut self, old: TypeSet, new: TypeSet) -> bool {
        let pair = self.pair;
        if old == new {
            return false;
        }
        // An enumeration restricts values more specifically than the types of its values do.
        let listed = |flat: &FlattenedSchema<'g>| matches!(flat.value_listing(), ValueListing::Closed { .. });
        let silent = listed(&pair.old) || listed(&pair.new);
        let (was, is) = (type_names(old), type_names(new));
        let facet = KeywordFacet::new(&[
            Keyword::Type,
            Keyword::Enum,
            Keyword::Const,
            Keyword::OneOf,
            Keyword::AnyOf,
            Keyword::Ref,
        ]);
        let disjoint = old.intersection(new).is_empty();
        if old.is_empty() || new.is_empty() {
            let rule = if old.is_empty() { rules::TYPE_WIDENED } else { rules::TYPE_NARROWED };
            // If one version accepts no type at all, any of its keywords may be the reason.
            let facet = KeywordFacet::new(Keyword::ALL).with_changed_keyword(Keyword::Type);
            self.comparison.report_restriction(
                rule,
                pair,
                format!("the valid type changed from {was} to {is}"),
                facet,
            );
        } else if new == old.union(TypeSet::NULL) {
            self.comparison.report_restriction(
                rules::NULL_ADDED,
                pair,
                format!("`null` is now valid in addition to {was}"),
                facet.with_candidates([contract_runtime::Json::Null]),
            );
        } else if old == new.union(TypeSet::NULL) {
            let tries = [contract_runtime::Json::Null];
            self.comparison.report_restriction(
                rules::NULL_REMOVED,
                pair,
                format!("`null` is no longer valid; the type is now {is}"),
                facet.with_candidates(tries),
            );
        } else if disjoint && silent && EnumerationComparer::new(self.comparison, pair).compare_constants() {
            return true;
        } else if new.contains(old) && !silent {
            self.comparison.report_restriction(
                rules::TYPE_WIDENED,
                pair,
                format!("the type changed from {was} to {is}"),
                facet,
            );
        } else if old.contains(new) && !silent {
            self.comparison.report_restriction(
                rules::TYPE_NARROWED,
                pair,
                format!("the type changed from {was} to {is}"),
                facet,
            );
        } else if !silent || disjoint {
            self.comparison.report_restriction(
                rules::TYPE_CHANGED,
                pair,
                format!("the type changed from {was} to {is}"),
                facet,
            );
        }
        disjoint
    }
}

/// Returns true if an array with one element is valid if the element is.
fn accepts_single_elements(array: &FlattenedSchema<'_>) -> bool {
    let idle = [
        Keyword::Ref,
        Keyword::AllOf,
        Keyword::Type,
        Keyword::Items,
        Keyword::MinItems,
        Keyword::MaxItems,
        Keyword::UniqueItems,
    ];
    array.schemas().all(|schema| schema.is_constrained_only_by(&idle))
        && array.max_lower_limit(|schema| schema.min_items).unwrap_or(0) <= 1
        && array.min_upper_limit(|schema| schema.max_items).unwrap_or(1) >= 1
}

/// Replaces each scalar type in `types` that `others` does not contain by `string`, and returns the result.
/// Returns `None` if there is no such type, or if the schema `other` does not accept every string that may
/// represent a value of such a type.
fn with_scalars_as_strings(types: TypeSet, others: TypeSet, other: &FlattenedSchema<'_>) -> Option<TypeSet> {
    let scalars = TypeSet::NUMBER.union(TypeSet::BOOLEAN).union(TypeSet::INTEGER).union(TypeSet::NULL);
    let lacking = types.intersection(scalars).difference(others);
    // The empty string may represent `null`.
    let shortest = u64::from(!lacking.contains(TypeSet::NULL));
    let is_taken = !lacking.is_empty() && accepts_every_string(other, shortest, MAX_UNION_DEPTH);
    is_taken.then(|| types.difference(lacking).union(TypeSet::STRING))
}

/// Returns true if a schema accepts every string of at least the given length.
fn accepts_every_string(flat: &FlattenedSchema<'_>, shortest: u64, depth: u8) -> bool {
    let idle = [
        Keyword::Ref,
        Keyword::AllOf,
        Keyword::Type,
        Keyword::MinLength,
        Keyword::AnyOf,
        Keyword::OneOf,
        // These keywords restrict only arrays and objects.
        Keyword::Items,
        Keyword::PrefixItems,
        Keyword::MinItems,
        Keyword::MaxItems,
        Keyword::UniqueItems,
        Keyword::Properties,
        Keyword::PatternProperties,
        Keyword::AdditionalProperties,
        Keyword::Required,
    ];
    let Some(deeper) = depth.checked_sub(1) else { return false };
    let fits = |union: SchemaUnion<'_>| {
        let branches = union.branches.iter().map(|id| FlattenedSchema::from_schemas(flat.graph, &[*id]));
        let mut texts = branches.filter(|branch| branch.types().contains(TypeSet::STRING));
        match union.one {
            true => texts
                .next()
                .is_some_and(|text| accepts_every_string(&text, shortest, deeper) && texts.next().is_none()),
            false => texts.any(|text| accepts_every_string(&text, shortest, deeper)),
        }
    };
    flat.types().contains(TypeSet::STRING)
        && flat.max_lower_limit(|schema| schema.min_length).unwrap_or(0) <= shortest
        && flat.schemas().all(|schema| schema.is_constrained_only_by(&idle))
        && flat.unions().into_iter().all(fits)
}
