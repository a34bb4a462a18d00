//! `drift`: compares two versions of a contract and prints the changes that affect its users.

use std::{
    panic,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use contract_codegen::{
    ContractInputs, DocumentFetcher,
    drift::{
        CompareOptions, ContractVersion, compare,
        report::{self, ComparedVersions, ReportAudience, ReportOptions},
        revision::{self, ContractRevision, RevisionError},
    },
    write,
};
use contract_codegen_core::load::inputs;
use serde_json::json;

use super::{
    accepted::{self, AcceptedFile},
    args::DriftArgs,
    console::Console,
    error::{CommandError, EXIT_DIFFERENT},
    project,
};

/// The value that [`report::exit_code`] returns for breaking changes and for outdated entries of accepted
/// changes.
const REPORT_EXIT_BREAKING: u8 = 2;

/// Compares the two versions and prints the result in the requested format.
pub(crate) fn run_drift(args: &DriftArgs, console: &Console) -> Result<u8, CommandError> {
    if let Some(rule) = &args.explain {
        console.print_result(&report::explain_rule(rule.as_deref()).map_err(CommandError::Usage)?)?;
        return Ok(0);
    }
    let (old, new) = parse_versions(args)?;
    let today = accepted::current_date(args)?;
    let acceptance = accepted::requested_acceptance(args, today)?;
    let mut accepted_file = AcceptedFile::read(args, &new)?;
    let downloader = project::open_downloader(std::slice::from_ref(&new), args.fetch)?;
    let fetcher = downloader.clone().map(|downloader| downloader as Arc<dyn DocumentFetcher>);
    console.show_step("reading the versions");
    let (before, after) = thread::scope(|scope| {
        let after = scope.spawn(|| open_version(&new, fetcher.clone()));
        let before = open_older_version(old, &new, fetcher.clone());
        (before, after.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    });
    // Problems of the newer version are reported first, because that version is under development.
    let after = after?;
    let (before, old_prefix, named) = before?;
    if let Some(downloader) = &downloader {
        downloader.print_changes(console);
    }
    console.show_step("comparing");
    let within_major = !args.across_majors;
    let mut drift = compare(
        &before,
        &after,
        &CompareOptions { within_major, today: Some(today), ..CompareOptions::default() },
    );
    let view = ReportOptions {
        all: args.all,
        audience: match (args.readers_only, args.writers_only) {
            (true, _) => ReportAudience::Readers,
            (_, true) => ReportAudience::Writers,
            _ => ReportAudience::Everyone,
        },
        color: console.is_colored(),
        within_major,
        prefix: folder_prefix(&new),
        old_prefix,
        revision: named,
    };
    accepted_file.apply(&mut drift, today);
    if let Some(acceptance) = &acceptance {
        accepted_file.accept_changes(&mut drift, &view, (acceptance, today), console)?;
    }
    if let Some(path) = &args.html {
        let versions = ComparedVersions { old: &before, new: &after };
        write::replace_file(path, &report::render_html(&drift, versions, &view))?;
    }
    let text = match (args.markdown, args.annotations, args.sarif) {
        (true, ..) => report::render_markdown(&drift, &view),
        (_, true, _) => report::render_github_annotations(&drift, &view),
        (.., true) => report::render_sarif(&drift, &view),
        _ => report::render_text(&drift, &view),
    };
    console.print_result(&text)?;
    let exit = if report::exit_code(&drift, &view) == REPORT_EXIT_BREAKING { EXIT_DIFFERENT } else { 0 };
    let drift: serde_json::Value =
        serde_json::from_str(&report::render_json(&drift, &view)).unwrap_or_default();
    console.print_summary(json!({ "command": "drift", "exit": exit, "drift": drift }));
    Ok(exit)
}

/// The source of the older version.
enum OlderVersion {
    Path(PathBuf),
    Revision(String),
}

fn parse_versions(args: &DriftArgs) -> Result<(OlderVersion, PathBuf), CommandError> {
    match (&args.against, args.versions.as_slice()) {
        (None, [old, new]) if project::is_stdin(old) && project::is_stdin(new) => {
            Err(CommandError::Usage("`-` given for both versions: standard input is one document".to_owned()))
        }
        (None, [old, new]) => Ok((OlderVersion::Path(old.clone()), new.clone())),
        (Some(revision), [new]) => Ok((OlderVersion::Revision(revision.clone()), new.clone())),
        (Some(revision), []) => {
            let inputs = project::resolve_inputs(&[], ": `drift --against REVISION NEW`")?;
            Ok((OlderVersion::Revision(revision.clone()), inputs.into_iter().collect()))
        }
        (Some(_), _) => Err(CommandError::Usage(
            "`--against` names the older version: give only the newer one as an argument".to_owned(),
        )),
        (None, _) => Err(CommandError::Usage(
            "drift compares two versions: give OLD and NEW, or `--against REVISION` and NEW".to_owned(),
        )),
    }
}

/// Opens the older version. Returns the version, the prefix that turns its file names into paths, and its git
/// revision.
fn open_older_version(
    old: OlderVersion,
    new: &Path,
    fetcher: Option<Arc<dyn DocumentFetcher>>,
) -> Result<(ContractVersion, String, Option<String>), CommandError> {
    Ok(match old {
        OlderVersion::Path(path) => (open_version(&path, fetcher)?, folder_prefix(&path), None),
        OlderVersion::Revision(name) => {
            let ContractRevision { version, revision, folder } =
                revision::open_revision_with(&name, new, fetcher)?;
            (version, folder, Some(revision))
        }
    })
}

impl From<RevisionError> for CommandError {
    fn from(error: RevisionError) -> Self {
        match error {
            RevisionError::Git(problem) => Self::Io(problem),
            RevisionError::Contract { revision, problems } => Self::Revision { revision, problems },
        }
    }
}

fn open_version(
    path: &Path,
    fetcher: Option<Arc<dyn DocumentFetcher>>,
) -> Result<ContractVersion, CommandError> {
    if project::is_stdin(path) {
        let documents = project::read_stdin(1)?;
        let inputs = ContractInputs { documents, fetcher, ..ContractInputs::default() };
        return Ok(ContractVersion::load_inputs(&inputs)?);
    }
    if inputs::as_url(path).is_none() && !path.exists() {
        return Err(CommandError::Io(format!(
            "cannot read {}: there is no such file or folder",
            path.display()
        )));
    }
    Ok(ContractVersion::open_with(path, fetcher)?)
}

/// Returns the prefix that turns the file names of a version into paths, such as `schemas/`.
fn folder_prefix(path: &Path) -> String {
    if inputs::as_url(path).is_some() {
        return String::new();
    }
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    let path_text = folder.map(|folder| folder.display().to_string().replace('\\', "/")).unwrap_or_default();
    let path_text = path_text.trim_start_matches("./").trim_end_matches('/');
    if path_text.is_empty() || path_text == "." { String::new() } else { format!("{path_text}/") }
}
