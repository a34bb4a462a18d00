//! The modules of types, and of the tables that check them.

use super::lines;
use crate::{config::Config, emit::Emitter, render::Module, tables::TableSet};

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
