//! Generates requests for tests of a live service: valid requests, valid requests with boundary values, and
//! requests that violate exactly one rule of the contract.
//!
//! The encoder of the client writes the requests, and the validation of the mock server decides whether a
//! request is valid. Equal seeds generate equal requests.

use std::{collections::BTreeMap, sync::Arc};

use contract_codegen_core::{
    api::ParameterIn,
    conjunction::{
        SchemaConjunction,
        sample::{SampleCache, SampleEffort, edge_values, random::SampleRequest},
    },
    plan::PlannedCall,
    schema::SchemaId,
};
use contract_runtime::{
    Json,
    client::ApiClient,
    operation::{BodyFormat, BodySpec, ContentSpec, Operation},
    parameters::Parameter,
    server::Bytes,
    strategies::nearly_valid_documents,
};
use http::Request;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{MockServer, mix_seed, problem::MessageViolation, request_encoder};

/// The number of attempts to generate one request, because some values cannot be encoded.
const ATTEMPTS_PER_REQUEST: u64 = 8;

/// The kind of a generated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestRequestKind {
    /// A valid request with realistic values.
    Valid,
    /// A valid request, in which one argument has a boundary value.
    Boundary,
    /// A request that violates exactly one rule.
    Invalid,
}

/// A generated request. Its URI consists of path and query.
#[derive(Clone, Debug)]
pub struct TestRequest {
    /// The kind of the request.
    pub kind: TestRequestKind,
    /// The single violation of an invalid request.
    pub violation: Option<MessageViolation>,
    /// The request without credentials.
    pub request: Request<Bytes>,
}

/// A generator of requests for tests of a live service. It keeps a copy of the operations in memory until the
/// process ends.
#[derive(Debug)]
pub struct TestRequestGenerator<'m> {
    mock: &'m MockServer,
    client: ApiClient,
    /// The operations without validators, so that the encoder also writes invalid values.
    operations: &'static [Operation],
    seed: u64,
    /// The maximum number of requests of each kind for one operation.
    count: usize,
}

/// The arguments of one request, in the order of the operation's parameters.
#[derive(Clone, Debug)]
struct RequestArguments {
    parameters: Vec<Option<Json>>,
    body: Option<Json>,
}

impl<'m> TestRequestGenerator<'m> {
    /// Creates a generator. `count` is the maximum number of requests of each kind for one operation.
    #[must_use]
    pub fn new(mock: &'m MockServer, seed: u64, count: usize) -> Self {
        let operations: Vec<Operation> = mock.operations.all().iter().map(without_validators).collect();
        Self { mock, client: request_encoder(), operations: operations.leak(), seed, count }
    }

    /// Returns the requests of the operation with the index `at`. `path_values` contains the values of path
    /// parameters by name; other path parameters have generated values.
    ///
    /// # Errors
    /// Returns the reason why no valid request could be generated.
    pub fn requests(
        &self,
        at: usize,
        path_values: &BTreeMap<String, Json>,
    ) -> Result<Vec<TestRequest>, String> {
        let call = &self.mock.plan.calls[at];
        let seed = mix_seed(self.seed, &[call.operation.id.as_bytes()]);
        let mut requests = Vec::new();
        let mut base = None;
        for round in 0..self.count as u64 * ATTEMPTS_PER_REQUEST {
            if requests.len() == self.count {
                break;
            }
            let round_seed = mix_seed(seed, &[&round.to_be_bytes()]);
            let Some(arguments) = self.valid_arguments(at, round_seed, path_values) else { continue };
            if let Some(request) =
                self.encode(at, &arguments).filter(|each| self.violations(at, each).is_empty())
            {
                base.get_or_insert(arguments);
                add_distinct(
                    &mut requests,
                    TestRequest { kind: TestRequestKind::Valid, violation: None, request },
                );
            }
        }
        let base = base.ok_or("no valid request was found")?;
        requests.extend(self.select(seed, self.boundary_requests(at, &base)));
        requests.extend(self.select(seed, self.invalid_requests(at, &base, seed)));
        Ok(requests)
    }

