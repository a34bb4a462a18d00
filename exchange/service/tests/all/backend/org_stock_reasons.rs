//! Tests of every reason for which an op on org stock is rejected, caused as a client would cause it, and of
//! the order of the checks.

use exchange_service::backend::EarmarkPurpose;
use exchange_service::members::UnitRole;

use super::org_stock::*;
use super::org_stock_writes::{build_op, build_partial_op, earmark, shares};
use super::stock::{GUN, METAL, ORE, PARTS, with_field};
use super::*;

/// Returns all ops on an entry, valid except for the tested reason.
fn every_op(unit: &str, entry: &(String, i64), to_unit: &str, holder: &str, place: &str) -> Vec<Value> {
    let lot_key = ORE;
    vec![
        build_partial_op("book-out", unit, entry, lot_key, 1),
        with_field(
            with_field(build_partial_op("sell", unit, entry, lot_key, 1), "terminal", json!("Port")),
            "proceeds",
            json!(1),
        ),
        with_field(
            build_partial_op("move-location", unit, entry, lot_key, 1),
            "location",
            json!({ "name": place }),
        ),
        with_field(
            with_field(build_partial_op("move-holder", unit, entry, lot_key, 1), "toUnit", json!(to_unit)),
            "holder",
            json!(holder),
        ),
        with_field(build_op("move-pool", unit, entry), "toUnit", json!(to_unit)),
        with_field(build_op("note", unit, entry), "note", json!("n")),
        with_field(build_op("stolen", unit, entry), "stolen", json!(true)),
    ]
}

/// Sends each op separately and asserts the same rejection for each, and that nothing is written.
async fn refused(fixture: &BackendFixture, caller: &Caller, ops: Vec<Value>, reason: &str) {
    let before = fixture.everything().await;
    for op in ops {
        let result = if matches!(reason, "UNMATCHED" | "AMBIGUOUS") {
            reason.to_lowercase()
        } else {
            "rejected".into()
        };
        fixture.check(caller, CHANGE, vec![op], &[&format!("0 {result} {reason}")]).await;
    }
    assert_eq!(fixture.everything().await, before, "{reason}");
}

/// Creates a pool with 10 SCU of ore that member two holds.
async fn pool_with_ten_scu() -> (BackendFixture, (String, i64), String) {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, &[("u-1", "Two", ORE, 10)]).await;
    let (entry, three) =
        (entry(&fixture, "u-1", ORE).await, reference(&fixture, &first(), "u-1", "Three").await);
    (fixture, entry, three)
}

/// OST-16, OST-31, A15, CON-16: only direct members and Logisticians of a unit can write to its pool, and
/// only to entries of this pool. Rejections do not reveal which entries exist.
#[tokio::test]
async fn ops_without_permission_are_rejected() {
    let (fixture, entry, three) = pool_with_ten_scu().await;
    let backend = fixture.backend();
    let two = reference(&fixture, &first(), "u-1", "Two").await;
    let mut all_ops = every_op("u-1", &entry, "u-1", &three, "Station");
    all_ops.push(book_in("u-1", &two, ORE, 1));
    // Members without the role, leaders of a unit above, administrators, and members of other units are
    // rejected.
    fixture.sql("UPDATE member SET is_admin = 1; INSERT INTO membership (member, unit, leadership) VALUES ('m-2', 'u-3', 1)").await;
    refused(&fixture, &other_member(), all_ops.clone(), "NOT_PERMITTED").await;
    let one = MemberId::new("m-1");
    for role in [Some(UnitRole::Member), None] {
        backend.set_role(&one, &"u-1".into(), role).await.expect("the role can be set");
        refused(&fixture, &first(), all_ops.clone(), "NOT_PERMITTED").await;
    }
    backend.set_role(&one, &"u-1".into(), Some(UnitRole::Leader)).await.expect("the role can be set");
    // A nonexistent unit, a nonexistent entry, an entry of another pool, and one outside of pools are
    // rejected.
    let nobody = ("no-such-entry".to_owned(), 1);
    let mut ops = every_op("u-none", &entry, "u-1", &three, "Station");
    ops.extend(every_op("u-1", &nobody, "u-1", &three, "Station"));
    ops.extend(every_op("u-2", &entry, "u-1", &three, "Station"));
    // A receiving unit of which the member is not a Logistician is rejected.
    ops.extend(
        every_op("u-1", &entry, "u-3", &three, "Station").into_iter().filter(|op| op["toUnit"] == "u-3"),
    );
    refused(&fixture, &first(), ops, "NOT_PERMITTED").await;
    fixture.sql("UPDATE stock_row SET shared = 0, unit = NULL, pool_lot = NULL").await;
    refused(&fixture, &first(), every_op("u-1", &entry, "u-1", &three, "Station"), "NOT_PERMITTED").await;
    let mut narrow = first();
    narrow.scopes.remove("exchange.orgstock.write");
    let response = fixture.post(&narrow, CHANGE, json!({ "ops": [book_in("u-1", &two, ORE, 1)] })).await;
    assert_eq!(response.code(), "SCOPE_MISSING");
}

