//! Where a write can be cut off: every point between two of its effects has a name.

use std::fmt;
use std::sync::Arc;

use crate::store::StoreError;

/// A point on the path of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The caller was let in.
    Admitted,
    /// Every op is decided, nothing is written.
    Decided,
    /// The area's tables are written.
    Applied,
    /// The feed tells of it.
    Told,
    /// Journal and audit have it.
    WrittenDown,
    /// The answer is kept; nothing is committed yet.
    Completed,
}

impl Step {
    /// Every one of them, in order.
    pub const ALL: [Self; 6] =
        [Self::Admitted, Self::Decided, Self::Applied, Self::Told, Self::WrittenDown, Self::Completed];
}

type At = dyn Fn(Step) -> Result<(), StoreError> + Send + Sync;

/// Asked at every step; by default it lets every write pass.
#[derive(Clone, Default)]
pub struct Interruption(Option<Arc<At>>);

impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interruption").field(&self.0.is_some()).finish()
    }
}

impl Interruption {
    /// Fails a write where this says so.
    #[must_use]
    pub fn new(at: impl Fn(Step) -> Result<(), StoreError> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(at)))
    }

    /// Asks.
    pub(crate) fn at(&self, step: Step) -> Result<(), StoreError> {
        self.0.as_ref().map_or(Ok(()), |at| at(step))
    }
}
