//! Compares the schemas that no operation uses, and the identifiers of all schema documents. The schemas are
//! matched by name.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

use contract_codegen_core::{
    api::Operation,
    arena::ArenaMap,
    schema::{Schema, SchemaGraph, SchemaId, SchemaOrigin, SchemaResource},
    tree::{DocumentLocation, join_token},
};

use super::{
    ContractVersion,
    comparison::Comparison,
    directions::VersionSchemas,
    flattened::{FlattenedSchema, type_names},
    locations::nearest_place,
    proof::VersionSide,
    rules,
    site::{ComparisonSite, ValueUse},
};

/// The minimum similarity in percent at which two files are matched by their content.
const MIN_SIMILARITY_PERCENT: usize = 50;
/// The maximum number of pairs of files that are compared by content.
const MAX_RESOURCE_PAIRS: usize = 1_000_000;

/// Two schema documents that correspond to each other but have different identifiers.
struct RenamedResource<'g> {
    old: &'g SchemaResource,
    new: &'g SchemaResource,
    /// Whether the documents were matched only by their content.
    is_by_content: bool,
}

/// A comparer for the named schemas and the schema documents of both versions.
pub(super) struct NamedSchemaComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
}

impl<'c, 'g> NamedSchemaComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>) -> Self {
        Self { comparison }
    }

    /// Compares the schemas that no operation uses, for readers and for writers. Reports added, removed and
    /// renamed schemas, and changed identifiers of schema documents.
    pub(super) fn compare_named_schemas(&mut self) {
        let followed = self.compare_resources();
        let (old, new) = self.comparison.versions();
        let (used_before, used_after) = (used_schemas(old), used_schemas(new));
        let (names, renamed) = self.match_schemas(&followed);
        // Referenced schemas are compared at the references.
        let (referenced_before, referenced_after) =
            (referenced_schemas(&old.graph), referenced_schemas(&new.graph));
        let inside = |before: &SchemaId| {
            let is_definition = matches!(old.graph.schema(*before).origin, SchemaOrigin::Definition(_));
            is_definition && (used_before[*before] || referenced_before[*before])
        };
        for (before, after) in renamed {
            if !inside(&before) {
                let places = (Some(&old.graph.schema(before).place), Some(&new.graph.schema(after).place));
                let message = format!("the schema was renamed to `{}`", schema_label(new, after));
                self.comparison.report_contract_change(
                    rules::SCHEMA_RENAMED,
                    places,
                    &schema_label(old, before),
                    message,
                );
            }
        }
        for (before, after) in names.pairs {
            if used_before[before] && used_after[after] {
                continue;
            }
            let base = schema_label(old, before);
            self.comparison.findings_mut().mark_named_schema(&base);
            for usage in [ValueUse::Read, ValueUse::Write] {
                self.comparison.compare_schemas(
                    &[before],
                    &[after],
                    &ComparisonSite::new(base.clone(), usage),
                );
            }
        }
        for before in names.removed {
            if !used_before[before] && !referenced_before[before] {
                let place = Some(&old.graph.schema(before).place);
                self.comparison.report_contract_change(
                    rules::SCHEMA_REMOVED,
                    (place, None),
                    &schema_label(old, before),
                    "the schema was removed".to_owned(),
                );
            }
        }
        for after in names.added {
            if !used_after[after] && !referenced_after[after] {
                let place = Some(&new.graph.schema(after).place);
                self.comparison.report_contract_change(
                    rules::SCHEMA_ADDED,
                    (None, place),
                    &schema_label(new, after),
                    "the schema is new".to_owned(),
                );
            }
        }
    }

    /// Matches the named schemas of both versions. `followed` contains the documents whose identifier
    /// changed. Returns two values: a matcher with the matches by location or name and with the unmatched
    /// schemas, and the pairs of renamed schemas. Renamed schemas have equal content under different names.
    fn match_schemas(
        &self,
        followed: &[RenamedResource<'g>],
    ) -> (NameMatcher<SchemaId>, Vec<(SchemaId, SchemaId)>) {
        let (old, new) = self.comparison.versions();
        let mut moved: HashMap<&str, &str> =
            followed.iter().map(|each| (each.old.uri.as_str(), each.new.uri.as_str())).collect();
        // If each version has a single OpenAPI document, these two correspond to each other, regardless of
        // their names.
        if let ([before], [after]) = (old.apis.as_slice(), new.apis.as_slice())
            && let (Some(before), Some(after)) =
                (old.sources.get(before.source), new.sources.get(after.source))
        {
            moved.insert(&before.uri, &after.uri);
        }
        let mut names = NameMatcher {
            removed: named_schema_ids(&old.graph),
            added: named_schema_ids(&new.graph),
            pairs: Vec::new(),
        };
        names.match_by_key(
            |before| Some(old.graph.absolute_location(before)),
            |after| Some(new.graph.absolute_location(after)),
        );
        let follows = |before: SchemaId| {
            let schema = old.graph.schema(before);
            let uri = moved.get(old.graph.resource(schema.resource).uri.as_str())?;
            Some(format!("{uri}#{}", schema.location))
        };
        names.match_by_key(follows, |after| Some(new.graph.absolute_location(after)));
        // A schema that moved to another document keeps its name.
        names.match_by_key(
            |before| Some(old.graph.schema(before).origin.clone()),
            |after| Some(new.graph.schema(after).origin.clone()),
        );
        let pairs = names.pairs.len();
        let identity = self.comparison.identity();
        let (earlier, later) =
            (self.comparison.graph(VersionSide::Old), self.comparison.graph(VersionSide::New));
        let is_restrictive = |graph: &'g VersionSchemas<'g>, id: SchemaId| {
            FlattenedSchema::from_schemas(graph, &[id]).restricts_values()
        };
        names.match_by_key(
            |before| {
                identity.schema_class(VersionSide::Old, before).filter(|_| is_restrictive(earlier, before))
            },
            |after| identity.schema_class(VersionSide::New, after).filter(|_| is_restrictive(later, after)),
        );
        let renamed = names.pairs.split_off(pairs);
        (names, renamed)
    }

    /// Compares the identifiers of schema documents. Returns the documents whose identifier changed.
    fn compare_resources(&mut self) -> Vec<RenamedResource<'g>> {
        let (old, new) = self.comparison.versions();
        let (followed, removed) = self.match_resources();
        let address = |version: &ContractVersion, resource: &SchemaResource| {
            let root = version.graph.schema(resource.root?);
            nearest_place(version, root.place.source, &join_token(&root.place.pointer, "$id"))
        };
        for RenamedResource { old: before, new: after, is_by_content: by_content } in &followed {
            let (Some(root), Some(to)) = (before.root, after.root) else { continue };
            if !declares_id(old, before) && !declares_id(new, after) {
                // Documents without `$id` are identified by the file or URL from which they were loaded. The
                // name matters only if the document was matched by content.
                if *by_content {
                    let places = (Some(&old.graph.schema(root).place), Some(&new.graph.schema(to).place));
                    let message = format!("the file was renamed to {}", schema_label(new, to));
                    self.comparison.report_contract_change(
                        rules::SCHEMA_RENAMED,
                        places,
                        &schema_label(old, root),
                        message,
                    );
                }
                continue;
            }
            let (from, to) = (address(old, before), address(new, after));
            let message = format!("the identifier changed from `{}` to `{}`", before.uri, after.uri);
            self.comparison.report_contract_change(
                rules::ID_CHANGED,
                (from.as_ref(), to.as_ref()),
                &schema_label(old, root),
                message,
            );
        }
        for before in removed {
            let Some(root) = before.root else { continue };
            let message = format!("no schema has the identifier `{}` any more", before.uri);
            let place: Option<DocumentLocation> = address(old, before);
            self.comparison.report_contract_change(
                rules::ID_REMOVED,
                (place.as_ref(), None),
                &schema_label(old, root),
                message,
            );
        }
        followed
    }

    /// Matches the schema documents whose identifier occurs in only one version. Returns the matches, and the
    /// documents of the old version without a match.
    fn match_resources(&self) -> (Vec<RenamedResource<'g>>, Vec<&'g SchemaResource>) {
        let (old, new) = self.comparison.versions();
        let fresh = |of: &'g ContractVersion, others: &'g ContractVersion| {
            let known: BTreeSet<&str> = others.graph.resources.iter().map(|each| each.uri.as_str()).collect();
            let roots = of.graph.resources.iter().filter(|each| each.root.is_some());
            roots.filter(|each| !known.contains(each.uri.as_str())).collect::<Vec<_>>()
        };
        let mut names = NameMatcher { removed: fresh(old, new), added: fresh(new, old), pairs: Vec::new() };
        // If each contract consists of one file, these correspond to each other, regardless of their names.
        let (first, second) = (only_root_schema(old), only_root_schema(new));
        let only = |alone: Option<SchemaId>, each: &SchemaResource| {
            (alone.is_some() && alone == each.root).then_some(())
        };
        names.match_by_key(|before| only(first, before), |after| only(second, after));
        let file = |version: &'g ContractVersion, resource: &SchemaResource| {
            version.sources.get(resource.source).map(|source| source.name.as_str())
        };
        names.match_by_key(|before| file(old, before), |after| file(new, after));
        let by_name = names.pairs.len();
        let (earlier, later) =
            (self.comparison.graph(VersionSide::Old), self.comparison.graph(VersionSide::New));
        let is_restrictive = |graph: &'g VersionSchemas<'g>, id: &SchemaId| {
            FlattenedSchema::from_schemas(graph, &[*id]).restricts_values()
        };
        names.match_by_key(
            |before| {
                self.comparison
                    .identity()
                    .schema_class(VersionSide::Old, before.root.filter(|id| is_restrictive(earlier, id))?)
            },
            |after| {
                self.comparison
                    .identity()
                    .schema_class(VersionSide::New, after.root.filter(|id| is_restrictive(later, id))?)
            },
        );
        names.match_by_similarity(
            |before| resource_features(earlier, before),
            |after| resource_features(later, after),
        );
        let pairs = names.pairs.into_iter().enumerate();
        let followed =
            pairs.map(|(at, (old, new))| RenamedResource { old, new, is_by_content: at >= by_name });
        (followed.collect(), names.removed)
    }
}

