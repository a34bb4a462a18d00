//! Renders a report as SARIF 2.1.0, which code scanning in GitHub, GitLab and Azure supports.

use serde_json::{Value, json};

use super::{OUTDATED_CODE, PERMANENCE_NOTE, ReportOptions, describe_change, describe_webhook_levels};
use crate::drift::{
    ChangeLevel, ContractChange, ContractDrift, ContractFault, SourceLocation,
    accepted::OutdatedEntry,
    lifecycle::{LIFECYCLE_NOTE, is_removal_of_element},
    rules::{DriftRule, RULES},
};

const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Renders one SARIF log with one run, which has a rule for each kind of change found and a result for each
/// change. A result is located in the new version if the change has a location there, otherwise in the old
/// version.
///
/// Breaking changes have the SARIF level `error`, renamed elements `warning`, additive changes `note`, and
/// changes without effect `none`. Accepted changes have a suppression with the reason. The properties of a
/// result are those of a change in [`render_json`](super::render_json).
#[must_use]
pub fn render_sarif(drift: &ContractDrift, view: &ReportOptions) -> String {
    let shown = view.shown_changes(drift);
    let rules: Vec<&DriftRule> =
        RULES.iter().filter(|rule| shown.iter().any(|each| each.rule == rule.id)).collect();
    let results: Vec<Value> = shown.iter().map(|change| render_result(change, view, &rules)).collect();
    let descriptors: Vec<Value> = rules.iter().map(|rule| render_descriptor(rule)).collect();
    let mut log = json!({
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "contract-codegen drift",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": descriptors,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    let faults = drift.faults.iter().map(|fault| render_notification(fault, view));
    let notifications: Vec<Value> =
        faults.chain(drift.outdated_entries.iter().map(render_outdated_entry)).collect();
    if !notifications.is_empty() {
        log["runs"][0]["invocations"] =
            json!([{ "executionSuccessful": true, "toolExecutionNotifications": notifications }]);
    }
    format!("{log:#}\n")
}

fn physical_location(file: &str, line: usize) -> Value {
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri_reference(file) },
            "region": { "startLine": line },
        },
    })
}

/// Renders an outdated entry of accepted changes as a notification.
fn render_outdated_entry(OutdatedEntry { location, message, help }: &OutdatedEntry) -> Value {
    json!({
        "descriptor": { "id": OUTDATED_CODE },
        "level": "error",
        "message": { "text": format!("{message} (help: {help})") },
        "locations": [physical_location(&location.file, location.line)],
    })
}

/// Renders a fault as a notification, because it is not a result of the comparison.
fn render_notification(fault: &ContractFault, view: &ReportOptions) -> Value {
    let at = |location: &SourceLocation| {
        physical_location(&super::join_path(&view.prefix, &location.file), location.line)
    };
    json!({
        "descriptor": { "id": fault.code },
        "level": "warning",
        "message": { "text": fault.message },
        "locations": fault.new.iter().map(at).collect::<Vec<_>>(),
    })
}

const fn sarif_level(level: ChangeLevel) -> &'static str {
    match level {
        ChangeLevel::Breaking => "error",
        ChangeLevel::Renamed => "warning",
        ChangeLevel::Additive => "note",
        ChangeLevel::Same => "none",
    }
}

fn render_descriptor(rule: &DriftRule) -> Value {
    let mut help = format!("{} For readers: {}. For writers: {}.", rule.reason, rule.readers, rule.writers);
    if rule.is_breaking_within_major {
        help.push(' ');
        help.push_str(PERMANENCE_NOTE);
    }
    if is_removal_of_element(rule) {
        help.push(' ');
        help.push_str(LIFECYCLE_NOTE);
    }
    if let Some(text) = describe_webhook_levels(rule) {
        help.push(' ');
        help.push_str(&text);
    }
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.reason },
        "defaultConfiguration": { "level": sarif_level(rule.readers.max(rule.writers)) },
        "help": { "text": help },
    })
}

fn render_result(change: &ContractChange, view: &ReportOptions, rules: &[&DriftRule]) -> Value {
    let locations: Vec<(&SourceLocation, String)> =
        [(&change.new, &view.prefix), (&change.old, &view.old_prefix)]
            .into_iter()
            .filter_map(|(location, prefix)| {
                location.as_ref().map(|location| (location, super::join_path(prefix, &location.file)))
            })
            .collect();
    let at = |(location, file): &(&SourceLocation, String)| {
        json!({
            "physicalLocation": {
                "artifactLocation": { "uri": uri_reference(file) },
                "region": { "startLine": location.line },
            },
            "logicalLocations": [{ "fullyQualifiedName": change.subject }],
        })
    };
    // The difference distinguishes changes with the same subject, such as three values that were removed from
    // one enumeration.
    let what = &change.difference;
    let mut out = json!({
        "ruleId": change.rule,
        "ruleIndex": rules.iter().position(|rule| rule.id == change.rule),
        "level": sarif_level(view.level_of(change)),
        "message": { "text": describe_change(change) },
        "locations": locations.iter().take(1).map(at).collect::<Vec<_>>(),
        // The fingerprint contains no line numbers, so a result that moves keeps its identity.
        "partialFingerprints": { "contractDrift/v1": format!("{} {}: {what}", change.rule, change.subject) },
        "properties": {
            "readers": change.readers.as_str(),
            "writers": change.writers.as_str(),
            "uses": change.uses,
            "proven": change.proven,
            "witness": change.witness,
            "pointer": locations.first().map(|(location, _)| &location.pointer),
        },
    });
    if let Some(acceptance) = &change.accepted {
        out["suppressions"] =
            json!([{ "kind": "external", "status": "accepted", "justification": acceptance.reason }]);
    }
    if let (Some(second), Some(members)) = (locations.get(1), out.as_object_mut()) {
        let mut related = at(second);
        let from = view.revision.as_ref().map_or_else(String::new, |revision| format!(" at {revision}"));
        related["message"] = json!({ "text": format!("the old version{from}") });
        members.insert("relatedLocations".to_owned(), json!([related]));
    }
    out
}

/// Percent-encodes a path as a URI reference (RFC 3986).
fn uri_reference(file: &str) -> String {
    let mut out = String::with_capacity(file.len());
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
