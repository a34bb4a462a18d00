//! YAML 1.2 as JSON: the core schema's types, aliases with a cap.
//!
//! What YAML versions or libraries disagree on is a fault, read as it is meant: `012`, `0x1F`, `+1`,
//! `.5` and `.inf` as text, of which a keyword that wants a number makes one where there is one
//! (`resolve::lenient`); `<<` as its members; tags as what they stand before.

mod brackets;
mod fold;

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use crate::{
    diagnostics::Diagnostic,
    tree::{Member, Place, SourceId, Span, Tree, Value, join},
};

use self::{
    brackets::{Ahead, By, Joined},
    fold::unfilled,
};

use super::{MAX_DEPTH, Seen, put};

/// Values that aliases may add to one document, against documents that grow without bound.
const MAX_EXPANDED: usize = 200_000;

/// Bytes of a text that count as one more value.
const PIECE: usize = 64;

/// Readings of one document that brackets too far out may cost, and the bytes that are read so.
const MAX_READINGS: usize = 1_000;
const MAX_AGAIN: usize = 256 << 20;

/// What the parser says where a line within brackets begins too far out, and nowhere else.
const SHALLOW: [&str; 2] = ["invalid indentation", "invalid indentation in flow construct"];
/// And what it says of a quoted text with such a line, at its first quote.
const SHALLOW_TEXT: &str = "invalid indentation in quoted scalar";

/// Reads a whole document; as [`super::json::parse`].
pub(crate) fn parse(source: SourceId, text: &str) -> (Option<Tree>, Vec<Diagnostic>) {
    let found = read(source, text, Ahead::Look).or_else(|| read(source, text, Ahead::Wait));
    found.unwrap_or_default()
}

/// The same; `None` where what was joined unasked stands in a text.
fn read(source: SourceId, text: &str, ahead: Ahead) -> Option<(Option<Tree>, Vec<Diagnostic>)> {
    let most = (MAX_AGAIN / text.len().max(1)).clamp(1, MAX_READINGS);
    let mut joined = Joined::new(text);
    for left in (0..most).rev() {
        let Attempt { tree, problems, places, shallow, is_spoilt } = attempt(source, &joined);
        if is_spoilt {
            return None;
        }
        let changes = |shallow: Shallow| match shallow {
            Shallow::Brackets(at) => joined.join(at, ahead),
            Shallow::Text(at) => joined.fold(at),
        };
        if shallow.filter(|_| left > 0).is_some_and(changes) {
            continue;
        }
        let fault = |(place, by)| {
            let message = match by {
                By::Fold => "a quoted text must go on further in than its key",
                By::Parser | By::Look => "what stands in brackets must be further in than its key",
            };
            Diagnostic::error("syntax", message).at(place).mended("it is read as if it were")
        };
        return Some((tree, places.into_iter().map(fault).chain(problems).collect()));
    }
    None
}

/// What one reading gives.
#[derive(Default)]
struct Attempt {
    tree: Option<Tree>,
    problems: Vec<Diagnostic>,
    /// Where lines stand that were joined.
    places: Vec<(Place, By)>,
    shallow: Option<Shallow>,
    /// Whether a line that was joined unasked stands in a text.
    is_spoilt: bool,
}

/// Where a line begins too far out for the parser.
#[derive(Clone, Copy, Debug)]
enum Shallow {
    /// Within brackets: the line.
    Brackets(usize),
    /// In a quoted text, which begins here.
    Text(usize),
}

