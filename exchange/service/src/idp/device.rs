//! Device logins (RFC 8628). A login is pending until a member approves or declines it. An approved login is
//! consumed by one poll.
//!
//! This module contains the rows and the decisions. It does not verify proofs.

use std::time::Duration;

use rusqlite::{Connection as Database, OptionalExtension as _, Row, params};

use super::codes::UserCode;
use super::scopes::ScopeSet;
use crate::ids::{ClientId, MemberId};
use crate::secrets::{self, Sha256Hash};
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The number of seconds by which a poll that is too early permanently increases the interval (ERR-44).
const SLOW_DOWN_SECS: i64 = 5;
/// The time by which a poll may precede its due time, because network latency varies.
const POLL_TOLERANCE: Duration = Duration::from_secs(1);
/// The period for which a login is kept after it expired, so that an expired code can be distinguished from
/// an unknown one.
const KEPT_AFTER_END: Duration = Duration::from_secs(86_400);

#[derive(Clone, Debug)]
pub(super) struct DeviceLogin {
    pub(super) client: ClientId,
    pub(super) scopes: ScopeSet,
    pub(super) expires_at: Moment,
    pub(super) interval: Duration,
    pub(super) polled_at: Option<Moment>,
    pub(super) state: LoginState,
    pub(super) approval: Option<LoginApproval>,
}

/// The state of a device login (IDP-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginState {
    /// The login was not decided yet.
    Pending,
    /// A member approved the login.
    Approved,
    /// A member declined the login.
    Declined,
    /// The tokens of the login were issued.
    Consumed,
}

