//! Assigns Rust names to schemas. Names are assigned for the whole contract before unused schemas are
//! removed, so that a type has the same name whether or not the other schemas are selected.
//!
//! A schema with a declared name keeps it; clashing names are qualified with the file name. An anonymous type
//! is named after its own location, not after the schemas that refer to it.

mod aliases;
mod equal_schemas;
mod local_names;
mod places;
pub(crate) mod rows;
mod unexchanged;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    api::OpenApiDocument,
    names,
    options::SchemaOptions,
    schema::{SchemaGraph, SchemaId, SchemaOrigin, SchemaRemapping, reachable::reachable_schemas},
};

pub use self::places::{operation_places, type_places};
pub(crate) use self::rows::RowNames;
pub(crate) use self::unexchanged::unexchanged_schemas;

/// The names of a contract's types, and the schemas that share a type.
#[derive(Clone, Debug, Default)]
pub struct TypeNames {
    /// The names of schemas that the contract or the configuration names, by schema.
    named: BTreeMap<SchemaId, String>,
    /// The names that are reserved for the types of anonymous schemas.
    places: BTreeMap<SchemaId, PlaceName>,
    /// All names that are used in the whole contract.
    taken: BTreeSet<String>,
    /// The names from the configuration or `x-rust-name` that clash with the name of another schema, each
    /// with all schemas of that name.
    contested: BTreeMap<String, Vec<SchemaId>>,
    /// The final target of each schema that is only a reference.
    pub(crate) aliases: BTreeMap<SchemaId, SchemaId>,
    /// For each of several equal anonymous schemas, the first of them.
    pub(crate) equals: BTreeMap<SchemaId, SchemaId>,
    /// The anonymous schemas that accept every value.
    pub(crate) unconstrained: BTreeSet<SchemaId>,
    /// The names of the groups of rows in the validation tables.
    pub(crate) rows: RowNames,
}

/// The name that is reserved for the type of an anonymous schema.
#[derive(Clone, Debug)]
pub(crate) struct PlaceName {
    /// The names on the path to the schema, joined to one name.
    hint: String,
    /// The unique name of the type.
    name: String,
}

impl TypeNames {
    /// Assigns the names of a whole contract.
    #[must_use]
    pub fn assign_names(graph: &SchemaGraph, api: &OpenApiDocument, options: &SchemaOptions) -> Self {
        let mut names = Self::default();
        names.assign_declared_names(graph, api, options);
        names.find_aliases(graph, options);
        names.find_equal_schemas(graph, api, options);
        names.assign_place_names(graph, api);
        names.rows = RowNames::assign_names(graph);
        names
    }

    /// Returns the names with the new schema ids after schemas were removed from the graph.
    #[must_use]
    pub(crate) fn moved(self, moved: &SchemaRemapping) -> Self {
        let aliases = self.aliases.into_iter();
        Self {
            named: moved.remap_keys(self.named),
            places: moved.remap_keys(self.places),
            aliases: aliases.filter_map(|(id, target)| Some((moved.get(id)?, moved.get(target)?))).collect(),
            equals: equal_schemas::remap_equals(&self.equals, moved),
            unconstrained: moved.remap_set(self.unconstrained),
            taken: self.taken,
            contested: BTreeMap::new(),
            rows: self.rows.moved(moved),
        }
    }

    /// Returns the name of a schema that the contract or the configuration names, or `None` for an anonymous
    /// schema.
    #[must_use]
    pub fn name_of(&self, id: SchemaId) -> Option<&str> {
        self.named.get(&id).map(String::as_str)
    }

    /// Iterates over all schemas that the contract or the configuration names.
    pub fn named(&self) -> impl Iterator<Item = SchemaId> {
        self.named.keys().copied()
    }

    /// Returns the names from the configuration or `x-rust-name` that clash with the name of another schema,
    /// each with all schemas of that name. The map is empty after schemas were removed from the graph.
    pub(crate) const fn contested(&self) -> &BTreeMap<String, Vec<SchemaId>> {
        &self.contested
    }

    /// Returns the joined names on the path to an anonymous schema, or `None` if its type needs no name.
    #[must_use]
    pub fn hint(&self, id: SchemaId) -> Option<&str> {
        self.places.get(&id).map(|place| place.hint.as_str())
    }

    /// Returns the names of anonymous schemas that share the type of an equal schema. Each name is the one
    /// that the schema's own type would have.
    pub(crate) fn duplicate_names(&self) -> BTreeMap<SchemaId, String> {
        let duplicates = self.equals.iter().filter(|(id, first)| id != first);
        duplicates.filter_map(|(id, _)| Some((*id, self.places.get(id)?.name.clone()))).collect()
    }

