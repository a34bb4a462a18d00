//! `report`: what is looser than the contract, assumed, lost, proven.

use contract_codegen::{proof::prove, report as reporting};
use serde_json::json;

use super::{INTERNAL, args::ReportArgs, failure::Failure, project, screen::Screen};

/// Prints the report; a gap is a failure, and the generator's.
pub(crate) fn report(args: &ReportArgs, screen: &Screen) -> Result<u8, Failure> {
    let project = project::selected(&args.inputs, &args.selected)?;
    let generated = project.generate_with(&|what| screen.step(what))?;
    let count = generated.contract.shapes.types.len();
    let proofs = prove(&generated.contract, |done| screen.step(&format!("proving {done} of {count} types")));
    screen.step("asking what other engines would make of it");
    let (lowered, opinion) = project.lower(&generated.contract);
    let report = reporting::report(&project.config, &generated.contract, &lowered.losses, proofs);
    screen.diagnostics(&generated.contract.diagnostics);
    screen.diagnostics(&opinion);
    screen.result(&report.text(args.markdown))?;
    let mut exit = 0;
    for (name, instance) in report.gaps() {
        let value = instance.map(|value| format!(": {value}")).unwrap_or_default();
        screen.line(&format!("error[gap]: `{name}` cannot hold all that its schema accepts{value}"));
        exit = INTERNAL;
    }
    screen.summary(json!({ "command": "report", "exit": exit, "report": report.json() }));
    Ok(exit)
}
