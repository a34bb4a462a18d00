//! What the ops of the four areas have in common.

use std::cmp::Ordering;

use exchange_api::{
    Contract,
    calls::{BlueprintsWriteCall, OrgStockWriteCall, ShipsWriteCall, StockWriteCall},
    client::Call,
    runtime::client::{Core, Request},
    types::{
        BlueprintChangeSet, BlueprintOp, ChangeResult, EntryId, Extensions, ItemRef, OpId, OrgStockChangeSet,
        OrgStockOp, Problem, ShipChangeSet, ShipId, ShipOp, StockChangeSet, StockOp,
    },
};

use super::{Lane, quantity};

/// An op of one of the four areas. Implemented for the contract's ops, and for nothing else.
pub trait Op: Contract + Clone + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// The call that its change sets are sent with.
    type Call: Call<Success = ChangeResult, Refusal = Problem>;
    /// Its area.
    const LANE: Lane;
    /// Whether ops that do not belong together may be sent in another order.
    const INDEPENDENT: bool;

    /// Its id.
    fn id(&self) -> Option<&OpId>;

    /// Gives it an id.
    fn identify(&mut self, id: OpId);

    /// By what other ops are known to be about the same thing: each text is one name of it.
    fn names(&self) -> Vec<String>;

    /// The ship that no other op of the set may update or remove.
    fn only_once(&self) -> Option<&ShipId> {
        None
    }

    /// Whether what it is about becomes less or more, where only those two together belong in one batch.
    fn direction(&self) -> Option<Ordering> {
        None
    }

    /// The same op with `override: true`, where there is such a thing. Ask the member first (WRT-14).
    fn overridden(&self) -> Option<Self>;

    /// The request of a change set.
    fn request(
        core: &Core,
        key: &str,
        ops: Vec<Self>,
        dry_run: Option<bool>,
        extensions: Option<Extensions>,
    ) -> Request;

    /// Reads the body of such a request: ops, `dryRun`, extensions.
    fn read_set(body: &[u8]) -> Option<(Vec<Self>, Option<bool>, Option<Extensions>)>;
}

mod sealed {
    /// Keeps [`Op`](super::Op) to the contract's ops.
    pub trait Sealed {}
    impl Sealed for super::BlueprintOp {}
    impl Sealed for super::StockOp {}
    impl Sealed for super::ShipOp {}
    impl Sealed for super::OrgStockOp {}
}

/// What is written out for each area: its variants, its set and its call.
macro_rules! parts {
    ($call:ident $set:ident { $($variant:ident),* }) => {
        type Call = $call;

        fn id(&self) -> Option<&OpId> {
            match self {
                $(Self::$variant(op) => op.op_id.as_ref(),)*
            }
        }

        fn identify(&mut self, id: OpId) {
            match self {
                $(Self::$variant(op) => op.op_id = Some(id),)*
            }
        }

        fn request(
            core: &Core,
            key: &str,
            ops: Vec<Self>,
            dry_run: Option<bool>,
            extensions: Option<Extensions>,
        ) -> Request {
            let body = $set { ops, dry_run, extensions, extra: exchange_api::Map::new() };
            $call { idempotency_key: key.to_owned(), body }.request(core)
        }

        fn read_set(body: &[u8]) -> Option<(Vec<Self>, Option<bool>, Option<Extensions>)> {
            let set = $set::parse(body).ok()?;
            Some((set.ops, set.dry_run, set.extensions))
        }
    };
}

impl Op for BlueprintOp {
    parts!(BlueprintsWriteCall BlueprintChangeSet { Add, Remove });

    const LANE: Lane = Lane::Blueprints;
    const INDEPENDENT: bool = true;

    fn names(&self) -> Vec<String> {
        match self {
            Self::Add(op) => named(&op.ref_),
            Self::Remove(op) => {
                let mut names = op.ref_.as_ref().map(named).unwrap_or_default();
                // The key of the feed is the product's own key (RES-03).
                names.extend(op.key.as_ref().map(|key| format!("bt {key}")));
                names
            }
        }
    }

    fn overridden(&self) -> Option<Self> {
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

impl Op for StockOp {
    parts!(StockWriteCall StockChangeSet { SetQuantity });

    const LANE: Lane = Lane::Stock;
    const INDEPENDENT: bool = true;

    /// By the material: a move and a stolen twin are a fall and a rise of the same one (STK-19, STK-20).
    fn names(&self) -> Vec<String> {
        let Self::SetQuantity(op) = self;
        named(&op.material)
    }

    fn direction(&self) -> Option<Ordering> {
        let Self::SetQuantity(op) = self;
        Some(quantity::compare(&op.quantity, &op.expected_quantity).unwrap_or(Ordering::Equal))
    }

    fn overridden(&self) -> Option<Self> {
        let Self::SetQuantity(op) = self;
        let mut op = op.clone();
        op.override_ = Some(true);
        Some(Self::SetQuantity(op))
    }
}

impl Op for ShipOp {
    parts!(ShipsWriteCall ShipChangeSet { Link, Upsert, Remove });

    const LANE: Lane = Lane::Ships;
    const INDEPENDENT: bool = true;

    fn names(&self) -> Vec<String> {
        let (ship, own) = match self {
            Self::Link(op) => (Some(&op.ship_id), Some(&op.external_id)),
            Self::Upsert(op) => (op.ship_id.as_ref(), Some(&op.external_id)),
            Self::Remove(op) => (Some(&op.ship_id), None),
        };
        let ship = ship.map(|id| format!("ship {id}"));
        ship.into_iter().chain(own.map(|id| format!("own {id}"))).collect()
    }

    fn only_once(&self) -> Option<&ShipId> {
        match self {
            Self::Link(_) => None,
            Self::Upsert(op) => op.ship_id.as_ref(),
            Self::Remove(op) => Some(&op.ship_id),
        }
    }

    fn overridden(&self) -> Option<Self> {
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

impl Op for OrgStockOp {
    parts!(OrgStockWriteCall OrgStockChangeSet {
        BookIn, BookOut, Sell, MoveLocation, MoveHolder, MovePool, Note, Stolen
    });

    const LANE: Lane = Lane::OrgStock;
    // An entry can join another one, which no op names.
    const INDEPENDENT: bool = false;

    fn names(&self) -> Vec<String> {
        self.entry().map(|entry| format!("entry {entry}")).into_iter().collect()
    }

    fn overridden(&self) -> Option<Self> {
        None
    }
}

/// What an op says of an entry.
trait OfEntry {
    fn entry(&self) -> Option<&EntryId>;
}

impl OfEntry for OrgStockOp {
    fn entry(&self) -> Option<&EntryId> {
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

/// Every name that a reference has, in the one form that the exchange compares (TYP-02). Two that share one may
/// be the same; it does no harm when they are not.
pub(super) fn named(item: &ItemRef) -> Vec<String> {
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
