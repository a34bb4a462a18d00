//! `completions` and `man`: shell completion, also of tags and operation ids of a contract, and manual pages.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory as _};
use clap_complete::{ArgValueCandidates, CompletionCandidate, env::Shells};
use contract_codegen_core::{api::Operation, plan::OperationSide};

use super::{
    args::{Cli, CompletionsArgs, ManArgs, ShellArg},
    console::Console,
    error::CommandError,
    project,
};

/// The environment variable that a shell's completion script sets to request candidates.
pub(crate) const COMPLETE_VARIABLE: &str = "CONTRACT_CODEGEN_COMPLETE";
const PROGRAM: &str = "contract-codegen";

/// Returns the definition of the command line, with functions that list the candidates for `--tag` and
/// `--operation`.
pub(crate) fn command_with_candidates() -> Command {
    let add = |command: Command, name: &str, list: fn() -> Vec<CompletionCandidate>| {
        if command.get_arguments().any(|argument| argument.get_id() == name) {
            command.mut_arg(name, |argument| argument.add(ArgValueCandidates::new(list)))
        } else {
            command
        }
    };
    let mut program = Cli::command();
    for command in program.get_subcommands_mut() {
        let completed = add(add(command.clone(), "tag", list_tags), "operation", list_operations);
        *command = completed;
    }
    program
}

/// Prints the completion script for a shell. The script runs this program for each completion.
pub(crate) fn run_completions(args: &CompletionsArgs) -> Result<u8, CommandError> {
    let name = match args.shell {
        ShellArg::Bash => "bash",
        ShellArg::Elvish => "elvish",
        ShellArg::Fish => "fish",
        ShellArg::Powershell => "powershell",
        ShellArg::Zsh => "zsh",
    };
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(name) {
        shell.write_registration(COMPLETE_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    }
    std::io::stdout().write_all(&script)?;
    Ok(0)
}

/// Writes the manual pages of the program and of all commands.
pub(crate) fn run_man(args: &ManArgs, console: &Console) -> Result<u8, CommandError> {
    let folder = &args.folder;
    let failed = |error: std::io::Error| {
        CommandError::Io(format!("cannot write the manual pages to {}: {error}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    console.print_status("created", &format!("the manual pages in {}", folder.display()));
    Ok(0)
}

/// Returns the tags of the contract that the command line names.
fn list_tags() -> Vec<CompletionCandidate> {
    read_operations(|operation| operation.tags.clone())
}

/// Returns the operation ids of the contract that the command line names.
fn list_operations() -> Vec<CompletionCandidate> {
    read_operations(|operation| vec![operation.id.clone()])
}

/// Applies `values` to each operation of the contract, and returns the results sorted and without duplicates.
/// Returns an empty list if the contract cannot be read.
fn read_operations(values: impl Fn(&Operation) -> Vec<String>) -> Vec<CompletionCandidate> {
    let inputs = input_files(env::args_os().skip(1).map(PathBuf::from));
    let Ok(inputs) = project::resolve_inputs(&inputs, "") else { return Vec::new() };
    let Ok(project) = project::open_project(&inputs) else { return Vec::new() };
    let Ok(contract) = project.read_contract() else { return Vec::new() };
    let plan = project.operation_plan(&contract, OperationSide::Paths);
    let mut all: Vec<String> = plan.calls.iter().flat_map(|call| values(call.operation)).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the words of the command line that are existing JSON, YAML or TOML files.
fn input_files(words: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let is_contract = |path: &Path| {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        ["json", "yaml", "yml", "toml"].iter().any(|known| extension == *known)
    };
    words.filter(|path| is_contract(path) && path.is_file()).collect()
}
