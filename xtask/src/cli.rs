//! The command line: names, help, examples. What the commands do is in their modules.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::drift;

/// The commands of those who work on this repository.
///
/// The contract lies in schemas/, what is generated from it in generated/src/generated. After an
/// edit of either the contract or the generator, `regen` is the command to run; before a commit, `ci`.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true,
    after_help = "Exit codes, of all commands but drift:
  0  in order
  1  something has to be repaired; the output says what, and with which command
  2  wrong usage, or the command could not be carried out

Examples:
  cargo xtask regen           write what the contract now generates
  cargo xtask test            run all tests
  cargo xtask drift           compare the contract with its older version
  cargo xtask ci              the checks of CI's first job, in its order"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the generator over the contract.
    ///
    /// Reads schemas/codegen.toml and the contract that it names, and makes generated/src/generated
    /// hold exactly what comes out: one line per file that is created, updated or removed. The
    /// folder belongs to the generator; what it did not write there is removed, nothing outside is
    /// touched. A contract with a mistake changes nothing: every mistake is shown with its place.
    #[command(after_help = "Exit codes:
  0  the folder holds what the contract generates
  1  the contract has mistakes; with --check: the folder holds something else
  2  the folder cannot be read or written

Examples:
  cargo xtask regen
  cargo xtask regen --check
  cargo xtask regen --json")]
    Regen(RegenArgs),
    /// Compare the contract with another version of itself.
    Drift(drift::Args),
    /// Check the rules of the house.
    ///
    /// Hand-written Rust opens with `//!`, has at most 800 lines and no `mod.rs`; generated files
    /// carry the generator's header; every row of docs/requirements.md is named by a test of each of
    /// its sides; every fault of exchange/client/e2e/faults.md has tests, which are there; the commands of
    /// README.md exist; no path of somebody's machine, no unfinished work, no dead link; every
    /// dependency has its reason; Cargo.lock is there; every crate says what a registry asks.
    #[command(after_help = "Exit codes:
  0  every rule holds
  1  problems were found; each says file, line, and what to do
  2  the repository cannot be read

Examples:
  cargo xtask tidy
  cargo xtask tidy --json")]
    Tidy(TidyArgs),
    /// Run all tests.
    ///
    /// With cargo-nextest installed: `cargo nextest run` and then the documentation's tests;
    /// without it `cargo test`, which runs both. Always the whole workspace with all features, so
    /// that nothing is built twice. Arguments are handed to the runner, and the documentation's
    /// tests are then left out.
    #[command(after_help = "Exit codes:
  0  tests ran, and none failed
  1  a test failed, or none ran
  2  cargo cannot be started

Examples:
  cargo xtask test
  cargo xtask test -- round_trip")]
    Test(TestArgs),
    /// Run the tests of everything that can happen to a client.
    ///
    /// exchange/client/e2e/faults.md lists the faults, what is expected of each, and the tests that show it;
    /// `cargo xtask tidy` sees to it that they are there. Builds what `cargo xtask test` builds. Says how long the tests
    /// took, and when that was more than a minute.
    #[command(after_help = "Exit codes:
  0  tests ran, and none failed
  1  a test failed, or none ran
  2  the table cannot be read, or cargo cannot be started

Examples:
  cargo xtask faults")]
    Faults,
    /// Compare generators on documents of your own.
    ///
    /// Generates a package with contract-codegen (release build, best of three), with typify and
    /// openapi-to-rust, which are installed into target/compare/tools unless they are there, and with each
    /// of progenitor, oas3-gen and openapi-generator that is installed, lets the compiler check what came
    /// out, and prints a table in Markdown. Output goes to target/compare.
    #[command(after_help = "Exit codes:
  0  what contract-codegen generated compiles without errors and warnings
  1  it does not, or was not generated
  2  a program or a document cannot be read or run, or a generator cannot be installed

Examples:
  cargo xtask compare openapi.json
  cargo xtask compare a.yaml b.json --tools ~/generators/bin --json")]
    Compare(CompareArgs),
    /// Run the official JSON-Schema-Test-Suite through generated code.
    ///
    /// For each draft that the generator reads: generates types and validators for every schema of
    /// the suite into one package, compiles it with warnings denied, and asks it about every case:
    /// the tables by themselves, and the type, which has to refuse what is invalid, take what is
    /// valid and write it back equal. The latest draft runs once more with the default options. Then asks every type and its tables about the values of all
    /// other schemas, which they have to answer alike. Compares with the score in
    /// tests/suite/score.toml. The suite is not part of the repository: name a copy, by DIR or in
    /// JSON_SCHEMA_TEST_SUITE, or say --fetch.
    #[command(after_help = "Exit codes:
  0  the score is the recorded one, or better
  1  a case is wrong that is not recorded as such, or what was generated cannot be compiled and run
  2  there is no copy of the suite

