//! What a member has open before them: drafts that were handed over, and files of their own (WEB-09 to WEB-11).

use std::sync::Arc;
use std::time::Duration;

use exchange_api::types::ItemRef;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::Backend;
use super::super::confirm::Handoff;
use super::blueprints::{Found, Row, merged};
use super::file::{self, FileRefusal};
use super::refinery::Panel;
use super::{Draft, handoffs};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, Resolution};
use crate::ids::{ClientId, MemberId};
use crate::records::{self, Actor, Deed};
use crate::registry;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// Reviews of one member at once; the oldest makes room.
const OPEN: usize = 10;
/// Rows for which similar names are looked for.
const LOOKED_UP: usize = 200;

/// A review, as its page shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// The registered name of the client whose draft it was; none for a file.
    pub from: Option<String>,
    /// What there is to review.
    pub reviewed: Reviewed,
    /// Until when it waits.
    pub expires_at: Moment,
}

/// What there is to review.
#[derive(Clone, Debug, PartialEq)]
pub enum Reviewed {
    /// Blueprints.
    Blueprints {
        /// Those that the member does not have.
        new: Vec<Named>,
        /// Those that the member has, by name.
        held: Vec<String>,
        /// Those that nothing was found for.
        unmatched: Vec<Unmatched>,
        /// The names of all products, where a row without suggestions needs them.
        products: Vec<String>,
    },
    /// A refinery order.
    Refinery {
        /// What stands in the form.
        panel: Panel,
        /// The names of all materials.
        materials: Vec<String>,
        /// The names of all places.
        places: Vec<String>,
    },
}

/// A blueprint that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its number in the review.
    pub number: usize,
    /// Its product's name.
    pub name: String,
    /// When the member got it.
    pub acquired_at: Option<Moment>,
}

/// A blueprint that nothing was found for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Its number in the review.
    pub number: usize,
    /// As it was sent.
    pub name: String,
    /// When the member got it.
    pub acquired_at: Option<Moment>,
    /// Products of like names: key and name.
    pub suggestions: Vec<(String, String)>,
}

/// A review as it is stored.
pub(super) struct Stored {
    pub(super) client: Option<ClientId>,
    pub(super) draft: Draft,
    pub(super) expires_at: Moment,
}

impl Backend {
    /// Hands the draft of a handoff over to its member, once; gives the id of the review that it is from then on, or
    /// none when there is no such draft.
    ///
    /// # Errors
    /// What the store says; the draft waits on then.
    pub async fn open_draft(
        &self,
        member: &MemberId,
        handoff: &Handoff,
    ) -> Result<Option<String>, StoreError> {
        let (backend, member, handoff) = (self.clone(), member.clone(), handoff.clone());
        self.store
            .write(move |connection| {
                let now = backend.environment.now();
                let taken = handoffs::take(connection, &member, handoff.expose(), now)?;
                let Some((client, content)) = taken else { return Ok(None) };
                let id = backend.put(connection, &member, Some(&client), &content, now)?;
                let detail = "opened by the member, nothing was changed";
                let deed = Deed { client: Some(&client), action: "drafts.open", subject: "draft", detail };
                records::audit(connection, now, Actor::Member(&member), deed)?;
                Ok(Some(id))
            })
            .await
    }

    /// Opens a review of a file of the member's.
    ///
    /// # Errors
    /// What the store says.
    pub async fn import_file(
        &self,
        member: &MemberId,
        file: &[u8],
    ) -> Result<Result<String, FileRefusal>, StoreError> {
        let items = match file::read(file) {
            Ok(items) => items,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let index = self.index().await?;
        let rows = merged(&index, items.iter().map(|(reference, at)| (reference, *at)));
        let content = serde_json::to_string(&Draft::Blueprints { rows });
        let content = content.map_err(|_| StoreError::Corrupt("a review that cannot be written"))?;
        let (backend, member) = (self.clone(), member.clone());
        let put = move |connection: &Connection| {
            backend.put(connection, &member, None, &content, backend.environment.now())
        };
        Ok(Ok(self.store.write(put).await?))
    }

    /// A review of the member's, as it stands against what the member has now.
    ///
    /// # Errors
    /// What the store says.
    pub async fn review(&self, member: &MemberId, id: &str) -> Result<Option<Review>, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let read = move |connection: &Connection| {
            let Some(stored) = find(connection, &member, &id, backend.environment.now())? else {
                return Ok(None);
            };
            let index = backend.catalogue.at(connection)?;
            let from = match &stored.client {
                Some(client) => Some(
                    registry::client(connection, client)?
                        .map_or_else(|| client.to_string(), |client| client.name),
                ),
                None => None,
            };
            let mut held = Vec::new();
            if let Draft::Blueprints { rows } = &stored.draft {
                for row in rows {
                    held.push(matches!(&row.found, Found::Product(id) if holds(connection, &member, id)?));
                }
            }
            Ok::<_, StoreError>(Some((stored, index, from, held)))
        };
        let Some((stored, index, from, held)) = self.store.read(read).await? else { return Ok(None) };
        // Beside the store: likeness takes its time.
        let reviewed = match stored.draft {
            Draft::Blueprints { rows } => blueprints(&index, rows, &held),
            Draft::Refinery(panel) => refinery(&index, panel.named(&index)),
        };
        Ok(Some(Review { from, reviewed, expires_at: stored.expires_at }))
    }

