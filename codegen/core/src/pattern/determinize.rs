//! Converts a nondeterministic program to a table of states if the table is small.
//!
//! A state contains the state of `contract_runtime::pattern::Nfa` between two characters: the pending
//! instructions, and the properties of the previous character that assertions examine. The next character
//! selects the transition. The table therefore matches exactly the same strings as the program.

use std::collections::BTreeMap;

use contract_runtime::pattern::{LookAround, NfaInstruction};

use super::{CompiledClass, CompiledProgram};

/// The maximum number of table entries, chosen so that a table fits into a CPU cache.
const TABLE_LIMIT: usize = 2048;
/// The maximum number of states before equivalent states are merged.
const STATE_LIMIT: usize = 1024;

/// The number of the state from which no match is possible.
pub(super) const DEAD: usize = 0;
/// The number of the state after a match. Further characters do not change it.
pub(super) const FOUND: usize = 1;

/// Converts a program to a table. Returns `None` if the table would be too large.
pub(super) fn determinize_program(
    start: bool,
    instructions: &[NfaInstruction],
    classes: &[CompiledClass],
) -> Option<CompiledProgram> {
    if instructions.len() > TABLE_LIMIT {
        return None;
    }
    let looks_at_words = instructions.iter().any(|one| {
        matches!(one, NfaInstruction::Assert(LookAround::WordBoundary | LookAround::NotWordBoundary))
    });
    let alphabet = CharacterAlphabet::new(classes, looks_at_words)?;
    let program = NfaProgram { start, instructions, alphabet: &alphabet, looks_at_words };
    let table = StateTable::build_table(program)?.minimize();
    table.to_program(alphabet.runs)
}

/// The partition of all characters into letters. A letter is a set of characters that no class of the program
/// distinguishes.
pub(super) struct CharacterAlphabet {
    runs: Vec<(char, u8)>,
    /// For each letter, whether it belongs to each class of the program.
    members: Vec<Vec<bool>>,
    /// For each letter, whether its characters are word characters (`\w`).
    word: Vec<bool>,
}

impl CharacterAlphabet {
    /// Partitions the characters into letters. Returns `None` if there are more than 256 letters.
    pub(super) fn new(classes: &[CompiledClass], looks_at_words: bool) -> Option<Self> {
        let is_word = |code: u32| {
            looks_at_words && char::from_u32(code).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        // The code points at which the membership in a class may change.
        let mut firsts: Vec<u32> = (0..=0x80).collect();
        for (low, high) in classes.iter().flat_map(|class| &class.ranges) {
            firsts.extend([u32::from(*low), u32::from(*high) + 1]);
        }
        firsts.sort_unstable();
        firsts.dedup();
        let mut letters: BTreeMap<(Vec<bool>, bool), u8> = BTreeMap::new();
        let mut alphabet = Self { runs: Vec::new(), members: Vec::new(), word: Vec::new() };
        for first in firsts {
            // Surrogates are not characters, so a run cannot begin within them.
            let first = if (0xD800..0xE000).contains(&first) { 0xE000 } else { first };
            let Some(c) = char::from_u32(first) else { continue };
            let members: Vec<bool> = classes.iter().map(|class| class_contains(class, c)).collect();
            let key = (members, is_word(first));
            let next = letters.len();
            let letter = match letters.get(&key) {
                Some(letter) => *letter,
                None => {
                    let letter = u8::try_from(next).ok()?;
                    alphabet.members.push(key.0.clone());
                    alphabet.word.push(key.1);
                    letters.insert(key, letter);
                    letter
                }
            };
            match alphabet.runs.last() {
                Some((_, same)) if *same == letter => {}
                Some((before, _)) if *before == c => {
                    alphabet.runs.pop();
                    alphabet.runs.push((c, letter));
                }
                _ => alphabet.runs.push((c, letter)),
            }
        }
        Some(alphabet)
    }

    pub(super) const fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of the letter that contains the character `c`.
    pub(super) fn letter_of(&self, c: char) -> usize {
        let after = self.runs.partition_point(|&(first, _)| first <= c);
        after.checked_sub(1).and_then(|run| self.runs.get(run)).map_or(0, |&(_, letter)| usize::from(letter))
    }

    /// Iterates over the first character of each run of characters with the same letter.
    pub(super) fn run_starts(&self) -> impl Iterator<Item = char> {
        self.runs.iter().map(|&(first, _)| first)
    }
}

fn class_contains(class: &CompiledClass, c: char) -> bool {
    match u32::from(c) {
        code @ 0..0x80 => class.ascii >> code & 1 == 1,
        _ => class.ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)),
    }
}

