//! The modules of views: those over types are always there, those over calls with the client.

use super::lines;
use crate::{
    calls::any_deprecated,
    config::Config,
    diagnostics::Diagnostics,
    emit::Emitter,
    plan::Plans,
    reading::Reading,
    render::{Module, Part},
    views::{self, views},
};

/// Views are decided whatever is written, so that a mistake in one is found.
pub(super) fn modules(
    config: &Config,
    contract: &Reading,
    plans: &Plans<'_>,
    types: &Emitter<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Module> {
    let Reading { graph, shapes, options, .. } = contract;
    let found = views(config, (graph, shapes), &options.views, &plans.paths, diagnostics);
    let over_types = views::types(&found.types, types)
        .map(|tokens| Module::new("views", lines("Traits over types that have members in common."), &tokens));
    let called = if config.output.client { found.calls.as_slice() } else { &[] };
    let over_calls = views::calls(called, types).map(|tokens| {
        let about = lines("Traits over calls that take the same parameters.");
        let mut module = Module::new("call_views", about, &tokens).behind(&[Part::Client]);
        if any_deprecated(&plans.paths) {
            module.allow_deprecated();
        }
        module
    });
    over_types.into_iter().chain(over_calls).collect()
}
