//! Plans every operation once for all parts of the generator: names, parameters, bodies, responses, errors,
//! and the order in which paths are matched.
//!
//! ```text
//! Api + Shapes ──► plan ──┬► operations   the operation table
//!                         ├► bodies, calls, responses   types shared by client and server
//!                         ├► client, server
//!                         └► lower   contracts for other generators
//! ```
//!
//! A plan is plain data: it contains no code and refers to types in [`Shapes`]. A call has the same index as
//! its operation, and a parameter has the same index as its table row. The entry point is [`build_plan`].

mod bodies;
mod client_groups;
mod headers;
mod idempotency;
mod operation_names;
mod pages;
mod parts;
mod path_order;
mod reason;
mod responses;
mod shown_fields;
mod streams;
mod text_shape;
mod unused_names;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

pub use bodies::{
    BodyFormat, BodyType, BodyVariant, MediaTypePlan, ParameterRow, RequestBodyPlan, RequestMark,
};
pub use client_groups::ClientGroup;
pub(crate) use client_groups::method_prefix;
pub use headers::{HeaderStruct, PlannedHeader};
pub(crate) use idempotency::{add_idempotency_headers, check_idempotency_header};
pub(crate) use operation_names::method_name;
pub use pages::{
    NextPage, PageLimit, PageProblem, Pagination, ValuePath, ValuePathStep, report_problems as check_pages,
};
pub use parts::{MultipartPart, PartArity, PartForm};
pub(crate) use path_order::{assign_constants, check_ambiguous_paths};
pub(crate) use responses::outcome_of;
pub use responses::{ResponseCase, ResponseEnum, ResponseOutcome, ResponsePayload, ResponseSet};
pub use shown_fields::ShownFields;
pub(crate) use shown_fields::is_selector;
pub use streams::StreamItem;
pub use streams::{
    StreamContent, StreamPlan, StreamedBody, StreamedResponse, check_stream_options as check_streams,
};
pub use text_shape::{TextScalar, TextShape};
pub use unused_names::check_names;
pub use wire::check_wire;

use contract_runtime::Json;

use crate::{
    api::{self, OpenApiDocument, Operation, ParameterIn, tokens::is_token},
    config::{self, ClientConfig, Config, OperationConfig, StreamConfig, WireConfig, WireSettings},
    diagnostics::{Diagnostic, Diagnostics},
    resolve::suggest::help_nearest,
    schema::{SchemaGraph, SchemaId},
    shape::{Shapes, TypeRef},
};

/// The input for planning operations: a contract and the relevant parts of its configuration.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    pub graph: &'a SchemaGraph,
    pub shapes: &'a Shapes,
    pub api: &'a OpenApiDocument,
    /// The configuration section `[operations]`.
    pub operations: &'a OperationConfig,
    /// The configuration section `[client]`.
    pub client: &'a ClientConfig,
    /// The configuration section `[streams]`.
    pub streams: &'a StreamConfig,
    /// True if the documents mention [`DONE_MARKER`].
    pub has_done_marker: bool,
    /// The configuration entries `[[pages]]`.
    pub pages: &'a [config::PaginationConfig],
    /// True if a registry table has the name [`SCOPE`]. The enum of this table then replaces the generated
    /// enum of scopes.
    pub scope_table: bool,
    /// The option `implied-objects`: true if a schema with `properties` and without `type` describes an
    /// object.
    pub implied_objects: bool,
    /// The configuration section `[wire]`.
    pub wire: &'a WireConfig,
    /// The settings from `wire.schemas` for each selected schema.
    pub wire_schemas: &'a BTreeMap<SchemaId, WireSettings>,
    /// The selectors in `wire.schemas`, with the schemas that they match.
    pub wire_selectors: &'a BTreeMap<String, Vec<SchemaId>>,
    /// The selectors in `client.shown`, with the schemas that they match.
    pub shown: &'a BTreeMap<String, Vec<SchemaId>>,
}

/// The two groups of operations, each with its own plan: those that clients call and those that the API
/// provider calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OperationSide {
    /// The operations below `paths`, which clients call.
    #[default]
    Paths,
    /// The operations below `webhooks` and the callbacks, which the API provider calls.
    Webhooks,
}

