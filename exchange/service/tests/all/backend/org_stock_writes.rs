//! Tests of the effects of each org-stock op on entries, earmarks, offers, sales and notices.

use exchange_service::backend::EarmarkPurpose;
use exchange_service::feed::ChangeAuthor;

use super::org_stock::*;
use super::stock::{GUN, LotKey, METAL, ORE, PARTS, STOCK, with_field};
use super::*;

/// Returns an op on an entry.
pub(super) fn build_op(op: &str, unit: &str, (id, version): &(String, i64)) -> Value {
    json!({ "op": op, "unit": unit, "entry": id, "version": version })
}

/// Returns an op on a part of an entry.
pub(super) fn build_partial_op(
    op: &str,
    unit: &str,
    entry: &(String, i64),
    lot_key: LotKey,
    amount: impl Into<Value>,
) -> Value {
    with_field(build_op(op, unit, entry), "quantity", quantity(lot_key, amount))
}

/// Returns a list of amounts for job orders or missions.
pub(super) fn shares(target_field: &str, lot_key: LotKey, list: &[(&str, f64)]) -> Value {
    let share = |(target, amount): &(&str, f64)| {
        let amount = if lot_key.is_counted() { json!(*amount as i64) } else { json!(amount) };
        json!({ target_field: target, "quantity": quantity(lot_key, amount) })
    };
    json!(list.iter().map(share).collect::<Vec<_>>())
}

/// Earmarks an amount of an entry through the web pages, as the first member.
pub(super) async fn earmark(
    fixture: &BackendFixture,
    id: &str,
    purpose: EarmarkPurpose,
    target: &str,
    amount: i64,
) {
    let author = MemberId::new("m-1");
    let marked =
        fixture.backend().earmark_stock(&author, ChangeAuthor::Web, id, (purpose, target), amount).await;
    assert!(marked.expect("earmarking succeeds"), "{target}");
}

async fn apply(fixture: &BackendFixture, ops: Vec<Value>) {
    fixture.check(&first(), CHANGE, ops, &[]).await;
}

async fn unchanged(fixture: &BackendFixture, op: Value) {
    fixture.check(&first(), CHANGE, vec![op], &["0 unchanged -"]).await;
}

/// Returns the notices since the last call, each as member and kind.
async fn notices(fixture: &BackendFixture) -> Vec<String> {
    let lines = fixture.rows("SELECT member || ' ' || kind FROM notice ORDER BY member, kind").await;
    fixture.sql("DELETE FROM notice").await;
    lines.iter().map(|row| row.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned()).collect()
}

