//! Tests of the effects of stock ops on rows: booking order, re-marking, offers, removals, and the events in
//! pool feeds and journal.

use exchange_service::backend::EntryChange;
use exchange_service::backend::StockOwnership;
use exchange_service::backend::confirm::{BatchPreview, HandoffToken};
use exchange_service::feed::ChangeAuthor;

use super::stock::*;
use super::*;

/// Formats every row as material, amount, ownership, `!` for stolen, and version.
async fn rows(fixture: &BackendFixture) -> Vec<String> {
    let sql = "SELECT material || ' ' || amount || ' ' || CASE WHEN unit IS NOT NULL THEN unit \
               WHEN shared THEN 'shared' ELSE 'personal' END || CASE WHEN stolen THEN '!' ELSE '' END \
               || ' v' || version FROM stock_row WHERE member = 'm-1' ORDER BY number";
    let text = |row: String| row.trim_start_matches("Text(\"").trim_end_matches("\")").to_owned();
    fixture.rows(sql).await.into_iter().map(text).collect()
}

/// Adds a lot of four rows, each a second younger than the previous one: 1 in the pool of `u-1`, 2 shared, 3
/// and 4 personal.
async fn four_rows(fixture: &BackendFixture, lot_key: LotKey) {
    let mut held = 0;
    for (amount, keeping) in [
        (1, Some(StockOwnership::Pool("u-1".into()))),
        (2, Some(StockOwnership::Shared)),
        (3, None),
        (4, None),
    ] {
        fixture.check(&first(), SET, vec![lot_key.set(held, held + amount)], &[]).await;
        held += amount;
        if let Some(keeping) = keeping {
            let (shared, unit) = match &keeping {
                StockOwnership::Pool(unit) => (1, format!("'{unit}'")),
                _ => (1, "NULL".to_owned()),
            };
            // Updates only this row; rows that were rebooked before keep their ownership.
            let pool = if unit == "NULL" { "NULL" } else { "'p'" };
            fixture
                .sql(format!(
                    "UPDATE stock_row SET shared = {shared}, unit = {unit}, pool_lot = {pool} \
                     WHERE number = (SELECT max(number) FROM stock_row)"
                ))
                .await;
        }
        fixture.clock.advance(Duration::from_secs(1));
    }
}

/// STK-15, TYP-07: an increase becomes personal stock; pieces join an existing row.
#[tokio::test]
async fn increase_becomes_personal_stock() {
    let fixture = BackendFixture::new().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5), PARTS.set(0, 5), GUN.set(0, 1)], &[]).await;
    fixture.check(&first(), SET, vec![ORE.set(5, 6), PARTS.set(5, 6), GUN.set(1, 3)], &[]).await;
    let expected =
        ["gun 3 personal v2", "ore 5000 personal v1", "parts 6 personal v2", "ore 1000 personal v1"];
    assert_eq!(rows(&fixture).await, expected);
    // New personal stock does not join shared stock.
    rebook(&fixture, PARTS, StockOwnership::Pool("u-1".into())).await;
    fixture.check(&first(), SET, vec![PARTS.set(6, 8)], &[]).await;
    assert_eq!(rows(&fixture).await[2..], ["parts 6 u-1 v3", "ore 1000 personal v1", "parts 2 personal v1"]);
}

