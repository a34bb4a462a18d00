//! Writes the struct that a handler gets, and how it is read from a call.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    api::ParameterIn,
    emit::{ident, markdown},
    operations::{BodyPlan, Contract, Format, ParameterPlan, Plan, Reading, doc},
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
    let read_body = body.map(read_body);
    let body_names = body.map(|body| match body.reading {
        Reading::Model => quote!(body, undeclared,),
        Reading::Value => quote!(body,),
    });
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
            const OPERATION: &'static Operation = OperationId::#name.operation();

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
    let ty = match (&plan.format, plan.media.schema) {
        (Format::Text, _) => quote!(String),
        (Format::Bytes, _) => quote!(runtime::Bytes),
        (_, Some(schema)) => contract.types.rust_type(schema),
        (_, None) => quote!(::contract_runtime::Json),
    };
    let ty = if plan.body.required { ty } else { quote!(Option<#ty>) };
    let undeclared = (plan.reading == Reading::Model).then(|| {
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

fn read_body(plan: &BodyPlan<'_>) -> TokenStream {
    let method = match (&plan.format, plan.reading) {
        (Format::Text, _) => "text",
        (Format::Bytes, _) if plan.body.required => return quote!(let body = call.bytes();),
        (Format::Bytes, _) => return quote!(let body = call.optional_bytes();),
        (_, Reading::Model) => "json",
        (_, Reading::Value) => "value",
    };
    let method = if plan.body.required { method.to_owned() } else { format!("optional_{method}") };
    let method = ident(&method);
    match plan.reading {
        Reading::Model => quote!(let (body, undeclared) = call.#method()?;),
        Reading::Value => quote!(let body = call.#method()?;),
    }
}
