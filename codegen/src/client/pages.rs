//! Writes what the client has for operations that answer page by page: two methods, the `PagedCall` of
//! the operation, and the `Paged` of its page.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Writer, docs, write};
use crate::{
    config::{OffsetBy, Targets},
    emit::ident,
    plan::{Call, Limit, Route, Step, Way},
    shape::TypeRef,
};

/// The methods of a call: its pages, and their items.
pub(super) fn methods(writer: &Writer<'_>, call: &Call<'_>) -> Option<TokenStream> {
    let (_, paged) = call.pages.as_ref()?;
    let (arguments, given) = write::by_value(writer, call);
    let own = format!("[`{0}`](Self::{0})", call.method);
    let about_pages = docs::attributes(&[
        format!("The pages of {own}, which says what it takes: each is asked for when it is waited for."),
        String::new(),
        ending(call, &paged.way),
    ]);
    let about_items = docs::attributes(&[format!("The items of {own}, page after page.")]);
    let deprecated = call.operation.deprecated.then(|| quote!(#[deprecated = "the contract says so"]));
    let many = (arguments.len() + 1 > 7).then(write::many);
    let (pages_method, items_method) = (ident(&paged.pages_method), ident(&paged.items_method));
    let (request, module) = (ident(&call.name), ident(writer.plan.side.calls()));
    let value = if given.is_empty() { quote!() } else { quote!({ #(#given),* }) };
    let pages =
        quote!(::contract_runtime::client::pages::Pages::new(&self.core, super::#module::#request #value));
    Some(quote! {
        #about_pages
        #deprecated
        #many
        pub fn #pages_method(&self, #(#arguments),*) -> ::contract_runtime::client::pages::Pages<super::#module::#request> {
            #pages
        }

        #about_items
        #deprecated
        #many
        pub fn #items_method(&self, #(#arguments),*) -> ::contract_runtime::client::pages::PageItems<super::#module::#request> {
            #pages.items()
        }
    })
}

/// Where the next page begins, and where they end.
fn ending(call: &Call<'_>, way: &Way) -> String {
    let row = |index: usize| call.parameters.get(index).map_or("", |parameter| parameter.row.name.as_str());
    match way {
        Way::Cursor { argument, from, of_last_item, more } => {
            let whose = if *of_last_item { "of the last item" } else { "of a page" };
            let until = match more {
                Some(more) => format!("until `{}` is false", more.pointer),
                None if *of_last_item => "until a page is empty".to_owned(),
                None => "until there is none".to_owned(),
            };
            format!("`{}` {whose} is `{}` of the next, {until}.", from.pointer, row(*argument))
        }
        Way::Link { rel, .. } => {
            format!("The header `Link` of a page names the next as `{rel}`, until it does not.")
        }
        Way::Url { from, .. } => {
            format!("`{}` of a page is the address of the next, until there is none.", from.pointer)
        }
        Way::Offset { argument, by: OffsetBy::Limit, limit, total, .. } => {
            let limit = limit.map_or("", |limit| row(limit.argument));
            format!("`{}` grows by `{limit}`, {}.", row(*argument), until(total.as_ref(), None))
        }
        Way::Offset { argument, limit, total, .. } => {
            let full = limit.map(|limit| row(limit.argument));
            format!("`{}` grows by the items of a page, {}.", row(*argument), until(total.as_ref(), full))
        }
        Way::Page { argument, limit, total, .. } => {
            let full = limit.map(|limit| row(limit.argument));
            format!("`{}` is the number of the page, {}.", row(*argument), until(total.as_ref(), full))
        }
    }
}

fn until(total: Option<&Route>, full: Option<&str>) -> String {
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

/// What the call says of its pages.
pub(super) fn call(writer: &Writer<'_>, call: &Call<'_>) -> Option<TokenStream> {
    let (_, pages) = call.pages.as_ref()?;
    let (name, module) = (ident(&call.name), ident(writer.plan.side.calls()));
    let page = writer.types.rust_type(&pages.page);
    let paging = paging(&pages.way);
    let (answer, some) = if pages.optional {
        (quote!(answer), quote!(Option<#page>))
    } else {
        (quote!(Some(answer)), page.clone())
    };
    let marks = marks(&pages.way).map(|marks| {
        quote! {
            fn marks(page: &Self::Page) -> ::contract_runtime::client::pages::Marks {
                ::contract_runtime::client::pages::Marks::new() #marks
            }
        }
    });
    Some(quote! {
        impl ::contract_runtime::client::pages::PagedCall for super::#module::#name {
            type Page = #page;
            const PAGING: ::contract_runtime::client::pages::Paging = #paging;

            fn page(answer: #some) -> Option<Self::Page> {
                #answer
            }

            #marks
        }
    })
}

fn paging(way: &Way) -> TokenStream {
    let paging = quote!(::contract_runtime::client::pages::Paging);
    let index = |index: &usize| Literal::usize_unsuffixed(*index);
    let targets = |targets: Targets| {
        let which = ident(match targets {
            Targets::Path => "Path",
            Targets::Origin => "Origin",
            Targets::Any => "Any",
        });
        quote!(::contract_runtime::client::pages::Targets::#which)
    };
    let limit = |limit: &Limit| {
        let (argument, default) = (index(&limit.argument), Literal::u64_unsuffixed(limit.default));
        quote!(::contract_runtime::client::pages::Limit { argument: #argument, default: #default })
    };
    let full = |given: &Option<Limit>| match given.as_ref().map(limit) {
        Some(limit) => quote!(Some(#limit)),
        None => quote!(None),
    };
    match way {
        Way::Cursor { argument, .. } => {
            let argument = index(argument);
            quote!(#paging::Cursor { argument: #argument })
        }
        Way::Link { rel, targets: which } => {
            let targets = targets(*which);
            quote!(#paging::Link { rel: #rel, targets: #targets })
        }
        Way::Url { targets: which, .. } => {
            let targets = targets(*which);
            quote!(#paging::Url { targets: #targets })
        }
        Way::Offset { argument, first, by, limit: most, .. } => {
            let (argument, first) = (index(argument), Literal::u64_unsuffixed(*first));
            let step = match (by, most) {
                (OffsetBy::Limit, Some(most)) => {
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
                    step: ::contract_runtime::client::pages::Step::#step,
                }
            }
        }
        Way::Page { argument, first, limit: most, .. } => {
            let (argument, first) = (index(argument), Literal::u64_unsuffixed(*first));
            let full = full(most);
            quote!(#paging::Page { argument: #argument, first: #first, full: #full })
        }
    }
}

/// What a page says of the next, as calls on marks; none where its body says nothing.
fn marks(way: &Way) -> Option<TokenStream> {
    let page = || quote!(page);
    let total = |total: &Option<Route>| {
        let total = borrowed(Place::certain(page()), total.as_ref()?);
        Some(quote!(.total(#total)))
    };
    match way {
        Way::Cursor { from, of_last_item, more, .. } => {
            let start = if *of_last_item {
                Place::Perhaps(quote!(::contract_runtime::client::pages::Paged::items(page).last()))
            } else {
                Place::certain(page())
            };
            let cursor = borrowed(start, from);
            let more = more.as_ref().map(|more| {
                let more = borrowed(Place::certain(page()), more);
                quote!(.more(#more))
            });
            Some(quote!(.cursor(#cursor) #more))
        }
        Way::Url { from, .. } => {
            let cursor = borrowed(Place::certain(page()), from);
            Some(quote!(.cursor(#cursor)))
        }
        Way::Offset { total: route, .. } | Way::Page { total: route, .. } => total(route),
        Way::Link { .. } => None,
    }
}

/// A value on the way to what a route names.
enum Place {
    /// It is there; whether the expression is the start itself, which is a reference.
    Certain(TokenStream, bool),
    /// An `Option` of it, or of a reference to it.
    Perhaps(TokenStream),
}

impl Place {
    const fn certain(start: TokenStream) -> Self {
        Self::Certain(start, true)
    }
}

/// A reference to what a route names, or to an `Option` of such.
fn borrowed(start: Place, route: &Route) -> TokenStream {
    // The last step may lead to an `Option`: nothing is nothing, written out too.
    let last = route.steps.iter().rposition(|step| matches!(step, Step::Field { .. }));
    let steps = route.steps.iter().enumerate().map(|(at, step)| match step {
        Step::Field { name, .. } if Some(at) == last => Step::Field { name: name.clone(), optional: false },
        step => step.clone(),
    });
    match walk(start, steps) {
        Place::Certain(value, true) => value,
        Place::Certain(value, false) | Place::Perhaps(value) => quote!(&#value),
    }
}

/// Follows references; pointers and names of their own are looked through by the compiler.
fn walk(start: Place, steps: impl Iterator<Item = Step>) -> Place {
    steps.fold(start, |place, step| match (place, step) {
        (place, Step::Boxed | Step::Inner) => place,
        (Place::Certain(value, _), Step::Nullable) => Place::Perhaps(quote!(#value.value())),
        (Place::Perhaps(value), Step::Nullable) => {
            Place::Perhaps(quote!(#value.and_then(|value| value.value())))
        }
        (place, Step::Field { name, optional }) => {
            let name = ident(&name);
            match (place, optional) {
                (Place::Certain(value, _), false) => Place::Certain(quote!(#value.#name), false),
                (Place::Certain(value, _), true) => Place::Perhaps(quote!(#value.#name.as_ref())),
                (Place::Perhaps(value), false) => Place::Perhaps(quote!(#value.map(|value| &value.#name))),
                (Place::Perhaps(value), true) => {
                    Place::Perhaps(quote!(#value.and_then(|value| value.#name.as_ref())))
                }
            }
        }
    })
}

/// The same by value.
fn taken(steps: &[Step]) -> TokenStream {
    let place = steps.iter().fold(Place::Certain(quote!(self), true), |place, step| match (place, step) {
        (Place::Certain(value, _), Step::Nullable) => Place::Perhaps(quote!(#value.into_option())),
        (Place::Perhaps(value), Step::Nullable) => {
            Place::Perhaps(quote!(#value.and_then(|value| value.into_option())))
        }
        (Place::Certain(value, _), Step::Boxed) => Place::Certain(quote!((*#value)), false),
        (Place::Perhaps(value), Step::Boxed) => Place::Perhaps(quote!(#value.map(|value| *value))),
        (Place::Certain(value, _), Step::Inner) => Place::Certain(quote!(#value.0), false),
        (Place::Perhaps(value), Step::Inner) => Place::Perhaps(quote!(#value.map(|value| value.0))),
        (place, Step::Field { name, optional }) => {
            let name = ident(name);
            match (place, optional) {
                (Place::Certain(value, _), false) => Place::Certain(quote!(#value.#name), false),
                (Place::Certain(value, _), true) => Place::Perhaps(quote!(#value.#name)),
                (Place::Perhaps(value), false) => Place::Perhaps(quote!(#value.map(|value| value.#name))),
                (Place::Perhaps(value), true) => Place::Perhaps(quote!(#value.and_then(|value| value.#name))),
            }
        }
    });
    match place {
        Place::Certain(value, _) => value,
        Place::Perhaps(value) => quote!(#value.unwrap_or_default()),
    }
}

/// What the pages of all calls hold, each type once. A list is a page by itself, and what may be `null`
/// is one by what it is otherwise.
pub(super) fn pages(writer: &Writer<'_>) -> TokenStream {
    let mut seen: Vec<&TypeRef> = Vec::new();
    let all = writer.plan.calls.iter().filter_map(|call| Some(&call.pages.as_ref()?.1));
    let all = all.filter(|pages| !matches!(pages.held().0, TypeRef::Vec(_)));
    all.filter_map(|pages| {
        let (held, steps) = pages.held();
        if seen.iter().any(|other| other.is_as_rust(held)) {
            return None;
        }
        seen.push(held);
        Some(page(writer, held, steps, &pages.item))
    })
    .collect()
}

fn page(writer: &Writer<'_>, page: &TypeRef, steps: &[Step], item: &TypeRef) -> TokenStream {
    let (page, item) = (writer.types.rust_type(page), writer.types.rust_type(item));
    let items = match walk(Place::Certain(quote!(self), true), steps.iter().cloned()) {
        Place::Certain(value, true) => value,
        Place::Certain(value, false) => quote!(&#value),
        Place::Perhaps(value) => quote!(#value.map_or(&[], |items| items.as_slice())),
    };
    let taken = taken(steps);
    quote! {
        impl ::contract_runtime::client::pages::Paged for #page {
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
