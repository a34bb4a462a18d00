//! What a value of the wrong kind can only mean: `"12"` where a number stands, `404` where a text
//! does. Readers say that they took it so.

use std::borrow::Cow;

use contract_runtime::Number;

use crate::tree::{Tree, Value};

/// A text, or the text of what needs no quotes to be one.
pub(super) fn text(tree: &Tree) -> Option<Cow<'_, str>> {
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

/// A number, or its text, with the sign and the zeros that JSON has no place for.
pub(super) fn number(tree: &Tree) -> Option<Number> {
    match &tree.value {
        Value::Number(text) => Number::parse(text).ok(),
        Value::String(text) => {
            let text = text.trim();
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", text.strip_prefix('+').unwrap_or(text)),
            };
            let bare = digits.trim_start_matches('0');
            let zero = if bare.starts_with(|first: char| first.is_ascii_digit()) { "" } else { "0" };
            let is_written = digits.starts_with(|first: char| first.is_ascii_digit());
            is_written.then(|| Number::parse(&format!("{sign}{zero}{bare}")).ok()).flatten()
        }
        _ => None,
    }
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
            (".5", None),
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
