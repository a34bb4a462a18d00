//! The outcomes of changes. They are read from the outbox, printed, and only then removed from it (CLI-04,
//! STK-18, WRT-14).
//!
//! The outbox stores each outcome until this module has printed and removed it. If a command is interrupted
//! before it prints an outcome, the next command that sends changes prints it. Outcomes of org stock are
//! stored for at most seven days (OST-14).

use exchange_client::{
    Error, ErrorKind,
    api::{
        Json,
        types::{Warning, WarningCode},
    },
    changes::{ChangeOp, ChangeSetOutcome, Lane, OpOutcome, OpRemedy, OpVerdict},
    outbox::{
        EntryNumber, EntryState, Outbox, OutboxContents, OutboxEntry, OutboxEvent, ParkReason,
        UnreadableEntry, WriteOutcome,
    },
};
use serde_json::{Map, Value, json};

use super::{
    candidates::AmbiguousReference,
    outbox::{UNREADABLE_ADVICE, describe_state},
    report_claims::{ReportClaim, ReportClaims},
};
use crate::{
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle},
    table::Table,
};

/// The outcome of one change set, independent of the types of its area.
pub(super) struct ChangeSetReport {
    pub(super) ops: Vec<OpReport>,
    notices: Vec<String>,
    warnings: Vec<Warning>,
    offers_reduced: i64,
    offers_removed: i64,
    detached_from_missions: i64,
}

/// An op with its verdict.
pub(super) struct OpReport {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) verdict: OpVerdict,
    /// The reference of the op, if it matched several entries of the catalogue.
    pub(super) ambiguous: Option<AmbiguousReference>,
}

impl ChangeSetReport {
    pub(super) fn from_outcome<O: ChangeOp>(outcome: &ChangeSetOutcome<O>) -> Self {
        let op = |settled: &OpOutcome<O>| {
            let (id, json) = describe_op(&settled.op);
            let ambiguous = AmbiguousReference::from_op(O::LANE, json.as_ref(), &settled.verdict);
            let what = json.and_then(|json| Some(json.as_object()?.get("op")?.as_str()?.to_owned()));
            OpReport { id, what: what.unwrap_or_default(), verdict: settled.verdict.clone(), ambiguous }
        };
        Self {
            ops: outcome.ops.iter().map(op).collect(),
            notices: outcome.notices().iter().map(ToString::to_string).collect(),
            warnings: outcome.warnings.clone(),
            offers_reduced: outcome.offers_reduced,
            offers_removed: outcome.offers_removed,
            detached_from_missions: outcome.detached_from_missions,
        }
    }

    pub(super) fn from_written(written: &WriteOutcome) -> Option<Self> {
        match written {
            WriteOutcome::Blueprints(outcome) => Some(Self::from_outcome(outcome)),
            WriteOutcome::Stock(outcome) => Some(Self::from_outcome(outcome)),
            WriteOutcome::Ships(outcome) => Some(Self::from_outcome(outcome)),
            WriteOutcome::OrgStock(outcome) => Some(Self::from_outcome(outcome)),
            _ => None,
        }
    }
}

/// Returns the id of an op and its JSON. The id is empty if the op has none.
pub(super) fn describe_op<O: ChangeOp>(op: &O) -> (String, Option<Json>) {
    (op.id().map_or_else(String::new, |id| id.as_str().to_owned()), op.to_json().ok())
}

/// Describes a warning of the exchange about a part of a change that it ignored or replaced (CON-08).
fn describe_warning(Warning { pointer, code, .. }: &Warning) -> String {
    let pointer = pointer.as_str();
    match code {
        WarningCode::UnknownField => format!("the exchange does not know {pointer} and ignored it"),
        WarningCode::LocKeyUnresolved => {
            format!("{pointer}: no catalogue entry has this key, so the name was used")
        }
        code => format!("{pointer}: {}", code.as_str()),
    }
}

/// The report about one entry of the outbox, or about one previewed change set.
struct EntryReport {
    /// The number of the entry; `None` for a dry run.
    number: Option<EntryNumber>,
    area: Option<Lane>,
    /// True if this command stored or selected the entry. Other entries are reported only if they are
    /// decided, unreadable, or need an action of the member.
    is_own: bool,
    status: EntryStatus,
    /// The error of the exchange or of the connection to it, if any.
    failure: Option<CommandError>,
    /// The claim that prevents other runs from reporting the same outcome.
    claim: Option<ReportClaim>,
}

