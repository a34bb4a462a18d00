//! `compare`: generators on the same documents, in the same run.
//!
//! Ours always runs, typify and openapi-to-rust are installed where they are not there ([`tools`]), the
//! others run where they are. typify is given the schemas in the words that it reads. Each output that
//! is a package is checked by the compiler, its dependencies built before, and what the compiler says
//! is counted.

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

use crate::{Verdict, cli::CompareArgs, style::complain, test::cargo};

/// Longer than this no generator may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Ours, from the root of the repository.
const COMMAND: &str = "target/release/contract-codegen";

/// What ours is called.
const OURS: &str = "contract-codegen";

/// How often ours runs; the best time counts.
const RUNS: usize = 3;

/// A generator, and how it is asked for a package of a document.
struct Generator {
    name: &'static str,
    program: PathBuf,
    /// From the document, the folder to write and the package's name.
    arguments: fn(&Path, &Path, &str) -> Vec<OsString>,
    runs: usize,
    reads: Reads,
    /// Makes a package of the output, given its folder and name.
    finish: fn(&Path, &str) -> io::Result<()>,
}

/// What a generator is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// The document.
    Document,
    /// Its schemas as `definitions` of draft-07.
    Definitions,
}

/// What one generator made of one document.
#[derive(Debug, Default)]
struct Outcome {
    generated: Option<Duration>,
    /// Why it failed, in its own words.
    failure: Option<String>,
    lines: usize,
    checked: Option<Checked>,
}

/// What the compiler says of a package.
#[derive(Debug, Default)]
struct Checked {
    time: Duration,
    errors: usize,
    warnings: usize,
}

/// Carries the command out.
pub(crate) fn run(args: &CompareArgs, root: &Path) -> Verdict {
    match compare(args, root) {
        Ok(verdict) => verdict,
        Err(error) => {
            complain(&error);
            Verdict::NotRun
        }
    }
}

fn compare(args: &CompareArgs, root: &Path) -> io::Result<Verdict> {
    let mut build = cargo();
    build.args(["build", "--release", "-p", "contract-codegen"]).current_dir(root);
    if !build.status()?.success() {
        return Ok(Verdict::NotRun);
    }
    let (generators, absent) = match generators(args, root) {
        Ok(found) => found,
        Err(problem) => {
            complain(&problem);
            return Ok(Verdict::NotRun);
        }
    };
    for name in absent {
        anstream::eprintln!("{name}: not on PATH, left out");
    }
    if !args.json {
        anstream::println!("| document | generator | generated in | lines | the compiler | `cargo check` |");
        anstream::println!("|---|---|---|---|---|---|");
    }
    let mut verdict = Verdict::InOrder;
    for document in &args.documents {
        let document = fs::canonicalize(document)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", document.display())))?;
        let stem = document.file_stem().and_then(|stem| stem.to_str()).unwrap_or("document");
        for generator in &generators {
            let output = root.join("target/compare").join(stem).join(generator.name);
            let outcome = one(generator, root, &document, &output, &format!("compared-{stem}"))?;
            let clean = outcome.checked.as_ref().is_some_and(|c| c.errors + c.warnings == 0);
            if generator.name == OURS && !clean {
                verdict = Verdict::ToRepair;
            }
            show(args, stem, generator.name, &outcome);
        }
    }
    Ok(verdict)
}

/// What runs, and what is not there.
///
/// # Errors
/// What cannot be installed.
fn generators(args: &CompareArgs, root: &Path) -> Result<(Vec<Generator>, Vec<&'static str>), String> {
    let mut found = vec![Generator {
        name: OURS,
        program: root.join(COMMAND),
        arguments: |document, output, package| {
            let mut all = words(&["generate"]);
            all.extend([document.into(), "--output".into(), output.into()]);
            all.extend(words(&["--package", package]));
            all
        },
        runs: RUNS,
        reads: Reads::Document,
        finish: |_, _| Ok(()),
    }];
    let cache = root.join("target/compare/tools");
    found.push(Generator {
        name: "typify",
        program: tools::TYPIFY.install(&cache)?,
        arguments: |schemas, output, _| {
            let mut all = words(&["typify", "--no-builder", "--output"]);
            all.extend([output.join("src/lib.rs").into(), schemas.into()]);
            all
        },
        runs: 1,
        reads: Reads::Definitions,
        finish: tools::typify_package,
    });
    found.push(Generator {
        name: "openapi-to-rust",
        program: tools::OPENAPI_TO_RUST.install(&cache)?,
        arguments: |document, output, _| {
            let mut all = words(&["generate", "--quiet", "--output-dir"]);
            all.extend([output.join("src").into(), document.into()]);
            all
        },
        runs: 1,
        reads: Reads::Document,
        finish: tools::openapi_to_rust_package,
    });
    let mut absent = Vec::new();
    let path = |program: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders = args.tools.iter().cloned().chain(std::env::split_paths(&folders).collect::<Vec<_>>());
        folders.map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    let mut add = |name, program: &str, arguments| match path(program) {
        Some(program) => {
            let (reads, finish) = (Reads::Document, (|_, _| Ok(())) as fn(&Path, &str) -> io::Result<()>);
            found.push(Generator { name, program, arguments, runs: 1, reads, finish });
        }
        None => absent.push(name),
    };
    add("progenitor", "cargo-progenitor", |document, output, package| {
        let mut all = words(&["progenitor", "--version", "0.1.0", "--name", package, "--input"]);
        all.extend([document.into(), "--output".into(), output.into()]);
        all
    });
    add("oas3-gen", "oas3-gen", |document, output, _| {
        let mut all = words(&["generate", "client-mod", "--input"]);
        all.extend([document.into(), "--output".into(), output.join("src").into()]);
        all
    });
    add("openapi-generator", "openapi-generator-cli", |document, output, package| {
        let mut all = words(&["generate", "--generator-name", "rust", "--skip-validate-spec"]);
        all.extend(words(&["--additional-properties", &format!("packageName={package}")]));
        all.extend(["--input-spec".into(), document.into(), "--output".into(), output.into()]);
        all
    });
    Ok((found, absent))
}

