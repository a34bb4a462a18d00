//! How deep documents may be nested, and the stack that holds those that are deep.
//!
//! Reading, checking and writing recurse with the document, so that its sender would decide how much
//! stack a program needs. Every thread holds `SHALLOW` levels. What proves to be deeper is done
//! again on a thread made for it, as far as the caller's own bound allows: shallow documents, which
//! are nearly all, pay nothing.
//!
//! A stack is made for one document. What a type of somebody's own reads meanwhile is another one,
//! of which nothing is known: shallow, or read on a stack of its own.

use std::cell::Cell;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// So many arrays and objects may stand in one another unless the caller says otherwise.
pub const DEFAULT: usize = 512;

/// No reader follows a document deeper than this, whatever bound it is given: what it makes is
/// copied, compared, printed and dropped on the stack of whoever has it.
pub const MAX: usize = 2_048;

/// So many levels are read on whatever thread comes; also the limit of `serde_json`.
pub(crate) const SHALLOW: usize = 128;

/// The usual 2 MiB of a thread hold the shallow levels, 16 KiB each; four times that leaves room for
/// the frames of large types in builds without optimisation.
const BYTES_A_LEVEL: usize = 64 << 10;

/// So many documents are read within one another on one stack.
const WITHIN: usize = 2;

thread_local! {
    /// The document that this thread was made for: how many levels its stack holds, and where it
    /// lies.
    static MADE_FOR: Cell<(usize, usize, usize)> = const { Cell::new((SHALLOW, 0, 0)) };
    /// How many documents are being read on this stack.
    static READING: Cell<usize> = const { Cell::new(0) };
}

/// How many levels of this text the stack of this thread holds.
///
/// That is more than `SHALLOW` for the document that the thread was made for, and for all parts of
/// it: its depth is known, and nothing of it needs to be measured again.
pub(crate) fn held(text: &str) -> usize {
    let (levels, start, end) = MADE_FOR.get();
    let place = text.as_bytes().as_ptr_range();
    if levels > SHALLOW && start <= place.start.addr() && place.end.addr() <= end { levels } else { SHALLOW }
}

/// Reads a document of unknown depth on this stack; `None` where it stands in too many others that
/// are being read here.
pub(crate) fn here<T>(read: impl FnOnce() -> T) -> Option<T> {
    /// Also where `read` panics.
    struct Done(usize);
    impl Drop for Done {
        fn drop(&mut self) {
            READING.set(self.0);
        }
    }
    let reading = Done(READING.get());
    (reading.0 < WITHIN).then(|| {
        READING.set(reading.0 + 1);
        read()
    })
}

/// Reads `document` on a stack of its own that holds `levels`, which are no fewer than it has;
/// `None` where there is no room for such a stack.
pub(crate) fn apart<T: Send>(document: &[u8], levels: usize, read: impl FnOnce() -> T + Send) -> Option<T> {
    let levels = levels.max(SHALLOW);
    let Range { start, end } = document.as_ptr_range();
    let made_for = (levels, start.addr(), end.addr());
    on_stack(levels.saturating_mul(BYTES_A_LEVEL), || {
        MADE_FOR.set(made_for);
        here(read)
    })
    .flatten()
}

/// Does `work` on a stack of so many bytes.
pub(crate) fn on_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let deep = thread::Builder::new().name("deep document".to_owned()).stack_size(bytes);
        let done = deep.spawn_scoped(scope, work).ok()?.join();
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// How many arrays and objects of a JSON text stand in one another at most; of a text that is no
/// JSON, some number.
pub(crate) fn of(text: &[u8]) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                most = most.max(depth);
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
    most
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
            assert_eq!(of(text.as_bytes()), depth, "{text}");
        }
    }

    #[test]
    fn work_is_done_on_a_stack_that_holds_it() {
        fn recurse(levels: usize) -> usize {
            let frame = std::hint::black_box([1_u8; 8 << 10]);
            if levels == 0 { 0 } else { recurse(levels - 1) + usize::from(frame[levels % 8]) }
        }
        let document = "[[1], 2]";
        let apart = |levels| apart(document.as_bytes(), levels, || (held(document), recurse(levels)));
        assert_eq!(apart(4_000), Some((4_000, 4_000)));
        assert_eq!(apart(100), Some((SHALLOW, 100)));
        assert_eq!(held(document), SHALLOW);
    }

    /// The levels are those of one document, wherever in it one asks.
    #[test]
    fn a_stack_is_made_for_one_document() {
        let (document, other) = ("[[1], 2]", "[[1], 2]".to_owned());
        let parts = [document, &document[1..4], &document[8..], other.as_str(), &other[1..4]];
        let found = apart(document.as_bytes(), 300, || parts.map(held));
        assert_eq!(found, Some([300, 300, 300, SHALLOW, SHALLOW]));
    }

    #[test]
    fn documents_in_one_another_take_stacks_of_their_own() {
        assert_eq!(here(|| here(|| here(|| ()))), Some(Some(None)));
        assert_eq!(here(|| here(|| apart(b"1", 1, || here(|| 1)))), Some(Some(Some(Some(1)))));
        assert_eq!(here(|| 1), Some(1));
    }

    #[test]
    fn no_room_is_an_answer() {
        assert_eq!(apart(b"", usize::MAX, || ()), None);
    }

    #[test]
    #[should_panic(expected = "as it was")]
    fn a_panic_comes_through() {
        apart(b"", 1_000, || panic!("as it was"));
    }
}
