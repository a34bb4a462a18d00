//! Prints tables of operations: a line for each field of a row, and for each element of a field that
//! is a list, however long. They are data, and a large part of what is generated.

use quote::ToTokens;
use syn::{Attribute, Expr, ExprArray, ExprStruct, Item, ItemStatic, parse_quote};

use super::{calls::text, unparse};

/// How long a line is at most, where an element does not make it longer.
const WIDTH: usize = 100;
/// How much further in what stands inside something is.
const STEP: usize = 4;

/// A list of rows that no formatter may touch; nothing for any other static.
pub(super) fn print(item: &ItemStatic) -> Option<String> {
    item.attrs.iter().find(|attribute| is_skip(attribute))?;
    let rows = list(&item.expr)?;
    let empty = ItemStatic { expr: parse_quote!(&[]), ..item.clone() };
    let head = unparse(Vec::new(), vec![Item::Static(empty)]);
    Some(format!("{}{};\n", head.strip_suffix("&[];\n")?, lines(rows, 0, &|row| value(row, STEP))))
}

fn is_skip(attribute: &Attribute) -> bool {
    let path = attribute.path();
    path.segments.len() == 2 && path.segments.iter().map(|segment| &segment.ident).eq(["rustfmt", "skip"])
}

/// The elements of `&[…]`.
fn list(value: &Expr) -> Option<&ExprArray> {
    match value {
        Expr::Reference(reference) => match &*reference.expr {
            Expr::Array(array) => Some(array),
            _ => None,
        },
        _ => None,
    }
}

fn flat(value: &impl ToTokens) -> String {
    text(value.to_token_stream())
}

/// A value behind `indent` columns: on the rest of the line where it fits, else opened.
fn value(of: &Expr, indent: usize) -> String {
    let line = flat(of);
    if indent + line.len() <= WIDTH {
        return line;
    }
    match of {
        Expr::Struct(row) => fields(row, indent),
        Expr::Call(call) => match call.args.first() {
            Some(only) if call.args.len() == 1 => format!("{}({})", flat(&call.func), value(only, indent)),
            _ => line,
        },
        // An element is one row, whatever it holds.
        other => list(other).map_or(line, |array| lines(array, indent, &|element: &Expr| flat(element))),
    }
}

fn fields(row: &ExprStruct, indent: usize) -> String {
    let inside = indent + STEP;
    let mut out = format!("{} {{\n", flat(&row.path));
    for field in &row.fields {
        let head = format!("{}: ", flat(&field.member));
        out.push_str(&format!("{:inside$}{head}{},\n", "", value(&field.expr, inside)));
    }
    if let Some(rest) = &row.rest {
        out.push_str(&format!("{:inside$}..{}\n", "", flat(rest)));
    }
    out + &format!("{:indent$}}}", "")
}

fn lines(array: &ExprArray, indent: usize, print: &dyn Fn(&Expr) -> String) -> String {
    let inside = indent + STEP;
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
    fn each_element_of_a_field_is_a_line() {
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
        assert_eq!(print(&item).unwrap(), expect);
        assert_eq!(
            print(&parse_quote!(
                static ROWS: &[Row] = &[A];
            )),
            None
        );
    }
}
