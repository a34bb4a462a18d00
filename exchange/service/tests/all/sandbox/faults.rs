//! Tests of the sandbox's faults and of its journal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use exchange_api::codes::Code;
use exchange_api::oauth_errors::OauthError;
use exchange_service::sandbox::{PlannedFault, Sandbox, SandboxError, SandboxFault};
use exchange_service::time::ManualClock;
use serde_json::{Value, json};

use super::super::client::{Client, keys};
use super::{knife, sign_in, signed_in};

const SERVICE: &str = "/exchange/v1";
const CHANGES: &str = "/exchange/v1/me/blueprints/changes";

/// Calls the control interface.
async fn control(sandbox: &Sandbox, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let url = format!("{}/_sandbox/{path}", sandbox.origin());
    let mut request = reqwest::Client::new().request(method.parse().unwrap(), url);
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default())
}

async fn plan(sandbox: &Sandbox, fault: Value) {
    let (status, body) = control(sandbox, "POST", "faults", Some(fault)).await;
    assert_eq!(status, 204, "{body}");
}

/// Returns the entries of the journal, as a script reads them.
async fn requests(sandbox: &Sandbox) -> Vec<Value> {
    let (status, body) = control(sandbox, "GET", "requests", None).await;
    assert_eq!(status, 200, "{body}");
    body["requests"].as_array().unwrap().clone()
}

async fn last_request(sandbox: &Sandbox) -> Value {
    requests(sandbox).await.pop().unwrap()
}

async fn read_service(client: &mut Client) -> (u16, String) {
    let response = client.call("service_document", SERVICE, None, "").await;
    (response.status.as_u16(), response.code().to_owned())
}

/// Every code of the contract can be provoked for a number of requests. The response conforms to the contract, and the
/// journal names the fault.
#[tokio::test]
async fn every_code_is_provoked() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    read_service(&mut client).await;
    let mut provoked = 0;
    for code in Code::ALL {
        let fault = SandboxFault::Refuse { code: code.as_str().to_owned(), retry_after_seconds: None };
        if let Err(error) = sandbox.plan_fault(PlannedFault::once(fault)) {
            // One code is never sent, and the other one needs the URL of a held batch.
            let without = [Code::LegacyEndpointGone, Code::MassChangeConfirmationRequired];
            assert!(without.contains(code), "{error}");
            continue;
        }
        let response = client.once(SERVICE, None, "").await;
        assert_eq!((Some(response.status.as_u16()), response.code()), (code.status(), code.as_str()));
        let entry = last_request(&sandbox).await;
        assert_eq!(
            (&entry["stage"], &entry["code"]),
            (&json!("fault of the sandbox"), &json!(code.as_str()))
        );
        provoked += 1;
    }
    assert_eq!(provoked + 2, Code::ALL.len());
    assert_eq!(read_service(&mut client).await.0, 200);
}

/// Every error of OAuth can be provoked at the provider.
#[tokio::test]
async fn every_oauth_error_is_provoked() {
    let sandbox = Sandbox::start().await.unwrap();
    let client =
        Client::new(&sandbox.directory().gateway, &sandbox.directory().issuer, sandbox.clock().clone());
    let login = client.begin().await;
    for error in OauthError::ALL {
        plan(&sandbox, json!({ "fault": "refuse", "code": error.as_str(), "path": "/idp/token" })).await;
        let (status, body) = client.poll(&login).await;
        assert_eq!((Some(status.as_u16()), body["error"].as_str()), (error.status(), Some(error.as_str())));
    }
}

