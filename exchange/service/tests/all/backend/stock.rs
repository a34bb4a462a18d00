//! Tests of stock: lots in responses, the eight checks in order, removals by other authors, and the feed.

use exchange_api::Contract as _;
use exchange_api::types::StockChangeSet;
use exchange_service::backend::StockOwnership;
use exchange_service::feed::ChangeAuthor;

use super::*;

pub(super) const STOCK: &str = "/exchange/v1/me/stock";
pub(super) const SET: &str = "/exchange/v1/me/stock/changes";

/// A lot, as ops identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LotKey {
    pub(super) material: &'static str,
    pub(super) place: &'static str,
    pub(super) quality: i64,
    pub(super) stolen: bool,
}

pub(super) const ORE: LotKey = LotKey { material: "ore", place: "City", quality: 0, stolen: false };
pub(super) const METAL: LotKey = LotKey { material: "metal", ..ORE };
pub(super) const PARTS: LotKey = LotKey { material: "parts", ..ORE };
pub(super) const GUN: LotKey = LotKey { material: "gun", ..ORE };

impl LotKey {
    pub(super) fn stolen(self) -> Self {
        Self { stolen: true, ..self }
    }

    pub(super) fn place(self, place: &'static str) -> Self {
        Self { place, ..self }
    }

    pub(super) fn quality(self, quality: i64) -> Self {
        Self { quality, ..self }
    }

    pub(super) fn is_counted(self) -> bool {
        matches!(self.material, "parts" | "gun")
    }

    pub(super) fn set(self, expected: impl Into<Value>, quantity: impl Into<Value>) -> Value {
        let unit = if self.is_counted() { "PIECE" } else { "SCU" };
        let amount = |amount: Value| json!({ "amount": amount, "unit": unit });
        json!({
            "op": "set-quantity",
            "material": { "bt": self.material },
            "location": { "name": self.place },
            "quality": self.quality,
            "stolen": self.stolen,
            "quantity": amount(quantity.into()),
            "expectedQuantity": amount(expected.into()),
        })
    }
}

pub(super) fn with_field(mut op: Value, name: &str, value: Value) -> Value {
    op[name] = value;
    op
}

/// Applies ops as the web pages or another channel do, and returns the number of applied ops.
pub(super) async fn apply_on_web(
    fixture: &BackendFixture,
    member: &str,
    author: ChangeAuthor,
    ops: Vec<Value>,
) -> i64 {
    let body = StockChangeSet::parse_valid(json!({ "ops": ops }).to_string().as_bytes())
        .expect("a valid change set");
    let changed = fixture.backend().change_stock(&MemberId::new(member), author, body).await;
    changed.expect("the change succeeds").counts().applied
}

/// Returns the member's lots, formatted as material, location and amount.
async fn lots(fixture: &BackendFixture, caller: &Caller) -> Vec<String> {
    let (items, _) = fixture.page(caller, STOCK, &mut String::new()).await;
    let mut lots: Vec<String> = items.iter().map(format_lot).collect();
    lots.sort();
    lots
}

fn format_lot(item: &Value) -> String {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).expect("a string");
    let stolen = if item["stolen"] == true { " stolen" } else { "" };
    let (material, place, unit) = (text("/material/bt"), text("/location/name"), text("/quantity/unit"));
    format!("{material} {place} q{}{stolen}: {} {unit}", item["quality"], item["quantity"]["amount"])
}

/// Returns the key of the only lot of a material.
pub(super) async fn key(fixture: &BackendFixture, caller: &Caller, lot_key: LotKey) -> String {
    let (items, _) = fixture.page(caller, STOCK, &mut String::new()).await;
    let matches_lot = |item: &&Value| {
        item["material"]["bt"] == lot_key.material
            && item["location"]["name"] == lot_key.place
            && item["quality"] == lot_key.quality
            && item["stolen"] == lot_key.stolen
    };
    items.iter().find(matches_lot).expect("the lot exists")["key"].as_str().expect("a string").to_owned()
}

