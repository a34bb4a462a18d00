//! `api <operation>`: one subcommand per operation of the contract. The arguments come from the generated
//! operation table.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, Subcommand, error::ErrorKind, value_parser};
use exchange_client::api::{
    operations::OPERATIONS,
    runtime::{
        operation::Operation,
        parameters::{Parameter, ParameterLocation},
    },
};

/// A call of an operation, parsed from the command line.
#[derive(Clone, Debug)]
pub(crate) struct RawCall {
    pub(crate) operation: &'static Operation,
    /// The index of each given parameter in `Operation::parameters`, with its value as a string.
    pub(crate) arguments: Vec<(usize, String)>,
    pub(crate) body: Option<RequestBody>,
    pub(crate) show_secrets: bool,
    pub(crate) include: bool,
}

/// The source of the request body.
#[derive(Clone, Debug)]
pub(crate) enum RequestBody {
    Text(String),
    File(PathBuf),
}

const BODY: &str = "body";
const BODY_FILE: &str = "body-file";
const SHOW_SECRETS: &str = "show-secrets";
const INCLUDE: &str = "include";

/// Returns the option name of a parameter, without its dashes: `Idempotency-Key` becomes `idempotency-key`.
fn option_name(parameter: &Parameter) -> String {
    let mut text = String::new();
    for letter in parameter.name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() && !text.ends_with('-') {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// Returns true if the program generates the parameter when it is omitted.
pub(crate) fn is_generated(parameter: &Parameter) -> bool {
    parameter.name == "Idempotency-Key"
}

fn command_for(operation: &'static Operation) -> Command {
    let needs = match operation.scopes {
        [] => String::new(),
        alternatives if alternatives.len() > 2 => "\nNeeds any one scope of the exchange.".to_owned(),
        alternatives => {
            let all: Vec<String> = alternatives.iter().map(|scopes| scopes.join(" and ")).collect();
            format!("\nNeeds {}.", all.join(" or "))
        }
    };
    let long = format!("{}.\n\n{} {}{needs}", operation.summary, operation.method, operation.path);
    let mut command = Command::new(operation.id).about(operation.summary).long_about(long);
    for parameter in operation.parameters {
        let option = option_name(parameter);
        let place = match parameter.location {
            ParameterLocation::Path => "Part of the path",
            ParameterLocation::Query => "In the query",
            ParameterLocation::Header => "A header",
            ParameterLocation::Cookie => "A cookie",
            ParameterLocation::QueryString => "The whole query",
        };
        let help = if is_generated(parameter) {
            format!("{place}; generated if omitted. To repeat a call, use the key of that call")
        } else {
            place.to_owned()
        };
        let required = parameter.required && !is_generated(parameter);
        let name = parameter.name;
        let arg = Arg::new(name).long(option).value_name("VALUE").help(help).required(required);
        command = command.arg(arg.allow_hyphen_values(true));
    }
    if let Some(body) = operation.body {
        let one_of = clap::ArgGroup::new("the body").args([BODY, BODY_FILE]).required(body.required);
        command = command
            .arg(Arg::new(BODY).long(BODY).value_name("JSON").help("The body"))
            .arg(
                Arg::new(BODY_FILE)
                    .long(BODY_FILE)
                    .value_name("FILE")
                    .value_parser(value_parser!(PathBuf))
                    .help("The body, from a file; - reads the standard input"),
            )
            .group(one_of);
    }
    let flag = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    command
        .arg(flag(INCLUDE, "Show status and headers first, and the complete problem document of an error"))
        .arg(flag(SHOW_SECRETS, "Show links and ids that are secrets instead of [secret]"))
}

impl Subcommand for RawCall {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(OPERATIONS.iter().map(command_for))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        OPERATIONS.iter().any(|operation| operation.id == name)
    }
}

impl clap::FromArgMatches for RawCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            Some((OPERATIONS.iter().find(|operation| operation.id == name)?, matches))
        });
        let (operation, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let arguments = operation.parameters.iter().enumerate().filter_map(|(index, parameter)| {
            Some((index, matches.get_one::<String>(parameter.name)?.clone()))
        });
        let body = operation.body.and_then(|_| {
            let text = matches.get_one::<String>(BODY).cloned().map(RequestBody::Text);
            text.or_else(|| matches.get_one::<PathBuf>(BODY_FILE).cloned().map(RequestBody::File))
        });
        Ok(Self {
            operation,
            arguments: arguments.collect(),
            body,
            show_secrets: matches.get_flag(SHOW_SECRETS),
            include: matches.get_flag(INCLUDE),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    fn parse(words: &[&str]) -> Result<RawCall, clap::Error> {
        let command = RawCall::augment_subcommands(Command::new("api").subcommand_required(true));
        RawCall::from_arg_matches(&command.try_get_matches_from([&["api"], words].concat())?)
    }

    /// Every operation of the contract has a subcommand with its arguments, and other arguments are rejected.
    #[test]
    fn every_operation_has_its_arguments() {
        let call = parse(&["stock_read", "--limit", "7", "--cursor", "c", "--include"]).unwrap();
        let names: Vec<_> = call
            .arguments
            .iter()
            .map(|(at, text)| (call.operation.parameters[*at].name, text.as_str()))
            .collect();
        assert_eq!(names, [("cursor", "c"), ("limit", "7")]);
        assert!(call.include && !call.show_secrets && call.body.is_none());
        let call = parse(&["stock_write", "--body", "{}"]).unwrap();
        assert!(call.arguments.is_empty() && matches!(call.body, Some(RequestBody::Text(_))));
        let call = parse(&["org_stock_members", "--unit", "u"]).unwrap();
        assert_eq!(call.arguments, [(0, "u".to_owned())]);
        assert!(parse(&["contract_schema", "--name", "page", "--if-none-match", "x"]).is_ok());
        for operation in OPERATIONS {
            assert!(RawCall::has_subcommand(operation.id));
        }
        for wrong in
            [&["stock_write"][..], &["stock_read", "--body", "{}"], &["none"], &[], &["stock_read", "--x"]]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
