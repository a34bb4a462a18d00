//! `exchange-service admin audit`: lists the audit log.

use clap::Subcommand;
use exchange_service::admin::{self, AdminError, AuditFilter, AuditPage};
use exchange_service::ids::ClientId;
use exchange_service::time::Moment;
use rusqlite::Connection;
use serde_json::json;

use super::{CommandOutput, format_table};

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// List audit entries, newest first.
    #[command(
        after_help = "Examples:\n\n    exchange-service admin audit list --since 2026-11-01 --client stock-tool\n    \
                            exchange-service admin audit list --actor administrator:ada --json\n\n\
                            The next page begins after the last number of the previous one: --behind NUMBER."
    )]
    List {
        /// List only entries from this time on: 2026-11-22, or 2026-11-22T13:00:00Z.
        #[arg(long, value_name = "TIME")]
        since: Option<Moment>,
        /// List only entries of this actor: `member:ID`, `administrator:NAME` or `service`.
        #[arg(long, value_name = "WHO")]
        actor: Option<String>,
        /// List only entries in which this client acted or was changed.
        #[arg(long, value_name = "ID")]
        client: Option<ClientId>,
        /// List only entries about this object, such as a change set, an installation or a member.
        #[arg(long, value_name = "ID")]
        subject: Option<String>,
        /// List the entries that follow the one with this number. Use the last number of the previous page.
        #[arg(long, value_name = "NUMBER")]
        behind: Option<i64>,
        /// The maximum number of entries, from 1 to 1000.
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
}

pub(super) fn run_audit(store: &Connection, command: AuditCommand) -> Result<CommandOutput, AdminError> {
    let AuditCommand::List { since, actor, client, subject, behind, limit } = command;
    let filter = AuditFilter { since, actor, client, subject, after: behind, limit: limit.into() };
    let page = admin::list_audit(store, &filter)?;
    let AuditPage { entries, next } = &page;
    let rows = entries.iter().map(|entry| {
        let client = entry.client.as_ref().map_or("-", ClientId::as_str);
        let number = entry.number.to_string();
        let source = entry.source.as_deref().unwrap_or("-");
        [&*number, &entry.at, &entry.actor, source, client, &entry.action, &entry.subject, &entry.detail]
            .map(escape_controls)
            .to_vec()
    });
    let mut text =
        format_table(&["number", "at", "by", "source", "client", "action", "subject", "detail"], rows);
    if let Some(next) = next {
        text.push_str(&format!("\nmore entries: --behind {next}"));
    }
    Ok(CommandOutput { text, json: json!(page) })
}

/// Replaces control characters in a cell, so that names cannot affect the terminal.
pub(super) fn escape_controls(text: &str) -> String {
    text.chars().map(|each| if each.is_control() { '\u{fffd}' } else { each }).collect()
}
