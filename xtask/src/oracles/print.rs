//! Renders the result of a library as text and JSON.

use std::{fmt::Write as _, time::Duration};

use serde_json::json;

use super::compare::{OracleComparison, OracleDifference};
use crate::style::{DIMMED, FAILURE, HEADING, SUCCESS, format_count};

#[derive(Clone, Debug)]
pub(super) struct OracleResult {
    /// The name of the library, such as `jose`.
    pub(super) name: &'static str,
    pub(super) library: String,
    pub(super) comparison: OracleComparison,
    /// The number of proofs that the library created.
    pub(super) proof_count: usize,
    pub(super) wrong: Vec<String>,
    pub(super) time: Duration,
}

impl OracleResult {
    /// Returns true if neither the library nor our verifier returned an unexpected result.
    pub(super) fn is_passed(&self) -> bool {
        self.comparison.is_as_expected() && self.wrong.is_empty()
    }

    pub(super) fn render_text(&self) -> String {
        let Self { name, library, comparison, proof_count, wrong, time } = self;
        let known = comparison.differences.len() - comparison.unexpected_differences().count();
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{HEADING}{library}{HEADING:#}: {} of our proofs verified, {known} known differences; {} created, {} with the expected result {DIMMED}{:.1} s{DIMMED:#}",
            comparison.cases,
            format_count(*proof_count, "proof"),
            proof_count.saturating_sub(wrong.len()),
            time.as_secs_f64()
        );
        for OracleDifference { name, answer, accepted, why, .. } in comparison.unexpected_differences() {
            let verb = if *accepted { "accepts" } else { "rejects" };
            let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let _ = writeln!(
                out,
                "  {FAILURE}new difference{FAILURE:#}: {name}: {verb} it{why}, expected {answer}"
            );
        }
        for vanished in &comparison.vanished {
            let _ = writeln!(out, "  {FAILURE}known difference is gone{FAILURE:#}: {vanished}");
        }
        for line in wrong {
            let _ = writeln!(out, "  {FAILURE}unexpected result of our verifier{FAILURE:#}: {line}");
        }
        if !comparison.is_as_expected() {
            let _ = writeln!(
                out,
                "  -> fix the expected result, or update dpop/vectors/differences.json and the reasons in README.md next to it"
            );
        }
        if !wrong.is_empty() {
            let _ = writeln!(out, "  -> fix our verifier, or the expected result in the script of {name}");
        }
        if self.is_passed() {
            let _ = writeln!(out, "  {SUCCESS}passed{SUCCESS:#}");
        }
        out
    }

    /// Renders the result as one JSON object.
    pub(super) fn render_json(&self) -> String {
        let Self { name, library, comparison, proof_count, wrong, time } = self;
        let OracleComparison { cases, differences, vanished } = comparison;
        let difference = |difference: &OracleDifference| {
            let OracleDifference { name, answer, accepted, why, known } = difference;
            json!({ "name": name, "answer": answer, "accepted": accepted, "why": why, "known": known })
        };
        let result = json!({
            "oracle": name,
            "by": library,
            "agrees": self.is_passed(),
            "cases": cases,
            "differences": differences.iter().map(difference).collect::<Vec<_>>(),
            "vanished": vanished,
            "proofs": proof_count,
            "wrong": wrong,
            "seconds": time.as_secs_f64(),
        });
        format!("{result}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(known: bool, vanished: &[&str], wrong: &[&str]) -> OracleResult {
        let difference = OracleDifference {
            name: "padded".into(),
            answer: "header-encoding".into(),
            accepted: true,
            why: None,
            known,
        };
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        OracleResult {
            name: "jose",
            library: "jose 1.2.3".into(),
            comparison: OracleComparison {
                cases: 3,
                differences: vec![difference],
                vanished: owned(vanished),
            },
            proof_count: 2,
            wrong: owned(wrong),
            time: Duration::from_millis(500),
        }
    }

    fn check(outcome: &OracleResult, expected: &str) {
        assert_eq!(anstream::adapter::strip_str(&outcome.render_text()).to_string(), expected);
        let json: serde_json::Value = outcome.render_json().parse().unwrap();
        assert_eq!((&json["agrees"], &json["cases"]), (&json!(outcome.is_passed()), &json!(3)));
    }

    #[test]
    fn success_takes_two_lines() {
        check(
            &outcome(true, &[], &[]),
            "jose 1.2.3: 3 of our proofs verified, 1 known differences; 2 proofs created, 2 with the expected result 0.5 s\n  passed\n",
        );
    }

    #[test]
    fn failures_are_rendered_with_hints() {
        check(
            &outcome(false, &["typ"], &["plain: jti, not accepted"]),
            "jose 1.2.3: 3 of our proofs verified, 0 known differences; 2 proofs created, 1 with the expected result 0.5 s
  new difference: padded: accepts it, expected header-encoding
  known difference is gone: typ
  unexpected result of our verifier: plain: jti, not accepted
  -> fix the expected result, or update dpop/vectors/differences.json and the reasons in README.md next to it
  -> fix our verifier, or the expected result in the script of jose
",
        );
    }
}
