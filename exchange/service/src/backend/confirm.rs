//! The confirmation of a held batch by the signed-in member (WRT-13, WEB-08).
//!
//! Opening it shows what the batch would do and consumes nothing. Confirming checks the client again and
//! applies the batch once, without the guard, as the installation's own write; discarding drops it.

use std::fmt;

use exchange_api::Contract as _;
use exchange_api::operations::OperationId;
use exchange_api::refusals::PlainCode;
use exchange_api::types::ChangeResult;
use rusqlite::Connection;

use super::Backend;
use super::admission::admit;
use super::blueprints::Blueprints;
use super::change::{Area, ChangeError, Decided, Resolved, Touched, Writer, carry_out};
use super::held::{self, Held};
use super::journal;
use super::refusal::Failure;
use super::ships::Ships;
use super::stock::Stock;
use crate::feed::Author;
use crate::ids::MemberId;
use crate::registry;
use crate::store::StoreError;
use crate::time::Moment;

/// Removals that a page names; of the others it says how many they are.
const NAMED: usize = 50;

/// What a held batch would do now.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The registered name of the client that sent it.
    pub client: String,
    /// The area: `blueprints`, `stock` or `ships`.
    pub area: &'static str,
    /// What it would remove, by name; the first 50.
    pub removed: Vec<String>,
    /// What it would remove beside those.
    pub more_removed: usize,
    /// Entries that it would add or change.
    pub written: usize,
    /// What its ops would come to.
    pub result: ChangeResult,
    /// Until when it waits.
    pub expires_at: Moment,
}

/// What came of a confirmation.
#[derive(Clone, Debug, PartialEq)]
pub enum Confirmed {
    /// It is applied.
    Applied(ChangeResult),
    /// It is not applied, since the client may not do this any more; it waits on.
    Refused(PlainCode),
    /// There is no such batch: confirmed or discarded before, replaced by a newer one, or too old.
    Gone,
}

/// A one-time handoff, as it stood in the link. Never shown.
#[derive(Clone)]
pub struct Handoff(String);

impl Handoff {
    /// From the last segment of the link's path.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be looked up by its hash.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Handoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handoff([secret])")
    }
}

impl Backend {
    /// What a held batch would do, decided as in a dry run; none when there is no such batch.
    ///
    /// # Errors
    /// What the store says.
    pub async fn preview(&self, member: &MemberId, handoff: &Handoff) -> Result<Option<Preview>, StoreError> {
        let Some(held) = self.held(member, handoff).await? else { return Ok(None) };
        match held.operation.parse() {
            Ok(OperationId::BlueprintsWrite) => self.preview_of::<Blueprints>(held).await.map(Some),
            Ok(OperationId::StockWrite) => self.preview_of::<Stock>(held).await.map(Some),
            Ok(OperationId::ShipsWrite) => self.preview_of::<Ships>(held).await.map(Some),
            _ => Err(StoreError::Corrupt("a held batch of no area")),
        }
    }

    /// Applies a held batch, once.
    ///
    /// # Errors
    /// What the store says; nothing is applied then, and the batch waits on.
    pub async fn confirm(&self, member: &MemberId, handoff: &Handoff) -> Result<Confirmed, StoreError> {
        let Some(held) = self.held(member, handoff).await? else { return Ok(Confirmed::Gone) };
        let handed = handoff.clone();
        let confirmed = match held.operation.parse() {
            Ok(OperationId::BlueprintsWrite) => self.confirm_one::<Blueprints>(held, handed).await,
            Ok(OperationId::StockWrite) => self.confirm_one::<Stock>(held, handed).await,
            Ok(OperationId::ShipsWrite) => self.confirm_one::<Ships>(held, handed).await,
            _ => Err(StoreError::Corrupt("a held batch of no area").into()),
        };
        match confirmed {
            Ok(confirmed) => Ok(confirmed),
            Err(Failure::Refused(code)) => Ok(Confirmed::Refused(code)),
            Err(Failure::Store(error)) => Err(error),
        }
    }

