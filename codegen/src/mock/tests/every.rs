//! Tests the mock server with every operation of all test cases (`codegen/tests/cases`). For each operation,
//! a valid request is created from the operation table, as a client does. The mock server must accept it, and
//! the client's types and an independent validator must accept the response. The mock server must reject a
//! request that violates one rule, and the error response must name this rule.

#[path = "../../../tests/harness/independent.rs"]
mod independent;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use contract_codegen_core::{
    api::ParameterIn,
    conjunction::{
        SchemaConjunction,
        sample::random::{self, SampleRequest},
    },
    credentials::SecuritySchemeKind,
    diagnostics::{Diagnostics, FaultPolicy},
    plan::{ResponsePayload, StreamItem},
    shape::TypeRef,
    typed_value,
};
use contract_runtime::{
    Json,
    client::{ApiClient, RequestBuilder as Written},
    multipart::MultipartField,
    operation::{BodyFormat, ItemEncoding, PartEncoding, PartSpec},
    sequence::OutgoingItem,
    strategies::nearly_valid_documents,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault},
};
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::TestRunner,
};

use self::independent::{Documents, survives_binary};
use super::*;

/// The number of seeds that are tried for an argument, because some values cannot be encoded in its location.
const SEEDS_PER_ARGUMENT: u64 = 12;
/// The number of bodies with one violation for each operation.
const INVALID_BODIES_PER_OPERATION: usize = 4;

/// The transport of the client that creates the requests. It is never used, because the requests are passed
/// to the mock server directly.
struct UnusedTransport;

impl Transport for UnusedTransport {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
        let error = TransportError::new(TransportFault::Request, Delivery::NotSent);
        Box::pin(std::future::ready(Err(error)))
    }
}

impl MockServer {
    fn generate_value(&self, schema: Option<SchemaId>, seed: u64) -> Option<Json> {
        let Some(schema) = schema else { return Some(Json::from("word")) };
        let valid = |id: SchemaId, value: &Json| self.tables.is_valid(id, value);
        let request = SampleRequest { seed, examples: seed == 0 };
        let implied = self.contract.options.implied_objects;
        random::random_value(
            &self.contract.graph,
            &SchemaConjunction::from_schema(schema),
            implied,
            request,
            &valid,
        )
    }

    /// Creates a valid request of an operation as a client does. Returns `None` if no value is found that can
    /// be encoded for a required argument.
    fn valid_request(&self, at: usize) -> Option<Request<Bytes>> {
        let core = ApiClient::new("https://a.example", UnusedTransport);
        let operation = &self.operations.all()[at];
        let call = &self.plan.calls[at];
        let writable =
            |write: &dyn Fn(Written) -> Written| write(core.request(operation)).into_stored().is_ok();
        let mut written = core.request(operation);
        for (index, parameter) in call.parameters.iter().enumerate() {
            if !parameter.row.required {
                continue;
            }
            let mut values =
                (0..SEEDS_PER_ARGUMENT).filter_map(|seed| self.generate_value(parameter.row.schema, seed));
            let value = values.find(|value| writable(&|empty| empty.argument(index, value)))?;
            written = written.argument(index, &value);
        }
        if let (Some(body), Some(plan)) = (&operation.body, &call.body)
            && body.required
        {
            let content = &body.content[0];
            let media = if content.media_type.contains('*') { "image/png" } else { content.media_type };
            let item = self.item_type(plan.contents[0].media);
            let schema = item.as_ref().map_or(plan.contents[0].media.schema, |item| item.schema);
            let mut values = (0..SEEDS_PER_ARGUMENT).filter_map(|seed| self.generate_value(schema, seed));
            written = match content.format {
                _ if item.is_some() => {
                    let bytes = values.find_map(|value| encode_item(item.as_ref()?, &value));
                    written.bytes(media, bytes?)
                }
                BodyFormat::Json => written.json_value(content.media_type, &values.next()?),
                BodyFormat::Form(..) => {
                    let fits = |value: &Json| writable(&|empty| empty.form(content.media_type, value));
                    written.form(content.media_type, &values.find(fits)?)
                }
                BodyFormat::Multipart(rows) => {
                    let mut fields = values.map(|value| encode_parts(rows, &value));
                    let fits = |fields: &Vec<MultipartField>| {
                        writable(&|empty| empty.multipart(content.media_type, fields))
                    };
                    written.multipart(content.media_type, &fields.find(fits)?)
                }
                BodyFormat::Text => {
                    let text = values.find_map(|value| value.as_str().map(str::to_owned));
                    written.text(media, &text.unwrap_or_else(|| "text".to_owned()))
                }
                _ => written.bytes(media, "bytes"),
            };
        }
        let stored = written.into_stored().ok()?;
        let mut request =
            Request::builder().method(operation.method).uri(&stored.path_and_query).body(stored.body).ok()?;
        *request.headers_mut() = stored.headers;
        Some(request)
    }

