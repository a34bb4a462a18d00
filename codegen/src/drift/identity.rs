//! Detects pairs of schemas of the two versions that are identical, including all schemas to which they
//! refer.
//!
//! Identical schemas need no comparison, and nearly all of a large contract is identical. Each schema is
//! assigned a class, and identical schemas have the same class. Schemas that are not recursive are classified
//! first, from the leaves up, and recursive schemas afterwards, by partition refinement. The keys of classes
//! are compared completely and not only by hashes, so no difference is missed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
};

use contract_codegen_core::{
    conjunction::discriminator::discriminator_values,
    directions::{Direction, OneWayRequirement},
    schema::{
        SchemaId, TypeSet,
        keywords::{Keyword, KeywordValue},
    },
};
use contract_runtime::{Json, Map, Number};

use super::{
    directions::{SchemaVersions, VersionSchemas},
    proof::VersionSide,
};

/// The classes of the schemas of both versions.
#[derive(Debug)]
pub(super) struct SchemaIdentity {
    old: Vec<u32>,
    new: Vec<u32>,
    /// The class of each schema's own content, which excludes the schemas to which the schema refers.
    old_contents: Vec<u32>,
    new_contents: Vec<u32>,
}

impl SchemaIdentity {
    pub(super) fn from_sides(sides: &SchemaVersions<'_>) -> Self {
        let (old, new) = (sides.get(VersionSide::Old), sides.get(VersionSide::New));
        let nodes: Vec<IdentityNode<'_>> = [(old, 0), (new, old.ids().count())]
            .into_iter()
            .flat_map(|(schemas, first)| {
                schemas.ids().map(move |id| IdentityNode::from_schema(schemas, id, first))
            })
            .collect();
        let mut owns = KeyNumbers(HashMap::new());
        let mut own_numbers: Vec<u32> = nodes.iter().map(|node| owns.number_of(&node.content)).collect();
        let mut classes = assign_classes(&nodes, &own_numbers);
        let count = old.ids().count();
        let (new, new_contents) = (classes.split_off(count), own_numbers.split_off(count));
        Self { old: classes, new, old_contents: own_numbers, new_contents }
    }

    /// Returns the class of a schema. Schemas with the same class are identical, including all schemas to
    /// which they refer.
    pub(super) fn schema_class(&self, side: VersionSide, id: SchemaId) -> Option<u32> {
        let classes = if side == VersionSide::Old { &self.old } else { &self.new };
        classes.get(id.index()).copied()
    }

    /// Returns true if two schemas differ at most in the schemas to which they refer.
    pub(super) fn has_same_content(&self, old: SchemaId, new: SchemaId) -> bool {
        let old_number = self.old_contents.get(old.index());
        old_number.is_some() && old_number == self.new_contents.get(new.index())
    }