    /// Drops a review; says whether there was one.
    ///
    /// # Errors
    /// What the store says.
    pub async fn discard_review(&self, member: &MemberId, id: &str) -> Result<bool, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let discard = move |connection: &Connection| {
            Ok(remove(connection, &member, &id, backend.environment.now())?.is_some())
        };
        self.store.write(discard).await
    }

    /// The catalogue as it is now.
    pub(super) async fn index(&self) -> Result<Arc<Index>, StoreError> {
        let catalogue = self.catalogue.clone();
        self.store.read(move |connection| catalogue.at(connection)).await
    }

    fn put(
        &self,
        connection: &Connection,
        member: &MemberId,
        client: Option<&ClientId>,
        content: &str,
        now: Moment,
    ) -> Result<String, StoreError> {
        let id = self.environment.token::<16>()?;
        let ends = now.plus(Duration::from_secs(self.config.drafts.review_seconds));
        let sql = "INSERT INTO review (id, member, client, content, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.prepare_cached(sql)?.execute(params![id, member, client, content, ends.millis()])?;
        let sql = "DELETE FROM review WHERE member = ?1 AND number NOT IN \
                   (SELECT number FROM review WHERE member = ?1 ORDER BY number DESC LIMIT ?2)";
        connection.prepare_cached(sql)?.execute(params![member, limit(OPEN)])?;
        Ok(id)
    }
}

fn holds(connection: &Connection, member: &MemberId, product: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM blueprint WHERE member = ?1 AND product = ?2) \
               OR EXISTS (SELECT 1 FROM default_blueprint WHERE product = ?2)";
    Ok(connection.prepare_cached(sql)?.query_row(params![member, product], |row| row.get(0))?)
}

/// A review, when it is this member's and alive.
pub(super) fn find(
    connection: &Connection,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<Stored>, StoreError> {
    let sql = "SELECT client, content, expires_at FROM review \
               WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
    read(connection, sql, member, id, now)
}

/// The same, taken away.
pub(super) fn remove(
    connection: &Connection,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<Stored>, StoreError> {
    let sql = "DELETE FROM review WHERE id = ?1 AND member = ?2 AND expires_at > ?3 \
               RETURNING client, content, expires_at";
    read(connection, sql, member, id, now)
}

fn read(
    connection: &Connection,
    sql: &str,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<Stored>, StoreError> {
    let found: Option<(Option<ClientId>, String, i64)> = connection
        .prepare_cached(sql)?
        .query_row(params![id, member, now.millis()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((client, content, expires_at)) = found else { return Ok(None) };
    let draft = serde_json::from_str(&content).map_err(|_| StoreError::Corrupt("a review's content"))?;
    Ok(Some(Stored { client, draft, expires_at: Moment::from_millis(expires_at) }))
}

fn blueprints(index: &Index, rows: Vec<Row>, is_held: &[bool]) -> Reviewed {
    let (mut new, mut held, mut unmatched) = (Vec::new(), Vec::new(), Vec::new());
    for (number, Row { found, acquired_at }) in rows.into_iter().enumerate() {
        match found {
            Found::Product(id) => {
                let name = index.name_of(Kind::Blueprint, &id);
                if is_held.get(number).is_some_and(|held| *held) {
                    held.push(name);
                } else {
                    new.push(Named { number, name, acquired_at });
                }
            }
            Found::Nothing(name) => {
                let suggestions =
                    if unmatched.len() < LOOKED_UP { suggestions(index, &name) } else { Vec::new() };
                unmatched.push(Unmatched { number, name, acquired_at, suggestions });
            }
        }
    }
    let needed = unmatched.iter().any(|row: &Unmatched| row.suggestions.is_empty());
    let products = if needed { names(index, Kind::Blueprint) } else { Vec::new() };
    Reviewed::Blueprints { new, held, unmatched, products }
}

fn suggestions(index: &Index, name: &str) -> Vec<(String, String)> {
    let Ok(reference) = ItemRef::by_name(name) else { return Vec::new() };
    match index.resolve(Kind::Blueprint, &reference).resolution {
        Resolution::One(entry) => vec![(entry.key.clone(), entry.name.clone())],
        Resolution::Several(entries) => {
            entries.into_iter().map(|entry| (entry.key.clone(), entry.name.clone())).collect()
        }
        Resolution::Nothing => Vec::new(),
    }
}

/// The form of a refinery order, with what its fields can be picked from.
pub(super) fn refinery(index: &Index, panel: Panel) -> Reviewed {
    let places = index.places().all().iter().map(|place| place.name.clone()).collect();
    Reviewed::Refinery { panel, materials: names(index, Kind::Material), places }
}

fn names(index: &Index, kind: Kind) -> Vec<String> {
    let mut names: Vec<String> = index.entries(kind).iter().map(|entry| entry.name.clone()).collect();
    names.dedup();
    names
}

/// Drops at most so many reviews that nobody took over in time; says how many.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql =
        "DELETE FROM review WHERE number IN (SELECT number FROM review WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.millis(), limit(most)])?)
}
