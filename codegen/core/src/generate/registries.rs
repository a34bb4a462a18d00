//! Returns the modules of registry tables: enums that are generated from the rows of JSON files.

use std::collections::BTreeSet;

use super::{Project, doc_lines};
use crate::{
    api::OpenApiDocument,
    config::{Config, TableConfig},
    diagnostics::Diagnostics,
    emit::ExtraStringEnum,
    load::Sources,
    names::table_module,
    options::SchemaOptions,
    plan::{SCOPE, collect_scopes},
    registry::write_registry,
    render::GeneratedModule,
    schema::SchemaId,
    tree::SourceId,
};

/// Returns a module for each configured table. The JSON files are added to the sources, so that diagnostics
/// can show excerpts of them.
pub(super) fn registry_modules(
    project: &Project,
    api: &OpenApiDocument,
    sources: &mut Sources,
    diagnostics: &mut Diagnostics,
) -> Vec<GeneratedModule> {
    let tables = project.config.tables.iter();
    tables.filter_map(|table| registry_module(project, table, api, sources, diagnostics)).collect()
}

fn registry_module(
    project: &Project,
    table: &TableConfig,
    api: &OpenApiDocument,
    sources: &mut Sources,
    diagnostics: &mut Diagnostics,
) -> Option<GeneratedModule> {
    let path = project.base.join(&table.file);
    let read = match Sources::from_files(std::slice::from_ref(&path), &[]) {
        Ok(read) => read,
        Err(problems) => {
            diagnostics.append(problems);
            return None;
        }
    };
    let source = read.sources.into_iter().next()?;
    let known = sources.sources.iter().position(|s| s.uri == source.uri && s.digest == source.digest);
    let index = known.unwrap_or_else(|| {
        sources.sources.push(source);
        sources.sources.len() - 1
    });
    let id = SourceId(u32::try_from(index).ok()?);
    // The table of scopes must contain all scopes of the operations.
    let needed = if table.name == SCOPE { collect_scopes(api) } else { Vec::new() };
    let needed: Vec<&str> = needed.iter().map(|(scope, _)| scope.as_str()).collect();
    let tokens = write_registry(table, id, &sources.sources[index].tree, &needed, diagnostics)?;
    let doc = if table.doc.is_empty() { format!("The rows of `{}`.", table.name) } else { table.doc.clone() };
    Some(GeneratedModule::new(table_module(&table.name), doc_lines(&doc), tokens))
}

/// Returns the paths of the enums of all tables, as generated models refer to them.
pub(super) fn registry_types(config: &Config) -> BTreeSet<String> {
    config.tables.iter().map(|table| enum_path(table, &table.name)).collect()
}

fn enum_path(table: &TableConfig, name: &str) -> String {
    format!("super::{}::{name}", table_module(&table.name))
}

/// Returns the schemas whose type is the enum of a table, each with the path of the enum.
pub(super) fn replaced_schemas(config: &Config, options: &SchemaOptions) -> Vec<(SchemaId, String)> {
    let types = registry_types(config);
    let replaced = options.replace.iter().filter(|(_, path)| types.contains(*path));
    replaced.map(|(id, path)| (*id, path.clone())).collect()
}

/// Returns the enums of tables and of their columns that are not the type of a schema.
pub(super) fn unbound_enums(config: &Config) -> Vec<ExtraStringEnum> {
    let bound: BTreeSet<&String> = config.replace.values().collect();
    let mut texts = Vec::new();
    for table in &config.tables {
        let rows = ExtraStringEnum {
            path: enum_path(table, &table.name),
            name: table.name.clone(),
            open: table.open,
        };
        texts.extend((!bound.contains(&rows.path)).then_some(rows));
        let columns = table.enums.values();
        texts.extend(columns.map(|name| ExtraStringEnum {
            path: enum_path(table, name),
            name: name.clone(),
            open: false,
        }));
    }
    texts
}
