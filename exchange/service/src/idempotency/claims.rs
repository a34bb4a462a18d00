//! Claims on keys: taken, completed, given back, lost.

use std::time::Duration;

use contract_runtime::server::Answer;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::answers::{headers_to_text, is_kept, read};
use super::budget::{self, Terms};
use crate::caller::{Caller, Claim};
use crate::config::Limits;
use crate::ids::{ClientId, MemberId};
use crate::secrets;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// Who asks for which key, and for what.
#[derive(Clone, Copy, Debug)]
pub struct Claiming<'a> {
    /// The client; another client's keys are other keys.
    pub client: &'a ClientId,
    /// The member; another member's keys are other keys.
    pub member: &'a MemberId,
    /// The key, as it was sent.
    pub key: &'a str,
    /// What it is for ([`request_hash`]).
    pub request: [u8; 32],
    /// The number of the claim, should it be taken: random, so that no two are alike.
    pub fence: i64,
}

/// What is there for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: the request goes on, with this claim.
    Claimed(Claim),
    /// The answer to the same request.
    Answered(Answer),
    /// Another request's (ERR-24).
    Reused,
    /// The same request, on its way (ERR-25).
    InProgress,
    /// Nothing, and there is no room for an answer before so long (ERR-35).
    NoRoom(Duration),
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It is kept, and given again to whoever repeats the request.
    Stored,
    /// It is of those that are never kept, or too large; the key is free again.
    NotStored,
    /// The claim's lease is over, and its key free or another attempt's: this write must be undone.
    Lost,
}

/// What a key stands for: the route and the body, byte by byte (GW-10).
#[must_use]
pub fn request_hash(operation: &str, body: &[u8]) -> [u8; 32] {
    secrets::hash_of(&[operation.as_bytes(), &[0], body])
}

/// Looks for the key, and claims it when nobody has it.
///
/// # Errors
/// What the database says.
pub fn claim(
    connection: &Connection,
    asked: &Claiming<'_>,
    terms: &Terms,
    now: Moment,
) -> Result<Found, StoreError> {
    let Claiming { client, member, key, request, fence } = *asked;
    let claim = Claim { key_hash: secrets::hex(&secrets::hash(key)), fence };
    expire(connection, terms, now, EXPIRED_AT_ONCE)?;
    if let Some(row) = row(connection, client, member, &claim.key_hash)? {
        if now >= row.ends(terms) {
            forget(connection, client, member, &claim.key_hash)?;
        } else if row.request != request {
            return Ok(Found::Reused);
        } else {
            return Ok(row.answer.map_or(Found::InProgress, Found::Answered));
        }
    }
    if let Err(wait) = budget::room(connection, client, member, terms, now)? {
        return Ok(Found::NoRoom(wait));
    }
    let reserve = signed(terms.reserve);
    let sql = "INSERT INTO idempotency \
               (client, member, key_hash, request_hash, fence, lease_until, size, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params![
        client,
        member,
        claim.key_hash,
        request,
        fence,
        now.plus(terms.lease).millis(),
        reserve,
        now.millis()
    ])?;
    budget::add(connection, client, member, reserve)?;
    Ok(Found::Claimed(claim))
}

