//! JSON Schema 2020-12: tables that describe schemas, and the [`Validator`] that interprets them.
//!
//! The generator emits [`SchemaTables`] as constants and evaluates the same tables itself. The semantics of
//! the keywords are implemented in the modules below `schema/`. All keywords of the core, applicator,
//! unevaluated and validation vocabularies are implemented. Annotations (`title`, `contentMediaType`,
//! `format` unless asserted, …) assert nothing and are never part of a table.
//!
//! # Reported violations
//!
//! Only the innermost violations are reported: an applicator reports the violations of its subschema, not
//! itself. If the subschema is the boolean `false`, the value is reported under the name of the applicator
//! (`additionalProperties`, `items`, `unevaluatedProperties`, …), or as `false` if the schema names the value
//! (`properties`, `patternProperties`, `prefixItems`, `$ref`, `allOf`, `then`, …).
//!
//! | keyword | pointer | reported as |
//! |---|---|---|
//! | `required`, `dependentRequired` | the pointer that the missing member would have | itself, once per member |
//! | `type` | the value | itself; if it fails, the other keywords of the schema object are not evaluated |
//! | `anyOf`, `oneOf` without a match | the value | itself, or the violations of the selected branch |
//! | `oneOf` with several matches, `not`, `uniqueItems` | the value | itself |
//! | `contains` | the array | itself, `minContains` or `maxContains` |
//! | `propertyNames` | the member | itself |
//!
//! The selected branch is the one that a [`BranchSelector`] determines, or else the only branch that permits
//! the type of the value, or else the only branch that does not reject the value by its own `type`, `const`
//! or `enum`. If a part of a schema object failed, the members and elements that it could have evaluated are
//! not additionally reported as unevaluated.

mod array;
mod assertion;
mod closest_branch;
mod evaluate;
mod evaluated;
mod limit_text;
mod literal;
mod object;
mod sink;
mod union_keyword;

pub use literal::Literal;

use crate::Json;
use crate::Number;
use crate::depth;
use crate::format::StringFormat;
use crate::pattern::Pattern;
use crate::violation::DEFAULT_MAX_VIOLATIONS;
use crate::violation::Violations;

/// All schemas of a contract, as tables.
#[derive(Debug)]
pub struct SchemaTables<'t> {
    /// The schema objects and boolean schemas, indexed by [`SchemaId`].
    pub schemas: &'t [Schema<'t>],
    /// The schema resources, indexed by [`ResourceId`].
    pub resources: &'t [SchemaResource<'t>],
}

/// The index of a schema in [`SchemaTables::schemas`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// Returns the id of the schema that follows this one by `rows` rows. Generated code has constants for
    /// the first row of each resource and definition, and counts from these.
    #[must_use]
    pub const fn offset_by(self, rows: u32) -> Self {
        Self(self.0 + rows)
    }
}

/// The index of a schema resource in [`SchemaTables::resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(pub u32);

/// Computes the first row of each group from the group sizes, for [`schema_ids!`](crate::schema_ids).
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

/// A schema resource (Core 4.3.5), which is identified by one `$id`.
#[derive(Debug)]
pub struct SchemaResource<'t> {
    /// The absolute URI, without a fragment.
    pub uri: &'t str,
    /// The `$dynamicAnchor`s of this resource, without those of embedded resources.
    pub dynamic_anchors: &'t [(&'t str, SchemaId)],
}

/// A schema. The boolean schema `true` has no keywords, and `false` has [`Keyword::False`].
#[derive(Debug)]
pub struct Schema<'t> {
    /// The resource that contains the schema.
    pub resource: ResourceId,
    /// The JSON Pointer of the schema, relative to the root of its resource.
    pub location: &'t str,
    /// The keywords. Invariant: `Type` comes first, so that it can suppress the others. `UnevaluatedItems`
    /// and `UnevaluatedProperties` come last, in this order. The order of the others is irrelevant.
    pub keywords: &'t [Keyword<'t>],
}

