//! `outbox`: changes that were not sent yet, or need the member.

use exchange_client::{
    Error, ErrorKind, UnixTime,
    api::{
        Json,
        types::{BlueprintOp, OrgStockOp, ShipOp, StockOp},
    },
    changes::{Lane, Op, Remedy},
    outbox::{Contents, Entry, EntryNumber, Found, Outbox, State, Unreadable, Why},
};
use serde_json::{Value, json};

use super::{
    App, Changes,
    change::{self, Turn},
    link, told, written,
};
use crate::{
    args::{self, OutboxResolve},
    failure::{Exit, Failure},
    output::{Look, Output},
    table::{Facts, Table},
};

pub(super) async fn run(app: &App, command: args::Outbox, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        args::Outbox::List => list(app, output).await,
        args::Outbox::Show(args) => show(app, EntryNumber(args.id), output).await,
        args::Outbox::Retry(args) => retry(app, args.id.map(EntryNumber), output).await,
        args::Outbox::Drop(args) => give_up(app, EntryNumber(args.id), output).await,
        args::Outbox::Resolve(args) => resolve(app, &args, output).await,
        args::Outbox::Confirm(args) => {
            let number = EntryNumber(args.id);
            known(app).await?.entry(number).await.map_err(of_entry)?;
            // Each link ends the one before, which may be open.
            link::possible(&args.link, "confirmation", output)?;
            let (outbox, turn) = begun(app, output).await?;
            match outbox.confirmation(number).await.map_err(of_entry)? {
                Some(secret) => {
                    drop(turn);
                    let shown = link::show(args.link, secret.expose(), "confirmation", output).await;
                    shown.map_err(|unseen| unseen.of_what("confirmation"))?;
                    output.note(format!(
                        "afterwards: exchange sync, look, then exchange outbox resolve {number} --applied or --missing"
                    ));
                    Ok(Exit::Done)
                }
                None => change::settle(app, &outbox, turn, &[number], None, output).await,
            }
        }
    }
}

/// There is no such change, or it asks for something else: nothing that was typed can be corrected without a look at what
/// there is.
fn of_entry(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Invalid if error.status().is_none() => {
            Failure::new(Exit::Usage, error.message(), "look with `outbox list`")
        }
        _ => error.into(),
    }
}

/// The outbox as it is here, of an installation that is known.
async fn known(app: &App) -> Result<Outbox, Failure> {
    let missing = || {
        let what =
            "the exchange has not said yet which installation this is, and so not whose changes are waiting";
        Failure::new(Exit::SignIn, what, "sign in, or try again once the exchange can be reached")
    };
    app.outbox_here().await?.ok_or_else(missing)
}

/// The outbox of a connection, about to send.
async fn begun(app: &App, output: &mut Output) -> Result<(Outbox, Turn), Failure> {
    let exchange = app.exchange().await?;
    let connection = app.connection(&exchange, output).await?;
    let outbox = exchange.outbox(app.outbox_store()?, connection)?;
    Ok((outbox, Turn::wait(app, output).await?))
}

/// What is to be done about a change that this version cannot read.
pub(super) const UNREADABLE: &str = "`drop` it, unless a newer version of this program kept it";

/// A state, and what it asks for.
pub(super) const fn words(state: State) -> (Look, &'static str, &'static str) {
    match state {
        State::Pending => {
            (Look::Plain, "pending", "it is sent with the next change of its area, or with `retry`")
        }
        State::Sending => (Look::Plain, "sending", "it is on its way"),
        State::Held => (Look::Warning, "held", "you have to confirm it: `confirm`"),
        State::NeedsRebase => {
            (Look::Warning, "conflict", "`exchange sync`, look, then change it anew and `drop` it")
        }
        State::Refused => (Look::Bad, "refused", "`drop` it; `retry` sends it as a new write"),
        State::Unknown => (Look::Warning, "unknown", "`exchange sync`, look, then `resolve` it"),
        State::Parked(why) => (
            Look::Warning,
            "parked",
            match why {
                Why::SignedOut => "sign in, then `retry`",
                Why::Scope => "sign in with this capability, then `retry`",
                Why::KeyReused => "the exchange knows its key for another change: `drop` it",
                _ => "`retry` when the cause is gone",
            },
        ),
        State::Done => (Look::Good, "done", "`show` tells what became of it"),
        _ => (Look::Plain, "in a state that this version does not know", ""),
    }
}