    /// Returns true if two lists of schemas are identical, including annotations. The order of the lists is
    /// irrelevant.
    pub(super) fn is_identical(&self, old: &[SchemaId], new: &[SchemaId]) -> bool {
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

/// A schema's own content, and the indices of the schemas to which it refers.
struct IdentityNode<'g> {
    content: NodeContent<'g>,
    children: Vec<usize>,
}

#[derive(PartialEq, Eq, Hash)]
struct NodeContent<'g> {
    boolean: Option<bool>,
    extensions: &'g Map<Json>,
    /// The `discriminator` values that select each branch. They may be derived from type names.
    discriminator_values: Vec<Vec<&'g str>>,
    /// The direction of a schema whose values are sent in only one direction. This field and
    /// `one_way_requirements` depend on the OpenAPI version of the document.
    direction: Option<Direction>,
    one_way_requirements: Vec<(&'g str, Direction)>,
    keywords: Vec<(usize, KeywordContent<'g>)>,
}

/// The value of a keyword without its subschemas.
#[derive(PartialEq, Eq, Hash)]
enum KeywordContent<'g> {
    Schemas(usize),
    Dynamic(Option<&'g str>),
    Counts(Option<u64>, Option<u64>),
    Keys(Vec<&'g str>),
    Count(u64),
    Number(&'g Number),
    Text(&'g str),
    Flag,
    Types(TypeSet),
    Json(&'g Json),
    Values(&'g [Json]),
    Names(&'g [String]),
    Needs(&'g [(String, Vec<String>)]),
}

impl<'g> IdentityNode<'g> {
    fn from_schema(graph: &'g VersionSchemas<'_>, id: SchemaId, first: usize) -> Self {
        let schema = graph.schema(id);
        let mut children = Vec::new();
        let mut keywords = Vec::new();
        // Definitions have no effect unless a reference points to them.
        for (keyword, value) in schema.keywords().filter(|(keyword, _)| *keyword != Keyword::Defs) {
            children.extend(value.schema_ids().map(|child| first + child.index()));
            let part = match value {
                KeywordValue::Schema(_) => KeywordContent::Schemas(1),
                KeywordValue::List(ids) => KeywordContent::Schemas(ids.len()),
                KeywordValue::Dynamic(dynamic) => KeywordContent::Dynamic(dynamic.anchor.as_deref()),
                KeywordValue::Contains(contains) => KeywordContent::Counts(contains.min, contains.max),
                KeywordValue::Map(named) => {
                    KeywordContent::Keys(named.iter().map(|(name, _)| name.as_str()).collect())
                }
                KeywordValue::Count(count) => KeywordContent::Count(count),
                KeywordValue::Number(number) => KeywordContent::Number(number),
                KeywordValue::Text(text) => KeywordContent::Text(text),
                KeywordValue::Flag => KeywordContent::Flag,
                KeywordValue::Types(types) => KeywordContent::Types(types),
                KeywordValue::Json(value) => KeywordContent::Json(value),
                KeywordValue::Values(values) => KeywordContent::Values(values),
                KeywordValue::Names(names) => KeywordContent::Names(names),
                KeywordValue::Needs(needs) => KeywordContent::Needs(needs),
            };
            keywords.push((keyword as usize, part));
        }
        let branches = schema.one_of.iter().chain(&schema.any_of);
        let values = schema.discriminator.iter().flat_map(|discriminator| {
            branches.clone().map(move |id| discriminator_values(graph, discriminator, *id))
        });
        let values = values.collect();
        let one_way = &graph.one_way;
        let one = |requirement: &'g OneWayRequirement| (requirement.name.as_str(), requirement.direction);
        let own_content = NodeContent {
            boolean: schema.boolean,
            extensions: &schema.extensions,
            discriminator_values: values,
            direction: one_way.sent_direction(&[id]),
            one_way_requirements: one_way.requirements_of(id).iter().map(one).collect(),
            keywords,
        };
        Self { content: own_content, children }
    }
}

/// An assignment of consecutive numbers to distinct keys.
struct KeyNumbers<K>(HashMap<K, u32>);

impl<K: Hash + Eq> KeyNumbers<K> {
    fn number_of(&mut self, key: K) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(key).or_insert(next)
    }
}

fn assign_classes(nodes: &[IdentityNode<'_>], own_numbers: &[u32]) -> Vec<u32> {
    let mut classes: Vec<Option<u32>> = vec![None; nodes.len()];
    let mut numbers = KeyNumbers(HashMap::new());
    // Schemas that are not recursive are classified from the leaves up.
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
        let (Some(node), Some(own_numbers)) = (nodes.get(at), own_numbers.get(at)) else { continue };
        let below: Option<Vec<u32>> =
            node.children.iter().map(|child| classes.get(*child).copied().flatten()).collect();
        let Some(below) = below else { continue };
        if let Some(slot) = classes.get_mut(at) {
            *slot = Some(numbers.number_of((*own_numbers, below)));
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
    refine_classes(nodes, own_numbers, &classes, &parents, numbers.0.len())
}

/// Refines the classes of recursive schemas until they are stable. Only schemas with a child whose class
/// changed are examined again, and the largest part of a split class keeps its number, so the time is nearly
/// linear (Hopcroft 1971).
fn refine_classes(
    nodes: &[IdentityNode<'_>],
    own_classes: &[u32],
    known: &[Option<u32>],
    parents: &[Vec<usize>],
    count: usize,
) -> Vec<u32> {
    let first = u32::try_from(count).unwrap_or(u32::MAX);
    let mut classes: Vec<u32> = known
        .iter()
        .zip(own_classes)
        .map(|(known, own_classes)| known.unwrap_or(first + own_classes))
        .collect();
    let mut dirty: BTreeSet<usize> = (0..nodes.len()).filter(|at| known.get(*at) == Some(&None)).collect();
    let mut next = classes.iter().max().map_or(0, |last| last + 1);
    // For each class: its size, and the classes of its members' children at the last examination.
    let mut sizes: HashMap<u32, usize> = HashMap::new();
    let mut child_classes: HashMap<u32, Vec<u32>> = HashMap::new();
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
            // Members that were not examined are unchanged and keep the number of the class.
            let stays = if seen < size {
                child_classes.get(&class).cloned()
            } else {
                parts.iter().max_by_key(|(_, part)| part.len()).map(|(below, _)| below.clone())
            };
            if let Some(stays) = stays {
                parts.remove(&stays);
                child_classes.insert(class, stays);
            }
            for (below, part) in parts {
                sizes.insert(next, part.len());
                *sizes.entry(class).or_insert(size) -= part.len();
                child_classes.insert(next, below);
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
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use super::*;
    use crate::drift::ContractVersion;

    fn same(old: &str, new: &str) -> bool {
        let version = |text| ContractVersion::from_strings(&[("a.json", "", text)]).unwrap();
        let (old, new) = (version(old), version(new));
        let root = |version: &ContractVersion| version.graph.ids().take(1).collect::<Vec<_>>();
        SchemaIdentity::from_sides(&SchemaVersions::from_versions(&old, &new))
            .is_identical(&root(&old), &root(&new))
    }

    #[test]
    fn nested_schemas_are_compared() {
        let tree = r#"{"type":"object","properties":{"a":{"type":"array","items":{"maxLength":5}}}}"#;
        assert!(same(tree, &tree.replace(':', " : ")));
        assert!(!same(tree, &tree.replace('5', "4")));
        assert!(!same(tree, &tree.replace("\"a\"", "\"b\"")));
        assert!(!same(tree, &tree.replace("maxLength", "minLength")));
        assert!(!same(r#"{"x-a":1}"#, r#"{"x-a":2}"#));
        // The location of a definition is irrelevant.
        let moved =
            |name: &str| format!(r##"{{"$ref":"#/$defs/{name}","$defs":{{"{name}":{{"minimum":1}}}}}}"##);
        assert!(same(&moved("a"), &moved("b")));
    }

    #[test]
    fn recursive_schemas_are_compared() {
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
