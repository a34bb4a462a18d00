//! Change sets: ops are collected per area, validated, given ids and split into batches that the exchange
//! accepts. The results are assigned to the ops.
//!
//! ```
//! use exchange_client::{StockChanges, changes::{LotSpec, known::KnownItem, quantity}};
//!
//! # fn main() -> Result<(), exchange_client::Error> {
//! let metal = KnownItem { bt: Some("material-7".parse()?), ..KnownItem::default() }.item_ref()?;
//! let here = LotSpec::new(metal.clone(), exchange_client::changes::location_by_name("Area 18")?);
//! let there = LotSpec::new(metal, exchange_client::changes::location_by_name("New Babbage")?);
//!
//! let mut changes = StockChanges::new();
//! changes.move_stock(here.expecting(quantity::scu("12.5")?), there.expecting_nothing(), &quantity::scu("2.5")?)?;
//! assert_eq!(changes.len(), 2, "a move is a decrease and an increase");
//! # Ok(())
//! # }
//! ```

mod blueprints;
pub mod known;
mod op;
mod org_stock;
mod outcome;
mod partial_result;
pub mod quantity;
mod ships;
mod split;
mod stock;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, fmt};

use exchange_api::{
    client::StoredRequest,
    operations::OperationId,
    runtime::{client::ApiClient, violation::Violations},
    types::{
        BlueprintOp, ChangeResult, Extensions, LocationName, LocationRef, OpId, OrgStockOp, ShipOp, StockOp,
    },
};

pub(crate) use self::partial_result::WriteResponse;
pub use self::{
    op::ChangeOp,
    org_stock::{EntryOps, StockSelection},
    outcome::{ChangeSetOutcome, MemberNotice, OpOutcome, OpRemedy, OpVerdict},
    ships::unchanged_upsert,
    stock::{ExpectedLot, LotSpec},
};
use crate::error::{Error, ErrorKind};

/// Changes to the member's blueprints.
pub type BlueprintChanges = Changes<BlueprintOp>;
/// Changes to the member's stock.
pub type StockChanges = Changes<StockOp>;
/// Changes to the member's ships.
pub type ShipChanges = Changes<ShipOp>;
/// Changes to the pools of units whose stock the member may book as Logistician.
pub type OrgStockChanges = Changes<OrgStockOp>;

/// An area to which the client can write. Change sets of one area are sent in order.
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
    /// All areas.
    pub const ALL: [Self; 4] = [Self::Blueprints, Self::Stock, Self::Ships, Self::OrgStock];

    /// Returns the name used in stores and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blueprints => "blueprints",
            Self::Stock => "stock",
            Self::Ships => "ships",
            Self::OrgStock => "org-stock",
        }
    }

    /// Returns the operation that sends change sets of this area.
    #[must_use]
    pub const fn operation(self) -> OperationId {
        match self {
            Self::Blueprints => OperationId::BlueprintsWrite,
            Self::Stock => OperationId::StockWrite,
            Self::Ships => OperationId::ShipsWrite,
            Self::OrgStock => OperationId::OrgStockWrite,
        }
    }

    /// Returns the area with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.as_str() == name)
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A list of ops of one area, in the order in which the exchange decides them. Their number is not limited.
///
/// Each op has an id (`opId`): the one it was created with, or otherwise its position among the ops, counted
/// from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes<O> {
    ops: Vec<O>,
    extensions: Option<Extensions>,
    ids: HashSet<OpId>,
    /// Groups of ops that the caller tied together.
    together: Vec<Vec<OpId>>,
}

impl<O> Default for Changes<O> {
    fn default() -> Self {
        Self { ops: Vec::new(), extensions: None, ids: HashSet::new(), together: Vec::new() }
    }
}

impl<O: ChangeOp> Changes<O> {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of ops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Returns true if there is no op.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Returns the ops in order.
    #[must_use]
    pub fn ops(&self) -> &[O] {
        &self.ops
    }

