//! A drift as SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure shows.

use serde_json::{Value, json};

use super::{FOREVER, View, hooked, spoken};
use crate::drift::{
    Change, Drift, Fault, Level, Spot,
    rules::{RULES, Rule},
};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One SARIF log with one run: a rule for each kind of change that was found, a result for each
/// change, at the new place, else at the old one.
///
/// `error` breaks somebody, `warning` is a new name, `note` only adds, `none` is of no consequence.
/// The properties of a result are members of [`json`](super::json())'s changes.
#[must_use]
pub fn sarif(drift: &Drift, view: &View) -> String {
    let shown = view.shown(drift);
    let rules: Vec<&Rule> =
        RULES.iter().filter(|rule| shown.iter().any(|each| each.rule == rule.id)).collect();
    let results: Vec<Value> = shown.iter().map(|change| result(change, view, &rules)).collect();
    let descriptors: Vec<Value> = rules.iter().map(|rule| descriptor(rule)).collect();
    let mut log = json!({
        "$schema": SCHEMA,
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
    if !drift.faults.is_empty() {
        let told: Vec<Value> = drift.faults.iter().map(|fault| notification(fault, view)).collect();
        log["runs"][0]["invocations"] =
            json!([{ "executionSuccessful": true, "toolExecutionNotifications": told }]);
    }
    format!("{log:#}\n")
}

/// What was not compared as it is written is no finding.
fn notification(fault: &Fault, view: &View) -> Value {
    let at = |spot: &Spot| {
        json!({
            "physicalLocation": {
                "artifactLocation": { "uri": address(&super::joined(&view.prefix, &spot.file)) },
                "region": { "startLine": spot.line },
            },
        })
    };
    json!({
        "descriptor": { "id": fault.code },
        "level": "warning",
        "message": { "text": fault.message },
        "locations": fault.new.iter().map(at).collect::<Vec<_>>(),
    })
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Breaking => "error",
        Level::Renamed => "warning",
        Level::Additive => "note",
        Level::Same => "none",
    }
}

fn descriptor(rule: &Rule) -> Value {
    let mut help = format!("{} For readers: {}. For writers: {}.", rule.why, rule.readers, rule.writers);
    if rule.forever {
        help.push(' ');
        help.push_str(FOREVER);
    }
    if let Some(text) = hooked(rule) {
        help.push(' ');
        help.push_str(&text);
    }
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.why },
        "defaultConfiguration": { "level": level(rule.readers.max(rule.writers)) },
        "help": { "text": help },
    })
}

fn result(change: &Change, view: &View, rules: &[&Rule]) -> Value {
    let spots: Vec<(&Spot, String)> = [(&change.new, &view.prefix), (&change.old, &view.old_prefix)]
        .into_iter()
        .filter_map(|(spot, prefix)| spot.as_ref().map(|spot| (spot, super::joined(prefix, &spot.file))))
        .collect();
    let at = |(spot, file): &(&Spot, String)| {
        json!({
            "physicalLocation": {
                "artifactLocation": { "uri": address(file) },
                "region": { "startLine": spot.line },
            },
            "logicalLocations": [{ "fullyQualifiedName": change.subject }],
        })
    };
    // Three values that are gone from one enumeration are three findings; what follows from each is not
    // what tells them apart.
    let what = change.message.split("; ").next().unwrap_or_default();
    let mut out = json!({
        "ruleId": change.rule,
        "ruleIndex": rules.iter().position(|rule| rule.id == change.rule),
        "level": level(view.level(change)),
        "message": { "text": spoken(change) },
        "locations": spots.iter().take(1).map(at).collect::<Vec<_>>(),
        // The same change is the same finding, wherever its lines went.
        "partialFingerprints": { "contractDrift/v1": format!("{} {}: {what}", change.rule, change.subject) },
        "properties": {
            "readers": change.readers.word(),
            "writers": change.writers.word(),
            "uses": change.uses,
            "proven": change.proven,
            "witness": change.witness,
            "pointer": spots.first().map(|(spot, _)| &spot.pointer),
        },
    });
    if let (Some(second), Some(members)) = (spots.get(1), out.as_object_mut()) {
        let mut related = at(second);
        let from = view.revision.as_ref().map_or_else(String::new, |revision| format!(" at {revision}"));
        related["message"] = json!({ "text": format!("what the old version said{from}") });
        members.insert("relatedLocations".to_owned(), json!([related]));
    }
    out
}

/// A path as a URI reference (RFC 3986): what is not allowed in one is escaped.
fn address(file: &str) -> String {
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
