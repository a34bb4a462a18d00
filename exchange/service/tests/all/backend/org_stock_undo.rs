//! Tests of the undo of org stock: reverted entries, conflicts with their reasons, and notices.

use exchange_service::backend::EarmarkPurpose;
use exchange_service::backend::undo::{
    UndoArea, UndoAuthority, UndoConflict, UndoMode, UndoOutcome, UndoProcess, UndoSelection,
};
use exchange_service::members::UnitRole;

use super::drafts_pages::Browser;
use super::org_stock::*;
use super::org_stock_writes::{build_op, build_partial_op, earmark, shares};
use super::stock::{GUN, LotKey, METAL, ORE, PARTS, SET, with_field};
use super::*;

/// Undoes the first client's writes for a member since the initial stock, with this authority.
async fn run_undo(
    fixture: &BackendFixture,
    member: &str,
    authority: UndoAuthority,
    mode: UndoMode,
) -> Vec<UndoOutcome> {
    let to = fixture.clock.now();
    let writes =
        UndoSelection { client: "c-1".into(), member: MemberId::new(member), from: to.minus(DAY), to };
    let undo = UndoProcess::new(writes, authority, &[UndoArea::OrgStock], mode);
    fixture.backend().run_undo(undo).await.expect("the undo succeeds")
}

fn format_outcomes(outcomes: &[UndoOutcome]) -> Vec<String> {
    let one = |UndoOutcome { name, result: end, .. }: &UndoOutcome| match end {
        Ok(became) => format!("{name}: {}", became.as_str()),
        Err(conflict) => format!("{name}: {}", conflict.as_str()),
    };
    let mut lines: Vec<String> = outcomes.iter().map(one).collect();
    lines.sort();
    lines
}

/// Undoes the client's writes on behalf of the member: first as a preview, then for real.
async fn undo(fixture: &BackendFixture) -> Vec<String> {
    let before = fixture.everything().await;
    let promised = run_undo(fixture, "m-1", UndoAuthority::Member, UndoMode::Preview).await;
    assert_eq!(fixture.everything().await, before, "a preview changes nothing");
    let done = run_undo(fixture, "m-1", UndoAuthority::Member, UndoMode::Apply).await;
    assert_eq!(promised, done);
    format_outcomes(&done)
}

/// Creates a backend whose initial stock was booked two days ago.
async fn bench_with_stock(list: &[(&str, &str, LotKey, i64)]) -> BackendFixture {
    let fixture = member_fixture().await;
    book_in_stock(&fixture, list).await;
    fixture.sql("DELETE FROM notice").await;
    fixture.clock.advance(2 * DAY);
    fixture
}

async fn apply(fixture: &BackendFixture, ops: Vec<Value>) {
    fixture.check(&first(), CHANGE, ops, &[]).await;
}

/// Returns pools and sales without versions and row order, as lines.
async fn stored(fixture: &BackendFixture) -> Vec<String> {
    let mut lines = fixture
        .rows("SELECT id, member, lot, pool_lot, location, stolen, amount, unit, note, booked_at FROM stock_row ORDER BY id")
        .await;
    for table in ["stock_earmark ORDER BY 1, 2, 3", "stock_sale ORDER BY id", "mission_income ORDER BY 1, 2"]
    {
        lines.extend(fixture.rows(format!("SELECT * FROM {table}")).await);
    }
    lines
}

async fn notices(fixture: &BackendFixture) -> Vec<String> {
    let lines = fixture.rows("SELECT member || ' ' || kind FROM notice ORDER BY 1").await;
    fixture.sql("DELETE FROM notice").await;
    lines
}

