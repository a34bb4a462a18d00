//! Schemas without a finite value: to be valid, a value would have to hold itself.
//!
//! `{"properties": {"next": {"$ref": "#"}}, "required": ["next"], "type": "object"}` accepts
//! nothing that ends. Which schemas those are is the least fixpoint of "it has a finite value if
//! what it asks for has one"; whatever does not ask for a schema (limits, patterns, `not`,
//! `false`) is taken to leave some value, so that nothing is called endless for another reason.

use std::collections::{BTreeMap, BTreeSet, VecDeque, btree_map::Entry};

use super::{Conj, Facts};
use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, Schema, SchemaId, Types, keywords::Keyword},
};

/// Members of a circle that a message names.
const SHOWN: usize = 6;

/// The schemas on circles of what has to be there, with a warning for those that hold each other.
///
/// `implied`: members without a `type` are those of an object.
pub(crate) fn endless(graph: &Graph, implied: bool, problems: &mut Diagnostics) -> BTreeSet<SchemaId> {
    let without = without_value(graph, implied);
    let mut on_circles = BTreeSet::new();
    for id in graph.ids().filter(|id| without.contains(id)) {
        if on_circles.contains(&id) {
            continue;
        }
        let asked = asked(graph, implied, &without, id);
        let Some(circle) = circle(&asked, id) else { continue };
        problems.push(report(graph, &circle));
        on_circles.extend(holding(&asked, id));
    }
    on_circles
}

/// What each of some schemas asks for, of those without a value.
type Asked = BTreeMap<SchemaId, Vec<SchemaId>>;

/// All that a schema asks for, directly or through others.
fn asked(graph: &Graph, implied: bool, without: &BTreeSet<SchemaId>, start: SchemaId) -> Asked {
    let mut found = Asked::new();
    let mut work = vec![start];
    while let Some(id) = work.pop() {
        if let Entry::Vacant(new) = found.entry(id) {
            let asks = asks(graph, id, implied).into_iter().flatten().filter(|id| without.contains(id));
            work.extend(new.insert(asks.collect()).iter());
        }
    }
    found
}

/// Those that ask for a schema, of all that it asks for itself.
fn holding(asked: &Asked, start: SchemaId) -> BTreeSet<SchemaId> {
    let mut found = BTreeSet::new();
    let mut work = vec![start];
    while let Some(id) = work.pop() {
        if found.insert(id) {
            work.extend(asked.iter().filter(|(_, asks)| asks.contains(&id)).map(|(asker, _)| *asker));
        }
    }
    found
}

/// One thing that a schema asks for: a value of at least one of these.
type Ask = Vec<SchemaId>;

/// What must have a finite value so that a schema has one.
fn asks(graph: &Graph, id: SchemaId, implied: bool) -> Vec<Ask> {
    let schema = graph.schema(id);
    let mut asks: Vec<Ask> = Vec::new();
    asks.extend(schema.reference.map(|target| vec![target]));
    asks.extend(schema.dynamic_reference.iter().filter(|d| d.anchor.is_none()).map(|d| vec![d.initial]));
    asks.extend(schema.all_of.iter().map(|part| vec![*part]));
    asks.extend([&schema.any_of, &schema.one_of].into_iter().filter(|all| !all.is_empty()).cloned());
    // What is only a reference asks for nothing of its own, and scalars hold no others.
    let scalar = schema.types.is_some_and(|types| types.and(Types::OBJECT.or(Types::ARRAY)).is_empty());
    if scalar || schema.decides_by(&[Keyword::Ref]) {
        return asks;
    }
    // Members are required in one part of an `allOf` and declared in another.
    let facts = Facts::of(graph, &Conj::one(id), implied);
    if facts.literals(graph).is_some() {
        return asks;
    }
    if facts.types == Types::OBJECT {
        let required = facts.required(graph);
        let needed = facts.declared(graph).into_iter().filter(|(name, ..)| required.contains(name));
        asks.extend(needed.flat_map(|(_, always, _)| always).map(|id| vec![id]));
        let least = facts.members.iter().filter_map(|id| graph.schema(*id).min_properties).max().unwrap_or(0);
        asks.extend(facts.members.iter().filter_map(|id| any_member(graph, graph.schema(*id), least)));
    } else if facts.types == Types::ARRAY {
        let members = || facts.members.iter().map(|id| graph.schema(*id));
        let least = members().filter_map(|s| s.min_items).max().unwrap_or(0);
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        for schema in members() {
            asks.extend(schema.prefix_items.iter().take(least).map(|id| vec![*id]));
            asks.extend(schema.items.filter(|_| least > schema.prefix_items.len()).map(|id| vec![id]));
            let contains = schema.contains.iter().filter(|contains| contains.min != Some(0));
            asks.extend(contains.map(|contains| vec![contains.schema]));
        }
    }
    asks
}

