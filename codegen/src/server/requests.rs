//! Writes how what a handler gets is read from a call.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::Writer;
use crate::{
    emit::ident,
    operations::whole_type,
    plan::{Body, Call, Content, Format, Parameter},
};

impl Writer<'_> {
    /// The `Request` of an operation.
    pub(super) fn request(&self, call: &Call<'_>) -> TokenStream {
        let name = self.call_type(call);
        let id = ident(self.plan.side.table().1);
        let variant = ident(&call.id);
        let row = |(index, parameter): (usize, &Parameter<'_>)| {
            let field = ident(parameter.field.as_deref().unwrap_or_default());
            (Literal::usize_unsuffixed(index), field)
        };
        let required =
            call.required().map(row).map(|(index, field)| quote!(#field: call.parameter(#index)?,));
        let optional = call.optional().map(row).map(|(index, field)| quote!(#field: call.optional(#index)?,));
        let body = call.body.as_ref().map(|body| {
            let read = self.read_body(body);
            quote!(body: #read,)
        });
        let in_options = call.body.as_ref().is_some_and(|body| !body.body.required);
        let (own, left_out) = if in_options { (None, body) } else { (body, None) };
        let options = call.has_options().then(|| {
            let (module, options) = (ident(self.plan.side.calls()), ident(&call.options));
            quote!(options: super::#module::#options { #(#optional)* #left_out },)
        });
        let fields: TokenStream = required.chain(own).chain(options).collect();
        let argument = ident(if fields.is_empty() { "_" } else { "call" });
        let undeclared = undeclared(call, self).map(|found| {
            quote! {
                fn undeclared(&self, limit: usize) -> Vec<String> {
                    #found
                }
            }
        });
        quote! {
            impl Request for #name {
                const OPERATION: &'static Operation = #id::#variant.operation();

                fn read(#argument: &Call) -> Result<Self, Rejection> {
                    Ok(Self { #fields })
                }

                #undeclared
            }
        }
    }

    /// An expression of the body's type, an `Option` of it where it may be missing.
    fn read_body(&self, body: &Body<'_>) -> TokenStream {
        if let [one] = body.contents.as_slice() {
            let method = method(&one.format);
            let method =
                ident(&if body.body.required { method.to_owned() } else { format!("optional_{method}") });
            let fails = if infallible(&one.format) { None } else { Some(quote!(?)) };
            return quote!(call.#method() #fails);
        }
        let whole = whole_type(self.plan.side, body, self.types);
        let last = body.contents.len() - 1;
        // By media type, in the order of the table.
        let arms = body.contents.iter().enumerate().map(|(at, content)| {
            let at_most = Literal::usize_unsuffixed(at);
            let pattern = if at == last { quote!(_) } else { quote!(#at_most) };
            let read = read(content);
            match body.is_choice() {
                true => {
                    let variant = ident(&body.variants[content.variant].name);
                    quote!(#pattern => #whole::#variant(#read),)
                }
                false => quote!(#pattern => #read,),
            }
        });
        let read = quote!(match call.media_type() { #(#arms)* });
        match body.body.required {
            true => read,
            false => quote!(if call.is_without_body() { None } else { Some(#read) }),
        }
    }
}

fn read(content: &Content<'_>) -> TokenStream {
    let method = ident(method(&content.format));
    match infallible(&content.format) {
        true => quote!(call.#method()),
        false => quote!(call.#method()?),
    }
}

const fn infallible(format: &Format) -> bool {
    matches!(format, Format::Bytes | Format::Typed)
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

/// Whether a model is among the types of a call's body: its undeclared fields are listed.
pub(super) fn holds_models(call: &Call<'_>) -> bool {
    call.body.iter().flat_map(|body| &body.contents).any(|content| matches!(content.format, Format::Model))
}

/// The expression that lists undeclared fields of the body.
fn undeclared(call: &Call<'_>, writer: &Writer<'_>) -> Option<TokenStream> {
    let body = call.body.as_ref().filter(|_| holds_models(call))?;
    let listed = quote!(::contract_runtime::Contract::undeclared(body, limit));
    if !body.is_choice() {
        return Some(match body.body.required {
            true => quote!(::contract_runtime::Contract::undeclared(&self.body, limit)),
            false => quote!(self.options.body.as_ref().map_or_else(Vec::new, |body| #listed)),
        });
    }
    let whole = whole_type(writer.plan.side, body, writer.types);
    let model = |content: &&Content<'_>| matches!(content.format, Format::Model);
    let mut models: Vec<usize> = body.contents.iter().filter(model).map(|content| content.variant).collect();
    models.dedup();
    let arms = models.iter().map(|&at| {
        let variant = ident(&body.variants[at].name);
        let pattern = quote!(#whole::#variant(body));
        let pattern = if body.body.required { pattern } else { quote!(Some(#pattern)) };
        quote!(#pattern => #listed,)
    });
    let given = if body.body.required { quote!(&self.body) } else { quote!(&self.options.body) };
    Some(quote!(match #given { #(#arms)* _ => Vec::new(), }))
}
