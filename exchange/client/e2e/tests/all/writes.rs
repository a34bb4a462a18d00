//! Tests of every op of every change set, with the outbox, its file and the real service, with and without
//! faults.

mod fixture;

use exchange_client::{
    BlueprintChanges, Lane, OrgStockChanges, OutboxEvent, ShipChanges, StockChanges,
    api::{
        Map, Nullable,
        types::{
            BookIn, Holder, ItemRef, LocationRef, MonthlyInsurance, OrgStockEntry, Quality, Ship, StockLot,
            UnitId, UpsertShip,
        },
    },
    changes::{
        ExpectedLot, LotSpec, MemberNotice, OpRemedy, OpVerdict, StockSelection, known::KnownItem,
        location_by_name, quantity, unchanged_upsert,
    },
    outbox::{ComparisonResult, EntryState, WriteOutcome},
};
use exchange_service::{members::UnitRole, sandbox::SandboxAction};

use fixture::{WriteFixture, outcome};

fn named(name: &str) -> ItemRef {
    KnownItem { name: Some(name.to_owned()), ..KnownItem::default() }.item_ref().unwrap()
}

fn hangar() -> LocationRef {
    location_by_name("Sandbox City Hangar").unwrap()
}

fn storage() -> LocationRef {
    location_by_name("Sandbox Station Storage").unwrap()
}

fn scu(text: &str) -> exchange_client::api::types::Quantity {
    quantity::scu(text).unwrap()
}

fn lot<'a>(lots: &'a [StockLot], material: &str, stolen: bool) -> &'a StockLot {
    lots.iter().find(|lot| lot.material.bt.as_str() == material && lot.stolen == stolen).unwrap()
}

fn unit() -> UnitId {
    "unit-squadron".parse().unwrap()
}

/// RES-14, WRT-08, WRT-14: a change may name a product that was not resolved before. A blueprint that was
/// removed in the web application is restored only with the member's consent. Afterwards, the feed contains
/// all changes.
#[tokio::test]
async fn blueprints_are_added_removed_and_brought_back() {
    let fixture = WriteFixture::open().await;
    let mut changes = BlueprintChanges::new();
    changes.add(named("Sandbox Knife")).unwrap();
    changes.add(named("SBX Rifle")).unwrap();
    changes.add(named("No such thing")).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Blueprints);
    let verdicts: Vec<_> = outcome.ops.iter().map(|op| op.verdict.clone()).collect();
    assert_eq!(verdicts[..2], [OpVerdict::Applied, OpVerdict::Unchanged]);
    assert_eq!(verdicts[2].remedy(), Some(OpRemedy::ShowMember));
    assert_eq!(outcome.notices(), [MemberNotice::Unmatched { ops: 1 }]);

    let blueprints = fixture.blueprints().await;
    let helmet = blueprints.iter().find(|blueprint| blueprint.ref_.name == "Sandbox Helmet").unwrap();
    let act = SandboxAction::Blueprints { add: Vec::new(), remove: vec![helmet.key.as_str().to_owned()] };
    fixture.sandbox.act("sandbox-member", act).await.unwrap();
    let mut changes = BlueprintChanges::new();
    changes.add(named("Sandbox Helmet")).unwrap();
    let knife = blueprints.iter().find(|blueprint| blueprint.ref_.name == "Sandbox Knife").unwrap();
    changes.remove(knife.key.clone()).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Blueprints);
    assert_eq!(outcome.ops[0].verdict.remedy(), Some(OpRemedy::AskThenOverride));
    assert_eq!(outcome.ops[1].verdict, OpVerdict::Applied);
    let wanted = outcome.override_changes(|_| true).unwrap();
    assert!(outcome!(fixture.written(wanted).await, Blueprints).is_satisfied());
    let names: Vec<_> = fixture.blueprints().await.into_iter().map(|blueprint| blueprint.ref_.name).collect();
    assert!(names.contains(&"Sandbox Helmet".to_owned()) && !names.contains(&"Sandbox Knife".to_owned()));
}