/// OST-20: `book-in` creates a new entry. Pieces join the entry of their lot, and so does SCU if `mergeScu`
/// is set. Notes and earmarks are stored, and the stock also appears in the holder's own stock.
#[tokio::test]
async fn book_in_creates_or_joins_entries() {
    let fixture = member_fixture().await;
    let two = reference(&fixture, &first(), "u-1", "Two").await;
    apply(&fixture, vec![book_in("u-1", &two, ORE, 5), book_in("u-1", &two, ORE, json!(2.0005))]).await;
    let mut merged = with_field(book_in("u-1", &two, ORE, 1), "mergeScu", json!(true));
    merged = with_field(merged, "jobOrders", shares("jobOrder", ORE, &[("j-1", 0.75)]));
    merged = with_field(merged, "missions", shares("mission", ORE, &[("mi-1", 0.5), ("mi-2", 0.5)]));
    fixture.clock.advance(DAY);
    apply(&fixture, vec![with_field(merged.clone(), "note", json!("joined"))]).await;
    let lot = "u-1 ore City q0: 8.001 0.75/1 [Two 6 v2 'joined' j-1(11):0.75 mi-1(\"Convoy\"):0.5 \
               mi-2(\"Raid\"):0.5 free 5.25/5, Two 2.001 v1 free 2.001/2.001]";
    assert_eq!(lots(&fixture, &first()).await, [lot], "the stock joined the older entry");
    apply(&fixture, vec![merged]).await;
    let lot = lot
        .replace("8.001 0.75/1", "9.001 1.5/2")
        .replace("Two 6 v2", "Two 7 v3")
        .replace("11):0.75", "11):1.5");
    let lot = lot.replace("\"):0.5", "\"):1").replace("5.25/5,", "5.5/5,");
    assert_eq!(lots(&fixture, &first()).await, [lot], "a note is kept unless the op contains one");
    // Pieces join an entry without the flag, but never one of another quality, stolen marker, holder or unit.
    let one = reference(&fixture, &first(), "u-1", "One").await;
    let mut gun = with_field(book_in("u-1", &two, GUN, 2), "quality", json!(700));
    gun = with_field(gun, "jobOrders", shares("jobOrder", GUN, &[("j-3", 1.0)]));
    let parts =
        [PARTS, PARTS.quality(3), PARTS.stolen(), PARTS].map(|lot_key| book_in("u-1", &two, lot_key, 2));
    let mut ops: Vec<Value> = parts.to_vec();
    ops.extend([book_in("u-1", &one, PARTS, 9), book_in("u-2", &two, PARTS, 4), gun]);
    apply(&fixture, ops).await;
    let expected = [
        "u-1 gun City q0: 2 1/0 [Two 2 v1 j-3(13):1 free 1/2]",
        "u-1 parts City q0!: 2 0/0 [Two 2 v1 free 2/2]",
        "u-1 parts City q0: 13 0/0 [Two 4 v2 free 4/4, One 9 v1 free 9/9]",
        "u-1 parts City q3: 2 0/0 [Two 2 v1 free 2/2]",
        "u-2 parts City q0: 4 0/0 [Two 4 v1 free 4/4]",
    ];
    let shown: Vec<String> =
        lots(&fixture, &first()).await.into_iter().filter(|lot| !lot.contains(" ore ")).collect();
    let mut sorted = shown.clone();
    sorted.iter_mut().for_each(|lot| {
        *lot = lot.replace("One 9 v1 free 9/9, Two 4 v2 free 4/4", "Two 4 v2 free 4/4, One 9 v1 free 9/9")
    });
    assert_eq!(sorted, expected);
    unchanged(&fixture, book_in("u-1", &two, ORE, json!(0.0004))).await;
    // The holder sees the stock in all units as own stock.
    let (items, _) = fixture.page(&other_member(), STOCK, &mut String::new()).await;
    let ore = items.iter().find(|item| item["material"]["bt"] == "ore").expect("a lot of ore");
    assert_eq!(ore["quantity"]["amount"], json!(9.001));
    assert_eq!(notices(&fixture).await, [""; 0], "members receive no notice about stock that they receive");
}

/// OST-17, A14, OST-33: every op increases the version of its entry, and later ops of a batch use this
/// version.
#[tokio::test]
async fn every_op_on_an_entry_increments_its_version() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    let entry_at_version = |version| (id.clone(), version);
    let ops = vec![
        build_partial_op("book-out", "u-1", &entry_at_version(1), ORE, 1),
        with_field(build_op("note", "u-1", &entry_at_version(2)), "note", json!("a")),
        with_field(build_op("note", "u-1", &entry_at_version(2)), "note", json!("b")),
        with_field(build_op("note", "u-1", &entry_at_version(3)), "note", json!("a")),
        build_partial_op("book-out", "u-1", &entry_at_version(3), ORE, 2),
        with_field(build_op("note", "u-1", &entry_at_version(4)), "note", json!(" ")),
    ];
    fixture.check(&first(), CHANGE, ops, &["2 rejected VERSION_CONFLICT", "3 unchanged -"]).await;
    assert_eq!(lots(&fixture, &first()).await, ["u-1 ore City q0: 7 0/0 [Two 7 v5 free 7/7]"]);
    // An entry that an op emptied does not exist for the next op.
    let ops = vec![
        build_partial_op("book-out", "u-1", &entry_at_version(5), ORE, 7),
        build_op("note", "u-1", &entry_at_version(6)),
    ];
    fixture.check(&first(), CHANGE, ops, &["1 rejected NOT_PERMITTED"]).await;
    assert_eq!(lots(&fixture, &first()).await, [""; 0]);
}

