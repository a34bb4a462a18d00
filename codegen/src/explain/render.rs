//! Renders explanations as text or JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{EnforcedBy, ExplainedPart, ExplainedRule, Explanation};

/// The label of a rule that no code enforces.
const NOT_ENFORCED: &str = "annotation, not checked";

/// The maximum width of a description line, in columns.
const MAX_COLUMNS: usize = 96;

impl Explanation {
    /// Returns the explanation as a JSON object for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rules = |rules: &[ExplainedRule]| -> Vec<Value> {
            let each = |rule: &ExplainedRule| json!({ "rule": rule.text, "enforced": rule.enforcement.map(EnforcedBy::as_phrase) });
            rules.iter().map(each).collect()
        };
        let part = |part: &ExplainedPart| {
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

    /// Returns the explanation as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        render_text(self)
    }
}

fn render_text(explanation: &Explanation) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", explanation.title);
    for origin in &explanation.origins {
        let _ = writeln!(out, "  from {origin}");
    }
    if let Some(description) = &explanation.description {
        out.push('\n');
        write_wrapped(description, "  ", &mut out);
    }
    let _ = writeln!(out, "\n  {}", explanation.form);
    write_rules(&explanation.rules, "  ", &mut out);
    if !explanation.parts.is_empty() {
        out.push('\n');
    }
    for each in &explanation.parts {
        write_part(each, &mut out);
    }
    out
}

fn write_part(part: &ExplainedPart, out: &mut String) {
    let same = part.name.is_empty() || part.name == part.wire;
    let name = if same { String::new() } else { format!(" ({})", part.name) };
    let _ = writeln!(out, "  {}{name}: {}, {}", part.wire, part.ty, part.presence);
    if let Some(description) = &part.description {
        write_wrapped(description, "      ", out);
    }
    write_rules(&part.rules, "      ", out);
}

fn write_rules(rules: &[ExplainedRule], indent: &str, out: &mut String) {
    for rule in rules {
        let _ = writeln!(
            out,
            "{indent}- {}: {}",
            rule.text,
            rule.enforcement.map_or(NOT_ENFORCED, EnforcedBy::as_phrase)
        );
    }
}

fn write_wrapped(text: &str, indent: &str, out: &mut String) {
    for paragraph in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut line = String::from(indent);
        for word in paragraph.split_whitespace() {
            if line.chars().count() + word.chars().count() >= MAX_COLUMNS && line.trim() != "" {
                let _ = writeln!(out, "{}", line.trim_end());
                line = String::from(indent);
            }
            line.push_str(word);
            line.push(' ');
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
