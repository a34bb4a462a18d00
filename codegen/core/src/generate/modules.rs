//! The set of generated modules, with unique names.

use std::collections::BTreeMap;

use crate::{
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    names,
    render::GeneratedModule,
};

/// Modules and their origins, by name in lower case, because file names that differ only in case are the same
/// file on some systems.
#[derive(Debug, Default)]
pub(super) struct ModuleSet(BTreeMap<String, (GeneratedModule, ModuleOrigin)>);

/// The reason why a module is generated, for messages about name conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModuleOrigin {
    /// The module contains the types of a configured area.
    Area,
    /// The module contains the enum of a registry table.
    Table,
    /// The module has a fixed name, such as `client`.
    Generator,
}

impl ModuleOrigin {
    const fn describe(self) -> &'static str {
        match self {
            Self::Area => "an area",
            Self::Table => "a table",
            Self::Generator => "the generator",
        }
    }
}

impl ModuleSet {
    /// Adds modules. If the set already contains a module with the same name, reports an error and keeps the
    /// first.
    pub(super) fn insert_all(
        &mut self,
        modules: Vec<GeneratedModule>,
        source: ModuleOrigin,
        config: &Config,
        problems: &mut Diagnostics,
    ) {
        for module in modules {
            self.insert(module, source, config, problems);
        }
    }

    fn insert(
        &mut self,
        module: GeneratedModule,
        source: ModuleOrigin,
        config: &Config,
        problems: &mut Diagnostics,
    ) {
        let key = module.name.to_lowercase();
        if let Some((first, before)) = self.0.get(&key) {
            let called = match first.name == module.name {
                true => format!("`{}`", first.name),
                false => {
                    format!("`{}` and `{}`, which are the same file on some systems", first.name, module.name)
                }
            };
            let message = format!(
                "two modules have the name {called}: one is from {}, the other from {}",
                before.describe(),
                source.describe()
            );
            let table =
                config.tables.iter().find(|table| names::table_module(&table.name).to_lowercase() == key);
            let place = table.and_then(|table| config.option_place("table.name", &table.name));
            let area = |name: &String| config.option_place("area.name", name);
            let place = place.or_else(|| area(&module.name)).or_else(|| area(&first.name));
            problems.push(Diagnostic::error("config", message).with_optional_place(place).help(
                "choose another name for the table or the area; the module of a table has the name of the table with an `s`",
            ));
            return;
        }
        self.0.insert(key, (module, source));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns all modules, sorted by name.
    pub(super) fn into_modules(self) -> Vec<GeneratedModule> {
        self.0.into_values().map(|(module, _)| module).collect()
    }
}
