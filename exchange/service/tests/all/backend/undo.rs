//! Tests of undo: reverted entries, conflicts, notices, and crashes.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use exchange_service::backend::undo::{
    RevertEffect, StoreAccess, UndoArea, UndoAuthority, UndoConflict, UndoError, UndoMode, UndoOutcome,
    UndoProcess, UndoSelection,
};
use exchange_service::backend::{FaultInjector, StockOwnership};
use exchange_service::catalogue::Catalogue;
use exchange_service::feed::ChangeAuthor;

use super::drafts_pages::Browser;
use super::ships::{FLY, SHIPS, ship, with_field};
use super::stock::{GUN, METAL, ORE, SET, STOCK, apply_on_web, key, rebook};
use super::*;

/// Selects a client's writes for the first member since the start of the test.
fn writes(fixture: &BackendFixture, client: &str) -> UndoSelection {
    let to = fixture.clock.now();
    UndoSelection { client: client.into(), member: MemberId::new("m-1"), from: to.minus(30 * DAY), to }
}

async fn undo(fixture: &BackendFixture, mode: UndoMode) -> Vec<String> {
    let done = fixture.backend().undo_writes(writes(fixture, "c-1"), &UndoArea::ALL, mode).await;
    shown(&done.expect("the undo succeeds"))
}

fn shown(outcomes: &[UndoOutcome]) -> Vec<String> {
    let one = |UndoOutcome { area, name, result: end, .. }: &UndoOutcome| match end {
        Ok(became) => format!("{} {name}: {}", area.as_str(), became.as_str()),
        Err(conflict) => format!("{} {name}: {conflict}", area.as_str()),
    };
    outcomes.iter().map(one).collect()
}

/// All changes of a client in three areas are reverted, newest first. Changes by other authors are kept, and
/// so are entries that were changed since.
#[tokio::test]
async fn client_changes_are_reverted() {
    let fixture = BackendFixture::unguarded().await;
    fixture.change(&other_client(), vec![add("BP_KNIFE"), add("BP_ARMS")]).await;
    fixture.check(&other_client(), SET, vec![ORE.set(0, 5)], &[]).await;
    fixture.check(&other_client(), FLY, vec![ship("e-1")], &[]).await;
    fixture.clock.advance(DAY);
    fixture.change(&first(), vec![add("BP_RIFLE"), remove("BP_KNIFE"), remove("BP_ARMS")]).await;
    fixture.check(&first(), SET, vec![ORE.set(5, 2), METAL.set(0, 3)], &[]).await;
    let (ships, _) = fixture.page(&first(), SHIPS, &mut String::new()).await;
    let id = ships[0]["shipId"].as_str().expect("a string").to_owned();
    fixture.check(&second(), FLY, vec![json!({ "op": "remove", "shipId": id, "version": 1 })], &[]).await;
    fixture.check(&second(), FLY, vec![ship("e-2")], &[]).await;
    // The member's later changes are kept.
    fixture.clock.advance(DAY);
    let add_arms = json!({ "op": "add", "ref": { "bt": "BP_ARMS" } });
    let body = json!({ "ops": [add_arms] }).to_string();
    let body = exchange_api::Contract::parse_valid(body.as_bytes()).expect("a valid change set");
    fixture
        .backend()
        .change_blueprints(&MemberId::new("m-1"), ChangeAuthor::Web, body)
        .await
        .expect("the change succeeds");
    apply_on_web(&fixture, "m-1", ChangeAuthor::Web, vec![METAL.set(3, 4)]).await;

    let mut cursors = [String::new(), String::new(), String::new()];
    for (uri, cursor) in [READ, STOCK, SHIPS].into_iter().zip(&mut cursors) {
        fixture.page(&first(), uri, cursor).await;
    }
    let expect = [
        "blueprints Sandbox arms: changed afterwards by web",
        "blueprints Sandbox rifle: removed",
        "blueprints Sandbox knife: restored",
        "stock Quanta Metal, City: changed afterwards by web",
        "stock Quanta Ore, City: changed",
        "ships Big Hauler: removed",
        "ships Big Hauler: restored",
    ];
    let mut promised = undo(&fixture, UndoMode::Preview).await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    assert_eq!(promised, done);
    let mut expect = expect.map(str::to_owned).to_vec();
    for list in [&mut promised, &mut done, &mut expect] {
        list.sort();
    }
    assert_eq!(done, expect);

    // FED-04: the feeds contain the reverts.
    let (items, removed) = fixture.page(&first(), READ, &mut cursors[0]).await;
    assert_eq!((items.len(), &items[0]["key"]), (1, &json!("BP_KNIFE")));
    assert_eq!(
        (&removed[0]["key"], &removed[0]["removedBy"]["channel"]),
        (&json!("BP_RIFLE"), &json!("web"))
    );
    let (items, removed) = fixture.page(&first(), STOCK, &mut cursors[1]).await;
    assert_eq!((items.len(), removed.len(), &items[0]["quantity"]["amount"]), (1, 0, &json!(5)));
    let (items, removed) = fixture.page(&other_client(), SHIPS, &mut cursors[2]).await;
    let expected_notices =
        (items.len(), removed.len(), &items[0]["shipId"], &items[0]["version"], &items[0]["externalId"]);
    assert_eq!(
        expected_notices,
        (1, 1, &json!(id), &json!(2), &json!("e-1")),
        "the ship has its previous external id"
    );

    // A second run reverts nothing and reports the same conflicts.
    let again = undo(&fixture, UndoMode::Apply).await;
    assert_eq!(again.iter().filter(|line| !line.contains("changed afterwards")).count(), 0, "{again:?}");
    // WRT-14: after the undo, the client needs an override to add the entries again.
    fixture.check(&first(), WRITE, vec![add("BP_RIFLE")], &["0 rejected REMOVED_ELSEWHERE"]).await;
}

