//! Keywords as data: one row for each, and questions about rows.
//!
//! A row says what a keyword is called, where its value holds schemas, which drafts and which
//! vocabulary know it, what it does to a value, and which field of [`Schema`] holds it once it is
//! read. Whoever needs a list of keywords asks the rows, so that a new one is missing nowhere.

use contract_runtime::{Json, Number, format::Format};

use super::{Contains, DynamicReference, Schema, SchemaId, Types};

/// Draft of JSON Schema, or the dialect of an OpenAPI version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draft {
    /// 2020-12, also OpenAPI 3.1.
    Latest,
    /// 2019-09.
    Draft2019,
    /// draft-07.
    Draft7,
    /// OpenAPI 3.0.
    OpenApi30,
}

/// What the value of a keyword holds in the way of schemas, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// None.
    Nothing,
    /// A schema.
    One,
    /// An array of schemas.
    List,
    /// An object of schemas.
    Map,
    /// `items` before 2020-12.
    OneOrList,
    /// `dependencies`: an object of schemas or arrays of names.
    Dependencies,
}

/// What a keyword does (Core 7 and 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Says what a schema is called or how it is read.
    Identifier,
    /// Keeps schemas for others to refer to.
    Location,
    /// Applies schemas to the same value.
    InPlace,
    /// Applies schemas to members, names or elements of the value.
    Below,
    /// Decides by itself whether the value is valid.
    Assertion,
    /// Says something about the value.
    Annotation,
}

impl Role {
    /// Whether such a keyword applies schemas.
    pub(crate) const fn applies(self) -> bool {
        matches!(self, Self::InPlace | Self::Below)
    }

    /// Whether such a keyword can make a value invalid.
    pub(crate) const fn decides(self) -> bool {
        self.applies() || matches!(self, Self::Assertion)
    }
}

/// Which drafts know a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drafts {
    /// All of them.
    All,
    /// All of JSON Schema, not OpenAPI 3.0.
    Json,
    /// 2019-09 and later.
    From2019,
    /// 2019-09 only.
    Only2019,
    /// draft-07 and 2019-09.
    Until2019,
    /// 2020-12.
    From2020,
    /// 2019-09 and later, and OpenAPI 3.0, which had it first.
    Deprecated,
    /// OpenAPI 3.0 only.
    OpenApi30,
    /// The base vocabulary of OpenAPI 3.1, and OpenAPI 3.0.
    OpenApi,
}

/// Vocabularies of 2020-12 as bits.
pub(crate) mod vocabulary {
    pub(crate) const CORE: u8 = 1;
    pub(crate) const APPLICATOR: u8 = 2;
    pub(crate) const UNEVALUATED: u8 = 4;
    pub(crate) const VALIDATION: u8 = 8;
    pub(crate) const META: u8 = 16;
    pub(crate) const FORMAT: u8 = 32;
    pub(crate) const CONTENT: u8 = 64;
    pub(crate) const ALL: u8 = 127;
}

