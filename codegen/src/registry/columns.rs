//! The columns of a table: their types, inferred from all rows.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Row, error};
use crate::{
    config::Table,
    diagnostics::Diagnostics,
    emit::ident,
    names,
    operations::{StringEnum, StringValue},
    tree::{Place, Tree, Value, join},
};

/// How many values a string column has that becomes an enum, at most.
const ENUM_LIMIT: usize = 16;

/// Accessor names that the enum itself has.
const TAKEN: &[&str] =
    &["as_str", "as_ref", "is_known", "unknown", "row", "clone", "cmp", "eq", "fmt", "hash", "from"];

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    U16,
    U32,
    I64,
    Text,
    Texts,
}

/// A column.
pub(super) struct Column<'a> {
    wire: &'a str,
    name: String,
    kind: Kind,
    optional: bool,
    /// Name of the enum that its strings become, with their distinct values.
    enumeration: Option<(&'a str, Vec<(&'a str, String)>)>,
    /// Per row; `None` where it is missing or `null`.
    values: Vec<Option<&'a Tree>>,
}

/// All columns but the key and those left out, in the order in which rows first have them.
pub(super) fn columns<'a>(
    config: &'a Table,
    rows: &[Row<'a>],
    diagnostics: &mut Diagnostics,
) -> Vec<Column<'a>> {
    let mut wires: Vec<&'a str> = Vec::new();
    for member in rows.iter().flat_map(|row| row.tree.members()) {
        if member.key != config.key && !wires.contains(&member.key.as_str()) {
            wires.push(&member.key);
        }
    }
    let options = config.enums.keys().chain(&config.skip).chain(&config.describe);
    for option in options.filter(|option| !rows.is_empty() && !wires.contains(&option.as_str())) {
        let message = format!("no row has a column `{option}`");
        diagnostics.push(error(config, &message).at(rows[0].place.clone()));
    }
    wires.retain(|wire| !config.skip.iter().any(|skipped| skipped == wire));
    let mut names: Vec<String> = wires.iter().map(|wire| accessor_name(wire)).collect();
    names::make_distinct(&wires, &mut names);
    let columns = wires.into_iter().zip(names);
    columns.filter_map(|(wire, name)| column(config, wire, name, rows, diagnostics)).collect()
}

fn accessor_name(wire: &str) -> String {
    let name = names::field_name(wire);
    if TAKEN.contains(&name.as_str()) { format!("{name}_value") } else { name }
}

fn column<'a>(
    config: &'a Table,
    wire: &'a str,
    name: String,
    rows: &[Row<'a>],
    diagnostics: &mut Diagnostics,
) -> Option<Column<'a>> {
    let mut kind: Option<Kind> = None;
    let mut values = Vec::new();
    for row in rows {
        let tree = row.tree.get(wire).filter(|tree| tree.value != Value::Null);
        values.push(tree);
        let Some(tree) = tree else { continue };
        let place =
            || Place { span: tree.span, pointer: join(&row.place.pointer, wire), ..row.place.clone() };
        let Some(found) = kind_of(tree) else {
            let message = format!("column `{wire}` cannot hold {}; leave it out with `skip`", tree.kind());
            diagnostics.push(error(config, &message).at(place()));
            return None;
        };
        match kind.map_or(Some(found), |kind| both(kind, found)) {
            Some(wider) => kind = Some(wider),
            None => {
                let message = format!("column `{wire}` holds {} here and something else before", tree.kind());
                diagnostics.push(error(config, &message).at(place()));
                return None;
            }
        }
    }
    // A column of `null` alone says nothing.
    let kind = kind?;
    let optional = values.iter().any(Option::is_none);
    let mut column = Column { wire, name, kind, optional, enumeration: None, values };
    if let Some(name) = config.enums.get(wire) {
        match column.distinct() {
            Ok(distinct) => column.enumeration = Some((name, distinct)),
            Err(reason) => {
                let message = format!("column `{wire}` is no enum: {reason}");
                let place = rows.first().map(|row| row.place.clone()).unwrap_or_default();
                diagnostics.push(error(config, &message).at(place));
            }
        }
    }
    Some(column)
}