pub(super) async fn rebook(fixture: &BackendFixture, lot_key: LotKey, keeping: StockOwnership) {
    let lot = key(fixture, &first(), lot_key).await;
    let rebooked =
        fixture.backend().rebook_stock(&MemberId::new("m-1"), ChangeAuthor::Web, &lot, keeping).await;
    assert!(rebooked.expect("the rebooking succeeds"));
}

/// STK-01, STK-03, STK-14, TYP-07, TYP-08, TYP-11: a lot is returned as it was booked. An item has quality 0
/// whatever the op contains, and only a material has a kind.
#[tokio::test]
async fn lot_is_returned_as_booked() {
    let fixture = BackendFixture::new().await;
    let ops = vec![
        with_field(
            ORE.quality(640).set(0, json!(12.3456)),
            "location",
            json!({ "uex": { "kind": "CITY", "id": 1 } }),
        ),
        PARTS.place("Meadow").quality(3).set(0, 7),
        GUN.place("Station").quality(1000).stolen().set(0, 2),
    ];
    fixture.check(&first(), SET, ops, &[]).await;
    let (mut items, removed) = fixture.page(&first(), STOCK, &mut String::new()).await;
    assert_eq!(removed, [] as [Value; 0]);
    items.sort_by_key(|item| item["material"]["bt"].as_str().expect("a string").to_owned());
    for item in &mut items {
        let key = item.as_object_mut().expect("an object").remove("key").expect("a key");
        assert_eq!(key.as_str().expect("a string").len(), 22);
    }
    let expected = [
        json!({
            "material": { "bt": "gun", "name": "Quanta Cannon" },
            "location": { "name": "Station", "uex": { "kind": "SPACE_STATION", "id": 7 } },
            "quality": 0, "stolen": true, "quantity": { "amount": 2, "unit": "PIECE" },
        }),
        json!({
            "material": { "bt": "ore", "name": "Quanta Ore" },
            "materialKind": { "type": "RAW", "commodity": true, "mineral": true },
            "location": { "name": "City", "uex": { "kind": "CITY", "id": 1 } },
            "quality": 640, "stolen": false, "quantity": { "amount": 12.346, "unit": "SCU" },
        }),
        json!({
            "material": { "bt": "parts", "name": "Spare Parts" },
            "materialKind": { "type": "NO_REFINE", "commodity": false },
            "location": { "name": "Meadow" },
            "quality": 3, "stolen": false, "quantity": { "amount": 7, "unit": "PIECE" },
        }),
    ];
    assert_eq!(items, expected);
    // Stock at a hidden location or of a deleted material is kept.
    fixture
        .sql("UPDATE location SET hidden = 1; UPDATE setting SET value = 'x' WHERE name = 'catalogue'")
        .await;
    assert_eq!(lots(&fixture, &first()).await.len(), 3);
    assert_eq!(lots(&fixture, &first()).await[0], "gun Station q0 stolen: 2 PIECE");
    fixture.sql("DELETE FROM catalogue_entry; DELETE FROM location; UPDATE setting SET value = 'y' WHERE name = 'catalogue'").await;
    assert_eq!(lots(&fixture, &first()).await[1], "ore l-1 q640: 12.346 SCU");
}

