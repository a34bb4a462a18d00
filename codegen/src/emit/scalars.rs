//! Enumerations of strings, and single values with rules of their own.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Emitter, docs::doc_lines, ident};
use crate::{
    checks::{Order, bounds, whole_limit},
    schema::Schema,
    shape::{Body, IntKind, StringEnum, TypeDef, TypeId, TypeRef, constants},
};

impl Emitter<'_> {
    pub(super) fn string_enum(&self, def: &TypeDef, list: &StringEnum) -> TokenStream {
        let docs = self.type_docs(def);
        let values = list.values.iter().map(|(wire, name, doc)| {
            let docs = doc_lines(doc.as_slice());
            (wire.as_str(), name.as_str(), docs)
        });
        string_enum(&def.name, &docs, list.open, values)
    }

    pub(super) fn newtype(&self, id: TypeId, def: &TypeDef, inner: &TypeRef) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let constants = self.constants(def, inner);
        let mut derives = self.derives(id);
        let (ordered, field, implementation) = match inner {
            TypeRef::Secret => (false, TypeRef::Secret, quote!(secret_newtype!(#name))),
            // The order of their texts is not the order of time: equality is the macro's too.
            TypeRef::String if self.is_moment(def) => {
                derives = quote!(Clone, Debug);
                (false, TypeRef::String, quote!(moment_newtype!(#name)))
            }
            TypeRef::String => (true, TypeRef::String, quote!(string_newtype!(#name))),
            TypeRef::Int(_) => {
                let int = self.ty(inner);
                (true, inner.clone(), quote!(int_newtype!(#name, #int)))
            }
            TypeRef::Number => (true, TypeRef::Number, quote!(number_newtype!(#name))),
            other => {
                let ty = self.ty(other);
                let nested = self.holds_members(other).then(|| quote!(, nested));
                let members = self.reads_members(other).then(|| quote!(, members));
                (false, other.clone(), quote!(wrapper!(#name, #ty #nested #members)))
            }
        };
        let scalar = matches!(field, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number);
        let visibility = if scalar { quote!(pub(super)) } else { quote!(pub) };
        let copy = def.is_copy().then(|| quote!(, Copy));
        let order = ordered.then(|| quote!(, PartialOrd, Ord));
        let field = self.ty(&field);
        let wider = self.wider(id, def);
        quote! {
            #docs
            #[derive(#derives #copy #order)]
            pub struct #name(#visibility #field);
            #constants
            ::contract_runtime::#implementation;
            #wider
        }
    }

    /// Whether a type can be read from the members of an object.
    fn reads_members(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Json | TypeRef::Map(_) => true,
            TypeRef::Boxed(inner) => self.reads_members(inner),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                Body::Struct(_) | Body::Tagged(_) => true,
                Body::Newtype(inner) => self.reads_members(inner),
                Body::ByKind(_) | Body::Enum(_) | Body::Pending => false,
            },
            _ => false,
        }
    }

    /// Whether a text is an RFC 3339 date-time (JSON Schema Validation, 7.3.1).
    fn is_moment(&self, def: &TypeDef) -> bool {
        let facts = self.facts(&def.conj);
        facts.members.iter().any(|&member| self.graph.schema(member).format.as_deref() == Some("date-time"))
    }

    /// The limits of a newtype as constants, for who lays out a form or cuts a text, and the values
    /// of a list of numbers that other tools name.
    fn constants(&self, def: &TypeDef, inner: &TypeRef) -> TokenStream {
        let facts = self.facts(&def.conj);
        let schemas: Vec<&Schema> = facts.members.iter().map(|&m| self.graph.schema(m)).collect();
        let mut constants = Vec::new();
        let mut constant = |name: &str, ty: TokenStream, value: Option<TokenStream>, doc: &str| {
            if let Some(value) = value {
                let name = ident(name);
                constants.push(quote!(#[doc = #doc] pub const #name: #ty = #value;));
            }
        };
        let size = |n: u64| {
            let n = Literal::u64_unsuffixed(n);
            quote!(#n)
        };
        match inner {
            TypeRef::String | TypeRef::Secret => {
                let min = schemas.iter().filter_map(|s| s.min_length).max();
                let max = schemas.iter().filter_map(|s| s.max_length).min();
                constant("MIN_LENGTH", quote!(usize), min.map(size), " The least number of characters.");
                constant("MAX_LENGTH", quote!(usize), max.map(size), " The greatest number of characters.");
            }
            TypeRef::Int(IntKind::I64) => {
                let whole = |n: i128| {
                    let n = Literal::i64_unsuffixed(i64::try_from(n).ok()?);
                    Some(quote!(#n))
                };
                let limits = |wanted: [Order; 2]| {
                    let all = schemas.iter().flat_map(|s| bounds(s));
                    let all = all.filter(move |(_, order)| wanted.contains(order));
                    all.filter_map(|(bound, order)| whole_limit(bound, order))
                };
                let min = limits([Order::AtLeast, Order::Above]).max();
                let max = limits([Order::AtMost, Order::Below]).min();
                constant("MIN", quote!(i64), min.and_then(whole), " The least value.");
                constant("MAX", quote!(i64), max.and_then(whole), " The greatest value.");
            }
            _ => {}
        }
        if matches!(inner, TypeRef::Int(_)) {
            constants.extend(self::constants(self.graph, &facts).into_iter().filter_map(|constant| {
                let number = constant.value.as_number()?;
                let literal = match inner {
                    TypeRef::Int(IntKind::U64) => Literal::u64_unsuffixed(number.as_u64()?),
                    _ => Literal::i64_unsuffixed(number.as_i64()?),
                };
                let paragraphs: Vec<String> =
                    constant.description.into_iter().chain([format!("`{number}`")]).collect();
                let (docs, name) = (doc_lines(&paragraphs), ident(&constant.name));
                Some(quote!(#docs pub const #name: Self = Self(#literal);))
            }));
        }
        if constants.is_empty() {
            return TokenStream::new();
        }
        let name = ident(&def.name);
        quote!(impl #name { #(#constants)* })
    }
}

/// A string enumeration: its values as they are on the wire, their names and documentation.
pub(crate) fn string_enum<'v>(
    name: &str,
    docs: &TokenStream,
    open: bool,
    values: impl Iterator<Item = (&'v str, &'v str, TokenStream)>,
) -> TokenStream {
    let (name, kind) = (ident(name), ident(if open { "open_enum" } else { "closed_enum" }));
    let variants = values.map(|(wire, variant, docs)| {
        let variant = ident(variant);
        quote!(#docs #variant = #wire,)
    });
    quote! {
        ::contract_runtime::#kind! {
            #docs
            pub enum #name {
                #(#variants)*
            }
        }
    }
}
