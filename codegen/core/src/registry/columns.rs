//! Infers the types of the columns of a registry table from all rows.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{TableRow, table_error};
use crate::{
    config::TableConfig,
    constraint_text::sanitize_comment,
    diagnostics::Diagnostics,
    emit::ident,
    names,
    operations::{StringEnumItem, StringValue},
    tree::{DocumentLocation, DocumentNode, NodeValue, join_token},
};

/// The maximum number of distinct values of a string column that becomes an enum.
const ENUM_LIMIT: usize = 16;

/// The names of other methods of the generated enum, which accessors must not have.
const RESERVED_ACCESSORS: &[&str] =
    &["as_str", "as_ref", "is_known", "unknown", "row", "clone", "cmp", "eq", "fmt", "hash", "from"];

/// The type of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnType {
    Bool,
    U16,
    U32,
    I64,
    String,
    Strings,
}

/// A column of the table, for which the enum has an accessor.
pub(super) struct TableColumn<'a> {
    wire: &'a str,
    name: String,
    kind: ColumnType,
    optional: bool,
    /// For a column that is configured as an enum: its name, and the distinct strings with their variant
    /// names.
    enumeration: Option<(&'a str, Vec<(&'a str, String)>)>,
    /// The value of each row, or `None` if it is missing or `null`.
    values: Vec<Option<&'a DocumentNode>>,
}

/// Infers the columns of the rows, in the order of their first occurrence. The key and the columns in `skip`
/// are omitted. Inconsistent columns are reported.
pub(super) fn infer_columns<'a>(
    config: &'a TableConfig,
    rows: &[TableRow<'a>],
    diagnostics: &mut Diagnostics,
) -> Vec<TableColumn<'a>> {
    let mut wires: Vec<&'a str> = Vec::new();
    for member in rows.iter().flat_map(|row| row.tree.members()) {
        if member.key != config.key && !wires.contains(&member.key.as_str()) {
            wires.push(&member.key);
        }
    }
    let options = config.enums.keys().chain(&config.skip).chain(&config.describe);
    for option in options.filter(|option| !rows.is_empty() && !wires.contains(&option.as_str())) {
        let message = format!("no row has a column `{option}`");
        diagnostics.push(table_error(config, &message).with_place(rows[0].place.clone()));
    }
    wires.retain(|wire| !config.skip.iter().any(|skipped| skipped == wire));
    let mut names: Vec<String> = wires.iter().map(|wire| accessor_name(wire)).collect();
    names::make_distinct(&wires, &mut names);
    let columns = wires.into_iter().zip(names);
    columns.filter_map(|(wire, name)| infer_column(config, wire, name, rows, diagnostics)).collect()
}

fn accessor_name(wire: &str) -> String {
    let name = names::field_name(wire);
    if RESERVED_ACCESSORS.contains(&name.as_str()) { format!("{name}_value") } else { name }
}

fn infer_column<'a>(
    config: &'a TableConfig,
    wire: &'a str,
    name: String,
    rows: &[TableRow<'a>],
    diagnostics: &mut Diagnostics,
) -> Option<TableColumn<'a>> {
    let mut kind: Option<ColumnType> = None;
    let mut values = Vec::new();
    for row in rows {
        let tree = row.tree.get(wire).filter(|tree| tree.value != NodeValue::Null);
        values.push(tree);
        let Some(tree) = tree else { continue };
        let place = || DocumentLocation {
            span: tree.span,
            pointer: join_token(&row.place.pointer, wire),
            ..row.place.clone()
        };
        let Some(found) = column_type(tree) else {
            let message =
                format!("column `{wire}` cannot contain {}; skip it with `skip`", tree.kind_with_article());
            diagnostics.push(table_error(config, &message).with_place(place()));
            return None;
        };
        match kind.map_or(Some(found), |kind| common_type(kind, found)) {
            Some(wider) => kind = Some(wider),
            None => {
                let message = format!(
                    "column `{wire}` contains {} here, and values of another type in previous rows",
                    tree.kind_with_article()
                );
                diagnostics.push(table_error(config, &message).with_place(place()));
                return None;
            }
        }
    }
    // A column that contains only `null` has no type and is omitted.
    let kind = kind?;
    let optional = values.iter().any(Option::is_none);
    let mut column = TableColumn { wire, name, kind, optional, enumeration: None, values };
    if let Some(name) = config.enums.get(wire) {
        match column.enum_variants() {
            Ok(distinct) => column.enumeration = Some((name, distinct)),
            Err(reason) => {
                let message = format!("column `{wire}` cannot become an enum: {reason}");
                let place = rows.first().map(|row| row.place.clone()).unwrap_or_default();
                diagnostics.push(table_error(config, &message).with_place(place));
            }
        }
    }
    Some(column)
}

fn column_type(tree: &DocumentNode) -> Option<ColumnType> {
    match &tree.value {
        NodeValue::Bool(_) => Some(ColumnType::Bool),
        NodeValue::String(_) => Some(ColumnType::String),
        NodeValue::Array(elements) => {
            elements.iter().all(|element| element.as_str().is_some()).then_some(ColumnType::Strings)
        }
        NodeValue::Number(text) if text.parse::<u16>().is_ok() => Some(ColumnType::U16),
        NodeValue::Number(text) if text.parse::<u32>().is_ok() => Some(ColumnType::U32),
        NodeValue::Number(text) if text.parse::<i64>().is_ok() => Some(ColumnType::I64),
        NodeValue::Null | NodeValue::Number(_) | NodeValue::Object(_) => None,
    }
}

