//! Repairs objects with dependent requirements, and computes property names that random attempts do not find.

use std::iter;

use contract_runtime::{Json, Map};

use super::{MAX_TRIES, ValueGenerator, ValuePredicate, exact, strip_lookaround};
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts, discriminator::discriminator_values, sample::MAX_LENGTH},
    pattern::inclusion::PatternProgram,
    schema::{Schema, SchemaId},
};

/// The maximum number of repair rounds. Several rounds can be necessary, because an added property may
/// require other properties.
const MAX_REPAIRS: usize = 4;

impl ValueGenerator<'_> {
    /// Adds the properties that `dependentRequired`, `dependentSchemas` and conditions require. Returns the
    /// object if it is accepted after that.
    pub(super) fn repair_object(
        &self,
        facts: &SchemaFacts,
        object: &Json,
        level: u8,
        holds: ValuePredicate<'_>,
    ) -> Option<Json> {
        let mut members = object.as_object()?.clone();
        for _ in 0..MAX_REPAIRS {
            let applicable = self.applicable_schemas(facts, &Json::Object(members.clone()));
            let schemas: Vec<&Schema> = applicable.into_iter().map(|id| self.graph.schema(id)).collect();
            let changed = self.repair_members(&schemas, &mut members, level)?;
            let value = Json::Object(members.clone());
            if holds(&value) {
                return Some(value);
            }
            if !changed {
                return None;
            }
        }
        None
    }

    /// Returns the schemas that apply to a value: the unconditional ones, and the conditional ones whose
    /// condition holds for the value.
    fn applicable_schemas(&self, facts: &SchemaFacts, value: &Json) -> Vec<SchemaId> {
        let has = |name: &String| value.as_object().is_some_and(|members| members.contains_key(name));
        let mut ids = facts.unconditional.clone();
        let mut at = 0;
        while let Some(&id) = ids.get(at) {
            at += 1;
            let schema = self.graph.schema(id);
            let consequence = schema.condition.and_then(|condition| {
                if (self.valid)(condition, value) { schema.then } else { schema.otherwise }
            });
            let beside = schema.dependent_schemas.iter().filter(|(name, _)| has(name)).map(|(_, id)| *id);
            for next in consequence.into_iter().chain(beside) {
                let with_parts = SchemaFacts::from_conjunction(
                    self.graph,
                    &SchemaConjunction::from_schema(next),
                    self.implied,
                )
                .unconditional;
                ids.extend(with_parts.into_iter().filter(|id| !ids.contains(id)).collect::<Vec<_>>());
            }
        }
        ids
    }

    /// Adds required properties and replaces invalid ones. Returns true if the object changed, or `None` if
    /// no value is found for a required property.
    fn repair_members(&self, schemas: &[&Schema], members: &mut Map<Json>, level: u8) -> Option<bool> {
        let mut changed = false;
        let rules = PropertyRules::from_schemas(schemas);
        for schema in schemas {
            let depending = schema.dependent_required.iter();
            let depending = depending.filter(|(name, _)| members.contains_key(name)).flat_map(|(_, all)| all);
            let names: Vec<&String> = schema.required.iter().chain(depending).collect();
            for name in names {
                if !members.contains_key(name) {
                    members.insert(name.clone(), self.generate_part(rules.schemas_for_name(name), level)?);
                    changed = true;
                }
            }
        }
        let names: Vec<String> = members.keys().map(str::to_owned).collect();
        for name in names {
            let ids = rules.schemas_for_name(&name);
            let fits = |own: &Json| ids.iter().all(|&id| (self.valid)(id, own));
            if members.get(&name).is_some_and(fits) {
                continue;
            }
            changed = true;
            match self.generate_part(ids, level) {
                Some(value) => members.insert(name, value),
                None => members.remove(&name),
            };
        }
        Some(changed)
    }

    /// Adds properties with the shortest unused names that the schemas allow until the object has `wanted`
    /// properties. Random names would repeat too often if few names are allowed.
    pub(super) fn add_shortest_names(
        &self,
        all: &[&Schema],
        wanted: u64,
        level: u8,
        members: &mut Map<Json>,
    ) {
        if members.len() as u64 >= wanted {
            return;
        }
        let names = SchemaConjunction::from_schemas(all.iter().filter_map(|schema| schema.property_names));
        let names = SchemaFacts::from_conjunction(self.graph, &names, self.implied);
        let names: Vec<&Schema> = names.unconditional_schemas(self.graph).collect();
        let least = names.iter().filter_map(|schema| schema.min_length).max().unwrap_or(0).max(1);
        let most = names.iter().filter_map(|schema| schema.max_length).min();
        let own = names.iter().filter_map(|schema| schema.pattern.as_deref());
        let own: Vec<String> = own.map(strip_lookaround).collect();
        let is_false = |id: SchemaId| self.graph.schema(id).boolean == Some(false);
        let is_open = !all.iter().filter_map(|schema| schema.additional_properties).any(is_false);
        // If the schemas do not restrict the names, names of lowercase letters are selected.
        let any = (is_open && own.is_empty()).then(|| "^[a-z]+$".to_owned());
        let any = is_open.then(|| any.into_iter().collect::<Vec<String>>());
        let patterns = all.iter().flat_map(|schema| &schema.pattern_properties);
        let patterns = patterns.map(|(pattern, _)| vec![strip_lookaround(pattern)]);
        let rules = PropertyRules::from_schemas(all);
        let mut taken: Vec<String> = members.keys().map(str::to_owned).collect();
        for extra in patterns.chain(any) {
            let combined = [own.as_slice(), extra.as_slice()].concat();
            for _ in 0..MAX_TRIES + wanted.min(MAX_LENGTH) {
                if members.len() as u64 >= wanted {
                    return;
                }
                let Some(name) = exact::shortest_string(&combined, least, most, &taken) else { break };
                if let Some(value) = self.generate_part(rules.schemas_for_name(&name), level) {
                    members.insert(name.clone(), value);
                }
                taken.push(name);
            }
        }
    }

    /// Sets the tag property of an object to a tag of a branch that accepts the object, if there is such a
    /// branch. The tag does not affect the validity, but parsers select the branch by it (OpenAPI 3.1,
    /// 4.8.25).
    pub(super) fn with_matching_tag(&self, holder: &Schema, value: Json, holds: ValuePredicate<'_>) -> Json {
        let (Some(discriminator), Json::Object(members)) = (&holder.discriminator, &value) else {
            return value;
        };
        let branches = holder.one_of.iter().chain(&holder.any_of);
        let mut meanings: Vec<(&str, SchemaId)> = branches
            .flat_map(|id| iter::zip(discriminator_values(self.graph, discriminator, *id), iter::repeat(*id)))
            .collect();
        // The current tag value is tried first, if it is valid.
        let own = members.get(&discriminator.tag).and_then(Json::as_str);
        meanings.sort_by_key(|(word, _)| Some(*word) != own);
        let with = |(word, branch): (&str, SchemaId)| {
            let mut members = members.clone();
            members.insert(discriminator.tag.clone(), Json::from(word));
            Some(Json::Object(members)).filter(|value| (self.valid)(branch, value) && holds(value))
        };
        let found = meanings.into_iter().find_map(with);
        found.unwrap_or(value)
    }
}

