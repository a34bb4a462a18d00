//! A nondeterministic program as a table of states, where that stays small.
//!
//! A state is what `contract_runtime::pattern::Nfa` knows between two characters: the instructions
//! that wait, and what an assertion can see of the character before. What the character after is
//! decides the step, so that the table finds exactly what the program finds.

use std::collections::BTreeMap;

use contract_runtime::pattern::{Instruction, Look};

use super::{CompiledClass, CompiledProgram};

/// The longest table, in entries: what a page of a book holds, and a cache without notice.
const TABLE_LIMIT: usize = 2048;
/// Before states that do the same are joined there may be more.
const STATE_LIMIT: usize = 1024;

/// The state from which the pattern cannot be found.
pub(super) const DEAD: usize = 0;
/// The state in which it was found.
pub(super) const FOUND: usize = 1;

/// The same program as a table; `None` where that would be large.
pub(super) fn determine(
    start: bool,
    instructions: &[Instruction],
    classes: &[CompiledClass],
) -> Option<CompiledProgram> {
    if instructions.len() > TABLE_LIMIT {
        return None;
    }
    let looks_at_words = instructions
        .iter()
        .any(|one| matches!(one, Instruction::Assert(Look::WordBoundary | Look::NotWordBoundary)));
    let alphabet = Alphabet::new(classes, looks_at_words)?;
    let program = Program { start, instructions, alphabet: &alphabet, looks_at_words };
    let table = Table::build(program)?.minimal();
    table.laid_out(alphabet.runs)
}

/// Characters that no class of the program tells apart.
pub(super) struct Alphabet {
    runs: Vec<(char, u8)>,
    /// By letter: which classes of the program contain it.
    members: Vec<Vec<bool>>,
    /// By letter: whether it is part of a word.
    word: Vec<bool>,
}

impl Alphabet {
    /// `None` where there are more letters than a byte counts.
    pub(super) fn new(classes: &[CompiledClass], looks_at_words: bool) -> Option<Self> {
        let is_word = |code: u32| {
            looks_at_words && char::from_u32(code).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        // The first code points of what may be different from what stands before.
        let mut firsts: Vec<u32> = (0..=0x80).collect();
        for (low, high) in classes.iter().flat_map(|class| &class.ranges) {
            firsts.extend([u32::from(*low), u32::from(*high) + 1]);
        }
        firsts.sort_unstable();
        firsts.dedup();
        let mut letters: BTreeMap<(Vec<bool>, bool), u8> = BTreeMap::new();
        let mut alphabet = Self { runs: Vec::new(), members: Vec::new(), word: Vec::new() };
        for first in firsts {
            // The surrogates are no characters; what follows them begins behind them.
            let first = if (0xD800..0xE000).contains(&first) { 0xE000 } else { first };
            let Some(c) = char::from_u32(first) else { continue };
            let members: Vec<bool> = classes.iter().map(|class| contains(class, c)).collect();
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

    /// How many letters there are.
    pub(super) const fn len(&self) -> usize {
        self.members.len()
    }

    /// The letter of a character.
    #[cfg(any(feature = "mock", feature = "proofs"))]
    pub(super) fn letter(&self, c: char) -> usize {
        let after = self.runs.partition_point(|&(first, _)| first <= c);
        after.checked_sub(1).and_then(|run| self.runs.get(run)).map_or(0, |&(_, letter)| usize::from(letter))
    }

    /// The first character of each run of one letter.
    #[cfg(any(feature = "mock", feature = "proofs"))]
    pub(super) fn firsts(&self) -> impl Iterator<Item = char> {
        self.runs.iter().map(|&(first, _)| first)
    }
}

fn contains(class: &CompiledClass, c: char) -> bool {
    match u32::from(c) {
        code @ 0..0x80 => class.ascii >> code & 1 == 1,
        _ => class.ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)),
    }
}

/// What assertions see beside a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beside {
    Nothing,
    Word,
    Other,
}

/// What the program knows between two characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    /// The instructions that wait, ascending.
    waiting: Vec<u32>,
    before: Beside,
}

pub(super) struct Program<'a> {
    /// Whether every match begins where the text begins.
    pub(super) start: bool,
    /// The classes that they name are those of the alphabet.
    pub(super) instructions: &'a [Instruction],
    pub(super) alphabet: &'a Alphabet,
    pub(super) looks_at_words: bool,
}