/// The plan of all operations of one [`OperationSide`].
#[derive(Clone, Debug)]
pub struct SidePlan<'a> {
    pub side: OperationSide,
    pub api: &'a OpenApiDocument,
    /// One call for each operation, in document order.
    pub calls: Vec<PlannedCall<'a>>,
    /// The groups of calls that have clients of their own, sorted by accessor.
    pub groups: Vec<ClientGroup>,
    /// The configuration of streams, if at least one call is streamed.
    pub streams: Option<&'a StreamConfig>,
    /// True if JSON event streams end with [`DONE_MARKER`], because the documents mention it and the
    /// configuration contains no other marker.
    pub has_done_marker: bool,
    /// The reasons why operations are not suitable for the `[[pages]]` entries that select them.
    pub page_problems: Vec<PageProblem>,
    /// The indices into `calls` in the order in which a server compares requests with the operations.
    /// Operations that a server cannot distinguish from an earlier one are omitted.
    pub order: Vec<usize>,
    /// The enums for responses and errors, sorted by name and without duplicates.
    pub response_enums: Vec<ResponseEnum>,
    /// The struct for the headers of error responses, if the contract declares any.
    pub error_headers: Option<HeaderStruct<'a>>,
    /// The most frequent error type of the operations, or `None` if no error response has a body.
    pub common_error: Option<ErrorType>,
    /// The scopes that security schemes declare or operations require, with their descriptions.
    pub scopes: Vec<(String, Option<String>)>,
    /// True if the enum of a registry table named [`SCOPE`] is used instead of a generated enum of scopes.
    pub scope_table: bool,
    /// The fields of error responses that `client.shown` selects.
    pub shown: Vec<ShownFields<'a>>,
}

/// The event data with which many servers end a stream of JSON events.
pub const DONE_MARKER: &str = "[DONE]";

/// The name of the generated enum of scopes. If a registry table has this name, its enum is used instead.
pub const SCOPE: &str = "Scope";

/// The plans for both sides of a contract.
#[derive(Clone, Debug)]
pub struct ContractPlan<'a> {
    /// The plan of the operations below `paths`.
    pub paths: SidePlan<'a>,
    /// The plan of the webhooks and callbacks.
    pub webhooks: SidePlan<'a>,
}

impl ErrorType {
    /// Returns true if both types are the same Rust type.
    #[must_use]
    pub fn is_same_rust_type(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::One(one), Self::One(other)) => one.is_same_rust_type(other),
            (one, other) => one == other,
        }
    }
}

impl<'a> ContractPlan<'a> {
    /// Returns the plan of one side.
    #[must_use]
    pub const fn side(&self, side: OperationSide) -> &SidePlan<'a> {
        match side {
            OperationSide::Paths => &self.paths,
            OperationSide::Webhooks => &self.webhooks,
        }
    }

    /// Iterates over the plans of both sides.
    pub fn iter(&self) -> impl Iterator<Item = &SidePlan<'a>> {
        [&self.paths, &self.webhooks].into_iter()
    }
}

/// The type that an operation returns for error responses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorType {
    One(ResponsePayload),
    /// An enum of [`SidePlan::response_enums`], by its name.
    Enum(String),
}

/// The plan of one operation.
#[derive(Clone, Debug)]
pub struct PlannedCall<'a> {
    pub operation: &'a Operation,
    /// The name of the variant in the generated enums `OperationId` and `AnyCall`, such as `PetWrite`.
    pub id: String,
    /// The name of the generated method of the server, such as `pet_write`.
    pub method: String,
    /// The name of the generated method of the client, or of the group's client.
    pub client_method: String,
    /// The method of the client that returns the group's client ([`ClientGroup::accessor`]).
    pub accessor: Option<String>,
    /// The name of the generated struct for optional arguments, such as `PetWrite`.
    pub options: String,
    /// The name of the generated struct for all arguments, such as `PetWriteCall`.
    pub name: String,
    /// The safety of repeating the request.
    pub retry: RetrySafety,
    /// True if the contract requires the header for the idempotency key, regardless of `retry`.
    pub requires_key: bool,
    /// The parameters that have a table row, in document order.
    pub parameters: Vec<PlannedParameter<'a>>,
    pub body: Option<RequestBodyPlan<'a>>,
    pub responses: ResponseSet,
    pub errors: ResponseSet,
    /// The `Accept` header: the media types that a client can parse. Those of success responses come first.
    pub accept: Option<String>,
    pub streams: StreamPlan,
    /// The struct for the headers of success responses, if the contract declares any.
    pub headers: Option<HeaderStruct<'a>>,
    /// The index of the `[[pages]]` entry that applies to the operation, and the resulting pagination.
    pub pages: Option<(usize, Pagination)>,
    /// True if `security` allows requests without credentials.
    pub anonymous: bool,
    /// The lists of scopes that the alternatives in `security` require, without duplicates. The outer list is
    /// empty if at least one alternative requires no scope.
    pub scopes: Vec<Vec<&'a str>>,
    /// The reason why no client can send the operation, or `None` if clients can send it.
    pub unsendable_reason: Option<String>,
}