/// OST-20 to OST-28: each op is reverted with earmarks, holder, pool, location, stolen marker and note.
/// Versions increase, and holders receive notices (OST-19).
#[tokio::test]
async fn every_op_is_reverted() {
    let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10), ("u-1", "Two", PARTS, 7)]).await;
    let (ore, _) = entry(&fixture, "u-1", ORE).await;
    earmark(&fixture, &ore, EarmarkPurpose::JobOrder, "j-1", 3000).await;
    earmark(&fixture, &ore, EarmarkPurpose::Mission, "mi-1", 2000).await;
    fixture.clock.advance(2 * DAY);
    let (before, seen) = (stored(&fixture).await, lots(&fixture, &first()).await);
    let three = reference(&fixture, &first(), "u-1", "Three").await;
    let two = reference(&fixture, &first(), "u-1", "Two").await;
    let entry_at_version = |version| (ore.clone(), version);
    let mut sale = build_partial_op("sell", "u-1", &entry_at_version(3), ORE, 2);
    sale = with_field(with_field(sale, "terminal", json!("Port")), "proceeds", json!(999));
    sale = with_field(sale, "fromMissions", shares("mission", ORE, &[("mi-1", 1.0)]));
    let take = with_field(
        build_partial_op("book-out", "u-1", &entry_at_version(3), ORE, 3),
        "fromJobOrders",
        shares("jobOrder", ORE, &[("j-1", 2.0)]),
    );
    let station = json!({ "name": "Station" });
    let (parts, _) = entry(&fixture, "u-1", PARTS).await;
    // Each row: the client's ops, the expected report, and whether the holder receives a notice.
    let acts: Vec<(Vec<Value>, Vec<&str>, bool)> = vec![
        (vec![book_in("u-1", &two, ORE.quality(4), 5)], vec!["Quanta Ore, City, quality 4: removed"], true),
        (vec![take], vec!["Quanta Ore, City: changed"], true),
        (vec![sale], vec!["Quanta Ore, City: changed", "Quanta Ore, sold at Port: removed"], true),
        (
            vec![with_field(
                build_partial_op("move-location", "u-1", &entry_at_version(3), ORE, 4),
                "location",
                station,
            )],
            vec!["Quanta Ore, City: changed", "Quanta Ore, Station: removed"],
            true,
        ),
        (
            vec![with_field(
                with_field(
                    build_partial_op("move-holder", "u-1", &entry_at_version(3), ORE, 5),
                    "toUnit",
                    json!("u-1"),
                ),
                "holder",
                json!(three),
            )],
            vec!["Quanta Ore, City: changed", "Quanta Ore, City: removed"],
            true,
        ),
        (
            vec![with_field(build_op("move-pool", "u-1", &entry_at_version(3)), "toUnit", json!("u-2"))],
            vec!["Quanta Ore, City: changed"],
            true,
        ),
        (
            vec![with_field(
                build_partial_op("move-pool", "u-1", &(parts.clone(), 1), PARTS, 4),
                "toUnit",
                json!("u-2"),
            )],
            vec!["Spare Parts, City: changed", "Spare Parts, City: removed"],
            true,
        ),
        (
            vec![with_field(build_op("note", "u-1", &entry_at_version(3)), "note", json!("hm"))],
            vec!["Quanta Ore, City: changed"],
            false,
        ),
        (
            vec![with_field(build_op("stolen", "u-1", &entry_at_version(3)), "stolen", json!(true))],
            vec!["Quanta Ore, City: changed"],
            false,
        ),
        (
            vec![with_field(
                build_partial_op("stolen", "u-1", &(parts.clone(), 1), PARTS, 3),
                "stolen",
                json!(true),
            )],
            vec!["Spare Parts, City, stolen: removed", "Spare Parts, City: changed"],
            true,
        ),
    ];
    for (mut ops, expect, is_told) in acts {
        // Undo increases versions.
        for op in &mut ops {
            if let Some(id) = op.get("entry").and_then(Value::as_str) {
                let version =
                    fixture.rows(format!("SELECT version FROM stock_row WHERE id = '{id}'")).await.remove(0);
                let version = version.trim_start_matches("Integer(").trim_end_matches(')');
                op["version"] = json!(version.parse::<i64>().expect("a number"));
            }
        }
        apply(&fixture, ops).await;
        assert_ne!(stored(&fixture).await, before);
        notices(&fixture).await;
        let mut cursor = String::new();
        fixture.page(&first(), POOLS, &mut cursor).await;
        assert_eq!(undo(&fixture).await, expect);
        assert_eq!(stored(&fixture).await, before, "{expect:?}");
        let holders = notices(&fixture).await;
        assert_eq!(holders.contains(&"Text(\"m-2 org-stock.undo\")".to_owned()), is_told, "{expect:?}");
        // FED-04: the feed contains the undo.
        let (items, removed) = fixture.page(&first(), POOLS, &mut cursor).await;
        assert!(items.len() + removed.len() > 0, "{expect:?}");
        fixture.clock.advance(Duration::from_secs(1));
        assert_eq!(undo(&fixture).await, [""; 0], "{expect:?} is undone completely");
    }
    let without_versions = |lots: Vec<String>| -> Vec<String> {
        lots.iter()
            .map(|lot| lot.split_whitespace().filter(|part| !part.starts_with('v')).collect())
            .collect()
    };
    assert_eq!(without_versions(lots(&fixture, &first()).await), without_versions(seen));
}

