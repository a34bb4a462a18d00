//! Tests of drafts: staging, expiry, ownership and limits.

use exchange_service::backend::confirm::HandoffToken;
use exchange_service::backend::drafts::{MatchedBlueprint, RefineryPanel, ReviewContent, UnmatchedBlueprint};
use exchange_service::backend::{FaultInjector, WriteStep};

use super::*;

pub(super) const BLUEPRINTS: &str = "/exchange/v1/me/drafts/blueprints";
pub(super) const REFINERY: &str = "/exchange/v1/me/drafts/refinery-orders";
const HALF_AN_HOUR: Duration = Duration::from_secs(1800);

pub(super) fn envelope(items: Vec<Value>) -> Value {
    json!({ "format": "svc.blueprints", "formatVersion": "1.0", "items": items })
}

fn named(name: &str) -> Value {
    json!({ "ref": { "name": name } })
}

fn keyed(key: &str) -> Value {
    json!({ "ref": { "bt": key } })
}

/// Returns a refinery order with the required fields.
pub(super) fn order(panel: &str, material: &str) -> Value {
    json!({
        "panelType": panel, "sourceImages": [{ "name": "1.png" }],
        "goods": [{ "inputQuantity": 1, "rawMaterialName": material, "refine": true }],
    })
}

fn orders(version: i64, orders: Vec<Value>) -> Value {
    json!({ "schemaVersion": version, "orders": orders })
}

pub(super) fn member() -> MemberId {
    MemberId::new("m-1")
}

impl BackendFixture {
    /// Stages a draft and returns its handoff token.
    pub(super) async fn staged(&self, caller: &Caller, uri: &str, body: Value) -> HandoffToken {
        let response = self.post(caller, uri, body).await;
        assert_eq!(response.status, 200, "{}", response.body);
        HandoffToken::new(response.body["handoffId"].as_str().expect("a string"))
    }

    /// Opens a draft and returns its id with the content of the review.
    pub(super) async fn opened(&self, handoff: &HandoffToken) -> Option<(String, ReviewContent)> {
        let id = self.backend().open_draft(&member(), handoff).await.expect("the draft can be read")?;
        let review = self
            .backend()
            .load_review(&member(), &id)
            .await
            .expect("the review can be read")
            .expect("the review exists");
        assert_eq!(review.from.as_deref(), Some("First client"));
        Some((id, review.content))
    }
}

