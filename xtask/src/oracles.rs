//! `oracles`: cross-checks DPoP proofs with other implementations of JOSE.
//!
//! Installs `jose` (JavaScript) and `jwcrypto` (Python) below `target/` ([`tools`]). The scripts in
//! `dpop/vectors/` verify the proofs in `ours.json` with these libraries and create further proofs.
//! [`compare`] compares the results with the expected results and the known differences. The example
//! `verify_vectors` of `dpop-bound` verifies the proofs that the libraries created. [`mod@print`] renders the
//! result. Except for `peers`, no other command needs Node.js or Python.

mod compare;
mod print;
mod tools;

use std::{collections::BTreeMap, fs, path::Path, time::Instant};

use serde::de::DeserializeOwned;

use self::{
    compare::{KnownDifferences, OracleComparison, OracleVerdict, VectorFile},
    print::OracleResult,
    tools::OracleLibrary,
};
use crate::{
    CommandOutcome,
    cli::OraclesArgs,
    packages::{self, ToolPackage},
    program,
    style::{report_error, report_progress},
    test,
};

/// The folder for everything that this command creates.
const TARGET_FOLDER: &str = "target/oracles";
const VECTORS_FOLDER: &str = "dpop/vectors";

pub(crate) fn run(args: &OraclesArgs, root: &Path) -> CommandOutcome {
    let folder = root.join(TARGET_FOLDER);
    // Install all libraries first, so that all missing programs are reported at once.
    let libraries = OracleLibrary::ALL.map(OracleLibrary::package);
    let names = libraries.map(ToolPackage::label).join(", ");
    report_progress("library", &format!("{names} in {TARGET_FOLDER}"));
    if let Err(missing) = packages::install_packages(&libraries, &folder) {
        missing.iter().for_each(|error| report_error(error));
        return CommandOutcome::NotRun;
    }
    // If the libraries are installed, any other error is a failure and not a missing prerequisite.
    let results: Result<Vec<OracleResult>, String> =
        OracleLibrary::ALL.into_iter().map(|oracle| run_oracle(oracle, args, root)).collect();
    let outcomes = match results {
        Ok(outcomes) => outcomes,
        Err(error) => {
            report_error(&error);
            return CommandOutcome::Failed;
        }
    };
    for outcome in &outcomes {
        anstream::print!("{}", if args.json { outcome.render_json() } else { outcome.render_text() });
    }
    if outcomes.iter().all(OracleResult::is_passed) { CommandOutcome::Passed } else { CommandOutcome::Failed }
}

/// Verifies our proofs with one library, and verifies the proofs of the library with our verifier.
fn run_oracle(oracle: OracleLibrary, args: &OraclesArgs, root: &Path) -> Result<OracleResult, String> {
    let start = Instant::now();
    let (name, folder) = (oracle.name(), root.join(TARGET_FOLDER));
    let vectors = root.join(VECTORS_FOLDER);
    let ours = vectors.join("ours.json");
    let theirs = folder.join(format!("{name}.json"));

    report_progress(name, &format!("{VECTORS_FOLDER}/{} verifies ours.json", oracle.script_name()));
    let verdicts = oracle.verify_vectors(&vectors, &folder, &ours, &theirs)?;
    let verdicts: Vec<OracleVerdict> = verdicts
        .lines()
        .map(|line| {
            serde_json::from_str(line).map_err(|error| format!("invalid output of {name}: `{line}`: {error}"))
        })
        .collect::<Result<_, _>>()?;
    let known: KnownDifferences = read_json(&vectors.join("differences.json"))?;
    let known = known
        .get(name)
        .ok_or_else(|| format!("{VECTORS_FOLDER}/differences.json has no entry for {name}"))?;
    let comparison =
        OracleComparison::from_verdicts(&read_json::<VectorFile>(&ours)?.cases, &verdicts, known)?;

    report_progress("verify", &format!("{TARGET_FOLDER}/{name}.json"));
    let proofs: VectorFile = read_json(&theirs)?;
    let wrong = verify_proofs(root, &theirs, &proofs)?;
    if args.write && wrong.is_empty() {
        let committed = vectors.join(format!("{name}.json"));
        fs::copy(&theirs, &committed)
            .map_err(|error| format!("cannot write {}: {error}", committed.display()))?;
        report_progress("written", &format!("{VECTORS_FOLDER}/{name}.json"));
    }
    Ok(OracleResult {
        name,
        library: proofs.by.unwrap_or_default(),
        comparison,
        proof_count: proofs.cases.len(),
        wrong,
        time: start.elapsed(),
    })
}

/// Verifies the proofs of a file with the example `verify_vectors`. Returns a line for each case with an
/// unexpected result.
fn verify_proofs(root: &Path, file: &Path, proofs: &VectorFile) -> Result<Vec<String>, String> {
    let mut command = test::cargo_command();
    command.args([
        "run",
        "--quiet",
        "-p",
        "dpop-bound",
        "--all-features",
        "--example",
        "verify_vectors",
        "--",
    ]);
    let output = command.arg(file).current_dir(root).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    let (results, errors) = (program::decode_output(&output.stdout), program::decode_output(&output.stderr));
    let answers: BTreeMap<&str, &str> = results.lines().filter_map(|line| line.rsplit_once(": ")).collect();
    // If the example does not compile, cargo exits with 101 and prints no results.
    if !matches!(output.status.code(), Some(0 | 1)) || results.lines().count() != proofs.cases.len() {
        return Err(format!("the example `verify_vectors` of dpop-bound failed:\n{errors}"));
    }
    Ok(compare::unexpected_results(&proofs.cases, &answers))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