/// OST-20 to OST-26: either both sides of a move are reverted or neither, so that no stock is lost or
/// duplicated.
#[tokio::test]
async fn both_sides_of_a_move_are_reverted_or_none() {
    let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10), ("u-1", "Two", GUN, 5)]).await;
    let (ore, gun) = (entry(&fixture, "u-1", ORE).await, entry(&fixture, "u-1", GUN).await);
    let station = json!({ "name": "Station" });
    let to_station = |entry, lot_key, amount| {
        with_field(
            build_partial_op("move-location", "u-1", entry, lot_key, amount),
            "location",
            station.clone(),
        )
    };
    apply(&fixture, vec![to_station(&ore, ORE, 4), to_station(&gun, GUN, 5)]).await;
    let part = entry(&fixture, "u-1", ORE.place("Station")).await;
    apply_on_web(&fixture, "m-1", vec![build_partial_op("book-out", "u-1", &part, ORE, 1)]).await;
    let expect = [
        "Quanta Cannon, City: restored",
        "Quanta Cannon, Station: removed",
        "Quanta Ore, City: linked-entry",
        "Quanta Ore, Station: changed-since",
    ];
    assert_eq!(undo(&fixture).await, expect);
    let rows = fixture.rows("SELECT id, amount, version FROM stock_row WHERE kind = 'ITEM'").await;
    assert_eq!(
        rows,
        [format!("Text(\"{}\") Integer(5) Integer(2)", gun.0)],
        "the entry has its previous id and a new version"
    );
    assert_eq!(
        fixture.rows("SELECT sum(amount) FROM stock_row WHERE kind = 'MATERIAL'").await,
        ["Integer(9000)"]
    );
}

/// OST-22: a sale is reverted with the missions' income and the sold stock, or not at all.
#[tokio::test]
async fn sale_is_reverted_completely_or_not_at_all() {
    for is_changed in [false, true] {
        let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10)]).await;
        let (id, _) = entry(&fixture, "u-1", ORE).await;
        earmark(&fixture, &id, EarmarkPurpose::Mission, "mi-1", 6000).await;
        fixture.clock.advance(2 * DAY);
        let before = stored(&fixture).await;
        let mut sale =
            with_field(build_partial_op("sell", "u-1", &(id, 2), ORE, 6), "terminal", json!("Port"));
        sale = with_field(
            with_field(sale, "proceeds", json!(600)),
            "fromMissions",
            shares("mission", ORE, &[("mi-1", 6.0)]),
        );
        apply(&fixture, vec![sale]).await;
        assert_eq!(
            fixture.rows("SELECT mission, amount FROM mission_income").await,
            ["Text(\"mi-1\") Integer(600)"]
        );
        if is_changed {
            fixture.sql("UPDATE mission_income SET amount = 500").await;
            let sold = stored(&fixture).await;
            assert_eq!(
                undo(&fixture).await,
                ["Quanta Ore, City: linked-entry", "Quanta Ore, sold at Port: sale-changed"]
            );
            assert_eq!(stored(&fixture).await, sold);
        } else {
            assert_eq!(
                undo(&fixture).await,
                ["Quanta Ore, City: changed", "Quanta Ore, sold at Port: removed"]
            );
            assert_eq!(stored(&fixture).await, before);
        }
    }
}

