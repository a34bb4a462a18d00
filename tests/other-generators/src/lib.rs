//! Reports how progenitor handles the operations of a contract and how typify handles its schemas.
//!
//! [`run_generators`] runs both generators, each in a separate process ([`GeneratorRunner`]), and analyzes
//! their output. It compares progenitor's methods with the operations. It tests typify's types with valid
//! documents and with documents that violate exactly one rule. The results therefore describe the linked
//! versions on this contract. Generated code does not depend on them.
//!
//! ```no_run
//! use contract_codegen::Project;
//! use other_generators::{GeneratorRunner, run_generators};
//!
//! let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//! for report in run_generators(&project.read_contract()?, &GeneratorRunner::in_process()) {
//!     println!("{} rejects {} parts of the contract", report.generator, report.rejections.len());
//! }
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod methods;
mod operations;
mod probes;
mod process;
mod reads;
mod types;
mod typify;

use std::{collections::BTreeMap, fmt};

pub use self::process::{GeneratorRunner, SUBCOMMAND, serve_request};
use contract_codegen::lower::names::SchemaNames;
use contract_codegen_core::{AnalyzedContract, stack::run_on_deep_stack};

/// The maximum number of locations that a row lists for a dropped construct.
const MAX_LOCATIONS: usize = 3;

/// The behavior of one generator on a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratorReport {
    /// The name of the generator: `progenitor` or `typify`.
    pub generator: &'static str,
    /// One row per construct.
    pub rows: Vec<ConstructRow>,
    /// Parts of the contract that the generator rejects, or valid documents that its types reject.
    pub rejections: Vec<Rejection>,
}

/// The results for one construct: a keyword, a parameter location or a document feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstructRow {
    /// The construct, such as `maxLength` or `query parameter`.
    pub construct: String,
    /// The number of occurrences that the generated code honors.
    pub kept: usize,
    /// The number of occurrences that the generated code ignores.
    pub dropped: usize,
    /// The number of occurrences inside of parts that the generator rejects.
    pub rejected: usize,
    /// The number of occurrences without a verdict, because no test document was found or the generated
    /// method was not recognized.
    pub untested: usize,
    /// Some locations where the construct is dropped, each with its evidence; at most three.
    pub locations: Vec<String>,
}

/// A part of the contract that a generator rejects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rejection {
    /// The location as `file:line #/pointer`.
    pub location: String,
    /// The generator's error message.
    pub reason: String,
}

impl fmt::Display for GeneratorReport {
    /// Writes a table of the constructs as Markdown, then the dropped constructs and the rejected parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Results of {}\n", self.generator)?;
        writeln!(f, "| construct | kept | dropped | rejected | not tested |\n|---|---|---|---|---|")?;
        for row in &self.rows {
            let counts = [row.kept, row.dropped, row.rejected, row.untested];
            let [kept, dropped, rejected, untested] =
                counts.map(|count| if count == 0 { String::new() } else { count.to_string() });
            writeln!(f, "| {} | {kept} | {dropped} | {rejected} | {untested} |", row.construct)?;
        }
        writeln!(f)?;
        for row in self.rows.iter().filter(|row| !row.locations.is_empty()) {
            writeln!(f, "- `{}` is dropped.", row.construct)?;
            row.locations.iter().try_for_each(|location| writeln!(f, "  {location}"))?;
        }
        for rejection in &self.rejections {
            writeln!(f, "- rejected: {}\n  {}", rejection.reason, rejection.location)?;
        }
        Ok(())
    }
}

impl ConstructRow {
    fn entry<'r>(rows: &'r mut BTreeMap<String, Self>, construct: &str) -> &'r mut Self {
        rows.entry(construct.to_owned())
            .or_insert_with(|| Self { construct: construct.to_owned(), ..Self::default() })
    }

    fn record_drop(&mut self, location: String) {
        self.dropped += 1;
        if self.locations.len() < MAX_LOCATIONS {
            self.locations.push(location);
        }
    }
}

/// Runs progenitor and typify on a contract and returns the results of each.
///
/// progenitor is skipped if the contract has no operations.
#[must_use]
pub fn run_generators(contract: &AnalyzedContract, runner: &GeneratorRunner) -> Vec<GeneratorReport> {
    run_on_deep_stack(|| {
        let names = SchemaNames::from_types(&contract.graph, &contract.api);
        let mut reports = Vec::new();
        if !contract.api.operations.is_empty() {
            reports.push(operations::measure_progenitor(contract, runner, &names));
        }
        reports.push(typify::measure_typify(contract, runner, &names));
        reports
    })
}

#[cfg(test)]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared with the tests of the generator's cases"
)]
#[path = "../../../codegen/tests/harness/folder.rs"]
mod folder;
