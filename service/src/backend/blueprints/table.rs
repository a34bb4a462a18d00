//! The tables of blueprints: what is loaded for a decision, and how one is written.

use std::collections::BTreeSet;

use exchange_api::types::ProvenanceSource;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::change::Touched;
use super::decide::{Known, Product};
use super::{Held, NAME, Target};
use crate::catalogue::shown_key;
use crate::feed::{self, Author, Change, Stream};
use crate::ids::MemberId;
use crate::store::{self, StoreError};
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
    let reader = Reader::of(connection, member)?;
    for product in products {
        known.products.insert(product.to_owned(), reader.find(product)?);
    }
    if hashes {
        // Only what the catalogue has lost comes here, and only keys that are shown by their hash.
        let mut long = connection
            .prepare_cached("SELECT product FROM blueprint WHERE member = ?1 AND length(product) > 128")?;
        let long: Vec<String> = long.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for product in long {
            known.products.insert(product.clone(), reader.find(&product)?);
            known.hashed.insert(shown_key(&product), product);
        }
    }
    Ok(known)
}

/// Reads one product after the other; what is the same for all of them is read once.
struct Reader<'c> {
    connection: &'c Connection,
    member: &'c MemberId,
    own: Stream,
    granted: Stream,
    /// When the member came.
    joined: Moment,
}

impl<'c> Reader<'c> {
    fn of(connection: &'c Connection, member: &'c MemberId) -> Result<Self, StoreError> {
        let sql = "SELECT created_at FROM member WHERE id = ?1";
        let joined = connection
            .prepare_cached(sql)?
            .query_row([member], |row| Ok(Moment::from_millis(row.get(0)?)))?;
        let (own, granted) = (Stream::of_member(NAME, member), Stream::shared(NAME));
        Ok(Self { connection, member, own, granted, joined })
    }

    fn find(&self, product: &str) -> Result<Product, StoreError> {
        let Self { connection, member, own, granted, joined } = self;
        let held = connection
            .prepare_cached(
                "SELECT acquired_at, source, note FROM blueprint WHERE member = ?1 AND product = ?2",
            )?
            .query_row(params![member, product], |row| {
                let acquired_at = row.get::<_, Option<i64>>(0)?.map(Moment::from_millis);
                Ok(Held { acquired_at, source: row.get(1)?, note: row.get(2)? })
            })
            .optional()?;
        let is_default = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM default_blueprint WHERE product = ?1)")?
            .query_row([product], |row| row.get(0))?;
        if held.is_some() || is_default {
            return Ok(Product { held, is_default, gone: None });
        }
        let own = feed::removal(connection, own, product)?;
        let granted = feed::removal(connection, granted, product)?;
        // A grant that ended before the member came was never theirs.
        let granted = granted.filter(|removal| removal.at >= *joined);
        // The later one took it away; of two at one moment the one that asks the member.
        let gone = match (own, granted) {
            (Some(own), Some(granted)) if own.at > granted.at => Some(own),
            (own, granted) => granted.or(own),
        };
        Ok(Product { held, is_default, gone })
    }
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
