//! The public operations of an outbox: enqueue, inspect, edit, retry, resolve and discard.

use std::sync::Arc;

use dpop_bound::UnixTime;
use exchange_api::types::ConfirmationUrl;

use super::{
    OutboxPolicy,
    entry::{ComparisonResult, EntryNumber, EntryState, OutboxEntry, ParkReason, UnreadableEntry},
    event::{OutboxEvent, WriteOutcome},
    sender::{Outbox, forget_expired},
    state_machine::{KeyUse, to_millis},
    store::{EntryRow, OutboxStore},
};
use crate::{
    changes::{ChangeBatch, ChangeOp, ChangeSetOutcome, Changes, WriteResponse},
    connection::Connection,
    error::{Error, ErrorKind},
    exchange::Exchange,
    session::LocalData,
    token_source::BoxFuture,
    transport::RetryPolicy,
};

/// The maximum number of attempts to change an entry that other processes change at the same time.
const MAX_ATTEMPTS: usize = 16;

/// The contents of an outbox.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutboxContents {
    /// The entries that could be parsed, including decided ones, in the order of their numbers.
    pub entries: Vec<OutboxEntry>,
    /// The entries that could not be parsed, in the order of their numbers. Show them to the member, who can
    /// discard them ([`Outbox::discard`]) or send them with the version that wrote them.
    pub unreadable: Vec<UnreadableEntry>,
}

/// Removes decided change sets of org stock whose retention period has expired (OST-14), whether or not the
/// program has read them, and returns their numbers.
///
/// An [`Outbox`] does this itself while it sends. A program that opens its store only to inspect it calls
/// this function at its start and then every hour.
///
/// # Errors
/// Returns `Storage` if the store fails. The program then calls the function again later.
pub async fn expire_decided(
    store: &dyn OutboxStore,
    owner: &str,
    now: UnixTime,
    policy: &OutboxPolicy,
) -> Result<Vec<EntryNumber>, Error> {
    let forgotten = forget_expired(store, owner, to_millis(now.since_epoch()), policy).await?;
    if !forgotten.is_empty() {
        store.purge_removed().await?;
    }
    Ok(forgotten)
}

impl Exchange {
    /// Creates an outbox for the changes of this installation, with the default [`OutboxPolicy`]. The store
    /// may also hold entries of other installations.
    ///
    /// Nothing is sent before [`Outbox::run`] or [`Outbox::flush`] is called. Use
    /// [`ReplicaSync::follow_outbox`](crate::sync::ReplicaSync::follow_outbox) to read the sent changes back
    /// from the feed. To delete the remaining entries when the member disconnects, call
    /// [`session.register_local_data(outbox.clone())`](crate::Session::register_local_data).
    ///
    /// The outbox sends only for this installation, even if another member signs in later. A change set is
    /// signed only with a token of a connection for which [`Exchange::connection`] recorded this
    /// installation. Under another member's connection it is parked as [`ParkReason::SignedOut`]. While the
    /// installation of a new connection is unknown, change sets are not sent. The age of a key is measured by
    /// the exchange's clock, so changes of the local clock do not extend it.
    ///
    /// # Errors
    /// Returns `Busy` if the exchange has not returned an installation id yet (SVC-03): read the connection
    /// again. Returns `Bug` if the random number generator fails.
    pub fn outbox(
        &self,
        store: impl OutboxStore + 'static,
        connection: &Connection,
    ) -> Result<Outbox, Error> {
        let (max_ops, writes_per_day) = (connection.max_ops(), connection.writes_per_day());
        let policy = OutboxPolicy { max_ops, writes_per_day, ..OutboxPolicy::default() };
        self.outbox_with_policy(store, connection, policy)
    }

    /// Creates an outbox with a custom policy; see [`Exchange::outbox`].
    ///
    /// # Errors
    /// Returns the errors of [`Exchange::outbox`].
    pub fn outbox_with_policy(
        &self,
        store: impl OutboxStore + 'static,
        connection: &Connection,
        policy: OutboxPolicy,
    ) -> Result<Outbox, Error> {
        let Some(owner) = connection.installation_id() else {
            return Err(Error::new(
                ErrorKind::Busy,
                "the exchange cannot identify this installation at the moment",
            ));
        };
        Outbox::with_exchange(
            self.api().api_client(),
            store,
            self.environment().clone(),
            owner.as_str(),
            policy,
            Some(self.clone()),
        )
    }
}

