//! One change set of the outbox, as it is kept.

use std::fmt;

use bytes::Bytes;
use exchange_api::client::Stored;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::store::{NewRow, Row};
use crate::{
    changes::Lane,
    error::{Error, ErrorKind},
};

/// Names an entry in its store; a later one of an area has a greater number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryNumber(pub u64);

impl fmt::Display for EntryNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum State {
    /// It waits for its turn.
    Pending,
    /// It is on its way, or was when its process ended.
    Sending,
    /// It removes so much that the member has to confirm it on the web (ERR-27).
    Held,
    /// It met a change of somebody else's: pull, merge, and edit or discard it (ERR-26).
    NeedsRebase,
    /// The exchange does not take it; it is never sent again unchanged.
    Refused,
    /// Nobody can tell what became of it: pull the feed, compare, and say so ([`Found`]).
    Unknown,
    /// It waits for something else than time.
    Parked(Why),
    /// It is decided.
    Done,
}

impl State {
    /// Whether nothing moves it but somebody's word.
    #[must_use]
    pub const fn is_wedged(self) -> bool {
        !matches!(self, Self::Pending | Self::Sending | Self::Done)
    }
}

/// Why an entry is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// Nobody is signed in, or the connection is over.
    SignedOut,
    /// The client has to stop until the member did something (CLI-04).
    Halted,
    /// The connection has not this capability.
    Scope,
    /// The exchange knows the key for another write (ERR-33). Something is wrong with this program: only
    /// somebody's word brings it a new key.
    KeyReused,
    /// Something is wrong on this side: the clock, the secret store, the program.
    Fault,
}

/// What the feed shows of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    /// What it asked for is there.
    Applied,
    /// It is not there.
    Missing,
}

/// An entry that this program cannot read: it is damaged, or a newer version of the program kept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// Its number.
    pub number: EntryNumber,
    /// Its area.
    pub lane: Lane,
    /// Whether it is decided. One that is not holds up its area.
    pub done: bool,
}

/// A change set that is on its way. Prints neither its key nor what it says.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(skip)]
    pub(super) number: u64,
    #[serde(skip)]
    pub(super) revision: u64,
    #[serde(skip)]
    pub(super) owner: String,
    #[serde(skip, default = "no_lane")]
    pub(super) lane: Lane,
    #[serde(skip)]
    pub(super) body: Bytes,
    #[serde(skip)]
    pub(super) result: Option<Bytes>,
    pub(super) path_and_query: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) ops: usize,
    pub(super) state: State,
    /// An earlier sending may have been carried out.
    pub(super) uncertain: bool,
    /// The exchange holds it, and the member may confirm it, wherever it stands here.
    #[serde(default)]
    pub(super) held: bool,
    /// Sendings in a row that brought no decision.
    pub(super) failures: u32,
    /// Those among them after which nobody could tell.
    pub(super) unknowns: u32,
    pub(super) created_at: u64,
    pub(super) decided_at: Option<u64>,
    /// Since when its outcome may be uncertain, by the gateway's clock where that is known.
    pub(super) sent_at: Option<u64>,
    /// When it was sent last.
    pub(super) last_sent_at: Option<u64>,
    /// Since when it waits, by the clock that the ends of its waits are of.
    pub(super) waits_since: Option<u64>,
    pub(super) not_before: Option<u64>,
    /// Until when the exchange asked to wait: never earlier, whoever asks (CLI-02).
    pub(super) asked_until: Option<u64>,
    pub(super) lease: Option<Lease>,
    /// What the exchange called it last.
    pub(super) code: Option<String>,
    pub(super) replayed: bool,
}

/// Who is sending it, and until when that is believed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Lease {
    pub(super) holder: String,
    pub(super) until: u64,
}

const fn no_lane() -> Lane {
    Lane::Blueprints
}

impl Entry {
    /// A new one; times are milliseconds since 1970.
    pub(super) fn new(owner: &str, lane: Lane, stored: &Stored, ops: usize, now: u64) -> Result<Self, Error> {
        let mut entry = Self {
            number: 0,
            revision: 0,
            owner: owner.to_owned(),
            lane,
            body: Bytes::new(),
            result: None,
            path_and_query: String::new(),
            headers: Vec::new(),
            ops,
            state: State::Pending,
            uncertain: false,
            held: false,
            failures: 0,
            unknowns: 0,
            created_at: now,
            decided_at: None,
            sent_at: None,
            last_sent_at: None,
            waits_since: None,
            not_before: None,
            asked_until: None,
            lease: None,
            code: None,
            replayed: false,
        };
        entry.say(stored, ops)?;
        Ok(entry)
    }

