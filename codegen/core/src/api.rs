//! The operations of an OpenAPI document, with all references resolved. `resolve::openapi` parses them.

pub mod schemes;
pub(crate) mod tokens;

pub use contract_runtime::parameters::ParameterLocation as ParameterIn;
use contract_runtime::{Json, Map};

use crate::{
    schema::{SchemaId, SchemaRemapping},
    tree::{DocumentLocation, SourceId},
};

/// The parts of an OpenAPI document other than its schemas.
#[derive(Clone, Debug, Default)]
pub struct OpenApiDocument {
    pub source: SourceId,
    pub title: String,
    /// `info.version`; empty if the document has none.
    pub version: String,
    pub description: Option<String>,
    /// The entries of `servers`.
    pub servers: Vec<Server>,
    pub tags: Vec<TagDefinition>,
    /// All operations below `paths`, in document order.
    pub operations: Vec<Operation>,
    /// The operations of webhooks and callbacks. Their `path` is the name of the webhook.
    pub webhooks: Vec<Operation>,
    /// The names and the raw objects of `components.securitySchemes`.
    pub security_schemes: Vec<(String, Json)>,
}

/// An entry of `servers` (OpenAPI 3.1, 4.8.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// The `url` with variables replaced by their defaults.
    pub url: String,
    /// The `url` as written in the document, such as `https://{region}.example.com`.
    pub template: String,
    /// The `name` of the server (OpenAPI 3.2, 4.6).
    pub name: Option<String>,
    pub description: Option<String>,
    /// The entries of `variables`, in document order.
    pub variables: Vec<ServerVariable>,
}

/// An entry of `variables` of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVariable {
    pub name: String,
    /// The value in `default`; empty if the document violates the specification by omitting it.
    pub default: String,
    pub description: Option<String>,
    /// The values in `enum`; empty if any value is allowed.
    pub values: Vec<String>,
}

/// An entry of `tags`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagDefinition {
    pub name: String,
    pub summary: Option<String>,
    pub description: Option<String>,
    /// The name of the parent tag (OpenAPI 3.2, 4.22).
    pub parent: Option<String>,
    /// The category of the tag, such as `nav`, `badge` or `audience` (OpenAPI 3.2, 4.22).
    pub kind: Option<String>,
}

impl OpenApiDocument {
    /// Iterates over a tag and its ancestors, nearest first.
    pub fn tag_lineage<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a str> {
        let parent = |tag: &&str| {
            let declared = self.tags.iter().find(|each| each.name == **tag)?;
            declared.parent.as_deref()
        };
        // The number of steps is bounded by the number of tags; the parser reports cycles.
        std::iter::successors(Some(tag), move |tag| parent(tag)).take(self.tags.len() + 1)
    }

    /// Replaces all schema ids after schemas were removed from the graph.
    pub(crate) fn remap_schemas(&mut self, moved: &SchemaRemapping) {
        for operation in self.operations.iter_mut().chain(&mut self.webhooks) {
            let bodies = operation.request_body.iter_mut().flat_map(|body| &mut body.content);
            bodies.for_each(|media| media.remap_schemas(moved));
            operation.parameters.iter_mut().for_each(|parameter| moved.remap_option(&mut parameter.schema));
            for response in &mut operation.responses {
                response.content.iter_mut().for_each(|media| media.remap_schemas(moved));
                response.headers.iter_mut().for_each(|header| moved.remap_option(&mut header.schema));
            }
        }
    }
}

/// An operation: one method of a path, a webhook or a callback.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    pub place: DocumentLocation,
    /// `operationId`, or a name derived from method and path if it is missing.
    pub id: String,
    /// The name for generated code from `[names]` or `x-rust-name`; by default it is derived from the id.
    pub rust_name: Option<String>,
    /// The method as sent: `GET`.
    pub method: String,
    /// The path template as written in the document, such as `/exchange/v1/me/ships`.
    pub path: String,
    /// The path template for routing: percent-encoded, without the fragment, and with only those query pairs
    /// that are not parameters.
    pub route: String,
    pub tags: Vec<String>,
    pub summary: Option<String>,
    pub description: Option<String>,
    pub deprecated: bool,
    /// The merged parameters of path item and operation (OpenAPI 3.1, 4.8.9 and 4.8.10).
    pub parameters: Vec<Parameter>,
    pub request_body: Option<RequestBody>,
    /// The entries of `responses`, in document order.
    pub responses: Vec<Response>,
    /// The alternatives of `security`, one of which suffices. Each alternative lists the schemes that are
    /// required together, each with its scopes. If the list is empty, no authentication is required.
    pub security: Vec<Vec<(String, Vec<String>)>>,
    /// The specification extensions (properties that start with `x-`).
    pub extensions: Map<Json>,
    /// The entries of `servers` of the operation, or else of its path item.
    pub servers: Vec<Server>,
    /// The `operationId` of the operation that declares this callback, and the runtime expression of the
    /// callback's URL. `None` if the operation is not a callback.
    pub callback: Option<(String, String)>,
}

impl Operation {
    /// Returns the name from which names in generated code are derived.
    #[must_use]
    pub fn code_name(&self) -> &str {
        self.rust_name.as_deref().unwrap_or(&self.id)
    }

