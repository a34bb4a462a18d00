//! Ops on the member's blueprints.

use exchange_api::types::{AddBlueprint, BlueprintKey, BlueprintOp, ItemRef, OpId, RemoveBlueprint};

use super::Changes;
use crate::error::Error;

impl Changes<BlueprintOp> {
    /// Adds a blueprint by its product. Has the result `unchanged` if the member already has it. For an op
    /// with more fields (when and where the member learned it), use [`AddBlueprint::builder`] and
    /// [`Changes::push`].
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn add(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(AddBlueprint::builder().ref_(product).build()?)
    }

    /// Removes a blueprint by its key in the feed. Has the result `unchanged` if the member does not have it.
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
