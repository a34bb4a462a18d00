//! Converts contracts to OpenAPI 3.0.3 and JSON Schema draft-07, for tools that read only these.
//!
//! ```no_run
//! use contract_codegen::{Project, lower::to_openapi_30};
//!
//! let contract = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() }.read_contract()?;
//! let document = to_openapi_30(&contract);
//! for loss in &document.losses {
//!     println!("{}: {}", contract.format_location(&loss.location), loss.construct);
//! }
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

// This module is used by the comparison with other generators, which lowers single schemas and operations.
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

pub use self::{losses::Loss, openapi::LoweredDocument};
use self::{
    names::SchemaNames,
    schemas::{LoweringContext, SchemaLowerer, TargetDialect},
};

/// Returns the schemas of a contract as the `definitions` of one draft-07 document.
#[must_use]
pub fn to_draft_07(contract: &AnalyzedContract) -> Value {
    run_on_deep_stack(|| {
        let names = SchemaNames::from_types(&contract.graph, &contract.api);
        let schemas = SchemaLowerer::new(&contract.graph, TargetDialect::Draft7);
        let mut link = |id: SchemaId| format!("#/definitions/{}", names.get(id));
        let mut definitions = serde_json::Map::new();
        for (id, name) in names.iter() {
            let mut context = LoweringContext { link: &mut link, lost: BTreeSet::new() };
            definitions.insert(name.to_owned(), schemas.write_schema(id, &mut context));
        }
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": definitions })
    })
}

/// Lowers a contract to one OpenAPI 3.0.3 document and lists the constructs that OpenAPI 3.0 cannot express.
#[must_use]
pub fn to_openapi_30(contract: &AnalyzedContract) -> LoweredDocument {
    run_on_deep_stack(|| openapi::lower_contract(contract))
}
