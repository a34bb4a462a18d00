//! `compare`: runs several code generators on the same documents.
//!
//! contract-codegen always runs. typify and openapi-to-rust are installed if necessary ([`tools`]), and the
//! other generators run only if they are installed. typify gets the schemas as draft-07. Each output that is
//! a package is compiled twice: the first run builds the dependencies, the second one is measured. The errors
//! and warnings are counted.

mod tools;

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{CommandOutcome, cli::CompareArgs, style::report_error, test::cargo_command};

const GENERATOR_TIMEOUT: Duration = Duration::from_secs(300);

/// The path of our generator, relative to the root of the repository.
const OUR_PROGRAM: &str = "target/release/contract-codegen";

const OUR_NAME: &str = "contract-codegen";

/// The number of runs of our generator; the fastest run counts.
const OUR_RUNS: usize = 3;

/// A generator and its command line.
struct GeneratorCommand {
    name: &'static str,
    program: PathBuf,
    /// Builds the arguments from the document, the output folder and the name of the package.
    arguments: fn(&Path, &Path, &str) -> Vec<OsString>,
    runs: usize,
    input: InputFormat,
    /// Turns the output into a package, given its folder and name.
    make_package: fn(&Path, &str) -> io::Result<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputFormat {
    Document,
    /// The schemas of the document, exported as draft-07.
    Definitions,
}

/// The result of one generator for one document.
#[derive(Debug, Default)]
struct GenerationResult {
    generated: Option<Duration>,
    failure: Option<String>,
    lines: usize,
    compiled: Option<CompilerResult>,
}

#[derive(Debug, Default)]
struct CompilerResult {
    time: Duration,
    errors: usize,
    warnings: usize,
}

pub(crate) fn run(args: &CompareArgs, root: &Path) -> CommandOutcome {
    let compare = if args.constructs { compare_constructs } else { compare_generators };
    match compare(args, root) {
        Ok(verdict) => verdict,
        Err(error) => {
            report_error(&error);
            CommandOutcome::NotRun
        }
    }
}

/// Runs the package `other-generators` on each document. It is a separate package, because it links
/// progenitor and typify.
fn compare_constructs(args: &CompareArgs, root: &Path) -> io::Result<CommandOutcome> {
    for document in &args.documents {
        let mut command = cargo_command();
        command.args(["run", "--package", "other-generators", "--"]).arg(document).current_dir(root);
        if !command.status()?.success() {
            return Ok(CommandOutcome::NotRun);
        }
    }
    Ok(CommandOutcome::Passed)
}

fn compare_generators(args: &CompareArgs, root: &Path) -> io::Result<CommandOutcome> {
    let mut build = cargo_command();
    build.args(["build", "--release", "-p", "contract-codegen"]).current_dir(root);
    if !build.status()?.success() {
        return Ok(CommandOutcome::NotRun);
    }
    let (generators, absent) = match find_generators(args, root) {
        Ok(found) => found,
        Err(problem) => {
            report_error(&problem);
            return Ok(CommandOutcome::NotRun);
        }
    };
    for name in absent {
        anstream::eprintln!("{name}: not on PATH, skipped");
    }
    if !args.json {
        anstream::println!("| document | generator | generated in | lines | compiler | `cargo check` |");
        anstream::println!("|---|---|---|---|---|---|");
    }
    let mut verdict = CommandOutcome::Passed;
    for document in &args.documents {
        let document = fs::canonicalize(document)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", document.display())))?;
        let stem = document.file_stem().and_then(|stem| stem.to_str()).unwrap_or("document");
        for generator in &generators {
            let output = root.join("target/compare").join(stem).join(generator.name);
            let outcome = run_generator(generator, root, &document, &output, &format!("compared-{stem}"))?;
            let clean = outcome.compiled.as_ref().is_some_and(|c| c.errors + c.warnings == 0);
            if generator.name == OUR_NAME && !clean {
                verdict = CommandOutcome::Failed;
            }
            print_result(args, stem, generator.name, &outcome);
        }
    }
    Ok(verdict)
}

/// Returns the generators to run, and the names of those that are not installed.
///
/// # Errors
/// Returns an error if a generator cannot be installed.
fn find_generators(
    args: &CompareArgs,
    root: &Path,
) -> Result<(Vec<GeneratorCommand>, Vec<&'static str>), String> {
    let mut found = vec![GeneratorCommand {
        name: OUR_NAME,
        program: root.join(OUR_PROGRAM),
        arguments: |document, output, package| {
            let mut all = to_os_strings(&["generate"]);
            all.extend([document.into(), "--output".into(), output.into()]);
            all.extend(to_os_strings(&["--package", package]));
            all
        },
        runs: OUR_RUNS,
        input: InputFormat::Document,
        make_package: |_, _| Ok(()),
    }];
    let cache = root.join("target/compare/tools");
    found.push(GeneratorCommand {
        name: "typify",
        program: tools::TYPIFY.ensure_installed(&cache)?,
        arguments: |schemas, output, _| {
            let mut all = to_os_strings(&["typify", "--no-builder", "--output"]);
            all.extend([output.join("src/lib.rs").into(), schemas.into()]);
            all
        },
        runs: 1,
        input: InputFormat::Definitions,
        make_package: tools::write_typify_package,
    });
    found.push(GeneratorCommand {
        name: "openapi-to-rust",
        program: tools::OPENAPI_TO_RUST.ensure_installed(&cache)?,
        arguments: |document, output, _| {
            let mut all = to_os_strings(&["generate", "--quiet", "--output-dir"]);
            all.extend([output.join("src").into(), document.into()]);
            all
        },
        runs: 1,
        input: InputFormat::Document,
        make_package: tools::write_openapi_to_rust_package,
    });
    let mut absent = Vec::new();
    let path = |program: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders = args.tools.iter().cloned().chain(std::env::split_paths(&folders).collect::<Vec<_>>());
        folders.map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    let mut add = |name, program: &str, arguments| match path(program) {
        Some(program) => {
            let (reads, finish) =
                (InputFormat::Document, (|_, _| Ok(())) as fn(&Path, &str) -> io::Result<()>);
            found.push(GeneratorCommand {
                name,
                program,
                arguments,
                runs: 1,
                input: reads,
                make_package: finish,
            });
        }
        None => absent.push(name),
    };
    add("progenitor", "cargo-progenitor", |document, output, package| {
        let mut all = to_os_strings(&["progenitor", "--version", "0.1.0", "--name", package, "--input"]);
        all.extend([document.into(), "--output".into(), output.into()]);
        all
    });
    add("oas3-gen", "oas3-gen", |document, output, _| {
        let mut all = to_os_strings(&["generate", "client-mod", "--input"]);
        all.extend([document.into(), "--output".into(), output.join("src").into()]);
        all
    });
    add("openapi-generator", "openapi-generator-cli", |document, output, package| {
        let mut all = to_os_strings(&["generate", "--generator-name", "rust", "--skip-validate-spec"]);
        all.extend(to_os_strings(&["--additional-properties", &format!("packageName={package}")]));
        all.extend(["--input-spec".into(), document.into(), "--output".into(), output.into()]);
        all
    });
    Ok((found, absent))
}

/// Exports the schemas of a document as draft-07 to a file next to the output. Returns the inner error if the
/// generator cannot export them.
fn export_definitions(root: &Path, document: &Path, output: &Path) -> io::Result<Result<PathBuf, String>> {
    let lowered =
        Command::new(root.join(OUR_PROGRAM)).args(["lower", "--draft-07"]).arg(document).output()?;
    if !lowered.status.success() {
        return Ok(Err(most_relevant_line(&String::from_utf8_lossy(&lowered.stderr))));
    }
    let file = output.with_extension("schemas.json");
    fs::write(&file, lowered.stdout)?;
    fs::create_dir_all(output.join("src"))?;
    Ok(Ok(file))
}

fn to_os_strings(all: &[&str]) -> Vec<OsString> {
    all.iter().map(Into::into).collect()
}

fn run_generator(
    generator: &GeneratorCommand,
    root: &Path,
    document: &Path,
    output: &Path,
    package: &str,
) -> io::Result<GenerationResult> {
    let mut outcome = GenerationResult::default();
    for _ in 0..generator.runs {
        if output.exists() {
            fs::remove_dir_all(output)?;
        }
        if let Some(parent) = output.parent() {
            fs::create_dir_all(parent)?;
        }
        let schemas = match generator.input {
            InputFormat::Document => None,
            InputFormat::Definitions => match export_definitions(root, document, output)? {
                Ok(file) => Some(file),
                Err(reason) => {
                    outcome.failure = Some(reason);
                    return Ok(outcome);
                }
            },
        };
        let input = schemas.as_deref().unwrap_or(document);
        let log = output.with_extension("log");
        let file = fs::File::create(&log)?;
        let start = Instant::now();
        let mut child = Command::new(&generator.program)
            .args((generator.arguments)(input, output, package))
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if start.elapsed() > GENERATOR_TIMEOUT {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(Duration::from_millis(2));
        };
        let time = start.elapsed();
        match status {
            Some(status) if status.success() => {
                outcome.generated = Some(outcome.generated.map_or(time, |best| best.min(time)));
            }
            Some(_) => {
                outcome.failure = Some(most_relevant_line(&fs::read_to_string(&log).unwrap_or_default()));
                return Ok(outcome);
            }
            None => {
                outcome.failure = Some(format!("timeout after {} s", GENERATOR_TIMEOUT.as_secs()));
                return Ok(outcome);
            }
        }
    }
    if let Err(error) = (generator.make_package)(output, package) {
        outcome.failure = Some(format!("cannot make a package of its output: {error}"));
        return Ok(outcome);
    }
    outcome.lines = count_lines(&output.join("src"))?;
    if output.join("Cargo.toml").is_file() {
        outcome.compiled = Some(check_package(output, package)?);
    }
    Ok(outcome)
}

/// Returns the first line of a log that mentions an error, or else the last line. The result has at most 120
/// characters, and its paths are shortened to their last component.
fn most_relevant_line(log: &str) -> String {
    let is_relevant =
        |line: &&str| ["panicked", "error", "Error", "Exception"].iter().any(|word| line.contains(word));
    let line = log.lines().find(is_relevant).or_else(|| log.lines().last()).unwrap_or_default().trim();
    // Only the last component of a path is the same on every machine.
    let words = line.split(' ').map(|word| word.rsplit('/').next().unwrap_or(word));
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !matches!(c, '|' | '\u{1b}')).take(120).collect()
}

