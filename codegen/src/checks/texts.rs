//! Checks of text: strings, names of members, string enumerations.

use std::collections::BTreeSet;

use contract_runtime::Json;

use super::{
    At, Checker,
    check::{
        Check::{self, Always, Never},
        Counted, Test, Text,
    },
    counts::length,
    is_contextual,
    scalars::{literal_list, types_allow},
};
use crate::{
    schema::{Schema, SchemaId, Types},
    shape::{StringEnum, TypeId},
};

impl<'a> Checker<'a> {
    /// A schema at a text.
    pub(super) fn string_keywords(&self, id: SchemaId, text: &Text, chosen: &[SchemaId], depth: u8) -> Check {
        let s = self.graph_schema(id);
        match s.boolean {
            Some(true) => return Always,
            Some(false) => return Never,
            None => {}
        }
        if depth == 0 || is_contextual(s) {
            return Test::TextTables(text.clone(), vec![id]).into();
        }
        let at = |id: SchemaId| self.string_keywords(id, text, chosen, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.text_assertions(s, text).and(parts).and(self.applicators(s, chosen.contains(&id), &at))
    }

    /// A schema at a value of a string enumeration.
    pub(super) fn enum_keywords(
        &self,
        id: SchemaId,
        of: TypeId,
        list: &StringEnum,
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        // Listed values are judged now; only an unknown one has to be looked at.
        let valid = |wire: &str| self.scope.tables.is_valid(id, &Json::String(wire.to_owned()));
        let (good, bad): (Vec<_>, Vec<_>) = list.values.iter().partition(|(wire, ..)| valid(wire));
        let text = |text: &Text| self.string_keywords(id, text, &[], depth);
        let unknown = list.open.then(|| beyond(text(&Text::Unlisted), list));
        let one_of = |values: &[&(String, String, Option<String>)]| {
            let names = values.iter().map(|(_, rust, _)| rust.clone()).collect();
            Check::from(Test::Listed(at.place.clone(), of, names))
        };
        match (good.is_empty(), bad.is_empty(), unknown) {
            (_, true, None | Some(Always)) => Always,
            (true, _, None | Some(Never)) => Never,
            (_, true, Some(unknown)) => Test::Unlisted(at.place.clone(), Box::new(unknown)).into(),
            (_, false, Some(Never)) => one_of(&good),
            (_, false, None) if good.len() <= bad.len() => one_of(&good),
            (_, false, None) => one_of(&bad).not(),
            // Listed or not, it is its text.
            (_, false, Some(_)) => text(&Text::Listed(at.place.clone())),
        }
    }

    pub(super) fn text_assertions(&self, s: &Schema, text: &Text) -> Check {
        let mut check = types_allow(s, Types::STRING);
        if let Some(list) = literal_list(s) {
            let mut seen = BTreeSet::new();
            let values: Vec<String> = list
                .iter()
                .filter_map(|v| v.as_str())
                .filter(|text| seen.insert(*text))
                .map(str::to_owned)
                .collect();
            check = check.and(match values.as_slice() {
                [] => Never,
                _ => Test::TextIn(text.clone(), values).into(),
            });
        }
        check = check.and(length(s.min_length, s.max_length, &Counted::Characters(text.clone())));
        if let Some(pattern) = s.pattern.as_ref().filter(|p| self.scope.tables.pattern(p).is_some()) {
            check = check.and(Test::Matches(text.clone(), pattern.clone()).into());
        }
        if let Some(format) = s.asserted {
            check = check.and(Test::Format(text.clone(), format).into());
        }
        if let Some(mapped) = self.scope.tables.mapped(s) {
            let (name, format) = (mapped.name.clone(), mapped.format.clone());
            check = check.and(Test::Parses(text.clone(), name, format).into());
        }
        check
    }
}

/// What is asked of a text that an enumeration does not list: it is none of those that are listed.
fn beyond(check: Check, list: &StringEnum) -> Check {
    match check {
        Check::Test(test) => match test {
            Test::TextIn(Text::Unlisted, values) => {
                let listed = |text: &String| list.values.iter().any(|(wire, ..)| wire == text);
                let left: Vec<String> = values.into_iter().filter(|text| !listed(text)).collect();
                if left.is_empty() { Never } else { Test::TextIn(Text::Unlisted, left).into() }
            }
            other => other.into(),
        },
        Check::All(all) => Check::all(all.into_iter().map(|each| beyond(each, list)).collect::<Vec<_>>()),
        Check::Any(any) => any.into_iter().map(|each| beyond(each, list)).fold(Never, Check::or),
        Check::Not(inner) => beyond(*inner, list).not(),
        other => other,
    }
}
