//! A wrapper around `jsonschema::canonical`, which decides whether one schema accepts every value that
//! another one accepts. The API is experimental, so its version is pinned.
//!
//! Canonical forms can grow without bound, and the library may panic. Each step therefore runs on its own
//! thread with a timeout. A thread that exceeds the timeout is abandoned and keeps running.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        atomic::{AtomicU8, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use jsonschema::canonical::{self, CanonicalSchema, Containment};
use serde_json::Value;

/// The timeout of the first step. Each timeout halves the timeout of the following steps.
const INITIAL_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of timeouts after which all further steps are skipped. The limit bounds the number of abandoned
/// threads.
const MAX_TIMEOUTS: u8 = 5;
/// The stack size of a step's thread in bytes. The recursion of a step is as deep as the nesting of the
/// schemas.
const STACK_SIZE: usize = 64 << 20;

/// A checker for containment between schemas. Each contract has its own instance, which counts the timeouts.
#[derive(Debug, Default)]
pub(crate) struct ContainmentChecker {
    timeouts: AtomicU8,
}

/// A schema in canonical form.
#[derive(Clone, Debug)]
pub(crate) struct CanonicalForm(CanonicalSchema);

impl ContainmentChecker {
    /// Converts a schema document to canonical form. `format` is treated as a constraint. Returns `None` on
    /// failure or timeout.
    pub(crate) fn canonicalize(&self, document: Value) -> Option<CanonicalForm> {
        self.run_with_timeout(move || {
            let options = canonical::options().offline().should_validate_formats(true);
            options.canonicalize(&document).ok().map(CanonicalForm)
        })
    }

    /// Returns true if `wide` accepts every value that `narrow` accepts. Returns `None` if the library cannot
    /// decide.
    pub(crate) fn check_coverage(&self, wide: &CanonicalForm, narrow: &CanonicalForm) -> Option<bool> {
        let (wide, narrow) = (wide.clone(), narrow.clone());
        self.run_with_timeout(move || match wide.0.covers(&narrow.0).ok()? {
            Containment::Yes => Some(true),
            Containment::No => Some(false),
            Containment::Unknown => None,
        })
    }

    /// Returns true if the document `wide` accepts every value that the document `narrow` accepts. Returns
    /// `None` if the library cannot decide.
    pub(crate) fn is_contained(&self, wide: Value, narrow: Value) -> Option<bool> {
        self.check_coverage(&self.canonicalize(wide)?, &self.canonicalize(narrow)?)
    }

    fn run_with_timeout<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> Option<T> {
        if self.timeouts.load(Ordering::Relaxed) >= MAX_TIMEOUTS {
            return None;
        }
        // WebAssembly has neither threads nor clocks. The caller ends the whole program if it takes too long.
        if cfg!(target_family = "wasm") {
            return step();
        }
        let (answer, waiting) = mpsc::channel();
        let step = move || {
            // Unwind safety: after a panic, the closure's state is dropped and not used again.
            let found = panic::catch_unwind(AssertUnwindSafe(step)).ok().flatten();
            // Sending fails after a timeout, because the receiver was dropped.
            let _ = answer.send(found);
        };
        thread::Builder::new().stack_size(STACK_SIZE).spawn(step).ok()?;
        let found = waiting.recv_timeout(INITIAL_TIMEOUT / (1 << self.timeouts.load(Ordering::Relaxed)));
        if found.is_err() {
            self.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        found.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_skipped_after_too_many_timeouts() {
        let engine = ContainmentChecker { timeouts: AtomicU8::new(MAX_TIMEOUTS) };
        assert!(engine.canonicalize(json!({})).is_none());
        assert!(ContainmentChecker::default().canonicalize(json!({})).is_some());
    }

    #[test]
    fn panic_returns_none() {
        let engine = ContainmentChecker::default();
        assert_eq!(
            engine.run_with_timeout(|| -> Option<u8> { panic::resume_unwind(Box::new("gone")) }),
            None
        );
        assert_eq!(engine.run_with_timeout(|| Some(1)), Some(1));
    }

    #[test]
    fn formats_are_asserted() {
        let engine = ContainmentChecker::default();
        let covers =
            |wide, narrow| engine.check_coverage(&engine.canonicalize(wide)?, &engine.canonicalize(narrow)?);
        let email = || json!({ "type": "string", "format": "email" });
        assert_eq!(covers(json!({ "type": "string" }), email()), Some(true));
        assert_ne!(covers(email(), json!({ "type": "string" })), Some(true));
        assert_ne!(covers(email(), json!({ "type": "string", "format": "uri" })), Some(true));
    }
}
