//! The schema graph: every schema of a contract, parsed once, with resolved references.
//!
//! `load` parses text into trees, and `resolve` builds this graph from the trees. All later stages (naming,
//! type shapes, tables, drift) use [`SchemaId`]s and need neither URIs nor raw documents.

pub mod document;
pub mod keywords;
mod part;
pub mod reachable;
pub(crate) mod values;

use std::collections::BTreeMap;

use contract_runtime::{Json, Map, Number, format::StringFormat};

use crate::{
    arena::{Arena, Id},
    tree::{DocumentLocation, SourceId},
};

pub(crate) use self::part::SchemaRemapping;

/// The id of a schema in a [`SchemaGraph`].
pub type SchemaId = Id<Schema>;

/// The id of a schema resource in a [`SchemaGraph`] (JSON Schema Core 2020-12, 8.2.1).
pub type ResourceId = Id<SchemaResource>;

/// A schema resource: the part of a document that one `$id` identifies, or a whole document. References and
/// anchors are resolved within a resource.
#[derive(Clone, Debug)]
pub struct SchemaResource {
    /// The absolute URI without a fragment.
    pub uri: String,
    /// The document that contains the resource.
    pub source: SourceId,
    /// The root schema, or `None` if the root is not a schema, as in an OpenAPI document.
    pub root: Option<SchemaId>,
    /// The `$dynamicAnchor`s of the resource: each name with the schema that defines it.
    pub dynamic_anchors: Vec<(String, SchemaId)>,
}

/// The kind of position of a schema in its document. The name of its type is derived from it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SchemaOrigin {
    /// The root of a file, or a schema with its own `$id`. The string is the file name without its
    /// extensions, such as `stock-lot`.
    Root(String),
    /// A member of `$defs` or `definitions`. The string is its key.
    Definition(String),
    /// A member of `components/schemas`. The string is its key.
    Component(String),
    /// A position inside another schema or an operation.
    #[default]
    Inline,
}

/// A set of JSON types, in which `integer` is a separate type (Validation 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TypeSet(pub u8);

impl TypeSet {
    pub const NULL: Self = Self(1);
    pub const BOOLEAN: Self = Self(2);
    pub const INTEGER: Self = Self(4);
    /// The type `number`, which includes `integer`.
    pub const NUMBER: Self = Self(8 | 4);
    pub const STRING: Self = Self(16);
    pub const ARRAY: Self = Self(32);
    pub const OBJECT: Self = Self(64);
    pub const ALL: Self = Self(127);

    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// Returns the types in `self` that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Returns true if `other` is a subset of `self`.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// Returns the number of JSON types in the set. `integer` and `number` together count as one.
    #[must_use]
    pub const fn count(self) -> u32 {
        let own = self.0 & !Self::INTEGER.0;
        let integer = if self.0 & Self::NUMBER.0 == Self::INTEGER.0 { 1 } else { 0 };
        own.count_ones() + integer
    }
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All types with their names. `number` precedes `integer`, because it includes `integer`.
    pub const NAMED: [(Self, &'static str); 7] = [
        (Self::NULL, "null"),
        (Self::BOOLEAN, "boolean"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::STRING, "string"),
        (Self::ARRAY, "array"),
        (Self::OBJECT, "object"),
    ];

    /// Returns the set of one type with the given JSON Schema name, or `None` if no type has this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(_, known)| *known == name).map(|(types, _)| *types)
    }

    /// Returns the shortest list of type names that describes the set.
    #[must_use]
    pub fn type_names(self) -> Vec<&'static str> {
        let mut left = self;
        let mut names = Vec::new();
        for (types, name) in Self::NAMED {
            if left.contains(types) {
                names.push(name);
                left = left.difference(types);
            }
        }
        names
    }
}

/// The keyword `contains` with `minContains` and `maxContains` (Core 10.3.1.3, Validation 6.4.4 and 6.4.5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContainsConstraint {
    /// The schema of the elements that are counted.
    pub schema: SchemaId,
    /// `minContains`; if it is absent, the minimum is 1.
    pub min: Option<u64>,
    pub max: Option<u64>,
}

