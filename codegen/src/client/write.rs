//! Writes the methods: a signature from the call, and a body of one short line for each
//! argument and each kind of answer, all of them calls into `contract_runtime::client`.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{Type, parse_quote};

use super::{Writer, docs};
use crate::{
    api::{ParameterIn, Status},
    emit::ident,
    lower::{Answers, Argument, Body, BodyForm, BodyKind, Call, Case, Payload},
    operations::Side,
};

/// The method of a call.
pub(super) fn method(writer: &Writer<'_>, index: usize, call: &Call) -> TokenStream {
    let operation = &writer.operations[call.operation];
    let name = ident(&call.method);
    let result = writer.enums.result(writer.lowered, index, call);
    let refusal = writer.enums.refusal(writer.lowered, index, call);
    let refusal_name = writer.enums.refusal_name(index);
    let lines = docs::operation_lines(writer, call, refusal_name).into_iter();
    let lines = lines.map(|line| super::doc(&line));
    let deprecated = operation.deprecated.then(|| quote!(#[deprecated = "the contract says so"]));
    let webhook = writer.side == Side::Webhooks;
    let address = webhook.then(|| quote!(address: &str,));
    // clippy's own threshold, `self` included.
    let count = call.arguments.len() + usize::from(call.body.is_some()) + usize::from(webhook) + 1;
    let many = (count > 7)
        .then(|| quote!(#[expect(clippy::too_many_arguments, reason = "the contract has that many")]));
    let arguments = call.arguments.iter().map(argument);
    let body = call.body.as_ref().map(body_argument);
    let request = request(writer, call);
    let arms = arms(writer, index, call);
    quote! {
        #(#lines)*
        #deprecated
        #many
        pub async fn #name(&self, #address #(#arguments,)* #body) -> Result<Answer<#result>, Error<#refusal>> {
            #request
            let response = self.core.send(request).await?;
            match response.status() {
                #(#arms)*
                _ => response.undocumented(),
            }
        }
    }
}

fn argument(argument: &Argument) -> TokenStream {
    let name = ident(&argument.name);
    let given = borrowed(&argument.rust_type);
    let given: TokenStream = match (argument.list, argument.required) {
        (true, _) => quote!(&[#given]),
        (false, true) => quote!(#given),
        (false, false) => quote!(Option<#given>),
    };
    quote!(#name: #given)
}

fn body_argument(body: &Body) -> TokenStream {
    let given = match body.forms.as_slice() {
        [BodyForm { kind: BodyKind::Bytes, .. }] => {
            return if body.required { quote!(body: impl Into<Bytes>) } else { quote!(body: Option<Bytes>) };
        }
        [BodyForm { kind: BodyKind::Text, .. }] => quote!(&str),
        _ => reference(&body.rust_type),
    };
    if body.required { quote!(body: #given) } else { quote!(body: Option<#given>) }
}

/// `let request = …;`
fn request(writer: &Writer<'_>, call: &Call) -> TokenStream {
    let operation = &writer.operations[call.operation];
    let info = ident(&writer.names[call.operation]);
    let id = ident(writer.side.table().1);
    let mut request = quote!(self.core.request(#id::#info.operation()));
    if writer.side == Side::Webhooks {
        request.extend(quote!(.at(address)));
    }
    for argument in &call.arguments {
        let wire = &operation.parameters[argument.parameter].name;
        let name = ident(&argument.name);
        let method = ident(match argument.location {
            ParameterIn::Path => "path",
            ParameterIn::Query => "query",
            ParameterIn::Header => "header",
            ParameterIn::Cookie => "cookie",
        });
        request.extend(quote!(.#method(#wire, #name)));
    }
    if let Some(media_types) = &call.accept {
        request.extend(quote!(.accept(#media_types)));
    }
    let Some(body) = &call.body else { return quote!(let request = #request;) };
    match (body.forms.as_slice(), body.required) {
        ([one], true) => {
            let sent = sent(one);
            quote!(let request = #request #sent;)
        }
        ([one], false) => {
            let sent = sent(one);
            quote! {
                let request = #request;
                let request = match body {
                    Some(body) => request #sent,
                    None => request,
                };
            }
        }
        (several, required) => {
            let name = &body.rust_type;
            let arms = several.iter().map(|form| {
                let (variant, sent) = (ident(&form.variant), sent(form));
                let pattern = quote!(#name::#variant(body));
                let pattern = if required { pattern } else { quote!(Some(#pattern)) };
                let clone = (form.kind == BodyKind::Bytes).then(|| quote!(let body = body.clone();));
                match clone {
                    Some(clone) => quote!(#pattern => { #clone request #sent }),
                    None => quote!(#pattern => request #sent,),
                }
            });
            let none = (!required).then(|| quote!(None => request,));
            quote! {
                let request = #request;
                let request = match body { #(#arms)* #none };
            }
        }
    }
}

fn sent(form: &BodyForm) -> TokenStream {
    let media_type = &form.media_type;
    match form.kind {
        BodyKind::Model => quote!(.json(#media_type, body)),
        BodyKind::Json => quote!(.json_value(#media_type, body)),
        BodyKind::Form => quote!(.form(#media_type, body)),
        BodyKind::Multipart => quote!(.multipart(#media_type, body)),
        BodyKind::Text => quote!(.text(#media_type, body)),
        BodyKind::Bytes => quote!(.bytes(#media_type, body)),
        BodyKind::Typed => quote!(.typed(body)),
    }
}

/// The arms of the `match` over statuses, results first. A code comes before a range and a
/// range before `default`, so that the first that fits is the one that the contract means.
fn arms(writer: &Writer<'_>, index: usize, call: &Call) -> Vec<TokenStream> {
    let mut arms = Vec::new();
    for (answers, results) in [(&call.results, true), (&call.refusals, false)] {
        let name = if results { writer.enums.result_name(index) } else { writer.enums.refusal_name(index) };
        match (&answers.one, name) {
            (Some(one), _) => {
                let ranges = answers.cases.iter().flat_map(|case| ranges(case.status, results, answers));
                let Some(pattern) = pattern(ranges.collect()) else { continue };
                let method = ident(simple(one, results, answers.optional));
                arms.push(quote!(#pattern => response.#method(),));
            }
            (None, Some(name)) => arms.extend(several(answers, name, results)),
            (None, None) => {}
        }
    }
    arms
}

/// The runtime's method that reads the only type of a side.
const fn simple(payload: &Payload, results: bool, optional: bool) -> &'static str {
    match (payload, results) {
        (Payload::Json(_), true) if optional => "json_or_nothing",
        (Payload::Json(_), true) => "json",
        (Payload::Text, true) => "text",
        (Payload::Raw, true) => "bytes",
        (Payload::Nothing, true) => "nothing",
        (Payload::Json(_), false) => "refusal",
        (Payload::Text, false) => "refusal_text",
        (Payload::Raw, false) => "refusal_bytes",
        (Payload::Nothing, false) => "refusal_nothing",
    }
}

fn several(answers: &Answers, name: &str, results: bool) -> Vec<TokenStream> {
    let name = ident(name);
    let mut statuses: Vec<Status> = answers.cases.iter().map(|case| case.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let mut arms = Vec::new();
    for status in statuses {
        let Some(pattern) = pattern(ranges(status, results, answers)) else { continue };
        // JSON checks its media type by itself and comes last; the others are asked for.
        let own = || answers.cases.iter().filter(|case| case.status == status);
        let json = |case: &&Case| matches!(case.payload, Payload::Json(_));
        let (last, asked): (Vec<&Case>, Vec<&Case>) = own().partition(json);
        let several = last.len() + asked.len() > 1;
        for case in asked {
            let read = read(case, &name, results);
            arms.push(match case.media_type.as_deref().filter(|_| several) {
                Some(media_type) => {
                    let media_type = media_type.split(';').next().unwrap_or_default().trim();
                    quote!(#pattern if response.is(#media_type) => #read,)
                }
                None => quote!(#pattern => #read,),
            });
        }
        match last.as_slice() {
            [] if several => arms.push(quote!(#pattern => response.unexpected(),)),
            [] => {}
            [before @ .., last] => {
                for case in before {
                    let read = read(case, &name, results);
                    let media_type = case.media_type.as_deref().unwrap_or_default();
                    let media_type = media_type.split(';').next().unwrap_or_default().trim();
                    arms.push(quote!(#pattern if response.is(#media_type) => #read,));
                }
                let read = read(last, &name, results);
                arms.push(quote!(#pattern => #read,));
            }
        }
    }
    arms
}

fn read(case: &Case, name: &proc_macro2::Ident, results: bool) -> TokenStream {
    let variant = ident(&case.variant);
    let side = ident(if results { "result" } else { "refusal" });
    match case.payload {
        Payload::Json(_) => quote!(response.read_json().#side(#name::#variant)),
        Payload::Text => quote!(response.read_text().#side(#name::#variant)),
        Payload::Raw => quote!(response.read_bytes().#side(#name::#variant)),
        Payload::Nothing => quote!(response.read_nothing().#side(|()| #name::#variant)),
    }
}

/// The statuses of a key. `default` is what no range has.
fn ranges(status: Status, results: bool, answers: &Answers) -> Vec<(u16, u16)> {
    match status {
        Status::Code(code) => vec![(code, code)],
        Status::Range(class) => vec![(u16::from(class) * 100, u16::from(class) * 100 + 99)],
        Status::Default if results => vec![(200, 299)],
        Status::Default => {
            let own = |class: u8| answers.cases.iter().any(|case| case.status == Status::Range(class));
            let left = [4_u8, 5].into_iter().filter(|&class| answers.one.is_some() || !own(class));
            left.map(|class| (u16::from(class) * 100, u16::from(class) * 100 + 99)).collect()
        }
    }
}

/// `200 | 400..=599`: ranges that touch as one. `None` without any.
fn pattern(mut ranges: Vec<(u16, u16)>) -> Option<TokenStream> {
    ranges.sort_unstable();
    let mut joined: Vec<(u16, u16)> = Vec::new();
    for (from, to) in ranges {
        match joined.last_mut() {
            Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    let patterns = joined.into_iter().map(|(from, to)| {
        let (first, last) = (Literal::u16_unsuffixed(from), Literal::u16_unsuffixed(to));
        if from == to { quote!(#first) } else { quote!(#first..=#last) }
    });
    let patterns: Vec<TokenStream> = patterns.collect();
    (!patterns.is_empty()).then(|| quote!(#(#patterns)|*))
}

/// Numbers and booleans by value, everything else by reference.
fn borrowed(rust_type: &TokenStream) -> TokenStream {
    const BY_VALUE: [&str; 14] =
        ["bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "u8", "u16", "u32", "u64", "u128"];
    let text = rust_type.to_string().replace(' ', "");
    if BY_VALUE.contains(&text.as_str()) { rust_type.clone() } else { reference(rust_type) }
}

/// `&T`; `&str` for `String`, `&[T]` for `Vec<T>`.
fn reference(rust_type: &TokenStream) -> TokenStream {
    let text = rust_type.to_string().replace(' ', "");
    if text == "String" || text.ends_with("::String") {
        return quote!(&str);
    }
    if let Ok(Type::Path(path)) = syn::parse2::<Type>(rust_type.clone())
        && let Some(last) = path.path.segments.last()
        && last.ident == "Vec"
        && let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(syn::GenericArgument::Type(element)) = arguments.args.first()
    {
        let list: Type = parse_quote!(&[#element]);
        return list.to_token_stream();
    }
    quote!(&#rust_type)
}
