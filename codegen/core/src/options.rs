//! The configured options for schemas, with selectors resolved to schema ids.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    config::{MachineIntegers, TypeOptions, UnboundedIntegerType, WireSettings},
    formats::FormatTypes,
    schema::{SchemaId, SchemaRemapping},
};

/// An entry of `[names]` for a value of an enumeration.
#[derive(Clone, Debug)]
pub(crate) struct ValueName {
    /// The key in the configuration.
    pub(crate) key: String,
    pub(crate) name: String,
    /// The value in the contract.
    pub(crate) value: String,
}

/// The options for schemas and their types.
#[derive(Clone, Debug, Default)]
pub struct SchemaOptions {
    /// The Rust names from the configuration.
    pub names: BTreeMap<SchemaId, String>,
    /// The configured names of enumeration values, from the section `[names]`.
    pub(crate) value_names: BTreeMap<SchemaId, Vec<ValueName>>,
    /// The schemas with secret values.
    pub secrets: BTreeSet<SchemaId>,
    /// The enums and tagged unions of requests that keep unknown values.
    pub open: BTreeSet<SchemaId>,
    /// The enums and tagged unions of responses that reject unknown values.
    pub closed: BTreeSet<SchemaId>,
    /// The schemas that only requests use.
    pub requests: BTreeSet<SchemaId>,
    /// The configured types that replace generated types.
    pub replace: BTreeMap<SchemaId, String>,
    /// The module of each schema's type. The type of a schema without an entry is in `models`.
    pub areas: BTreeMap<SchemaId, String>,
    /// True if unbounded integers become `Number` instead of `i64`.
    pub exact_integers: bool,
    /// True if the formats of all integers select `i32`, `u32` and `u64`.
    pub machine_integers: bool,
    /// The integers whose formats select `i32`, `u32` and `u64`, if not all do.
    pub machine_schemas: BTreeSet<SchemaId>,
    /// True if a schema with `properties` but without `type` describes an object.
    pub implied_objects: bool,
    /// The schemas whose unsupported pattern is not checked.
    pub unchecked: BTreeSet<SchemaId>,
    /// The schemas of each view over types, in the order of the views.
    pub views: Vec<Vec<SchemaId>>,
    /// The schemas on cycles of required properties, for which no value can be constructed.
    pub unconstructible: BTreeSet<SchemaId>,
    /// The formats that become types.
    pub formats: FormatTypes,
    /// The attributes of types and fields, including derives.
    pub attributes: BTreeMap<SchemaId, Vec<String>>,
    /// The settings for lists and nested values in queries and forms.
    pub wire: BTreeMap<SchemaId, WireSettings>,
    /// The selectors of `wire`, with the schemas that they match.
    pub wire_selectors: BTreeMap<String, Vec<SchemaId>>,
    /// The selectors of `client.shown`, with the schemas that they match.
    pub shown: BTreeMap<String, Vec<SchemaId>>,
    /// The traits that every type derives; `Default` is derived only if that is possible.
    pub common_derives: Vec<String>,
}

impl SchemaOptions {
    /// Copies the options that contain no selectors.
    #[must_use]
    pub fn from_types(types: &TypeOptions) -> Self {
        Self {
            exact_integers: types.unbounded_integers == UnboundedIntegerType::Exact,
            machine_integers: types.machine_integers == MachineIntegers::All(true),
            implied_objects: types.implied_objects,
            ..Self::default()
        }
    }

    /// Replaces all schema ids after schemas were removed from the graph.
    ///
    /// The function destructures `self` without `..`, so that a new option does not compile until it is
    /// handled here.
    #[must_use]
    pub(crate) fn remapped(self, moved: &SchemaRemapping) -> Self {
        let Self {
            names,
            value_names,
            secrets,
            open,
            closed,
            requests,
            replace,
            areas,
            exact_integers,
            machine_integers,
            machine_schemas,
            implied_objects,
            unchecked,
            views,
            unconstructible: endless,
            formats,
            attributes,
            wire,
            wire_selectors,
            shown,
            common_derives: everywhere,
        } = self;
        let remap_selectors = |selectors: BTreeMap<String, Vec<SchemaId>>| {
            selectors.into_iter().map(|(selector, ids)| (selector, moved.remap_list(ids))).collect()
        };
        Self {
            names: moved.remap_keys(names),
            value_names: moved.remap_keys(value_names),
            secrets: moved.remap_set(secrets),
            open: moved.remap_set(open),
            closed: moved.remap_set(closed),
            requests: moved.remap_set(requests),
            replace: moved.remap_keys(replace),
            areas: moved.remap_keys(areas),
            exact_integers,
            machine_integers,
            machine_schemas: moved.remap_set(machine_schemas),
            implied_objects,
            unchecked: moved.remap_set(unchecked),
            views: views.into_iter().map(|view| moved.remap_list(view)).collect(),
            unconstructible: moved.remap_set(endless),
            formats,
            attributes: moved.remap_keys(attributes),
            wire: moved.remap_keys(wire),
            wire_selectors: remap_selectors(wire_selectors),
            shown: remap_selectors(shown),
            common_derives: everywhere,
        }
    }
}
