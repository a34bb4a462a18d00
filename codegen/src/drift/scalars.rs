//! Compares patterns, `multipleOf`, `uniqueItems`, and the limits of string lengths, numbers, array lengths
//! and property counts.

use contract_codegen_core::schema::{TypeSet, keywords::Keyword};
use contract_runtime::{Json, Number};

use super::{
    comparison::{Comparison, SchemaPair},
    flattened::{FlattenedSchema, NumericBound},
    rules::{self, DriftRule},
    strings::PatternComparer,
    verdicts::KeywordFacet,
};

/// The direction in which a limit changed.
enum LimitChange {
    Narrowed,
    Widened,
}

/// A comparer for the scalar keywords and the limits of a pair of schemas.
pub(super) struct ScalarComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> ScalarComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    /// Compares the scalar keywords and limits that apply to the types in `common`, which both versions
    /// accept.
    pub(super) fn compare_scalars(&mut self, common: TypeSet) {
        let pair = self.pair;
        if common.contains(TypeSet::STRING) {
            self.compare_minimum_count(
                Keyword::MinLength,
                (rules::LENGTH_NARROWED, rules::LENGTH_WIDENED),
                |flat| flat.max_lower_limit(|s| s.min_length),
            );
            self.compare_maximum_count(
                Keyword::MaxLength,
                (rules::LENGTH_NARROWED, rules::LENGTH_WIDENED),
                |flat| flat.min_upper_limit(|s| s.max_length),
            );
            PatternComparer::new(self.comparison, pair).compare_patterns();
        }
        if common.contains(TypeSet::INTEGER) {
            self.compare_ranges();
            self.compare_multiples();
        }
        if common.contains(TypeSet::ARRAY) {
            let rules = (rules::ITEM_COUNT_NARROWED, rules::ITEM_COUNT_WIDENED);
            self.compare_minimum_count(Keyword::MinItems, rules, |flat| {
                flat.max_lower_limit(|s| s.min_items)
            });
            self.compare_maximum_count(Keyword::MaxItems, rules, |flat| {
                flat.min_upper_limit(|s| s.max_items)
            });
            let unique = |flat: &FlattenedSchema<'g>| flat.any_schema(|s| s.unique_items);
            let facet = KeywordFacet::new(&[Keyword::UniqueItems]);
            match (unique(&pair.old), unique(&pair.new)) {
                (false, true) => self.comparison.report_restriction(
                    rules::UNIQUE_ITEMS_SET,
                    pair,
                    "equal elements are now rejected".to_owned(),
                    facet,
                ),
                (true, false) => self.comparison.report_restriction(
                    rules::UNIQUE_ITEMS_UNSET,
                    pair,
                    "equal elements are now valid".to_owned(),
                    facet,
                ),
                _ => {}
            }
        }
        if common.contains(TypeSet::OBJECT) {
            let rules = (rules::PROPERTY_COUNT_NARROWED, rules::PROPERTY_COUNT_WIDENED);
            self.compare_minimum_count(Keyword::MinProperties, rules, |flat| {
                flat.max_lower_limit(|s| s.min_properties)
            });
            self.compare_maximum_count(Keyword::MaxProperties, rules, |flat| {
                flat.min_upper_limit(|s| s.max_properties)
            });
        }
    }

    fn compare_minimum_count(
        &mut self,
        keyword: Keyword,
        rules: (&'static DriftRule, &'static DriftRule),
        pick: impl Fn(&FlattenedSchema<'g>) -> Option<u64>,
    ) {
        let pair = self.pair;
        // A minimum of 0 has no effect.
        let (old, new) = (pick(&pair.old).unwrap_or(0), pick(&pair.new).unwrap_or(0));
        let moved = if new > old { LimitChange::Narrowed } else { LimitChange::Widened };
        if old != new {
            self.report_limit(keyword, rules, moved, (Some(old), Some(new)), old.min(new));
        }
    }

    fn compare_maximum_count(
        &mut self,
        keyword: Keyword,
        rules: (&'static DriftRule, &'static DriftRule),
        pick: impl Fn(&FlattenedSchema<'g>) -> Option<u64>,
    ) {
        let pair = self.pair;
        let (old, new) = (pick(&pair.old), pick(&pair.new));
        let end = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        let moved = if end(new) < end(old) { LimitChange::Narrowed } else { LimitChange::Widened };
        if old != new {
            let beyond = end(old).min(end(new)).saturating_add(1);
            self.report_limit(keyword, rules, moved, (old, new), beyond);
        }
    }

    fn report_limit(
        &mut self,
        keyword: Keyword,
        (narrowed, widened): (&'static DriftRule, &'static DriftRule),
        moved: LimitChange,
        (old, new): (Option<u64>, Option<u64>),
        witness_size: u64,
    ) {
        let pair = self.pair;
        let name = keyword.name();
        let message = match (old, new) {
            (Some(old), Some(new)) => format!("`{name}` changed from {old} to {new}"),
            (Some(old), None) => format!("`{name}` {old} was removed"),
            (None, Some(new)) => format!("`{name}` {new} was added"),
            (None, None) => return,
        };
        let rule = match moved {
            LimitChange::Narrowed => narrowed,
            LimitChange::Widened => widened,
        };
        let mut facet = KeywordFacet::new(match keyword {
            Keyword::MinLength => &[Keyword::MinLength],
            Keyword::MaxLength => &[Keyword::MaxLength],
            Keyword::MinItems => &[Keyword::MinItems],
            Keyword::MaxItems => &[Keyword::MaxItems],
            Keyword::MinProperties => &[Keyword::MinProperties],
            _ => &[Keyword::MaxProperties],
        });
        if matches!(keyword, Keyword::MinItems | Keyword::MaxItems) && witness_size <= 20 {
            let items = (0..witness_size).map(|at| Json::Number(Number::from(at))).collect::<Vec<_>>();
            facet = facet.with_candidates([Json::Array(items)]);
        }
        self.comparison.report_restriction(rule, pair, message, facet);
    }

    fn compare_ranges(&mut self) {
        let pair = self.pair;
        let ends =
            |is: Option<NumericBound<'g>>, was: Option<NumericBound<'g>>, closed: Keyword, open: Keyword| {
                let exclusive = is.or(was).is_some_and(|bound| bound.exclusive);
                let facet = KeywordFacet::new(&[
                    Keyword::Minimum,
                    Keyword::Maximum,
                    Keyword::ExclusiveMinimum,
                    Keyword::ExclusiveMaximum,
                ]);
                facet.with_changed_keyword(if exclusive { open } else { closed })
            };
        let describe_limit = |bound: Option<NumericBound<'g>>, inclusive: &str, exclusive: &str| match bound {
            None => "unbounded".to_owned(),
            Some(bound) if bound.exclusive => format!("{exclusive} {}", bound.value),
            Some(bound) => format!("{inclusive} {}", bound.value),
        };
        let values = |bounds: [Option<NumericBound<'g>>; 2]| {
            let ends = bounds.iter().flatten().map(|bound| bound.value.clone());
            ends.chain(midpoint(bounds)).map(Json::Number).collect::<Vec<_>>()
        };
        let (old, new) = (pair.old.lower_bound(), pair.new.lower_bound());
        if old != new {
            let key =
                |bound: Option<NumericBound<'g>>| bound.map(|bound| (bound.value.clone(), bound.exclusive));
            let rule = if key(new) > key(old) { rules::RANGE_NARROWED } else { rules::RANGE_WIDENED };
            let (is, was) =
                (describe_limit(new, "at least", "above"), describe_limit(old, "at least", "above"));
            let facet = ends(new, old, Keyword::Minimum, Keyword::ExclusiveMinimum);
            self.comparison.report_restriction(
                rule,
                pair,
                format!("the range of numbers changed from {was} to {is}"),
                facet.with_candidates(values([old, new])),
            );
        }
        let (old, new) = (pair.old.upper_bound(), pair.new.upper_bound());
        if old != new {
            let narrowed = match (old, new) {
                (_, None) => false,
                (None, _) => true,
                (Some(old), Some(new)) => (new.value, !new.exclusive) < (old.value, !old.exclusive),
            };
            let rule = if narrowed { rules::RANGE_NARROWED } else { rules::RANGE_WIDENED };
            let (is, was) =
                (describe_limit(new, "at most", "below"), describe_limit(old, "at most", "below"));
            let facet = ends(new, old, Keyword::Maximum, Keyword::ExclusiveMaximum);
            self.comparison.report_restriction(
                rule,
                pair,
                format!("the range of numbers changed from {was} to {is}"),
                facet.with_candidates(values([old, new])),
            );
        }
    }

    fn compare_multiples(&mut self) {
        let pair = self.pair;
        let pick = |flat: &FlattenedSchema<'g>| {
            let mut all: Vec<&'g Number> =
                flat.schemas().filter_map(|schema| schema.multiple_of.as_ref()).collect();
            all.sort();
            all.dedup();
            all
        };
        let (old, new) = (pick(&pair.old), pick(&pair.new));
        if old == new {
            return;
        }
        // `within` is true if every multiple of some number in `many` is also a multiple of `one`.
        let within = |many: &[&Number], one: &&Number| many.iter().any(|each| each.is_multiple_of(one));
        let narrowed = old.iter().all(|each| within(&new, each));
        let widened = new.iter().all(|each| within(&old, each));
        let rule = match (narrowed, widened) {
            (true, true) => return,
            (true, false) => rules::MULTIPLE_OF_NARROWED,
            (false, true) => rules::MULTIPLE_OF_WIDENED,
            (false, false) => rules::MULTIPLE_OF_CHANGED,
        };
        let describe_numbers = |all: &[&Number]| {
            all.iter().map(|each| format!("a multiple of {each}")).collect::<Vec<_>>().join(" and ")
        };
        let tries: Vec<Json> = old.iter().chain(&new).map(|each| Json::Number((*each).clone())).collect();
        let message = match (&*old, &*new) {
            ([], new) => format!("numbers must be {}", describe_numbers(new)),
            (old, []) => format!("numbers need not be {}", describe_numbers(old)),
            (old, new) => {
                format!("numbers must be {} instead of {}", describe_numbers(new), describe_numbers(old))
            }
        };
        self.comparison.report_restriction(
            rule,
            pair,
            message,
            KeywordFacet::new(&[Keyword::MultipleOf]).with_candidates(tries),
        );
    }
}

/// Returns the number in the middle of two bounds, or `None` if one of them is missing.
fn midpoint(bounds: [Option<NumericBound<'_>>; 2]) -> Option<Number> {
    let [one, other] = bounds.map(|bound| bound.map(|bound| bound.value.to_f64()));
    Number::try_from((one? + other?) / 2.0).ok()
}
