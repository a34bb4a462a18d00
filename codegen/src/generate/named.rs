//! Names that the owner gives: each stands in Rust as it is.

use crate::{
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    names::{is_model_name, is_name, is_taken, type_name},
    naming::Names,
    package,
    schema::Graph,
    tree::Place,
};

/// What a name is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Package,
    Area,
    Table,
    Column,
    Type,
}

impl Of {
    const fn word(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Area => "area",
            Self::Table => "table",
            Self::Column => "column",
            Self::Type => "type",
        }
    }
}

/// Whether all of them can.
///
/// # Errors
/// Those that cannot: nothing could be written with them.
pub(super) fn check(config: &Config) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut name = |name: &str, of: Of, place: Option<Place>| {
        let Some((why, help)) = obstacle(name, of) else { return };
        let message = format!("no {} can be called `{name}`: {why}", of.word());
        problems.push(Diagnostic::error("config", message).maybe_at(place).help(help));
    };
    config.package.iter().for_each(|own| name(own, Of::Package, config.place("package", own)));
    for (at, area) in config.areas.iter().enumerate() {
        name(&area.name, Of::Area, config.place_in("area", at, "name", &area.name));
    }
    for (at, table) in config.tables.iter().enumerate() {
        name(&table.name, Of::Table, config.place_in("table", at, "name", &table.name));
        let columns = table.enums.values();
        columns.for_each(|column| name(column, Of::Column, config.place_in("table", at, "enums", column)));
    }
    config.names.values().for_each(|own| name(own, Of::Type, config.place("names", own)));
    if let Some(file) = &config.file {
        problems.attach(file);
    }
    if problems.has_errors() { Err(problems) } else { Ok(()) }
}

/// Why nothing can be called so, and what to do.
fn obstacle(name: &str, of: Of) -> Option<(&'static str, String)> {
    if of == Of::Package {
        let help = "write letters, digits, `-` and `_`, a letter first: `stock-lots`";
        return (!package::is_name(name)).then(|| ("cargo has no such names", help.to_owned()));
    }
    if !is_name(name) {
        let example = if of == Of::Area { "stock_lots" } else { "StockLot" };
        let help = format!("write letters, digits and `_`, a letter first, and no word of Rust: `{example}`");
        Some(("Rust has no such names", help))
    } else if of == Of::Area || is_model_name(name) {
        // Of areas it is asked elsewhere which modules there are.
        None
    } else if is_taken(name) {
        Some((
            "generated code calls something else so",
            format!("choose another name: `{}`", type_name(name)),
        ))
    } else {
        let help = format!("begin with a capital, and part words by others: `{}`", type_name(name));
        Some(("types of Rust are not written so", help))
    }
}

/// A name that the owner chose for a schema is for no other, chosen or not.
pub(super) fn settled(config: &Config, graph: &Graph, names: &Names, diagnostics: &mut Diagnostics) {
    for (name, schemas) in names.contested() {
        let problem = Diagnostic::error(
            "config",
            format!("`names` calls a schema `{name}`, and another one is called so"),
        )
        .maybe_at(config.place("names", name))
        .help("choose another name, or one for each of them");
        let labels = schemas.iter().map(|id| graph.schema(*id).place.clone());
        diagnostics.push(labels.fold(problem, |problem, place| problem.label(place, "this is one of them")));
    }
}
