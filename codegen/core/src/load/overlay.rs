//! Applies overlays (OpenAPI Overlay 1.0 and 1.1) and JSON merge patches (RFC 7396) to documents before they
//! are interpreted. The entry point is [`OverlayDocument::apply`].
//!
//! Each change is recorded for the report. An action that selects or changes nothing is an error, so that
//! overlays contain no obsolete actions.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
};

use serde_json_path::JsonPath;

use crate::{
    diagnostics::{Diagnostic, Diagnostics},
    tree::{DocumentLocation, DocumentNode, NodeValue, ObjectMember, SourceId, Span, join_token},
};

/// A change that an overlay made to a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayEdit {
    /// The name of the overlay file.
    pub file: String,
    /// The description of the action or, if it has none, its target.
    pub what: String,
    /// The kind of change: `updated` or `removed`.
    pub how: &'static str,
    /// The locations in the document that the action changed.
    pub places: Vec<DocumentLocation>,
}

/// An overlay or merge patch as it is applied: its file name, its source id and its content.
pub(super) struct OverlayDocument<'a> {
    pub(super) name: &'a str,
    pub(super) source: SourceId,
    pub(super) tree: &'a DocumentNode,
}

/// The origin of each inserted value: the location in the overlay, by the JSON Pointer of the value in the
/// document.
pub(super) type OverlayOrigins = BTreeMap<String, DocumentLocation>;

/// The fields of an Overlay Object (Overlay 1.1, 4.4.1).
const OVERLAY_FIELDS: [&str; 4] = ["overlay", "info", "extends", "actions"];

/// The fields of an Action Object (Overlay 1.1, 4.4.3).
const ACTION_FIELDS: [&str; 5] = ["target", "description", "update", "copy", "remove"];

/// Returns the value of `extends` in an overlay.
pub(super) fn extends_target(overlay: &DocumentNode) -> Option<&str> {
    overlay.get("overlay")?;
    overlay.get("extends").and_then(DocumentNode::as_str)
}

