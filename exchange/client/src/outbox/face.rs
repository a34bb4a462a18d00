//! What a program does with an outbox: enqueue, look, and say what only a person can.

use std::sync::Arc;

use dpop_bound::UnixTime;
use exchange_api::types::ConfirmationUrl;

use super::{
    Policy,
    decide::{NewKey, as_millis},
    drive::{Outbox, forget_expired},
    entry::{Entry, EntryNumber, Found, State, Unreadable, Why},
    event::{OutboxEvent, Written},
    store::{OutboxStore, Row},
};
use crate::{
    changes::{Batch, Changes, Op, Outcome},
    connection::Connection,
    error::{Error, ErrorKind},
    exchange::Exchange,
    session::LocalData,
    tokens::Later,
    transport::Patience,
};

/// How often a change is tried again that another process comes in between.
const TRIES: usize = 16;

/// What an outbox holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contents {
    /// What can be read, also the decided ones that were not forgotten, by their numbers.
    pub entries: Vec<Entry>,
    /// What cannot, by number: it is shown to the member, who gives it up ([`Outbox::discard`]) or lets the version
    /// that kept it send it.
    pub unreadable: Vec<Unreadable>,
}

/// Forgets what was decided about stock of the organisation and is kept for as long as it may be (OST-14), whether
/// anybody was told of it or not, and says which sets that were. An [`Outbox`] does so by itself while it sends. A
/// program that opened its store to look at it, or not to send, calls this: at start, and every hour while it stays.
///
/// # Errors
/// `Storage`: then it is to be called again.
pub async fn expire(
    store: &dyn OutboxStore,
    owner: &str,
    now: UnixTime,
    policy: &Policy,
) -> Result<Vec<EntryNumber>, Error> {
    let forgotten = forget_expired(store, owner, as_millis(now.since_epoch()), policy).await?;
    if !forgotten.is_empty() {
        store.settle().await?;
    }
    Ok(forgotten)
}

impl Exchange {
    /// An outbox of the changes of this installation, over a store that may hold those of others too, with the
    /// usual [`Policy`]. Nothing is sent before [`Outbox::run`] or [`Outbox::flush`]; what was sent is read back where
    /// [`Sync::follow`](crate::sync::Sync::follow) joins the two. What is still in it goes with the connection after
    /// [`session.keeps(outbox.clone())`](crate::Session::keeps).
    ///
    /// It sends for this installation alone, whoever signs in later: a set is signed with no token but that of a
    /// connection of which [`Exchange::connection`] noted this very installation. What comes up under another
    /// member's is parked as [`Why::SignedOut`]; before it is known whose a new connection is, sets wait. How old a
    /// key is it reckons by the exchange's clock, so that no clock of this machine makes one younger.
    ///
    /// # Errors
    /// `Busy` when the exchange has not said yet what it calls this installation (SVC-03): read the connection
    /// again. `Bug` when there are no random numbers to be had.
    pub fn outbox(
        &self,
        store: impl OutboxStore + 'static,
        connection: &Connection,
    ) -> Result<Outbox, Error> {
        let (most_ops, writes_per_day) = (connection.most_ops(), connection.writes_per_day());
        let policy = Policy { most_ops, writes_per_day, ..Policy::default() };
        self.outbox_with(store, connection, policy)
    }

    /// The same with numbers of your own.
    ///
    /// # Errors
    /// As [`Exchange::outbox`].
    pub fn outbox_with(
        &self,
        store: impl OutboxStore + 'static,
        connection: &Connection,
        policy: Policy,
    ) -> Result<Outbox, Error> {
        let Some(owner) = connection.installation_id() else {
            return Err(Error::new(
                ErrorKind::Busy,
                "the exchange cannot say now which installation this is",
            ));
        };
        Outbox::over(
            self.api().core(),
            store,
            self.environment().clone(),
            owner.as_str(),
            policy,
            Some(self.clone()),
        )
    }
}