impl Outbox {
    /// Stores changes that are to be sent, in as many change sets as needed, and returns the numbers of their
    /// entries. From then on, the changes survive the end of the program, which sends them after its next
    /// start.
    ///
    /// Changes of org stock are split so that each change set fits the daily quota
    /// ([`OutboxPolicy::writes_per_day`]).
    ///
    /// # Errors
    /// Returns the errors of [`Changes::into_batches`], with `TooLarge` also if tied ops on org stock exceed
    /// the number of writes per day. Returns `Storage` if the store fails. Nothing was stored then, unless
    /// the store could not determine whether it stored the changes.
    pub async fn enqueue<O: ChangeOp>(&self, changes: Changes<O>) -> Result<Vec<EntryNumber>, Error> {
        let inner = &self.0;
        let batches = cut_batches(
            changes,
            inner.current_max_ops(inner.policy.default_max_ops(O::LANE)),
            &inner.policy,
        )?;
        let now = inner.wall_millis();
        let row = |batch: ChangeBatch<O>| {
            let stored = batch.to_stored_request(&inner.core, &inner.generate_key()?)?;
            OutboxEntry::new(&inner.owner, O::LANE, &stored, batch.ops().len(), now)?.new_row()
        };
        let rows = batches.into_iter().map(row).collect::<Result<_, _>>()?;
        let numbers = inner.store.append(rows).await?;
        inner.wake_lane(O::LANE);
        Ok(numbers.into_iter().map(EntryNumber).collect())
    }

