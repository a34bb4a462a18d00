//! The values of keywords as English text, for messages of violations.

use super::Keyword;
use super::Literal;
use super::Schema;
use super::TypeSet;

/// The maximum number of values of an `enum` that a message lists.
const MAX_LISTED_VALUES: usize = 10;

/// The maximum number of characters of a limit in a message.
const MAX_LIMIT_LENGTH: usize = 200;

/// Returns the value of a keyword of a schema as text: `50`, `an integer or null`. `None` for applicators, for
/// keywords that the schema does not have, and for text that is too long for a message.
pub(super) fn limit_text(schema: &Schema<'_>, keyword: &str) -> Option<String> {
    let text = schema.keywords.iter().find_map(|found| keyword_text(found, keyword))?;
    (text.len() <= MAX_LIMIT_LENGTH).then_some(text)
}

fn keyword_text(keyword_value: &Keyword<'_>, keyword: &str) -> Option<String> {
    Some(match (keyword_value, keyword) {
        (Keyword::Type(types), "type") => type_text(*types),
        (Keyword::Enum(literals), "enum") => enum_text(literals)?,
        (Keyword::Const(literal), "const") => literal_text(literal)?,
        (Keyword::MultipleOf(number), "multipleOf")
        | (Keyword::Maximum(number), "maximum")
        | (Keyword::ExclusiveMaximum(number), "exclusiveMaximum")
        | (Keyword::Minimum(number), "minimum")
        | (Keyword::ExclusiveMinimum(number), "exclusiveMinimum") => number.to_string(),
        (Keyword::MaxLength(count), "maxLength")
        | (Keyword::MinLength(count), "minLength")
        | (Keyword::MaxItems(count), "maxItems")
        | (Keyword::MinItems(count), "minItems")
        | (Keyword::MaxProperties(count), "maxProperties")
        | (Keyword::MinProperties(count), "minProperties")
        | (Keyword::Contains { min: Some(count), .. }, "minContains")
        | (Keyword::Contains { max: Some(count), .. }, "maxContains") => count.to_string(),
        (Keyword::Pattern(pattern), "pattern") => pattern.source.to_owned(),
        (Keyword::Format(format), "format") => format.as_str().to_owned(),
        (Keyword::TypedFormat(format), "format") => format.format.to_owned(),
        _ => return None,
    })
}

/// Returns a set of types as text, such as `an integer or null`.
pub(super) fn type_text(types: TypeSet) -> String {
    let names = [
        (TypeSet::OBJECT, "an object"),
        (TypeSet::ARRAY, "an array"),
        (TypeSet::STRING, "a string"),
        (TypeSet::NUMBER, "a number"),
        (TypeSet::INTEGER, "an integer"),
        (TypeSet::BOOLEAN, "a boolean"),
        (TypeSet::NULL, "null"),
    ];
    let is_redundant = |set| set == TypeSet::INTEGER && types.is_superset(TypeSet::NUMBER);
    let names = names.iter().filter(|(set, _)| types.is_superset(*set) && !is_redundant(*set));
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "absent".to_owned(),
    }
}

fn enum_text(literals: &[Literal<'_>]) -> Option<String> {
    let listed: Option<Vec<String>> = literals.iter().take(MAX_LISTED_VALUES).map(literal_text).collect();
    let more = literals.len().saturating_sub(MAX_LISTED_VALUES);
    let rest = if more > 0 { format!(" and {more} more values") } else { String::new() };
    Some(format!("{}{rest}", listed?.join(", ")))
}

/// Returns a scalar as JSON; `None` for arrays and objects.
fn literal_text(literal: &Literal<'_>) -> Option<String> {
    Some(match literal {
        Literal::Null => "null".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Number(value) => value.to_string(),
        Literal::String(value) => format!("{value:?}"),
        Literal::Array(_) | Literal::Object(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;
    use crate::format::StringFormat;
    use crate::schema::{ResourceId, SchemaId};

    fn text(keyword: Keyword<'_>, name: &str) -> Option<String> {
        limit_text(&Schema { resource: ResourceId(0), location: "", keywords: &[keyword] }, name)
    }

    #[test]
    fn limits_are_english_text() {
        let check = |keyword: Keyword<'_>, name: &str, expected: &str| {
            assert_eq!(text(keyword, name).as_deref(), Some(expected), "{name}");
        };
        check(Keyword::Maximum(Number::from_literal("50")), "maximum", "50");
        check(Keyword::MaxLength(8), "maxLength", "8");
        check(Keyword::Format(StringFormat::DateTime), "format", "date-time");
        check(Keyword::Type(TypeSet::INTEGER), "type", "an integer");
        let types = TypeSet::STRING.union(TypeSet::NUMBER).union(TypeSet::INTEGER).union(TypeSet::NULL);
        check(Keyword::Type(types), "type", "a string, a number or null");
        check(Keyword::Const(Literal::String("a")), "const", "\"a\"");
        check(Keyword::Enum(&[Literal::String("a"), Literal::Null]), "enum", "\"a\", null");
        let many = [const { Literal::Bool(true) }; 12];
        let listed = format!("{} and 2 more values", ["true"; 10].join(", "));
        assert_eq!(text(Keyword::Enum(&many), "enum"), Some(listed));
        check(Keyword::Contains { schema: SchemaId(0), min: Some(2), max: None }, "minContains", "2");
    }

    #[test]
    fn other_keywords_and_long_values_have_no_limit() {
        assert_eq!(text(Keyword::MaxLength(8), "minLength"), None);
        assert_eq!(text(Keyword::Const(Literal::Array(&[])), "const"), None);
        assert_eq!(text(Keyword::Const(Literal::String(&"x".repeat(300))), "const"), None);
    }
}
