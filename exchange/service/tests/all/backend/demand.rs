//! Tests of open demand: who may see it, which amounts it adds up, and which data it does not reveal.

use super::*;

pub(super) const DEMAND: &str = "/exchange/v1/me/org-demand";

/// Items with blueprints: `BP_RIFLE` produces the gun, `BP_KNIFE` its variant.
pub(super) const PRODUCTS: &str = "
    UPDATE catalogue_entry SET output_guid = 'G-1' WHERE kind = 'BLUEPRINT' AND id = 'BP_RIFLE';
    UPDATE catalogue_entry SET output_guid = 'g-2' WHERE kind = 'BLUEPRINT' AND id = 'BP_KNIFE';
    UPDATE catalogue_entry SET wiki_guid = 'g-1' WHERE kind = 'ITEM' AND id = 'gun';
    UPDATE catalogue_entry SET game_guid = 'g-2', facts = '{\"variantOf\":\"gun\"}' WHERE kind = 'ITEM' AND id = 'ores';
    UPDATE catalogue_entry SET facts = '{\"unit\":\"SCU\",\"type\":\"REFINED\",\"refinedFrom\":[\"Quanta Ore\",\"Star Dust\"]}'
        WHERE kind = 'MATERIAL' AND id = 'metal';
    UPDATE setting SET value = 'with products' WHERE name = 'catalogue';";

/// Adds profit sharing to member one's unit, and orders of both kinds.
const ORDERS: &str = "
    UPDATE unit SET profit_sharing = 1 WHERE id = 'u-1';
    INSERT INTO job_order (id, number, unit, state, counts_variants) VALUES
        ('o-1', 4711, 'u-1', 'open', 0), ('o-2', 4712, 'u-1', 'in-progress', 1), ('o-3', 4713, 'u-2', 'open', 0),
        ('o-4', 4714, 'u-1', 'completed', 0), ('o-5', 4715, 'u-1', 'cancelled', 0);
    INSERT INTO job_order_material (job_order, material, good_quality, amount) VALUES
        ('o-1', 'metal', 1, 10000), ('o-1', 'parts', 0, 12), ('o-1', 'ore', 0, 1500),
        ('o-2', 'metal', 1, 5000), ('o-2', 'ore', 0, 2500),
        ('o-3', 'dust', 0, 7000), ('o-4', 'dust', 0, 9000), ('o-5', 'dust', 0, 9000);
    INSERT INTO job_order_item (job_order, item, ordered, delivered) VALUES ('o-2', 'gun', 9, 2), ('o-3', 'ores', 1, 0);";

/// Returns SQL that adds stock of member two and books it to an order.
fn booked(
    id: &str,
    thing: (&str, &str, &str),
    quality: i64,
    amount: i64,
    order: &str,
    delivered: bool,
) -> String {
    let (kind, material, measure) = thing;
    format!(
        "INSERT INTO stock_row (id, member, lot, kind, material, measure, location, quality, stolen, amount, shared, \
         version, booked_at) VALUES ('{id}', 'm-2', '{id}', '{kind}', '{material}', '{measure}', 'l-1', {quality}, 0, \
         {amount}, 0, 1, 0); \
         INSERT INTO stock_earmark (stock_row, kind, target, amount, delivered) \
         VALUES ('{id}', 'job-order', '{order}', {amount}, {delivered});"
    )
}

async fn fixture() -> BackendFixture {
    let fixture = BackendFixture::new().await;
    fixture.sql(format!("{PRODUCTS}{ORDERS}")).await;
    fixture
}

/// Returns every material line as `name minQuality amount unit source`.
fn materials(demand: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let line = |line: &Value| {
        let (open, material) = (&line["openQuantity"], &line["material"]);
        let (unit, source) = (text(&open["unit"]), text(&line["source"]));
        format!("{} {} {} {unit} {source}", text(&material["bt"]), line["minQuality"], open["amount"])
    };
    demand["materials"].as_array().expect("an array").iter().map(line).collect()
}

