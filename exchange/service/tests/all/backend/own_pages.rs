//! Tests of the member's own pages: connected applications, notices, profile, and reserved stock.

use super::drafts_pages::{Browser, Page};
use super::stock::{METAL, ORE, SET};
use super::*;

impl Page {
    /// Returns the name and the value of the button with this label.
    fn button(&self, label: &str) -> (String, String) {
        let end = self.text.find(&format!(">{label}</button>")).unwrap_or_else(|| panic!("{}", self.text));
        let start = self.text[..end].rfind("<button").expect("the start of the button");
        let read_attribute = |attribute: &str| {
            let value = self.text[start..end].split_once(&format!("{attribute}=\"")).map(|(_, rest)| rest);
            value.and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned()
        };
        (read_attribute("name"), read_attribute("value"))
    }
}

impl Browser {
    /// Presses the button with this label and returns the following page.
    async fn press(&self, path: &str, label: &str) -> Page {
        let page = self.open(path).await.expect(200, label);
        let (name, value) = page.button(label);
        assert_eq!(
            self.submit(path, &[("csrf", page.csrf()), (&*name, &*value)]).await.redirect_target(),
            path
        );
        self.open(path).await.expect(200, "")
    }
}

/// WEB-04, WEB-05, WEB-09, WEB-10: every page links to the member's own pages. The response for an unknown
/// path equals that for a forbidden one.
#[tokio::test]
async fn pages_link_to_each_other() {
    let fixture = BackendFixture::new().await;
    let browser = Browser::for_member(&fixture, "m-1").await;
    let links = |page: &Page| -> Vec<String> {
        let (_, nav) = page.text.split_once("<nav aria-label=\"Pages\">").expect("a navigation element");
        let (nav, _) = nav.split_once("</nav>").expect("the end of the navigation");
        nav.split("href=\"")
            .skip(1)
            .map(|link| link.split('"').next().expect("the end of the value").to_owned())
            .collect()
    };
    let paths =
        ["/", "/notices", "/applications", "/import", "/refinery-orders", "/reservations", "/profile"];
    assert_eq!(links(&browser.open("/profile").await), paths);
    for path in paths {
        let page = browser.open(path).await.expect(200, "<h1>");
        assert_eq!(links(&page), paths, "{path}");
        let current = format!("<a href=\"{path}\" aria-current=\"page\">");
        assert_eq!(
            page.text.matches("aria-current=\"page\"").count(),
            if path == "/profile" { 2 } else { 1 }
        );
        assert!(page.text.contains(&current), "the navigation marks the current page: {}", page.text);
    }
    let absent = browser.open("/clients").await.expect(404, "No such page");
    for path in ["/nope", "/profile/nope"] {
        assert_eq!(browser.open(path).await.expect(404, "No such page").text, absent.text);
    }
    let stranger = Browser { cookie: String::new(), ..browser };
    assert!(!stranger.open("/nope").await.expect(404, "No such page").text.contains("<nav"));
}

