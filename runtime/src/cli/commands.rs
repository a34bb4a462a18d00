//! The table as commands of clap, built when the command runs.

use std::{collections::BTreeSet, io::Write, path::PathBuf};

use clap::{
    Arg, ArgAction, ArgGroup, ArgMatches, Command as Clap,
    builder::{PossibleValuesParser, ValueParser},
    value_parser,
};
use clap_complete::Shell;

use super::{
    Argument, Command, Program,
    body::{self, Given},
    failure::Failure,
    print,
};
use crate::{
    client::credentials::SchemeKind,
    operation::Body,
    parameters::{Location, Parameter, Scalar, Shape},
};

pub(super) const SERVER: &str = "server";
pub(super) const JSON: &str = "json";
pub(super) const OUTPUT: &str = "output";
pub(super) const BODY: &str = "body";
pub(super) const FIELD: &str = "field";
pub(super) const CONTENT_TYPE: &str = "content-type";
const COMPLETIONS: &str = "completions";
const ABOUT_COMPLETIONS: &str = "Print the completions of a shell";
const SHELL: &str = "shell";

/// Options that every command may have: no parameter and no credential is called like that.
pub const OPTIONS: &[&str] = &[BODY, CONTENT_TYPE, FIELD, "help", JSON, OUTPUT, SERVER, SHELL, "version"];

/// Commands that are there beside the operations.
pub const SUBCOMMANDS: &[&str] = &[COMPLETIONS, "help"];

/// The exit codes, as `--help` tells them.
const EXIT_CODES: &str = "Exit codes: 0 done, 1 it could not be done, 2 the command line or the body is wrong and \
    nothing was sent, 4 credentials are missing or not taken, 5 the server refuses, 6 the server asks to wait.";

/// All commands, for what was typed. Where operations have several tags, they are listed by them.
pub(super) fn command(program: &'static Program) -> Clap {
    let areas: BTreeSet<&str> = program.commands.iter().map(|row| row.operation.area()).collect();
    let command = all(program);
    if areas.len() < 2 {
        return command;
    }
    let usage = format!("{} [OPTIONS] <COMMAND>", program.name);
    command
        .override_usage(usage)
        .before_help(by_area(program))
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
        .mut_subcommands(|subcommand| subcommand.hide(true))
}

fn all(program: &'static Program) -> Clap {
    let mut command = Clap::new(program.name)
        .about(if program.title.is_empty() { program.name } else { program.title })
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(100)
        .args(shared(program))
        .subcommands(program.commands.iter().map(command_of))
        .subcommand(
            Clap::new(COMPLETIONS)
                .about(ABOUT_COMPLETIONS)
                .arg(Arg::new(SHELL).required(true).value_parser(value_parser!(Shell)).help("The shell")),
        );
    if !program.version.is_empty() {
        command = command.version(program.version);
    }
    if !program.about.is_empty() {
        command = command.long_about(paragraphs([program.title, program.about]));
    }
    command
}

/// The commands below the first of their tags, in the order of the contract.
fn by_area(program: &Program) -> String {
    let width = program.commands.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let width = width.clamp(COMPLETIONS.len(), 32);
    let line = |name: &str, about: &str| format!("  {name:width$}  {about}\n");
    let mut areas: Vec<&str> = Vec::new();
    for row in program.commands {
        if !areas.contains(&row.operation.area()) {
            areas.push(row.operation.area());
        }
    }
    let lines = |area: &str| {
        let rows = program.commands.iter().filter(|row| row.operation.area() == area);
        rows.map(|row| line(row.name, &summary(row))).collect::<String>()
    };
    let named = areas.iter().filter(|area| !area.is_empty());
    let named = named.map(|area| format!("{area}:\n{}\n", lines(area))).collect::<String>();
    // What has no tag stands with what is no operation.
    format!("{named}Others:\n{}{}", lines(""), line(COMPLETIONS, ABOUT_COMPLETIONS).trim_end())
}

/// Prints the completions of a shell.
pub(super) fn completions(
    program: &'static Program,
    matches: &ArgMatches,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(shell) = matches.get_one::<Shell>(SHELL) else { return Ok(()) };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut all(program), program.name, &mut script);
    Ok(print::whole(output, &script)?)
}

