//! In which order path templates are tried: the more literal first, segment by segment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, btree_map::Entry};

use crate::{
    api::Operation,
    diagnostics::{Diagnostic, Diagnostics},
};

/// One segment of a template: literal, partly literal, or all placeholder; then the more
/// literal characters, then the text without the placeholders' names.
type Segment = (u8, Reverse<usize>, String);

/// What requests an operation stands for.
type Requests<'a> = (Vec<Segment>, &'a str);

/// Reports operations that stand for the same requests as one before them: a client can send either,
/// a server cannot tell which one was sent.
pub(crate) fn check_places(operations: &[Operation], diagnostics: &mut Diagnostics) {
    let mut places: BTreeMap<Requests<'_>, &Operation> = BTreeMap::new();
    for operation in operations {
        let Operation { method, path, place, .. } = operation;
        let first = match places.entry(requests(operation)) {
            Entry::Vacant(entry) => {
                entry.insert(operation);
                continue;
            }
            Entry::Occupied(entry) => entry.get().place.clone(),
        };
        let message = format!("`{method} {path}` stands for the same requests as another operation");
        let problem = Diagnostic::error("ambiguous-path", message).at(place.clone());
        diagnostics.push(
            problem.label(first, "the other one").mended("a server answers the other one, a client has both"),
        );
    }
}

/// The indices of the operations that are found by their requests, the first of those that stand for
/// the same: most literal template first, templates that differ in names only together, `GET` before
/// `POST`.
pub(super) fn order(operations: &[Operation]) -> Vec<usize> {
    let mut sorted: Vec<(Requests<'_>, usize)> =
        operations.iter().enumerate().map(|(at, operation)| (requests(operation), at)).collect();
    sorted.sort();
    sorted.dedup_by(|(next, _), (first, _)| next == first);
    sorted.into_iter().map(|(_, at)| at).collect()
}

fn requests(operation: &Operation) -> Requests<'_> {
    (segments(&operation.path), &operation.method)
}

fn segments(template: &str) -> Vec<Segment> {
    template.split('/').map(segment).collect()
}

fn segment(text: &str) -> Segment {
    let mut shape = String::new();
    let mut rest = text;
    let mut literal = 0;
    while let Some((before, after)) = rest.split_once('{') {
        literal += before.len();
        shape.push_str(before);
        shape.push_str("{}");
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    let placeholders = !shape.is_empty();
    literal += rest.len();
    shape.push_str(rest);
    match (placeholders, literal) {
        (false, _) => (0, Reverse(0), shape),
        (true, 1..) => (1, Reverse(literal), shape),
        (true, 0) => (2, Reverse(0), shape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(of: &[(&str, &str)]) -> Vec<Operation> {
        let operation = |(method, path): &(&str, &str)| Operation {
            method: (*method).to_owned(),
            path: (*path).to_owned(),
            ..Operation::default()
        };
        of.iter().map(operation).collect()
    }

    #[test]
    fn literal_segments_come_first() {
        let all = operations(&[
            ("GET", "/a/{x}"),
            ("GET", "/a/{x}.json"),
            ("GET", "/a/b"),
            ("POST", "/a/{y}"),
            ("GET", "/{z}/b"),
            ("GET", "/a/{x}/c"),
            ("DELETE", "/a/{y}"),
        ]);
        let sorted = order(&all);
        let shown: Vec<_> = sorted.iter().map(|&i| format!("{} {}", all[i].method, all[i].path)).collect();
        assert_eq!(
            shown,
            [
                "GET /a/b",
                "GET /a/{x}.json",
                "DELETE /a/{y}",
                "GET /a/{x}",
                "POST /a/{y}",
                "GET /a/{x}/c",
                "GET /{z}/b"
            ]
        );
    }

    /// The second can be sent, and is not found by what was sent.
    #[test]
    fn the_first_of_two_operations_at_one_place_is_found() {
        let all = operations(&[("GET", "/a/{x}"), ("POST", "/a/{x}"), ("GET", "/a/{y}")]);
        let mut diagnostics = Diagnostics::new();
        check_places(&all, &mut diagnostics);
        assert_eq!(order(&all), [0, 1]);
        assert!(diagnostics.len() == 1 && !diagnostics.has_fatal(), "{diagnostics}");
    }
}
