//! Decides blueprint ops with pure functions over the loaded state.

use std::collections::BTreeMap;

use exchange_api::reasons::Reason;
use exchange_api::types::{ItemRef, OpId};

use super::super::change::{BatchDecision, ChangeExtras, EntryDelta, OpStatus, WriteContext};
use super::{BlueprintTarget, HeldBlueprint};
use crate::feed::KeyRemoval;

/// A blueprint op after parsing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedBlueprintOp {
    pub(crate) op_id: Option<OpId>,
    /// The product's key in the feed; it takes precedence over the reference (A45).
    pub(crate) key: Option<String>,
    pub(crate) reference: Option<ItemRef>,
    pub(crate) action: BlueprintAction,
    /// Whether the op contains a calendar date that does not exist.
    pub(crate) has_invalid_date: bool,
}

/// The requested change of a blueprint op.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BlueprintAction {
    /// Adds the product to the blueprints that the member holds.
    Add {
        entry: HeldBlueprint,
        /// Whether the member allowed adding the product despite its removal by another author (WRT-14).
        overrides_removal: bool,
    },
    /// Removes the product from the blueprints that the member holds.
    Remove,
}

/// The stored state of the products that ops refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BlueprintState {
    pub(crate) products: BTreeMap<String, ProductState>,
    /// The keys of the products that the member holds and the catalogue lacks, by the hash of the key.
    pub(crate) hashed: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProductState {
    pub(crate) held: Option<HeldBlueprint>,
    pub(crate) is_default: bool,
    /// The last removal of the product, if it is not held.
    pub(crate) gone: Option<KeyRemoval>,
}

/// The state of a product while the ops of a batch are decided.
struct WorkingProduct {
    before: ProductState,
    now: ProductState,
    touched: bool,
    overridden: bool,
}

/// Decides the ops in order; each op sees the effects of the ops before it (WRT-02).
pub(crate) fn decide_ops(
    loaded: BlueprintState,
    ops: &[ParsedBlueprintOp],
    targets: &[BlueprintTarget],
    writer: &WriteContext,
) -> BatchDecision<HeldBlueprint> {
    let BlueprintState { products, hashed } = loaded;
    let begin = |product: ProductState| WorkingProduct {
        before: product.clone(),
        now: product,
        touched: false,
        overridden: false,
    };
    let mut states: BTreeMap<String, WorkingProduct> =
        products.into_iter().map(|(key, product)| (key, begin(product))).collect();
    let mut decide_one = |(op, target): (&ParsedBlueprintOp, &BlueprintTarget)| {
        let key = match target {
            BlueprintTarget::Product(key) => key,
            BlueprintTarget::Hashed(hash) => match hashed.get(hash) {
                Some(key) => key,
                None => return OpStatus::Refused(Reason::Unmatched),
            },
            BlueprintTarget::Unmatched => return OpStatus::Refused(Reason::Unmatched),
            BlueprintTarget::Ambiguous => return OpStatus::Refused(Reason::Ambiguous),
        };
        let state = states.entry(key.clone()).or_insert_with(|| begin(ProductState::default()));
        match &op.action {
            BlueprintAction::Add { entry, overrides_removal } => {
                add_product(state, entry, *overrides_removal, writer)
            }
            BlueprintAction::Remove => remove_product(state, writer),
        }
    };
    let ends = ops.iter().zip(targets).map(&mut decide_one).collect();
    let touched = states.into_iter().filter(|(_, state)| state.touched).map(|(key, state)| {
        let WorkingProduct { before, now, overridden, .. } = state;
        let removal = before.held.is_some() && now.held.is_none();
        EntryDelta { key, before: before.held, after: now.held, removal, overridden }
    });
    BatchDecision {
        statuses: ends,
        touched: touched.collect(),
        extras: ChangeExtras::default(),
        notices: Vec::new(),
    }
}

/// Applies an op of kind `add` (BPR-05 to BPR-07).
fn add_product(
    state: &mut WorkingProduct,
    entry: &HeldBlueprint,
    overrides_removal: bool,
    writer: &WriteContext,
) -> OpStatus {
    if state.now.held.is_some() || state.now.is_default {
        return OpStatus::Unchanged;
    }
    let elsewhere = state.now.gone.as_ref().is_some_and(|gone| writer.needs_override(gone));
    if elsewhere && !overrides_removal {
        return OpStatus::Refused(Reason::RemovedElsewhere);
    }
    state.overridden |= elsewhere;
    state.touched = true;
    state.now.gone = None;
    state.now.held = Some(entry.clone());
    OpStatus::Applied
}

/// Applies an op of kind `remove` (BPR-08).
fn remove_product(state: &mut WorkingProduct, writer: &WriteContext) -> OpStatus {
    if state.now.is_default {
        return OpStatus::Refused(Reason::DefaultNotRemovable);
    }
    if state.now.held.is_none() {
        return OpStatus::Unchanged;
    }
    state.touched = true;
    state.now.held = None;
    state.now.gone = Some(KeyRemoval { at: writer.now, by: writer.author.clone() });
    OpStatus::Applied
}
