//! `completions` and `man`: the completion script of a shell, and manual pages.

use std::{fs, io};

use clap::CommandFactory as _;
use serde_json::json;

use crate::{
    args::{Cli, CompletionsArgs, ManArgs},
    error::{CommandError, ExitStatus},
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
    ExitStatus::Success
}

/// Writes `exchange.1` and a page for each command.
pub(super) fn write_manual_pages(args: &ManArgs, output: &mut Output) -> Result<ExitStatus, CommandError> {
    let folder = &args.folder;
    let failed = |error: io::Error| {
        let message = format!("{}: {error}", folder.display());
        CommandError::new(ExitStatus::Failure, message, "choose a folder in which you may create files")
    };
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    if output.is_json() {
        output.write_json(&json!({ "folder": folder.display().to_string() }));
    } else {
        output.write_line(format!("manual pages written to {}", folder.display()));
    }
    Ok(ExitStatus::Success)
}
