//! Records attempts to sign in on the web pages: in the audit, in the log, and as a metric.
//!
//! The typed user name is recorded nowhere, because people sometimes type a password into the wrong field.
//! The audit therefore contains only attempts for existing accounts.

use std::time::Duration;

use metrics::counter;
use rusqlite::{Connection, params};

use super::accounts;
use super::provider::IdentityProvider;
use crate::ids::MemberId;
use crate::peer::PeerAddr;
use crate::records::{Actor, AuditEntry, record_audit_from};
use crate::store::StoreError;
use crate::telemetry::note_member;
use crate::time::Moment;

/// The period in which further refused attempts for an account are not added to the audit, so that an attacker
/// cannot fill it.
const LOCKOUT_PERIOD: Duration = Duration::from_secs(600);

/// Adds a successful sign-in to the audit, in the transaction that begins the session.
pub(crate) fn audit_success(
    connection: &Connection,
    member: &MemberId,
    source: PeerAddr,
    now: Moment,
) -> Result<(), StoreError> {
    audit(connection, Actor::Member(member), "sign-in", (member, source), now)
}

/// Adds a sign-out to the audit, in the transaction that ends the session.
pub(crate) fn audit_sign_out(
    connection: &Connection,
    member: &MemberId,
    source: PeerAddr,
    now: Moment,
) -> Result<(), StoreError> {
    audit(connection, Actor::Member(member), "sign-out", (member, source), now)
}

/// Counts a successful sign-in.
pub(crate) fn record_success(member: &MemberId) {
    note_member(member);
    counter!("exchange_sign_ins_total", "outcome" => "succeeded").increment(1);
}

/// Records a wrong user name or password. `account` is the member whose account was named, if it exists.
///
/// The audit entry is written without waiting, so that the response takes equally long whether or not the account
/// exists.
pub(crate) fn record_failure(provider: &IdentityProvider, account: Option<MemberId>, source: PeerAddr) {
    counter!("exchange_sign_ins_total", "outcome" => "failed").increment(1);
    let Some(member) = account else {
        tracing::warn!(source = %source.0.to_canonical(), "sign_in.unknown_account");
        return;
    };
    let now = provider.environment().now();
    write_later(provider, move |connection| {
        audit(connection, Actor::Service, "sign-in-failed", (&member, source), now)
    });
}

/// Records an attempt that was refused because there were too many.
pub(crate) fn record_lockout(provider: &IdentityProvider, username: &str, source: PeerAddr) {
    counter!("exchange_sign_ins_total", "outcome" => "locked").increment(1);
    tracing::warn!(source = %source.0.to_canonical(), "sign_in.locked");
    let (username, now) = (username.to_owned(), provider.environment().now());
    write_later(provider, move |connection| {
        let Some((member, _)) = accounts::find_account(connection, &username)? else { return Ok(()) };
        let sql = "SELECT EXISTS (SELECT 1 FROM audit \
                   WHERE at > ?1 AND at <= ?2 AND action = 'sign-in-locked' AND subject = ?3)";
        let period = params![now.minus(LOCKOUT_PERIOD).as_millis(), now.as_millis(), member];
        if connection.prepare_cached(sql)?.query_row(period, |row| row.get(0))? {
            return Ok(());
        }
        audit(connection, Actor::Service, "sign-in-locked", (&member, source), now)
    });
}

fn audit(
    connection: &Connection,
    actor: Actor<'_>,
    action: &str,
    (member, source): (&MemberId, PeerAddr),
    now: Moment,
) -> Result<(), StoreError> {
    let entry = AuditEntry { client: None, action, subject: member.as_str(), detail: "" };
    record_audit_from(connection, now, actor, entry, Some(source))
}

/// Runs a write without waiting for it.
fn write_later(
    provider: &IdentityProvider,
    work: impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static,
) {
    let store = provider.store().clone();
    tokio::spawn(async move {
        if let Err(error) = store.write(work).await {
            tracing::error!(%error, "cannot add a sign-in to the audit");
        }
    });
}