/// STK-02, STK-14: there is one lot per material, location, quality and stolen marker, with the sum of all
/// personal and shared rows of the member.
#[tokio::test]
async fn lot_sums_all_rows_of_the_member() {
    let fixture = BackendFixture::new().await;
    let ops = vec![
        ORE.set(0, 5),
        ORE.quality(1).set(0, 1),
        ORE.stolen().set(0, 2),
        ORE.place("Station").set(0, 3),
        GUN.quality(7).set(0, 4),
        GUN.quality(8).set(4, 5),
    ];
    fixture.check(&first(), SET, ops, &[]).await;
    rebook(&fixture, ORE, StockOwnership::Pool("u-1".into())).await;
    fixture.check(&first(), SET, vec![ORE.set(5, 6)], &[]).await;
    rebook(&fixture, ORE.quality(1), StockOwnership::Shared).await;
    fixture.check(&other_member(), SET, vec![ORE.set(0, 100)], &[]).await;
    let expected = [
        "gun City q0: 5 PIECE",
        "ore City q0 stolen: 2 SCU",
        "ore City q0: 6 SCU",
        "ore City q1: 1 SCU",
        "ore Station q0: 3 SCU",
    ];
    assert_eq!(lots(&fixture, &first()).await, expected);
    assert_eq!(lots(&fixture, &other_member()).await, ["ore City q0: 100 SCU"]);
}

/// STK-05, STK-06, STK-07, STK-08, STK-09, STK-10, STK-11, STK-12, STK-13, TYP-04, TYP-06, TYP-09, RES-14,
/// WRT-02, WRT-06, WRT-09, A18: each failed check determines the reason, by itself and together with failures
/// of later checks.
#[tokio::test]
async fn first_failed_check_determines_the_reason() {
    let fixture = BackendFixture::new().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5), METAL.set(0, 4)], &[]).await;
    fixture
        .sql("INSERT INTO stock_earmark SELECT id, 'mission', 'm', 4000, 0 FROM stock_row WHERE material = 'ore'")
        .await;
    fixture.check(&other_client(), SET, vec![METAL.set(4, 0)], &[]).await;
    fixture.sql("INSERT INTO setting (name, value) VALUES ('stolen-marking', 'off')").await;
    let nowhere = |op| with_field(op, "location", json!({ "name": "Cellar" }));
    let pieces = |op: Value, name: &str| with_field(op, name, json!({ "amount": 1, "unit": "PIECE" }));
    let unknown = |op| with_field(op, "material", json!({ "bt": "none" }));
    let ops = vec![
        // Check 1: the material.
        unknown(nowhere(ORE.set(9, 1))),
        with_field(nowhere(ORE.set(9, 1)), "material", json!({ "name": "same stuff" })),
        // Check 2: the location; a hidden one cannot be found by name.
        nowhere(pieces(ORE.stolen().set(9, 1), "quantity")),
        // Check 3: the unit of both quantities.
        pieces(ORE.stolen().set(9, 1), "quantity"),
        pieces(ORE.stolen().set(9, 1), "expectedQuantity"),
        // Check 4: the stolen marker.
        ORE.stolen().set(9, 1),
        // Check 5: the expected amount; it precedes the results `unchanged`, removed elsewhere, and reserved.
        ORE.set(4, 5),
        METAL.set(9, 1),
        ORE.set(4, 0),
        // Check 6: whether the amount changes, rounded to thousandths.
        ORE.set(json!(5.0004), json!(4.9995)),
        METAL.set(0, 0),
        // Check 7: whether the lot was removed elsewhere.
        METAL.set(0, 1),
        // Check 8: whether the stock is reserved; one of five is free.
        ORE.set(5, json!(3.999)),
        ORE.set(5, 4),
        ORE.set(4, json!(4.5)),
        ORE.set(json!(4.5), json!(3.9999)),
    ];
    let expected = [
        "0 unmatched UNMATCHED",
        "1 ambiguous AMBIGUOUS",
        "2 rejected LOCATION_UNKNOWN",
        "3 rejected UNIT_MISMATCH",
        "4 rejected UNIT_MISMATCH",
        "5 rejected STOLEN_MARKING_DISABLED",
        "6 rejected VERSION_CONFLICT",
        "7 rejected VERSION_CONFLICT",
        "8 rejected VERSION_CONFLICT",
        "9 unchanged -",
        "10 unchanged -",
        "11 rejected REMOVED_ELSEWHERE",
        "12 rejected STOCK_EARMARKED",
    ];
    fixture.check(&first(), SET, ops, &expected).await;
    assert_eq!(lots(&fixture, &first()).await, ["ore City q0: 4 SCU"]);
}

