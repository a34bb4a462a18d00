//! Device logins (RFC 8628): pending, then approved or declined by a member, then consumed by one poll.
//!
//! Rows and decisions; who asks, with which proof, is not known here.

use std::time::Duration;

use rusqlite::{Connection as Database, OptionalExtension as _, Row, params};

use super::codes::UserCode;
use super::scopes::Scopes;
use crate::ids::{ClientId, MemberId};
use crate::secrets::{self, Hash};
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// What a poll that comes too early adds to the interval, for good (ERR-44).
const SLOWER: i64 = 5;
/// How much earlier than its interval a poll may come: the way here takes now longer, now shorter.
const JITTER: Duration = Duration::from_secs(1);
/// How long a login is known after its end, so that it is told apart from one that never was.
const KEPT: Duration = Duration::from_secs(86_400);

/// A device login as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Login {
    pub(super) client: ClientId,
    pub(super) scopes: Scopes,
    pub(super) expires_at: Moment,
    pub(super) interval: Duration,
    pub(super) polled_at: Option<Moment>,
    pub(super) state: State,
    pub(super) approval: Option<Approval>,
}

/// Where a login stands (IDP-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has decided.
    Pending,
    /// A member said yes.
    Approved,
    /// A member said no.
    Declined,
    /// Its tokens were handed out.
    Consumed,
}

impl State {
    fn of(text: &str) -> Self {
        match text {
            "pending" => Self::Pending,
            "approved" => Self::Approved,
            "consumed" => Self::Consumed,
            _ => Self::Declined,
        }
    }
}

/// Who approved it.
#[derive(Clone, Debug)]
pub(super) struct Approval {
    pub(super) member: MemberId,
    /// The browser session that the connection ends with (IDP-08).
    pub(super) session: Option<Hash>,
    pub(super) auth_time: Moment,
}

/// What a poll comes to.
#[derive(Clone, Debug)]
pub(super) enum Poll {
    /// No such code, or another client's, or one that was used.
    Unknown,
    /// Nobody has decided.
    Pending,
    /// Nobody has decided, and it was asked too early.
    TooFast,
    /// The member said no.
    Declined,
    /// Nobody decided in time, or nobody came for it.
    Expired,
    /// Yes.
    Approved(Approval),
}

/// Decides about a poll.
pub(super) fn decide(login: Option<&Login>, client: &str, now: Moment) -> Poll {
    let Some(login) = login.filter(|login| login.client.as_str() == client) else { return Poll::Unknown };
    match (login.state, &login.approval) {
        (State::Consumed, _) => Poll::Unknown,
        (State::Declined, _) => Poll::Declined,
        _ if now >= login.expires_at => Poll::Expired,
        (State::Approved, Some(approval)) => Poll::Approved(approval.clone()),
        (State::Approved, None) => Poll::Declined,
        (State::Pending, _) => {
            let due = login.polled_at.map(|at| at.plus(login.interval.saturating_sub(JITTER)));
            if due.is_some_and(|due| now < due) { Poll::TooFast } else { Poll::Pending }
        }
    }
}

/// Stores a new login; false when its user code is somebody else's just now.
pub(super) fn begin(
    database: &Database,
    device: &Hash,
    code: &UserCode,
    login: &Login,
    now: Moment,
) -> Result<bool, StoreError> {
    let code = secrets::hash(code.as_str());
    // A code that has ended is free again, however long its login is still known.
    database
        .prepare_cached("DELETE FROM device_login WHERE user_code_hash = ?1 AND expires_at <= ?2")?
        .execute(params![code, now.millis()])?;
    let made = database
        .prepare_cached(
            "INSERT INTO device_login (device_hash, user_code_hash, client, scopes, created_at, expires_at, \
             interval_s, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending') \
             ON CONFLICT (user_code_hash) DO NOTHING",
        )?
        .execute(params![
            device,
            code,
            login.client,
            login.scopes.text(),
            now.millis(),
            login.expires_at.millis(),
            login.interval.as_secs() as i64,
        ])?;
    Ok(made == 1)
}

