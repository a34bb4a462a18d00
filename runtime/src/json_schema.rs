//! [`schemars`] schemas of generated types, derived from the tables that validate the types. A program that
//! embeds a generated type in its own schema therefore publishes the constraints of the contract.
//!
//! The schema of a type accepts exactly the documents that the contract's schema accepts, with two
//! exceptions, which are documented in a `$comment`. First, `serde_json` cannot represent some numbers
//! without its feature `arbitrary_precision`. The schema then accepts more documents, never fewer: a `not`, a
//! `oneOf` or an `if` over such a number is widened as well. Second, a `format` that the contract asserts has
//! an effect only in validators that assert formats. Most validators treat it as an annotation, even below
//! `not`.
//!
//! A `$dynamicRef` is replaced by a `$ref` to its resolved target. Schemas that reach a `$dynamicRef` are
//! written once for each resolution.

mod exactness;
mod writer;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

#[doc(hidden)]
pub use schemars::{JsonSchema, Schema, SchemaGenerator};

use self::writer::{DynamicAnchors, SchemaWriter};
use crate::{
    Json, Map, Nullable, Number, Secret,
    schema::{SchemaId, SchemaTables},
};

/// A function that adds a named schema to a generator and returns a reference to it.
pub type SubschemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The keywords of one schema that do not affect validation, such as `title` and `deprecated`.
#[derive(Debug, Clone, Copy)]
pub struct SchemaAnnotations {
    /// The annotated schema.
    pub schema: SchemaId,
    /// String annotations: `title`, `description`, `format`, `contentEncoding`, `contentMediaType`.
    pub texts: &'static [(&'static str, &'static str)],
    /// The names of boolean annotations that are `true`: `deprecated`, `readOnly`, `writeOnly`.
    pub flags: &'static [&'static str],
}

/// The `description` next to the `$ref` of an object member.
#[derive(Debug, Clone, Copy)]
pub struct MemberDescription {
    /// The schema that declares the member.
    pub schema: SchemaId,
    /// The name of the member.
    pub member: &'static str,
    /// The value of `description`.
    pub description: &'static str,
}

/// The schemas of a contract for [`schemars`], emitted as a constant of generated code.
#[derive(Debug)]
pub struct PublishedSchemas {
    /// The tables of all schemas.
    pub tables: &'static SchemaTables<'static>,
    /// The schemas that are referenced by name, sorted by id. Every reference cycle contains one of them.
    pub named: &'static [(SchemaId, SubschemaFn)],
    /// The annotations, sorted by schema.
    pub annotations: &'static [SchemaAnnotations],
    /// The descriptions of members, sorted by schema and member.
    pub members: &'static [MemberDescription],
    /// The schemas that reach a `$dynamicRef`, sorted by id.
    pub dynamic: &'static [SchemaId],
}

impl PublishedSchemas {
    /// Returns the schema of a type, given its row in the tables. `id` identifies the type among all types.
    pub fn schema(&self, row: SchemaId, id: &str, generator: &mut SchemaGenerator) -> Schema {
        let mut names =
            DefinitionNames { published: self, generator, own: Vec::new(), prefix: id.replace("::", ".") };
        let Self { tables, annotations, members, .. } = *self;
        let writer = SchemaWriter { tables, annotations, members };
        let root =
            writer.write_schema(row, &DynamicAnchors::for_root(self.tables, row), &mut |row, meaning| {
                names.reference_to(row, meaning)
            });
        // The list may grow during the iteration.
        let mut at = 0;
        while let Some((row, meaning)) = names.own.get(at).cloned() {
            let schema =
                writer.write_schema(row, &meaning, &mut |row, meaning| names.reference_to(row, meaning));
            let name = names.own_name(at);
            names.generator.definitions_mut().insert(name, schema);
            at += 1;
        }
        Schema::try_from(root).unwrap_or_default()
    }
}

/// Returns a schema of the tables as a self-contained document. Each row that it reaches becomes a definition
/// whose name is a number.
#[must_use]
pub fn schema_document(tables: &SchemaTables<'_>, row: SchemaId) -> serde_json::Value {
    let writer = SchemaWriter { tables, annotations: &[], members: &[] };
    let mut reached = vec![(row, DynamicAnchors::for_root(tables, row))];
    let mut definitions = serde_json::Map::new();
    let mut at = 0;
    while let Some((row, meaning)) = reached.get(at).cloned() {
        let schema = writer.write_schema(row, &meaning, &mut |row, meaning| {
            let next = (row, meaning.with_resource(tables, row));
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

/// A helper that assigns names to the definitions that schemas refer to.
struct DefinitionNames<'a> {
    published: &'a PublishedSchemas,
    generator: &'a mut SchemaGenerator,
    /// Definitions that are specific to this type, because their `$dynamicRef`s have different targets in
    /// this type.
    own: Vec<(SchemaId, DynamicAnchors<'static>)>,
    prefix: String,
}

impl DefinitionNames<'_> {
    /// Returns a reference to a named schema, or `None` for a schema that is written inline.
    fn reference_to(
        &mut self,
        row: SchemaId,
        meaning: &DynamicAnchors<'static>,
    ) -> Option<serde_json::Value> {
        let PublishedSchemas { tables, named, dynamic, .. } = *self.published;
        let at = named.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        let (_, reference) = named.get(at)?;
        let key = (row, meaning.with_resource(tables, row));
        if dynamic.binary_search(&row).is_err() || key.1 == DynamicAnchors::for_root(tables, row) {
            return Some(reference(self.generator).to_value());
        }
        let at = self.own.iter().position(|known| *known == key).unwrap_or_else(|| {
            self.own.push(key);
            self.own.len() - 1
        });
        let path = &self.generator.settings().definitions_path;
        Some(serde_json::json!({ "$ref": format!("#{path}/{}", self.own_name(at)) }))
    }

    fn own_name(&self, at: usize) -> String {
        format!("{}.{}", self.prefix, at + 1)
    }
}

/// Returns the schema of a closed enumeration of strings.
pub fn closed_enum_schema(values: &mut dyn Iterator<Item = &str>) -> Schema {
    schemars::json_schema!({ "type": "string", "enum": values.collect::<Vec<_>>() })
}

/// Returns the schema of a string with a format.
pub fn format_schema(name: &str) -> Schema {
    schemars::json_schema!({ "type": "string", "format": name })
}

/// Returns the schema of an open enumeration, which accepts any string and lists the known values as
/// examples.
pub fn open_enum_schema(values: &mut dyn Iterator<Item = &str>) -> Schema {
    schemars::json_schema!({ "type": "string", "examples": values.collect::<Vec<_>>() })
}

/// Implements `JsonSchema` for a type of this crate by delegation to an equivalent type.
macro_rules! delegate_schema {
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

delegate_schema! {
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
