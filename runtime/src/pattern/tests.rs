//! Tests of handwritten programs, and a small compiler that other tests of this crate use as well. The real
//! compiler and its tests are in `codegen/core/src/pattern`.

pub(crate) mod compile;

use super::*;

fn class(members: &str) -> CharClass<'static> {
    let ascii = members.bytes().filter(u8::is_ascii).fold(0, |set, b| set | 1 << b);
    let ranges: Vec<_> = members.chars().filter(|c| !c.is_ascii()).map(|c| (c, c)).collect();
    CharClass { ascii, ranges: ranges.leak() }
}

fn sequence(start: bool, end: bool, atoms: Vec<SequenceAtom<'static>>) -> Pattern<'static> {
    let atoms = atoms.leak();
    Pattern { source: "", program: PatternProgram::Sequence(AtomSequence { start, end, atoms }) }
}

#[track_caller]
fn check(pattern: &Pattern<'_>, matching: &[&str], others: &[&str]) {
    for text in matching {
        assert!(pattern.is_match(text), "{} must match {text:?}", pattern.source);
    }
    for text in others {
        assert!(!pattern.is_match(text), "{} must not match {text:?}", pattern.source);
    }
}

#[test]
fn sequence_matches_class_counts_and_literals() {
    // This program represents `^[abé]{2,3}-x*$`.
    let pattern = sequence(
        true,
        true,
        vec![
            SequenceAtom::Class { class: class("abé"), min: 2, max: 3 },
            SequenceAtom::Literal("-"),
            SequenceAtom::Class { class: class("x"), min: 0, max: UNBOUNDED },
        ],
    );
    check(&pattern, &["ab-", "éaé-xxx", "bé-x"], &["a-", "abab-", "ab", "ab-y", "ab-xé", "", "è"]);
}

#[test]
fn unanchored_sequence_matches_anywhere() {
    let digits = SequenceAtom::Class { class: class("0123456789"), min: 2, max: 2 };
    let pattern = sequence(false, false, vec![digits]);
    check(&pattern, &["12", "a12", "é12é"], &["", "1", "a1b2"]);
    let pattern = sequence(false, true, vec![digits]);
    check(&pattern, &["12", "a12", "123"], &["12a", ""]);
    let nothing = sequence(false, true, Vec::new());
    check(&nothing, &["", "a"], &[]);
}

#[test]
fn class_ranges_are_inclusive() {
    let ranges = &[('à', 'ã'), ('一', '三'), ('😀', '😂')];
    let class = CharClass { ascii: 1 << b'a', ranges };
    for (c, expected) in [
        ('a', true),
        ('b', false),
        ('à', true),
        ('ã', true),
        ('ä', false),
        ('ß', false),
        ('一', true),
        ('丁', true),
        ('😂', true),
        ('😃', false),
        ('\u{10FFFF}', false),
        ('\0', false),
    ] {
        assert_eq!(class.contains(c), expected, "{c:?}");
    }
}

#[test]
fn nfa_cases() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("", &["", "a"], &[]),
        ("a", &["a", "ba", "ab"], &["", "b"]),
        ("^a", &["a", "ab"], &["ba"]),
        ("a$", &["a", "ba"], &["ab", "a\n"]),
        ("^$", &[""], &["a"]),
        ("^(ab|c)*$", &["", "ab", "cab", "abcc"], &["a", "abd"]),
        ("^(a|b)+?c?$", &["a", "abc", "bb"], &["c", "", "acc"]),
        ("^(a*)*$", &["", "aaa"], &["b"]),
        ("^a{2,3}$", &["aa", "aaa"], &["a", "aaaa"]),
        ("^.é?$", &["x", "xé", "é"], &["\n", "éee"]),
        (r"\ba\b", &["a", "x a", "é a"], &["ba", "a_"]),
        (r"^\Ba", &[], &["a", "ba"]),
        ("[^a]", &["b", "ab", "é"], &["", "aa"]),
        ("x|^b", &["x", "ax", "b"], &["ab", ""]),
        ("^(a|ab)(c|bcd)$", &["ac", "abc", "abcd", "abbcd"], &["ab", "abcdd"]),
        ("(^a|b)+$", &["a", "ab", "b", "cb"], &["ca"]),
    ];
    for (source, matching, others) in cases {
        check(compile::compile(source), matching, others);
    }
}

/// Patterns that take exponential time with backtracking take linear time.
#[test]
fn time_is_linear() {
    for source in ["(a+)+$", "(x+x+)+y", "^(.*a){20}b$"] {
        let pattern = compile::compile(source);
        let PatternProgram::Nfa(program) = &pattern.program else { panic!("{source}: no program") };
        let text = format!("{}!", "a".repeat(10_000));
        nfa::FOLLOWED_INSTRUCTIONS.set(0);
        assert!(!pattern.is_match(&text), "{source}");
        // Each instruction is executed at most once at each position.
        let max_steps = program.instructions.len() * (text.len() + 1);
        let followed = nfa::FOLLOWED_INSTRUCTIONS.get();
        assert!((text.len()..=max_steps).contains(&followed), "{source}: {followed} of {max_steps}");
    }
}

#[test]
fn program_larger_than_the_stack_buffers_runs() {
    let pattern = compile::compile("^(a?){500}b$");
    check(pattern, &["b", &format!("{}b", "a".repeat(500))], &[&format!("{}b", "a".repeat(501)), "a"]);
}

#[test]
fn a_malformed_program_matches_nothing() {
    let instructions = &[NfaInstruction::Split(7, 9000), NfaInstruction::Char(3)];
    let nfa = Nfa { start: false, instructions, classes: &[] };
    check(&Pattern { source: "", program: PatternProgram::Nfa(nfa) }, &[], &["", "a"]);
}