impl OverlayDocument<'_> {
    /// Applies the overlay to a document. Returns the changes that were made, and adds the origins of the
    /// inserted values to `origins`.
    pub(super) fn apply(
        &self,
        id: SourceId,
        document: &mut DocumentNode,
        origins: &mut OverlayOrigins,
        problems: &mut Diagnostics,
    ) -> Vec<OverlayEdit> {
        if !self.tree.is_object() {
            let message = format!(
                "an overlay or a merge patch must be an object, not {}",
                self.tree.kind_with_article()
            );
            let help = match self.tree.value {
                NodeValue::Array(_) => {
                    "JSON Patch (RFC 6902) is not supported: write a merge patch (RFC 7396), or an overlay"
                }
                _ => "write a merge patch (RFC 7396), or an overlay",
            };
            problems.push(self.diagnostic(message, "", self.tree).help(help));
            return Vec::new();
        }
        if self.tree.get("overlay").is_none() {
            let Some(actions) = self.tree.get("actions") else {
                return self.apply_merge_patch(id, document, origins, problems).into_iter().collect();
            };
            let problem =
                self.diagnostic("an overlay with `actions` must have a version", "/actions", actions);
            problems.push(problem.help("add `overlay: 1.0.0`"));
            return Vec::new();
        }
        if !self.has_known_version(problems) {
            return Vec::new();
        }
        self.check_fields(self.tree, "", "an overlay", &OVERLAY_FIELDS, problems);
        let actions = match self.tree.get("actions") {
            Some(DocumentNode { value: NodeValue::Array(actions), .. }) if !actions.is_empty() => {
                actions.as_slice()
            }
            Some(other) if !matches!(other.value, NodeValue::Array(_)) => {
                let message = format!("`actions` must be an array, not {}", other.kind_with_article());
                problems.push(self.diagnostic(message, "/actions", other));
                return Vec::new();
            }
            _ => {
                problems.push(self.diagnostic(
                    "an overlay must have at least one action in `actions`",
                    "",
                    self.tree,
                ));
                return Vec::new();
            }
        };
        let mut mirror = document.to_json().to_value();
        let mut overlay_edits = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            let pointer = format!("/actions/{at}");
            self.check_fields(action, &pointer, "an action", &ACTION_FIELDS, problems);
            match self.apply_action(id, (document, &mut mirror), (action, &pointer), origins) {
                Ok(mend) => overlay_edits.push(mend),
                Err(message) => problems.push(self.diagnostic(message, &pointer, action)),
            }
        }
        overlay_edits
    }

    fn has_known_version(&self, problems: &mut Diagnostics) -> bool {
        let Some(version) = self.tree.get("overlay") else { return false };
        let text = match &version.value {
            NodeValue::String(text) => text,
            NodeValue::Number(text) => {
                let message = format!("`overlay` must be a string, not {text}");
                let problem = self.diagnostic(message, "/overlay", version).help("put it in quotes");
                problems.push(problem.with_fallback("it is read as one"));
                text
            }
            _ => "",
        };
        let is_known = ["1.0", "1.1"].iter().any(|known| {
            text.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if !is_known {
            let message = format!("unsupported Overlay version `{text}`: expected 1.0 or 1.1");
            problems.push(self.diagnostic(message, "/overlay", version));
        }
        is_known
    }

    /// Reports the fields of an object that are not in the list of known ones, because a misspelled field
    /// would have no effect.
    fn check_fields(
        &self,
        tree: &DocumentNode,
        at: &str,
        what: &str,
        known: &[&str],
        problems: &mut Diagnostics,
    ) {
        let unknown =
            |member: &&ObjectMember| !known.contains(&&*member.key) && !member.key.starts_with("x-");
        for member in tree.members().iter().filter(unknown) {
            let message = format!("{what} has no field `{}`", member.key);
            let place = DocumentLocation {
                source: self.source,
                pointer: join_token(at, &member.key),
                span: member.key_span,
            };
            let help = format!("it has `{}`", known.join("`, `"));
            problems.push(Diagnostic::error("overlay", message).with_place(place).help(help));
        }
    }

    /// Applies one action. `mirror` is a copy of the document as a `serde_json` value, on which JSONPath
    /// queries are evaluated; it is updated together with the document.
    fn apply_action(
        &self,
        id: SourceId,
        (document, mirror): (&mut DocumentNode, &mut serde_json::Value),
        (action, at): (&DocumentNode, &str),
        origins: &mut OverlayOrigins,
    ) -> Result<OverlayEdit, String> {
        let target =
            action.get("target").and_then(DocumentNode::as_str).ok_or("an action must have a `target`")?;
        let pointers = select_pointers(mirror, target)?;
        if pointers.is_empty() {
            return Err(describe_empty_selection(mirror, target));
        }
        let removes = match action.get("remove").map(|remove| &remove.value) {
            None => false,
            Some(NodeValue::Bool(removes)) => *removes,
            Some(_) => return Err("`remove` must be `true` or `false`".to_owned()),
        };
        let spots = pointers.iter().map(|pointer| place_at(id, document, pointer)).collect();
        if removes {
            remove_all(document, mirror, &pointers, origins).map_err(|pointer| match pointer.as_str() {
                "" => format!("`{target}` is the whole document, which cannot be removed"),
                pointer => format!("`{target}`: nothing could be removed at `{pointer}`"),
            })?;
        } else {
            let value = match (action.get("update"), action.get("copy").and_then(DocumentNode::as_str)) {
                (Some(value), _) => value.clone(),
                (None, Some(source)) => select_copy_source(document, mirror, source)?,
                (None, None) => return Err("an action must have `update`, `copy` or `remove`".to_owned()),
            };
            let selected: Vec<(&String, &DocumentNode)> = pointers
                .iter()
                .filter_map(|pointer| Some((pointer, document.resolve_pointer(pointer)?)))
                .collect();
            let mut kinds: Vec<&str> = selected.iter().map(|(_, node)| merge_class(node)).collect();
            kinds.sort_unstable();
            kinds.dedup();
            if kinds.len() > 1 {
                let kinds = kinds.join(" and ");
                return Err(format!(
                    "`{target}` selects {kinds}, but all targets of an update must be of one kind"
                ));
            }
            selected.iter().try_for_each(|(pointer, node)| check_mergeable(node, &value, true, pointer))?;
            let (mut changed, own) = (false, join_token(at, "update"));
            let mut on_change = |pointer: &str, own: &str, placed: &DocumentNode| {
                forget_origins(pointer, origins);
                // A value from `copy` was already in the document, so origins are recorded only for values
                // from `update`.
                if action.get("update").is_some() {
                    self.record_origins(pointer, own, placed, origins);
                }
            };
            for pointer in &pointers {
                if let Some(node) = node_mut(document, pointer)
                    && merge_update(node, &value, true, (pointer, &own), &mut on_change)
                {
                    changed = true;
                    if let Some(copy) = mirror.pointer_mut(pointer) {
                        *copy = node.to_json().to_value();
                    }
                }
            }
            if !changed {
                return Err(format!("the update of `{target}` changes nothing"));
            }
        }
        let what = action.get("description").and_then(DocumentNode::as_str).unwrap_or(target).to_owned();
        let how = if removes { "removed" } else { "updated" };
        Ok(OverlayEdit { file: self.name.to_owned(), what, how, places: spots })
    }

    /// Records the origins of an inserted value and of all values in it. `pointer` is its location in the
    /// document, and `own` that in the overlay.
    fn record_origins(&self, pointer: &str, own: &str, placed: &DocumentNode, origins: &mut OverlayOrigins) {
        let place = DocumentLocation { source: self.source, pointer: own.to_owned(), span: placed.span };
        origins.insert(pointer.to_owned(), place);
        for member in placed.members() {
            self.record_origins(
                &join_token(pointer, &member.key),
                &join_token(own, &member.key),
                &member.value,
                origins,
            );
        }
        for (at, element) in placed.elements().iter().enumerate() {
            let at = at.to_string();
            self.record_origins(&join_token(pointer, &at), &join_token(own, &at), element, origins);
        }
    }

    fn apply_merge_patch(
        &self,
        id: SourceId,
        document: &mut DocumentNode,
        origins: &mut OverlayOrigins,
        problems: &mut Diagnostics,
    ) -> Option<OverlayEdit> {
        let mut places = Vec::new();
        let mut idle = Vec::new();
        merge_patch(document, self.tree, String::new(), &mut |pointer, span, applies| {
            let place = DocumentLocation { source: if applies { id } else { self.source }, pointer, span };
            if applies { places.push(place) } else { idle.push(place) }
        });
        for place in &places {
            forget_origins(&place.pointer, origins);
            if let Some(placed) = self.tree.resolve_pointer(&place.pointer) {
                self.record_origins(&place.pointer, &place.pointer, placed, origins);
            }
        }
        for place in idle {
            let message = "the merge patch changes nothing here";
            problems.push(
                Diagnostic::error("overlay", message)
                    .with_place(place)
                    .help("remove this part from the patch"),
            );
        }
        (!places.is_empty()).then(|| OverlayEdit {
            file: self.name.to_owned(),
            what: "merge patch".to_owned(),
            how: "updated",
            places,
        })
    }

    fn diagnostic(&self, message: impl Into<String>, pointer: &str, at: &DocumentNode) -> Diagnostic {
        let place = DocumentLocation { source: self.source, pointer: pointer.to_owned(), span: at.span };
        Diagnostic::error("overlay", message).with_place(place)
    }
}

/// Returns the distinct JSON Pointers that a JSONPath selects, in the order in which they are selected.
fn select_pointers(mirror: &serde_json::Value, path: &str) -> Result<Vec<String>, String> {
    let parsed = JsonPath::parse(path).map_err(|error| format!("invalid JSONPath `{path}`: {error}"))?;
    let mut seen = HashSet::new();
    let found = parsed.query_located(mirror);
    let pointers = found.locations().map(|location| location.to_json_pointer());
    Ok(pointers.filter(|pointer| seen.insert(pointer.clone())).collect())
}

/// Returns an error message for a JSONPath that selects nothing. If the path leads through a `$ref`, which overlays do not
/// follow, the message names it and its target.
fn describe_empty_selection(mirror: &serde_json::Value, path: &str) -> String {
    let plain = format!("`{path}` selects nothing");
    let Some((pointer, target)) = find_reference_on_path(mirror, path) else { return plain };
    format!(
        "{plain}, because overlays do not follow the `$ref` at `{pointer}`; select its target `{target}` instead"
    )
}

/// Returns the pointer and the target of a `$ref` at the end of the longest start of a JSONPath that selects something,
/// or directly below it.
fn find_reference_on_path(mirror: &serde_json::Value, path: &str) -> Option<(String, String)> {
    let mut ends = segment_starts(path);
    while let Some(end) = ends.pop() {
        let Ok(selected) = select_pointers(mirror, path.get(..end)?) else { continue };
        if selected.is_empty() {
            continue;
        }
        let reference = |pointer: &String| {
            let target = mirror.pointer(pointer)?.get("$ref")?.as_str()?;
            Some((pointer.clone(), target.to_owned()))
        };
        let below = |pointer: &String| {
            let children: Vec<String> = match mirror.pointer(pointer)? {
                serde_json::Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
                serde_json::Value::Object(members) => members.keys().cloned().collect(),
                _ => return None,
            };
            children.iter().find_map(|child| reference(&join_token(pointer, child)))
        };
        return selected.iter().find_map(reference).or_else(|| selected.iter().find_map(below));
    }
    None
}

/// Returns the positions at which the segments of a JSONPath start.
fn segment_starts(path: &str) -> Vec<usize> {
    let (mut starts, mut depth, mut quote, mut escaped) = (Vec::new(), 0_usize, None, false);
    for (at, letter) in path.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) => quote = Some(open).filter(|open| *open != letter),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[' | '(') => {
                if depth == 0 {
                    starts.push(at);
                }
                depth += 1;
            }
            (None, ']' | ')') => depth = depth.saturating_sub(1),
            (None, '.') if depth == 0 && !path.get(..at).is_some_and(|before| before.ends_with('.')) => {
                starts.push(at)
            }
            _ => {}
        }
    }
    starts
}

