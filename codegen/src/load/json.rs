//! A strict JSON reader (RFC 8259) that remembers where every value stands.
//!
//! `serde_json` neither keeps spans nor refuses duplicate keys, and both matter here.

use crate::{
    diagnostics::Diagnostic,
    tree::{Member, Place, SourceId, Span, Tree, Value, join},
};

use super::{MAX_DEPTH, Seen};

/// Reads a whole document. The tree is missing when the text cannot be read any further;
/// problems that leave a tree (duplicate keys, lone surrogates) are errors all the same.
pub(crate) fn parse(source: SourceId, text: &str) -> (Option<Tree>, Vec<Diagnostic>) {
    let mut parser =
        Parser { source, text, bytes: text.as_bytes(), at: 0, path: Vec::new(), problems: Vec::new() };
    let tree = parser.document();
    match tree {
        Ok(tree) => (Some(tree), parser.problems),
        Err(problem) => {
            parser.problems.push(*problem);
            (None, parser.problems)
        }
    }
}

enum Step {
    Key(String),
    Index(usize),
}

struct Parser<'a> {
    source: SourceId,
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    path: Vec<Step>,
    problems: Vec<Diagnostic>,
}

type Outcome<T> = Result<T, Box<Diagnostic>>;

impl Parser<'_> {
    fn document(&mut self) -> Outcome<Tree> {
        self.blank();
        if self.at == self.bytes.len() {
            return Err(self.fail("syntax", self.at, "the document is empty"));
        }
        let tree = self.value()?;
        self.blank();
        if self.at < self.bytes.len() {
            return Err(self.fail("syntax", self.at, "text after the end of the document"));
        }
        Ok(tree)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Outcome<Tree> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Tree { value, span: self.span(start) })
    }

    fn word(&mut self, word: &str, value: Value) -> Outcome<Value> {
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            if !self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Ok(value);
            }
            self.at -= word.len();
        }
        Err(self.unexpected("a value"))
    }

    fn enter(&mut self) -> Outcome<()> {
        if self.path.len() >= MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(self.fail("depth", self.at, &message));
        }
        self.at += 1;
        self.blank();
        Ok(())
    }

    fn array(&mut self) -> Outcome<Value> {
        self.enter()?;
        let mut elements = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(elements));
        }
        loop {
            self.path.push(Step::Index(elements.len()));
            elements.push(self.value()?);
            self.path.pop();
            if !self.next_one(b']', "`,` or `]`")? {
                return Ok(Value::Array(elements));
            }
        }
    }

    fn object(&mut self) -> Outcome<Value> {
        self.enter()?;
        let mut members: Vec<Member> = Vec::new();
        let mut seen = Seen::default();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = self.span(start);
            self.blank();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.at += 1;
            self.blank();
            self.path.push(Step::Key(key.clone()));
            let first = seen.insert(&key, &members);
            if let Some(first) = first {
                let place = self.place(key_span);
                let earlier = Place { span: first, ..place.clone() };
                self.problems.push(
                    Diagnostic::error("duplicate-key", format!("the key `{key}` is here twice"))
                        .at(place)
                        .label(earlier, "first here"),
                );
            }
            let value = self.value()?;
            self.path.pop();
            if first.is_none() {
                members.push(Member { key, key_span, value });
            }
            if !self.next_one(b'}', "`,` or `}`")? {
                return Ok(Value::Object(members));
            }
        }
    }

    /// After an element: whether another follows.
    fn next_one(&mut self, close: u8, expected: &str) -> Outcome<bool> {
        self.blank();
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.blank();
                if self.peek() == Some(close) {
                    return Err(self.fail("syntax", comma, "JSON has no trailing commas"));
                }
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Outcome<Value> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.at;
        let count = self.digits();
        let leading_zero = count > 1 && self.bytes.get(whole) == Some(&b'0');
        let mut good = count > 0 && !leading_zero;
        if self.peek() == Some(b'.') {
            self.at += 1;
            good &= self.digits() > 0;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            good &= self.digits() > 0;
        }
        if self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')) {
            good = false;
            while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'))
            {
                self.at += 1;
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if good {
            return Ok(Value::Number(text.to_owned()));
        }
        let message = format!("`{text}` is not a JSON number");
        Err(Box::new(Diagnostic::error("syntax", message).at(self.place(self.span(start)))))
    }

    fn string(&mut self) -> Outcome<String> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        let mut run = self.at;
        loop {
            match self.peek() {
                None => return Err(self.fail("syntax", start, "a string without an end")),
                Some(b'"') => {
                    out.push_str(self.text.get(run..self.at).unwrap_or_default());
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(self.text.get(run..self.at).unwrap_or_default());
                    out.push(self.escape()?);
                    run = self.at;
                }
                Some(0..0x20) => {
                    let message = "a control character in a string: write it as an escape";
                    return Err(self.fail("syntax", self.at, message));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Outcome<char> {
        let start = self.at;
        let letter = self.bytes.get(self.at + 1).copied();
        self.at += 2;
        let simple = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(self.fail("syntax", start, "JSON has no such escape")),
        };
        Ok(simple)
    }

    fn unicode(&mut self, start: usize) -> Outcome<char> {
        let first = self.hex(start)?;
        if let Some(found) = char::from_u32(first) {
            return Ok(found);
        }
        let low = self.text.get(self.at..).is_some_and(|rest| rest.starts_with("\\u"));
        if first < 0xDC00 && low {
            let before = self.at;
            self.at += 2;
            let second = self.hex(before)?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        // RFC 8259, 8.2: unpredictable elsewhere, so refused here.
        let message = format!("`\\u{first:04x}` is half of a surrogate pair");
        let problem = Diagnostic::error("encoding", message).at(self.place(self.span(start)));
        self.problems.push(problem);
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self, start: usize) -> Outcome<u32> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        let valid = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(code) if valid => {
                self.at += 4;
                Ok(code)
            }
            _ => Err(self.fail("syntax", start, "`\\u` wants four hexadecimal digits")),
        }
    }

    fn span(&self, start: usize) -> Span {
        super::span(start, self.at)
    }

    fn place(&self, span: Span) -> Place {
        let mut pointer = String::new();
        for step in &self.path {
            pointer = match step {
                Step::Key(key) => join(&pointer, key),
                Step::Index(index) => join(&pointer, &index.to_string()),
            };
        }
        Place { source: self.source, pointer, span }
    }

    fn fail(&self, code: &'static str, at: usize, message: &str) -> Box<Diagnostic> {
        let length = self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        Box::new(Diagnostic::error(code, message).at(self.place(super::span(at, at + length))))
    }

    fn unexpected(&self, expected: &str) -> Box<Diagnostic> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut problem = match rest.chars().next() {
            None => {
                *self.fail("syntax", self.at, &format!("the document ends where {expected} should stand"))
            }
            Some(found) => *self.fail(
                "syntax",
                self.at,
                &format!("`{}` where {expected} should stand", found.escape_debug()),
            ),
        };
        let help = match rest.as_bytes() {
            [b'\'', ..] => Some("JSON strings stand in double quotes"),
            [b'/', b'/' | b'*', ..] | [b'#', ..] => Some("JSON has no comments; use `$comment`"),
            [b'N', ..] | [b'I', ..] => Some("JSON has neither NaN nor Infinity"),
            _ => None,
        };
        if let Some(help) = help {
            problem = problem.help(help);
        }
        Box::new(problem)
    }
}