/// STK-16: a decrease takes personal stock first, then shared stock outside of pools, then pools, each from
/// the oldest row.
#[tokio::test]
async fn decrease_takes_personal_stock_first() {
    let fixture = BackendFixture::unguarded().await;
    four_rows(&fixture, ORE).await;
    let four = ["ore 1000 u-1 v1", "ore 2000 shared v1", "ore 3000 personal v1", "ore 4000 personal v1"];
    assert_eq!(rows(&fixture).await, four);
    for (held, target, left) in [
        (
            json!(10),
            json!(9.5),
            vec!["ore 1000 u-1 v1", "ore 2000 shared v1", "ore 2500 personal v2", "ore 4000 personal v1"],
        ),
        (json!(9.5), json!(6), vec!["ore 1000 u-1 v1", "ore 2000 shared v1", "ore 3000 personal v2"]),
        (json!(6), json!(2.5), vec!["ore 1000 u-1 v1", "ore 1500 shared v2"]),
        (json!(2.5), json!(0.25), vec!["ore 250 u-1 v2"]),
        (json!(0.25), json!(0), vec![]),
    ] {
        fixture.check(&first(), SET, vec![ORE.set(held, target)], &[]).await;
        assert_eq!(rows(&fixture).await, left);
    }
    // Of two equal rows, the older one is taken.
    fixture.check(&first(), SET, vec![ORE.set(0, 1)], &[]).await;
    fixture.clock.step_back(Duration::from_secs(60));
    fixture.check(&first(), SET, vec![ORE.set(1, 3)], &[]).await;
    fixture.check(&first(), SET, vec![ORE.set(3, 2)], &[]).await;
    assert_eq!(rows(&fixture).await, ["ore 1000 personal v1", "ore 1000 personal v2"]);
}

/// STK-13, STK-16: the part of a row that is reserved for job orders or missions is never taken; both kinds
/// may overlap.
#[tokio::test]
async fn reserved_stock_is_never_booked_out() {
    let fixture = BackendFixture::unguarded().await;
    four_rows(&fixture, ORE).await;
    fixture
        .sql(
            "INSERT INTO stock_earmark SELECT id, 'job-order', 'j-1', 500, 0 FROM stock_row WHERE amount = 3000;
             INSERT INTO stock_earmark SELECT id, 'job-order', 'j-2', 700, 1 FROM stock_row WHERE amount = 3000;
             INSERT INTO stock_earmark SELECT id, 'mission', 'm-1', 900, 0 FROM stock_row WHERE amount = 3000;
             INSERT INTO stock_earmark SELECT id, 'mission', 'm-1', 1000, 0 FROM stock_row WHERE amount = 1000;",
        )
        .await;
    let refused: &[&str] = &["0 rejected STOCK_EARMARKED"];
    fixture.check(&first(), SET, vec![ORE.set(10, json!(2.199))], refused).await;
    fixture.check(&first(), SET, vec![ORE.set(10, 0)], refused).await;
    fixture.check(&first(), SET, vec![ORE.set(10, json!(2.2))], &[]).await;
    assert_eq!(rows(&fixture).await, ["ore 1000 u-1 v1", "ore 1200 personal v2"]);
    fixture
        .check(&first(), SET, vec![ORE.set(json!(2.2), 3), ORE.set(3, 2)], &["1 rejected STOCK_EARMARKED"])
        .await;
}

async fn offer(fixture: &BackendFixture, id: &str, material: &str, amount: i64) {
    fixture
        .sql(format!(
            "INSERT INTO stock_offer SELECT '{id}', id, {amount} FROM stock_row WHERE material = '{material}'"
        ))
        .await;
}

/// STK-17, WRT-07, A42: offers are lowered to the remaining stock and end with it. Each is counted once, also
/// in a dry run, and audited.
#[tokio::test]
async fn offers_are_lowered_to_the_remaining_stock() {
    let fixture = BackendFixture::unguarded().await;
    let ops = vec![ORE.set(0, 10), METAL.set(0, 10), PARTS.set(0, 10), GUN.set(0, 10)];
    fixture.check(&first(), SET, ops, &[]).await;
    for (id, material, amount) in
        [("o-1", "ore", 6000), ("o-2", "metal", 6000), ("o-3", "parts", 6), ("o-4", "gun", 6)]
    {
        offer(&fixture, id, material, amount).await;
    }
    let ops = vec![
        ORE.set(10, 7),
        ORE.set(7, 5),
        METAL.set(10, 0),
        PARTS.set(10, 6),
        GUN.set(10, 3),
        GUN.set(3, 0),
    ];
    let before = fixture.everything().await;
    let dry = fixture.post(&first(), SET, json!({ "ops": ops, "dryRun": true })).await;
    assert_eq!(
        (dry.counts(), &dry.body["offersReduced"], &dry.body["offersRemoved"]),
        ((6, 0, 0), &json!(1), &json!(2))
    );
    assert_eq!(fixture.everything().await, before);
    let response = fixture.check(&first(), SET, ops, &[]).await;
    assert_eq!((&response.body["offersReduced"], &response.body["offersRemoved"]), (&json!(1), &json!(2)));
    let left = fixture.rows("SELECT id, amount FROM stock_offer").await;
    assert_eq!(left, ["Text(\"o-1\") Integer(5000)", "Text(\"o-3\") Integer(6)"]);
    let audit = fixture.rows("SELECT action, detail FROM audit ORDER BY id DESC LIMIT 1").await;
    let detail = "First client: 2 written, 2 removed, 1 offers lowered, 2 offers removed";
    assert_eq!(audit, [format!("Text(\"stock.write\") Text(\"{detail}\")")]);
    // A later increase does not raise the offer.
    fixture.check(&first(), SET, vec![ORE.set(5, 10)], &[]).await;
    assert_eq!(fixture.rows("SELECT amount FROM stock_offer WHERE id = 'o-1'").await, ["Integer(5000)"]);
}

