//! Locates the integer that makes a valid document unrepresentable in its type.

use crate::{Json, Number, pointer};

/// Returns the JSON Pointer of the first integer that makes the document unreadable because it is outside of
/// its type, or `None` if such integers are not the reason. `reads` must return true if a document can be
/// read.
///
/// First considers only integers beyond 64 bits, because few documents contain others that are not read.
pub(crate) fn find_unrepresentable(document: &Json, reads: &dyn Fn(&Json) -> bool) -> Option<String> {
    [exceeds_64_bits, exceeds_narrow_types]
        .into_iter()
        .find_map(|is_large| IntegerSearch { is_large }.find_first(document, reads))
}

/// Returns true if the number is an integer beyond 64 bits.
fn exceeds_64_bits(number: &Number) -> bool {
    number.is_integer() && number.as_i64().is_none()
}

/// Returns true if the number is an integer that a machine integer type does not contain. All types contain
/// the integers from 0 to `i32::MAX`.
fn exceeds_narrow_types(number: &Number) -> bool {
    number.is_integer() && number.as_i64().and_then(|n| i32::try_from(n).ok()).is_none_or(i32::is_negative)
}

/// A search for one of the integers for which `is_large` returns true.
struct IntegerSearch {
    is_large: fn(&Number) -> bool,
}

impl IntegerSearch {
    /// Uses bisection over the number of large integers that are kept; all others are replaced by 0.
    fn find_first(&self, document: &Json, reads: &dyn Fn(&Json) -> bool) -> Option<String> {
        // Returns true if the document can be read with the first `kept` large integers and 0 in place of the
        // others.
        let with = |mut kept: usize| {
            let mut less = document.clone();
            self.zero_large_integers(&mut less, &mut kept);
            reads(&less)
        };
        let (mut read, mut refused) = (0, self.count_large_integers(document));
        if !with(read) || with(refused) {
            return None;
        }
        while refused - read > 1 {
            let middle = usize::midpoint(read, refused);
            *(if with(middle) { &mut read } else { &mut refused }) = middle;
        }
        let mut at = String::new();
        self.locate_large_integer(document, &mut read, &mut at).then_some(at)
    }

    fn count_large_integers(&self, value: &Json) -> usize {
        match value {
            Json::Number(number) => usize::from((self.is_large)(number)),
            Json::Array(items) => items.iter().map(|item| self.count_large_integers(item)).sum(),
            Json::Object(members) => members.values().map(|item| self.count_large_integers(item)).sum(),
            _ => 0,
        }
    }

    /// Replaces all large integers by 0, except the first `kept` in document order.
    fn zero_large_integers(&self, value: &mut Json, kept: &mut usize) {
        match value {
            Json::Number(number) if (self.is_large)(number) => match kept.checked_sub(1) {
                Some(less) => *kept = less,
                None => *number = Number::from_i64(0),
            },
            Json::Array(items) => items.iter_mut().for_each(|item| self.zero_large_integers(item, kept)),
            Json::Object(members) => {
                members.iter_mut().for_each(|(_, value)| self.zero_large_integers(value, kept))
            }
            _ => {}
        }
    }

    /// Moves `at` to the large integer that follows the first `before` ones. Returns false if there are no more.
    /// Only this pointer is built, because each pointer may be as long as the document.
    fn locate_large_integer(&self, value: &Json, before: &mut usize, at: &mut String) -> bool {
        let parent = at.len();
        match value {
            Json::Number(number) if (self.is_large)(number) => match before.checked_sub(1) {
                Some(less) => *before = less,
                None => return true,
            },
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointer::push_index_token(at, index);
                    if self.locate_large_integer(item, before, at) {
                        return true;
                    }
                    at.truncate(parent);
                }
            }
            Json::Object(members) => {
                for (name, value) in members {
                    pointer::push_token(at, name);
                    if self.locate_large_integer(value, before, at) {
                        return true;
                    }
                    at.truncate(parent);
                }
            }
            _ => {}
        }
        false
    }
}
