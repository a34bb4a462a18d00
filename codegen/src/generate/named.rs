//! Names that the owner gives: each stands in Rust as it is.

use crate::{
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    names::is_name,
    tree::Place,
};

/// Whether all of them can.
///
/// # Errors
/// Those that cannot: nothing could be written with them.
pub(super) fn check(config: &Config) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut name = |name: &str, of: &str, place: Option<Place>| {
        if !is_name(name) {
            let example = if of == "area" { "stock_lots" } else { "StockLot" };
            problems.push(
                Diagnostic::error(
                    "config",
                    format!("no {of} can be called `{name}`: Rust has no such names"),
                )
                .maybe_at(place)
                .help(format!(
                    "write letters, digits and `_`, a letter first, and no word of Rust: `{example}`"
                )),
            );
        }
    };
    for (at, area) in config.areas.iter().enumerate() {
        name(&area.name, "area", config.place_in("area", at, "name", &area.name));
    }
    for (at, table) in config.tables.iter().enumerate() {
        name(&table.name, "table", config.place_in("table", at, "name", &table.name));
        let columns = table.enums.values();
        columns.for_each(|column| name(column, "column", config.place_in("table", at, "enums", column)));
    }
    config.names.values().for_each(|own| name(own, "type", config.place("names", own)));
    if let Some(file) = &config.file {
        problems.attach(file);
    }
    if problems.has_errors() { Err(problems) } else { Ok(()) }
}
