//! Whether every text that some patterns take is taken by others, and the shortest that is not.
//!
//! The runtime's programs of both sides are read side by side, breadth first, so that the first
//! difference is found at its shortest text. What is done for an answer is bounded; where that does
//! not suffice the answer is that nobody knows.

use std::collections::HashMap;

use contract_runtime::pattern::{Instruction, Look};

use super::{
    Compiled, CompiledProgram, PatternError, assemble,
    determine::{Alphabet, DEAD, Determined, FOUND, Program as Running},
    parse, translate,
};

/// Instructions looked at for one answer: some tens of milliseconds.
const EFFORT: usize = 6_000_000;
/// Pairs of states that are kept in mind.
const MOST_STATES: usize = 60_000;
/// Characters outside of ASCII that people know, for witnesses.
const KNOWN: [char; 6] = ['é', 'ж', '中', '٣', '€', '😀'];

/// A pattern as the instructions that the runtime follows for it.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    compiled: Compiled,
}

impl Program {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// As [`compile`](super::compile).
    pub(crate) fn of(source: &str) -> Result<Self, PatternError> {
        let hir = parse(&translate::translate(source)?);
        let hir = hir.map_err(|reason| PatternError { offset: 0, reason })?;
        let program = assemble::instructions(&hir)?;
        Ok(Self { compiled: Compiled { source: source.to_owned(), program } })
    }

    /// Whether the pattern is found in a text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }
}

/// Texts that all of some patterns take, of a length within bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts<'p> {
    /// The patterns.
    pub(crate) patterns: Vec<&'p Program>,
    /// The least length, in code points.
    pub(crate) least: u64,
    /// The greatest.
    pub(crate) most: Option<u64>,
}

/// Whether texts are among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inclusion {
    /// All of them are.
    Holds,
    /// This one is not, and none is shorter.
    Fails(String),
    /// That would take too long to find out.
    TooLarge,
}

/// Whether all of the given texts are among those that are taken.
pub(crate) fn included(given: &Texts<'_>, taken: &Texts<'_>) -> Inclusion {
    let unbounded = Texts { least: 0, most: None, ..given.clone() };
    // Lengths multiply the states, and seldom decide anything.
    if given.least > 0 || given.most.is_some() {
        match search(&unbounded, taken) {
            Inclusion::Fails(text) => {
                let length = text.chars().count() as u64;
                if length >= given.least && given.most.is_none_or(|most| length <= most) {
                    return Inclusion::Fails(text);
                }
            }
            Inclusion::Holds => return Inclusion::Holds,
            Inclusion::TooLarge => {}
        }
    }
    search(given, taken)
}

fn search(given: &Texts<'_>, taken: &Texts<'_>) -> Inclusion {
    let programs: Vec<&Program> = given.patterns.iter().chain(&taken.patterns).copied().collect();
    // Each program's classes follow those of the programs before it.
    let mut classes = Vec::new();
    let mut rebased = Vec::new();
    for program in &programs {
        let CompiledProgram::Nfa { start, instructions, classes: own } = &program.compiled.program else {
            return Inclusion::TooLarge;
        };
        let first = u32::try_from(classes.len()).unwrap_or(u32::MAX);
        let moved = instructions.iter().map(|one| match one {
            Instruction::Char(class) => Instruction::Char(class.saturating_add(first)),
            other => *other,
        });
        rebased.push((*start, moved.collect::<Vec<_>>()));
        classes.extend(own.iter().cloned());
    }
    let words =
        |one: &Instruction| matches!(one, Instruction::Assert(Look::WordBoundary | Look::NotWordBoundary));
    let looks_at_words = rebased.iter().any(|(_, instructions)| instructions.iter().any(words));
    let Some(alphabet) = Alphabet::new(&classes, looks_at_words) else { return Inclusion::TooLarge };
    let automata = rebased.iter().map(|(start, instructions)| {
        let program = Running { start: *start, instructions, alphabet: &alphabet, looks_at_words };
        Automaton { states: Determined::new(program), rows: Vec::new() }
    });
    // No text is longer than can be counted.
    let bounds = |texts: &Texts<'_>| (texts.least, texts.most.filter(|most| *most < u64::MAX));
    let search = Search {
        automata: automata.collect(),
        givers: given.patterns.len(),
        given: bounds(given),
        taken: bounds(taken),
        letters: letters(&alphabet),
        effort: EFFORT,
    };
    search.run()
}

