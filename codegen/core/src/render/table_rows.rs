//! Formats the operation table and other tables: one line for each field of a row and for each element of a
//! list field, regardless of its length. Tables are data and make up a large part of the output.

use quote::ToTokens;
use syn::{Attribute, Expr, ExprArray, ExprStruct, Item, ItemStatic, parse_quote};

use super::{format_items, macro_calls::format_tokens};

/// The preferred line width in columns, which a single element may exceed.
const MAX_COLUMNS: usize = 100;
/// The indentation of each nesting level, in columns.
const INDENT: usize = 4;

/// Formats a static table, which is marked `#[rustfmt::skip]`. Returns `None` for any other static item.
pub(super) fn print_table(item: &ItemStatic) -> Option<String> {
    item.attrs.iter().find(|attribute| is_skip(attribute))?;
    let rows = slice_elements(&item.expr)?;
    let empty = ItemStatic { expr: parse_quote!(&[]), ..item.clone() };
    let head = format_items(Vec::new(), vec![Item::Static(empty)]);
    Some(format!(
        "{}{};\n",
        head.strip_suffix("&[];\n")?,
        format_elements(rows, 0, &|row| format_value(row, INDENT))
    ))
}

fn is_skip(attribute: &Attribute) -> bool {
    let path = attribute.path();
    path.segments.len() == 2 && path.segments.iter().map(|segment| &segment.ident).eq(["rustfmt", "skip"])
}

/// Returns the elements of a slice expression `&[…]`, or `None` for any other expression.
fn slice_elements(value: &Expr) -> Option<&ExprArray> {
    match value {
        Expr::Reference(reference) => match &*reference.expr {
            Expr::Array(array) => Some(array),
            _ => None,
        },
        _ => None,
    }
}

fn format_flat(value: &impl ToTokens) -> String {
    format_tokens(value.to_token_stream())
}

/// Formats an expression that starts at column `indent`: on one line if it fits, or else with one line for
/// each field or element.
fn format_value(of: &Expr, indent: usize) -> String {
    let line = format_flat(of);
    if indent + line.len() <= MAX_COLUMNS {
        return line;
    }
    match of {
        Expr::Struct(row) => format_fields(row, indent),
        Expr::Call(call) => match call.args.first() {
            Some(only) if call.args.len() == 1 => {
                format!("{}({})", format_flat(&call.func), format_value(only, indent))
            }
            _ => line,
        },
        // If a list does not fit, each of its elements is on one line.
        other => slice_elements(other)
            .map_or(line, |array| format_elements(array, indent, &|element: &Expr| format_flat(element))),
    }
}

fn format_fields(row: &ExprStruct, indent: usize) -> String {
    let inside = indent + INDENT;
    let mut out = format!("{} {{\n", format_flat(&row.path));
    for field in &row.fields {
        let head = format!("{}: ", format_flat(&field.member));
        out.push_str(&format!("{:inside$}{head}{},\n", "", format_value(&field.expr, inside)));
    }
    if let Some(rest) = &row.rest {
        out.push_str(&format!("{:inside$}..{}\n", "", format_flat(rest)));
    }
    out + &format!("{:indent$}}}", "")
}

fn format_elements(array: &ExprArray, indent: usize, print: &dyn Fn(&Expr) -> String) -> String {
    let inside = indent + INDENT;
    let mut out = String::from("&[\n");
    for element in &array.elems {
        out.push_str(&format!("{:inside$}{},\n", "", print(element)));
    }
    out + &format!("{:indent$}]", "")
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    #[test]
    fn each_list_element_has_its_own_line() {
        let table = quote! {
            /// Rows.
            #[rustfmt::skip]
            pub static ROWS: &[Row] = &[
                Row {
                    id: "a, b",
                    tags: &["a", "b"],
                    parameters: &[Parameter { name: "a longer name", shape: Of(Types::A.or(Types::B)), ..Parameter::PATH }, OTHER],
                    body: Some(Body { required: true, content: &[Content { media_type: "application/json", pairs: &[("a", -1), ("b", 2)] }] }),
                    servers: &[]
                },
            ];
        };
        let item: ItemStatic = syn::parse2(table).unwrap();
        let expect = r#"/// Rows.
#[rustfmt::skip]
pub static ROWS: &[Row] = &[
    Row {
        id: "a, b",
        tags: &["a", "b"],
        parameters: &[
            Parameter { name: "a longer name", shape: Of(Types::A.or(Types::B)), ..Parameter::PATH },
            OTHER,
        ],
        body: Some(Body {
            required: true,
            content: &[Content { media_type: "application/json", pairs: &[("a", -1), ("b", 2)] }],
        }),
        servers: &[],
    },
];
"#;
        assert_eq!(print_table(&item).unwrap(), expect);
        assert_eq!(
            print_table(&parse_quote!(
                static ROWS: &[Row] = &[A];
            )),
            None
        );
    }
}
