//! Schemas by name: those that no operation uses, and the addresses of all.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use super::{
    Version,
    directions::Schemas,
    finding::Comparer,
    flat::{Flat, type_names},
    places::in_document,
    proof::Side,
    rules,
    subject::{Subject, Use},
};
use crate::{
    api::Operation,
    arena::ById,
    schema::{Graph, Origin, Resource, Schema, SchemaId},
    tree::{Place, join},
};

/// How much of what two files say must be the same for one to follow the other: half.
const ALIKE: usize = 50;
/// Pairs of files that are looked at to find those.
const MOST_PAIRS: usize = 1_000_000;

/// Two resources, of which one follows the other under another address.
struct Followed<'g> {
    old: &'g Resource,
    new: &'g Resource,
    /// Whether only what they say tells that.
    by_content: bool,
}

impl<'g> Comparer<'g> {
    /// Compares what operations do not reach, as something that is both read and written.
    pub(super) fn named(&mut self) {
        let followed = self.resources();
        let (old, new) = (self.old, self.new);
        let (used_before, used_after) = (used(old), used(new));
        let mut moved: HashMap<&str, &str> =
            followed.iter().map(|each| (each.old.uri.as_str(), each.new.uri.as_str())).collect();
        // One OpenAPI document follows the other, whatever they are called.
        if let ([before], [after]) = (old.apis.as_slice(), new.apis.as_slice())
            && let (Some(before), Some(after)) =
                (old.sources.get(before.source), new.sources.get(after.source))
        {
            moved.insert(&before.uri, &after.uri);
        }
        let mut names = Names { gone: names(&old.graph), left: names(&new.graph), pairs: Vec::new() };
        names.pair(|before| Some(old.graph.location(before)), |after| Some(new.graph.location(after)));
        let follows = |before: SchemaId| {
            let schema = old.graph.schema(before);
            let uri = moved.get(old.graph.resource(schema.resource).uri.as_str())?;
            Some(format!("{uri}#{}", schema.location))
        };
        names.pair(follows, |after| Some(new.graph.location(after)));
        // What moved keeps its name.
        names.pair(
            |before| Some(old.graph.schema(before).origin.clone()),
            |after| Some(new.graph.schema(after).origin.clone()),
        );
        let pairs = names.pairs.len();
        let identity = &self.identity;
        let (earlier, later) = (self.graph(Side::Old), self.graph(Side::New));
        let telling = |graph: &'g Schemas<'g>, id: SchemaId| Flat::of(graph, &[id]).says_something();
        names.pair(
            |before| identity.class(Side::Old, before).filter(|_| telling(earlier, before)),
            |after| identity.class(Side::New, after).filter(|_| telling(later, after)),
        );
        // What others refer to is compared where they use it, wherever it stands.
        let (meant_before, meant_after) = (referred(&old.graph), referred(&new.graph));
        let inside = |before: &SchemaId| {
            let kept = matches!(old.graph.schema(*before).origin, Origin::Definition(_));
            kept && (used_before[*before] || meant_before[*before])
        };
        for (before, after) in names.pairs.split_off(pairs) {
            if !inside(&before) {
                let places = (Some(&old.graph.schema(before).place), Some(&new.graph.schema(after).place));
                let message = format!("it is called `{}`", words(new, after));
                self.both(rules::SCHEMA_RENAMED, places, &words(old, before), message);
            }
        }
        for (before, after) in names.pairs {
            if used_before[before] && used_after[after] {
                continue;
            }
            let base = words(old, before);
            for usage in [Use::Read, Use::Write] {
                self.pair(&[before], &[after], &Subject::new(base.clone(), usage));
            }
        }
        for before in names.gone {
            if !used_before[before] && !meant_before[before] {
                let place = Some(&old.graph.schema(before).place);
                self.both(rules::SCHEMA_REMOVED, (place, None), &words(old, before), "it is gone".to_owned());
            }
        }
        for after in names.left {
            if !used_after[after] && !meant_after[after] {
                let place = Some(&new.graph.schema(after).place);
                self.both(rules::SCHEMA_ADDED, (None, place), &words(new, after), "it is new".to_owned());
            }
        }
    }

