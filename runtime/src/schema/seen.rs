//! Which members or elements of one value have been evaluated, for
//! `unevaluatedProperties` and `unevaluatedItems` (Core 11).
//!
//! Kept only while a schema object with such a keyword, or one applied in place
//! below it, is being evaluated.

use crate::Json;

/// The evaluated members (by position in the object) or elements of one value.
pub(super) struct Seen {
    marks: Vec<bool>,
}

impl Seen {
    /// Nothing of the value is evaluated yet.
    pub(super) fn nothing_of(value: &Json) -> Self {
        let len = match value {
            Json::Array(items) => items.len(),
            Json::Object(members) => members.len(),
            _ => 0,
        };
        Self { marks: vec![false; len] }
    }

    pub(super) fn mark(&mut self, index: usize) {
        if let Some(mark) = self.marks.get_mut(index) {
            *mark = true;
        }
    }

    pub(super) fn mark_all(&mut self) {
        self.marks.fill(true);
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.marks.get(index).is_some_and(|mark| *mark)
    }

    pub(super) fn merge(&mut self, other: &Seen) {
        for (mark, more) in self.marks.iter_mut().zip(&other.marks) {
            *mark |= more;
        }
    }
}
