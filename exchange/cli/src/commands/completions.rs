//! `completions`: for a shell to source.

use clap::CommandFactory as _;
use serde_json::json;

use crate::{
    args::{Cli, Completions},
    failure::Exit,
    output::Output,
};

pub(super) fn run(args: &Completions, output: &mut Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "exchange", &mut script);
    let script = String::from_utf8_lossy(&script);
    if output.is_json() {
        output.json(&json!({ "shell": args.shell.to_string(), "script": script }));
    } else {
        output.text(&script);
    }
    Exit::Done
}