    /// Says something else, under another key.
    pub(super) fn say(&mut self, stored: &Stored, ops: usize) -> Result<(), Error> {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            Ok((name.to_string(), value.to_str().map_err(|_| damaged())?.to_owned()))
        };
        self.headers = stored.headers.iter().map(header).collect::<Result<_, Error>>()?;
        self.path_and_query.clone_from(&stored.path_and_query);
        self.body = stored.body.clone();
        self.ops = ops;
        Ok(())
    }

    /// Keeps what it says under another key: a new write.
    pub(super) fn rekey(&mut self, key: &str) {
        for (name, value) in &mut self.headers {
            if name == "idempotency-key" {
                key.clone_into(value);
            }
        }
    }

    /// What is sent, byte for byte as it was first.
    pub(super) fn stored(&self) -> Result<Stored, Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name).map_err(|_| damaged())?;
            headers.append(name, HeaderValue::try_from(value).map_err(|_| damaged())?);
        }
        Ok(Stored {
            operation: self.lane.operation().operation().id.to_owned(),
            path_and_query: self.path_and_query.clone(),
            address: None,
            headers,
            body: self.body.clone(),
        })
    }

    /// As a store keeps it.
    pub(super) fn row(&self) -> Result<Row, Error> {
        Ok(Row {
            number: self.number,
            revision: self.revision,
            owner: self.owner.clone(),
            lane: self.lane,
            done: self.state == State::Done,
            head: serde_json::to_string(self).map_err(|_| damaged())?,
            body: self.body.clone(),
            result: self.result.clone(),
        })
    }

    pub(super) fn new_row(&self) -> Result<NewRow, Error> {
        let Row { owner, lane, head, body, .. } = self.row()?;
        Ok(NewRow { owner, lane, head, body })
    }

    /// From what a store kept.
    pub(super) fn of(row: Row) -> Result<Self, Error> {
        let entry: Self = serde_json::from_str(&row.head).map_err(|_| damaged())?;
        let Row { number, revision, owner, lane, body, result, .. } = row;
        Ok(Self { number, revision, owner, lane, body, result, ..entry })
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> EntryNumber {
        EntryNumber(self.number)
    }

    /// Its area.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// How many ops it has.
    #[must_use]
    pub const fn ops(&self) -> usize {
        self.ops
    }

    /// When it was enqueued, in milliseconds since 1970 of this machine's clock.
    #[must_use]
    pub const fn created_at(&self) -> u64 {
        self.created_at
    }

    /// When it was decided, by the same clock; nothing before.
    #[must_use]
    pub const fn decided_at(&self) -> Option<u64> {
        self.decided_at
    }

    /// Whether the exchange may have carried it out: it is not edited then, and a new key is no way out
    /// before somebody has compared.
    #[must_use]
    pub const fn may_be_applied(&self) -> bool {
        self.uncertain || matches!(self.state, State::Sending)
    }

    /// How often in a row it was sent without a decision.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// What the exchange called the last refusal.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Whether its answer was that of an earlier sending, given again (`Idempotency-Replayed`).
    #[must_use]
    pub const fn was_replayed(&self) -> bool {
        self.replayed
    }
}

/// Without what it says, its key, and who sends it.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("number", &self.number)
            .field("lane", &self.lane)
            .field("state", &self.state)
            .field("ops", &self.ops)
            .field("uncertain", &self.uncertain)
            .field("failures", &self.failures)
            .field("code", &self.code)
            .finish_non_exhaustive()
    }
}

/// When an entry was decided, as far as that can be told, whatever version of this program kept it.
pub(super) fn decided_at(head: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Decided {
        decided_at: Option<u64>,
    }
    serde_json::from_str::<Decided>(head).ok()?.decided_at
}

pub(super) fn damaged() -> Error {
    Error::new(ErrorKind::Storage, "an entry of the outbox cannot be read")
}
