//! Compiled regular expressions for the `pattern` and `patternProperties` keywords.
//!
//! The generator compiles an ECMA-262 pattern once (`codegen/core/src/pattern.rs`), and this module executes
//! the result. For every pattern and every input, matching takes time proportional to input length × program
//! size, and does not recurse. It only reports whether there is a match and does not locate it. Patterns are
//! not anchored (JSON Schema Validation 6.3.3).

mod dfa;
mod nfa;
#[cfg(feature = "proptest")]
mod sample;
mod sequence;

pub use dfa::Dfa;

/// A compiled pattern, emitted as a constant of generated code.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<'t> {
    /// The regular expression as written in the schema.
    pub source: &'t str,
    /// The program to execute.
    pub program: PatternProgram<'t>,
}

/// The three representations of a compiled pattern.
#[derive(Debug, Clone, Copy)]
pub enum PatternProgram<'t> {
    /// A chain of atoms that is matched once from left to right without backtracking.
    Sequence(AtomSequence<'t>),
    /// The transition table of a small deterministic automaton.
    Dfa(Dfa<'t>),
    /// A nondeterministic program, for all other patterns.
    Nfa(Nfa<'t>),
}

/// A chain of atoms in which greedy matching is always correct.
///
/// Invariants that the compiler must prove: an atom with a variable count shares no character with the atoms
/// after it, up to and including the first one that cannot be empty. A sequence without `start` has a fixed
/// length.
#[derive(Debug, Clone, Copy)]
pub struct AtomSequence<'t> {
    /// True if the match must begin at the start of the input.
    pub start: bool,
    /// True if the match must end at the end of the input.
    pub end: bool,
    /// The atoms in matching order.
    pub atoms: &'t [SequenceAtom<'t>],
}

/// One step of an [`AtomSequence`].
#[derive(Debug, Clone, Copy)]
pub enum SequenceAtom<'t> {
    /// This exact string.
    Literal(&'t str),
    /// Between `min` and `max` characters of a class. [`UNBOUNDED`] means no maximum.
    Class {
        /// The set of matching characters.
        class: CharClass<'t>,
        /// The minimum number of characters.
        min: u32,
        /// The maximum number of characters.
        max: u32,
    },
}

/// The `max` of an atom without an upper bound.
pub const UNBOUNDED: u32 = u32::MAX;

/// A set of characters, as a bit set for ASCII and ranges for the rest.
#[derive(Debug, Clone, Copy)]
pub struct CharClass<'t> {
    /// Bit *n* represents the ASCII character *n*.
    pub ascii: u128,
    /// The non-ASCII characters as inclusive ranges, ascending and disjoint.
    pub ranges: &'t [(char, char)],
}

impl CharClass<'_> {
    /// Returns true if the set contains the character.
    #[inline]
    pub fn contains(&self, c: char) -> bool {
        let code = c as u32;
        if code < 0x80 {
            return (self.ascii >> code) & 1 == 1;
        }
        self.contains_non_ascii(c)
    }

    #[inline]
    fn contains_non_ascii(&self, c: char) -> bool {
        let after = self.ranges.partition_point(|&(low, _)| low <= c);
        after.checked_sub(1).and_then(|index| self.ranges.get(index)).is_some_and(|&(_, high)| c <= high)
    }
}

/// A nondeterministic program, whose threads are executed simultaneously.
#[derive(Debug, Clone, Copy)]
pub struct Nfa<'t> {
    /// True if every match must begin at the start of the input.
    pub start: bool,
    /// The instructions; execution starts at index 0.
    pub instructions: &'t [NfaInstruction],
    /// The character classes, referenced by instructions by index.
    pub classes: &'t [CharClass<'t>],
}

/// One instruction of an [`Nfa`]. Execution continues with the next instruction unless documented otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NfaInstruction {
    /// Consumes one character of the class with this index.
    Char(u32),
    /// Continues at both targets.
    Split(u32, u32),
    /// Continues at the target.
    Jump(u32),
    /// Continues only if the assertion holds at this position.
    Assert(LookAround),
    /// Reports a match.
    Match,
}

/// A zero-width assertion about the position between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookAround {
    /// `^`: the start of the input.
    Start,
    /// `$`: the end of the input.
    End,
    /// `\b`: a boundary of an ASCII word (ECMA-262 without the flag `i`).
    WordBoundary,
    /// `\B`: any position that is not a boundary of an ASCII word.
    NotWordBoundary,
}

impl LookAround {
    fn is_satisfied(self, before: Option<char>, after: Option<char>) -> bool {
        let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match self {
            LookAround::Start => before.is_none(),
            LookAround::End => after.is_none(),
            LookAround::WordBoundary => word(before) != word(after),
            LookAround::NotWordBoundary => word(before) == word(after),
        }
    }
}

impl Pattern<'_> {
    /// Returns true if the pattern matches anywhere in the input.
    ///
    /// Takes time at most proportional to input length × program size. Allocates only for programs with more
    /// than 256 instructions.
    #[inline]
    pub fn is_match(&self, text: &str) -> bool {
        match &self.program {
            PatternProgram::Sequence(sequence) => sequence.is_match(text),
            PatternProgram::Dfa(dfa) => dfa.is_match(text),
            PatternProgram::Nfa(nfa) => nfa.is_match(text),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
