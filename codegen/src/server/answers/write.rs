//! Writes what is settled: the types of a method's result, the arms of its `match`, the enums.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Answers, Case, Payload, Writing};
use crate::{
    emit::{ident, markdown},
    operations::{doc, validator_option},
};

impl Answers {
    /// What a method returns when it succeeds.
    pub(in crate::server) fn success_type(&self) -> TokenStream {
        match self.successes.as_slice() {
            [one] => one.success_type(),
            _ => {
                let name = ident(&self.success_enum);
                quote!(#name)
            }
        }
    }

    /// What a method returns when it refuses; `alias` is the problem that `Refusal` stands for.
    pub(in crate::server) fn refusal_type(&self, alias: Option<&TokenStream>) -> TokenStream {
        match self.refusals.as_slice() {
            [one] if alias.is_some_and(|alias| alias.to_string() == one.payload.ty.to_string()) => {
                quote!(Refusal)
            }
            [one] => {
                let ty = &one.payload.ty;
                quote!(runtime::Refusal<#ty>)
            }
            _ => {
                let name = ident(&self.refusal_enum);
                quote!(runtime::Refusal<#name>)
            }
        }
    }

    /// The arms that write successes.
    pub(in crate::server) fn success_arms(&self) -> Vec<TokenStream> {
        let name = ident(&self.success_enum);
        let several = self.successes.len() > 1;
        let arm = |case: &Case| {
            let (binding, reply) = match (case.reply, &case.payload.writing) {
                (true, _) => (quote!(reply), quote!(reply)),
                (false, Writing::Empty) => (quote!(()), quote!(Reply::new(()))),
                (false, _) => (quote!(body), quote!(Reply::new(body))),
            };
            let write = case.payload.write(case.success_status(), &reply);
            let variant = ident(&case.name);
            match (several, case.is_unit()) {
                (false, _) => quote!(Ok(#binding) => #write,),
                (true, true) => quote!(Ok(#name::#variant) => #write,),
                (true, false) => quote!(Ok(#name::#variant(#binding)) => #write,),
            }
        };
        self.successes.iter().map(arm).collect()
    }

    /// The arm that writes refusals.
    pub(in crate::server) fn refusal_arm(&self) -> TokenStream {
        if let [one] = self.refusals.as_slice() {
            let write = one.payload.write(500, &quote!(refusal.into_reply()?));
            return quote!(Err(refusal) => #write,);
        }
        let name = ident(&self.refusal_enum);
        let arms = self.refusals.iter().map(|case| {
            let variant = ident(&case.name);
            if matches!(case.payload.writing, Writing::Empty) {
                let write = case.payload.write(500, &quote!(reply));
                return quote!(#name::#variant => #write,);
            }
            let write = case.payload.write(500, &quote!(reply.map(|()| body)));
            quote!(#name::#variant(body) => #write,)
        });
        quote! {
            Err(refusal) => {
                let (reply, problem) = refusal.into_reply()?.split();
                match problem { #(#arms)* }
            }
        }
    }

    /// The enums, when there are several successes or refusals.
    pub(in crate::server) fn items(&self) -> TokenStream {
        let success = (self.successes.len() > 1).then(|| {
            let about = doc(&[format!("What `{}` answers.", self.operation)]);
            let variants = self.successes.iter().map(|case| {
                let ty = case.success_type();
                case.variant(case.is_unit(), &ty)
            });
            enumeration(&self.success_enum, &about, variants)
        });
        let refusal = (self.refusals.len() > 1 && !self.shared).then(|| {
            let text = match self.refusal_enum.as_str() {
                "Problem" => "What operations commonly refuse with.".to_owned(),
                _ => format!("What `{}` refuses with.", self.operation),
            };
            let about = doc(&[text]);
            let variants = self
                .refusals
                .iter()
                .map(|case| case.variant(matches!(case.payload.writing, Writing::Empty), &case.payload.ty));
            enumeration(&self.refusal_enum, &about, variants)
        });
        quote!(#success #refusal)
    }
}

impl Case {
    fn success_status(&self) -> u16 {
        if self.status >= 400 { 200 } else { self.status }
    }

    fn success_type(&self) -> TokenStream {
        let ty = &self.payload.ty;
        if self.reply { quote!(Reply<#ty>) } else { quote!(#ty) }
    }

    /// Whether the variant holds anything.
    fn is_unit(&self) -> bool {
        matches!(self.payload.writing, Writing::Empty) && !self.reply
    }

    fn variant(&self, unit: bool, ty: &TokenStream) -> TokenStream {
        let text = if self.doc.is_empty() { format!("Status {}.", self.status) } else { markdown(&self.doc) };
        let about = doc(&[text]);
        let name = ident(&self.name);
        if unit { quote!(#about #name) } else { quote!(#about #name(#ty)) }
    }
}

fn enumeration(name: &str, about: &TokenStream, variants: impl Iterator<Item = TokenStream>) -> TokenStream {
    let name = ident(name);
    quote! {
        #about
        #[derive(Clone, Debug)]
        pub enum #name { #(#variants),* }
    }
}

impl Payload {
    /// `call.answer_…(status, media type, reply)`
    fn write(&self, status: u16, reply: &TokenStream) -> TokenStream {
        let status = Literal::u16_unsuffixed(status);
        let media_type = &self.media_type;
        match &self.writing {
            Writing::Empty => quote!(call.answer_empty(#status, #reply)),
            Writing::Model => quote!(call.answer_json(#status, #media_type, #reply)),
            Writing::Bytes => quote!(call.answer_bytes(#status, #media_type, #reply)),
            Writing::Value(validator) => {
                let validator = validator_option(validator.as_ref());
                quote!(call.answer_value(#status, #media_type, #reply, #validator))
            }
        }
    }
}
