//! Renders the result of a run as text and as JSON.

use std::{fmt::Write as _, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use super::{
    cases::SuitePart,
    package::PackageSize,
    score::{CaseTally, FailedCase, SuiteScore},
};
use crate::style::{DIMMED, FAILURE, HEADING, SUCCESS};

/// The maximum number of lines that are printed for each kind of failure.
const MAX_SHOWN: usize = 40;

#[derive(Debug)]
pub(super) struct SuiteRun {
    /// The name of the draft and the options, such as `2020-12`.
    pub(super) name: String,
    pub(super) suite: PathBuf,
    pub(super) score: SuiteScore,
    pub(super) size: PackageSize,
    pub(super) generating: Duration,
    pub(super) compiling: Duration,
    pub(super) running: Duration,
    /// The reasons why the result is worse than the recorded score.
    pub(super) problems: Vec<String>,
}

impl SuiteRun {
    /// Renders the result as text: a table of the files, the failures, the totals and the times.
    pub(super) fn render_text(&self) -> String {
        let mut out = String::new();
        let name = format!("draft {}", self.name);
        let head = [&name, "groups", "cases", "validators", "types", "accepted by type only"];
        let [name, groups, cases, validators, types, loose] = head;
        let _ = writeln!(
            out,
            "{HEADING}{name:<38} {groups:>6} {cases:>6} {validators:>10} {types:>6}  {loose}{HEADING:#}"
        );
        for (_, file, tally) in &self.score.files {
            out.push_str(&render_row(file, *tally));
        }
        for part in SuitePart::ALL {
            let tally = self.score.parts.get(&part).copied().unwrap_or_default();
            let _ = write!(out, "{HEADING}{}{HEADING:#}", render_row(part.label(), tally));
        }
        self.render_failed_cases(&mut out);
        let SuiteScore { cross_checks, disagreements, .. } = &self.score;
        let _ = writeln!(
            out,
            "types and validators were compared on {cross_checks} values of other schemas and disagreed on {}",
            disagreements.len()
        );
        for place in disagreements.iter().take(MAX_SHOWN) {
            let _ = writeln!(out, "  {place}");
        }
        let assumed: usize = self.score.parts.values().map(|tally| tally.excluded).sum();
        if assumed > 0 {
            let _ = writeln!(out, "{assumed} valid values are rejected by types because of the options");
        }
        let PackageSize { modules, lines, bytes } = self.size;
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let _ = writeln!(
            out,
            "\n{DIMMED}{}: {modules} modules, {lines} lines, {:.1} MB; generated in {}, compiled in {}, run in {}{DIMMED:#}",
            self.suite.display(),
            bytes as f64 / 1e6,
            seconds(self.generating),
            seconds(self.compiling),
            seconds(self.running)
        );
        if self.problems.is_empty() {
            let _ = writeln!(out, "{SUCCESS}as recorded{SUCCESS:#}, or better");
        } else {
            let _ = writeln!(out, "{FAILURE}worse than recorded{FAILURE:#}");
            for problem in &self.problems {
                let _ = writeln!(out, "  {problem}");
            }
        }
        out
    }

    fn render_failed_cases(&self, out: &mut String) {
        let (known, new): (Vec<&FailedCase>, Vec<&FailedCase>) =
            self.score.failed_cases.iter().partition(|failed| failed.reason.is_some());
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for failed in known {
            let reason = failed.reason.as_deref().unwrap_or_default();
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
        for (reason, count) in reasons {
            let _ = writeln!(out, "{DIMMED}{count:>5} known failures: {reason}{DIMMED:#}");
        }
        let more = |out: &mut String, count: usize| {
            if count > MAX_SHOWN {
                let _ = writeln!(out, "  … {} more; `--json` prints all", count - MAX_SHOWN);
            }
        };
        for FailedCase { file, group, case, valid, failed_part, details, .. } in new.iter().take(MAX_SHOWN) {
            let valid = if *valid { "valid" } else { "invalid" };
            let details: String = details.chars().take(600).collect();
            let _ = writeln!(
                out,
                "{FAILURE}{file}{FAILURE:#}: {group}: {case} ({valid})\n  failed by {failed_part}: {details}"
            );
        }
        more(out, new.len());
        for place in self.score.unreported.iter().take(MAX_SHOWN) {
            let _ = writeln!(out, "{FAILURE}missing in the report{FAILURE:#}: {place}");
        }
        more(out, self.score.unreported.len());
    }

    /// Renders the result as one JSON object.
    pub(super) fn render_json(&self) -> String {
        let tally = |name: &str, tally: &CaseTally| {
            let CaseTally { groups, cases, validators, types, accepted_invalid, excluded } = tally;
            json!({ "name": name, "groups": groups, "cases": cases, "validators": validators, "types": types, "acceptedInvalid": accepted_invalid, "excluded": excluded })
        };
        let render_case = |failed: &FailedCase| {
            let FailedCase { file, group, case, valid, failed_part, details, reason } = failed;
            json!({ "file": file, "group": group, "case": case, "valid": valid, "wrongPart": failed_part, "details": details, "known": reason })
        };
        let SuiteScore { parts, files, failed_cases, unreported, cross_checks, disagreements } = &self.score;
        let parts: Vec<Value> = parts.iter().map(|(part, each)| tally(part.label(), each)).collect();
        let files: Vec<Value> = files.iter().map(|(_, file, each)| tally(file, each)).collect();
        let PackageSize { modules, lines, bytes } = self.size;
        let result = json!({
            "draft": self.name,
            "suite": self.suite,
            "parts": parts,
            "files": files,
            "wrong": failed_cases.iter().map(render_case).collect::<Vec<_>>(),
            "unreported": unreported,
            "crossChecks": cross_checks, "disagreements": disagreements,
            "modules": modules, "lines": lines, "bytes": bytes,
            "seconds": {
                "generating": self.generating.as_secs_f64(),
                "compiling": self.compiling.as_secs_f64(),
                "running": self.running.as_secs_f64(),
            },
            "problems": self.problems,
        });
        format!("{result}\n")
    }
}

fn render_row(name: &str, tally: CaseTally) -> String {
    let CaseTally { groups, cases, validators, types, accepted_invalid: loose, .. } = tally;
    format!("{name:<38} {groups:>6} {cases:>6} {validators:>10} {types:>6} {loose:>6}\n")
}
