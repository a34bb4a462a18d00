//! Change sets: ops are gathered per area, checked, identified and split into batches as the exchange takes
//! them; what became of each comes back on the op itself.
//!
//! ```
//! use exchange_client::{StockChanges, changes::{Lot, known::Known, quantity}};
//!
//! # fn main() -> Result<(), exchange_client::Error> {
//! let metal = Known { bt: Some("material-7".parse()?), ..Known::default() }.item_ref()?;
//! let here = Lot::new(metal.clone(), exchange_client::changes::place("Area 18")?);
//! let there = Lot::new(metal, exchange_client::changes::place("New Babbage")?);
//!
//! let mut changes = StockChanges::new();
//! changes.shift(here.holding(quantity::scu("12.5")?), there.empty(), &quantity::scu("2.5")?)?;
//! assert_eq!(changes.len(), 2, "the fall and the rise of a move");
//! # Ok(())
//! # }
//! ```

mod blueprints;
pub mod known;
mod op;
mod org_stock;
mod outcome;
pub mod quantity;
mod ships;
mod split;
mod stock;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt};

use exchange_api::{
    client::Stored,
    operations::OperationId,
    runtime::{client::Core, violation::Violations},
    types::{
        BlueprintOp, ChangeResult, Extensions, LocationName, LocationRef, OpId, OrgStockOp, ShipOp, StockOp,
    },
};

pub use self::{
    op::Op,
    org_stock::{OnEntry, Take},
    outcome::{Notice, Outcome, Remedy, Settled, Verdict},
    ships::as_it_is,
    stock::{Held, Lot},
};
use crate::error::{Error, ErrorKind};

/// Changes to the member's blueprints.
pub type BlueprintChanges = Changes<BlueprintOp>;
/// Changes to the member's stock.
pub type StockChanges = Changes<StockOp>;
/// Changes to the member's ships.
pub type ShipChanges = Changes<ShipOp>;
/// Changes to the pools of units whose Logistician the member is.
pub type OrgStockChanges = Changes<OrgStockOp>;

/// An area that is written to; change sets of one area are sent one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Lane {
    /// The member's blueprints.
    Blueprints,
    /// The member's stock.
    Stock,
    /// The member's ships.
    Ships,
    /// The pools of the member's units.
    OrgStock,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Blueprints, Self::Stock, Self::Ships, Self::OrgStock];

    /// Its name, in stores and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blueprints => "blueprints",
            Self::Stock => "stock",
            Self::Ships => "ships",
            Self::OrgStock => "org-stock",
        }
    }

    /// The operation that its change sets are sent with.
    #[must_use]
    pub const fn operation(self) -> OperationId {
        match self {
            Self::Blueprints => OperationId::BlueprintsWrite,
            Self::Stock => OperationId::StockWrite,
            Self::Ships => OperationId::ShipsWrite,
            Self::OrgStock => OperationId::OrgStockWrite,
        }
    }

    /// From its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.as_str() == name)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Ops of one area in the order in which they are to be decided, any number of them.
///
/// Every op has an id (`opId`): its own, or else its place among the ops, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes<O> {
    ops: Vec<O>,
    extensions: Option<Extensions>,
    ids: HashSet<OpId>,
    /// Ties of the caller's own, by name.
    together: Vec<Vec<OpId>>,
}

impl<O> Default for Changes<O> {
    fn default() -> Self {
        Self { ops: Vec::new(), extensions: None, ids: HashSet::new(), together: Vec::new() }
    }
}

impl<O: Op> Changes<O> {
    /// Without an op.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many ops there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there is no op.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The ops.
    #[must_use]
    pub fn ops(&self) -> &[O] {
        &self.ops
    }