fn count_lines(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            count += count_lines(&path)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            count += fs::read_to_string(&path)?.lines().count();
        }
    }
    Ok(count)
}

/// Compiles a package twice: the first run builds its dependencies, and the second run measures only this
/// package.
fn check_package(package: &Path, name: &str) -> io::Result<CompilerResult> {
    // Without its own workspace, cargo would treat the package as a member of this repository's workspace.
    let manifest = package.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    if !text.contains("[workspace]") {
        fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
    }
    let all = ["check", "--all-features", "--quiet", "--message-format=json"];
    let run = |arguments: &[&str]| {
        let mut command = cargo_command();
        command.args(arguments).current_dir(package).env("CARGO_INCREMENTAL", "0").stderr(Stdio::null());
        command.output()
    };
    run(&all)?;
    run(&["clean", "-p", name])?;
    let start = Instant::now();
    let output = run(&all)?;
    let mut checked = CompilerResult { time: start.elapsed(), ..CompilerResult::default() };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let ours = message["target"]["name"].as_str() == Some(&name.replace('-', "_"));
        // Summary messages ("aborting due to …") have no location and are not counted.
        if !ours || message["message"]["spans"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        match message["message"]["level"].as_str() {
            Some("error") => checked.errors += 1,
            Some("warning") => checked.warnings += 1,
            _ => {}
        }
    }
    Ok(checked)
}

