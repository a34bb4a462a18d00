//! Tests of reading org stock: pools, entries, holders, rosters, and their feed.

use exchange_api::Contract as _;
use exchange_api::types::{OrgStockChangeSet, StockChangeSet};
use exchange_service::admin::{AdminContext, set_state};
use exchange_service::backend::{EarmarkPurpose, StockOwnership};
use exchange_service::feed::ChangeAuthor;
use exchange_service::members::{RegistrationState, UnitRole};

use super::reader::Reader;
use super::stock::{GUN, LotKey, METAL, ORE, PARTS, key, with_field};
use super::*;

pub(super) const POOLS: &str = "/exchange/v1/org-stock";
pub(super) const CHANGE: &str = "/exchange/v1/org-stock/changes";

/// Creates a [`Bench`] in which `m-1` is Logistician of `u-1` and `u-2`, `m-2` is a member of both, and `m-3`
/// of `u-1`. Job order `j-1` needs ore, `j-2` is done, `j-3` needs metal and guns; `m-1` takes part in
/// mission `mi-1`, and `mi-2` has no participants.
pub(super) async fn member_fixture() -> BackendFixture {
    let fixture = BackendFixture::new().await;
    fixture
        .sql(
            "INSERT INTO member (id, name, state, has_role, terms, created_at)
                VALUES ('m-3', 'Three', 'active', 1, '2', 0);
             INSERT INTO membership (member, unit) VALUES ('m-3', 'u-1'), ('m-1', 'u-2');
             UPDATE membership SET logistician = 1 WHERE member = 'm-1';
             INSERT INTO job_order (id, number, unit, state) VALUES
                ('j-1', 11, 'u-1', 'open'), ('j-2', 12, 'u-1', 'completed'), ('j-3', 13, 'u-2', 'in-progress');
             INSERT INTO job_order_material (job_order, material, good_quality, amount) VALUES
                ('j-1', 'ore', 0, 100000), ('j-2', 'ore', 0, 100000), ('j-3', 'metal', 1, 100000);
             INSERT INTO job_order_item (job_order, item, ordered) VALUES ('j-3', 'gun', 5);
             INSERT INTO mission (id, name) VALUES ('mi-1', 'Convoy'), ('mi-2', 'Raid');
             INSERT INTO mission_participant (mission, member) VALUES ('mi-1', 'm-1');",
        )
        .await;
    fixture
}

/// Returns the caller of member three, who is not a Logistician.
pub(super) fn third_member() -> Caller {
    caller("c-1", "m-3", "i-5", "jkt-5")
}

pub(super) fn quantity(lot_key: LotKey, amount: impl Into<Value>) -> Value {
    json!({ "amount": amount.into(), "unit": if lot_key.is_counted() { "PIECE" } else { "SCU" } })
}

/// Returns the pseudonym of a unit's member for the client.
pub(super) async fn reference(fixture: &BackendFixture, caller: &Caller, unit: &str, name: &str) -> String {
    let roster = fixture.get(caller, &format!("{POOLS}/members?unit={unit}")).await.body;
    let items = roster["items"].as_array().unwrap_or_else(|| panic!("no roster: {roster}"));
    let one = items.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {roster}"));
    one["ref"].as_str().expect("a string").to_owned()
}

pub(super) fn book_in(unit: &str, holder: &str, lot_key: LotKey, amount: impl Into<Value>) -> Value {
    json!({
        "op": "book-in", "unit": unit, "holder": holder, "material": { "bt": lot_key.material },
        "location": { "name": lot_key.place }, "quality": lot_key.quality, "stolen": lot_key.stolen,
        "quantity": quantity(lot_key, amount),
    })
}

/// Books stock in as the first member; each row has a unit, a holder's name, a lot and an amount.
pub(super) async fn book_in_stock(fixture: &BackendFixture, list: &[(&str, &str, LotKey, i64)]) {
    for (unit, name, lot_key, amount) in list {
        let holder = reference(fixture, &first(), unit, name).await;
        fixture.check(&first(), CHANGE, vec![book_in(unit, &holder, *lot_key, *amount)], &[]).await;
        fixture.clock.advance(Duration::from_secs(1));
    }
}

