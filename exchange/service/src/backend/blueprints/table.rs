//! The tables of blueprints: what is loaded for a decision, and how one is written.

use std::collections::BTreeSet;

use exchange_api::types::ProvenanceSource;
use rusqlite::{Connection, params};

use super::super::change::Touched;
use super::decide::{Known, Product};
use super::{Held, NAME, Target};
use crate::catalogue::shown_key;
use crate::feed::{self, Author, Change, Stream};
use crate::ids::MemberId;
use crate::store::{self, StoreError, list};
use crate::time::Moment;

/// A source as it is stored: a default grant is the server's alone (TYP-10).
pub(super) fn source(source: &ProvenanceSource) -> &'static str {
    match source {
        ProvenanceSource::Log => "log",
        ProvenanceSource::Manual => "manual",
        ProvenanceSource::Import => "import",
        _ => "other",
    }
}

/// What is known of the products that ops name.
pub(super) fn known(
    connection: &Connection,
    member: &MemberId,
    targets: &[Target],
) -> Result<Known, StoreError> {
    let mut known = Known::default();
    let mut products: BTreeSet<&str> = BTreeSet::new();
    let mut hashes = false;
    for target in targets {
        match target {
            Target::Product(product) => drop(products.insert(product)),
            Target::Hashed(_) => hashes = true,
            Target::Nothing | Target::Several => {}
        }
    }
    let products: Vec<&str> = products.into_iter().collect();
    for (product, found) in products.iter().zip(find(connection, member, &products)?) {
        known.products.insert((*product).to_owned(), found);
    }
    if hashes {
        // Only what the catalogue has lost comes here, and only keys that are shown by their hash.
        let mut long = connection
            .prepare_cached("SELECT product FROM blueprint WHERE member = ?1 AND length(product) > 128")?;
        let long: Vec<String> = long.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let names: Vec<&str> = long.iter().map(String::as_str).collect();
        let found = find(connection, member, &names)?;
        for (product, found) in long.into_iter().zip(found) {
            known.products.insert(product.clone(), found);
            known.hashed.insert(shown_key(&product), product);
        }
    }
    Ok(known)
}

/// What is known of products, in their order: all of them are read at once.
fn find(connection: &Connection, member: &MemberId, products: &[&str]) -> Result<Vec<Product>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT k.key, b.product IS NOT NULL, b.acquired_at, b.source, b.note, d.product IS NOT NULL \
         FROM json_each(?2) k LEFT JOIN blueprint b ON b.member = ?1 AND b.product = k.value \
         LEFT JOIN default_blueprint d ON d.product = k.value",
    )?;
    let mut rows = rows.query(params![member, list(products.iter().copied())])?;
    let mut all = vec![Product::default(); products.len()];
    while let Some(row) = rows.next()? {
        let place: u32 = row.get(0)?;
        let Some(product) = all.get_mut(place as usize) else { continue };
        if row.get(1)? {
            let acquired_at = row.get::<_, Option<i64>>(2)?.map(Moment::from_millis);
            product.held = Some(Held { acquired_at, source: row.get(3)?, note: row.get(4)? });
        }
        product.is_default = row.get(5)?;
    }
    let is_missing = |product: &Product| product.held.is_none() && !product.is_default;
    let missing = products.iter().zip(&all).filter(|(_, product)| is_missing(product));
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(all);
    }
    let mut own = feed::removals(connection, &Stream::of_member(NAME, member), missing.iter().copied())?;
    let mut granted = feed::removals(connection, &Stream::shared(NAME), missing)?;
    // A grant that ended before the member came was never theirs.
    let joined = joined(connection, member)?;
    granted.retain(|_, removal| removal.at >= joined);
    for (name, product) in products.iter().zip(&mut all).filter(|(_, product)| is_missing(product)) {
        // The later one took it away; of two at one moment the one that asks the member.
        product.gone = match (own.remove(*name), granted.remove(*name)) {
            (Some(own), Some(granted)) if own.at > granted.at => Some(own),
            (own, granted) => granted.or(own),
        };
    }
    Ok(all)
}

/// When the member came.
fn joined(connection: &Connection, member: &MemberId) -> Result<Moment, StoreError> {
    let mut one = connection.prepare_cached("SELECT created_at FROM member WHERE id = ?1")?;
    Ok(one.query_row([member], |row| Ok(Moment::from_millis(row.get(0)?)))?)
}

/// How many blueprints the member has, default ones too.
pub(super) fn count(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT (SELECT count(*) FROM default_blueprint) + (SELECT count(*) FROM blueprint b \
               WHERE b.member = ?1 AND NOT EXISTS \
               (SELECT 1 FROM default_blueprint d WHERE d.product = b.product))";
    store::count(connection, sql, [member])
}

/// Writes what was decided.
pub(super) fn apply(
    connection: &Connection,
    member: &MemberId,
    touched: &[Touched<Held>],
) -> Result<(), StoreError> {
    let mut put = connection.prepare_cached(
        "INSERT INTO blueprint (member, product, acquired_at, source, note) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (member, product) DO UPDATE SET acquired_at = excluded.acquired_at, \
         source = excluded.source, note = excluded.note",
    )?;
    let mut remove = connection.prepare_cached("DELETE FROM blueprint WHERE member = ?1 AND product = ?2")?;
    for Touched { key, after, .. } in touched {
        match after {
            Some(Held { acquired_at, source, note }) => {
                let acquired_at = acquired_at.map(Moment::millis);
                put.execute(params![member, key, acquired_at, source, note])?
            }
            None => remove.execute(params![member, key])?,
        };
    }
    Ok(())
}

/// Makes these products, and no others, the ones that every member is granted; the feed of every member
/// tells of the difference (BPR-10).
///
/// Belongs into one transaction.
///
/// # Errors
/// What the database says.
pub fn set_defaults<'p>(
    connection: &Connection,
    products: impl IntoIterator<Item = &'p str>,
    now: Moment,
) -> Result<(), StoreError> {
    let wanted: BTreeSet<&str> = products.into_iter().collect();
    let mut rows = connection.prepare_cached("SELECT product FROM default_blueprint")?;
    let had: BTreeSet<String> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut grant = connection.prepare_cached("INSERT INTO default_blueprint (product) VALUES (?1)")?;
    let mut end = connection.prepare_cached("DELETE FROM default_blueprint WHERE product = ?1")?;
    let mut changes = Vec::new();
    for key in wanted.iter().filter(|product| !had.contains(**product)) {
        grant.execute([key])?;
        changes.push(Change { key, gone: false });
    }
    for key in had.iter().filter(|product| !wanted.contains(product.as_str())) {
        end.execute([key])?;
        changes.push(Change { key, gone: true });
    }
    feed::record(connection, &Stream::shared(NAME), &Author::System, now, changes)
}
