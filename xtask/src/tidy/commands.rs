//! Checks that the commands in Markdown files exist.
//!
//! Parses every line that starts with `$ ` in a `console` block and every line of a `sh` block. Checks that
//! the packages, targets, features and files exist, and that our own programs accept the arguments.

use super::workspace::WorkspaceMetadata;
use crate::{
    repository::{RepositoryFiles, SourceFile},
    violation::RuleViolation,
};

/// External programs. Their arguments are not checked.
const EXTERNAL_PROGRAMS: [&str; 19] = [
    "cat",
    "cd",
    "cp",
    "curl",
    "diff",
    "docker",
    "echo",
    "exit",
    "export",
    "gh",
    "git",
    "logrotate",
    "ls",
    "mkdir",
    "podman",
    "promtool",
    "rm",
    "rustup",
    "systemd-analyze",
];
const CARGO_COMMANDS: [&str; 9] =
    ["add", "fmt", "init", "metadata", "new", "publish", "tree", "update", "version"];
const CARGO_BUILD_COMMANDS: [&str; 8] =
    ["bench", "build", "check", "clippy", "doc", "nextest", "run", "test"];

/// Checks the commands in all Markdown files, and that README.md exists.
pub(super) fn check(repository: &RepositoryFiles, known: &WorkspaceMetadata) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    if repository.find_file("README.md").is_none() {
        problems.push(RuleViolation::new(
            "commands",
            "README.md",
            "is missing",
            "describe the project and its use",
        ));
    }
    for file in repository.with_suffix(".md") {
        for (line, command) in extract_commands(file) {
            for words in split_commands(&command) {
                if let Err(what) = verify_command(&words, known, repository) {
                    let what = format!("`{}`: {what}", words.join(" "));
                    let repair = "fix the command, or extend xtask/src/tidy/commands.rs";
                    problems.push(RuleViolation::new("commands", &file.path, what, repair).at_line(line));
                }
            }
        }
    }
    problems
}

/// Returns each command with the number of its first line.
fn extract_commands(file: &SourceFile) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    // The language of the current code block, or an empty string outside of code blocks.
    let mut block = String::new();
    let mut continued = false;
    for (line, text) in file.numbered_lines() {
        let text = text.trim();
        if let Some(language) = text.strip_prefix("```") {
            block = if block.is_empty() { format!("{} ", language.trim()) } else { String::new() };
            continued = false;
            continue;
        }
        let command = match block.trim() {
            "console" if continued => Some(text),
            "console" => text.strip_prefix("$ "),
            "sh" | "bash" | "shell" => Some(text.strip_prefix("$ ").unwrap_or(text)),
            _ => None,
        };
        let Some(command) = command.filter(|command| !command.is_empty() && !command.starts_with('#')) else {
            continue;
        };
        let (part, more) =
            command.strip_suffix('\\').map_or((command, false), |part| (part.trim_end(), true));
        match found.last_mut().filter(|_| continued) {
            Some((_, before)) => before.push_str(&format!(" {part}")),
            None => found.push((line, part.to_owned())),
        }
        continued = more;
    }
    found
}

