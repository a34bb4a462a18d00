//! Tests of the resolution of references for each kind, and of the list of locations.

use super::*;

const RESOLVE: &str = "/exchange/v1/catalog/resolve";

/// Creates a backend whose catalogue has distinct values in every field of every kind.
async fn fixture() -> BackendFixture {
    let fixture = BackendFixture::new().await;
    let entry = |kind, id: &str, name: &str| NewEntry::new(kind, id, name);
    let guid = |last: u8| Some(format!("00000000-0000-0000-0000-0000000000{last:02x}"));
    let rifle = NewEntry {
        sc_record: Some("BP_CRAFT_RIFLE".into()),
        wiki_guid: guid(1),
        game_guid: guid(2),
        output_guid: guid(3),
        uex_id: Some(11),
        loc_key: Some("item_Name_Rifle".into()),
        ..entry(EntryKind::Blueprint, "rifle", "Sandbox Rifle")
    };
    let twin = NewEntry {
        sc_record: Some("bp_craft_twin".into()),
        output_guid: guid(3),
        uex_id: Some(11),
        ..entry(EntryKind::Blueprint, "twin", "Sandbox Twin")
    };
    let other = NewEntry {
        sc_record: Some("BP_CRAFT_TWIN".into()),
        ..entry(EntryKind::Blueprint, "other", "Sandbox Other")
    };
    let long = entry(EntryKind::Blueprint, &"P".repeat(129), "Long");
    let item = NewEntry {
        sc_record: Some("item_rifle".into()),
        game_guid: guid(4),
        ..entry(EntryKind::Item, "i", "Rifle")
    };
    let ore = NewEntry {
        loc_key: Some("ore_name".into()),
        ..entry(EntryKind::Material, "ore", "Quanta-Ore (Raw)")
    };
    let metal = entry(EntryKind::Material, "metal", "Quanta Metal");
    let ship = |id: &str, name: &str, maker: &str| NewEntry {
        facts: json!({ "manufacturer": maker }),
        ..entry(EntryKind::ShipType, id, name)
    };
    let ships = [ship("hauler", "Drake F7C-M Hauler", "Drake"), ship("miner", "Miner", "Argo")];
    let alias = |kind, alias: &str, id: &str| EntryAlias { kind, alias: alias.into(), id: id.into() };
    let aliases = vec![
        alias(EntryKind::Blueprint, "The Gun", "rifle"),
        alias(EntryKind::Material, "Quantum Dust", "ore"),
        alias(EntryKind::ShipType, "The Truck", "hauler"),
    ];
    let mut entries = vec![rifle, twin, other, long, item, ore, metal];
    entries.extend(ships);
    entries.extend((0..12).map(|n| entry(EntryKind::Blueprint, &format!("same-{n:02}"), "Same Name")));
    let contents = CatalogueContents { entries, aliases, locations: contents().locations };
    fixture
        .store
        .write(move |connection| replace_contents(connection, &SystemRandom, &contents))
        .await
        .expect("the catalogue is stored");
    fixture
}

/// Returns the result of each reference as `=key`, `?key,key` or `-`, and whether its `locKey` was
/// unresolved.
async fn resolve(fixture: &BackendFixture, kind: &str, refs: Vec<Value>) -> Vec<String> {
    let response = fixture.post(&first(), RESOLVE, json!({ "kind": kind, "refs": refs })).await;
    let warned: Vec<&str> = response.body["warnings"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|one| one["pointer"].as_str().expect("a string"))
        .collect();
    let key = |entry: &Value| entry["bt"].as_str().expect("a string").to_owned();
    let one = |(index, result): (usize, &Value)| {
        assert_eq!(result["index"], index);
        let found = match result["status"].as_str().expect("a string") {
            "resolved" => format!("={}", key(&result["ref"])),
            "ambiguous" => {
                let keys: Vec<String> =
                    result["candidates"].as_array().expect("an array").iter().map(key).collect();
                format!("?{}", keys.join(","))
            }
            _ => "-".to_owned(),
        };
        let warned = warned.contains(&format!("/refs/{index}/locKey").as_str());
        if warned { format!("{found} !") } else { found }
    };
    response.body["results"].as_array().expect("an array").iter().enumerate().map(one).collect()
}

async fn check(fixture: &BackendFixture, kind: &str, cases: &[(Value, &str)]) {
    let refs = cases.iter().map(|(reference, _)| reference.clone()).collect();
    let found = resolve(fixture, kind, refs).await;
    for ((reference, expected), found) in cases.iter().zip(found) {
        assert_eq!(&found, expected, "{kind} {reference}");
    }
}

