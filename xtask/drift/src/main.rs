//! `cargo xtask drift`: compares the contract with an older version of it.
//!
//! Finds the older version (a folder, a git revision, or a running service), compares, and prints the report.
//! `contract_codegen::drift` implements the comparison. This is a separate package, so that
//! `cargo xtask regen` does not have to build it.

mod args;
mod service;

use std::{
    fmt::Display,
    fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anstream::{AutoStream, ColorChoice};
use clap::Parser;
use contract_codegen::drift::{
    CompareOptions, ContractVersion,
    accepted::{ACCEPTED_FILE, AcceptedChanges},
    compare,
    dates::CalendarDate,
    report::{self, ReportAudience, ReportOptions},
    revision::{self, ContractRevision},
};

use args::DriftArgs;

/// The exit code if the versions could not be compared.
const EXIT_FAILED: u8 = 3;

/// `cargo xtask drift`
#[derive(Debug, Parser)]
#[command(name = "cargo xtask drift")]
struct Cli {
    #[command(flatten)]
    args: DriftArgs,
}

#[derive(Clone, Copy, Debug)]
struct CommandContext<'a> {
    /// The root of the repository; relative paths are resolved against it.
    root: &'a Path,
    color: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // This package is two folders below the root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let color = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let context = CommandContext { root: &root, color };
    ExitCode::from(run_to_exit_code(&cli.args, context, &mut io::stdout(), &mut io::stderr()))
}

fn run_to_exit_code(
    args: &DriftArgs,
    context: CommandContext<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let result = match &args.explain {
        Some(rule) => report::explain_rule(rule.as_deref()).map(|text| (text, 0)),
        None => render_report(args, context),
    };
    let written = match &result {
        Ok((text, _)) => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
        Err(problem) => writeln!(err, "error: {}", problem.trim_end()),
    };
    match (result, written) {
        (Ok((_, code)), Ok(())) => code,
        _ => EXIT_FAILED,
    }
}

fn render_report(args: &DriftArgs, context: CommandContext<'_>) -> Result<(String, u8), String> {
    let path = context.root.join(&args.contract);
    let new = open_contract(&path, &args.contract.display())?;
    let old = open_older_version(args, context.root, &path, &new)?;
    let within_major = !args.across_majors;
    let today = current_date()?;
    let accepted = read_accepted_changes(&args.contract, &path)?;
    let options = CompareOptions { within_major, today: Some(today), ..CompareOptions::default() };
    let mut drift = compare(&old.version, &new, &options);
    accepted.apply(&mut drift, today);
    let view = ReportOptions {
        all: args.all,
        audience: match (args.readers_only, args.writers_only) {
            (true, _) => ReportAudience::Readers,
            (_, true) => ReportAudience::Writers,
            _ => ReportAudience::Everyone,
        },
        color: context.color,
        within_major,
        prefix: file_prefix(&args.contract, &path),
        old_prefix: old.prefix,
        revision: old.revision,
    };
    let text = match args {
        DriftArgs { json: true, .. } => report::render_json(&drift, &view),
        DriftArgs { markdown: true, .. } => report::render_markdown(&drift, &view),
        DriftArgs { annotations: true, .. } => report::render_github_annotations(&drift, &view),
        DriftArgs { sarif: true, .. } => report::render_sarif(&drift, &view),
        _ => report::render_text(&drift, &view),
    };
    Ok((text, report::exit_code(&drift, &view)))
}

/// Returns the current date in UTC.
fn current_date() -> Result<CalendarDate, String> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
    CalendarDate::from_unix_seconds(seconds).ok_or_else(|| "the system clock is wrong".to_owned())
}

/// Reads the file with accepted changes beside the contract. A missing file is treated as empty.
fn read_accepted_changes(argument: &Path, path: &Path) -> Result<AcceptedChanges, String> {
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let file = folder.unwrap_or(path).join(ACCEPTED_FILE);
    let name = format!("{}{ACCEPTED_FILE}", file_prefix(argument, path));
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("cannot read {name}: {error}")),
    };
    AcceptedChanges::parse(&name, &text).map_err(|problems| problems.render(false))
}

/// Returns the prefix that turns file names of the contract into paths: the contract's folder and `/`.
fn file_prefix(argument: &Path, path: &Path) -> String {
    let folder = if path.is_dir() { Some(argument) } else { argument.parent() };
    let prefix = folder.map(|folder| folder.display().to_string().replace('\\', "/")).unwrap_or_default();
    let prefix = prefix.trim_start_matches("./").trim_end_matches('/');
    if prefix.is_empty() || prefix == "." { String::new() } else { format!("{prefix}/") }
}

fn open_contract(path: &Path, name: &dyn Display) -> Result<ContractVersion, String> {
    if !path.exists() {
        return Err(format!(
            "{name} does not exist\nhelp: set the path of the contract with `--contract PATH`"
        ));
    }
    ContractVersion::open(path)
        .map_err(|problems| format!("the contract in {name} cannot be read\n{}", problems.render(false)))
}

/// The older version of the contract, with the prefix of its file names and its git revision.
struct OlderVersion {
    version: ContractVersion,
    prefix: String,
    revision: Option<String>,
}

/// Opens the older version: from a service, a folder or file, or a git revision.
fn open_older_version(
    args: &DriftArgs,
    root: &Path,
    path: &Path,
    new: &ContractVersion,
) -> Result<OlderVersion, String> {
    match args.against.as_deref() {
        Some(address) if address.starts_with("http://") || address.starts_with("https://") => {
            let copy = tempfile::tempdir().map_err(|problem| {
                format!("cannot create a temporary copy of the older version: {problem}")
            })?;
            let version = service::fetch_contract(address, args, new, copy.path())?;
            Ok(OlderVersion { version, prefix: String::new(), revision: None })
        }
        Some(argument) if root.join(argument).exists() => {
            let version = open_contract(&root.join(argument), &argument)?;
            Ok(OlderVersion {
                version,
                prefix: file_prefix(Path::new(argument), &root.join(argument)),
                revision: None,
            })
        }
        argument => {
            let found = revision::open_revision(resolve_revision(argument, root)?, path)
                .map_err(|problem| problem.to_string())?;
            let ContractRevision { version, revision, folder } = found;
            Ok(OlderVersion { version, prefix: folder, revision: Some(revision) })
        }
    }
}

/// Returns the given revision. Without one, returns `origin/main`, or `HEAD` if that does not exist.
fn resolve_revision<'a>(argument: Option<&'a str>, root: &Path) -> Result<&'a str, String> {
    let Some(argument) = argument else {
        let default = ["origin/main", "HEAD"].into_iter().find(|name| revision::is_commit(root, name));
        return default.ok_or_else(|| {
            "neither `origin/main` nor `HEAD` exists\n\
             help: create a commit, or set the older version with `--against OTHER`"
                .to_owned()
        });
    };
    let commit = argument.split(':').next().unwrap_or(argument);
    if revision::is_commit(root, argument) || revision::is_commit(root, commit) {
        return Ok(argument);
    }
    Err(format!(
        "`{argument}` is not a file, a folder or a revision of this repository\n\
         help: `git fetch --tags` fetches remote tags and branches; URLs start with http:// or https://"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