/// The state of an entry after sending.
enum EntryStatus {
    /// The change was only previewed; this is the outcome that it would have.
    Previewed(ChangeSetReport),
    /// The change is decided. `set` is `None` if there are no verdicts, because the feed or the member showed
    /// that the requested state was reached.
    Decided { set: Option<ChangeSetReport>, replayed: bool },
    /// The change is still in the outbox. `behind` is an earlier entry of its area that has to be sent first.
    Open { state: EntryState, code: Option<String>, behind: Option<(EntryNumber, EntryState)> },
    /// Another run of this program reports the outcome, or removed the entry.
    ReportedElsewhere,
    /// This version of the program cannot read the entry.
    Unreadable { done: bool },
}

impl EntryReport {
    /// Creates the report for an entry of this command that is no longer in the outbox.
    const fn reported_elsewhere(number: EntryNumber) -> Self {
        Self {
            number: Some(number),
            area: None,
            is_own: true,
            status: EntryStatus::ReportedElsewhere,
            failure: None,
            claim: None,
        }
    }

    fn outcome(&self) -> Option<&ChangeSetReport> {
        match &self.status {
            EntryStatus::Previewed(set) | EntryStatus::Decided { set: Some(set), .. } => Some(set),
            _ => None,
        }
    }

    const fn outcome_mut(&mut self) -> Option<&mut ChangeSetReport> {
        match &mut self.status {
            EntryStatus::Previewed(set) | EntryStatus::Decided { set: Some(set), .. } => Some(set),
            _ => None,
        }
    }

    /// Returns the exit code, or `None` if the verdicts of the ops determine it.
    fn exit_status(&self) -> Option<ExitStatus> {
        let (state, behind) = match &self.status {
            EntryStatus::Open { state, behind, .. } => (state, behind),
            // The outcome is not known here, so the command must not report success.
            EntryStatus::ReportedElsewhere | EntryStatus::Unreadable { .. } => {
                return Some(ExitStatus::Failure);
            }
            EntryStatus::Decided { .. } if self.failure.is_some() => return Some(ExitStatus::Failure),
            EntryStatus::Decided { .. } | EntryStatus::Previewed(_) => return None,
        };
        let failed = || self.failure.as_ref().map_or(ExitStatus::Failure, CommandError::exit_status);
        Some(match state {
            EntryState::Held | EntryState::NeedsRebase => ExitStatus::Conflict,
            EntryState::Pending | EntryState::Sending => match behind {
                Some((_, ahead)) if ahead.needs_intervention() => ExitStatus::Conflict,
                _ => ExitStatus::RetryLater,
            },
            EntryState::Parked(_) if self.failure.is_some() => failed(),
            EntryState::Parked(ParkReason::SignedOut | ParkReason::Scope) => ExitStatus::SignInRequired,
            EntryState::Parked(ParkReason::Halted) => ExitStatus::Refused,
            EntryState::Refused => failed(),
            _ => ExitStatus::Failure,
        })
    }
}

/// Returns the exit code for the entries of this command. It is `Partly` if some ops were applied and others
/// were not.
fn exit_status_of(lines: &[EntryReport]) -> ExitStatus {
    let own_lines: Vec<&EntryReport> = lines.iter().filter(|line| line.is_own).collect();
    let ops: Vec<&OpVerdict> = own_lines
        .iter()
        .filter_map(|line| line.outcome())
        .flat_map(|set| &set.ops)
        .map(|op| &op.verdict)
        .collect();
    let told_by_feed = |line: &&EntryReport| {
        matches!(line.status, EntryStatus::Decided { set: None, .. }) && line.failure.is_none()
    };
    let something = own_lines.iter().any(told_by_feed) || ops.iter().any(|verdict| verdict.is_satisfied());
    let needs_word = |remedy: OpRemedy| remedy.needs_pull() || matches!(remedy, OpRemedy::AskThenOverride);
    let of_ops = || match ops.iter().filter_map(|verdict| verdict.remedy()).map(needs_word).max() {
        None => ExitStatus::Success,
        Some(true) => ExitStatus::Conflict,
        Some(false) => ExitStatus::Failure,
    };
    match own_lines.iter().find_map(|line| line.exit_status()).unwrap_or_else(of_ops) {
        ExitStatus::Success => ExitStatus::Success,
        _ if something => ExitStatus::PartialSuccess,
        exit => exit,
    }
}

