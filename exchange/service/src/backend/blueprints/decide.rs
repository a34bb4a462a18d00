//! What ops on blueprints come to: plain functions over what is known.

use std::collections::BTreeMap;

use exchange_api::reasons::Reason;
use exchange_api::types::{ItemRef, OpId};

use super::super::change::{Decided, Extras, OpEnd, Touched, Writer};
use super::{Held, Target};
use crate::feed::Removal;

/// One op.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Op {
    pub(crate) op_id: Option<OpId>,
    /// The feed's key; it wins over the reference (A45).
    pub(crate) key: Option<String>,
    pub(crate) reference: Option<ItemRef>,
    pub(crate) wish: Wish,
    /// Whether it holds a day that there is not.
    pub(crate) broken: bool,
}

/// What an op wants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish {
    /// The product is there.
    Add {
        entry: Held,
        /// Whether the member was asked about a removal by somebody else (WRT-14).
        overrule: bool,
    },
    /// It is not.
    Remove,
}

/// What is known of the products that ops name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Known {
    pub(crate) products: BTreeMap<String, Product>,
    /// Products that the member holds and the catalogue has no more, by the hash of their keys.
    pub(crate) hashed: BTreeMap<String, String>,
}

/// What is known of one product.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Product {
    pub(crate) held: Option<Held>,
    pub(crate) is_default: bool,
    /// The last removal, when it is gone.
    pub(crate) gone: Option<Removal>,
}

/// A product on its way through the batch.
struct State {
    before: Product,
    now: Product,
    touched: bool,
    overridden: bool,
}

/// Decides ops in order, each as if those before it had run (WRT-02).
pub(crate) fn decide(known: Known, ops: &[Op], targets: &[Target], writer: &Writer) -> Decided<Held> {
    let Known { products, hashed } = known;
    let begin =
        |product: Product| State { before: product.clone(), now: product, touched: false, overridden: false };
    let mut states: BTreeMap<String, State> =
        products.into_iter().map(|(key, product)| (key, begin(product))).collect();
    let mut decide_one = |(op, target): (&Op, &Target)| {
        let key = match target {
            Target::Product(key) => key,
            Target::Hashed(hash) => match hashed.get(hash) {
                Some(key) => key,
                None => return OpEnd::Refused(Reason::Unmatched),
            },
            Target::Nothing => return OpEnd::Refused(Reason::Unmatched),
            Target::Several => return OpEnd::Refused(Reason::Ambiguous),
        };
        let state = states.entry(key.clone()).or_insert_with(|| begin(Product::default()));
        match &op.wish {
            Wish::Add { entry, overrule } => add(state, entry, *overrule, writer),
            Wish::Remove => remove(state, writer),
        }
    };
    let ends = ops.iter().zip(targets).map(&mut decide_one).collect();
    let touched = states.into_iter().filter(|(_, state)| state.touched).map(|(key, state)| {
        let State { before, now, overridden, .. } = state;
        let removal = before.held.is_some() && now.held.is_none();
        Touched { key, before: before.held, after: now.held, removal, overridden }
    });
    Decided { ends, touched: touched.collect(), extras: Extras::default(), notices: Vec::new() }
}

/// BPR-05 to BPR-07.
fn add(state: &mut State, entry: &Held, overrule: bool, writer: &Writer) -> OpEnd {
    if state.now.held.is_some() || state.now.is_default {
        return OpEnd::Unchanged;
    }
    let elsewhere = state.now.gone.as_ref().is_some_and(|gone| writer.must_ask(gone));
    if elsewhere && !overrule {
        return OpEnd::Refused(Reason::RemovedElsewhere);
    }
    state.overridden |= elsewhere;
    state.touched = true;
    state.now.gone = None;
    state.now.held = Some(entry.clone());
    OpEnd::Applied
}

/// BPR-08.
fn remove(state: &mut State, writer: &Writer) -> OpEnd {
    if state.now.is_default {
        return OpEnd::Refused(Reason::DefaultNotRemovable);
    }
    if state.now.held.is_none() {
        return OpEnd::Unchanged;
    }
    state.touched = true;
    state.now.held = None;
    state.now.gone = Some(Removal { at: writer.now, by: writer.author.clone() });
    OpEnd::Applied
}
