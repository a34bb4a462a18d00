//! The modules of the operations of one side, each behind the features that use it.

use super::lines;
use crate::{
    calls,
    client::client,
    command_line::command_line,
    config::Config,
    credentials::{are_asked, credentials, warn_of_clashes},
    diagnostics::{Diagnostic, Diagnostics},
    emit::Emitter,
    operations, package,
    plan::{Plan, Plans, Side, check_pages, check_streams},
    render::{Gate, Module, Part},
    schema::Graph,
    server::server,
};

/// Reports options about operations that find nothing in the contract, or what they cannot do.
pub(super) fn idle(config: &Config, plans: &Plans<'_>, diagnostics: &mut Diagnostics) {
    if config.client.credentials && !are_asked(&plans.paths) {
        diagnostics.push(
            Diagnostic::warning("config", "`client.credentials` does nothing: no operation asks for credentials")
                .maybe_at(config.place("client", "credentials"))
                .help("what asks is a `security` with names of `securitySchemes`; remove the option where there is none"),
        );
    }
    if config.output.client && config.has_credentials() {
        warn_of_clashes(&plans.paths, diagnostics);
    }
    let Some(streams) = &config.streams else { return };
    let named = !streams.downloads.is_empty() || !streams.uploads.is_empty();
    if !named && plans.iter().flat_map(|plan| &plan.calls).all(|call| call.streams.is_empty()) {
        diagnostics.push(
            Diagnostic::warning("config", "`streams` does nothing: no operation answers or takes one item after another")
                .maybe_at(config.place_of("streams"))
                .help("items are those of `text/event-stream`, lines of JSON and JSON text sequences; name bytes in `downloads` and `uploads`, or remove the table"),
        );
    }
}

/// The table of operations, what both halves share, and the halves that are asked for.
pub(super) fn modules(
    config: &Config,
    plan: &Plan<'_>,
    graph: &Graph,
    types: &Emitter<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Module> {
    let (output, side) = (&config.output, plan.side);
    let both: Gate = match (output.client, output.server) {
        (true, true) => &[Part::Client, Part::Server],
        (true, false) => &[Part::Client],
        (false, _) => &[Part::Server],
    };
    let about = match side {
        Side::Paths => "The operations of the contract.",
        Side::Webhooks => "The webhooks and callbacks of the contract.",
    };
    if side == Side::Paths {
        check_streams(plan, config, graph, diagnostics);
        check_pages(plan, config, diagnostics);
    }
    let table = operations::operations(plan, graph, types);
    let mut out = vec![Module::new(side.table().0, lines(about), &table)];
    if let Some(tokens) = operations::bodies(plan, graph, types) {
        let about = lines("Request bodies of several media types, or of parts.");
        out.push(Module::new(side.bodies(), about, &tokens).behind(both));
    }
    if let Some(tokens) = calls::answers(plan, types) {
        let about = lines("Answers and refusals of several types.");
        out.push(Module::new(side.answers(), about, &tokens).behind(both));
    }
    let about = lines("What each operation is asked, in types that client and server share.");
    let is_deprecated = calls::any_deprecated(plan);
    // Those that name the fields.
    let allowing = |mut module: Module| {
        if is_deprecated {
            module.allow_deprecated();
        }
        module
    };
    let module = Module::new(side.calls(), about, &calls::calls(plan, graph, types));
    out.push(allowing(module.behind(both)));
    if output.server {
        let (name, about) = match side {
            Side::Paths => ("server", "The server interface: a trait, and the router that calls it."),
            Side::Webhooks => {
                ("webhook_server", "What receives webhooks: a trait, and the router that calls it.")
            }
        };
        out.push(allowing(Module::new(name, lines(about), &server(plan, types)).behind(&[Part::Server])));
    }
    if output.client {
        let (name, about) = match side {
            Side::Paths => ("client", "The client: one method for each operation."),
            Side::Webhooks => ("webhook_client", "The sender of webhooks: one method for each."),
        };
        let tokens = client(plan, graph, types, &config.client, diagnostics);
        out.push(allowing(Module::new(name, lines(about), &tokens).behind(&[Part::Client])));
        let wanted = config.has_credentials() && side == Side::Paths;
        if let Some(tokens) = wanted.then(|| credentials(plan)).flatten() {
            let about =
                lines("Credentials: what operations ask a caller for, and a transport that shows it.");
            let gate: Gate = if output.cli.is_some() { &[Part::Client, Part::Cli] } else { &[Part::Client] };
            out.push(Module::new("credentials", about, &tokens).behind(gate));
        }
        if let Some(asked) = output.cli.as_ref().filter(|_| side == Side::Paths) {
            let package = package::of(config, &plan.api.title);
            let tokens = command_line(plan, asked, &package);
            let about = lines("The command line: a command for each operation.");
            out.push(Module::new("cli", about, &tokens).behind(&[Part::Cli]));
        }
    }
    out
}
