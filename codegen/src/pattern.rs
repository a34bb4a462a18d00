//! ECMA-262 patterns to the static programs of `contract_runtime::pattern`.
//!
//! JSON Schema patterns are ECMA-262 regular expressions in the sense of the `u`
//! flag (Core 6.4). Their syntax is read here (`translate`), the set algebra and
//! the Unicode tables are those of `regex-syntax`, and the result is laid out as
//! a program: a chain read once where that is provably exact (`assemble`), else a
//! table of states where it stays small (`determine`), else a nondeterministic
//! program. What cannot be run in linear time is refused.
//!
//! More lenient than the `u` flag where every dialect means the same: an escaped
//! space or ASCII punctuation character stands for itself, and so do `]`, `}`, a `{` that
//! begins no quantifier, and a `-` beside a class escape.
//!
//! ```
//! use contract_codegen::pattern::compile;
//!
//! assert!(compile(r"^\p{Lu}{3}$")?.is_match("ÄÖÜ"));
//! let refused = compile(r"(a)\1").unwrap_err();
//! assert_eq!(refused.remedy(), "write it without look-around and back-references");
//! # Ok::<(), contract_codegen::pattern::PatternError>(())
//! ```

mod assemble;
mod determine;
#[cfg(any(feature = "mock", feature = "proofs"))]
pub(crate) mod inclusion;
mod print;
mod translate;

use std::fmt;

use contract_runtime::pattern::Atom;
use contract_runtime::pattern::Class;
use contract_runtime::pattern::Instruction;
use contract_runtime::pattern::Pattern;

use crate::shelf::Shelf;

/// The most instructions a program may have.
pub const INSTRUCTION_LIMIT: usize = 20_000;

/// Why a pattern cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// Where in the pattern, in bytes.
    pub offset: usize,
    /// What is wrong there, as a sentence without a full stop.
    pub reason: String,
}

impl PatternError {
    /// What to do about it, as a request.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        if self.reason.ends_with("cannot be matched in linear time") {
            "write it without look-around and back-references"
        } else if self.reason.starts_with("flags") {
            "say it without them: both cases written out, such as `[aA]`"
        } else if self.reason.contains("too ") {
            "write it smaller, with fewer or shorter repetitions"
        } else {
            "mend it: it is no pattern of ECMA-262"
        }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for PatternError {}

/// A compiled pattern, to be printed or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The pattern as the schema spells it.
    pub source: String,
    /// What to run.
    pub(crate) program: CompiledProgram,
}

/// Owned form of `contract_runtime::pattern::Program`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompiledProgram {
    /// A chain of atoms for which taking as much as possible is never wrong.
    Sequence {
        /// Whether the match begins where the text begins.
        start: bool,
        /// Whether the match ends where the text ends.
        end: bool,
        /// What is read, in order.
        atoms: Vec<CompiledAtom>,
    },
    /// A table of states; the arguments of `contract_runtime::pattern::Dfa::new`.
    Dfa {
        /// The first character of each run of one class, and the class.
        runs: Vec<(char, u8)>,
        /// How many classes there are, which is how long a row is.
        stride: u16,
        /// Where a text begins.
        start: u16,
        /// The first state in which a text must not end.
        open: u16,
        /// The rows.
        next: Vec<u16>,
    },
    /// A nondeterministic program.
    Nfa {
        /// Whether every match begins where the text begins.
        start: bool,
        /// The instructions.
        instructions: Vec<Instruction>,
        /// The classes they name.
        classes: Vec<CompiledClass>,
    },
}

/// Owned form of `contract_runtime::pattern::Atom`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompiledAtom {
    /// Exactly this text.
    Literal(String),
    /// A number of characters of a class.
    Class {
        /// Which characters.
        class: CompiledClass,
        /// The least number of them.
        min: u32,
        /// The greatest number, `contract_runtime::pattern::UNBOUNDED` for none.
        max: u32,
    },
}

/// Owned form of `contract_runtime::pattern::Class`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CompiledClass {
    /// Bit *n* stands for the ASCII character *n*.
    pub(crate) ascii: u128,
    /// The other characters: inclusive ranges, ascending, disjoint.
    pub(crate) ranges: Vec<(char, char)>,
}

/// Compiles a pattern.
///
/// # Errors
/// When the pattern is not ECMA-262 with the `u` flag, when it has look-around or
/// back-references, or when its program exceeds [`INSTRUCTION_LIMIT`].
pub fn compile(source: &str) -> Result<Compiled, PatternError> {
    let translated = translate::translate(source)?;
    let hir = parse(&translated).map_err(|reason| PatternError { offset: 0, reason })?;
    let program = assemble::assemble(&hir)?;
    Ok(Compiled { source: source.to_owned(), program })
}

impl Compiled {
    /// The pattern in memory, which borrows its lists from shelves.
    #[must_use]
    pub(crate) fn pattern<'t>(
        &'t self,
        atoms: &'t Shelf<Atom<'t>>,
        classes: &'t Shelf<Class<'t>>,
    ) -> Pattern<'t> {
        print::pattern(self, atoms, classes)
    }

    /// Whether the pattern is found in a text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.pattern(&Shelf::default(), &Shelf::default()).is_match(text)
    }

    /// An expression of type `Pattern`, in one line, where `contract_runtime::pattern` and
    /// `pattern::Pattern` are imported.
    #[must_use]
    pub(crate) fn text(&self) -> String {
        print::text(self)
    }
}

/// Reads what `translate` wrote.
fn parse(translated: &str) -> Result<regex_syntax::hir::Hir, String> {
    regex_syntax::ParserBuilder::new()
        // `(?-u:\B)` may hold inside a character's bytes; our programs read
        // characters, so that it cannot matter.
        .utf8(false)
        .build()
        .parse(translated)
        .map_err(|error| match error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        })
}

#[cfg(test)]
mod tests;
