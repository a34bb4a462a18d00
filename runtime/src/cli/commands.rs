//! Builds clap commands from the table of a [`CliProgram`] at run time.

use std::{collections::BTreeSet, io::Write, path::PathBuf};

use clap::{
    Arg, ArgAction, ArgGroup, ArgMatches, Command as Clap,
    builder::{PossibleValuesParser, ValueParser},
    value_parser,
};
use clap_complete::Shell;

use super::{
    ArgumentSpec, CliProgram, CommandSpec,
    body::{self, BodySource},
    error::CliError,
    print,
};
use crate::{
    client::credentials::SchemeKind,
    operation::BodySpec,
    parameters::{Parameter, ParameterLocation, ScalarType, ValueShape},
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

/// Options of every command. Parameters and credentials cannot use these names.
pub const OPTIONS: &[&str] = &[BODY, CONTENT_TYPE, FIELD, "help", JSON, OUTPUT, SERVER, SHELL, "version"];

/// Commands that are not operations.
pub const SUBCOMMANDS: &[&str] = &[COMPLETIONS, "help"];

/// The exit codes in `--help`.
const EXIT_CODES: &str = "Exit codes: 0 success, 1 failure, 2 invalid command line or body \
    (nothing was sent), 4 missing or rejected credentials, 5 rejected by the server, 6 the server requires a wait.";

/// Returns the root command for parsing. Its help lists operations by tag if there is more than one tag.
pub(super) fn build_command(program: &'static CliProgram) -> Clap {
    let areas: BTreeSet<&str> = program.commands.iter().map(|row| row.operation.first_tag()).collect();
    let command = build_subcommands(program);
    if areas.len() < 2 {
        return command;
    }
    let usage = format!("{} [OPTIONS] <COMMAND>", program.name);
    command
        .override_usage(usage)
        .before_help(list_by_tag(program))
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
        .mut_subcommands(|subcommand| subcommand.hide(true))
}

fn build_subcommands(program: &'static CliProgram) -> Clap {
    let mut command = Clap::new(program.name)
        .about(if program.title.is_empty() { program.name } else { program.title })
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(100)
        .args(global_arguments(program))
        .subcommands(program.commands.iter().map(build_subcommand))
        .subcommand(
            Clap::new(COMPLETIONS)
                .about(ABOUT_COMPLETIONS)
                .arg(Arg::new(SHELL).required(true).value_parser(value_parser!(Shell)).help("The shell")),
        );
    if !program.version.is_empty() {
        command = command.version(program.version);
    }
    if !program.about.is_empty() {
        command = command.long_about(join_paragraphs([program.title, program.about]));
    }
    command
}

/// Lists the commands by their first tag, in the order of the contract.
fn list_by_tag(program: &CliProgram) -> String {
    let width = program.commands.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let width = width.clamp(COMPLETIONS.len(), 32);
    let line = |name: &str, about: &str| format!("  {name:width$}  {about}\n");
    let mut areas: Vec<&str> = Vec::new();
    for row in program.commands {
        if !areas.contains(&row.operation.first_tag()) {
            areas.push(row.operation.first_tag());
        }
    }
    let lines = |area: &str| {
        let rows = program.commands.iter().filter(|row| row.operation.first_tag() == area);
        rows.map(|row| line(row.name, &summarize_command(row))).collect::<String>()
    };
    let named = areas.iter().filter(|area| !area.is_empty());
    let named = named.map(|area| format!("{area}:\n{}\n", lines(area))).collect::<String>();
    // Operations without a tag are listed with the other commands.
    format!("{named}Others:\n{}{}", lines(""), line(COMPLETIONS, ABOUT_COMPLETIONS).trim_end())
}

/// Prints the completion script of a shell.
pub(super) fn print_completions(
    program: &'static CliProgram,
    matches: &ArgMatches,
    output: &mut dyn Write,
) -> Result<(), CliError> {
    let Some(shell) = matches.get_one::<Shell>(SHELL) else { return Ok(()) };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut build_subcommands(program), program.name, &mut script);
    Ok(print::write_all(output, &script)?)
}

