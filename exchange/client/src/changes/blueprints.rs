//! Ops on the member's blueprints.

use exchange_api::types::{AddBlueprint, BlueprintKey, BlueprintOp, ItemRef, OpId, RemoveBlueprint};

use super::Changes;
use crate::error::Error;

impl Changes<BlueprintOp> {
    /// Adds a blueprint by its product; one already held is unchanged. An op that says more (when and where
    /// the member learnt it) is built with [`AddBlueprint::builder`] and given to [`Changes::push`].
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn add(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(AddBlueprint::builder().ref_(product).build()?)
    }

    /// Removes a blueprint by the key that the feed has for it; one not held is unchanged.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn remove(&mut self, key: BlueprintKey) -> Result<OpId, Error> {
        self.push(RemoveBlueprint::builder().key(key).build()?)
    }

    /// Removes a blueprint whose key is not known, by its product.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn remove_product(&mut self, product: ItemRef) -> Result<OpId, Error> {
        self.push(RemoveBlueprint::builder().ref_(product).build()?)
    }
}