Examples:
  git clone --depth 1 https://github.com/json-schema-org/JSON-Schema-Test-Suite target/json-schema-test-suite
  cargo xtask suite target/json-schema-test-suite
  cargo xtask suite --fetch
  cargo xtask suite --draft 2020-12 --only unevaluated")]
    Suite(SuiteArgs),
    /// Ask other implementations about our DPoP proofs, and ours about theirs.
    ///
    /// Installs `jose` by npm and `jwcrypto` by pip into target/oracles, unless they are there. Each judges
    /// the proofs of dpop/vectors/ours.json, which has to come out as the file says, but for the cases that
    /// dpop/vectors/differences.json names; and makes proofs of its own, good ones and broken ones, which the
    /// verifier of `dpop-bound` has to answer as their file says.
    #[command(after_help = "Exit codes:
  0  all agree, but for the known differences
  1  they do not: a new difference, a known one that is none, one of their proofs answered otherwise
  2  Node.js, npm, Python, pip or the network is missing; the output says which

Examples:
  cargo xtask oracles
  cargo xtask oracles --json
  cargo xtask oracles --write       also replace dpop/vectors/jose.json and jwcrypto.json")]
    Oracles(OraclesArgs),
    /// Let programs of others speak to the service and to our client.
    ///
    /// Builds the service and our client and starts them beside each peer, whose packages npm or pip installs into
    /// target/peers, unless they are there. `openid-client` and `requests_oauth2client` are clients: they sign in
    /// at our provider by device code, read, write and follow the feed through our gateway, refresh, revoke, and
    /// meet the refusals that a client meets. `oidc-provider` is an issuer that our gateway takes tokens of.
    /// `httpx` carries a client of every area, written by hand from the text of the contract. `oauth4webapi` judges
    /// tokens and proofs of our client, in place of our gateway; `oidc-provider` is its issuer there.
    /// `schemathesis` makes requests of the document that the gateway serves, right and wrong ones, and judges the
    /// answers. Their scripts are in exchange/service/tests/peers.
    #[command(after_help = "Exit codes:
  0  every step of every peer came out as it has to
  1  a step did not, or the service or our client could not be built or started
  2  Node.js, npm, Python, pip or the network is missing; the output says which

Examples:
  cargo xtask peers
  cargo xtask peers openid-client
  cargo xtask peers --json")]
    Peers(PeersArgs),
    /// Package every crate of the workspace, without building it.
    ///
    /// Each as it would be handed to a registry, into target/packages, without the network; a warning of
    /// cargo is a problem, and so is a package that is larger than code has to be. What cargo does not
    /// ask of a manifest, `tidy` does.
    #[command(after_help = "Exit codes:
  0  every crate packages, without a warning
  1  one does not, or is too large
  2  cargo cannot be started

Examples:
  cargo xtask package")]
    Package,
    /// Compile the workspace with the oldest compiler that it names.
    ///
    /// `rust-version` in Cargo.toml is the one place that names it. rustup installs that toolchain unless it
    /// is there; what it builds is in target/msrv.
    #[command(after_help = "Exit codes:
  0  it compiles
  1  it does not
  2  that compiler is not to be had: no rustup, or no network

Examples:
  cargo xtask msrv")]
    Msrv,
    /// Ask about licences, advisories and sources of what comes in from outside.
    ///
    /// Runs cargo-deny by deny.toml, which says what is allowed and why.
    #[command(after_help = "Exit codes:
  0  nothing that deny.toml refuses
  1  something; cargo-deny says what
  2  cargo-deny is not installed, or cannot be run

Examples:
  cargo xtask deny")]
    Deny,
    /// Show all of it at work: generate, start the exchange, use it from two installations of a client.
    ///
    /// Generates the exchange's crate, builds service and client, and runs them in one process: sign-in,
    /// snapshot, changes that the other installation hears of, an answer that is lost, disconnecting.
    #[command(after_help = "Exit codes:
  0  it ran to its end
  1  a step failed, or the contract has mistakes
  2  cargo cannot be started

Examples:
  cargo xtask demo")]
    Demo,
    /// Run the whole exchange on this machine, seeded, for trying clients against it.
    ///
    /// Builds the service and starts `exchange-service sandbox`; arguments are handed to it.
    #[command(after_help = "Exit codes: those of `exchange-service sandbox`; 2 when cargo cannot be started

Examples:
  cargo xtask sandbox
  cargo xtask sandbox --port 8080 --json
  cargo xtask sandbox -- --help       what it can be told")]
    Sandbox(SandboxArgs),
    /// Run the checks of CI's first job.
    ///
    /// Formatting, generated files, house rules, clippy, examples, tests, documentation: cheapest
    /// first. Stops at the first step that fails and names the command that repairs it.
    #[command(after_help = "Exit codes:
  0  every step is in order
  1  a step failed
  2  a step could not be run

