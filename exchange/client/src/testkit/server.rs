//! A scripted server in the test process. It sends scripted replies, records requests, and reports every
//! request that violates the rules of the exchange.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use dpop_bound::{
    Es256, ExpectedRequest, Htu, KeyBinding, Origin, ProofWindow, RequestTarget, SignedProof, Thumbprint,
    TokenHash,
    http::{DPOP, DPOP_NONCE, parse_credentials, parse_proof_header},
};
use exchange_api::{
    codes::Code,
    runtime::{
        operation::{Operation, RepeatSafety},
        transport::{Delivery, PartialBody, ResponseFuture, Transport, TransportError, TransportFault},
    },
};
use http::{
    HeaderMap, HeaderValue, Request, Response,
    header::{AUTHORIZATION, DATE, RETRY_AFTER, USER_AGENT},
};

use super::{
    VirtualEnvironment,
    recorded::{RecordedProof, RecordedRequest},
    reply::{ReplyDelivery, ScriptedReply},
};

/// A server that follows a script and can be used as a [`Transport`]. Clones share the server.
///
/// Without a script, it replies `200 {}`. It validates every request. A valid request has one `Authorization`
/// and one `DPoP` header with a valid proof for this request, a unique proof id, only nonces of this server,
/// a well-formed `User-Agent`, and an idempotency key if it is a write. No key may be used with two bodies,
/// and no request may be sent before a `Retry-After` time. Each violation is recorded, and fails the test
/// when the records are read, or when the server is dropped.
#[derive(Clone)]
pub struct ScriptedServer(Arc<ServerInner>);

struct ServerInner {
    origin: Origin,
    machine: VirtualEnvironment,
    role: ServerRole,
    state: Mutex<ServerState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerRole {
    Gateway,
    Provider,
}

type ReplyScript = Arc<dyn Fn(&RecordedRequest) -> ScriptedReply + Send + Sync>;

struct ServerState {
    signed: bool,
    /// The nonce that the server requires.
    nonce: Option<String>,
    issued: HashSet<String>,
    window: ProofWindow,
    key: Option<Thumbprint>,
    refused_tokens: HashSet<String>,
    queue: VecDeque<(Option<&'static str>, ScriptedReply)>,
    script: ReplyScript,
    seen: Vec<RecordedRequest>,
    ids: HashSet<String>,
    written: HashMap<String, AppliedWrite>,
    carried_out: Vec<String>,
    /// The end of the `Retry-After` times by correlation id. The empty id stands for all requests.
    requested_waits: HashMap<String, Duration>,
    violations: Vec<String>,
}

/// A write that was applied under a key, with its reply.
struct AppliedWrite {
    operation: &'static str,
    body: Bytes,
    reply: ScriptedReply,
}

impl ScriptedServer {
    /// Creates a gateway at `https://gateway.test` that requires signed calls.
    #[must_use]
    pub fn gateway(machine: &VirtualEnvironment) -> Self {
        Self::new_at("https://gateway.test", machine, ServerRole::Gateway, ProofWindow::from_secs(30, 30))
    }

    /// Creates an identity provider at `https://identity.test` that requires proofs without tokens.
    #[must_use]
    pub fn provider(machine: &VirtualEnvironment) -> Self {
        Self::new_at("https://identity.test", machine, ServerRole::Provider, ProofWindow::from_secs(25, 15))
    }

    fn new_at(origin: &str, machine: &VirtualEnvironment, role: ServerRole, window: ProofWindow) -> Self {
        let state = ServerState {
            signed: true,
            nonce: None,
            issued: HashSet::new(),
            window,
            key: None,
            refused_tokens: HashSet::new(),
            queue: VecDeque::new(),
            script: Arc::new(|_| ScriptedReply::json(200, "{}")),
            seen: Vec::new(),
            ids: HashSet::new(),
            written: HashMap::new(),
            carried_out: Vec::new(),
            requested_waits: HashMap::new(),
            violations: Vec::new(),
        };
        let origin = Origin::from_url(origin).expect("a valid origin");
        Self(Arc::new(ServerInner { origin, machine: machine.clone(), role, state: Mutex::new(state) }))
    }

