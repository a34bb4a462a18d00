//! `draft`: stages drafts that the member confirms in a browser (DRF-05 to DRF-15).

use exchange_client::{
    DraftHandoff, Error, SealedEnvelope,
    api::{Contract as _, operations::OperationId, types::RefineryDraft},
    check_envelope,
};

use super::{
    CommandContext,
    link::{self, LinkNotOpened},
    read_input,
};
use crate::{
    args::{DraftArgs, DraftCommand, LinkArgs},
    error::{CommandError, ExitStatus, FailedCall},
    output::{InterruptNotice, Output},
};

/// The advice for a draft whose link was not opened. The link and the idempotency key are lost, so this draft
/// can no longer be opened, and staging again creates another one (DRF-15).
const RESTAGE_ADVICE: &str = "it can no longer be opened, and expires after 30 minutes: staging it again creates another draft and uses another write";

/// Stages a draft. First checks that the link can be opened, because each draft counts against the daily
/// write quota, and a member can have only ten live drafts; another one replaces the oldest (DRF-05, DRF-14).
pub(super) async fn stage_draft(
    context: &CommandContext,
    command: DraftCommand,
    output: &mut Output,
) -> Result<ExitStatus, CommandError> {
    let (handoff, args) = match command {
        DraftCommand::Blueprints(args) => (stage_blueprints(context, &args, output).await?, args),
        DraftCommand::Refinery(args) => (stage_refinery(context, &args, output).await?, args),
    };
    output.print_note("staged: the link works once, within 30 minutes");
    show_draft_link(args.link, &handoff, output).await?;
    Ok(ExitStatus::Success)
}

async fn show_draft_link(
    link_args: LinkArgs,
    handoff: &DraftHandoff,
    output: &mut Output,
) -> Result<(), CommandError> {
    let shown = link::show_link(link_args, handoff.frontend_url().expose(), "draft", output).await;
    output.clear_interrupt_notice();
    shown.map_err(unopened_error)
}

/// Creates the error for a draft that was staged, but whose link was not opened.
fn unopened_error(reason: LinkNotOpened) -> CommandError {
    match reason {
        LinkNotOpened::Declined => {
            CommandError::new(ExitStatus::Conflict, "the draft is staged, but was not opened", RESTAGE_ADVICE)
        }
        LinkNotOpened::NoBrowser => CommandError::new(
            ExitStatus::Failure,
            "the draft is staged, but no browser could be started",
            format!("{RESTAGE_ADVICE}; use --print-link then, and open the link by hand"),
        ),
    }
}

async fn stage_blueprints(
    context: &CommandContext,
    args: &DraftArgs,
    output: &mut Output,
) -> Result<DraftHandoff, CommandError> {
    let checked = check_envelope(&read_input(&args.file).await?).map_err(|fault| {
        CommandError::new(ExitStatus::Usage, fault.to_string(), "see `exchange envelope check`")
    })?;
    let envelope = SealedEnvelope::from_checked(checked).map_err(|what| {
        CommandError::new(ExitStatus::Usage, what.to_string(), "see `exchange envelope check`")
    })?;
    link::ensure_link_can_open(&args.link, "draft", output)?;
    let exchange = context.exchange_for_operation(OperationId::DraftsBlueprints, output).await?;
    let mut staging = exchange.drafts().blueprints(envelope);
    await_staging(staging.stage(), output).await
}

async fn stage_refinery(
    context: &CommandContext,
    args: &DraftArgs,
    output: &mut Output,
) -> Result<DraftHandoff, CommandError> {
    let draft =
        RefineryDraft::parse(&read_input(&args.file).await?).map_err(CommandError::from_usage_error)?;
    link::ensure_link_can_open(&args.link, "draft", output)?;
    let exchange = context.exchange_for_operation(OperationId::DraftsRefinery, output).await?;
    let mut staging = exchange.drafts().refinery(draft)?;
    await_staging(staging.stage(), output).await
}