    /// Adds an op at the end and says by which id its result will come.
    ///
    /// # Errors
    /// `Invalid` for an op that breaks the contract, for one with members that the contract does not declare
    /// (purchase data among them, which is never exchanged: SHP-23), for an id that is taken, and for a second
    /// upsert or removal of a ship, which would be refused (SHP-17).
    pub fn push(&mut self, op: impl Into<O>) -> Result<OpId, Error> {
        let mut op = op.into();
        let id = match op.id() {
            Some(id) => id.clone(),
            None => {
                let id = self.free_id()?;
                op.identify(id.clone());
                id
            }
        };
        op.validate().map_err(|violations| invalid("an op breaks the contract", violations))?;
        if !op.undeclared(1).is_empty() {
            return Err(Error::new(
                ErrorKind::Invalid,
                "an op has members that the contract does not declare",
            ));
        }
        if self.ids.contains(&id) {
            return Err(Error::new(ErrorKind::Invalid, "two ops of a change set have the same id"));
        }
        if let Some(only) = op.only_once()
            && self.ops.iter().any(|other| other.only_once() == Some(only))
        {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a change set updates or removes a ship only once: send the second change when the first is known",
            ));
        }
        self.ids.insert(id.clone());
        self.ops.push(op);
        Ok(id)
    }

    /// The ops go to the exchange in one batch, as moves, ops on one entry and those of one ship do by
    /// themselves. For ops whose connection only the caller knows: a move that joins another entry
    /// (`mergeScu`) and what is done with that entry next.
    pub fn keep_together(&mut self, ids: impl IntoIterator<Item = OpId>) {
        self.together.push(ids.into_iter().collect());
    }

    /// Data of others about these changes, sent with each batch.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = Some(extensions);
        self
    }

    /// The changes as batches of at most so many ops each: `limits.batchMaxOps` of the service document, or
    /// fewer. Sent in their order, they come to the same as the whole.
    ///
    /// Batches of org stock are smaller where their ops have long ids: even an answer that refuses every op has to be
    /// short enough for the exchange to keep it under the key (LIM-22), since a booking that is repeated is a second
    /// one.
    ///
    /// The ops keep their order where that can be; otherwise those that belong together move up to the first
    /// of them.
    ///
    /// # Errors
    /// `TooLarge` when ops that belong together are more than that, `Invalid` without an op.
    pub fn batches(self, most: usize) -> Result<Vec<Batch<O>>, Error> {
        if self.ops.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "a change set needs an op"));
        }
        let parts = split::split(&self.ops, &self.together, most.max(1))
            .map_err(|much| Error::new(ErrorKind::TooLarge, much.to_string()))?;
        let mut ops: Vec<Option<O>> = self.ops.into_iter().map(Some).collect();
        let mut take = |part: Vec<usize>| {
            let ops: Vec<O> = part.into_iter().filter_map(|at| ops.get_mut(at)?.take()).collect();
            let has = |id: &OpId| ops.iter().any(|op| op.id() == Some(id));
            // What is tied is in one batch.
            let together = self.together.iter().filter(|ids| ids.iter().any(has)).cloned().collect();
            Batch { ops, dry_run: false, extensions: self.extensions.clone(), together }
        };
        Ok(parts.into_iter().map(&mut take).collect())
    }

    fn free_id(&self) -> Result<OpId, Error> {
        let mut number = self.ops.len() + 1;
        loop {
            let id = OpId::new(number.to_string()).map_err(|violations| invalid("no op id", violations))?;
            if !self.ids.contains(&id) {
                return Ok(id);
            }
            number += 1;
        }
    }
}

/// One change set as it is sent: 1 to 500 ops that are decided in order and written at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<O> {
    ops: Vec<O>,
    dry_run: bool,
    extensions: Option<Extensions>,
    together: Vec<Vec<OpId>>,
}

impl<O: Op> Batch<O> {
    /// The ops.
    #[must_use]
    pub fn ops(&self) -> &[O] {
        &self.ops
    }

    /// The same batch, which is decided and counted and writes nothing (WRT-04).
    #[must_use]
    pub fn as_dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// The request that it is, under a key, byte for byte.
    ///
    /// # Errors
    /// `Invalid` when it breaks the contract.
    pub fn stored(&self, core: &Core, key: &str) -> Result<Stored, Error> {
        let dry_run = self.dry_run.then_some(true);
        let request = O::request(core, key, self.ops.clone(), dry_run, self.extensions.clone());
        request.store().map_err(|violations| invalid("the change set breaks the contract", violations))
    }

    /// Reads it back from the body of what [`Batch::stored`] gave.
    ///
    /// # Errors
    /// `Storage` when the bytes are none.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
        let (ops, dry_run, extensions) =
            O::read_set(body).ok_or_else(|| Error::new(ErrorKind::Storage, "a stored change set is none"))?;
        // Which ops were tied is not in the bytes. Where the order counts, all are that fitted into one set once.
        let all = || ops.iter().filter_map(|op: &O| op.id().cloned()).collect();
        let together = if O::INDEPENDENT { Vec::new() } else { vec![all()] };
        Ok(Self { ops, dry_run: dry_run.unwrap_or(false), extensions, together })
    }

    pub(super) fn into_parts(self) -> (Vec<O>, Option<Extensions>) {
        (self.ops, self.extensions)
    }

    /// What became of each op.
    #[must_use]
    pub fn outcome(self, result: ChangeResult) -> Outcome<O> {
        Outcome::of(self, result)
    }

    /// The ops once more, to be changed and sent anew; what was kept together stays so.
    #[must_use]
    pub fn into_changes(self) -> Changes<O> {
        let ids = self.ops.iter().filter_map(|op| op.id().cloned()).collect();
        Changes { ops: self.ops, extensions: self.extensions, ids, together: self.together }
    }
}

/// A place by its exact name. One with a link to the external catalogue comes from the locations list.
///
/// # Errors
/// `Invalid` for a name of no characters or more than 200.
pub fn place(name: &str) -> Result<LocationRef, Error> {
    let name =
        LocationName::new(name).map_err(|violations| invalid("this is no name of a place", violations))?;
    Ok(LocationRef { uex: None, name: Some(name), extra: exchange_api::Map::new() })
}

fn invalid(what: &'static str, violations: Violations) -> Error {
    Error::caused(ErrorKind::Invalid, what, violations)
}

/// A value that breaks the contract, refused where it was made.
impl From<Violations> for Error {
    fn from(violations: Violations) -> Self {
        invalid("a value breaks the contract", violations)
    }
}
