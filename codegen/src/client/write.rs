//! Writes a method and the `Call` of its operation: a line for each argument and each kind of
//! answer, all of them calls into `contract_runtime::client`.

use contract_runtime::media::{self, MediaType};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{Writer, docs};
use crate::{
    api::Status,
    calls::{answers_type, choice_type, read_type},
    emit::ident,
    operations::whole_type,
    plan::{
        Answers, Body, BodyType, BodyVariant, Call, Case, Format, Outcome, Parameter, Payload, Side,
        Streamed, StreamedBody, Streams,
    },
    rust_types::Handed,
    shape::TypeRef,
};

/// The method of a call.
pub(super) fn method(writer: &Writer<'_>, call: &Call<'_>) -> TokenStream {
    let side = writer.plan.side;
    let lines = docs::attributes(&docs::operation_lines(writer, call));
    let deprecated = call.operation.deprecated.then(|| quote!(#[deprecated = "the contract says so"]));
    let (name, request, module) = (ident(&call.method), ident(&call.name), ident(side.calls()));
    let address = (side == Side::Webhooks).then(|| quote!(address: &str,));
    let at = (side == Side::Webhooks).then(|| quote!(.at(address)));
    let arguments = arguments(writer, call);
    let options = call.has_options().then(|| {
        let options = ident(&call.options);
        quote!(options: super::#module::#options)
    });
    let names = names(call);
    let pass_options = call.has_options().then(|| quote!(&options));
    // clippy's own threshold, `self` included.
    let count = names.len() + usize::from(options.is_some()) + usize::from(address.is_some()) + 1;
    let many = (count > 7).then(many);
    quote! {
        #lines
        #deprecated
        #many
        pub fn #name(&self, #address #(#arguments,)* #options) -> Calling<'_, super::#module::#request> {
            self.core.send(super::#module::#request::of(&self.core, #(#names,)* #pass_options) #at)
        }
    }
}

/// The method of a call whose answer is handed on as it comes, or whose body is sent so.
pub(super) fn stream_method(writer: &Writer<'_>, call: &Call<'_>) -> Option<TokenStream> {
    let Streams { answer, body, method } = &call.streams;
    if call.streams.is_empty() {
        return None;
    }
    let side = writer.plan.side;
    let mut lines = docs::operation_lines(writer, call);
    docs::add_stream(&mut lines, call);
    let lines = docs::attributes(&lines);
    let deprecated = call.operation.deprecated.then(|| quote!(#[deprecated = "the contract says so"]));
    let (method, request, module) = (ident(method), ident(&call.name), ident(side.calls()));
    let parameters = call.required().map(|(_, parameter)| {
        let (name, given) = (field(parameter), borrowed(writer, &parameter.ty));
        quote!(#name: #given)
    });
    let whole = required_body(call).filter(|_| body.is_none()).and_then(|_| arguments(writer, call).pop());
    let pieces = body.as_ref().map(|body| match &body.content {
        Streamed::Pieces => quote!(body: ::contract_runtime::transport::ByteStream),
        Streamed::Items(item) => {
            let ty = writer.types.rust_type(&item.ty);
            quote!(body: impl ::contract_runtime::stream::Stream<Item = #ty> + Send + 'static)
        }
    });
    let options = call.has_options().then(|| {
        let options = ident(&call.options);
        quote!(options: super::#module::#options)
    });
    let arguments: Vec<TokenStream> = parameters.chain(whole).chain(pieces).chain(options).collect();
    let many = (arguments.len() + 1 > 7).then(many);
    let mut given: Vec<TokenStream> = call
        .required()
        .map(|(_, parameter)| {
            let name = field(parameter);
            quote!(#name)
        })
        .collect();
    given.extend(required_body(call).map(|own| match body {
        None => quote!(body),
        Some(streamed) => placeholder(writer, own, streamed),
    }));
    given.extend(call.has_options().then(|| quote!(&options)));
    let refusal = answers_type(side, &call.refusals, writer.types);
    let accept = answer.as_ref().map(|answer| {
        let media_types = &answer.accept;
        quote!(.accept(#media_types))
    });
    let sent = body.as_ref().zip(call.body.as_ref()).map(|(body, own)| {
        let media_type = &own.contents[body.content_index].media.name;
        match body.content {
            Streamed::Pieces => quote!(.pieces(#media_type, body)),
            Streamed::Items(_) => quote!(.items(#media_type, body)),
        }
    });
    let (success, send) = match answer {
        Some(answer) => (read_type(&answer.content, writer.types), quote!(open)),
        None => (answers_type(side, &call.answers, writer.types), quote!(upload)),
    };
    Some(quote! {
        #lines
        #deprecated
        #many
        pub fn #method(&self, #(#arguments),*) -> ::contract_runtime::client::Opening<#success, #refusal> {
            let request = super::#module::#request::of(&self.core, #(#given),*) #accept #sent;
            self.core.#send::<super::#module::#request>(request)
        }
    })
}

/// What stands for a body that is sent in pieces while the rest of the request is made.
fn placeholder(writer: &Writer<'_>, body: &Body<'_>, streamed: &StreamedBody) -> TokenStream {
    let content = &body.contents[streamed.content_index];
    let text = matches!(content.format, Format::Text);
    if !body.is_choice() {
        return if text { quote!("") } else { quote!(Bytes::new()) };
    }
    let whole = whole_type(writer.plan.side, body, writer.types);
    let variant = ident(&body.variants[content.variant].name);
    let empty = if text { quote!(String::new()) } else { quote!(Bytes::new()) };
    quote!(&#whole::#variant(#empty))
}

/// What a call answers when it is handed on as it comes.
pub(super) fn stream_call(writer: &Writer<'_>, call: &Call<'_>) -> Option<TokenStream> {
    let answer = call.streams.answer.as_ref()?;
    let (name, module) = (ident(&call.name), ident(writer.plan.side.calls()));
    let ty = read_type(&answer.content, writer.types);
    Some(quote! {
        impl ::contract_runtime::client::StreamCall for super::#module::#name {
            type Stream = #ty;
        }
    })
}

/// The `Call` of an operation.
pub(super) fn call(writer: &Writer<'_>, call: &Call<'_>) -> TokenStream {
    let side = writer.plan.side;
    let (name, module) = (ident(&call.name), ident(side.calls()));
    let (id, variant) = (ident(side.table().1), ident(&call.id));
    let arguments = arguments(writer, call);
    let options = call.has_options().then(|| {
        let options = ident(&call.options);
        quote!(options: &super::#module::#options)
    });
    let count = arguments.len() + usize::from(options.is_some()) + 1;
    let many = (count > 7).then(many);
    let request = request(writer, call);
    let own = own(writer, call);
    let success = answers_type(side, &call.answers, writer.types);
    let refusal = answers_type(side, &call.refusals, writer.types);
    let arms = arms(writer, call);
    let unknown = call.optional().any(|(_, parameter)| matches!(parameter.ty, TypeRef::Replaced(..))).then(|| {
        quote!(#[allow(clippy::needless_borrows_for_generic_args, reason = "whether a type of the owner's is `Copy` is its own affair")])
    });
    quote! {
        impl super::#module::#name {
            #many
            #unknown
            fn of(core: &Core, #(#arguments,)* #options) -> Request {
                #request
            }
        }

        impl Call for super::#module::#name {
            const OPERATION: &'static Operation = #id::#variant.operation();
            type Success = #success;
            type Refusal = #refusal;

            fn request(&self, core: &Core) -> Request {
                Self::of(core, #(#own),*)
            }

            fn read(response: Response) -> Result<Answer<Self::Success>, Error<Self::Refusal>> {
                match response.status() {
                    #(#arms)*
                    _ => response.undocumented(),
                }
            }
        }
    }
}

/// What a call's value is made of: the arguments of a method, and the fields of the value.
pub(super) fn by_value(writer: &Writer<'_>, call: &Call<'_>) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let mut taken = arguments(writer, call);
    let parameters = call.required().map(|(_, parameter)| {
        let name = field(parameter);
        let value = owned(&parameter.ty, Handed::of(&parameter.ty, writer.types), &name);
        quote!(#name #value)
    });
    let body = required_body(call).map(|body| match body.variants.as_slice() {
        [BodyVariant { ty: BodyType::Bytes, .. }] => quote!(body: body.into()),
        [BodyVariant { ty: BodyType::Text, .. }] => quote!(body: body.to_owned()),
        [BodyVariant { ty: BodyType::Fields, .. }] => quote!(body: body.to_vec()),
        [BodyVariant { ty: BodyType::Value(ty), .. }] => match ty {
            TypeRef::Vec(_) => {
                let value = owned(ty, Handed::List, &ident("body"));
                quote!(body #value)
            }
            TypeRef::String => quote!(body: body.to_owned()),
            ty if writer.types.is_copy(ty) => quote!(body: *body),
            _ => quote!(body: body.clone()),
        },
        _ => quote!(body: body.clone()),
    });
    let mut given: Vec<TokenStream> = parameters.chain(body).collect();
    if call.has_options() {
        let (module, options) = (ident(writer.plan.side.calls()), ident(&call.options));
        taken.push(quote!(options: super::#module::#options));
        given.push(quote!(options));
    }
    (taken, given)
}

/// How an argument that was handed over becomes a field's own.
fn owned(ty: &TypeRef, handed: Handed, name: &Ident) -> TokenStream {
    let texts = matches!(ty, TypeRef::Vec(inner) if **inner == TypeRef::String);
    match handed {
        Handed::Copied => quote!(),
        Handed::Text => quote!(: #name.to_owned()),
        Handed::List if texts => quote!(: #name.iter().map(|each| each.as_ref().to_owned()).collect()),
        Handed::List => quote!(: #name.to_vec()),
        Handed::Borrowed => quote!(: #name.clone()),
    }
}

pub(super) fn many() -> TokenStream {
    quote!(#[expect(clippy::too_many_arguments, reason = "the contract requires that many")])
}

/// What has to be given: parameters, then the body.
fn arguments(writer: &Writer<'_>, call: &Call<'_>) -> Vec<TokenStream> {
    let parameters = call.required().map(|(_, parameter)| {
        let (name, given) = (field(parameter), borrowed(writer, &parameter.ty));
        quote!(#name: #given)
    });
    let body = required_body(call).map(|body| {
        let given = match body.variants.as_slice() {
            [BodyVariant { ty: BodyType::Bytes, .. }] => quote!(impl Into<Bytes>),
            [BodyVariant { ty: BodyType::Text, .. }] => quote!(&str),
            [BodyVariant { ty: BodyType::Fields, .. }] => quote!(&[::contract_runtime::multipart::Field]),
            [BodyVariant { ty: BodyType::Value(ty), .. }] => match ty {
                // A body is a document, whatever stands in it.
                TypeRef::Vec(_) | TypeRef::String => borrowed(writer, ty),
                ty => {
                    let ty = writer.types.rust_type(ty);
                    quote!(&#ty)
                }
            },
            _ => {
                let ty = whole_type(writer.plan.side, body, writer.types);
                quote!(&#ty)
            }
        };
        quote!(body: #given)
    });
    parameters.chain(body).collect()
}

/// The arguments' names, to pass them on.
fn names(call: &Call<'_>) -> Vec<Ident> {
    let parameters = call.required().map(|(_, parameter)| field(parameter));
    parameters.chain(required_body(call).map(|_| ident("body"))).collect()
}

/// The same of a call that is a value.
fn own(writer: &Writer<'_>, call: &Call<'_>) -> Vec<TokenStream> {
    let parameters = call.required().map(|(_, parameter)| {
        let name = field(parameter);
        match Handed::of(&parameter.ty, writer.types) {
            Handed::Copied => quote!(self.#name),
            Handed::Text | Handed::List | Handed::Borrowed => quote!(&self.#name),
        }
    });
    let body = required_body(call).map(|body| match body.variants.as_slice() {
        [BodyVariant { ty: BodyType::Bytes, .. }] => quote!(self.body.clone()),
        _ => quote!(&self.body),
    });
    parameters.chain(body).chain(call.has_options().then(|| quote!(&self.options))).collect()
}

fn required_body<'c, 'a>(call: &'c Call<'a>) -> Option<&'c Body<'a>> {
    call.body.as_ref().filter(|body| body.body.required)
}

fn field(parameter: &Parameter<'_>) -> Ident {
    ident(parameter.field.as_deref().unwrap_or_default())
}

/// Rows are addressed by their index, as servers address them.
fn request(writer: &Writer<'_>, call: &Call<'_>) -> TokenStream {
    let mut request = quote!(core.request(Self::OPERATION));
    for (index, parameter) in call.parameters.iter().enumerate() {
        let index = Literal::usize_unsuffixed(index);
        let value = match (&parameter.parameter.constant, &parameter.field) {
            (Some(text), _) => quote!(#text),
            (None, Some(name)) => {
                let name = ident(name);
                match (parameter.row.required, writer.types.is_copy(&parameter.ty)) {
                    (true, _) => quote!(#name),
                    (false, true) => quote!(options.#name),
                    (false, false) => quote!(&options.#name),
                }
            }
            (None, None) => continue,
        };
        request.extend(quote!(.argument(#index, #value)));
    }
    if let Some(media_types) = &call.accept {
        request.extend(quote!(.accept(#media_types)));
    }
    let Some(body) = &call.body else { return request };
    let whole = whole_type(writer.plan.side, body, writer.types);
    let required = body.body.required;
    if let ([one], true) = (body.variants.as_slice(), required) {
        let sent = sent(body, one, &quote!(body));
        return quote!(#request #sent);
    }
    let arms = body.variants.iter().map(|variant| {
        let given = match variant.ty {
            BodyType::Bytes => quote!(body.clone()),
            _ => quote!(body),
        };
        let sent = sent(body, variant, &given);
        let pattern = match body.is_choice() {
            true => {
                let name = ident(&variant.name);
                quote!(#whole::#name(body))
            }
            false => quote!(body),
        };
        let pattern = if required { pattern } else { quote!(Some(#pattern)) };
        quote!(#pattern => request #sent,)
    });
    let given = if required { quote!(body) } else { quote!(&options.body) };
    let none = (!required).then(|| quote!(None => request,));
    quote! {
        let request = #request;
        match #given { #(#arms)* #none }
    }
}

fn sent(body: &Body<'_>, variant: &BodyVariant, given: &TokenStream) -> TokenStream {
    let content = &body.contents[variant.sent];
    let media_type = media::concrete(&content.media.name);
    match &content.format {
        Format::Model => quote!(.json(#media_type, #given)),
        Format::Json => quote!(.json_value(#media_type, #given)),
        Format::Form(..) => quote!(.form(#media_type, #given)),
        Format::Multipart(..) => quote!(.multipart(#media_type, #given)),
        Format::Text => quote!(.text(#media_type, #given)),
        Format::Bytes => quote!(.bytes(#media_type, #given)),
        Format::Typed => quote!(.typed(#given)),
    }
}

/// The arms of the `match` over statuses, successes first. A code comes before a range and a
/// range before `default`, so that the first that fits is the one that the contract means.
fn arms(writer: &Writer<'_>, call: &Call<'_>) -> Vec<TokenStream> {
    let mut arms = Vec::new();
    for (answers, outcome) in [(&call.answers, Outcome::Success), (&call.refusals, Outcome::Refusal)] {
        match (&answers.one, &answers.choice) {
            (Some(one), _) => {
                let ranges = answers.cases.iter().flat_map(|case| ranges(case.status, outcome, answers));
                let Some(pattern) = pattern(ranges.collect()) else { continue };
                let method = ident(simple(one, outcome, answers.optional));
                arms.push(quote!(#pattern => response.#method(),));
            }
            (None, Some(name)) => {
                arms.extend(several(answers, &choice_type(writer.plan.side, name), outcome))
            }
            (None, None) => {}
        }
    }
    arms
}

/// The runtime's method that reads the only type of a side.
const fn simple(payload: &Payload, outcome: Outcome, optional: bool) -> &'static str {
    match (payload, outcome) {
        (Payload::Json(_), Outcome::Success) if optional => "json_or_nothing",
        (Payload::Json(_), Outcome::Success) => "json",
        (Payload::Text, Outcome::Success) => "text",
        (Payload::Bytes, Outcome::Success) => "bytes",
        (Payload::Nothing, Outcome::Success) => "nothing",
        (Payload::Json(_), Outcome::Refusal) => "refusal",
        (Payload::Text, Outcome::Refusal) => "refusal_text",
        (Payload::Bytes, Outcome::Refusal) => "refusal_bytes",
        (Payload::Nothing, Outcome::Refusal) => "refusal_nothing",
    }
}

fn several(answers: &Answers, name: &TokenStream, outcome: Outcome) -> Vec<TokenStream> {
    let mut statuses: Vec<Status> = answers.cases.iter().map(|case| case.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let mut arms = Vec::new();
    for status in statuses {
        let Some(pattern) = pattern(ranges(status, outcome, answers)) else { continue };
        let mut own: Vec<&Case> = answers.cases.iter().filter(|case| case.status == status).collect();
        let is_json = |case: &&Case| matches!(case.payload, Payload::Json(_));
        // JSON checks its media type by itself, and the first is what an answer without one is taken
        // for, as the runtime takes it.
        let fallback = own.iter().copied().find(is_json);
        // The more literal first, as the runtime looks them up.
        own.sort_by_key(|case| (MediaType::of(&case.media_type).openness(), is_json(case)));
        let asked = own.iter().filter(|case| case.by_media_type);
        let asked: Vec<&Case> = asked.copied().collect();
        // Behind everything else it need not be asked for.
        let asked = match (asked.split_last(), fallback) {
            (Some((last, before)), Some(json)) if std::ptr::eq(*last, json) => before,
            _ => asked.as_slice(),
        };
        for case in asked {
            let (types, read) = (case.names().map(MediaType::of), read(case, name, outcome));
            let types = types.map(|media_type| media_type.essence());
            arms.push(quote!(#pattern if #(response.is(#types))||* => #read,));
        }
        arms.push(match fallback.or(own.iter().copied().find(|case| !case.by_media_type)) {
            Some(case) => {
                let read = read(case, name, outcome);
                quote!(#pattern => #read,)
            }
            None => quote!(#pattern => response.unexpected(),),
        });
    }
    arms
}

fn read(case: &Case, name: &TokenStream, outcome: Outcome) -> TokenStream {
    let variant = ident(&case.variant);
    let side = ident(match outcome {
        Outcome::Success => "result",
        Outcome::Refusal => "refusal",
    });
    match case.payload {
        Payload::Json(_) => quote!(response.read_json().#side(#name::#variant)),
        Payload::Text => quote!(response.read_text().#side(#name::#variant)),
        Payload::Bytes => quote!(response.read_bytes().#side(#name::#variant)),
        Payload::Nothing => quote!(response.read_nothing().#side(|()| #name::#variant)),
    }
}

/// The statuses of a key. `default` is what no range has.
fn ranges(status: Status, outcome: Outcome, answers: &Answers) -> Vec<(u16, u16)> {
    let class = |class: u8| (u16::from(class) * 100, u16::from(class) * 100 + 99);
    match (status, outcome) {
        (Status::Code(code), _) => vec![(code, code)],
        (Status::Range(digit), _) => vec![class(digit)],
        (Status::Default, Outcome::Success) => vec![class(2)],
        (Status::Default, Outcome::Refusal) => {
            let own = |class: u8| answers.cases.iter().any(|case| case.status == Status::Range(class));
            [4_u8, 5].into_iter().filter(|&each| answers.one.is_some() || !own(each)).map(class).collect()
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

/// The type of an argument. Texts of a list may be anything that is text.
fn borrowed(writer: &Writer<'_>, ty: &TypeRef) -> TokenStream {
    match ty {
        TypeRef::Vec(inner) if **inner == TypeRef::String => {
            Handed::List.rust_type(&quote!(impl AsRef<str> + ::serde::Serialize))
        }
        ty => Handed::given(ty, writer.types).1,
    }
}
