//! Renders a [`ContractDrift`] as text, JSON, Markdown, GitHub annotations, SARIF or an HTML page.

mod excerpts;
mod html;
mod sarif;

use std::fmt::Write;

use serde_json::{Value, json};

pub use self::{
    html::{ComparedVersions, render_html},
    sarif::render_sarif,
};
use super::{
    ChangeLevel, ContractChange, ContractDrift, ContractFault, SourceLocation, VersionBump,
    accepted::{Acceptance, OutdatedEntry},
    enumerations::escape_invisible,
    lifecycle::{LIFECYCLE_NOTE, is_removal_of_element},
    rules::{DriftRule, RULES, find_rule, webhook_levels},
};

/// The users of the contract whose change level determines the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReportAudience {
    /// Readers and writers.
    #[default]
    Everyone,
    /// Clients that receive what the service sends.
    Readers,
    /// Clients that send what the service receives.
    Writers,
}

/// Options of a report.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ReportOptions {
    /// Whether changes without effect, such as changed descriptions, are shown.
    pub all: bool,
    /// The users of the contract whose change level determines the result.
    pub audience: ReportAudience,
    /// Whether the text report is colored.
    pub color: bool,
    /// Whether both versions belong to one major version. If so, a breaking change is a failure.
    pub within_major: bool,
    /// A prefix for the file names of the new version that makes them relative to the folder in which the
    /// report is read, such as `schemas/`.
    pub prefix: String,
    /// A prefix for the file names of the old version, like `prefix`.
    pub old_prefix: String,
    /// The git revision of the old version's files; `None` if they are in a folder.
    pub revision: Option<String>,
}

const BREAKING_LABEL: &str = ChangeLevel::Breaking.as_str();
const ACCEPTED_LABEL: &str = "accepted";

impl ReportOptions {
    /// Returns the level of a change for the audience. For [`ReportAudience::Everyone`], this is the higher
    /// of the two levels.
    #[must_use]
    pub fn level_of(&self, change: &ContractChange) -> ChangeLevel {
        match self.audience {
            ReportAudience::Everyone => change.level(),
            ReportAudience::Readers => change.readers,
            ReportAudience::Writers => change.writers,
        }
    }

    /// Returns the highest level of all changes for the audience; accepted changes count as additive.
    #[must_use]
    pub fn result_level(&self, drift: &ContractDrift) -> ChangeLevel {
        let levels = drift.changes.iter().map(|change| change.counted_level(self.level_of(change)));
        levels.max().unwrap_or_default()
    }

    /// Returns the changes that cause a failure: breaking changes that are neither accepted nor allowed by a
    /// new major version.
    #[must_use]
    pub fn failing_changes<'a>(&self, drift: &'a ContractDrift) -> Vec<&'a ContractChange> {
        if !self.within_major && declared_bump(drift) == Some(VersionBump::Major) {
            return Vec::new();
        }
        let failing = drift.changes.iter().filter(|change| self.label_of(change) == BREAKING_LABEL);
        failing.collect()
    }

    /// Returns the label of a change, which is its level for the audience, or `accepted` for an accepted
    /// breaking change.
    fn label_of(&self, change: &ContractChange) -> &'static str {
        match (self.level_of(change), &change.accepted) {
            (ChangeLevel::Breaking, Some(_)) => ACCEPTED_LABEL,
            (level, _) => level.as_str(),
        }
    }

    fn shown_changes<'a>(&self, drift: &'a ContractDrift) -> Vec<&'a ContractChange> {
        drift.changes.iter().filter(|change| self.all || self.level_of(change) > ChangeLevel::Same).collect()
    }

    /// Returns the location that a report shows: the location in the old version for a removed element,
    /// otherwise the location in the new version.
    fn display_place(&self, change: &ContractChange) -> Option<String> {
        let new = change.new.as_ref().map(|location| self.new_place(location));
        let old = change.old.as_ref().map(|location| self.old_place(location));
        let removed = find_rule(change.rule).is_some_and(|rule| rule.is_removal);
        if removed { old.or(new) } else { new.or(old) }
    }

    fn new_place(&self, location: &SourceLocation) -> String {
        format!("{}:{}", join_path(&self.prefix, &location.file), location.line)
    }

    /// Formats a location in the old version as file and line. If the old version is a git revision, the file
    /// has the form that `git show` accepts, such as `v1.2.0:api/openapi.yaml`.
    fn old_place(&self, location: &SourceLocation) -> String {
        let revision = self.revision.as_ref().map_or_else(String::new, |revision| format!("{revision}:"));
        format!("{revision}{}:{}", join_path(&self.old_prefix, &location.file), location.line)
    }
}

