//! The modules of registry tables, whose rows stand in files of their own.

use std::collections::BTreeSet;

use super::{Project, lines};
use crate::{
    api::Api,
    config::{Config, Table},
    diagnostics::Diagnostics,
    emit::Text,
    load::Sources,
    names::table_module,
    options::Options,
    plan::{SCOPE, scopes},
    registry::registry,
    render::Module,
    schema::SchemaId,
    tree::SourceId,
};

/// One for each table; its file joins the sources, so that diagnostics show it.
pub(super) fn modules(
    project: &Project,
    api: &Api,
    sources: &mut Sources,
    diagnostics: &mut Diagnostics,
) -> Vec<Module> {
    let tables = project.config.tables.iter();
    tables.filter_map(|table| module(project, table, api, sources, diagnostics)).collect()
}

fn module(
    project: &Project,
    table: &Table,
    api: &Api,
    sources: &mut Sources,
    diagnostics: &mut Diagnostics,
) -> Option<Module> {
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
    // The operations' scopes are this table's.
    let needed = if table.name == SCOPE { scopes(api) } else { Vec::new() };
    let needed: Vec<&str> = needed.iter().map(|(scope, _)| scope.as_str()).collect();
    let tokens = registry(table, id, &sources.sources[index].tree, &needed, diagnostics)?;
    let doc = if table.doc.is_empty() { format!("The rows of `{}`.", table.name) } else { table.doc.clone() };
    Some(Module::new(table_module(&table.name), lines(&doc), &tokens))
}

/// The enums of all tables, as the models name them.
pub(super) fn types(config: &Config) -> BTreeSet<String> {
    config.tables.iter().map(|table| path(table, &table.name)).collect()
}

fn path(table: &Table, name: &str) -> String {
    format!("super::{}::{name}", table_module(&table.name))
}

/// The schemas that an enum of a table stands for, with its path.
pub(super) fn replaced(config: &Config, options: &Options) -> Vec<(SchemaId, String)> {
    let types = types(config);
    let replaced = options.replace.iter().filter(|(_, path)| types.contains(*path));
    replaced.map(|(id, path)| (*id, path.clone())).collect()
}

/// The enums of all tables that stand for no schema, those of their columns among them.
pub(super) fn texts(config: &Config) -> Vec<Text> {
    let bound: BTreeSet<&String> = config.replace.values().collect();
    let mut texts = Vec::new();
    for table in &config.tables {
        let rows = Text { path: path(table, &table.name), name: table.name.clone(), open: table.open };
        texts.extend((!bound.contains(&rows.path)).then_some(rows));
        let columns = table.enums.values();
        texts.extend(columns.map(|name| Text { path: path(table, name), name: name.clone(), open: false }));
    }
    texts
}