/// A fault applies to the requests with its method and path, and as often as planned. The first planned one is used
/// first.
#[tokio::test]
async fn faults_apply_to_their_requests() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    let limited = json!({ "fault": "refuse", "code": "RATE_LIMITED", "retryAfterSeconds": 7, "method": "POST",
                          "path": "/exchange/v1/me/*", "times": 2 });
    plan(&sandbox, limited.clone()).await;
    plan(&sandbox, json!({ "fault": "refuse", "code": "EXCHANGE_DISABLED", "path": CHANGES })).await;
    let (_, listed) = control(&sandbox, "GET", "faults", None).await;
    assert_eq!(listed["faults"][0], limited);
    assert_eq!(client.read(None).await.status, 200, "another method");
    assert_eq!(read_service(&mut client).await.0, 200, "another path");
    for code in ["RATE_LIMITED", "RATE_LIMITED", "EXCHANGE_DISABLED"] {
        let response = client.write(knife(), "key-of-a-fault-001").await;
        assert_eq!(response.code(), code);
        // EXCHANGE_DISABLED has a delay of its own.
        let wait = if code == "RATE_LIMITED" { "7" } else { "30" };
        assert_eq!(response.headers["retry-after"], wait);
    }
    assert_eq!(client.write(knife(), "key-of-a-fault-001").await.body["applied"], 1);
    plan(&sandbox, limited).await;
    assert_eq!(control(&sandbox, "DELETE", "faults", None).await.0, 204);
    assert_eq!(
        client
            .write(
                json!([{ "op": "remove", "ref": { "scRecord": "bp_craft_sbxm_knife_01" } }]),
                "key-of-a-fault-002"
            )
            .await
            .status,
        200
    );
}

/// Faults that cannot happen are refused with the field.
#[tokio::test]
async fn invalid_faults_are_refused() {
    let sandbox = Sandbox::start().await.unwrap();
    for (fault, field) in [
        (json!({ "fault": "refuse", "code": "NO_SUCH_CODE" }), "code"),
        (json!({ "fault": "cut", "times": 0 }), "times"),
        (json!({ "fault": "delay", "milliseconds": 600_001 }), "milliseconds"),
        (json!({ "fault": "delay" }), "milliseconds"),
        (json!({ "fault": "explode" }), "explode"),
        (json!({ "fault": "cut", "code": "RATE_LIMITED" }), "code"),
    ] {
        let (status, body) = control(&sandbox, "POST", "faults", Some(fault.clone())).await;
        let error = body["error"].as_str().unwrap_or_default();
        assert!(matches!(status, 400 | 422) && error.contains(field), "{fault}: {status} {body}");
    }
    assert_eq!(control(&sandbox, "GET", "faults", None).await.1, json!({ "faults": [] }));
}

/// A cut connection has no effect. After a lost response, the write is applied, and its retry is answered with the
/// stored response.
#[tokio::test]
async fn connections_are_cut_before_or_after_the_commit() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    let body = json!({ "ops": knife() });
    for (fault, key, is_applied) in
        [("cut", "key-of-a-cut-00001", false), ("lose-response", "key-of-a-cut-00002", true)]
    {
        client.read(None).await;
        plan(&sandbox, json!({ "fault": fault, "path": CHANGES })).await;
        let lost = client.try_call("blueprints_write", CHANGES, Some(body.clone()), key).await;
        assert!(lost.is_err(), "{fault}");
        let entry = last_request(&sandbox).await;
        assert_eq!(entry["isAnswered"], false, "{entry}");
        assert_eq!(entry["status"], if is_applied { json!(200) } else { Value::Null }, "{entry}");
        let listed = client.read(None).await;
        assert_eq!(keys(&listed.body["items"]).contains(&"bp-sandbox-knife"), is_applied, "{fault}");
    }
    let again = client.write(knife(), "key-of-a-cut-00002").await;
    assert!(
        again.headers.contains_key("idempotency-replayed") && again.body["applied"] == 1,
        "{}",
        again.body
    );
    assert_eq!(last_request(&sandbox).await["isReplayed"], true);
    // In one process, there is no connection to close, so that the call returns an error.
    sandbox.plan_fault(PlannedFault::once(SandboxFault::Cut {})).unwrap();
    let request =
        http::Request::get(format!("{}{SERVICE}", sandbox.origin())).body(bytes::Bytes::new()).unwrap();
    assert!(matches!(sandbox.handle_request(request).await, Err(SandboxError::Refused(_))));
}

