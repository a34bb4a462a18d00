//! Accepts a review: adds its blueprints, or stores its refinery order.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Map;
use exchange_api::ChangeCounts;
use exchange_api::error_responses::PlainCode;
use exchange_api::types::{
    AddBlueprint, BlueprintChangeSet, BlueprintOp, CatalogKey, ChangeResult, ItemRef, Provenance,
    ProvenanceSource,
};
use rusqlite::{Connection, params};

use super::super::Backend;
use super::super::blueprints::BlueprintArea;
use super::super::change::ResolvedBatch;
use super::super::connection::format_timestamp;
use super::super::handled::{self, HandledOutcome};
use super::super::handler_error::HandlerError;
use super::StagedDraft;
use super::blueprints::{BlueprintMatch, BlueprintRow, earlier_moment};
use super::refinery::{RefineryOrder, RefineryPanel, SavedOrder};
use super::reviews::{self, ReviewContent, StoredReview};
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, shown_key};
use crate::feed::ChangeAuthor;
use crate::ids::{ClientId, MemberId};
use crate::members;
use crate::records::{self, Actor, AuditEntry};
use crate::store::{self, StoreError};
use crate::time::Moment;

/// The maximum number of refinery orders per member.
const MAX_REFINERY_ORDERS: u64 = 200;

/// The rows of a review that the member selected, identified by their indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlueprintChoice {
    /// The matched blueprints to add.
    pub take: BTreeSet<usize>,
    /// For each unmatched blueprint: the key or the name of the product that the member picked.
    pub picks: BTreeMap<usize, String>,
}

/// The result of accepting a review.
#[derive(Clone, Debug, PartialEq)]
pub enum AcceptOutcome {
    /// The blueprints were added.
    Blueprints(ChangeResult),
    /// The refinery order was stored.
    Refinery,
    /// The member selected no row. The review stays open.
    NothingChosen,
    /// Some picks match no product; contains the names of their rows. The review stays open.
    UnknownPicks(Vec<String>),
    /// Form fields are invalid; contains the messages, and the form with the member's input. The review stays
    /// open.
    InvalidForm(Vec<String>, Box<ReviewContent>),
    /// The member already has the maximum number of refinery orders. The review stays open.
    Full,
    /// The member is not permitted to act at present. The review stays open.
    Refused(PlainCode),
    /// There is no such review: it was accepted, discarded or replaced, it has expired, or it is of the other
    /// kind.
    NotFound,
}

impl AcceptOutcome {
    /// Returns the result that the review's page shows from now on, if the review was accepted.
    fn to_handled(&self) -> Option<HandledOutcome> {
        match self {
            Self::Blueprints(result) => {
                let ChangeCounts { applied, unchanged, not_applied } = result.counts();
                Some(HandledOutcome::BlueprintsAdded { applied, unchanged, not_applied })
            }
            Self::Refinery => Some(HandledOutcome::RefinerySaved),
            _ => None,
        }
    }
}

impl Backend {
    /// Adds the selected blueprints of a review once. The change is attributed to the member in the web
    /// interface and has the source `import` (DRF-04).
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn accept_blueprints(
        &self,
        member: &MemberId,
        id: &str,
        choice: &BlueprintChoice,
    ) -> Result<AcceptOutcome, StoreError> {
        let Some((stored, index)) = self.find_stored_review(member, id).await? else {
            return Ok(AcceptOutcome::NotFound);
        };
        let StagedDraft::Blueprints { rows } = stored.draft else { return Ok(AcceptOutcome::NotFound) };
        let chosen = match chosen_products(&index, &rows, choice) {
            Ok(chosen) if chosen.is_empty() => return Ok(AcceptOutcome::NothingChosen),
            Ok(chosen) => chosen,
            Err(unknown) => return Ok(AcceptOutcome::UnknownPicks(unknown)),
        };
        let ops = chosen.into_iter().map(|(product, at)| add_op(&product, at)).collect::<Result<_, _>>()?;
        let body = BlueprintChangeSet { ops, dry_run: None, extensions: None, extra: Map::new() };
        let resolved = ResolvedBatch::<BlueprintArea>::from_body(body, index);
        let room = |_: &Connection, _: &MemberId| Ok(true);
        self.accept_review(member, id, room, move |backend, connection, member, _| {
            let result = backend.apply_change_set(connection, member, ChangeAuthor::Web, resolved)?;
            Ok(AcceptOutcome::Blueprints(result))
        })
        .await
    }

