//! Texts in which a pattern is found, by way of its own program: each choice decides one step, and
//! where choices end the shortest way is taken. So fewer and smaller choices make simpler texts.

use super::{Atom, Class, Dfa, Instruction, Look, Nfa, Pattern, Program, Sequence};

/// Characters that a repetition has beyond what it needs, at most.
const MORE: usize = 8;
/// Steps of one way; what reads nothing could go on without end.
const STEPS: usize = 20_000;
/// Further than any state.
const NEVER: u32 = u32::MAX;

/// Choices, one for each step.
struct Choices<'c>(std::slice::Iter<'c, u16>);

impl Choices<'_> {
    /// The next, or nothing where they end.
    fn next(&mut self) -> Option<usize> {
        self.0.next().map(|choice| usize::from(*choice))
    }

    fn next_or_0(&mut self) -> usize {
        self.next().unwrap_or(0)
    }
}

impl Pattern<'_> {
    /// A text in which the pattern is found, of so many characters as far as the way allows;
    /// `None` where it leads nowhere.
    pub(crate) fn text(&self, choices: &[u16], least: usize, most: usize) -> Option<String> {
        let mut choices = Choices(choices.iter());
        let text = match &self.program {
            Program::Sequence(sequence) => sequence.text(&mut choices, least, most),
            Program::Dfa(dfa) => dfa.text(&mut choices, least),
            Program::Nfa(nfa) => nfa.text(&mut choices, least),
        };
        let text = text.filter(|text| self.is_match(text))?;
        // Where the pattern ends before the text has to.
        let missing = least.saturating_sub(text.chars().count());
        let longer = text.clone() + &"a".repeat(missing);
        Some(if self.is_match(&longer) { longer } else { text })
    }
}

impl Sequence<'_> {
    fn text(&self, choices: &mut Choices<'_>, least: usize, most: usize) -> Option<String> {
        let fixed = self.atoms.iter().map(|atom| match atom {
            Atom::Literal(literal) => literal.chars().count(),
            Atom::Class { min, .. } => *min as usize,
        });
        let fixed: usize = fixed.sum();
        let (mut missing, mut room) = (least.saturating_sub(fixed), most.saturating_sub(fixed));
        let mut text = String::new();
        for atom in self.atoms {
            match atom {
                Atom::Literal(literal) => text.push_str(literal),
                Atom::Class { class, min, max } => {
                    let open = (max.saturating_sub(*min) as usize).min(room);
                    let needed = missing.min(open);
                    let beyond = needed + choices.next_or_0() % ((open - needed).min(MORE) + 1);
                    missing = missing.saturating_sub(beyond);
                    room -= beyond;
                    for _ in 0..*min as usize + beyond {
                        text.push(letter(class, choices.next_or_0())?);
                    }
                }
            }
        }
        Some(text)
    }
}

