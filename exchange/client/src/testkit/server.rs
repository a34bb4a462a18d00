//! A server in the same process: it answers by a script, keeps what it saw, and complains of every request that
//! a server of the exchange must not get.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use dpop_bound::{
    Binding, Es256, Expected, Htu, Origin, SignedProof, Target, Thumbprint, TokenHash, Window,
    http::{DPOP, DPOP_NONCE, presented, proof},
};
use exchange_api::{
    codes::Code,
    runtime::{
        operation::{Operation, Repeat},
        transport::{Delivery, Partial, Sending, Transport, TransportError, TransportFault},
    },
};
use http::{
    HeaderMap, HeaderValue, Request, Response,
    header::{AUTHORIZATION, DATE, RETRY_AFTER, USER_AGENT},
};

use super::{
    VirtualEnvironment,
    reply::{Fate, Reply},
    seen::{Seen, SeenProof},
};

/// A server that follows a script; a `Transport` of its own. Cloning shares it.
///
/// Without a script it answers `200 {}`. It watches, whatever it answers: one `Authorization` and one `DPoP`
/// header with a valid proof for this very request, no proof id twice, no nonce that is not its own, a
/// `User-Agent` of the right form, an idempotency key where one is due, no body under another's key, nothing
/// earlier than it asked for. What it has to complain of fails the test: when the record is read, and when the
/// server is dropped.
#[derive(Clone)]
pub struct ScriptedServer(Arc<Inner>);

struct Inner {
    origin: Origin,
    machine: VirtualEnvironment,
    role: Role,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Gateway,
    Provider,
}

type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

struct State {
    signed: bool,
    /// The nonce that is asked for.
    nonce: Option<String>,
    issued: HashSet<String>,
    window: Window,
    key: Option<Thumbprint>,
    refused_tokens: HashSet<String>,
    queue: VecDeque<(Option<&'static str>, Reply)>,
    script: Script,
    seen: Vec<Seen>,
    ids: HashSet<String>,
    written: HashMap<String, Written>,
    carried_out: Vec<String>,
    /// Not before this, by what the request is part of; empty for all requests.
    asked: HashMap<String, Duration>,
    complaints: Vec<String>,
}

/// What a write under a key came to.
struct Written {
    operation: &'static str,
    body: Bytes,
    reply: Reply,
}

impl ScriptedServer {
    /// A gateway at `https://gateway.test`, whose calls are signed.
    #[must_use]
    pub fn gateway(machine: &VirtualEnvironment) -> Self {
        Self::at("https://gateway.test", machine, Role::Gateway, Window::seconds(30, 30))
    }

    /// An identity provider at `https://identity.test`: proofs without tokens.
    #[must_use]
    pub fn provider(machine: &VirtualEnvironment) -> Self {
        Self::at("https://identity.test", machine, Role::Provider, Window::seconds(25, 15))
    }

    fn at(origin: &str, machine: &VirtualEnvironment, role: Role, window: Window) -> Self {
        let state = State {
            signed: true,
            nonce: None,
            issued: HashSet::new(),
            window,
            key: None,
            refused_tokens: HashSet::new(),
            queue: VecDeque::new(),
            script: Arc::new(|_| Reply::json(200, "{}")),
            seen: Vec::new(),
            ids: HashSet::new(),
            written: HashMap::new(),
            carried_out: Vec::new(),
            asked: HashMap::new(),
            complaints: Vec::new(),
        };
        let origin = Origin::of(origin).expect("an origin");
        Self(Arc::new(Inner { origin, machine: machine.clone(), role, state: Mutex::new(state) }))
    }

    /// Takes calls without tokens, proofs and a `User-Agent`: for what stands on the generated client alone.
    #[must_use]
    pub fn unsigned(self) -> Self {
        self.state().signed = false;
        self
    }

    /// Asks for this nonce from now on, and challenges who has another: the first of a series, or the nonce of
    /// a server that was started anew.
    pub fn ask_for_nonce(&self, nonce: &str) {
        let mut state = self.state();
        state.nonce = Some(nonce.to_owned());
        state.issued.insert(nonce.to_owned());
    }

    /// A nonce of its own, of earlier: no complaint when it comes.
    pub fn know_nonce(&self, nonce: &str) {
        self.state().issued.insert(nonce.to_owned());
    }

