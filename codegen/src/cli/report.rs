//! `report`: prints the assumptions about a contract, proofs, and the types that accept more than their
//! schema.

use contract_codegen::report::Report;
use serde_json::json;

use super::{EXIT_INTERNAL_ERROR, args::ReportArgs, console::Console, error::CommandError, project};

/// Prints the report. The exit code is 70 if the report contains a proof gap, that is, a type that cannot
/// hold a valid value. A proof gap is a bug of the generator.
pub(crate) fn run_report(args: &ReportArgs, console: &Console) -> Result<u8, CommandError> {
    let project = project::open_selected_project(&args.inputs, &args.selection, args.reading)?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    let report = Report::for_contract(&project, &contract, &|what| console.show_step(what));
    console.print_diagnostics(&contract.diagnostics);
    print_report(&report, args.markdown, console)
}

/// Prints the report, its proof gaps as errors, and the summary. Returns the exit code.
fn print_report(report: &Report, markdown: bool, console: &Console) -> Result<u8, CommandError> {
    console.print_result(&report.to_text(markdown))?;
    let (exit, errors) = report_verdict(report);
    errors.iter().for_each(|error| console.print_error(error));
    console.print_summary(json!({ "command": "report", "exit": exit, "report": report.to_json() }));
    Ok(exit)
}

/// Returns the exit code of a report, and an error line for each proof gap.
fn report_verdict(report: &Report) -> (u8, Vec<String>) {
    let errors = report.proof_gaps().map(|(name, instance)| {
        let value = instance.map(|value| format!(": {value}")).unwrap_or_default();
        format!("error[gap]: `{name}` cannot hold every value that its schema accepts{value}")
    });
    let errors: Vec<String> = errors.collect();
    (if errors.is_empty() { 0 } else { EXIT_INTERNAL_ERROR }, errors)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use contract_codegen::report::TypeProof;
    use contract_runtime::Json;

    use super::*;
    use crate::cli::args::{ColorWhen, DisplayArgs};

    fn report_with_proofs(proofs: &[TypeProof]) -> Report {
        let proofs = proofs.iter().map(|proof| ("Ship".to_owned(), proof.clone()));
        Report { proofs: proofs.collect(), ..Report::default() }
    }

    /// A proof gap in a report gives exit code 70 and an error line with the value. No known contract has a
    /// proof gap, so the test constructs the report.
    #[test]
    fn gap_exits_with_70_and_prints_the_value() {
        let console = Console::new(DisplayArgs { color: ColorWhen::Never, ..DisplayArgs::default() });
        let complete = report_with_proofs(&[
            TypeProof::Proven,
            TypeProof::Assumed,
            TypeProof::Tested(9),
            TypeProof::Skipped("it is secret"),
        ]);
        assert_eq!(print_report(&complete, false, &console).unwrap(), 0);
        let incomplete = report_with_proofs(&[
            TypeProof::Tested(9),
            TypeProof::Gap(Some(Json::from("x"))),
            TypeProof::Gap(None),
        ]);
        assert_eq!(print_report(&incomplete, false, &console).unwrap(), 70);
        let start = "error[gap]: `Ship` cannot hold every value that its schema accepts";
        assert_eq!(report_verdict(&incomplete).1, [format!("{start}: \"x\""), start.to_owned()]);
    }
}