    /// Returns the type name that is reserved for the last of these anonymous schemas whose path is `hint`.
    /// If there is none, creates a unique name from `hint`. Each reserved name is returned only once.
    pub(crate) fn take(&mut self, ids: &[SchemaId], hint: &str) -> String {
        for id in ids.iter().rev() {
            if self.places.get(id).is_some_and(|place| place.hint == hint) {
                return self.places.remove(id).map(|place| place.name).unwrap_or_default();
            }
        }
        self.make_unique(names::model_name(hint))
    }

    /// Assigns names to all schemas that the contract or the configuration names. If several schemas have the
    /// same name, the first document or component among them keeps it, and the names of the others are
    /// qualified with the file name. If operations use exactly one of these documents and components, this
    /// one comes first.
    fn assign_declared_names(&mut self, graph: &SchemaGraph, api: &OpenApiDocument, options: &SchemaOptions) {
        let mut ids_by_name: BTreeMap<String, Vec<SchemaId>> = BTreeMap::new();
        for id in graph.ids() {
            let schema = graph.schema(id);
            if !aliases::has_name(graph, options, id) || aliases::alias_of(graph, options, id).is_some() {
                continue;
            }
            let name = match (&schema.origin, options.names.get(&id)) {
                (_, Some(chosen)) => chosen.clone(),
                (SchemaOrigin::Root(n) | SchemaOrigin::Definition(n) | SchemaOrigin::Component(n), None) => {
                    names::model_name(n)
                }
                (SchemaOrigin::Inline, None) => continue,
            };
            ids_by_name.entry(name).or_default().push(id);
        }
        let mut clashing = Vec::new();
        let mut preferred: BTreeSet<SchemaId> = BTreeSet::new();
        let in_use = OnceCell::new();
        for (name, ids) in ids_by_name {
            match ids.as_slice() {
                [id] => {
                    self.taken.insert(name.clone());
                    self.named.insert(*id, name);
                }
                _ => {
                    if ids.iter().any(|id| options.names.contains_key(id)) {
                        self.contested.insert(name.clone(), ids.clone());
                    }
                    let in_use = in_use.get_or_init(|| {
                        reachable_schemas(graph, type_places(api).into_iter().map(|(id, _)| id).collect())
                    });
                    let mut used = ids.iter().filter(|id| in_use.contains(id) && is_whole(graph, **id));
                    preferred.extend(used.next().filter(|_| used.next().is_none()));
                    clashing.extend(ids.into_iter().map(|id| (name.clone(), id)));
                }
            }
        }
        clashing.sort_by_cached_key(|(_, id)| (!preferred.contains(id), graph.absolute_location(*id)));
        for (name, id) in clashing {
            let stem = names::file_stem(&graph.resource(graph.schema(id).resource).uri);
            let qualified = match !self.taken.contains(&name) && is_whole(graph, id) {
                // The schema keeps its plain name if it clashes only with `$defs`, or if operations use no
                // other schema of this name.
                true => name,
                false => format!("{}{name}", names::type_name(&stem)),
            };
            let unique = self.make_unique(qualified);
            self.named.insert(id, unique);
        }
    }

    fn make_unique(&mut self, name: String) -> String {
        let mut unique = name.clone();
        let mut number = 1u32;
        while !self.taken.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}{number}");
        }
        unique
    }
}

/// Returns true if the schema is a whole document or a component.
fn is_whole(graph: &SchemaGraph, id: SchemaId) -> bool {
    matches!(graph.schema(id).origin, SchemaOrigin::Root(_) | SchemaOrigin::Component(_))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{generate::Project, load::Sources};

    /// Of two components with the same name in different files, the one that operations use keeps its name.
    #[test]
    fn components_in_use_keep_their_names() {
        let head = "openapi: 3.1.0\ninfo: { title: T, version: '1' }\n";
        let schemas =
            "components: { schemas: { Pet: { type: object, properties: { a: { type: string } } } } }\n";
        let operation = "paths: { /a: { get: { operationId: a, responses: { '200': { description: d, content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } } } } } } }\n";
        let (used, unused) = (format!("{head}{operation}{schemas}"), format!("{head}paths: {{}}\n{schemas}"));
        let names = |files: &[(&str, &str, &str)]| {
            let contract = Project::default().analyze_sources(Sources::from_texts(files).unwrap()).unwrap();
            let name = |file: &str| Some(contract.type_at(file, "/components/schemas/Pet")?.0.to_owned());
            files.iter().filter_map(|(file, ..)| name(file)).collect::<Vec<_>>()
        };
        for other in ["a.yaml", "z.yaml"] {
            let found = names(&[("main.yaml", "", &used), (other, "", &unused)]);
            assert_eq!(found[0], "Pet", "{other}");
            assert!(found[1].ends_with("Pet") && found[1] != "Pet", "{found:?}");
        }
    }
}