/// Applies ops as the web pages do; they identify holders by member id.
pub(super) async fn apply_on_web(fixture: &BackendFixture, member: &str, ops: Vec<Value>) {
    let body = json!({ "ops": ops }).to_string();
    let body = OrgStockChangeSet::parse_valid(body.as_bytes()).expect("a valid change set");
    let changed = fixture.backend().change_org_stock(&MemberId::new(member), ChangeAuthor::Web, body).await;
    let changed = changed.expect("the change succeeds");
    let counts = changed.counts();
    assert_eq!(counts.not_applied + counts.unchanged, 0, "{changed:?}");
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}: {value}"))
}

/// Formats an entry: holder, amount, version, note, earmarks (`d` for a delivered one), and free amounts.
pub(super) fn format_entry(entry: &Value) -> String {
    let holder = if entry["holder"]["withheld"] == true { "?" } else { text(entry, "/holder/name") };
    let note = entry["note"].as_str().map(|note| format!(" '{note}'")).unwrap_or_default();
    let mut marks = String::new();
    for (list, name) in [("jobOrders", "number"), ("missions", "name")] {
        for one in entry[list].as_array().expect("an array") {
            let delivered = if one["delivered"] == true { "d" } else { "" };
            marks +=
                &format!(" {}({}):{}{delivered}", text(one, "/id"), one[name], one["quantity"]["amount"]);
        }
    }
    let free = |purpose: &str| entry["free"][purpose]["amount"].to_string();
    let (amount, version) = (&entry["quantity"]["amount"], &entry["version"]);
    format!("{holder} {amount} v{version}{note}{marks} free {}/{}", free("jobOrders"), free("missions"))
}

/// Formats a lot: unit, material, location, quality, `!` for stolen, amount, earmarked amounts, and its
/// entries.
pub(super) fn format_pool_lot(lot: &Value) -> String {
    let stolen = if lot["stolen"] == true { "!" } else { "" };
    let marked = |purpose: &str| lot["earmarked"][purpose]["amount"].to_string();
    let entries = lot["entries"].as_array().map(|entries| {
        let entries: Vec<String> = entries.iter().map(format_entry).collect();
        format!(" [{}]", entries.join(", "))
    });
    format!(
        "{} {} {} q{}{stolen}: {} {}/{}{}",
        text(lot, "/unit/id"),
        text(lot, "/material/bt"),
        text(lot, "/location/name"),
        lot["quality"],
        lot["quantity"]["amount"],
        marked("jobOrders"),
        marked("missions"),
        entries.unwrap_or_default(),
    )
}

/// Formats all lots that a caller reads, sorted.
pub(super) async fn lots(fixture: &BackendFixture, caller: &Caller) -> Vec<String> {
    let (items, removed) = fixture.page(caller, POOLS, &mut String::new()).await;
    assert!(removed.is_empty());
    let mut lots: Vec<String> = items.iter().map(format_pool_lot).collect();
    lots.sort();
    lots
}

/// Returns id and version of each entry of a lot, oldest first, as the first member sees them.
pub(super) async fn entries(fixture: &BackendFixture, unit: &str, lot_key: LotKey) -> Vec<(String, i64)> {
    let (items, _) = fixture.page(&first(), POOLS, &mut String::new()).await;
    let matches_lot = |lot: &&Value| {
        text(lot, "/unit/id") == unit
            && text(lot, "/material/bt") == lot_key.material
            && text(lot, "/location/name") == lot_key.place
            && lot["quality"] == lot_key.quality
            && lot["stolen"] == lot_key.stolen
    };
    let Some(lot) = items.iter().find(matches_lot) else { return Vec::new() };
    let one = |entry: &Value| (text(entry, "/id").to_owned(), entry["version"].as_i64().expect("a number"));
    lot["entries"].as_array().expect("an array").iter().map(one).collect()
}

