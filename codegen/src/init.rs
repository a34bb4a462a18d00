//! `init`: inspects a contract and writes a commented `codegen.toml` with suggestions.
//!
//! [`inspect_contract`] collects the suggestions and [`codegen_toml`] writes the file. Settings
//! without which `generate` would reject the contract are active. All other suggestions are comments.
//!
//! ```no_run
//! use contract_codegen::{ContractInputs, init::{codegen_toml, inspect_contract}};
//!
//! let inputs = ContractInputs { paths: vec!["openapi.yaml".into()], ..ContractInputs::default() };
//! let found = inspect_contract(&inputs, &[], &|_| {})?;
//! println!("{}", codegen_toml(&found, &["openapi.yaml".to_owned()]));
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod paging;
mod render;
mod secrets;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::ParameterIn,
    client,
    config::{OperationSelector, UnsupportedPolicy},
    conjunction::discriminator,
    diagnostics::Diagnostics,
    generate::{ProgressCallback, Project, shortest_selector},
    load::{ContractInputs, uri::strip_http_scheme},
    package,
    plan::{BodyType, OperationSide, PlannedCall, SidePlan},
    prune::operation_schemas,
    schema::{Schema, SchemaId, TypeSet, reachable::reachable_schemas},
    stack::run_on_deep_stack,
    tables,
};

use self::render::MANY_OPERATIONS;
pub use self::{paging::PagedOperations, render::codegen_toml};

/// The properties of a contract from which [`codegen_toml`] derives its suggestions.
#[derive(Clone, Debug, Default)]
pub struct InitFindings {
    /// The title and the version of the contract.
    pub title: String,
    /// The suggested name of the generated package, derived from the title.
    pub package: String,
    /// The number of operations.
    pub operations: usize,
    /// The number of webhooks and callbacks.
    pub webhooks: usize,
    /// The number of generated types.
    pub types: usize,
    /// The selectors of the operations that the configuration includes. If there are none, it includes all.
    pub include: Vec<OperationSelector>,
    /// A call with `by-tag = true` and the same call without it, such as `issues().create` and `issues_create`, if the
    /// configuration sets this option.
    pub call_by_tag: Option<(String, String)>,
    /// The URLs in the `servers` of all documents.
    pub servers: Vec<String>,
    /// The tags of operations, each with the number of types that are used only by operations with this tag.
    pub tags: Vec<(String, usize)>,
    /// The selectors of schemas that look like secrets, each with the reason.
    pub secrets: Vec<(String, String)>,
    /// The selectors of integers without bounds and without the format `int32`, `int64` or `uint64`.
    pub unbounded_integers: Vec<String>,
    /// The selectors of base schemas with a `discriminator` and without `oneOf`, each with the number of
    /// schemas that include the base schema by `allOf`.
    pub families: Vec<(String, usize)>,
    /// The selector and the source of each pattern that the linear-time matcher does not support.
    pub unsupported_patterns: Vec<(String, String)>,
    /// The messages about operations that the client cannot call.
    pub unsupported_operations: Vec<String>,
    /// The names of header parameters that carry an idempotency key.
    pub idempotency_headers: Vec<String>,
    /// The names of header parameters that a transport typically sets instead of the caller, such as
    /// signatures and trace ids.
    pub transport_headers: Vec<String>,
    /// The groups of operations that look paginated, with a suggested configuration.
    pub pages: Vec<PagedOperations>,
    /// The URI prefixes that the user mounted, each with the local folder or file that resolves them.
    pub mounts: Vec<(String, PathBuf)>,
    /// The URIs, without fragments, of references to documents that are not among the inputs.
    pub unresolved_uris: Vec<String>,
    /// Whether the package will be inside a Cargo workspace. The caller of [`inspect_contract`] sets this.
    pub in_workspace: bool,
    /// The number of keywords that JSON Schema does not define.
    pub unknown_keywords: usize,
    /// The number of schemas with `properties` and without `type`.
    pub implied_objects: usize,
    /// The diagnostics of the contract, including those about operations that the client cannot call.
    pub diagnostics: Diagnostics,
}

/// Reads a contract and collects suggestions for its configuration. If `include` contains selectors, only the operations
/// that they select are read, and the configuration includes only these.
///
/// # Errors
/// Returns the diagnostics if the contract is invalid. The contract is read with the options that keep
/// unsupported types and skip unsupported operations.
pub fn inspect_contract(
    inputs: &ContractInputs,
    include: &[OperationSelector],
    step: ProgressCallback<'_>,
) -> Result<InitFindings, Diagnostics> {
    let ContractInputs { paths, documents, mounts, fetcher, shown_from } = inputs.clone();
    let mut project = Project { inputs: paths, documents, fetcher, shown_from, ..Project::default() };
    project.config.mounts = mounts.iter().cloned().collect();
    project.config.types.unsupported = Some(UnsupportedPolicy::Keep);
    project.config.client.skip_unsupported = Some(true);
    project.config.operations.include = include.to_vec();
    let contract = project.read_contract_with(step)?;
    let found = run_on_deep_stack(|| inspect_reading(&project, &contract))?;
    Ok(InitFindings { mounts, include: include.to_vec(), ..found })
}

