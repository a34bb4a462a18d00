//! Overlays (OpenAPI Overlay 1.0 and 1.1) and JSON merge patches (RFC 7396): a document is mended
//! beside it, before anything looks at it.
//!
//! Each mend is remembered for the report; one that selects nothing, or changes nothing, is an
//! error, so that no file carries what has lost its meaning.

use serde_json_path::JsonPath;

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    tree::{Member, Place, SourceId, Span, Tree, Value, join},
};

/// What an overlay did to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mend {
    /// The file of the overlay.
    pub file: String,
    /// What it says of it, or what it selects.
    pub what: String,
    /// What it did: `updated`, `removed`.
    pub how: &'static str,
    /// Where.
    pub places: Vec<Place>,
}

/// An overlay that was read.
pub(super) struct Overlay<'a> {
    pub(super) name: &'a str,
    pub(super) source: SourceId,
    pub(super) tree: &'a Tree,
}

/// The document that an overlay names, as it writes it.
pub(super) fn extends(overlay: &Tree) -> Option<&str> {
    overlay.get("overlay")?;
    overlay.get("extends").and_then(Tree::as_str)
}

impl Overlay<'_> {
    /// Mends a document.
    pub(super) fn apply(&self, id: SourceId, document: &mut Tree, problems: &mut Diagnostics) -> Vec<Mend> {
        if self.tree.get("overlay").is_none() {
            return self.patch(id, document, problems).into_iter().collect();
        }
        let version = self.tree.get("overlay").and_then(Tree::as_str).unwrap_or_default();
        if !(version.starts_with("1.0") || version.starts_with("1.1")) {
            let message = format!("Overlay `{version}`: versions 1.0 and 1.1 are read");
            problems.push(self.problem(message, "/overlay", self.tree));
            return Vec::new();
        }
        let actions = self.tree.get("actions").map(Tree::elements).unwrap_or_default();
        if actions.is_empty() {
            problems.push(self.problem("an overlay without `actions`", "", self.tree));
        }
        let mut mends = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            match self.act(id, document, action) {
                Ok(mend) => mends.push(mend),
                Err(message) => problems.push(self.problem(message, &format!("/actions/{at}"), action)),
            }
        }
        mends
    }

    fn act(&self, id: SourceId, document: &mut Tree, action: &Tree) -> Result<Mend, String> {
        let target = action.get("target").and_then(Tree::as_str).ok_or("an action must have a `target`")?;
        let pointers = select(document, target)?;
        if pointers.is_empty() {
            return Err(format!("`{target}` selects nothing any more"));
        }
        let spots = pointers.iter().map(|pointer| place(id, document, pointer)).collect();
        let removes = action.get("remove").and_then(Tree::as_bool).unwrap_or(false);
        if removes {
            // From the end, so that what is counted stays where it is.
            for pointer in pointers.iter().rev() {
                remove(document, pointer);
            }
        } else {
            let value = match (action.get("update"), action.get("copy").and_then(Tree::as_str)) {
                (Some(value), _) => value.clone(),
                (None, Some(source)) => copied(document, source)?,
                (None, None) => return Err("an action must have `update`, `copy` or `remove`".to_owned()),
            };
            let before = document.to_json();
            for pointer in &pointers {
                if let Some(node) = node(document, pointer) {
                    let span = node.span;
                    update(node, spanned(value.clone(), span), true);
                }
            }
            if document.to_json() == before {
                return Err(format!("`{target}` has all this already"));
            }
        }
        let what = action.get("description").and_then(Tree::as_str).unwrap_or(target).to_owned();
        let how = if removes { "removed" } else { "updated" };
        Ok(Mend { file: self.name.to_owned(), what, how, places: spots })
    }

    fn patch(&self, id: SourceId, document: &mut Tree, problems: &mut Diagnostics) -> Option<Mend> {
        let mut places = Vec::new();
        let mut idle = Vec::new();
        merge(document, self.tree, String::new(), &mut |pointer, span, applies| {
            let place = Place { source: if applies { id } else { self.source }, pointer, span };
            if applies { places.push(place) } else { idle.push(place) }
        });
        for place in idle {
            let message = "a merge patch that changes nothing here any more";
            problems.push(Diagnostic::error("overlay", message).at(place).help("remove it from the patch"));
        }
        (!places.is_empty()).then(|| Mend {
            file: self.name.to_owned(),
            what: "merge patch".to_owned(),
            how: "updated",
            places,
        })
    }

    fn problem(&self, message: impl Into<String>, pointer: &str, at: &Tree) -> Diagnostic {
        let place = Place { source: self.source, pointer: pointer.to_owned(), span: at.span };
        Diagnostic::error("overlay", message).at(place)
    }
}

