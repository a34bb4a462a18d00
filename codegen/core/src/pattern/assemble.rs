//! Assembles the program of a pattern: a chain if greedy matching is provably exact, or else instructions,
//! which are converted to a table of states if the table is small.

use std::collections::BTreeMap;

use contract_runtime::pattern::LookAround;
use contract_runtime::pattern::NfaInstruction;
use contract_runtime::pattern::UNBOUNDED;
use regex_syntax::hir;
use regex_syntax::hir::Class;
use regex_syntax::hir::ClassUnicode;
use regex_syntax::hir::ClassUnicodeRange;
use regex_syntax::hir::Hir;
use regex_syntax::hir::HirKind;

use super::CompiledAtom;
use super::CompiledClass;
use super::CompiledProgram;
use super::INSTRUCTION_LIMIT;
use super::PatternError;
use super::determinize::determinize_program;

/// The maximum number of atoms in a chain, before adjacent literals are joined.
const CHAIN_LIMIT: usize = 1024;
/// The maximum number of characters in a chain that is tried at every position of a string.
const FLOATING_LIMIT: u64 = 64;

pub(super) fn assemble_program(hir: &Hir) -> Result<CompiledProgram, PatternError> {
    if let Some(program) = build_chain(hir) {
        return Ok(program);
    }
    let program = assemble_nfa(hir)?;
    if let CompiledProgram::Nfa { start, instructions, classes } = &program
        && let Some(table) = determinize_program(*start, instructions, classes)
    {
        return Ok(table);
    }
    Ok(program)
}

/// Assembles the nondeterministic program of a pattern. Returns an error only if the program is too large.
pub(super) fn assemble_nfa(hir: &Hir) -> Result<CompiledProgram, PatternError> {
    let mut assembly = NfaAssembly::default();
    assembly.push_hir(hir)?;
    assembly.push(NfaInstruction::Match)?;
    Ok(CompiledProgram::Nfa {
        start: hir.properties().look_set_prefix().contains(hir::Look::Start),
        instructions: assembly.instructions,
        classes: assembly.classes,
    })
}

fn unsupported_pattern(reason: impl Into<String>) -> PatternError {
    PatternError { offset: 0, reason: reason.into() }
}

/// A repetition of a character class, from `min` to `max` times.
struct ChainLink {
    class: ClassUnicode,
    min: u32,
    max: u32,
}

#[derive(Default)]
struct AtomChain {
    start: bool,
    end: bool,
    links: Vec<ChainLink>,
}

/// Returns a chain that matches the same strings as `hir` without backtracking, or `None` if there is no such
/// chain.
fn build_chain(hir: &Hir) -> Option<CompiledProgram> {
    let mut chain = AtomChain::default();
    chain.append_hir(hir)?;
    chain.trim_open_ends();
    if !chain.is_exact() {
        return None;
    }
    Some(CompiledProgram::Sequence { start: chain.start, end: chain.end, atoms: chain.to_atoms() })
}