/// OST-31, OST-32, OST-34 to OST-38: conflicting entries are not reverted, and the reasons are reported.
#[tokio::test]
async fn conflicting_entries_are_not_reverted() {
    let station = || json!({ "name": "Station" });
    let holder = "DELETE FROM membership WHERE member = 'm-2' AND unit = 'u-1'";
    let hindered: [(&str, &str, &str); 9] = [
        ("take", "UPDATE job_order SET state = 'completed'", "target-ended"),
        ("take", "DELETE FROM stock_earmark WHERE kind = 'mission'", "changed-since"),
        ("take", "INSERT INTO stock_earmark SELECT id, 'donation', 'd', 1000, 0 FROM stock_row", "reserved"),
        ("take", "UPDATE stock_row SET amount = amount - 1", "changed-since"),
        ("take", "UPDATE stock_row SET note = 'mine'", "changed-since"),
        (
            "book-in",
            "INSERT INTO stock_offer SELECT 'o-1', id, 1 FROM stock_row WHERE quality = 9",
            "offered",
        ),
        ("take-all", holder, "holder-left"),
        ("take-all", "UPDATE member SET state = 'deleted' WHERE id = 'm-2'", "holder-left"),
        ("take", "UPDATE membership SET logistician = 0 WHERE member = 'm-1'", "not-permitted"),
    ];
    for (act, sql, reason) in hindered {
        let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10)]).await;
        let (id, _) = entry(&fixture, "u-1", ORE).await;
        earmark(&fixture, &id, EarmarkPurpose::JobOrder, "j-1", 5000).await;
        earmark(&fixture, &id, EarmarkPurpose::Mission, "mi-2", 1000).await;
        fixture.clock.advance(2 * DAY);
        let two = reference(&fixture, &first(), "u-1", "Two").await;
        let jobs = |amount| shares("jobOrder", ORE, &[("j-1", amount)]);
        let take = |amount| build_partial_op("book-out", "u-1", &(id.clone(), 3), ORE, amount);
        let op = match act {
            "take" => with_field(take(4), "fromJobOrders", jobs(2.0)),
            "take-all" => {
                let take = with_field(take(10), "fromJobOrders", jobs(5.0));
                with_field(take, "fromMissions", shares("mission", ORE, &[("mi-2", 1.0)]))
            }
            _ => book_in("u-1", &two, ORE.quality(9), 2),
        };
        apply(&fixture, vec![op]).await;
        fixture.sql(sql).await;
        let before = stored(&fixture).await;
        let done = run_undo(&fixture, "m-1", UndoAuthority::Member, UndoMode::Apply).await;
        let ends: Vec<&str> =
            done.iter().map(|one| one.result.as_ref().err().map_or("done", UndoConflict::as_str)).collect();
        assert_eq!(ends, [reason], "{act}: {sql}");
        assert_eq!(stored(&fixture).await, before, "{act}: {sql}");
    }
    // Another author changes the entry between two changes of the client.
    let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10)]).await;
    fixture
        .backend()
        .set_role(&MemberId::new("m-2"), &"u-1".into(), Some(UnitRole::Logistician))
        .await
        .expect("the role can be set");
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    apply(&fixture, vec![build_partial_op("book-out", "u-1", &(id.clone(), 1), ORE, 1)]).await;
    apply_on_web(&fixture, "m-2", vec![build_partial_op("book-out", "u-1", &(id.clone(), 2), ORE, 1)]).await;
    apply(
        &fixture,
        vec![with_field(build_partial_op("move-location", "u-1", &(id, 3), ORE, 1), "location", station())],
    )
    .await;
    assert_eq!(
        undo(&fixture).await,
        ["Quanta Ore, City: changed-since", "Quanta Ore, Station: linked-entry"]
    );
}

/// An administrator's undo is a change by the system with a notice to the member. The member's current roles
/// do not matter.
#[tokio::test]
async fn administrator_reverts_logistician_changes() {
    let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10)]).await;
    let (id, _) = entry(&fixture, "u-1", ORE).await;
    apply(&fixture, vec![build_partial_op("book-out", "u-1", &(id, 1), ORE, 4)]).await;
    fixture.sql("DELETE FROM notice; DELETE FROM membership WHERE member = 'm-1'").await;
    let done =
        run_undo(&fixture, "m-1", UndoAuthority::Administrator("root".to_owned()), UndoMode::Apply).await;
    assert_eq!(format_outcomes(&done), ["Quanta Ore, City: changed"]);
    assert_eq!(fixture.rows("SELECT amount, version FROM stock_row").await, ["Integer(10000) Integer(3)"]);
    let journal =
        fixture.rows("SELECT area, channel, undoes IS NOT NULL FROM journal ORDER BY id DESC LIMIT 1").await;
    assert_eq!(journal, ["Text(\"org-stock\") Text(\"system\") Integer(1)"]);
    let sent_notices = notices(&fixture).await;
    assert_eq!(sent_notices, ["Text(\"m-1 writes-undone\")", "Text(\"m-2 org-stock.undo\")"]);
    let audit = fixture.rows("SELECT actor, client, detail FROM audit WHERE action = 'org-stock.undo'").await;
    assert_eq!(audit.len(), 1, "{audit:?}");
    assert!(
        audit[0].starts_with("Text(\"administrator:root\") Text(\"c-1\")")
            && audit[0].contains("1 set back, 0 removed"),
        "{audit:?}"
    );
}

