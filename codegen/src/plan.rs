//! Decides every operation once, for all who write something about it: names, parameters, bodies,
//! answers, refusals, and in which order paths are tried.
//!
//! ```text
//! Api + Shapes ──► plan ──┬► operations   the table
//!                         ├► bodies, calls, answers   the types that both sides share
//!                         ├► client, server
//!                         └► lower   the same for other engines
//! ```
//!
//! A plan is plain data: no code, and types as the shape stage has them. The index of a call is
//! that of its operation, the index of a parameter is its row of the table on both sides.

mod answers;
mod bodies;
mod idle;
mod names;
mod order;
mod pages;
mod parts;
mod reason;
mod streams;
mod text;

use std::collections::BTreeSet;

pub(crate) use answers::outcome;
pub use answers::{Answers, Case, Choice, Outcome, Payload};
pub use bodies::{Body, BodyType, BodyVariant, Content, Format, Mark, Row};
pub use idle::check_names;
pub(crate) use order::{check_places, settle_constants};
pub use pages::{Limit, Pages, Route, Step, Unfit, Way, check as check_pages};
pub use parts::{Part, PartCount, PartForm};
#[cfg(feature = "mock")]
pub use streams::Item;
pub use streams::{Streamed, StreamedBody, Streams, check as check_streams};
pub use text::{Scalar, Shape};

use contract_runtime::Json;

use crate::{
    api::{self, Api, Operation, ParameterIn, tokens::is_token},
    config::{self, ClientConfig, Config, OperationConfig, StreamConfig},
    diagnostics::{Diagnostic, Diagnostics},
    schema::{Graph, SchemaId},
    shape::{Shapes, TypeRef},
};

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// All schemas.
    pub graph: &'a Graph,
    /// All types.
    pub shapes: &'a Shapes,
    /// All operations.
    pub api: &'a Api,
    /// What the contract does not say of its operations.
    pub operations: &'a OperationConfig,
    /// What it does not say of clients.
    pub client: &'a ClientConfig,
    /// What is handed on as it comes.
    pub streams: Option<&'a StreamConfig>,
    /// What comes page by page.
    pub pages: &'a [config::Pages],
    /// Whether a registry table is called [`SCOPE`].
    pub scope_table: bool,
    /// Whether `properties` without `type` mean an object.
    pub implied_objects: bool,
}

/// Which operations of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Side {
    /// Those below `paths`, which clients call.
    #[default]
    Paths,
    /// Those below `webhooks`, and callbacks, which the interface itself calls.
    Webhooks,
}

/// All operations of one side, decided.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Which.
    pub side: Side,
    /// The document.
    pub api: &'a Api,
    /// One for each operation, in document order.
    pub calls: Vec<Call<'a>>,
    /// What is handed on as it comes, where anything is.
    pub streams: Option<&'a StreamConfig>,
    /// What is wrong with what was said of pages.
    pub unfit: Vec<Unfit>,
    /// The order in which paths are tried, as indices of `calls`.
    pub order: Vec<usize>,
    /// The enums of answers and refusals, each once, by name.
    pub choices: Vec<Choice>,
    /// What most operations refuse with.
    pub common: Option<Refused>,
    /// Scopes that security schemes declare or operations ask for, with what is said of them.
    pub scopes: Vec<(String, Option<String>)>,
    /// Whether their enum is that of a registry table, which says more of them.
    pub scope_table: bool,
}

/// The enum of scopes; a registry table of this name takes its place.
pub const SCOPE: &str = "Scope";

/// All operations of a contract, decided.
#[derive(Clone, Debug)]
pub struct Plans<'a> {
    /// Those below `paths`.
    pub paths: Plan<'a>,
    /// Those below `webhooks`, and callbacks.
    pub webhooks: Plan<'a>,
}

impl Refused {
    /// Whether both are one Rust type.
    #[must_use]
    pub fn is_as_rust(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(one), Self::One(other)) => one.is_as_rust(other),
            (one, other) => one == other,
        }
    }
}