impl AtomChain {
    /// Appends `hir` to the chain. Returns `None` if it cannot be part of a chain, as an alternation cannot.
    fn append_hir(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty => Some(()),
            HirKind::Look(hir::Look::Start) => {
                self.start = true;
                (self.links.is_empty() && !self.end).then_some(())
            }
            HirKind::Look(hir::Look::End) => {
                self.end = true;
                Some(())
            }
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.append_hir(part)),
            HirKind::Capture(group) => self.append_hir(&group.sub),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                text.chars().try_for_each(|c| self.push(single_char_class(c), 1, 1))
            }
            HirKind::Class(class) => self.push(to_unicode_class(class), 1, 1),
            HirKind::Repetition(repetition) => {
                let max = repetition.max.unwrap_or(UNBOUNDED);
                if let Some(class) = single_character_class(&repetition.sub) {
                    return self.push(class, repetition.min, max);
                }
                if repetition.min != max {
                    return None;
                }
                (0..max).try_for_each(|_| {
                    let before = self.links.len();
                    self.append_hir(&repetition.sub)?;
                    // A body without atoms is not part of a chain, because repeating it has no effect.
                    (self.links.len() > before).then_some(())
                })
            }
            HirKind::Look(_) | HirKind::Alternation(_) => None,
        }
    }

    fn push(&mut self, class: ClassUnicode, min: u32, max: u32) -> Option<()> {
        // No atom may follow the end anchor, and the length of a chain is limited.
        if self.end || self.links.len() >= CHAIN_LIMIT {
            return None;
        }
        if max == 0 {
            return Some(());
        }
        if let Some(last) = self.links.last_mut()
            && last.class == class
            && (last.min, last.max, min, max) != (1, 1, 1, 1)
        {
            // `x{a,b}x{c,d}` is equivalent to `x{a+c,b+d}`, because all counts between the bounds are
            // possible.
            last.min = last.min.checked_add(min)?;
            last.max = match (last.max, max) {
                (UNBOUNDED, _) | (_, UNBOUNDED) => UNBOUNDED,
                (own, more) => own.checked_add(more).filter(|sum| *sum < UNBOUNDED)?,
            };
            return Some(());
        }
        self.links.push(ChainLink { class, min, max });
        Some(())
    }

    /// Reduces the counts of the links at an unanchored end to their minimum. A match may end or begin
    /// anywhere there. Every match with more characters therefore contains one with fewer.
    fn trim_open_ends(&mut self) {
        if !self.end {
            while let Some(last) = self.links.last_mut() {
                last.max = last.min;
                if last.min > 0 {
                    break;
                }
                self.links.pop();
            }
        }
        if !self.start {
            while let Some(first) = self.links.first_mut() {
                first.max = first.min;
                if first.min > 0 {
                    break;
                }
                self.links.remove(0);
            }
        }
    }

    /// Returns true if greedy matching is always correct. Suppose that a link matches fewer characters than
    /// it could. The next character is in the link's class and must be matched by one of the later links, up
    /// to the first link that cannot be empty. If the class is disjoint from the classes of these links,
    /// there is no other match.
    fn is_exact(&self) -> bool {
        let unambiguous = self.links.iter().enumerate().all(|(index, link)| {
            if link.min == link.max {
                return true;
            }
            for other in self.links.iter().skip(index + 1) {
                let mut common = link.class.clone();
                common.intersect(&other.class);
                if !common.ranges().is_empty() {
                    return false;
                }
                if other.min > 0 {
                    break;
                }
            }
            true
        });
        let fixed = self.links.iter().all(|link| link.min == link.max)
            && self.links.iter().map(|link| u64::from(link.max)).sum::<u64>() <= FLOATING_LIMIT;
        unambiguous && (self.start || fixed)
    }

    fn to_atoms(&self) -> Vec<CompiledAtom> {
        let mut atoms = Vec::new();
        for link in &self.links {
            match (single_character(&link.class), link.min, link.max, atoms.last_mut()) {
                (Some(c), 1, 1, Some(CompiledAtom::Literal(text))) => text.push(c),
                (Some(c), 1, 1, _) => atoms.push(CompiledAtom::Literal(c.to_string())),
                _ => {
                    let class = compile_class(&link.class);
                    atoms.push(CompiledAtom::Class { class, min: link.min, max: link.max });
                }
            }
        }
        atoms
    }
}

#[derive(Default)]
struct NfaAssembly {
    instructions: Vec<NfaInstruction>,
    classes: Vec<CompiledClass>,
    class_indices: BTreeMap<CompiledClass, u32>,
}

impl NfaAssembly {
    fn next_address(&self) -> u32 {
        // The conversion is exact, because the number of instructions is limited.
        self.instructions.len() as u32
    }

    fn push(&mut self, instruction: NfaInstruction) -> Result<u32, PatternError> {
        if self.instructions.len() >= INSTRUCTION_LIMIT {
            return Err(unsupported_pattern(format!(
                "the pattern needs more than {INSTRUCTION_LIMIT} instructions; use smaller counts"
            )));
        }
        let at = self.next_address();
        self.instructions.push(instruction);
        Ok(at)
    }

    fn set_instruction(&mut self, at: u32, instruction: NfaInstruction) {
        if let Some(slot) = self.instructions.get_mut(at as usize) {
            *slot = instruction;
        }
    }

    fn push_class(&mut self, class: &ClassUnicode) -> Result<(), PatternError> {
        let class = compile_class(class);
        let next = self.classes.len() as u32;
        let index = *self.class_indices.entry(class.clone()).or_insert(next);
        if index == next {
            self.classes.push(class);
        }
        self.push(NfaInstruction::Char(index)).map(drop)
    }