    /// Compares the addresses of resources; those that others follow under another address.
    fn resources(&mut self) -> Vec<Followed<'g>> {
        let (old, new) = (self.old, self.new);
        let (followed, gone) = self.followed();
        let address = |version: &Version, resource: &Resource| {
            let root = version.graph.schema(resource.root?);
            in_document(version, root.place.source, &join(&root.place.pointer, "$id"))
        };
        for Followed { old: before, new: after, by_content } in &followed {
            let (Some(root), Some(to)) = (before.root, after.root) else { continue };
            if is_made_up(&before.uri) && is_made_up(&after.uri) {
                // Nobody gave them an address; a file alone may be called anything.
                if *by_content {
                    let places = (Some(&old.graph.schema(root).place), Some(&new.graph.schema(to).place));
                    let message = format!("the file is {}", words(new, to));
                    self.both(rules::SCHEMA_RENAMED, places, &words(old, root), message);
                }
                continue;
            }
            let (from, to) = (address(old, before), address(new, after));
            let message = format!("the schema is `{}`, was `{}`", after.uri, before.uri);
            self.both(rules::ID_CHANGED, (from.as_ref(), to.as_ref()), &words(old, root), message);
        }
        for before in gone {
            let Some(root) = before.root else { continue };
            let message = format!("there is no `{}` any more", before.uri);
            let place: Option<Place> = address(old, before);
            self.both(rules::ID_GONE, (place.as_ref(), None), &words(old, root), message);
        }
        followed
    }

    /// The resources that are gone from their address: with those that follow them, and without.
    fn followed(&self) -> (Vec<Followed<'g>>, Vec<&'g Resource>) {
        let (old, new) = (self.old, self.new);
        let fresh = |of: &'g Version, others: &'g Version| {
            let known: BTreeSet<&str> = others.graph.resources.iter().map(|each| each.uri.as_str()).collect();
            let roots = of.graph.resources.iter().filter(|each| each.root.is_some());
            roots.filter(|each| !known.contains(each.uri.as_str())).collect::<Vec<_>>()
        };
        let mut names = Names { gone: fresh(old, new), left: fresh(new, old), pairs: Vec::new() };
        // Two files, each alone: whatever they are called, one is meant to follow the other.
        let (first, second) = (alone(old), alone(new));
        let only =
            |alone: Option<SchemaId>, each: &Resource| (alone.is_some() && alone == each.root).then_some(());
        names.pair(|before| only(first, before), |after| only(second, after));
        let file = |version: &'g Version, resource: &Resource| {
            version.sources.get(resource.source).map(|source| source.name.as_str())
        };
        names.pair(|before| file(old, before), |after| file(new, after));
        let by_name = names.pairs.len();
        let (earlier, later) = (self.graph(Side::Old), self.graph(Side::New));
        let telling = |graph: &'g Schemas<'g>, id: &SchemaId| Flat::of(graph, &[*id]).says_something();
        names.pair(
            |before| self.identity.class(Side::Old, before.root.filter(|id| telling(earlier, id))?),
            |after| self.identity.class(Side::New, after.root.filter(|id| telling(later, id))?),
        );
        names.pair_alike(|before| features(earlier, before), |after| features(later, after));
        let pairs = names.pairs.into_iter().enumerate();
        let followed = pairs.map(|(at, (old, new))| Followed { old, new, by_content: at >= by_name });
        (followed.collect(), names.gone)
    }
}

/// What has a name on one side only, and the pairs that were found so far.
struct Names<T> {
    gone: Vec<T>,
    left: Vec<T>,
    pairs: Vec<(T, T)>,
}

impl<T: Copy> Names<T> {
    /// Pairs what has the same key, where no other has it on either side.
    fn pair<K: Hash + Eq>(&mut self, old: impl Fn(T) -> Option<K>, new: impl Fn(T) -> Option<K>) {
        let mut keys: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for (at, each) in self.gone.iter().enumerate() {
            if let Some(key) = old(*each) {
                keys.entry(key).or_default().0.push(at);
            }
        }
        for (at, each) in self.left.iter().enumerate() {
            if let Some(key) = new(*each) {
                keys.entry(key).or_default().1.push(at);
            }
        }
        let pairs = keys.into_values().filter_map(|found| match (found.0.as_slice(), found.1.as_slice()) {
            ([before], [after]) => Some((*before, *after)),
            _ => None,
        });
        self.take(pairs.collect());
    }

