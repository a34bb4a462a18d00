//! The common interface of the ops of the four areas.

use std::cmp::Ordering;

use exchange_api::{
    Contract,
    calls::{BlueprintsWriteCall, OrgStockWriteCall, ShipsWriteCall, StockWriteCall},
    client::Call,
    runtime::client::{ApiClient, RequestBuilder},
    types::{
        BlueprintChangeSet, BlueprintOp, ChangeResult, EntryId, Extensions, ItemRef, OpId, OrgStockChangeSet,
        OrgStockOp, Problem, ShipChangeSet, ShipId, ShipOp, StockChangeSet, StockOp,
    },
};

use super::{Lane, quantity};

/// An op of one of the four areas. This trait is sealed: it is implemented only for the op types of the
/// contract.
pub trait ChangeOp: Contract + Clone + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// The API call that sends change sets of this op type.
    type Call: Call<Success = ChangeResult, ErrorBody = Problem>;
    /// The area that the ops change.
    const LANE: Lane;
    /// True if untied ops may be reordered.
    const INDEPENDENT: bool;

    /// Returns the op id, if it has one.
    fn id(&self) -> Option<&OpId>;

    /// Sets the op id.
    fn set_id(&mut self, id: OpId);

    /// Returns the names of the things that the op changes. Ops that share a name change the same thing.
    fn subject_names(&self) -> Vec<String>;

    /// Returns the ship that no other op of the change set may update or remove.
    fn exclusive_ship(&self) -> Option<&ShipId> {
        None
    }

    /// Returns whether the op increases or decreases stock. Ops that share a name are tied only if one of
    /// them increases and another decreases stock. With `None`, they are always tied.
    fn stock_direction(&self) -> Option<Ordering> {
        None
    }

    /// Returns the op with `override: true`, if it supports that. Ask the member first (WRT-14).
    fn with_override(&self) -> Option<Self>;

    /// Builds the request that sends a change set.
    fn build_request(
        core: &ApiClient,
        key: &str,
        ops: Vec<Self>,
        dry_run: Option<bool>,
        extensions: Option<Extensions>,
    ) -> RequestBuilder;

    /// Parses the body of a request built by [`build_request`](Self::build_request): ops, `dryRun` and
    /// extensions.
    fn parse_change_set(body: &[u8]) -> Option<(Vec<Self>, Option<bool>, Option<Extensions>)>;
}

mod sealed {
    /// Restricts [`ChangeOp`](super::ChangeOp) to the ops of the contract.
    pub trait Sealed {}
    impl Sealed for super::BlueprintOp {}
    impl Sealed for super::StockOp {}
    impl Sealed for super::ShipOp {}
    impl Sealed for super::OrgStockOp {}
}

/// Implements the methods that differ only in the variants, the change set type and the call type.
macro_rules! parts {
    ($call:ident $set:ident { $($variant:ident),* }) => {
        type Call = $call;

        fn id(&self) -> Option<&OpId> {
            match self {
                $(Self::$variant(op) => op.op_id.as_ref(),)*
            }
        }

        fn set_id(&mut self, id: OpId) {
            match self {
                $(Self::$variant(op) => op.op_id = Some(id),)*
            }
        }

        fn build_request(
            core: &ApiClient,
            key: &str,
            ops: Vec<Self>,
            dry_run: Option<bool>,
            extensions: Option<Extensions>,
        ) -> RequestBuilder {
            let body = $set { ops, dry_run, extensions, extra: exchange_api::Map::new() };
            $call { idempotency_key: key.to_owned(), body }.build_request(core)
        }

        fn parse_change_set(body: &[u8]) -> Option<(Vec<Self>, Option<bool>, Option<Extensions>)> {
            let set = $set::parse(body).ok()?;
            Some((set.ops, set.dry_run, set.extensions))
        }
    };
}

impl ChangeOp for BlueprintOp {
    parts!(BlueprintsWriteCall BlueprintChangeSet { Add, Remove });

    const LANE: Lane = Lane::Blueprints;
    const INDEPENDENT: bool = true;

    fn subject_names(&self) -> Vec<String> {
        match self {
            Self::Add(op) => comparable_names(&op.ref_),
            Self::Remove(op) => {
                let mut names = op.ref_.as_ref().map(comparable_names).unwrap_or_default();
                // The key in the feed is the product's `bt` (RES-03).
                names.extend(op.key.as_ref().map(|key| format!("bt {key}")));
                names
            }
        }
    }

