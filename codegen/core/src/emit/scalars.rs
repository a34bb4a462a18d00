//! Generates string enumerations, and newtypes of other values.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{ModelEmitter, docs::doc_lines, ident};
use crate::{
    checks::{ComparisonOperator, integer_limit, numeric_bounds},
    conjunction::SchemaFacts,
    schema::Schema,
    shape::{
        IntKind, IntegerVariant, StringEnum, TypeBody, TypeDef, TypeId, TypeRef, integer_constants,
        integer_variants,
    },
};

impl ModelEmitter<'_> {
    pub(super) fn string_enum_item(&self, def: &TypeDef, list: &StringEnum) -> TokenStream {
        let docs = self.type_docs(def);
        let values = list.values.iter().map(|(wire, name, doc)| {
            let docs = doc_lines(doc.as_slice());
            (wire.as_str(), name.as_str(), docs)
        });
        string_enum_macro(&def.name, &docs, list.open.then(|| self.prelude_item("Box")), values)
    }

    pub(super) fn newtype_item(&self, id: TypeId, def: &TypeDef, inner: &TypeRef) -> TokenStream {
        let name = ident(&def.name);
        let docs = self.type_docs(def);
        let constants = self.limit_constants(def, inner);
        if matches!(inner, TypeRef::Int(_))
            && let Some(variants) = integer_variants(self.graph, &self.facts_of(&def.conj), inner)
        {
            let int = self.type_tokens(inner);
            let wider = self.widening_conversions(id, def);
            let item = integer_enum_item(&name, &docs, &int, &variants);
            return quote!(#item #constants #wider);
        }
        let mut derives = self.derive_list(id);
        let (ordered, field, implementation) = match inner {
            TypeRef::Secret => (false, TypeRef::Secret, quote!(secret_newtype!(#name))),
            // A timestamp is not ordered, because the order of the strings is not chronological. The macro
            // implements equality by time.
            TypeRef::String if self.is_moment(def) => {
                derives = quote!(Clone, Debug);
                (false, TypeRef::String, quote!(timestamp_newtype!(#name)))
            }
            TypeRef::String => (true, TypeRef::String, quote!(string_newtype!(#name))),
            TypeRef::Int(_) => {
                let int = self.type_tokens(inner);
                (true, inner.clone(), quote!(int_newtype!(#name, #int)))
            }
            TypeRef::Number => (true, TypeRef::Number, quote!(number_newtype!(#name))),
            other => {
                let ty = self.type_tokens(other);
                let nested = self.holds_members(other).then(|| quote!(, nested));
                let members = self.reads_members(other).then(|| quote!(, members));
                (false, other.clone(), quote!(wrapper!(#name, #ty #nested #members)))
            }
        };
        let scalar = matches!(field, TypeRef::String | TypeRef::Secret | TypeRef::Int(_) | TypeRef::Number);
        let visibility = if scalar { quote!(pub(super)) } else { quote!(pub) };
        let copy = def.is_copy().then(|| quote!(, Copy));
        let order = ordered.then(|| quote!(, PartialOrd, Ord));
        let field = self.type_tokens(&field);
        let wider = self.widening_conversions(id, def);
        quote! {
            #docs
            #[derive(#derives #copy #order)]
            pub struct #name(#visibility #field);
            #constants
            ::contract_runtime::#implementation;
            #wider
        }
    }

    /// Returns true if a value of this type can be parsed from the properties of an object.
    fn reads_members(&self, ty: &TypeRef) -> bool {
        match ty {
            TypeRef::Json | TypeRef::Map(_) => true,
            TypeRef::Boxed(inner) => self.reads_members(inner),
            TypeRef::Named(id) => match &self.shapes.get(*id).body {
                TypeBody::Struct(_) | TypeBody::Objects(_) => true,
                TypeBody::Newtype(inner) => self.reads_members(inner),
                TypeBody::ByKind(_) | TypeBody::Enum(_) | TypeBody::Pending => false,
            },
            _ => false,
        }
    }

    /// Returns true if the values of the type are RFC 3339 date-times (JSON Schema Validation, 7.3.1).
    fn is_moment(&self, def: &TypeDef) -> bool {
        let facts = self.facts_of(&def.conj);
        facts
            .unconditional
            .iter()
            .any(|&member| self.graph.schema(member).format.as_deref() == Some("date-time"))
    }

    /// Generates the constants of a newtype: its limits, which callers need to lay out forms and to truncate
    /// values, and the named values of an integer enumeration.
    fn limit_constants(&self, def: &TypeDef, inner: &TypeRef) -> TokenStream {
        let facts = self.facts_of(&def.conj);
        let schemas: Vec<&Schema> = facts.unconditional.iter().map(|&m| self.graph.schema(m)).collect();
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
                constant(
                    "MIN_LENGTH",
                    quote!(usize),
                    min.map(size),
                    " The minimum length in characters (`minLength`).",
                );
                constant(
                    "MAX_LENGTH",
                    quote!(usize),
                    max.map(size),
                    " The maximum length in characters (`maxLength`).",
                );
            }
            // `u64` has no constants.
            TypeRef::Int(kind) if *kind != IntKind::U64 => {
                let whole = |n: i128| {
                    let n = Literal::i128_unsuffixed(Some(n).filter(|n| kind.contains(*n))?);
                    Some(quote!(#n))
                };
                let int = self.type_tokens(inner);
                let limits = |wanted: [ComparisonOperator; 2]| {
                    let all = schemas.iter().flat_map(|s| numeric_bounds(s));
                    let all = all.filter(move |(_, order)| wanted.contains(order));
                    all.filter_map(|(bound, order)| integer_limit(bound, order))
                };
                let min = limits([ComparisonOperator::AtLeast, ComparisonOperator::Above]).max();
                let max = limits([ComparisonOperator::AtMost, ComparisonOperator::Below]).min();
                constant("MIN", int.clone(), min.and_then(whole), " The minimum value.");
                constant("MAX", int, max.and_then(whole), " The maximum value.");
            }
            _ => {}
        }
        if matches!(inner, TypeRef::Int(_)) && integer_variants(self.graph, &facts, inner).is_none() {
            constants.extend(self.value_constants(inner, &facts));
        }
        if constants.is_empty() {
            return TokenStream::new();
        }
        let name = ident(&def.name);
        quote!(impl #name { #(#constants)* })
    }

    /// Generates a constant for each integer that the `enum` of a type lists, and the list `ALL` of them.
    fn value_constants(&self, inner: &TypeRef, facts: &SchemaFacts) -> Vec<TokenStream> {
        let rows = integer_constants(self.graph, facts).into_iter().filter_map(|constant| {
            let number = constant.value.as_number()?;
            let TypeRef::Int(kind) = inner else { return None };
            let literal = Literal::i128_unsuffixed(kind.value_of(number)?);
            let paragraphs: Vec<String> =
                constant.description.into_iter().chain([format!("`{number}`")]).collect();
            let (docs, name) = (doc_lines(&paragraphs), ident(&constant.name));
            Some((quote!(#docs pub const #name: Self = Self(#literal);), quote!(Self::#name)))
        });
        let (mut constants, names): (Vec<TokenStream>, Vec<TokenStream>) = rows.unzip();
        if names.len() > 1 {
            constants.push(quote! {
                #[doc = " All values that the contract lists."]
                pub const ALL: &[Self] = &[#(#names),*];
            });
        }
        constants
    }
}

/// Generates an integer enumeration. It keeps integers that the contract does not list.
fn integer_enum_item(
    name: &Ident,
    docs: &TokenStream,
    int: &TokenStream,
    variants: &[IntegerVariant],
) -> TokenStream {
    let rows = variants.iter().map(|variant| {
        let value = Literal::i128_unsuffixed(variant.value);
        let paragraphs: Vec<String> =
            variant.description.iter().cloned().chain([format!("`{value}`")]).collect();
        let (docs, variant) = (doc_lines(&paragraphs), ident(&variant.name));
        (quote!(#docs #variant,), quote!(#variant = #value))
    });
    let (declared, rows): (Vec<_>, Vec<_>) = rows.unzip();
    quote! {
        #docs
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum #name {
            #(#declared)*
            #[doc = " A value that this version of the contract does not list. Constructed by `from`,"]
            #[doc = " which never puts a listed value here."]
            #[non_exhaustive]
            Unknown(#int),
        }
        ::contract_runtime::int_enum! { #name: #int { values { #(#rows),* } } }
    }
}

/// Generates a string enumeration. Each of `values` has a JSON string, a variant name and documentation. The
/// enumeration keeps unknown values if `open` contains the path of `Box`, which the variant `Unknown` needs.
pub(crate) fn string_enum_macro<'v>(
    name: &str,
    docs: &TokenStream,
    open: Option<TokenStream>,
    values: impl Iterator<Item = (&'v str, &'v str, TokenStream)>,
) -> TokenStream {
    let (name, kind) = (ident(name), ident(if open.is_some() { "open_enum" } else { "closed_enum" }));
    let rows = values.map(|(wire, variant, docs)| {
        let (variant, doc) = (ident(variant), format!(" The value `{}`.", wire.escape_debug()));
        let blank = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
        (quote!(#docs #blank #[doc = #doc] #variant,), quote!(#variant = #wire))
    });
    let (declared, rows): (Vec<_>, Vec<_>) = rows.unzip();
    let copy = open.is_none().then(|| quote!(Copy,));
    let unknown = open.map(|boxed| {
        quote! {
            #[doc = " A value that this version of the contract does not list, as received. Constructed by `from`,"]
            #[doc = " which never puts a listed value here."]
            #[non_exhaustive]
            Unknown(#boxed<str>),
        }
    });
    quote! {
        #docs
        #[derive(Clone, #copy Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum #name {
            #(#declared)*
            #unknown
        }
        ::contract_runtime::#kind! { #name { values { #(#rows),* } } }
    }
}