fn attempt(source: SourceId, joined: &Joined) -> Attempt {
    let text = joined.text.as_str();
    let mut found = Attempt::default();
    let mut waiting = joined.at.iter().peekable();
    let mut builder = Builder {
        source,
        offsets: Offsets::new(text),
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
                    SHALLOW_TEXT => Some(Shallow::Text(at)),
                    message => SHALLOW.contains(&message).then_some(Shallow::Brackets(at)),
                };
                Err(Box::new(Diagnostic::error("syntax", message).at(builder.place(super::span(at, at)))))
            }
            Ok((Event::StreamEnd, _)) => break,
            Ok((Event::DocumentStart(_), span)) => {
                documents += 1;
                let span = builder.span(span);
                if documents > 1 {
                    let problem = builder.fail("unsupported", span, "a second YAML document in one file");
                    builder.problems.push(problem.mended("the first counts"));
                    break;
                }
                Ok(())
            }
            Ok((event, span)) => {
                let span = builder.span(span);
                let (start, end) = (span.start as usize, span.end as usize);
                while let Some(&(at, by)) = waiting.next_if(|(at, _)| *at < end.max(start + 1)) {
                    let is_text = matches!(event, Event::Scalar(..));
                    found.is_spoilt |= by == By::Look && is_text && (start + 1..end).contains(&at);
                    found.places.push((builder.place(super::span(at, at + 1)), by));
                }
                let event = match event {
                    // Elsewhere such characters are the text's own.
                    Event::Scalar(text, style, anchor, tag)
                        if joined.is_folded(start..end.max(start + 1)) =>
                    {
                        Event::Scalar(unfilled(text), style, anchor, tag)
                    }
                    event => event,
                };
                builder.event(event, span)
            }
        };
        if let Err(problem) = outcome {
            builder.problems.push(*problem);
            return Attempt { problems: builder.problems, ..found };
        }
    }
    if builder.root.is_none() {
        let problem = builder.fail("syntax", Span::default(), "the document is empty");
        builder.problems.push(*problem);
    }
    Attempt { tree: builder.root, problems: builder.problems, shallow: None, ..found }
}

/// Character offsets, which the parser counts, as byte offsets.
struct Offsets {
    /// Empty for ASCII, where both are the same.
    bytes: Vec<u32>,
    length: usize,
}

impl Offsets {
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

enum Open {
    Sequence {
        anchor: usize,
        start: u32,
        elements: Vec<Tree>,
        height: usize,
    },
    Mapping {
        anchor: usize,
        start: u32,
        members: Vec<Member>,
        /// The values of merge keys.
        merged: Vec<Tree>,
        seen: Seen,
        key: Option<Key>,
        height: usize,
    },
}

struct Key {
    text: String,
    span: Span,
    is: Is,
}

/// What a key is.
#[derive(Clone, Copy, PartialEq)]
enum Is {
    New,
    /// One that was there already, and where: its value takes the place of the earlier one.
    Again(usize),
    /// `<<`, whose value brings members.
    Merge,
    /// One that is no text: what it is comes first.
    Unread,
    /// The same behind it: its value is nobody's.
    Lost,
}

/// An anchored value, its size and how deep it is, for the caps.
struct Anchored {
    tree: Tree,
    size: usize,
    height: usize,
}

struct Builder<'a> {
    source: SourceId,
    offsets: Offsets,
    text: &'a str,
    stack: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    expanded: usize,
    root: Option<Tree>,
    problems: Vec<Diagnostic>,
}

