//! The layout of a program: a chain where reading ahead is provably exact, else
//! instructions, determined where that stays small.

use std::collections::BTreeMap;

use contract_runtime::pattern::Instruction;
use contract_runtime::pattern::Look;
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
use super::determine::determine;

/// The longest chain, in atoms before literals are joined.
const CHAIN_LIMIT: usize = 1024;
/// The longest chain that is tried at every place of a text.
const FLOATING_LIMIT: u64 = 64;

pub(super) fn assemble(hir: &Hir) -> Result<CompiledProgram, PatternError> {
    if let Some(program) = chain(hir) {
        return Ok(program);
    }
    let program = instructions(hir)?;
    if let CompiledProgram::Nfa { start, instructions, classes } = &program
        && let Some(table) = determine(*start, instructions, classes)
    {
        return Ok(table);
    }
    Ok(program)
}

/// The layout that every pattern has.
pub(super) fn instructions(hir: &Hir) -> Result<CompiledProgram, PatternError> {
    let mut assembly = Assembly::default();
    assembly.hir(hir)?;
    assembly.push(Instruction::Match)?;
    Ok(CompiledProgram::Nfa {
        start: hir.properties().look_set_prefix().contains(hir::Look::Start),
        instructions: assembly.instructions,
        classes: assembly.classes,
    })
}

fn refuse(reason: impl Into<String>) -> PatternError {
    PatternError { offset: 0, reason: reason.into() }
}

/// `min` to `max` characters of a class.
struct Link {
    class: ClassUnicode,
    min: u32,
    max: u32,
}

#[derive(Default)]
struct Chain {
    start: bool,
    end: bool,
    links: Vec<Link>,
}

/// The chain equal to `hir`, if there is one that needs no way back.
fn chain(hir: &Hir) -> Option<CompiledProgram> {
    let mut chain = Chain::default();
    chain.read(hir)?;
    chain.trim();
    if !chain.exact() {
        return None;
    }
    Some(CompiledProgram::Sequence { start: chain.start, end: chain.end, atoms: chain.atoms() })
}

