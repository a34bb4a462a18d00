//! The modules of registry tables, whose rows stand in files of their own.

use std::collections::BTreeSet;

use super::{Project, lines};
use crate::{
    config::{Config, Table},
    diagnostics::Diagnostics,
    load::{Sources, load},
    names,
    registry::registry,
    render::Module,
    tree::SourceId,
};

/// One for each table; its file joins the sources, so that diagnostics show it.
pub(super) fn modules(
    project: &Project,
    sources: &mut Sources,
    diagnostics: &mut Diagnostics,
) -> Vec<Module> {
    project.config.tables.iter().filter_map(|table| module(project, table, sources, diagnostics)).collect()
}

fn module(
    project: &Project,
    table: &Table,
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
    let tokens = registry(table, id, &sources.sources[index].tree, diagnostics)?;
    let doc = if table.doc.is_empty() { format!("The rows of `{}`.", table.name) } else { table.doc.clone() };
    Some(Module::new(name(table), lines(&doc), &tokens))
}

/// The module of a table.
pub(super) fn name(table: &Table) -> String {
    format!("{}s", names::field_name(&table.name).trim_end_matches('_'))
}

/// The enums of all tables, as the models name them.
pub(super) fn types(config: &Config) -> BTreeSet<String> {
    config.tables.iter().map(|table| format!("super::{}::{}", name(table), table.name)).collect()
}
