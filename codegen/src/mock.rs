//! A double of any service: answers every operation of a contract from its examples, else from
//! valid values that are made, and judges every request by the document.
//!
//! ```no_run
//! use contract_codegen::{Mock, Project};
//! use contract_runtime::server::Bytes;
//!
//! let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//! let mock = Mock::of(project, 0)?;
//! let request = http::Request::get("/tickets/a-17").body(Bytes::new())?;
//! assert_eq!(mock.answer(request).status(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No sockets and no clock: what a request is answered with depends on the contract, the seed, and
//! with `Prefer: dynamic=true` on the request. Reading and routing are the runtime's own, as in
//! generated servers; what is valid, say the tables.

mod judge;
mod made;
mod refusal;
mod table;
mod wishes;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, OnceLock},
    thread,
};

use contract_runtime::{
    operation::{Lookup, Operation, Operations},
    server::Bytes,
};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header, request::Parts};

pub use self::refusal::Broken;
use self::{
    made::{Lack, Made},
    refusal::Refusal,
    wishes::{Wishes, acceptable},
};
use crate::{
    api::{self, Status},
    credentials::{self, Scheme},
    diagnostics::Diagnostics,
    explain::Whereabouts,
    generate::Project,
    plan::{Call, Outcome, Plan, Side},
    reading::Reading,
    schema::SchemaId,
    stack::deep,
    tables::{Shelves, TableSet},
};

/// A contract that answers requests. What it knows is kept to the end of the process, as the
/// tables of a generated server are: it is made once.
pub struct Mock {
    project: &'static Project,
    contract: &'static Reading,
    plan: &'static Plan<'static>,
    tables: &'static TableSet<'static>,
    operations: Operations,
    /// The same without parameters, by which bodies are read whatever is wrong with those.
    bodies: &'static [Operation],
    /// The start of paths by `servers`, the longest first.
    bases: Vec<String>,
    schemes: Vec<Scheme<'static>>,
    /// Of events: texts and names behind which nothing comes.
    ends: &'static [&'static str],
    last: &'static [&'static str],
    seed: u64,
    /// The bodies that depend on no request, by call, status and media type.
    made: Mutex<HashMap<(usize, u16, usize), Made>>,
    /// Schemas by their locations, for those who are refused.
    located: OnceLock<HashMap<String, SchemaId>>,
}

/// What became of a request, among the extensions of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `operationId`; nothing for a path that the contract does not have.
    pub operation: Option<String>,
    /// Where the body comes from, or why there is no answer of the contract.
    pub words: String,
    /// What is wrong with the request.
    pub broken: Vec<Broken>,
}

/// What there is to say of a mock before it is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Where schemas stand of which no valid value was found, with the operations that answer 501.
    pub without_value: Vec<(String, Vec<String>)>,
    /// Where examples stand that their schemas refuse, and by which rule; none of them is sent.
    pub broken_examples: Vec<(String, String)>,
    /// Where each `oneOf` with a `discriminator` stands that refuses what its tag means, since another
    /// branch accepts it too, with such a value.
    pub overlapping: Vec<(String, String)>,
}

impl Mock {
    /// Reads a contract.
    ///
    /// # Errors
    /// Every problem of every file.
    pub fn of(project: Project, seed: u64) -> Result<Self, Diagnostics> {
        let contract = project.read()?;
        Ok(Self::new(project, contract, seed))
    }

    /// The mock of a contract that was read by this project. The seed decides what examples leave open.
    #[must_use]
    pub fn new(project: Project, contract: Reading, seed: u64) -> Self {
        let project: &'static Project = Box::leak(Box::new(project));
        let contract: &'static Reading = Box::leak(Box::new(contract));
        let shelves: &'static Shelves<'static> = Box::leak(Box::default());
        let tables: &'static TableSet<'static> = Box::leak(Box::new(contract.tables(shelves)));
        let plan: &'static Plan<'static> = Box::leak(Box::new(project.plan(contract, Side::Paths)));
        let operations = table::operations(plan, tables);
        let bodies = operations.all().iter().map(|operation| Operation { parameters: &[], ..*operation });
        let own = contract.api.operations.iter().flat_map(|operation| &operation.servers);
        let mut bases: Vec<String> = contract.api.servers.iter().chain(own).map(|url| base(url)).collect();
        bases.push(String::new());
        bases.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        bases.dedup();
        let schemes = contract.api.security_schemes.iter();
        Self {
            project,
            contract,
            plan,
            tables,
            operations,
            bodies: bodies.collect::<Vec<_>>().leak(),
            bases,
            schemes: schemes.map(|(name, raw)| credentials::scheme(name, raw)).collect(),
            ends: kept(project.config.streams.as_ref().map(|streams| &streams.ends)),
            last: kept(project.config.streams.as_ref().map(|streams| &streams.last_events)),
            seed,
            made: Mutex::default(),
            located: OnceLock::new(),
        }
    }

