//! An entry of the outbox: a change set with its state, and its stored form.

use std::fmt;

use bytes::Bytes;
use exchange_api::client::StoredRequest;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::store::{EntryRow, NewEntryRow};
use crate::{
    changes::Lane,
    error::{Error, ErrorKind},
};

/// The number of an entry in its store. A later entry of an area always has a greater number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryNumber(pub u64);

impl fmt::Display for EntryNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of an outbox entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EntryState {
    /// The entry waits until it is sent.
    Pending,
    /// The entry is being sent, or its process ended while it was being sent.
    Sending,
    /// The change set removes more than the exchange accepts without a confirmation that the member gives in
    /// the web application (ERR-27).
    Held,
    /// The change set conflicts with a change of another writer: pull, merge, and then edit or discard it
    /// (ERR-26).
    NeedsRebase,
    /// The exchange refused the change set. It is never sent again unchanged.
    Refused,
    /// The outcome is unknown: pull the feed, compare, and report the result ([`ComparisonResult`]).
    Unknown,
    /// The entry waits for an action or event, not for a timer.
    Parked(ParkReason),
    /// The exchange decided the change set.
    Done,
}

impl EntryState {
    /// Returns true if the entry leaves this state only when the program calls a method of the outbox.
    #[must_use]
    pub const fn needs_intervention(self) -> bool {
        !matches!(self, Self::Pending | Self::Sending | Self::Done)
    }
}

/// The reason an entry is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ParkReason {
    /// No member is signed in, or the connection ended.
    SignedOut,
    /// The client must not send until the member has acted (CLI-04).
    Halted,
    /// The connection lacks the capability for this area.
    Scope,
    /// The exchange has stored the key for a different write (ERR-33). This is a bug of the program. Only an
    /// explicit [`Outbox::retry`](super::Outbox::retry) assigns a new key.
    KeyReused,
    /// A local problem of the clock, the credential store or the program.
    Fault,
}

/// The result of comparing an entry with the feed after a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonResult {
    /// The feed shows the requested change.
    Applied,
    /// The feed does not show the requested change.
    Missing,
}

/// An entry that this program cannot parse, because it is corrupt or a newer version of the program wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadableEntry {
    /// The number of the entry.
    pub number: EntryNumber,
    /// The area of the entry.
    pub lane: Lane,
    /// True if the change set is decided. An undecided unreadable entry blocks its area.
    pub done: bool,
}

/// A change set in the outbox. `Debug` prints neither its key nor its content.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct OutboxEntry {
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
    pub(super) state: EntryState,
    /// True if an earlier request may have been applied.
    pub(super) uncertain: bool,
    /// True if the exchange holds the change set and the member may still confirm it, whatever `state` is.
    #[serde(default)]
    pub(super) held: bool,
    /// The number of consecutive requests without a decision.
    pub(super) failures: u32,
    /// The number of requests among `failures` whose outcome is unknown.
    pub(super) unknowns: u32,
    pub(super) created_at: u64,
    pub(super) decided_at: Option<u64>,
    /// The time when the first request with an unknown outcome was sent, by the gateway's clock if that is
    /// known.
    pub(super) sent_at: Option<u64>,
    /// The time when the last request was sent.
    pub(super) last_sent_at: Option<u64>,
    /// The start of the current wait, by the same clock as its end.
    pub(super) waits_since: Option<u64>,
    pub(super) not_before: Option<u64>,
    /// The end of the exchange's `Retry-After` time, which no call of the program shortens (CLI-02).
    pub(super) asked_until: Option<u64>,
    pub(super) lease: Option<SendLease>,
    /// The error code of the last error response.
    pub(super) code: Option<String>,
    pub(super) replayed: bool,
}

/// The process that sends an entry, and the time until which that process is considered alive.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SendLease {
    pub(super) holder: String,
    pub(super) until: u64,
}

const fn no_lane() -> Lane {
    Lane::Blueprints
}

impl OutboxEntry {
    /// Creates an entry. `now` is in milliseconds since 1970.
    pub(super) fn new(
        owner: &str,
        lane: Lane,
        stored: &StoredRequest,
        ops: usize,
        now: u64,
    ) -> Result<Self, Error> {
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
            state: EntryState::Pending,
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
        entry.set_request(stored, ops)?;
        Ok(entry)
    }