/// Returns the only entry of a lot.
pub(super) async fn entry(fixture: &BackendFixture, unit: &str, lot_key: LotKey) -> (String, i64) {
    let mut entries = entries(fixture, unit, lot_key).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

/// Reads a feed page and returns its formatted lots and its number of tombstones.
async fn read_feed_page(
    fixture: &BackendFixture,
    caller: &Caller,
    cursor: &mut String,
) -> (Vec<String>, usize) {
    let (items, removed) = fixture.page(caller, POOLS, cursor).await;
    let mut items: Vec<String> = items.iter().map(format_pool_lot).collect();
    items.sort();
    (items, removed.len())
}

fn units(page: &Value) -> Vec<&str> {
    page["units"].as_array().expect("an array").iter().map(|unit| text(unit, "/shorthand")).collect()
}

/// OST-01, OST-02, OST-03, OST-04, CON-15: a lot is the sum of a pool's stock over its holders. Personal
/// stock and stock outside of pools is not included. The pools are those of the units to which the member
/// directly belongs.
#[tokio::test]
async fn pool_lot_sums_the_stock_of_all_holders() {
    let fixture = member_fixture().await;
    let pools =
        [("u-1", "One", ORE, 5), ("u-1", "Two", ORE, 2), ("u-2", "Two", ORE, 4), ("u-1", "Three", GUN, 3)];
    book_in_stock(&fixture, &pools).await;
    // Personal stock, and stock outside of pools.
    let set = [METAL.set(0, 8), ORE.place("Station").set(0, 9)];
    fixture.check(&first(), super::stock::SET, set.to_vec(), &[]).await;
    super::stock::rebook(&fixture, METAL, StockOwnership::Shared).await;
    let expected = ["u-1 gun City q0: 3 0/0", "u-1 ore City q0: 7 0/0", "u-2 ore City q0: 4 0/0"];
    assert_eq!(lots(&fixture, &other_member()).await, expected);
    let page = fixture.get(&other_member(), POOLS).await.body;
    assert_eq!(units(&page), ["ONE", "TWO"]);
    let ore = page["items"]
        .as_array()
        .expect("an array")
        .iter()
        .find(|lot| format_pool_lot(lot) == expected[1])
        .expect("a lot of ore");
    assert_eq!(ore["materialKind"]["type"], "RAW");
    assert_eq!(ore["unit"], json!({ "id": "u-1", "name": "First Unit" }));
    let zero = json!({ "amount": 0, "unit": "SCU" });
    assert_eq!(ore["earmarked"], json!({ "jobOrders": zero, "missions": zero }));
    assert_eq!(ore["location"]["uex"], json!({ "kind": "CITY", "id": 1 }));
    // An administrator who leads the parent unit belongs to neither unit.
    fixture.sql("UPDATE member SET is_admin = 1; DELETE FROM membership WHERE member = 'm-2';").await;
    fixture.sql("INSERT INTO membership (member, unit, leadership) VALUES ('m-2', 'u-3', 1)").await;
    let page = fixture.get(&other_member(), POOLS).await.body;
    assert_eq!((units(&page), &page["items"]), (vec!["THREE"], &json!([])));
    let mut narrow = first();
    narrow.scopes.remove("exchange.orgstock.read");
    assert_eq!(fixture.get(&narrow, POOLS).await.code(), "SCOPE_MISSING");
}

/// OST-03, OST-11: earmarked amounts are listed by purpose, each with the free amount; donations are not
/// shown.
#[tokio::test]
async fn earmarks_of_different_purposes_overlap() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    for (purpose, target, amount) in [
        (EarmarkPurpose::JobOrder, "j-1", 2500),
        (EarmarkPurpose::JobOrder, "j-2", 4000),
        (EarmarkPurpose::Mission, "mi-1", 8000),
        (EarmarkPurpose::Donation, "d-1", 10_000),
    ] {
        let author = MemberId::new("m-2");
        let marked =
            fixture.backend().earmark_stock(&author, ChangeAuthor::Web, &id, (purpose, target), amount).await;
        assert!(marked.expect("earmarking succeeds"));
    }
    fixture.sql("UPDATE stock_earmark SET delivered = 1 WHERE target = 'j-2'").await;
    let expected =
        "u-1 ore City q0: 10 6.5/8 [Two 10 v5 j-1(11):2.5 j-2(12):4d mi-1(\"Convoy\"):8 free 3.5/2]";
    assert_eq!(lots(&fixture, &first()).await, [expected]);
    let (author, too_much) = (MemberId::new("m-2"), (EarmarkPurpose::Mission, "mi-2"));
    let over = fixture.backend().earmark_stock(&author, ChangeAuthor::Web, &id, too_much, 2001);
    assert!(!over.await.expect("the call succeeds"), "the amount exceeds the free stock");
}

