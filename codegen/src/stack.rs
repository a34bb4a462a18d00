//! A deep stack for work that descends as far as its input does.
//!
//! Contracts nest, and so do the functions that walk them; what the caller's thread has is often
//! too little. Every entrance of the library that walks a contract begins with [`deep`].

use std::{cell::Cell, panic, thread};

/// Bytes; only what is used becomes memory.
const STACK: usize = 256 << 20;

thread_local! {
    /// Whether this thread was started here.
    static DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Does the work on a thread with a deep stack, unless this one has it; a panic goes on here.
pub(crate) fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if DEEP.get() {
        return work();
    }
    let mut work = Some(work);
    let name = thread::current().name().unwrap_or("contract-codegen").to_owned();
    let done = thread::scope(|scope| {
        let worker = thread::Builder::new().name(name).stack_size(STACK).spawn_scoped(scope, || {
            DEEP.set(true);
            work.take().map(|work| work())
        });
        worker.ok().and_then(|worker| worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    });
    match (done, work) {
        (Some(done), _) => done,
        // No thread could be started: what the caller has may suffice.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("work that was taken gives a result or panics"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descend(levels: usize) -> usize {
        let room = [levels as u8; 4096];
        if levels == 0 { 0 } else { descend(levels - 1) + usize::from(std::hint::black_box(room)[0] > 0) }
    }

    #[test]
    fn work_descends_further_than_the_caller_could() {
        // More than the two megabytes that a test has.
        let levels = 8_000;
        assert!(deep(|| descend(levels)) > levels / 2);
        assert_eq!(deep(|| deep(|| 3)), 3);
    }

    #[test]
    fn a_panic_is_the_callers() {
        let caught = panic::catch_unwind(|| deep(|| -> u8 { panic::panic_any("gone") }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"gone"));
    }
}
