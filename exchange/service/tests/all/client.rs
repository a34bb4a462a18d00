//! A client over real sockets that shares no code with the service, and functions for a minimal browser.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::sync::Arc;

use bytes::Bytes;
use dpop_bound::{AccessToken, Htu, KeyPair, Nonce, ProofRequest, Prover, SystemRandom, Thumbprint};
use exchange_service::time::Clock;
use http::header::{COOKIE, SET_COOKIE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::support::CONTRACT_VALIDATOR;

const SCOPES: &str = "exchange.connect offline_access exchange.blueprints.read exchange.blueprints.write";

/// A client of the exchange, by default with the id `sandbox-client`.
pub(crate) struct Client {
    /// The public origin of the gateway, and its actual address.
    gateway: (String, String),
    /// The public origin of the issuer, and its actual address.
    issuer: (String, String),
    clock: Arc<dyn Clock>,
    http: reqwest::Client,
    prover: Arc<Prover<KeyPair, SystemRandom>>,
    nonce: Option<String>,
    pub(crate) token: String,
    pub(crate) refresh: String,
    /// The registered client id.
    id: &'static str,
}

/// A device login that was started.
pub(crate) struct Login {
    pub(crate) user_code: String,
    device_code: String,
}

#[derive(Debug)]
pub(crate) struct ClientResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) body: Value,
}

impl ClientResponse {
    async fn read(response: reqwest::Response) -> reqwest::Result<Self> {
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Self { status, headers, bytes, body })
    }

    /// Validates an error response against the original files of the contract.
    fn assert_contract(&self, method: &str, path: &str, sent: Option<&Value>) {
        CONTRACT_VALIDATOR.exchanged((method, path), sent, (self.status.as_u16(), &self.body));
    }

    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// Returns the `error` of the challenge.
    pub(crate) fn challenge(&self) -> &str {
        let challenge = self.headers.get("www-authenticate").map(|value| value.to_str().unwrap());
        let error = challenge.and_then(|challenge| challenge.split("error=\"").nth(1)?.split('"').next());
        error.unwrap_or_default()
    }
}

impl Client {
    pub(crate) fn new(gateway: &str, issuer: &str, clock: impl Clock + 'static) -> Self {
        Self {
            gateway: (gateway.to_owned(), gateway.to_owned()),
            issuer: (issuer.to_owned(), issuer.to_owned()),
            clock: Arc::new(clock),
            http: reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap(),
            prover: Arc::new(Prover::new(KeyPair::generate().unwrap(), SystemRandom)),
            nonce: None,
            token: String::new(),
            refresh: String::new(),
            id: "sandbox-client",
        }
    }

    /// Uses another client id.
    pub(crate) fn with_id(mut self, id: &'static str) -> Self {
        self.id = id;
        self
    }

    /// Sets the actual addresses of gateway and issuer; the public ones stay the same.
    pub(crate) fn with_addresses(mut self, gateway: &str, issuer: &str) -> Self {
        self.use_addresses(gateway, issuer);
        self
    }

    /// Sends further requests to these actual addresses; the public ones stay the same.
    pub(crate) fn use_addresses(&mut self, gateway: &str, issuer: &str) {
        (self.gateway.1, self.issuer.1) = (gateway.to_owned(), issuer.to_owned());
    }

    /// Returns a copy of the client, as a second thread of the same installation.
    pub(crate) fn twin(&self) -> Self {
        Self {
            gateway: self.gateway.clone(),
            issuer: self.issuer.clone(),
            clock: Arc::clone(&self.clock),
            http: self.http.clone(),
            prover: Arc::clone(&self.prover),
            nonce: self.nonce.clone(),
            token: self.token.clone(),
            refresh: self.refresh.clone(),
            id: self.id,
        }
    }

    pub(crate) fn thumbprint(&self) -> Thumbprint {
        self.prover.signer().public_key().thumbprint()
    }

    fn proof(&self, method: &str, url: &str, with_token: bool) -> String {
        let token = with_token.then(|| AccessToken::new(self.token.clone()).unwrap());
        let nonce = self.nonce.as_deref().filter(|_| with_token).map(|nonce| Nonce::new(nonce).unwrap());
        let request = ProofRequest {
            method,
            htu: &Htu::from_url(url).unwrap(),
            iat: self.clock.now().to_unix_time(),
            nonce: nonce.as_ref(),
            token: token.as_ref().map(AccessToken::hash),
        };
        self.prover.prove_now(&request).unwrap().into_string()
    }

