//! Returns the modules of views: `views` with traits over types, and `call_views` with traits over client
//! calls.

use super::doc_lines;
use crate::{
    analyzed_contract::AnalyzedContract,
    calls::any_deprecated,
    config::Config,
    diagnostics::Diagnostics,
    emit::ModelEmitter,
    plan::ContractPlan,
    render::{GeneratedModule, PackagePart},
    views::{self, resolve_views},
};

/// Resolves all views and returns their modules. Views are resolved even if no code is generated for them, so
/// that mistakes are reported.
pub(super) fn view_modules(
    config: &Config,
    contract: &AnalyzedContract,
    plans: &ContractPlan<'_>,
    types: &ModelEmitter<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<GeneratedModule> {
    let AnalyzedContract { graph, shapes, options, .. } = contract;
    let found = resolve_views(config, (graph, shapes), &options.views, &plans.paths, diagnostics);
    let over_types = views::views_module(&found.types, types).map(|tokens| {
        GeneratedModule::new("views", doc_lines("Traits over types that have members in common."), tokens)
    });
    let called = if config.output.client { found.calls.as_slice() } else { &[] };
    let over_calls = views::call_views_module(called, types).map(|tokens| {
        let about = doc_lines("Traits over calls that take the same parameters.");
        let mut module = GeneratedModule::new("call_views", about, tokens).with_gate(&[PackagePart::Client]);
        if any_deprecated(&plans.paths) {
            module.allow_deprecated();
        }
        module
    });
    over_types.into_iter().chain(over_calls).collect()
}
