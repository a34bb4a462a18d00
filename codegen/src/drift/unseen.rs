//! What no rule saw: a place where nothing is said to break, and a value that one version takes and the
//! other refuses.
//!
//! Rules compare keywords, and what is valid comes of all of them together. Where no rule says that
//! somebody breaks, at a place or below it, values of the giving side are tried: only those with members
//! that this side speaks of, as nobody sends or reads what nobody declared.

use std::{cmp::Reverse, collections::BTreeSet};

use contract_runtime::Json;

use super::{
    Level,
    directions::Schemas,
    enumerations::short,
    finding::{Comparer, Facet},
    flat::Flat,
    proof::{Prover, Side},
    rules,
    subject::{Subject, Use},
    ways::Start,
};
use crate::{schema::SchemaId, together::sample::Effort};

/// Of more places than this that say something else themselves only the first are tried.
const MOST: usize = 400;
/// And of those that only hold what does, of which rules of combinations speak.
const MOST_HOLDING: usize = 12;
/// Of more than this each is tried for a short time only.
const MANY: usize = 60;

/// A pair of schemas that was compared keyword by keyword.
#[derive(Clone, Debug)]
pub(super) struct Looked {
    pub(super) at: Subject,
    /// The number of the pair.
    pub(super) node: usize,
    pub(super) old: Vec<SchemaId>,
    pub(super) new: Vec<SchemaId>,
}

impl<'g> Comparer<'g> {
    /// Tries values where no rule says that somebody breaks.
    pub(super) fn unseen(&mut self) {
        let mut looked = std::mem::take(&mut self.looked);
        if !self.options.proofs || looked.is_empty() {
            return;
        }
        let mut broken = BTreeSet::new();
        for node in self.breaking() {
            self.spread(node, &mut broken);
        }
        looked.retain(|each| !broken.contains(&each.node) && self.placed.contains(&each.node));
        // From the inside out, so that the nearest place is named.
        looked.sort_by_key(|each| Reverse(each.node));
        let effort = if looked.len() > MANY { Effort::Quick } else { Effort::Thorough };
        let (holding, saying): (Vec<_>, Vec<_>) =
            looked.into_iter().partition(|each| match (each.old.as_slice(), each.new.as_slice()) {
                ([old], [new]) => self.identity.alike(*old, *new),
                _ => false,
            });
        let tried = saying.into_iter().take(MOST).chain(holding.into_iter().take(MOST_HOLDING));
        for Looked { at, node, old, new } in tried {
            if broken.contains(&node) {
                continue;
            }
            let (own, other) = ((Side::Old, old.as_slice()), (Side::New, new.as_slice()));
            let (giving, refusing) = if at.usage == Use::Write { (own, other) } else { (other, own) };
            let prover = self.prover(at.usage);
            let Some(value) = prover.refused(giving, refusing, (at.usage, at.within), effort) else {
                continue;
            };
            let pair = self.sides(&old, &new, &at);
            let message = match at.usage {
                Use::Write => format!("all in all {} is no longer valid", short(&value)),
                Use::Read => format!("all in all {} is valid, was not", short(&value)),
            };
            let verdict = Some(Err(Some(value)));
            self.set_by(rules::VALUES_CHANGED, &pair, message, &Facet::of(&[]), verdict);
            self.spread(node, &mut broken);
        }
    }

    pub(super) const fn graph(&self, side: Side) -> &'g Schemas<'g> {
        self.directions.plain.get(side)
    }

    /// The pairs at which a rule says that somebody breaks.
    fn breaking(&self) -> BTreeSet<usize> {
        let ways = self.found_ways().filter(|(_, level)| **level == Level::Breaking);
        let node = |start: Start| match start {
            Start::Node(node) => Some(node),
            Start::Base(_) => None,
        };
        ways.filter_map(|(way, _)| node(way.from)).collect()
    }

    /// Adds a pair and all that lead to it.
    fn spread(&self, node: usize, all: &mut BTreeSet<usize>) {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if all.insert(node) {
                waiting.extend(self.ways.above(node));
            }
        }
    }
}

