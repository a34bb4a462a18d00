//! Tests of held batches and of their confirmation by the member.

use exchange_api::error_responses::PlainCode;
use exchange_service::backend::confirm::HandoffToken;
use exchange_service::backend::{BatchPreview, ConfirmOutcome};
use exchange_service::idp::{IdentityProvider, sessions};
use exchange_service::web::{self, WebState, confirmation_routes, draft_routes};
use tower::ServiceExt as _;

use super::*;

/// Creates a backend with a member who has six own blueprints.
async fn fixture() -> BackendFixture {
    let fixture = BackendFixture::new().await;
    assert_eq!(
        fixture.change(&first(), own_products().into_iter().map(add).collect()).await.counts(),
        (6, 0, 0)
    );
    fixture
}

fn own_products() -> Vec<&'static str> {
    vec!["BP_RIFLE", "BP_HELMET", "BP_KNIFE", "BP_ARMS", "BP_LEGS", "BP_FLASK"]
}

fn mass_removal() -> Vec<Value> {
    own_products().into_iter().map(remove).chain([add("BP_MANY_001")]).collect()
}

fn handoff(refused: &BackendResponse) -> HandoffToken {
    assert_eq!((refused.status, refused.code()), (409, "MASS_CHANGE_CONFIRMATION_REQUIRED"));
    let url = refused.body["confirmationUrl"].as_str().expect("a string");
    HandoffToken::new(url.strip_prefix("http://127.0.0.1:8080/confirm/").expect("a URL of the web pages"))
}

fn member() -> MemberId {
    MemberId::new("m-1")
}

async fn preview(fixture: &BackendFixture, handoff: &HandoffToken) -> Option<BatchPreview> {
    fixture.backend().preview_batch(&member(), handoff).await.expect("the preview succeeds")
}

async fn confirm(fixture: &BackendFixture, handoff: &HandoffToken) -> ConfirmOutcome {
    fixture.backend().confirm_batch(&member(), handoff).await.expect("the confirmation succeeds")
}

/// WRT-10, WRT-11, ERR-27: a held batch writes nothing. Its link is only in the response, and only the hash
/// of its secret is stored.
#[tokio::test]
async fn mass_removal_batch_is_held_without_writing() {
    let fixture = fixture().await;
    let refused = fixture.change(&first(), mass_removal()).await;
    assert_eq!((refused.status, refused.code()), (409, "MASS_CHANGE_CONFIRMATION_REQUIRED"));
    handoff(&refused);
    assert_eq!(fixture.held(&first()).await.len(), 8);
    let url = refused.body["confirmationUrl"].as_str().expect("a string").to_owned();
    let secret = url.rsplit('/').next().expect("a handoff token");
    assert_eq!(secret.len(), 43);
    assert!(!fixture.everything().await.iter().any(|row| row.contains(secret)));
    assert_eq!(
        fixture.rows("SELECT member, kind, subject FROM notice").await,
        ["Text(\"m-1\") Text(\"held-batch\") Text(\"c-1\")"]
    );
}

/// WRT-13, WEB-08: the preview shows the effects and does not use up the link. Confirming applies the batch
/// once, without the guard, as a write of the installation, and is recorded in the audit log.
#[tokio::test]
async fn held_batch_is_applied_once() {
    let fixture = fixture().await;
    let handoff = handoff(&fixture.change(&first(), mass_removal()).await);
    for _ in 0..2 {
        let shown = preview(&fixture, &handoff).await.expect("the preview succeeds");
        assert_eq!((shown.client.as_str(), shown.area), ("First client", "blueprints"));
        let effects = &shown.description;
        assert_eq!((effects.removed_count(), effects.written_count(), effects.refused.len()), (6, 1, 0));
        assert!(effects.changes.iter().any(|change| change.removed && change.name == "Sandbox rifle"));
        assert_eq!((shown.result.dry_run, shown.result.counts().applied), (true, 7));
        assert_eq!(shown.expires_at, fixture.clock.now().plus(Duration::from_secs(1800)));
    }
    assert_eq!(
        fixture.backend().preview_batch(&MemberId::new("m-2"), &handoff).await.expect("the call succeeds"),
        None
    );
    assert_eq!(
        fixture.backend().confirm_batch(&MemberId::new("m-2"), &handoff).await.expect("the call succeeds"),
        ConfirmOutcome::NotFound
    );
    let ConfirmOutcome::Applied(result) = confirm(&fixture, &handoff).await else { panic!("not applied") };
    assert_eq!((result.counts().applied, result.dry_run), (7, false));
    assert_eq!(fixture.held(&first()).await.len(), 3);
    assert_eq!(confirm(&fixture, &handoff).await, ConfirmOutcome::NotFound);
    assert_eq!(preview(&fixture, &handoff).await, None);
    assert_eq!(
        fixture.change(&first(), vec![add("BP_RIFLE")]).await.counts(),
        (1, 0, 0),
        "the client's own removal needs no override"
    );
    let audited = fixture.rows("SELECT actor, client, action FROM audit WHERE action LIKE 'held%'").await;
    assert_eq!(audited, ["Text(\"member:m-1\") Text(\"c-1\") Text(\"held-batch.confirm\")"]);
}

