//! A drift for people, for programs, for pull requests.

mod sarif;

use std::fmt::Write;

use serde_json::{Value, json};

pub use self::sarif::sarif;
use super::{
    Bump, Change, Drift, Fault, Level, Spot,
    enumerations::visible,
    rules::{RULES, Rule, find, hook},
};

/// Whose view decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Audience {
    /// The worse of both.
    #[default]
    Everyone,
    /// Those who read what the service sends.
    Readers,
    /// Those who send what the service takes.
    Writers,
}

/// What to show.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct View {
    /// Also what changes nothing for anybody, such as words.
    pub all: bool,
    /// Whose view decides.
    pub audience: Audience,
    /// Whether text for people has colours.
    pub color: bool,
    /// Whether both are versions of one major version, so that a break is a failure.
    pub within_major: bool,
    /// Put in front of the new version's file names, so that they are right for where the report is
    /// read: `schemas/`.
    pub prefix: String,
    /// The same for the old version.
    pub old_prefix: String,
    /// The revision that the old version's files are of, where they lie in no folder.
    pub revision: Option<String>,
}

impl View {
    /// What a change means for the audience.
    #[must_use]
    pub fn level(&self, change: &Change) -> Level {
        match self.audience {
            Audience::Everyone => change.level(),
            Audience::Readers => change.readers,
            Audience::Writers => change.writers,
        }
    }

    /// What all of it means for the audience.
    #[must_use]
    pub fn result(&self, drift: &Drift) -> Level {
        drift.changes.iter().map(|change| self.level(change)).max().unwrap_or_default()
    }

    fn shown<'a>(&self, drift: &'a Drift) -> Vec<&'a Change> {
        drift.changes.iter().filter(|change| self.all || self.level(change) > Level::Same).collect()
    }

    /// Where people look for a change: what is gone stood in the old version.
    fn place(&self, change: &Change) -> Option<String> {
        let new = change.new.as_ref().map(|spot| self.new_place(spot));
        let old = change.old.as_ref().map(|spot| self.old_place(spot));
        let removed = find(change.rule).is_some_and(|rule| rule.removes);
        if removed { old.or(new) } else { new.or(old) }
    }

    fn new_place(&self, spot: &Spot) -> String {
        format!("{}:{}", joined(&self.prefix, &spot.file), spot.line)
    }

    /// As `git show` takes it, where it is of a revision.
    fn old_place(&self, spot: &Spot) -> String {
        let revision = self.revision.as_ref().map_or_else(String::new, |revision| format!("{revision}:"));
        format!("{revision}{}:{}", joined(&self.old_prefix, &spot.file), spot.line)
    }
}

/// A folder and the way from it to a file as one path, steps back taken.
fn joined(prefix: &str, file: &str) -> String {
    // An absolute path, or one of another drive.
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

/// A change in one sentence, with what shows it and what else it reaches.
fn spoken(change: &Change) -> String {
    let mut text = format!("{}: {}.", change.subject, change.message);
    if let Some(witness) = &change.witness {
        let _ = write!(text, " Proven: only one version accepts {}.", shorten(witness));
    }
    let others = others(change);
    if !others.is_empty() {
        let _ = write!(text, " The same place is reached by {} more: {}.", others.len(), others.join(", "));
    }
    text
}

/// What else reaches the place of a change.
fn others(change: &Change) -> Vec<&str> {
    let own = change.uses.iter().filter(|base| {
        let rest = change.subject.strip_prefix(base.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" /"))
    });
    // Of two bases of which one begins the other, the longer is meant.
    let own = own.max_by_key(|base| base.len());
    change.uses.iter().filter(|base| Some(*base) != own).map(String::as_str).collect()
}

/// The exit code: 0 same, 1 additive or renamed, 2 breaking.
///
/// Across major versions a break is allowed, and therefore 1, when `info.version` rises by a
/// major version.
#[must_use]
pub fn exit_code(drift: &Drift, view: &View) -> u8 {
    match view.result(drift) {
        Level::Same => 0,
        Level::Additive | Level::Renamed => 1,
        Level::Breaking if !view.within_major && declared(drift) == Some(Bump::Major) => 1,
        Level::Breaking => 2,
    }
}

fn declared(drift: &Drift) -> Option<Bump> {
    Bump::between(&drift.old_version, &drift.new_version)
}