    /// Takes proofs of this key alone.
    pub fn pin_key(&self, key: &Thumbprint) {
        self.state().key = Some(*key);
    }

    /// Refuses this access token from now on (ERR-05).
    pub fn refuse_token(&self, token: &str) {
        self.state().refused_tokens.insert(token.to_owned());
    }

    /// The next request that is heard and passes the gate gets this.
    pub fn then(&self, reply: Reply) {
        self.state().queue.push_back((None, reply));
    }

    /// The next request of this operation gets this.
    pub fn then_for(&self, operation: &'static str, reply: Reply) {
        self.state().queue.push_back((Some(operation), reply));
    }

    /// What every request gets for which nothing else was said.
    pub fn answer(&self, script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) {
        self.state().script = Arc::new(script);
    }

    /// Its origin, without a slash at the end.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.0.origin.as_str()
    }

    /// Everything that was sent to it, refused connections too.
    ///
    /// # Panics
    /// When it has to complain.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.assert_content();
        self.state().seen.clone()
    }

    /// How many requests were sent to it.
    ///
    /// # Panics
    /// When it has to complain.
    #[must_use]
    pub fn count(&self) -> usize {
        self.assert_content();
        self.state().seen.len()
    }

    /// The idempotency keys of the writes that it carried out, once for each time that it did.
    #[must_use]
    pub fn carried_out(&self) -> Vec<String> {
        self.state().carried_out.clone()
    }

    /// Nothing to complain of.
    ///
    /// # Panics
    /// When it has to complain.
    pub fn assert_content(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{} complains: {complaints:#?}", self.origin());
    }

    /// What it has to complain of, for tests of those who break rules; it is forgiven with that.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.state().complaints)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at a request, and decides what it gets.
    fn receive(&self, operation: &'static Operation, request: Request<Bytes>) -> (Reply, String, String) {
        let (head, body) = request.into_parts();
        let mut seen = Seen {
            operation: operation.id,
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
            at: self.machine.elapsed(),
            proof: None,
            heard: true,
        };
        let mut state = self.state();
        let mut complaints = Vec::new();
        self.look(&mut state, operation, &mut seen, &mut complaints);
        let reply = self.decide(&mut state, operation, &seen, &mut complaints);
        seen.heard = !matches!(reply.fate, Fate::Refused | Fate::Unheard);
        let id = seen.correlation_id().unwrap_or_default().to_owned();
        state.ask(operation, &reply, &id, self.machine.elapsed());
        let which = format!("request {} ({})", state.seen.len(), operation.id);
        state.complaints.extend(complaints.into_iter().map(|complaint| format!("{which}: {complaint}")));
        let path = seen.path().to_owned();
        state.seen.push(seen);
        (reply, id, path)
    }

    /// Everything that must be so whatever the answer is.
    fn look(&self, state: &mut State, operation: &Operation, seen: &mut Seen, complaints: &mut Vec<String>) {
        let mut complain = |what: String| complaints.push(what);
        if Htu::of(&seen.uri.to_string()).map(|htu| htu.origin()).as_ref() != Ok(&self.origin) {
            complain(format!("it was meant for {:?}", seen.uri.authority()));
        }
        let concerned = |call: &str| call.is_empty() || Some(call) == seen.correlation_id();
        let asked = state.asked.iter().filter(|(call, _)| concerned(call)).map(|(_, at)| *at).max();
        if let Some(not_before) = asked.filter(|at| seen.at < *at && !operation.anonymous) {
            complain(format!("it came at {:?}, and was asked to wait until {not_before:?}", seen.at));
        }
        if operation.repeat == Repeat::Keyed && seen.idempotency_key().is_none() {
            complain("it has no idempotency key".to_owned());
        }
        if !state.signed {
            return;
        }
        let agents = seen.headers.get_all(USER_AGENT).iter().collect::<Vec<_>>();
        if !matches!(agents[..], [agent] if agent.to_str().is_ok_and(is_user_agent)) {
            complain(format!("its User-Agent is {agents:?}"));
        }
        match self.proof(state, operation, seen) {
            Ok(None) => {}
            Ok(Some(proof)) => {
                if !state.ids.insert(proof.jti.clone()) {
                    complain("the id of its proof was used before".to_owned());
                }
                if proof.nonce.as_ref().is_some_and(|nonce| !state.issued.contains(nonce)) {
                    complain(format!("its nonce {:?} is not of this server", proof.nonce));
                }
                if self.role == Role::Provider && proof.ath.is_some() {
                    complain("its proof has an ath, and it brings no token".to_owned());
                }
                seen.proof = Some(proof);
            }
            Err(complaint) => complain(complaint),
        }
    }

    /// The proof, checked but for its time and its nonce.
    fn proof(&self, state: &State, operation: &Operation, seen: &Seen) -> Result<Option<SeenProof>, String> {
        if operation.anonymous && self.role == Role::Gateway {
            let bare = !seen.headers.contains_key(AUTHORIZATION) && !seen.headers.contains_key(DPOP);
            return if bare {
                Ok(None)
            } else {
                Err("an anonymous call brings a token or a proof".to_owned())
            };
        }
        let (token, text) = match self.role {
            Role::Gateway => {
                let both = presented(&seen.headers).map_err(|refusal| refusal.to_string())?;
                (Some(TokenHash::of(both.token)), both.proof)
            }
            Role::Provider if !seen.headers.contains_key(DPOP) => return Ok(None),
            Role::Provider => (None, proof(&seen.headers).map_err(|refusal| refusal.to_string())?),
        };
        let signed = SignedProof::read(text, &Es256).map_err(|refusal| refusal.to_string())?;
        let key = *signed.thumbprint();
        let jkt = state.key.unwrap_or(key);
        let binding = match &token {
            Some(hash) => Binding::Token { hash, jkt: Some(&jkt) },
            None => Binding::Key(&jkt),
        };
        let any_time = Window { past: Duration::MAX, future: Duration::MAX };
        let checked = signed.check(&Expected {
            method: seen.method.as_str(),
            target: Target::Request(&self.origin, seen.uri.path()),
            now: self.machine.true_time(),
            window: any_time,
            binding,
        });
        let checked = checked.map_err(|refusal| refusal.to_string())?;
        Ok(SeenProof::of(text, &checked))
    }

    /// What it gets: the gate first, then what is remembered for its key, then the script.
    fn decide(
        &self,
        state: &mut State,
        operation: &'static Operation,
        seen: &Seen,
        complaints: &mut Vec<String>,
    ) -> Reply {
        if let Some(reply) = self.gate(state, seen) {
            return reply;
        }
        let key = seen.idempotency_key().filter(|_| operation.repeat == Repeat::Keyed).map(str::to_owned);
        if let Some(written) = key.as_ref().and_then(|key| state.written.get(key)) {
            if (written.operation, &written.body) != (operation.id, &seen.body) {
                complaints.push("its idempotency key was used for another request".to_owned());
                return Reply::problem(Code::IdempotencyKeyReused);
            }
            return written.reply.again().header("Idempotency-Replayed", "true");
        }
        let fits = |of: &Option<&'static str>| of.is_none_or(|of| of == operation.id);
        let scripted = match state.queue.iter().position(|(of, _)| fits(of)) {
            Some(at) => state.queue.remove(at).map(|(_, reply)| reply),
            None => None,
        };
        let reply = scripted.unwrap_or_else(|| Arc::clone(&state.script)(seen));
        let acted = reply.status.is_success() && !matches!(reply.fate, Fate::Refused | Fate::Unheard);
        if let (Some(key), true) = (key, acted) {
            state.carried_out.push(key.clone());
            let (operation, body) = (operation.id, seen.body.clone());
            state.written.insert(key, Written { operation, body, reply: reply.clone() });
        }
        reply
    }

    /// Token, nonce and time, as a server looks at them.
    fn gate(&self, state: &State, seen: &Seen) -> Option<Reply> {
        let proof = seen.proof.as_ref()?;
        if seen.token().is_some_and(|token| state.refused_tokens.contains(token)) {
            return Some(Reply::problem(Code::Unauthenticated));
        }
        let refuse = |error: &str| match self.role {
            Role::Gateway => Reply::challenge(&format!(r#"DPoP algs="ES256", error="{error}""#), None),
            Role::Provider => Reply::oauth(error),
        };
        if state.nonce.is_some() && state.nonce != proof.nonce {
            return Some(refuse("use_dpop_nonce"));
        }
        let (now, iat) = (self.machine.true_time().since_epoch(), Duration::from_secs(proof.iat));
        let within = iat + state.window.past >= now && iat <= now + state.window.future;
        (!within).then(|| refuse("invalid_dpop_proof"))
    }

    /// The answer as it leaves.
    fn render(&self, reply: &Reply, id: &str, path: &str) -> Response<Bytes> {
        let mut answer = Response::new(reply.body(id, path));
        *answer.status_mut() = reply.status;
        if reply.is_partial() {
            answer.extensions_mut().insert(Partial(TransportFault::Interrupted));
        }
        let headers = answer.headers_mut();
        *headers = reply.headers.clone();
        if let Ok(id) = HeaderValue::from_str(id)
            && !id.is_empty()
        {
            headers.insert("X-Correlation-Id", id);
        }
        if !reply.bare {
            let now = SystemTime::UNIX_EPOCH + self.machine.true_time().since_epoch();
            absent(headers, DATE, &httpdate::fmt_http_date(now));
            if let Some(nonce) = &self.state().nonce {
                absent(headers, DPOP_NONCE, nonce);
            }
        }
        let own = headers.get_all(DPOP_NONCE).iter().filter_map(|nonce| nonce.to_str().ok());
        self.state().issued.extend(own.map(str::to_owned).collect::<Vec<_>>());
        answer
    }

    async fn exchange(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        let (reply, id, path) = self.receive(operation, request);
        if !reply.after.is_zero() {
            tokio::time::sleep(reply.after).await;
        }
        match reply.fate {
            Fate::Delivered => Ok(self.render(&reply, &id, &path)),
            Fate::Refused => Err(TransportError::new(TransportFault::Connect, Delivery::NotSent)),
            Fate::Unheard | Fate::Lost => {
                Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown))
            }
            Fate::Stalled => pending().await,
        }
    }
}