/// The kind of the character before or after a position, as far as assertions such as `\b` distinguish it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NeighborKind {
    Nothing,
    Word,
    Other,
}

/// The state of the nondeterministic program between two characters of the string.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NfaState {
    /// The instructions at which matching continues with the next character, in ascending order.
    waiting: Vec<u32>,
    before: NeighborKind,
}

pub(super) struct NfaProgram<'a> {
    /// True if every match must begin at the start of the string.
    pub(super) start: bool,
    /// The instructions. Their classes are numbered as in the alphabet.
    pub(super) instructions: &'a [NfaInstruction],
    pub(super) alphabet: &'a CharacterAlphabet,
    pub(super) looks_at_words: bool,
}

impl NfaProgram<'_> {
    /// Returns the `Char` instructions that are reachable without consuming a character, or `None` if `Match`
    /// is reachable.
    fn epsilon_closure(&self, state: &NfaState, after: NeighborKind) -> Option<Vec<u32>> {
        let mut reached = vec![false; self.instructions.len()];
        let mut open = state.waiting.clone();
        if state.before == NeighborKind::Nothing || !self.start {
            open.push(0);
        }
        let mut reading = Vec::new();
        while let Some(at) = open.pop() {
            if std::mem::replace(reached.get_mut(at as usize)?, true) {
                continue;
            }
            match self.instructions.get(at as usize)? {
                NfaInstruction::Match => return None,
                NfaInstruction::Jump(to) => open.push(*to),
                NfaInstruction::Split(one, other) => open.extend([*one, *other]),
                NfaInstruction::Assert(look) if assertion_holds(*look, state.before, after) => {
                    open.push(at + 1)
                }
                NfaInstruction::Assert(_) => {}
                NfaInstruction::Char(_) => reading.push(at),
            }
        }
        Some(reading)
    }

    /// Returns the state after a character of the given letter. `reading` contains the `Char` instructions
    /// that may match it.
    fn step_letter(&self, reading: &[u32], letter: usize) -> NfaState {
        let members = &self.alphabet.members[letter];
        let mut waiting: Vec<u32> = reading
            .iter()
            .filter(|at| match self.instructions[**at as usize] {
                NfaInstruction::Char(class) => members[class as usize],
                _ => false,
            })
            .map(|at| at + 1)
            .collect();
        waiting.sort_unstable();
        waiting.dedup();
        NfaState { waiting, before: self.neighbor_kind(letter) }
    }

    fn neighbor_kind(&self, letter: usize) -> NeighborKind {
        if self.looks_at_words && self.alphabet.word[letter] {
            NeighborKind::Word
        } else {
            NeighborKind::Other
        }
    }
}

fn assertion_holds(look: LookAround, before: NeighborKind, after: NeighborKind) -> bool {
    match look {
        LookAround::Start => before == NeighborKind::Nothing,
        LookAround::End => after == NeighborKind::Nothing,
        LookAround::WordBoundary => (before == NeighborKind::Word) != (after == NeighborKind::Word),
        LookAround::NotWordBoundary => (before == NeighborKind::Word) == (after == NeighborKind::Word),
    }
}

/// A table of states by number. Invariant: [`DEAD`] and [`FOUND`] come first.
struct StateTable {
    start: usize,
    /// For each state, the number of the next state for each letter.
    next: Vec<Vec<usize>>,
    /// For each state, whether the pattern matches if the string ends there.
    ends: Vec<bool>,
}

/// A nondeterministic program as a table of states that is built on demand. States are numbered when they are
/// first reached, after [`DEAD`], [`FOUND`] and the initial state.
pub(super) struct LazyDfa<'a> {
    program: NfaProgram<'a>,
    /// All states that have been reached, except [`DEAD`] and [`FOUND`].
    states: Vec<NfaState>,
    numbers: BTreeMap<NfaState, usize>,
}

impl<'a> LazyDfa<'a> {
    /// The number of the initial state.
    pub(super) const START: usize = 2;

    pub(super) fn new(program: NfaProgram<'a>) -> Self {
        let first = NfaState { waiting: Vec::new(), before: NeighborKind::Nothing };
        Self { program, states: vec![first.clone()], numbers: BTreeMap::from([(first, Self::START)]) }
    }

    /// Returns the number of states that have been reached so far.
    pub(super) fn len(&self) -> usize {
        self.states.len() + Self::START
    }

