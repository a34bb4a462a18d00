//! The modules of registry tables, whose rows stand in files of their own.

use std::collections::BTreeSet;

use super::{Project, lines};
use crate::{
    api::Api,
    config::{Config, Table},
    diagnostics::Diagnostics,
    load::{Sources, load},
    names::table_module,
    plan::{SCOPE, scopes},
    registry::registry,
    render::Module,
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
    let read = match load(std::slice::from_ref(&path), &[]) {
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
    config
        .tables
        .iter()
        .map(|table| format!("super::{}::{}", table_module(&table.name), table.name))
        .collect()
}
