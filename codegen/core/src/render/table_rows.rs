//! Formats the operation table and other tables: one line for each field of a row and for each element of a
//! list field, regardless of its length. Tables are data and make up a large part of the output.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Item, ItemStatic, parse::ParseStream};

use super::{format_items, macro_calls};

/// The preferred line width in columns, which a single element may exceed.
const MAX_COLUMNS: usize = 100;
/// The indentation of each nesting level, in columns.
const INDENT: usize = 4;

/// Parses and formats a static table `static NAME: TYPE = &[…];` that is marked `#[rustfmt::skip]`. Returns `None` for
/// any other item, which stays in the input. The rows are never parsed into a syntax tree, which would take several
/// times as long.
///
/// # Errors
///
/// Returns an error if the declaration is not valid Rust.
pub(super) fn parse_table(input: ParseStream<'_>) -> syn::Result<Option<String>> {
    let Some((head, rows)) = split_table(input) else { return Ok(None) };
    input.step(|cursor| {
        let mut rest = *cursor;
        while let Some((token, next)) = rest.token_tree() {
            rest = next;
            if is_punct(&token, ';') {
                break;
            }
        }
        Ok(((), rest))
    })?;
    let item: ItemStatic = syn::parse2(head)?;
    let head = format_items(Vec::new(), vec![Item::Static(item)]);
    let mut out = head.trim_end().trim_end_matches("&[];").to_owned();
    write_elements(&rows, 0, &mut out, |row, out| write_value(row, INDENT, out));
    out.push_str(";\n");
    Ok(Some(out))
}

/// Returns the declaration of the table at the start of the input with an empty list, and the list.
fn split_table(input: ParseStream<'_>) -> Option<(TokenStream, Group)> {
    let mut cursor = input.cursor();
    let mut is_skipped = false;
    while let Some((_, rest)) = cursor.punct().filter(|(sign, _)| sign.as_char() == '#') {
        let (attribute, next) = rest.token_tree()?;
        let TokenTree::Group(attribute) = attribute else { return None };
        is_skipped |= is_rustfmt_skip(&attribute);
        cursor = next;
    }
    if !is_skipped {
        return None;
    }
    let mut head = TokenStream::new();
    let mut cursor = input.cursor();
    let mut is_static = false;
    loop {
        let (token, rest) = cursor.token_tree()?;
        is_static |= matches!(&token, TokenTree::Ident(word) if word == "static");
        let is_value = is_static && is_punct(&token, '=');
        head.extend([token]);
        cursor = rest;
        if is_value {
            break;
        }
    }
    let (reference, rest) = cursor.token_tree().filter(|(token, _)| is_punct(token, '&'))?;
    let (list, rest) = rest.token_tree()?;
    rest.token_tree().filter(|(token, _)| is_punct(token, ';'))?;
    let TokenTree::Group(list) = list else { return None };
    head.extend([reference]);
    head.extend(quote::quote!([];));
    (list.delimiter() == Delimiter::Bracket).then_some((head, list))
}

fn is_rustfmt_skip(attribute: &Group) -> bool {
    let words = attribute.stream().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word),
        _ => None,
    });
    words.eq(["rustfmt", "skip"])
}

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Formats an expression that starts at column `indent`: on one line if it fits, or else with one line for
/// each field or element.
fn write_value(tokens: &[TokenTree], indent: usize, out: &mut String) {
    let start = out.len();
    macro_calls::write_tokens(tokens, out);
    if indent + out.len() - start <= MAX_COLUMNS {
        return;
    }
    let Some((TokenTree::Group(group), head)) = tokens.split_last() else { return };
    match group.delimiter() {
        Delimiter::Brace => {
            out.truncate(start);
            write_fields(head, group, indent, out);
        }
        Delimiter::Parenthesis => {
            let arguments = split_list(group);
            if let [argument] = arguments.as_slice() {
                out.truncate(start);
                macro_calls::write_tokens(head, out);
                out.push('(');
                write_value(argument, indent, out);
                out.push(')');
            }
        }
        // If a list does not fit, each of its elements is on one line.
        Delimiter::Bracket if matches!(head, [sign] if is_punct(sign, '&')) => {
            out.truncate(start);
            write_elements(group, indent, out, macro_calls::write_tokens);
        }
        Delimiter::Bracket | Delimiter::None => {}
    }
}

fn write_fields(path: &[TokenTree], fields: &Group, indent: usize, out: &mut String) {
    let inside = indent + INDENT;
    macro_calls::write_tokens(path, out);
    out.push_str(" {\n");
    for field in split_list(fields) {
        push_spaces(inside, out);
        match field.as_slice() {
            [name, colon, value @ ..] if is_punct(colon, ':') => {
                macro_calls::write_tokens(std::slice::from_ref(name), out);
                out.push_str(": ");
                write_value(value, inside, out);
                out.push(',');
            }
            // The remaining fields are those of a base: `..BASE`.
            base if base.first().is_some_and(|token| is_punct(token, '.')) => {
                macro_calls::write_tokens(base, out)
            }
            shorthand => {
                macro_calls::write_tokens(shorthand, out);
                out.push(',');
            }
        }
        out.push('\n');
    }
    push_spaces(indent, out);
    out.push('}');
}

fn write_elements(list: &Group, indent: usize, out: &mut String, write: impl Fn(&[TokenTree], &mut String)) {
    out.push_str("&[\n");
    for element in split_list(list) {
        push_spaces(indent + INDENT, out);
        write(&element, out);
        out.push_str(",\n");
    }
    push_spaces(indent, out);
    out.push(']');
}

/// Returns the elements of a list in brackets, separated by commas.
fn split_list(list: &Group) -> Vec<Vec<TokenTree>> {
    macro_calls::split_at_commas(list.stream())
}

fn push_spaces(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', count));
}

#[cfg(test)]
mod tests {
    use quote::quote;
    use syn::parse::Parser as _;

    use super::*;

    fn print_table(tokens: TokenStream) -> Option<String> {
        (|input: ParseStream<'_>| {
            let table = parse_table(input)?;
            let _rest: TokenStream = input.parse()?;
            Ok(table)
        })
        .parse2(tokens)
        .unwrap()
    }

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
        assert_eq!(print_table(table).unwrap(), expect);
        assert_eq!(
            print_table(quote!(
                static ROWS: &[Row] = &[A];
            )),
            None
        );
    }
}
