//! `admin audit`: who did what.

use clap::Subcommand;
use exchange_service::admin::{self, AdminError, AuditPage, WantedAudit};
use exchange_service::ids::ClientId;
use exchange_service::time::Moment;
use rusqlite::Connection;
use serde_json::json;

use super::{Told, table};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// List what was done, the latest first.
    #[command(
        after_help = "Examples:\n\n    exchange-service admin audit list --since 2026-11-01 --client stock-tool\n    \
                            exchange-service admin audit list --actor administrator:ada --limit 20 --json\n\n\
                            The next page begins behind the last number of the one before: --behind NUMBER."
    )]
    List {
        /// From this moment on: 2026-11-22, or 2026-11-22T13:00:00Z.
        #[arg(long, value_name = "TIME")]
        since: Option<Moment>,
        /// By whom: `member:ID`, `administrator:NAME` or `service`.
        #[arg(long, value_name = "WHO")]
        actor: Option<String>,
        /// Through this client, or done to it.
        #[arg(long, value_name = "ID")]
        client: Option<ClientId>,
        /// Done to this: a change set, an installation, a member.
        #[arg(long, value_name = "ID")]
        subject: Option<String>,
        /// Behind the entry of this number: where the page before ended.
        #[arg(long, value_name = "NUMBER")]
        behind: Option<i64>,
        /// At most so many entries, 1 to 1000.
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
}

pub(super) fn run(store: &Connection, command: AuditCommand) -> Result<Told, AdminError> {
    let AuditCommand::List { since, actor, client, subject, behind, limit } = command;
    let wanted = WantedAudit { since, actor, client, subject, behind, most: limit.into() };
    let page = admin::list_audit(store, &wanted)?;
    let AuditPage { entries, next } = &page;
    let rows = entries.iter().map(|entry| {
        let client = entry.client.as_ref().map_or("-", ClientId::as_str);
        let number = entry.number.to_string();
        [&*number, &entry.at, &entry.actor, client, &entry.action, &entry.subject, &entry.detail]
            .map(shown)
            .to_vec()
    });
    let mut text = table(&["number", "at", "by", "client", "action", "subject", "detail"], rows);
    if let Some(next) = next {
        text.push_str(&format!("\nthere is more: --behind {next}"));
    }
    Ok(Told { text, json: json!(page) })
}

/// A cell that moves no cursor, whatever somebody called something.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|each| if each.is_control() { '\u{fffd}' } else { each }).collect()
}
