//! JSON Schema 2020-12: tables that describe schemas, and the [`Validator`] that
//! interprets them.
//!
//! The generator writes [`Tables`] as constants, and asks the same tables while it runs; what the
//! keywords mean is ordinary code below `schema/`. All keywords of the core, applicator,
//! unevaluated and validation vocabularies are here; annotations (`format`,
//! `title`, `contentMediaType`, …) assert nothing and are never in a table.
//!
//! # What a report says
//!
//! Violations are leaves. An applicator reports what its subschema refuses, not
//! itself; where the subschema is the boolean `false` the refused value is
//! reported under the applicator's name (`additionalProperties`, `items`,
//! `unevaluatedProperties`, …), or as `false` where a schema names the value
//! itself (`properties`, `patternProperties`, `prefixItems`, `$ref`, `allOf`,
//! `then`, …).
//!
//! | keyword | pointer | reported as |
//! |---|---|---|
//! | `required`, `dependentRequired` | where the missing member would stand | itself, once per member |
//! | `type` | the value | itself; the schema object's other keywords are then silent |
//! | `anyOf`, `oneOf` without a match | the value | itself, or the violations of the one branch that was meant |
//! | `oneOf` with several matches, `not`, `uniqueItems` | the value | itself |
//! | `contains` | the array | itself, `minContains` or `maxContains` |
//! | `propertyNames` | the member | itself |
//!
//! The branch that was meant is the one a [`Choice`] names, or else the only one
//! that allows a value of this type, or else the only one that does not refuse the
//! value by its own `type`, `const` or `enum`. What an
//! unsuccessful part of the same schema object could have evaluated is not
//! reported a second time as unevaluated.

mod array;
mod assert;
mod choose;
mod evaluate;
mod literal;
mod object;
mod seen;
mod sink;

pub use literal::Literal;

use crate::Json;
use crate::Number;
use crate::depth;
use crate::format::Format;
use crate::pattern::Pattern;
use crate::violation::DEFAULT_CAP;
use crate::violation::Violations;

/// All schemas of a contract.
#[derive(Debug)]
pub struct Tables<'t> {
    /// The schema objects and boolean schemas, numbered by [`SchemaId`].
    pub schemas: &'t [Schema<'t>],
    /// The schema resources, numbered by [`ResourceId`].
    pub resources: &'t [Resource<'t>],
}

/// The number of a schema in [`Tables::schemas`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// The row so many rows further on: what is generated names the first row of each resource and
    /// each definition, and counts from there.
    #[must_use]
    pub const fn plus(self, rows: u32) -> Self {
        Self(self.0 + rows)
    }
}

/// The number of a schema resource in [`Tables::resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u32);

/// Where groups of so many rows begin, for [`rows!`](crate::rows).
#[doc(hidden)]
#[must_use]
pub const fn first_rows<const GROUPS: usize>(counts: &[u32]) -> [u32; GROUPS] {
    let mut first = [0; GROUPS];
    let (mut group, mut row) = (0, 0);
    while group < GROUPS {
        first[group] = row;
        row += counts[group];
        group += 1;
    }
    first
}

/// A schema resource (Core 4.3.5): what one `$id` names.
#[derive(Debug)]
pub struct Resource<'t> {
    /// The absolute URI, without a fragment.
    pub uri: &'t str,
    /// The `$dynamicAnchor`s of this resource, not of resources embedded in it.
    pub dynamic_anchors: &'t [(&'t str, SchemaId)],
}

/// One schema: `true` has no keywords, `false` has [`Keyword::False`].
#[derive(Debug)]
pub struct Schema<'t> {
    /// The resource it belongs to.
    pub resource: ResourceId,
    /// JSON Pointer from the root of that resource.
    pub location: &'t str,
    /// Its keywords; `Type` stands first, so that it can silence the others, and
    /// `UnevaluatedItems` and `UnevaluatedProperties` last, in this order. The
    /// order of the others does not matter.
    pub keywords: &'t [Keyword<'t>],
}