    /// Stores the refinery order of a review once, with the values of the form.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn accept_refinery_order(
        &self,
        member: &MemberId,
        id: &str,
        form: RefineryPanel,
    ) -> Result<AcceptOutcome, StoreError> {
        let Some((stored, index)) = self.find_stored_review(member, id).await? else {
            return Ok(AcceptOutcome::NotFound);
        };
        let StagedDraft::Refinery(panel) = stored.draft else { return Ok(AcceptOutcome::NotFound) };
        let RefineryPanel { further, read_location, .. } = panel.with_catalogue_names(&index);
        let form = RefineryPanel { further, read_location, ..form };
        let order = match form.to_order(&index) {
            Ok(order) => order,
            Err(wrong) => {
                return Ok(AcceptOutcome::InvalidForm(
                    wrong,
                    Box::new(reviews::refinery_content(&index, form)),
                ));
            }
        };
        let room = |connection: &Connection, member: &MemberId| {
            let sql = "SELECT count(*) FROM refinery_order WHERE member = ?1";
            Ok(store::query_count(connection, sql, [member])? < MAX_REFINERY_ORDERS)
        };
        self.accept_review(member, id, room, move |backend, connection, member, client| {
            backend.insert_refinery_order(connection, member, client, &order)?;
            Ok(AcceptOutcome::Refinery)
        })
        .await
    }

    /// Lists the member's refinery orders, newest first.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    pub async fn refinery_orders(&self, member: &MemberId) -> Result<Vec<SavedOrder>, StoreError> {
        let (backend, member) = (self.clone(), member.clone());
        let read = move |connection: &Connection| {
            let index = backend.catalogue.index_at(connection)?;
            let sql =
                "SELECT id, saved_at, content FROM refinery_order WHERE member = ?1 ORDER BY number DESC";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([&member])?;
            let mut orders = Vec::new();
            while let Some(row) = rows.next()? {
                let order: RefineryOrder = serde_json::from_str(&row.get::<_, String>(2)?)
                    .map_err(|_| StoreError::Corrupt("invalid refinery order"))?;
                let name = |good: &super::RefineryGood| index.name_of(EntryKind::Material, &good.material);
                orders.push(SavedOrder {
                    id: row.get(0)?,
                    saved_at: Moment::from_millis(row.get(1)?),
                    location: order.location.as_ref().map(|id| place_name(&index, id)),
                    names: order.goods.iter().map(name).collect(),
                    order,
                });
            }
            Ok(orders)
        };
        self.store.read(read).await
    }

    /// Deletes a refinery order. Returns false if the member has no such order.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails.
    pub async fn delete_refinery_order(&self, member: &MemberId, id: &str) -> Result<bool, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let delete = move |connection: &Connection| {
            let sql = "DELETE FROM refinery_order WHERE member = ?1 AND id = ?2";
            if connection.prepare_cached(sql)?.execute(params![member, id])? == 0 {
                return Ok(false);
            }
            let (now, detail) = (backend.environment.now(), "by the member");
            let entry = AuditEntry { client: None, action: "refinery-orders.delete", subject: &id, detail };
            records::record_audit(connection, now, Actor::Member(&member), entry)?;
            Ok(true)
        };
        self.store.write(delete).await
    }

    async fn find_stored_review(
        &self,
        member: &MemberId,
        id: &str,
    ) -> Result<Option<(StoredReview, std::sync::Arc<CatalogueIndex>)>, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let read = move |connection: &Connection| {
            let stored = reviews::find_review(connection, &member, &id, backend.environment.now())?;
            let index = backend.catalogue.index_at(connection)?;
            Ok::<_, StoreError>(stored.map(|stored| (stored, index)))
        };
        self.store.read(read).await
    }

    /// Deletes a review and writes its result in one transaction. If `room` returns false, neither deletes
    /// the review nor writes a result. If two calls run concurrently, the second finds no review.
    async fn accept_review(
        &self,
        member: &MemberId,
        id: &str,
        room: impl FnOnce(&Connection, &MemberId) -> Result<bool, StoreError> + Send + 'static,
        write: impl FnOnce(
            &Self,
            &Connection,
            &MemberId,
            Option<&ClientId>,
        ) -> Result<AcceptOutcome, HandlerError>
        + Send
        + 'static,
    ) -> Result<AcceptOutcome, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let take = move |connection: &Connection| {
            let now = backend.environment.now();
            if !room(connection, &member)? {
                return Ok(AcceptOutcome::Full);
            }
            let Some(stored) = reviews::remove_review(connection, &member, &id, now)? else {
                return Ok(AcceptOutcome::NotFound);
            };
            // The member must pass the same check as for calls of the member's clients.
            members::find_acting_member(connection, &member)??;
            let client = stored.client.as_ref();
            let taken = write(&backend, connection, &member, client)?;
            if let Some(outcome) = taken.to_handled() {
                handled::record_outcome(connection, &member, &id, &outcome, stored.expires_at)?;
            }
            let detail = match client {
                Some(_) => "a draft, by the member",
                None => "a file, by the member",
            };
            let entry = AuditEntry { client, action: "drafts.take-over", subject: &id, detail };
            records::record_audit(connection, now, Actor::Member(&member), entry)?;
            Ok(taken)
        };
        match self.store.write(take).await {
            Ok(taken) => Ok(taken),
            Err(HandlerError::Rejected(code)) => Ok(AcceptOutcome::Refused(code)),
            Err(HandlerError::Store(error)) => Err(error),
        }
    }

    fn insert_refinery_order(
        &self,
        connection: &Connection,
        member: &MemberId,
        client: Option<&ClientId>,
        order: &RefineryOrder,
    ) -> Result<(), StoreError> {
        let content = serde_json::to_string(order);
        let content = content.map_err(|_| StoreError::Corrupt("a refinery order cannot be serialized"))?;
        let (id, now) = (self.environment.random_token::<16>()?, self.environment.now());
        let sql = "INSERT INTO refinery_order (id, member, client, saved_at, content) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.prepare_cached(sql)?.execute(params![id, member, client, now.as_millis(), content])?;
        Ok(())
    }
}