    fn push_hir(&mut self, hir: &Hir) -> Result<(), PatternError> {
        match hir.kind() {
            HirKind::Empty => Ok(()),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0)
                    .map_err(|_| unsupported_pattern("a literal is not UTF-8"))?;
                text.chars().try_for_each(|c| self.push_class(&single_char_class(c)))
            }
            HirKind::Class(class) => self.push_class(&to_unicode_class(class)),
            HirKind::Look(look) => {
                let look = match look {
                    hir::Look::Start => LookAround::Start,
                    hir::Look::End => LookAround::End,
                    hir::Look::WordAscii => LookAround::WordBoundary,
                    hir::Look::WordAsciiNegate => LookAround::NotWordBoundary,
                    other => return Err(unsupported_pattern(format!("{other:?} is not supported"))),
                };
                self.push(NfaInstruction::Assert(look)).map(drop)
            }
            HirKind::Capture(group) => self.push_hir(&group.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.push_hir(part)),
            HirKind::Alternation(branches) => self.push_alternation(branches),
            HirKind::Repetition(repetition) => self.push_repetition(repetition),
        }
    }

    fn push_alternation(&mut self, branches: &[Hir]) -> Result<(), PatternError> {
        let mut ends = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                self.push_hir(branch)?;
                break;
            }
            let split = self.push(NfaInstruction::Match)?;
            self.push_hir(branch)?;
            ends.push(self.push(NfaInstruction::Match)?);
            self.set_instruction(split, NfaInstruction::Split(split + 1, self.next_address()));
        }
        let here = self.next_address();
        for end in ends {
            self.set_instruction(end, NfaInstruction::Jump(here));
        }
        Ok(())
    }

    fn push_repetition(&mut self, repetition: &hir::Repetition) -> Result<(), PatternError> {
        let mut last = self.next_address();
        for _ in 0..repetition.min {
            last = self.next_address();
            self.push_hir(&repetition.sub)?;
            if self.next_address() == last {
                // The body neither matches a character nor contains an assertion, so repeating it has no
                // effect.
                return Ok(());
            }
        }
        match repetition.max {
            None if repetition.min > 0 => {
                let next = self.next_address() + 1;
                self.push(NfaInstruction::Split(last, next)).map(drop)
            }
            None => {
                let split = self.push(NfaInstruction::Match)?;
                self.push_hir(&repetition.sub)?;
                self.push(NfaInstruction::Jump(split))?;
                self.set_instruction(split, NfaInstruction::Split(split + 1, self.next_address()));
                Ok(())
            }
            Some(max) => {
                let mut splits = Vec::new();
                for _ in repetition.min..max {
                    splits.push(self.push(NfaInstruction::Match)?);
                    self.push_hir(&repetition.sub)?;
                }
                let here = self.next_address();
                for split in splits {
                    self.set_instruction(split, NfaInstruction::Split(split + 1, here));
                }
                Ok(())
            }
        }
    }
}

fn single_char_class(c: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(c, c)])
}

/// Converts a class to a Unicode class. Byte classes result only from `(?-u:…)`, which `translate` generates
/// only around assertions. Classes of ASCII bytes are nevertheless converted.
fn to_unicode_class(class: &Class) -> ClassUnicode {
    match class {
        Class::Unicode(class) => class.clone(),
        Class::Bytes(class) => class.to_unicode_class().unwrap_or_else(ClassUnicode::empty),
    }
}

fn single_character_class(hir: &Hir) -> Option<ClassUnicode> {
    match hir.kind() {
        HirKind::Class(class) => Some(to_unicode_class(class)),
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let c = chars.next()?;
            chars.next().is_none().then(|| single_char_class(c))
        }
        _ => None,
    }
}

fn single_character(class: &ClassUnicode) -> Option<char> {
    match class.ranges() {
        [range] if range.start() == range.end() => Some(range.start()),
        _ => None,
    }
}

fn compile_class(class: &ClassUnicode) -> CompiledClass {
    let mut out = CompiledClass { ascii: 0, ranges: Vec::new() };
    for range in class.ranges() {
        for code in u32::from(range.start())..=u32::from(range.end()).min(0x7f) {
            out.ascii |= 1 << code;
        }
        if range.end() > '\u{7f}' {
            out.ranges.push((range.start().max('\u{80}'), range.end()));
        }
    }
    out
}