    /// Returns the maximum cost of computing one row, as the number of instructions that are inspected.
    pub(super) fn row_cost(&self) -> usize {
        self.program.instructions.len() * (self.program.alphabet.len() + 3)
    }

    fn state_at(&self, number: usize) -> Option<&NfaState> {
        self.states.get(number.checked_sub(Self::START)?)
    }

    /// Returns true if the pattern matches when the string ends in this state.
    pub(super) fn accepts_at_end(&self, number: usize) -> bool {
        let found = |state| self.program.epsilon_closure(state, NeighborKind::Nothing).is_none();
        self.state_at(number).map_or(number == FOUND, found)
    }

    /// Returns the number of the next state for each letter.
    pub(super) fn transition_row(&mut self, number: usize) -> Vec<usize> {
        let letters = self.program.alphabet.len();
        let Some(state) = self.state_at(number).cloned() else { return vec![number; letters] };
        let word = self.program.epsilon_closure(&state, NeighborKind::Word);
        let other = self.program.epsilon_closure(&state, NeighborKind::Other);
        let mut row = Vec::with_capacity(letters);
        for letter in 0..letters {
            let reading =
                if self.program.neighbor_kind(letter) == NeighborKind::Word { &word } else { &other };
            let Some(reading) = reading else {
                row.push(FOUND);
                continue;
            };
            let state = self.program.step_letter(reading, letter);
            if state.waiting.is_empty() && self.program.start {
                row.push(DEAD);
                continue;
            }
            let Self { states, numbers, .. } = self;
            row.push(*numbers.entry(state).or_insert_with_key(|state| {
                states.push(state.clone());
                states.len() + Self::START - 1
            }));
        }
        row
    }
}

impl StateTable {
    fn build_table(program: NfaProgram<'_>) -> Option<Self> {
        let letters = program.alphabet.len();
        let mut determined = LazyDfa::new(program);
        let mut table = Self {
            start: LazyDfa::START,
            next: vec![vec![DEAD; letters], vec![FOUND; letters]],
            ends: vec![false, true],
        };
        while table.next.len() < determined.len() {
            let state = table.next.len();
            table.ends.push(determined.accepts_at_end(state));
            table.next.push(determined.transition_row(state));
            if determined.len() > STATE_LIMIT + LazyDfa::START {
                return None;
            }
        }
        Some(table)
    }

    /// Merges states that no string distinguishes (Moore 1956).
    fn minimize(self) -> Self {
        let mut block: Vec<usize> = self.ends.iter().map(|ends| usize::from(*ends)).collect();
        let mut count = 2;
        loop {
            let mut numbers = BTreeMap::new();
            let mut finer = Vec::with_capacity(block.len());
            for (state, row) in self.next.iter().enumerate() {
                let key = (block[state], row.iter().map(|to| block[*to]).collect::<Vec<_>>());
                let next = numbers.len();
                finer.push(*numbers.entry(key).or_insert(next));
            }
            let stable = numbers.len() == count;
            (block, count) = (finer, numbers.len());
            if stable {
                break;
            }
        }
        // The first two states are the first of their blocks, so they keep their numbers.
        let mut next = vec![Vec::new(); count];
        let mut ends = vec![false; count];
        for (state, row) in self.next.iter().enumerate() {
            next[block[state]] = row.iter().map(|to| block[*to]).collect();
            ends[block[state]] = self.ends[state];
        }
        Self { start: block[self.start], next, ends }
    }

    /// Orders the states as `contract_runtime::pattern::Dfa` requires. Returns `None` if the table is too
    /// large.
    fn to_program(&self, runs: Vec<(char, u8)>) -> Option<CompiledProgram> {
        let stride = self.next.first()?.len();
        let others = |ends: bool| (2..self.next.len()).filter(move |state| self.ends[*state] == ends);
        let order: Vec<usize> = [DEAD, FOUND].into_iter().chain(others(true)).chain(others(false)).collect();
        if order.len() * stride > TABLE_LIMIT {
            return None;
        }
        let row = |place: usize| u16::try_from(place * stride).ok();
        let mut rows = vec![0; order.len()];
        for (place, state) in order.iter().enumerate() {
            rows[*state] = row(place)?;
        }
        let next = order.iter().flat_map(|state| &self.next[*state]).map(|to| rows[*to]).collect();
        let open = row(2 + others(true).count())?;
        let stride = u16::try_from(stride).ok()?;
        Some(CompiledProgram::Dfa { runs, stride, start: rows[self.start], open, next })
    }
}
