//! The two ways to run a check: stop at the first failure, or collect.

use super::Schema;
use super::Tables;
use crate::violation::Path;
use crate::violation::Violation;

/// Takes the failures of a check.
pub(super) trait Sink {
    /// Whether anything reads the failures.
    const COLLECTS: bool;

    /// Takes one failure.
    fn record(&mut self, path: &Path<'_>, keyword: &'static str, schema: &Schema);

    /// Whether another failure would change nothing.
    fn done(&self) -> bool;
}

/// Asks only whether there is a failure.
pub(super) struct Probe;

impl Sink for Probe {
    const COLLECTS: bool = false;

    #[inline]
    fn record(&mut self, _: &Path<'_>, _: &'static str, _: &Schema) {}

    #[inline]
    fn done(&self) -> bool {
        true
    }
}

/// Keeps failures up to a number.
pub(super) struct Collect {
    pub(super) tables: &'static Tables,
    pub(super) cap: usize,
    pub(super) found: Vec<Violation>,
}

impl Sink for Collect {
    const COLLECTS: bool = true;

    #[cold]
    #[inline(never)]
    fn record(&mut self, path: &Path<'_>, keyword: &'static str, schema: &Schema) {
        if !self.done() {
            let schema = self.tables.location(schema);
            self.found.push(Violation { pointer: path.pointer(), keyword, schema });
        }
    }

    fn done(&self) -> bool {
        self.found.len() >= self.cap
    }
}
