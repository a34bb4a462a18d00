//! The table of JSON Schema keywords.
//!
//! A row contains the name of a keyword, the positions of schemas in its value, the drafts and the vocabulary
//! that define it, its role, and the field of [`Schema`] with its parsed value. Code that needs a list of
//! keywords filters this table, so that a new keyword is added in only one place.

use contract_runtime::{Json, Number, format::StringFormat};

use super::{ContainsConstraint, DynamicReference, Schema, SchemaId, TypeSet};

/// A draft of JSON Schema, or the schema dialect of OpenAPI 3.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draft {
    /// Draft 2020-12, and the dialect of OpenAPI 3.1 and 3.2.
    Latest,
    Draft2019,
    Draft7,
    OpenApi30,
}

/// The positions of schemas in the value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubschemaForm {
    Nothing,
    One,
    List,
    Map,
    /// A schema or an array of schemas, as in `items` before 2020-12.
    OneOrList,
    /// An object of schemas or arrays of property names, as in `dependencies`.
    Dependencies,
}

/// The effect of a keyword (Core 7 and 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordRole {
    /// Identifies a schema or selects its dialect.
    Identifier,
    /// Reserves a location for schemas that are referenced from elsewhere.
    Location,
    /// Applies subschemas to the value that is validated, as `allOf` and `if` do.
    InPlace,
    /// Applies subschemas to property values, property names or items of the value.
    Below,
    /// Validates the value without applying subschemas.
    Assertion,
    /// Attaches information to the value.
    Annotation,
}

impl KeywordRole {
    /// Returns true if keywords with this role apply subschemas.
    pub const fn applies_schemas(self) -> bool {
        matches!(self, Self::InPlace | Self::Below)
    }

    /// Returns true if keywords with this role can make a value invalid.
    pub(crate) const fn can_reject(self) -> bool {
        self.applies_schemas() || matches!(self, Self::Assertion)
    }
}

/// The drafts, and the dialects of OpenAPI, that define a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DraftSupport {
    All,
    /// Every draft of JSON Schema, but not OpenAPI 3.0.
    Json,
    From2019,
    Only2019,
    Until2019,
    From2020,
    /// The drafts since 2019-09, and OpenAPI 3.0, which introduced the keyword.
    Deprecated,
    OpenApi30,
    /// The dialects of OpenAPI: 3.0, and the base vocabulary of 3.1.
    OpenApi,
}

/// Bit flags for the vocabularies of draft 2020-12, each of which is a set of keywords.
pub mod vocabulary {
    pub(crate) const CORE: u8 = 1;
    pub(crate) const APPLICATOR: u8 = 2;
    pub const UNEVALUATED: u8 = 4;
    pub(crate) const VALIDATION: u8 = 8;
    pub(crate) const META: u8 = 16;
    pub(crate) const FORMAT: u8 = 32;
    pub(crate) const CONTENT: u8 = 64;
    pub(crate) const ALL: u8 = 127;
}

