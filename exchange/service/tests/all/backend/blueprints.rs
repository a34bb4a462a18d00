//! Tests of blueprints: the results of ops, and the responses to reads.

use exchange_api::Contract as _;
use exchange_api::types::BlueprintChangeSet;
use exchange_service::backend::ChangeError;
use exchange_service::feed::ChangeAuthor;

use super::*;

async fn check(fixture: &BackendFixture, caller: &Caller, ops: Vec<Value>, expected: &[&str]) {
    fixture.check(caller, WRITE, ops, expected).await;
}

/// Reads the next page of the feed. Returns its items and tombstones.
async fn page(fixture: &BackendFixture, caller: &Caller, cursor: &mut String) -> (Vec<Value>, Vec<Value>) {
    fixture.page(caller, READ, cursor).await
}

/// BPR-01, BPR-03, BPR-04, BPR-05, TYP-10, CON-06: an added blueprint is returned with the fields that the
/// client sent; the source `default` of a client becomes `other`.
#[tokio::test]
async fn added_blueprint_is_returned_as_sent() {
    let fixture = BackendFixture::new().await;
    let ops = vec![
        json!({ "op": "add", "ref": { "name": "the gun" }, "acquiredAt": "2026-09-01t10:00:00.1234+00:00",
                "provenance": { "source": "log", "observedAt": "2026-09-02T00:00:00Z" } }),
        json!({ "op": "add", "ref": { "bt": "BP_KNIFE" }, "provenance": { "source": "default" } }),
        add("BP_FLASK"),
    ];
    check(&fixture, &first(), ops, &[]).await;
    let (items, removed) = page(&fixture, &first(), &mut String::new()).await;
    let item =
        |key: &str, name: &str| json!({ "key": key, "ref": { "bt": key, "name": name }, "isDefault": false });
    let set_field = |mut item: Value, name: &str, value: Value| {
        item[name] = value;
        item
    };
    let source = |source: &str| json!({ "source": source });
    let core = set_field(item("BP_CORE", "Sandbox core"), "isDefault", json!(true));
    let lamp = set_field(item("BP_LAMP", "Sandbox lamp"), "isDefault", json!(true));
    let rifle = set_field(item("BP_RIFLE", "Sandbox rifle"), "acquiredAt", json!("2026-09-01T10:00:00.123Z"));
    let expected = [
        set_field(core, "provenance", source("default")),
        item("BP_FLASK", "Sandbox flask"),
        set_field(item("BP_KNIFE", "Sandbox knife"), "provenance", source("other")),
        set_field(lamp, "provenance", source("default")),
        set_field(rifle, "provenance", source("log")),
    ];
    assert_eq!((items, removed), (expected.to_vec(), vec![]));
    assert_eq!(fixture.held(&other_member()).await.len(), 2, "other members do not have the blueprints");
}

/// BPR-04, BPR-05, BPR-08, BPR-09, WRT-02, WRT-05, WRT-06, WRT-09: each op is evaluated after the effects of
/// the earlier ones, and has one of these results.
#[tokio::test]
async fn ops_are_evaluated_in_order() {
    let fixture = BackendFixture::new().await;
    check(
        &fixture,
        &first(),
        vec![
            json!({ "op": "add", "ref": { "bt": "BP_RIFLE" }, "opId": "o-0" }),
            add("BP_RIFLE"),
            add("BP_CORE"),
            remove("BP_CORE"),
            remove("BP_HELMET"),
            remove("BP_UNHEARD_OF"),
            remove(&format!("h:{}", "0".repeat(64))),
            add("BP_UNHEARD_OF"),
            json!({ "op": "add", "ref": { "name": "Sandbox rifel" } }),
            json!({ "op": "remove", "key": "BP_RIFLE", "ref": { "bt": "BP_CORE" } }),
            remove("BP_RIFLE"),
            add("BP_RIFLE"),
            json!({ "op": "remove", "ref": { "name": "sandbox RIFLE" } }),
        ],
        &[
            "1 unchanged -",
            "2 unchanged -",
            "3 rejected DEFAULT_NOT_REMOVABLE",
            "4 unchanged -",
            "5 unchanged -",
            "6 unmatched UNMATCHED",
            "7 unmatched UNMATCHED",
            "8 ambiguous AMBIGUOUS",
            "10 unchanged -",
        ],
    )
    .await;
    assert_eq!(fixture.held(&first()).await, [("BP_CORE".to_owned(), true), ("BP_LAMP".to_owned(), true)]);
    let response =
        fixture.change(&first(), vec![json!({ "op": "remove", "key": "BP_ARMS", "opId": "mine" })]).await;
    let expected = json!([{ "index": 0, "opId": "mine", "result": "unchanged" }]);
    assert_eq!(response.body["results"], expected, "an unchanged op has its id and no reason");
}

