//! Cursors: positions of readers as authenticated strings.
//!
//! A cursor is the base64url encoding of its version, its form, the time of issue, the position or its hash,
//! and a MAC. The MAC also covers the resource, the member and the store's epoch. A cursor of another member
//! or resource, or from another history of the store, is therefore invalid (FED-08).
//!
//! A position that does not fit into 128 characters is stored in the table `cursor_vector`; the cursor then
//! contains its hash.

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dpop_bound::RandomSource;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::stream::StreamTag;
use crate::ids::MemberId;
use crate::secrets;
use crate::store::epoch::{self, StoreEpoch};
use crate::store::{StoreError, ensure_key};
use crate::time::Moment;

/// The lifetime of a cursor (FED-08, LIM-13).
pub const LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// The maximum size of a cursor in bytes, which corresponds to 128 characters of base64url.
const MAX_CURSOR_BYTES: usize = 96;
const VERSION: u8 = 1;
const INLINE: u8 = 0;
const STORED: u8 = 1;
/// The size of version, form and time of issue, in bytes.
const HEADER_BYTES: usize = 1 + 1 + 6;
const MAC_BYTES: usize = 16;
/// The name of the key in the table `secret`.
const KEY: &str = "cursor";

/// The resource and the member for which a cursor is valid.
#[derive(Clone, Copy, Debug)]
pub(super) struct CursorScope<'a> {
    pub(super) resource: &'static str,
    pub(super) member: &'a MemberId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamPosition {
    pub(super) tag: StreamTag,
    /// The variant in which the entries of the stream were delivered; less than 128.
    pub(super) variant: u8,
    /// Whether the stream is still being delivered from its start.
    pub(super) joining: bool,
    pub(super) seq: u64,
}

/// The positions in all streams of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PositionVector {
    pub(super) positions: Vec<StreamPosition>,
    /// The key after which the snapshot continues; `None` once the snapshot was read completely.
    pub(super) place: Option<String>,
}

/// A position vector that is too long for a cursor and must be stored under its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVector {
    pub(super) hash: [u8; 16],
    pub(super) vector: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenedCursor {
    Inline(PositionVector),
    Stored([u8; 16]),
}

/// The key and the epoch with which the cursors of a store are authenticated.
pub(super) struct CursorSeal {
    key: hmac::Key,
    epoch: StoreEpoch,
}

/// Creates the key for cursors if the store does not have one.
///
/// # Errors
/// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
/// database fails.
pub(super) fn ensure_cursor_key(
    connection: &Connection,
    random: &dyn RandomSource,
) -> Result<(), StoreError> {
    ensure_key(connection, random, KEY).map(drop)
}