/// WRT-13: discarding a held batch deletes it. A batch that is neither confirmed nor discarded expires after 30
/// minutes.
#[tokio::test]
async fn held_batch_is_discarded_or_expires() {
    let fixture = fixture().await;
    let dropped = handoff(&fixture.change(&first(), mass_removal()).await);
    assert!(fixture.backend().discard_batch(&member(), &dropped).await.expect("the discard succeeds"));
    assert!(!fixture.backend().discard_batch(&member(), &dropped).await.expect("the call succeeds"));
    assert_eq!(confirm(&fixture, &dropped).await, ConfirmOutcome::NotFound);
    let ended = handoff(&fixture.change(&first(), mass_removal()).await);
    fixture.clock.advance(Duration::from_secs(1800) - Duration::from_millis(1));
    assert!(preview(&fixture, &ended).await.is_some());
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(
        (preview(&fixture, &ended).await, confirm(&fixture, &ended).await),
        (None, ConfirmOutcome::NotFound)
    );
    assert_eq!(fixture.held(&first()).await.len(), 8);
    assert_eq!(fixture.run_upkeep_task("held-batches").await, 1);
    assert_eq!(fixture.rows("SELECT * FROM held_batch").await, [""; 0]);
}

/// WRT-12: a newer batch replaces the older one of the same client only.
#[tokio::test]
async fn newer_batch_replaces_older_one_of_same_client() {
    let fixture = fixture().await;
    let older = handoff(&fixture.change(&first(), mass_removal()).await);
    let other_handoff = handoff(&fixture.change(&other_client(), mass_removal()).await);
    let newer =
        handoff(&fixture.change(&second(), own_products().into_iter().take(5).map(remove).collect()).await);
    assert_eq!(preview(&fixture, &older).await, None);
    assert_eq!(preview(&fixture, &newer).await.map(|shown| shown.description.removed_count()), Some(5));
    assert_eq!(
        preview(&fixture, &other_handoff).await.map(|shown| shown.client),
        Some("Second client".to_owned())
    );
}

/// WRT-12, ERR-32: a batch that is too large to be held is rejected, and an older held batch is kept.
#[tokio::test]
async fn batch_too_large_to_hold_is_rejected() {
    let mut config = Config::default();
    config.guard.held_bytes = 600;
    let fixture = BackendFixture::with_config(config, |backend| backend).await;
    fixture.change(&first(), own_products().into_iter().map(add).collect()).await;
    let held = handoff(&fixture.change(&first(), mass_removal()).await);
    let mut ops = mass_removal();
    ops.extend((0..10).map(|number| add(&format!("BP_MANY_{number:03}"))));
    let refused = fixture.change(&first(), ops).await;
    assert_eq!((refused.status, refused.code()), (413, "BATCH_TOO_LARGE"));
    assert!(preview(&fixture, &held).await.is_some());
}

