//! Nesting limits of JSON documents, and stacks for deeply nested documents.
//!
//! Parsing, validation and serialization recurse into the document. Without a limit, the sender would
//! therefore control how much stack the program needs. Every thread can handle `SHALLOW_DEPTH` levels. A
//! deeper document is processed a second time on a thread with a stack of the required size, if the caller's
//! limit permits it. Shallow documents, which are the vast majority, have no extra cost.
//!
//! Each such stack is sized for one document. If a custom `Deserialize` implementation parses another
//! document in between, the depth of that document is unknown. It is then read as a shallow document or on a
//! separate stack.

use std::cell::Cell;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// The default limit for nested arrays and objects, in levels.
pub const DEFAULT_DEPTH: usize = 512;

/// The maximum limit that any parser accepts, in levels. Parsed values are also copied, compared, printed and
/// dropped on the caller's stack, which a deeper value would overflow.
pub const MAX_DEPTH: usize = 2_048;

/// The number of levels that the stack of any thread can hold. Equal to the recursion limit of `serde_json`.
pub(crate) const SHALLOW_DEPTH: usize = 128;

/// The number of stack bytes reserved for each level. The usual 2 MiB stack of a thread has 16 KiB for each
/// shallow level. Four times as much leaves room for the frames of large types in unoptimized builds.
const STACK_BYTES_PER_LEVEL: usize = 64 << 10;

/// The number of nested documents that may be read on one stack.
const MAX_DOCUMENTS_PER_STACK: usize = 2;

thread_local! {
    /// The document that this thread's stack was sized for: the number of levels, and the start and end
    /// addresses of the document.
    static STACK_DOCUMENT: Cell<(usize, usize, usize)> = const { Cell::new((SHALLOW_DEPTH, 0, 0)) };
    /// The number of documents currently being read on this stack.
    static NESTED_DOCUMENTS: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of levels of `text` that this thread's stack can hold.
///
/// The result exceeds `SHALLOW_DEPTH` only for the document that the thread was created for and for slices of
/// it. The depth of that document is known, so its slices need no separate measurement.
pub(crate) fn stack_levels(text: &str) -> usize {
    let (levels, start, end) = STACK_DOCUMENT.get();
    let place = text.as_bytes().as_ptr_range();
    if levels > SHALLOW_DEPTH && start <= place.start.addr() && place.end.addr() <= end {
        levels
    } else {
        SHALLOW_DEPTH
    }
}

/// Reads a document of unknown depth on the current stack. Returns `None` if this stack is already reading
/// `MAX_DOCUMENTS_PER_STACK` documents.
pub(crate) fn read_on_current_stack<T>(read: impl FnOnce() -> T) -> Option<T> {
    /// A guard that restores the counter, even if `read` panics.
    struct ReadingGuard(usize);
    impl Drop for ReadingGuard {
        fn drop(&mut self) {
            NESTED_DOCUMENTS.set(self.0);
        }
    }
    let reading = ReadingGuard(NESTED_DOCUMENTS.get());
    (reading.0 < MAX_DOCUMENTS_PER_STACK).then(|| {
        NESTED_DOCUMENTS.set(reading.0 + 1);
        read()
    })
}

/// Reads `document` on a new thread whose stack holds `levels` levels, which must be at least the depth of
/// the document. Returns `None` if the thread cannot be started.
pub(crate) fn read_on_new_stack<T: Send>(
    document: &[u8],
    levels: usize,
    read: impl FnOnce() -> T + Send,
) -> Option<T> {
    let levels = levels.max(SHALLOW_DEPTH);
    let Range { start, end } = document.as_ptr_range();
    let stack_document = (levels, start.addr(), end.addr());
    run_on_stack(levels.saturating_mul(STACK_BYTES_PER_LEVEL), || {
        STACK_DOCUMENT.set(stack_document);
        read_on_current_stack(read)
    })
    .flatten()
}

/// Runs `work` on a new thread with a stack of the given size and waits for it. Returns `None` if the thread
/// cannot be started. A panic in `work` is propagated.
pub(crate) fn run_on_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let deep = thread::Builder::new().name("deep document".to_owned()).stack_size(bytes);
        let done = deep.spawn_scoped(scope, work).ok()?.join();
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Returns the maximum nesting depth of arrays and objects in a JSON text. For input that is not JSON, the
/// result is unspecified, but the function never panics.
pub(crate) fn measure_depth(text: &[u8]) -> usize {
    let (mut depth, mut max_depth) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                max_depth = max_depth.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    max_depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_strings() {
        let cases = [
            ("1", 0),
            ("[]", 1),
            (r#"[{"a":[]},[1],{}]"#, 3),
            (r#""[[[""#, 0),
            (r#"["\"[[[", "\\", [1]]"#, 2),
            ("]]][", 1),
            (r#"["open [[["#, 1),
            ("", 0),
        ];
        for (text, depth) in cases {
            assert_eq!(measure_depth(text.as_bytes()), depth, "{text}");
        }
    }

    #[test]
    fn work_runs_on_a_sufficient_stack() {
        fn recurse(levels: usize) -> usize {
            let frame = std::hint::black_box([1_u8; 8 << 10]);
            if levels == 0 { 0 } else { recurse(levels - 1) + usize::from(frame[levels % 8]) }
        }
        let document = "[[1], 2]";
        let read = |levels| {
            read_on_new_stack(document.as_bytes(), levels, || (stack_levels(document), recurse(levels)))
        };
        assert_eq!(read(4_000), Some((4_000, 4_000)));
        assert_eq!(read(100), Some((SHALLOW_DEPTH, 100)));
        assert_eq!(stack_levels(document), SHALLOW_DEPTH);
    }

    /// `stack_levels` returns the levels of the new stack for the document and its slices, and the default
    /// for a copy.
    #[test]
    fn stack_is_sized_for_one_document() {
        let (document, other) = ("[[1], 2]", "[[1], 2]".to_owned());
        let parts = [document, &document[1..4], &document[8..], other.as_str(), &other[1..4]];
        let found = read_on_new_stack(document.as_bytes(), 300, || parts.map(stack_levels));
        assert_eq!(found, Some([300, 300, 300, SHALLOW_DEPTH, SHALLOW_DEPTH]));
    }

    #[test]
    fn nested_documents_need_new_stacks() {
        assert_eq!(
            read_on_current_stack(|| read_on_current_stack(|| read_on_current_stack(|| ()))),
            Some(Some(None))
        );
        assert_eq!(
            read_on_current_stack(|| read_on_current_stack(|| read_on_new_stack(b"1", 1, || {
                read_on_current_stack(|| 1)
            }))),
            Some(Some(Some(Some(1))))
        );
        assert_eq!(read_on_current_stack(|| 1), Some(1));
    }

    #[test]
    fn failure_to_start_a_thread_is_reported() {
        assert_eq!(read_on_new_stack(b"", usize::MAX, || ()), None);
    }

    #[test]
    #[should_panic(expected = "as it was")]
    fn a_panic_is_propagated() {
        read_on_new_stack(b"", 1_000, || panic!("as it was"));
    }
}