/// STK-06, RES-10, RES-14, A25, A26: materials are matched before items. However, the exact name of an item
/// precedes the similar name of a material, and the key of an item precedes any name. Unresolved localization
/// keys cause warnings.
#[tokio::test]
async fn reference_resolves_to_material_before_item() {
    let fixture = BackendFixture::new().await;
    let named =
        |name: &str, lot_key: LotKey| with_field(lot_key.set(0, 1), "material", json!({ "name": name }));
    let ops = vec![
        named("quanta ore", ORE),
        named("Quanta Ores", GUN),
        named("Quanta Orse", GUN),
        named("Nothing Of The Kind", GUN),
        with_field(METAL.set(0, 1), "material", json!({ "locKey": "none", "name": "Quanta Metal" })),
        with_field(METAL.set(0, 1), "opId", json!("o-5")),
        with_field(GUN.set(0, 1), "material", json!({ "bt": "gun", "name": "Star Dust", "locKey": "none" })),
        with_field(ORE.set(1, 1), "material", json!({ "bt": "ore", "name": "Quanta Cannon" })),
    ];
    let expected =
        ["2 ambiguous AMBIGUOUS", "3 unmatched UNMATCHED", "5 rejected VERSION_CONFLICT", "7 unchanged -"];
    let response = fixture.check(&first(), SET, ops, &expected).await;
    assert_eq!(
        response.body["warnings"],
        json!([{ "pointer": "/ops/4/material/locKey", "code": "LOC_KEY_UNRESOLVED" }])
    );
    assert_eq!(response.body["results"][2]["opId"], "o-5");
    assert_eq!(response.body["offersReduced"], 0);
    let expected =
        ["gun City q0: 1 PIECE", "metal City q0: 1 SCU", "ore City q0: 1 SCU", "ores City q0: 1 PIECE"];
    assert_eq!(lots(&fixture, &first()).await, expected);
}

/// STK-09, A43: if stolen markers are disabled, exactly those ops are rejected that would leave marked stock.
#[tokio::test]
async fn disabled_stolen_marking_rejects_marked_stock() {
    let fixture = BackendFixture::new().await;
    fixture.check(&first(), SET, vec![ORE.stolen().set(0, 5), METAL.stolen().set(0, 5)], &[]).await;
    fixture.sql("INSERT INTO setting (name, value) VALUES ('stolen-marking', 'off')").await;
    let ops = vec![
        ORE.stolen().set(5, 4),
        ORE.stolen().set(5, 5),
        ORE.stolen().set(5, json!(0.0004)),
        METAL.stolen().set(5, 0),
        METAL.set(0, 5),
    ];
    let expected = ["0 rejected STOLEN_MARKING_DISABLED", "1 rejected STOLEN_MARKING_DISABLED"];
    fixture.check(&first(), SET, ops, &expected).await;
    assert_eq!(lots(&fixture, &first()).await, ["metal City q0: 5 SCU"]);
    fixture.sql("UPDATE setting SET value = 'on' WHERE name = 'stolen-marking'").await;
    fixture.check(&first(), SET, vec![ORE.stolen().set(0, 1)], &[]).await;
}

