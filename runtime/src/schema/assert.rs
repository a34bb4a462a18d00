//! The keywords that look at nothing but the value (Validation 6).

use super::Keyword;
use crate::Json;
use crate::Number;
use crate::text;

/// What a keyword that looks at nothing but the value says, with its name;
/// `None` for an applicator.
#[inline(always)]
pub(super) fn assertion(keyword: &Keyword<'_>, value: &Json) -> Option<(&'static str, bool)> {
    let number = |holds: &dyn Fn(&Number) -> bool| match value {
        Json::Number(number) => holds(number),
        _ => true,
    };
    let string = |holds: &dyn Fn(&str) -> bool| match value {
        Json::String(text) => holds(text),
        _ => true,
    };
    let items = |holds: &dyn Fn(u64) -> bool| match value {
        Json::Array(items) => holds(items.len() as u64),
        _ => true,
    };
    let members = |holds: &dyn Fn(u64) -> bool| match value {
        Json::Object(members) => holds(members.len() as u64),
        _ => true,
    };
    Some(match keyword {
        Keyword::False => ("false", false),
        Keyword::Type(types) => ("type", types.contains(value)),
        Keyword::Enum(literals) => ("enum", literals.iter().any(|one| one.equals(value))),
        Keyword::Const(literal) => ("const", literal.equals(value)),
        Keyword::MultipleOf(unit) => ("multipleOf", number(&|n| n.is_multiple_of(unit))),
        Keyword::Maximum(limit) => ("maximum", number(&|n| n <= limit)),
        Keyword::ExclusiveMaximum(limit) => ("exclusiveMaximum", number(&|n| n < limit)),
        Keyword::Minimum(limit) => ("minimum", number(&|n| n >= limit)),
        Keyword::ExclusiveMinimum(limit) => ("exclusiveMinimum", number(&|n| n > limit)),
        Keyword::MaxLength(most) => ("maxLength", string(&|s| text::char_count_at_most(s, size(*most)))),
        Keyword::MinLength(least) => ("minLength", string(&|s| text::char_count_at_least(s, size(*least)))),
        Keyword::Pattern(pattern) => ("pattern", string(&|s| pattern.is_match(s))),
        Keyword::MaxItems(most) => ("maxItems", items(&|len| len <= *most)),
        Keyword::MinItems(least) => ("minItems", items(&|len| len >= *least)),
        Keyword::MaxProperties(most) => ("maxProperties", members(&|len| len <= *most)),
        Keyword::MinProperties(least) => ("minProperties", members(&|len| len >= *least)),
        _ => return None,
    })
}

/// No text is longer than `usize` can say.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
