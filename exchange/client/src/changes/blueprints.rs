//! Ops on the member's blueprints.

use exchange_api::types::{AddBlueprint, BlueprintKey, BlueprintOp, ItemRef, OpId, RemoveBlueprint};

use super::Changes;
use crate::error::Error;

impl Changes<BlueprintOp> {
    /// Adds a blueprint by its product; an existing one is unchanged. For an op with more fields (when and
    /// where the member learned it), use [`AddBlueprint::builder`] and [`Changes::push`].
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn add(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(AddBlueprint::builder().ref_(product).build()?)
    }

    /// Removes a blueprint by its key in the feed; a missing one is unchanged.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn remove(&mut self, key: BlueprintKey) -> Result<OpId, Error> {
        self.push(RemoveBlueprint::builder().key(key).build()?)
    }

    /// Removes a blueprint with an unknown key, by its product.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn remove_product(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(RemoveBlueprint::builder().ref_(product).build()?)
    }
}
