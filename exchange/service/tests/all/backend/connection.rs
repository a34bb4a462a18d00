//! Tests of the admission check of every handler, the service document, the label and the account check.

use super::*;

const DOCUMENT: &str = "/exchange/v1";
const LABEL: &str = "/exchange/v1/me/installation";
const CHECK: &str = "/exchange/v1/me/account-check";

/// GW-02, A19, ERR-11, ERR-14, ERR-15, ERR-17, ERR-18, ERR-19, ERR-20, ERR-39: on every route, the backend
/// repeats every admission check in the gateway's order and with the gateway's codes.
#[tokio::test]
async fn backend_repeats_every_admission_check() {
    let fixture = BackendFixture::new().await;
    let edit_caller = |change: fn(&mut Caller)| {
        let mut caller = first();
        change(&mut caller);
        caller
    };
    let cases: [(&str, Caller, u16, &str); 9] = [
        ("", edit_caller(|caller| caller.member = "m-none".into()), 403, "ACTING_MEMBER_REFUSED"),
        ("", edit_caller(|caller| caller.member = "m-disabled".into()), 403, "ACTING_MEMBER_REFUSED"),
        ("", edit_caller(|caller| caller.member = "m-pending".into()), 403, "PENDING_APPROVAL"),
        ("", edit_caller(|caller| caller.member = "m-roleless".into()), 403, "NO_ROLE"),
        ("", edit_caller(|caller| caller.member = "m-terms".into()), 403, "TERMS_NOT_ACCEPTED"),
        ("", edit_caller(|caller| caller.client = "c-none".into()), 403, "CLIENT_NOT_ALLOWED"),
        ("", edit_caller(|caller| caller.client = "c-off".into()), 403, "CLIENT_SUSPENDED"),
        (
            "",
            edit_caller(|caller| caller.scopes = ["offline_access".to_owned()].into()),
            403,
            "SCOPE_MISSING",
        ),
        ("UPDATE setting SET value = 'off' WHERE name = 'exchange'", first(), 503, "EXCHANGE_DISABLED"),
    ];
    for (sql, caller, status, code) in cases {
        fixture.sql(sql).await;
        let body = json!({ "ops": [add("BP_RIFLE")] });
        for response in [
            fixture.get(&caller, DOCUMENT).await,
            fixture.get(&caller, READ).await,
            fixture.get(&caller, "/exchange/v1/catalog/locations").await,
            fixture.post(&caller, WRITE, body).await,
        ] {
            assert_eq!((response.status, response.code()), (status, code));
            assert_eq!(response.body["correlationId"], "c-1");
        }
    }
    fixture.sql("UPDATE setting SET value = 'on' WHERE name = 'exchange'").await;
    assert_eq!(fixture.held(&first()).await.len(), 2, "nothing was written");
}

/// SVC-06, ERR-12, ERR-13: a client that was just disconnected receives the gateway's error instead of the
/// service document.
#[tokio::test]
async fn disconnected_client_gets_no_service_document() {
    let fixture = BackendFixture::new().await;
    fixture.sql("UPDATE installation SET revoked_at = 1 WHERE id = 'i-2'").await;
    let refused = fixture.get(&second(), DOCUMENT).await;
    assert_eq!((refused.status, refused.code()), (401, "INSTALLATION_REVOKED"));
    assert_eq!(fixture.get(&first(), DOCUMENT).await.status, 200);
    let signed_in_at = first().auth_time.as_millis();
    fixture
        .sql(format!(
            "INSERT INTO client_revocation (client, member, at) VALUES ('c-1', 'm-1', {signed_in_at})"
        ))
        .await;
    let refused = fixture.get(&first(), DOCUMENT).await;
    assert_eq!((refused.status, refused.code()), (401, "CLIENT_REVOKED"));
    let mut later = first();
    later.auth_time = Moment::from_millis(signed_in_at + 1);
    assert_eq!(fixture.get(&later, DOCUMENT).await.status, 200, "a later sign-in is valid");
    fixture.sql("UPDATE client SET state = 'suspended' WHERE id = 'c-1'").await;
    assert_eq!(fixture.get(&later, DOCUMENT).await.code(), "CLIENT_SUSPENDED");
}

/// GW-04, CON-13: a route requires its own scope in the token and in the registry.
#[tokio::test]
async fn route_requires_scope_in_token_and_registry() {
    let fixture = BackendFixture::new().await;
    let mut reader = first();
    reader.scopes = ["exchange.blueprints.read".to_owned()].into();
    assert_eq!(fixture.get(&reader, READ).await.status, 200);
    assert_eq!(fixture.change(&reader, vec![add("BP_RIFLE")]).await.code(), "SCOPE_MISSING");
    assert_eq!(fixture.get(&reader, DOCUMENT).await.code(), "SCOPE_MISSING");
    fixture.sql("DELETE FROM client_scope WHERE scope = 'exchange.blueprints.read'").await;
    assert_eq!(fixture.get(&reader, READ).await.code(), "SCOPE_MISSING");
}

