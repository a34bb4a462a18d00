//! In which order path templates are tried: the more literal first, segment by segment.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{
    api::Operation,
    diagnostics::{Diagnostic, Diagnostics},
    tree::Place,
};

/// One segment of a template: literal, partly literal, or all placeholder; then the more
/// literal characters, then the text without the placeholders' names.
type Segment = (u8, Reverse<usize>, String);

/// Leaves the first of the operations that stand for the same requests.
pub(crate) fn one_at_each_place(operations: &mut Vec<Operation>, diagnostics: &mut Diagnostics) {
    let mut places: BTreeMap<(Vec<Segment>, String), Place> = BTreeMap::new();
    operations.retain(|operation| {
        let Operation { method, path, place, .. } = operation;
        let Some(first) = places.get(&(segments(path), method.clone())) else {
            places.insert((segments(path), method.clone()), place.clone());
            return true;
        };
        let message = format!("`{method} {path}` stands for the same requests as another operation");
        let problem = Diagnostic::error("ambiguous-path", message).at(place.clone());
        diagnostics.push(problem.label(first.clone(), "the other one").mended("this one is left out"));
        false
    });
}

/// The indices of operations of which no two stand for the same requests: most literal template
/// first, templates that differ in names only together, `GET` before `POST`.
pub(super) fn order(operations: &[Operation]) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..operations.len()).collect();
    sorted.sort_by_cached_key(|at| {
        operations.get(*at).map(|operation| (segments(&operation.path), operation.method.clone()))
    });
    sorted
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

    #[test]
    fn the_first_of_two_operations_at_one_place_is_left() {
        let mut all = operations(&[("GET", "/a/{x}"), ("POST", "/a/{x}"), ("GET", "/a/{y}")]);
        let mut diagnostics = Diagnostics::new();
        one_at_each_place(&mut all, &mut diagnostics);
        let left: Vec<_> = all.iter().map(|each| (each.method.as_str(), each.path.as_str())).collect();
        assert_eq!(left, [("GET", "/a/{x}"), ("POST", "/a/{x}")]);
        assert!(diagnostics.len() == 1 && !diagnostics.has_fatal(), "{diagnostics}");
    }
}