/// OST-21, OST-29: by default, the free part is taken; earmarked stock is taken by naming earmarks and
/// amounts.
#[tokio::test]
async fn book_out_takes_free_stock_or_named_earmarks() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 4000).await;
    earmark(&fixture, &id, EarmarkPurpose::Mission, "mi-1", 6000).await;
    apply(&fixture, vec![build_partial_op("book-out", "u-1", &(id.clone(), 3), ORE, 4)]).await;
    let two_marks = "u-1 ore City q0: 6 4/6 [Two 6 v4 j-1(11):4 mi-1(\"Convoy\"):6 free 2/0]";
    assert_eq!(lots(&fixture, &first()).await, [two_marks]);
    let mut take = build_partial_op("book-out", "u-1", &(id.clone(), 4), ORE, 3);
    take = with_field(take, "fromMissions", shares("mission", ORE, &[("mi-1", 3.0)]));
    take = with_field(take, "fromJobOrders", shares("jobOrder", ORE, &[("j-1", 1.0)]));
    apply(&fixture, vec![take]).await;
    assert_eq!(
        lots(&fixture, &first()).await,
        ["u-1 ore City q0: 3 3/3 [Two 3 v5 j-1(11):3 mi-1(\"Convoy\"):3 free 0/0]"]
    );
    let mut take = build_partial_op("book-out", "u-1", &(id.clone(), 5), ORE, 3);
    take = with_field(take, "fromMissions", shares("mission", ORE, &[("mi-1", 3.0)]));
    take = with_field(take, "fromJobOrders", shares("jobOrder", ORE, &[("j-1", 3.0)]));
    unchanged(&fixture, build_partial_op("book-out", "u-1", &(id.clone(), 5), ORE, 0)).await;
    apply(&fixture, vec![take]).await;
    assert_eq!(lots(&fixture, &first()).await, [""; 0]);
    assert_eq!(fixture.rows("SELECT * FROM stock_earmark").await, [""; 0]);
    assert_eq!(notices(&fixture).await, ["m-2 org-stock.book-out"; 3], "each change set causes one notice");
}

/// OST-22, A34: each mission in which the seller takes part receives its share, rounded down; the seller
/// receives the rest.
#[tokio::test]
async fn sale_pays_shares_to_missions() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    fixture.sql("INSERT INTO mission (id, name) VALUES ('mi-3', 'Long Haul'); INSERT INTO mission_participant VALUES ('mi-3', 'm-1')").await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    for mission in ["mi-1", "mi-2", "mi-3"] {
        earmark(&fixture, &id, EarmarkPurpose::Mission, mission, 2000).await;
    }
    let sell = |version, amount: f64, missions: &[(&str, f64)], proceeds: i64| {
        let op = build_partial_op("sell", "u-1", &(id.clone(), version), ORE, amount);
        let op = with_field(with_field(op, "terminal", json!("Port")), "proceeds", json!(proceeds));
        with_field(op, "fromMissions", shares("mission", ORE, missions))
    };
    apply(&fixture, vec![sell(4, 6.0, &[("mi-1", 1.0), ("mi-2", 1.0), ("mi-3", 0.5)], 1000)]).await;
    let sales = "SELECT s.member || ' ' || s.unit || ' ' || s.material || ' ' || s.amount || ' ' || s.terminal || ' ' \
                 || s.proceeds || ' ' || coalesce((SELECT group_concat(mission || ':' || amount) FROM mission_income \
                 WHERE sale = s.id), '-') FROM stock_sale s ORDER BY s.amount DESC";
    assert_eq!(fixture.rows(sales).await, ["Text(\"m-1 u-1 ore 6000 Port 1000 mi-1:166,mi-3:83\")"]);
    // The largest sale at the highest price is exact, although intermediate results exceed 64 bits.
    unchanged(&fixture, sell(5, 0.0, &[], 9)).await;
    apply(
        &fixture,
        vec![sell(5, 1.5, &[("mi-3", 1.5)], 1_000_000_000_000), sell(6, 0.001, &[("mi-1", 0.001)], 0)],
    )
    .await;
    let sold = fixture.rows(sales).await;
    assert_eq!(
        sold[1..],
        [
            "Text(\"m-1 u-1 ore 1500 Port 1000000000000 mi-3:1000000000000\")",
            "Text(\"m-1 u-1 ore 1 Port 0 -\")"
        ]
    );
    let left = "u-1 ore City q0: 2.499 0/1.999 [Two 2.499 v7 mi-1(\"Convoy\"):0.999 mi-2(\"Raid\"):1 free 2.499/0.5]";
    assert_eq!(lots(&fixture, &first()).await, [left]);
    assert_eq!(notices(&fixture).await, ["m-2 org-stock.sale"; 2]);
    let journal = "SELECT json_extract(after, '$.sale.proceeds') FROM journal WHERE area = 'org-stock' \
                   AND json_type(after, '$.sale') IS NOT NULL ORDER BY id LIMIT 1";
    assert_eq!(fixture.rows(journal).await, ["Integer(1000)"]);
}

