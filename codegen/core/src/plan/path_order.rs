//! Determines the order in which a server compares a request with the path templates: segment by segment,
//! templates with more literal text come first. Also determines the marks of operations with the same method
//! and path, which are the parameters that distinguish their requests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use contract_runtime::Json;

use super::{PlannedCall, RequestMark, is_supplied, is_visible, visible_parameters};
use crate::{
    api::{Operation, Parameter, ParameterIn},
    config::{Config, OperationConfig},
    conjunction::{SchemaConjunction, SchemaFacts},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{SchemaGraph, TypeSet},
};

/// The sort key of a segment of a path template. Its elements are the class (0 literal, 1 partly literal, 2
/// placeholder), the number of literal characters of a partly literal segment (more come first), and the
/// segment without placeholder names.
type SegmentKey = (u8, Reverse<usize>, String);

/// The sort key of an operation: its path template, its method, and its marks. Operations with more specific
/// marks come first.
type RequestKey<'a> = (Vec<SegmentKey>, &'a str, Reverse<MarkKey>);

/// The sort key of the marks of an operation: the number of marks with a fixed value, the number of all
/// marks, and the marks themselves. Each mark consists of the parameter's location and name and of its
/// required value or presence.
type MarkKey = (usize, usize, BTreeSet<(&'static str, String, RequestMark)>);

/// Reports each operation that matches the same requests as an earlier operation. A client has methods for
/// both, but a server cannot distinguish their requests.
pub(crate) fn check_ambiguous_paths(
    graph: &SchemaGraph,
    config: &OperationConfig,
    operations: &[Operation],
    diagnostics: &mut Diagnostics,
) {
    let mut places: BTreeMap<RequestKey<'_>, &Operation> = BTreeMap::new();
    for operation in operations {
        let Operation { method, path, place, .. } = operation;
        let first = match places.entry(request_key_of(graph, config, operation)) {
            Entry::Vacant(entry) => {
                entry.insert(operation);
                continue;
            }
            Entry::Occupied(entry) => entry.get().place.clone(),
        };
        let message = format!("`{method} {path}` matches the same requests as another operation");
        let problem = Diagnostic::error("ambiguous-path", message).with_place(place.clone());
        diagnostics.push(
            problem
                .with_label(first, "the other operation")
                .with_fallback("a server handles the other operation, a client has both"),
        );
    }
}

/// Returns the indices of the operations in matching order: the most literal template first, with equivalent
/// templates next to each other and sorted by method. If several operations match the same requests, only the
/// first is included.
pub(super) fn sort_calls(calls: &[PlannedCall<'_>]) -> Vec<usize> {
    sort_keys(calls.iter().map(|call| {
        let rows = call.parameters.iter();
        request_key(call.operation, rows.filter_map(|each| Some((each.parameter, each.row.mark.clone()?))))
    }))
}

fn sort_keys<'a>(all: impl Iterator<Item = RequestKey<'a>>) -> Vec<usize> {
    let mut sorted: Vec<(RequestKey<'a>, usize)> = all.zip(0..).collect();
    sorted.sort();
    sorted.dedup_by(|(next, _), (first, _)| next == first);
    sorted.into_iter().map(|(_, at)| at).collect()
}

/// Removes the marks of each operation with a unique combination of method and path.
pub(super) fn clear_unneeded_marks(calls: &mut [PlannedCall<'_>]) {
    let unique = has_unique_place(calls.iter().map(|call| call.operation));
    for (call, _) in calls.iter_mut().zip(unique).filter(|(_, unique)| *unique) {
        call.parameters.iter_mut().for_each(|parameter| parameter.row.mark = None);
    }
}

/// Sets [`Parameter::constant`] of each required parameter for which only one string is valid. Callers need
/// not pass such a parameter. Only operations that share their method and path with another operation are
/// changed. Parameters that the transport supplies are skipped.
pub(crate) fn assign_constants(graph: &SchemaGraph, config: &Config, operations: &mut [Operation]) {
    let unique = has_unique_place(operations.iter());
    for (operation, _) in operations.iter_mut().zip(unique).filter(|(_, unique)| !unique) {
        for parameter in &mut operation.parameters {
            if is_visible(&config.operations, parameter)
                && !is_supplied(&config.client, parameter)
                && let Some(RequestMark::Text(text)) = mark_of(graph, parameter)
            {
                parameter.constant = Some(text);
            }
        }
    }
}

/// Returns, for each operation, true if its method and path are unique.
fn has_unique_place<'a>(operations: impl Iterator<Item = &'a Operation>) -> Vec<bool> {
    let places =
        operations.map(|operation| (segment_keys(operation.path_template()), operation.method.as_str()));
    let places: Vec<(Vec<SegmentKey>, &str)> = places.collect();
    let mut counts: BTreeMap<&(Vec<SegmentKey>, &str), usize> = BTreeMap::new();
    places.iter().for_each(|place| *counts.entry(place).or_default() += 1);
    places.iter().map(|place| counts.get(place) == Some(&1)).collect()
}

/// Returns the sort key of an operation that is not planned yet. The marks are derived from the parameters
/// that will have rows.
fn request_key_of<'a>(
    graph: &SchemaGraph,
    config: &OperationConfig,
    operation: &'a Operation,
) -> RequestKey<'a> {
    request_key(
        operation,
        visible_parameters(config, operation).filter_map(|each| Some((each, mark_of(graph, each)?))),
    )
}

fn request_key<'a>(
    operation: &'a Operation,
    marked: impl Iterator<Item = (&'a Parameter, RequestMark)>,
) -> RequestKey<'a> {
    let pairs = operation
        .fixed_query_pairs()
        .map(|(name, text)| ("", name.to_owned(), RequestMark::Text(text.to_owned())));
    let marked = marked.map(|(Parameter { location, name, .. }, mark)| {
        // Header names are case-insensitive (RFC 9110, 5.1).
        let name = match location {
            ParameterIn::Header => name.to_ascii_lowercase(),
            _ => name.clone(),
        };
        (location.as_str(), name, mark)
    });
    let marks: BTreeSet<_> = pairs.chain(marked).collect();
    let texts = marks.iter().filter(|(.., mark)| *mark != RequestMark::Present).count();
    (segment_keys(operation.path_template()), &operation.method, Reverse((texts, marks.len(), marks)))
}