impl<'a> Plans<'a> {
    /// Those of one side.
    #[must_use]
    pub const fn of(&self, side: Side) -> &Plan<'a> {
        match side {
            Side::Paths => &self.paths,
            Side::Webhooks => &self.webhooks,
        }
    }

    /// Each side.
    pub fn iter(&self) -> impl Iterator<Item = &Plan<'a>> {
        [&self.paths, &self.webhooks].into_iter()
    }
}

/// What operations refuse with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// One type.
    One(Payload),
    /// An enum of [`Plan::choices`], by name.
    Choice(String),
}

/// One operation, decided.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// What the contract says.
    pub operation: &'a Operation,
    /// Its variant of `OperationId` and `Incoming`: `PetWrite`.
    pub id: String,
    /// Its method: `pet_write`.
    pub method: String,
    /// The struct of what may be left out: `PetWrite`.
    pub options: String,
    /// The struct of everything that it is asked: `PetWriteCall`.
    pub name: String,
    /// What a second sending of the same request does.
    pub repeat: Repeat,
    /// Whether it requires the header that makes a repetition harmless, whatever `repeat` says.
    pub keyed: bool,
    /// The rows of the table, in document order.
    pub parameters: Vec<Parameter<'a>>,
    /// The body.
    pub body: Option<Body<'a>>,
    /// What it answers.
    pub answers: Answers,
    /// What it refuses with.
    pub refusals: Answers,
    /// The media types that a client can read, results first.
    pub accept: Option<String>,
    /// What of it is handed on as it comes.
    pub streams: Streams,
    /// The number of the `[[pages]]` by which it answers page by page, and how.
    pub pages: Option<(usize, Pages)>,
    /// Whether a caller need not sign in.
    pub anonymous: bool,
    /// Alternatives of scopes, each once; none when some alternative asks for no scope.
    pub scopes: Vec<Vec<&'a str>>,
    /// Why no client can send it.
    pub unsendable: Option<String>,
}

/// What a second sending of the same request does, where the method does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// What the method says.
    Method,
    /// It only reads.
    Safe,
    /// It changes nothing more.
    Idempotent,
    /// It changes nothing more, since it carries a key.
    Keyed,
}

/// One parameter, decided.
#[derive(Clone, Debug)]
pub struct Parameter<'a> {
    /// What the contract says.
    pub parameter: &'a api::Parameter,
    /// Its field; none when the transport supplies it, and where it is always the same.
    pub field: Option<String>,
    /// Its type, which is never `null`: that has no text.
    pub ty: TypeRef,
    /// The only texts that it, or each of its elements, can be; none where there are others, or too many to list.
    pub values: Vec<String>,
    /// Whether it is deprecated, or its schema is, where it stands.
    pub deprecated: bool,
    /// Its row of the table.
    pub row: Row,
}

impl Side {
    /// The operations of this side.
    #[must_use]
    pub fn of(self, api: &Api) -> &[Operation] {
        match self {
            Self::Paths => &api.operations,
            Self::Webhooks => &api.webhooks,
        }
    }
}

