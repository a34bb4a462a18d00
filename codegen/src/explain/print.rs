//! Explanations as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Explanation, How, Part, Rule};

/// Of what no engine enforces.
const TOLD: &str = "told, not checked";

/// Columns that descriptions are wrapped to.
const WIDTH: usize = 96;

impl Explanation {
    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let rules = |rules: &[Rule]| -> Vec<Value> {
            let each = |rule: &Rule| json!({ "rule": rule.text, "enforced": rule.how.map(How::words) });
            rules.iter().map(each).collect()
        };
        let part = |part: &Part| {
            json!({
                "wire": part.wire, "name": part.name, "type": part.ty, "presence": part.presence,
                "description": part.description, "rules": rules(&part.rules),
            })
        };
        json!({
            "title": self.title, "origins": self.origins, "description": self.description, "form": self.form,
            "rules": rules(&self.rules), "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
        })
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        text(self)
    }
}

fn text(explanation: &Explanation) -> String {
    let mut out = String::new();
    // Writing into a string does not fail.
    let _ = writeln!(out, "{}", explanation.title);
    for origin in &explanation.origins {
        let _ = writeln!(out, "  from {origin}");
    }
    if let Some(description) = &explanation.description {
        out.push('\n');
        wrapped(description, "  ", &mut out);
    }
    let _ = writeln!(out, "\n  {}", explanation.form);
    rules(&explanation.rules, "  ", &mut out);
    if !explanation.parts.is_empty() {
        out.push('\n');
    }
    for each in &explanation.parts {
        part(each, &mut out);
    }
    out
}

fn part(part: &Part, out: &mut String) {
    let same = part.name.is_empty() || part.name == part.wire;
    let name = if same { String::new() } else { format!(" ({})", part.name) };
    let _ = writeln!(out, "  {}{name}: {}, {}", part.wire, part.ty, part.presence);
    if let Some(description) = &part.description {
        wrapped(description, "      ", out);
    }
    rules(&part.rules, "      ", out);
}

fn rules(rules: &[Rule], indent: &str, out: &mut String) {
    for rule in rules {
        let _ = writeln!(out, "{indent}- {}: {}", rule.text, rule.how.map_or(TOLD, How::words));
    }
}

fn wrapped(text: &str, indent: &str, out: &mut String) {
    for paragraph in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut line = String::from(indent);
        for word in paragraph.split_whitespace() {
            if line.chars().count() + word.chars().count() >= WIDTH && line.trim() != "" {
                let _ = writeln!(out, "{}", line.trim_end());
                line = String::from(indent);
            }
            line.push_str(word);
            line.push(' ');
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