/// Returns the options of every command.
fn global_arguments(program: &'static CliProgram) -> Vec<Arg> {
    let option = |name: &'static str| Arg::new(name).long(name).global(true).help_heading("Every command");
    let from = |name: &str| format!("[env: {}]", program.variable_name(name));
    let default = match program.server {
        "" => String::new(),
        server => format!(" [default: {server}]"),
    };
    let mut all = vec![
        option(SERVER).value_name("URL").help(format!("The URL of the server {}{default}", from(SERVER))),
        option(JSON).action(ArgAction::SetTrue).help("Print responses unchanged, and errors as JSON"),
        option(OUTPUT)
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Write the response to a file; - is standard output, even for binary data"),
    ];
    let schemes = program.security.map(|security| security.schemes).unwrap_or_default();
    for (scheme, credential) in schemes.iter().zip(program.credentials) {
        let about = first_paragraph(credential.about);
        let (form, what) = match scheme.kind {
            SchemeKind::Basic => ("NAME:PASSWORD", "A name and a password"),
            SchemeKind::Bearer { .. } => ("TOKEN", "A token"),
            SchemeKind::Authorization(_) => ("TEXT", "The part of `Authorization` after its scheme"),
            _ => ("KEY", "A key"),
        };
        for (name, form, what) in [
            (credential.name, form, what),
            (credential.client, "ID:SECRET", "The OAuth client for which tokens are fetched"),
        ] {
            if !name.is_empty() {
                let about = [what, about].into_iter().filter(|text| !text.is_empty());
                let about = about.collect::<Vec<_>>().join(". ");
                // Command lines are visible to other users, environment variables are not.
                let help = format!("{about}. Prefer the environment variable {}", from(name));
                all.push(option(name).value_name(form).help(help).help_heading("Credentials"));
            }
        }
    }
    all
}

/// Returns the one-line description of a command.
fn summarize_command(row: &CommandSpec) -> String {
    let operation = row.operation;
    let about_text = match (operation.summary, first_paragraph(row.about)) {
        ("", "") => format!("{} {}", operation.method, operation.path),
        ("", about) => about.to_owned(),
        (summary, _) => summary.to_owned(),
    };
    if operation.deprecated { format!("(deprecated) {about_text}") } else { about_text }
}

fn build_subcommand(row: &'static CommandSpec) -> Clap {
    let operation = row.operation;
    let place = format!("{} {}", operation.method, operation.path);
    let scopes: Vec<String> = operation.scopes.iter().map(|all| all.join(" and ")).collect();
    let needs = if scopes.is_empty() { String::new() } else { format!("Needs {}.", scopes.join(" or ")) };
    let deprecated = if operation.deprecated { "Deprecated." } else { "" };
    let long = join_paragraphs([operation.summary, row.about, deprecated, &place, &needs]);
    let mut rows: Vec<(&Parameter, &ArgumentSpec)> =
        row.visible_arguments().map(|(_, parameter, argument)| (parameter, argument)).collect();
    // Positional arguments follow the order of the path.
    let at = |parameter: &Parameter| operation.path.find(&format!("{{{}}}", parameter.name));
    rows.sort_by_key(|(parameter, _)| {
        at(parameter).filter(|_| is_positional(parameter)).unwrap_or(usize::MAX)
    });
    let arguments = rows.into_iter().map(|(parameter, argument)| build_argument(parameter, argument));
    let command = Clap::new(row.name).about(summarize_command(row)).long_about(long).args(arguments);
    match operation.body {
        Some(body) => add_body_arguments(command, row, body),
        None => command,
    }
}

/// Returns true if the parameter is a positional argument, that is, a single value in the path.
fn is_positional(parameter: &Parameter) -> bool {
    let one = !matches!(
        parameter.shape,
        ValueShape::Array(_)
            | ValueShape::Object(_)
            | ValueShape::Map(..)
            | ValueShape::MapOf(..)
            | ValueShape::OneOf(_)
    );
    parameter.location == ParameterLocation::Path && one
}