    /// Selects at most `count` requests, evenly from all of them.
    fn select(&self, seed: u64, all: Vec<TestRequest>) -> Vec<TestRequest> {
        let step = all.len().div_ceil(self.count.max(1)).max(1);
        let start = usize::try_from(seed % step as u64).unwrap_or(0);
        all.into_iter().skip(start).step_by(step).collect()
    }

    /// Generates valid arguments. Half of the optional parameters are present.
    fn valid_arguments(
        &self,
        at: usize,
        seed: u64,
        path_values: &BTreeMap<String, Json>,
    ) -> Option<RequestArguments> {
        let call = &self.mock.plan.calls[at];
        let mut parameters = Vec::new();
        for parameter in &call.parameters {
            let row = &parameter.row;
            let own_seed = mix_seed(seed, &[row.name.as_bytes()]);
            let known = path_values.get(&row.name).filter(|_| row.location == ParameterIn::Path);
            parameters.push(match known {
                Some(value) => Some(value.clone()),
                None if row.required => Some(self.value(row.schema, own_seed)?),
                None => own_seed.is_multiple_of(2).then(|| self.value(row.schema, own_seed)).flatten(),
            });
        }
        let body = match self.body(at) {
            Some((_, schema)) => Some(self.value(schema, mix_seed(seed, &[b"body"]))?),
            None => None,
        };
        Some(RequestArguments { parameters, body })
    }

    fn value(&self, schema: Option<SchemaId>, seed: u64) -> Option<Json> {
        let Some(schema) = schema else { return Some(Json::from("word")) };
        let sample = SampleRequest { seed, examples: seed.is_multiple_of(4) };
        self.mock.draw_value(&SchemaConjunction::from_schema(schema), sample)
    }

    /// Returns the first content of the body in JSON or form encoding, and its schema.
    fn body(&self, at: usize) -> Option<(&'static ContentSpec, Option<SchemaId>)> {
        let expected = self.operations[at].body.as_ref()?;
        let plan = self.mock.plan.calls[at].body.as_ref()?;
        let index = expected.content.iter().position(is_writable)?;
        Some((&expected.content[index], plan.contents.get(index)?.media.schema))
    }

    /// Encodes a request as a client does, without validation.
    fn encode(&self, at: usize, arguments: &RequestArguments) -> Option<Request<Bytes>> {
        let operation = &self.operations[at];
        let mut builder = self.client.request(operation);
        for (index, value) in arguments.parameters.iter().enumerate() {
            if let Some(value) = value {
                builder = builder.argument(index, value);
            }
        }
        if let (Some((content, _)), Some(body)) = (self.body(at), &arguments.body) {
            builder = match content.format {
                BodyFormat::Form(..) => builder.form(content.media_type, body),
                _ => builder.bytes(content.media_type, body.to_string()),
            };
        }
        let stored = builder.into_stored().ok()?;
        if stored.path_and_query.contains('{') {
            return None;
        }
        let request = Request::builder().method(operation.method).uri(&stored.path_and_query);
        let mut request = request.body(stored.body).ok()?;
        *request.headers_mut() = stored.headers;
        Some(request)
    }

    /// Returns the violations of a request, without those by missing credentials.
    fn violations(&self, at: usize, request: &Request<Bytes>) -> Vec<MessageViolation> {
        let (parts, body) = request.clone().into_parts();
        let mut found = self.mock.request_violations(at, &Arc::new(parts), &body);
        found.retain(|each| each.place != "credentials");
        found
    }

    fn boundary_requests(&self, at: usize, base: &RequestArguments) -> Vec<TestRequest> {
        let call = &self.mock.plan.calls[at];
        let mut requests = Vec::new();
        let mut add = |arguments: RequestArguments| {
            let request = self.encode(at, &arguments).filter(|each| self.violations(at, each).is_empty());
            if let Some(request) = request {
                let kind = TestRequestKind::Boundary;
                add_distinct(&mut requests, TestRequest { kind, violation: None, request });
            }
        };
        for (index, parameter) in call.parameters.iter().enumerate() {
            for value in self.boundary_values(parameter.row.schema) {
                let mut arguments = base.clone();
                arguments.parameters[index] = Some(value);
                add(arguments);
            }
        }
        for value in self.body(at).map(|(_, schema)| self.boundary_values(schema)).unwrap_or_default() {
            add(RequestArguments { body: Some(value), ..base.clone() });
        }
        requests
    }

