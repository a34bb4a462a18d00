//! Builders, batches and results, without a server.

use exchange_api::{
    Contract, Json, Map,
    reasons::Reason,
    types::{
        AddBlueprint, BookIn, EntryId, ItemRef, OpOutcome, OpResult, OrgStockEntry, OrgStockOp, Ship,
        StockLot, UpsertShip,
    },
};
use proptest::prelude::*;

use super::{known::Known, quantity, *};

fn item(bt: &str) -> ItemRef {
    Known { bt: Some(bt.parse().unwrap()), ..Known::default() }.item_ref().unwrap()
}

fn lot(material: &str, location: &str) -> Lot {
    Lot::new(item(material), place(location).unwrap())
}

fn scu(text: &str) -> exchange_api::types::Quantity {
    quantity::scu(text).unwrap()
}

fn json(op: &impl Contract) -> serde_json::Value {
    serde_json::from_str(&op.to_json().unwrap().to_string()).unwrap()
}

fn result(applied: i64, unchanged: i64, not_applied: i64, results: Vec<OpOutcome>) -> ChangeResult {
    ChangeResult::builder()
        .dry_run(false)
        .applied(applied)
        .unchanged(unchanged)
        .not_applied(not_applied)
        .results(results)
        .warnings(Vec::<exchange_api::types::Warning>::new())
        .build()
        .unwrap()
}

fn refused(index: i64, reason: &str) -> OpOutcome {
    let reason = Reason::from(reason);
    let result = reason.result().map_or("rejected", |refused| refused.as_str());
    OpOutcome::builder().index(index).result(result).reason(reason).build().unwrap()
}

fn blueprints(count: usize) -> BlueprintChanges {
    let mut changes = BlueprintChanges::new();
    for number in 0..count {
        changes.add(item(&format!("bp-{number}"))).unwrap();
    }
    changes
}