impl Outbox {
    /// Keeps changes to be sent, in as many sets as they need, and gives their numbers. When this returns they
    /// are never lost; a program that ends meanwhile sends them when it is started again.
    ///
    /// Sets of org stock are as small as the day's quota asks ([`Policy::writes_per_day`]).
    ///
    /// # Errors
    /// As [`Changes::batches`], also when ops on org stock that belong together are more than the writes of a day, and
    /// `Storage`: then nothing of them was kept, unless the store cannot tell.
    pub async fn enqueue<O: Op>(&self, changes: Changes<O>) -> Result<Vec<EntryNumber>, Error> {
        let inner = &self.0;
        let batches = cut(changes, inner.most_ops(inner.policy.usual_ops(O::LANE)), &inner.policy)?;
        let now = inner.now();
        let row = |batch: Batch<O>| {
            let stored = batch.stored(&inner.core, &inner.key()?)?;
            Entry::new(&inner.owner, O::LANE, &stored, batch.ops().len(), now)?.new_row()
        };
        let rows = batches.into_iter().map(row).collect::<Result<_, _>>()?;
        let numbers = inner.store.append(rows).await?;
        inner.wake(O::LANE);
        Ok(numbers.into_iter().map(EntryNumber).collect())
    }

    /// What would become of changes if they were sent now, set by set; nothing is written, and nothing kept.
    /// It costs a write of the daily quota for each set.
    ///
    /// # Errors
    /// As [`Changes::batches`] and any call.
    pub async fn preview<O: Op>(&self, changes: Changes<O>) -> Result<Vec<Outcome<O>>, Error> {
        let mut outcomes = Vec::new();
        for batch in changes.batches(self.0.most_ops(self.0.policy.most_ops))? {
            let batch = batch.as_dry_run();
            let stored = batch.stored(&self.0.core, &self.0.key()?)?;
            let mut call = self.0.core.repeat::<O::Call>(&stored).with(Patience::INTERACTIVE);
            if let Some(terms) = self.0.terms(None) {
                call = call.with(terms);
            }
            let answer = call.await?;
            outcomes.push(batch.outcome(answer.into_body()));
        }
        Ok(outcomes)
    }

    /// All entries, also the decided ones that were not forgotten, by their numbers.
    ///
    /// # Errors
    /// `Storage`, also when one of them cannot be read; [`contents`](Self::contents) has the others then.
    pub async fn entries(&self) -> Result<Vec<Entry>, Error> {
        let rows = self.0.store.rows(&self.0.owner).await?;
        rows.into_iter().map(Entry::of).collect()
    }

