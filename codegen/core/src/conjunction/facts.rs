//! Computes the facts about a conjunction of schemas: all schemas that apply to the value, the JSON types
//! that the value may have, and the declared properties.

use std::collections::BTreeSet;

use contract_runtime::Json;

use super::{SchemaConjunction, type_of};
use crate::schema::{Schema, SchemaGraph, SchemaId, TypeSet};

/// The maximum depth to which nested unions are inspected for their JSON types.
const MAX_UNION_DEPTH: u8 = 8;

/// The settings for limiting a schema without `type` to the types that its keywords imply.
#[derive(Clone, Copy)]
struct ImpliedTypes {
    /// The contract-wide default, from the option `implied-objects`.
    default: bool,
    /// The setting for the current schemas: the default, or its opposite if a schema overrides it.
    here: bool,
    /// False within schemas with an explicit `type`, whose keywords therefore imply no type.
    enabled: bool,
}

/// The facts about a [`SchemaConjunction`] that follow after references and `allOf` are resolved.
#[derive(Clone, Debug)]
pub struct SchemaFacts {
    /// The schemas that always apply: those of the conjunction and all that they include by `$ref` or
    /// `allOf`. An included schema (the base) precedes the schema that includes it (the refinement).
    pub unconditional: Vec<SchemaId>,
    /// The schemas that apply conditionally: `then`, `else`, `dependentSchemas` and branches that are not
    /// chosen.
    pub conditional: Vec<SchemaId>,
    /// The schemas in `unconditional` with an `anyOf` or `oneOf` for which no branch is chosen yet.
    pub open_unions: Vec<SchemaId>,
    pub types: TypeSet,
    /// True if a `$dynamicRef` applies, so the other facts may be incomplete.
    pub has_dynamic_reference: bool,
}

impl SchemaFacts {
    /// Resolves the references and `allOf` of a conjunction. `implied` is the option `implied-objects`: it is
    /// true if a schema without `type` is limited to the types that its keywords imply.
    #[must_use]
    pub fn from_conjunction(graph: &SchemaGraph, conj: &SchemaConjunction, implied: bool) -> Self {
        Self::at_depth(
            graph,
            conj,
            ImpliedTypes { default: implied, here: implied, enabled: true },
            MAX_UNION_DEPTH,
        )
    }

    /// Returns the JSON types that a conjunction allows if keywords such as `properties` imply no type.
    #[must_use]
    pub fn stated_types(graph: &SchemaGraph, conj: &SchemaConjunction) -> TypeSet {
        Self::at_depth(
            graph,
            conj,
            ImpliedTypes { default: false, here: false, enabled: false },
            MAX_UNION_DEPTH,
        )
        .types
    }

    fn at_depth(graph: &SchemaGraph, conj: &SchemaConjunction, implied: ImpliedTypes, depth: u8) -> Self {
        let mut facts = Self {
            unconditional: Vec::new(),
            conditional: Vec::new(),
            open_unions: Vec::new(),
            types: conj.within,
            has_dynamic_reference: false,
        };
        let mut seen = BTreeSet::new();
        for &id in &conj.ids {
            facts.follow_references(graph, id, &mut seen);
        }
        let mut structural = TypeSet::default();
        for &id in &facts.unconditional {
            let schema = graph.schema(id);
            facts.types = facts.types.intersection(own_types(schema));
            structural = structural.union(implied_types(schema));
            facts.has_dynamic_reference |= schema.dynamic_reference.is_some();
        }
        let otherwise = facts.unconditional_schemas(graph).any(|schema| schema.implied_otherwise);
        let here = if otherwise { !implied.default } else { implied.here };
        // If the schemas have an explicit `type`, the keywords of a branch such as `{"required": […]}` imply
        // no type.
        let inside =
            ImpliedTypes { here, enabled: implied.enabled && facts.types == TypeSet::ALL, ..implied };
        for &id in &facts.unconditional {
            let schema = graph.schema(id);
            for branches in [&schema.one_of, &schema.any_of] {
                if branches.is_empty() || conj.chosen.contains(&id) {
                    continue;
                }
                if !facts.open_unions.contains(&id) {
                    facts.open_unions.push(id);
                }
                if depth > 0 {
                    let mut union = TypeSet::default();
                    for &branch in branches {
                        let inner =
                            Self::at_depth(graph, &SchemaConjunction::from_schema(branch), inside, depth - 1);
                        union = union.union(inner.types);
                    }
                    facts.types = facts.types.intersection(union);
                }
            }
        }
        // `properties` without `type` formally allows other types, but authors usually mean an object.
        if implied.enabled && here && facts.types == TypeSet::ALL && !structural.is_empty() {
            facts.types = structural;
        }
        let mut seen: BTreeSet<_> = facts.unconditional.iter().copied().collect();
        for &id in &facts.unconditional.clone() {
            facts.follow_conditions(graph, id, conj, &mut seen);
        }
        facts
    }