/// What every command takes.
fn shared(program: &'static Program) -> Vec<Arg> {
    let option = |name: &'static str| Arg::new(name).long(name).global(true).help_heading("Every command");
    let from = |name: &str| format!("[env: {}]", program.variable_of(name));
    let default = match program.server {
        "" => String::new(),
        server => format!(" [default: {server}]"),
    };
    let mut all = vec![
        option(SERVER).value_name("URL").help(format!("Where requests go {}{default}", from(SERVER))),
        option(JSON).action(ArgAction::SetTrue).help("Print answers as they came, and errors as JSON"),
        option(OUTPUT)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Write the answer to a file; - is the standard output, whatever the answer holds"),
    ];
    let schemes = program.security.map(|security| security.schemes).unwrap_or_default();
    for (scheme, credential) in schemes.iter().zip(program.credentials) {
        let about = sentence(credential.about);
        let (form, what) = match scheme.kind {
            SchemeKind::Basic => ("NAME:PASSWORD", "A name and a password"),
            SchemeKind::Bearer { .. } => ("TOKEN", "A token"),
            SchemeKind::Authorization(_) => ("TEXT", "What `Authorization` holds behind its scheme"),
            _ => ("KEY", "A key"),
        };
        for (name, form, what) in [
            (credential.name, form, what),
            (credential.client, "ID:SECRET", "A client that tokens are fetched for"),
        ] {
            if !name.is_empty() {
                let about = [what, about].into_iter().filter(|text| !text.is_empty());
                let about = about.collect::<Vec<_>>().join(". ");
                // Others on the machine can see what was typed, and not what stands in a variable.
                let help = format!("{about}. Better said by the variable {}", from(name));
                all.push(option(name).value_name(form).help(help).help_heading("Credentials"));
            }
        }
    }
    all
}

/// One line that says what a command does.
fn summary(row: &Command) -> String {
    let operation = row.operation;
    let told = match (operation.summary, sentence(row.about)) {
        ("", "") => format!("{} {}", operation.method, operation.path),
        ("", about) => about.to_owned(),
        (summary, _) => summary.to_owned(),
    };
    if operation.deprecated { format!("(deprecated) {told}") } else { told }
}

fn command_of(row: &'static Command) -> Clap {
    let operation = row.operation;
    let place = format!("{} {}", operation.method, operation.path);
    let scopes: Vec<String> = operation.scopes.iter().map(|all| all.join(" and ")).collect();
    let needs = if scopes.is_empty() { String::new() } else { format!("Needs {}.", scopes.join(" or ")) };
    let deprecated = if operation.deprecated { "Deprecated." } else { "" };
    let long = paragraphs([operation.summary, row.about, deprecated, &place, &needs]);
    let mut rows: Vec<(&Parameter, &Argument)> =
        row.asked().map(|(_, parameter, argument)| (parameter, argument)).collect();
    // Words of their own stand as in the path.
    let at = |parameter: &Parameter| operation.path.find(&format!("{{{}}}", parameter.name));
    rows.sort_by_key(|(parameter, _)| at(parameter).filter(|_| is_word(parameter)).unwrap_or(usize::MAX));
    let arguments = rows.into_iter().map(|(parameter, argument)| arg_of(parameter, argument));
    let command = Clap::new(row.name).about(summary(row)).long_about(long).args(arguments);
    match operation.body {
        Some(body) => with_body(command, row, body),
        None => command,
    }
}

/// Whether an argument has no name before it: one value that stands in the path.
fn is_word(parameter: &Parameter) -> bool {
    let one =
        !matches!(parameter.shape, Shape::Array(_) | Shape::Object(_) | Shape::Map(..) | Shape::OneOf(_));
    parameter.location == Location::Path && one
}

