//! Generates strings that match a pattern by walking through its program. Each choice selects one step. When
//! there are no more choices, the shortest path is taken. Therefore fewer and smaller choices produce simpler
//! strings.

use super::{
    AtomSequence, CharClass, Dfa, LookAround, Nfa, NfaInstruction, Pattern, PatternProgram, SequenceAtom,
};

/// The maximum number of characters that a repetition adds beyond its minimum.
const MAX_EXTRA_REPEATS: usize = 8;
/// The maximum number of steps of a walk. Transitions that consume nothing could otherwise loop forever.
const MAX_STEPS: usize = 20_000;
/// The distance of a state from which no match is reachable.
const UNREACHABLE: u32 = u32::MAX;

/// A stream of choices, one for each step.
struct ChoiceStream<'c>(std::slice::Iter<'c, u16>);

impl ChoiceStream<'_> {
    /// Returns the next choice, or `None` at the end.
    fn next(&mut self) -> Option<usize> {
        self.0.next().map(|choice| usize::from(*choice))
    }

    fn next_or_0(&mut self) -> usize {
        self.next().unwrap_or(0)
    }
}

impl Pattern<'_> {
    /// Generates a matching string with `min_length` to `max_length` characters, if the pattern permits it.
    /// Returns `None` if the walk reaches a dead end.
    pub(crate) fn sample_string(
        &self,
        choices: &[u16],
        min_length: usize,
        max_length: usize,
    ) -> Option<String> {
        let mut choices = ChoiceStream(choices.iter());
        let text = match &self.program {
            PatternProgram::Sequence(sequence) => {
                sequence.sample_string(&mut choices, min_length, max_length)
            }
            PatternProgram::Dfa(dfa) => dfa.sample_string(&mut choices, min_length),
            PatternProgram::Nfa(nfa) => nfa.sample_string(&mut choices, min_length),
        };
        let text = text.filter(|text| self.is_match(text))?;
        // The pattern may match before the required length is reached, so the string is padded.
        let missing = min_length.saturating_sub(text.chars().count());
        let longer = text.clone() + &"a".repeat(missing);
        Some(if self.is_match(&longer) { longer } else { text })
    }
}

impl AtomSequence<'_> {
    fn sample_string(
        &self,
        choices: &mut ChoiceStream<'_>,
        min_length: usize,
        max_length: usize,
    ) -> Option<String> {
        let fixed = self.atoms.iter().map(|atom| match atom {
            SequenceAtom::Literal(literal) => literal.chars().count(),
            SequenceAtom::Class { min, .. } => *min as usize,
        });
        let fixed: usize = fixed.sum();
        let (mut missing, mut room) = (min_length.saturating_sub(fixed), max_length.saturating_sub(fixed));
        let mut text = String::new();
        for atom in self.atoms {
            match atom {
                SequenceAtom::Literal(literal) => text.push_str(literal),
                SequenceAtom::Class { class, min, max } => {
                    let open = (max.saturating_sub(*min) as usize).min(room);
                    let needed = missing.min(open);
                    let beyond = needed + choices.next_or_0() % ((open - needed).min(MAX_EXTRA_REPEATS) + 1);
                    missing = missing.saturating_sub(beyond);
                    room -= beyond;
                    for _ in 0..*min as usize + beyond {
                        text.push(pick_character(class, choices.next_or_0())?);
                    }
                }
            }
        }
        Some(text)
    }
}

impl Dfa<'_> {
    fn sample_string(&self, choices: &mut ChoiceStream<'_>, least: usize) -> Option<String> {
        let far = self.match_distances();
        let distance =
            |state: u16| far.get(usize::from(state / self.stride.max(1))).copied().unwrap_or(UNREACHABLE);
        let mut state = self.start;
        let mut text = String::new();
        for count in 0..MAX_STEPS {
            let choice = choices.next();
            let (done, long) = (distance(state) == 0, count >= least);
            if state == self.stride || (done && long && choice.unwrap_or(0) == 0) {
                return Some(text);
            }
            let near = |class: &u8| distance(self.next_state(state, *class)) < UNREACHABLE;
            let mut ways: Vec<u8> = (0..self.class_count()).filter(near).collect();
            if choice.is_none() && long {
                let nearest = ways.iter().map(|class| distance(self.next_state(state, *class))).min();
                ways.retain(|class| Some(distance(self.next_state(state, *class))) == nearest);
            }
            // In an accepting state without a useful transition, the string is complete.
            let Some(class) = ways.get(choice.unwrap_or(0) % ways.len().max(1)) else {
                return done.then_some(text);
            };
            let (ascii, ranges) = self.class_characters(*class);
            text.push(pick_character(&CharClass { ascii, ranges: &ranges }, choices.next_or_0())?);
            state = self.next_state(state, *class);
        }
        None
    }

    fn class_count(&self) -> u8 {
        let last_class = self.runs.iter().map(|(_, class)| *class).max();
        last_class.map_or(0, |last_class| last_class.saturating_add(1))
    }

    /// Returns the characters of a class, as a bit set for ASCII and as ranges above ASCII.
    fn class_characters(&self, class: u8) -> (u128, Vec<(char, char)>) {
        let is_in_class = |code: &usize| self.ascii.get(*code) == Some(&class);
        let ascii = (0..128).filter(is_in_class).fold(0, |set, code| set | 1 << code);
        let mut ranges = Vec::new();
        for (index, (first, _)) in
            self.runs.iter().enumerate().filter(|(_, (_, is_in_class))| *is_in_class == class)
        {
            let end = self.runs.get(index + 1).map_or(char::MAX as u32, |(next, _)| *next as u32 - 1);
            // The surrogate range between two ranges contains no characters.
            let end = char::from_u32(end).unwrap_or('\u{d7ff}');
            let first = (*first).max('\u{80}');
            if first <= end {
                ranges.push((first, end));
            }
        }
        (ascii, ranges)
    }

    /// Returns, for each state, the distance to the nearest accepting state, in characters.
    fn match_distances(&self) -> Vec<u32> {
        let stride = usize::from(self.stride.max(1));
        let mut far: Vec<u32> = (0..self.next.len() / stride)
            .map(|row| {
                let accepts = row == 1 || (row > 1 && row * stride < usize::from(self.open));
                if accepts { 0 } else { UNREACHABLE }
            })
            .collect();
        loop {
            let mut changed = false;
            for row in 2..far.len() {
                let ways = self.next.get(row * stride..(row + 1) * stride).unwrap_or_default();
                let next = ways.iter().filter_map(|state| far.get(usize::from(*state) / stride)).min();
                let through = next.copied().unwrap_or(UNREACHABLE).saturating_add(1);
                if let Some(own) = far.get_mut(row)
                    && through < *own
                {
                    *own = through;
                    changed = true;
                }
            }
            if !changed {
                return far;
            }
        }
    }
}