/// One keyword with its value, the names being those of JSON Schema.
///
/// All lists of names are sorted by their bytes.
#[derive(Debug, Clone)]
pub enum Keyword<'t> {
    /// The boolean schema `false` (Core 4.3.2).
    False,
    /// Validation 6.1.1.
    Type(Types),
    /// Validation 6.1.2.
    Enum(&'t [Literal<'t>]),
    /// Validation 6.1.3.
    Const(Literal<'t>),
    /// Validation 6.2.1.
    MultipleOf(Number),
    /// Validation 6.2.2.
    Maximum(Number),
    /// Validation 6.2.3.
    ExclusiveMaximum(Number),
    /// Validation 6.2.4.
    Minimum(Number),
    /// Validation 6.2.5.
    ExclusiveMinimum(Number),
    /// Validation 6.3.1, in code points.
    MaxLength(u64),
    /// Validation 7.2.2, where a meta-schema asks for it.
    Format(Format),
    /// The same, where the format is one that a type is made for.
    Parse(Parse<'t>),
    /// Validation 6.3.2, in code points.
    MinLength(u64),
    /// Validation 6.3.3.
    Pattern(&'t Pattern<'t>),
    /// Validation 6.4.1.
    MaxItems(u64),
    /// Validation 6.4.2.
    MinItems(u64),
    /// Validation 6.4.3; `uniqueItems: false` is not in a table.
    UniqueItems,
    /// Core 10.3.1.3 with Validation 6.4.4 and 6.4.5.
    Contains {
        /// What an element must be to count.
        schema: SchemaId,
        /// `minContains`; absent means 1.
        min: Option<u64>,
        /// `maxContains`.
        max: Option<u64>,
    },
    /// Validation 6.5.1.
    MaxProperties(u64),
    /// Validation 6.5.2.
    MinProperties(u64),
    /// Validation 6.5.3, as far as [`Properties`](Self::Properties) beside it does not say so.
    Required(&'t [&'t str]),
    /// Validation 6.5.4.
    DependentRequired(&'t [(&'t str, &'t [&'t str])]),
    /// Core 10.3.1.1.
    PrefixItems(&'t [SchemaId]),
    /// Core 10.3.1.2.
    Items {
        /// What the elements must be.
        schema: SchemaId,
        /// How many elements `prefixItems` beside it covers.
        from: usize,
    },
    /// Core 10.3.2.1; and which of the first 64 are required, each a bit of its place, the lowest
    /// that of the first (see [`required`]).
    Properties(&'t [(&'t str, SchemaId)], u64),
    /// Core 10.3.2.2.
    PatternProperties(&'t [(&'t Pattern<'t>, SchemaId)]),
    /// Core 10.3.2.3.
    AdditionalProperties {
        /// What the other members must be.
        schema: SchemaId,
        /// The names in `properties` beside it.
        declared: &'t [&'t str],
        /// The patterns in `patternProperties` beside it.
        patterns: &'t [&'t Pattern<'t>],
    },
    /// Core 10.3.2.4.
    PropertyNames(SchemaId),
    /// Core 10.2.2.4.
    DependentSchemas(&'t [(&'t str, SchemaId)]),
    /// Core 10.2.1.1.
    AllOf(&'t [SchemaId]),
    /// Core 10.2.1.2.
    AnyOf(&'t [SchemaId], Option<&'t Choice<'t>>),
    /// Core 10.2.1.3.
    OneOf(&'t [SchemaId], Option<&'t Choice<'t>>),
    /// Core 10.2.1.4.
    Not(SchemaId),
    /// Core 10.2.2.
    If {
        /// The schema of `if`.
        condition: SchemaId,
        /// The schema of `then`.
        then: Option<SchemaId>,
        /// The schema of `else`.
        otherwise: Option<SchemaId>,
    },
    /// Core 8.2.3.1.
    Ref(SchemaId),
    /// Core 8.2.3.2.
    DynamicRef {
        /// The fragment of the reference.
        anchor: &'t str,
        /// What the reference means when no `$dynamicAnchor` is involved.
        initial: SchemaId,
    },
    /// Core 11.2.
    UnevaluatedItems(SchemaId),
    /// Core 11.3.
    UnevaluatedProperties(SchemaId),
}

impl Keyword<'_> {
    /// Adds the schemas that it holds or refers to; of a `$dynamicRef` the one that it means where no
    /// other resource has its anchor.
    pub fn schemas(&self, found: &mut Vec<SchemaId>) {
        match self {
            Self::Contains { schema, .. }
            | Self::Items { schema, .. }
            | Self::AdditionalProperties { schema, .. }
            | Self::PropertyNames(schema)
            | Self::Not(schema)
            | Self::Ref(schema)
            | Self::DynamicRef { initial: schema, .. }
            | Self::UnevaluatedItems(schema)
            | Self::UnevaluatedProperties(schema) => found.push(*schema),
            Self::PrefixItems(list) | Self::AllOf(list) | Self::AnyOf(list, _) | Self::OneOf(list, _) => {
                found.extend_from_slice(list);
            }
            Self::Properties(list, _) | Self::DependentSchemas(list) => {
                found.extend(list.iter().map(|(_, schema)| *schema));
            }
            Self::PatternProperties(list) => found.extend(list.iter().map(|(_, schema)| *schema)),
            Self::If { condition, then, otherwise } => {
                found.push(*condition);
                found.extend(then.iter().chain(otherwise));
            }
            _ => {}
        }
    }
}

/// A format that a type is made for: a text has it when the type can be made of the text.
#[derive(Debug, Clone, Copy)]
pub struct Parse<'t> {
    /// What `format` calls it.
    pub format: &'t str,
    /// Whether a text has it.
    pub is_match: fn(&str) -> bool,
}

