//! Parses JSON into document trees with byte ranges, and converts parse errors to diagnostics.
//!
//! The module uses the parser of the runtime, because `serde_json` neither provides spans nor rejects
//! duplicate keys. Duplicate keys and lone surrogates are faults. The parser builds a tree despite them, so
//! that one run reports all faults.

mod jsonc;

use std::{borrow::Cow, ops::Range};

use contract_runtime::{
    Number,
    json::{
        ExpectedToken, JsonError, JsonErrorKind,
        parser::{JsonBuilder, KeyDecision, PathStep, parse_with},
    },
    pointer,
};

use crate::{
    diagnostics::Diagnostic,
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceId, Span},
};

use super::{KeyIndex, MAX_DEPTH, insert_member, span};

/// Parses a document. The tree is `None` after a syntax error. Comments and trailing commas are faults,
/// because their meaning is unambiguous.
pub(crate) fn parse(source: SourceId, text: &str) -> (Option<DocumentNode>, Vec<Diagnostic>) {
    let (error, mut problems) = match parse_strict(source, text) {
        Ok((tree, problems)) => return (Some(tree), problems),
        Err(error) => error,
    };
    if let Some((plain, faults)) = jsonc::remove_extensions(source, text)
        && let Ok((tree, mut found)) = parse_strict(source, &plain)
    {
        found.extend(faults);
        return (Some(tree), found);
    }
    problems.push(syntax_error(source, text, &error));
    (None, problems)
}

/// Parses JSON without comments and trailing commas. On a syntax error, returns `Err` with all problems.
fn parse_strict(
    source: SourceId,
    text: &str,
) -> Result<(DocumentNode, Vec<Diagnostic>), (JsonError, Vec<Diagnostic>)> {
    let mut trees = JsonTreeBuilder { source, pointer: String::new(), problems: Vec::new() };
    match parse_with(text, MAX_DEPTH, &mut trees) {
        Ok(tree) => Ok((tree, trees.problems)),
        Err(error) => Err((error, trees.problems)),
    }
}

/// A builder of [`DocumentNode`]s from parser events.
struct JsonTreeBuilder {
    source: SourceId,
    /// The pointer of the value that is being parsed.
    pointer: String,
    problems: Vec<Diagnostic>,
}

/// The members of an object that is being parsed.
#[derive(Default)]
struct ObjectBuilder {
    members: Vec<ObjectMember>,
    seen: KeyIndex,
    /// If the current key is a duplicate, the index of the first member with this key, whose value is
    /// replaced.
    again: Option<usize>,
}

impl JsonTreeBuilder {
    fn place(&self, span: Span) -> DocumentLocation {
        DocumentLocation { source: self.source, pointer: self.pointer.clone(), span }
    }
}

fn new_node(value: NodeValue, at: Range<usize>) -> DocumentNode {
    DocumentNode { value, span: span(at.start, at.end) }
}

impl JsonBuilder for JsonTreeBuilder {
    type Value = DocumentNode;
    type Array = Vec<DocumentNode>;
    type Object = ObjectBuilder;

    fn build_null(&mut self, at: Range<usize>) -> DocumentNode {
        new_node(NodeValue::Null, at)
    }

    fn build_bool(&mut self, value: bool, at: Range<usize>) -> DocumentNode {
        new_node(NodeValue::Bool(value), at)
    }

    fn build_number(&mut self, text: &str, at: Range<usize>) -> Option<DocumentNode> {
        Number::parse(text).is_ok().then(|| new_node(NodeValue::Number(text.to_owned()), at))
    }

    fn build_string(&mut self, text: String, at: Range<usize>) -> DocumentNode {
        new_node(NodeValue::String(text), at)
    }

    fn push_element(&mut self, array: &mut Vec<DocumentNode>, value: DocumentNode) {
        array.push(value);
    }

    fn finish_array(&mut self, array: Vec<DocumentNode>, at: Range<usize>) -> DocumentNode {
        new_node(NodeValue::Array(array), at)
    }

    fn check_key(&mut self, object: &mut ObjectBuilder, key: &str, at: Range<usize>) -> KeyDecision {
        object.again = object.seen.find(key, &object.members);
        if let Some(member) = object.again.and_then(|at| object.members.get(at)) {
            let place = self.place(span(at.start, at.end));
            let earlier = DocumentLocation { span: member.key_span, ..place.clone() };
            let problem = Diagnostic::error("duplicate-key", format!("duplicate key `{key}`"));
            self.problems.push(
                problem
                    .with_place(place)
                    .with_label(earlier, "and here")
                    .with_fallback("the last one is used"),
            );
        }
        KeyDecision::Accepted
    }

