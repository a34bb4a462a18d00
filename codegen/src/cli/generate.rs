//! `generate` and `check`: write generated files, or compare them with the files on disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use contract_codegen::{
    GeneratedCode, Project,
    config::OutputLayout,
    init,
    write::{self, CargoWorkspace, FileChange, FileChanges, WriteError, WriteMode},
};
use serde_json::{Value, json};

use super::{
    args::GenerateArgs,
    console::{Console, count_warnings},
    error::{CommandError, EXIT_DIFFERENT},
    fetch::{Downloader, UnusedEntries},
    project,
};

/// The maximum number of changed files that are listed individually. More files are only counted.
const MAX_LISTED_FILES: usize = 12;

/// The generated files, and the location on disk to which they are written or with which they are compared.
struct GenerationRun {
    project: Project,
    generated: GeneratedCode,
    output: PathBuf,
    layout: OutputLayout,
    /// The Cargo workspace around the generated package. `None` if there is none, or if no package is
    /// generated.
    workspace: Option<CargoWorkspace>,
    /// True if the generated package is a member of this workspace.
    is_member: bool,
    downloader: Option<Arc<Downloader>>,
}

impl GenerationRun {
    fn apply_to_disk(&self, mode: WriteMode) -> Result<FileChanges, WriteError> {
        match self.layout {
            OutputLayout::File => write::apply_file(&self.generated.files, &self.output, mode),
            OutputLayout::Crate | OutputLayout::Modules => {
                write::apply_files(&self.generated.files, &self.output, mode)
            }
        }
    }

    /// Returns a message about a change that must be made to the manifest of the workspace, as a label and a
    /// text. Returns `None` if none is needed. Some changes are reported only if `is_new` is true.
    fn workspace_hint(&self, is_new: bool) -> Option<(&'static str, String)> {
        let workspace = self.workspace.as_ref()?;
        let (package, manifest) = (&workspace.package, workspace.manifest());
        let manifest = manifest.display();
        match (self.is_member, workspace.is_listed) {
            (true, true) => None,
            (true, false) => Some((
                "note",
                format!(
                    "{package} is a member of the workspace {manifest}: add {package:?} to `members` there, or depend on the package by path from a member"
                ),
            ))
            .filter(|_| is_new),
            (false, true) => Some((
                "warning",
                format!(
                    "the workspace {manifest} lists {package}, and Cargo rejects a member with `member = false` in [output]: remove the option, or remove {package} from `members` and add `exclude = [{package:?}]`"
                ),
            )),
            (false, false) => Some((
                "note",
                format!(
                    "{package} is a Cargo workspace of its own: add `exclude = [{package:?}]` to [workspace] in {manifest} before a member depends on it"
                ),
            ))
            .filter(|_| is_new),
        }
    }

    /// Returns a sentence about each option that would be useful for this contract but is not set.
    fn unused_options(&self) -> Vec<String> {
        init::unused_options(&self.project, &self.generated.contract)
    }

    /// Returns the path on disk of a generated file, for display.
    fn display_path(&self, file: &str) -> String {
        let path =
            if self.layout == OutputLayout::File { self.output.clone() } else { self.output.join(file) };
        path.display().to_string()
    }
}

/// Generates code and writes the files that changed.
pub(crate) fn run_generate(args: &GenerateArgs, console: &Console) -> Result<u8, CommandError> {
    generate_once(args, console).map(|_| 0)
}

/// Generates code and writes the files that changed. Returns the files that the contract consists of.
pub(crate) fn generate_once(
    args: &GenerateArgs,
    console: &Console,
) -> Result<BTreeSet<PathBuf>, CommandError> {
    let start = Instant::now();
    let run = generate_files(args, console)?;
    console.show_step("writing the files");
    let changes = run.apply_to_disk(WriteMode::Write)?;
    print_changed_files(&run, &changes, FileChange::as_str, console);
    if let Some(downloader) = &run.downloader {
        // The lock file of a configuration belongs to its contract. Without one, other contracts may use the same
        // lock file.
        let has_config = run.project.config.file.is_some();
        let unused = if has_config { UnusedEntries::Remove } else { UnusedEntries::Keep };
        downloader.write_lock(unused, console)?;
    }
    // The notes repeat only if the manifest changes; a manifest that Cargo rejects is reported in every run.
    let is_new = changes.files.get("Cargo.toml").is_some_and(|change| *change != FileChange::Same);
    if let Some((label, message)) = run.workspace_hint(is_new) {
        console.print_status(label, &message);
    }
    let hints = if changes.count(FileChange::Created) > 0 { run.unused_options() } else { Vec::new() };
    hints.iter().for_each(|hint| console.print_status("note", hint));
    let changed = format!("changed in {:.1} s", start.elapsed().as_secs_f64());
    print_summary(&run.generated, &changes, &changed, console);
    let mut object = summary_json(&run.generated, &changes);
    object["workspace"] = json!(run.workspace.as_ref().map(|workspace| &workspace.root));
    object["member"] = json!(run.is_member);
    object["unusedOptions"] = json!(hints);
    object["command"] = json!("generate");
    object["exit"] = json!(0);
    console.print_summary(object);
    Ok(run.generated.contract.sources.files().map(Path::to_path_buf).collect())
}

