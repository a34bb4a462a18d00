//! How deep documents may be nested, and the stack that holds those that are deep.
//!
//! Reading, checking and writing recurse with the document, so that its sender would decide how much
//! stack a program needs. Every thread holds `SHALLOW` levels. What proves to be deeper is done
//! again on a thread made for it, as far as the caller's own bound allows: shallow documents, which
//! are nearly all, pay nothing.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::thread;

/// So many arrays and objects may stand in one another unless the caller says otherwise.
pub const DEFAULT: usize = 512;

/// So many levels are read on whatever thread comes; also the limit of `serde_json`.
pub(crate) const SHALLOW: usize = 128;

/// The usual 2 MiB of a thread hold the shallow levels, 16 KiB each; four times that leaves room for
/// the frames of large types in builds without optimisation.
const BYTES_A_LEVEL: usize = 64 << 10;

thread_local! {
    static LEVELS: Cell<usize> = const { Cell::new(SHALLOW) };
}

/// How many levels the stack of this thread holds.
///
/// Where that is more than `SHALLOW`, the thread was made for a document whose depth is known, and
/// no part of it needs to be measured again.
pub(crate) fn held() -> usize {
    LEVELS.get()
}

/// Does `work` where the stack holds `levels`; `None` where there is no room for such a stack.
pub(crate) fn holding<T: Send>(levels: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if levels <= held() {
        return Some(work());
    }
    on_stack(levels.saturating_mul(BYTES_A_LEVEL), || {
        LEVELS.set(levels);
        work()
    })
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
        assert_eq!(holding(4_000, || (held(), recurse(4_000))), Some((4_000, 4_000)));
        assert_eq!(held(), SHALLOW);
        // Nothing is moved for what fits.
        let here = thread::current().id();
        assert_eq!(holding(SHALLOW, || thread::current().id()), Some(here));
        assert_eq!(holding(300, || holding(200, held)), Some(Some(300)));
    }

    #[test]
    fn no_room_is_an_answer() {
        assert_eq!(holding(usize::MAX, || ()), None);
    }

    #[test]
    #[should_panic(expected = "as it was")]
    fn a_panic_comes_through() {
        holding(1_000, || panic!("as it was"));
    }
}