/// WEB-04, WEB-05, WEB-06: an installation is shown with the client's name and its label, marked as new until
/// it is acknowledged. One installation or the whole client can be disconnected. Installations of other
/// members are not shown.
#[tokio::test]
async fn connected_applications_are_listed_and_disconnected() {
    const PATH: &str = "/applications";
    let fixture = BackendFixture::new().await;
    let label = "Bridge <b>";
    fixture.sql(&format!("UPDATE installation SET label = '{label}' WHERE id = 'i-1'")).await;
    fixture
        .sql("INSERT INTO notice (member, at, kind, subject) VALUES ('m-1', 1000, 'new-installation', 'i-1')")
        .await;
    let browser = Browser::for_member(&fixture, "m-1").await;
    let page = browser.open(PATH).await.expect(200, "Connected applications");
    let shown = |page: &Page| -> Vec<String> {
        let items = page
            .text
            .split("<div class=\"split\"><div><p>")
            .skip(1)
            .map(|item| item.split("</p>").next().expect("the end of the value"));
        items
            .map(|item| {
                let item =
                    item.replace("<bdi>", "").replace("<bdi class=\"label\">", "").replace("</bdi>”", "”");
                item.replace("</bdi> ", " | ").replace("<span class=\"soft\">", "").replace("</span>", "")
            })
            .collect()
    };
    let new = " <strong class=\"badge new\">new</strong>";
    let first = ["First client | “Bridge &lt;b&gt;”", "First client | without a label"];
    let applications = [first[0], first[1], "Second client | without a label"];
    assert_eq!(shown(&page), applications.map(|one| format!("{one}{new}")));
    let count_text = |page: &Page, text: &str| page.text.matches(text).count();
    let (ended, awaited) = ("Its connection has ended", "has not used it yet");
    assert_eq!((count_text(&page, ended), count_text(&page, awaited)), (3, 0));
    fixture
        .sql(
            "INSERT INTO connection (id, client, member, jkt, scopes, auth_time, current_hash, created_at, used_at)
             VALUES ('o-1', 'c-1', 'm-1', 'jkt-1', 'exchange.stock.read exchange.stock.write', 0, randomblob(32), 0, 0),
             ('o-2', 'c-2', 'm-1', 'jkt-other', 'exchange.stock.read', 0, randomblob(32), 0, 0)",
        )
        .await;
    let page = browser.open(PATH).await;
    assert_eq!(
        (count_text(&page, ended), count_text(&page, awaited)),
        (2, 1),
        "connected clients are listed, even if they never sent a request"
    );
    let link = "Disconnect<span class=\"visually-hidden\"> <bdi>First client</bdi> “<bdi class=\"label\">Bridge &lt;b&gt;</bdi>”";
    assert_eq!(count_text(&page, link), 1, "each link names what it disconnects: {}", page.text);
    // The page shows what each application may do, and when its connection ends.
    assert_eq!((count_text(&page, "scopes read"), count_text(&page, "scopes write")), (2, 1));
    let end = "Connected until <time datetime=\"1970-04-01T00:00:00Z\">";
    assert_eq!(count_text(&page, end), 2, "{}", page.text);
    // A disconnect asks first.
    let question = browser.open("/applications/disconnect?installation=i-1").await;
    question.expect(200, "Disconnect for good?").expect(200, "name=\"installation\" value=\"i-1\"");
    let question = browser.open("/applications/disconnect?client=c-2").await;
    question.expect(200, "name=\"client\" value=\"c-2\"");
    for other in ["?installation=i-4", "?client=c-gone", ""] {
        assert_eq!(browser.open(&format!("/applications/disconnect{other}")).await.redirect_target(), PATH);
    }

    let page = browser.press(PATH, "Confirm these devices").await;
    assert_eq!(shown(&page), applications);
    assert_eq!(
        fixture.rows("SELECT count(*) FROM notice WHERE acknowledged_at IS NULL").await,
        ["Integer(0)"]
    );
    // An installation whose first call came in the meantime is not acknowledged.
    fixture.sql("INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) VALUES ('i-5', 'c-2', 'm-1', 'jkt-5', 1001, 3000)").await;
    let csrf = page.csrf().to_owned();
    browser.submit(PATH, &[("csrf", &csrf), ("seen", "1000")]).await.redirect_target();
    let page = browser.open(PATH).await;
    assert_eq!(shown(&page)[2], format!("Second client | without a label{new}"));

    browser.submit(PATH, &[("csrf", &csrf), ("installation", "i-1")]).await.redirect_target();
    browser.submit(PATH, &[("csrf", &csrf), ("installation", "i-4")]).await.redirect_target();
    let page = browser.open(PATH).await;
    assert_eq!(shown(&page).len(), 3, "one connection of the member ended");
    let revoked = "SELECT id FROM installation WHERE revoked_at IS NOT NULL";
    assert_eq!(fixture.rows(revoked).await, ["Text(\"i-1\")"], "no connection of another member ended");
    assert_eq!(fixture.get(&super::first(), "/exchange/v1").await.code(), "INSTALLATION_REVOKED");

    browser.submit(PATH, &[("csrf", &csrf), ("client", "c-2")]).await.redirect_target();
    let page = browser.open(PATH).await;
    assert_eq!((shown(&page), count_text(&page, awaited)), (vec![first[1].to_owned()], 0));
    browser.submit(PATH, &[("csrf", "x"), ("client", "c-1")]).await.expect(403, "not sent from its own page");
    browser.submit(PATH, &[("csrf", &csrf)]).await.expect(403, "");
    let both = [("csrf", &*csrf), ("client", "c-1"), ("seen", "1")];
    browser.submit(PATH, &both).await.expect(403, "");
    assert_eq!(shown(&browser.open(PATH).await), [first[1]], "nothing was changed");
    // It is shown again after it has connected again.
    fixture.sql("UPDATE installation SET last_seen = 9999999999999 WHERE id = 'i-3'").await;
    assert_eq!(shown(&browser.open(PATH).await).len(), 2);
    let other_browser = Browser::for_member(&fixture, "m-2").await;
    assert_eq!(shown(&other_browser.open(PATH).await), [format!("{}{new}", first[1])]);
}