/// OST-23, OST-29: the amount moves to a new entry at another location, with the named earmarks, or to an
/// existing entry.
#[tokio::test]
async fn move_to_another_location_keeps_earmarks() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10), ("u-1", "Two", PARTS, 6)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 4000).await;
    fixture.sql("UPDATE stock_earmark SET delivered = 1; UPDATE stock_row SET note = 'n'").await;
    let build_move = |version, amount: i64, place: &str| {
        with_field(
            build_partial_op("move-location", "u-1", &(id.clone(), version), ORE, amount),
            "location",
            json!({ "name": place }),
        )
    };
    unchanged(&fixture, build_move(2, 99, "City")).await;
    unchanged(&fixture, build_move(2, 0, "Station")).await;
    let marked =
        with_field(build_move(2, 3, "Station"), "fromJobOrders", shares("jobOrder", ORE, &[("j-1", 1.0)]));
    apply(&fixture, vec![marked]).await;
    let parts = "u-1 parts City q0: 6 0/0 [Two 6 v1 'n' free 6/6]";
    let expected_source = "u-1 ore City q0: 7 3/0 [Two 7 v3 'n' j-1(11):3d free 4/7]";
    let expected_target = "u-1 ore Station q0: 3 1/0 [Two 3 v1 'n' j-1(11):1d free 2/3]";
    assert_eq!(lots(&fixture, &first()).await, [expected_source, expected_target, parts]);
    apply(
        &fixture,
        vec![build_move(3, 1, "Station"), with_field(build_move(4, 1, "Station"), "mergeScu", json!(true))],
    )
    .await;
    let expected_source = "u-1 ore City q0: 5 3/0 [Two 5 v5 'n' j-1(11):3d free 2/5]";
    let shown = lots(&fixture, &first()).await;
    assert_eq!(shown[0], expected_source);
    assert!(shown[1].starts_with("u-1 ore Station q0: 5 1/0 [Two "), "{shown:?}");
    assert_eq!(
        entries(&fixture, "u-1", ORE.place("Station")).await.len(),
        2,
        "one part was merged, and one entry was created"
    );
    let (id, version) = entry(&fixture, "u-1", PARTS).await;
    let move_parts = |version, amount: i64| {
        with_field(
            build_partial_op("move-location", "u-1", &(id.clone(), version), PARTS, amount),
            "location",
            json!({ "name": "Meadow" }),
        )
    };
    apply(&fixture, vec![move_parts(version, 2), move_parts(version + 1, 4)]).await;
    assert_eq!(lots(&fixture, &first()).await[2], "u-1 parts Meadow q0: 6 0/0 [Two 6 v2 'n' free 6/6]");
    assert_eq!(notices(&fixture).await, ["m-2 org-stock.move"; 3]);
}