impl Nfa<'_> {
    fn sample_string(&self, choices: &mut ChoiceStream<'_>, least: usize) -> Option<String> {
        let (far, endless) = (self.match_distances(), self.find_loops());
        let goes_on = |at: u32| endless.get(at as usize) == Some(&true);
        let distance = |at: u32| far.get(at as usize).copied().unwrap_or(UNREACHABLE);
        let (mut at, mut text, mut ended, mut count) = (0_u32, String::new(), false, 0);
        for _ in 0..MAX_STEPS {
            match self.instructions.get(at as usize)? {
                NfaInstruction::Match => return Some(text),
                NfaInstruction::Jump(to) => at = *to,
                NfaInstruction::Split(one, other) => {
                    let nearest = if distance(*one) <= distance(*other) { *one } else { *other };
                    let choice = choices.next();
                    let loops = (goes_on(*one), goes_on(*other));
                    at = match choice {
                        // The other branch would end a string that is still too short.
                        _ if count < least && loops == (true, false) => *one,
                        _ if count < least && loops == (false, true) => *other,
                        None | Some(0) => nearest,
                        Some(choice) if choice % 2 == 0 && distance(*one) < UNREACHABLE => *one,
                        Some(_) if distance(*other) < UNREACHABLE => *other,
                        Some(_) => nearest,
                    };
                }
                NfaInstruction::Assert(look) => {
                    if matches!(look, LookAround::Start) && !text.is_empty() {
                        return None;
                    }
                    ended |= matches!(look, LookAround::End);
                    at += 1;
                }
                NfaInstruction::Char(class) => {
                    if ended {
                        return None;
                    }
                    text.push(pick_character(self.classes.get(*class as usize)?, choices.next_or_0())?);
                    count += 1;
                    at += 1;
                }
            }
        }
        None
    }

    /// Returns, for each instruction, whether it can reach a backward jump. If so, the string can grow
    /// without limit.
    fn find_loops(&self) -> Vec<bool> {
        let mut endless = vec![false; self.instructions.len()];
        loop {
            let mut changed = false;
            for (index, instruction) in self.instructions.iter().enumerate().rev() {
                let on = |to: usize| to <= index || endless.get(to) == Some(&true);
                let is_endless = match instruction {
                    NfaInstruction::Match => false,
                    NfaInstruction::Jump(to) => on(*to as usize),
                    NfaInstruction::Split(one, other) => on(*one as usize) || on(*other as usize),
                    NfaInstruction::Assert(_) | NfaInstruction::Char(_) => on(index + 1),
                };
                changed |= is_endless != endless[index];
                endless[index] = is_endless;
            }
            if !changed {
                return endless;
            }
        }
    }

    /// Returns, for each instruction, the distance to a match, in instructions.
    fn match_distances(&self) -> Vec<u32> {
        let mut far = vec![UNREACHABLE; self.instructions.len()];
        loop {
            let mut changed = false;
            for (at, instruction) in self.instructions.iter().enumerate().rev() {
                let of = |to: u32| far.get(to as usize).copied().unwrap_or(UNREACHABLE);
                let behind = u32::try_from(at).map_or(UNREACHABLE, |at| of(at + 1));
                let next = match instruction {
                    NfaInstruction::Match => 0,
                    NfaInstruction::Jump(to) => of(*to).saturating_add(1),
                    NfaInstruction::Split(one, other) => of(*one).min(of(*other)).saturating_add(1),
                    NfaInstruction::Assert(_) | NfaInstruction::Char(_) => behind.saturating_add(1),
                };
                if next < far[at] {
                    far[at] = next;
                    changed = true;
                }
            }
            if !changed {
                return far;
            }
        }
    }
}

/// Selects a character of a class: letters and digits first, occasionally a non-ASCII character.
fn pick_character(class: &CharClass<'_>, choice: usize) -> Option<char> {
    let wide = || {
        let (first, last) = *class.ranges.get(choice % class.ranges.len().max(1))?;
        let width = last as usize - first as usize + 1;
        char::from_u32(first as u32 + u32::try_from(choice % width).ok()?).or(Some(first))
    };
    if choice > 0xf000 && !class.ranges.is_empty() {
        return wide();
    }
    let among = |letters: &mut dyn Iterator<Item = char>| {
        let candidates: Vec<char> = letters.filter(|letter| class.contains(*letter)).collect();
        candidates.get(choice % candidates.len().max(1)).copied()
    };
    among(&mut ('a'..='z').chain('A'..='Z').chain('0'..='9'))
        .or_else(|| among(&mut (' '..='~')))
        .or_else(|| among(&mut ('\0'..='\x7f')))
        .or_else(wide)
}
