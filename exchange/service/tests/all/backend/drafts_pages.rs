//! Tests of the review pages for drafts, in a browser without JavaScript.

use exchange_service::backend::confirm::HandoffToken;
use tower::ServiceExt as _;

use super::drafts::{BLUEPRINTS, REFINERY, envelope, member, order};
use super::held_batches::pages;
use super::*;

/// A member's browser session.
pub(super) struct Browser {
    pub(super) router: axum::Router,
    pub(super) cookie: String,
}

pub(super) struct Page {
    status: u16,
    headers: HeaderMap,
    pub(super) text: String,
}

impl Page {
    pub(super) fn redirect_target(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.headers["location"].to_str().expect("a valid address")
    }

    pub(super) fn expect(self, status: u16, text: &str) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(text), "{text}: {}", self.text);
        self
    }

    pub(super) fn csrf(&self) -> &str {
        let (_, token) = self.text.rsplit_once("name=\"csrf\" value=\"").expect("a form with a CSRF token");
        token.split('"').next().expect("the end of the value")
    }

    /// Returns the values of all fields with this name.
    pub(super) fn values(&self, name: &str) -> Vec<&str> {
        let inputs = self
            .text
            .split("<input ")
            .skip(1)
            .map(|input| input.split('>').next().expect("the end of the value"));
        let named = inputs.filter(|input| input.contains(&format!("name=\"{name}\"")));
        let value =
            |input: &'_ str| -> usize { input.find("value=\"").map_or(input.len(), |index| index + 7) };
        named.map(|input| input[value(input)..].split('"').next().unwrap_or_default()).collect()
    }
}

impl Browser {
    pub(super) async fn for_member(fixture: &BackendFixture, member: &'static str) -> Self {
        let (router, cookie) = pages(fixture, member).await;
        Self { router, cookie }
    }

    async fn send(&self, request: http::request::Builder, body: impl Into<Body>) -> Page {
        let request = request.header("Cookie", &self.cookie).body(body.into()).expect("a valid request");
        let response = self.router.clone().oneshot(request).await.expect("a response");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        let bytes = to_bytes(response.into_body(), 4 << 20).await.expect("a complete body");
        let text = String::from_utf8(bytes.to_vec()).expect("valid UTF-8");
        if text.starts_with("<!DOCTYPE") {
            let policy = headers["content-security-policy"].to_str().expect("a content security policy");
            assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
            assert!(!text.contains("<script") && !text.contains(" style="), "{text}");
            for (index, _) in text.match_indices("<input id=\"") {
                let id = text[index + 11..].split('"').next().expect("the end of the value");
                assert!(text.contains(&format!("<label for=\"{id}\">")), "{id} has no label");
            }
        }
        Page { status, headers, text }
    }

    pub(super) async fn open(&self, path: &str) -> Page {
        self.send(http::Request::get(path), Body::empty()).await
    }

    pub(super) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let encode = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let request = http::Request::post(path).header("Content-Type", "application/x-www-form-urlencoded");
        self.send(request, form.join("&")).await
    }

    /// Sends a multipart form with a file, with its parts in this order.
    async fn upload(&self, parts: &[(&str, &[u8])]) -> Page {
        let mut body = Vec::new();
        for (name, content) in parts {
            let file = if *name == "file" { "; filename=\"a.json\"" } else { "" };
            let head = format!("--limit\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--limit--\r\n");
        let request =
            http::Request::post("/import").header("Content-Type", "multipart/form-data; boundary=limit");
        self.send(request, body).await
    }
}

/// Stages a draft and returns the path of its link.
async fn staged(fixture: &BackendFixture, uri: &str, body: Value) -> String {
    let response = fixture.post(&first(), uri, body).await;
    let url = response.body["frontendUrl"].as_str().unwrap_or_else(|| panic!("{}", response.body));
    url.strip_prefix("http://127.0.0.1:8080").expect("a URL of the web pages").to_owned()
}

fn three_blueprints() -> Value {
    let named = |name: &str| json!({ "ref": { "name": name } });
    let mut rifle = named("Sandbox rifle");
    rifle["acquiredAt"] = json!("2026-02-03T04:05:06Z");
    envelope(vec![rifle, named("Sandbox helmet"), named("<b>Unheard</b>"), named("Sandbox nife")])
}

