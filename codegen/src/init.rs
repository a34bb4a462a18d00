//! `init`: what a contract's owner may want to decide, found in the contract, and a commented
//! `codegen.toml` that says it.
//!
//! [`findings`] looks and decides nothing; [`codegen_toml`] writes. What `generate` would refuse
//! with the defaults is settled there; all else stands as a comment.
//!
//! ```no_run
//! use contract_codegen::init::{codegen_toml, findings};
//!
//! let found = findings(&["openapi.yaml".into()], &[], &|_| {})?;
//! println!("{}", codegen_toml(&found, &["openapi.yaml".to_owned()]));
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod pages;
mod print;
mod secrets;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

pub use self::{pages::Paged, print::codegen_toml};
use crate::{
    api::ParameterIn,
    client,
    config::Unsupported,
    diagnostics::Diagnostics,
    generate::{Project, Step, selector},
    package,
    plan::Plan,
    prune::{reach, seeds},
    reading::Reading,
    schema::{Schema, SchemaId, Types},
    stack::deep,
    tables,
    together::meaning,
};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Title and version of the contract.
    pub title: String,
    /// A name for the package.
    pub package: String,
    /// Operations.
    pub operations: usize,
    /// Webhooks.
    pub webhooks: usize,
    /// Types.
    pub types: usize,
    /// `servers` of the documents.
    pub servers: Vec<String>,
    /// Tags of operations, and how many types each reaches that no other does.
    pub tags: Vec<(String, usize)>,
    /// Schemas that look like secrets, and why.
    pub secrets: Vec<(String, String)>,
    /// Integers without bounds and `int32` or `int64`.
    pub unbounded: Vec<String>,
    /// Bases with a `discriminator` and no `oneOf`, and how many schemas take each in.
    pub families: Vec<(String, usize)>,
    /// Patterns that no linear matcher can run: schema and pattern.
    pub patterns: Vec<(String, String)>,
    /// Operations that no client can call, in a sentence each.
    pub refused: Vec<String>,
    /// Header parameters that make a call idempotent.
    pub idempotency: Vec<String>,
    /// Header parameters that something around the client supplies.
    pub transport: Vec<String>,
    /// Operations that look as if they answered page by page.
    pub pages: Vec<Paged>,
    /// Where the prefixes of URIs are answered from: prefix, folder or file as it was given.
    pub mounts: Vec<(String, PathBuf)>,
    /// URIs that references ask for and that nothing answers.
    pub unanswered: Vec<String>,
    /// Whether the package will stand below a Cargo workspace, which whoever writes the file knows.
    pub workspace: bool,
    /// Keywords that JSON Schema does not know.
    pub unknown_keywords: usize,
    /// Schemas with `properties` and without `type`.
    pub implied: usize,
    /// Everything that there is to say about the contract, as `generate` would.
    pub diagnostics: Diagnostics,
}

/// Reads a contract and looks for what its owner may want to decide. `mounts` answer URIs that
/// begin with a prefix from a folder, or a whole URI from a file.
///
/// # Errors
/// When the contract would be refused whatever the options.
pub fn findings(
    inputs: &[PathBuf],
    mounts: &[(String, PathBuf)],
    step: Step<'_>,
) -> Result<Findings, Diagnostics> {
    let mut project = Project { inputs: inputs.to_vec(), ..Project::default() };
    project.config.mounts = mounts.iter().cloned().collect();
    project.config.types.unsupported = Some(Unsupported::Keep);
    project.config.client.skip_unsupported = Some(true);
    let contract = project.read_with(step)?;
    let found = deep(|| found(&project, &contract))?;
    Ok(Findings { mounts: mounts.to_vec(), ..found })
}

