//! The options of `cargo xtask drift`. `xtask` parses them as well, so that `--help` and usage errors do not
//! require a build of this package.

use std::path::PathBuf;

use clap::ArgAction;

/// The path of the OpenAPI document in a service of this repository.
const DEFAULT_DOCUMENT: &str = "/exchange/v1/openapi.json";
/// The folder of the contract in this repository.
const DEFAULT_CONTRACT: &str = "schemas";
const EXAMPLES: &str = "\
EXAMPLES
  Changes since the main branch:
      cargo xtask drift
  Changes since a release, as a table for a pull request:
      cargo xtask drift --against v1.2.0 --markdown
  Compare with the contract of a running service:
      cargo xtask drift --against http://127.0.0.1:8080
      cargo xtask drift --against https://exchange.example
  Compare with a copy in another folder, including documentation changes:
      cargo xtask drift --against ../released/schemas --all
  Explain a rule of the report:
      cargo xtask drift --explain enum-value-added

EXIT CODES
  0  same     1  additive or renamed     2  breaking     3  could not compare

Readers receive what the service sends, writers send what it receives. Within a major version,
declared elements must stay (CON-11); with --across-majors the exit code for a break is 1 if
`info.version` rises by a major version. The file drift.toml beside the contract lists accepted breaking
changes, as for `contract-codegen drift`. Its outdated entries cause exit code 2.";

/// Compare the contract with an older version of it
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DriftArgs {
    /// The older version: a folder or file, a git revision, or the URL of a running
    /// service. Default: `origin/main` if it exists, else `HEAD`
    #[arg(long, value_name = "OTHER")]
    pub(crate) against: Option<String>,
    /// The newer version: a folder (with its `codegen.toml`, if any) or a file
    #[arg(long, value_name = "PATH", default_value = DEFAULT_CONTRACT)]
    pub(crate) contract: PathBuf,
    /// The path of the OpenAPI document in a service, below the URL given by `--against`
    #[arg(long, value_name = "PATH", default_value = DEFAULT_DOCUMENT)]
    pub(crate) document: String,
    /// Allow plain HTTP to services on other machines
    #[arg(long)]
    pub(crate) allow_http: bool,

    /// Print one JSON object, as described in `contract_codegen::drift::report::render_json`
    #[arg(long, group = "form")]
    pub(crate) json: bool,
    /// Print a table for a pull request
    #[arg(long, group = "form")]
    pub(crate) markdown: bool,
    /// Print GitHub workflow commands, which annotate the changed lines
    #[arg(long, group = "form")]
    pub(crate) annotations: bool,
    /// Print SARIF 2.1.0, for code scanning
    #[arg(long, group = "form")]
    pub(crate) sarif: bool,
    /// Also show changes without effect, such as descriptions
    #[arg(long)]
    pub(crate) all: bool,
    /// Explain one rule or list all rules, without a comparison
    #[arg(long, value_name = "RULE", num_args = 0..=1)]
    pub(crate) explain: Option<Option<String>>,

    /// Consider only readers
    #[arg(long, group = "audience")]
    pub(crate) readers_only: bool,
    /// Consider only writers
    #[arg(long, group = "audience")]
    pub(crate) writers_only: bool,
    /// Both versions belong to one major version, so that a break is a failure (the default)
    #[arg(long, action = ArgAction::SetTrue, overrides_with = "across_majors")]
    pub(crate) within_major: bool,
    /// Allow the newer version to be the next major version
    #[arg(long, action = ArgAction::SetTrue, overrides_with = "within_major")]
    pub(crate) across_majors: bool,
}