/// What `required` comes to beside `properties`: the bits of [`Keyword::Properties`], and the names
/// that have none, for [`Keyword::Required`].
#[must_use]
pub fn required<'n>(declared: &[(&str, SchemaId)], names: &[&'n str]) -> (u64, Vec<&'n str>) {
    let (mut bits, mut others) = (0, Vec::new());
    for name in names {
        let place = declared.iter().position(|(other, _)| other == name);
        match place.map_or(0, seen::bit) {
            0 => others.push(*name),
            bit => bits |= bit,
        }
    }
    (bits, others)
}

/// The member that decides which branch of an `anyOf` or `oneOf` is meant.
#[derive(Debug)]
pub struct Choice<'t> {
    /// The name of the member.
    pub tag: &'t str,
    /// How sure it is.
    pub certainty: Certainty,
    /// Its values, each with the index of its branch.
    pub branches: &'t [(Literal<'t>, usize)],
}

/// How sure a tag tells the branches of a union apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The generator has proven that every branch requires the tag, with values of its own: an
    /// object with one of them matches that branch or none, and no other needs to be tried.
    Required,
    /// The same of objects that have the tag; without it, any branch may match.
    Present,
    /// A `discriminator` says which branch is meant, and others may match nevertheless: it decides
    /// what is reported, never whether a value is valid (OpenAPI 3.1, 4.8.25).
    Meant,
}

/// A set of the types of the `type` keyword (Validation 6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Types(u8);

impl Types {
    /// `null`.
    pub const NULL: Types = Types(1);
    /// `boolean`.
    pub const BOOLEAN: Types = Types(2);
    /// `integer`: a number without a fractional part, however it is written.
    pub const INTEGER: Types = Types(4);
    /// `number`, which includes `integer`.
    pub const NUMBER: Types = Types(8);
    /// `string`.
    pub const STRING: Types = Types(16);
    /// `array`.
    pub const ARRAY: Types = Types(32);
    /// `object`.
    pub const OBJECT: Types = Types(64);