/// The JSON Pointers of what a JSONPath selects, in document order.
fn select(document: &Tree, path: &str) -> Result<Vec<String>, String> {
    let parsed = JsonPath::parse(path).map_err(|error| format!("`{path}` is no JSONPath: {error}"))?;
    let value = document.to_json().to_value();
    let found = parsed.query_located(&value);
    let mut pointers: Vec<String> = Vec::new();
    for pointer in found.locations().map(|location| location.to_json_pointer()) {
        if !pointers.contains(&pointer) {
            pointers.push(pointer);
        }
    }
    Ok(pointers)
}

/// What a `copy` names, which has to be one thing.
fn copied(document: &Tree, path: &str) -> Result<Tree, String> {
    match select(document, path)?.as_slice() {
        [one] => document.at(one).cloned().ok_or_else(|| format!("`{path}` selects nothing any more")),
        [] => Err(format!("`{path}` selects nothing any more")),
        several => Err(format!("`{path}` selects {} places, and `copy` takes one", several.len())),
    }
}

fn place(source: SourceId, document: &Tree, pointer: &str) -> Place {
    let span = document.at(pointer).map_or(Span::default(), |tree| tree.span);
    Place { source, pointer: pointer.to_owned(), span }
}

fn node<'t>(document: &'t mut Tree, pointer: &str) -> Option<&'t mut Tree> {
    let mut here = document;
    for token in contract_runtime::pointer::tokens(pointer)? {
        let token = contract_runtime::pointer::unescape(token)?;
        here = match &mut here.value {
            Value::Object(members) => &mut members.iter_mut().find(|member| member.key == token)?.value,
            Value::Array(elements) => elements.get_mut(contract_runtime::pointer::index(&token)?)?,
            _ => return None,
        };
    }
    Some(here)
}

fn remove(document: &mut Tree, pointer: &str) {
    let Some((around, token)) = pointer.rsplit_once('/') else { return };
    let Some(token) = contract_runtime::pointer::unescape(token) else { return };
    match node(document, around).map(|tree| &mut tree.value) {
        Some(Value::Object(members)) => members.retain(|member| member.key != token),
        Some(Value::Array(elements)) => {
            if let Some(index) = contract_runtime::pointer::index(&token).filter(|at| *at < elements.len()) {
                elements.remove(index);
            }
        }
        _ => {}
    }
}

/// Overlay 1.1, 4.4.3: objects are merged, arrays get more at their end, anything else is replaced.
fn update(target: &mut Tree, value: Tree, is_target: bool) {
    match (&mut target.value, value.value) {
        (Value::Object(members), Value::Object(more)) => {
            for member in more {
                match members.iter_mut().find(|known| known.key == member.key) {
                    Some(known) => update(&mut known.value, member.value, false),
                    None => members.push(member),
                }
            }
        }
        (Value::Array(elements), Value::Array(more)) => elements.extend(more),
        // Overlay 1.0: what is given for a selected array is one more entry.
        (Value::Array(elements), value) if is_target => elements.push(Tree { value, span: target.span }),
        (held, value) => *held = value,
    }
}

/// A value as if it stood where it is put, so that places point into the document.
fn spanned(mut tree: Tree, span: Span) -> Tree {
    tree.span = span;
    match &mut tree.value {
        Value::Array(elements) => {
            *elements = std::mem::take(elements).into_iter().map(|each| spanned(each, span)).collect();
        }
        Value::Object(members) => {
            let each =
                |member: Member| Member { key_span: span, value: spanned(member.value, span), ..member };
            *members = std::mem::take(members).into_iter().map(each).collect();
        }
        _ => {}
    }
    tree
}

/// RFC 7396. `hear` gets each place with whether the patch changes it.
fn merge(target: &mut Tree, patch: &Tree, pointer: String, hear: &mut dyn FnMut(String, Span, bool)) {
    let Value::Object(parts) = &patch.value else {
        let applies = target.to_json() != patch.to_json();
        hear(pointer, if applies { target.span } else { patch.span }, applies);
        *target = spanned(patch.clone(), target.span);
        return;
    };
    if !target.is_object() {
        target.value = Value::Object(Vec::new());
    }
    let span = target.span;
    let Value::Object(members) = &mut target.value else { return };
    for part in parts {
        let here = join(&pointer, &part.key);
        let known = members.iter().position(|member| member.key == part.key);
        match (known, &part.value.value) {
            (Some(at), Value::Null) => {
                hear(here, members.remove(at).value.span, true);
            }
            (None, Value::Null) => hear(here, part.value.span, false),
            (Some(at), _) => {
                if let Some(member) = members.get_mut(at) {
                    merge(&mut member.value, &part.value, here, hear);
                }
            }
            (None, _) => {
                // What is new takes over no `null`: it would remove nothing.
                let mut value = Tree { value: Value::Object(Vec::new()), span };
                merge(&mut value, &part.value, here.clone(), &mut |_, _, _| {});
                hear(here, span, true);
                members.push(Member { key: part.key.clone(), key_span: span, value });
            }
        }
    }
}
