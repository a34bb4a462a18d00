//! `draft`: what the member confirms in a browser (DRF-05 to DRF-15).

use exchange_client::{
    Handoff, SealedEnvelope,
    api::{Contract as _, operations::OperationId, types::RefineryDraft},
    check_envelope,
};

use super::{App, input, link};
use crate::{
    args::{Draft, DraftArgs},
    failure::{Exit, Failure},
    output::Output,
};

pub(super) async fn run(app: &App, command: Draft, output: &mut Output) -> Result<Exit, Failure> {
    let (handoff, args) = match command {
        Draft::Blueprints(args) => (blueprints(app, &args, output).await?, args),
        Draft::Refinery(args) => (refinery(app, &args, output).await?, args),
    };
    output.note("staged: it works once, for 30 minutes");
    link::show(args.link, handoff.frontend_url().expose(), "draft", output).await?;
    Ok(Exit::Done)
}

/// Each draft costs a write, and an eleventh ends the oldest (DRF-05, DRF-14): none is staged that nobody would see.
fn reachable(args: &DraftArgs, output: &Output) -> Result<(), Failure> {
    link::possible(&args.link, "draft", output)
}

async fn blueprints(app: &App, args: &DraftArgs, output: &mut Output) -> Result<Handoff, Failure> {
    let checked = check_envelope(&input(&args.file).await?)
        .map_err(|fault| Failure::new(Exit::Failed, fault.to_string(), "see `exchange envelope check`"))?;
    let envelope = SealedEnvelope::of_checked(checked)
        .map_err(|what| Failure::new(Exit::Failed, what.to_string(), "see `exchange envelope check`"))?;
    reachable(args, output)?;
    let exchange = app.begin(OperationId::DraftsBlueprints, output).await?;
    Ok(exchange.drafts().blueprints(envelope).stage().await?)
}

async fn refinery(app: &App, args: &DraftArgs, output: &mut Output) -> Result<Handoff, Failure> {
    let draft = RefineryDraft::parse(&input(&args.file).await?).map_err(Failure::usage)?;
    reachable(args, output)?;
    let exchange = app.begin(OperationId::DraftsRefinery, output).await?;
    Ok(exchange.drafts().refinery(draft)?.stage().await?)
}