    /// Checks that a value is valid, and that parsing it as its generated type and serializing it again
    /// returns the same value.
    fn check_value(
        &self,
        ty: &TypeRef,
        schema: Option<SchemaId>,
        value: &Json,
        reference: &IndependentValidator,
    ) -> Result<(), String> {
        let typed = typed_value::read_value(&self.contract.shapes, ty, value);
        let typed = typed.ok_or_else(|| format!("{ty:?} cannot represent {value}"))?;
        let written = typed_value::write_value(&self.contract.shapes, &typed);
        if written != *value {
            return Err(format!("{value} is written back as {written}"));
        }
        let Some(schema) = schema else { return Ok(()) };
        self.tables.validate(schema, value).map_err(|broken| format!("{value}\n{broken}"))?;
        match reference.is_valid(&self.contract.graph.absolute_location(schema), value) {
            Some(false) => Err(format!("jsonschema rejects {value}")),
            _ => Ok(()),
        }
    }

    /// Checks that a client of this contract can parse a response.
    fn check_response(
        &self,
        at: usize,
        response: &Response<Bytes>,
        reference: &IndependentValidator,
    ) -> Result<(), String> {
        let call = &self.plan.calls[at];
        let responses = &call.responses;
        let status = response.status().as_u16();
        let case =
            responses.cases.iter().find(|case| case.default_status(ResponseOutcome::Success) == status);
        let case = case.ok_or_else(|| format!("{status} is not a success status: {:?}", response.body()))?;
        let media = header(response, "content-type");
        let named = responses
            .cases
            .iter()
            .find(|each| each.status == case.status && each.media_types().any(|name| name == media));
        let case = named.unwrap_or(case);
        let mut responses = call.operation.responses.iter().filter(|each| each.status == case.status);
        let media = responses.find_map(|each| {
            each.content.iter().find(|each| case.media_types().any(|name| name == each.name))
        });
        if let Some(item) = media.and_then(|media| self.item_type(media)) {
            let items = self.decode_items(&item, response.body());
            if items.is_empty() {
                return Err(format!("{:?} has no items", response.body()));
            }
            return items
                .into_iter()
                .try_for_each(|(_, value)| self.check_value(&item.ty, item.schema, &value?, reference));
        }
        let (ResponsePayload::Json(ty), false) = (&case.payload, response.body().is_empty()) else {
            return Ok(());
        };
        let value = Json::parse(response.body()).map_err(|error| error.to_string())?;
        self.check_value(ty, media.and_then(|media| media.schema), &value, reference)
    }

    /// Sends requests with one violation each. Checks that the mock server rejects each request and names the
    /// violated rule. Returns the number of requests.
    fn check_error_responses(
        &self,
        at: usize,
        valid: &Request<Bytes>,
        reference: &IndependentValidator,
    ) -> Result<usize, String> {
        let (operation, call) = (&self.operations.all()[at], &self.plan.calls[at]);
        let mut checked = 0;
        let mut assert_rejected = |request: Request<Bytes>, status: u16, expect: &[String]| {
            let text = format!("{request:?}");
            let response = self.respond_to(request);
            let verdict = response.extensions().get::<MockVerdict>().unwrap();
            let describe =
                |each: &MessageViolation| format!("{} {} {}", each.place, each.pointer, each.keyword);
            let found: Vec<String> = verdict.violations.iter().map(describe).collect();
            checked += 1;
            if response.status() == status && found == expect {
                return Ok(());
            }
            Err(format!("{text}\nis answered with {}, {found:?} instead of {expect:?}", response.status()))
        };
        let needs_sent_credentials = |all: &Vec<(String, Vec<String>)>| {
            let mut kinds = all.iter().filter_map(|(name, _)| self.scheme_kind(name));
            kinds.any(|kind| *kind != SecuritySchemeKind::MutualTls)
        };
        let security = &call.operation.security;
        if !security.is_empty() && security.iter().all(needs_sent_credentials) {
            assert_rejected(valid.clone(), 401, &[])?;
        }
        let with_credentials = |mut request: Request<Bytes>| {
            self.add_credentials(call, &mut request);
            request
        };
        for parameter in call.parameters.iter().filter(|parameter| parameter.row.required) {
            let name = &parameter.row.name;
            if parameter.row.location == ParameterIn::Header {
                let mut without = valid.clone();
                without.headers_mut().remove(name.as_str());
                let pointer = contract_runtime::pointer::join_token("", name);
                assert_rejected(with_credentials(without), 400, &[format!("header {pointer} required")])?;
            }
        }
        let (Some(body), Some(plan)) = (&operation.body, &call.body) else { return Ok(checked) };
        let (content, media) = (&body.content[0], plan.contents[0].media);
        let item = self.item_type(media);
        let schema = match &item {
            Some(item) => item.schema.filter(|_| item.form == ItemEncoding::Json),
            None => media.schema.filter(|_| matches!(content.format, BodyFormat::Json)),
        };
        let validator = schema.and_then(|schema| self.tables.validator_for(schema));
        let (Some(schema), Some(validator)) = (schema, validator) else { return Ok(checked) };
        let location = self.contract.graph.absolute_location(schema);
        // The body of a stream consists of one item, so pointers into it start with `/0`.
        let within = if item.is_some() { "/0" } else { "" };
        let mut runner = TestRunner::deterministic();
        for _ in 0..INVALID_BODIES_PER_OPERATION {
            let Ok(tree) = nearly_valid_documents(validator).new_tree(&mut runner) else { break };
            let (document, broken) = tree.current();
            if reference.is_valid(&location, &document) == Some(true) {
                return Err(format!("jsonschema accepts {document}, which breaks {broken}"));
            }
            let mut request = valid.clone();
            let written = item.as_ref().and_then(|item| encode_item(item, &document));
            *request.body_mut() = written.unwrap_or_else(|| document.to_string()).into();
            let media = HeaderValue::from_static(content.media_type);
            request.headers_mut().insert(header::CONTENT_TYPE, media);
            let expect = format!("body {within}{} {}", broken.pointer, broken.keyword);
            assert_rejected(with_credentials(request), 400, &[expect])?;
        }
        Ok(checked)
    }

