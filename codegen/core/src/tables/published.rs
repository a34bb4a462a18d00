//! Queries about the rows of the validation tables. The code generator uses them to publish the JSON Schemas
//! of the generated types: which rows need their own definition, from which rows a `$dynamicRef` is
//! reachable, and which schema each row represents.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::schema::{Keyword, SchemaId as RowId};

use super::{TableSet, rows::RowContent};
use crate::schema::SchemaId;

impl<'t> TableSet<'t> {
    /// Returns, for each row, the rows that it references.
    fn row_references(&self) -> Vec<Vec<RowId>> {
        let rows = self.tables.schemas.iter().map(|row| {
            let mut found = Vec::new();
            row.keywords.iter().for_each(|keyword| keyword.collect_schemas(&mut found));
            found
        });
        rows.collect()
    }

    /// Returns the rows that are referenced more than once or that a `$dynamicRef` may select. Every cycle
    /// contains at least one of these rows.
    pub(crate) fn shared_rows(&self) -> BTreeSet<RowId> {
        let mut places: BTreeMap<RowId, usize> = BTreeMap::new();
        for row in self.row_references().into_iter().flatten() {
            *places.entry(row).or_default() += 1;
        }
        let shared = places.into_iter().filter(|(_, places)| *places > 1).map(|(row, _)| row);
        let anchors = self.tables.resources.iter().flat_map(|resource| resource.dynamic_anchors);
        shared.chain(anchors.map(|(_, row)| *row)).collect()
    }

    /// Returns the rows from which a `$dynamicRef` is reachable.
    pub(crate) fn dynamic_rows(&self) -> BTreeSet<RowId> {
        let is_dynamic = |keywords: &[Keyword<'_>]| {
            keywords.iter().any(|keyword| matches!(keyword, Keyword::DynamicRef { .. }))
        };
        let mut found: BTreeSet<RowId> = BTreeSet::new();
        if !self.tables.schemas.iter().any(|row| is_dynamic(row.keywords)) {
            return found;
        }
        let mut users: BTreeMap<RowId, Vec<RowId>> = BTreeMap::new();
        let mut next = Vec::new();
        for ((row, schema), targets) in (0..).map(RowId).zip(self.tables.schemas).zip(self.row_references()) {
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

    /// Returns the row that validates all of these schemas, if the tables contain one.
    pub(crate) fn row_id(&self, ids: &[SchemaId]) -> Option<RowId> {
        self.plan.rows.row_of_all(ids)
    }

    /// Returns the path of a row as it is referenced from a sibling of the module `schemas`:
    /// `schemas::SHIP.offset_by(3)`.
    pub(crate) fn row_text(&self, row: RowId) -> String {
        self.plan.rows.row_name(row).map_or_else(String::new, |name| format!("schemas::{name}"))
    }

    /// Returns the file name and the location of a row's schema, such as `ship.schema.json` and
    /// `/$defs/shipId`.
    pub(crate) fn row_place(&self, row: RowId) -> Option<(&'t str, &'t str)> {
        let schema = self.tables.schemas.get(row.0 as usize)?;
        let resource = self.tables.resources.get(schema.resource.0 as usize)?;
        Some((resource.uri.rsplit('/').next().unwrap_or(resource.uri), schema.location))
    }

    /// Iterates over the rows that represent a single schema, in order, with the schema. Rows of conjunctions
    /// are skipped.
    pub(crate) fn own_rows(&self) -> impl Iterator<Item = (RowId, SchemaId)> {
        let contents = self.plan.rows.groups.iter().flat_map(|group| &group.rows);
        (0..).map(RowId).zip(contents).filter_map(|(row, content)| match content {
            RowContent::Schema(id) => Some((row, *id)),
            RowContent::Conjunction(_) => None,
        })
    }
}
