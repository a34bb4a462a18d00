//! What a comparison carries along: what was found, what was compared before, what it means.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use contract_runtime::{Json, text::Lines};

use super::{
    Change, Level, Options, Spot, Version,
    flat::Flat,
    proof::{Grounds, Prover, Side},
    rules::{self, Rule},
};
use crate::{
    load::Sources,
    schema::{Schema, SchemaId, keywords::Keyword},
    tree::Place,
};

/// How a schema is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Use {
    /// The service sends such values, clients read them.
    Read,
    /// Clients send such values, the service reads them.
    Write,
}

impl Use {
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// What is being compared, in words.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// `GET /me/ships 200 body`
    pub(super) base: String,
    /// `/items/*/name`
    pub(super) path: String,
    pub(super) usage: Use,
}

impl Subject {
    pub(super) fn new(base: impl Into<String>, usage: Use) -> Self {
        Self { base: base.into(), path: String::new(), usage }
    }

    pub(super) fn step(&self, token: &str) -> Self {
        Self { path: format!("{}/{token}", self.path), ..self.clone() }
    }

    fn words(&self) -> String {
        if self.path.is_empty() { self.base.clone() } else { format!("{} {}", self.base, self.path) }
    }
}

/// Two sides of one place.
#[derive(Clone, Debug)]
pub(super) struct Pair<'g> {
    pub(super) old: Flat<'g>,
    pub(super) new: Flat<'g>,
    pub(super) old_ids: Vec<SchemaId>,
    pub(super) new_ids: Vec<SchemaId>,
    pub(super) at: Subject,
}

/// Keywords that decide alone whether a value passes, and values to try.
#[derive(Clone, Debug, Default)]
pub(super) struct Facet {
    pub(super) keywords: &'static [Keyword],
    pub(super) tries: Vec<Json>,
}

impl Facet {
    pub(super) const fn of(keywords: &'static [Keyword]) -> Self {
        Self { keywords, tries: Vec::new() }
    }

    pub(super) fn tries(mut self, more: impl IntoIterator<Item = Json>) -> Self {
        self.tries.extend(more);
        self
    }
}

type Ids = Vec<SchemaId>;
type Key = (&'static str, Option<Spot>, Option<Spot>, String);

/// A comparison under way.
pub(super) struct Comparer<'g> {
    pub(super) old: &'g Version,
    pub(super) new: &'g Version,
    pub(super) options: Options,
    /// Shared with the comparisons within this one: tables are built once.
    pub(super) prover: Rc<Prover<'g>>,
    changes: Vec<Change>,
    index: HashMap<Key, usize>,
    /// What was found below a pair; `None` while it is being compared.
    memo: HashMap<(Ids, Ids, Use), Option<BTreeSet<usize>>>,
    frames: Vec<BTreeSet<usize>>,
    /// Pairs that were only asked about; equal until shown otherwise.
    asked: HashMap<(Ids, Ids), bool>,
    /// Per change: whether every proof that was asked for was found, whether any was.
    proofs: HashMap<usize, (bool, bool)>,
    /// Per source.
    lines: BTreeMap<(bool, u32), Lines>,
}

impl<'g> Comparer<'g> {
    pub(super) fn new(
        old: &'g Version,
        new: &'g Version,
        grounds: &'g Grounds<'g>,
        options: &Options,
    ) -> Self {
        Self::with(old, new, Rc::new(Prover::new(&old.graph, &new.graph, grounds)), options)
    }

    fn with(old: &'g Version, new: &'g Version, prover: Rc<Prover<'g>>, options: &Options) -> Self {
        Self {
            old,
            new,
            options: *options,
            prover,
            changes: Vec::new(),
            index: HashMap::new(),
            memo: HashMap::new(),
            frames: Vec::new(),
            asked: HashMap::new(),
            proofs: HashMap::new(),
            lines: BTreeMap::new(),
        }
    }

    pub(super) fn run(mut self) -> Vec<Change> {
        self.operations();
        self.named();
        for change in &mut self.changes {
            let Some(rule) = rules::find(change.rule) else { continue };
            let more = consequence(rule, change);
            change.message.push_str(&more);
        }
        self.changes
    }

