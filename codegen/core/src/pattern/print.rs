//! Converts a compiled pattern to a Rust expression, and to the pattern of the runtime.

use contract_runtime::pattern::AtomSequence;
use contract_runtime::pattern::CharClass;
use contract_runtime::pattern::Dfa;
use contract_runtime::pattern::LookAround;
use contract_runtime::pattern::Nfa;
use contract_runtime::pattern::NfaInstruction;
use contract_runtime::pattern::Pattern;
use contract_runtime::pattern::PatternProgram;
use contract_runtime::pattern::SequenceAtom;
use contract_runtime::pattern::UNBOUNDED;

use super::CompiledAtom;
use super::CompiledClass;
use super::CompiledPattern;
use super::CompiledProgram;
use crate::list_arena::ListArena;

pub(super) fn print_expression(compiled: &CompiledPattern) -> String {
    let source = &compiled.source;
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms } => {
            let atoms = atoms.iter().map(atom_text).collect::<Vec<_>>().join(", ");
            format!("Sequence(pattern::AtomSequence {{ start: {start}, end: {end}, atoms: &[{atoms}] }})")
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
    format!("Pattern {{ source: {source:?}, program: pattern::PatternProgram::{program} }}")
}

fn atom_text(atom: &CompiledAtom) -> String {
    match atom {
        CompiledAtom::Literal(text) => format!("pattern::SequenceAtom::Literal({text:?})"),
        CompiledAtom::Class { class, min, max } => {
            let max = match *max {
                UNBOUNDED => "pattern::UNBOUNDED".to_owned(),
                max => max.to_string(),
            };
            format!("pattern::SequenceAtom::Class {{ class: {}, min: {min}, max: {max} }}", class_text(class))
        }
    }
}

fn class_text(class: &CompiledClass) -> String {
    // Bit masks are printed in hexadecimal for readability.
    format!("pattern::CharClass {{ ascii: {:#x}, ranges: &{:?} }}", class.ascii, class.ranges)
}

fn instruction_text(instruction: NfaInstruction) -> String {
    let text = match instruction {
        NfaInstruction::Char(class) => format!("Char({class})"),
        NfaInstruction::Split(one, other) => format!("Split({one}, {other})"),
        NfaInstruction::Jump(to) => format!("Jump({to})"),
        NfaInstruction::Assert(look) => {
            let look = match look {
                LookAround::Start => "Start",
                LookAround::End => "End",
                LookAround::WordBoundary => "WordBoundary",
                LookAround::NotWordBoundary => "NotWordBoundary",
            };
            format!("Assert(pattern::LookAround::{look})")
        }
        NfaInstruction::Match => "Match".to_owned(),
    };
    format!("pattern::NfaInstruction::{text}")
}

/// Returns the pattern in the form that the runtime executes. Its strings are borrowed from `compiled`, and
/// its lists are stored in the arenas.
pub(super) fn build_pattern<'t>(
    compiled: &'t CompiledPattern,
    atoms: &'t ListArena<SequenceAtom<'t>>,
    classes: &'t ListArena<CharClass<'t>>,
) -> Pattern<'t> {
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms: list } => {
            let atoms = atoms.alloc(list.iter().map(build_atom).collect());
            PatternProgram::Sequence(AtomSequence { start: *start, end: *end, atoms })
        }
        CompiledProgram::Dfa { runs, stride, start, open, next } => {
            PatternProgram::Dfa(Dfa::new(runs, *stride, *start, *open, next))
        }
        CompiledProgram::Nfa { start, instructions, classes: list } => {
            let classes = classes.alloc(list.iter().map(build_class).collect());
            PatternProgram::Nfa(Nfa { start: *start, instructions, classes })
        }
    };
    Pattern { source: &compiled.source, program }
}

fn build_atom(compiled: &CompiledAtom) -> SequenceAtom<'_> {
    match compiled {
        CompiledAtom::Literal(text) => SequenceAtom::Literal(text),
        CompiledAtom::Class { class: of, min, max } => {
            SequenceAtom::Class { class: build_class(of), min: *min, max: *max }
        }
    }
}

fn build_class(compiled: &CompiledClass) -> CharClass<'_> {
    CharClass { ascii: compiled.ascii, ranges: &compiled.ranges }
}
