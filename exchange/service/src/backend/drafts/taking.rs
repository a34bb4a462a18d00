//! What becomes of a review when the member takes it over: blueprints are added, a refinery order is kept.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::Map;
use exchange_api::refusals::PlainCode;
use exchange_api::types::{
    AddBlueprint, BlueprintChangeSet, BlueprintOp, CatalogKey, ChangeResult, ItemRef, Provenance,
    ProvenanceSource,
};
use rusqlite::{Connection, params};

use super::super::Backend;
use super::super::blueprints::Blueprints;
use super::super::change::Resolved;
use super::super::connection::timestamp;
use super::super::refusal::Failure;
use super::Draft;
use super::blueprints::{Found, Row, earlier};
use super::refinery::{Panel, RefineryOrder, SavedOrder};
use super::reviews::{self, Reviewed, Stored};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::feed::Author;
use crate::ids::{ClientId, MemberId};
use crate::members;
use crate::records::{self, Actor, Deed};
use crate::store::{self, StoreError};
use crate::time::Moment;

/// Refinery orders of one member.
const KEPT: u64 = 200;

/// What the member chose, by the numbers of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Blueprints that were found, and are to be taken.
    pub take: BTreeSet<usize>,
    /// What was picked for the others: a product's key, or its name.
    pub picks: BTreeMap<usize, String>,
}

/// What came of taking a review over.
#[derive(Clone, Debug, PartialEq)]
pub enum TakenOver {
    /// The blueprints are added.
    Blueprints(ChangeResult),
    /// The refinery order is kept.
    Refinery,
    /// Nothing was chosen; the review waits on.
    Nothing,
    /// Rows for which something was picked that names no product, by their names; the review waits on.
    Unknown(Vec<String>),
    /// What is wrong in the form, and the form as it was filled in; the review waits on.
    Wrong(Vec<String>, Box<Reviewed>),
    /// There is no room for another refinery order; the review waits on.
    Full,
    /// The member may not do this now; the review waits on.
    Refused(PlainCode),
    /// There is no such review: taken over or discarded before, or too old.
    Gone,
}