/// STK-05, STK-13, STK-18, STK-20, TYP-06, TYP-07: lots can be set, moved and marked as stolen. Reserved
/// stock cannot be removed. Lowered offers are reported. Amounts are compared as at the exchange.
#[tokio::test]
async fn stock_is_set_moved_and_marked() {
    let fixture = WriteFixture::open().await;
    let lots = fixture.stock().await;
    let (ore, goods) =
        (lot(&lots, "material-sandbox-ore", false), lot(&lots, "material-sandbox-goods", false));
    let metal = lot(&lots, "material-sandbox-metal", false);
    let mut changes = StockChanges::new();
    let new = LotSpec::new(named("Sandbox Component"), hangar());
    changes.set_quantity(new.expecting_nothing(), quantity::pieces(3).unwrap()).unwrap();
    let there = LotSpec::from_stock_lot(ore).unwrap().at(storage());
    changes
        .move_stock(ExpectedLot::from_stock_lot(ore).unwrap(), there.expecting_nothing(), &scu("2.3456"))
        .unwrap();
    changes
        .move_stock(
            ExpectedLot::from_stock_lot(metal).unwrap(),
            LotSpec::from_stock_lot(metal).unwrap().stolen_twin().expecting_nothing(),
            &scu("1"),
        )
        .unwrap();
    changes.set_quantity(ExpectedLot::from_stock_lot(goods).unwrap(), scu("2")).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Stock);
    assert!(outcome.is_satisfied(), "{:?}", outcome.unapplied_ops().collect::<Vec<_>>());
    assert_eq!(outcome.notices(), [MemberNotice::OffersLowered { reduced: 1, removed: 0 }]);

    let lots = fixture.stock().await;
    let at = |material: &str, name: &str| {
        let mut found = lots.iter().filter(|lot| lot.material.bt.as_str() == material && !lot.stolen);
        found.find(|lot| lot.location.name.as_str() == name).map(|lot| lot.quantity.clone())
    };
    let ores =
        ["Sandbox City Hangar", "Sandbox Station Storage"].map(|name| at("material-sandbox-ore", name));
    assert!(quantity::is_same(ores[0].as_ref().unwrap(), &scu("10.1544")));
    assert!(quantity::is_same(ores[1].as_ref().unwrap(), &scu("2.3456")));
    assert!(quantity::is_same(&lot(&lots, "material-sandbox-metal", true).quantity, &scu("1")));

    // A part of this metal is reserved, and a writer with an outdated amount has to pull again.
    let metal = lot(&lots, "material-sandbox-metal", false);
    let mut changes = StockChanges::new();
    changes.set_quantity(ExpectedLot::from_stock_lot(metal).unwrap(), scu("0")).unwrap();
    changes
        .set_quantity(
            LotSpec::from_stock_lot(lot(&lots, "material-sandbox-goods", false)).unwrap().expecting_nothing(),
            scu("1"),
        )
        .unwrap();
    let outcome = outcome!(fixture.written(changes).await, Stock);
    let remedies: Vec<_> = outcome.unapplied_ops().map(|(_, remedy)| remedy).collect();
    assert_eq!(remedies, [OpRemedy::ReleaseReservation, OpRemedy::PullAndMerge]);
}

/// SHP-11, SHP-20: ships can be created, linked, updated with all their current values, and removed. Each
/// rejection has a remedy.
#[tokio::test]
async fn ships_are_created_linked_updated_and_removed() {
    let fixture = WriteFixture::open().await;
    let ships = fixture.ships().await;
    let hauler =
        ships.iter().find(|ship| ship.name.as_ref().is_some_and(|name| name == "Long Haul")).unwrap();
    let external_id = |id: &str| id.parse::<exchange_client::api::types::ExternalId>().unwrap();
    let mut changes = ShipChanges::new();
    changes.link_ship(external_id("own-1"), hauler.ship_id.clone()).unwrap();
    let mut update = unchanged_upsert(hauler, external_id("own-1")).unwrap();
    update.fitted = Some(false);
    changes.push(update).unwrap();
    let new = UpsertShip::builder().external_id(external_id("own-2")).ship_type(named("Sandbox Miner"));
    let new = new.insurance(MonthlyInsurance { months: 6, extra: Map::new() }).location(hangar());
    changes.push(new.build().unwrap()).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Ships);
    assert!(outcome.is_satisfied(), "{:?}", outcome.unapplied_ops().collect::<Vec<_>>());

    let ships = fixture.ships().await;
    let ship_linked_to = |id: &str| -> &Ship {
        ships
            .iter()
            .find(|ship| ship.external_id.as_ref().is_some_and(|external_id| external_id == id))
            .unwrap()
    };
    let now = ship_linked_to("own-1");
    assert!(!now.fitted);
    assert_eq!((&now.name, &now.location, &now.org_unit), (&hauler.name, &hauler.location, &hauler.org_unit));
    let mut changes = ShipChanges::new();
    // These ops have an outdated version, a unit to which the member does not belong, and a ship that is
    // already linked.
    changes.push(unchanged_upsert(hauler, external_id("own-1")).unwrap()).unwrap();
    let miner = ship_linked_to("own-2");
    let mut moved = unchanged_upsert(miner, external_id("own-2")).unwrap();
    moved.org_unit = Some(Nullable::Value("unit-elsewhere".parse().unwrap()));
    changes.push(moved.clone()).unwrap();
    changes.link_ship(external_id("own-3"), miner.ship_id.clone()).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Ships);
    let remedies: Vec<_> = outcome.unapplied_ops().map(|(_, remedy)| remedy).collect();
    assert_eq!(remedies, [OpRemedy::PullAndMerge, OpRemedy::ReadUnits, OpRemedy::PullAndRelink]);
    let mut changes = ShipChanges::new();
    moved.org_unit = Some(Nullable::Value(unit()));
    changes.push(moved).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Ships);
    let remedies: Vec<_> = outcome.unapplied_ops().map(|(_, remedy)| remedy).collect();
    assert_eq!(remedies, [OpRemedy::AskForUnitAgain]);

    let mut changes = ShipChanges::new();
    changes.remove(ship_linked_to("own-1")).unwrap();
    let outcome = outcome!(fixture.written(changes).await, Ships);
    assert!(outcome.is_satisfied());
    assert_eq!(outcome.notices(), [MemberNotice::Detached { missions: 1 }]);
    assert_eq!(fixture.ships().await.len(), ships.len() - 1);
}

