//! Overlays (OpenAPI Overlay 1.0 and 1.1) and JSON merge patches (RFC 7396): a document is mended
//! beside it, before anything looks at it.
//!
//! Each mend is remembered for the report; one that selects nothing, or changes nothing, is an
//! error, so that no file carries what has lost its meaning.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

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

/// Where what a document holds came from, by its pointer, as far as that is an overlay.
pub(super) type Origins = BTreeMap<String, Place>;

/// Members that an overlay may have (Overlay 1.1, 4.4.1).
const FIELDS: [&str; 4] = ["overlay", "info", "extends", "actions"];

/// Members that an action may have (Overlay 1.1, 4.4.3).
const ACTION: [&str; 5] = ["target", "description", "update", "copy", "remove"];

/// The document that an overlay names, as it writes it.
pub(super) fn extends(overlay: &Tree) -> Option<&str> {
    overlay.get("overlay")?;
    overlay.get("extends").and_then(Tree::as_str)
}

impl Overlay<'_> {
    /// Mends a document, and notes in `origins` what is the overlay's.
    pub(super) fn apply(
        &self,
        id: SourceId,
        document: &mut Tree,
        origins: &mut Origins,
        problems: &mut Diagnostics,
    ) -> Vec<Mend> {
        if !self.tree.is_object() {
            let message = format!("an overlay or a merge patch must be an object, not {}", self.tree.kind());
            let help = match self.tree.value {
                Value::Array(_) => {
                    "a JSON Patch (RFC 6902) is not read: write a merge patch (RFC 7396), or an overlay"
                }
                _ => "write a merge patch (RFC 7396), or an overlay",
            };
            problems.push(self.problem(message, "", self.tree).help(help));
            return Vec::new();
        }
        if self.tree.get("overlay").is_none() {
            let Some(actions) = self.tree.get("actions") else {
                return self.patch(id, document, origins, problems).into_iter().collect();
            };
            let problem = self.problem("`actions` without the version of the overlay", "/actions", actions);
            problems.push(problem.help("add `overlay: 1.0.0`"));
            return Vec::new();
        }
        if !self.has_known_version(problems) {
            return Vec::new();
        }
        self.check_fields(self.tree, "", "an overlay", &FIELDS, problems);
        let actions = match self.tree.get("actions") {
            Some(Tree { value: Value::Array(actions), .. }) if !actions.is_empty() => actions.as_slice(),
            Some(other) if !matches!(other.value, Value::Array(_)) => {
                let message = format!("`actions` must be an array, not {}", other.kind());
                problems.push(self.problem(message, "/actions", other));
                return Vec::new();
            }
            _ => {
                problems.push(self.problem("an overlay without `actions`", "", self.tree));
                return Vec::new();
            }
        };
        let mut mirror = document.to_json().to_value();
        let mut mends = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            let pointer = format!("/actions/{at}");
            self.check_fields(action, &pointer, "an action", &ACTION, problems);
            match self.act(id, (document, &mut mirror), (action, &pointer), origins) {
                Ok(mend) => mends.push(mend),
                Err(message) => problems.push(self.problem(message, &pointer, action)),
            }
        }
        mends
    }

    fn has_known_version(&self, problems: &mut Diagnostics) -> bool {
        let Some(version) = self.tree.get("overlay") else { return false };
        let text = match &version.value {
            Value::String(text) => text,
            Value::Number(text) => {
                let message = format!("`overlay` must be a string, not {text}");
                let problem = self.problem(message, "/overlay", version).help("put it in quotes");
                problems.push(problem.mended("it is read as one"));
                text
            }
            _ => "",
        };
        let is_known = ["1.0", "1.1"].iter().any(|known| {
            text.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if !is_known {
            let message = format!("Overlay `{text}`: versions 1.0 and 1.1 are read");
            problems.push(self.problem(message, "/overlay", version));
        }
        is_known
    }

    /// A field that nobody reads would be a mend that nobody makes.
    fn check_fields(&self, tree: &Tree, at: &str, what: &str, known: &[&str], problems: &mut Diagnostics) {
        let unknown = |member: &&Member| !known.contains(&&*member.key) && !member.key.starts_with("x-");
        for member in tree.members().iter().filter(unknown) {
            let message = format!("{what} has no field `{}`", member.key);
            let place = Place { source: self.source, pointer: join(at, &member.key), span: member.key_span };
            let help = format!("it has `{}`", known.join("`, `"));
            problems.push(Diagnostic::error("overlay", message).at(place).help(help));
        }
    }

    /// One action; `mirror` is the document as what JSONPaths are asked of, and stays it.
    fn act(
        &self,
        id: SourceId,
        (document, mirror): (&mut Tree, &mut serde_json::Value),
        (action, at): (&Tree, &str),
        origins: &mut Origins,
    ) -> Result<Mend, String> {
        let target = action.get("target").and_then(Tree::as_str).ok_or("an action must have a `target`")?;
        let pointers = select(mirror, target)?;
        if pointers.is_empty() {
            return Err(format!("`{target}` selects nothing any more"));
        }
        let removes = match action.get("remove").map(|remove| &remove.value) {
            None => false,
            Some(Value::Bool(removes)) => *removes,
            Some(_) => return Err("`remove` must be `true` or `false`".to_owned()),
        };
        let spots = pointers.iter().map(|pointer| place(id, document, pointer)).collect();
        if removes {
            remove_all(document, mirror, &pointers, origins).map_err(|pointer| match pointer.as_str() {
                "" => format!("`{target}` is the whole document, which cannot be removed"),
                pointer => format!("`{target}`: nothing could be removed at `{pointer}`"),
            })?;
        } else {
            let value = match (action.get("update"), action.get("copy").and_then(Tree::as_str)) {
                (Some(value), _) => value.clone(),
                (None, Some(source)) => copied(document, mirror, source)?,
                (None, None) => return Err("an action must have `update`, `copy` or `remove`".to_owned()),
            };
            let selected: Vec<(&String, &Tree)> =
                pointers.iter().filter_map(|pointer| Some((pointer, document.at(pointer)?))).collect();
            let mut kinds: Vec<&str> = selected.iter().map(|(_, node)| class(node)).collect();
            kinds.sort_unstable();
            kinds.dedup();
            if kinds.len() > 1 {
                let kinds = kinds.join(" and ");
                return Err(format!("`{target}` selects {kinds}, and an update is for one of these"));
            }
            selected.iter().try_for_each(|(pointer, node)| fits(node, &value, true, pointer))?;
            let (mut changed, own) = (false, join(at, "update"));
            let mut hear = |pointer: &str, own: &str, placed: &Tree| {
                forget_origins(pointer, origins);
                // What is copied is the document's.
                if action.get("update").is_some() {
                    self.note(pointer, own, placed, origins);
                }
            };
            for pointer in &pointers {
                if let Some(node) = node(document, pointer)
                    && update(node, &value, true, (pointer, &own), &mut hear)
                {
                    changed = true;
                    if let Some(copy) = mirror.pointer_mut(pointer) {
                        *copy = node.to_json().to_value();
                    }
                }
            }
            if !changed {
                return Err(format!("`{target}` has all this already"));
            }
        }
        let what = action.get("description").and_then(Tree::as_str).unwrap_or(target).to_owned();
        let how = if removes { "removed" } else { "updated" };
        Ok(Mend { file: self.name.to_owned(), what, how, places: spots })
    }

    /// Notes where a value of the overlay stands in the document, and all that it holds.
    fn note(&self, pointer: &str, own: &str, placed: &Tree, origins: &mut Origins) {
        let place = Place { source: self.source, pointer: own.to_owned(), span: placed.span };
        origins.insert(pointer.to_owned(), place);
        for member in placed.members() {
            self.note(&join(pointer, &member.key), &join(own, &member.key), &member.value, origins);
        }
        for (at, element) in placed.elements().iter().enumerate() {
            let at = at.to_string();
            self.note(&join(pointer, &at), &join(own, &at), element, origins);
        }
    }

    fn patch(
        &self,
        id: SourceId,
        document: &mut Tree,
        origins: &mut Origins,
        problems: &mut Diagnostics,
    ) -> Option<Mend> {
        let mut places = Vec::new();
        let mut idle = Vec::new();
        merge(document, self.tree, String::new(), &mut |pointer, span, applies| {
            let place = Place { source: if applies { id } else { self.source }, pointer, span };
            if applies { places.push(place) } else { idle.push(place) }
        });
        for place in &places {
            forget_origins(&place.pointer, origins);
            if let Some(placed) = self.tree.at(&place.pointer) {
                self.note(&place.pointer, &place.pointer, placed, origins);
            }
        }
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

/// The JSON Pointers of what a JSONPath selects, each once, in the order of the selection.
fn select(mirror: &serde_json::Value, path: &str) -> Result<Vec<String>, String> {
    let parsed = JsonPath::parse(path).map_err(|error| format!("`{path}` is no JSONPath: {error}"))?;
    let mut seen = HashSet::new();
    let found = parsed.query_located(mirror);
    let pointers = found.locations().map(|location| location.to_json_pointer());
    Ok(pointers.filter(|pointer| seen.insert(pointer.clone())).collect())
}

/// What a `copy` names, which has to be one thing.
fn copied(document: &Tree, mirror: &serde_json::Value, path: &str) -> Result<Tree, String> {
    match select(mirror, path)?.as_slice() {
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

/// Removes all of them; the error is the pointer of what cannot be removed.
///
/// From the end of the document, whatever the order of the selection: so what is counted stays
/// where it is, and what lies within what is removed goes first.
fn remove_all(
    document: &mut Tree,
    mirror: &mut serde_json::Value,
    pointers: &[String],
    origins: &mut Origins,
) -> Result<(), String> {
    if let Some(root) = pointers.iter().find(|pointer| pointer.is_empty()) {
        return Err(root.clone());
    }
    let mut sorted: Vec<&String> = pointers.iter().collect();
    sorted.sort_by_cached_key(|pointer| {
        let tokens = pointer.split('/').skip(1);
        tokens.map(|token| (token.parse::<usize>().ok(), token.to_owned())).collect::<Vec<_>>()
    });
    let mut lists: BTreeMap<&str, usize> = BTreeMap::new();
    for pointer in sorted.into_iter().rev() {
        if !(remove(document, pointer) && forget(mirror, pointer)) {
            return Err(pointer.clone());
        }
        forget_origins(pointer, origins);
        if let Some((around, at)) = listed(document, pointer) {
            // The last one met is the first of its list.
            lists.insert(around, at);
        }
    }
    for (around, first) in lists {
        // What follows in a list has another place now.
        let moves = |each: &str| {
            let token = each.get(around.len() + 1..)?.split('/').next()?;
            Some(contract_runtime::pointer::index(token)? >= first)
        };
        for each in within(around, origins).into_iter().filter(|each| moves(each) == Some(true)) {
            origins.remove(&each);
        }
    }
    Ok(())
}

/// The list that a pointer leads into, and where in it.
fn listed<'p>(document: &mut Tree, pointer: &'p str) -> Option<(&'p str, usize)> {
    let (around, token) = last_of(pointer)?;
    let is_list = matches!(node(document, around)?.value, Value::Array(_));
    Some((around, contract_runtime::pointer::index(&token).filter(|_| is_list)?))
}

/// Forgets where a place and all that it holds came from.
fn forget_origins(pointer: &str, origins: &mut Origins) {
    origins.remove(pointer);
    for each in within(pointer, origins) {
        origins.remove(&each);
    }
}

/// The places within a place that came from an overlay.
fn within(pointer: &str, origins: &Origins) -> Vec<String> {
    let start = format!("{pointer}/");
    let inside = origins.range(start.clone()..).take_while(|(each, _)| each.starts_with(&start));
    inside.map(|(each, _)| each.clone()).collect()
}

/// Whether it was there.
fn remove(document: &mut Tree, pointer: &str) -> bool {
    let Some((around, token)) = last_of(pointer) else { return false };
    match node(document, around).map(|tree| &mut tree.value) {
        Some(Value::Object(members)) => {
            let at = members.iter().position(|member| member.key == token);
            at.map(|at| members.remove(at)).is_some()
        }
        Some(Value::Array(elements)) => {
            let at = contract_runtime::pointer::index(&token).filter(|at| *at < elements.len());
            at.map(|at| elements.remove(at)).is_some()
        }
        _ => false,
    }
}

/// The same of the mirror.
fn forget(mirror: &mut serde_json::Value, pointer: &str) -> bool {
    let Some((around, token)) = last_of(pointer) else { return false };
    match mirror.pointer_mut(around) {
        Some(serde_json::Value::Object(members)) => members.remove(&*token).is_some(),
        Some(serde_json::Value::Array(elements)) => {
            let at = contract_runtime::pointer::index(&token).filter(|at| *at < elements.len());
            at.map(|at| elements.remove(at)).is_some()
        }
        _ => false,
    }
}

/// A pointer's last token, and the pointer before it.
fn last_of(pointer: &str) -> Option<(&str, Cow<'_, str>)> {
    let (around, token) = pointer.rsplit_once('/')?;
    Some((around, contract_runtime::pointer::unescape(token)?))
}

/// What an update does to a node decides which these are: it is merged, added to or replaced.
fn class(node: &Tree) -> &'static str {
    match node.value {
        Value::Object(_) => "objects",
        Value::Array(_) => "arrays",
        _ => "single values",
    }
}

/// Overlay 1.1, 4.4.3: what is of another kind than what it would be merged with is an error.
fn fits(target: &Tree, value: &Tree, is_target: bool, pointer: &str) -> Result<(), String> {
    match (&target.value, &value.value) {
        (Value::Object(_), Value::Object(more)) => more.iter().try_for_each(|member| {
            target
                .get(&member.key)
                .map_or(Ok(()), |known| fits(known, &member.value, false, &join(pointer, &member.key)))
        }),
        (Value::Array(elements), Value::Array(more)) => adds(elements, more, pointer),
        (Value::Array(elements), _) if is_target => adds(elements, std::slice::from_ref(value), pointer),
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => {
            let (old, new) = (target.kind(), value.kind());
            let place = if pointer.is_empty() { "the document".to_owned() } else { format!("`{pointer}`") };
            Err(format!("{place} is {old}, and what is given is {new}: remove it first, if it is to go"))
        }
        _ => Ok(()),
    }
}

/// What a list gets is new to it: what it holds would stand there twice.
fn adds(elements: &[Tree], more: &[Tree], pointer: &str) -> Result<(), String> {
    let known: Vec<_> = elements.iter().map(Tree::to_json).collect();
    let Some(held) = more.iter().map(Tree::to_json).find(|each| known.contains(each)) else { return Ok(()) };
    let text: String = held.to_string().chars().take(80).collect();
    Err(format!("`{pointer}` holds this already: `{text}`; leave it out of what is given"))
}

/// Overlay 1.1, 4.4.3: objects are merged, arrays get more at their end, anything else is replaced. Whether that changes anything. `hear` gets what is put
/// somewhere, with the pointers of both.
fn update(
    target: &mut Tree,
    value: &Tree,
    is_target: bool,
    (pointer, own): (&str, &str),
    hear: &mut dyn FnMut(&str, &str, &Tree),
) -> bool {
    let span = target.span;
    match (&mut target.value, &value.value) {
        (Value::Object(members), Value::Object(more)) => {
            let at: HashMap<String, usize> =
                members.iter().enumerate().map(|(at, known)| (known.key.clone(), at)).collect();
            let mut changed = false;
            for member in more {
                let (pointer, own) = (join(pointer, &member.key), join(own, &member.key));
                match at.get(&member.key).and_then(|at| members.get_mut(*at)) {
                    Some(known) => {
                        changed |= update(&mut known.value, &member.value, false, (&pointer, &own), hear);
                    }
                    None => {
                        changed = true;
                        hear(&pointer, &own, &member.value);
                        let value = spanned(member.value.clone(), span);
                        members.push(Member { key: member.key.clone(), key_span: span, value });
                    }
                }
            }
            changed
        }
        (Value::Array(elements), Value::Array(more)) => {
            for (at, element) in more.iter().enumerate() {
                hear(&join(pointer, &elements.len().to_string()), &join(own, &at.to_string()), element);
                elements.push(spanned(element.clone(), span));
            }
            !more.is_empty()
        }
        // Overlay 1.0: what is given for a selected array is one more entry.
        (Value::Array(elements), _) if is_target => {
            hear(&join(pointer, &elements.len().to_string()), own, value);
            elements.push(spanned(value.clone(), span));
            true
        }
        _ => {
            let changed = target.to_json() != value.to_json();
            if changed {
                hear(pointer, own, value);
            }
            *target = spanned(value.clone(), span);
            changed
        }
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
    let span = target.span;
    let (Value::Object(members), Value::Object(parts)) = (&mut target.value, &patch.value) else {
        let value = fresh(patch, span);
        let applies = target.to_json() != value.to_json();
        hear(pointer, if applies { span } else { patch.span }, applies);
        *target = value;
        return;
    };
    if parts.is_empty() {
        hear(pointer.clone(), patch.span, false);
    }
    let at: HashMap<String, usize> =
        members.iter().enumerate().map(|(at, known)| (known.key.clone(), at)).collect();
    let mut gone = HashSet::new();
    for part in parts {
        let here = join(&pointer, &part.key);
        match (at.get(&part.key).copied(), &part.value.value) {
            (Some(at), Value::Null) => {
                hear(here, members.get(at).map_or(span, |member| member.value.span), true);
                gone.insert(part.key.as_str());
            }
            (None, Value::Null) => hear(here, part.value.span, false),
            (Some(at), _) => {
                if let Some(member) = members.get_mut(at) {
                    merge(&mut member.value, &part.value, here, hear);
                }
            }
            (None, _) => {
                hear(here, span, true);
                let value = fresh(&part.value, span);
                members.push(Member { key: part.key.clone(), key_span: span, value });
            }
        }
    }
    members.retain(|member| !gone.contains(member.key.as_str()));
}

/// What a patch makes where nothing was, or nothing that it can be merged into: it takes over no
/// `null`, which would remove nothing.
fn fresh(patch: &Tree, span: Span) -> Tree {
    let value = match &patch.value {
        Value::Object(parts) => {
            let kept = parts.iter().filter(|part| part.value.value != Value::Null);
            let member = |part: &Member| Member {
                key: part.key.clone(),
                key_span: span,
                value: fresh(&part.value, span),
            };
            Value::Object(kept.map(member).collect())
        }
        _ => return spanned(patch.clone(), span),
    };
    Tree { value, span }
}

#[cfg(test)]
mod tests;