/// OST-31: `move-holder` to the entry's own holder in another pool is rejected; `move-pool` is the op for
/// this.
#[tokio::test]
async fn move_holder_to_the_same_holder_is_rejected() {
    let (fixture, entry, _) = pool_with_ten_scu().await;
    let two = reference(&fixture, &first(), "u-2", "Two").await;
    let op = with_field(
        with_field(build_partial_op("move-holder", "u-1", &entry, ORE, 1), "toUnit", json!("u-2")),
        "holder",
        json!(two),
    );
    refused(&fixture, &first(), vec![op], "NOT_PERMITTED").await;
}

/// OST-32, OST-13, OST-15: the holder must be on the roster of the receiving unit, with the pseudonym for
/// this client. `move-pool` only requires that the holder belongs to the unit.
#[tokio::test]
async fn unknown_holder_is_rejected() {
    let (fixture, entry, three) = pool_with_ten_scu().await;
    let one = reference(&fixture, &first(), "u-1", "One").await;
    let moved = |unit: &str, holder: &str| {
        with_field(
            with_field(build_partial_op("move-holder", "u-1", &entry, ORE, 1), "toUnit", json!(unit)),
            "holder",
            json!(holder),
        )
    };
    let elsewhere = reference(&fixture, &other_client(), "u-1", "Three").await;
    let mut ops = vec![moved("u-2", &three), book_in("u-2", &three, ORE, 1)];
    for holder in ["m-3", "Three", &elsewhere] {
        ops.extend([moved("u-1", holder), book_in("u-1", holder, ORE, 1)]);
    }
    refused(&fixture, &first(), ops, "HOLDER_UNKNOWN").await;
    fixture.sql("UPDATE member SET withholds_name = 1 WHERE id = 'm-3'").await;
    refused(&fixture, &first(), vec![moved("u-1", &three), book_in("u-1", &three, ORE, 1)], "HOLDER_UNKNOWN")
        .await;
    fixture
        .backend()
        .set_role(&MemberId::new("m-2"), &"u-2".into(), None)
        .await
        .expect("the role can be set");
    let pool = with_field(build_op("move-pool", "u-1", &entry), "toUnit", json!("u-2"));
    refused(
        &fixture,
        &first(),
        vec![pool.clone(), with_field(pool, "quantity", quantity(ORE, 1))],
        "HOLDER_UNKNOWN",
    )
    .await;
    fixture.check(&first(), CHANGE, vec![moved("u-1", &one)], &[]).await;
}

/// OST-33: an op is rejected if any author has changed the entry since the client read it.
#[tokio::test]
async fn stale_version_is_rejected() {
    let (fixture, (id, version), three) = pool_with_ten_scu().await;
    for stale in [version - 1, version + 1] {
        let ops = every_op("u-1", &(id.clone(), stale), "u-1", &three, "Station");
        refused(&fixture, &first(), ops, "VERSION_CONFLICT").await;
    }
    // The holder changes the entry through the web pages, as personal stock.
    fixture.check(&other_member(), super::stock::SET, vec![ORE.set(10, 9)], &[]).await;
    let ops = every_op("u-1", &(id.clone(), version), "u-1", &three, "Station");
    refused(&fixture, &first(), ops, "VERSION_CONFLICT").await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 1000).await;
    let ops = every_op("u-1", &(id, version + 1), "u-1", &three, "Station");
    refused(&fixture, &first(), ops, "VERSION_CONFLICT").await;
}

/// OST-34: an op is rejected if its amount exceeds the entry's amount.
#[tokio::test]
async fn amount_above_stock_is_rejected() {
    let (fixture, entry, three) = pool_with_ten_scu().await;
    let ops = every_op("u-1", &entry, "u-2", &three, "Station").into_iter();
    let ops = ops
        .filter(|op| op["op"] != "note")
        .map(|op| with_field(op, "quantity", quantity(ORE, json!(10.0005))));
    let ops: Vec<Value> = ops
        .map(|op| if op["op"] == "move-holder" { with_field(op, "toUnit", json!("u-1")) } else { op })
        .collect();
    assert_eq!(ops.len(), 6);
    refused(&fixture, &first(), ops, "INSUFFICIENT_STOCK").await;
}

