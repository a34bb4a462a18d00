//! What can be said on the command line, and the help that teaches it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  contract-codegen generate openapi.json --output api
      A package in `api/` that compiles as it lies there: models, validators, client, server.
  contract-codegen generate schemas/ --output src/generated --layout modules --no-server
      Source files for a package of your own; `root.rs` declares them.
  contract-codegen check schemas/codegen.toml --output src/generated
      In CI: fails with the first difference and the command that repairs it.
  contract-codegen explain StockLot.quality schemas/codegen.toml
      Where a member came from, and what enforces each of its rules.
  contract-codegen report openapi.json --markdown > report.md
      What is looser than the contract, what is assumed, what is proven.

An INPUT is an OpenAPI 3.1 document, a JSON Schema 2020-12 file, a folder of them, or a
codegen.toml, whose options then apply. JSON and YAML; nothing is fetched from the network.

Exit codes:
   0  done, or no difference
   1  `check` found differences
   2  the command line is wrong, or `explain` knows no such name
   3  the contract was refused; each problem names its file, line and JSON Pointer
   4  something could not be read or written
  70  a bug in the generator";

/// Typed Rust models, validators, a client and a server interface from any OpenAPI 3.1 or
/// JSON Schema 2020-12 contract.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write Rust code for a contract
    #[command(after_help = GENERATE)]
    Generate(GenerateArgs),
    /// Compare what would be generated with what is there; write nothing
    #[command(after_help = CHECK)]
    Check(GenerateArgs),
    /// Print the OpenAPI 3.0.3 document that progenitor gets
    #[command(after_help = LOWER)]
    Lower(LowerArgs),
    /// Say where a type, member, schema or operation came from and what enforces its rules
    #[command(after_help = EXPLAIN)]
    Explain(ExplainArgs),
    /// Report what is looser than the contract, assumed, lost by engines, proven
    #[command(after_help = REPORT)]
    Report(ReportArgs),
}

const GENERATE: &str = "\
The output folder belongs to the generator: files that it did not write are removed, except
names that start with a dot, and `target/` and `Cargo.lock` of a package. A folder that holds
files and was never its own is refused. Either everything is written or nothing.

Examples:
  contract-codegen generate openapi.yaml --output api --package train-travel
  contract-codegen generate schemas/codegen.toml --output src/generated
  contract-codegen generate a.schema.json b.schema.json --output models --no-client --no-server";

const CHECK: &str = "\
Give the same arguments as to `generate`. Exit code 1 means that something differs.

Example:
  contract-codegen check schemas/codegen.toml --output src/generated";

const LOWER: &str = "\
The document has no shapes: every schema is a named component that stands for a generated type.

Examples:
  contract-codegen lower openapi.json | jq .paths
  contract-codegen lower openapi.json --losses > lowered.json";

const EXPLAIN: &str = "\
A NAME is a Rust type, `Type.member` by its wire or Rust name, an operation's id, or the end of a
schema's location. Without an INPUT, codegen.toml or schemas/codegen.toml is read.

Examples:
  contract-codegen explain StockLot schemas/codegen.toml
  contract-codegen explain Problem.status openapi.json
  contract-codegen explain 'problem.schema.json#/$defs/code' schemas/
  contract-codegen explain listShips openapi.json";

const REPORT: &str = "\
Every type is proven to hold all that its schema accepts, or tested with generated instances.

Examples:
  contract-codegen report schemas/codegen.toml
  contract-codegen report openapi.json --json | jq '.summary.report.looser'";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Layout {
    /// A package with its Cargo.toml
    Crate,
    /// Source files alone
    Modules,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On terminals
    #[default]
    Auto,
    /// Always, unless NO_COLOR is set
    Always,
    /// Never
    Never,
}

/// How results are shown.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print diagnostics as JSON lines on standard output, then one summary object
    #[arg(long)]
    pub(crate) json: bool,
    /// Use colours; NO_COLOR in the environment turns them off
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: When,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder that the code is written to; it belongs to the generator
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Name of the generated package
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// A package, or source files for a package of your own
    #[arg(long, value_enum)]
    pub(crate) layout: Option<Layout>,
    /// Generate no client
    #[arg(long)]
    pub(crate) no_client: bool,
    /// Generate no server interface
    #[arg(long)]
    pub(crate) no_server: bool,
    /// Leave out, with a warning, operations that no client can call
    #[arg(long)]
    pub(crate) skip_unsupported: bool,
    /// Path of contract-runtime as the package's manifest names it; without it the runtime's
    /// sources are written into the package
    #[arg(long, value_name = "PATH")]
    pub(crate) runtime: Option<String>,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LowerArgs {
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also list, on standard error, what the document cannot say
    #[arg(long)]
    pub(crate) losses: bool,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A type, `Type.member`, an operation's id, or the end of a schema's location
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) shown: Output,
}

impl Command {
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::Generate(args) | Self::Check(args) => args.shown,
            Self::Lower(args) => args.shown,
            Self::Explain(args) => args.shown,
            Self::Report(args) => args.shown,
        }
    }
}
