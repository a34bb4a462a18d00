//! A flattened view of the schemas that apply to one location, with `$ref` and `allOf` resolved.

use std::collections::BTreeSet;

use contract_codegen_core::{
    conjunction::{SchemaConjunction, SchemaFacts, type_of},
    schema::{Schema, SchemaGraph, SchemaId, TypeSet, keywords::Keyword},
};
use contract_runtime::{Json, Number};

use super::{directions::VersionSchemas, site::ValueUse};

/// The maximum nesting depth of unions in which listed values are searched.
const MAX_UNION_DEPTH: u8 = 6;

/// A conjunction of schemas in which `$ref` and `allOf` are resolved.
#[derive(Clone, Debug)]
pub(super) struct FlattenedSchema<'g> {
    pub(super) graph: &'g VersionSchemas<'g>,
    facts: SchemaFacts,
    /// Every schema that applies unconditionally, outermost first.
    pub(super) schema_ids: Vec<SchemaId>,
    /// The schemas that contain a union with a single branch. The branches of these unions were added to
    /// `schema_ids`.
    resolved_unions: Vec<SchemaId>,
}

/// A single `oneOf` or `anyOf`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaUnion<'g> {
    /// The schema that contains the union.
    pub(super) holder: SchemaId,
    /// Whether the union is a `oneOf`, not an `anyOf`.
    pub(super) one: bool,
    pub(super) branches: &'g [SchemaId],
}

/// A bound of a range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumericBound<'g> {
    pub(super) value: &'g Number,
    pub(super) exclusive: bool,
}

/// The declared property names of a schema that forbids undeclared properties by `additionalProperties` or
/// `unevaluatedProperties`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClosedNames<'g> {
    pub(super) names: BTreeSet<&'g str>,
    pub(super) patterns: BTreeSet<&'g str>,
    /// Whether `additionalProperties` of the schema, or of one of its subschemas, accepts further names.
    allows_others: bool,
    /// Whether some of the names are declared only in a branch or under a condition.
    is_conditional: bool,
}

impl<'g> ClosedNames<'g> {
    fn from_schemas(
        graph: &'g SchemaGraph,
        seen: impl IntoIterator<Item = &'g Schema>,
        at_times: bool,
    ) -> Self {
        let (mut names, mut patterns, mut others) = (BTreeSet::new(), BTreeSet::new(), false);
        for schema in seen {
            names.extend(schema.properties.iter().map(|(name, _)| name.as_str()));
            patterns.extend(schema.pattern_properties.iter().map(|(pattern, _)| pattern.as_str()));
            others |= schema.additional_properties.is_some_and(|id| graph.schema(id).boolean != Some(false));
        }
        Self { names, patterns, allows_others: others, is_conditional: at_times }
    }
}

/// The list of values that a schema accepts, if it has one.
#[derive(Clone, Debug)]
pub(super) enum ValueListing<'g> {
    /// The schema does not list its values.
    None,
    /// Only these values are accepted. `holder` is the union that lists the values; it is `None` if `enum` or
    /// `const` lists them.
    Closed { values: Vec<&'g Json>, holder: Option<SchemaUnion<'g>> },
    /// Other values are also accepted.
    Open(OpenListing<'g>),
}

/// A union of listed values and branches that accept other values of the same types.
#[derive(Clone, Debug)]
pub(super) struct OpenListing<'g> {
    pub(super) values: Vec<&'g Json>,
    pub(super) other_branches: Vec<SchemaId>,
    pub(super) holder: SchemaUnion<'g>,
}

impl<'g> FlattenedSchema<'g> {
    pub(super) fn from_schemas(graph: &'g VersionSchemas<'g>, ids: &[SchemaId]) -> Self {
        let mut ids = ids.to_vec();
        let facts = loop {
            let facts = SchemaFacts::from_conjunction(
                graph,
                &SchemaConjunction::from_schemas(ids.iter().copied()),
                false,
            );
            // The dynamic scope is not considered: a `$dynamicRef` is compared as its initial target.
            let initial =
                facts.unconditional.iter().filter_map(|id| graph.schema(*id).dynamic_reference.as_ref());
            let more: Vec<SchemaId> = initial
                .map(|dynamic| dynamic.initial)
                .filter(|id| !facts.unconditional.contains(id))
                .collect();
            if more.is_empty() {
                break facts;
            }
            ids.extend(more);
        };
        let members = facts.unconditional.iter().rev().copied().collect();
        Self { graph, facts, schema_ids: members, resolved_unions: Vec::new() }
    }