/// OST-35, OST-26, OST-29: earmarked stock can be taken only by naming the earmark; donated stock can never
/// be taken.
#[tokio::test]
async fn taking_earmarked_stock_is_rejected() {
    for (purpose, target) in [
        (EarmarkPurpose::JobOrder, "j-1"),
        (EarmarkPurpose::Mission, "mi-1"),
        (EarmarkPurpose::Donation, "d-1"),
    ] {
        let (fixture, (id, version), three) = pool_with_ten_scu().await;
        earmark(&fixture, &id, purpose, target, 4000).await;
        let entry = (id, version + 1);
        let ops = every_op("u-1", &entry, "u-2", &three, "Station").into_iter();
        let ops = ops
            .filter(|op| op["op"] != "note")
            .map(|op| with_field(op, "quantity", quantity(ORE, json!(6.001))));
        let ops =
            ops.map(|op| if op["op"] == "move-holder" { with_field(op, "toUnit", json!("u-1")) } else { op });
        refused(&fixture, &first(), ops.collect(), "STOCK_EARMARKED").await;
        // The earmark is named with a smaller amount than necessary.
        let name = if purpose == EarmarkPurpose::Mission { "mission" } else { "jobOrder" };
        let of_it = with_field(
            build_partial_op("book-out", "u-1", &entry, ORE, 7),
            &format!("from{}{}s", name[..1].to_uppercase(), &name[1..]),
            shares(name, ORE, &[(target, 0.5)]),
        );
        let reason =
            if purpose == EarmarkPurpose::Donation { "EARMARK_TARGET_INVALID" } else { "STOCK_EARMARKED" };
        refused(&fixture, &first(), vec![of_it], reason).await;
        let move_all = with_field(build_op("move-pool", "u-1", &entry), "toUnit", json!("u-2"));
        if purpose == EarmarkPurpose::Donation {
            refused(&fixture, &first(), vec![move_all], "STOCK_EARMARKED").await;
        } else {
            fixture.check(&first(), CHANGE, vec![move_all], &[]).await;
        }
    }
    // Earmarks stay on the entry if only a part is marked as stolen; they are included if the whole entry is
    // marked.
    let (fixture, (id, version), _) = pool_with_ten_scu().await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 4000).await;
    let mark = with_field(build_op("stolen", "u-1", &(id, version + 1)), "stolen", json!(true));
    refused(
        &fixture,
        &first(),
        vec![with_field(mark.clone(), "quantity", quantity(ORE, 10))],
        "STOCK_EARMARKED",
    )
    .await;
    fixture.check(&first(), CHANGE, vec![mark], &[]).await;
}

/// OST-36: an op is rejected if the remaining stock would be less than the offer.
#[tokio::test]
async fn taking_offered_stock_is_rejected() {
    let (fixture, entry, _) = pool_with_ten_scu().await;
    fixture.sql(format!("INSERT INTO stock_offer VALUES ('o-1', '{}', 6000)", entry.0)).await;
    let mark = with_field(build_op("stolen", "u-1", &entry), "stolen", json!(true));
    let pool = with_field(build_op("move-pool", "u-1", &entry), "toUnit", json!("u-2"));
    let ops = [&mark, &pool].map(|op| with_field(op.clone(), "quantity", quantity(ORE, json!(4.001))));
    refused(&fixture, &first(), ops.to_vec(), "STOCK_OFFERED").await;
    fixture.check(&first(), CHANGE, vec![with_field(pool, "quantity", quantity(ORE, 4))], &[]).await;
    fixture.check(&first(), CHANGE, vec![with_field(mark, "version", json!(2))], &[]).await;
}

/// OST-37: earmarks of one kind must not exceed the amount that is booked in; earmarks of different kinds may
/// overlap.
#[tokio::test]
async fn excessive_earmarks_are_rejected() {
    let (fixture, _, three) = pool_with_ten_scu().await;
    let op = |list: &str, name: &str, targets: &[(&str, f64)]| {
        with_field(book_in("u-1", &three, ORE, 5), list, shares(name, ORE, targets))
    };
    let over = vec![
        op("jobOrders", "jobOrder", &[("j-1", 5.001)]),
        op("missions", "mission", &[("mi-1", 3.0), ("mi-2", 2.001)]),
    ];
    refused(&fixture, &first(), over, "OVER_ALLOCATION").await;
    let both = with_field(
        op("jobOrders", "jobOrder", &[("j-1", 5.0)]),
        "missions",
        shares("mission", ORE, &[("mi-1", 5.0)]),
    );
    fixture.check(&first(), CHANGE, vec![both], &[]).await;
}