    /// Appends an op and returns the id of its result.
    ///
    /// # Errors
    /// Returns `Invalid` for an op that violates the contract, an op with undeclared properties (including
    /// purchase data, which is never exchanged: SHP-23), a duplicate id, and a second upsert or removal of a
    /// ship, which the exchange would reject (SHP-17).
    pub fn push(&mut self, op: impl Into<O>) -> Result<OpId, Error> {
        let mut op = op.into();
        let id = match op.id() {
            Some(id) => id.clone(),
            None => {
                let id = self.free_id()?;
                op.set_id(id.clone());
                id
            }
        };
        op.validate().map_err(|violations| contract_error("an op violates the contract", violations))?;
        if !op.undeclared_members(1).is_empty() {
            return Err(Error::new(
                ErrorKind::Invalid,
                "an op has members that the contract does not declare",
            ));
        }
        if self.ids.contains(&id) {
            return Err(Error::new(ErrorKind::Invalid, "duplicate op id in a change set"));
        }
        if let Some(only) = op.exclusive_ship()
            && self.ops.iter().any(|other| other.exclusive_ship() == Some(only))
        {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a change set can update or remove a ship only once: send the second change after the first is decided",
            ));
        }
        self.ids.insert(id.clone());
        self.ops.push(op);
        Ok(id)
    }

    /// Ties ops together, so that they are sent in one batch. The ops of a move, ops on one entry and ops on
    /// one ship are tied automatically. Use this for other dependencies, such as a move that merges into
    /// another entry (`mergeScu`) followed by an op on that entry.
    pub fn keep_together(&mut self, ids: impl IntoIterator<Item = OpId>) {
        self.together.push(ids.into_iter().collect());
    }

    /// Sets third-party extension data that is sent with each batch.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = Some(extensions);
        self
    }

    /// Splits the changes into batches of at most `max_ops` ops, which is `limits.batchMaxOps` of the service
    /// document or less. The batches, sent in order, have the same effect as one change set with all ops.
    ///
    /// Batches of org stock are smaller if their ops have long ids. The exchange stores the response under
    /// the idempotency key, and even a response that rejects every op must be small enough for that (LIM-22).
    /// Otherwise, a booking whose response is lost could be applied twice.
    ///
    /// The ops keep their order if possible. Otherwise, tied ops are moved forward, next to the first of
    /// them.
    ///
    /// # Errors
    /// Returns `TooLarge` if tied ops exceed the limit, and `Invalid` if there is no op.
    pub fn into_batches(self, max_ops: usize) -> Result<Vec<ChangeBatch<O>>, Error> {
        if self.ops.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "a change set needs at least one op"));
        }
        let parts = split::split_ops(&self.ops, &self.together, max_ops.max(1))
            .map_err(|much| Error::new(ErrorKind::TooLarge, much.to_string()))?;
        let mut ops: Vec<Option<O>> = self.ops.into_iter().map(Some).collect();
        let mut take = |part: Vec<usize>| {
            let ops: Vec<O> = part.into_iter().filter_map(|at| ops.get_mut(at)?.take()).collect();
            let has = |id: &OpId| ops.iter().any(|op| op.id() == Some(id));
            // Tied ops are in one batch.
            let together = self.together.iter().filter(|ids| ids.iter().any(has)).cloned().collect();
            ChangeBatch { ops, dry_run: false, extensions: self.extensions.clone(), together }
        };
        Ok(parts.into_iter().map(&mut take).collect())
    }

    fn free_id(&self) -> Result<OpId, Error> {
        let mut number = self.ops.len() + 1;
        loop {
            let id = OpId::new(number.to_string())
                .map_err(|violations| contract_error("cannot generate an op id", violations))?;
            if !self.ids.contains(&id) {
                return Ok(id);
            }
            number += 1;
        }
    }
}

/// One change set in the form in which it is sent: 1 to 500 ops that are decided in order and applied
/// atomically.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeBatch<O> {
    ops: Vec<O>,
    dry_run: bool,
    extensions: Option<Extensions>,
    together: Vec<Vec<OpId>>,
}

impl<O: ChangeOp> ChangeBatch<O> {
    /// Returns the ops in order.
    #[must_use]
    pub fn ops(&self) -> &[O] {
        &self.ops
    }

    /// Marks the batch as a dry run, which is decided and counted but writes nothing (WRT-04).
    #[must_use]
    pub fn as_dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }

    /// Builds the request with this idempotency key. The request contains the exact bytes that are sent.
    ///
    /// # Errors
    /// Returns `Invalid` if the change set violates the contract.
    pub fn to_stored_request(&self, core: &ApiClient, key: &str) -> Result<StoredRequest, Error> {
        let dry_run = self.dry_run.then_some(true);
        let request = O::build_request(core, key, self.ops.clone(), dry_run, self.extensions.clone());
        request
            .into_stored()
            .map_err(|violations| contract_error("the change set violates the contract", violations))
    }

    /// Parses a batch from the body of a request built by [`ChangeBatch::to_stored_request`].
    ///
    /// # Errors
    /// Returns `Storage` if the body is corrupt.
    pub fn from_body(body: &[u8]) -> Result<Self, Error> {
        let (ops, dry_run, extensions) = O::parse_change_set(body)
            .ok_or_else(|| Error::new(ErrorKind::Storage, "corrupt stored change set: cannot be parsed"))?;
        // The body does not record which ops are tied. In areas where the order matters, tying all ops is
        // safe, because they fitted into one batch.
        let all = || ops.iter().filter_map(|op: &O| op.id().cloned()).collect();
        let together = if O::INDEPENDENT { Vec::new() } else { vec![all()] };
        Ok(Self { ops, dry_run: dry_run.unwrap_or(false), extensions, together })
    }

    pub(super) fn into_parts(self) -> (Vec<O>, Option<Extensions>) {
        (self.ops, self.extensions)
    }

    /// Assigns the results of the exchange to the ops. Lists and counters may be missing from the result: an op
    /// about which the rest does not decide is [`Unclear`](OpVerdict::Unclear).
    #[must_use]
    pub fn into_outcome(self, result: ChangeResult) -> ChangeSetOutcome<O> {
        ChangeSetOutcome::from_result(self, result)
    }

    /// Converts the batch back into changes that can be edited and sent again. Ties are kept.
    #[must_use]
    pub fn into_changes(self) -> Changes<O> {
        let ids = self.ops.iter().filter_map(|op| op.id().cloned()).collect();
        Changes { ops: self.ops, extensions: self.extensions, ids, together: self.together }
    }
}

/// Returns a reference to a location by its exact name. References from the list of locations also have a
/// catalog link.
///
/// # Errors
/// Returns `Invalid` for an empty name and for a name of more than 200 characters.
pub fn location_by_name(name: &str) -> Result<LocationRef, Error> {
    let name =
        LocationName::new(name).map_err(|violations| contract_error("invalid location name", violations))?;
    Ok(LocationRef { uex: None, name: Some(name), extra: exchange_api::Map::new() })
}

fn contract_error(what: &'static str, violations: Violations) -> Error {
    Error::with_source(ErrorKind::Invalid, what, violations)
}

/// Converts the violations of a locally built value into an [`ErrorKind::Invalid`] error.
impl From<Violations> for Error {
    fn from(violations: Violations) -> Self {
        contract_error("a value violates the contract", violations)
    }
}