/// OST-08, CON-16: entries are shown only with the scope, and only to Logisticians and leaders of the unit.
#[tokio::test]
async fn entries_require_logistician_role() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 5), ("u-2", "Two", ORE, 4)]).await;
    let (one, two) = ("u-1 ore City q0: 5 0/0", "u-2 ore City q0: 4 0/0");
    let (one_told, two_told) = (format!("{one} [Two 5 v1 free 5/5]"), format!("{two} [Two 4 v1 free 4/4]"));
    assert_eq!(lots(&fixture, &first()).await, [&*one_told, &two_told]);
    let mut narrow = first();
    narrow.scopes.remove("exchange.orgstock.details");
    assert_eq!(lots(&fixture, &narrow).await, [one, two], "the lots are returned without entries");
    fixture
        .sql("DELETE FROM client_scope WHERE client = 'c-2' AND scope = 'exchange.orgstock.details'")
        .await;
    assert_eq!(lots(&fixture, &other_client()).await, [one, two], "the registry no longer grants the scope");
    assert_eq!(lots(&fixture, &other_member()).await, [one, two]);
    fixture.sql("UPDATE membership SET leadership = 1 WHERE member = 'm-2' AND unit = 'u-2'").await;
    assert_eq!(lots(&fixture, &other_member()).await, [one, &*two_told]);
}

/// OST-12, OST-13, WEB-07: a holder has a name and a pseudonym, which is the same for every reader of one
/// client and different for each client. For a withheld holder, neither name nor note is shown.
#[tokio::test]
async fn holder_pseudonym_differs_per_client() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 5)]).await;
    let (id, version) = entry(&fixture, "u-1", ORE).await;
    let note =
        json!({ "op": "note", "unit": "u-1", "entry": id, "version": version, "note": "for Two's ship" });
    fixture.check(&first(), CHANGE, vec![note], &[]).await;
    fixture.sql("UPDATE membership SET logistician = 1").await;
    let holder = async |caller: &Caller| {
        let (items, _) = fixture.page(caller, POOLS, &mut String::new()).await;
        items[0]["entries"][0].clone()
    };
    let seen = holder(&first()).await;
    assert_eq!((&seen["holder"]["name"], &seen["note"]), (&json!("Two"), &json!("for Two's ship")));
    let pseudonym = |entry: &Value| text(entry, "/holder/ref").to_owned();
    for same in [second(), other_member(), third_member()] {
        assert_eq!(
            pseudonym(&holder(&same).await),
            pseudonym(&seen),
            "the pseudonym is the same for all readers of a client"
        );
    }
    let elsewhere = pseudonym(&holder(&other_client()).await);
    assert_ne!(elsewhere, pseudonym(&seen));
    assert_eq!(
        pseudonym(&seen),
        reference(&fixture, &first(), "u-2", "Two").await,
        "the pseudonym is that of the roster in every unit"
    );
    assert!(!pseudonym(&seen).contains("m-2"));
    assert!(fixture.backend().withhold_name(&MemberId::new("m-2"), true).await.expect("the change succeeds"));
    for reader in [first(), other_client(), other_member()] {
        let seen = holder(&reader).await;
        assert_eq!((&seen["holder"], &seen["note"]), (&json!({ "withheld": true }), &Value::Null));
    }
}

/// OST-15, ERR-21: only Logisticians of a unit can read its roster, which is sorted by name and omits
/// withheld names.
#[tokio::test]
async fn roster_requires_logistician_role() {
    let fixture = member_fixture().await;
    fixture.sql("UPDATE member SET name = 'Alpha' WHERE id = 'm-3'").await;
    let roster = async |caller: &Caller, unit: &str| {
        fixture.get(caller, &format!("{POOLS}/members?unit={unit}")).await
    };
    let names = |roster: &Value| -> Vec<String> {
        roster["items"]
            .as_array()
            .expect("an array")
            .iter()
            .map(|one| text(one, "/name").to_owned())
            .collect()
    };
    let full_roster = roster(&first(), "u-1").await.body;
    assert_eq!(
        (names(&full_roster), &full_roster["unit"]),
        (vec!["Alpha".into(), "One".into(), "Two".into()], &json!({ "id": "u-1", "name": "First Unit" }))
    );
    fixture.backend().withhold_name(&MemberId::new("m-1"), true).await.expect("the change succeeds");
    assert_eq!(names(&roster(&first(), "u-1").await.body), ["Alpha", "Two"]);
    for (caller, unit) in
        [(first(), "u-3"), (first(), "u-none"), (other_member(), "u-1"), (third_member(), "u-2")]
    {
        let refused = roster(&caller, unit).await;
        assert_eq!((refused.status, refused.code()), (403, "NOT_PERMITTED"), "{unit}");
    }
    let mut narrow = first();
    narrow.scopes.remove("exchange.orgstock.write");
    assert_eq!(roster(&narrow, "u-1").await.code(), "SCOPE_MISSING");
}

