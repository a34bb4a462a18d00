//! Execution of an [`AtomSequence`]: one pass over the bytes without backtracking.

use super::AtomSequence;
use super::CharClass;
use super::SequenceAtom;

impl AtomSequence<'_> {
    pub(super) fn is_match(&self, text: &str) -> bool {
        if self.start {
            return self.matches_at(text, 0);
        }
        // The length is fixed, so matching at one position takes at most the length of the program.
        let ends = std::iter::once(text.len());
        text.char_indices().map(|(at, _)| at).chain(ends).any(|at| self.matches_at(text, at))
    }

    fn matches_at(&self, text: &str, start: usize) -> bool {
        let mut at = start;
        for atom in self.atoms {
            let next = match atom {
                SequenceAtom::Literal(literal) => text
                    .as_bytes()
                    .get(at..)
                    .is_some_and(|rest| rest.starts_with(literal.as_bytes()))
                    .then(|| at + literal.len()),
                SequenceAtom::Class { class, min, max } => match_class(class, *min, *max, text, at),
            };
            match next {
                Some(next) => at = next,
                None => return false,
            }
        }
        !self.end || at == text.len()
    }
}

/// Consumes up to `max` characters of the class. Returns the offset after them, or `None` if there are fewer
/// than `min`.
#[inline]
fn match_class(class: &CharClass<'_>, min: u32, max: u32, text: &str, start: usize) -> Option<usize> {
    // No string is longer than `usize::MAX`, so an unbounded count needs no special case.
    let max_count = if max == super::UNBOUNDED { usize::MAX } else { max as usize };
    let ascii = [class.ascii as u64, (class.ascii >> 64) as u64];
    let (mut at, mut count) = (start, 0);
    loop {
        let rest = text.as_bytes().get(at..)?;
        let run = rest.iter().take(max_count - count).take_while(|byte| {
            let half = ascii.get(usize::from(**byte >> 6)).copied().unwrap_or(0);
            half >> (**byte & 63) & 1 == 1
        });
        let run = run.count();
        (at, count) = (at + run, count + run);
        let wide = rest.get(run).is_some_and(|byte| *byte >= 0x80) && !class.ranges.is_empty();
        if count == max_count || !wide {
            break;
        }
        let Some(c) =
            text.get(at..).and_then(|rest| rest.chars().next()).filter(|c| class.contains_non_ascii(*c))
        else {
            break;
        };
        (at, count) = (at + c.len_utf8(), count + 1);
    }
    (count >= min as usize).then_some(at)
}