async fn blueprints(fixture: &BackendFixture) -> Vec<String> {
    fixture.rows("SELECT product, acquired_at, source FROM blueprint ORDER BY product").await
}

/// DRF-04, DRF-14, WEB-09, WEB-11: the link works once and redirects to the review. The selected blueprints
/// are added once, as a change through the web pages with the source `import`.
#[tokio::test]
async fn draft_is_reviewed_and_accepted() {
    let fixture = BackendFixture::new().await;
    fixture.sql("UPDATE client SET name = '<i>Mallory</i>' WHERE id = 'c-1'").await;
    let mut cursor = String::new();
    fixture.page(&first(), READ, &mut cursor).await;
    let (mine, link) =
        (Browser::for_member(&fixture, "m-1").await, staged(&fixture, BLUEPRINTS, three_blueprints()).await);
    let opened = mine.open(&link).await;
    let path = opened.redirect_target().to_owned();
    assert!(
        path.starts_with("/review/") && !path.contains(link.rsplit('/').next().expect("a handoff token"))
    );
    mine.open(&link).await.expect(404, "the draft was opened before");
    let page = mine.open(&path).await.expect(200, "&lt;i&gt;Mallory&lt;/i&gt;");
    let page =
        page.expect(200, "&lt;b&gt;Unheard&lt;/b&gt;").expect(200, "since <time datetime=\"2026-02-03\">");
    assert!(!page.text.contains(&link), "no page contains the link");
    assert_eq!(page.values("take"), ["0", "1"]);
    assert!(page.text.contains("<option value=\"BP_KNIFE\">Sandbox knife</option>"), "{}", page.text);
    let csrf = page.csrf().to_owned();
    let form = |extra_fields: &[(&'static str, &'static str)]| {
        let mut form = vec![("csrf", csrf.as_str()), ("decision", "take")];
        form.extend_from_slice(extra_fields);
        form.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
    };
    let submit = async |extra_fields: &[(&'static str, &'static str)]| {
        let form = form(extra_fields);
        let form: Vec<_> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
        mine.submit(&path, &form).await
    };
    submit(&[]).await.expect(422, "Nothing is selected");
    let again = submit(&[("take", "1"), ("pick-2", "No Such"), ("pick-3", "BP_KNIFE")]).await;
    let again = again.expect(422, "is not a blueprint").expect(422, "value=\"No Such\"");
    assert!(
        again.text.contains("<option value=\"BP_KNIFE\" selected>"),
        "the page contains the submitted values"
    );
    assert!(again.text.contains("value=\"1\" checked") && !again.text.contains("value=\"0\" checked"));
    assert_eq!(blueprints(&fixture).await, [""; 0]);
    fixture.sql("UPDATE setting SET value = '3' WHERE name = 'terms'").await;
    submit(&[("take", "0")]).await.expect(403, "terms have changed");
    fixture.sql("UPDATE setting SET value = '2' WHERE name = 'terms'").await;
    // Selections of a nonexistent row or of a matched row are ignored.
    let chosen = [
        ("take", "0"),
        ("take", "99"),
        ("pick-1", "BP_ARMS"),
        ("pick-2", "sandbox LEGS"),
        ("pick-3", "BP_KNIFE"),
    ];
    assert_eq!(submit(&chosen).await.redirect_target(), path);
    mine.open(&path).await.expect(200, "3 blueprints were added.");
    let import = "Text(\"import\")";
    let expected = [
        format!("Text(\"BP_KNIFE\") Null {import}"),
        format!("Text(\"BP_LEGS\") Null {import}"),
        format!("Text(\"BP_RIFLE\") Integer(1770091506000) {import}"),
    ];
    assert_eq!(blueprints(&fixture).await, expected);
    // In a second tab, the page shows what was done.
    submit(&chosen).await.expect(200, "3 blueprints were added.");
    let (items, _) = fixture.page(&first(), READ, &mut cursor).await;
    assert_eq!(items.len(), 3);
    assert_eq!(items[0]["provenance"], json!({ "source": "import" }));
    assert_eq!(fixture.rows("SELECT DISTINCT channel, client FROM journal").await, ["Text(\"web\") Null"]);
    let audited = fixture.rows("SELECT client FROM audit WHERE action = 'drafts.take-over'").await;
    assert_eq!(audited, ["Text(\"c-1\")"]);
    // Members add these entries, not the client, so the client needs an override to add them again after it
    // removed them.
    fixture.sql("DELETE FROM blueprint; UPDATE feed_entry SET gone = 1 WHERE key = 'BP_RIFLE'").await;
    assert_eq!(
        fixture.change(&first(), vec![add("BP_RIFLE")]).await.outcomes(),
        [(0, "rejected REMOVED_ELSEWHERE".into())]
    );
}