    /// What can be read of it, and what cannot.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn contents(&self) -> Result<Contents, Error> {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for row in self.0.store.rows(&self.0.owner).await? {
            let (number, lane, done) = (EntryNumber(row.number), row.lane, row.done);
            match Entry::of(row) {
                Ok(entry) => entries.push(entry),
                Err(_) => unreadable.push(Unreadable { number, lane, done }),
            }
        }
        Ok(Contents { entries, unreadable })
    }

    /// One of them.
    ///
    /// # Errors
    /// `Invalid` when there is none of this number, or `Storage`.
    pub async fn entry(&self, number: EntryNumber) -> Result<Entry, Error> {
        Entry::of(self.row(number).await?)
    }

    async fn row(&self, number: EntryNumber) -> Result<Row, Error> {
        let row = self.0.store.row(number.0).await?.filter(|row| row.owner == self.0.owner);
        row.ok_or_else(|| Error::new(ErrorKind::Invalid, "the outbox has no such entry"))
    }

    /// What an entry asks for, to be shown, merged or edited. It holds changes of the type of its area.
    ///
    /// # Errors
    /// As [`Outbox::entry`], and `Invalid` for an entry of another area.
    pub async fn changes<O: Op>(&self, number: EntryNumber) -> Result<Changes<O>, Error> {
        let entry = self.entry(number).await?;
        of_lane::<O>(&entry)?;
        Ok(Batch::<O>::read(&entry.body)?.into_changes())
    }

    /// What became of the ops of a decided entry; nothing while it is not decided, or when it was the feed
    /// that told.
    ///
    /// # Errors
    /// As [`Outbox::entry`].
    pub async fn outcome(&self, number: EntryNumber) -> Result<Option<Written>, Error> {
        Written::of(&self.entry(number).await?)
    }

    /// Puts other changes in the place of an entry's: merged ones after a conflict, corrected ones after a
    /// refusal. They are a new write, under a new key.
    ///
    /// # Errors
    /// `Invalid` for an entry that may have been carried out, or that the member may still confirm; `TooLarge`
    /// when they need more than one set, or more writes than a day has ([`Policy::writes_per_day`]); as
    /// [`Outbox::entry`].
    pub async fn edit<O: Op>(&self, number: EntryNumber, changes: Changes<O>) -> Result<(), Error> {
        let mut batches = changes.batches(self.0.policy.most_ops)?;
        let (Some(batch), true) = (batches.pop(), batches.is_empty()) else {
            return Err(Error::new(ErrorKind::TooLarge, "the changes need more than one set"));
        };
        if let Some(error) = self.0.policy.over_quota(O::LANE, batch.ops().len()) {
            return Err(error);
        }
        let stored = batch.stored(&self.0.core, &self.0.key()?)?;
        self.change(number, |entry| {
            of_lane::<O>(entry)?;
            entry.may_change()?;
            entry.anew();
            entry.say(&stored, batch.ops().len())
        })
        .await
    }

    /// Tries an entry again: one that waits at once, or when the exchange asked for that (CLI-02); under its own key,
    /// one whose outcome is unknown, one that is held and one that was parked; under a new key, by this very word, one
    /// that was refused and is known not to be carried out.
    ///
    /// # Errors
    /// `Invalid` for one that is decided, `Busy` for one that is being sent, and as [`Outbox::entry`].
    pub async fn retry(&self, number: EntryNumber) -> Result<(), Error> {
        let key = self.0.key()?;
        self.change(number, |entry| {
            if entry.retry()? == NewKey::Yes {
                entry.rekey(&key);
            }
            Ok(())
        })
        .await
    }

    /// Takes up what was parked, after a sign-in of the same member or what else they did; says how many entries. In an
    /// [`Exchange::outbox`] what comes up under another member's sign-in is parked again, and not sent.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn resume(&self) -> Result<usize, Error> {
        let mut resumed = 0;
        for entry in self.contents().await?.entries {
            let parked = matches!(entry.state, State::Parked(why) if why != Why::KeyReused);
            if parked && self.retry(entry.number()).await.is_ok() {
                resumed += 1;
            }
        }
        Ok(resumed)
    }

    /// Gets the link of a held entry anew, by sending it again under its own key; nothing when it is not held
    /// any more. Only when the member asks: each time the exchange makes a new link, and the old one ends. Where it does
    /// not come to that the entry is held as before.
    ///
    /// # Errors
    /// What the exchange says instead, `Invalid` for an entry that is not held, `Busy` or `QuotaExceeded` with the time
    /// for which nothing is sent, `Busy` while another process changes it, and as [`Outbox::entry`].
    pub async fn confirmation(&self, number: EntryNumber) -> Result<Option<ConfirmationUrl>, Error> {
        let lane = self.entry(number).await?.lane;
        let alone = self.0.alone(lane).await;
        let entry = self.entry(number).await?;
        if entry.state != State::Held {
            return Err(Error::new(ErrorKind::Invalid, "the entry is not held for confirmation"));
        }
        let (event, state) = self.0.ask_for_link(entry).await?.ok_or_else(contended)?;
        drop(alone);
        if state != State::Held || matches!(event, OutboxEvent::Confirm { .. }) {
            self.0.tell(event.clone());
            self.0.wake(lane);
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

    /// Says what the pulled feed shows of an entry whose outcome is unknown, or that was held: what it asked for
    /// is there, and it is decided; or it is not, and it is sent as a new write, under a new key.
    ///
    /// # Errors
    /// `Invalid` for an entry about which there is no question; `Busy` for a missing one that was sent less than
    /// [`Policy::quiet`](super::Policy::quiet) ago and may still arrive: pull and compare again later; and as
    /// [`Outbox::entry`].
    pub async fn resolve(&self, number: EntryNumber, found: Found) -> Result<(), Error> {
        let key = self.0.key()?;
        let lane = self
            .change(number, |entry| {
                if entry.resolve(found, self.0.now(), self.0.sent_ago(entry), &self.0.policy)? == NewKey::Yes
                {
                    entry.rekey(&key);
                }
                Ok(entry.lane)
            })
            .await?;
        if found == Found::Applied {
            self.0.tell(OutboxEvent::Decided { entry: number, lane, written: None, replayed: false });
        }
        Ok(())
    }

    /// Takes an entry out, decided or not. One that may have been carried out may still show in the feed, and so may one
    /// that cannot be read, of which nobody here can tell whether it is being sent.
    ///
    /// # Errors
    /// `Busy` for one that is being sent, `Invalid` when there is none of this number, or `Storage`.
    pub async fn discard(&self, number: EntryNumber) -> Result<(), Error> {
        for _ in 0..TRIES {
            let row = self.row(number).await?;
            let (revision, lane) = (row.revision, row.lane);
            let idle = self.0.idle(lane);
            if let Ok(entry) = Entry::of(row) {
                entry.may_go(&self.0.holder, self.0.now(), idle.is_some())?;
            }
            if self.0.store.remove(number.0, revision).await? {
                self.0.settle().await;
                self.0.wake(lane);
                return Ok(());
            }
        }
        Err(contended())
    }

    /// Forgets those of these entries that were decided, in one go; says how many.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn forget(&self, numbers: &[EntryNumber]) -> Result<usize, Error> {
        let mut forgotten = 0;
        for number in numbers {
            let row = self.0.store.row(number.0).await?;
            if let Some(row) = row.filter(|row| row.done && row.owner == self.0.owner) {
                forgotten += usize::from(self.0.store.remove(row.number, row.revision).await?);
            }
        }
        if forgotten > 0 {
            self.0.settle().await;
        }
        Ok(forgotten)
    }

    /// Forgets the entries that were decided; says how many.
    ///
    /// # Errors
    /// `Storage`.
    pub async fn forget_decided(&self) -> Result<usize, Error> {
        let entries = self.contents().await?.entries;
        let decided = entries.iter().filter(|entry| entry.state == State::Done).map(Entry::number);
        self.forget(&decided.collect::<Vec<_>>()).await
    }

    /// Changes an entry as it is now, whatever other processes do, and sees to it that it is looked at.
    async fn change<T>(
        &self,
        number: EntryNumber,
        change: impl Fn(&mut Entry) -> Result<T, Error>,
    ) -> Result<T, Error> {
        for _ in 0..TRIES {
            let mut entry = self.entry(number).await?;
            let changed = change(&mut entry)?;
            if self.0.keep(&mut entry).await? {
                self.0.wake(entry.lane);
                return Ok(changed);
            }
        }
        Err(contended())
    }
}