    fn follow_references(&mut self, graph: &SchemaGraph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) {
        if !seen.insert(id) {
            return;
        }
        let schema = graph.schema(id);
        // The target of a reference comes first, so that its properties precede those of the referring
        // schema.
        if let Some(target) = schema.reference {
            self.follow_references(graph, target, seen);
        }
        if let Some(dynamic) = &schema.dynamic_reference
            && dynamic.anchor.is_none()
        {
            self.follow_references(graph, dynamic.initial, seen);
        }
        for &part in &schema.all_of {
            self.follow_references(graph, part, seen);
        }
        self.unconditional.push(id);
    }

    fn follow_conditions(
        &mut self,
        graph: &SchemaGraph,
        id: SchemaId,
        conj: &SchemaConjunction,
        seen: &mut BTreeSet<SchemaId>,
    ) {
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

    fn follow_conditional(&mut self, graph: &SchemaGraph, id: SchemaId, seen: &mut BTreeSet<SchemaId>) {
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

    /// Iterates over the schemas whose ids are in `unconditional`.
    pub fn unconditional_schemas<'g>(
        &self,
        graph: &'g SchemaGraph,
    ) -> impl Iterator<Item = &'g Schema> + Clone {
        self.unconditional.iter().map(|&id| graph.schema(id))
    }

    /// Returns the names of all properties that at least one unconditional schema requires.
    #[must_use]
    pub fn required_names<'g>(&self, graph: &'g SchemaGraph) -> BTreeSet<&'g str> {
        self.unconditional
            .iter()
            .flat_map(|&id| graph.schema(id).required.iter().map(String::as_str))
            .collect()
    }

    /// Returns the declared properties in order. Each consists of its name, the schemas that always apply to
    /// its value, and the schemas that apply to it conditionally.
    #[must_use]
    pub fn declared_properties<'g>(
        &self,
        graph: &'g SchemaGraph,
    ) -> Vec<(&'g str, Vec<SchemaId>, Vec<SchemaId>)> {
        let mut out: Vec<(&str, Vec<SchemaId>, Vec<SchemaId>)> = Vec::new();
        let mut index = std::collections::BTreeMap::new();
        let groups = [(&self.unconditional, true), (&self.conditional, false)];
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

    /// Returns the values that `const` and `enum` allow, or `None` if no schema has either.
    #[must_use]
    pub fn allowed_literals<'g>(&self, graph: &'g SchemaGraph) -> Option<Vec<&'g Json>> {
        let mut left: Option<Vec<&Json>> = None;
        for &id in &self.unconditional {
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

/// Returns the types that a schema's own `type`, `const` and `enum` allow.
fn own_types(schema: &Schema) -> TypeSet {
    let mut types = schema.types.unwrap_or(TypeSet::ALL);
    if schema.boolean == Some(false) {
        types = TypeSet::default();
    }
    if let Some(constant) = &schema.constant {
        types = types.intersection(type_of(constant));
    }
    if let Some(values) = &schema.enumeration {
        types = types.intersection(values.iter().fold(TypeSet::default(), |all, v| all.union(type_of(v))));
    }
    types
}

/// Returns the JSON types to which a schema's keywords apply, such as `object` for `properties`.
fn implied_types(schema: &Schema) -> TypeSet {
    let mut types = TypeSet::default();
    if !schema.properties.is_empty()
        || !schema.required.is_empty()
        || schema.additional_properties.is_some()
        || !schema.pattern_properties.is_empty()
        || schema.property_names.is_some()
        || schema.unevaluated_properties.is_some()
    {
        types = types.union(TypeSet::OBJECT);
    }
    if schema.items.is_some() || !schema.prefix_items.is_empty() {
        types = types.union(TypeSet::ARRAY);
    }
    types
}