/// Returns the mark of a required query or header parameter: its value if only one string is valid, or else
/// its presence. Returns `None` for other parameters and for objects whose properties become separate
/// parameters.
pub(super) fn mark_of(graph: &SchemaGraph, parameter: &Parameter) -> Option<RequestMark> {
    let Parameter { location, required, style, explode, schema, content, .. } = parameter;
    if !required || !matches!(location, ParameterIn::Query | ParameterIn::Header) || style == "deepObject" {
        return None;
    }
    let Some(schema) = schema.filter(|_| content.is_none()) else { return Some(RequestMark::Present) };
    let facts = SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(schema), true);
    let literals = facts.allowed_literals(graph);
    let types = facts.types.difference(TypeSet::NULL);
    // The properties of an exploded object become separate parameters. An unconstrained value is a single
    // string.
    let is_spread = *location == ParameterIn::Query && *explode && facts.types != TypeSet::ALL;
    match (literals.as_deref(), types) {
        (_, TypeSet::OBJECT) => None,
        (_, types) if is_spread && types.contains(TypeSet::OBJECT) => None,
        (Some([Json::String(text)]), _) => Some(RequestMark::Text(text.clone())),
        _ => Some(RequestMark::Present),
    }
}

fn segment_keys(template: &str) -> Vec<SegmentKey> {
    template.split('/').map(segment_key).collect()
}

