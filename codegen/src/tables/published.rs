//! What there is to know of rows beside their rules, for whoever publishes them: which need a name,
//! which mean something else from place to place, what else their schemas say.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::schema::{Keyword, SchemaId as RowId};

use super::{TableSet, rows::Content};
use crate::schema::SchemaId;

impl<'t> TableSet<'t> {
    /// What every row refers to, in the order of the rows.
    fn references(&self) -> Vec<Vec<RowId>> {
        let rows = self.tables.schemas.iter().map(|row| {
            let mut found = Vec::new();
            row.keywords.iter().for_each(|keyword| keyword.schemas(&mut found));
            found
        });
        rows.collect()
    }

    /// The rows that more than one place refers to, or a `$dynamicRef` may mean; every circle goes
    /// through one.
    pub(crate) fn shared(&self) -> BTreeSet<RowId> {
        let mut places: BTreeMap<RowId, usize> = BTreeMap::new();
        for row in self.references().into_iter().flatten() {
            *places.entry(row).or_default() += 1;
        }
        let shared = places.into_iter().filter(|(_, places)| *places > 1).map(|(row, _)| row);
        let anchors = self.tables.resources.iter().flat_map(|resource| resource.dynamic_anchors);
        shared.chain(anchors.map(|(_, row)| *row)).collect()
    }

    /// The rows from which a `$dynamicRef` is reached.
    pub(crate) fn dynamic(&self) -> BTreeSet<RowId> {
        let is_dynamic = |keywords: &[Keyword<'_>]| {
            keywords.iter().any(|keyword| matches!(keyword, Keyword::DynamicRef { .. }))
        };
        let mut found: BTreeSet<RowId> = BTreeSet::new();
        if !self.tables.schemas.iter().any(|row| is_dynamic(row.keywords)) {
            return found;
        }
        let mut users: BTreeMap<RowId, Vec<RowId>> = BTreeMap::new();
        let mut next = Vec::new();
        for ((row, schema), targets) in (0..).map(RowId).zip(self.tables.schemas).zip(self.references()) {
            if is_dynamic(schema.keywords) {
                next.push(row);
            }
            targets.into_iter().for_each(|target| users.entry(target).or_default().push(row));
        }
        while let Some(row) = next.pop() {
            if found.insert(row) {
                next.extend(users.get(&row).into_iter().flatten());
            }
        }
        found
    }

    /// The row of what several schemas say together.
    pub(crate) fn row_id(&self, ids: &[SchemaId]) -> Option<RowId> {
        self.plan.rows.all(ids)
    }

    /// A row as it is named from beside the module `schemas`: `schemas::SHIP.plus(3)`.
    pub(crate) fn row_text(&self, row: RowId) -> String {
        self.plan.rows.name(row).map_or_else(String::new, |name| format!("schemas::{name}"))
    }

    /// Where a row's schema stands: `ship.schema.json`, `/$defs/shipId`.
    pub(crate) fn row_place(&self, row: RowId) -> Option<(&'t str, &'t str)> {
        let schema = self.tables.schemas.get(row.0 as usize)?;
        let resource = self.tables.resources.get(schema.resource.0 as usize)?;
        Some((resource.uri.rsplit('/').next().unwrap_or(resource.uri), schema.location))
    }

    /// The rows that one schema has to itself, in order.
    pub(crate) fn own_rows(&self) -> impl Iterator<Item = (RowId, SchemaId)> {
        let contents = self.plan.rows.groups.iter().flat_map(|group| &group.rows);
        (0..).map(RowId).zip(contents).filter_map(|(row, content)| match content {
            Content::Schema(id) => Some((row, *id)),
            Content::All(_) => None,
        })
    }
}
