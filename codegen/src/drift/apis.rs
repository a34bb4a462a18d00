//! Compares the OpenAPI documents of both versions. Documents and operations are matched, and each pair is
//! compared.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use contract_codegen_core::{
    api::{OpenApiDocument, Operation},
    tree::SourceId,
};

use super::{
    ContractVersion,
    comparison::Comparison,
    locations::nearest_place,
    operations::{DocumentPair, OperationComparer, OperationPair, anonymous_path, operation_label},
    rules,
    schemes::{RenamedSchemes, SchemeComparer, match_renamed_schemes},
    servers::ServerComparer,
    site::ValueUse,
};

/// An operation, and the document that declares it.
#[derive(Clone, Copy)]
struct OperationEntry<'g> {
    document: &'g OpenApiDocument,
    operation: &'g Operation,
}

/// The pairs of matched operations, and the operations of each version without a match.
struct OperationMatching<'g> {
    pairs: Vec<(OperationEntry<'g>, OperationEntry<'g>)>,
    removed: Vec<&'g Operation>,
    added: Vec<&'g Operation>,
}

/// A comparer for the OpenAPI documents of both versions.
pub(super) struct ApiComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    /// The pairs of documents that correspond to each other.
    documents: BTreeSet<(SourceId, SourceId)>,
    renamed_schemes: BTreeMap<(SourceId, SourceId), Rc<RenamedSchemes<'g>>>,
}

impl<'c, 'g> ApiComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>) -> Self {
        Self { comparison, documents: BTreeSet::new(), renamed_schemes: BTreeMap::new() }
    }

    /// Compares the OpenAPI documents, except the schemas that no operation uses.
    pub(super) fn compare_apis(&mut self) {
        let (old, new) = self.comparison.versions();
        let documents = pair_documents(old, new);
        for (old, new) in &documents {
            self.documents.insert((old.source, new.source));
            self.compare_document(old, new);
        }
        let operations = |version: &'g ContractVersion| entries(version, |api| &api.operations);
        let matching = match_operations(&operations(old), operations(new));
        self.compare_operations(matching, ValueUse::Read);
        let webhooks = |version: &'g ContractVersion| entries(version, |api| &api.webhooks);
        let matching = match_operations(&webhooks(old), webhooks(new));
        self.compare_operations(matching, ValueUse::Write);
        let documents: Vec<_> = documents
            .into_iter()
            .map(|(old, new)| (DocumentPair { old, new, is_matched: true }, self.renamed_schemes(old, new)))
            .collect();
        SchemeComparer::new(self.comparison).compare_schemes_and_scopes(&documents);
    }

    fn compare_document(&mut self, old: &'g OpenApiDocument, new: &'g OpenApiDocument) {
        let (old_version, new_version) = self.comparison.versions();
        let subject = match new_version.apis.len() {
            1 => "the contract".to_owned(),
            _ => format!("the contract {}", new_version.file_name(new.source)),
        };
        let places = |pointer: &str| {
            let place = nearest_place(old_version, old.source, pointer);
            (place, nearest_place(new_version, new.source, pointer))
        };
        if old.version != new.version {
            let message = format!("`info.version` changed from {} to {}", old.version, new.version);
            let (old, new) = places("/info/version");
            let places = (old.as_ref(), new.as_ref());
            self.comparison.report_contract_change(rules::VERSION_CHANGED, places, &subject, message);
        }
        let (old_place, new_place) = places("/servers");
        let places = (old_place.as_ref(), new_place.as_ref());
        let mut servers = ServerComparer::new(self.comparison, places, &subject);
        servers.compare_servers(&old.servers, &new.servers);
    }

    fn compare_operations(&mut self, matching: OperationMatching<'g>, response_use: ValueUse) {
        for (old, new) in matching.pairs {
            let renamed_schemes = self.renamed_schemes(old.document, new.document);
            let is_matched = self.documents.contains(&(old.document.source, new.document.source));
            let operation = OperationPair {
                old: old.operation,
                new: new.operation,
                documents: DocumentPair { old: old.document, new: new.document, is_matched },
                response_use,
            };
            OperationComparer::new(self.comparison, &operation).compare_operation(&renamed_schemes);
        }
        let (added, removed) = match response_use {
            ValueUse::Read => (rules::OPERATION_ADDED, rules::OPERATION_REMOVED),
            ValueUse::Write => (rules::WEBHOOK_ADDED, rules::WEBHOOK_REMOVED),
        };
        for operation in matching.removed {
            let (places, subject) = ((Some(&operation.place), None), operation_label(operation));
            let message = format!("`{}` was removed", operation.id);
            self.comparison.report_contract_change(removed, places, &subject, message);
        }
        for operation in matching.added {
            let (places, subject) = ((None, Some(&operation.place)), operation_label(operation));
            let message = format!("`{}` is new", operation.id);
            self.comparison.report_contract_change(added, places, &subject, message);
        }
    }

    /// Returns the security schemes that have different names in the two documents but are otherwise equal.
    fn renamed_schemes(
        &mut self,
        old: &'g OpenApiDocument,
        new: &'g OpenApiDocument,
    ) -> Rc<RenamedSchemes<'g>> {
        let renamed = self.renamed_schemes.entry((old.source, new.source));
        Rc::clone(renamed.or_insert_with(|| Rc::new(match_renamed_schemes(old, new))))
    }
}

