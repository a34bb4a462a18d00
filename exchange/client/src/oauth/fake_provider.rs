//! An in-memory identity provider for tests, which validates proofs and fails on request.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use dpop_bound::{Es256, ExpectedRequest, Htu, KeyBinding, ProofWindow, RequestTarget, SignedProof};
use exchange_api::runtime::{
    operation::Operation,
    transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault},
};
use http::{Request, Response};
use serde_json::{Value, json};

use crate::testkit::VirtualEnvironment;

pub(crate) const ISSUER: &str = "https://id.example/realms/x";
/// The marker in all secrets. Tests search for it in printed output.
pub(crate) const PLANTED: &str = "hush";

/// The scripted result of one request.
pub(crate) enum FakeReply {
    /// Returns this response without processing the request.
    Json(u16, Value),
    /// Returns this page, whose body is not JSON.
    Page(u16, &'static str),
    /// Processes the request but loses the response.
    Lost,
    /// Refuses the connection.
    Refused,
    /// Processes the request but delays the response.
    Delayed(Duration),
    /// Returns this status and these headers with an empty body.
    Headers(u16, Vec<(&'static str, String)>),
    /// Returns this OAuth error with this `Retry-After` in seconds.
    ErrorWithRetryAfter(&'static str, u64),
    /// Returns this status and these headers with a body that exceeds the size limit.
    TooLarge(u16, Vec<(&'static str, String)>),
}

#[derive(Clone)]
pub(crate) struct FakeProvider(Arc<FakeProviderInner>);

struct FakeProviderInner {
    time: VirtualEnvironment,
    state: Mutex<FakeProviderState>,
}

#[derive(Default)]
pub(crate) struct FakeProviderState {
    /// The ids of the requested operations, in order.
    pub(crate) log: Vec<&'static str>,
    /// The time of each request since the start.
    pub(crate) times: Vec<Duration>,
    /// The form of each request.
    pub(crate) forms: Vec<String>,
    replies: VecDeque<(&'static str, FakeReply)>,
    proofs: HashSet<String>,
    /// The required nonce, if nonces are enabled.
    pub(crate) nonce: Option<String>,
    /// The number of received nonces that this server did not issue.
    pub(crate) foreign_nonces: usize,
    /// True if responses have no `Date` header.
    pub(crate) without_date: bool,
    /// True if the use of a replaced refresh token ends the connection at once.
    pub(crate) strict: bool,
    pub(crate) token_type: Option<&'static str>,
    pub(crate) decision: Option<bool>,
    pub(crate) scope: Option<String>,
    pub(crate) token_lifetime: Option<u64>,
    /// The key thumbprint, the current refresh token, and the previous one.
    connection: Option<(String, String, Option<String>)>,
    issued_tokens: u64,
    pub(crate) issuer: Option<&'static str>,
}

impl FakeProvider {
    pub(crate) fn new(time: &VirtualEnvironment) -> Self {
        Self(Arc::new(FakeProviderInner { time: time.clone(), state: Mutex::default() }))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, FakeProviderState> {
        self.0.state.lock().unwrap()
    }

    /// Sets the result of the next request for this operation. Results are used in the order in which they
    /// were set.
    pub(crate) fn enqueue_reply(&self, operation: &'static str, reply: FakeReply) {
        self.state().replies.push_back((operation, reply));
    }

    pub(crate) fn enqueue_error(&self, error: &'static str) {
        self.enqueue_reply("oauth.token", FakeReply::Json(400, json!({ "error": error })));
    }

    /// Removes the results that no request has used.
    pub(crate) fn clear_replies(&self) {
        self.state().replies.clear();
    }

    /// Returns the number of requests for this operation.
    pub(crate) fn count_requests(&self, operation: &str) -> usize {
        self.state().log.iter().filter(|id| **id == operation).count()
    }

    /// Ends the connection, as a member does in the web application.
    pub(crate) fn end_connection(&self) {
        self.state().connection = None;
    }

    /// Replaces the refresh token, as if another process had refreshed.
    pub(crate) fn rotate_token(&self) -> String {
        let mut state = self.state();
        let (key, current, _) = state.connection.clone().unwrap();
        state.issue_refresh_token(key, Some(current));
        state.connection.clone().unwrap().1
    }

    async fn handle_request(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        // This simulates the network delay.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let form = String::from_utf8(request.body().to_vec()).unwrap();
        let reply = {
            let mut state = self.state();
            state.log.push(operation.id);
            state.times.push(self.0.time.elapsed());
            state.forms.push(form.clone());
            let at = state.replies.iter().position(|(id, _)| *id == operation.id);
            at.and_then(|at| state.replies.remove(at)).map(|(_, reply)| reply)
        };
        let lost = TransportError::new(TransportFault::Interrupted, Delivery::Unknown);
        match reply {
            Some(FakeReply::Refused) => {
                return Err(TransportError::new(TransportFault::Connect, Delivery::NotSent));
            }
            Some(FakeReply::Page(status, page)) => return Ok(self.build_response(status, page.into())),
            Some(FakeReply::ErrorWithRetryAfter(error, seconds)) => {
                let mut response = self.build_response(400, json!({ "error": error }).to_string());
                response.headers_mut().insert("retry-after", seconds.into());
                return Ok(response);
            }
            Some(FakeReply::Json(status, body)) => return Ok(self.build_response(status, body.to_string())),
            Some(FakeReply::Headers(status, ref headers) | FakeReply::TooLarge(status, ref headers)) => {
                let is_too_large = matches!(reply, Some(FakeReply::TooLarge(..)));
                let mut response = self.build_response(
                    status,
                    " ".repeat(if is_too_large { super::MAX_RESPONSE_SIZE + 1 } else { 0 }),
                );
                for (name, value) in headers {
                    response.headers_mut().insert(*name, value.parse().unwrap());
                }
                return Ok(response);
            }
            _ => {}
        }
        let (status, body) = self.handle_operation(operation.id, &request, &form);
        let response = self.build_response(status, body.to_string());
        match reply {
            Some(FakeReply::Lost) => return Err(lost),
            Some(FakeReply::Delayed(late)) => tokio::time::sleep(late).await,
            _ => {}
        }
        Ok(response)
    }

    fn build_response(&self, status: u16, body: String) -> Response<Bytes> {
        let state = self.state();
        let mut response = Response::builder().status(status);
        if !state.without_date {
            let now = SystemTime::UNIX_EPOCH + self.0.time.true_time().since_epoch();
            response = response.header("Date", httpdate::fmt_http_date(now));
        }
        if let Some(nonce) = &state.nonce {
            response = response.header("DPoP-Nonce", nonce);
        }
        response.body(body.into()).unwrap()
    }

    fn handle_operation(&self, id: &str, request: &Request<Bytes>, form: &str) -> (u16, Value) {
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
        let proof = dpop_bound::http::parse_proof_header(request.headers()).unwrap().to_owned();
        let fresh = state.proofs.insert(proof.clone());
        assert!(fresh, "a proof was sent twice");
        let signed = SignedProof::verify_signature(&proof, &Es256).unwrap();
        let nonce = signed.nonce().map(ToString::to_string);
        if nonce.is_some() && nonce != state.nonce {
            state.foreign_nonces += 1;
        }
        if state.nonce.is_some() && nonce != state.nonce {
            return refused("use_dpop_nonce");
        }
        let checked = signed.check_claims(&ExpectedRequest {
            method: "POST",
            target: RequestTarget::Url(&Htu::from_url(&request.uri().to_string()).unwrap()),
            now: self.0.time.true_time(),
            window: ProofWindow::from_secs(25, 15),
            binding: KeyBinding::AnyKey,
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
                Some(true) => state.issue_refresh_token(jkt, None),
            };
        }
        let sent = form.split('&').find_map(|field| field.strip_prefix("refresh_token=")).unwrap().to_owned();
        match state.connection.clone() {
            Some((key, current, _)) if key == jkt && sent == current => {
                state.issue_refresh_token(jkt, Some(sent))
            }
            // The successor of the token was not used yet, so it is returned again.
            Some((key, current, Some(before))) if key == jkt && sent == before && !state.strict => {
                state.issue_access_token(&current)
            }
            _ => {
                state.connection = None;
                refused("invalid_grant")
            }
        }
    }
}

impl FakeProviderState {
    fn issue_refresh_token(&mut self, jkt: String, before: Option<String>) -> (u16, Value) {
        self.issued_tokens += 1;
        let token = format!("{PLANTED}-refresh-{}", self.issued_tokens);
        self.connection = Some((jkt, token.clone(), before));
        self.issue_access_token(&token)
    }

    fn issue_access_token(&mut self, refresh: &str) -> (u16, Value) {
        self.issued_tokens += 1;
        let scope = self
            .scope
            .clone()
            .unwrap_or_else(|| "exchange.connect exchange.stock.read offline_access".into());
        let response = json!({
            "access_token": format!("{PLANTED}-access-{}", self.issued_tokens),
            "token_type": self.token_type.unwrap_or("DPoP"),
            "expires_in": self.token_lifetime.unwrap_or(300),
            "refresh_token": refresh,
            "scope": scope,
        });
        (200, response)
    }
}

impl Transport for FakeProvider {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(self.handle_request(operation, request))
    }
}