/// Journal and audit log record the author of an undo: the member through the web pages, or an administrator
/// through the system, with a notice to the member.
#[tokio::test]
async fn undo_author_is_journalled_and_audited() {
    for authority in [UndoAuthority::Member, UndoAuthority::Administrator("root".to_owned())] {
        let fixture = BackendFixture::unguarded().await;
        fixture.change(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")]).await;
        fixture.clock.advance(Duration::from_secs(1));
        let writes = writes(&fixture, "c-1");
        let span = format!("of m-1, written from {} to {}", writes.from, writes.to);
        let undo = UndoProcess::new(writes, authority.clone(), &UndoArea::ALL, UndoMode::Apply);
        fixture.backend().run_undo(undo).await.expect("the undo succeeds");
        let audit = fixture
            .rows("SELECT actor || '|' || client || '|' || action || '|' || detail FROM audit WHERE action LIKE '%undo'")
            .await;
        let journal = fixture
            .rows("SELECT channel, undoes IS NOT NULL FROM journal WHERE id > 2 GROUP BY change_set")
            .await;
        let sent_notices =
            fixture.rows("SELECT kind, subject FROM notice WHERE kind = 'writes-undone'").await;
        let (actor, channel, count) = match authority {
            UndoAuthority::Member => ("member:m-1", "web", 0),
            UndoAuthority::Administrator(_) => ("administrator:root", "system", 1),
        };
        let detail = format!("{actor}|c-1|blueprints.undo|{span}: 0 set back, 2 removed");
        assert_eq!(audit, [format!("Text(\"{detail}\")")]);
        assert_eq!(journal, [format!("Text(\"{channel}\") Integer(1)")]);
        assert_eq!(sent_notices.len(), count, "{sent_notices:?}");
    }
}

/// If a step of an undo fails, the current part has no effect, and the next run reverts it.
#[tokio::test]
async fn interrupted_undo_resumes() {
    let (cut, steps) = (Arc::new(AtomicUsize::new(usize::MAX)), Arc::new(AtomicUsize::new(0)));
    let shared = (Arc::clone(&cut), Arc::clone(&steps));
    let fault_injector = FaultInjector::new(move |_| {
        let number = shared.1.fetch_add(1, Ordering::SeqCst);
        if number == shared.0.load(Ordering::SeqCst) { Err(StoreError::Full) } else { Ok(()) }
    });
    let fixture =
        BackendFixture::with_config(unguarded(), |backend| backend.with_fault_injector(fault_injector)).await;
    let add_500 =
        |from: usize| (from..from + 500).map(|number| add(&format!("BP_MANY_{number:03}"))).collect();
    fixture.change(&first(), add_500(0)).await;
    fixture.change(&first(), (500..600).map(|number| add(&format!("BP_MANY_{number:03}"))).collect()).await;
    let before = fixture.held(&first()).await.len();
    assert_eq!(before, 602);
    // The undo has three parts of 200 entries, each with three fault points.
    let mut left = Vec::new();
    for place in 0..9 {
        steps.store(0, Ordering::SeqCst);
        cut.store(place, Ordering::SeqCst);
        let done =
            fixture.backend().undo_writes(writes(&fixture, "c-1"), &UndoArea::ALL, UndoMode::Apply).await;
        assert_eq!(done.is_err(), place < 5, "{place}");
        left.push(fixture.held(&first()).await.len());
    }
    assert_eq!(left, [602, 602, 602, 402, 202, 2, 2, 2, 2]);
    let pieces =
        fixture.rows("SELECT count(DISTINCT change_set), count(*) FROM journal WHERE undoes > 0").await;
    assert_eq!(pieces, ["Integer(3) Integer(600)"], "no entry is reverted twice");
}

/// A change after the undo was planned and before its last part is written is not overwritten.
#[tokio::test]
async fn concurrent_change_is_a_conflict() {
    let fixture = BackendFixture::unguarded().await;
    fixture.change(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")]).await;
    let mut undo = UndoProcess::new(
        writes(&fixture, "c-1"),
        UndoAuthority::Member,
        &[UndoArea::Blueprints],
        UndoMode::Apply,
    );
    let clock = fixture.clock.clone();
    let stepped = |mut undo: UndoProcess| {
        let environment = Environment::new(Arc::new(clock.clone()), Arc::new(SystemRandom));
        move |connection: &rusqlite::Connection| {
            let (catalogue, uninterrupted) = (Catalogue::default(), FaultInjector::default());
            undo.run_step(connection, &catalogue, &environment, &uninterrupted).map(|()| undo)
        }
    };
    assert_eq!(undo.next_access(), Some(StoreAccess::Read));
    undo = fixture.store.read(stepped(undo)).await.expect("the plan succeeds");
    // This also holds for a change of the same client, because it is not in the planned span.
    fixture.change(&first(), vec![remove("BP_KNIFE")]).await;
    fixture.change(&first(), vec![add("BP_KNIFE")]).await;
    assert_eq!(undo.next_access(), Some(StoreAccess::Write));
    undo = fixture.store.write(stepped(undo)).await.expect("the step succeeds");
    assert_eq!(undo.next_access(), None);
    let mut done: Vec<(String, Result<RevertEffect, UndoConflict>)> =
        undo.into_outcomes().into_iter().map(|one| (one.key, one.result)).collect();
    done.sort_by_key(|(key, _)| key.clone());
    let expect = [
        ("BP_KNIFE".to_owned(), Err(UndoConflict::ChangedSince(None))),
        ("BP_RIFLE".to_owned(), Ok(RevertEffect::Removed)),
    ];
    assert_eq!(done, expect);
}

/// STK-13, STK-17: undo does not take reserved stock and does not restore ended offers.
#[tokio::test]
async fn reservations_stay_and_offers_are_not_restored() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), SET, vec![ORE.set(0, 5)], &[]).await;
    fixture.sql("INSERT INTO stock_offer SELECT 'o-1', id, 4000 FROM stock_row").await;
    fixture.check(&first(), SET, vec![ORE.set(5, 0), METAL.set(0, 3)], &[]).await;
    let other = key(&fixture, &first(), METAL).await;
    fixture
        .sql(format!("INSERT INTO stock_earmark SELECT id, 'mission', 'x', 1000, 0 FROM stock_row WHERE lot = '{other}'"))
        .await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = [
        "stock Quanta Metal, City: the reserved amount exceeds the amount that undoing would restore",
        "stock Quanta Ore, City: restored",
    ];
    assert_eq!(done, expect);
    assert_eq!(
        fixture.rows("SELECT amount, version FROM stock_row ORDER BY material DESC").await[0],
        "Integer(5000) Integer(2)"
    );
    assert_eq!(fixture.rows("SELECT * FROM stock_offer").await, [""; 0]);
}

