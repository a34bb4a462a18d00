//! The operations of a contract, read from its OpenAPI document.

pub(crate) mod schemes;
pub(crate) mod tokens;

pub use contract_runtime::parameters::Location as ParameterIn;
use contract_runtime::{Json, Map};

use crate::{
    schema::{Moved, SchemaId},
    tree::{Place, SourceId},
};

/// What an OpenAPI document says beside its schemas.
#[derive(Clone, Debug, Default)]
pub struct Api {
    /// The document.
    pub source: SourceId,
    /// `info.title`
    pub title: String,
    /// `info.version`, empty when missing
    pub version: String,
    /// `info.description`
    pub description: Option<String>,
    /// `servers[].url`
    pub servers: Vec<String>,
    /// `servers[].variables`
    pub variables: Vec<Variable>,
    /// `tags`, in document order
    pub tags: Vec<Tag>,
    /// All operations below `paths`, in document order.
    pub operations: Vec<Operation>,
    /// All operations below `webhooks`, and callbacks; `path` holds the webhook's name.
    pub webhooks: Vec<Operation>,
    /// `components.securitySchemes`: name and raw object.
    pub security_schemes: Vec<(String, Json)>,
}

/// One of the `variables` of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// The `url` that it stands in, as written.
    pub address: String,
    /// Its name there.
    pub name: String,
    /// `enum`; empty where anything may be filled in.
    pub values: Vec<String>,
}

/// One of `tags`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// `name`
    pub name: String,
    /// `summary`
    pub summary: Option<String>,
    /// `description`
    pub description: Option<String>,
    /// The name of the tag that it stands below.
    pub parent: Option<String>,
    /// What it sorts by: `nav`, `badge`, `audience` or another word (OpenAPI 3.2, 4.22).
    pub kind: Option<String>,
}

impl Api {
    /// A tag and those that it stands below, the nearest first.
    pub fn lineage<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a str> {
        let parent = |tag: &&str| {
            let declared = self.tags.iter().find(|each| each.name == **tag)?;
            declared.parent.as_deref()
        };
        // A circle is a fault, which is reported where tags are read.
        std::iter::successors(Some(tag), move |tag| parent(tag)).take(self.tags.len() + 1)
    }

    /// The same operations over the schemas of a part.
    pub(crate) fn move_to(&mut self, moved: &Moved) {
        for operation in self.operations.iter_mut().chain(&mut self.webhooks) {
            let bodies = operation.request_body.iter_mut().flat_map(|body| &mut body.content);
            bodies.for_each(|media| media.move_to(moved));
            operation.parameters.iter_mut().for_each(|parameter| moved.one(&mut parameter.schema));
            for response in &mut operation.responses {
                response.content.iter_mut().for_each(|media| media.move_to(moved));
                response.headers.iter_mut().for_each(|header| moved.one(&mut header.schema));
            }
        }
    }
}

/// One method of one path.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    /// Where it stands.
    pub place: Place,
    /// `operationId`; made from method and path when missing.
    pub id: String,
    /// Upper case: `GET`.
    pub method: String,
    /// The path template as written: `/exchange/v1/me/ships`.
    pub path: String,
    /// The path template as it is sent and found: without what stands behind a `#`, and behind a `?`
    /// only the pairs of a query that no parameter is; percent-encoded where a path must be.
    pub route: String,
    /// `tags`
    pub tags: Vec<String>,
    /// `summary`
    pub summary: Option<String>,
    /// `description`
    pub description: Option<String>,
    /// `deprecated`
    pub deprecated: bool,
    /// Path-level and operation-level parameters merged (OpenAPI 3.1, 4.8.9/4.8.10).
    pub parameters: Vec<Parameter>,
    /// `requestBody`
    pub request_body: Option<RequestBody>,
    /// `responses`, in document order.
    pub responses: Vec<Response>,
    /// Alternatives (any one suffices), each a list of (scheme, scopes) that go together.
    /// Empty: no sign-in needed.
    pub security: Vec<Vec<(String, Vec<String>)>>,
    /// Members that start with `x-`.
    pub extensions: Map<Json>,
    /// `servers[].url` of the operation, else of its path item, variables filled in.
    pub servers: Vec<String>,
    /// The variables of these.
    pub variables: Vec<Variable>,
    /// For a callback: the `operationId` of what it answers to, and the expression that gives
    /// its address.
    pub callback: Option<(String, String)>,
}

