//! `oracles`: other implementations of JOSE, asked about our proofs, and ours about theirs.
//!
//! `jose` (JavaScript) and `jwcrypto` (Python) are installed below `target/` ([`tools`]). Their scripts in
//! `dpop/vectors/` judge `ours.json` and make proofs of their own; what they say is compared with the answers
//! and the known differences ([`compare`]), their proofs are put to the example `judge` of `dpop-bound`.
//! What comes of it is shown by [`mod@print`]. Nothing else needs either language.

mod compare;
mod print;
mod tools;

use std::{collections::BTreeMap, fs, path::Path, time::Instant};

use serde::de::DeserializeOwned;

use self::{
    compare::{Asked, Differences, Judgement, Vectors},
    print::Outcome,
    tools::Oracle,
};
use crate::{
    Verdict,
    cli::OraclesArgs,
    packages::{self, Package},
    program,
    style::{complain, progress},
    test,
};

/// Where everything goes that this command makes.
const TARGET: &str = "target/oracles";
/// The files of vectors.
const VECTORS: &str = "dpop/vectors";

/// Carries the command out.
pub(crate) fn run(args: &OraclesArgs, root: &Path) -> Verdict {
    let folder = root.join(TARGET);
    // All that is missing is said at once.
    let libraries = Oracle::ALL.map(Oracle::package);
    let names = libraries.map(Package::label).join(", ");
    progress("library", &format!("{names} in {TARGET}"));
    if let Err(missing) = packages::install(&libraries, &folder) {
        missing.iter().for_each(|what| complain(what));
        return Verdict::NotRun;
    }
    // With the libraries at hand, whatever keeps them from being asked is ours to repair.
    let asked: Result<Vec<Outcome>, String> =
        Oracle::ALL.into_iter().map(|oracle| ask(oracle, args, root)).collect();
    let outcomes = match asked {
        Ok(outcomes) => outcomes,
        Err(error) => {
            complain(&error);
            return Verdict::ToRepair;
        }
    };
    for outcome in &outcomes {
        anstream::print!("{}", if args.json { outcome.json() } else { outcome.text() });
    }
    if outcomes.iter().all(Outcome::agrees) { Verdict::InOrder } else { Verdict::ToRepair }
}

/// Asks one oracle about ours, and ours about its proofs.
fn ask(oracle: Oracle, args: &OraclesArgs, root: &Path) -> Result<Outcome, String> {
    let start = Instant::now();
    let (name, folder) = (oracle.name(), root.join(TARGET));
    let vectors = root.join(VECTORS);
    let ours = vectors.join("ours.json");
    let theirs = folder.join(format!("{name}.json"));

    progress(name, &format!("{VECTORS}/{} about ours.json", oracle.script()));
    let judgements = oracle.ask(&vectors, &folder, &ours, &theirs)?;
    let judgements: Vec<Judgement> = judgements
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("{name} said `{line}`: {error}")))
        .collect::<Result<_, _>>()?;
    let known: Differences = read(&vectors.join("differences.json"))?;
    let known = known.get(name).ok_or_else(|| format!("{VECTORS}/differences.json does not name {name}"))?;
    let asked = Asked::of(&read::<Vectors>(&ours)?.cases, &judgements, known)?;

    progress("judge", &format!("{TARGET}/{name}.json"));
    let made: Vectors = read(&theirs)?;
    let wrong = judge(root, &theirs, &made)?;
    if args.write && wrong.is_empty() {
        let committed = vectors.join(format!("{name}.json"));
        fs::copy(&theirs, &committed)
            .map_err(|error| format!("cannot write {}: {error}", committed.display()))?;
        progress("written", &format!("{VECTORS}/{name}.json"));
    }
    Ok(Outcome {
        name,
        by: made.by.unwrap_or_default(),
        asked,
        made: made.cases.len(),
        wrong,
        time: start.elapsed(),
    })
}

/// What the example says of a file; the cases that it answers otherwise than the file does.
fn judge(root: &Path, file: &Path, made: &Vectors) -> Result<Vec<String>, String> {
    let mut command = test::cargo();
    command.args(["run", "--quiet", "-p", "dpop-bound", "--all-features", "--example", "judge", "--"]);
    let output = command.arg(file).current_dir(root).output();
    let output = output.map_err(|error| format!("cannot run cargo: {error}"))?;
    let (said, complaint) = (program::text(&output.stdout), program::text(&output.stderr));
    let words: BTreeMap<&str, &str> = said.lines().filter_map(|line| line.rsplit_once(": ")).collect();
    // What the compiler refuses ends with 101 and without an answer.
    if !matches!(output.status.code(), Some(0 | 1)) || said.lines().count() != made.cases.len() {
        return Err(format!("the example `judge` of dpop-bound did not answer:\n{complaint}"));
    }
    Ok(compare::answered_otherwise(&made.cases, &words))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
