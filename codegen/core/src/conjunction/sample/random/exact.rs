//! Computes strings and numbers that random attempts rarely find.

use contract_runtime::Number;

use super::SplitMix64;
use crate::{
    pattern::inclusion::{Inclusion, PatternLanguage, PatternProgram, check_inclusion},
    schema::Schema,
};

/// The maximum number of decimal places of a number.
const MAX_DECIMALS: u8 = 12;
/// The maximum number of valid multiples from which one is selected at random.
const MAX_MULTIPLES: i128 = 1_000;

/// Returns the shortest string with `least` to `most` code points that matches all patterns and is not in
/// `taken`. Patterns that the engine does not support are ignored. Returns `None` if no such string exists,
/// if the search would exceed its limits, or if no pattern is supported.
pub(super) fn shortest_string(
    patterns: &[String],
    least: u64,
    most: Option<u64>,
    taken: &[String],
) -> Option<String> {
    let programs: Vec<PatternProgram> =
        patterns.iter().filter_map(|pattern| PatternProgram::compile(pattern).ok()).collect();
    if programs.is_empty() {
        return None;
    }
    let given = PatternLanguage { patterns: programs.iter().collect(), least, most };
    let listed = (!taken.is_empty())
        .then(|| PatternProgram::compile(&alternatives_pattern(taken)))
        .transpose()
        .ok()?;
    let taken = match &listed {
        Some(listed) => PatternLanguage { patterns: vec![listed], least: 0, most: None },
        // No string is excluded: the length range of this language is empty.
        None => PatternLanguage { patterns: Vec::new(), least: 1, most: Some(0) },
    };
    match check_inclusion(&given, &taken) {
        Inclusion::Fails(text) => Some(text),
        Inclusion::Holds | Inclusion::TooLarge => None,
    }
}

/// Returns a pattern that matches exactly these strings.
fn alternatives_pattern(texts: &[String]) -> String {
    let mut pattern = "^(?:".to_owned();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            pattern.push('|');
        }
        for letter in text.chars() {
            if r"^$\.*+?()[]{}|/".contains(letter) {
                pattern.push('\\');
            }
            pattern.push(letter);
        }
    }
    pattern + ")$"
}

/// Returns a number within all bounds that is a multiple of all `multipleOf` values. The number is an integer
/// unless `fractions` is true. Returns `None` if no such number exists or if the number of digits exceeds the
/// limits.
pub(super) fn exact_number(all: &[&Schema], fractions: bool, rng: &SplitMix64) -> Option<Number> {
    let constraints = all.iter().flat_map(|s| {
        [&s.minimum, &s.maximum, &s.exclusive_minimum, &s.exclusive_maximum, &s.multiple_of]
            .into_iter()
            .flatten()
    });
    let mut scale = 0;
    for number in constraints {
        scale = decimal_places(number)?.max(scale);
    }
    let factors: Vec<&Number> = all.iter().filter_map(|s| s.multiple_of.as_ref()).collect();
    if fractions && factors.is_empty() {
        // Between two close bounds, only a finer scale contains values.
        scale += 1;
    }
    let units = |number: &Number| number.to_scaled_i64(scale).map(i128::from);
    let mut step = if fractions { 1 } else { 10_i128.checked_pow(scale.into())? };
    for factor in factors {
        step = least_common_multiple(step, units(factor)?)?;
    }
    let (mut low, mut high): (Option<i128>, Option<i128>) = (None, None);
    for schema in all {
        for (bound, beyond) in [(&schema.minimum, 0), (&schema.exclusive_minimum, 1)] {
            if let Some(bound) = bound {
                low = low.max(Some(units(bound)? + beyond));
            }
        }
        for (bound, beyond) in [(&schema.maximum, 0), (&schema.exclusive_maximum, 1)] {
            if let Some(bound) = bound {
                let most = units(bound)? - beyond;
                high = Some(high.map_or(most, |known| known.min(most)));
            }
        }
    }
    let last = high.map(|high| high.div_euclid(step));
    let first = match (low, last) {
        // This is the smallest multiple that is not below the bound.
        (Some(low), _) => low.checked_add(step - 1)?.div_euclid(step),
        (None, Some(last)) => last - MAX_MULTIPLES,
        (None, None) => 1,
    };
    let last = last.unwrap_or(i128::MAX).min(first + MAX_MULTIPLES);
    let width = u64::try_from(last - first + 1).ok().filter(|width| *width > 0)?;
    let multiple = (first + i128::from(rng.next_below(width))).checked_mul(step)?;
    let mut digits = i64::try_from(multiple).ok()?;
    while scale > 0 && digits % 10 == 0 {
        digits /= 10;
        scale -= 1;
    }
    Some(Number::from_decimal(digits, scale))
}

