//! The schemas of generated types as [`schemars`] wants them, written from the tables that check
//! the types: whoever embeds a type in a schema of their own publishes what its contract says.
//!
//! A type's schema accepts exactly what the contract's does. A number that `serde_json` cannot hold
//! without its feature `arbitrary_precision` makes it accept more, and never less: a `not`, a `oneOf`
//! or an `if` over such a number is widened as well. A `format` that the contract asserts is one for
//! readers that assert formats; most take it for an annotation, below `not` too. A `$comment` says so
//! where either is the case.
//!
//! `$dynamicRef` is written as what it comes to: the schemas that it reaches stand once for each
//! meaning that they have.

mod held;
mod write;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

#[doc(hidden)]
pub use schemars::{JsonSchema, Schema, SchemaGenerator};

use self::write::{Meaning, Writer};
use crate::{
    Json, Map, Nullable, Number, Secret,
    schema::{SchemaId, Tables},
};

/// What a schema is called where others refer to it.
pub type Reference = fn(&mut SchemaGenerator) -> Schema;

/// What a contract says of a schema beside its rules.
#[derive(Debug, Clone, Copy)]
pub struct Annotations {
    /// The schema.
    pub schema: SchemaId,
    /// `title`, `description`, `format`, `contentEncoding`, `contentMediaType`.
    pub texts: &'static [(&'static str, &'static str)],
    /// Those of `deprecated`, `readOnly` and `writeOnly` that are `true`.
    pub flags: &'static [&'static str],
}

/// What a contract says of a member beside a reference that is all else it says.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// The schema that has the member.
    pub schema: SchemaId,
    /// The name of the member.
    pub member: &'static str,
    /// `description`.
    pub description: &'static str,
}

/// The schemas of a contract, for [`schemars`]; a constant of generated code.
#[derive(Debug)]
pub struct Published {
    /// All of them.
    pub tables: &'static Tables<'static>,
    /// Those that others refer to by a name, sorted. Every circle passes through one of them.
    pub named: &'static [(SchemaId, Reference)],
    /// What else is said, sorted.
    pub annotations: &'static [Annotations],
    /// And of members, sorted by schema and member.
    pub members: &'static [Described],
    /// Those from which a `$dynamicRef` is reached, sorted.
    pub dynamic: &'static [SchemaId],
}

impl Published {
    /// The schema of a type, by its row. `id` is the type's own among all types.
    pub fn schema(&self, row: SchemaId, id: &str, generator: &mut SchemaGenerator) -> Schema {
        let mut names = Names { published: self, generator, own: Vec::new(), prefix: id.replace("::", ".") };
        let Self { tables, annotations, members, .. } = *self;
        let writer = Writer { tables, annotations, members };
        let root =
            writer.schema(row, &Meaning::of(self.tables, row), &mut |row, meaning| names.name(row, meaning));
        // The list grows while it is worked through.
        let mut at = 0;
        while let Some((row, meaning)) = names.own.get(at).cloned() {
            let schema = writer.schema(row, &meaning, &mut |row, meaning| names.name(row, meaning));
            let name = names.of_own(at);
            names.generator.definitions_mut().insert(name, schema);
            at += 1;
        }
        Schema::try_from(root).unwrap_or_default()
    }
}

/// A schema of some tables as one document, whatever is made of it: each row that it reaches has a
/// definition, named by its number.
#[must_use]
pub fn document(tables: &Tables<'_>, row: SchemaId) -> serde_json::Value {
    let writer = Writer { tables, annotations: &[], members: &[] };
    let mut reached = vec![(row, Meaning::of(tables, row))];
    let mut definitions = serde_json::Map::new();
    let mut at = 0;
    while let Some((row, meaning)) = reached.get(at).cloned() {
        let schema = writer.schema(row, &meaning, &mut |row, meaning| {
            let next = (row, meaning.entered(tables, row));
            let at = reached.iter().position(|known| *known == next).unwrap_or_else(|| {
                reached.push(next);
                reached.len() - 1
            });
            Some(serde_json::json!({ "$ref": format!("#/$defs/{at}") }))
        });
        definitions.insert(at.to_string(), schema);
        at += 1;
    }
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/0",
        "$defs": definitions,
    })
}

/// Names for what schemas refer to.
struct Names<'a> {
    published: &'a Published,
    generator: &'a mut SchemaGenerator,
    /// What has a name of this type's making, since it means something of its own here.
    own: Vec<(SchemaId, Meaning<'static>)>,
    prefix: String,
}

impl Names<'_> {
    /// A reference to a schema with a name; nothing for one that is written where it is asked for.
    fn name(&mut self, row: SchemaId, meaning: &Meaning<'static>) -> Option<serde_json::Value> {
        let Published { tables, named, dynamic, .. } = *self.published;
        let at = named.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        let (_, reference) = named.get(at)?;
        let key = (row, meaning.entered(tables, row));
        if dynamic.binary_search(&row).is_err() || key.1 == Meaning::of(tables, row) {
            return Some(reference(self.generator).to_value());
        }
        let at = self.own.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.own.push(key);
            self.own.len() - 1
        });
        let path = &self.generator.settings().definitions_path;
        Some(serde_json::json!({ "$ref": format!("#{path}/{}", self.of_own(at)) }))
    }

    fn of_own(&self, at: usize) -> String {
        format!("{}.{}", self.prefix, at + 1)
    }
}

/// The schema of an enumeration that is its values.
pub fn closed(values: &mut dyn Iterator<Item = &str>) -> Schema {
    schemars::json_schema!({ "type": "string", "enum": values.collect::<Vec<_>>() })
}

/// The schema of a text of a format.
pub fn format(name: &str) -> Schema {
    schemars::json_schema!({ "type": "string", "format": name })
}

/// The schema of an enumeration that keeps other texts, too.
pub fn open(values: &mut dyn Iterator<Item = &str>) -> Schema {
    schemars::json_schema!({ "type": "string", "examples": values.collect::<Vec<_>>() })
}

/// `JsonSchema` for a type of the runtime that is written as another one is.
macro_rules! as_another {
    ($($type:ty => $other:ty $(where $parameter:ident)?;)*) => {$(
        impl$(<$parameter: JsonSchema>)? JsonSchema for $type {
            fn inline_schema() -> bool {
                <$other>::inline_schema()
            }
            fn schema_name() -> Cow<'static, str> {
                <$other>::schema_name()
            }
            fn schema_id() -> Cow<'static, str> {
                <$other>::schema_id()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$other>::json_schema(generator)
            }
        }
    )*};
}

as_another! {
    Secret => String;
    Map<T> => std::collections::BTreeMap<String, T> where T;
    Nullable<T> => Option<T> where T;
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Json")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Number")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "number" })
    }
}
