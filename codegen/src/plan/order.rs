//! In which order path templates are tried: the more literal first, segment by segment; and by which
//! parameters operations of one method and path are told apart.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use contract_runtime::Json;

use super::{Call, Mark, is_supplied, is_visible, visible};
use crate::{
    api::{Operation, Parameter, ParameterIn},
    config::{Config, OperationConfig},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, Types},
    together::{Conj, Facts},
};

/// One segment of a template: literal, partly literal, or all placeholder; then the more
/// literal characters, then the text without the placeholders' names.
type Segment = (u8, Reverse<usize>, String);

/// What requests an operation stands for: its template, its method, and by what requests are known to
/// be for it among those of the same two. The more that is, the earlier it is tried.
type Requests<'a> = (Vec<Segment>, &'a str, Reverse<Marks>);

/// How many texts are asked for, then how much there is in all, so that whoever asks for more than another one comes
/// before it; then each pair behind the path and each parameter with its mark.
type Marks = (usize, usize, BTreeSet<(&'static str, String, Mark)>);

/// Reports operations that stand for the same requests as one before them: a client can send either,
/// a server cannot tell which one was sent.
pub(crate) fn check_places(
    graph: &Graph,
    config: &OperationConfig,
    operations: &[Operation],
    diagnostics: &mut Diagnostics,
) {
    let mut places: BTreeMap<Requests<'_>, &Operation> = BTreeMap::new();
    for operation in operations {
        let Operation { method, path, place, .. } = operation;
        let first = match places.entry(asked(graph, config, operation)) {
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
pub(super) fn order(calls: &[Call<'_>]) -> Vec<usize> {
    sorted(calls.iter().map(|call| {
        let rows = call.parameters.iter();
        requests(call.operation, rows.filter_map(|each| Some((each.parameter, each.row.mark.clone()?))))
    }))
}

fn sorted<'a>(all: impl Iterator<Item = Requests<'a>>) -> Vec<usize> {
    let mut sorted: Vec<(Requests<'a>, usize)> = all.zip(0..).collect();
    sorted.sort();
    sorted.dedup_by(|(next, _), (first, _)| next == first);
    sorted.into_iter().map(|(_, at)| at).collect()
}

/// Takes the marks from operations that have a method and path for themselves.
pub(super) fn unmark(calls: &mut [Call<'_>]) {
    let alone = alone(calls.iter().map(|call| call.operation));
    for (call, _) in calls.iter_mut().zip(alone).filter(|(_, alone)| *alone) {
        call.parameters.iter_mut().for_each(|parameter| parameter.row.mark = None);
    }
}

/// Finds what has one text alone in operations that are told apart by it. What the transport supplies is its own
/// matter.
pub(crate) fn settle_constants(graph: &Graph, config: &Config, operations: &mut [Operation]) {
    let alone = alone(operations.iter());
    for (operation, _) in operations.iter_mut().zip(alone).filter(|(_, alone)| !alone) {
        for parameter in &mut operation.parameters {
            if is_visible(&config.operations, parameter)
                && !is_supplied(&config.client, parameter)
                && let Some(Mark::Text(text)) = mark_of(graph, parameter)
            {
                parameter.constant = Some(text);
            }
        }
    }
}

/// For each operation whether it has its method and path for itself.
fn alone<'a>(operations: impl Iterator<Item = &'a Operation>) -> Vec<bool> {
    let places = operations.map(|operation| (segments(operation.template()), operation.method.as_str()));
    let places: Vec<(Vec<Segment>, &str)> = places.collect();
    let mut counts: BTreeMap<&(Vec<Segment>, &str), usize> = BTreeMap::new();
    places.iter().for_each(|place| *counts.entry(place).or_default() += 1);
    places.iter().map(|place| counts.get(place) == Some(&1)).collect()
}

/// What an operation stands for by the parameters that will have rows.
fn asked<'a>(graph: &Graph, config: &OperationConfig, operation: &'a Operation) -> Requests<'a> {
    requests(operation, visible(config, operation).filter_map(|each| Some((each, mark_of(graph, each)?))))
}

fn requests<'a>(
    operation: &'a Operation,
    marked: impl Iterator<Item = (&'a Parameter, Mark)>,
) -> Requests<'a> {
    let pairs = operation.pairs().map(|(name, text)| ("", name.to_owned(), Mark::Text(text.to_owned())));
    let marked = marked.map(|(Parameter { location, name, .. }, mark)| {
        // Names of headers are the same in any case (RFC 9110, 5.1).
        let name = match location {
            ParameterIn::Header => name.to_ascii_lowercase(),
            _ => name.clone(),
        };
        (location.as_str(), name, mark)
    });
    let marks: BTreeSet<_> = pairs.chain(marked).collect();
    let texts = marks.iter().filter(|(.., mark)| *mark != Mark::There).count();
    (segments(operation.template()), &operation.method, Reverse((texts, marks.len(), marks)))
}

/// By what of a parameter requests are known: of one that every request has, its text where there is
/// only one, or that it is there.
pub(super) fn mark_of(graph: &Graph, parameter: &Parameter) -> Option<Mark> {
    let Parameter { location, required, style, explode, schema, content, .. } = parameter;
    if !required || !matches!(location, ParameterIn::Query | ParameterIn::Header) || style == "deepObject" {
        return None;
    }
    let Some(schema) = schema.filter(|_| content.is_none()) else { return Some(Mark::There) };
    let facts = Facts::of(graph, &Conj::one(schema), true);
    let literals = facts.literals(graph);
    let types = facts.types.without(Types::NULL);
    // Members of what may be an object have places of their own; what may be anything is one text.
    let is_spread = *location == ParameterIn::Query && *explode && facts.types != Types::ALL;
    match (literals.as_deref(), types) {
        (_, Types::OBJECT) => None,
        (_, types) if is_spread && types.contains(Types::OBJECT) => None,
        (Some([Json::String(text)]), _) => Some(Mark::Text(text.clone())),
        _ => Some(Mark::There),
    }
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
    use crate::tree::Place;

    fn operations(of: &[(&str, &str)]) -> Vec<Operation> {
        let operation = |(method, path): &(&str, &str)| Operation {
            method: (*method).to_owned(),
            path: (*path).to_owned(),
            route: (*path).to_owned(),
            ..Operation::default()
        };
        of.iter().map(operation).collect()
    }

    fn ordered(all: &[Operation]) -> Vec<usize> {
        let config = OperationConfig::default();
        sorted(all.iter().map(|operation| asked(&Graph::default(), &config, operation)))
    }

    fn checked(all: &[Operation]) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        check_places(&Graph::default(), &OperationConfig::default(), all, &mut diagnostics);
        diagnostics
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
        let sorted = ordered(&all);
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

    /// The more is asked for, the earlier it is tried; what asks for nothing takes the rest.
    #[test]
    fn operations_of_one_path_are_told_apart_by_what_they_ask_for() {
        let asking = |path: &str, required: &[(&str, bool)]| Operation {
            method: "GET".to_owned(),
            route: path.to_owned(),
            parameters: required
                .iter()
                .map(|(name, required)| Parameter {
                    place: Place::default(),
                    name: (*name).to_owned(),
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
                    constant: None,
                })
                .collect(),
            ..Operation::default()
        };
        let all = [
            asking("/a", &[]),
            asking("/a", &[("x", true)]),
            asking("/a?x=1", &[]),
            asking("/a?x=2", &[]),
            asking("/a", &[("x", true), ("y", false)]),
            asking("/a", &[("x", true), ("y", true)]),
            asking("/a", &[("y", true)]),
        ];
        let diagnostics = checked(&all);
        assert_eq!(ordered(&all), [3, 2, 5, 6, 1, 0]);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");

        // A header beside the same text, and one that is written otherwise.
        let header = |name: &str| {
            let asked = asking("/b?f=1", &[(name, true)]);
            let parameters = asked.parameters.into_iter();
            let parameters = parameters.map(|each| Parameter { location: ParameterIn::Header, ..each });
            Operation {
                parameters: parameters.collect(),
                route: asked.route,
                method: asked.method,
                ..Operation::default()
            }
        };
        let all = [asking("/b?f=1", &[]), header("X-Kind"), header("x-kind")];
        let diagnostics = checked(&all);
        assert_eq!(ordered(&all), [1, 0]);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");
    }

    /// A server reads a name alone as one with an empty text.
    #[test]
    fn names_without_texts_tell_operations_of_one_path_apart() {
        let all =
            operations(&[("GET", "/x"), ("GET", "/x?list"), ("GET", "/x?count"), ("GET", "/x?count=&")]);
        let diagnostics = checked(&all);
        assert_eq!(ordered(&all), [1, 2, 0]);
        assert_eq!(diagnostics.len(), 1, "{diagnostics}");
    }

    /// The second can be sent, and is not found by what was sent.
    #[test]
    fn the_first_of_two_operations_at_one_place_is_found() {
        let all = operations(&[("GET", "/a/{x}"), ("POST", "/a/{x}"), ("GET", "/a/{y}")]);
        let diagnostics = checked(&all);
        assert_eq!(ordered(&all), [0, 1]);
        assert!(diagnostics.len() == 1 && !diagnostics.has_fatal(), "{diagnostics}");
    }
}