fn found(project: &Project, contract: &Reading) -> Result<Findings, Diagnostics> {
    let mut diagnostics = contract.diagnostics.clone();
    let plans = project.plans(contract);
    diagnostics.attach(&contract.sources);
    diagnostics.settle(project.config.input.faults);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let (graph, api) = (&contract.graph, plans.paths.api);
    let mut found = Findings {
        title: contract.title(),
        package: package::name(&api.title),
        operations: plans.paths.calls.len(),
        webhooks: plans.webhooks.calls.len(),
        types: contract.shapes.types.len(),
        servers: api.servers.clone(),
        tags: tags(contract, &plans.paths),
        secrets: secrets::secrets(contract),
        pages: pages::pages(&plans.paths, contract),
        unanswered: unanswered(contract),
        ..Findings::default()
    };
    let unbounded = graph.ids().filter(|&id| is_unbounded(graph.schema(id)));
    found.unbounded = unbounded.map(|id| selector(graph, id)).collect();
    let families = meaning::families(graph).into_iter();
    found.families = families.map(|(base, children)| (selector(graph, base), children.len())).collect();
    let (_, refused) = tables::patterns(graph);
    found.patterns = refused.into_iter().map(|each| (selector(graph, each.schema), each.source)).collect();
    found.unknown_keywords =
        contract.diagnostics.iter().filter(|each| each.code == "unknown-keyword").count();
    let calls = plans.iter().flat_map(|plan| &plan.calls);
    for problem in calls.filter_map(|call| client::unsupported(call, &project.config.client)) {
        found.refused.push(problem.message.clone());
        diagnostics.push(problem);
    }
    found.implied = graph
        .schemas
        .iter()
        .filter(|s| s.types.is_none() && s.reference.is_none() && !s.properties.is_empty())
        .count();
    headers(&plans.paths, &mut found);
    Ok(Findings { diagnostics, ..found })
}

/// URIs, without their fragments, that references ask for and that no document has.
fn unanswered(contract: &Reading) -> Vec<String> {
    let asked = contract.diagnostics.iter().filter(|each| each.code == "unresolved-reference");
    let asked = asked.filter_map(|each| {
        let place = each.place.as_ref()?;
        let source = contract.sources.get(place.source)?;
        let reference = source.tree.at(&place.pointer)?.as_str()?;
        let uri = reference.split('#').next().unwrap_or(reference);
        (uri.starts_with("http://") || uri.starts_with("https://")).then(|| uri.to_owned())
    });
    asked.collect::<BTreeSet<String>>().into_iter().collect()
}

/// The parameters that are said once, not with every call.
fn headers(plan: &Plan<'_>, found: &mut Findings) {
    // Which header it is stands in its name, or in what is said about it.
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
            found.idempotency.push(name.to_owned());
        } else if ["authorization", "dpop", "signature", "correlation", "request-id", "api-version", "trace"]
            .iter()
            .any(|word| lower.contains(word))
        {
            found.transport.push(name.to_owned());
        }
    }
}

/// Tags in the order of their names, and how many types only their operations reach.
fn tags(contract: &Reading, plan: &Plan<'_>) -> Vec<(String, usize)> {
    let called = || plan.calls.iter().map(|call| call.operation);
    let names: BTreeSet<&String> = called().flat_map(|operation| &operation.tags).collect();
    let reached: Vec<(&String, BTreeSet<SchemaId>)> = names
        .into_iter()
        .map(|tag| {
            let operations = called().filter(|operation| operation.tags.contains(tag));
            (tag, reach(&contract.graph, seeds(&contract.graph, operations)))
        })
        .collect();
    let mut counts = contract.graph.schemas.map(|_| 0usize);
    reached.iter().flat_map(|(_, ids)| ids).for_each(|id| counts[*id] += 1);
    let alone = |id: &SchemaId| counts[*id] == 1;
    let owned = |ids: &BTreeSet<SchemaId>| {
        let types = contract.shapes.types.iter().filter_map(|def| def.schema);
        types.filter(|id| ids.contains(id) && alone(id)).count()
    };
    reached.iter().map(|(tag, ids)| ((*tag).clone(), owned(ids))).collect()
}

fn is_unbounded(schema: &Schema) -> bool {
    let below = schema.minimum.is_some() || schema.exclusive_minimum.is_some();
    let above = schema.maximum.is_some() || schema.exclusive_maximum.is_some();
    let machine = schema.format.as_deref().is_some_and(|f| ["int32", "int64", "uint64"].contains(&f));
    let types = schema.types.map(|types| types.without(Types::NULL));
    types == Some(Types::INTEGER)
        && schema.enumeration.is_none()
        && schema.constant.is_none()
        && !machine
        && !(below && above)
}

#[cfg(test)]
mod tests;