/// RES-03, TYP-01, TYP-02: a reference to a blueprint is matched against these fields.
#[tokio::test]
async fn blueprints_resolve_by_every_field() {
    let fixture = fixture().await;
    let long = exchange_service::catalogue::shown_key(&"P".repeat(129));
    let same: Vec<String> = (0..10).map(|n| format!("same-{n:02}")).collect();
    check(
        &fixture,
        "BLUEPRINT",
        &[
            (json!({ "bt": "rifle" }), "=rifle"),
            (json!({ "bt": long }), &format!("={long}")),
            (json!({ "bt": "RIFLE" }), "-"),
            (json!({ "scRecord": "bp_CRAFT_rifle" }), "=rifle"),
            (json!({ "scRecord": "BP_craft_twin" }), "?other,twin"),
            (json!({ "scGuid": "00000000-0000-0000-0000-000000000001" }), "=rifle"),
            (json!({ "scGuid": "00000000-0000-0000-0000-000000000002" }), "=rifle"),
            (json!({ "scGuid": "00000000-0000-0000-0000-000000000003" }), "?rifle,twin"),
            (json!({ "uexId": 11 }), "?rifle,twin"),
            (json!({ "uexId": 12 }), "-"),
            (json!({ "locKey": "ITEM_NAME_RIFLE" }), "=rifle"),
            (json!({ "name": " sandbox  RIFLE" }), "=rifle"),
            (json!({ "name": "the gun" }), "=rifle"),
            (json!({ "name": "Sandbox Rifle [Founder Pack]" }), "=rifle"),
            (json!({ "name": "the gun (Starter Pack)" }), "=rifle"),
            (json!({ "name": "Sandbox Rifel" }), "?rifle"),
            (json!({ "name": "Same Name" }), &format!("?{}", same.join(","))),
            (json!({ "name": "Nothing like it", "nameLocale": "de" }), "-"),
        ],
    )
    .await;
}

/// RES-04: an item's name matches exactly, ignoring case, without fuzzy search.
#[tokio::test]
async fn item_names_match_only_exactly() {
    let fixture = fixture().await;
    check(
        &fixture,
        "ITEM",
        &[
            (json!({ "scRecord": "ITEM_RIFLE" }), "=i"),
            (json!({ "scGuid": "00000000-0000-0000-0000-000000000004" }), "=i"),
            (json!({ "name": "rifle" }), "=i"),
            (json!({ "name": "Rifles" }), "-"),
            (json!({ "bt": "rifle" }), "-"),
        ],
    )
    .await;
}

/// RES-05: a material's name matches exactly, canonically, by alias, or fuzzily.
#[tokio::test]
async fn materials_resolve_by_canonical_name_and_alias() {
    let fixture = fixture().await;
    check(
        &fixture,
        "MATERIAL",
        &[
            (json!({ "name": "quanta-ore (raw)" }), "=ore"),
            (json!({ "name": "QuantaOre Raw" }), "=ore"),
            (json!({ "name": "quantum dust" }), "=ore"),
            (json!({ "name": "Quanta Metall" }), "?metal"),
            (json!({ "locKey": "Ore_Name" }), "=ore"),
            (json!({ "name": "---" }), "-"),
        ],
    )
    .await;
}

/// RES-06: a ship type's name matches regardless of case, punctuation and manufacturer. Aliases are not used.
#[tokio::test]
async fn ship_types_resolve_without_manufacturer() {
    let fixture = fixture().await;
    check(
        &fixture,
        "SHIP_TYPE",
        &[
            (json!({ "name": "drake f7cm hauler" }), "=hauler"),
            (json!({ "name": "F7C-M Hauler" }), "=hauler"),
            (json!({ "name": "Argo Miner" }), "=miner"),
            (json!({ "name": "Drake Miner" }), "=miner"),
            (json!({ "name": "F7C-M Haulre" }), "?hauler"),
            (json!({ "name": "The Truck" }), "-"),
        ],
    )
    .await;
}

