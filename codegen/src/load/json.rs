//! JSON as trees: the runtime's reader, with every value's place, and its refusals as diagnostics.
//!
//! `serde_json` neither keeps spans nor refuses duplicate keys, and both matter here. Duplicate
//! keys and lone surrogates are errors that leave a tree, so that one run shows all of them.

use std::{borrow::Cow, ops::Range};

use contract_runtime::{
    Number,
    json::{
        Expected, JsonError, JsonErrorKind,
        text::{Build, Key, Step, build},
    },
    pointer,
};

use crate::{
    diagnostics::Diagnostic,
    tree::{Member, Place, SourceId, Span, Tree, Value},
};

use super::{MAX_DEPTH, Seen, put, span};

/// Reads a whole document. The tree is missing when the text cannot be read any further.
pub(crate) fn parse(source: SourceId, text: &str) -> (Option<Tree>, Vec<Diagnostic>) {
    let mut trees = Trees { source, pointer: String::new(), problems: Vec::new() };
    match build(text, MAX_DEPTH, &mut trees) {
        Ok(tree) => (Some(tree), trees.problems),
        Err(error) => {
            trees.problems.push(refusal(source, text, &error));
            (None, trees.problems)
        }
    }
}

/// Makes [`Tree`]s.
struct Trees {
    source: SourceId,
    /// Of the value that is being read.
    pointer: String,
    problems: Vec<Diagnostic>,
}

/// An object that is being read.
#[derive(Default)]
struct Members {
    members: Vec<Member>,
    seen: Seen,
    /// Which member has the last key already; its value takes the place of the earlier one.
    again: Option<usize>,
}

impl Trees {
    fn place(&self, span: Span) -> Place {
        Place { source: self.source, pointer: self.pointer.clone(), span }
    }
}

fn tree(value: Value, at: Range<usize>) -> Tree {
    Tree { value, span: span(at.start, at.end) }
}

impl Build for Trees {
    type Value = Tree;
    type Array = Vec<Tree>;
    type Object = Members;

    fn null(&mut self, at: Range<usize>) -> Tree {
        tree(Value::Null, at)
    }

    fn boolean(&mut self, value: bool, at: Range<usize>) -> Tree {
        tree(Value::Bool(value), at)
    }

    fn number(&mut self, text: &str, at: Range<usize>) -> Option<Tree> {
        Number::parse(text).is_ok().then(|| tree(Value::Number(text.to_owned()), at))
    }

    fn string(&mut self, text: String, at: Range<usize>) -> Tree {
        tree(Value::String(text), at)
    }

    fn element(&mut self, array: &mut Vec<Tree>, value: Tree) {
        array.push(value);
    }

    fn array(&mut self, array: Vec<Tree>, at: Range<usize>) -> Tree {
        tree(Value::Array(array), at)
    }

    fn key(&mut self, object: &mut Members, key: &str, at: Range<usize>) -> Key {
        object.again = object.seen.find(key, &object.members);
        if let Some(member) = object.again.and_then(|at| object.members.get(at)) {
            let place = self.place(span(at.start, at.end));
            let earlier = Place { span: member.key_span, ..place.clone() };
            let problem = Diagnostic::error("duplicate-key", format!("the key `{key}` is here twice"));
            self.problems.push(problem.at(place).label(earlier, "and here").mended("the last counts"));
        }
        Key::Taken
    }

    fn member(&mut self, object: &mut Members, key: Cow<'_, str>, at: Range<usize>, value: Tree) {
        let member = Member { key: key.into_owned(), key_span: span(at.start, at.end), value };
        put(&mut object.members, member, object.again.take());
    }

    fn object(&mut self, object: Members, at: Range<usize>) -> Tree {
        tree(Value::Object(object.members), at)
    }