/// STK-19: if a lot decreases while its twin increases, rows are re-marked with all their properties and the
/// last one is split. Reserved and offered stock keeps its marker, and the rest is booked out and in.
#[tokio::test]
async fn twin_changes_re_mark_rows() {
    for turned in [false, true] {
        let fixture = BackendFixture::unguarded().await;
        four_rows(&fixture, ORE).await;
        let before = fixture.rows("SELECT id, booked_at FROM stock_row ORDER BY number").await;
        let mut ops = vec![ORE.set(10, 2), ORE.stolen().set(0, 8)];
        if turned {
            ops.reverse();
        }
        fixture.check(&first(), SET, ops, &[]).await;
        let expected = [
            "ore 1000 u-1 v1",
            "ore 1000 shared v2",
            "ore 3000 personal! v2",
            "ore 4000 personal! v2",
            "ore 1000 shared! v1",
        ];
        assert_eq!(rows(&fixture).await, expected);
        let after = fixture.rows("SELECT id, booked_at FROM stock_row ORDER BY number").await;
        assert_eq!(after[..4], before[..], "the rows are the same");
        // The reverse change restores all markers.
        fixture.check(&first(), SET, vec![ORE.stolen().set(8, 0), ORE.set(2, 10)], &[]).await;
        assert_eq!(rows(&fixture).await.iter().filter(|row| row.contains('!')).count(), 0);
        assert_eq!(fixture.rows("SELECT sum(amount) FROM stock_row").await, ["Integer(10000)"]);
    }
    let fixture = BackendFixture::unguarded().await;
    four_rows(&fixture, ORE).await;
    fixture
        .sql(
            "INSERT INTO stock_offer SELECT 'o', id, 3500 FROM stock_row WHERE amount = 4000;
             INSERT INTO stock_earmark SELECT id, 'mission', 'm', 1000, 0 FROM stock_row WHERE amount = 3000;",
        )
        .await;
    // Of this, 2 + 0.5 + 2 + 1 are free. The other 3.5 of the decrease are offered stock, and 2.5 are booked
    // in as new stock.
    fixture.check(&first(), SET, vec![ORE.set(10, 1), ORE.stolen().set(0, 8)], &[]).await;
    let mut left = rows(&fixture).await;
    left.sort();
    let expected = [
        "ore 1000 personal v2",
        "ore 1000 u-1! v2",
        "ore 2000 personal! v1",
        "ore 2000 shared! v2",
        "ore 2500 personal! v1",
        "ore 500 personal! v1",
    ];
    assert_eq!(left, expected);
    assert_eq!(fixture.rows("SELECT * FROM stock_offer").await, [""; 0]);
}

/// STK-19: rows are re-marked only if one twin decreases and the other increases at the same location.
#[tokio::test]
async fn only_twin_changes_re_mark_rows() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5)], &[]).await;
    rebook(&fixture, ORE, StockOwnership::Shared).await;
    let ops = vec![ORE.set(5, 3), ORE.quality(1).stolen().set(0, 1), ORE.place("Station").stolen().set(0, 1)];
    fixture.check(&first(), SET, ops, &[]).await;
    assert_eq!(rows(&fixture).await[0], "ore 3000 shared v3");
    assert!(rows(&fixture).await[1..].iter().all(|row| row == "ore 1000 personal! v1"));
}

