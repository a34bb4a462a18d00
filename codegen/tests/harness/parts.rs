//! What a part of a contract says of a document is what the whole says of it.

use contract_codegen::{
    generate::Project, proof::samples, schema::Types, tables::Shelves, together::type_of,
};
use contract_runtime::{Json, Map};

use crate::{compiled, folder::Case};

/// The whole contract and a case that generates a part of it.
fn parts() -> impl Iterator<Item = (Case, Project)> {
    Case::all().into_iter().filter(|case| !case.is_refused()).filter_map(|case| {
        let mut project = Project::from_config(&case.folder.join("codegen.toml")).ok()?;
        if project.config.operations.takes_all() {
            return None;
        }
        project.config.operations.include.clear();
        project.config.operations.exclude.clear();
        project.inputs = case.files().into_iter().map(|(_, path)| path).collect();
        Some((case, project))
    })
}

/// A value with one thing changed in it, in every place.
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
    for (case, project) in parts() {
        let whole = project.read().unwrap_or_else(|problems| panic!("{}: {problems}", case.name));
        let shelves = Shelves::default();
        let tables = whole.tables(&shelves);
        let models = compiled::models(&case.name).unwrap();
        assert!(models.len() < whole.shapes.types.len(), "{}: all of it", case.name);
        for model in models {
            let named = whole.shapes.types.iter().find(|def| def.name == model.name);
            let def = named
                .unwrap_or_else(|| panic!("{}: nothing in the whole is called {}", case.name, model.name));
            let values = samples(&whole, &tables, def);
            let changed = values.iter().flat_map(changed).collect::<Vec<_>>();
            for value in values.iter().chain(&changed) {
                if def.conj.within != Types::ALL && !def.conj.within.contains(type_of(value)) {
                    continue;
                }
                let expect = def.conj.ids.iter().all(|id| tables.is_valid(*id, value));
                let outcome = (model.check)(value.to_string().as_bytes());
                let typed = outcome.typed.as_ref().is_some_and(Vec::is_empty);
                let checked = outcome.failure.is_none() && outcome.checked.is_empty();
                assert_eq!(
                    (typed, checked),
                    (expect, expect),
                    "{} {}: {value}: {outcome:?}",
                    case.name,
                    model.name
                );
                asked += 1;
                refused += usize::from(!expect);
            }
        }
    }
    assert!(asked > 200 && refused > 50, "{asked} values, {refused} of them invalid");
}
