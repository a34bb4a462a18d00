//! Builders: every member by name, checked as a whole when it is built.

use contract_runtime::Json;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::{
    Emitter, ident,
    records::{section, shown},
};
use crate::shape::{Body, Field, Struct, TypeDef, TypeRef};

impl Emitter<'_> {
    pub(super) fn builder(&self, def: &TypeDef, body: &Struct) -> TokenStream {
        let (name, builder) = (ident(&def.name), self.builder_name(def));
        let must = |f: &&Field| f.required && self.default_of(f).is_none();
        let required = section("required", shown(body).filter(must).map(|f| self.setter(body, f)));
        let optional = section("optional", shown(body).filter(|f| !f.required).map(|f| self.setter(body, f)));
        let constant = shown(body).filter_map(|f| {
            let (setter, value) = (self.setter(body, f), self.default_of(f)?);
            Some(quote!(#setter or #value))
        });
        let constant = section("constant", constant);
        let extra = body.additional.as_ref().map(|ty| {
            let ty = self.ty(ty);
            quote!(extra #ty)
        });
        quote! {
            ::contract_runtime::builder! {
                #name #builder { #required #optional #constant #extra }
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

    /// A field, its name on the wire, and how its setter takes the value.
    fn setter(&self, body: &Struct, f: &Field) -> TokenStream {
        let (field, wire, ty) = (ident(&f.name), &f.wire, self.ty(&f.ty));
        let kind = ident(match &f.ty {
            TypeRef::Vec(_) => "list",
            TypeRef::Boxed(_) => "boxed",
            _ => "one",
        });
        // `build` and `extra` are the builder's own.
        let method = (f.name == "build").then(|| {
            let mut method = "build_field".to_owned();
            while body.fields.iter().any(|other| other.name == method) {
                method.push_str("_field");
            }
            let method = ident(&method);
            quote!(as #method)
        });
        quote!(#field: #kind #ty #method = #wire)
    }

    /// The one value that a required member can have.
    fn default_of(&self, f: &Field) -> Option<TokenStream> {
        let constant = f.constant.as_ref().filter(|_| f.required)?;
        match (&f.ty, constant) {
            (TypeRef::String, Json::String(text)) => Some(quote!(#text.to_owned())),
            (TypeRef::Bool, Json::Bool(_)) | (TypeRef::Int(_), Json::Number(_)) => {
                Some(self.constant(constant))
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