    fn scheme_kind(&self, scheme: &str) -> Option<&SecuritySchemeKind> {
        self.schemes.iter().find(|each| each.name == scheme).map(|each| &each.kind)
    }

    /// Adds the credentials that the first alternative in the operation's `security` requires.
    fn add_credentials(&self, call: &PlannedCall<'_>, request: &mut Request<Bytes>) {
        for (scheme, _) in call.operation.security.first().into_iter().flatten() {
            let (name, value) = match self.scheme_kind(scheme) {
                Some(SecuritySchemeKind::Header(name)) => (name.clone(), "x".to_owned()),
                Some(SecuritySchemeKind::Cookie(name)) => ("cookie".to_owned(), format!("{name}=x")),
                Some(SecuritySchemeKind::Basic) => ("authorization".to_owned(), "Basic x".to_owned()),
                Some(SecuritySchemeKind::BearerToken { .. }) => {
                    ("authorization".to_owned(), "Bearer x".to_owned())
                }
                Some(SecuritySchemeKind::HttpScheme(word)) => {
                    ("authorization".to_owned(), format!("{word} x"))
                }
                Some(SecuritySchemeKind::Query(name)) => {
                    let sign = if request.uri().query().is_some() { '&' } else { '?' };
                    *request.uri_mut() = format!("{}{sign}{name}=x", request.uri()).parse().unwrap();
                    continue;
                }
                Some(SecuritySchemeKind::MutualTls) | None => continue,
            };
            request.headers_mut().append(http::HeaderName::try_from(name).unwrap(), value.parse().unwrap());
        }
    }
}

/// Encodes a stream body with one item.
fn encode_item(item: &StreamItem, value: &Json) -> Option<String> {
    let mut out = Vec::new();
    item.form.write_document(item.framing, value, &OutgoingItem::default(), &mut out).ok()?;
    String::from_utf8(out).ok()
}

