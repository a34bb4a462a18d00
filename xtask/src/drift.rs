//! `cargo xtask drift`: what the contract here means for those who use another version of it.
//!
//! Finds the other version (a folder, a revision, a running service), compares and prints.
//! The comparison itself is `contract_codegen::drift`.

mod service;

use std::{
    fmt::Display,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::ArgAction;
use contract_codegen::drift::{
    Options, Version, compare,
    report::{self, Audience, View},
    revision::{self, Revised},
};

/// Where services of this repository serve their OpenAPI document.
const DOCUMENT: &str = "/exchange/v1/openapi.json";
/// Where this repository keeps its contract.
const CONTRACT: &str = "schemas";
/// The exit code when nothing could be compared.
const FAILED: u8 = 3;

const EXAMPLES: &str = "\
EXAMPLES
  What did I change since the main branch?
      cargo xtask drift
  Since a release, as a table for a pull request:
      cargo xtask drift --against v1.2.0 --markdown
  Does a running service still speak this contract?
      cargo xtask drift --against http://127.0.0.1:8080
      cargo run --package xtask --features https -- drift --against https://exchange.example
  Against a copy in another folder, also changes of wording:
      cargo xtask drift --against ../released/schemas --all
  What does a rule in the report mean?
      cargo xtask drift --explain enum-value-added

EXIT CODES
  0  the same     1  additive, or only renamed     2  breaking     3  could not compare

Readers take what the service sends, writers send what it takes. Within a major version,
nothing declared may go (CON-11); with --across-majors a break is exit code 1 when
`info.version` rises by a major version.";

/// Compare the contract with an older version of it
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The older version: a folder or file, a git revision, or the address of a running
    /// service. Default: `origin/main` where it exists, else `HEAD`
    #[arg(long, value_name = "OTHER")]
    against: Option<String>,
    /// The newer version: a folder (with its `codegen.toml`, if any) or a file
    #[arg(long, value_name = "PATH", default_value = CONTRACT)]
    contract: PathBuf,
    /// Where a service serves its OpenAPI document, below the address given by `--against`
    #[arg(long, value_name = "PATH", default_value = DOCUMENT)]
    document: String,
    /// Also ask services beyond this machine without TLS
    #[arg(long)]
    allow_http: bool,

    /// One JSON object; its members are described in `contract_codegen::drift::report::json`
    #[arg(long, group = "form")]
    json: bool,
    /// A table for a pull request
    #[arg(long, group = "form")]
    markdown: bool,
    /// GitHub workflow commands, which show up beside the lines they concern
    #[arg(long, group = "form")]
    annotations: bool,
    /// SARIF 2.1.0, for code scanning
    #[arg(long, group = "form")]
    sarif: bool,
    /// Also show what changes nothing for anybody, such as descriptions
    #[arg(long)]
    all: bool,
    /// Say what a rule means, or list all of them; compares nothing
    #[arg(long, value_name = "RULE", num_args = 0..=1)]
    explain: Option<Option<String>>,

    /// Judge only by what it means for those who read
    #[arg(long, group = "audience")]
    readers_only: bool,
    /// Judge only by what it means for those who write
    #[arg(long, group = "audience")]
    writers_only: bool,
    /// Both are versions of one major version: a break is a failure (the default)
    #[arg(long, action = ArgAction::SetTrue, overrides_with = "across_majors")]
    within_major: bool,
    /// The newer may be the next major version
    #[arg(long, action = ArgAction::SetTrue, overrides_with = "within_major")]
    across_majors: bool,
}

/// What the command takes from its surroundings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    /// The root of the repository; relative paths start here.
    pub(crate) root: &'a Path,
    /// Whether the output shows colours.
    pub(crate) color: bool,
}

