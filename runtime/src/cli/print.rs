//! Formats values for display in terminals.
//!
//! Data from servers cannot move the cursor, because control characters and characters that change the text
//! direction are escaped in JSON and replaced in plain text.

use std::io::{self, Write};

use crate::Json;

/// Writes all bytes. A closed pipe is not an error.
pub(super) fn write_all(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Returns true for characters that affect the terminal or the text direction.
fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces control characters other than line breaks and tabs.
pub(super) fn escape_text(text: &str) -> String {
    let harmless = |letter| !is_control(letter) || letter == '\n' || letter == '\t';
    text.chars().map(|letter| if harmless(letter) { letter } else { '\u{fffd}' }).collect()
}

/// Formats a document as one line of JSON.
pub(super) fn to_compact(json: &Json) -> String {
    escape_json(&json.to_string())
}

/// Escapes control characters. Outside of strings, JSON contains no control characters except white space.
fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\u{7f}'.. if is_control(letter) => out += &format!("\\u{:04x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out
}

/// Formats a document as YAML.
pub(super) fn to_yaml(json: &Json) -> String {
    let mut out = String::new();
    write_block(json, 0, &mut out);
    out
}

/// Writes a value as YAML. The caller has already indented the first line.
fn write_block(json: &Json, indent: usize, out: &mut String) {
    let mut begun = true;
    let mut begin = |out: &mut String| {
        if !std::mem::take(&mut begun) {
            out.extend(std::iter::repeat_n(' ', indent));
        }
    };
    match json {
        Json::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                begin(out);
                out.push_str(&format_scalar(name));
                out.push(':');
                if is_plain(value) {
                    out.push(' ');
                    write_block(value, indent, out);
                } else {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indent + 2));
                    write_block(value, indent + 2, out);
                }
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for item in items {
                begin(out);
                out.push_str("- ");
                write_block(item, indent + 2, out);
            }
        }
        Json::String(string) => {
            out.push_str(&format_scalar(string));
            out.push('\n');
        }
        other => {
            out.push_str(&other.to_string());
            out.push('\n');
        }
    }
}

/// Returns true if the value is written on the same line as its key.
fn is_plain(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => true,
    }
}

/// Formats a string without quotes if YAML cannot read it as another type, or else as a JSON string.
fn format_scalar(text: &str) -> String {
    const WORDS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "nan"];
    let sign = |letter: char| " _-./@+,()':".contains(letter);
    let plain = text.starts_with(char::is_alphabetic)
        && text.chars().all(|letter| letter.is_alphanumeric() || sign(letter))
        && !(text.contains(": ") || text.ends_with([' ', ':']))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if plain { text.to_owned() } else { to_compact(&Json::from(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        assert_eq!(to_yaml(&Json::parse(json.as_bytes()).unwrap()), expect);
    }

    #[test]
    fn documents_are_printed_in_lines() {
        check(
            r#"{"name":"Anna Lee","seat":7,"fare":{"price":12.30,"kind":"full"},"tags":["a","b: c"],"none":[],"rest":{}}"#,
            "name: Anna Lee\nseat: 7\nfare:\n  price: 12.30\n  kind: full\ntags:\n  - a\n  - \"b: c\"\nnone: []\nrest: {}\n",
        );
        check(
            r#"[{"id":"1","to":{"a":null}},{"id":"true"},[1,[2]],[]]"#,
            "- id: \"1\"\n  to:\n    a: null\n- id: \"true\"\n- - 1\n  - - 2\n- []\n",
        );
        check("\"x\"", "x\n");
    }

    #[test]
    fn control_characters_are_escaped() {
        check("{\"a\":\"x\u{9b}31m\u{202e}\\u001b\"}", "a: \"x\\u009b31m\\u202e\\u001b\"\n");
        assert_eq!(escape_text("a\u{1b}[2J\tb\n\u{2066}"), "a\u{fffd}[2J\tb\n\u{fffd}");
        assert_eq!(to_compact(&Json::from("\u{7f}")), "\"\\u007f\"");
    }
}