impl Operation {
    /// The template of its path alone.
    pub(crate) fn template(&self) -> &str {
        self.route.split('?').next().unwrap_or_default()
    }

    /// What every request has in its query, names and texts as they are sent. As a server reads them: a name
    /// alone has an empty text.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let query = self.route.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// One parameter of an operation.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Where it stands (behind its `$ref`).
    pub place: Place,
    /// `name`, as on the wire.
    pub name: String,
    /// `in`
    pub location: ParameterIn,
    /// `required`
    pub required: bool,
    /// `deprecated`
    pub deprecated: bool,
    /// `description`
    pub description: Option<String>,
    /// `style`, its default filled in (`simple`, `form`, `deepObject`, …).
    pub style: String,
    /// `explode`, its default filled in.
    pub explode: bool,
    /// `allowReserved`
    pub allow_reserved: bool,
    /// `allowEmptyValue`
    pub allow_empty: bool,
    /// `schema`, or the schema of its one `content` entry.
    pub schema: Option<SchemaId>,
    /// The media type when given by `content`.
    pub content: Option<String>,
    /// Its `encoding`, raw, per property.
    pub encoding: Vec<(String, Json)>,
    /// The text that it always is, by which requests are known among those of one path and method: a client sends
    /// it, and nobody is asked for it.
    pub constant: Option<String>,
}

/// One media type of a body.
#[derive(Clone, Debug)]
pub struct MediaType {
    /// `application/json`
    pub name: String,
    /// `schema`
    pub schema: Option<SchemaId>,
    /// `itemSchema`: what each of several items is (OpenAPI 3.2, 4.14).
    pub item_schema: Option<SchemaId>,
    /// Where that is an event with JSON in its `data`: the `contentSchema` of that.
    pub data_schema: Option<SchemaId>,
    /// `encoding`, raw, per property.
    pub encoding: Vec<(String, Json)>,
    /// `example` and `examples`, in document order.
    pub examples: Vec<Example>,
}

/// One example of a value; where it stands, since few ask for more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Its name among `examples`; empty for `example`.
    pub name: String,
    /// Where its value stands.
    pub place: Place,
    /// Whether that is the text as it is sent (`serializedValue` of OpenAPI 3.2).
    pub serialized: bool,
}

impl MediaType {
    /// Its schemas: of the whole, or of each item.
    pub fn schemas(&self) -> impl Iterator<Item = SchemaId> + use<> {
        [self.schema, self.item_schema, self.data_schema].into_iter().flatten()
    }

    fn move_to(&mut self, moved: &Moved) {
        for schema in [&mut self.schema, &mut self.item_schema, &mut self.data_schema] {
            moved.one(schema);
        }
    }
}

/// `requestBody`, behind its `$ref`.
#[derive(Clone, Debug, Default)]
pub struct RequestBody {
    /// Where it stands.
    pub place: Place,
    /// `required`
    pub required: bool,
    /// `description`
    pub description: Option<String>,
    /// `content`, in document order.
    pub content: Vec<MediaType>,
}

/// Which statuses a response stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// `200`
    Code(u16),
    /// `4XX`: the leading digit.
    Range(u8),
    /// `default`
    Default,
}

/// One entry of `responses`, behind its `$ref`.
#[derive(Clone, Debug)]
pub struct Response {
    /// Where it stands.
    pub place: Place,
    /// Its key.
    pub status: Status,
    /// `description`
    pub description: String,
    /// `content`, in document order.
    pub content: Vec<MediaType>,
    /// `headers`
    pub headers: Vec<Header>,
}

/// A header of a response.
#[derive(Clone, Debug)]
pub struct Header {
    /// Its name as written.
    pub name: String,
    /// `required`
    pub required: bool,
    /// `description`
    pub description: Option<String>,
    /// `explode`
    pub explode: bool,
    /// `schema`, or the schema of its one `content` entry.
    pub schema: Option<SchemaId>,
    /// The media type when given by `content`.
    pub content: Option<String>,
    /// `example` and `examples`, in document order.
    pub examples: Vec<Example>,
}