/// OST-24, OST-19: the amount moves to another member, in this pool or in another. Both members receive
/// notices, and the note is dropped.
#[tokio::test]
async fn move_to_another_holder_notifies_both() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    earmark(&fixture, &id, EarmarkPurpose::Mission, "mi-1", 4000).await;
    fixture.sql("UPDATE stock_row SET note = 'n'").await;
    let (one, two, three) = (
        reference(&fixture, &first(), "u-1", "One").await,
        reference(&fixture, &first(), "u-1", "Two").await,
        reference(&fixture, &first(), "u-1", "Three").await,
    );
    let build_move = |version, amount: i64, unit: &str, holder: &str| {
        let op = build_partial_op("move-holder", "u-1", &(id.clone(), version), ORE, amount);
        with_field(with_field(op, "toUnit", json!(unit)), "holder", json!(holder))
    };
    unchanged(&fixture, build_move(2, 99, "u-1", &two)).await;
    fixture.check(&first(), CHANGE, vec![build_move(2, 1, "u-2", &two)], &["0 rejected NOT_PERMITTED"]).await;
    apply(
        &fixture,
        vec![with_field(
            build_move(2, 3, "u-1", &three),
            "fromMissions",
            shares("mission", ORE, &[("mi-1", 2.0)]),
        )],
    )
    .await;
    assert_eq!(notices(&fixture).await, ["m-2 org-stock.move", "m-3 org-stock.move"]);
    apply(&fixture, vec![build_move(3, 1, "u-2", &one)]).await;
    assert_eq!(
        notices(&fixture).await,
        ["m-2 org-stock.move"],
        "members receive no notice about their own ops"
    );
    let expected = [
        "u-1 ore City q0: 9 0/4 [Two 6 v4 'n' mi-1(\"Convoy\"):2 free 6/4, Three 3 v1 mi-1(\"Convoy\"):2 free 3/1]",
        "u-2 ore City q0: 1 0/0 [One 1 v1 free 1/1]",
    ];
    assert_eq!(lots(&fixture, &first()).await, expected);
    apply(&fixture, vec![with_field(build_move(4, 1, "u-2", &one), "mergeScu", json!(true))]).await;
    assert_eq!(lots(&fixture, &first()).await[1], "u-2 ore City q0: 2 0/0 [One 2 v2 free 2/2]");
}

/// OST-25, OST-26: a whole entry moves into another pool with its earmarks and its offer; otherwise, a free
/// part moves.
#[tokio::test]
async fn move_to_another_pool_keeps_earmarks_and_offers() {
    let fixture = member_fixture().await;
    book_in_stock(
        &fixture,
        &[("u-1", "Two", ORE, 10), ("u-2", "Two", ORE, 1), ("u-1", "Two", GUN, 2), ("u-2", "Two", GUN, 1)],
    )
    .await;
    fixture.sql("UPDATE member SET withholds_name = 1 WHERE id = 'm-2'").await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 4000).await;
    let build_move = |op: Value, unit: &str| with_field(op, "toUnit", json!(unit));
    let entry_at_version = |version| (id.clone(), version);
    unchanged(
        &fixture,
        build_move(build_partial_op("move-pool", "u-1", &entry_at_version(2), ORE, 99), "u-1"),
    )
    .await;
    unchanged(
        &fixture,
        build_move(build_partial_op("move-pool", "u-1", &entry_at_version(2), ORE, 0), "u-2"),
    )
    .await;
    // The entry of a withheld holder can be moved by its id (OST-15).
    apply(
        &fixture,
        vec![build_move(build_partial_op("move-pool", "u-1", &entry_at_version(2), ORE, 2), "u-2")],
    )
    .await;
    apply(
        &fixture,
        vec![with_field(
            build_move(build_partial_op("move-pool", "u-1", &entry_at_version(3), ORE, 1), "u-2"),
            "mergeScu",
            json!(true),
        )],
    )
    .await;
    let shown = lots(&fixture, &first()).await;
    assert_eq!(shown[1], "u-1 ore City q0: 7 4/0 [? 7 v4 j-1(11):4 free 3/7]");
    assert!(shown[3].starts_with("u-2 ore City q0: 4 0/0 [? "), "{shown:?}");
    assert_eq!(entries(&fixture, "u-2", ORE).await.len(), 2, "the part was split off and then joined");
    fixture.sql(format!("INSERT INTO stock_offer VALUES ('o-1', '{id}', 6000)")).await;
    // The entry has an offer that refers to it, so it does not join another entry.
    apply(
        &fixture,
        vec![with_field(
            build_move(build_op("move-pool", "u-1", &entry_at_version(4)), "u-2"),
            "mergeScu",
            json!(true),
        )],
    )
    .await;
    let shown = lots(&fixture, &first()).await;
    assert!(
        shown[2].starts_with("u-2 ore City q0: 11 4/0") && shown[2].contains("? 7 v5 j-1(11):4 free 3/7"),
        "{shown:?}"
    );
    assert_eq!(
        fixture.rows("SELECT stock_row, amount FROM stock_offer").await,
        [format!("Text(\"{id}\") Integer(6000)")]
    );
    // Pieces join an existing entry.
    let (gun, _) = entry(&fixture, "u-1", GUN).await;
    apply(&fixture, vec![build_move(build_op("move-pool", "u-1", &(gun, 1)), "u-2")]).await;
    assert_eq!(lots(&fixture, &first()).await[0], "u-2 gun City q0: 3 0/0 [? 3 v2 free 3/3]");
    assert_eq!(notices(&fixture).await, ["m-2 org-stock.move"; 4]);
    // With `mergeScu`, the entry joins an existing one, including its earmarks.
    fixture.sql("DELETE FROM stock_offer").await;
    fixture.sql("INSERT INTO membership (member, unit) VALUES ('m-2', 'u-3'); INSERT INTO membership (member, unit, logistician) VALUES ('m-1', 'u-3', 1)").await;
    for (entry, _) in entries(&fixture, "u-2", ORE).await {
        let version = entries(&fixture, "u-2", ORE)
            .await
            .into_iter()
            .find(|one| one.0 == entry)
            .expect("the entry exists")
            .1;
        apply(
            &fixture,
            vec![with_field(
                build_move(build_op("move-pool", "u-2", &(entry, version)), "u-3"),
                "mergeScu",
                json!(true),
            )],
        )
        .await;
    }
    let shown = lots(&fixture, &first()).await;
    assert!(
        shown[1].starts_with("u-3 ore City q0: 11 4/0 [? 11 v") && shown[1].ends_with("j-1(11):4 free 7/11]"),
        "{shown:?}"
    );
}