/// The safety of repeating a request. The configuration may override the rule of the HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetrySafety {
    ByMethod,
    Safe,
    Idempotent,
    /// The second request has no further effect, because both requests carry the same idempotency key.
    Keyed,
}

/// The plan of one parameter.
#[derive(Clone, Debug)]
pub struct PlannedParameter<'a> {
    pub parameter: &'a api::Parameter,
    /// The name of the field for the argument, or `None` if the caller does not pass the parameter, because
    /// the transport supplies it or its value is constant.
    pub field: Option<String>,
    /// The Rust type of the argument, without `null`, which has no string form.
    pub ty: TypeRef,
    /// The valid strings of the parameter or, for a list parameter, of each element. Empty if other strings
    /// are valid as well or if there are too many.
    pub allowed_values: Vec<String>,
    /// True if the parameter or its schema is deprecated.
    pub deprecated: bool,
    pub row: ParameterRow,
}

impl OperationSide {
    /// Returns the operations or the webhooks of a document.
    #[must_use]
    pub fn operations(self, api: &OpenApiDocument) -> &[Operation] {
        match self {
            Self::Paths => &api.operations,
            Self::Webhooks => &api.webhooks,
        }
    }
}

impl PlannedCall<'_> {
    /// Returns the client method, preceded by the accessor of its group if it has one: `issues().list`.
    #[must_use]
    pub fn client_path(&self) -> String {
        match &self.accessor {
            Some(accessor) => format!("{accessor}().{}", self.client_method),
            None => self.client_method.clone(),
        }
    }

    /// Iterates over the required arguments with their row indices: path parameters in the order of the
    /// template, then the others in document order.
    pub fn required_parameters(&self) -> impl Iterator<Item = (usize, &PlannedParameter<'_>)> {
        let mut rows: Vec<(usize, &PlannedParameter<'_>)> =
            self.field_parameters().filter(|(_, p)| p.row.required).collect();
        let path = &self.operation.path;
        rows.sort_by_key(|(_, parameter)| match parameter.row.location {
            ParameterIn::Path => path.find(&format!("{{{}}}", parameter.row.name)).unwrap_or(usize::MAX),
            _ => usize::MAX,
        });
        rows.into_iter()
    }

    /// Iterates over the optional arguments with their row indices.
    pub fn optional_parameters(&self) -> impl Iterator<Item = (usize, &PlannedParameter<'_>)> {
        self.field_parameters().filter(|(_, parameter)| !parameter.row.required)
    }

    /// Returns true if at least one argument, including the body, is optional.
    #[must_use]
    pub fn has_options(&self) -> bool {
        self.optional_parameters().next().is_some()
            || self.body.as_ref().is_some_and(|body| !body.is_argument())
    }

    /// Describes the operation for messages and documentation, such as `GET /pets`. A fragment in the path is
    /// never sent, so it is replaced by the parameters that identify the request: `GET / with Action=Run`.
    #[must_use]
    pub fn describe_place(&self) -> String {
        let Operation { method, path, .. } = self.operation;
        let template = self.operation.path_template();
        let label = path.strip_prefix(template).and_then(|rest| rest.find('#'));
        let Some(shown) = label.and_then(|at| path.get(..template.len() + at)) else {
            return format!("{method} {path}");
        };
        let text = |parameter: &PlannedParameter<'_>| match &parameter.row.mark {
            Some(RequestMark::Text(text)) => Some(format!("{}={text}", parameter.row.name)),
            _ => None,
        };
        let there = |parameter: &PlannedParameter<'_>| {
            parameter.row.mark.as_ref().map(|_| parameter.row.name.clone())
        };
        let mut known: Vec<String> = self.parameters.iter().filter_map(text).collect();
        if known.is_empty() {
            known.extend(self.parameters.iter().filter_map(there));
        }
        match known.as_slice() {
            [] => format!("{method} {shown}"),
            known => format!("{method} {shown} with {}", known.join(" and ")),
        }
    }

    fn field_parameters(&self) -> impl Iterator<Item = (usize, &PlannedParameter<'_>)> {
        self.parameters.iter().enumerate().filter(|(_, parameter)| parameter.field.is_some())
    }
}