    /// Returns the outcomes that these changes would have now, one for each change set. Nothing is written or
    /// stored. Each change set counts as a write of the daily quota.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::into_batches`], and the errors that every call can return.
    pub async fn preview_changes<O: ChangeOp>(
        &self,
        changes: Changes<O>,
    ) -> Result<Vec<ChangeSetOutcome<O>>, Error> {
        let mut outcomes = Vec::new();
        for batch in changes.into_batches(self.0.current_max_ops(self.0.policy.max_ops))? {
            let batch = batch.as_dry_run();
            let stored = batch.to_stored_request(&self.0.core, &self.0.generate_key()?)?;
            let mut call =
                self.0.core.send_stored::<O::Call>(&stored).with_extension(RetryPolicy::INTERACTIVE);
            if let Some(terms) = self.0.conditions(None) {
                call = call.with_extension(terms);
            }
            let response = WriteResponse::from_call(call.await)?;
            let mut outcome = batch.into_outcome(response.result);
            // The exchange writes nothing for this request, even if its result does not state this.
            outcome.dry_run = true;
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Returns all entries, including decided ones, in the order of their numbers.
    ///
    /// # Errors
    /// Returns `Storage` if the store fails, or if an entry cannot be parsed. [`contents`](Self::contents)
    /// then returns the other entries.
    pub async fn entries(&self) -> Result<Vec<OutboxEntry>, Error> {
        let rows = self.0.store.list_rows(&self.0.owner).await?;
        rows.into_iter().map(OutboxEntry::from_row).collect()
    }

    /// Returns all entries, and separately the entries that cannot be parsed.
    ///
    /// # Errors
    /// Returns `Storage` if the store fails.
    pub async fn contents(&self) -> Result<OutboxContents, Error> {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for row in self.0.store.list_rows(&self.0.owner).await? {
            let (number, lane, done) = (EntryNumber(row.number), row.lane, row.done);
            match OutboxEntry::from_row(row) {
                Ok(entry) => entries.push(entry),
                Err(_) => unreadable.push(UnreadableEntry { number, lane, done }),
            }
        }
        Ok(OutboxContents { entries, unreadable })
    }

    /// Returns the entry with this number.
    ///
    /// # Errors
    /// Returns `Invalid` if there is no such entry, and `Storage` if it cannot be read or parsed.
    pub async fn entry(&self, number: EntryNumber) -> Result<OutboxEntry, Error> {
        OutboxEntry::from_row(self.load_row(number).await?)
    }

    async fn load_row(&self, number: EntryNumber) -> Result<EntryRow, Error> {
        let row = self.0.store.get_row(number.0).await?.filter(|row| row.owner == self.0.owner);
        row.ok_or_else(|| Error::new(ErrorKind::Invalid, "the outbox has no entry with this number"))
    }

    /// Returns the changes of an entry, so that they can be shown, merged or edited. `O` is the op type of
    /// the entry's area.
    ///
    /// # Errors
    /// Returns the errors of [`Outbox::entry`], and `Invalid` for an entry of another area.
    pub async fn load_changes<O: ChangeOp>(&self, number: EntryNumber) -> Result<Changes<O>, Error> {
        let entry = self.entry(number).await?;
        check_lane::<O>(&entry)?;
        Ok(ChangeBatch::<O>::from_body(&entry.body)?.into_changes())
    }

    /// Returns the outcome of a decided entry; `None` if it is undecided or was decided by a feed comparison.
    ///
    /// # Errors
    /// Returns the errors of [`Outbox::entry`].
    pub async fn load_outcome(&self, number: EntryNumber) -> Result<Option<WriteOutcome>, Error> {
        WriteOutcome::from_entry(&self.entry(number).await?)
    }

    /// Replaces the changes of an entry with merged ones after a conflict, or with corrected ones after a
    /// rejection. They are sent as a new write under a new key.
    ///
    /// # Errors
    /// Returns `Invalid` for an entry that may have been applied, or that the member may still confirm.
    /// Returns `TooLarge` if the changes need more than one change set, or more writes than a day permits
    /// ([`OutboxPolicy::writes_per_day`]). Also returns the errors of [`Outbox::entry`].
    pub async fn replace_changes<O: ChangeOp>(
        &self,
        number: EntryNumber,
        changes: Changes<O>,
    ) -> Result<(), Error> {
        let mut batches = changes.into_batches(self.0.policy.max_ops)?;
        let (Some(batch), true) = (batches.pop(), batches.is_empty()) else {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "the changes do not fit into one change set, and an outbox entry holds only one",
            ));
        };
        if let Some(error) = self.0.policy.quota_error(O::LANE, batch.ops().len()) {
            return Err(error);
        }
        let stored = batch.to_stored_request(&self.0.core, &self.0.generate_key()?)?;
        self.update_entry(number, |entry| {
            check_lane::<O>(entry)?;
            entry.check_editable()?;
            entry.reset_as_new_write();
            entry.set_request(&stored, batch.ops().len())
        })
        .await
    }

    /// Makes the outbox send an entry again.
    ///
    /// A waiting entry is sent immediately, or after the exchange's `Retry-After` time (CLI-02). An entry
    /// keeps its key if its outcome is unknown, or if it is held or parked. A refused entry that is known not
    /// to be applied gets a new key.
    ///
    /// # Errors
    /// Returns `Invalid` for a decided entry, `Busy` for an entry that is being sent, and the errors of
    /// [`Outbox::entry`].
    pub async fn retry(&self, number: EntryNumber) -> Result<(), Error> {
        let key = self.0.generate_key()?;
        self.update_entry(number, |entry| {
            if entry.prepare_retry()? == KeyUse::New {
                entry.replace_key(&key);
            }
            Ok(())
        })
        .await
    }

    /// Retries all parked entries, except those with [`ParkReason::KeyReused`], and returns their number.
    /// Call this after the same member signed in again, or after another action of the member. Entries of an
    /// [`Exchange::outbox`] are parked again if another member is signed in.
    ///
    /// # Errors
    /// Returns `Storage` if the store fails.
    pub async fn resume_parked(&self) -> Result<usize, Error> {
        let mut resumed = 0;
        for entry in self.contents().await?.entries {
            let parked = matches!(entry.state, EntryState::Parked(why) if why != ParkReason::KeyReused);
            if parked && self.retry(entry.number()).await.is_ok() {
                resumed += 1;
            }
        }
        Ok(resumed)
    }