    fn lone_surrogate(&mut self, code: u32, at: Range<usize>) -> Option<char> {
        // RFC 8259, 8.2: unpredictable elsewhere, so refused here.
        let message = format!("`\\u{code:04x}` is half of a surrogate pair");
        let place = self.place(span(at.start, at.end));
        let problem = Diagnostic::error("encoding", message).at(place);
        self.problems.push(problem.mended("it is read as U+FFFD"));
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn enter(&mut self, step: Step<'_>) {
        match step {
            Step::Item(index) => pointer::push_index(&mut self.pointer, index),
            Step::Member(name) => pointer::push(&mut self.pointer, name),
        }
    }

    fn leave(&mut self) {
        self.pointer.truncate(self.pointer.rfind('/').unwrap_or(0));
    }
}

/// Why a text is no JSON, for the people who wrote it.
fn refusal(source: SourceId, text: &str, error: &JsonError) -> Diagnostic {
    let mut at = error.offset;
    let mut pointer = error.pointer.as_str();
    let mut code = "syntax";
    let message = match (error.kind, error.expected) {
        (JsonErrorKind::TooDeep, _) => {
            code = "depth";
            format!("nested deeper than {MAX_DEPTH} levels")
        }
        (JsonErrorKind::ControlCharacter, _) => {
            "a control character in a string: write it as an escape".to_owned()
        }
        (JsonErrorKind::InvalidEscape, _) if text[at..].starts_with("\\u") => {
            "`\\u` wants four hexadecimal digits".to_owned()
        }
        (JsonErrorKind::InvalidEscape, _) => "JSON has no such escape".to_owned(),
        (_, Some(Expected::Quote { opened })) => {
            at = opened;
            "a string without an end".to_owned()
        }
        (kind, expected) => {
            let word = word_at(text, at);
            // What begins like a word of JSON and goes on as none is wrong as a whole.
            let inside = word.start < at && (at < word.end || expected == Some(Expected::Value));
            if kind == JsonErrorKind::InvalidNumber || inside {
                at = word.start;
                let kind = if text[at..].starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    "number"
                } else {
                    "value"
                };
                format!("`{}` is not a JSON {kind}", &text[word])
            } else if text[..at].trim_ascii().is_empty() && kind == JsonErrorKind::UnexpectedEnd {
                "the document is empty".to_owned()
            } else if kind == JsonErrorKind::TrailingCharacters {
                "text after the end of the document".to_owned()
            } else if let Some(comma) = trailing_comma(text, at, expected) {
                at = comma;
                pointer = pointer.rsplit_once('/').map_or("", |(around, _)| around);
                "JSON has no trailing commas".to_owned()
            } else {
                let expected = words(expected);
                match text[at..].chars().next() {
                    None => format!("the document ends where {expected} should stand"),
                    Some(found) => format!("`{}` where {expected} should stand", found.escape_debug()),
                }
            }
        }
    };
    let rest = &text[at..];
    let length = if message.ends_with("JSON number") || message.ends_with("JSON value") {
        word_at(text, at).len()
    } else {
        rest.chars().next().map_or(0, char::len_utf8)
    };
    let place = Place { source, pointer: pointer.to_owned(), span: span(at, at + length) };
    let problem = Diagnostic::error(code, message).at(place);
    let help = match rest.as_bytes() {
        _ if error.expected.is_none() => None,
        [b'\'', ..] => Some("JSON strings stand in double quotes"),
        [b'/', b'/' | b'*', ..] | [b'#', ..] => Some("JSON has no comments; use `$comment`"),
        [b'N', ..] | [b'I', ..] => Some("JSON has neither NaN nor Infinity"),
        _ => None,
    };
    if let Some(help) = help { problem.help(help) } else { problem }
}

/// The letters, digits and signs of numbers around a byte.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'+' | b'-');
    let before = bytes[..at].iter().rev().take_while(|byte| part(byte)).count();
    let behind = bytes[at..].iter().take_while(|byte| part(byte)).count();
    at - before..at + behind
}

/// The comma behind which a list ends.
fn trailing_comma(text: &str, at: usize, expected: Option<Expected>) -> Option<usize> {
    let close = match expected? {
        Expected::Value => ']',
        Expected::Key => '}',
        _ => return None,
    };
    let before = text[..at].trim_ascii_end();
    (text[at..].starts_with(close) && before.ends_with(',')).then(|| before.len() - 1)
}

const fn words(expected: Option<Expected>) -> &'static str {
    match expected {
        Some(Expected::Key) => "a key in double quotes",
        Some(Expected::Colon) => "`:`",
        Some(Expected::NextElement) => "`,` or `]`",
        Some(Expected::NextMember) => "`,` or `}`",
        _ => "a value",
    }
}
