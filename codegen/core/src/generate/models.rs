//! Writes the modules of types, and of the tables that validate them.

use super::doc_lines;
use proc_macro2::TokenStream;

use crate::{
    config::Config,
    emit::{ExtraStringEnum, ModelEmitter},
    formats::{FormatTypes, MappedFormat},
    render::{GeneratedModule, PackagePart},
    schema::SchemaId,
    tables::TableSet,
};

/// Returns one module for each area, with the types of the area. The configuration contains the documentation
/// of the module.
pub(super) fn area_modules(config: &Config, emitter: &ModelEmitter<'_>) -> Vec<GeneratedModule> {
    let areas = emitter.area_modules().into_iter().map(|(name, tokens)| {
        let area = config.areas.iter().find(|area| area.name == name);
        let doc = area.map_or("The types of the contract.", |area| &area.doc);
        GeneratedModule::new(name, doc_lines(doc), tokens)
    });
    areas.collect()
}

/// Returns the modules `types`, which re-exports all models, and `schemas`, which contains the validation
/// tables. Every output has both.
pub(super) fn shared_modules(emitter: &ModelEmitter<'_>, tables: &TableSet<'_>) -> Vec<GeneratedModule> {
    let types = doc_lines("All types of the contract.");
    let schemas = doc_lines("The schemas as tables for validation.");
    vec![
        GeneratedModule::new("types", types, emitter.types_module()),
        GeneratedModule::new("schemas", schemas, tables.schemas_module())
            .with_printed_items(tables.tables_source())
            .with_hidden_docs(),
    ]
}

/// Returns the module that adapts the configured types of formats, or `None` if no format has a configured
/// type.
pub(super) fn format_module(formats: &FormatTypes) -> Option<GeneratedModule> {
    if formats.is_empty() {
        return None;
    }
    let items: Vec<String> = formats.iter().map(MappedFormat::macro_call).collect();
    let doc = doc_lines("The types of formats in the contract.");
    Some(GeneratedModule::new("formats", doc, TokenStream::new()).with_printed_items(items.join("\n")))
}

/// Returns the module that implements `schemars::JsonSchema` for the types, or `None` if there are no types.
pub(super) fn json_schema_module(
    emitter: &ModelEmitter<'_>,
    replaced: &[(SchemaId, String)],
    texts: &[ExtraStringEnum],
) -> Option<GeneratedModule> {
    let doc = doc_lines("The schemas of the types, for `schemars`.");
    let (tokens, text) = emitter.json_schemas(replaced, texts)?;
    Some(
        GeneratedModule::new("json_schemas", doc, tokens)
            .with_printed_items(text)
            .with_gate(&[PackagePart::Schemars])
            .with_hidden_docs(),
    )
}

/// Returns the module with `proptest` strategies for the types, or `None` if there are no types.
pub(super) fn strategy_module(emitter: &ModelEmitter<'_>) -> Option<GeneratedModule> {
    let doc = doc_lines("Strategies for property tests of the types, by `proptest`.");
    let (tokens, text) = emitter.strategies_module()?;
    Some(
        GeneratedModule::new("strategies", doc, tokens)
            .with_printed_items(text)
            .with_gate(&[PackagePart::Proptest]),
    )
}