    /// Requests a new confirmation link for a held entry by sending the entry again under its key. Returns
    /// `None` if the entry is no longer held.
    ///
    /// Call this only when the member requests it, because each new link invalidates the previous one. If the
    /// exchange returns no link, the entry stays held.
    ///
    /// # Errors
    /// Returns the error response of the exchange; `Invalid` for an entry that is not held; `Busy` or
    /// `QuotaExceeded` with the remaining wait; `Busy` while another process changes the entry; and the
    /// errors of [`Outbox::entry`].
    pub async fn request_confirmation_link(
        &self,
        number: EntryNumber,
    ) -> Result<Option<ConfirmationUrl>, Error> {
        let lane = self.entry(number).await?.lane;
        let lane_guard = self.0.lock_lane(lane).await;
        let entry = self.entry(number).await?;
        if entry.state != EntryState::Held {
            return Err(Error::new(ErrorKind::Invalid, "the entry is not held for confirmation"));
        }
        let (event, state) = self.0.request_link(entry).await?.ok_or_else(contention_error)?;
        drop(lane_guard);
        if state != EntryState::Held || matches!(event, OutboxEvent::Confirm { .. }) {
            self.0.publish_event(event.clone());
            self.0.wake_lane(lane);
        }
        match event {
            OutboxEvent::Confirm { link, .. } => Ok(link),
            OutboxEvent::Waiting { error, .. }
            | OutboxEvent::Parked { error, .. }
            | OutboxEvent::Rebase { error, .. }
            | OutboxEvent::Refused { error, .. } => Err(error),
            _ => Ok(None),
        }
    }

    /// Records the result of comparing an unknown or held entry with the feed after a pull. `Applied` decides
    /// the entry. `Missing` sends it as a new write under a new key.
    ///
    /// # Errors
    /// Returns `Invalid` for an entry that needs no comparison. Returns `Busy` for a missing entry that was
    /// sent less than [`OutboxPolicy::quiet_period`](super::OutboxPolicy::quiet_period) ago and may still
    /// arrive: pull and compare again later. Also returns the errors of [`Outbox::entry`].
    pub async fn resolve_unknown(&self, number: EntryNumber, found: ComparisonResult) -> Result<(), Error> {
        let key = self.0.generate_key()?;
        let lane = self
            .update_entry(number, |entry| {
                if entry.resolve_outcome(
                    found,
                    self.0.wall_millis(),
                    self.0.sent_ago(entry),
                    &self.0.policy,
                )? == KeyUse::New
                {
                    entry.replace_key(&key);
                }
                Ok(entry.lane)
            })
            .await?;
        if found == ComparisonResult::Applied {
            self.0.publish_event(OutboxEvent::Decided {
                entry: number,
                lane,
                written: None,
                replayed: false,
            });
        }
        Ok(())
    }

    /// Removes an entry, whether or not it is decided. The feed may still show the change set of a removed
    /// entry if the exchange may have applied it. This also applies to an unreadable entry, because this
    /// program cannot determine whether the entry is being sent.
    ///
    /// # Errors
    /// Returns `Busy` for an entry that is being sent, `Invalid` if there is no such entry, and `Storage` if
    /// the store fails.
    pub async fn discard(&self, number: EntryNumber) -> Result<(), Error> {
        for _ in 0..MAX_ATTEMPTS {
            let row = self.load_row(number).await?;
            let (revision, lane) = (row.revision, row.lane);
            let idle = self.0.try_lock_lane(lane);
            if let Ok(entry) = OutboxEntry::from_row(row) {
                entry.check_removable(&self.0.holder, self.0.wall_millis(), idle.is_some())?;
            }
            if self.0.store.remove(number.0, revision).await? {
                self.0.purge_removed().await;
                self.0.wake_lane(lane);
                return Ok(());
            }
        }
        Err(contention_error())
    }

