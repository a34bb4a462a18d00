//! The member's blueprints as a collection: their own and the default ones, in pages (BPR-01, BPR-10).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use contract_runtime::Map;
use exchange_api::types::{Blueprint, Provenance, ProvenanceSource};
use rusqlite::{Connection, Row, params};

use super::super::catalogue::shown;
use super::super::connection::timestamp;
use super::NAME;
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, shown_key};
use crate::feed::{Collection, Source, Stream};
use crate::ids::MemberId;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// What one member reads.
#[derive(Debug)]
pub(super) struct Mine {
    pub(super) member: MemberId,
    /// Names the products.
    pub(super) index: Arc<Index>,
}

impl Collection for Mine {
    type Item = Blueprint;

    const RESOURCE: &'static str = NAME;

    fn member(&self) -> &MemberId {
        &self.member
    }

    fn sources(&self, _: &Connection) -> Result<Vec<Source>, StoreError> {
        let streams = [Stream::of_member(NAME, &self.member), Stream::shared(NAME)];
        Ok(streams.into_iter().map(|stream| Source { stream, variant: 0 }).collect())
    }

    fn snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        most: usize,
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
        let most = limit(most);
        let mut rows = rows.query(params![self.member, behind.unwrap_or_default(), most])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let product: String = row.get(0)?;
            let item = self.item(&product, row)?;
            found.push((product, item));
        }
        Ok(found)
    }

    fn current(
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
                found.insert(key.clone(), self.item(key, row)?);
            }
        }
        Ok(found)
    }

    fn shown_key(&self, key: String) -> String {
        shown_key(&key)
    }
}

impl Mine {
    /// A row as answers have it; its columns are those of the queries above.
    fn item(&self, product: &str, row: &Row<'_>) -> Result<Blueprint, StoreError> {
        let corrupt = |_| StoreError::Corrupt("a blueprint's key");
        let ref_ = shown(&shown_key(product), self.index.name_of(Kind::Blueprint, product))?;
        let acquired: Option<i64> = row.get(1)?;
        let source: Option<String> = row.get(2)?;
        let provenance = source.map(|source| {
            let source = ProvenanceSource::from(source.as_str());
            Provenance { source, observed_at: None, extra: Map::new() }
        });
        Ok(Blueprint {
            key: ref_.bt.as_str().parse().map_err(corrupt)?,
            ref_,
            acquired_at: acquired.map(|at| timestamp(Moment::from_millis(at))).transpose()?,
            provenance,
            is_default: row.get(4)?,
            note: row.get(3)?,
            extensions: None,
            extra: Map::new(),
        })
    }
}
