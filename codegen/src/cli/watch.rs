//! `generate --watch`: generates again whenever an input changes.
//!
//! The files are polled, because notifications of the operating system do not cover all file systems of
//! containers and networks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use contract_codegen::Project;
use contract_codegen_core::load::{files, inputs};

use super::{
    args::GenerateArgs,
    console::Console,
    error::CommandError,
    generate::{self, count_noun},
    project,
};

/// The time between two comparisons of the files.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The modification times and sizes of files. A file that cannot be read has none.
type FileStamps = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// Generates code, and generates it again after each change of a file. Errors of the contract are printed, and
/// the next change is awaited. The function returns only if the command line is invalid or names no input.
pub(crate) fn run_watch(args: &GenerateArgs, console: &Console) -> Result<u8, CommandError> {
    let named = project::resolve_inputs(&args.inputs, "")?;
    if named.iter().any(|path| project::is_stdin(path)) {
        return Err(CommandError::Usage("`-` cannot be watched: save the document to a file".to_owned()));
    }
    project::check_paths(&named)?;
    if named.iter().all(|path| inputs::as_url(path).is_some()) {
        let message = "URLs cannot be watched: run `generate --fetch` when a document changes".to_owned();
        return Err(CommandError::Usage(message));
    }
    let mut read_files = BTreeSet::new();
    let mut is_first = true;
    loop {
        // An invalid contract has no list of files, so the configured ones are watched as well.
        let watched: BTreeSet<PathBuf> =
            named.iter().cloned().chain(configured_paths(&named)).chain(read_files).collect();
        let mut stamps = read_stamps(&watched);
        read_files = match generate::generate_once(args, console) {
            Ok(read_files) => read_files,
            Err(error @ CommandError::Usage(_)) if is_first => return Err(error),
            Err(error) => {
                error.report_to(console);
                BTreeSet::new()
            }
        };
        is_first = false;
        // Files that this run read for the first time are compared from now on.
        let added: BTreeSet<PathBuf> = read_files.difference(&watched).cloned().collect();
        stamps.extend(read_stamps(&added));
        let watched: BTreeSet<PathBuf> = watched.into_iter().chain(added).collect();
        let count = count_noun(stamps.len(), "file");
        console.print_status("watching", &format!("{count}; press Ctrl-C to stop"));
        wait_for_change(&watched, &stamps);
    }
}

/// Waits until files differ from their stamps, and then until they no longer change, because editors truncate
/// a file before they write it.
fn wait_for_change(watched: &BTreeSet<PathBuf>, stamps: &FileStamps) {
    let mut previous = stamps.clone();
    loop {
        thread::sleep(POLL_INTERVAL);
        let current = read_stamps(watched);
        if current != *stamps && current == previous {
            return;
        }
        previous = current;
    }
}

/// Returns the paths in the codegen.toml among the inputs, or none if it is invalid.
fn configured_paths(inputs: &[PathBuf]) -> Vec<PathBuf> {
    let configs = inputs.iter().filter(|path| project::is_config(path));
    let projects = configs.filter_map(|path| Project::from_config(path).ok());
    projects.flat_map(|project| project.configured_paths().collect::<Vec<_>>()).collect()
}

/// Returns the stamps of files, and of all contract documents in folders. URLs are not watched.
fn read_stamps(watched: &BTreeSet<PathBuf>) -> FileStamps {
    let local = watched.iter().filter(|path| inputs::as_url(path).is_none());
    local.flat_map(|path| list_files(path)).map(|path| (path.clone(), read_stamp(&path))).collect()
}

/// Returns the contract documents in a folder, or the file itself, also if it does not exist.
fn list_files(path: &Path) -> Vec<PathBuf> {
    let absolute = files::absolute_path(path).unwrap_or_else(|_| path.to_path_buf());
    match files::find_input_files(&absolute) {
        Ok(found) => found.into_iter().map(|file| file.path).collect(),
        Err(_) => vec![absolute],
    }
}

fn read_stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