/// DEM-01, DEM-02, DEM-03, DEM-04, DEM-05, DEM-08: the demand adds up the open and in-progress orders of the
/// member's own units, sorted by name. An order for items adds its items and their materials. Booked stock of
/// at least the minimum quality reduces the demand.
#[tokio::test]
async fn demand_is_the_open_amount_of_orders() {
    let fixture = fixture().await;
    let (metal, gun) = (("MATERIAL", "metal", "SCU"), ("ITEM", "gun", "PIECE"));
    fixture
        .sql(
            [
                booked("s-1", metal, 650, 2500, "o-1", false),
                booked("s-2", metal, 649, 4000, "o-1", false),
                booked("s-3", metal, 1000, 9000, "o-2", false),
                booked("s-4", ("MATERIAL", "parts", "PIECE"), 0, 5, "o-1", true),
                booked("s-5", gun, 0, 3, "o-2", false),
                booked("s-6", gun, 0, 2, "o-2", true),
                booked("s-7", ("MATERIAL", "ore", "PIECE"), 0, 1, "o-1", false),
                booked("s-8", metal, 900, 9000, "o-4", false),
            ]
            .concat(),
        )
        .await;
    let response = fixture.get(&first(), DEMAND).await;
    assert_eq!(response.status, 200);
    let body = &response.body;
    assert_eq!(body["updatedAt"], fixture.clock.now().to_string());
    assert_eq!(body.get("reason"), None);
    let expected = [
        "metal 650 7.5 SCU material-order",
        "ore 0 1.5 SCU material-order",
        "ore 0 2.5 SCU item-order",
        "parts 0 7 PIECE material-order",
    ];
    assert_eq!(materials(body), expected, "surplus stock of an order does not count for another order");
    let metal = &body["materials"][0];
    assert_eq!(metal["material"], json!({ "bt": "metal", "name": "Quanta Metal" }));
    assert_eq!(metal["rawRefs"], json!([{ "name": "Quanta Ore" }, { "name": "Star Dust" }]));
    assert_eq!(body["materials"][1]["rawRefs"], json!([]));
    let item = json!({
        "item": { "bt": "gun", "name": "Quanta Cannon" },
        "openQuantity": { "amount": 4, "unit": "PIECE" }, "craftableByMe": false,
    });
    assert_eq!(body["items"], json!([item]));
    fixture.clock.advance(Duration::from_secs(1));
    fixture.sql("UPDATE job_order SET state = 'completed'").await;
    let later = fixture.get(&first(), DEMAND).await.body;
    assert_eq!(later, json!({ "updatedAt": fixture.clock.now().to_string(), "materials": [], "items": [] }));
}

/// DEM-03: stock counts only once. Good stock beyond the need for good quality covers other needs of the same
/// order.
#[tokio::test]
async fn surplus_stock_counts_once() {
    let fixture = fixture().await;
    let metal = ("MATERIAL", "metal", "SCU");
    fixture
        .sql(format!(
            "DELETE FROM job_order_material WHERE job_order <> 'o-1' OR material <> 'metal';
             INSERT INTO job_order_material VALUES ('o-1', 'metal', 0, 10000);
             {}{}",
            booked("s-1", metal, 700, 12000, "o-1", false),
            booked("s-2", metal, 100, 1000, "o-1", false)
        ))
        .await;
    assert_eq!(
        materials(&fixture.get(&first(), DEMAND).await.body),
        ["metal 0 7 SCU material-order"],
        "of the other need of 10, 2 surplus good ones and 1 other are covered"
    );
}

