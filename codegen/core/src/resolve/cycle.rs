//! Detects and cuts cycles of schemas that apply themselves to the same value.

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        SchemaGraph, SchemaId,
        keywords::{KeywordRole, KeywordValue},
    },
};

/// The maximum number of schemas of a cycle in a message.
const SHOWN: usize = 6;

/// Reports each cycle of in-place applicators (Core 9.4.1 forbids infinite recursion), and removes the
/// application that closes the cycle.
pub(super) fn cut_cycles(graph: &mut SchemaGraph, problems: &mut Diagnostics) {
    #[derive(Clone, Copy, PartialEq)]
    enum Color {
        New,
        Open,
        Done,
    }
    let mut closing = Vec::new();
    let mut colors = graph.schemas.map_ids(|_| Color::New);
    for start in graph.ids() {
        if colors[start] != Color::New {
            continue;
        }
        colors[start] = Color::Open;
        let mut path = vec![(start, in_place_targets(graph, start), 0)];
        while let Some((id, out, at)) = path.last_mut() {
            let Some(&next) = out.get(*at) else {
                colors[*id] = Color::Done;
                path.pop();
                continue;
            };
            *at += 1;
            match colors[next] {
                Color::New => {
                    colors[next] = Color::Open;
                    path.push((next, in_place_targets(graph, next), 0));
                }
                Color::Open => {
                    let from = path.iter().position(|(id, ..)| *id == next).unwrap_or(0);
                    // The schema whose application is removed comes first, since its meaning changes.
                    let mut cycle: Vec<SchemaId> = path.iter().skip(from).map(|(id, ..)| *id).collect();
                    closing.extend(cycle.last().map(|last| (*last, next)));
                    cycle.rotate_right(1);
                    problems.push(cycle_diagnostic(graph, &cycle));
                }
                Color::Done => {}
            }
        }
    }
    for (from, to) in closing {
        graph.schemas[from].remove_in_place_reference(to);
    }
}

/// Returns the schemas that a schema applies to its own value.
fn in_place_targets(graph: &SchemaGraph, id: SchemaId) -> Vec<SchemaId> {
    let schema = graph.schema(id);
    let here = schema.keywords().filter(|(keyword, value)| {
        // A dynamic anchor may resolve differently if another resource defines it, too.
        let elsewhere = matches!(value, KeywordValue::Dynamic(dynamic) if dynamic.anchor.is_some());
        keyword.role() == KeywordRole::InPlace && !elsewhere
    });
    here.flat_map(|(_, value)| value.schema_ids()).collect()
}

fn cycle_diagnostic(graph: &SchemaGraph, cycle: &[SchemaId]) -> Diagnostic {
    let name = |id: &SchemaId| format!("#{}", graph.schema(*id).location);
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(name).collect();
    if cycle.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.extend(cycle.first().map(name));
    let message = format!("the schema applies itself to the same value: {}", names.join(" → "));
    let place = |id: &SchemaId| graph.schema(*id).place.clone();
    let mut problem = Diagnostic::error("reference-cycle", message)
        .with_fallback("the first step is left out")
        .help("validation would never end: let one step go through a property or an item");
    if let Some(first) = cycle.first().map(place) {
        problem = problem.with_place(first);
    }
    for id in cycle.iter().skip(1).take(SHOWN) {
        problem = problem.with_label(place(id), "via");
    }
    problem
}
