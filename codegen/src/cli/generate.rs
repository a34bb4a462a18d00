//! `generate` and `check`.

use std::{collections::BTreeMap, env, time::Instant};

use contract_codegen::{
    generate::Generated,
    report::counts,
    write::{self, Change, Changes, Mode},
};
use serde_json::{Value, json};

use super::{
    args::GenerateArgs,
    failure::{DIFFERENT, Failure},
    project,
    screen::{Screen, warnings},
};

/// Writes what changed.
pub(crate) fn generate(args: &GenerateArgs, screen: &Screen) -> Result<u8, Failure> {
    let start = Instant::now();
    let generated = run(args, screen)?;
    screen.step("writing");
    let changes = write::apply(&generated.files, &args.output, Mode::Write)?;
    for (path, change) in changes.files.iter().filter(|(_, change)| **change != Change::Same) {
        screen.marked(change.word(), &args.output.join(path).display().to_string());
    }
    summary(&generated, &changes, screen, start);
    let mut object = object(&generated, &changes);
    object["command"] = json!("generate");
    object["exit"] = json!(0);
    screen.summary(object);
    Ok(0)
}

/// Compares, and says how to repair a difference.
pub(crate) fn check(args: &GenerateArgs, screen: &Screen) -> Result<u8, Failure> {
    let generated = run(args, screen)?;
    let changes = write::apply(&generated.files, &args.output, Mode::Check)?;
    let exit = if changes.is_clean() { 0 } else { DIFFERENT };
    let repair = repair(env::args().collect());
    let mut object = object(&generated, &changes);
    object["command"] = json!("check");
    object["exit"] = json!(exit);
    if exit == 0 {
        screen.marked("same", &format!("{} files in {}", changes.files.len(), args.output.display()));
    } else {
        object["difference"] = json!(changes.difference);
        object["repair"] = json!(repair);
        screen.result(changes.difference.as_deref().unwrap_or_default())?;
        let different = changes.files.len() - changes.count(Change::Same);
        screen.line(&format!(
            "error: {} of {} files differ in {}\nhelp: run `{repair}`",
            different,
            changes.files.len(),
            args.output.display(),
        ));
    }
    screen.summary(object);
    Ok(exit)
}

fn run(args: &GenerateArgs, screen: &Screen) -> Result<Generated, Failure> {
    screen.step("reading the contract");
    let project = project::with_options(args)?;
    let contract = project.read()?;
    screen.step(&format!("generating {} types", contract.shapes.types.len()));
    let generated = project.emit(contract)?;
    screen.diagnostics(&generated.contract.diagnostics);
    Ok(generated)
}

fn summary(generated: &Generated, changes: &Changes, screen: &Screen, start: Instant) {
    let counts: BTreeMap<&str, usize> = counts(&generated.contract).into_iter().collect();
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    screen.marked(
        "done",
        &format!(
            "{} types, {} operations, {} fields, {} warnings; {} of {} files changed in {:.1} s",
            count("types"),
            count("operations"),
            count("fields"),
            warnings(&generated.contract.diagnostics),
            changes.files.len() - changes.count(Change::Same),
            changes.files.len(),
            start.elapsed().as_secs_f64(),
        ),
    );
    let mut lost: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for loss in &generated.losses {
        *lost.entry((loss.engine, &loss.enforced)).or_default() += 1;
    }
    if lost.is_empty() {
        return;
    }
    screen.line("What engines do not carry, and what does instead (`contract-codegen report` names each):");
    for ((engine, enforced), count) in lost {
        screen.line(&format!("{count:>9} × {engine}: {enforced}"));
    }
}

fn object(generated: &Generated, changes: &Changes) -> Value {
    let counts: BTreeMap<&str, usize> = counts(&generated.contract).into_iter().collect();
    let files: BTreeMap<&str, &str> = changes
        .files
        .iter()
        .filter(|(_, change)| **change != Change::Same)
        .map(|(path, change)| (path.as_str(), change.word()))
        .collect();
    json!({
        "counts": counts,
        "warnings": warnings(&generated.contract.diagnostics),
        "losses": generated.losses.len(),
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
}
