//! Limits of strings, numbers and counts.

use contract_runtime::{Json, Number};

use super::{
    finding::{Comparer, Facet, Pair},
    flat::{Bound, Flat},
    rules::{self, Rule},
};
use crate::schema::{Types, keywords::Keyword};

/// How a limit moved.
enum Moved {
    Narrowed,
    Widened,
}

impl<'g> Comparer<'g> {
    /// What both sides say about the types that they share.
    pub(super) fn scalars(&mut self, pair: &Pair<'g>, common: Types) {
        if common.contains(Types::STRING) {
            self.least(pair, Keyword::MinLength, (rules::LENGTH_NARROWED, rules::LENGTH_WIDENED), |flat| {
                flat.least(|s| s.min_length)
            });
            self.most(pair, Keyword::MaxLength, (rules::LENGTH_NARROWED, rules::LENGTH_WIDENED), |flat| {
                flat.most(|s| s.max_length)
            });
            self.patterns(pair);
        }
        if common.contains(Types::INTEGER) {
            self.ranges(pair);
            self.multiples(pair);
        }
        if common.contains(Types::ARRAY) {
            let rules = (rules::ITEM_COUNT_NARROWED, rules::ITEM_COUNT_WIDENED);
            self.least(pair, Keyword::MinItems, rules, |flat| flat.least(|s| s.min_items));
            self.most(pair, Keyword::MaxItems, rules, |flat| flat.most(|s| s.max_items));
            let unique = |flat: &Flat<'g>| flat.any(|s| s.unique_items);
            let facet = Facet::of(&[Keyword::UniqueItems]);
            match (unique(&pair.old), unique(&pair.new)) {
                (false, true) => self.set(
                    rules::UNIQUE_ITEMS_SET,
                    pair,
                    "two equal elements are refused".to_owned(),
                    facet,
                ),
                (true, false) => self.set(
                    rules::UNIQUE_ITEMS_UNSET,
                    pair,
                    "two equal elements are valid".to_owned(),
                    facet,
                ),
                _ => {}
            }
        }
        if common.contains(Types::OBJECT) {
            let rules = (rules::PROPERTY_COUNT_NARROWED, rules::PROPERTY_COUNT_WIDENED);
            self.least(pair, Keyword::MinProperties, rules, |flat| flat.least(|s| s.min_properties));
            self.most(pair, Keyword::MaxProperties, rules, |flat| flat.most(|s| s.max_properties));
        }
    }

