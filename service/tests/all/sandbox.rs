//! The whole exchange over real sockets: what a connected client goes through, from its first request on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use dpop_bound::{AccessToken, Htu, KeyPair, Nonce, ProofRequest, Prover, SystemRandom};
use exchange_service::sandbox::{Act, Options, Sandbox};
use exchange_service::time::Clock as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::kit::JUDGE;

const SCOPES: &str = "exchange.connect offline_access exchange.blueprints.read exchange.blueprints.write";
const MEMBER: &str = "sandbox-member";

/// A client as somebody would write one, with nothing of the service in it.
struct Client<'a> {
    sandbox: &'a Sandbox,
    http: reqwest::Client,
    prover: Prover<KeyPair, SystemRandom>,
    nonce: Option<String>,
    token: String,
    refresh: String,
}

struct Answered {
    status: StatusCode,
    headers: http::HeaderMap,
    body: Value,
}

impl Answered {
    fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl<'a> Client<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        Self {
            sandbox,
            http: reqwest::Client::new(),
            prover: Prover::new(KeyPair::generate().unwrap(), SystemRandom),
            nonce: None,
            token: String::new(),
            refresh: String::new(),
        }
    }

    fn proof(&self, method: &str, url: &str, with_token: bool) -> String {
        let token = with_token.then(|| AccessToken::new(self.token.clone()).unwrap());
        let nonce = self.nonce.as_deref().filter(|_| with_token).map(|nonce| Nonce::new(nonce).unwrap());
        let request = ProofRequest {
            method,
            htu: &Htu::of(url).unwrap(),
            iat: self.sandbox.clock().now().unix(),
            nonce: nonce.as_ref(),
            token: token.as_ref().map(AccessToken::hash),
        };
        self.prover.prove_now(&request).unwrap().into_string()
    }

    async fn form(&self, endpoint: &str, fields: &[(&str, &str)], proved: bool) -> (StatusCode, Value) {
        let url = format!("{}/{endpoint}", self.sandbox.directory().issuer);
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = self
            .http
            .post(&url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&").replace(' ', "+"));
        if proved {
            request = request.header("dpop", self.proof("POST", &url, false));
        }
        let answer = request.send().await.unwrap();
        (answer.status(), answer.text().await.unwrap().parse().unwrap_or_default())
    }

    async fn sign_in(&mut self) {
        let asked = [("client_id", "sandbox-client"), ("scope", SCOPES)];
        let (status, login) = self.form("device_authorization", &asked, false).await;
        assert_eq!(status, 200, "{login}");
        self.sandbox.approve(login["user_code"].as_str().unwrap(), MEMBER).await.unwrap();
        let asked = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", login["device_code"].as_str().unwrap()),
            ("client_id", "sandbox-client"),
        ];
        let (status, granted) = self.form("token", &asked, true).await;
        assert_eq!(status, 200, "{granted}");
        self.take(&granted);
    }

    async fn renew(&mut self) -> (StatusCode, Value) {
        let refresh = self.refresh.clone();
        let asked =
            [("grant_type", "refresh_token"), ("refresh_token", &*refresh), ("client_id", "sandbox-client")];
        let (status, granted) = self.form("token", &asked, true).await;
        if status == 200 {
            self.take(&granted);
        }
        (status, granted)
    }

    fn take(&mut self, granted: &Value) {
        assert_eq!(granted["token_type"], "DPoP");
        self.token = granted["access_token"].as_str().unwrap().to_owned();
        self.refresh = granted["refresh_token"].as_str().unwrap().to_owned();
    }

    /// Once, and once more when the gateway asks for its nonce; request and answer are judged.
    async fn call(&mut self, operation: &str, path: &str, body: Option<Value>, key: &str) -> Answered {
        if let Some(body) = &body {
            JUDGE.request(operation, body);
        }
        let first = self.once(path, body.as_ref(), key).await;
        let answered =
            if first.code() == "DPOP_INVALID" { self.once(path, body.as_ref(), key).await } else { first };
        JUDGE.answer(operation, answered.status.as_u16(), &answered.body);
        answered
    }

    async fn once(&mut self, path: &str, body: Option<&Value>, key: &str) -> Answered {
        let url = format!("{}{path}", self.sandbox.origin());
        let plain = url.split('?').next().unwrap_or_default();
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let proof = self.proof(method.as_str(), plain, true);
        let mut request = self
            .http
            .request(method, &url)
            .header("authorization", format!("DPoP {}", self.token))
            .header("dpop", proof)
            .header("user-agent", "SandboxTest/1.0.0 (+https://client.example)");
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        if let Some(nonce) = headers.get("dpop-nonce") {
            self.nonce = Some(nonce.to_str().unwrap().to_owned());
        }
        Answered { status, headers, body: answer.text().await.unwrap().parse().unwrap_or_default() }
    }

    async fn read(&mut self, cursor: Option<&str>) -> Answered {
        let query = cursor.map(|cursor| format!("?cursor={cursor}")).unwrap_or_default();
        self.call("blueprints_read", &format!("/exchange/v1/me/blueprints{query}"), None, "").await
    }

    async fn write(&mut self, ops: Value, key: &str) -> Answered {
        let body = Some(json!({ "ops": ops }));
        self.call("blueprints_write", "/exchange/v1/me/blueprints/changes", body, key).await
    }
}

fn keys(entries: &Value) -> Vec<&str> {
    entries.as_array().unwrap().iter().map(|entry| entry["key"].as_str().unwrap()).collect()
}

fn knife() -> Value {
    json!([{ "op": "add", "ref": { "scRecord": "bp_craft_sbxm_knife_01" } }])
}

