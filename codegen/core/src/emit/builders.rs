//! Generates builders, which have a setter for each field and check the value when it is built.

use contract_runtime::Json;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{
    ModelEmitter, ident,
    records::{macro_section, visible_fields},
};
use crate::{
    rust_types::RustTypes as _,
    shape::{IntKind, StructBody, StructField, TypeBody, TypeDef, TypeRef},
};

impl ModelEmitter<'_> {
    pub(super) fn builder_macro(&self, def: &TypeDef, body: &StructBody) -> TokenStream {
        let (name, builder) = (ident(&def.name), self.builder_name(def));
        let must = |f: &&StructField| f.required && self.default_of(f).is_none();
        let required =
            macro_section("required", visible_fields(body).filter(must).map(|f| self.setter_row(body, f)));
        let optional = macro_section(
            "optional",
            visible_fields(body).filter(|f| !f.required).map(|f| self.setter_row(body, f)),
        );
        let constant = visible_fields(body).filter_map(|f| {
            let (setter, value) = (self.setter_row(body, f), self.default_of(f)?);
            Some(quote!(#setter or #value))
        });
        let constant = macro_section("constant", constant);
        let extra = body.additional.as_ref().map(|ty| {
            let ty = self.type_tokens(ty);
            quote!(extra #ty)
        });
        quote! {
            ::contract_runtime::builder! {
                #name #builder { #required #optional #constant #extra }
            }
        }
    }

    /// Returns the name of a type's builder. It differs from the names of all types of the contract.
    fn builder_name(&self, def: &TypeDef) -> Ident {
        let mut name = format!("{}Builder", def.name);
        while self.shapes.types.iter().any(|other| other.name == name) {
            name.push_str("Of");
        }
        ident(&name)
    }

    /// Returns the row of a setter in the macro call: field, kind of argument, type and name in JSON.
    fn setter_row(&self, body: &StructBody, f: &StructField) -> TokenStream {
        let (field, wire, ty) = (ident(&f.name), &f.wire, self.place_type_tokens(&f.ty, &f.conj));
        let kind = ident(match self.list_argument(&f.ty) {
            Some(list) => list.keyword(),
            None if matches!(f.ty, TypeRef::Boxed(_)) => "boxed",
            None => "one",
        });
        // Every builder has a method `build`, so the setter of a field with this name has another name.
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

    /// Returns an expression for the constant of a required field. Returns `None` if the field is optional,
    /// or has no constant that can be written as an expression of its type.
    pub(super) fn default_of(&self, f: &StructField) -> Option<TokenStream> {
        let constant = f.constant.as_ref().filter(|_| f.required)?;
        match (&f.ty, constant) {
            (TypeRef::String, Json::String(text)) => Some(quote!(#text.into())),
            (TypeRef::Bool, Json::Bool(_)) | (TypeRef::Int(IntKind::I64), Json::Number(_)) => {
                Some(self.constant_expression(constant))
            }
            (TypeRef::Int(kind), Json::Number(number)) => {
                let value = Literal::i128_unsuffixed(kind.value_of(number)?);
                Some(quote!(#value))
            }
            (TypeRef::Named(id), Json::String(text)) => {
                let def = self.shapes.get(*id);
                let TypeBody::Enum(list) = &def.body else { return None };
                let (_, variant, _) = list.values.iter().find(|(wire, ..)| wire == text)?;
                let (ty, variant) = (self.type_tokens(&f.ty), ident(variant));
                Some(quote!(#ty::#variant))
            }
            _ => None,
        }
    }
}
