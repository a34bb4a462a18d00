//! What a method of progenitor's decides, read from its body.
//!
//! Written against `progenitor-impl` 0.15.1, `method.rs`, `method_sig_body`. Whatever is not
//! recognised is an error here or a difference in [`agree`](super::agree).

use syn::{
    Expr, ExprCall, ExprMatch, ExprMethodCall, Lit, Macro, Pat, Token,
    punctuated::Punctuated,
    visit::{self, Visit},
};

/// The decisions of a method.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// `get`, `post`, …
    pub(crate) verb: String,
    /// The path with its arguments in braces.
    pub(crate) path: String,
    /// Names of the query's arguments.
    pub(crate) queries: Vec<String>,
    /// Names of the headers' arguments.
    pub(crate) headers: Vec<String>,
    /// The call that adds the body.
    pub(crate) body: Option<String>,
    /// Statuses that are results.
    pub(crate) results: Vec<Arm>,
    /// Statuses that are refusals.
    pub(crate) refusals: Vec<Arm>,
}

/// A range of statuses and what comes with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arm {
    /// First.
    pub(crate) from: u16,
    /// Last.
    pub(crate) to: u16,
    /// Form of the body.
    pub(crate) kind: Kind,
}

/// Form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// JSON of a type.
    Json,
    /// Bytes.
    Raw,
    /// None.
    Nothing,
}

impl Reading {
    /// Reads a method.
    pub(crate) fn of(item: &syn::ImplItemFn) -> Result<Self, String> {
        let mut reader = Reader::default();
        reader.visit_block(&item.block);
        match reader.problem {
            Some(problem) => Err(problem),
            None => Ok(reader.reading),
        }
    }
}

#[derive(Default)]
struct Reader {
    reading: Reading,
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
        // The first is the base URL.
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

/// Every identifier of a path or method.
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

/// `x` of `encode_path(&x.to_string())`.
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