/// A `patternProperties` entry: the compiled pattern, or `None` if the engine does not support it, and the
/// schema.
type PropertyPattern = (Option<PatternProgram>, SchemaId);

/// The schemas of an object, prepared for lookups of the schemas that apply to a property name.
pub(super) struct PropertyRules<'g> {
    schemas: Vec<(&'g Schema, Vec<PropertyPattern>)>,
    /// The `propertyNames` schemas.
    pub(super) name_schemas: Vec<SchemaId>,
}

impl<'g> PropertyRules<'g> {
    pub(super) fn from_schemas(all: &[&'g Schema]) -> Self {
        let program = |(pattern, id): &(String, SchemaId)| (PatternProgram::compile(pattern).ok(), *id);
        let patterns = |schema: &Schema| schema.pattern_properties.iter().map(program).collect();
        Self {
            schemas: all.iter().map(|schema| (*schema, patterns(schema))).collect(),
            name_schemas: all.iter().filter_map(|schema| schema.property_names).collect(),
        }
    }

    /// Returns every schema that applies to the property `name` (Core 10.3.2).
    pub(super) fn schemas_for_name(&self, name: &str) -> Vec<SchemaId> {
        let mut ids = Vec::new();
        for (schema, patterns) in &self.schemas {
            let before = ids.len();
            ids.extend(schema.properties.iter().filter(|(own, _)| own == name).map(|(_, id)| *id));
            let is_found =
                |program: &Option<PatternProgram>| program.as_ref().is_some_and(|all| all.is_match(name));
            ids.extend(patterns.iter().filter(|(program, _)| is_found(program)).map(|(_, id)| *id));
            if ids.len() == before {
                ids.extend(schema.additional_properties);
            }
        }
        ids
    }
}