/// STK-21, WRT-10, WRT-14: a decrease that increases of the same material cover completely, in the order of
/// the batch, is a move; in a separate batch it is a removal.
#[tokio::test]
async fn move_does_not_count_as_removal() {
    let counted = async |ops: Vec<Value>| {
        let fixture = BackendFixture::unguarded().await;
        let ten = (0..10).map(|quality| ORE.quality(quality).set(0, 10)).collect();
        fixture.check(&first(), SET, ten, &[]).await;
        fixture.check(&first(), SET, ops, &[]).await;
        fixture.rows("SELECT id FROM journal WHERE removal = 1").await.len()
    };
    let add_elsewhere = |amount: i64| ORE.place("Station").set(0, amount);
    let fall = |quality: i64| ORE.quality(quality).set(10, 0);
    assert_eq!(counted(vec![fall(0), add_elsewhere(10)]).await, 0);
    assert_eq!(counted(vec![add_elsewhere(10), fall(0)]).await, 0);
    assert_eq!(counted(vec![fall(0), METAL.set(0, 10)]).await, 1, "another material does not cover it");
    assert_eq!(counted(vec![fall(0), add_elsewhere(9)]).await, 1, "a partly covered decrease is a removal");
    assert_eq!(counted(vec![fall(0), fall(1), add_elsewhere(15)]).await, 1, "only one decrease is covered");
    assert_eq!(counted(vec![fall(9), fall(1), fall(0), add_elsewhere(20)]).await, 1);
    // The decrease of the first op is covered, not that of the first lot.
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 10), ORE.quality(1).set(0, 8)], &[]).await;
    fixture
        .check(&first(), SET, vec![ORE.quality(1).set(8, 0), ORE.set(10, 0), add_elsewhere(10)], &[])
        .await;
    let removed =
        fixture.rows("SELECT json_extract(before, '$.lot.quality') FROM journal WHERE removal = 1").await;
    assert_eq!(removed, ["Integer(0)"]);
}

/// STK-22, LIM-21: an op counts as a removal if it sets a lot to 0, or to at most a tenth of the amount
/// before the client's first change within 24 hours, plus what the client added since then. Each lot counts once.
#[tokio::test]
async fn lot_reduced_to_a_tenth_counts_as_removed() {
    let fixture = BackendFixture::unguarded().await;
    let removals = async || fixture.rows("SELECT id FROM journal WHERE removal = 1").await.len();
    assert_eq!(
        apply_on_web(&fixture, "m-1", ChangeAuthor::Web, vec![ORE.set(0, 100), METAL.set(0, 100)]).await,
        2
    );
    for (held, target, count) in [
        (100, 11, 0), // One more than a tenth.
        (11, 10, 1),  // A tenth of the first amount, not of the last one.
        (10, 1, 1),   // The lot is already counted.
        (1, 0, 1),
    ] {
        fixture.check(&first(), SET, vec![ORE.set(held, target)], &[]).await;
        assert_eq!(removals().await, count, "{held} to {target}");
    }
    // What the client adds to a lot raises the baseline: a lot that it fills and then cuts counts.
    let refilled = async |from: i64, to: i64, count: usize| {
        fixture.check(&first(), SET, vec![PARTS.set(from, to)], &[]).await;
        assert_eq!(removals().await, count, "{from} to {to}");
    };
    refilled(0, 60, 1).await;
    refilled(60, 30, 1).await;
    refilled(30, 70, 1).await; // The baseline is 60 + 40.
    refilled(70, 11, 1).await;
    refilled(11, 10, 2).await;
    // Another client has a separate window, and after a day the first client's window begins again.
    fixture.check(&first(), SET, vec![METAL.set(100, 60)], &[]).await;
    fixture.check(&other_client(), SET, vec![METAL.set(60, 7)], &[]).await;
    assert_eq!(removals().await, 2);
    fixture.check(&other_client(), SET, vec![METAL.set(7, 6)], &[]).await;
    assert_eq!(removals().await, 3);
    fixture.clock.advance(DAY);
    fixture.check(&first(), SET, vec![METAL.set(6, 1)], &[]).await;
    assert_eq!(removals().await, 3, "1 is more than a tenth of 6");
    assert_eq!(apply_on_web(&fixture, "m-1", ChangeAuthor::Web, vec![METAL.set(1, 0)]).await, 1);
    let of_clients = "SELECT id FROM journal WHERE removal = 1 AND client IS NOT NULL";
    assert_eq!(fixture.rows(of_clients).await.len(), 3, "changes of the member do not count for the client");
}

