//! The command-line interface: commands, options, help and examples.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::drift_args::DriftArgs;

/// Development commands of this repository.
///
/// The contract is in schemas/, and the code generated from it is in generated/src/generated. Run `regen`
/// after you edit the contract or the generator, and run `ci` before you commit.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true,
    after_help = "Exit codes, of all commands except drift:
  0  everything is in order
  1  something has to be fixed; the output contains the problem and the command that fixes it
  2  wrong usage, or the command could not run

Examples:
  cargo xtask regen           update the generated code
  cargo xtask test            run all tests
  cargo xtask drift           compare the contract with its older version
  cargo xtask ci              run the checks of CI's first job"
)]
pub(crate) struct Cli {
    /// The command to run
    #[command(subcommand)]
    pub(crate) command: XtaskCommand,
}

/// A development command.
#[derive(Debug, Subcommand)]
pub(crate) enum XtaskCommand {
    /// Run the generator on the contract.
    ///
    /// Reads schemas/codegen.toml and the contract that it configures, and updates generated/src/generated.
    /// Prints one line per file that is created, updated or removed. The generator owns this folder: it
    /// removes all files that it did not generate. It changes nothing outside of the folder. If the contract
    /// has errors, no file is changed, and every error is printed with its location.
    #[command(after_help = "Exit codes:
  0  the generated code is up to date
  1  the contract has errors; with --check also: the generated code is out of date
  2  the folder cannot be read or written

Examples:
  cargo xtask regen
  cargo xtask regen --check
  cargo xtask regen --json")]
    Regen(RegenArgs),
    /// Compare the contract with another version of itself.
    Drift(DriftArgs),
    /// Compare the verdicts of `drift` with those of oasdiff.
    ///
    /// Reads the pairs of documents and the expected levels from the tests of oasdiff, and compares each pair
    /// with `drift`. A change is breaking for oasdiff if a rule of level ERR or WARN reports it. Prints the
    /// disagreements that xtask/drift/peer.toml does not explain, its outdated entries, and the numbers of
    /// agreements and of skipped tests. oasdiff is not part of the repository: pass a checkout as DIR.
    #[command(after_help = "Exit codes:
  0  xtask/drift/peer.toml gives the reason for each disagreement
  1  it does not, or it has an outdated entry
  2  DIR is not a checkout of oasdiff

Examples:
  git clone --depth 1 https://github.com/oasdiff/oasdiff target/oasdiff
  cargo xtask drift-peer target/oasdiff")]
    DriftPeer(DriftPeerArgs),
    /// Check the rules of this repository.
    ///
    /// Hand-written Rust files start with `//!`, have at most 800 lines and are not called `mod.rs`.
    /// Generated files have the generator's header. Every requirement in docs/requirements.md has a test that
    /// names its id, in each component that it applies to (contract, service, client). Every fault in
    /// exchange/client/e2e/faults.md lists tests, and these tests exist. The commands in Markdown files
    /// exist. No file contains an absolute path of a developer's machine or a mark of unfinished work, and no
    /// link is broken. docs/clients.md agrees with its example, the error registry and the OpenAPI document.
    /// Every dependency has a comment with its reason. Cargo.lock is committed. Every crate has the metadata
    /// that a registry requires.
    #[command(after_help = "Exit codes:
  0  no violations
  1  violations were found; each is printed with file, line, and fix
  2  the repository cannot be read

Examples:
  cargo xtask tidy
  cargo xtask tidy --json")]
    Tidy(TidyArgs),
    /// Run all tests.
    ///
    /// With cargo-nextest installed, runs `cargo nextest run` and then the documentation tests. Without it,
    /// runs `cargo test`, which includes both. Always selects the whole workspace with all features, so that
    /// nothing is built twice. ARGS are passed to the test runner, and the documentation tests are then
    /// skipped.
    #[command(after_help = "Exit codes:
  0  tests ran, and none failed
  1  a test failed, or none ran
  2  cargo cannot be started

Examples:
  cargo xtask test
  cargo xtask test -- round_trip")]
    Test(TestArgs),
    /// Run the tests for client faults.
    ///
    /// exchange/client/e2e/faults.md lists the faults, the expected behavior, and the tests that check it.
    /// `cargo xtask tidy` checks that these tests exist. Builds the same targets as `cargo xtask test`.
    /// Prints how long the tests took, with a warning if they took more than a minute.
    #[command(after_help = "Exit codes:
  0  tests ran, and none failed
  1  a test failed, or none ran
  2  the table cannot be read, or cargo cannot be started

Examples:
  cargo xtask faults")]
    Faults,
    /// Compare code generators on OpenAPI documents.
    ///
    /// Generates a package from each document with contract-codegen (release build, best of three), with
    /// typify and openapi-to-rust, and with each of progenitor, oas3-gen and openapi-generator that is
    /// installed. typify and openapi-to-rust are installed into target/compare/tools if necessary. Compiles
    /// the packages and prints a Markdown table. The output is in target/compare.
    #[command(after_help = "Exit codes:
  0  the code from contract-codegen compiles without errors and warnings
  1  it does not compile, or was not generated
  2  a document cannot be read, a program cannot be run, or a generator cannot be installed

Examples:
  cargo xtask compare openapi.json
  cargo xtask compare a.yaml b.json --tools ~/generators/bin --json")]
    Compare(CompareArgs),
    /// Run the programs in codegen/examples/vendors with the documents of the vendors.
    ///
    /// Generates a package from each document in DIR (code_hosting.json, language_model.json, payments.json),
    /// compiles the program with it, and runs it against the mock server of the same document. Prints each
    /// request and result. The documents are not part of the repository; the settings beside each program say
    /// where they are published. The output is in target/vendors.
    #[command(after_help = "Exit codes:
  0  every program ran to its end
  1  a package was not generated, or a program does not compile or failed
  2  DIR contains none of the documents

Examples:
  cargo xtask vendors ~/documents")]
    Vendors(VendorsArgs),
    /// Run the official JSON-Schema-Test-Suite with generated code.
    ///
    /// For each supported draft, generates types and validators for every schema of the suite into one
    /// package, compiles it with warnings denied, and runs every case: validators must accept or reject the
    /// value as the suite expects; types must reject invalid values, accept valid values and serialize them
    /// unchanged. Runs the latest draft a second time with the default options. Then checks that each type
    /// and its validator agree on the values of all other schemas. Compares the results with the score in
    /// tests/suite/score.toml. The suite is not part of the repository: pass a copy as DIR or in
    /// JSON_SCHEMA_TEST_SUITE, or use --fetch.
    #[command(after_help = "Exit codes:
  0  the score is as recorded, or better
  1  a case fails that is not recorded as failing, or the generated code cannot be compiled and run
  2  there is no copy of the suite

Examples:
  git clone --depth 1 https://github.com/json-schema-org/JSON-Schema-Test-Suite target/json-schema-test-suite
  cargo xtask suite target/json-schema-test-suite
  cargo xtask suite --fetch
  cargo xtask suite --draft 2020-12 --only unevaluated")]
    Suite(SuiteArgs),
    /// Cross-check DPoP proofs with other implementations.
    ///
    /// Installs `jose` with npm and `jwcrypto` with pip into target/oracles if necessary. Each library
    /// verifies the proofs in dpop/vectors/ours.json. The results must match the file, except for the cases
    /// listed in dpop/vectors/differences.json. Each library also creates valid and invalid proofs, for which
    /// the verifier of `dpop-bound` must return the expected results.
    #[command(after_help = "Exit codes:
  0  all results are as expected, including the known differences
  1  a new difference, a known one that no longer occurs, or an unexpected result for one of their proofs
  2  Node.js, npm, Python, pip or the network is missing; the output names it

Examples:
  cargo xtask oracles
  cargo xtask oracles --json
  cargo xtask oracles --write       also replace dpop/vectors/jose.json and jwcrypto.json")]
    Oracles(OraclesArgs),
    /// Run interoperability tests with other programs.
    ///
    /// Builds the service and our client and starts them together with each peer. Installs the peers with npm
    /// or pip into target/peers if necessary. `openid-client` and `requests_oauth2client` are clients: they
    /// sign in at our provider by device code, read, write and follow the feed through our gateway, refresh
    /// and revoke tokens, and handle error responses. `oidc-provider` is an issuer whose tokens our gateway
    /// accepts. `httpx` runs a client that was written by hand from the contract and uses every area of it.
    /// `example` runs the client of docs/clients.md, and loses two responses on the way.
    /// `oauth4webapi` verifies the tokens and proofs of our client in place of our gateway, with
    /// `oidc-provider` as the issuer. `schemathesis` generates valid and invalid requests from the served
    /// OpenAPI document and validates the responses. The scripts are in exchange/service/tests/peers.
    #[command(after_help = "Exit codes:
  0  every step of every peer succeeded
  1  a step failed, or the service or our client could not be built or started
  2  Node.js, npm, Python, pip or the network is missing; the output names it

Examples:
  cargo xtask peers
  cargo xtask peers openid-client
  cargo xtask peers --json")]
    Peers(PeersArgs),
    /// Package every crate of the workspace, without building it.
    ///
    /// Creates the packages as for publication, in target/packages, without network access. A warning of
    /// cargo is an error, and so is a package larger than 1 MiB. Metadata that cargo does not require is
    /// checked by `tidy`.
    #[command(after_help = "Exit codes:
  0  every crate can be packaged without a warning
  1  a crate cannot, or its package is too large
  2  cargo cannot be started

Examples:
  cargo xtask package")]
    Package,
    /// Check that a tag can be released.
    ///
    /// The tag is `v` and the version of the workspace, dependencies between the crates of the workspace
    /// require this version, `repository` and `homepage` of the workspace are set, and CHANGELOG.md has a
    /// section for the version. The release workflow runs this first.
    #[command(after_help = "Exit codes:
  0  the tag can be released
  1  a condition is not met; each is printed
  2  a file of the repository cannot be read

Examples:
  cargo xtask release-check v0.1.0")]
    ReleaseCheck(ReleaseCheckArgs),
    /// Write Homebrew formulas, a Nix flake and the notes of a release.
    ///
    /// Fills the templates in packaging/ with the version, the public address of the workspace and the
    /// checksums of the archives. CHECKSUMS is the file SHA256SUMS that packaging/archive.sh writes. The
    /// notes are the section of the version in CHANGELOG.md.
    #[command(after_help = "Exit codes:
  0  the files were written
  1  the version or the address does not match the workspace, or a checksum is missing
  2  a file cannot be written

Examples:
  cargo xtask release-files 0.1.0 dist/SHA256SUMS
  cargo xtask release-files 0.1.0 dist/SHA256SUMS --output dist")]
    ReleaseFiles(ReleaseFilesArgs),
    /// Build the site of the book in target/site, and check its links.
    ///
    /// Runs mdBook on docs/book, and `cargo doc` for the crates that `workspace.metadata.site` in Cargo.toml
    /// lists. Links to other files of the repository become links to the address in `workspace.package`, or to
    /// this checkout if there is no address. Then checks that the target and the fragment of every relative
    /// link exist.
    #[command(after_help = "Exit codes:
  0  the site was built, and no link is broken
  1  a link is broken, or mdBook or rustdoc reported a problem
  2  mdBook is missing or has another version; the output contains the command that installs it

Examples:
  cargo xtask site")]
    Site,
    /// Build the playground for the browser in target/playground, and test it.
    ///
    /// Compiles the generator to WebAssembly, and bundles the page in codegen/playground/web with npm. The
    /// result is a static folder for any web server; `site` copies it. With --test, runs the tests of the page
    /// in headless Chromium. For a toolchain without the target, PLAYGROUND_CARGO_ARGS contains arguments for
    /// cargo, such as `-Zbuild-std=std,panic_abort`. CHROMIUM is the path of the browser if it is not on PATH.
    #[command(after_help = "Exit codes:
  0  the playground was built, and its tests passed
  1  the build or a test failed
  2  Node.js, wasm-bindgen, the target wasm32-unknown-unknown, Chromium or the network is missing; the output names it

Examples:
  cargo xtask playground
  cargo xtask playground --test
  python3 -m http.server --directory target/playground       then open http://localhost:8000")]
    Playground(PlaygroundArgs),
    /// Test the members' pages of the exchange in Chromium.
    ///
    /// Requires Chromium, ChromeDriver of the same version, and npm, with which axe-core is installed. The
    /// environment variables CHROMIUM and CHROMEDRIVER contain their paths; without them, both are searched on
    /// PATH. The screenshots of all pages are in target/browser/screenshots.
    #[command(after_help = "Exit codes:
  0  all tests passed
  1  a test failed
  2  a program is missing, or axe-core could not be installed

Examples:
  cargo xtask browser
  cargo xtask browser held_batch
  UPDATE=1 cargo xtask browser pictures       replaces the pictures in exchange/service/pictures")]
    Browser(BrowserArgs),
    /// Compile the workspace with the oldest supported compiler.
    ///
    /// The version is `rust-version` in Cargo.toml. rustup installs the toolchain if necessary. The build
    /// output is in target/msrv.
    #[command(after_help = "Exit codes:
  0  the workspace compiles
  1  it does not compile
  2  the compiler cannot be installed: no rustup, or no network

Examples:
  cargo xtask msrv")]
    Msrv,
    /// Check licenses, advisories and sources of dependencies.
    ///
    /// Runs cargo-deny with deny.toml, which lists the exceptions and their reasons.
    #[command(after_help = "Exit codes:
  0  no violations of deny.toml
  1  violations, which cargo-deny prints
  2  cargo-deny is not installed, or cannot be run

Examples:
  cargo xtask deny")]
    Deny,
    /// Run a demo: generate the code, start the exchange, and use it from two client installations.
    ///
    /// Generates the exchange's crate, builds service and client, and runs them in one process. The demo
    /// signs in, reads a snapshot, receives changes from the other installation, recovers from a lost
    /// response, and signs out.
    #[command(after_help = "Exit codes:
  0  the demo ran to its end
  1  a step failed, or the contract has errors
  2  cargo cannot be started

Examples:
  cargo xtask demo")]
    Demo,
    /// Run the whole exchange on this machine with sample data, for trying clients.
    ///
    /// Builds the service and starts `exchange-service sandbox` with the given arguments.
    #[command(after_help = "Exit codes: those of `exchange-service sandbox`; 2 if cargo cannot be started

Examples:
  cargo xtask sandbox
  cargo xtask sandbox --port 8080 --json
  cargo xtask sandbox -- --help       show its options")]
    Sandbox(SandboxArgs),
    /// Run the checks of CI's first job.
    ///
    /// Checks formatting, generated files, repository rules, packages, clippy, examples, tests and
    /// documentation, roughly from the fastest to the slowest. Stops at the first step that fails and prints
    /// how to fix it.
    #[command(after_help = "Exit codes:
  0  every step succeeded
  1  a step failed
  2  a step could not run

Examples:
  cargo xtask ci
  cargo xtask ci --keep-going")]
    Ci(CiArgs),
}

