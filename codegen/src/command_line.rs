//! The generated module `cli`: what operations, parameters and credentials are called on a command line, and what the
//! contract says of them, as a table. What a command does with it is the runtime's.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::{
    config::{CommandLine, Config},
    credentials::{Kind, Scheme, asked},
    diagnostics::{Diagnostic, Diagnostics},
    emit::ident,
    names,
    plan::{Call, Parameter, Plan, Side},
};

/// Options that every command may have (`contract_runtime::cli::OPTIONS`).
const OPTIONS: &[&str] =
    &["body", "content-type", "field", "help", "json", "output", "server", "shell", "version"];

/// Commands that are there beside the operations (`contract_runtime::cli::SUBCOMMANDS`).
const SUBCOMMANDS: &[&str] = &["completions", "help"];

/// Says of `cli` what is no name, no variable and no address, and where there is nothing to call.
pub(crate) fn check(config: &Config, plan: &Plan<'_>, diagnostics: &mut Diagnostics) {
    const OPTION: &str = "output.cli";
    let Some(asked) = &config.output.cli else { return };
    let mut refuse = |message: String, place, help: &str| {
        diagnostics.push(Diagnostic::error("config", message).maybe_at(place).help(help));
    };
    let whole = || {
        let said = [&asked.name, &asked.variables, &asked.server].into_iter().flatten().next();
        config.place(OPTION, said.map_or("true", String::as_str))
    };
    if !config.output.client {
        let place = config.place("output.client", "false").or_else(whole);
        let message = format!("`{OPTION}` does nothing without a client");
        refuse(message, place, "leave `client = false` out, or `cli`");
    } else if plan.calls.is_empty() {
        let message = format!("`{OPTION}` does nothing: the contract has no operations");
        refuse(message, whole(), "remove it, or name the document that has `paths`");
    }
    let word = |text: &str, more: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
        text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(letter)
    };
    if let Some(name) = asked.name.as_ref().filter(|name| !word(name, "-_")) {
        let help = "a name is of letters, digits, `-` and `_`, such as `tickets`";
        refuse(format!("no command can be called `{name}`"), config.place(OPTION, name), help);
    }
    if let Some(variables) = asked.variables.as_ref().filter(|variables| !word(variables, "_")) {
        let help = "give letters, digits and `_`, such as `TICKETS`";
        refuse(format!("no variables can begin with `{variables}`"), config.place(OPTION, variables), help);
    }
    if let Some(server) = asked.server.as_ref().filter(|server| !is_absolute(server)) {
        let help = "give an absolute address, such as `https://tickets.example`";
        refuse(format!("no request can be sent to `{server}`"), config.place(OPTION, server), help);
    }
}

/// Whether a request can be sent there as it stands.
fn is_absolute(address: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| address.starts_with(scheme))
}

/// What the command is called: as it is said, or as the package.
pub(crate) fn name<'a>(asked: &'a CommandLine, package: &'a str) -> &'a str {
    asked.name.as_deref().unwrap_or(package)
}