/// OST-19: the notices for a holder name the author of the undo and the client whose changes were undone; an
/// administrator is not named.
#[tokio::test]
async fn holder_notices_name_the_author_of_the_undo() {
    for (authority, expect) in [
        (UndoAuthority::Member, "<bdi>One</bdi> undid changes by <bdi>First client</bdi> to stock"),
        (
            UndoAuthority::Administrator("root".to_owned()),
            "<p>An administrator undid changes by <bdi>First client</bdi> to stock",
        ),
    ] {
        let fixture = bench_with_stock(&[("u-1", "Two", ORE, 10)]).await;
        let (id, _) = entry(&fixture, "u-1", ORE).await;
        apply(&fixture, vec![build_partial_op("book-out", "u-1", &(id, 1), ORE, 4)]).await;
        fixture.sql("DELETE FROM notice").await;
        fixture.clock.advance(Duration::from_secs(1));
        run_undo(&fixture, "m-1", authority, UndoMode::Apply).await;
        Browser::for_member(&fixture, "m-2").await.open("/notices").await.expect(200, expect);
    }
}

/// Returns the total stock of each lot.
async fn held(fixture: &BackendFixture) -> Vec<String> {
    fixture
        .rows("SELECT material || ' ' || (sum(amount) / 1000) FROM stock_row GROUP BY lot ORDER BY 1")
        .await
}