/// WEB-04, GW-05, OST-19: a page lists notices, newest first, with text and author. Read notices stay in the
/// list without a mark, and notices of other members are not shown.
#[tokio::test]
async fn notices_are_listed_and_marked_as_read() {
    const PATH: &str = "/notices";
    let fixture = BackendFixture::new().await;
    fixture
        .sql(
            "UPDATE installation SET label = 'Bridge <b>' WHERE id = 'i-1';
             INSERT INTO audit (at, actor, client, action, subject) VALUES
               (8000, 'member:m-2', 'c-2', 'org-stock.sale', 's-1');
             INSERT INTO notice (member, at, kind, subject) VALUES
               ('m-1', 1000, 'connected', 'c-1'), ('m-1', 2000, 'new-installation', 'i-1'),
               ('m-1', 3000, 'connection-reused', 'c-1'), ('m-1', 4000, 'client-disconnected', 'c-gone'),
               ('m-1', 5000, 'installation-disconnected', 'i-2'), ('m-1', 6000, 'held-batch', 'c-1'),
               ('m-1', 7000, 'writes-undone', 'c-1'), ('m-1', 7000, 'org-stock.book-out', 's-0'),
               ('m-1', 8000, 'org-stock.sale', 's-1'), ('m-1', 9000, 'org-stock.move', 's-2'),
               ('m-1', 9500, 'org-stock.undo', 's-3'), ('m-2', 9900, 'new-installation', 'i-1')",
        )
        .await;
    let shown = |page: &Page| -> Vec<String> {
        let items = page.text.split("<li><div").skip(1);
        items
            .map(|item| {
                let text = item.split_once("<p>").expect("a text").1;
                let text = text.split("</p>").next().expect("the end of the value");
                text.replace("<bdi>", "<strong>").replace("</bdi>", "</strong>")
            })
            .collect()
    };
    let browser = Browser::for_member(&fixture, "m-1").await;
    let page = browser.open(PATH).await.expect(200, "Notices <span class=\"badge new\">11</span>");
    let expected = [
        "Someone undid changes by an application to stock",
        "Someone moved stock that you hold",
        "<strong>Two</strong>, through <strong>Second client</strong>, sold stock that you hold for a unit.",
        "Someone booked out stock",
        "An administrator undid changes that <strong>First client</strong> made for you.",
        "<strong>First client</strong> wants to remove many entries at once.",
        "<strong>First client</strong> was disconnected on a device without a label, permanently.",
        "<strong>c-gone</strong> was disconnected on all devices.",
        "<strong>First client</strong> was disconnected on one of your devices, because a sign-in",
        "<strong>First client</strong> used your account from a new device: \
         “<bdi class=\"label\">Bridge &lt;b&gt;</strong>”.",
        "<strong>First client</strong> was connected to your account.",
    ];
    let found = shown(&page);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    // A notice to another member about an installation of this member does not name the client.
    let other_browser = Browser::for_member(&fixture, "m-2").await;
    assert!(shown(&other_browser.open(PATH).await)[0].starts_with("An application used your account"));

    let fields = |page: &Page| {
        let value = |name: &str| page.values(name)[0].to_owned();
        [("csrf", page.csrf().to_owned()), ("first", value("first")), ("last", value("last"))]
    };
    let submit = async |browser: &Browser, fields: &[(&str, String)]| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        browser.submit(PATH, &fields).await
    };
    let mut forged = fields(&page);
    forged[0].1 = "x".to_owned();
    submit(&browser, &forged).await.expect(403, "not sent from its own page");
    fixture
        .sql("INSERT INTO notice (member, at, kind, subject) VALUES ('m-1', 9999, 'connected', 'c-2')")
        .await;
    assert_eq!(submit(&browser, &fields(&page)).await.redirect_target(), PATH);
    let unread = |page: &Page| page.text.matches("<div class=\"unread\">").count();
    let page = browser.open(PATH).await.expect(200, "Notices <span class=\"badge new\">1</span>");
    assert_eq!(
        (unread(&page), shown(&page).len()),
        (1, 12),
        "notices that arrived in the meantime are unread"
    );
    assert!(shown(&page)[0].starts_with("<strong>Second client</strong> was connected"));
    assert_eq!(unread(&other_browser.open(PATH).await), 1, "notices of other members stay unread");
    submit(&browser, &fields(&page)).await.redirect_target();
    let page = browser.open(PATH).await;
    assert_eq!((unread(&page), shown(&page).len()), (0, 12));
    assert!(!page.text.contains("Mark as read"), "{}", page.text);
    assert!(page.text.contains(">Notices</a>"), "the page shows no count: {}", page.text);

    // A page has a limited number of notices, and a link to the older ones.
    fixture
        .sql(
            "INSERT INTO notice (member, at, kind, subject)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
             SELECT 'm-1', 10000 + i, 'held-batch', 'c-1' FROM n",
        )
        .await;
    let mut path = PATH.to_owned();
    for (count, has_older) in [(50, true), (50, true), (32, false)] {
        let page = browser.open(&path).await.expect(200, "Notices <span class=\"badge new\">99+</span>");
        assert_eq!(shown(&page).len(), count);
        let older = page.text.split("href=\"/notices?before=").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(older.is_some(), has_older);
        path = format!("{PATH}?before={}", older.unwrap_or_default());
    }
    // Only the notices that the page has shown are marked as read.
    submit(&browser, &fields(&browser.open(PATH).await)).await.redirect_target();
    let left = "SELECT count(*) FROM notice WHERE member = 'm-1' AND acknowledged_at IS NULL";
    assert_eq!(fixture.rows(left).await, ["Integer(70)"]);
}

