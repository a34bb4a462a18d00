//! The components of the lowered document: one for each type that operations mention, and for each
//! schema that those refer to.
//!
//! Keyed by type and not by schema: progenitor allows one type for all refusals of an
//! operation and compares components, so that the same type under two names would be two.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToPascalCase;
use serde_json::{Map, Value};

use crate::{
    schema::{Graph, Origin, SchemaId},
    shape::{Shapes, TypeRef, text},
};

/// A component and the type that replaces it.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its key in `components/schemas`.
    pub key: String,
    /// What it is written for.
    pub(super) of: Subject,
    /// Its schema.
    pub(super) schema: Value,
}

/// What a component stands for: a type, or a schema that has none to itself.
pub(super) type Subject = (TypeRef, Option<SchemaId>);

/// All components, in the order of their first mention.
#[derive(Clone, Debug, Default)]
pub struct Components {
    list: Vec<Component>,
    by_subject: BTreeMap<Subject, usize>,
    taken: BTreeSet<String>,
    /// The last number of each name that several have.
    numbers: BTreeMap<String, usize>,
}

impl Components {
    /// Each component.
    pub fn iter(&self) -> std::slice::Iter<'_, Component> {
        self.list.iter()
    }

    pub(super) fn key(&mut self, graph: &Graph, shapes: &Shapes, of: Subject) -> String {
        if let Some(&index) = self.by_subject.get(&of) {
            return self.list[index].key.clone();
        }
        let rust_type = text(shapes, &of.0);
        let named = of.1.and_then(|id| match &graph.schema(id).origin {
            Origin::Root(name) | Origin::Definition(name) | Origin::Component(name) => {
                Some(name.to_pascal_case())
            }
            Origin::Inline => None,
        });
        let key = self.free(named.as_deref().unwrap_or(&rust_type));
        self.by_subject.insert(of.clone(), self.list.len());
        self.list.push(Component { key: key.clone(), of, schema: Value::Null });
        key
    }

    /// What the component at an index stands for; `None` behind the last.
    pub(super) fn subject(&self, index: usize) -> Option<&Subject> {
        self.list.get(index).map(|component| &component.of)
    }

    pub(super) fn write(&mut self, index: usize, schema: Value) {
        if let Some(component) = self.list.get_mut(index) {
            component.schema = schema;
        }
    }

    pub(super) fn document(&self) -> Value {
        let members = self.list.iter().map(|component| (component.key.clone(), component.schema.clone()));
        Value::Object(members.collect::<Map<_, _>>())
    }

    /// The type's own name where it has one and progenitor leaves it as it is: it looks
    /// replacements up by the name in its own spelling, and a miss would generate a type.
    fn free(&mut self, name: &str) -> String {
        let plain =
            name.chars().all(|character| character.is_ascii_alphanumeric()) && name.to_pascal_case() == name;
        let base = if plain { name } else { "Type" };
        if plain && self.taken.insert(base.to_owned()) {
            return base.to_owned();
        }
        let number = self.numbers.entry(base.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let key = format!("{base}{number}");
            if self.taken.insert(key.clone()) {
                return key;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_where_several_want_one() {
        let mut components = Components::default();
        let keys =
            ["Ship", "a_b", "Ship", "Type2", "Vec<Ship>", "Ship3", "Ship"].map(|name| components.free(name));
        assert_eq!(keys, ["Ship", "Type2", "Ship2", "Type22", "Type3", "Ship3", "Ship4"]);
        // Thousands of one name are not counted anew each time.
        for _ in 1..20_000 {
            let _ = components.free("Json");
        }
        assert_eq!(components.free("Json"), "Json20000");
    }
}