fn kind_of(tree: &Tree) -> Option<Kind> {
    match &tree.value {
        Value::Bool(_) => Some(Kind::Bool),
        Value::String(_) => Some(Kind::Text),
        Value::Array(elements) => {
            elements.iter().all(|element| element.as_str().is_some()).then_some(Kind::Texts)
        }
        Value::Number(text) if text.parse::<u16>().is_ok() => Some(Kind::U16),
        Value::Number(text) if text.parse::<u32>().is_ok() => Some(Kind::U32),
        Value::Number(text) if text.parse::<i64>().is_ok() => Some(Kind::I64),
        Value::Null | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The kind that holds both.
fn both(one: Kind, other: Kind) -> Option<Kind> {
    let rank = |kind| match kind {
        Kind::U16 => Some(0),
        Kind::U32 => Some(1),
        Kind::I64 => Some(2),
        Kind::Bool | Kind::Text | Kind::Texts => None,
    };
    match (rank(one), rank(other)) {
        _ if one == other => Some(one),
        (Some(a), Some(b)) => Some(if a > b { one } else { other }),
        _ => None,
    }
}

impl<'a> Column<'a> {
    /// The enum of its values, when it is one.
    pub(super) fn enumeration(&self) -> Option<TokenStream> {
        let (name, values) = self.enumeration.as_ref()?;
        let values = values.iter().map(|(wire, name)| StringValue {
            wire: (*wire).to_owned(),
            name: name.clone(),
            doc: Vec::new(),
        });
        let doc = vec![format!("The values of `{}`.", self.wire)];
        Some(StringEnum { name, doc, values: values.collect() }.tokens(false))
    }

    /// `status: u16`
    pub(super) fn field(&self) -> TokenStream {
        let name = ident(&self.name);
        let ty = self.ty();
        let ty = if self.optional { quote!(Option<#ty>) } else { ty };
        quote!(#name: #ty)
    }

    /// `status: 404`
    pub(super) fn value(&self, row: usize) -> TokenStream {
        let name = ident(&self.name);
        let value = match self.values.get(row).copied().flatten().map(|tree| self.literal(tree)) {
            Some(value) if self.optional => quote!(Some(#value)),
            Some(value) => value,
            None => quote!(None),
        };
        quote!(#name: #value)
    }

    /// The method that gives its value. In an open table what no row has gives `None`.
    pub(super) fn accessor(&self, open: bool) -> TokenStream {
        let name = ident(&self.name);
        let ty = self.ty();
        let about = format!(" `{}` of the row.", self.wire);
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

    fn ty(&self) -> TokenStream {
        let text = match &self.enumeration {
            Some((name, _)) => {
                let name = ident(name);
                quote!(#name)
            }
            None => quote!(&'static str),
        };
        match self.kind {
            Kind::Bool => quote!(bool),
            Kind::U16 => quote!(u16),
            Kind::U32 => quote!(u32),
            Kind::I64 => quote!(i64),
            Kind::Text => text,
            Kind::Texts => quote!(&'static [#text]),
        }
    }

    fn literal(&self, tree: &Tree) -> TokenStream {
        match &tree.value {
            Value::Bool(value) => quote!(#value),
            Value::Number(text) => {
                let number = text.parse().map(Literal::i64_unsuffixed);
                number.map_or_else(|_| quote!(0), |number| quote!(#number))
            }
            Value::Array(elements) => {
                let elements = elements.iter().map(|element| self.literal(element));
                quote!(&[#(#elements),*])
            }
            Value::String(text) => match &self.enumeration {
                Some((name, values)) => {
                    let name = ident(name);
                    let known = values.iter().find(|(wire, _)| wire == text);
                    let variant = known.map(|(_, variant)| ident(variant));
                    quote!(#name::#variant)
                }
                None => quote!(#text),
            },
            Value::Null | Value::Object(_) => quote!(None),
        }
    }

    /// The distinct strings with the names of their variants, or why they make no enum.
    fn distinct(&self) -> Result<Vec<(&'a str, String)>, String> {
        if !matches!(self.kind, Kind::Text | Kind::Texts) {
            return Err("it does not hold strings".to_owned());
        }
        let mut wires: Vec<&'a str> = Vec::new();
        for tree in self.values.iter().flatten() {
            let own = std::slice::from_ref(*tree).iter().chain(tree.elements());
            for text in own.filter_map(Tree::as_str) {
                let words = text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
                if text.is_empty() || !words {
                    return Err(format!("`{text}` is not a word"));
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
