//! Tables of the fixed fields of all objects in OpenAPI 3.0, 3.1 and 3.2.

use crate::{schema::keywords::Keyword, tree::DocumentNode};

/// An object type of OpenAPI (3.1, 4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ObjectKind {
    Document,
    Info,
    Contact,
    License,
    Server,
    ServerVariable,
    Paths,
    PathItem,
    Operation,
    Parameter,
    Header,
    RequestBody,
    Content,
    MediaType,
    Encoding,
    Responses,
    Response,
    Components,
    Callback,
    Link,
    Example,
    Tag,
    ExternalDocs,
    SecurityScheme,
    Flows,
    Flow,
    SecurityRequirement,
}

/// The form of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldForm {
    Any,
    Text,
    Flag,
    Texts,
    TextMap,
    Schema,
    /// An object of schemas, such as `components/schemas`.
    Schemas,
    /// One object of the given type.
    One(ObjectKind),
    /// An array of objects of the given type.
    List(ObjectKind),
    /// An object whose members are objects of the given type.
    Map(ObjectKind),
    /// An array of security requirements. A fault must never turn it into an empty array, which requires no
    /// authentication.
    Security,
}

/// The consequence if an object does not contain a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldPresence {
    Optional,
    /// OpenAPI requires the field, but the generator does not need it. A missing field causes only a warning.
    Recommended,
    /// The object is unusable without the field. A missing field is a fault of the document.
    Required,
}

/// A field of an OpenAPI object with a name that the specification defines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedField {
    pub(crate) name: &'static str,
    pub(crate) form: FieldForm,
    pub(crate) need: FieldPresence,
    /// The OpenAPI version that introduced the field.
    pub(crate) since: OpenApiVersion,
}

/// A minor version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OpenApiVersion {
    V30,
    V31,
    V32,
}

const fn optional_field(name: &'static str, form: FieldForm) -> FixedField {
    FixedField { name, form, need: FieldPresence::Optional, since: OpenApiVersion::V30 }
}

const fn required_field(name: &'static str, form: FieldForm) -> FixedField {
    FixedField { name, form, need: FieldPresence::Required, since: OpenApiVersion::V30 }
}

const fn recommended_field(name: &'static str, form: FieldForm) -> FixedField {
    FixedField { name, form, need: FieldPresence::Recommended, since: OpenApiVersion::V30 }
}

const fn since_31(name: &'static str, form: FieldForm) -> FixedField {
    FixedField { name, form, need: FieldPresence::Optional, since: OpenApiVersion::V31 }
}

const fn since_32(name: &'static str, form: FieldForm) -> FixedField {
    FixedField { name, form, need: FieldPresence::Optional, since: OpenApiVersion::V32 }
}

use FieldForm::{Any, Flag, List, Map, One, Schema, Schemas, Security, Text, TextMap, Texts};

const DOCUMENT: &[FixedField] = &[
    required_field("openapi", Text),
    required_field("info", One(ObjectKind::Info)),
    since_32("$self", Text),
    since_31("jsonSchemaDialect", Text),
    optional_field("servers", List(ObjectKind::Server)),
    optional_field("paths", One(ObjectKind::Paths)),
    since_31("webhooks", Map(ObjectKind::PathItem)),
    optional_field("components", One(ObjectKind::Components)),
    optional_field("security", Security),
    optional_field("tags", List(ObjectKind::Tag)),
    optional_field("externalDocs", One(ObjectKind::ExternalDocs)),
];
const INFO: &[FixedField] = &[
    recommended_field("title", Text),
    recommended_field("version", Text),
    since_31("summary", Text),
    optional_field("description", Text),
    optional_field("termsOfService", Text),
    optional_field("contact", One(ObjectKind::Contact)),
    optional_field("license", One(ObjectKind::License)),
];
const CONTACT: &[FixedField] =
    &[optional_field("name", Text), optional_field("url", Text), optional_field("email", Text)];
const LICENSE: &[FixedField] =
    &[required_field("name", Text), since_31("identifier", Text), optional_field("url", Text)];
const SERVER: &[FixedField] = &[
    required_field("url", Text),
    since_32("name", Text),
    optional_field("description", Text),
    optional_field("variables", Map(ObjectKind::ServerVariable)),
];
const SERVER_VARIABLE: &[FixedField] =
    &[optional_field("enum", Texts), required_field("default", Text), optional_field("description", Text)];
