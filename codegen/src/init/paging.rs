//! Finds operations that look paginated, because they have a query parameter with a typical name and a
//! response that contains an array.

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::ParameterIn,
    conjunction::SchemaFacts,
    plan::{PlannedCall, ResponsePayload, SidePlan},
    shape::{Shapes, StructField, TypeBody, TypeRef},
};

use super::render::TomlString;

/// A group of operations that are paginated in the same way, and the suggested `[[pages]]` table for this
/// group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagedOperations {
    /// The `operationId` of each operation.
    pub operations: Vec<String>,
    /// The TOML lines of the table except for its list of operations. They specify where a page contains its
    /// items and how the next page is requested.
    pub lines: Vec<String>,
}

/// Common names of query parameters that select a page, each with the kind of pagination that it implies. If
/// an operation has several of these parameters, the parameter that comes first in this list applies.
const PAGING_PARAMETERS: [(&str, PagingKind); 14] = [
    ("cursor", PagingKind::Cursor),
    ("page_cursor", PagingKind::Cursor),
    ("page_token", PagingKind::Cursor),
    ("pageToken", PagingKind::Cursor),
    ("next_token", PagingKind::Cursor),
    ("nextToken", PagingKind::Cursor),
    ("continuation_token", PagingKind::Cursor),
    ("continuationToken", PagingKind::Cursor),
    ("after", PagingKind::Cursor),
    ("starting_after", PagingKind::LastItem),
    ("offset", PagingKind::Offset),
    ("skip", PagingKind::Offset),
    ("page", PagingKind::Page),
    ("page_number", PagingKind::Page),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PagingKind {
    Cursor,
    LastItem,
    Offset,
    Page,
}

/// Returns the operations that look paginated. Operations with equal suggestions are in the same group.
pub(super) fn find_paged_operations(
    plan: &SidePlan<'_>,
    contract: &AnalyzedContract,
) -> Vec<PagedOperations> {
    let mut found: Vec<PagedOperations> = Vec::new();
    for call in plan.calls.iter().filter(|call| call.unsendable_reason.is_none()) {
        let Some(lines) = paging_options(call, contract) else { continue };
        let id = call.operation.id.clone();
        match found.iter_mut().find(|paged| paged.lines == lines) {
            Some(paged) => paged.operations.push(id),
            None => found.push(PagedOperations { operations: vec![id], lines }),
        }
    }
    found
}

fn paging_options(call: &PlannedCall<'_>, contract: &AnalyzedContract) -> Option<Vec<String>> {
    let shapes = &contract.shapes;
    let Some(ResponsePayload::Json(answer)) = &call.responses.single else { return None };
    let fields = struct_fields(answer, shapes);
    let (items, item) = match (list_item_type(answer, shapes), fields) {
        (Some(item), _) => (String::new(), item),
        (None, Some(fields)) => fields
            .iter()
            .find_map(|field| Some((field_pointer(field), list_item_type(&field.ty, shapes)?)))?,
        (None, None) => return None,
    };
    let query = || call.parameters.iter().filter(|parameter| parameter.row.location == ParameterIn::Query);
    let known = PAGING_PARAMETERS.iter().find_map(|(name, kind)| {
        let parameter = query().find(|parameter| parameter.row.name == *name)?;
        Some((parameter.row.name.as_str(), *kind))
    });
    let linked = call.operation.responses.iter().flat_map(|response| &response.headers);
    let linked = linked.into_iter().any(|header| header.name.eq_ignore_ascii_case("link"));
    let member = |keywords: &[&str], fits: fn(&TypeRef, &Shapes) -> bool| {
        let mut all = fields?.iter().filter(|field| fits(&field.ty, shapes));
        let named = all
            .find(|field| keywords.iter().any(|keyword| field.wire.to_ascii_lowercase().contains(keyword)));
        named.map(field_pointer)
    };
    let with = |key: &str, pointer: Option<String>| {
        pointer.map_or_else(String::new, |pointer| format!(", {key} = {}", TomlString(&pointer)))
    };
    let url = || {
        let mut all = fields?.iter().filter(|field| is_url(field, contract));
        all.find(|field| field.wire.to_ascii_lowercase().contains("next")).map(field_pointer)
    };
    let more = || with("more", member(&["more"], |ty, _| *peel_type(ty) == TypeRef::Bool));
    let total = |key: &str, keywords: &[&str]| {
        with(key, member(keywords, |ty, _| matches!(peel_type(ty), TypeRef::Int(_))))
    };
    let way = match (known?, url()) {
        (_, Some(from)) => format!("next-url = {}", TomlString(&from)),
        ((_, PagingKind::Page | PagingKind::Offset | PagingKind::Cursor), None) if linked => {
            "link = \"next\"".to_owned()
        }
        ((to, PagingKind::Cursor), None) => {
            let from = member(&["next", "cursor", "after", "token"], is_string_type)?;
            format!("cursor = {{ from = {}, to = {}{} }}", TomlString(&from), TomlString(to), more())
        }
        ((to, PagingKind::LastItem), None) => {
            self::struct_fields(item, shapes)?.iter().find(|field| field.wire == "id")?;
            format!("last-item = {{ from = \"/id\", to = {}{} }}", TomlString(to), more())
        }
        ((to, PagingKind::Offset), None) => {
            format!("offset = {{ to = {}{} }}", TomlString(to), total("total", &["total"]))
        }
        ((to, PagingKind::Page), None) => {
            let pages = total("total-pages", &["total_pages", "totalpages", "page_count"]);
            let ends = if pages.is_empty() { total("total", &["total"]) } else { pages };
            format!("page = {{ to = {}{ends} }}", TomlString(to))
        }
    };
    Some(vec![format!("items = {}", TomlString(&items)), way])
}

fn field_pointer(field: &StructField) -> String {
    contract_runtime::pointer::join_token("", &field.wire)
}

fn struct_fields<'s>(ty: &TypeRef, shapes: &'s Shapes) -> Option<&'s [StructField]> {
    let TypeRef::Named(id) = peel_type(ty) else { return None };
    match &shapes.get(*id).body {
        TypeBody::Struct(body) => Some(&body.fields),
        _ => None,
    }
}

/// Returns the element type if the type is a list or a newtype of a list.
fn list_item_type<'t>(ty: &'t TypeRef, shapes: &'t Shapes) -> Option<&'t TypeRef> {
    match peel_type(ty) {
        TypeRef::Vec(item) => Some(item),
        TypeRef::Named(id) => match &shapes.get(*id).body {
            TypeBody::Newtype(TypeRef::Vec(item)) => Some(item),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if `format` declares that a property is a URI or a URI reference.
fn is_url(field: &StructField, contract: &AnalyzedContract) -> bool {
    let facts = SchemaFacts::from_conjunction(&contract.graph, &field.conj, contract.options.implied_objects);
    let mut formats =
        facts.unconditional_schemas(&contract.graph).filter_map(|schema| schema.format.as_deref());
    formats.any(|format| ["uri", "uri-reference", "iri", "iri-reference", "url"].contains(&format))
}

fn is_string_type(ty: &TypeRef, shapes: &Shapes) -> bool {
    match peel_type(ty) {
        TypeRef::String | TypeRef::Secret => true,
        TypeRef::Named(id) => {
            matches!(&shapes.get(*id).body, TypeBody::Newtype(TypeRef::String | TypeRef::Secret))
        }
        _ => false,
    }
}

/// Returns the type inside nullable types and boxes.
fn peel_type(ty: &TypeRef) -> &TypeRef {
    match ty {
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => peel_type(inner),
        ty => ty,
    }
}