/// Generates code and lists the files that `generate` would change. Writes nothing.
pub(crate) fn run_dry(args: &GenerateArgs, console: &Console) -> Result<u8, CommandError> {
    let run = generate_files(args, console)?;
    let changes = run.apply_to_disk(WriteMode::Check)?;
    print_changed_files(&run, &changes, infinitive, console);
    if let Some(downloader) = &run.downloader {
        downloader.print_changes(console);
    }
    print_summary(&run.generated, &changes, "would change", console);
    let mut object = summary_json(&run.generated, &changes);
    object["command"] = json!("generate");
    object["dryRun"] = json!(true);
    object["exit"] = json!(0);
    console.print_summary(object);
    Ok(0)
}

/// Returns the label of a change that has not been made.
const fn infinitive(change: FileChange) -> &'static str {
    match change {
        FileChange::Created => "create",
        FileChange::Updated => "update",
        FileChange::Removed => "remove",
        FileChange::Same => "keep",
    }
}

/// Compares generated code with the files on disk. Prints the differences and the command that updates the
/// files.
pub(crate) fn run_check(args: &GenerateArgs, console: &Console) -> Result<u8, CommandError> {
    let run = generate_files(args, console)?;
    let changes = run.apply_to_disk(WriteMode::Check)?;
    if let Some(downloader) = &run.downloader {
        downloader.print_changes(console);
    }
    let exit = if changes.is_clean() { 0 } else { EXIT_DIFFERENT };
    let repair = repair_command(env::args().collect());
    let mut object = summary_json(&run.generated, &changes);
    object["command"] = json!("check");
    object["exit"] = json!(exit);
    let (all, place) = (changes.files.len(), run.output.display());
    if exit == 0 {
        console.print_status("unchanged", &format!("{} in {place}", count_noun(all, "file")));
    } else {
        object["difference"] = json!(changes.difference);
        object["repair"] = json!(repair);
        console.print_result(changes.difference.as_deref().unwrap_or_default())?;
        print_changed_files(&run, &changes, FileChange::as_str, console);
        let different = all - changes.count(FileChange::Same);
        console.print_line(&format!(
            "error: {different} of {} differ in {place}\nhelp: to update, run `{repair}`",
            count_noun(all, "file")
        ));
    }
    console.print_summary(object);
    Ok(exit)
}

fn generate_files(args: &GenerateArgs, console: &Console) -> Result<GenerationRun, CommandError> {
    let (mut project, downloader) = project::configure_project(args)?;
    let output = project::resolve_output(args, &project)?;
    let layout = project.config.output.layout;
    let (workspace, is_member) = match layout {
        OutputLayout::Crate => CargoWorkspace::of_package(&output, project.config.output.member),
        OutputLayout::File | OutputLayout::Modules => (None, false),
    };
    project.config.output.member = Some(is_member);
    let generated = project.generate_with(&|what| console.show_step(what))?;
    console.print_diagnostics(&generated.contract.diagnostics);
    Ok(GenerationRun { project, generated, output, layout, workspace, is_member, downloader })
}

/// Prints the changed files. If there are more than [`MAX_LISTED_FILES`] and `--verbose` is not set, prints
/// one line for each kind of change, with the number of files and the folder that contains them.
fn print_changed_files(
    run: &GenerationRun,
    changes: &FileChanges,
    label: fn(FileChange) -> &'static str,
    console: &Console,
) {
    let differing = || changes.files.iter().filter(|(_, change)| **change != FileChange::Same);
    if console.is_verbose() || differing().count() <= MAX_LISTED_FILES {
        for (path, change) in differing() {
            console.print_status(label(*change), &run.display_path(path));
        }
        return;
    }
    for change in [FileChange::Created, FileChange::Updated, FileChange::Removed] {
        let these = || differing().filter(|(_, each)| **each == change).map(|(path, _)| path.as_str());
        if these().next().is_some() {
            let place = run.output.join(common_folder(these())).display().to_string();
            let place = place.trim_end_matches('/');
            console
                .print_status(label(change), &format!("{} in {place}", count_noun(these().count(), "file")));
        }
    }
}

