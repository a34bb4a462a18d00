//! Finds the template that matches a path, by binary search over the path segments.
//!
//! The table is sorted segment by segment: templates without further segments come first, then literals in
//! lexical order, then partly literal segments, then placeholders. Therefore templates that match a prefix of
//! the path are adjacent, and a literal segment can be found by binary search.

use std::cmp::Ordering;

use super::OperationTable;
use crate::path_template;

/// Returns the position of the first matching template in the search order.
pub(super) fn find_first_match(operations: &OperationTable, path: &str) -> Option<usize> {
    search_segments(operations, (0, operations.order.len()), 0, path.split('/'))
}

/// Searches the templates `from..to`, whose first `depth` segments are equal.
fn search_segments(
    operations: &OperationTable,
    (from, to): (usize, usize),
    depth: usize,
    mut rest: std::str::Split<'_, char>,
) -> Option<usize> {
    let segment = |at: usize| {
        let operation = operations.operation_at(at)?;
        operation.path.split('/').nth(depth).map(|segment| path_template::split_query(segment).0)
    };
    let Some(own) = rest.next() else {
        // Templates without further segments come first.
        return (from < to && segment(from).is_none()).then_some(from);
    };
    let position = |of: &dyn Fn(Option<&str>) -> Ordering| {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            if of(segment(middle)) == Ordering::Less { low = middle + 1 } else { high = middle }
        }
        low
    };
    let normalized = path_template::normalize_path(own);
    // Returns `Less` for segments before the requested one, and `Greater` for placeholders.
    let compare = |other: Option<&str>, equal: Ordering| match other {
        None => Ordering::Less,
        Some(other) if other.contains('{') => Ordering::Greater,
        Some(other) => other.cmp(&*normalized).then(equal),
    };
    let literal = position(&|other| compare(other, Ordering::Equal));
    let behind = position(&|other| compare(other, Ordering::Less));
    if literal < behind
        && let Some(found) = search_segments(operations, (literal, behind), depth + 1, rest.clone())
    {
        return Some(found);
    }
    let mut at = position(&|other| match other {
        Some(other) if other.contains('{') => Ordering::Greater,
        _ => Ordering::Less,
    });
    while at < to {
        let pattern = segment(at)?;
        let end =
            (at + 1..to).find(|&next| !segment(next).is_some_and(|s| path_template::same_shape(pattern, s)));
        let end = end.unwrap_or(to);
        if path_template::matches_path(pattern, own)
            && let Some(found) = search_segments(operations, (at, end), depth + 1, rest.clone())
        {
            return Some(found);
        }
        at = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    /// Binary search and linear search find the same template, even if backtracking is necessary.
    #[test]
    fn first_match_in_order_is_found() {
        let paths = [
            "/",
            "/a",
            "/a/b",
            "/a/b/c",
            "/a/bb",
            "/a/{x}.json",
            "/a/{x}",
            "/a/{x}/c",
            "/a/{x}/d",
            "/b/{x}/e",
            "/c",
            "/{y}",
            "/{y}/b",
            "/{y}/b/e",
            "/{y}/{z}",
            "/{y}/{z}/f",
        ];
        let all: Vec<Operation> = paths.map(|path| Operation { path, ..Operation::EMPTY }).to_vec();
        let order: Vec<u16> = (0..16).collect();
        let table = OperationTable::new(Vec::leak(all), Vec::leak(order));
        let segments = ["", "a", "b", "bb", "c", "d", "e", "f", "x.json", "z"];
        let mut evaluations = 0;
        for one in segments {
            for two in segments {
                for path in [
                    format!("/{one}"),
                    format!("/{one}/{two}"),
                    format!("/{one}/{two}/c"),
                    format!("/{one}/{two}/f"),
                ] {
                    let each = (0..paths.len()).find(|&at| path_template::matches_path(paths[at], &path));
                    assert_eq!(find_first_match(&table, &path), each, "{path}");
                    evaluations += usize::from(each.is_some());
                }
            }
        }
        assert!(evaluations > 200, "{evaluations}");
    }

    /// Paths are found in every spelling: only characters that must be encoded have several spellings (RFC
    /// 3986, 6.2.2).
    #[test]
    fn path_is_found_in_every_encoding() {
        let paths = ["/%C3%A4", "/%C3%A4/{id}", "/a", "/a%20b", "/a%2Fb", "/a%7Cb/{id}"];
        let all: Vec<Operation> = paths.map(|path| Operation { path, ..Operation::EMPTY }).to_vec();
        let table = OperationTable::new(Vec::leak(all), &[0, 1, 2, 3, 4, 5]);
        for (path, at) in [
            ("/%c3%a4", Some(0)),
            ("/ä", Some(0)),
            ("/%61", None),
            ("/a%20b", Some(3)),
            ("/a%2fb", Some(4)),
            ("/a/b", None),
            ("/%C3%a4/x", Some(1)),
            ("/a|b/x", Some(5)),
        ] {
            assert_eq!(find_first_match(&table, path), at, "{path}");
        }
    }
}
