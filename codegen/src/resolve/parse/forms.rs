//! Readers of keyword values: schemas, counts, names, types.

use std::collections::HashSet;

use contract_runtime::{Json, Number};

use crate::{
    diagnostics::Diagnostic,
    schema::{Schema, SchemaId, Types, keywords::Draft},
    tree::{Member, Place, Tree, Value, join},
};

use super::{
    super::{
        UnknownKeywords,
        discover::{Node, is_schema},
        suggest::nearest,
    },
    Parser,
};

impl<'t> Parser<'_, 't> {
    pub(super) fn id_at(&self, node: &Node<'t>, pointer: &str) -> Option<SchemaId> {
        let known = self.discovery.schemas.get(node.source.0 as usize)?;
        self.ids.get(*known.get(pointer)?).copied()
    }

    pub(super) fn child(&mut self, node: &Node<'t>, member: &Member) -> Option<SchemaId> {
        if !is_schema(&member.value) {
            self.wrong(node, member, "a schema (an object or a boolean)");
            return None;
        }
        self.id_at(node, &join(&node.pointer, &member.key))
    }

    pub(super) fn list(&mut self, node: &Node<'t>, member: &Member) -> Vec<SchemaId> {
        let elements = member.value.elements();
        if elements.is_empty() {
            self.wrong(node, member, "an array of at least one schema");
        }
        let here = join(&node.pointer, &member.key);
        (0..elements.len()).filter_map(|at| self.id_at(node, &format!("{here}/{at}"))).collect()
    }

    pub(super) fn map(&mut self, node: &Node<'t>, member: &Member) -> Vec<(String, SchemaId)> {
        if !member.value.is_object() {
            self.wrong(node, member, "an object of schemas");
        }
        let here = join(&node.pointer, &member.key);
        let members = member.value.members().iter();
        members
            .filter_map(|each| Some((each.key.clone(), self.id_at(node, &join(&here, &each.key))?)))
            .collect()
    }

    pub(super) fn items(&mut self, node: &Node<'t>, member: &Member, schema: &mut Schema) {
        let tuple = matches!(member.value.value, Value::Array(_));
        if tuple && matches!(node.dialect.draft, Draft::Draft2019 | Draft::Draft7) {
            let here = join(&node.pointer, &member.key);
            let count = member.value.elements().len();
            schema.prefix_items =
                (0..count).filter_map(|at| self.id_at(node, &format!("{here}/{at}"))).collect();
        } else {
            schema.items = self.child(node, member);
        }
    }

    pub(super) fn dependencies(&mut self, node: &Node<'t>, member: &Member, schema: &mut Schema) {
        if !member.value.is_object() {
            return self.wrong(node, member, "an object of schemas and arrays of names");
        }
        let here = join(&node.pointer, &member.key);
        for each in member.value.members() {
            let pointer = join(&here, &each.key);
            if let Value::Array(names) = &each.value.value {
                let place = Place { source: node.source, pointer, span: each.value.span };
                let names = self.strings(&place, &member.key, names);
                schema.dependent_required.push((each.key.clone(), names));
            } else if let Some(id) = self.id_at(node, &pointer) {
                schema.dependent_schemas.push((each.key.clone(), id));
            } else {
                let place = Place { source: node.source, pointer, span: each.value.span };
                let message = format!("`{}` must be a schema or an array of names", each.key);
                self.invalid(place, message, None);
            }
        }
    }

    pub(super) fn dependent_required(&mut self, node: &Node<'t>, member: &Member, schema: &mut Schema) {
        if !member.value.is_object() {
            return self.wrong(node, member, "an object of arrays of names");
        }
        let here = join(&node.pointer, &member.key);
        for each in member.value.members() {
            let place = Place { source: node.source, pointer: join(&here, &each.key), span: each.value.span };
            if let Value::Array(names) = &each.value.value {
                let names = self.strings(&place, &member.key, names);
                schema.dependent_required.push((each.key.clone(), names));
            } else {
                let message = format!("`{}` must be an array of names, not {}", each.key, each.value.kind());
                self.invalid(place, message, None);
            }
        }
    }

    pub(super) fn names(&mut self, node: &Node<'t>, member: &Member) -> Vec<String> {
        let Value::Array(names) = &member.value.value else {
            self.wrong(node, member, "an array of names");
            return Vec::new();
        };
        self.strings(&node.place(member), &member.key, names)
    }

    pub(super) fn strings(&mut self, place: &Place, keyword: &str, names: &[Tree]) -> Vec<String> {
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let place =
                Place { pointer: format!("{}/{at}", place.pointer), span: name.span, ..place.clone() };
            match name.as_str() {
                Some(text) if seen.insert(text) => out.push(text.to_owned()),
                Some(text) => {
                    // Not valid (2020-12 validation, 6.5.3), yet there is one thing it can mean.
                    let message = format!("`{text}` is in `{keyword}` twice");
                    let problem = match self.options.unknown_keywords {
                        UnknownKeywords::Deny => Diagnostic::error("invalid-schema", message),
                        _ => Diagnostic::warning("invalid-schema", message),
                    };
                    self.problems.push(problem.at(place).help("name it once"));
                }
                None => {
                    let message = format!("`{keyword}` must hold names, not {}", name.kind());
                    self.invalid(place, message, None);
                }
            }
        }
        out
    }

    pub(super) fn identifier(&mut self, node: &Node<'t>, member: &Member) {
        let Some(text) = self.text(node, member) else { return };
        let fragment = text.split_once('#').map(|(_, fragment)| fragment);
        if fragment.is_some_and(|fragment| !fragment.is_empty()) && node.dialect.draft != Draft::Draft7 {
            let message = "`$id` must have no fragment".to_owned();
            self.invalid(node.place(member), message, Some("name a place with `$anchor`"));
        }
    }

    pub(super) fn anchor(&mut self, node: &Node<'t>, member: &Member) {
        let Some(text) = self.text(node, member) else { return };
        let good = |each: char| each.is_ascii_alphanumeric() || matches!(each, '-' | '_' | '.');
        if !text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            || !text.chars().all(good)
        {
            self.wrong(node, member, "a plain name: letters, digits, `-`, `_`, `.`");
        }
    }

    pub(super) fn text(&mut self, node: &Node<'t>, member: &Member) -> Option<String> {
        let text = member.value.as_str();
        if text.is_none() {
            self.wrong(node, member, "a string");
        }
        text.map(str::to_owned)
    }

    pub(super) fn flag(&mut self, node: &Node<'t>, member: &Member) -> bool {
        let flag = member.value.as_bool();
        if flag.is_none() {
            self.wrong(node, member, "a boolean");
        }
        flag.unwrap_or(false)
    }

    pub(super) fn number(&mut self, node: &Node<'t>, member: &Member) -> Option<Number> {
        let number = member.value.as_number().and_then(|text| Number::parse(text).ok());
        if number.is_none() {
            self.wrong(node, member, "a number");
        }
        number
    }

    pub(super) fn count(&mut self, node: &Node<'t>, member: &Member) -> Option<u64> {
        let number = member.value.as_number().and_then(|text| Number::parse(text).ok());
        let Some(number) = number.filter(|number| number.is_integer() && *number >= Number::int(0)) else {
            self.wrong(node, member, "a whole number of at least 0");
            return None;
        };
        let count = number.as_u64();
        if count.is_none() {
            let message = format!("`{}` is beyond 64 bits", member.key);
            self.problems.push(Diagnostic::error("unsupported", message).at(node.place(member)));
        }
        count
    }

    pub(super) fn types(&mut self, node: &Node<'t>, member: &Member) -> Option<Types> {
        let list = match &member.value.value {
            Value::String(_) => std::slice::from_ref(&member.value),
            Value::Array(names) if !names.is_empty() && node.dialect.draft != Draft::OpenApi30 => {
                names.as_slice()
            }
            Value::Array(_) if node.dialect.draft == Draft::OpenApi30 => {
                self.wrong(node, member, "one type in OpenAPI 3.0");
                return None;
            }
            _ => {
                self.wrong(node, member, "a type or an array of types");
                return None;
            }
        };
        let mut types = Types::default();
        let mut seen = HashSet::new();
        for (at, name) in list.iter().enumerate() {
            let mut place = node.place(member);
            if matches!(member.value.value, Value::Array(_)) {
                place.pointer.push_str(&format!("/{at}"));
                place.span = name.span;
            }
            let found = match name.as_str() {
                Some(text) => {
                    let known = Types::named(text);
                    let known =
                        known.filter(|types| *types != Types::NULL || node.dialect.draft != Draft::OpenApi30);
                    if let Some(types) = known {
                        types
                    } else {
                        let names = Types::NAMED.iter().map(|(_, name)| *name);
                        let near = nearest(text, names).map(|near| format!("did you mean `{near}`?"));
                        let message = format!("`{text}` is not a type of {}", node.dialect.name());
                        self.invalid(place, message, near.as_deref());
                        continue;
                    }
                }
                None => {
                    self.invalid(place, format!("`type` must name types, not {}", name.kind()), None);
                    continue;
                }
            };
            if !seen.insert(name.as_str()) {
                self.invalid(place, "`type` names one type twice".to_owned(), None);
            }
            types = types.or(found);
        }
        // Where no name was understood, any type passes: one problem is enough.
        (!types.is_empty()).then_some(types)
    }

    pub(super) fn enumeration(&mut self, node: &Node<'t>, member: &Member) -> Option<Vec<Json>> {
        let Value::Array(values) = &member.value.value else {
            self.wrong(node, member, "an array of values");
            return None;
        };
        if values.is_empty() {
            let problem = Diagnostic::warning("invalid-schema", "an empty `enum` accepts nothing");
            self.problems.push(problem.at(node.place(member)));
        }
        Some(values.iter().map(Tree::to_json).collect())
    }
}
