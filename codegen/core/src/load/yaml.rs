//! Parses YAML 1.2 as JSON, with the types of the core schema.
//!
//! Constructs that YAML versions or parsers interpret differently are faults with a fallback. Numbers such as
//! `012`, `0x1F`, `+1`, `.5` and `.inf` become strings, which are converted to numbers where a keyword
//! requires a number (`resolve::lenient`). A merge key `<<` is expanded, and tags are ignored.
//!
//! A *shallow* line is a line of a flow collection or quoted scalar that is indented less than YAML requires.

mod brackets;
mod fold;

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use crate::{
    diagnostics::Diagnostic,
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceId, Span, join_token},
};

use self::{
    brackets::{JoinReason, JoinedText, Lookahead},
    fold::remove_fillers,
};

use super::{KeyIndex, MAX_DEPTH, insert_member};

/// The maximum number of values that anchors and aliases may add to a document.
const MAX_EXPANDED: usize = 200_000;

/// The number of bytes of a string that are counted as one value.
const BYTES_PER_VALUE: usize = 64;

/// The maximum number of times that one document with shallow lines is parsed. `MAX_REREAD_BYTES` limits the
/// total number of bytes that are parsed.
const MAX_READINGS: usize = 1_000;
const MAX_REREAD_BYTES: usize = 256 << 20;

/// The errors that the parser returns only for shallow lines in flow collections.
const FLOW_INDENTATION_ERRORS: [&str; 2] = ["invalid indentation", "invalid indentation in flow construct"];
/// The error that the parser returns for a quoted scalar with a shallow line, at the opening quote.
const QUOTED_INDENTATION_ERROR: &str = "invalid indentation in quoted scalar";

/// Parses a document. The tree is `None` after a syntax error.
pub(crate) fn parse(source: SourceId, text: &str) -> (Option<DocumentNode>, Vec<Diagnostic>) {
    let found = read_document(source, text, Lookahead::Enabled)
        .or_else(|| read_document(source, text, Lookahead::Disabled));
    found.unwrap_or_default()
}

/// Parses a document. If a shallow line stops the parser, the line is joined or folded, and the document is
/// parsed again. With `Lookahead::Enabled`, further shallow lines are joined before the parser reaches them.
/// Returns `None` if this joined a line of a block scalar; the caller must then parse with
/// `Lookahead::Disabled`.
fn read_document(
    source: SourceId,
    text: &str,
    ahead: Lookahead,
) -> Option<(Option<DocumentNode>, Vec<Diagnostic>)> {
    let most = (MAX_REREAD_BYTES / text.len().max(1)).clamp(1, MAX_READINGS);
    let mut joined = JoinedText::new(text);
    for left in (0..most).rev() {
        let ParseAttempt { tree, problems, places, shallow, is_wrong_join } = parse_attempt(source, &joined);
        if is_wrong_join {
            return None;
        }
        let changes = |shallow: ShallowLine| match shallow {
            ShallowLine::Brackets(at) => joined.join_lines(at, ahead),
            ShallowLine::Text(at) => joined.fold_quoted(at),
        };
        if shallow.filter(|_| left > 0).is_some_and(changes) {
            continue;
        }
        let fault = |(place, by)| {
            let message = match by {
                JoinReason::Fold => "the lines of a quoted string must be indented more than its key",
                JoinReason::Parser | JoinReason::Look => {
                    "lines in brackets must be indented more than their key"
                }
            };
            Diagnostic::error("syntax", message)
                .with_place(place)
                .with_fallback("it is read as if it were indented")
        };
        return Some((tree, places.into_iter().map(fault).chain(problems).collect()));
    }
    None
}

/// The result of one attempt to parse a document.
#[derive(Default)]
struct ParseAttempt {
    tree: Option<DocumentNode>,
    problems: Vec<Diagnostic>,
    /// The locations of the lines that were joined before the attempt, with the reason for each.
    places: Vec<(DocumentLocation, JoinReason)>,
    shallow: Option<ShallowLine>,
    /// True if the lookahead joined a line that is part of a block scalar.
    is_wrong_join: bool,
}

