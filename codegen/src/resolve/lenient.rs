//! What a value of the wrong kind can only mean: `"12"` where a number stands, `404` where a text
//! does. Readers say that they took it so.

use std::borrow::Cow;

use contract_runtime::Number;

use crate::tree::{Tree, Value};

/// A text, or the text of what needs no quotes to be one.
pub(crate) fn text(tree: &Tree) -> Option<Cow<'_, str>> {
    match &tree.value {
        Value::String(text) | Value::Number(text) => Some(Cow::Borrowed(text)),
        Value::Bool(value) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

/// A boolean, or its word.
pub(super) fn flag(tree: &Tree) -> Option<bool> {
    match &tree.value {
        Value::Bool(value) => Some(*value),
        Value::String(word) => word.to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

/// A number, or its text, with what JSON has no place for and YAML's core schema has (1.2.2,
/// 10.3.2): a plus, zeros in front, no digit on one side of the point, hexadecimal and octal.
/// `.inf` and `.nan` are no numbers.
pub(super) fn number(tree: &Tree) -> Option<Number> {
    let text = match &tree.value {
        Value::Number(text) => return Number::parse(text).ok(),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    let (sign, bare) = match text.strip_prefix('-') {
        Some(bare) => ("-", bare),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = bare.strip_prefix(prefix) {
            // Another sign would be read by the parser of digits.
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

    fn tree(value: Value) -> Tree {
        Tree { value, span: Span::default() }
    }

    #[test]
    fn numbers_are_read_from_texts() {
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
            let found = number(&tree(Value::String(text.to_owned())));
            assert_eq!(found.map(|number| number.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn words_are_booleans() {
        for (word, expected) in [("true", Some(true)), ("False", Some(false)), ("yes", None)] {
            assert_eq!(flag(&tree(Value::String(word.to_owned()))), expected, "{word}");
        }
        assert_eq!(text(&tree(Value::Bool(true))).as_deref(), Some("true"));
        assert_eq!(text(&tree(Value::Null)), None);
    }
}