/// DRF-05, DRF-06, DRF-07, DRF-12, DRF-14: references resolve as in the catalogue. Unique matches are new or
/// already held. All other references are listed once each, by name or first key, with their earliest time.
/// Only the hash of the handoff token is stored, and no other data changes.
#[tokio::test]
async fn staged_blueprints_are_classified_for_review() {
    let fixture = BackendFixture::new().await;
    fixture.change(&first(), vec![add("BP_HELMET")]).await;
    let before =
        fixture.rows("SELECT (SELECT group_concat(product) FROM blueprint), count(*) FROM journal").await;
    let set_time = |mut item: Value, moment: &str| {
        item["acquiredAt"] = json!(moment);
        item
    };
    let late = "2026-03-01T00:00:00Z";
    let items = vec![
        set_time(keyed("BP_RIFLE"), late),
        named("Unheard Of"),
        named("sandbox HELMET"),
        named("The Gun"),
        set_time(named("Sandbox Rifle [Founder Pack]"), "2026-01-31T23:59:59.5Z"),
        json!({ "ref": { "scRecord": "nowhere", "locKey": "neither" }, "provenance": { "source": "log" } }),
        json!({ "ref": { "name": "Sandbox nife" } }),
        set_time(named("Unheard Of"), late),
        keyed("BP_LAMP"),
    ];
    let response = fixture.post(&first(), BLUEPRINTS, envelope(items)).await;
    assert_eq!((response.status, &response.body["kind"]), (200, &json!("BLUEPRINT")));
    let secret = response.body["handoffId"].as_str().expect("a string").to_owned();
    assert_eq!(response.body["frontendUrl"], format!("http://127.0.0.1:8080/draft/{secret}"));
    assert_eq!(secret.len(), 43);
    assert!(
        !fixture.everything().await.iter().any(|row| row.contains(&secret)),
        "only the hash of the handoff token is stored"
    );
    let after =
        fixture.rows("SELECT (SELECT group_concat(product) FROM blueprint), count(*) FROM journal").await;
    assert_eq!(after, before, "nothing is written before the member confirms it");

    let (_, reviewed) = fixture.opened(&HandoffToken::new(secret)).await.expect("the review can be read");
    let ReviewContent::Blueprints { new, held, unmatched, products } = reviewed else {
        panic!("the draft contains blueprints")
    };
    let earliest = Some(Moment::from_millis(1_769_903_999_500));
    assert_eq!(
        new,
        [MatchedBlueprint { number: 0, name: "Sandbox rifle".to_owned(), acquired_at: earliest }]
    );
    assert_eq!(held, ["Sandbox helmet", "Sandbox lamp"], "an own blueprint and a default grant are held");
    let row = |number, name: &str, acquired_at, suggestions| UnmatchedBlueprint {
        number,
        name: name.to_owned(),
        acquired_at,
        suggestions,
    };
    let march = Some(Moment::from_secs(1_772_323_200));
    let knife = vec![("BP_KNIFE".to_owned(), "Sandbox knife".to_owned())];
    let expected = [
        row(1, "Unheard Of", march, vec![]),
        row(3, "nowhere", None, vec![]),
        row(4, "Sandbox nife", None, knife),
    ];
    assert_eq!(unmatched[..2], expected[..2]);
    assert_eq!(
        (&unmatched[2].name, unmatched[2].suggestions.contains(&expected[2].suggestions[0])),
        (&expected[2].name, true)
    );
    assert_eq!(unmatched.len(), 3);
    assert!(products.len() > 600, "the catalogue is listed for rows without a match");
}

/// DRF-02, DRF-06: every version 1.x is accepted. Another major version is rejected at its pointer, with the
/// message from the contract.
#[tokio::test]
async fn unsupported_major_version_is_rejected() {
    let fixture = BackendFixture::new().await;
    let body = |version: &str| {
        let mut body = envelope(vec![keyed("BP_RIFLE")]);
        body["formatVersion"] = json!(version);
        (body["later"], body["items"][0]["later"]) = (json!({ "a": 1 }), json!(2));
        body
    };
    for version in ["1.0", "1.1", "1.999"] {
        let handoff = fixture.staged(&first(), BLUEPRINTS, body(version)).await;
        let Some((_, ReviewContent::Blueprints { new, .. })) = fixture.opened(&handoff).await else {
            panic!("{version}")
        };
        assert_eq!(new.len(), 1);
    }
    for version in ["2.0", "01.0", "0.9", "11.0"] {
        let (status, refused) = fixture.send_raw(&first(), BLUEPRINTS, body(version).to_string()).await;
        assert_eq!((status, &refused["code"]), (400, &json!("SCHEMA_INVALID")), "{version}");
        let error = json!([{ "pointer": "/formatVersion", "message": "unsupported major version" }]);
        assert_eq!(refused["errors"], error, "{version}");
    }
    let other = json!({ "format": "svc.stock", "formatVersion": "1.0", "items": [] });
    let (status, refused) = fixture.send_raw(&first(), BLUEPRINTS, other.to_string()).await;
    assert_eq!((status, &refused["errors"][0]["pointer"]), (400, &json!("/format")));
}