/// Runs the command; the result is its exit code.
pub(crate) fn run(
    args: &Args,
    around: Surroundings<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> ExitCode {
    ExitCode::from(answer(args, around, out, err))
}

fn answer(args: &Args, around: Surroundings<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let result = match &args.explain {
        Some(rule) => report::explain(rule.as_deref()).map(|text| (text, 0)),
        None => report(args, around),
    };
    let written = match &result {
        Ok((text, _)) => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
        Err(problem) => writeln!(err, "error: {}", problem.trim_end()),
    };
    match (result, written) {
        (Ok((_, code)), Ok(())) => code,
        _ => FAILED,
    }
}

fn report(args: &Args, around: Surroundings<'_>) -> Result<(String, u8), String> {
    let path = around.root.join(&args.contract);
    let new = open(&path, &args.contract.display())?;
    let old = other(args, around.root, &path, &new)?;
    let within_major = !args.across_majors;
    let drift = compare(&old.version, &new, &Options { within_major, ..Options::default() });
    let view = View {
        all: args.all,
        audience: match (args.readers_only, args.writers_only) {
            (true, _) => Audience::Readers,
            (_, true) => Audience::Writers,
            _ => Audience::Everyone,
        },
        color: around.color,
        within_major,
        prefix: prefix(&args.contract, &path),
        old_prefix: old.prefix,
        revision: old.revision,
    };
    let text = match args {
        Args { json: true, .. } => report::json(&drift, &view),
        Args { markdown: true, .. } => report::markdown(&drift, &view),
        Args { annotations: true, .. } => report::annotations(&drift, &view),
        Args { sarif: true, .. } => report::sarif(&drift, &view),
        _ => report::human(&drift, &view),
    };
    Ok((text, report::exit_code(&drift, &view)))
}

/// The folder in front of the names of the contract's files.
fn prefix(given: &Path, path: &Path) -> String {
    let folder = if path.is_dir() { Some(given) } else { given.parent() };
    let words = folder.map(|folder| folder.display().to_string().replace('\\', "/")).unwrap_or_default();
    let words = words.trim_start_matches("./").trim_end_matches('/');
    if words.is_empty() || words == "." { String::new() } else { format!("{words}/") }
}

fn open(path: &Path, name: &dyn Display) -> Result<Version, String> {
    if !path.exists() {
        return Err(format!("there is no {name}\nhelp: name the contract with `--contract PATH`"));
    }
    Version::open(path)
        .map_err(|problems| format!("the contract in {name} cannot be read\n{}", problems.render(false)))
}

/// The older version, and how its files are named.
struct Other {
    version: Version,
    prefix: String,
    revision: Option<String>,
}

/// The older version, wherever it is.
fn other(args: &Args, root: &Path, path: &Path, new: &Version) -> Result<Other, String> {
    match args.against.as_deref() {
        Some(address) if address.starts_with("http://") || address.starts_with("https://") => {
            let copy = tempfile::tempdir()
                .map_err(|problem| format!("there is no room for a copy of the older version: {problem}"))?;
            let version = service::read(address, args, new, copy.path())?;
            Ok(Other { version, prefix: String::new(), revision: None })
        }
        Some(given) if root.join(given).exists() => {
            let version = open(&root.join(given), &given)?;
            Ok(Other { version, prefix: prefix(Path::new(given), &root.join(given)), revision: None })
        }
        given => {
            let found = revision::open(known(given, root)?, path).map_err(|problem| problem.to_string())?;
            let Revised { version, revision, folder } = found;
            Ok(Other { version, prefix: folder, revision: Some(revision) })
        }
    }
}

/// The revision that was given; without one, `origin/main` or `HEAD`.
fn known<'a>(given: Option<&'a str>, root: &Path) -> Result<&'a str, String> {
    let Some(given) = given else {
        let usual = ["origin/main", "HEAD"].into_iter().find(|usual| revision::exists(root, usual));
        return usual.ok_or_else(|| {
            "there is no `origin/main` and no `HEAD` to compare with\n\
             help: commit something, or name the older version with `--against OTHER`"
                .to_owned()
        });
    };
    let commit = given.split(':').next().unwrap_or(given);
    if revision::exists(root, given) || revision::exists(root, commit) {
        return Ok(given);
    }
    Err(format!(
        "`{given}` is no file, no folder and no revision of this repository\n\
         help: `git fetch --tags` brings tags and branches of others; addresses start with http:// or https://"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
