//! The keywords that look at nothing but the value (Validation 6), by what the value is.

use super::Keyword;
use super::Literal;
use super::Types;
use crate::Json;
use crate::Map;
use crate::Number;
use crate::text;

/// The name of a keyword, and whether it holds; `None` for an applicator.
pub(super) type Said = Option<(&'static str, bool)>;

/// What a keyword that looks at nothing but the value says, with its name; `None` for an
/// applicator.
#[inline(never)]
pub(super) fn assertion(keyword: &Keyword<'_>, value: &Json) -> Said {
    match value {
        Json::Null | Json::Bool(_) => of_any(keyword, value),
        Json::Number(number) => of_number(keyword, value, number),
        Json::String(text) => of_text(keyword, value, text),
        Json::Array(items) => of_items(keyword, value, items),
        Json::Object(members) => of_members(keyword, value, members),
    }
}

#[inline(always)]
pub(super) fn of_number(keyword: &Keyword<'_>, value: &Json, number: &Number) -> Said {
    Some(match keyword {
        Keyword::Type(types) => {
            ("type", types.has(Types::NUMBER) || types.has(Types::INTEGER) && number.is_integer())
        }
        Keyword::MultipleOf(unit) => ("multipleOf", number.is_multiple_of(unit)),
        Keyword::Maximum(limit) => ("maximum", number <= limit),
        Keyword::ExclusiveMaximum(limit) => ("exclusiveMaximum", number < limit),
        Keyword::Minimum(limit) => ("minimum", number >= limit),
        Keyword::ExclusiveMinimum(limit) => ("exclusiveMinimum", number > limit),
        _ => return of_any(keyword, value),
    })
}

#[inline(always)]
pub(super) fn of_text(keyword: &Keyword<'_>, value: &Json, text: &str) -> Said {
    Some(match keyword {
        Keyword::Type(types) => ("type", types.has(Types::STRING)),
        Keyword::Enum(literals) => ("enum", is_among(literals, text)),
        Keyword::Const(literal) => {
            ("const", matches!(literal, Literal::String(own) if text::same(own, text)))
        }
        Keyword::MaxLength(most) => ("maxLength", text::char_count_at_most(text, size(*most))),
        Keyword::MinLength(least) => ("minLength", text::char_count_at_least(text, size(*least))),
        Keyword::Pattern(pattern) => ("pattern", pattern.is_match(text)),
        Keyword::Format(format) => ("format", format.is_match(text)),
        Keyword::Parse(parse) => ("format", (parse.is_match)(text)),
        _ => return of_any(keyword, value),
    })
}

#[inline(never)]
fn is_among(literals: &[Literal<'_>], text: &str) -> bool {
    literals.iter().any(|literal| matches!(literal, Literal::String(own) if text::same(own, text)))
}

#[inline(always)]
pub(super) fn of_items(keyword: &Keyword<'_>, value: &Json, items: &[Json]) -> Said {
    Some(match keyword {
        Keyword::Type(types) => ("type", types.has(Types::ARRAY)),
        Keyword::MaxItems(most) => ("maxItems", items.len() as u64 <= *most),
        Keyword::MinItems(least) => ("minItems", items.len() as u64 >= *least),
        _ => return of_any(keyword, value),
    })
}

#[inline(always)]
pub(super) fn of_members(keyword: &Keyword<'_>, value: &Json, members: &Map<Json>) -> Said {
    Some(match keyword {
        Keyword::Type(types) => ("type", types.has(Types::OBJECT)),
        Keyword::MaxProperties(most) => ("maxProperties", members.len() as u64 <= *most),
        Keyword::MinProperties(least) => ("minProperties", members.len() as u64 >= *least),
        _ => return of_any(keyword, value),
    })
}

/// The keywords of every type; those of another one hold.
#[inline(always)]
pub(super) fn of_any(keyword: &Keyword<'_>, value: &Json) -> Said {
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
        | Keyword::Parse(_)
        | Keyword::MaxItems(_)
        | Keyword::MinItems(_)
        | Keyword::MaxProperties(_)
        | Keyword::MinProperties(_) => ("", true),
        _ => return None,
    })
}

/// No text is longer than `usize` can say.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
