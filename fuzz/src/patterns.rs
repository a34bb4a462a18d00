//! Regular expressions. The first line of the input is the pattern, the rest is the string to search.

use contract_codegen::pattern::compile;

/// Compiles the pattern and matches the string. The running time must be at most proportional to the product
/// of their lengths.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, text) = text.split_once('\n').unwrap_or((&text, ""));
    match compile(pattern) {
        Ok(compiled) => {
            let is_match = compiled.is_match(text);
            // Repeated matching returns the same result, and matching a prefix does not panic.
            assert_eq!(is_match, compiled.is_match(text));
            let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            let _ = compiled.is_match(&text[..half]);
        }
        Err(error) => assert!(!error.reason.is_empty()),
    }
}
