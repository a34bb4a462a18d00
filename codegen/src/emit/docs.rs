//! Documentation of generated items: descriptions, limits in words, the schema's place.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::{
    Emitter,
    markdown::{markdown, sentence},
};
use crate::{
    schema::{Graph, Schema, SchemaId},
    shape::{Body, Field, Shapes, TypeDef, TypeRef, is_default},
    together::{Conj, Facts},
    words::{default, limits},
};

impl Emitter<'_> {
    /// The documentation of a type.
    pub(super) fn type_docs(&self, def: &TypeDef) -> TokenStream {
        let schemas: Vec<&Schema> = def.conj.ids.iter().map(|&id| self.graph.schema(id)).collect();
        let described = def.schema.map(|id| self.graph.schema(id)).into_iter().chain(schemas.iter().copied());
        let mut paragraphs = Vec::new();
        let mut described = described.filter(|s| s.title.is_some() || s.description.is_some());
        if let Some(schema) = described.next() {
            paragraphs.extend(schema.title.as_deref().map(sentence));
            paragraphs.extend(schema.description.as_deref().map(str::to_owned));
        }
        if paragraphs.is_empty() {
            paragraphs.push(format!("`{}` of the contract.", def.name));
        }
        let rules = match &def.body {
            Body::Struct(_) => String::new(),
            Body::Newtype(inner) => self.rules(&self.facts(&def.conj), inner),
            _ => self.rules(&self.facts(&def.conj), &TypeRef::Json),
        };
        if !rules.is_empty() {
            paragraphs.push(format!("Limits: {rules}."));
        }
        paragraphs.extend(default(&schemas));
        let from: Vec<String> = def.conj.ids.iter().map(|&id| self.place(id)).collect();
        paragraphs.push(format!("Schema: {}.", from.join(", ")));
        let docs = doc_lines(&paragraphs);
        let deprecated = is_deprecated(self.graph, def).then(deprecated);
        let mut ids: BTreeSet<SchemaId> = def.conj.ids.iter().copied().collect();
        ids.extend(def.schema);
        let own = self.attributes(ids);
        let everywhere = self.everywhere(&def.body);
        quote!(#docs #deprecated #everywhere #own)
    }

    /// What the owner has every type derive; `Default` where the type can have it.
    fn everywhere(&self, body: &Body) -> Option<TokenStream> {
        let wanted = |path: &&String| !is_default(path) || self.defaults.of_body(body);
        let paths = self.options?.everywhere.iter().filter(wanted);
        let paths: Vec<TokenStream> = paths.filter_map(|path| path.parse().ok()).collect();
        (!paths.is_empty()).then(|| quote!(#[derive(#(#paths),*)]))
    }

    /// The attributes that the owner gives.
    fn attributes(&self, ids: impl IntoIterator<Item = SchemaId>) -> TokenStream {
        let of = |id: SchemaId| self.options.and_then(|options| options.attributes.get(&id));
        let texts = ids.into_iter().filter_map(of).flatten();
        texts.filter_map(|text| text.parse::<TokenStream>().ok()).collect()
    }

    /// The documentation of a field: what describes it there, else what its schema says.
    pub(super) fn field_docs(&self, field: &Field) -> TokenStream {
        let facts = self.facts(&field.conj);
        let mut paragraphs = Vec::new();
        let mut candidates: Vec<SchemaId> = field.describe.into_iter().collect();
        candidates.extend(field.conj.ids.iter().rev());
        candidates.extend(facts.members.iter().rev());
        let text = candidates.iter().find_map(|&id| self.graph.schema(id).description.as_deref());
        let title = candidates.iter().find_map(|&id| self.graph.schema(id).title.as_deref());
        paragraphs.push(match (text, title) {
            (Some(text), _) => text.to_owned(),
            (None, Some(title)) => sentence(title),
            (None, None) => format!("`{}`", field.wire),
        });
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| self.graph.schema(m)).collect();
        // A named type states its rules itself.
        if !is_named(&field.ty) {
            if let Some(constant) = &field.constant {
                paragraphs.push(format!("Always `{constant}`."));
            }
            let rules = self.rules(&facts, &field.ty);
            if !rules.is_empty() {
                paragraphs.push(format!("Limits: {rules}."));
            }
        }
        paragraphs.extend(default(&schemas));
        let docs = doc_lines(&paragraphs);
        let deprecated = field.describe.is_some_and(|id| self.graph.schema(id).deprecated).then(deprecated);
        // A type of its own has them already.
        let own = field.describe.filter(|_| !is_named(&field.ty)).into_iter();
        let own = self.attributes(own);
        quote!(#docs #deprecated #own)
    }

    /// The limits of a place in words, those of its elements among them, unless a named type
    /// states them.
    fn rules(&self, facts: &Facts, ty: &TypeRef) -> String {
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| self.graph.schema(m)).collect();
        let mut words = limits(&schemas);
        let (inner, inside): (&TypeRef, Vec<SchemaId>) = match ty {
            TypeRef::Nullable(inner) => return self.rules(facts, inner),
            TypeRef::Vec(inner) => (inner, schemas.iter().filter_map(|s| s.items).collect()),
            TypeRef::Map(inner) => (inner, schemas.iter().filter_map(|s| s.additional_properties).collect()),
            _ => return words,
        };
        if !is_named(inner) && !inside.is_empty() {
            let facts = self.facts(&Conj::all(inside));
            let constant = facts.members.iter().find_map(|&m| self.graph.schema(m).constant.as_ref());
            let each = match constant {
                Some(constant) => format!("`{constant}`"),
                None => self.rules(&facts, inner),
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

    /// `stock-lot.schema.json#/$defs/lotKey`, in code marks.
    fn place(&self, id: SchemaId) -> String {
        let schema = self.graph.schema(id);
        let uri = &self.graph.resource(schema.resource).uri;
        let file = uri.rsplit('/').next().unwrap_or(uri);
        let pointer =
            if schema.location.is_empty() { String::new() } else { format!("#{}", schema.location) };
        format!("`{file}{pointer}`")
    }
}

/// What the compiler says to whoever uses it.
fn deprecated() -> TokenStream {
    quote!(#[deprecated = "the contract says so"])
}

/// Whether the contract calls a type deprecated. Where nobody named it, the place is meant, whose
/// field says so; other places may have the same type.
fn is_deprecated(graph: &Graph, def: &TypeDef) -> bool {
    def.schema.is_some_and(|id| graph.schema(id).deprecated)
}

/// Whether the contract calls a type or a field deprecated: what is generated uses it all the same.
pub(crate) fn any_deprecated(graph: &Graph, shapes: &Shapes) -> bool {
    shapes.types.iter().any(|def| {
        is_deprecated(graph, def)
            || matches!(&def.body, Body::Struct(body) if body.fields.iter().any(|field| {
                field.describe.is_some_and(|id| graph.schema(id).deprecated)
            }))
    })
}

/// Whether a type of its own stands at a place, `null` aside.
fn is_named(ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Named(_) => true,
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => is_named(inner),
        _ => false,
    }
}

/// `#[doc]` attributes for paragraphs of Markdown.
pub(crate) fn doc_lines(paragraphs: &[String]) -> TokenStream {
    let text = paragraphs.iter().map(|p| markdown(p)).collect::<Vec<_>>().join("\n\n");
    let lines = text.lines().map(|line| {
        let line = if line.trim().is_empty() { String::new() } else { format!(" {}", line.trim_end()) };
        quote!(#[doc = #line])
    });
    quote!(#(#lines)*)
}
