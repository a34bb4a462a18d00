//! A part of a contract: chosen operations, and the schemas that they reach.
//!
//! What is left is a smaller contract, numbered anew; no later stage knows that there was more.
//! Names were settled before, so that a type is called the same in a part as in the whole.

mod glob;

use std::collections::{BTreeSet, HashSet};

use crate::{
    api::{Api, Operation},
    config::{Config, Selection},
    diagnostics::{Diagnostic, Diagnostics, Severity},
    load::Sources,
    naming::{Names, operation_places},
    options::Options,
    resolve::suggest::nearest,
    schema::{Graph, SchemaId},
    tree::{Place, SourceId},
};

/// A contract before its types are decided: what it says, what its owner says, and the names.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// Every schema.
    pub graph: Graph,
    /// Every operation, of all documents together.
    pub api: Api,
    /// What the owner decided.
    pub options: Options,
    /// What types are called.
    pub names: Names,
}

/// How much there was before a part was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// Operations.
    pub operations: usize,
    /// Webhooks and callbacks.
    pub webhooks: usize,
    /// Schemas.
    pub schemas: usize,
}

/// Leaves the operations that the options choose and what they reach; all when they choose none.
/// What is wrong in the rest is not said.
pub fn prune(
    settled: Settled,
    config: &Config,
    sources: &Sources,
    diagnostics: &mut Diagnostics,
) -> (Settled, Option<Whole>) {
    let Settled { graph, api, options, names } = settled;
    let chosen = match choose(config, &graph, sources, &api) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return (Settled { graph, api, options, names }, None),
        Err(problems) => {
            diagnostics.extend(problems);
            return (Settled { graph, api, options, names }, None);
        }
    };
    LeftOut::new(&graph, &chosen, &api).silence(diagnostics);
    let whole = Whole {
        operations: api.operations.len(),
        webhooks: api.webhooks.len(),
        schemas: graph.schemas.len(),
    };
    let (graph, moved) = graph.keep(&chosen.schemas);
    let mut api = chosen.api;
    api.move_to(&moved);
    let part = Settled { graph, api, options: options.moved(&moved), names: names.moved(&moved) };
    (part, Some(whole))
}

/// What the options leave, ids as they were.
struct Chosen {
    api: Api,
    schemas: BTreeSet<SchemaId>,
}

/// Where something stands, without its span.
type Spot = (SourceId, String);

/// What was left out, by place.
#[derive(Debug, Default)]
struct LeftOut {
    /// Operations and path items.
    gone: HashSet<Spot>,
    /// Operations that are left.
    left: HashSet<Spot>,
    /// All schemas, and whether they are left.
    schemas: std::collections::HashMap<Spot, bool>,
}

impl LeftOut {
    /// Removes what nobody who asked for the part wants to hear of: problems that stand in what was
    /// left out. A note says how many of them were errors, mended or not.
    fn silence(&self, diagnostics: &mut Diagnostics) {
        let mut faults = 0usize;
        diagnostics.retain(|each| {
            let silent = each.place.as_ref().is_some_and(|place| self.holds(place));
            faults += usize::from(silent && each.severity == Severity::Error);
            !silent
        });
        if faults > 0 {
            let stand = if faults == 1 { "problem stands" } else { "problems stand" };
            let message = format!("{faults} {stand} in what the selections leave out");
            diagnostics.push(Diagnostic::note("left-out", message).help("generate all of it to see them"));
        }
    }

    /// Whether a place was left out.
    fn holds(&self, place: &Place) -> bool {
        // From the place outwards, the first that is known decides.
        let mut spot = (place.source, place.pointer.clone());
        loop {
            if let Some(left) = self.schemas.get(&spot) {
                return !left;
            }
            if self.left.contains(&spot) {
                return false;
            }
            if self.gone.contains(&spot) {
                return true;
            }
            let Some(end) = spot.1.rfind('/') else { return false };
            spot.1.truncate(end);
        }
    }
}

