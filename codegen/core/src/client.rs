//! Writes the generated client: one method for each operation.
//!
//! Generated code requires only `contract-runtime` with its feature `client`. A method consists of a
//! signature and a request. The `PlannedCall` implementation of its operation parses the responses, so that
//! code such as sessions or outboxes can be generic over all operations.

mod docs;
mod module;
mod pages;
mod write;

use proc_macro2::TokenStream;

use crate::{
    config::ClientConfig,
    diagnostics::{Diagnostic, Diagnostics},
    plan::{PlannedCall, SidePlan},
    rust_types::RustTypes,
    schema::SchemaGraph,
};

/// The input for writing client methods.
pub(crate) struct ClientWriter<'a> {
    /// The plan of all operations.
    pub(crate) plan: &'a SidePlan<'a>,
    /// The schemas of the contract.
    pub(crate) graph: &'a SchemaGraph,
    /// Prints Rust types.
    pub(crate) types: &'a dyn RustTypes,
    /// The client options of the configuration.
    pub(crate) config: &'a ClientConfig,
}

/// Writes the module `client` (or `webhook_client`), a direct child of the generated root. Reports operations
/// that the client cannot send as errors or, if configured, as warnings.
pub fn client_module(
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
    config: &ClientConfig,
    diagnostics: &mut Diagnostics,
) -> TokenStream {
    diagnostics.extend(plan.calls.iter().filter_map(|call| unsupported_diagnostic(call, config)));
    module::assemble_module(&ClientWriter { plan, graph, types, config })
}

/// Returns the diagnostic for an operation without a client method; `None` if the operation is supported.
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