impl State {
    /// Remembers how long a reply asks to wait, and whom.
    fn ask(&mut self, operation: &Operation, reply: &Reply, id: &str, now: Duration) {
        let asked = reply.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let Some(seconds) = asked.filter(|_| reply.fate == Fate::Delivered) else { return };
        let everybody = match &reply.body {
            // Account checks have limits of their own.
            _ if operation.id == "account_check" => false,
            super::reply::Body::Problem(code) => matches!(
                code,
                Code::RateLimited
                    | Code::DpopProofLimit
                    | Code::ServiceUnavailable
                    | Code::ExchangeDisabled
                    | Code::RegistryUnavailable
            ),
            super::reply::Body::Bytes(_) => false,
        };
        let whom = if everybody { String::new() } else { id.to_owned() };
        if everybody || !id.is_empty() {
            let until = self.asked.entry(whom).or_default();
            *until = (*until).max(now + reply.after + Duration::from_secs(seconds));
        }
    }
}

impl Transport for ScriptedServer {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        Box::pin(self.0.exchange(operation, request))
    }
}

impl fmt::Debug for ScriptedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedServer").field("origin", &self.0.origin).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let complaints = std::mem::take(&mut self.state().complaints);
        if !std::thread::panicking() {
            assert!(complaints.is_empty(), "{} complains: {complaints:#?}", self.origin.as_str());
        }
    }
}