impl Prover<'_> {
    /// Whether a side speaks of all members of a value of its own, and sends them in a direction.
    pub(super) fn speaks_of(&self, (side, ids): (Side, &[SchemaId]), usage: Use, value: &Json) -> bool {
        let graph = self.graph(side);
        let programs = &graph.programs;
        let says = |id: SchemaId| {
            let flat = Flat::of(graph, &[id]);
            flat.restricts(id)
        };
        match value {
            Json::Object(members) => {
                let active = self.active(side, ids, value);
                members.iter().all(|(name, inner)| {
                    let (mut below, mut said) = (Vec::new(), Vec::new());
                    let mut is_known = false;
                    for id in &active {
                        let schema = graph.schema(*id);
                        is_known |= schema.required.iter().any(|other| other == name);
                        let before = below.len();
                        let own = schema.properties.iter().filter(|(other, _)| other == name);
                        said.extend(own.clone().map(|(_, id)| *id));
                        let matching = schema.pattern_properties.iter();
                        let matching = matching.filter(|(pattern, _)| programs.matches(pattern, name));
                        below.extend(own.chain(matching).map(|(_, id)| *id));
                        if below.len() == before {
                            let others = schema.additional_properties.or(schema.unevaluated_properties);
                            below.extend(others.filter(|id| says(*id)));
                        }
                    }
                    (is_known || !below.is_empty())
                        && !graph.is_never_sent(&said, usage)
                        && self.speaks_of((side, &below), usage, inner)
                })
            }
            Json::Array(items) => {
                let active = self.active(side, ids, value);
                items.iter().enumerate().all(|(at, item)| {
                    let own = active.iter().filter_map(|id| {
                        let schema = graph.schema(*id);
                        let by_place = schema.prefix_items.get(at).copied().or(schema.items);
                        by_place.or(schema.unevaluated_items)
                    });
                    let counted = active.iter().filter_map(|id| graph.schema(*id).contains.as_ref());
                    let counted = counted.map(|contains| contains.schema);
                    let counted = counted.filter(|id| self.accepts(side, &[*id], item));
                    let below: Vec<SchemaId> = own.chain(counted).collect();
                    self.speaks_of((side, &below), usage, item)
                })
            }
            _ => true,
        }
    }

    /// The schemas that apply to a value: of branches and conditions those that it fits.
    fn active(&self, side: Side, ids: &[SchemaId], value: &Json) -> BTreeSet<SchemaId> {
        let graph = self.graph(side);
        let fits = |id: &SchemaId| self.accepts(side, &[*id], value);
        let mut waiting = ids.to_vec();
        let mut active = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if !active.insert(id) {
                continue;
            }
            let schema = graph.schema(id);
            waiting.extend(schema.reference);
            waiting.extend(schema.dynamic_reference.as_ref().map(|dynamic| dynamic.initial));
            waiting.extend(&schema.all_of);
            waiting.extend(schema.any_of.iter().chain(&schema.one_of).copied().filter(|id| fits(id)));
            if let Some(condition) = &schema.condition {
                waiting.extend(if fits(condition) { schema.then } else { schema.otherwise });
            }
            let has = |name: &str| value.as_object().is_some_and(|members| members.contains_key(name));
            let beside = schema.dependent_schemas.iter().filter(|(name, _)| has(name));
            waiting.extend(beside.map(|(_, id)| *id));
        }
        active
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use contract_runtime::Json;

    use super::*;
    use crate::drift::{
        Version,
        directions::{Directions, Provers},
        proof::Grounds,
    };

    #[test]
    fn a_side_speaks_of_what_it_describes_and_sends() {
        const SCHEMA: &str = r#"{
            "type": "object", "required": ["r"],
            "properties": {
                "a": {"properties": {"b": {}}}, "l": {"items": {"properties": {"b": {}}}}, "k": {},
                "kept": {"readOnly": true}, "given": {"writeOnly": true}, "any": {"additionalProperties": {}},
                "texts": {"additionalProperties": {"type": "string"}}
            },
            "patternProperties": {"^x": {}},
            "anyOf": [{"required": ["k"], "properties": {"one": {}}}, {"properties": {"r": {}}}]
        }"#;
        let version = Version::from_texts(&[("a.json", "", SCHEMA)]).unwrap();
        let root: Vec<SchemaId> = version.graph.ids().take(1).collect();
        let directions = Directions::of(&version, &version);
        let grounds = <[Grounds<'_>; 3]>::default();
        let provers = Provers::new(&directions, &grounds);
        for (value, reads, writes) in [
            (r#"{}"#, true, true),
            (r#"{"r":1,"a":{"b":1},"x1":2,"l":[{"b":1},{}]}"#, true, true),
            (r#"{"a":{"c":1}}"#, false, false),
            (r#"{"l":[{},{"c":1}]}"#, false, false),
            (r#"{"y":1}"#, false, false),
            // One is described where another is there.
            (r#"{"one":1}"#, false, false),
            (r#"{"k":1,"one":1}"#, true, true),
            (r#"{"any":{"c":1}}"#, false, false),
            (r#"{"texts":{"c":"1"}}"#, true, true),
            // Both words are annotations here.
            (r#"{"kept":1,"given":1}"#, true, true),
        ] {
            let json = Json::parse(value.as_bytes()).unwrap();
            let speaks = |usage| provers.of(usage).speaks_of((Side::Old, &root), usage, &json);
            assert_eq!((speaks(Use::Read), speaks(Use::Write)), (reads, writes), "{value}");
        }
    }
}
