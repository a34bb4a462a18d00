//! Command-line arguments and the help texts of all subcommands.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

const MAIN_HELP: &str = "\
Examples:
  contract-codegen generate openapi.json --output api
      Write a complete package to `api/`: models, validators, client and server interface.
  contract-codegen generate schemas/ --output src/generated --layout modules --no-server
      Write source files into a package of your own; `root.rs` declares the modules.
  contract-codegen generate openapi.json --output src/api.rs --only types
      Write one file for `mod api;` that contains only types and validators.
  contract-codegen generate github.json --output github --tag issues --path '/repos/*/*/labels'
      Generate the selected operations and the types that they use.
  contract-codegen init openapi.json
      Write a commented codegen.toml with settings suggested by the document.
  contract-codegen check schemas/codegen.toml --output src/generated
      In CI: fail if the generated code is out of date, and print the command that updates it.
  contract-codegen explain StockLot.quality schemas/codegen.toml
      Show where a field is defined and what enforces each of its rules.
  contract-codegen report openapi.json --markdown > report.md
      List types that accept more than their schema, assumptions and proofs.
  contract-codegen drift --against main openapi.json
      Compare with the version on the branch main and report breaking changes.
  contract-codegen mock openapi.json
      Run a mock server on http://127.0.0.1:4010 that validates every request.
  contract-codegen mcp openapi.json
      Serve the operations that read data as tools for an AI agent.

INPUT is an OpenAPI 3.0, 3.1 or 3.2 document, a JSON Schema 2020-12 file, a folder of these, or a
codegen.toml, which adds its settings. JSON and YAML are supported. `-` reads one document from standard
input. Only with `--fetch`, INPUT can be a URL, and references to URLs are downloaded.

Exit codes:
   0  success; `check`: the code is up to date; `drift`: nothing breaks
   1  `check` found differences, or `drift` found breaking changes or outdated accepted changes
   2  invalid command line, or `explain` found no such name
   3  invalid contract; each problem has its file, line and JSON Pointer
   4  a file could not be read or written
  70  internal error, or `report` found a type that cannot hold a valid value";

/// Generate typed Rust models, validators, clients and servers from OpenAPI 3.0, 3.1, 3.2 and JSON Schema
/// 2020-12 documents.
#[derive(Debug, Parser)]
#[command(version, after_help = MAIN_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented codegen.toml for a contract
    #[command(after_help = INIT_HELP)]
    Init(InitArgs),
    /// Generate Rust code from a contract
    #[command(after_help = GENERATE_HELP)]
    Generate(GenerateCommandArgs),
    /// Check that generated code is up to date, without writing anything
    #[command(after_help = CHECK_HELP)]
    Check(GenerateArgs),
    /// Convert the contract to OpenAPI 3.0.3 for tools that support nothing newer
    #[command(after_help = LOWER_HELP)]
    Lower(LowerArgs),
    /// Show where a type, field, schema or operation is defined and which code enforces its rules
    #[command(after_help = EXPLAIN_HELP)]
    Explain(ExplainArgs),
    /// Report loose types, assumptions, proofs and, on request, the results of other generators
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Compare two versions of a contract and report breaking changes
    #[command(after_help = DRIFT_HELP)]
    Drift(DriftArgs),
    /// Run a mock server, or a proxy that validates the requests and responses of a live service
    #[command(after_help = MOCK_HELP)]
    Mock(MockArgs),
    /// Test a live service with requests that are generated from the contract
    #[command(after_help = TEST_HELP)]
    Test(TestArgs),
    /// Serve the operations of a contract as tools for AI agents (Model Context Protocol)
    #[command(after_help = MCP_HELP)]
    Mcp(McpArgs),
    /// Print the JSON Schema of codegen.toml, with which editors complete and check it
    #[command(after_help = CONFIG_SCHEMA_HELP)]
    ConfigSchema,
    /// Print the script with which a shell completes commands, options, tags and operations
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Write the manual pages of all commands
    #[command(after_help = MAN_HELP)]
    Man(ManArgs),
}

const INIT_HELP: &str = "\
Reads the contract and writes a codegen.toml with suggestions: package name and output path, fields
that look like secrets, discriminated unions, paginated operations, one module per tag, integers
without bounds. Suggestions and default values are commented out. Settings without which `generate`
would reject the contract are active.

