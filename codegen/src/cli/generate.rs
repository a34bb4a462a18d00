//! `generate` and `check`.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use contract_codegen::{
    Generated,
    config::Layout,
    write::{self, Change, Changes, Mode, WriteError},
};
use serde_json::{Value, json};

use super::{
    args::GenerateArgs,
    failure::{DIFFERENT, Failure},
    project,
    screen::{Screen, warnings},
};

/// Files that are named before they are counted.
const FEW: usize = 12;

/// What was generated, and where it belongs.
struct Ran {
    generated: Generated,
    output: PathBuf,
    layout: Layout,
    /// Whether the package is to be a member of a workspace around it.
    member: bool,
}

impl Ran {
    fn apply(&self, mode: Mode) -> Result<Changes, WriteError> {
        match self.layout {
            Layout::File => write::apply_file(&self.generated.files, &self.output, mode),
            Layout::Crate | Layout::Modules => write::apply(&self.generated.files, &self.output, mode),
        }
    }

    /// A file of the output as people find it.
    fn path(&self, file: &str) -> String {
        let path = if self.layout == Layout::File { self.output.clone() } else { self.output.join(file) };
        path.display().to_string()
    }
}

/// Writes what changed.
pub(crate) fn generate(args: &GenerateArgs, screen: &Screen) -> Result<u8, Failure> {
    let start = Instant::now();
    let ran = run(args, screen)?;
    screen.step("writing the files");
    let changes = ran.apply(Mode::Write)?;
    files(&ran, &changes, screen);
    // Once: later, whoever wants it otherwise has said so.
    let is_new = changes.files.get("Cargo.toml") == Some(&Change::Created) && ran.layout == Layout::Crate;
    let workspace = write::workspace_around(&ran.output).filter(|_| is_new && !ran.member);
    if workspace.is_some() {
        let how = "`member = true` below [output] makes it a member of the workspace around it";
        screen.marked("apart", &format!("{} is a workspace of its own; {how}", ran.output.display()));
    }
    summary(&ran.generated, &changes, screen, start);
    let mut object = object(&ran.generated, &changes);
    object["workspace"] = json!(workspace);
    object["command"] = json!("generate");
    object["exit"] = json!(0);
    screen.summary(object);
    Ok(0)
}

/// Compares, and says how to repair a difference.
pub(crate) fn check(args: &GenerateArgs, screen: &Screen) -> Result<u8, Failure> {
    let ran = run(args, screen)?;
    let changes = ran.apply(Mode::Check)?;
    let exit = if changes.is_clean() { 0 } else { DIFFERENT };
    let repair = repair(env::args().collect());
    let mut object = object(&ran.generated, &changes);
    object["command"] = json!("check");
    object["exit"] = json!(exit);
    let (all, place) = (changes.files.len(), ran.output.display());
    if exit == 0 {
        screen.marked("same", &format!("{} in {place}", count(all, "file")));
    } else {
        object["difference"] = json!(changes.difference);
        object["repair"] = json!(repair);
        screen.result(changes.difference.as_deref().unwrap_or_default())?;
        files(&ran, &changes, screen);
        let different = all - changes.count(Change::Same);
        screen.line(&format!(
            "error: {different} of {} differ in {place}\nhelp: run `{repair}`",
            count(all, "file")
        ));
    }
    screen.summary(object);
    Ok(exit)
}

fn run(args: &GenerateArgs, screen: &Screen) -> Result<Ran, Failure> {
    let project = project::with_options(args)?;
    let output = project::output(args, &project)?;
    let generated = project.generate_with(&|what| screen.step(what))?;
    screen.diagnostics(&generated.contract.diagnostics);
    let (layout, member) = (project.config.output.layout, project.config.output.member);
    Ok(Ran { generated, output, layout, member })
}

