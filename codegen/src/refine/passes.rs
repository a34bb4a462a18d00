//! The passes, one function each.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{
    Type, parse_quote,
    visit_mut::{self, VisitMut},
};

use super::{
    Method,
    reading::{Arm, Kind},
};
use crate::{
    api::ParameterIn,
    client,
    lower::{Argument, BodyForm, Components, List, Payload},
};

/// Replaces the names that stand for components by our types.
pub(super) fn our_types(method: &mut Method<'_>) -> Result<(), String> {
    struct Ours<'a>(&'a Components, Option<String>);
    impl VisitMut for Ours<'_> {
        fn visit_type_mut(&mut self, node: &mut Type) {
            let component = match node {
                Type::Path(path) => path.path.get_ident().and_then(|ident| self.0.behind(&ident.to_string())),
                _ => None,
            };
            match component {
                Some(component) => match syn::parse2(component.rust_type.clone()) {
                    Ok(ours) => *node = ours,
                    Err(_) => self.1 = Some(format!("`{}` is no type", component.rust_type)),
                },
                None => visit_mut::visit_type_mut(self, node),
            }
        }
    }
    let mut pass = Ours(&method.contract.lowered.components, None);
    pass.visit_signature_mut(&mut method.item.sig);
    pass.1.map_or(Ok(()), Err)
}

/// `Result<ResponseValue<T>, Error<E>>` → `Result<Answer<T>, Error<E>>`, `ByteStream` → `Bytes`.
pub(super) fn result_type(method: &mut Method<'_>) -> Result<(), String> {
    struct Result<'a>(&'a Method<'a>);
    impl VisitMut for Result<'_> {
        fn visit_type_path_mut(&mut self, node: &mut syn::TypePath) {
            visit_mut::visit_type_path_mut(self, node);
            let Some(last) = node.path.segments.last_mut() else { return };
            if last.ident == "ByteStream" {
                last.ident = Ident::new("Bytes", Span::call_site());
            } else if last.ident == "ResponseValue" {
                last.ident = Ident::new("Answer", Span::call_site());
                if self.0.call.result_optional
                    && let syn::PathArguments::AngleBracketed(arguments) = &mut last.arguments
                    && let Some(syn::GenericArgument::Type(body)) = arguments.args.first_mut()
                {
                    *body = parse_quote!(Option<#body>);
                }
            }
        }
    }
    let mut output = method.item.sig.output.clone();
    Result(method).visit_return_type_mut(&mut output);
    method.item.sig.output = output;
    Ok(())
}

