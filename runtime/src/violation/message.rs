//! English messages of violations, built from the keyword and its value in the schema.
//!
//! A message never contains the invalid value.

/// Describes the violation of a keyword, as the predicate of a sentence about the value: `must be at most 50`.
/// `limit` is the value of the keyword as [`Violation::limit`](super::Violation::limit) has it.
#[must_use]
pub fn violation_message(keyword: &str, limit: Option<&str>) -> String {
    if let Some(message) = limit.and_then(|limit| message_with_limit(keyword, limit)) {
        return message;
    }
    match keyword {
        "required" | "dependentRequired" => "is required",
        "type" => "has a type that is not allowed",
        "enum" => "is none of the allowed values",
        "const" => "is not the required value",
        "minimum" | "exclusiveMinimum" => "is too small",
        "maximum" | "exclusiveMaximum" => "is too large",
        "multipleOf" => "is not a multiple of the allowed unit",
        "minLength" => "is too short",
        "maxLength" => "is too long",
        "pattern" => "does not match the required pattern",
        "format" => "has an invalid format",
        "minItems" | "minContains" => "has too few elements",
        "maxItems" | "maxContains" => "has too many elements",
        "contains" => "lacks a required element",
        "uniqueItems" => "must not have equal elements",
        "minProperties" => "has too few properties",
        "maxProperties" => "has too many properties",
        "additionalProperties" | "unevaluatedProperties" => "is not declared",
        "false" => "is not allowed",
        "items" | "prefixItems" | "unevaluatedItems" => "is an unexpected element",
        "propertyNames" => "has a name that is not allowed",
        "anyOf" => "matches none of the alternatives",
        "oneOf" => "must match exactly one of the alternatives",
        "not" => "matches the excluded schema",
        "depth" | "effort" => "is too large to be validated",
        "unwritable" => "cannot be written as JSON",
        "style" => "cannot be expressed in the style of the parameter",
        "contentMediaType" => "does not have the required media type, or is malformed",
        other => return format!("violates `{other}`"),
    }
    .to_owned()
}

fn message_with_limit(keyword: &str, limit: &str) -> Option<String> {
    Some(match keyword {
        "type" | "const" => format!("must be {limit}"),
        "enum" => format!("must be one of {limit}"),
        "minimum" => format!("must be at least {limit}"),
        "maximum" => format!("must be at most {limit}"),
        "exclusiveMinimum" => format!("must be greater than {limit}"),
        "exclusiveMaximum" => format!("must be less than {limit}"),
        "multipleOf" => format!("must be a multiple of {limit}"),
        "minLength" => format!("must have at least {}", count(limit, "character", "characters")),
        "maxLength" => format!("must have at most {}", count(limit, "character", "characters")),
        "minItems" => format!("must have at least {}", count(limit, "element", "elements")),
        "maxItems" => format!("must have at most {}", count(limit, "element", "elements")),
        "minContains" => {
            format!("must have at least {}", count(limit, "matching element", "matching elements"))
        }
        "maxContains" => {
            format!("must have at most {}", count(limit, "matching element", "matching elements"))
        }
        "minProperties" => format!("must have at least {}", count(limit, "property", "properties")),
        "maxProperties" => format!("must have at most {}", count(limit, "property", "properties")),
        "pattern" => format!("must match the pattern {limit}"),
        "format" => format!("must be a valid {limit}"),
        "anyOf" | "oneOf" => format!("{}; {limit}", violation_message(keyword, None)),
        _ => return None,
    })
}

fn count(limit: &str, one: &str, several: &str) -> String {
    format!("{limit} {}", if limit == "1" { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::violation_message;

    #[test]
    fn messages_contain_the_limit() {
        let check = |keyword, limit: &str, expected: &str| {
            assert_eq!(violation_message(keyword, Some(limit)), expected);
        };
        check("maximum", "50", "must be at most 50");
        check("minLength", "1", "must have at least 1 character");
        check("maxProperties", "3", "must have at most 3 properties");
        check("type", "an integer or null", "must be an integer or null");
        check("enum", "\"a\", \"b\"", "must be one of \"a\", \"b\"");
        check("required", "name", "is required");
    }

    #[test]
    fn messages_without_a_limit_are_complete() {
        let check = |keyword, expected: &str| assert_eq!(violation_message(keyword, None), expected);
        check("maximum", "is too large");
        check("additionalProperties", "is not declared");
        check("x-own", "violates `x-own`");
    }
}
