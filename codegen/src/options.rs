//! What the owner of a contract decided about its schemas, selectors settled to ids.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    config::{TypeOptions, UnboundedIntegers},
    formats::Formats,
    schema::{Moved, SchemaId},
};

/// What the configuration says about types.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Rust names chosen by the owner.
    pub names: BTreeMap<SchemaId, String>,
    /// Schemas with secret values.
    pub secrets: BTreeSet<SchemaId>,
    /// Enumerations and tagged unions of requests whose unknown values are kept nevertheless.
    pub open: BTreeSet<SchemaId>,
    /// Those of answers whose unknown values are not.
    pub closed: BTreeSet<SchemaId>,
    /// Schemas that requests hold and nothing else.
    pub requests: BTreeSet<SchemaId>,
    /// Types of the owner.
    pub replace: BTreeMap<SchemaId, String>,
    /// The module of each schema's type; `models` where it is missing.
    pub areas: BTreeMap<SchemaId, String>,
    /// Unbounded integers keep any size.
    pub exact_integers: bool,
    /// `properties` without `type` means an object.
    pub implied_objects: bool,
    /// Schemas whose unsupported pattern is left unchecked.
    pub unchecked: BTreeSet<SchemaId>,
    /// The schemas that each view over types lists, in the order of the views.
    pub views: Vec<Vec<SchemaId>>,
    /// Schemas on circles of required members: a struct of theirs could not be made.
    pub endless: BTreeSet<SchemaId>,
    /// Formats that become types.
    pub formats: Formats,
    /// Attributes of types and fields, those that derive among them.
    pub attributes: BTreeMap<SchemaId, Vec<String>>,
    /// Paths of what every type derives; `Default` where it can have one.
    pub everywhere: Vec<String>,
}

impl Options {
    /// Takes over the options of the file that need no selector.
    #[must_use]
    pub fn from_types(types: &TypeOptions) -> Self {
        Self {
            exact_integers: types.unbounded_integers == UnboundedIntegers::Exact,
            implied_objects: types.implied_objects,
            ..Self::default()
        }
    }

    /// What they say about the schemas that are left of a graph.
    ///
    /// No `..`: whoever adds an option decides here whether it names schemas.
    #[must_use]
    pub(crate) fn moved(self, moved: &Moved) -> Self {
        let Self {
            names,
            secrets,
            open,
            closed,
            requests,
            replace,
            areas,
            exact_integers,
            implied_objects,
            unchecked,
            views,
            endless,
            formats,
            attributes,
            everywhere,
        } = self;
        Self {
            names: moved.keys(names),
            secrets: moved.set(secrets),
            open: moved.set(open),
            closed: moved.set(closed),
            requests: moved.set(requests),
            replace: moved.keys(replace),
            areas: moved.keys(areas),
            exact_integers,
            implied_objects,
            unchecked: moved.set(unchecked),
            views: views.into_iter().map(|view| moved.list(view)).collect(),
            endless: moved.set(endless),
            formats,
            attributes: moved.keys(attributes),
            everywhere,
        }
    }
}
