//! Registry modules: an enum with one variant per row of a JSON table, such as the codes of
//! errors with their statuses and titles.
//!
//! Every other column becomes an accessor, its type inferred from all rows. Rows that do not
//! agree are refused with the place of the first that differs.

mod columns;

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use columns::{Column, columns};

use crate::{
    config::Table,
    diagnostics::{Diagnostic, Diagnostics},
    emit::{ident, markdown},
    names,
    operations::{StringEnum, StringValue},
    tree::{Place, SourceId, Tree, join},
};

/// One row: its value in the key's column, where it stands.
struct Row<'a> {
    key: &'a str,
    tree: &'a Tree,
    place: Place,
}

/// Writes the module of a table. `tree` is the file's, `source` its id for diagnostics; `needed` are
/// keys that the contract speaks of.
///
/// Returns `None` after an error: no array at `rows`, a row without key, two rows with the
/// same key, a needed key without a row, columns that do not agree, options that name no column.
pub fn registry(
    config: &Table,
    source: SourceId,
    tree: &Tree,
    needed: &[&str],
    diagnostics: &mut Diagnostics,
) -> Option<TokenStream> {
    let before = diagnostics.iter().filter(|d| is_error(d)).count();
    let rows = rows(config, source, tree, diagnostics);
    let missing = needed.iter().filter(|key| !rows.iter().any(|row| row.key == **key));
    for key in missing.filter(|_| !rows.is_empty()) {
        let list = tree.at(&config.rows).unwrap_or(tree);
        let place = Place { source, pointer: config.rows.clone(), span: list.span };
        let message = format!("there is no row for `{key}`, which the contract asks for");
        let help = "add the row, or give the table another name than that of the operations' own enum";
        diagnostics.push(error(config, &message).at(place).help(help));
    }
    let columns = columns(config, &rows, diagnostics);
    let after = diagnostics.iter().filter(|d| is_error(d)).count();
    (after == before).then(|| module(config, &rows, &columns))
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == crate::diagnostics::Severity::Error
}

fn error(config: &Table, message: &str) -> Diagnostic {
    let message = format!("table `{}` ({}): {message}", config.name, config.file.display());
    Diagnostic::error("registry", message)
}

fn rows<'a>(config: &Table, source: SourceId, tree: &'a Tree, diagnostics: &mut Diagnostics) -> Vec<Row<'a>> {
    let Table { rows: pointer, key, .. } = config;
    let place = |pointer: String, tree: &Tree| Place { source, pointer, span: tree.span };
    let Some(list) = tree.at(pointer).filter(|list| !list.elements().is_empty()) else {
        let message = format!("there is no array with rows at `{pointer}`");
        diagnostics.push(error(config, &message).at(place(String::new(), tree)));
        return Vec::new();
    };
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
    for (index, row) in list.elements().iter().enumerate() {
        let at = join(pointer, &index.to_string());
        let place = place(at, row);
        let Some(text) = row.get(key).and_then(Tree::as_str) else {
            let message = format!("this row has no string `{key}`");
            diagnostics.push(error(config, &message).at(place));
            continue;
        };
        if let Some(first) = seen.insert(text, place.clone()) {
            let message = format!("`{text}` has a row already");
            diagnostics.push(error(config, &message).at(place).label(first, "the first one"));
            continue;
        }
        rows.push(Row { key: text, tree: row, place });
    }
    rows
}

fn module(config: &Table, rows: &[Row<'_>], columns: &[Column<'_>]) -> TokenStream {
    let keys: Vec<&str> = rows.iter().map(|row| row.key).collect();
    let mut variants: Vec<String> = keys.iter().map(|key| names::variant_name(key)).collect();
    names::reserve_unknown(&mut variants);
    names::make_distinct(&keys, &mut variants);
    let docs: Vec<Vec<String>> = rows.iter().map(|row| describe(config, row)).collect();
    let table = if columns.is_empty() { None } else { Some(row_items(config, &variants, rows, columns)) };
    let values = keys.iter().zip(&variants).zip(docs);
    let values =
        values.map(|((key, name), doc)| StringValue { wire: (*key).to_owned(), name: name.clone(), doc });
    let item = StringEnum { name: &config.name, doc: about(config), values: values.collect() };
    let item = item.tokens(config.open);
    let enums = columns.iter().filter_map(Column::enumeration);
    quote!(#item #table #(#enums)*)
}

fn about(config: &Table) -> Vec<String> {
    let mut doc = vec![if config.doc.is_empty() {
        format!("The rows of `{}`.", config.file.display())
    } else {
        markdown(&config.doc)
    }];
    doc.extend(config.open.then(|| "A value that the table does not have is kept as text.".to_owned()));
    doc
}

fn describe(config: &Table, row: &Row<'_>) -> Vec<String> {
    let text = config.describe.as_deref().and_then(|column| row.tree.get(column)?.as_str());
    text.map(markdown).into_iter().collect()
}

/// The columns: a private struct, its values per variant, the accessors.
fn row_items(config: &Table, variants: &[String], rows: &[Row<'_>], columns: &[Column<'_>]) -> TokenStream {
    let name = ident(&config.name);
    let row_type = format_ident!("{}Row", config.name);
    let fields = columns.iter().map(Column::field);
    let variants: Vec<_> = variants.iter().map(|variant| ident(variant)).collect();
    let values = (0..rows.len()).map(|row| {
        let values = columns.iter().map(|column| column.value(row));
        quote!(#row_type { #(#values),* })
    });
    let accessors = columns.iter().map(|column| column.accessor(config.open));
    let row = if config.open {
        quote! {
            fn row(&self) -> Option<&'static #row_type> {
                Some(match self {
                    #(Self::#variants => &#values,)*
                    Self::Unknown(_) => return None,
                })
            }
        }
    } else {
        quote! {
            const fn row(self) -> &'static #row_type {
                match self { #(Self::#variants => &#values),* }
            }
        }
    };
    quote! {
        struct #row_type { #(#fields),* }

        impl #name {
            #(#accessors)*

            #row
        }
    }
}

#[cfg(test)]
mod tests;