impl Dfa<'_> {
    fn text(&self, choices: &mut Choices<'_>, least: usize) -> Option<String> {
        let far = self.distances();
        let distance =
            |state: u16| far.get(usize::from(state / self.stride.max(1))).copied().unwrap_or(NEVER);
        let mut state = self.start;
        let mut text = String::new();
        for count in 0..STEPS {
            let choice = choices.next();
            let (done, long) = (distance(state) == 0, count >= least);
            if state == self.stride || (done && long && choice.unwrap_or(0) == 0) {
                return Some(text);
            }
            let near = |class: &u8| distance(self.step(state, *class)) < NEVER;
            let mut ways: Vec<u8> = (0..self.classes()).filter(near).collect();
            if choice.is_none() && long {
                let nearest = ways.iter().map(|class| distance(self.step(state, *class))).min();
                ways.retain(|class| Some(distance(self.step(state, *class))) == nearest);
            }
            // An accepting state from which nothing leads on.
            let Some(class) = ways.get(choice.unwrap_or(0) % ways.len().max(1)) else {
                return done.then_some(text);
            };
            let (ascii, ranges) = self.letters(*class);
            text.push(letter(&Class { ascii, ranges: &ranges }, choices.next_or_0())?);
            state = self.step(state, *class);
        }
        None
    }

    fn classes(&self) -> u8 {
        let most = self.runs.iter().map(|(_, class)| *class).max();
        most.map_or(0, |most| most.saturating_add(1))
    }

    /// The characters of a class.
    fn letters(&self, class: u8) -> (u128, Vec<(char, char)>) {
        let own = |code: &usize| self.ascii.get(*code) == Some(&class);
        let ascii = (0..128).filter(own).fold(0, |set, code| set | 1 << code);
        let mut ranges = Vec::new();
        for (at, (first, _)) in self.runs.iter().enumerate().filter(|(_, (_, own))| *own == class) {
            let end = self.runs.get(at + 1).map_or(char::MAX as u32, |(next, _)| *next as u32 - 1);
            // What stands between two ranges of characters is none.
            let end = char::from_u32(end).unwrap_or('\u{d7ff}');
            let first = (*first).max('\u{80}');
            if first <= end {
                ranges.push((first, end));
            }
        }
        (ascii, ranges)
    }

    /// How many characters each state is from one in which the pattern is found, or may end.
    fn distances(&self) -> Vec<u32> {
        let stride = usize::from(self.stride.max(1));
        let mut far: Vec<u32> = (0..self.next.len() / stride)
            .map(|row| {
                let accepts = row == 1 || (row > 1 && row * stride < usize::from(self.open));
                if accepts { 0 } else { NEVER }
            })
            .collect();
        loop {
            let mut changed = false;
            for row in 2..far.len() {
                let ways = self.next.get(row * stride..(row + 1) * stride).unwrap_or_default();
                let next = ways.iter().filter_map(|state| far.get(usize::from(*state) / stride)).min();
                let through = next.copied().unwrap_or(NEVER).saturating_add(1);
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
    fn text(&self, choices: &mut Choices<'_>, least: usize) -> Option<String> {
        let (far, endless) = (self.distances(), self.endless());
        let goes_on = |at: u32| endless.get(at as usize) == Some(&true);
        let distance = |at: u32| far.get(at as usize).copied().unwrap_or(NEVER);
        let (mut at, mut text, mut ended, mut count) = (0_u32, String::new(), false, 0);
        for _ in 0..STEPS {
            match self.instructions.get(at as usize)? {
                Instruction::Match => return Some(text),
                Instruction::Jump(to) => at = *to,
                Instruction::Split(one, other) => {
                    let nearest = if distance(*one) <= distance(*other) { *one } else { *other };
                    let choice = choices.next();
                    let loops = (goes_on(*one), goes_on(*other));
                    at = match choice {
                        // The other one ends what is too short.
                        _ if count < least && loops == (true, false) => *one,
                        _ if count < least && loops == (false, true) => *other,
                        None | Some(0) => nearest,
                        Some(choice) if choice % 2 == 0 && distance(*one) < NEVER => *one,
                        Some(_) if distance(*other) < NEVER => *other,
                        Some(_) => nearest,
                    };
                }
                Instruction::Assert(look) => {
                    if matches!(look, Look::Start) && !text.is_empty() {
                        return None;
                    }
                    ended |= matches!(look, Look::End);
                    at += 1;
                }
                Instruction::Char(class) => {
                    if ended {
                        return None;
                    }
                    text.push(letter(self.classes.get(*class as usize)?, choices.next_or_0())?);
                    count += 1;
                    at += 1;
                }
            }
        }
        None
    }

    /// Which instructions lead back to one before them, so that a text can be as long as one likes.
    fn endless(&self) -> Vec<bool> {
        let mut endless = vec![false; self.instructions.len()];
        loop {
            let mut changed = false;
            for (at, instruction) in self.instructions.iter().enumerate().rev() {
                let on = |to: usize| to <= at || endless.get(to) == Some(&true);
                let own = match instruction {
                    Instruction::Match => false,
                    Instruction::Jump(to) => on(*to as usize),
                    Instruction::Split(one, other) => on(*one as usize) || on(*other as usize),
                    Instruction::Assert(_) | Instruction::Char(_) => on(at + 1),
                };
                changed |= own != endless[at];
                endless[at] = own;
            }
            if !changed {
                return endless;
            }
        }
    }

    /// How many instructions each is from a match.
    fn distances(&self) -> Vec<u32> {
        let mut far = vec![NEVER; self.instructions.len()];
        loop {
            let mut changed = false;
            for (at, instruction) in self.instructions.iter().enumerate().rev() {
                let of = |to: u32| far.get(to as usize).copied().unwrap_or(NEVER);
                let behind = u32::try_from(at).map_or(NEVER, |at| of(at + 1));
                let next = match instruction {
                    Instruction::Match => 0,
                    Instruction::Jump(to) => of(*to).saturating_add(1),
                    Instruction::Split(one, other) => of(*one).min(of(*other)).saturating_add(1),
                    Instruction::Assert(_) | Instruction::Char(_) => behind.saturating_add(1),
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

/// A character of a class: letters and digits first, now and then one that is not ASCII.
fn letter(class: &Class<'_>, choice: usize) -> Option<char> {
    let wide = || {
        let (first, last) = *class.ranges.get(choice % class.ranges.len().max(1))?;
        let width = last as usize - first as usize + 1;
        char::from_u32(first as u32 + u32::try_from(choice % width).ok()?).or(Some(first))
    };
    if choice > 0xf000 && !class.ranges.is_empty() {
        return wide();
    }
    let among = |letters: &mut dyn Iterator<Item = char>| {
        let own: Vec<char> = letters.filter(|letter| class.contains(*letter)).collect();
        own.get(choice % own.len().max(1)).copied()
    };
    among(&mut ('a'..='z').chain('A'..='Z').chain('0'..='9'))
        .or_else(|| among(&mut (' '..='~')))
        .or_else(|| among(&mut ('\0'..='\x7f')))
        .or_else(wide)
}
