//! Stores and shows reviews: drafts that a member opened, and files that the member imported (WEB-09 to
//! WEB-11).

use std::sync::Arc;
use std::time::Duration;

use exchange_api::types::{DraftKind, ItemRef};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::Backend;
use super::super::confirm::HandoffToken;
use super::super::handled::{self, HandledOutcome};
use super::blueprints::{BlueprintMatch, BlueprintRow, merge_rows};
use super::file::{self, ImportError};
use super::refinery::RefineryPanel;
use super::{StagedDraft, handoffs};
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, Resolution};
use crate::ids::{ClientId, MemberId};
use crate::records::{self, Actor, AuditEntry};
use crate::registry;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// The maximum number of reviews per member. At this number, a new review replaces the oldest one.
const MAX_OPEN_REVIEWS: usize = 10;
/// The maximum number of rows for which similar names are searched.
const MAX_SUGGESTION_ROWS: usize = 200;

/// A review as shown on its page.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftReview {
    /// The registered name of the client that sent the draft; `None` for an imported file.
    pub from: Option<String>,
    /// The content to review.
    pub content: ReviewContent,
    /// The time at which the review expires.
    pub expires_at: Moment,
}

/// The content of a review.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewContent {
    /// Blueprints to add.
    Blueprints {
        /// Blueprints that the member does not hold.
        new: Vec<MatchedBlueprint>,
        /// The names of the blueprints that the member already holds, including default blueprints.
        held: Vec<String>,
        /// Blueprints without a unique match in the catalogue.
        unmatched: Vec<UnmatchedBlueprint>,
        /// The names of all products for the member to pick from; empty if every unmatched row has
        /// suggestions.
        products: Vec<String>,
    },
    /// A refinery order, with the options of its form fields.
    Refinery {
        /// The values of the form fields.
        panel: RefineryPanel,
        /// The names of all materials.
        materials: Vec<String>,
        /// The names of all visible locations.
        places: Vec<String>,
    },
}

/// A blueprint of a review with a match in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedBlueprint {
    /// The row's index in the review.
    pub number: usize,
    /// The display name of the product.
    pub name: String,
    /// The time at which the member acquired the blueprint, if it was sent.
    pub acquired_at: Option<Moment>,
}

/// A blueprint of a review without a unique match in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedBlueprint {
    /// The row's index in the review.
    pub number: usize,
    /// The name or key that was sent.
    pub name: String,
    /// The time at which the member acquired the blueprint, if it was sent.
    pub acquired_at: Option<Moment>,
    /// Products with similar names, as pairs of the key that clients see and the name.
    pub suggestions: Vec<(String, String)>,
}

pub(super) struct StoredReview {
    pub(super) client: Option<ClientId>,
    pub(super) draft: StagedDraft,
    pub(super) expires_at: Moment,
}

impl Backend {
    /// Consumes a handoff: converts its draft into a review that belongs to the member. Returns the review's
    /// id, or `None` if there is no such draft.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; the draft stays staged in that case.
    pub async fn open_draft(
        &self,
        member: &MemberId,
        handoff: &HandoffToken,
    ) -> Result<Option<String>, StoreError> {
        let (backend, member, handoff) = (self.clone(), member.clone(), handoff.clone());
        self.store
            .write(move |connection| {
                let now = backend.environment.now();
                let taken = handoffs::take_draft(connection, &member, handoff.expose_secret(), now)?;
                let Some((client, content)) = taken else { return Ok(None) };
                let id = backend.insert_review(connection, &member, Some(&client), &content, now)?;
                let detail = "opened by the member, nothing was changed";
                let entry =
                    AuditEntry { client: Some(&client), action: "drafts.open", subject: "draft", detail };
                records::record_audit(connection, now, Actor::Member(&member), entry)?;
                Ok(Some(id))
            })
            .await
    }

    /// Creates a review of a file that the member uploaded, and returns its id.
    ///
    /// # Errors
    /// The outer error is a [`StoreError`]; the inner error describes an invalid file.
    pub async fn import_file(
        &self,
        member: &MemberId,
        file: &[u8],
    ) -> Result<Result<String, ImportError>, StoreError> {
        let items = match file::parse_file(file) {
            Ok(items) => items,
            Err(error) => return Ok(Err(error)),
        };
        let index = self.current_index().await?;
        let rows = merge_rows(&index, items.iter().map(|(reference, at)| (reference, *at)));
        let content = serde_json::to_string(&StagedDraft::Blueprints { rows });
        let content = content.map_err(|_| StoreError::Corrupt("a review cannot be serialized"))?;
        let (backend, member) = (self.clone(), member.clone());
        let put = move |connection: &Connection| {
            backend.insert_review(connection, &member, None, &content, backend.environment.now())
        };
        Ok(Ok(self.store.write(put).await?))
    }

