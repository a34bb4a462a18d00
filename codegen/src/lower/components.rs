//! The components of the lowered document: one for each Rust type that operations mention.
//!
//! Keyed by type and not by schema: progenitor allows one type for all refusals of an
//! operation and compares components, so that the same type under two names would be two.

use std::collections::BTreeMap;

use heck::ToPascalCase;
use proc_macro2::TokenStream;
use serde_json::{Map, Value, json};

use crate::schema::{Graph, SchemaId};

/// A component and the type that replaces it.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its key in `components/schemas`.
    pub key: String,
    /// Our type.
    pub rust_type: TokenStream,
    /// The first schema that has this type; `None` for any JSON.
    pub schema: Option<SchemaId>,
}

/// All components, in the order of their first mention.
#[derive(Clone, Debug, Default)]
pub struct Components {
    list: Vec<Component>,
    by_type: BTreeMap<String, usize>,
}

impl Components {
    /// Each component.
    pub fn iter(&self) -> std::slice::Iter<'_, Component> {
        self.list.iter()
    }

    /// The component of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Component> {
        self.list.iter().find(|component| component.key == key)
    }

    /// The name that stands for a component in progenitor's output. Not the type itself,
    /// since progenitor takes paths alone and a type may be a tuple.
    #[must_use]
    pub fn placeholder(index: usize) -> String {
        format!("Lowered{index}")
    }

    /// The component behind a name in progenitor's output.
    #[must_use]
    pub fn behind(&self, placeholder: &str) -> Option<&Component> {
        self.list.get(placeholder.strip_prefix("Lowered")?.parse::<usize>().ok()?)
    }

    pub(super) fn key(&mut self, rust_type: TokenStream, schema: Option<SchemaId>) -> String {
        let text = rust_type.to_string().replace(' ', "");
        if let Some(&index) = self.by_type.get(&text) {
            return self.list[index].key.clone();
        }
        let key = self.free(&text);
        self.by_type.insert(text, self.list.len());
        self.list.push(Component { key: key.clone(), rust_type, schema });
        key
    }

    pub(super) fn document(&self, graph: &Graph) -> Value {
        let schema = |component: &Component| {
            let rust_type = component.rust_type.to_string().replace(' ', "");
            match component.schema {
                Some(id) => {
                    json!({ "description": format!("`{rust_type}`, {}", graph.location(id)) })
                }
                None => json!({ "description": format!("`{rust_type}`, any JSON") }),
            }
        };
        let members = self.list.iter().map(|component| (component.key.clone(), schema(component)));
        Value::Object(members.collect::<Map<_, _>>())
    }

    /// The type's own name where it has one and progenitor leaves it as it is: it looks
    /// replacements up by the name in its own spelling, and a miss would generate a type.
    fn free(&self, text: &str) -> String {
        let name = text.rsplit("::").next().unwrap_or(text);
        let plain =
            name.chars().all(|character| character.is_ascii_alphanumeric()) && name.to_pascal_case() == name;
        let base = if plain { name } else { "Type" };
        let taken = |key: &str| self.list.iter().any(|component| component.key == key);
        if plain && !taken(base) {
            return base.to_owned();
        }
        let number = (2..).find(|number| !taken(&format!("{base}{number}"))).unwrap_or(0);
        format!("{base}{number}")
    }
}
