//! Writes the code that parses requests for server methods.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::ServerWriter;
use crate::{
    emit::ident,
    operations::whole_type,
    plan::{BodyFormat, MediaTypePlan, PlannedCall, PlannedParameter, RequestBodyPlan},
};

impl ServerWriter<'_> {
    /// Writes the implementation of `FromIncomingRequest`, which parses a request, for the call struct of an
    /// operation.
    pub(super) fn request_impl(&self, call: &PlannedCall<'_>) -> TokenStream {
        let name = self.call_type(call);
        let id = ident(self.plan.side.table_names().1);
        let variant = ident(&call.id);
        let row = |(index, parameter): (usize, &PlannedParameter<'_>)| {
            let field = ident(parameter.field.as_deref().unwrap_or_default());
            (Literal::usize_unsuffixed(index), field)
        };
        let required = call
            .required_parameters()
            .map(row)
            .map(|(index, field)| quote!(#field: request.required_parameter(#index)?,));
        let optional = call
            .optional_parameters()
            .map(row)
            .map(|(index, field)| quote!(#field: request.optional_parameter(#index)?,));
        let body = call.body.as_ref().map(|body| {
            let read = self.read_body(body);
            quote!(body: #read,)
        });
        let in_options = call.body.as_ref().is_some_and(|body| !body.is_argument());
        let (own, left_out) = if in_options { (None, body) } else { (body, None) };
        let options = call.has_options().then(|| {
            let (module, options) = (ident(self.plan.side.calls_module()), ident(&call.options));
            quote!(options: super::#module::#options { #(#optional)* #left_out },)
        });
        let fields: TokenStream = required.chain(own).chain(options).collect();
        let argument = ident(if fields.is_empty() { "_" } else { "request" });
        let undeclared = undeclared_fields(call, self).map(|found| {
            quote! {
                fn undeclared_members(&self, limit: usize) -> Vec<String> {
                    #found
                }
            }
        });
        quote! {
            impl FromIncomingRequest for #name {
                const OPERATION: &'static Operation = #id::#variant.operation();

                fn from_request(#argument: &IncomingRequest) -> Result<Self, Rejection> {
                    Ok(Self { #fields })
                }

                #undeclared
            }
        }
    }

    /// Returns an expression that parses the body of a request. Its type is that of the body, or an `Option`
    /// of it if the body is optional.
    fn read_body(&self, body: &RequestBodyPlan<'_>) -> TokenStream {
        if let [one] = body.contents.as_slice() {
            let method = body_method(&one.format);
            let method =
                ident(&if body.body.required { method.to_owned() } else { format!("optional_{method}") });
            let fails = if is_infallible(&one.format) { None } else { Some(quote!(?)) };
            return quote!(request.#method() #fails);
        }
        let whole = whole_type(self.plan.side, body, self.types);
        let last = body.contents.len() - 1;
        // The media types are compared in the order of the operation table.
        let arms = body.contents.iter().enumerate().map(|(at, content)| {
            let at_most = Literal::usize_unsuffixed(at);
            let pattern = if at == last { quote!(_) } else { quote!(#at_most) };
            let read = read_content(content);
            match body.is_choice() {
                true => {
                    let variant = ident(&body.variants[content.variant].name);
                    quote!(#pattern => #whole::#variant(#read),)
                }
                false => quote!(#pattern => #read,),
            }
        });
        let read = quote!(match request.content_index() { #(#arms)* });
        match body.body.required {
            true => read,
            false => quote!(if request.is_without_body() { None } else { Some(#read) }),
        }
    }
}

fn read_content(content: &MediaTypePlan<'_>) -> TokenStream {
    let method = ident(body_method(&content.format));
    match is_infallible(&content.format) {
        true => quote!(request.#method()),
        false => quote!(request.#method()?),
    }
}

const fn is_infallible(format: &BodyFormat) -> bool {
    matches!(format, BodyFormat::Bytes | BodyFormat::Typed)
}

/// Returns the name of the runtime method that parses a body of this format.
const fn body_method(format: &BodyFormat) -> &'static str {
    match format {
        BodyFormat::Model => "json_body",
        BodyFormat::Json | BodyFormat::Form(..) => "value_body",
        BodyFormat::Text => "text_body",
        BodyFormat::Bytes => "bytes_body",
        BodyFormat::Typed => "typed_body",
        BodyFormat::Multipart(..) => "multipart_body",
    }
}

/// Returns true if a media type of the request body has a generated model, whose undeclared fields can be
/// listed.
pub(super) fn holds_models(call: &PlannedCall<'_>) -> bool {
    call.body
        .iter()
        .flat_map(|body| &body.contents)
        .any(|content| matches!(content.format, BodyFormat::Model))
}

/// Returns an expression that lists the undeclared fields of the request body, or `None` if the body has no
/// model.
fn undeclared_fields(call: &PlannedCall<'_>, writer: &ServerWriter<'_>) -> Option<TokenStream> {
    let body = call.body.as_ref().filter(|_| holds_models(call))?;
    let listed = quote!(::contract_runtime::Contract::undeclared_members(body, limit));
    let place = if body.is_argument() { quote!(self.body) } else { quote!(self.options.body) };
    if !body.is_choice() {
        return Some(match body.body.required {
            true => quote!(::contract_runtime::Contract::undeclared_members(&self.body, limit)),
            false => quote!(#place.as_ref().map_or_else(Vec::new, |body| #listed)),
        });
    }
    let whole = whole_type(writer.plan.side, body, writer.types);
    let model = |content: &&MediaTypePlan<'_>| matches!(content.format, BodyFormat::Model);
    let mut models: Vec<usize> = body.contents.iter().filter(model).map(|content| content.variant).collect();
    models.dedup();
    let arms = models.iter().map(|&at| {
        let variant = ident(&body.variants[at].name);
        let pattern = quote!(#whole::#variant(body));
        let pattern = if body.body.required { pattern } else { quote!(Some(#pattern)) };
        quote!(#pattern => #listed,)
    });
    Some(quote!(match &#place { #(#arms)* _ => Vec::new(), }))
}