    /// Loads a review of the member and compares it with the member's current data.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    pub async fn load_review(&self, member: &MemberId, id: &str) -> Result<Option<DraftReview>, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let read = move |connection: &Connection| {
            let Some(stored) = find_review(connection, &member, &id, backend.environment.now())? else {
                return Ok(None);
            };
            let index = backend.catalogue.index_at(connection)?;
            let from = match &stored.client {
                Some(client) => Some(
                    registry::find_client(connection, client)?
                        .map_or_else(|| client.to_string(), |client| client.name),
                ),
                None => None,
            };
            let mut is_held = Vec::new();
            if let StagedDraft::Blueprints { rows } = &stored.draft {
                for row in rows {
                    is_held.push(matches!(&row.found, BlueprintMatch::Product(id) if holds_blueprint(connection, &member, id)?));
                }
            }
            Ok::<_, StoreError>(Some((stored, index, from, is_held)))
        };
        let Some((stored, index, from, is_held)) = self.store.read(read).await? else { return Ok(None) };
        // This runs outside the store's closure, because fuzzy matching would block a reader thread.
        let reviewed = match stored.draft {
            StagedDraft::Blueprints { rows } => blueprint_content(&index, rows, &is_held),
            StagedDraft::Refinery(panel) => refinery_content(&index, panel.with_catalogue_names(&index)),
        };
        Ok(Some(DraftReview { from, content: reviewed, expires_at: stored.expires_at }))
    }

    /// Deletes a review. Returns false if there is no such review.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails.
    pub async fn discard_review(&self, member: &MemberId, id: &str) -> Result<bool, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let discard = move |connection: &Connection| {
            let removed = remove_review(connection, &member, &id, backend.environment.now())?;
            let Some(StoredReview { expires_at, .. }) = removed else { return Ok(false) };
            handled::record_outcome(connection, &member, &id, &HandledOutcome::ReviewDiscarded, expires_at)?;
            Ok(true)
        };
        self.store.write(discard).await
    }

    /// Loads the index of the current catalogue.
    pub(super) async fn current_index(&self) -> Result<Arc<CatalogueIndex>, StoreError> {
        let catalogue = self.catalogue.clone();
        self.store.read(move |connection| catalogue.index_at(connection)).await
    }

    fn insert_review(
        &self,
        connection: &Connection,
        member: &MemberId,
        client: Option<&ClientId>,
        content: &str,
        now: Moment,
    ) -> Result<String, StoreError> {
        let id = self.environment.random_token::<16>()?;
        let ends = now.plus(Duration::from_secs(self.config.drafts.review_seconds));
        let sql = "INSERT INTO review (id, member, client, content, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.prepare_cached(sql)?.execute(params![id, member, client, content, ends.as_millis()])?;
        let sql = "DELETE FROM review WHERE member = ?1 AND number NOT IN \
                   (SELECT number FROM review WHERE member = ?1 ORDER BY number DESC LIMIT ?2)";
        connection.prepare_cached(sql)?.execute(params![member, sql_limit(MAX_OPEN_REVIEWS)])?;
        Ok(id)
    }
}

/// A review in the list of what awaits the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReview {
    /// The id of the review's page.
    pub id: String,
    /// The registered name of the client that sent the draft; `None` for an imported file.
    pub from: Option<String>,
    /// The kind of the draft.
    pub kind: DraftKind,
    /// The time at which the review expires.
    pub expires_at: Moment,
}

