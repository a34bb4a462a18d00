//! Reads header lines into challenges: RFC 9110, 5.6.1–5.6.4 and 11.2–11.4, in one pass.
//!
//! The list is taken apart at its commas. Each element is one of four, told apart without looking
//! further than the element: a parameter (`name = value`), which belongs to the challenge before
//! it, or a scheme, alone, with a `token68` or with its first parameter.

use std::collections::HashSet;

use super::{Challenge, Credentials, MalformedChallenge, Parameter, is_control, word::Word};
use crate::grammar::{is_token_byte, is_token68, is_token68_byte};

/// All of the line, or where it is malformed.
pub(super) fn strict(line: &[u8]) -> Result<Vec<Challenge>, MalformedChallenge> {
    let mut reader = Reader::new(line);
    while reader.next_element() {
        reader.element()?;
    }
    Ok(reader.finish())
}

/// What is well-formed in the line. A parameter that is malformed, repeated or out of place spoils
/// the challenge that it follows; anything else malformed counts as a challenge of its own.
pub(super) fn tolerant(line: &[u8]) -> Vec<Challenge> {
    let mut reader = Reader::new(line);
    while reader.next_element() {
        let start = reader.at;
        if reader.element().is_err() {
            reader.at = start;
            reader.skip_element();
        }
    }
    reader.finish()
}

struct Reader<'a> {
    line: &'a [u8],
    at: usize,
    complete: Vec<Challenge>,
    /// The challenge to which parameters may still be added.
    open: Option<Open>,
}

struct Open {
    scheme: Word,
    parameters: Vec<Parameter>,
    /// The names so far: a set, so that thousands of parameters take no square of time.
    names: HashSet<Word>,
}

impl<'a> Reader<'a> {
    const fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0, complete: Vec::new(), open: None }
    }

    /// Goes to the next element that is not empty (RFC 9110, 5.6.1.2); false at the end.
    fn next_element(&mut self) -> bool {
        self.skip(|byte| byte == b',' || is_space(byte));
        self.peek().is_some()
    }

    /// Reads one element and keeps what it says.
    fn element(&mut self) -> Result<(), MalformedChallenge> {
        let start = self.at;
        let Ok(word) = self.token() else {
            self.close();
            return Err(self.malformed());
        };
        let spaces = self.skip(is_space);
        if self.peek() == Some(b'=') {
            let open = self.open.take().ok_or(MalformedChallenge { at: start })?;
            return self.parameter(open, word, start);
        }

        self.close();
        match self.peek() {
            // Only a space after the scheme lets parameters follow (RFC 9110, 11.3), if need be
            // after a comma: they are a list too, and its first element may be empty.
            None | Some(b',') if spaces.is_empty() => {
                self.complete.push(Challenge { scheme: word, credentials: Credentials::None });
            }
            None | Some(b',') => self.open = Some(Open::new(word)),
            Some(_) if spaces.is_empty() => return Err(self.malformed()),
            Some(_) => match self.token68() {
                Some(text) => {
                    let credentials = Credentials::Token68(text.into());
                    self.complete.push(Challenge { scheme: word, credentials });
                }
                None => {
                    let start = self.at;
                    let name = self.token()?;
                    self.skip(is_space);
                    return self.parameter(Open::new(word), name, start);
                }
            },
        }
        Ok(())
    }

    /// What follows the name of a parameter, which began at `at`. The challenge is lost when the
    /// parameter is malformed.
    fn parameter(&mut self, mut open: Open, name: Word, at: usize) -> Result<(), MalformedChallenge> {
        let value = self.value()?;
        self.end_of_element()?;
        open.add(Parameter { name, value }, at)?;
        self.open = Some(open);
        Ok(())
    }

    /// `=` and a value, as a token or in quotes, with what whitespace there is (RFC 9110, 11.2).
    fn value(&mut self) -> Result<Box<str>, MalformedChallenge> {
        if self.peek() != Some(b'=') {
            return Err(self.malformed());
        }
        self.at += 1;
        self.skip(is_space);
        if self.peek() == Some(b'"') { self.quoted() } else { self.token().map(|word| word.as_str().into()) }
    }

    /// A quoted string without its quotes and escapes (RFC 9110, 5.6.4).
    fn quoted(&mut self) -> Result<Box<str>, MalformedChallenge> {
        self.at += 1;
        let mut value = Vec::new();
        loop {
            let mut byte = self.peek();
            if byte == Some(b'"') {
                self.at += 1;
                return Ok(text(value).into());
            }
            if byte == Some(b'\\') {
                self.at += 1;
                byte = self.peek();
            }
            match byte {
                Some(byte) if !is_control(byte) => value.push(byte),
                _ => return Err(self.malformed()),
            }
            self.at += 1;
        }
    }

    fn token(&mut self) -> Result<Word, MalformedChallenge> {
        let bytes = self.skip(is_token_byte);
        std::str::from_utf8(bytes).ok().and_then(Word::new).ok_or_else(|| self.malformed())
    }

    /// A `token68`, if one stands here and the element ends with it: `a=` and `a==` are, of `a=b`
    /// only the beginning could be, so that is a parameter.
    fn token68(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.skip(is_token68_byte);
        self.skip(|byte| byte == b'=');
        let bytes = self.line.get(start..self.at).unwrap_or_default();
        if is_token68(bytes) && self.end_of_element().is_ok() {
            return std::str::from_utf8(bytes).ok();
        }
        self.at = start;
        None
    }

    fn end_of_element(&mut self) -> Result<(), MalformedChallenge> {
        self.skip(is_space);
        if matches!(self.peek(), None | Some(b',')) { Ok(()) } else { Err(self.malformed()) }
    }

    /// Goes to the next comma outside quotes, or to the end.
    fn skip_element(&mut self) {
        let mut quoted = false;
        while let Some(byte) = self.peek() {
            match byte {
                b',' if !quoted => return,
                b'"' => quoted = !quoted,
                b'\\' if quoted => self.at += 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// No parameter will be added to the open challenge.
    fn close(&mut self) {
        self.complete.extend(self.open.take().map(Open::close));
    }

    fn finish(mut self) -> Vec<Challenge> {
        self.close();
        self.complete
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Goes past the bytes that are meant, and says which they were.
    fn skip(&mut self, meant: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|&&byte| meant(byte)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    const fn malformed(&self) -> MalformedChallenge {
        MalformedChallenge { at: self.at }
    }
}

impl Open {
    fn new(scheme: Word) -> Self {
        Self { scheme, parameters: Vec::new(), names: HashSet::new() }
    }

    /// Adds a parameter whose name begins at `at`, unless its name is known (RFC 9110, 11.2).
    fn add(&mut self, parameter: Parameter, at: usize) -> Result<(), MalformedChallenge> {
        if !self.names.insert(parameter.name.clone()) {
            return Err(MalformedChallenge { at });
        }
        self.parameters.push(parameter);
        Ok(())
    }

    fn close(self) -> Challenge {
        Challenge { scheme: self.scheme, credentials: Credentials::of(self.parameters) }
    }
}

/// Whitespace within a header line (RFC 9110, 5.6.3).
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// UTF-8 if it is that, else ISO 8859-1, as which `obs-text` began (RFC 9110, 5.5).
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect())
}