/// DRF-08, DRF-09, DRF-10, DRF-11, DRF-12, A6, LIM-36, CON-06: invalid content is rejected without `errors`.
/// The first of several orders fills in the form, and the others are listed.
#[tokio::test]
async fn staged_refinery_order_prefills_the_form() {
    let fixture = BackendFixture::new().await;
    let setup = || order("SETUP", "Quanta Ore");
    let mut no_day = orders(1, vec![setup()]);
    no_day["orders"][0]["sourceImages"][0]["capturedAt"] = json!("2026-02-30T00:00:00Z");
    let mut neither = orders(1, vec![setup()]);
    neither["generatedAt"] = json!("2026-02-30T00:00:00Z");
    for body in [
        orders(2, vec![setup()]),
        orders(0, vec![setup()]),
        orders(1, vec![]),
        orders(1, vec![order("IN_WORK", "Quanta Ore"), setup()]),
        no_day,
        neither,
    ] {
        let refused = fixture.post(&first(), REFINERY, body.clone()).await;
        assert_eq!((refused.status, refused.code()), (400, "SCHEMA_INVALID"), "{body}");
        assert_eq!(refused.body.get("errors"), None, "{body}");
    }
    for (body, pointer) in [
        (orders(1, vec![setup(); 6]), "/orders"),
        (
            json!({ "schemaVersion": 1, "orders": [{ "panelType": "SETUP", "goods": [], "sourceImages": [] }] }),
            "/orders/0/goods",
        ),
    ] {
        let (status, refused) = fixture.send_raw(&first(), REFINERY, body.to_string()).await;
        assert_eq!((status, &refused["errors"][0]["pointer"]), (400, &json!(pointer)));
    }
    assert_eq!(fixture.rows("SELECT count(*) FROM draft").await, ["Integer(0)"]);
    let mut filled = setup();
    filled["rawLocationName"] = json!("station");
    filled["rawMethodName"] = json!("Dinyx Solventation");
    (filled["durationMinutes"], filled["expenses"]) = (json!(754), json!(18250.5));
    filled["goods"] = json!([
        { "inputQuantity": 12.50, "rawMaterialName": "QUANTA ORE", "refine": true, "outputQuantity": 7.0001, "quality": 512 },
        { "inputQuantity": 0, "rawMaterialName": "Unheard Of", "refine": false },
    ]);
    let mut other = order("IN_WORK", "Quanta Ore");
    other["rawLocationName"] = json!("City");
    let response = fixture.post(&first(), REFINERY, orders(1, vec![filled, other])).await;
    assert_eq!(response.body["kind"], "REFINERY");
    let handoff = HandoffToken::new(response.body["handoffId"].as_str().expect("a string"));
    let Some((_, ReviewContent::Refinery { panel, materials, places })) = fixture.opened(&handoff).await
    else {
        panic!("the draft contains an order")
    };
    let RefineryPanel { location, read_location, method, minutes, expenses, goods, further } = panel;
    assert_eq!(read_location, None);
    assert_eq!(
        [&*location, &*method, &*minutes, &*expenses],
        ["Station", "Dinyx Solventation", "754", "18251"]
    );
    let fields = |index: usize| {
        [&*goods[index].material, &*goods[index].input, &*goods[index].output, &*goods[index].quality]
    };
    assert_eq!(fields(0), ["Quanta Ore", "12.5", "7", "512"]);
    assert_eq!(fields(1), ["Unheard Of", "0", "", ""]);
    assert_eq!((goods[0].refine, goods[1].refine, goods.len()), (true, false, 2));
    assert_eq!((&*further[0].panel, &*further[0].location, further[0].goods), ("IN_WORK", "City", 1));
    assert!(materials.contains(&"Quanta Metal".to_owned()) && places == ["City", "Meadow", "Station"]);
}

/// DRF-14, LIM-35, WEB-11: a handoff token works once, only for its member, and for half an hour.
#[tokio::test]
async fn handoff_works_once() {
    let fixture = BackendFixture::new().await;
    let stage = async || fixture.staged(&first(), BLUEPRINTS, envelope(vec![keyed("BP_RIFLE")])).await;
    let handoff = stage().await;
    let other_members_draft =
        fixture.backend().open_draft(&MemberId::new("m-2"), &handoff).await.expect("the draft can be read");
    assert_eq!(other_members_draft, None, "only the member can open the draft");
    let (id, _) = fixture.opened(&handoff).await.expect("the handoff token still works");
    assert!(fixture.opened(&handoff).await.is_none(), "once");
    assert!(
        fixture.backend().load_review(&member(), &id).await.expect("the review can be read").is_some(),
        "the review is kept"
    );
    assert_eq!(
        fixture.backend().load_review(&MemberId::new("m-2"), &id).await.expect("the review can be read"),
        None
    );
    let (late, fresh) = (stage().await, stage().await);
    fixture.clock.advance(HALF_AN_HOUR - Duration::from_millis(1));
    assert!(fixture.opened(&fresh).await.is_some());
    fixture.clock.advance(Duration::from_millis(1));
    assert!(fixture.opened(&late).await.is_none());
    assert_eq!(fixture.run_upkeep_task("drafts").await, 1);
    assert_eq!(fixture.rows("SELECT * FROM draft").await, [""; 0]);
}