/// Returns the value that the JSONPath of `copy` selects, or an error message if it does not select exactly
/// one.
fn select_copy_source(
    document: &DocumentNode,
    mirror: &serde_json::Value,
    path: &str,
) -> Result<DocumentNode, String> {
    match select_pointers(mirror, path)?.as_slice() {
        [one] => document.resolve_pointer(one).cloned().ok_or_else(|| format!("`{path}` selects nothing")),
        [] => Err(describe_empty_selection(mirror, path)),
        several => Err(format!("`{path}` selects {} values, but `copy` takes one", several.len())),
    }
}

fn place_at(source: SourceId, document: &DocumentNode, pointer: &str) -> DocumentLocation {
    let span = document.resolve_pointer(pointer).map_or(Span::default(), |tree| tree.span);
    DocumentLocation { source, pointer: pointer.to_owned(), span }
}

fn node_mut<'t>(document: &'t mut DocumentNode, pointer: &str) -> Option<&'t mut DocumentNode> {
    let mut here = document;
    for token in contract_runtime::pointer::split_tokens(pointer)? {
        let token = contract_runtime::pointer::unescape_token(token)?;
        here = match &mut here.value {
            NodeValue::Object(members) => &mut members.iter_mut().find(|member| member.key == token)?.value,
            NodeValue::Array(elements) => {
                elements.get_mut(contract_runtime::pointer::parse_index(&token)?)?
            }
            _ => return None,
        };
    }
    Some(here)
}

