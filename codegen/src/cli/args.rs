//! What can be said on the command line, and the help that teaches it.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  contract-codegen generate openapi.json --output api
      A package in `api/` that compiles as it lies there: models, validators, client, server.
  contract-codegen generate schemas/ --output src/generated --layout modules --no-server
      Source files for a package of your own; `root.rs` declares them.
  contract-codegen generate openapi.json --output src/api.rs --only types
      One file for `mod api;`, with the types alone.
  contract-codegen generate github.json --output github --tag issues --path '/repos/*/*/labels'
      Chosen operations, and the types that they reach.
  contract-codegen init openapi.json
      A commented codegen.toml with what the document suggests.
  contract-codegen check schemas/codegen.toml --output src/generated
      In CI: fails with the first difference and the command that repairs it.
  contract-codegen explain StockLot.quality schemas/codegen.toml
      Where a member came from, and what enforces each of its rules.
  contract-codegen report openapi.json --markdown > report.md
      What is looser than the contract, what is assumed, what is proven.
  contract-codegen drift --against main openapi.json
      What a change means for those who use the version on main, or OLD NEW of two files.
  contract-codegen mock openapi.json
      A double of the service on http://127.0.0.1:4010, which judges every request.

An INPUT is an OpenAPI 3.0, 3.1 or 3.2 document, a JSON Schema 2020-12 file, a folder of them, or a
codegen.toml, whose options then apply. JSON and YAML; nothing is fetched from the network.

Exit codes:
   0  done, or no difference
   1  `check` found differences, or `drift` what breaks
   2  the command line is wrong, or `explain` knows no such name
   3  the contract was refused; each problem names its file, line and JSON Pointer
   4  something could not be read or written
  70  a bug in the generator, which `report` finds as a gap";

/// Typed Rust models, validators, a client and a server interface from any OpenAPI 3.0, 3.1
/// or 3.2 or JSON Schema 2020-12 contract.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented codegen.toml for a contract
    #[command(after_help = INIT)]
    Init(InitArgs),
    /// Write Rust code for a contract
    #[command(after_help = GENERATE)]
    Generate(GenerateArgs),
    /// Compare what would be generated with what is there; write nothing
    #[command(after_help = CHECK)]
    Check(GenerateArgs),
    /// Print the contract as OpenAPI 3.0.3, for tools that read no more
    #[command(after_help = LOWER)]
    Lower(LowerArgs),
    /// Say where a type, member, schema or operation came from and what enforces its rules
    #[command(after_help = EXPLAIN)]
    Explain(ExplainArgs),
    /// Report what is looser than the contract, assumed, proven, and what other generators make of it
    #[command(after_help = REPORT)]
    Report(ReportArgs),
    /// Compare two versions of a contract: what breaks readers, what breaks writers
    #[command(after_help = DRIFT)]
    Drift(DriftArgs),
    /// Serve a double of the service: answers from examples or made, requests judged by the contract
    #[command(after_help = MOCK)]
    Mock(MockArgs),
    /// Run another generator: a request on standard input, an answer on standard output
    #[command(hide = true)]
    Engine,
}

const INIT: &str = "\
The contract is read, and what its owner may want to decide is written down: name and place of
the package, members that look like secrets, unions that may grow, modules by tag, integers
without bounds. What would be refused otherwise is settled, and said. Everything else stands as
a comment with its default.

Examples:
  contract-codegen init openapi.yaml
  contract-codegen init schemas/ --output schemas/codegen.toml
  contract-codegen init api.yaml --mount https://example.com/schemas/=vendor
  contract-codegen init discord.json --force && contract-codegen generate codegen.toml";

const GENERATE: &str = "\
The output folder belongs to the generator: files that it did not write are removed, except
names that start with a dot, and `target/` and `Cargo.lock` of a package. A folder that holds
files and was never its own is refused. Either everything is written or nothing.
With `--layout file` the output is one file, and a file of somebody else is refused.

Selections choose operations and webhooks: those that fit any of them are generated, with the
schemas that they reach. `*` stands for any characters, in a path for those of one segment, where
`**` stands for any number of segments. A selection that fits nothing is an error. In a
codegen.toml: `[operations] include` and `exclude`; the command line overrules `include`.

Without an INPUT, codegen.toml or schemas/codegen.toml is read.