    /// Compares what two lists of schemas say together, once per direction.
    pub(super) fn pair(&mut self, old: &[SchemaId], new: &[SchemaId], at: &Subject) {
        let key = (sorted(old), sorted(new), at.usage);
        match self.memo.get(&key) {
            Some(Some(found)) => {
                for index in found.clone() {
                    self.used(index, &at.base);
                }
                return;
            }
            Some(None) => return,
            None => {}
        }
        self.memo.insert(key.clone(), None);
        self.frames.push(BTreeSet::new());
        let pair = Pair {
            old: Flat::of(&self.old.graph, old),
            new: Flat::of(&self.new.graph, new),
            old_ids: old.to_vec(),
            new_ids: new.to_vec(),
            at: at.clone(),
        };
        self.schemas(&pair);
        let found = self.frames.pop().unwrap_or_default();
        if let Some(frame) = self.frames.last_mut() {
            frame.extend(&found);
        }
        self.memo.insert(key, Some(found));
    }

    /// Whether two lists of schemas say the same, words aside.
    pub(super) fn same(&mut self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        let key = (sorted(old), sorted(new));
        if let Some(known) = self.asked.get(&key) {
            return *known;
        }
        self.asked.insert(key.clone(), true);
        let options = Options { within_major: false, proofs: false };
        let mut inner = Self::with(self.old, self.new, Rc::clone(&self.prover), &options);
        inner.asked = std::mem::take(&mut self.asked);
        inner.pair(old, new, &Subject::new("", Use::Read));
        let loud = |change: &Change| {
            rules::find(change.rule).is_some_and(|rule| rule.readers.max(rule.writers) > Level::Same)
        };
        let same = !inner.changes.iter().any(loud);
        self.asked = inner.asked;
        self.asked.insert(key, same);
        same
    }

    fn used(&mut self, index: usize, base: &str) {
        if let Some(change) = self.changes.get_mut(index)
            && let Err(at) = change.uses.binary_search_by(|other| other.as_str().cmp(base))
        {
            change.uses.insert(at, base.to_owned());
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(index);
        }
    }

    /// A change that concerns whoever calls: both levels of the rule count.
    pub(super) fn both(
        &mut self,
        rule: &'static Rule,
        places: (Option<&Place>, Option<&Place>),
        subject: &str,
        message: String,
    ) {
        let levels = (self.raised(rule, rule.readers), self.raised(rule, rule.writers));
        self.push(rule, levels, places, (subject, subject), message, None, None);
    }

    /// A change of a schema that no proof can judge.
    pub(super) fn note(&mut self, rule: &'static Rule, pair: &Pair<'g>, message: String) {
        let places = (place(&pair.old), place(&pair.new));
        self.note_at(rule, &pair.at, places, message);
    }

    /// As [`Comparer::note`], somewhere else.
    pub(super) fn note_at(
        &mut self,
        rule: &'static Rule,
        at: &Subject,
        places: (Option<&Place>, Option<&Place>),
        message: String,
    ) {
        let levels = match at.usage {
            Use::Read => (self.raised(rule, rule.readers), Level::Same),
            Use::Write => (Level::Same, self.raised(rule, rule.writers)),
        };
        self.push(rule, levels, places, (&at.words(), &at.base), message, None, None);
    }

