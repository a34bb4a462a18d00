//! How many: members of a struct, elements, and whether a member is there at all.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::Check::{self, Always, Never, When};
use crate::{
    schema::Schema,
    shape::{Field, Struct},
};

pub(super) fn present(field: &Field, recv: &TokenStream) -> Check {
    if field.required {
        return Always;
    }
    let name = crate::emit::ident(&field.name);
    When(quote!(#recv.#name.is_some()))
}

pub(super) fn count_bounds(s: &Schema, body: &Struct, recv: &TokenStream) -> Check {
    let least = body.fields.iter().filter(|f| f.required).count();
    let always = (least > 0).then(|| Literal::usize_unsuffixed(least)).into_iter();
    let sometimes: Vec<Ident> =
        body.fields.iter().filter(|f| !f.required).map(|f| crate::emit::ident(&f.name)).collect();
    let count = quote!((#(#always +)* #recv.extra.len() #(+ usize::from(#recv.#sometimes.is_some()))*));
    let least = least as u64;
    // What the required members settle is no comparison.
    let min = s.min_properties.filter(|&m| m > least).map(|m| {
        let m = Literal::u64_unsuffixed(m);
        When(quote!(#count >= #m))
    });
    let max = s.max_properties.map(|m| {
        let limit = Literal::u64_unsuffixed(m);
        match m {
            m if m < least => Never,
            0 => When(quote!(#count == 0)),
            _ => When(quote!(#count <= #limit)),
        }
    });
    Check::all(min.into_iter().chain(max))
}

pub(super) fn length(min: Option<u64>, max: Option<u64>, recv: &TokenStream) -> Check {
    let mut check = Always;
    if let Some(min) = min.filter(|&m| m > 0) {
        check = check.and(When(if min == 1 {
            quote!(!#recv.is_empty())
        } else {
            let min = Literal::u64_unsuffixed(min);
            quote!(#recv.len() >= #min)
        }));
    }
    if let Some(max) = max {
        check = check.and(When(if max == 0 {
            quote!(#recv.is_empty())
        } else {
            let max = Literal::u64_unsuffixed(max);
            quote!(#recv.len() <= #max)
        }));
    }
    check
}
