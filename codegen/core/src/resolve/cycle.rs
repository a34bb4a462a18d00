//! Detects and removes cycles of in-place applicators such as `allOf` and `$ref`: schemas that apply
//! themselves to the same value, which would make validation endless.
//!
//! A *recursive base* is a schema with a `oneOf` or `anyOf` whose branches include the schema itself. It is
//! split in two: a copy without the `oneOf` or `anyOf`, to which the branches refer, and the base itself,
//! which keeps the keyword. The result therefore does not depend on the order of the schemas in the document.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    arena::ArenaMap,
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        Schema, SchemaGap, SchemaGraph, SchemaId, SchemaOrigin,
        keywords::{Keyword, KeywordRole, KeywordValue},
    },
};

/// The maximum number of schemas that a message about a cycle lists.
const SHOWN: usize = 6;

/// Reports each cycle of in-place applicators, because Core 9.4.1 forbids infinite recursion. A recursive
/// base is divided. In any other cycle, the keyword that closes the cycle is removed from its schema.
pub(super) fn cut_cycles(graph: &mut SchemaGraph, problems: &mut Diagnostics) {
    divide_bases(graph, problems);
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
                    // The schema that loses its keyword comes first in the message, because its meaning
                    // changes.
                    let mut cycle: Vec<SchemaId> = path.iter().skip(from).map(|(id, ..)| *id).collect();
                    closing.extend(cycle.last().map(|last| (*last, next)));
                    cycle.rotate_right(1);
                    problems.push(cycle_diagnostic(graph, &cycle, "the first step is left out"));
                }
                Color::Done => {}
            }
        }
    }
    for (from, to) in closing {
        graph.schemas[from].remove_in_place_reference(to);
    }
}

/// Returns the subschemas that apply to the same value as the schema, for example by `$ref` or `allOf`.
fn in_place_targets(graph: &SchemaGraph, id: SchemaId) -> Vec<SchemaId> {
    let schema = graph.schema(id);
    let here = schema.keywords().filter(|(keyword, value)| {
        // A dynamic anchor may resolve to a different schema if another resource also defines it.
        let elsewhere = matches!(value, KeywordValue::Dynamic(dynamic) if dynamic.anchor.is_some());
        keyword.role() == KeywordRole::InPlace && !elsewhere
    });
    here.flat_map(|(_, value)| value.schema_ids()).collect()
}

/// A schema with a `oneOf` or `anyOf` of which at least one branch includes the schema itself.
struct RecursiveBase {
    base: SchemaId,
    /// The keywords, `anyOf` or `oneOf`, of which a branch includes the base.
    keywords: BTreeSet<Keyword>,
    /// The schemas that include the base, each with the cycle from this schema through the base back to it.
    users: BTreeMap<SchemaId, Vec<SchemaId>>,
}

/// Adds a copy of each recursive base without the keywords that list its branches, and replaces the base by
/// the copy in all schemas that include the base from within its branches.
fn divide_bases(graph: &mut SchemaGraph, problems: &mut Diagnostics) {
    let cyclic = cyclic_schemas(graph);
    let found: Vec<RecursiveBase> = graph
        .ids()
        .filter(|id| cyclic[*id])
        .filter_map(|id| RecursiveBase::find(graph, &cyclic, id))
        .collect();
    for RecursiveBase { base, keywords, users } in &found {
        let names: Vec<String> = keywords.iter().map(|keyword| format!("`{}`", keyword.name())).collect();
        let location = &graph.schema(*base).location;
        let fallback = format!("the first step applies #{location} without {}", names.join(" and "));
        problems.extend(users.values().map(|cycle| cycle_diagnostic(graph, cycle, &fallback)));
    }
    let mut copies = Vec::new();
    for RecursiveBase { base, keywords, users } in found {
        let copy = graph.schema(base).with_keywords(|keyword| {
            !keywords.contains(&keyword) && !matches!(keyword, Keyword::Defs | Keyword::Discriminator)
        });
        let copy = Schema { origin: SchemaOrigin::Inline, gap: SchemaGap::Applicator, ..copy };
        let copy = graph.schemas.push(copy);
        copies.push((base, copy, users));
    }
    for (base, copy, users) in &copies {
        for user in users.keys() {
            graph.schemas[*user].replace_included(*base, *copy);
            // The copy of another base includes the same schemas as that base, so it must be changed as well.
            for (_, other, _) in copies.iter().filter(|(other, ..)| other == user) {
                graph.schemas[*other].replace_included(*base, *copy);
            }
        }
    }
}

