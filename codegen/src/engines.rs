//! What other generators make of a contract: progenitor of its operations, typify of its schemas.
//!
//! Both are run for real, each time as a process of their own ([`Engines`]), and what they produce is
//! read: progenitor's methods are held against the operations, typify's types are given documents,
//! valid ones and such as break one rule. So what is said of them is what they do with this
//! contract, in the versions that are linked here, and nothing that is generated depends on it.
//!
//! ```no_run
//! use contract_codegen::{Project, engines::{Engines, opinions}};
//!
//! let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//! for opinion in opinions(&project.read()?, &Engines::here()) {
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
use crate::{reading::Reading, stack::deep};

/// How many places are named where something is dropped.
const NAMED: usize = 3;

/// What one generator does with a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opinion {
    /// `progenitor`, `typify`.
    pub engine: &'static str,
    /// By construct.
    pub rows: Vec<Row>,
    /// What it takes not at all, or not as the contract means it.
    pub refusals: Vec<Refusal>,
}

/// How a construct fares: a keyword, a place of parameters, what a document has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `maxLength`, `parameter in the query`.
    pub construct: String,
    /// How often what is produced does as it says.
    pub kept: usize,
    /// How often it does not.
    pub dropped: usize,
    /// How often it stands in something that is refused.
    pub refused: usize,
    /// How often no question was found that tells.
    pub unasked: usize,
    /// Some of the places where it is dropped, with what shows it.
    pub places: Vec<String>,
}

/// Something that a generator refuses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// `file:line #/pointer`
    pub place: String,
    /// Why, in its own words.
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

/// The schemas of a contract as the `definitions` of one draft-07 document, which typify reads.
#[must_use]
pub fn draft_07(contract: &Reading) -> Value {
    deep(|| typify::document(contract, &Names::of(&contract.graph, &contract.api)))
}

/// A contract as one OpenAPI 3.0.3 document, as much of it as that has words for.
///
/// ```no_run
/// use contract_codegen::{Project, engines::openapi_30};
///
/// let contract = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() }.read()?;
/// let document = openapi_30(&contract);
/// for loss in &document.losses {
///     println!("{}: {}", contract.whereabouts(&loss.place), loss.what);
/// }
/// # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
/// ```
#[must_use]
pub fn openapi_30(contract: &Reading) -> Document {
    deep(|| openapi::document(contract))
}

/// Asks progenitor and typify what they make of a contract.
#[must_use]
pub fn opinions(contract: &Reading, engines: &Engines) -> Vec<Opinion> {
    deep(|| {
        let names = Names::of(&contract.graph, &contract.api);
        let mut all = Vec::new();
        if !contract.api.operations.is_empty() {
            all.push(operations::ask(contract, engines, &names));
        }
        all.push(typify::ask(contract, engines, &names));
        all
    })
}