/// The schemas of a document in the words of draft-07, in a file beside the output.
fn definitions(root: &Path, document: &Path, output: &Path) -> io::Result<Result<PathBuf, String>> {
    let said = Command::new(root.join(COMMAND)).args(["lower", "--draft-07"]).arg(document).output()?;
    if !said.status.success() {
        return Ok(Err(reason(&String::from_utf8_lossy(&said.stderr))));
    }
    let file = output.with_extension("schemas.json");
    fs::write(&file, said.stdout)?;
    fs::create_dir_all(output.join("src"))?;
    Ok(Ok(file))
}

fn words(all: &[&str]) -> Vec<OsString> {
    all.iter().map(Into::into).collect()
}

fn one(
    generator: &Generator,
    root: &Path,
    document: &Path,
    output: &Path,
    package: &str,
) -> io::Result<Outcome> {
    let mut outcome = Outcome::default();
    for _ in 0..generator.runs {
        if output.exists() {
            fs::remove_dir_all(output)?;
        }
        if let Some(parent) = output.parent() {
            fs::create_dir_all(parent)?;
        }
        let schemas = match generator.reads {
            Reads::Document => None,
            Reads::Definitions => match definitions(root, document, output)? {
                Ok(file) => Some(file),
                Err(reason) => {
                    outcome.failure = Some(reason);
                    return Ok(outcome);
                }
            },
        };
        let given = schemas.as_deref().unwrap_or(document);
        let log = output.with_extension("log");
        let file = fs::File::create(&log)?;
        let start = Instant::now();
        let mut child = Command::new(&generator.program)
            .args((generator.arguments)(given, output, package))
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if start.elapsed() > PATIENCE {
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
                outcome.failure = Some(reason(&fs::read_to_string(&log).unwrap_or_default()));
                return Ok(outcome);
            }
            None => {
                outcome.failure = Some(format!("no end after {} s", PATIENCE.as_secs()));
                return Ok(outcome);
            }
        }
    }
    if let Err(error) = (generator.finish)(output, package) {
        outcome.failure = Some(format!("no package can be made of its output: {error}"));
        return Ok(outcome);
    }
    outcome.lines = lines(&output.join("src"))?;
    if output.join("Cargo.toml").is_file() {
        outcome.checked = Some(check(output, package)?);
    }
    Ok(outcome)
}

/// The line of a log that tells most.
fn reason(log: &str) -> String {
    let telling =
        |line: &&str| ["panicked", "error", "Error", "Exception"].iter().any(|word| line.contains(word));
    let line = log.lines().find(telling).or_else(|| log.lines().last()).unwrap_or_default().trim();
    // Of a path the end says enough, and it is the same on every machine.
    let words = line.split(' ').map(|word| word.rsplit('/').next().unwrap_or(word));
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !matches!(c, '|' | '\u{1b}')).take(120).collect()
}

fn lines(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            count += lines(&path)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            count += fs::read_to_string(&path)?.lines().count();
        }
    }
    Ok(count)
}

/// Checks a package twice: first for its dependencies, then alone.
fn check(package: &Path, name: &str) -> io::Result<Checked> {
    // A package below a workspace would be taken for a member of it.
    let manifest = package.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    if !text.contains("[workspace]") {
        fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
    }
    let all = ["check", "--all-features", "--quiet", "--message-format=json"];
    let run = |arguments: &[&str]| {
        let mut command = cargo();
        command.args(arguments).current_dir(package).env("CARGO_INCREMENTAL", "0").stderr(Stdio::null());
        command.output()
    };
    run(&all)?;
    run(&["clean", "-p", name])?;
    let start = Instant::now();
    let output = run(&all)?;
    let mut checked = Checked { time: start.elapsed(), ..Checked::default() };
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let ours = message["target"]["name"].as_str() == Some(&name.replace('-', "_"));
        // Closing lines ("aborting due to …") stand at no place.
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

fn show(args: &CompareArgs, document: &str, generator: &str, outcome: &Outcome) {
    let seconds = |time: Duration| time.as_secs_f64();
    if args.json {
        let checked = outcome.checked.as_ref();
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
    let (said, time) = match &outcome.checked {
        Some(Checked { time, errors, warnings }) => {
            (format!("{errors} errors, {warnings} warnings"), format!("{:.1} s", seconds(*time)))
        }
        None => ("not asked".to_owned(), String::new()),
    };
    anstream::println!("| {document} | {generator} | {generated} | {} | {said} | {time} |", outcome.lines);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_told_by_its_most_telling_line() {
        assert_eq!(reason("reading\nthread 'main' panicked at a|b\nnote"), "thread 'main' panicked at ab");
        assert_eq!(reason("error in /a/b.rs:7 here"), "error in b.rs:7 here");
        assert_eq!(reason("one\nlast"), "last");
        assert_eq!(reason(""), "");
    }
}
