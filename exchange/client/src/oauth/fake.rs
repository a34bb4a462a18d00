//! An identity provider in memory, for tests: it checks proofs as the real one does, and fails as it is told.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use dpop_bound::{Binding, Es256, Expected, Htu, SignedProof, Target, Window};
use exchange_api::runtime::{
    operation::Operation,
    transport::{Delivery, Sending, Transport, TransportError, TransportFault},
};
use http::{Request, Response};
use serde_json::{Value, json};

use crate::testkit::VirtualEnvironment;

pub(crate) const ISSUER: &str = "https://id.example/realms/x";
/// What tests plant, and look for in everything that is printed.
pub(crate) const PLANTED: &str = "hush";

/// What becomes of one request.
pub(crate) enum Fate {
    /// This answer, whatever was asked.
    Answer(u16, Value),
    /// This, which is no JSON.
    Page(u16, &'static str),
    /// It is carried out, and the answer is lost.
    Lost,
    /// The connection fails before anything arrives.
    Refused,
    /// It is carried out, and answered so late.
    Late(Duration),
    /// An answer with these headers, which is no success.
    Headers(u16, Vec<(&'static str, String)>),
    /// This error, with as many seconds to wait.
    Waits(&'static str, u64),
    /// An answer with these headers and a body that is larger than what is read.
    Huge(u16, Vec<(&'static str, String)>),
}

#[derive(Clone)]
pub(crate) struct Fake(Arc<Inner>);

struct Inner {
    time: VirtualEnvironment,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The operations, in their order.
    pub(crate) log: Vec<&'static str>,
    /// When each came.
    pub(crate) times: Vec<Duration>,
    /// Their forms.
    pub(crate) forms: Vec<String>,
    fates: VecDeque<(&'static str, Fate)>,
    proofs: HashSet<String>,
    /// The nonce that a proof needs, where one is asked for.
    pub(crate) nonce: Option<String>,
    /// Nonces that came and were none of this server's.
    pub(crate) strange: usize,
    /// Answers carry no date.
    pub(crate) dateless: bool,
    /// A refresh token that was replaced ends the connection at once.
    pub(crate) strict: bool,
    pub(crate) token_type: Option<&'static str>,
    pub(crate) decision: Option<bool>,
    pub(crate) scope: Option<String>,
    pub(crate) life: Option<u64>,
    /// The key, the token that holds, and the one before it.
    connection: Option<(String, String, Option<String>)>,
    made: u64,
    pub(crate) issuer: Option<&'static str>,
}

impl Fake {
    pub(crate) fn new(time: &VirtualEnvironment) -> Self {
        Self(Arc::new(Inner { time: time.clone(), state: Mutex::default() }))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    /// The next request for this operation fares so; those that were told before come first.
    pub(crate) fn next(&self, operation: &'static str, fate: Fate) {
        self.state().fates.push_back((operation, fate));
    }

    pub(crate) fn next_refused(&self, error: &'static str) {
        self.next("oauth.token", Fate::Answer(400, json!({ "error": error })));
    }

    /// What was to become of requests that nobody made.
    pub(crate) fn forget_fates(&self) {
        self.state().fates.clear();
    }

    /// How often this was asked for.
    pub(crate) fn count(&self, operation: &str) -> usize {
        self.state().log.iter().filter(|id| **id == operation).count()
    }

    /// Ends the connection, as the member does on the web.
    pub(crate) fn disconnect(&self) {
        self.state().connection = None;
    }

    /// The connection has another refresh token from now on, as if another process had refreshed.
    pub(crate) fn rotate(&self) -> String {
        let mut state = self.state();
        let (key, current, _) = state.connection.clone().unwrap();
        state.issue(key, Some(current));
        state.connection.clone().unwrap().1
    }

    async fn answer(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        // On its way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let form = String::from_utf8(request.body().to_vec()).unwrap();
        let fate = {
            let mut state = self.state();
            state.log.push(operation.id);
            state.times.push(self.0.time.elapsed());
            state.forms.push(form.clone());
            let at = state.fates.iter().position(|(id, _)| *id == operation.id);
            at.and_then(|at| state.fates.remove(at)).map(|(_, fate)| fate)
        };
        let lost = TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
        match fate {
            Some(Fate::Refused) => {
                return Err(TransportError::new(TransportFault::Connect, Delivery::NotSent));
            }
            Some(Fate::Page(status, page)) => return Ok(self.dress(status, page.into())),
            Some(Fate::Waits(error, seconds)) => {
                let mut answer = self.dress(400, json!({ "error": error }).to_string());
                answer.headers_mut().insert("retry-after", seconds.into());
                return Ok(answer);
            }
            Some(Fate::Answer(status, body)) => return Ok(self.dress(status, body.to_string())),
            Some(Fate::Headers(status, ref headers) | Fate::Huge(status, ref headers)) => {
                let is_huge = matches!(fate, Some(Fate::Huge(..)));
                let mut answer = self.dress(status, " ".repeat(if is_huge { super::LARGEST + 1 } else { 0 }));
                for (name, value) in headers {
                    answer.headers_mut().insert(*name, value.parse().unwrap());
                }
                return Ok(answer);
            }
            _ => {}
        }
        let (status, body) = self.decide(operation.id, &request, &form);
        let answer = self.dress(status, body.to_string());
        match fate {
            Some(Fate::Lost) => return Err(lost),
            Some(Fate::Late(late)) => tokio::time::sleep(late).await,
            _ => {}
        }
        Ok(answer)
    }

    fn dress(&self, status: u16, body: String) -> Response<Bytes> {
        let state = self.state();
        let mut answer = Response::builder().status(status);
        if !state.dateless {
            let now = SystemTime::UNIX_EPOCH + self.0.time.true_time().since_epoch();
            answer = answer.header("Date", httpdate::fmt_http_date(now));
        }
        if let Some(nonce) = &state.nonce {
            answer = answer.header("DPoP-Nonce", nonce);
        }
        answer.body(body.into()).unwrap()
    }

    fn decide(&self, id: &str, request: &Request<Bytes>, form: &str) -> (u16, Value) {
        let refused = |error: &str| (400, json!({ "error": error, "error_description": PLANTED }));
        let mut state = self.state();
        match id {
            "oauth.discovery" => {
                assert_eq!(request.uri(), "https://id.example/realms/x/.well-known/openid-configuration");
                return (
                    200,
                    json!({
                        "issuer": state.issuer.unwrap_or(ISSUER),
                        "device_authorization_endpoint": format!("{ISSUER}/device"),
                        "token_endpoint": format!("{ISSUER}/token"),
                        "revocation_endpoint": format!("{ISSUER}/revoke"),
                    }),
                );
            }
            "oauth.device" => {
                assert!(request.headers().get("dpop").is_none());
                state.decision = None;
                return (
                    200,
                    json!({
                        "device_code": format!("{PLANTED}-device"), "user_code": "BCDF-GHJK",
                        "verification_uri": "https://id.example/device",
                        "verification_uri_complete": format!("https://id.example/device?{PLANTED}"),
                        "expires_in": 600, "interval": 5,
                    }),
                );
            }
            _ => {}
        }
        let proof = dpop_bound::http::proof(request.headers()).unwrap().to_owned();
        let fresh = state.proofs.insert(proof.clone());
        assert!(fresh, "a proof was sent twice");
        let signed = SignedProof::read(&proof, &Es256).unwrap();
        let nonce = signed.nonce().map(ToString::to_string);
        if nonce.is_some() && nonce != state.nonce {
            state.strange += 1;
        }
        if state.nonce.is_some() && nonce != state.nonce {
            return refused("use_dpop_nonce");
        }
        let checked = signed.check(&Expected {
            method: "POST",
            target: Target::Url(&Htu::of(&request.uri().to_string()).unwrap()),
            now: self.0.time.true_time(),
            window: Window::seconds(25, 15),
            binding: Binding::AnyKey,
        });
        let jkt = match checked {
            Ok(checked) => checked.thumbprint().to_string(),
            Err(_) => return refused("invalid_dpop_proof"),
        };
        if id == "oauth.revoke" {
            state.connection = None;
            return (200, json!({}));
        }
        if form.contains("device_code=") {
            return match state.decision {
                None => refused("authorization_pending"),
                Some(false) => refused("access_denied"),
                Some(true) => state.issue(jkt, None),
            };
        }
        let sent = form.split('&').find_map(|field| field.strip_prefix("refresh_token=")).unwrap().to_owned();
        match state.connection.clone() {
            Some((key, current, _)) if key == jkt && sent == current => state.issue(jkt, Some(sent)),
            // Nobody used its successor: the same again.
            Some((key, current, Some(before))) if key == jkt && sent == before && !state.strict => {
                state.access(&current)
            }
            _ => {
                state.connection = None;
                refused("invalid_grant")
            }
        }
    }
}

impl State {
    fn issue(&mut self, jkt: String, before: Option<String>) -> (u16, Value) {
        self.made += 1;
        let token = format!("{PLANTED}-refresh-{}", self.made);
        self.connection = Some((jkt, token.clone(), before));
        self.access(&token)
    }

    fn access(&mut self, refresh: &str) -> (u16, Value) {
        self.made += 1;
        let scope = self
            .scope
            .clone()
            .unwrap_or_else(|| "exchange.connect exchange.stock.read offline_access".into());
        let answer = json!({
            "access_token": format!("{PLANTED}-access-{}", self.made),
            "token_type": self.token_type.unwrap_or("DPoP"),
            "expires_in": self.life.unwrap_or(300),
            "refresh_token": refresh,
            "scope": scope,
        });
        (200, answer)
    }
}

impl Transport for Fake {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        Box::pin(self.answer(operation, request))
    }
}