impl Backend {
    /// Adds the chosen blueprints of a review as the member's own change on the web, each recorded with the source
    /// `import` (DRF-04), once.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn take_blueprints(
        &self,
        member: &MemberId,
        id: &str,
        choice: &Choice,
    ) -> Result<TakenOver, StoreError> {
        let Some((stored, index)) = self.stored(member, id).await? else { return Ok(TakenOver::Gone) };
        let Draft::Blueprints { rows } = stored.draft else { return Ok(TakenOver::Gone) };
        let chosen = match chosen(&index, &rows, choice) {
            Ok(chosen) if chosen.is_empty() => return Ok(TakenOver::Nothing),
            Ok(chosen) => chosen,
            Err(unknown) => return Ok(TakenOver::Unknown(unknown)),
        };
        let ops = chosen.into_iter().map(|(product, at)| op(&product, at)).collect::<Result<_, _>>()?;
        let body = BlueprintChangeSet { ops, dry_run: None, extensions: None, extra: Map::new() };
        let resolved = Resolved::<Blueprints>::of(body, index);
        let room = |_: &Connection, _: &MemberId| Ok(true);
        self.take(member, id, room, move |backend, connection, member, _| {
            let result = backend.change_in(connection, member, Author::Web, resolved)?;
            Ok(TakenOver::Blueprints(result))
        })
        .await
    }

    /// Keeps the refinery order of a review as the form says, once.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn take_refinery_order(
        &self,
        member: &MemberId,
        id: &str,
        form: Panel,
    ) -> Result<TakenOver, StoreError> {
        let Some((stored, index)) = self.stored(member, id).await? else { return Ok(TakenOver::Gone) };
        let Draft::Refinery(panel) = stored.draft else { return Ok(TakenOver::Gone) };
        let Panel { further, read_location, .. } = panel.named(&index);
        let form = Panel { further, read_location, ..form };
        let order = match form.order(&index) {
            Ok(order) => order,
            Err(wrong) => {
                return Ok(TakenOver::Wrong(wrong, Box::new(reviews::refinery(&index, form))));
            }
        };
        let room = |connection: &Connection, member: &MemberId| {
            let sql = "SELECT count(*) FROM refinery_order WHERE member = ?1";
            Ok(store::count(connection, sql, [member])? < KEPT)
        };
        self.take(member, id, room, move |backend, connection, member, client| {
            backend.keep_order(connection, member, client, &order)?;
            Ok(TakenOver::Refinery)
        })
        .await
    }

    /// The member's refinery orders, the latest first.
    ///
    /// # Errors
    /// What the store says.
    pub async fn refinery_orders(&self, member: &MemberId) -> Result<Vec<SavedOrder>, StoreError> {
        let (backend, member) = (self.clone(), member.clone());
        let read = move |connection: &Connection| {
            let index = backend.catalogue.at(connection)?;
            let sql =
                "SELECT id, saved_at, content FROM refinery_order WHERE member = ?1 ORDER BY number DESC";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([&member])?;
            let mut orders = Vec::new();
            while let Some(row) = rows.next()? {
                let order: RefineryOrder = serde_json::from_str(&row.get::<_, String>(2)?)
                    .map_err(|_| StoreError::Corrupt("a refinery order"))?;
                let name = |good: &super::RefineryGood| index.name_of(Kind::Material, &good.material);
                orders.push(SavedOrder {
                    id: row.get(0)?,
                    saved_at: Moment::from_millis(row.get(1)?),
                    location: order.location.as_ref().map(|id| place(&index, id)),
                    names: order.goods.iter().map(name).collect(),
                    order,
                });
            }
            Ok(orders)
        };
        self.store.read(read).await
    }

    /// Deletes a refinery order; says whether the member has such a one.
    ///
    /// # Errors
    /// What the store says.
    pub async fn delete_refinery_order(&self, member: &MemberId, id: &str) -> Result<bool, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let delete = move |connection: &Connection| {
            let sql = "DELETE FROM refinery_order WHERE member = ?1 AND id = ?2";
            if connection.prepare_cached(sql)?.execute(params![member, id])? == 0 {
                return Ok(false);
            }
            let (now, detail) = (backend.environment.now(), "by the member");
            let deed = Deed { client: None, action: "refinery-orders.delete", subject: &id, detail };
            records::audit(connection, now, Actor::Member(&member), deed)?;
            Ok(true)
        };
        self.store.write(delete).await
    }

    async fn stored(
        &self,
        member: &MemberId,
        id: &str,
    ) -> Result<Option<(Stored, std::sync::Arc<Index>)>, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let read = move |connection: &Connection| {
            let stored = reviews::find(connection, &member, &id, backend.environment.now())?;
            let index = backend.catalogue.at(connection)?;
            Ok::<_, StoreError>(stored.map(|stored| (stored, index)))
        };
        self.store.read(read).await
    }

    /// Takes a review over in one transaction, if there is room for what it becomes: whoever comes second finds none.
    async fn take(
        &self,
        member: &MemberId,
        id: &str,
        room: impl FnOnce(&Connection, &MemberId) -> Result<bool, StoreError> + Send + 'static,
        write: impl FnOnce(&Self, &Connection, &MemberId, Option<&ClientId>) -> Result<TakenOver, Failure>
        + Send
        + 'static,
    ) -> Result<TakenOver, StoreError> {
        let (backend, member, id) = (self.clone(), member.clone(), id.to_owned());
        let take = move |connection: &Connection| {
            let now = backend.environment.now();
            if !room(connection, &member)? {
                return Ok(TakenOver::Full);
            }
            let Some(stored) = reviews::remove(connection, &member, &id, now)? else {
                return Ok(TakenOver::Gone);
            };
            // The same as for a client of theirs: who may not act does not.
            members::acting(connection, &member)??;
            let client = stored.client.as_ref();
            let taken = write(&backend, connection, &member, client)?;
            let detail = match client {
                Some(_) => "a draft, by the member",
                None => "a file, by the member",
            };
            let deed = Deed { client, action: "drafts.take-over", subject: &id, detail };
            records::audit(connection, now, Actor::Member(&member), deed)?;
            Ok(taken)
        };
        match self.store.write(take).await {
            Ok(taken) => Ok(taken),
            Err(Failure::Refused(code)) => Ok(TakenOver::Refused(code)),
            Err(Failure::Store(error)) => Err(error),
        }
    }

    fn keep_order(
        &self,
        connection: &Connection,
        member: &MemberId,
        client: Option<&ClientId>,
        order: &RefineryOrder,
    ) -> Result<(), StoreError> {
        let content = serde_json::to_string(order);
        let content = content.map_err(|_| StoreError::Corrupt("a refinery order that cannot be written"))?;
        let (id, now) = (self.environment.token::<16>()?, self.environment.now());
        let sql = "INSERT INTO refinery_order (id, member, client, saved_at, content) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        connection.prepare_cached(sql)?.execute(params![id, member, client, now.millis(), content])?;
        Ok(())
    }
}

fn place(index: &Index, id: &str) -> String {
    index.places().get(id).map_or_else(|| id.to_owned(), |place| place.name.clone())
}

/// The products of the rows that were chosen, each once with the earlier of its moments; or the names of the rows for
/// which something was picked that is no product.
fn chosen(
    index: &Index,
    rows: &[Row],
    choice: &Choice,
) -> Result<BTreeMap<String, Option<Moment>>, Vec<String>> {
    let mut chosen: BTreeMap<String, Option<Moment>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (number, Row { found, acquired_at }) in rows.iter().enumerate() {
        let product = match found {
            Found::Product(id) if choice.take.contains(&number) => id.clone(),
            Found::Product(_) => continue,
            Found::Nothing(name) => {
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
        *at = earlier(*at, *acquired_at);
    }
    if unknown.is_empty() { Ok(chosen) } else { Err(unknown) }
}

/// The product of a key, or of a name that exactly one has.
fn product_of(index: &Index, picked: &str) -> Option<String> {
    let name: String = picked.chars().take(200).collect();
    let mut reference = ItemRef::by_name(name).ok()?;
    reference.bt = CatalogKey::new(picked).ok();
    index.find(Kind::Blueprint, &reference).map(|entry| entry.id.clone())
}

fn op(product: &str, acquired_at: Option<Moment>) -> Result<BlueprintOp, StoreError> {
    let corrupt = |_| StoreError::Corrupt("a product's key");
    let provenance = Provenance { source: ProvenanceSource::Import, observed_at: None, extra: Map::new() };
    Ok(BlueprintOp::Add(AddBlueprint {
        op_id: None,
        ref_: ItemRef::by_key(shown_key(product)).map_err(corrupt)?,
        acquired_at: acquired_at.map(timestamp).transpose()?,
        provenance: Some(provenance),
        override_: None,
        extra: Map::new(),
    }))
}