/// Joins a folder and a relative path, and resolves `..` segments.
fn join_path(prefix: &str, file: &str) -> String {
    // Absolute paths, also with a drive letter, get no prefix.
    if file.starts_with('/') || file.get(1..3) == Some(":/") {
        return file.to_owned();
    }
    let mut parts: Vec<&str> =
        prefix.trim_end_matches('/').split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    let root = if prefix.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Describes a change in one paragraph, with its witness, the other parts of operations that use the element,
/// and the reason for its acceptance.
fn describe_change(change: &ContractChange) -> String {
    let mut text = format!("{}: {}.", change.subject, change.message);
    if let Some(witness) = &change.witness {
        let _ = write!(text, " Proven: only one version accepts {}.", shorten_value(witness));
    }
    let others = other_uses(change);
    if !others.is_empty() {
        let _ = write!(text, " Also used by: {}.", others.join(", "));
    }
    if let Some(acceptance) = &change.accepted {
        let _ = write!(text, " Accepted{}: {}", acceptance_terms(acceptance), acceptance.reason);
    }
    text
}

/// Formats the person who accepted a change and the last day of the acceptance, such as ` by Ann until
/// 2027-01-31`. Omits each of the two that the entry does not contain.
fn acceptance_terms(acceptance: &Acceptance) -> String {
    let by = acceptance.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    let until = acceptance.expires.map_or_else(String::new, |date| format!(" until {date}"));
    by + &until
}

/// Returns the uses of the changed element, without the use that the subject contains.
fn other_uses(change: &ContractChange) -> Vec<&str> {
    let subject_base = change.uses.iter().filter(|base| {
        let rest = change.subject.strip_prefix(base.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" /"))
    });
    // If one base is a prefix of another, the longer one belongs to the subject.
    let subject_base = subject_base.max_by_key(|base| base.len());
    change.uses.iter().filter(|base| Some(*base) != subject_base).map(String::as_str).collect()
}

/// Returns the exit code of `xtask drift`. It is 0 for changes without effect, 1 for additive, renamed or
/// accepted changes, and 2 for breaking changes or an outdated entry of accepted changes. If
/// `view.within_major` is false and `info.version` has a new major version, breaking changes give 1.
///
/// The command `contract-codegen drift` exits with 1 where this function returns 2, and with 0 otherwise.
#[must_use]
pub fn exit_code(drift: &ContractDrift, view: &ReportOptions) -> u8 {
    let has_failed = !drift.outdated_entries.is_empty() || !view.failing_changes(drift).is_empty();
    match view.result_level(drift) {
        _ if has_failed => 2,
        ChangeLevel::Same => 0,
        _ => 1,
    }
}

fn declared_bump(drift: &ContractDrift) -> Option<VersionBump> {
    VersionBump::between_versions(&drift.old_version, &drift.new_version)
}