/// Removes the values at these pointers from the document and the mirror. The error is the pointer of a value
/// that cannot be removed.
///
/// Values are removed from the end of the document, so that the remaining indexes stay valid and nested
/// values are removed before the values that contain them.
fn remove_all(
    document: &mut DocumentNode,
    mirror: &mut serde_json::Value,
    pointers: &[String],
    origins: &mut OverlayOrigins,
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
        if !(remove_node(document, pointer) && remove_from_mirror(mirror, pointer)) {
            return Err(pointer.clone());
        }
        forget_origins(pointer, origins);
        if let Some((around, at)) = parent_list(document, pointer) {
            // Elements are removed from last to first, so the last entry that is inserted for a list is the
            // smallest index.
            lists.insert(around, at);
        }
    }
    for (around, first) in lists {
        // The origins of elements after a removed one are dropped, because their indexes change.
        let moves = |each: &str| {
            let token = each.get(around.len() + 1..)?.split('/').next()?;
            Some(contract_runtime::pointer::parse_index(token)? >= first)
        };
        for each in origins_within(around, origins).into_iter().filter(|each| moves(each) == Some(true)) {
            origins.remove(&each);
        }
    }
    Ok(())
}

/// If the pointer is that of an array element, returns the pointer of the array and the index of the element.
fn parent_list<'p>(document: &mut DocumentNode, pointer: &'p str) -> Option<(&'p str, usize)> {
    let (around, token) = split_last_token(pointer)?;
    let is_list = matches!(node_mut(document, around)?.value, NodeValue::Array(_));
    Some((around, contract_runtime::pointer::parse_index(&token).filter(|_| is_list)?))
}

