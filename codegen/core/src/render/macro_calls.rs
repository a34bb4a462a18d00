//! Formats calls of the runtime's macros that take lists: on one line if the call fits, or else with one line
//! for each list.

use std::fmt::{self, Write as _};

use proc_macro2::{Delimiter, Group, Punct, Spacing, TokenStream, TokenTree};
use syn::{ItemMacro, MacroDelimiter};

/// The preferred line width in columns, which a single row may exceed.
const MAX_COLUMNS: usize = 100;

/// Formats a macro call that consists of a head and lists. Each list is in braces and follows a keyword.
/// Returns `None` for any other macro call.
pub(super) fn print_macro_call(call: &ItemMacro) -> Option<String> {
    if !matches!(call.mac.delimiter, MacroDelimiter::Brace(_)) {
        return None;
    }
    let mut head: Vec<TokenTree> = call.mac.tokens.clone().into_iter().collect();
    let Some(TokenTree::Group(body)) = head.pop() else { return None };
    if body.delimiter() != Delimiter::Brace {
        return None;
    }
    let (path, head) = (macro_path(call), format_tokens(head.into_iter().collect()));
    let sections = parse_sections(body.stream());
    let inside: Vec<String> = sections.iter().map(MacroSection::to_line).collect();
    let line = format!("{path}! {{ {head} {{ {} }} }}", inside.join(" "));
    if line.len() <= MAX_COLUMNS {
        return Some(line.replace("{  }", "{}") + "\n");
    }
    let mut out = format!("{path}! {{\n    {head} {{\n");
    for section in &sections {
        section.write_lines(&mut out);
    }
    out.push_str("    }\n}\n");
    Some(out)
}

