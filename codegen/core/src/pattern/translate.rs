//! Translates ECMA-262 syntax (22.2.1, `u` flag) to the syntax of `regex-syntax`.
//!
//! Characters and ranges are written as `\x{…}`, so that none is interpreted as an operator. Group names and
//! lazy quantifiers are dropped, because only the existence of a match matters.

use super::PatternError;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
/// The characters of `WhiteSpace` and `LineTerminator` in ECMA-262 (12.2, 12.3).
const SPACE: &str =
    r"\x{9}-\x{D}\x{20}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";
const ANYTHING: &str = r"[\x{0}-\x{10FFFF}]";
const NOT_LINE_END: &str = r"[^\n\r\x{2028}\x{2029}]";

pub(super) fn translate_pattern(source: &str) -> Result<String, PatternError> {
    PatternTranslator { source, at: 0, out: String::new(), open: Vec::new() }.run()
}

struct PatternTranslator<'a> {
    source: &'a str,
    /// The byte offset of the next character to parse.
    at: usize,
    out: String,
    /// The byte offsets of the groups that are not closed yet.
    open: Vec<usize>,
}

/// The meaning of an escape sequence, or of an element of a character class.
enum EscapeItem {
    /// A code point, which may be a surrogate.
    Code(u32),
    /// The content of a character class, without the brackets.
    Set(String),
    Look(&'static str),
}

type Result<T, E = PatternError> = std::result::Result<T, E>;

fn error<T>(offset: usize, reason: impl Into<String>) -> Result<T> {
    Err(PatternError { offset, reason: reason.into() })
}

impl PatternTranslator<'_> {
    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn run(mut self) -> Result<String> {
        // True if a quantifier is allowed at this position.
        let mut repeatable = false;
        loop {
            let start = self.at;
            let Some(c) = self.next() else { break };
            repeatable = match c {
                '|' => {
                    self.out.push('|');
                    false
                }
                '(' => {
                    self.open_group(start)?;
                    false
                }
                ')' => {
                    if self.open.pop().is_none() {
                        return error(start, "unmatched `)`");
                    }
                    self.out.push(')');
                    true
                }
                '^' => {
                    self.out.push_str(r"\A");
                    false
                }
                '$' => {
                    self.out.push_str(r"\z");
                    false
                }
                '*' | '+' | '?' => {
                    self.push_quantifier(start, repeatable, c.to_string())?;
                    false
                }
                '{' => match self.parse_braces(start)? {
                    Some(counts) => {
                        self.push_quantifier(start, repeatable, counts)?;
                        false
                    }
                    None => {
                        self.push_code_point(u32::from(c));
                        true
                    }
                },
                '.' => {
                    self.out.push_str(NOT_LINE_END);
                    true
                }
                '[' => {
                    self.parse_class(start)?;
                    true
                }
                '\\' => match self.parse_escape(start, false)? {
                    EscapeItem::Code(code) => {
                        self.push_code_point(code);
                        true
                    }
                    EscapeItem::Set(inside) => {
                        self.out.push_str(&format!("[{inside}]"));
                        true
                    }
                    EscapeItem::Look(look) => {
                        self.out.push_str(look);
                        false
                    }
                },
                literal => {
                    self.push_code_point(u32::from(literal));
                    true
                }
            };
        }
        match self.open.last() {
            Some(offset) => error(*offset, "the group is not closed"),
            None => Ok(self.out),
        }
    }

    /// Writes a code point. A lone surrogate does not occur in Rust strings, so it matches nothing.
    fn push_code_point(&mut self, code: u32) {
        match char::from_u32(code) {
            Some(_) => self.out.push_str(&format!(r"\x{{{code:X}}}")),
            None => self.out.push_str(NOTHING),
        }
    }

    fn open_group(&mut self, start: usize) -> Result<()> {
        if self.eat("?") {
            let look = ["=", "!", "<=", "<!"].iter().any(|look| self.rest().starts_with(look));
            if look {
                return error(start, "look-around cannot be matched in linear time");
            }
            if self.eat("<") {
                let Some(length) = self.rest().find('>') else {
                    return error(start, "the group's name is not closed");
                };
                let name = self.rest().get(..length).unwrap_or("");
                let valid = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
                    && name.chars().next().is_some_and(|c| !c.is_numeric());
                if !valid {
                    return error(start, "invalid group name");
                }
                self.at += length + 1;
            } else if self.rest().starts_with("P<") {
                return error(start, "a group is named `(?<name>…)` in ECMA-262, without the `P`");
            } else if !self.eat(":") {
                return error(start, "flags inside a pattern are not supported");
            }
        }
        self.open.push(start);
        self.out.push_str("(?:");
        Ok(())
    }

