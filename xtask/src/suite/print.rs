//! What a run came to, for people and for programs.

use std::{fmt::Write as _, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use super::{
    cases::Part,
    package::Size,
    score::{Score, Tally, Wrong},
};
use crate::style::{BAD, FAINT, GOOD, HEAD};

/// Cases of one kind that are shown.
const SHOWN: usize = 40;

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    /// `2020-12`
    pub(super) name: String,
    /// The copy of the suite.
    pub(super) suite: PathBuf,
    pub(super) score: Score,
    pub(super) size: Size,
    pub(super) generating: Duration,
    pub(super) compiling: Duration,
    pub(super) asking: Duration,
    /// What is worse than recorded.
    pub(super) problems: Vec<String>,
}

impl Run {
    /// For people: a table of the files, what is wrong, totals, times.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let name = format!("draft {}", self.name);
        let head = [&name, "groups", "cases", "validators", "types", "taken by the type alone"];
        let [name, groups, cases, validators, types, loose] = head;
        let _ = writeln!(
            out,
            "{HEAD}{name:<38} {groups:>6} {cases:>6} {validators:>10} {types:>6}  {loose}{HEAD:#}"
        );
        for (_, file, tally) in &self.score.files {
            out.push_str(&row(file, *tally));
        }
        for part in Part::ALL {
            let tally = self.score.parts.get(&part).copied().unwrap_or_default();
            let _ = write!(out, "{HEAD}{}{HEAD:#}", row(part.word(), tally));
        }
        self.wrong(&mut out);
        let Score { asked, apart, .. } = &self.score;
        let _ = writeln!(
            out,
            "types and tables were asked {asked} times about each other's values, and said different things {} times",
            apart.len()
        );
        for place in apart.iter().take(SHOWN) {
            let _ = writeln!(out, "  {place}");
        }
        let assumed: usize = self.score.parts.values().map(|tally| tally.assumed).sum();
        if assumed > 0 {
            let _ = writeln!(out, "{assumed} valid values are not held, by what the options assume");
        }
        let Size { modules, lines, bytes } = self.size;
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let _ = writeln!(
            out,
            "\n{FAINT}{}: {modules} modules, {lines} lines, {:.1} MB; generated in {}, compiled in {}, asked in {}{FAINT:#}",
            self.suite.display(),
            bytes as f64 / 1e6,
            seconds(self.generating),
            seconds(self.compiling),
            seconds(self.asking)
        );
        if self.problems.is_empty() {
            let _ = writeln!(out, "{GOOD}as recorded{GOOD:#}, or better");
        } else {
            let _ = writeln!(out, "{BAD}worse than recorded{BAD:#}");
            for problem in &self.problems {
                let _ = writeln!(out, "  {problem}");
            }
        }
        out
    }

    fn wrong(&self, out: &mut String) {
        let (known, news): (Vec<&Wrong>, Vec<&Wrong>) =
            self.score.wrong.iter().partition(|wrong| wrong.reason.is_some());
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for wrong in known {
            let reason = wrong.reason.as_deref().unwrap_or_default();
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((reason, 1)),
            }
        }
        for (reason, count) in reasons {
            let _ = writeln!(out, "{FAINT}{count:>5} wrong and known: {reason}{FAINT:#}");
        }
        let more = |out: &mut String, count: usize| {
            if count > SHOWN {
                let _ = writeln!(out, "  … {} more; `--json` has all", count - SHOWN);
            }
        };
        for Wrong { file, group, case, valid, by, how, .. } in news.iter().take(SHOWN) {
            let valid = if *valid { "valid" } else { "invalid" };
            let how: String = how.chars().take(600).collect();
            let _ = writeln!(out, "{BAD}{file}{BAD:#}: {group}: {case} ({valid})\n  wrong by {by}: {how}");
        }
        more(out, news.len());
        for place in self.score.unreported.iter().take(SHOWN) {
            let _ = writeln!(out, "{BAD}not in the report{BAD:#}: {place}");
        }
        more(out, self.score.unreported.len());
    }

    /// For programs: one object a draft.
    pub(super) fn json(&self) -> String {
        let tally = |name: &str, tally: &Tally| {
            let Tally { groups, cases, validators, types, loose, assumed } = tally;
            json!({ "name": name, "groups": groups, "cases": cases, "validators": validators, "types": types, "loose": loose, "assumed": assumed })
        };
        let wrong = |wrong: &Wrong| {
            let Wrong { file, group, case, valid, by, how, reason } = wrong;
            json!({ "file": file, "group": group, "case": case, "valid": valid, "by": by, "how": how, "known": reason })
        };
        let Score { parts, files, wrong: list, unreported, asked, apart } = &self.score;
        let parts: Vec<Value> = parts.iter().map(|(part, each)| tally(part.word(), each)).collect();
        let files: Vec<Value> = files.iter().map(|(_, file, each)| tally(file, each)).collect();
        let Size { modules, lines, bytes } = self.size;
        let whole = json!({
            "draft": self.name,
            "suite": self.suite,
            "parts": parts,
            "files": files,
            "wrong": list.iter().map(wrong).collect::<Vec<_>>(),
            "unreported": unreported,
            "asked": asked, "apart": apart,
            "modules": modules, "lines": lines, "bytes": bytes,
            "seconds": {
                "generating": self.generating.as_secs_f64(),
                "compiling": self.compiling.as_secs_f64(),
                "asking": self.asking.as_secs_f64(),
            },
            "problems": self.problems,
        });
        format!("{whole}\n")
    }
}

fn row(name: &str, tally: Tally) -> String {
    let Tally { groups, cases, validators, types, loose, .. } = tally;
    format!("{name:<38} {groups:>6} {cases:>6} {validators:>10} {types:>6} {loose:>6}\n")
}