/// DEM-04: own and default blueprints count for their product, blueprints of variants only if the order
/// accepts variants. An item has two lines if the member can craft it only for some orders.
#[tokio::test]
async fn craftable_requires_a_blueprint_of_the_member() {
    let fixture = fixture().await;
    let craftable = async || {
        let body = fixture.get(&first(), DEMAND).await.body;
        let line = |line: &Value| format!("{} {}", line["openQuantity"]["amount"], line["craftableByMe"]);
        body["items"].as_array().expect("an array").iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(craftable().await, ["7 false"]);
    fixture.change(&other_member(), vec![add("BP_RIFLE")]).await;
    assert_eq!(craftable().await, ["7 false"], "blueprints of another member do not count");
    fixture.change(&first(), vec![add("BP_KNIFE")]).await;
    assert_eq!(craftable().await, ["7 true"], "a variant's");
    fixture.sql("INSERT INTO job_order_item (job_order, item, ordered) VALUES ('o-1', 'gun', 2)").await;
    assert_eq!(craftable().await, ["2 false", "7 true"], "the other order does not accept variants");
    fixture.change(&first(), vec![remove("BP_KNIFE")]).await;
    assert_eq!(craftable().await, ["9 false"]);
    fixture.defaults(vec!["BP_RIFLE"]).await;
    assert_eq!(craftable().await, ["9 true"]);
}

/// DEM-06, A41: the demand is visible to members of a unit that takes part in profit sharing, and to leaders
/// of a unit above such a unit. The service checks this for every request. If the member may not see the
/// demand, the response is 200 without demand. The administrator role does not help.
#[tokio::test]
async fn demand_requires_a_profit_sharing_unit() {
    let fixture = fixture().await;
    let reason = async |caller: &Caller| {
        let response = fixture.get(caller, DEMAND).await;
        assert_eq!(response.status, 200);
        let body = response.body;
        if body.get("reason").is_some() {
            assert_eq!((&body["materials"], &body["items"]), (&json!([]), &json!([])));
        }
        (body["reason"].as_str().unwrap_or("-").to_owned(), materials(&body).len())
    };
    let (withheld, seen) = (("NOT_PERMITTED".to_owned(), 0), |lines| ("-".to_owned(), lines));
    assert_eq!(reason(&first()).await, seen(5));
    for (change, expected) in [
        ("UPDATE unit SET profit_sharing = 0", withheld.clone()),
        ("UPDATE member SET is_admin = 1", withheld.clone()),
        // Another unit takes part in profit sharing, but the member does not belong to it; its name is not
        // revealed.
        ("UPDATE unit SET profit_sharing = 1 WHERE id = 'u-2'", withheld.clone()),
        ("INSERT INTO membership (member, unit) VALUES ('m-1', 'u-3')", withheld.clone()),
        (
            "UPDATE unit SET above = 'u-3' WHERE id = 'u-1'; UPDATE unit SET above = 'u-1' WHERE id = 'u-2'",
            withheld.clone(),
        ),
        // The member leads a unit two levels above, but still sees only the orders of the member's own units.
        ("UPDATE membership SET leadership = 1 WHERE unit = 'u-3'", seen(5)),
        ("UPDATE unit SET above = NULL WHERE id = 'u-1'", withheld.clone()),
        ("UPDATE membership SET leadership = 1 WHERE unit = 'u-1'", seen(5)),
        ("UPDATE unit SET profit_sharing = (id = 'u-1')", seen(5)),
        ("DELETE FROM membership WHERE member = 'm-1' AND unit = 'u-1'", withheld.clone()),
        ("UPDATE unit SET above = 'u-3' WHERE id = 'u-1'", seen(0)),
        ("DELETE FROM membership WHERE member = 'm-1'", withheld),
    ] {
        fixture.sql(change).await;
        assert_eq!(reason(&first()).await, expected, "{change}");
    }
    fixture.sql("UPDATE unit SET above = id").await;
    fixture.sql("INSERT INTO membership (member, unit, leadership) VALUES ('m-1', 'u-1', 1)").await;
    assert_eq!(reason(&first()).await, seen(5), "a cycle of units above each other ends");
    let mut narrow = first();
    narrow.scopes.remove("exchange.demand.read");
    assert_eq!(fixture.get(&narrow, DEMAND).await.code(), "SCOPE_MISSING");
}

/// DEM-09: the demand contains no requester, assignee, number, title, unit, holder, location or note. The
/// amount of a single order is not suppressed.
#[tokio::test]
async fn demand_contains_no_order_details() {
    let fixture = fixture().await;
    fixture
        .sql(format!(
            "{} UPDATE stock_row SET note = 'a-planted-note';
             UPDATE unit SET name = 'a-planted-unit', shorthand = 'PLANTED';
             UPDATE member SET name = 'a-planted-member';
             UPDATE location SET name = 'a-planted-place';
             DELETE FROM job_order_material WHERE job_order <> 'o-1';",
            booked("s-1", ("MATERIAL", "metal", "SCU"), 700, 1, "o-1", false)
        ))
        .await;
    let response = fixture.get(&first(), DEMAND).await;
    let text = String::from_utf8(response.bytes).expect("valid UTF-8");
    assert_eq!(
        materials(&response.body)[0],
        "metal 650 9.999 SCU material-order",
        "the amount of a single order is shown"
    );
    for secret in ["planted", "PLANTED", "4711", "4712", "o-1", "o-2", "u-1", "m-2", "s-1", "l-1"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let names = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&response.body), ["items", "materials", "updatedAt"]);
    assert_eq!(
        names(&response.body["materials"][0]),
        ["material", "minQuality", "openQuantity", "rawRefs", "source"]
    );
    assert_eq!(names(&response.body["items"][0]), ["craftableByMe", "item", "openQuantity"]);
}

/// LIM-37: the demand has at most 5000 lines of each kind and 20 raw ores per line, and amounts are limited
/// to the contract's maximum.
#[tokio::test]
async fn demand_lines_and_sums_are_bounded() {
    let fixture = fixture().await;
    let ores: Vec<String> = (0..25).map(|number| format!("Ore {number}")).collect();
    fixture
        .sql(format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5001)
             INSERT INTO job_order_material SELECT 'o-1', printf('many-%05d', i), 0, 1 FROM n;
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5001)
             INSERT INTO job_order_item (job_order, item, ordered) SELECT 'o-2', printf('many-%05d', i), 1 FROM n;
             INSERT INTO job_order_material VALUES
                 ('o-1', 'dust', 0, 999999999999), ('o-2', 'dust', 1, 9000000000000000000);
             UPDATE catalogue_entry SET name = 'A ' || name,
                 facts = '{{\"unit\":\"SCU\",\"refinedFrom\":{}}}' WHERE id = 'dust';
             UPDATE setting SET value = 'many' WHERE name = 'catalogue';",
            json!(ores)
        ))
        .await;
    let body = fixture.get(&first(), DEMAND).await.body;
    let lines = |name: &str| body[name].as_array().expect("an array").len();
    assert_eq!((lines("materials"), lines("items")), (5000, 5000));
    let dust = &materials(&body)[..2];
    assert_eq!(dust, ["dust 0 999999999.999 SCU material-order", "dust 650 1000000000 SCU item-order"]);
    assert_eq!(body["materials"][0]["rawRefs"].as_array().expect("an array").len(), 20);
}
