//! Structs: their fields, how they are read and written.

use contract_runtime::Json;
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident};
use crate::{
    shape::{Field, Struct, TypeDef, TypeId, TypeRef},
    tables::number_tokens,
};

impl Emitter<'_> {
    pub(super) fn record(&self, id: TypeId, def: &TypeDef, body: &Struct) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let fields: Vec<&Field> = body.fields.iter().filter(|f| !f.omitted).collect();
        let declarations = fields.iter().map(|f| {
            let (field, docs) = (ident(&f.name), self.field_docs(&f.wire, &f.conj, f.describe, &f.ty));
            let ty = self.ty(&f.ty);
            let ty = if f.required { ty } else { quote!(Option<#ty>) };
            quote!(#docs pub #field: #ty,)
        });
        let rest = self.rest_type(body);
        let rest_docs = match body.additional {
            Some(_) => " The other members of the object.",
            None => " Members that the contract does not declare, kept as they came.",
        };
        let reading = self.reading(def, body);
        let writing = self.writing(def, body);
        let builder = self.builders.contains(&id).then(|| self.builder(def, body));
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name {
                #(#declarations)*
                #[doc = #rest_docs]
                pub extra: #rest,
            }
            #reading
            #writing
            #builder
        }
    }

    pub(super) fn rest_type(&self, body: &Struct) -> TokenStream {
        let value = self.ty(body.additional.as_ref().unwrap_or(&TypeRef::Json));
        quote!(Map<#value>)
    }

    fn reading(&self, def: &TypeDef, body: &Struct) -> TokenStream {
        let name = ident(&def.name);
        let expecting = format!("an object ({})", def.name);
        let slots = body.fields.iter().map(|f| {
            let slot = slot(body, f);
            quote!(let mut #slot = None;)
        });
        let arms = body.fields.iter().map(|f| {
            let wire = &f.wire;
            match (&f.constant, f.omitted) {
                (Some(constant), true) => {
                    let (slot, constant) = (slot(body, f), constant_tokens(constant));
                    quote!(#wire => read::constant(&mut map, &mut #slot, #wire, &#constant),)
                }
                _ => {
                    let slot = slot(body, f);
                    quote!(#wire => read::field(&mut map, &mut #slot, #wire),)
                }
            }
        });
        let values = body.fields.iter().filter(|f| !f.omitted).map(|f| {
            let (field, slot) = (ident(&f.name), slot(body, f));
            if field == slot { quote!(#field,) } else { quote!(#field: #slot,) }
        });
        // One way out for all: each of its own would drop everything that was read before it.
        let (due, names): (Vec<_>, Vec<_>) =
            body.fields.iter().filter(|f| f.required).map(|f| (slot(body, f), &f.wire)).unzip();
        let due = match (due.as_slice(), names.as_slice()) {
            ([], _) => None,
            ([slot], [name]) => Some(match body.fields.iter().any(|f| f.required && f.omitted) {
                true => quote!(read::required(#slot, #name)?;),
                false => quote!(let #slot = read::required(#slot, #name)?;),
            }),
            _ => {
                let patterns = body.fields.iter().filter(|f| f.required).map(|f| {
                    let slot = slot(body, f);
                    if f.omitted { quote!(Some(())) } else { quote!(Some(#slot)) }
                });
                Some(quote! {
                    let due = [#((#names, #due.is_some())),*];
                    let (#(#patterns),*) = (#(#due),*) else {
                        return Err(read::missing(&due));
                    };
                })
            }
        };
        let other = match body.additional {
            Some(_) => quote!(read::other(&mut map, &mut extra, key)),
            None => quote!(read::extra(&mut map, &mut extra, key)),
        };
        quote! {
            impl<'de> FromMap<'de> for #name {
                const EXPECTING: &'static str = #expecting;

                fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
                    #(#slots)*
                    let mut extra = Map::new();
                    while let Some(key) = map.next_key::<Key<'de>>()? {
                        match key.as_str() {
                            #(#arms)*
                            _ => #other,
                        }?;
                    }
                    #due
                    Ok(Self { #(#values)* extra })
                }
            }
            ::contract_runtime::read_object!(#name);
        }
    }

    fn writing(&self, def: &TypeDef, body: &Struct) -> TokenStream {
        let name = ident(&def.name);
        // The tag first: readers that look for it need not buffer what stands before.
        let tags = body.fields.iter().filter(|f| f.omitted);
        let entries = tags.chain(body.fields.iter().filter(|f| !f.omitted)).map(|f| {
            let wire = &f.wire;
            match (&f.constant, f.omitted) {
                (Some(constant), true) => {
                    let constant = constant_tokens(constant);
                    quote!(members.entry(#wire, &#constant);)
                }
                _ => {
                    let field = ident(&f.name);
                    let call = if f.required { quote!(entry) } else { quote!(optional) };
                    quote!(members.#call(#wire, &self.#field);)
                }
            }
        });
        quote! {
            impl Serialize for #name {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    let mut members = read::Members::new(serializer)?;
                    #(#entries)*
                    members.rest(&self.extra);
                    members.end()
                }
            }
        }
    }

    /// What is undeclared in a struct and below.
    pub(super) fn report_record(&self, def: &TypeDef, body: &Struct) -> Option<TokenStream> {
        let mut parts = Vec::new();
        if body.additional.is_none() && !self.allows_others(def) {
            let patterns = self.member_patterns(def);
            parts.push(if patterns.is_empty() {
                quote!(found.members(at, &self.extra))
            } else {
                quote!(for name in self.extra.keys() {
                    if !(#(schemas::#patterns.is_match(name))||*) {
                        found.member(at, name);
                    }
                })
            });
        } else if let Some(ty) = &body.additional
            && let Some(report) = self.report_at(ty, &quote!(value), &quote!(value), &quote!(&at.key(name)))
        {
            parts.push(quote!(for (name, value) in self.extra.iter() { #report; }));
        }
        for f in body.fields.iter().filter(|f| !f.omitted) {
            let (field, wire) = (ident(&f.name), &f.wire);
            let at = quote!(&at.key(#wire));
            if f.required {
                parts.extend(self.report_at(&f.ty, &quote!(self.#field), &quote!(&self.#field), &at));
            } else {
                let (ty, pattern) = match &f.ty {
                    TypeRef::Nullable(inner) => (&**inner, quote!(Some(Nullable::Value(value)))),
                    ty => (ty, quote!(Some(value))),
                };
                if let Some(report) = self.report_at(ty, &quote!(value), &quote!(value), &at) {
                    parts.push(quote!(if let #pattern = &self.#field { #report; }));
                }
            }
        }
        (!parts.is_empty()).then(|| quote!(#(#parts;)*))
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

    fn member_patterns(&self, def: &TypeDef) -> Vec<proc_macro2::Ident> {
        let facts = self.facts(&def.conj);
        let sources = facts.members.iter().flat_map(|&m| &self.graph.schema(m).pattern_properties);
        let mut names: Vec<_> = sources.filter_map(|(p, _)| self.tables.pattern(p)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The variable that a field is read into; `map`, `key` and `due` are the reader's own.
fn slot(body: &Struct, f: &Field) -> proc_macro2::Ident {
    if !matches!(f.name.as_str(), "map" | "key" | "due") {
        return ident(&f.name);
    }
    let mut name = format!("{}_slot", f.name);
    while body.fields.iter().any(|other| other.name == name) {
        name.push('_');
    }
    ident(&name)
}

/// A constant as Rust writes it.
pub(super) fn constant_tokens(constant: &Json) -> TokenStream {
    match constant {
        Json::Bool(b) => quote!(#b),
        Json::String(s) => quote!(#s),
        Json::Number(n) => match n.as_i64() {
            Some(n) => quote!(#n),
            None => number_tokens(n),
        },
        _ => quote!(()),
    }
}