fn only<O: Op>(changes: Changes<O>) -> Batch<O> {
    let mut batches = changes.batches(500).unwrap();
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

/// STK-05, TYP-07: what the client last saw, 0 for a lot never seen; quality 0 when it is unknown.
#[test]
fn a_lot_is_set_from_what_was_seen() {
    let mut changes = StockChanges::new();
    changes.set(lot("ore", "Here").empty(), scu("3")).unwrap();
    let good = lot("ore", "Here").quality(640).unwrap();
    changes.set(good.holding(scu("12.5")), scu("0")).unwrap();
    let ops: Vec<_> = changes.ops().iter().map(json).collect();
    assert_eq!(ops[0]["expectedQuantity"], serde_json::json!({"amount": 0, "unit": "SCU"}));
    assert_eq!((&ops[0]["quality"], &ops[1]["quality"]), (&0.into(), &640.into()));
    assert_eq!(ops[1]["expectedQuantity"]["amount"], 12.5);
    assert!(lot("ore", "Here").quality(1001).is_err());
}

/// STK-20: a move is a fall and a rise, which stay in one batch wherever it is cut.
#[test]
fn a_move_is_never_split() {
    let mut changes = StockChanges::new();
    for number in 0..3 {
        changes.set(lot(&format!("other-{number}"), "Here").empty(), scu("1")).unwrap();
    }
    let (from, to) = (lot("ore", "Here").holding(scu("10")), lot("ore", "There").holding(scu("0.25")));
    let (fall, rise) = changes.shift(from, to, &scu("2.5")).unwrap();
    let batches = changes.batches(4).unwrap();
    let sizes: Vec<_> = batches.iter().map(|batch| batch.ops().len()).collect();
    assert_eq!(sizes, [3, 2]);
    let ids: Vec<_> = batches[1].ops().iter().map(|op| op.id().unwrap().clone()).collect();
    assert_eq!(ids, [fall, rise]);
    let ops: Vec<_> = batches[1].ops().iter().map(json).collect();
    assert_eq!((&ops[0]["quantity"]["amount"], &ops[1]["quantity"]["amount"]), (&7.5.into(), &2.75.into()));
}

/// STK-20: a fall and a rise of one material that were not said to be a move, and a stolen twin, are kept
/// together too, by whatever name the material goes.
#[test]
fn a_fall_and_a_rise_of_one_material_stay_together() {
    let both = Known { bt: Some("ore".parse().unwrap()), name: Some("Ore".to_owned()), ..Known::default() };
    let named = Known { name: Some("ORE".to_owned()), ..Known::default() };
    let (by_key, by_name) = (both.item_ref().unwrap(), named.item_ref().unwrap());
    let mut changes = StockChanges::new();
    let here = Lot::new(by_key, place("Here").unwrap());
    changes.set(here.clone().holding(scu("10")), scu("0")).unwrap();
    changes.set(lot("metal", "Here").empty(), scu("1")).unwrap();
    let twin = Lot { material: by_name, ..here.twin() };
    changes.set(twin.empty(), scu("10")).unwrap();
    assert_eq!(changes.clone().batches(1).unwrap_err().kind(), ErrorKind::TooLarge);
    let batches = changes.batches(2).unwrap();
    let ids = |batch: &Batch<StockOp>| -> Vec<_> {
        batch.ops().iter().map(|op| op.id().unwrap().to_string()).collect()
    };
    assert_eq!(batches.iter().map(ids).collect::<Vec<_>>(), [vec!["1", "3"], vec!["2"]]);
}

/// WRT-01: what fits no batch is said as what it is, with what can be done.
#[test]
fn ops_that_fit_no_batch_are_named() {
    let note = |at: usize, entry: usize, id: String| {
        let op = serde_json::json!(
            {"op": "note", "opId": id, "unit": "u", "entry": format!("e-{entry}"), "version": at + 1, "note": "n"}
        );
        OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()
    };
    let told = |ops: Vec<OrgStockOp>| {
        let mut changes = OrgStockChanges::new();
        ops.into_iter().for_each(|op| drop(changes.push(op).unwrap()));
        let error = changes.batches(500).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        error.to_string()
    };
    // Two entries in turn, behind another: 300 ops each, and nowhere a cut between them.
    let alternating = |at: usize| note(at, if at == 0 { 7 } else { at % 2 }, at.to_string());
    let error = told((0..601).map(alternating).collect());
    assert!(error.contains("the ops from number 2 to 601 cannot be sent apart and are more"), "{error}");
    let error = told((0..400).map(|at| note(at, 1, format!("{at:064}"))).collect());
    assert!(error.contains("from number 1 to 400 cannot") && error.contains("shorter ids"), "{error}");

    let mut changes = StockChanges::new();
    for at in 0..3 {
        changes.set(lot("ore", &format!("Here {at}")).holding(scu("10")), scu("0")).unwrap();
    }
    changes.set(lot("ore", "There").empty(), scu("30")).unwrap();
    let error = changes.batches(3).unwrap_err().to_string();
    assert!(error.contains("4 ops are about the same things"), "{error}");
}

/// LIM-22, OST-16: an answer that refuses every op of a batch, with as many warnings as there can be, is one that the
/// exchange keeps under its key.
#[test]
fn a_batch_of_org_stock_has_an_answer_that_is_kept() {
    let ids: [fn(usize) -> String; 3] =
        [|at| at.to_string(), |at| format!("{at:064}"), |at| format!("{at:04}{}", "\u{1}".repeat(60))];
    let warning = br#"{"pointer": "/ops/499/location/name", "code": "LOC_KEY_UNRESOLVED"}"#;
    let warning = exchange_api::types::Warning::parse_valid(warning).unwrap();
    for (id, most) in ids.into_iter().zip([2, 4, 20]) {
        let mut changes = OrgStockChanges::new();
        for at in 0..500 {
            let op = serde_json::json!(
                {"op": "note", "opId": id(at), "unit": "u", "entry": format!("e-{at}"), "version": 1, "note": "n"}
            );
            changes.push(OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()).unwrap();
        }
        let batches = changes.batches(500).unwrap();
        assert!(batches.len() <= most, "{}", batches.len());
        assert_eq!(batches.iter().map(|batch| batch.ops().len()).sum::<usize>(), 500);
        for batch in batches {
            let results = batch.ops().iter().enumerate().map(|(at, op)| {
                let mut refused = refused(at.try_into().unwrap(), "ORG_UNIT_VERSION_CONFLICT");
                refused.op_id = op.id().cloned();
                refused
            });
            let mut answer = result(0, 0, batch.ops().len().try_into().unwrap(), results.collect());
            answer.warnings = vec![warning.clone(); 50];
            assert!(serde_json::to_vec(&answer).unwrap().len() <= 32 * 1024);
        }
    }
}

/// WRT-14: what is sent anew takes along what was sent with it.
#[test]
fn what_is_sent_anew_is_sent_whole() {
    let extensions =
        exchange_api::types::Extensions(Map::from_iter([("org.example.tool".to_owned(), Map::new())]));
    let mut changes = blueprints(4).with_extensions(extensions.clone());
    changes.keep_together(["2", "4"].map(|id| OpId::new(id).unwrap()));
    let batch = changes.batches(500).unwrap().remove(0);
    let parts: Vec<_> =
        batch.clone().into_changes().batches(2).unwrap().into_iter().map(|part| part.ops).collect();
    let ids = |ops: &Vec<BlueprintOp>| ops.iter().map(|op| op.id().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(parts.iter().map(ids).collect::<Vec<_>>(), [vec!["1"], vec!["2", "4"], vec!["3"]]);
    let outcome = batch.outcome(result(3, 0, 1, vec![refused(0, "REMOVED_ELSEWHERE")]));
    let again = outcome.overridden(|_| true).unwrap();
    assert_eq!(again.extensions, Some(extensions));
}

/// STK-05: moves that cannot be are refused before anything is sent.
#[test]
fn a_move_takes_no_more_than_there_is() {
    let mut changes = StockChanges::new();
    let from = || lot("ore", "Here").holding(scu("1"));
    for (to, amount) in [
        (lot("ore", "There").empty(), scu("1.001")),
        (lot("metal", "There").empty(), scu("1")),
        (lot("ore", "There").empty(), quantity::pieces(1).unwrap()),
    ] {
        assert_eq!(changes.shift(from(), to, &amount).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert!(changes.is_empty());
}

/// Rises alone need nothing else, however many there are of one material.
#[test]
fn what_only_rises_is_split_anywhere() {
    let mut changes = StockChanges::new();
    for number in 0..7 {
        changes.set(lot("ore", &format!("Place {number}")).empty(), scu("1")).unwrap();
    }
    let sizes: Vec<_> = changes.batches(3).unwrap().iter().map(|batch| batch.ops().len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
}

/// SHP-11: what an upsert leaves out is cleared, so nothing that the ship has is left out.
#[test]
fn an_upsert_holds_all_current_values() {
    let ship = Ship::parse_valid(
        br#"{"shipId": "ship-1", "version": 7, "shipType": {"bt": "type-1", "name": "Hauler"},
            "name": "Long Haul", "insurance": {"kind": "MONTHS", "months": 12}, "fitted": true,
            "location": {"name": "Area 18", "uex": {"kind": "CITY", "id": 1}}, "orgUnitVersion": 3}"#,
    )
    .unwrap();
    let upsert = json(&as_it_is(&ship, "own-1".parse().unwrap()).unwrap());
    let expected = serde_json::json!({
        "op": "upsert", "externalId": "own-1", "shipId": "ship-1", "version": 7,
        "shipType": {"bt": "type-1", "name": "Hauler"}, "name": "Long Haul",
        "insurance": {"kind": "MONTHS", "months": 12}, "fitted": true,
        "location": {"name": "Area 18", "uex": {"kind": "CITY", "id": 1}},
    });
    assert_eq!(upsert, expected);
}

/// SHP-23: purchase data is never exchanged, nor anything else that the contract does not declare, at any depth.
#[test]
fn what_the_contract_does_not_declare_is_refused() {
    let mut upsert = UpsertShip::builder()
        .external_id("own-1".parse::<exchange_api::types::ExternalId>().unwrap())
        .ship_type(item("type-1"))
        .insurance(exchange_api::types::LifetimeInsurance { extra: Map::new() })
        .build()
        .unwrap();
    let mut changes = ShipChanges::new();
    changes.push(upsert.clone()).unwrap();
    upsert.extra.insert("purchasePrice".to_owned(), Json::Bool(true));
    assert_eq!(changes.push(upsert).unwrap_err().kind(), ErrorKind::Invalid);
    let mut product = item("bp-1");
    product.extra.insert("bought".to_owned(), Json::Null);
    assert_eq!(BlueprintChanges::new().add(product).unwrap_err().kind(), ErrorKind::Invalid);
}

/// SHP-17: a batch updates or removes a ship only once.
#[test]
fn a_ship_is_changed_once() {
    let ship = Ship::parse(
        br#"{"shipId": "ship-1", "version": 7, "shipType": {"bt": "type-1", "name": "Hauler"},
            "insurance": {"kind": "LTI"}, "fitted": true, "orgUnitVersion": 3}"#,
    )
    .unwrap();
    let mut changes = ShipChanges::new();
    changes.link("own-1".parse().unwrap(), ship.ship_id.clone()).unwrap();
    changes.push(as_it_is(&ship, "own-1".parse().unwrap()).unwrap()).unwrap();
    assert_eq!(changes.remove(&ship).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(changes.len(), 2);
}

fn entry(id: &str, version: i64) -> OrgStockEntry {
    let text = format!(
        r#"{{"id": "{id}", "version": {version}, "holder": {{"withheld": true}},
            "quantity": {{"amount": 5, "unit": "SCU"}}, "jobOrders": [], "missions": [],
            "free": {{"jobOrders": {{"amount": 5, "unit": "SCU"}}, "missions": {{"amount": 5, "unit": "SCU"}}}}}}"#
    );
    OrgStockEntry::parse(text.as_bytes()).unwrap()
}

/// OST-30, OST-33: ids and versions are those of the feed's entries, and ops on one entry count them up and
/// stay in one batch, in their order.
#[test]
fn ops_on_an_entry_count_its_version_up() {
    let mut changes = OrgStockChanges::new();
    let unit = || "unit-1".parse().unwrap();
    let feed = entry("entry-1", 7);
    let mut on = changes.on_entry(unit(), &feed);
    on.note(Some("from the last run".to_owned())).unwrap();
    on.book_out(Take::of(scu("1")).from_mission("m-1".parse().unwrap(), scu("1")).unwrap()).unwrap();
    on.mark_stolen(true, None).unwrap();
    changes.on_entry(unit(), &entry("entry-2", 1)).move_into("unit-2".parse().unwrap(), None).unwrap();
    let said: Vec<_> = changes.ops().iter().map(json).collect();
    let versions: Vec<_> = said.iter().map(|op| (op["entry"].as_str(), op["version"].as_i64())).collect();
    let (first, second) = (Some("entry-1"), Some("entry-2"));
    assert_eq!(versions, [(first, Some(7)), (first, Some(8)), (first, Some(9)), (second, Some(1))]);
    assert_eq!(said[1]["fromMissions"][0]["mission"], "m-1");
    assert_eq!(changes.clone().batches(2).unwrap_err().kind(), ErrorKind::TooLarge);
    let sizes: Vec<_> = changes.batches(3).unwrap().iter().map(|batch| batch.ops().len()).collect();
    assert_eq!(sizes, [3, 1]);
}

#[test]
fn what_the_caller_ties_stays_together() {
    let mut changes = blueprints(5);
    changes.keep_together([OpId::new("2").unwrap(), OpId::new("5").unwrap()]);
    let batches = changes.batches(2).unwrap();
    let ids = |batch: &Batch<BlueprintOp>| -> Vec<_> {
        batch.ops().iter().map(|op| op.id().unwrap().to_string()).collect()
    };
    let ids: Vec<_> = batches.iter().map(ids).collect();
    assert_eq!(ids, [vec!["1"], vec!["2", "5"], vec!["3", "4"]]);
}

#[test]
fn ids_are_given_and_kept() {
    let mut changes = BlueprintChanges::new();
    let own = AddBlueprint::builder().ref_(item("bp-1")).op_id(OpId::new("2").unwrap()).build().unwrap();
    assert_eq!(changes.push(own.clone()).unwrap().as_str(), "2");
    assert_eq!(changes.add(item("bp-2")).unwrap().as_str(), "3");
    assert_eq!(changes.push(own).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(BlueprintChanges::new().batches(500).is_err());
}

/// WRT-14: only what was removed elsewhere, and only what the member wants, is sent again with `override`.
#[test]
fn an_override_is_sent_after_asking() {
    let results =
        vec![refused(0, "REMOVED_ELSEWHERE"), refused(1, "REMOVED_ELSEWHERE"), refused(2, "UNMATCHED")];
    let outcome = only(blueprints(4)).outcome(result(1, 0, 3, results));
    assert_eq!(outcome.ops[3].verdict, Verdict::Applied);
    let mut asked = 0;
    let changes = outcome.overridden(|op| {
        asked += 1;
        op.id().unwrap().as_str() == "2"
    });
    assert_eq!(asked, 2);
    let changes = changes.unwrap();
    let said: Vec<_> = changes.ops().iter().map(json).collect();
    assert_eq!(said.len(), 1);
    assert_eq!((&said[0]["ref"]["bt"], &said[0]["override"]), (&"bp-1".into(), &true.into()));
    assert!(outcome.overridden(|_| false).is_none());
}

/// STK-13, SHP-20, OST-32, OST-33, WRT-14, RES-13: what each reason asks of the client and the member.
#[test]
fn every_reason_has_its_remedy() {
    let expected = |reason: &Reason| match reason.as_str() {
        "UNMATCHED" => Remedy::ShowMember,
        "AMBIGUOUS" => Remedy::LetMemberPick,
        "REMOVED_ELSEWHERE" => Remedy::AskThenOverride,
        "STOCK_EARMARKED" => Remedy::ReleaseReservation,
        "VERSION_CONFLICT" | "INSUFFICIENT_STOCK" => Remedy::PullAndMerge,
        "LINK_TARGET_TAKEN" => Remedy::PullAndRelink,
        "ORG_UNIT_VERSION_CONFLICT" => Remedy::AskForUnitAgain,
        "ORG_UNIT_NOT_ALLOWED" => Remedy::ReadUnits,
        "HOLDER_UNKNOWN" => Remedy::ReadRoster,
        "LOCATION_UNKNOWN" => Remedy::ReadLocations,
        "UNIT_MISMATCH" => Remedy::CorrectUnit,
        "STOCK_OFFERED" => Remedy::LowerOffer,
        "OVER_ALLOCATION" | "EARMARK_TARGET_INVALID" => Remedy::CorrectEarmarks,
        _ => Remedy::Tell,
    };
    for reason in Reason::ALL.iter().chain([&Reason::from("LATER_REASON")]) {
        let outcome = only(blueprints(1)).outcome(result(0, 0, 1, vec![refused(0, reason.as_str())]));
        let (_, remedy) = outcome.open().next().unwrap();
        assert_eq!(remedy, expected(reason), "{reason}");
        assert!(!outcome.is_as_asked(), "{reason}");
        assert_eq!(remedy.needs_pull(), remedy.text().contains("synchronise"), "{reason}");
    }
    let later = OpOutcome::builder().index(0).result("postponed").build().unwrap();
    let outcome = only(blueprints(1)).outcome(result(0, 0, 1, vec![later]));
    assert_eq!(outcome.ops[0].verdict.remedy(), Some(Remedy::Tell));
}

/// STK-18, CLI-04: the member is told of lowered offers and of what matches nothing.
#[test]
fn the_member_is_told() {
    let mut answer = result(
        0,
        1,
        1,
        vec![
            refused(0, "UNMATCHED"),
            OpOutcome::builder().index(1).result(OpResult::Unchanged).build().unwrap(),
        ],
    );
    answer.offers_reduced = Some(2);
    let outcome = only(blueprints(2)).outcome(answer);
    let notices: Vec<_> = outcome.notices().iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 2);
    assert!(notices[0].contains("2 lowered, 0 removed") && notices[1].starts_with("1 of the entries"));
    assert!(only(blueprints(1)).outcome(result(1, 0, 0, Vec::new())).notices().is_empty());
}

/// WRT-06: a result goes to its op by id; a place counts where there is none.
#[test]
fn results_find_their_ops() {
    let mut by_id = refused(0, "UNMATCHED");
    by_id.op_id = Some(OpId::new("3").unwrap());
    let outcome = only(blueprints(3)).outcome(result(1, 0, 2, vec![by_id, refused(1, "AMBIGUOUS")]));
    let applied: Vec<_> = outcome.ops.iter().map(|op| op.verdict == Verdict::Applied).collect();
    assert_eq!(applied, [true, false, false]);
    let third = outcome.op(&OpId::new("3").unwrap()).unwrap();
    assert_eq!(third.verdict.remedy(), Some(Remedy::ShowMember));
}

/// An op counts as applied only where the answer is of one piece.
#[test]
fn an_answer_that_contradicts_itself_applies_nothing() {
    let mut stranger = refused(0, "UNMATCHED");
    stranger.op_id = Some(OpId::new("stranger").unwrap());
    for (answer, unclear) in [
        (result(2, 0, 0, vec![refused(0, "UNMATCHED")]), 1),
        (result(1, 0, 1, Vec::new()), 2),
        (result(1, 0, 1, vec![stranger]), 2),
        (result(1, 0, 1, vec![refused(7, "UNMATCHED")]), 2),
        (result(1, 0, 1, vec![refused(0, "UNMATCHED"), refused(0, "UNMATCHED")]), 1),
    ] {
        let outcome = only(blueprints(2)).outcome(answer);
        let found = outcome.ops.iter().filter(|op| op.verdict == Verdict::Unclear).count();
        assert_eq!(found, unclear);
        assert!(outcome.ops.iter().all(|op| op.verdict != Verdict::Applied));
    }
}

/// What was stored reads back as the same batch, dry run and extensions with it.
#[test]
fn a_stored_batch_reads_back() {
    let extensions =
        exchange_api::types::Extensions(Map::from_iter([("org.example.tool".to_owned(), Map::new())]));
    let changes = blueprints(2).with_extensions(extensions);
    let batch = only(changes).as_dry_run();
    struct Nowhere;
    impl exchange_api::Transport for Nowhere {
        fn send<'a>(
            &'a self,
            _: &'static exchange_api::runtime::operation::Operation,
            _: http::Request<bytes::Bytes>,
        ) -> exchange_api::runtime::transport::Sending<'a> {
            Box::pin(std::future::pending())
        }
    }
    let core = Core::new("https://exchange.example", Nowhere);
    let stored = batch.stored(&core, "key-12345678").unwrap();
    assert_eq!(stored.headers["idempotency-key"], "key-12345678");
    assert_eq!(Batch::<BlueprintOp>::read(&stored.body).unwrap(), batch);
    assert_eq!(Batch::<BlueprintOp>::read(b"{").unwrap_err().kind(), ErrorKind::Storage);
    assert_eq!(batch.clone().into_changes().batches(500).unwrap()[0].ops(), batch.ops());
}

