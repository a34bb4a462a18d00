//! `cargo xtask drift-peer DIR`: compares the verdicts of `drift` with those of another tool.
//!
//! DIR is a checkout of oasdiff. Its tests compare pairs of documents and name the rules that must report a
//! change; each rule has a level. [`go_tests`] reads the pairs and the levels. A disagreement must be listed in
//! `peer.toml` with the reason for it.

mod go_tests;
mod known;

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use contract_codegen::drift::{ChangeLevel, CompareOptions, ContractVersion, compare};

use go_tests::{DocumentPair, PeerPair};
use known::KnownDisagreements;

/// The date with which `x-sunset` is compared. The documents have dates far in the past and in the future.
const TODAY: &str = "2026-01-01";

const EXIT_UNEXPLAINED: u8 = 1;
const EXIT_FAILED: u8 = 2;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("error: the argument DIR, a checkout of oasdiff, is missing");
        return ExitCode::from(EXIT_FAILED);
    };
    let known = match KnownDisagreements::parse(include_str!("../../peer.toml")) {
        Ok(known) => known,
        Err(error) => {
            eprintln!("error: xtask/drift/peer.toml: {error}");
            return ExitCode::from(EXIT_FAILED);
        }
    };
    ExitCode::from(run_to_exit_code(Path::new(&folder), &known, &mut io::stdout(), &mut io::stderr()))
}

fn run_to_exit_code(
    folder: &Path,
    known: &KnownDisagreements,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let tests = match go_tests::read_checkout(folder) {
        Ok(tests) => tests,
        Err(problem) => {
            let _ = writeln!(err, "error: {problem}");
            return EXIT_FAILED;
        }
    };
    let verdicts: Vec<PairVerdict<'_>> =
        tests.pairs.iter().map(|pair| PairVerdict::new(folder, pair, known)).collect();
    let report = render_report(&verdicts, &tests.skipped);
    if out.write_all(report.as_bytes()).and_then(|()| out.flush()).is_err() {
        return EXIT_FAILED;
    }
    if verdicts.iter().any(PairVerdict::needs_attention) { EXIT_UNEXPLAINED } else { 0 }
}

/// Whether the new version of a pair breaks clients of the old one, according to `drift`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnVerdict {
    Breaking,
    NotBreaking,
    /// One of the documents cannot be read.
    Unreadable,
}

impl OwnVerdict {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::NotBreaking => "not breaking",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The verdicts of both tools on a pair.
struct PairVerdict<'a> {
    pair: &'a PeerPair,
    own: OwnVerdict,
    /// The changes that `drift` reports, or the reason why a document cannot be read.
    findings: Vec<String>,
    /// The reason for a disagreement from `peer.toml`.
    reason: Option<&'a str>,
}

impl<'a> PairVerdict<'a> {
    fn new(folder: &Path, pair: &'a PeerPair, known: &'a KnownDisagreements) -> Self {
        let (own, findings) = compare_pair(folder, &pair.documents);
        let reason = known.reason(&pair.documents, own.as_str());
        Self { pair, own, findings, reason }
    }

    fn agrees(&self) -> bool {
        match self.own {
            OwnVerdict::Breaking => self.pair.is_breaking(),
            OwnVerdict::NotBreaking => !self.pair.is_breaking(),
            OwnVerdict::Unreadable => false,
        }
    }

    /// Returns true for a disagreement without a reason, and for a reason without a disagreement.
    fn needs_attention(&self) -> bool {
        self.agrees() == self.reason.is_some()
    }
}

/// Returns the verdict of `drift` on a pair, and the changes of the highest level.
fn compare_pair(folder: &Path, documents: &DocumentPair) -> (OwnVerdict, Vec<String>) {
    let open = |file: &str| {
        ContractVersion::open(&folder.join(file)).map_err(|problems| {
            (OwnVerdict::Unreadable, vec![format!("{file}: {}", problems.render(false).trim_end())])
        })
    };
    let (old, new) = match (open(&documents.old), open(&documents.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(problem), _) | (_, Err(problem)) => return problem,
    };
    let drift =
        compare(&old, &new, &CompareOptions { today: TODAY.parse().ok(), ..CompareOptions::default() });
    let level = drift.overall_level();
    let findings = drift.changes.iter().filter(|change| change.level() == level);
    let findings =
        findings.map(|change| format!("{} {}: {}", change.rule, change.subject, change.difference)).collect();
    let own = if level == ChangeLevel::Breaking { OwnVerdict::Breaking } else { OwnVerdict::NotBreaking };
    (own, findings)
}

fn render_report(verdicts: &[PairVerdict<'_>], skipped: &[(&str, usize)]) -> String {
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.needs_attention()) {
        text.push_str(&render_verdict(verdict));
    }
    let agreements = verdicts.iter().filter(|verdict| verdict.agrees()).count();
    let explained = verdicts.iter().filter(|verdict| !verdict.agrees() && verdict.reason.is_some()).count();
    let unexplained = verdicts.iter().filter(|verdict| verdict.needs_attention()).count();
    let tests: usize = verdicts.iter().map(|verdict| verdict.pair.tests.len()).sum();
    text.push_str(&format!(
        "{} pairs of {tests} tests: {agreements} agreements, {explained} disagreements with a reason, \
         {unexplained} entries to fix\n",
        verdicts.len()
    ));
    for (reason, count) in skipped {
        text.push_str(&format!("skipped {count} tests: {reason}\n"));
    }
    text
}

fn render_verdict(verdict: &PairVerdict<'_>) -> String {
    let PairVerdict { pair, own, findings, reason } = verdict;
    let mut text = format!("{} -> {}\n", pair.documents.old, pair.documents.new);
    if reason.is_some() {
        text.push_str("  listed in xtask/drift/peer.toml, but both tools agree: remove the entry\n");
        return text;
    }
    let theirs = if pair.is_breaking() { "breaking" } else { "not breaking" };
    text.push_str(&format!("  oasdiff: {theirs}; drift: {}\n", own.as_str()));
    for (id, level) in &pair.rules {
        text.push_str(&format!("  oasdiff {} {id}\n", level.as_str()));
    }
    for finding in findings {
        text.push_str(&format!("  drift   {finding}\n"));
    }
    text.push_str(&format!("  tests   {}\n", pair.tests.join(", ")));
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
