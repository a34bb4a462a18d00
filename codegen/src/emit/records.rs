//! Structs: their fields, how they are read and written.

use contract_runtime::Json;
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, Runtime, ident};
use crate::shape::{Field, Struct, TypeDef, TypeId, TypeRef};

impl Emitter<'_> {
    pub(super) fn record(&self, id: TypeId, def: &TypeDef, body: &Struct) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let derives = self.derives(id);
        let declarations = shown(body).map(|f| {
            let (field, docs) = (ident(&f.name), self.field_docs(f));
            let ty = self.ty(&f.ty);
            let ty = if f.required { ty } else { quote!(Option<#ty>) };
            quote!(#docs pub #field: #ty,)
        });
        let rest = self.rest_type(body);
        let rest_docs = match body.additional {
            Some(_) => " The other members of the object.",
            None => " Members that the contract does not declare, kept as they came.",
        };
        let members = self.members(def, body);
        let wider = self.wider(id, def);
        let builder = self.builders.contains(&id).then(|| self.builder(def, body));
        quote! {
            #docs
            #[derive(#derives)]
            pub struct #name {
                #(#declarations)*
                #[doc = #rest_docs]
                pub extra: #rest,
            }
            #members
            #wider
            #builder
        }
    }

    pub(super) fn rest_type(&self, body: &Struct) -> TokenStream {
        let value = self.ty(body.additional.as_ref().unwrap_or(&TypeRef::Json));
        self.import(Runtime::Map);
        quote!(Map<#value>)
    }

    /// How a struct is read and written, and where undeclared members may stand in it.
    fn members(&self, def: &TypeDef, body: &Struct) -> TokenStream {
        let name = ident(&def.name);
        let tags = body.fields.iter().filter(|f| f.omitted).map(|f| {
            let (slot, wire) = (ident(&f.name), &f.wire);
            let constant = f.constant.as_ref().map_or_else(|| quote!(()), |constant| self.constant(constant));
            quote!(#slot = #wire is #constant)
        });
        let row = |f: &Field| {
            let (field, wire) = (ident(&f.name), &f.wire);
            quote!(#field = #wire)
        };
        let tags = section("tag", tags);
        let required = section("required", shown(body).filter(|f| f.required).map(row));
        let optional = section("optional", shown(body).filter(|f| !f.required).map(row));
        let nested = section("nested", shown(body).filter(|f| self.holds_members(&f.ty)).map(row));
        let extra = self.extra(def, body);
        quote! {
            ::contract_runtime::object! {
                #name { #tags #required #optional #nested extra #extra }
            }
        }
    }

    /// What the members are that no field holds.
    fn extra(&self, def: &TypeDef, body: &Struct) -> TokenStream {
        match &body.additional {
            Some(ty) if self.holds_members(ty) => quote!(values),
            Some(_) => quote!(declared),
            None if self.allows_others(def) => quote!(declared),
            None => {
                let patterns = self.member_patterns(def);
                let unless = (!patterns.is_empty()).then(|| quote!(unless [#(schemas::#patterns),*]));
                quote!(undeclared #unless)
            }
        }
    }

    /// Whether the schema itself speaks of members that it does not name.
    fn allows_others(&self, def: &TypeDef) -> bool {
        self.facts(&def.conj).members.iter().any(|&m| {
            self.graph
                .schema(m)
                .additional_properties
                .is_some_and(|a| self.graph.schema(a).boolean != Some(false))
        })
    }

    /// A constant as Rust writes it.
    pub(super) fn constant(&self, constant: &Json) -> TokenStream {
        match constant {
            Json::Bool(b) => quote!(#b),
            Json::String(s) => quote!(#s),
            Json::Number(n) => match n.as_i64() {
                Some(n) => quote!(#n),
                None => self.number(n),
            },
            _ => quote!(()),
        }
    }

    fn member_patterns(&self, def: &TypeDef) -> Vec<proc_macro2::Ident> {
        let facts = self.facts(&def.conj);
        let sources = facts.members.iter().flat_map(|&m| &self.graph.schema(m).pattern_properties);
        let mut names: Vec<_> = sources.filter_map(|(p, _)| self.tables.pattern(p)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The fields that a struct has; tags have none.
pub(super) fn shown(body: &Struct) -> impl Iterator<Item = &Field> {
    body.fields.iter().filter(|f| !f.omitted)
}

/// A named list of a macro's call; nothing when it is empty.
pub(super) fn section(name: &str, rows: impl Iterator<Item = TokenStream>) -> Option<TokenStream> {
    let mut rows = rows.peekable();
    rows.peek()?;
    let name = ident(name);
    Some(quote!(#name { #(#rows),* }))
}