/// WRT-13: the on/off switch, the client, the scope and disconnections are checked again. If a check fails,
/// the batch stays held.
#[tokio::test]
async fn confirmation_repeats_admission_checks() {
    let fixture = fixture().await;
    let handoff = handoff(&fixture.change(&first(), mass_removal()).await);
    let revoke = "INSERT INTO client_revocation SELECT 'c-1', 'm-1', 1790000000000";
    for (sql, undo, code) in [
        (
            "UPDATE setting SET value = 'off' WHERE name = 'exchange'",
            "UPDATE setting SET value = 'on' WHERE name = 'exchange'",
            PlainCode::ExchangeDisabled,
        ),
        (
            "UPDATE client SET state = 'suspended'",
            "UPDATE client SET state = 'active'",
            PlainCode::ClientSuspended,
        ),
        (
            "UPDATE client_scope SET scope = 'x' WHERE scope = 'exchange.blueprints.write'",
            "UPDATE client_scope SET scope = 'exchange.blueprints.write' WHERE scope = 'x'",
            PlainCode::ScopeMissing,
        ),
        (
            "UPDATE installation SET revoked_at = 1 WHERE id = 'i-1'",
            "UPDATE installation SET revoked_at = NULL",
            PlainCode::InstallationRevoked,
        ),
        (revoke, "DELETE FROM client_revocation", PlainCode::ClientRevoked),
    ] {
        fixture.sql(sql).await;
        assert_eq!(confirm(&fixture, &handoff).await, ConfirmOutcome::Refused(code));
        fixture.sql(undo).await;
    }
    assert_eq!(fixture.held(&first()).await.len(), 8);
    assert!(matches!(confirm(&fixture, &handoff).await, ConfirmOutcome::Applied(_)));
}

/// Returns the web pages of the backend, and the cookie of a signed-in member.
pub(super) async fn pages(fixture: &BackendFixture, member: &'static str) -> (axum::Router, String) {
    let environment = Environment::new(Arc::new(fixture.clock.clone()), Arc::new(SystemRandom));
    let mut config = Config::default();
    (config.idp.password_kib, config.idp.password_passes) = (8, 1);
    let provider = IdentityProvider::new(fixture.store.clone(), environment.clone(), &config)
        .await
        .expect("the provider starts");
    let web = WebState::new(provider).expect("the pages can be created");
    let begin = move |connection: &rusqlite::Connection| {
        sessions::begin_session(connection, &environment, &MemberId::new(member), DAY)
    };
    let (secret, _) = fixture.store.write(begin).await.expect("the session is stored");
    let router = confirmation_routes(web.clone(), fixture.backend().clone())
        .merge(draft_routes(web.clone(), fixture.backend().clone()))
        .merge(web::member_routes(web.clone(), fixture.backend().clone()))
        .merge(web::router(web));
    (router, format!("session={secret}"))
}

/// Opens the page, or submits its form.
async fn visit(pages: &(axum::Router, String), path: &str, form: Option<String>) -> (u16, String) {
    let response = send(pages, path, form).await;
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("a complete body");
    (status, String::from_utf8(bytes.to_vec()).expect("valid UTF-8"))
}

async fn send(pages: &(axum::Router, String), path: &str, form: Option<String>) -> http::Response<Body> {
    let request = http::Request::builder().uri(path).header("Cookie", &pages.1);
    let request = match form {
        None => request.body(Body::empty()),
        Some(form) => request
            .method("POST")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(Body::from(form)),
    };
    let response = pages.0.clone().oneshot(request.expect("a valid request")).await.expect("a response");
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(
            response.headers()[name],
            value,
            "every response has the header, also redirects and errors"
        );
    }
    response
}

/// Returns the target of a redirect.
async fn redirect_target(pages: &(axum::Router, String), path: &str, form: Option<String>) -> String {
    let response = send(pages, path, form).await;
    assert_eq!(response.status(), 303);
    response.headers()["location"].to_str().expect("a valid address").to_owned()
}

