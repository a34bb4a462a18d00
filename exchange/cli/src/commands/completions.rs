//! `completions`: prints the completion script of a shell.

use clap::CommandFactory as _;
use serde_json::json;

use crate::{
    args::{Cli, CompletionsArgs},
    error::ExitStatus,
    output::Output,
};

pub(super) fn print_completions(args: &CompletionsArgs, output: &mut Output) -> ExitStatus {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "exchange", &mut script);
    let script = String::from_utf8_lossy(&script);
    if output.is_json() {
        output.write_json(&json!({ "shell": args.shell.to_string(), "script": script }));
    } else {
        output.write_text(&script);
    }
    ExitStatus::Done
}
