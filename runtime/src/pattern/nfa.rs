//! Running an [`Nfa`]: all threads at once (Thompson 1968), so that no text
//! makes a pattern slow.
//!
//! Threads have no order and carry nothing, since only existence is asked; a
//! set of instructions is the whole state.

use super::Instruction;
use super::Nfa;

#[cfg(test)]
thread_local! {
    /// Instructions that were followed: what tests count instead of time.
    pub(super) static FOLLOWED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Programs up to this size run without allocating.
const SMALL: usize = 256;

impl Nfa<'_> {
    pub(super) fn is_match(&self, text: &str) -> bool {
        let size = self.instructions.len();
        if size <= SMALL {
            self.run(text, &mut [0; SMALL / 64], &mut [0; SMALL])
        } else {
            self.run(text, &mut vec![0; size.div_ceil(64)], &mut vec![0; size])
        }
    }

    fn run(&self, text: &str, seen: &mut [u64], stack: &mut [u32]) -> bool {
        let mut threads = Threads { seen, stack, waiting: 0 };
        let mut chars = text.chars();
        let mut before = None;
        loop {
            let after = chars.clone().next();
            // A thread per start makes the search unanchored.
            if before.is_none() || !self.start {
                threads.add(0);
            }
            if self.follow(&mut threads, before, after) {
                return true;
            }
            let Some(c) = chars.next() else { return false };
            self.read(&mut threads, c);
            if threads.waiting == 0 && self.start {
                return false;
            }
            before = Some(c);
        }
    }

    /// Follows everything that reads no character; whether `Match` is reached.
    fn follow(&self, threads: &mut Threads<'_>, before: Option<char>, after: Option<char>) -> bool {
        while let Some(at) = threads.next() {
            #[cfg(test)]
            FOLLOWED.set(FOLLOWED.get() + 1);
            match self.instructions.get(at as usize) {
                Some(Instruction::Match) => return true,
                Some(Instruction::Jump(to)) => threads.add(*to),
                Some(Instruction::Split(one, other)) => {
                    threads.add(*one);
                    threads.add(*other);
                }
                Some(Instruction::Assert(look)) if look.holds(before, after) => {
                    threads.add(at + 1);
                }
                Some(Instruction::Assert(_) | Instruction::Char(_)) | None => {}
            }
        }
        false
    }

    /// Replaces the threads by those that stand behind `c`.
    fn read(&self, threads: &mut Threads<'_>, c: char) {
        // Each word is taken out before it is refilled: a thread that moves
        // into a word not yet read would otherwise read `c` a second time.
        // Moved threads are therefore only stacked here, and marked after.
        let mut moved = 0;
        for word in 0..threads.seen.len() {
            let Some(slot) = threads.seen.get_mut(word) else {
                break;
            };
            let mut bits = std::mem::take(slot);
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(Instruction::Char(class)) = self.instructions.get(at) else {
                    continue;
                };
                let reads = self.classes.get(*class as usize).is_some_and(|set| set.contains(c));
                if reads && let Some(slot) = threads.stack.get_mut(moved) {
                    *slot = at as u32 + 1;
                    moved += 1;
                }
            }
        }
        threads.waiting = 0;
        for index in 0..moved {
            if let Some(&at) = threads.stack.get(index) {
                threads.add(at);
            }
        }
    }
}

/// The instructions reached at one place of the text.
struct Threads<'a> {
    /// One bit per instruction: reached at this place.
    seen: &'a mut [u64],
    /// Reached, but not yet followed. Each instruction enters once per place,
    /// so that the program's length is room enough.
    stack: &'a mut [u32],
    waiting: usize,
}

impl Threads<'_> {
    #[inline]
    fn add(&mut self, at: u32) {
        let bit = 1 << (at % 64);
        let Some(word) = self.seen.get_mut(at as usize / 64) else {
            return;
        };
        if *word & bit != 0 {
            return;
        }
        *word |= bit;
        if let Some(slot) = self.stack.get_mut(self.waiting) {
            *slot = at;
            self.waiting += 1;
        }
    }

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.waiting = self.waiting.checked_sub(1)?;
        self.stack.get(self.waiting).copied()
    }
}
