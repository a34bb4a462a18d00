//! `outbox`: changes that were not sent yet, or that require an action of the member.

use exchange_client::{
    Error, ErrorKind, UnixTime,
    api::{
        Json,
        types::{BlueprintOp, OrgStockOp, ShipOp, StockOp},
    },
    changes::{ChangeOp, Lane, OpRemedy},
    outbox::{
        ComparisonResult, EntryNumber, EntryState, Outbox, OutboxContents, OutboxEntry, ParkReason,
        UnreadableEntry,
    },
};
use serde_json::{Value, json};

use super::{
    CommandContext, LocalChanges,
    change::{self, SendLock},
    format_timestamp, link, outcomes,
};
use crate::{
    args::{self, OutboxResolve},
    error::{CommandError, ExitStatus},
    output::{Output, TextStyle, read_stdin_line},
    table::{PropertyList, Table},
};

pub(super) async fn run_outbox(
    context: &CommandContext,
    command: args::OutboxCommand,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    match command {
        args::OutboxCommand::List => list_changes(context, output).await,
        args::OutboxCommand::Show(args) => show_change(context, EntryNumber(args.id), output).await,
        args::OutboxCommand::Retry(args) => retry_changes(context, args.id.map(EntryNumber), output).await,
        args::OutboxCommand::Drop(args) => {
            drop_change(context, EntryNumber(args.id), args.force, output).await
        }
        args::OutboxCommand::Resolve(args) => resolve_change(context, &args, output).await,
        args::OutboxCommand::Confirm(args) => {
            let number = EntryNumber(args.id);
            open_known_outbox(context).await?.entry(number).await.map_err(entry_error)?;
            // A new link invalidates the previous one, so first check that it can be opened.
            link::ensure_link_can_open(&args.link, "confirmation", output)?;
            let (outbox, send_lock) = open_for_sending(context, output).await?;
            match outbox.request_confirmation_link(number).await.map_err(entry_error)? {
                Some(secret) => {
                    drop(send_lock);
                    let shown = link::show_link(args.link, secret.expose(), "confirmation", output).await;
                    shown.map_err(|reason| reason.into_error("confirmation"))?;
                    output.print_note(format!(
                        "then run `exchange sync`, check whether the change was applied, and run `exchange outbox resolve {number}` with --applied or --missing"
                    ));
                    Ok(ExitStatus::Success)
                }
                None => change::flush_and_report(context, &outbox, send_lock, &[number], None, output).await,
            }
        }
    }
}

/// Converts the error of an operation on an entry. If the entry does not exist or is in another state, the
/// error advises the user to list the outbox.
fn entry_error(error: Error) -> CommandError {
    match error.kind() {
        ErrorKind::Invalid if error.status().is_none() => {
            CommandError::new(ExitStatus::Usage, error.message(), "see `outbox list`")
        }
        _ => error.into(),
    }
}

/// Opens the local outbox. Returns an error if the id of this installation is not known yet.
async fn open_known_outbox(context: &CommandContext) -> Result<Outbox, CommandError> {
    let missing = || {
        let what = "the id of this installation is not known yet, so its changes cannot be found";
        CommandError::new(
            ExitStatus::SignInRequired,
            what,
            "sign in, or try again once the exchange can be reached",
        )
    };
    context.open_local_outbox().await?.ok_or_else(missing)
}

/// Opens the outbox of the connection and acquires the send lock.
async fn open_for_sending(
    context: &CommandContext,
    output: &mut Output,
) -> Result<(Outbox, SendLock), CommandError> {
    let exchange = context.exchange().await?;
    let connection = context.connection(&exchange, output).await?;
    let outbox = exchange.outbox(context.outbox_store()?, connection)?;
    Ok((outbox, SendLock::acquire(context, output).await?))
}

/// The advice for a change that this version cannot read.
pub(super) const UNREADABLE_ADVICE: &str = "`drop` it, unless a newer version of this program stored it";

