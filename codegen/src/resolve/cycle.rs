//! Schemas that apply themselves to the same value, which no evaluation would ever leave.

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        Graph, SchemaId,
        keywords::{Role, Value},
    },
};

/// Members of a cycle that a message names.
const SHOWN: usize = 6;

/// Reports each cycle of in-place applicators (Core 9.4.1: infinite recursion must not happen), and
/// leaves out the step that closes it.
pub(super) fn cut(graph: &mut Graph, problems: &mut Diagnostics) {
    #[derive(Clone, Copy, PartialEq)]
    enum Color {
        New,
        Open,
        Done,
    }
    let mut closing = Vec::new();
    let mut colors = graph.schemas.map(|_| Color::New);
    for start in graph.ids() {
        if colors[start] != Color::New {
            continue;
        }
        colors[start] = Color::Open;
        let mut path = vec![(start, edges(graph, start), 0)];
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
                    path.push((next, edges(graph, next), 0));
                }
                Color::Open => {
                    let from = path.iter().position(|(id, ..)| *id == next).unwrap_or(0);
                    // The one that loses a step comes first: it is the one that means something else.
                    let mut cycle: Vec<SchemaId> = path.iter().skip(from).map(|(id, ..)| *id).collect();
                    closing.extend(cycle.last().map(|last| (*last, next)));
                    cycle.rotate_right(1);
                    problems.push(report(graph, &cycle));
                }
                Color::Done => {}
            }
        }
    }
    for (from, to) in closing {
        graph.schemas[from].leave_out(to);
    }
}

/// The schemas that a schema applies to its own value.
fn edges(graph: &Graph, id: SchemaId) -> Vec<SchemaId> {
    let schema = graph.schema(id);
    let here = schema.keywords().filter(|(keyword, value)| {
        // A dynamic anchor may lead elsewhere when another resource bears it too.
        let elsewhere = matches!(value, Value::Dynamic(dynamic) if dynamic.anchor.is_some());
        keyword.role() == Role::InPlace && !elsewhere
    });
    here.flat_map(|(_, value)| value.schemas()).collect()
}

fn report(graph: &Graph, cycle: &[SchemaId]) -> Diagnostic {
    let name = |id: &SchemaId| format!("#{}", graph.schema(*id).location);
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(name).collect();
    if cycle.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.extend(cycle.first().map(name));
    let message = format!("a schema that applies itself to the same value: {}", names.join(" → "));
    let place = |id: &SchemaId| graph.schema(*id).place.clone();
    let mut problem = Diagnostic::error("reference-cycle", message)
        .mended("the first step is left out")
        .help("validation would never end: let one step go through a property or an item");
    if let Some(first) = cycle.first().map(place) {
        problem = problem.at(first);
    }
    for id in cycle.iter().skip(1).take(SHOWN) {
        problem = problem.label(place(id), "by way of");
    }
    problem
}