/// DRF-14, WEB-11: only the signed-in member of a draft can open, accept or discard it. A cross-site form
/// cannot, and prefetching does not use up the handoff token.
#[tokio::test]
async fn draft_is_accessible_only_to_its_member() {
    let fixture = BackendFixture::new().await;
    let (mine, other_browser) =
        (Browser::for_member(&fixture, "m-1").await, Browser::for_member(&fixture, "m-2").await);
    let link = staged(&fixture, BLUEPRINTS, three_blueprints()).await;
    let nobody = Browser { router: mine.router.clone(), cookie: String::new() };
    assert!(nobody.open(&link).await.redirect_target().starts_with("/sign-in?next=%2Fdraft%2F"));
    other_browser.open(&link).await.expect(404, "Nothing to review");
    assert_eq!(mine.send(http::Request::head(&link), Body::empty()).await.status, 204);
    for name in ["Sec-Purpose", "Purpose"] {
        let ahead = mine.send(http::Request::get(&link).header(name, "prefetch"), Body::empty()).await;
        assert_eq!(ahead.status, 204);
    }
    let path = mine.open(&link).await.redirect_target().to_owned();
    let csrf = mine.open(&path).await.csrf().to_owned();
    other_browser.open(&path).await.expect(404, "Nothing to review");
    let theirs = other_browser.open("/import").await.csrf().to_owned();
    for (browser, csrf, status) in [
        (&mine, "", 403),
        (&mine, &*theirs, 403),
        (&other_browser, &*csrf, 403),
        (&other_browser, &*theirs, 404),
    ] {
        for decision in ["take", "discard"] {
            let form = [("csrf", csrf), ("decision", decision), ("take", "0")];
            assert_eq!(browser.submit(&path, &form).await.status, status);
        }
    }
    assert!(nobody.submit(&path, &[("decision", "take")]).await.redirect_target().starts_with("/sign-in"));
    let elsewhere = http::Request::post(&path)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "cross-site");
    mine.send(elsewhere, format!("csrf={csrf}&decision=take&take=0"))
        .await
        .expect(403, "not sent from its own page");
    mine.submit(&path, &[("csrf", &csrf), ("decision", "perhaps")]).await.expect(403, "its own page");
    assert_eq!(blueprints(&fixture).await, [""; 0]);
    mine.open("/").await.expect(200, &path);
    assert!(
        !other_browser.open("/").await.text.contains(&path),
        "the overview lists the member's own reviews"
    );
    assert_eq!(mine.submit(&path, &[("csrf", &csrf), ("decision", "discard")]).await.redirect_target(), path);
    mine.submit(&path, &[("csrf", &csrf), ("decision", "discard")]).await.expect(200, "Nothing was changed");
    mine.open(&path).await.expect(200, "Nothing was changed");
    other_browser.open(&path).await.expect(404, "Nothing to review");
}

/// A review expires after a day, and a member has at most ten.
#[tokio::test]
async fn review_expires_after_a_day() {
    let fixture = BackendFixture::new().await;
    let mine = Browser::for_member(&fixture, "m-1").await;
    let open = async || {
        let link = staged(&fixture, BLUEPRINTS, three_blueprints()).await;
        mine.open(&link).await.redirect_target().to_owned()
    };
    let path = open().await;
    for _ in 0..9 {
        open().await;
    }
    mine.open(&path).await.expect(200, "Add these blueprints?");
    open().await;
    mine.open(&path).await.expect(404, "replaced by a newer");
    let path = open().await;
    let backend = fixture.backend();
    let id = path.rsplit('/').next().expect("an id");
    fixture.clock.advance(DAY - Duration::from_millis(1));
    assert!(backend.load_review(&member(), id).await.expect("the review can be read").is_some());
    fixture.clock.advance(Duration::from_millis(1));
    assert!(backend.load_review(&member(), id).await.expect("the review can be read").is_none());
    assert_eq!(fixture.run_upkeep_task("reviews").await, 10);
    assert_eq!(
        backend.open_draft(&member(), &HandoffToken::new(id)).await.expect("the draft can be read"),
        None
    );
}

