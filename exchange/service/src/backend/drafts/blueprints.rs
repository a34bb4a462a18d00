//! Blueprints of a draft or a file, made ready for the review (DRF-07).

use std::collections::HashMap;

use exchange_api::types::{BlueprintDraft, EnvelopeItem, ItemRef, Provenance};
use serde::{Deserialize, Serialize};

use super::super::connection::moment;
use crate::catalogue::Index;
use crate::catalogue::contents::Kind;
use crate::time::Moment;

/// The longest name that a review shows.
const LONGEST_NAME: usize = 200;

/// A blueprint, once however often it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What its reference found.
    #[serde(rename = "f")]
    pub found: Found,
    /// The earliest moment that was sent with it.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub acquired_at: Option<Moment>,
}

/// What a reference found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Found {
    /// A product, by the key that the store has.
    #[serde(rename = "p")]
    Product(String),
    /// Not one: the name that was sent, or the first key, for the member to pick.
    #[serde(rename = "n")]
    Nothing(String),
}

/// The rows of a draft; none when it names a day that there is not (CON-06).
pub(super) fn prepare(index: &Index, body: &BlueprintDraft) -> Option<Vec<Row>> {
    if body.generated_at.as_ref().is_some_and(|at| moment(at).is_none()) {
        return None;
    }
    let mut items = Vec::with_capacity(body.items.len());
    for EnvelopeItem { ref_, acquired_at, provenance, .. } in &body.items {
        // Nothing else of it is read.
        let observed_at = provenance.as_ref().and_then(|Provenance { observed_at, .. }| observed_at.as_ref());
        if observed_at.is_some_and(|at| moment(at).is_none()) {
            return None;
        }
        let acquired_at = match acquired_at {
            Some(at) => Some(moment(at)?),
            None => None,
        };
        items.push((ref_, acquired_at));
    }
    Some(merged(index, items))
}

/// Resolves, and leaves each blueprint once, where it came first, with the earlier of its moments.
pub(super) fn merged<'r>(
    index: &Index,
    items: impl IntoIterator<Item = (&'r ItemRef, Option<Moment>)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<Found, usize> = HashMap::new();
    for (reference, acquired_at) in items {
        let found = found(index, reference);
        match places.get(&found).and_then(|place| rows.get_mut(*place)) {
            Some(row) => row.acquired_at = earlier(row.acquired_at, acquired_at),
            None => {
                places.insert(found.clone(), rows.len());
                rows.push(Row { found, acquired_at });
            }
        }
    }
    rows
}

/// The earlier of two moments, when there is one.
pub(super) fn earlier(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn found(index: &Index, reference: &ItemRef) -> Found {
    match index.find(Kind::Blueprint, reference) {
        Some(entry) => Found::Product(entry.id.clone()),
        None => Found::Nothing(label(reference)),
    }
}

/// What a person may know it by: its name, or else the first of its keys.
fn label(reference: &ItemRef) -> String {
    let ItemRef { bt, sc_record, sc_guid, uex_id, loc_key, name, .. } = reference;
    let texts = [name, &bt.as_ref().map(ToString::to_string), sc_record, sc_guid];
    let text = texts.into_iter().flatten().next().cloned();
    let text = text.or_else(|| uex_id.as_ref().map(ToString::to_string)).or_else(|| loc_key.clone());
    text.unwrap_or_default().chars().take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange_api::types::{CatalogKey, UexId};

    /// DRF-07: the name, or the first key in the order in which keys are tried.
    #[test]
    fn what_is_not_found_is_called_as_it_was_sent() {
        let mut reference = ItemRef::by_name("n".repeat(200)).unwrap();
        reference.bt = Some(CatalogKey::new("key").unwrap());
        assert_eq!(label(&reference), "n".repeat(200));
        reference.name = None;
        assert_eq!(label(&reference), "key");
        reference.bt = None;
        (reference.loc_key, reference.uex_id) = (Some("loc".to_owned()), Some(UexId::new(7).unwrap()));
        assert_eq!(label(&reference), "7");
        reference.sc_guid = Some("guid".to_owned());
        assert_eq!(label(&reference), "guid");
        reference.sc_record = Some("record".to_owned());
        assert_eq!(label(&reference), "record");
    }
}
