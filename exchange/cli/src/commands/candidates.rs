//! Reads the catalogue entries that match the ambiguous references of ops, so that the member can pick one (RES-13).

use exchange_client::{
    ReferenceResolution,
    api::{
        Contract as _, Json,
        operations::OperationId,
        reasons::Reason,
        types::{CatalogEntry, CatalogKind, ItemRef},
    },
    changes::{Lane, OpVerdict},
};

use super::{CommandContext, outcomes::OpReport};
use crate::{args::values::property, output::Output};

/// A catalogue reference that matched several entries.
pub(super) struct AmbiguousReference {
    reference: ItemRef,
    lane: Lane,
    /// The entries that match. Empty until they are read.
    pub(super) candidates: Vec<CatalogEntry>,
}

impl AmbiguousReference {
    /// Returns the reference of an op that was not applied because its reference is ambiguous.
    pub(super) fn from_op(lane: Lane, op: Option<&Json>, verdict: &OpVerdict) -> Option<Self> {
        let OpVerdict::NotApplied { reason: Some(Reason::Ambiguous), .. } = verdict else { return None };
        let json = property(op?, property_with_reference(lane))?;
        let reference = ItemRef::parse_valid(json.to_string().as_bytes()).ok()?;
        Some(Self { reference, lane, candidates: Vec::new() })
    }
}

/// Returns the property of an op that contains its catalogue reference.
const fn property_with_reference(lane: Lane) -> &'static str {
    match lane {
        Lane::Blueprints => "ref",
        Lane::Ships => "shipType",
        _ => "material",
    }
}

/// Returns the kinds of entries among which the exchange looks up a reference.
const fn kinds_of(lane: Lane) -> &'static [CatalogKind] {
    match lane {
        Lane::Blueprints => &[CatalogKind::Blueprint],
        Lane::Ships => &[CatalogKind::ShipType],
        _ => &[CatalogKind::Material, CatalogKind::Item],
    }
}

/// Reads the candidates of all ambiguous references, with few requests. They are only a help, so that errors are
/// ignored.
pub(super) async fn read_candidates<'r>(
    ops: impl Iterator<Item = &'r mut OpReport>,
    context: &CommandContext,
    output: &mut Output,
) {
    let mut ambiguous: Vec<&mut AmbiguousReference> = ops.filter_map(|op| op.ambiguous.as_mut()).collect();
    if ambiguous.is_empty() {
        return;
    }
    let Ok(exchange) = context.exchange_for_operation(OperationId::CatalogResolve, output).await else {
        return;
    };
    let catalogue = context.catalogue(&exchange);
    for lane in Lane::ALL {
        let mut of_lane: Vec<_> = ambiguous.iter_mut().filter(|found| found.lane == lane).collect();
        let references: Vec<ItemRef> = of_lane.iter().map(|found| found.reference.clone()).collect();
        for kind in kinds_of(lane) {
            let Ok(lookups) = catalogue.resolve(*kind, &references).await else { return };
            for (found, lookup) in of_lane.iter_mut().zip(lookups) {
                if let ReferenceResolution::Ambiguous(entries) = lookup.resolution {
                    found.candidates.extend(entries);
                }
            }
        }
    }
}
