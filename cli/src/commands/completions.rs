//! `completions`: for a shell to source.

use clap::CommandFactory as _;

use crate::{
    args::{Cli, Completions},
    failure::Exit,
    output::Output,
};

pub(super) fn run(args: &Completions, output: &mut Output) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "exchange", &mut script);
    output.text(&String::from_utf8_lossy(&script));
    Exit::Done
}