/// OST-27, OST-28: an op changes the note or the stolen marker; a marked part becomes a new entry.
#[tokio::test]
async fn entries_are_annotated_and_marked() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    let entry_at_version = |version| (id.clone(), version);
    let note = |version, note: &str| {
        with_field(build_op("note", "u-1", &entry_at_version(version)), "note", json!(note))
    };
    unchanged(&fixture, build_op("note", "u-1", &entry_at_version(1))).await;
    unchanged(&fixture, note(1, " \u{a0}\n")).await;
    apply(&fixture, vec![note(1, " as it was written ")]).await;
    unchanged(&fixture, note(2, " as it was written ")).await;
    let stolen = |version, stolen: bool| {
        with_field(build_op("stolen", "u-1", &entry_at_version(version)), "stolen", json!(stolen))
    };
    unchanged(&fixture, stolen(2, false)).await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 4000).await;
    unchanged(&fixture, with_field(stolen(3, true), "quantity", quantity(ORE, 0))).await;
    apply(
        &fixture,
        vec![
            with_field(stolen(3, true), "quantity", quantity(ORE, 2)),
            with_field(stolen(4, true), "quantity", quantity(ORE, 1)),
        ],
    )
    .await;
    let shown = lots(&fixture, &first()).await;
    assert_eq!(shown[1], "u-1 ore City q0: 7 4/0 [Two 7 v5 ' as it was written ' j-1(11):4 free 3/7]");
    assert_eq!(entries(&fixture, "u-1", ORE.stolen()).await.len(), 2, "each part is a separate entry");
    apply(&fixture, vec![stolen(5, true), build_op("note", "u-1", &entry_at_version(6)), stolen(7, false)])
        .await;
    assert_eq!(lots(&fixture, &first()).await[1], "u-1 ore City q0: 7 4/0 [Two 7 v8 j-1(11):4 free 3/7]");
    assert_eq!(notices(&fixture).await, [""; 0]);
}

