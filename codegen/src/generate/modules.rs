//! The modules of a run: each has its name to itself.

use std::collections::BTreeMap;

use crate::{
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    names,
    render::Module,
};

/// Modules by name in small letters, and what each was made for: where file names differ by their
/// letters' case alone they are one file on some systems.
#[derive(Debug, Default)]
pub(super) struct Modules(BTreeMap<String, (Module, Source)>);

/// What a module was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The types of an area.
    Area,
    /// The rows of a registry table.
    Table,
    /// Something that every output of its kind has.
    Generator,
}

impl Source {
    const fn words(self) -> &'static str {
        match self {
            Self::Area => "an area",
            Self::Table => "a table",
            Self::Generator => "the generator",
        }
    }
}

impl Modules {
    /// Adds modules; a second one of a name is an error, which leaves the first.
    pub(super) fn add(
        &mut self,
        modules: Vec<Module>,
        source: Source,
        config: &Config,
        problems: &mut Diagnostics,
    ) {
        for module in modules {
            self.add_one(module, source, config, problems);
        }
    }

    fn add_one(&mut self, module: Module, source: Source, config: &Config, problems: &mut Diagnostics) {
        let key = module.name.to_lowercase();
        if let Some((first, before)) = self.0.get(&key) {
            let called = match first.name == module.name {
                true => format!("`{}`", first.name),
                false => format!("`{}` and `{}`, which some systems take for one", first.name, module.name),
            };
            let message = format!(
                "two modules are called {called}: {} makes the one, {} the other",
                before.words(),
                source.words()
            );
            let table =
                config.tables.iter().find(|table| names::table_module(&table.name).to_lowercase() == key);
            let place = table.and_then(|table| config.place("table.name", &table.name));
            let area = |name: &String| config.place("area.name", name);
            let place = place.or_else(|| area(&module.name)).or_else(|| area(&first.name));
            problems.push(Diagnostic::error("config", message).maybe_at(place).help(
                "choose another name for the table or the area: a table's module is its name with an `s`",
            ));
            return;
        }
        self.0.insert(key, (module, source));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, by name.
    pub(super) fn into_modules(self) -> Vec<Module> {
        self.0.into_values().map(|(module, _)| module).collect()
    }
}