/// WEB-12, ERR-17: a page shows the text of the terms and offers to accept the shown version; the client can
/// then continue.
#[tokio::test]
async fn terms_can_be_accepted_on_the_web() {
    const PATH: &str = "/terms";
    let fixture = BackendFixture::new().await;
    let caller = caller("c-1", "m-terms", "i-9", "jkt-9");
    assert_eq!(fixture.get(&caller, "/exchange/v1").await.code(), "TERMS_NOT_ACCEPTED");
    let browser = Browser::for_member(&fixture, "m-terms").await;
    fixture
        .sql("INSERT INTO terms_text VALUES ('2', 'Be kind.' || char(10) || char(10) || '<b>Always.')")
        .await;
    browser.open("/").await.expect(200, "Accept version <bdi>2</bdi> of the terms.");
    let page = browser.open(PATH).await.expect(200, "<bdi>2</bdi> is in force");
    let page = page.expect(200, "<p class=\"prose\">Be kind.</p><p class=\"prose\">&lt;b&gt;Always.</p>");
    fixture.sql("UPDATE setting SET value = '3' WHERE name = 'terms'").await;
    browser.submit(PATH, &[("csrf", page.csrf()), ("terms", "2")]).await.redirect_target();
    let query = "SELECT terms FROM member WHERE id = 'm-terms'";
    assert_eq!(fixture.rows(query).await, ["Text(\"1\")"], "the third version of the terms was not shown");
    browser.open(PATH).await.expect(200, "publishes the text of this version elsewhere");
    let page =
        browser.press(PATH, "Accept version \u{2068}3\u{2069}").await.expect(200, "which is the current one");
    assert!(!page.text.contains("Accept version"));
    assert_eq!(fixture.get(&caller, "/exchange/v1").await.status, 200);
    let audited = "SELECT actor, action, detail FROM audit";
    assert_eq!(fixture.rows(audited).await, ["Text(\"member:m-terms\") Text(\"terms.accept\") Text(\"3\")"]);
}

