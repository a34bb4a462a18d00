//! Compiles ECMA-262 patterns to the static programs of `contract_runtime::pattern`. The entry point is
//! [`compile`].
//!
//! JSON Schema patterns are ECMA-262 regular expressions with the `u` flag (Core 6.4). `translate` converts
//! their syntax to that of `regex-syntax`, which provides the set algebra and the Unicode tables. If greedy
//! matching is provably exact for a pattern, its program is a chain that is matched in one pass (`assemble`).
//! Otherwise, it is a small table of states (`determinize`) or, as a last resort, a nondeterministic program.
//! Patterns that cannot be matched in linear time are rejected.
//!
//! The compiler is more lenient than the `u` flag if all dialects agree: an escaped space or ASCII
//! punctuation character matches itself, and so do `]`, `}`, a `{` that does not begin a quantifier, and a
//! `-` next to a class escape.
//!
//! ```
//! # use contract_codegen_core as contract_codegen;
//! use contract_codegen::pattern::compile;
//!
//! assert!(compile(r"^\p{Lu}{3}$")?.is_match("ÄÖÜ"));
//! let refused = compile(r"(a)\1").unwrap_err();
//! assert_eq!(refused.remedy(), "write it without look-around and back-references");
//! # Ok::<(), contract_codegen::pattern::PatternError>(())
//! ```

mod assemble;
mod determinize;
#[doc(hidden)]
pub mod inclusion;
mod print;
mod translate;

use std::fmt;

use contract_runtime::pattern::CharClass;
use contract_runtime::pattern::NfaInstruction;
use contract_runtime::pattern::Pattern;
use contract_runtime::pattern::SequenceAtom;

use crate::list_arena::ListArena;

/// The maximum number of instructions in a program.
pub const INSTRUCTION_LIMIT: usize = 20_000;

/// The reason why a pattern cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// The byte offset of the problem in the pattern.
    pub offset: usize,
    /// The problem at this offset, as a clause such as `the escape is not complete`.
    pub reason: String,
}

impl PatternError {
    /// Returns the recommended change of the pattern, as an imperative clause.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        if self.reason.ends_with("cannot be matched in linear time") {
            "write it without look-around and back-references"
        } else if self.reason.starts_with("flags") {
            "write out both cases instead, such as `[aA]`"
        } else if self.reason.contains("too ") {
            "write it smaller, with fewer or shorter repetitions"
        } else {
            "correct it: it is not a valid ECMA-262 pattern"
        }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for PatternError {}

/// A compiled pattern, which can be executed or printed as Rust code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledPattern {
    /// The pattern as it is spelled in the schema.
    pub source: String,
    pub(crate) program: CompiledProgram,
}

/// The program of a pattern: the owned form of `contract_runtime::pattern::PatternProgram`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompiledProgram {
    /// A sequence of literals and repeated characters, for which greedy matching is always correct.
    Sequence {
        /// True if each match must begin at the start of the string.
        start: bool,
        /// True if each match must end at the end of the string.
        end: bool,
        atoms: Vec<CompiledAtom>,
    },
    /// A table of states. The fields are the arguments of `contract_runtime::pattern::Dfa::new`.
    Dfa {
        /// The partition of all characters into runs of the same character class: the first character of each
        /// run, and its class.
        runs: Vec<(char, u8)>,
        /// The number of character classes, which is the length of a transition row.
        stride: u16,
        /// The number of the initial state.
        start: u16,
        /// The number of the first state that does not accept at the end of the string.
        open: u16,
        /// The rows of all states, each with the next state for every character class.
        next: Vec<u16>,
    },
    /// A nondeterministic program, which consists of instructions.
    Nfa {
        /// True if each match must begin at the start of the string.
        start: bool,
        instructions: Vec<NfaInstruction>,
        /// The classes to which the instructions refer.
        classes: Vec<CompiledClass>,
    },
}

/// A part of a chain: the owned form of `contract_runtime::pattern::SequenceAtom`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CompiledAtom {
    Literal(String),
    /// Characters of one class, repeated from `min` to `max` times.
    Class {
        class: CompiledClass,
        min: u32,
        /// The maximum count, or `contract_runtime::pattern::UNBOUNDED` if there is none.
        max: u32,
    },
}

/// A set of characters: the owned form of `contract_runtime::pattern::CharClass`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CompiledClass {
    /// A bit mask in which bit *n* represents the ASCII character *n*.
    pub(crate) ascii: u128,
    /// The non-ASCII characters as inclusive ranges. Invariant: the ranges are ascending and disjoint.
    pub(crate) ranges: Vec<(char, char)>,
}

/// Compiles a pattern.
///
/// # Errors
/// Returns an error if the pattern is not an ECMA-262 pattern with the `u` flag, if it contains look-around
/// or back-references, or if its program exceeds [`INSTRUCTION_LIMIT`].
pub fn compile(source: &str) -> Result<CompiledPattern, PatternError> {
    let translated = translate::translate_pattern(source)?;
    let hir = parse_hir(&translated).map_err(|reason| PatternError { offset: 0, reason })?;
    let program = assemble::assemble_program(&hir)?;
    Ok(CompiledPattern { source: source.to_owned(), program })
}

impl CompiledPattern {
    /// Returns the pattern in the form that the runtime executes. Its lists are stored in the arenas.
    #[must_use]
    pub(crate) fn to_pattern<'t>(
        &'t self,
        atoms: &'t ListArena<SequenceAtom<'t>>,
        classes: &'t ListArena<CharClass<'t>>,
    ) -> Pattern<'t> {
        print::build_pattern(self, atoms, classes)
    }

    /// Returns true if the pattern matches anywhere in the string.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.to_pattern(&ListArena::default(), &ListArena::default()).is_match(text)
    }

    /// Returns a one-line Rust expression of type `Pattern`. The expression requires imports of
    /// `contract_runtime::pattern` and `pattern::Pattern`.
    #[must_use]
    pub(crate) fn to_rust_expression(&self) -> String {
        print::print_expression(self)
    }
}

/// Parses a pattern in the syntax of `regex-syntax`, as `translate` returns it.
fn parse_hir(translated: &str) -> Result<regex_syntax::hir::Hir, String> {
    regex_syntax::ParserBuilder::new()
        // `(?-u:\B)` could match inside a multi-byte character, but the programs match only whole characters.
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