/// Removes the recorded origins of the value at `pointer` and of all values in it.
fn forget_origins(pointer: &str, origins: &mut OverlayOrigins) {
    origins.remove(pointer);
    for each in origins_within(pointer, origins) {
        origins.remove(&each);
    }
}

/// Returns the pointers of all values that overlays inserted inside the value at `pointer`.
fn origins_within(pointer: &str, origins: &OverlayOrigins) -> Vec<String> {
    let start = format!("{pointer}/");
    let inside = origins.range(start.clone()..).take_while(|(each, _)| each.starts_with(&start));
    inside.map(|(each, _)| each.clone()).collect()
}

/// Removes a value from the document. Returns false if the value does not exist.
fn remove_node(document: &mut DocumentNode, pointer: &str) -> bool {
    let Some((around, token)) = split_last_token(pointer) else { return false };
    match node_mut(document, around).map(|tree| &mut tree.value) {
        Some(NodeValue::Object(members)) => {
            let at = members.iter().position(|member| member.key == token);
            at.map(|at| members.remove(at)).is_some()
        }
        Some(NodeValue::Array(elements)) => {
            let at = contract_runtime::pointer::parse_index(&token).filter(|at| *at < elements.len());
            at.map(|at| elements.remove(at)).is_some()
        }
        _ => false,
    }
}

/// Removes a value from the `serde_json` copy of the document. Returns false if the value does not exist.
fn remove_from_mirror(mirror: &mut serde_json::Value, pointer: &str) -> bool {
    let Some((around, token)) = split_last_token(pointer) else { return false };
    match mirror.pointer_mut(around) {
        Some(serde_json::Value::Object(members)) => members.remove(&*token).is_some(),
        Some(serde_json::Value::Array(elements)) => {
            let at = contract_runtime::pointer::parse_index(&token).filter(|at| *at < elements.len());
            at.map(|at| elements.remove(at)).is_some()
        }
        _ => false,
    }
}