impl Call<'_> {
    /// The arguments that a caller has to give, by their rows: those of the path in the order of
    /// its template, then the others in document order.
    pub fn required(&self) -> impl Iterator<Item = (usize, &Parameter<'_>)> {
        let mut rows: Vec<(usize, &Parameter<'_>)> = self.fields().filter(|(_, p)| p.row.required).collect();
        let path = &self.operation.path;
        rows.sort_by_key(|(_, parameter)| match parameter.row.location {
            ParameterIn::Path => path.find(&format!("{{{}}}", parameter.row.name)).unwrap_or(usize::MAX),
            _ => usize::MAX,
        });
        rows.into_iter()
    }

    /// What may be left out, by its rows.
    pub fn optional(&self) -> impl Iterator<Item = (usize, &Parameter<'_>)> {
        self.fields().filter(|(_, parameter)| !parameter.row.required)
    }

    /// Whether anything may be left out, the body included.
    #[must_use]
    pub fn has_options(&self) -> bool {
        self.optional().next().is_some() || self.body.as_ref().is_some_and(|body| !body.body.required)
    }

    /// `GET /pets`, as messages and documentation call it. Of what stands behind `#`, which is never sent, it
    /// is said what requests are known by: `GET / with Action=Run`.
    #[must_use]
    pub fn place(&self) -> String {
        let Operation { method, path, .. } = self.operation;
        let template = self.operation.template();
        let label = path.strip_prefix(template).and_then(|rest| rest.find('#'));
        let Some(shown) = label.and_then(|at| path.get(..template.len() + at)) else {
            return format!("{method} {path}");
        };
        let text = |parameter: &Parameter<'_>| match &parameter.row.mark {
            Some(Mark::Text(text)) => Some(format!("{}={text}", parameter.row.name)),
            _ => None,
        };
        let there =
            |parameter: &Parameter<'_>| parameter.row.mark.as_ref().map(|_| parameter.row.name.clone());
        let mut known: Vec<String> = self.parameters.iter().filter_map(text).collect();
        if known.is_empty() {
            known.extend(self.parameters.iter().filter_map(there));
        }
        match known.as_slice() {
            [] => format!("{method} {shown}"),
            known => format!("{method} {shown} with {}", known.join(" and ")),
        }
    }

    fn fields(&self) -> impl Iterator<Item = (usize, &Parameter<'_>)> {
        self.parameters.iter().enumerate().filter(|(_, parameter)| parameter.field.is_some())
    }
}

impl<'a> Plan<'a> {
    /// The operations that a server answers: of those that stand for the same requests the first.
    pub fn served(&self) -> impl Iterator<Item = &Call<'a>> {
        let found: BTreeSet<usize> = self.order.iter().copied().collect();
        let calls = self.calls.iter().enumerate();
        calls.filter(move |(at, _)| found.contains(at)).map(|(_, call)| call)
    }
}

/// OpenAPI 3.1, 4.8.12.1: parameters of these names are ignored.
const IGNORED: &[&str] = &["accept", "content-type", "authorization"];

/// Decides all operations of one side.
#[must_use]
pub fn plan<'a>(given: Given<'a>, side: Side) -> Plan<'a> {
    let operations = side.of(given.api);
    let names = names::names(operations);
    let calls = operations.iter().zip(names).map(|(operation, names)| call(given, side, operation, names));
    let mut calls: Vec<Call<'a>> = calls.collect();
    streams::name(&mut calls);
    let order = match side {
        Side::Paths => {
            let order = order::order(&calls);
            order::unmark(&mut calls);
            order
        }
        // Their paths are names; where each is received is the receiver's choice.
        Side::Webhooks => (0..calls.len()).collect(),
    };
    let unfit = pages::decide(given, side, &mut calls);
    let choices = answers::choices(given.shapes, &mut calls);
    let common = answers::common(&calls);
    let scopes = if side == Side::Paths { scopes(given.api) } else { Vec::new() };
    let scope_table = given.scope_table;
    let streams = given.streams.filter(|_| calls.iter().any(|call| !call.streams.is_empty()));
    Plan { side, api: given.api, streams, unfit, calls, order, choices, common, scopes, scope_table }
}

/// Reports options that name an operation which the contract does not have.
pub fn check_lists(options: &Config, api: &Api, diagnostics: &mut Diagnostics) {
    let config = &options.operations;
    let called: BTreeSet<&str> = api.operations.iter().map(|o| o.id.as_str()).collect();
    let known: BTreeSet<&str> =
        called.iter().copied().chain(api.webhooks.iter().map(|o| o.id.as_str())).collect();
    let own = [
        ("operations.safe", &config.safe),
        ("operations.idempotent", &config.idempotent),
        ("operations.raw", &config.raw),
    ];
    let own = own.into_iter().map(|(option, ids)| (option, ids, &known));
    let streams = options.streams.iter().flat_map(|streams| {
        let (downloads, uploads) = (&streams.downloads, &streams.uploads);
        [("streams.downloads", downloads, &called), ("streams.uploads", uploads, &called)]
    });
    // A client calls operations; webhooks call it.
    let views = options.views.iter().map(|view| ("view.operations", &view.operations, &called));
    let pages = options.pages.iter().map(|pages| ("pages.operations", &pages.operations, &called));
    pages::check_entries(options, api, diagnostics);
    for (option, ids, known) in own.chain(views).chain(pages).chain(streams) {
        for id in ids.iter().filter(|id| !known.contains(id.as_str())) {
            let message = format!("`{option}` names an operation that the contract does not have: `{id}`");
            diagnostics.push(
                Diagnostic::error("config", message)
                    .maybe_at(options.place(option, id))
                    .help("an operation is named by its `operationId`"),
            );
        }
    }
}