/// Letters with a character of each, those that people like to read first.
fn letters(alphabet: &Alphabet) -> Vec<(usize, char)> {
    let rank = |c: char| match c {
        'a'..='z' => 0,
        '0'..='9' => 1,
        'A'..='Z' => 2,
        '!'..='~' => 3,
        ' ' => 4,
        c if c.is_alphanumeric() => 5,
        c if c.is_control() => 7,
        _ => 6,
    };
    let mut all: Vec<Option<char>> = vec![None; alphabet.len()];
    let ascii = (0..0x80_u8).map(char::from);
    for c in ascii.chain(KNOWN).chain(alphabet.firsts()) {
        if let Some(slot) = all.get_mut(alphabet.letter(c))
            && slot.is_none_or(|known| rank(c) < rank(known))
        {
            *slot = Some(c);
        }
    }
    let mut letters: Vec<(usize, char)> =
        all.into_iter().enumerate().filter_map(|(letter, c)| Some((letter, c?))).collect();
    letters.sort_by_key(|(_, c)| (rank(*c), *c));
    letters
}

/// One side's program with the rows that were asked for.
struct Automaton<'a> {
    states: Determined<'a>,
    rows: Vec<Option<(bool, Vec<usize>)>>,
}

impl Automaton<'_> {
    /// Whether the pattern is found if the text ends there, and the state behind each letter.
    fn row(&mut self, state: usize, effort: &mut usize) -> Option<&(bool, Vec<usize>)> {
        if self.rows.len() <= state {
            self.rows.resize(state + 1, None);
        }
        let slot = self.rows.get_mut(state)?;
        if slot.is_none() {
            *effort = effort.checked_sub(self.states.cost())?;
            *slot = Some((self.states.ends(state), self.states.row(state)));
        }
        slot.as_ref()
    }
}

type Bounds = (u64, Option<u64>);

struct Search<'a> {
    /// Those of the givers first.
    automata: Vec<Automaton<'a>>,
    givers: usize,
    given: Bounds,
    taken: Bounds,
    letters: Vec<(usize, char)>,
    effort: usize,
}

/// What is known between two characters: a state of each program, and how long the text is.
type Here = (Vec<usize>, u64);

impl Search<'_> {
    fn run(mut self) -> Inclusion {
        let bounds = [self.given, self.taken];
        // Beyond this length nothing is counted.
        let far = bounds.iter().map(|(least, most)| most.map_or(0, |most| most + 1).max(*least)).max();
        let far = far.unwrap_or(0);
        let first: Here = (vec![Determined::START; self.automata.len()], 0);
        let mut known = HashMap::from([(first.clone(), 0)]);
        let mut all = vec![(first, None)];
        let mut at = 0;
        while let Some(((states, length), _)) = all.get(at).cloned() {
            let mut rows = Vec::with_capacity(states.len());
            for (automaton, state) in self.automata.iter_mut().zip(&states) {
                let Some(row) = automaton.row(*state, &mut self.effort) else { return Inclusion::TooLarge };
                rows.push(row);
            }
            let within = |(least, most): Bounds| length >= least && most.is_none_or(|most| length <= most);
            let ends = |rows: &[&(bool, Vec<usize>)]| rows.iter().all(|row| row.0);
            let (givers, takers) = rows.split_at(self.givers);
            if within(self.given) && ends(givers) && !(within(self.taken) && ends(takers)) {
                return Inclusion::Fails(read_back(&all, at));
            }
            let Some(left) = self.effort.checked_sub(self.letters.len() * (rows.len() + 1)) else {
                return Inclusion::TooLarge;
            };
            self.effort = left;
            let length = (length + 1).min(far);
            for (letter, c) in &self.letters {
                let next: Vec<usize> =
                    rows.iter().map(|row| row.1.get(*letter).copied().unwrap_or(DEAD)).collect();
                let (givers, takers) = next.split_at(self.givers);
                let over = self.given.1.is_some_and(|most| length > most);
                // Whatever follows is taken: nothing can be too short any more, nor become too long.
                let safe = takers.iter().all(|state| *state == FOUND)
                    && length >= self.taken.0
                    && self.taken.1.is_none_or(|most| self.given.1.is_some_and(|given| given <= most));
                if over || safe || givers.contains(&DEAD) {
                    continue;
                }
                let here = (next, length);
                if known.contains_key(&here) {
                    continue;
                }
                known.insert(here.clone(), all.len());
                all.push((here, Some((at, *c))));
            }
            if all.len() > MOST_STATES {
                return Inclusion::TooLarge;
            }
            at += 1;
        }
        Inclusion::Holds
    }
}