/// Options of `regen`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct RegenArgs {
    /// Do not write; print the first difference, and fail if there is one
    #[arg(long)]
    pub(crate) check: bool,
    /// Print JSON lines: diagnostics, then `{path, change}` per file, then a summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `tidy`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TidyArgs {
    /// Print JSON lines: `{rule, file, line, what, repair}` per problem, then a summary
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `test`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TestArgs {
    /// Arguments for the test runner, such as a part of a test name
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) args: Vec<String>,
}

/// Options of `release-check`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReleaseCheckArgs {
    /// The tag, such as v0.1.0
    #[arg(value_name = "TAG")]
    pub(crate) tag: String,
}

/// Options of `release-files`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReleaseFilesArgs {
    /// The version, such as 0.1.0
    #[arg(value_name = "VERSION")]
    pub(crate) version: String,
    /// The file with the checksums of the archives
    #[arg(value_name = "CHECKSUMS")]
    pub(crate) checksums: PathBuf,
    /// The folder to write to, relative to the repository
    #[arg(long, value_name = "DIR", default_value = "target/release-files")]
    pub(crate) output: PathBuf,
}

/// Options of `compare`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CompareArgs {
    /// OpenAPI documents
    #[arg(required = true, value_name = "DOCUMENT")]
    pub(crate) documents: Vec<std::path::PathBuf>,
    /// A folder with `cargo-progenitor`, `oas3-gen` or `openapi-generator-cli`, searched before PATH
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<std::path::PathBuf>,
    /// Report which constructs of each document progenitor and typify keep, drop or reject, instead of the
    /// comparison
    #[arg(long, conflicts_with_all = ["tools", "json"])]
    pub(crate) constructs: bool,
    /// Print JSON lines, one per document and generator
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `vendors`.
#[derive(Clone, Debug, Args)]
pub(crate) struct VendorsArgs {
    /// The folder of the documents
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Options of `drift-peer`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DriftPeerArgs {
    /// The folder of a checkout of oasdiff
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Options of `suite`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SuiteArgs {
    /// The folder of a copy of the suite, with tests/ and remotes/
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Download the copy that the source distribution of PyPI's `jsonschema` contains, with `pip` and `tar`
    #[arg(long, conflicts_with = "folder")]
    pub(crate) fetch: bool,
    /// Run only this draft
    #[arg(long, value_name = "DRAFT")]
    pub(crate) draft: Option<SchemaDraft>,
    /// Run only files whose names contain PART; the score is not compared
    #[arg(long, value_name = "PART")]
    pub(crate) only: Option<String>,
    /// Print JSON, one object per draft: parts, files, failures, times
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `oracles`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OraclesArgs {
    /// Replace the committed files with the new ones if our verifier returns the expected results for them
    #[arg(long)]
    pub(crate) write: bool,
    /// Print JSON, one object per library, with its unexpected results and those of our verifier
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `peers`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PeersArgs {
    /// Run only these peers
    #[arg(value_name = "PEER")]
    pub(crate) peers: Vec<PeerProgram>,
    /// Print JSON, one object per peer, with its steps and the errors of failed steps
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `playground`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct PlaygroundArgs {
    /// Also check the types of the scripts, and run the tests in Chromium
    #[arg(long)]
    pub(crate) test: bool,
}

/// Options of `browser`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BrowserArgs {
    /// Arguments for the test runner, such as a part of a test's name
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// Options of `sandbox`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SandboxArgs {
    /// Arguments for `exchange-service sandbox`
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// Options of `ci`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct CiArgs {
    /// Continue after a failed step
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// A JSON Schema dialect that the generator supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum SchemaDraft {
    /// The dialect of OpenAPI 3.1
    #[value(name = "2020-12")]
    Latest,
    /// The previous draft
    #[value(name = "2019-09")]
    Draft2019,
    /// The draft that most schemas outside of OpenAPI use
    #[value(name = "7")]
    Draft7,
}

/// A program of another project that is tested together with our service or client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PeerProgram {
    /// A JavaScript client.
    #[value(name = "openid-client")]
    OpenidClient,
    /// A Python client.
    #[value(name = "requests_oauth2client")]
    RequestsOauth2client,
    /// A JavaScript issuer that replaces our provider.
    #[value(name = "oidc-provider")]
    OidcProvider,
    /// A hand-written Python client that uses every area of the contract.
    #[value(name = "httpx")]
    Httpx,
    /// The example of docs/clients.md, in Python.
    #[value(name = "example")]
    Example,
    /// A JavaScript library that verifies tokens and proofs of our client in place of our gateway.
    #[value(name = "oauth4webapi")]
    Oauth4webapi,
    /// A Python tool that generates requests from the contract.
    #[value(name = "schemathesis")]
    Schemathesis,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn each_command_shows_exit_codes_and_examples() {
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

    #[test]
    fn examples_in_the_help_parse() {
        let cli = Cli::command();
        let helps = cli.get_subcommands().chain([&cli]).map(|c| c.clone().render_long_help().to_string());
        let lines: Vec<String> =
            helps.flat_map(|help| help.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        let examples = lines.iter().filter_map(|line| line.strip_prefix("  cargo xtask "));
        let mut count = 0;
        for example in examples {
            // A comment may follow the command.
            let command = example.split("   ").next().unwrap_or_default();
            let arguments = command.split_whitespace();
            let parsed = Cli::try_parse_from(["cargo xtask"].into_iter().chain(arguments));
            assert!(parsed.is_ok(), "cargo xtask {command}: {}", parsed.unwrap_err());
            count += 1;
        }
        assert!(count > 15, "found only {count} examples");
    }
}