/// Encodes an object as multipart parts.
fn encode_parts(rows: &[PartSpec], value: &Json) -> Vec<MultipartField> {
    let mut fields = Vec::new();
    let Some(members) = value.as_object() else { return fields };
    for (name, value) in members.iter() {
        let is_json = rows.iter().any(|row| row.name == name && row.encoding == PartEncoding::Json);
        let text = |value: &Json| match value.as_str().filter(|_| !is_json) {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        let each = value.as_array().unwrap_or(std::slice::from_ref(value));
        fields.extend(
            each.iter().map(|value| MultipartField { name: name.to_owned(), file: text(value).into() }),
        );
    }
    fields
}

/// An independent validator for the original documents; `None` if it does not support them.
struct IndependentValidator(Option<Documents>);

impl IndependentValidator {
    /// Creates the validator. It is independent of this project, so it supports neither a configuration file
    /// nor repaired faults: for such contracts, it contains `None`.
    fn from_contract(project: &Project, contract: &AnalyzedContract) -> Self {
        let is_plain =
            project.config.file.is_none() && contract.diagnostics.iter().all(|each| each.fallback.is_none());
        let documents = contract.sources.sources.iter().filter(|_| is_plain);
        let documents: Vec<(String, Json)> =
            documents.map(|source| (source.uri.clone(), source.tree.to_json())).collect();
        Self(Some(documents).filter(|all| !all.is_empty()).and_then(|all| Documents::of(&all)))
    }

    /// Returns true if the schema at `location` accepts the value, and `None` if the validator cannot decide.
    fn is_valid(&self, location: &str, value: &Json) -> Option<bool> {
        let documents = self.0.as_ref().filter(|_| survives_binary(value))?;
        let document = serde_json::from_str(&value.to_string()).unwrap();
        Some(documents.validator(location).is_valid(&document))
    }
}

/// Reads a contract. `path` is the folder of a test case or the configuration file of a project.
fn load_project(path: &Path) -> Result<(Project, AnalyzedContract), Diagnostics> {
    let config = if path.is_dir() { path.join("codegen.toml") } else { path.to_owned() };
    let mut project = if config.exists() { Project::from_config(&config)? } else { Project::default() };
    if path.is_dir() {
        let input = if path.join("input").is_dir() { "input" } else { "input.json" };
        project.inputs = vec![path.join(input)];
    }
    if path.join("strict.txt").exists() {
        project.config.input.faults = FaultPolicy::Deny;
    }
    let contract = project.read_contract()?;
    Ok((project, contract))
}

/// The results of checking all operations of one contract.
#[derive(Default)]
struct OperationResults {
    operations: usize,
    answered: usize,
    rejected: usize,
    /// The operations for which no valid request could be encoded.
    unsendable: Vec<String>,
    problems: Vec<String>,
}

impl OperationResults {
    fn test_operations(&mut self, case: &str, project: Project, contract: AnalyzedContract) {
        let reference = IndependentValidator::from_contract(&project, &contract);
        let mock = MockServer::new(project, contract, 0);
        let review = mock.review();
        for (at, operation) in mock.operations.all().iter().enumerate() {
            let name = format!("{case}: {} {} {}", operation.id, operation.method, operation.path);
            let Some(valid) = mock.valid_request(at) else {
                // If no client can send an operation, a missing request is not a problem.
                if mock.plan.calls[at].unsendable_reason.is_none() {
                    self.unsendable.push(name);
                }
                continue;
            };
            self.operations += 1;
            let mut request = valid.clone();
            mock.add_credentials(&mock.plan.calls[at], &mut request);
            let response = mock.respond_to(request);
            let verdict = response.extensions().get::<MockVerdict>().unwrap();
            let known = |(_, all): &(String, Vec<String>)| all.iter().any(|id| id == operation.id);
            let outcome = if verdict.operation.as_deref() != Some(operation.id) {
                Err(format!("is handled as {verdict:?}"))
            } else if response.status() == 501 && review.without_value.iter().any(known) {
                Ok(())
            } else {
                mock.check_response(at, &response, &reference).map(|()| self.answered += 1)
            };
            let error_responses =
                mock.check_error_responses(at, &valid, &reference).map(|rejected| self.rejected += rejected);
            let problems = [outcome, error_responses].into_iter().filter_map(Result::err);
            self.problems.extend(problems.map(|problem| format!("{name}: {problem}")));
        }
    }
}

/// For every test case and for the contract of the exchange service, clients accept the responses of the mock
/// server, and the mock server rejects invalid requests.
#[test]
fn clients_accept_the_mock_responses_of_every_case() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> =
        fs::read_dir(own.join("tests/cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    paths.push(own.join("../schemas/codegen.toml"));
    let mut results = OperationResults::default();
    for path in paths {
        let Ok((project, contract)) = load_project(&path) else { continue };
        results.test_operations(&path.file_name().unwrap().to_string_lossy(), project, contract);
    }
    assert!(results.problems.is_empty(), "{}", results.problems.join("\n\n"));
    let OperationResults { operations, answered, rejected, unsendable, .. } = results;
    assert_eq!(unsendable, [] as [String; 0]);
    assert_eq!(answered, operations);
    assert!(operations > 70 && rejected > 100, "{operations} operations, {rejected} rejected");
}

/// Runs the same checks for the documents in the folder that the environment variable `CONTRACTS` names.
/// Without the variable, the test does nothing.
#[test]
fn clients_accept_the_mock_responses_of_user_documents() {
    let Some(folder) = env::var_os("CONTRACTS") else { return };
    let mut broken = 0;
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let project = Project { inputs: vec![path.clone()], ..Project::default() };
        let case = path.file_name().unwrap().to_string_lossy();
        let mut results = OperationResults::default();
        match project.read_contract() {
            Ok(contract) => results.test_operations(&case, project, contract),
            Err(problems) => results.problems.push(problems.to_string()),
        }
        let OperationResults { operations, answered, rejected, unsendable, problems } = &results;
        println!("{case}: {operations} operations, {answered} answered, {rejected} rejected");
        unsendable.iter().for_each(|name| println!("  unsendable: {name}"));
        problems.iter().for_each(|problem| println!("  {problem}"));
        broken += problems.len();
    }
    assert_eq!(broken, 0);
}