fn call<'a>(given: Given<'a>, side: Side, operation: &'a Operation, names: names::Names) -> Call<'a> {
    let config = given.operations;
    let names::Names { id, method, options, call } = names;
    let named = |list: &[String]| list.contains(&operation.id);
    let raw = named(&config.raw);
    let mut parameters = parameters(given, side, operation);
    names::name_fields(side, &mut parameters);
    let body = operation.request_body.as_ref().and_then(|body| given.body(&id, body, raw));
    let (answers, refusals) = given.answers(operation, raw);
    let accept = answers::accept(operation, &answers, &refusals);
    let mut call = Call {
        unsendable: unsendable(side, operation, &parameters, body.as_ref()),
        repeat: repeat(given, operation),
        keyed: carries_key(given, operation),
        anonymous: operation.security.is_empty() || operation.security.iter().any(Vec::is_empty),
        scopes: alternatives(operation),
        operation,
        id,
        method,
        options,
        name: call,
        parameters,
        body,
        answers,
        refusals,
        accept,
        streams: Streams::default(),
        pages: None,
    };
    // What the interface itself calls is answered at once.
    if side == Side::Paths && !raw {
        call.streams = given.streams(&call);
    }
    call
}

/// The parameters that have rows: those that something around a handler reads have none.
fn visible<'o>(
    config: &OperationConfig,
    operation: &'o Operation,
) -> impl Iterator<Item = &'o api::Parameter> {
    operation.parameters.iter().filter(move |parameter| is_visible(config, parameter))
}

fn is_visible(config: &OperationConfig, parameter: &api::Parameter) -> bool {
    let mut list = config.hidden_headers.iter().map(String::as_str).chain(IGNORED.iter().copied());
    parameter.location != ParameterIn::Header || !list.any(|name| parameter.name.eq_ignore_ascii_case(name))
}

/// Whether the transport supplies a parameter, not whoever calls.
fn is_supplied(config: &ClientConfig, parameter: &api::Parameter) -> bool {
    matches!(parameter.location, ParameterIn::Header | ParameterIn::Cookie)
        && config.transport_headers.iter().any(|name| parameter.name.eq_ignore_ascii_case(name))
}

fn parameters<'a>(given: Given<'a>, side: Side, operation: &'a Operation) -> Vec<Parameter<'a>> {
    let settled = visible(given.operations, operation).map(|parameter| Parameter {
        parameter,
        field: (parameter.constant.is_none() && !is_supplied(given.client, parameter)).then(String::new),
        ty: match parameter.schema.map(|schema| given.shapes.of(schema)) {
            _ if parameter.constant.is_some() => TypeRef::String,
            Some(TypeRef::Nullable(inner)) => (**inner).clone(),
            Some(ty) => ty.clone(),
            None => TypeRef::String,
        },
        values: given.values_of(parameter),
        deprecated: parameter.deprecated
            || parameter.schema.is_some_and(|schema| given.graph.schema(schema).deprecated),
        row: Row {
            name: parameter.name.clone(),
            location: parameter.location,
            // OpenAPI 3.1, 4.8.12.1: a parameter of the path has to be.
            required: parameter.required || parameter.location == ParameterIn::Path,
            style: parameter.style.clone(),
            explode: parameter.explode,
            allow_reserved: parameter.allow_reserved,
            // OpenAPI 3.1, 4.8.12.2.1: "This is valid only for query parameters".
            allow_empty: parameter.allow_empty
                && !parameter.required
                && parameter.location == ParameterIn::Query,
            shape: given.text_of(parameter),
            schema: parameter.schema,
            mark: order::mark_of(given.graph, parameter).filter(|_| side == Side::Paths),
        },
    });
    settled.collect()
}

