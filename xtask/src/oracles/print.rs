//! What an oracle's run came to, for people and for programs.

use std::{fmt::Write as _, time::Duration};

use serde_json::json;

use super::compare::{Asked, Difference};
use crate::style::{BAD, FAINT, GOOD, HEAD, count};

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// `jose`
    pub(super) name: &'static str,
    /// Library and version.
    pub(super) by: String,
    /// About our proofs.
    pub(super) asked: Asked,
    /// How many proofs it made.
    pub(super) made: usize,
    /// What we say of them otherwise than their file.
    pub(super) wrong: Vec<String>,
    pub(super) time: Duration,
}

impl Outcome {
    /// Whether nothing is left to do.
    pub(super) fn agrees(&self) -> bool {
        self.asked.agrees() && self.wrong.is_empty()
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let Self { name, by, asked, made, wrong, time } = self;
        let known = asked.differences.len() - asked.news().count();
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{HEAD}{by}{HEAD:#}: judged {} of ours, {known} otherwise as known; made {}, {} answered as named {FAINT}{:.1} s{FAINT:#}",
            asked.cases,
            count(*made, "proof"),
            made.saturating_sub(wrong.len()),
            time.as_secs_f64()
        );
        for Difference { name, answer, accepted, why, .. } in asked.news() {
            let said = if *accepted { "accepts" } else { "refuses" };
            let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let _ =
                writeln!(out, "  {BAD}new difference{BAD:#}: {name}: {said} it{why}, the answer is {answer}");
        }
        for vanished in &asked.vanished {
            let _ = writeln!(out, "  {BAD}no difference any more{BAD:#}: {vanished}");
        }
        for line in wrong {
            let _ = writeln!(out, "  {BAD}we answer otherwise{BAD:#}: {line}");
        }
        if !asked.agrees() {
            let _ = writeln!(
                out,
                "  -> correct the answer; or dpop/vectors/differences.json and the reasons in README.md beside it"
            );
        }
        if !wrong.is_empty() {
            let _ = writeln!(out, "  -> correct our verifier, or the answer that {name}'s script names");
        }
        if self.agrees() {
            let _ = writeln!(out, "  {GOOD}agrees{GOOD:#}");
        }
        out
    }

    /// For programs: one object an oracle.
    pub(super) fn json(&self) -> String {
        let Self { name, by, asked, made, wrong, time } = self;
        let Asked { cases, differences, vanished } = asked;
        let difference = |difference: &Difference| {
            let Difference { name, answer, accepted, why, known } = difference;
            json!({ "name": name, "answer": answer, "accepted": accepted, "why": why, "known": known })
        };
        let whole = json!({
            "oracle": name,
            "by": by,
            "agrees": self.agrees(),
            "cases": cases,
            "differences": differences.iter().map(difference).collect::<Vec<_>>(),
            "vanished": vanished,
            "made": made,
            "answeredOtherwise": wrong,
            "seconds": time.as_secs_f64(),
        });
        format!("{whole}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(known: bool, vanished: &[&str], wrong: &[&str]) -> Outcome {
        let difference = Difference {
            name: "padded".into(),
            answer: "header-encoding".into(),
            accepted: true,
            why: None,
            known,
        };
        let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        Outcome {
            name: "jose",
            by: "jose 1.2.3".into(),
            asked: Asked { cases: 3, differences: vec![difference], vanished: owned(vanished) },
            made: 2,
            wrong: owned(wrong),
            time: Duration::from_millis(500),
        }
    }

    fn check(outcome: &Outcome, expect: &str) {
        assert_eq!(anstream::adapter::strip_str(&outcome.text()).to_string(), expect);
        let json: serde_json::Value = outcome.json().parse().unwrap();
        assert_eq!((&json["agrees"], &json["cases"]), (&json!(outcome.agrees()), &json!(3)));
    }

    #[test]
    fn agreement_is_said_in_two_lines() {
        check(
            &outcome(true, &[], &[]),
            "jose 1.2.3: judged 3 of ours, 1 otherwise as known; made 2 proofs, 2 answered as named 0.5 s\n  agrees\n",
        );
    }

    #[test]
    fn each_disagreement_is_named_with_what_to_do() {
        check(
            &outcome(false, &["typ"], &["plain: jti, not accepted"]),
            "jose 1.2.3: judged 3 of ours, 0 otherwise as known; made 2 proofs, 1 answered as named 0.5 s
  new difference: padded: accepts it, the answer is header-encoding
  no difference any more: typ
  we answer otherwise: plain: jti, not accepted
  -> correct the answer; or dpop/vectors/differences.json and the reasons in README.md beside it
  -> correct our verifier, or the answer that jose's script names
",
        );
    }
}
