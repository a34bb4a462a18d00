//! `outbox`: changes that were not sent yet, or need the member.

use exchange_client::outbox::{EntryNumber, State, Why};
use serde_json::json;

use super::{App, change, link};
use crate::{
    args::Outbox,
    failure::{Exit, Failure},
    output::{Look, Output},
    table::Table,
};

pub(super) async fn run(app: &App, command: Outbox, output: &mut Output) -> Result<Exit, Failure> {
    match command {
        Outbox::List => list(app, output).await,
        Outbox::Retry(args) => retry(app, args.id, output).await,
        Outbox::Drop(args) => {
            let exchange = app.exchange().await?;
            app.outbox(&exchange)?.discard(EntryNumber(args.id)).await?;
            if output.is_json() {
                output.json(&json!({ "dropped": args.id }));
            } else {
                output.note(format!("change {} is given up", args.id));
            }
            Ok(Exit::Done)
        }
        Outbox::Confirm(args) => {
            let exchange = app.exchange().await?;
            let outbox = app.outbox(&exchange)?;
            match outbox.confirmation(EntryNumber(args.id)).await? {
                Some(secret) => {
                    link::show(args.link, secret.expose(), "confirmation", output)?;
                    output.note(format!("afterwards: exchange sync, then exchange outbox drop {}", args.id));
                }
                None => output.note("it is not held any more"),
            }
            Ok(Exit::Done)
        }
    }
}

const fn words(state: State) -> (Look, &'static str, &'static str) {
    match state {
        State::Pending => (Look::Plain, "pending", "it is sent with the next change, or with `retry`"),
        State::Sending => (Look::Plain, "sending", "it is on its way"),
        State::Held => (Look::Warning, "held", "you have to confirm it: `confirm`"),
        State::NeedsRebase => {
            (Look::Warning, "conflict", "`exchange sync`, look, then change it anew and `drop` it")
        }
        State::Refused => (Look::Bad, "refused", "`drop` it; `retry` sends it as a new write"),
        State::Unknown => (Look::Warning, "unknown", "`exchange sync`, look, then `drop` or `retry` it"),
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
        State::Done => (Look::Good, "done", ""),
        _ => (Look::Plain, "in a state that this version does not know", ""),
    }
}

async fn list(app: &App, output: &mut Output) -> Result<Exit, Failure> {
    let entries = app.entries_here().await?;
    if output.is_json() {
        let items = entries.iter().map(|entry| {
            let (_, state, next) = words(entry.state());
            json!({
                "number": entry.number().0, "area": entry.lane().as_str(), "ops": entry.ops(), "state": state,
                "failures": entry.failures(), "code": entry.code(), "next": next,
            })
        });
        let items: Vec<_> = items.collect();
        output.json(&json!({ "items": items }));
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        output.note("nothing waits");
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
    table.print(output);
    Ok(Exit::Done)
}

async fn retry(app: &App, id: Option<u64>, output: &mut Output) -> Result<Exit, Failure> {
    let exchange = app.exchange().await?;
    app.connection(&exchange, output).await?;
    let outbox = app.outbox(&exchange)?;
    let numbers = match id {
        Some(id) => {
            outbox.retry(EntryNumber(id)).await?;
            vec![EntryNumber(id)]
        }
        None => {
            outbox.resume().await?;
            let waits = |state| matches!(state, State::Pending | State::Sending);
            let entries = outbox.entries().await?;
            let due: Vec<_> =
                entries.iter().filter(|entry| waits(entry.state())).map(|entry| entry.number()).collect();
            for number in &due {
                outbox.retry(*number).await?;
            }
            due
        }
    };
    if numbers.is_empty() {
        output.note("nothing waits that can be sent");
        return Ok(Exit::Done);
    }
    change::settle(app, &exchange, &outbox, &numbers, output).await
}