/// The files that changed, or how many of each change when they are many.
fn files(ran: &Ran, changes: &Changes, screen: &Screen) {
    let differing = || changes.files.iter().filter(|(_, change)| **change != Change::Same);
    if screen.is_verbose() || differing().count() <= FEW {
        for (path, change) in differing() {
            screen.marked(change.word(), &ran.path(path));
        }
        return;
    }
    for change in [Change::Created, Change::Updated, Change::Removed] {
        let these = || differing().filter(|(_, each)| **each == change).map(|(path, _)| path.as_str());
        if these().next().is_some() {
            let place = ran.output.join(shared(these())).display().to_string();
            let place = place.trim_end_matches('/');
            screen.marked(change.word(), &format!("{} in {place}", count(these().count(), "file")));
        }
    }
}

/// The folder that all paths are below.
fn shared<'a>(mut paths: impl Iterator<Item = &'a str>) -> &'a Path {
    let first = paths.next().and_then(|path| Path::new(path).parent()).unwrap_or(Path::new(""));
    paths.fold(first, |folder, path| {
        folder.ancestors().find(|folder| Path::new(path).starts_with(folder)).unwrap_or(Path::new(""))
    })
}

fn summary(generated: &Generated, changes: &Changes, screen: &Screen, start: Instant) {
    screen.marked(
        "done",
        &format!(
            "{}; {} of {} changed in {:.1} s",
            amounts(generated),
            changes.files.len() - changes.count(Change::Same),
            count(changes.files.len(), "file"),
            start.elapsed().as_secs_f64(),
        ),
    );
}

/// `12 of 766 operations, 140 of 909 types, 1204 fields, 3 warnings`
fn amounts(Generated { contract, counts, .. }: &Generated) -> String {
    let counts: BTreeMap<&str, usize> = counts.iter().copied().collect();
    let of = |name: &str| counts.get(name).copied().unwrap_or(0);
    let part = |name: &str, whole: Option<usize>| match whole {
        Some(whole) => format!("{} of {}", of(name), count(whole, &name[..name.len() - 1])),
        None => count(of(name), &name[..name.len() - 1]),
    };
    let whole = contract.whole;
    let mut parts = vec![
        part("operations", whole.map(|whole| whole.operations)),
        part("types", None),
        part("fields", None),
        count(warnings(&contract.diagnostics), "warning"),
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

/// `1 file`, `3 files`
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn object(generated: &Generated, changes: &Changes) -> Value {
    let Generated { contract, counts, .. } = generated;
    let counts: BTreeMap<&str, usize> = counts.iter().copied().collect();
    let files: BTreeMap<&str, &str> = changes
        .files
        .iter()
        .filter(|(_, change)| **change != Change::Same)
        .map(|(path, change)| (path.as_str(), change.word()))
        .collect();
    let whole = contract.whole.map(|whole| {
        json!({ "operations": whole.operations, "webhooks": whole.webhooks, "schemas": whole.schemas })
    });
    json!({
        "counts": counts,
        "whole": whole,
        "warnings": warnings(&contract.diagnostics),
        "files": changes.files.len(),
        "changed": files,
    })
}

/// The command that was given, as one that writes.
fn repair(mut given: Vec<String>) -> String {
    if let Some(command) = given.iter_mut().skip(1).find(|word| *word == "check") {
        *command = "generate".to_owned();
    }
    if let Some(program) = given.first_mut() {
        *program = "contract-codegen".to_owned();
    }
    let plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c))
    };
    let quoted =
        |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    given.iter().filter(|word| *word != "--json").map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repair_can_be_pasted_into_a_shell() {
        let words = ["/x/contract-codegen", "check", "check", "--json", "-o", "my api"];
        let given = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(repair(given), "contract-codegen generate check -o 'my api'");
    }

    #[test]
    fn many_files_are_below_one_folder() {
        assert_eq!(shared(["a/b/c.rs", "a/b/d.rs", "a/e.rs"].into_iter()), Path::new("a"));
        assert_eq!(shared(["Cargo.toml", "a/e.rs"].into_iter()), Path::new(""));
        assert_eq!(shared(["a/e.rs"].into_iter()), Path::new("a"));
    }
}