/// A lot of the feed is named by the exchange's own key (TYP-03).
#[test]
fn a_lot_of_the_feed_is_set_by_its_key() {
    let lot = StockLot::parse_valid(
        br#"{"key": "lot-7", "material": {"bt": "mat-1", "name": "Agricium"},
            "location": {"name": "Area 18"}, "quality": 650, "stolen": true,
            "quantity": {"amount": 12.30, "unit": "SCU"}}"#,
    )
    .unwrap();
    let mut changes = StockChanges::new();
    changes.set(Held::of(&lot).unwrap(), scu("1")).unwrap();
    let op = json(&changes.ops()[0]);
    assert_eq!(
        (&op["material"]["bt"], &op["quality"], &op["stolen"]),
        (&"mat-1".into(), &650.into(), &true.into())
    );
    assert_eq!(op["expectedQuantity"]["amount"], 12.3);
}

proptest! {
    /// However it is cut: every op once, no batch too large, what belongs together in one, and its order kept;
    /// org stock keeps the order of all.
    #[test]
    fn any_split_keeps_what_belongs_together(entries in prop::collection::vec(0_u8..9, 1..60), most in 1_usize..20) {
        let mut changes = OrgStockChanges::new();
        for entry in &entries {
            if *entry == 0 {
                let holder = "holder".parse::<exchange_api::types::HolderRef>().unwrap();
                let op = BookIn::builder()
                    .unit("unit-1".parse::<exchange_api::types::UnitId>().unwrap())
                    .holder(holder).material(item("ore")).location(place("Here").unwrap())
                    .quality(exchange_api::types::Quality::new(0).unwrap()).stolen(false).quantity(scu("1"));
                changes.push(op.build().unwrap()).unwrap();
            } else {
                let entry = OrgStockEntry { id: EntryId::new(format!("entry-{entry}")).unwrap(), ..self::entry("e", 1) };
                changes.on_entry("unit-1".parse().unwrap(), &entry).note(None).unwrap();
            }
        }
        let all = changes.ops().to_vec();
        if let Ok(batches) = changes.batches(most) {
            prop_assert!(batches.iter().all(|batch| (1..=most).contains(&batch.ops().len())));
            let sent: Vec<_> = batches.iter().flat_map(|batch| batch.ops().to_vec()).collect();
            prop_assert_eq!(&sent, &all);
            for entry in 1..9 {
                let holds = |batch: &&Batch<OrgStockOp>| {
                    batch.ops().iter().any(|op| op.names() == [format!("entry entry-{entry}")])
                };
                prop_assert!(all.len() <= most || batches.iter().filter(holds).count() <= 1);
            }
        } else {
            prop_assert!(all.len() > most);
        }
    }

    /// The same for stock, whose materials move up to each other when they have to: it fails only when the ops
    /// of one material that falls and rises are too many.
    #[test]
    fn any_split_of_stock_keeps_moves_whole(ops in prop::collection::vec((0_u8..6, any::<bool>()), 1..40), most in 1_usize..12) {
        let mut changes = StockChanges::new();
        for (at, (material, falls)) in ops.iter().enumerate() {
            let lot = lot(&format!("m{material}"), &format!("Place {at}")).holding(scu("5"));
            changes.set(lot, scu(if *falls { "1" } else { "9" })).unwrap();
        }
        let of = |material: u8, falls: bool| ops.iter().filter(|op| **op == (material, falls)).count();
        let largest = (0..6).filter(|m| of(*m, true) > 0 && of(*m, false) > 0)
            .map(|m| of(m, true) + of(m, false)).max().unwrap_or(1);
        match changes.batches(most) {
            Err(_) => prop_assert!(largest > most && ops.len() > most),
            Ok(batches) => {
                prop_assert!(largest <= most || ops.len() <= most);
                let mut seen: Vec<_> = Vec::new();
                for batch in &batches {
                    prop_assert!(batch.ops().len() <= most);
                    let places: Vec<usize> =
                        batch.ops().iter().map(|op| op.id().unwrap().as_str().parse().unwrap()).collect();
                    prop_assert!(places.is_sorted());
                    seen.extend(places);
                }
                seen.sort_unstable();
                prop_assert_eq!(seen, (1..=ops.len()).collect::<Vec<_>>());
                for material in (0..6).filter(|m| of(*m, true) > 0 && of(*m, false) > 0) {
                    let name = format!("bt m{material}");
                    let holds = |batch: &&Batch<StockOp>| batch.ops().iter().any(|op| op.names().contains(&name));
                    prop_assert_eq!(batches.iter().filter(holds).count(), 1);
                }
            }
        }
    }
}