/// A keyword of a schema with its value, named as in JSON Schema.
///
/// Invariant: all lists of names are sorted by bytes.
#[derive(Debug, Clone)]
pub enum Keyword<'t> {
    /// The boolean schema `false` (Core 4.3.2).
    False,
    /// `type`: the permitted types of the value (Validation 6.1.1).
    Type(TypeSet),
    /// `enum`: the list of permitted values (Validation 6.1.2).
    Enum(&'t [Literal<'t>]),
    /// `const`: the only permitted value (Validation 6.1.3).
    Const(Literal<'t>),
    /// `multipleOf`: an exact divisor of the number (Validation 6.2.1).
    MultipleOf(Number),
    /// `maximum`: an inclusive upper bound (Validation 6.2.2).
    Maximum(Number),
    /// `exclusiveMaximum`: an exclusive upper bound (Validation 6.2.3).
    ExclusiveMaximum(Number),
    /// `minimum`: an inclusive lower bound (Validation 6.2.4).
    Minimum(Number),
    /// `exclusiveMinimum`: an exclusive lower bound (Validation 6.2.5).
    ExclusiveMinimum(Number),
    /// `maxLength` in code points (Validation 6.3.1).
    MaxLength(u64),
    /// `format`, if the meta-schema enables its assertion (Validation 7.2.2).
    Format(StringFormat),
    /// `format` as an assertion, for a format that maps to a Rust type.
    TypedFormat(TypedFormat<'t>),
    /// `minLength` in code points (Validation 6.3.2).
    MinLength(u64),
    /// `pattern`: an unanchored regular expression (Validation 6.3.3).
    Pattern(&'t Pattern<'t>),
    /// `maxItems`: the maximum number of elements (Validation 6.4.1).
    MaxItems(u64),
    /// `minItems`: the minimum number of elements (Validation 6.4.2).
    MinItems(u64),
    /// `uniqueItems: true` (Validation 6.4.3); `false` is omitted from tables.
    UniqueItems,
    /// `contains` (Core 10.3.1.3) with `minContains` and `maxContains` (Validation 6.4.4 and 6.4.5).
    Contains {
        /// The schema that an element must match to be counted.
        schema: SchemaId,
        /// The value of `minContains`. `None` means 1.
        min: Option<u64>,
        /// The value of `maxContains`. `None` means no limit.
        max: Option<u64>,
    },
    /// `maxProperties`: the maximum number of members (Validation 6.5.1).
    MaxProperties(u64),
    /// `minProperties`: the minimum number of members (Validation 6.5.2).
    MinProperties(u64),
    /// `required` (Validation 6.5.3), without the names that are covered by [`Properties`](Self::Properties).
    Required(&'t [&'t str]),
    /// `dependentRequired`: the names that are required if another member is present (Validation 6.5.4).
    DependentRequired(&'t [(&'t str, &'t [&'t str])]),
    /// `prefixItems`: the schemas of the first elements (Core 10.3.1.1).
    PrefixItems(&'t [SchemaId]),
    /// `items`: the schema of the other elements (Core 10.3.1.2).
    Items {
        /// The schema of the elements.
        schema: SchemaId,
        /// The number of leading elements that `prefixItems` covers.
        from: usize,
    },
    /// `properties` (Core 10.3.2.1), and a bit set of the required ones among the first 64 properties. The
    /// lowest bit represents the first property; see [`split_required`].
    Properties(&'t [(&'t str, SchemaId)], u64),
    /// `patternProperties`: the schemas of members with matching names (Core 10.3.2.2).
    PatternProperties(&'t [(&'t Pattern<'t>, SchemaId)]),
    /// `additionalProperties`: the schema of the other members (Core 10.3.2.3).
    AdditionalProperties {
        /// The schema of the additional members.
        schema: SchemaId,
        /// The names in `properties` of the same schema object.
        declared: &'t [&'t str],
        /// The patterns in `patternProperties` of the same schema object.
        patterns: &'t [&'t Pattern<'t>],
    },
    /// `propertyNames`: the schema of member names (Core 10.3.2.4).
    PropertyNames(SchemaId),
    /// `dependentSchemas`: the schemas that apply if a member is present (Core 10.2.2.4).
    DependentSchemas(&'t [(&'t str, SchemaId)]),
    /// `allOf`: schemas that must all match (Core 10.2.1.1).
    AllOf(&'t [SchemaId]),
    /// `anyOf`: schemas of which at least one must match (Core 10.2.1.2).
    AnyOf(&'t [SchemaId], Option<&'t BranchSelector<'t>>),
    /// `oneOf`: schemas of which exactly one must match (Core 10.2.1.3).
    OneOf(&'t [SchemaId], Option<&'t BranchSelector<'t>>),
    /// `not`: a schema that must not match (Core 10.2.1.4).
    Not(SchemaId),
    /// `if`, `then` and `else`: conditional schemas (Core 10.2.2).
    If {
        /// The schema of `if`.
        condition: SchemaId,
        /// The schema of `then`.
        then: Option<SchemaId>,
        /// The schema of `else`.
        otherwise: Option<SchemaId>,
    },
    /// `$ref`: a static reference to a schema (Core 8.2.3.1).
    Ref(SchemaId),
    /// `$dynamicRef`: a reference that is resolved by the dynamic scope (Core 8.2.3.2).
    DynamicRef {
        /// The fragment of the reference.
        anchor: &'t str,
        /// The target of the reference if no other resource has a matching `$dynamicAnchor`.
        initial: SchemaId,
    },
    /// `unevaluatedItems`: the schema of the unevaluated elements (Core 11.2).
    UnevaluatedItems(SchemaId),
    /// `unevaluatedProperties`: the schema of the unevaluated members (Core 11.3).
    UnevaluatedProperties(SchemaId),
}

impl Keyword<'_> {
    /// Appends the schemas that the keyword contains or refers to. For a `$dynamicRef`, this is its initial
    /// target.
    pub fn collect_schemas(&self, found: &mut Vec<SchemaId>) {
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

/// A format that maps to a Rust type. A string has the format if the type can parse it.
#[derive(Debug, Clone, Copy)]
pub struct TypedFormat<'t> {
    /// The value of the `format` keyword.
    pub format: &'t str,
    /// Returns true if a string has the format.
    pub is_match: fn(&str) -> bool,
}

/// Splits the names of `required` into the bits for [`Keyword::Properties`] and the remaining names for
/// [`Keyword::Required`].
#[must_use]
pub fn split_required<'n>(declared: &[(&str, SchemaId)], names: &[&'n str]) -> (u64, Vec<&'n str>) {
    let (mut bits, mut others) = (0, Vec::new());
    for name in names {
        let place = declared.iter().position(|(other, _)| other == name);
        match place.map_or(0, evaluated::position_bit) {
            0 => others.push(*name),
            bit => bits |= bit,
        }
    }
    (bits, others)
}