/// OST-38: a target is rejected if stock cannot be earmarked to it, or if the entry is not earmarked to it
/// with that amount.
#[tokio::test]
async fn invalid_earmark_target_is_rejected() {
    let (fixture, (id, version), three) = pool_with_ten_scu().await;
    let give = |entry_ref, list: &str, name: &str, targets: &[(&str, f64)]| {
        with_field(book_in("u-1", &three, entry_ref, 5), list, shares(name, entry_ref, targets))
    };
    let ops = vec![
        give(ORE, "jobOrders", "jobOrder", &[("j-3", 1.0)]),
        give(ORE, "jobOrders", "jobOrder", &[("j-2", 1.0)]),
        give(ORE, "jobOrders", "jobOrder", &[("j-none", 1.0)]),
        give(ORE, "jobOrders", "jobOrder", &[("j-1", 1.0), ("j-1", 1.0)]),
        give(ORE, "missions", "mission", &[("mi-none", 1.0)]),
        give(ORE, "missions", "mission", &[("mi-1", 0.0), ("mi-1", 1.0)]),
        give(GUN, "jobOrders", "jobOrder", &[("j-1", 1.0)]),
        give(GUN, "missions", "mission", &[("mi-1", 1.0)]),
        give(PARTS, "jobOrders", "jobOrder", &[("j-3", 1.0)]),
    ];
    refused(&fixture, &first(), ops, "EARMARK_TARGET_INVALID").await;
    earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 4000).await;
    earmark(&fixture, &id, EarmarkPurpose::Mission, "mi-1", 4000).await;
    let entry = (id, version + 2);
    let takes: Vec<Value> = every_op("u-1", &entry, "u-1", &three, "Station").into_iter().take(4).collect();
    let mut ops = Vec::new();
    for take in takes {
        let take = with_field(take, "quantity", quantity(ORE, 3));
        for (list, name, targets) in [
            ("fromJobOrders", "jobOrder", vec![("j-3", 1.0)]),
            ("fromJobOrders", "jobOrder", vec![("j-3", 0.0)]),
            ("fromJobOrders", "jobOrder", vec![("mi-1", 1.0)]),
            ("fromJobOrders", "jobOrder", vec![("j-1", 1.0), ("j-1", 1.0)]),
            ("fromMissions", "mission", vec![("mi-2", 1.0)]),
            ("fromMissions", "mission", vec![("mi-1", 4.001)]),
            // The named amount exceeds the amount that is taken.
            ("fromMissions", "mission", vec![("mi-1", 3.5)]),
        ] {
            ops.push(with_field(take.clone(), list, shares(name, ORE, &targets)));
        }
    }
    refused(&fixture, &first(), ops, "EARMARK_TARGET_INVALID").await;
}

/// OST-39: material, location, unit and stolen marker are checked as for stock.
#[tokio::test]
async fn catalogue_and_unit_checks_match_own_stock() {
    let (fixture, entry, three) = pool_with_ten_scu().await;
    let named = |name: &str| with_field(book_in("u-1", &three, ORE, 1), "material", json!({ "name": name }));
    refused(&fixture, &first(), vec![named("No Such Stuff")], "UNMATCHED").await;
    refused(&fixture, &first(), vec![named("Same Stuff")], "AMBIGUOUS").await;
    let nowhere = |op: Value| with_field(op, "location", json!({ "name": "Cellar" }));
    let ops = vec![
        nowhere(book_in("u-1", &three, ORE, 1)),
        nowhere(build_partial_op("move-location", "u-1", &entry, ORE, 1)),
    ];
    refused(&fixture, &first(), ops, "LOCATION_UNKNOWN").await;
    let pieces =
        every_op("u-1", &entry, "u-1", &three, "Station").into_iter().filter(|op| op["op"] != "note");
    let mut ops: Vec<Value> = pieces.map(|op| with_field(op, "quantity", quantity(PARTS, 1))).collect();
    ops.push(with_field(book_in("u-1", &three, ORE, 1), "quantity", quantity(GUN, 1)));
    ops.push(with_field(
        book_in("u-1", &three, ORE, 1),
        "jobOrders",
        shares("jobOrder", GUN, &[("j-1", 1.0)]),
    ));
    ops.push(with_field(
        build_partial_op("book-out", "u-1", &entry, ORE, 1),
        "fromMissions",
        shares("mission", GUN, &[("mi-1", 1.0)]),
    ));
    refused(&fixture, &first(), ops, "UNIT_MISMATCH").await;
    fixture.sql("INSERT INTO setting (name, value) VALUES ('stolen-marking', 'off')").await;
    let mark = with_field(build_op("stolen", "u-1", &entry), "stolen", json!(true));
    let ops = vec![
        book_in("u-1", &three, ORE.stolen(), 1),
        mark.clone(),
        with_field(mark.clone(), "quantity", quantity(ORE, 1)),
    ];
    refused(&fixture, &first(), ops, "STOLEN_MARKING_DISABLED").await;
    // A43: an op after which no stock is marked as stolen is allowed.
    let nothing =
        vec![book_in("u-1", &three, ORE.stolen(), 0), with_field(mark, "quantity", quantity(ORE, 0))];
    fixture.check(&first(), CHANGE, nothing, &["0 unchanged -", "1 unchanged -"]).await;
}

