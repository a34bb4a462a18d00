//! Checks of numbers, and what one schema object says about a value by `type`, `const`, `enum`.

use std::collections::BTreeSet;

use contract_runtime::{Json, Number};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{
    Check::{self, Always, Never, When},
    Place,
};
use crate::{
    schema::{Schema, Types},
    shape::IntKind,
    tables::number_tokens,
};

pub(super) fn types_allow(s: &Schema, own: Types) -> Check {
    Check::known(s.types.is_none_or(|t| !t.and(own).is_empty()))
}

/// Whether `type`, `const` and `enum` of one schema object allow a value.
pub(super) fn allows(s: &Schema, value: &Json, types: Types) -> bool {
    s.types.is_none_or(|t| !t.and(types).is_empty())
        && s.constant.as_ref().is_none_or(|c| c == value)
        && s.enumeration.as_ref().is_none_or(|e| e.contains(value))
}

/// What `const` and `enum` of one schema object leave.
pub(super) fn literal_list(s: &Schema) -> Option<Vec<&Json>> {
    match (&s.constant, &s.enumeration) {
        (None, None) => None,
        (Some(c), None) => Some(vec![c]),
        (None, Some(e)) => Some(e.iter().collect()),
        (Some(c), Some(e)) => Some(e.iter().filter(|v| *v == c).collect()),
    }
}

pub(super) fn int_keywords(s: &Schema, kind: IntKind, place: &Place<'_>) -> Check {
    let value = &place.copy;
    let mut check = types_allow(s, Types::INTEGER);
    if let Some(list) = literal_list(s) {
        // `1` and `1.0` are one value, and a pattern that repeats one is warned about.
        let mut seen = BTreeSet::new();
        let numbers: Vec<Literal> = list
            .iter()
            .filter_map(|v| v.as_number().and_then(Number::as_i128))
            .filter(|n| within(kind, *n) && seen.insert(*n))
            .map(Literal::i128_unsuffixed)
            .collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            [one] => When(quote!(#value == #one)),
            several => When(quote!(matches!(#value, #(#several)|*))),
        });
    }
    let bounds = [
        (&s.minimum, true, false),
        (&s.exclusive_minimum, true, true),
        (&s.maximum, false, false),
        (&s.exclusive_maximum, false, true),
    ];
    for (bound, lower, exclusive) in bounds {
        if let Some(bound) = bound {
            check = check.and(int_bound(bound, lower, exclusive, kind, value));
        }
    }
    if let Some(divisor) = &s.multiple_of {
        check = check.and(match divisor.as_i64() {
            Some(1) => Always,
            Some(d) if d > 1 => {
                let d = Literal::i64_unsuffixed(d);
                When(quote!(#value % #d == 0))
            }
            _ => {
                let d = number_tokens(divisor);
                When(quote!(Number::from(#value).is_multiple_of(&#d)))
            }
        });
    }
    check
}

pub(super) fn within(kind: IntKind, n: i128) -> bool {
    match kind {
        IntKind::I64 => i64::try_from(n).is_ok(),
        IntKind::U64 => u64::try_from(n).is_ok(),
    }
}

pub(super) fn int_bound(
    bound: &Number,
    lower: bool,
    exclusive: bool,
    kind: IntKind,
    value: &TokenStream,
) -> Check {
    // The whole number that the bound comes to.
    let limit = match (lower, exclusive) {
        (true, false) => bound.ceil(),
        (true, true) => bound.floor().and_then(|n| n.checked_add(1)),
        (false, false) => bound.floor(),
        (false, true) => bound.ceil().and_then(|n| n.checked_sub(1)),
    };
    let Some(limit) = limit else {
        // Beyond 128 bits: on one side of every value.
        return Check::known(lower == (*bound < Number::int(0)));
    };
    let (least, most) = match kind {
        IntKind::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        IntKind::U64 => (0, i128::from(u64::MAX)),
    };
    let literal = Literal::i128_unsuffixed(limit);
    match lower {
        true if limit <= least => Always,
        true if limit > most => Never,
        true => When(quote!(#value >= #literal)),
        false if limit >= most => Always,
        false if limit < least => Never,
        false => When(quote!(#value <= #literal)),
    }
}

pub(super) fn number_keywords(s: &Schema, place: &Place<'_>) -> Check {
    let (recv, by_ref) = (&place.recv, &place.by_ref);
    let mut check = match s.types {
        Some(t) if t.and(Types::NUMBER).is_empty() => return Never,
        Some(t) if t.and(Types::NUMBER) == Types::INTEGER => When(quote!(#recv.is_integer())),
        _ => Always,
    };
    if let Some(list) = literal_list(s) {
        let numbers: Vec<TokenStream> =
            list.iter().filter_map(|v| v.as_number()).map(number_tokens).collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            several => When(quote!([#(#several),*].contains(#by_ref))),
        });
    }
    let copy = &place.copy;
    let mut bound = |bound: &Option<Number>, op: TokenStream| {
        if let Some(bound) = bound {
            let bound = number_tokens(bound);
            check = std::mem::replace(&mut check, Always).and(When(quote!(#copy #op #bound)));
        }
    };
    bound(&s.minimum, quote!(>=));
    bound(&s.exclusive_minimum, quote!(>));
    bound(&s.maximum, quote!(<=));
    bound(&s.exclusive_maximum, quote!(<));
    if let Some(divisor) = &s.multiple_of {
        check = check.and(When(if divisor.as_i64() == Some(1) {
            quote!(#recv.is_integer())
        } else {
            let divisor = number_tokens(divisor);
            quote!(#recv.is_multiple_of(&#divisor))
        }));
    }
    check
}
