//! Writes client methods, and the implementations of `Call` for operations. Both mainly call
//! `contract_runtime::client`, with one line for each argument and each kind of response.

use contract_runtime::media_type::{self, MediaType};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{ClientWriter, docs};
use crate::{
    api::StatusPattern,
    calls::{answers_type, choice_type, read_type},
    emit::ident,
    operations::whole_type,
    plan::{
        BodyFormat, BodyType, BodyVariant, OperationSide, PlannedCall, PlannedParameter, RequestBodyPlan,
        ResponseCase, ResponseOutcome, ResponsePayload, ResponseSet, StreamContent, StreamPlan, StreamedBody,
    },
    rust_types::PassingMode,
    shape::TypeRef,
};

/// The client struct that has the method of a call: the main client, or the client of a group, which borrows
/// from the main client.
pub(super) struct Receiver {
    /// The lifetime of the call that a method returns.
    lifetime: TokenStream,
    /// A reference to the `ApiClient`.
    pub(super) api_client: TokenStream,
}

impl Receiver {
    pub(super) fn new(call: &PlannedCall<'_>) -> Self {
        match call.accessor {
            Some(_) => Self { lifetime: quote!('a), api_client: quote!(self.inner) },
            None => Self { lifetime: quote!('_), api_client: quote!(&self.inner) },
        }
    }
}

/// Writes the client method that sends a call.
pub(super) fn write_method(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> TokenStream {
    let side = writer.plan.side;
    let lines = docs::doc_attributes(&docs::operation_lines(writer, call));
    let deprecated = call.operation.deprecated.then(|| quote!(#[deprecated = "deprecated by the contract"]));
    let (name, request, module) = (ident(&call.client_method), ident(&call.name), ident(side.calls_module()));
    let Receiver { lifetime, api_client } = Receiver::new(call);
    let address = (side == OperationSide::Webhooks).then(|| quote!(address: &str,));
    let at = (side == OperationSide::Webhooks).then(|| quote!(.with_address(address)));
    let arguments = method_arguments(writer, call);
    let generics = method_generics(call);
    let options = call.has_options().then(|| {
        let options = ident(&call.options);
        quote!(options: super::#module::#options)
    });
    let names = passed_arguments(call);
    let pass_options = call.has_options().then(|| quote!(&options));
    // Clippy allows seven arguments, including `self`.
    let count = names.len() + usize::from(options.is_some()) + usize::from(address.is_some()) + 1;
    let many = (count > 7).then(too_many_arguments);
    quote! {
        #lines
        #deprecated
        #many
        pub fn #name #generics(&self, #address #(#arguments,)* #options) -> PendingCall<#lifetime, super::#module::#request> {
            self.inner.send(super::#module::#request::request_for(#api_client, #(#names,)* #pass_options) #at)
        }
    }
}

/// Writes the method that streams the response or the request body of a call. Returns `None` if neither is
/// streamed.
pub(super) fn write_stream_method(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Option<TokenStream> {
    let StreamPlan { response: answer, body, method } = &call.streams;
    if call.streams.is_empty() {
        return None;
    }
    let side = writer.plan.side;
    let Receiver { api_client, .. } = Receiver::new(call);
    let mut lines = docs::operation_lines(writer, call);
    docs::add_stream_notes(&mut lines, call);
    let lines = docs::doc_attributes(&lines);
    let deprecated = call.operation.deprecated.then(|| quote!(#[deprecated = "deprecated by the contract"]));
    let (method, request, module) = (ident(method), ident(&call.name), ident(side.calls_module()));
    let parameters = call.required_parameters().map(|(_, parameter)| {
        let (name, given) = (field_ident(parameter), argument_type(writer, &parameter.ty));
        quote!(#name: #given)
    });
    let whole =
        body_argument(call).filter(|_| body.is_none()).and_then(|_| method_arguments(writer, call).pop());
    let pieces = body.as_ref().map(|body| match &body.content {
        StreamContent::Bytes => quote!(body: ::contract_runtime::transport::ByteStream),
        StreamContent::Items(item) => {
            let ty = writer.types.rust_type(&item.ty);
            quote!(body: impl ::contract_runtime::stream::Stream<Item = #ty> + Send + 'static)
        }
    });
    let options = call.has_options().then(|| {
        let options = ident(&call.options);
        quote!(options: super::#module::#options)
    });
    let generics = method_generics(call);
    let arguments: Vec<TokenStream> = parameters.chain(whole).chain(pieces).chain(options).collect();
    let many = (arguments.len() + 1 > 7).then(too_many_arguments);
    let mut given: Vec<TokenStream> = call
        .required_parameters()
        .map(|(_, parameter)| {
            let name = field_ident(parameter);
            quote!(#name)
        })
        .collect();
    given.extend(body_argument(call).map(|own| match body {
        None => passed_body(own),
        Some(streamed) => body_placeholder(writer, own, streamed),
    }));
    given.extend(call.has_options().then(|| quote!(&options)));
    let refusal = answers_type(side, &call.errors, writer.types);
    let accept = answer.as_ref().map(|answer| {
        let media_types = &answer.accept;
        quote!(.accept(#media_types))
    });
    let sent = body.as_ref().zip(call.body.as_ref()).map(|(body, own)| {
        let media_type = &own.contents[body.content_index].media.name;
        match body.content {
            StreamContent::Bytes => quote!(.byte_stream(#media_type, body)),
            StreamContent::Items(_) => quote!(.item_stream(#media_type, body)),
        }
    });
    let headers = call.headers.as_ref().map(|_| headers_type(side, call)).map(|headers| quote!(, #headers));
    let (success, send) = match answer {
        Some(answer) => (read_type(&answer.content, writer.types), quote!(open_stream)),
        None => (answers_type(side, &call.responses, writer.types), quote!(upload_stream)),
    };
    Some(quote! {
        #lines
        #deprecated
        #many
        pub fn #method #generics(&self, #(#arguments),*) -> ::contract_runtime::client::PendingStreamCall<#success, #refusal #headers> {
            let request = super::#module::#request::request_for(#api_client, #(#given),*) #accept #sent;
            self.inner.#send::<super::#module::#request>(request)
        }
    })
}

/// Returns an expression for an empty body, with which the request is built before the stream replaces it.
fn body_placeholder(
    writer: &ClientWriter<'_>,
    body: &RequestBodyPlan<'_>,
    streamed: &StreamedBody,
) -> TokenStream {
    let content = &body.contents[streamed.content_index];
    let text = matches!(content.format, BodyFormat::Text);
    if !body.is_choice() {
        return if text { quote!("") } else { quote!(Bytes::new()) };
    }
    let whole = whole_type(writer.plan.side, body, writer.types);
    let variant = ident(&body.variants[content.variant].name);
    let empty = if text { quote!(String::new()) } else { quote!(Bytes::new()) };
    quote!(&#whole::#variant(#empty))
}

/// Writes the `StreamCall` implementation of a call, or returns `None` if its response is not streamed.
pub(super) fn write_stream_call(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Option<TokenStream> {
    let answer = call.streams.response.as_ref()?;
    let (name, module) = (ident(&call.name), ident(writer.plan.side.calls_module()));
    let ty = read_type(&answer.content, writer.types);
    Some(quote! {
        impl ::contract_runtime::client::StreamCall for super::#module::#name {
            type Stream = #ty;
        }
    })
}

/// Returns the type of the declared headers of a successful response.
fn headers_type(side: OperationSide, call: &PlannedCall<'_>) -> TokenStream {
    match &call.headers {
        Some(headers) => {
            let (module, name) = (ident(side.headers_module()), ident(&headers.name));
            quote!(super::#module::#name<'static>)
        }
        None => quote!(::contract_runtime::client::NoHeaders),
    }
}

/// Writes the implementation of `Call` for the struct of an operation, and the function that builds its
/// request.
pub(super) fn write_call(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> TokenStream {
    let side = writer.plan.side;
    let (name, module) = (ident(&call.name), ident(side.calls_module()));
    let (id, variant) = (ident(side.table_names().1), ident(&call.id));
    let arguments = request_arguments(writer, call);
    let options = call.has_options().then(|| {
        let options = ident(&call.options);
        quote!(options: &super::#module::#options)
    });
    let count = arguments.len() + usize::from(options.is_some()) + 1;
    let many = (count > 7).then(too_many_arguments);
    let request = write_request(writer, call);
    let own = value_arguments(writer, call);
    let success = answers_type(side, &call.responses, writer.types);
    let refusal = answers_type(side, &call.errors, writer.types);
    let headers = headers_type(side, call);
    let arms = response_arms(writer, call);
    let unknown = call.optional_parameters().any(|(_, parameter)| matches!(parameter.ty, TypeRef::Replaced(..))).then(|| {
        quote!(#[allow(clippy::needless_borrows_for_generic_args, reason = "the replaced type may or may not be `Copy`")])
    });
    quote! {
        impl super::#module::#name {
            #many
            #unknown
            fn request_for(api_client: &ApiClient, #(#arguments,)* #options) -> RequestBuilder {
                #request
            }
        }

        impl Call for super::#module::#name {
            const OPERATION: &'static Operation = #id::#variant.operation();
            type Success = #success;
            type ErrorBody = #refusal;
            type Headers = #headers;

            fn build_request(&self, api_client: &ApiClient) -> RequestBuilder {
                Self::request_for(api_client, #(#own),*)
            }

            fn parse_response(response: RawResponse) -> Result<Response<Self::Success>, Error<Self::ErrorBody>> {
                match response.status() {
                    #(#arms)*
                    _ => response.undocumented_status(),
                }
            }
        }
    }
}

/// Returns the arguments of a method that creates the struct of a call, and the initializers of the struct's
/// fields.
pub(super) fn owned_arguments(
    writer: &ClientWriter<'_>,
    call: &PlannedCall<'_>,
) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let mut taken = method_arguments(writer, call);
    let parameters = call.required_parameters().map(|(_, parameter)| {
        let name = field_ident(parameter);
        let value = to_owned_field(&parameter.ty, PassingMode::for_type(&parameter.ty, writer.types), &name);
        quote!(#name #value)
    });
    let body = body_argument(call).map(|body| match body.variants.as_slice() {
        _ if !body.body.required => {
            quote!(body: ::contract_runtime::client::OptionalBody::into_option(body).cloned())
        }
        [BodyVariant { ty: BodyType::Bytes, .. }] => quote!(body: body.into()),
        [BodyVariant { ty: BodyType::Text, .. }] => quote!(body: body.to_owned()),
        [BodyVariant { ty: BodyType::Fields, .. }] => quote!(body: body.to_vec()),
        [BodyVariant { ty: BodyType::Value(ty), .. }] => match ty {
            TypeRef::Vec(_) => {
                let value = to_owned_field(ty, PassingMode::Slice, &ident("body"));
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
        let (module, options) = (ident(writer.plan.side.calls_module()), ident(&call.options));
        taken.push(quote!(options: super::#module::#options));
        given.push(quote!(options));
    }
    (taken, given)
}

/// Returns the part of a field initializer that converts the argument `name` into an owned value. It is empty
/// if the argument is passed by value.
fn to_owned_field(ty: &TypeRef, handed: PassingMode, name: &Ident) -> TokenStream {
    let texts = matches!(ty, TypeRef::Vec(inner) if **inner == TypeRef::String);
    match handed {
        PassingMode::ByValue => quote!(),
        PassingMode::Str => quote!(: #name.to_owned()),
        PassingMode::Slice if texts => quote!(: #name.iter().map(|each| each.as_ref().to_owned()).collect()),
        PassingMode::Slice => quote!(: #name.to_vec()),
        PassingMode::ByReference => quote!(: #name.clone()),
    }
}

pub(super) fn too_many_arguments() -> TokenStream {
    quote!(#[expect(clippy::too_many_arguments, reason = "the contract requires this many arguments")])
}

/// Returns the arguments of a client method: the required parameters, then the body if it is an argument. A
/// body that may be `None` is accepted with and without `Some`.
fn method_arguments(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Vec<TokenStream> {
    arguments_of(writer, call, |ty| quote!(impl ::contract_runtime::client::OptionalBody<'b, #ty>))
}

/// Returns the generics of a client method with the arguments of [`method_arguments`]: the lifetime of a body
/// that may be `None`.
pub(super) fn method_generics(call: &PlannedCall<'_>) -> Option<TokenStream> {
    body_argument(call).filter(|body| !body.body.required).map(|_| quote!(<'b>))
}

/// Returns the arguments of the function that builds the request of a call.
fn request_arguments(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Vec<TokenStream> {
    arguments_of(writer, call, |ty| quote!(Option<&#ty>))
}

fn arguments_of(
    writer: &ClientWriter<'_>,
    call: &PlannedCall<'_>,
    nullable: impl Fn(TokenStream) -> TokenStream,
) -> Vec<TokenStream> {
    let parameters = call.required_parameters().map(|(_, parameter)| {
        let (name, given) = (field_ident(parameter), argument_type(writer, &parameter.ty));
        quote!(#name: #given)
    });
    let body = body_argument(call).map(|body| {
        if !body.body.required {
            let given = nullable(whole_type(writer.plan.side, body, writer.types));
            return quote!(body: #given);
        }
        let given = match body.variants.as_slice() {
            [BodyVariant { ty: BodyType::Bytes, .. }] => quote!(impl Into<Bytes>),
            [BodyVariant { ty: BodyType::Text, .. }] => quote!(&str),
            [BodyVariant { ty: BodyType::Fields, .. }] => {
                quote!(&[::contract_runtime::multipart::MultipartField])
            }
            [BodyVariant { ty: BodyType::Value(ty), .. }] => match ty {
                // A body is passed by reference, even if its type is `Copy`.
                TypeRef::Vec(_) | TypeRef::String => argument_type(writer, ty),
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

/// Returns the arguments that [`method_arguments`] declares, as [`request_arguments`] expects them.
fn passed_arguments(call: &PlannedCall<'_>) -> Vec<TokenStream> {
    let parameters = call.required_parameters().map(|(_, parameter)| {
        let name = field_ident(parameter);
        quote!(#name)
    });
    parameters.chain(body_argument(call).map(passed_body)).collect()
}

fn passed_body(body: &RequestBodyPlan<'_>) -> TokenStream {
    if body.body.required {
        quote!(body)
    } else {
        quote!(::contract_runtime::client::OptionalBody::into_option(body))
    }
}

/// Returns the arguments with which a call struct builds its request: the required ones, and the options if
/// there are any, each as a field of `self`.
fn value_arguments(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Vec<TokenStream> {
    let parameters = call.required_parameters().map(|(_, parameter)| {
        let name = field_ident(parameter);
        match PassingMode::for_type(&parameter.ty, writer.types) {
            PassingMode::ByValue => quote!(self.#name),
            PassingMode::Str | PassingMode::Slice | PassingMode::ByReference => quote!(&self.#name),
        }
    });
    let body = body_argument(call).map(|body| match body.variants.as_slice() {
        _ if !body.body.required => quote!(self.body.as_ref()),
        [BodyVariant { ty: BodyType::Bytes, .. }] => quote!(self.body.clone()),
        _ => quote!(&self.body),
    });
    parameters.chain(body).chain(call.has_options().then(|| quote!(&self.options))).collect()
}

fn body_argument<'c, 'a>(call: &'c PlannedCall<'a>) -> Option<&'c RequestBodyPlan<'a>> {
    call.body.as_ref().filter(|body| body.is_argument())
}

fn field_ident(parameter: &PlannedParameter<'_>) -> Ident {
    ident(parameter.field.as_deref().unwrap_or_default())
}

/// Returns the expression that builds the request of a call. It identifies parameters by their row in the
/// operation table, as servers do.
fn write_request(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> TokenStream {
    let mut request = quote!(api_client.request(Self::OPERATION));
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
        let sent = write_body(body, one, &quote!(body));
        return quote!(#request #sent);
    }
    let arms = body.variants.iter().map(|variant| {
        let given = match variant.ty {
            BodyType::Bytes => quote!(body.clone()),
            _ => quote!(body),
        };
        let sent = write_body(body, variant, &given);
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
    let given = if body.is_argument() { quote!(body) } else { quote!(&options.body) };
    let none = (!required).then(|| quote!(None => request,));
    quote! {
        let request = #request;
        match #given { #(#arms)* #none }
    }
}

fn write_body(body: &RequestBodyPlan<'_>, variant: &BodyVariant, given: &TokenStream) -> TokenStream {
    let content = &body.contents[variant.sent];
    let media_type = media_type::concrete_media_type(&content.media.name);
    match &content.format {
        BodyFormat::Model => quote!(.json(#media_type, #given)),
        BodyFormat::Json => quote!(.json_value(#media_type, #given)),
        BodyFormat::Form(..) => quote!(.form(#media_type, #given)),
        BodyFormat::Multipart(..) => quote!(.multipart(#media_type, #given)),
        BodyFormat::Text => quote!(.text(#media_type, #given)),
        BodyFormat::Bytes => quote!(.bytes(#media_type, #given)),
        BodyFormat::Typed => quote!(.typed_bytes(#given)),
    }
}

/// Returns the `match` arms that parse a response by its status, success responses first. Status codes
/// precede ranges and ranges precede `default`, so that the most specific entry of the contract matches
/// first.
fn response_arms(writer: &ClientWriter<'_>, call: &PlannedCall<'_>) -> Vec<TokenStream> {
    let mut arms = Vec::new();
    for (answers, outcome) in
        [(&call.responses, ResponseOutcome::Success), (&call.errors, ResponseOutcome::Error)]
    {
        match (&answers.single, &answers.enum_name) {
            (Some(one), _) => {
                let ranges =
                    answers.cases.iter().flat_map(|case| status_ranges(case.status, outcome, answers));
                let Some(pattern) = status_pattern(ranges.collect()) else { continue };
                let method = ident(read_method(one, outcome, answers.optional));
                arms.push(quote!(#pattern => response.#method(),));
            }
            (None, Some(name)) => {
                arms.extend(choice_arms(answers, &choice_type(writer.plan.side, name), outcome))
            }
            (None, None) => {}
        }
    }
    arms
}

/// Returns the name of the runtime method that parses the responses of one outcome, if all of them have the
/// same type.
const fn read_method(payload: &ResponsePayload, outcome: ResponseOutcome, optional: bool) -> &'static str {
    match (payload, outcome) {
        (ResponsePayload::Json(_), ResponseOutcome::Success) if optional => "json_or_empty",
        (ResponsePayload::Json(_), ResponseOutcome::Success) => "json",
        (ResponsePayload::Text, ResponseOutcome::Success) => "text",
        (ResponsePayload::Bytes, ResponseOutcome::Success) => "bytes",
        (ResponsePayload::Nothing, ResponseOutcome::Success) => "empty",
        (ResponsePayload::Json(_), ResponseOutcome::Error) => "error_json",
        (ResponsePayload::Text, ResponseOutcome::Error) => "error_text",
        (ResponsePayload::Bytes, ResponseOutcome::Error) => "error_bytes",
        (ResponsePayload::Nothing, ResponseOutcome::Error) => "error_empty",
    }
}

fn choice_arms(answers: &ResponseSet, name: &TokenStream, outcome: ResponseOutcome) -> Vec<TokenStream> {
    let mut statuses: Vec<StatusPattern> = answers.cases.iter().map(|case| case.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    let mut arms = Vec::new();
    for status in statuses {
        let Some(pattern) = status_pattern(status_ranges(status, outcome, answers)) else { continue };
        let mut own: Vec<&ResponseCase> = answers.cases.iter().filter(|case| case.status == status).collect();
        let is_json = |case: &&ResponseCase| matches!(case.payload, ResponsePayload::Json(_));
        // The method for JSON checks the media type itself. The first JSON case also handles responses
        // without a media type, as in the runtime.
        let fallback = own.iter().copied().find(is_json);
        // More specific media types come first, as in the lookup of the runtime.
        own.sort_by_key(|case| (MediaType::parse(&case.media_type).wildcard_rank(), is_json(case)));
        let by_media_type = own.iter().filter(|case| case.by_media_type);
        let by_media_type: Vec<&ResponseCase> = by_media_type.copied().collect();
        // If the last case is the fallback, it needs no condition.
        let by_media_type = match (by_media_type.split_last(), fallback) {
            (Some((last, before)), Some(json)) if std::ptr::eq(*last, json) => before,
            _ => by_media_type.as_slice(),
        };
        for case in by_media_type {
            let (types, read) = (case.media_types().map(MediaType::parse), read_case(case, name, outcome));
            let types = types.map(|media_type| media_type.essence());
            arms.push(quote!(#pattern if #(response.has_media_type(#types))||* => #read,));
        }
        arms.push(match fallback.or(own.iter().copied().find(|case| !case.by_media_type)) {
            Some(case) => {
                let read = read_case(case, name, outcome);
                quote!(#pattern => #read,)
            }
            None => quote!(#pattern => response.unexpected_media_type(),),
        });
    }
    arms
}

fn read_case(case: &ResponseCase, name: &TokenStream, outcome: ResponseOutcome) -> TokenStream {
    let variant = ident(&case.variant);
    let side = ident(match outcome {
        ResponseOutcome::Success => "into_success",
        ResponseOutcome::Error => "into_error",
    });
    match case.payload {
        ResponsePayload::Json(_) => quote!(response.decode_json().#side(#name::#variant)),
        ResponsePayload::Text => quote!(response.decode_text().#side(#name::#variant)),
        ResponsePayload::Bytes => quote!(response.decode_bytes().#side(#name::#variant)),
        ResponsePayload::Nothing => quote!(response.decode_empty().#side(|()| #name::#variant)),
    }
}

/// Returns the ranges of status codes that a key of `responses` covers. For success responses, `default`
/// covers `2XX`. For error responses, it covers `4XX` and `5XX`; if these responses have different types, a
/// range with an entry of its own is excluded.
fn status_ranges(status: StatusPattern, outcome: ResponseOutcome, answers: &ResponseSet) -> Vec<(u16, u16)> {
    let class = |class: u8| (u16::from(class) * 100, u16::from(class) * 100 + 99);
    match (status, outcome) {
        (StatusPattern::Code(code), _) => vec![(code, code)],
        (StatusPattern::Range(digit), _) => vec![class(digit)],
        (StatusPattern::Default, ResponseOutcome::Success) => vec![class(2)],
        (StatusPattern::Default, ResponseOutcome::Error) => {
            let own = |class: u8| answers.cases.iter().any(|case| case.status == StatusPattern::Range(class));
            [4_u8, 5].into_iter().filter(|&each| answers.single.is_some() || !own(each)).map(class).collect()
        }
    }
}

/// Returns a pattern such as `200 | 400..=599`, in which adjacent ranges are merged. Returns `None` if there
/// are no ranges.
fn status_pattern(mut ranges: Vec<(u16, u16)>) -> Option<TokenStream> {
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

/// Returns the type of the argument for a value of type `ty`. The elements of a list of strings may have any
/// type that implements `AsRef<str>`.
fn argument_type(writer: &ClientWriter<'_>, ty: &TypeRef) -> TokenStream {
    match ty {
        TypeRef::Vec(inner) if **inner == TypeRef::String => {
            PassingMode::Slice.argument_type(&quote!(impl AsRef<str> + ::serde::Serialize))
        }
        ty => PassingMode::with_argument_type(ty, writer.types).1,
    }
}