    fn least(
        &mut self,
        pair: &Pair<'g>,
        keyword: Keyword,
        rules: (&'static Rule, &'static Rule),
        pick: impl Fn(&Flat<'g>) -> Option<u64>,
    ) {
        // A least of 0 says nothing.
        let (old, new) = (pick(&pair.old).unwrap_or(0), pick(&pair.new).unwrap_or(0));
        let moved = if new > old { Moved::Narrowed } else { Moved::Widened };
        if old != new {
            self.limit(pair, keyword, rules, moved, (Some(old), Some(new)), old.min(new));
        }
    }

    fn most(
        &mut self,
        pair: &Pair<'g>,
        keyword: Keyword,
        rules: (&'static Rule, &'static Rule),
        pick: impl Fn(&Flat<'g>) -> Option<u64>,
    ) {
        let (old, new) = (pick(&pair.old), pick(&pair.new));
        let end = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        let moved = if end(new) < end(old) { Moved::Narrowed } else { Moved::Widened };
        if old != new {
            let beyond = end(old).min(end(new)).saturating_add(1);
            self.limit(pair, keyword, rules, moved, (old, new), beyond);
        }
    }

    fn limit(
        &mut self,
        pair: &Pair<'g>,
        keyword: Keyword,
        (narrowed, widened): (&'static Rule, &'static Rule),
        moved: Moved,
        (old, new): (Option<u64>, Option<u64>),
        telling: u64,
    ) {
        let words = |limit: Option<u64>| limit.map_or_else(|| "gone".to_owned(), |limit| limit.to_string());
        let was = old.map_or_else(|| "there was none".to_owned(), |limit| format!("was {limit}"));
        let rule = match moved {
            Moved::Narrowed => narrowed,
            Moved::Widened => widened,
        };
        let mut facet = Facet::of(match keyword {
            Keyword::MinLength => &[Keyword::MinLength],
            Keyword::MaxLength => &[Keyword::MaxLength],
            Keyword::MinItems => &[Keyword::MinItems],
            Keyword::MaxItems => &[Keyword::MaxItems],
            Keyword::MinProperties => &[Keyword::MinProperties],
            _ => &[Keyword::MaxProperties],
        });
        if matches!(keyword, Keyword::MinItems | Keyword::MaxItems) && telling <= 20 {
            let items = (0..telling).map(|at| Json::Number(Number::from(at))).collect::<Vec<_>>();
            facet = facet.tries([Json::Array(items)]);
        }
        self.set(rule, pair, format!("`{}` is {}, {was}", keyword.name(), words(new)), facet);
    }

    fn ranges(&mut self, pair: &Pair<'g>) {
        let ends = |is: Option<Bound<'g>>, was: Option<Bound<'g>>, closed: Keyword, open: Keyword| {
            let exclusive = is.or(was).is_some_and(|bound| bound.exclusive);
            let facet = Facet::of(&[
                Keyword::Minimum,
                Keyword::Maximum,
                Keyword::ExclusiveMinimum,
                Keyword::ExclusiveMaximum,
            ]);
            facet.changed(if exclusive { open } else { closed })
        };
        let words = |bound: Option<Bound<'g>>, inclusive: &str, exclusive: &str| match bound {
            None => "unbounded".to_owned(),
            Some(bound) if bound.exclusive => format!("{exclusive} {}", bound.value),
            Some(bound) => format!("{inclusive} {}", bound.value),
        };
        let values = |bounds: [Option<Bound<'g>>; 2]| {
            let ends = bounds.iter().flatten().map(|bound| bound.value.clone());
            ends.chain(between(bounds)).map(Json::Number).collect::<Vec<_>>()
        };
        let (old, new) = (pair.old.lower(), pair.new.lower());
        if old != new {
            let key = |bound: Option<Bound<'g>>| bound.map(|bound| (bound.value.clone(), bound.exclusive));
            let rule = if key(new) > key(old) { rules::RANGE_NARROWED } else { rules::RANGE_WIDENED };
            let (is, was) = (words(new, "at least", "above"), words(old, "at least", "above"));
            let facet = ends(new, old, Keyword::Minimum, Keyword::ExclusiveMinimum);
            self.set(rule, pair, format!("numbers are {is}, were {was}"), facet.tries(values([old, new])));
        }
        let (old, new) = (pair.old.upper(), pair.new.upper());
        if old != new {
            let narrowed = match (old, new) {
                (_, None) => false,
                (None, _) => true,
                (Some(old), Some(new)) => (new.value, !new.exclusive) < (old.value, !old.exclusive),
            };
            let rule = if narrowed { rules::RANGE_NARROWED } else { rules::RANGE_WIDENED };
            let (is, was) = (words(new, "at most", "below"), words(old, "at most", "below"));
            let facet = ends(new, old, Keyword::Maximum, Keyword::ExclusiveMaximum);
            self.set(rule, pair, format!("numbers are {is}, were {was}"), facet.tries(values([old, new])));
        }
    }

    fn multiples(&mut self, pair: &Pair<'g>) {
        let pick = |flat: &Flat<'g>| {
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
        // Every multiple of `many` is one of `one`.
        let within = |many: &[&Number], one: &&Number| many.iter().any(|each| each.is_multiple_of(one));
        let narrowed = old.iter().all(|each| within(&new, each));
        let widened = new.iter().all(|each| within(&old, each));
        let rule = match (narrowed, widened) {
            (true, true) => return,
            (true, false) => rules::MULTIPLE_OF_NARROWED,
            (false, true) => rules::MULTIPLE_OF_WIDENED,
            (false, false) => rules::MULTIPLE_OF_CHANGED,
        };
        let words = |all: &[&Number]| match all {
            [] => "any number".to_owned(),
            _ => all.iter().map(|each| format!("a multiple of {each}")).collect::<Vec<_>>().join(" and "),
        };
        let tries: Vec<Json> = old.iter().chain(&new).map(|each| Json::Number((*each).clone())).collect();
        let message = format!("{} is valid, was {}", words(&new), words(&old));
        self.set(rule, pair, message, Facet::of(&[Keyword::MultipleOf]).tries(tries));
    }
}

/// The number in the middle of two bounds.
fn between(bounds: [Option<Bound<'_>>; 2]) -> Option<Number> {
    let [one, other] = bounds.map(|bound| bound.map(|bound| bound.value.to_f64()));
    Number::try_from((one? + other?) / 2.0).ok()
}
