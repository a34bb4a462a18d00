//! Checks as Rust expressions.

use std::collections::BTreeSet;

use contract_runtime::Number;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Emitter, Runtime, ident};
use crate::{
    checks::{Check, Counted, Form, Numeric, Order, Place, Test, Text},
    schema::SchemaId,
    shape::{TypeId, TypeRef},
    tables::number_tokens,
    together::Conj,
};

/// More texts than this are looked up: a `match` of texts costs the compiler their square.
const MATCH_LIMIT: usize = 100;

impl Emitter<'_> {
    /// A check as an expression of type `bool`.
    pub(super) fn check(&self, check: &Check) -> TokenStream {
        match check {
            Check::Always => quote!(true),
            Check::Never => quote!(false),
            Check::All(all) => {
                let all = self.operands(all, |check| matches!(check, Check::Any(_) | Check::If(_)));
                quote!(#(#all)&&*)
            }
            Check::Any(any) => {
                let any = self.operands(any, |_| false);
                quote!(#(#any)||*)
            }
            Check::One(checks) => {
                let checks: Vec<TokenStream> = checks.iter().map(|check| self.check(check)).collect();
                match checks.as_slice() {
                    [a, b] => quote!((#a) != (#b)),
                    all => quote!([#(#all),*].into_iter().filter(|holds| *holds).count() == 1),
                }
            }
            Check::Not(inner) => self.opposite(inner),
            Check::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let (c, t, o) = (self.check(condition), self.check(then), self.check(otherwise));
                quote!(if #c { #t } else { #o })
            }
            Check::Test(test) => self.test(test),
        }
    }

    /// Operands of `&&` or `||`. A `match` or `if` that begins an expression would be a statement
    /// of its own.
    fn operands(&self, checks: &[Check], bind_less: impl Fn(&Check) -> bool) -> Vec<TokenStream> {
        let each = checks.iter().enumerate().map(|(at, check)| {
            let tokens = self.check(check);
            if bind_less(check) || (at == 0 && is_block(check)) { quote!((#tokens)) } else { tokens }
        });
        each.collect()
    }

    /// What is true where a check is not.
    fn opposite(&self, check: &Check) -> TokenStream {
        match check {
            Check::Test(Test::There(at)) => {
                let at = recv(at);
                quote!(#at.is_none())
            }
            Check::Test(Test::TextIn(text, values)) if values.len() == 1 => {
                let (text, value) = (text_recv(text), &values[0]);
                quote!(#text != #value)
            }
            Check::Test(Test::IntIn(at, values)) if values.len() == 1 => {
                let (at, value) = (copy(at), Literal::i128_unsuffixed(values[0]));
                quote!(#at != #value)
            }
            Check::Test(Test::Count(counted, order, limit)) if is_empty(counted, *order, *limit) => {
                let on = count_recv(counted);
                quote!(!#on.is_empty())
            }
            Check::Test(Test::Count(counted, order, limit)) if is_filled(counted, *order, *limit) => {
                let on = count_recv(counted);
                quote!(#on.is_empty())
            }
            Check::Test(test) if is_call(test) => {
                let tokens = self.test(test);
                quote!(!#tokens)
            }
            check => {
                let tokens = self.check(check);
                quote!(!(#tokens))
            }
        }
    }

    fn test(&self, test: &Test) -> TokenStream {
        match test {
            Test::Valid(at) => {
                let at = recv(at);
                quote!(#at.is_valid())
            }
            Test::Tables(at, form, ids) => {
                let (row, value) = (self.row(ids), by_ref(at));
                match form {
                    Form::Json => quote!(schemas::validator(#row).is_valid(#value)),
                    Form::Typed => {
                        self.import(Runtime::Conditions);
                        quote!(contract::holds(#value, schemas::validator(#row)))
                    }
                }
            }
            Test::TextTables(text, ids) => {
                self.import(Runtime::Conditions);
                let (row, text) = (self.row(ids), text_arg(text));
                quote!(contract::holds(#text, schemas::validator(#row)))
            }
            Test::True(at) => copy(at),
            Test::There(at) => {
                let at = recv(at);
                quote!(#at.is_some())
            }
            Test::IfThere(at, check) => {
                let (at, check) = (recv(at), self.check(check));
                quote!(#at.as_ref().is_none_or(|value| #check))
            }
            Test::Apart(at, of) => {
                self.import(Runtime::IsApart);
                let (of, at) = (self.type_name(at, *of), recv(at));
                quote!(is_apart(&#at.extra, #of::DECLARED))
            }
            Test::Writable(at) => {
                self.import(Runtime::Conditions);
                let at = by_ref(at);
                quote!(contract::is_writable(#at))
            }
            Test::Contains(at, name) => {
                let at = recv(at);
                quote!(#at.contains_key(#name))
            }
            Test::IfContains(at, name, check) => {
                let (at, check) = (recv(at), self.check(check));
                quote!(#at.get(#name).is_none_or(|value| #check))
            }
            Test::Elements(at, check) => {
                let (at, check) = (recv(at), self.check(check));
                quote!(#at.iter().all(|value| #check))
            }
            Test::Values(at, check) => {
                let (at, check) = (recv(at), self.check(check));
                quote!(#at.values().all(|value| #check))
            }
            Test::Names(at, check) => {
                let (at, check) = (recv(at), self.check(check));
                quote!(#at.keys().all(|name| #check))
            }
            Test::Members(at, check) => {
                let (at, check) = (recv(at), self.check(check));
                quote!(#at.iter().all(|(name, value)| #check))
            }
            Test::Count(counted, order, limit) => self.count(counted, *order, *limit),
            Test::Distinct(at) => {
                self.import(Runtime::Conditions);
                let at = by_ref(at);
                quote!(contract::all_distinct(#at))
            }
            Test::TextIn(text, values) => match values.as_slice() {
                [one] => {
                    let text = text_recv(text);
                    quote!(#text == #one)
                }
                many if many.len() > MATCH_LIMIT => {
                    self.import(Runtime::Conditions);
                    let (text, sorted) = (text_matched(text), BTreeSet::from_iter(many));
                    let sorted = sorted.iter();
                    quote!(contract::one_of(#text, &[#(#sorted),*]))
                }
                several => {
                    let text = text_matched(text);
                    quote!(matches!(#text, #(#several)|*))
                }
            },
            Test::Matches(text, pattern) => {
                // A check speaks of patterns that were compiled only.
                let (pattern, text) = (self.tables.pattern(pattern), text_arg(text));
                quote!(schemas::#pattern.is_match(#text))
            }
            Test::Format(text, format) => {
                let (format, text) = (ident(&format!("{format:?}")), text_arg(text));
                quote!(::contract_runtime::format::Format::#format.is_match(#text))
            }
            Test::Parses(Text::Formatted(at, own), name, _) if own == name => {
                let at = recv(at);
                quote!(#at.get().is_some())
            }
            Test::Parses(text, name, _) => {
                let (name, text) = (ident(name), text_arg(text));
                quote!(super::formats::#name::is_match(#text))
            }
            Test::IntIn(at, values) => {
                let (at, values) = (copy(at), values.iter().copied().map(Literal::i128_unsuffixed));
                match values.len() {
                    1 => quote!(#at == #(#values)*),
                    _ => quote!(matches!(#at, #(#values)|*)),
                }
            }
            Test::IntBound(at, order, limit) => {
                let (at, order, limit) = (copy(at), sign(*order), Literal::i128_unsuffixed(*limit));
                quote!(#at #order #limit)
            }
            Test::IntMultiple(at, divisor) => {
                let (at, divisor) = (copy(at), Literal::i64_unsuffixed(*divisor));
                quote!(#at % #divisor == 0)
            }
            Test::NumberIn(at, values) => {
                let (at, values) = (by_ref(at), values.iter().map(|value| self.number(value)));
                quote!([#(#values),*].contains(#at))
            }
            Test::NumberBound(of, order, limit) => {
                let (order, limit) = (sign(*order), self.number(limit));
                let of = match of {
                    Numeric::Int(at) => self.exact(at),
                    Numeric::Exact(at) => copy(at),
                };
                quote!(#of #order #limit)
            }
            Test::NumberMultiple(of, divisor) => {
                let divisor = self.number(divisor);
                let of = match of {
                    Numeric::Int(at) => self.exact(at),
                    Numeric::Exact(at) => recv(at),
                };
                quote!(#of.is_multiple_of(&#divisor))
            }
            Test::Whole(at) => {
                let at = recv(at);
                quote!(#at.is_integer())
            }
            Test::Listed(at, of, names) => {
                let (at, of) = (by_ref(at), self.ty(&TypeRef::Named(*of)));
                let names = names.iter().map(|name| ident(name));
                quote!(matches!(#at, #(#of::#names)|*))
            }
            Test::Unlisted(at, check) => {
                let at = recv(at);
                match &**check {
                    Check::Never => quote!(#at.is_known()),
                    check => {
                        let check = self.check(check);
                        quote!(#at.unknown().is_none_or(|text| #check))
                    }
                }
            }
            Test::Nullable { at, boxed, null, value } => {
                self.import(Runtime::Nullable);
                let on = matched(at, *boxed);
                let name = bound(value);
                let value = self.check(value);
                quote!(match #on { Nullable::Null => #null, Nullable::Value(#name) => #value })
            }
            Test::Variants { at, boxed, of, arms, unknown } => {
                let (on, of) = (matched(at, *boxed), self.type_name(at, *of));
                let arms = arms.iter().map(|arm| {
                    let (name, bound, check) =
                        (ident(&arm.variant), bound(&arm.check), self.check(&arm.check));
                    quote!(#of::#name(#bound) => #check,)
                });
                let unknown = unknown.as_ref().map(|ids| {
                    if ids.is_empty() {
                        return quote!(#of::Unknown(_) => true,);
                    }
                    let row = self.row(ids);
                    quote!(#of::Unknown(value) => schemas::validator(#row).is_valid(value),)
                });
                quote!(match #on { #(#arms)* #unknown })
            }
        }
    }

    /// A type as its own module calls it.
    fn type_name(&self, at: &Place, of: TypeId) -> TokenStream {
        match at {
            Place::Own => quote!(Self),
            _ => self.ty(&TypeRef::Named(of)),
        }
    }

    /// An exact number of the contract.
    pub(super) fn number(&self, number: &Number) -> TokenStream {
        self.import(Runtime::Number);
        number_tokens(number)
    }

    /// A machine integer as a number.
    fn exact(&self, place: &Place) -> TokenStream {
        self.import(Runtime::Number);
        let copy = copy(place);
        quote!(Number::from(#copy))
    }

    fn count(&self, counted: &Counted, order: Order, limit: u64) -> TokenStream {
        let on = count_recv(counted);
        if is_empty(counted, order, limit) {
            return quote!(#on.is_empty());
        }
        if is_filled(counted, order, limit) {
            return quote!(!#on.is_empty());
        }
        let (sign, limit_tokens) = (sign(order), Literal::u64_unsuffixed(limit));
        match counted {
            Counted::Length(_) => quote!(#on.len() #sign #limit_tokens),
            Counted::Members(..) if (order, limit) == (Order::AtMost, 0) => quote!(#on == 0),
            Counted::Members(..) => quote!(#on #sign #limit_tokens),
            Counted::Characters(text) => {
                let text = text_arg(text);
                let (called, function) = match order {
                    Order::AtLeast | Order::Above => (Runtime::AtLeast, quote!(char_count_at_least)),
                    Order::AtMost | Order::Below => (Runtime::AtMost, quote!(char_count_at_most)),
                };
                self.import(called);
                quote!(#function(#text, #limit_tokens))
            }
        }
    }

    fn row(&self, ids: &[SchemaId]) -> TokenStream {
        self.tables.row(&Conj::all(ids.iter().copied()))
    }
}

/// What methods and fields are called on: `self.name` or `value`.
fn recv(place: &Place) -> TokenStream {
    match place {
        Place::Own => quote!(self),
        Place::Bound => quote!(value),
        Place::Field(of, name) => {
            let (of, name) = (recv(of), ident(name));
            quote!(#of.#name)
        }
        Place::Rest(of) => {
            let of = recv(of);
            quote!(#of.extra)
        }
        Place::Inside(of) => {
            let of = recv(of);
            quote!(#of.0)
        }
        Place::Element(of, index) => {
            let (of, index) = (recv(of), Literal::usize_unsuffixed(*index));
            quote!(#of.#index)
        }
    }
}

/// A reference to it: `&self.name` or `value`.
fn by_ref(place: &Place) -> TokenStream {
    let recv = recv(place);
    if is_reference(place) { recv } else { quote!(&#recv) }
}

/// The value itself: `self.name` or `*value`.
fn copy(place: &Place) -> TokenStream {
    let recv = recv(place);
    if is_reference(place) { quote!(*#recv) } else { recv }
}

const fn is_reference(place: &Place) -> bool {
    matches!(place, Place::Own | Place::Bound)
}

/// As what `match` takes.
fn matched(place: &Place, boxed: bool) -> TokenStream {
    let recv = recv(place);
    if boxed { quote!(#recv.as_ref()) } else { by_ref(place) }
}

/// What methods of a text are called on.
fn text_recv(text: &Text) -> TokenStream {
    match text {
        Text::String(at) => recv(at),
        other => text_arg(other),
    }
}

/// As an argument of type `&str`.
fn text_arg(text: &Text) -> TokenStream {
    match text {
        Text::String(at) => by_ref(at),
        Text::Secret(at) => {
            let at = recv(at);
            quote!(#at.expose())
        }
        Text::Listed(at) | Text::Formatted(at, _) => {
            let at = recv(at);
            quote!(#at.as_str())
        }
        Text::Unlisted => quote!(text),
        Text::Name => quote!(name),
    }
}

/// As what `match` takes.
fn text_matched(text: &Text) -> TokenStream {
    match text {
        Text::String(at) => {
            let at = recv(at);
            quote!(#at.as_str())
        }
        Text::Secret(_) => {
            let text = text_arg(text);
            quote!(#text.as_str())
        }
        other => text_arg(other),
    }
}

/// Whether the question is whether nothing is there.
fn is_empty(counted: &Counted, order: Order, limit: u64) -> bool {
    matches!(counted, Counted::Length(_)) && (order, limit) == (Order::AtMost, 0)
}

/// Whether the question is whether anything is there.
fn is_filled(counted: &Counted, order: Order, limit: u64) -> bool {
    !matches!(counted, Counted::Members(..)) && (order, limit) == (Order::AtLeast, 1)
}

/// What is asked how many there are.
fn count_recv(counted: &Counted) -> TokenStream {
    match counted {
        Counted::Length(at) => recv(at),
        Counted::Characters(text) => text_recv(text),
        Counted::Members(at, always, sometimes) => {
            let at = recv(at);
            let always = (*always > 0).then(|| Literal::usize_unsuffixed(*always)).into_iter();
            let sometimes = sometimes.iter().map(|name| ident(name));
            quote!((#(#always +)* #at.extra.len() #(+ usize::from(#at.#sometimes.is_some()))*))
        }
    }
}

fn sign(order: Order) -> TokenStream {
    match order {
        Order::AtLeast => quote!(>=),
        Order::Above => quote!(>),
        Order::AtMost => quote!(<=),
        Order::Below => quote!(<),
    }
}

/// The name that a pattern gives to a value that `check` looks at.
fn bound(check: &Check) -> TokenStream {
    if matches!(check, Check::Always | Check::Never) { quote!(_) } else { quote!(value) }
}

/// Whether a check is written as a `match` or an `if`.
const fn is_block(check: &Check) -> bool {
    matches!(check, Check::If(_) | Check::Test(Test::Nullable { .. } | Test::Variants { .. }))
}

/// Whether a test is written as a path or a call, so that `!` binds to all of it.
fn is_call(test: &Test) -> bool {
    match test {
        Test::Nullable { .. }
        | Test::Variants { .. }
        | Test::IntBound(..)
        | Test::IntMultiple(..)
        | Test::NumberBound(..) => false,
        Test::IntIn(_, values) => values.len() > 1,
        Test::TextIn(_, values) => values.len() > 1,
        Test::Count(counted, ..) => matches!(counted, Counted::Characters(_)),
        _ => true,
    }
}