    /// The types of both sets.
    pub const fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    /// Whether all of the other types are among these.
    pub const fn has(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the value has one of the types.
    pub fn contains(self, value: &Json) -> bool {
        let own = match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) => {
                return self.0 & Self::NUMBER.0 != 0 || self.0 & Self::INTEGER.0 != 0 && number.is_integer();
            }
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        };
        self.0 & own.0 != 0
    }
}

/// How much a check may do before it gives up.
///
/// A check that gives up fails with a single violation: `depth` or `effort`.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many violations are collected. Of more than that those are kept whose pointers have
    /// the fewest steps, and of equally deep ones those found first: that an array has too many
    /// elements is never lost among what is wrong with the elements.
    pub violations: usize,
    /// How deep schemas may be applied inside each other; both the depth of the
    /// value and references at one place count.
    pub depth: usize,
    /// How many schema applications a check may take, large values counting
    /// more. Only a recursive schema whose branches overlap comes near.
    pub effort: u64,
}

impl Limits {
    /// 1000 violations, 20 million applications, and eight of them for each level of the deepest
    /// document that is read by default.
    pub const DEFAULT: Limits =
        Limits { violations: DEFAULT_CAP, depth: 8 * depth::DEFAULT, effort: 20_000_000 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Checks values against one schema of a table.
#[derive(Debug, Clone, Copy)]
pub struct Validator<'t> {
    /// The schemas.
    pub tables: &'t Tables<'t>,
    /// The schema to check against.
    pub root: SchemaId,
}

impl<'t> Validator<'t> {
    /// The validator of a schema.
    pub const fn new(tables: &'t Tables<'t>, root: SchemaId) -> Self {
        Self { tables, root }
    }

    /// Where the schema stands: resource URI, `#`, JSON Pointer.
    #[must_use]
    pub fn location(&self) -> String {
        self.tables.location(self.tables.schema(self.root))
    }

    /// Whether the value is valid; stops at the first failure.
    pub fn is_valid(&self, value: &Json) -> bool {
        evaluate::is_valid(self, value, &Limits::DEFAULT)
    }

    /// Checks the value.
    ///
    /// # Errors
    /// Every violation, up to [`Limits::DEFAULT`].
    pub fn validate(&self, value: &Json) -> Result<(), Violations> {
        self.validate_within(value, &Limits::DEFAULT)
    }

    /// Checks the value within limits of the caller's own.
    ///
    /// # Errors
    /// Every violation, up to `limits.violations` (at least one).
    pub fn validate_within(&self, value: &Json, limits: &Limits) -> Result<(), Violations> {
        evaluate::validate(self, value, limits)
    }

    /// Checks a `serde_json` value. Its numbers are as exact as `serde_json`
    /// kept them; what came as text is better read as [`Json`].
    ///
    /// # Errors
    /// As [`Validator::validate`].
    pub fn validate_value(&self, value: &serde_json::Value) -> Result<(), Violations> {
        self.validate(&Json::from(value))
    }
}

/// What an id outside the table means: nothing is accepted in silence.
static MISSING: Schema<'_> =
    Schema { resource: ResourceId(u32::MAX), location: "", keywords: &[Keyword::False] };

impl<'t> Tables<'t> {
    fn schema(&self, id: SchemaId) -> &'t Schema<'t> {
        self.schemas.get(id.0 as usize).unwrap_or(&MISSING)
    }

    fn resource(&self, id: ResourceId) -> Option<&'t Resource<'t>> {
        self.resources.get(id.0 as usize)
    }

    fn dynamic_anchor(&self, resource: ResourceId, anchor: &str) -> Option<SchemaId> {
        let anchors = self.resource(resource)?.dynamic_anchors;
        anchors.iter().find(|(name, _)| *name == anchor).map(|&(_, id)| id)
    }

    /// Resource URI, `#`, JSON Pointer.
    fn location(&self, schema: &Schema<'_>) -> String {
        let uri = self.resource(schema.resource).map_or("", |resource| resource.uri);
        [uri, "#", schema.location].concat()
    }
}

#[cfg(test)]
pub(crate) mod tests;