/// WRT-04, STK-22: the guard reads only the first journal entry of each decreasing lot and the entries that
/// raised it, and none for a dry run.
#[tokio::test]
async fn guard_reads_only_relevant_journal_entries() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5), METAL.set(0, 5)], &[]).await;
    fixture.check(&first(), SET, vec![ORE.set(5, 6), METAL.set(5, 6)], &[]).await;
    // Reading a corrupt entry is an error.
    fixture
        .sql(
            "UPDATE journal_entry SET before = '-', after = '-', head = 0, tail = 0 \
             WHERE before IS NOT NULL OR json_extract(after, '$.lot.material') = 'metal'",
        )
        .await;
    fixture.check(&first(), SET, vec![ORE.set(6, 5)], &[]).await;
    let fall = |dry: bool| json!({ "ops": [METAL.set(6, 5)], "dryRun": dry });
    let tried = fixture.post(&first(), SET, fall(true)).await;
    assert_eq!((tried.status, tried.counts()), (200, (1, 0, 0)));
    assert_eq!(fixture.post(&first(), SET, fall(false)).await.status, 500);
}

/// Sends ops that the guard holds and returns their preview.
async fn hold_batch(fixture: &BackendFixture, ops: Vec<Value>) -> (HandoffToken, BatchPreview) {
    let refused = fixture.post(&first(), SET, json!({ "ops": ops })).await;
    assert_eq!((refused.status, refused.code()), (409, "MASS_CHANGE_CONFIRMATION_REQUIRED"));
    let url = refused.body["confirmationUrl"].as_str().expect("a string");
    let handoff = HandoffToken::new(url.rsplit('/').next().expect("a handoff token"));
    let shown =
        fixture.backend().preview_batch(&MemberId::new("m-1"), &handoff).await.expect("the preview succeeds");
    (handoff, shown.expect("the batch is held"))
}

/// WRT-10, WRT-13, WEB-08, STK-22: the guard holds a batch that empties lots, and its page lists them. After
/// confirmation, the batch is applied, with its effects on offers.
#[tokio::test]
async fn batch_that_empties_lots_is_held() {
    let fixture = BackendFixture::new().await;
    let six = |held: i64, target: i64| {
        (0..6).map(|quality| ORE.quality(quality).set(held, target)).collect::<Vec<_>>()
    };
    fixture.check(&first(), SET, six(0, 5), &[]).await;
    let (handoff, shown) = hold_batch(&fixture, six(5, 0)).await;
    assert_eq!(rows(&fixture).await.len(), 6, "nothing is written");
    let counts =
        |shown: &BatchPreview| (shown.description.removed_count(), shown.description.written_count());
    assert_eq!((shown.area, counts(&shown)), ("stock", (6, 0)));
    // Every change is described with its amounts and its place.
    let expected = EntryChange {
        name: "Quanta Ore, quality 3".to_owned(),
        place: Some("City".to_owned()),
        before: Some("5 SCU".to_owned()),
        after: Some("0 SCU".to_owned()),
        removed: true,
    };
    assert!(shown.description.changes.contains(&expected), "{:?}", shown.description);
    fixture
        .backend()
        .confirm_batch(&MemberId::new("m-1"), &handoff)
        .await
        .expect("the confirmation succeeds");
    assert_eq!(rows(&fixture).await, [""; 0]);
    // A lot that was counted before is listed as emptied if the batch is held for another reason. A lot that
    // is filled and emptied again is not listed.
    fixture.check(&first(), SET, six(0, 5), &[]).await;
    let additions = [METAL.set(0, 5), PARTS.set(0, 5)];
    fixture.check(&first(), SET, additions.to_vec(), &[]).await;
    let ops: Vec<Value> = six(5, 0)
        .into_iter()
        .chain([METAL.set(5, 0), PARTS.set(5, 6), GUN.set(0, 1), GUN.set(1, 0)])
        .collect();
    let (_, shown) = hold_batch(&fixture, ops).await;
    assert_eq!(counts(&shown), (7, 1), "{:?}", shown.description);
    // The same ops are applied if they are moves.
    let moves = six(5, 0).into_iter().chain((0..6).map(|q| ORE.quality(q).place("Station").set(0, 5)));
    fixture.check(&first(), SET, moves.collect(), &[]).await;
}