#[tokio::test]
async fn responses_are_delayed() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    read_service(&mut client).await;
    plan(&sandbox, json!({ "fault": "delay", "milliseconds": 50, "path": SERVICE })).await;
    let begun = Instant::now();
    assert_eq!(read_service(&mut client).await.0, 200);
    assert!(begun.elapsed() >= Duration::from_millis(50));
}

/// LIM-12: after a restart, nonces are challenged again, and tokens stay valid.
#[tokio::test]
async fn restart_forgets_nonces() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    assert_eq!(read_service(&mut client).await.0, 200);
    assert_eq!(client.once(SERVICE, None, "").await.status, 200, "the nonce is known");
    assert_eq!(control(&sandbox, "POST", "restart", None).await.0, 204);
    assert_eq!(client.once(SERVICE, None, "").await.challenge(), "use_dpop_nonce");
    assert_eq!(read_service(&mut client).await.0, 200);
}

/// Returns the bounds of an expected range.
fn bounds(mismatch: &Value) -> [i64; 2] {
    let (earliest, latest) = mismatch["expected"].as_str().unwrap().split_once(" to ").unwrap();
    [earliest, latest].map(|bound| bound.parse().unwrap())
}

/// The provider accepts proofs in a narrower window than the gateway, and the journal names this window.
#[tokio::test]
async fn journal_names_the_window_of_the_provider() {
    let sandbox = Sandbox::start().await.unwrap();
    let clock = ManualClock::offset_from(Arc::new(sandbox.clock().clone()));
    let directory = sandbox.directory();
    let mut client = Client::new(&directory.gateway, &directory.issuer, clock.clone());
    sign_in(&sandbox, &mut client).await;
    clock.advance(Duration::from_secs(20));
    let (status, body) = client.renew().await;
    assert_eq!(status, 400, "{body}");
    let entry = last_request(&sandbox).await;
    assert_eq!(entry["stage"], "identity provider", "{entry}");
    let found = entry["mismatches"].as_array().unwrap().iter().find(|found| found["what"] == "iat").unwrap();
    let [earliest, latest] = bounds(found);
    assert_eq!(latest - earliest, 40, "25 seconds in the past, 15 in the future: {found}");
    clock.step_back(Duration::from_secs(20));
    assert_eq!(client.renew().await.0, 200);
}

/// A step of the clock has exactly one direction.
#[tokio::test]
async fn clock_needs_one_direction() {
    let sandbox = Sandbox::start().await.unwrap();
    let before = control(&sandbox, "GET", "clock", None).await.1;
    for body in [json!({}), json!({ "advanceSeconds": 1, "setBackSeconds": 1 }), json!({ "advance": 1 })] {
        let (status, answer) = control(&sandbox, "POST", "clock", Some(body.clone())).await;
        let error = answer["error"].as_str().unwrap();
        let names_fields = error.contains("advanceSeconds") && error.contains("setBackSeconds");
        assert!(matches!(status, 400 | 422) && names_fields, "{body}: {status} {error}");
    }
    let after = control(&sandbox, "GET", "clock", None).await.1;
    assert!(after["now"].as_str() >= before["now"].as_str(), "{before} {after}");
}