    /// Accepts calls without token, proof, and `User-Agent`. Use this in tests that need only the generated
    /// client.
    #[must_use]
    pub fn unsigned(self) -> Self {
        self.state().signed = false;
        self
    }

    /// Requires this nonce from now on, and challenges requests that have a different one. Use this for the
    /// first nonce, or to simulate a restart of the server.
    pub fn require_nonce(&self, nonce: &str) {
        let mut state = self.state();
        state.nonce = Some(nonce.to_owned());
        state.issued.insert(nonce.to_owned());
    }

    /// Registers a nonce as issued by this server, so that a request with it is no violation.
    pub fn accept_nonce(&self, nonce: &str) {
        self.state().issued.insert(nonce.to_owned());
    }

    /// Accepts only proofs that this key has signed.
    pub fn pin_key(&self, key: &Thumbprint) {
        self.state().key = Some(*key);
    }

    /// Rejects this access token from now on (ERR-05).
    pub fn refuse_token(&self, token: &str) {
        self.state().refused_tokens.insert(token.to_owned());
    }

    /// Queues the reply to the next request that is received and passes authentication.
    pub fn enqueue_reply(&self, reply: ScriptedReply) {
        self.state().queue.push_back((None, reply));
    }

    /// Queues the reply to the next request of this operation.
    pub fn enqueue_reply_for(&self, operation: &'static str, reply: ScriptedReply) {
        self.state().queue.push_back((Some(operation), reply));
    }

    /// Sets the function that chooses the reply to requests without a queued reply.
    pub fn set_script(&self, script: impl Fn(&RecordedRequest) -> ScriptedReply + Send + Sync + 'static) {
        self.state().script = Arc::new(script);
    }

    /// Returns the origin without a trailing slash.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.0.origin.as_str()
    }

    /// Returns all requests, including those whose connection was refused.
    ///
    /// # Panics
    /// Panics if violations were recorded.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.assert_no_violations();
        self.state().seen.clone()
    }

    /// Returns the number of requests.
    ///
    /// # Panics
    /// Panics if violations were recorded.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.assert_no_violations();
        self.state().seen.len()
    }

    /// Returns the idempotency keys of all writes that the server applied. The key of a write that was
    /// applied twice occurs twice.
    #[must_use]
    pub fn applied_keys(&self) -> Vec<String> {
        self.state().carried_out.clone()
    }

    /// Asserts that no request since the last call violated the rules of this server, and clears the
    /// violations.
    ///
    /// # Panics
    /// Panics if violations were recorded.
    pub fn assert_no_violations(&self) {
        let violations = self.take_violations();
        assert!(
            violations.is_empty(),
            "{} received requests that violate its rules: {violations:#?}",
            self.origin()
        );
    }

    /// Returns the violations and clears them. Use this in tests of clients that violate the rules.
    #[must_use]
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.state().violations)
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.0.state()
    }
}