/// OST-05, OST-06, FED-10: after a member joins a unit, its whole pool is delivered. The pool of a unit that
/// the member left is missing from the next page, without tombstones.
#[tokio::test]
async fn joining_or_leaving_a_unit_adds_or_drops_its_pool() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 5), ("u-2", "Two", METAL, 4), ("u-2", "Two", GUN, 1)])
        .await;
    let (backend, three) = (fixture.backend(), MemberId::new("m-3"));
    let mut cursor = String::new();
    assert_eq!(read_feed_page(&fixture, &third_member(), &mut cursor).await.0, ["u-1 ore City q0: 5 0/0"]);
    assert!(
        backend.set_role(&three, &"u-2".into(), Some(UnitRole::Member)).await.expect("the role can be set")
    );
    let page = fixture.get(&third_member(), &format!("{POOLS}?limit=1&cursor={cursor}")).await.body;
    assert_eq!(
        (units(&page), &page["hasMore"]),
        (vec!["ONE", "TWO"], &json!(true)),
        "the pool is delivered in pages"
    );
    let pool = ["u-2 gun City q0: 1 0/0", "u-2 metal City q0: 4 0/0"];
    assert_eq!(
        read_feed_page(&fixture, &third_member(), &mut cursor).await,
        (pool.map(str::to_owned).to_vec(), 0)
    );
    assert_eq!(read_feed_page(&fixture, &third_member(), &mut cursor).await, (vec![], 0));
    assert!(backend.set_role(&three, &"u-2".into(), None).await.expect("the call succeeds"));
    let (id, version) = entry(&fixture, "u-2", METAL).await;
    let take = json!({ "op": "book-out", "unit": "u-2", "entry": id, "version": version, "quantity": quantity(METAL, 1) });
    fixture.check(&first(), CHANGE, vec![take], &[]).await;
    let page = fixture.get(&third_member(), &format!("{POOLS}?cursor={cursor}")).await.body;
    assert_eq!((units(&page), &page["items"], &page["removed"]), (vec!["ONE"], &json!([]), &json!([])));
    assert_eq!(lots(&fixture, &third_member()).await, ["u-1 ore City q0: 5 0/0"]);
    // A member who left before reading the next page sees nothing of the pool; one who returned sees all of
    // it.
    cursor = page["nextCursor"].as_str().expect("a string").to_owned();
    assert!(
        backend.set_role(&three, &"u-2".into(), Some(UnitRole::Member)).await.expect("the role can be set")
    );
    assert_eq!(read_feed_page(&fixture, &third_member(), &mut cursor).await.0.len(), 2);
}

/// OST-09: after a change of role, or with a token of another scope, only the lots of the affected unit are
/// delivered again.
#[tokio::test]
async fn role_change_redelivers_the_pool() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "One", ORE, 5), ("u-2", "One", METAL, 4)]).await;
    let mut cursor = String::new();
    read_feed_page(&fixture, &other_member(), &mut cursor).await;
    let (plain, detailed) = ("u-1 ore City q0: 5 0/0", "u-1 ore City q0: 5 0/0 [One 5 v1 free 5/5]");
    for (role, expected) in [
        (UnitRole::Logistician, vec![detailed]),
        (UnitRole::Leader, vec![]),
        (UnitRole::Member, vec![plain]),
        (UnitRole::Leader, vec![detailed]),
    ] {
        let set = fixture.backend().set_role(&MemberId::new("m-2"), &"u-1".into(), Some(role)).await;
        assert!(set.expect("the role can be set"));
        let expected = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(read_feed_page(&fixture, &other_member(), &mut cursor).await, (expected, 0), "{role:?}");
    }
    let mut narrow = other_member();
    narrow.scopes.remove("exchange.orgstock.details");
    assert_eq!(read_feed_page(&fixture, &narrow, &mut cursor).await, (vec![plain.to_owned()], 0));
}

