//! Extracts the request and response handling of a method that progenitor generates from its syntax tree.
//!
//! Written against `progenitor-impl` 0.15.1, `method.rs`, `method_sig_body`. A method with an unrecognized
//! construct yields an error and no result.

use heck::ToSnakeCase;
use quote::ToTokens;
use syn::{
    Expr, ExprCall, ExprMatch, ExprMethodCall, Lit, Macro, Pat, Token,
    punctuated::Punctuated,
    visit::{self, Visit},
};

/// The request and response handling of one generated method.
#[derive(Debug, Default)]
pub(super) struct Method {
    /// `get`, `post`, …
    pub(super) verb: String,
    /// The path template, with argument names in braces.
    pub(super) path: String,
    /// Names of the query parameters.
    pub(super) queries: Vec<String>,
    /// Names of the request headers.
    pub(super) headers: Vec<String>,
    /// The builder call that sets the request body.
    pub(super) body: Option<String>,
    /// Status codes that the method returns as success.
    pub(super) results: Vec<Arm>,
    /// Status codes that the method returns as an error.
    pub(super) refusals: Vec<Arm>,
}

/// A range of status codes and the kind of their body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arm {
    /// The first status code.
    pub(super) from: u16,
    /// The last status code, inclusive.
    pub(super) to: u16,
    /// The kind of the body.
    pub(super) kind: Kind,
}

/// The kind of a response body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A typed JSON body.
    Json,
    /// Raw bytes.
    Raw,
    /// No body.
    Nothing,
}

impl Method {
    /// Extracts a method; fails if the method contains an unrecognized construct.
    pub(super) fn of(item: &syn::ImplItemFn) -> Result<Self, String> {
        let mut reader = Reader::default();
        reader.visit_block(&item.block);
        match reader.problem {
            Some(problem) => Err(problem),
            None => Ok(reader.reading),
        }
    }
}

/// Returns the asynchronous methods of the generated client.
pub(super) fn methods(file: syn::File) -> Vec<syn::ImplItemFn> {
    let mut found = Vec::new();
    for item in file.items {
        let syn::Item::Impl(block) = item else { continue };
        if block.trait_.is_some() || block.self_ty.to_token_stream().to_string() != "Client" {
            continue;
        }
        found.extend(block.items.into_iter().filter_map(|item| match item {
            syn::ImplItem::Fn(method) if method.sig.asyncness.is_some() => Some(method),
            _ => None,
        }));
    }
    found
}

/// Returns progenitor's argument name for a parameter: its name in snake case, as a valid identifier.
pub(super) fn argument_name(wire: &str) -> String {
    let plain = wire.replace('\'', "").replace(|c| !unicode_ident::is_xid_continue(c), "-");
    let name = match wire {
        "+1" => "plus1".to_owned(),
        "-1" => "minus1".to_owned(),
        _ => plain.to_snake_case(),
    };
    let starts = name.chars().next().is_some_and(unicode_ident::is_xid_start);
    let name = if starts { name } else { format!("x{name}") };
    if syn::parse_str::<syn::Ident>(&name).is_ok() && name != "gen" { name } else { format!("{name}_") }
}

#[derive(Default)]
struct Reader {
    reading: Method,
    problem: Option<String>,
}

impl Reader {
    fn fail(&mut self, problem: impl Into<String>) {
        self.problem.get_or_insert_with(|| problem.into());
    }
}