    /// Returns the path template without a query.
    pub fn path_template(&self) -> &str {
        self.route.split('?').next().unwrap_or_default()
    }

    /// Returns true if the method is safe: requests only read (RFC 9110, 9.2.1).
    #[must_use]
    pub fn has_safe_method(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY")
    }

    /// Returns true if the method is safe or idempotent: a repeated request has no further effect (RFC 9110,
    /// 9.2.2).
    #[must_use]
    pub fn has_idempotent_method(&self) -> bool {
        self.has_safe_method() || matches!(self.method.as_str(), "PUT" | "DELETE")
    }

    /// Iterates over the query pairs that every request contains, percent-encoded. If a name has no `=`, its
    /// value is empty.
    pub fn fixed_query_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let query = self.route.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The location of the Parameter Object itself, not of a reference to it.
    pub place: DocumentLocation,
    /// `name`, as it is sent.
    pub name: String,
    /// The name for generated code from `x-rust-name`.
    pub rust_name: Option<String>,
    pub location: ParameterIn,
    pub required: bool,
    pub deprecated: bool,
    pub description: Option<String>,
    /// `style`, or the default of the parameter location (`simple`, `form`, …).
    pub style: String,
    /// `explode`, or the default of the style.
    pub explode: bool,
    pub allow_reserved: bool,
    pub allow_empty: bool,
    /// `schema`, or the schema of the single entry of `content`.
    pub schema: Option<SchemaId>,
    /// The media type of the single entry of `content`; `None` if the parameter has a `schema`.
    pub content: Option<String>,
    /// `encoding` of the single entry of `content`: the raw objects by property.
    pub encoding: Vec<(String, Json)>,
    /// The entries of `example` and `examples`, in document order.
    pub examples: Vec<Example>,
    /// The only value of the parameter, if that value distinguishes operations with the same path and method.
    /// Clients send it without requiring an argument.
    pub constant: Option<String>,
}

/// An entry of `content`.
#[derive(Clone, Debug)]
pub struct MediaType {
    /// The media type, such as `application/json`.
    pub name: String,
    pub schema: Option<SchemaId>,
    /// `itemSchema`: the schema of each item of a sequential media type (OpenAPI 3.2, 4.14).
    pub item_schema: Option<SchemaId>,
    /// The `contentSchema` of the property `data`, if `itemSchema` describes a server-sent event with JSON in
    /// `data`.
    pub data_schema: Option<SchemaId>,
    /// `encoding`: the raw objects by property.
    pub encoding: Vec<(String, Json)>,
    /// The entries of `example` and `examples`, in document order.
    pub examples: Vec<Example>,
    /// True if generated code neither sends nor accepts this media type (`[operations] media`).
    pub omitted: bool,
}

/// An example. Its value is stored as a location, because few stages need the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The key in `examples`, or an empty string for `example`.
    pub name: String,
    /// The location of the example's value.
    pub place: DocumentLocation,
    /// True if the value is the serialized string (`serializedValue` of OpenAPI 3.2).
    pub serialized: bool,
    /// The value, if it is a string that contains `=` and may therefore show the encoding of a query or form.
    pub pairs: Option<String>,
}

/// Iterates over those media types of a body that generated code sends or accepts.
pub fn exchanged_media(content: &[MediaType]) -> impl Iterator<Item = &MediaType> + Clone {
    content.iter().filter(|media| !media.omitted)
}

impl MediaType {
    /// Iterates over the schemas of the whole body, of its items, and of the JSON in the field `data` of its
    /// events.
    pub fn schema_ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        [self.schema, self.item_schema, self.data_schema].into_iter().flatten()
    }

    fn remap_schemas(&mut self, moved: &SchemaRemapping) {
        for schema in [&mut self.schema, &mut self.item_schema, &mut self.data_schema] {
            moved.remap_option(schema);
        }
    }
}

/// A request body. References to request bodies are already resolved.
#[derive(Clone, Debug, Default)]
pub struct RequestBody {
    pub place: DocumentLocation,
    pub required: bool,
    pub description: Option<String>,
    /// The entries of `content`, in document order.
    pub content: Vec<MediaType>,
}

/// The status codes that an entry of `responses` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusPattern {
    /// One status code, such as `200`.
    Code(u16),
    /// A class of status codes such as `4XX`, stored as its leading digit.
    Range(u8),
    Default,
}

/// An entry of `responses`. If the entry is a reference, this is the target.
#[derive(Clone, Debug)]
pub struct Response {
    pub place: DocumentLocation,
    /// The key in `responses`, parsed.
    pub status: StatusPattern,
    pub description: String,
    /// The entries of `content`, in document order.
    pub content: Vec<MediaType>,
    pub headers: Vec<ResponseHeader>,
}

/// A response header.
#[derive(Clone, Debug)]
pub struct ResponseHeader {
    /// The name as written in the document.
    pub name: String,
    pub required: bool,
    pub description: Option<String>,
    pub explode: bool,
    /// `schema`, or the schema of the single entry of `content`.
    pub schema: Option<SchemaId>,
    /// The media type of the single entry of `content`; `None` if the header has a `schema`.
    pub content: Option<String>,
    /// The entries of `example` and `examples`, in document order.
    pub examples: Vec<Example>,
}