/// STK-16, OST-21: stock and org stock change the same rows, so a client's changes in both areas are undone
/// in reverse order, back to the first one. A preview checks once, and a second run finds nothing to undo.
#[tokio::test]
async fn changes_of_both_areas_are_reverted_in_turn() {
    let stocked_up = ["Text(\"metal 10\")", "Text(\"ore 10\")"];
    let own = [UndoArea::Stock, UndoArea::OrgStock];
    let orders = [UndoArea::ALL.to_vec(), own.to_vec(), vec![own[1], own[0]], own.repeat(2)];
    for (areas, one_by_one) in orders.into_iter().flat_map(|areas| [(areas.clone(), false), (areas, true)]) {
        let fixture = bench_with_stock(&[("u-1", "One", ORE, 10), ("u-1", "One", METAL, 10)]).await;
        let writes =
            |from, to| UndoSelection { client: "c-1".into(), member: MemberId::new("m-1"), from, to };
        let run = async |writes: &UndoSelection, areas: &[UndoArea], mode| {
            let done =
                fixture.backend().undo_writes(writes.clone(), areas, mode).await.expect("the undo succeeds");
            let mut ends: Vec<String> = done
                .iter()
                .map(|UndoOutcome { area, name, result: end, .. }| {
                    let end = end.as_ref().map_or_else(UndoConflict::as_str, |became| became.as_str());
                    format!("{} {name}: {end}", area.as_str())
                })
                .collect();
            ends.sort();
            ends
        };
        // The member lowers stock and the Logistician books stock out, in either order.
        let lower = async |lot_key: LotKey, from, to| {
            fixture.clock.advance(Duration::from_secs(1));
            fixture.check(&first(), SET, vec![lot_key.set(from, to)], &[]).await;
        };
        let book_out = async |lot_key: LotKey, amount| {
            fixture.clock.advance(Duration::from_secs(1));
            apply(
                &fixture,
                vec![build_partial_op(
                    "book-out",
                    "u-1",
                    &entry(&fixture, "u-1", lot_key).await,
                    lot_key,
                    amount,
                )],
            )
            .await;
        };
        let began = fixture.clock.now();
        lower(ORE, 10, 8).await;
        book_out(ORE, 3).await;
        book_out(METAL, 1).await;
        lower(METAL, 9, 5).await;
        assert_eq!(held(&fixture).await, ["Text(\"metal 5\")", "Text(\"ore 5\")"]);
        let every_change = writes(began, fixture.clock.now());
        if one_by_one {
            // An undo of one area reverts the changes that the other area did not change later.
            let [stock, pools] = own.map(|area| [area]);
            let ends = run(&every_change, &stock, UndoMode::Apply).await;
            assert_eq!(ends, ["stock Quanta Metal, City: changed", "stock Quanta Ore, City: changed-since"]);
            let ends = run(&every_change, &pools, UndoMode::Apply).await;
            assert_eq!(
                ends,
                ["org-stock Quanta Metal, City: changed", "org-stock Quanta Ore, City: changed"]
            );
            assert_eq!(
                run(&every_change, &stock, UndoMode::Apply).await,
                ["stock Quanta Ore, City: changed"]
            );
        } else {
            let before = fixture.everything().await;
            let preview = run(&every_change, &areas, UndoMode::Preview).await;
            assert_eq!(fixture.everything().await, before);
            let looked_once = [
                "org-stock Quanta Metal, City: changed-since",
                "org-stock Quanta Ore, City: changed",
                "stock Quanta Metal, City: changed",
                "stock Quanta Ore, City: changed-since",
            ];
            assert_eq!(preview, looked_once);
            let done = run(&every_change, &areas, UndoMode::Apply).await;
            assert_eq!(done, looked_once.map(|end| end.replace("-since", "")));
        }
        assert_eq!(held(&fixture).await, stocked_up, "{areas:?}");
        assert_eq!(run(&every_change, &areas, UndoMode::Apply).await, [""; 0], "no change is left to undo");

        // A change in one area between two changes of the other area is a conflict for both. Undoing spans
        // one by one, from the last change back, succeeds.
        let mut spans = Vec::new();
        let began = fixture.clock.now().plus(Duration::from_millis(1));
        for (from, to) in [(10, 8), (7, 4)] {
            lower(ORE, from, to).await;
            spans.push(fixture.clock.now());
            if to == 8 {
                book_out(ORE, 1).await;
                spans.push(fixture.clock.now());
            }
        }
        let both = ["org-stock Quanta Ore, City: changed-since", "stock Quanta Ore, City: changed-since"];
        let every_change = writes(began, fixture.clock.now());
        for mode in [UndoMode::Preview, UndoMode::Apply, UndoMode::Apply] {
            assert_eq!(run(&every_change, &areas, mode).await, both);
        }
        assert_eq!(held(&fixture).await, ["Text(\"metal 10\")", "Text(\"ore 4\")"]);
        for lot_key in spans.into_iter().rev() {
            let ends = run(&writes(lot_key, every_change.to), &areas, UndoMode::Apply).await;
            assert!(ends.len() == 1 && ends[0].ends_with("Quanta Ore, City: changed"), "{ends:?}");
        }
        assert_eq!(held(&fixture).await, stocked_up, "{areas:?}");
    }
}

