//! Checks the names in the configuration that appear unchanged in generated code.

use super::code_names;
use crate::{
    config::Config,
    diagnostics::{Diagnostic, Diagnostics},
    names::{is_model_name, is_reserved_model, is_reserved_type, is_rust_identifier, pascal_case, type_name},
    naming::TypeNames,
    package,
    schema::{SchemaGraph, SchemaOrigin, values::is_usable_name},
    tree::DocumentLocation,
};

/// The kind of item to which the configuration gives a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Package,
    Area,
    Table,
    Column,
    Type,
    /// An operation, or a value of an enumeration. Its names in generated code are derived from the
    /// configured name.
    Code,
}

impl NameKind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Area => "area",
            Self::Table => "table",
            Self::Column => "column",
            Self::Type => "type",
            Self::Code => "Rust",
        }
    }
}

/// Checks that all names in the configuration are valid, because invalid ones cannot be used in generated
/// code.
///
/// # Errors
/// Returns a diagnostic for each invalid name.
pub(super) fn check_names(config: &Config) -> Result<(), Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut name = |name: &str, of: NameKind, place: Option<DocumentLocation>| {
        let Some((why, help)) = naming_problem(name, of) else { return };
        let message = format!("`{name}` is not a valid {} name: {why}", of.noun());
        problems.push(Diagnostic::error("config", message).with_optional_place(place).help(help));
    };
    let package = &config.package;
    package.name.iter().for_each(|own| name(own, NameKind::Package, config.option_place("package", own)));
    for (at, area) in config.areas.iter().enumerate() {
        name(&area.name, NameKind::Area, config.table_option_place("area", at, "name", &area.name));
    }
    for (at, table) in config.tables.iter().enumerate() {
        name(&table.name, NameKind::Table, config.table_option_place("table", at, "name", &table.name));
        let columns = table.enums.values();
        columns.for_each(|column| {
            name(column, NameKind::Column, config.table_option_place("table", at, "enums", column))
        });
    }
    for (key, own) in &config.names {
        let kind = if code_names::operation_key(key).is_some() || key.contains("/enum/") {
            NameKind::Code
        } else {
            NameKind::Type
        };
        name(own, kind, config.option_place("names", own));
    }
    if let Some(version) = package.version.as_ref().filter(|version| !package::is_version(version)) {
        let message = format!("`{version}` is not a valid version of a package");
        let problem = Diagnostic::error("config", message);
        problems.push(
            problem
                .with_optional_place(config.option_place("package.version", version))
                .help("write a semantic version with three numbers, such as `1.0.0`"),
        );
    }
    if let Some(file) = &config.file {
        problems.attach_sources(file);
    }
    if problems.has_errors() { Err(problems) } else { Ok(()) }
}

/// Returns the reason why a name is invalid and a help text, or `None` if it is valid.
fn naming_problem(name: &str, of: NameKind) -> Option<(&'static str, String)> {
    if of == NameKind::Package {
        let help = "use letters, digits, `-` and `_`, starting with a letter, such as `stock-lots`";
        return (!package::is_name(name)).then(|| ("cargo does not accept it", help.to_owned()));
    }
    if of == NameKind::Code {
        let is_usable = is_rust_identifier(name) && is_usable_name(name);
        let help = "use letters, digits and `_`, starting with a letter, and no Rust keyword";
        return (!is_usable).then(|| ("it is not a Rust identifier", help.to_owned()));
    }
    if !is_rust_identifier(name) {
        let example = if of == NameKind::Area { "stock_lots" } else { "StockLot" };
        let help = format!(
            "use letters, digits and `_`, starting with a letter, and no Rust keyword, such as `{example}`"
        );
        Some(("it is not a Rust identifier", help))
    } else if of == NameKind::Area {
        // The check for reserved module names is in `Project::resolve_options`.
        None
    } else if is_reserved_model(name) || (of != NameKind::Type && is_reserved_type(name)) {
        Some((
            "generated code uses it for something else",
            format!("choose another name, such as `{}`", type_name(name)),
        ))
    } else if is_model_name(name) {
        None
    } else {
        let help = format!("use upper camel case, such as `{}`", type_name(name));
        Some(("Rust type names use upper camel case", help))
    }
}

/// Reports a type name from `[names]` or `x-rust-name` that the type of another schema also has.
pub(super) fn check_contested_names(
    config: &Config,
    graph: &SchemaGraph,
    names: &TypeNames,
    diagnostics: &mut Diagnostics,
) {
    for (name, schemas) in names.contested() {
        if !config.names.values().any(|own| own == name) {
            let message =
                format!("`x-rust-name` gives a schema the name `{name}`, which another schema already has");
            let warning = Diagnostic::warning("type-name", message).help("choose another name in `[names]`");
            let labels = schemas.iter().map(|id| graph.schema(*id).place.clone());
            diagnostics.push(
                labels.fold(warning, |problem, place| problem.with_label(place, "a schema with this name")),
            );
            continue;
        }
        let problem = Diagnostic::error(
            "config",
            format!("`names` gives a schema the name `{name}`, which another schema already has"),
        )
        .with_optional_place(config.option_place("names", name))
        .help("choose another name, or name both schemas");
        let labels = schemas.iter().map(|id| graph.schema(*id).place.clone());
        diagnostics.push(
            labels.fold(problem, |problem, place| problem.with_label(place, "a schema with this name")),
        );
    }
}

/// Adds a note for each schema whose type cannot have the name in the contract, because generated code
/// reserves it.
pub(super) fn note_changed_names(graph: &SchemaGraph, names: &TypeNames, diagnostics: &mut Diagnostics) {
    for id in names.named() {
        let Some(name) = names.name_of(id) else { continue };
        let Some(reserved) = name.strip_suffix("Value").filter(|own| is_reserved_model(own)) else {
            continue;
        };
        let schema = graph.schema(id);
        if matches!(&schema.origin, SchemaOrigin::Root(own) | SchemaOrigin::Definition(own) | SchemaOrigin::Component(own) if pascal_case(own) == reserved)
        {
            let message = format!("the type is named `{name}`, because generated code uses `{reserved}`");
            let note = Diagnostic::note("type-name", message);
            diagnostics.push(note.with_place(schema.place.clone()).help("choose another name in `[names]`"));
        }
    }
}