impl CursorSeal {
    /// Loads the key and the epoch from the store.
    pub(super) fn load_seal(connection: &Connection) -> Result<Self, StoreError> {
        let sql = "SELECT value FROM secret WHERE name = ?1";
        let key: Option<Vec<u8>> =
            connection.prepare_cached(sql)?.query_row([KEY], |row| row.get(0)).optional()?;
        let key =
            key.ok_or(StoreError::Corrupt("the key for cursors is missing: the store was not prepared"))?;
        let epoch = epoch::find_epoch(connection)?;
        let epoch = epoch.ok_or(StoreError::Corrupt("the epoch is missing: the store was not prepared"))?;
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, &key), epoch })
    }

    /// Issues a cursor. Also returns the vector if it does not fit into the cursor; the caller must store it.
    pub(super) fn issue_cursor(
        &self,
        holder: CursorScope<'_>,
        time: Moment,
        vector: &PositionVector,
    ) -> (String, Option<StoredVector>) {
        let written = vector.encode();
        let mut bytes = Vec::with_capacity(MAX_CURSOR_BYTES);
        let fits = HEADER_BYTES + written.len() + MAC_BYTES <= MAX_CURSOR_BYTES;
        bytes.extend([VERSION, if fits { INLINE } else { STORED }]);
        let time = u64::try_from(time.as_millis()).unwrap_or(0).to_be_bytes();
        bytes.extend(time.iter().skip(2));
        let stored = if fits {
            bytes.extend(&written);
            None
        } else {
            let hash = secrets::hash_prefix(&secrets::sha256(&written));
            bytes.extend(hash);
            Some(StoredVector { hash, vector: written })
        };
        let mac = self.compute_mac(holder, &bytes);
        bytes.extend(mac);
        (URL_SAFE_NO_PAD.encode(bytes), stored)
    }

    /// Opens a cursor. Returns `None` unless the cursor was issued for this resource and member, in this
    /// epoch, within the last 90 days.
    pub(super) fn open_cursor(
        &self,
        holder: CursorScope<'_>,
        text: &str,
        now: Moment,
    ) -> Option<OpenedCursor> {
        // The length is checked first, so that overlong input costs nothing.
        let bytes = Some(text).filter(|text| text.len() <= 128)?;
        let bytes = URL_SAFE_NO_PAD.decode(bytes).ok()?;
        let (signed, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)?;
        if !secrets::constant_time_eq(&self.compute_mac(holder, signed), mac) {
            return None;
        }
        let (head, body) = signed.split_at_checked(HEADER_BYTES)?;
        let [version, form, at @ ..] = head else { return None };
        let at = at.iter().fold(0_i64, |at, byte| (at << 8) | i64::from(*byte));
        if *version != VERSION || now.since(Moment::from_millis(at)) > LIFETIME {
            return None;
        }
        match *form {
            INLINE => PositionVector::decode(body).map(OpenedCursor::Inline),
            STORED => body.try_into().ok().map(OpenedCursor::Stored),
            _ => None,
        }
    }

    fn compute_mac(&self, holder: CursorScope<'_>, bytes: &[u8]) -> [u8; MAC_BYTES] {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [holder.resource.as_bytes(), holder.member.as_str().as_bytes(), &self.epoch] {
            // Each part is prefixed with its length, so that different scopes have different inputs.
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.update(bytes);
        let tag = context.sign();
        let mut mac = [0; MAC_BYTES];
        mac.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        mac
    }
}

const SNAPSHOT: u8 = 1;
const JOINING: u8 = 0x80;

impl PositionVector {
    /// Encodes the vector as snapshot flag, number of positions, positions and snapshot key.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.place.is_some()) * SNAPSHOT];
        write_number(&mut bytes, self.positions.len() as u64);
        for position in &self.positions {
            bytes.extend(position.tag);
            bytes.push((position.variant & !JOINING) | if position.joining { JOINING } else { 0 });
            write_number(&mut bytes, position.seq);
        }
        bytes.extend(self.place.as_deref().unwrap_or_default().as_bytes());
        bytes
    }

    /// Decodes a vector. Returns `None` if the bytes are invalid.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, bytes) = bytes.split_first()?;
        let (count, mut bytes) = read_number(bytes)?;
        let mut positions = Vec::new();
        for _ in 0..count {
            let (tag, rest) = bytes.split_first_chunk::<6>()?;
            let (&flags, rest) = rest.split_first()?;
            let (seq, rest) = read_number(rest)?;
            let (variant, joining) = (flags & !JOINING, flags & JOINING != 0);
            positions.push(StreamPosition { tag: *tag, variant, joining, seq });
            bytes = rest;
        }
        let place = match kind {
            SNAPSHOT => Some(std::str::from_utf8(bytes).ok()?.to_owned()),
            _ if bytes.is_empty() => None,
            _ => return None,
        };
        Some(Self { positions, place })
    }
}

/// Appends a number in LEB128: seven bits per byte, lowest bits first.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(index + 1..)?));
        }
    }
    None
}

/// Finds a stored vector by its hash. Returns it with the time of its last use.
pub(super) fn find_vector(
    connection: &Connection,
    hash: &[u8; 16],
) -> Result<Option<(Vec<u8>, Moment)>, StoreError> {
    let sql = "SELECT vector, used_at FROM cursor_vector WHERE hash = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Moment::from_millis(row.get(1)?)));
    Ok(connection.prepare_cached(sql)?.query_row(params![hash], read).optional()?)
}

/// Stores a vector, or updates the time of its last use if it is already stored.
pub(super) fn store_vector(
    connection: &Connection,
    stored: &StoredVector,
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO cursor_vector (hash, vector, used_at) VALUES (?1, ?2, ?3) \
               ON CONFLICT (hash) DO UPDATE SET used_at = max(used_at, excluded.used_at)";
    connection.prepare_cached(sql)?.execute(params![stored.hash, stored.vector, now.as_millis()])?;
    Ok(())
}