/// STK-16, WRT-03, OST-07: bookings in pools are in the pool's feed, rows get a new version, and the journal
/// contains the states before and after.
#[tokio::test]
async fn bookings_reach_pool_feed_and_journal() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![ORE.set(0, 5)], &[]).await;
    let of_pool = "f.stream = (SELECT id FROM feed_head WHERE stream = 'unit/org-stock/u-1')";
    let pool = &format!("SELECT seq, gone, channel FROM feed_entry f WHERE {of_pool}");
    assert_eq!(fixture.rows(pool).await, [""; 0]);
    rebook(&fixture, ORE, StockOwnership::Pool("u-1".into())).await;
    assert_eq!(fixture.rows(pool).await, ["Integer(1) Integer(0) Text(\"web\")"]);
    let key = format!("SELECT r.pool_lot = f.key FROM stock_row r, feed_entry f WHERE {of_pool}");
    assert_eq!(fixture.rows(key).await, ["Integer(1)"]);
    fixture.check(&first(), SET, vec![ORE.set(5, 6)], &[]).await;
    assert_eq!(fixture.rows(pool).await, ["Integer(1) Integer(0) Text(\"web\")"], "personal stock");
    fixture.check(&first(), SET, vec![ORE.set(6, 4)], &[]).await;
    assert_eq!(fixture.rows(pool).await, ["Integer(2) Integer(0) Text(\"client\")"]);
    let twins = vec![ORE.set(4, 0), ORE.stolen().set(0, 4)];
    fixture.check(&first(), SET, twins, &[]).await;
    let query = format!("SELECT count(*), sum(gone), max(seq) FROM feed_entry f WHERE {of_pool}");
    assert_eq!(
        fixture.rows(query).await,
        ["Integer(2) Integer(1) Integer(4)"],
        "the lot of the twin replaces the lot"
    );
    let journal = "SELECT json_extract(before, '$.held'), json_extract(before, '$.rows[0].keeping.pool'), \
                   json_extract(after, '$.held'), json_extract(after, '$.rows[0].version') FROM journal \
                   ORDER BY id DESC LIMIT 2";
    let pool = "Text(\"u-1\")";
    let expected =
        ["Null Null Integer(4000) Integer(4)".to_owned(), format!("Integer(4000) {pool} Null Null")];
    assert_eq!(fixture.rows(journal).await, expected);
}

/// WRT-03: for a lot of many rows, the journal contains the changed rows and the total.
#[tokio::test]
async fn journal_contains_only_changed_rows() {
    let fixture = BackendFixture::unguarded().await;
    four_rows(&fixture, ORE).await;
    fixture.check(&first(), SET, vec![ORE.set(10, 9)], &[]).await;
    let journal = "SELECT json_extract(before, '$.held'), json_array_length(before, '$.rows'), \
                   json_extract(after, '$.held'), json_array_length(after, '$.rows') FROM journal \
                   ORDER BY id DESC LIMIT 2";
    let expected = [
        "Integer(10000) Integer(1) Integer(9000) Integer(1)",
        "Integer(6000) Integer(0) Integer(10000) Integer(1)",
    ];
    assert_eq!(fixture.rows(journal).await, expected);
}