/// OST-30, OST-32, OST-33: all eight ops on a pool are applied with ids and versions from the feed, also to
/// newly booked entries. The remedy for an outdated version is to pull the feed, and for an unknown holder to
/// read the roster.
#[tokio::test]
async fn org_stock_ops_are_applied() {
    let fixture = WriteFixture::open().await;
    fixture
        .sandbox
        .act(
            "sandbox-member",
            SandboxAction::Role { unit: "unit-iridium".to_owned(), role: Some(UnitRole::Logistician) },
        )
        .await
        .unwrap();
    let roster = fixture.api().org_stock_members(&unit()).await.unwrap().into_body();
    let holder = |name: &str| {
        let member = roster.items.iter().flatten().find(|member| member.name == name).unwrap();
        member.ref_.clone()
    };
    let book_in = |holder| {
        BookIn::builder()
            .unit(unit())
            .holder(holder)
            .material(named("Sandbox Ore"))
            .location(hangar())
            .quality(Quality::new(111).unwrap())
            .stolen(false)
            .quantity(scu("10"))
            .build()
            .unwrap()
    };
    let mut changes = OrgStockChanges::new();
    changes.push(book_in(holder("Sandbox Member"))).unwrap();
    changes.push(book_in("nobody".parse().unwrap())).unwrap();
    let outcome = outcome!(fixture.written(changes).await, OrgStock);
    assert_eq!(outcome.ops[0].verdict, OpVerdict::Applied);
    assert_eq!(outcome.ops[1].verdict.remedy(), Some(OpRemedy::ReadRoster));

    let entry = fixture.entry(111).await;
    let mut changes = OrgStockChanges::new();
    let mut on = changes.on_entry(unit(), &entry);
    on.note(Some("fresh".to_owned())).unwrap();
    on.book_out(StockSelection::new(scu("1"))).unwrap();
    on.sell(StockSelection::new(scu("1")), "TDD Area 18", 12_000).unwrap();
    on.move_to(StockSelection::new(scu("1")), storage()).unwrap();
    on.hand_to(StockSelection::new(scu("1")), unit(), holder("Sandbox Member 2")).unwrap();
    on.mark_stolen(true, Some(scu("1"))).unwrap();
    on.move_into("unit-iridium".parse().unwrap(), None).unwrap();
    let outcome = outcome!(fixture.written(changes).await, OrgStock);
    assert!(outcome.is_satisfied(), "{:?}", outcome.unapplied_ops().collect::<Vec<_>>());

    let mut changes = OrgStockChanges::new();
    let stale = OrgStockEntry { version: entry.version, ..fixture.entry(111).await };
    changes.on_entry("unit-iridium".parse().unwrap(), &stale).note(None).unwrap();
    let outcome = outcome!(fixture.written(changes).await, OrgStock);
    assert_eq!(outcome.ops[0].verdict.remedy(), Some(OpRemedy::PullAndMerge));
}