/// Returns the narrowest type that can hold the values of both types, or `None` if there is none.
fn common_type(one: ColumnType, other: ColumnType) -> Option<ColumnType> {
    let rank = |kind| match kind {
        ColumnType::U16 => Some(0),
        ColumnType::U32 => Some(1),
        ColumnType::I64 => Some(2),
        ColumnType::Bool | ColumnType::String | ColumnType::Strings => None,
    };
    match (rank(one), rank(other)) {
        _ if one == other => Some(one),
        (Some(a), Some(b)) => Some(if a > b { one } else { other }),
        _ => None,
    }
}

impl<'a> TableColumn<'a> {
    /// Generates the enum of the column's values, or returns `None` if the column is not configured as an
    /// enum.
    pub(super) fn enum_item(&self) -> Option<TokenStream> {
        let (name, values) = self.enumeration.as_ref()?;
        let values = values.iter().map(|(wire, name)| StringValue {
            wire: (*wire).to_owned(),
            name: name.clone(),
            doc: Vec::new(),
        });
        let doc = vec![format!("The values of `{}`.", self.wire)];
        Some(StringEnumItem { name, doc, values: values.collect() }.to_tokens(false))
    }

    /// Generates the field of the row struct, such as `status: u16`.
    pub(super) fn struct_field(&self) -> TokenStream {
        let name = ident(&self.name);
        let ty = self.rust_type();
        let ty = if self.optional { quote!(Option<#ty>) } else { ty };
        quote!(#name: #ty)
    }

    /// Generates the field value for one row, such as `status: 404`.
    pub(super) fn row_value(&self, row: usize) -> TokenStream {
        let name = ident(&self.name);
        let value = match self.values.get(row).copied().flatten().map(|tree| self.value_literal(tree)) {
            Some(value) if self.optional => quote!(Some(#value)),
            Some(value) => value,
            None => quote!(None),
        };
        quote!(#name: #value)
    }

    /// Generates the accessor of the column. In an open table, it returns `None` for values without a row.
    pub(super) fn accessor(&self, open: bool) -> TokenStream {
        let name = ident(&self.name);
        let ty = self.rust_type();
        let about = format!(" `{}` of the row.", sanitize_comment(self.wire));
        match (open, self.optional) {
            (false, optional) => {
                let ty = if optional { quote!(Option<#ty>) } else { ty };
                quote! {
                    #[doc = #about]
                    #[must_use]
                    pub const fn #name(self) -> #ty {
                        self.row().#name
                    }
                }
            }
            (true, optional) => {
                let read = if optional {
                    quote!(self.row().and_then(|row| row.#name))
                } else {
                    quote!(self.row().map(|row| row.#name))
                };
                quote! {
                    #[doc = #about]
                    #[must_use]
                    pub fn #name(&self) -> Option<#ty> {
                        #read
                    }
                }
            }
        }
    }

    fn rust_type(&self) -> TokenStream {
        let text = match &self.enumeration {
            Some((name, _)) => {
                let name = ident(name);
                quote!(#name)
            }
            None => quote!(&'static str),
        };
        match self.kind {
            ColumnType::Bool => quote!(bool),
            ColumnType::U16 => quote!(u16),
            ColumnType::U32 => quote!(u32),
            ColumnType::I64 => quote!(i64),
            ColumnType::String => text,
            ColumnType::Strings => quote!(&'static [#text]),
        }
    }

    fn value_literal(&self, tree: &DocumentNode) -> TokenStream {
        match &tree.value {
            NodeValue::Bool(value) => quote!(#value),
            NodeValue::Number(text) => {
                let number = text.parse().map(Literal::i64_unsuffixed);
                number.map_or_else(|_| quote!(0), |number| quote!(#number))
            }
            NodeValue::Array(elements) => {
                let elements = elements.iter().map(|element| self.value_literal(element));
                quote!(&[#(#elements),*])
            }
            NodeValue::String(text) => match &self.enumeration {
                Some((name, values)) => {
                    let name = ident(name);
                    let known = values.iter().find(|(wire, _)| wire == text);
                    let variant = known.map(|(_, variant)| ident(variant));
                    quote!(#name::#variant)
                }
                None => quote!(#text),
            },
            NodeValue::Null | NodeValue::Object(_) => quote!(None),
        }
    }

    /// Returns the distinct strings of the column with their variant names, or the reason why the column
    /// cannot become an enum.
    fn enum_variants(&self) -> Result<Vec<(&'a str, String)>, String> {
        if !matches!(self.kind, ColumnType::String | ColumnType::Strings) {
            return Err("it does not contain strings".to_owned());
        }
        let mut wires: Vec<&'a str> = Vec::new();
        for tree in self.values.iter().flatten() {
            let own = std::slice::from_ref(*tree).iter().chain(tree.elements());
            for text in own.filter_map(DocumentNode::as_str) {
                let words = text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
                if text.is_empty() || !words {
                    return Err(format!(
                        "the value `{text}` is empty or has characters other than letters, digits, `-`, `_` and `.`"
                    ));
                }
                if !wires.contains(&text) {
                    wires.push(text);
                }
            }
        }
        if wires.len() > ENUM_LIMIT {
            return Err(format!("it has more than {ENUM_LIMIT} values"));
        }
        let mut names: Vec<String> = wires.iter().map(|wire| names::variant_name(wire)).collect();
        names::make_distinct(&wires, &mut names);
        Ok(wires.into_iter().zip(names).collect())
    }
}