/// OST-19, OST-30, WRT-04, WRT-05, WRT-07: offers are lowered or end with their stock. The audit log names
/// member and client and counts the offers. The journal has every entry under its member. The response has no
/// additional counts, and a dry run writes nothing.
#[tokio::test]
async fn ops_update_offers_audit_and_journal() {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10), ("u-1", "Two", METAL, 3)]).await;
    let (ore, metal) = (entry(&fixture, "u-1", ORE).await, entry(&fixture, "u-1", METAL).await);
    let offers = |id: &str, offer: &str| format!("INSERT INTO stock_offer VALUES ('{offer}', '{id}', 3000)");
    fixture
        .sql(format!(
            "{}; {}; DELETE FROM audit; DELETE FROM journal_entry; DELETE FROM journal_set",
            offers(&ore.0, "o-1"),
            offers(&metal.0, "o-2")
        ))
        .await;
    let take = |ore: &(String, i64)| {
        let sale = with_field(
            with_field(build_partial_op("sell", "u-1", &metal, METAL, 3), "terminal", json!("Port")),
            "proceeds",
            json!(5),
        );
        vec![build_partial_op("book-out", "u-1", ore, ORE, 8), sale]
    };
    let before = fixture.everything().await;
    let dry = json!({ "ops": take(&ore), "dryRun": true });
    let response = fixture.post(&first(), CHANGE, dry).await;
    assert_eq!((response.counts(), fixture.everything().await), ((2, 0, 0), before));
    let response = fixture.check(&first(), CHANGE, take(&ore), &[]).await.body;
    let keys: Vec<&String> = response.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["applied", "dryRun", "notApplied", "results", "unchanged", "warnings"]);
    assert_eq!(fixture.rows("SELECT id, amount FROM stock_offer").await, ["Text(\"o-1\") Integer(2000)"]);
    let audit =
        fixture.rows("SELECT actor || ' ' || client || ' ' || action || ' ' || detail FROM audit").await;
    let detail = "First client: 2 written, 1 removed, 1 offers lowered, 1 offers removed";
    assert_eq!(audit, [format!("Text(\"member:m-1 c-1 org-stock.write {detail}\")")]);
    let journal = "SELECT member || ' ' || client || ' ' || installation || ' ' || (before IS NULL) || (after IS NULL) \
                   || ' ' || removal FROM journal WHERE area = 'org-stock' ORDER BY 1";
    let rows = ["Text(\"m-1 c-1 i-1 00 0\")", "Text(\"m-1 c-1 i-1 01 0\")", "Text(\"m-1 c-1 i-1 10 0\")"];
    assert_eq!(fixture.rows(journal).await, rows);
    assert_eq!(notices(&fixture).await, ["m-2 org-stock.book-out", "m-2 org-stock.sale"]);
}

/// TYP-04, TYP-06: an entry is limited to the maximum of a quantity, and a larger lot is shown with the
/// maximum.
#[tokio::test]
async fn amount_above_the_maximum_is_returned_as_the_maximum() {
    let fixture = member_fixture().await;
    let two = reference(&fixture, &first(), "u-1", "Two").await;
    let maximum = 1_000_000_000_i64;
    let merged =
        |lot_key: LotKey| with_field(book_in("u-1", &two, lot_key, maximum), "mergeScu", json!(true));
    apply(&fixture, vec![merged(ORE), merged(ORE), merged(PARTS), merged(PARTS)]).await;
    let shown = lots(&fixture, &first()).await;
    assert!(shown[0].starts_with(&format!("u-1 ore City q0: {maximum} 0/0 [Two {maximum} v1 ")), "{shown:?}");
    assert_eq!(entries(&fixture, "u-1", ORE).await.len(), 2, "the amount exceeds the maximum of an entry");
    assert_eq!(entries(&fixture, "u-1", PARTS).await.len(), 2);
    // The holder's own lot shows the same amount, which is accepted as the expected amount of an op.
    let set = |expected: i64, to: i64| vec![ORE.set(expected, to)];
    fixture.check(&other_member(), super::stock::SET, set(maximum, maximum), &["0 unchanged -"]).await;
    let mut owner = other_member();
    owner.client = "c-2".into();
    fixture.check(&owner, super::stock::SET, set(maximum, 7), &[]).await;
    assert!(lots(&fixture, &first()).await[0].starts_with("u-1 ore City q0: 7 0/0"));
}