/// The journal says which part of a proof is wrong. It contains no token, no proof, and no request for a page.
#[tokio::test]
async fn journal_explains_refusals() {
    let sandbox = Sandbox::start().await.unwrap();
    let mut client = signed_in(&sandbox).await;
    read_service(&mut client).await;
    let mismatch = async |what: &str| {
        let entry = last_request(&sandbox).await;
        assert_eq!(
            (&entry["stage"], &entry["isAnswered"]),
            (&json!("token and proof"), &json!(true)),
            "{entry}"
        );
        let found = entry["mismatches"].as_array().into_iter().flatten().find(|found| found["what"] == what);
        found.unwrap_or_else(|| panic!("{what}: {entry}")).clone()
    };
    let proof = client.proof_of("GET", "/exchange/v1/me/blueprints");
    client.send_proof(&sandbox.origin(), SERVICE, &proof).await;
    let htu = mismatch("htu").await;
    assert_eq!(htu["expected"], format!("{}{SERVICE}", sandbox.origin()));
    assert_eq!(htu["received"], format!("{}/exchange/v1/me/blueprints", sandbox.origin()));
    client.send_proof(&sandbox.origin(), SERVICE, &client.proof_of("POST", SERVICE)).await;
    assert_eq!((mismatch("htm").await["expected"]).clone(), "GET");
    // The client's clock is ahead of the exchange's.
    let early = client.proof_of("GET", SERVICE);
    let (status, now) = control(&sandbox, "POST", "clock", Some(json!({ "setBackSeconds": 600 }))).await;
    assert_eq!(status, 200, "{now}");
    client.send_proof(&sandbox.origin(), SERVICE, &early).await;
    let iat = mismatch("iat").await;
    let [earliest, latest] = bounds(&iat);
    assert_eq!(latest - earliest, 60, "LIM-10: {iat}");
    assert!(iat["received"].as_str().unwrap().parse::<i64>().unwrap() > latest, "{iat}");
    control(&sandbox, "POST", "clock", Some(json!({ "advanceSeconds": 600 }))).await;

    let invalid = client.send_text(CHANGES, r#"{"ops": [{"op": "add"}]}"#, "key-of-a-journal-01").await;
    assert_eq!(invalid.code(), "SCHEMA_INVALID");
    let entry = last_request(&sandbox).await;
    assert!(entry["mismatches"][0]["what"].as_str().unwrap().starts_with("/ops/0"), "{entry}");
    assert_eq!(entry["idempotencyKey"], "key-of-a-journal-01");

    let pages = reqwest::get(format!("{}/sign-in", sandbox.origin())).await.unwrap();
    assert_eq!(pages.status(), 200);
    let all = requests(&sandbox).await;
    let text = json!(all).to_string();
    assert!(
        !text.contains(&client.token) && !text.contains(&client.refresh) && !text.contains(&proof),
        "{text}"
    );
    assert!(!text.contains("sign-in"), "{text}");
    let known = all[all.len() - 2]["number"].as_u64().unwrap();
    let newer = control(&sandbox, "GET", &format!("requests?after={known}"), None).await.1;
    assert_eq!(newer["requests"].as_array().unwrap(), &all[all.len() - 1..]);
    assert_eq!(control(&sandbox, "DELETE", "requests", None).await.0, 204);
    assert_eq!(sandbox.requests_after(0), []);
}

/// The commands in README.md work as they are written there.
#[tokio::test]
async fn commands_of_the_readme_work() {
    let sandbox = Sandbox::start().await.unwrap();
    let readme = include_str!("../../../README.md");
    let section =
        readme.split_once("### Faults and the journal").unwrap().1.split_once("### Pages").unwrap().0;
    let mut ran = 0;
    for line in section.lines().filter_map(|line| line.strip_prefix("$ curl ")) {
        let (line, method) = match line.strip_prefix("-X POST ") {
            Some(rest) => (rest, "POST"),
            None => (line, if line.contains("--json") { "POST" } else { "GET" }),
        };
        let (url, body) = line.split_once(" --json ").map_or((line, None), |(url, body)| (url, Some(body)));
        let path = url.strip_prefix("http://127.0.0.1:8080/_sandbox/").unwrap();
        let body = body.map(|body| serde_json::from_str(body.trim_matches('\'')).unwrap());
        let (status, answer) = control(&sandbox, method, path, body).await;
        assert!(matches!(status, 200 | 204), "{line}: {status} {answer}");
        ran += 1;
    }
    assert_eq!(ran, 6);
    // Every kind of fault has a row in the table.
    for fault in ["refuse", "delay", "cut", "lose-response"] {
        assert!(section.contains(&format!("| `{fault}` |")), "{fault}");
    }
}
