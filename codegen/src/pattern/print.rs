//! A compiled pattern as Rust text, and as the same data in memory.

use contract_runtime::pattern::Atom;
use contract_runtime::pattern::Class;
use contract_runtime::pattern::Dfa;
use contract_runtime::pattern::Instruction;
use contract_runtime::pattern::Look;
use contract_runtime::pattern::Nfa;
use contract_runtime::pattern::Pattern;
use contract_runtime::pattern::Program;
use contract_runtime::pattern::Sequence;
use contract_runtime::pattern::UNBOUNDED;

use super::Compiled;
use super::CompiledAtom;
use super::CompiledClass;
use super::CompiledProgram;

pub(super) fn text(compiled: &Compiled) -> String {
    let source = &compiled.source;
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms } => {
            let atoms = atoms.iter().map(atom_text).collect::<Vec<_>>().join(", ");
            format!("Sequence(pattern::Sequence {{ start: {start}, end: {end}, atoms: &[{atoms}] }})")
        }
        CompiledProgram::Dfa { runs, stride, start, open, next } => {
            format!("Dfa(pattern::Dfa::new(&{runs:?}, {stride}, {start}, {open}, &{next:?}))")
        }
        CompiledProgram::Nfa { start, instructions, classes } => {
            let instructions =
                instructions.iter().map(|one| instruction_text(*one)).collect::<Vec<_>>().join(", ");
            let classes = classes.iter().map(class_text).collect::<Vec<_>>().join(", ");
            format!(
                "Nfa(pattern::Nfa {{ start: {start}, instructions: &[{instructions}], classes: &[{classes}] }})"
            )
        }
    };
    format!("Pattern {{ source: {source:?}, program: pattern::Program::{program} }}")
}

fn atom_text(atom: &CompiledAtom) -> String {
    match atom {
        CompiledAtom::Literal(text) => format!("pattern::Atom::Literal({text:?})"),
        CompiledAtom::Class { class, min, max } => {
            let max = match *max {
                UNBOUNDED => "pattern::UNBOUNDED".to_owned(),
                max => max.to_string(),
            };
            format!("pattern::Atom::Class {{ class: {}, min: {min}, max: {max} }}", class_text(class))
        }
    }
}

fn class_text(class: &CompiledClass) -> String {
    // A bit set reads better in hexadecimal digits.
    format!("pattern::Class {{ ascii: {:#x}, ranges: &{:?} }}", class.ascii, class.ranges)
}

fn instruction_text(instruction: Instruction) -> String {
    let text = match instruction {
        Instruction::Char(class) => format!("Char({class})"),
        Instruction::Split(one, other) => format!("Split({one}, {other})"),
        Instruction::Jump(to) => format!("Jump({to})"),
        Instruction::Assert(look) => {
            let look = match look {
                Look::Start => "Start",
                Look::End => "End",
                Look::WordBoundary => "WordBoundary",
                Look::NotWordBoundary => "NotWordBoundary",
            };
            format!("Assert(pattern::Look::{look})")
        }
        Instruction::Match => "Match".to_owned(),
    };
    format!("pattern::Instruction::{text}")
}

pub(super) fn leak(compiled: &Compiled) -> &'static Pattern {
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms } => {
            let atoms = atoms.iter().map(leak_atom).collect::<Vec<_>>().leak();
            Program::Sequence(Sequence { start: *start, end: *end, atoms })
        }
        CompiledProgram::Dfa { runs, stride, start, open, next } => {
            Program::Dfa(Dfa::new(runs.clone().leak(), *stride, *start, *open, next.clone().leak()))
        }
        CompiledProgram::Nfa { start, instructions, classes } => Program::Nfa(Nfa {
            start: *start,
            instructions: instructions.clone().leak(),
            classes: classes.iter().map(leak_class).collect::<Vec<_>>().leak(),
        }),
    };
    Box::leak(Box::new(Pattern { source: compiled.source.clone().leak(), program }))
}

fn leak_atom(atom: &CompiledAtom) -> Atom {
    match atom {
        CompiledAtom::Literal(text) => Atom::Literal(text.clone().leak()),
        CompiledAtom::Class { class, min, max } => {
            Atom::Class { class: leak_class(class), min: *min, max: *max }
        }
    }
}

fn leak_class(class: &CompiledClass) -> Class {
    Class { ascii: class.ascii, ranges: class.ranges.clone().leak() }
}