fn inspect_reading(project: &Project, contract: &AnalyzedContract) -> Result<InitFindings, Diagnostics> {
    let mut diagnostics = contract.diagnostics.clone();
    let plans = project.operation_plans(contract);
    diagnostics.attach_sources(&contract.sources);
    diagnostics.apply_fault_policy(project.config.input.faults);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let (graph, api) = (&contract.graph, plans.paths.api);
    let mut found = InitFindings {
        title: contract.title(),
        package: package::package_name(&api.title),
        operations: plans.paths.calls.len(),
        webhooks: plans.webhooks.calls.len(),
        types: contract.shapes.types.len(),
        servers: api.servers.iter().map(|server| server.url.clone()).collect(),
        tags: count_types_by_tag(contract, &plans.paths),
        call_by_tag: call_by_tag(project, contract, &plans.paths),
        secrets: secrets::find_secrets(contract),
        pages: paging::find_paged_operations(&plans.paths, contract),
        unresolved_uris: find_unresolved_uris(contract),
        ..InitFindings::default()
    };
    let unbounded = graph.ids().filter(|&id| is_unbounded_integer(graph.schema(id)));
    found.unbounded_integers = unbounded.map(|id| shortest_selector(graph, id)).collect();
    let families = discriminator::find_families(graph).into_iter();
    found.families =
        families.map(|(base, children)| (shortest_selector(graph, base), children.len())).collect();
    let (_, refused) = tables::compile_patterns(graph);
    found.unsupported_patterns =
        refused.into_iter().map(|each| (shortest_selector(graph, each.schema), each.source)).collect();
    found.unknown_keywords =
        contract.diagnostics.iter().filter(|each| each.code == "unknown-keyword").count();
    let calls = plans.iter().flat_map(|plan| &plan.calls);
    for problem in calls.filter_map(|call| client::unsupported_diagnostic(call, &project.config.client)) {
        found.unsupported_operations.push(problem.message.clone());
        diagnostics.push(problem);
    }
    found.implied_objects = graph
        .schemas
        .iter()
        .filter(|s| s.types.is_none() && s.reference.is_none() && !s.properties.is_empty())
        .count();
    find_special_headers(&plans.paths, &mut found);
    Ok(InitFindings { diagnostics, ..found })
}

/// Returns the first call whose name changes with `by-tag = true`, as `issues().create` and `issues_create`. Returns
/// `None` if the contract has too few operations for this option.
fn call_by_tag(
    project: &Project,
    contract: &AnalyzedContract,
    plan: &SidePlan<'_>,
) -> Option<(String, String)> {
    if plan.calls.len() <= MANY_OPERATIONS {
        return None;
    }
    let mut grouped = project.clone();
    grouped.config.client.by_tag = true;
    let calls = grouped.operation_plan(contract, OperationSide::Paths).calls;
    let (call, usual) = calls.iter().zip(&plan.calls).find(|(call, _)| call.accessor.is_some())?;
    Some((call.client_path(), usual.client_path()))
}

/// Returns a sentence about each option that would be useful for this contract but is not set.
#[must_use]
pub fn unused_options(project: &Project, contract: &AnalyzedContract) -> Vec<String> {
    run_on_deep_stack(|| {
        let (config, plans) = (&project.config, project.operation_plans(contract));
        if !config.output.client {
            return Vec::new();
        }
        let mut found = InitFindings::default();
        find_special_headers(&plans.paths, &mut found);
        let mut hints = Vec::new();
        let paged = unplanned_pages(&plans.paths, contract);
        let count: usize = paged.iter().map(|paged| paged.operations.len()).sum();
        if count > 0 {
            hints.push(format!(
                "{} paginated: `[[pages]]` generates streams of their items",
                if count == 1 { "1 operation looks".to_owned() } else { format!("{count} operations look") }
            ));
        }
        if config.operations.idempotency_header.is_none()
            && let Some(name) = found.idempotency_headers.first()
        {
            hints.push(format!(
                "`idempotency-header = {name:?}` in [operations] lets clients retry requests with this header"
            ));
        }
        let is_flat = !config.client.by_tag && plans.paths.calls.len() > MANY_OPERATIONS;
        if is_flat && plans.paths.calls.iter().any(|call| !call.operation.tags.is_empty()) {
            hints.push(
                "`by-tag = true` in [client] gives the operations of each tag a client of their own"
                    .to_owned(),
            );
        }
        let is_upload = |call: &&PlannedCall<'_>| {
            let variants = call.body.iter().flat_map(|body| &body.variants);
            call.streams.body.is_none()
                && variants.map(|variant| &variant.ty).any(|ty| *ty == BodyType::Bytes)
        };
        let uploads = plans.paths.calls.iter().filter(is_upload).filter(|call| {
            call.unsendable_reason.is_none() && !config.operations.raw.contains(&call.operation.id)
        });
        if let Some(first) = uploads.clone().next() {
            hints.push(format!(
                "`uploads = [{:?}{}]` in [streams] sends binary bodies while they are produced",
                first.operation.id,
                if uploads.count() > 1 { ", …" } else { "" }
            ));
        }
        hints
    })
}