fn facts_json(entry: &Entry) -> Value {
    let (_, state, next) = words(entry.state());
    json!({
        "number": entry.number().0, "area": entry.lane().as_str(), "opCount": entry.ops(), "state": state,
        "failures": entry.failures(), "code": entry.code(), "next": next,
    })
}

fn unreadable_json(entry: &Unreadable) -> Value {
    json!({
        "number": entry.number.0, "area": entry.lane.as_str(), "opCount": null, "state": "unreadable",
        "failures": null, "code": null, "next": UNREADABLE,
    })
}

async fn list(app: &App, output: &mut Output) -> Result<Exit, Failure> {
    let changes = app.changes_here().await?;
    changes.tell_of_earlier(output);
    let Changes { entries, unreadable, earlier } = changes;
    if output.is_json() {
        let items = entries.iter().map(facts_json).chain(unreadable.iter().map(unreadable_json));
        output.json(&json!({ "items": items.collect::<Vec<_>>(), "ofEarlierConnections": earlier }));
        return Ok(Exit::Done);
    }
    if entries.is_empty() && unreadable.is_empty() {
        if earlier == 0 {
            output.note("nothing waits");
        }
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[">NUMBER", "AREA", ">OPS", "STATE", "CODE", "NEXT"]);
    for entry in &entries {
        let (look, state, next) = words(entry.state());
        table.painted([
            (Look::Plain, entry.number().to_string()),
            (Look::Plain, entry.lane().to_string()),
            (Look::Plain, entry.ops().to_string()),
            (look, state.to_owned()),
            (Look::Plain, entry.code().unwrap_or("").to_owned()),
            (Look::Plain, next.to_owned()),
        ]);
    }
    for entry in &unreadable {
        let [number, area] =
            [entry.number.to_string(), entry.lane.to_string()].map(|cell| (Look::Plain, cell));
        let [ops, code] = [(Look::Plain, String::new()), (Look::Plain, String::new())];
        let (state, next) = ((Look::Bad, "unreadable".to_owned()), (Look::Plain, UNREADABLE.to_owned()));
        table.painted([number, area, ops, state, code, next]);
    }
    table.print(output);
    Ok(Exit::Done)
}

/// One with all of its ops, and with what became of each where that is known.
async fn show(app: &App, number: EntryNumber, output: &mut Output) -> Result<Exit, Failure> {
    let outbox = known(app).await?;
    let entry = outbox.entry(number).await.map_err(of_entry)?;
    let ops = match entry.lane() {
        Lane::Blueprints => ops::<BlueprintOp>(&outbox, number).await?,
        Lane::Stock => ops::<StockOp>(&outbox, number).await?,
        Lane::Ships => ops::<ShipOp>(&outbox, number).await?,
        Lane::OrgStock => ops::<OrgStockOp>(&outbox, number).await?,
        _ => Vec::new(),
    };
    let set = outbox.outcome(number).await?.as_ref().and_then(told::Set::of_written);
    let verdict = |id: &str| set.as_ref()?.ops.iter().find(|op| op.id == id).map(|op| &op.verdict);
    let moment = |millis: u64| written(UnixTime::from_secs(millis / 1000));
    let (kept, decided) = (moment(entry.created_at()), entry.decided_at().and_then(moment));
    if output.is_json() {
        let op = |(id, asks): &(String, Json)| {
            let found = verdict(id).map(|found| (told::verdict(found), found.remedy().map(Remedy::text)));
            let ((_, result, reason), next) = match found {
                Some(((look, result, reason), next)) => ((look, Some(result), reason), next),
                None => ((Look::Plain, None, None), None),
            };
            json!({ "opId": id, "asks": asks, "result": result, "reason": reason, "next": next })
        };
        let mut document = facts_json(&entry);
        document["ops"] = ops.iter().map(op).collect();
        document["keptAt"] = json!(kept);
        document["decidedAt"] = json!(decided);
        document["mayBeApplied"] = json!(entry.may_be_applied());
        output.json(&document);
        return Ok(Exit::Done);
    }
    let (look, state, next) = words(entry.state());
    let mut facts = Facts::default();
    facts.say("change", number.to_string());
    facts.say("area", entry.lane().as_str());
    facts.look("state", look, state);
    if let Some(code) = entry.code() {
        facts.say("code", code);
    }
    if entry.state() != State::Done {
        facts.say("next", next);
    }
    facts.say("kept since", kept.unwrap_or_default());
    if let Some(decided) = decided {
        facts.say("decided", decided);
    }
    facts.print(output);
    output.line("");
    let head = ["OP", "ASKS FOR", "RESULT", "WHY"];
    let mut table = Table::new(if set.is_some() { &head } else { &head[..2] });
    for (id, asks) in &ops {
        let asked = [(Look::Plain, id.clone()), (Look::Plain, asks.to_string())];
        let found = verdict(id).map(|found| {
            let (look, result, reason) = told::verdict(found);
            [(look, result), (Look::Plain, told::why(reason, found.remedy()))]
        });
        table.painted(asked.into_iter().chain(found.into_iter().flatten()));
    }
    table.print(output);
    Ok(Exit::Done)
}

