//! Parses, validates and serializes every fixture with its generated type.

use std::fs;

use contract_runtime::{Contract as _, Json, Number};
use exchange_api::types::StockLot;
use exchange_tests::{Fixture, RECIPES, fixtures, models, published, schemas};

/// CON-04: every type of the contract has published fixtures, and every fixture folder has a type.
#[test]
fn every_type_has_fixtures_and_every_folder_a_type() {
    let models = models();
    let all = published();
    for folder in models.keys() {
        let own: Vec<&Fixture> = all.iter().filter(|f| f.folder == *folder).collect();
        assert!(own.iter().any(|f| f.expect.is_none()), "{folder}: no valid fixture");
        assert!(own.iter().any(|f| f.expect.is_some()), "{folder}: no invalid fixture");
    }
    for fixture in &all {
        assert!(models.contains_key(&fixture.folder), "{}: no type for this folder", fixture.name);
    }
    assert!(all.len() >= 200);
}

/// The field for undeclared properties is public; validation and serialization fail if it contains the name
/// of a declared property.
#[test]
fn no_member_is_written_twice() {
    let text = fs::read(schemas().join("fixtures/stock-lot/valid/full.json")).unwrap();
    let mut lot = StockLot::parse(&text).unwrap();
    lot.extra.insert("new".to_owned(), Json::Null);
    assert!(lot.is_valid());
    for name in ["quality", "extensions"] {
        let mut lot = lot.clone();
        lot.extra.insert(name.to_owned(), Json::Null);
        assert!(!lot.is_valid(), "{name}");
        assert_eq!(lot.validate().unwrap_err().as_slice()[0].keyword, "unwritable", "{name}");
        assert!(serde_json::to_vec(&lot).is_err(), "{name}");
    }
}

/// CON-04: long fixtures are generated from recipes, for schemas that also have published fixtures. No
/// generated fixture replaces a published one, and no long fixture is published.
#[test]
fn long_lists_are_generated() {
    const MAX_FIXTURE_BYTES: usize = 16 * 1024;
    let all = published();
    for fixture in &all {
        let size = fixture.bytes.len();
        assert!(
            size <= MAX_FIXTURE_BYTES,
            "{}: {size} bytes: write a recipe (tests/src/fixtures/recipes.rs)",
            fixture.name
        );
    }
    for recipe in RECIPES {
        let (folder, list) = (recipe.folder, recipe.list);
        let lists = RECIPES.iter().filter(|other| (other.folder, other.list) == (folder, list));
        assert_eq!(lists.count(), 1, "{folder}{list}");
        for instance in recipe.make() {
            let name = instance.name.trim_end_matches(" (made)");
            assert!(all.iter().all(|stored| stored.name != name), "{name} is published too");
            assert!(all.iter().any(|stored| stored.folder == folder), "{folder}: nothing published");
            let elements = recipe.bound + usize::from(instance.expect.is_some());
            let document = Json::parse(&instance.bytes).unwrap();
            let found = document.as_object().and_then(|members| members.get(&list[1..]));
            assert_eq!(found.and_then(Json::as_array).map(<[Json]>::len), Some(elements), "{name}");
        }
    }
}

/// CON-02, CON-08: valid documents are parsed, pass validation, and round-trip; numbers are compared by their
/// text.
#[test]
fn valid_fixtures_round_trip() {
    let models = models();
    let mut problems = Vec::new();
    for fixture in fixtures().iter().filter(|f| f.expect.is_none()) {
        let outcome = models[&fixture.folder].check(&fixture.bytes);
        let source = Json::parse(&fixture.bytes).unwrap();
        if let Some(failure) = &outcome.failure {
            problems.push(format!("{}: {failure}", fixture.name));
        }
        if !outcome.checked.is_empty() {
            problems.push(format!("{}: refused: {:?}", fixture.name, outcome.checked));
        }
        if outcome.typed.as_ref().is_some_and(|t| !t.is_empty()) {
            problems.push(format!("{}: typed check refuses: {:?}", fixture.name, outcome.typed));
        }
        match &outcome.written {
            Some(written) if same(&source, written) => {}
            other => problems.push(format!("{}: came back as {other:?}", fixture.name)),
        }
        if !outcome.undeclared.is_empty() {
            problems.push(format!("{}: undeclared {:?}", fixture.name, outcome.undeclared));
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// ERR-02, ERR-22: an invalid document causes exactly the violations that its file lists, in the typed value
/// and in the document.
#[test]
fn invalid_fixtures_report_exactly_their_violations() {
    let models = models();
    let mut problems = Vec::new();
    for fixture in fixtures() {
        let Some(expect) = &fixture.expect else { continue };
        let outcome = models[&fixture.folder].check(&fixture.bytes);
        if outcome.checked != *expect {
            problems.push(format!(
                "{}\n  expected {expect:?}\n  found    {:?} {:?}",
                fixture.name, outcome.checked, outcome.failure
            ));
        }
        if let Some(typed) = outcome.typed
            && typed != *expect
        {
            problems.push(format!("{} (typed)\n  expected {expect:?}\n  found    {typed:?}", fixture.name));
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// Returns true if the documents are equal and their numbers have the same text; the empty fraction of a
/// whole number may be lost.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            a.to_json_text() == b.to_json_text() || (a.is_integer() && whole(a, b))
        }
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn whole(a: &Number, b: &Number) -> bool {
    a == b && b.as_i128().is_some_and(|n| n.to_string() == b.to_json_text())
}