/// Prints the outcomes that the changes of a dry run would have.
pub(super) fn print_preview(
    area: Lane,
    sets: Vec<ChangeSetReport>,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let line = |set| {
        let status = EntryStatus::Previewed(set);
        EntryReport { number: None, area: Some(area), is_own: true, status, failure: None, claim: None }
    };
    let lines: Vec<EntryReport> = sets.into_iter().map(line).collect();
    print_data(&lines, output);
    output.flush_data()?;
    print_remarks(&lines, output);
    if !output.is_json() {
        output.print_note("a dry run: nothing was changed");
    }
    Ok(exit_status_of(&lines))
}

/// The report of a command. It contains the entries of the command, and other decided entries that no command
/// has reported yet. Gather it while holding the send lock, and print it after releasing the lock.
pub(super) struct OutcomeReport {
    lines: Vec<EntryReport>,
    /// The error that prevented sending, unless one of the entries contains it.
    send_failure: Option<CommandError>,
}

impl OutcomeReport {
    /// Returns all decided ops.
    pub(super) fn ops_mut(&mut self) -> impl Iterator<Item = &mut OpReport> {
        self.lines.iter_mut().filter_map(EntryReport::outcome_mut).flat_map(|set| &mut set.ops)
    }
}

/// Prints a report and removes the reported outcomes from the outbox. Returns the exit code, and the areas of
/// the decided entries.
pub(super) async fn print_report(
    report: OutcomeReport,
    outbox: &Outbox,
    output: &mut Output,
) -> Result<(ExitStatus, Vec<Lane>), CommandError> {
    let OutcomeReport { mut lines, send_failure } = report;
    print_data(&lines, output);
    output.flush_data()?;
    print_remarks(&lines, output);
    let mut exit = exit_status_of(&lines);
    if let Some(send_failure) = send_failure {
        send_failure.print(output);
        // The entries of the command determine the exit code, even if an error prevented sending other
        // entries.
        if exit == ExitStatus::Success && !lines.iter().any(|line| line.is_own) {
            exit = send_failure.exit_status();
        }
    }
    let (mut areas, mut reported, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines.iter_mut().filter(|line| matches!(line.status, EntryStatus::Decided { .. })) {
        areas.extend(line.area);
        // If the standard output is closed, nobody has read the outcome, so it stays in the outbox.
        if output.is_open() && line.failure.is_none() {
            reported.extend(line.number);
            claims.extend(line.claim.take());
        }
    }
    match outbox.forget_entries(&reported).await {
        Ok(_) => claims.into_iter().for_each(ReportClaim::complete),
        Err(error) => output.print_warning(error),
    }
    Ok((exit, areas))
}

/// Reads the state of the entries from the outbox and claims the outcomes that this run will report.
pub(super) async fn gather_report(
    outbox: &Outbox,
    claims: &ReportClaims,
    own_entries: &[EntryNumber],
    sent: Result<&[OutboxEvent], &CommandError>,
) -> Result<OutcomeReport, CommandError> {
    let OutboxContents { entries, unreadable, .. } = outbox.contents().await?;
    let stuck = |event: &OutboxEvent| match event {
        OutboxEvent::StoreError { error } => Some(CommandError::from(error.clone())),
        _ => None,
    };
    let (events, mut send_failure) = match sent {
        Ok(events) => (events, events.iter().find_map(stuck)),
        Err(send_failure) => (&[][..], Some(send_failure.clone())),
    };
    // The report of the unreadable entry already covers this error.
    let is_already_reported = |failure: &CommandError| {
        matches!(failure, CommandError::Client(error) if error.kind() == ErrorKind::Storage)
            && unreadable.iter().any(|other| !other.done)
    };
    send_failure = send_failure.filter(|send_failure| !is_already_reported(send_failure));
    let mut lines = Vec::new();
    for entry in &entries {
        let (number, is_own) = (entry.number(), own_entries.contains(&entry.number()));
        let event = events.iter().rev().find(|event| event.entry() == Some(number));
        let mut failure = event.and_then(event_error).cloned().map(CommandError::from);
        let mut claim = None;
        let status = match entry.state() {
            EntryState::Done => {
                claim = claims
                    .try_claim(number)
                    .map_err(|error| CommandError::from_io_error("telling", &error))?;
                let outcome = match &claim {
                    Some(_) => Some(outbox.load_outcome(number).await),
                    None => None,
                };
                let set = match outcome {
                    Some(Ok(written)) => written.as_ref().and_then(ChangeSetReport::from_written),
                    Some(Err(error)) if error.kind() != ErrorKind::Invalid => {
                        failure = Some(error.into());
                        None
                    }
                    // Another run reports the outcome, or has reported it since the contents of the outbox
                    // were read.
                    Some(Err(_)) | None => {
                        claim.into_iter().for_each(ReportClaim::complete);
                        if is_own {
                            lines.push(EntryReport::reported_elsewhere(number));
                        }
                        continue;
                    }
                };
                EntryStatus::Decided { set, replayed: entry.was_replayed() }
            }
            // Open entries of other commands are reported only if the member has to act.
            state if is_own || event.is_some() && state.needs_intervention() => {
                if is_own && failure.is_none() {
                    failure = send_failure.take();
                }
                let behind = first_open_before(entry, &entries);
                EntryStatus::Open { state, code: entry.code().map(str::to_owned), behind }
            }
            _ => continue,
        };
        lines.push(EntryReport {
            number: Some(number),
            area: Some(entry.lane()),
            is_own,
            status,
            failure,
            claim,
        });
    }
    for UnreadableEntry { number, lane, done, .. } in &unreadable {
        let is_own = own_entries.contains(number);
        let (number, status) = (Some(*number), EntryStatus::Unreadable { done: *done });
        lines.push(EntryReport { number, area: Some(*lane), is_own, status, failure: None, claim: None });
    }
    let is_there = |number: &EntryNumber| {
        let readable = entries.iter().map(OutboxEntry::number);
        readable.chain(unreadable.iter().map(|other| other.number)).any(|other| other == *number)
    };
    lines.extend(
        own_entries
            .iter()
            .filter(|number| !is_there(number))
            .map(|number| EntryReport::reported_elsewhere(*number)),
    );
    Ok(OutcomeReport { lines, send_failure })
}

const fn event_error(event: &OutboxEvent) -> Option<&Error> {
    match event {
        OutboxEvent::Rebase { error, .. }
        | OutboxEvent::Refused { error, .. }
        | OutboxEvent::Parked { error, .. }
        | OutboxEvent::Waiting { error, .. } => Some(error),
        _ => None,
    }
}

/// Returns the first open entry of the same area if it precedes this entry, and therefore has to be sent
/// first.
fn first_open_before(entry: &OutboxEntry, entries: &[OutboxEntry]) -> Option<(EntryNumber, EntryState)> {
    let is_open = |other: &&OutboxEntry| other.lane() == entry.lane() && other.state() != EntryState::Done;
    let first = entries.iter().find(is_open)?;
    (first.number() < entry.number()).then(|| (first.number(), first.state()))
}

/// Returns the style, the result and the reason of a verdict.
pub(super) fn describe_verdict(verdict: &OpVerdict) -> (TextStyle, String, Option<String>) {
    match verdict {
        OpVerdict::Applied => (TextStyle::Good, "applied".to_owned(), None),
        OpVerdict::Unchanged => (TextStyle::Faint, "unchanged".to_owned(), None),
        OpVerdict::NotApplied { result, reason } => {
            let reason = reason.as_ref().map(|reason| reason.as_str().to_owned());
            (TextStyle::Bad, result.as_str().to_owned(), reason)
        }
        _ => (TextStyle::Warning, "unclear".to_owned(), None),
    }
}

/// Combines the reason and the remedy into one string.
pub(super) fn explain_result(reason: Option<String>, remedy: Option<OpRemedy>) -> String {
    match (reason, remedy) {
        (Some(reason), Some(remedy)) => format!("{reason}: {}", remedy.message()),
        (None, Some(remedy)) => remedy.message().to_owned(),
        (reason, None) => reason.unwrap_or_default(),
    }
}

/// Prints the data: a table of all ops, or a JSON document with the ops and the entries.
fn print_data(lines: &[EntryReport], output: &mut Output) {
    if output.is_json() {
        output.write_json(&to_document(lines));
        return;
    }
    let sets: Vec<(&EntryReport, &ChangeSetReport)> =
        lines.iter().filter_map(|line| Some((line, line.outcome()?))).collect();
    if sets.iter().all(|(_, set)| set.ops.is_empty()) {
        return;
    }
    let numbered = sets.len() > 1 && sets.iter().all(|(line, _)| line.number.is_some());
    let head = [">CHANGE", "OP", "", "RESULT", "WHY"];
    let mut table = Table::new(if numbered { &head } else { &head[1..] });
    for (line, set) in &sets {
        for op in &set.ops {
            let (style, result, reason) = describe_verdict(&op.verdict);
            let number =
                line.number.filter(|_| numbered).map(|number| (TextStyle::Plain, number.to_string()));
            let cells = [
                (TextStyle::Plain, op.id.clone()),
                (TextStyle::Plain, op.what.clone()),
                (style, result),
                (TextStyle::Plain, explain_result(reason, op.verdict.remedy())),
            ];
            table.push_styled_row(number.into_iter().chain(cells));
        }
    }
    table.print(output);
}

fn to_document(lines: &[EntryReport]) -> Value {
    let mut ops = Vec::new();
    let mut entries = Vec::new();
    let (mut applied, mut unchanged) = (0, 0);
    for line in lines {
        let number = line.number.map(|number| number.0);
        for op in line.outcome().map_or(&[][..], |set| &set.ops) {
            applied += u32::from(line.is_own && op.verdict == OpVerdict::Applied);
            unchanged += u32::from(line.is_own && op.verdict == OpVerdict::Unchanged);
            let (_, result, reason) = describe_verdict(&op.verdict);
            let mut document = json!({
                "change": number, "opId": op.id, "op": op.what, "result": result, "reason": reason,
                "next": op.verdict.remedy().map(OpRemedy::message),
            });
            if let Some(ambiguous) = &op.ambiguous {
                document["candidates"] = json!(ambiguous.candidates);
            }
            ops.push(document);
        }
        entries.push(entry_document(line));
    }
    let dry_run = lines.iter().any(|line| matches!(line.status, EntryStatus::Previewed(_)));
    json!({ "dryRun": dry_run, "applied": applied, "unchanged": unchanged, "changes": entries, "ops": ops })
}

fn entry_document(line: &EntryReport) -> Value {
    let mut document = Map::new();
    let mut say = |name: &str, value: Value| document.insert(name.to_owned(), value);
    say("number", json!(line.number.map(|number| number.0)));
    say("area", json!(line.area.map(Lane::as_str)));
    say("own", json!(line.is_own));
    match &line.status {
        EntryStatus::Previewed(_) => drop(say("state", json!("previewed"))),
        EntryStatus::Decided { replayed, .. } => {
            say("state", json!("done"));
            say("replayed", json!(replayed));
        }
        EntryStatus::Open { state, code, behind } => {
            say("state", json!(describe_state(*state).1));
            say("code", json!(code));
            say("behind", json!(behind.map(|(number, _)| number.0)));
            say("next", json!(describe_state(*state).2));
        }
        EntryStatus::ReportedElsewhere => drop(say("state", json!("gone"))),
        EntryStatus::Unreadable { .. } => {
            say("state", json!("unreadable"));
            say("next", json!(UNREADABLE_ADVICE));
        }
    }
    if let Some(set) = line.outcome() {
        say("warnings", json!(set.warnings));
        say("offersReduced", json!(set.offers_reduced));
        say("offersRemoved", json!(set.offers_removed));
        say("detachedFromMissions", json!(set.detached_from_missions));
    }
    if let Some(error) = line.failure.as_ref().and_then(CommandError::to_report) {
        say("error", json!(error));
    }
    Value::Object(document)
}

/// Prints warnings and notes on the standard error (CLI-04, STK-18).
fn print_remarks(lines: &[EntryReport], output: &mut Output) {
    for set in lines.iter().filter_map(EntryReport::outcome) {
        print_candidates(&set.ops, output);
        for notice in &set.notices {
            output.print_warning(notice);
        }
        for warning in &set.warnings {
            output.print_warning(describe_warning(warning));
        }
    }
    for line in lines {
        let number = line.number.unwrap_or(EntryNumber(0));
        match &line.status {
            EntryStatus::Previewed(_) => {}
            EntryStatus::Decided { set, replayed } => {
                if !line.is_own {
                    output.print_note(format!(
                        "change {number}, stored earlier, is decided: this is its outcome"
                    ));
                } else if *replayed {
                    output.print_note("an earlier attempt had arrived: this is its outcome");
                } else if set.is_none() && line.failure.is_none() {
                    output.print_note(format!("change {number} is decided: the exchange has the requested state"));
                }
                if let Some(failure) = &line.failure {
                    failure.print(output);
                }
            }
            EntryStatus::Open { state, behind, .. } => print_open_entry(number, *state, *behind, line, output),
            EntryStatus::ReportedElsewhere => output.print_note(format!(
                "change {number} is not reported here: another run of this program reports its outcome, or dropped it"
            )),
            EntryStatus::Unreadable { done } => {
                let effect = if *done { "its outcome is unknown" } else { "other changes of its area wait for it" };
                output.print_warning(format!("change {number} cannot be read here: {effect}"));
                output.print_note(format!("  -> exchange outbox drop {number}, unless a newer version of this program stored it"));
            }
        }
    }
}

/// Prints the entries of the catalogue among which the member has to pick.
fn print_candidates(ops: &[OpReport], output: &mut Output) {
    for op in ops {
        let candidates = op.ambiguous.as_ref().map_or(&[][..], |ambiguous| &ambiguous.candidates);
        let Some(first) = candidates.first() else { continue };
        output.print_note(format!("op {} can mean:", op.id));
        for entry in candidates {
            output.print_note(format!("  {} (bt:{})", entry.name, entry.bt.as_str()));
        }
        output.print_note(format!("  -> name one by its key, such as bt:{}", first.bt.as_str()));
    }
}

fn print_open_entry(
    number: EntryNumber,
    state: EntryState,
    behind: Option<(EntryNumber, EntryState)>,
    line: &EntryReport,
    output: &mut Output,
) {
    match state {
        EntryState::Held => {
            output.print_warning(format!(
                "change {number} removes so much that you have to confirm it; nothing was changed yet"
            ));
            output.print_note(format!("  -> exchange outbox confirm {number}"));
        }
        EntryState::Unknown => {
            output.print_warning(format!("it is unknown whether change {number} was carried out"));
            output.print_note(format!(
                "  -> exchange sync, check, then exchange outbox resolve {number} --applied or --missing"
            ));
        }
        EntryState::NeedsRebase | EntryState::Refused => output.print_note(format!(
            "change {number} stays in the outbox: `exchange outbox drop {number}` removes it"
        )),
        EntryState::Sending if line.failure.is_none() => output.print_warning(format!(
            "change {number} is being sent, or was when its program ended: `exchange outbox retry` resumes it \
             within two minutes"
        )),
        _ => match behind {
            Some((ahead, state)) => {
                output.print_warning(format!("change {number} waits behind change {ahead} ({})", describe_state(state).1));
                output.print_note(format!("  -> exchange outbox show {ahead}"));
            }
            None => output.print_note(format!(
                "change {number} is stored: `exchange outbox retry` sends it again, with the same key"
            )),
        },
    }
    if let Some(failure) = &line.failure {
        failure.print(output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(verdicts: &[OpVerdict]) -> ChangeSetReport {
        let op = |verdict: &OpVerdict| OpReport {
            id: String::new(),
            what: String::new(),
            verdict: verdict.clone(),
            ambiguous: None,
        };
        ChangeSetReport {
            ops: verdicts.iter().map(op).collect(),
            notices: Vec::new(),
            warnings: Vec::new(),
            offers_reduced: 0,
            offers_removed: 0,
            detached_from_missions: 0,
        }
    }

    fn line(status: EntryStatus) -> EntryReport {
        let area = Some(Lane::Stock);
        EntryReport { number: Some(EntryNumber(2)), area, is_own: true, status, failure: None, claim: None }
    }

    fn decided(verdicts: &[OpVerdict]) -> EntryReport {
        line(EntryStatus::Decided { set: Some(set(verdicts)), replayed: false })
    }

    fn open(state: EntryState, ahead: Option<EntryState>) -> EntryReport {
        line(EntryStatus::Open { state, code: None, behind: ahead.map(|state| (EntryNumber(1), state)) })
    }

    fn failed(line: EntryReport, kind: ErrorKind) -> EntryReport {
        EntryReport { failure: Some(Error::new(kind, "x").into()), ..line }
    }

    /// Every state of an entry has its exit code, also if another entry has to be sent first.
    #[test]
    fn every_state_has_its_exit_code() {
        for (line, wanted) in [
            (open(EntryState::Held, None), ExitStatus::Conflict),
            (open(EntryState::NeedsRebase, None), ExitStatus::Conflict),
            (open(EntryState::Unknown, None), ExitStatus::Failure),
            (failed(open(EntryState::Refused, None), ErrorKind::NotPermitted), ExitStatus::Refused),
            (
                failed(open(EntryState::Parked(ParkReason::Fault), None), ErrorKind::SignInNeeded),
                ExitStatus::SignInRequired,
            ),
            (open(EntryState::Parked(ParkReason::Scope), None), ExitStatus::SignInRequired),
            (open(EntryState::Parked(ParkReason::Halted), None), ExitStatus::Refused),
            (failed(open(EntryState::Pending, None), ErrorKind::Unreachable), ExitStatus::RetryLater),
            (open(EntryState::Sending, None), ExitStatus::RetryLater),
            (open(EntryState::Pending, Some(EntryState::Sending)), ExitStatus::RetryLater),
            (open(EntryState::Pending, Some(EntryState::Held)), ExitStatus::Conflict),
            (
                open(EntryState::Pending, Some(EntryState::Parked(ParkReason::SignedOut))),
                ExitStatus::Conflict,
            ),
            (line(EntryStatus::ReportedElsewhere), ExitStatus::Failure),
            (line(EntryStatus::Unreadable { done: false }), ExitStatus::Failure),
            (line(EntryStatus::Decided { set: None, replayed: false }), ExitStatus::Success),
            (
                failed(line(EntryStatus::Decided { set: None, replayed: false }), ErrorKind::Storage),
                ExitStatus::Failure,
            ),
        ] {
            assert_eq!(exit_status_of(&[line]), wanted);
        }
        assert_eq!(exit_status_of(&[]), ExitStatus::Success);
    }

    /// An entry that another run reports, or that cannot be read, does not count as applied.
    #[test]
    fn entries_of_other_runs_are_no_outcome() {
        let document = to_document(&[
            line(EntryStatus::ReportedElsewhere),
            line(EntryStatus::Unreadable { done: false }),
        ]);
        assert_eq!((&document["changes"][0]["state"], &document["applied"]), (&json!("gone"), &json!(0)));
        let unreadable = &document["changes"][1];
        assert_eq!(
            (&unreadable["state"], &unreadable["next"]),
            (&json!("unreadable"), &json!(UNREADABLE_ADVICE))
        );
    }

    /// The exit code is `Partly` if some ops were applied and others failed. Entries of other commands do not
    /// count.
    #[test]
    fn partial_success_has_its_exit_status() {
        let refused = || OpVerdict::NotApplied { result: "rejected".into(), reason: None };
        assert_eq!(
            exit_status_of(&[decided(&[OpVerdict::Applied, OpVerdict::Unchanged])]),
            ExitStatus::Success
        );
        assert_eq!(exit_status_of(&[decided(&[OpVerdict::Applied, refused()])]), ExitStatus::PartialSuccess);
        assert_eq!(exit_status_of(&[decided(&[refused()])]), ExitStatus::Failure);
        assert_eq!(exit_status_of(&[decided(&[refused(), OpVerdict::Unclear])]), ExitStatus::Conflict);
        assert_eq!(
            exit_status_of(&[decided(&[OpVerdict::Applied]), open(EntryState::Pending, None)]),
            ExitStatus::PartialSuccess
        );
        assert_eq!(
            exit_status_of(&[decided(&[refused()]), open(EntryState::Pending, None)]),
            ExitStatus::RetryLater
        );
        let others = EntryReport { is_own: false, ..open(EntryState::Held, None) };
        assert_eq!(exit_status_of(&[others, decided(&[OpVerdict::Applied])]), ExitStatus::Success);
    }
}
