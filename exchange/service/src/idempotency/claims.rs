//! Claims on idempotency keys: creating, completing, releasing and expiring them.

use std::time::Duration;

use contract_runtime::server::EncodedResponse;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::budget::{self, KeyRetention};
use super::stored_responses::{encode_headers, is_stored, parse_response};
use crate::caller::{Caller, KeyClaim};
use crate::config::LimitsConfig;
use crate::ids::{ClientId, MemberId};
use crate::secrets;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// A request to claim a key.
#[derive(Clone, Copy, Debug)]
pub struct ClaimRequest<'a> {
    /// The id of the client. Keys of different clients are distinct.
    pub client: &'a ClientId,
    /// The id of the member. Keys of different members are distinct.
    pub member: &'a MemberId,
    /// The idempotency key, as sent.
    pub key: &'a str,
    /// The hash of the request ([`request_hash`]).
    pub request: [u8; 32],
    /// The fencing token of the new claim. It is random, so that no two claims have the same token.
    pub fence: i64,
}

/// The outcome of claiming a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The key was free; the request now has this claim.
    Claimed(KeyClaim),
    /// The key has a stored response to the same request.
    Answered(EncodedResponse),
    /// The key was used for another request (ERR-24).
    Reused,
    /// The same request is still running (ERR-25).
    InProgress,
    /// The key is free, but a budget for stored responses is full until this time has passed (ERR-35).
    BudgetExhausted(Duration),
}

/// The outcome of completing a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The response is stored, and repetitions of the request get it.
    Stored,
    /// The response is not stored, because it is too large or of a kind that is never stored. The key is free
    /// again.
    NotStored,
    /// The claim is lost, because its lease has expired and another attempt may have the key. The write must
    /// be rolled back.
    Lost,
}

/// Returns the hash that identifies a request by its operation and the bytes of its body (GW-10).
#[must_use]
pub fn request_hash(operation: &str, body: &[u8]) -> [u8; 32] {
    secrets::sha256_parts(&[operation.as_bytes(), &[0], body])
}

/// Looks up a key, and claims it if it is free.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn claim_key(
    connection: &Connection,
    claim_request: &ClaimRequest<'_>,
    terms: &KeyRetention,
    now: Moment,
) -> Result<ClaimOutcome, StoreError> {
    let ClaimRequest { client, member, key, request, fence } = *claim_request;
    let claim = KeyClaim { key_hash: secrets::encode_hex(&secrets::sha256(key)), fence };
    expire_keys(connection, terms, now, MAX_EXPIRED_PER_CLAIM)?;
    if let Some(row) = find_row(connection, client, member, &claim.key_hash)? {
        if now >= row.expires_at(terms) {
            delete_row(connection, client, member, &claim.key_hash)?;
        } else if row.request != request {
            return Ok(ClaimOutcome::Reused);
        } else {
            return Ok(row.response.map_or(ClaimOutcome::InProgress, ClaimOutcome::Answered));
        }
    }
    if let Err(wait) = budget::check_room(connection, client, member, terms, now)? {
        return Ok(ClaimOutcome::BudgetExhausted(wait));
    }
    let reserve = to_i64(terms.reserved_bytes);
    let sql = "INSERT INTO idempotency \
               (client, member, key_hash, request_hash, fence, lease_until, size, created_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params![
        client,
        member,
        claim.key_hash,
        request,
        fence,
        now.plus(terms.lease).as_millis(),
        reserve,
        now.as_millis()
    ])?;
    budget::add_bytes(connection, client, member, reserve)?;
    Ok(ClaimOutcome::Claimed(claim))
}

