//! Tests of the page on which administrators register clients.

use exchange_service::store::StoreError;

use super::harness::{ProviderHarness, SCOPES, location};

const PATH: &str = "/clients";

async fn clients(harness: &ProviderHarness) -> Vec<String> {
    let work = |database: &rusqlite::Connection| {
        let sql = "SELECT id || ' ' || name || ' ' || state || ' ' || coalesce(min_version, '-') || ' ' || \
                     (SELECT count(*) FROM client_scope WHERE client = id) \
                   FROM client WHERE id NOT IN ('tool', 'other', 'hold', 'off') ORDER BY id";
        let mut rows = database.prepare(sql)?;
        let rows = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok::<_, StoreError>(rows)
    };
    harness.store.read(work).await.unwrap()
}

/// IDP-04, GW-05: an administrator can register, suspend and resume clients on a page, which is recorded in
/// the audit log.
#[tokio::test]
async fn administrator_manages_clients_on_a_page() {
    let harness = ProviderHarness::new().await;
    harness.change("UPDATE member SET is_admin = 1 WHERE id = 'm-ada'").await;
    let mut browser = harness.browser().await;
    let page = browser.open(&harness, PATH).await.expect(200);
    assert!(page.body.contains(">Clients</a>") && page.body.contains("Stock &amp; Tool"), "{}", page.body);
    let fields = [
        ("id", "desk"),
        ("name", " Desk & more "),
        ("min-version", "2.1.0"),
        ("scope", "exchange.connect"),
        ("scope", "exchange.stock.read"),
        ("register", "yes"),
    ];
    assert_eq!(location(&browser.submit(&harness, PATH, &fields).await), PATH);
    assert_eq!(clients(&harness).await, ["desk Desk & more active 2.1.0 2"]);
    let page = browser.open(&harness, PATH).await.expect(200);
    assert!(
        page.body.contains("Desk &amp; more")
            && page
                .body
                .contains("Suspend<span class=\"visually-hidden\">: <bdi>Desk &amp; more</bdi></span>")
    );

    // The page shows an error together with the submitted values.
    for (name, value, message) in [
        ("id", "desk", "a client `desk` already exists"),
        ("id", "de sk", "a client&#39;s id must have 1 to 64 letters"),
        ("name", "\u{202e}", "a client&#39;s name must have 1 to 100 visible"),
        ("min-version", "two", "`two` is not a version"),
        ("scope", "exchange.everything", "unknown scope `exchange.everything`"),
    ] {
        let filled: Vec<_> = [("id", "lap"), ("name", "Lap"), ("min-version", "1.0.0"), ("register", "yes")]
            .into_iter()
            .filter(|(field, _)| *field != name)
            .chain([(name, value), ("scope", "exchange.connect")])
            .collect();
        let page = browser.submit(&harness, PATH, &filled).await.expect(422);
        let body = page.body.replace("’", "&#39;").replace('\'', "&#39;");
        assert!(body.contains(message), "{message}: {body}");
        let checked = r#"name="scope" value="exchange.connect" checked"#;
        assert!(page.body.contains(checked), "the page contains the submitted values: {}", page.body);
        let places = ["role=\"alert\"", "<bdi>Stock &amp; Tool</bdi>"].map(|part| page.body.find(part));
        assert!(places[0] < places[1], "the error precedes the list of clients");
    }
    let none = [("id", "lap"), ("name", "Lap"), ("register", "yes")];
    let page = browser.submit(&harness, PATH, &none).await.expect(422);
    assert!(page.body.contains("a client needs at least one scope"), "{}", page.body);

    let question = browser.open(&harness, "/clients/suspend?client=desk").await.expect(200);
    assert!(question.body.contains(r#"name="suspend" value="desk""#), "{}", question.body);
    assert_eq!(location(&browser.open(&harness, "/clients/suspend?client=nobody").await), PATH);
    let done = browser.submit_and_follow(&harness, PATH, &[("suspend", "desk")]).await.expect(200);
    assert!(done.body.contains("The client is suspended."), "{}", done.body);
    assert_eq!(clients(&harness).await, ["desk Desk & more suspended 2.1.0 2"]);
    assert!(browser.open(&harness, PATH).await.body.contains("Resume"));
    browser.submit(&harness, PATH, &[("resume", "desk")]).await.expect(303);
    browser.submit(&harness, PATH, &[("suspend", "nobody")]).await.expect(303);
    let twice = [("id", "lap"), ("id", "top"), ("name", "Lap"), ("register", "yes")];
    for broken in
        [&[("id", "lap")][..], &[("suspend", "desk"), ("resume", "desk")], &[("other", "x")], &twice]
    {
        browser.submit(&harness, PATH, broken).await.expect(403);
        browser.open(&harness, PATH).await.expect(200);
    }
    assert_eq!(clients(&harness).await, ["desk Desk & more active 2.1.0 2"]);
    let audited = "SELECT count(*) FROM audit WHERE actor = 'member:m-ada' AND client = 'desk'";
    assert_eq!(harness.count(audited).await, 3);
    // A client that was removed while the page was open cannot be resumed from it.
    harness.change("UPDATE client SET state = 'disabled' WHERE id = 'tool'").await;
    for button in ["resume", "suspend"] {
        browser.submit(&harness, PATH, &[(button, "tool")]).await.expect(303);
    }
    assert_eq!(
        harness.count("SELECT count(*) FROM client WHERE id = 'tool' AND state = 'disabled'").await,
        1
    );
    // Members can sign in with the new client immediately.
    let login = harness.form("device_authorization", &[("client_id", "desk"), ("scope", SCOPES)], &[]).await;
    login.expect(200);
}

/// IDP-04: other members cannot open the page, and forms without the right CSRF token change nothing.
#[tokio::test]
async fn clients_page_requires_an_administrator() {
    let harness = ProviderHarness::new().await;
    harness.change("UPDATE member SET is_admin = 1 WHERE id IN ('m-ada', 'm-new')").await;
    let fields = [("id", "desk"), ("name", "Desk"), ("scope", "exchange.connect"), ("register", "yes")];
    // Neither a member who is not an administrator nor an administrator whose registration awaits approval
    // has access.
    for username in ["bob", "new"] {
        let mut browser = harness.browser_of(username).await;
        let page = browser.open(&harness, PATH).await.expect(404);
        assert!(!page.body.contains(">Clients</a>") && !page.body.contains("Stock &amp; Tool"));
        browser.open(&harness, "/clients/suspend?client=tool").await.expect(404);
        browser.open(&harness, "/applications").await.expect(200);
        browser.submit(&harness, PATH, &fields).await.expect(404);
        browser.submit(&harness, PATH, &[("suspend", "tool")]).await.expect(404);
    }
    let mut ada = harness.browser().await;
    ada.open(&harness, PATH).await.expect(200);
    let csrf = std::mem::replace(&mut ada.csrf, "x".to_owned());
    ada.submit(&harness, PATH, &fields).await.expect(403);
    // A member who is no longer an administrator loses access immediately.
    harness.change("UPDATE member SET is_admin = 0").await;
    ada.csrf = csrf;
    ada.submit(&harness, PATH, &fields).await.expect(404);
    assert!(clients(&harness).await.is_empty());
    assert_eq!(harness.count("SELECT count(*) FROM client WHERE state = 'active'").await, 2);
}
