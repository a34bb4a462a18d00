//! Renders a report as one HTML page for reviewers, without references to other files.
//!
//! The page is readable without scripts. One script shows and applies the filters. All strings of the
//! contracts are escaped by the templates.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    ACCEPTED_LABEL, BREAKING_LABEL, PERMANENCE_NOTE, ReportOptions, acceptance_terms, describe_bump,
    excerpts::{SourceExcerpt, extract_excerpt},
    other_uses, shorten_value, split_subject,
};
use crate::drift::{
    ChangeLevel, ContractChange, ContractDrift, ContractVersion, SourceLocation, accepted::OutdatedEntry,
    rules::find_rule,
};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The content security policy. It allows only the style sheet and the script of the page.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The two compared versions, from which the page shows excerpts.
#[derive(Clone, Copy, Debug)]
pub struct ComparedVersions<'a> {
    /// The older version.
    pub old: &'a ContractVersion,
    /// The newer version.
    pub new: &'a ContractVersion,
}

/// Renders one page with the counts, filters, and all changes with excerpts of both versions.
#[must_use]
pub fn render_html(drift: &ContractDrift, versions: ComparedVersions<'_>, view: &ReportOptions) -> String {
    let shown = view.shown_changes(drift);
    let title = render_title(drift);
    let mut groups: Vec<(&str, Vec<&ContractChange>)> = Vec::new();
    for change in &shown {
        let (name, _) = split_subject(&change.subject);
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, changes)) => changes.push(change),
            None => groups.push((name, vec![change])),
        }
    }
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(CONTENT_POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    (render_counts(drift, view))
                    p { "For readers: " (drift.reader_level()) ". For writers: " (drift.writer_level()) "." }
                    p { (render_code_spans(&describe_bump(drift, view))) }
                }
                (render_outdated_entries(drift))
                (render_faults(drift, view))
                @if !shown.is_empty() {
                    (render_filters(&shown))
                }
                main {
                    @for (name, changes) in groups {
                        section .group {
                            h2 { (name) }
                            @for change in changes {
                                (render_change(change, versions, view))
                            }
                        }
                    }
                }
                @if !shown.is_empty() {
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    };
    page.into_string() + "\n"
}

fn render_title(drift: &ContractDrift) -> String {
    match (drift.old_version.as_str(), drift.new_version.as_str()) {
        ("", "") => "Changes of the contract".to_owned(),
        (old, new) if old == new => format!("Changes of the contract {new}"),
        (old, new) => format!("Changes of the contract from {old} to {new}"),
    }
}

fn render_counts(drift: &ContractDrift, view: &ReportOptions) -> Markup {
    let count = |label: &str| drift.changes.iter().filter(|change| view.label_of(change) == label).count();
    let same = ChangeLevel::Same.as_str();
    let labels =
        [BREAKING_LABEL, ACCEPTED_LABEL, ChangeLevel::Renamed.as_str(), ChangeLevel::Additive.as_str(), same];
    html! {
        ul .counts {
            @for label in labels {
                li class=(label) {
                    strong { (count(label)) } " " @if label == same { "without effect" } @else { (label) }
                }
            }
        }
    }
}

fn render_outdated_entries(drift: &ContractDrift) -> Markup {
    html! {
        @if !drift.outdated_entries.is_empty() {
            section {
                h2 { "Outdated accepted changes" }
                ul {
                    @for OutdatedEntry { location, message, help } in &drift.outdated_entries {
                        li { (message) " (" code { (location) } "): " (help) "." }
                    }
                }
            }
        }
    }
}