    fn insert_member(
        &mut self,
        object: &mut ObjectBuilder,
        key: Cow<'_, str>,
        at: Range<usize>,
        value: DocumentNode,
    ) {
        let member = ObjectMember { key: key.into_owned(), key_span: span(at.start, at.end), value };
        insert_member(&mut object.members, member, object.again.take());
    }

    fn finish_object(&mut self, object: ObjectBuilder, at: Range<usize>) -> DocumentNode {
        new_node(NodeValue::Object(object.members), at)
    }

    fn replace_lone_surrogate(&mut self, code: u32, at: Range<usize>) -> Option<char> {
        // Parsers handle lone surrogates in unpredictable ways (RFC 8259, 8.2).
        let message = format!("`\\u{code:04x}` is half of a surrogate pair");
        let place = self.place(span(at.start, at.end));
        let problem = Diagnostic::error("encoding", message).with_place(place);
        self.problems.push(problem.with_fallback("it is read as U+FFFD"));
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn enter_value(&mut self, step: PathStep<'_>) {
        match step {
            PathStep::Index(index) => pointer::push_index_token(&mut self.pointer, index),
            PathStep::Member(name) => pointer::push_token(&mut self.pointer, name),
        }
    }

    fn leave_value(&mut self) {
        self.pointer.truncate(self.pointer.rfind('/').unwrap_or(0));
    }
}

/// Converts a parse error to a diagnostic.
fn syntax_error(source: SourceId, text: &str, error: &JsonError) -> Diagnostic {
    let mut at = error.offset;
    let mut pointer = error.pointer.as_str();
    let mut code = "syntax";
    let message = match (error.kind, error.expected) {
        (JsonErrorKind::TooDeep, _) => {
            code = "depth";
            format!("nested deeper than {MAX_DEPTH} levels")
        }
        (JsonErrorKind::ControlCharacter, _) => {
            "unescaped control character in a string: write it as an escape".to_owned()
        }
        (JsonErrorKind::InvalidEscape, _) if text[at..].starts_with("\\u") => {
            "`\\u` requires four hexadecimal digits".to_owned()
        }
        (JsonErrorKind::InvalidEscape, _) => "invalid escape in a JSON string".to_owned(),
        (_, Some(ExpectedToken::ClosingQuote { opened })) => {
            at = opened;
            "unterminated string".to_owned()
        }
        (kind, expected) => {
            let word = word_at(text, at);
            // A token that starts like a number or literal is reported in full.
            let inside = word.start < at && (at < word.end || expected == Some(ExpectedToken::Value));
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
                "unexpected text after the end of the document".to_owned()
            } else if let Some(comma) = trailing_comma(text, at, expected) {
                at = comma;
                pointer = pointer.rsplit_once('/').map_or("", |(around, _)| around);
                "JSON does not allow trailing commas".to_owned()
            } else {
                let expected = describe_expected(expected);
                match text[at..].chars().next() {
                    None => format!("unexpected end of the document: expected {expected}"),
                    Some(found) => format!("unexpected `{}`: expected {expected}", found.escape_debug()),
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
    let place = DocumentLocation { source, pointer: pointer.to_owned(), span: span(at, at + length) };
    let problem = Diagnostic::error(code, message).with_place(place);
    let help = match rest.as_bytes() {
        _ if error.expected.is_none() => None,
        [b'\'', ..] => Some("write JSON strings in double quotes"),
        [b'/', b'/' | b'*', ..] | [b'#', ..] => Some("JSON has no comments; use `$comment`"),
        [b'N', ..] | [b'I', ..] => Some("JSON has neither NaN nor Infinity"),
        _ => None,
    };
    if let Some(help) = help { problem.help(help) } else { problem }
}

/// Returns the range of the word or number around the byte offset `at`.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'+' | b'-');
    let before = bytes[..at].iter().rev().take_while(|byte| part(byte)).count();
    let behind = bytes[at..].iter().take_while(|byte| part(byte)).count();
    at - before..at + behind
}

/// Returns the offset of the comma before `at` if it is a trailing comma: the parser stopped at the end of an
/// array or object because it expected another element or key.
fn trailing_comma(text: &str, at: usize, expected: Option<ExpectedToken>) -> Option<usize> {
    let close = match expected? {
        ExpectedToken::Value => ']',
        ExpectedToken::Key => '}',
        _ => return None,
    };
    let before = text[..at].trim_ascii_end();
    (text[at..].starts_with(close) && before.ends_with(',')).then(|| before.len() - 1)
}

const fn describe_expected(expected: Option<ExpectedToken>) -> &'static str {
    match expected {
        Some(ExpectedToken::Key) => "a key in double quotes",
        Some(ExpectedToken::Colon) => "`:`",
        Some(ExpectedToken::NextElement) => "`,` or `]`",
        Some(ExpectedToken::NextMember) => "`,` or `}`",
        _ => "a value",
    }
}
