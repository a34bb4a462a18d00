//! Writes what a method returns, and how that becomes an answer.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::Writer;
use crate::{
    calls::{answers_type, choice_type},
    emit::ident,
    plan::{Answers, Call, Case, Outcome, Payload},
};

impl Writer<'_> {
    /// What a method returns when it succeeds: the body, with status and headers where the
    /// contract leaves a say in them.
    pub(super) fn success_type(&self, answers: &Answers) -> TokenStream {
        let ty = answers_type(self.plan.side, answers, self.types);
        if answers.reply { quote!(Reply<#ty>) } else { ty }
    }

    /// The arms that write successes and refusals.
    pub(super) fn arms(&self, call: &Call<'_>) -> TokenStream {
        let success = self.success(&call.answers);
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

    fn success(&self, answers: &Answers) -> TokenStream {
        let (binding, reply) = match (answers.reply, &answers.one) {
            (true, _) => (quote!(reply), quote!(reply)),
            (false, Some(Payload::Nothing)) => (quote!(()), quote!(Reply::new(()))),
            (false, _) => (quote!(body), quote!(Reply::new(body))),
        };
        if let Some(name) = &answers.choice {
            let written = self.choices(answers, name, Outcome::Success);
            return match answers.reply {
                true => quote!(Ok(reply) => #written,),
                false => quote!(Ok(body) => { let reply = Reply::new(body); #written }),
            };
        }
        if answers.optional {
            let nothing = |case: &&Case| case.payload == Payload::Nothing;
            let empty = answers.cases.iter().find(nothing).map(|case| case.usual_status(Outcome::Success));
            let full = answers.cases.iter().find(|case| !nothing(case));
            let (Some(empty), Some(full)) = (empty, full) else { return TokenStream::new() };
            let (empty, status) = (
                Literal::u16_unsuffixed(empty),
                Literal::u16_unsuffixed(full.usual_status(Outcome::Success)),
            );
            let media_type = &full.media_type;
            return quote!(Ok(#binding) => call.answer_json_or_nothing(#status, #media_type, #empty, #reply),);
        }
        let Some(case) = answers.cases.first() else { return TokenStream::new() };
        let written = write(case, Outcome::Success, &reply);
        quote!(Ok(#binding) => #written,)
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
