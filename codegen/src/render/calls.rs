//! Prints calls of the runtime's macros that take lists: one line where they fit, else a line for
//! each list.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::{ItemMacro, MacroDelimiter};

/// How long a line is at most, where a row does not make it longer.
const WIDTH: usize = 100;

/// A call whose braces hold a head and, in braces, lists with a word in front of each; nothing for
/// any other.
pub(super) fn print(call: &ItemMacro) -> Option<String> {
    if !matches!(call.mac.delimiter, MacroDelimiter::Brace(_)) {
        return None;
    }
    let mut head: Vec<TokenTree> = call.mac.tokens.clone().into_iter().collect();
    let Some(TokenTree::Group(body)) = head.pop() else { return None };
    if body.delimiter() != Delimiter::Brace {
        return None;
    }
    let (path, head) = (path(call), text(head.into_iter().collect()));
    let sections = sections(body.stream());
    let inside: Vec<String> = sections.iter().map(Section::line).collect();
    let line = format!("{path}! {{ {head} {{ {} }} }}", inside.join(" "));
    if line.len() <= WIDTH {
        return Some(line.replace("{  }", "{}") + "\n");
    }
    let mut out = format!("{path}! {{\n    {head} {{\n");
    for section in &sections {
        section.print(&mut out);
    }
    out.push_str("    }\n}\n");
    Some(out)
}

/// A macro's path as it is called.
pub(super) fn path(call: &ItemMacro) -> String {
    let path = &call.mac.path;
    text(quote::quote!(#path))
}

/// A word, and the rows in its braces or whatever else stands there.
struct Section {
    head: String,
    rows: Vec<String>,
}

impl Section {
    fn line(&self) -> String {
        match self.rows.as_slice() {
            [] => self.head.clone(),
            rows => format!("{} {{ {} }}", self.head, rows.join(", ")),
        }
    }

    fn print(&self, out: &mut String) {
        let line = self.line();
        if line.len() + 8 <= WIDTH || self.rows.is_empty() {
            out.push_str(&format!("        {line}\n"));
            return;
        }
        out.push_str(&format!("        {} {{\n", self.head));
        let mut line = String::new();
        for row in &self.rows {
            if !line.is_empty() && line.len() + row.len() + 14 > WIDTH {
                out.push_str(&format!("            {line}\n"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(row);
            line.push(',');
        }
        out.push_str(&format!("            {line}\n        }}\n"));
    }
}

fn sections(body: TokenStream) -> Vec<Section> {
    let mut out = Vec::new();
    let mut head = Vec::new();
    for token in body {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let head = text(std::mem::take(&mut head).into_iter().collect());
                out.push(Section { head, rows: rows(group.stream()) });
            }
            other => head.push(other),
        }
    }
    if !head.is_empty() {
        out.push(Section { head: text(head.into_iter().collect()), rows: Vec::new() });
    }
    out
}

/// What commas separate, those inside `<…>` aside.
fn rows(list: TokenStream) -> Vec<String> {
    let mut out = Vec::new();
    let mut row: Vec<TokenTree> = Vec::new();
    let mut depth = 0usize;
    for token in list {
        match &token {
            TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
            TokenTree::Punct(p) if p.as_char() == '>' => depth = depth.saturating_sub(1),
            TokenTree::Punct(p) if p.as_char() == ',' && depth == 0 => {
                out.push(text(std::mem::take(&mut row).into_iter().collect()));
                continue;
            }
            _ => {}
        }
        row.push(token);
    }
    if !row.is_empty() {
        out.push(text(row.into_iter().collect()));
    }
    out
}

/// Tokens as people space them where there are names, types, constants and paths.
pub(super) fn text(tokens: TokenStream) -> String {
    let mut out = String::new();
    let mut tight = true;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{ ", " }"),
                    Delimiter::None => ("", ""),
                };
                // `f(a)`, but `(a, (b, c))`.
                if !tight && (group.delimiter() != Delimiter::Parenthesis || out.ends_with([',', ':'])) {
                    out.push(' ');
                }
                out.push_str(open);
                out.push_str(&text(group.stream()));
                out.push_str(close);
                tight = false;
            }
            TokenTree::Punct(punct) => match punct.as_char() {
                // `a.b`, but `a, ..b`.
                '.' => {
                    if !tight && punct.spacing() == Spacing::Joint {
                        out.push(' ');
                    }
                    out.push('.');
                    tight = true;
                }
                sign @ (',' | ';' | '>') => {
                    out.push(sign);
                    tight = false;
                }
                ':' => {
                    // `a::b`, but `a: b`.
                    let path = punct.spacing() == Spacing::Joint || out.ends_with(':');
                    out.push(':');
                    tight = path;
                }
                sign @ ('<' | '&' | '-') => {
                    if !tight && sign != '<' {
                        out.push(' ');
                    }
                    out.push(sign);
                    tight = true;
                }
                sign => {
                    if !tight {
                        out.push(' ');
                    }
                    out.push(sign);
                    tight = false;
                }
            },
            word => {
                if !tight {
                    out.push(' ');
                }
                out.push_str(&word.to_string());
                tight = false;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn check(tokens: TokenStream, expect: &str) {
        let call: ItemMacro = syn::parse2(tokens).unwrap();
        assert_eq!(print(&call).unwrap(), expect);
    }

    #[test]
    fn lists_stand_on_one_line_or_each_on_its_own() {
        check(
            quote!(::runtime::object! { A { tag { op = "op" is -1 } extra undeclared } }),
            "::runtime::object! { A { tag { op = \"op\" is -1 } extra undeclared } }\n",
        );
        check(quote!(builder! { A ABuilder {} }), "builder! { A ABuilder {} }\n");
        check(
            quote! { builder! { A ABuilder {
                required { first_member: list Vec<super::codes::Code> = "firstMember", second: one (A, B) = "b" }
                optional { third: one Map<Vec<String>> = "third" }
            } } },
            concat!(
                "builder! {\n    A ABuilder {\n        required {\n",
                "            first_member: list Vec<super::codes::Code> = \"firstMember\", second: one(A, B) = \"b\",\n",
                "        }\n        optional { third: one Map<Vec<String>> = \"third\" }\n    }\n}\n",
            ),
        );
    }
}
