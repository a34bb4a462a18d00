//! What a comparison carries along: what was found, what was compared before, what it means.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_runtime::Json;

use super::{
    Change, Level, Options, Spot, Version,
    answers::Answers,
    directions::{Directions, Provers},
    flat::Flat,
    identity::Identity,
    places::{Places, Spots},
    proof::{Grounds, Prover, Side, Verdict},
    rules::{self, Rule},
    subject::{Sent, Step, Subject, Use, Words},
    texts::about_texts,
    unseen::Looked,
    ways::{Start, Way, Ways},
};
use crate::{
    schema::{
        Schema, SchemaId, Types,
        keywords::{Keyword, Value},
    },
    tree::{Place, SourceId, escape},
};

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
    /// The one that changed, where that is known.
    changed: Option<Keyword>,
    pub(super) tries: Vec<Json>,
}

impl Facet {
    pub(super) const fn of(keywords: &'static [Keyword]) -> Self {
        Self { keywords, changed: None, tries: Vec::new() }
    }

    pub(super) fn changed(self, keyword: Keyword) -> Self {
        Self { changed: Some(keyword), ..self }
    }

    pub(super) fn tries(mut self, more: impl IntoIterator<Item = Json>) -> Self {
        self.tries.extend(more);
        self
    }

    /// The member of a side that says what changed, and by which keyword; the outermost that says
    /// anything else than the other side does, so that what many places share is one change.
    fn keeper<'g>(&self, flat: &Flat<'g>, other: &Flat<'g>) -> Option<(&'g Place, Keyword)> {
        let all = self.changed.iter().chain(self.keywords.iter().filter(|_| self.changed.is_none()));
        // A reference says nothing where it stands.
        let keywords: Vec<Keyword> = all.copied().filter(|keyword| *keyword != Keyword::Ref).collect();
        let said = flat.schemas().flat_map(|schema| keywords.iter().map(move |keyword| (schema, *keyword)));
        let said: Vec<_> = said.filter(|(schema, keyword)| keyword.value(schema).is_some()).collect();
        let elsewhere = |schema: &Schema, keyword: Keyword| {
            other.schemas().any(|each| keyword.value(each) == keyword.value(schema))
        };
        let own = said.iter().find(|(schema, keyword)| !elsewhere(schema, *keyword));
        own.or_else(|| said.first()).map(|(schema, keyword)| (&schema.place, *keyword))
    }
}

/// What a comparison within another one is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    /// Whether there is a difference, words aside.
    Differs,
    /// Whether readers break, where proofs may show that they do not.
    Breaks { proofs: bool },
}

/// A question, and whether its answer is known to be yes.
#[derive(Clone, Copy, Debug)]
struct Asking {
    question: Question,
    yes: bool,
}

/// A change with what its words are made of.
struct Found {
    change: Change,
    /// With what the change means there, so that the way is named on which somebody breaks.
    ways: BTreeMap<Way, Level>,
    /// A value that tells the versions apart is one of its place alone.
    witnesses: BTreeMap<Way, String>,
    /// Whether every proof that was asked for was found, whether any was.
    proofs: (bool, bool),
}

