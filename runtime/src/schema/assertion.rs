//! Evaluation of assertion keywords (Validation 6), which depend only on the value. They are grouped by the
//! type of the value.

use super::Keyword;
use super::Literal;
use super::TypeSet;
use crate::Json;
use crate::Map;
use crate::Number;
use crate::text;

/// The name of a keyword and whether the value satisfies it, or `None` for an applicator.
pub(super) type AssertionResult = Option<(&'static str, bool)>;

/// Evaluates an assertion keyword. Returns `None` for an applicator.
#[inline(never)]
pub(super) fn evaluate_assertion(keyword: &Keyword<'_>, value: &Json) -> AssertionResult {
    match value {
        Json::Null | Json::Bool(_) => assert_any(keyword, value),
        Json::Number(number) => assert_number(keyword, value, number),
        Json::String(text) => assert_string(keyword, value, text),
        Json::Array(items) => assert_array(keyword, value, items),
        Json::Object(members) => assert_object(keyword, value, members),
    }
}

#[inline(always)]
pub(super) fn assert_number(keyword: &Keyword<'_>, value: &Json, number: &Number) -> AssertionResult {
    Some(match keyword {
        Keyword::Type(types) => (
            "type",
            types.is_superset(TypeSet::NUMBER) || types.is_superset(TypeSet::INTEGER) && number.is_integer(),
        ),
        Keyword::MultipleOf(unit) => ("multipleOf", number.is_multiple_of(unit)),
        Keyword::Maximum(limit) => ("maximum", number <= limit),
        Keyword::ExclusiveMaximum(limit) => ("exclusiveMaximum", number < limit),
        Keyword::Minimum(limit) => ("minimum", number >= limit),
        Keyword::ExclusiveMinimum(limit) => ("exclusiveMinimum", number > limit),
        _ => return assert_any(keyword, value),
    })
}

#[inline(always)]
pub(super) fn assert_string(keyword: &Keyword<'_>, value: &Json, text: &str) -> AssertionResult {
    Some(match keyword {
        Keyword::Type(types) => ("type", types.is_superset(TypeSet::STRING)),
        Keyword::Enum(literals) => ("enum", contains_string(literals, text)),
        Keyword::Const(literal) => {
            ("const", matches!(literal, Literal::String(expected) if text::str_eq(expected, text)))
        }
        Keyword::MaxLength(max) => ("maxLength", text::char_count_at_most(text, saturating_usize(*max))),
        Keyword::MinLength(least) => ("minLength", text::char_count_at_least(text, saturating_usize(*least))),
        Keyword::Pattern(pattern) => ("pattern", pattern.is_match(text)),
        Keyword::Format(format) => ("format", format.is_match(text)),
        Keyword::TypedFormat(parse) => ("format", (parse.is_match)(text)),
        _ => return assert_any(keyword, value),
    })
}

#[inline(never)]
fn contains_string(literals: &[Literal<'_>], text: &str) -> bool {
    literals.iter().any(|literal| matches!(literal, Literal::String(own) if text::str_eq(own, text)))
}

#[inline(always)]
pub(super) fn assert_array(keyword: &Keyword<'_>, value: &Json, items: &[Json]) -> AssertionResult {
    Some(match keyword {
        Keyword::Type(types) => ("type", types.is_superset(TypeSet::ARRAY)),
        Keyword::MaxItems(max) => ("maxItems", items.len() as u64 <= *max),
        Keyword::MinItems(least) => ("minItems", items.len() as u64 >= *least),
        _ => return assert_any(keyword, value),
    })
}

#[inline(always)]
pub(super) fn assert_object(keyword: &Keyword<'_>, value: &Json, members: &Map<Json>) -> AssertionResult {
    Some(match keyword {
        Keyword::Type(types) => ("type", types.is_superset(TypeSet::OBJECT)),
        Keyword::MaxProperties(max) => ("maxProperties", members.len() as u64 <= *max),
        Keyword::MinProperties(least) => ("minProperties", members.len() as u64 >= *least),
        _ => return assert_any(keyword, value),
    })
}

/// Evaluates the keywords that apply to all types. Keywords that apply to other types are satisfied.
#[inline(always)]
pub(super) fn assert_any(keyword: &Keyword<'_>, value: &Json) -> AssertionResult {
    Some(match keyword {
        Keyword::False => ("false", false),
        Keyword::Type(types) => ("type", types.contains(value)),
        Keyword::Enum(literals) => ("enum", literals.iter().any(|one| one.equals(value))),
        Keyword::Const(literal) => ("const", literal.equals(value)),
        Keyword::MultipleOf(_)
        | Keyword::Maximum(_)
        | Keyword::ExclusiveMaximum(_)
        | Keyword::Minimum(_)
        | Keyword::ExclusiveMinimum(_)
        | Keyword::MaxLength(_)
        | Keyword::MinLength(_)
        | Keyword::Pattern(_)
        | Keyword::Format(_)
        | Keyword::TypedFormat(_)
        | Keyword::MaxItems(_)
        | Keyword::MinItems(_)
        | Keyword::MaxProperties(_)
        | Keyword::MinProperties(_) => ("", true),
        _ => return None,
    })
}

/// Converts a count. The result is capped at `usize::MAX`, because no string is longer.
fn saturating_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
