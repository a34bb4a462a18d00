//! Writes the return types of trait methods, and the code that converts their results into responses.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::ServerWriter;
use crate::{
    calls::{answers_type, choice_type, sent_headers_name, written_type},
    emit::ident,
    plan::{PlannedCall, ResponseCase, ResponseOutcome, ResponsePayload, ResponseSet},
};

impl ServerWriter<'_> {
    /// Returns the success type of a trait method: the type of the body, within `TypedResponse` if the
    /// implementation chooses the status or sets headers.
    pub(super) fn success_type(&self, call: &PlannedCall<'_>) -> TokenStream {
        let answers = &call.responses;
        let whole = || answers_type(self.plan.side, answers, self.types);
        let ty = match &call.streams.response {
            None => whole(),
            Some(streamed) => {
                let stream = written_type(&streamed.content, self.types);
                if streamed.has_whole_responses {
                    let whole = whole();
                    quote!(runtime::ResponseBody<#whole, #stream>)
                } else {
                    stream
                }
            }
        };
        match (answers.needs_reply, &call.headers) {
            (true, Some(headers)) => {
                let module = ident(self.plan.side.sent_headers_module());
                let headers = ident(&sent_headers_name(headers));
                quote!(TypedResponse<#ty, super::#module::#headers>)
            }
            (true, None) => quote!(TypedResponse<#ty>),
            (false, _) => ty,
        }
    }

    /// Writes the `match` arms that convert the result of a trait method, a success or an error, into a
    /// response.
    pub(super) fn response_arms(&self, call: &PlannedCall<'_>) -> TokenStream {
        let success = self.success_arm(call);
        let refusal = match (&call.errors.enum_name, call.errors.cases.first()) {
            (Some(name), _) => {
                let written = self.choice_match(&call.errors, name, ResponseOutcome::Error);
                quote!(request.write_error(error, |response| #written))
            }
            (None, Some(case)) => {
                let written = write_case(case, ResponseOutcome::Error, &quote!(response));
                quote!(request.write_error(error, |response| #written))
            }
            (None, None) => quote!(request.write_error(error, |response| request.write_empty(500, response))),
        };
        quote!(#success Err(error) => #refusal,)
    }

    fn success_arm(&self, call: &PlannedCall<'_>) -> TokenStream {
        let answers = &call.responses;
        let arm = self.plain_success_arm(call);
        match (answers.needs_reply, &call.headers) {
            // The plain arm writes a response whose headers are encoded.
            (true, Some(_)) if !arm.is_empty() => quote! {
                Ok(response) => match response.encode_headers() {
                    #arm
                    Err(rejection) => Err(rejection),
                },
            },
            _ => arm,
        }
    }

    /// Writes the arm for a success, as if the contract declared no response headers.
    fn plain_success_arm(&self, call: &PlannedCall<'_>) -> TokenStream {
        let answers = &call.responses;
        let Some(streamed) = &call.streams.response else {
            return match self.whole_success(answers) {
                Some((binding, written)) => quote!(Ok(#binding) => #written,),
                None => TokenStream::new(),
            };
        };
        let (status, media_type) = (Literal::u16_unsuffixed(streamed.default_status()), &streamed.media_type);
        let pieces = |reply: TokenStream| quote!(request.write_stream(#status, #media_type, #reply));
        let whole = self.whole_success(answers).filter(|_| streamed.has_whole_responses);
        match (whole, answers.needs_reply) {
            (None, true) => {
                let written = pieces(quote!(response));
                quote!(Ok(response) => #written,)
            }
            (None, false) => {
                let written = pieces(quote!(TypedResponse::new(body)));
                quote!(Ok(body) => #written,)
            }
            (Some((binding, whole)), false) => {
                let written = pieces(quote!(TypedResponse::new(body)));
                quote! {
                    Ok(runtime::ResponseBody::Whole(#binding)) => #whole,
                    Ok(runtime::ResponseBody::Stream(body)) => #written,
                }
            }
            (Some((_, whole)), true) => {
                let written = pieces(quote!(response.map(|()| body)));
                quote! {
                    Ok(response) => match response.split_body() {
                        (response, runtime::ResponseBody::Whole(body)) => {
                            let response = response.map(|()| body);
                            #whole
                        }
                        (response, runtime::ResponseBody::Stream(body)) => #written,
                    },
                }
            }
        }
    }
    /// Returns the pattern that binds a success value that is not streamed, and the expression that writes
    /// this value as a response. Returns `None` if there is no such success response.
    fn whole_success(&self, answers: &ResponseSet) -> Option<(TokenStream, TokenStream)> {
        let (binding, reply) = match (answers.needs_reply, &answers.single) {
            (true, _) => (quote!(response), quote!(response)),
            (false, Some(ResponsePayload::Nothing)) => (quote!(()), quote!(TypedResponse::new(()))),
            (false, _) => (quote!(body), quote!(TypedResponse::new(body))),
        };
        if let Some(name) = &answers.enum_name {
            let written = self.choice_match(answers, name, ResponseOutcome::Success);
            return Some(match answers.needs_reply {
                true => (quote!(response), written),
                false => (quote!(body), quote!({ let response = TypedResponse::new(body); #written })),
            });
        }
        if answers.optional {
            let nothing = |case: &&ResponseCase| case.payload == ResponsePayload::Nothing;
            let empty =
                answers.cases.iter().find(nothing).map(|case| case.default_status(ResponseOutcome::Success));
            let full = answers.cases.iter().find(|case| !nothing(case));
            let (Some(empty), Some(full)) = (empty, full) else { return None };
            let (empty, status) = (
                Literal::u16_unsuffixed(empty),
                Literal::u16_unsuffixed(full.default_status(ResponseOutcome::Success)),
            );
            let media_type = &full.media_type;
            let written = quote!(request.write_json_or_empty(#status, #media_type, #empty, #reply));
            return Some((binding, written));
        }
        let written = write_case(answers.cases.first()?, ResponseOutcome::Success, &reply);
        Some((binding, written))
    }

    /// Writes a `match` over the variants of a response enum. Each arm writes the response of its variant. A
    /// variant for several statuses has the status of its first case by default.
    fn choice_match(&self, answers: &ResponseSet, name: &str, outcome: ResponseOutcome) -> TokenStream {
        let name = choice_type(self.plan.side, name);
        let mut seen: Vec<&str> = Vec::new();
        let mut arms = TokenStream::new();
        for case in &answers.cases {
            if seen.contains(&case.variant.as_str()) {
                continue;
            }
            seen.push(&case.variant);
            let variant = ident(&case.variant);
            arms.extend(if case.payload == ResponsePayload::Nothing {
                let written = write_case(case, outcome, &quote!(response));
                quote!(#name::#variant => #written,)
            } else {
                let written = write_case(case, outcome, &quote!(response.map(|()| body)));
                quote!(#name::#variant(body) => #written,)
            });
        }
        quote!({
            let (response, body) = response.split_body();
            match body { #arms }
        })
    }
}

/// Returns a call such as `request.write_json(status, media type, reply)` that writes one kind of response.
fn write_case(case: &ResponseCase, outcome: ResponseOutcome, reply: &TokenStream) -> TokenStream {
    let status = Literal::u16_unsuffixed(case.default_status(outcome));
    let media_type = &case.media_type;
    match case.payload {
        ResponsePayload::Nothing => quote!(request.write_empty(#status, #reply)),
        ResponsePayload::Json(_) => quote!(request.write_json(#status, #media_type, #reply)),
        ResponsePayload::Text | ResponsePayload::Bytes => {
            quote!(request.write_bytes(#status, #media_type, #reply))
        }
    }
}