/// WEB-12, WEB-07, SVC-14: the profile page stores and confirms the handle, which no audit entry contains,
/// and can hide or show the member's name.
#[tokio::test]
async fn profile_page_updates_handle_and_name_visibility() {
    const PATH: &str = "/profile";
    let fixture = BackendFixture::new().await;
    let browser = Browser::for_member(&fixture, "m-2").await;
    let page = browser.open(PATH).await.expect(200, ">Save</button>");
    assert_eq!(page.values("handle"), [""]);
    let csrf = page.csrf().to_owned();
    for invalid_handle in ["", "no", "a b c", "ä-ä-ä", &"x".repeat(61)] {
        let page = browser
            .submit(PATH, &[("csrf", &csrf), ("handle", invalid_handle)])
            .await
            .expect(422, "not a handle");
        assert_eq!(page.values("handle"), [invalid_handle], "the page contains the submitted value");
    }
    browser.submit(PATH, &[("csrf", &csrf), ("handle", " New_Handle ")]).await.redirect_target();
    let page = browser.open(PATH).await.expect(200, ">Confirm</button>");
    assert_eq!(page.values("handle"), ["New_Handle"]);
    let caller = caller("c-1", "m-2", "i-4", "jkt-4");
    let check = "/exchange/v1/me/account-check";
    let response = fixture.post(&caller, check, json!({ "handle": "new_handle" })).await;
    assert_eq!(response.body, json!({ "result": "match" }));
    browser.press(PATH, "Hide my name").await.expect(200, "do not see your name");
    assert_eq!(fixture.rows("SELECT withholds_name FROM member WHERE id = 'm-2'").await, ["Integer(1)"]);
    browser.press(PATH, "Show my name").await.expect(200, "see your name");
    browser.submit(PATH, &[("csrf", &csrf), ("name", "other")]).await.expect(403, "");
    let audit = fixture.rows("SELECT action || detail || subject FROM audit").await.join(" ");
    assert!(audit.contains("profile.handle") && !audit.to_lowercase().contains("new_handle"), "{audit}");
}

