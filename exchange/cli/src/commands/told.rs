//! What became of changes: read from the outbox, told, and only then forgotten there (CLI-04, STK-18, WRT-14).
//!
//! The outbox has the truth and keeps what was decided until it is forgotten here, after it was printed. So what a
//! command that was broken off could not tell, the next one that sends tells; of stock of the organisation within seven
//! days, for which it may be kept (OST-14).

use exchange_client::{
    Error, ErrorKind,
    api::{
        Json,
        types::{Warning, WarningCode},
    },
    changes::{Lane, Op, Outcome, Remedy, Settled, Verdict},
    outbox::{Contents, Entry, EntryNumber, Outbox, OutboxEvent, State, Unreadable, Why, Written},
};
use serde_json::{Map, Value, json};

use super::{
    claims::{Claim, Claims},
    outbox::{UNREADABLE, words},
};
use crate::{
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Table,
};

/// What became of one change set, without its area's types.
pub(super) struct Set {
    pub(super) ops: Vec<Told>,
    notices: Vec<String>,
    warnings: Vec<Warning>,
    offers_reduced: i64,
    offers_removed: i64,
    detached_from_missions: i64,
}

/// An op and its outcome.
pub(super) struct Told {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) verdict: Verdict,
}

impl Set {
    pub(super) fn of<O: Op>(outcome: &Outcome<O>) -> Self {
        let op = |settled: &Settled<O>| {
            let (id, json) = said(&settled.op);
            let what = json.and_then(|json| Some(json.as_object()?.get("op")?.as_str()?.to_owned()));
            Told { id, what: what.unwrap_or_default(), verdict: settled.verdict.clone() }
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

    pub(super) fn of_written(written: &Written) -> Option<Self> {
        match written {
            Written::Blueprints(outcome) => Some(Self::of(outcome)),
            Written::Stock(outcome) => Some(Self::of(outcome)),
            Written::Ships(outcome) => Some(Self::of(outcome)),
            Written::OrgStock(outcome) => Some(Self::of(outcome)),
            _ => None,
        }
    }
}

/// The id of an op, and all that it says.
pub(super) fn said<O: Op>(op: &O) -> (String, Option<Json>) {
    (op.id().map_or_else(String::new, |id| id.as_str().to_owned()), op.to_json().ok())
}

/// What the exchange took without knowing what it means (CON-08).
fn not_understood(Warning { pointer, code, .. }: &Warning) -> String {
    let pointer = pointer.as_str();
    match code {
        WarningCode::UnknownField => format!("{pointer} means nothing to the exchange, which passed it over"),
        WarningCode::LocKeyUnresolved => {
            format!("{pointer}: no entry of the exchange has this key, and the name decided")
        }
        code => format!("{pointer}: {}", code.as_str()),
    }
}

/// What is told of one entry.
struct Line {
    /// None of a dry run.
    number: Option<EntryNumber>,
    area: Option<Lane>,
    /// Whether it is one of those that the command is about; others tell their outcome beside.
    own: bool,
    stands: Stands,
    /// What the exchange, or the way to it, said of it.
    failure: Option<Failure>,
    /// That of what was decided no other run tells it meanwhile.
    claim: Option<Claim>,
}

/// Where it stands.
enum Stands {
    /// What would become of it.
    Previewed(Set),
    /// Without a set when it was the feed that told.
    Decided { set: Option<Set>, replayed: bool },
    /// It is kept; `behind` an earlier one of its area that has to go first.
    Open { state: State, code: Option<String>, behind: Option<(EntryNumber, State)> },
    /// Another run of this program tells what became of it, or gave it up.
    Gone,
    /// This version cannot read it.
    Unreadable { done: bool },
}

impl Line {
    /// Of this command, and not its to tell any more.
    const fn gone(number: EntryNumber) -> Self {
        Self { number: Some(number), area: None, own: true, stands: Stands::Gone, failure: None, claim: None }
    }

    fn set(&self) -> Option<&Set> {
        match &self.stands {
            Stands::Previewed(set) | Stands::Decided { set: Some(set), .. } => Some(set),
            _ => None,
        }
    }

    /// How it ended, as far as it is not for its ops to say.
    fn exit(&self) -> Option<Exit> {
        let (state, behind) = match &self.stands {
            Stands::Open { state, behind, .. } => (state, behind),
            // What nobody can say here is no success.
            Stands::Gone | Stands::Unreadable { .. } => return Some(Exit::Failed),
            Stands::Decided { .. } if self.failure.is_some() => return Some(Exit::Failed),
            Stands::Decided { .. } | Stands::Previewed(_) => return None,
        };
        let failed = || self.failure.as_ref().map_or(Exit::Failed, Failure::exit);
        Some(match state {
            State::Held | State::NeedsRebase => Exit::Conflict,
            State::Pending | State::Sending => match behind {
                Some((_, ahead)) if ahead.is_wedged() => Exit::Conflict,
                _ => Exit::Wait,
            },
            State::Parked(_) if self.failure.is_some() => failed(),
            State::Parked(Why::SignedOut | Why::Scope) => Exit::SignIn,
            State::Parked(Why::Halted) => Exit::Refused,
            State::Refused => failed(),
            _ => Exit::Failed,
        })
    }
}

/// How all of it ended: nothing left open is done, something as asked beside something else is partly done.
fn exit(lines: &[Line]) -> Exit {
    let own: Vec<&Line> = lines.iter().filter(|line| line.own).collect();
    let ops: Vec<&Verdict> =
        own.iter().filter_map(|line| line.set()).flat_map(|set| &set.ops).map(|op| &op.verdict).collect();
    let told_by_feed =
        |line: &&Line| matches!(line.stands, Stands::Decided { set: None, .. }) && line.failure.is_none();
    let something = own.iter().any(told_by_feed) || ops.iter().any(|verdict| verdict.is_as_asked());
    let needs_word = |remedy: Remedy| remedy.needs_pull() || matches!(remedy, Remedy::AskThenOverride);
    let of_ops = || match ops.iter().filter_map(|verdict| verdict.remedy()).map(needs_word).max() {
        None => Exit::Done,
        Some(true) => Exit::Conflict,
        Some(false) => Exit::Failed,
    };
    match own.iter().find_map(|line| line.exit()).unwrap_or_else(of_ops) {
        Exit::Done => Exit::Done,
        _ if something => Exit::Partly,
        exit => exit,
    }
}

/// Tells what would become of changes.
pub(super) fn preview(area: Lane, sets: Vec<Set>, output: &mut Output) -> Result<Exit, Failure> {
    let line = |set| {
        let stands = Stands::Previewed(set);
        Line { number: None, area: Some(area), own: true, stands, failure: None, claim: None }
    };
    let lines: Vec<Line> = sets.into_iter().map(line).collect();
    show(&lines, output);
    output.deliver()?;
    remark(&lines, output);
    if !output.is_json() {
        output.note("a dry run: nothing was changed");
    }
    Ok(exit(&lines))
}

/// What is to be told: of a command's own entries, and of whatever else was decided and nobody tells. To be gathered
/// while the turn to send is held, and told after it was let go.
pub(super) struct Telling {
    lines: Vec<Line>,
    /// What kept all of them from being sent, unless it is told with one of them.
    trouble: Option<Failure>,
}

/// Tells it, and forgets in the outbox what was decided. Gives the areas in which something was.
pub(super) async fn tell(
    telling: Telling,
    outbox: &Outbox,
    output: &mut Output,
) -> Result<(Exit, Vec<Lane>), Failure> {
    let Telling { mut lines, trouble } = telling;
    show(&lines, output);
    output.deliver()?;
    remark(&lines, output);
    let mut exit = exit(&lines);
    if let Some(trouble) = trouble {
        trouble.tell(output);
        // What a command is about and is decided is so, whatever keeps others from being sent.
        if exit == Exit::Done && !lines.iter().any(|line| line.own) {
            exit = trouble.exit();
        }
    }
    let (mut areas, mut told, mut claims) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines.iter_mut().filter(|line| matches!(line.stands, Stands::Decided { .. })) {
        areas.extend(line.area);
        // What nobody read was not told.
        if output.is_read() && line.failure.is_none() {
            told.extend(line.number);
            claims.extend(line.claim.take());
        }
    }
    match outbox.forget(&told).await {
        Ok(_) => claims.into_iter().for_each(Claim::told),
        Err(error) => output.warn(error),
    }
    Ok((exit, areas))
}

/// Where the entries stand.
pub(super) async fn gather(
    outbox: &Outbox,
    claims: &Claims,
    own: &[EntryNumber],
    sent: Result<&[OutboxEvent], &Failure>,
) -> Result<Telling, Failure> {
    let Contents { entries, unreadable, .. } = outbox.contents().await?;
    let stuck = |event: &OutboxEvent| match event {
        OutboxEvent::Stuck { error } => Some(Failure::from(error.clone())),
        _ => None,
    };
    let (events, mut trouble) = match sent {
        Ok(events) => (events, events.iter().find_map(stuck)),
        Err(trouble) => (&[][..], Some(trouble.clone())),
    };
    // Said of the change itself.
    let is_said = |failure: &Failure| {
        matches!(failure, Failure::Client(error) if error.kind() == ErrorKind::Storage)
            && unreadable.iter().any(|other| !other.done)
    };
    trouble = trouble.filter(|trouble| !is_said(trouble));
    let mut lines = Vec::new();
    for entry in &entries {
        let (number, is_own) = (entry.number(), own.contains(&entry.number()));
        let event = events.iter().rev().find(|event| event.entry() == Some(number));
        let mut failure = event.and_then(error_of).cloned().map(Failure::from);
        let mut claim = None;
        let stands = match entry.state() {
            State::Done => {
                claim = claims.make(number).map_err(|error| Failure::file("telling", &error))?;
                let outcome = match &claim {
                    Some(_) => Some(outbox.outcome(number).await),
                    None => None,
                };
                let set = match outcome {
                    Some(Ok(written)) => written.as_ref().and_then(Set::of_written),
                    Some(Err(error)) if error.kind() != ErrorKind::Invalid => {
                        failure = Some(error.into());
                        None
                    }
                    // Another run is telling it, or did since this one looked.
                    Some(Err(_)) | None => {
                        claim.into_iter().for_each(Claim::told);
                        if is_own {
                            lines.push(Line::gone(number));
                        }
                        continue;
                    }
                };
                Stands::Decided { set, replayed: entry.was_replayed() }
            }
            // Of others that are open it is told when they need somebody.
            state if is_own || event.is_some() && state.is_wedged() => {
                if is_own && failure.is_none() {
                    failure = trouble.take();
                }
                let behind = ahead_of(entry, &entries);
                Stands::Open { state, code: entry.code().map(str::to_owned), behind }
            }
            _ => continue,
        };
        lines.push(Line {
            number: Some(number),
            area: Some(entry.lane()),
            own: is_own,
            stands,
            failure,
            claim,
        });
    }
    for Unreadable { number, lane, done, .. } in &unreadable {
        let own = own.contains(number);
        let (number, stands) = (Some(*number), Stands::Unreadable { done: *done });
        lines.push(Line { number, area: Some(*lane), own, stands, failure: None, claim: None });
    }
    let is_there = |number: &EntryNumber| {
        let readable = entries.iter().map(Entry::number);
        readable.chain(unreadable.iter().map(|other| other.number)).any(|other| other == *number)
    };
    lines.extend(own.iter().filter(|number| !is_there(number)).map(|number| Line::gone(*number)));
    Ok(Telling { lines, trouble })
}

const fn error_of(event: &OutboxEvent) -> Option<&Error> {
    match event {
        OutboxEvent::Rebase { error, .. }
        | OutboxEvent::Refused { error, .. }
        | OutboxEvent::Parked { error, .. }
        | OutboxEvent::Waiting { error, .. } => Some(error),
        _ => None,
    }
}

/// The first open entry of an area, which goes before this one.
fn ahead_of(entry: &Entry, entries: &[Entry]) -> Option<(EntryNumber, State)> {
    let is_open = |other: &&Entry| other.lane() == entry.lane() && other.state() != State::Done;
    let first = entries.iter().find(is_open)?;
    (first.number() < entry.number()).then(|| (first.number(), first.state()))
}

/// How a verdict is shown, with its reason.
pub(super) fn verdict(verdict: &Verdict) -> (Look, String, Option<String>) {
    match verdict {
        Verdict::Applied => (Look::Good, "applied".to_owned(), None),
        Verdict::Unchanged => (Look::Faint, "unchanged".to_owned(), None),
        Verdict::NotApplied { result, reason } => {
            let reason = reason.as_ref().map(|reason| reason.as_str().to_owned());
            (Look::Bad, result.as_str().to_owned(), reason)
        }
        _ => (Look::Warning, "unclear".to_owned(), None),
    }
}

/// Why, and what to do, for people.
pub(super) fn why(reason: Option<String>, remedy: Option<Remedy>) -> String {
    match (reason, remedy) {
        (Some(reason), Some(remedy)) => format!("{reason}: {}", remedy.text()),
        (None, Some(remedy)) => remedy.text().to_owned(),
        (reason, None) => reason.unwrap_or_default(),
    }
}

/// The data: every op with its outcome; for programs every entry too.
fn show(lines: &[Line], output: &mut Output) {
    if output.is_json() {
        output.json(&document(lines));
        return;
    }
    let sets: Vec<(&Line, &Set)> = lines.iter().filter_map(|line| Some((line, line.set()?))).collect();
    if sets.iter().all(|(_, set)| set.ops.is_empty()) {
        return;
    }
    let numbered = sets.len() > 1 && sets.iter().all(|(line, _)| line.number.is_some());
    let head = [">CHANGE", "OP", "", "RESULT", "WHY"];
    let mut table = Table::new(if numbered { &head } else { &head[1..] });
    for (line, set) in &sets {
        for op in &set.ops {
            let (look, result, reason) = verdict(&op.verdict);
            let number = line.number.filter(|_| numbered).map(|number| (Look::Plain, number.to_string()));
            let cells = [
                (Look::Plain, op.id.clone()),
                (Look::Plain, op.what.clone()),
                (look, result),
                (Look::Plain, why(reason, op.verdict.remedy())),
            ];
            table.painted(number.into_iter().chain(cells));
        }
    }
    table.print(output);
}

fn document(lines: &[Line]) -> Value {
    let mut ops = Vec::new();
    let mut entries = Vec::new();
    let (mut applied, mut unchanged) = (0, 0);
    for line in lines {
        let number = line.number.map(|number| number.0);
        for op in line.set().map_or(&[][..], |set| &set.ops) {
            applied += u32::from(line.own && op.verdict == Verdict::Applied);
            unchanged += u32::from(line.own && op.verdict == Verdict::Unchanged);
            let (_, result, reason) = verdict(&op.verdict);
            ops.push(json!({
                "change": number, "opId": op.id, "op": op.what, "result": result, "reason": reason,
                "next": op.verdict.remedy().map(Remedy::text),
            }));
        }
        entries.push(entry(line));
    }
    let dry_run = lines.iter().any(|line| matches!(line.stands, Stands::Previewed(_)));
    json!({ "dryRun": dry_run, "applied": applied, "unchanged": unchanged, "changes": entries, "ops": ops })
}

fn entry(line: &Line) -> Value {
    let mut told = Map::new();
    let mut say = |name: &str, value: Value| told.insert(name.to_owned(), value);
    say("number", json!(line.number.map(|number| number.0)));
    say("area", json!(line.area.map(Lane::as_str)));
    say("own", json!(line.own));
    match &line.stands {
        Stands::Previewed(_) => drop(say("state", json!("previewed"))),
        Stands::Decided { replayed, .. } => {
            say("state", json!("done"));
            say("replayed", json!(replayed));
        }
        Stands::Open { state, code, behind } => {
            say("state", json!(words(*state).1));
            say("code", json!(code));
            say("behind", json!(behind.map(|(number, _)| number.0)));
            say("next", json!(words(*state).2));
        }
        Stands::Gone => drop(say("state", json!("gone"))),
        Stands::Unreadable { .. } => {
            say("state", json!("unreadable"));
            say("next", json!(UNREADABLE));
        }
    }
    if let Some(set) = line.set() {
        say("warnings", json!(set.warnings));
        say("offersReduced", json!(set.offers_reduced));
        say("offersRemoved", json!(set.offers_removed));
        say("detachedFromMissions", json!(set.detached_from_missions));
    }
    if let Some(error) = line.failure.as_ref().and_then(Failure::envelope) {
        say("error", json!(error));
    }
    Value::Object(told)
}

/// What the member is told beside the data (CLI-04, STK-18).
fn remark(lines: &[Line], output: &mut Output) {
    for set in lines.iter().filter_map(Line::set) {
        for notice in &set.notices {
            output.warn(notice);
        }
        for warning in &set.warnings {
            output.warn(not_understood(warning));
        }
    }
    for line in lines {
        let number = line.number.unwrap_or(EntryNumber(0));
        match &line.stands {
            Stands::Previewed(_) => {}
            Stands::Decided { set, replayed } => {
                if !line.own {
                    output.note(format!(
                        "change {number}, which was kept before, is decided: this is its outcome"
                    ));
                } else if *replayed {
                    output.note("an earlier sending had arrived: this is its outcome");
                } else if set.is_none() && line.failure.is_none() {
                    output.note(format!("change {number} is decided: what it asks for is there"));
                }
                if let Some(failure) = &line.failure {
                    failure.tell(output);
                }
            }
            Stands::Open { state, behind, .. } => open(number, *state, *behind, line, output),
            Stands::Gone => output.note(format!(
                "change {number} is not this run's to tell: another run of this program tells what became of it, or gave it \
                 up"
            )),
            Stands::Unreadable { done } => {
                let effect = if *done { "what became of it is not known" } else { "others of its area wait for it" };
                output.warn(format!("change {number} cannot be read here: {effect}"));
                output.note(format!("  -> exchange outbox drop {number}, unless a newer version of this program kept it"));
            }
        }
    }
}

fn open(
    number: EntryNumber,
    state: State,
    behind: Option<(EntryNumber, State)>,
    line: &Line,
    output: &mut Output,
) {
    match state {
        State::Held => {
            output.warn(format!(
                "change {number} removes so much that you have to confirm it; nothing of it was changed yet"
            ));
            output.note(format!("  -> exchange outbox confirm {number}"));
        }
        State::Unknown => {
            output.warn(format!("nobody can tell whether change {number} was carried out"));
            output.note(format!(
                "  -> exchange sync, look, then exchange outbox resolve {number} --applied or --missing"
            ));
        }
        State::NeedsRebase | State::Refused => output.note(format!(
            "change {number} stays in the outbox: `exchange outbox drop {number}` gives it up"
        )),
        State::Sending if line.failure.is_none() => output.warn(format!(
            "change {number} is being sent, or was when its program ended: in two minutes at the latest `exchange \
             outbox retry` goes on"
        )),
        _ => match behind {
            Some((ahead, state)) => {
                output.warn(format!("change {number} waits behind change {ahead} ({})", words(state).1));
                output.note(format!("  -> exchange outbox show {ahead}"));
            }
            None => output.note(format!(
                "change {number} is kept: `exchange outbox retry` sends it again, under the same key"
            )),
        },
    }
    if let Some(failure) = &line.failure {
        failure.tell(output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(verdicts: &[Verdict]) -> Set {
        let op =
            |verdict: &Verdict| Told { id: String::new(), what: String::new(), verdict: verdict.clone() };
        Set {
            ops: verdicts.iter().map(op).collect(),
            notices: Vec::new(),
            warnings: Vec::new(),
            offers_reduced: 0,
            offers_removed: 0,
            detached_from_missions: 0,
        }
    }

    fn line(stands: Stands) -> Line {
        let area = Some(Lane::Stock);
        Line { number: Some(EntryNumber(2)), area, own: true, stands, failure: None, claim: None }
    }

    fn decided(verdicts: &[Verdict]) -> Line {
        line(Stands::Decided { set: Some(set(verdicts)), replayed: false })
    }

    fn open(state: State, ahead: Option<State>) -> Line {
        line(Stands::Open { state, code: None, behind: ahead.map(|state| (EntryNumber(1), state)) })
    }

    fn failed(line: Line, kind: ErrorKind) -> Line {
        Line { failure: Some(Error::new(kind, "x").into()), ..line }
    }

    /// Every state of an entry has its exit code, and so has what stands behind another.
    #[test]
    fn every_state_has_its_exit_code() {
        for (line, wanted) in [
            (open(State::Held, None), Exit::Conflict),
            (open(State::NeedsRebase, None), Exit::Conflict),
            (open(State::Unknown, None), Exit::Failed),
            (failed(open(State::Refused, None), ErrorKind::NotPermitted), Exit::Refused),
            (failed(open(State::Parked(Why::Fault), None), ErrorKind::SignInNeeded), Exit::SignIn),
            (open(State::Parked(Why::Scope), None), Exit::SignIn),
            (open(State::Parked(Why::Halted), None), Exit::Refused),
            (failed(open(State::Pending, None), ErrorKind::Unreachable), Exit::Wait),
            (open(State::Sending, None), Exit::Wait),
            (open(State::Pending, Some(State::Sending)), Exit::Wait),
            (open(State::Pending, Some(State::Held)), Exit::Conflict),
            (open(State::Pending, Some(State::Parked(Why::SignedOut))), Exit::Conflict),
            (line(Stands::Gone), Exit::Failed),
            (line(Stands::Unreadable { done: false }), Exit::Failed),
            (line(Stands::Decided { set: None, replayed: false }), Exit::Done),
            (failed(line(Stands::Decided { set: None, replayed: false }), ErrorKind::Storage), Exit::Failed),
        ] {
            assert_eq!(exit(&[line]), wanted);
        }
        assert_eq!(exit(&[]), Exit::Done);
    }

    /// What another run tells, or gave up, is not said to be told; what cannot be read says what to do.
    #[test]
    fn what_is_not_this_runs_to_tell_is_no_outcome() {
        let told = document(&[line(Stands::Gone), line(Stands::Unreadable { done: false })]);
        assert_eq!((&told["changes"][0]["state"], &told["applied"]), (&json!("gone"), &json!(0)));
        let unreadable = &told["changes"][1];
        assert_eq!((&unreadable["state"], &unreadable["next"]), (&json!("unreadable"), &json!(UNREADABLE)));
    }

    /// Something as asked beside something else is partly done, and what others left behind counts for nothing.
    #[test]
    fn some_of_it_is_partly_done() {
        let refused = || Verdict::NotApplied { result: "rejected".into(), reason: None };
        assert_eq!(exit(&[decided(&[Verdict::Applied, Verdict::Unchanged])]), Exit::Done);
        assert_eq!(exit(&[decided(&[Verdict::Applied, refused()])]), Exit::Partly);
        assert_eq!(exit(&[decided(&[refused()])]), Exit::Failed);
        assert_eq!(exit(&[decided(&[refused(), Verdict::Unclear])]), Exit::Conflict);
        assert_eq!(exit(&[decided(&[Verdict::Applied]), open(State::Pending, None)]), Exit::Partly);
        assert_eq!(exit(&[decided(&[refused()]), open(State::Pending, None)]), Exit::Wait);
        let others = Line { own: false, ..open(State::Held, None) };
        assert_eq!(exit(&[others, decided(&[Verdict::Applied])]), Exit::Done);
    }
}