const PATH_ITEM: &[FixedField] = &[
    optional_field("$ref", Text),
    optional_field("summary", Text),
    optional_field("description", Text),
    optional_field("get", One(ObjectKind::Operation)),
    optional_field("put", One(ObjectKind::Operation)),
    optional_field("post", One(ObjectKind::Operation)),
    optional_field("delete", One(ObjectKind::Operation)),
    optional_field("options", One(ObjectKind::Operation)),
    optional_field("head", One(ObjectKind::Operation)),
    optional_field("patch", One(ObjectKind::Operation)),
    optional_field("trace", One(ObjectKind::Operation)),
    since_32("query", One(ObjectKind::Operation)),
    since_32("additionalOperations", Map(ObjectKind::Operation)),
    optional_field("servers", List(ObjectKind::Server)),
    optional_field("parameters", List(ObjectKind::Parameter)),
];
const OPERATION: &[FixedField] = &[
    optional_field("tags", Texts),
    optional_field("summary", Text),
    optional_field("description", Text),
    optional_field("externalDocs", One(ObjectKind::ExternalDocs)),
    optional_field("operationId", Text),
    optional_field("parameters", List(ObjectKind::Parameter)),
    optional_field("requestBody", One(ObjectKind::RequestBody)),
    optional_field("responses", One(ObjectKind::Responses)),
    optional_field("callbacks", Map(ObjectKind::Callback)),
    optional_field("deprecated", Flag),
    optional_field("security", Security),
    optional_field("servers", List(ObjectKind::Server)),
];
const PARAMETER: &[FixedField] = &[
    required_field("name", Text),
    required_field("in", Text),
    optional_field("description", Text),
    optional_field("required", Flag),
    optional_field("deprecated", Flag),
    optional_field("allowEmptyValue", Flag),
    optional_field("style", Text),
    optional_field("explode", Flag),
    optional_field("allowReserved", Flag),
    optional_field("schema", Schema),
    optional_field("example", Any),
    optional_field("examples", Map(ObjectKind::Example)),
    optional_field("content", One(ObjectKind::Content)),
];
const HEADER: &[FixedField] = &[
    optional_field("description", Text),
    optional_field("required", Flag),
    optional_field("deprecated", Flag),
    optional_field("style", Text),
    optional_field("explode", Flag),
    optional_field("schema", Schema),
    optional_field("example", Any),
    optional_field("examples", Map(ObjectKind::Example)),
    optional_field("content", One(ObjectKind::Content)),
];
const REQUEST_BODY: &[FixedField] = &[
    optional_field("description", Text),
    required_field("content", One(ObjectKind::Content)),
    optional_field("required", Flag),
];
const MEDIA_TYPE: &[FixedField] = &[
    optional_field("schema", Schema),
    since_32("itemSchema", Schema),
    optional_field("example", Any),
    optional_field("examples", Map(ObjectKind::Example)),
    optional_field("encoding", Map(ObjectKind::Encoding)),
    since_32("prefixEncoding", List(ObjectKind::Encoding)),
    since_32("itemEncoding", One(ObjectKind::Encoding)),
];
const ENCODING: &[FixedField] = &[
    since_32("encoding", Map(ObjectKind::Encoding)),
    since_32("prefixEncoding", List(ObjectKind::Encoding)),
    since_32("itemEncoding", One(ObjectKind::Encoding)),
    optional_field("contentType", Text),
    optional_field("headers", Map(ObjectKind::Header)),
    optional_field("style", Text),
    optional_field("explode", Flag),
    optional_field("allowReserved", Flag),
];
const RESPONSE: &[FixedField] = &[
    since_32("summary", Text),
    recommended_field("description", Text),
    optional_field("headers", Map(ObjectKind::Header)),
    optional_field("content", One(ObjectKind::Content)),
    optional_field("links", Map(ObjectKind::Link)),
];
const COMPONENTS: &[FixedField] = &[
    optional_field("schemas", Schemas),
    optional_field("responses", Map(ObjectKind::Response)),
    optional_field("parameters", Map(ObjectKind::Parameter)),
    optional_field("examples", Map(ObjectKind::Example)),
    optional_field("requestBodies", Map(ObjectKind::RequestBody)),
    optional_field("headers", Map(ObjectKind::Header)),
    optional_field("securitySchemes", Map(ObjectKind::SecurityScheme)),
    optional_field("links", Map(ObjectKind::Link)),
    optional_field("callbacks", Map(ObjectKind::Callback)),
    since_31("pathItems", Map(ObjectKind::PathItem)),
    since_32("mediaTypes", Map(ObjectKind::MediaType)),
];
const LINK: &[FixedField] = &[
    optional_field("operationRef", Text),
    optional_field("operationId", Text),
    optional_field("parameters", Any),
    optional_field("requestBody", Any),
    optional_field("description", Text),
    optional_field("server", One(ObjectKind::Server)),
];
const EXAMPLE: &[FixedField] = &[
    optional_field("summary", Text),
    optional_field("description", Text),
    since_32("dataValue", Any),
    since_32("serializedValue", Text),
    optional_field("value", Any),
    optional_field("externalValue", Text),
];
const TAG: &[FixedField] = &[
    required_field("name", Text),
    since_32("summary", Text),
    optional_field("description", Text),
    optional_field("externalDocs", One(ObjectKind::ExternalDocs)),
    since_32("parent", Text),
    since_32("kind", Text),
];
const EXTERNAL_DOCS: &[FixedField] = &[optional_field("description", Text), required_field("url", Text)];
const SECURITY_SCHEME: &[FixedField] = &[
    required_field("type", Text),
    optional_field("description", Text),
    optional_field("name", Text),
    optional_field("in", Text),
    optional_field("scheme", Text),
    optional_field("bearerFormat", Text),
    optional_field("flows", One(ObjectKind::Flows)),
    optional_field("openIdConnectUrl", Text),
    since_32("oauth2MetadataUrl", Text),
    since_32("deprecated", Flag),
];
const FLOWS: &[FixedField] = &[
    optional_field("implicit", One(ObjectKind::Flow)),
    optional_field("password", One(ObjectKind::Flow)),
    optional_field("clientCredentials", One(ObjectKind::Flow)),
    optional_field("authorizationCode", One(ObjectKind::Flow)),
    since_32("deviceAuthorization", One(ObjectKind::Flow)),
];
const FLOW: &[FixedField] = &[
    optional_field("authorizationUrl", Text),
    since_32("deviceAuthorizationUrl", Text),
    optional_field("tokenUrl", Text),
    optional_field("refreshUrl", Text),
    required_field("scopes", TextMap),
];