/// WRT-03: a page previews the undo of an application's writes, then runs it as a change through the web
/// pages.
#[tokio::test]
async fn member_undoes_changes_on_the_web() {
    const PATH: &str = "/take-back";
    let fixture = BackendFixture::unguarded().await;
    let browser = Browser::for_member(&fixture, "m-1").await;
    browser.open(PATH).await.expect(200, "No application has made changes for you");
    fixture.change(&first(), vec![add("BP_RIFLE"), add("BP_KNIFE")]).await;
    fixture.change(&other_client(), vec![remove("BP_KNIFE")]).await;
    let page = browser.open("/applications").await.expect(200, "Undo changes<span");
    let link = format!("{PATH}?client=c%2D1");
    assert!(page.text.contains(&format!("href=\"{link}\"")), "{}", page.text);
    let page = browser.open(&link).await.expect(200, "value=\"c-1\" selected");
    let [from, to] = ["from", "to"].map(|name| page.values(name)[0].to_owned());
    let csrf = page.csrf().to_owned();
    let submit = async |decision: &str, from: &str, to: &str| {
        if decision == "look" {
            let [from, to] = [from, to].map(|time| time.replace(' ', "+"));
            return browser.open(&format!("{PATH}?client=c-1&from={from}&to={to}")).await;
        }
        let fields = [("csrf", &*csrf), ("client", "c-1"), ("from", from), ("to", to)];
        browser.submit(PATH, &fields).await
    };
    submit("look", "soon", &to).await.expect(422, "Invalid time").expect(422, "value=\"soon\"");
    submit("undo", &to, "2020-01-01").await.expect(422, "The end is before the beginning.");
    browser.submit(PATH, &[("csrf", "x")]).await.expect(403, "");

    let before = fixture.everything().await;
    let page = submit("look", &from, &to).await.expect(200, "Would be undone (1)");
    let page = page.expect(200, "<bdi>Sandbox rifle</bdi>, your blueprints: removed");
    let page = page.expect(200, "Stays unchanged (1)");
    let page = page.expect(200, "Changes that <bdi>First client</bdi> made for you from");
    assert_eq!(fixture.everything().await, before, "opening the page changes nothing");
    // Writes after the preview are not undone.
    let [from, to] = ["from", "to"].map(|name| page.values(name)[0].to_owned());
    assert_eq!(to, fixture.clock.now().to_string());
    fixture.clock.advance(Duration::from_secs(1));
    fixture.change(&first(), vec![add("BP_HELMET")]).await;
    fixture.sql("UPDATE member SET state = 'pending' WHERE id = 'm-1'").await;
    for decision in ["look", "undo"] {
        submit(decision, &from, &to).await.expect(403, "Your registration awaits approval.");
    }
    fixture.sql("UPDATE member SET state = 'active' WHERE id = 'm-1'").await;
    fixture.sql("CREATE TRIGGER cut BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'cut'); END").await;
    submit("undo", &from, &to).await.expect(503, "Nothing was changed.");
    fixture.sql("DROP TRIGGER cut").await;
    // After the undo, the browser sees the preview of what is left, so that it never sends the form again.
    let done = submit("undo", &from, &to).await;
    let page = browser.open(done.redirect_target()).await.expect(200, "Stays unchanged (1)");
    assert!(!page.text.contains("Would be undone"), "{}", page.text);
    page.expect(200, "<bdi>Sandbox knife</bdi>, your blueprints: changed afterwards by Second client");
    assert_eq!(fixture.held(&first()).await.len(), 3, "only the default grants and the last blueprint exist");
    let audited = fixture.rows("SELECT actor, client, action FROM audit ORDER BY id DESC LIMIT 1").await;
    assert_eq!(audited, ["Text(\"member:m-1\") Text(\"c-1\") Text(\"blueprints.undo\")"]);
    submit("look", &from, &to).await.expect(200, "Stays unchanged (1)");
    // If the application has no writes, no writes of another application are undone.
    let none = [("csrf", &*csrf), ("client", "c-9"), ("from", &from), ("to", &to)];
    browser.submit(PATH, &none).await.expect(200, "This application has made no changes for you");
    browser.open(&format!("{PATH}?client=c-9")).await.expect(200, "This application has made no changes");
    let other_browser = Browser::for_member(&fixture, "m-2").await;
    other_browser.open(&link).await.expect(200, "No application has made changes for you");
}