Examples:
  contract-codegen init openapi.yaml
  contract-codegen init schemas/ --output schemas/codegen.toml
  contract-codegen init api.yaml --mount https://example.com/schemas/=vendor
  contract-codegen init discord.json --force && contract-codegen generate codegen.toml";

const GENERATE_HELP: &str = "\
The generator owns the output folder. It removes files that it did not write, except names that
start with a dot, and `target/` and `Cargo.lock` of a package. It refuses a folder that contains
files and was not generated before. Either all files are written or none.
With `--layout file` the output is one file; an existing file that was not generated is refused.

Selections choose operations and webhooks. Those that match any selection are generated, together
with the schemas that they use. `*` matches any characters; in a path it matches within one segment,
and `**` matches any number of segments. A selection that matches nothing is an error. In a
codegen.toml, use `[operations] include` and `exclude`; the command line overrides `include`.

Without INPUT, the command reads codegen.toml or schemas/codegen.toml.

Examples:
  contract-codegen generate openapi.yaml --output api --package train-travel
  contract-codegen generate schemas/codegen.toml --output src/generated
  contract-codegen generate a.schema.json b.schema.json --output models --only types
  contract-codegen generate openapi.yaml --output src/api.rs --only client
  contract-codegen generate github.json --output github --tag issues --operation 'meta/*'
  contract-codegen generate openapi.yaml --output api --watch
  contract-codegen generate https://example.com/openapi.json --fetch --output api
  curl https://example.com/openapi.json | contract-codegen generate - --output api";

const CHECK_HELP: &str = "\
Pass the same arguments as to `generate`. Exit code 1 means that at least one file differs.

Example:
  contract-codegen check schemas/codegen.toml --output src/generated";

const LOWER_HELP: &str = "\
Every type that a body refers to becomes a named component. Parameters, headers, bodies and their
media types keep their names. Features that OpenAPI 3.0 lacks (webhooks, the method QUERY, some
keywords) are omitted, so that every valid request and response stays valid. The number of omissions
is printed to standard error.

Examples:
  contract-codegen lower openapi.json | jq .paths
  contract-codegen lower openapi.json --losses > lowered.json
  contract-codegen lower openapi.json --draft-07 > definitions.json
  contract-codegen lower github.json --tag issues > issues.json";

const EXPLAIN_HELP: &str = "\
NAME is a Rust type, `Type.field` with the JSON or Rust name of the field, an operation id, or the
end of a schema's location. Without INPUT, the command reads codegen.toml or schemas/codegen.toml.

Examples:
  contract-codegen explain StockLot schemas/codegen.toml
  contract-codegen explain Problem.status openapi.json
  contract-codegen explain 'problem.schema.json#/$defs/code' schemas/
  contract-codegen explain listShips openapi.json";

const REPORT_HELP: &str = "\
For every type, the report proves that it can hold each value that its schema accepts, or tests this
with generated values.

Examples:
  contract-codegen report schemas/codegen.toml
  contract-codegen report github.json --path '/repos/**' --markdown
  contract-codegen report openapi.json --json | jq '.summary.report.looser'";

const DRIFT_HELP: &str = "\
Each version is a file, a folder or a codegen.toml, of which inputs and mounts are used. Readers
receive the values that the service sends; writers send the values that it accepts. Where possible,
a proven finding shows an example value that only one of the versions accepts.

Exit code 1 means a breaking change: within a major version, or across major versions without a new
`info.version`. Additions, and changes that only rename generated code, exit with 0; use `--json` to
distinguish them.

The removal of an operation, parameter, property or named schema is not breaking if the old version
declares `deprecated: true` and an `x-sunset` date that has passed, or the `x-stability` or
`x-stability-level` alpha, experimental or draft.

The file drift.toml lists breaking changes that are accepted, so that they do not cause exit code 1.
An entry that has expired or that covers no change causes exit code 1:

  [[accepted]]
  rule = \"enum-value-removed\"       # as the report prints it
  place = \"GET /ships 200 body /name\"
  difference = \"…\"                 # optional: `difference` of --json, for one change at the place
  reason = \"No client sends it.\"
  by = \"Ann\"                       # optional
  expires = 2027-01-31             # optional