    fn push_quantifier(&mut self, start: usize, repeatable: bool, counts: String) -> Result<()> {
        if !repeatable {
            return error(start, "there is nothing to repeat");
        }
        self.eat("?");
        self.out.push_str(&counts);
        Ok(())
    }

    /// Parses a quantifier such as `{2,3}` after its opening brace. Returns `None` if the brace is a literal
    /// character.
    fn parse_braces(&mut self, start: usize) -> Result<Option<String>> {
        if !self.peek().is_some_and(|c| c.is_ascii_digit() || c == ',') {
            return Ok(None);
        }
        let malformed = "invalid quantifier: write {n}, {n,} or {n,m}";
        let Some(min) = self.parse_count(start)? else {
            return error(start, malformed);
        };
        let max = if self.eat(",") { self.parse_count(start)? } else { Some(min) };
        if !self.eat("}") {
            return error(start, malformed);
        }
        match max {
            None => Ok(Some(format!("{{{min},}}"))),
            Some(max) if max < min => error(start, "the quantifier's numbers are out of order"),
            Some(max) => Ok(Some(format!("{{{min},{max}}}"))),
        }
    }

    fn parse_count(&mut self, start: usize) -> Result<Option<u32>> {
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = rest.get(..length).unwrap_or("").to_owned();
        self.at += length;
        if digits.is_empty() {
            return Ok(None);
        }
        match digits.parse::<u32>() {
            Ok(count) if count < u32::MAX => Ok(Some(count)),
            _ => error(start, "the quantifier's number is too large"),
        }
    }

    /// Parses the rest of a character class after its `[`.
    fn parse_class(&mut self, start: usize) -> Result<()> {
        let negated = self.eat("^");
        let mut inside = String::new();
        loop {
            let first = match self.parse_class_item(start)? {
                None => break,
                Some(item) => item,
            };
            let here = self.at;
            // A `-` is a literal at the end of a class, or next to an escape that is a class itself.
            let ranges = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            let (EscapeItem::Code(low), true) = (&first, ranges) else {
                push_item(&mut inside, &first);
                continue;
            };
            self.at += 1;
            match self.parse_class_item(start)? {
                None => return error(start, "the class is not closed"),
                Some(EscapeItem::Code(high)) if high < *low => {
                    return error(here, "the range is out of order");
                }
                Some(EscapeItem::Code(high)) => push_range(&mut inside, *low, high),
                Some(set) => {
                    push_item(&mut inside, &first);
                    push_range(&mut inside, u32::from('-'), u32::from('-'));
                    push_item(&mut inside, &set);
                }
            }
        }
        match (inside.is_empty(), negated) {
            (true, false) => self.out.push_str(NOTHING),
            (true, true) => self.out.push_str(ANYTHING),
            (false, false) => self.out.push_str(&format!("[{inside}]")),
            (false, true) => self.out.push_str(&format!("[^{inside}]")),
        }
        Ok(())
    }

    /// Parses the next element of a character class. Returns `None` at the end of the class.
    fn parse_class_item(&mut self, start: usize) -> Result<Option<EscapeItem>> {
        let here = self.at;
        match self.next() {
            None => error(start, "the class is not closed"),
            Some(']') => Ok(None),
            Some('\\') => self.parse_escape(here, true).map(Some),
            Some(c) => Ok(Some(EscapeItem::Code(u32::from(c)))),
        }
    }