impl<'ast> Visit<'ast> for Reader {
    /// `format!("{}/a/{}", self.baseurl, encode_path(&x.to_string()))`
    fn visit_macro(&mut self, node: &'ast Macro) {
        if !node.path.is_ident("format") || !self.reading.path.is_empty() {
            return;
        }
        let parsed = node.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        let Ok(arguments) = parsed else { return self.fail("its URL is no list of expressions") };
        let mut arguments = arguments.iter();
        let Some(format) = arguments.next().and_then(text) else {
            return self.fail("its URL has no format");
        };
        // The first argument is the base URL.
        let mut names = arguments.skip(1).map(last_name);
        let mut parts = format.split("{}").skip(1);
        let mut path = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match names.next().flatten() {
                Some(name) => path.push_str(&format!("{{{name}}}{part}")),
                None => return self.fail("its URL lacks an argument"),
            }
        }
        self.reading.path = path;
    }

    fn visit_expr_method_call(&mut self, node: &'ast ExprMethodCall) {
        let name = node.method.to_string();
        match name.as_str() {
            "get" | "put" | "post" | "delete" | "options" | "head" | "patch" | "trace"
                if is_field(&node.receiver, "client") =>
            {
                self.reading.verb = name;
            }
            "json" | "form_urlencoded" | "body" => self.reading.body = Some(name),
            // header_map.append("X-Name", …)
            "append" => {
                if let Some(header) = node.args.first().and_then(text) {
                    self.reading.headers.push(header);
                }
            }
            _ => {}
        }
        visit::visit_expr_method_call(self, node);
    }

    /// `progenitor_client::QueryParam::new("limit", &limit)`
    fn visit_expr_call(&mut self, node: &'ast ExprCall) {
        if let Expr::Path(path) = &*node.func
            && path.path.segments.iter().any(|segment| segment.ident == "QueryParam")
        {
            match node.args.first().and_then(text) {
                Some(name) => self.reading.queries.push(name),
                None => self.fail("a query argument has no name"),
            }
        }
        visit::visit_expr_call(self, node);
    }

    /// `match response.status().as_u16() { … }`
    fn visit_expr_match(&mut self, node: &'ast ExprMatch) {
        let Expr::MethodCall(status) = &*node.expr else {
            return visit::visit_expr_match(self, node);
        };
        if status.method != "as_u16" {
            return visit::visit_expr_match(self, node);
        }
        for arm in &node.arms {
            let mut words = Words::default();
            words.visit_expr(&arm.body);
            let has = |word: &str| words.0.iter().any(|each| each == word);
            if has("UnexpectedResponse") {
                continue;
            }
            let kind = match (has("from_response"), has("stream"), has("empty")) {
                (true, false, false) => Kind::Json,
                (false, true, false) => Kind::Raw,
                (false, false, true) => Kind::Nothing,
                _ => return self.fail("a status is handled in an unknown way"),
            };
            let Some((from, to)) = statuses(&arm.pat) else {
                return self.fail("a status is no number");
            };
            let arm = Arm { from, to, kind };
            if has("ErrorResponse") {
                self.reading.refusals.push(arm);
            } else {
                self.reading.results.push(arm);
            }
        }
    }
}

/// A visitor that collects every identifier of a path or method call.
#[derive(Default)]
struct Words(Vec<String>);

impl<'ast> Visit<'ast> for Words {
    fn visit_ident(&mut self, ident: &'ast syn::Ident) {
        self.0.push(ident.to_string());
    }
}

fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn is_field(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Field(field)
        if matches!(&field.member, syn::Member::Named(member) if member == name))
}

/// Returns `x` for `encode_path(&x.to_string())`.
fn last_name(expr: &Expr) -> Option<String> {
    let mut words = Words::default();
    words.visit_expr(expr);
    words.0.into_iter().find(|word| word != "encode_path" && word != "to_string")
}

fn statuses(pattern: &Pat) -> Option<(u16, u16)> {
    let number = |expr: &Expr| match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse::<u16>().ok(),
            _ => None,
        },
        _ => None,
    };
    match pattern {
        Pat::Lit(literal) => match &literal.lit {
            Lit::Int(status) => status.base10_parse().ok().map(|status| (status, status)),
            _ => None,
        },
        Pat::Range(range) => Some((number(range.start.as_deref()?)?, number(range.end.as_deref()?)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_called_as_progenitor_calls_them() {
        let names = ["listShips", "type", "X-Note", "+1", "2nd"].map(argument_name);
        assert_eq!(names, ["list_ships", "type_", "x_note", "plus1", "x2nd"]);
    }
}
