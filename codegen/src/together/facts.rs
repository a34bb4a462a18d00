//! What a place amounts to: the schemas that apply there, the JSON types and members they leave.

use std::collections::BTreeSet;

use contract_runtime::Json;

use super::{Conj, type_of};
use crate::schema::{Graph, Schema, SchemaId, Types};

/// How deep a union inside a union is looked into for its JSON types.
const UNION_DEPTH: u8 = 8;

/// Whether schemas without a `type` are of the types that their keywords speak about.
#[derive(Clone, Copy)]
struct Implied {
    /// As the owner says of all.
    usual: bool,
    /// Of the place in question, unless it is one of those that the owner reads otherwise.
    here: bool,
    /// Whether it is asked: a place that has types needs no others.
    asked: bool,
}

/// What a [`Conj`] amounts to once references and `allOf` are followed.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Every schema that applies without condition, base before refinement.
    pub members: Vec<SchemaId>,
    /// Every schema that applies under a condition (`then`, `else`, `dependentSchemas`, branches
    /// that were not chosen).
    pub conditional: Vec<SchemaId>,
    /// Schemas in `members` with an `anyOf` or `oneOf` that nobody chose from yet.
    pub holders: Vec<SchemaId>,
    /// The JSON types that are possible.
    pub types: Types,
    /// Whether a `$dynamicRef` keeps us from knowing more.
    pub dynamic: bool,
}

impl Facts {
    /// Follows references and `allOf` from a place; `implied` is what the owner says of schemas
    /// without a `type`, see `implied-objects`.
    #[must_use]
    pub fn of(graph: &Graph, conj: &Conj, implied: bool) -> Self {
        Self::at_depth(graph, conj, Implied { usual: implied, here: implied, asked: true }, UNION_DEPTH)
    }

    /// The types that a place is of when nothing is read between the lines.
    #[must_use]
    pub fn stated(graph: &Graph, conj: &Conj) -> Types {
        Self::at_depth(graph, conj, Implied { usual: false, here: false, asked: false }, UNION_DEPTH).types
    }

    fn at_depth(graph: &Graph, conj: &Conj, implied: Implied, depth: u8) -> Self {
        let mut facts = Self {
            members: Vec::new(),
            conditional: Vec::new(),
            holders: Vec::new(),
            types: conj.within,
            dynamic: false,
        };
        let mut seen = BTreeSet::new();
        for &id in &conj.ids {
            facts.follow(graph, id, &mut seen);
        }
        let mut structural = Types::default();
        for &id in &facts.members {
            let schema = graph.schema(id);
            facts.types = facts.types.and(own_types(schema));
            structural = structural.or(implied_types(schema));
            facts.dynamic |= schema.dynamic_reference.is_some();
        }
        let otherwise = facts.schemas(graph).any(|schema| schema.implied_otherwise);
        let here = if otherwise { !implied.usual } else { implied.here };
        // Beside a `type`, a branch `{"required": […]}` leaves the other types as they are.
        let inside = Implied { here, asked: implied.asked && facts.types == Types::ALL, ..implied };
        for &id in &facts.members {
            let schema = graph.schema(id);
            for branches in [&schema.one_of, &schema.any_of] {
                if branches.is_empty() || conj.chosen.contains(&id) {
                    continue;
                }
                if !facts.holders.contains(&id) {
                    facts.holders.push(id);
                }
                if depth > 0 {
                    let mut union = Types::default();
                    for &branch in branches {
                        let inner = Self::at_depth(graph, &Conj::one(branch), inside, depth - 1);
                        union = union.or(inner.types);
                    }
                    facts.types = facts.types.and(union);
                }
            }
        }
        // `properties` without `type` says nothing about other types; people mean an object.
        if implied.asked && here && facts.types == Types::ALL && !structural.is_empty() {
            facts.types = structural;
        }
        let mut seen: BTreeSet<_> = facts.members.iter().copied().collect();
        for &id in &facts.members.clone() {
            facts.follow_conditions(graph, id, conj, &mut seen);
        }
        facts
    }

    fn follow(&mut self, graph: &Graph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) {
        if !seen.insert(id) {
            return;
        }
        let schema = graph.schema(id);
        // The base first, so that its members come before those of the refinement.
        if let Some(target) = schema.reference {
            self.follow(graph, target, seen);
        }
        if let Some(dynamic) = &schema.dynamic_reference
            && dynamic.anchor.is_none()
        {
            self.follow(graph, dynamic.initial, seen);
        }
        for &part in &schema.all_of {
            self.follow(graph, part, seen);
        }
        self.members.push(id);
    }

