//! Writes the module `cli`: a table with the names and descriptions of operations, parameters and credentials
//! on the command line. The runtime implements the program.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::{
    config::{CommandLineConfig, Config},
    credentials::{CredentialScheme, SecuritySchemeKind, used_schemes},
    diagnostics::{Diagnostic, Diagnostics},
    emit::ident,
    load::uri,
    names,
    plan::{OperationSide, PlannedCall, PlannedParameter, SidePlan},
};

/// Options that every command has (`contract_runtime::cli::OPTIONS`).
const GLOBAL_OPTIONS: &[&str] =
    &["body", "content-type", "field", "help", "json", "output", "server", "shell", "version"];

/// Commands in addition to the operations (`contract_runtime::cli::SUBCOMMANDS`).
const SUBCOMMANDS: &[&str] = &["completions", "help"];

/// Reports invalid values of the option `cli`, and contracts without operations.
pub(crate) fn check_config(config: &Config, plan: &SidePlan<'_>, diagnostics: &mut Diagnostics) {
    const OPTION: &str = "output.cli";
    let Some(settings) = &config.output.cli else { return };
    let mut refuse = |message: String, place, help: &str| {
        diagnostics.push(Diagnostic::error("config", message).with_optional_place(place).help(help));
    };
    let whole = || {
        let value = [&settings.name, &settings.variables, &settings.server].into_iter().flatten().next();
        config.option_place(OPTION, value.map_or("true", String::as_str))
    };
    if !config.output.client {
        let place = config.option_place("output.client", "false").or_else(whole);
        let message = format!("`{OPTION}` does nothing without a client");
        refuse(message, place, "remove `client = false`, or `cli`");
    } else if plan.calls.is_empty() {
        let message = format!("`{OPTION}` does nothing: the contract has no operations");
        refuse(message, whole(), "remove it, or add the document with `paths`");
    }
    let is_valid_name = |text: &str, more: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(letter)
    };
    if let Some(name) = settings.name.as_ref().filter(|name| !is_valid_name(name, "-_")) {
        let help = "use letters, digits, `-` and `_`, such as `tickets`";
        refuse(format!("`{name}` is not a valid command name"), config.option_place(OPTION, name), help);
    }
    if let Some(variables) = settings.variables.as_ref().filter(|variables| !is_valid_name(variables, "_")) {
        let help = "use letters, digits and `_`, such as `TICKETS`";
        refuse(
            format!("`{variables}` is not a valid prefix of environment variables"),
            config.option_place(OPTION, variables),
            help,
        );
    }
    if let Some(server) = settings.server.as_ref().filter(|server| !is_absolute(server)) {
        let help = "use an absolute URL, such as `https://tickets.example`";
        refuse(
            format!("`{server}` is not an absolute HTTP or HTTPS URL"),
            config.option_place(OPTION, server),
            help,
        );
    }
}

/// Returns true for an absolute HTTP or HTTPS URL.
fn is_absolute(address: &str) -> bool {
    uri::strip_http_scheme(address).is_some()
}

/// Returns the configured name of the program, or else the name of the package.
pub(crate) fn program_name<'a>(settings: &'a CommandLineConfig, package: &'a str) -> &'a str {
    settings.name.as_deref().unwrap_or(package)
}

