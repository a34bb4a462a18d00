//! Generates the documentation of types and fields: the description, the limits in words, and the location of
//! the schema.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    ModelEmitter,
    markdown::{end_sentence, rustdoc_markdown},
    records::visible_fields,
};
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    constraint_text::{describe_default, describe_limits},
    schema::{Schema, SchemaGraph, SchemaId},
    shape::{Shapes, StructField, TypeBody, TypeDef, TypeRef, is_default_path},
};

impl ModelEmitter<'_> {
    /// Generates the documentation and the attributes of a type, except its derives.
    pub(super) fn type_docs(&self, def: &TypeDef) -> TokenStream {
        let schemas: Vec<&Schema> = def.conj.ids.iter().map(|&id| self.graph.schema(id)).collect();
        let described = def.schema.map(|id| self.graph.schema(id)).into_iter().chain(schemas.iter().copied());
        let mut paragraphs = Vec::new();
        let mut described = described.filter(|s| s.title.is_some() || s.description.is_some());
        if let Some(schema) = described.next() {
            paragraphs.extend(schema.title.as_deref().map(end_sentence));
            paragraphs.extend(schema.description.as_deref().map(str::to_owned));
        }
        let from: Vec<String> = def.conj.ids.iter().map(|&id| self.schema_reference(id)).collect();
        let from = from.join(", ");
        let is_described = !paragraphs.is_empty();
        if !is_described {
            paragraphs.push(format!("Generated from {from}."));
        }
        let rules = match &def.body {
            TypeBody::Struct(_) => String::new(),
            TypeBody::Newtype(inner) => self.limits_text(&self.facts_of(&def.conj), inner),
            _ => self.limits_text(&self.facts_of(&def.conj), &TypeRef::Json),
        };
        if !rules.is_empty() {
            paragraphs.push(format!("Limits: {rules}."));
        }
        paragraphs.extend(describe_default(&schemas));
        if is_described {
            paragraphs.push(format!("Schema: {from}."));
        }
        let docs = doc_lines(&paragraphs);
        let deprecated = is_deprecated(self.graph, def).then(deprecated_attribute);
        let mut ids: BTreeSet<SchemaId> = def.conj.ids.iter().copied().collect();
        ids.extend(def.schema);
        let own = self.configured_attributes(ids);
        let everywhere = self.derive_attribute(def);
        quote!(#docs #deprecated #everywhere #own)
    }

    /// Returns the attribute with the derives that are configured for all types (`*`), or `None` if there are
    /// none. `Default` is omitted if the type cannot derive it or already has a generated implementation.
    fn derive_attribute(&self, def: &TypeDef) -> Option<TokenStream> {
        let wanted = |path: &&String| {
            !is_default_path(path) || self.defaults.has_default(&def.body) && !self.has_generated_default(def)
        };
        let paths = self.options?.common_derives.iter().filter(wanted);
        let paths: Vec<TokenStream> = paths.filter_map(|path| path.parse().ok()).collect();
        (!paths.is_empty()).then(|| quote!(#[derive(#(#paths),*)]))
    }

    /// Returns true if the generator derives or implements `Default` for a struct: no field needs a value from
    /// the caller, and the configuration derives it for no schema of the type.
    pub(super) fn has_generated_default(&self, def: &TypeDef) -> bool {
        let TypeBody::Struct(body) = &def.body else { return false };
        let mut ids = def.conj.ids.iter().copied().chain(def.schema);
        let derives = |id| derives_default(&self.configured_attributes([id]).to_string());
        visible_fields(body).all(|field| !field.required || self.default_of(field).is_some())
            && !ids.any(derives)
    }

    /// Returns the attributes that the configuration lists for any of these schemas.
    fn configured_attributes(&self, ids: impl IntoIterator<Item = SchemaId>) -> TokenStream {
        let of = |id: SchemaId| self.options.and_then(|options| options.attributes.get(&id));
        let texts = ids.into_iter().filter_map(of).flatten();
        texts.filter_map(|text| text.parse::<TokenStream>().ok()).collect()
    }

    /// Generates the documentation and the attributes of a field. The description at the property takes
    /// precedence over that of its schema.
    pub(super) fn field_docs(&self, field: &StructField) -> TokenStream {
        let facts = self.facts_of(&field.conj);
        let mut paragraphs = Vec::new();
        let mut candidates: Vec<SchemaId> = field.described_by.into_iter().collect();
        candidates.extend(field.conj.ids.iter().rev());
        candidates.extend(facts.unconditional.iter().rev());
        let text = candidates.iter().find_map(|&id| self.graph.schema(id).description.as_deref());
        let title = candidates.iter().find_map(|&id| self.graph.schema(id).title.as_deref());
        paragraphs.push(match (text, title) {
            (Some(text), _) => text.to_owned(),
            (None, Some(title)) => end_sentence(title),
            (None, None) => format!("The property `{}`.", field.wire),
        });
        let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&m| self.graph.schema(m)).collect();
        // The limits of a named type are in the documentation of that type.
        if !is_named(&field.ty) {
            if let Some(constant) = &field.constant {
                paragraphs.push(format!("Always `{constant}`."));
            }
            let rules = self.limits_text(&facts, &field.ty);
            if !rules.is_empty() {
                paragraphs.push(format!("Limits: {rules}."));
            }
        }
        paragraphs.extend(describe_default(&schemas));
        let docs = doc_lines(&paragraphs);
        let deprecated =
            field.described_by.is_some_and(|id| self.graph.schema(id).deprecated).then(deprecated_attribute);
        // The attributes of a schema with a named type are attached to that type.
        let own = field.described_by.filter(|_| !is_named(&field.ty)).into_iter();
        let own = self.configured_attributes(own);
        quote!(#docs #deprecated #own)
    }

    /// Describes the limits of a value and of its elements in words. Limits of a named type are omitted,
    /// because its own documentation contains them.
    fn limits_text(&self, facts: &SchemaFacts, ty: &TypeRef) -> String {
        let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&m| self.graph.schema(m)).collect();
        let mut words = describe_limits(&schemas);
        let (inner, inside): (&TypeRef, Vec<SchemaId>) = match ty {
            TypeRef::Nullable(inner) => return self.limits_text(facts, inner),
            TypeRef::Vec(inner) => (inner, schemas.iter().filter_map(|s| s.items).collect()),
            TypeRef::Map(inner) => (inner, schemas.iter().filter_map(|s| s.additional_properties).collect()),
            _ => return words,
        };
        if !is_named(inner) && !inside.is_empty() {
            let facts = self.facts_of(&SchemaConjunction::from_schemas(inside));
            let constant = facts.unconditional.iter().find_map(|&m| self.graph.schema(m).constant.as_ref());
            let each = match constant {
                Some(constant) => format!("`{constant}`"),
                None => self.limits_text(&facts, inner),
            };
            if !each.is_empty() {
                if !words.is_empty() {
                    words.push_str("; ");
                }
                words.push_str("each ");
                words.push_str(&each);
            }
        }
        words
    }

    /// Returns the location of a schema as inline code, such as `` `stock-lot.schema.json#/$defs/lotKey` ``.
    fn schema_reference(&self, id: SchemaId) -> String {
        let schema = self.graph.schema(id);
        let uri = &self.graph.resource(schema.resource).uri;
        let file = uri.rsplit('/').next().unwrap_or(uri);
        let pointer =
            if schema.location.is_empty() { String::new() } else { format!("#{}", schema.location) };
        format!("`{file}{pointer}`")
    }
}

/// Returns the attribute that marks a generated item as deprecated.
fn deprecated_attribute() -> TokenStream {
    quote!(#[deprecated = "deprecated by the contract"])
}

/// Returns true if the schema of a named type is deprecated. The type of an inline schema is never
/// deprecated, because other locations may share it; only the field is.
fn is_deprecated(graph: &SchemaGraph, def: &TypeDef) -> bool {
    def.schema.is_some_and(|id| graph.schema(id).deprecated)
}

/// Returns true if any type or field is deprecated. Generated modules must then allow the use of deprecated
/// items.
pub(crate) fn any_deprecated(graph: &SchemaGraph, shapes: &Shapes) -> bool {
    shapes.types.iter().any(|def| {
        is_deprecated(graph, def)
            || matches!(&def.body, TypeBody::Struct(body) if body.fields.iter().any(|field| {
                field.described_by.is_some_and(|id| graph.schema(id).deprecated)
            }))
    })
}

/// Returns true if the type is a generated type with a name of its own, possibly nullable or in a box.
fn is_named(ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Named(_) => true,
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => is_named(inner),
        _ => false,
    }
}

/// Returns true if one of these attributes, printed as tokens, derives a trait named `Default`.
fn derives_default(attributes: &str) -> bool {
    let lists = attributes.split("derive").skip(1).filter_map(|rest| {
        let (list, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
        Some(list)
    });
    let mut paths = lists.flat_map(|list| list.split(','));
    paths.any(|path| path.rsplit("::").next().is_some_and(|name| name.trim() == "Default"))
}

/// Returns `#[doc]` attributes for paragraphs of Markdown. Anything that rustdoc would misinterpret is
/// escaped.
pub(crate) fn doc_lines(paragraphs: &[String]) -> TokenStream {
    let text = paragraphs.iter().map(|p| rustdoc_markdown(p)).collect::<Vec<_>>().join("\n\n");
    let lines = text.lines().map(|line| {
        let line = if line.trim().is_empty() { String::new() } else { format!(" {}", line.trim_end()) };
        quote!(#[doc = #line])
    });
    quote!(#(#lines)*)
}
