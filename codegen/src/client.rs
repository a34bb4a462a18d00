//! The generated client: lower, run progenitor, refine, assemble.
//!
//! What is generated needs `contract-runtime` with its feature `client` and nothing else:
//! progenitor decides methods, arguments and dispatch, its calls become calls into the runtime.

mod docs;
mod engine;
mod module;

use proc_macro2::TokenStream;

pub use crate::lower::{ClientOptions, Loss};
use crate::{
    api::Api,
    config::OperationConfig,
    diagnostics::{Diagnostic, Diagnostics},
    lower::{self, Lowered},
    operations, refine,
    rust_types::RustTypes,
    schema::Graph,
};

pub(crate) use self::docs::{limits, operation_lines};
pub(crate) use self::module::doc;

/// The module `client` of a generated crate, a direct child of its root.
#[derive(Clone, Debug)]
pub struct ClientModule {
    /// Its items.
    pub tokens: TokenStream,
    /// What progenitor cannot carry, and what does instead.
    pub losses: Vec<Loss>,
    /// Warnings: operations that were left out.
    pub diagnostics: Diagnostics,
}

/// Generates the client.
///
/// # Errors
/// Operations that cannot be carried, unless they are to be skipped; output of the engine that
/// does not say what the contract says.
pub fn client(
    api: &Api,
    graph: &Graph,
    types: &dyn RustTypes,
    options: &ClientOptions,
) -> Result<ClientModule, Diagnostics> {
    let mut lowered = lower::lower(api, graph, types, options);
    let generated = loop {
        match engine::generate(&lowered) {
            Ok(file) => break file,
            Err(failure) => {
                let culprits = engine::culprits(&lowered);
                if culprits.is_empty() {
                    let message = format!("progenitor cannot carry the operations together: {failure}");
                    lowered.diagnostics.push(Diagnostic::error("client-engine", message));
                    return Err(lowered.diagnostics);
                }
                for (method, reason) in culprits {
                    drop_call(api, options, &mut lowered, &method, &reason);
                }
            }
        }
    };
    if lowered.diagnostics.has_errors() {
        return Err(lowered.diagnostics);
    }
    let names = operation_names(api, graph, types);
    let contract = refine::Contract { api, graph, types, lowered: &lowered, names: &names };
    match refine::refine(generated, &contract) {
        Ok(methods) => {
            let tokens = module::assemble(api, &lowered, methods);
            Ok(ClientModule { tokens, losses: lowered.losses, diagnostics: lowered.diagnostics })
        }
        Err(problems) => {
            lowered.diagnostics.append(problems);
            Err(lowered.diagnostics)
        }
    }
}

/// The variants of `OperationId` in the generated module `operations`.
fn operation_names(api: &Api, graph: &Graph, types: &dyn RustTypes) -> Vec<String> {
    let config = OperationConfig::default();
    let contract = operations::Contract { graph, api, types, config: &config };
    // What is to be said about the table is said where the table is written.
    let plans = operations::plan(contract, &mut Diagnostics::new());
    plans.into_iter().map(|plan| plan.type_name).collect()
}

/// Leaves one operation out of the lowered document.
fn drop_call(api: &Api, options: &ClientOptions, lowered: &mut Lowered, method: &str, reason: &str) {
    let Some(position) = lowered.calls.iter().position(|call| call.method == method) else {
        return;
    };
    let call = lowered.calls.remove(position);
    engine::keep_only(&mut lowered.document, &|operation| operation != method);
    let operation = &api.operations[call.operation];
    let inside = format!("{}/", operation.place.pointer);
    lowered.losses.retain(|Loss { place, .. }| {
        let within = place.pointer == operation.place.pointer || place.pointer.starts_with(&inside);
        !within || place.source != operation.place.source
    });
    let reason = format!("progenitor refuses it: {reason}");
    lowered.diagnostics.push(lower::refusal(operation, &reason, options));
}