    async fn form(
        &self,
        endpoint: &str,
        fields: &[(&str, &str)],
        proved: bool,
    ) -> reqwest::Result<(StatusCode, Value)> {
        let (public, reached) = &self.issuer;
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = self
            .http
            .post(format!("{reached}/{endpoint}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&").replace(' ', "+"));
        if proved {
            request = request.header("dpop", self.proof("POST", &format!("{public}/{endpoint}"), false));
        }
        let response = request.send().await?;
        Ok((response.status(), response.text().await?.parse().unwrap_or_default()))
    }

    /// Starts a device login with the default scopes.
    pub(crate) async fn begin(&self) -> Login {
        self.begin_for(SCOPES).await
    }

    /// Starts a device login with these scopes.
    pub(crate) async fn begin_for(&self, scopes: &str) -> Login {
        let fields = [("client_id", self.id), ("scope", scopes)];
        let (status, login) = self.form("device_authorization", &fields, false).await.unwrap();
        assert_eq!(status, 200, "{login}");
        let text = |name: &str| login[name].as_str().unwrap().to_owned();
        Login { user_code: text("user_code"), device_code: text("device_code") }
    }

    /// Requests the tokens of a login once, and returns status and body of the response.
    pub(crate) async fn poll(&self, login: &Login) -> (StatusCode, Value) {
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", &*login.device_code),
            ("client_id", self.id),
        ];
        self.form("token", &fields, true).await.unwrap()
    }

    /// Requests and stores the tokens of an approved login.
    pub(crate) async fn finish(&mut self, login: &Login) {
        let (status, granted) = self.poll(login).await;
        assert_eq!(status, 200, "{granted}");
        self.store_tokens(&granted);
    }

    pub(crate) async fn renew(&mut self) -> (StatusCode, Value) {
        self.try_renew().await.unwrap()
    }

    /// Refreshes the tokens; returns an error if there is no response.
    pub(crate) async fn try_renew(&mut self) -> reqwest::Result<(StatusCode, Value)> {
        let refresh = self.refresh.clone();
        let fields = [("grant_type", "refresh_token"), ("refresh_token", &*refresh), ("client_id", self.id)];
        let (status, granted) = self.form("token", &fields, true).await?;
        if status == 200 {
            self.store_tokens(&granted);
        }
        Ok((status, granted))
    }

    /// Revokes the connection.
    pub(crate) async fn revoke(&self) -> (StatusCode, Value) {
        let fields =
            [("token", &*self.refresh), ("token_type_hint", "refresh_token"), ("client_id", self.id)];
        self.form("revoke", &fields, true).await.unwrap()
    }

    fn store_tokens(&mut self, granted: &Value) {
        assert_eq!(granted["token_type"], "DPoP");
        self.token = granted["access_token"].as_str().unwrap().to_owned();
        self.refresh = granted["refresh_token"].as_str().unwrap().to_owned();
    }

    /// Sends a request, and sends it again if the gateway requires a nonce. Validates request and response.
    pub(crate) async fn call(
        &mut self,
        operation: &str,
        path: &str,
        body: Option<Value>,
        key: &str,
    ) -> ClientResponse {
        self.try_call(operation, path, body, key).await.unwrap()
    }

    /// Sends a request as [`call`](Self::call) does; returns an error if there is no response.
    pub(crate) async fn try_call(
        &mut self,
        operation: &str,
        path: &str,
        body: Option<Value>,
        key: &str,
    ) -> reqwest::Result<ClientResponse> {
        if let Some(body) = &body {
            CONTRACT_VALIDATOR.request(operation, body);
        }
        let text = body.map(|body| body.to_string());
        let response = self.try_send_text(path, text.as_deref(), key).await?;
        // The path of the request determined the schema of the earlier validation; this one uses the given
        // operation.
        CONTRACT_VALIDATOR.check_response(operation, response.status.as_u16(), &response.body);
        Ok(response)
    }

    /// Sends a body that may violate the contract.
    pub(crate) async fn send_text(&mut self, path: &str, body: &str, key: &str) -> ClientResponse {
        self.try_send_text(path, Some(body), key).await.unwrap()
    }

    async fn try_send_text(
        &mut self,
        path: &str,
        body: Option<&str>,
        key: &str,
    ) -> reqwest::Result<ClientResponse> {
        let first = self.try_send_once(path, body, key).await?;
        match first.code() {
            "DPOP_INVALID" => self.try_send_once(path, body, key).await,
            _ => Ok(first),
        }
    }

    /// Sends a request once. Validates the response, and also the request if it was accepted.
    pub(crate) async fn once(&mut self, path: &str, body: Option<&Value>, key: &str) -> ClientResponse {
        let text = body.map(Value::to_string);
        self.try_send_once(path, text.as_deref(), key).await.unwrap()
    }

    /// Creates a proof for a request, with the latest nonce.
    pub(crate) fn proof_of(&self, method: &str, path: &str) -> String {
        let (public, _) = &self.gateway;
        self.proof(method, &format!("{public}{}", path.split('?').next().unwrap_or_default()), true)
    }

    /// Sends a read with an existing proof to any address. The nonce of the response is not stored.
    pub(crate) async fn send_proof(&self, base: &str, path: &str, proof: &str) -> ClientResponse {
        let request = self.http.get(format!("{base}{path}")).header("dpop", proof);
        let request = request.header("authorization", format!("DPoP {}", self.token));
        let response = ClientResponse::read(request.send().await.unwrap()).await.unwrap();
        response.assert_contract("GET", path, None);
        response
    }

    async fn try_send_once(
        &mut self,
        path: &str,
        body: Option<&str>,
        key: &str,
    ) -> reqwest::Result<ClientResponse> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let proof = self.proof_of(method.as_str(), path);
        let (_, reached) = &self.gateway;
        let mut request = self
            .http
            .request(method.clone(), format!("{reached}{path}"))
            .header("authorization", format!("DPoP {}", self.token))
            .header("dpop", proof)
            .header("user-agent", "SandboxTest/1.0.0 (+https://client.example)");
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let response = ClientResponse::read(request.send().await?).await?;
        let sent = body.and_then(|body| serde_json::from_str(body).ok());
        response.assert_contract(method.as_str(), path, sent.as_ref());
        if let Some(nonce) = response.headers.get("dpop-nonce") {
            self.nonce = Some(nonce.to_str().unwrap().to_owned());
        }
        Ok(response)
    }

    pub(crate) async fn read(&mut self, cursor: Option<&str>) -> ClientResponse {
        let query = cursor.map(|cursor| format!("?cursor={cursor}")).unwrap_or_default();
        self.call("blueprints_read", &format!("/exchange/v1/me/blueprints{query}"), None, "").await
    }

    pub(crate) async fn write(&mut self, ops: Value, key: &str) -> ClientResponse {
        let body = Some(json!({ "ops": ops }));
        self.call("blueprints_write", "/exchange/v1/me/blueprints/changes", body, key).await
    }
}

