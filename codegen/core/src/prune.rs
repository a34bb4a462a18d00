//! Reduces a contract to the selected operations and the schemas that are reachable from them. The entry
//! point is [`prune_contract`].
//!
//! The result is a smaller contract with new ids, so that later stages do not see the omitted part. Names are
//! assigned before this stage, so a type has the same name as in the whole contract.

pub(crate) mod glob;

use std::collections::{BTreeSet, HashSet};

use crate::{
    api::{OpenApiDocument, Operation},
    config::{Config, OperationSelector},
    diagnostics::{Diagnostic, Diagnostics, Severity},
    load::{Sources, is_openapi},
    naming::{TypeNames, operation_places},
    options::SchemaOptions,
    resolve::suggest::nearest_match,
    schema::{SchemaGraph, SchemaId, reachable::reachable_schemas},
    tree::{DocumentLocation, SourceId},
};

/// A contract with names for its schemas, before its Rust types are determined.
#[derive(Clone, Debug, Default)]
pub struct NamedContract {
    pub graph: SchemaGraph,
    pub api: OpenApiDocument,
    pub options: SchemaOptions,
    pub names: TypeNames,
}

/// The number of operations, webhooks and schemas of a contract before pruning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContractSize {
    /// The number of operations, not counting webhooks and callbacks.
    pub operations: usize,
    /// The number of webhooks and callbacks.
    pub webhooks: usize,
    /// The number of schemas in all documents.
    pub schemas: usize,
}

/// Removes the operations that are not selected, and all schemas that only they use. Diagnostics about
/// removed parts are removed as well. Returns the smaller contract and the size of the original one; the
/// contract is unchanged and the size is `None` if the configuration selects nothing.
pub fn prune_contract(
    settled: NamedContract,
    config: &Config,
    sources: &Sources,
    diagnostics: &mut Diagnostics,
) -> (NamedContract, Option<ContractSize>) {
    let NamedContract { graph, api, options, names } = settled;
    let chosen = match select_operations(config, &graph, sources, &api) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return (NamedContract { graph, api, options, names }, None),
        Err(problems) => {
            diagnostics.extend(problems);
            return (NamedContract { graph, api, options, names }, None);
        }
    };
    OmittedPlaces::new(&graph, &chosen, &api).remove_diagnostics(diagnostics);
    let whole = ContractSize {
        operations: api.operations.len(),
        webhooks: api.webhooks.len(),
        schemas: graph.schemas.len(),
    };
    let (graph, moved) = graph.retain_schemas(&chosen.schemas);
    let mut api = chosen.api;
    api.remap_schemas(&moved);
    let part = NamedContract { graph, api, options: options.remapped(&moved), names: names.moved(&moved) };
    (part, Some(whole))
}

/// The selected operations and the schemas that are kept, with the ids of the whole contract.
struct SelectedPart {
    api: OpenApiDocument,
    schemas: BTreeSet<SchemaId>,
}

/// A location without its span: the document and the JSON Pointer.
type PlaceKey = (SourceId, String);

/// The locations of all operations and schemas of the whole contract, to detect locations in omitted parts.
#[derive(Debug, Default)]
struct OmittedPlaces {
    omitted_operations: HashSet<PlaceKey>,
    kept_operations: HashSet<PlaceKey>,
    /// For the location of each schema, true if the schema is kept.
    schemas: std::collections::HashMap<PlaceKey, bool>,
}

impl OmittedPlaces {
    /// Removes diagnostics about omitted operations and schemas. A note gives the number of removed errors,
    /// if there are any.
    fn remove_diagnostics(&self, diagnostics: &mut Diagnostics) {
        let mut faults = 0usize;
        diagnostics.retain(|each| {
            let unconstrained = each.place.as_ref().is_some_and(|place| self.contains_place(place));
            faults += usize::from(unconstrained && each.severity == Severity::Error);
            !unconstrained
        });
        if faults > 0 {
            let errors = if faults == 1 { "error" } else { "errors" };
            let message = format!("{faults} {errors} in the parts that the selections omit");
            diagnostics
                .push(Diagnostic::note("left-out", message).help("generate the whole contract to see them"));
        }
    }

    /// Returns true if a location is in an operation or a schema that is omitted.
    fn contains_place(&self, place: &DocumentLocation) -> bool {
        // The innermost operation or schema that contains the location decides.
        let mut spot = (place.source, place.pointer.clone());
        loop {
            if let Some(left) = self.schemas.get(&spot) {
                return !left;
            }
            if self.kept_operations.contains(&spot) {
                return false;
            }
            if self.omitted_operations.contains(&spot) {
                return true;
            }
            let Some(end) = spot.1.rfind('/') else { return false };
            spot.1.truncate(end);
        }
    }
}