fn segment_key(text: &str) -> SegmentKey {
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
    use crate::tree::DocumentLocation;

    fn operations(requests: &[(&str, &str)]) -> Vec<Operation> {
        let operation = |(method, path): &(&str, &str)| Operation {
            method: (*method).to_owned(),
            path: (*path).to_owned(),
            route: (*path).to_owned(),
            ..Operation::default()
        };
        requests.iter().map(operation).collect()
    }

    fn matching_order(operations: &[Operation]) -> Vec<usize> {
        let config = OperationConfig::default();
        sort_keys(
            operations.iter().map(|operation| request_key_of(&SchemaGraph::default(), &config, operation)),
        )
    }

    fn find_ambiguities(operations: &[Operation]) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        check_ambiguous_paths(
            &SchemaGraph::default(),
            &OperationConfig::default(),
            operations,
            &mut diagnostics,
        );
        diagnostics
    }

    #[test]
    fn literal_segments_come_first() {
        let requests = operations(&[
            ("GET", "/a/{x}"),
            ("GET", "/a/{x}.json"),
            ("GET", "/a/b"),
            ("POST", "/a/{y}"),
            ("GET", "/{z}/b"),
            ("GET", "/a/{x}/c"),
            ("DELETE", "/a/{y}"),
        ]);
        let sorted = matching_order(&requests);
        let lines: Vec<_> =
            sorted.iter().map(|&i| format!("{} {}", requests[i].method, requests[i].path)).collect();
        assert_eq!(
            lines,
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

    /// Of several operations with the same path, those with more required parameters or fixed values are
    /// matched first, and the one without required parameters last.
    #[test]
    fn operations_of_one_path_are_distinguished_by_parameters() {
        let operation_with = |path: &str, required: &[(&str, bool)]| Operation {
            method: "GET".to_owned(),
            route: path.to_owned(),
            parameters: required
                .iter()
                .map(|(name, required)| Parameter {
                    place: DocumentLocation::default(),
                    name: (*name).to_owned(),
                    rust_name: None,
                    location: ParameterIn::Query,
                    required: *required,
                    deprecated: false,
                    description: None,
                    style: "form".to_owned(),
                    explode: true,
                    allow_reserved: false,
                    allow_empty: false,
                    schema: None,
                    content: None,
                    encoding: Vec::new(),
                    examples: Vec::new(),
                    constant: None,
                })
                .collect(),
            ..Operation::default()
        };
        let operations = [
            operation_with("/a", &[]),
            operation_with("/a", &[("x", true)]),
            operation_with("/a?x=1", &[]),
            operation_with("/a?x=2", &[]),
            operation_with("/a", &[("x", true), ("y", false)]),
            operation_with("/a", &[("x", true), ("y", true)]),
            operation_with("/a", &[("y", true)]),
        ];
        let diagnostics = find_ambiguities(&operations);
        assert_eq!(matching_order(&operations), [3, 2, 5, 6, 1, 0]);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");

        // Two operations whose required headers differ only in case match the same requests.
        let header = |name: &str| {
            let operation = operation_with("/b?f=1", &[(name, true)]);
            let parameters = operation.parameters.into_iter();
            let parameters = parameters.map(|each| Parameter { location: ParameterIn::Header, ..each });
            Operation {
                parameters: parameters.collect(),
                route: operation.route,
                method: operation.method,
                ..Operation::default()
            }
        };
        let operations = [operation_with("/b?f=1", &[]), header("X-Kind"), header("x-kind")];
        let diagnostics = find_ambiguities(&operations);
        assert_eq!(matching_order(&operations), [1, 0]);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");
    }

    /// In paths with a query, a name without a value (`?count`) is equivalent to a name with an empty value
    /// (`?count=`).
    #[test]
    fn names_without_values_distinguish_operations() {
        let requests =
            operations(&[("GET", "/x"), ("GET", "/x?list"), ("GET", "/x?count"), ("GET", "/x?count=&")]);
        let diagnostics = find_ambiguities(&requests);
        assert_eq!(matching_order(&requests), [1, 2, 0]);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");
    }

    /// If two operations match the same requests, the matching order contains only the first, and the second
    /// is reported.
    #[test]
    fn first_of_two_equal_operations_is_matched() {
        let requests = operations(&[("GET", "/a/{x}"), ("POST", "/a/{x}"), ("GET", "/a/{y}")]);
        let diagnostics = find_ambiguities(&requests);
        assert_eq!(matching_order(&requests), [0, 1]);
        assert!(diagnostics.len() == 1 && !diagnostics.has_fatal(), "{diagnostics}");
    }
}