/// Writes the module, a direct child of the generated root.
pub(crate) fn command_line(plan: &Plan<'_>, asked: &CommandLine, package: &str) -> TokenStream {
    let (api, name) = (plan.api, name(asked, package));
    let variables = asked.variables.clone().unwrap_or_else(|| names::constant_name(name));
    let absolute = || api.servers.iter().find(|server| is_absolute(server)).map(String::as_str);
    let server = asked.server.as_deref().or_else(absolute).unwrap_or_default();
    let schemes = self::asked(plan);
    let (options, clients) = credential_names(&schemes);
    let credentials = schemes.iter().zip(&options).zip(&clients).map(|((scheme, name), client)| {
        let about = text(scheme.description);
        quote!(Credential { name: #name, client: #client, about: #about })
    });
    let credentials: Vec<TokenStream> = credentials.collect();
    let calls: Vec<&Call<'_>> = plan.calls.iter().filter(|call| call.unsendable.is_none()).collect();
    let commands = command_names(&calls);
    let taken: BTreeSet<&str> = options.iter().chain(&clients).map(String::as_str).collect();
    let mut has_arguments = false;
    let rows: Vec<TokenStream> = calls
        .iter()
        .zip(&commands)
        .map(|(call, name)| {
            has_arguments |= !call.parameters.is_empty();
            row(call, name, &taken)
        })
        .collect();
    let argument = has_arguments.then(|| quote!(Argument,));
    let (security, import, credential) = if schemes.is_empty() {
        (quote!(None), None, None)
    } else {
        (
            quote!(Some(SECURITY)),
            Some(quote!(
                use super::credentials::SECURITY;
            )),
            Some(quote!(Credential,)),
        )
    };
    let (table, id) = Side::Paths.table();
    let (table, id) = (ident(table), ident(id));
    let ids = (!rows.is_empty()).then(|| quote!(use super::#table::#id;));
    let (title, version) = (api.title.as_str(), api.version.as_str());
    let about = text(api.description.as_deref());
    quote! {
        use std::process::ExitCode;

        use ::contract_runtime::cli::{#argument Command, #credential Program};

        #import
        #ids

        /// The command: its name, its commands, and where their requests go.
        pub static PROGRAM: Program = Program {
            name: #name,
            title: #title,
            version: #version,
            about: #about,
            variables: #variables,
            server: #server,
            commands: COMMANDS,
            security: #security,
            credentials: &[#(#credentials),*],
        };

        /// A command for each operation, in the order of the contract.
        static COMMANDS: &[Command] = &[#(#rows),*];

        /// Runs the command with the words, the variables and the streams of this process.
        #[must_use]
        pub fn main() -> ExitCode {
            PROGRAM.main()
        }
    }
}

fn row(call: &Call<'_>, name: &str, taken: &BTreeSet<&str>) -> TokenStream {
    let id = ident(&call.id);
    let table = ident(Side::Paths.table().1);
    let about = text(call.operation.description.as_deref());
    let body = text(call.body.as_ref().and_then(|body| body.body.description.as_deref()));
    let names = argument_names(&call.parameters, taken);
    let arguments = call.parameters.iter().zip(names).map(|(parameter, name)| argument(parameter, &name));
    quote! {
        Command {
            name: #name,
            operation: #table::#id.operation(),
            about: #about,
            arguments: &[#(#arguments),*],
            body: #body,
        }
    }
}

fn argument(parameter: &Parameter<'_>, name: &str) -> TokenStream {
    // Nobody is asked for it; its text stands in its row.
    if parameter.parameter.constant.is_some() {
        return quote!(Argument::NONE);
    }
    let about = text(parameter.parameter.description.as_deref());
    let about = (!about.is_empty()).then(|| quote!(about: #about,));
    let values = parameter.values.iter().map(|value| Literal::string(value));
    let values = (!parameter.values.is_empty()).then(|| quote!(values: &[#(#values),*],));
    let deprecated = parameter.deprecated.then(|| quote!(deprecated: true,));
    let supplied = parameter.field.is_none().then(|| quote!(supplied: true,));
    quote!(Argument { name: #name, #about #values #deprecated #supplied ..Argument::NONE })
}

/// The commands of operations, by their ids.
fn command_names(calls: &[&Call<'_>]) -> Vec<String> {
    let wires: Vec<&str> = calls.iter().map(|call| call.operation.id.as_str()).collect();
    let methods: Vec<String> = calls.iter().map(|call| call.operation.method.to_ascii_lowercase()).collect();
    distinct(&wires, &methods, &BTreeSet::from_iter(SUBCOMMANDS.iter().copied()))
}

/// The options of parameters: their own names; those that clash, or that all commands have, take their location's in
/// front; empty for what is always the same.
fn argument_names(parameters: &[Parameter<'_>], taken: &BTreeSet<&str>) -> Vec<String> {
    let is_asked = |parameter: &&Parameter<'_>| parameter.parameter.constant.is_none();
    let asked: Vec<&Parameter<'_>> = parameters.iter().filter(is_asked).collect();
    let wires: Vec<&str> = asked.iter().map(|parameter| parameter.row.name.as_str()).collect();
    let locations: Vec<String> =
        asked.iter().map(|parameter| parameter.row.location.as_str().to_owned()).collect();
    let taken = taken.iter().chain(OPTIONS).copied().collect();
    let mut names = distinct(&wires, &locations, &taken).into_iter();
    let name =
        |parameter| if is_asked(&parameter) { names.next().unwrap_or_default() } else { String::new() };
    parameters.iter().map(name).collect()
}

/// The options of credentials, and those of clients that tokens are fetched for; empty for what has none.
fn credential_names(schemes: &[Scheme<'_>]) -> (Vec<String>, Vec<String>) {
    let wires: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
    let words = vec!["credential".to_owned(); wires.len()];
    let mut taken: BTreeSet<&str> = OPTIONS.iter().copied().collect();
    let mut names = distinct(&wires, &words, &taken);
    let fetched =
        |scheme: &Scheme<'_>| matches!(&scheme.kind, Kind::Token { token_url } if !token_url.is_empty());
    let clients: Vec<String> = names.iter().map(|name| format!("{name} client")).collect();
    let clients: Vec<&str> = clients.iter().map(String::as_str).collect();
    taken.extend(names.iter().map(String::as_str));
    let mut clients = distinct(&clients, &words, &taken);
    for ((scheme, name), client) in schemes.iter().zip(&mut names).zip(&mut clients) {
        if scheme.kind == Kind::Connection {
            name.clear();
        }
        if !fetched(scheme) {
            client.clear();
        }
    }
    (names, clients)
}

/// Names in small letters with dashes, each once: what clashes or is taken has its word in front, and a number behind
/// it where that does not help.
fn distinct(wires: &[&str], words: &[String], taken: &BTreeSet<&str>) -> Vec<String> {
    let plain: Vec<String> = wires.iter().map(|wire| kebab(wire)).collect();
    let clashes = |name: &String| plain.iter().filter(|other| *other == name).count() > 1;
    let named = plain.iter().zip(words).map(|(name, word)| {
        if clashes(name) || taken.contains(name.as_str()) { format!("{word}-{name}") } else { name.clone() }
    });
    let mut all: Vec<String> = named.collect();
    // In the order of the wire names, so that the order of the contract does not matter.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| (wires[at], &words[at]));
    let mut seen: BTreeSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    for at in order {
        let (base, mut number) = (all[at].clone(), 1u32);
        while !seen.insert(all[at].clone()) {
            number += 1;
            all[at] = format!("{base}-{number}");
        }
    }
    all
}

/// `pageSize` → `page-size`, `type` → `type`.
fn kebab(wire: &str) -> String {
    names::field_name(wire).trim_matches('_').replace('_', "-")
}

/// What the contract says in words, without what would move a cursor.
fn text(said: Option<&str>) -> String {
    let said = said.unwrap_or_default().replace("\r\n", "\n");
    said.trim().chars().filter(|letter| !letter.is_control() || *letter == '\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One list each, here and where the options are.
    #[test]
    fn what_every_command_has_is_what_the_runtime_says() {
        assert_eq!(OPTIONS, contract_runtime::cli::OPTIONS);
        assert_eq!(SUBCOMMANDS, contract_runtime::cli::SUBCOMMANDS);
    }

    #[track_caller]
    fn check(wires: &[&str], words: &[&str], expect: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let taken = OPTIONS.iter().copied().collect();
        assert_eq!(distinct(wires, &words, &taken), expect, "{wires:?}");
    }

    #[test]
    fn names_are_told_apart_in_any_order() {
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