/// DRF-02, DRF-04, LIM-33, WEB-09: an uploaded file causes the same review; an invalid file stores nothing.
#[tokio::test]
async fn uploaded_file_becomes_a_review() {
    let fixture = BackendFixture::new().await;
    let mine = Browser::for_member(&fixture, "m-1").await;
    let csrf = mine.open("/import").await.expect(200, "enctype=\"multipart/form-data\"").csrf().to_owned();
    let csrf = csrf.as_bytes();
    let file = |version: &str| {
        let mut file = three_blueprints();
        file["formatVersion"] = json!(version);
        (file["generator"], file["items"][0]["provenance"]) = (json!(7), json!("anything"));
        file.to_string().into_bytes()
    };
    mine.upload(&[("csrf", csrf), ("file", &file("2.0"))])
        .await
        .expect(422, "uses an unknown version of the format");
    mine.upload(&[("csrf", csrf), ("file", b"no JSON")]).await.expect(422, "it cannot be parsed");
    for parts in [
        &[("csrf", &b"another"[..]), ("file", &file("1.0"))][..],
        &[("file", &file("1.0")), ("csrf", csrf)],
        &[("csrf", csrf), ("other", b"")],
        &[("csrf", csrf)],
        &[],
    ] {
        assert_eq!(mine.upload(parts).await.status, 403);
    }
    let plain = http::Request::post("/import").header("Content-Type", "application/json");
    assert_eq!(mine.send(plain, "{}").await.status, 400);
    let mut large = file("1.0");
    large.resize(8_388_609, b' ');
    mine.upload(&[("csrf", csrf), ("file", &large)]).await.expect(413, "larger than 8 MiB");
    assert_eq!(fixture.rows("SELECT count(*) FROM review").await, ["Integer(0)"]);
    large.truncate(8_388_608);
    let path = mine.upload(&[("csrf", csrf), ("file", &large)]).await.redirect_target().to_owned();
    let page = mine.open(&path).await.expect(200, "Your file contains the following.");
    let form = [("csrf", page.csrf()), ("decision", "take"), ("take", "0"), ("take", "1")];
    assert_eq!(mine.submit(&path, &form).await.redirect_target(), path);
    mine.open(&path).await.expect(200, "2 blueprints were added.");
    let expected = [
        "Text(\"BP_HELMET\") Null Text(\"import\")",
        "Text(\"BP_RIFLE\") Integer(1770091506000) Text(\"import\")",
    ];
    assert_eq!(blueprints(&fixture).await, expected);
    let again = mine.upload(&[("csrf", csrf), ("file", &file("1.7"))]).await.redirect_target().to_owned();
    mine.open(&again).await.expect(200, "You already have 2 of them");
    let held = envelope(vec![json!({ "ref": { "bt": "BP_RIFLE" } })]).to_string();
    let path = mine.upload(&[("csrf", csrf), ("file", held.as_bytes())]).await.redirect_target().to_owned();
    let page = mine.open(&path).await.expect(200, "There is nothing to add.");
    assert!(!page.text.contains("value=\"take\""));
}

/// LIM-32: 2000 blueprints are reviewed and accepted in one change set.
#[tokio::test]
async fn accepts_2000_blueprints_in_one_change_set() {
    let fixture = BackendFixture::new().await;
    let mine = Browser::for_member(&fixture, "m-1").await;
    fixture
        .sql(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO catalogue_entry (kind, id, name) SELECT 'BLUEPRINT', printf('BP_2000_%05d', i), 'More ' || i FROM n;
             UPDATE setting SET value = 'more' WHERE name = 'catalogue';",
        )
        .await;
    let items = (1..=2000).map(|number| json!({ "ref": { "bt": format!("BP_2000_{number:05}") } }));
    let link = staged(&fixture, BLUEPRINTS, envelope(items.collect())).await;
    let path = mine.open(&link).await.redirect_target().to_owned();
    let page = mine.open(&path).await.expect(200, "New (2000)");
    let mut form = vec![("csrf", page.csrf()), ("decision", "take")];
    form.extend(page.values("take").into_iter().map(|number| ("take", number)));
    assert_eq!(mine.submit(&path, &form).await.redirect_target(), path);
    mine.open(&path).await.expect(200, "2000 blueprints were added.");
    assert_eq!(
        fixture.rows("SELECT count(DISTINCT change_set), count(*) FROM journal").await,
        ["Integer(1) Integer(2000)"]
    );
}

