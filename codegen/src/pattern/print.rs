//! A compiled pattern as Rust tokens, and as the same data in memory.

use contract_runtime::pattern::Atom;
use contract_runtime::pattern::Class;
use contract_runtime::pattern::Instruction;
use contract_runtime::pattern::Look;
use contract_runtime::pattern::Nfa;
use contract_runtime::pattern::Pattern;
use contract_runtime::pattern::Program;
use contract_runtime::pattern::Sequence;
use contract_runtime::pattern::UNBOUNDED;
use proc_macro2::Literal;
use proc_macro2::TokenStream;
use quote::quote;

use super::Compiled;
use super::CompiledAtom;
use super::CompiledClass;
use super::CompiledProgram;

pub(super) fn tokens(compiled: &Compiled, runtime: &TokenStream) -> TokenStream {
    let source = &compiled.source;
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms } => {
            let atoms = atoms.iter().map(|atom| atom_tokens(atom, runtime));
            quote! {
                #runtime::pattern::Program::Sequence(#runtime::pattern::Sequence {
                    start: #start,
                    end: #end,
                    atoms: &[#(#atoms),*]
                })
            }
        }
        CompiledProgram::Nfa { start, instructions, classes } => {
            let instructions = instructions.iter().map(|one| instruction_tokens(*one, runtime));
            let classes = classes.iter().map(|class| class_tokens(class, runtime));
            quote! {
                #runtime::pattern::Program::Nfa(#runtime::pattern::Nfa {
                    start: #start,
                    instructions: &[#(#instructions),*],
                    classes: &[#(#classes),*]
                })
            }
        }
    };
    quote! { #runtime::pattern::Pattern { source: #source, program: #program } }
}

fn atom_tokens(atom: &CompiledAtom, runtime: &TokenStream) -> TokenStream {
    match atom {
        CompiledAtom::Literal(text) => quote! { #runtime::pattern::Atom::Literal(#text) },
        CompiledAtom::Class { class, min, max } => {
            let class = class_tokens(class, runtime);
            let min = Literal::u32_unsuffixed(*min);
            let max = match *max {
                UNBOUNDED => quote! { #runtime::pattern::UNBOUNDED },
                max => {
                    let max = Literal::u32_unsuffixed(max);
                    quote! { #max }
                }
            };
            quote! { #runtime::pattern::Atom::Class { class: #class, min: #min, max: #max } }
        }
    }
}

fn class_tokens(class: &CompiledClass, runtime: &TokenStream) -> TokenStream {
    // A bit set reads better in hexadecimal digits.
    let ascii = format!("{:#x}", class.ascii)
        .parse::<Literal>()
        .unwrap_or_else(|_| Literal::u128_unsuffixed(class.ascii));
    let ranges = class.ranges.iter().map(|(low, high)| quote! { (#low, #high) });
    quote! { #runtime::pattern::Class { ascii: #ascii, ranges: &[#(#ranges),*] } }
}

fn instruction_tokens(instruction: Instruction, runtime: &TokenStream) -> TokenStream {
    let kind = quote! { #runtime::pattern::Instruction };
    let number = Literal::u32_unsuffixed;
    match instruction {
        Instruction::Char(class) => {
            let class = number(class);
            quote! { #kind::Char(#class) }
        }
        Instruction::Split(one, other) => {
            let (one, other) = (number(one), number(other));
            quote! { #kind::Split(#one, #other) }
        }
        Instruction::Jump(to) => {
            let to = number(to);
            quote! { #kind::Jump(#to) }
        }
        Instruction::Assert(look) => {
            let look = match look {
                Look::Start => quote! { Start },
                Look::End => quote! { End },
                Look::WordBoundary => quote! { WordBoundary },
                Look::NotWordBoundary => quote! { NotWordBoundary },
            };
            quote! { #kind::Assert(#runtime::pattern::Look::#look) }
        }
        Instruction::Match => quote! { #kind::Match },
    }
}

pub(super) fn leak(compiled: &Compiled) -> &'static Pattern {
    let program = match &compiled.program {
        CompiledProgram::Sequence { start, end, atoms } => {
            let atoms = atoms.iter().map(leak_atom).collect::<Vec<_>>().leak();
            Program::Sequence(Sequence { start: *start, end: *end, atoms })
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
