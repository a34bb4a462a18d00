//! Runs recursive functions on a thread with a large stack.
//!
//! Contracts are nested, and the functions that walk them are recursive. The stack of the calling thread is
//! often too small, so every public function of the library that walks a contract starts with
//! [`run_on_deep_stack`].

use std::{cell::Cell, panic, thread};

/// The stack size in bytes of virtual memory. The operating system commits only the pages that are used.
const STACK_SIZE: usize = 256 << 20;

thread_local! {
    /// True on the threads that [`run_on_deep_stack`] starts.
    static ON_DEEP_STACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread with a large stack, or directly if the current thread already has one. A panic in
/// `work` is propagated to the calling thread.
pub fn run_on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if ON_DEEP_STACK.get() {
        return work();
    }
    let mut work = Some(work);
    let name = thread::current().name().unwrap_or("contract-codegen").to_owned();
    let done = thread::scope(|scope| {
        let worker = thread::Builder::new().name(name).stack_size(STACK_SIZE).spawn_scoped(scope, || {
            ON_DEEP_STACK.set(true);
            work.take().map(|work| work())
        });
        worker.ok().and_then(|worker| worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic)))
    });
    match (done, work) {
        (Some(done), _) => done,
        // If the thread cannot be started, `work` runs on the stack of the caller, which may be sufficient.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("a started thread returns a result or panics"),
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
    fn deep_recursion_fits_the_stack() {
        // This recursion needs more than the 2 MiB of a test thread's stack.
        let levels = 8_000;
        assert!(run_on_deep_stack(|| descend(levels)) > levels / 2);
        assert_eq!(run_on_deep_stack(|| run_on_deep_stack(|| 3)), 3);
    }

    #[test]
    fn panics_propagate_to_the_caller() {
        let caught = panic::catch_unwind(|| run_on_deep_stack(|| -> u8 { panic::panic_any("gone") }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"gone"));
    }
}