    /// A change of what is valid: a proof may show that it breaks nobody, a witness that it does.
    pub(super) fn set(&mut self, rule: &'static Rule, pair: &Pair<'g>, message: String, facet: Facet) {
        // The member that has the keyword, so that what many places share is one change.
        let keeper = |flat: &Flat<'g>| {
            // A reference says nothing where it stands.
            let says = |schema: &&Schema| {
                let mut keywords = facet.keywords.iter().filter(|keyword| **keyword != Keyword::Ref);
                keywords.any(|keyword| keyword.value(schema).is_some())
            };
            let keeper = flat.schemas().find(says);
            keeper.map(|schema| &schema.place).or_else(|| place(flat))
        };
        let places = (keeper(&pair.old), keeper(&pair.new));
        self.set_at(rule, pair, &pair.at, places, message, facet);
    }

    /// As [`Comparer::set`], somewhere else; the pair says what is valid.
    pub(super) fn set_at(
        &mut self,
        rule: &'static Rule,
        pair: &Pair<'g>,
        at: &Subject,
        places: (Option<&Place>, Option<&Place>),
        message: String,
        facet: Facet,
    ) {
        let usage = at.usage;
        let mut level = match usage {
            Use::Read => rule.readers,
            Use::Write => rule.writers,
        };
        // `None` where nothing asks for a proof.
        let (mut proven, mut witness) = ((level == Level::Breaking).then_some(false), None);
        if level == Level::Breaking && self.options.proofs {
            // Readers break when the new version lets through what the old one refuses.
            let ((giving, given), (refusing, refuser)) = match usage {
                Use::Read => ((Side::New, &pair.new_ids), (Side::Old, &pair.old.members)),
                Use::Write => ((Side::Old, &pair.old_ids), (Side::New, &pair.new.members)),
            };
            let verdict = self.prover.judge((giving, given), (refusing, refuser), &facet);
            match verdict {
                Some(Ok(())) => (level, proven) = (Level::Additive, Some(true)),
                Some(Err(found)) => (proven, witness) = (Some(true), found.map(|value| value.to_string())),
                None => {}
            }
        }
        let levels = if usage == Use::Read { (level, Level::Same) } else { (Level::Same, level) };
        self.push(rule, levels, places, (&at.words(), &at.base), message, proven, witness);
    }

    /// Within a major version nothing declared goes (semantic versioning, item 8).
    fn raised(&self, rule: &Rule, level: Level) -> Level {
        if rule.forever && self.options.within_major && level > Level::Same { Level::Breaking } else { level }
    }

    #[expect(clippy::too_many_arguments, reason = "the one place where a change is put together")]
    fn push(
        &mut self,
        rule: &'static Rule,
        (readers, writers): (Level, Level),
        (old, new): (Option<&Place>, Option<&Place>),
        (subject, base): (&str, &str),
        message: String,
        proven: Option<bool>,
        witness: Option<String>,
    ) {
        let old = old.map(|place| self.spot(false, place));
        let new = new.map(|place| self.spot(true, place));
        let key = (rule.id, old.clone(), new.clone(), message.clone());
        let index = *self.index.entry(key).or_insert(self.changes.len());
        if let Some(change) = self.changes.get_mut(index) {
            let (known, asked) = self.proofs.entry(index).or_insert((true, false));
            *known &= proven.unwrap_or(true);
            *asked |= proven.is_some();
            change.proven = *known && *asked;
            change.readers = change.readers.max(readers);
            change.writers = change.writers.max(writers);
            change.witness = change.witness.take().or(witness);
        } else {
            self.changes.push(Change {
                rule: rule.id,
                readers,
                writers,
                old,
                new,
                subject: subject.to_owned(),
                uses: Vec::new(),
                message,
                proven: proven == Some(true),
                witness,
            });
            self.proofs.insert(index, (proven.unwrap_or(true), proven.is_some()));
        }
        self.used(index, base);
    }

    fn spot(&mut self, new: bool, place: &Place) -> Spot {
        let sources: &Sources = if new { &self.new.sources } else { &self.old.sources };
        let Some(source) = sources.get(place.source) else {
            return Spot { file: String::new(), pointer: place.pointer.clone(), line: 1 };
        };
        let lines = self.lines.entry((new, place.source.0)).or_insert_with(|| Lines::of(&source.text));
        let line = lines.line(place.span.start as usize) + 1;
        Spot { file: source.name.clone(), pointer: place.pointer.clone(), line }
    }
}

/// The second half of a message: what follows for whom.
fn consequence(rule: &Rule, change: &Change) -> String {
    use Level::Breaking;
    let expected = rule.readers.max(rule.writers);
    if expected != Breaking {
        return String::new();
    }
    let text = match (change.readers, change.writers) {
        (Breaking, Breaking) => "readers and writers of the old version may fail",
        (Breaking, _) => "readers of the old version may meet what they cannot handle",
        (_, Breaking) => "what writers of the old version send may be refused or lost",
        _ if change.proven => "proven: nothing that was valid is lost and nothing unexpected arrives",
        _ => "whoever follows the old version is not affected",
    };
    format!("; {text}")
}

/// Where a flattened schema stands: the outermost member that says more than where to look.
pub(super) fn place<'g>(flat: &Flat<'g>) -> Option<&'g Place> {
    let telling =
        flat.schemas().find(|schema| schema.reference.is_none() || !schema.decides_by(&[Keyword::Ref]));
    telling.or_else(|| flat.schemas().next()).map(|schema| &schema.place)
}

fn sorted(ids: &[SchemaId]) -> Vec<SchemaId> {
    let set: BTreeSet<SchemaId> = ids.iter().copied().collect();
    set.into_iter().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    /// Comparisons within one, of which branches of unions give many, ask its tables.
    #[test]
    fn tables_are_built_once() {
        let version = |text| Version::from_texts(&[("a.json", "", text)]).unwrap();
        let (old, new) = (version(r#"{"enum": ["a", 1]}"#), version(r#"{"type": "string"}"#));
        let grounds = Grounds::default();
        let mut comparer = Comparer::new(&old, &new, &grounds, &Options::default());
        let root = |version: &Version| version.graph.ids().take(1).collect::<Vec<_>>();
        assert!(!comparer.prover.has_tables());
        assert!(!comparer.same(&root(&old), &root(&new)));
        assert!(comparer.prover.has_tables(), "built by a comparison for itself alone");
    }
}
