//! Returns the modules for the operations of one side (`paths`, or webhooks and callbacks), each behind the
//! Cargo features that use it.

use super::doc_lines;
use crate::{
    calls,
    client::client_module,
    command_line::command_line_module,
    config::Config,
    credentials::{credentials_module, security_module, uses_credentials, warn_of_conflicts},
    diagnostics::{Diagnostic, Diagnostics},
    emit::ModelEmitter,
    operations::{self, ModuleItems},
    package,
    plan::{ContractPlan, OperationSide, SidePlan, check_pages, check_streams},
    render::{FeatureGate, GeneratedModule, PackagePart},
    schema::SchemaGraph,
    server::server_module,
    servers::servers_module,
};

/// Reports operation options that have no effect on this contract, and security schemes whose credentials
/// conflict.
pub(super) fn check_unused_options(config: &Config, plans: &ContractPlan<'_>, diagnostics: &mut Diagnostics) {
    if config.client.credentials == Some(true) && !uses_credentials(&plans.paths) {
        diagnostics.push(
            Diagnostic::warning("config", "`client.credentials` does nothing: no operation requires credentials")
                .with_optional_place(config.option_place("client", "credentials"))
                .help("list names from `securitySchemes` in the `security` of the document or of operations, or remove the option"),
        );
    }
    if config.client.tag_features && !config.client.by_tag {
        diagnostics.push(
            Diagnostic::error("config", "`client.tag-features` requires `client.by-tag`")
                .with_optional_place(config.table_place("client"))
                .help("add `by-tag = true`, so that each tag has files of its own"),
        );
    }
    if config.output.client && config.has_credentials() {
        warn_of_conflicts(&plans.paths, diagnostics);
    }
    let streams = &config.streams;
    let named = !streams.downloads.is_empty() || !streams.uploads.is_empty();
    if let Some(place) = config.table_place("streams")
        && !named
        && plans.paths.streams.is_none()
    {
        diagnostics.push(
            Diagnostic::warning("config", "`streams` does nothing: no operation has a streamed request or response")
                .with_place(place)
                .help("streams are `text/event-stream`, JSON lines, JSON text sequences and binary responses; list other byte streams in `downloads` and `uploads`, or remove the table"),
        );
    }
}