/// DRF-14, LIM-35: an eleventh live draft deletes the oldest one of the same client and member, from any
/// installation. Used and expired drafts do not count.
#[tokio::test]
async fn eleventh_live_draft_deletes_the_oldest() {
    let fixture = BackendFixture::new().await;
    let stage =
        async |caller: &Caller| fixture.staged(caller, BLUEPRINTS, envelope(vec![keyed("BP_RIFLE")])).await;
    let old = stage(&first()).await;
    fixture.clock.advance(HALF_AN_HOUR);
    let (others, mut own) = (stage(&other_client()).await, Vec::new());
    for _ in 0..9 {
        own.push(stage(&first()).await);
    }
    assert!(fixture.opened(&old).await.is_none());
    assert!(fixture.opened(&own.remove(4)).await.is_some(), "one of nine drafts was used");
    own.push(stage(&second()).await);
    own.push(stage(&first()).await);
    assert_eq!(
        fixture.rows("SELECT count(*) FROM draft WHERE expires_at > 1790001800000").await,
        ["Integer(11)"]
    );
    own.push(stage(&first()).await);
    assert!(fixture.opened(&own.remove(0)).await.is_none(), "the oldest draft was deleted");
    for handoff in &own {
        assert!(fixture.opened(handoff).await.is_some());
    }
    let id = fixture.backend().open_draft(&member(), &others).await.expect("the draft can be read");
    assert!(id.is_some(), "the drafts of another client count separately");
}

/// DRF-16, LIM-34, A8, ERR-31: a prepared draft of 256 KiB is accepted, and a larger one is rejected.
#[tokio::test]
async fn oversized_prepared_draft_is_rejected() {
    assert_eq!(Config::default().drafts.prepared_bytes, 262_144);
    let mut config = Config::default();
    config.drafts.prepared_bytes = 400;
    let fixture = BackendFixture::with_config(config, |backend| backend).await;
    let draft = |length: usize| envelope(vec![named(&"x".repeat(200)), named(&"y".repeat(length))]);
    let stored = fixture.post(&first(), BLUEPRINTS, draft(100)).await;
    assert_eq!(stored.status, 200);
    let size = fixture.rows("SELECT length(content) FROM draft").await[0].clone();
    let size: usize = size.trim_start_matches("Integer(").trim_end_matches(')').parse().expect("a number");
    assert_eq!(
        fixture.post(&first(), BLUEPRINTS, draft(500 - size)).await.status,
        200,
        "a draft of the maximum size is accepted"
    );
    let refused = fixture.post(&first(), BLUEPRINTS, draft(501 - size)).await;
    assert_eq!((refused.status, refused.code()), (413, "PAYLOAD_TOO_LARGE"));
    assert_eq!(
        fixture.rows("SELECT count(*), max(length(content)) FROM draft").await,
        ["Integer(2) Integer(400)"]
    );
}