/// OST-07, WEB-07: every kind of change is in the feed, with the affected lots.
#[tokio::test]
async fn feed_contains_each_kind_of_change() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 5)]).await;
    let (backend, two) = (fixture.backend(), MemberId::new("m-2"));
    let cursor = &mut String::new();
    let expect = async |event: &str, cursor: &mut String, items: &[&str], removed: usize| {
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        assert_eq!(read_feed_page(&fixture, &first(), cursor).await, (items, removed), "{event}");
    };
    expect("the snapshot", cursor, &["u-1 ore City q0: 5 0/0 [Two 5 v1 free 5/5]"], 0).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    let op = |op: &str, version: i64| json!({ "op": op, "unit": "u-1", "entry": id, "version": version });
    let marked = async |purpose, target, amount| {
        backend
            .earmark_stock(&two, ChangeAuthor::Web, &id, (purpose, target), amount)
            .await
            .expect("earmarking succeeds");
    };
    marked(EarmarkPurpose::JobOrder, "j-1", 1000).await;
    expect("a job order", cursor, &["u-1 ore City q0: 5 1/0 [Two 5 v2 j-1(11):1 free 4/5]"], 0).await;
    marked(EarmarkPurpose::Mission, "mi-1", 2000).await;
    expect(
        "a mission",
        cursor,
        &["u-1 ore City q0: 5 1/2 [Two 5 v3 j-1(11):1 mi-1(\"Convoy\"):2 free 4/3]"],
        0,
    )
    .await;
    assert!(backend.rename_mission("mi-1", named("Escort")).await.expect("the renaming succeeds"));
    expect(
        "its name",
        cursor,
        &["u-1 ore City q0: 5 1/2 [Two 5 v3 j-1(11):1 mi-1(\"Escort\"):2 free 4/3]"],
        0,
    )
    .await;
    for (purpose, target) in [(EarmarkPurpose::JobOrder, "j-1"), (EarmarkPurpose::Mission, "mi-1")] {
        marked(purpose, target, 0).await;
    }
    expect("no earmarks", cursor, &["u-1 ore City q0: 5 0/0 [Two 5 v5 free 5/5]"], 0).await;
    assert!(backend.rename_member(&two, named("Deux")).await.expect("the renaming succeeds"));
    expect("a holder's name", cursor, &["u-1 ore City q0: 5 0/0 [Deux 5 v5 free 5/5]"], 0).await;
    assert!(backend.withhold_name(&two, true).await.expect("the change succeeds"));
    expect("kept back", cursor, &["u-1 ore City q0: 5 0/0 [? 5 v5 free 5/5]"], 0).await;
    assert!(!backend.withhold_name(&two, true).await.expect("the call succeeds"), "the lot is unchanged");
    expect("nothing", cursor, &[], 0).await;
    assert!(backend.withhold_name(&two, false).await.expect("the change succeeds"));
    expect("shown again", cursor, &["u-1 ore City q0: 5 0/0 [Deux 5 v5 free 5/5]"], 0).await;
    apply_on_web(&fixture, "m-1", vec![with_field(op("note", 5), "note", json!("hers"))]).await;
    expect("a note", cursor, &["u-1 ore City q0: 5 0/0 [Deux 5 v6 'hers' free 5/5]"], 0).await;
    apply_on_web(&fixture, "m-1", vec![with_field(op("stolen", 6), "stolen", json!(true))]).await;
    expect("a marker", cursor, &["u-1 ore City q0!: 5 0/0 [Deux 5 v7 'hers' free 5/5]"], 1).await;
    let moved =
        with_field(with_field(op("move-pool", 7), "toUnit", json!("u-2")), "quantity", quantity(ORE, 2));
    apply_on_web(&fixture, "m-1", vec![moved]).await;
    let halves = [
        "u-1 ore City q0!: 3 0/0 [Deux 3 v8 'hers' free 3/3]",
        "u-2 ore City q0!: 2 0/0 [Deux 2 v1 'hers' free 2/2]",
    ];
    expect("another unit", cursor, &halves, 0).await;
    let moved = with_field(
        with_field(op("move-location", 8), "location", json!({ "name": "Station" })),
        "quantity",
        quantity(ORE, 1),
    );
    apply_on_web(&fixture, "m-1", vec![moved]).await;
    let halves = [
        "u-1 ore City q0!: 2 0/0 [Deux 2 v9 'hers' free 2/2]",
        "u-1 ore Station q0!: 1 0/0 [Deux 1 v1 'hers' free 1/1]",
    ];
    expect("another place", cursor, &halves, 0).await;
    let moved = with_field(
        with_field(with_field(op("move-holder", 9), "toUnit", json!("u-1")), "holder", json!("m-3")),
        "quantity",
        quantity(ORE, 2),
    );
    apply_on_web(&fixture, "m-1", vec![moved]).await;
    expect("another holder", cursor, &["u-1 ore City q0!: 2 0/0 [Three 2 v1 free 2/2]"], 0).await;
    // The holder changes the stock through the web pages, as personal stock.
    let set = json!({ "ops": [ORE.place("Station").stolen().set(1, 3)] }).to_string();
    let set = StockChangeSet::parse_valid(set.as_bytes()).expect("a valid change set");
    backend.change_stock(&two, ChangeAuthor::Web, set).await.expect("the change succeeds");
    expect("personal stock", cursor, &[], 0).await;
    let lot = key(&fixture, &other_member(), ORE.place("Station").stolen()).await;
    backend
        .rebook_stock(&two, ChangeAuthor::Web, &lot, StockOwnership::Pool("u-1".into()))
        .await
        .expect("the rebooking succeeds");
    let two_rows = "u-1 ore Station q0!: 3 0/0 [Deux 1 v1 'hers' free 1/1, Deux 2 v2 free 2/2]";
    expect("shared", cursor, &[two_rows], 0).await;
    backend
        .rebook_stock(&two, ChangeAuthor::Web, &lot, StockOwnership::Personal)
        .await
        .expect("the rebooking succeeds");
    expect("personal again", cursor, &[], 1).await;
    let leave = |connection: &rusqlite::Connection| {
        let admin = AdminContext::new("sam", Moment::from_secs(1)).expect("a valid name");
        set_state(connection, &admin, &MemberId::new("m-3"), RegistrationState::Deleted)
    };
    fixture.store.write(leave).await.expect("the change succeeds");
    expect("a holder who left", cursor, &["u-1 ore City q0!: 2 0/0 [? 2 v1 free 2/2]"], 0).await;
    assert!(
        backend
            .rename_unit(&"u-2".into(), named("Renamed"), named("REN"))
            .await
            .expect("the renaming succeeds")
    );
    let page = fixture.get(&first(), &format!("{POOLS}?cursor={cursor}")).await.body;
    assert_eq!((&page["items"][0]["unit"]["name"], units(&page)), (&json!("Renamed"), vec!["ONE", "REN"]));
}