/// What one of the members that have to be there is asked, where there are at least so many: that of
/// what has no name here, unless those that have one are enough.
fn any_member(graph: &Graph, schema: &Schema, least: u64) -> Option<Ask> {
    let others = schema.additional_properties.filter(|_| least > 0)?;
    let enough = usize::try_from(least).is_ok_and(|least| least <= schema.properties.len());
    let named = schema.properties.iter().filter(|_| enough).chain(&schema.pattern_properties);
    let mut ask: Ask = named.map(|(_, id)| *id).chain([others]).collect();
    // What accepts nothing at all is no way out.
    ask.retain(|id| graph.schema(*id).boolean != Some(false));
    (!ask.is_empty()).then_some(ask)
}

/// The schemas that no finite value satisfies.
fn without_value(graph: &Graph, implied: bool) -> BTreeSet<SchemaId> {
    let all: Vec<Vec<Ask>> = graph.ids().map(|id| asks(graph, id, implied)).collect();
    // Who has to be asked again once a schema turns out to have a value.
    let mut askers: BTreeMap<SchemaId, Vec<usize>> = BTreeMap::new();
    for (at, asks) in all.iter().enumerate() {
        for asked in asks.iter().flatten() {
            askers.entry(*asked).or_default().push(at);
        }
    }
    let ids: Vec<SchemaId> = graph.ids().collect();
    let mut without: BTreeSet<SchemaId> = ids.iter().copied().collect();
    let mut work: Vec<usize> = (0..ids.len()).collect();
    while let Some(at) = work.pop() {
        let (Some(id), Some(asks)) = (ids.get(at), all.get(at)) else { continue };
        let granted = asks.iter().all(|ask| ask.iter().any(|id| !without.contains(id)));
        if granted && without.remove(id) {
            work.extend(askers.get(id).into_iter().flatten());
        }
    }
    without
}

/// The shortest way from a schema through what it asks for back to itself, if there is one.
fn circle(asked: &Asked, start: SchemaId) -> Option<Vec<SchemaId>> {
    let mut from: BTreeMap<SchemaId, SchemaId> = BTreeMap::new();
    let mut work = VecDeque::from([start]);
    while let Some(at) = work.pop_front() {
        for &next in asked.get(&at).into_iter().flatten() {
            if next == start {
                let mut way = vec![at];
                while let Some(before) = way.last().filter(|id| **id != start).and_then(|id| from.get(id)) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if let Entry::Vacant(new) = from.entry(next) {
                new.insert(at);
                work.push_back(next);
            }
        }
    }
    None
}

fn report(graph: &Graph, circle: &[SchemaId]) -> Diagnostic {
    let name = |id: &SchemaId| format!("#{}", graph.schema(*id).location);
    let mut names: Vec<String> = circle.iter().take(SHOWN).map(name).collect();
    if circle.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.extend(circle.first().map(name));
    let message =
        format!("no finite value is valid here, since each would have to hold itself: {}", names.join(" → "));
    let mut problem = Diagnostic::warning("no-finite-value", message)
        .help("leave one of these out of `required` (or `minItems`, `minProperties`), or let it be `null`");
    let places = circle.iter().map(|id| graph.schema(*id).place.clone());
    for (at, place) in places.enumerate().take(SHOWN) {
        problem = if at == 0 { problem.at(place) } else { problem.label(place, "has to be there") };
    }
    problem
}

#[cfg(test)]
mod tests;