/// A tag that selects the branch of an `anyOf` or `oneOf`.
#[derive(Debug)]
pub struct BranchSelector<'t> {
    /// The name of the tag member.
    pub tag: &'t str,
    /// The guarantee that the tag provides.
    pub certainty: TagCertainty,
    /// The values of the tag, each with the index of its branch.
    pub branches: &'t [(Literal<'t>, usize)],
}

/// The guarantee that a tag provides about the branches of a union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TagCertainty {
    /// Every branch requires the tag with distinct values, as the generator has proven. An object with one of
    /// these values matches the selected branch or none, so no other branch is tried.
    Required,
    /// Same as [`Required`](Self::Required) for objects that have the tag. An object without the tag may
    /// match any branch.
    Present,
    /// A `discriminator` names a branch, but other branches may match as well. The tag determines which
    /// violations are reported, never the validity (OpenAPI 3.1, 4.8.25).
    Hint,
}

/// A set of types for the keyword `type` (Validation 6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeSet(u8);

impl TypeSet {
    /// The set that contains only `null`.
    pub const NULL: TypeSet = TypeSet(1);
    /// The set that contains only `boolean`.
    pub const BOOLEAN: TypeSet = TypeSet(2);
    /// The set that contains only `integer`: numbers without a fraction, regardless of their spelling.
    pub const INTEGER: TypeSet = TypeSet(4);
    /// The set that contains only `number`, which includes integers.
    pub const NUMBER: TypeSet = TypeSet(8);
    /// The set that contains only `string`.
    pub const STRING: TypeSet = TypeSet(16);
    /// The set that contains only `array`.
    pub const ARRAY: TypeSet = TypeSet(32);
    /// The set that contains only `object`.
    pub const OBJECT: TypeSet = TypeSet(64);

    /// Returns the union of both sets.
    pub const fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// Returns true if this set contains all types of the other set.
    pub const fn is_superset(self, other: TypeSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the value has one of the types.
    pub fn contains(self, value: &Json) -> bool {
        let json_type = match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            Json::Number(number) => {
                return self.0 & Self::NUMBER.0 != 0 || self.0 & Self::INTEGER.0 != 0 && number.is_integer();
            }
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        };
        self.0 & json_type.0 != 0
    }
}