/// RES-07, RES-08, RES-09, A25: keys are matched before names. A unique match has priority over an ambiguous
/// one, and fuzzy matches are tried last.
#[tokio::test]
async fn first_field_with_a_unique_match_wins() {
    let fixture = fixture().await;
    let guid = "00000000-0000-0000-0000-000000000003";
    check(
        &fixture,
        "BLUEPRINT",
        &[
            (json!({ "bt": "twin", "scRecord": "BP_CRAFT_RIFLE", "name": "Sandbox Rifle" }), "=twin"),
            (json!({ "bt": "gone", "scRecord": "BP_CRAFT_RIFLE" }), "=rifle"),
            (json!({ "scRecord": "BP_CRAFT_TWIN", "locKey": "item_name_rifle" }), "=rifle"),
            (json!({ "scRecord": "BP_CRAFT_TWIN", "scGuid": guid, "name": "Sandbox Twin" }), "=twin"),
            (json!({ "scRecord": "BP_CRAFT_TWIN", "scGuid": guid }), "?other,twin"),
            (json!({ "scGuid": guid, "name": "Same Name" }), "?rifle,twin"),
            (json!({ "scGuid": guid, "name": "Sandbox Othr" }), "?rifle,twin"),
            (json!({ "uexId": 99, "name": "Sandbox Othr" }), "?other"),
        ],
    )
    .await;
}

/// RES-10: a warning reports a `locKey`, unless the key matches exactly one entry. The name does not matter.
#[tokio::test]
async fn unresolved_loc_key_causes_a_warning() {
    let fixture = fixture().await;
    check(
        &fixture,
        "BLUEPRINT",
        &[
            (json!({ "locKey": "nothing", "name": "Sandbox Rifle" }), "=rifle !"),
            (json!({ "locKey": "nothing" }), "- !"),
            (json!({ "locKey": "nothing", "uexId": 11 }), "?rifle,twin !"),
            (json!({ "locKey": "nothing", "bt": "rifle" }), "=rifle"),
            (json!({ "locKey": "item_name_rifle", "name": "Sandbox Twin" }), "=rifle"),
        ],
    )
    .await;
}

/// RES-01, RES-11, RES-12, LIM-15, CON-08: 500 references have results in the order of the request and at
/// most 50 warnings, including one for an undeclared field.
#[tokio::test]
async fn warnings_for_500_references_are_capped_at_50() {
    let fixture = fixture().await;
    let mut refs = vec![json!({ "locKey": "nothing", "name": "Sandbox Riffle of another kind" }); 500];
    refs[1] = json!({ "bt": "rifle", "note": "mine" });
    let response = fixture.post(&first(), RESOLVE, json!({ "kind": "BLUEPRINT", "refs": refs })).await;
    assert_eq!(response.body["results"].as_array().expect("an array").len(), 500);
    let warnings = response.body["warnings"].as_array().expect("an array");
    assert_eq!(warnings.len(), 50);
    assert_eq!(warnings[0], json!({ "pointer": "/refs/1/note", "code": "UNKNOWN_FIELD" }));
    assert_eq!(warnings[1], json!({ "pointer": "/refs/0/locKey", "code": "LOC_KEY_UNRESOLVED" }));
}

/// RES-02, A23: any granted scope of the exchange is sufficient; a token without any is rejected.
#[tokio::test]
async fn any_exchange_scope_allows_resolution() {
    let fixture = fixture().await;
    let mut caller = first();
    let body = json!({ "kind": "ITEM", "refs": [{ "name": "Rifle" }] });
    for scope in Scope::ALL {
        caller.scopes = [scope.as_str().to_owned()].into();
        assert_eq!(fixture.post(&caller, RESOLVE, body.clone()).await.status, 200, "{scope}");
    }
    fixture.sql("DELETE FROM client_scope WHERE scope = 'exchange.demand.read'").await;
    for scope in ["exchange.demand.read", "offline_access"] {
        caller.scopes = [scope.to_owned()].into();
        assert_eq!(fixture.post(&caller, RESOLVE, body.clone()).await.code(), "SCOPE_MISSING");
    }
}

/// RES-15: the visible locations are sorted by name; a link to a city precedes one to a station.
#[tokio::test]
async fn locations_are_sorted_by_name() {
    let fixture = fixture().await;
    let listed = fixture.get(&first(), "/exchange/v1/catalog/locations").await.body;
    let expected = json!({ "items": [
        { "name": "City", "uex": { "kind": "CITY", "id": 1 } },
        { "name": "Meadow" },
        { "name": "Station", "uex": { "kind": "SPACE_STATION", "id": 7 } },
    ] });
    assert_eq!(listed, expected);
}