fn build_argument(parameter: &Parameter, argument: &ArgumentSpec) -> Arg {
    let place = format!("[{} {}]", parameter.location, parameter.name);
    let deprecated = if argument.deprecated { "(deprecated)" } else { "" };
    let words = |about: &str| {
        let all = [deprecated, about, place.as_str()].into_iter().filter(|text| !text.is_empty());
        all.collect::<Vec<_>>().join(" ")
    };
    let required = parameter.required && !argument.supplied;
    let mut arg = Arg::new(argument.name).required(required).help(words(first_paragraph(argument.about)));
    if first_paragraph(argument.about) != argument.about {
        arg = arg.long_help(words(argument.about));
    }
    let is_word = is_positional(parameter);
    if !is_word {
        arg = arg.long(argument.name);
    }
    let (arg, scalar) = match parameter.shape {
        ValueShape::Scalar(ScalarType::Boolean) if !is_word => {
            let arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
            (arg.value_name("BOOL"), ScalarType::Boolean)
        }
        ValueShape::Scalar(scalar) => (arg, scalar),
        ValueShape::Array(scalar) => (arg.action(ArgAction::Append), scalar),
        ValueShape::Object(_) | ValueShape::Map(..) | ValueShape::MapOf(..) | ValueShape::Form(..) => {
            return arg.action(ArgAction::Append).value_name("NAME=VALUE").allow_hyphen_values(true);
        }
        ValueShape::OneOf(_) => {
            return arg.action(ArgAction::Append).value_name("VALUE").allow_hyphen_values(true);
        }
        ValueShape::Json | ValueShape::List(_) => (arg, ScalarType::Json),
    };
    let (form, parser): (_, ValueParser) = match scalar {
        _ if !argument.values.is_empty() => {
            let named = if is_word { None } else { Some("VALUE") };
            (named, PossibleValuesParser::new(argument.values.iter().copied()).into())
        }
        ScalarType::Boolean => (None, PossibleValuesParser::new(["true", "false"]).into()),
        ScalarType::Integer(_) => (Some("INTEGER"), ValueParser::new(validate_integer)),
        ScalarType::Number => (Some("NUMBER"), ValueParser::new(validate_number)),
        ScalarType::Json => (Some("JSON"), ValueParser::string()),
        ScalarType::Text | ScalarType::Any | ScalarType::Of(_) => (Some("TEXT"), ValueParser::string()),
    };
    let arg = arg.value_parser(parser);
    match form {
        // The help shows a positional argument by its name.
        _ if is_word => arg.allow_negative_numbers(true),
        Some(form) => arg.value_name(form).allow_hyphen_values(true),
        None => arg,
    }
}

fn validate_integer(text: &str) -> Result<String, String> {
    // The number of digits is validated by the schema.
    match ScalarType::Integer(None).parse_value(text, false) {
        crate::Json::Number(_) => Ok(text.to_owned()),
        _ => Err("not an integer".to_owned()),
    }
}

fn validate_number(text: &str) -> Result<String, String> {
    match ScalarType::Number.parse_value(text, false) {
        crate::Json::Number(_) => Ok(text.to_owned()),
        _ => Err("not a number".to_owned()),
    }
}

fn add_body_arguments(mut command: Clap, row: &'static CommandSpec, body: BodySpec) -> Clap {
    let about = first_paragraph(row.body);
    let about = if about.is_empty() { "The body" } else { about };
    let mut ways = Vec::new();
    if body.content.iter().any(body::takes_file) {
        ways.push(BODY);
        let help = format!("{about}, from a file; - is standard input");
        let file = Arg::new(BODY).long(BODY).value_name("FILE").help(help).allow_hyphen_values(true);
        command = command.arg(file.value_parser(value_parser!(PathBuf)));
    }
    if body.content.iter().any(body::takes_fields) {
        ways.push(FIELD);
        let known: Vec<&str> = body.content.iter().flat_map(body::field_names).collect();
        let known = if known.is_empty() { String::new() } else { format!(": {}", known.join(", ")) };
        let help = format!(
            "A field of the body{known}. NAME=@FILE reads the value from a file, NAME=@@TEXT is @TEXT"
        );
        let field = Arg::new(FIELD).long(FIELD).value_name("NAME=VALUE").help(help);
        command = command.arg(field.action(ArgAction::Append));
    }
    command = command.group(ArgGroup::new("the body").args(ways).required(body.required));
    let types: Vec<&str> = body.content.iter().map(|content| content.media_type).collect();
    let default = body::default_media_type(&body, BodySource::File)
        .or_else(|| body::default_media_type(&body, BodySource::Fields));
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

/// Returns the name of the option for a parameter, given the wire name of the parameter.
pub(super) fn option_for_parameter(row: &CommandSpec, name: &str) -> Option<String> {
    let (_, parameter, argument) =
        row.visible_arguments().find(|(_, parameter, _)| parameter.name == name)?;
    let name = argument.name;
    Some(if is_positional(parameter) { format!("<{name}>") } else { format!("--{name}") })
}

/// Returns the first paragraph, without its final period.
fn first_paragraph(text: &str) -> &str {
    let first = text.split("\n\n").next().unwrap_or_default().trim();
    first.strip_suffix('.').unwrap_or(first)
}

fn join_paragraphs<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