/// Returns the modules for one side: the operation table, the modules that client and server share, and the
/// client and server that are configured.
pub(super) fn operation_modules(
    config: &Config,
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &ModelEmitter<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<GeneratedModule> {
    let (output, side) = (&config.output, plan.side);
    let both: FeatureGate = match (output.client, output.server) {
        (true, true) => &[PackagePart::Client, PackagePart::Server],
        (true, false) => &[PackagePart::Client],
        (false, _) => &[PackagePart::Server],
    };
    let about = match side {
        OperationSide::Paths => "The operations of the contract.",
        OperationSide::Webhooks => "The webhooks and callbacks of the contract.",
    };
    if side == OperationSide::Paths {
        check_streams(plan, config, graph, diagnostics);
        check_pages(plan, config, diagnostics);
    }
    let table = operations::operations_module(plan, graph, types);
    let mut out = vec![GeneratedModule::new(side.table_names().0, doc_lines(about), table)];
    if let Some(tokens) = operations::request_bodies_module(plan, graph, types) {
        let about = doc_lines("Request bodies of several media types, or of parts.");
        out.push(GeneratedModule::new(side.bodies_module(), about, tokens).with_gate(both));
    }
    if let Some(tokens) = calls::answers_module(plan, types) {
        let about = doc_lines("Success and error responses with several types.");
        out.push(GeneratedModule::new(side.answers_module(), about, tokens).with_gate(both));
    }
    if let Some(tokens) = output.client.then(|| calls::headers_module(plan, graph, types)).flatten() {
        let about = doc_lines("Typed response headers, which `Response::typed_headers` returns.");
        out.push(
            GeneratedModule::new(side.headers_module(), about, tokens).with_gate(&[PackagePart::Client]),
        );
    }
    if let Some(tokens) = output.server.then(|| calls::sent_headers_module(plan, graph, types)).flatten() {
        let about = doc_lines("Response headers as structs, for `TypedResponse::with_headers`.");
        out.push(
            GeneratedModule::new(side.sent_headers_module(), about, tokens).with_gate(&[PackagePart::Server]),
        );
    }
    let about = doc_lines("The requests of all operations, as types that client and server share.");
    let is_deprecated = calls::any_deprecated(plan);
    // A module allows deprecated items only if it uses deprecated fields.
    let allowing = |mut module: GeneratedModule| {
        if is_deprecated {
            module.allow_deprecated();
        }
        module
    };
    let items = calls::calls_module(plan, graph, types);
    let all = with_submodules(side.calls_module(), about, items);
    out.extend(all.map(|module| allowing(module.with_gate(both))));
    if let Some(gate) = security_gate(config, side)
        && let Some(tokens) = security_module(plan)
    {
        let about = doc_lines("The security requirements of the operations, which client and server share.");
        out.push(GeneratedModule::new("security_requirements", about, tokens).with_gate(gate));
    }
    if output.server {
        let (name, about) = match side {
            OperationSide::Paths => {
                ("server", "The server interface: a trait to implement, and the router that calls it.")
            }
            OperationSide::Webhooks => (
                "webhook_server",
                "The receiver of webhooks: a trait to implement, and the router that calls it.",
            ),
        };
        let items = server_module(plan, types, config);
        let all = with_submodules(name, doc_lines(about), items);
        out.extend(all.map(|module| allowing(module.with_gate(&[PackagePart::Server]))));
    }
    if output.client {
        let (name, about) = match side {
            OperationSide::Paths => ("client", "The client: one method for each operation."),
            OperationSide::Webhooks => ("webhook_client", "The sender of webhooks: one method for each."),
        };
        let items = client_module(plan, graph, types, &config.client, diagnostics);
        let all = with_submodules(name, doc_lines(about), items);
        out.extend(all.map(|module| allowing(module.with_gate(&[PackagePart::Client]))));
        if let Some(tokens) = (side == OperationSide::Paths).then(|| servers_module(plan.api)).flatten() {
            let about =
                doc_lines("The servers of the contract, for [`Client::new`](super::client::Client::new).");
            out.push(GeneratedModule::new("servers", about, tokens).with_gate(&[PackagePart::Client]));
        }
        let wanted = config.has_credentials() && side == OperationSide::Paths;
        if let Some(tokens) = wanted.then(|| credentials_module(plan)).flatten() {
            let about =
                doc_lines("Credentials that operations require, and a transport that adds them to requests.");
            let gate: FeatureGate = if output.cli.is_some() {
                &[PackagePart::Client, PackagePart::Cli]
            } else {
                &[PackagePart::Client]
            };
            out.push(GeneratedModule::new("credentials", about, tokens).with_gate(gate));
        }
        if let Some(cli) = output.cli.as_ref().filter(|_| side == OperationSide::Paths) {
            let package = package::package_name_for(config, &plan.api.title);
            let tokens = command_line_module(plan, cli, &package);
            let about = doc_lines("The command line: a command for each operation.");
            out.push(GeneratedModule::new("cli", about, tokens).with_gate(&[PackagePart::Cli]));
        }
    }
    out
}

/// Returns the parts of the package that use the module `security_requirements`, or `None` if none does.
fn security_gate(config: &Config, side: OperationSide) -> Option<FeatureGate> {
    let output = &config.output;
    let client = output.client && config.has_credentials();
    match (side, client, config.has_authentication()) {
        (OperationSide::Webhooks, ..) | (_, false, false) => None,
        (_, true, true) if output.cli.is_some() => {
            Some(&[PackagePart::Client, PackagePart::Server, PackagePart::Cli])
        }
        (_, true, true) => Some(&[PackagePart::Client, PackagePart::Server]),
        (_, true, false) if output.cli.is_some() => Some(&[PackagePart::Client, PackagePart::Cli]),
        (_, true, false) => Some(&[PackagePart::Client]),
        (_, false, true) => Some(&[PackagePart::Server]),
    }
}

/// Returns a module and its submodules, each in a file of its own.
fn with_submodules(
    name: &str,
    about: Vec<String>,
    items: ModuleItems,
) -> impl Iterator<Item = GeneratedModule> {
    let root = GeneratedModule::new(name, about, items.root);
    let submodules = items.groups.into_iter().map(move |submodule| {
        let name = format!("{name}/{}", submodule.name);
        GeneratedModule::new(name, doc_lines(&submodule.doc), submodule.items).with_nested_links()
    });
    std::iter::once(root).chain(submodules)
}