    /// Removes those of the given entries that are decided, and returns their number.
    ///
    /// # Errors
    /// Returns `Storage` if the store fails.
    pub async fn forget_entries(&self, numbers: &[EntryNumber]) -> Result<usize, Error> {
        let mut forgotten = 0;
        for number in numbers {
            let row = self.0.store.get_row(number.0).await?;
            if let Some(row) = row.filter(|row| row.done && row.owner == self.0.owner) {
                forgotten += usize::from(self.0.store.remove(row.number, row.revision).await?);
            }
        }
        if forgotten > 0 {
            self.0.purge_removed().await;
        }
        Ok(forgotten)
    }

    /// Removes all decided entries and returns their number.
    ///
    /// # Errors
    /// Returns `Storage` if the store fails.
    pub async fn forget_decided(&self) -> Result<usize, Error> {
        let entries = self.contents().await?.entries;
        let decided = entries.iter().filter(|entry| entry.state == EntryState::Done).map(OutboxEntry::number);
        self.forget_entries(&decided.collect::<Vec<_>>()).await
    }

    /// Applies a change to an entry and wakes its area. Retries with the new version if another process
    /// changed the entry.
    async fn update_entry<T>(
        &self,
        number: EntryNumber,
        change: impl Fn(&mut OutboxEntry) -> Result<T, Error>,
    ) -> Result<T, Error> {
        for _ in 0..MAX_ATTEMPTS {
            let mut entry = self.entry(number).await?;
            let changed = change(&mut entry)?;
            if self.0.store_entry(&mut entry).await? {
                self.0.wake_lane(entry.lane);
                return Ok(changed);
            }
        }
        Err(contention_error())
    }
}

/// Deletes all entries of this owner when the member disconnects (CLI-06), including entries that were not
/// sent.
///
/// Changes that wait for a confirmation or a response are lost, so a program shows them to the member before
/// it disconnects. A change set that is being sent at that moment may still be applied.
impl LocalData for Outbox {
    fn name(&self) -> &str {
        NAME
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(delete_owner_entries(&*self.0.store, &self.0.owner))
    }

    fn into_registered(self) -> Arc<dyn LocalData> {
        Arc::new(OwnerEntries { store: Arc::clone(&self.0.store), owner: self.0.owner.clone() })
    }
}

/// The entries of one owner in a store, without the rest of the outbox.
struct OwnerEntries {
    store: Arc<dyn OutboxStore>,
    owner: String,
}

impl LocalData for OwnerEntries {
    fn name(&self) -> &str {
        NAME
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(delete_owner_entries(&*self.store, &self.owner))
    }
}

const NAME: &str = "outbox";

async fn delete_owner_entries(store: &dyn OutboxStore, owner: &str) -> Result<(), Error> {
    for _ in 0..MAX_ATTEMPTS {
        let rows = store.list_rows(owner).await?;
        if rows.is_empty() {
            return store.purge_removed().await;
        }
        for row in rows {
            // A row that another process changed since is removed in the next round.
            store.remove(row.number, row.revision).await?;
        }
    }
    Err(contention_error())
}

/// Splits changes into change sets of at most `max_ops` ops, or into larger ones that fit the daily quota if
/// tied ops require it.
fn cut_batches<O: ChangeOp>(
    changes: Changes<O>,
    max_ops: usize,
    policy: &OutboxPolicy,
) -> Result<Vec<ChangeBatch<O>>, Error> {
    let too_large = |error: &Error| error.kind() == ErrorKind::TooLarge;
    match changes.clone().into_batches(max_ops) {
        Err(error) if too_large(&error) => {}
        batches => return batches,
    }
    match changes.clone().into_batches(policy.daily_max_ops(O::LANE)) {
        Err(error) if too_large(&error) => {
            // The daily quota may be the reason.
            let sets = changes.into_batches(policy.max_ops).unwrap_or_default();
            let largest = sets.iter().map(|set| set.ops().len()).max().unwrap_or_default();
            Err(policy.quota_error(O::LANE, largest).unwrap_or(error))
        }
        batches => batches,
    }
}

fn check_lane<O: ChangeOp>(entry: &OutboxEntry) -> Result<(), Error> {
    match entry.lane == O::LANE {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Invalid, "the entry belongs to another area")),
    }
}

fn contention_error() -> Error {
    Error::new(ErrorKind::Busy, "other processes keep changing the outbox entry")
}