/// TYP-08, TYP-09: a location is found by either of its links, otherwise by its exact name if it is visible.
#[tokio::test]
async fn location_resolves_by_link_before_name() {
    let fixture = fixture().await;
    let catalogue = exchange_service::catalogue::Catalogue::default();
    let index = fixture
        .store
        .read(move |connection| catalogue.index_at(connection))
        .await
        .expect("the index can be read");
    for (reference, expected) in [
        (json!({ "uex": { "kind": "CITY", "id": 1 } }), Some("l-1")),
        (json!({ "uex": { "kind": "SPACE_STATION", "id": 2 }, "name": "Meadow" }), Some("l-1")),
        (json!({ "uex": { "kind": "CITY", "id": 7 }, "name": "Meadow" }), Some("l-4")),
        (json!({ "uex": { "kind": "MOON", "id": 1 }, "name": "Station" }), Some("l-2")),
        (json!({ "uex": { "kind": "CITY", "id": 9 } }), None),
        (json!({ "name": "Cellar" }), None),
        (json!({ "name": "meadow" }), None),
        (json!({ "name": "Meadow" }), Some("l-4")),
    ] {
        let read =
            exchange_api::Contract::parse(reference.to_string().as_bytes()).expect("a valid reference");
        let found = index.locations().find_location(&read).map(|place| place.id.as_str());
        assert_eq!(found, expected, "{reference}");
    }
}

/// The catalogue index is updated when the tables change: the next request finds new entries.
#[tokio::test]
async fn index_reflects_new_entries() {
    let fixture = fixture().await;
    let refs = || vec![json!({ "name": "Sandbox Rifle" }), json!({ "name": "Newcomer" })];
    assert_eq!(resolve(&fixture, "BLUEPRINT", refs()).await, ["=rifle", "-"]);
    let contents = CatalogueContents {
        entries: vec![NewEntry::new(EntryKind::Blueprint, "new", "Newcomer")],
        ..CatalogueContents::default()
    };
    fixture
        .store
        .write(move |connection| replace_contents(connection, &SystemRandom, &contents))
        .await
        .expect("the catalogue is stored");
    assert_eq!(resolve(&fixture, "BLUEPRINT", refs()).await, ["-", "=new"]);
}

/// DRF-07, RES-07, RES-08, RES-09: the lookup of drafts has the same result as a resolution of a single
/// reference, for any combination of keys and names.
#[tokio::test]
async fn draft_lookup_equals_single_resolution() {
    use exchange_service::catalogue::{Catalogue, Resolution};
    let fixture = fixture().await;
    let catalogue = Catalogue::default();
    let index = fixture
        .store
        .read(move |connection| catalogue.index_at(connection))
        .await
        .expect("the index can be read");
    let keys = [
        json!({}),
        json!({ "bt": "rifle" }),
        json!({ "bt": "hauler", "scRecord": "bp_craft_TWIN" }),
        json!({ "uexId": 11, "locKey": "nothing" }),
        json!({ "scGuid": "00000000-0000-0000-0000-000000000003" }),
        json!({ "locKey": "ITEM_name_rifle" }),
    ];
    let names = [
        None,
        Some("Sandbox Twin"),
        Some("the gun"),
        Some("Sandbox Rifle [Founder Pack]"),
        Some("Same Name"),
        Some("Sandbox Rifel"),
        Some("quanta ore raw"),
        Some("Quantum Dust"),
        Some("F7C-M Hauler"),
        Some("The Truck"),
        Some("Rifle"),
        Some("…"),
    ];
    let (mut unique, mut ambiguous) = (0, 0);
    for kind in EntryKind::ALL {
        for (keys, name) in keys.iter().flat_map(|keys| names.map(|name| (keys.clone(), name))) {
            let mut sent = keys;
            if let Some(name) = name {
                sent["name"] = json!(name);
            }
            let Ok(reference) = exchange_api::Contract::parse_valid(sent.to_string().as_bytes()) else {
                continue;
            };
            let found = index.find_unique(kind, &reference).map(|entry| &entry.id);
            match index.resolve_reference(kind, &reference).resolution {
                Resolution::Unique(entry) => {
                    unique += 1;
                    assert_eq!(found, Some(&entry.id), "{kind:?} {sent}");
                }
                Resolution::Ambiguous(_) | Resolution::Unmatched => {
                    ambiguous += 1;
                    assert_eq!(found, None, "{kind:?} {sent}");
                }
            }
        }
    }
    assert!(unique > 40 && ambiguous > 40, "{unique} {ambiguous}");
}