    /// Pairs what is most alike, as long as it is alike enough.
    fn pair_alike(&mut self, old: impl Fn(T) -> BTreeSet<String>, new: impl Fn(T) -> BTreeSet<String>) {
        if self.gone.len() * self.left.len() > MOST_PAIRS {
            return;
        }
        let before: Vec<_> = self.gone.iter().map(|each| old(*each)).collect();
        let after: Vec<_> = self.left.iter().map(|each| new(*each)).collect();
        let mut likely = Vec::new();
        for (at, one) in before.iter().enumerate() {
            for (to, other) in after.iter().enumerate() {
                let (shared, all) = (one.intersection(other).count(), one.union(other).count());
                let percent = (100 * shared).checked_div(all).unwrap_or(0);
                if percent >= ALIKE {
                    likely.push((Reverse(percent), at, to));
                }
            }
        }
        likely.sort_unstable();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (_, at, to) in likely {
            if !pairs.iter().any(|(before, after)| *before == at || *after == to) {
                pairs.push((at, to));
            }
        }
        self.take(pairs);
    }

    fn take(&mut self, mut pairs: Vec<(usize, usize)>) {
        pairs.sort_unstable();
        let found = pairs.iter().filter_map(|(at, to)| Some((*self.gone.get(*at)?, *self.left.get(*to)?)));
        self.pairs.extend(found.collect::<Vec<_>>());
        let (before, after): (BTreeSet<usize>, BTreeSet<usize>) = pairs.into_iter().unzip();
        let keep = |all: &mut Vec<T>, taken: &BTreeSet<usize>| {
            let mut at = 0;
            all.retain(|_| {
                at += 1;
                !taken.contains(&(at - 1))
            });
        };
        keep(&mut self.gone, &before);
        keep(&mut self.left, &after);
    }
}

/// What a file says, in words that can be counted: its members with their types, its definitions, its
/// values.
fn features<'g>(graph: &'g Schemas<'g>, resource: &Resource) -> BTreeSet<String> {
    let Some(root) = resource.root else { return BTreeSet::new() };
    let flat = Flat::of(graph, &[root]);
    let mut all = BTreeSet::new();
    for name in flat.declared() {
        let types = Flat::of(graph, &flat.applicable(name)).types();
        all.insert(format!("member {name}: {}", type_names(types)));
    }
    all.extend(
        flat.schemas().flat_map(|schema| &schema.definitions).map(|(name, _)| format!("definition {name}")),
    );
    all.extend(flat.values().into_iter().flatten().map(|value| format!("value {value}")));
    all
}

/// The schema that is the only file of a contract.
fn alone(contract: &Version) -> Option<SchemaId> {
    let [_] = contract.sources.sources.as_slice() else { return None };
    let mut roots =
        contract.graph.ids().filter(|id| matches!(contract.graph.schema(*id).origin, Origin::Root(_)));
    roots.next().filter(|_| roots.next().is_none())
}

/// Whether an address was made from the name of a file, which has no `$id`.
fn is_made_up(uri: &str) -> bool {
    uri.starts_with("file:")
}

/// Schemas with a name of their own, whole files first.
fn names(graph: &Graph) -> Vec<SchemaId> {
    let mut ids: Vec<SchemaId> =
        graph.ids().filter(|id| graph.schema(*id).origin != Origin::Inline).collect();
    ids.sort_by_key(|id| !matches!(graph.schema(*id).origin, Origin::Root(_)));
    ids
}

/// `page.schema.json#/$defs/cursor`
fn words(contract: &Version, id: SchemaId) -> String {
    let schema = contract.graph.schema(id);
    let source = contract.sources.get(schema.place.source).map_or("", |source| source.name.as_str());
    let file = source.rsplit('/').next().unwrap_or(source);
    if schema.place.pointer.is_empty() { file.to_owned() } else { format!("{file}#{}", schema.place.pointer) }
}

/// Which schemas a reference names.
fn referred(graph: &Graph) -> ById<Schema, bool> {
    let mut named = graph.schemas.map(|_| false);
    for target in graph.schemas.iter().filter_map(|schema| schema.reference) {
        named[target] = true;
    }
    named
}

/// Which schemas an operation reaches.
fn used(contract: &Version) -> ById<Schema, bool> {
    let operations = contract.apis.iter().flat_map(|api| api.operations.iter().chain(&api.webhooks));
    let mut waiting: Vec<SchemaId> = operations.flat_map(roots).collect();
    let mut seen = contract.graph.schemas.map(|_| false);
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut seen[id], true) {
            waiting.extend(contract.graph.schema(id).children());
        }
    }
    seen
}

fn roots(operation: &Operation) -> Vec<SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let body = operation.request_body.iter().flat_map(|body| &body.content).flat_map(|media| media.schemas());
    let responses = || operation.responses.iter();
    let answers = responses().flat_map(|response| &response.content).flat_map(|media| media.schemas());
    let headers = responses().flat_map(|response| &response.headers).map(|header| header.schema);
    parameters.chain(headers).flatten().chain(body).chain(answers).collect()
}