/// A client signs in, is challenged for its nonce, says what it is called, and reads what it may
/// (IDP-15, IDP-16, DPP-13, SVC-01, SVC-11, CON-01, CON-14).
#[tokio::test]
async fn a_client_signs_in_and_reads_the_service_document() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = Client::new(&sandbox);
    client.sign_in().await;
    let challenged = client.once("/exchange/v1", None, "").await;
    assert_eq!((challenged.status.as_u16(), challenged.code()), (401, "DPOP_INVALID"));
    let challenge = challenged.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("use_dpop_nonce"), "{challenge}");

    let document = client.call("service_document", "/exchange/v1", None, "").await;
    assert_eq!(document.status, 200);
    let may = ["exchange.blueprints.read", "exchange.blueprints.write", "exchange.connect"];
    assert_eq!(document.body["capabilities"], json!(may));
    let label = Some(json!({ "label": "Desk" }));
    let labelled = client.call("installation_label", "/exchange/v1/me/installation", label, "").await;
    assert_eq!(labelled.body["label"], "Desk");
    assert_eq!(labelled.body["installationId"], document.body["installationId"]);
}

/// A write is answered once, its effect follows in the feed, and so does what the member does on the web
/// (BPR-05, BPR-06, FED-02, FED-04, GW-10, TYP-14, WRT-03).
#[tokio::test]
async fn what_is_written_here_and_there_is_read_from_the_feed() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = Client::new(&sandbox);
    client.sign_in().await;
    let snapshot = client.read(None).await;
    assert_eq!(snapshot.body["items"].as_array().unwrap().len(), 10, "two of the member's, eight defaults");
    let cursor = snapshot.body["nextCursor"].as_str().unwrap().to_owned();

    let added = client.write(knife(), "key-of-the-first-write").await;
    assert_eq!((added.status.as_u16(), &added.body["applied"]), (200, &json!(1)), "{}", added.body);
    let again = client.write(knife(), "key-of-the-first-write").await;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.body, added.body);
    let page = client.read(Some(&cursor)).await;
    assert_eq!(keys(&page.body["items"]), ["bp-sandbox-knife"]);
    let cursor = page.body["nextCursor"].as_str().unwrap().to_owned();

    let removal = Act::Blueprints { add: vec![], remove: vec!["bp-sandbox-knife".to_owned()] };
    sandbox.act(MEMBER, removal).await.unwrap();
    let page = client.read(Some(&cursor)).await;
    assert_eq!(keys(&page.body["removed"]), ["bp-sandbox-knife"]);
    assert_eq!(page.body["removed"][0]["removedBy"]["channel"], "web");
    let refused = client.write(knife(), "key-of-the-second-write").await;
    assert_eq!(refused.body["results"][0]["reason"], "REMOVED_ELSEWHERE", "{}", refused.body);
}

/// A token ends, is renewed, and ends for good when the member disconnects the client
/// (IDP-25, LIM-07, ERR-05, ERR-12, ERR-47).
#[tokio::test]
async fn a_connection_is_renewed_until_the_member_ends_it() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = Client::new(&sandbox);
    client.sign_in().await;
    assert_eq!(client.read(None).await.status, 200);
    sandbox.advance(Duration::from_secs(301));
    assert_eq!(client.read(None).await.code(), "UNAUTHENTICATED");
    assert_eq!(client.renew().await.0, 200);
    assert_eq!(client.read(None).await.status, 200);
    sandbox.act(MEMBER, Act::Disconnect { client: "sandbox-client".to_owned() }).await.unwrap();
    let refused = client.read(None).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (401, "CLIENT_REVOKED"));
    let (status, refused) = client.renew().await;
    assert_eq!((status.as_u16(), &refused["error"]), (400, &json!("invalid_grant")));
}

/// After a reset nothing of before holds: no token, and no cursor (FED-08).
#[tokio::test]
async fn a_reset_begins_another_history() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = Client::new(&sandbox);
    client.sign_in().await;
    let cursor = client.read(None).await.body["nextCursor"].as_str().unwrap().to_owned();
    assert_eq!(client.write(knife(), "key-of-the-first-write").await.status, 200);
    sandbox.reset().await.unwrap();
    assert_eq!(client.read(None).await.code(), "UNAUTHENTICATED");
    client.sign_in().await;
    let gone = client.read(Some(&cursor)).await;
    assert_eq!((gone.status.as_u16(), gone.code()), (410, "CURSOR_EXPIRED"));
    assert_eq!(client.read(None).await.body["items"].as_array().unwrap().len(), 10);
}

/// The control interface says what is wrong, and serves nobody who came by another name.
#[tokio::test]
async fn the_control_interface_is_for_scripts_on_this_machine() {
    let sandbox = Sandbox::with(Options { seed: Some(7), ..Options::default() }).await.unwrap();
    let (http, control) = (reqwest::Client::new(), sandbox.directory().control);
    let post = |path: &str, body: Value| {
        http.post(format!("{control}{path}"))
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
    };
    let unknown = post("/approve", json!({ "userCode": "BBBB-BBBB", "account": "nobody" })).await.unwrap();
    assert_eq!(unknown.status(), 404);
    assert!(unknown.text().await.unwrap().contains("no account of this name"));
    let ill = post("/act", json!({ "account": MEMBER, "act": "dance" })).await.unwrap();
    assert!(ill.status().is_client_error());
    let before = sandbox.clock().now();
    assert_eq!(post("/clock", json!({ "advanceSeconds": 3600 })).await.unwrap().status(), 200);
    assert!(sandbox.clock().now().since(before) >= Duration::from_secs(3600));
    let elsewhere = http.get(&control).header("host", "evil.example").send().await.unwrap();
    assert_eq!(elsewhere.status(), 403);
}
