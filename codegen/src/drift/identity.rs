//! Which schemas of two versions say exactly the same, all the way down.
//!
//! What did not change needs no comparison, and that is nearly all of a large contract. Schemas
//! get a class each: first those whose tree ends, from the leaves up, then those that hold
//! themselves, by splitting classes until nothing tells their members apart. Classes
//! come from whole keys, never from hashes alone, so that no difference is overlooked.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
};

use contract_runtime::{Json, Map, Number};

use super::{
    directions::{Schemas, Sides},
    proof::Side,
};
use crate::{
    directions::{Asked, Direction},
    schema::{
        SchemaId, Types,
        keywords::{Keyword, Value},
    },
    together::meaning::meant,
};

/// The classes of both versions' schemas.
#[derive(Debug)]
pub(super) struct Identity {
    old: Vec<u32>,
    new: Vec<u32>,
    /// The same of what schemas say themselves, whatever those that they hold say.
    old_own: Vec<u32>,
    new_own: Vec<u32>,
}

impl Identity {
    pub(super) fn of(sides: &Sides<'_>) -> Self {
        let (old, new) = (sides.get(Side::Old), sides.get(Side::New));
        let nodes: Vec<Node<'_>> = [(old, 0), (new, old.ids().count())]
            .into_iter()
            .flat_map(|(schemas, first)| schemas.ids().map(move |id| Node::of(schemas, id, first)))
            .collect();
        let mut owns = Numbers(HashMap::new());
        let mut own: Vec<u32> = nodes.iter().map(|node| owns.of(&node.own)).collect();
        let mut classes = classes(&nodes, &own);
        let count = old.ids().count();
        let (new, new_own) = (classes.split_off(count), own.split_off(count));
        Self { old: classes, new, old_own: own, new_own }
    }

    /// The class of a schema.
    pub(super) fn class(&self, side: Side, id: SchemaId) -> Option<u32> {
        let classes = if side == Side::Old { &self.old } else { &self.new };
        classes.get(id.index()).copied()
    }

    /// Whether two schemas differ at most in the schemas that they hold.
    pub(super) fn alike(&self, old: SchemaId, new: SchemaId) -> bool {
        let own = self.old_own.get(old.index());
        own.is_some() && own == self.new_own.get(new.index())
    }

    /// Whether two lists of schemas hold the same, words included.
    pub(super) fn same(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
        if let ([old], [new]) = (old, new) {
            let class = self.old.get(old.index());
            return class.is_some() && class == self.new.get(new.index());
        }
        let classes = |known: &[u32], ids: &[SchemaId]| -> Option<Vec<u32>> {
            let mut all: Vec<u32> =
                ids.iter().map(|id| known.get(id.index()).copied()).collect::<Option<_>>()?;
            all.sort_unstable();
            all.dedup();
            Some(all)
        };
        classes(&self.old, old).is_some_and(|old| classes(&self.new, new) == Some(old))
    }
}

/// What a schema says itself, and the schemas that it holds.
struct Node<'g> {
    own: Own<'g>,
    children: Vec<usize>,
}