/// The items of both versions that have no match yet, and the matches found so far.
struct NameMatcher<T> {
    removed: Vec<T>,
    added: Vec<T>,
    pairs: Vec<(T, T)>,
}

impl<T: Copy> NameMatcher<T> {
    /// Matches items with equal keys, if the key is unique in both versions.
    fn match_by_key<K: Hash + Eq>(&mut self, old: impl Fn(T) -> Option<K>, new: impl Fn(T) -> Option<K>) {
        let mut keys: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for (at, each) in self.removed.iter().enumerate() {
            if let Some(key) = old(*each) {
                keys.entry(key).or_default().0.push(at);
            }
        }
        for (at, each) in self.added.iter().enumerate() {
            if let Some(key) = new(*each) {
                keys.entry(key).or_default().1.push(at);
            }
        }
        let pairs = keys.into_values().filter_map(|found| match (found.0.as_slice(), found.1.as_slice()) {
            ([before], [after]) => Some((*before, *after)),
            _ => None,
        });
        self.take_matches(pairs.collect());
    }

    /// Matches items by similarity, which is the number of strings that both items have, divided by the
    /// number of distinct strings of the two items. `old` and `new` return the strings of an item. The most
    /// similar items are matched first, down to [`MIN_SIMILARITY_PERCENT`].
    fn match_by_similarity(
        &mut self,
        old: impl Fn(T) -> BTreeSet<String>,
        new: impl Fn(T) -> BTreeSet<String>,
    ) {
        if self.removed.len() * self.added.len() > MAX_RESOURCE_PAIRS {
            return;
        }
        let before: Vec<_> = self.removed.iter().map(|each| old(*each)).collect();
        let after: Vec<_> = self.added.iter().map(|each| new(*each)).collect();
        let mut likely = Vec::new();
        for (at, one) in before.iter().enumerate() {
            for (to, other) in after.iter().enumerate() {
                let (shared, all) = (one.intersection(other).count(), one.union(other).count());
                let percent = (100 * shared).checked_div(all).unwrap_or(0);
                if percent >= MIN_SIMILARITY_PERCENT {
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
        self.take_matches(pairs);
    }

    fn take_matches(&mut self, mut pairs: Vec<(usize, usize)>) {
        pairs.sort_unstable();
        let found =
            pairs.iter().filter_map(|(at, to)| Some((*self.removed.get(*at)?, *self.added.get(*to)?)));
        self.pairs.extend(found.collect::<Vec<_>>());
        let (before, after): (BTreeSet<usize>, BTreeSet<usize>) = pairs.into_iter().unzip();
        let keep = |all: &mut Vec<T>, taken: &BTreeSet<usize>| {
            let mut at = 0;
            all.retain(|_| {
                at += 1;
                !taken.contains(&(at - 1))
            });
        };
        keep(&mut self.removed, &before);
        keep(&mut self.added, &after);
    }
}

/// Returns strings that describe the content of a file, by which files are compared: the properties with
/// their types, the definitions, and the listed values.
fn resource_features<'g>(graph: &'g VersionSchemas<'g>, resource: &SchemaResource) -> BTreeSet<String> {
    let Some(root) = resource.root else { return BTreeSet::new() };
    let flat = FlattenedSchema::from_schemas(graph, &[root]);
    let mut all = BTreeSet::new();
    for name in flat.declared_names() {
        let types = FlattenedSchema::from_schemas(graph, &flat.property_schemas(name)).types();
        all.insert(format!("member {name}: {}", type_names(types)));
    }
    all.extend(
        flat.schemas().flat_map(|schema| &schema.definitions).map(|(name, _)| format!("definition {name}")),
    );
    all.extend(flat.listed_values().into_iter().flatten().map(|value| format!("value {value}")));
    all
}

/// Returns the root schema of a contract that consists of a single file.
fn only_root_schema(contract: &ContractVersion) -> Option<SchemaId> {
    let [_] = contract.sources.sources.as_slice() else { return None };
    let mut roots =
        contract.graph.ids().filter(|id| matches!(contract.graph.schema(*id).origin, SchemaOrigin::Root(_)));
    roots.next().filter(|_| roots.next().is_none())
}

/// Returns true if an identifier was derived from a file name because the document has no `$id`.
/// Returns true if a resource has an absolute identifier of its own, which does not depend on where its document was
/// loaded from.
fn declares_id(version: &ContractVersion, resource: &SchemaResource) -> bool {
    let root = resource.root.map(|root| &version.graph.schema(root).place);
    let node = root.and_then(|root| version.sources.get(root.source)?.tree.resolve_pointer(&root.pointer));
    let has_id = node.is_some_and(|node| ["$id", "id"].iter().any(|key| node.member(key).is_some()));
    has_id && !resource.uri.starts_with("file:")
}

/// Returns the schemas that have a name. Root schemas of files come first.
fn named_schema_ids(graph: &SchemaGraph) -> Vec<SchemaId> {
    let mut ids: Vec<SchemaId> =
        graph.ids().filter(|id| graph.schema(*id).origin != SchemaOrigin::Inline).collect();
    ids.sort_by_key(|id| !matches!(graph.schema(*id).origin, SchemaOrigin::Root(_)));
    ids
}

/// Formats the location of a schema, such as `page.schema.json#/$defs/cursor`.
fn schema_label(contract: &ContractVersion, id: SchemaId) -> String {
    let schema = contract.graph.schema(id);
    let source = contract.sources.get(schema.place.source).map_or("", |source| source.name.as_str());
    let file = source.rsplit('/').next().unwrap_or(source);
    if schema.place.pointer.is_empty() { file.to_owned() } else { format!("{file}#{}", schema.place.pointer) }
}

/// Returns for each schema whether a reference points to it.
fn referenced_schemas(graph: &SchemaGraph) -> ArenaMap<Schema, bool> {
    let mut named = graph.schemas.map_ids(|_| false);
    for target in graph.schemas.iter().filter_map(|schema| schema.reference) {
        named[target] = true;
    }
    named
}

/// Returns for each schema whether an operation uses it, directly or indirectly.
fn used_schemas(contract: &ContractVersion) -> ArenaMap<Schema, bool> {
    let operations = contract.apis.iter().flat_map(|api| api.operations.iter().chain(&api.webhooks));
    let mut waiting: Vec<SchemaId> = operations.flat_map(operation_schemas).collect();
    let mut seen = contract.graph.schemas.map_ids(|_| false);
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut seen[id], true) {
            waiting.extend(contract.graph.schema(id).child_schemas());
        }
    }
    seen
}

fn operation_schemas(operation: &Operation) -> Vec<SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let body =
        operation.request_body.iter().flat_map(|body| &body.content).flat_map(|media| media.schema_ids());
    let responses = || operation.responses.iter();
    let answers = responses().flat_map(|response| &response.content).flat_map(|media| media.schema_ids());
    let headers = responses().flat_map(|response| &response.headers).map(|header| header.schema);
    parameters.chain(headers).flatten().chain(body).chain(answers).collect()
}
