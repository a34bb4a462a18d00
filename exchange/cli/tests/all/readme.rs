//! The README is up to date: each command prints the output that the README shows.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use regex::Regex;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use crate::{
    test_machine::{MEMBER, TestMachine, normal},
    waiting::everything_removed,
};

/// A command line of the README with its output.
struct ReadmeCommand {
    line: String,
    output: Vec<String>,
}

/// Returns the examples of this program in the README, in document order.
fn shown() -> Vec<ReadmeCommand> {
    let (mut shown, mut is_inside): (Vec<ReadmeCommand>, bool) = (Vec::new(), false);
    for line in include_str!("../../README.md").lines() {
        if line.starts_with("```") {
            is_inside = line == "```text";
        } else if let Some(line) = line.strip_prefix("$ ").filter(|_| is_inside) {
            shown.push(ReadmeCommand { line: line.to_owned(), output: Vec::new() });
        } else if is_inside && let Some(last) = shown.last_mut() {
            last.output.push(line.to_owned());
        }
    }
    shown.retain(|shown| shown.line.starts_with("exchange "));
    shown
}

/// Runs a command line in the member's home folder. Returns the lines of both output streams in order.
pub(crate) async fn run(machine: &TestMachine, line: &str) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_exchange")).parent().unwrap();
    let path =
        format!("{}:{}:{}", machine.home.path().display(), program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    // The shell has the same environment as other test commands.
    for (name, value) in machine.command(&[]).as_std_mut().get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.env("PATH", path).current_dir(machine.home.path()).kill_on_drop(true);
    let mut child = shell
        .args(["-c", &format!("exec 2>&1; {line}")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut output = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(code) = line.strip_prefix("Type   ") {
            machine.sandbox.approve(code, MEMBER).await.unwrap();
        }
        output.push(line);
    }
    child.wait().await.unwrap();
    output
}

/// Returns true if a printed line matches a line of the README, in which `…` matches any characters.
fn is(printed: &str, shown: &str) -> bool {
    let code = Regex::new("Type   [A-Z]{4}-[A-Z]{4}").unwrap();
    let [printed, shown] =
        [printed, shown].map(|line| normal(&code.replace(line, "Type   <code>")).trim_end().to_owned());
    let pattern = regex::escape(&shown).replace('…', ".*");
    Regex::new(&format!("^{pattern}$")).unwrap().is_match(&printed)
}

#[tokio::test]
async fn readme_matches_the_output() {
    let machine = TestMachine::signed_out().await;
    let browser = machine.home.path().join("xdg-open");
    std::fs::write(&browser, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let all = shown();
    assert!(all.len() > 15, "{}", all.len());
    for ReadmeCommand { line, mut output } in all {
        while output.last().is_some_and(String::is_empty) {
            output.pop();
        }
        if line.contains("all.json") {
            everything_removed(&machine).await;
        }
        let printed = match line.strip_prefix("exchange login") {
            // There is no secret store here. Other tests cover the output that is left out.
            Some(rest) => {
                let printed = run(&machine, &format!("exchange login --insecure-storage{rest}")).await;
                printed.into_iter().filter(|line| !line.starts_with("note: anyone who can read")).collect()
            }
            None => run(&machine, &line).await,
        };
        let is_same = printed.len() == output.len()
            && printed.iter().zip(&output).all(|(printed, shown)| is(printed, shown));
        assert!(is_same, "$ {line}\n\nprints\n{}\n\nand not\n{}", printed.join("\n"), output.join("\n"));
        if line.starts_with("exchange logout") {
            machine.login(&["--all"]).await;
            assert_eq!(machine.run(&["sync"]).await.code, 0);
        }
    }
}
