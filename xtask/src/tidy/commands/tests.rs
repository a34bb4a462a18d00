//! Tests of extracting, splitting and verifying commands.

use clap::CommandFactory as _;

use super::{
    super::{assert_problems, workspace::PackageMetadata},
    *,
};

fn workspace() -> WorkspaceMetadata {
    let package = |targets: &[(&str, &str)], features: &[&str]| PackageMetadata {
        targets: targets.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect(),
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        ..PackageMetadata::default()
    };
    let mut metadata = WorkspaceMetadata::default();
    metadata.packages.insert("xtask".to_owned(), package(&[("bin", "xtask")], &[]));
    metadata.packages.insert("exchange-cli".to_owned(), package(&[("bin", "exchange")], &[]));
    metadata.packages.insert(
        "exchange-api".to_owned(),
        package(&[("lib", "exchange_api"), ("example", "call")], &["client"]),
    );
    metadata.programs.insert("xtask".to_owned(), crate::cli::Cli::command());
    metadata
}

#[test]
fn commands_in_shell_blocks_are_extracted() {
    let text = "`$ not this`\n\n```console\n$ cargo build \\\n    --release\noutput\n$ ls\n```\n\n```rust\n$ no\n```\n\n- in a list:\n  ```sh\n  # a comment\n  cargo test # all of them\n\n  $ git log\n  ```\n";
    let file = SourceFile { path: "README.md".to_owned(), text: text.to_owned() };
    let expect = [(4, "cargo build --release"), (7, "ls"), (17, "cargo test # all of them"), (19, "git log")];
    let found = extract_commands(&file);
    let found: Vec<(usize, &str)> = found.iter().map(|(line, command)| (*line, command.as_str())).collect();
    assert_eq!(found, expect);
}

#[test]
fn lines_are_split_into_commands() {
    let check = |line: &str, expect: &[&[&str]]| assert_eq!(split_commands(line), expect, "{line}");
    check("cargo test # all", &[&["cargo", "test"]]);
    check(
        "A=1 B_2='x y' cargo run -- --name 'two words' ''",
        &[&["cargo", "run", "--", "--name", "two words", ""]],
    );
    check("cd a && cargo build; ls | cat", &[&["cd", "a"], &["cargo", "build"], &["ls"], &["cat"]]);
    check("cargo run > out.txt 2>&1", &[&["cargo", "run"]]);
    check("cargo run 2>/dev/null", &[&["cargo", "run"]]);
    check("curl <address>", &[&["curl", "<address>"]]);
    check("A=1", &[]);
    check("git diff && exit 0", &[&["git", "diff"], &["exit", "0"]]);
    check("A=1 exec cargo run", &[&["cargo", "run"]]);
}

/// Asserts the problem of a command. An empty `expect` means that there is none.
fn check(command: &str, expect: &str) {
    let repository = RepositoryFiles::from_files(&[(".ci/run", ""), ("codegen/Cargo.toml", "")]);
    let found = split_commands(command)
        .iter()
        .find_map(|words| verify_command(words, &workspace(), &repository).err());
    assert_eq!(found.unwrap_or_default(), expect, "{command}");
}

#[test]
fn existing_commands_pass() {
    for command in [
        "cargo xtask regen --check",
        "cargo xtask test -- round_trip",
        "cargo xtask --help",
        "cargo run -p xtask -- tidy --json",
        "cargo run -p exchange-cli -- anything",
        "cargo run --package=exchange-api --example call --features client",
        "cargo +stable test --workspace",
        "cargo install --path codegen",
        "exchange sign-in",
        "./target/release/exchange status",
        ".ci/run",
        "git clone <address> && cd contract-codegen",
    ] {
        check(command, "");
    }
}

#[test]
fn unknown_commands_are_rejected() {
    check("cargo xtask regenerate", "unrecognized subcommand 'regenerate'");
    check("cargo xtask regen --chekc", "unexpected argument '--chekc' found");
    check("cargo run -p xtask -- clean", "unrecognized subcommand 'clean'");
    check("cargo run -p exchange-server", "the workspace has no package `exchange-server`");
    check("cargo run", "no program is selected: add `-p PACKAGE`");
    check("cargo run -p exchange-api --example calls", "there is no example `calls`");
    check("cargo test -p exchange-api --features serve", "`exchange-api` has no feature `serve`");
    check("cargo install --path generator", "there is no package in generator");
    check("cargo deny check", "unknown command `cargo deny`");
    check("make all", "unknown program `make`");
    check("./build.sh", "unknown program `./build.sh`");
}

#[test]
fn violations_contain_the_line() {
    let rule = |repository: &RepositoryFiles| super::check(repository, &workspace());
    assert_problems(rule, &[("README.md", "```sh\ncargo xtask ci\n```\n")], &[]);
    assert_problems(
        rule,
        &[
            ("README.md", "Text.\n\n```sh\ncargo xtask cl\n```\n"),
            ("docs/a.md", "```console\n$ make\nmake\n```\n"),
        ],
        &["README.md:4 commands", "docs/a.md:2 commands"],
    );
    assert_problems(rule, &[], &["README.md commands"]);
}
