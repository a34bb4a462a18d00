//! Strategies for strings and numbers that satisfy constraints.

use proptest::{
    arbitrary::any,
    collection::vec,
    sample::select,
    strategy::{BoxedStrategy, Just, Strategy, Union},
};

use super::constraints::ValueConstraints;
use crate::{Json, Number, format::StringFormat};

/// The maximum number of characters that a generated string has beyond its minimum length.
const MAX_EXTRA_LENGTH: u64 = 24;

/// Returns a strategy for strings that probably satisfy the constraints.
pub(super) fn string_strategy(facts: &ValueConstraints) -> BoxedStrategy<Json> {
    let least = bounded_usize(facts.min_length);
    let max = bounded_usize(
        facts.max_length.unwrap_or(u64::MAX).min(facts.min_length.saturating_add(MAX_EXTRA_LENGTH)),
    );
    let max = max.max(least);
    let mut ways: Vec<BoxedStrategy<String>> = Vec::new();
    let formatted: Vec<&'static str> = StringFormat::ALL.iter().map(|format| format.example()).collect();
    let fits = |text: &&&str| {
        facts.formats.iter().all(|format| format.is_match(text))
            && facts.parses.iter().all(|parse| (parse.is_match)(text))
    };
    if !facts.formats.is_empty() || !facts.parses.is_empty() {
        let known: Vec<&'static str> = formatted.iter().filter(fits).copied().collect();
        if !known.is_empty() {
            ways.push(select(known).prop_map(str::to_owned).boxed());
        }
    }
    for pattern in &facts.patterns {
        let pattern: &'static crate::pattern::Pattern<'static> = pattern;
        let found = move |choices: Vec<u16>| pattern.sample_string(&choices, least, max).unwrap_or_default();
        ways.push(vec(any::<u16>(), 0..=max.max(8) * 2).prop_map(found).boxed());
    }
    if ways.is_empty() {
        let letter = proptest::prop_oneof![8 => proptest::char::range('a', 'z'), 1 => any::<char>()];
        ways.push(vec(letter, least..=max).prop_map(|letters| letters.into_iter().collect()).boxed());
    }
    Union::new(ways).prop_map(Json::from).boxed()
}

fn bounded_usize(count: u64) -> usize {
    usize::try_from(count.min(1 << 20)).unwrap_or(0)
}

/// Returns a strategy for numbers that probably satisfy the constraints.
pub(super) fn number_strategy(facts: &ValueConstraints, whole: bool) -> BoxedStrategy<Json> {
    let bound = |bound: Option<i128>, otherwise: i64| {
        bound.map_or(otherwise, |bound| i64::try_from(bound).unwrap_or(otherwise))
    };
    let low = bound(facts.minimum.iter().filter_map(Number::ceil).max(), i64::MIN);
    let max = bound(facts.maximum.iter().filter_map(Number::floor).min(), i64::MAX);
    let high = max.max(low);
    let factor = facts.factors.iter().find_map(Number::as_i64).filter(|factor| *factor != 0);
    let near = low.max(-1_000).min(high)..=high.min(low.max(-1_000).saturating_add(2_000)).max(low);
    let mut ways: Vec<BoxedStrategy<Number>> = Vec::new();
    match factor {
        Some(factor) => {
            let factor = factor.saturating_abs();
            let (first, last) = (low.div_euclid(factor), high.div_euclid(factor));
            let some =
                first.max(-1_000).min(last)..=last.min(first.max(-1_000).saturating_add(2_000)).max(first);
            ways.push(some.prop_map(move |times| Number::from_i64(times.saturating_mul(factor))).boxed());
        }
        None if whole || low <= max => {
            ways.push(near.prop_map(Number::from_i64).boxed());
            ways.push((low..=high).prop_map(Number::from_i64).boxed());
        }
        // There is no integer between the bounds.
        None => {}
    }
    if !whole {
        let least = bound(facts.minimum.iter().filter_map(Number::floor).max(), i64::MIN).min(max);
        let digits = least.max(-100_000).min(max)..=max.min(100_000).max(least);
        let decimal = (digits, 0..100_i64, 1..=2_u8).prop_map(|(whole, part, scale)| {
            let shift = if scale == 1 { 10 } else { 100 };
            Number::from_decimal(whole.saturating_mul(shift).saturating_add(part % shift), scale)
        });
        ways.push(decimal.boxed());
        // These values cover fractional factors, and bounds without an integer between them.
        for exact in facts.factors.iter().chain(&facts.minimum).chain(&facts.maximum) {
            ways.push(Just(exact.clone()).boxed());
        }
    }
    Union::new(ways).prop_map(Json::Number).boxed()
}