/// Several servers, each at its origin: what a client that signs in and calls talks to.
#[derive(Clone, Debug)]
pub struct Network(Arc<[ScriptedServer]>);

impl Network {
    /// These servers and no others.
    #[must_use]
    pub fn of(servers: impl IntoIterator<Item = ScriptedServer>) -> Self {
        Self(servers.into_iter().collect())
    }
}

impl Transport for Network {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        let origin = Htu::of(&request.uri().to_string()).map(|htu| htu.origin());
        match self.0.iter().find(|server| Ok(&server.0.origin) == origin.as_ref()) {
            Some(server) => server.send(operation, request),
            None => {
                let first = self.0.first().expect("a network has a server");
                let stranger = format!("a request went to {:?}", request.uri().authority());
                first.state().complaints.push(stranger);
                Box::pin(async { Err(TransportError::new(TransportFault::Connect, Delivery::NotSent)) })
            }
        }
    }
}

fn absent(headers: &mut HeaderMap, name: http::HeaderName, value: &str) {
    if let (false, Ok(value)) = (headers.contains_key(&name), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}

/// `<ClientName>/<version> (+<info_url>)`
fn is_user_agent(text: &str) -> bool {
    let Some((product, comment)) = text.split_once(' ') else { return false };
    let named =
        product.split_once('/').is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    named && comment.starts_with("(+http") && comment.ends_with(')')
}
