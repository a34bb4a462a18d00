//! Decides if every string that matches all patterns of one list also matches all patterns of another, and
//! finds the shortest counterexample.
//!
//! The programs of both lists are executed in parallel, breadth first. The first difference found is
//! therefore the shortest one. The effort is limited; if it is exceeded, the result is
//! [`Inclusion::TooLarge`].

use std::collections::HashMap;

use contract_runtime::pattern::{LookAround, NfaInstruction};

use super::{
    CompiledPattern, CompiledProgram, PatternError, assemble,
    determinize::{CharacterAlphabet, DEAD, FOUND, LazyDfa, NfaProgram},
    parse_hir, translate,
};

/// The maximum effort of a check: the number of instructions that are inspected within some tens of
/// milliseconds.
const MAX_EFFORT: usize = 6_000_000;
/// The maximum number of stored search states.
const MAX_STATES: usize = 60_000;
/// Common non-ASCII characters, for readable counterexamples.
const SAMPLE_CHARS: [char; 6] = ['é', 'ж', '中', '٣', '€', '😀'];

/// A pattern that is compiled to a nondeterministic program.
#[derive(Clone, Debug)]
pub struct PatternProgram {
    compiled: CompiledPattern,
}

impl PatternProgram {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Returns an error under the same conditions as [`compile`](super::compile).
    pub fn compile(source: &str) -> Result<Self, PatternError> {
        let hir = parse_hir(&translate::translate_pattern(source)?);
        let hir = hir.map_err(|reason| PatternError { offset: 0, reason })?;
        let program = assemble::assemble_nfa(&hir)?;
        Ok(Self { compiled: CompiledPattern { source: source.to_owned(), program } })
    }

    /// Returns true if the pattern matches anywhere in the string.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }
}

/// The set of strings that match all of these patterns and whose length is within these bounds.
#[derive(Clone, Debug, Default)]
pub struct PatternLanguage<'p> {
    pub patterns: Vec<&'p PatternProgram>,
    /// The minimum length in code points.
    pub least: u64,
    /// The maximum length in code points.
    pub most: Option<u64>,
}

/// The result of an inclusion check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// Every string of the first language is in the second.
    Holds,
    /// Some strings of the first language are not in the second. The value is the shortest of them.
    Fails(String),
    /// The check was stopped, because it would exceed the maximum effort.
    TooLarge,
}