/// Splits a pointer into the pointer of the parent and the unescaped last token.
fn split_last_token(pointer: &str) -> Option<(&str, Cow<'_, str>)> {
    let (around, token) = pointer.rsplit_once('/')?;
    Some((around, contract_runtime::pointer::unescape_token(token)?))
}

/// Returns the class of a selected value. Objects are merged, arrays are appended to, and single values are
/// replaced.
fn merge_class(node: &DocumentNode) -> &'static str {
    match node.value {
        NodeValue::Object(_) => "objects",
        NodeValue::Array(_) => "arrays",
        _ => "single values",
    }
}

/// Checks that an update has a type that can be merged into the target (Overlay 1.1, 4.4.3).
fn check_mergeable(
    target: &DocumentNode,
    value: &DocumentNode,
    is_target: bool,
    pointer: &str,
) -> Result<(), String> {
    match (&target.value, &value.value) {
        (NodeValue::Object(_), NodeValue::Object(more)) => more.iter().try_for_each(|member| {
            target.get(&member.key).map_or(Ok(()), |known| {
                check_mergeable(known, &member.value, false, &join_token(pointer, &member.key))
            })
        }),
        (NodeValue::Array(elements), NodeValue::Array(more)) => check_new_elements(elements, more, pointer),
        (NodeValue::Array(elements), _) if is_target => {
            check_new_elements(elements, std::slice::from_ref(value), pointer)
        }
        (NodeValue::Array(_) | NodeValue::Object(_), _) | (_, NodeValue::Array(_) | NodeValue::Object(_)) => {
            let (old, new) = (target.kind_with_article(), value.kind_with_article());
            let place = if pointer.is_empty() { "the document".to_owned() } else { format!("`{pointer}`") };
            Err(format!("{place} is {old}, but the update is {new}: remove the value first to replace it"))
        }
        _ => Ok(()),
    }
}

/// Returns an error message if an array already contains one of the elements that would be appended to it.
fn check_new_elements(elements: &[DocumentNode], more: &[DocumentNode], pointer: &str) -> Result<(), String> {
    let known: Vec<_> = elements.iter().map(DocumentNode::to_json).collect();
    let Some(duplicate) = more.iter().map(DocumentNode::to_json).find(|each| known.contains(each)) else {
        return Ok(());
    };
    let text: String = duplicate.to_string().chars().take(80).collect();
    Err(format!("`{pointer}` already contains `{text}`: remove it from the update"))
}

/// Updates a value (Overlay 1.1, 4.4.3): merges objects, appends to arrays, and replaces other values.
/// Returns true if the document changed. `on_change` is called for each inserted value, with its pointer in
/// the document and in the overlay.
fn merge_update(
    target: &mut DocumentNode,
    value: &DocumentNode,
    is_target: bool,
    (pointer, own): (&str, &str),
    on_change: &mut dyn FnMut(&str, &str, &DocumentNode),
) -> bool {
    let span = target.span;
    match (&mut target.value, &value.value) {
        (NodeValue::Object(members), NodeValue::Object(more)) => {
            let at: HashMap<String, usize> =
                members.iter().enumerate().map(|(at, known)| (known.key.clone(), at)).collect();
            let mut changed = false;
            for member in more {
                let (pointer, own) = (join_token(pointer, &member.key), join_token(own, &member.key));
                match at.get(&member.key).and_then(|at| members.get_mut(*at)) {
                    Some(known) => {
                        changed |=
                            merge_update(&mut known.value, &member.value, false, (&pointer, &own), on_change);
                    }
                    None => {
                        changed = true;
                        on_change(&pointer, &own, &member.value);
                        let value = with_span(member.value.clone(), span);
                        members.push(ObjectMember { key: member.key.clone(), key_span: span, value });
                    }
                }
            }
            changed
        }
        (NodeValue::Array(elements), NodeValue::Array(more)) => {
            for (at, element) in more.iter().enumerate() {
                on_change(
                    &join_token(pointer, &elements.len().to_string()),
                    &join_token(own, &at.to_string()),
                    element,
                );
                elements.push(with_span(element.clone(), span));
            }
            !more.is_empty()
        }
        // In Overlay 1.0, if the target of an action is an array, an update that is not an array is appended
        // as one element.
        (NodeValue::Array(elements), _) if is_target => {
            on_change(&join_token(pointer, &elements.len().to_string()), own, value);
            elements.push(with_span(value.clone(), span));
            true
        }
        _ => {
            let changed = target.to_json() != value.to_json();
            if changed {
                on_change(pointer, own, value);
            }
            *target = with_span(value.clone(), span);
            changed
        }
    }
}