    /// The operations that it answers, as rows.
    #[must_use]
    pub const fn operations(&self) -> Operations {
        self.operations
    }

    /// The contract.
    #[must_use]
    pub const fn contract(&self) -> &'static Reading {
        self.contract
    }

    /// Makes what is answered to plain requests, so that the first of them waits for nothing, and
    /// says what cannot be made.
    #[must_use]
    pub fn review(&self) -> Review {
        let calls: Vec<usize> = (0..self.plan.calls.len()).collect();
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let share = calls.len().div_ceil(workers).max(1);
        let parts: Vec<Found> = thread::scope(|scope| {
            let looking = |part| scope.spawn(move || deep(|| self.look(part)));
            let looking: Vec<_> = calls.chunks(share).map(looking).collect();
            looking.into_iter().filter_map(|part| part.join().ok()).collect()
        });
        let mut review = Review::default();
        let places = Whereabouts::new(self.contract);
        let mut without: BTreeMap<SchemaId, Vec<String>> = BTreeMap::new();
        for (schema, operation) in parts.iter().flat_map(|found| &found.without_value) {
            without.entry(self.meant(*schema)).or_default().push(operation.clone());
        }
        for (schema, operations) in without {
            review.without_value.push((places.of(&self.contract.graph.schema(schema).place), operations));
        }
        let mut broken: Vec<(String, String)> = Vec::new();
        for (place, rule) in parts.into_iter().flat_map(|found| found.broken_examples) {
            broken.push((places.of(&place), rule));
        }
        broken.sort();
        broken.dedup();
        review.broken_examples = broken;
        let overlapping = deep(|| self.overlapping()).into_iter();
        review.overlapping =
            overlapping.map(|(place, value)| (places.of(&place), value.to_string())).collect();
        review
    }

    /// What stands behind references.
    fn meant(&self, schema: SchemaId) -> SchemaId {
        let mut at = schema;
        // Bounded like every walk over references: a graph may be made by hand.
        for _ in 0..32 {
            let Some(next) = self.contract.graph.schema(at).reference else { break };
            at = next;
        }
        at
    }

    fn look(&self, calls: &[usize]) -> Found {
        let mut found = Found::default();
        for &at in calls {
            let call = &self.plan.calls[at];
            let Some(answer) = self.usual(at) else { continue };
            let Some(response) = answer.response else { continue };
            let Some((media, name)) = acceptable(&http::HeaderMap::new(), &response.content) else {
                continue;
            };
            found.broken_examples.extend(self.broken_examples(media));
            let made = self.content(&answer, media, &name, &Wishes::default(), None);
            if let Err(Lack::Value(schema)) = made {
                found.without_value.push((schema, call.operation.id.clone()));
            }
        }
        found
    }

    /// Answers a request; a [`Verdict`] is among the extensions of the answer.
    #[must_use]
    pub fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let origin = parts.headers.get(header::ORIGIN).cloned();
        let head = parts.method == Method::HEAD;
        // Values and schemas nest deeper than a thread of a server may.
        let mut response = deep(|| self.whole(parts, body));
        if let Some(origin) = origin {
            let headers = response.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if head {
            // RFC 9110, 9.3.2: the head of `GET`.
            let length = std::mem::take(response.body_mut()).len();
            if length > 0 {
                response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
            }
        }
        response
    }

    /// A refusal of whoever hands requests on, in the form of all others: of a body that was too
    /// large to be read, say.
    #[must_use]
    pub fn refused(status: StatusCode, detail: &str) -> Response<Bytes> {
        told(None, Err(Refusal::new(status, detail)))
    }

    fn whole(&self, parts: Parts, body: Bytes) -> Response<Bytes> {
        let (operation, done) = match self.route(parts) {
            Routed::To(at, parts) => {
                let done = self.asked(at, &parts, &body);
                (Some(self.plan.calls[at].operation.id.clone()), done)
            }
            Routed::Done(done) => (None, *done),
        };
        told(operation, done)
    }

    /// The call of a request, and its head as it would stand below the contract's own address.
    fn route(&self, mut parts: Parts) -> Routed {
        let path = parts.uri.path().to_owned();
        let below = |base: &String| match path.strip_prefix(base.as_str())? {
            "" => Some("/"),
            rest => rest.starts_with('/').then_some(rest),
        };
        let mut allowed: Vec<&'static str> = Vec::new();
        let header = |name: &str| parts.headers.get(name).map(|value| value.as_bytes());
        let asked = parts.uri.query().unwrap_or_default();
        for rest in self.bases.iter().filter_map(below) {
            match self.operations.find_asked(parts.method.as_str(), rest, asked, header) {
                Lookup::Found(operation) => {
                    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
                    let Ok(uri) = format!("{rest}{query}").parse::<Uri>() else { continue };
                    let at = self.operations.all().iter().position(|each| each == operation);
                    parts.uri = uri;
                    return Routed::To(at.unwrap_or(0), Arc::new(parts));
                }
                Lookup::WrongMethod(methods) => allowed.extend(methods.methods()),
                Lookup::Nothing => {}
            }
        }
        if allowed.is_empty() {
            let known = self.bases.first().filter(|base| !base.is_empty());
            let below = known.map(|base| format!(", below `{base}` or without it")).unwrap_or_default();
            let detail = format!("the contract has no path that `{path}` fits{below}");
            return Routed::Done(Box::new(Err(Refusal::new(StatusCode::NOT_FOUND, detail))));
        }
        let methods = allowed.join(", ");
        if parts.method == Method::OPTIONS {
            let words = "the methods of the path".to_owned();
            return Routed::Done(Box::new(Ok((preflight(&parts, &methods), words))));
        }
        let detail = format!("`{path}` has {methods}, not {}", parts.method);
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, detail);
        Routed::Done(Box::new(Err(refusal.with(header::ALLOW, &methods))))
    }

    /// Judges a request and answers it.
    fn asked(&self, at: usize, parts: &Arc<Parts>, body: &Bytes) -> Done {
        self.judge(at, parts, body)?;
        let wishes = Wishes::of(&parts.headers);
        let answer = match wishes.code {
            Some(code) => self.of_status(at, code)?,
            None => self.usual(at).unwrap_or(Answering { at, status: 200, response: None }),
        };
        let mut response = Response::new(Bytes::new());
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        *response.status_mut() = status;
        let mut words = "no body".to_owned();
        if let Some(described) = answer.response {
            let seed = self.seed_of(&answer, &wishes, parts, body);
            let bodiless = matches!(answer.status, 204 | 205 | 304) || answer.status < 200;
            if !bodiless && !described.content.is_empty() {
                let (media, name) =
                    acceptable(&parts.headers, &described.content).ok_or_else(|| unacceptable(described))?;
                let dynamic = wishes.dynamic.then_some(seed);
                let made = self.content(&answer, media, &name, &wishes, dynamic);
                let made = made.map_err(|lack| self.unanswered(&answer, &lack))?;
                words = made.source;
                *response.body_mut() = made.body;
                response
                    .headers_mut()
                    .extend(HeaderValue::try_from(name).ok().map(|name| (header::CONTENT_TYPE, name)));
            }
            let headers = self.headers(described, seed).map_err(|lack| self.unanswered(&answer, &lack))?;
            response.headers_mut().extend(headers);
        }
        let applied = HeaderValue::try_from(wishes.applied()).ok().filter(|applied| !applied.is_empty());
        let name = http::HeaderName::from_static("preference-applied");
        response.headers_mut().extend(applied.map(|applied| (name, applied)));
        Ok((response, words))
    }

    /// The first success, those with a body of `2XX` before others.
    fn usual(&self, at: usize) -> Option<Answering> {
        let call = &self.plan.calls[at];
        let mut cases: Vec<(u16, Status)> = call
            .answers
            .cases
            .iter()
            .map(|case| (case.usual_status(Outcome::Success), case.status))
            .collect();
        cases.sort_by_key(|(status, _)| !(200..=299).contains(status));
        let (status, entry) = *cases.first()?;
        let response = call.operation.responses.iter().find(|response| response.status == entry);
        Some(Answering { at, status, response })
    }

    /// What the contract says of a status that somebody asks for.
    fn of_status(&self, at: usize, code: u16) -> Result<Answering, Refusal> {
        let call: &'static Call<'static> = &self.plan.calls[at];
        let responses = &call.operation.responses;
        let class = u8::try_from(code / 100).unwrap_or(0);
        let entries = [Status::Code(code), Status::Range(class), Status::Default];
        let found = entries.iter().find_map(|entry| responses.iter().find(|each| each.status == *entry));
        let Some(response) = found else {
            let known: Vec<String> = responses.iter().map(|each| each.status.key()).collect();
            let detail = format!("the operation has no answer {code}, only {}", known.join(", "));
            return Err(Refusal::new(StatusCode::NOT_FOUND, detail));
        };
        Ok(Answering { at, status: code, response: Some(response) })
    }

    fn unanswered(&self, answer: &Answering, lack: &Lack) -> Refusal {
        let status = answer.status;
        match lack {
            Lack::Value(schema) => {
                let meant = self.contract.graph.schema(self.meant(*schema));
                let place = Whereabouts::new(self.contract).of(&meant.place);
                let detail = format!(
                    "no valid value was found for the body of {status}, described at {place}; give it an example"
                );
                Refusal::new(StatusCode::NOT_IMPLEMENTED, detail)
            }
            Lack::Header(name) => {
                let detail = format!(
                    "no valid value was found for the header `{name}` of {status}; give it an example"
                );
                Refusal::new(StatusCode::NOT_IMPLEMENTED, detail)
            }
            Lack::Example(known) => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let detail = format!("the body of {status} has no such example, only: {known}");
                Refusal::new(StatusCode::NOT_FOUND, detail)
            }
            Lack::Broken(rule) => {
                let detail = format!("this example of the body of {status} breaks its own schema: {rule}");
                Refusal::new(StatusCode::NOT_IMPLEMENTED, detail)
            }
        }
    }

    /// The same for the same request; without `dynamic` the same for all of an operation.
    fn seed_of(&self, answer: &Answering, wishes: &Wishes, parts: &Parts, body: &Bytes) -> u64 {
        let seed = mixed(self.own_seed(answer), &[]);
        if !wishes.dynamic {
            return seed;
        }
        mixed(seed, &[parts.method.as_str().as_bytes(), parts.uri.to_string().as_bytes(), body])
    }

    fn own_seed(&self, answer: &Answering) -> u64 {
        let id = &self.plan.calls[answer.at].operation.id;
        mixed(self.seed, &[id.as_bytes(), &answer.status.to_be_bytes()])
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock")
            .field("operations", &self.plan.calls.len())
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// An answer with where it comes from, or why there is none.
type Done = Result<(Response<Bytes>, String), Refusal>;

/// Where a request leads.
enum Routed {
    /// To a call, with its head as it would stand below the contract's own address.
    To(usize, Arc<Parts>),
    /// To none.
    Done(Box<Done>),
}

/// What some operations lack.
#[derive(Default)]
struct Found {
    without_value: Vec<(SchemaId, String)>,
    broken_examples: Vec<(crate::tree::Place, String)>,
}

/// Which entry of `responses` answers, and with which status.
struct Answering {
    at: usize,
    status: u16,
    response: Option<&'static api::Response>,
}

/// What became of a request, as its answer tells it.
fn told(operation: Option<String>, done: Done) -> Response<Bytes> {
    let (mut response, verdict) = match done {
        Ok((response, words)) => (response, Verdict { operation, words, broken: Vec::new() }),
        Err(refusal) => {
            let response = refusal.response(operation.as_deref());
            (response, Verdict { operation, words: refusal.detail, broken: refusal.broken })
        }
    };
    response.extensions_mut().insert(verdict);
    response
}

/// Texts of the options as the rows of a generated table hold them.
fn kept(texts: Option<&'static Vec<String>>) -> &'static [&'static str] {
    let texts: Vec<&'static str> = texts.into_iter().flatten().map(String::as_str).collect();
    texts.leak()
}

/// The path of an address, without a slash at its end; empty where it is none of a server.
fn base(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    let path = rest.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if path.starts_with('/') && !path.contains('{') { path.to_owned() } else { String::new() }
}

/// What browsers ask before they send (Fetch, 4.8), and who asks for the methods.
fn preflight(parts: &Parts, methods: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if let Ok(methods) = HeaderValue::try_from(methods) {
        headers.insert(header::ALLOW, methods.clone());
        if parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
    }
    if let Some(asked) = parts.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    response
}

fn unacceptable(described: &api::Response) -> Refusal {
    let known: Vec<&str> = described.content.iter().map(|media| media.name.as_str()).collect();
    let detail = format!("`Accept` takes none of {}", known.join(", "));
    Refusal::new(StatusCode::NOT_ACCEPTABLE, detail)
}

/// A number of a number and some texts (FNV-1a).
fn mixed(seed: u64, texts: &[&[u8]]) -> u64 {
    let step = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let start = seed.to_be_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325, step);
    texts.iter().fold(start, |state, text| step(text.iter().copied().fold(state, step), 0xff))
}

#[cfg(test)]
mod tests;
