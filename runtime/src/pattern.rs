//! Regular expressions as programs, for the `pattern` and
//! `patternProperties` keywords.
//!
//! The generator compiles an ECMA-262 pattern once (`codegen/src/pattern.rs`);
//! this file runs the result. Matching takes time proportional to text ×
//! program for every pattern and every text, does not recurse, and does not
//! search for a match's place: only whether there is one (JSON Schema
//! Validation 6.3.3, a pattern is not anchored).

mod dfa;
mod nfa;
mod sequence;
#[cfg(feature = "proptest")]
mod walk;

pub use dfa::Dfa;

/// A compiled pattern; a constant of generated code.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<'t> {
    /// The pattern as the schema spells it.
    pub source: &'t str,
    /// What to run.
    pub program: Program<'t>,
}

/// The three forms of a compiled pattern.
#[derive(Debug, Clone, Copy)]
pub enum Program<'t> {
    /// A chain of atoms read once from left to right.
    Sequence(Sequence<'t>),
    /// A table of states, where it is small.
    Dfa(Dfa<'t>),
    /// Anything else.
    Nfa(Nfa<'t>),
}

/// A chain of atoms for which taking as much as possible is never wrong.
///
/// Whoever builds one proves it: an atom whose count varies shares no
/// character with the atoms after it up to the first that cannot be empty. A
/// sequence without `start` has a fixed length.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'t> {
    /// Whether the match begins where the text begins.
    pub start: bool,
    /// Whether the match ends where the text ends.
    pub end: bool,
    /// What is read, in order.
    pub atoms: &'t [Atom<'t>],
}

/// One step of a [`Sequence`].
#[derive(Debug, Clone, Copy)]
pub enum Atom<'t> {
    /// Exactly this text.
    Literal(&'t str),
    /// `min` to `max` characters of a class; [`UNBOUNDED`] is no maximum.
    Class {
        /// Which characters.
        class: Class<'t>,
        /// The least number of them.
        min: u32,
        /// The greatest number of them.
        max: u32,
    },
}

/// The `max` of an atom that repeats without end.
pub const UNBOUNDED: u32 = u32::MAX;

/// A set of characters.
#[derive(Debug, Clone, Copy)]
pub struct Class<'t> {
    /// Bit *n* stands for the ASCII character *n*.
    pub ascii: u128,
    /// The other characters: inclusive ranges, ascending, disjoint.
    pub ranges: &'t [(char, char)],
}

impl Class<'_> {
    /// Whether the character is in the set.
    #[inline]
    pub fn contains(&self, c: char) -> bool {
        let code = c as u32;
        if code < 0x80 {
            return (self.ascii >> code) & 1 == 1;
        }
        self.contains_wide(c)
    }

    #[inline]
    fn contains_wide(&self, c: char) -> bool {
        let after = self.ranges.partition_point(|&(low, _)| low <= c);
        after.checked_sub(1).and_then(|index| self.ranges.get(index)).is_some_and(|&(_, high)| c <= high)
    }
}

/// A nondeterministic program, run for all its threads at once.
#[derive(Debug, Clone, Copy)]
pub struct Nfa<'t> {
    /// Whether every match begins where the text begins.
    pub start: bool,
    /// The instructions; the first is where a match begins.
    pub instructions: &'t [Instruction],
    /// The classes the instructions name by index.
    pub classes: &'t [Class<'t>],
}

/// One instruction of an [`Nfa`]. Unless it says otherwise the next
/// instruction follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// Read one character of the class with this index.
    Char(u32),
    /// Go on at both places.
    Split(u32, u32),
    /// Go on elsewhere.
    Jump(u32),
    /// Go on only if this holds here.
    Assert(Look),
    /// The pattern is found.
    Match,
}

/// A condition on a place between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// `^`: the text begins here.
    Start,
    /// `$`: the text ends here.
    End,
    /// `\b`: a word begins or ends here (ASCII words, ECMA-262 without `i`).
    WordBoundary,
    /// `\B`: no word begins or ends here.
    NotWordBoundary,
}

impl Look {
    fn holds(self, before: Option<char>, after: Option<char>) -> bool {
        let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match self {
            Look::Start => before.is_none(),
            Look::End => after.is_none(),
            Look::WordBoundary => word(before) != word(after),
            Look::NotWordBoundary => word(before) == word(after),
        }
    }
}

impl Pattern<'_> {
    /// Whether the pattern is found anywhere in the text.
    ///
    /// Time is bounded by text × program. Nothing is allocated unless the
    /// program has more than 256 instructions.
    #[inline]
    pub fn is_match(&self, text: &str) -> bool {
        match &self.program {
            Program::Sequence(sequence) => sequence.is_match(text),
            Program::Dfa(dfa) => dfa.is_match(text),
            Program::Nfa(nfa) => nfa.is_match(text),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
