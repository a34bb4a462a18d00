//! `draft`: what the member confirms in a browser (DRF-05 to DRF-15).

use exchange_client::{
    Error, Handoff, SealedEnvelope,
    api::{Contract as _, operations::OperationId, types::RefineryDraft},
    check_envelope,
};

use super::{App, input, link};
use crate::{
    args::{Draft, DraftArgs},
    failure::{Call, Exit, Failure},
    output::{Output, Unfinished},
};

/// What no run of this command can ask for: the key goes with it (DRF-15).
const STAGE_ANEW: &str = "it can no longer be opened, and lapses after 30 minutes: to stage it again is another draft, and costs another write";

/// What nobody can be got to is not staged: it would cost one of the day's writes, and be one of ten live drafts, of which
/// the oldest goes for the next (DRF-05, DRF-14).
pub(super) async fn run(app: &App, command: Draft, output: &mut Output) -> Result<Exit, Failure> {
    let (handoff, args) = match command {
        Draft::Blueprints(args) => (blueprints(app, &args, output).await?, args),
        Draft::Refinery(args) => (refinery(app, &args, output).await?, args),
    };
    output.note("staged: it works once, for 30 minutes");
    link::show(args.link, handoff.frontend_url().expose(), "draft", output).await?;
    Ok(Exit::Done)
}

async fn blueprints(app: &App, args: &DraftArgs, output: &mut Output) -> Result<Handoff, Failure> {
    let checked = check_envelope(&input(&args.file).await?)
        .map_err(|fault| Failure::new(Exit::Failed, fault.to_string(), "see `exchange envelope check`"))?;
    let envelope = SealedEnvelope::of_checked(checked)
        .map_err(|what| Failure::new(Exit::Failed, what.to_string(), "see `exchange envelope check`"))?;
    link::possible(&args.link, "draft", output)?;
    let exchange = app.begin(OperationId::DraftsBlueprints, output).await?;
    let mut staging = exchange.drafts().blueprints(envelope);
    staged(staging.stage(), output).await
}

async fn refinery(app: &App, args: &DraftArgs, output: &mut Output) -> Result<Handoff, Failure> {
    let draft = RefineryDraft::parse(&input(&args.file).await?).map_err(Failure::usage)?;
    link::possible(&args.link, "draft", output)?;
    let exchange = app.begin(OperationId::DraftsRefinery, output).await?;
    let mut staging = exchange.drafts().refinery(draft)?;
    staged(staging.stage(), output).await
}

/// Stages it; whoever does not hear of that is told that it may be staged.
async fn staged(
    staging: impl Future<Output = Result<Handoff, Error>>,
    output: &mut Output,
) -> Result<Handoff, Failure> {
    let what = format!("it may be staged: {STAGE_ANEW}");
    output.if_broken_off(Some(Unfinished { what, next: STAGE_ANEW, key: None }));
    let staged = staging.await;
    output.is_whole();
    staged.map_err(|error| Call::new(error).or_beware(STAGE_ANEW).into())
}

#[cfg(test)]
mod tests {
    use exchange_client::{Advice, ErrorKind};

    use super::*;
    use crate::output::{Color, Form};

    /// DRF-15: to stage it again is another draft: that is said wherever the first may be staged, and nowhere else.
    #[tokio::test]
    async fn staging_again_is_said_to_be_another_draft() {
        let mut output = Output::new(Form::Json, Color::Never);
        for (kind, next) in [(ErrorKind::OutcomeUnknown, STAGE_ANEW), (ErrorKind::Busy, Advice::Wait.text())]
        {
            let failure = staged(async { Err(Error::new(kind, "x")) }, &mut output).await.unwrap_err();
            assert_eq!(failure.envelope().unwrap().next, next, "{kind:?}");
            assert!(output.unfinished().is_none());
        }
        let left =
            tokio::time::timeout(std::time::Duration::ZERO, staged(std::future::pending(), &mut output));
        assert!(left.await.is_err());
        assert_eq!(Failure::interrupted(output.take_unfinished()).envelope().unwrap().next, STAGE_ANEW);
    }
}