Examples:
  contract-codegen generate openapi.yaml --output api --package train-travel
  contract-codegen generate schemas/codegen.toml --output src/generated
  contract-codegen generate a.schema.json b.schema.json --output models --only types
  contract-codegen generate openapi.yaml --output src/api.rs --only client
  contract-codegen generate github.json --output github --tag issues --operation 'meta/*'";

const CHECK: &str = "\
Give the same arguments as to `generate`. Exit code 1 means that something differs.

Example:
  contract-codegen check schemas/codegen.toml --output src/generated";

const LOWER: &str = "\
Every type that a body mentions is a named component; parameters, headers, bodies and their media
types stand as on the wire. What OpenAPI 3.0 has no words for (webhooks, the method QUERY, some
keywords) is left out, so that every valid document stays valid, and is counted on standard error.

Examples:
  contract-codegen lower openapi.json | jq .paths
  contract-codegen lower openapi.json --losses > lowered.json
  contract-codegen lower openapi.json --draft-07 > definitions.json
  contract-codegen lower github.json --tag issues > issues.json";

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
  contract-codegen report openapi.json --engines
  contract-codegen report github.json --path '/repos/**' --markdown
  contract-codegen report openapi.json --json | jq '.summary.report.looser'";

const DRIFT: &str = "\
Each version is a file, a folder or a codegen.toml, whose inputs and mounts then count. Readers
take what the service sends, writers send what it takes. A verdict that is proven has a value
beside it that only one version accepts, where one was found.

Exit code 1 means that something breaks: within a major version, or across majors without a new
`info.version`. What only adds, or only has another name in generated code, ends with 0; `--json`
tells them apart.

Examples:
  contract-codegen drift released/openapi.json openapi.json
  contract-codegen drift --against main openapi.yaml
  contract-codegen drift --against v1.2.0 schemas/ --sarif > drift.sarif
  contract-codegen drift old.schema.json new.schema.json --all
  contract-codegen drift ../v1/codegen.toml codegen.toml --across-majors --markdown
  contract-codegen drift --explain enum-value-added";

const MOCK: &str = "\
Each operation is answered with its first success: with an example of the contract that its own
schema accepts, else with the examples of schemas, else with a valid value that is made, the same
for the same seed. Paths may begin as the `servers` of the contract say, or without that.

A request is judged first: path, method, credentials (that they are there), media type, parameters,
body. What the contract refuses is told as application/problem+json, every broken rule with its
place in the request and in the contract: 400, 401, 404, 405, 406 or 415, and 413 above 64 MiB. Of a
body without a valid value 501 is answered, which is said when the mock starts.

A request chooses its answer:
  Prefer: code=404        what the contract describes for this status
  Prefer: example=NAME    one of the `examples` of the media type
  Prefer: dynamic=true    no example, but a value that is made for this very request
  Accept: text/csv        one of the media types

Each request is one line on standard output, with `--json` an object; the first of these names the
address: {\"listening\":{\"address\":\"http://127.0.0.1:4010\",…}}. Ctrl-C ends it at once.
Without an INPUT, codegen.toml or schemas/codegen.toml is read.

Examples:
  contract-codegen mock openapi.yaml
  contract-codegen mock openapi.yaml --port 0 --json
      At a free port, which the first object names.
  contract-codegen mock schemas/codegen.toml --seed 7 --tag tickets
  curl -i http://127.0.0.1:4010/tickets/a-17 -H 'Prefer: code=404'

Exit codes: 0 after Ctrl-C, 2 without operations, 3 for a contract that is refused, 4 for an address
that cannot be listened on.";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Layout {
    /// A package with its Cargo.toml
    Crate,
    /// Source files alone
    Modules,
    /// One source file, for `mod api;` or `include!`
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Types and their validators
    Types,
    /// Types and the client
    Client,
    /// Types and the server interface
    Server,
}