/// WEB-12, STK-13: after a member releases reserved stock, the client's op that lowers it is applied.
#[tokio::test]
async fn reservation_can_be_released_on_the_web() {
    const PATH: &str = "/reservations";
    let fixture = BackendFixture::unguarded().await;
    let browser = Browser::for_member(&fixture, "m-1").await;
    browser.open(PATH).await.expect(200, "None of your stock is reserved");
    fixture.check(&first(), SET, vec![ORE.set(0, 5), METAL.set(0, 5)], &[]).await;
    fixture
        .sql(
            "INSERT INTO job_order (id, number, unit, state) VALUES ('j-1', 17, 'u-1', 'open');
             INSERT INTO stock_earmark (stock_row, kind, target, amount)
             SELECT id, 'job-order', 'j-1', 2000 FROM stock_row WHERE material = 'ore'
             UNION ALL SELECT id, 'donation', 'd-1', 1500 FROM stock_row WHERE material = 'ore';
             INSERT INTO stock_earmark (stock_row, kind, target, amount, delivered)
             SELECT id, 'job-order', 'j-1', 1, 1 FROM stock_row WHERE material = 'metal'",
        )
        .await;
    fixture.check(&first(), SET, vec![ORE.set(5, 1)], &["0 rejected STOCK_EARMARKED"]).await;
    let page = browser.open(PATH).await.expect(200, "of <bdi>Quanta Ore");
    assert!(
        page.text.contains("<strong>2 SCU</strong> of <bdi>Quanta Ore, City")
            && page.text.contains("job order 17")
    );
    let link = "Release<span class=\"visually-hidden\"> <strong>2 SCU</strong> of <bdi>Quanta Ore, City";
    assert!(page.text.contains(link), "{}", page.text);
    assert!(page.text.contains("<strong>1.5 SCU</strong>") && !page.text.contains("Quanta Metal"));
    // The release asks first.
    let question = |page: &Page, number: usize| {
        let link = page.text.split("href=\"/reservations/release?").nth(number + 1);
        let query = link.and_then(|rest| rest.split('"').next()).expect("a link to the question");
        format!("/reservations/release?{}", query.replace("&amp;", "&"))
    };
    let path = question(&page, 0);
    let page = browser.open(&path).await.expect(200, "Release this stock?");
    let row = page.values("row")[0].to_owned();
    let release = |purpose: &'static str, target: &'static str| {
        [("csrf", page.csrf()), ("row", &*row), ("purpose", purpose), ("target", target)]
    };
    let other_browser = Browser::for_member(&fixture, "m-2").await;
    let theirs = other_browser.open(PATH).await;
    assert_eq!(other_browser.open(&path).await.redirect_target(), PATH);
    let mut stranger = release("job-order", "j-1");
    stranger[0].1 = theirs.csrf();
    other_browser.submit(PATH, &stranger).await.redirect_target();
    browser.submit(PATH, &release("mission", "j-1")).await.redirect_target();
    let left = "SELECT kind FROM stock_earmark WHERE delivered = 0 ORDER BY 1";
    assert_eq!(
        fixture.rows(left).await.len(),
        2,
        "another member's reservation, or one that does not exist, is not found"
    );
    browser.submit(PATH, &release("job-order", "j-1")).await.redirect_target();
    assert_eq!(fixture.rows(left).await, ["Text(\"donation\")"]);
    let version = "SELECT version FROM stock_row WHERE material = 'ore'";
    assert_eq!(fixture.rows(version).await, ["Integer(2)"]);
    browser.submit(PATH, &release("donation", "d-1")).await.redirect_target();
    fixture.check(&first(), SET, vec![ORE.set(5, 1)], &[]).await;
    browser.open(PATH).await.expect(200, "None of your stock is reserved");
    browser.submit(PATH, &[("csrf", page.csrf())]).await.expect(403, "Please try again");
    // The page shows how many further reservations exist.
    fixture
        .sql(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 501)
             INSERT INTO stock_earmark (stock_row, kind, target, amount)
             SELECT r.id, 'mission', 'mi-' || i, 1 FROM n, stock_row r WHERE r.material = 'ore'",
        )
        .await;
    let page = browser.open(PATH).await.expect(200, "No more than 500 are shown");
    assert_eq!(page.text.matches("href=\"/reservations/release?").count(), 500);
}

/// WEB-12, OST-07: an entry in a pool can also be released, which readers of the pool see in the feed.
#[tokio::test]
async fn pool_reservation_can_be_released_on_the_web() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5)], &[]).await;
    fixture
        .sql(
            "UPDATE stock_row SET shared = 1, unit = 'u-1', pool_lot = 'pool-lot';
             INSERT INTO mission (id, name) VALUES ('mi-1', 'Deep Run');
             INSERT INTO stock_earmark (stock_row, kind, target, amount) SELECT id, 'mission', 'mi-1', 2000 FROM stock_row",
        )
        .await;
    let browser = Browser::for_member(&fixture, "m-1").await;
    let page = browser.open("/reservations").await.expect(200, "the mission Deep Run");
    let link = page.text.split("href=\"").find(|link| link.starts_with("/reservations/release"));
    let link = link.and_then(|link| link.split('"').next()).expect("a link").replace("&amp;", "&");
    let page = browser.open(&link).await.expect(200, "Release this stock?");
    let row = page.values("row")[0].to_owned();
    let fields = [("csrf", page.csrf()), ("row", &row), ("purpose", "mission"), ("target", "mi-1")];
    browser.submit("/reservations", &fields).await.redirect_target();
    assert_eq!(fixture.rows("SELECT count(*) FROM stock_earmark").await, ["Integer(0)"]);
    let query = "SELECT count(*) FROM feed_entry WHERE stream IN (SELECT id FROM feed_head WHERE stream = 'unit/org-stock/u-1')";
    assert_eq!(fixture.rows(query).await, ["Integer(1)"]);
}