Examples:
  cargo xtask ci
  cargo xtask ci --keep-going")]
    Ci(CiArgs),
}

/// Options of `regen`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct RegenArgs {
    /// Write nothing; show the first difference, and fail when there is one
    #[arg(long)]
    pub(crate) check: bool,
    /// Print JSON, one object a line: diagnostics, then `{path, change}` per file, then a summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `tidy`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TidyArgs {
    /// Print JSON, one object a line: `{rule, file, line, what, repair}` per problem, then a summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `test`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TestArgs {
    /// Arguments of the runner, such as a part of the tests' names
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

/// Options of `compare`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CompareArgs {
    /// OpenAPI documents
    #[arg(required = true, value_name = "DOCUMENT")]
    pub(crate) documents: Vec<std::path::PathBuf>,
    /// A folder with `cargo-progenitor`, `oas3-gen` or `openapi-generator-cli`, looked into before PATH
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<std::path::PathBuf>,
    /// Print JSON, one object a line for each document and generator
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `suite`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SuiteArgs {
    /// A copy of the suite: the folder with tests/ and remotes/
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Unpack the copy that PyPI's `jsonschema` carries in its source distribution, by `pip` and `tar`
    #[arg(long, conflicts_with = "folder")]
    pub(crate) fetch: bool,
    /// Only this draft, not all that the generator reads
    #[arg(long, value_name = "DRAFT")]
    pub(crate) draft: Option<Draft>,
    /// Only files with this in their names; the score is not compared then
    #[arg(long, value_name = "PART")]
    pub(crate) only: Option<String>,
    /// Print JSON, one object a draft: parts, files, what is wrong, times
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `oracles`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OraclesArgs {
    /// Replace the committed files by those that were just made, when they are answered as they say
    #[arg(long)]
    pub(crate) write: bool,
    /// Print JSON, one object an oracle: what it judges otherwise, what we answer otherwise
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `peers`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PeersArgs {
    /// Only these
    #[arg(value_name = "PEER")]
    pub(crate) peers: Vec<Peer>,
    /// Print JSON, one object a peer: its steps, and what was wrong with those that failed
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `sandbox`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SandboxArgs {
    /// Arguments of `exchange-service sandbox`
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// Options of `ci`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct CiArgs {
    /// Run the steps after a failed one, too
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// A dialect that the generator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Draft {
    /// What OpenAPI 3.1 stands on
    #[value(name = "2020-12")]
    Latest,
    /// The one before
    #[value(name = "2019-09")]
    Draft2019,
    /// What most schemas outside of OpenAPI are written in
    #[value(name = "7")]
    Draft7,
}

/// Somebody else's program that speaks to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Peer {
    /// A client for JavaScript.
    #[value(name = "openid-client")]
    OpenidClient,
    /// A client for Python.
    #[value(name = "requests_oauth2client")]
    RequestsOauth2client,
    /// An issuer for JavaScript, in place of ours.
    #[value(name = "oidc-provider")]
    OidcProvider,
    /// A client of every area, by hand from the text of the contract.
    #[value(name = "httpx")]
    Httpx,
    /// What judges the tokens and proofs of our client, in place of our gateway.
    #[value(name = "oauth4webapi")]
    Oauth4webapi,
    /// What asks a service everything that its contract has.
    #[value(name = "schemathesis")]
    Schemathesis,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_commands_are_consistent_and_each_teaches() {
        let cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            let help = command.clone().render_long_help().to_string();
            assert!(
                help.to_lowercase().contains("exit codes"),
                "{}: no exit codes\n{help}",
                command.get_name()
            );
            assert!(help.contains("cargo xtask "), "{}: no example\n{help}", command.get_name());
        }
    }

    /// What a command's help shows does what it says: none is taken for a question about itself.
    #[test]
    fn every_example_is_a_command_line() {
        let cli = Cli::command();
        let helps = cli.get_subcommands().chain([&cli]).map(|c| c.clone().render_long_help().to_string());
        let lines: Vec<String> =
            helps.flat_map(|help| help.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let examples = lines.iter().filter_map(|line| line.strip_prefix("  cargo xtask "));
        let mut count = 0;
        for example in examples {
            // What an example does is said behind it.
            let command = example.split("   ").next().unwrap_or_default();
            let words = command.split_whitespace();
            let parsed = Cli::try_parse_from(["cargo xtask"].into_iter().chain(words));
            assert!(parsed.is_ok(), "cargo xtask {command}: {}", parsed.unwrap_err());
            count += 1;
        }
        assert!(count > 15, "only {count} examples were found");
    }
}
