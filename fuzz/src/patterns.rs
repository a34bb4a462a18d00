//! Patterns: the first line is compiled and run over the rest.

use contract_codegen::pattern::compile;

/// Compiles and matches, in time that grows with pattern and text, never with their powers.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, text) = text.split_once('\n').unwrap_or((&text, ""));
    match compile(pattern) {
        Ok(compiled) => {
            let whole = compiled.is_match(text);
            // The same question has the same answer, and a prefix is no reason to fail.
            assert_eq!(whole, compiled.is_match(text));
            let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
            let _ = compiled.is_match(&text[..half]);
        }
        Err(error) => assert!(!error.reason.is_empty()),
    }
}
