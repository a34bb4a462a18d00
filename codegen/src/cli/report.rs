//! `report`: what is looser than the contract, assumed, lost, proven.

#[cfg(feature = "engines")]
use contract_codegen::engines::opinions;
use contract_codegen::report::Report;
use serde_json::json;

#[cfg(feature = "engines")]
use super::engines;
use super::{INTERNAL, args::ReportArgs, failure::Failure, project, screen::Screen};

/// Prints the report; a gap is a failure, and the generator's.
pub(crate) fn report(args: &ReportArgs, screen: &Screen) -> Result<u8, Failure> {
    #[cfg(not(feature = "engines"))]
    if args.engines {
        return Err(Failure::without_engines());
    }
    let project = project::selected(&args.inputs, &args.selected, args.reading)?;
    let contract = project.read_with(&|what| screen.step(what))?;
    #[cfg_attr(not(feature = "engines"), expect(unused_mut, reason = "opinions alone are added"))]
    let mut report = Report::of(&project, &contract, &|what| screen.step(what));
    #[cfg(feature = "engines")]
    if args.engines {
        screen.step("running progenitor and typify");
        report.engines = Some(opinions(&contract, &engines()));
    }
    screen.diagnostics(&contract.diagnostics);
    tell(&report, args.markdown, screen)
}

/// Prints a report and what it comes to.
fn tell(report: &Report, markdown: bool, screen: &Screen) -> Result<u8, Failure> {
    screen.result(&report.text(markdown))?;
    let (exit, errors) = verdict(report);
    errors.iter().for_each(|error| screen.line(error));
    screen.summary(json!({ "command": "report", "exit": exit, "report": report.json() }));
    Ok(exit)
}

/// The exit code of a report, and a line for each gap.
fn verdict(report: &Report) -> (u8, Vec<String>) {
    let errors = report.gaps().map(|(name, instance)| {
        let value = instance.map(|value| format!(": {value}")).unwrap_or_default();
        format!("error[gap]: `{name}` cannot hold all that its schema accepts{value}")
    });
    let errors: Vec<String> = errors.collect();
    (if errors.is_empty() { 0 } else { INTERNAL }, errors)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use contract_codegen::report::Proof;
    use contract_runtime::Json;

    use super::*;
    use crate::cli::args::{Output, When};

    fn of(proofs: &[Proof]) -> Report {
        let proofs = proofs.iter().map(|proof| ("Ship".to_owned(), proof.clone()));
        Report { proofs: proofs.collect(), ..Report::default() }
    }

    /// No contract is known that makes a gap, so the command's last step is given one.
    #[test]
    fn a_gap_is_exit_70_and_says_what_is_not_held() {
        let screen = Screen::new(Output { color: When::Never, json: false, verbose: false });
        let sure = of(&[Proof::Proven, Proof::Assumed, Proof::Tested(9), Proof::Skipped("it is secret")]);
        assert_eq!(tell(&sure, false, &screen).unwrap(), 0);
        let narrow = of(&[Proof::Tested(9), Proof::Gap(Some(Json::from("x"))), Proof::Gap(None)]);
        assert_eq!(tell(&narrow, false, &screen).unwrap(), 70);
        let start = "error[gap]: `Ship` cannot hold all that its schema accepts";
        assert_eq!(verdict(&narrow).1, [format!("{start}: \"x\""), start.to_owned()]);
    }
}
