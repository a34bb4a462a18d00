//! The schema graph: every schema of a contract, parsed once, references settled.
//!
//! `load` reads text into trees, `resolve` turns the trees into this graph. Everything
//! after that (naming, shaping, tables, drift) works on [`SchemaId`]s and never looks at
//! a URI or a raw document again.

pub(crate) mod document;
pub(crate) mod keywords;
mod part;
pub(crate) mod values;

use contract_runtime::{Json, Map, Number, format::Format};

use crate::{
    arena::{Arena, Id},
    tree::{Place, SourceId},
};

pub(crate) use self::part::Moved;

/// A schema of a [`Graph`].
pub type SchemaId = Id<Schema>;

/// A schema resource of a [`Graph`] (JSON Schema Core 2020-12, 8.2.1).
pub type ResourceId = Id<Resource>;

/// A schema resource: what one `$id` (or one whole document) identifies.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Absolute URI without fragment.
    pub uri: String,
    /// The source that holds it.
    pub source: SourceId,
    /// Its root schema, unless the root is not a schema (an OpenAPI document).
    pub root: Option<SchemaId>,
    /// `$dynamicAnchor` names and the schemas that bear them.
    pub dynamic_anchors: Vec<(String, SchemaId)>,
}

/// How a schema got the name that its type may take.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// The root of a file or of an embedded `$id`; the file's stem (`stock-lot`).
    Root(String),
    /// A member of `$defs` (or `definitions`), its key.
    Definition(String),
    /// A member of `components/schemas`, its key.
    Component(String),
    /// Somewhere inside another schema or an operation.
    #[default]
    Inline,
}

/// A set of JSON types, with `integer` as a type of its own (Validation 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Types(pub u8);

impl Types {
    /// `null`
    pub const NULL: Self = Self(1);
    /// `boolean`
    pub const BOOLEAN: Self = Self(2);
    /// `integer`
    pub const INTEGER: Self = Self(4);
    /// `number`, integers included.
    pub const NUMBER: Self = Self(8 | 4);
    /// `string`
    pub const STRING: Self = Self(16);
    /// `array`
    pub const ARRAY: Self = Self(32);
    /// `object`
    pub const OBJECT: Self = Self(64);
    /// Every type.
    pub const ALL: Self = Self(127);

    /// The union of two sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// What both sets hold.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// What `self` holds and `other` does not.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Whether all of `other` is in `self`.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// How many of the JSON types it holds; `integer` beside `number` is none of its own.
    #[must_use]
    pub const fn count(self) -> u32 {
        let own = self.0 & !Self::INTEGER.0;
        let integer = if self.0 & Self::NUMBER.0 == Self::INTEGER.0 { 1 } else { 0 };
        own.count_ones() + integer
    }
    /// Whether nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Every type by its name, `number` before the `integer` that it holds.
    pub const NAMED: [(Self, &'static str); 7] = [
        (Self::NULL, "null"),
        (Self::BOOLEAN, "boolean"),
        (Self::NUMBER, "number"),
        (Self::INTEGER, "integer"),
        (Self::STRING, "string"),
        (Self::ARRAY, "array"),
        (Self::OBJECT, "object"),
    ];

    /// The type of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(_, known)| *known == name).map(|(types, _)| *types)
    }

    /// The names that make up the set, as few as possible.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let mut left = self;
        let mut names = Vec::new();
        for (types, name) in Self::NAMED {
            if left.contains(types) {
                names.push(name);
                left = left.without(types);
            }
        }
        names
    }
}

/// `contains` with its two counts (Core 10.3.1.3, Validation 6.4.4 and 6.4.5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contains {
    /// What an element must satisfy to count.
    pub schema: SchemaId,
    /// `minContains`; 1 when absent.
    pub min: Option<u64>,
    /// `maxContains`.
    pub max: Option<u64>,
}

/// `$dynamicRef` (Core 8.2.3.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicReference {
    /// The fragment, when the initial target bears it as a `$dynamicAnchor`; otherwise the
    /// reference behaves like `$ref` and this is `None`.
    pub anchor: Option<String>,
    /// Where the reference points before the dynamic scope is considered.
    pub initial: SchemaId,
}

/// What a reader left out of a schema: what is left accepts more than its author means, so that
/// nobody may conclude anything from a value that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Gap {
    /// Nothing.
    #[default]
    None,
    /// Something that only refuses values: a bound, a type.
    Check,
    /// Something that also says which members and elements are known (`$ref`, `properties`), which
    /// `unevaluatedProperties` and `unevaluatedItems` around it ask.
    Members,
}

/// OpenAPI's `discriminator`, an annotation (3.1, 4.8.25).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Discriminator {
    /// `propertyName`: the member whose value says which schema is meant.
    pub tag: String,
    /// `mapping`: values and the schemas that they mean, as far as the contract has those. A schema
    /// of `components/schemas` that is not here is meant by its own name.
    pub mapping: Vec<(String, SchemaId)>,
    /// `defaultMapping`: what other values and none mean (OpenAPI 3.2, 4.25).
    pub default: Option<SchemaId>,
    /// What takes the schema in by `allOf`, where the owner makes an enum of all these (`types.families`).
    pub family: Vec<SchemaId>,
}

