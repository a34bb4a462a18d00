//! Which schema bears which Rust name, settled on the whole contract before a part of it is taken,
//! so that a type has the same name in a part as in the whole.
//!
//! A schema with a name of its own keeps it; clashes take the file's. A type that nobody named is
//! called after the place where it stands, not after those who refer to it.

mod aliases;
mod equals;
mod places;
pub(crate) mod rows;

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    api::Api,
    names,
    options::Options,
    schema::{Graph, Moved, Origin, SchemaId},
};

pub use self::places::{operation_places, places};
pub(crate) use self::rows::RowNames;

/// The names of a contract's types.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names of schemas that the contract or its owner names.
    named: BTreeMap<SchemaId, String>,
    /// Names of anonymous types, by the schema that stands at their place.
    places: BTreeMap<SchemaId, PlaceName>,
    /// All names of the whole contract.
    taken: BTreeSet<String>,
    /// Names that the owner chose and that several schemas of the whole contract would have.
    contested: BTreeMap<String, Vec<SchemaId>>,
    /// Where each schema that is nothing but a reference ends.
    pub(crate) aliases: BTreeMap<SchemaId, SchemaId>,
    /// The first of the anonymous schemas that say the same, for each of them.
    pub(crate) equals: BTreeMap<SchemaId, SchemaId>,
    /// Schemas without a name that accept everything.
    pub(crate) silent: BTreeSet<SchemaId>,
    /// What rows of tables are counted from.
    pub(crate) rows: RowNames,
}

/// The name that a place without one of its own gives to a type.
#[derive(Clone, Debug)]
pub(crate) struct PlaceName {
    /// The path of names that leads there.
    hint: String,
    /// What no other type is called.
    name: String,
}

impl Names {
    /// Settles the names of a whole contract.
    #[must_use]
    pub fn settle(graph: &Graph, api: &Api, options: &Options) -> Self {
        let mut names = Self::default();
        names.settle_named(graph, options);
        names.settle_aliases(graph, options);
        names.settle_equals(graph, options);
        names.settle_places(graph, api);
        names.rows = RowNames::settle(graph);
        names
    }

    /// The same names in a part.
    #[must_use]
    pub(crate) fn moved(self, moved: &Moved) -> Self {
        let aliases = self.aliases.into_iter();
        Self {
            named: moved.keys(self.named),
            places: moved.keys(self.places),
            aliases: aliases.filter_map(|(id, target)| Some((moved.get(id)?, moved.get(target)?))).collect(),
            equals: equals::moved(&self.equals, moved),
            silent: moved.set(self.silent),
            taken: self.taken,
            contested: BTreeMap::new(),
            rows: self.rows,
        }
    }

    /// The name of a schema that has one.
    #[must_use]
    pub fn of(&self, id: SchemaId) -> Option<&str> {
        self.named.get(&id).map(String::as_str)
    }

    /// All schemas that have a name.
    pub fn named(&self) -> impl Iterator<Item = SchemaId> {
        self.named.keys().copied()
    }

    /// Names that the owner chose for one schema and that others would have, too, with all of them; until
    /// a part is taken.
    pub(crate) const fn contested(&self) -> &BTreeMap<String, Vec<SchemaId>> {
        &self.contested
    }

    /// The path of names that leads to a schema without a name, when a type may stand there.
    #[must_use]
    pub fn hint(&self, id: SchemaId) -> Option<&str> {
        self.places.get(&id).map(|place| place.hint.as_str())
    }

    /// The settled name of an anonymous type at one of these schemas, which `hint` leads to; each
    /// is given once.
    pub(crate) fn take(&mut self, ids: &[SchemaId], hint: &str) -> String {
        for id in ids.iter().rev() {
            if self.places.get(id).is_some_and(|place| place.hint == hint) {
                return self.places.remove(id).map(|place| place.name).unwrap_or_default();
            }
        }
        self.unique(names::model_name(hint))
    }

    /// Gives every schema that has a name of its own its Rust name; clashes take the file's.
    fn settle_named(&mut self, graph: &Graph, options: &Options) {
        let mut wanted: BTreeMap<String, Vec<SchemaId>> = BTreeMap::new();
        for id in graph.ids() {
            let schema = graph.schema(id);
            if !aliases::has_name(graph, options, id) || aliases::alias_of(graph, options, id).is_some() {
                continue;
            }
            let name = match (&schema.origin, options.names.get(&id)) {
                (_, Some(chosen)) => chosen.clone(),
                (Origin::Root(n) | Origin::Definition(n) | Origin::Component(n), None) => {
                    names::model_name(n)
                }
                (Origin::Inline, None) => continue,
            };
            wanted.entry(name).or_default().push(id);
        }
        let mut clashing = Vec::new();
        for (name, ids) in wanted {
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
        clashing.sort_by_key(|(_, id)| graph.location(*id));
        for (name, id) in clashing {
            let stem = names::stem(&graph.resource(graph.schema(id).resource).uri);
            let qualified = match &graph.schema(id).origin {
                // A root or a component keeps its plain name when only `$defs` clash with it.
                Origin::Root(_) | Origin::Component(_) if !self.taken.contains(&name) => name,
                _ => format!("{}{name}", names::type_name(&stem)),
            };
            let unique = self.unique(qualified);
            self.named.insert(id, unique);
        }
    }

    fn unique(&mut self, name: String) -> String {
        let mut unique = name.clone();
        let mut number = 1u32;
        while !self.taken.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}{number}");
        }
        unique
    }
}