fn render_faults(drift: &ContractDrift, view: &ReportOptions) -> Markup {
    html! {
        @if !drift.faults.is_empty() {
            details {
                summary { "Faults of the new version, which was compared after repair: " (drift.faults.len()) }
                ul {
                    @for fault in &drift.faults {
                        li {
                            code { (fault.code) } " " (fault.message)
                            @if let Some(location) = &fault.new { " (" code { (view.new_place(location)) } ")" }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the filters, which the script shows.
fn render_filters(shown: &[&ContractChange]) -> Markup {
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for change in shown {
        *rules.entry(change.rule).or_default() += 1;
    }
    html! {
        form hidden {
            label {
                "Clients "
                select name="audience" {
                    option value="" { "readers and writers" }
                    option value="readers" { "readers" }
                    option value="writers" { "writers" }
                }
            }
            label {
                "Rule "
                select name="rule" {
                    option value="" { "all" }
                    @for (rule, count) in rules {
                        option value=(rule) { (rule) " (" (count) ")" }
                    }
                }
            }
            output name="count" {}
        }
    }
}

fn render_change(change: &ContractChange, versions: ComparedVersions<'_>, view: &ReportOptions) -> Markup {
    let label = view.label_of(change);
    let (_, place) = split_subject(&change.subject);
    let others = other_uses(change);
    let effect = change.message.strip_prefix(&change.difference).unwrap_or(&change.message);
    let effect = capitalize(effect.trim_start_matches("; "));
    let old = change.old.as_ref().map(|location| (view.old_place(location), versions.old, location));
    let new = change.new.as_ref().map(|location| (view.new_place(location), versions.new, location));
    html! {
        details class={ "finding " (label) } data-rule=(change.rule) data-readers=(change.readers)
            data-writers=(change.writers) open[label == BREAKING_LABEL] {
            summary {
                span .level { (label) } " " code { (change.rule) } " "
                @if !place.is_empty() { strong { (place) } ": " }
                (render_code_spans(&change.difference))
            }
            div {
                @if !effect.is_empty() { p { (render_code_spans(&effect)) "." } }
                @if let Some(acceptance) = &change.accepted {
                    p { strong { "Accepted" (acceptance_terms(acceptance)) ":" } " " (acceptance.reason) }
                }
                @if let Some(witness) = &change.witness {
                    p { "Proven: only one version accepts " code { (shorten_value(witness)) } "." }
                }
                div .excerpts {
                    (render_excerpt("Old", old))
                    (render_excerpt("New", new))
                }
                @if !others.is_empty() {
                    p { "Also used by:" @for other in others { " " code { (other) } } }
                }
                p .muted {
                    "For readers: " (change.readers) ". For writers: " (change.writers) "."
                    " " (change.reason)
                    @if find_rule(change.rule).is_some_and(|rule| rule.is_breaking_within_major) {
                        " " (PERMANENCE_NOTE)
                    }
                }
            }
        }
    }
}

/// Returns a string with its first letter in upper case.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Renders a message with the parts in backticks as code.
fn render_code_spans(message: &str) -> Markup {
    let parts: Vec<&str> = message.split('`').collect();
    // A contract can contain backticks, too. Without a closing backtick, the message is not changed.
    if parts.len().is_multiple_of(2) {
        return html! { (message) };
    }
    html! {
        @for (index, part) in parts.into_iter().enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Renders the lines around a location, with its file name and line number.
fn render_excerpt(name: &str, location: Option<(String, &ContractVersion, &SourceLocation)>) -> Markup {
    let Some((place, version, location)) = location else {
        return html! { figure { figcaption { (name) ": not in this version" } } };
    };
    let lines = extract_excerpt(version, location).map_or_else(Vec::new, |SourceExcerpt { lines }| lines);
    let width = lines.last().map_or(1, |line| line.number.to_string().len());
    html! {
        figure {
            figcaption { (name) ": " code { (place) } }
            @if !lines.is_empty() {
                pre {
                    @for line in &lines {
                        span .number { (format!("{:>width$}  ", line.number)) }
                        @if line.is_marked { mark { (line.text) } } @else { (line.text) }
                        "\n"
                    }
                }
            }
        }
    }
}