/// Returns the path of the macro in a macro call.
pub(super) fn macro_path(call: &ItemMacro) -> String {
    let path = &call.mac.path;
    format_tokens(quote::quote!(#path))
}

/// A part of a macro call: a keyword with a list of rows (`head { rows }`), or plain tokens (`head`).
struct MacroSection {
    head: String,
    rows: Option<Vec<String>>,
}

impl MacroSection {
    fn to_line(&self) -> String {
        match self.rows.as_deref() {
            None => self.head.clone(),
            Some([]) => format!("{} {{}}", self.head),
            Some(rows) => format!("{} {{ {} }}", self.head, rows.join(", ")),
        }
    }

    fn write_lines(&self, out: &mut String) {
        let line = self.to_line();
        let rows = self.rows.as_deref().unwrap_or_default();
        if line.len() + 8 <= MAX_COLUMNS || rows.is_empty() {
            out.push_str(&format!("        {line}\n"));
            return;
        }
        out.push_str(&format!("        {} {{\n", self.head));
        let mut line = String::new();
        for row in rows {
            if !line.is_empty() && line.len() + row.len() + 14 > MAX_COLUMNS {
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

fn parse_sections(body: TokenStream) -> Vec<MacroSection> {
    let mut out = Vec::new();
    let mut head = Vec::new();
    for token in body {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let head = format_tokens(std::mem::take(&mut head).into_iter().collect());
                out.push(MacroSection { head, rows: Some(split_rows(group.stream())) });
            }
            other => head.push(other),
        }
    }
    if !head.is_empty() {
        out.push(MacroSection { head: format_tokens(head.into_iter().collect()), rows: None });
    }
    out
}

fn split_rows(list: TokenStream) -> Vec<String> {
    split_at_commas(list).iter().map(|row| format_trees(row)).collect()
}

/// Splits tokens at commas that are not inside `<…>`. A trailing comma adds no part.
pub(super) fn split_at_commas(list: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut out = Vec::new();
    let mut row: Vec<TokenTree> = Vec::new();
    let mut depth = 0usize;
    for token in list {
        match &token {
            TokenTree::Punct(p) if p.as_char() == '<' => depth += 1,
            TokenTree::Punct(p) if p.as_char() == '>' => depth = depth.saturating_sub(1),
            TokenTree::Punct(p) if p.as_char() == ',' && depth == 0 => {
                out.push(std::mem::take(&mut row));
                continue;
            }
            _ => {}
        }
        row.push(token);
    }
    if !row.is_empty() {
        out.push(row);
    }
    out
}

/// Formats tokens on one line, with the usual spacing of names, types, constants and paths.
pub(super) fn format_tokens(tokens: TokenStream) -> String {
    let mut out = String::new();
    LineWriter { out: &mut out, tight: true }.write_all(tokens);
    out
}

fn format_trees(tokens: &[TokenTree]) -> String {
    let mut out = String::new();
    write_tokens(tokens, &mut out);
    out
}

/// Appends tokens on one line, with the usual spacing of names, types, constants and paths.
pub(super) fn write_tokens(tokens: &[TokenTree], out: &mut String) {
    let mut writer = LineWriter { out, tight: true };
    tokens.iter().for_each(|token| writer.write(token));
}

/// A writer of tokens on one line.
struct LineWriter<'a> {
    out: &'a mut String,
    /// True if no space precedes the next token.
    tight: bool,
}

impl LineWriter<'_> {
    fn write_all(&mut self, tokens: TokenStream) {
        tokens.into_iter().for_each(|token| self.write(&token));
    }

    fn write(&mut self, token: &TokenTree) {
        match token {
            TokenTree::Group(group) => self.write_group(group),
            TokenTree::Punct(punct) => self.write_punct(punct),
            TokenTree::Ident(word) => self.write_word(word),
            TokenTree::Literal(literal) => self.write_word(literal),
        }
    }

    fn write_word(&mut self, word: &dyn fmt::Display) {
        self.push_space();
        let _infallible = write!(self.out, "{word}");
        self.tight = false;
    }

    fn write_group(&mut self, group: &Group) {
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{ ", " }"),
            Delimiter::None => ("", ""),
        };
        // A call `f(a)` has no space before the parenthesis, but a nested tuple `(a, (b, c))` does.
        if group.delimiter() != Delimiter::Parenthesis || self.out.ends_with([',', ':']) {
            self.push_space();
        }
        self.out.push_str(open);
        self.tight = true;
        self.write_all(group.stream());
        self.out.push_str(close);
        self.tight = false;
    }

    fn write_punct(&mut self, punct: &Punct) {
        let sign = punct.as_char();
        match sign {
            // A field access `a.b` has no spaces, but a rest pattern in `a, ..b` does.
            '.' => {
                if punct.spacing() == Spacing::Joint {
                    self.push_space();
                }
                self.tight = true;
            }
            ',' | ';' | '>' => self.tight = false,
            // A path `a::b` has no spaces, but a type annotation `a: b` does.
            ':' => self.tight = punct.spacing() == Spacing::Joint || self.out.ends_with(':'),
            '<' => self.tight = true,
            '&' | '-' => {
                self.push_space();
                self.tight = true;
            }
            _ => {
                self.push_space();
                self.tight = false;
            }
        }
        self.out.push(sign);
    }

    fn push_space(&mut self) {
        if !self.tight {
            self.out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn check(tokens: TokenStream, expect: &str) {
        let call: ItemMacro = syn::parse2(tokens).unwrap();
        assert_eq!(print_macro_call(&call).unwrap(), expect);
    }

    #[test]
    fn lists_are_printed_on_one_line_or_one_item_per_line() {
        check(
            quote!(::runtime::object! { A { tag { op = "op" is -1 } extra undeclared } }),
            "::runtime::object! { A { tag { op = \"op\" is -1 } extra undeclared } }\n",
        );
        check(quote!(builder! { A ABuilder {} }), "builder! { A ABuilder {} }\n");
        check(
            quote!(union! { A { B(B) closed {} C(C) { "c" } } }),
            "union! { A { B(B) closed {} C(C) { \"c\" } } }\n",
        );
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