/// A19: an op that violates two rules is rejected for the one that is checked first.
#[tokio::test]
async fn first_failed_check_determines_the_reason() {
    let (fixture, (id, version), three) = pool_with_ten_scu().await;
    let (current, stale) = ((id.clone(), version), (id, version + 7));
    let holder =
        |op: Value, holder: &str| with_field(with_field(op, "toUnit", json!("u-1")), "holder", json!(holder));
    let place = |op: Value, place: &str| with_field(op, "location", json!({ "name": place }));
    let material = |op: Value| with_field(op, "material", json!({ "name": "No Such Stuff" }));
    let check = async |op: Value, expected: &str| {
        fixture.check(&first(), CHANGE, vec![op], &[&format!("0 {expected}")]).await;
    };
    check(
        holder(build_partial_op("move-holder", "u-3", &current, ORE, 1), "nobody"),
        "rejected NOT_PERMITTED",
    )
    .await;
    check(material(book_in("u-3", "nobody", ORE, 1)), "rejected NOT_PERMITTED").await;
    check(material(book_in("u-1", "nobody", ORE, 1)), "rejected HOLDER_UNKNOWN").await;
    check(place(material(book_in("u-1", &three, ORE, 1)), "Nowhere"), "unmatched UNMATCHED").await;
    check(
        place(with_field(book_in("u-1", &three, ORE, 1), "quantity", quantity(GUN, 1)), "Nowhere"),
        "rejected LOCATION_UNKNOWN",
    )
    .await;
    check(
        holder(build_partial_op("move-holder", "u-1", &current, GUN, 1), "nobody"),
        "rejected HOLDER_UNKNOWN",
    )
    .await;
    check(
        place(build_partial_op("move-location", "u-1", &stale, GUN, 1), "Nowhere"),
        "rejected LOCATION_UNKNOWN",
    )
    .await;
    check(build_partial_op("book-out", "u-1", &stale, GUN, 1), "rejected UNIT_MISMATCH").await;
    check(build_partial_op("book-out", "u-1", &stale, ORE, 99), "rejected VERSION_CONFLICT").await;
    check(
        place(build_partial_op("move-location", "u-1", &stale, ORE, 1), "City"),
        "rejected VERSION_CONFLICT",
    )
    .await;
    check(place(build_partial_op("move-location", "u-1", &current, ORE, 99), "City"), "unchanged -").await;
    let unknown = with_field(
        build_partial_op("book-out", "u-1", &current, ORE, 99),
        "fromMissions",
        shares("mission", ORE, &[("mi-1", 1.0)]),
    );
    check(unknown, "rejected EARMARK_TARGET_INVALID").await;
    let over =
        with_field(book_in("u-1", &three, ORE, 1), "jobOrders", shares("jobOrder", ORE, &[("j-3", 9.0)]));
    check(over, "rejected EARMARK_TARGET_INVALID").await;
    let op = with_field(
        with_field(build_op("stolen", "u-1", &stale), "stolen", json!(true)),
        "quantity",
        quantity(METAL, 99),
    );
    check(op.clone(), "rejected VERSION_CONFLICT").await;
    fixture.sql("INSERT INTO setting (name, value) VALUES ('stolen-marking', 'off')").await;
    check(op, "rejected STOLEN_MARKING_DISABLED").await;
}
