//! Writes the client code of paginated operations: two methods for each, its implementation of `PagedCall`,
//! and the implementation of `ItemPage` for its pages.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{ClientWriter, docs, write};
use crate::{
    config::{LinkTargetScope, OffsetIncrement},
    emit::ident,
    plan::{NextPage, PageLimit, PlannedCall, ValuePath, ValuePathStep},
    shape::TypeRef,
};

/// Writes two methods for a paginated call: one returns a stream of pages, the other a stream of their items.
/// Returns `None` if the call is not paginated.
pub(super) fn paging_methods(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Option<TokenStream> {
    let (_, paged) = call.pages.as_ref()?;
    let (arguments, given) = write::owned_arguments(writer, call);
    let generics = write::method_generics(call);
    let own = format!("[`{0}`](Self::{0})", call.client_method);
    let write::Receiver { api_client, .. } = write::Receiver::new(call);
    let about_pages = docs::doc_attributes(&[
        format!(
            "The pages of {own}, with the same arguments. Each page is requested when the stream is polled."
        ),
        String::new(),
        describe_paging(call, &paged.next),
    ]);
    let about_items = docs::doc_attributes(&[format!("The items of all pages of {own}.")]);
    let deprecated = call.operation.deprecated.then(|| quote!(#[deprecated = "deprecated by the contract"]));
    let many = (arguments.len() + 1 > 7).then(write::too_many_arguments);
    let (pages_method, items_method) = (ident(&paged.pages_method), ident(&paged.items_method));
    let (request, module) = (ident(&call.name), ident(writer.plan.side.calls_module()));
    let value = if given.is_empty() { quote!() } else { quote!({ #(#given),* }) };
    let pages = quote!(::contract_runtime::client::pages::PageStream::new(#api_client, super::#module::#request #value));
    Some(quote! {
        #about_pages
        #deprecated
        #many
        pub fn #pages_method #generics(&self, #(#arguments),*) -> ::contract_runtime::client::pages::PageStream<super::#module::#request> {
            #pages
        }

        #about_items
        #deprecated
        #many
        pub fn #items_method #generics(&self, #(#arguments),*) -> ::contract_runtime::client::pages::PageItems<super::#module::#request> {
            #pages.into_items()
        }
    })
}

/// Returns a sentence for the documentation of a method: how the next page is found, and when the last page
/// is reached.
fn describe_paging(call: &PlannedCall<'_>, way: &NextPage) -> String {
    let row = |index: usize| call.parameters.get(index).map_or("", |parameter| parameter.row.name.as_str());
    match way {
        NextPage::Cursor { argument, from, of_last_item, more } => {
            let owner = if *of_last_item { "of the last item" } else { "of a page" };
            let until = match more {
                Some(more) => format!("until `{}` is false", more.pointer),
                None if *of_last_item => "until a page is empty".to_owned(),
                None => "until there is none".to_owned(),
            };
            format!(
                "`{}` {owner} is passed as `{}` for the next page, {until}.",
                from.pointer,
                row(*argument)
            )
        }
        NextPage::Link { rel, .. } => {
            format!(
                "The header `Link` of a page contains the next one with the relation `{rel}`, until there is none."
            )
        }
        NextPage::Url { from, .. } => {
            format!("`{}` of a page is the URL of the next one, until there is none.", from.pointer)
        }
        NextPage::Offset { argument, by: OffsetIncrement::Limit, limit, total, .. } => {
            let limit = limit.map_or("", |limit| row(limit.argument));
            format!("`{}` increases by `{limit}`, {}.", row(*argument), describe_end(total.as_ref(), None))
        }
        NextPage::Offset { argument, limit, total, .. } => {
            let full = limit.map(|limit| row(limit.argument));
            format!(
                "`{}` increases by the number of items in a page, {}.",
                row(*argument),
                describe_end(total.as_ref(), full)
            )
        }
        NextPage::Page { argument, limit, total_pages, total_items, .. } => {
            let full = limit.map(|limit| row(limit.argument));
            let total = total_pages.as_ref().or(total_items.as_ref());
            format!("`{}` is the page number, {}.", row(*argument), describe_end(total, full))
        }
    }
}

fn describe_end(total: Option<&ValuePath>, full: Option<&str>) -> String {
    let empty = match full {
        Some(limit) => format!("a page has fewer items than `{limit}`"),
        None => "a page is empty".to_owned(),
    };
    match (total, full) {
        (Some(total), None) => format!("until `{}` is reached", total.pointer),
        (Some(total), Some(_)) => format!("until `{}` is reached or {empty}", total.pointer),
        (None, _) => format!("until {empty}"),
    }
}

/// Writes the `PagedCall` implementation of a paginated call, or returns `None` if the call is not paginated.
pub(super) fn paged_call_impl(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Option<TokenStream> {
    let (_, pages) = call.pages.as_ref()?;
    let (name, module) = (ident(&call.name), ident(writer.plan.side.calls_module()));
    let page = writer.types.rust_type(&pages.page);
    let paging = paging_constant(&pages.next);
    let (answer, some) = if pages.optional {
        (quote!(response), quote!(Option<#page>))
    } else {
        (quote!(Some(response)), page.clone())
    };
    let marks = page_marks(&pages.next).map(|marks| {
        quote! {
            fn markers(page: &Self::Page) -> ::contract_runtime::client::pages::PageMarkers {
                ::contract_runtime::client::pages::PageMarkers::new() #marks
            }
        }
    });
    Some(quote! {
        impl ::contract_runtime::client::pages::PagedCall for super::#module::#name {
            type Page = #page;
            const PAGINATION: ::contract_runtime::client::pages::Pagination = #paging;

            fn into_page(response: #some) -> Option<Self::Page> {
                #answer
            }

            #marks
        }
    })
}

fn paging_constant(way: &NextPage) -> TokenStream {
    let paging = quote!(::contract_runtime::client::pages::Pagination);
    let index = |index: &usize| Literal::usize_unsuffixed(*index);
    let targets = |targets: LinkTargetScope| {
        let which = ident(match targets {
            LinkTargetScope::Path => "SamePath",
            LinkTargetScope::Origin => "SameOrigin",
            LinkTargetScope::Any => "AnyOrigin",
        });
        quote!(::contract_runtime::client::pages::LinkPolicy::#which)
    };
    let limit = |limit: &PageLimit| {
        let (argument, default) = (index(&limit.argument), Literal::u64_unsuffixed(limit.default));
        quote!(::contract_runtime::client::pages::PageLimit { argument: #argument, default: #default })
    };
    let full = |given: &Option<PageLimit>| match given.as_ref().map(limit) {
        Some(limit) => quote!(Some(#limit)),
        None => quote!(None),
    };
    match way {
        NextPage::Cursor { argument, .. } => {
            let argument = index(argument);
            quote!(#paging::Cursor { argument: #argument })
        }
        NextPage::Link { rel, targets: which } => {
            let targets = targets(*which);
            quote!(#paging::Link { rel: #rel, targets: #targets })
        }
        NextPage::Url { targets: which, .. } => {
            let targets = targets(*which);
            quote!(#paging::Url { targets: #targets })
        }
        NextPage::Offset { argument, first, by, limit: most, .. } => {
            let (argument, first) = (index(argument), Literal::u64_unsuffixed(*first));
            let step = match (by, most) {
                (OffsetIncrement::Limit, Some(most)) => {
                    let limit = limit(most);
                    quote!(Limit(#limit))
                }
                (_, most) => {
                    let full = full(most);
                    quote!(Items { full: #full })
                }
            };
            quote! {
                #paging::Offset {
                    argument: #argument,
                    first: #first,
                    step: ::contract_runtime::client::pages::OffsetStep::#step,
                }
            }
        }
        NextPage::Page { argument, first, limit: most, .. } => {
            let (argument, first) = (index(argument), Literal::u64_unsuffixed(*first));
            let full = full(most);
            quote!(#paging::Page { argument: #argument, first: #first, full: #full })
        }
    }
}

/// Writes calls of a `PageMarkers` builder. Each call passes a value from the body of a page, such as a
/// cursor or a total, from which the runtime determines the next page. Returns `None` if no such value is
/// needed.
fn page_marks(way: &NextPage) -> Option<TokenStream> {
    let page = || quote!(page);
    let total = |total: &Option<ValuePath>| {
        let total = borrow_route(ValueExpression::from_start(page()), total.as_ref()?);
        Some(quote!(.with_total(#total)))
    };
    match way {
        NextPage::Cursor { from, of_last_item, more, .. } => {
            let start = if *of_last_item {
                ValueExpression::Optional(quote!(
                    ::contract_runtime::client::pages::ItemPage::items(page).last()
                ))
            } else {
                ValueExpression::from_start(page())
            };
            let cursor = borrow_route(start, from);
            let more = more.as_ref().map(|more| {
                let more = borrow_route(ValueExpression::from_start(page()), more);
                quote!(.with_more(#more))
            });
            Some(quote!(.with_cursor(#cursor) #more))
        }
        NextPage::Url { from, .. } => {
            let cursor = borrow_route(ValueExpression::from_start(page()), from);
            Some(quote!(.with_cursor(#cursor)))
        }
        NextPage::Offset { total: route, .. } => total(route),
        NextPage::Page { total_pages, total_items, .. } => {
            let pages = total(total_pages);
            let items = total_items.as_ref().map(|items| {
                let items = borrow_route(ValueExpression::from_start(page()), items);
                quote!(.with_total_items(#items))
            });
            (pages.is_some() || items.is_some()).then(|| quote!(#pages #items))
        }
        NextPage::Link { .. } => None,
    }
}

/// An expression for the value after some steps of a [`ValuePath`], which is the path of fields from a page
/// to one of its values.
enum ValueExpression {
    /// A value that always exists. The flag is true before the first step: the expression is then already a
    /// reference.
    Certain(TokenStream, bool),
    /// An `Option` of a value or of a reference to it, because a field on the path may be absent.
    Optional(TokenStream),
}

impl ValueExpression {
    const fn from_start(start: TokenStream) -> Self {
        Self::Certain(start, true)
    }

    /// Follows a step to a value that may be absent. `step` returns an expression for it, an `Option` of a reference.
    fn and_then(self, step: impl Fn(TokenStream) -> TokenStream) -> Self {
        Self::Optional(match self {
            Self::Certain(value, _) => step(value),
            Self::Optional(value) => {
                let next = step(quote!(value));
                quote!(#value.and_then(|value| #next))
            }
        })
    }
}

/// Returns an expression that is a reference to the value at the end of a path, or to an `Option` of the
/// value.
fn borrow_route(start: ValueExpression, route: &ValuePath) -> TokenStream {
    // If the last field is an `Option`, it is passed unchanged, because the runtime accepts an absent value.
    let is_member = |step: &ValuePathStep| {
        matches!(step, ValuePathStep::Field { .. } | ValuePathStep::Member(_) | ValuePathStep::JsonPointer(_))
    };
    let last = route.steps.iter().rposition(is_member);
    let steps = route.steps.iter().enumerate().map(|(at, step)| match step {
        ValuePathStep::Field { name, .. } if Some(at) == last => {
            ValuePathStep::Field { name: name.clone(), optional: false }
        }
        step => step.clone(),
    });
    match follow_steps(start, steps) {
        ValueExpression::Certain(value, true) => value,
        ValueExpression::Certain(value, false) | ValueExpression::Optional(value) => quote!(&#value),
    }
}

/// Follows a path by reference. Boxes and newtypes need no code, because they are dereferenced implicitly.
fn follow_steps(start: ValueExpression, steps: impl Iterator<Item = ValuePathStep>) -> ValueExpression {
    steps.fold(start, |place, step| match (place, step) {
        (place, ValuePathStep::Boxed | ValuePathStep::Inner) => place,
        (ValueExpression::Certain(value, _), ValuePathStep::Nullable) => {
            ValueExpression::Optional(quote!(#value.value()))
        }
        (ValueExpression::Optional(value), ValuePathStep::Nullable) => {
            ValueExpression::Optional(quote!(#value.and_then(|value| value.value())))
        }
        (place, ValuePathStep::Member(name)) => place.and_then(|value| quote!(#value.get(#name))),
        (place, ValuePathStep::JsonPointer(pointer)) => {
            place.and_then(|value| quote!(#value.pointer(#pointer)))
        }
        (place, ValuePathStep::Field { name, optional }) => {
            let name = ident(&name);
            match (place, optional) {
                (ValueExpression::Certain(value, _), false) => {
                    ValueExpression::Certain(quote!(#value.#name), false)
                }
                (ValueExpression::Certain(value, _), true) => {
                    ValueExpression::Optional(quote!(#value.#name.as_ref()))
                }
                (ValueExpression::Optional(value), false) => {
                    ValueExpression::Optional(quote!(#value.map(|value| &value.#name)))
                }
                (ValueExpression::Optional(value), true) => {
                    ValueExpression::Optional(quote!(#value.and_then(|value| value.#name.as_ref())))
                }
            }
        }
    })
}

/// Follows a path from `self` by value, and returns an expression of the target's type. If a field on the
/// path is absent, the expression evaluates to the default value of this type.
fn take_by_value(steps: &[ValuePathStep]) -> TokenStream {
    let place =
        steps.iter().fold(ValueExpression::Certain(quote!(self), true), |place, step| match (place, step) {
            (ValueExpression::Certain(value, _), ValuePathStep::Nullable) => {
                ValueExpression::Optional(quote!(#value.into_option()))
            }
            (ValueExpression::Optional(value), ValuePathStep::Nullable) => {
                ValueExpression::Optional(quote!(#value.and_then(|value| value.into_option())))
            }
            (ValueExpression::Certain(value, _), ValuePathStep::Boxed) => {
                ValueExpression::Certain(quote!((*#value)), false)
            }
            (ValueExpression::Optional(value), ValuePathStep::Boxed) => {
                ValueExpression::Optional(quote!(#value.map(|value| *value)))
            }
            (ValueExpression::Certain(value, _), ValuePathStep::Inner) => {
                ValueExpression::Certain(quote!(#value.0), false)
            }
            (ValueExpression::Optional(value), ValuePathStep::Inner) => {
                ValueExpression::Optional(quote!(#value.map(|value| value.0)))
            }
            // Lists of items are typed.
            (place, ValuePathStep::Member(_) | ValuePathStep::JsonPointer(_)) => place,
            (place, ValuePathStep::Field { name, optional }) => {
                let name = ident(name);
                match (place, optional) {
                    (ValueExpression::Certain(value, _), false) => {
                        ValueExpression::Certain(quote!(#value.#name), false)
                    }
                    (ValueExpression::Certain(value, _), true) => {
                        ValueExpression::Optional(quote!(#value.#name))
                    }
                    (ValueExpression::Optional(value), false) => {
                        ValueExpression::Optional(quote!(#value.map(|value| value.#name)))
                    }
                    (ValueExpression::Optional(value), true) => {
                        ValueExpression::Optional(quote!(#value.and_then(|value| value.#name)))
                    }
                }
            }
        });
    match place {
        ValueExpression::Certain(value, _) => value,
        ValueExpression::Optional(value) => quote!(#value.unwrap_or_default()),
    }
}

/// Writes the implementations of `ItemPage`, one for each page type. The runtime implements the trait for
/// lists, and for a nullable page by the implementation of its inner type.
pub(super) fn page_impls(writer: &ClientWriter<'_>) -> TokenStream {
    let mut seen: Vec<&TypeRef> = Vec::new();
    let all = writer.plan.calls.iter().filter_map(|call| Some(&call.pages.as_ref()?.1));
    let all = all.filter(|pages| !matches!(pages.non_null_page().0, TypeRef::Vec(_)));
    all.filter_map(|pages| {
        let (held, steps) = pages.non_null_page();
        if seen.iter().any(|other| other.is_same_rust_type(held)) {
            return None;
        }
        seen.push(held);
        Some(page_impl(writer, held, steps, &pages.item))
    })
    .collect()
}

fn page_impl(
    writer: &ClientWriter<'_>,
    page: &TypeRef,
    steps: &[ValuePathStep],
    item: &TypeRef,
) -> TokenStream {
    let (page, item) = (writer.types.rust_type(page), writer.types.rust_type(item));
    let items = match follow_steps(ValueExpression::Certain(quote!(self), true), steps.iter().cloned()) {
        ValueExpression::Certain(value, true) => value,
        ValueExpression::Certain(value, false) => quote!(&#value),
        ValueExpression::Optional(value) => quote!(#value.map_or(&[], |items| items.as_slice())),
    };
    let taken = take_by_value(steps);
    quote! {
        impl ::contract_runtime::client::pages::ItemPage for #page {
            type Item = #item;

            fn items(&self) -> &[Self::Item] {
                #items
            }

            fn into_items(self) -> Vec<Self::Item> {
                #taken
            }
        }
    }
}
