//! Checks of arrays, tuples, and objects without declared members.

use proc_macro2::{Ident, Literal};
use quote::quote;

use super::{
    Check::{self, Always, Either, When},
    Checker, Place, Text,
    counts::length,
    known_names,
    scalars::{literal_list, types_allow},
};
use crate::{
    schema::{Schema, SchemaId, Types},
    shape::TypeRef,
};

impl<'a> Checker<'a> {
    pub(super) fn vec_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a TypeRef,
        place: &Place<'a>,
        depth: u8,
    ) -> Check {
        let recv = &place.recv;
        let mut check = types_allow(s, Types::ARRAY);
        if literal_list(s).is_some() || s.contains.is_some() || !s.prefix_items.is_empty() {
            return check.and(self.by_tables(id, place));
        }
        check = check.and(length(s.min_items, s.max_items, recv));
        if s.unique_items {
            let by_ref = &place.by_ref;
            check = check.and(When(quote!(contract::all_distinct(#by_ref))));
        }
        if let Some(items) = s.items {
            let element = self.bound(inner, |value| self.schema(items, value, depth - 1));
            check = check.and(
                element.within(quote!(#recv.is_empty()), |test| quote!(#recv.iter().all(|value| #test))),
            );
        }
        check
    }

    pub(super) fn tuple_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a [TypeRef],
        place: &Place<'a>,
        depth: u8,
    ) -> Check {
        if literal_list(s).is_some() || s.contains.is_some() || s.unique_items {
            return self.by_tables(id, place);
        }
        let count = inner.len() as u64;
        let fits = s.min_items.is_none_or(|m| count >= m) && s.max_items.is_none_or(|m| count <= m);
        let recv = &place.recv;
        let elements = inner.iter().enumerate().map(|(i, ty)| {
            let index = Literal::usize_unsuffixed(i);
            let place = Place::field(ty, quote!(#recv.#index));
            match s.prefix_items.get(i).copied().or(s.items) {
                Some(schema) => self.schema(schema, &place, depth - 1),
                None => Always,
            }
        });
        let elements = Check::all(elements.collect::<Vec<_>>());
        types_allow(s, Types::ARRAY).and(Check::known(fits)).and(elements)
    }

    pub(super) fn map_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a TypeRef,
        place: &Place<'a>,
        depth: u8,
    ) -> Check {
        let recv = &place.recv;
        if literal_list(s).is_some() || !s.dependent_schemas.is_empty() {
            return self.by_tables(id, place);
        }
        let mut check = types_allow(s, Types::OBJECT).and(length(s.min_properties, s.max_properties, recv));
        for name in &s.required {
            check = check.and(When(quote!(#recv.contains_key(#name))));
        }
        for (name, needs) in &s.dependent_required {
            if !needs.is_empty() {
                check =
                    check.and(Either(quote!(!#recv.contains_key(#name) || #(#recv.contains_key(#needs))&&*)));
            }
        }
        let at = |id: SchemaId| self.bound(inner, |value| self.schema(id, value, depth - 1));
        for (name, property) in s.properties.iter().filter(|_| self.asks(s, "properties")) {
            check = check.and(at(*property).within(
                quote!(!#recv.contains_key(#name)),
                |test| quote!(#recv.get(#name).is_none_or(|value| #test)),
            ));
        }
        let constants: Vec<Ident> =
            s.pattern_properties.iter().filter_map(|(p, _)| self.emitter.tables.pattern(p)).collect();
        let patterns = s.pattern_properties.iter().zip(&constants);
        for ((_, schema), constant) in patterns.filter(|_| self.asks(s, "patternProperties")) {
            let never = quote!(!#recv.keys().any(|name| schemas::#constant.is_match(name)));
            check = check.and(at(*schema).within(
                never,
                |test| quote!(#recv.iter().all(|(name, value)| !schemas::#constant.is_match(name) || #test)),
            ));
        }
        if let Some(additional) = s.additional_properties {
            let declared: Vec<&String> = s.properties.iter().map(|(n, _)| n).collect();
            let known = known_names(&declared, &constants);
            let alone = declared.is_empty() && constants.is_empty();
            check = check.and(match at(additional).test() {
                Err(Always) => Always,
                Err(_) if alone => When(quote!(#recv.is_empty())),
                Err(_) => When(quote!(#recv.keys().all(|name| #known))),
                Ok(test) if alone => When(quote!(#recv.values().all(|value| #test))),
                Ok(test) => When(quote!(#recv.iter().all(|(name, value)| #known || #test))),
            });
        }
        if let Some(names) = s.property_names {
            let text = self.text_keywords(names, &Text::slice(quote!(name)), None, depth - 1);
            check = check
                .and(text.within(quote!(#recv.is_empty()), |test| quote!(#recv.keys().all(|name| #test))));
        }
        check
    }
}