/// SVC-01, SVC-02, SVC-03, SVC-04, SVC-05, CON-10: the document lists exactly the token's permissions.
#[tokio::test]
async fn service_document_lists_token_permissions() {
    let fixture = BackendFixture::new().await;
    let mut caller = first();
    let scopes = ["offline_access", "exchange.stock.read", "exchange.connect", "exchange.demand.read"];
    caller.scopes = scopes.map(str::to_owned).into();
    fixture.sql("DELETE FROM client_scope WHERE client = 'c-1' AND scope = 'exchange.demand.read'").await;
    fixture.sql("INSERT INTO client_scope VALUES ('c-1', 'offline_access')").await;
    let document = fixture.get(&caller, DOCUMENT).await.body;
    let expected = json!({
        "apiVersion": "1.0", "capabilities": ["exchange.connect", "exchange.stock.read"],
        "installationId": "i-1", "limits": { "batchMaxOps": 500 }, "deprecations": [],
        "docsUrl": "https://docs.exchange.example/", "minClientVersion": null,
    });
    assert_eq!(document, expected);
    fixture
        .sql("UPDATE client SET requests_per_minute = 30, writes_per_day = 0, min_version = '2.1.0' WHERE id = 'c-1'")
        .await;
    // The backend looks up the installation if the gateway could not.
    caller.installation = None;
    let document = fixture.get(&caller, DOCUMENT).await.body;
    assert_eq!(document["limits"], json!({ "batchMaxOps": 500, "requestsPerMinute": 30, "writesPerDay": 0 }));
    assert_eq!(
        (&document["minClientVersion"], &document["installationId"]),
        (&json!("2.1.0"), &json!("i-1"))
    );
    caller.jkt = "jkt-unknown".to_owned();
    assert_eq!(fixture.get(&caller, DOCUMENT).await.body.get("installationId"), None);
}

/// SVC-08, SVC-09, SVC-10, SVC-11, LIM-25: the last label is stored, and undeclared fields are ignored.
#[tokio::test]
async fn label_is_stored_and_returned() {
    let fixture = BackendFixture::new().await;
    let body =
        json!({ "label": "Étage 2 ._-", "installationId": 7, "firstSeenAt": null, "lastSeenAt": "never" });
    let response = fixture.post(&first(), LABEL, body).await;
    let expected = json!({
        "label": "Étage 2 ._-", "installationId": "i-1",
        "firstSeenAt": "1970-01-01T00:00:01Z", "lastSeenAt": "1970-01-01T00:00:02Z",
    });
    assert_eq!((response.status, &response.body), (200, &expected));
    fixture.post(&first(), LABEL, json!({ "label": "x".repeat(40) })).await;
    let labels = fixture.rows("SELECT id, label FROM installation WHERE label IS NOT NULL").await;
    assert_eq!(labels, [format!("Text(\"i-1\") Text(\"{}\")", "x".repeat(40))]);
}

/// SVC-09, SVC-10: normalization splits the letter U+0958 into two code points, one of which is a mark. The
/// label is therefore rejected without `errors`.
#[tokio::test]
async fn label_invalid_after_normalization_is_rejected() {
    let fixture = BackendFixture::new().await;
    let refused = fixture.post(&first(), LABEL, json!({ "label": "\u{958}" })).await;
    assert_eq!((refused.status, refused.code()), (400, "SCHEMA_INVALID"));
    assert_eq!(refused.body.get("errors"), None);
    assert_eq!(fixture.rows("SELECT id FROM installation WHERE label IS NOT NULL").await, [""; 0]);
}

/// SVC-13, SVC-14: the account check ignores case and never reveals the stored handle.
#[tokio::test]
async fn account_check_never_reveals_the_handle() {
    let fixture = BackendFixture::new().await;
    for (caller, handle, result) in [
        (first(), "sandbox_MEMBER", "match"),
        (first(), "sandbox-member", "mismatch"),
        (other_member(), "Sandbox_Member", "unknown"),
    ] {
        let response = fixture.post(&caller, CHECK, json!({ "handle": handle })).await;
        assert_eq!(response.body, json!({ "result": result }), "{handle}");
    }
}

/// A request without a caller did not pass through the gateway and is rejected.
#[tokio::test]
async fn call_without_a_caller_is_rejected() {
    let fixture = BackendFixture::new().await;
    let request = http::Request::get(READ).body(Body::empty()).expect("a valid request");
    let response = fixture.endpoints.serve_request(request).await;
    assert_eq!(response.status(), 500);
    let bytes = to_bytes(response.into_body(), 4 << 20).await.expect("a complete body");
    let body_json: Value = serde_json::from_slice(&bytes).expect("valid JSON");
    CONTRACT_VALIDATOR.check_response("blueprints_read", 500, &body_json);
    assert_eq!(body_json["code"], "INTERNAL_ERROR");
}
