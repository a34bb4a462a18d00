//! Detects and removes cycles of in-place applicators such as `allOf` and `$ref`: schemas that apply
//! themselves to the same value, which would make validation endless.
//!
//! A *recursive base* is a schema with a `oneOf` or `anyOf` whose branches include the schema itself. It is
//! split in two: a copy without the `oneOf` or `anyOf`, to which the branches refer, and the base itself,
//! which keeps the keyword. The result therefore does not depend on the order of the schemas in the document.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    rc::Rc,
};

use crate::{
    arena::{ArenaMap, strongly_connected_components},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{
        Schema, SchemaGap, SchemaGraph, SchemaId, SchemaOrigin,
        keywords::{Keyword, KeywordRole, KeywordValue},
    },
};

/// The maximum number of schemas that a message about a cycle lists.
const SHOWN: usize = 6;
/// The maximum number of schemas that the search for recursive bases visits, per schema of the graph.
const MAX_VISITS_PER_SCHEMA: usize = 64;

#[cfg(test)]
thread_local! {
    /// The number of visited schemas, so that tests can check the complexity without measuring time.
    static VISITED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

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
    // The index of each open schema in the path.
    let mut depths = graph.schemas.map_ids(|_| 0);
    for start in graph.ids() {
        if colors[start] != Color::New {
            continue;
        }
        colors[start] = Color::Open;
        depths[start] = 0;
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
                    depths[next] = path.len();
                    path.push((next, in_place_targets(graph, next), 0));
                }
                Color::Open => {
                    let last = *id;
                    closing.push((last, next));
                    // The schema that loses its keyword comes first in the message, because its meaning
                    // changes. Only as many schemas as the message needs are collected.
                    let others = path.iter().skip(depths[next]).map(|(id, ..)| *id);
                    let others = others.take_while(|id| *id != last).take(SHOWN);
                    let cycle: Vec<SchemaId> = std::iter::once(last).chain(others).collect();
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
pub(super) fn in_place_targets(graph: &SchemaGraph, id: SchemaId) -> Vec<SchemaId> {
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
    /// The keywords (`anyOf` or `oneOf`) that have a branch in which the base is included.
    keywords: BTreeSet<Keyword>,
    /// The schemas within branches that include the base by `$ref` or `allOf`. The value contains the first
    /// schemas of the cycle that starts at this schema and passes the base, for the diagnostic.
    users: BTreeMap<SchemaId, Vec<SchemaId>>,
}

/// Adds a copy of each recursive base without the keywords that list its branches, and replaces the base by
/// the copy in all schemas that include the base from within its branches.
fn divide_bases(graph: &mut SchemaGraph, problems: &mut Diagnostics) {
    let found = BaseSearch::new(graph).find_all();
    for RecursiveBase { base, keywords, users } in &found {
        let names: Vec<String> = keywords.iter().map(|keyword| format!("`{}`", keyword.name())).collect();
        let location = &graph.schema(*base).location;
        let fallback = format!("the first step applies #{location} without {}", names.join(" and "));
        problems.extend(users.values().map(|cycle| cycle_diagnostic(graph, cycle, &fallback)));
    }
    let mut copies: BTreeMap<SchemaId, SchemaId> = BTreeMap::new();
    let mut replaced: BTreeMap<SchemaId, BTreeMap<SchemaId, SchemaId>> = BTreeMap::new();
    for RecursiveBase { base, keywords, users } in found {
        let copy = graph
            .schema(base)
            .with_keywords(|keyword| !keywords.contains(&keyword) && keyword != Keyword::Defs);
        let copy = Schema { origin: SchemaOrigin::Inline, gap: SchemaGap::Applicator, ..copy };
        let copy = graph.schemas.push(copy);
        copies.insert(base, copy);
        for user in users.into_keys() {
            replaced.entry(user).or_default().insert(base, copy);
        }
    }
    for (user, replaced) in replaced {
        // The copy of another base includes the same schemas as that base, so it must be changed as well.
        for id in copies.get(&user).copied().into_iter().chain([user]) {
            graph.schemas[id].replace_included(&replaced);
        }
    }
}

/// A search for all recursive bases (see the module) of a graph.
struct BaseSearch<'g> {
    graph: &'g SchemaGraph,
    targets: ArenaMap<Schema, Vec<SchemaId>>,
    /// For each schema, a schema that identifies its cycle of in-place applicators, and true if the schema is
    /// on a cycle.
    cycles: ArenaMap<Schema, (SchemaId, bool)>,
    /// For each schema, the schemas on its cycle that include it by `$ref` or `allOf`. Every valid value of
    /// these must also satisfy the schema.
    including: ArenaMap<Schema, Vec<SchemaId>>,
    /// The number of schemas that may still be visited.
    visits_left: usize,
}

impl<'g> BaseSearch<'g> {
    fn new(graph: &'g SchemaGraph) -> Self {
        let targets = graph.schemas.map_ids(|id| in_place_targets(graph, id));
        let cycles = strongly_connected_components(&targets);
        let mut including = graph.schemas.map_ids(|_| Vec::new());
        for id in graph.ids().filter(|id| cycles[*id].1) {
            let schema = graph.schema(id);
            let included: BTreeSet<SchemaId> =
                schema.reference.iter().chain(&schema.all_of).copied().collect();
            for base in included.into_iter().filter(|base| cycles[*base] == cycles[id]) {
                including[base].push(id);
            }
        }
        let visits_left = graph.schemas.len().saturating_mul(MAX_VISITS_PER_SCHEMA);
        Self { graph, targets, cycles, including, visits_left }
    }

    fn find_all(mut self) -> Vec<RecursiveBase> {
        self.graph.ids().filter_map(|id| self.find(id)).collect()
    }

    /// Returns the schema with this id as a recursive base, or `None` if none of its branches includes it.
    fn find(&mut self, base: SchemaId) -> Option<RecursiveBase> {
        let graph = self.graph;
        let schema = graph.schema(base);
        let mut wanted: BTreeSet<SchemaId> = self.including[base].iter().copied().collect();
        // A branch that is only a reference to the base does not extend the base.
        for branch in schema.any_of.iter().chain(&schema.one_of) {
            if wanted.contains(branch) && graph.schema(*branch).is_constrained_only_by(&[Keyword::Ref]) {
                wanted.remove(branch);
            }
        }
        let mut found = RecursiveBase { base, keywords: BTreeSet::new(), users: BTreeMap::new() };
        for (keyword, branches) in [(Keyword::AnyOf, &schema.any_of), (Keyword::OneOf, &schema.one_of)] {
            let branches = branches.iter().copied().filter(|id| *id != base && self.is_on_cycle(*id, base));
            let branches: BTreeSet<SchemaId> = branches.collect();
            if branches.is_empty() || wanted.is_empty() {
                continue;
            }
            let users = self.find_users(base, branches, wanted.clone());
            if !users.is_empty() {
                found.keywords.insert(keyword);
            }
            for (user, cycle) in users {
                found.users.entry(user).or_insert(cycle);
            }
        }
        (!found.users.is_empty()).then_some(found)
    }

    fn is_on_cycle(&self, id: SchemaId, base: SchemaId) -> bool {
        self.cycles[id].1 && self.cycles[id] == self.cycles[base]
    }

    /// Returns the schemas in `wanted` that are reachable from the branches by in-place applicators, without
    /// a step through the base. The value contains the first schemas of the cycle, as in
    /// [`RecursiveBase::users`].
    ///
    /// If the search reaches its limit of visited schemas, it returns all schemas in `wanted`. Real contracts
    /// stay below the limit.
    fn find_users(
        &mut self,
        base: SchemaId,
        branches: BTreeSet<SchemaId>,
        mut wanted: BTreeSet<SchemaId>,
    ) -> BTreeMap<SchemaId, Vec<SchemaId>> {
        let mut users = BTreeMap::new();
        // The first schemas of the path from a branch to each visited schema.
        let mut paths: HashMap<SchemaId, Rc<Vec<SchemaId>>> =
            branches.iter().map(|id| (*id, Rc::new(vec![*id]))).collect();
        let mut waiting = VecDeque::from_iter(branches);
        while let Some(id) = waiting.pop_front() {
            if self.visits_left == 0 {
                users.extend(wanted.into_iter().map(|user| (user, vec![user, base])));
                break;
            }
            self.visits_left -= 1;
            #[cfg(test)]
            VISITED.set(VISITED.get() + 1);
            let path = paths.get(&id).cloned().unwrap_or_default();
            if wanted.remove(&id) {
                let between = path.iter().copied().filter(|step| *step != id).take(SHOWN - 1);
                users.insert(id, [id, base].into_iter().chain(between).collect());
                if wanted.is_empty() {
                    break;
                }
            }
            for &next in &self.targets[id] {
                if next == base || !self.is_on_cycle(next, base) || paths.contains_key(&next) {
                    continue;
                }
                let mut onward = Rc::clone(&path);
                if onward.len() < SHOWN {
                    Rc::make_mut(&mut onward).push(next);
                }
                paths.insert(next, onward);
                waiting.push_back(next);
            }
        }
        users
    }
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
        assert!(BaseSearch::new(&graph).find_all().is_empty());
    }

    /// The search takes linear time in three cases: a hierarchy in which every schema is a base of the next,
    /// a base with many branches that share a cycle, and bases whose branches do not reach the schema that
    /// includes the base.
    #[test]
    fn recursive_bases_are_found_in_linear_time() {
        const COUNT: usize = 400;
        let named = |name: String, text: String| (name, text);
        let chain = (0..COUNT).map(|at| {
            let base =
                at.checked_sub(1).map(|base| reference(&format!("s{base}"))).unwrap_or("{}".to_owned());
            let next = reference(&format!("s{}", (at + 1).min(COUNT - 1)));
            named(
                format!("s{at}"),
                format!(r#"{{"allOf": [{base}], "oneOf": [{next}, {{"type": "array"}}]}}"#),
            )
        });
        let shared = (0..COUNT).map(|at| {
            named(format!("c{at}"), format!(r#"{{"allOf": [{}, {}]}}"#, reference("base"), reference("x0")))
        });
        let list: Vec<String> = (0..COUNT).map(|at| reference(&format!("c{at}"))).collect();
        let base = named("base".to_owned(), format!(r#"{{"oneOf": [{}]}}"#, list.join(", ")));
        let tail = (0..COUNT).map(|at| {
            let next = if at + 1 == COUNT { "base".to_owned() } else { format!("x{}", at + 1) };
            named(format!("x{at}"), format!(r#"{{"anyOf": [{}, {{}}]}}"#, reference(&next)))
        });
        // Each `b` leads by its branch to the chain `y`, which leads to all of them, but only its `allOf`
        // leads to the schema that includes it.
        let unreached = (0..COUNT).flat_map(|at| {
            let (user, first) = (reference(&format!("u{at}")), reference("y0"));
            [
                named(format!("b{at}"), format!(r#"{{"allOf": [{user}], "oneOf": [{first}, {{}}]}}"#)),
                named(format!("u{at}"), format!(r#"{{"allOf": [{}]}}"#, reference(&format!("b{at}")))),
            ]
        });
        let all: Vec<String> = (0..COUNT).map(|at| reference(&format!("b{at}"))).collect();
        let links = (0..COUNT).map(|at| {
            let next = if at + 1 == COUNT { all.join(", ") } else { reference(&format!("y{}", at + 1)) };
            named(format!("y{at}"), format!(r#"{{"anyOf": [{next}]}}"#))
        });
        let documents = [
            chain.collect::<Vec<_>>(),
            shared.chain([base]).chain(tail).collect(),
            unreached.chain(links).collect(),
        ];
        for schemas in documents {
            VISITED.set(0);
            let text = document(&schemas.iter().collect::<Vec<_>>());
            let (graph, problems) = resolve_graph(&[("a.json", &text)]);
            assert!(problems.iter().all(|problem| problem.code == "reference-cycle"), "{problems}");
            assert!(VISITED.get() <= MAX_VISITS_PER_SCHEMA * graph.schemas.len());
            assert!(problems.iter().all(|problem| problem.labels.len() <= SHOWN), "{problems}");
        }
    }
}
