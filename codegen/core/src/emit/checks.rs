//! Prints the checks of a schema as Rust expressions.

use std::collections::BTreeSet;

use contract_runtime::Number;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{ModelEmitter, RuntimeImport, ident};
use crate::{
    checks::{
        Check, ComparisonOperator, CountOperand, NumberOperand, PlaceForm, StringOperand, ValuePlace,
        ValueTest,
    },
    conjunction::SchemaConjunction,
    schema::SchemaId,
    shape::{TypeId, TypeRef},
    tables::number_tokens,
};

/// The maximum number of strings that are compared by a `match`. A longer list is searched instead, because
/// the time to compile a `match` of strings is quadratic.
const MAX_MATCH_ARMS: usize = 100;

impl ModelEmitter<'_> {
    /// Prints a check as an expression of type `bool`.
    pub(super) fn check_expression(&self, check: &Check) -> TokenStream {
        match check {
            Check::Always => quote!(true),
            Check::Never => quote!(false),
            Check::All(all) => {
                let all =
                    self.operand_expressions(all, |check| matches!(check, Check::Any(_) | Check::If(_)));
                quote!(#(#all)&&*)
            }
            Check::Any(any) => {
                let any = self.operand_expressions(any, |_| false);
                quote!(#(#any)||*)
            }
            Check::ExactlyOne(checks) => {
                let checks: Vec<TokenStream> =
                    checks.iter().map(|check| self.check_expression(check)).collect();
                match checks.as_slice() {
                    [a, b] => quote!((#a) != (#b)),
                    all => quote!([#(#all),*].into_iter().filter(|holds| *holds).count() == 1),
                }
            }
            Check::Not(inner) => self.negated_expression(inner),
            Check::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let (c, t, o) = (
                    self.check_expression(condition),
                    self.check_expression(then),
                    self.check_expression(otherwise),
                );
                quote!(if #c { #t } else { #o })
            }
            Check::Test(test) => self.test_expression(test),
        }
    }

    /// Prints the operands of `&&` or `||`, in parentheses where necessary. A leading `match` or `if` needs
    /// them, because it would be parsed as a statement.
    fn operand_expressions(&self, checks: &[Check], bind_less: impl Fn(&Check) -> bool) -> Vec<TokenStream> {
        let each = checks.iter().enumerate().map(|(at, check)| {
            let tokens = self.check_expression(check);
            if bind_less(check) || (at == 0 && is_block(check)) { quote!((#tokens)) } else { tokens }
        });
        each.collect()
    }

    /// Prints an expression that is true if the check is false.
    fn negated_expression(&self, check: &Check) -> TokenStream {
        match check {
            Check::Test(ValueTest::IsPresent(at)) => {
                let at = receiver(at);
                quote!(#at.is_none())
            }
            Check::Test(ValueTest::StringIn(text, values)) if values.len() == 1 => {
                let (text, value) = (text_receiver(text), &values[0]);
                quote!(#text != #value)
            }
            Check::Test(ValueTest::IntIn(at, values)) if values.len() == 1 => {
                let (at, value) = (value_expression(at), Literal::i128_unsuffixed(values[0]));
                quote!(#at != #value)
            }
            Check::Test(ValueTest::Count(counted, order, limit))
                if is_emptiness_check(counted, *order, *limit) =>
            {
                let on = count_receiver(counted);
                quote!(!#on.is_empty())
            }
            Check::Test(ValueTest::Count(counted, order, limit))
                if is_nonempty_check(counted, *order, *limit) =>
            {
                let on = count_receiver(counted);
                quote!(#on.is_empty())
            }
            Check::Test(test) if is_call(test) => {
                let tokens = self.test_expression(test);
                quote!(!#tokens)
            }
            check => {
                let tokens = self.check_expression(check);
                quote!(!(#tokens))
            }
        }
    }

    /// Prints a function that checks its argument `value`: the name of a runtime function if that is
    /// possible, or else a closure.
    fn value_predicate(&self, check: &Check) -> TokenStream {
        if let Check::Test(ValueTest::Writable(ValuePlace::Bound)) = check {
            self.add_import(RuntimeImport::Conditions);
            return quote!(contract::is_serializable);
        }
        let check = self.check_expression(check);
        quote!(|value| #check)
    }

    fn test_expression(&self, test: &ValueTest) -> TokenStream {
        match test {
            ValueTest::Valid(at) => {
                let at = receiver(at);
                quote!(#at.is_valid())
            }
            ValueTest::Tables(at, form, ids) => {
                let (row, value) = (self.row_expression(ids), by_ref(at));
                match form {
                    PlaceForm::Json => quote!(schemas::validator(#row).is_valid(#value)),
                    PlaceForm::Typed => {
                        self.add_import(RuntimeImport::Conditions);
                        quote!(contract::satisfies_schema(#value, schemas::validator(#row)))
                    }
                }
            }
            ValueTest::StringTables(text, ids) => {
                self.add_import(RuntimeImport::Conditions);
                let (row, text) = (self.row_expression(ids), text_argument(text));
                quote!(contract::satisfies_schema(#text, schemas::validator(#row)))
            }
            ValueTest::True(at) => value_expression(at),
            ValueTest::IsPresent(at) => {
                let at = receiver(at);
                quote!(#at.is_some())
            }
            ValueTest::IfPresent(at, check) => {
                let (at, holds) = (receiver(at), self.value_predicate(check));
                quote!(#at.as_ref().is_none_or(#holds))
            }
            ValueTest::RestIsDisjoint(at, of) => {
                self.add_import(RuntimeImport::IsApart);
                let (of, at) = (self.type_name(at, *of), receiver(at));
                quote!(is_disjoint(&#at.extra, #of::DECLARED))
            }
            ValueTest::Writable(at) => {
                self.add_import(RuntimeImport::Conditions);
                let at = by_ref(at);
                quote!(contract::is_serializable(#at))
            }
            ValueTest::Contains(at, name) => {
                let at = receiver(at);
                quote!(#at.contains_key(#name))
            }
            ValueTest::IfContains(at, name, check) => {
                let (at, holds) = (receiver(at), self.value_predicate(check));
                quote!(#at.get(#name).is_none_or(#holds))
            }
            ValueTest::Elements(at, check) => {
                let (at, holds) = (receiver(at), self.value_predicate(check));
                quote!(#at.iter().all(#holds))
            }
            ValueTest::Values(at, check) => {
                let (at, holds) = (receiver(at), self.value_predicate(check));
                quote!(#at.values().all(#holds))
            }
            ValueTest::Names(at, check) => {
                let (at, check) = (receiver(at), self.check_expression(check));
                quote!(#at.keys().all(|name| #check))
            }
            ValueTest::Members(at, check) => {
                let (at, check) = (receiver(at), self.check_expression(check));
                quote!(#at.iter().all(|(name, value)| #check))
            }
            ValueTest::Count(counted, order, limit) => self.count_expression(counted, *order, *limit),
            ValueTest::Distinct(at) => {
                self.add_import(RuntimeImport::Conditions);
                let at = by_ref(at);
                quote!(contract::all_distinct(#at))
            }
            ValueTest::StringIn(text, values) => match values.as_slice() {
                [one] => {
                    let text = text_receiver(text);
                    quote!(#text == #one)
                }
                many if many.len() > MAX_MATCH_ARMS => {
                    self.add_import(RuntimeImport::Conditions);
                    let (text, sorted) = (text_match_subject(text), BTreeSet::from_iter(many));
                    let sorted = sorted.iter();
                    quote!(contract::contains_sorted(#text, &[#(#sorted),*]))
                }
                several => {
                    let text = text_match_subject(text);
                    quote!(matches!(#text, #(#several)|*))
                }
            },
            ValueTest::Matches(text, pattern) => {
                // The table contains every pattern to which a check refers.
                let (pattern, text) = (self.tables.pattern_constant(pattern), text_argument(text));
                quote!(schemas::#pattern.is_match(#text))
            }
            ValueTest::Format(text, format) => {
                let (format, text) = (ident(&format!("{format:?}")), text_argument(text));
                quote!(::contract_runtime::format::StringFormat::#format.is_match(#text))
            }
            ValueTest::MappedFormat(StringOperand::Formatted(at, own), name, _) if own == name => {
                let at = receiver(at);
                quote!(#at.get().is_some())
            }
            ValueTest::MappedFormat(text, name, _) => {
                let (name, text) = (ident(name), text_argument(text));
                quote!(super::formats::#name::is_match(#text))
            }
            ValueTest::IntIn(at, values) => {
                let (at, literals) =
                    (value_expression(at), values.iter().copied().map(Literal::i128_unsuffixed));
                if let Some((least, greatest)) = integer_range(values) {
                    let (least, greatest) =
                        (Literal::i128_unsuffixed(least), Literal::i128_unsuffixed(greatest));
                    return quote!(matches!(#at, #least..=#greatest));
                }
                match literals.len() {
                    1 => quote!(#at == #(#literals)*),
                    _ => quote!(matches!(#at, #(#literals)|*)),
                }
            }
            ValueTest::IntBound(at, order, limit) => {
                let (at, order, limit) =
                    (value_expression(at), comparison_operator(*order), Literal::i128_unsuffixed(*limit));
                quote!(#at #order #limit)
            }
            ValueTest::IntMultiple(at, divisor) => {
                let (at, divisor) = (value_expression(at), Literal::i64_unsuffixed(*divisor));
                quote!(#at % #divisor == 0)
            }
            ValueTest::NumberIn(at, values) => {
                let (at, values) = (by_ref(at), values.iter().map(|value| self.number_expression(value)));
                quote!([#(#values),*].contains(#at))
            }
            ValueTest::NumberBound(of, order, limit) => {
                let (order, limit) = (comparison_operator(*order), self.number_expression(limit));
                let of = match of {
                    NumberOperand::Int(at) => self.int_as_number(at),
                    NumberOperand::Exact(at) => value_expression(at),
                };
                quote!(#of #order #limit)
            }
            ValueTest::NumberMultiple(of, divisor) => {
                let divisor = self.number_expression(divisor);
                let of = match of {
                    NumberOperand::Int(at) => self.int_as_number(at),
                    NumberOperand::Exact(at) => receiver(at),
                };
                quote!(#of.is_multiple_of(&#divisor))
            }
            ValueTest::Integral(at) => {
                let at = receiver(at);
                quote!(#at.is_integer())
            }
            ValueTest::Listed(at, of, names) => {
                let (at, of) = (by_ref(at), self.type_tokens(&TypeRef::Named(*of)));
                let names = names.iter().map(|name| ident(name));
                quote!(matches!(#at, #(#of::#names)|*))
            }
            ValueTest::Unlisted(at, check) => {
                let at = receiver(at);
                match &**check {
                    Check::Never => quote!(#at.is_known()),
                    check => {
                        let check = self.check_expression(check);
                        quote!(#at.unknown().is_none_or(|text| #check))
                    }
                }
            }
            ValueTest::Nullable { at, boxed, null, value } => {
                let (nullable, on) = (self.runtime_item(RuntimeImport::Nullable), match_subject(at, *boxed));
                let name = binding_pattern(value);
                let value = self.check_expression(value);
                quote!(match #on { #nullable::Null => #null, #nullable::Value(#name) => #value })
            }
            ValueTest::Variants { at, boxed, of, arms, unknown } => {
                let (on, of) = (match_subject(at, *boxed), self.type_name(at, *of));
                let arms = arms.iter().map(|arm| {
                    let (name, bound, check) =
                        (ident(&arm.variant), binding_pattern(&arm.check), self.check_expression(&arm.check));
                    quote!(#of::#name(#bound) => #check,)
                });
                let unknown = unknown.as_ref().map(|ids| {
                    if ids.is_empty() {
                        return quote!(#of::Unknown(_) => true,);
                    }
                    let row = self.row_expression(ids);
                    quote!(#of::Unknown(value) => schemas::validator(#row).is_valid(value),)
                });
                quote!(match #on { #(#arms)* #unknown })
            }
        }
    }

    /// Returns the name of the type `of`, which is `Self` if the check is in the implementation of this type.
    fn type_name(&self, at: &ValuePlace, of: TypeId) -> TokenStream {
        match at {
            ValuePlace::Own => quote!(Self),
            _ => self.type_tokens(&TypeRef::Named(of)),
        }
    }

    /// Prints an expression for an exact number.
    pub(super) fn number_expression(&self, number: &Number) -> TokenStream {
        number_tokens(number, &self.runtime_item(RuntimeImport::Number))
    }

    /// Prints an expression that converts a machine integer to `Number`.
    fn int_as_number(&self, place: &ValuePlace) -> TokenStream {
        let (exact, copy) = (self.runtime_item(RuntimeImport::Number), value_expression(place));
        quote!(#exact::from(#copy))
    }

    fn count_expression(&self, counted: &CountOperand, order: ComparisonOperator, limit: u64) -> TokenStream {
        let on = count_receiver(counted);
        if is_emptiness_check(counted, order, limit) {
            return quote!(#on.is_empty());
        }
        if is_nonempty_check(counted, order, limit) {
            return quote!(!#on.is_empty());
        }
        let (sign, limit_tokens) = (comparison_operator(order), Literal::u64_unsuffixed(limit));
        match counted {
            CountOperand::Length(_) => quote!(#on.len() #sign #limit_tokens),
            CountOperand::Members(..) if (order, limit) == (ComparisonOperator::AtMost, 0) => {
                quote!(#on == 0)
            }
            CountOperand::Members(..) => quote!(#on #sign #limit_tokens),
            CountOperand::Characters(text) => {
                let text = text_argument(text);
                let (called, function) = match order {
                    ComparisonOperator::AtLeast | ComparisonOperator::Above => {
                        (RuntimeImport::AtLeast, quote!(char_count_at_least))
                    }
                    ComparisonOperator::AtMost | ComparisonOperator::Below => {
                        (RuntimeImport::AtMost, quote!(char_count_at_most))
                    }
                };
                self.add_import(called);
                quote!(#function(#text, #limit_tokens))
            }
        }
    }

    fn row_expression(&self, ids: &[SchemaId]) -> TokenStream {
        self.tables.row_expression(&SchemaConjunction::from_schemas(ids.iter().copied()))
    }
}

/// Prints a value as the receiver of a method call or field access, such as `self.name` or `value`.
fn receiver(place: &ValuePlace) -> TokenStream {
    match place {
        ValuePlace::Own => quote!(self),
        ValuePlace::Bound => quote!(value),
        ValuePlace::Field(of, name) => {
            let (of, name) = (receiver(of), ident(name));
            quote!(#of.#name)
        }
        ValuePlace::Rest(of) => {
            let of = receiver(of);
            quote!(#of.extra)
        }
        ValuePlace::Inside(of) => {
            let of = receiver(of);
            quote!(#of.0)
        }
        ValuePlace::Integer(of) => {
            let of = receiver(of);
            quote!(#of.get())
        }
        ValuePlace::Element(of, index) => {
            let (of, index) = (receiver(of), Literal::usize_unsuffixed(*index));
            quote!(#of.#index)
        }
    }
}

/// Prints a reference to a value: `&self.name`, or `value` if the variable is already a reference.
fn by_ref(place: &ValuePlace) -> TokenStream {
    let recv = receiver(place);
    if is_reference(place) { recv } else { quote!(&#recv) }
}

/// Prints a value itself: `self.name`, or `*value` if the variable is a reference.
fn value_expression(place: &ValuePlace) -> TokenStream {
    let recv = receiver(place);
    if is_reference(place) { quote!(*#recv) } else { recv }
}

const fn is_reference(place: &ValuePlace) -> bool {
    matches!(place, ValuePlace::Own | ValuePlace::Bound)
}

/// Prints a value as the operand of a `match`. The content of a box is matched by reference.
fn match_subject(place: &ValuePlace, boxed: bool) -> TokenStream {
    let recv = receiver(place);
    if boxed { quote!(#recv.as_ref()) } else { by_ref(place) }
}

/// Prints a string as the receiver of a method call.
fn text_receiver(text: &StringOperand) -> TokenStream {
    match text {
        StringOperand::String(at) => receiver(at),
        other => text_argument(other),
    }
}

/// Prints a string as an argument of type `&str`.
fn text_argument(text: &StringOperand) -> TokenStream {
    match text {
        StringOperand::String(at) => by_ref(at),
        StringOperand::Secret(at) => {
            let at = receiver(at);
            quote!(#at.expose())
        }
        StringOperand::Listed(at) | StringOperand::Formatted(at, _) => {
            let at = receiver(at);
            quote!(#at.as_str())
        }
        StringOperand::Unlisted => quote!(text),
        StringOperand::Name => quote!(name),
    }
}

/// Prints a string as the operand of a `match` over string literals.
fn text_match_subject(text: &StringOperand) -> TokenStream {
    match text {
        StringOperand::String(at) => {
            let at = receiver(at);
            quote!(#at.as_str())
        }
        StringOperand::Secret(_) => {
            let text = text_argument(text);
            quote!(#text.as_str())
        }
        other => text_argument(other),
    }
}

/// Returns the bounds of at least three distinct integers without gaps, for which clippy requires a range.
fn integer_range(values: &[i128]) -> Option<(i128, i128)> {
    let (least, greatest) = (*values.iter().min()?, *values.iter().max()?);
    let count = i128::try_from(values.len()).ok()?;
    (count > 2 && greatest.checked_sub(least)? == count - 1).then_some((least, greatest))
}

/// Returns true if the comparison of a length is equivalent to `is_empty()`.
fn is_emptiness_check(counted: &CountOperand, order: ComparisonOperator, limit: u64) -> bool {
    matches!(counted, CountOperand::Length(_)) && (order, limit) == (ComparisonOperator::AtMost, 0)
}

/// Returns true if the comparison of a length is equivalent to `!is_empty()`.
fn is_nonempty_check(counted: &CountOperand, order: ComparisonOperator, limit: u64) -> bool {
    !matches!(counted, CountOperand::Members(..)) && (order, limit) == (ComparisonOperator::AtLeast, 1)
}

/// Prints the expression whose length is compared, or the number of properties.
fn count_receiver(counted: &CountOperand) -> TokenStream {
    match counted {
        CountOperand::Length(at) => receiver(at),
        CountOperand::Characters(text) => text_receiver(text),
        CountOperand::Members(at, always, sometimes) => {
            let at = receiver(at);
            let always = (*always > 0).then(|| Literal::usize_unsuffixed(*always)).into_iter();
            let sometimes = sometimes.iter().map(|name| ident(name));
            quote!((#(#always +)* #at.extra.len() #(+ usize::from(#at.#sometimes.is_some()))*))
        }
    }
}

fn comparison_operator(order: ComparisonOperator) -> TokenStream {
    match order {
        ComparisonOperator::AtLeast => quote!(>=),
        ComparisonOperator::Above => quote!(>),
        ComparisonOperator::AtMost => quote!(<=),
        ComparisonOperator::Below => quote!(<),
    }
}

/// Returns the pattern that binds the value for a check: `value`, or `_` if the check does not use the value.
fn binding_pattern(check: &Check) -> TokenStream {
    if matches!(check, Check::Always | Check::Never) { quote!(_) } else { quote!(value) }
}

/// Returns true if the expression of a check is a `match` or an `if`.
const fn is_block(check: &Check) -> bool {
    matches!(check, Check::If(_) | Check::Test(ValueTest::Nullable { .. } | ValueTest::Variants { .. }))
}

/// Returns true if the expression of a test is a path or a call, which can be negated by `!` without
/// parentheses.
fn is_call(test: &ValueTest) -> bool {
    match test {
        ValueTest::Nullable { .. }
        | ValueTest::Variants { .. }
        | ValueTest::IntBound(..)
        | ValueTest::IntMultiple(..)
        | ValueTest::NumberBound(..) => false,
        ValueTest::IntIn(_, values) => values.len() > 1,
        ValueTest::StringIn(_, values) => values.len() > 1,
        ValueTest::Count(counted, ..) => matches!(counted, CountOperand::Characters(_)),
        _ => true,
    }
}
