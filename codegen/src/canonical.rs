//! `jsonschema::canonical`, experimental and pinned: asked here and nowhere else.
//!
//! Normal forms can grow without measure, and what makes them may panic: each step runs on a thread of
//! its own, which is left behind when it takes too long.

use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe},
    sync::mpsc,
    thread,
    time::Duration,
};

use jsonschema::canonical::{self, CanonicalSchema, Containment};
use serde_json::Value;

/// How long the first step may take; after each that takes too long the next ones have half of it.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many steps may take too long before nothing more is asked: what they left behind goes on.
const MOST_LOST: u8 = 5;
/// Recursion follows the depth of the schemas.
const STACK: usize = 64 << 20;

/// Asks, as long as there is patience: one for all that is asked about a contract.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    lost: Cell<u8>,
}

/// A schema in its normal form.
#[derive(Clone, Debug)]
pub(crate) struct Normal(CanonicalSchema);

impl Engine {
    /// The normal form of a document, in which `format` asserts; `None` where there is none.
    pub(crate) fn read(&self, document: Value) -> Option<Normal> {
        self.patiently(move || {
            let options = canonical::options().offline().should_validate_formats(true);
            options.canonicalize(&document).ok().map(Normal)
        })
    }

    /// Whether everything that `narrow` accepts `wide` accepts too; `None` when nobody knows.
    pub(crate) fn covers(&self, wide: &Normal, narrow: &Normal) -> Option<bool> {
        let (wide, narrow) = (wide.clone(), narrow.clone());
        self.patiently(move || match wide.0.covers(&narrow.0).ok()? {
            Containment::Yes => Some(true),
            Containment::No => Some(false),
            Containment::Unknown => None,
        })
    }

    fn patiently<T: Send + 'static>(&self, ask: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
        if self.lost.get() >= MOST_LOST {
            return None;
        }
        let (answer, waiting) = mpsc::channel();
        let ask = move || {
            // What it leaves behind nobody looks at.
            let found = panic::catch_unwind(AssertUnwindSafe(ask)).ok().flatten();
            // Nobody waits any more when it took too long.
            let _ = answer.send(found);
        };
        thread::Builder::new().stack_size(STACK).spawn(ask).ok()?;
        let found = waiting.recv_timeout(PATIENCE / (1 << self.lost.get()));
        if found.is_err() {
            self.lost.set(self.lost.get() + 1);
        }
        found.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_asked_any_more_when_too_much_was_in_vain() {
        let engine = Engine { lost: Cell::new(MOST_LOST) };
        assert!(engine.read(json!({})).is_none());
        assert!(Engine::default().read(json!({})).is_some());
    }

    #[test]
    fn a_panic_is_no_answer() {
        let engine = Engine::default();
        assert_eq!(engine.patiently(|| -> Option<u8> { panic::resume_unwind(Box::new("gone")) }), None);
        assert_eq!(engine.patiently(|| Some(1)), Some(1));
    }

    #[test]
    fn a_format_is_asserted() {
        let engine = Engine::default();
        let covers = |wide, narrow| engine.covers(&engine.read(wide)?, &engine.read(narrow)?);
        let email = || json!({ "type": "string", "format": "email" });
        assert_eq!(covers(json!({ "type": "string" }), email()), Some(true));
        assert_ne!(covers(email(), json!({ "type": "string" })), Some(true));
        assert_ne!(covers(email(), json!({ "type": "string", "format": "uri" })), Some(true));
    }
}
