//! Fault injection between the effects of a write, for crash tests.

use std::fmt;
use std::sync::Arc;

use crate::store::StoreError;

/// A point on the write path at which a test can inject a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStep {
    /// The admission check passed.
    Admitted,
    /// Every op is decided; nothing is written yet.
    Decided,
    /// The area's tables are written.
    Applied,
    /// The feeds contain the changes.
    Published,
    /// Journal and audit contain the changes.
    Journaled,
    /// The response is stored for repetitions; the transaction is not committed yet.
    Completed,
}

impl WriteStep {
    /// All steps, in execution order.
    pub const ALL: [Self; 6] =
        [Self::Admitted, Self::Decided, Self::Applied, Self::Published, Self::Journaled, Self::Completed];
}

type StepHook = dyn Fn(WriteStep) -> Result<(), StoreError> + Send + Sync;

/// A fault injector, which calls a hook at every step of a write. The default value has no hook.
#[derive(Clone, Default)]
pub struct FaultInjector(Option<Arc<StepHook>>);

impl fmt::Debug for FaultInjector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultInjector").field(&self.0.is_some()).finish()
    }
}

impl FaultInjector {
    /// Creates an injector. A write fails with the error that `at` returns for a step.
    #[must_use]
    pub fn new(at: impl Fn(WriteStep) -> Result<(), StoreError> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(at)))
    }

    pub(crate) fn check_step(&self, step: WriteStep) -> Result<(), StoreError> {
        self.0.as_ref().map_or(Ok(()), |at| at(step))
    }
}