Examples:
  contract-codegen drift released/openapi.json openapi.json
  contract-codegen drift --against main openapi.yaml
  contract-codegen drift https://api.example.com/openapi.json openapi.json --fetch
  contract-codegen drift --against v1.2.0 schemas/ --sarif > drift.sarif
  contract-codegen drift --against main openapi.yaml --html drift.html
  contract-codegen drift old.schema.json new.schema.json --all
  contract-codegen drift ../v1/codegen.toml codegen.toml --across-majors --markdown
  contract-codegen drift --against main openapi.yaml --accept --reason 'No client uses it.'
  contract-codegen drift --explain enum-value-added";

const MOCK_HELP: &str = "\
The mock answers each operation with its first success response: an example of the response if its
schema accepts the example, else a value composed of schema examples, else a generated valid value,
which depends only on the seed. Request paths work with and without the base path of `servers`.

The mock validates each request: path, method, presence of credentials, media type, parameters, body.
An invalid request is answered with application/problem+json, which lists every violated rule with its
location in the request and in the contract. The status is 400, 401, 404, 405, 406 or 415, or 413 for
bodies above 64 MiB. Operations whose response schema has no valid value answer 501; they are
listed at startup.

A request can select its response:
  Prefer: code=404        the response that the contract describes for this status
  Prefer: example=NAME    one of the `examples` of the media type
  Prefer: dynamic=true    a value generated for this request instead of an example
  Accept: text/csv        one of the media types

With `--proxy URL`, the command validates a live service instead: it forwards each request to the URL,
returns the response unchanged, and prints a line for each violation of the contract by the request or
the response. Requests for undeclared paths and methods are forwarded and reported as well. The lines
contain neither queries nor values of headers and bodies. Ctrl-C prints a summary: the called
operations, the operations that were never called, and the violations of each operation.

