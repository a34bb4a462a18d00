//! Finds operations that look paginated, because they have a query parameter with a typical name and a
//! response that contains an array.

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::ParameterIn,
    config::{
        CursorPagination, LinkPagination, NextUrlPagination, OffsetIncrement, OffsetPagination,
        PageNumberPagination, PaginationConfig,
    },
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
    /// The suggested `[[pages]]` table, with its list of operations, as configuration.
    pub config: PaginationConfig,
}

impl PagedOperations {
    fn new(id: String, config: PaginationConfig) -> Self {
        let lines = toml_lines(&config);
        Self {
            lines,
            config: PaginationConfig { operations: vec![id.clone()], ..config },
            operations: vec![id],
        }
    }
}

/// Common names of query parameters that select a page, in lower case and without separators, each with the kind of
/// pagination that it implies. If an operation has several of these parameters, the one that comes first in this list
/// applies.
const PAGING_PARAMETERS: [(&str, PagingKind); 12] = [
    ("cursor", PagingKind::Cursor),
    ("pagecursor", PagingKind::Cursor),
    ("pagetoken", PagingKind::Cursor),
    ("nexttoken", PagingKind::Cursor),
    ("continuationtoken", PagingKind::Cursor),
    ("after", PagingKind::Cursor),
    ("startingafter", PagingKind::LastItem),
    ("offset", PagingKind::Offset),
    ("skip", PagingKind::Offset),
    ("page", PagingKind::Page),
    ("pagenumber", PagingKind::Page),
    ("currentpage", PagingKind::Page),
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
        let Some(config) = paging_options(call, contract) else { continue };
        let own = PagedOperations::new(call.operation.id.clone(), config);
        match found.iter_mut().find(|paged| paged.lines == own.lines) {
            Some(paged) => {
                paged.operations.extend(own.operations);
                paged.config.operations.clone_from(&paged.operations);
            }
            None => found.push(own),
        }
    }
    found
}

fn paging_options(call: &PlannedCall<'_>, contract: &AnalyzedContract) -> Option<PaginationConfig> {
    let shapes = &contract.shapes;
    let Some(ResponsePayload::Json(answer)) = &call.responses.single else { return None };
    let fields = struct_fields(answer, shapes);
    let (items, item) = match (list_item_type(answer, shapes), fields) {
        (Some(item), _) => (String::new(), item),
        (None, Some(fields)) => {
            let (field, item) = items_field(call, fields, shapes)?;
            (field_pointer("", field), item)
        }
        (None, None) => return None,
    };
    let query = || call.parameters.iter().filter(|parameter| parameter.row.location == ParameterIn::Query);
    let known = PAGING_PARAMETERS.iter().find_map(|(name, kind)| {
        let parameter = query().find(|parameter| letters(&parameter.row.name) == *name)?;
        Some((parameter.row.name.as_str(), *kind))
    });
    let linked = call.operation.responses.iter().flat_map(|response| &response.headers);
    let linked = linked.into_iter().any(|header| header.name.eq_ignore_ascii_case("link"));
    let members = fields.map_or_else(Vec::new, |fields| paging_members(fields, shapes));
    let member = |keywords: &[&str], fits: fn(&TypeRef, &Shapes) -> bool| {
        let mut all = members.iter().filter(|(_, field)| fits(&field.ty, shapes));
        let named = all.find(|(_, field)| {
            keywords.iter().any(|keyword| field.wire.to_ascii_lowercase().contains(keyword))
        });
        named.map(|(pointer, _)| pointer.clone())
    };
    let url = || {
        let mut all = members.iter().filter(|(_, field)| is_url(field, contract));
        let next = all.find(|(_, field)| field.wire.to_ascii_lowercase().contains("next"));
        next.map(|(pointer, _)| pointer.clone())
    };
    let more = || member(&["more"], |ty, _| *peel_type(ty) == TypeRef::Bool);
    let total = |keywords: &[&str]| member(keywords, |ty, _| matches!(peel_type(ty), TypeRef::Int(_)));
    let mut config = PaginationConfig { items, ..PaginationConfig::default() };
    if let Some(from) = url() {
        // The URL of the next page suffices.
        config.next_url = Some(NextUrlPagination::From(from));
        return Some(config);
    }
    match known? {
        (_, PagingKind::Page | PagingKind::Offset | PagingKind::Cursor) if linked => {
            config.link = Some(LinkPagination::Rel("next".to_owned()));
        }
        (to, PagingKind::Cursor) => {
            let from = member(&["next", "cursor", "after", "token"], is_string_type)?;
            config.cursor = Some(CursorPagination { from, to: to.to_owned(), more: more() });
        }
        (to, PagingKind::LastItem) => {
            self::struct_fields(item, shapes)?.iter().find(|field| field.wire == "id")?;
            let from = "/id".to_owned();
            config.last_item = Some(CursorPagination { from, to: to.to_owned(), more: more() });
        }
        (to, PagingKind::Offset) => {
            config.offset = Some(OffsetPagination {
                to: to.to_owned(),
                by: OffsetIncrement::default(),
                first: None,
                limit: None,
                total: total(&["total"]),
            });
        }
        (to, PagingKind::Page) => {
            let total_pages = total(&["total_pages", "totalpages", "page_count"]);
            let total = if total_pages.is_some() { None } else { total(&["total"]) };
            let to = to.to_owned();
            config.page = Some(PageNumberPagination { to, first: None, limit: None, total_pages, total });
        }
    }
    Some(config)
}