fn entries<'g>(
    version: &'g ContractVersion,
    operations: impl Fn(&'g OpenApiDocument) -> &'g [Operation],
) -> Vec<OperationEntry<'g>> {
    let entries = version.apis.iter().flat_map(|document| {
        operations(document).iter().map(move |operation| OperationEntry { document, operation })
    });
    entries.collect()
}

/// Matches operations by route and id, then callbacks by their calling operation and expression, then by
/// route, and finally by id. A route consists of the method and the path.
fn match_operations<'g>(old: &[OperationEntry<'g>], new: Vec<OperationEntry<'g>>) -> OperationMatching<'g> {
    let id = |operation: &Operation| operation.id.clone();
    let route_and_id = |operation: &Operation| {
        let expression = operation.callback.as_ref().map_or("", |(_, expression)| expression);
        format!("{} {} {expression}", operation_route(operation), operation.id)
    };
    // The name of a callback is not sent, so it is not part of the key.
    let callback = |operation: &Operation| match &operation.callback {
        Some((caller, expression)) => format!("{} {caller} {expression}", operation.method),
        None => route_and_id(operation),
    };
    let mut partners: Vec<Option<OperationEntry<'g>>> = vec![None; old.len()];
    let mut remaining: Vec<Option<OperationEntry<'g>>> = new.into_iter().map(Some).collect();
    // Routes are matched first, because an id may have moved to another operation.
    for key in [&route_and_id as &dyn Fn(&Operation) -> String, &callback, &operation_route, &id] {
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, entry) in remaining.iter().enumerate().rev() {
            if let Some(entry) = entry {
                by_key.entry(key(entry.operation)).or_default().push(index);
            }
        }
        for (entry, partner) in old.iter().zip(&mut partners).filter(|(_, partner)| partner.is_none()) {
            let index = by_key.get_mut(&key(entry.operation)).and_then(Vec::pop);
            *partner = index.and_then(|index| remaining.get_mut(index)?.take());
        }
    }
    let (mut pairs, mut removed) = (Vec::new(), Vec::new());
    for (entry, partner) in old.iter().zip(partners) {
        match partner {
            Some(partner) => pairs.push((*entry, partner)),
            None => removed.push(entry.operation),
        }
    }
    let added = remaining.into_iter().flatten().map(|entry| entry.operation).collect();
    OperationMatching { pairs, removed, added }
}

/// Matches the documents of both versions by file name, then by title. If one document of each version
/// remains, these two are matched if they share a route, if their names differ only in digits, or if each
/// version has only one document.
fn pair_documents<'g>(
    old: &'g ContractVersion,
    new: &'g ContractVersion,
) -> Vec<(&'g OpenApiDocument, &'g OpenApiDocument)> {
    let mut remaining: Vec<&OpenApiDocument> = new.apis.iter().collect();
    let mut partners: Vec<(&OpenApiDocument, Option<&OpenApiDocument>)> =
        old.apis.iter().map(|api| (api, None)).collect();
    let has_same_name = |one: &OpenApiDocument, other: &OpenApiDocument| {
        old.file_name(one.source) == new.file_name(other.source)
    };
    let has_same_title = |one: &OpenApiDocument, other: &OpenApiDocument| one.title == other.title;
    for is_match in [&has_same_name as &dyn Fn(&OpenApiDocument, &OpenApiDocument) -> bool, &has_same_title] {
        for (document, partner) in partners.iter_mut().filter(|(_, partner)| partner.is_none()) {
            let index = remaining.iter().position(|other| is_match(document, other));
            *partner = index.map(|index| remaining.remove(index));
        }
    }
    let mut unmatched = partners.iter_mut().filter(|(_, partner)| partner.is_none());
    if let (Some((before, partner)), None, [after]) =
        (unmatched.next(), unmatched.next(), remaining.as_slice())
    {
        let routes =
            |api: &'g OpenApiDocument| api.operations.iter().map(operation_route).collect::<BTreeSet<_>>();
        let without_digits = |name: String| name.replace(|each: char| each.is_ascii_digit(), "");
        let is_match = old.apis.len() == 1 && new.apis.len() == 1
            || without_digits(old.file_name(before.source)) == without_digits(new.file_name(after.source))
            || !routes(before).is_disjoint(&routes(after));
        *partner = is_match.then_some(*after);
    }
    partners.into_iter().filter_map(|(before, after)| Some((before, after?))).collect()
}

/// Returns the method and the path, without the names of path parameters.
fn operation_route(operation: &Operation) -> String {
    format!("{} {}", operation.method, anonymous_path(&operation.path))
}