/// The parsed value of a keyword, borrowed from a [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeywordValue<'s> {
    /// The id of a subschema, or of the resolved target of a reference.
    Schema(SchemaId),
    Dynamic(&'s DynamicReference),
    Contains(&'s ContainsConstraint),
    List(&'s [SchemaId]),
    /// Schemas by property name or pattern.
    Map(&'s [(String, SchemaId)]),
    /// A count of code points, items or properties.
    Count(u64),
    Number(&'s Number),
    Text(&'s str),
    /// The value `true`; `false` is treated as absent.
    Flag,
    Types(TypeSet),
    /// An arbitrary value, such as that of `const` or `default`.
    Json(&'s Json),
    /// A list of values, such as that of `enum` or `examples`.
    Values(&'s [Json]),
    /// A list of property names.
    Names(&'s [String]),
    /// For each property, the names of the properties that are required if it is present.
    Needs(&'s [(String, Vec<String>)]),
}

impl<'s> KeywordValue<'s> {
    /// Iterates over the ids of all schemas in the value.
    pub fn schema_ids(self) -> impl Iterator<Item = SchemaId> + 's {
        let (one, list, map): (_, &[SchemaId], &[(String, SchemaId)]) = match self {
            Self::Schema(id) => (Some(id), &[], &[]),
            Self::Dynamic(dynamic) => (Some(dynamic.initial), &[], &[]),
            Self::Contains(contains) => (Some(contains.schema), &[], &[]),
            Self::List(ids) => (None, ids, &[]),
            Self::Map(named) => (None, &[], named),
            _ => (None, &[], &[]),
        };
        one.into_iter().chain(list.iter().copied()).chain(map.iter().map(|(_, id)| *id))
    }
}

/// A field of [`Schema`] that holds the value of a keyword. The value is `None` if the keyword is absent or
/// its list is empty.
trait KeywordField {
    fn value(&self) -> Option<KeywordValue<'_>>;
}

macro_rules! fields {
    ($($type:ty: |$held:ident| $value:expr;)*) => {
        $(impl KeywordField for $type {
            fn value(&self) -> Option<KeywordValue<'_>> {
                let $held = self;
                $value
            }
        })*
    };
}

fields! {
    Option<SchemaId>: |held| held.map(KeywordValue::Schema);
    Option<DynamicReference>: |held| held.as_ref().map(KeywordValue::Dynamic);
    Option<ContainsConstraint>: |held| held.as_ref().map(KeywordValue::Contains);
    Vec<SchemaId>: |held| (!held.is_empty()).then_some(KeywordValue::List(held));
    Vec<(String, SchemaId)>: |held| (!held.is_empty()).then_some(KeywordValue::Map(held));
    Option<u64>: |held| held.map(KeywordValue::Count);
    Option<Number>: |held| held.as_ref().map(KeywordValue::Number);
    Option<String>: |held| held.as_deref().map(KeywordValue::Text);
    bool: |held| held.then_some(KeywordValue::Flag);
    Option<TypeSet>: |held| held.map(KeywordValue::Types);
    Option<StringFormat>: |held| held.map(|format| KeywordValue::Text(format.as_str()));
    Option<Json>: |held| held.as_ref().map(KeywordValue::Json);
    Option<Vec<Json>>: |held| held.as_deref().map(KeywordValue::Values);
    Vec<Json>: |held| (!held.is_empty()).then_some(KeywordValue::Values(held));
    Vec<String>: |held| (!held.is_empty()).then_some(KeywordValue::Names(held));
    Vec<(String, Vec<String>)>: |held| (!held.is_empty()).then_some(KeywordValue::Needs(held));
}

macro_rules! keywords {
    ($($name:literal $variant:ident $holds:ident $drafts:ident $vocabulary:ident $role:ident $($field:ident)?;)*) => {
        /// A keyword that this crate implements, as a row of the keyword table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Keyword { $($variant,)* }

        impl Keyword {
            /// All keywords, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the keyword that has this name in at least one draft.
            #[allow(unreachable_patterns, reason = "the first of two rows with the same name is the keyword in documents")]
            pub(crate) fn find(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub(crate) const fn holds(self) -> SubschemaForm {
                match self { $(Self::$variant => SubschemaForm::$holds,)* }
            }

            pub(crate) const fn drafts(self) -> DraftSupport {
                match self { $(Self::$variant => DraftSupport::$drafts,)* }
            }

            pub const fn vocabulary(self) -> u8 {
                match self { $(Self::$variant => vocabulary::$vocabulary,)* }
            }

            pub const fn role(self) -> KeywordRole {
                match self { $(Self::$variant => KeywordRole::$role,)* }
            }

            /// Returns the value of the keyword in a schema, or `None` if it is absent. Keywords of older
            /// drafts have no value, because the equivalent keyword of 2020-12 has it.
            pub fn value(self, schema: &Schema) -> Option<KeywordValue<'_>> {
                match self { $(Self::$variant => None::<KeywordValue<'_>>$(.or(schema.$field.value()))?,)* }
            }

            /// Returns the keywords that a schema has, as one bit each. Most keywords are absent from most
            /// schemas, so iterating over the set bits is faster than testing each keyword.
            fn present(schema: &Schema) -> u128 {
                let mut all = 0;
                $($(
                    if schema.$field.value().is_some() {
                        all |= Self::$variant.bit();
                    }
                )?)*
                all
            }

            /// Copies the value of this keyword from the schema `from` to the schema `to`.
            pub(crate) fn copy(self, from: &Schema, to: &mut Schema) {
                match self { $(Self::$variant => { $(to.$field.clone_from(&from.$field);)? })* }
            }
        }
    };
}

keywords! {
    // The columns are name, variant, form of subschemas, drafts, vocabulary, role, and field of `Schema`.
    "$ref" Ref Nothing All CORE InPlace reference;
    "$id" Id Nothing Json CORE Identifier;
    "$schema" Schema Nothing Json CORE Identifier;
    "$anchor" Anchor Nothing From2019 CORE Identifier;
    "$dynamicRef" DynamicRef Nothing From2020 CORE InPlace dynamic_reference;
    "$dynamicAnchor" DynamicAnchor Nothing From2020 CORE Identifier;
    "$recursiveRef" RecursiveRef Nothing Only2019 CORE InPlace;
    "$recursiveAnchor" RecursiveAnchor Nothing Only2019 CORE Identifier;
    "$vocabulary" Vocabulary Nothing From2019 CORE Identifier;
    "$comment" Comment Nothing Json CORE Annotation;
    "$defs" Defs Map Json CORE Location definitions;
    "definitions" Definitions Map Json CORE Location;
    "type" Type Nothing All VALIDATION Assertion types;
    "enum" Enum Nothing All VALIDATION Assertion enumeration;
    "const" Const Nothing Json VALIDATION Assertion constant;
    "minimum" Minimum Nothing All VALIDATION Assertion minimum;
    "maximum" Maximum Nothing All VALIDATION Assertion maximum;
    "exclusiveMinimum" ExclusiveMinimum Nothing All VALIDATION Assertion exclusive_minimum;
    "exclusiveMaximum" ExclusiveMaximum Nothing All VALIDATION Assertion exclusive_maximum;
    "multipleOf" MultipleOf Nothing All VALIDATION Assertion multiple_of;
    "minLength" MinLength Nothing All VALIDATION Assertion min_length;
    "maxLength" MaxLength Nothing All VALIDATION Assertion max_length;
    "pattern" Pattern Nothing All VALIDATION Assertion pattern;
    "minItems" MinItems Nothing All VALIDATION Assertion min_items;
    "maxItems" MaxItems Nothing All VALIDATION Assertion max_items;
    "uniqueItems" UniqueItems Nothing All VALIDATION Assertion unique_items;
    "required" Required Nothing All VALIDATION Assertion required;
    "minProperties" MinProperties Nothing All VALIDATION Assertion min_properties;
    "maxProperties" MaxProperties Nothing All VALIDATION Assertion max_properties;
    "dependentRequired" DependentRequired Nothing From2019 VALIDATION Assertion dependent_required;
    "contains" Contains One Json APPLICATOR Below contains;
    // The values of these keywords are stored in the field `contains`.
    "minContains" MinContains Nothing From2019 VALIDATION Assertion;
    "maxContains" MaxContains Nothing From2019 VALIDATION Assertion;
    "prefixItems" PrefixItems List From2020 APPLICATOR Below prefix_items;
    "items" Items OneOrList All APPLICATOR Below items;
    "additionalItems" AdditionalItems One Until2019 APPLICATOR Below;
    "properties" Properties Map All APPLICATOR Below properties;
    "patternProperties" PatternProperties Map Json APPLICATOR Below pattern_properties;
    "additionalProperties" AdditionalProperties One All APPLICATOR Below additional_properties;
    "propertyNames" PropertyNames One Json APPLICATOR Below property_names;
    "dependentSchemas" DependentSchemas Map From2019 APPLICATOR InPlace dependent_schemas;
    "dependencies" Dependencies Dependencies Json APPLICATOR InPlace;
    "allOf" AllOf List All APPLICATOR InPlace all_of;
    "anyOf" AnyOf List All APPLICATOR InPlace any_of;
    "oneOf" OneOf List All APPLICATOR InPlace one_of;
    "not" Not One All APPLICATOR InPlace not;
    "if" If One Json APPLICATOR InPlace condition;
    "then" Then One Json APPLICATOR InPlace then;
    "else" Else One Json APPLICATOR InPlace otherwise;
    "unevaluatedItems" UnevaluatedItems One From2019 UNEVALUATED Below unevaluated_items;
    "unevaluatedProperties" UnevaluatedProperties One From2019 UNEVALUATED Below unevaluated_properties;
    "title" Title Nothing All META Annotation title;
    "description" Description Nothing All META Annotation description;
    "default" Default Nothing All META Annotation default;
    "examples" Examples Nothing Json META Annotation examples;
    "deprecated" Deprecated Nothing Deprecated META Annotation deprecated;
    "readOnly" ReadOnly Nothing All META Annotation read_only;
    "writeOnly" WriteOnly Nothing All META Annotation write_only;
    // There are two rows with the same name: the annotation, and the assertion in dialects that assert
    // formats.
    "format" Format Nothing All FORMAT Annotation format;
    "format" AssertedFormat Nothing From2019 FORMAT Assertion asserted;
    "contentEncoding" ContentEncoding Nothing Json CONTENT Annotation content_encoding;
    "contentMediaType" ContentMediaType Nothing Json CONTENT Annotation content_media_type;
    "contentSchema" ContentSchema One From2019 CONTENT Annotation content_schema;
    "nullable" Nullable Nothing OpenApi30 CORE Assertion;
    // The value is stored in `extensions`, together with `x-` members.
    "discriminator" Discriminator Nothing OpenApi CORE Annotation;
    "xml" Xml Nothing OpenApi CORE Annotation;
    "externalDocs" ExternalDocs Nothing OpenApi CORE Annotation;
    "example" Example Nothing OpenApi CORE Annotation;
}

/// The keywords that apply subschemas, as a bit mask.
const APPLYING: u128 = {
    let (mut all, mut at) = (0, 0);
    while at < Keyword::ALL.len() {
        if Keyword::ALL[at].role().applies_schemas() {
            all |= Keyword::ALL[at].bit();
        }
        at += 1;
    }
    all
};

impl Keyword {
    const fn bit(self) -> u128 {
        1 << self as u32
    }

    /// Returns true if draft-04 does not define the keyword. Annotations are excluded, because accepting them
    /// is harmless.
    pub(crate) const fn is_after_draft_04(self) -> bool {
        matches!(
            self,
            Self::Id
                | Self::Const
                | Self::Contains
                | Self::PropertyNames
                | Self::If
                | Self::Then
                | Self::Else
        )
    }

    /// Returns the other keywords of a schema that affect the meaning of this one, such as `properties` for
    /// `additionalProperties`.
    pub(crate) const fn depends_on(self) -> &'static [Self] {
        match self {
            Self::Items => &[Self::PrefixItems],
            Self::AdditionalProperties => &[Self::Properties, Self::PatternProperties],
            Self::If => &[Self::Then, Self::Else],
            _ => &[],
        }
    }
}

impl Schema {
    /// Iterates over the keywords that the schema contains, with their values.
    pub fn keywords(&self) -> impl Iterator<Item = (Keyword, KeywordValue<'_>)> {
        self.filter_keywords(u128::MAX)
    }

    fn filter_keywords(&self, keywords: u128) -> impl Iterator<Item = (Keyword, KeywordValue<'_>)> {
        let mut left = Keyword::present(self) & keywords;
        std::iter::from_fn(move || {
            let next = Keyword::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((*next, next.value(self)?))
        })
    }

    /// Returns true if only these keywords can make a value invalid. `then` and `else` have no effect without
    /// `if` (Core 10.2.2).
    pub fn is_constrained_only_by(&self, keywords: &[Keyword]) -> bool {
        let idle =
            |keyword: Keyword| matches!(keyword, Keyword::Then | Keyword::Else) && self.condition.is_none();
        let decides = |(keyword, _): &(Keyword, _)| keyword.role().can_reject() && !idle(*keyword);
        let mut deciding = self.keywords().filter(decides);
        self.boolean != Some(false) && deciding.all(|(keyword, _)| keywords.contains(&keyword))
    }

    /// Returns true if only `$ref` and `allOf` can make a value invalid.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.is_constrained_only_by(&[Keyword::Ref, Keyword::AllOf])
    }

    /// Returns true if the schema accepts every value.
    #[must_use]
    pub fn is_unconstrained(&self) -> bool {
        self.is_constrained_only_by(&[])
    }

    /// Iterates over all schemas that this one applies: to the value itself, or to its properties and items.
    pub fn child_schemas(&self) -> impl Iterator<Item = SchemaId> {
        self.filter_keywords(APPLYING).flat_map(|(_, value)| value.schema_ids())
    }

    /// Returns a copy at the same location with only those keywords for which `keep` returns true.
    pub(crate) fn with_keywords(&self, keep: impl Fn(Keyword) -> bool) -> Self {
        let mut part = Self {
            place: self.place.clone(),
            resource: self.resource,
            location: self.location.clone(),
            gap: self.gap,
            ..Self::default()
        };
        Keyword::ALL
            .iter()
            .filter(|keyword| keep(**keyword))
            .for_each(|keyword| keyword.copy(self, &mut part));
        part
    }
}

#[cfg(test)]
mod tests;