fn arg_of(parameter: &Parameter, argument: &Argument) -> Arg {
    let place = format!("[{} {}]", parameter.location, parameter.name);
    let deprecated = if argument.deprecated { "(deprecated)" } else { "" };
    let words = |about: &str| {
        let all = [deprecated, about, place.as_str()].into_iter().filter(|text| !text.is_empty());
        all.collect::<Vec<_>>().join(" ")
    };
    let required = parameter.required && !argument.supplied;
    let mut arg = Arg::new(argument.name).required(required).help(words(sentence(argument.about)));
    if sentence(argument.about) != argument.about {
        arg = arg.long_help(words(argument.about));
    }
    let is_word = is_word(parameter);
    if !is_word {
        arg = arg.long(argument.name);
    }
    let (arg, scalar) = match parameter.shape {
        Shape::Scalar(Scalar::Boolean) if !is_word => {
            let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
            (arg.value_name("BOOL"), Scalar::Boolean)
        }
        Shape::Scalar(scalar) => (arg, scalar),
        Shape::Array(scalar) => (arg.action(ArgAction::Append), scalar),
        Shape::Object(_) | Shape::Map(..) | Shape::Form(..) => {
            return arg.action(ArgAction::Append).value_name("NAME=VALUE").allow_hyphen_values(true);
        }
        Shape::OneOf(_) => {
            return arg.action(ArgAction::Append).value_name("VALUE").allow_hyphen_values(true);
        }
        Shape::Json => (arg, Scalar::Json),
    };
    let (form, parser): (_, ValueParser) = match scalar {
        _ if !argument.values.is_empty() => {
            let named = if is_word { None } else { Some("VALUE") };
            (named, PossibleValuesParser::new(argument.values.iter().copied()).into())
        }
        Scalar::Boolean => (None, PossibleValuesParser::new(["true", "false"]).into()),
        Scalar::Integer(_) => (Some("INTEGER"), ValueParser::new(whole)),
        Scalar::Number => (Some("NUMBER"), ValueParser::new(number)),
        Scalar::Json => (Some("JSON"), ValueParser::string()),
        Scalar::Text | Scalar::Any | Scalar::Of(_) => (Some("TEXT"), ValueParser::string()),
    };
    let arg = arg.value_parser(parser);
    match form {
        // A word is called by its own name.
        _ if is_word => arg.allow_negative_numbers(true),
        Some(form) => arg.value_name(form).allow_hyphen_values(true),
        None => arg,
    }
}

fn whole(text: &str) -> Result<String, String> {
    // How many digits there may be is the contract's to say, by its own keyword.
    match Scalar::Integer(None).value(text, false) {
        crate::Json::Number(_) => Ok(text.to_owned()),
        _ => Err("it is no whole number".to_owned()),
    }
}

fn number(text: &str) -> Result<String, String> {
    match Scalar::Number.value(text, false) {
        crate::Json::Number(_) => Ok(text.to_owned()),
        _ => Err("it is no number".to_owned()),
    }
}

fn with_body(mut command: Clap, row: &'static Command, body: Body) -> Clap {
    let about = sentence(row.body);
    let about = if about.is_empty() { "The body" } else { about };
    let mut ways = Vec::new();
    if body.content.iter().any(body::takes_file) {
        ways.push(BODY);
        let help = format!("{about}, from a file; - is the standard input");
        let file = Arg::new(BODY).long(BODY).value_name("FILE").help(help).allow_hyphen_values(true);
        command = command.arg(file.value_parser(value_parser!(PathBuf)));
    }
    if body.content.iter().any(body::takes_fields) {
        ways.push(FIELD);
        let known: Vec<&str> = body.content.iter().flat_map(body::fields).collect();
        let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
        let help =
            format!("A field of the body{known}. NAME=@FILE takes what a file holds, NAME=@@TEXT is @TEXT");
        let field = Arg::new(FIELD).long(FIELD).value_name("NAME=VALUE").help(help);
        command = command.arg(field.action(ArgAction::Append));
    }
    command = command.group(ArgGroup::new("the body").args(ways).required(body.required));
    let types: Vec<&str> = body.content.iter().map(|content| content.media_type).collect();
    let default = body::usual(&body, Given::File).or_else(|| body::usual(&body, Given::Fields));
    if types.len() > 1 || default.is_none() {
        let which = match default {
            Some(default) => format!(" [default: {default}]"),
            None => String::new(),
        };
        let help = format!("The media type of the body: {}{which}", types.join(", "));
        let arg = Arg::new(CONTENT_TYPE).long(CONTENT_TYPE).value_name("TYPE").help(help);
        let arg = if default.is_none() && body.required { arg.required(true) } else { arg };
        command = command.arg(arg);
    }
    command
}

/// What was called by its wire name, as it is typed.
pub(super) fn typed(row: &Command, name: &str) -> Option<String> {
    let (_, parameter, argument) = row.asked().find(|(_, parameter, _)| parameter.name == name)?;
    let name = argument.name;
    Some(if is_word(parameter) { format!("<{name}>") } else { format!("--{name}") })
}

/// The first paragraph, as a line without its full stop.
fn sentence(text: &str) -> &str {
    let first = text.split("\n\n").next().unwrap_or_default().trim();
    first.strip_suffix('.').unwrap_or(first)
}

fn paragraphs<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
