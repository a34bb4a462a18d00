//! Assigns Rust names to schemas. Names are assigned for the whole contract before it is reduced to a part,
//! so that a type has the same name in both.
//!
//! A schema with a declared name keeps it; clashing names are qualified with that of the file. An anonymous
//! type is named after its own location, not after the schemas that refer to it.

mod aliases;
mod equal_schemas;
mod places;
pub(crate) mod rows;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    api::OpenApiDocument,
    names,
    options::SchemaOptions,
    schema::{SchemaGraph, SchemaId, SchemaOrigin, SchemaRemapping},
};

pub use self::places::{operation_places, type_places};
pub(crate) use self::rows::RowNames;

/// The names of a contract's types.
#[derive(Clone, Debug, Default)]
pub struct TypeNames {
    /// The names of schemas that the contract or its owner names.
    named: BTreeMap<SchemaId, String>,
    /// The names of anonymous types, by schema.
    places: BTreeMap<SchemaId, PlaceName>,
    /// All names of the whole contract.
    taken: BTreeSet<String>,
    /// Names that the owner chose and that several schemas of the whole contract would have.
    contested: BTreeMap<String, Vec<SchemaId>>,
    /// The final target of each schema that is only a reference.
    pub(crate) aliases: BTreeMap<SchemaId, SchemaId>,
    /// The first of several equal anonymous schemas, for each of them.
    pub(crate) equals: BTreeMap<SchemaId, SchemaId>,
    /// Anonymous schemas that accept every value.
    pub(crate) unconstrained: BTreeSet<SchemaId>,
    /// The names of row groups in the tables.
    pub(crate) rows: RowNames,
}

/// The name of an anonymous type.
#[derive(Clone, Debug)]
pub(crate) struct PlaceName {
    /// The path of names that leads to the schema.
    hint: String,
    /// The unique name of the type.
    name: String,
}

impl TypeNames {
    /// Assigns the names of a whole contract.
    #[must_use]
    pub fn assign_names(graph: &SchemaGraph, api: &OpenApiDocument, options: &SchemaOptions) -> Self {
        let mut names = Self::default();
        names.assign_declared_names(graph, options);
        names.find_aliases(graph, options);
        names.find_equal_schemas(graph, options);
        names.assign_place_names(graph, api);
        names.rows = RowNames::assign_names(graph);
        names
    }

    /// Replaces schema ids after the graph was reduced.
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

    /// Returns the name of a schema that has one.
    #[must_use]
    pub fn name_of(&self, id: SchemaId) -> Option<&str> {
        self.named.get(&id).map(String::as_str)
    }

    /// Iterates over all schemas with a name.
    pub fn named(&self) -> impl Iterator<Item = SchemaId> {
        self.named.keys().copied()
    }

    /// Returns the names that the owner chose and that several schemas would have, with all of these schemas.
    /// Empty after the contract was reduced.
    pub(crate) const fn contested(&self) -> &BTreeMap<String, Vec<SchemaId>> {
        &self.contested
    }

    /// Returns the path of names that leads to an anonymous schema, if it may need a type.
    #[must_use]
    pub fn hint(&self, id: SchemaId) -> Option<&str> {
        self.places.get(&id).map(|place| place.hint.as_str())
    }

    /// Takes the name of an anonymous type for the first match of these schemas with `hint`; each name is
    /// returned once.
    pub(crate) fn take(&mut self, ids: &[SchemaId], hint: &str) -> String {
        for id in ids.iter().rev() {
            if self.places.get(id).is_some_and(|place| place.hint == hint) {
                return self.places.remove(id).map(|place| place.name).unwrap_or_default();
            }
        }
        self.make_unique(names::model_name(hint))
    }

    /// Assigns names to all schemas with a declared name; clashing names are qualified with that of the file.
    fn assign_declared_names(&mut self, graph: &SchemaGraph, options: &SchemaOptions) {
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
                    clashing.extend(ids.into_iter().map(|id| (name.clone(), id)));
                }
            }
        }
        clashing.sort_by_key(|(_, id)| graph.absolute_location(*id));
        for (name, id) in clashing {
            let stem = names::file_stem(&graph.resource(graph.schema(id).resource).uri);
            let qualified = match &graph.schema(id).origin {
                // A root or a component keeps its plain name if it clashes only with `$defs`.
                SchemaOrigin::Root(_) | SchemaOrigin::Component(_) if !self.taken.contains(&name) => name,
                _ => format!("{}{name}", names::type_name(&stem)),
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
