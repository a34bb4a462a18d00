//! Running a [`Sequence`]: one pass over the bytes, no way back.

use super::Atom;
use super::Class;
use super::Sequence;

impl Sequence {
    pub(super) fn is_match(&self, text: &str) -> bool {
        if self.start {
            return self.matches_at(text, 0);
        }
        // The length is fixed, so that every start costs at most the length of
        // the program.
        let ends = std::iter::once(text.len());
        text.char_indices().map(|(at, _)| at).chain(ends).any(|at| self.matches_at(text, at))
    }

    fn matches_at(&self, text: &str, start: usize) -> bool {
        let mut at = start;
        for atom in self.atoms {
            let next = match atom {
                Atom::Literal(literal) => text
                    .as_bytes()
                    .get(at..)
                    .is_some_and(|rest| rest.starts_with(literal.as_bytes()))
                    .then(|| at + literal.len()),
                Atom::Class { class, min, max } => take(class, *min, *max, text, at),
            };
            match next {
                Some(next) => at = next,
                None => return false,
            }
        }
        !self.end || at == text.len()
    }
}

/// Reads up to `max` characters of the class; where reading stopped, or `None`
/// after fewer than `min`.
#[inline]
fn take(class: &Class, min: u32, max: u32, text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut count = 0;
    while count < max {
        let Some(&byte) = bytes.get(at) else { break };
        if byte < 0x80 {
            if !class.contains_ascii(byte) {
                break;
            }
            at += 1;
        } else {
            if class.ranges.is_empty() {
                break;
            }
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                break;
            };
            if !class.contains_wide(c) {
                break;
            }
            at += c.len_utf8();
        }
        // `max` may be the greatest u32, which a longer text must not overflow.
        count = count.saturating_add(u32::from(max != super::UNBOUNDED || count < min));
    }
    (count >= min).then_some(at)
}