impl Chain {
    /// Appends what `hir` reads; `None` when it is no chain.
    fn read(&mut self, hir: &Hir) -> Option<()> {
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
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.read(part)),
            HirKind::Capture(group) => self.read(&group.sub),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).ok()?;
                text.chars().try_for_each(|c| self.push(single(c), 1, 1))
            }
            HirKind::Class(class) => self.push(unicode(class), 1, 1),
            HirKind::Repetition(repetition) => {
                let max = repetition.max.unwrap_or(UNBOUNDED);
                if let Some(class) = one_character(&repetition.sub) {
                    return self.push(class, repetition.min, max);
                }
                if repetition.min != max {
                    return None;
                }
                (0..max).try_for_each(|_| {
                    let before = self.links.len();
                    self.read(&repetition.sub)?;
                    // A body that reads nothing would be repeated for nothing.
                    (self.links.len() > before).then_some(())
                })
            }
            HirKind::Look(_) | HirKind::Alternation(_) => None,
        }
    }

    fn push(&mut self, class: ClassUnicode, min: u32, max: u32) -> Option<()> {
        // Nothing is read behind the end, and a chain has a bounded length.
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
            // x{a,b}x{c,d} is x{a+c,b+d}: all counts between occur.
            last.min = last.min.checked_add(min)?;
            last.max = match (last.max, max) {
                (UNBOUNDED, _) | (_, UNBOUNDED) => UNBOUNDED,
                (own, more) => own.checked_add(more).filter(|sum| *sum < UNBOUNDED)?,
            };
            return Some(());
        }
        self.links.push(Link { class, min, max });
        Some(())
    }

    /// At an open end only the least count matters: where more are found, less
    /// are found too.
    fn trim(&mut self) {
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

    /// Whether taking as much as possible is never wrong. Suppose a link takes
    /// less than it could: the next character is in its class, and must be read
    /// by one of the links behind it, up to the first that cannot be empty. So
    /// if its class meets none of theirs there is no other way to match.
    fn exact(&self) -> bool {
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

    fn atoms(&self) -> Vec<CompiledAtom> {
        let mut atoms = Vec::new();
        for link in &self.links {
            match (literal(&link.class), link.min, link.max, atoms.last_mut()) {
                (Some(c), 1, 1, Some(CompiledAtom::Literal(text))) => text.push(c),
                (Some(c), 1, 1, _) => atoms.push(CompiledAtom::Literal(c.to_string())),
                _ => {
                    let class = compiled(&link.class);
                    atoms.push(CompiledAtom::Class { class, min: link.min, max: link.max });
                }
            }
        }
        atoms
    }
}

#[derive(Default)]
struct Assembly {
    instructions: Vec<Instruction>,
    classes: Vec<CompiledClass>,
    known: BTreeMap<CompiledClass, u32>,
}

impl Assembly {
    fn here(&self) -> u32 {
        // The limit is far below the greatest u32.
        self.instructions.len() as u32
    }

    fn push(&mut self, instruction: Instruction) -> Result<u32, PatternError> {
        if self.instructions.len() >= INSTRUCTION_LIMIT {
            return Err(refuse(format!(
                "the pattern needs more than {INSTRUCTION_LIMIT} instructions; use smaller counts"
            )));
        }
        let at = self.here();
        self.instructions.push(instruction);
        Ok(at)
    }

    fn set(&mut self, at: u32, instruction: Instruction) {
        if let Some(slot) = self.instructions.get_mut(at as usize) {
            *slot = instruction;
        }
    }

    fn read(&mut self, class: &ClassUnicode) -> Result<(), PatternError> {
        let class = compiled(class);
        let next = self.classes.len() as u32;
        let index = *self.known.entry(class.clone()).or_insert(next);
        if index == next {
            self.classes.push(class);
        }
        self.push(Instruction::Char(index)).map(drop)
    }

    fn hir(&mut self, hir: &Hir) -> Result<(), PatternError> {
        match hir.kind() {
            HirKind::Empty => Ok(()),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| refuse("a literal is not UTF-8"))?;
                text.chars().try_for_each(|c| self.read(&single(c)))
            }
            HirKind::Class(class) => self.read(&unicode(class)),
            HirKind::Look(look) => {
                let look = match look {
                    hir::Look::Start => Look::Start,
                    hir::Look::End => Look::End,
                    hir::Look::WordAscii => Look::WordBoundary,
                    hir::Look::WordAsciiNegate => Look::NotWordBoundary,
                    other => return Err(refuse(format!("{other:?} is not supported"))),
                };
                self.push(Instruction::Assert(look)).map(drop)
            }
            HirKind::Capture(group) => self.hir(&group.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.hir(part)),
            HirKind::Alternation(branches) => self.alternation(branches),
            HirKind::Repetition(repetition) => self.repetition(repetition),
        }
    }

    fn alternation(&mut self, branches: &[Hir]) -> Result<(), PatternError> {
        let mut ends = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            if index + 1 == branches.len() {
                self.hir(branch)?;
                break;
            }
            let split = self.push(Instruction::Match)?;
            self.hir(branch)?;
            ends.push(self.push(Instruction::Match)?);
            self.set(split, Instruction::Split(split + 1, self.here()));
        }
        let here = self.here();
        for end in ends {
            self.set(end, Instruction::Jump(here));
        }
        Ok(())
    }

    fn repetition(&mut self, repetition: &hir::Repetition) -> Result<(), PatternError> {
        let mut last = self.here();
        for _ in 0..repetition.min {
            last = self.here();
            self.hir(&repetition.sub)?;
            if self.here() == last {
                // The body reads and asserts nothing, however often.
                return Ok(());
            }
        }
        match repetition.max {
            None if repetition.min > 0 => {
                let next = self.here() + 1;
                self.push(Instruction::Split(last, next)).map(drop)
            }
            None => {
                let split = self.push(Instruction::Match)?;
                self.hir(&repetition.sub)?;
                self.push(Instruction::Jump(split))?;
                self.set(split, Instruction::Split(split + 1, self.here()));
                Ok(())
            }
            Some(max) => {
                let mut splits = Vec::new();
                for _ in repetition.min..max {
                    splits.push(self.push(Instruction::Match)?);
                    self.hir(&repetition.sub)?;
                }
                let here = self.here();
                for split in splits {
                    self.set(split, Instruction::Split(split + 1, here));
                }
                Ok(())
            }
        }
    }
}

fn single(c: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(c, c)])
}

/// Byte classes come from `(?-u:…)` only, which `translate` writes around
/// assertions alone; what a class of ASCII bytes means is plain all the same.
fn unicode(class: &Class) -> ClassUnicode {
    match class {
        Class::Unicode(class) => class.clone(),
        Class::Bytes(class) => class.to_unicode_class().unwrap_or_else(ClassUnicode::empty),
    }
}

fn one_character(hir: &Hir) -> Option<ClassUnicode> {
    match hir.kind() {
        HirKind::Class(class) => Some(unicode(class)),
        HirKind::Literal(literal) => {
            let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
            let c = chars.next()?;
            chars.next().is_none().then(|| single(c))
        }
        _ => None,
    }
}

fn literal(class: &ClassUnicode) -> Option<char> {
    match class.ranges() {
        [range] if range.start() == range.end() => Some(range.start()),
        _ => None,
    }
}

fn compiled(class: &ClassUnicode) -> CompiledClass {
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
