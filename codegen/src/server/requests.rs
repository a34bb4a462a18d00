//! Writes the struct that a handler gets, and how it is read from a call.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::ParameterIn,
    emit::{ident, markdown},
    operations::{BodyPlan, ContentPlan, Contract, Format, ParameterPlan, Plan, doc},
};

/// The request of one operation.
pub(super) fn request(contract: Contract<'_>, plan: &Plan<'_>) -> TokenStream {
    let name = ident(&plan.type_name);
    let about = format!("What `{} {}` is asked.", plan.operation.method, plan.operation.path);
    let about = doc(&[about]);
    let fields = plan.parameters.iter().map(|parameter| field(contract, parameter));
    let names = plan.parameters.iter().map(|parameter| ident(&parameter.field));
    let reads = plan.parameters.iter().enumerate().map(|(index, parameter)| {
        let index = proc_macro2::Literal::usize_unsuffixed(index);
        if parameter.parameter.required {
            quote!(call.parameter(#index)?)
        } else {
            quote!(call.optional(#index)?)
        }
    });
    let body = plan.body.as_ref();
    let body_fields = body.map(|body| body_fields(contract, body));
    let read_body = body.map(|body| read_body(contract, body));
    let body_names = body.map(|body| match lists_undeclared(body) {
        true => quote!(body, undeclared,),
        false => quote!(body,),
    });
    let id = ident(contract.side.table().1);
    quote! {
        #about
        #[derive(Clone, Debug)]
        pub struct #name {
            #(#fields,)*
            #body_fields
            /// Headers, what layers left behind, the body as it was sent.
            pub context: Context,
        }

        impl Request for #name {
            const OPERATION: &'static Operation = #id::#name.operation();

            fn read(call: &Call) -> Result<Self, Rejection> {
                #read_body
                Ok(Self {
                    #(#names: #reads,)*
                    #body_names
                    context: call.context(),
                })
            }
        }
    }
}

fn field(contract: Contract<'_>, plan: &ParameterPlan<'_>) -> TokenStream {
    let parameter = plan.parameter;
    let place = match parameter.location {
        ParameterIn::Path => "Path parameter",
        ParameterIn::Query => "Query parameter",
        ParameterIn::Header => "Header",
        ParameterIn::Cookie => "Cookie",
    };
    let place = format!("{place} `{}`.", parameter.name);
    let mut paragraphs: Vec<String> = Vec::new();
    paragraphs.extend(parameter.description.as_deref().map(markdown));
    paragraphs.push(place);
    let about = doc(&paragraphs);
    let name = ident(&plan.field);
    let ty = parameter.schema.map_or_else(|| quote!(String), |schema| contract.types.rust_type(schema));
    let ty = if parameter.required { ty } else { quote!(Option<#ty>) };
    quote!(#about pub #name: #ty)
}

fn body_fields(contract: Contract<'_>, plan: &BodyPlan<'_>) -> TokenStream {
    let described = plan.body.description.as_deref().map(markdown);
    let about = doc(&[described.unwrap_or_else(|| "The body.".to_owned())]);
    let ty = plan.ty(contract.side);
    let ty = if plan.body.required { ty } else { quote!(Option<#ty>) };
    let undeclared = lists_undeclared(plan).then(|| {
        quote! {
            /// JSON Pointers of fields of the body that the contract does not declare, at most 50.
            pub undeclared: Vec<String>,
        }
    });
    quote! {
        #about
        pub body: #ty,
        #undeclared
    }
}

/// Whether a model is among the types of a body: its undeclared fields are listed.
fn lists_undeclared(plan: &BodyPlan<'_>) -> bool {
    plan.contents.iter().any(|content| matches!(content.format, Format::Model))
}

fn read_body(contract: Contract<'_>, plan: &BodyPlan<'_>) -> TokenStream {
    match plan.contents.as_slice() {
        [one] => read_one(one, plan.body.required),
        several => read_several(contract, plan, several),
    }
}

fn read_one(content: &ContentPlan<'_>, required: bool) -> TokenStream {
    let method = method(&content.format);
    let method = if required { method.to_owned() } else { format!("optional_{method}") };
    let method = ident(&method);
    match content.format {
        Format::Model => quote!(let (body, undeclared) = call.#method()?;),
        Format::Bytes | Format::Typed => quote!(let body = call.#method();),
        _ => quote!(let body = call.#method()?;),
    }
}

/// By media type, in the order of the table.
fn read_several(contract: Contract<'_>, plan: &BodyPlan<'_>, contents: &[ContentPlan<'_>]) -> TokenStream {
    let listed = lists_undeclared(plan);
    let several = plan.variants.len() > 1;
    let ty = plan.ty(contract.side);
    let last = contents.len() - 1;
    let arms = contents.iter().enumerate().map(|(at, content)| {
        let at_most = proc_macro2::Literal::usize_unsuffixed(at);
        let pattern = if at == last { quote!(_) } else { quote!(#at_most) };
        let method = ident(method(&content.format));
        let variant = ident(&plan.variants[content.variant].name);
        let wrap = |body: TokenStream| if several { quote!(#ty::#variant(#body)) } else { body };
        match content.format {
            Format::Model => {
                let body = wrap(quote!(body));
                quote!(#pattern => {
                    let (body, undeclared) = call.#method()?;
                    (#body, undeclared)
                })
            }
            Format::Bytes | Format::Typed => {
                let body = wrap(quote!(call.#method()));
                if listed { quote!(#pattern => (#body, Vec::new()),) } else { quote!(#pattern => #body,) }
            }
            _ => {
                let body = wrap(quote!(call.#method()?));
                if listed { quote!(#pattern => (#body, Vec::new()),) } else { quote!(#pattern => #body,) }
            }
        }
    });
    let read = quote!(match call.media_type() { #(#arms)* });
    match (listed, plan.body.required) {
        (true, true) => quote!(let (body, undeclared) = #read;),
        (false, true) => quote!(let body = #read;),
        (true, false) => quote! {
            let (body, undeclared) = if call.is_without_body() {
                (None, Vec::new())
            } else {
                let (body, undeclared) = #read;
                (Some(body), undeclared)
            };
        },
        (false, false) => quote! {
            let body = if call.is_without_body() { None } else { Some(#read) };
        },
    }
}

/// The runtime's method that reads a body.
const fn method(format: &Format) -> &'static str {
    match format {
        Format::Model => "json",
        Format::Json | Format::Form(..) => "value",
        Format::Text => "text",
        Format::Bytes => "bytes",
        Format::Typed => "typed",
        Format::Multipart(..) => "multipart",
    }
}
