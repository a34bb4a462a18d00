//! Tests of the unenforced constraints that `report` and `explain` list. If a type parses an invalid
//! document, the list contains the violated constraint.

use contract_codegen::{Project, config::OutputLayout, report::UnenforcedConstraints};
use contract_runtime::Json;

use crate::{
    folder::Case,
    instances::{instances, model},
};

/// Returns the constraints that the types of a case do not enforce.
fn unenforced_constraints(case: &Case) -> UnenforcedConstraints {
    let options = case.folder.join("codegen.toml");
    let mut project = if options.exists() {
        Project::from_config(&options).unwrap_or_else(|e| panic!("{e}"))
    } else {
        Project { base: case.folder.clone(), ..Project::default() }
    };
    project.config.output.layout = OutputLayout::Modules;
    project.inputs = case.files().into_iter().map(|(_, path)| path).collect();
    UnenforcedConstraints::for_contract(
        &project.read_contract().unwrap_or_else(|e| panic!("{}: {e}", case.name)),
    )
}

#[test]
fn unenforced_violations_are_listed() {
    let mut problems = Vec::new();
    let mut checked = 0;
    for case in Case::all().into_iter().filter(|case| !case.is_refused()) {
        let unenforced = unenforced_constraints(&case);
        for instance in instances(&case).iter().filter(|i| i.expect.is_some()) {
            let model = model(&case, instance);
            if (model.check)(&instance.bytes).typed.is_none() {
                continue;
            }
            let json = Json::parse(&instance.bytes).unwrap();
            for violation in model.validator.validate(&json).unwrap_err() {
                checked += 1;
                if !unenforced.covers(&violation.schema, violation.keyword) {
                    problems.push(format!("{}: {violation}", instance.name));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(checked > 150, "only {checked} violations were checked");
}
