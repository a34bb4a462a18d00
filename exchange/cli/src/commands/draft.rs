//! `draft`: what the member confirms in a browser (DRF-05 to DRF-15).

use exchange_client::{
    Error, Handoff, SealedEnvelope,
    api::{Contract as _, operations::OperationId, types::RefineryDraft},
    check_envelope,
};

use super::{
    App, input,
    link::{self, Unseen},
};
use crate::{
    args::{Draft, DraftArgs, LinkArgs},
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
    shown(args.link, &handoff, output).await?;
    Ok(Exit::Done)
}

async fn shown(how: LinkArgs, handoff: &Handoff, output: &mut Output) -> Result<(), Failure> {
    let shown = link::show(how, handoff.frontend_url().expose(), "draft", output).await;
    output.is_whole();
    shown.map_err(lost)
}

/// It is staged, and nobody has its link.
fn lost(unseen: Unseen) -> Failure {
    match unseen {
        Unseen::Unwanted => Failure::new(Exit::Conflict, "it is staged, and was not opened", STAGE_ANEW),
        Unseen::NoBrowser => Failure::new(
            Exit::Failed,
            "it is staged, and no browser could be started for it",
            format!("{STAGE_ANEW}; use --print-link then, and open the link by hand"),
        ),
    }
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

/// Stages it; whoever does not hear of that is told that it may be staged, and whoever does and breaks it off before the
/// link is opened, that it is.
async fn staged(
    staging: impl Future<Output = Result<Handoff, Error>>,
    output: &mut Output,
) -> Result<Handoff, Failure> {
    let unfinished = |what| Unfinished { what: format!("{what}: {STAGE_ANEW}"), next: STAGE_ANEW, key: None };
    output.if_broken_off(Some(unfinished("it may be staged")));
    let staged = staging.await;
    match &staged {
        Ok(_) => output.if_broken_off(Some(unfinished("it is staged"))),
        Err(_) => output.is_whole(),
    }
    staged.map_err(|error| Call::new(error).or_beware(STAGE_ANEW).into())
}

#[cfg(test)]
mod tests {
    use exchange_client::{
        Advice, ErrorKind, Settings,
        testkit::{Reply, ScriptedServer, VirtualEnvironment, signed_in},
    };

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

    /// DRF-13, DRF-15: whoever breaks it off before the link is opened, or does not open it, hears that it is staged, and
    /// what that means.
    #[tokio::test(start_paused = true)]
    async fn a_draft_whose_link_is_lost_is_said_to_be_staged() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        let answer =
            r#"{"frontendUrl": "https://web.example/hush", "handoffId": "hush-1", "kind": "REFINERY"}"#;
        gateway.answer(move |_| Reply::json(200, answer));
        let exchange =
            signed_in(gateway.origin(), gateway.clone(), &machine.environment(), Settings::default());
        let order = br#"{"schemaVersion": 1, "orders": [{"panelType": "SETUP", "goods":
            [{"inputQuantity": 1.5, "rawMaterialName": "Quantanium", "refine": true}], "sourceImages": [{"name": "a.png"}]}]}"#;
        let mut staging = exchange.drafts().refinery(RefineryDraft::parse(order).unwrap()).unwrap();
        let mut output = Output::new(Form::Json, Color::Never);
        let handoff = staged(staging.stage(), &mut output).await.unwrap();
        let is_staged = format!("it is staged: {STAGE_ANEW}");
        assert_eq!(output.unfinished(), Some(is_staged.as_str()));
        let nobody = LinkArgs { open: false, print_link: false };
        let told = shown(nobody, &handoff, &mut output).await.unwrap_err().envelope().unwrap();
        assert_eq!((told.exit, &*told.next), (7, STAGE_ANEW));
        assert!(
            told.message.starts_with("it is staged") && output.unfinished().is_none(),
            "{}",
            told.message
        );
        let told = lost(Unseen::NoBrowser).envelope().unwrap();
        assert!(told.message.starts_with("it is staged") && told.next.starts_with(STAGE_ANEW));
    }
}