    /// Returns a view in which unions with a single branch are flattened as well. Returns `None` if there is
    /// no such union.
    pub(super) fn with_single_branches(&self) -> Option<Self> {
        let mut members = self.schema_ids.clone();
        let mut conj = SchemaConjunction::from_schemas(members.iter().copied());
        let mut at = 0;
        while let Some(holder) = members.get(at).copied() {
            at += 1;
            let schema = self.graph.schema(holder);
            if let ([form], []) | ([], [form]) = (schema.one_of.as_slice(), schema.any_of.as_slice()) {
                conj = conj.choose_branch(holder, *form);
                add_missing(&mut members, &FlattenedSchema::from_schemas(self.graph, &[*form]).schema_ids);
            }
        }
        if conj.chosen.is_empty() {
            return None;
        }
        let facts = SchemaFacts::from_conjunction(self.graph, &conj, false);
        let flattened = Self { graph: self.graph, facts, schema_ids: members, resolved_unions: conj.chosen };
        Some(flattened.restricted_to(self.types()))
    }

    /// Returns the view with additional schemas that apply to the same value. The annotations of the existing
    /// schemas take precedence over those of the added schemas.
    pub(super) fn with_inner(&self, inner: &[SchemaId]) -> Self {
        let mut members = self.schema_ids.clone();
        add_missing(&mut members, &FlattenedSchema::from_schemas(self.graph, inner).schema_ids);
        let flat = FlattenedSchema::from_schemas(self.graph, &members);
        Self { schema_ids: members, resolved_unions: self.resolved_unions.clone(), ..flat }
    }

    /// Restricts the view to values of the given types.
    pub(super) fn restricted_to(mut self, types: TypeSet) -> Self {
        self.facts.types = self.facts.types.intersection(types);
        self
    }

    /// Returns true if the schemas can refuse a value because of the value itself, a property or an element.
    pub(super) fn restricts_values(&self) -> bool {
        let idle = [Keyword::Ref, Keyword::AllOf];
        self.facts.has_dynamic_reference || self.any_schema(|schema| !schema.is_constrained_only_by(&idle))
    }

    pub(super) fn schemas(&self) -> impl Iterator<Item = &'g Schema> + '_ {
        let graph = self.graph;
        self.schema_ids.iter().map(move |id| graph.schema(*id))
    }