/// WRT-01, WRT-03, LIM-01: 500 ops run in one transaction, with one journal row and one feed entry per lot.
#[tokio::test]
async fn books_500_lots_in_one_transaction() {
    let fixture = BackendFixture::unguarded().await;
    for (held, target) in [(0, 5), (5, 3), (3, 0)] {
        let ops = (0..500).map(|quality| ORE.quality(quality).set(held, target)).collect();
        let response = fixture.check(&first(), SET, ops, &[]).await;
        assert_eq!(response.counts(), (500, 0, 0));
    }
    assert_eq!(fixture.rows("SELECT count(*) FROM journal").await, ["Integer(1500)"]);
    let head = "SELECT seq FROM feed_head WHERE stream = 'member/stock/m-1'";
    assert_eq!(fixture.rows(head).await, ["Integer(1500)"]);
    let too_many: Vec<Value> = (0..501).map(|quality| ORE.quality(quality).set(0, 1)).collect();
    let (status, refused) = fixture.send_raw(&first(), SET, json!({ "ops": too_many }).to_string()).await;
    assert_eq!((status, &refused["code"]), (413, &json!("BATCH_TOO_LARGE")));
}

/// STK-13, STK-17: a transfer leaves the reserved part, also of a single row, and the offer of that part.
#[tokio::test]
async fn transfer_leaves_reserved_stock() {
    let fixture = BackendFixture::unguarded().await;
    fixture.check(&first(), SET, vec![METAL.set(0, 10)], &[]).await;
    offer(&fixture, "o-1", "metal", 6000).await;
    fixture.sql("INSERT INTO stock_earmark SELECT id, 'job-order', 'j-1', 3000, 0 FROM stock_row").await;
    let lot = key(&fixture, &first(), METAL).await;
    for _ in 0..2 {
        let (one, two) = (MemberId::new("m-1"), MemberId::new("m-2"));
        assert!(
            fixture
                .backend()
                .give_stock(&one, ChangeAuthor::Web, &lot, &two)
                .await
                .expect("the transfer succeeds")
        );
        assert_eq!(rows(&fixture).await, ["metal 3000 personal v2"]);
        let taken = fixture.rows("SELECT amount, version FROM stock_row WHERE member = 'm-2'").await;
        assert_eq!(taken, ["Integer(7000) Integer(1)"]);
        assert_eq!(fixture.rows("SELECT id, amount FROM stock_offer").await, ["Text(\"o-1\") Integer(3000)"]);
    }
    // The change of the offer is audited.
    let audited = "SELECT count(*) FROM audit WHERE detail = 'web: 1 written, 0 removed, 1 offers lowered'";
    assert_eq!(fixture.rows(audited).await, ["Integer(1)"]);
}

/// TYP-04, STK-10: a transfer can exceed the maximum of a quantity. The maximum is then shown, and an op with
/// it as the expected amount is accepted.
#[tokio::test]
async fn amount_above_the_maximum_is_returned_as_the_maximum() {
    let fixture = BackendFixture::unguarded().await;
    let (maximum, two) = (1_000_000_000_i64, MemberId::new("m-2"));
    for lot_key in [ORE, GUN] {
        for caller in [first(), other_member()] {
            fixture.check(&caller, SET, vec![lot_key.set(0, maximum)], &[]).await;
        }
        let lot = key(&fixture, &first(), lot_key).await;
        assert!(
            fixture
                .backend()
                .give_stock(&MemberId::new("m-1"), ChangeAuthor::Web, &lot, &two)
                .await
                .expect("the transfer succeeds")
        );
        let (items, _) = fixture.page(&other_member(), STOCK, &mut String::new()).await;
        let shown =
            items.iter().find(|item| item["material"]["bt"] == lot_key.material).expect("the lot exists");
        assert_eq!(shown["quantity"]["amount"], maximum);
        let expected = ["0 unchanged -", "1 rejected VERSION_CONFLICT"];
        fixture
            .check(
                &other_member(),
                SET,
                vec![lot_key.set(maximum, maximum), lot_key.set(maximum - 1, 0), lot_key.set(maximum, 5)],
                &expected,
            )
            .await;
    }
    assert_eq!(
        fixture.rows("SELECT sum(amount) FROM stock_row GROUP BY material").await,
        ["Integer(5)", "Integer(5000)"]
    );
}