type Outcome<T> = Result<T, Box<Diagnostic>>;

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Outcome<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.as_deref().is_some_and(|tag| tag.suffix == "str");
                self.leave_tag(tag.as_deref(), span, is_text);
                let plain = matches!(style, ScalarStyle::Plain) && !is_text;
                if self.wants_key() {
                    return self.key(text.into_owned(), plain, span);
                }
                let value = if plain { self.plain(&text, span) } else { Value::String(text.into_owned()) };
                self.finish(Tree { value, span }, anchor, 0)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(tag.as_deref(), span)?;
                self.stack.push(Open::Sequence {
                    anchor,
                    start: span.start,
                    elements: Vec::new(),
                    height: 0,
                });
                Ok(())
            }
            Event::MappingStart(anchor, tag) => {
                self.open(tag.as_deref(), span)?;
                self.stack.push(Open::Mapping {
                    anchor,
                    start: span.start,
                    members: Vec::new(),
                    merged: Vec::new(),
                    seen: Seen::default(),
                    key: None,
                    height: 0,
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn wants_key(&self) -> bool {
        matches!(self.stack.last(), Some(Open::Mapping { key: None, .. }))
    }

    fn key(&mut self, text: String, plain: bool, span: Span) -> Outcome<()> {
        if plain && text == "<<" {
            let help = "merge keys were dropped from YAML 1.2; use `$ref` or `allOf`, or quote the key";
            let problem = self.fail("unsupported", span, "a YAML merge key").help(help);
            self.problems.push(problem.mended("its members are read here"));
            if let Some(Open::Mapping { key, .. }) = self.stack.last_mut() {
                *key = Some(Key { text, span, is: Is::Merge });
            }
            return Ok(());
        }
        let pointer = join(&self.pointer(), &text);
        let Some(Open::Mapping { members, seen, key, .. }) = self.stack.last_mut() else { return Ok(()) };
        let known = seen.find(&text, members);
        if let Some(member) = known.and_then(|at| members.get(at)) {
            let place = Place { source: self.source, pointer, span };
            let earlier = Place { span: member.key_span, ..place.clone() };
            self.problems.push(
                Diagnostic::error("duplicate-key", format!("the key `{text}` is here twice"))
                    .at(place)
                    .label(earlier, "and here")
                    .mended("the last counts"),
            );
        }
        *key = Some(Key { text, span, is: known.map_or(Is::New, Is::Again) });
        Ok(())
    }

    fn open(&mut self, tag: Option<&Tag>, span: Span) -> Outcome<()> {
        self.leave_tag(tag, span, false);
        if self.wants_key() {
            self.lose(span, Is::Unread);
        }
        self.check_depth(0, span)
    }

    /// Leaves a member out whose key JSON has no place for.
    fn lose(&mut self, span: Span, is: Is) {
        let problem = self.fail("unsupported", span, "a YAML key that is not a scalar");
        self.problems.push(problem.mended("the member is left out"));
        if let Some(Open::Mapping { key, .. }) = self.stack.last_mut() {
            *key = Some(Key { text: String::new(), span, is });
        }
    }

    fn check_depth(&self, height: usize, span: Span) -> Outcome<()> {
        if self.stack.len() + height >= MAX_DEPTH {
            return Err(self.fail("depth", span, &format!("nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(())
    }

    fn leave_tag(&mut self, tag: Option<&Tag>, span: Span, is_text: bool) {
        let Some(tag) = tag else { return };
        let problem = self.fail("unsupported", span, &format!("the YAML tag `{}{}`", tag.handle, tag.suffix));
        let mend = if is_text { "the value is read as text" } else { "it is left out" };
        self.problems.push(
            problem.help("a contract is JSON data, which has no tags; quote strings instead").mended(mend),
        );
    }

    fn close(&mut self, span: Span) -> Outcome<()> {
        // The end of a block lies where the next line's content starts: step back to the text.
        let end = match self.text.get(..span.end as usize) {
            Some(before) if span.start == span.end => before.trim_end().len(),
            _ => span.end as usize,
        };
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        match self.stack.pop() {
            Some(Open::Sequence { anchor, start, elements, height }) => {
                let tree = Tree { value: Value::Array(elements), span: Span { start, end: end.max(start) } };
                self.finish(tree, anchor, height)
            }
            Some(Open::Mapping { anchor, start, mut members, merged, height, .. }) => {
                merge(&mut members, &merged);
                let tree = Tree { value: Value::Object(members), span: Span { start, end: end.max(start) } };
                self.finish(tree, anchor, height)
            }
            None => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Outcome<()> {
        let Some(found) = self.anchors.get(&anchor) else {
            return Err(self.fail("syntax", span, "an alias inside the value that it names"));
        };
        self.expanded += found.size;
        if self.expanded > MAX_EXPANDED {
            let message = format!("the aliases of this document stand for more than {MAX_EXPANDED} values");
            return Err(self.fail("unsupported", span, &message));
        }
        if self.wants_key() {
            match scalar(&found.tree) {
                Some(text) => return self.key(text, false, span),
                None => self.lose(span, Is::Lost),
            }
            return Ok(());
        }
        self.check_depth(found.height, span)?;
        let (tree, height) = (found.tree.clone(), found.height);
        self.finish(tree, 0, height)
    }

    /// Puts a finished value where it belongs.
    fn finish(&mut self, tree: Tree, anchor: usize, height: usize) -> Outcome<()> {
        if anchor > 0 {
            let size = size(&tree);
            self.expanded += size;
            if self.expanded > MAX_EXPANDED {
                let message = format!("the anchors of this document hold more than {MAX_EXPANDED} values");
                return Err(self.fail("unsupported", tree.span, &message));
            }
            self.anchors.insert(anchor, Anchored { tree: tree.clone(), size, height });
        }
        match self.stack.last_mut() {
            None => self.root = Some(tree),
            Some(Open::Sequence { elements, height: mine, .. }) => {
                *mine = (*mine).max(height + 1);
                elements.push(tree);
            }
            Some(Open::Mapping { members, merged, key, height: mine, .. }) => {
                *mine = (*mine).max(height + 1);
                match key.take() {
                    Some(Key { is: Is::Merge, .. }) => merged.push(tree),
                    Some(own @ Key { is: Is::Unread, .. }) => *key = Some(Key { is: Is::Lost, ..own }),
                    Some(Key { is: Is::Lost, .. }) => {}
                    Some(Key { text, span, is }) => {
                        let member = Member { key: text, key_span: span, value: tree };
                        put(members, member, if let Is::Again(at) = is { Some(at) } else { None });
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// The core schema (YAML 1.2.2, 10.3.2), cut down to what JSON can say.
    fn plain(&mut self, text: &str, span: Span) -> Value {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
            "true" | "True" | "TRUE" => return Value::Bool(true),
            "false" | "False" | "FALSE" => return Value::Bool(false),
            _ => {}
        }
        if is_json_number(text) {
            return Value::Number(text.to_owned());
        }
        if is_yaml_number(text) {
            let problem =
                self.fail("syntax", span, &format!("`{text}` is a YAML number that JSON cannot write"));
            let problem = problem.help("write it in JSON's way, or quote it when it is a string");
            self.problems.push(problem.mended("it is text, and a number where one must be"));
        }
        Value::String(text.to_owned())
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
                Open::Sequence { elements, .. } => pointer = join(&pointer, &elements.len().to_string()),
                Open::Mapping { key: Some(key), .. } => pointer = join(&pointer, &key.text),
                Open::Mapping { .. } => debug_assert!(index == last, "only the innermost waits for a key"),
            }
        }
        pointer
    }

    fn place(&self, span: Span) -> Place {
        Place { source: self.source, pointer: self.pointer(), span }
    }

    fn fail(&self, code: &'static str, span: Span, message: &str) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, message).at(self.place(span)))
    }
}

/// Adds what merge keys bring: members that are not there, the first of each name.
fn merge(members: &mut Vec<Member>, merged: &[Tree]) {
    let mut seen = Seen::default();
    let parts = merged.iter().flat_map(|tree| std::iter::once(tree).chain(tree.elements()));
    for member in parts.flat_map(Tree::members) {
        if seen.find(&member.key, members).is_none() {
            members.push(member.clone());
        }
    }
}

/// The text that a key is, of what an alias stands for.
fn scalar(tree: &Tree) -> Option<String> {
    match &tree.value {
        Value::String(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null => Some("null".to_owned()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// How many values there are; a long text is several.
fn size(tree: &Tree) -> usize {
    let own = match &tree.value {
        Value::String(text) | Value::Number(text) => text.len() / PIECE,
        _ => 0,
    };
    let members = tree.members().iter().map(|member| size(&member.value) + member.key.len() / PIECE);
    1 + own + members.sum::<usize>() + tree.elements().iter().map(size).sum::<usize>()
}

fn is_json_number(text: &str) -> bool {
    contract_runtime::Number::parse(text).is_ok()
}

/// Numbers of the core schema, and the spellings that YAML 1.1 took for numbers.
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
