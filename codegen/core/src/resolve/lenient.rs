//! Lenient conversions of values that have the wrong type but only one possible meaning, such as the string
//! `"12"` where a number is required, or the number `404` where a string is. The callers report each
//! conversion as a fault.

use std::borrow::Cow;

use contract_runtime::Number;

use crate::tree::{DocumentNode, NodeValue};

/// Returns the content of a string, or a number or boolean as it is spelled in the document. Returns `None`
/// for other values.
pub fn coerce_string(tree: &DocumentNode) -> Option<Cow<'_, str>> {
    match &tree.value {
        NodeValue::String(text) | NodeValue::Number(text) => Some(Cow::Borrowed(text)),
        NodeValue::Bool(value) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

/// Returns the value of a boolean, or parses the string `true` or `false`, ignoring case.
pub(super) fn coerce_bool(tree: &DocumentNode) -> Option<bool> {
    match &tree.value {
        NodeValue::Bool(value) => Some(*value),
        NodeValue::String(word) => word.to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

/// Returns the value of a number, or parses one from a string. The string may have forms that YAML's core
/// schema allows but JSON does not (1.2.2, 10.3.2): a leading plus or leading zeros, no digit on one side of
/// the point, hexadecimal and octal. Returns `None` for `.inf` and `.nan`.
pub(super) fn coerce_number(tree: &DocumentNode) -> Option<Number> {
    let text = match &tree.value {
        NodeValue::Number(text) => return Number::parse(text).ok(),
        NodeValue::String(text) => text.trim(),
        _ => return None,
    };
    let (sign, bare) = match text.strip_prefix('-') {
        Some(bare) => ("-", bare),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = bare.strip_prefix(prefix) {
            // `from_str_radix` would accept a second sign.
            let digits = Some(digits).filter(|digits| digits.chars().all(|each| each.is_digit(radix)));
            let value = digits.and_then(|digits| u128::from_str_radix(digits, radix).ok())?;
            return Number::parse(&format!("{sign}{value}")).ok();
        }
    }
    let (mantissa, exponent) = match bare.find(['e', 'E']) {
        Some(at) => bare.split_at_checked(at)?,
        None => (bare, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    let point = if fraction.is_empty() { "" } else { "." };
    Number::parse(&format!("{sign}{whole}{point}{fraction}{exponent}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Span;

    fn tree(value: NodeValue) -> DocumentNode {
        DocumentNode { value, span: Span::default() }
    }

    #[test]
    fn numbers_are_coerced_from_strings() {
        for (text, expected) in [
            ("12", Some("12")),
            ("+12", Some("12")),
            ("007", Some("7")),
            ("-01.50", Some("-1.50")),
            ("0", Some("0")),
            ("00", Some("0")),
            ("0.5", Some("0.5")),
            ("1e3", Some("1e3")),
            ("", None),
            ("+", None),
            ("--1", None),
            ("x", None),
            ("1x", None),
            (".5", Some("0.5")),
            ("-.5e1", Some("-0.5e1")),
            ("1.", Some("1")),
            ("0x1F", Some("31")),
            ("-0o17", Some("-15")),
            ("0x", None),
            ("0x+1", None),
            ("1.2.3", None),
            ("1e", None),
            (".", None),
            (".inf", None),
            (".nan", None),
        ] {
            let found = coerce_number(&tree(NodeValue::String(text.to_owned())));
            assert_eq!(found.map(|number| number.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn booleans_are_coerced_from_strings() {
        for (word, expected) in [("true", Some(true)), ("False", Some(false)), ("yes", None)] {
            assert_eq!(coerce_bool(&tree(NodeValue::String(word.to_owned()))), expected, "{word}");
        }
        assert_eq!(coerce_string(&tree(NodeValue::Bool(true))).as_deref(), Some("true"));
        assert_eq!(coerce_string(&tree(NodeValue::Null)), None);
    }
}
