//! Cursors: a reader's position in text that only this store can have made.
//!
//! Base64url of: version, form, moment of issue, the position or its hash, MAC. The MAC also covers
//! what takes no room: the resource, the member and the store's epoch. So a cursor of another member,
//! of another resource or of a former life of the store is none (FED-08).
//!
//! A position that does not fit into 128 characters stays here, under its hash (`cursor_vector`).

use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dpop_bound::Random;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::stream::Tag;
use crate::ids::MemberId;
use crate::secrets;
use crate::store::epoch::{self, Epoch};
use crate::store::{StoreError, own_key};
use crate::time::Moment;

/// How long a cursor holds (FED-08, LIM-13).
pub const LIFE: Duration = Duration::from_secs(90 * 86_400);

/// How many bytes 128 characters hold.
const ROOM: usize = 96;
const VERSION: u8 = 1;
const INLINE: u8 = 0;
const KEPT: u8 = 1;
/// Version, form, moment.
const HEAD: usize = 1 + 1 + 6;
const MAC: usize = 16;
/// Where the key stands in `secret`.
const KEY: &str = "cursor";

/// For whom and for what a cursor is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'a> {
    pub(super) resource: &'static str,
    pub(super) member: &'a MemberId,
}

/// A position in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) tag: Tag,
    /// As what its entries were shown, for collections that show them in several ways.
    pub(super) variant: u8,
    /// Whether the stream is still being delivered from its beginning.
    pub(super) joining: bool,
    pub(super) seq: u64,
}

/// A position in all streams of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) positions: Vec<Position>,
    /// Behind which entry the snapshot goes on; none in a feed.
    pub(super) place: Option<String>,
}

/// What is kept here for a cursor without room for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub(super) hash: [u8; 16],
    pub(super) vector: Vec<u8>,
}

/// A cursor that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Inline(Vector),
    Kept([u8; 16]),
}

/// What cursors of this store are sealed with.
pub(super) struct Seal {
    key: hmac::Key,
    epoch: Epoch,
}

/// Makes the key, where the store has none.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub(super) fn settle_key(connection: &Connection, random: &dyn Random) -> Result<(), StoreError> {
    own_key(connection, random, KEY).map(drop)
}

impl Seal {
    /// The store's.
    pub(super) fn read(connection: &Connection) -> Result<Self, StoreError> {
        let sql = "SELECT value FROM secret WHERE name = ?1";
        let key: Option<Vec<u8>> =
            connection.prepare_cached(sql)?.query_row([KEY], |row| row.get(0)).optional()?;
        let key = key.ok_or(StoreError::Corrupt("no key for cursors: the store was not prepared"))?;
        let epoch = epoch::find(connection)?;
        let epoch = epoch.ok_or(StoreError::Corrupt("no epoch: the store was not prepared"))?;
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, &key), epoch })
    }

    /// Issues a cursor, and says what has to be kept for it.
    pub(super) fn issue(&self, holder: Holder<'_>, at: Moment, vector: &Vector) -> (String, Option<Kept>) {
        let written = vector.write();
        let mut bytes = Vec::with_capacity(ROOM);
        let fits = HEAD + written.len() + MAC <= ROOM;
        bytes.extend([VERSION, if fits { INLINE } else { KEPT }]);
        let at = u64::try_from(at.millis()).unwrap_or(0).to_be_bytes();
        bytes.extend(at.iter().skip(2));
        let kept = if fits {
            bytes.extend(&written);
            None
        } else {
            let hash = secrets::head(&secrets::hash(&written));
            bytes.extend(hash);
            Some(Kept { hash, vector: written })
        };
        let mac = self.mac(holder, &bytes);
        bytes.extend(mac);
        (URL_SAFE_NO_PAD.encode(bytes), kept)
    }

    /// Opens a cursor; none when it was not issued here, to this holder, in this epoch and within 90 days.
    pub(super) fn open(&self, holder: Holder<'_>, text: &str, now: Moment) -> Option<Opened> {
        // Nothing longer was issued: it costs nothing either.
        let bytes = Some(text).filter(|text| text.len() <= 128)?;
        let bytes = URL_SAFE_NO_PAD.decode(bytes).ok()?;
        let (signed, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC)?)?;
        if !secrets::same(&self.mac(holder, signed), mac) {
            return None;
        }
        let (head, body) = signed.split_at_checked(HEAD)?;
        let [version, form, at @ ..] = head else { return None };
        let at = at.iter().fold(0_i64, |at, byte| (at << 8) | i64::from(*byte));
        if *version != VERSION || now.since(Moment::from_millis(at)) > LIFE {
            return None;
        }
        match *form {
            INLINE => Vector::read(body).map(Opened::Inline),
            KEPT => body.try_into().ok().map(Opened::Kept),
            _ => None,
        }
    }

    fn mac(&self, holder: Holder<'_>, bytes: &[u8]) -> [u8; MAC] {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [holder.resource.as_bytes(), holder.member.as_str().as_bytes(), &self.epoch] {
            // With its length, so that no two holders give the same bytes.
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.update(bytes);
        let tag = context.sign();
        let mut mac = [0; MAC];
        mac.iter_mut().zip(tag.as_ref()).for_each(|(to, from)| *to = *from);
        mac
    }
}

const SNAPSHOT: u8 = 1;
const JOINING: u8 = 0x80;

impl Vector {
    /// Its bytes: whether it is in a snapshot, how many positions, the positions, the place.
    fn write(&self) -> Vec<u8> {
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

    /// From its bytes, all of them.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (&kind, bytes) = bytes.split_first()?;
        let (count, mut bytes) = read_number(bytes)?;
        let mut positions = Vec::new();
        for _ in 0..count {
            let (tag, rest) = bytes.split_first_chunk::<6>()?;
            let (&flags, rest) = rest.split_first()?;
            let (seq, rest) = read_number(rest)?;
            let (variant, joining) = (flags & !JOINING, flags & JOINING != 0);
            positions.push(Position { tag: *tag, variant, joining, seq });
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

/// Seven bits a byte, the lowest first.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(at + 1..)?));
        }
    }
    None
}

/// What is kept under a hash, and when it was used last.
pub(super) fn find_kept(
    connection: &Connection,
    hash: &[u8; 16],
) -> Result<Option<(Vec<u8>, Moment)>, StoreError> {
    let sql = "SELECT vector, used_at FROM cursor_vector WHERE hash = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Moment::from_millis(row.get(1)?)));
    Ok(connection.prepare_cached(sql)?.query_row(params![hash], read).optional()?)
}

/// Keeps a vector, or says that it was used now.
pub(super) fn keep(connection: &Connection, kept: &Kept, now: Moment) -> Result<(), StoreError> {
    let sql = "INSERT INTO cursor_vector (hash, vector, used_at) VALUES (?1, ?2, ?3) \
               ON CONFLICT (hash) DO UPDATE SET used_at = max(used_at, excluded.used_at)";
    connection.prepare_cached(sql)?.execute(params![kept.hash, kept.vector, now.millis()])?;
    Ok(())
}