/// WRT-01, RES-10, CON-08: undeclared fields and unresolved keys cause warnings at their pointers.
#[tokio::test]
async fn undeclared_fields_and_unresolved_keys_cause_warnings() {
    let fixture = member_fixture().await;
    let two = reference(&fixture, &first(), "u-1", "Two").await;
    let mut op = book_in("u-1", &two, ORE, 5);
    op["material"] = json!({ "locKey": "no_such_key", "name": "Quanta Ore" });
    op["surprise"] = json!(1);
    let response = fixture.check(&first(), CHANGE, vec![op], &[]).await.body;
    let warnings = json!([
        { "pointer": "/ops/0/surprise", "code": "UNKNOWN_FIELD" },
        { "pointer": "/ops/0/material/locKey", "code": "LOC_KEY_UNRESOLVED" },
    ]);
    assert_eq!(response["warnings"], warnings);
}

/// OST-20: stock joins the oldest entry, and of entries with the same age the one that was written first. A
/// part keeps the age of its entry, also within one change set.
#[tokio::test]
async fn booked_stock_joins_the_oldest_entry() {
    let fixture = member_fixture().await;
    let two = reference(&fixture, &first(), "u-1", "Two").await;
    let station = |op| with_field(op, "location", json!({ "name": "Station" }));
    let city = |op| with_field(op, "location", json!({ "name": "City" }));
    let joining = |lot_key: LotKey| with_field(book_in("u-1", &two, lot_key, 1), "mergeScu", json!(true));
    let rows = async |lot_key: LotKey, columns: &str| {
        let sql =
            format!("SELECT {columns} FROM stock_row WHERE quality = {} ORDER BY number", lot_key.quality);
        let text = |row: String| row.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned();
        fixture.rows(sql).await.into_iter().map(text).collect::<Vec<_>>()
    };
    // An entry and a part of it, which was moved away and back, have the same age; their ids are in random
    // order.
    for lot_key in (1..=8).map(|quality| ORE.quality(quality)) {
        apply(&fixture, vec![book_in("u-1", &two, lot_key, 4)]).await;
        let id = rows(lot_key, "id").await.remove(0);
        fixture.clock.advance(DAY);
        apply(&fixture, vec![station(build_partial_op("move-location", "u-1", &(id, 1), lot_key, 1))]).await;
        let id = rows(lot_key, "id").await.remove(1);
        apply(&fixture, vec![city(build_partial_op("move-location", "u-1", &(id, 1), lot_key, 1))]).await;
        apply(&fixture, vec![joining(lot_key)]).await;
        assert_eq!(rows(lot_key, "amount").await, ["Integer(4000)", "Integer(1000)"]);
    }
    // A part joins a younger entry before new stock joins that entry, in one change set or in two.
    for (lot_key, at_once) in [(ORE.quality(10), true), (ORE.quality(11), false)] {
        apply(&fixture, vec![book_in("u-1", &two, lot_key, 4)]).await;
        let id = rows(lot_key, "id").await.remove(0);
        fixture.clock.advance(DAY);
        apply(&fixture, vec![book_in("u-1", &two, lot_key.place("Station"), 7)]).await;
        let split = station(build_partial_op("move-location", "u-1", &(id, 1), lot_key, 1));
        let ops = vec![split, joining(lot_key.place("Station"))];
        if at_once {
            apply(&fixture, ops).await;
        } else {
            for op in ops {
                apply(&fixture, vec![op]).await;
            }
        }
        assert_eq!(rows(lot_key, "amount").await, ["Integer(3000)", "Integer(7000)", "Integer(2000)"]);
    }
    // The entries of one change set are in the order of its ops, and so are their ids.
    let lot_key = ORE.quality(12);
    apply(&fixture, (0..12).map(|extra| book_in("u-1", &two, lot_key, 10 + extra)).collect()).await;
    let amounts: Vec<String> = (10..22).map(|amount| format!("Integer({amount}000)")).collect();
    assert_eq!(rows(lot_key, "amount").await, amounts);
}