/// One schema object (or boolean) with every keyword of the 2020-12 vocabularies.
///
/// Keywords that are absent are `None` or empty; `false` is a schema with
/// [`Schema::boolean`] `Some(false)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Schema {
    /// Where it stands: source, JSON Pointer in that source, span.
    pub place: Place,
    /// The resource it belongs to.
    pub resource: ResourceId,
    /// JSON Pointer from the resource's root, as `#/…` wants it (empty for the root).
    pub location: String,
    /// How it may be named.
    pub origin: Origin,
    /// `Some` for a boolean schema.
    pub boolean: Option<bool>,
    /// What of it could not be read.
    pub gap: Gap,

    /// `$ref`, settled.
    pub reference: Option<SchemaId>,
    /// `$dynamicRef`, settled as far as it can be.
    pub dynamic_reference: Option<DynamicReference>,
    /// The members of `$defs` (and `definitions`), in document order.
    pub definitions: Vec<(String, SchemaId)>,

    /// `title`
    pub title: Option<String>,
    /// `description`
    pub description: Option<String>,
    /// `default`
    pub default: Option<Json>,
    /// `examples` (and OpenAPI's `example`)
    pub examples: Vec<Json>,
    /// `deprecated`
    pub deprecated: bool,
    /// `readOnly`
    pub read_only: bool,
    /// `writeOnly`
    pub write_only: bool,
    /// `format`, an annotation.
    pub format: Option<String>,
    /// The same where the dialect asserts it (Validation 7.2.2).
    pub asserted: Option<Format>,
    /// `contentEncoding`, an annotation.
    pub content_encoding: Option<String>,
    /// `contentMediaType`, an annotation.
    pub content_media_type: Option<String>,
    /// `contentSchema`, an annotation.
    pub content_schema: Option<SchemaId>,
    /// Members that start with `x-`, and OpenAPI's `discriminator`, `xml`, `externalDocs`.
    pub extensions: Map<Json>,
    /// `discriminator`, settled.
    pub discriminator: Option<Discriminator>,
    /// Whether the owner reads it the other way than `implied-objects` says.
    pub implied_otherwise: bool,

    /// `type`
    pub types: Option<Types>,
    /// `enum`
    pub enumeration: Option<Vec<Json>>,
    /// `const`
    pub constant: Option<Json>,
    /// `minimum`
    pub minimum: Option<Number>,
    /// `maximum`
    pub maximum: Option<Number>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: Option<Number>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: Option<Number>,
    /// `multipleOf`
    pub multiple_of: Option<Number>,
    /// `minLength`, code points
    pub min_length: Option<u64>,
    /// `maxLength`, code points
    pub max_length: Option<u64>,
    /// `pattern`, ECMA-262 with the `u` flag
    pub pattern: Option<String>,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `contains`, `minContains`, `maxContains`
    pub contains: Option<Contains>,
    /// `prefixItems`
    pub prefix_items: Vec<SchemaId>,
    /// `items`
    pub items: Option<SchemaId>,
    /// `unevaluatedItems`
    pub unevaluated_items: Option<SchemaId>,
    /// `properties`, in document order
    pub properties: Vec<(String, SchemaId)>,
    /// `patternProperties`, in document order
    pub pattern_properties: Vec<(String, SchemaId)>,
    /// `additionalProperties`
    pub additional_properties: Option<SchemaId>,
    /// `unevaluatedProperties`
    pub unevaluated_properties: Option<SchemaId>,
    /// `propertyNames`
    pub property_names: Option<SchemaId>,
    /// `required`, in document order
    pub required: Vec<String>,
    /// What it asks for besides in one direction alone: members of OpenAPI 3.0 that are `readOnly` or `writeOnly`
    pub one_way: Vec<String>,
    /// `minProperties`
    pub min_properties: Option<u64>,
    /// `maxProperties`
    pub max_properties: Option<u64>,
    /// `dependentRequired` (and the array form of `dependencies`)
    pub dependent_required: Vec<(String, Vec<String>)>,
    /// `dependentSchemas` (and the schema form of `dependencies`)
    pub dependent_schemas: Vec<(String, SchemaId)>,
    /// `allOf`
    pub all_of: Vec<SchemaId>,
    /// `anyOf`
    pub any_of: Vec<SchemaId>,
    /// `oneOf`
    pub one_of: Vec<SchemaId>,
    /// `not`
    pub not: Option<SchemaId>,
    /// `if`
    pub condition: Option<SchemaId>,
    /// `then`
    pub then: Option<SchemaId>,
    /// `else`
    pub otherwise: Option<SchemaId>,
}

impl Schema {
    /// What takes it in, where it becomes an enum of these; none elsewhere.
    #[must_use]
    pub fn family(&self) -> &[SchemaId] {
        self.discriminator.as_ref().map_or(&[], |discriminator| &discriminator.family)
    }

    /// Leaves out every step to a schema that is applied in place.
    pub(crate) fn leave_out(&mut self, target: SchemaId) {
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
        self.gap = Gap::Members;
    }
}

/// Every schema that the inputs hold or reach, references settled.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All schemas: sources by URI, then document order.
    pub schemas: Arena<Schema>,
    /// All resources, in the same order.
    pub resources: Arena<Resource>,
}

impl Graph {
    /// The schema behind an id.
    #[must_use]
    pub fn schema(&self, id: SchemaId) -> &Schema {
        &self.schemas[id]
    }

    /// The resource behind an id.
    #[must_use]
    pub fn resource(&self, id: ResourceId) -> &Resource {
        &self.resources[id]
    }

    /// All ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        self.schemas.ids()
    }

    /// `uri#pointer`, what documentation and violations print.
    #[must_use]
    pub fn location(&self, id: SchemaId) -> String {
        let schema = self.schema(id);
        format!("{}#{}", self.resource(schema.resource).uri, schema.location)
    }
}