/// The value of a keyword that a schema has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'s> {
    /// A schema, or a settled reference to one.
    Schema(SchemaId),
    Dynamic(&'s DynamicReference),
    /// `contains` with its counts.
    Contains(&'s Contains),
    /// Schemas in order.
    List(&'s [SchemaId]),
    /// Schemas by name or pattern.
    Map(&'s [(String, SchemaId)]),
    /// A count of code points, elements or members.
    Count(u64),
    Number(&'s Number),
    Text(&'s str),
    /// `true`; `false` says nothing.
    Flag,
    Types(Types),
    /// Any value: `const`, `default`.
    Json(&'s Json),
    /// A list of values: `enum`, `examples`.
    Values(&'s [Json]),
    /// Names of members.
    Names(&'s [String]),
    /// Names of members by the member that asks for them.
    Needs(&'s [(String, Vec<String>)]),
}

impl<'s> Value<'s> {
    /// The schemas in it.
    pub(crate) fn schemas(self) -> impl Iterator<Item = SchemaId> + 's {
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

/// A field of [`Schema`] as a keyword's value; absent ones and empty lists hold none.
trait Field {
    fn value(&self) -> Option<Value<'_>>;
}

macro_rules! fields {
    ($($type:ty: |$held:ident| $value:expr;)*) => {
        $(impl Field for $type {
            fn value(&self) -> Option<Value<'_>> {
                let $held = self;
                $value
            }
        })*
    };
}

fields! {
    Option<SchemaId>: |held| held.map(Value::Schema);
    Option<DynamicReference>: |held| held.as_ref().map(Value::Dynamic);
    Option<Contains>: |held| held.as_ref().map(Value::Contains);
    Vec<SchemaId>: |held| (!held.is_empty()).then_some(Value::List(held));
    Vec<(String, SchemaId)>: |held| (!held.is_empty()).then_some(Value::Map(held));
    Option<u64>: |held| held.map(Value::Count);
    Option<Number>: |held| held.as_ref().map(Value::Number);
    Option<String>: |held| held.as_deref().map(Value::Text);
    bool: |held| held.then_some(Value::Flag);
    Option<Types>: |held| held.map(Value::Types);
    Option<Format>: |held| held.map(|format| Value::Text(format.name()));
    Option<Json>: |held| held.as_ref().map(Value::Json);
    Option<Vec<Json>>: |held| held.as_deref().map(Value::Values);
    Vec<Json>: |held| (!held.is_empty()).then_some(Value::Values(held));
    Vec<String>: |held| (!held.is_empty()).then_some(Value::Names(held));
    Vec<(String, Vec<String>)>: |held| (!held.is_empty()).then_some(Value::Needs(held));
}

macro_rules! keywords {
    ($($name:literal $variant:ident $holds:ident $drafts:ident $vocabulary:ident $role:ident $($field:ident)?;)*) => {
        /// A known keyword.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Keyword { $($variant,)* }

        impl Keyword {
            /// All of them, in the order in which people read them.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// By its name, in whichever draft.
            #[allow(unreachable_patterns, reason = "of two words of one name, the first is what is written")]
            pub(crate) fn find(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub(crate) const fn holds(self) -> Holds {
                match self { $(Self::$variant => Holds::$holds,)* }
            }

            pub(crate) const fn drafts(self) -> Drafts {
                match self { $(Self::$variant => Drafts::$drafts,)* }
            }

            pub(crate) const fn vocabulary(self) -> u8 {
                match self { $(Self::$variant => vocabulary::$vocabulary,)* }
            }

            pub(crate) const fn role(self) -> Role {
                match self { $(Self::$variant => Role::$role,)* }
            }

            /// Its value in a schema; `None` where it is absent, and for words of older drafts,
            /// which are held as those of 2020-12 that say the same.
            pub(crate) fn value(self, schema: &Schema) -> Option<Value<'_>> {
                match self { $(Self::$variant => None::<Value<'_>>$(.or(schema.$field.value()))?,)* }
            }

            /// Those that a schema has, one bit each: most are absent from most, and asking for each of
            /// them takes longer than what is done with the few that are there.
            fn present(schema: &Schema) -> u128 {
                let mut all = 0;
                $($(
                    if schema.$field.value().is_some() {
                        all |= Self::$variant.bit();
                    }
                )?)*
                all
            }

            /// Copies its value from one schema to another.
            pub(crate) fn copy(self, from: &Schema, to: &mut Schema) {
                match self { $(Self::$variant => { $(to.$field.clone_from(&from.$field);)? })* }
            }
        }
    };
}

keywords! {
    // name, variant, what it holds, drafts, vocabulary, role, field of `Schema`
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
    // Of `contains`, whose field holds them.
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
    // Two words of one name: what it says, and what it demands where the dialect asserts it.
    "format" Format Nothing All FORMAT Annotation format;
    "format" AssertedFormat Nothing From2019 FORMAT Assertion asserted;
    "contentEncoding" ContentEncoding Nothing Json CONTENT Annotation content_encoding;
    "contentMediaType" ContentMediaType Nothing Json CONTENT Annotation content_media_type;
    "contentSchema" ContentSchema One From2019 CONTENT Annotation content_schema;
    "nullable" Nullable Nothing OpenApi30 CORE Assertion;
    // Kept in `extensions`, as members that start with `x-` are.
    "discriminator" Discriminator Nothing OpenApi CORE Annotation;
    "xml" Xml Nothing OpenApi CORE Annotation;
    "externalDocs" ExternalDocs Nothing OpenApi CORE Annotation;
    "example" Example Nothing OpenApi CORE Annotation;
}

/// Those that apply schemas.
const APPLYING: u128 = {
    let (mut all, mut at) = (0, 0);
    while at < Keyword::ALL.len() {
        if Keyword::ALL[at].role().applies() {
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

    /// Whether draft-04 did not have it. Annotations cost nobody anything.
    pub(crate) const fn is_late(self) -> bool {
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

    /// Those that stand beside it in a schema and change what it means.
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
    /// The keywords that are there, with their values.
    pub(crate) fn keywords(&self) -> impl Iterator<Item = (Keyword, Value<'_>)> {
        self.among(u128::MAX)
    }

    fn among(&self, keywords: u128) -> impl Iterator<Item = (Keyword, Value<'_>)> {
        let mut left = Keyword::present(self) & keywords;
        std::iter::from_fn(move || {
            let next = Keyword::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((*next, next.value(self)?))
        })
    }

    /// Whether nothing but these keywords can make a value invalid. `then` and `else` say
    /// nothing without `if` (Core 10.2.2).
    pub(crate) fn decides_by(&self, keywords: &[Keyword]) -> bool {
        let idle =
            |keyword: Keyword| matches!(keyword, Keyword::Then | Keyword::Else) && self.condition.is_none();
        let decides = |(keyword, _): &(Keyword, _)| keyword.role().decides() && !idle(*keyword);
        let mut deciding = self.keywords().filter(decides);
        self.boolean != Some(false) && deciding.all(|(keyword, _)| keywords.contains(&keyword))
    }

    /// Whether nothing but annotations, `$ref` and `allOf` stands in it.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.decides_by(&[Keyword::Ref, Keyword::AllOf])
    }

    /// Whether it accepts everything and says nothing about structure.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
        self.decides_by(&[])
    }

    /// Every schema that it applies, in place or below.
    pub fn children(&self) -> impl Iterator<Item = SchemaId> {
        self.among(APPLYING).flat_map(|(_, value)| value.schemas())
    }

    /// The same place with some of its keywords alone.
    pub(crate) fn with(&self, keep: impl Fn(Keyword) -> bool) -> Self {
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