/// The ops of an entry by their ids, without what says the id again.
async fn ops<O: Op>(
    outbox: &Outbox,
    number: EntryNumber,
) -> Result<Vec<(String, Json)>, exchange_client::Error> {
    let changes = outbox.changes::<O>(number).await?;
    let op = |op: &O| {
        let (id, asks) = told::said(op);
        let mut asks = asks?;
        if let Json::Object(members) = &mut asks {
            members.remove("opId");
        }
        Some((id, asks))
    };
    Ok(changes.ops().iter().filter_map(op).collect())
}

/// Takes a change out, and says what may become of it all the same.
async fn give_up(app: &App, number: EntryNumber, output: &mut Output) -> Result<Exit, Failure> {
    let outbox = known(app).await?;
    // A run that is sending it tells what became of it.
    let _turn = Turn::wait(app, output).await?;
    // What cannot be read here can be given up, too.
    let entry = outbox.entry(number).await.ok();
    outbox.discard(number).await.map_err(of_entry)?;
    if output.is_json() {
        let state = entry.as_ref().map_or("unreadable", |entry| words(entry.state()).1);
        let may_be_applied = entry.as_ref().map(Entry::may_be_applied);
        output.json(&json!({ "dropped": number.0, "state": state, "mayBeApplied": may_be_applied }));
    } else {
        output.note(format!("change {number} is given up"));
    }
    match entry {
        // WRT-13: what is held there is not taken back from here.
        Some(entry) if entry.state() == State::Held => output.warn(format!(
            "the exchange holds change {number} a while longer: with its link it can be confirmed all the same"
        )),
        Some(entry) if entry.may_be_applied() => output.warn(format!(
            "the exchange may have carried out change {number} all the same: `exchange sync`, then look"
        )),
        _ => {}
    }
    Ok(Exit::Done)
}

/// What somebody found who compared; what is missing is sent as a new change.
async fn resolve(app: &App, args: &OutboxResolve, output: &mut Output) -> Result<Exit, Failure> {
    let number = EntryNumber(args.id);
    let found = if args.found.applied { Found::Applied } else { Found::Missing };
    let (outbox, turn) = begun(app, output).await?;
    outbox.resolve(number, found).await.map_err(of_entry)?;
    change::settle(app, &outbox, turn, &[number], None, output).await
}

async fn retry(app: &App, id: Option<EntryNumber>, output: &mut Output) -> Result<Exit, Failure> {
    let (outbox, turn) = begun(app, output).await?;
    let numbers = match id {
        Some(number) => {
            // One that is being sent goes on by itself, and at once when nobody does so any more. Of one that is decided
            // it is told.
            let entry = outbox.entry(number).await.map_err(of_entry)?;
            if !matches!(entry.state(), State::Sending | State::Done) {
                outbox.retry(number).await.map_err(of_entry)?;
            }
            vec![number]
        }
        None => {
            outbox.resume().await?;
            let mut due = Vec::new();
            for entry in outbox.contents().await?.entries {
                if entry.state() == State::Pending {
                    outbox.retry(entry.number()).await?;
                }
                if matches!(entry.state(), State::Pending | State::Sending) {
                    due.push(entry.number());
                }
            }
            due
        }
    };
    let exit = change::settle(app, &outbox, turn, &numbers, None, output).await?;
    if !numbers.is_empty() || exit != Exit::Done {
        return Ok(exit);
    }
    let Contents { entries, unreadable, .. } = outbox.contents().await?;
    let stuck = entries.iter().filter(|entry| entry.state().is_wedged()).count() + unreadable.len();
    if stuck > 0 {
        output.warn(format!(
            "nothing can be sent, and {stuck} of the changes need you: `exchange outbox list`"
        ));
        return Ok(Exit::Conflict);
    }
    output.note("nothing waits that can be sent");
    Ok(Exit::Done)
}