/// Returns the number of decimal places of a number, or `None` if it exceeds the limit.
fn decimal_places(number: &Number) -> Option<u8> {
    (0..=MAX_DECIMALS).find(|count| number.round_half_up(*count).cmp(number).is_eq())
}

/// Returns the least common multiple of two positive numbers, or `None` on overflow.
fn least_common_multiple(one: i128, other: i128) -> Option<i128> {
    let (mut divisor, mut rest) = (one, other);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor).checked_mul(other).filter(|common| *common > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    #[test]
    fn shortest_string_satisfies_all_patterns_and_bounds() {
        let check = |patterns: &[&str], least, most, taken: &[&str], expect: Option<&str>| {
            let to_strings = |list: &[&str]| list.iter().map(|each| (*each).to_owned()).collect::<Vec<_>>();
            let found = shortest_string(&to_strings(patterns), least, most, &to_strings(taken));
            assert_eq!(found.as_deref(), expect, "{patterns:?} {taken:?}");
        };
        check(&["^x"], 4, None, &[], Some("xaaa"));
        check(&["^a", "z$"], 8, None, &[], Some("aaaaaaaz"));
        check(&["^a", "z$"], 0, None, &[], Some("az"));
        check(&["^a$"], 2, None, &[], None);
        check(&["^[ab.]$"], 0, None, &["a", "."], Some("b"));
        check(&["^[ab]$"], 0, Some(1), &["a", "b"], None);
        // A pattern that the engine does not support is ignored.
        check(&["^(?!no)", "^b"], 0, None, &[], Some("b"));
        check(&["^(?!no)"], 0, None, &[], None);
    }

    #[test]
    fn numbers_are_multiples_within_their_bounds() {
        let exact = |text: &str| Number::parse(text).unwrap();
        let schema = |low: &str, high: &str, factor: &str| Schema {
            exclusive_minimum: Some(low).filter(|text| !text.is_empty()).map(exact),
            maximum: Some(high).filter(|text| !text.is_empty()).map(exact),
            multiple_of: Some(factor).filter(|text| !text.is_empty()).map(exact),
            ..Schema::default()
        };
        for seed in 0..50 {
            let drawn = |schemas: &[&Schema], fractions| {
                exact_number(schemas, fractions, &SplitMix64::from_seed(seed))
            };
            let first = drawn(&[&schema("100", "", "0.07")], true).unwrap();
            assert!(first > exact("100") && first.is_multiple_of(&exact("0.07")), "{}", first.to_json_text());
            let (four, six) = (schema("1", "40", "4"), schema("", "", "6"));
            let integer = drawn(&[&four, &six], false).unwrap().to_json_text().into_owned();
            assert!(["12", "24", "36"].contains(&integer.as_str()), "{integer}");
            let fraction = drawn(&[&schema("0.5", "4", "1.5")], false).unwrap();
            assert_eq!(fraction.to_json_text(), "3");
            let between = drawn(&[&schema("0.2", "0.22", "")], true).unwrap();
            assert!(between > exact("0.2") && between <= exact("0.22"), "{}", between.to_json_text());
            let below = drawn(&[&schema("", "-1e3", "0.5")], true).unwrap();
            assert!(below <= exact("-1000"), "{}", below.to_json_text());
            assert_eq!(drawn(&[&schema("1", "4", "5")], true), None);
            assert_eq!(drawn(&[&schema("", "", "1e-300")], true), None);
        }
    }
}
