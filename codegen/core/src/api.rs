//! The operations of an OpenAPI document, with all references resolved. `resolve::openapi` reads them.

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
    /// `info.version`; empty when missing.
    pub version: String,
    pub description: Option<String>,
    /// `servers[].url`, with variables replaced by their defaults.
    pub servers: Vec<String>,
    /// The entries of `servers[].variables`.
    pub variables: Vec<ServerVariable>,
    pub tags: Vec<TagDefinition>,
    /// All operations below `paths`, in document order.
    pub operations: Vec<Operation>,
    /// The operations of webhooks and callbacks; `path` holds the name of the webhook.
    pub webhooks: Vec<Operation>,
    /// `components.securitySchemes`: the names and the raw objects.
    pub security_schemes: Vec<(String, Json)>,
}

/// One of the `variables` of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerVariable {
    /// The unexpanded `url` of the server.
    pub server_url: String,
    pub name: String,
    /// `enum`; empty if any value is allowed.
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
        // Bounded by the number of tags: cycles are reported while the document is read.
        std::iter::successors(Some(tag), move |tag| parent(tag)).take(self.tags.len() + 1)
    }

    /// Replaces all schema ids after the graph was reduced.
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

/// An operation: one method of one path, or of a webhook or callback.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    pub place: DocumentLocation,
    /// `operationId`; derived from method and path when missing.
    pub id: String,
    /// The method as sent: `GET`.
    pub method: String,
    /// The path template as written: `/exchange/v1/me/ships`.
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
    /// `responses`, in document order.
    pub responses: Vec<Response>,
    /// The alternatives of `security`, one of which suffices. Each is a list of schemes with scopes that are
    /// required together. Empty: no authentication.
    pub security: Vec<Vec<(String, Vec<String>)>>,
    /// The members that start with `x-`.
    pub extensions: Map<Json>,
    /// `servers[].url` of the operation, else of its path item, with variables replaced by their defaults.
    pub servers: Vec<String>,
    /// The variables of these servers.
    pub variables: Vec<ServerVariable>,
    /// Set for a callback: the `operationId` of the operation that declares it, and the runtime expression of
    /// its URL.
    pub callback: Option<(String, String)>,
}

impl Operation {
    /// Returns the path template without a query.
    pub fn path_template(&self) -> &str {
        self.route.split('?').next().unwrap_or_default()
    }

    /// Iterates over the query pairs that every request contains, percent-encoded. A name without `=` has an
    /// empty value.
    pub fn fixed_query_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let query = self.route.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The location of the object itself, not of a reference to it.
    pub place: DocumentLocation,
    /// `name` as sent.
    pub name: String,
    pub location: ParameterIn,
    pub required: bool,
    pub deprecated: bool,
    pub description: Option<String>,
    /// `style`, or the default of the location (`simple`, `form`, …).
    pub style: String,
    /// `explode`, or the default of the style.
    pub explode: bool,
    pub allow_reserved: bool,
    pub allow_empty: bool,
    /// `schema`, or the schema of the single entry of `content`.
    pub schema: Option<SchemaId>,
    /// The media type of the single entry of `content`.
    pub content: Option<String>,
    /// `encoding` of that entry: the raw objects by property.
    pub encoding: Vec<(String, Json)>,
    /// The entries of `example` and `examples`, in document order.
    pub examples: Vec<Example>,
    /// The only value of the parameter, if it distinguishes operations with the same path and method. Clients
    /// send it without an argument.
    pub constant: Option<String>,
}

/// An entry of `content`.
#[derive(Clone, Debug)]
pub struct MediaType {
    /// The media type: `application/json`.
    pub name: String,
    pub schema: Option<SchemaId>,
    /// `itemSchema`: the schema of each item of a sequential media type (OpenAPI 3.2, 4.14).
    pub item_schema: Option<SchemaId>,
    /// The `contentSchema` of `data`, if `itemSchema` describes a server-sent event with JSON in `data`.
    pub data_schema: Option<SchemaId>,
    /// `encoding`: the raw objects by property.
    pub encoding: Vec<(String, Json)>,
    /// The entries of `example` and `examples`, in document order.
    pub examples: Vec<Example>,
}

/// An example: the location of its value, which most stages never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The key in `examples`; empty for `example`.
    pub name: String,
    /// The location of the example's value.
    pub place: DocumentLocation,
    /// Set if the value is the serialized string (`serializedValue` of OpenAPI 3.2).
    pub serialized: bool,
    /// The value, if it is a string with `=`: it may show the encoding of a query or form.
    pub pairs: Option<String>,
}

impl MediaType {
    /// Iterates over the schemas of the whole body and of its items.
    pub fn schema_ids(&self) -> impl Iterator<Item = SchemaId> + use<> {
        [self.schema, self.item_schema, self.data_schema].into_iter().flatten()
    }

    fn remap_schemas(&mut self, moved: &SchemaRemapping) {
        for schema in [&mut self.schema, &mut self.item_schema, &mut self.data_schema] {
            moved.remap_option(schema);
        }
    }
}

/// A `requestBody` with its reference resolved.
#[derive(Clone, Debug, Default)]
pub struct RequestBody {
    pub place: DocumentLocation,
    pub required: bool,
    pub description: Option<String>,
    /// `content`, in document order.
    pub content: Vec<MediaType>,
}

/// The status codes that an entry of `responses` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusPattern {
    /// One status code: `200`.
    Code(u16),
    /// A class of status codes, `4XX`: the leading digit.
    Range(u8),
    Default,
}

/// An entry of `responses` with its reference resolved.
#[derive(Clone, Debug)]
pub struct Response {
    pub place: DocumentLocation,
    /// The key in `responses`.
    pub status: StatusPattern,
    pub description: String,
    /// `content`, in document order.
    pub content: Vec<MediaType>,
    pub headers: Vec<ResponseHeader>,
}

/// A response header.
#[derive(Clone, Debug)]
pub struct ResponseHeader {
    /// The name as written.
    pub name: String,
    pub required: bool,
    pub description: Option<String>,
    pub explode: bool,
    /// `schema`, or the schema of the single entry of `content`.
    pub schema: Option<SchemaId>,
    /// The media type of the single entry of `content`.
    pub content: Option<String>,
    /// The entries of `example` and `examples`, in document order.
    pub examples: Vec<Example>,
}