/// The chosen operations, and which schemas they reach.
///
/// A schema document among the inputs that no operation of the whole contract reaches is nobody's
/// part and stays. `None` when the options choose nothing.
///
/// # Errors
/// A selection that fits nothing, or all that leave nothing.
fn choose(
    options: &Config,
    graph: &Graph,
    sources: &Sources,
    api: &Api,
) -> Result<Option<Chosen>, Vec<Diagnostic>> {
    let config = &options.operations;
    if config.takes_all() {
        return Ok(None);
    }
    let whole = reach(graph, seeds(graph, api.operations.iter().chain(&api.webhooks)));
    let mut problems = Vec::new();
    for selection in &config.include {
        problems.extend(unfitting(options, "operations.include", selection, api));
    }
    let included = |operation: &Operation, webhook: bool| {
        config.include.is_empty() || config.include.iter().any(|each| fits(api, each, operation, webhook))
    };
    let excluded = |operation: &Operation, webhook: bool| {
        config.exclude.iter().any(|each| fits(api, each, operation, webhook))
    };
    let mut part = api.clone();
    part.operations.retain(|operation| included(operation, false));
    part.webhooks.retain(|operation| included(operation, true));
    if problems.is_empty() {
        for selection in &config.exclude {
            problems.extend(unfitting(options, "operations.exclude", selection, &part));
        }
    }
    part.operations.retain(|operation| !excluded(operation, false));
    part.webhooks.retain(|operation| !excluded(operation, true));
    if problems.is_empty() && part.operations.is_empty() && part.webhooks.is_empty() {
        problems.push(
            Diagnostic::error("config", "the selections of operations leave none")
                .help("remove one from `exclude` below [operations], or add one to `include`"),
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut wanted = seeds(graph, part.operations.iter().chain(&part.webhooks));
    wanted.extend(independent(graph, sources, &whole));
    let schemas = reach(graph, wanted);
    Ok(Some(Chosen { api: part, schemas }))
}

impl LeftOut {
    fn new(graph: &Graph, chosen: &Chosen, whole: &Api) -> Self {
        let mut out = Self::default();
        let spot = |place: &Place| (place.source, place.pointer.clone());
        let all = |api: &Api| -> HashSet<Spot> {
            api.operations.iter().chain(&api.webhooks).map(|operation| spot(&operation.place)).collect()
        };
        let item = |(source, pointer): &Spot| {
            let end = pointer.rfind('/').unwrap_or(0);
            (*source, pointer.get(..end).unwrap_or_default().to_owned())
        };
        out.left = all(&chosen.api);
        let items: HashSet<Spot> = out.left.iter().map(item).collect();
        let gone: Vec<Spot> = all(whole).difference(&out.left).cloned().collect();
        out.gone.extend(gone.iter().map(item).filter(|item| !items.contains(item)));
        out.gone.extend(gone);
        let left = |id| (spot(&graph.schema(id).place), chosen.schemas.contains(&id));
        out.schemas = graph.ids().map(left).collect();
        out
    }
}

/// The schemas of operations: all that stand in them, and all that they name.
pub(crate) fn seeds<'a>(graph: &Graph, operations: impl Iterator<Item = &'a Operation>) -> Vec<SchemaId> {
    let mut inside: HashSet<(SourceId, &str)> = HashSet::new();
    let mut found = Vec::new();
    let mut named = Vec::new();
    for operation in operations {
        inside.insert((operation.place.source, &operation.place.pointer));
        operation_places(operation, &mut named);
    }
    found.extend(named.into_iter().map(|(id, _)| id));
    found.extend(graph.ids().filter(|&id| {
        let Place { source, pointer, .. } = &graph.schema(id).place;
        let mut ends = pointer.match_indices('/').map(|(at, _)| at).chain([pointer.len()]);
        ends.any(|end| pointer.get(..end).is_some_and(|outer| inside.contains(&(*source, outer))))
    }));
    found
}

/// All that schemas apply, at any depth, and the children of a base whose type has them as variants.
pub(crate) fn reach(graph: &Graph, seeds: Vec<SchemaId>) -> BTreeSet<SchemaId> {
    let mut found = BTreeSet::new();
    let mut waiting = seeds;
    let mut anchors = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        waiting.extend(direct(graph, id));
        if let Some(anchor) = dynamic_anchor(graph, id).filter(|anchor| anchors.insert(*anchor)) {
            waiting.extend(bearers(graph, anchor));
        }
    }
    found
}

/// What a schema applies by itself, and the children of a base.
pub(crate) fn direct(graph: &Graph, id: SchemaId) -> impl Iterator<Item = SchemaId> + '_ {
    let schema = graph.schema(id);
    schema.children().chain(schema.content_schema).chain(schema.family().iter().copied())
}