    fn boundary_values(&self, schema: Option<SchemaId>) -> Vec<Json> {
        let Some(schema) = schema else { return Vec::new() };
        let valid = |id: SchemaId, value: &Json| self.mock.tables.is_valid(id, value);
        let conjunction = SchemaConjunction::from_schema(schema);
        let (graph, implied) = (&self.mock.contract.graph, self.mock.contract.options.implied_objects);
        let cache = SampleCache::default();
        let mut values = edge_values(graph, &conjunction, implied, SampleEffort::Quick, &valid, &cache);
        values.retain(|value| valid(schema, value));
        values
    }

    /// Generates requests with one violation: a missing required parameter or body, or an invalid value of a
    /// parameter or in the body.
    fn invalid_requests(&self, at: usize, base: &RequestArguments, seed: u64) -> Vec<TestRequest> {
        let call: &PlannedCall<'_> = &self.mock.plan.calls[at];
        let mut requests = Vec::new();
        let mut add = |arguments: RequestArguments| {
            let Some(request) = self.encode(at, &arguments) else { return };
            if let [violation] = self.violations(at, &request).as_slice() {
                let kind = TestRequestKind::Invalid;
                add_distinct(
                    &mut requests,
                    TestRequest { kind, violation: Some(violation.clone()), request },
                );
            }
        };
        for (index, parameter) in call.parameters.iter().enumerate() {
            let mut arguments = base.clone();
            arguments.parameters[index] = None;
            add(arguments);
            for value in self.invalid_values(parameter.row.schema, mix_seed(seed, &[&index.to_be_bytes()])) {
                let mut arguments = base.clone();
                arguments.parameters[index] = Some(value);
                add(arguments);
            }
        }
        if let Some((_, schema)) = self.body(at) {
            add(RequestArguments { body: None, ..base.clone() });
            for value in self.invalid_values(schema, seed) {
                add(RequestArguments { body: Some(value), ..base.clone() });
            }
        }
        requests
    }

    fn invalid_values(&self, schema: Option<SchemaId>, seed: u64) -> Vec<Json> {
        let Some(validator) = schema.and_then(|schema| self.mock.tables.validator_for(schema)) else {
            return Vec::new();
        };
        let bytes: Vec<u8> =
            (0..4_u64).flat_map(|part| mix_seed(seed, &[&part.to_be_bytes()]).to_be_bytes()).collect();
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let strategy = nearly_valid_documents(validator);
        let values = (0..self.count).map_while(|_| strategy.new_tree(&mut runner).ok());
        values.map(|tree| tree.current().0).collect()
    }
}

fn is_writable(content: &ContentSpec) -> bool {
    matches!(content.format, BodyFormat::Json | BodyFormat::Form(..))
}

/// Adds a request unless an equal one exists.
fn add_distinct(requests: &mut Vec<TestRequest>, new: TestRequest) {
    let is_equal = |each: &TestRequest| {
        (each.request.uri(), each.request.headers(), each.request.body())
            == (new.request.uri(), new.request.headers(), new.request.body())
    };
    if !requests.iter().any(is_equal) {
        requests.push(new);
    }
}

/// Returns a copy of an operation that accepts all values. The rows are leaked.
fn without_validators(operation: &Operation) -> Operation {
    let parameters =
        operation.parameters.iter().map(|row| Parameter { validator: None, required: false, ..*row });
    let content = |content: &ContentSpec| ContentSpec { validator: None, ..*content };
    let body = operation.body.as_ref().map(|body| BodySpec {
        content: body.content.iter().map(content).collect::<Vec<ContentSpec>>().leak(),
        ..*body
    });
    Operation { parameters: parameters.collect::<Vec<Parameter>>().leak(), body, ..*operation }
}
