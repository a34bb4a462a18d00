//! The generated module `bodies`: types of request bodies that clients and servers share and no
//! schema describes: several media types, parts.

use proc_macro2::TokenStream;
use quote::quote;

use super::multipart::{Form, PartPlan};
use super::parameters::is_closed;
use super::{BodyPlan, Contract, Format, Plan, doc, plan};
use crate::emit::{ident, markdown};
use crate::schema::SchemaId;

/// Writes the module, or nothing when no body needs it.
pub fn bodies(contract: Contract<'_>) -> Option<TokenStream> {
    let plans = plan(contract);
    let items: Vec<TokenStream> = plans.iter().filter_map(|plan| items(contract, plan)).collect();
    if items.is_empty() {
        return None;
    }
    let code = quote!(#(#items)*);
    let forms = plans.iter().filter_map(|plan| plan.body.as_ref()).flat_map(|body| &body.contents);
    let imports = forms.map(|content| &content.format).any(|f| matches!(f, Format::Multipart(_, Some(_))));
    let imports = imports.then(|| {
        quote! {
            use ::contract_runtime::multipart::{Multipart, Reader, Writer};
            pub use ::contract_runtime::multipart::{Field, File};
        }
    });
    Some(quote!(#imports #code))
}

fn items(contract: Contract<'_>, plan: &Plan<'_>) -> Option<TokenStream> {
    let body = plan.body.as_ref()?;
    let operation = format!("{} {}", plan.operation.method, plan.operation.path);
    let choice = (body.variants.len() > 1).then(|| choice(body, &operation));
    let forms = body.contents.iter().filter_map(|content| match &content.format {
        Format::Multipart(parts, Some(name)) => {
            let about = format!("The `{}` body of `{operation}`.", content.media.name);
            let closed = content.media.schema.is_some_and(|schema| is_closed(contract.graph, schema));
            Some(form(contract, name, &about, parts, closed))
        }
        _ => None,
    });
    let forms: Vec<TokenStream> = forms.collect();
    (choice.is_some() || !forms.is_empty()).then(|| quote!(#choice #(#forms)*))
}

/// The enum of a body with several types.
fn choice(body: &BodyPlan<'_>, operation: &str) -> TokenStream {
    let name = ident(&body.name);
    let about = doc(&[format!("The body of `{operation}`, by media type.")]);
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
    let mut seen: Vec<String> = Vec::new();
    let conversions = body.variants.iter().filter_map(|variant| {
        let ty = here(&variant.ty);
        let twice =
            body.variants.iter().filter(|other| other.ty.to_string() == variant.ty.to_string()).count() > 1;
        if twice || seen.contains(&ty.to_string()) {
            return None;
        }
        seen.push(ty.to_string());
        let variant = ident(&variant.name);
        Some(quote! {
            impl From<#ty> for #name {
                fn from(body: #ty) -> Self {
                    Self::#variant(body)
                }
            }
        })
    });
    let conversions: Vec<TokenStream> = conversions.collect();
    quote! {
        #about
        #[derive(Clone, Debug)]
        pub enum #name { #(#variants),* }
        #(#conversions)*
    }
}

/// A struct of this module as it is called inside of it.
fn here(ty: &TokenStream) -> TokenStream {
    let text = ty.to_string().replace(' ', "");
    let own = text.strip_prefix("super::bodies::").or_else(|| text.strip_prefix("super::webhook_bodies::"));
    match own {
        Some(name) => {
            let name = ident(name);
            quote!(#name)
        }
        None => ty.clone(),
    }
}

/// The struct of a multipart body.
fn form(contract: Contract<'_>, name: &str, about: &str, parts: &[PartPlan], closed: bool) -> TokenStream {
    let name = ident(name);
    let about = doc(&[about.to_owned()]);
    let fields = parts.iter().map(|part| {
        let (field, ty) = (ident(&part.field), part.field_type());
        let described = description(contract, part.schema).map(|text| markdown(&text));
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
    let plain = |part: &&PartPlan| {
        !part.required || (part.form == Form::Binary && part.field_type().to_string().starts_with("Vec"))
    };
    let required: Vec<&PartPlan> = parts.iter().filter(|part| !plain(part)).collect();
    let arguments = required.iter().map(|part| {
        let (field, ty) = (ident(&part.field), part.field_type());
        quote!(#field: #ty)
    });
    let given = required.iter().map(|part| ident(&part.field));
    let left = parts.iter().filter(plain).map(|part| {
        let field = ident(&part.field);
        let empty = if part.field_type().to_string().starts_with("Option") {
            quote!(None)
        } else {
            quote!(Vec::new())
        };
        quote!(#field: #empty)
    });
    let no_others = (!closed).then(|| quote!(others: Vec::new(),));
    let many = (required.len() > 7)
        .then(|| quote!(#[expect(clippy::too_many_arguments, reason = "the contract requires that many")]));
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
        let method = ident(if part.form == Form::Binary { "files" } else { "value" });
        quote!(form.#method(#wire, &self.#field);)
    });
    let reads = parts.iter().map(|part| {
        let (wire, field) = (&part.name, ident(&part.field));
        let method = match (part.form, part.required) {
            (Form::Binary, _) => "files",
            (_, true) => "value",
            (_, false) => "optional",
        };
        let method = ident(method);
        quote!(#field: form.#method(#wire)?)
    });
    let write_others = (!closed).then(|| quote!(form.fields(&self.others);));
    let read_others = (!closed).then(|| quote!(others: form.others(),));
    quote! {
        #about
        #[derive(Clone, Debug)]
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

fn description(contract: Contract<'_>, schema: SchemaId) -> Option<String> {
    let mut next = Some(schema);
    for _ in 0..8 {
        let schema = contract.graph.schema(next?);
        if let Some(text) = &schema.description {
            return Some(text.clone());
        }
        next = schema.reference;
    }
    None
}