/// BPR-06, BPR-07, WRT-14, TYP-15: a client needs an override to add an entry again that another author
/// removed.
#[tokio::test]
async fn readding_after_foreign_removal_needs_override() {
    let fixture = BackendFixture::new().await;
    let refused = &["0 rejected REMOVED_ELSEWHERE"][..];
    for adder in [second(), other_client()] {
        check(&fixture, &first(), vec![add("BP_RIFLE")], &[]).await;
        check(&fixture, &adder, vec![remove("BP_RIFLE")], &[]).await;
        check(&fixture, &first(), vec![add("BP_RIFLE")], refused).await;
        assert_eq!(fixture.held(&first()).await.len(), 2, "the blueprint was not added");
        check(&fixture, &adder, vec![add("BP_RIFLE")], &[]).await;
        check(&fixture, &adder, vec![remove("BP_RIFLE")], &[]).await;
        check(&fixture, &first(), vec![add_anyway("BP_RIFLE")], &[]).await;
        check(&fixture, &first(), vec![remove("BP_RIFLE"), add("BP_RIFLE"), remove("BP_RIFLE")], &[]).await;
    }
    let overridden = fixture.rows("SELECT client, installation FROM journal WHERE override = 1").await;
    assert_eq!(overridden, ["Text(\"c-1\") Text(\"i-1\")"; 2], "the override is recorded");
    // A removal through another channel also blocks clients; changes through other channels are never
    // blocked.
    for author in [ChangeAuthor::App, ChangeAuthor::System, ChangeAuthor::Web] {
        for op in [add("BP_RIFLE"), remove("BP_RIFLE")] {
            let body = json!({ "ops": [op] }).to_string();
            let body = BlueprintChangeSet::parse_valid(body.as_bytes()).expect("a valid change set");
            let changed =
                fixture.backend().change_blueprints(&MemberId::new("m-1"), author.clone(), body).await;
            assert_eq!(changed.expect("the change succeeds").counts().applied, 1);
        }
        check(&fixture, &first(), vec![add("BP_RIFLE")], refused).await;
    }
    fixture.clock.advance(90 * DAY);
    check(&fixture, &first(), vec![add("BP_RIFLE")], refused).await;
    fixture.clock.advance(Duration::from_millis(1));
    check(&fixture, &first(), vec![add("BP_RIFLE")], &[]).await;
}

/// BPR-10, TYP-14, TYP-16, FED-04, FED-10: the feed contains each change once, and removals with their
/// author.
#[tokio::test]
async fn feed_contains_each_change_once() {
    let fixture = BackendFixture::new().await;
    let mut cursor = String::new();
    assert_eq!(page(&fixture, &first(), &mut cursor).await.0.len(), 2);
    assert_eq!(page(&fixture, &first(), &mut cursor).await, (vec![], vec![]));
    check(
        &fixture,
        &first(),
        vec![add("BP_RIFLE"), add("BP_KNIFE"), remove("BP_KNIFE"), add("BP_ARMS")],
        &[],
    )
    .await;
    fixture.clock.advance(Duration::from_secs(1));
    check(&fixture, &other_client(), vec![remove("BP_ARMS"), remove("BP_LEGS")], &["1 unchanged -"]).await;
    fixture.defaults(vec!["BP_CORE", "BP_FLASK"]).await;
    let (items, removed) = page(&fixture, &first(), &mut cursor).await;
    let keys: Vec<&str> = items.iter().map(|item| item["key"].as_str().expect("a string")).collect();
    assert_eq!(keys, ["BP_RIFLE", "BP_FLASK"]);
    assert_eq!(items[1]["isDefault"], true);
    let client = |client: &str, installation: &str| json!({ "channel": "client", "clientId": client, "installationId": installation });
    let expected = [
        json!({ "key": "BP_KNIFE", "removedAt": "2026-09-21T14:13:20Z", "removedBy": client("c-1", "i-1") }),
        json!({ "key": "BP_ARMS", "removedAt": "2026-09-21T14:13:21Z", "removedBy": client("c-2", "i-3") }),
        json!({ "key": "BP_LAMP", "removedAt": "2026-09-21T14:13:21Z", "removedBy": { "channel": "system" } }),
    ];
    assert_eq!(removed, expected);
    assert_eq!(
        page(&fixture, &first(), &mut cursor).await,
        (vec![], vec![]),
        "the cursor is at the end of the feed"
    );
}