/// Keeps the answer of a write, in the write's own transaction.
///
/// A caller without a claim (a batch that the member confirmed on the web) has nothing to keep it for:
/// [`Completion::NotStored`].
///
/// # Errors
/// What the database says.
pub fn complete(
    connection: &Connection,
    caller: &Caller,
    answer: &Answer,
    now: Moment,
) -> Result<Completion, StoreError> {
    let Some(claim) = &caller.claim else { return Ok(Completion::NotStored) };
    let Some(reserved) = open_size(connection, caller, claim)? else { return Ok(Completion::Lost) };
    let headers = headers_to_text(&answer.headers);
    let size = Limits::ANSWER_OVERHEAD + headers.len() as u64 + answer.body.len() as u64;
    if !is_kept(answer) || signed(size) > reserved {
        forget(connection, &caller.client, &caller.member, &claim.key_hash)?;
        return Ok(Completion::NotStored);
    }
    let sql = "UPDATE idempotency SET status = ?4, headers = ?5, body = ?6, size = ?7, created_at = ?8 \
               WHERE client = ?1 AND member = ?2 AND key_hash = ?3";
    connection.prepare_cached(sql)?.execute(params![
        caller.client,
        caller.member,
        claim.key_hash,
        answer.status.as_u16(),
        headers,
        &answer.body[..],
        signed(size),
        now.millis()
    ])?;
    budget::add(connection, &caller.client, &caller.member, signed(size) - reserved)?;
    Ok(Completion::Stored)
}

/// Forgets claims whose lease is over, and answers that are older than the window, at most so many; says how many.
///
/// # Errors
/// What the database says.
pub fn expire(connection: &Connection, terms: &Terms, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "SELECT client, member, key_hash FROM idempotency WHERE status IS NULL AND lease_until <= ?1 \
               UNION ALL \
               SELECT client, member, key_hash FROM idempotency WHERE status IS NOT NULL AND created_at <= ?2 \
               LIMIT ?3";
    let terms = params![now.millis(), now.minus(terms.window).millis(), limit(most)];
    let over: Vec<(ClientId, MemberId, String)> = connection
        .prepare_cached(sql)?
        .query_map(terms, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (client, member, key_hash) in &over {
        forget(connection, client, member, key_hash)?;
    }
    Ok(over.len())
}

/// How many a claim forgets on its way: more than the one row that it may add.
const EXPIRED_AT_ONCE: usize = 8;

struct Row {
    request: [u8; 32],
    lease_until: Moment,
    created_at: Moment,
    answer: Option<Answer>,
}

impl Row {
    /// From when on it is as if it had never been: a claim holds for its lease, an answer for the window.
    fn ends(&self, terms: &Terms) -> Moment {
        if self.answer.is_some() { self.created_at.plus(terms.window) } else { self.lease_until }
    }
}

fn row(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    key_hash: &str,
) -> Result<Option<Row>, StoreError> {
    let sql = "SELECT request_hash, lease_until, created_at, status, headers, body FROM idempotency \
               WHERE client = ?1 AND member = ?2 AND key_hash = ?3";
    let mut rows = connection.prepare_cached(sql)?;
    let mut rows = rows.query(params![client, member, key_hash])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let answer = match row.get::<_, Option<u16>>(3)? {
        Some(status) => Some(read(status, &row.get::<_, String>(4)?, row.get(5)?)?),
        None => None,
    };
    Ok(Some(Row {
        request: bytes_of(&row.get::<_, Vec<u8>>(0)?),
        lease_until: Moment::from_millis(row.get(1)?),
        created_at: Moment::from_millis(row.get(2)?),
        answer,
    }))
}

/// What a claim has reserved, as long as it is the caller's and has no answer.
fn open_size(connection: &Connection, caller: &Caller, claim: &Claim) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT size FROM idempotency \
               WHERE client = ?1 AND member = ?2 AND key_hash = ?3 AND fence = ?4 AND status IS NULL";
    Ok(connection
        .prepare_cached(sql)?
        .query_row(params![caller.client, caller.member, claim.key_hash, claim.fence], |row| row.get(0))
        .optional()?)
}

fn forget(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    key_hash: &str,
) -> Result<(), StoreError> {
    let sql = "DELETE FROM idempotency WHERE client = ?1 AND member = ?2 AND key_hash = ?3 RETURNING size";
    let size: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![client, member, key_hash], |row| row.get(0))
        .optional()?;
    match size {
        Some(size) => budget::add(connection, client, member, -size),
        None => Ok(()),
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn bytes_of(slice: &[u8]) -> [u8; 32] {
    slice.try_into().unwrap_or_default()
}