/// The offset at which the parser stopped because of a shallow line.
#[derive(Clone, Copy, Debug)]
enum ShallowLine {
    /// A line in a flow collection. The offset is that of the first character of the line.
    Brackets(usize),
    /// A line in a quoted scalar. The offset is that of the opening quote.
    Text(usize),
}

fn parse_attempt(source: SourceId, joined: &JoinedText) -> ParseAttempt {
    let text = joined.text.as_str();
    let mut found = ParseAttempt::default();
    let mut waiting = joined.at.iter().peekable();
    let mut builder = YamlTreeBuilder {
        source,
        offsets: CharOffsets::new(text),
        text,
        stack: Vec::new(),
        anchors: HashMap::new(),
        expanded: 0,
        root: None,
        problems: Vec::new(),
    };
    let mut parser = Parser::new_from_str(text);
    let mut documents = 0;
    while let Some(next) = parser.next_event() {
        let outcome = match next {
            Err(error) => {
                let at = builder.offsets.byte(error.marker());
                let message = error.info().to_owned();
                found.shallow = match message.as_str() {
                    QUOTED_INDENTATION_ERROR => Some(ShallowLine::Text(at)),
                    message => {
                        FLOW_INDENTATION_ERRORS.contains(&message).then_some(ShallowLine::Brackets(at))
                    }
                };
                Err(Box::new(
                    Diagnostic::error("syntax", message).with_place(builder.place(super::span(at, at))),
                ))
            }
            Ok((Event::StreamEnd, _)) => break,
            Ok((Event::DocumentStart(_), span)) => {
                documents += 1;
                let span = builder.span(span);
                if documents > 1 {
                    let problem =
                        builder.diagnostic("unsupported", span, "the file contains a second YAML document");
                    builder.problems.push(problem.with_fallback("the first one is used"));
                    break;
                }
                Ok(())
            }
            Ok((event, span)) => {
                let span = builder.span(span);
                let (start, end) = (span.start as usize, span.end as usize);
                while let Some(&(at, by)) = waiting.next_if(|(at, _)| *at < end.max(start + 1)) {
                    let is_text = matches!(event, Event::Scalar(..));
                    found.is_wrong_join |=
                        by == JoinReason::Look && is_text && (start + 1..end).contains(&at);
                    found.places.push((builder.place(super::span(at, at + 1)), by));
                }
                let event = match event {
                    // In a scalar that was not folded, the filler characters are part of the value.
                    Event::Scalar(text, style, anchor, tag)
                        if joined.is_folded(start..end.max(start + 1)) =>
                    {
                        Event::Scalar(remove_fillers(text), style, anchor, tag)
                    }
                    event => event,
                };
                builder.handle_event(event, span)
            }
        };
        if let Err(problem) = outcome {
            builder.problems.push(*problem);
            return ParseAttempt { problems: builder.problems, ..found };
        }
    }
    if builder.root.is_none() {
        let problem = builder.diagnostic("syntax", Span::default(), "the document is empty");
        builder.problems.push(*problem);
    }
    ParseAttempt { tree: builder.root, problems: builder.problems, shallow: None, ..found }
}

/// A converter from the character offsets of the parser to byte offsets.
struct CharOffsets {
    /// The byte offset of each character; empty for ASCII text.
    bytes: Vec<u32>,
    length: usize,
}

impl CharOffsets {
    fn new(text: &str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect()
        };
        Self { bytes, length: text.len() }
    }

    fn byte(&self, marker: &Marker) -> usize {
        if self.bytes.is_empty() {
            return marker.index().min(self.length);
        }
        self.bytes.get(marker.index()).map_or(self.length, |at| *at as usize)
    }
}

enum OpenCollection {
    Sequence {
        anchor: usize,
        start: u32,
        elements: Vec<DocumentNode>,
        height: usize,
    },
    Mapping {
        anchor: usize,
        start: u32,
        members: Vec<ObjectMember>,
        /// The values of the merge keys `<<` in the mapping.
        merged: Vec<DocumentNode>,
        seen: KeyIndex,
        key: Option<MappingKey>,
        height: usize,
    },
}

struct MappingKey {
    text: String,
    span: Span,
    is: KeyKind,
}