/// DRF-16, ERR-35, LIM-20: live drafts have byte budgets per client and in total. If a budget is exhausted,
/// no draft is deleted, and `Retry-After` contains the delay.
#[tokio::test]
async fn live_drafts_are_limited_by_byte_budgets() {
    let body = || envelope(vec![named("Unheard Of")]);
    let fixture = BackendFixture::new().await;
    fixture.staged(&first(), BLUEPRINTS, body()).await;
    let cost = fixture.rows("SELECT size FROM draft").await[0].clone();
    let cost: u64 = cost.trim_start_matches("Integer(").trim_end_matches(')').parse().expect("a number");
    for of_client in [true, false] {
        let mut config = Config::default();
        match of_client {
            true => config.drafts.bytes_of_client = 3 * cost,
            false => config.drafts.bytes = 3 * cost,
        }
        let fixture = BackendFixture::with_config(config, |backend| backend).await;
        let mut handoffs = Vec::new();
        for caller in [first(), other_member(), first()] {
            handoffs.push(fixture.staged(&caller, BLUEPRINTS, body()).await);
            fixture.clock.advance(Duration::from_secs(60));
        }
        let refused = fixture.post(&second(), BLUEPRINTS, body()).await;
        assert_eq!((refused.status, refused.code()), (503, "EXCHANGE_BUDGET_EXHAUSTED"));
        assert_eq!(refused.headers["retry-after"], "1620", "the delay extends until the first draft expires");
        let status = if of_client { 200 } else { 503 };
        assert_eq!(fixture.post(&other_client(), BLUEPRINTS, body()).await.status, status, "{of_client}");
        fixture.clock.advance(Duration::from_secs(1620));
        assert!(fixture.opened(&handoffs[0]).await.is_none());
        assert!(fixture.opened(&handoffs[2]).await.is_some(), "no draft was deleted for the rejected one");
        fixture.staged(&second(), BLUEPRINTS, body()).await;
        fixture.staged(&second(), BLUEPRINTS, body()).await;
    }
    // Deleting the oldest draft frees its bytes for the eleventh one.
    let mut config = Config::default();
    config.drafts.bytes = 10 * cost;
    let fixture = BackendFixture::with_config(config, |backend| backend).await;
    for _ in 0..15 {
        fixture.staged(&first(), BLUEPRINTS, body()).await;
    }
    assert_eq!(fixture.post(&other_client(), BLUEPRINTS, body()).await.code(), "EXCHANGE_BUDGET_EXHAUSTED");
}

/// DRF-16: a draft is staged completely or not at all; after a store failure it can be sent again.
#[tokio::test]
async fn draft_is_staged_completely_or_not_at_all() {
    for step in [WriteStep::Admitted, WriteStep::Applied, WriteStep::Completed] {
        let fault_injector =
            FaultInjector::new(
                move |current_step| if current_step == step { Err(StoreError::Busy) } else { Ok(()) },
            );
        let fixture = BackendFixture::with_config(Config::default(), |backend| {
            backend.with_fault_injector(fault_injector)
        })
        .await;
        let before = fixture.everything().await;
        let refused = fixture.post(&first(), BLUEPRINTS, envelope(vec![keyed("BP_RIFLE")])).await;
        assert_eq!((refused.status, refused.code()), (503, "SERVICE_UNAVAILABLE"), "{step:?}");
        assert!(refused.headers.contains_key("retry-after"));
        assert_eq!(fixture.everything().await, before, "{step:?}");
    }
}

/// CON-13, ERR-08: each kind of draft has its own scope.
#[tokio::test]
async fn each_draft_kind_requires_its_scope() {
    let fixture = BackendFixture::new().await;
    let bodies = [
        (BLUEPRINTS, "blueprints", envelope(vec![])),
        (REFINERY, "refinery", orders(1, vec![order("SETUP", "x")])),
    ];
    for (uri, scope, body) in bodies {
        let mut narrow = first();
        narrow.scopes.remove(&format!("exchange.drafts.{scope}"));
        assert_eq!(fixture.post(&narrow, uri, body.clone()).await.code(), "SCOPE_MISSING", "{uri}");
        assert_eq!(
            fixture.post(&first(), uri, body).await.status,
            200,
            "A36: a draft without items is accepted"
        );
    }
    assert_eq!(fixture.rows("SELECT count(*) FROM draft").await, ["Integer(2)"]);
    let audited =
        fixture.rows("SELECT actor, client, action, detail FROM audit WHERE action LIKE 'drafts%'").await;
    assert_eq!(audited.len(), 2);
    assert!(
        audited[0].contains("member:m-1") && audited[0].contains("c-1") && audited[0].contains("BLUEPRINT")
    );
}
