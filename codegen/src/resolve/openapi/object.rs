//! The objects of OpenAPI 3.0, 3.1 and 3.2 as tables: which fields each has, what they hold.

use crate::{schema::keywords::Keyword, tree::Tree};

/// A kind of object (OpenAPI 3.1, 4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
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

/// What the value of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Anything.
    Any,
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// An array of strings.
    Texts,
    /// An object of strings.
    TextMap,
    /// A schema.
    Schema,
    /// `components/schemas`.
    Schemas,
    /// An object.
    One(Kind),
    /// An array of objects.
    List(Kind),
    /// An object of objects.
    Map(Kind),
    /// An array of security requirements, which must never become an empty one.
    Security,
}

/// Whether a field may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It may.
    May,
    /// OpenAPI requires it, and a generator can do without: a warning.
    Should,
    /// An error.
    Must,
}

/// A fixed field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) need: Need,
    /// The version that brought it.
    pub(crate) since: Version,
}

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    V30,
    V31,
    V32,
}

const fn may(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::May, since: Version::V30 }
}

const fn must(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::Must, since: Version::V30 }
}

const fn should(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::Should, since: Version::V30 }
}

const fn new(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::May, since: Version::V31 }
}

const fn since_32(name: &'static str, form: Form) -> Field {
    Field { name, form, need: Need::May, since: Version::V32 }
}

use Form::{Any, Flag, List, Map, One, Schema, Schemas, Security, Text, TextMap, Texts};

const DOCUMENT: &[Field] = &[
    must("openapi", Text),
    must("info", One(Kind::Info)),
    since_32("$self", Text),
    new("jsonSchemaDialect", Text),
    may("servers", List(Kind::Server)),
    may("paths", One(Kind::Paths)),
    new("webhooks", Map(Kind::PathItem)),
    may("components", One(Kind::Components)),
    may("security", Security),
    may("tags", List(Kind::Tag)),
    may("externalDocs", One(Kind::ExternalDocs)),
];
const INFO: &[Field] = &[
    should("title", Text),
    should("version", Text),
    new("summary", Text),
    may("description", Text),
    may("termsOfService", Text),
    may("contact", One(Kind::Contact)),
    may("license", One(Kind::License)),
];
const CONTACT: &[Field] = &[may("name", Text), may("url", Text), may("email", Text)];
const LICENSE: &[Field] = &[must("name", Text), new("identifier", Text), may("url", Text)];
const SERVER: &[Field] = &[
    must("url", Text),
    since_32("name", Text),
    may("description", Text),
    may("variables", Map(Kind::ServerVariable)),
];
const SERVER_VARIABLE: &[Field] = &[may("enum", Texts), must("default", Text), may("description", Text)];
const PATH_ITEM: &[Field] = &[
    may("$ref", Text),
    may("summary", Text),
    may("description", Text),
    may("get", One(Kind::Operation)),
    may("put", One(Kind::Operation)),
    may("post", One(Kind::Operation)),
    may("delete", One(Kind::Operation)),
    may("options", One(Kind::Operation)),
    may("head", One(Kind::Operation)),
    may("patch", One(Kind::Operation)),
    may("trace", One(Kind::Operation)),
    since_32("query", One(Kind::Operation)),
    since_32("additionalOperations", Map(Kind::Operation)),
    may("servers", List(Kind::Server)),
    may("parameters", List(Kind::Parameter)),
];
const OPERATION: &[Field] = &[
    may("tags", Texts),
    may("summary", Text),
    may("description", Text),
    may("externalDocs", One(Kind::ExternalDocs)),
    may("operationId", Text),
    may("parameters", List(Kind::Parameter)),
    may("requestBody", One(Kind::RequestBody)),
    may("responses", One(Kind::Responses)),
    may("callbacks", Map(Kind::Callback)),
    may("deprecated", Flag),
    may("security", Security),
    may("servers", List(Kind::Server)),
];
const PARAMETER: &[Field] = &[
    must("name", Text),
    must("in", Text),
    may("description", Text),
    may("required", Flag),
    may("deprecated", Flag),
    may("allowEmptyValue", Flag),
    may("style", Text),
    may("explode", Flag),
    may("allowReserved", Flag),
    may("schema", Schema),
    may("example", Any),
    may("examples", Map(Kind::Example)),
    may("content", One(Kind::Content)),
];
const HEADER: &[Field] = &[
    may("description", Text),
    may("required", Flag),
    may("deprecated", Flag),
    may("style", Text),
    may("explode", Flag),
    may("schema", Schema),
    may("example", Any),
    may("examples", Map(Kind::Example)),
    may("content", One(Kind::Content)),
];
const REQUEST_BODY: &[Field] =
    &[may("description", Text), must("content", One(Kind::Content)), may("required", Flag)];