/// Stages the draft and sets the interrupt notice. Before the response, the notice states that the draft may
/// be staged; afterwards, it states that the draft is staged.
async fn await_staging(
    staging: impl Future<Output = Result<DraftHandoff, Error>>,
    output: &mut Output,
) -> Result<DraftHandoff, CommandError> {
    let notice = |what| InterruptNotice {
        message: format!("{what}: {RESTAGE_ADVICE}"),
        advice: RESTAGE_ADVICE,
        idempotency_key: None,
    };
    output.set_interrupt_notice(Some(notice("the draft may be staged")));
    let staged = staging.await;
    match &staged {
        Ok(_) => output.set_interrupt_notice(Some(notice("the draft is staged"))),
        Err(_) => output.clear_interrupt_notice(),
    }
    staged.map_err(|error| FailedCall::new(error).with_advice(RESTAGE_ADVICE).into())
}

#[cfg(test)]
mod tests {
    use exchange_client::{
        Advice, ErrorKind, TransportSettings,
        testkit::{ScriptedReply, ScriptedServer, VirtualEnvironment, signed_in_exchange},
    };

    use super::*;
    use crate::output::{ColorChoice, OutputFormat};

    /// DRF-15: the command warns that staging again creates another draft if and only if the first draft may
    /// already have been staged.
    #[tokio::test]
    async fn restaging_advice_is_shown_if_maybe_staged() {
        let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
        for (kind, next) in
            [(ErrorKind::OutcomeUnknown, RESTAGE_ADVICE), (ErrorKind::Busy, Advice::Wait.message())]
        {
            let failure = await_staging(async { Err(Error::new(kind, "x")) }, &mut output).await.unwrap_err();
            assert_eq!(failure.to_report().unwrap().next, next, "{kind:?}");
            assert!(output.interrupt_notice().is_none());
        }
        let left = tokio::time::timeout(
            std::time::Duration::ZERO,
            await_staging(std::future::pending(), &mut output),
        );
        assert!(left.await.is_err());
        assert_eq!(
            CommandError::from_interrupt(output.take_interrupt_notice()).to_report().unwrap().next,
            RESTAGE_ADVICE
        );
    }

    /// DRF-13, DRF-15: once a draft is staged, the interrupt notice mentions this, and so does the error for
    /// a link that was not opened.
    #[tokio::test(start_paused = true)]
    async fn lost_link_is_reported_as_staged() {
        let machine = VirtualEnvironment::new(1);
        let gateway = ScriptedServer::gateway(&machine);
        let response =
            r#"{"frontendUrl": "https://web.example/hush", "handoffId": "hush-1", "kind": "REFINERY"}"#;
        gateway.set_script(move |_| ScriptedReply::json(200, response));
        let exchange = signed_in_exchange(
            gateway.origin(),
            gateway.clone(),
            &machine.environment(),
            TransportSettings::default(),
        );
        let order = br#"{"schemaVersion": 1, "orders": [{"panelType": "SETUP", "goods":
            [{"inputQuantity": 1.5, "rawMaterialName": "Quantanium", "refine": true}], "sourceImages": [{"name": "a.png"}]}]}"#;
        let mut staging = exchange.drafts().refinery(RefineryDraft::parse(order).unwrap()).unwrap();
        let mut output = Output::new(OutputFormat::Json, ColorChoice::Never);
        let handoff = await_staging(staging.stage(), &mut output).await.unwrap();
        let is_staged = format!("the draft is staged: {RESTAGE_ADVICE}");
        assert_eq!(output.interrupt_notice(), Some(is_staged.as_str()));
        let no_link_args = LinkArgs { open: false, print_link: false };
        let report =
            show_draft_link(no_link_args, &handoff, &mut output).await.unwrap_err().to_report().unwrap();
        assert_eq!((report.exit, &*report.next), (7, RESTAGE_ADVICE));
        assert!(
            report.message.starts_with("the draft is staged") && output.interrupt_notice().is_none(),
            "{}",
            report.message
        );
        let report = unopened_error(LinkNotOpened::NoBrowser).to_report().unwrap();
        assert!(report.message.starts_with("the draft is staged") && report.next.starts_with(RESTAGE_ADVICE));
    }
}
