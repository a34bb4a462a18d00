//! Builders: every member by name, checked as a whole when it is built.

use contract_runtime::Json;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{Emitter, ident, records::constant_tokens};
use crate::shape::{Body, Field, Struct, TypeDef, TypeRef};

impl Emitter<'_> {
    pub(super) fn builder(&self, def: &TypeDef, body: &Struct) -> TokenStream {
        let name = ident(&def.name);
        let builder = self.builder_name(def);
        let fields: Vec<&Field> = body.fields.iter().filter(|f| !f.omitted).collect();
        let rest = self.rest_type(body);
        let declarations = fields.iter().map(|f| {
            let (field, ty) = (ident(&f.name), self.ty(&f.ty));
            quote!(#field: Option<#ty>,)
        });
        let setters = fields.iter().map(|f| self.setter(body, f));
        let doc = format!(" Builds a [`{}`]; [`build`](Self::build) checks it.", def.name);
        let start = format!(" Starts a builder: set the members, then [`build`]({}::build).", builder);
        let must: Vec<&&Field> =
            fields.iter().filter(|f| f.required && self.default_of(f).is_none()).collect();
        let must_wires = must.iter().map(|f| &f.wire);
        let must_names: Vec<_> = must.iter().map(|f| ident(&f.name)).collect();
        let values = fields.iter().map(|f| {
            let field = ident(&f.name);
            match self.default_of(f) {
                Some(text) if f.ty == TypeRef::String => {
                    quote!(#field: self.#field.unwrap_or_else(|| #text),)
                }
                Some(default) => quote!(#field: self.#field.unwrap_or(#default),),
                None if f.required => quote!(#field,),
                None => quote!(#field: self.#field,),
            }
        });
        // A setter of that name stands in the way.
        let begin = if fields.iter().any(|f| f.name == "default") {
            quote!(<#builder as Default>::default())
        } else {
            quote!(#builder::default())
        };
        let made = quote! {
            let value = #name { #(#values)* extra: self.extra };
            value.validate().map(|()| value)
        };
        let build = if must.is_empty() {
            made
        } else {
            quote! {
                let given = [#((#must_wires, self.#must_names.is_some())),*];
                let (#(Some(#must_names),)*) = (#(self.#must_names,)*) else {
                    return Err(contract::missing(#name::VALIDATOR, &given));
                };
                #made
            }
        };
        quote! {
            impl #name {
                #[doc = #start]
                pub fn builder() -> #builder {
                    #begin
                }
            }
            #[doc = #doc]
            #[derive(Clone, Debug, Default)]
            #[must_use = "a builder does nothing until it is built"]
            pub struct #builder {
                #(#declarations)*
                extra: #rest,
            }
            impl #builder {
                #(#setters)*

                /// Checks all rules of the contract and gives the value.
                ///
                /// # Errors
                /// Every member that is missing, or else every rule that is broken.
                pub fn build(self) -> Result<#name, Violations> {
                    #build
                }
            }
        }
    }

    /// A name that no type of the contract has.
    fn builder_name(&self, def: &TypeDef) -> Ident {
        let mut name = format!("{}Builder", def.name);
        while self.shapes.types.iter().any(|other| other.name == name) {
            name.push_str("Of");
        }
        ident(&name)
    }

    fn setter(&self, body: &Struct, f: &Field) -> TokenStream {
        let field = ident(&f.name);
        // `build` is the builder's own.
        let mut method = f.name.clone();
        while method == "build" || (method != f.name && body.fields.iter().any(|other| other.name == method))
        {
            method.push_str("_field");
        }
        let method = ident(&method);
        let docs = self.field_docs(&f.wire, &f.conj, f.describe, &f.ty);
        let ty = self.ty(&f.ty);
        let (parameter, value) = match &f.ty {
            TypeRef::Vec(inner) => {
                let inner = self.ty(inner);
                (
                    quote!(impl IntoIterator<Item = impl Into<#inner>>),
                    quote!(value.into_iter().map(Into::into).collect()),
                )
            }
            TypeRef::Boxed(inner) => {
                let inner = self.ty(inner);
                (quote!(impl Into<#inner>), quote!(Box::new(value.into())))
            }
            _ => (quote!(impl Into<#ty>), quote!(value.into())),
        };
        quote! {
            #docs
            pub fn #method(mut self, value: #parameter) -> Self {
                self.#field = Some(#value);
                self
            }
        }
    }

    /// The one value that a required member can have.
    fn default_of(&self, f: &Field) -> Option<TokenStream> {
        let constant = f.constant.as_ref().filter(|_| f.required)?;
        match (&f.ty, constant) {
            (TypeRef::String, Json::String(text)) => Some(quote!(#text.to_owned())),
            (TypeRef::Bool, Json::Bool(_)) | (TypeRef::Int(_), Json::Number(_)) => {
                Some(constant_tokens(constant))
            }
            (TypeRef::Named(id), Json::String(text)) => {
                let def = self.shapes.get(*id);
                let Body::Enum(list) = &def.body else { return None };
                let (_, variant, _) = list.values.iter().find(|(wire, ..)| wire == text)?;
                let (ty, variant) = (self.ty(&f.ty), ident(variant));
                Some(quote!(#ty::#variant))
            }
            _ => None,
        }
    }
}
