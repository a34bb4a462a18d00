//! Conditions in generated code: what is known about them when they are written.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use self::Check::{Always, Either, Never, When};
use crate::emit::ident;

/// What is known about a condition.
#[derive(Clone, Debug)]
pub(in crate::emit) enum Check {
    /// The type guarantees it.
    Always,
    /// The type excludes it.
    Never,
    /// An expression of type `bool` that `&&` may follow.
    When(TokenStream),
    /// Alternatives: `||` stands at the top.
    Either(TokenStream),
}

impl Check {
    pub(in crate::emit) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Never, _) | (_, Never) => Never,
            (Always, c) | (c, Always) => c,
            (a, b) => {
                let (a, b) = (leading(a.operand()), b.operand());
                When(quote!(#a && #b))
            }
        }
    }

    pub(in crate::emit) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Always, _) | (_, Always) => Always,
            (Never, c) | (c, Never) => c,
            (a, b) => {
                let (a, b) = (leading(a.tokens()), b.tokens());
                Either(quote!(#a || #b))
            }
        }
    }

    pub(in crate::emit) fn not(self) -> Self {
        match self {
            Always => Never,
            Never => Always,
            c => {
                let c = c.tokens();
                When(match absent(&c).or_else(|| differs(&c)) {
                    Some(opposite) => opposite,
                    None if is_call(&c) => quote!(!#c),
                    None => quote!(!(#c)),
                })
            }
        }
    }

    pub(in crate::emit) fn all(checks: impl IntoIterator<Item = Self>) -> Self {
        checks.into_iter().fold(Always, Self::and)
    }

    /// As [`Check::all`] of what several schemas say, which may be the same.
    pub(in crate::emit) fn distinct(checks: Vec<Self>) -> Self {
        if checks.len() < 2 {
            return Self::all(checks);
        }
        let mut seen = BTreeSet::new();
        Self::all(checks.into_iter().filter(|check| match check {
            When(test) | Either(test) => seen.insert(test.to_string()),
            Always | Never => true,
        }))
    }

    pub(in crate::emit) fn known(holds: bool) -> Self {
        if holds { Always } else { Never }
    }

    /// The expression, when there is something to evaluate.
    pub(in crate::emit) fn test(self) -> Result<TokenStream, Self> {
        match self {
            When(c) | Either(c) => Ok(c),
            known => Err(known),
        }
    }

    /// As an expression.
    pub(in crate::emit) fn tokens(self) -> TokenStream {
        match self {
            Always => quote!(true),
            Never => quote!(false),
            When(c) | Either(c) => c,
        }
    }

    /// As an operand of `&&`.
    pub(in crate::emit) fn operand(self) -> TokenStream {
        match self {
            Either(c) => quote!((#c)),
            other => other.tokens(),
        }
    }

    /// Puts an expression into a bigger one; what is known already is answered by `never`.
    pub(in crate::emit) fn within(
        self,
        never: TokenStream,
        build: impl FnOnce(TokenStream) -> TokenStream,
    ) -> Self {
        match self.test() {
            Ok(test) => When(build(test)),
            Err(Always) => Always,
            Err(_) => When(never),
        }
    }
}

/// A `match` or `if` at the start of a function's body would be a statement of its own.
fn leading(tokens: TokenStream) -> TokenStream {
    match tokens.clone().into_iter().next() {
        Some(proc_macro2::TokenTree::Ident(word)) if word == "match" || word == "if" => quote!((#tokens)),
        _ => tokens,
    }
}

/// `….is_none()` for an expression that is `….is_some()` and nothing else.
fn absent(tokens: &TokenStream) -> Option<TokenStream> {
    let mut all: Vec<_> = tokens.clone().into_iter().collect();
    let at = all.len().checked_sub(2)?;
    match &all[at] {
        proc_macro2::TokenTree::Ident(i) if i == "is_some" && is_call(tokens) => {}
        _ => return None,
    }
    all[at] = ident("is_none").into();
    Some(all.into_iter().collect())
}

/// `a != b` for an expression that is `a == b` and nothing else.
fn differs(tokens: &TokenStream) -> Option<TokenStream> {
    let all: Vec<_> = tokens.clone().into_iter().collect();
    let is = |t: &proc_macro2::TokenTree, c: char| matches!(t, proc_macro2::TokenTree::Punct(p) if p.as_char() == c);
    let at = all.windows(2).position(|w| is(&w[0], '=') && is(&w[1], '='))?;
    let (left, right) = (&all[..at], &all[at + 2..]);
    let plain = |side: &[proc_macro2::TokenTree]| {
        !side.iter().any(|t| ['&', '|', '=', '!', '<', '>'].iter().any(|c| is(t, *c)))
    };
    if !plain(left) || !plain(right) {
        return None;
    }
    Some(quote!(#(#left)* != #(#right)*))
}

/// Whether an expression is a path or a call without operators, so that `!` binds to all of it.
fn is_call(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().enumerate().all(|(i, t)| match t {
        proc_macro2::TokenTree::Ident(i) => i != "match" && i != "if",
        proc_macro2::TokenTree::Group(_) => true,
        // `matches!(…)` is a call too; a leading `!` is not.
        proc_macro2::TokenTree::Punct(p) => matches!(p.as_char(), '.' | ':') || (i > 0 && p.as_char() == '!'),
        proc_macro2::TokenTree::Literal(_) => false,
    })
}
