//! Converts contracts to OpenAPI 3.0.3 and JSON Schema draft-07, for tools that read only these.
//!
//! ```no_run
//! use contract_codegen::{Project, lower::openapi_30};
//!
//! let contract = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() }.read_contract()?;
//! let document = openapi_30(&contract);
//! for loss in &document.losses {
//!     println!("{}: {}", contract.format_location(&loss.place), loss.what);
//! }
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

// The comparison with other generators lowers single schemas and operations.
#[doc(hidden)]
pub mod losses;
#[doc(hidden)]
pub mod names;
#[doc(hidden)]
pub mod openapi;
#[doc(hidden)]
pub mod schemas;

use std::collections::BTreeSet;

use contract_codegen_core::{AnalyzedContract, schema::SchemaId, stack::run_on_deep_stack};
use serde_json::{Value, json};

pub use self::{losses::Loss, openapi::Document};
use self::{
    names::Names,
    schemas::{Dialect, Schemas, Written},
};

/// Returns the schemas of a contract as the `definitions` of one draft-07 document.
#[must_use]
pub fn draft_07(contract: &AnalyzedContract) -> Value {
    run_on_deep_stack(|| {
        let names = Names::of(&contract.graph, &contract.api);
        let schemas = Schemas::new(&contract.graph, Dialect::Draft7);
        let mut link = |id: SchemaId| format!("#/definitions/{}", names.get(id));
        let mut definitions = serde_json::Map::new();
        for (id, name) in names.iter() {
            let mut written = Written { link: &mut link, lost: BTreeSet::new() };
            definitions.insert(name.to_owned(), schemas.write(id, &mut written));
        }
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": definitions })
    })
}

/// Lowers a contract to one OpenAPI 3.0.3 document and lists the constructs that OpenAPI 3.0 cannot express.
#[must_use]
pub fn openapi_30(contract: &AnalyzedContract) -> Document {
    run_on_deep_stack(|| openapi::document(contract))
}