    /// Drops a held batch; says whether there was one.
    ///
    /// # Errors
    /// What the store says.
    pub async fn discard(&self, member: &MemberId, handoff: &Handoff) -> Result<bool, StoreError> {
        let (backend, member, handoff) = (self.clone(), member.clone(), handoff.clone());
        let now = self.environment.now();
        self.store
            .write(move |connection| {
                let Some(held) = held::find(connection, &member, &handoff.0, now)? else { return Ok(false) };
                held::drop_it(connection, &handoff.0)?;
                let writer = writer(&backend, &held)?;
                let detail = "dropped by the member, nothing was applied";
                journal::audit(connection, &writer, "held-batch.discard", &held.operation, detail)?;
                Ok(true)
            })
            .await
    }

    async fn held(&self, member: &MemberId, handoff: &Handoff) -> Result<Option<Held>, StoreError> {
        let (member, handoff, now) = (member.clone(), handoff.clone(), self.environment.now());
        self.store.read(move |connection| held::find(connection, &member, &handoff.0, now)).await
    }

    async fn preview_of<A: Area>(&self, held: Held) -> Result<Preview, StoreError> {
        // Beside the store, as for every change set.
        let mut resolved = resolved::<A>(self, &held)?;
        let backend = self.clone();
        let preview = move |connection: &Connection| {
            let writer = writer(&backend, &held)?;
            let decided = decided(resolved.decide(connection, &backend.catalogue, &writer))?;
            let client = registry::client(connection, &held.caller.client)?.map(|client| client.name);
            // What is emptied is removed, also where the guard counts it once only or as a move.
            let is_removed = |touched: &&Touched<A::Entry>| {
                touched.removal || (touched.before.is_some() && touched.after.is_none())
            };
            let (removed, others): (Vec<_>, Vec<_>) = decided.touched.iter().partition(is_removed);
            let name = |touched: &&Touched<A::Entry>| A::name(resolved.index(), touched);
            let named: Vec<String> = removed.iter().take(NAMED).map(name).collect();
            let more_removed = removed.len() - named.len();
            let written = others.iter().filter(|touched| touched.after.is_some()).count();
            Ok(Preview {
                client: client.unwrap_or_else(|| held.caller.client.to_string()),
                area: A::NAME,
                removed: named,
                more_removed,
                written,
                result: resolved.result(decided, true),
                expires_at: held.expires_at,
            })
        };
        self.store.read(preview).await
    }

    async fn confirm_one<A: Area>(&self, held: Held, handoff: Handoff) -> Result<Confirmed, Failure> {
        let mut resolved = resolved::<A>(self, &held)?;
        let backend = self.clone();
        let confirm = move |connection: &Connection| {
            let now = backend.environment.now();
            // It may have been confirmed, replaced or ended since it was looked up.
            let Some(held) = held::find(connection, &held.caller.member, &handoff.0, now)? else {
                return Ok(Confirmed::Gone);
            };
            held::drop_it(connection, &handoff.0)?;
            // Switch, client, scope and disconnects may have changed since it was sent.
            let admitted = admit(connection, &held.caller, A::OPERATION.operation())?;
            let writer = writer(&backend, &held)?;
            let decided = decided(resolved.decide(connection, &backend.catalogue, &writer))?;
            let name = &admitted.client.name;
            carry_out::<A>(connection, &writer, name, &decided, &backend.interruption)?;
            let detail = format!("{name}: confirmed by the member");
            journal::audit(connection, &writer, "held-batch.confirm", &writer.change_set, &detail)?;
            Ok(Confirmed::Applied(resolved.result(decided, false)))
        };
        self.store.write(confirm).await
    }
}

fn writer(backend: &Backend, held: &Held) -> Result<Writer, StoreError> {
    let corrupt = StoreError::Corrupt("a held batch without its installation");
    let installation = held.caller.installation.clone().ok_or(corrupt)?;
    let author = Author::Client { client: held.caller.client.clone(), installation };
    backend.writer(&held.caller.member, author)
}

/// It was valid when it was held.
const INVALID: StoreError = StoreError::Corrupt("a held batch that is no change set");

fn decided<E>(decided: Result<Decided<E>, ChangeError>) -> Result<Decided<E>, StoreError> {
    decided.map_err(|error| match error {
        ChangeError::Broken => INVALID,
        ChangeError::Store(error) => error,
    })
}

fn resolved<A: Area>(backend: &Backend, held: &Held) -> Result<Resolved<A>, StoreError> {
    let body = A::ChangeSet::parse_valid(&held.body).map_err(|_| INVALID)?;
    Ok(Resolved::of(body, backend.catalogue.latest()))
}