const MEDIA_TYPE: &[Field] = &[
    may("schema", Schema),
    since_32("itemSchema", Schema),
    may("example", Any),
    may("examples", Map(Kind::Example)),
    may("encoding", Map(Kind::Encoding)),
    since_32("prefixEncoding", List(Kind::Encoding)),
    since_32("itemEncoding", One(Kind::Encoding)),
];
const ENCODING: &[Field] = &[
    since_32("encoding", Map(Kind::Encoding)),
    since_32("prefixEncoding", List(Kind::Encoding)),
    since_32("itemEncoding", One(Kind::Encoding)),
    may("contentType", Text),
    may("headers", Map(Kind::Header)),
    may("style", Text),
    may("explode", Flag),
    may("allowReserved", Flag),
];
const RESPONSE: &[Field] = &[
    since_32("summary", Text),
    should("description", Text),
    may("headers", Map(Kind::Header)),
    may("content", One(Kind::Content)),
    may("links", Map(Kind::Link)),
];
const COMPONENTS: &[Field] = &[
    may("schemas", Schemas),
    may("responses", Map(Kind::Response)),
    may("parameters", Map(Kind::Parameter)),
    may("examples", Map(Kind::Example)),
    may("requestBodies", Map(Kind::RequestBody)),
    may("headers", Map(Kind::Header)),
    may("securitySchemes", Map(Kind::SecurityScheme)),
    may("links", Map(Kind::Link)),
    may("callbacks", Map(Kind::Callback)),
    new("pathItems", Map(Kind::PathItem)),
    since_32("mediaTypes", Map(Kind::MediaType)),
];
const LINK: &[Field] = &[
    may("operationRef", Text),
    may("operationId", Text),
    may("parameters", Any),
    may("requestBody", Any),
    may("description", Text),
    may("server", One(Kind::Server)),
];
const EXAMPLE: &[Field] = &[
    may("summary", Text),
    may("description", Text),
    since_32("dataValue", Any),
    since_32("serializedValue", Text),
    may("value", Any),
    may("externalValue", Text),
];
const TAG: &[Field] = &[
    must("name", Text),
    since_32("summary", Text),
    may("description", Text),
    may("externalDocs", One(Kind::ExternalDocs)),
    since_32("parent", Text),
    since_32("kind", Text),
];
const EXTERNAL_DOCS: &[Field] = &[may("description", Text), must("url", Text)];
const SECURITY_SCHEME: &[Field] = &[
    must("type", Text),
    may("description", Text),
    may("name", Text),
    may("in", Text),
    may("scheme", Text),
    may("bearerFormat", Text),
    may("flows", One(Kind::Flows)),
    may("openIdConnectUrl", Text),
    since_32("oauth2MetadataUrl", Text),
    since_32("deprecated", Flag),
];
const FLOWS: &[Field] = &[
    may("implicit", One(Kind::Flow)),
    may("password", One(Kind::Flow)),
    may("clientCredentials", One(Kind::Flow)),
    may("authorizationCode", One(Kind::Flow)),
    since_32("deviceAuthorization", One(Kind::Flow)),
];
const FLOW: &[Field] = &[
    may("authorizationUrl", Text),
    since_32("deviceAuthorizationUrl", Text),
    may("tokenUrl", Text),
    may("refreshUrl", Text),
    must("scopes", TextMap),
];