/// Writes the module, a direct child of the generated root.
pub(crate) fn command_line_module(
    plan: &SidePlan<'_>,
    settings: &CommandLineConfig,
    package: &str,
) -> TokenStream {
    let (api, name) = (plan.api, program_name(settings, package));
    let variables = settings.variables.clone().unwrap_or_else(|| names::constant_name(name));
    let absolute = || api.servers.iter().map(|server| server.url.as_str()).find(|url| is_absolute(url));
    let server = settings.server.as_deref().or_else(absolute).unwrap_or_default();
    let schemes = used_schemes(plan);
    let (options, clients) = credential_names(&schemes);
    let credentials = schemes.iter().zip(&options).zip(&clients).map(|((scheme, name), client)| {
        let about = clean_text(scheme.description);
        quote!(CredentialSpec { name: #name, client: #client, about: #about })
    });
    let credentials: Vec<TokenStream> = credentials.collect();
    let calls: Vec<&PlannedCall<'_>> =
        plan.calls.iter().filter(|call| call.unsendable_reason.is_none()).collect();
    let commands = command_names(&calls);
    let taken: BTreeSet<&str> = options.iter().chain(&clients).map(String::as_str).collect();
    let mut has_arguments = false;
    let rows: Vec<TokenStream> = calls
        .iter()
        .zip(&commands)
        .map(|(call, name)| {
            has_arguments |= !call.parameters.is_empty();
            command_row(call, name, &taken)
        })
        .collect();
    let argument = has_arguments.then(|| quote!(ArgumentSpec,));
    let (security, import, credential) = if schemes.is_empty() {
        (quote!(None), None, None)
    } else {
        (
            quote!(Some(SECURITY)),
            Some(quote!(
                use super::credentials::SECURITY;
            )),
            Some(quote!(CredentialSpec,)),
        )
    };
    let (table, id) = OperationSide::Paths.table_names();
    let (table, id) = (ident(table), ident(id));
    let ids = (!rows.is_empty()).then(|| quote!(use super::#table::#id;));
    let (title, version) = (api.title.as_str(), api.version.as_str());
    let about = clean_text(api.description.as_deref());
    quote! {
        use std::process::ExitCode;

        use ::contract_runtime::cli::{#argument CliProgram, CommandSpec, #credential};

        #import
        #ids

        /// The program: its name, its commands, and the server that they use.
        pub static PROGRAM: CliProgram = CliProgram {
            name: #name,
            title: #title,
            version: #version,
            about: #about,
            variable_prefix: #variables,
            server: #server,
            commands: COMMANDS,
            security: #security,
            credentials: &[#(#credentials),*],
        };

        /// One command for each operation, in the order of the contract.
        static COMMANDS: &[CommandSpec] = &[#(#rows),*];

        /// Runs the program with the arguments, environment variables and standard streams of this process.
        #[must_use]
        pub fn main() -> ExitCode {
            PROGRAM.main()
        }
    }
}

fn command_row(call: &PlannedCall<'_>, name: &str, taken: &BTreeSet<&str>) -> TokenStream {
    let id = ident(&call.id);
    let table = ident(OperationSide::Paths.table_names().1);
    let about = clean_text(call.operation.description.as_deref());
    let body = clean_text(call.body.as_ref().and_then(|body| body.body.description.as_deref()));
    let names = argument_names(&call.parameters, taken);
    let arguments = call.parameters.iter().zip(names).map(|(parameter, name)| argument_row(parameter, &name));
    quote! {
        CommandSpec {
            name: #name,
            operation: #table::#id.operation(),
            about: #about,
            arguments: &[#(#arguments),*],
            body: #body,
        }
    }
}

fn argument_row(parameter: &PlannedParameter<'_>, name: &str) -> TokenStream {
    // The caller does not supply a constant; its row contains the value.
    if parameter.parameter.constant.is_some() {
        return quote!(ArgumentSpec::EMPTY);
    }
    let about = clean_text(parameter.parameter.description.as_deref());
    let about = (!about.is_empty()).then(|| quote!(about: #about,));
    let values = parameter.allowed_values.iter().map(|value| Literal::string(value));
    let values = (!parameter.allowed_values.is_empty()).then(|| quote!(values: &[#(#values),*],));
    let deprecated = parameter.deprecated.then(|| quote!(deprecated: true,));
    let supplied = parameter.field.is_none().then(|| quote!(supplied: true,));
    quote!(ArgumentSpec { name: #name, #about #values #deprecated #supplied ..ArgumentSpec::EMPTY })
}

/// Returns the command names of operations, derived from their ids or configured names.
fn command_names(calls: &[&PlannedCall<'_>]) -> Vec<String> {
    let wires: Vec<&str> = calls.iter().map(|call| call.operation.code_name()).collect();
    let methods: Vec<String> = calls.iter().map(|call| call.operation.method.to_ascii_lowercase()).collect();
    make_unique(&wires, &methods, &BTreeSet::from_iter(SUBCOMMANDS.iter().copied()))
}

/// Returns the option names of parameters. A name that conflicts with another one or with a global option is
/// prefixed by the location of the parameter; the name of a constant parameter is empty.
fn argument_names(parameters: &[PlannedParameter<'_>], taken: &BTreeSet<&str>) -> Vec<String> {
    let is_variable = |parameter: &&PlannedParameter<'_>| parameter.parameter.constant.is_none();
    let variable: Vec<&PlannedParameter<'_>> = parameters.iter().filter(is_variable).collect();
    let wires: Vec<&str> = variable.iter().map(|parameter| parameter.row.name.as_str()).collect();
    let locations: Vec<String> =
        variable.iter().map(|parameter| parameter.row.location.as_str().to_owned()).collect();
    let taken = taken.iter().chain(GLOBAL_OPTIONS).copied().collect();
    let mut names = make_unique(&wires, &locations, &taken).into_iter();
    let name =
        |parameter| if is_variable(&parameter) { names.next().unwrap_or_default() } else { String::new() };
    parameters.iter().map(name).collect()
}

/// Returns the option names of credentials, and the option names of clients that fetch tokens, each for all
/// schemes. A name is empty if the scheme has no such option.
fn credential_names(schemes: &[CredentialScheme<'_>]) -> (Vec<String>, Vec<String>) {
    let wires: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
    let prefixes = vec!["credential".to_owned(); wires.len()];
    let mut reserved: BTreeSet<&str> = GLOBAL_OPTIONS.iter().copied().collect();
    let mut names = make_unique(&wires, &prefixes, &reserved);
    let fetched = |scheme: &CredentialScheme<'_>| matches!(&scheme.kind, SecuritySchemeKind::BearerToken { token_url } if !token_url.is_empty());
    let clients: Vec<String> = names.iter().map(|name| format!("{name} client")).collect();
    let clients: Vec<&str> = clients.iter().map(String::as_str).collect();
    reserved.extend(names.iter().map(String::as_str));
    let mut clients = make_unique(&clients, &prefixes, &reserved);
    for ((scheme, name), client) in schemes.iter().zip(&mut names).zip(&mut clients) {
        if scheme.kind == SecuritySchemeKind::MutualTls {
            name.clear();
        }
        if !fetched(scheme) {
            client.clear();
        }
    }
    (names, clients)
}

/// Returns unique names in kebab case. A conflicting or reserved name is given its prefix; if it still
/// conflicts, a number is appended.
fn make_unique(wires: &[&str], prefixes: &[String], reserved: &BTreeSet<&str>) -> Vec<String> {
    let plain: Vec<String> = wires.iter().map(|wire| kebab_case(wire)).collect();
    let clashes = |name: &String| plain.iter().filter(|other| *other == name).count() > 1;
    let named = plain.iter().zip(prefixes).map(|(name, prefix)| {
        if clashes(name) || reserved.contains(name.as_str()) {
            format!("{prefix}-{name}")
        } else {
            name.clone()
        }
    });
    let mut all: Vec<String> = named.collect();
    // Number by name, so that the order in the contract does not affect the result.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| (wires[at], &prefixes[at]));
    let mut seen: BTreeSet<String> = reserved.iter().map(|name| (*name).to_owned()).collect();
    for at in order {
        let (base, mut number) = (all[at].clone(), 1u32);
        while !seen.insert(all[at].clone()) {
            number += 1;
            all[at] = format!("{base}-{number}");
        }
    }
    all
}

/// Converts a name to kebab case: `pageSize` → `page-size`, `type` → `type`.
fn kebab_case(wire: &str) -> String {
    names::field_name(wire).trim_matches('_').replace('_', "-")
}

/// Trims text of the contract and removes control characters, which could move the cursor of a terminal.
fn clean_text(text: Option<&str>) -> String {
    let text = text.unwrap_or_default().replace("\r\n", "\n");
    text.trim().chars().filter(|letter| !letter.is_control() || *letter == '\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of global options and of subcommands are the same here and in the runtime.
    #[test]
    fn global_options_match_the_runtime() {
        assert_eq!(GLOBAL_OPTIONS, contract_runtime::cli::OPTIONS);
        assert_eq!(SUBCOMMANDS, contract_runtime::cli::SUBCOMMANDS);
    }

    #[track_caller]
    fn check(wires: &[&str], names: &[&str], expect: &[&str]) {
        let names: Vec<String> = names.iter().map(|word| (*word).to_owned()).collect();
        let taken = GLOBAL_OPTIONS.iter().copied().collect();
        assert_eq!(make_unique(wires, &names, &taken), expect, "{wires:?}");
    }

    #[test]
    fn argument_names_are_distinct_in_any_order() {
        check(
            &["pageSize", "X-Note", "type"],
            &["query", "header", "query"],
            &["page-size", "x-note", "type"],
        );
        check(&["id", "id", "body"], &["path", "query", "query"], &["path-id", "query-id", "query-body"]);
        check(&["a_b", "a-b"], &["query", "query"], &["query-a-b-2", "query-a-b"]);
        check(&["a-b", "a_b"], &["query", "query"], &["query-a-b", "query-a-b-2"]);
        check(&["json", "query-json"], &["query", "query"], &["query-json", "query-json-2"]);
    }
}