    fn with_override(&self) -> Option<Self> {
        match self {
            Self::Add(op) => {
                let mut op = op.clone();
                op.override_ = Some(true);
                Some(Self::Add(op))
            }
            Self::Remove(_) => None,
        }
    }
}

impl ChangeOp for StockOp {
    parts!(StockWriteCall StockChangeSet { SetQuantity });

    const LANE: Lane = Lane::Stock;
    const INDEPENDENT: bool = true;

    /// Returns the names of the material. A move, or a change of the stolen mark, is a decrease and an
    /// increase of one material, so both ops share its names (STK-19, STK-20).
    fn subject_names(&self) -> Vec<String> {
        let Self::SetQuantity(op) = self;
        comparable_names(&op.material)
    }

    fn stock_direction(&self) -> Option<Ordering> {
        let Self::SetQuantity(op) = self;
        Some(quantity::compare(&op.quantity, &op.expected_quantity).unwrap_or(Ordering::Equal))
    }

    fn with_override(&self) -> Option<Self> {
        let Self::SetQuantity(op) = self;
        let mut op = op.clone();
        op.override_ = Some(true);
        Some(Self::SetQuantity(op))
    }
}

impl ChangeOp for ShipOp {
    parts!(ShipsWriteCall ShipChangeSet { Link, Upsert, Remove });

    const LANE: Lane = Lane::Ships;
    const INDEPENDENT: bool = true;

    fn subject_names(&self) -> Vec<String> {
        let (ship, external_id) = match self {
            Self::Link(op) => (Some(&op.ship_id), Some(&op.external_id)),
            Self::Upsert(op) => (op.ship_id.as_ref(), Some(&op.external_id)),
            Self::Remove(op) => (Some(&op.ship_id), None),
        };
        let ship = ship.map(|id| format!("ship {id}"));
        ship.into_iter().chain(external_id.map(|id| format!("own {id}"))).collect()
    }

    fn exclusive_ship(&self) -> Option<&ShipId> {
        match self {
            Self::Link(_) => None,
            Self::Upsert(op) => op.ship_id.as_ref(),
            Self::Remove(op) => Some(&op.ship_id),
        }
    }

    fn with_override(&self) -> Option<Self> {
        match self {
            Self::Upsert(op) => {
                let mut op = op.clone();
                op.override_ = Some(true);
                Some(Self::Upsert(op))
            }
            Self::Link(_) | Self::Remove(_) => None,
        }
    }
}

impl ChangeOp for OrgStockOp {
    parts!(OrgStockWriteCall OrgStockChangeSet {
        BookIn, BookOut, Sell, MoveLocation, MoveHolder, MovePool, Note, Stolen
    });

    const LANE: Lane = Lane::OrgStock;
    // An entry can merge into another entry that no op names.
    const INDEPENDENT: bool = false;

    fn subject_names(&self) -> Vec<String> {
        self.target_entry().map(|entry| format!("entry {entry}")).into_iter().collect()
    }

    fn with_override(&self) -> Option<Self> {
        None
    }
}

/// Access to the entry that an op changes.
trait TargetEntry {
    fn target_entry(&self) -> Option<&EntryId>;
}

impl TargetEntry for OrgStockOp {
    fn target_entry(&self) -> Option<&EntryId> {
        match self {
            Self::BookIn(_) => None,
            Self::BookOut(op) => Some(&op.entry),
            Self::Sell(op) => Some(&op.entry),
            Self::MoveLocation(op) => Some(&op.entry),
            Self::MoveHolder(op) => Some(&op.entry),
            Self::MovePool(op) => Some(&op.entry),
            Self::Note(op) => Some(&op.entry),
            Self::Stolen(op) => Some(&op.entry),
        }
    }
}

/// Returns all names of a reference, in the form in which the exchange compares them (TYP-02). If two
/// references share a name, they may identify the same thing. Callers assume that they do, which is safe even
/// if it is wrong.
pub(super) fn comparable_names(item: &ItemRef) -> Vec<String> {
    let text = |kind: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!("{kind} {}", value.to_lowercase()))
    };
    let known = [
        item.bt.as_ref().map(|key| format!("bt {key}")),
        text("record", &item.sc_record),
        text("guid", &item.sc_guid),
        item.uex_id.as_ref().map(|id| format!("uex {}", id.get())),
        text("loc", &item.loc_key),
        text("name", &item.name),
    ];
    known.into_iter().flatten().collect()
}
