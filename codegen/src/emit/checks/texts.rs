//! Checks of text: strings, names of members, string enumerations.

use std::collections::BTreeSet;

use contract_runtime::Json;
use proc_macro2::Literal;
use quote::quote;

use super::{
    Check::{self, Always, Never, When},
    Checker, Place, Text, is_contextual,
    scalars::{literal_list, types_allow},
};
use crate::{
    emit::{ident, row_literal},
    schema::{Schema, SchemaId, Types},
    shape::{Body, TypeId},
};

/// More texts than this are looked up: a `match` of texts costs the compiler their square.
const MATCH_LIMIT: usize = 100;

impl<'a> Checker<'a> {
    pub(super) fn string_keywords(&self, id: SchemaId, text: &Text, chosen: &[SchemaId], depth: u8) -> Check {
        let s = self.graph_schema(id);
        match s.boolean {
            Some(true) => return Always,
            Some(false) => return Never,
            None => {}
        }
        if depth == 0 || is_contextual(s) {
            let (row, text) = (row_literal(self.emitter.tables.row_of(id)), &text.arg);
            return When(quote!(contract::holds(#text, schemas::validator(#row))));
        }
        let at = |id: SchemaId| self.string_keywords(id, text, chosen, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.text_assertions(s, text).and(parts).and(self.applicators(s, chosen.contains(&id), &at))
    }

    /// A schema at a text, or at a value of a string enumeration.
    pub(super) fn text_keywords(
        &self,
        id: SchemaId,
        text: &Text,
        of: Option<(TypeId, &Place<'a>)>,
        depth: u8,
    ) -> Check {
        let Some((type_id, place)) = of else {
            return self.string_keywords(id, text, &[], depth);
        };
        let def = self.emitter.shapes.get(type_id);
        let Body::Enum(list) = &def.body else { return self.by_tables(id, place) };
        // Listed values are judged now; only an unknown one has to be looked at.
        let name = self.emitter.mention(def);
        let valid = |wire: &str| self.emitter.tables.is_valid(id, &Json::String(wire.to_owned()));
        let (good, bad): (Vec<_>, Vec<_>) = list.values.iter().partition(|(wire, ..)| valid(wire));
        let unlisted = || {
            let listed = list.values.iter().map(|(wire, ..)| wire.clone()).collect();
            Text { is_none_of: listed, ..Text::slice(quote!(text)) }
        };
        let unknown = list.open.then(|| self.string_keywords(id, &unlisted(), &[], depth));
        let variants = |values: &[&(String, String, Option<String>)]| {
            let names: Vec<_> = values.iter().map(|(_, rust, _)| ident(rust)).collect();
            quote!(#(#name::#names)|*)
        };
        let on = &place.recv;
        match (good.is_empty(), bad.is_empty(), unknown) {
            (_, true, None | Some(Always)) => Always,
            (true, _, None | Some(Never)) => Never,
            (_, true, Some(unknown)) => {
                unknown.within(quote!(#on.is_known()), |test| quote!(#on.unknown().is_none_or(|text| #test)))
            }
            (_, false, None) => {
                let names = if good.len() <= bad.len() { variants(&good) } else { variants(&bad) };
                let on = &place.by_ref;
                let test = quote!(matches!(#on, #names));
                if good.len() <= bad.len() { When(test) } else { When(quote!(!#test)) }
            }
            (_, false, Some(Never)) => {
                let (names, on) = (variants(&good), &place.by_ref);
                When(quote!(matches!(#on, #names)))
            }
            (_, false, Some(unknown)) => {
                let known = self.string_keywords(id, &Text::slice(quote!(#on.as_str())), &[], depth);
                if matches!(unknown, Always) { known.and(unknown) } else { known }
            }
        }
    }

    pub(super) fn text_assertions(&self, s: &Schema, text: &Text) -> Check {
        let Text { recv, arg, matched, is_none_of } = text;
        let mut check = types_allow(s, Types::STRING);
        if let Some(list) = literal_list(s) {
            let mut seen = BTreeSet::new();
            let values: Vec<&str> =
                list.iter().filter_map(|v| v.as_str()).filter(|text| seen.insert(*text)).collect();
            let values: Vec<&str> = values.into_iter().filter(|text| !is_none_of.contains(*text)).collect();
            check = check.and(match values.as_slice() {
                [] => Never,
                [one] => When(quote!(#recv == #one)),
                many if many.len() > MATCH_LIMIT => {
                    let sorted = BTreeSet::from_iter(many);
                    When(quote!(contract::one_of(#matched, &[#(#sorted),*])))
                }
                several => When(quote!(matches!(#matched, #(#several)|*))),
            });
        }
        if let Some(min) = s.min_length.filter(|&m| m > 0) {
            check = check.and(When(if min == 1 {
                quote!(!#recv.is_empty())
            } else {
                let min = Literal::u64_unsuffixed(min);
                quote!(char_count_at_least(#arg, #min))
            }));
        }
        if let Some(max) = s.max_length {
            let max = Literal::u64_unsuffixed(max);
            check = check.and(When(quote!(char_count_at_most(#arg, #max))));
        }
        if let Some(pattern) = s.pattern.as_ref().and_then(|p| self.emitter.tables.pattern(p)) {
            check = check.and(When(quote!(schemas::#pattern.is_match(#arg))));
        }
        check
    }
}