impl ServerInner {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Validates and records a request, and chooses the reply.
    fn receive_request(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> (ScriptedReply, String, String) {
        let (head, body) = request.into_parts();
        let mut seen = RecordedRequest {
            operation: operation.id,
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
            received_at: self.machine.elapsed(),
            proof: None,
            was_received: true,
        };
        let mut state = self.state();
        let mut violations = Vec::new();
        self.check_request(&mut state, operation, &mut seen, &mut violations);
        let reply = self.choose_reply(&mut state, operation, &seen, &mut violations);
        seen.was_received = !matches!(reply.delivery, ReplyDelivery::Refused | ReplyDelivery::Interrupted);
        let id = seen.correlation_id().unwrap_or_default().to_owned();
        state.record_wait(operation, &reply, &id, self.machine.elapsed());
        let which = format!("request {} ({})", state.seen.len(), operation.id);
        state.violations.extend(violations.into_iter().map(|violation| format!("{which}: {violation}")));
        let path = seen.path().to_owned();
        state.seen.push(seen);
        (reply, id, path)
    }

    /// Validates a request, whatever its reply will be.
    fn check_request(
        &self,
        state: &mut ServerState,
        operation: &Operation,
        seen: &mut RecordedRequest,
        violations: &mut Vec<String>,
    ) {
        let mut report = |what: String| violations.push(what);
        if Htu::from_url(&seen.uri.to_string()).map(|htu| htu.origin()).as_ref() != Ok(&self.origin) {
            report(format!("it was addressed to another server: {:?}", seen.uri.authority()));
        }
        let concerned = |call: &str| call.is_empty() || Some(call) == seen.correlation_id();
        let requested_wait =
            state.requested_waits.iter().filter(|(call, _)| concerned(call)).map(|(_, at)| *at).max();
        if let Some(not_before) = requested_wait.filter(|at| seen.received_at < *at && !operation.anonymous) {
            report(format!(
                "it was sent at {:?}, before the requested wait ended at {not_before:?}",
                seen.received_at
            ));
        }
        if operation.repeat == RepeatSafety::Keyed && seen.idempotency_key().is_none() {
            report("it has no idempotency key".to_owned());
        }
        if !state.signed {
            return;
        }
        let agents = seen.headers.get_all(USER_AGENT).iter().collect::<Vec<_>>();
        if !matches!(agents[..], [agent] if agent.to_str().is_ok_and(is_user_agent)) {
            report(format!("its User-Agent is {agents:?}"));
        }
        match self.check_proof(state, operation, seen) {
            Ok(None) => {}
            Ok(Some(proof)) => {
                if !state.ids.insert(proof.jti.clone()) {
                    report("the id of its proof was used before".to_owned());
                }
                if proof.nonce.as_ref().is_some_and(|nonce| !state.issued.contains(nonce)) {
                    report(format!("its nonce {:?} was not issued by this server", proof.nonce));
                }
                if self.role == ServerRole::Provider && proof.ath.is_some() {
                    report("its proof has an `ath`, but the request has no token".to_owned());
                }
                seen.proof = Some(proof);
            }
            Err(violation) => report(violation),
        }
    }

    /// Validates the proof, but not its time and nonce.
    fn check_proof(
        &self,
        state: &ServerState,
        operation: &Operation,
        seen: &RecordedRequest,
    ) -> Result<Option<RecordedProof>, String> {
        if operation.anonymous && self.role == ServerRole::Gateway {
            let bare = !seen.headers.contains_key(AUTHORIZATION) && !seen.headers.contains_key(DPOP);
            return if bare {
                Ok(None)
            } else {
                Err("an anonymous call must not have a token or a proof".to_owned())
            };
        }
        let (token, text) = match self.role {
            ServerRole::Gateway => {
                let both = parse_credentials(&seen.headers).map_err(|error| error.to_string())?;
                (Some(TokenHash::from_token(both.token)), both.proof)
            }
            ServerRole::Provider if !seen.headers.contains_key(DPOP) => return Ok(None),
            ServerRole::Provider => {
                (None, parse_proof_header(&seen.headers).map_err(|error| error.to_string())?)
            }
        };
        let signed = SignedProof::verify_signature(text, &Es256).map_err(|error| error.to_string())?;
        let key = *signed.thumbprint();
        let jkt = state.key.unwrap_or(key);
        let binding = match &token {
            Some(hash) => KeyBinding::Token { hash, jkt: Some(&jkt) },
            None => KeyBinding::Key(&jkt),
        };
        let any_time = ProofWindow { past: Duration::MAX, future: Duration::MAX };
        let checked = signed.check_claims(&ExpectedRequest {
            method: seen.method.as_str(),
            target: RequestTarget::Request(&self.origin, seen.uri.path()),
            now: self.machine.true_time(),
            window: any_time,
            binding,
        });
        let checked = checked.map_err(|error| error.to_string())?;
        Ok(RecordedProof::from_checked(text, &checked))
    }

    /// Chooses the reply: an authentication error, otherwise the stored reply for the key, otherwise the
    /// scripted reply.
    fn choose_reply(
        &self,
        state: &mut ServerState,
        operation: &'static Operation,
        seen: &RecordedRequest,
        violations: &mut Vec<String>,
    ) -> ScriptedReply {
        if let Some(reply) = self.check_credentials(state, seen) {
            return reply;
        }
        let key =
            seen.idempotency_key().filter(|_| operation.repeat == RepeatSafety::Keyed).map(str::to_owned);
        if let Some(written) = key.as_ref().and_then(|key| state.written.get(key)) {
            if (written.operation, &written.body) != (operation.id, &seen.body) {
                violations.push("its idempotency key was used for another request".to_owned());
                return ScriptedReply::problem(Code::IdempotencyKeyReused);
            }
            return written.reply.replayed().with_header("Idempotency-Replayed", "true");
        }
        let fits = |of: &Option<&'static str>| of.is_none_or(|of| of == operation.id);
        let scripted = match state.queue.iter().position(|(of, _)| fits(of)) {
            Some(at) => state.queue.remove(at).map(|(_, reply)| reply),
            None => None,
        };
        let reply = scripted.unwrap_or_else(|| Arc::clone(&state.script)(seen));
        let acted = reply.status.is_success()
            && !matches!(reply.delivery, ReplyDelivery::Refused | ReplyDelivery::Interrupted);
        if let (Some(key), true) = (key, acted) {
            state.carried_out.push(key.clone());
            let (operation, body) = (operation.id, seen.body.clone());
            state.written.insert(key, AppliedWrite { operation, body, reply: reply.clone() });
        }
        reply
    }

    /// Checks token, nonce, and time in the way in which the exchange's servers check them.
    fn check_credentials(&self, state: &ServerState, seen: &RecordedRequest) -> Option<ScriptedReply> {
        let proof = seen.proof.as_ref()?;
        if seen.token().is_some_and(|token| state.refused_tokens.contains(token)) {
            return Some(ScriptedReply::problem(Code::Unauthenticated));
        }
        let refuse = |error: &str| match self.role {
            ServerRole::Gateway => {
                ScriptedReply::challenge(&format!(r#"DPoP algs="ES256", error="{error}""#), None)
            }
            ServerRole::Provider => ScriptedReply::oauth(error),
        };
        if state.nonce.is_some() && state.nonce != proof.nonce {
            return Some(refuse("use_dpop_nonce"));
        }
        let (now, iat) = (self.machine.true_time().since_epoch(), Duration::from_secs(proof.iat));
        let within = iat + state.window.past >= now && iat <= now + state.window.future;
        (!within).then(|| refuse("invalid_dpop_proof"))
    }

    /// Builds the response for a reply.
    fn build_response(&self, reply: &ScriptedReply, id: &str, path: &str) -> Response<Bytes> {
        let mut response = Response::new(reply.body(id, path));
        *response.status_mut() = reply.status;
        if reply.is_partial() {
            response.extensions_mut().insert(PartialBody(TransportFault::Interrupted));
        }
        let headers = response.headers_mut();
        *headers = reply.headers.clone();
        if let Ok(id) = HeaderValue::from_str(id)
            && !id.is_empty()
        {
            headers.insert("X-Correlation-Id", id);
        }
        if !reply.without_server_headers {
            let now = SystemTime::UNIX_EPOCH + self.machine.true_time().since_epoch();
            insert_if_absent(headers, DATE, &httpdate::fmt_http_date(now));
            if let Some(nonce) = &self.state().nonce {
                insert_if_absent(headers, DPOP_NONCE, nonce);
            }
        }
        let nonces = headers.get_all(DPOP_NONCE).iter().filter_map(|nonce| nonce.to_str().ok());
        self.state().issued.extend(nonces.map(str::to_owned).collect::<Vec<_>>());
        response
    }

    async fn handle_request(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        let (reply, id, path) = self.receive_request(operation, request);
        if !reply.delayed_by.is_zero() {
            tokio::time::sleep(reply.delayed_by).await;
        }
        match reply.delivery {
            ReplyDelivery::Delivered => Ok(self.build_response(&reply, &id, &path)),
            ReplyDelivery::Refused => Err(TransportError::new(TransportFault::Connect, Delivery::NotSent)),
            ReplyDelivery::Interrupted | ReplyDelivery::Lost => {
                Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown))
            }
            ReplyDelivery::Stalled => pending().await,
        }
    }
}

impl ServerState {
    /// Records the `Retry-After` time of a reply, and the calls to which it applies.
    fn record_wait(&mut self, operation: &Operation, reply: &ScriptedReply, id: &str, now: Duration) {
        let requested_wait =
            reply.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let Some(seconds) = requested_wait.filter(|_| reply.delivery == ReplyDelivery::Delivered) else {
            return;
        };
        let everybody = match &reply.body {
            // Account checks have a separate limit.
            _ if operation.id == "account_check" => false,
            super::reply::ReplyBody::Problem(code) => matches!(
                code,
                Code::RateLimited
                    | Code::DpopProofLimit
                    | Code::ServiceUnavailable
                    | Code::ExchangeDisabled
                    | Code::RegistryUnavailable
            ),
            super::reply::ReplyBody::Bytes(_) => false,
        };
        let whom = if everybody { String::new() } else { id.to_owned() };
        if everybody || !id.is_empty() {
            let until = self.requested_waits.entry(whom).or_default();
            *until = (*until).max(now + reply.delayed_by + Duration::from_secs(seconds));
        }
    }
}

impl Transport for ScriptedServer {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(self.0.handle_request(operation, request))
    }
}

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedServer").field("origin", &self.0.origin).finish_non_exhaustive()
    }
}