impl RecursiveBase {
    /// Returns the schema with this id as a recursive base, or `None` if no branch of it includes it.
    fn find(graph: &SchemaGraph, cyclic: &ArenaMap<Schema, bool>, base: SchemaId) -> Option<Self> {
        let mut found = Self { base, keywords: BTreeSet::new(), users: BTreeMap::new() };
        let branching = |keyword: &Keyword| matches!(keyword, Keyword::AnyOf | Keyword::OneOf);
        let all = graph.schema(base).keywords().filter(|(keyword, _)| branching(keyword));
        let all = all.flat_map(|(keyword, value)| value.schema_ids().map(move |id| (keyword, id)));
        for (keyword, branch) in all.filter(|(_, branch)| *branch != base) {
            // A branch that is only a reference to the base does not extend the base.
            let is_reference = graph.schema(branch).is_constrained_only_by(&[Keyword::Ref]);
            let mut previous = BTreeMap::from([(branch, base)]);
            let mut waiting = VecDeque::from([branch]);
            while let Some(id) = waiting.pop_front() {
                if includes(graph, id, base) && !(is_reference && id == branch) {
                    found.keywords.insert(keyword);
                    found.users.entry(id).or_insert_with(|| cycle_from(&previous, base, id));
                }
                for next in in_place_targets(graph, id) {
                    if next != base && cyclic[next] && !previous.contains_key(&next) {
                        previous.insert(next, id);
                        waiting.push_back(next);
                    }
                }
            }
        }
        (!found.users.is_empty()).then_some(found)
    }
}

/// Returns the cycle that leads from `user`, a schema that includes the base, through the base back to
/// `user`.
fn cycle_from(previous: &BTreeMap<SchemaId, SchemaId>, base: SchemaId, user: SchemaId) -> Vec<SchemaId> {
    let mut back = Vec::new();
    let mut at = user;
    while at != base {
        back.push(at);
        let Some(before) = previous.get(&at) else { break };
        at = *before;
    }
    back.push(base);
    // The cycle leads from the user to the base, and back through the branches.
    back.reverse();
    back.rotate_right(1);
    back
}

/// Returns true if a schema includes the base by keywords such as `$ref` and `allOf`, so that every valid
/// value of the schema must also satisfy the base.
fn includes(graph: &SchemaGraph, id: SchemaId, base: SchemaId) -> bool {
    let schema = graph.schema(id);
    schema.reference == Some(base) || schema.all_of.contains(&base)
}

/// Returns, for each schema, whether it is on a cycle of in-place applicators or applies a schema that is.
fn cyclic_schemas(graph: &SchemaGraph) -> ArenaMap<Schema, bool> {
    let mut users: ArenaMap<Schema, Vec<SchemaId>> = graph.schemas.map_ids(|_| Vec::new());
    let mut open = graph.schemas.map_ids(|id| in_place_targets(graph, id).len());
    for id in graph.ids() {
        in_place_targets(graph, id).into_iter().for_each(|target| users[target].push(id));
    }
    let mut left = graph.schemas.map_ids(|_| true);
    let mut ends: Vec<SchemaId> = graph.ids().filter(|id| open[*id] == 0).collect();
    while let Some(id) = ends.pop() {
        left[id] = false;
        for &user in &users[id] {
            open[user] -= 1;
            if open[user] == 0 {
                ends.push(user);
            }
        }
    }
    left
}