/// The limits of one validation.
///
/// If `depth` or `effort` is exceeded, validation stops and returns a single violation with that keyword.
#[derive(Debug, Clone, Copy)]
pub struct ValidationLimits {
    /// The maximum number of collected violations. If there are more, those with the shortest pointers are
    /// kept, and among pointers of equal length the first ones. A violation of an array itself, such as
    /// `maxItems`, is therefore never displaced by violations of its elements.
    pub violations: usize,
    /// The maximum depth of nested schema applications. Both nested values and references count.
    pub depth: usize,
    /// The maximum number of schema applications. For a large value, an application counts as more than 1.
    /// Only recursive schemas with overlapping branches can come close to this limit.
    pub effort: u64,
}

impl ValidationLimits {
    /// 1000 violations, 20 million schema applications, and a nesting depth of eight schema applications for
    /// each level that documents may have by default ([`depth::DEFAULT_DEPTH`]).
    pub const DEFAULT: ValidationLimits = ValidationLimits {
        violations: DEFAULT_MAX_VIOLATIONS,
        depth: 8 * depth::DEFAULT_DEPTH,
        effort: 20_000_000,
    };
}

impl Default for ValidationLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A validator of JSON values against one schema of a table.
#[derive(Debug, Clone, Copy)]
pub struct Validator<'t> {
    /// The tables that contain the schema.
    pub tables: &'t SchemaTables<'t>,
    /// The schema to validate against.
    pub root: SchemaId,
}

impl<'t> Validator<'t> {
    /// Creates a validator of the schema `root`.
    pub const fn new(tables: &'t SchemaTables<'t>, root: SchemaId) -> Self {
        Self { tables, root }
    }

    /// Returns the location of the schema, which consists of the resource URI, `#` and a JSON Pointer.
    #[must_use]
    pub fn schema_location(&self) -> String {
        self.tables.schema_location(self.tables.schema(self.root))
    }

    /// Returns true if the value is valid. Stops at the first failure.
    pub fn is_valid(&self, value: &Json) -> bool {
        evaluate::is_valid(self, value, &ValidationLimits::DEFAULT)
    }

    /// Validates the value with [`ValidationLimits::DEFAULT`].
    ///
    /// # Errors
    /// Returns all violations, up to the default limit.
    pub fn validate(&self, value: &Json) -> Result<(), Violations> {
        self.validate_with_limits(value, &ValidationLimits::DEFAULT)
    }

    /// Validates the value with custom limits.
    ///
    /// # Errors
    /// Returns all violations, up to `limits.violations` (at least one).
    pub fn validate_with_limits(&self, value: &Json, limits: &ValidationLimits) -> Result<(), Violations> {
        evaluate::validate(self, value, limits)
    }

    /// Validates a `serde_json` value. Its numbers are only as exact as `serde_json` stored them. For exact
    /// numbers, parse the text as [`Json`] instead.
    ///
    /// # Errors
    /// Same as [`Validator::validate`].
    pub fn validate_value(&self, value: &serde_json::Value) -> Result<(), Violations> {
        self.validate(&Json::from(value))
    }
}

/// The schema for an id that is not in the table. It rejects every value, so that a wrong id is noticed.
static UNKNOWN_SCHEMA: Schema<'_> =
    Schema { resource: ResourceId(u32::MAX), location: "", keywords: &[Keyword::False] };

impl<'t> SchemaTables<'t> {
    fn schema(&self, id: SchemaId) -> &'t Schema<'t> {
        self.schemas.get(id.0 as usize).unwrap_or(&UNKNOWN_SCHEMA)
    }

    fn resource(&self, id: ResourceId) -> Option<&'t SchemaResource<'t>> {
        self.resources.get(id.0 as usize)
    }

    fn dynamic_anchor(&self, resource: ResourceId, anchor: &str) -> Option<SchemaId> {
        let anchors = self.resource(resource)?.dynamic_anchors;
        anchors.iter().find(|(name, _)| *name == anchor).map(|&(_, id)| id)
    }

    /// Returns the location of a schema, which consists of the resource URI, `#` and a JSON Pointer.
    fn schema_location(&self, schema: &Schema<'_>) -> String {
        let uri = self.resource(schema.resource).map_or("", |resource| resource.uri);
        [uri, "#", schema.location].concat()
    }
}

#[cfg(test)]
pub(crate) mod tests;
