//! Every keyword of the supported dialects: where it holds schemas, which drafts know it.

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

/// What the value of a keyword holds in the way of schemas.
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

macro_rules! keywords {
    ($($name:literal $variant:ident $holds:ident $drafts:ident $vocabulary:ident;)*) => {
        /// A known keyword.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Keyword { $($variant,)* }

        impl Keyword {
            /// By its name, in whichever draft.
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
        }

        /// All names, for suggestions.
        pub(crate) const NAMES: &[&str] = &[$($name,)*];
    };
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

keywords! {
    "$ref" Ref Nothing All CORE;
    "$id" Id Nothing Json CORE;
    "$schema" Schema Nothing Json CORE;
    "$anchor" Anchor Nothing From2019 CORE;
    "$dynamicRef" DynamicRef Nothing From2020 CORE;
    "$dynamicAnchor" DynamicAnchor Nothing From2020 CORE;
    "$recursiveRef" RecursiveRef Nothing Only2019 CORE;
    "$recursiveAnchor" RecursiveAnchor Nothing Only2019 CORE;
    "$vocabulary" Vocabulary Nothing From2019 CORE;
    "$comment" Comment Nothing Json CORE;
    "$defs" Defs Map Json CORE;
    "definitions" Definitions Map Json CORE;
    "allOf" AllOf List All APPLICATOR;
    "anyOf" AnyOf List All APPLICATOR;
    "oneOf" OneOf List All APPLICATOR;
    "not" Not One All APPLICATOR;
    "if" If One Json APPLICATOR;
    "then" Then One Json APPLICATOR;
    "else" Else One Json APPLICATOR;
    "dependentSchemas" DependentSchemas Map From2019 APPLICATOR;
    "dependencies" Dependencies Dependencies Json APPLICATOR;
    "prefixItems" PrefixItems List From2020 APPLICATOR;
    "items" Items OneOrList All APPLICATOR;
    "additionalItems" AdditionalItems One Until2019 APPLICATOR;
    "contains" Contains One Json APPLICATOR;
    "properties" Properties Map All APPLICATOR;
    "patternProperties" PatternProperties Map Json APPLICATOR;
    "additionalProperties" AdditionalProperties One All APPLICATOR;
    "propertyNames" PropertyNames One Json APPLICATOR;
    "unevaluatedItems" UnevaluatedItems One From2019 UNEVALUATED;
    "unevaluatedProperties" UnevaluatedProperties One From2019 UNEVALUATED;
    "type" Type Nothing All VALIDATION;
    "enum" Enum Nothing All VALIDATION;
    "const" Const Nothing Json VALIDATION;
    "minimum" Minimum Nothing All VALIDATION;
    "maximum" Maximum Nothing All VALIDATION;
    "exclusiveMinimum" ExclusiveMinimum Nothing All VALIDATION;
    "exclusiveMaximum" ExclusiveMaximum Nothing All VALIDATION;
    "multipleOf" MultipleOf Nothing All VALIDATION;
    "minLength" MinLength Nothing All VALIDATION;
    "maxLength" MaxLength Nothing All VALIDATION;
    "pattern" Pattern Nothing All VALIDATION;
    "minItems" MinItems Nothing All VALIDATION;
    "maxItems" MaxItems Nothing All VALIDATION;
    "uniqueItems" UniqueItems Nothing All VALIDATION;
    "minContains" MinContains Nothing From2019 VALIDATION;
    "maxContains" MaxContains Nothing From2019 VALIDATION;
    "required" Required Nothing All VALIDATION;
    "minProperties" MinProperties Nothing All VALIDATION;
    "maxProperties" MaxProperties Nothing All VALIDATION;
    "dependentRequired" DependentRequired Nothing From2019 VALIDATION;
    "title" Title Nothing All META;
    "description" Description Nothing All META;
    "default" Default Nothing All META;
    "examples" Examples Nothing Json META;
    "deprecated" Deprecated Nothing Deprecated META;
    "readOnly" ReadOnly Nothing All META;
    "writeOnly" WriteOnly Nothing All META;
    "format" Format Nothing All FORMAT;
    "contentEncoding" ContentEncoding Nothing Json CONTENT;
    "contentMediaType" ContentMediaType Nothing Json CONTENT;
    "contentSchema" ContentSchema One From2019 CONTENT;
    "nullable" Nullable Nothing OpenApi30 CORE;
    "discriminator" Discriminator Nothing OpenApi CORE;
    "xml" Xml Nothing OpenApi CORE;
    "externalDocs" ExternalDocs Nothing OpenApi CORE;
    "example" Example Nothing OpenApi CORE;
}