/// Stores the response to a write, in the transaction of the write.
///
/// Returns [`Completion::NotStored`] if the caller has no claim, as for a batch that the member confirmed on
/// a web page.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn complete_claim(
    connection: &Connection,
    caller: &Caller,
    response: &EncodedResponse,
    now: Moment,
) -> Result<Completion, StoreError> {
    let Some(claim) = &caller.claim else { return Ok(Completion::NotStored) };
    let Some(reserved) = reserved_size(connection, caller, claim)? else { return Ok(Completion::Lost) };
    let headers = encode_headers(&response.headers);
    let size = LimitsConfig::ANSWER_OVERHEAD_BYTES + headers.len() as u64 + response.body.len() as u64;
    if !is_stored(response) || to_i64(size) > reserved {
        delete_row(connection, &caller.client, &caller.member, &claim.key_hash)?;
        return Ok(Completion::NotStored);
    }
    let sql = "UPDATE idempotency SET status = ?4, headers = ?5, body = ?6, size = ?7, created_at = ?8 \
               WHERE client = ?1 AND member = ?2 AND key_hash = ?3";
    connection.prepare_cached(sql)?.execute(params![
        caller.client,
        caller.member,
        claim.key_hash,
        response.status.as_u16(),
        headers,
        &response.body[..],
        to_i64(size),
        now.as_millis()
    ])?;
    budget::add_bytes(connection, &caller.client, &caller.member, to_i64(size) - reserved)?;
    Ok(Completion::Stored)
}

/// Deletes at most `limit` expired claims and stored responses. Returns the number of deleted ones.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn expire_keys(
    connection: &Connection,
    terms: &KeyRetention,
    now: Moment,
    limit: usize,
) -> Result<usize, StoreError> {
    let sql = "SELECT client, member, key_hash FROM idempotency WHERE status IS NULL AND lease_until <= ?1 \
               UNION ALL \
               SELECT client, member, key_hash FROM idempotency WHERE status IS NOT NULL AND created_at <= ?2 \
               LIMIT ?3";
    let terms = params![now.as_millis(), now.minus(terms.window).as_millis(), sql_limit(limit)];
    let over: Vec<(ClientId, MemberId, String)> = connection
        .prepare_cached(sql)?
        .query_map(terms, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (client, member, key_hash) in &over {
        delete_row(connection, client, member, key_hash)?;
    }
    Ok(over.len())
}

/// The number of expired keys that a claim deletes. It exceeds the one row that a claim adds, so that expired
/// rows cannot accumulate.
const MAX_EXPIRED_PER_CLAIM: usize = 8;

struct KeyRow {
    request: [u8; 32],
    lease_until: Moment,
    created_at: Moment,
    response: Option<EncodedResponse>,
}

impl KeyRow {
    /// Returns the time from which the key is free: the end of the lease or, with a response, of the storage
    /// window.
    fn expires_at(&self, terms: &KeyRetention) -> Moment {
        if self.response.is_some() { self.created_at.plus(terms.window) } else { self.lease_until }
    }
}

fn find_row(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    key_hash: &str,
) -> Result<Option<KeyRow>, StoreError> {
    let sql = "SELECT request_hash, lease_until, created_at, status, headers, body FROM idempotency \
               WHERE client = ?1 AND member = ?2 AND key_hash = ?3";
    let mut rows = connection.prepare_cached(sql)?;
    let mut rows = rows.query(params![client, member, key_hash])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let response = match row.get::<_, Option<u16>>(3)? {
        Some(status) => Some(parse_response(status, &row.get::<_, String>(4)?, row.get(5)?)?),
        None => None,
    };
    Ok(Some(KeyRow {
        request: to_hash(&row.get::<_, Vec<u8>>(0)?),
        lease_until: Moment::from_millis(row.get(1)?),
        created_at: Moment::from_millis(row.get(2)?),
        response,
    }))
}

/// Returns the number of bytes that a claim has reserved. Returns `None` if the claim is lost or completed.
fn reserved_size(
    connection: &Connection,
    caller: &Caller,
    claim: &KeyClaim,
) -> Result<Option<i64>, StoreError> {
    let sql = "SELECT size FROM idempotency \
               WHERE client = ?1 AND member = ?2 AND key_hash = ?3 AND fence = ?4 AND status IS NULL";
    Ok(connection
        .prepare_cached(sql)?
        .query_row(params![caller.client, caller.member, claim.key_hash, claim.fence], |row| row.get(0))
        .optional()?)
}

fn delete_row(
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
        Some(size) => budget::add_bytes(connection, client, member, -size),
        None => Ok(()),
    }
}

fn to_i64(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn to_hash(slice: &[u8]) -> [u8; 32] {
    slice.try_into().unwrap_or_default()
}