/// Renders a text report. It contains one line per change, grouped by operation or schema, then the totals
/// and the required version increment.
#[must_use]
pub fn render_text(drift: &ContractDrift, view: &ReportOptions) -> String {
    let paint = |code: &str, text: &str| {
        if view.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let shown = view.shown_changes(drift);
    let mut groups: Vec<&str> = Vec::new();
    for change in &shown {
        let (group, _) = split_subject(&change.subject);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut out = String::new();
    for group in groups {
        let _ = writeln!(out, "{}", paint("1", group));
        for change in shown.iter().filter(|change| split_subject(&change.subject).0 == group) {
            let level = view.level_of(change);
            let label = format!("{:<8}", view.label_of(change));
            let label = match level {
                ChangeLevel::Breaking if change.accepted.is_some() => paint("32", &label),
                ChangeLevel::Breaking => paint("31", &label),
                ChangeLevel::Renamed => paint("35", &label),
                ChangeLevel::Additive => paint("33", &label),
                ChangeLevel::Same => paint("2", &label),
            };
            let (_, rest) = split_subject(&change.subject);
            let subject = if rest.is_empty() { String::new() } else { format!("{rest}: ") };
            let place = view.display_place(change).map(|place| format!(" ({place})"));
            let _ = writeln!(
                out,
                "  {label} {}  {subject}{}{}",
                paint("36", change.rule),
                change.message,
                paint("2", &place.unwrap_or_default())
            );
            match &change.witness {
                Some(witness) => {
                    let _ = writeln!(
                        out,
                        "           proven: only one version accepts {}",
                        shorten_value(witness)
                    );
                }
                // If a change is proven harmless, its message already states the proof.
                None if change.proven && level == ChangeLevel::Breaking => {
                    let _ = writeln!(out, "           proven: the versions accept different values");
                }
                None => {}
            }
            let others = other_uses(change);
            if !others.is_empty() {
                let _ = writeln!(out, "           also used by: {}", others.join(", "));
            }
            if let Some(acceptance) = &change.accepted {
                let terms = acceptance_terms(acceptance);
                let reason: Vec<&str> = acceptance.reason.split_whitespace().collect();
                let _ = writeln!(out, "           accepted{terms}: {}", reason.join(" "));
            }
        }
        out.push('\n');
    }
    for line in fault_lines(drift, view).into_iter().chain(outdated_lines(drift)) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str(&summarize_totals(drift, view));
    out
}

/// Returns the lines of a report that list the outdated entries of accepted changes.
fn outdated_lines(drift: &ContractDrift) -> Vec<String> {
    let mut lines = Vec::new();
    for OutdatedEntry { location, message, help } in &drift.outdated_entries {
        lines.push(format!("error: {message} ({location})"));
        lines.push(format!("  help: {help}"));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The maximum number of faults that a report lists without `--all`.
const MAX_SHOWN_FAULTS: usize = 20;

/// Returns the lines of a report that list the faults of the new version and state the number of faults of
/// the old version. Returns no lines if there are no faults.
fn fault_lines(drift: &ContractDrift, view: &ReportOptions) -> Vec<String> {
    let shown = if view.all { drift.faults.len() } else { MAX_SHOWN_FAULTS };
    let mut lines = Vec::new();
    if !drift.faults.is_empty() {
        lines.push("Faults of the new version, which was compared after repair:".to_owned());
    }
    for fault in drift.faults.iter().take(shown) {
        let place = fault
            .new
            .as_ref()
            .map_or_else(String::new, |location| format!(" ({})", view.new_place(location)));
        lines.push(format!("  {}  {}{place}", fault.code, fault.message));
    }
    if drift.faults.len() > shown {
        lines.push(format!("  {} more (shown with --all)", drift.faults.len() - shown));
    }
    match drift.old_faults {
        0 => {}
        1 => lines.push("1 fault of the old version was repaired, too.".to_owned()),
        many => lines.push(format!("{many} faults of the old version were repaired, too.")),
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn summarize_totals(drift: &ContractDrift, view: &ReportOptions) -> String {
    let count = |label: &str| drift.changes.iter().filter(|change| view.label_of(change) == label).count();
    let (breaking, additive, same) =
        (count(BREAKING_LABEL), count(ChangeLevel::Additive.as_str()), count(ChangeLevel::Same.as_str()));
    let count_if_any = |label: &str| match count(label) {
        0 => String::new(),
        count => format!(" {count} {label},"),
    };
    let accepted = count_if_any(ACCEPTED_LABEL);
    let renamed = count_if_any(ChangeLevel::Renamed.as_str());
    let mut out = if drift.changes.is_empty() {
        "No difference.\n".to_owned()
    } else {
        let hidden = if view.all || same == 0 { "" } else { " (shown with --all)" };
        format!(
            "{breaking} breaking,{accepted}{renamed} {additive} additive, {same} without effect{hidden}.\n"
        )
    };
    let _ = writeln!(out, "For readers: {}. For writers: {}.", drift.reader_level(), drift.writer_level());
    out.push_str(&describe_bump(drift, view));
    out.push('\n');
    out
}

/// Describes the version increment that the changes require.
fn describe_bump(drift: &ContractDrift, view: &ReportOptions) -> String {
    let bump = VersionBump::for_level(view.result_level(drift), drift.changes.is_empty());
    let step = match bump {
        VersionBump::None => return "The version need not change.".to_owned(),
        VersionBump::Patch => "a new patch version",
        VersionBump::Minor => "a new minor version",
        VersionBump::Major => "a new major version",
    };
    let declared = declared_bump(drift);
    let versions = match declared {
        Some(_) => format!(" `info.version` went from {} to {}", drift.old_version, drift.new_version),
        None => return format!("These changes require {step}."),
    };
    let verdict = match declared {
        _ if bump == VersionBump::Major && view.within_major => {
            ". Within a major version, breaking changes are not allowed: undo them, or add new elements and keep the old ones"
        }
        Some(step) if step >= bump => ", which is enough",
        _ => "; increase it before the release",
    };
    format!("These changes require {step};{versions}{verdict}.")
}

/// Renders a JSON report, one object:
///
/// `result`, `readers`, `writers` (`same`, `additive`, `renamed`, `breaking`), `bump` (`none`, `patch`,
/// `minor`, `major`), `oldVersion`, `newVersion`, `declaredBump` (the increment between the two versions, or
/// `null`), `oldRevision` (the git revision of the files in `old`, or `null`) and `changes`, each with
/// `rule`, `readers`, `writers`, `subject`, `uses` (array), `difference`, `message` (the difference and its
/// effect), `proven`, `witness` (a string with JSON, or `null`), `accepted` (`null`, or an object with
/// `reason`, `by`, `expires`), `old` and `new` (`null`, or an object with `file`, `pointer`, `line`).
/// `faults` contains the faults that only the new version has, each with `code`, `message` and `new`;
/// `oldFaults` is the number of faults of the old version. `outdatedEntries` contains the entries of accepted
/// changes that have expired or cover no change, each with `file`, `line`, `message` and `help`. Further
/// properties may be added.
#[must_use]
pub fn render_json(drift: &ContractDrift, view: &ReportOptions) -> String {
    let location = |location: &Option<SourceLocation>, prefix: &str| {
        location.as_ref().map_or(
            Value::Null,
            |location| json!({ "file": join_path(prefix, &location.file), "pointer": location.pointer, "line": location.line }),
        )
    };
    let acceptance = |Acceptance { reason, by, expires }: &Acceptance| json!({ "reason": reason, "by": by, "expires": expires.map(|date| date.to_string()) });
    let change = |change: &ContractChange| {
        json!({
            "rule": change.rule,
            "readers": change.readers.as_str(),
            "writers": change.writers.as_str(),
            "subject": change.subject,
            "uses": change.uses,
            "difference": change.difference,
            "message": change.message,
            "proven": change.proven,
            "witness": change.witness,
            "accepted": change.accepted.as_ref().map(acceptance),
            "old": location(&change.old, &view.old_prefix),
            "new": location(&change.new, &view.prefix),
        })
    };
    let changes: Vec<Value> = view.shown_changes(drift).into_iter().map(change).collect();
    let fault = |fault: &ContractFault| json!({ "code": fault.code, "message": fault.message, "new": location(&fault.new, &view.prefix) });
    let faults: Vec<Value> = drift.faults.iter().map(fault).collect();
    let outdated = |OutdatedEntry { location, message, help }: &OutdatedEntry| json!({ "file": location.file, "line": location.line, "message": message, "help": help });
    let outdated: Vec<Value> = drift.outdated_entries.iter().map(outdated).collect();
    let report = json!({
        "result": view.result_level(drift).as_str(),
        "readers": drift.reader_level().as_str(),
        "writers": drift.writer_level().as_str(),
        "bump": drift.required_bump().as_str(),
        "oldVersion": drift.old_version,
        "newVersion": drift.new_version,
        "declaredBump": declared_bump(drift).map(VersionBump::as_str),
        "oldRevision": view.revision,
        "changes": changes,
        "faults": faults,
        "oldFaults": drift.old_faults,
        "outdatedEntries": outdated,
    });
    format!("{report:#}\n")
}

/// Renders a Markdown report for a pull request, with a table and the totals.
#[must_use]
pub fn render_markdown(drift: &ContractDrift, view: &ReportOptions) -> String {
    let shown = view.shown_changes(drift);
    let mut out = format!("**Contract: {}**\n\n", view.result_level(drift));
    if !shown.is_empty() {
        out.push_str("| readers | writers | rule | where | what |\n|---|---|---|---|---|\n");
    }
    for change in shown {
        let more = match other_uses(change) {
            others if others.is_empty() => String::new(),
            others => {
                let listed = others.iter().map(|base| code_span(base)).collect::<Vec<_>>().join(", ");
                format!("<details><summary>and {} more</summary>{listed}</details>", others.len())
            }
        };
        let place =
            view.display_place(change).map_or_else(String::new, |place| format!(" ({})", code_span(&place)));
        let witness = change.witness.as_deref().map(|witness| {
            format!(" Proven: only one version accepts {}.", code_span(&shorten_value(witness)))
        });
        let accepted = change.accepted.as_ref().map(|acceptance| {
            let terms = acceptance_terms(acceptance);
            format!(" **Accepted{}:** {}", escape_cell(&terms), escape_cell(&acceptance.reason))
        });
        let emphasize = |level: ChangeLevel| emphasize_level(level, change.accepted.is_some());
        let _ = writeln!(
            out,
            "| {} | {} | `{}` | {}{place}{more} | {}.{}{} |",
            emphasize(change.readers),
            emphasize(change.writers),
            change.rule,
            code_span(&change.subject),
            escape_cell(&change.message),
            witness.unwrap_or_default(),
            accepted.unwrap_or_default()
        );
    }
    let mut lines = fault_lines(drift, view);
    lines.extend(outdated_lines(drift));
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        let line = match line.strip_prefix("  ") {
            Some(fault) => format!("* {}", escape_cell(fault)),
            None => line,
        };
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    out.push_str(&summarize_totals(drift, view));
    out
}

fn emphasize_level(level: ChangeLevel, is_accepted: bool) -> String {
    match level {
        ChangeLevel::Breaking if is_accepted => format!("{level}, accepted"),
        ChangeLevel::Breaking => format!("**{level}**"),
        _ => level.to_string(),
    }
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}

fn code_span(text: &str) -> String {
    // A code span ends at a run of as many backticks as it began with (CommonMark 6.1).
    format!("`` {} ``", text.replace('|', "\\|").replace('\n', " ").replace("``", "` `"))
}

/// Renders one GitHub workflow command per change. The command is located in the new version if the change
/// has a location there, otherwise in the old version. Each fault of the new version gets a warning, and each
/// outdated entry of accepted changes an error.
#[must_use]
pub fn render_github_annotations(drift: &ContractDrift, view: &ReportOptions) -> String {
    let mut out = String::new();
    for change in view.shown_changes(drift) {
        let command = match view.level_of(change) {
            ChangeLevel::Breaking if change.accepted.is_some() => "notice",
            ChangeLevel::Breaking => "error",
            ChangeLevel::Renamed => "warning",
            ChangeLevel::Additive => "notice",
            ChangeLevel::Same => "debug",
        };
        if command == "debug" {
            let _ = writeln!(
                out,
                "::debug::{}",
                escape_command_data(&format!("{}: {}", change.subject, change.message))
            );
            continue;
        }
        let new = change.new.as_ref().map(|location| (location, &view.prefix));
        let location = new.or_else(|| change.old.as_ref().map(|location| (location, &view.old_prefix)));
        let place = location.map_or_else(String::new, |(location, prefix)| {
            format!(
                "file={},line={},",
                escape_command_property(&join_path(prefix, &location.file)),
                location.line
            )
        });
        let message = escape_command_data(&describe_change(change));
        let _ = writeln!(out, "::{command} {place}title={}::{message}", escape_command_property(change.rule));
    }
    for fault in &drift.faults {
        let place = fault.new.as_ref().map_or_else(String::new, |location| {
            format!(
                "file={},line={},",
                escape_command_property(&join_path(&view.prefix, &location.file)),
                location.line
            )
        });
        let _ = writeln!(
            out,
            "::warning {place}title={}::{}",
            escape_command_property(fault.code),
            escape_command_data(&fault.message)
        );
    }
    for OutdatedEntry { location, message, help } in &drift.outdated_entries {
        let (file, line) = (escape_command_property(&location.file), location.line);
        let text = escape_command_data(&format!("{message}\nhelp: {help}"));
        let _ = writeln!(out, "::error file={file},line={line},title={OUTDATED_CODE}::{text}");
    }
    out
}

/// The code of outdated entries in GitHub annotations and SARIF.
const OUTDATED_CODE: &str = "outdated-accepted-change";

fn escape_command_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escape_command_property(text: &str) -> String {
    escape_command_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The note about rules whose changes are breaking within a major version.
const PERMANENCE_NOTE: &str = "Within a major version, declared elements must not be removed, so that the change is breaking for every affected client.";

/// Renders the table of all rules, or one rule with its reason.
///
/// # Errors
/// Returns a message with the most similar id if the rule does not exist.
pub fn explain_rule(id: Option<&str>) -> Result<String, String> {
    let Some(id) = id else {
        let mut out = format!("{:<36} {:<9} {:<9} {}\n", "rule", "readers", "writers", "change");
        for DriftRule { id, title, readers, writers, .. } in RULES {
            let _ = writeln!(out, "{id:<36} {:<9} {:<9} {title}", readers.as_str(), writers.as_str());
        }
        return Ok(out);
    };
    let Some(rule) = find_rule(id) else {
        let near =
            contract_codegen_core::resolve::suggest::nearest_match(id, RULES.iter().map(|rule| rule.id));
        let hint =
            near.map_or_else(|| "`--explain` lists all".to_owned(), |near| format!("did you mean `{near}`?"));
        return Err(format!("there is no rule `{id}`: {hint}"));
    };
    let mut out = format!(
        "{}: {}\n\nFor readers: {}. For writers: {}.\n{}\n",
        rule.id, rule.title, rule.readers, rule.writers, rule.reason
    );
    if rule.is_breaking_within_major {
        let _ = writeln!(out, "{PERMANENCE_NOTE}");
    }
    if is_removal_of_element(rule) {
        let _ = writeln!(out, "{LIFECYCLE_NOTE}");
    }
    if let Some(text) = describe_webhook_levels(rule) {
        let _ = writeln!(out, "{text}");
    }
    Ok(out)
}

/// Describes the levels of a rule in webhooks and callbacks if they differ from those in operations.
fn describe_webhook_levels(rule: &DriftRule) -> Option<String> {
    let hook = webhook_levels(rule.id)?;
    let (readers, writers) = (hook.readers, hook.writers);
    let levels = format!("For readers: {readers}. For writers: {writers}. {}", hook.reason);
    Some(format!("In webhooks and callbacks, where the service sends requests and clients respond: {levels}"))
}

/// Splits a subject into an operation and a path, such as `GET /me/ships` and `200 body /items`, or into a
/// schema and a path in it.
fn split_subject(subject: &str) -> (&str, &str) {
    let method = subject.split(' ').next().unwrap_or_default();
    let call = !method.is_empty() && method.chars().all(|c| c.is_ascii_uppercase());
    let end = if call { subject.match_indices(' ').nth(1).map(|(at, _)| at) } else { subject.find(" /") };
    end.and_then(|end| subject.split_at_checked(end))
        .map_or((subject, ""), |(group, rest)| (group, rest.trim_start()))
}

fn shorten_value(text: &str) -> String {
    let text = &escape_invisible(text);
    if text.chars().count() <= 100 {
        return text.to_owned();
    }
    let start: String = text.chars().take(80).collect();
    format!("{start}… ({} characters)", text.chars().count())
}

#[cfg(test)]
mod tests {
    use crate::drift::{CompareOptions, ContractVersion, compare, report};

    /// No explanation of a rule contains the same condition twice.
    #[test]
    fn explanations_do_not_repeat_the_major_version() {
        for rule in crate::drift::rules::RULES {
            let text = report::explain_rule(Some(rule.id)).unwrap();
            assert!(text.to_lowercase().matches("within a major version").count() <= 1, "{text}");
        }
    }

    /// A changed description requires a new patch version. The unchanged version 1.0.0 is reported as too
    /// low, 1.0.1 as sufficient.
    #[test]
    fn required_increment_agrees_with_the_version_verdict() {
        let contract = |description: &str, version: &str| {
            let text = format!(
                "{{openapi: 3.1.0, info: {{title: A, version: {version}}}, components: {{schemas: {{A: {{type: string, description: {description}}}}}}}}}"
            );
            ContractVersion::from_strings(&[("a.yaml", "", &text)])
                .unwrap_or_else(|problems| panic!("{problems}"))
        };
        for (version, verdict) in
            [("1.0.0", "; increase it before the release"), ("1.0.1", ", which is enough")]
        {
            let drift =
                compare(&contract("One", "1.0.0"), &contract("Two", version), &CompareOptions::default());
            let text = report::render_text(&drift, &report::ReportOptions::default());
            let expect = format!(
                "These changes require a new patch version; `info.version` went from 1.0.0 to {version}{verdict}."
            );
            assert!(text.contains(&expect), "{text}");
        }
    }
}