/// STK-12, WRT-14, A11: increasing a lot that another author emptied requires an override for 90 days. The
/// override is recorded.
#[tokio::test]
async fn refilling_a_foreign_emptied_lot_needs_override() {
    let fixture = BackendFixture::unguarded().await;
    let refused: &[&str] = &["0 rejected REMOVED_ELSEWHERE"];
    fixture.check(&first(), SET, vec![ORE.set(0, 5), ORE.set(5, 0), ORE.set(0, 4)], &[]).await;
    fixture.check(&first(), SET, vec![ORE.set(4, 0)], &[]).await;
    fixture.check(&second(), SET, vec![ORE.set(0, 1)], refused).await;
    fixture.check(&other_client(), SET, vec![ORE.set(0, 1)], refused).await;
    let overruling = with_field(ORE.set(0, 1), "override", json!(true));
    fixture.check(&second(), SET, vec![overruling], &[]).await;
    let journal = "SELECT installation, override, after FROM journal ORDER BY id DESC LIMIT 1";
    let recorded = fixture.rows(journal).await;
    assert!(recorded[0].starts_with("Text(\"i-2\") Integer(1) Text("), "{recorded:?}");
    // Clients need an override after a removal through another channel; other channels never need one.
    for author in [ChangeAuthor::Web, ChangeAuthor::App, ChangeAuthor::System] {
        let author = || author.clone();
        assert_eq!(apply_on_web(&fixture, "m-1", author(), vec![ORE.set(1, 0)]).await, 1);
        fixture.check(&second(), SET, vec![ORE.set(0, 1)], refused).await;
        assert_eq!(apply_on_web(&fixture, "m-1", author(), vec![ORE.set(0, 1)]).await, 1);
    }
    assert_eq!(apply_on_web(&fixture, "m-1", ChangeAuthor::Web, vec![ORE.set(1, 0)]).await, 1);
    fixture.clock.advance(90 * DAY);
    fixture.check(&first(), SET, vec![ORE.set(0, 1)], refused).await;
    fixture.clock.advance(Duration::from_millis(1));
    fixture.check(&first(), SET, vec![ORE.set(0, 1)], &[]).await;
    // A lot that is not empty needs no override.
    fixture.check(&second(), SET, vec![ORE.set(1, 2)], &[]).await;
}

/// STK-04, FED-04, TYP-14, TYP-15: the feed contains every change of an amount once, with tombstones for
/// emptied and transferred lots. Rebooking between personal and shared stock is not a change.
#[tokio::test]
async fn feed_contains_each_amount_change_once() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5), METAL.set(0, 4), PARTS.set(0, 3)], &[]).await;
    let (ore, metal) = (key(&fixture, &first(), ORE).await, key(&fixture, &first(), METAL).await);
    let (mut mine, mut theirs) = (String::new(), String::new());
    fixture.page(&first(), STOCK, &mut mine).await;
    fixture.page(&other_member(), STOCK, &mut theirs).await;
    for keeping in [StockOwnership::Pool("u-1".into()), StockOwnership::Shared, StockOwnership::Personal] {
        rebook(&fixture, ORE, keeping).await;
    }
    assert_eq!(fixture.page(&first(), STOCK, &mut mine).await, (vec![], vec![]));
    fixture.check(&first(), SET, vec![ORE.set(5, 6), ORE.set(6, 5), PARTS.set(3, 9)], &[]).await;
    let (items, removed) = fixture.page(&first(), STOCK, &mut mine).await;
    assert_eq!(
        (items.iter().map(format_lot).collect::<Vec<_>>(), removed),
        (vec!["parts City q0: 9 PIECE".to_owned()], vec![])
    );
    fixture.clock.advance(Duration::from_secs(1));
    fixture.check(&other_client(), SET, vec![ORE.set(5, 0)], &[]).await;
    let (one, two) = (MemberId::new("m-1"), MemberId::new("m-2"));
    assert!(
        fixture
            .backend()
            .give_stock(&one, ChangeAuthor::Web, &metal, &two)
            .await
            .expect("the transfer succeeds")
    );
    assert!(
        !fixture
            .backend()
            .give_stock(&one, ChangeAuthor::Web, &metal, &two)
            .await
            .expect("the call succeeds")
    );
    let (items, mut removed) = fixture.page(&first(), STOCK, &mut mine).await;
    assert_eq!(items, [] as [Value; 0]);
    removed.sort_by_key(|one| one["removedBy"]["channel"].as_str().expect("a string").to_owned());
    let time = "2026-09-21T14:13:21Z";
    let client = json!({ "channel": "client", "clientId": "c-2", "installationId": "i-3" });
    let expected = [
        json!({ "key": ore, "removedAt": time, "removedBy": client }),
        json!({ "key": metal, "removedAt": time, "removedBy": { "channel": "web" } }),
    ];
    assert_eq!(removed, expected);
    let (items, _) = fixture.page(&other_member(), STOCK, &mut theirs).await;
    assert_eq!(items.iter().map(format_lot).collect::<Vec<_>>(), ["metal City q0: 4 SCU"]);
    fixture.check(&first(), SET, vec![METAL.set(0, 1)], &["0 rejected REMOVED_ELSEWHERE"]).await;
}

