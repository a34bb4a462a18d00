//! The paged collection of a member's blueprints: acquired and default ones (BPR-01, BPR-10).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contract_runtime::{Map, Nullable};
use exchange_api::types::{Blueprint, Provenance, ProvenanceSource};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::catalog_entry;
use super::super::connection::format_timestamp;
use super::NAME;
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, shown_key};
use crate::feed::{FeedStream, PagedCollection, StreamSource};
use crate::ids::MemberId;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

#[derive(Debug)]
pub(super) struct BlueprintCollection {
    pub(super) member: MemberId,
    /// Provides the products' names.
    pub(super) index: Arc<CatalogueIndex>,
}

impl PagedCollection for BlueprintCollection {
    type Item = Blueprint;

    const RESOURCE: &'static str = NAME;

    fn reader(&self) -> &MemberId {
        &self.member
    }

    fn list_sources(&self, _: &Connection) -> Result<Vec<StreamSource>, StoreError> {
        let streams = [FeedStream::of_member(NAME, &self.member), FeedStream::shared_by_area(NAME)];
        Ok(streams.into_iter().map(|stream| StreamSource { stream, variant: 0 }).collect())
    }

    fn read_snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Blueprint)>, StoreError> {
        let mut rows = connection.prepare_cached(
            "SELECT b.product AS product, b.acquired_at, b.source, b.note, d.product IS NOT NULL \
             FROM blueprint b LEFT JOIN default_blueprint d ON d.product = b.product \
             WHERE b.member = ?1 AND b.product > ?2 \
             UNION ALL \
             SELECT d.product, NULL, 'default', NULL, 1 FROM default_blueprint d \
             WHERE d.product > ?2 AND NOT EXISTS \
             (SELECT 1 FROM blueprint b WHERE b.member = ?1 AND b.product = d.product) \
             ORDER BY product LIMIT ?3",
        )?;
        let limit = sql_limit(limit);
        let mut rows = rows.query(params![self.member, behind.unwrap_or_default(), limit])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let product: String = row.get(0)?;
            let item = self.read_item(&product, row)?;
            found.push((product, item));
        }
        Ok(found)
    }

    fn load_current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, Blueprint>, StoreError> {
        let mut one = connection.prepare_cached(
            "SELECT k.product, b.acquired_at, \
             CASE WHEN b.product IS NULL THEN 'default' ELSE b.source END, b.note, d.product IS NOT NULL \
             FROM (SELECT ?2 AS product) k \
             LEFT JOIN blueprint b ON b.member = ?1 AND b.product = k.product \
             LEFT JOIN default_blueprint d ON d.product = k.product \
             WHERE b.product IS NOT NULL OR d.product IS NOT NULL",
        )?;
        let mut found = HashMap::new();
        for key in keys {
            let mut rows = one.query(params![self.member, key])?;
            if let Some(row) = rows.next()? {
                found.insert(key.clone(), self.read_item(key, row)?);
            }
        }
        Ok(found)
    }

    fn shown_key(&self, key: String) -> String {
        shown_key(&key)
    }
}

impl BlueprintCollection {
    /// Converts a row of one of the queries above into a blueprint of the contract.
    fn read_item(&self, product: &str, row: &Row<'_>) -> Result<Blueprint, StoreError> {
        let corrupt = |_| StoreError::Corrupt("invalid blueprint key");
        let ref_ = catalog_entry(&shown_key(product), self.index.name_of(EntryKind::Blueprint, product))?;
        let acquired: Option<i64> = row.get(1)?;
        let source: Option<String> = row.get(2)?;
        let provenance = source.map(|source| {
            let source = ProvenanceSource::from(source.as_str());
            Provenance { source, observed_at: None, extra: Map::new() }
        });
        Ok(Blueprint {
            key: ref_.bt.as_str().parse().map_err(corrupt)?,
            ref_,
            acquired_at: acquired.map(|at| format_timestamp(Moment::from_millis(at))).transpose()?,
            provenance,
            is_default: row.get(4)?,
            note: row.get::<_, Option<String>>(3)?.map(Nullable::Value),
            extensions: None,
            extra: Map::new(),
        })
    }
}