/// WRT-03: an undo that fails reports whether it changed anything: nothing if it did not start, a part if it
/// was interrupted.
#[tokio::test]
async fn page_reports_whether_the_undo_changed_anything() {
    let fixture = BackendFixture::unguarded().await;
    let began = fixture.clock.now().to_string();
    fixture.change(&first(), vec![add("BP_RIFLE")]).await;
    fixture.clock.advance(91 * DAY);
    fixture.change(&first(), vec![add("BP_KNIFE")]).await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5)], &[]).await;
    let browser = Browser::for_member(&fixture, "m-1").await;
    let page = browser.open("/take-back?client=c-1").await;
    let (csrf, to) = (page.csrf().to_owned(), fixture.clock.now().to_string());
    let submit = async |decision: &str, from: &str| {
        if decision == "look" {
            return browser.open(&format!("/take-back?client=c-1&from={from}&to={to}")).await;
        }
        let fields = [("csrf", &*csrf), ("client", "c-1"), ("from", from), ("to", &*to)];
        browser.submit("/take-back", &fields).await
    };
    submit("look", &began).await.expect(200, "Would be undone (3)");
    // The journal is deleted between the preview and the confirmation.
    assert_eq!(fixture.run_upkeep_task("journal").await, 1);
    let before = fixture.everything().await;
    let page = submit("undo", &began).await.expect(422, "Nothing was undone. Changes before ");
    assert!(!page.text.contains("already"), "{}", page.text);
    assert_eq!(fixture.everything().await, before);
    let page = submit("look", &began).await.expect(422, "Changes before ");
    assert!(!page.text.contains("Nothing was undone"), "{}", page.text);
    let cut = "CREATE TRIGGER cut BEFORE INSERT ON audit WHEN NEW.action = 'stock.undo' \
               BEGIN SELECT RAISE(ABORT, 'cut'); END";
    fixture.sql(cut).await;
    let from = fixture.clock.now().minus(DAY).to_string();
    submit("undo", &from).await.expect(503, "some changes are undone already");
    fixture.sql("DROP TRIGGER cut").await;
    let done = submit("undo", &from).await;
    browser.open(done.redirect_target()).await.expect(200, "There is nothing to undo.");
}

