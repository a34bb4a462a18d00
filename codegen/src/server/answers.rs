//! Writes what a method returns, and how that becomes an answer.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::Writer;
use crate::{
    calls::{answers_type, choice_type, written_type},
    emit::ident,
    plan::{Answers, Call, Case, Outcome, Payload},
};

impl Writer<'_> {
    /// What a method returns when it succeeds: the body, with status and headers where the
    /// contract leaves a say in them.
    pub(super) fn success_type(&self, call: &Call<'_>) -> TokenStream {
        let answers = &call.answers;
        let whole = || answers_type(self.plan.side, answers, self.types);
        let ty = match &call.streams.answer {
            None => whole(),
            Some(streamed) => {
                let stream = written_type(&streamed.content, self.types);
                if streamed.beside_whole {
                    let whole = whole();
                    quote!(runtime::Either<#whole, #stream>)
                } else {
                    stream
                }
            }
        };
        if answers.reply { quote!(Reply<#ty>) } else { ty }
    }

    /// The arms that write successes and refusals.
    pub(super) fn arms(&self, call: &Call<'_>) -> TokenStream {
        let success = self.success(call);
        let refusal = match (&call.refusals.choice, call.refusals.cases.first()) {
            (Some(name), _) => {
                let written = self.choices(&call.refusals, name, Outcome::Refusal);
                quote!(call.refuse(refusal, |reply| #written))
            }
            (None, Some(case)) => {
                let written = write(case, Outcome::Refusal, &quote!(reply));
                quote!(call.refuse(refusal, |reply| #written))
            }
            (None, None) => quote!(call.refuse(refusal, |reply| call.answer_empty(500, reply))),
        };
        quote!(#success Err(refusal) => #refusal,)
    }

    fn success(&self, call: &Call<'_>) -> TokenStream {
        let answers = &call.answers;
        let Some(streamed) = &call.streams.answer else {
            return match self.whole(answers) {
                Some((binding, written)) => quote!(Ok(#binding) => #written,),
                None => TokenStream::new(),
            };
        };
        let (status, media_type) = (Literal::u16_unsuffixed(streamed.usual_status()), &streamed.media_type);
        let pieces = |reply: TokenStream| quote!(call.answer_pieces(#status, #media_type, #reply));
        let whole = self.whole(answers).filter(|_| streamed.beside_whole);
        match (whole, answers.reply) {
            (None, true) => {
                let written = pieces(quote!(reply));
                quote!(Ok(reply) => #written,)
            }
            (None, false) => {
                let written = pieces(quote!(Reply::new(body)));
                quote!(Ok(body) => #written,)
            }
            (Some((binding, whole)), false) => {
                let written = pieces(quote!(Reply::new(body)));
                quote! {
                    Ok(runtime::Either::Whole(#binding)) => #whole,
                    Ok(runtime::Either::Stream(body)) => #written,
                }
            }
            (Some((_, whole)), true) => {
                let written = pieces(quote!(reply.map(|()| body)));
                quote! {
                    Ok(reply) => match reply.split() {
                        (reply, runtime::Either::Whole(body)) => {
                            let reply = reply.map(|()| body);
                            #whole
                        }
                        (reply, runtime::Either::Stream(body)) => #written,
                    },
                }
            }
        }
    }

    /// What a whole success is bound to, and how it is written.
    fn whole(&self, answers: &Answers) -> Option<(TokenStream, TokenStream)> {
        let (binding, reply) = match (answers.reply, &answers.one) {
            (true, _) => (quote!(reply), quote!(reply)),
            (false, Some(Payload::Nothing)) => (quote!(()), quote!(Reply::new(()))),
            (false, _) => (quote!(body), quote!(Reply::new(body))),
        };
        if let Some(name) = &answers.choice {
            let written = self.choices(answers, name, Outcome::Success);
            return Some(match answers.reply {
                true => (quote!(reply), written),
                false => (quote!(body), quote!({ let reply = Reply::new(body); #written })),
            });
        }
        if answers.optional {
            let nothing = |case: &&Case| case.payload == Payload::Nothing;
            let empty = answers.cases.iter().find(nothing).map(|case| case.usual_status(Outcome::Success));
            let full = answers.cases.iter().find(|case| !nothing(case));
            let (Some(empty), Some(full)) = (empty, full) else { return None };
            let (empty, status) = (
                Literal::u16_unsuffixed(empty),
                Literal::u16_unsuffixed(full.usual_status(Outcome::Success)),
            );
            let media_type = &full.media_type;
            let written = quote!(call.answer_json_or_nothing(#status, #media_type, #empty, #reply));
            return Some((binding, written));
        }
        let written = write(answers.cases.first()?, Outcome::Success, &reply);
        Some((binding, written))
    }

    /// By variant; the first case of each gives the status that is usual.
    fn choices(&self, answers: &Answers, name: &str, outcome: Outcome) -> TokenStream {
        let name = choice_type(self.plan.side, name);
        let mut seen: Vec<&str> = Vec::new();
        let mut arms = TokenStream::new();
        for case in &answers.cases {
            if seen.contains(&case.variant.as_str()) {
                continue;
            }
            seen.push(&case.variant);
            let variant = ident(&case.variant);
            arms.extend(if case.payload == Payload::Nothing {
                let written = write(case, outcome, &quote!(reply));
                quote!(#name::#variant => #written,)
            } else {
                let written = write(case, outcome, &quote!(reply.map(|()| body)));
                quote!(#name::#variant(body) => #written,)
            });
        }
        quote!({
            let (reply, body) = reply.split();
            match body { #arms }
        })
    }
}

/// `call.answer_…(status, media type, reply)`
fn write(case: &Case, outcome: Outcome, reply: &TokenStream) -> TokenStream {
    let status = Literal::u16_unsuffixed(case.usual_status(outcome));
    let media_type = &case.media_type;
    match case.payload {
        Payload::Nothing => quote!(call.answer_empty(#status, #reply)),
        Payload::Json(_) => quote!(call.answer_json(#status, #media_type, #reply)),
        Payload::Text | Payload::Bytes => quote!(call.answer_bytes(#status, #media_type, #reply)),
    }
}