/// The anchor that a schema asks for, wherever it stands.
pub(crate) fn dynamic_anchor(graph: &Graph, id: SchemaId) -> Option<&str> {
    graph.schema(id).dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_deref())
}

/// The schemas of an anchor: which of them is meant depends on where evaluation came from.
pub(crate) fn bearers<'g>(graph: &'g Graph, anchor: &'g str) -> impl Iterator<Item = SchemaId> + 'g {
    let all = graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors);
    all.filter(move |(name, _)| name == anchor).map(|(_, id)| *id)
}

/// The schemas of documents that were given for themselves: no operation reaches into them.
fn independent(graph: &Graph, sources: &Sources, whole: &BTreeSet<SchemaId>) -> Vec<SchemaId> {
    let reached: BTreeSet<SourceId> = whole.iter().map(|id| graph.schema(*id).place.source).collect();
    let alone = |source: SourceId| {
        let document = sources.get(source).is_some_and(|source| source.tree.get("openapi").is_some());
        sources.is_input(source) && !document && !reached.contains(&source)
    };
    graph.ids().filter(|&id| alone(graph.schema(id).place.source)).collect()
}

/// Whether a selection chooses an operation.
pub(crate) fn fits(api: &Api, selection: &Selection, operation: &Operation, is_webhook: bool) -> bool {
    let Selection { tag, path, operation: id, webhook } = selection;
    let all = [
        // What stands below a tag has it, too.
        tag.as_ref().map(|tag| {
            operation.tags.iter().flat_map(|each| api.lineage(each)).any(|each| glob::fits(tag, each))
        }),
        path.as_ref().map(|path| !is_webhook && glob::fits_path(path, &operation.path)),
        id.as_ref().map(|id| glob::fits(id, &operation.id)),
        webhook.as_ref().map(|name| is_webhook && glob::fits(name, &operation.path)),
    ];
    // A selection that says nothing chooses nothing.
    all.iter().any(Option::is_some) && all.into_iter().flatten().all(|fits| fits)
}

/// The problem of a selection of an option that no operation fits.
pub(crate) fn unfitting(
    options: &Config,
    option: &str,
    selection: &Selection,
    api: &Api,
) -> Option<Diagnostic> {
    let found = api.operations.iter().any(|operation| fits(api, selection, operation, false))
        || api.webhooks.iter().any(|webhook| fits(api, selection, webhook, true));
    if found {
        return None;
    }
    let both = || api.operations.iter().chain(&api.webhooks);
    let (what, word, known): (String, &str, Vec<&str>) = match selection {
        Selection { tag: Some(tag), path: None, operation: None, webhook: None } => {
            (format!("no operation has the tag `{tag}`"), tag, both().flat_map(tags).collect())
        }
        Selection { tag: None, path: Some(path), operation: None, webhook: None } => {
            let known = api.operations.iter().map(|o| o.path.as_str()).collect();
            (format!("no operation has a path like `{path}`"), path, known)
        }
        Selection { tag: None, path: None, operation: Some(id), webhook: None } => {
            (format!("no operation is called `{id}`"), id, both().map(|o| o.id.as_str()).collect())
        }
        Selection { tag: None, path: None, operation: None, webhook: Some(name) } => {
            let known = api.webhooks.iter().map(|o| o.path.as_str()).collect();
            (format!("no webhook is called `{name}`"), name, known)
        }
        several => (format!("no operation fits {several}"), "", Vec::new()),
    };
    let Selection { tag, path, operation, webhook } = selection;
    let value = [tag, path, operation, webhook].into_iter().flatten().next();
    let place = value.and_then(|value| options.place(option, value));
    Some(Diagnostic::error("config", what).maybe_at(place).help(advice(word, &known)))
}

fn tags(operation: &Operation) -> impl Iterator<Item = &str> {
    operation.tags.iter().map(String::as_str)
}

/// What could have been meant.
fn advice(word: &str, known: &[&str]) -> String {
    /// How many are listed.
    const SOME: usize = 12;
    if let Some(near) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let known: BTreeSet<&str> = known.iter().copied().collect();
    if known.is_empty() {
        return "remove the selection".to_owned();
    }
    let list: Vec<String> = known.iter().take(SOME).map(|each| format!("`{each}`")).collect();
    let more = known.len().saturating_sub(SOME);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are {}{more}", list.join(", "))
}

#[cfg(test)]
mod tests;