/// Returns the deepest folder that contains all paths.
fn common_folder<'a>(mut paths: impl Iterator<Item = &'a str>) -> &'a Path {
    let first = paths.next().and_then(|path| Path::new(path).parent()).unwrap_or(Path::new(""));
    paths.fold(first, |folder, path| {
        folder.ancestors().find(|folder| Path::new(path).starts_with(folder)).unwrap_or(Path::new(""))
    })
}

fn print_summary(generated: &GeneratedCode, changes: &FileChanges, outcome: &str, console: &Console) {
    console.print_status(
        "done",
        &format!(
            "{}; {} of {} {outcome}",
            describe_counts(generated),
            changes.files.len() - changes.count(FileChange::Same),
            count_noun(changes.files.len(), "file"),
        ),
    );
}

/// Formats the counts, such as `12 of 766 operations, 140 of 909 types, 1204 fields, 3 warnings`.
fn describe_counts(GeneratedCode { contract, counts, .. }: &GeneratedCode) -> String {
    let counts: BTreeMap<&str, usize> = counts.iter().copied().collect();
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    let part = |name: &str, whole: Option<usize>| match whole {
        Some(whole) => format!("{} of {}", of(name), count_noun(whole, &name[..name.len() - 1])),
        None => count_noun(of(name), &name[..name.len() - 1]),
    };
    let whole = contract.full_size;
    let mut parts = vec![
        part("operations", whole.map(|whole| whole.operations)),
        part("types", None),
        part("fields", None),
        count_noun(count_warnings(&contract.diagnostics), "warning"),
    ];
    if let Some(whole) = whole {
        parts.insert(1, part("schemas", Some(whole.schemas)));
    }
    let webhooks = whole.map_or(of("webhooks"), |whole| whole.webhooks);
    if webhooks > 0 {
        parts.insert(1, part("webhooks", whole.map(|whole| whole.webhooks)));
    }
    parts.join(", ")
}

/// Formats a number with its noun, such as `1 file` or `3 files`.
pub(crate) fn count_noun(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn summary_json(generated: &GeneratedCode, changes: &FileChanges) -> Value {
    let GeneratedCode { contract, counts, .. } = generated;
    let counts: BTreeMap<&str, usize> = counts.iter().copied().collect();
    let files: BTreeMap<&str, &str> = changes
        .files
        .iter()
        .filter(|(_, change)| **change != FileChange::Same)
        .map(|(path, change)| (path.as_str(), change.as_str()))
        .collect();
    let whole = contract.full_size.map(|whole| {
        json!({ "operations": whole.operations, "webhooks": whole.webhooks, "schemas": whole.schemas })
    });
    json!({
        "counts": counts,
        "whole": whole,
        "warnings": count_warnings(&contract.diagnostics),
        "files": changes.files.len(),
        "changed": files,
    })
}

/// Returns the `generate` command with the arguments of this `check`, quoted for a shell.
fn repair_command(mut arguments: Vec<String>) -> String {
    if let Some(command) = arguments.iter_mut().skip(1).find(|argument| *argument == "check") {
        *command = "generate".to_owned();
    }
    if let Some(program) = arguments.first_mut() {
        *program = "contract-codegen".to_owned();
    }
    let is_plain = |argument: &String| {
        !argument.is_empty()
            && argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c))
    };
    let quote = |argument: &String| {
        if is_plain(argument) { argument.clone() } else { format!("'{}'", argument.replace('\'', "'\\''")) }
    };
    arguments.iter().filter(|argument| *argument != "--json").map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repair_command_is_quoted_for_a_shell() {
        let arguments = ["/x/contract-codegen", "check", "check", "--json", "-o", "my api"];
        let owned = arguments.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(repair_command(owned), "contract-codegen generate check -o 'my api'");
    }

    #[test]
    fn many_files_are_below_one_folder() {
        assert_eq!(common_folder(["a/b/c.rs", "a/b/d.rs", "a/e.rs"].into_iter()), Path::new("a"));
        assert_eq!(common_folder(["Cargo.toml", "a/e.rs"].into_iter()), Path::new(""));
        assert_eq!(common_folder(["a/e.rs"].into_iter()), Path::new("a"));
    }
}
