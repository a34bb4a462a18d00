//! Reports how progenitor handles the operations of a contract and how typify handles its schemas, and lowers
//! contracts to OpenAPI 3.0.3 and JSON Schema draft-07.
//!
//! [`opinions`] runs both generators, each in a separate process ([`Engines`]), and analyzes their output. It
//! compares progenitor's methods with the operations. It tests typify's types with valid documents and with
//! documents that violate exactly one rule. The results therefore describe the linked versions on this
//! contract. Generated code does not depend on them.
//!
//! ```no_run
//! use contract_codegen::{Project, engines::{Engines, opinions}};
//!
//! let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//! for opinion in opinions(&project.read_contract()?, &Engines::here()) {
//!     println!("{} refuses {} parts of it", opinion.engine, opinion.refusals.len());
//! }
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod losses;
mod methods;
mod names;
mod openapi;
mod operations;
mod probes;
mod process;
mod reads;
mod schemas;
mod types;
mod typify;

use std::collections::BTreeMap;

use serde_json::Value;

use self::names::Names;
pub use self::{
    losses::Loss,
    openapi::Document,
    process::{Engines, SUBCOMMAND, serve},
};
use crate::{analyzed_contract::AnalyzedContract, stack::run_on_deep_stack};

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

/// Returns the schemas of a contract as the `definitions` of one draft-07 document, the input of typify.
#[must_use]
pub fn draft_07(contract: &AnalyzedContract) -> Value {
    run_on_deep_stack(|| typify::document(contract, &Names::of(&contract.graph, &contract.api)))
}

/// Lowers a contract to one OpenAPI 3.0.3 document and lists the constructs that OpenAPI 3.0 cannot express.
///
/// ```no_run
/// use contract_codegen::{Project, engines::openapi_30};
///
/// let contract = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() }.read_contract()?;
/// let document = openapi_30(&contract);
/// for loss in &document.losses {
///     println!("{}: {}", contract.format_location(&loss.place), loss.what);
/// }
/// # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
/// ```
#[must_use]
pub fn openapi_30(contract: &AnalyzedContract) -> Document {
    run_on_deep_stack(|| openapi::document(contract))
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