/// Forgets at most so many logins that ended a day ago or before; says how many.
pub(crate) fn prune(database: &Database, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM device_login WHERE device_hash IN \
               (SELECT device_hash FROM device_login WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(database.prepare_cached(sql)?.execute(params![now.minus(KEPT).millis(), limit(most)])?)
}

/// The login of a device code.
pub(super) fn of_device(database: &Database, device: &Hash) -> Result<Option<Login>, StoreError> {
    find(database, "device_hash", device)
}

/// The login of a user code, as long as it can be decided on or says what became of it.
pub(super) fn of_code(
    database: &Database,
    code: &UserCode,
    now: Moment,
) -> Result<Option<Login>, StoreError> {
    let login = find(database, "user_code_hash", &secrets::hash(code.as_str()))?;
    Ok(login.filter(|login| now < login.expires_at))
}

fn find(database: &Database, column: &str, hash: &Hash) -> Result<Option<Login>, StoreError> {
    let sql = format!(
        "SELECT client, scopes, expires_at, interval_s, polled_at, state, member, session, auth_time \
         FROM device_login WHERE {column} = ?1"
    );
    Ok(database.prepare_cached(&sql)?.query_row([hash], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Login> {
    let (scopes, state): (String, String) = (row.get(1)?, row.get(5)?);
    let (interval, polled_at): (i64, Option<i64>) = (row.get(3)?, row.get(4)?);
    let (member, auth_time): (Option<MemberId>, Option<i64>) = (row.get(6)?, row.get(8)?);
    let session = row.get(7)?;
    Ok(Login {
        client: row.get(0)?,
        scopes: Scopes::read(&scopes),
        expires_at: Moment::from_millis(row.get(2)?),
        interval: Duration::from_secs(u64::try_from(interval).unwrap_or_default()),
        polled_at: polled_at.map(Moment::from_millis),
        state: State::of(&state),
        approval: member.zip(auth_time).map(|(member, auth_time)| Approval {
            member,
            session,
            auth_time: Moment::from_millis(auth_time),
        }),
    })
}

/// Notes a poll, and that it came too early.
pub(super) fn polled(
    database: &Database,
    device: &Hash,
    too_fast: bool,
    now: Moment,
) -> Result<(), StoreError> {
    let slower = if too_fast { SLOWER } else { 0 };
    database
        .prepare_cached(
            "UPDATE device_login SET polled_at = ?2, interval_s = interval_s + ?3 WHERE device_hash = ?1",
        )?
        .execute(params![device, now.millis(), slower])?;
    Ok(())
}

/// Writes the member's decision, if there is none yet.
pub(super) fn decided(
    database: &Database,
    code: &UserCode,
    approval: Option<&Approval>,
) -> Result<bool, StoreError> {
    let state = if approval.is_some() { "approved" } else { "declined" };
    let changed = database
        .prepare_cached(
            "UPDATE device_login SET state = ?2, member = ?3, session = ?4, auth_time = ?5 \
             WHERE user_code_hash = ?1 AND state = 'pending'",
        )?
        .execute(params![
            secrets::hash(code.as_str()),
            state,
            approval.map(|approval| &approval.member),
            approval.and_then(|approval| approval.session),
            approval.map(|approval| approval.auth_time.millis()),
        ])?;
    Ok(changed == 1)
}

/// Hands the login to one poll: true once, false ever after.
pub(super) fn consume(database: &Database, device: &Hash) -> Result<bool, StoreError> {
    let changed = database
        .prepare_cached(
            "UPDATE device_login SET state = 'consumed' WHERE device_hash = ?1 AND state = 'approved'",
        )?
        .execute([device])?;
    Ok(changed == 1)
}

/// Takes back what a member approved and nobody has come for yet.
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
