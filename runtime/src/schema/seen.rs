//! Which members or elements of one value have been evaluated, for
//! `unevaluatedProperties` and `unevaluatedItems` (Core 11).
//!
//! Kept only while a schema object with such a keyword, or one applied in place
//! below it, is being evaluated.

use crate::Json;

/// The evaluated members (by position in the object) or elements of one value.
pub(super) enum Seen {
    /// One bit for each of up to 64, as nearly all values have: nothing is allocated.
    Few(u64),
    /// One mark for each.
    Many(Vec<bool>),
}

impl Seen {
    /// Nothing of the value is evaluated yet.
    pub(super) fn nothing_of(value: &Json) -> Self {
        let len = match value {
            Json::Array(items) => items.len(),
            Json::Object(members) => members.len(),
            _ => 0,
        };
        if len <= 64 { Self::Few(0) } else { Self::Many(vec![false; len]) }
    }

    #[inline]
    pub(super) fn mark(&mut self, index: usize) {
        match self {
            Self::Few(bits) => *bits |= bit(index),
            Self::Many(marks) => {
                if let Some(mark) = marks.get_mut(index) {
                    *mark = true;
                }
            }
        }
    }

    pub(super) fn mark_all(&mut self) {
        match self {
            Self::Few(bits) => *bits = u64::MAX,
            Self::Many(marks) => marks.fill(true),
        }
    }

    #[inline]
    pub(super) fn has(&self, index: usize) -> bool {
        match self {
            Self::Few(bits) => bits & bit(index) != 0,
            Self::Many(marks) => marks.get(index).is_some_and(|mark| *mark),
        }
    }

    /// Adds what is evaluated of the same value.
    pub(super) fn merge(&mut self, other: &Seen) {
        match (self, other) {
            (Self::Few(bits), Self::Few(more)) => *bits |= more,
            (Self::Many(marks), Self::Many(more)) => {
                for (mark, more) in marks.iter_mut().zip(more) {
                    *mark |= more;
                }
            }
            // One value has one length.
            _ => {}
        }
    }
}

/// The bit of a position; none beyond 64.
#[inline]
pub(super) fn bit(index: usize) -> u64 {
    if index < 64 { 1 << index } else { 0 }
}
