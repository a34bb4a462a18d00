//! The sets of evaluated members or elements of a value, for `unevaluatedProperties` and `unevaluatedItems`
//! (Core 11).
//!
//! A set exists only while a schema object with such a keyword, or a schema that it applies in place, is
//! being evaluated.

use crate::Json;

/// The evaluated members or elements of a value. Members are identified by their position in the object.
pub(super) enum EvaluatedSet {
    /// One bit for each of up to 64 parts, which avoids an allocation for nearly all values.
    Few(u64),
    /// One flag for each part.
    Many(Vec<bool>),
}

impl EvaluatedSet {
    /// Creates a set for `value` in which no part is evaluated yet.
    pub(super) fn empty_for(value: &Json) -> Self {
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
            Self::Few(bits) => *bits |= position_bit(index),
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
    pub(super) fn contains(&self, index: usize) -> bool {
        match self {
            Self::Few(bits) => bits & position_bit(index) != 0,
            Self::Many(marks) => marks.get(index).is_some_and(|mark| *mark),
        }
    }

    /// Adds the parts that another set of the same value contains.
    pub(super) fn merge(&mut self, other: &EvaluatedSet) {
        match (self, other) {
            (Self::Few(bits), Self::Few(more)) => *bits |= more,
            (Self::Many(marks), Self::Many(more)) => {
                for (mark, more) in marks.iter_mut().zip(more) {
                    *mark |= more;
                }
            }
            // Sets of the same value have the same length.
            _ => {}
        }
    }
}

/// Returns the bit of a position, or 0 for position 64 and beyond.
#[inline]
pub(super) fn position_bit(index: usize) -> u64 {
    if index < 64 { 1 << index } else { 0 }
}