/// TYP-14, TYP-15: a tombstone names the client that removed the entry; it names the installation only to the
/// member to whom it belongs.
#[tokio::test]
async fn tombstone_hides_other_installations() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 5)]).await;
    let (mut own, mut others) = (String::new(), String::new());
    read_feed_page(&fixture, &first(), &mut own).await;
    read_feed_page(&fixture, &other_member(), &mut others).await;
    let (id, version) = entry(&fixture, "u-1", ORE).await;
    let out = json!({ "op": "book-out", "unit": "u-1", "entry": id, "version": version, "quantity": quantity(ORE, 5) });
    fixture.check(&second(), CHANGE, vec![out], &[]).await;
    let (_, removed) = fixture.page(&first(), POOLS, &mut own).await;
    let expected_author = json!({ "channel": "client", "clientId": "c-1", "installationId": "i-2" });
    assert_eq!(removed[0]["removedBy"], expected_author);
    let (_, removed) = fixture.page(&other_member(), POOLS, &mut others).await;
    assert_eq!(removed[0]["removedBy"], json!({ "channel": "client", "clientId": "c-1" }));
}

/// FED-01, FED-02, FED-04, FED-06, FED-08: pools of many units are read in pages of any size, each lot once.
/// Concurrent changes follow in the feed. A cursor is valid only for its member.
#[tokio::test]
async fn pools_of_many_units_are_read_in_pages() {
    let fixture = member_fixture().await;
    let mut units = vec!["u-1".to_owned(), "u-2".to_owned()];
    for number in 4..20 {
        let unit = format!("u-{number}");
        fixture
            .sql(format!(
                "INSERT INTO unit (id, name, shorthand, kind) VALUES ('{unit}', 'Unit {number}', 'U', 'SQUADRON');
                 INSERT INTO membership (member, unit, logistician) VALUES ('m-1', '{unit}', 1);"
            ))
            .await;
        units.push(unit);
    }
    let ops = units
        .iter()
        .flat_map(|unit| [ORE, METAL, GUN].map(|lot_key| book_in(unit, "m-1", lot_key, 2)))
        .collect();
    apply_on_web(&fixture, "m-1", ops).await;
    for limit in [1, 2, 5, 7, 1000] {
        let (mut cursor, mut seen, mut pages) = (String::new(), BTreeMap::new(), 0);
        loop {
            let cursor_query = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
            let page = fixture.get(&first(), &format!("{POOLS}?limit={limit}{cursor_query}")).await.body;
            for lot in page["items"].as_array().expect("an array") {
                assert_eq!(
                    seen.insert(text(lot, "/key").to_owned(), format_pool_lot(lot)),
                    None,
                    "each lot occurs once"
                );
            }
            cursor = text(&page, "/nextCursor").to_owned();
            pages += 1;
            if page["hasMore"] == false {
                break;
            }
            if pages == 2 {
                apply_on_web(
                    &fixture,
                    "m-1",
                    vec![book_in("u-1", "m-1", PARTS, 1), book_in("u-19", "m-1", PARTS, 1)],
                )
                .await;
            }
        }
        // Two lots were added during the snapshot; each is on a later page or in the feed.
        let (late, _) = read_feed_page(&fixture, &first(), &mut cursor).await;
        seen.extend(late.into_iter().map(|lot| (lot.clone(), lot)));
        let lots: BTreeSet<&str> =
            seen.values().map(|lot| lot.split(':').next().expect("the part before the colon")).collect();
        let parts = seen.values().any(|lot| lot.contains("parts"));
        assert_eq!(lots.len(), units.len() * 3 + if parts { 2 } else { 0 }, "{limit}");
        let response = fixture.get(&other_member(), &format!("{POOLS}?cursor={cursor}")).await;
        assert_eq!(response.code(), "CURSOR_EXPIRED");
    }
}

