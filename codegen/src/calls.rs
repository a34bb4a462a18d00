//! The generated modules `calls` and `answers`: what each operation is asked and answers, in types
//! that both sides share.
//!
//! What may be left out is a struct of its own, with `Default` and a setter for each: a new
//! parameter that is not required changes no line of a caller's.

use contract_runtime::operation::Framing;
use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::{ParameterIn, Status},
    emit::{ident, markdown, sentence},
    operations::{body_equality, doc, whole_type},
    plan::{
        Answers, BodyType, Call, Case, Choice, Outcome, Parameter, Payload, Plan, Refused, Side, Streamed,
    },
    rust_types::{Equality, RustTypes},
    schema::{Graph, Schema},
    shape::TypeRef,
    together::{Conj, Facts},
    words::{default, limits_of},
};

/// Writes the module `calls` (or `webhook_calls`), a direct child of the generated root.
pub fn calls(plan: &Plan<'_>, graph: &Graph, types: &dyn RustTypes) -> TokenStream {
    let writer = Writer { side: plan.side, graph, types };
    plan.calls.iter().map(|call| writer.call(call)).collect()
}

/// Whether a field that may be left out is deprecated: what is generated uses it all the same.
pub(crate) fn any_deprecated(plan: &Plan<'_>) -> bool {
    plan.calls.iter().flat_map(Call::optional).any(|(_, parameter)| parameter.deprecated)
}

/// How values of what a call is asked can be told apart.
pub(crate) fn equality(call: &Call<'_>, types: &dyn RustTypes) -> Equality {
    let required = call.required().map(|(_, parameter)| types.equality(&parameter.ty));
    let body = call.body.iter().filter(|body| body.body.required).map(|body| body_equality(body, types));
    Equality::of_all(required.chain(body).chain([options_equality(call, types)]))
}

fn options_equality(call: &Call<'_>, types: &dyn RustTypes) -> Equality {
    let optional = call.optional().map(|(_, parameter)| types.equality(&parameter.ty));
    let body = call.body.iter().filter(|body| !body.body.required).map(|body| body_equality(body, types));
    Equality::of_all(optional.chain(body))
}

/// How what an answer holds can be told apart.
fn payload_equality(payload: &Payload, types: &dyn RustTypes) -> Equality {
    match payload {
        Payload::Json(ty) => types.equality(ty),
        Payload::Text | Payload::Bytes | Payload::Nothing => Equality::Hashed,
    }
}

struct Writer<'a> {
    side: Side,
    graph: &'a Graph,
    types: &'a dyn RustTypes,
}