/// BPR-03, BPR-10: when a default grant ends, members with an own entry for the product keep it. The others
/// need an override to add the product, except members who joined later.
#[tokio::test]
async fn ended_default_grant_is_a_removal_by_the_system() {
    let fixture = BackendFixture::new().await;
    check(&fixture, &first(), vec![add("BP_RIFLE")], &[]).await;
    fixture.clock.advance(DAY);
    fixture.defaults(vec!["BP_RIFLE", "BP_KNIFE"]).await;
    check(&fixture, &first(), vec![remove("BP_RIFLE")], &["0 rejected DEFAULT_NOT_REMOVABLE"]).await;
    let mut cursor = String::new();
    page(&fixture, &first(), &mut cursor).await;
    fixture.clock.advance(DAY);
    fixture.defaults(vec![]).await;
    let (items, removed) = page(&fixture, &first(), &mut cursor).await;
    assert_eq!((&items[0]["key"], &items[0]["isDefault"]), (&json!("BP_RIFLE"), &json!(false)));
    assert_eq!((removed.len(), &removed[0]["key"]), (1, &json!("BP_KNIFE")));
    check(&fixture, &first(), vec![add("BP_KNIFE")], &["0 rejected REMOVED_ELSEWHERE"]).await;
    // The installation itself removed it after the grant had ended, so it needs no override.
    fixture.clock.advance(DAY);
    check(&fixture, &first(), vec![remove("BP_RIFLE"), add("BP_RIFLE")], &[]).await;
    let joined = fixture.clock.now().as_millis();
    fixture.sql(format!("UPDATE member SET created_at = {joined} WHERE id = 'm-2'")).await;
    check(&fixture, &other_member(), vec![add("BP_KNIFE")], &[]).await;
}

/// BPR-02, LIM-29, A33: a key of more than 128 characters is returned and accepted as its hash, and a long
/// name is truncated.
#[tokio::test]
async fn long_key_is_returned_as_its_hash() {
    let fixture = BackendFixture::new().await;
    let id = format!("BP_{}", "LONG_".repeat(40));
    let key = exchange_service::catalogue::shown_key(&id);
    assert_eq!(key.len(), 66);
    let mut cursor = String::new();
    page(&fixture, &first(), &mut cursor).await;
    check(&fixture, &first(), vec![add(&key)], &[]).await;
    let (items, _) = page(&fixture, &first(), &mut cursor).await;
    assert_eq!((&items[0]["key"], &items[0]["ref"]["bt"]), (&json!(key), &json!(key)));
    assert_eq!(items[0]["ref"]["name"], "n".repeat(200));
    // After the product is removed from the catalogue, the member keeps the blueprint.
    let contents = CatalogueContents::default();
    fixture
        .store
        .write(move |connection| replace_contents(connection, &SystemRandom, &contents))
        .await
        .expect("the catalogue is stored");
    check(&fixture, &first(), vec![remove(&key), remove(&key)], &["1 unchanged -"]).await;
    let (_, removed) = page(&fixture, &first(), &mut cursor).await;
    assert_eq!(removed[0]["key"], key);
}

/// CON-06: a nonexistent calendar date is also rejected through the web pages, and nothing is written.
#[tokio::test]
async fn nonexistent_date_is_rejected_on_the_web() {
    let fixture = BackendFixture::new().await;
    let op = json!({ "op": "add", "ref": { "bt": "BP_RIFLE" }, "acquiredAt": "2026-02-30T00:00:00Z" });
    let body = json!({ "ops": [add("BP_KNIFE"), op] }).to_string();
    let body = BlueprintChangeSet::parse_valid(body.as_bytes()).expect("a valid change set");
    let changed = fixture.backend().change_blueprints(&MemberId::new("m-1"), ChangeAuthor::Web, body).await;
    assert!(matches!(changed, Err(ChangeError::InvalidDate)), "{changed:?}");
    assert_eq!(fixture.rows("SELECT * FROM journal").await, [""; 0]);
}

/// CON-06: a client's nonexistent calendar date is rejected without `errors`, and the response is stored for
/// repetitions.
#[tokio::test]
async fn nonexistent_date_is_rejected_for_clients() {
    let fixture = BackendFixture::new().await;
    for op in [
        json!({ "op": "add", "ref": { "bt": "BP_RIFLE" }, "acquiredAt": "2026-02-30T00:00:00Z" }),
        json!({ "op": "add", "ref": { "bt": "BP_RIFLE" },
                "provenance": { "source": "log", "observedAt": "2025-02-29T00:00:00Z" } }),
    ] {
        let refused = fixture.change(&first(), vec![add("BP_KNIFE"), op]).await;
        assert_eq!((refused.status, refused.code()), (400, "SCHEMA_INVALID"));
        assert_eq!(refused.body.get("errors"), None);
    }
    assert_eq!(fixture.held(&first()).await.len(), 2, "not even the valid ops are applied");
}