/// RES-14, OST-13: a name is looked up as a material first and then as an item, without being resolved
/// before. A renamed holder is identified by the `ref`.
#[tokio::test]
async fn exchange_resolves_names_and_holder_refs() {
    let fixture = WriteFixture::open().await;
    let mut changes = StockChanges::new();
    for (name, there) in [("Sandbox Component", hangar()), ("Sandbox Rifle", storage())] {
        changes
            .set_quantity(LotSpec::new(named(name), there).expecting_nothing(), quantity::pieces(2).unwrap())
            .unwrap();
    }
    let outcome = outcome!(fixture.written(changes).await, Stock);
    assert!(outcome.is_satisfied(), "{:?}", outcome.unapplied_ops().collect::<Vec<_>>());
    let materials: Vec<_> =
        fixture.stock().await.into_iter().map(|lot| lot.material.bt.to_string()).collect();
    for id in ["material-sandbox-component", "item-sandbox-rifle"] {
        assert!(materials.iter().any(|bt| bt == id), "{id}: {materials:?}");
    }

    let before = fixture.api().org_stock_members(&unit()).await.unwrap().into_body().items.unwrap();
    let before = before.into_iter().find(|member| member.name == "Sandbox Member 2").unwrap();
    let act = SandboxAction::RenameMember { name: "Somebody Else".to_owned() };
    fixture.sandbox.act("sandbox-member-2", act).await.unwrap();
    let book_in = BookIn::builder().unit(unit()).holder(before.ref_.clone()).material(named("Sandbox Ore"));
    let book_in =
        book_in.location(hangar()).quality(Quality::new(222).unwrap()).stolen(false).quantity(scu("3"));
    let mut changes = OrgStockChanges::new();
    changes.push(book_in.build().unwrap()).unwrap();
    let outcome = outcome!(fixture.written(changes).await, OrgStock);
    assert!(outcome.is_satisfied(), "{:?}", outcome.unapplied_ops().collect::<Vec<_>>());
    let Holder::NamedHolder(holder) = fixture.entry(222).await.holder else {
        panic!("the name is not withheld")
    };
    assert_eq!((holder.ref_, holder.name.as_str()), (before.ref_, "Somebody Else"));
}

/// GW-12: after a lost response, the change set is sent again under the same key and applied once.
#[tokio::test]
async fn lost_response_is_replayed() {
    let fixture = WriteFixture::open().await;
    let lots = fixture.stock().await;
    let ore = lot(&lots, "material-sandbox-ore", false);
    let mut changes = StockChanges::new();
    changes.set_quantity(ExpectedLot::from_stock_lot(ore).unwrap(), scu("20")).unwrap();
    let entry = fixture.outbox.enqueue(changes).await.unwrap()[0];
    fixture.network.lose_next_response("stock_write");
    let events = fixture.outbox.flush().await.unwrap();
    assert!(matches!(events[..], [OutboxEvent::Waiting { .. }]), "{events:?}");
    // The program ends and is started again.
    let fixture = fixture.restarted().await;
    fixture.outbox.retry(entry).await.unwrap();
    let events = fixture.outbox.flush().await.unwrap();
    let [OutboxEvent::Decided { replayed: true, written: Some(written), .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(written.is_satisfied());
    assert!(quantity::is_same(
        &lot(&fixture.stock().await, "material-sandbox-ore", false).quantity,
        &scu("20")
    ));
}

/// ERR-27, WRT-11, WRT-08: a large removal waits until the member confirms it in the web application. Its
/// link can be requested again under the same key, and the feed shows the outcome.
#[tokio::test]
async fn mass_change_is_confirmed_by_the_member() {
    let fixture = WriteFixture::open().await;
    let lots = fixture.stock().await;
    let mut changes = StockChanges::new();
    for lot in lots.iter().filter(|lot| lot.material.bt.as_str() != "material-sandbox-metal") {
        let nothing = quantity::scu("0").unwrap();
        let nothing = exchange_client::api::types::Quantity { unit: lot.quantity.unit.clone(), ..nothing };
        changes.set_quantity(ExpectedLot::from_stock_lot(lot).unwrap(), nothing).unwrap();
    }
    let entry = fixture.outbox.enqueue(changes).await.unwrap()[0];
    let outcomes = fixture.outbox.flush().await.unwrap();
    let [OutboxEvent::Confirm { link: Some(first), .. }] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(fixture.outbox.entry(entry).await.unwrap().state(), EntryState::Held);
    let again = fixture.outbox.request_confirmation_link(entry).await.unwrap().unwrap();
    assert_ne!(first.expose(), again.expose());
    assert!(!fixture.confirm(first.expose()).await, "the old link is still valid");
    assert!(fixture.confirm(again.expose()).await);
    let left = fixture.stock().await;
    assert!(left.iter().all(|lot| lot.material.bt.as_str() == "material-sandbox-metal"), "{left:?}");
    let mut events = fixture.outbox.events();
    fixture.outbox.resolve_unknown(entry, ComparisonResult::Applied).await.unwrap();
    assert_eq!(events.recv().await.unwrap().lane_to_pull(), Some(Lane::Stock));
    assert_eq!(fixture.outbox.entry(entry).await.unwrap().state(), EntryState::Done);
}

/// WRT-04: a preview returns the outcome of changes and writes nothing.
#[tokio::test]
async fn a_preview_writes_nothing() {
    let fixture = WriteFixture::open().await;
    let before = fixture.blueprints().await.len();
    let mut changes = BlueprintChanges::new();
    changes.add(named("Sandbox Knife")).unwrap();
    let outcomes = fixture.outbox.preview_changes(changes).await.unwrap();
    assert!(outcomes[0].dry_run && outcomes[0].is_satisfied());
    assert_eq!(fixture.blueprints().await.len(), before);
}