fn cycle_diagnostic(graph: &SchemaGraph, cycle: &[SchemaId], fallback: &str) -> Diagnostic {
    let name = |id: &SchemaId| format!("#{}", graph.schema(*id).location);
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(name).collect();
    if cycle.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.extend(cycle.first().map(name));
    let message = format!("the schema applies itself to the same value: {}", names.join(" → "));
    let place = |id: &SchemaId| graph.schema(*id).place.clone();
    let mut problem = Diagnostic::error("reference-cycle", message)
        .with_fallback(fallback)
        .help("validation would never end: let one step go through a property or an item");
    if let Some(first) = cycle.first().map(place) {
        problem = problem.with_place(first);
    }
    for id in cycle.iter().skip(1).take(SHOWN) {
        problem = problem.with_label(place(id), "via");
    }
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::tests::{format_problems, resolve_graph};

    /// Resolves a document. Returns the problems, and for each schema in `$defs` its name, the names of its
    /// properties and the number of its `oneOf` branches.
    fn check(text: &str) -> (String, Vec<String>) {
        let (graph, problems) = resolve_graph(&[("a.json", text)]);
        let describe = |id: SchemaId| {
            let SchemaOrigin::Definition(name) = &graph.schema(id).origin else { return None };
            let mut names: Vec<&str> = Vec::new();
            let mut waiting = vec![id];
            while let Some(id) = waiting.pop() {
                let schema = graph.schema(id);
                names.extend(schema.properties.iter().map(|(name, _)| name.as_str()));
                waiting.extend(schema.reference.iter().chain(&schema.all_of));
            }
            names.sort_unstable();
            Some(format!("{name}: {} |{}", names.join(" "), graph.schema(id).one_of.len()))
        };
        let mut found: Vec<String> = graph.ids().filter_map(describe).collect();
        found.sort_unstable();
        (format_problems(&problems), found)
    }

    fn reference(name: &str) -> String {
        format!(r##"{{"$ref": "#/$defs/{name}"}}"##)
    }

    fn document(schemas: &[&(String, String)]) -> String {
        let all: Vec<String> = schemas.iter().map(|(name, text)| format!("\"{name}\": {text}")).collect();
        format!("{{\"$defs\": {{{}}}}}", all.join(", "))
    }

    /// If the branches of a base include the base by `allOf`, each branch has the properties of the base, and
    /// the base keeps its branches, in every order of the schemas.
    #[test]
    fn bases_that_list_their_children_are_divided() {
        let base = format!(
            r#"{{"properties": {{"kind": {{}}}}, "oneOf": [{}, {}]}}"#,
            reference("cat"),
            reference("pet")
        );
        let pet = format!(
            r#"{{"allOf": [{}], "properties": {{"name": {{}}}}, "oneOf": [{}]}}"#,
            reference("base"),
            reference("dog")
        );
        let child = |base: &str, own: &str| {
            format!(r#"{{"allOf": [{}, {{"properties": {{"{own}": {{}}}}}}]}}"#, reference(base))
        };
        let (cat, dog) = (child("base", "lives"), child("pet", "barks"));
        let named = [("base", base), ("cat", cat), ("pet", pet), ("dog", dog)];
        let mut all: Vec<(String, String)> = named.map(|(name, text)| (name.to_owned(), text)).into();
        for _ in 0..all.len() {
            all.rotate_left(1);
            let (problems, found) = check(&document(&all.iter().collect::<Vec<_>>()));
            let expected =
                ["base: kind |2", "cat: kind lives |0", "dog: barks kind name |0", "pet: kind name |1"];
            assert_eq!(found, expected, "{problems}");
            let mut problems: Vec<&str> = problems.lines().collect();
            problems.sort_unstable();
            assert_eq!(
                problems,
                [
                    "reference-cycle /$defs/cat/allOf/0",
                    "reference-cycle /$defs/dog/allOf/0",
                    "reference-cycle /$defs/pet/allOf/0"
                ]
            );
        }
    }

    #[test]
    fn schemas_outside_of_cycles_are_unchanged() {
        let graph = resolve_graph(&[("a.json", &document(&[&("a".to_owned(), reference("a"))]))]).0;
        assert!(graph.ids().all(|id| graph.schema(id).reference.is_none()));
        let text = document(&[&("a".to_owned(), "{}".to_owned()), &("b".to_owned(), reference("a"))]);
        let graph = resolve_graph(&[("a.json", &text)]).0;
        let cyclic = cyclic_schemas(&graph);
        assert!(graph.ids().all(|id| !cyclic[id]));
    }
}