/// Returns the keys of a list of entries or tombstones.
pub(crate) fn keys(entries: &Value) -> Vec<&str> {
    entries.as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap()).collect()
}

/// Signs in on the pages of a service and approves a user code.
pub(crate) async fn approve_on_pages(base: &str, username: &str, password: &str, user_code: &str) {
    let session = sign_in_on_pages(base, username, password).await;
    let page = open_page(base, "/device", &session).await.text().await.unwrap();
    let form = format!("csrf={}&user_code={user_code}&decision=approve", token(&page));
    let approved = submit(base, "/device/decision", &session, form).await;
    assert_eq!(approved.status(), 303);
    let result = approved.headers()["location"].to_str().unwrap();
    let page = open_page(base, result, &session).await.text().await.unwrap();
    assert!(page.contains("<h1>Connected</h1>"), "{page}");
}

/// Signs in on the pages of a service and returns the session cookie.
pub(crate) async fn sign_in_on_pages(base: &str, username: &str, password: &str) -> String {
    let cookie = |response: &reqwest::Response| {
        let set = response.headers().get(SET_COOKIE).unwrap().to_str().unwrap();
        set.split(';').next().unwrap().to_owned()
    };
    let page = open_page(base, "/sign-in", "").await;
    let form = cookie(&page);
    let csrf = token(&page.text().await.unwrap());
    let body = format!("csrf={csrf}&username={username}&password={password}");
    let signed_in = submit(base, "/sign-in", &form, body).await;
    assert_eq!(signed_in.status(), 303);
    cookie(&signed_in)
}

/// Requests a page with a cookie, without following redirects.
pub(crate) async fn open_page(base: &str, path: &str, cookie: &str) -> reqwest::Response {
    browser().get(format!("{base}{path}")).header(COOKIE, cookie).send().await.unwrap()
}

async fn submit(base: &str, path: &str, cookie: &str, form: String) -> reqwest::Response {
    let request = browser().post(format!("{base}{path}")).header(COOKIE, cookie);
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
    request.send().await.unwrap()
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// Returns the CSRF token of the form on a page.
fn token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap_or_else(|| panic!("no form: {page}"));
    rest.split('"').next().unwrap().to_owned()
}
