//! `admin undo`: what a client wrote is set back.

use std::path::Path;

use clap::Args;
use exchange_service::Environment;
use exchange_service::admin::{self, AdminError};
use exchange_service::backend::Interruption;
use exchange_service::backend::undo::{Access, Mode, Outcome, Report, Undo, UndoArea, Word, Writes};
use exchange_service::catalogue::Catalogue;
use exchange_service::ids::{ClientId, MemberId};
use exchange_service::store::{edit, inspect};
use exchange_service::time::Moment;

use super::audit::shown;
use super::{Told, table};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n\n    exchange-service admin undo --client stock-tool --member m-1 \\\n        \
                        --from 2026-11-22T09:00:00Z --dry-run\n    \
                        exchange-service admin undo --client stock-tool --all-members \\\n        \
                        --from 2026-11-22T09:00:00Z --area stock\n\n\
                        Suspend the client first when it may go on writing: `admin client suspend`.\n\
                        Stock and org stock go back in turn, and so do members who booked the same rows. \
                        --dry-run looks once,\nand may call a conflict what goes back after all."
)]
pub(super) struct UndoArgs {
    /// The client whose writes are undone.
    #[arg(long, value_name = "ID")]
    client: ClientId,
    /// Its writes for this member.
    #[arg(long, value_name = "ID", required_unless_present = "all_members")]
    member: Option<MemberId>,
    /// Its writes for all members.
    #[arg(long, conflicts_with = "member")]
    all_members: bool,
    /// Its writes from this moment on: 2026-11-22, or 2026-11-22T13:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Moment,
    /// Its writes up to this moment; now, where it is left out.
    #[arg(long, value_name = "TIME")]
    to: Option<Moment>,
    /// Its writes to this area: blueprints, stock, ships or org-stock; may be repeated. All of them, where it is left out.
    #[arg(long = "area", value_name = "AREA")]
    areas: Vec<UndoArea>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Carries it out, a piece at a time: a service that runs over the store waits for none of them long.
pub(super) fn run(
    folder: &Path,
    (administrator, now): (&str, Moment),
    environment: &Environment,
    args: UndoArgs,
) -> Result<Told, AdminError> {
    let UndoArgs { client, member, from, to, areas, dry_run, .. } = args;
    let to = to.unwrap_or(now);
    if from > to {
        return Err(AdminError::Wrong(format!("--from {from} is after --to {to}")));
    }
    let members = inspect(folder, |store| admin::written_for(store, &client, member.as_ref()))?;
    let areas = if areas.is_empty() { UndoArea::ALL.to_vec() } else { areas };
    let mode = if dry_run { Mode::Preview } else { Mode::Apply };
    let (catalogue, uninterrupted) = (Catalogue::default(), Interruption::default());
    let mut members = members.into_iter();
    let report = |outcomes| told(&Report { client: client.clone(), mode, outcomes });
    let Some(member) = members.next() else { return Ok(report(Vec::new())) };
    let writes = Writes { client: client.clone(), member, from, to };
    let mut undo =
        Undo::new(writes, Word::Administrator(administrator.to_owned()), &areas, mode).and_for(members);
    while let Some(access) = undo.next_access() {
        let step = |store: &rusqlite::Connection| {
            Ok::<_, AdminError>(undo.step(store, &catalogue, environment, &uninterrupted)?)
        };
        match access {
            Access::Read => inspect(folder, step)?,
            Access::Write => edit(folder, step)?,
        }
    }
    Ok(report(undo.into_outcomes()))
}

fn told(report: &Report) -> Told {
    let rows = report.outcomes.iter().map(|Outcome { member, area, name, end, .. }| {
        let end = match end {
            Ok(became) => became.as_str().to_owned(),
            Err(hindrance) => format!("stays: {hindrance}"),
        };
        [member.as_str(), area.as_str(), &end, name].map(shown).to_vec()
    });
    let mut text = match &*report.outcomes {
        [] => String::new(),
        _ => table(&["member", "area", "becomes", "entry"], rows) + "\n",
    };
    let would = if report.mode == Mode::Preview { "would be set back" } else { "set back" };
    text.push_str(&format!("{} {would}, {} stay as they are", report.undone(), report.conflicts()));
    Told { text, json: report.to_json() }
}