/// Lists the reviews of a member that have not expired, newest first.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn list_reviews(
    connection: &Connection,
    member: &MemberId,
    now: Moment,
) -> Result<Vec<OpenReview>, StoreError> {
    let sql = "SELECT r.id, coalesce(c.name, r.client), r.content ->> 'kind' = 'refinery', r.expires_at \
               FROM review r LEFT JOIN client c ON c.id = r.client \
               WHERE r.member = ?1 AND r.expires_at > ?2 ORDER BY r.number DESC";
    let mut rows = connection.prepare_cached(sql)?;
    let rows = rows.query_map(params![member, now.as_millis()], |row| {
        let kind = if row.get(2)? { DraftKind::Refinery } else { DraftKind::Blueprint };
        let expires_at = Moment::from_millis(row.get(3)?);
        Ok(OpenReview { id: row.get(0)?, from: row.get(1)?, kind, expires_at })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn holds_blueprint(connection: &Connection, member: &MemberId, product: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM blueprint WHERE member = ?1 AND product = ?2) \
               OR EXISTS (SELECT 1 FROM default_blueprint WHERE product = ?2)";
    Ok(connection.prepare_cached(sql)?.query_row(params![member, product], |row| row.get(0))?)
}

/// Finds a review if it belongs to the member and has not expired.
pub(super) fn find_review(
    connection: &Connection,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<StoredReview>, StoreError> {
    let sql = "SELECT client, content, expires_at FROM review \
               WHERE id = ?1 AND member = ?2 AND expires_at > ?3";
    query_review(connection, sql, member, id, now)
}

/// Finds and deletes a review if it belongs to the member and has not expired.
pub(super) fn remove_review(
    connection: &Connection,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<StoredReview>, StoreError> {
    let sql = "DELETE FROM review WHERE id = ?1 AND member = ?2 AND expires_at > ?3 \
               RETURNING client, content, expires_at";
    query_review(connection, sql, member, id, now)
}

fn query_review(
    connection: &Connection,
    sql: &str,
    member: &MemberId,
    id: &str,
    now: Moment,
) -> Result<Option<StoredReview>, StoreError> {
    let found: Option<(Option<ClientId>, String, i64)> = connection
        .prepare_cached(sql)?
        .query_row(params![id, member, now.as_millis()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((client, content, expires_at)) = found else { return Ok(None) };
    let draft = serde_json::from_str(&content).map_err(|_| StoreError::Corrupt("invalid review content"))?;
    Ok(Some(StoredReview { client, draft, expires_at: Moment::from_millis(expires_at) }))
}

fn blueprint_content(index: &CatalogueIndex, rows: Vec<BlueprintRow>, is_held: &[bool]) -> ReviewContent {
    let (mut new, mut held, mut unmatched) = (Vec::new(), Vec::new(), Vec::new());
    for (number, BlueprintRow { found, acquired_at }) in rows.into_iter().enumerate() {
        match found {
            BlueprintMatch::Product(id) => {
                let name = index.name_of(EntryKind::Blueprint, &id);
                if is_held.get(number).is_some_and(|held| *held) {
                    held.push(name);
                } else {
                    new.push(MatchedBlueprint { number, name, acquired_at });
                }
            }
            BlueprintMatch::Unmatched(name) => {
                let suggestions = if unmatched.len() < MAX_SUGGESTION_ROWS {
                    suggest_products(index, &name)
                } else {
                    Vec::new()
                };
                unmatched.push(UnmatchedBlueprint { number, name, acquired_at, suggestions });
            }
        }
    }
    let needed = unmatched.iter().any(|row: &UnmatchedBlueprint| row.suggestions.is_empty());
    let products = if needed { entry_names(index, EntryKind::Blueprint) } else { Vec::new() };
    ReviewContent::Blueprints { new, held, unmatched, products }
}

fn suggest_products(index: &CatalogueIndex, name: &str) -> Vec<(String, String)> {
    let Ok(reference) = ItemRef::by_name(name) else { return Vec::new() };
    match index.resolve_reference(EntryKind::Blueprint, &reference).resolution {
        Resolution::Unique(entry) => vec![(entry.key.clone(), entry.name.clone())],
        Resolution::Ambiguous(entries) => {
            entries.into_iter().map(|entry| (entry.key.clone(), entry.name.clone())).collect()
        }
        Resolution::Unmatched => Vec::new(),
    }
}

/// Builds the content of a refinery review: the form, and the options of its fields.
pub(super) fn refinery_content(index: &CatalogueIndex, panel: RefineryPanel) -> ReviewContent {
    let places = index.locations().visible_locations().iter().map(|place| place.name.clone()).collect();
    ReviewContent::Refinery { panel, materials: entry_names(index, EntryKind::Material), places }
}

fn entry_names(index: &CatalogueIndex, kind: EntryKind) -> Vec<String> {
    let mut names: Vec<String> = index.entries(kind).iter().map(|entry| entry.name.clone()).collect();
    names.dedup();
    names
}

/// Deletes up to `limit` expired reviews. Returns the number of deleted reviews.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn prune_reviews(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql =
        "DELETE FROM review WHERE number IN (SELECT number FROM review WHERE expires_at <= ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.as_millis(), sql_limit(limit)])?)
}