/// A preview is expensive, so a member can run only one at a time, even if its request was dropped. Other
/// members are not delayed.
#[tokio::test]
async fn member_runs_one_preview_at_a_time() {
    let fixture = BackendFixture::unguarded().await;
    for caller in [first(), caller("c-1", "m-2", "i-4", "jkt-4")] {
        fixture.change(&caller, vec![add("BP_RIFLE")]).await;
    }
    let browser = Browser::for_member(&fixture, "m-1").await;
    let look = async || browser.open("/take-back?client=c-1&from=2020-01-01&to=2030-01-01").await;
    // A preview waits for the store after its request was dropped.
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let held = fixture.store.write(move |_| {
        let _ = wait.recv();
        Ok::<(), StoreError>(())
    });
    let backend = fixture.backend();
    let first_one = backend.undo_writes(writes(&fixture, "c-1"), &UndoArea::ALL, UndoMode::Preview);
    let (mut held, mut first_one) = (pin!(held), pin!(first_one));
    let context = &mut Context::from_waker(Waker::noop());
    assert!(held.as_mut().poll(context).is_pending() && first_one.as_mut().poll(context).is_pending());
    go.send(()).expect("the receiver waits");
    held.await.expect("the write succeeds");
    let refused = backend.undo_writes(writes(&fixture, "c-1"), &UndoArea::ALL, UndoMode::Apply).await;
    assert!(matches!(refused, Err(UndoError::InProgress)), "{refused:?}");
    look().await.expect(429, "perhaps in another window").expect(429, "/take-back?client=c%2D1");
    let other_selection = UndoSelection { member: MemberId::new("m-2"), ..writes(&fixture, "c-1") };
    backend
        .undo_writes(other_selection, &UndoArea::ALL, UndoMode::Preview)
        .await
        .expect("the undo of another member succeeds");
    first_one.await.expect("the undo succeeds");
    look().await.expect(200, "Would be undone (1)");
}

/// A span that begins before the oldest kept journal entry is rejected.
#[tokio::test]
async fn span_before_the_journal_floor_is_rejected() {
    let fixture = BackendFixture::unguarded().await;
    let began = fixture.clock.now();
    fixture.change(&first(), vec![add("BP_RIFLE")]).await;
    fixture.clock.advance(91 * DAY);
    fixture.change(&first(), vec![remove("BP_RIFLE")]).await;
    assert_eq!(fixture.run_upkeep_task("journal").await, 1);
    let to = fixture.clock.now();
    let writes = |from| UndoSelection { client: "c-1".into(), member: MemberId::new("m-1"), from, to };
    let forgotten = fixture.backend().undo_writes(writes(began), &UndoArea::ALL, UndoMode::Apply).await;
    let Err(UndoError::JournalTruncated(from)) = forgotten else { panic!("{forgotten:?}") };
    assert_eq!(from, began.plus(Duration::from_millis(1)));
    // The time in the error message is accepted.
    let done = fixture
        .backend()
        .undo_writes(writes(from), &UndoArea::ALL, UndoMode::Apply)
        .await
        .expect("the undo succeeds");
    assert_eq!(shown(&done), ["blueprints Sandbox rifle: restored"]);
}

