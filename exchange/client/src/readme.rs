//! Tests that the README and the examples agree.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

const README: &str = include_str!("../README.md");
const SYNCED_LIST: &str = include_str!("../examples/synced_list.rs");

/// Returns the example without its module docs.
fn program() -> &'static str {
    SYNCED_LIST.find("use exchange_client").map_or("", |begin| &SYNCED_LIST[begin..])
}

#[test]
fn readme_program_is_the_example() {
    let shown = README.split("```rust,no_run\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(shown, program());
}

#[test]
fn sign_in_to_list_takes_twenty_lines() {
    let body = program().split_once("Error>> {\n").unwrap().1.rsplit_once('}').unwrap().0;
    let lines: Vec<_> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(lines.len() <= 20, "{lines:#?}");
    // The program needs neither a turbofish nor a lifetime.
    assert!(!body.contains("::<") && !body.contains("<'"));
}