impl Program<'_> {
    /// The instructions reached without reading; `None` when `Match` is among them.
    fn follow(&self, state: &State, after: Beside) -> Option<Vec<u32>> {
        let mut reached = vec![false; self.instructions.len()];
        let mut open = state.waiting.clone();
        if state.before == Beside::Nothing || !self.start {
            open.push(0);
        }
        let mut reading = Vec::new();
        while let Some(at) = open.pop() {
            if std::mem::replace(reached.get_mut(at as usize)?, true) {
                continue;
            }
            match self.instructions.get(at as usize)? {
                Instruction::Match => return None,
                Instruction::Jump(to) => open.push(*to),
                Instruction::Split(one, other) => open.extend([*one, *other]),
                Instruction::Assert(look) if holds(*look, state.before, after) => open.push(at + 1),
                Instruction::Assert(_) => {}
                Instruction::Char(_) => reading.push(at),
            }
        }
        Some(reading)
    }

    /// The state behind a letter.
    fn read(&self, reading: &[u32], letter: usize) -> State {
        let members = &self.alphabet.members[letter];
        let mut waiting: Vec<u32> = reading
            .iter()
            .filter(|at| match self.instructions[**at as usize] {
                Instruction::Char(class) => members[class as usize],
                _ => false,
            })
            .map(|at| at + 1)
            .collect();
        waiting.sort_unstable();
        waiting.dedup();
        State { waiting, before: self.beside(letter) }
    }

    fn beside(&self, letter: usize) -> Beside {
        if self.looks_at_words && self.alphabet.word[letter] { Beside::Word } else { Beside::Other }
    }
}

fn holds(look: Look, before: Beside, after: Beside) -> bool {
    match look {
        Look::Start => before == Beside::Nothing,
        Look::End => after == Beside::Nothing,
        Look::WordBoundary => (before == Beside::Word) != (after == Beside::Word),
        Look::NotWordBoundary => (before == Beside::Word) == (after == Beside::Word),
    }
}

/// States by number, [`DEAD`] and [`FOUND`] first.
struct Table {
    start: usize,
    /// By state: the next one for each letter.
    next: Vec<Vec<usize>>,
    /// By state: whether the pattern is found if the text ends.
    ends: Vec<bool>,
}

/// A program whose states get their numbers as they are reached: [`DEAD`] and [`FOUND`] first,
/// then the one in which texts begin.
pub(super) struct Determined<'a> {
    program: Program<'a>,
    /// Without the first two.
    states: Vec<State>,
    numbers: BTreeMap<State, usize>,
}

impl<'a> Determined<'a> {
    /// The state in which every text begins.
    pub(super) const START: usize = 2;

    pub(super) fn new(program: Program<'a>) -> Self {
        let first = State { waiting: Vec::new(), before: Beside::Nothing };
        Self { program, states: vec![first.clone()], numbers: BTreeMap::from([(first, Self::START)]) }
    }

    /// How many states were reached so far.
    pub(super) fn len(&self) -> usize {
        self.states.len() + Self::START
    }

    /// What one row costs at most, in instructions that are looked at.
    #[cfg(any(feature = "mock", feature = "proofs"))]
    pub(super) fn cost(&self) -> usize {
        self.program.instructions.len() * (self.program.alphabet.len() + 3)
    }

    fn state(&self, number: usize) -> Option<&State> {
        self.states.get(number.checked_sub(Self::START)?)
    }

    /// Whether the pattern is found if the text ends in the state.
    pub(super) fn ends(&self, number: usize) -> bool {
        let found = |state| self.program.follow(state, Beside::Nothing).is_none();
        self.state(number).map_or(number == FOUND, found)
    }

    /// The state behind each letter.
    pub(super) fn row(&mut self, number: usize) -> Vec<usize> {
        let letters = self.program.alphabet.len();
        let Some(state) = self.state(number).cloned() else { return vec![number; letters] };
        let word = self.program.follow(&state, Beside::Word);
        let other = self.program.follow(&state, Beside::Other);
        let mut row = Vec::with_capacity(letters);
        for letter in 0..letters {
            let reading = if self.program.beside(letter) == Beside::Word { &word } else { &other };
            let Some(reading) = reading else {
                row.push(FOUND);
                continue;
            };
            let state = self.program.read(reading, letter);
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

impl Table {
    fn build(program: Program<'_>) -> Option<Self> {
        let letters = program.alphabet.len();
        let mut determined = Determined::new(program);
        let mut table = Self {
            start: Determined::START,
            next: vec![vec![DEAD; letters], vec![FOUND; letters]],
            ends: vec![false, true],
        };
        while table.next.len() < determined.len() {
            let state = table.next.len();
            table.ends.push(determined.ends(state));
            table.next.push(determined.row(state));
            if determined.len() > STATE_LIMIT + Determined::START {
                return None;
            }
        }
        Some(table)
    }

    /// The same with states joined that no text tells apart (Moore 1956).
    fn minimal(self) -> Self {
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
        // The first two states of the list are the first of their blocks, so those keep their places.
        let mut next = vec![Vec::new(); count];
        let mut ends = vec![false; count];
        for (state, row) in self.next.iter().enumerate() {
            next[block[state]] = row.iter().map(|to| block[*to]).collect();
            ends[block[state]] = self.ends[state];
        }
        Self { start: block[self.start], next, ends }
    }

    /// In the order that `contract_runtime::pattern::Dfa` wants; `None` where it is too long.
    fn laid_out(&self, runs: Vec<(char, u8)>) -> Option<CompiledProgram> {
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