    fn follow_conditions(&mut self, graph: &Graph, id: SchemaId, conj: &Conj, seen: &mut BTreeSet<SchemaId>) {
        let schema = graph.schema(id);
        let mut next: Vec<SchemaId> = schema.then.iter().chain(&schema.otherwise).copied().collect();
        next.extend(schema.dependent_schemas.iter().map(|(_, id)| *id));
        if !conj.chosen.contains(&id) {
            next.extend(schema.any_of.iter().chain(&schema.one_of));
        }
        for id in next {
            self.follow_conditional(graph, id, seen);
        }
    }

    fn follow_conditional(&mut self, graph: &Graph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) {
        if !seen.insert(id) {
            return;
        }
        let schema = graph.schema(id);
        let mut next: Vec<SchemaId> = schema.reference.into_iter().collect();
        next.extend(schema.all_of.iter().chain(&schema.any_of).chain(&schema.one_of));
        next.extend(schema.then.iter().chain(&schema.otherwise));
        next.extend(schema.dependent_schemas.iter().map(|(_, id)| *id));
        for id in next {
            self.follow_conditional(graph, id, seen);
        }
        self.conditional.push(id);
    }

    /// The schemas that apply without condition, base before refinement.
    pub fn schemas<'g>(&self, graph: &'g Graph) -> impl Iterator<Item = &'g Schema> + Clone {
        self.members.iter().map(|&id| graph.schema(id))
    }

    /// Names of the members that must be there.
    #[must_use]
    pub fn required<'g>(&self, graph: &'g Graph) -> BTreeSet<&'g str> {
        self.members.iter().flat_map(|&id| graph.schema(id).required.iter().map(String::as_str)).collect()
    }

    /// Declared members in order: name, schemas that always apply, schemas that apply sometimes.
    #[must_use]
    pub fn declared<'g>(&self, graph: &'g Graph) -> Vec<(&'g str, Vec<SchemaId>, Vec<SchemaId>)> {
        let mut out: Vec<(&str, Vec<SchemaId>, Vec<SchemaId>)> = Vec::new();
        let mut index = std::collections::BTreeMap::new();
        let groups = [(&self.members, true), (&self.conditional, false)];
        for (ids, always) in groups {
            for &id in ids {
                for (name, property) in &graph.schema(id).properties {
                    let at = *index.entry(name.as_str()).or_insert_with(|| {
                        out.push((name, Vec::new(), Vec::new()));
                        out.len() - 1
                    });
                    let entry = &mut out[at];
                    if always { entry.1.push(*property) } else { entry.2.push(*property) }
                }
            }
        }
        out
    }

    /// The values that `const` and `enum` leave, when any member has one.
    #[must_use]
    pub fn literals<'g>(&self, graph: &'g Graph) -> Option<Vec<&'g Json>> {
        let mut left: Option<Vec<&Json>> = None;
        for &id in &self.members {
            let schema = graph.schema(id);
            let lists = [
                schema.constant.as_ref().map(|c| vec![c]),
                schema.enumeration.as_ref().map(|e| e.iter().collect()),
            ];
            for list in lists.into_iter().flatten() {
                left = Some(match left {
                    None => list,
                    Some(before) => before.into_iter().filter(|v| list.contains(v)).collect(),
                });
            }
        }
        left
    }
}

/// The types that a schema's own `type`, `const` and `enum` leave.
fn own_types(schema: &Schema) -> Types {
    let mut types = schema.types.unwrap_or(Types::ALL);
    if schema.boolean == Some(false) {
        types = Types::default();
    }
    if let Some(constant) = &schema.constant {
        types = types.and(type_of(constant));
    }
    if let Some(values) = &schema.enumeration {
        types = types.and(values.iter().fold(Types::default(), |all, v| all.or(type_of(v))));
    }
    types
}

/// The types that a schema's keywords speak about.
fn implied_types(schema: &Schema) -> Types {
    let mut types = Types::default();
    if !schema.properties.is_empty()
        || !schema.required.is_empty()
        || schema.additional_properties.is_some()
        || !schema.pattern_properties.is_empty()
        || schema.property_names.is_some()
        || schema.unevaluated_properties.is_some()
    {
        types = types.or(Types::OBJECT);
    }
    if schema.items.is_some() || !schema.prefix_items.is_empty() {
        types = types.or(Types::ARRAY);
    }
    types
}