/// For people: grouped by operation or schema, one line per change, totals, what it means.
#[must_use]
pub fn human(drift: &Drift, view: &View) -> String {
    let paint = |code: &str, text: &str| {
        if view.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let shown = view.shown(drift);
    let mut groups: Vec<&str> = Vec::new();
    for change in &shown {
        let (group, _) = split(&change.subject);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut out = String::new();
    for group in groups {
        let _ = writeln!(out, "{}", paint("1", group));
        for change in shown.iter().filter(|change| split(&change.subject).0 == group) {
            let level = view.level(change);
            let word = format!("{:<8}", level.word());
            let word = match level {
                Level::Breaking => paint("31", &word),
                Level::Renamed => paint("35", &word),
                Level::Additive => paint("33", &word),
                Level::Same => paint("2", &word),
            };
            let (_, rest) = split(&change.subject);
            let subject = if rest.is_empty() { String::new() } else { format!("{rest}: ") };
            let place = view.place(change).map(|place| format!(" ({place})"));
            let _ = writeln!(
                out,
                "  {word} {}  {subject}{}{}",
                paint("36", change.rule),
                change.message,
                paint("2", &place.unwrap_or_default())
            );
            match &change.witness {
                Some(witness) => {
                    let _ = writeln!(out, "           proven: only one version accepts {}", shorten(witness));
                }
                // What is proven harmless says so in its message.
                None if change.proven && level == Level::Breaking => {
                    let _ = writeln!(out, "           proven: the versions accept different values");
                }
                None => {}
            }
            let others = others(change);
            if !others.is_empty() {
                let _ = writeln!(
                    out,
                    "           the same place is reached by {} more: {}",
                    others.len(),
                    others.join(", ")
                );
            }
        }
        out.push('\n');
    }
    for line in faults(drift, view) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str(&totals(drift, view));
    out
}

/// Faults that a report names; the others are counted.
const FAULTS: usize = 20;

/// What was not compared as it is written, a line each.
fn faults(drift: &Drift, view: &View) -> Vec<String> {
    let shown = if view.all { drift.faults.len() } else { FAULTS };
    let mut lines = Vec::new();
    if !drift.faults.is_empty() {
        lines.push("Faults of the new version, compared as what was taken in their place:".to_owned());
    }
    for fault in drift.faults.iter().take(shown) {
        let place =
            fault.new.as_ref().map_or_else(String::new, |spot| format!(" ({})", view.new_place(spot)));
        lines.push(format!("  {}  {}{place}", fault.code, fault.message));
    }
    if drift.faults.len() > shown {
        lines.push(format!("  {} more (shown with --all)", drift.faults.len() - shown));
    }
    match drift.old_faults {
        0 => {}
        1 => lines.push("1 fault of the old version was compared so too.".to_owned()),
        many => lines.push(format!("{many} faults of the old version were compared so too.")),
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn totals(drift: &Drift, view: &View) -> String {
    let count = |level: Level| drift.changes.iter().filter(|change| view.level(change) == level).count();
    let (breaking, additive, same) = (count(Level::Breaking), count(Level::Additive), count(Level::Same));
    let renamed = match count(Level::Renamed) {
        0 => String::new(),
        renamed => format!(" {renamed} renamed,"),
    };
    let mut out = if drift.changes.is_empty() {
        "No difference.\n".to_owned()
    } else {
        let hidden = if view.all || same == 0 { "" } else { " (shown with --all)" };
        format!("{breaking} breaking,{renamed} {additive} additive, {same} of no consequence{hidden}.\n")
    };
    let _ = writeln!(out, "For readers: {}. For writers: {}.", drift.readers(), drift.writers());
    out.push_str(&meaning(drift, view));
    out.push('\n');
    out
}

/// The sentence about versions.
fn meaning(drift: &Drift, view: &View) -> String {
    let bump = Bump::of(view.result(drift), drift.changes.is_empty());
    let step = match bump {
        Bump::None => return "The version may stay as it is.".to_owned(),
        Bump::Patch => "a new patch version",
        Bump::Minor => "a new minor version",
        Bump::Major => "a new major version",
    };
    let declared = declared(drift);
    let versions = match declared {
        Some(_) => format!(" `info.version` went from {} to {}", drift.old_version, drift.new_version),
        None => return format!("These changes mean {step}."),
    };
    let verdict = match declared {
        _ if bump == Bump::Major && view.within_major => {
            ": within a major version nothing may break. Undo it, or add the new beside the old"
        }
        Some(step) if step >= bump => ", which is enough",
        _ => ", which is too little",
    };
    format!("These changes mean {step};{versions}{verdict}.")
}

/// For programs, one JSON object:
///
/// `result`, `readers`, `writers` (`same`, `additive`, `renamed`, `breaking`), `bump` (`none`, `patch`,
/// `minor`, `major`), `oldVersion`, `newVersion`, `declaredBump` (a bump or `null`), `oldRevision`
/// (what the files of `old` are of in git, or `null`) and `changes`, each with `rule`, `readers`, `writers`, `subject`, `uses` (array), `message`,
/// `proven`, `witness` (JSON text or `null`), `old` and `new` (`null`, or `file`, `pointer`,
/// `line`). `faults` are those that only the new version has, each with `code`, `message` and `new`;
/// `oldFaults` is how many the old one has. Members may be added.
#[must_use]
pub fn json(drift: &Drift, view: &View) -> String {
    let spot = |spot: &Option<Spot>, prefix: &str| {
        spot.as_ref().map_or(
            Value::Null,
            |spot| json!({ "file": joined(prefix, &spot.file), "pointer": spot.pointer, "line": spot.line }),
        )
    };
    let change = |change: &Change| {
        json!({
            "rule": change.rule,
            "readers": change.readers.word(),
            "writers": change.writers.word(),
            "subject": change.subject,
            "uses": change.uses,
            "message": change.message,
            "proven": change.proven,
            "witness": change.witness,
            "old": spot(&change.old, &view.old_prefix),
            "new": spot(&change.new, &view.prefix),
        })
    };
    let changes: Vec<Value> = view.shown(drift).into_iter().map(change).collect();
    let fault = |fault: &Fault| json!({ "code": fault.code, "message": fault.message, "new": spot(&fault.new, &view.prefix) });
    let faults: Vec<Value> = drift.faults.iter().map(fault).collect();
    let report = json!({
        "result": view.result(drift).word(),
        "readers": drift.readers().word(),
        "writers": drift.writers().word(),
        "bump": drift.bump().word(),
        "oldVersion": drift.old_version,
        "newVersion": drift.new_version,
        "declaredBump": declared(drift).map(Bump::word),
        "oldRevision": view.revision,
        "changes": changes,
        "faults": faults,
        "oldFaults": drift.old_faults,
    });
    format!("{report:#}\n")
}

/// For a pull request: a table and the totals.
#[must_use]
pub fn markdown(drift: &Drift, view: &View) -> String {
    let shown = view.shown(drift);
    let mut out = format!("**Contract: {}**\n\n", view.result(drift));
    if !shown.is_empty() {
        out.push_str("| readers | writers | rule | where | what |\n|---|---|---|---|---|\n");
    }
    for change in shown {
        let more = match others(change) {
            others if others.is_empty() => String::new(),
            others => {
                let listed = others.iter().map(|base| code(base)).collect::<Vec<_>>().join(", ");
                format!("<details><summary>and {} more</summary>{listed}</details>", others.len())
            }
        };
        let place = view.place(change).map_or_else(String::new, |place| format!(" ({})", code(&place)));
        let witness = change
            .witness
            .as_deref()
            .map(|witness| format!(" Proven: only one version accepts {}.", code(&shorten(witness))));
        let _ = writeln!(
            out,
            "| {} | {} | `{}` | {}{place}{more} | {}.{} |",
            strong(change.readers),
            strong(change.writers),
            change.rule,
            code(&change.subject),
            cell(&change.message),
            witness.unwrap_or_default()
        );
    }
    let faults = faults(drift, view);
    if !faults.is_empty() {
        out.push('\n');
    }
    for line in faults {
        let line = match line.strip_prefix("  ") {
            Some(fault) => format!("* {}", cell(fault)),
            None => line,
        };
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    out.push_str(&totals(drift, view));
    out
}

fn strong(level: Level) -> String {
    if level == Level::Breaking { format!("**{level}**") } else { level.to_string() }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}

fn code(text: &str) -> String {
    // A code span ends at a run of as many backticks as it began with (CommonMark 6.1).
    format!("`` {} ``", text.replace('|', "\\|").replace('\n', " ").replace("``", "` `"))
}

/// For GitHub: one workflow command a change, at the new place, else at the old one.
#[must_use]
pub fn annotations(drift: &Drift, view: &View) -> String {
    let mut out = String::new();
    for change in view.shown(drift) {
        let command = match view.level(change) {
            Level::Breaking => "error",
            Level::Renamed => "warning",
            Level::Additive => "notice",
            Level::Same => "debug",
        };
        if command == "debug" {
            let _ = writeln!(out, "::debug::{}", data(&format!("{}: {}", change.subject, change.message)));
            continue;
        }
        let new = change.new.as_ref().map(|spot| (spot, &view.prefix));
        let spot = new.or_else(|| change.old.as_ref().map(|spot| (spot, &view.old_prefix)));
        let place = spot.map_or_else(String::new, |(spot, prefix)| {
            format!("file={},line={},", property(&joined(prefix, &spot.file)), spot.line)
        });
        let message = data(&spoken(change));
        let _ = writeln!(out, "::{command} {place}title={}::{message}", property(change.rule));
    }
    for fault in &drift.faults {
        let place = fault.new.as_ref().map_or_else(String::new, |spot| {
            format!("file={},line={},", property(&joined(&view.prefix, &spot.file)), spot.line)
        });
        let _ = writeln!(out, "::warning {place}title={}::{}", property(fault.code), data(&fault.message));
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// What else is said of a rule that takes away something declared.
const FOREVER: &str = "Within a major version it is breaking for whom it concerns.";

/// The rules as a table, or one of them with its reason.
///
/// # Errors
/// A sentence with the nearest id when there is no such rule.
pub fn explain(id: Option<&str>) -> Result<String, String> {
    let Some(id) = id else {
        let mut out = format!("{:<36} {:<9} {:<9} {}\n", "rule", "readers", "writers", "what happened");
        for Rule { id, title, readers, writers, .. } in RULES {
            let _ = writeln!(out, "{id:<36} {:<9} {:<9} {title}", readers.word(), writers.word());
        }
        return Ok(out);
    };
    let Some(rule) = find(id) else {
        let near = crate::resolve::suggest::nearest(id, RULES.iter().map(|rule| rule.id));
        let hint =
            near.map_or_else(|| "`--explain` lists all".to_owned(), |near| format!("did you mean `{near}`?"));
        return Err(format!("there is no rule `{id}`: {hint}"));
    };
    let mut out = format!(
        "{}: {}\n\nFor readers: {}. For writers: {}.\n{}\n",
        rule.id, rule.title, rule.readers, rule.writers, rule.why
    );
    if rule.forever {
        let _ = writeln!(out, "{FOREVER}");
    }
    if let Some(text) = hooked(rule) {
        let _ = writeln!(out, "{text}");
    }
    Ok(out)
}

/// What a rule means where the service calls and clients answer, if that is something else.
fn hooked(rule: &Rule) -> Option<String> {
    let hook = hook(rule.id)?;
    let (readers, writers) = (hook.readers, hook.writers);
    let says = format!("For readers: {readers}. For writers: {writers}. {}", hook.why);
    Some(format!("In webhooks and callbacks, where the service calls and clients answer: {says}"))
}

/// `GET /me/ships` and `200 body /items`; or a schema and the path in it.
fn split(subject: &str) -> (&str, &str) {
    let method = subject.split(' ').next().unwrap_or_default();
    let call = !method.is_empty() && method.chars().all(|c| c.is_ascii_uppercase());
    let end = if call { subject.match_indices(' ').nth(1).map(|(at, _)| at) } else { subject.find(" /") };
    end.and_then(|end| subject.split_at_checked(end))
        .map_or((subject, ""), |(group, rest)| (group, rest.trim_start()))
}

fn shorten(text: &str) -> String {
    let text = &visible(text);
    if text.chars().count() <= 100 {
        return text.to_owned();
    }
    let start: String = text.chars().take(80).collect();
    format!("{start}… ({} characters)", text.chars().count())
}

#[cfg(test)]
mod tests {
    use crate::drift::{Options, Version, compare, report};

    /// What is asked of a version is what it is held to.
    #[test]
    fn the_sentence_about_versions_agrees_with_itself() {
        let said = |words: &str, version: &str| {
            let text = format!(
                "{{openapi: 3.1.0, info: {{title: A, version: {version}}}, components: {{schemas: {{A: {{type: string, description: {words}}}}}}}}}"
            );
            Version::from_texts(&[("a.yaml", "", &text)]).unwrap_or_else(|problems| panic!("{problems}"))
        };
        for (version, verdict) in [("1.0.0", "too little"), ("1.0.1", "enough")] {
            let drift = compare(&said("One", "1.0.0"), &said("Two", version), &Options::default());
            let text = report::human(&drift, &report::View::default());
            let expect = format!(
                "These changes mean a new patch version; `info.version` went from 1.0.0 to {version}, which is {verdict}."
            );
            assert!(text.contains(&expect), "{text}");
        }
    }
}
