//! `exchange-service admin undo`: undoes a client's writes.

use std::path::Path;

use clap::Args;
use exchange_service::Environment;
use exchange_service::admin::{self, AdminError};
use exchange_service::backend::FaultInjector;
use exchange_service::backend::undo::{
    StoreAccess, UndoArea, UndoAuthority, UndoMode, UndoOutcome, UndoProcess, UndoReport, UndoSelection,
};
use exchange_service::catalogue::Catalogue;
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::store::{edit_store, inspect_store};
use exchange_service::time::Moment;

use super::audit::escape_controls;
use super::{CommandOutput, format_table};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n\n    exchange-service admin undo --client stock-tool --member m-1 \\\n        \
                        --from 2026-11-22T09:00:00Z --dry-run\n    \
                        exchange-service admin undo --client stock-tool --all-members \\\n        \
                        --from 2026-11-22T09:00:00Z --area stock\n\n\
                        Suspend the client first if it may still be writing: `admin client suspend`.\n\
                        Stock and org stock are undone alternately, as are members who booked the same rows. \
                        --dry-run checks each\nentry once, and may report conflicts that an actual run resolves."
)]
pub(super) struct UndoArgs {
    /// The client whose writes are undone.
    #[arg(long, value_name = "ID")]
    client: ClientId,
    /// Undo only writes for this member.
    #[arg(long, value_name = "ID", required_unless_present = "all_members")]
    member: Option<MemberId>,
    /// Undo writes for all members.
    #[arg(long, conflicts_with = "member")]
    all_members: bool,
    /// Undo writes from this time on: 2026-11-22, or 2026-11-22T13:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Moment,
    /// Undo writes up to this time. Defaults to the current time.
    #[arg(long, value_name = "TIME")]
    to: Option<Moment>,
    /// Undo writes to this area: blueprints, stock, ships or org-stock; may be repeated. Defaults to all
    /// areas.
    #[arg(long = "area", value_name = "AREA")]
    areas: Vec<UndoArea>,
    /// Report the effect without changing anything.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the undo in small transactions, so that a running service never waits long for the store.
pub(super) fn run_undo(
    folder: &Path,
    (administrator, now): (&str, Moment),
    environment: &Environment,
    args: UndoArgs,
) -> Result<CommandOutput, AdminError> {
    let UndoArgs { client, member, from, to, areas, dry_run, .. } = args;
    let to = to.unwrap_or(now);
    if from > to {
        return Err(AdminError::Invalid(format!("--from {from} is after --to {to}")));
    }
    let members = inspect_store(folder, |store| admin::written_for(store, &client, member.as_ref()))?;
    let areas = if areas.is_empty() { UndoArea::ALL.to_vec() } else { areas };
    let mode = if dry_run { UndoMode::Preview } else { UndoMode::Apply };
    let (catalogue, uninterrupted) = (Catalogue::default(), FaultInjector::default());
    let mut members = members.into_iter();
    let report = |outcomes| report_output(&UndoReport { client: client.clone(), mode, outcomes });
    let Some(member) = members.next() else { return Ok(report(Vec::new())) };
    let writes = UndoSelection { client: client.clone(), member, from, to };
    let mut undo =
        UndoProcess::new(writes, UndoAuthority::Administrator(administrator.to_owned()), &areas, mode)
            .with_members(members);
    while let Some(access) = undo.next_access() {
        let step = |store: &rusqlite::Connection| {
            Ok::<_, AdminError>(undo.run_step(store, &catalogue, environment, &uninterrupted)?)
        };
        match access {
            StoreAccess::Read => inspect_store(folder, step)?,
            StoreAccess::Write => edit_store(folder, step)?,
        }
    }
    Ok(report(undo.into_outcomes()))
}

fn report_output(report: &UndoReport) -> CommandOutput {
    let rows = report.outcomes.iter().map(|UndoOutcome { member, area, name, result: end, .. }| {
        let end = match end {
            Ok(became) => became.as_str().to_owned(),
            Err(conflict) => format!("unchanged: {conflict}"),
        };
        [member.as_str(), area.as_str(), &end, name].map(escape_controls).to_vec()
    });
    let mut text = match &*report.outcomes {
        [] => String::new(),
        _ => format_table(&["member", "area", "becomes", "entry"], rows) + "\n",
    };
    let would = if report.mode == UndoMode::Preview { "would be undone" } else { "undone" };
    text.push_str(&format!("{} {would}, {} unchanged", report.reverted_count(), report.conflict_count()));
    CommandOutput { text, json: report.to_json() }
}
