//! The generated module `bodies`: types of request bodies that clients and servers share and no
//! schema describes: several media types, parts.

use proc_macro2::TokenStream;
use quote::quote;

use super::doc;
use crate::{
    emit::{ident, markdown},
    plan::{self, Body, BodyType, Call, Format, Part, PartForm, Plan, Side},
    rust_types::{Equality, RustTypes},
    schema::Graph,
};

/// Writes the module, or nothing when no body needs it.
pub fn bodies(plan: &Plan<'_>, graph: &Graph, types: &dyn RustTypes) -> Option<TokenStream> {
    let items: Vec<TokenStream> =
        plan.calls.iter().filter_map(|call| items(plan.side, call, graph, types)).collect();
    if items.is_empty() {
        return None;
    }
    let forms = plan.calls.iter().filter_map(|call| call.body.as_ref()).flat_map(|body| &body.contents);
    let imports = forms.map(|content| &content.format).any(|f| matches!(f, Format::Multipart(_, Some(_))));
    let imports = imports.then(|| {
        quote! {
            use ::contract_runtime::multipart::{Multipart, Reader, Writer};
            pub use ::contract_runtime::multipart::{Field, File};
        }
    });
    Some(quote!(#imports #(#items)*))
}

fn items(side: Side, call: &Call<'_>, graph: &Graph, types: &dyn RustTypes) -> Option<TokenStream> {
    let body = call.body.as_ref()?;
    let place = call.place();
    let choice = body.is_choice().then(|| choice(side, body, &place, types));
    let forms = body.contents.iter().filter_map(|content| match &content.format {
        Format::Multipart(parts, Some(name)) => {
            let about = format!("The `{}` body of `{place}`.", content.media.name);
            Some(Form { graph, types, parts, closed: content.closed }.tokens(name, &about))
        }
        _ => None,
    });
    let forms: Vec<TokenStream> = forms.collect();
    (choice.is_some() || !forms.is_empty()).then(|| quote!(#choice #(#forms)*))
}

/// The type of a body as seen from another module.
pub(crate) fn body_type(side: Side, ty: &BodyType, types: &dyn RustTypes) -> TokenStream {
    match ty {
        BodyType::Value(ty) => types.rust_type(ty),
        BodyType::Text => quote!(String),
        BodyType::Bytes => quote!(::contract_runtime::multipart::Bytes),
        BodyType::Typed => quote!(::contract_runtime::operation::Typed),
        BodyType::Fields => quote!(Vec<::contract_runtime::multipart::Field>),
        BodyType::Form(name) => {
            let (module, name) = (ident(side.bodies()), ident(name));
            quote!(super::#module::#name)
        }
    }
}

/// How bodies can be told apart.
pub(crate) fn equality(body: &Body<'_>, types: &dyn RustTypes) -> Equality {
    let form = |name: &String| {
        let own = body.contents.iter().filter_map(|content| match &content.format {
            Format::Multipart(parts, Some(own)) if own == name => {
                Some(form_equality(parts, content.closed, types))
            }
            _ => None,
        });
        Equality::of_all(own)
    };
    Equality::of_all(body.variants.iter().map(|variant| match &variant.ty {
        BodyType::Value(ty) => types.equality(ty),
        BodyType::Text | BodyType::Bytes => Equality::Hashed,
        BodyType::Typed | BodyType::Fields => Equality::Equal,
        BodyType::Form(name) => form(name),
    }))
}

/// How forms of these parts can be told apart: files and fields are not hashed.
fn form_equality(parts: &[Part], closed: bool, types: &dyn RustTypes) -> Equality {
    let of_parts = parts.iter().map(|part| match part.form {
        PartForm::Binary => Equality::Equal,
        PartForm::Json | PartForm::Text(_) => types.equality(&part.ty),
    });
    Equality::of_all(of_parts).min(if closed { Equality::Hashed } else { Equality::Equal })
}

/// The type that stands for all media types of a body.
pub(crate) fn whole_type(side: Side, body: &Body<'_>, types: &dyn RustTypes) -> TokenStream {
    match body.variants.as_slice() {
        [one] => body_type(side, &one.ty, types),
        _ => {
            let (module, name) = (ident(side.bodies()), ident(&body.name));
            quote!(super::#module::#name)
        }
    }
}

/// The enum of a body with several types.
fn choice(side: Side, body: &Body<'_>, place: &str, types: &dyn RustTypes) -> TokenStream {
    let name = ident(&body.name);
    let about = doc(&[format!("The body of `{place}`, by media type.")]);
    // A struct of this module as it is called inside of it.
    let here = |ty: &BodyType| match ty {
        BodyType::Form(name) => {
            let name = ident(name);
            quote!(#name)
        }
        other => body_type(side, other, types),
    };
    let variants = body.variants.iter().enumerate().map(|(at, variant)| {
        let own = body.contents.iter().filter(|content| content.variant == at);
        let names: Vec<String> = own.map(|content| format!("`{}`", content.media.name)).collect();
        let sent = &body.contents[variant.sent].media.name;
        let text = match names.as_slice() {
            [_] => names.join(", "),
            _ => format!("{}; sent as `{sent}`", names.join(" or ")),
        };
        let about = doc(&[format!("{text}.")]);
        let name = ident(&variant.name);
        let ty = here(&variant.ty);
        quote!(#about #name(#ty))
    });
    // What is of one Rust type twice says nothing about the media type.
    let once = |ty: &BodyType| body.variants.iter().filter(|other| other.ty.is_as_rust(ty)).count() == 1;
    let conversions = body.variants.iter().filter(|variant| once(&variant.ty)).map(|variant| {
        let (ty, variant) = (here(&variant.ty), ident(&variant.name));
        quote! {
            impl From<#ty> for #name {
                fn from(body: #ty) -> Self {
                    Self::#variant(body)
                }
            }
        }
    });
    let equality = equality(body, types).derives();
    quote! {
        #about
        #[derive(Clone, Debug, #equality)]
        pub enum #name { #(#variants),* }
        #(#conversions)*
    }
}

/// The struct of a multipart body.
struct Form<'a> {
    graph: &'a Graph,
    types: &'a dyn RustTypes,
    parts: &'a [Part],
    closed: bool,
}

impl Form<'_> {
    fn field_type(&self, part: &Part) -> TokenStream {
        let ty = self.types.rust_type(&part.ty);
        match (part.form, part.is_list(), part.required) {
            (PartForm::Binary, true, _) => quote!(Vec<File>),
            (PartForm::Binary, false, true) => quote!(File),
            (PartForm::Binary, false, false) => quote!(Option<File>),
            (_, _, true) => ty,
            (_, _, false) => quote!(Option<#ty>),
        }
    }

    fn tokens(&self, name: &str, about: &str) -> TokenStream {
        let Self { graph, parts, closed, .. } = *self;
        let name = ident(name);
        let about = doc(&[about.to_owned()]);
        let fields = parts.iter().map(|part| {
            let (field, ty) = (ident(&part.field), self.field_type(part));
            let described = plan::described(graph, part.schema).map(|text| markdown(&text));
            let wire = format!("Part `{}`.", part.name);
            let about = doc(&described.into_iter().chain([wire]).collect::<Vec<_>>());
            quote!(#about pub #field: #ty)
        });
        let others = (!closed).then(|| {
            quote! {
                /// Parts that the contract does not declare.
                pub others: Vec<Field>,
            }
        });
        let plain = |part: &&Part| !part.required || part.is_list();
        let required: Vec<&Part> = parts.iter().filter(|part| !plain(part)).collect();
        let arguments = required.iter().map(|part| {
            let (field, ty) = (ident(&part.field), self.field_type(part));
            quote!(#field: #ty)
        });
        let given = required.iter().map(|part| ident(&part.field));
        let left = parts.iter().filter(plain).map(|part| {
            let field = ident(&part.field);
            let empty = if !part.is_list() { quote!(None) } else { quote!(Vec::new()) };
            quote!(#field: #empty)
        });
        let no_others = (!closed).then(|| quote!(others: Vec::new(),));
        let many = (required.len() > 7).then(
            || quote!(#[expect(clippy::too_many_arguments, reason = "the contract requires that many")]),
        );
        let default = required.is_empty().then(|| {
            quote! {
                impl Default for #name {
                    fn default() -> Self {
                        Self::new()
                    }
                }
            }
        });
        let writes = parts.iter().map(|part| {
            let (wire, field) = (&part.name, ident(&part.field));
            let method = ident(if part.form == PartForm::Binary { "files" } else { "value" });
            quote!(form.#method(#wire, &self.#field);)
        });
        let reads = parts.iter().map(|part| {
            let (wire, field) = (&part.name, ident(&part.field));
            let method = match (part.form, part.required) {
                (PartForm::Binary, _) => "files",
                (_, true) => "value",
                (_, false) => "optional",
            };
            let method = ident(method);
            quote!(#field: form.#method(#wire)?)
        });
        let write_others = (!closed).then(|| quote!(form.fields(&self.others);));
        let read_others = (!closed).then(|| quote!(others: form.others(),));
        let equality = form_equality(parts, closed, self.types).derives();
        quote! {
            #about
            #[derive(Clone, Debug, #equality)]
            pub struct #name {
                #(#fields,)*
                #others
            }

            impl #name {
                /// A body of what is required.
                #many
                #[must_use]
                pub fn new(#(#arguments),*) -> Self {
                    Self { #(#given,)* #(#left,)* #no_others }
                }
            }

            #default

            impl Multipart for #name {
                fn write(&self, form: &mut Writer) {
                    #(#writes)*
                    #write_others
                }

                fn read(form: &Reader) -> Option<Self> {
                    Some(Self { #(#reads,)* #read_others })
                }
            }
        }
    }
}