/// TYP-05, ERR-22, STK-05: half a piece, a negative amount, a missing field and an excessive value violate
/// the schema.
#[tokio::test]
async fn schema_violations_are_rejected() {
    let fixture = BackendFixture::new().await;
    let without = |name: &str| {
        let mut op = ORE.set(0, 1);
        op.as_object_mut().expect("an object").remove(name);
        op
    };
    let half = |amount: f64, unit: &str| {
        with_field(PARTS.set(0, 1), "quantity", json!({ "amount": amount, "unit": unit }))
    };
    for (op, pointer) in [
        (half(0.5, "PIECE"), "/ops/0/quantity/amount"),
        (half(-1.0, "SCU"), "/ops/0/quantity/amount"),
        (half(1.5e9, "SCU"), "/ops/0/quantity/amount"),
        (half(1.0, "KG"), "/ops/0/quantity/unit"),
        (ORE.quality(1001).set(0, 1), "/ops/0/quality"),
        (without("expectedQuantity"), "/ops/0/expectedQuantity"),
        (without("stolen"), "/ops/0/stolen"),
        (with_field(ORE.set(0, 1), "location", json!({})), "/ops/0/location"),
    ] {
        let body = json!({ "ops": [op] }).to_string();
        let (status, body) = fixture.send_raw(&first(), SET, body).await;
        assert_eq!(status, 400);
        assert_eq!(body["errors"][0]["pointer"], pointer, "{body}");
    }
    assert_eq!(
        fixture.get(&first(), &format!("{STOCK}?limit=0")).await.body["errors"][0]["pointer"],
        "/limit"
    );
    assert_eq!(fixture.rows("SELECT * FROM stock_row").await, [""; 0]);
}

/// STK-01, FED-01, FED-02, LIM-14: pages of any size contain every lot once.
#[tokio::test]
async fn pages_contain_every_lot_once() {
    let fixture = BackendFixture::new().await;
    let ops = (0..250).map(|quality| ORE.quality(quality).set(0, quality + 1)).collect();
    fixture.check(&first(), SET, ops, &[]).await;
    for limit in [1, 7, 249, 250, 1000] {
        let (mut keys, mut cursor) = (BTreeSet::new(), String::new());
        loop {
            let page = fixture.get(&first(), &format!("{STOCK}?limit={limit}{cursor}")).await.body;
            let items = page["items"].as_array().expect("an array");
            assert!(items.len() <= limit);
            for item in items {
                assert_eq!(item["quantity"]["amount"], item["quality"].as_i64().expect("a number") + 1);
                assert!(keys.insert(item["key"].as_str().expect("a string").to_owned()), "twice");
            }
            cursor = format!("&cursor={}", page["nextCursor"].as_str().expect("a string"));
            if page["hasMore"] == false {
                break;
            }
        }
        assert_eq!(keys.len(), 250, "{limit}");
    }
    // A cursor for stock is valid only for stock.
    let cursor = fixture.get(&first(), STOCK).await.body["nextCursor"].as_str().expect("a string").to_owned();
    assert_eq!(fixture.get(&first(), &format!("{READ}?cursor={cursor}")).await.code(), "CURSOR_EXPIRED");
}