impl Drop for ServerInner {
    fn drop(&mut self) {
        let violations = std::mem::take(&mut self.state().violations);
        if !std::thread::panicking() {
            assert!(
                violations.is_empty(),
                "{} received requests that violate its rules: {violations:#?}",
                self.origin.as_str()
            );
        }
    }
}

/// A transport for several scripted servers. Each request goes to the server whose origin it addresses.
#[derive(Clone, Debug)]
pub struct ServerNetwork(Arc<[ScriptedServer]>);

impl ServerNetwork {
    /// Creates a network of these servers. A request to any other origin is recorded as a violation of the first
    /// server.
    #[must_use]
    pub fn from_servers(servers: impl IntoIterator<Item = ScriptedServer>) -> Self {
        Self(servers.into_iter().collect())
    }
}

impl Transport for ServerNetwork {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let origin = Htu::from_url(&request.uri().to_string()).map(|htu| htu.origin());
        match self.0.iter().find(|server| Ok(&server.0.origin) == origin.as_ref()) {
            Some(server) => server.send(operation, request),
            None => {
                let first = self.0.first().expect("a network has at least one server");
                let violation = format!(
                    "a request was sent to {:?}, which is not in the network",
                    request.uri().authority()
                );
                first.state().violations.push(violation);
                Box::pin(async { Err(TransportError::new(TransportFault::Connect, Delivery::NotSent)) })
            }
        }
    }
}

fn insert_if_absent(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    if let (false, Ok(value)) = (headers.contains_key(&name), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}

/// Returns true if the string has the form `<ClientName>/<version> (+<info_url>)`.
fn is_user_agent(text: &str) -> bool {
    let Some((product, comment)) = text.split_once(' ') else { return false };
    let named =
        product.split_once('/').is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    named && comment.starts_with("(+http") && comment.ends_with(')')
}
