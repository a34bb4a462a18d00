//! Reads and writes the database tables of blueprints.

use std::collections::BTreeSet;

use exchange_api::types::ProvenanceSource;
use rusqlite::{Connection, params};

use super::super::change::EntryDelta;
use super::decide::{BlueprintState, ProductState};
use super::{BlueprintTarget, HeldBlueprint, NAME};
use crate::catalogue::shown_key;
use crate::feed::{self, ChangeAuthor, FeedStream, KeyChange};
use crate::ids::MemberId;
use crate::store::{self, StoreError, json_list};
use crate::time::Moment;

/// Maps a provenance source to its stored name. Clients cannot set `default` (TYP-10).
pub(super) fn stored_source(source: &ProvenanceSource) -> &'static str {
    match source {
        ProvenanceSource::Log => "log",
        ProvenanceSource::Manual => "manual",
        ProvenanceSource::Import => "import",
        _ => "other",
    }
}

/// Loads the state of the products that ops refer to.
pub(super) fn load_state(
    connection: &Connection,
    member: &MemberId,
    targets: &[BlueprintTarget],
) -> Result<BlueprintState, StoreError> {
    let mut state = BlueprintState::default();
    let mut products: BTreeSet<&str> = BTreeSet::new();
    let mut hashes = false;
    for target in targets {
        match target {
            BlueprintTarget::Product(product) => drop(products.insert(product)),
            BlueprintTarget::Hashed(_) => hashes = true,
            BlueprintTarget::Unmatched | BlueprintTarget::Ambiguous => {}
        }
    }
    let products: Vec<&str> = products.into_iter().collect();
    for (product, found) in products.iter().zip(load_products(connection, member, &products)?) {
        state.products.insert((*product).to_owned(), found);
    }
    if hashes {
        // Only products that the catalogue lacks reach this branch, because clients refer to them by the
        // hash.
        let mut long = connection
            .prepare_cached("SELECT product FROM blueprint WHERE member = ?1 AND length(product) > 128")?;
        let long: Vec<String> = long.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let names: Vec<&str> = long.iter().map(String::as_str).collect();
        let found = load_products(connection, member, &names)?;
        for (product, found) in long.into_iter().zip(found) {
            state.products.insert(product.clone(), found);
            state.hashed.insert(shown_key(&product), product);
        }
    }
    Ok(state)
}

/// Loads the states of the products with one query, in the order of `products`.
fn load_products(
    connection: &Connection,
    member: &MemberId,
    products: &[&str],
) -> Result<Vec<ProductState>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT k.key, b.product IS NOT NULL, b.acquired_at, b.source, b.note, d.product IS NOT NULL \
         FROM json_each(?2) k LEFT JOIN blueprint b ON b.member = ?1 AND b.product = k.value \
         LEFT JOIN default_blueprint d ON d.product = k.value",
    )?;
    let mut rows = rows.query(params![member, json_list(products.iter().copied())])?;
    let mut all = vec![ProductState::default(); products.len()];
    while let Some(row) = rows.next()? {
        let place: u32 = row.get(0)?;
        let Some(product) = all.get_mut(place as usize) else { continue };
        if row.get(1)? {
            let acquired_at = row.get::<_, Option<i64>>(2)?.map(Moment::from_millis);
            product.held = Some(HeldBlueprint { acquired_at, source: row.get(3)?, note: row.get(4)? });
        }
        product.is_default = row.get(5)?;
    }
    let is_missing = |product: &ProductState| product.held.is_none() && !product.is_default;
    let missing = products.iter().zip(&all).filter(|(_, product)| is_missing(product));
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(all);
    }
    let mut changed =
        feed::find_removals(connection, &FeedStream::of_member(NAME, member), missing.iter().copied())?;
    let mut granted = feed::find_removals(connection, &FeedStream::shared_by_area(NAME), missing)?;
    // A default grant that ended before the member joined does not count as a removal for this member.
    let joined = member_since(connection, member)?;
    granted.retain(|_, removal| removal.at >= joined);
    for (name, product) in products.iter().zip(&mut all).filter(|(_, product)| is_missing(product)) {
        // The later removal counts. If both have the same time, the end of the default grant counts: it
        // always needs the member's confirmation.
        product.gone = match (changed.remove(*name), granted.remove(*name)) {
            (Some(changed), Some(granted)) if changed.at > granted.at => Some(changed),
            (changed, granted) => granted.or(changed),
        };
    }
    Ok(all)
}

fn member_since(connection: &Connection, member: &MemberId) -> Result<Moment, StoreError> {
    let mut one = connection.prepare_cached("SELECT created_at FROM member WHERE id = ?1")?;
    Ok(one.query_row([member], |row| Ok(Moment::from_millis(row.get(0)?)))?)
}

/// Counts the member's blueprints, including default ones.
pub(super) fn count_blueprints(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT (SELECT count(*) FROM default_blueprint) + (SELECT count(*) FROM blueprint b \
               WHERE b.member = ?1 AND NOT EXISTS \
               (SELECT 1 FROM default_blueprint d WHERE d.product = b.product))";
    store::query_count(connection, sql, [member])
}

/// Writes decided changes to the member's blueprints.
pub(super) fn write_blueprints(
    connection: &Connection,
    member: &MemberId,
    touched: &[EntryDelta<HeldBlueprint>],
) -> Result<(), StoreError> {
    let mut put = connection.prepare_cached(
        "INSERT INTO blueprint (member, product, acquired_at, source, note) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (member, product) DO UPDATE SET acquired_at = excluded.acquired_at, \
         source = excluded.source, note = excluded.note",
    )?;
    let mut remove = connection.prepare_cached("DELETE FROM blueprint WHERE member = ?1 AND product = ?2")?;
    for EntryDelta { key, after, .. } in touched {
        match after {
            Some(HeldBlueprint { acquired_at, source, note }) => {
                let acquired_at = acquired_at.map(Moment::as_millis);
                put.execute(params![member, key, acquired_at, source, note])?
            }
            None => remove.execute(params![member, key])?,
        };
    }
    Ok(())
}

/// Replaces the set of products that every member has by default, and records the difference in the feed that
/// all members share (BPR-10). Must run within one transaction.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn set_defaults<'p>(
    connection: &Connection,
    products: impl IntoIterator<Item = &'p str>,
    now: Moment,
) -> Result<(), StoreError> {
    let new_defaults: BTreeSet<&str> = products.into_iter().collect();
    let mut rows = connection.prepare_cached("SELECT product FROM default_blueprint")?;
    let had: BTreeSet<String> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut grant = connection.prepare_cached("INSERT INTO default_blueprint (product) VALUES (?1)")?;
    let mut end = connection.prepare_cached("DELETE FROM default_blueprint WHERE product = ?1")?;
    let mut changes = Vec::new();
    for key in new_defaults.iter().filter(|product| !had.contains(**product)) {
        grant.execute([key])?;
        changes.push(KeyChange { key, gone: false });
    }
    for key in had.iter().filter(|product| !new_defaults.contains(product.as_str())) {
        end.execute([key])?;
        changes.push(KeyChange { key, gone: true });
    }
    feed::record_changes(connection, &FeedStream::shared_by_area(NAME), &ChangeAuthor::System, now, changes)
}