/// DRF-10, WEB-10: the form is filled in and lists the orders that are not accepted. The corrected form is
/// stored. If the form has errors, they are listed and the input is preserved.
#[tokio::test]
async fn refinery_order_is_reviewed_and_stored() {
    let fixture = BackendFixture::new().await;
    let mine = Browser::for_member(&fixture, "m-1").await;
    mine.open("/refinery-orders").await.expect(200, "You have no refinery orders");
    let mut setup = order("SETUP", "Quanta Ore");
    setup["rawLocationName"] = json!("An <unknown> place");
    setup["goods"] = json!([
        { "inputQuantity": 32.5, "rawMaterialName": "QUANTA ORE", "refine": true, "outputQuantity": 20 },
        { "inputQuantity": 1, "rawMaterialName": "<u>Ur</u>", "refine": false },
    ]);
    let body = json!({ "schemaVersion": 1, "orders": [setup, order("IN_WORK", "Quanta Ore")] });
    let path = mine.open(&staged(&fixture, REFINERY, body).await).await.redirect_target().to_owned();
    let page = mine.open(&path).await.expect(200, "IN_WORK, 1 row").expect(200, "&lt;u&gt;Ur&lt;/u&gt;");
    let read = "The application read “<bdi class=\"label\">An &lt;unknown&gt; place</bdi>”";
    assert!(page.text.contains(read), "{}", page.text);
    assert_eq!((page.values("location"), page.values("material-0")), (vec![""], vec!["Quanta Ore"]));
    assert!(
        page.text.contains("<option value=\"Station\">")
            && page.text.contains("<option value=\"Quanta Metal\">")
    );
    let csrf = page.csrf().to_owned();
    let submit = async |fields: &[(&str, &str)]| {
        mine.submit(&path, &[&[("csrf", &*csrf), ("decision", "take")], fields].concat()).await
    };
    let invalid_fields = [
        ("location", "Nowhere"),
        ("minutes", "an hour"),
        ("expenses", "1000000001"),
        ("material-0", "Quanta Ore"),
        ("input-0", "-1"),
        ("quality-0", "1001"),
        ("material-1", "Ur"),
    ];
    let again = submit(&invalid_fields).await.expect(422, "The place is not in the warehouse");
    for message in [
        "The duration must be a number between 0 and 527040.",
        "The expenses must be a number",
        "Row 1: the input amount must be a number",
        "Row 1: the quality must be a number between 0 and 1000.",
        "Row 2: unknown material.",
        "IN_WORK, 1 row",
        "value=\"an hour\"",
        read,
    ] {
        assert!(again.text.contains(message), "{message}: {}", again.text);
    }
    // An empty input amount is an error, and so is an empty form.
    let empty =
        [("material-0", "Quanta Ore"), ("input-0", " "), ("material-1", "Quanta Metal"), ("output-1", "2")];
    let again = submit(&empty).await.expect(422, "Row 1: enter the input amount.");
    let again = again.expect(422, "Row 2: enter the input amount.");
    assert_eq!((again.values("material-1"), again.values("output-1")), (vec!["Quanta Metal"], vec!["2"]));
    submit(&[]).await.expect(422, "No row names a material.");
    submit(&[("material-0", " "), ("material-500", "Quanta Ore")])
        .await
        .expect(422, "No row names a material.");
    let valid_fields = [
        ("location", " STATION"),
        ("method", "Dinyx"),
        ("minutes", "754"),
        ("expenses", ""),
        ("material-0", "quanta ore"),
        ("input-0", "32.5"),
        ("output-0", "20.0004"),
        ("refine-0", "yes"),
        ("material-1", ""),
        ("material-2", "Quanta Metal"),
        ("input-2", "1"),
    ];
    assert_eq!(submit(&valid_fields).await.redirect_target(), "/refinery-orders");
    submit(&valid_fields).await.expect(200, "The refinery order is saved.");
    let page = mine.open("/refinery-orders").await.expect(200, "<h2><bdi>Station</bdi></h2>");
    for message in [
        "<dt>Duration</dt><dd>754 minutes</dd>",
        "<bdi>Quanta Ore</bdi>: 32.5 into 20",
        "<bdi>Quanta Metal</bdi>: 1, not refined",
    ] {
        assert!(page.text.contains(message), "{message}: {}", page.text);
    }
    let other_browser = Browser::for_member(&fixture, "m-2").await;
    other_browser.open("/refinery-orders").await.expect(200, "You have no refinery orders");
    let question = page.text.split("href=\"/refinery-orders/delete?order=").nth(1);
    let question = question.and_then(|rest| rest.split('"').next()).expect("a link to the question");
    let question = format!("/refinery-orders/delete?order={question}");
    assert_eq!(other_browser.open(&question).await.redirect_target(), "/refinery-orders");
    let page = mine.open(&question).await.expect(200, "Delete this refinery order?");
    let id = page
        .text
        .split("name=\"delete\" value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("an id");
    let theirs = other_browser.open("/import").await.csrf().to_owned();
    assert_eq!(
        other_browser.submit("/refinery-orders", &[("csrf", &theirs), ("delete", id)]).await.status,
        303
    );
    assert_eq!(mine.submit("/refinery-orders", &[("csrf", "x"), ("delete", id)]).await.status, 403);
    assert_eq!(fixture.rows("SELECT count(*) FROM refinery_order").await, ["Integer(1)"]);
    assert_eq!(
        mine.submit("/refinery-orders", &[("csrf", &csrf), ("delete", id)]).await.redirect_target(),
        "/refinery-orders"
    );
    assert_eq!(fixture.rows("SELECT count(*) FROM refinery_order").await, ["Integer(0)"]);
}

/// A member has at most 200 refinery orders, and only the member can delete one.
#[tokio::test]
async fn refinery_orders_per_member_are_limited() {
    let fixture = BackendFixture::new().await;
    let mine = Browser::for_member(&fixture, "m-1").await;
    fixture
        .sql(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
             INSERT INTO refinery_order (id, member, saved_at, content) SELECT i, 'm-1', 0, '{\"goods\":[]}' FROM n",
        )
        .await;
    let body = json!({ "schemaVersion": 1, "orders": [order("SETUP", "Quanta Ore")] });
    let path = mine.open(&staged(&fixture, REFINERY, body).await).await.redirect_target().to_owned();
    let csrf = mine.open(&path).await.csrf().to_owned();
    let form = [("csrf", &*csrf), ("decision", "take"), ("material-0", "Quanta Ore"), ("input-0", "1")];
    mine.submit(&path, &form).await.expect(409, "Too many refinery orders");
    fixture.sql("DELETE FROM refinery_order WHERE id = '7'").await;
    assert_eq!(mine.submit(&path, &form).await.redirect_target(), "/refinery-orders");
    // Of two concurrent reviews for the last free entry, only one is accepted.
    fixture.sql("DELETE FROM refinery_order WHERE id = '8'").await;
    let body = json!({ "schemaVersion": 1, "orders": [order("SETUP", "Quanta Ore")] });
    let path = mine.open(&staged(&fixture, REFINERY, body.clone()).await).await.redirect_target().to_owned();
    let other = mine.open(&staged(&fixture, REFINERY, body).await).await.redirect_target().to_owned();
    let (one, two) = tokio::join!(mine.submit(&path, &form), mine.submit(&other, &form));
    let mut ends = [one.status, two.status];
    ends.sort();
    assert_eq!(ends, [303, 409]);
    assert_eq!(fixture.rows("SELECT count(*) FROM refinery_order").await, ["Integer(200)"]);
    // The rejected review stays open.
    fixture.sql("DELETE FROM refinery_order WHERE id = '9'").await;
    let left = if one.status == 409 { &path } else { &other };
    assert_eq!(mine.submit(left, &form).await.redirect_target(), "/refinery-orders");
}