fn print_result(args: &CompareArgs, document: &str, generator: &str, outcome: &GenerationResult) {
    let seconds = |time: Duration| time.as_secs_f64();
    if args.json {
        let checked = outcome.compiled.as_ref();
        let line = json!({
            "document": document,
            "generator": generator,
            "generatedSeconds": outcome.generated.map(seconds),
            "failure": outcome.failure,
            "lines": outcome.lines,
            "checkSeconds": checked.map(|c| seconds(c.time)),
            "errors": checked.map(|c| c.errors),
            "warnings": checked.map(|c| c.warnings),
        });
        anstream::println!("{line}");
        return;
    }
    let generated = match (&outcome.failure, outcome.generated) {
        (Some(failure), _) => format!("fails: {failure}"),
        (None, Some(time)) => format!("{:.2} s", seconds(time)),
        (None, None) => String::new(),
    };
    let (compiled, time) = match &outcome.compiled {
        Some(CompilerResult { time, errors, warnings }) => {
            (format!("{errors} errors, {warnings} warnings"), format!("{:.1} s", seconds(*time)))
        }
        None => ("not compiled".to_owned(), String::new()),
    };
    anstream::println!(
        "| {document} | {generator} | {generated} | {} | {compiled} | {time} |",
        outcome.lines
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_relevant_line_is_selected() {
        assert_eq!(
            most_relevant_line("reading\nthread 'main' panicked at a|b\nnote"),
            "thread 'main' panicked at ab"
        );
        assert_eq!(most_relevant_line("error in /a/b.rs:7 here"), "error in b.rs:7 here");
        assert_eq!(most_relevant_line("one\nlast"), "last");
        assert_eq!(most_relevant_line(""), "");
    }
}