/// STK-19: re-marked stock is reverted on both sides or on neither, so that no stock is lost or duplicated.
#[tokio::test]
async fn re_marked_stock_is_reverted_on_both_sides() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), SET, vec![ORE.set(0, 5), GUN.set(0, 3)], &[]).await;
    fixture.clock.advance(DAY);
    // A whole row is re-marked, and a part of another.
    fixture.check(&first(), SET, vec![ORE.set(5, 0), ORE.stolen().set(0, 5)], &[]).await;
    fixture.check(&first(), SET, vec![GUN.set(3, 1), GUN.stolen().set(0, 2)], &[]).await;
    apply_on_web(&fixture, "m-1", ChangeAuthor::Web, vec![ORE.stolen().set(5, 4)]).await;
    fixture.sql("INSERT INTO stock_earmark SELECT id, 'mission', 'x', 1, 0 FROM stock_row WHERE material = 'gun' AND stolen = 1").await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = [
        "stock Quanta Cannon, City, stolen: the reserved amount exceeds the amount that undoing would restore",
        "stock Quanta Cannon, City: an entry that is linked to it by a move or a replacement is kept",
        "stock Quanta Ore, City, stolen: changed afterwards by web",
        "stock Quanta Ore, City: an entry that is linked to it by a move or a replacement is kept",
    ];
    assert_eq!(done, expect);
    fixture.sql("DELETE FROM stock_earmark").await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = ["stock Quanta Cannon, City, stolen: removed", "stock Quanta Cannon, City: changed"];
    assert_eq!(done[..2], expect);
    let rows = fixture.rows("SELECT amount, stolen FROM stock_row WHERE material = 'gun'").await;
    assert_eq!(rows, ["Integer(3) Integer(0)"]);
}

/// STK-20, STK-21: stock that moved between locations is reverted at both locations or at neither, whichever
/// location has the conflict.
#[tokio::test]
async fn moved_stock_is_reverted_at_both_locations() {
    let fixture = BackendFixture::unguarded().await;
    let targets = [ORE.place("Station"), METAL.place("Station")];
    fixture.check(&other_client(), SET, vec![ORE.set(0, 12), METAL.set(0, 24)], &[]).await;
    rebook(&fixture, METAL, StockOwnership::Pool("u-1".into())).await;
    fixture.clock.advance(DAY);
    fixture.check(&first(), SET, vec![ORE.set(12, 0), targets[0].set(0, 12)], &[]).await;
    fixture.check(&first(), SET, vec![METAL.set(24, 12), targets[1].set(0, 12)], &[]).await;
    let rows = "SELECT material, location, amount FROM stock_row ORDER BY material, location";
    let moved = fixture.rows(rows).await;
    apply_on_web(&fixture, "m-1", ChangeAuthor::Web, vec![targets[0].set(12, 11)]).await;
    fixture.sql("UPDATE stock_row SET unit = 'u-2' WHERE material = 'metal' AND location = 'l-1'").await;
    let left = fixture.rows(rows).await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = [
        "stock Quanta Metal, City: changed afterwards",
        "stock Quanta Metal, Station: an entry that is linked to it by a move or a replacement is kept",
        "stock Quanta Ore, City: an entry that is linked to it by a move or a replacement is kept",
        "stock Quanta Ore, Station: changed afterwards by web",
    ];
    assert_eq!(done, expect);
    assert_eq!(fixture.rows(rows).await, left, "no stock is lost or duplicated");
    // Without a conflict, both sides are reverted.
    fixture.sql("UPDATE stock_row SET unit = 'u-1' WHERE material = 'metal' AND location = 'l-1'").await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    assert_eq!(done[..2], ["stock Quanta Metal, City: changed", "stock Quanta Metal, Station: removed"]);
    assert_ne!(moved, fixture.rows(rows).await);
    assert_eq!(fixture.rows(rows).await[0], "Text(\"metal\") Text(\"l-1\") Integer(24000)");
}