/// `&self`, then arguments in the contract's order, borrowed as Rust borrows them, body last.
pub(super) fn arguments(method: &mut Method<'_>) -> Result<(), String> {
    let mut inputs: Vec<syn::FnArg> = vec![parse_quote!(&self)];
    for argument in &method.call.arguments {
        let name = ident(&argument.name);
        if !has_argument(&method.item.sig, &argument.name) {
            return Err(format!("there is no argument `{name}`"));
        }
        let element = borrowed(&argument.rust_type)?;
        let given: Type = match (argument.list, argument.required) {
            (List::Repeated | List::Joined, _) => parse_quote!(&[#element]),
            (List::No, true) => element,
            (List::No, false) => parse_quote!(Option<#element>),
        };
        inputs.push(parse_quote!(#name: #given));
    }
    if let Some(body) = &method.call.body {
        if !has_argument(&method.item.sig, "body") {
            return Err("there is no argument `body`".to_owned());
        }
        let given: Type = match (&body.form, body.required) {
            (BodyForm::Raw, true) => parse_quote!(impl Into<Bytes>),
            (BodyForm::Raw, false) => parse_quote!(Option<Bytes>),
            (BodyForm::Json(schema), required) => {
                let rust_type = match schema {
                    Some(schema) => method.contract.types.rust_type(*schema),
                    None => quote!(::contract_runtime::Json),
                };
                optional(reference(&rust_type)?, required)
            }
            (BodyForm::Form(schema), required) => {
                optional(reference(&method.contract.types.rust_type(*schema))?, required)
            }
        };
        inputs.push(parse_quote!(body: #given));
    }
    let due = method.call.arguments.len() + usize::from(method.call.body.is_some()) + 1;
    if method.item.sig.inputs.len() != due {
        return Err("it has arguments that the contract does not have".to_owned());
    }
    method.item.sig.generics = syn::Generics::default();
    method.item.sig.inputs = inputs.into_iter().collect();
    Ok(())
}

/// Requests and answers through `contract_runtime::client`.
pub(super) fn runtime_calls(method: &mut Method<'_>) -> Result<(), String> {
    let operation = &method.contract.api.operations[method.call.operation];
    let info = ident(&method.contract.names[method.call.operation]);
    let mut request = quote!(self.core.request(OperationId::#info.operation()));
    for argument in &method.call.arguments {
        let wire = &operation.parameters[argument.parameter].name;
        request.extend(argument_call(argument, wire));
    }
    if let Some(media_types) = &method.call.accept {
        request.extend(quote!(.accept(#media_types)));
    }
    let mut with_body = None;
    if let Some(body) = &method.call.body {
        let media_type = &body.media_type;
        let call = match &body.form {
            BodyForm::Raw => quote!(.bytes(#media_type, body)),
            BodyForm::Form(_) => quote!(.form(#media_type, body)),
            BodyForm::Json(Some(schema)) if method.contract.types.is_contract(*schema) => {
                quote!(.json(#media_type, body))
            }
            BodyForm::Json(_) => quote!(.json_value(#media_type, body)),
        };
        if body.required {
            request.extend(call);
        } else {
            with_body = Some(quote! {
                let request = match body {
                    Some(body) => request #call,
                    None => request,
                };
            });
        }
    }
    let (result, refusal) = answers(method);
    let results = statuses(&method.reading.results)?;
    let refused = if method.reading.refusals.is_empty() {
        None
    } else {
        let refusals = statuses(&method.reading.refusals)?;
        Some(quote!(#refusals => response.#refusal(),))
    };
    method.item.block = parse_quote!({
        let request = #request;
        #with_body
        let response = self.core.send(request).await?;
        match response.status() {
            #results => response.#result(),
            #refused
            _ => response.undocumented(),
        }
    });
    Ok(())
}

/// None but those with a reason.
pub(super) fn attributes(method: &mut Method<'_>) -> Result<(), String> {
    method.item.attrs.clear();
    if method.contract.api.operations[method.call.operation].deprecated {
        method.item.attrs.push(parse_quote!(#[deprecated = "the contract says so"]));
    }
    // clippy's own threshold, `self` included.
    if method.item.sig.inputs.len() > 7 {
        method.item.attrs.push(parse_quote! {
            #[expect(clippy::too_many_arguments, reason = "the contract has that many")]
        });
    }
    Ok(())
}

/// From the contract's descriptions.
pub(super) fn documentation(method: &mut Method<'_>) -> Result<(), String> {
    let components = &method.contract.lowered.components;
    let link = |payload: &Payload| {
        let Payload::Json(key) = payload else { return None };
        let text = components.get(key)?.rust_type.to_string().replace(' ', "");
        let name = text.strip_prefix("super::types::")?;
        name.chars()
            .all(|character| character.is_alphanumeric() || character == '_')
            .then(|| format!("[`{name}`](super::types::{name})"))
    };
    let lines = client::operation_lines(method.contract.api, method.contract.graph, method.call, &link);
    let mut attributes: Vec<syn::Attribute> = lines.iter().map(|line| client::doc(line)).collect();
    attributes.append(&mut method.item.attrs);
    method.item.attrs = attributes;
    Ok(())
}

fn argument_call(argument: &Argument, wire: &str) -> TokenStream {
    let name = ident(&argument.name);
    let values = match (argument.list, argument.required) {
        (List::No, true) => quote!([#name]),
        _ => name.to_token_stream(),
    };
    match (argument.location, argument.list) {
        (ParameterIn::Path, _) => quote!(.path(#wire, #name)),
        (ParameterIn::Query, List::Joined) => quote!(.query_joined(#wire, #values)),
        (ParameterIn::Query, _) => quote!(.query(#wire, #values)),
        (ParameterIn::Header | ParameterIn::Cookie, _) => quote!(.header(#wire, #values)),
    }
}

/// The runtime's methods that read a result and a refusal.
fn answers(method: &Method<'_>) -> (Ident, Ident) {
    let kind = |arms: &[Arm]| arms.first().map_or(Kind::Nothing, |arm| arm.kind);
    let result = match kind(&method.reading.results) {
        Kind::Json if method.call.result_optional => "json_or_nothing",
        Kind::Json => "json",
        Kind::Raw => "bytes",
        Kind::Nothing => "nothing",
    };
    let refusal = match kind(&method.reading.refusals) {
        Kind::Json => "refusal",
        Kind::Raw => "refusal_bytes",
        Kind::Nothing => "refusal_nothing",
    };
    (ident(result), ident(refusal))
}

/// `200 | 400..=599`: ranges that touch as one.
fn statuses(arms: &[Arm]) -> Result<syn::Pat, String> {
    let mut ranges: Vec<(u16, u16)> = arms.iter().map(|arm| (arm.from, arm.to)).collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u16, u16)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut() {
            Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    let number = |status: u16| syn::LitInt::new(&status.to_string(), Span::call_site());
    let patterns = joined.into_iter().map(|(from, to)| {
        let (first, last) = (number(from), number(to));
        if from == to { quote!(#first) } else { quote!(#first..=#last) }
    });
    syn::parse::Parser::parse2(syn::Pat::parse_multi, quote!(#(#patterns)|*))
        .map_err(|error| format!("its statuses are no pattern: {error}"))
}

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

fn has_argument(signature: &syn::Signature, name: &str) -> bool {
    signature.inputs.iter().any(|input| match input {
        syn::FnArg::Typed(typed) => {
            matches!(&*typed.pat, syn::Pat::Ident(pattern) if pattern.ident == name)
        }
        syn::FnArg::Receiver(_) => false,
    })
}

fn optional(given: Type, required: bool) -> Type {
    if required { given } else { parse_quote!(Option<#given>) }
}

/// Numbers and booleans by value, everything else by reference.
fn borrowed(rust_type: &TokenStream) -> Result<Type, String> {
    const BY_VALUE: [&str; 14] =
        ["bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128"];
    let text = rust_type.to_string().replace(' ', "");
    if BY_VALUE.contains(&text.as_str()) {
        return syn::parse2(rust_type.clone()).map_err(|_| format!("`{text}` is no type"));
    }
    reference(rust_type)
}

/// `&T`; `&str` for `String`, `&[T]` for `Vec<T>`.
fn reference(rust_type: &TokenStream) -> Result<Type, String> {
    let text = rust_type.to_string().replace(' ', "");
    let parsed: Type = syn::parse2(rust_type.clone()).map_err(|_| format!("`{text}` is no type"))?;
    if text.rsplit("::").next() == Some("String") {
        return Ok(parse_quote!(&str));
    }
    if let Type::Path(path) = &parsed
        && let Some(last) = path.path.segments.last()
        && last.ident == "Vec"
        && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(syn::GenericArgument::Type(element)) = arguments.args.first()
    {
        return Ok(parse_quote!(&[#element]));
    }
    Ok(parse_quote!(&#parsed))
}
