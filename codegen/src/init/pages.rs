//! Operations that look as if they answered page by page: by a parameter of a name that such have, and
//! an array in the answer.

use super::print::Quoted;
use crate::{
    api::ParameterIn,
    plan::{Call, Payload, Plan},
    reading::Reading,
    shape::{Body, Field, Shapes, TypeRef},
    together::Facts,
};

/// Operations that look like lists of one kind, and the lines of their `[[pages]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged {
    /// By `operationId`.
    pub operations: Vec<String>,
    /// Where their items are, and how one page leads to the next.
    pub lines: Vec<String>,
}

/// Names of parameters that say where a page begins, and how.
const NAMES: [(&str, Kind); 14] = [
    ("cursor", Kind::Cursor),
    ("page_cursor", Kind::Cursor),
    ("page_token", Kind::Cursor),
    ("pageToken", Kind::Cursor),
    ("next_token", Kind::Cursor),
    ("nextToken", Kind::Cursor),
    ("continuation_token", Kind::Cursor),
    ("continuationToken", Kind::Cursor),
    ("after", Kind::Cursor),
    ("starting_after", Kind::LastItem),
    ("offset", Kind::Offset),
    ("skip", Kind::Offset),
    ("page", Kind::Page),
    ("page_number", Kind::Page),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cursor,
    LastItem,
    Offset,
    Page,
}

/// Looks for them.
pub(super) fn pages(plan: &Plan<'_>, contract: &Reading) -> Vec<Paged> {
    let mut found: Vec<Paged> = Vec::new();
    for call in plan.calls.iter().filter(|call| call.unsendable.is_none()) {
        let Some(lines) = lines(call, contract) else { continue };
        let id = call.operation.id.clone();
        match found.iter_mut().find(|paged| paged.lines == lines) {
            Some(paged) => paged.operations.push(id),
            None => found.push(Paged { operations: vec![id], lines }),
        }
    }
    found
}

fn lines(call: &Call<'_>, contract: &Reading) -> Option<Vec<String>> {
    let shapes = &contract.shapes;
    let Some(Payload::Json(answer)) = &call.answers.one else { return None };
    let fields = fields(answer, shapes);
    let (items, item) = match (list(answer, shapes), fields) {
        (Some(item), _) => (String::new(), item),
        (None, Some(fields)) => {
            fields.iter().find_map(|field| Some((pointer(field), list(&field.ty, shapes)?)))?
        }
        (None, None) => return None,
    };
    let query = || call.parameters.iter().filter(|parameter| parameter.row.location == ParameterIn::Query);
    let known = NAMES.iter().find_map(|(name, kind)| {
        let parameter = query().find(|parameter| parameter.row.name == *name)?;
        Some((parameter.row.name.as_str(), *kind))
    });
    let linked = call.operation.responses.iter().flat_map(|response| &response.headers);
    let linked = linked.into_iter().any(|header| header.name.eq_ignore_ascii_case("link"));
    let member = |words: &[&str], fits: fn(&TypeRef, &Shapes) -> bool| {
        let mut all = fields?.iter().filter(|field| fits(&field.ty, shapes));
        let named = all.find(|field| words.iter().any(|word| field.wire.to_ascii_lowercase().contains(word)));
        named.map(pointer)
    };
    let with = |key: &str, pointer: Option<String>| {
        pointer.map_or_else(String::new, |pointer| format!(", {key} = {}", Quoted(&pointer)))
    };
    let url = || {
        let mut all = fields?.iter().filter(|field| is_url(field, contract));
        all.find(|field| field.wire.to_ascii_lowercase().contains("next")).map(pointer)
    };
    let more = || with("more", member(&["more"], |ty, _| *plain(ty) == TypeRef::Bool));
    let total =
        |key: &str, words: &[&str]| with(key, member(words, |ty, _| matches!(plain(ty), TypeRef::Int(_))));
    let way = match (known?, url()) {
        (_, Some(from)) => format!("next-url = {}", Quoted(&from)),
        ((_, Kind::Page | Kind::Offset | Kind::Cursor), None) if linked => "link = \"next\"".to_owned(),
        ((to, Kind::Cursor), None) => {
            let from = member(&["next", "cursor", "after", "token"], is_text)?;
            format!("cursor = {{ from = {}, to = {}{} }}", Quoted(&from), Quoted(to), more())
        }
        ((to, Kind::LastItem), None) => {
            self::fields(item, shapes)?.iter().find(|field| field.wire == "id")?;
            format!("last-item = {{ from = \"/id\", to = {}{} }}", Quoted(to), more())
        }
        ((to, Kind::Offset), None) => {
            format!("offset = {{ to = {}{} }}", Quoted(to), total("total", &["total"]))
        }
        ((to, Kind::Page), None) => {
            let pages = total("total-pages", &["total_pages", "totalpages", "page_count"]);
            format!("page = {{ to = {}{pages} }}", Quoted(to))
        }
    };
    Some(vec![format!("items = {}", Quoted(&items)), way])
}

fn pointer(field: &Field) -> String {
    contract_runtime::pointer::join("", &field.wire)
}

fn fields<'s>(ty: &TypeRef, shapes: &'s Shapes) -> Option<&'s [Field]> {
    let TypeRef::Named(id) = plain(ty) else { return None };
    match &shapes.get(*id).body {
        Body::Struct(body) => Some(&body.fields),
        _ => None,
    }
}

/// What a list holds.
fn list<'t>(ty: &'t TypeRef, shapes: &'t Shapes) -> Option<&'t TypeRef> {
    match plain(ty) {
        TypeRef::Vec(item) => Some(item),
        TypeRef::Named(id) => match &shapes.get(*id).body {
            Body::Newtype(TypeRef::Vec(item)) => Some(item),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a member says that it is an address.
fn is_url(field: &Field, contract: &Reading) -> bool {
    let facts = Facts::of(&contract.graph, &field.conj, contract.options.implied_objects);
    let mut formats = facts.schemas(&contract.graph).filter_map(|schema| schema.format.as_deref());
    formats.any(|format| ["uri", "uri-reference", "iri", "iri-reference", "url"].contains(&format))
}

fn is_text(ty: &TypeRef, shapes: &Shapes) -> bool {
    match plain(ty) {
        TypeRef::String | TypeRef::Secret => true,
        TypeRef::Named(id) => {
            matches!(&shapes.get(*id).body, Body::Newtype(TypeRef::String | TypeRef::Secret))
        }
        _ => false,
    }
}

/// Behind `null` and pointers.
fn plain(ty: &TypeRef) -> &TypeRef {
    match ty {
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => plain(inner),
        ty => ty,
    }
}