/// Returns a name in lower case and without separators.
fn letters(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "").to_ascii_lowercase()
}

/// The names of lists that accompany the items of a page.
const OTHER_LISTS: [&str; 6] = ["errors", "warnings", "links", "included", "related", "messages"];

/// Returns the field of a page that contains its items, and the type of an item. If a page has several lists, it is the
/// list that the operation or its path names, or else the first one that usually contains no items of another kind.
fn items_field<'s>(
    call: &PlannedCall<'_>,
    fields: &'s [StructField],
    shapes: &'s Shapes,
) -> Option<(&'s StructField, &'s TypeRef)> {
    let lists: Vec<(&StructField, &TypeRef)> =
        fields.iter().filter_map(|field| Some((field, list_item_type(&field.ty, shapes)?))).collect();
    let is_other = |field: &StructField| OTHER_LISTS.contains(&letters(&field.wire).as_str());
    let last = call.operation.path.rsplit('/').find(|segment| !segment.contains('{')).map(letters);
    let id = letters(&call.operation.id);
    let is_named = |field: &StructField| {
        let name = letters(&field.wire);
        !name.is_empty() && (last.as_deref() == Some(name.as_str()) || id.ends_with(&name))
    };
    let mut items = lists.iter().filter(|(field, _)| !is_other(field));
    let first = items.clone().next();
    items.find(|(field, _)| is_named(field)).or(first).or(lists.first()).copied()
}

/// Returns the lines of a suggested `[[pages]]` table without its list of operations.
fn toml_lines(config: &PaginationConfig) -> Vec<String> {
    let table = |name: &str, keys: &[(&str, Option<&str>)]| {
        let keys = keys.iter().filter_map(|(key, value)| Some(format!("{key} = {}", TomlString((*value)?))));
        format!("{name} = {{ {} }}", keys.collect::<Vec<_>>().join(", "))
    };
    let cursor = |name: &str, way: &CursorPagination| {
        table(name, &[("from", Some(&way.from)), ("to", Some(&way.to)), ("more", way.more.as_deref())])
    };
    let ways = [
        config.next_url.as_ref().map(|way| format!("next-url = {}", TomlString(way.pointer_and_scope().0))),
        config.link.as_ref().map(|way| format!("link = {}", TomlString(way.relation_and_scope().0))),
        config.cursor.as_ref().map(|way| cursor("cursor", way)),
        config.last_item.as_ref().map(|way| cursor("last-item", way)),
        config
            .offset
            .as_ref()
            .map(|way| table("offset", &[("to", Some(&way.to)), ("total", way.total.as_deref())])),
        config.page.as_ref().map(|way| {
            let pages = ("total-pages", way.total_pages.as_deref());
            table("page", &[("to", Some(&way.to)), pages, ("total", way.total.as_deref())])
        }),
    ];
    let items = format!("items = {}", TomlString(&config.items));
    [Some(items)].into_iter().chain(ways).flatten().collect()
}

/// Lowercase substrings that identify objects with page metadata by name. For example, `pag` matches `pagination` and
/// `paging`.
const PAGE_OBJECTS: [&str; 4] = ["meta", "pag", "link", "cursor"];
/// The number of objects around a property that describes the page, such as two in `/links/pages/next`.
const MAX_PAGE_OBJECTS: usize = 2;

/// Returns the properties that may describe the page, each with its pointer: those of the page, then those of the
/// objects in it that describe it, such as `meta`.
fn paging_members<'s>(fields: &'s [StructField], shapes: &'s Shapes) -> Vec<(String, &'s StructField)> {
    let mut level: Vec<(String, &StructField)> =
        fields.iter().map(|field| (field_pointer("", field), field)).collect();
    let mut found = level.clone();
    for _ in 0..MAX_PAGE_OBJECTS {
        let describes = |field: &StructField| {
            let name = field.wire.to_ascii_lowercase();
            PAGE_OBJECTS.iter().any(|part| name.contains(part))
        };
        let inner = level.iter().filter(|(_, field)| describes(field)).flat_map(|(pointer, field)| {
            let fields = struct_fields(&field.ty, shapes).unwrap_or_default();
            fields.iter().map(|inner| (field_pointer(pointer, inner), inner))
        });
        level = inner.collect();
        found.extend(level.iter().cloned());
    }
    found
}

fn field_pointer(within: &str, field: &StructField) -> String {
    contract_runtime::pointer::join_token(within, &field.wire)
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