/// STK-20: if stock was moved out of the pool of a unit that the member has left, neither side of the move is
/// reverted.
#[tokio::test]
async fn move_out_of_a_left_units_pool_is_not_reverted() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), SET, vec![ORE.set(0, 12)], &[]).await;
    rebook(&fixture, ORE, StockOwnership::Pool("u-1".into())).await;
    fixture.clock.advance(DAY);
    fixture.check(&first(), SET, vec![ORE.set(12, 0), ORE.place("Station").set(0, 12)], &[]).await;
    fixture.sql("DELETE FROM membership WHERE member = 'm-1'").await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = [
        "stock Quanta Ore, City: it was in a unit that the member has left",
        "stock Quanta Ore, Station: an entry that is linked to it by a move or a replacement is kept",
    ];
    assert_eq!(done, expect);
    assert_eq!(
        fixture.rows("SELECT amount, location FROM stock_row").await,
        ["Integer(12000) Text(\"l-2\")"]
    );
}

/// Returns the id and the version of the first member's only ship.
async fn only_ship(fixture: &BackendFixture) -> (String, i64) {
    let (ships, _) = fixture.page(&first(), SHIPS, &mut String::new()).await;
    assert_eq!(ships.len(), 1, "{ships:?}");
    let id = ships[0]["shipId"].as_str().expect("a string").to_owned();
    (id, ships[0]["version"].as_i64().expect("a number"))
}

/// Removes the only ship as the first installation, and creates it again a day later. Returns both ids.
async fn remove_and_revive(fixture: &BackendFixture, revived: &[(&str, Value)]) -> [String; 2] {
    let (removed, version) = only_ship(fixture).await;
    fixture
        .check(&first(), FLY, vec![json!({ "op": "remove", "shipId": removed, "version": version })], &[])
        .await;
    fixture.clock.advance(DAY);
    let mut op = with_field(with_field(ship("e-2"), "shipId", json!(removed)), "version", json!(1));
    revived.iter().for_each(|(name, value)| op[*name] = value.clone());
    fixture.check(&first(), FLY, vec![op], &[]).await;
    [removed, only_ship(fixture).await.0]
}

/// SHP-19: a removed ship and the ship that replaced it count as one ship, so undo does not restore both.
#[tokio::test]
async fn recreated_ship_is_not_restored_beside_itself() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), FLY, vec![ship("e-1")], &[]).await;
    let [removed, revived] = remove_and_revive(&fixture, &[]).await;
    let op = with_field(
        with_field(with_field(ship("w"), "shipId", json!(revived)), "version", json!(1)),
        "name",
        json!("Mine"),
    );
    assert_eq!(super::ships::apply_on_web(&fixture, ChangeAuthor::Web, vec![op]).await["applied"], 1);
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = [
        "ships Big Hauler: an entry that is linked to it by a move or a replacement is kept",
        "ships Big Hauler: changed afterwards by web",
    ];
    assert_eq!(done, expect);
    assert_eq!(only_ship(&fixture).await.0, revived);
    // The span excludes the last change of the client, which counts as another author's change.
    let writes = writes(&fixture, "c-1");
    let to = writes.to.minus(Duration::from_secs(1));
    let done =
        fixture.backend().undo_writes(UndoSelection { to, ..writes }, &UndoArea::ALL, UndoMode::Apply).await;
    assert_eq!(
        shown(&done.expect("the undo succeeds")),
        ["ships Big Hauler: changed afterwards by client c-1"]
    );
    assert_ne!(only_ship(&fixture).await.0, removed);
}

/// SHP-19: undo removes the replacement only if it can restore the original ship.
#[tokio::test]
async fn recreated_ship_is_removed_only_if_original_returns() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), FLY, vec![with_field(ship("e-1"), "orgUnit", json!("u-1"))], &[]).await;
    let [removed, revived] = remove_and_revive(&fixture, &[("orgUnit", Value::Null)]).await;
    fixture.sql("DELETE FROM membership WHERE member = 'm-1'").await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    let expect = [
        "ships Big Hauler: an entry that is linked to it by a move or a replacement is kept",
        "ships Big Hauler: it was in a unit that the member has left",
    ];
    assert_eq!(done, expect);
    assert_eq!(only_ship(&fixture).await.0, revived);
    fixture.sql("INSERT INTO membership (member, unit) VALUES ('m-1', 'u-1')").await;
    let mut done = undo(&fixture, UndoMode::Apply).await;
    done.sort();
    assert_eq!(done, ["ships Big Hauler: removed", "ships Big Hauler: restored"]);
    assert_eq!(only_ship(&fixture).await, (removed, 2));
    assert_eq!(undo(&fixture, UndoMode::Apply).await, [""; 0]);
}