/// Selects operations by `include` and `exclude`, and collects the schemas that are reachable from them.
///
/// The schemas of an input file that is not an OpenAPI document are kept as well if no operation of the whole
/// contract uses a schema of the file. Returns `None` if the configuration selects nothing.
///
/// # Errors
/// Returns a diagnostic for each selector that matches no operation, or one diagnostic if no
/// operation remains.
fn select_operations(
    options: &Config,
    graph: &SchemaGraph,
    sources: &Sources,
    api: &OpenApiDocument,
) -> Result<Option<SelectedPart>, Vec<Diagnostic>> {
    let config = &options.operations;
    if config.selects_all() {
        return Ok(None);
    }
    let whole =
        reachable_schemas(graph, operation_schemas(graph, api.operations.iter().chain(&api.webhooks)));
    let mut problems = Vec::new();
    for selection in &config.include {
        problems.extend(check_selection(options, "operations.include", selection, api));
    }
    let included = |operation: &Operation, webhook: bool| {
        config.include.is_empty()
            || config.include.iter().any(|each| matches_selection(api, each, operation, webhook))
    };
    let excluded = |operation: &Operation, webhook: bool| {
        config.exclude.iter().any(|each| matches_selection(api, each, operation, webhook))
    };
    let mut part = api.clone();
    part.operations.retain(|operation| included(operation, false));
    part.webhooks.retain(|operation| included(operation, true));
    if problems.is_empty() {
        for selection in &config.exclude {
            problems.extend(check_selection(options, "operations.exclude", selection, &part));
        }
    }
    part.operations.retain(|operation| !excluded(operation, false));
    part.webhooks.retain(|operation| !excluded(operation, true));
    if problems.is_empty() && part.operations.is_empty() && part.webhooks.is_empty() {
        problems.push(
            Diagnostic::error("config", "the selections match no operation")
                .help("remove one from `exclude` below [operations], or add one to `include`"),
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut roots = operation_schemas(graph, part.operations.iter().chain(&part.webhooks));
    roots.extend(independent_schemas(graph, sources, &whole));
    let schemas = reachable_schemas(graph, roots);
    Ok(Some(SelectedPart { api: part, schemas }))
}

impl OmittedPlaces {
    fn new(graph: &SchemaGraph, chosen: &SelectedPart, whole: &OpenApiDocument) -> Self {
        let mut out = Self::default();
        let spot = |place: &DocumentLocation| (place.source, place.pointer.clone());
        let all = |api: &OpenApiDocument| -> HashSet<PlaceKey> {
            api.operations.iter().chain(&api.webhooks).map(|operation| spot(&operation.place)).collect()
        };
        let item = |(source, pointer): &PlaceKey| {
            let end = pointer.rfind('/').unwrap_or(0);
            (*source, pointer.get(..end).unwrap_or_default().to_owned())
        };
        out.kept_operations = all(&chosen.api);
        let items: HashSet<PlaceKey> = out.kept_operations.iter().map(item).collect();
        let omitted: Vec<PlaceKey> = all(whole).difference(&out.kept_operations).cloned().collect();
        out.omitted_operations.extend(omitted.iter().map(item).filter(|item| !items.contains(item)));
        out.omitted_operations.extend(omitted);
        let left = |id| (spot(&graph.schema(id).place), chosen.schemas.contains(&id));
        out.schemas = graph.ids().map(left).collect();
        out
    }
}

/// Returns the schemas that the given operations contain or reference directly.
pub fn operation_schemas<'a>(
    graph: &SchemaGraph,
    operations: impl Iterator<Item = &'a Operation>,
) -> Vec<SchemaId> {
    let mut inside: HashSet<(SourceId, &str)> = HashSet::new();
    let mut found = Vec::new();
    let mut named = Vec::new();
    for operation in operations {
        inside.insert((operation.place.source, &operation.place.pointer));
        operation_places(operation, &mut named);
    }
    found.extend(named.into_iter().map(|(id, _)| id));
    found.extend(graph.ids().filter(|&id| {
        let DocumentLocation { source, pointer, .. } = &graph.schema(id).place;
        let mut ends = pointer.match_indices('/').map(|(at, _)| at).chain([pointer.len()]);
        ends.any(|end| pointer.get(..end).is_some_and(|outer| inside.contains(&(*source, outer))))
    }));
    found
}

/// Returns the schemas of each input file that is not an OpenAPI document and has no schema in `whole`.
/// `whole` contains the schemas that are reachable from the operations of the whole contract.
fn independent_schemas(graph: &SchemaGraph, sources: &Sources, whole: &BTreeSet<SchemaId>) -> Vec<SchemaId> {
    let reached: BTreeSet<SourceId> = whole.iter().map(|id| graph.schema(*id).place.source).collect();
    let alone = |source: SourceId| {
        let document = sources.get(source).is_some_and(|source| is_openapi(&source.tree));
        sources.is_input(source) && !document && !reached.contains(&source)
    };
    graph.ids().filter(|&id| alone(graph.schema(id).place.source)).collect()
}

/// Returns true if an operation matches all fields that a selector contains.
pub(crate) fn matches_selection(
    api: &OpenApiDocument,
    selection: &OperationSelector,
    operation: &Operation,
    is_webhook: bool,
) -> bool {
    let OperationSelector { tag, path, operation: id, webhook } = selection;
    let all = [
        // The selector of a tag also matches operations with a tag whose `parent` is that tag.
        tag.as_ref().map(|tag| {
            operation
                .tags
                .iter()
                .flat_map(|each| api.tag_lineage(each))
                .any(|each| glob::matches_name(tag, each))
        }),
        path.as_ref().map(|path| !is_webhook && glob::matches_path(path, &operation.path)),
        id.as_ref().map(|id| glob::matches_name(id, &operation.id)),
        webhook.as_ref().map(|name| is_webhook && glob::matches_name(name, &operation.path)),
    ];
    // A selector without fields matches no operation.
    all.iter().any(Option::is_some) && all.into_iter().flatten().all(|fits| fits)
}

/// Returns a diagnostic if a selector matches no operation. `option` is the name of the option that contains
/// the selector.
pub(crate) fn check_selection(
    options: &Config,
    option: &str,
    selection: &OperationSelector,
    api: &OpenApiDocument,
) -> Option<Diagnostic> {
    let found = api.operations.iter().any(|operation| matches_selection(api, selection, operation, false))
        || api.webhooks.iter().any(|webhook| matches_selection(api, selection, webhook, true));
    if found {
        return None;
    }
    let both = || api.operations.iter().chain(&api.webhooks);
    let (what, word, known): (String, &str, Vec<&str>) = match selection {
        OperationSelector { tag: Some(tag), path: None, operation: None, webhook: None } => {
            (format!("no operation has the tag `{tag}`"), tag, both().flat_map(operation_tags).collect())
        }
        OperationSelector { tag: None, path: Some(path), operation: None, webhook: None } => {
            let known = api.operations.iter().map(|o| o.path.as_str()).collect();
            (format!("no operation has a path that matches `{path}`"), path, known)
        }
        OperationSelector { tag: None, path: None, operation: Some(id), webhook: None } => {
            (format!("no operation is called `{id}`"), id, both().map(|o| o.id.as_str()).collect())
        }
        OperationSelector { tag: None, path: None, operation: None, webhook: Some(name) } => {
            let known = api.webhooks.iter().map(|o| o.path.as_str()).collect();
            (format!("no webhook is called `{name}`"), name, known)
        }
        several => {
            // If one of the fields alone matches nothing, it is the reason.
            let none = OperationSelector::default;
            let OperationSelector { tag, path, operation, webhook } = several.clone();
            let fields = [
                tag.map(|tag| OperationSelector { tag: Some(tag), ..none() }),
                path.map(|path| OperationSelector { path: Some(path), ..none() }),
                operation.map(|id| OperationSelector { operation: Some(id), ..none() }),
                webhook.map(|name| OperationSelector { webhook: Some(name), ..none() }),
            ];
            let mut fields = fields.into_iter().flatten().filter(|field| field != several);
            if let Some(problem) = fields.find_map(|field| check_selection(options, option, &field, api)) {
                return Some(problem);
            }
            (format!("no operation matches {several}"), "", Vec::new())
        }
    };
    let place = selector_place(options, option, selection);
    Some(Diagnostic::error("config", what).with_optional_place(place).help(suggest_match(word, &known)))
}

/// Returns the location of a selector in an option.
pub(crate) fn selector_place(
    options: &Config,
    option: &str,
    selector: &OperationSelector,
) -> Option<DocumentLocation> {
    let OperationSelector { tag, path, operation, webhook } = selector;
    let value = [tag, path, operation, webhook].into_iter().flatten().next()?;
    options.option_place(option, value)
}

fn operation_tags(operation: &Operation) -> impl Iterator<Item = &str> {
    operation.tags.iter().map(String::as_str)
}

/// Returns help text for a name that matches nothing: the most similar known name, or a list of known names.
fn suggest_match(word: &str, known: &[&str]) -> String {
    /// The maximum number of names in the list.
    const SOME: usize = 12;
    if let Some(near) = nearest_match(word, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    let mut known: Vec<&str> = known.iter().copied().collect::<BTreeSet<&str>>().into_iter().collect();
    if known.is_empty() {
        return "remove the selection".to_owned();
    }
    // Names that start like the word come first.
    let shared = |name: &str| name.chars().zip(word.chars()).take_while(|(one, other)| one == other).count();
    known.sort_by_key(|name| std::cmp::Reverse(shared(name)));
    let list: Vec<String> = known.iter().take(SOME).map(|each| format!("`{each}`")).collect();
    let more = known.len().saturating_sub(SOME);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are {}{more}", list.join(", "))
}

#[cfg(test)]
mod tests;
