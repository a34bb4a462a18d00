//! The modules of types, and of the tables that check them.

use super::lines;
use proc_macro2::TokenStream;

use crate::{
    config::Config,
    emit::{Emitter, Text},
    formats::{Formats, Mapped},
    render::{Module, Part},
    schema::SchemaId,
    tables::TableSet,
};

/// One for each area, with what the owner says of it.
pub(super) fn areas(config: &Config, emitter: &Emitter<'_>) -> Vec<Module> {
    let areas = emitter.areas().into_iter().map(|(name, tokens)| {
        let area = config.areas.iter().find(|area| area.name == name);
        let doc = area.map_or("The types of the contract.", |area| &area.doc);
        Module::new(name, lines(doc), &tokens)
    });
    areas.collect()
}

/// What every output has beside them.
pub(super) fn shared(emitter: &Emitter<'_>, tables: &TableSet<'_>) -> Vec<Module> {
    let types = lines("Every type of the contract by its own name.");
    let schemas = lines("The schemas as tables, for the validators.");
    vec![
        Module::new("types", types, &emitter.reexports()),
        Module::new("schemas", schemas, &tables.tokens()).followed_by(tables.text()).hidden(),
    ]
}

/// The types of formats, when there are any.
pub(super) fn formats(formats: &Formats) -> Option<Module> {
    if formats.is_empty() {
        return None;
    }
    let items: Vec<String> = formats.iter().map(Mapped::item).collect();
    let doc = lines("The formats of the contract that are types.");
    Some(Module::new("formats", doc, &TokenStream::new()).followed_by(items.join("\n")))
}

/// The schemas of the types as `schemars` wants them, when there are any.
pub(super) fn json_schemas(
    emitter: &Emitter<'_>,
    replaced: &[(SchemaId, String)],
    texts: &[Text],
) -> Option<Module> {
    let doc = lines("The schemas of the types, for `schemars`.");
    let (tokens, text) = emitter.json_schemas(replaced, texts)?;
    Some(Module::new("json_schemas", doc, &tokens).followed_by(text).behind(&[Part::Schemars]).hidden())
}

/// Strategies for values of the types, as `proptest` wants them, when there are any.
pub(super) fn strategies(emitter: &Emitter<'_>) -> Option<Module> {
    let doc = lines("Values of the types for tests of properties, by `proptest`.");
    let (tokens, text) = emitter.strategies()?;
    Some(Module::new("strategies", doc, &tokens).followed_by(text).behind(&[Part::Proptest]))
}