/// The keyword `$dynamicRef` (Core 8.2.3.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicReference {
    /// The name of the anchor, if the initial target defines it as a `$dynamicAnchor`. If `None`, the
    /// reference behaves like `$ref`.
    pub anchor: Option<String>,
    /// The target of the reference before the dynamic scope is considered.
    pub initial: SchemaId,
}

/// The kind of invalid keywords that the parser dropped from a schema. The most severe kind is recorded.
///
/// A schema with a gap accepts more values than its author intended, so the acceptance of a value proves
/// nothing about the contract. Invariant: each variant includes the effects of the variants before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SchemaGap {
    /// Nothing was dropped.
    #[default]
    None,
    /// An assertion such as a bound or a type, which can only reject values.
    Assertion,
    /// An applicator such as `$ref` or `properties`. Applicators also determine which properties and items
    /// are evaluated. The effect of `unevaluatedProperties` and `unevaluatedItems` in enclosing schemas
    /// depends on this.
    Applicator,
}

/// The `discriminator` of OpenAPI, which is an annotation (3.1, 4.8.25).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Discriminator {
    /// `propertyName`: the property whose value selects the schema.
    pub tag: String,
    /// `mapping`: property values with their schemas, if the contract defines these schemas. A schema in
    /// `components/schemas` without an entry is selected by its own name.
    pub mapping: Vec<(String, SchemaId)>,
    /// `defaultMapping`: the schema for values whose property is missing or not in the mapping (OpenAPI 3.2,
    /// 4.25).
    pub default: Option<SchemaId>,
    /// The schemas that include this one by `allOf`, if the option `types.families` combines them into an
    /// enum.
    pub family: Vec<SchemaId>,
}

/// A schema object or boolean schema with every keyword of the 2020-12 vocabularies.
///
/// Absent keywords are `None` or empty. The schema `false` has [`Schema::boolean`] `Some(false)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Schema {
    /// The location of the schema in the source document.
    pub place: DocumentLocation,
    /// The schema resource of which the schema is a part.
    pub resource: ResourceId,
    /// The JSON Pointer of the schema in its resource, which is empty for the root.
    pub location: String,
    /// The kind of position of the schema in its document.
    pub origin: SchemaOrigin,
    /// The value of a boolean schema, or `None` for an object.
    pub boolean: Option<bool>,
    /// The kind of invalid keywords that were dropped when the schema was parsed.
    pub gap: SchemaGap,
    /// True for a generic schema, which other schemas complete with a `$dynamicAnchor`, and for the anchored
    /// schema that represents the missing part. A generic schema has no type unless a value uses it directly.
    pub is_generic: bool,

    /// The schema to which `$ref` refers.
    pub reference: Option<SchemaId>,
    /// `$dynamicRef`, resolved to its initial target.
    pub dynamic_reference: Option<DynamicReference>,
    /// The members of `$defs` and `definitions`, in document order.
    pub definitions: Vec<(String, SchemaId)>,

    pub title: Option<String>,
    pub description: Option<String>,
    pub default: Option<Json>,
    /// `examples`, and the single `example` of OpenAPI.
    pub examples: Vec<Json>,
    pub deprecated: bool,
    pub read_only: bool,
    pub write_only: bool,
    /// `format` as an annotation, in its original spelling.
    pub format: Option<String>,
    /// The format, if the dialect of the schema asserts formats (Validation 7.2.2).
    pub asserted: Option<StringFormat>,
    pub content_encoding: Option<String>,
    pub content_media_type: Option<String>,
    pub content_schema: Option<SchemaId>,
    /// The members that start with `x-`, and `discriminator`, `xml` and `externalDocs` of OpenAPI, in their
    /// original form.
    pub extensions: Map<Json>,
    /// The parsed `discriminator` of OpenAPI.
    pub discriminator: Option<Discriminator>,
    /// True if the option `types.implied-otherwise` selects this schema. The option `types.implied-objects`
    /// then has the opposite effect on it.
    pub implied_otherwise: bool,

    /// The types that `type` allows.
    pub types: Option<TypeSet>,
    /// The values of `enum`.
    pub enumeration: Option<Vec<Json>>,
    /// The value of `const`.
    pub constant: Option<Json>,
    pub minimum: Option<Number>,
    pub maximum: Option<Number>,
    pub exclusive_minimum: Option<Number>,
    pub exclusive_maximum: Option<Number>,
    pub multiple_of: Option<Number>,
    /// `minLength` in code points.
    pub min_length: Option<u64>,
    /// `maxLength` in code points.
    pub max_length: Option<u64>,
    /// `pattern`, an ECMA-262 regular expression with the `u` flag.
    pub pattern: Option<String>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    /// `contains` with `minContains` and `maxContains`.
    pub contains: Option<ContainsConstraint>,
    pub prefix_items: Vec<SchemaId>,
    pub items: Option<SchemaId>,
    pub unevaluated_items: Option<SchemaId>,
    /// `properties`, in document order.
    pub properties: Vec<(String, SchemaId)>,
    /// `patternProperties`, in document order.
    pub pattern_properties: Vec<(String, SchemaId)>,
    pub additional_properties: Option<SchemaId>,
    pub unevaluated_properties: Option<SchemaId>,
    pub property_names: Option<SchemaId>,
    /// `required`, in document order.
    pub required: Vec<String>,
    /// The properties that were removed from `required` because only requests or only responses require them:
    /// in OpenAPI 3.0, required `readOnly` and `writeOnly` properties.
    pub one_way: Vec<String>,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    /// `dependentRequired`, and the array form of `dependencies`.
    pub dependent_required: Vec<(String, Vec<String>)>,
    /// `dependentSchemas`, and the schema form of `dependencies`.
    pub dependent_schemas: Vec<(String, SchemaId)>,
    pub all_of: Vec<SchemaId>,
    pub any_of: Vec<SchemaId>,
    pub one_of: Vec<SchemaId>,
    pub not: Option<SchemaId>,
    /// The schema of `if`.
    pub condition: Option<SchemaId>,
    pub then: Option<SchemaId>,
    /// The schema of `else`, which applies if the value does not match `if`.
    pub otherwise: Option<SchemaId>,
}

