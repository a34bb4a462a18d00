//! Objects that ask for more where they hold something, and members whose names have to be sought.

use std::iter;

use contract_runtime::{Json, Map};

use super::{Drawer, Holds, TRIES, exact, without_looks};
use crate::{
    pattern::inclusion::Program,
    schema::{Schema, SchemaId},
    together::{Conj, Facts, meaning::meant, sample::LONGEST},
};

/// How often what is asked for may ask for more.
const MENDS: usize = 4;

impl Drawer<'_> {
    /// The same object with what its members ask for: by `dependentRequired`, by `dependentSchemas`, by
    /// a condition that holds or does not.
    pub(super) fn mended(&self, facts: &Facts, object: &Json, level: u8, holds: Holds<'_>) -> Option<Json> {
        let mut members = object.as_object()?.clone();
        for _ in 0..MENDS {
            let asking = self.asking(facts, &Json::Object(members.clone()));
            let schemas: Vec<&Schema> = asking.into_iter().map(|id| self.graph.schema(id)).collect();
            let changed = self.mend(&schemas, &mut members, level)?;
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

    /// The schemas that apply to a value, those under a condition only where it holds.
    fn asking(&self, facts: &Facts, value: &Json) -> Vec<SchemaId> {
        let has = |name: &String| value.as_object().is_some_and(|members| members.contains_key(name));
        let mut ids = facts.members.clone();
        let mut at = 0;
        while let Some(&id) = ids.get(at) {
            at += 1;
            let schema = self.graph.schema(id);
            let consequence = schema.condition.and_then(|condition| {
                if (self.valid)(condition, value) { schema.then } else { schema.otherwise }
            });
            let beside = schema.dependent_schemas.iter().filter(|(name, _)| has(name)).map(|(_, id)| *id);
            for next in consequence.into_iter().chain(beside) {
                let with_parts = Facts::of(self.graph, &Conj::one(next), self.implied).members;
                ids.extend(with_parts.into_iter().filter(|id| !ids.contains(id)).collect::<Vec<_>>());
            }
        }
        ids
    }

    /// Adds what schemas require and makes anew what they refuse; whether that was something. `None`
    /// where a member has no value.
    fn mend(&self, schemas: &[&Schema], members: &mut Map<Json>, level: u8) -> Option<bool> {
        let mut changed = false;
        let rules = Rules::of(schemas);
        for schema in schemas {
            let depending = schema.dependent_required.iter();
            let depending = depending.filter(|(name, _)| members.contains_key(name)).flat_map(|(_, all)| all);
            let names: Vec<&String> = schema.required.iter().chain(depending).collect();
            for name in names {
                if !members.contains_key(name) {
                    members.insert(name.clone(), self.part(rules.applicable(name), level)?);
                    changed = true;
                }
            }
        }
        let names: Vec<String> = members.keys().map(str::to_owned).collect();
        for name in names {
            let ids = rules.applicable(&name);
            let fits = |own: &Json| ids.iter().all(|&id| (self.valid)(id, own));
            if members.get(&name).is_some_and(fits) {
                continue;
            }
            changed = true;
            match self.part(ids, level) {
                Some(value) => members.insert(name, value),
                None => members.remove(&name),
            };
        }
        Some(changed)
    }

    /// Members of the shortest names that are left, until there are so many: for names that chance gives
    /// again and again.
    pub(super) fn further(&self, all: &[&Schema], wanted: u64, level: u8, members: &mut Map<Json>) {
        if members.len() as u64 >= wanted {
            return;
        }
        let names = Conj::all(all.iter().filter_map(|schema| schema.property_names));
        let names = Facts::of(self.graph, &names, self.implied);
        let names: Vec<&Schema> = names.schemas(self.graph).collect();
        let least = names.iter().filter_map(|schema| schema.min_length).max().unwrap_or(0).max(1);
        let most = names.iter().filter_map(|schema| schema.max_length).min();
        let own = names.iter().filter_map(|schema| schema.pattern.as_deref());
        let own: Vec<String> = own.map(without_looks).collect();
        let is_false = |id: SchemaId| self.graph.schema(id).boolean == Some(false);
        let is_open = !all.iter().filter_map(|schema| schema.additional_properties).any(is_false);
        // Where any name will do, one that can be read.
        let any = (is_open && own.is_empty()).then(|| "^[a-z]+$".to_owned());
        let any = is_open.then(|| any.into_iter().collect::<Vec<String>>());
        let patterns = all.iter().flat_map(|schema| &schema.pattern_properties);
        let patterns = patterns.map(|(pattern, _)| vec![without_looks(pattern)]);
        let rules = Rules::of(all);
        let mut taken: Vec<String> = members.keys().map(str::to_owned).collect();
        for way in patterns.chain(any) {
            let asked = [own.as_slice(), way.as_slice()].concat();
            for _ in 0..TRIES + wanted.min(LONGEST) {
                if members.len() as u64 >= wanted {
                    return;
                }
                let Some(name) = exact::text(&asked, least, most, &taken) else { break };
                if let Some(value) = self.part(rules.applicable(&name), level) {
                    members.insert(name.clone(), value);
                }
                taken.push(name);
            }
        }
    }

    /// The same with a tag that means the branch which accepts it, where there is one: a tag is no rule
    /// of what is valid, and whoever reads the value goes by it (OpenAPI 3.1, 4.8.25).
    pub(super) fn tagged(&self, holder: &Schema, value: Json, holds: Holds<'_>) -> Json {
        let (Some(discriminator), Json::Object(members)) = (&holder.discriminator, &value) else {
            return value;
        };
        let branches = holder.one_of.iter().chain(&holder.any_of);
        let mut meanings: Vec<(&str, SchemaId)> = branches
            .flat_map(|id| iter::zip(meant(self.graph, discriminator, *id), iter::repeat(*id)))
            .collect();
        // What it says itself goes first, where that is right.
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

/// A pattern of names, where it can be run, and what it asks for.
type Pattern = (Option<Program>, SchemaId);

/// Schemas of an object, and the programs of their patterns.
pub(super) struct Rules<'g> {
    schemas: Vec<(&'g Schema, Vec<Pattern>)>,
    /// What names have to be.
    pub(super) names: Vec<SchemaId>,
}

impl<'g> Rules<'g> {
    pub(super) fn of(all: &[&'g Schema]) -> Self {
        let program = |(pattern, id): &(String, SchemaId)| (Program::of(pattern).ok(), *id);
        let patterns = |schema: &Schema| schema.pattern_properties.iter().map(program).collect();
        Self {
            schemas: all.iter().map(|schema| (*schema, patterns(schema))).collect(),
            names: all.iter().filter_map(|schema| schema.property_names).collect(),
        }
    }

    /// Every schema that a member of that name must satisfy (Core 10.3.2).
    pub(super) fn applicable(&self, name: &str) -> Vec<SchemaId> {
        let mut ids = Vec::new();
        for (schema, patterns) in &self.schemas {
            let before = ids.len();
            ids.extend(schema.properties.iter().filter(|(own, _)| own == name).map(|(_, id)| *id));
            let is_found = |program: &Option<Program>| program.as_ref().is_some_and(|all| all.is_match(name));
            ids.extend(patterns.iter().filter(|(program, _)| is_found(program)).map(|(_, id)| *id));
            if ids.len() == before {
                ids.extend(schema.additional_properties);
            }
        }
        ids
    }
}