/// Returns the suggested pagination of the operations for which `[[pages]]` does not configure it.
#[cfg(feature = "mock")]
pub(crate) fn suggested_pages(
    plan: &SidePlan<'_>,
    contract: &AnalyzedContract,
) -> Vec<contract_codegen_core::config::PaginationConfig> {
    unplanned_pages(plan, contract).into_iter().map(|paged| paged.config).collect()
}

fn unplanned_pages(plan: &SidePlan<'_>, contract: &AnalyzedContract) -> Vec<PagedOperations> {
    let mut paged = paging::find_paged_operations(plan, contract);
    paged.retain(|paged| paged.operations.iter().all(|id| !has_pages(plan, id)));
    paged
}

fn has_pages(plan: &SidePlan<'_>, id: &str) -> bool {
    plan.calls.iter().any(|call| call.operation.id == id && call.pages.is_some())
}

/// Returns the HTTP URIs of unresolved references, without fragments.
fn find_unresolved_uris(contract: &AnalyzedContract) -> Vec<String> {
    let uris = contract.diagnostics.iter().filter(|each| each.code == "unresolved-reference");
    let uris = uris.filter_map(|each| {
        let place = each.place.as_ref()?;
        let source = contract.sources.get(place.source)?;
        let reference = source.tree.resolve_pointer(&place.pointer)?.as_str()?;
        let uri = reference.split('#').next().unwrap_or(reference);
        strip_http_scheme(uri).map(|_| uri.to_owned())
    });
    uris.collect::<BTreeSet<String>>().into_iter().collect()
}

/// Finds the names of idempotency headers, and of headers that a transport typically sets. Adds them to
/// `found`.
fn find_special_headers(plan: &SidePlan<'_>, found: &mut InitFindings) {
    // An idempotency key is recognized by the name of the header or by its description.
    let mut names: BTreeMap<&str, bool> = BTreeMap::new();
    for parameter in plan.calls.iter().flat_map(|call| &call.parameters) {
        if parameter.row.location == ParameterIn::Header {
            let about = parameter.parameter.description.as_deref().unwrap_or_default();
            *names.entry(parameter.row.name.as_str()).or_default() |=
                about.to_ascii_lowercase().contains("idempoten");
        }
    }
    for (name, repeats) in names {
        let lower = name.to_ascii_lowercase();
        if repeats || lower.contains("idempotency") {
            found.idempotency_headers.push(name.to_owned());
        } else if ["authorization", "dpop", "signature", "correlation", "request-id", "api-version", "trace"]
            .iter()
            .any(|word| lower.contains(word))
        {
            found.transport_headers.push(name.to_owned());
        }
    }
}

/// Returns the tags by name, each with the number of types that are used only by operations with this tag.
fn count_types_by_tag(contract: &AnalyzedContract, plan: &SidePlan<'_>) -> Vec<(String, usize)> {
    let called = || plan.calls.iter().map(|call| call.operation);
    let names: BTreeSet<&String> = called().flat_map(|operation| &operation.tags).collect();
    let reached: Vec<(&String, BTreeSet<SchemaId>)> = names
        .into_iter()
        .map(|tag| {
            let operations = called().filter(|operation| operation.tags.contains(tag));
            (tag, reachable_schemas(&contract.graph, operation_schemas(&contract.graph, operations)))
        })
        .collect();
    let mut counts = contract.graph.schemas.map_ids(|_| 0usize);
    reached.iter().flat_map(|(_, ids)| ids).for_each(|id| counts[*id] += 1);
    let alone = |id: &SchemaId| counts[*id] == 1;
    let owned = |ids: &BTreeSet<SchemaId>| {
        let types = contract.shapes.types.iter().filter_map(|def| def.schema);
        types.filter(|id| ids.contains(id) && alone(id)).count()
    };
    reached.iter().map(|(tag, ids)| ((*tag).clone(), owned(ids))).collect()
}

fn is_unbounded_integer(schema: &Schema) -> bool {
    let below = schema.minimum.is_some() || schema.exclusive_minimum.is_some();
    let above = schema.maximum.is_some() || schema.exclusive_maximum.is_some();
    let machine = schema.format.as_deref().is_some_and(|f| ["int32", "int64", "uint64"].contains(&f));
    let types = schema.types.map(|types| types.difference(TypeSet::NULL));
    types == Some(TypeSet::INTEGER)
        && schema.enumeration.is_none()
        && schema.constant.is_none()
        && !machine
        && !(below && above)
}

#[cfg(test)]
mod tests;