fn repeat(given: Given<'_>, operation: &Operation) -> Repeat {
    let config = given.operations;
    if config.safe.contains(&operation.id) {
        Repeat::Safe
    } else if config.idempotent.contains(&operation.id) {
        Repeat::Idempotent
    } else if carries_key(given, operation) {
        Repeat::Keyed
    } else {
        Repeat::Method
    }
}

fn carries_key(given: Given<'_>, operation: &Operation) -> bool {
    let key = given.operations.idempotency_header.as_deref().unwrap_or("");
    operation.parameters.iter().any(|parameter| {
        let header = parameter.location == ParameterIn::Header && parameter.required;
        header && parameter.name.eq_ignore_ascii_case(key)
    })
}

/// Why no client can send an operation.
fn unsendable(
    side: Side,
    operation: &Operation,
    parameters: &[Parameter<'_>],
    body: Option<&Body<'_>>,
) -> Option<String> {
    if !is_token(&operation.method) {
        return Some(format!("`{}` is no method", operation.method));
    }
    let is_header = |row: &Row| row.location == ParameterIn::Header && row.required;
    let mut asked = parameters.iter().filter(|parameter| parameter.field.is_some());
    if let Some(header) = asked.find(|each| is_header(&each.row) && !is_token(&each.row.name)) {
        return Some(format!("`{}` is no name of a header", header.row.name));
    }
    let sent = body.into_iter().flat_map(|body| body.variants.iter().map(|v| &body.contents[v.sent].media));
    for media in sent {
        if !contract_runtime::media::MediaType::of(&media.name).is_sendable() {
            return Some(format!("`{}` is no media type that a client can send", media.name));
        }
    }
    // A webhook has a name where others have a path, in which its parameters stand.
    let mut in_path = operation.parameters.iter().filter(|each| each.location == ParameterIn::Path);
    let lost = in_path.next().filter(|_| side == Side::Webhooks)?;
    Some(format!("path parameter `{}` is not in the path", lost.name))
}

fn alternatives(operation: &Operation) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    for alternative in &operation.security {
        let mut scopes: Vec<&str> =
            alternative.iter().flat_map(|(_, scopes)| scopes).map(String::as_str).collect();
        scopes.sort_unstable();
        scopes.dedup();
        if scopes.is_empty() {
            return Vec::new();
        }
        if !all.contains(&scopes) {
            all.push(scopes);
        }
    }
    all
}

/// Those that security schemes declare, in their order, then those that operations ask for.
pub(crate) fn scopes(api: &Api) -> Vec<(String, Option<String>)> {
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    let mut add = |scope: &str, doc: Option<&str>| {
        if !all.iter().any(|(known, _)| known == scope) {
            all.push((scope.to_owned(), doc.filter(|doc| !doc.is_empty()).map(str::to_owned)));
        }
    };
    for (_, scheme) in &api.security_schemes {
        let Some(Json::Object(flows)) = scheme.pointer("/flows") else { continue };
        for (_, flow) in flows.iter() {
            let Some(Json::Object(scopes)) = flow.pointer("/scopes") else { continue };
            for (scope, doc) in scopes.iter() {
                add(scope, doc.as_str());
            }
        }
    }
    for scope in api.operations.iter().flat_map(alternatives).flatten() {
        add(scope, None);
    }
    all
}

/// What a schema, or one that it refers to, says of itself.
pub(crate) fn described(graph: &Graph, schema: SchemaId) -> Option<String> {
    let mut next = Some(schema);
    // Bounded like every walk over references: a graph may be made by hand.
    for _ in 0..8 {
        let schema = graph.schema(next?);
        if let Some(text) = &schema.description {
            return Some(text.clone());
        }
        next = schema.reference;
    }
    None
}

#[cfg(test)]
pub(crate) mod tests;
