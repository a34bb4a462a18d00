//! ECMA-262 syntax (22.2.1, `u` flag) to the syntax of `regex-syntax`.
//!
//! Characters and ranges are written as `\x{…}`, so that nothing has a second
//! meaning there; groups lose their names and quantifiers their laziness, since
//! only the existence of a match is asked.

use super::PatternError;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
/// `WhiteSpace` and `LineTerminator` of ECMA-262 (12.2, 12.3).
const SPACE: &str =
    r"\x{9}-\x{D}\x{20}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";
const ANYTHING: &str = r"[\x{0}-\x{10FFFF}]";
const NOT_LINE_END: &str = r"[^\n\r\x{2028}\x{2029}]";

pub(super) fn translate(source: &str) -> Result<String, PatternError> {
    Translation { source, at: 0, out: String::new(), open: Vec::new() }.run()
}

struct Translation<'a> {
    source: &'a str,
    /// Bytes read.
    at: usize,
    out: String,
    /// Where the groups begin that are still open.
    open: Vec<usize>,
}

/// What an escape or a class member stands for.
enum Item {
    /// A code point; surrogates are possible.
    Code(u32),
    /// The inside of a class.
    Set(String),
    /// An assertion.
    Look(&'static str),
}

type Result<T, E = PatternError> = std::result::Result<T, E>;

fn error<T>(offset: usize, reason: impl Into<String>) -> Result<T> {
    Err(PatternError { offset, reason: reason.into() })
}

impl Translation<'_> {
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
        // Whether something stands before that a quantifier can repeat.
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
                    self.group(start)?;
                    false
                }
                ')' => {
                    if self.open.pop().is_none() {
                        return error(start, "`)` closes no group");
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
                    self.quantifier(start, repeatable, c.to_string())?;
                    false
                }
                '{' => match self.braces(start)? {
                    Some(counts) => {
                        self.quantifier(start, repeatable, counts)?;
                        false
                    }
                    None => {
                        self.code(u32::from(c));
                        true
                    }
                },
                '.' => {
                    self.out.push_str(NOT_LINE_END);
                    true
                }
                '[' => {
                    self.class(start)?;
                    true
                }
                '\\' => match self.escape(start, false)? {
                    Item::Code(code) => {
                        self.code(code);
                        true
                    }
                    Item::Set(inside) => {
                        self.out.push_str(&format!("[{inside}]"));
                        true
                    }
                    Item::Look(look) => {
                        self.out.push_str(look);
                        false
                    }
                },
                literal => {
                    self.code(u32::from(literal));
                    true
                }
            };
        }
        match self.open.last() {
            Some(offset) => error(*offset, "the group is not closed"),
            None => Ok(self.out),
        }
    }

    /// A lone surrogate is in no Rust string, hence matches nothing.
    fn code(&mut self, code: u32) {
        match char::from_u32(code) {
            Some(_) => self.out.push_str(&format!(r"\x{{{code:X}}}")),
            None => self.out.push_str(NOTHING),
        }
    }

    fn group(&mut self, start: usize) -> Result<()> {
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
                    return error(start, "this is no name for a group");
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

    fn quantifier(&mut self, start: usize, repeatable: bool, counts: String) -> Result<()> {
        if !repeatable {
            return error(start, "there is nothing to repeat");
        }
        self.eat("?");
        self.out.push_str(&counts);
        Ok(())
    }

    /// After `{`: the quantifier, or nothing when none begins here.
    fn braces(&mut self, start: usize) -> Result<Option<String>> {
        if !self.peek().is_some_and(|c| c.is_ascii_digit() || c == ',') {
            return Ok(None);
        }
        let malformed = "this is no quantifier: write {n}, {n,} or {n,m}";
        let Some(min) = self.count(start)? else {
            return error(start, malformed);
        };
        let max = if self.eat(",") { self.count(start)? } else { Some(min) };
        if !self.eat("}") {
            return error(start, malformed);
        }
        match max {
            None => Ok(Some(format!("{{{min},}}"))),
            Some(max) if max < min => error(start, "the quantifier's numbers are out of order"),
            Some(max) => Ok(Some(format!("{{{min},{max}}}"))),
        }
    }

    fn count(&mut self, start: usize) -> Result<Option<u32>> {
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

    /// After `[`.
    fn class(&mut self, start: usize) -> Result<()> {
        let negated = self.eat("^");
        let mut inside = String::new();
        loop {
            let first = match self.class_item(start)? {
                None => break,
                Some(item) => item,
            };
            let here = self.at;
            // `-` at the end, or beside an escape for a set, is itself.
            let ranges = self.rest().starts_with('-') && !self.rest().starts_with("-]");
            let (Item::Code(low), true) = (&first, ranges) else {
                push_item(&mut inside, &first);
                continue;
            };
            self.at += 1;
            match self.class_item(start)? {
                None => return error(start, "the class is not closed"),
                Some(Item::Code(high)) if high < *low => {
                    return error(here, "the range is out of order");
                }
                Some(Item::Code(high)) => push_range(&mut inside, *low, high),
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

    /// The next member of a class; `None` after its end.
    fn class_item(&mut self, start: usize) -> Result<Option<Item>> {
        let here = self.at;
        match self.next() {
            None => error(start, "the class is not closed"),
            Some(']') => Ok(None),
            Some('\\') => self.escape(here, true).map(Some),
            Some(c) => Ok(Some(Item::Code(u32::from(c)))),
        }
    }

    /// After `\`.
    fn escape(&mut self, start: usize, in_class: bool) -> Result<Item> {
        let Some(c) = self.next() else {
            return error(start, "the escape is not complete");
        };
        let set = |inside: &str| Ok(Item::Set(inside.to_owned()));
        match c {
            'd' => set(DIGIT),
            'D' => set(&format!("[^{DIGIT}]")),
            'w' => set(WORD),
            'W' => set(&format!("[^{WORD}]")),
            's' => set(SPACE),
            'S' => set(&format!("[^{SPACE}]")),
            'b' if in_class => Ok(Item::Code(8)),
            'b' => Ok(Item::Look(r"(?-u:\b)")),
            'B' if !in_class => Ok(Item::Look(r"(?-u:\B)")),
            't' => Ok(Item::Code(0x9)),
            'n' => Ok(Item::Code(0xA)),
            'v' => Ok(Item::Code(0xB)),
            'f' => Ok(Item::Code(0xC)),
            'r' => Ok(Item::Code(0xD)),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => Ok(Item::Code(0)),
            '1'..='9' | 'k' if !in_class => error(start, "back-references cannot be matched in linear time"),
            '0'..='9' => error(start, "octal escapes are not in ECMA-262 with flag u"),
            'c' => match self.next() {
                Some(letter) if letter.is_ascii_alphabetic() => Ok(Item::Code(u32::from(letter) % 32)),
                _ => error(start, r"\c needs a letter"),
            },
            'x' => match self.hex(2) {
                Some(code) => Ok(Item::Code(code)),
                None => error(start, r"\x needs two hexadecimal digits"),
            },
            'u' => self.unicode(start),
            'p' | 'P' => self.property(start, c),
            c if c.is_ascii_punctuation() || c == ' ' => Ok(Item::Code(u32::from(c))),
            c => error(start, format!(r"\{c} is no escape of ECMA-262")),
        }
    }

    fn hex(&mut self, length: usize) -> Option<u32> {
        let digits = self.rest().get(..length)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let code = u32::from_str_radix(digits, 16).ok()?;
        self.at += length;
        Some(code)
    }

    /// After `\u`.
    fn unicode(&mut self, start: usize) -> Result<Item> {
        if self.eat("{") {
            let length = self.rest().find('}').unwrap_or(0);
            let digits = self.rest().get(..length).unwrap_or("").trim_start_matches('0').len();
            let code = if length > 0 && digits <= 6 { self.hex(length) } else { None };
            return match code {
                Some(code) if code <= 0x10_FFFF && self.eat("}") => Ok(Item::Code(code)),
                _ => error(start, r"\u{…} needs a code point in hexadecimal digits"),
            };
        }
        let Some(high) = self.hex(4) else {
            return error(start, r"\u needs four hexadecimal digits");
        };
        // 22.2.1, RegExpUnicodeEscapeSequence: a surrogate pair is one character.
        let after = self.at;
        if (0xD800..0xDC00).contains(&high)
            && self.eat(r"\u")
            && let Some(low) = self.hex(4)
            && (0xDC00..0xE000).contains(&low)
        {
            return Ok(Item::Code(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)));
        }
        self.at = after;
        Ok(Item::Code(high))
    }

    /// After `\p` or `\P`.
    fn property(&mut self, start: usize, letter: char) -> Result<Item> {
        let closed = self.eat("{").then(|| self.rest().find('}')).flatten();
        let Some(length) = closed else {
            return error(start, format!(r"\{letter} needs a property in braces"));
        };
        let name = self.rest().get(..length).unwrap_or("").to_owned();
        self.at += length + 1;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
        let escape = format!(r"\{letter}{{{name}}}");
        if !name.chars().all(plain) || super::parse(&escape).is_err() {
            return error(start, format!("`{name}` is no known Unicode property"));
        }
        Ok(Item::Set(escape))
    }
}

fn push_item(inside: &mut String, item: &Item) {
    match item {
        Item::Code(code) => push_range(inside, *code, *code),
        Item::Set(set) => inside.push_str(&format!("[{set}]")),
        // `escape` answers none inside a class.
        Item::Look(_) => {}
    }
}

/// Writes the range without the surrogates, which are in no Rust string.
fn push_range(inside: &mut String, low: u32, high: u32) {
    for (low, high) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if low <= high {
            inside.push_str(&format!(r"\x{{{low:X}}}-\x{{{high:X}}}"));
        }
    }
}
