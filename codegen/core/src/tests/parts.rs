//! Tests that a part of a contract validates a document exactly as the whole contract does.

use contract_runtime::{Json, Map};

use super::folder::Case;
use crate::{
    analyzed_contract::AnalyzedContract,
    checks::{CheckScope, evaluate::Evaluator},
    conjunction::{sample::SampleEffort, type_of},
    generate::Project,
    proof::valid_samples,
    schema::TypeSet,
    shape::TypeRef,
    tables::TableArenas,
    typed_value,
};

/// Returns every case that generates a part of its contract, with the part and the whole contract.
fn parts() -> impl Iterator<Item = (Case, AnalyzedContract, AnalyzedContract)> {
    Case::all().into_iter().filter(|case| !case.is_refused()).filter_map(|case| {
        let mut project = Project::from_config(&case.folder.join("codegen.toml")).ok()?;
        if project.config.operations.selects_all() {
            return None;
        }
        project.inputs = case.files().into_iter().map(|(_, path)| path).collect();
        let read = |project: &Project| {
            project.read_contract().unwrap_or_else(|problems| panic!("{}: {problems}", case.name))
        };
        let part = read(&project);
        project.config.operations.include.clear();
        project.config.operations.exclude.clear();
        let whole = read(&project);
        Some((case, part, whole))
    })
}

/// Returns copies of a value, each with one change at one place.
fn changed(value: &Json) -> Vec<Json> {
    let mut all: Vec<Json> = ["null", "\"x\"", "\"long enough for most\"", "-1", "1.5", "[]", "{}"]
        .iter()
        .map(|text| Json::parse(text.as_bytes()).unwrap())
        .collect();
    match value {
        Json::Array(items) => {
            for at in 0..items.len() {
                let with = |item: Option<Json>| {
                    let mut items = items.clone();
                    items.splice(at..=at, item);
                    Json::Array(items)
                };
                all.push(with(None));
                all.extend(changed(&items[at]).into_iter().map(|item| with(Some(item))));
            }
        }
        Json::Object(members) => {
            for (name, inner) in members {
                let without: Map<Json> = members
                    .iter()
                    .filter(|(other, _)| *other != name)
                    .map(|(other, value)| (other.to_owned(), value.clone()))
                    .collect();
                for value in changed(inner) {
                    let mut members = without.clone();
                    members.insert(name.to_owned(), value);
                    all.push(Json::Object(members));
                }
                all.push(Json::Object(without));
            }
            for (name, value) in [("zz", "1"), ("a", "\"x\"")] {
                let mut members = members.clone();
                members.insert(name.to_owned(), Json::parse(value.as_bytes()).unwrap());
                all.push(Json::Object(members));
            }
        }
        _ => {}
    }
    all
}

#[test]
fn a_part_judges_as_the_whole_does() {
    let (mut asked, mut refused) = (0, 0);
    for (case, part, whole) in parts() {
        assert!(part.shapes.types.len() < whole.shapes.types.len(), "{}: all of it", case.name);
        let arenas = TableArenas::default();
        let tables = whole.build_tables(&arenas);
        let own_shelves = TableArenas::default();
        let own = part.build_tables(&own_shelves);
        let checks =
            CheckScope::new(&part.graph, &part.shapes, &own, part.options.implied_objects).build_checks();
        let evaluator = Evaluator { shapes: &part.shapes, tables: &own, checks: &checks };
        for id in part.shapes.ids() {
            let held = part.shapes.get(id);
            let named = whole.shapes.types.iter().find(|def| def.name == held.name);
            let def = named
                .unwrap_or_else(|| panic!("{}: nothing in the whole is called {}", case.name, held.name));
            let values = valid_samples(&whole, &tables, def, SampleEffort::Thorough);
            let changed = values.iter().flat_map(changed).collect::<Vec<_>>();
            for value in values.iter().chain(&changed) {
                if def.conj.within != TypeSet::ALL && !def.conj.within.contains(type_of(value)) {
                    continue;
                }
                let expect = def.conj.ids.iter().all(|id| tables.is_valid(*id, value));
                let checked = held.conj.ids.iter().all(|id| own.is_valid(*id, value));
                let typed = typed_value::read_value(&part.shapes, &TypeRef::Named(id), value)
                    .is_some_and(|typed| evaluator.is_valid(&typed).unwrap());
                assert_eq!((typed, checked), (expect, expect), "{} {}: {value}", case.name, def.name);
                asked += 1;
                refused += usize::from(!expect);
            }
        }
    }
    assert!(asked > 200 && refused > 50, "{asked} values, {refused} of them invalid");
}