    /// Replaces the request and its key.
    pub(super) fn set_request(&mut self, stored: &StoredRequest, ops: usize) -> Result<(), Error> {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            Ok((name.to_string(), value.to_str().map_err(|_| unreadable_entry())?.to_owned()))
        };
        self.headers = stored.headers.iter().map(header).collect::<Result<_, Error>>()?;
        self.path_and_query.clone_from(&stored.path_and_query);
        self.body = stored.body.clone();
        self.ops = ops;
        Ok(())
    }

    /// Replaces the idempotency key but keeps the content, so that the exchange treats the request as a new
    /// write.
    pub(super) fn replace_key(&mut self, key: &str) {
        for (name, value) in &mut self.headers {
            if name == "idempotency-key" {
                key.clone_into(value);
            }
        }
    }

    /// Returns the request with the exact bytes of the first transmission.
    pub(super) fn stored_request(&self) -> Result<StoredRequest, Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name).map_err(|_| unreadable_entry())?;
            headers.append(name, HeaderValue::try_from(value).map_err(|_| unreadable_entry())?);
        }
        Ok(StoredRequest {
            operation: self.lane.operation().operation().id.to_owned(),
            path_and_query: self.path_and_query.clone(),
            address: None,
            headers,
            body: self.body.clone(),
        })
    }

    /// Converts the entry to its stored form.
    pub(super) fn to_row(&self) -> Result<EntryRow, Error> {
        Ok(EntryRow {
            number: self.number,
            revision: self.revision,
            owner: self.owner.clone(),
            lane: self.lane,
            done: self.state == EntryState::Done,
            head: serde_json::to_string(self).map_err(|_| unreadable_entry())?,
            body: self.body.clone(),
            result: self.result.clone(),
        })
    }

    pub(super) fn new_row(&self) -> Result<NewEntryRow, Error> {
        let EntryRow { owner, lane, head, body, .. } = self.to_row()?;
        Ok(NewEntryRow { owner, lane, head, body })
    }

    /// Parses an entry from its stored form.
    pub(super) fn from_row(row: EntryRow) -> Result<Self, Error> {
        let entry: Self = serde_json::from_str(&row.head).map_err(|_| unreadable_entry())?;
        let EntryRow { number, revision, owner, lane, body, result, .. } = row;
        Ok(Self { number, revision, owner, lane, body, result, ..entry })
    }

    /// Returns the number of the entry in its store.
    #[must_use]
    pub const fn number(&self) -> EntryNumber {
        EntryNumber(self.number)
    }

    /// Returns the area that the change set changes.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// Returns the state of the entry.
    #[must_use]
    pub const fn state(&self) -> EntryState {
        self.state
    }

    /// Returns the number of ops in the change set.
    #[must_use]
    pub const fn ops(&self) -> usize {
        self.ops
    }

    /// Returns the time when the entry was enqueued, in milliseconds since 1970 by this machine's clock.
    #[must_use]
    pub const fn created_at(&self) -> u64 {
        self.created_at
    }

    /// Returns the time of the decision, in milliseconds since 1970 by this machine's clock; `None` while
    /// undecided.
    #[must_use]
    pub const fn decided_at(&self) -> Option<u64> {
        self.decided_at
    }

    /// Returns true if the exchange may have applied the change set. Such an entry cannot be edited or sent
    /// under a new key before it has been compared with the feed.
    #[must_use]
    pub const fn may_be_applied(&self) -> bool {
        self.uncertain || matches!(self.state, EntryState::Sending)
    }

    /// Returns the number of consecutive requests without a decision.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the error code of the last error response.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Returns true if the response repeated an earlier one (`Idempotency-Replayed`).
    #[must_use]
    pub const fn was_replayed(&self) -> bool {
        self.replayed
    }
}

/// Does not print the content, the key and the process that sends the entry.
impl fmt::Debug for OutboxEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutboxEntry")
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

/// Returns the time of the decision from the stored head, even if the rest of the head is from a version that
/// this program cannot parse.
pub(super) fn parse_decided_at(head: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct DecidedFields {
        decided_at: Option<u64>,
    }
    serde_json::from_str::<DecidedFields>(head).ok()?.decided_at
}

pub(super) fn unreadable_entry() -> Error {
    Error::new(ErrorKind::Storage, "corrupt outbox entry: cannot be parsed")
}
