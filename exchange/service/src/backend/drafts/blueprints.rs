//! Prepares the blueprints of a draft or a file for review (DRF-07).

use std::collections::HashMap;

use exchange_api::types::{BlueprintDraft, EnvelopeItem, ItemRef, Provenance};
use serde::{Deserialize, Serialize};

use super::super::connection::parse_timestamp;
use crate::catalogue::CatalogueIndex;
use crate::catalogue::contents::EntryKind;
use crate::time::Moment;

/// The maximum length of a name in a review, in characters.
const MAX_NAME_CHARS: usize = 200;

/// A blueprint of a draft, after duplicates were merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlueprintRow {
    /// The product to which the reference resolved, if any.
    #[serde(rename = "f")]
    pub found: BlueprintMatch,
    /// The earliest acquisition time that the client sent for the blueprint.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub acquired_at: Option<Moment>,
}

/// The result of resolving a reference in a draft.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BlueprintMatch {
    /// A product, by its stored key.
    #[serde(rename = "p")]
    Product(String),
    /// No unique match. Contains the name or, without a name, the first key that was sent, so that the member
    /// can pick a product.
    #[serde(rename = "n")]
    Unmatched(String),
}

/// Converts a draft into rows. Returns `None` if the draft contains a calendar date that does not exist
/// (CON-06).
pub(super) fn prepare_rows(index: &CatalogueIndex, body: &BlueprintDraft) -> Option<Vec<BlueprintRow>> {
    if body.generated_at.as_ref().is_some_and(|at| parse_timestamp(at).is_none()) {
        return None;
    }
    let mut items = Vec::with_capacity(body.items.len());
    for EnvelopeItem { ref_, acquired_at, provenance, .. } in &body.items {
        // Other fields of the item are ignored.
        let observed_at = provenance.as_ref().and_then(|Provenance { observed_at, .. }| observed_at.as_ref());
        if observed_at.is_some_and(|at| parse_timestamp(at).is_none()) {
            return None;
        }
        let acquired_at = match acquired_at {
            Some(at) => Some(parse_timestamp(at)?),
            None => None,
        };
        items.push((ref_, acquired_at));
    }
    Some(merge_rows(index, items))
}

/// Resolves references and merges duplicates. A merged row keeps the first position and the earliest time.
pub(super) fn merge_rows<'r>(
    index: &CatalogueIndex,
    items: impl IntoIterator<Item = (&'r ItemRef, Option<Moment>)>,
) -> Vec<BlueprintRow> {
    let mut rows: Vec<BlueprintRow> = Vec::new();
    let mut places: HashMap<BlueprintMatch, usize> = HashMap::new();
    for (reference, acquired_at) in items {
        let found = match_reference(index, reference);
        match places.get(&found).and_then(|place| rows.get_mut(*place)) {
            Some(row) => row.acquired_at = earlier_moment(row.acquired_at, acquired_at),
            None => {
                places.insert(found.clone(), rows.len());
                rows.push(BlueprintRow { found, acquired_at });
            }
        }
    }
    rows
}

/// Returns the earlier of two moments, or the only one; `None` if both are missing.
pub(super) fn earlier_moment(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn match_reference(index: &CatalogueIndex, reference: &ItemRef) -> BlueprintMatch {
    match index.find_unique(EntryKind::Blueprint, reference) {
        Some(entry) => BlueprintMatch::Product(entry.id.clone()),
        None => BlueprintMatch::Unmatched(reference_label(reference)),
    }
}

/// Returns a label that a person may recognize: the name or, without a name, the first key.
pub(crate) fn reference_label(reference: &ItemRef) -> String {
    let ItemRef { bt, sc_record, sc_guid, uex_id, loc_key, name, .. } = reference;
    let texts = [name, &bt.as_ref().map(ToString::to_string), sc_record, sc_guid];
    let text = texts.into_iter().flatten().next().cloned();
    let text = text.or_else(|| uex_id.as_ref().map(ToString::to_string)).or_else(|| loc_key.clone());
    text.unwrap_or_default().chars().take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange_api::types::{CatalogKey, UexId};

    /// DRF-07: an unmatched item is labelled with its name; without a name, with the first key in lookup
    /// order.
    #[test]
    fn unmatched_item_keeps_its_sent_label() {
        let mut reference = ItemRef::by_name("n".repeat(200)).unwrap();
        reference.bt = Some(CatalogKey::new("key").unwrap());
        assert_eq!(reference_label(&reference), "n".repeat(200));
        reference.name = None;
        assert_eq!(reference_label(&reference), "key");
        reference.bt = None;
        (reference.loc_key, reference.uex_id) = (Some("loc".to_owned()), Some(UexId::new(7).unwrap()));
        assert_eq!(reference_label(&reference), "7");
        reference.sc_guid = Some("guid".to_owned());
        assert_eq!(reference_label(&reference), "guid");
        reference.sc_record = Some("record".to_owned());
        assert_eq!(reference_label(&reference), "record");
    }
}