/// Which operations there are; all when none is chosen.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Selections")]
pub(crate) struct Selected {
    /// Operations with this tag; may be given several times
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Operations whose path fits, such as '/repos/**'; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Vec<String>,
    /// Operations whose id fits; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) operation: Vec<String>,
    /// Webhooks whose name fits; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) webhook: Vec<String>,
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

/// How the contract is read.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Refuse a contract with faults, which are read as they are meant otherwise, or left out
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How results are shown.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Display")]
pub(crate) struct Output {
    /// Print diagnostics as JSON lines on standard output, then one summary object
    #[arg(long)]
    pub(crate) json: bool,
    /// Use colours; NO_COLOR in the environment turns them off
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: When,
    /// Show every problem and every file, where a few and a count would do
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// OpenAPI documents, schema files, folders of them
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// A folder that answers the URIs that begin with a prefix, or a file that answers one
    #[arg(long = "mount", value_name = "PREFIX=PATH", value_parser = mount)]
    pub(crate) mounts: Vec<(String, PathBuf)>,
    /// The file that is written
    #[arg(long, short, value_name = "FILE", default_value = "codegen.toml")]
    pub(crate) output: PathBuf,
    /// Overwrite the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) shown: Output,
}

/// `https://example.com/schemas/=vendor`
fn mount(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((prefix, path)) if !prefix.is_empty() && !path.is_empty() => {
            Ok((prefix.to_owned(), PathBuf::from(path)))
        }
        _ => Err("say which prefix and where: `https://example.com/schemas/=vendor`".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder that the code is written to, which belongs to the generator; a path that ends in
    /// `.rs` means one file. Without it, `path` below `[output]` of the codegen.toml
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Name of the generated package
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// A package, source files for a package of your own, or one file
    #[arg(long, value_enum)]
    pub(crate) layout: Option<Layout>,
    /// Generate this part and the types that it needs, whatever codegen.toml says
    #[arg(long, value_enum, value_name = "PART", conflicts_with_all = ["no_client", "no_server"])]
    pub(crate) only: Option<Part>,
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
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LowerArgs {
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print the schemas alone, as `definitions` of JSON Schema draft-07, such as typify reads
    #[arg(long = "draft-07", conflicts_with = "losses")]
    pub(crate) draft_07: bool,
    /// Also list, on standard error, what the document cannot say
    #[arg(long)]
    pub(crate) losses: bool,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) reading: Reading,
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
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also run progenitor and typify, and say what each keeps, drops or refuses of the contract
    #[arg(long)]
    pub(crate) engines: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct DriftArgs {
    /// The older version and the newer: files, folders or codegen.toml; with `--against` the newer
    /// alone, codegen.toml or schemas/codegen.toml when it is left out
    #[arg(value_names = ["OLD", "NEW"], num_args = 0..=2)]
    pub(crate) versions: Vec<PathBuf>,
    /// The older version is that of a git revision, such as main, v1.2.0 or HEAD~3; with
    /// `REVISION:PATH` it stood elsewhere in the repository
    #[arg(long, value_name = "REVISION")]
    pub(crate) against: Option<String>,
    /// Print a Markdown table, for a pull request
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print GitHub workflow commands, which show up beside the lines they concern
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) annotations: bool,
    /// Print SARIF 2.1.0, for code scanning
    #[arg(long, conflicts_with_all = ["json", "markdown", "annotations"])]
    pub(crate) sarif: bool,
    /// Also show what changes nothing for anybody, such as descriptions
    #[arg(long)]
    pub(crate) all: bool,
    /// Judge only by what it means for those who read
    #[arg(long)]
    pub(crate) readers_only: bool,
    /// Judge only by what it means for those who write
    #[arg(long, conflicts_with = "readers_only")]
    pub(crate) writers_only: bool,
    /// The newer may be the next major version
    #[arg(long)]
    pub(crate) across_majors: bool,
    /// Say what a rule means, or list all of them; compare nothing
    #[arg(long, value_name = "RULE", num_args = 0..=1, conflicts_with_all = ["versions", "against"])]
    pub(crate) explain: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) shown: Output,
}

#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The port that it listens at; 0 is one that is free
    #[arg(long, short, value_name = "PORT", default_value_t = 4010)]
    pub(crate) port: u16,
    /// The address that it listens at: that of this machine alone, or 0.0.0.0 for all networks
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// Decides what examples leave open
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) shown: Output,
}

impl Command {
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::Init(args) => args.shown,
            Self::Generate(args) | Self::Check(args) => args.shown,
            Self::Lower(args) => args.shown,
            Self::Explain(args) => args.shown,
            Self::Report(args) => args.shown,
            Self::Drift(args) => args.shown,
            Self::Mock(args) => args.shown,
            Self::Engine => Output { json: false, color: When::Never, verbose: false },
        }
    }
}