/// Whether a member is an extension. Among media types only what can be none is.
pub(crate) fn is_extension(kind: Kind, key: &str) -> bool {
    kind.extensible() && key.starts_with("x-") && !(kind == Kind::Content && key.contains('/'))
}

impl Kind {
    /// Its fixed fields.
    pub(crate) const fn fields(self) -> &'static [Field] {
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

    /// What every other member holds, for objects whose keys are data.
    pub(crate) const fn others(self) -> Option<Form> {
        match self {
            Self::Paths | Self::Callback => Some(One(Self::PathItem)),
            Self::Content => Some(One(Self::MediaType)),
            Self::Responses => Some(One(Self::Response)),
            Self::SecurityRequirement => Some(Texts),
            _ => None,
        }
    }

    /// Whether a field is read in a document of a version without it: operations are meant as such.
    pub(crate) fn is_read_early(self, field: Field) -> bool {
        self == Self::PathItem || (self == Self::Document && field.name == "webhooks")
    }

    /// Whether `x-` members are extensions; in a Security Requirement they are scheme names.
    pub(crate) const fn extensible(self) -> bool {
        !matches!(self, Self::SecurityRequirement)
    }

    /// Whether a Reference Object may stand in its place.
    pub(crate) const fn referable(self) -> bool {
        self.section().is_some()
    }

    /// Whether what a section of `components` holds can be read as this too.
    pub(crate) fn resembles(self, section: &str) -> bool {
        matches!(
            (self, section),
            (Self::Response, "requestBodies")
                | (Self::RequestBody, "responses")
                | (Self::Header, "parameters")
        )
    }

    /// What becomes of one that cannot be read at all.
    pub(crate) const fn lost(self) -> &'static str {
        match self {
            // Its status is known, what comes with it is not.
            Self::Response => "its body is any bytes",
            Self::MediaType => "it is read without a schema",
            _ => "what stands here is left out",
        }
    }

    /// What becomes of one that has not what it must have.
    pub(crate) const fn without(self) -> &'static str {
        match self {
            Self::Parameter => "the parameter is left out",
            Self::RequestBody => "the body is left out",
            Self::Server => "the server is left out",
            Self::Tag => "the tag is left out",
            Self::SecurityScheme => "whoever sends the request has to show it, by a transport",
            _ => "it is done without",
        }
    }

    /// What is lost with a member that it has not, and what to do about that; `None` where nothing is
    /// that a client or a server is made of.
    pub(crate) fn lost_with(self, key: &str, value: &Tree) -> Option<(&'static str, Option<&'static str>)> {
        let is_keyword = || Keyword::find(key).is_some();
        match self {
            Self::PathItem if value.is_object() => {
                let help = "OpenAPI has `get`, `put`, `post`, `delete`, `options`, `head`, `patch`, `trace`, \
                            and 3.2 `query` and `additionalOperations`";
                Some(("no operation is made of it", Some(help)))
            }
            Self::Response | Self::RequestBody if key == "schema" => Some((
                "the body that it describes is left out",
                Some("write `content: { application/json: { schema: … } }`"),
            )),
            Self::MediaType if is_keyword() => {
                Some(("what it says of the body is left out", Some("put it below `schema`")))
            }
            Self::PathItem | Self::Response | Self::RequestBody | Self::MediaType => {
                Some(("it is left out", None))
            }
            _ => None,
        }
    }

    /// The member of `components` that holds such objects.
    pub(crate) const fn section(self) -> Option<&'static str> {
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

    /// What messages call it.
    pub(crate) const fn name(self) -> &'static str {
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
            Self::ExternalDocs => "an external documentation",
            Self::SecurityScheme => "a security scheme",
            Self::Flows => "the OAuth flows",
            Self::Flow => "an OAuth flow",
            Self::SecurityRequirement => "a security requirement",
        }
    }
}