impl Writer<'_> {
    fn call(&self, call: &Call<'_>) -> TokenStream {
        let place = call.place();
        let options = call.has_options().then(|| self.options(call, &place));
        let name = ident(&call.name);
        let about = doc(&[format!("What `{place}` is asked.")]);
        let required = call.required().map(|(_, parameter)| {
            let (about, field, ty) = self.field(parameter);
            quote!(#about pub #field: #ty,)
        });
        let body = call.body.as_ref().filter(|body| body.body.required).map(|body| {
            let described = body.body.description.as_deref().map(markdown);
            let about = doc(&[described.unwrap_or_else(|| "The body.".to_owned())]);
            let ty = whole_type(self.side, body, self.types);
            quote!(#about pub body: #ty,)
        });
        let more = call.has_options().then(|| {
            let options = ident(&call.options);
            quote! {
                /// What may be left out.
                pub options: #options,
            }
        });
        let fields: TokenStream = required.chain(body).chain(more).collect();
        let fields = if fields.is_empty() { quote!(;) } else { quote!({ #fields }) };
        let equality = equality(call, self.types).derives();
        quote! {
            #options

            #about
            #[derive(Clone, Debug, #equality)]
            pub struct #name #fields
        }
    }

    fn options(&self, call: &Call<'_>, place: &str) -> TokenStream {
        let name = ident(&call.options);
        let about = doc(&[format!("What may be left out of `{place}`.")]);
        let mut fields = TokenStream::new();
        let mut setters = TokenStream::new();
        let mut add = |about: TokenStream, field: &proc_macro2::Ident, ty: &TokenStream, given: Given| {
            let (argument, value) = match given {
                Given::Plain => (quote!(#ty), quote!(#field)),
                Given::Into => (quote!(impl Into<#ty>), quote!(#field.into())),
                Given::Texts => {
                    let each = quote!(#field.into_iter().map(Into::into).collect());
                    (quote!(impl IntoIterator<Item = impl Into<String>>), each)
                }
            };
            fields.extend(quote!(#about pub #field: Option<#ty>,));
            setters.extend(quote! {
                #about
                #[must_use]
                pub fn #field(mut self, #field: #argument) -> Self {
                    self.#field = Some(#value);
                    self
                }
            });
        };
        for (_, parameter) in call.optional() {
            let (about, field, ty) = self.field(parameter);
            let given = match &parameter.ty {
                TypeRef::String => Given::Into,
                TypeRef::Vec(inner) if **inner == TypeRef::String => Given::Texts,
                _ => Given::Plain,
            };
            let deprecated = parameter.deprecated.then(|| quote!(#[deprecated = "the contract says so"]));
            add(quote!(#about #deprecated), &field, &ty, given);
        }
        if let Some(body) = call.body.as_ref().filter(|body| !body.body.required) {
            let described = body.body.description.as_deref().map(markdown);
            let about = doc(&[described.unwrap_or_else(|| "The body.".to_owned())]);
            let plain =
                matches!(&body.variants[..], [one] if !matches!(one.ty, BodyType::Text | BodyType::Bytes));
            let ty = whole_type(self.side, body, self.types);
            add(about, &ident("body"), &ty, if plain { Given::Plain } else { Given::Into });
        }
        let equality = options_equality(call, self.types).derives();
        quote! {
            #about
            #[derive(Clone, Debug, Default, #equality)]
            #[non_exhaustive]
            pub struct #name { #fields }

            impl #name {
                /// Everything left out.
                #[must_use]
                pub fn new() -> Self {
                    Self::default()
                }

                #setters
            }
        }
    }

    /// Documentation, name and type of a parameter.
    fn field(&self, parameter: &Parameter<'_>) -> (TokenStream, proc_macro2::Ident, TokenStream) {
        let place = match parameter.row.location {
            ParameterIn::Path => "Path parameter",
            ParameterIn::Query => "Query parameter",
            ParameterIn::Header => "Header",
            ParameterIn::Cookie => "Cookie",
            ParameterIn::QueryString => "The whole query",
        };
        let words = parameter.row.schema.map(|schema| limits_of(self.graph, schema)).unwrap_or_default();
        let words = if words.is_empty() { words } else { format!(": {words}") };
        let deprecated = if parameter.deprecated { ", deprecated" } else { "" };
        let mut paragraphs: Vec<String> = Vec::new();
        let schemas = self.schemas(parameter);
        let described = |schema: &&Schema| schema.description.clone();
        let described = schemas.iter().rev().find_map(described);
        let titled = || schemas.iter().rev().find_map(|schema| schema.title.as_deref().map(sentence));
        let described = parameter.parameter.description.clone().or(described).or_else(titled);
        paragraphs.extend(described.as_deref().map(markdown));
        paragraphs.push(format!("{place} `{}`{deprecated}{words}.", parameter.row.name));
        paragraphs.extend(default(&schemas));
        if parameter.row.allow_empty {
            let text =
                "It may be sent without a value, which is as if it was left out where no value is empty.";
            paragraphs.push(text.to_owned());
        }
        let field = ident(parameter.field.as_deref().unwrap_or_default());
        (doc(&paragraphs), field, self.types.rust_type(&parameter.ty))
    }

    /// What its schema amounts to, the nearest last.
    fn schemas(&self, parameter: &Parameter<'_>) -> Vec<&Schema> {
        let place = parameter.parameter.schema.map(Conj::one);
        let facts = place.map(|place| Facts::of(self.graph, &place, true));
        facts.iter().flat_map(|facts| facts.schemas(self.graph)).collect()
    }
}

/// How a setter takes its value.
enum Given {
    Plain,
    Into,
    Texts,
}

/// Writes the module `answers` (or `webhook_answers`), or nothing when one type does everywhere.
pub fn answers(plan: &Plan<'_>, types: &dyn RustTypes) -> Option<TokenStream> {
    let items: Vec<TokenStream> =
        plan.choices.iter().map(|choice| enumeration(plan, choice, types)).collect();
    (!items.is_empty()).then(|| quote!(#(#items)*))
}

fn enumeration(plan: &Plan<'_>, choice: &Choice, types: &dyn RustTypes) -> TokenStream {
    let name = ident(&choice.name);
    let first = choice.users.first().and_then(|&user| plan.calls.get(user));
    let place = first.map(Call::place).unwrap_or_default();
    let about = match (choice.outcome, choice.users.len()) {
        (Outcome::Success, _) => format!("What `{place}` answers."),
        (Outcome::Refusal, 1) => format!("What `{place}` refuses with."),
        (Outcome::Refusal, 2) => format!("What `{place}` and one more refuse with."),
        (Outcome::Refusal, users) => format!("What `{place}` and {} more refuse with.", users - 1),
    };
    let about = doc(&[about]);
    let variants = choice.variants.iter().map(|(variant, payload)| {
        let text = match choice.outcome {
            Outcome::Success => {
                let cases = first.map(|call| call.answers.cases.as_slice()).unwrap_or_default();
                cases.iter().find(|case| case.variant == *variant).map(said).unwrap_or_default()
            }
            Outcome::Refusal => held(payload, types),
        };
        let about = doc(&[text]);
        let name = ident(variant);
        match payload {
            Payload::Nothing => quote!(#about #name),
            payload => {
                let ty = payload_type(payload, types);
                quote!(#about #name(#ty))
            }
        }
    });
    let held = choice.variants.iter().map(|(_, payload)| payload_equality(payload, types));
    let equality = Equality::of_all(held).derives();
    quote! {
        #about
        #[derive(Clone, Debug, #equality)]
        pub enum #name { #(#variants),* }
    }
}

/// `` `201` as `text/csv`: Made. ``
fn said(case: &Case) -> String {
    let status = match case.status {
        Status::Default => "Any other".to_owned(),
        status => format!("`{}`", status.key()),
    };
    let media = if case.by_media_type { format!(" as `{}`", case.media_type) } else { String::new() };
    let told = if case.doc.trim().is_empty() { String::new() } else { format!(": {}", markdown(&case.doc)) };
    format!("{status}{media}{told}")
}

fn held(payload: &Payload, types: &dyn RustTypes) -> String {
    match payload {
        Payload::Json(ty) => match types.name(ty) {
            Some(name) => format!("A [`{name}`](super::types::{name})."),
            None => "JSON.".to_owned(),
        },
        Payload::Text => "Text.".to_owned(),
        Payload::Bytes => "Bytes of another media type.".to_owned(),
        Payload::Nothing => "Nothing but a status.".to_owned(),
    }
}

/// The type of all successes or of all refusals of a call, as seen from another module.
pub(crate) fn answers_type(side: Side, answers: &Answers, types: &dyn RustTypes) -> TokenStream {
    match (&answers.one, &answers.choice) {
        (Some(one), _) if answers.optional => {
            let ty = payload_type(one, types);
            quote!(Option<#ty>)
        }
        (Some(one), _) => payload_type(one, types),
        (None, Some(name)) => choice_type(side, name),
        (None, None) => quote!(()),
    }
}

/// What is read of a body in pieces.
pub(crate) fn read_type(streamed: &Streamed, types: &dyn RustTypes) -> TokenStream {
    match streamed {
        Streamed::Pieces => quote!(::contract_runtime::transport::ByteStream),
        Streamed::Items(item) => {
            let ty = types.rust_type(&item.ty);
            match item.framing {
                Framing::Events => quote!(::contract_runtime::stream::Events<#ty>),
                Framing::Lines | Framing::Sequence => quote!(::contract_runtime::stream::Items<#ty>),
            }
        }
    }
}

/// What is written as a body in pieces.
pub(crate) fn written_type(streamed: &Streamed, types: &dyn RustTypes) -> TokenStream {
    match streamed {
        Streamed::Pieces => quote!(::contract_runtime::transport::ByteStream),
        Streamed::Items(item) => {
            let ty = types.rust_type(&item.ty);
            match item.framing {
                Framing::Events => quote!(::contract_runtime::server::EventStream<#ty>),
                Framing::Lines | Framing::Sequence => quote!(::contract_runtime::server::ItemStream<#ty>),
            }
        }
    }
}

/// What operations refuse with, as seen from another module.
pub(crate) fn refused_type(side: Side, refused: &Refused, types: &dyn RustTypes) -> TokenStream {
    match refused {
        Refused::One(payload) => payload_type(payload, types),
        Refused::Choice(name) => choice_type(side, name),
    }
}

/// An enum of answers, as seen from another module.
pub(crate) fn choice_type(side: Side, name: &str) -> TokenStream {
    let (module, name) = (ident(side.answers()), ident(name));
    quote!(super::#module::#name)
}

/// The type of what an answer holds, as seen from another module.
pub(crate) fn payload_type(payload: &Payload, types: &dyn RustTypes) -> TokenStream {
    match payload {
        Payload::Json(ty) => types.rust_type(ty),
        Payload::Text => quote!(String),
        Payload::Bytes => quote!(::contract_runtime::multipart::Bytes),
        Payload::Nothing => quote!(()),
    }
}