/// Two lists of schemas, in order, how and where their values are used, whether other values break
/// nobody there, what of them is a text, and where their words are.
type Compared = (Vec<SchemaId>, Vec<SchemaId>, Use, Types, bool, Sent, Words);
/// What a verdict is about: who gives what, what refuses, as which direction sees it, which types,
/// keywords and values to try.
type Judged = (Side, Vec<SchemaId>, Vec<SchemaId>, Option<Use>, Types, Vec<usize>, Vec<Json>);
/// What is given by which side, and what of the other one may refuse it.
pub(super) type Given<'a> = ((Side, &'a [SchemaId]), (Side, &'a [SchemaId]));
/// Two schemas, and the step to them where it is one.
type Stepped = (SchemaId, SchemaId, Option<(Step, String)>);
type Key = (&'static str, Option<Spot>, Option<Spot>, String);

/// A comparison under way.
pub(super) struct Comparer<'g> {
    pub(super) old: &'g Version,
    pub(super) new: &'g Version,
    pub(super) options: Options,
    pub(super) directions: &'g Directions<'g>,
    provers: Provers<'g>,
    pub(super) identity: Identity,
    found: Vec<Found>,
    index: HashMap<Key, usize>,
    /// The pairs that were compared.
    pairs: HashMap<Compared, usize>,
    pub(super) ways: Ways,
    /// Those of them that were compared keyword by keyword.
    pub(super) looked: Vec<Looked>,
    /// And those that are places of values, and no parts of others such as branches.
    pub(super) placed: BTreeSet<usize>,
    /// What the prover said.
    verdicts: HashMap<Judged, Option<Verdict>>,
    /// What was only asked about pairs.
    answers: Answers<(Question, Compared)>,
    /// While a comparison only asks.
    asking: Option<Asking>,
    places: Places<'g>,
    /// Documents of which one follows the other.
    pub(super) documents: BTreeSet<(SourceId, SourceId)>,
    /// Per two documents: security schemes that only got another name.
    pub(super) schemes: BTreeMap<(SourceId, SourceId), BTreeMap<&'g str, &'g str>>,
    /// Who sends the request of the operation that is compared: `Write` for clients, `Read` for the
    /// service, which calls webhooks and callbacks.
    pub(super) requests: Use,
}

impl<'g> Comparer<'g> {
    pub(super) fn new(
        old: &'g Version,
        new: &'g Version,
        directions: &'g Directions<'g>,
        grounds: &'g [Grounds<'g>; 3],
        options: &Options,
    ) -> Self {
        Self {
            old,
            new,
            options: *options,
            directions,
            provers: Provers::new(directions, grounds),
            identity: Identity::of(&directions.plain),
            found: Vec::new(),
            index: HashMap::new(),
            pairs: HashMap::new(),
            ways: Ways::default(),
            looked: Vec::new(),
            placed: BTreeSet::new(),
            verdicts: HashMap::new(),
            answers: Answers::default(),
            asking: None,
            places: Places::new(old, new),
            documents: BTreeSet::new(),
            schemes: BTreeMap::new(),
            requests: Use::Write,
        }
    }

    pub(super) fn run(mut self) -> Vec<Change> {
        self.operations();
        self.named();
        self.unseen();
        let ways = self.ways.settle();
        let changes = self.found.into_iter().map(|Found { mut change, ways: own, mut witnesses, .. }| {
            (change.subject, change.uses) = ways.words(&own);
            change.witness = ways.named(&own).and_then(|way| witnesses.remove(way));
            if let Some(rule) = rules::find(change.rule) {
                let more = consequence(rule, &change);
                change.message.push_str(&more);
            }
            change
        });
        changes.collect()
    }

    /// Compares what two lists of schemas say together, once per direction.
    pub(super) fn pair(&mut self, old: &[SchemaId], new: &[SchemaId], at: &Subject) {
        let has_more = matches!(at.words, Words::Around(..));
        let is_same = || !has_more && self.identity.same(old, new);
        if self.asking.is_some_and(|asking| asking.yes) || is_same() {
            return;
        }
        let key = (sorted(old), sorted(new), at.usage, at.within, at.harmless, at.sent, at.words.clone());
        if let Some(Asking { question, .. }) = self.asking {
            let key = (question, key);
            let known = self.answers.begin(&key);
            if known.is_none() {
                // Whoever only asks reads no words.
                self.each(old, new, &Subject { path: String::new(), ..at.clone() });
            }
            if let Some(asking) = &mut self.asking {
                asking.yes |= known == Some(true);
                if known.is_none() {
                    self.answers.end(key, asking.yes);
                }
            }
            return;
        }
        let way = self.way(at);
        let is_place = self.is_place(at);
        if let Some(node) = self.pairs.get(&key) {
            if is_place {
                self.placed.insert(*node);
            }
            self.ways.step(*node, way);
            return;
        }
        let node = self.ways.node();
        if is_place {
            self.placed.insert(node);
        }
        self.ways.step(node, way);
        self.pairs.insert(key, node);
        self.each(old, new, &Subject { node: Some(node), path: String::new(), ..at.clone() });
    }

    /// Compares a pair that was not compared before.
    fn each(&mut self, old: &[SchemaId], new: &[SchemaId], at: &Subject) {
        if let ([before], [after]) = (old, new)
            && at.within == Types::ALL
            && at.words == Words::Here
            && let Some(steps) = self.steps(*before, *after)
        {
            for (before, after, token) in steps {
                let at = match token {
                    None => at.clone(),
                    // What nobody sends cannot be lost; both say so, or neither does.
                    Some((Step::Member, token)) if self.is_never_sent(before, after, at.usage) => {
                        at.step(Step::Member, &token).harmless()
                    }
                    Some((step, token)) => at.step(step, &token),
                };
                self.pair(&[before], &[after], &at);
            }
            return;
        }
        let pair = self.sides(old, new, at);
        // No judge of JSON knows what a text on the wire is read as.
        if let (None, Some(node), false) = (self.asking, at.node, at.is_text() || at.harmless) {
            self.looked.push(Looked { at: at.clone(), node, old: old.to_vec(), new: new.to_vec() });
        }
        self.schemas(&pair);
    }

    /// Whether a member is never sent in a direction, by both versions.
    fn is_never_sent(&self, old: SchemaId, new: SchemaId, usage: Use) -> bool {
        let by = |side, id| self.graph(side).is_never_sent(&[id], usage);
        by(Side::Old, old) && by(Side::New, new)
    }

    /// Two lists of schemas as the two sides of a place.
    pub(super) fn sides(&self, old: &[SchemaId], new: &[SchemaId], at: &Subject) -> Pair<'g> {
        let (was, is) = (Flat::of(self.graph(Side::Old), old), Flat::of(self.graph(Side::New), new));
        let (before, after) = (was.whole(), is.whole());
        let has_forms = |flat: &Flat<'g>| !flat.unions().is_empty();
        let forms = (has_forms(before.as_ref().unwrap_or(&was)), has_forms(after.as_ref().unwrap_or(&is)));
        // The one form of a union is all of it, and one of several where the other side has more.
        let was = if forms == (false, true) { was } else { before.unwrap_or(was) };
        let is = if forms == (true, false) { is } else { after.unwrap_or(is) };
        Pair {
            old: was.within(at.within),
            new: is.within(at.within),
            old_ids: old.to_vec(),
            new_ids: new.to_vec(),
            at: at.clone(),
        }
    }

    /// For schemas that differ in nothing but what they hold, and only in ways that need no second
    /// look: the schemas to compare. Most of a large contract is on the way to what changed.
    fn steps(&self, old: SchemaId, new: SchemaId) -> Option<Vec<Stepped>> {
        if !self.identity.alike(old, new) {
            return None;
        }
        let (before, after) = (self.old.graph.schema(old), self.new.graph.schema(new));
        let only = [Keyword::Ref, Keyword::Properties, Keyword::Items];
        let looks = |(keyword, _): (Keyword, Value<'_>)| keyword.role().applies() && !only.contains(&keyword);
        // A reference is one with what stands beside it, words too.
        let beside = before.reference.is_some() && before.keywords().nth(1).is_some();
        let types = before.types.unwrap_or(Types::ALL);
        let idle = !before.properties.is_empty() && !types.contains(Types::OBJECT)
            || before.items.is_some() && !types.contains(Types::ARRAY);
        if beside || idle || before.keywords().any(looks) {
            return None;
        }
        let mut steps = Vec::new();
        let one = |old: Option<SchemaId>, new: Option<SchemaId>| old.zip(new);
        steps.extend(one(before.reference, after.reference).map(|(old, new)| (old, new, None)));
        for ((name, old), (_, new)) in before.properties.iter().zip(&after.properties) {
            // Whether a member is read or written decides whether it is needed.
            if before.required.contains(name) && !self.identity.same(&[*old], &[*new]) {
                return None;
            }
            steps.push((*old, *new, Some((Step::Member, escape(name).into_owned()))));
        }
        let element = Some((Step::Element, "*".to_owned()));
        steps.extend(one(before.items, after.items).map(|(old, new)| (old, new, element)));
        Some(steps)
    }

    /// Whether values stand there by themselves.
    fn is_place(&self, at: &Subject) -> bool {
        let inside = || at.node.is_none_or(|node| self.placed.contains(&node));
        if at.path.is_empty() { inside() } else { !at.is_part }
    }

    /// Who answers what is asked of values in a direction.
    pub(super) fn prover(&self, usage: Use) -> &Prover<'g> {
        self.provers.of(usage)
    }

    /// All ways to what was found, with what it means there.
    pub(super) fn found_ways(&self) -> impl Iterator<Item = (&Way, &Level)> {
        self.found.iter().flat_map(|found| &found.ways)
    }

    fn way(&mut self, at: &Subject) -> Way {
        let from = at.node.map_or_else(|| Start::Base(self.ways.base(&at.base)), Start::Node);
        Way { from, path: at.path.clone() }
    }

    /// Whether two lists of schemas say the same, words aside.
    pub(super) fn same(&mut self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        let options = Options { within_major: false, proofs: false };
        !self.ask(Question::Differs, old, new, options)
    }

    /// Whether who reads what the old schemas say can read what the new ones say.
    pub(super) fn reads(&mut self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        let options = Options { within_major: false, ..self.options };
        !self.ask(Question::Breaks { proofs: options.proofs }, old, new, options)
    }

    /// Compares within this comparison, as far as it takes to answer.
    fn ask(&mut self, question: Question, old: &[SchemaId], new: &[SchemaId], options: Options) -> bool {
        let asking = self.asking.replace(Asking { question, yes: false });
        let options = std::mem::replace(&mut self.options, options);
        self.pair(old, new, &Subject::new("", Use::Read));
        self.options = options;
        std::mem::replace(&mut self.asking, asking).is_some_and(|asking| asking.yes)
    }

    /// A change that concerns whoever calls, or is called: both levels of the rule count.
    pub(super) fn both(
        &mut self,
        rule: &'static Rule,
        places: (Option<&Place>, Option<&Place>),
        subject: &str,
        message: String,
    ) {
        let hook = (self.requests == Use::Read).then(|| rules::hook(rule.id)).flatten();
        let (readers, writers) =
            hook.map_or((rule.readers, rule.writers), |hook| (hook.readers, hook.writers));
        let levels = (self.raised(rule, readers), self.raised(rule, writers));
        let spots = self.spots(places, (None, None));
        self.push(rule, levels, spots, &Subject::new(subject, Use::Read), message, None);
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
        let spots = self.spots(places, (None, None));
        self.push(rule, levels, spots, at, message, None);
    }

    /// As [`Comparer::note`], where one keyword says it.
    pub(super) fn note_of(
        &mut self,
        rule: &'static Rule,
        pair: &Pair<'g>,
        keyword: Keyword,
        message: String,
    ) {
        let facet = Facet::of(&[]).changed(keyword);
        let levels = match pair.at.usage {
            Use::Read => (self.raised(rule, rule.readers), Level::Same),
            Use::Write => (Level::Same, self.raised(rule, rule.writers)),
        };
        let spots = self.kept(pair, &facet);
        self.push(rule, levels, spots, &pair.at, message, None);
    }

    /// A change of what is valid: a proof may show that it breaks nobody, a witness that it does.
    pub(super) fn set(&mut self, rule: &'static Rule, pair: &Pair<'g>, message: String, facet: Facet) {
        let spots = self.kept(pair, &facet);
        self.judged(rule, pair, &pair.at, spots, message, &facet);
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
        let spots = self.spots(places, (None, None));
        self.judged(rule, pair, at, spots, message, &facet);
    }

    fn judged(
        &mut self,
        rule: &'static Rule,
        pair: &Pair<'g>,
        at: &Subject,
        spots: Spots,
        message: String,
        facet: &Facet,
    ) {
        let asks = level_of(rule, at.usage) == Level::Breaking && !at.harmless;
        let verdict = if asks { self.verdict(pair, at.usage, facet) } else { None };
        self.decided((rule, facet), pair, at, spots, message, verdict);
    }

    /// Whether those who use a pair lose something by a facet; `None` when nobody knows, or is asked.
    pub(super) fn verdict(&mut self, pair: &Pair<'g>, usage: Use, facet: &Facet) -> Option<Verdict> {
        if !self.options.proofs {
            return None;
        }
        // Readers break when the new version lets through what the old one refuses.
        let given: Given<'_> = match usage {
            Use::Read => ((Side::New, &pair.new_ids), (Side::Old, &pair.old.members)),
            Use::Write => ((Side::Old, &pair.old_ids), (Side::New, &pair.new.members)),
        };
        self.judge(given, &pair.at, facet)
    }

    /// Whether something that one side gives is lost by a facet of the other at a place.
    pub(super) fn judge(
        &mut self,
        (given, refuser): Given<'_>,
        at: &Subject,
        facet: &Facet,
    ) -> Option<Verdict> {
        let keywords = facet.keywords.iter().map(|keyword| *keyword as usize).collect();
        let view = self.provers.view(at.usage);
        let tries = facet.tries.clone();
        let key = (given.0, given.1.to_vec(), refuser.1.to_vec(), view, at.within, keywords, tries);
        if let Some(known) = self.verdicts.get(&key) {
            return known.clone();
        }
        let prover = self.prover(at.usage);
        let verdict = if facet.tries.is_empty() || about_texts(facet.keywords) {
            prover.judge(given, refuser, at.within, facet)
        } else if let Some(found) = prover.tried(given, refuser, at.within, facet) {
            Some(Err(Some(found)))
        } else {
            // What is left to ask is the same for all changes here.
            self.judge((given, refuser), at, &Facet::of(facet.keywords))
        };
        self.verdicts.insert(key, verdict.clone());
        verdict
    }

    /// Whether nobody loses anything by a facet, in either direction: other words for the same.
    fn is_rewritten(&mut self, pair: &Pair<'g>, usage: Use, facet: &Facet) -> bool {
        let facet = Facet::of(facet.keywords);
        let holds = |comparer: &mut Self, usage| comparer.verdict(pair, usage, &facet) == Some(Ok(()));
        holds(self, usage.reversed()) && holds(self, usage)
    }

    /// A change of what is valid, which was judged.
    pub(super) fn set_by(
        &mut self,
        rule: &'static Rule,
        pair: &Pair<'g>,
        message: String,
        facet: &Facet,
        verdict: Option<Verdict>,
    ) {
        let spots = self.kept(pair, facet);
        self.decided((rule, facet), pair, &pair.at, spots, message, verdict);
    }

    fn decided(
        &mut self,
        (rule, facet): (&'static Rule, &Facet),
        pair: &Pair<'g>,
        at: &Subject,
        spots: Spots,
        message: String,
        verdict: Option<Verdict>,
    ) {
        let usage = at.usage;
        let mut level = level_of(rule, usage);
        // `None` where nothing asks for a proof.
        let mut proof = (level == Level::Breaking).then_some((false, None));
        match verdict {
            Some(Ok(())) => (level, proof) = (Level::Additive, Some((true, None))),
            Some(Err(found)) => proof = Some((true, found.map(|value| value.to_string()))),
            None => {}
        }
        if at.harmless {
            proof = None;
        } else if level == Level::Additive && self.asking.is_none() && self.is_rewritten(pair, usage, facet) {
            (level, proof) = (Level::Same, Some((true, None)));
        }
        let levels = if usage == Use::Read { (level, Level::Same) } else { (Level::Same, level) };
        self.push(rule, levels, spots, at, message, proof);
    }

    /// Within a major version nothing declared goes (semantic versioning, item 8).
    fn raised(&self, rule: &Rule, level: Level) -> Level {
        if rule.forever && self.options.within_major && level > Level::Same { Level::Breaking } else { level }
    }

    fn push(
        &mut self,
        rule: &'static Rule,
        (readers, writers): (Level, Level),
        (old, new): Spots,
        at: &Subject,
        message: String,
        proof: Option<(bool, Option<String>)>,
    ) {
        let most = if at.harmless { Level::Additive } else { Level::Breaking };
        let (readers, writers) = (readers.min(most), writers.min(most));
        if let Some(asking) = &mut self.asking {
            asking.yes |= match asking.question {
                Question::Differs => rule.readers.max(rule.writers) > Level::Same,
                Question::Breaks { .. } => readers == Level::Breaking,
            };
            return;
        }
        let way = self.way(at);
        let key = (rule.id, old.clone(), new.clone(), message.clone());
        let index = *self.index.entry(key).or_insert(self.found.len());
        if index == self.found.len() {
            let change = Change {
                rule: rule.id,
                readers,
                writers,
                old,
                new,
                subject: String::new(),
                uses: Vec::new(),
                message,
                proven: false,
                witness: None,
            };
            let (ways, witnesses) = (BTreeMap::new(), BTreeMap::new());
            self.found.push(Found { change, ways, witnesses, proofs: (true, false) });
        }
        let Some(Found { change, ways, witnesses, proofs }) = self.found.get_mut(index) else { return };
        change.readers = change.readers.max(readers);
        change.writers = change.writers.max(writers);
        if let Some((proven, witness)) = proof {
            *proofs = (proofs.0 && proven, true);
            if let Some(witness) = witness {
                witnesses.entry(way.clone()).or_insert(witness);
            }
        }
        let level = ways.entry(way).or_default();
        *level = (*level).max(readers).max(writers);
        change.proven = *proofs == (true, true);
    }

    /// Where a keyword stands on both sides, or would.
    fn kept(&mut self, pair: &Pair<'g>, facet: &Facet) -> Spots {
        if self.asking.is_some() {
            return (None, None);
        }
        let (old, new) = (facet.keeper(&pair.old, &pair.new), facet.keeper(&pair.new, &pair.old));
        let at = |kept: Option<(&'g Place, Keyword)>, flat: &Flat<'g>| {
            kept.map(|(place, _)| place).or_else(|| place(flat))
        };
        let places = (at(old, &pair.old), at(new, &pair.new));
        self.spots(places, (old.map(|kept| kept.1), new.map(|kept| kept.1)))
    }

    fn spots(
        &mut self,
        (old, new): (Option<&Place>, Option<&Place>),
        (before, after): (Option<Keyword>, Option<Keyword>),
    ) -> Spots {
        // Whoever only asks reads no words.
        if self.asking.is_some() {
            return (None, None);
        }
        let old = old.map(|place| self.places.spot(Side::Old, place, before));
        (old, new.map(|place| self.places.spot(Side::New, place, after)))
    }
}

/// What a rule says for one direction, unless a proof says less.
const fn level_of(rule: &Rule, usage: Use) -> Level {
    match usage {
        Use::Read => rule.readers,
        Use::Write => rule.writers,
    }
}

/// The second half of a message: what follows for whom.
fn consequence(rule: &Rule, change: &Change) -> String {
    use Level::Breaking;
    let expected = rule.readers.max(rule.writers) == Breaking;
    let hooked = rules::hook(rule.id).is_some_and(|hook| hook.readers.max(hook.writers) == Breaking);
    if !(expected || hooked && change.level() == Breaking) {
        return String::new();
    }
    let text = match (change.readers, change.writers) {
        (Breaking, Breaking) => "readers and writers of the old version may fail",
        (Breaking, _) => "readers of the old version may meet what they cannot handle",
        (_, Breaking) => "what writers of the old version send may be refused or lost",
        _ if change.proven && change.level() == Level::Same => "proven: the same values are valid",
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
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}
