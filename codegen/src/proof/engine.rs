//! `jsonschema::canonical`, experimental and pinned: asked here and in `drift::proof`, nowhere else.

use std::{panic, sync::mpsc, thread, time::Duration};

use jsonschema::canonical::{self, CanonicalSchema, Containment};
use serde_json::Value;

/// How long one question may take; normal forms can grow without measure.
const PATIENCE: Duration = Duration::from_secs(3);
/// Recursion follows the depth of the schemas.
const STACK: usize = 64 << 20;

/// Whether everything that `narrow` accepts `wide` accepts too; `None` when nobody knows.
///
/// Runs on a thread of its own, which is left behind when it takes too long.
pub(super) fn covers(wide: Value, narrow: Value) -> Option<bool> {
    let (answer, waiting) = mpsc::channel();
    let ask = move || {
        let found = panic::catch_unwind(|| question(&wide, &narrow)).ok().flatten();
        // Nobody waits any more when it took too long.
        let _ = answer.send(found);
    };
    thread::Builder::new().stack_size(STACK).spawn(ask).ok()?;
    waiting.recv_timeout(PATIENCE).ok().flatten()
}

fn question(wide: &Value, narrow: &Value) -> Option<bool> {
    match canonicalize(wide)?.covers(&canonicalize(narrow)?).ok()? {
        Containment::Yes => Some(true),
        Containment::No => Some(false),
        Containment::Unknown => None,
    }
}

fn canonicalize(document: &Value) -> Option<CanonicalSchema> {
    canonical::options().offline().canonicalize(document).ok()
}
