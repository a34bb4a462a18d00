//! Generates the module `bodies`, which contains the types of request bodies that no schema describes: an
//! enum for a body with several types, and a struct for each multipart form.

use proc_macro2::TokenStream;
use quote::quote;

use super::doc_attributes;
use crate::{
    emit::{ident, rustdoc_markdown},
    plan::{
        self, BodyFormat, BodyType, MultipartPart, OperationSide, PartForm, PlannedCall, RequestBodyPlan,
        SidePlan,
    },
    rust_types::{EqualityTraits, RustTypes},
    schema::SchemaGraph,
};

/// Generates the module of one side, or returns `None` if no request body needs such a type.
pub fn request_bodies_module(
    plan: &SidePlan<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
) -> Option<TokenStream> {
    let items: Vec<TokenStream> =
        plan.calls.iter().filter_map(|call| body_items(plan.side, call, graph, types)).collect();
    if items.is_empty() {
        return None;
    }
    let forms = plan.calls.iter().filter_map(|call| call.body.as_ref()).flat_map(|body| &body.contents);
    let imports =
        forms.map(|content| &content.format).any(|f| matches!(f, BodyFormat::Multipart(_, Some(_))));
    let imports = imports.then(|| {
        quote! {
            use ::contract_runtime::multipart::{Multipart, MultipartReader, MultipartWriter};
            pub use ::contract_runtime::multipart::{FilePart, MultipartField};
        }
    });
    Some(quote!(#imports #(#items)*))
}

fn body_items(
    side: OperationSide,
    call: &PlannedCall<'_>,
    graph: &SchemaGraph,
    types: &dyn RustTypes,
) -> Option<TokenStream> {
    let body = call.body.as_ref()?;
    let place = call.describe_place();
    let choice = body.is_choice().then(|| body_enum(side, body, &place, types));
    let forms = body.contents.iter().filter_map(|content| match &content.format {
        BodyFormat::Multipart(parts, Some(name)) => {
            let about = format!("The `{}` body of `{place}`.", content.media.name);
            Some(MultipartStruct { graph, types, parts, closed: content.closed }.struct_item(name, &about))
        }
        _ => None,
    });
    let forms: Vec<TokenStream> = forms.collect();
    (choice.is_some() || !forms.is_empty()).then(|| quote!(#choice #(#forms)*))
}

/// Returns the type of a request body as it is written in modules beside `bodies`.
pub(crate) fn body_type(side: OperationSide, ty: &BodyType, types: &dyn RustTypes) -> TokenStream {
    match ty {
        BodyType::Value(ty) => types.rust_type(ty),
        BodyType::Text => quote!(String),
        BodyType::Bytes => quote!(::contract_runtime::multipart::Bytes),
        BodyType::Typed => quote!(::contract_runtime::operation::TypedBytes),
        BodyType::Fields => quote!(Vec<::contract_runtime::multipart::MultipartField>),
        BodyType::Form(name) => {
            let (module, name) = (ident(side.bodies_module()), ident(name));
            quote!(super::#module::#name)
        }
    }
}

/// Returns the equality traits that the type of a request body implements.
pub(crate) fn body_equality(body: &RequestBodyPlan<'_>, types: &dyn RustTypes) -> EqualityTraits {
    let form = |name: &String| {
        let own = body.contents.iter().filter_map(|content| match &content.format {
            BodyFormat::Multipart(parts, Some(own)) if own == name => {
                Some(form_equality(parts, content.closed, types))
            }
            _ => None,
        });
        EqualityTraits::weakest_of(own)
    };
    EqualityTraits::weakest_of(body.variants.iter().map(|variant| match &variant.ty {
        BodyType::Value(ty) => types.equality(ty),
        BodyType::Text | BodyType::Bytes => EqualityTraits::Hashable,
        BodyType::Typed | BodyType::Fields => EqualityTraits::Full,
        BodyType::Form(name) => form(name),
    }))
}

/// Returns the equality traits that the struct of a form implements. Forms with files or with parts that the
/// contract does not declare do not implement `Hash`.
fn form_equality(parts: &[MultipartPart], closed: bool, types: &dyn RustTypes) -> EqualityTraits {
    let of_parts = parts.iter().map(|part| match part.form {
        PartForm::Binary => EqualityTraits::Full,
        PartForm::Json | PartForm::Text(_) => types.equality(&part.ty),
    });
    EqualityTraits::weakest_of(of_parts).min(if closed {
        EqualityTraits::Hashable
    } else {
        EqualityTraits::Full
    })
}

/// Returns the type of a whole body: its only type, or the enum of its types.
pub(crate) fn whole_type(
    side: OperationSide,
    body: &RequestBodyPlan<'_>,
    types: &dyn RustTypes,
) -> TokenStream {
    match body.variants.as_slice() {
        [one] => body_type(side, &one.ty, types),
        _ => {
            let (module, name) = (ident(side.bodies_module()), ident(&body.name));
            quote!(super::#module::#name)
        }
    }
}

/// Generates the enum of a body for which several media types have different Rust types.
fn body_enum(
    side: OperationSide,
    body: &RequestBodyPlan<'_>,
    place: &str,
    types: &dyn RustTypes,
) -> TokenStream {
    let name = ident(&body.name);
    let about = doc_attributes(&[format!("The body of `{place}`, by media type.")]);
    // Structs of this module need no path.
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
        let about = doc_attributes(&[format!("{text}.")]);
        let name = ident(&variant.name);
        let ty = here(&variant.ty);
        quote!(#about #name(#ty))
    });
    // `From` is generated only for a type that a single variant has, because the conversion could not select
    // the media type otherwise.
    let once =
        |ty: &BodyType| body.variants.iter().filter(|other| other.ty.is_same_rust_type(ty)).count() == 1;
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
    let equality = body_equality(body, types).derive_list();
    quote! {
        #about
        #[derive(Clone, Debug, #equality)]
        pub enum #name { #(#variants),* }
        #(#conversions)*
    }
}

/// A multipart form, for which a struct is generated.
struct MultipartStruct<'a> {
    graph: &'a SchemaGraph,
    types: &'a dyn RustTypes,
    parts: &'a [MultipartPart],
    closed: bool,
}

impl MultipartStruct<'_> {
    fn field_type(&self, part: &MultipartPart) -> TokenStream {
        let ty = self.types.rust_type(&part.ty);
        match (part.form, part.is_list(), part.required) {
            (PartForm::Binary, true, _) => quote!(Vec<FilePart>),
            (PartForm::Binary, false, true) => quote!(FilePart),
            (PartForm::Binary, false, false) => quote!(Option<FilePart>),
            (_, _, true) => ty,
            (_, _, false) => quote!(Option<#ty>),
        }
    }

    fn struct_item(&self, name: &str, about: &str) -> TokenStream {
        let Self { graph, parts, closed, .. } = *self;
        let name = ident(name);
        let about = doc_attributes(&[about.to_owned()]);
        let fields = parts.iter().map(|part| {
            let (field, ty) = (ident(&part.field), self.field_type(part));
            let described = plan::description_of(graph, part.schema).map(|text| rustdoc_markdown(&text));
            let wire = format!("Part `{}`.", part.name);
            let about = doc_attributes(&described.into_iter().chain([wire]).collect::<Vec<_>>());
            quote!(#about pub #field: #ty)
        });
        let others = (!closed).then(|| {
            quote! {
                /// Parts that the contract does not declare.
                pub others: Vec<MultipartField>,
            }
        });
        let plain = |part: &&MultipartPart| !part.required || part.is_list();
        let required: Vec<&MultipartPart> = parts.iter().filter(|part| !plain(part)).collect();
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
            let method = ident(if part.form == PartForm::Binary { "write_files" } else { "write_value" });
            quote!(form.#method(#wire, &self.#field);)
        });
        let reads = parts.iter().map(|part| {
            let (wire, field) = (&part.name, ident(&part.field));
            let method = match (part.form, part.required) {
                (PartForm::Binary, _) => "read_files",
                (_, true) => "read_value",
                (_, false) => "read_optional",
            };
            let method = ident(method);
            quote!(#field: form.#method(#wire)?)
        });
        let write_others = (!closed).then(|| quote!(form.write_fields(&self.others);));
        let read_others = (!closed).then(|| quote!(others: form.undeclared_fields(),));
        let equality = form_equality(parts, closed, self.types).derive_list();
        quote! {
            #about
            #[derive(Clone, Debug, #equality)]
            pub struct #name {
                #(#fields,)*
                #others
            }

            impl #name {
                /// Creates a form with the required parts.
                #many
                #[must_use]
                pub fn new(#(#arguments),*) -> Self {
                    Self { #(#given,)* #(#left,)* #no_others }
                }
            }

            #default

            impl Multipart for #name {
                fn write_parts(&self, form: &mut MultipartWriter) {
                    #(#writes)*
                    #write_others
                }

                fn read_parts(form: &MultipartReader) -> Option<Self> {
                    Some(Self { #(#reads,)* #read_others })
                }
            }
        }
    }
}
