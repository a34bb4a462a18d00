//! A compiler for the patterns in the tests of this crate. It supports literals, `.`, classes,
//! `\d \w \s \b \B \p{Letter}`, groups, `|`, `* + ? {n,m}` and `^ $`.

use std::iter::Peekable;
use std::str::Chars;

use crate::pattern::CharClass;
use crate::pattern::LookAround;
use crate::pattern::Nfa;
use crate::pattern::NfaInstruction;
use crate::pattern::Pattern;
use crate::pattern::PatternProgram;

enum Node {
    Set(Vec<(char, char)>),
    Look(LookAround),
    All(Vec<Node>),
    Any(Vec<Node>),
    Repeat(Box<Node>, u32, Option<u32>),
}

/// Compiles a pattern. Panics on unsupported syntax.
pub(crate) fn compile(source: &str) -> &'static Pattern<'static> {
    let mut chars = source.chars().peekable();
    let node = any(&mut chars);
    assert_eq!(chars.next(), None, "{source}");
    let (mut instructions, mut classes) = (Vec::new(), Vec::new());
    emit(&node, &mut instructions, &mut classes);
    instructions.push(NfaInstruction::Match);
    let nfa = Nfa { start: false, instructions: instructions.leak(), classes: classes.leak() };
    Box::leak(Box::new(Pattern { source: source.to_owned().leak(), program: PatternProgram::Nfa(nfa) }))
}

fn any(chars: &mut Peekable<Chars<'_>>) -> Node {
    let mut branches = vec![Node::All(Vec::new())];
    while let Some(c) = chars.next_if(|c| *c != ')') {
        let Some(Node::All(branch)) = branches.last_mut() else { unreachable!() };
        match c {
            '|' => branches.push(Node::All(Vec::new())),
            '^' => branch.push(Node::Look(LookAround::Start)),
            '$' => branch.push(Node::Look(LookAround::End)),
            '*' => repeat(branch, chars, 0, None),
            '+' => repeat(branch, chars, 1, None),
            '?' => repeat(branch, chars, 0, Some(1)),
            '{' => {
                let inside: String = chars.take_while(|c| *c != '}').collect();
                let (min, max) = inside.split_once(',').unwrap_or((&inside, &inside));
                repeat(branch, chars, min.parse().unwrap(), max.parse().ok());
            }
            '(' => {
                branch.push(any(chars));
                assert_eq!(chars.next(), Some(')'));
            }
            '.' => {
                branch.push(Node::Set(complement(&[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')])))
            }
            '[' => branch.push(Node::Set(class(chars))),
            '\\' if chars.next_if_eq(&'b').is_some() => branch.push(Node::Look(LookAround::WordBoundary)),
            '\\' if chars.next_if_eq(&'B').is_some() => {
                branch.push(Node::Look(LookAround::NotWordBoundary));
            }
            '\\' => branch.push(Node::Set(escape(chars))),
            c => branch.push(Node::Set(vec![(c, c)])),
        }
    }
    Node::Any(branches)
}

fn repeat(branch: &mut Vec<Node>, chars: &mut Peekable<Chars<'_>>, min: u32, max: Option<u32>) {
    chars.next_if_eq(&'?');
    let node = branch.pop().unwrap();
    branch.push(Node::Repeat(Box::new(node), min, max));
}

fn escape(chars: &mut Peekable<Chars<'_>>) -> Vec<(char, char)> {
    match chars.next().unwrap() {
        'd' => vec![('0', '9')],
        'w' => vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        's' => vec![('\t', '\r'), (' ', ' '), ('\u{a0}', '\u{a0}')],
        'S' => complement(&[('\t', '\r'), (' ', ' '), ('\u{a0}', '\u{a0}')]),
        'p' => {
            let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
            assert_eq!(name, "{Letter");
            ('\0'..=char::MAX).filter(|c| c.is_alphabetic()).map(|c| (c, c)).collect()
        }
        c => vec![(c, c)],
    }
}

fn class(chars: &mut Peekable<Chars<'_>>) -> Vec<(char, char)> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut set = Vec::new();
    while let Some(c) = chars.next().filter(|c| *c != ']') {
        if c == '\\' {
            set.extend(escape(chars));
        } else if chars.next_if_eq(&'-').is_some() {
            set.push((c, chars.next().unwrap()));
        } else {
            set.push((c, c));
        }
    }
    set.sort_unstable();
    if negated { complement(&set) } else { set }
}

/// Returns the complement of a sorted and disjoint set.
fn complement(set: &[(char, char)]) -> Vec<(char, char)> {
    let mut rest = Vec::new();
    let mut next = Some('\0');
    for &(low, high) in set {
        if let Some(from) = next.filter(|from| *from < low) {
            rest.push((from, (from..low).next_back().unwrap()));
        }
        next = (high..=char::MAX).nth(1);
    }
    rest.extend(next.map(|from| (from, char::MAX)));
    rest
}

fn emit(node: &Node, out: &mut Vec<NfaInstruction>, classes: &mut Vec<CharClass>) {
    match node {
        Node::Set(set) => {
            let mut class = CharClass { ascii: 0, ranges: &[] };
            let mut ranges = Vec::new();
            for &(low, high) in set {
                for c in (low..=high).take_while(char::is_ascii) {
                    class.ascii |= 1 << c as u32;
                }
                if !high.is_ascii() {
                    ranges.push((low.max('\u{80}'), high));
                }
            }
            class.ranges = ranges.leak();
            out.push(NfaInstruction::Char(classes.len() as u32));
            classes.push(class);
        }
        Node::Look(look) => out.push(NfaInstruction::Assert(*look)),
        Node::All(parts) => parts.iter().for_each(|part| emit(part, out, classes)),
        Node::Any(branches) => {
            let (last, rest) = branches.split_last().unwrap();
            let mut ends = Vec::new();
            for branch in rest {
                let split = hole(out);
                emit(branch, out, classes);
                ends.push(hole(out));
                out[split] = NfaInstruction::Split(split as u32 + 1, out.len() as u32);
            }
            emit(last, out, classes);
            for end in ends {
                out[end] = NfaInstruction::Jump(out.len() as u32);
            }
        }
        Node::Repeat(body, min, max) => {
            (0..*min).for_each(|_| emit(body, out, classes));
            match max {
                None => {
                    let split = hole(out);
                    emit(body, out, classes);
                    out.push(NfaInstruction::Jump(split as u32));
                    out[split] = NfaInstruction::Split(split as u32 + 1, out.len() as u32);
                }
                Some(max) => {
                    for _ in *min..*max {
                        let split = hole(out);
                        emit(body, out, classes);
                        out[split] = NfaInstruction::Split(split as u32 + 1, out.len() as u32);
                    }
                }
            }
        }
    }
}

fn hole(out: &mut Vec<NfaInstruction>) -> usize {
    out.push(NfaInstruction::Match);
    out.len() - 1
}
