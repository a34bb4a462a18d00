//! The generated client: one method for each operation, written from the plan.
//!
//! What is generated needs `contract-runtime` with its feature `client` and nothing else. A method
//! is a signature and a request; how answers are read stands in the `Call` of its operation, so
//! that sessions and outboxes can be written once over all of them.

mod docs;
mod module;
mod pages;
mod write;

use proc_macro2::TokenStream;

use crate::{
    config::ClientConfig,
    diagnostics::{Diagnostic, Diagnostics},
    plan::{Call, Plan},
    rust_types::RustTypes,
    schema::Graph,
};

/// What methods are written from.
pub(crate) struct Writer<'a> {
    /// All operations.
    pub(crate) plan: &'a Plan<'a>,
    /// The schemas.
    pub(crate) graph: &'a Graph,
    /// How types are printed.
    pub(crate) types: &'a dyn RustTypes,
    /// What the contract does not say.
    pub(crate) config: &'a ClientConfig,
}

/// Writes the module `client` (or `webhook_client`), a direct child of the generated root.
/// Operations that no client can send are errors, or left out with a warning.
pub fn client(
    plan: &Plan<'_>,
    graph: &Graph,
    types: &dyn RustTypes,
    config: &ClientConfig,
    diagnostics: &mut Diagnostics,
) -> TokenStream {
    diagnostics.extend(plan.calls.iter().filter_map(|call| unsupported(call, config)));
    module::assemble(&Writer { plan, graph, types, config })
}

/// What there is to say of an operation that has no method in the client.
pub(crate) fn unsupported(call: &Call<'_>, config: &ClientConfig) -> Option<Diagnostic> {
    let reason = call.unsendable.as_ref()?;
    let message = format!("`{}` has no method in the client: {reason}", call.operation.id);
    let diagnostic = match config.skip_unsupported {
        Some(true) => Diagnostic::warning("client-unsupported", message),
        Some(false) => Diagnostic::error("client-unsupported", message)
            .help("set `skip-unsupported = true` under `[client]` to generate the others without it"),
        None => Diagnostic::error("client-unsupported", message)
            .help("`skip-unsupported = true` under `[client]` says that this is meant")
            .mended("it is generated without one"),
    };
    Some(diagnostic.at(call.operation.place.clone()))
}
