//! Which value of a valid document its type cannot hold.

use crate::{Json, Number, pointer};

/// The JSON Pointer of the first whole number beyond 64 bits without which, and without those behind it, a document
/// could be read; none where it is not for such numbers that it cannot. `reads` says whether one can be.
pub(crate) fn too_large(document: &Json, reads: &dyn Fn(&Json) -> bool) -> Option<String> {
    // The document with as many of them as that, and 0 in place of the others.
    let with = |mut kept: usize| {
        let mut less = document.clone();
        reduce(&mut less, &mut kept);
        reads(&less)
    };
    let (mut read, mut refused) = (0, count(document));
    if !with(read) || with(refused) {
        return None;
    }
    while refused - read > 1 {
        let middle = usize::midpoint(read, refused);
        *(if with(middle) { &mut read } else { &mut refused }) = middle;
    }
    let mut at = String::new();
    find(document, &mut read, &mut at).then_some(at)
}

/// Whether it is a whole number beyond 64 bits.
fn is_large(number: &Number) -> bool {
    number.is_integer() && number.as_i64().is_none()
}

fn count(value: &Json) -> usize {
    match value {
        Json::Number(number) => usize::from(is_large(number)),
        Json::Array(items) => items.iter().map(count).sum(),
        Json::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// Writes 0 in the place of all but the first so many of them, in the document's order.
fn reduce(value: &mut Json, kept: &mut usize) {
    match value {
        Json::Number(number) if is_large(number) => match kept.checked_sub(1) {
            Some(less) => *kept = less,
            None => *number = Number::int(0),
        },
        Json::Array(items) => items.iter_mut().for_each(|item| reduce(item, kept)),
        Json::Object(members) => members.iter_mut().for_each(|(_, value)| reduce(value, kept)),
        _ => {}
    }
}

/// Whether there are more of them than so many; then `at` leads to the next. No other pointer is ever written: all of
/// them could be as long as the document is, each.
fn find(value: &Json, before: &mut usize, at: &mut String) -> bool {
    let parent = at.len();
    match value {
        Json::Number(number) if is_large(number) => match before.checked_sub(1) {
            Some(less) => *before = less,
            None => return true,
        },
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer::push_index(at, index);
                if find(item, before, at) {
                    return true;
                }
                at.truncate(parent);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                pointer::push(at, name);
                if find(value, before, at) {
                    return true;
                }
                at.truncate(parent);
            }
        }
        _ => {}
    }
    false
}
