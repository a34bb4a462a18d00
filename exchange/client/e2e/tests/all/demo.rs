//! Tests that the output of the demonstration equals the README, and that the picture shows the same lines.
//!
//! `UPDATE=1 cargo test -p exchange-client-e2e --test all demo` updates the picture.

#[path = "../../../../cli/tests/all/draw.rs"]
mod draw;

use std::path::Path;

use exchange_client_e2e::{
    SandboxClock, SleepMode,
    demo::{DemoOutput, run},
};

use self::draw::{draw, parts};

const README: &str = include_str!("../../../../README.md");

/// Returns the output that the README shows.
fn shown() -> &'static str {
    let mut blocks = README.split("```text\n").filter_map(|block| block.split("\n```").next());
    blocks.find(|block| block.starts_with("1. The exchange starts")).expect("the README shows the output")
}

/// Replaces ports, codes and seconds, which differ between runs, by placeholders.
fn normal(text: &str) -> String {
    let line = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(word).collect();
        for at in 1..words.len() {
            let is_seconds = words[at].trim_end_matches([',', '.']) == "s";
            if is_seconds && words[at - 1].parse::<f64>().is_ok() {
                words[at - 1] = "<seconds>".to_owned();
            }
        }
        words.join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn word(word: &str) -> String {
    if let Some((before, rest)) = word.split_once("127.0.0.1:") {
        return format!(
            "{before}<address>{}",
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit())
        );
    }
    let is_letters = |part: &str| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_uppercase());
    match word.split_once('-') {
        Some((first, second)) if is_letters(first) && is_letters(second) => "<code>".to_owned(),
        _ => word.to_owned(),
    }
}

/// In virtual time, the demonstration prints all lines that the README shows.
#[tokio::test]
async fn demo_output_matches_the_readme() {
    let mut stage = DemoOutput { out: Vec::new(), colour: true };
    run(&mut stage, |sandbox| SandboxClock::for_sandbox(sandbox, SleepMode::AdvanceClock).environment())
        .await
        .unwrap();
    let output = String::from_utf8(stage.out).unwrap();
    // Only headings are emphasized, so plain output has no escape sequences.
    let plain = output.replace("\n\u{1b}[1m", "\n").replace("\u{1b}[0m\n", "\n");
    assert_eq!((output.matches('\u{1b}').count(), plain.matches('\u{1b}').count()), (14, 0), "{output}");
    assert_eq!(normal(plain.trim()), normal(shown()));
}

/// The picture shows the lines of the README.
#[test]
fn picture_matches_the_readme() {
    let prompt = ["$ ", "cargo xtask demo"].map(str::to_owned);
    let mut lines: Vec<_> = vec![["prompt", ""].into_iter().zip(prompt).collect(), Vec::new()];
    lines.extend(shown().lines().map(|line| match line.as_bytes().first() {
        Some(b'1'..=b'9') => parts(&format!("\u{1b}[1m{line}\u{1b}[0m")),
        _ => parts(line),
    }));
    let drawn =
        draw("the demonstration, from the start of the exchange to the end of both connections", &lines);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pictures/demo.svg");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let command = "UPDATE=1 cargo test -p exchange-client-e2e --test all demo";
    assert_eq!(committed, drawn, "the picture differs from the README; to update it: {command}");
}

#[test]
fn run_specific_output_is_normalized() {
    let of = |port: u16, code: &str, seconds: &str| {
        format!(
            "gateway  http://127.0.0.1:{port}/x and type {code}\n it {seconds} s apart, 142.5 SCU in {seconds} s."
        )
    };
    assert_eq!(normal(&of(40_833, "VFSJ-ZZGN", "5.1")), normal(&of(1, "ABCD-EFGH", "17.04")));
    assert_ne!(normal("8 to 142.5 SCU"), normal("8 to 142.6 SCU"));
}