    /// Returns the first result of `pick`, starting with the outermost schema.
    pub(super) fn find_first<T>(&self, pick: impl Fn(&'g Schema) -> Option<T>) -> Option<T> {
        self.schemas().find_map(pick)
    }

    pub(super) fn any_schema(&self, test: impl Fn(&'g Schema) -> bool) -> bool {
        self.schemas().any(test)
    }

    pub(super) fn max_lower_limit(&self, pick: impl Fn(&'g Schema) -> Option<u64>) -> Option<u64> {
        self.schemas().filter_map(pick).max()
    }

    pub(super) fn min_upper_limit(&self, pick: impl Fn(&'g Schema) -> Option<u64>) -> Option<u64> {
        self.schemas().filter_map(pick).min()
    }

    /// Returns the distinct strings that `pick` returns, sorted.
    pub(super) fn distinct_strings(&self, pick: impl Fn(&'g Schema) -> Option<&'g String>) -> Vec<&'g str> {
        let texts: BTreeSet<&str> = self.schemas().filter_map(pick).map(String::as_str).collect();
        texts.into_iter().collect()
    }

    pub(super) fn lower_bound(&self) -> Option<NumericBound<'g>> {
        let closed = |schema: &'g Schema| {
            schema.minimum.as_ref().map(|value| NumericBound { value, exclusive: false })
        };
        let open = |schema: &'g Schema| {
            schema.exclusive_minimum.as_ref().map(|value| NumericBound { value, exclusive: true })
        };
        let all = self.schemas().filter_map(closed).chain(self.schemas().filter_map(open));
        all.max_by(|left, right| (left.value, left.exclusive).cmp(&(right.value, right.exclusive)))
    }

    pub(super) fn upper_bound(&self) -> Option<NumericBound<'g>> {
        let closed = |schema: &'g Schema| {
            schema.maximum.as_ref().map(|value| NumericBound { value, exclusive: false })
        };
        let open = |schema: &'g Schema| {
            schema.exclusive_maximum.as_ref().map(|value| NumericBound { value, exclusive: true })
        };
        let all = self.schemas().filter_map(closed).chain(self.schemas().filter_map(open));
        all.min_by(|left, right| (left.value, !left.exclusive).cmp(&(right.value, !right.exclusive)))
    }

    /// Returns the values that `enum` and `const` accept, or `None` if there is neither.
    pub(super) fn listed_values(&self) -> Option<Vec<&'g Json>> {
        self.facts.allowed_literals(self.graph)
    }

    pub(super) fn unions(&self) -> Vec<SchemaUnion<'g>> {
        let mut unions = Vec::new();
        for (id, schema) in self.schema_ids.iter().zip(self.schemas()) {
            for (one, branches) in [(true, &schema.one_of), (false, &schema.any_of)] {
                if !branches.is_empty() && !self.resolved_unions.contains(id) {
                    unions.push(SchemaUnion { holder: *id, one, branches });
                }
            }
        }
        unions
    }

    /// Returns true if there is a union whose branches are compared, as opposed to a union that lists values.
    pub(super) fn has_branches(&self) -> bool {
        let unions = self.unions();
        let listed = if unions.is_empty() { ValueListing::None } else { self.value_listing() };
        let holder = match listed {
            ValueListing::Closed { holder, .. } => holder.map(|union| union.holder),
            ValueListing::None | ValueListing::Open(_) => None,
        };
        unions.iter().any(|union| Some(union.holder) != holder)
    }

    /// Returns the types that accepted values can have, under all keywords including unions and lists of
    /// values.
    pub(super) const fn types(&self) -> TypeSet {
        self.facts.types
    }

    /// Returns the list of accepted values, which may be an `enum`, a `const` or a union of both.
    pub(super) fn value_listing(&self) -> ValueListing<'g> {
        if let Some(values) = self.listed_values() {
            return ValueListing::Closed { values, holder: None };
        }
        for union in self.unions() {
            let mut values = Vec::new();
            let mut others = Vec::new();
            for id in union.branches {
                match FlattenedSchema::from_schemas(self.graph, &[*id]).finite_values(MAX_UNION_DEPTH) {
                    Some(more) => values.extend(more),
                    None => others.push(*id),
                }
            }
            // `null` alone is not an enumeration.
            let kinds = values
                .iter()
                .fold(TypeSet::default(), |all, value| all.union(type_of(value)))
                .difference(TypeSet::NULL);
            if kinds.is_empty() {
                continue;
            }
            let mut seen = Vec::new();
            values.retain(|value| {
                !seen.contains(value) && {
                    seen.push(*value);
                    true
                }
            });
            if others.is_empty() {
                return ValueListing::Closed { values, holder: Some(union) };
            }
            let same_kind = |id: &SchemaId| {
                !FlattenedSchema::from_schemas(self.graph, &[*id]).types().intersection(kinds).is_empty()
            };
            if others.iter().all(same_kind) {
                return ValueListing::Open(OpenListing { values, other_branches: others, holder: union });
            }
        }
        ValueListing::None
    }

    /// Returns all accepted values if the schema lists them by `enum`, `const`, the type `null` or a union of
    /// these. Otherwise, returns `None`.
    fn finite_values(&self, depth: u8) -> Option<Vec<&'g Json>> {
        const NULL: &Json = &Json::Null;
        if let Some(values) = self.listed_values() {
            return Some(values);
        }
        if self.types() == TypeSet::NULL {
            return Some(vec![NULL]);
        }
        let unions = self.unions();
        let [union] = unions.as_slice() else { return None };
        if depth == 0 {
            return None;
        }
        let of = |id: &SchemaId| FlattenedSchema::from_schemas(self.graph, &[*id]).finite_values(depth - 1);
        union.branches.iter().map(of).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
    }

    /// Returns the names that `properties` declares, in the order of the contract.
    pub(super) fn declared_names(&self) -> Vec<&'g str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.schemas().flat_map(|schema| &schema.properties) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    pub(super) fn declares_property(&self, name: &str) -> bool {
        self.any_schema(|schema| schema.properties.iter().any(|(other, _)| other == name))
    }

    /// Returns true if a schema, a branch or a condition declares, requires or restricts a property.
    pub(super) fn mentions_property(&self, name: &str) -> bool {
        self.schemas().any(|schema| self.schema_mentions(schema, name)) || self.mentions_conditionally(name)
    }

    /// Returns true if a branch, `then` or `else` declares, requires or restricts a property.
    pub(super) fn mentions_conditionally(&self, name: &str) -> bool {
        self.facts.conditional.iter().any(|id| self.schema_mentions(self.graph.schema(*id), name))
    }

    /// Returns true if a single schema declares, requires or restricts a property.
    fn schema_mentions(&self, schema: &Schema, name: &str) -> bool {
        let mut own_schemas = self.own_property_schemas(schema, name).peekable();
        schema.required.iter().any(|other| other == name)
            || own_schemas.peek().is_some()
            || schema.additional_properties.is_some_and(|id| self.is_restrictive(id))
    }

    /// Returns the subschemas of `properties` and `patternProperties` that apply to a property.
    fn own_property_schemas<'s>(
        &'s self,
        schema: &'s Schema,
        name: &'s str,
    ) -> impl Iterator<Item = SchemaId> + 's {
        let declared = schema.properties.iter().filter(move |(other, _)| other == name);
        let programs = &self.graph.programs;
        let matching = schema.pattern_properties.iter();
        declared
            .chain(matching.filter(move |(pattern, _)| programs.matches_pattern(pattern, name)))
            .map(|(_, id)| *id)
    }

    /// Returns true if a schema, a branch or a condition declares a property.
    pub(super) fn may_declare(&self, name: &str) -> bool {
        let declares = |schema: &Schema| schema.properties.iter().any(|(other, _)| other == name);
        self.any_schema(declares) || self.facts.conditional.iter().any(|id| declares(self.graph.schema(*id)))
    }

    pub(super) fn requires_property(&self, name: &str) -> bool {
        self.any_schema(|schema| schema.required.iter().any(|other| other == name))
    }

    /// Returns every schema that a property must satisfy (Core 10.3.2).
    pub(super) fn property_schemas(&self, name: &str) -> Vec<SchemaId> {
        let mut ids = Vec::new();
        for schema in self.schemas() {
            let before = ids.len();
            ids.extend(self.own_property_schemas(schema, name));
            if ids.len() == before {
                ids.extend(schema.additional_properties);
            }
        }
        ids
    }

    /// Returns every schema that undeclared properties must satisfy, except boolean schemas.
    pub(super) fn additional_schemas(&self) -> Vec<SchemaId> {
        let all =
            self.schemas().flat_map(|schema| match self.catch_all_patterns(schema).collect::<Vec<_>>() {
                ids if ids.is_empty() => schema.additional_properties.into_iter().collect(),
                ids => ids,
            });
        all.filter(|id| self.graph.schema(*id).boolean.is_none()).collect()
    }

    /// Returns true if a schema can refuse a value and is not a boolean schema.
    pub(super) fn is_restrictive(&self, id: SchemaId) -> bool {
        self.graph.schema(id).boolean.is_none() && self.can_reject(id)
    }

    /// Returns true if a schema can refuse a value.
    pub(super) fn can_reject(&self, id: SchemaId) -> bool {
        FlattenedSchema::from_schemas(self.graph, &[id]).restricts_values()
    }

    /// Returns true if undeclared properties are forbidden by `additionalProperties`, `unevaluatedProperties`
    /// or a pattern that matches every name.
    pub(super) fn is_closed(&self) -> bool {
        let closes = |schema: &'g Schema| {
            let mut patterns = self.catch_all_patterns(schema).peekable();
            match patterns.peek() {
                Some(_) => patterns.any(|id| self.is_false_schema(id)),
                None => {
                    let others = [schema.additional_properties, schema.unevaluated_properties];
                    others.into_iter().flatten().any(|id| self.is_false_schema(id))
                }
            }
        };
        self.any_schema(closes)
    }

    /// Returns true if a property is forbidden because the object is closed and does not declare it.
    pub(super) fn is_closed_for(&self, name: &str) -> bool {
        let schemas = self.property_schemas(name);
        self.is_closed() && (schemas.is_empty() || schemas.into_iter().any(|id| self.is_false_schema(id)))
    }

    fn is_false_schema(&self, id: SchemaId) -> bool {
        self.graph.schema(id).boolean == Some(false)
    }

    /// Returns the subschemas of `patternProperties` whose patterns match every name.
    fn catch_all_patterns<'s>(&'s self, schema: &'s Schema) -> impl Iterator<Item = SchemaId> + 's {
        let all = schema.pattern_properties.iter();
        all.filter(|(pattern, _)| self.graph.programs.matches_every_string(pattern)).map(|(_, id)| *id)
    }

    /// Returns true if a property is never sent in a direction, because it is `readOnly` or `writeOnly`.
    pub(super) fn is_never_sent(&self, name: &str, usage: ValueUse) -> bool {
        let named = self.schemas().flat_map(|schema| &schema.properties).filter(|(other, _)| other == name);
        let schema_ids: Vec<SchemaId> = named.map(|(_, id)| *id).collect();
        self.graph.is_never_sent(&schema_ids, usage)
    }

    /// Returns true if values sent in a direction must contain the property. In OpenAPI 3.0, `required` has
    /// no effect on a property that is never sent in the direction.
    pub(super) fn requires_in_direction(&self, name: &str, usage: ValueUse) -> bool {
        let is_idle = self.is_never_sent(name, usage);
        let one_way = &self.graph.one_way;
        let asks = |schema: &Schema| !is_idle || !one_way.is_directional(schema.place.source);
        self.any_schema(|schema| asks(schema) && schema.required.iter().any(|other| other == name))
    }

    /// Returns the declared names and patterns of each schema that forbids undeclared names. For
    /// `additionalProperties`, these are the names of the same schema (Core 10.3.2.3); for
    /// `unevaluatedProperties`, also those of its subschemas (Core 11.3).
    pub(super) fn closed_name_sets(&self) -> BTreeSet<ClosedNames<'g>> {
        let graph = self.graph;
        let forbids = |id: Option<SchemaId>| id.is_some_and(|id| graph.schema(id).boolean == Some(false));
        let mut all = BTreeSet::new();
        for (id, schema) in self.schema_ids.iter().zip(self.schemas()) {
            let mut patterns = self.catch_all_patterns(schema).peekable();
            if patterns.peek().is_some() {
                // Such a pattern matches every name, so declared names are refused as well.
                if patterns.any(|id| self.is_false_schema(id)) {
                    all.insert(ClosedNames::from_schemas(graph, [], false));
                }
                continue;
            }
            if forbids(schema.additional_properties) {
                all.insert(ClosedNames::from_schemas(graph, [schema], false));
            }
            if forbids(schema.unevaluated_properties) {
                let below = FlattenedSchema::from_schemas(graph, &[*id]);
                let below = below.with_single_branches().unwrap_or(below);
                let sometimes = &below.facts.conditional;
                let seen = below.schema_ids.iter().chain(sometimes).map(|id| graph.schema(*id));
                all.insert(ClosedNames::from_schemas(graph, seen, !sometimes.is_empty()));
            }
        }
        all
    }

    /// Returns every schema that the element at an index must satisfy; the index `None` selects the elements
    /// after all `prefixItems`.
    pub(super) fn element_schemas(&self, index: Option<usize>) -> Vec<SchemaId> {
        let pick =
            |schema: &'g Schema| index.and_then(|at| schema.prefix_items.get(at).copied()).or(schema.items);
        self.schemas().filter_map(pick).collect()
    }

    /// Returns the length of the longest `prefixItems`.
    pub(super) fn prefix_length(&self) -> usize {
        self.schemas().map(|schema| schema.prefix_items.len()).max().unwrap_or(0)
    }
}

/// Appends the schemas in `more` that `members` does not contain.
fn add_missing(members: &mut Vec<SchemaId>, more: &[SchemaId]) {
    let new: Vec<SchemaId> = more.iter().copied().filter(|id| !members.contains(id)).collect();
    members.extend(new);
}

/// Formats types for a message, such as `string or null`.
pub(super) fn type_names(types: TypeSet) -> String {
    if types == TypeSet::ALL {
        return "anything".to_owned();
    }
    let mut names = types.type_names();
    names.reverse();
    if names.is_empty() { "nothing".to_owned() } else { names.join(" or ") }
}