/// Splits a line into its commands, and each command into words. Omits comments, redirections and
/// assignments.
fn split_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in split_words(line) {
        match word.as_str() {
            "&&" | "||" | "|" | ";" | "&" => commands.push(Vec::new()),
            _ => {
                if let Some(last) = commands.last_mut() {
                    last.push(word);
                }
            }
        }
    }
    for command in &mut commands {
        let redirected = |word: &String| {
            word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('>') || word == "<"
        };
        let end = command.iter().position(redirected).unwrap_or(command.len());
        command.truncate(end);
        let assigns = |word: &&String| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let assignments = command.iter().take_while(assigns).count();
        command.drain(..assignments);
        // The words after `exec` are another command.
        if command.first().is_some_and(|word| word == "exec") {
            command.remove(0);
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// Splits a shell line into words and removes their quotes. `#` starts a comment, and `;` is a separate word.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == '#' && word.is_none() => break,
            None if c.is_whitespace() => words.extend(word.take()),
            None if c == ';' => {
                words.extend(word.take());
                words.push(";".to_owned());
            }
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn verify_command(
    words: &[String],
    known: &WorkspaceMetadata,
    repository: &RepositoryFiles,
) -> Result<(), String> {
    let Some((program, args)) = words.split_first() else { return Ok(()) };
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_file = || program.contains('/') && repository.contains_path(program.trim_start_matches("./"));
    if program == "cargo" {
        verify_cargo(args, known, repository)
    } else if known.has_target(None, "bin", name) {
        verify_arguments(name, args, known)
    } else if EXTERNAL_PROGRAMS.contains(&program.as_str()) || is_file() {
        Ok(())
    } else {
        Err(format!("unknown program `{program}`"))
    }
}

fn verify_cargo(
    args: &[String],
    known: &WorkspaceMetadata,
    repository: &RepositoryFiles,
) -> Result<(), String> {
    let toolchain = args.first().is_some_and(|first| first.starts_with('+'));
    let Some((command, args)) = args.get(usize::from(toolchain)..).and_then(<[String]>::split_first) else {
        return Err("cargo without a command".to_owned());
    };
    match command.as_str() {
        "xtask" => verify_arguments("xtask", args, known),
        "install" => match option_value(args, "--path") {
            Some(path) if !repository.contains_path(&format!("{path}/Cargo.toml")) => {
                Err(format!("there is no package in {path}"))
            }
            _ => Ok(()),
        },
        command if CARGO_BUILD_COMMANDS.contains(&command) => verify_build(command, args, known),
        command if CARGO_COMMANDS.contains(&command) => Ok(()),
        command => Err(format!("unknown command `cargo {command}`")),
    }
}

fn verify_build(command: &str, args: &[String], known: &WorkspaceMetadata) -> Result<(), String> {
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let (own_args, rest) = args.split_at(end);
    let package = option_value(own_args, "-p").or_else(|| option_value(own_args, "--package"));
    if let Some(name) = package
        && !known.packages.contains_key(name)
    {
        return Err(format!("the workspace has no package `{name}`"));
    }
    for kind in ["bin", "example", "test", "bench"] {
        if let Some(name) = option_value(own_args, &format!("--{kind}"))
            && !known.has_target(package, kind, name)
        {
            return Err(format!("there is no {kind} `{name}`"));
        }
    }
    let features =
        option_value(own_args, "--features").or_else(|| option_value(own_args, "-F")).unwrap_or_default();
    for feature in features.split([',', ' ']).filter(|feature| !feature.is_empty()) {
        let has =
            |name: &str| known.packages.get(name).is_none_or(|package| package.features.contains(feature));
        if package.is_some_and(|name| !has(name)) {
            return Err(format!("`{}` has no feature `{feature}`", package.unwrap_or_default()));
        }
    }
    if command != "run" || option_value(own_args, "--example").is_some() {
        return Ok(());
    }
    let program =
        option_value(own_args, "--bin").or_else(|| package.and_then(|package| known.only_program(package)));
    match program {
        Some(program) => verify_arguments(program, rest.get(1..).unwrap_or_default(), known),
        None => Err("no program is selected: add `-p PACKAGE`".to_owned()),
    }
}

/// Returns the value of an option in the form `--name value` or `--name=value`.
fn option_value<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let joined = || args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
    at.map(String::as_str).or_else(joined)
}

/// Checks the arguments of one of our own programs if its command-line definition is available.
fn verify_arguments(program: &str, args: &[String], known: &WorkspaceMetadata) -> Result<(), String> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    let Some(command) = known.programs.get(program) else { return Ok(()) };
    let all = std::iter::once(program).chain(args.iter().map(String::as_str));
    match command.clone().try_get_matches_from(all) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), DisplayHelp | DisplayVersion) => Ok(()),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.trim_start_matches("error: ").to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