/// The kind of a mapping key.
#[derive(Clone, Copy, PartialEq)]
enum KeyKind {
    New,
    /// A duplicate of an earlier key. The index is that of the earlier member, whose value is replaced.
    Duplicate(usize),
    /// The merge key `<<`. The members of its value are added to the mapping.
    Merge,
    /// A collection that is used as a key and is still being parsed.
    ComplexKey,
    /// The state after a complex key: the value that follows is discarded.
    DiscardedValue,
}

/// A value with an anchor, its size and its depth. Each alias counts both towards the limits of the document.
struct AnchoredValue {
    tree: DocumentNode,
    size: usize,
    height: usize,
}

struct YamlTreeBuilder<'a> {
    source: SourceId,
    offsets: CharOffsets,
    text: &'a str,
    stack: Vec<OpenCollection>,
    anchors: HashMap<usize, AnchoredValue>,
    expanded: usize,
    root: Option<DocumentNode>,
    problems: Vec<Diagnostic>,
}

type YamlResult<T> = Result<T, Box<Diagnostic>>;

impl YamlTreeBuilder<'_> {
    fn handle_event(&mut self, event: Event<'_>, span: Span) -> YamlResult<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.as_deref().is_some_and(|tag| tag.suffix == "str");
                self.ignore_tag(tag.as_deref(), span, is_text);
                let plain = matches!(style, ScalarStyle::Plain) && !is_text;
                if self.expects_key() {
                    return self.add_key(text.into_owned(), plain, span);
                }
                let value = if plain {
                    self.resolve_plain_scalar(&text, span)
                } else {
                    NodeValue::String(text.into_owned())
                };
                self.finish_value(DocumentNode { value, span }, anchor, 0)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open_collection(tag.as_deref(), span)?;
                self.stack.push(OpenCollection::Sequence {
                    anchor,
                    start: span.start,
                    elements: Vec::new(),
                    height: 0,
                });
                Ok(())
            }
            Event::MappingStart(anchor, tag) => {
                self.open_collection(tag.as_deref(), span)?;
                self.stack.push(OpenCollection::Mapping {
                    anchor,
                    start: span.start,
                    members: Vec::new(),
                    merged: Vec::new(),
                    seen: KeyIndex::default(),
                    key: None,
                    height: 0,
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_collection(span),
            Event::Alias(anchor) => self.expand_alias(anchor, span),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn expects_key(&self) -> bool {
        matches!(self.stack.last(), Some(OpenCollection::Mapping { key: None, .. }))
    }

    fn add_key(&mut self, text: String, plain: bool, span: Span) -> YamlResult<()> {
        if plain && text == "<<" {
            let help = "merge keys were dropped from YAML 1.2; use `$ref` or `allOf`, or quote the key";
            let problem = self.diagnostic("unsupported", span, "unsupported YAML merge key `<<`").help(help);
            self.problems.push(problem.with_fallback("its members are merged"));
            if let Some(OpenCollection::Mapping { key, .. }) = self.stack.last_mut() {
                *key = Some(MappingKey { text, span, is: KeyKind::Merge });
            }
            return Ok(());
        }
        let pointer = join_token(&self.pointer(), &text);
        let Some(OpenCollection::Mapping { members, seen, key, .. }) = self.stack.last_mut() else {
            return Ok(());
        };
        let known = seen.find(&text, members);
        if let Some(member) = known.and_then(|at| members.get(at)) {
            let place = DocumentLocation { source: self.source, pointer, span };
            let earlier = DocumentLocation { span: member.key_span, ..place.clone() };
            self.problems.push(
                Diagnostic::error("duplicate-key", format!("duplicate key `{text}`"))
                    .with_place(place)
                    .with_label(earlier, "and here")
                    .with_fallback("the last one is used"),
            );
        }
        *key = Some(MappingKey { text, span, is: known.map_or(KeyKind::New, KeyKind::Duplicate) });
        Ok(())
    }

    fn open_collection(&mut self, tag: Option<&Tag>, span: Span) -> YamlResult<()> {
        self.ignore_tag(tag, span, false);
        if self.expects_key() {
            self.discard_member(span, KeyKind::ComplexKey);
        }
        self.check_depth(0, span)
    }

    /// Reports a key that is a collection, which JSON cannot express, and marks the member to be discarded.
    fn discard_member(&mut self, span: Span, is: KeyKind) {
        let problem =
            self.diagnostic("unsupported", span, "unsupported YAML key: expected a scalar, such as a string");
        self.problems.push(problem.with_fallback("the member is left out"));
        if let Some(OpenCollection::Mapping { key, .. }) = self.stack.last_mut() {
            *key = Some(MappingKey { text: String::new(), span, is });
        }
    }

    fn check_depth(&self, height: usize, span: Span) -> YamlResult<()> {
        if self.stack.len() + height >= MAX_DEPTH {
            return Err(self.diagnostic("depth", span, &format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(())
    }

    fn ignore_tag(&mut self, tag: Option<&Tag>, span: Span, is_text: bool) {
        let Some(tag) = tag else { return };
        let problem = self.diagnostic(
            "unsupported",
            span,
            &format!("unsupported YAML tag `{}{}`", tag.handle, tag.suffix),
        );
        let fallback = if is_text { "the value is read as a string" } else { "it is left out" };
        self.problems.push(
            problem
                .help("a contract is JSON data, which has no tags; quote strings instead")
                .with_fallback(fallback),
        );
    }

    fn close_collection(&mut self, span: Span) -> YamlResult<()> {
        // The parser places the end of a block collection at the next token, so the end is moved back to the
        // last character of the collection.
        let end = match self.text.get(..span.end as usize) {
            Some(before) if span.start == span.end => before.trim_end().len(),
            _ => span.end as usize,
        };
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        match self.stack.pop() {
            Some(OpenCollection::Sequence { anchor, start, elements, height }) => {
                let tree = DocumentNode {
                    value: NodeValue::Array(elements),
                    span: Span { start, end: end.max(start) },
                };
                self.finish_value(tree, anchor, height)
            }
            Some(OpenCollection::Mapping { anchor, start, mut members, merged, height, .. }) => {
                apply_merge_keys(&mut members, &merged);
                let tree = DocumentNode {
                    value: NodeValue::Object(members),
                    span: Span { start, end: end.max(start) },
                };
                self.finish_value(tree, anchor, height)
            }
            None => Ok(()),
        }
    }

    fn expand_alias(&mut self, anchor: usize, span: Span) -> YamlResult<()> {
        let Some(found) = self.anchors.get(&anchor) else {
            return Err(self.diagnostic("syntax", span, "the alias refers to a value that contains it"));
        };
        self.expanded += found.size;
        if self.expanded > MAX_EXPANDED {
            let message = format!("the aliases of this document expand to more than {MAX_EXPANDED} values");
            return Err(self.diagnostic("unsupported", span, &message));
        }
        if self.expects_key() {
            match scalar_key(&found.tree) {
                Some(text) => return self.add_key(text, false, span),
                None => self.discard_member(span, KeyKind::DiscardedValue),
            }
            return Ok(());
        }
        self.check_depth(found.height, span)?;
        let (tree, height) = (found.tree.clone(), found.height);
        self.finish_value(tree, 0, height)
    }

    /// Adds a complete value to the innermost open collection.
    fn finish_value(&mut self, tree: DocumentNode, anchor: usize, height: usize) -> YamlResult<()> {
        if anchor > 0 {
            let size = count_values(&tree);
            self.expanded += size;
            if self.expanded > MAX_EXPANDED {
                let message = format!("the anchors of this document hold more than {MAX_EXPANDED} values");
                return Err(self.diagnostic("unsupported", tree.span, &message));
            }
            self.anchors.insert(anchor, AnchoredValue { tree: tree.clone(), size, height });
        }
        match self.stack.last_mut() {
            None => self.root = Some(tree),
            Some(OpenCollection::Sequence { elements, height: mine, .. }) => {
                *mine = (*mine).max(height + 1);
                elements.push(tree);
            }
            Some(OpenCollection::Mapping { members, merged, key, height: mine, .. }) => {
                *mine = (*mine).max(height + 1);
                match key.take() {
                    Some(MappingKey { is: KeyKind::Merge, .. }) => merged.push(tree),
                    Some(own @ MappingKey { is: KeyKind::ComplexKey, .. }) => {
                        *key = Some(MappingKey { is: KeyKind::DiscardedValue, ..own })
                    }
                    Some(MappingKey { is: KeyKind::DiscardedValue, .. }) => {}
                    Some(MappingKey { text, span, is }) => {
                        let member = ObjectMember { key: text, key_span: span, value: tree };
                        insert_member(
                            members,
                            member,
                            if let KeyKind::Duplicate(at) = is { Some(at) } else { None },
                        );
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the value of a scalar without quotes by the core schema (YAML 1.2.2, 10.3.2). Numbers that
    /// JSON cannot express remain strings.
    fn resolve_plain_scalar(&mut self, text: &str, span: Span) -> NodeValue {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return NodeValue::Null,
            "true" | "True" | "TRUE" => return NodeValue::Bool(true),
            "false" | "False" | "FALSE" => return NodeValue::Bool(false),
            _ => {}
        }
        if is_json_number(text) {
            return NodeValue::Number(text.to_owned());
        }
        if is_yaml_number(text) {
            let problem = self.diagnostic(
                "syntax",
                span,
                &format!("`{text}` is a YAML number that JSON cannot represent"),
            );
            let problem = problem.help("write it as a JSON number, or quote it if it is a string");
            self.problems
                .push(problem.with_fallback("it is read as a string, or as a number where one is required"));
        }
        NodeValue::String(text.to_owned())
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        let start = self.offsets.byte(&span.start);
        super::span(start, self.offsets.byte(&span.end).max(start))
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        let last = self.stack.len().saturating_sub(1);
        for (index, open) in self.stack.iter().enumerate() {
            match open {
                OpenCollection::Sequence { elements, .. } => {
                    pointer = join_token(&pointer, &elements.len().to_string())
                }
                OpenCollection::Mapping { key: Some(key), .. } => pointer = join_token(&pointer, &key.text),
                OpenCollection::Mapping { .. } => {
                    debug_assert!(index == last, "only the innermost waits for a key")
                }
            }
        }
        pointer
    }

    fn place(&self, span: Span) -> DocumentLocation {
        DocumentLocation { source: self.source, pointer: self.pointer(), span }
    }

    fn diagnostic(&self, code: &'static str, span: Span, message: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, message).with_place(self.place(span)))
    }
}

/// Adds those members of the merge keys' values that the mapping does not contain itself. If several values
/// contain a member with the same name, the first takes precedence.
fn apply_merge_keys(members: &mut Vec<ObjectMember>, merged: &[DocumentNode]) {
    let mut seen = KeyIndex::default();
    let parts = merged.iter().flat_map(|tree| std::iter::once(tree).chain(tree.elements()));
    for member in parts.flat_map(DocumentNode::members) {
        if seen.find(&member.key, members).is_none() {
            members.push(member.clone());
        }
    }
}

/// Returns the string that a scalar becomes as a key, or `None` if the key is a collection.
fn scalar_key(tree: &DocumentNode) -> Option<String> {
    match &tree.value {
        NodeValue::String(text) | NodeValue::Number(text) => Some(text.clone()),
        NodeValue::Bool(value) => Some(value.to_string()),
        NodeValue::Null => Some("null".to_owned()),
        NodeValue::Array(_) | NodeValue::Object(_) => None,
    }
}

/// Counts the values in a tree. A long string counts as several values.
fn count_values(tree: &DocumentNode) -> usize {
    let own = match &tree.value {
        NodeValue::String(text) | NodeValue::Number(text) => text.len() / BYTES_PER_VALUE,
        _ => 0,
    };
    let members =
        tree.members().iter().map(|member| count_values(&member.value) + member.key.len() / BYTES_PER_VALUE);
    1 + own + members.sum::<usize>() + tree.elements().iter().map(count_values).sum::<usize>()
}

fn is_json_number(text: &str) -> bool {
    contract_runtime::Number::parse(text).is_ok()
}

/// Returns true for numbers of the core schema, and for spellings that YAML 1.1 treats as numbers.
fn is_yaml_number(text: &str) -> bool {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = bare.to_ascii_lowercase();
    if matches!(lower.as_str(), ".inf" | ".nan") {
        return true;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            return !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        }
    }
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && whole.len() + fraction.len() > 0,
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent = exponent.is_none_or(|exponent| {
        let bare = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !bare.is_empty() && digits(bare)
    });
    whole && exponent
}
