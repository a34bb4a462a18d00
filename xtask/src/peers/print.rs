//! What a peer's steps came to, for people and for programs.

use std::{fmt::Write as _, time::Duration};

use serde::Deserialize;
use serde_json::json;

use crate::style::{BAD, FAINT, GOOD, HEAD, count};

/// A step, as a script says it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Step {
    name: String,
    ok: bool,
    /// What was wrong.
    why: Option<String>,
}

impl Step {
    /// One that came to nothing, and why.
    pub(super) fn failed(name: &str, why: String) -> Self {
        Self { name: name.to_owned(), ok: false, why: Some(why) }
    }

    /// Reads a script's output.
    ///
    /// # Errors
    /// The line that is none.
    pub(super) fn read(said: &str) -> Result<Vec<Self>, String> {
        let step = |line: &str| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}"));
        said.lines().map(step).collect()
    }
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// `openid-client`
    pub(super) name: &'static str,
    /// Package and version.
    pub(super) by: String,
    pub(super) steps: Vec<Step>,
    pub(super) time: Duration,
}

impl Outcome {
    /// Whether nothing is left to do.
    pub(super) fn agrees(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.ok)
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let Self { name, by, steps, time } = self;
        let seconds = time.as_secs_f64();
        let mut out =
            format!("{HEAD}{by}{HEAD:#}: {} {FAINT}{seconds:.1} s{FAINT:#}\n", count(steps.len(), "step"));
        for Step { name, why, .. } in steps.iter().filter(|step| !step.ok) {
            let why = why.as_deref().unwrap_or("no reason given");
            let _ = writeln!(out, "  {BAD}failed{BAD:#}: {name}: {why}");
        }
        let _ = if self.agrees() {
            writeln!(out, "  {GOOD}agrees{GOOD:#}")
        } else {
            writeln!(
                out,
                "  -> correct our side; cargo xtask peers {name} repeats it, and target/peers/{name} has its log"
            )
        };
        out
    }

    /// For programs: one object a peer.
    pub(super) fn json(&self) -> String {
        let Self { name, by, steps, time } = self;
        let step = |Step { name, ok, why }: &Step| json!({ "name": name, "ok": ok, "why": why });
        let whole = json!({
            "peer": name,
            "by": by,
            "agrees": self.agrees(),
            "steps": steps.iter().map(step).collect::<Vec<_>>(),
            "seconds": time.as_secs_f64(),
        });
        format!("{whole}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str, agrees: bool, expect: &str) {
        let steps = Step::read(said).unwrap();
        let time = Duration::from_millis(500);
        let outcome = Outcome { name: "a-client", by: "a-client 1.2.3".to_owned(), steps, time };
        assert_eq!(outcome.agrees(), agrees);
        assert_eq!(anstream::adapter::strip_str(&outcome.text()).to_string(), expect);
        let json: serde_json::Value = outcome.json().parse().unwrap();
        assert_eq!((&json["agrees"], &json["peer"]), (&json!(agrees), &json!("a-client")));
    }

    #[test]
    fn agreement_is_said_in_two_lines() {
        let said = "{\"name\":\"sign in\",\"ok\":true}\n{\"name\":\"write\",\"ok\":true}\n";
        check(said, true, "a-client 1.2.3: 2 steps 0.5 s\n  agrees\n");
    }

    #[test]
    fn what_failed_is_named_with_what_to_do() {
        check(
            "{\"name\":\"write\",\"ok\":false,\"why\":\"503\"}\n",
            false,
            "a-client 1.2.3: 1 step 0.5 s\n  failed: write: 503\n  -> correct our side; cargo xtask peers a-client repeats it, and target/peers/a-client has its log\n",
        );
    }

    #[test]
    fn a_client_that_took_no_step_did_not_agree() {
        let nothing = "a-client 1.2.3: 0 steps 0.5 s\n  -> correct our side; cargo xtask peers a-client repeats it, and target/peers/a-client has its log\n";
        check("", false, nothing);
        assert!(Step::read("Traceback").unwrap_err().starts_with("`Traceback`: "));
    }
}