Each request prints one line to standard output, or one JSON object with `--json`. The first object
contains the address: {\"listening\":{\"address\":\"http://127.0.0.1:4010\",…}}. Press Ctrl-C to stop.
Without INPUT, the command reads codegen.toml or schemas/codegen.toml.

Examples:
  contract-codegen mock openapi.yaml
  contract-codegen mock openapi.yaml --port 0 --json
      Listen on a free port; the first object contains it.
  contract-codegen mock schemas/codegen.toml --seed 7 --tag tickets
  curl -i http://127.0.0.1:4010/tickets/a-17 -H 'Prefer: code=404'
  contract-codegen mock openapi.yaml --proxy http://localhost:8080/v1
      Forward /tickets/a-17 to http://localhost:8080/v1/tickets/a-17.

Exit codes: 0 after Ctrl-C, 2 if the contract has no operations or the URL is invalid, 3 if the contract is invalid, 4 if
the address is not available.";

const TEST_HELP: &str = "\
Sends three kinds of requests for each operation: valid requests with realistic values, valid requests
with boundary values, and requests that violate exactly one rule of the contract. Without `--write`,
only GET, HEAD, OPTIONS and QUERY are tested, because the other methods change data. Values of path
parameters come from earlier responses, for example {id} of /tickets/{id} from the property `id` of the
items of GET /tickets.

These are findings: no response, a status of 500 or more, a success status for an invalid request, the
status 400, 415 or 422 for a valid one, an undeclared status, and a response whose media type, headers
or body violate the contract. Each finding is printed once for each operation, with the first request as
a curl command. Operations whose
credentials are missing are skipped; add them with `--header`. A value such as `$TOKEN` is read from the
environment, and curl commands contain only `$TOKEN`.

Equal seeds generate equal requests if the service returns equal responses.
Without INPUT, the command reads codegen.toml or schemas/codegen.toml.

Examples:
  contract-codegen test http://localhost:8080/v1 openapi.yaml
  contract-codegen test https://staging.example/v1 openapi.yaml --header 'Authorization: $TOKEN'
  contract-codegen test http://localhost:8080 openapi.yaml --write --seed 7 --junit findings.xml

Exit codes: 0 without findings, 1 with findings, 2 if the contract has no operations to test or the URL
is invalid, 3 if the contract is invalid, 4 if the JUnit file cannot be written.";

const MCP_HELP: &str = "\
Serves the Model Context Protocol over standard input and output; an agent starts the command. Each
operation is a tool with the name of its generated method. Parameters are arguments with their own
names, and the request body is the argument `body`. Arguments are validated before anything is sent.
Requests are encoded as generated clients encode them.

Without `--allow-writes`, the tools are the operations with the methods GET, HEAD, OPTIONS and QUERY,
and those that `[operations] safe` in codegen.toml names.

Credentials are environment variables, named after `securitySchemes`; `--list` prints them:
  apiKey                        <SCHEME>_API_KEY
  bearer, oauth2, openIdConnect <SCHEME>_TOKEN
  oauth2 with a token URL       <SCHEME>_CLIENT_ID and <SCHEME>_CLIENT_SECRET, instead of the token
  basic                         <SCHEME>_USERNAME and <SCHEME>_PASSWORD
Requests are only sent over https, or to this machine. Redirects are not followed.

Without INPUT, the command reads codegen.toml or schemas/codegen.toml.

Examples:
  contract-codegen mcp openapi.json --list
      Print the tools and the environment variables of their credentials.
  contract-codegen mcp openapi.json --tag tickets --allow-writes
  contract-codegen mcp openapi.json --server https://staging.example/v1

In the configuration of an agent:
  { \"mcpServers\": { \"tickets\": {
      \"command\": \"contract-codegen\", \"args\": [\"mcp\", \"/path/to/openapi.json\"],
      \"env\": { \"TICKETS_TOKEN\": \"…\" } } } }

Exit codes: 0 at the end of the input, 2 if the contract has no operations or the URL is invalid, 3 if
the contract is invalid, 4 if the client violates the protocol or standard output is closed.";

const CONFIG_SCHEMA_HELP: &str = "\
Editors with support for TOML schemas, such as those that use Taplo, read the schema from the first line
of the file:

  #:schema ./codegen.schema.json

`init` writes this line with the address of the published schema.

Examples:
  contract-codegen config-schema > codegen.schema.json";

const COMPLETIONS_HELP: &str = "\
The values of `--tag` and `--operation` come from the contract that the command line names, or else
from codegen.toml or schemas/codegen.toml.

Examples:
  source <(contract-codegen completions bash)
      In ~/.bashrc.
  contract-codegen completions zsh > ~/.zfunc/_contract-codegen
  contract-codegen completions fish > ~/.config/fish/completions/contract-codegen.fish";

const MAN_HELP: &str = "\
Writes contract-codegen.1 and a page for each command. The folder is created if it does not exist.

Example:
  contract-codegen man ~/.local/share/man/man1";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LayoutArg {
    /// A complete package with Cargo.toml
    Crate,
    /// Source files for your own package
    Modules,
    /// One source file, for `mod api;` or `include!`
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PartArg {
    /// Types and their validators
    Types,
    /// Types and the client
    Client,
    /// Types and the server interface
    Server,
}

/// Selections of operations and webhooks. Without a selection, all of them are generated.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Selections")]
pub(crate) struct SelectionArgs {
    /// Select operations with this tag; repeatable
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Select operations whose path matches, such as '/repos/**'; repeatable
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: Vec<String>,
    /// Select operations whose id matches; repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) operation: Vec<String>,
    /// Select webhooks whose name matches; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) webhook: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// If standard error is a terminal
    #[default]
    Auto,
    /// Always, unless NO_COLOR is set
    Always,
    /// Never
    Never,
}

/// Options for reading the contract.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArgs {
    /// Reject a contract with faults that are otherwise repaired or skipped with a warning
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

/// Options for downloads.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct FetchArgs {
    /// Download inputs and references that are URLs
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Reject a downloaded document whose digest differs from the lock file
    #[arg(long, requires = "fetch")]
    pub(crate) locked: bool,
}

/// Options for the output of results and diagnostics.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Display")]
pub(crate) struct DisplayArgs {
    /// Print diagnostics as JSON lines to standard output, then one summary object
    #[arg(long)]
    pub(crate) json: bool,
    /// When to use colors; a non-empty NO_COLOR environment variable disables them
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorWhen,
    /// Show every problem and every file instead of an excerpt and a count
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print errors and violations only: no warnings, notes, status lines and valid requests
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// OpenAPI documents, schema files, or folders of them
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Resolve URIs that start with PREFIX from a local folder, or one URI from a local file; repeatable
    #[arg(long = "mount", value_name = "PREFIX=PATH", value_parser = parse_mount)]
    pub(crate) mounts: Vec<(String, PathBuf)>,
    /// Include only the operations with this tag, in the file and in the suggestions; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) tag: Vec<String>,
    /// File to write
    #[arg(long, short, value_name = "FILE", default_value = "codegen.toml")]
    pub(crate) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

/// Parses `PREFIX=PATH`, such as `https://example.com/schemas/=vendor`. The last `=` is the separator.
fn parse_mount(text: &str) -> Result<(String, PathBuf), String> {
    match text.rsplit_once('=') {
        Some((prefix, path)) if !prefix.is_empty() && !path.is_empty() => {
            Ok((prefix.to_owned(), PathBuf::from(path)))
        }
        _ => Err("expected PREFIX=PATH, such as `https://example.com/schemas/=vendor`".to_owned()),
    }
}

/// Options of `generate`, which `check` lacks.
#[derive(Debug, Args)]
pub(crate) struct GenerateCommandArgs {
    #[command(flatten)]
    pub(crate) generate: GenerateArgs,
    /// List the files that would change, without writing anything
    #[arg(long, conflicts_with = "watch")]
    pub(crate) dry_run: bool,
    /// Generate again whenever an input changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Options that `generate` and `check` share.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Folder to write to, which the generator then owns, or one file if the path ends in `.rs`. Default:
    /// `path` in the `[output]` table of codegen.toml
    #[arg(long, short, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Name of the generated package
    #[arg(long, value_name = "NAME")]
    pub(crate) package: Option<String>,
    /// Write a package, source files for your own package, or one file
    #[arg(long, value_enum)]
    pub(crate) layout: Option<LayoutArg>,
    /// Generate only this part and the types that it needs; overrides codegen.toml
    #[arg(long, value_enum, value_name = "PART", conflicts_with_all = ["no_client", "no_server"])]
    pub(crate) only: Option<PartArg>,
    /// Do not generate a client
    #[arg(long)]
    pub(crate) no_client: bool,
    /// Do not generate a server interface
    #[arg(long)]
    pub(crate) no_server: bool,
    /// Skip operations that the client cannot call, with a warning
    #[arg(long)]
    pub(crate) skip_unsupported: bool,
    /// Path of contract-runtime for the generated Cargo.toml; by default the sources of the runtime are
    /// written into the package
    #[arg(long, value_name = "PATH")]
    pub(crate) runtime: Option<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LowerArgs {
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print only the schemas, as `definitions` of JSON Schema draft-07, for example for typify
    #[arg(long = "draft-07", conflicts_with = "losses")]
    pub(crate) draft_07: bool,
    /// List each part of the contract that OpenAPI 3.0 cannot express, on standard error
    #[arg(long)]
    pub(crate) losses: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A type, `Type.field`, an operation id, or the end of a schema's location
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// OpenAPI documents, schema files, folders of them, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
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
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DriftArgs {
    /// The older and the newer version: files, folders or codegen.toml. With `--against`, only the newer one;
    /// default: codegen.toml or schemas/codegen.toml
    #[arg(value_names = ["OLD", "NEW"], num_args = 0..=2)]
    pub(crate) versions: Vec<PathBuf>,
    /// Read the older version from a git revision, such as main, v1.2.0 or HEAD~3; use `REVISION:PATH` if its
    /// path was different
    #[arg(long, value_name = "REVISION")]
    pub(crate) against: Option<String>,
    /// Print a Markdown table, for a pull request
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print GitHub workflow commands, which annotate the changed lines
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) annotations: bool,
    /// Print SARIF 2.1.0, for code scanning
    #[arg(long, conflicts_with_all = ["json", "markdown", "annotations"])]
    pub(crate) sarif: bool,
    /// Also write a self-contained HTML page for reviewers, with excerpts of both versions and filters
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also show changes that affect neither readers nor writers, such as changed descriptions
    #[arg(long)]
    pub(crate) all: bool,
    /// Judge changes only by their effect on readers
    #[arg(long)]
    pub(crate) readers_only: bool,
    /// Judge changes only by their effect on writers
    #[arg(long, conflicts_with = "readers_only")]
    pub(crate) writers_only: bool,
    /// Allow the newer version to be the next major version
    #[arg(long)]
    pub(crate) across_majors: bool,
    /// File with accepted breaking changes; default: drift.toml beside the newer version or in the current
    /// folder, if it exists
    #[arg(long, value_name = "FILE")]
    pub(crate) accepted: Option<PathBuf>,
    /// Add an entry for each breaking change to the file with accepted changes
    #[arg(long, requires = "reason")]
    pub(crate) accept: bool,
    /// The reason in entries of `--accept`
    #[arg(long, value_name = "TEXT", requires = "accept")]
    pub(crate) reason: Option<String>,
    /// The person or team in entries of `--accept`
    #[arg(long, value_name = "NAME", requires = "accept")]
    pub(crate) by: Option<String>,
    /// The last day on which entries of `--accept` are valid
    #[arg(long, value_name = "YYYY-MM-DD", requires = "accept")]
    pub(crate) expires: Option<String>,
    /// Date for `x-sunset` and for `expires` of accepted changes; default: the current date in UTC
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) today: Option<String>,
    /// Print the meaning of a rule, or list all rules, without comparing anything
    #[arg(long, value_name = "RULE", num_args = 0..=1, conflicts_with_all = ["versions", "against"])]
    pub(crate) explain: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MockArgs {
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Port to listen on; 0 selects a free port
    #[arg(long, short, value_name = "PORT", default_value_t = 4010)]
    pub(crate) port: u16,
    /// Address to listen on: by default only this machine; 0.0.0.0 for all networks
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// Seed for generated values
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Forward all requests to this service, and report requests and responses that violate the contract
    #[arg(long, value_name = "URL", conflicts_with = "seed")]
    pub(crate) proxy: Option<String>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// URL of the service, to which the paths of the contract are appended
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also test operations that may change data, such as POST and DELETE
    #[arg(long)]
    pub(crate) write: bool,
    /// Add a header to each request; a value such as $TOKEN is read from the environment; repeatable
    #[arg(long, value_name = "NAME: VALUE", value_parser = parse_header)]
    pub(crate) header: Vec<(String, String)>,
    /// Maximum number of requests of each kind for one operation
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) requests: usize,
    /// Seed for generated requests
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Also write the results to a JUnit file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// OpenAPI documents, folders, or a codegen.toml
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Also serve operations that may change data, such as POST and DELETE
    #[arg(long)]
    pub(crate) allow_writes: bool,
    /// Send all requests to this URL, to which the paths of the contract are appended. Default: the server of the
    /// operation, or the first absolute server of the document
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Maximum size of a response in bytes; the result of a larger one is an error
    #[arg(long, value_name = "N", default_value_t = 256 << 10)]
    pub(crate) max_response_bytes: usize,
    /// Print the tools and the environment variables of their credentials, without serving them
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) display: DisplayArgs,
}

/// Parses `NAME: VALUE`, such as `Authorization: $TOKEN`.
fn parse_header(text: &str) -> Result<(String, String), String> {
    // The message must not contain the value.
    let (name, value) =
        text.split_once(':').ok_or("expected NAME: VALUE, such as `Authorization: $TOKEN`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: ShellArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write to
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

impl Command {
    pub(crate) fn display_args(&self) -> DisplayArgs {
        match self {
            Self::Init(args) => args.display,
            Self::Generate(args) => args.generate.display,
            Self::Check(args) => args.display,
            Self::Lower(args) => args.display,
            Self::Explain(args) => args.display,
            Self::Report(args) => args.display,
            Self::Drift(args) => args.display,
            Self::Mock(args) => args.display,
            Self::Test(args) => args.display,
            Self::Mcp(args) => args.display,
            Self::ConfigSchema | Self::Completions(_) | Self::Man(_) => DisplayArgs::default(),
        }
    }
}
