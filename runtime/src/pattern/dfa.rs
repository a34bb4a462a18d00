//! [`Dfa`]: a deterministic automaton with one table lookup for each character.

/// A transition table. Each row lists the next state for every character class.
///
/// A state is the offset of its row. Row 0 is the dead state, from which no match is possible. Row 1 is the
/// state after a match. The next rows are the states that accept if the input ends there.
#[derive(Debug, Clone, Copy)]
pub struct Dfa<'t> {
    /// The class of each ASCII character.
    pub(super) ascii: [u8; 128],
    /// Runs of characters with the same class. Each has its first character and the class, in ascending order
    /// from `'\0'`.
    pub(super) runs: &'t [(char, u8)],
    /// The length of a row.
    pub(super) stride: u16,
    pub(super) start: u16,
    /// The first state that does not accept at the end of the input.
    pub(super) open: u16,
    pub(super) next: &'t [u16],
}

impl<'t> Dfa<'t> {
    /// Creates a table. `runs` lists runs of characters with the same class, each with its first character
    /// and the class, in ascending order from `'\0'`. `next` contains rows of `stride` states each. `open` is
    /// the first row that does not accept at the end of the input.
    #[must_use]
    pub const fn new(runs: &'t [(char, u8)], stride: u16, start: u16, open: u16, next: &'t [u16]) -> Self {
        let mut ascii = [0; 128];
        let (mut at, mut code) = (0, 0);
        while code < ascii.len() {
            while at + 1 < runs.len() && runs[at + 1].0 as usize <= code {
                at += 1;
            }
            if at < runs.len() {
                ascii[code] = runs[at].1;
            }
            code += 1;
        }
        Self { ascii, runs, stride, start, open, next }
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let mut state = self.start;
        let mut bytes = text.as_bytes().iter();
        while state > self.stride {
            let Some(&byte) = bytes.next() else { return state < self.open };
            let Some(&class) = self.ascii.get(usize::from(byte)) else {
                let at = text.len() - bytes.len() - 1;
                return self.is_match_from(text, at, state);
            };
            state = self.next_state(state, class);
        }
        state == self.stride
    }

    /// Continues matching at byte `at`, the position of the first non-ASCII character.
    #[inline(never)]
    fn is_match_from(&self, text: &str, at: usize, mut state: u16) -> bool {
        for c in text.get(at..).unwrap_or_default().chars() {
            let class = match self.ascii.get(c as usize) {
                Some(class) => *class,
                None => self.non_ascii_class(c),
            };
            state = self.next_state(state, class);
            if state <= self.stride {
                return state == self.stride;
            }
        }
        state < self.open
    }

    #[inline]
    pub(super) fn next_state(&self, state: u16, class: u8) -> u16 {
        self.next.get(usize::from(state) + usize::from(class)).copied().unwrap_or(0)
    }

    fn non_ascii_class(&self, c: char) -> u8 {
        let after = self.runs.partition_point(|&(first, _)| first <= c);
        after.checked_sub(1).and_then(|run| self.runs.get(run)).map_or(0, |&(_, class)| class)
    }
}
