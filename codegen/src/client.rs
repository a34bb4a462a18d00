//! The generated client: plan, ask progenitor, write.
//!
//! What is generated needs `contract-runtime` with its feature `client` and nothing else.
//! Every method is written here, from its [`Call`](crate::lower::Call). progenitor reads the
//! operations that it can carry from the lowered document; where it says something else than
//! the call, the generator stops.

mod answers;
mod docs;
mod engine;
mod module;
mod write;

use proc_macro2::TokenStream;

pub use crate::lower::{ClientOptions, Loss};
use crate::{
    api::{Api, Operation},
    config::OperationConfig,
    diagnostics::{Diagnostic, Diagnostics},
    lower::{self, Lowered},
    operations::{self, Side},
    refine,
    rust_types::RustTypes,
    schema::Graph,
};

use self::answers::Enums;

pub(crate) use self::docs::limits;
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

/// What methods are written from.
pub(crate) struct Writer<'a> {
    /// The contract.
    pub(crate) api: &'a Api,
    /// The schemas.
    pub(crate) graph: &'a Graph,
    /// Which operations.
    pub(crate) side: Side,
    /// All of that side.
    pub(crate) operations: &'a [Operation],
    /// The calls.
    pub(crate) lowered: &'a Lowered,
    /// The variants of `OperationId`, for all operations.
    names: &'a [String],
    enums: Enums,
}

/// Generates the client.
///
/// # Errors
/// Operations that no client can call, unless they are to be skipped; output of the engine that
/// does not say what the contract says.
pub fn client(
    api: &Api,
    graph: &Graph,
    types: &dyn RustTypes,
    options: &ClientOptions,
    side: Side,
) -> Result<ClientModule, Diagnostics> {
    let mut lowered = lower::lower(api, graph, types, options, side);
    let generated = match engine::generate(&lowered) {
        Ok(file) => Some(file),
        Err(failure) => {
            for (method, reason) in engine::culprits(&lowered) {
                leave_out(api, &mut lowered, &method, &reason);
            }
            match engine::generate(&lowered) {
                Ok(file) => Some(file),
                Err(_) => {
                    let message = format!("progenitor cannot carry the operations together: {failure}");
                    let note = Diagnostic::note("client-engine", message);
                    lowered.diagnostics.push(note.help("the client is written without its second opinion"));
                    None
                }
            }
        }
    };
    if lowered.diagnostics.has_errors() {
        return Err(lowered.diagnostics);
    }
    if let Some(generated) = generated {
        let problems = refine::compare(generated, api, &lowered);
        if !problems.is_empty() {
            lowered.diagnostics.append(problems);
            return Err(lowered.diagnostics);
        }
    }
    let config = OperationConfig::default();
    let contract = operations::Contract { graph, api, types, config: &config, side };
    let names: Vec<String> = operations::plan(contract).into_iter().map(|plan| plan.type_name).collect();
    let operations = contract.operations();
    let enums = Enums::of(&lowered, &|call| {
        let Operation { method, path, .. } = &operations[call.operation];
        (names[call.operation].clone(), format!("{method} {path}"))
    });
    let writer = Writer { api, graph, side, operations, lowered: &lowered, names: &names, enums };
    let tokens = module::assemble(&writer);
    Ok(ClientModule { tokens, losses: lowered.losses, diagnostics: lowered.diagnostics })
}

/// Leaves one operation out of the lowered document; its method is written all the same.
fn leave_out(api: &Api, lowered: &mut Lowered, method: &str, reason: &str) {
    let Some(call) = lowered.calls.iter_mut().find(|call| call.method == method) else { return };
    engine::keep_only(&mut lowered.document, &|operation| operation != method);
    let operation = &api.operations[call.operation];
    let inside = format!("{}/", operation.place.pointer);
    lowered.losses.retain(|Loss { place, .. }| {
        let within = place.pointer == operation.place.pointer || place.pointer.starts_with(&inside);
        !within || place.source != operation.place.source
    });
    lowered.losses.push(Loss {
        place: operation.place.clone(),
        engine: "progenitor",
        what: format!("the operation: progenitor refuses it: {reason}"),
        enforced: "written by the generator itself, without progenitor's word".to_owned(),
    });
    call.beyond = Some(reason.to_owned());
}