/// Returns the style, the name and the advice of a state.
pub(super) const fn describe_state(state: EntryState) -> (TextStyle, &'static str, &'static str) {
    match state {
        EntryState::Pending => {
            (TextStyle::Plain, "pending", "it is sent with the next change of its area, or with `retry`")
        }
        EntryState::Sending => (TextStyle::Plain, "sending", "it is being sent"),
        EntryState::Held => (TextStyle::Warning, "held", "needs your confirmation: `confirm`"),
        EntryState::NeedsRebase => (
            TextStyle::Warning,
            "conflict",
            "`exchange sync`, check, then make the change again and `drop` this one",
        ),
        EntryState::Refused => (TextStyle::Bad, "refused", "`drop` it; `retry` sends it as a new write"),
        EntryState::Unknown => (TextStyle::Warning, "unknown", "`exchange sync`, check, then `resolve` it"),
        EntryState::Parked(why) => (
            TextStyle::Warning,
            "parked",
            match why {
                ParkReason::SignedOut => "sign in, then `retry`",
                ParkReason::Scope => "sign in with this capability, then `retry`",
                ParkReason::KeyReused => "its key was used for another change: `drop` it",
                _ => "`retry` when the cause is gone",
            },
        ),
        EntryState::Done => (TextStyle::Good, "done", "`show` prints its outcome"),
        _ => (TextStyle::Plain, "in a state that is unknown to this version", ""),
    }
}

fn facts_json(entry: &OutboxEntry) -> Value {
    let (_, state, next) = describe_state(entry.state());
    json!({
        "number": entry.number().0, "area": entry.lane().as_str(), "opCount": entry.ops(), "state": state,
        "failures": entry.failures(), "code": entry.code(), "next": next,
    })
}

fn unreadable_json(entry: &UnreadableEntry) -> Value {
    json!({
        "number": entry.number.0, "area": entry.lane.as_str(), "opCount": null, "state": "unreadable",
        "failures": null, "code": null, "next": UNREADABLE_ADVICE,
    })
}