/// Sets the span of a value and of all values in it to the span of the target, so that the spans are valid in
/// the document.
fn with_span(mut tree: DocumentNode, span: Span) -> DocumentNode {
    tree.span = span;
    match &mut tree.value {
        NodeValue::Array(elements) => {
            *elements = std::mem::take(elements).into_iter().map(|each| with_span(each, span)).collect();
        }
        NodeValue::Object(members) => {
            let each = |member: ObjectMember| ObjectMember {
                key_span: span,
                value: with_span(member.value, span),
                ..member
            };
            *members = std::mem::take(members).into_iter().map(each).collect();
        }
        _ => {}
    }
    tree
}

/// Applies a merge patch (RFC 7396). `on_change` is called for each value that the patch sets or removes,
/// with its pointer and a span. The flag is false if the patch has no effect on the value.
fn merge_patch(
    target: &mut DocumentNode,
    patch: &DocumentNode,
    pointer: String,
    on_change: &mut dyn FnMut(String, Span, bool),
) {
    let span = target.span;
    let (NodeValue::Object(members), NodeValue::Object(parts)) = (&mut target.value, &patch.value) else {
        let value = patch_value(patch, span);
        let applies = target.to_json() != value.to_json();
        on_change(pointer, if applies { span } else { patch.span }, applies);
        *target = value;
        return;
    };
    if parts.is_empty() {
        on_change(pointer.clone(), patch.span, false);
    }
    let at: HashMap<String, usize> =
        members.iter().enumerate().map(|(at, known)| (known.key.clone(), at)).collect();
    let mut removed_keys = HashSet::new();
    for part in parts {
        let here = join_token(&pointer, &part.key);
        match (at.get(&part.key).copied(), &part.value.value) {
            (Some(at), NodeValue::Null) => {
                on_change(here, members.get(at).map_or(span, |member| member.value.span), true);
                removed_keys.insert(part.key.as_str());
            }
            (None, NodeValue::Null) => on_change(here, part.value.span, false),
            (Some(at), _) => {
                if let Some(member) = members.get_mut(at) {
                    merge_patch(&mut member.value, &part.value, here, on_change);
                }
            }
            (None, _) => {
                on_change(here, span, true);
                let value = patch_value(&part.value, span);
                members.push(ObjectMember { key: part.key.clone(), key_span: span, value });
            }
        }
    }
    members.retain(|member| !removed_keys.contains(member.key.as_str()));
}

/// Returns the value that results from a patch if the document contains no object at this location. `null`
/// members only remove values, so they are dropped.
fn patch_value(patch: &DocumentNode, span: Span) -> DocumentNode {
    let value = match &patch.value {
        NodeValue::Object(parts) => {
            let kept = parts.iter().filter(|part| part.value.value != NodeValue::Null);
            let member = |part: &ObjectMember| ObjectMember {
                key: part.key.clone(),
                key_span: span,
                value: patch_value(&part.value, span),
            };
            NodeValue::Object(kept.map(member).collect())
        }
        _ => return with_span(patch.clone(), span),
    };
    DocumentNode { value, span }
}

#[cfg(test)]
mod tests;
