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
use crate::shelf::Shelf;

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

/// The pattern in memory; its texts are the compiled pattern's, its lists stand on shelves.
pub(super) fn pattern<'t>(
    compiled: &'t Compiled,
    atoms: &'t Shelf<Atom<'t>>,
    classes: &'t Shelf<Class<'t>>,
) -> Pattern<'t> {
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms: list } => {
            let atoms = atoms.keep(list.iter().map(atom).collect());
            Program::Sequence(Sequence { start: *start, end: *end, atoms })
        }
        CompiledProgram::Dfa { runs, stride, start, open, next } => {
            Program::Dfa(Dfa::new(runs, *stride, *start, *open, next))
        }
        CompiledProgram::Nfa { start, instructions, classes: list } => {
            let classes = classes.keep(list.iter().map(class).collect());
            Program::Nfa(Nfa { start: *start, instructions, classes })
        }
    };
    Pattern { source: &compiled.source, program }
}

fn atom(compiled: &CompiledAtom) -> Atom<'_> {
    match compiled {
        CompiledAtom::Literal(text) => Atom::Literal(text),
        CompiledAtom::Class { class: of, min, max } => Atom::Class { class: class(of), min: *min, max: *max },
    }
}

fn class(compiled: &CompiledClass) -> Class<'_> {
    Class { ascii: compiled.ascii, ranges: &compiled.ranges }
}