/// The text that led to a state.
fn read_back(all: &[(Here, Option<(usize, char)>)], at: usize) -> String {
    let mut text = Vec::new();
    let mut here = all.get(at).and_then(|(_, from)| *from);
    while let Some((before, c)) = here {
        text.push(c);
        here = all.get(before).and_then(|(_, from)| *from);
    }
    text.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    fn ask(given: &str, taken: &str) -> Inclusion {
        bounded((given, 0, None), (taken, 0, None))
    }

    fn bounded(given: (&str, u64, Option<u64>), taken: (&str, u64, Option<u64>)) -> Inclusion {
        let (one, other) = (Program::of(given.0).unwrap(), Program::of(taken.0).unwrap());
        let texts = |program, (_, least, most)| Texts { patterns: vec![program], least, most };
        included(&texts(&one, given), &texts(&other, taken))
    }

    fn fails(text: &str) -> Inclusion {
        Inclusion::Fails(text.to_owned())
    }

    #[test]
    fn patterns_that_say_the_same_include_each_other() {
        for (one, other) in [
            ("^[0-9]+$", r"^\d+$"),
            ("^(a|b)*$", "^[ab]*$"),
            ("a", ".*a.*|a"),
            ("^a{2,4}$", "^aaa?a?$"),
            (r"^\w+$", "^[A-Za-z0-9_]{1,}$"),
            (r"\bcat\b", r"(^|\W)cat(\W|$)"),
            ("^x-", r"^x\-"),
            ("", "^"),
            (r"^\p{Nd}$", r"^\p{Decimal_Number}$"),
        ] {
            assert_eq!(
                (ask(one, other), ask(other, one)),
                (Inclusion::Holds, Inclusion::Holds),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn what_is_wider_is_shown_by_its_shortest_text() {
        for (narrow, wide, text) in [
            ("^[a-z]{3,60}$", "^[a-z]{2,80}$", "aa"),
            ("^[ab]$", "^[abc]$", "c"),
            ("^a$", "a", "aa"),
            (r"^\d$", r"^\p{Nd}$", "٣"),
            ("^[a-z]+$", "^[a-z]*$", ""),
            (r"^a\b", "^a", "aa"),
            (r"^\S+$", r"^\S+( \S+)*$", "a a"),
        ] {
            assert_eq!(ask(narrow, wide), Inclusion::Holds, "{narrow} {wide}");
            assert_eq!(ask(wide, narrow), fails(text), "{wide} {narrow}");
        }
        assert_eq!((ask("^a+$", "^b*$"), ask("^b*$", "^a+$")), (fails("a"), fails("")));
    }

    #[test]
    fn lengths_count() {
        assert_eq!(bounded(("^[a-z]*$", 0, Some(5)), ("^[a-z]{0,5}$", 0, None)), Inclusion::Holds);
        assert_eq!(bounded(("^[a-z]{1,5}$", 0, None), ("", 1, Some(5))), Inclusion::Holds);
        assert_eq!(bounded(("^[a-z]{1,5}$", 0, None), ("", 1, Some(4))), fails("aaaaa"));
        assert_eq!(bounded(("^[a-z]*$", 3, None), ("^[a-y]*$", 0, None)), fails("aaz"));
        assert_eq!(bounded(("", 2, Some(1)), ("^never$", 0, None)), Inclusion::Holds);
        let all = u64::MAX;
        assert_eq!(bounded(("^[a-z]*$", 0, None), ("^[a-z]*$", 0, Some(all))), Inclusion::Holds);
        assert_eq!(bounded(("^[a-z]*$", 3, Some(all)), ("^[a-y]*$", 0, None)), fails("aaz"));
    }

    #[test]
    fn several_patterns_hold_together() {
        fn texts(programs: &[Program]) -> Texts<'_> {
            Texts { patterns: programs.iter().collect(), least: 0, most: None }
        }
        let given = ["^[a-z]+$", "^.{3}$", "x"].map(|source| Program::of(source).unwrap());
        let taken = [Program::of("^[a-z]{3}$").unwrap()];
        let (given, taken) = (texts(&given), texts(&taken));
        assert_eq!(included(&given, &taken), Inclusion::Holds);
        assert_eq!(included(&taken, &given), fails("aaa"));
    }

    /// `(a|b)*a(a|b){n}` has 2ⁿ states.
    #[test]
    fn what_grows_without_end_is_not_decided() {
        let hard = |n: usize| format!("^(a|b)*a(a|b){{{n}}}$");
        assert_eq!((ask(&hard(3), &hard(4)), ask(&hard(3), &hard(3))), (fails("aaaa"), Inclusion::Holds));
        assert_eq!(ask(&hard(40), &format!("{}|^c", hard(40))), Inclusion::TooLarge);
    }
}