/// Checks whether every string of the language `given` is also in the language `taken`.
pub fn check_inclusion(given: &PatternLanguage<'_>, taken: &PatternLanguage<'_>) -> Inclusion {
    let unbounded = PatternLanguage { least: 0, most: None, ..given.clone() };
    // The search is first done without the length bounds of `given`, which multiply the number of states and
    // rarely affect the result.
    if given.least > 0 || given.most.is_some() {
        match search_counterexample(&unbounded, taken) {
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
    search_counterexample(given, taken)
}

fn search_counterexample(given: &PatternLanguage<'_>, taken: &PatternLanguage<'_>) -> Inclusion {
    let programs: Vec<&PatternProgram> = given.patterns.iter().chain(&taken.patterns).copied().collect();
    // The classes of each program are appended to those of the previous programs.
    let mut classes = Vec::new();
    let mut rebased = Vec::new();
    for program in &programs {
        let CompiledProgram::Nfa { start, instructions, classes: own } = &program.compiled.program else {
            return Inclusion::TooLarge;
        };
        let first = u32::try_from(classes.len()).unwrap_or(u32::MAX);
        let moved = instructions.iter().map(|one| match one {
            NfaInstruction::Char(class) => NfaInstruction::Char(class.saturating_add(first)),
            other => *other,
        });
        rebased.push((*start, moved.collect::<Vec<_>>()));
        classes.extend(own.iter().cloned());
    }
    let tests_word_boundary = |one: &NfaInstruction| {
        matches!(one, NfaInstruction::Assert(LookAround::WordBoundary | LookAround::NotWordBoundary))
    };
    let looks_at_words = rebased.iter().any(|(_, instructions)| instructions.iter().any(tests_word_boundary));
    let Some(alphabet) = CharacterAlphabet::new(&classes, looks_at_words) else { return Inclusion::TooLarge };
    let automata = rebased.iter().map(|(start, instructions)| {
        let program = NfaProgram { start: *start, instructions, alphabet: &alphabet, looks_at_words };
        LazyAutomaton { states: LazyDfa::new(program), rows: Vec::new() }
    });
    // `u64::MAX` is not a bound, because no string is that long.
    let bounds = |texts: &PatternLanguage<'_>| (texts.least, texts.most.filter(|most| *most < u64::MAX));
    let search = InclusionSearch {
        automata: automata.collect(),
        givers: given.patterns.len(),
        given: bounds(given),
        taken: bounds(taken),
        letters: sample_letters(&alphabet),
        effort: MAX_EFFORT,
    };
    search.run()
}

/// Returns all letters, each with one of its characters as a sample. Letters with more readable samples come
/// first.
fn sample_letters(alphabet: &CharacterAlphabet) -> Vec<(usize, char)> {
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
    for c in ascii.chain(SAMPLE_CHARS).chain(alphabet.run_starts()) {
        if let Some(slot) = all.get_mut(alphabet.letter_of(c))
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

/// A program with the transition rows that have been computed so far.
struct LazyAutomaton<'a> {
    states: LazyDfa<'a>,
    rows: Vec<Option<(bool, Vec<usize>)>>,
}

impl LazyAutomaton<'_> {
    /// Returns the row of a state: true if the program accepts a string that ends there, and the next state
    /// for each letter. Returns `None` if the effort is exhausted.
    fn row(&mut self, state: usize, effort: &mut usize) -> Option<&(bool, Vec<usize>)> {
        if self.rows.len() <= state {
            self.rows.resize(state + 1, None);
        }
        let slot = self.rows.get_mut(state)?;
        if slot.is_none() {
            *effort = effort.checked_sub(self.states.row_cost())?;
            *slot = Some((self.states.accepts_at_end(state), self.states.transition_row(state)));
        }
        slot.as_ref()
    }
}

type LengthBounds = (u64, Option<u64>);

struct InclusionSearch<'a> {
    /// The programs of the language `given`, followed by those of `taken`.
    automata: Vec<LazyAutomaton<'a>>,
    givers: usize,
    given: LengthBounds,
    taken: LengthBounds,
    letters: Vec<(usize, char)>,
    effort: usize,
}

/// The state of each program after a string, and the length of the string.
type SearchState = (Vec<usize>, u64);

impl InclusionSearch<'_> {
    fn run(mut self) -> Inclusion {
        let bounds = [self.given, self.taken];
        // At this length or above, the bounds no longer distinguish lengths, so that all of them share a
        // search state.
        let far = bounds.iter().map(|(least, most)| most.map_or(0, |most| most + 1).max(*least)).max();
        let far = far.unwrap_or(0);
        let first: SearchState = (vec![LazyDfa::START; self.automata.len()], 0);
        let mut known = HashMap::from([(first.clone(), 0)]);
        let mut all = vec![(first, None)];
        let mut at = 0;
        while let Some(((states, length), _)) = all.get(at).cloned() {
            let mut rows = Vec::with_capacity(states.len());
            for (automaton, state) in self.automata.iter_mut().zip(&states) {
                let Some(row) = automaton.row(*state, &mut self.effort) else { return Inclusion::TooLarge };
                rows.push(row);
            }
            let within =
                |(least, most): LengthBounds| length >= least && most.is_none_or(|most| length <= most);
            let ends = |rows: &[&(bool, Vec<usize>)]| rows.iter().all(|row| row.0);
            let (givers, takers) = rows.split_at(self.givers);
            if within(self.given) && ends(givers) && !(within(self.taken) && ends(takers)) {
                return Inclusion::Fails(reconstruct_text(&all, at));
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
                // Every continuation is accepted: the minimum length is reached and the maximum length cannot
                // be exceeded.
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
            if all.len() > MAX_STATES {
                return Inclusion::TooLarge;
            }
            at += 1;
        }
        Inclusion::Holds
    }
}

/// Returns the string after which the search reaches the state with the index `at`.
fn reconstruct_text(all: &[(SearchState, Option<(usize, char)>)], at: usize) -> String {
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
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    fn check_patterns(narrow: &str, wide: &str) -> Inclusion {
        check_bounded((narrow, 0, None), (wide, 0, None))
    }

    fn check_bounded(narrow: (&str, u64, Option<u64>), wide: (&str, u64, Option<u64>)) -> Inclusion {
        let (narrow_program, wide_program) =
            (PatternProgram::compile(narrow.0).unwrap(), PatternProgram::compile(wide.0).unwrap());
        let language = |program, (_, least, most)| PatternLanguage { patterns: vec![program], least, most };
        check_inclusion(&language(&narrow_program, narrow), &language(&wide_program, wide))
    }

    fn counterexample(text: &str) -> Inclusion {
        Inclusion::Fails(text.to_owned())
    }

    #[test]
    fn equivalent_patterns_include_each_other() {
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
                (check_patterns(one, other), check_patterns(other, one)),
                (Inclusion::Holds, Inclusion::Holds),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn counterexamples_are_shortest() {
        for (narrow, wide, text) in [
            ("^[a-z]{3,60}$", "^[a-z]{2,80}$", "aa"),
            ("^[ab]$", "^[abc]$", "c"),
            ("^a$", "a", "aa"),
            (r"^\d$", r"^\p{Nd}$", "٣"),
            ("^[a-z]+$", "^[a-z]*$", ""),
            (r"^a\b", "^a", "aa"),
            (r"^\S+$", r"^\S+( \S+)*$", "a a"),
        ] {
            assert_eq!(check_patterns(narrow, wide), Inclusion::Holds, "{narrow} {wide}");
            assert_eq!(check_patterns(wide, narrow), counterexample(text), "{wide} {narrow}");
        }
        assert_eq!(
            (check_patterns("^a+$", "^b*$"), check_patterns("^b*$", "^a+$")),
            (counterexample("a"), counterexample(""))
        );
    }

    #[test]
    fn lengths_are_considered() {
        assert_eq!(check_bounded(("^[a-z]*$", 0, Some(5)), ("^[a-z]{0,5}$", 0, None)), Inclusion::Holds);
        assert_eq!(check_bounded(("^[a-z]{1,5}$", 0, None), ("", 1, Some(5))), Inclusion::Holds);
        assert_eq!(check_bounded(("^[a-z]{1,5}$", 0, None), ("", 1, Some(4))), counterexample("aaaaa"));
        assert_eq!(check_bounded(("^[a-z]*$", 3, None), ("^[a-y]*$", 0, None)), counterexample("aaz"));
        assert_eq!(check_bounded(("", 2, Some(1)), ("^never$", 0, None)), Inclusion::Holds);
        let unlimited = u64::MAX;
        assert_eq!(check_bounded(("^[a-z]*$", 0, None), ("^[a-z]*$", 0, Some(unlimited))), Inclusion::Holds);
        assert_eq!(
            check_bounded(("^[a-z]*$", 3, Some(unlimited)), ("^[a-y]*$", 0, None)),
            counterexample("aaz")
        );
    }

    #[test]
    fn several_patterns_are_combined() {
        fn language(programs: &[PatternProgram]) -> PatternLanguage<'_> {
            PatternLanguage { patterns: programs.iter().collect(), least: 0, most: None }
        }
        let narrow = ["^[a-z]+$", "^.{3}$", "x"].map(|source| PatternProgram::compile(source).unwrap());
        let wide = [PatternProgram::compile("^[a-z]{3}$").unwrap()];
        let (narrow, wide) = (language(&narrow), language(&wide));
        assert_eq!(check_inclusion(&narrow, &wide), Inclusion::Holds);
        assert_eq!(check_inclusion(&wide, &narrow), counterexample("aaa"));
    }

    /// A pattern whose table would have exponentially many states, as `(a|b)*a(a|b){n}` with 2ⁿ states, is
    /// not compared.
    #[test]
    fn exponential_patterns_are_too_large() {
        let hard = |n: usize| format!("^(a|b)*a(a|b){{{n}}}$");
        assert_eq!(
            (check_patterns(&hard(3), &hard(4)), check_patterns(&hard(3), &hard(3))),
            (counterexample("aaaa"), Inclusion::Holds)
        );
        assert_eq!(check_patterns(&hard(40), &format!("{}|^c", hard(40))), Inclusion::TooLarge);
    }
}
