//! Reports how progenitor handles the operations of a contract and how typify handles its schemas.
//!
//! [`opinions`] runs both generators, each in a separate process ([`Engines`]), and analyzes their output. It
//! compares progenitor's methods with the operations. It tests typify's types with valid documents and with
//! documents that violate exactly one rule. The results therefore describe the linked versions on this
//! contract. Generated code does not depend on them.
//!
//! ```no_run
//! use contract_codegen::Project;
//! use other_generators::{Engines, opinions};
//!
//! let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//! for opinion in opinions(&project.read_contract()?, &Engines::here()) {
//!     println!("{} refuses {} parts of it", opinion.engine, opinion.refusals.len());
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

pub use self::process::{Engines, SUBCOMMAND, serve};
use contract_codegen::lower::names::Names;
use contract_codegen_core::{AnalyzedContract, stack::run_on_deep_stack};

/// Maximum number of places that a row lists for a dropped construct.
const NAMED: usize = 3;

/// The behavior of one generator on a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinion {
    /// The generator: `progenitor` or `typify`.
    pub engine: &'static str,
    /// One row per construct.
    pub rows: Vec<Row>,
    /// Parts of the contract that the generator rejects, or valid documents that its types reject.
    pub refusals: Vec<Refusal>,
}

/// The results for one construct: a keyword, a parameter location or a document feature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `maxLength`, `parameter in the query`.
    pub construct: String,
    /// Occurrences that the generated code honors.
    pub kept: usize,
    /// Occurrences that the generated code ignores.
    pub dropped: usize,
    /// Occurrences inside of parts that the generator rejects.
    pub refused: usize,
    /// Occurrences without a verdict: no test document was found, or the generated method was not recognized.
    pub unasked: usize,
    /// Some places where the construct is dropped, each with its evidence; at most three.
    pub places: Vec<String>,
}

/// A part of the contract that a generator rejects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// `file:line #/pointer`
    pub place: String,
    /// The generator's error message.
    pub reason: String,
}

impl fmt::Display for Opinion {
    /// Writes a table of the constructs as Markdown, then the dropped constructs and the rejected parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Results of {}\n", self.engine)?;
        writeln!(f, "| construct | kept | dropped | rejected | not tested |\n|---|---|---|---|---|")?;
        for row in &self.rows {
            let counts = [row.kept, row.dropped, row.refused, row.unasked];
            let [kept, dropped, rejected, untested] =
                counts.map(|count| if count == 0 { String::new() } else { count.to_string() });
            writeln!(f, "| {} | {kept} | {dropped} | {rejected} | {untested} |", row.construct)?;
        }
        writeln!(f)?;
        for row in self.rows.iter().filter(|row| !row.places.is_empty()) {
            writeln!(f, "- `{}` is dropped.", row.construct)?;
            row.places.iter().try_for_each(|place| writeln!(f, "  {place}"))?;
        }
        for refusal in &self.refusals {
            writeln!(f, "- rejected: {}\n  {}", refusal.reason, refusal.place)?;
        }
        Ok(())
    }
}

impl Row {
    fn of<'r>(rows: &'r mut BTreeMap<String, Self>, construct: &str) -> &'r mut Self {
        rows.entry(construct.to_owned())
            .or_insert_with(|| Self { construct: construct.to_owned(), ..Self::default() })
    }

    fn drop_at(&mut self, place: String) {
        self.dropped += 1;
        if self.places.len() < NAMED {
            self.places.push(place);
        }
    }
}

/// Runs progenitor and typify on a contract and returns the results of each.
///
/// progenitor is skipped if the contract has no operations.
#[must_use]
pub fn opinions(contract: &AnalyzedContract, engines: &Engines) -> Vec<Opinion> {
    run_on_deep_stack(|| {
        let names = Names::of(&contract.graph, &contract.api);
        let mut all = Vec::new();
        if !contract.api.operations.is_empty() {
            all.push(operations::ask(contract, engines, &names));
        }
        all.push(typify::ask(contract, engines, &names));
        all
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
