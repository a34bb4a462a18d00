//! Generates registry modules: an enum with one variant for each row of a JSON table, such as error codes
//! with their status and title.
//!
//! Every other column becomes an accessor, whose type is inferred from all rows. Inconsistent columns are
//! rejected with the location of the first row that differs.

mod columns;

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use columns::{TableColumn, infer_columns};

use crate::{
    config::TableConfig,
    diagnostics::{Diagnostic, Diagnostics},
    emit::{ident, rustdoc_markdown},
    names,
    operations::{StringEnumItem, StringValue},
    tree::{DocumentLocation, DocumentNode, SourceId, join_token},
};

/// A row of the table: the JSON object, its key and its location.
struct TableRow<'a> {
    key: &'a str,
    tree: &'a DocumentNode,
    place: DocumentLocation,
}

/// Generates the module of a table. `tree` is the content of the JSON file and `source` its id for
/// diagnostics. `needed` contains the keys that the contract uses, for which rows must exist.
///
/// Returns `None` after an error: no array at `rows`, a row without a key, a duplicate key, a needed key
/// without a row, inconsistent columns, or options that refer to unknown columns.
pub fn write_registry(
    config: &TableConfig,
    source: SourceId,
    tree: &DocumentNode,
    needed: &[&str],
    diagnostics: &mut Diagnostics,
) -> Option<TokenStream> {
    let before = diagnostics.iter().filter(|d| is_error(d)).count();
    let rows = parse_rows(config, source, tree, diagnostics);
    let missing = needed.iter().filter(|key| !rows.iter().any(|row| row.key == **key));
    for key in missing.filter(|_| !rows.is_empty()) {
        let list = tree.resolve_pointer(&config.rows).unwrap_or(tree);
        let place = DocumentLocation { source, pointer: config.rows.clone(), span: list.span };
        let message = format!("no row for `{key}`, which the contract uses");
        let help = "add the row, or choose a table name other than that of the enum of scopes";
        diagnostics.push(table_error(config, &message).with_place(place).help(help));
    }
    let columns = infer_columns(config, &rows, diagnostics);
    let after = diagnostics.iter().filter(|d| is_error(d)).count();
    (after == before).then(|| write_module(config, &rows, &columns))
}

fn is_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == crate::diagnostics::Severity::Error
}

fn table_error(config: &TableConfig, message: &str) -> Diagnostic {
    let message = format!("table `{}` ({}): {message}", config.name, config.file.display());
    Diagnostic::error("registry", message)
}

fn parse_rows<'a>(
    config: &TableConfig,
    source: SourceId,
    tree: &'a DocumentNode,
    diagnostics: &mut Diagnostics,
) -> Vec<TableRow<'a>> {
    let TableConfig { rows: pointer, key, .. } = config;
    let place = |pointer: String, tree: &DocumentNode| DocumentLocation { source, pointer, span: tree.span };
    let Some(list) = tree.resolve_pointer(pointer).filter(|list| !list.elements().is_empty()) else {
        let message = format!("expected an array with at least one row at `{pointer}`");
        diagnostics.push(table_error(config, &message).with_place(place(String::new(), tree)));
        return Vec::new();
    };
    let mut rows: Vec<TableRow<'a>> = Vec::new();
    let mut seen: BTreeMap<&str, DocumentLocation> = BTreeMap::new();
    for (index, row) in list.elements().iter().enumerate() {
        let at = join_token(pointer, &index.to_string());
        let place = place(at, row);
        let Some(text) = row.get(key).and_then(DocumentNode::as_str) else {
            let message = format!("this row has no string in the key column `{key}`");
            diagnostics.push(table_error(config, &message).with_place(place));
            continue;
        };
        if let Some(first) = seen.insert(text, place.clone()) {
            let message = format!("duplicate row for `{text}`");
            diagnostics.push(table_error(config, &message).with_place(place).with_label(first, "first row"));
            continue;
        }
        rows.push(TableRow { key: text, tree: row, place });
    }
    rows
}

fn write_module(config: &TableConfig, rows: &[TableRow<'_>], columns: &[TableColumn<'_>]) -> TokenStream {
    let keys: Vec<&str> = rows.iter().map(|row| row.key).collect();
    let mut variants: Vec<String> = keys.iter().map(|key| names::variant_name(key)).collect();
    names::reserve_unknown(&mut variants);
    names::make_distinct(&keys, &mut variants);
    let docs: Vec<Vec<String>> = rows.iter().map(|row| row_docs(config, row)).collect();
    let table = if columns.is_empty() { None } else { Some(row_items(config, &variants, rows, columns)) };
    let values = keys.iter().zip(&variants).zip(docs);
    let values =
        values.map(|((key, name), doc)| StringValue { wire: (*key).to_owned(), name: name.clone(), doc });
    let item = StringEnumItem { name: &config.name, doc: enum_docs(config), values: values.collect() };
    let item = item.to_tokens(config.open);
    let enums = columns.iter().filter_map(TableColumn::enum_item);
    quote!(#item #table #(#enums)*)
}

fn enum_docs(config: &TableConfig) -> Vec<String> {
    let mut doc = vec![if config.doc.is_empty() {
        format!("The rows of `{}`.", config.file.display())
    } else {
        rustdoc_markdown(&config.doc)
    }];
    doc.extend(config.open.then(|| "A value without a row is kept as a string.".to_owned()));
    doc
}

fn row_docs(config: &TableConfig, row: &TableRow<'_>) -> Vec<String> {
    let text = config.describe.as_deref().and_then(|column| row.tree.get(column)?.as_str());
    text.map(rustdoc_markdown).into_iter().collect()
}

/// Generates a private struct for the columns, a function that returns an instance of this struct for each
/// variant, and the accessors.
fn row_items(
    config: &TableConfig,
    variants: &[String],
    rows: &[TableRow<'_>],
    columns: &[TableColumn<'_>],
) -> TokenStream {
    let name = ident(&config.name);
    let row_type = format_ident!("{}Row", config.name);
    let fields = columns.iter().map(TableColumn::struct_field);
    let variants: Vec<_> = variants.iter().map(|variant| ident(variant)).collect();
    let values = (0..rows.len()).map(|row| {
        let values = columns.iter().map(|column| column.row_value(row));
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
