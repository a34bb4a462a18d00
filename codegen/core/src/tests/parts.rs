//! Tests that a part of a contract validates a document exactly like the whole contract.

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

/// Returns every test case that generates a part of its contract, with the part and the whole contract.
fn partial_cases() -> impl Iterator<Item = (Case, AnalyzedContract, AnalyzedContract)> {
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

/// Returns copies of a value, each with one change.
fn mutate_value(value: &Json) -> Vec<Json> {
    let mut variants: Vec<Json> = ["null", "\"x\"", "\"long enough for most\"", "-1", "1.5", "[]", "{}"]
        .iter()
        .map(|text| Json::parse(text.as_bytes()).unwrap())
        .collect();
    match value {
        Json::Array(items) => {
            for index in 0..items.len() {
                let with_item = |item: Option<Json>| {
                    let mut items = items.clone();
                    items.splice(index..=index, item);
                    Json::Array(items)
                };
                variants.push(with_item(None));
                variants.extend(mutate_value(&items[index]).into_iter().map(|item| with_item(Some(item))));
            }
        }
        Json::Object(members) => {
            for (name, inner) in members {
                let without: Map<Json> = members
                    .iter()
                    .filter(|(other, _)| *other != name)
                    .map(|(other, value)| (other.to_owned(), value.clone()))
                    .collect();
                for value in mutate_value(inner) {
                    let mut members = without.clone();
                    members.insert(name.to_owned(), value);
                    variants.push(Json::Object(members));
                }
                variants.push(Json::Object(without));
            }
            for (name, value) in [("zz", "1"), ("a", "\"x\"")] {
                let mut members = members.clone();
                members.insert(name.to_owned(), Json::parse(value.as_bytes()).unwrap());
                variants.push(Json::Object(members));
            }
        }
        _ => {}
    }
    variants
}

#[test]
fn part_validates_like_the_whole_contract() {
    let (mut tested, mut rejected) = (0, 0);
    for (case, part, whole) in partial_cases() {
        assert!(part.shapes.types.len() < whole.shapes.types.len(), "{}: the part has all types", case.name);
        let arenas = TableArenas::default();
        let tables = whole.build_tables(&arenas);
        let part_arenas = TableArenas::default();
        let part_tables = part.build_tables(&part_arenas);
        let checks = CheckScope::new(&part.graph, &part.shapes, &part_tables, part.options.implied_objects)
            .build_checks();
        let evaluator = Evaluator { shapes: &part.shapes, tables: &part_tables, checks: &checks };
        for id in part.shapes.ids() {
            let part_def = part.shapes.get(id);
            let whole_def = whole.shapes.types.iter().find(|def| def.name == part_def.name);
            let def = whole_def
                .unwrap_or_else(|| panic!("{}: the whole contract has no type {}", case.name, part_def.name));
            let values = valid_samples(&whole, &tables, def, SampleEffort::Thorough);
            let mutated = values.iter().flat_map(mutate_value).collect::<Vec<_>>();
            for value in values.iter().chain(&mutated) {
                if def.conj.within != TypeSet::ALL && !def.conj.within.contains(type_of(value)) {
                    continue;
                }
                let expect = def.conj.ids.iter().all(|id| tables.is_valid(*id, value));
                let checked = part_def.conj.ids.iter().all(|id| part_tables.is_valid(*id, value));
                let typed = typed_value::read_value(&part.shapes, &TypeRef::Named(id), value)
                    .is_some_and(|typed| evaluator.is_valid(&typed).unwrap());
                assert_eq!((typed, checked), (expect, expect), "{} {}: {value}", case.name, def.name);
                tested += 1;
                rejected += usize::from(!expect);
            }
        }
    }
    assert!(tested > 200 && rejected > 50, "{tested} values, {rejected} of them invalid");
}