impl<'a> SidePlan<'a> {
    /// Iterates over the operations that a server can route. If several operations match the same requests,
    /// only the first is included.
    pub fn served_calls(&self) -> impl Iterator<Item = &PlannedCall<'a>> {
        let found: BTreeSet<usize> = self.order.iter().copied().collect();
        let calls = self.calls.iter().enumerate();
        calls.filter(move |(at, _)| found.contains(at)).map(|(_, call)| call)
    }
}

/// Header parameters with these names are ignored: those of OpenAPI 3.1, 4.8.12.1, and those of the message and the
/// connection, which the HTTP implementation sets (RFC 9110, 7.6.1).
const IGNORED_HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Plans all operations of one side: either those below `paths` or the webhooks.
#[must_use]
pub fn build_plan<'a>(given: PlanInput<'a>, side: OperationSide) -> SidePlan<'a> {
    let operations = side.operations(given.api);
    let names = operation_names::name_operations(operations);
    let calls =
        operations.iter().zip(names).map(|(operation, names)| build_call(given, side, operation, names));
    let mut calls: Vec<PlannedCall<'a>> = calls.collect();
    let groups = match given.client.by_tag && side == OperationSide::Paths {
        true => client_groups::group_calls(&mut calls, given.client.tag_features),
        false => Vec::new(),
    };
    streams::name_stream_methods(&groups, &mut calls);
    let order = match side {
        OperationSide::Paths => {
            let order = path_order::sort_calls(&calls);
            path_order::clear_unneeded_marks(&mut calls);
            order
        }
        // Webhook paths are only names; the receiver chooses the actual URL.
        OperationSide::Webhooks => (0..calls.len()).collect(),
    };
    let unfit = pages::plan_pages(given, side, &groups, &mut calls);
    let error_headers = headers::plan_headers(given, side, &mut calls);
    let choices = responses::build_response_enums(given.shapes, &mut calls);
    let common = responses::common_error(&calls);
    let scopes = if side == OperationSide::Paths { collect_scopes(given.api) } else { Vec::new() };
    let scope_table = given.scope_table;
    let streams = calls.iter().any(|call| !call.streams.is_empty()).then_some(given.streams);
    SidePlan {
        side,
        api: given.api,
        streams,
        has_done_marker: given.has_done_marker && given.streams.ends.is_empty(),
        page_problems: unfit,
        calls,
        groups,
        order,
        response_enums: choices,
        error_headers,
        common_error: common,
        scopes,
        scope_table,
        shown: shown_fields::find_shown_fields(
            given.graph,
            operations.iter(),
            &given.shown.values().flatten().copied().collect(),
        ),
    }
}

/// Reports an operation id in an option if no operation of the contract has this id.
pub fn check_operation_lists(options: &Config, api: &OpenApiDocument, diagnostics: &mut Diagnostics) {
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
    let (downloads, uploads) = (&options.streams.downloads, &options.streams.uploads);
    let streams = [("streams.downloads", downloads, &called), ("streams.uploads", uploads, &called)];
    // Views and pages apply only to operations that a client calls, so ids of webhooks are reported as
    // unknown.
    let views = options.views.iter().map(|view| ("view.operations", &view.operations, &called));
    let pages = options.pages.iter().map(|pages| ("pages.operations", &pages.operations, &called));
    pages::check_entries(options, api, diagnostics);
    for (option, ids, known) in own.chain(views).chain(pages).chain(streams) {
        for id in ids.iter().filter(|id| !known.contains(id.as_str())) {
            let message = format!("`{option}` names an operation that the contract does not have: `{id}`");
            diagnostics.push(
                Diagnostic::error("config", message)
                    .with_optional_place(options.option_place(option, id))
                    .help(help_nearest(id, known.iter().copied(), "use the `operationId` of an operation")),
            );
        }
    }
}