/// Everything of this owner goes with the connection (CLI-06): changes that were not sent, and what became of those
/// that were. Changes for which only the member's word or the exchange's answer is missing are lost with it, so a
/// program that disconnects shows them first. One that is being sent at that moment may still be carried out.
impl LocalData for Outbox {
    fn name(&self) -> &str {
        NAME
    }

    fn delete(&self) -> Later<'_, Result<(), Error>> {
        Box::pin(delete(&*self.0.store, &self.0.owner))
    }

    fn kept(self) -> Arc<dyn LocalData> {
        Arc::new(Left { store: Arc::clone(&self.0.store), owner: self.0.owner.clone() })
    }
}

/// What an outbox leaves in its store.
struct Left {
    store: Arc<dyn OutboxStore>,
    owner: String,
}

impl LocalData for Left {
    fn name(&self) -> &str {
        NAME
    }

    fn delete(&self) -> Later<'_, Result<(), Error>> {
        Box::pin(delete(&*self.store, &self.owner))
    }
}

const NAME: &str = "outbox";

async fn delete(store: &dyn OutboxStore, owner: &str) -> Result<(), Error> {
    for _ in 0..TRIES {
        let rows = store.rows(owner).await?;
        if rows.is_empty() {
            return store.settle().await;
        }
        for row in rows {
            // Who changed it meanwhile is met in the next round.
            store.remove(row.number, row.revision).await?;
        }
    }
    Err(contended())
}

/// As many sets as changes need: of at most so many ops, or larger ones that a day has room for, where ops that belong
/// together leave no other way.
fn cut<O: Op>(changes: Changes<O>, most: usize, policy: &Policy) -> Result<Vec<Batch<O>>, Error> {
    let too_large = |error: &Error| error.kind() == ErrorKind::TooLarge;
    match changes.clone().batches(most) {
        Err(error) if too_large(&error) => {}
        batches => return batches,
    }
    match changes.clone().batches(policy.ops_of_a_day(O::LANE)) {
        Err(error) if too_large(&error) => {
            // It may be the quota alone that they are too many for.
            let sets = changes.batches(policy.most_ops).unwrap_or_default();
            let largest = sets.iter().map(|set| set.ops().len()).max().unwrap_or_default();
            Err(policy.over_quota(O::LANE, largest).unwrap_or(error))
        }
        batches => batches,
    }
}

fn of_lane<O: Op>(entry: &Entry) -> Result<(), Error> {
    match entry.lane == O::LANE {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Invalid, "the entry is of another area")),
    }
}

fn contended() -> Error {
    Error::new(ErrorKind::Busy, "other processes keep changing the entry")
}