/// OST-06, OST-09: a reader whose role or unit changed temporarily during the snapshot ends with the state of
/// a new reader.
#[tokio::test]
async fn temporary_role_during_snapshot_leaves_no_trace() {
    for meanwhile in [Some(UnitRole::Logistician), None] {
        let fixture = member_fixture().await;
        let lots = [ORE, METAL, PARTS, GUN].map(|lot_key| ("u-1", "Two", lot_key, 4));
        book_in_stock(&fixture, &lots).await;
        let (two, unit) = (MemberId::new("m-2"), "u-1".into());
        let replica = || {
            let entry = |item: &Value| (text(item, "/key").to_owned(), format_pool_lot(item));
            let keeps = |lot: &String, page: &Value| {
                let units = page["units"].as_array().expect("an array");
                units.iter().any(|unit| lot.starts_with(&format!("{} ", text(unit, "/id"))))
            };
            Reader::new(other_member(), POOLS, entry).keeping(keeps)
        };
        let mut reader = replica();
        reader.page(&fixture, 1).await;
        fixture.backend().set_role(&two, &unit, meanwhile).await.expect("the role can be set");
        reader.page(&fixture, 1).await;
        fixture.backend().set_role(&two, &unit, Some(UnitRole::Member)).await.expect("the role can be set");
        reader.read_on(&fixture, 3).await;
        let mut new = replica();
        new.read_on(&fixture, 50).await;
        assert_eq!(new.entries.len(), 4);
        assert_eq!(reader.entries, new.entries, "{meanwhile:?}");
    }
}