fn build_call<'a>(
    given: PlanInput<'a>,
    side: OperationSide,
    operation: &'a Operation,
    names: operation_names::OperationNames,
) -> PlannedCall<'a> {
    let config = given.operations;
    let operation_names::OperationNames { id, method, options, call } = names;
    let named = |list: &[String]| list.contains(&operation.id);
    let raw = named(&config.raw);
    let mut parameters = plan_parameters(given, side, operation);
    operation_names::name_fields(side, &mut parameters);
    let body = operation.request_body.as_ref().and_then(|body| given.plan_body(&id, body, raw));
    let (answers, refusals) = given.plan_responses(operation, raw, None);
    let accept = responses::accept_header(operation, &answers, &refusals);
    let mut call = PlannedCall {
        unsendable_reason: find_unsendable_reason(side, operation, &parameters, body.as_ref()),
        retry: retry_safety(given, operation),
        requires_key: given.key_parameter(operation).is_some_and(|key| key.required),
        anonymous: operation.security.is_empty() || operation.security.iter().any(Vec::is_empty),
        scopes: scope_alternatives(operation),
        operation,
        id,
        client_method: method.clone(),
        accessor: None,
        method,
        options,
        name: call,
        parameters,
        body,
        responses: answers,
        errors: refusals,
        accept,
        streams: StreamPlan::default(),
        headers: None,
        pages: None,
    };
    // Streams are planned only for the operations below `paths`: responses to webhooks are sent immediately.
    if side == OperationSide::Paths && !raw {
        call.streams = given.plan_streams(&call);
        if let Some(streamed) = call.streams.response.as_ref().filter(|streamed| streamed.has_whole_responses)
        {
            call.responses = given.plan_responses(operation, raw, Some(streamed)).0;
            call.accept = responses::accept_header(operation, &call.responses, &call.errors);
        }
    }
    if let Some(body) = call.body.as_mut().filter(|_| call.streams.body.is_none()) {
        given.plan_body_passing(&operation.method, body);
    }
    call
}

/// Iterates over the parameters that have a table row. Headers in the option `hidden-headers` and those of
/// [`IGNORED_HEADERS`] have none.
fn visible_parameters<'o>(
    config: &OperationConfig,
    operation: &'o Operation,
) -> impl Iterator<Item = &'o api::Parameter> {
    operation.parameters.iter().filter(move |parameter| is_visible(config, parameter))
}

fn is_visible(config: &OperationConfig, parameter: &api::Parameter) -> bool {
    let mut list = config.hidden_headers.iter().map(String::as_str).chain(IGNORED_HEADERS.iter().copied());
    parameter.location != ParameterIn::Header || !list.any(|name| parameter.name.eq_ignore_ascii_case(name))
}

/// Returns true if the transport supplies a parameter instead of the caller.
fn is_supplied(config: &ClientConfig, parameter: &api::Parameter) -> bool {
    matches!(parameter.location, ParameterIn::Header | ParameterIn::Cookie)
        && config.transport_headers.iter().any(|name| parameter.name.eq_ignore_ascii_case(name))
}

