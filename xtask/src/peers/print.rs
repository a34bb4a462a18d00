//! Renders the result of a peer as text and JSON.

use std::{fmt::Write as _, time::Duration};

use serde::Deserialize;
use serde_json::json;

use crate::style::{DIMMED, FAILURE, HEADING, SUCCESS, format_count};

/// A step of a peer, as its script reports it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct PeerStep {
    name: String,
    ok: bool,
    why: Option<String>,
}

impl PeerStep {
    pub(super) fn from_error(name: &str, why: String) -> Self {
        Self { name: name.to_owned(), ok: false, why: Some(why) }
    }

    /// Parses the output of a script, one step per line.
    ///
    /// # Errors
    /// Returns an error if a line is not a step.
    pub(super) fn parse_lines(output: &str) -> Result<Vec<Self>, String> {
        let step = |line: &str| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}"));
        output.lines().map(step).collect()
    }
}

#[derive(Clone, Debug)]
pub(super) struct PeerResult {
    /// The name of the peer, such as `openid-client`.
    pub(super) name: &'static str,
    pub(super) package: String,
    pub(super) steps: Vec<PeerStep>,
    pub(super) time: Duration,
}

impl PeerResult {
    /// Returns true if there was at least one step and all steps succeeded.
    pub(super) fn is_passed(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.ok)
    }

    pub(super) fn render_text(&self) -> String {
        let Self { name, package: by, steps, time } = self;
        let seconds = time.as_secs_f64();
        let mut out = format!(
            "{HEADING}{by}{HEADING:#}: {} {DIMMED}{seconds:.1} s{DIMMED:#}\n",
            format_count(steps.len(), "step")
        );
        for PeerStep { name, why, .. } in steps.iter().filter(|step| !step.ok) {
            let why = why.as_deref().unwrap_or("no reason given");
            let _ = writeln!(out, "  {FAILURE}failed{FAILURE:#}: {name}: {why}");
        }
        let _ = if self.is_passed() {
            writeln!(out, "  {SUCCESS}passed{SUCCESS:#}")
        } else {
            writeln!(
                out,
                "  -> fix our side; repeat with cargo xtask peers {name}; logs are in target/peers/{name}"
            )
        };
        out
    }

    /// Renders the result as one JSON object.
    pub(super) fn render_json(&self) -> String {
        let Self { name, package: by, steps, time } = self;
        let step = |PeerStep { name, ok, why }: &PeerStep| json!({ "name": name, "ok": ok, "why": why });
        let result = json!({
            "peer": name,
            "by": by,
            "agrees": self.is_passed(),
            "steps": steps.iter().map(step).collect::<Vec<_>>(),
            "seconds": time.as_secs_f64(),
        });
        format!("{result}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, is_passed: bool, expected: &str) {
        let steps = PeerStep::parse_lines(output).unwrap();
        let time = Duration::from_millis(500);
        let outcome = PeerResult { name: "a-client", package: "a-client 1.2.3".to_owned(), steps, time };
        assert_eq!(outcome.is_passed(), is_passed);
        assert_eq!(anstream::adapter::strip_str(&outcome.render_text()).to_string(), expected);
        let json: serde_json::Value = outcome.render_json().parse().unwrap();
        assert_eq!((&json["agrees"], &json["peer"]), (&json!(is_passed), &json!("a-client")));
    }

    #[test]
    fn success_takes_two_lines() {
        let output = "{\"name\":\"sign in\",\"ok\":true}\n{\"name\":\"write\",\"ok\":true}\n";
        check(output, true, "a-client 1.2.3: 2 steps 0.5 s\n  passed\n");
    }

    #[test]
    fn failed_step_is_rendered_with_a_hint() {
        check(
            "{\"name\":\"write\",\"ok\":false,\"why\":\"503\"}\n",
            false,
            "a-client 1.2.3: 1 step 0.5 s\n  failed: write: 503\n  -> fix our side; repeat with cargo xtask peers a-client; logs are in target/peers/a-client\n",
        );
    }

    #[test]
    fn run_without_steps_fails() {
        let expected = "a-client 1.2.3: 0 steps 0.5 s\n  -> fix our side; repeat with cargo xtask peers a-client; logs are in target/peers/a-client\n";
        check("", false, expected);
        assert!(PeerStep::parse_lines("Traceback").unwrap_err().starts_with("`Traceback`: "));
    }
}