/// Returns true if the key is a specification extension. A key of `content` with a slash is a media type even
/// if it starts with `x-`.
pub(crate) fn is_extension(kind: ObjectKind, key: &str) -> bool {
    kind.allows_extensions() && key.starts_with("x-") && !(kind == ObjectKind::Content && key.contains('/'))
}

impl ObjectKind {
    pub(crate) const fn fixed_fields(self) -> &'static [FixedField] {
        match self {
            Self::Document => DOCUMENT,
            Self::Info => INFO,
            Self::Contact => CONTACT,
            Self::License => LICENSE,
            Self::Server => SERVER,
            Self::ServerVariable => SERVER_VARIABLE,
            Self::PathItem => PATH_ITEM,
            Self::Operation => OPERATION,
            Self::Parameter => PARAMETER,
            Self::Header => HEADER,
            Self::RequestBody => REQUEST_BODY,
            Self::MediaType => MEDIA_TYPE,
            Self::Encoding => ENCODING,
            Self::Response => RESPONSE,
            Self::Components => COMPONENTS,
            Self::Link => LINK,
            Self::Example => EXAMPLE,
            Self::Tag => TAG,
            Self::ExternalDocs => EXTERNAL_DOCS,
            Self::SecurityScheme => SECURITY_SCHEME,
            Self::Flows => FLOWS,
            Self::Flow => FLOW,
            Self::Paths | Self::Content | Self::Responses | Self::Callback | Self::SecurityRequirement => &[],
        }
    }

    /// Returns the form of the values of members with arbitrary names, such as the paths in `paths`, or
    /// `None` if the object allows no such members.
    pub(crate) const fn patterned_field(self) -> Option<FieldForm> {
        match self {
            Self::Paths | Self::Callback => Some(One(Self::PathItem)),
            Self::Content => Some(One(Self::MediaType)),
            Self::Responses => Some(One(Self::Response)),
            Self::SecurityRequirement => Some(Texts),
            _ => None,
        }
    }

    /// Returns true if the generator uses the field even in documents of an older version that does not
    /// define it, because operations would otherwise be lost.
    pub(crate) fn is_read_early(self, field: FixedField) -> bool {
        self == Self::PathItem || (self == Self::Document && field.name == "webhooks")
    }

    /// Returns true if `x-` members are extensions. In a Security Requirement Object, they are scheme names.
    pub(crate) const fn allows_extensions(self) -> bool {
        !matches!(self, Self::SecurityRequirement)
    }

    /// Returns true if a Reference Object is allowed instead of an object of this type.
    pub(crate) const fn allows_reference(self) -> bool {
        self.components_section().is_some()
    }

    /// Returns true if a reference to an object in this section of `components` is accepted where an object
    /// of this type is expected, although the section is that of another type.
    pub(crate) fn is_compatible_with(self, section: &str) -> bool {
        matches!(
            (self, section),
            (Self::Response, "requestBodies")
                | (Self::RequestBody, "responses")
                | (Self::Header, "parameters")
        )
    }

    /// Returns the fallback that is used if an object of this type cannot be resolved or parsed, as a clause
    /// for the diagnostic.
    pub(crate) const fn fallback_if_unresolved(self) -> &'static str {
        match self {
            // The status of the response is known, but its body is not.
            Self::Response => "its body is read as bytes",
            Self::MediaType => "it is read without a schema",
            _ => "the value is left out",
        }
    }

    /// Returns the fallback that is used if an object of this type lacks a required field, as a clause for
    /// the diagnostic.
    pub(crate) const fn fallback_if_incomplete(self) -> &'static str {
        match self {
            Self::Parameter => "the parameter is left out",
            Self::RequestBody => "the body is left out",
            Self::Server => "the server is left out",
            Self::Tag => "the tag is left out",
            Self::SecurityScheme => "the transport must add the credential",
            _ => "the field is treated as absent",
        }
    }

    /// Returns the fallback and the help text for a field that objects of this type do not have. Returns
    /// `None` if the unknown field cannot affect the generated code.
    pub(crate) fn fallback_for_unknown_field(
        self,
        key: &str,
        value: &DocumentNode,
    ) -> Option<(&'static str, Option<&'static str>)> {
        let is_keyword = || Keyword::find(key).is_some();
        match self {
            Self::PathItem if value.is_object() => {
                let help = "OpenAPI has `get`, `put`, `post`, `delete`, `options`, `head`, `patch`, `trace`, \
                            and 3.2 `query` and `additionalOperations`";
                Some(("no operation is generated for it", Some(help)))
            }
            Self::Response | Self::RequestBody if key == "schema" => Some((
                "the body that it describes is left out",
                Some("write `content: { application/json: { schema: … } }`"),
            )),
            Self::MediaType if is_keyword() => {
                Some(("the keyword is left out", Some("move it into `schema`")))
            }
            Self::PathItem | Self::Response | Self::RequestBody | Self::MediaType => {
                Some(("it is left out", None))
            }
            _ => None,
        }
    }

    /// Returns the name of the section of `components` that contains objects of this type, or `None` if there
    /// is none.
    pub(crate) const fn components_section(self) -> Option<&'static str> {
        match self {
            Self::Response => Some("responses"),
            Self::Parameter => Some("parameters"),
            Self::Example => Some("examples"),
            Self::RequestBody => Some("requestBodies"),
            Self::Header => Some("headers"),
            Self::SecurityScheme => Some("securitySchemes"),
            Self::Link => Some("links"),
            Self::Callback => Some("callbacks"),
            Self::PathItem => Some("pathItems"),
            Self::MediaType => Some("mediaTypes"),
            _ => None,
        }
    }

    /// Returns the name of the type with its article, for messages.
    pub(crate) const fn display_name(self) -> &'static str {
        match self {
            Self::Document => "an OpenAPI document",
            Self::Info => "the `info`",
            Self::Contact => "a contact",
            Self::License => "a licence",
            Self::Server => "a server",
            Self::ServerVariable => "a server variable",
            Self::Paths => "the `paths`",
            Self::PathItem => "a path item",
            Self::Operation => "an operation",
            Self::Parameter => "a parameter",
            Self::Header => "a header",
            Self::RequestBody => "a request body",
            Self::Content => "the `content`",
            Self::MediaType => "a media type",
            Self::Encoding => "an encoding",
            Self::Responses => "the `responses`",
            Self::Response => "a response",
            Self::Components => "the `components`",
            Self::Callback => "a callback",
            Self::Link => "a link",
            Self::Example => "an example",
            Self::Tag => "a tag",
            Self::ExternalDocs => "an external documentation object",
            Self::SecurityScheme => "a security scheme",
            Self::Flows => "the OAuth flows",
            Self::Flow => "an OAuth flow",
            Self::SecurityRequirement => "a security requirement",
        }
    }
}
