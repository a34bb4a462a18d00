//! Tests of builders, batches and outcomes, without a server.

use exchange_api::{
    Contract, Json, Map,
    reasons::Reason,
    types::{
        AddBlueprint, BookIn, EntryId, ItemRef, OpOutcome, OpResult, OrgStockEntry, OrgStockOp, Ship,
        StockLot, UpsertShip,
    },
};
use proptest::prelude::*;

use super::{known::KnownItem, quantity, *};

fn item(bt: &str) -> ItemRef {
    KnownItem { bt: Some(bt.parse().unwrap()), ..KnownItem::default() }.item_ref().unwrap()
}

fn lot(material: &str, location: &str) -> LotSpec {
    LotSpec::new(item(material), location_by_name(location).unwrap())
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

fn only<O: ChangeOp>(changes: Changes<O>) -> ChangeBatch<O> {
    let mut batches = changes.into_batches(500).unwrap();
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

/// STK-05, TYP-07: the expected quantity is the one last seen, or 0 for a new lot; an unknown quality is sent
/// as 0.
#[test]
fn lot_is_set_with_the_expected_quantity() {
    let mut changes = StockChanges::new();
    changes.set_quantity(lot("ore", "Here").expecting_nothing(), scu("3")).unwrap();
    let good = lot("ore", "Here").with_quality(640).unwrap();
    changes.set_quantity(good.expecting(scu("12.5")), scu("0")).unwrap();
    let ops: Vec<_> = changes.ops().iter().map(json).collect();
    assert_eq!(ops[0]["expectedQuantity"], serde_json::json!({"amount": 0, "unit": "SCU"}));
    assert_eq!((&ops[0]["quality"], &ops[1]["quality"]), (&0.into(), &640.into()));
    assert_eq!(ops[1]["expectedQuantity"]["amount"], 12.5);
    assert!(lot("ore", "Here").with_quality(1001).is_err());
}

/// STK-20: the decrease and the increase of a move stay in one batch.
#[test]
fn a_move_is_never_split() {
    let mut changes = StockChanges::new();
    for number in 0..3 {
        changes.set_quantity(lot(&format!("other-{number}"), "Here").expecting_nothing(), scu("1")).unwrap();
    }
    let (from, to) = (lot("ore", "Here").expecting(scu("10")), lot("ore", "There").expecting(scu("0.25")));
    let (fall, rise) = changes.move_stock(from, to, &scu("2.5")).unwrap();
    let batches = changes.into_batches(4).unwrap();
    let sizes: Vec<_> = batches.iter().map(|batch| batch.ops().len()).collect();
    assert_eq!(sizes, [3, 2]);
    let ids: Vec<_> = batches[1].ops().iter().map(|op| op.id().unwrap().clone()).collect();
    assert_eq!(ids, [fall, rise]);
    let ops: Vec<_> = batches[1].ops().iter().map(json).collect();
    assert_eq!((&ops[0]["quantity"]["amount"], &ops[1]["quantity"]["amount"]), (&7.5.into(), &2.75.into()));
}

/// STK-20: a decrease and an increase of one material stay in one batch even if the caller did not declare a
/// move. This also applies to a change of the stolen mark, whichever names identify the material.
#[test]
fn decrease_and_increase_stay_together() {
    let both =
        KnownItem { bt: Some("ore".parse().unwrap()), name: Some("Ore".to_owned()), ..KnownItem::default() };
    let named = KnownItem { name: Some("ORE".to_owned()), ..KnownItem::default() };
    let (by_key, by_name) = (both.item_ref().unwrap(), named.item_ref().unwrap());
    let mut changes = StockChanges::new();
    let here = LotSpec::new(by_key, location_by_name("Here").unwrap());
    changes.set_quantity(here.clone().expecting(scu("10")), scu("0")).unwrap();
    changes.set_quantity(lot("metal", "Here").expecting_nothing(), scu("1")).unwrap();
    let twin = LotSpec { material: by_name, ..here.stolen_twin() };
    changes.set_quantity(twin.expecting_nothing(), scu("10")).unwrap();
    assert_eq!(changes.clone().into_batches(1).unwrap_err().kind(), ErrorKind::TooLarge);
    let batches = changes.into_batches(2).unwrap();
    let ids = |batch: &ChangeBatch<StockOp>| -> Vec<_> {
        batch.ops().iter().map(|op| op.id().unwrap().to_string()).collect()
    };
    assert_eq!(batches.iter().map(ids).collect::<Vec<_>>(), [vec!["1", "3"], vec!["2"]]);
}

/// WRT-01: if ops fit into no batch, the error names them and the remedy.
#[test]
fn ops_that_exceed_a_batch_are_named() {
    let note = |at: usize, entry: usize, id: String| {
        let op = serde_json::json!(
            {"op": "note", "opId": id, "unit": "u", "entry": format!("e-{entry}"), "version": at + 1, "note": "n"}
        );
        OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()
    };
    let split_error = |ops: Vec<OrgStockOp>| {
        let mut changes = OrgStockChanges::new();
        ops.into_iter().for_each(|op| drop(changes.push(op).unwrap()));
        let error = changes.into_batches(500).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        error.to_string()
    };
    // The first op has a separate entry. The other 600 alternate between two entries, so there is no
    // position for a cut.
    let alternating = |at: usize| note(at, if at == 0 { 7 } else { at % 2 }, at.to_string());
    let error = split_error((0..601).map(alternating).collect());
    assert!(error.contains("the ops from number 2 to 601 must stay together, but exceed"), "{error}");
    let error = split_error((0..400).map(|at| note(at, 1, format!("{at:064}"))).collect());
    assert!(
        error.contains("from number 1 to 400 must stay together") && error.contains("shorter ids"),
        "{error}"
    );

    let mut changes = StockChanges::new();
    for at in 0..3 {
        changes.set_quantity(lot("ore", &format!("Here {at}")).expecting(scu("10")), scu("0")).unwrap();
    }
    changes.set_quantity(lot("ore", "There").expecting_nothing(), scu("30")).unwrap();
    let error = changes.into_batches(3).unwrap_err().to_string();
    assert!(error.contains("4 ops that must stay together exceed"), "{error}");
}

/// LIM-22, OST-16: a response that rejects all ops of a batch and has the maximum number of warnings is small
/// enough to be stored under the key.
#[test]
fn org_stock_batch_response_fits_the_size_limit() {
    let ids: [fn(usize) -> String; 3] =
        [|at| at.to_string(), |at| format!("{at:064}"), |at| format!("{at:04}{}", "\u{1}".repeat(60))];
    let warning = br#"{"pointer": "/ops/499/location/name", "code": "LOC_KEY_UNRESOLVED"}"#;
    let warning = exchange_api::types::Warning::parse_valid(warning).unwrap();
    for (id, max_ops) in ids.into_iter().zip([2, 4, 20]) {
        let mut changes = OrgStockChanges::new();
        for at in 0..500 {
            let op = serde_json::json!(
                {"op": "note", "opId": id(at), "unit": "u", "entry": format!("e-{at}"), "version": 1, "note": "n"}
            );
            changes.push(OrgStockOp::parse_valid(op.to_string().as_bytes()).unwrap()).unwrap();
        }
        let batches = changes.into_batches(500).unwrap();
        assert!(batches.len() <= max_ops, "{}", batches.len());
        assert_eq!(batches.iter().map(|batch| batch.ops().len()).sum::<usize>(), 500);
        for batch in batches {
            let results = batch.ops().iter().enumerate().map(|(at, op)| {
                let mut refused = refused(at.try_into().unwrap(), "ORG_UNIT_VERSION_CONFLICT");
                refused.op_id = op.id().cloned();
                refused
            });
            let mut response = result(0, 0, batch.ops().len().try_into().unwrap(), results.collect());
            response.warnings = Some(vec![warning.clone(); 50]);
            assert!(serde_json::to_vec(&response).unwrap().len() <= 32 * 1024);
        }
    }
}

/// WRT-14: ops that are sent again keep their extensions.
#[test]
fn resent_ops_keep_their_extensions() {
    let extensions =
        exchange_api::types::Extensions(Map::from_iter([("org.example.tool".to_owned(), Map::new())]));
    let mut changes = blueprints(4).with_extensions(extensions.clone());
    changes.keep_together(["2", "4"].map(|id| OpId::new(id).unwrap()));
    let batch = changes.into_batches(500).unwrap().remove(0);
    let parts: Vec<_> =
        batch.clone().into_changes().into_batches(2).unwrap().into_iter().map(|part| part.ops).collect();
    let ids = |ops: &Vec<BlueprintOp>| ops.iter().map(|op| op.id().unwrap().to_string()).collect::<Vec<_>>();
    assert_eq!(parts.iter().map(ids).collect::<Vec<_>>(), [vec!["1"], vec!["2", "4"], vec!["3"]]);
    let outcome = batch.into_outcome(result(3, 0, 1, vec![refused(0, "REMOVED_ELSEWHERE")]));
    let again = outcome.override_changes(|_| true).unwrap();
    assert_eq!(again.extensions, Some(extensions));
}

/// STK-05: impossible moves are rejected before anything is sent.
#[test]
fn impossible_move_is_rejected() {
    let mut changes = StockChanges::new();
    let from = || lot("ore", "Here").expecting(scu("1"));
    for (to, amount) in [
        (lot("ore", "There").expecting_nothing(), scu("1.001")),
        (lot("metal", "There").expecting_nothing(), scu("1")),
        (lot("ore", "There").expecting_nothing(), quantity::pieces(1).unwrap()),
    ] {
        assert_eq!(changes.move_stock(from(), to, &amount).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert!(changes.is_empty());
}

/// Increases of one material need not be in one batch.
#[test]
fn increases_can_be_split_anywhere() {
    let mut changes = StockChanges::new();
    for number in 0..7 {
        changes.set_quantity(lot("ore", &format!("Place {number}")).expecting_nothing(), scu("1")).unwrap();
    }
    let sizes: Vec<_> = changes.into_batches(3).unwrap().iter().map(|batch| batch.ops().len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
}

/// SHP-11: an upsert contains all values of the ship, because a missing value would be cleared.
#[test]
fn upsert_contains_all_current_values() {
    let ship = Ship::parse_valid(
        br#"{"shipId": "ship-1", "version": 7, "shipType": {"bt": "type-1", "name": "Hauler"},
            "name": "Long Haul", "insurance": {"kind": "MONTHS", "months": 12}, "fitted": true,
            "location": {"name": "Area 18", "uex": {"kind": "CITY", "id": 1}}, "orgUnitVersion": 3}"#,
    )
    .unwrap();
    let upsert = json(&unchanged_upsert(&ship, "own-1".parse().unwrap()).unwrap());
    let expected = serde_json::json!({
        "op": "upsert", "externalId": "own-1", "shipId": "ship-1", "version": 7,
        "shipType": {"bt": "type-1", "name": "Hauler"}, "name": "Long Haul",
        "insurance": {"kind": "MONTHS", "months": 12}, "fitted": true,
        "location": {"name": "Area 18", "uex": {"kind": "CITY", "id": 1}},
    });
    assert_eq!(upsert, expected);
}

/// SHP-23: ops with purchase data or other undeclared properties, at any depth, are rejected.
#[test]
fn undeclared_members_are_rejected() {
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

/// SHP-17: a batch updates or removes each ship at most once.
#[test]
fn ship_is_changed_once_per_batch() {
    let ship = Ship::parse(
        br#"{"shipId": "ship-1", "version": 7, "shipType": {"bt": "type-1", "name": "Hauler"},
            "insurance": {"kind": "LTI"}, "fitted": true, "orgUnitVersion": 3}"#,
    )
    .unwrap();
    let mut changes = ShipChanges::new();
    changes.link_ship("own-1".parse().unwrap(), ship.ship_id.clone()).unwrap();
    changes.push(unchanged_upsert(&ship, "own-1".parse().unwrap()).unwrap()).unwrap();
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

/// OST-30, OST-33: ops have the ids and versions of the feed's entries. Each op on an entry increments the
/// version, and ops on one entry stay in one batch, in order.
#[test]
fn ops_increment_the_entry_version() {
    let mut changes = OrgStockChanges::new();
    let unit = || "unit-1".parse().unwrap();
    let feed = entry("entry-1", 7);
    let mut on = changes.on_entry(unit(), &feed);
    on.note(Some("from the last run".to_owned())).unwrap();
    on.book_out(StockSelection::new(scu("1")).from_mission("m-1".parse().unwrap(), scu("1")).unwrap())
        .unwrap();
    on.mark_stolen(true, None).unwrap();
    changes.on_entry(unit(), &entry("entry-2", 1)).move_into("unit-2".parse().unwrap(), None).unwrap();
    let ops_json: Vec<_> = changes.ops().iter().map(json).collect();
    let versions: Vec<_> = ops_json.iter().map(|op| (op["entry"].as_str(), op["version"].as_i64())).collect();
    let (first, second) = (Some("entry-1"), Some("entry-2"));
    assert_eq!(versions, [(first, Some(7)), (first, Some(8)), (first, Some(9)), (second, Some(1))]);
    assert_eq!(ops_json[1]["fromMissions"][0]["mission"], "m-1");
    assert_eq!(changes.clone().into_batches(2).unwrap_err().kind(), ErrorKind::TooLarge);
    let sizes: Vec<_> = changes.into_batches(3).unwrap().iter().map(|batch| batch.ops().len()).collect();
    assert_eq!(sizes, [3, 1]);
}

#[test]
fn tied_ops_stay_together() {
    let mut changes = blueprints(5);
    changes.keep_together([OpId::new("2").unwrap(), OpId::new("5").unwrap()]);
    let batches = changes.into_batches(2).unwrap();
    let ids = |batch: &ChangeBatch<BlueprintOp>| -> Vec<_> {
        batch.ops().iter().map(|op| op.id().unwrap().to_string()).collect()
    };
    let ids: Vec<_> = batches.iter().map(ids).collect();
    assert_eq!(ids, [vec!["1"], vec!["2", "5"], vec!["3", "4"]]);
}

#[test]
fn op_ids_are_assigned_and_preserved() {
    let mut changes = BlueprintChanges::new();
    let op = AddBlueprint::builder().ref_(item("bp-1")).op_id(OpId::new("2").unwrap()).build().unwrap();
    assert_eq!(changes.push(op.clone()).unwrap().as_str(), "2");
    assert_eq!(changes.add(item("bp-2")).unwrap().as_str(), "3");
    assert_eq!(changes.push(op).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(BlueprintChanges::new().into_batches(500).is_err());
}

/// WRT-14: only ops whose entry was removed elsewhere and that the member confirmed are sent again with
/// `override`.
#[test]
fn override_is_sent_after_confirmation() {
    let results =
        vec![refused(0, "REMOVED_ELSEWHERE"), refused(1, "REMOVED_ELSEWHERE"), refused(2, "UNMATCHED")];
    let outcome = only(blueprints(4)).into_outcome(result(1, 0, 3, results));
    assert_eq!(outcome.ops[3].verdict, OpVerdict::Applied);
    let mut confirmations = 0;
    let changes = outcome.override_changes(|op| {
        confirmations += 1;
        op.id().unwrap().as_str() == "2"
    });
    assert_eq!(confirmations, 2);
    let changes = changes.unwrap();
    let ops_json: Vec<_> = changes.ops().iter().map(json).collect();
    assert_eq!(ops_json.len(), 1);
    assert_eq!((&ops_json[0]["ref"]["bt"], &ops_json[0]["override"]), (&"bp-1".into(), &true.into()));
    assert!(outcome.override_changes(|_| false).is_none());
}

/// STK-13, SHP-20, OST-32, OST-33, WRT-14, RES-13: every reason has the expected remedy.
#[test]
fn every_reason_has_a_remedy() {
    let expected = |reason: &Reason| match reason.as_str() {
        "UNMATCHED" => OpRemedy::ShowMember,
        "AMBIGUOUS" => OpRemedy::LetMemberPick,
        "REMOVED_ELSEWHERE" => OpRemedy::AskThenOverride,
        "STOCK_EARMARKED" => OpRemedy::ReleaseReservation,
        "VERSION_CONFLICT" | "INSUFFICIENT_STOCK" => OpRemedy::PullAndMerge,
        "LINK_TARGET_TAKEN" => OpRemedy::PullAndRelink,
        "ORG_UNIT_VERSION_CONFLICT" => OpRemedy::AskForUnitAgain,
        "ORG_UNIT_NOT_ALLOWED" => OpRemedy::ReadUnits,
        "HOLDER_UNKNOWN" => OpRemedy::ReadRoster,
        "LOCATION_UNKNOWN" => OpRemedy::ReadLocations,
        "UNIT_MISMATCH" => OpRemedy::CorrectUnit,
        "STOCK_OFFERED" => OpRemedy::LowerOffer,
        "OVER_ALLOCATION" | "EARMARK_TARGET_INVALID" => OpRemedy::CorrectEarmarks,
        _ => OpRemedy::NotifyMember,
    };
    for reason in Reason::ALL.iter().chain([&Reason::from("LATER_REASON")]) {
        let outcome = only(blueprints(1)).into_outcome(result(0, 0, 1, vec![refused(0, reason.as_str())]));
        let (_, remedy) = outcome.unapplied_ops().next().unwrap();
        assert_eq!(remedy, expected(reason), "{reason}");
        assert!(!outcome.is_satisfied(), "{reason}");
        assert_eq!(remedy.needs_pull(), remedy.message().contains("synchronize"), "{reason}");
    }
    let later = OpOutcome::builder().index(0).result("postponed").build().unwrap();
    let outcome = only(blueprints(1)).into_outcome(result(0, 0, 1, vec![later]));
    assert_eq!(outcome.ops[0].verdict.remedy(), Some(OpRemedy::NotifyMember));
}

/// STK-18, CLI-04: the member is notified of reduced and removed offers and of unmatched references.
#[test]
fn notices_report_offers_and_unmatched_refs() {
    let mut response = result(
        0,
        1,
        1,
        vec![
            refused(0, "UNMATCHED"),
            OpOutcome::builder().index(1).result(OpResult::Unchanged).build().unwrap(),
        ],
    );
    response.offers_reduced = Some(2);
    let outcome = only(blueprints(2)).into_outcome(response);
    let notices: Vec<_> = outcome.notices().iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 2);
    assert!(notices[0].contains("2 lowered, 0 removed") && notices[1].starts_with("1 of the entries"));
    assert!(only(blueprints(1)).into_outcome(result(1, 0, 0, Vec::new())).notices().is_empty());
}

/// WRT-06: a result is assigned to its op by the op id, or by the index if it has no id.
#[test]
fn results_are_assigned_to_their_ops() {
    let mut by_id = refused(0, "UNMATCHED");
    by_id.op_id = Some(OpId::new("3").unwrap());
    let outcome = only(blueprints(3)).into_outcome(result(1, 0, 2, vec![by_id, refused(1, "AMBIGUOUS")]));
    let applied: Vec<_> = outcome.ops.iter().map(|op| op.verdict == OpVerdict::Applied).collect();
    assert_eq!(applied, [true, false, false]);
    let third = outcome.find_op(&OpId::new("3").unwrap()).unwrap();
    assert_eq!(third.verdict.remedy(), Some(OpRemedy::ShowMember));
}

/// Ops without a result count as applied only if the response is consistent.
#[test]
fn inconsistent_response_applies_nothing() {
    let mut stranger = refused(0, "UNMATCHED");
    stranger.op_id = Some(OpId::new("stranger").unwrap());
    for (response, unclear) in [
        (result(2, 0, 0, vec![refused(0, "UNMATCHED")]), 1),
        (result(1, 0, 1, Vec::new()), 2),
        (result(1, 0, 1, vec![stranger]), 2),
        (result(1, 0, 1, vec![refused(7, "UNMATCHED")]), 2),
        (result(1, 0, 1, vec![refused(0, "UNMATCHED"), refused(0, "UNMATCHED")]), 1),
    ] {
        let outcome = only(blueprints(2)).into_outcome(response);
        let found = outcome.ops.iter().filter(|op| op.verdict == OpVerdict::Unclear).count();
        assert_eq!(found, unclear);
        assert!(outcome.ops.iter().all(|op| op.verdict != OpVerdict::Applied));
    }
}

/// A stored batch is parsed unchanged, with its dry-run flag and extensions.
#[test]
fn stored_batch_round_trips() {
    let extensions =
        exchange_api::types::Extensions(Map::from_iter([("org.example.tool".to_owned(), Map::new())]));
    let changes = blueprints(2).with_extensions(extensions);
    let batch = only(changes).as_dry_run();
    struct UnreachableTransport;
    impl exchange_api::Transport for UnreachableTransport {
        fn send<'a>(
            &'a self,
            _: &'static exchange_api::runtime::operation::Operation,
            _: http::Request<bytes::Bytes>,
        ) -> exchange_api::runtime::transport::ResponseFuture<'a> {
            Box::pin(std::future::pending())
        }
    }
    let core = ApiClient::new("https://exchange.example", UnreachableTransport);
    let stored = batch.to_stored_request(&core, "key-12345678").unwrap();
    assert_eq!(stored.headers["idempotency-key"], "key-12345678");
    assert_eq!(ChangeBatch::<BlueprintOp>::from_body(&stored.body).unwrap(), batch);
    assert_eq!(ChangeBatch::<BlueprintOp>::from_body(b"{").unwrap_err().kind(), ErrorKind::Storage);
    assert_eq!(batch.clone().into_changes().into_batches(500).unwrap()[0].ops(), batch.ops());
}

/// A lot from the feed is identified by the exchange's key (TYP-03).
#[test]
fn feed_lot_is_set_by_its_key() {
    let lot = StockLot::parse_valid(
        br#"{"key": "lot-7", "material": {"bt": "mat-1", "name": "Agricium"},
            "location": {"name": "Area 18"}, "quality": 650, "stolen": true,
            "quantity": {"amount": 12.30, "unit": "SCU"}}"#,
    )
    .unwrap();
    let mut changes = StockChanges::new();
    changes.set_quantity(ExpectedLot::from_stock_lot(&lot).unwrap(), scu("1")).unwrap();
    let op = json(&changes.ops()[0]);
    assert_eq!(
        (&op["material"]["bt"], &op["quality"], &op["stolen"]),
        (&"mat-1".into(), &650.into(), &true.into())
    );
    assert_eq!(op["expectedQuantity"]["amount"], 12.3);
}

proptest! {
    /// Any split contains each op once, respects the batch size, keeps tied ops in one batch and in order,
    /// and keeps the order of all org stock ops.
    #[test]
    fn any_split_keeps_tied_ops_together(entries in prop::collection::vec(0_u8..9, 1..60), max_ops in 1_usize..20) {
        let mut changes = OrgStockChanges::new();
        for entry in &entries {
            if *entry == 0 {
                let holder = "holder".parse::<exchange_api::types::HolderRef>().unwrap();
                let op = BookIn::builder()
                    .unit("unit-1".parse::<exchange_api::types::UnitId>().unwrap())
                    .holder(holder).material(item("ore")).location(location_by_name("Here").unwrap())
                    .quality(exchange_api::types::Quality::new(0).unwrap()).stolen(false).quantity(scu("1"));
                changes.push(op.build().unwrap()).unwrap();
            } else {
                let entry = OrgStockEntry { id: EntryId::new(format!("entry-{entry}")).unwrap(), ..self::entry("e", 1) };
                changes.on_entry("unit-1".parse().unwrap(), &entry).note(None).unwrap();
            }
        }
        let all = changes.ops().to_vec();
        if let Ok(batches) = changes.into_batches(max_ops) {
            prop_assert!(batches.iter().all(|batch| (1..=max_ops).contains(&batch.ops().len())));
            let sent: Vec<_> = batches.iter().flat_map(|batch| batch.ops().to_vec()).collect();
            prop_assert_eq!(&sent, &all);
            for entry in 1..9 {
                let holds = |batch: &&ChangeBatch<OrgStockOp>| {
                    batch.ops().iter().any(|op| op.subject_names() == [format!("entry entry-{entry}")])
                };
                prop_assert!(all.len() <= max_ops || batches.iter().filter(holds).count() <= 1);
            }
        } else {
            prop_assert!(all.len() > max_ops);
        }
    }

    /// A split of stock ops follows the same rules, but may reorder ops. It does so to keep the ops of a
    /// material together if some of them increase and others decrease its lots. A split fails only if the ops
    /// of one such material exceed the batch size.
    #[test]
    fn any_stock_split_keeps_moves_whole(ops in prop::collection::vec((0_u8..6, any::<bool>()), 1..40), max_ops in 1_usize..12) {
        let mut changes = StockChanges::new();
        for (index, (material, falls)) in ops.iter().enumerate() {
            let lot = lot(&format!("m{material}"), &format!("Place {index}")).expecting(scu("5"));
            changes.set_quantity(lot, scu(if *falls { "1" } else { "9" })).unwrap();
        }
        let of = |material: u8, falls: bool| ops.iter().filter(|op| **op == (material, falls)).count();
        let largest = (0..6).filter(|m| of(*m, true) > 0 && of(*m, false) > 0)
            .map(|m| of(m, true) + of(m, false)).max().unwrap_or(1);
        match changes.into_batches(max_ops) {
            Err(_) => prop_assert!(largest > max_ops && ops.len() > max_ops),
            Ok(batches) => {
                prop_assert!(largest <= max_ops || ops.len() <= max_ops);
                let mut seen: Vec<_> = Vec::new();
                for batch in &batches {
                    prop_assert!(batch.ops().len() <= max_ops);
                    let places: Vec<usize> =
                        batch.ops().iter().map(|op| op.id().unwrap().as_str().parse().unwrap()).collect();
                    prop_assert!(places.is_sorted());
                    seen.extend(places);
                }
                seen.sort_unstable();
                prop_assert_eq!(seen, (1..=ops.len()).collect::<Vec<_>>());
                for material in (0..6).filter(|m| of(*m, true) > 0 && of(*m, false) > 0) {
                    let name = format!("bt m{material}");
                    let holds = |batch: &&ChangeBatch<StockOp>| batch.ops().iter().any(|op| op.subject_names().contains(&name));
                    prop_assert_eq!(batches.iter().filter(holds).count(), 1);
                }
            }
        }
    }
}
