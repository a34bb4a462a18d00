//! Which value of a valid document its type cannot hold.

use crate::{Json, Number, pointer};

/// Among so many numbers the one is looked for: each doubling of them is another reading.
const LOOKED_AT: usize = 64;

/// The JSON Pointer of the first whole number beyond 64 bits without which, and without those behind it, a document
/// could be read; none where it is not for such numbers that it cannot. `reads` says whether one can be.
pub(crate) fn too_large(document: &Json, reads: &dyn Fn(&Json) -> bool) -> Option<String> {
    let large = large(document);
    // The document with as many of them as that, and 0 in place of the others.
    let with = |kept: usize| {
        let mut less = document.clone();
        for pointer in large.iter().skip(kept) {
            if let Some(number) = less.pointer_mut(pointer) {
                *number = Json::Number(Number::int(0));
            }
        }
        reads(&less)
    };
    let (mut read, mut refused) = (0, large.len().min(LOOKED_AT));
    if !with(read) || with(refused) {
        return None;
    }
    while refused - read > 1 {
        let middle = usize::midpoint(read, refused);
        *(if with(middle) { &mut read } else { &mut refused }) = middle;
    }
    large.into_iter().nth(read)
}

/// Where whole numbers beyond 64 bits stand, in the document's order.
fn large(document: &Json) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), document)];
    while let Some((at, value)) = left.pop() {
        match value {
            Json::Number(number) if number.is_integer() && number.as_i64().is_none() => found.push(at),
            Json::Array(items) => {
                let item = |(index, item)| {
                    let mut at = at.clone();
                    pointer::push_index(&mut at, index);
                    (at, item)
                };
                left.extend(items.iter().enumerate().rev().map(item));
            }
            Json::Object(members) => {
                let members: Vec<_> = members.iter().collect();
                left.extend(members.into_iter().rev().map(|(name, value)| (pointer::join(&at, name), value)));
            }
            _ => {}
        }
    }
    found
}
