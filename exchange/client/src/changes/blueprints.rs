//! Ops on the member's blueprints.

use exchange_api::types::{AddBlueprint, BlueprintKey, BlueprintOp, ItemRef, OpId, RemoveBlueprint};

use super::Changes;
use crate::error::Error;

impl Changes<BlueprintOp> {
    /// Adds a blueprint by its product. The op has the result `unchanged` if the member already has the
    /// blueprint. For an op with more fields (the time and the place of the acquisition), use
    /// [`AddBlueprint::builder`] and [`Changes::push`].
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn add(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(AddBlueprint::builder().ref_(product).build()?)
    }

    /// Removes a blueprint by its key in the feed. The op has the result `unchanged` if the member does not
    /// have the blueprint.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn remove(&mut self, key: BlueprintKey) -> Result<OpId, Error> {
        self.push(RemoveBlueprint::builder().key(key).build()?)
    }

    /// Removes a blueprint by its product, for a caller that does not have its key.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn remove_product(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(RemoveBlueprint::builder().ref_(product).build()?)
    }
}