/// WEB-08, WRT-13: the page shows the effects as text. Only its own form can confirm or discard, and only
/// once.
#[tokio::test]
async fn confirmation_page_previews_then_applies_once() {
    let fixture = fixture().await;
    fixture.sql("UPDATE client SET name = '<b>Mallory</b>' WHERE id = 'c-1'").await;
    let held = async || {
        let refused = fixture.change(&first(), mass_removal()).await;
        let url = refused.body["confirmationUrl"].as_str().expect("a string").to_owned();
        url.strip_prefix("http://127.0.0.1:8080").expect("a URL of the web pages").to_owned()
    };
    let (own_pages, other_pages) = (pages(&fixture, "m-1").await, pages(&fixture, "m-2").await);
    let link = held().await;
    let path = redirect_target(&own_pages, &link, None).await;
    assert!(path.starts_with("/held/") && !path.contains(link.rsplit('/').next().expect("a handoff token")));
    let (status, shown) = visit(&own_pages, &path, None).await;
    assert_eq!(status, 200);
    assert!(
        shown.contains("<bdi>&lt;b&gt;Mallory&lt;/b&gt;</bdi>") && shown.contains("<bdi>Sandbox rifle</bdi>"),
        "{shown}"
    );
    assert!(!shown.contains(&link), "no page contains the link");
    let (status, overview) = visit(&own_pages, "/", None).await;
    assert!(status == 200 && overview.contains(&path), "the overview leads to the batch: {overview}");
    assert!(!visit(&other_pages, "/", None).await.1.contains(&path));
    let until = fixture.clock.now().plus(Duration::from_secs(1800)).to_the_minute();
    assert!(until.ends_with(" UTC") && shown.contains(&format!(">{until}</time>")), "{shown}");
    let csrf = shown.split("name=\"csrf\" value=\"").nth(1).expect("a CSRF token");
    let csrf = csrf.split('"').next().expect("the end of the value").to_owned();
    let form = |decision: &str| Some(format!("csrf={csrf}&decision={decision}"));
    for (pages, form, status) in [
        (&other_pages, None, 404),
        (&other_pages, form("confirm"), 403),
        (&own_pages, Some("decision=confirm".to_owned()), 403),
        (&own_pages, form("perhaps"), 403),
    ] {
        assert_eq!(visit(pages, &path, form).await.0, status);
    }
    assert_eq!(visit(&own_pages, "/held/none", None).await.0, 404);
    assert_eq!(fixture.held(&first()).await.len(), 8, "the batch is still held");
    assert_eq!(redirect_target(&own_pages, &path, form("discard")).await, path);
    // From now on, the page shows the result, also after another decision in a second tab.
    for decision in [None, form("discard"), form("confirm")] {
        let (status, page) = visit(&own_pages, &path, decision).await;
        assert!(status == 200 && page.contains("were discarded. Nothing was changed."), "{page}");
    }
    assert_eq!(visit(&other_pages, &path, None).await.0, 404);
    let path = redirect_target(&own_pages, &held().await, None).await;
    for (no_more, text, again) in [
        ("UPDATE setting SET value = 'off' WHERE name = 'exchange'", "switched off", "value = 'on'"),
        ("UPDATE setting SET value = '3' WHERE name = 'terms'", "terms have changed", "value = '2'"),
    ] {
        fixture.sql(no_more).await;
        let (status, page) = visit(&own_pages, &path, form("confirm")).await;
        assert!(status == 403 && page.contains(text), "{page}");
        assert!(page.contains("Apply these changes"), "the member can try again: {page}");
        let (table, named) = no_more.split_once(" WHERE ").expect("a WHERE clause");
        let table = table.split(" SET ").next().expect("a table name");
        fixture.sql(format!("{table} SET {again} WHERE {named}")).await;
    }
    for (state, text) in
        [("has_role = 0", "no longer hold a role"), ("has_role = 1, state = 'pending'", "awaits approval")]
    {
        fixture.sql(format!("UPDATE member SET {state} WHERE id = 'm-1'")).await;
        let (status, page) = visit(&own_pages, &path, form("confirm")).await;
        assert!(status == 403 && page.contains(text), "{page}");
    }
    fixture.sql("UPDATE member SET state = 'active' WHERE id = 'm-1'").await;
    assert_eq!(redirect_target(&own_pages, &path, form("confirm")).await, path);
    for decision in [None, form("confirm"), form("discard")] {
        let (status, done) = visit(&own_pages, &path, decision).await;
        assert!(status == 200 && done.contains("7 changes were applied"), "{done}");
        assert!(done.contains("<bdi>Sandbox rifle</bdi>"), "the result lists the changes: {done}");
    }
    fixture.clock.advance(Duration::from_secs(1800));
    assert_eq!(visit(&own_pages, &path, None).await.0, 404, "the result expires with the batch");
    assert_eq!(fixture.run_upkeep_task("handled-requests").await, 2);
    assert_eq!(fixture.held(&first()).await.len(), 3);
    let signed_out = (own_pages.0.clone(), String::from("session="));
    assert_eq!(visit(&signed_out, &path, None).await.0, 303, "the member is redirected to the sign-in page");
}

/// WRT-11: a handoff never appears in the log.
#[test]
fn handoff_is_not_logged() {
    assert_eq!(format!("{:?}", HandoffToken::new("hush")), "HandoffToken([secret])");
}