    /// Parses the rest of an escape sequence after its `\`.
    fn parse_escape(&mut self, start: usize, in_class: bool) -> Result<EscapeItem> {
        let Some(c) = self.next() else {
            return error(start, "the escape is not complete");
        };
        let set = |inside: &str| Ok(EscapeItem::Set(inside.to_owned()));
        match c {
            'd' => set(DIGIT),
            'D' => set(&format!("[^{DIGIT}]")),
            'w' => set(WORD),
            'W' => set(&format!("[^{WORD}]")),
            's' => set(SPACE),
            'S' => set(&format!("[^{SPACE}]")),
            'b' if in_class => Ok(EscapeItem::Code(8)),
            'b' => Ok(EscapeItem::Look(r"(?-u:\b)")),
            'B' if !in_class => Ok(EscapeItem::Look(r"(?-u:\B)")),
            't' => Ok(EscapeItem::Code(0x9)),
            'n' => Ok(EscapeItem::Code(0xA)),
            'v' => Ok(EscapeItem::Code(0xB)),
            'f' => Ok(EscapeItem::Code(0xC)),
            'r' => Ok(EscapeItem::Code(0xD)),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => Ok(EscapeItem::Code(0)),
            '1'..='9' | 'k' if !in_class => error(start, "back-references cannot be matched in linear time"),
            '0'..='9' => error(start, "octal escapes are not in ECMA-262 with flag u"),
            'c' => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => Ok(EscapeItem::Code(u32::from(letter) % 32)),
                _ => error(start, r"\c needs a letter"),
            },
            'x' => match self.parse_hex(2) {
                Some(code) => Ok(EscapeItem::Code(code)),
                None => error(start, r"\x needs two hexadecimal digits"),
            },
            'u' => self.parse_unicode_escape(start),
            'p' | 'P' => self.parse_property(start, c),
            c if c.is_ascii_punctuation() || c == ' ' => Ok(EscapeItem::Code(u32::from(c))),
            c => error(start, format!(r"\{c} is not an escape of ECMA-262")),
        }
    }

    fn parse_hex(&mut self, length: usize) -> Option<u32> {
        let digits = self.rest().get(..length)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.at += length;
        Some(code)
    }

    /// Parses the rest of a Unicode escape after its `\u`.
    fn parse_unicode_escape(&mut self, start: usize) -> Result<EscapeItem> {
        if self.eat("{") {
            let length = self.rest().find('}').unwrap_or(0);
            let digits = self.rest().get(..length).unwrap_or("").trim_start_matches('0').len();
            let code = if length > 0 && digits <= 6 { self.parse_hex(length) } else { None };
            return match code {
                Some(code) if code <= 0x10_FFFF && self.eat("}") => Ok(EscapeItem::Code(code)),
                _ => error(start, r"\u{…} needs a code point in hexadecimal digits"),
            };
        }
        let Some(high) = self.parse_hex(4) else {
            return error(start, r"\u needs four hexadecimal digits");
        };
        // A surrogate pair is one character (22.2.1, `RegExpUnicodeEscapeSequence`).
        let after = self.at;
        if (0xD800..0xDC00).contains(&high)
            && self.eat(r"\u")
            && let Some(low) = self.parse_hex(4)
            && (0xDC00..0xE000).contains(&low)
        {
            return Ok(EscapeItem::Code(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
        }
        self.at = after;
        Ok(EscapeItem::Code(high))
    }

    /// Parses the rest of a Unicode property escape after its `\p` or `\P`.
    fn parse_property(&mut self, start: usize, letter: char) -> Result<EscapeItem> {
        let closed = self.eat("{").then(|| self.rest().find('}')).flatten();
        let Some(length) = closed else {
            return error(start, format!(r"\{letter} needs a property in braces"));
        };
        let name = self.rest().get(..length).unwrap_or("").to_owned();
        self.at += length + 1;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
        let escape = format!(r"\{letter}{{{name}}}");
        if !name.chars().all(plain) || super::parse_hir(&escape).is_err() {
            return error(start, format!("unknown Unicode property `{name}`"));
        }
        Ok(EscapeItem::Set(escape))
    }
}

fn push_item(inside: &mut String, item: &EscapeItem) {
    match item {
        EscapeItem::Code(code) => push_range(inside, *code, *code),
        EscapeItem::Set(set) => inside.push_str(&format!("[{set}]")),
        // `parse_escape` returns no assertion inside a class.
        EscapeItem::Look(_) => {}
    }
}

/// Writes a range without surrogates, which do not occur in Rust strings.
fn push_range(inside: &mut String, low: u32, high: u32) {
    for (low, high) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if low <= high {
            inside.push_str(&format!(r"\x{{{low:X}}}-\x{{{high:X}}}"));
        }
    }
}