impl LoginState {
    fn from_stored(text: &str) -> Self {
        match text {
            "pending" => Self::Pending,
            "approved" => Self::Approved,
            "consumed" => Self::Consumed,
            _ => Self::Declined,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct LoginApproval {
    pub(super) member: MemberId,
    /// The browser session with which the connection ends (IDP-08), if any.
    pub(super) session: Option<Sha256Hash>,
    pub(super) auth_time: Moment,
}

#[derive(Clone, Debug)]
pub(super) enum PollOutcome {
    /// The device code is unknown, belongs to another client, or was already used.
    Unknown,
    Pending,
    /// The member has not decided yet, and the poll was too early.
    TooFast,
    Declined,
    /// The login expired before it was decided or consumed.
    Expired,
    Approved(LoginApproval),
}

pub(super) fn decide_poll(login: Option<&DeviceLogin>, client: &str, now: Moment) -> PollOutcome {
    let Some(login) = login.filter(|login| login.client.as_str() == client) else {
        return PollOutcome::Unknown;
    };
    match (login.state, &login.approval) {
        (LoginState::Consumed, _) => PollOutcome::Unknown,
        (LoginState::Declined, _) => PollOutcome::Declined,
        _ if now >= login.expires_at => PollOutcome::Expired,
        (LoginState::Approved, Some(approval)) => PollOutcome::Approved(approval.clone()),
        (LoginState::Approved, None) => PollOutcome::Declined,
        (LoginState::Pending, _) => {
            let due = login.polled_at.map(|time| time.plus(login.interval.saturating_sub(POLL_TOLERANCE)));
            if due.is_some_and(|due| now < due) { PollOutcome::TooFast } else { PollOutcome::Pending }
        }
    }
}

/// Stores a new login. Returns false and stores nothing if its user code is in use.
pub(super) fn insert_login(
    database: &Database,
    device: &Sha256Hash,
    code: &UserCode,
    login: &DeviceLogin,
    now: Moment,
) -> Result<bool, StoreError> {
    let code = secrets::sha256(code.as_str());
    // The user code of an expired login can be used again, so the expired login is deleted.
    database
        .prepare_cached("DELETE FROM device_login WHERE user_code_hash = ?1 AND expires_at <= ?2")?
        .execute(params![code, now.as_millis()])?;
    let inserted = database
        .prepare_cached(
            "INSERT INTO device_login (device_hash, user_code_hash, client, scopes, created_at, expires_at, \
             interval_s, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending') \
             ON CONFLICT (user_code_hash) DO NOTHING",
        )?
        .execute(params![
            device,
            code,
            login.client,
            login.scopes.to_scope_string(),
            now.as_millis(),
            login.expires_at.as_millis(),
            login.interval.as_secs() as i64,
        ])?;
    Ok(inserted == 1)
}

/// Deletes at most `limit` logins that expired at least a day ago. Returns the number of deleted logins.
pub(crate) fn prune_expired(database: &Database, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM device_login WHERE device_hash IN \
               (SELECT device_hash FROM device_login WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(database
        .prepare_cached(sql)?
        .execute(params![now.minus(KEPT_AFTER_END).as_millis(), sql_limit(limit)])?)
}

/// Finds a login by its device code.
pub(super) fn find_by_device_code(
    database: &Database,
    device: &Sha256Hash,
) -> Result<Option<DeviceLogin>, StoreError> {
    find_login(database, "device_hash", device)
}

/// Finds a login by its user code, unless it has expired.
pub(super) fn find_by_user_code(
    database: &Database,
    code: &UserCode,
    now: Moment,
) -> Result<Option<DeviceLogin>, StoreError> {
    let login = find_login(database, "user_code_hash", &secrets::sha256(code.as_str()))?;
    Ok(login.filter(|login| now < login.expires_at))
}

fn find_login(
    database: &Database,
    column: &str,
    hash: &Sha256Hash,
) -> Result<Option<DeviceLogin>, StoreError> {
    let sql = format!(
        "SELECT client, scopes, expires_at, interval_s, polled_at, state, member, session, auth_time \
         FROM device_login WHERE {column} = ?1"
    );
    Ok(database.prepare_cached(&sql)?.query_row([hash], read_login).optional()?)
}

fn read_login(row: &Row<'_>) -> rusqlite::Result<DeviceLogin> {
    let (scopes, state): (String, String) = (row.get(1)?, row.get(5)?);
    let (interval, polled_at): (i64, Option<i64>) = (row.get(3)?, row.get(4)?);
    let (member, auth_time): (Option<MemberId>, Option<i64>) = (row.get(6)?, row.get(8)?);
    let session = row.get(7)?;
    Ok(DeviceLogin {
        client: row.get(0)?,
        scopes: ScopeSet::from_stored(&scopes),
        expires_at: Moment::from_millis(row.get(2)?),
        interval: Duration::from_secs(u64::try_from(interval).unwrap_or_default()),
        polled_at: polled_at.map(Moment::from_millis),
        state: LoginState::from_stored(&state),
        approval: member.zip(auth_time).map(|(member, auth_time)| LoginApproval {
            member,
            session,
            auth_time: Moment::from_millis(auth_time),
        }),
    })
}

/// Records a poll. Increases the interval if the poll was too early.
pub(super) fn record_poll(
    database: &Database,
    device: &Sha256Hash,
    too_fast: bool,
    now: Moment,
) -> Result<(), StoreError> {
    let slower = if too_fast { SLOW_DOWN_SECS } else { 0 };
    database
        .prepare_cached(
            "UPDATE device_login SET polled_at = ?2, interval_s = interval_s + ?3 WHERE device_hash = ?1",
        )?
        .execute(params![device, now.as_millis(), slower])?;
    Ok(())
}

/// Stores the member's decision. Returns false if the login was already decided.
pub(super) fn record_decision(
    database: &Database,
    code: &UserCode,
    approval: Option<&LoginApproval>,
) -> Result<bool, StoreError> {
    let state = if approval.is_some() { "approved" } else { "declined" };
    let changed = database
        .prepare_cached(
            "UPDATE device_login SET state = ?2, member = ?3, session = ?4, auth_time = ?5 \
             WHERE user_code_hash = ?1 AND state = 'pending'",
        )?
        .execute(params![
            secrets::sha256(code.as_str()),
            state,
            approval.map(|approval| &approval.member),
            approval.and_then(|approval| approval.session),
            approval.map(|approval| approval.auth_time.as_millis()),
        ])?;
    Ok(changed == 1)
}

/// Marks an approved login as consumed. Returns true only for the first call.
pub(super) fn consume_login(database: &Database, device: &Sha256Hash) -> Result<bool, StoreError> {
    let changed = database
        .prepare_cached(
            "UPDATE device_login SET state = 'consumed' WHERE device_hash = ?1 AND state = 'approved'",
        )?
        .execute([device])?;
    Ok(changed == 1)
}

/// Declines all approved logins of a member's client that are not consumed yet.
pub(super) fn decline_approved(
    database: &Database,
    client: &ClientId,
    member: &MemberId,
) -> Result<(), StoreError> {
    database
        .prepare_cached(
            "UPDATE device_login SET state = 'declined' \
             WHERE client = ?1 AND member = ?2 AND state = 'approved'",
        )?
        .execute(params![client, member])?;
    Ok(())
}