fn plan_parameters<'a>(
    given: PlanInput<'a>,
    side: OperationSide,
    operation: &'a Operation,
) -> Vec<PlannedParameter<'a>> {
    let key = given.key_parameter(operation);
    let settled = visible_parameters(given.operations, operation).map(|parameter| {
        let (shape, wire) = given.parameter_shape(parameter);
        PlannedParameter {
            parameter,
            field: (parameter.constant.is_none() && !is_supplied(given.client, parameter)).then(String::new),
            ty: match parameter.schema.map(|schema| given.shapes.type_of_schema(schema)) {
                _ if parameter.constant.is_some() => TypeRef::String,
                Some(TypeRef::Nullable(inner)) => (**inner).clone(),
                Some(ty) => ty.clone(),
                None => TypeRef::String,
            },
            allowed_values: given.allowed_values(parameter),
            deprecated: parameter.deprecated
                || parameter.schema.is_some_and(|schema| given.graph.schema(schema).deprecated),
            row: ParameterRow {
                name: parameter.name.clone(),
                location: parameter.location,
                // Path parameters are always required (OpenAPI 3.1, 4.8.12.1).
                required: parameter.required || parameter.location == ParameterIn::Path,
                style: parameter.style.clone(),
                explode: parameter.explode,
                allow_reserved: parameter.allow_reserved,
                // `allowEmptyValue` is "valid only for query parameters" (OpenAPI 3.1, 4.8.12.2.1).
                allow_empty: parameter.allow_empty
                    && !parameter.required
                    && parameter.location == ParameterIn::Query,
                // If the transport supplies the header, clients generate no key.
                idempotency_key: !parameter.required
                    && key.is_some_and(|key| std::ptr::eq(key, parameter))
                    && !is_supplied(given.client, parameter),
                wire,
                shape,
                schema: parameter.schema,
                mark: path_order::mark_of(given.graph, parameter).filter(|_| side == OperationSide::Paths),
            },
        }
    });
    settled.collect()
}

fn retry_safety(given: PlanInput<'_>, operation: &Operation) -> RetrySafety {
    let config = given.operations;
    if config.safe.contains(&operation.id) {
        RetrySafety::Safe
    } else if config.idempotent.contains(&operation.id) {
        RetrySafety::Idempotent
    } else if given.key_parameter(operation).is_some() {
        RetrySafety::Keyed
    } else {
        RetrySafety::ByMethod
    }
}

/// Returns the reason why no client can send the operation, or `None` if clients can send it.
fn find_unsendable_reason(
    side: OperationSide,
    operation: &Operation,
    parameters: &[PlannedParameter<'_>],
    body: Option<&RequestBodyPlan<'_>>,
) -> Option<String> {
    if !is_token(&operation.method) {
        return Some(format!("`{}` is not a valid HTTP method", operation.method));
    }
    // The name of a cookie is a token (RFC 6265, 4.1.1), unless the style `form` encodes it.
    let is_literal = |row: &ParameterRow| {
        let is_cookie = row.location == ParameterIn::Cookie && row.style == "cookie";
        row.required && (is_cookie || row.location == ParameterIn::Header)
    };
    let mut arguments = parameters.iter().filter(|parameter| parameter.field.is_some());
    if let Some(found) = arguments.find(|each| is_literal(&each.row) && !is_token(&each.row.name)) {
        return Some(format!("`{}` is not a valid {} name", found.row.name, found.row.location.as_str()));
    }
    let sent = body.into_iter().flat_map(|body| body.variants.iter().map(|v| &body.contents[v.sent].media));
    for media in sent {
        if !contract_runtime::media_type::MediaType::parse(&media.name).is_sendable() {
            return Some(format!("a client cannot send the media type `{}`", media.name));
        }
    }
    // A webhook has a name instead of a path, so path parameters cannot be sent.
    let mut in_path = operation.parameters.iter().filter(|each| each.location == ParameterIn::Path);
    let misplaced = in_path.next().filter(|_| side == OperationSide::Webhooks)?;
    Some(format!("a webhook has no path for the path parameter `{}`", misplaced.name))
}

fn scope_alternatives(operation: &Operation) -> Vec<Vec<&str>> {
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

/// Returns the scopes in the order in which security schemes declare them, followed by other scopes that
/// operations require.
pub(crate) fn collect_scopes(api: &OpenApiDocument) -> Vec<(String, Option<String>)> {
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
    for scope in api.operations.iter().flat_map(scope_alternatives).flatten() {
        add(scope, None);
    }
    all
}

/// Returns the description of a schema, or else that of the schema that it references.
pub(crate) fn description_of(graph: &SchemaGraph, schema: SchemaId) -> Option<String> {
    let mut next = Some(schema);
    // The number of steps is limited, in case the references form a cycle.
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