impl Schema {
    /// Returns the schemas that include this one if `types.families` combines them into an enum, or else an
    /// empty slice.
    #[must_use]
    pub fn family_members(&self) -> &[SchemaId] {
        self.discriminator.as_ref().map_or(&[], |discriminator| &discriminator.family)
    }

    /// Replaces schemas in `$ref` and `allOf`: each key of the map by its value.
    pub(crate) fn replace_included(&mut self, others: &BTreeMap<SchemaId, SchemaId>) {
        for id in self.reference.iter_mut().chain(&mut self.all_of) {
            *id = others.get(id).copied().unwrap_or(*id);
        }
    }

    /// Removes every keyword or list element that applies `target` to the same value, and records the gap.
    pub(crate) fn remove_in_place_reference(&mut self, target: SchemaId) {
        for step in
            [&mut self.reference, &mut self.not, &mut self.condition, &mut self.then, &mut self.otherwise]
        {
            step.take_if(|step| *step == target);
        }
        self.dynamic_reference.take_if(|dynamic| dynamic.initial == target);
        for steps in [&mut self.all_of, &mut self.any_of, &mut self.one_of] {
            steps.retain(|step| *step != target);
        }
        self.dependent_schemas.retain(|(_, step)| *step != target);
        self.gap = SchemaGap::Applicator;
    }
}

/// All schemas of a contract: those that the inputs contain or refer to, with resolved references.
#[derive(Clone, Debug, Default)]
pub struct SchemaGraph {
    /// All schemas, sorted by the URI of their source and then in document order.
    pub schemas: Arena<Schema>,
    /// All schema resources, sorted by URI and position like the schemas.
    pub resources: Arena<SchemaResource>,
}

impl SchemaGraph {
    #[must_use]
    pub fn schema(&self, id: SchemaId) -> &Schema {
        &self.schemas[id]
    }

    #[must_use]
    pub fn resource(&self, id: ResourceId) -> &SchemaResource {
        &self.resources[id]
    }

    pub fn ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        self.schemas.ids()
    }

    /// Returns `uri#pointer`, the form that is used in documentation and violations.
    #[must_use]
    pub fn absolute_location(&self, id: SchemaId) -> String {
        let schema = self.schema(id);
        format!("{}#{}", self.resource(schema.resource).uri, schema.location)
    }
}