/// SHP-19: a replacement by another author counts as a change of the removed ship, until the replacement is
/// undone.
#[tokio::test]
async fn ship_recreated_by_another_author_is_a_conflict() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), FLY, vec![ship("e-1")], &[]).await;
    let (removed, _) = only_ship(&fixture).await;
    fixture.check(&first(), FLY, vec![json!({ "op": "remove", "shipId": removed, "version": 1 })], &[]).await;
    fixture.clock.advance(DAY);
    let op = with_field(with_field(ship("e-2"), "shipId", json!(removed)), "version", json!(1));
    fixture.check(&other_client(), FLY, vec![with_field(op, "override", json!(true))], &[]).await;
    assert_eq!(undo(&fixture, UndoMode::Apply).await, ["ships Big Hauler: changed afterwards by client c-2"]);
    let theirs = UndoSelection { from: fixture.clock.now(), ..writes(&fixture, "c-2") };
    let done = fixture
        .backend()
        .undo_writes(theirs, &UndoArea::ALL, UndoMode::Apply)
        .await
        .expect("the undo succeeds");
    assert_eq!(shown(&done), ["ships Big Hauler: removed"]);
    assert_eq!(undo(&fixture, UndoMode::Apply).await, ["ships Big Hauler: restored"]);
    assert_eq!(only_ship(&fixture).await.0, removed);
}

/// Linked entries are never split between parts of an undo, even if the undo has hundreds of moves and a part
/// has 200 entries.
#[tokio::test]
async fn linked_entries_stay_in_one_piece() {
    let fixture = BackendFixture::unguarded().await;
    let falls = (1..=250).map(|quality| ORE.quality(quality).set(0, 2));
    fixture.check(&other_client(), SET, falls.collect(), &[]).await;
    fixture.clock.advance(DAY);
    // The two sides of each move are far apart in the journal.
    let falls = (1..=250).map(|quality| ORE.quality(quality).set(2, 0));
    let rises = (1..=250).rev().map(|quality| ORE.quality(quality).stolen().set(0, 2));
    fixture.check(&first(), SET, falls.chain(rises).collect(), &[]).await;
    fixture.sql("UPDATE stock_row SET amount = 3000 WHERE quality % 5 = 0").await;
    let done = undo(&fixture, UndoMode::Apply).await;
    let stays = done.iter().filter(|line| line.contains("is kept")).count();
    let changed = done.iter().filter(|line| line.contains("changed afterwards")).count();
    assert_eq!((done.len(), stays, changed), (500, 50, 50));
    let rows = fixture
        .rows("SELECT stolen, count(*), sum(amount) FROM stock_row GROUP BY stolen ORDER BY stolen")
        .await;
    assert_eq!(rows, ["Integer(0) Integer(200) Integer(400000)", "Integer(1) Integer(50) Integer(150000)"]);
}

/// Entries that already have their previous state are also recorded as undone, so that a later run over a
/// part of the span does not find them.
#[tokio::test]
async fn unchanged_entries_are_recorded_as_undone() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&other_client(), SET, vec![ORE.set(0, 3)], &[]).await;
    fixture.clock.advance(DAY);
    fixture.check(&first(), SET, vec![ORE.set(3, 0), ORE.stolen().set(0, 3)], &[]).await;
    fixture.clock.advance(DAY);
    fixture.check(&first(), SET, vec![ORE.stolen().set(3, 0)], &[]).await;
    assert_eq!(undo(&fixture, UndoMode::Apply).await, ["stock Quanta Ore, City: restored"]);
    let later = UndoSelection { from: fixture.clock.now(), ..writes(&fixture, "c-1") };
    let done = fixture
        .backend()
        .undo_writes(later, &UndoArea::ALL, UndoMode::Apply)
        .await
        .expect("the undo succeeds");
    assert_eq!(shown(&done), [""; 0]);
    assert_eq!(
        fixture.rows("SELECT amount, stolen, version FROM stock_row").await,
        ["Integer(3000) Integer(0) Integer(3)"]
    );
}
