//! Writes the generated client: one method for each operation. The entry point is [`client_module`].
//!
//! Generated code requires only `contract-runtime` with its feature `client`. A method consists of a
//! signature and a request. The implementation of `Call` for the struct of its operation parses the
//! responses, so that code such as sessions or outboxes can be generic over all operations.

mod docs;
mod module;
mod pages;
mod write;

use crate::{
    config::ClientConfig,
    diagnostics::{Diagnostic, Diagnostics},
    operations::ModuleItems,
    plan::{PlannedCall, SidePlan},
    rust_types::RustTypes,
    schema::SchemaGraph,
};

/// The parts of the contract and the options from which client methods are written.
pub(crate) struct ClientWriter<'a> {
    /// The plan of all operations of one side.
    pub(crate) plan: &'a SidePlan<'a>,
    /// The schemas of the contract.
    pub(crate) graph: &'a SchemaGraph,
    /// The printer of Rust types.
    pub(crate) types: &'a dyn RustTypes,
    /// The table `[client]` of the configuration.
    pub(crate) config: &'a ClientConfig,
}

/// Writes the module `client` (or `webhook_client`), a direct child of the generated root. Reports each
/// operation that the client cannot send, with the severity that `client.skip-unsupported` determines.
pub fn client_module(
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
    config: &ClientConfig,
    diagnostics: &mut Diagnostics,
) -> ModuleItems {
    diagnostics.extend(plan.calls.iter().filter_map(|call| unsupported_diagnostic(call, config)));
    module::assemble_module(&ClientWriter { plan, graph, types, config })
}

/// Returns the diagnostic for an operation that the client cannot send, or `None` if it can.
pub fn unsupported_diagnostic(call: &PlannedCall<'_>, config: &ClientConfig) -> Option<Diagnostic> {
    let reason = call.unsendable_reason.as_ref()?;
    let message = format!("`{}` has no method in the client: {reason}", call.operation.id);
    let diagnostic = match config.skip_unsupported {
        Some(true) => Diagnostic::warning("client-unsupported", message),
        Some(false) => Diagnostic::error("client-unsupported", message)
            .help("set `skip-unsupported = true` in [client] to skip it"),
        None => Diagnostic::error("client-unsupported", message)
            .help("set `skip-unsupported = true` in [client] to accept this")
            .with_fallback("the client is generated without it"),
    };
    Some(diagnostic.with_place(call.operation.place.clone()))
}