#[derive(PartialEq, Eq, Hash)]
struct Own<'g> {
    boolean: Option<bool>,
    extensions: &'g Map<Json>,
    /// What the values of a `discriminator` mean, by the branches' own names too.
    meant: Vec<Vec<&'g str>>,
    /// The one direction that it is sent in, and what it asks for in one direction alone: that goes by the version
    /// of its document, too.
    sent: Option<Direction>,
    asked: Vec<(&'g str, Direction)>,
    keywords: Vec<(usize, Part<'g>)>,
}

/// The value of a keyword without the schemas in it.
#[derive(PartialEq, Eq, Hash)]
enum Part<'g> {
    Schemas(usize),
    Dynamic(Option<&'g str>),
    Counts(Option<u64>, Option<u64>),
    Keys(Vec<&'g str>),
    Count(u64),
    Number(&'g Number),
    Text(&'g str),
    Flag,
    Types(Types),
    Json(&'g Json),
    Values(&'g [Json]),
    Names(&'g [String]),
    Needs(&'g [(String, Vec<String>)]),
}

impl<'g> Node<'g> {
    fn of(graph: &'g Schemas<'_>, id: SchemaId, first: usize) -> Self {
        let schema = graph.schema(id);
        let mut children = Vec::new();
        let mut keywords = Vec::new();
        // What is kept for others to refer to says nothing here.
        for (keyword, value) in schema.keywords().filter(|(keyword, _)| *keyword != Keyword::Defs) {
            children.extend(value.schemas().map(|child| first + child.index()));
            let part = match value {
                Value::Schema(_) => Part::Schemas(1),
                Value::List(ids) => Part::Schemas(ids.len()),
                Value::Dynamic(dynamic) => Part::Dynamic(dynamic.anchor.as_deref()),
                Value::Contains(contains) => Part::Counts(contains.min, contains.max),
                Value::Map(named) => Part::Keys(named.iter().map(|(name, _)| name.as_str()).collect()),
                Value::Count(count) => Part::Count(count),
                Value::Number(number) => Part::Number(number),
                Value::Text(text) => Part::Text(text),
                Value::Flag => Part::Flag,
                Value::Types(types) => Part::Types(types),
                Value::Json(value) => Part::Json(value),
                Value::Values(values) => Part::Values(values),
                Value::Names(names) => Part::Names(names),
                Value::Needs(needs) => Part::Needs(needs),
            };
            keywords.push((keyword as usize, part));
        }
        let branches = schema.one_of.iter().chain(&schema.any_of);
        let meant = schema
            .discriminator
            .iter()
            .flat_map(|said| branches.clone().map(move |id| meant(graph, said, *id)));
        let meant = meant.collect();
        let one_way = &graph.one_way;
        let one = |asked: &'g Asked| (asked.name.as_str(), asked.direction);
        let own = Own {
            boolean: schema.boolean,
            extensions: &schema.extensions,
            meant,
            sent: one_way.sent(&[id]),
            asked: one_way.asked(id).iter().map(one).collect(),
            keywords,
        };
        Self { own, children }
    }
}

/// A number for each distinct key.
struct Numbers<K>(HashMap<K, u32>);

impl<K: Hash + Eq> Numbers<K> {
    fn of(&mut self, key: K) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(key).or_insert(next)
    }
}

fn classes(nodes: &[Node<'_>], own: &[u32]) -> Vec<u32> {
    let mut classes: Vec<Option<u32>> = vec![None; nodes.len()];
    let mut numbers = Numbers(HashMap::new());
    // From the leaves up, as far as that goes.
    let mut parents: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut open: Vec<usize> = nodes.iter().map(|node| node.children.len()).collect();
    for (at, node) in nodes.iter().enumerate() {
        for child in &node.children {
            if let Some(list) = parents.get_mut(*child) {
                list.push(at);
            }
        }
    }
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|at| open.get(*at) == Some(&0)).collect();
    while let Some(at) = ready.pop() {
        let (Some(node), Some(own)) = (nodes.get(at), own.get(at)) else { continue };
        let below: Option<Vec<u32>> =
            node.children.iter().map(|child| classes.get(*child).copied().flatten()).collect();
        let Some(below) = below else { continue };
        if let Some(slot) = classes.get_mut(at) {
            *slot = Some(numbers.of((*own, below)));
        }
        for parent in parents.get(at).into_iter().flatten() {
            if let Some(left) = open.get_mut(*parent) {
                *left -= 1;
                if *left == 0 {
                    ready.push(*parent);
                }
            }
        }
    }
    rest(nodes, own, &classes, &parents, numbers.0.len())
}

/// Schemas that hold themselves, or one that does: classes are split until they are stable. Only
/// those are looked at again of which a child got another class, and the larger part of a class
/// keeps its number, so that this stays nearly linear (Hopcroft 1971).
fn rest(
    nodes: &[Node<'_>],
    own: &[u32],
    known: &[Option<u32>],
    parents: &[Vec<usize>],
    count: usize,
) -> Vec<u32> {
    let first = u32::try_from(count).unwrap_or(u32::MAX);
    let mut classes: Vec<u32> =
        known.iter().zip(own).map(|(known, own)| known.unwrap_or(first + own)).collect();
    let mut dirty: BTreeSet<usize> = (0..nodes.len()).filter(|at| known.get(*at) == Some(&None)).collect();
    let mut next = classes.iter().max().map_or(0, |last| last + 1);
    // Per class: how many it has, and the classes of their children when they were last looked at.
    let mut sizes: HashMap<u32, usize> = HashMap::new();
    let mut held: HashMap<u32, Vec<u32>> = HashMap::new();
    for class in dirty.iter().filter_map(|at| classes.get(*at)) {
        *sizes.entry(*class).or_default() += 1;
    }
    while !dirty.is_empty() {
        let mut groups: BTreeMap<u32, BTreeMap<Vec<u32>, Vec<usize>>> = BTreeMap::new();
        for at in std::mem::take(&mut dirty) {
            let (Some(node), Some(class)) = (nodes.get(at), classes.get(at)) else { continue };
            let below = node.children.iter().filter_map(|child| classes.get(*child).copied()).collect();
            groups.entry(*class).or_default().entry(below).or_default().push(at);
        }
        let mut moved = Vec::new();
        for (class, mut parts) in groups {
            let seen: usize = parts.values().map(Vec::len).sum();
            let size = sizes.get(&class).copied().unwrap_or(seen);
            // Those that were not looked at are as they were, and keep the number.
            let stays = if seen < size {
                held.get(&class).cloned()
            } else {
                parts.iter().max_by_key(|(_, part)| part.len()).map(|(below, _)| below.clone())
            };
            if let Some(stays) = stays {
                parts.remove(&stays);
                held.insert(class, stays);
            }
            for (below, part) in parts {
                sizes.insert(next, part.len());
                *sizes.entry(class).or_insert(size) -= part.len();
                held.insert(next, below);
                moved.extend(part.into_iter().map(|at| (at, next)));
                next += 1;
            }
        }
        for (at, class) in moved {
            if let Some(slot) = classes.get_mut(at) {
                *slot = class;
            }
            let above = parents.get(at).into_iter().flatten().copied();
            dirty.extend(above.filter(|at| known.get(*at) == Some(&None)));
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::drift::Version;

    fn same(old: &str, new: &str) -> bool {
        let version = |text| Version::from_texts(&[("a.json", "", text)]).unwrap();
        let (old, new) = (version(old), version(new));
        let root = |version: &Version| version.graph.ids().take(1).collect::<Vec<_>>();
        Identity::of(&Sides::of(&old, &new)).same(&root(&old), &root(&new))
    }

    #[test]
    fn schemas_are_the_same_all_the_way_down() {
        let tree = r#"{"type":"object","properties":{"a":{"type":"array","items":{"maxLength":5}}}}"#;
        assert!(same(tree, &tree.replace(':', " : ")));
        assert!(!same(tree, &tree.replace('5', "4")));
        assert!(!same(tree, &tree.replace("\"a\"", "\"b\"")));
        assert!(!same(tree, &tree.replace("maxLength", "minLength")));
        assert!(!same(r#"{"x-a":1}"#, r#"{"x-a":2}"#));
        // Where a definition stands is nobody's business.
        let moved =
            |name: &str| format!(r##"{{"$ref":"#/$defs/{name}","$defs":{{"{name}":{{"minimum":1}}}}}}"##);
        assert!(same(&moved("a"), &moved("b")));
    }

    #[test]
    fn schemas_that_hold_themselves_are_compared_too() {
        let list = |limit: u8, deep: u8| {
            format!(
                r##"{{"$ref":"#/$defs/n","$defs":{{"n":{{"properties":{{"v":{{"maxLength":{limit}}},"next":{{"$ref":"#/$defs/m"}}}}}},
                "m":{{"properties":{{"v":{{"maxLength":{deep}}},"next":{{"$ref":"#/$defs/n"}}}}}}}}}}"##
            )
        };
        assert!(same(&list(5, 4), &list(5, 4)));
        assert!(!same(&list(5, 4), &list(5, 3)));
        assert!(!same(&list(5, 5), &list(5, 4)));
    }
}
