//! Execution of an [`Nfa`]. All threads run simultaneously (Thompson 1968), so that no input makes a pattern
//! slow.
//!
//! Threads have no priority and no captures, because only the existence of a match matters. The complete
//! state is therefore a set of instructions.

use super::Nfa;
use super::NfaInstruction;

#[cfg(test)]
thread_local! {
    /// The number of executed instructions, which tests measure instead of time.
    pub(super) static FOLLOWED_INSTRUCTIONS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The maximum number of instructions of a program that runs without allocating.
const MAX_STACK_PROGRAM: usize = 256;

impl Nfa<'_> {
    pub(super) fn is_match(&self, text: &str) -> bool {
        let size = self.instructions.len();
        if size <= MAX_STACK_PROGRAM {
            self.run_threads(text, &mut [0; MAX_STACK_PROGRAM / 64], &mut [0; MAX_STACK_PROGRAM])
        } else {
            self.run_threads(text, &mut vec![0; size.div_ceil(64)], &mut vec![0; size])
        }
    }

    fn run_threads(&self, text: &str, seen: &mut [u64], stack: &mut [u32]) -> bool {
        let mut threads = ThreadSet { seen, stack, waiting: 0 };
        let mut chars = text.chars();
        let mut before = None;
        loop {
            let after = chars.clone().next();
            // Starting a thread at each position makes the search unanchored.
            if before.is_none() || !self.start {
                threads.add_thread(0);
            }
            if self.follow_empty_moves(&mut threads, before, after) {
                return true;
            }
            let Some(c) = chars.next() else { return false };
            self.consume_char(&mut threads, c);
            if threads.waiting == 0 && self.start {
                return false;
            }
            before = Some(c);
        }
    }

    /// Executes all instructions that consume no character. Returns true if the program reaches `Match`.
    fn follow_empty_moves(
        &self,
        threads: &mut ThreadSet<'_>,
        before: Option<char>,
        after: Option<char>,
    ) -> bool {
        while let Some(at) = threads.pop_waiting() {
            #[cfg(test)]
            FOLLOWED_INSTRUCTIONS.set(FOLLOWED_INSTRUCTIONS.get() + 1);
            match self.instructions.get(at as usize) {
                Some(NfaInstruction::Match) => return true,
                Some(NfaInstruction::Jump(to)) => threads.add_thread(*to),
                Some(NfaInstruction::Split(one, other)) => {
                    threads.add_thread(*one);
                    threads.add_thread(*other);
                }
                Some(NfaInstruction::Assert(look)) if look.is_satisfied(before, after) => {
                    threads.add_thread(at + 1);
                }
                Some(NfaInstruction::Assert(_) | NfaInstruction::Char(_)) | None => {}
            }
        }
        false
    }

    /// Replaces the threads by their successors after the character `c`.
    fn consume_char(&self, threads: &mut ThreadSet<'_>, c: char) {
        // Each word of the set is cleared before it is refilled, because a thread that moves into a word that
        // was not visited yet would otherwise consume `c` a second time. Moved threads are therefore only
        // pushed here and marked afterwards.
        let mut moved = 0;
        for word in 0..threads.seen.len() {
            let Some(slot) = threads.seen.get_mut(word) else {
                break;
            };
            let mut bits = std::mem::take(slot);
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(NfaInstruction::Char(class)) = self.instructions.get(at) else {
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
                threads.add_thread(at);
            }
        }
    }
}

/// The set of instructions reached at one position of the input.
struct ThreadSet<'a> {
    /// One bit for each instruction that was reached at this position.
    seen: &'a mut [u64],
    /// Instructions that were reached but not executed yet. Each instruction is pushed at most once per
    /// position, so the length of the program is a sufficient capacity.
    stack: &'a mut [u32],
    waiting: usize,
}

impl ThreadSet<'_> {
    #[inline]
    fn add_thread(&mut self, at: u32) {
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
    fn pop_waiting(&mut self) -> Option<u32> {
        self.waiting = self.waiting.checked_sub(1)?;
        self.stack.get(self.waiting).copied()
    }
}
