//! The single-pass parser of `WWW-Authenticate` lines: RFC 9110, 5.6.1–5.6.4 and 11.2–11.4.
//!
//! The parser splits the list at its commas. It classifies each element without looking ahead beyond it: a
//! parameter (`name = value`), which belongs to the preceding challenge, or a scheme, which may be followed
//! by a `token68` or by its first parameter.

use std::collections::HashSet;

use super::{
    Challenge, ChallengeData, ChallengeParameter, MalformedChallenge, is_control, token::CaseInsensitiveToken,
};
use crate::grammar::{is_token_byte, is_token68, is_token68_byte};

/// Parses the whole line, or returns the position of the first error.
pub(super) fn parse_strict(line: &[u8]) -> Result<Vec<Challenge>, MalformedChallenge> {
    let mut reader = ChallengeParser::new(line);
    while reader.next_element() {
        reader.parse_element()?;
    }
    Ok(reader.finish())
}

/// Returns the well-formed challenges of the line. A malformed, repeated or misplaced parameter invalidates
/// the challenge that it follows. Any other malformed element counts as a separate challenge.
pub(super) fn parse_tolerant(line: &[u8]) -> Vec<Challenge> {
    let mut reader = ChallengeParser::new(line);
    while reader.next_element() {
        let start = reader.at;
        if reader.parse_element().is_err() {
            reader.at = start;
            reader.skip_element();
        }
    }
    reader.finish()
}

struct ChallengeParser<'a> {
    line: &'a [u8],
    at: usize,
    complete: Vec<Challenge>,
    /// The challenge that can still receive parameters.
    open: Option<ChallengeBuilder>,
}

struct ChallengeBuilder {
    scheme: CaseInsensitiveToken,
    parameters: Vec<ChallengeParameter>,
    /// The parameter names so far. A set keeps the run time linear for thousands of parameters.
    names: HashSet<CaseInsensitiveToken>,
}

impl<'a> ChallengeParser<'a> {
    const fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0, complete: Vec::new(), open: None }
    }

    /// Advances to the next non-empty element (RFC 9110, 5.6.1.2). Returns false at the end of the line.
    fn next_element(&mut self) -> bool {
        self.skip_while(|byte| byte == b',' || is_space(byte));
        self.peek().is_some()
    }

    /// Parses one element and stores its scheme or parameter.
    fn parse_element(&mut self) -> Result<(), MalformedChallenge> {
        let start = self.at;
        let Ok(word) = self.parse_token() else {
            self.close_challenge();
            return Err(self.malformed());
        };
        let spaces = self.skip_while(is_space);
        if self.peek() == Some(b'=') {
            let open = self.open.take().ok_or(MalformedChallenge { at: start })?;
            return self.parse_parameter(open, word, start);
        }

        self.close_challenge();
        match self.peek() {
            // Parameters may follow only if there is a space after the scheme (RFC 9110, 11.3), possibly
            // after a comma: the parameters are a list too, and its first element may be empty.
            None | Some(b',') if spaces.is_empty() => {
                self.complete.push(Challenge { scheme: word, credentials: ChallengeData::None });
            }
            None | Some(b',') => self.open = Some(ChallengeBuilder::new(word)),
            Some(_) if spaces.is_empty() => return Err(self.malformed()),
            Some(_) => match self.parse_token68() {
                Some(text) => {
                    let credentials = ChallengeData::Token68(text.into());
                    self.complete.push(Challenge { scheme: word, credentials });
                }
                None => {
                    let start = self.at;
                    let name = self.parse_token()?;
                    self.skip_while(is_space);
                    return self.parse_parameter(ChallengeBuilder::new(word), name, start);
                }
            },
        }
        Ok(())
    }

    /// Parses the rest of a parameter whose name began at `at`. A malformed parameter discards the challenge.
    fn parse_parameter(
        &mut self,
        mut open: ChallengeBuilder,
        name: CaseInsensitiveToken,
        at: usize,
    ) -> Result<(), MalformedChallenge> {
        let value = self.parse_value()?;
        self.end_of_element()?;
        open.add_parameter(ChallengeParameter { name, value }, at)?;
        self.open = Some(open);
        Ok(())
    }

    /// Parses `=` and a token or quoted string, with optional whitespace (RFC 9110, 11.2).
    fn parse_value(&mut self) -> Result<Box<str>, MalformedChallenge> {
        if self.peek() != Some(b'=') {
            return Err(self.malformed());
        }
        self.at += 1;
        self.skip_while(is_space);
        if self.peek() == Some(b'"') {
            self.parse_quoted_string()
        } else {
            self.parse_token().map(|word| word.as_str().into())
        }
    }

    /// Parses a quoted string and removes quotes and escapes (RFC 9110, 5.6.4).
    fn parse_quoted_string(&mut self) -> Result<Box<str>, MalformedChallenge> {
        self.at += 1;
        let mut value = Vec::new();
        loop {
            let mut byte = self.peek();
            if byte == Some(b'"') {
                self.at += 1;
                return Ok(decode_text(value).into());
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

    fn parse_token(&mut self) -> Result<CaseInsensitiveToken, MalformedChallenge> {
        let bytes = self.skip_while(is_token_byte);
        std::str::from_utf8(bytes).ok().and_then(CaseInsensitiveToken::new).ok_or_else(|| self.malformed())
    }

    /// Parses a `token68` if it extends to the end of the element. `a=` and `a==` are one; `a=b` is a
    /// parameter.
    fn parse_token68(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.skip_while(is_token68_byte);
        self.skip_while(|byte| byte == b'=');
        let bytes = self.line.get(start..self.at).unwrap_or_default();
        if is_token68(bytes) && self.end_of_element().is_ok() {
            return std::str::from_utf8(bytes).ok();
        }
        self.at = start;
        None
    }

    fn end_of_element(&mut self) -> Result<(), MalformedChallenge> {
        self.skip_while(is_space);
        if matches!(self.peek(), None | Some(b',')) { Ok(()) } else { Err(self.malformed()) }
    }

    /// Advances to the next comma outside quotes, or to the end of the line.
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

    /// Completes the open challenge: no further parameter belongs to it.
    fn close_challenge(&mut self) {
        self.complete.extend(self.open.take().map(ChallengeBuilder::build));
    }

    fn finish(mut self) -> Vec<Challenge> {
        self.close_challenge();
        self.complete
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Advances past the bytes for which the predicate returns true and returns these bytes.
    fn skip_while(&mut self, meant: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.line.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|&&byte| meant(byte)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    const fn malformed(&self) -> MalformedChallenge {
        MalformedChallenge { at: self.at }
    }
}

impl ChallengeBuilder {
    fn new(scheme: CaseInsensitiveToken) -> Self {
        Self { scheme, parameters: Vec::new(), names: HashSet::new() }
    }

    /// Adds a parameter whose name begins at `at`. Fails if the name is repeated (RFC 9110, 11.2).
    fn add_parameter(&mut self, parameter: ChallengeParameter, at: usize) -> Result<(), MalformedChallenge> {
        if !self.names.insert(parameter.name.clone()) {
            return Err(MalformedChallenge { at });
        }
        self.parameters.push(parameter);
        Ok(())
    }

    fn build(self) -> Challenge {
        Challenge { scheme: self.scheme, credentials: ChallengeData::from_parameters(self.parameters) }
    }
}

/// Returns true for whitespace within a header line (RFC 9110, 5.6.3).
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Decodes UTF-8, or ISO 8859-1 if the bytes are not UTF-8: the original encoding of `obs-text` (RFC 9110,
/// 5.5).
fn decode_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect())
}