async fn list_changes(context: &CommandContext, output: &mut Output) -> Result<ExitStatus, CommandError> {
    let changes = context.read_local_changes().await?;
    changes.warn_about_earlier(output);
    let LocalChanges { entries, unreadable, earlier } = changes;
    if output.is_json() {
        let items = entries.iter().map(facts_json).chain(unreadable.iter().map(unreadable_json));
        output.write_json(&json!({ "items": items.collect::<Vec<_>>(), "ofEarlierConnections": earlier }));
        return Ok(ExitStatus::Success);
    }
    if entries.is_empty() && unreadable.is_empty() {
        if earlier == 0 {
            output.print_note("the outbox is empty");
        }
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new(&[">NUMBER", "AREA", ">OPS", "STATE", "CODE", "NEXT"]);
    for entry in &entries {
        let (style, state, next) = describe_state(entry.state());
        table.push_styled_row([
            (TextStyle::Plain, entry.number().to_string()),
            (TextStyle::Plain, entry.lane().to_string()),
            (TextStyle::Plain, entry.ops().to_string()),
            (style, state.to_owned()),
            (TextStyle::Plain, entry.code().unwrap_or("").to_owned()),
            (TextStyle::Plain, next.to_owned()),
        ]);
    }
    for entry in &unreadable {
        let [number, area] =
            [entry.number.to_string(), entry.lane.to_string()].map(|cell| (TextStyle::Plain, cell));
        let [ops, code] = [(TextStyle::Plain, String::new()), (TextStyle::Plain, String::new())];
        let (state, next) =
            ((TextStyle::Bad, "unreadable".to_owned()), (TextStyle::Plain, UNREADABLE_ADVICE.to_owned()));
        table.push_styled_row([number, area, ops, state, code, next]);
    }
    table.print(output);
    Ok(ExitStatus::Success)
}

/// Prints a change with all its ops. If the change is decided, also prints the verdict of each op.
async fn show_change(
    context: &CommandContext,
    number: EntryNumber,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let outbox = open_known_outbox(context).await?;
    let entry = outbox.entry(number).await.map_err(entry_error)?;
    let ops = match entry.lane() {
        Lane::Blueprints => read_ops::<BlueprintOp>(&outbox, number).await?,
        Lane::Stock => read_ops::<StockOp>(&outbox, number).await?,
        Lane::Ships => read_ops::<ShipOp>(&outbox, number).await?,
        Lane::OrgStock => read_ops::<OrgStockOp>(&outbox, number).await?,
        _ => Vec::new(),
    };
    let set = outbox.load_outcome(number).await?.as_ref().and_then(outcomes::ChangeSetReport::from_written);
    let verdict = |id: &str| set.as_ref()?.ops.iter().find(|op| op.id == id).map(|op| &op.verdict);
    let moment = |millis: u64| format_timestamp(UnixTime::from_secs(millis / 1000));
    let (created, decided) = (moment(entry.created_at()), entry.decided_at().and_then(moment));
    if output.is_json() {
        let op = |(id, asks): &(String, Json)| {
            let found = verdict(id)
                .map(|found| (outcomes::describe_verdict(found), found.remedy().map(OpRemedy::message)));
            let ((_, result, reason), next) = match found {
                Some(((style, result, reason), next)) => ((style, Some(result), reason), next),
                None => ((TextStyle::Plain, None, None), None),
            };
            json!({ "opId": id, "asks": asks, "result": result, "reason": reason, "next": next })
        };
        let mut document = facts_json(&entry);
        document["ops"] = ops.iter().map(op).collect();
        document["keptAt"] = json!(created);
        document["decidedAt"] = json!(decided);
        document["mayBeApplied"] = json!(entry.may_be_applied());
        output.write_json(&document);
        return Ok(ExitStatus::Success);
    }
    let (style, state, next) = describe_state(entry.state());
    let mut properties = PropertyList::default();
    properties.push_property("change", number.to_string());
    properties.push_property("area", entry.lane().as_str());
    properties.push_styled_property("state", style, state);
    if let Some(code) = entry.code() {
        properties.push_property("code", code);
    }
    if entry.state() != EntryState::Done {
        properties.push_property("next", next);
    }
    properties.push_property("kept since", output.times().format(&created.unwrap_or_default()));
    if let Some(decided) = decided {
        properties.push_property("decided", output.times().format(&decided));
    }
    properties.print(output);
    output.write_line("");
    let head = ["OP", "ASKS FOR", "RESULT", "WHY"];
    let mut table = Table::new(if set.is_some() { &head } else { &head[..2] });
    for (id, asks) in &ops {
        let cells = [(TextStyle::Plain, id.clone()), (TextStyle::Plain, asks.to_string())];
        let found = verdict(id).map(|found| {
            let (style, result, reason) = outcomes::describe_verdict(found);
            [(style, result), (TextStyle::Plain, outcomes::explain_result(reason, found.remedy()))]
        });
        table.push_styled_row(cells.into_iter().chain(found.into_iter().flatten()));
    }
    table.print(output);
    Ok(ExitStatus::Success)
}

/// Returns the id and the JSON of each op of an entry. The JSON does not contain the id.
async fn read_ops<O: ChangeOp>(
    outbox: &Outbox,
    number: EntryNumber,
) -> Result<Vec<(String, Json)>, exchange_client::Error> {
    let changes = outbox.load_changes::<O>(number).await?;
    let op = |op: &O| {
        let (id, asks) = outcomes::describe_op(op);
        let mut asks = asks?;
        if let Json::Object(members) = &mut asks {
            members.remove("opId");
        }
        Some((id, asks))
    };
    Ok(changes.ops().iter().filter_map(op).collect())
}

/// Removes a change from the outbox, and warns if it may have been applied or can still be applied.
async fn drop_change(
    context: &CommandContext,
    number: EntryNumber,
    force: bool,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let outbox = open_known_outbox(context).await?;
    let OutboxContents { entries, unreadable, .. } = outbox.contents().await?;
    // A decided change is only a report, so nothing is lost with it.
    let is_open = entries.iter().any(|entry| entry.number() == number && entry.state() != EntryState::Done)
        || unreadable.iter().any(|entry| entry.number == number);
    if !force && is_open && !confirm_drop(number, output).await? {
        return Err(CommandError::new(ExitStatus::Cancelled, "the change is kept", "answer y to drop it"));
    }
    // With the lock, no other run is sending the change, which would then report its outcome.
    let _send_lock = SendLock::acquire(context, output).await?;
    // The entry is `None` if it cannot be read. Such a change can be dropped as well.
    let entry = outbox.entry(number).await.ok();
    outbox.discard(number).await.map_err(entry_error)?;
    if output.is_json() {
        let state = entry.as_ref().map_or("unreadable", |entry| describe_state(entry.state()).1);
        let may_be_applied = entry.as_ref().map(OutboxEntry::may_be_applied);
        output.write_json(&json!({ "dropped": number.0, "state": state, "mayBeApplied": may_be_applied }));
    } else {
        output.print_note(format!("change {number} is dropped"));
    }
    match entry {
        // WRT-13: this client cannot withdraw the confirmation that the exchange holds.
        Some(entry) if entry.state() == EntryState::Held => output.print_warning(format!(
            "the exchange still holds change {number}, because `drop` cannot withdraw it: discard it with its \
             link, or let it expire"
        )),
        Some(entry) if entry.may_be_applied() => output.print_warning(format!(
            "the exchange may have carried out change {number} before you dropped it: run `exchange sync`, \
             and check its entries"
        )),
        _ => {}
    }
    Ok(ExitStatus::Success)
}

/// Asks for confirmation to remove a change that was not carried out. Returns an error without a terminal.
async fn confirm_drop(number: EntryNumber, output: &mut Output) -> Result<bool, CommandError> {
    if !output.can_prompt() {
        let what = format!("change {number} was not carried out, and would be lost");
        return Err(CommandError::new(ExitStatus::Usage, what, "drop it with --force"));
    }
    output.print_note(format!("Drop change {number}, which was not carried out? [y/N]"));
    let line = read_stdin_line().await?;
    Ok(line.is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes")))
}

/// Records what the member found after a `sync`: whether the change was applied. A change that was not
/// applied is sent again as a new one.
async fn resolve_change(
    context: &CommandContext,
    args: &OutboxResolve,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let number = EntryNumber(args.id);
    let found = if args.found.applied { ComparisonResult::Applied } else { ComparisonResult::Missing };
    let (outbox, send_lock) = open_for_sending(context, output).await?;
    outbox.resolve_unknown(number, found).await.map_err(entry_error)?;
    change::flush_and_report(context, &outbox, send_lock, &[number], None, output).await
}

async fn retry_changes(
    context: &CommandContext,
    id: Option<EntryNumber>,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let (outbox, send_lock) = open_for_sending(context, output).await?;
    let numbers = match id {
        Some(number) => {
            // A change that is being sent continues by itself, or resumes now if its run has ended. For a
            // decided change, only the outcome is printed.
            let entry = outbox.entry(number).await.map_err(entry_error)?;
            if !matches!(entry.state(), EntryState::Sending | EntryState::Done) {
                outbox.retry(number).await.map_err(entry_error)?;
            }
            vec![number]
        }
        None => {
            outbox.resume_parked().await?;
            let mut due = Vec::new();
            for entry in outbox.contents().await?.entries {
                if entry.state() == EntryState::Pending {
                    outbox.retry(entry.number()).await?;
                }
                if matches!(entry.state(), EntryState::Pending | EntryState::Sending) {
                    due.push(entry.number());
                }
            }
            due
        }
    };
    let exit = change::flush_and_report(context, &outbox, send_lock, &numbers, None, output).await?;
    if !numbers.is_empty() || exit != ExitStatus::Success {
        return Ok(exit);
    }
    let OutboxContents { entries, unreadable, .. } = outbox.contents().await?;
    let stuck = entries.iter().filter(|entry| entry.state().needs_intervention()).count() + unreadable.len();
    if stuck > 0 {
        output.print_warning(format!(
            "nothing can be sent, and {stuck} of the changes need your action: `exchange outbox list`"
        ));
        return Ok(ExitStatus::Conflict);
    }
    output.print_note("no stored change can be sent now");
    Ok(ExitStatus::Success)
}
