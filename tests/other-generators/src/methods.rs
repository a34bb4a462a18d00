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
pub(super) struct MethodBehavior {
    /// `get`, `post`, …
    pub(super) verb: String,
    /// The path template, with argument names in braces.
    pub(super) path: String,
    /// Names of the query parameters.
    pub(super) query_parameters: Vec<String>,
    /// Names of the request headers.
    pub(super) headers: Vec<String>,
    /// The builder call that sets the request body.
    pub(super) body: Option<String>,
    /// Status codes that the method returns as success.
    pub(super) success_arms: Vec<StatusArm>,
    /// Status codes that the method returns as an error.
    pub(super) error_arms: Vec<StatusArm>,
}

/// A range of status codes and the kind of their body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusArm {
    /// The first status code.
    pub(super) from: u16,
    /// The last status code, inclusive.
    pub(super) to: u16,
    /// The kind of the body.
    pub(super) kind: BodyKind,
}

/// How a method returns the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// A typed JSON body.
    Json,
    /// Raw bytes.
    Raw,
    /// No body.
    Empty,
}

impl MethodBehavior {
    /// Parses a method.
    ///
    /// # Errors
    /// Returns an error if the method contains an unrecognized construct.
    pub(super) fn parse(item: &syn::ImplItemFn) -> Result<Self, String> {
        let mut parser = MethodParser::default();
        parser.visit_block(&item.block);
        match parser.error {
            Some(error) => Err(error),
            None => Ok(parser.behavior),
        }
    }
}

/// Returns the asynchronous methods of the generated client.
pub(super) fn client_methods(file: syn::File) -> Vec<syn::ImplItemFn> {
    let mut methods = Vec::new();
    for item in file.items {
        let syn::Item::Impl(block) = item else { continue };
        if block.trait_.is_some() || block.self_ty.to_token_stream().to_string() != "Client" {
            continue;
        }
        methods.extend(block.items.into_iter().filter_map(|item| match item {
            syn::ImplItem::Fn(method) if method.sig.asyncness.is_some() => Some(method),
            _ => None,
        }));
    }
    methods
}

/// Returns progenitor's argument name for a parameter: its name in snake case, as a valid identifier.
pub(super) fn argument_name(parameter: &str) -> String {
    let sanitized = parameter.replace('\'', "").replace(|c| !unicode_ident::is_xid_continue(c), "-");
    let name = match parameter {
        "+1" => "plus1".to_owned(),
        "-1" => "minus1".to_owned(),
        _ => sanitized.to_snake_case(),
    };
    let starts_identifier = name.chars().next().is_some_and(unicode_ident::is_xid_start);
    let name = if starts_identifier { name } else { format!("x{name}") };
    if syn::parse_str::<syn::Ident>(&name).is_ok() && name != "gen" { name } else { format!("{name}_") }
}

#[derive(Default)]
struct MethodParser {
    behavior: MethodBehavior,
    error: Option<String>,
}

impl MethodParser {
    fn fail(&mut self, error: impl Into<String>) {
        self.error.get_or_insert_with(|| error.into());
    }
}

impl<'ast> Visit<'ast> for MethodParser {
    /// `format!("{}/a/{}", self.baseurl, encode_path(&x.to_string()))`
    fn visit_macro(&mut self, node: &'ast Macro) {
        if !node.path.is_ident("format") || !self.behavior.path.is_empty() {
            return;
        }
        let parsed = node.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated);
        let Ok(arguments) = parsed else { return self.fail("the arguments of the URL are not expressions") };
        let mut arguments = arguments.iter();
        let Some(format) = arguments.next().and_then(string_literal) else {
            return self.fail("the URL has no format string");
        };
        // The first argument is the base URL.
        let mut names = arguments.skip(1).map(argument_of_encode_path);
        let mut parts = format.split("{}").skip(1);
        let mut path = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match names.next().flatten() {
                Some(name) => path.push_str(&format!("{{{name}}}{part}")),
                None => return self.fail("an argument of the URL is missing"),
            }
        }
        self.behavior.path = path;
    }

    fn visit_expr_method_call(&mut self, node: &'ast ExprMethodCall) {
        let name = node.method.to_string();
        match name.as_str() {
            "get" | "put" | "post" | "delete" | "options" | "head" | "patch" | "trace"
                if is_field(&node.receiver, "client") =>
            {
                self.behavior.verb = name;
            }
            "json" | "form_urlencoded" | "body" => self.behavior.body = Some(name),
            // header_map.append("X-Name", …)
            "append" => {
                if let Some(header) = node.args.first().and_then(string_literal) {
                    self.behavior.headers.push(header);
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
            match node.args.first().and_then(string_literal) {
                Some(name) => self.behavior.query_parameters.push(name),
                None => self.fail("a query parameter has no name"),
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
            let mut identifiers = IdentifierCollector::default();
            identifiers.visit_expr(&arm.body);
            let has = |name: &str| identifiers.0.iter().any(|identifier| identifier == name);
            if has("UnexpectedResponse") {
                continue;
            }
            let kind = match (has("from_response"), has("stream"), has("empty")) {
                (true, false, false) => BodyKind::Json,
                (false, true, false) => BodyKind::Raw,
                (false, false, true) => BodyKind::Empty,
                _ => return self.fail("unrecognized handling of a status"),
            };
            let Some((from, to)) = status_range(&arm.pat) else {
                return self.fail("a status pattern is not a number");
            };
            let arm = StatusArm { from, to, kind };
            if has("ErrorResponse") {
                self.behavior.error_arms.push(arm);
            } else {
                self.behavior.success_arms.push(arm);
            }
        }
    }
}

/// A visitor that collects every identifier of a path or method call.
#[derive(Default)]
struct IdentifierCollector(Vec<String>);

impl<'ast> Visit<'ast> for IdentifierCollector {
    fn visit_ident(&mut self, ident: &'ast syn::Ident) {
        self.0.push(ident.to_string());
    }
}

fn string_literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(string) => Some(string.value()),
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
fn argument_of_encode_path(expr: &Expr) -> Option<String> {
    let mut identifiers = IdentifierCollector::default();
    identifiers.visit_expr(expr);
    identifiers.0.into_iter().find(|name| name != "encode_path" && name != "to_string")
}

/// Returns the first and the last status of a pattern.
fn status_range(pattern: &Pat) -> Option<(u16, u16)> {
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
    fn argument_names_equal_those_of_progenitor() {
        let names = ["listShips", "type", "X-Note", "+1", "2nd"].map(argument_name);
        assert_eq!(names, ["list_ships", "type_", "x_note", "plus1", "x2nd"]);
    }
}