fn place_name(index: &CatalogueIndex, id: &str) -> String {
    index.locations().get(id).map_or_else(|| id.to_owned(), |place| place.name.clone())
}

/// Returns the selected products, each once with its earliest acquisition time.
///
/// # Errors
/// Returns the names of the rows whose picks match no product.
fn chosen_products(
    index: &CatalogueIndex,
    rows: &[BlueprintRow],
    choice: &BlueprintChoice,
) -> Result<BTreeMap<String, Option<Moment>>, Vec<String>> {
    let mut chosen: BTreeMap<String, Option<Moment>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (number, BlueprintRow { found, acquired_at }) in rows.iter().enumerate() {
        let product = match found {
            BlueprintMatch::Product(id) if choice.take.contains(&number) => id.clone(),
            BlueprintMatch::Product(_) => continue,
            BlueprintMatch::Unmatched(name) => {
                let picked = choice.picks.get(&number).map(|pick| pick.trim()).unwrap_or_default();
                match product_of(index, picked) {
                    Some(id) => id,
                    None if picked.is_empty() => continue,
                    None => {
                        unknown.push(name.clone());
                        continue;
                    }
                }
            }
        };
        let at = chosen.entry(product).or_insert(*acquired_at);
        *at = earlier_moment(*at, *acquired_at);
    }
    if unknown.is_empty() { Ok(chosen) } else { Err(unknown) }
}

/// Finds a product by its key, or by a name if exactly one product matches.
fn product_of(index: &CatalogueIndex, picked: &str) -> Option<String> {
    let name: String = picked.chars().take(200).collect();
    let mut reference = ItemRef::by_name(name).ok()?;
    reference.bt = CatalogKey::new(picked).ok();
    index.find_unique(EntryKind::Blueprint, &reference).map(|entry| entry.id.clone())
}

fn add_op(product: &str, acquired_at: Option<Moment>) -> Result<BlueprintOp, StoreError> {
    let corrupt = |_| StoreError::Corrupt("invalid product key");
    let provenance = Provenance { source: ProvenanceSource::Import, observed_at: None, extra: Map::new() };
    Ok(BlueprintOp::Add(AddBlueprint {
        op_id: None,
        ref_: ItemRef::by_key(shown_key(product)).map_err(corrupt)?,
        acquired_at: acquired_at.map(format_timestamp).transpose()?,
        provenance: Some(provenance),
        override_: None,
        extra: Map::new(),
    }))
}