/// STK-16, OST-21: a holder's rows are in the journal of each Logistician who booked them. A client's changes
/// for several members are undone in reverse order, for any order of members. An undo for only one member
/// leaves them unchanged.
#[tokio::test]
async fn changes_for_several_members_are_reverted_in_turn() {
    for members in [["m-1", "m-3"], ["m-3", "m-1"]] {
        let fixture = bench_with_stock(&[
            ("u-1", "Three", ORE, 10),
            ("u-1", "Three", METAL, 10),
            ("u-1", "Three", GUN, 10),
        ])
        .await;
        let (one, three) = (first(), third_member());
        fixture
            .backend()
            .set_role(&MemberId::new("m-3"), &"u-1".into(), Some(UnitRole::Logistician))
            .await
            .expect("the role can be set");
        let before = stored(&fixture).await;
        let lower = async |lot_key: LotKey, from, to| {
            fixture.clock.advance(Duration::from_secs(1));
            fixture.check(&three, SET, vec![lot_key.set(from, to)], &[]).await;
        };
        let book_out = async |caller: &Caller, lot_key: LotKey, amount| {
            fixture.clock.advance(Duration::from_secs(1));
            let op =
                build_partial_op("book-out", "u-1", &entry(&fixture, "u-1", lot_key).await, lot_key, amount);
            fixture.check(caller, CHANGE, vec![op], &[]).await;
        };
        // The holder's change precedes the Logistician's, follows it, and one Logistician's change follows
        // another's.
        lower(ORE, 10, 8).await;
        book_out(&one, ORE, 3).await;
        book_out(&one, METAL, 1).await;
        lower(METAL, 9, 5).await;
        book_out(&one, GUN, 2).await;
        book_out(&three, GUN, 3).await;
        let to = fixture.clock.now();
        let run = async |members: &[&str], mode| {
            let writes = |member: &&str| UndoSelection {
                client: "c-1".into(),
                member: MemberId::new(*member),
                from: to.minus(DAY),
                to,
            };
            let undo = UndoProcess::new(
                writes(&members[0]),
                UndoAuthority::Administrator("root".to_owned()),
                &UndoArea::ALL,
                mode,
            );
            let undo = undo.with_members(members[1..].iter().map(|member| MemberId::new(*member)));
            let done = fixture.backend().run_undo(undo).await.expect("the undo succeeds");
            let describe_outcome = |UndoOutcome { member, area, name, result: end, .. }: &UndoOutcome| {
                let end = end.as_ref().map_or_else(UndoConflict::as_str, |became| became.as_str());
                format!("{member} {} {name}: {end}", area.as_str())
            };
            let mut lines: Vec<String> = done.iter().map(describe_outcome).collect();
            assert!(lines.is_sorted_by_key(|line| line[..3].to_owned()), "undo for each member: {lines:?}");
            lines.sort();
            lines
        };
        let looked_once = [
            "m-1 org-stock Quanta Cannon, City: changed-since",
            "m-1 org-stock Quanta Metal, City: changed-since",
            "m-1 org-stock Quanta Ore, City: changed",
            "m-3 org-stock Quanta Cannon, City: changed",
            "m-3 stock Quanta Metal, City: changed",
            "m-3 stock Quanta Ore, City: changed-since",
        ];
        assert_eq!(run(&members, UndoMode::Preview).await, looked_once);
        fixture.sql("DELETE FROM notice").await;
        assert_eq!(run(&members, UndoMode::Apply).await, looked_once.map(|end| end.replace("-since", "")));
        assert_eq!(stored(&fixture).await, before, "{members:?}");
        let undone = fixture.rows("SELECT member FROM notice WHERE kind = 'writes-undone' ORDER BY 1").await;
        assert_eq!(undone, ["Text(\"m-1\")", "Text(\"m-3\")"], "each member receives one notice");
        assert_eq!(run(&members, UndoMode::Apply).await, [""; 0], "no change is left to undo");
    }
}

/// STK-16: if another Logistician's booking lies between two changes of the member's stock, these are not
/// reverted.
#[tokio::test]
async fn interleaved_foreign_booking_is_not_reverted() {
    let fixture = bench_with_stock(&[("u-1", "One", ORE, 10), ("u-1", "One", METAL, 10)]).await;
    let two = MemberId::new("m-2");
    fixture
        .backend()
        .set_role(&two, &"u-1".into(), Some(UnitRole::Logistician))
        .await
        .expect("the role can be set");
    let set = async |ops| fixture.check(&first(), SET, ops, &[]).await;
    set(vec![ORE.set(10, 8), METAL.set(10, 8)]).await;
    let (ore, metal) = (entry(&fixture, "u-1", ORE).await, entry(&fixture, "u-1", METAL).await);
    apply_on_web(&fixture, "m-2", vec![build_partial_op("book-out", "u-1", &ore, ORE, 3)]).await;
    let other_rows =
        vec![build_partial_op("book-out", "u-1", &metal, METAL, 3), book_in("u-1", "m-1", METAL, 3)];
    apply_on_web(&fixture, "m-2", other_rows).await;
    set(vec![ORE.set(5, 4), METAL.set(8, 1)]).await;
    let before = fixture.everything().await;
    let to = fixture.clock.now();
    let writes =
        UndoSelection { client: "c-1".into(), member: MemberId::new("m-1"), from: to.minus(DAY), to };
    let done = fixture
        .backend()
        .undo_writes(writes, &UndoArea::ALL, UndoMode::Apply)
        .await
        .expect("the undo succeeds");
    assert_eq!(
        format_outcomes(&done),
        ["Quanta Metal, City: changed-since", "Quanta Ore, City: changed-since"]
    );
    assert_eq!(fixture.everything().await, before);
}
