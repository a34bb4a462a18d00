//! Schemas by name: those that no operation uses, and the addresses of all.

use std::collections::BTreeSet;

use super::{
    Version,
    finding::{Comparer, Subject, Use},
    rules,
};
use crate::{
    api::Operation,
    schema::{Graph, Origin, Resource, SchemaId},
};

impl<'g> Comparer<'g> {
    /// Compares what operations do not reach, as something that is both read and written.
    pub(super) fn named(&mut self) {
        self.resources();
        let (old, new) = (self.old, self.new);
        let (used_before, used_after) = (used(old), used(new));
        let mut left = names(&new.graph);
        let mut gone = Vec::new();
        let mut pairs = Vec::new();
        for before in names(&old.graph) {
            let location = old.graph.location(before);
            match left.iter().position(|after| new.graph.location(*after) == location) {
                Some(at) => pairs.push((before, left.remove(at))),
                None => gone.push(before),
            }
        }
        // What moved keeps its name.
        gone.retain(|before| {
            let origin = &old.graph.schema(*before).origin;
            let mut same =
                left.iter().enumerate().filter(|(_, after)| new.graph.schema(**after).origin == *origin);
            match (same.next(), same.next()) {
                (Some((at, _)), None) => {
                    pairs.push((*before, left.remove(at)));
                    false
                }
                _ => true,
            }
        });
        // Two files, each alone: whatever they are called, one is meant to follow the other.
        if let (Some(before), Some(after)) = (alone(old), alone(new))
            && let Some(at) = gone.iter().position(|id| *id == before)
            && let Some(to) = left.iter().position(|id| *id == after)
        {
            pairs.push((gone.remove(at), left.remove(to)));
        }
        for (before, after) in pairs {
            if used_before.contains(&before) && used_after.contains(&after) {
                continue;
            }
            let base = words(old, before);
            for usage in [Use::Read, Use::Write] {
                self.pair(&[before], &[after], &Subject::new(base.clone(), usage));
            }
        }
        // What others refer to is compared where they use it, wherever it stands.
        let (meant_before, meant_after) = (referred(&old.graph), referred(&new.graph));
        for before in gone {
            if !used_before.contains(&before) && !meant_before.contains(&before) {
                let place = Some(&old.graph.schema(before).place);
                self.both(rules::SCHEMA_REMOVED, (place, None), &words(old, before), "it is gone".to_owned());
            }
        }
        for after in left {
            if !used_after.contains(&after) && !meant_after.contains(&after) {
                let place = Some(&new.graph.schema(after).place);
                self.both(rules::SCHEMA_ADDED, (None, place), &words(new, after), "it is new".to_owned());
            }
        }
    }

    fn resources(&mut self) {
        let (old, new) = (self.old, self.new);
        let known =
            |contract: &'g Version, uri: &str| contract.graph.resources.iter().any(|each| each.uri == uri);
        let file = |contract: &'g Version, resource: &Resource| {
            contract.sources.get(resource.source).map(|source| source.name.as_str())
        };
        for before in old.graph.resources.iter().filter(|before| !known(new, &before.uri)) {
            let Some(root) = before.root else { continue };
            let place = Some(&old.graph.schema(root).place);
            let fresh = new.graph.resources.iter().filter(|after| !known(old, &after.uri));
            let follows = |after: &&Resource| {
                let alone = alone(old) == Some(root) && after.root.is_some() && alone(new) == after.root;
                alone || after.root.is_some() && file(new, after) == file(old, before)
            };
            match fresh.into_iter().find(follows) {
                // Nobody gave them an address.
                Some(after) if is_made_up(&before.uri) && is_made_up(&after.uri) => {}
                Some(after) => {
                    let to = after.root.map(|root| &new.graph.schema(root).place);
                    let message = format!("the schema is `{}`, was `{}`", after.uri, before.uri);
                    self.both(rules::ID_CHANGED, (place, to), &words(old, root), message);
                }
                None => {
                    let message = format!("there is no `{}` any more", before.uri);
                    self.both(rules::ID_GONE, (place, None), &words(old, root), message);
                }
            }
        }
    }
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

/// Every schema that a reference names.
fn referred(graph: &Graph) -> BTreeSet<SchemaId> {
    graph.schemas.iter().filter_map(|schema| schema.reference).collect()
}

/// Every schema that an operation reaches.
fn used(contract: &Version) -> BTreeSet<SchemaId> {
    let operations = contract.apis.iter().flat_map(|api| api.operations.iter().chain(&api.webhooks));
    let mut waiting: Vec<SchemaId> = operations.flat_map(roots).collect();
    let mut seen: BTreeSet<SchemaId> = waiting.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        for child in contract.graph.schema(id).children() {
            if seen.insert(child) {
                waiting.push(child);
            }
        }
    }
    seen
}

fn roots(operation: &Operation) -> Vec<SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let body = operation.request_body.iter().flat_map(|body| &body.content).map(|media| media.schema);
    let responses = || operation.responses.iter();
    let answers = responses().flat_map(|response| &response.content).map(|media| media.schema);
    let headers = responses().flat_map(|response| &response.headers).map(|header| header.schema);
    parameters.chain(body).chain(answers).chain(headers).flatten().collect()
}
