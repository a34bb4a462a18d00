//! Builds the checks of strings, which may be values, property names or values of string enums.

use std::collections::BTreeSet;

use contract_runtime::Json;

use super::{
    CheckBuilder, TypedPlace,
    check::{
        Check::{self, Always, Never},
        CountOperand, StringOperand, ValueTest,
    },
    counts::length_bounds,
    is_contextual,
    scalars::{literal_list, types_allow},
};
use crate::{
    schema::{Schema, SchemaId, TypeSet},
    shape::{StringEnum, TypeId},
};

impl<'a> CheckBuilder<'a> {
    /// Builds a check that a string satisfies a schema.
    pub(super) fn string_keywords(
        &self,
        id: SchemaId,
        text: &StringOperand,
        chosen: &[SchemaId],
        depth: u8,
    ) -> Check {
        let s = self.graph_schema(id);
        match s.boolean {
            Some(true) => return Always,
            Some(false) => return Never,
            None => {}
        }
        if depth == 0 || is_contextual(s) {
            return ValueTest::StringTables(text.clone(), vec![id]).into();
        }
        let at = |id: SchemaId| self.string_keywords(id, text, chosen, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| at(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.text_assertions(s, text).and(parts).and(self.applicator_checks(s, chosen.contains(&id), &at))
    }

    /// Builds a check that a value of the string enum `of` satisfies a schema.
    pub(super) fn enum_keywords(
        &self,
        id: SchemaId,
        of: TypeId,
        list: &StringEnum,
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        // Listed values are validated while the code is generated; only an unknown value requires a test at
        // run time.
        let valid = |wire: &str| self.scope.tables.is_valid(id, &Json::String(wire.to_owned()));
        let (good, bad): (Vec<_>, Vec<_>) = list.values.iter().partition(|(wire, ..)| valid(wire));
        let text = |text: &StringOperand| self.string_keywords(id, text, &[], depth);
        let unknown = list.open.then(|| assume_unlisted(text(&StringOperand::Unlisted), list));
        let one_of = |values: &[&(String, String, Option<String>)]| {
            let names = values.iter().map(|(_, rust, _)| rust.clone()).collect();
            Check::from(ValueTest::Listed(at.place.clone(), of, names))
        };
        match (good.is_empty(), bad.is_empty(), unknown) {
            (_, true, None | Some(Always)) => Always,
            (true, _, None | Some(Never)) => Never,
            (_, true, Some(unknown)) => ValueTest::Unlisted(at.place.clone(), Box::new(unknown)).into(),
            (_, false, Some(Never)) => one_of(&good),
            (_, false, None) if good.len() <= bad.len() => one_of(&good),
            (_, false, None) => one_of(&bad).not(),
            // Both listed and unlisted values can be invalid, so the JSON string of the value is tested.
            (_, false, Some(_)) => text(&StringOperand::Listed(at.place.clone())),
        }
    }

    pub(super) fn text_assertions(&self, s: &Schema, text: &StringOperand) -> Check {
        let mut check = types_allow(s, TypeSet::STRING);
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
                _ => ValueTest::StringIn(text.clone(), values).into(),
            });
        }
        check = check.and(length_bounds(s.min_length, s.max_length, &CountOperand::Characters(text.clone())));
        if let Some(pattern) = s.pattern.as_ref().filter(|p| self.scope.tables.pattern_constant(p).is_some())
        {
            check = check.and(ValueTest::Matches(text.clone(), pattern.clone()).into());
        }
        if let Some(format) = s.asserted {
            check = check.and(ValueTest::Format(text.clone(), format).into());
        }
        if let Some(mapped) = self.scope.tables.mapped_format(s) {
            let (name, format) = (mapped.name.clone(), mapped.format.clone());
            check = check.and(ValueTest::MappedFormat(text.clone(), name, format).into());
        }
        check
    }
}

/// Simplifies the check of an open enum's unlisted value. Such a value differs from all listed values, so
/// comparisons with listed values are removed.
fn assume_unlisted(check: Check, list: &StringEnum) -> Check {
    match check {
        Check::Test(test) => match test {
            ValueTest::StringIn(StringOperand::Unlisted, values) => {
                let listed = |text: &String| list.values.iter().any(|(wire, ..)| wire == text);
                let left: Vec<String> = values.into_iter().filter(|text| !listed(text)).collect();
                if left.is_empty() {
                    Never
                } else {
                    ValueTest::StringIn(StringOperand::Unlisted, left).into()
                }
            }
            other => other.into(),
        },
        Check::All(all) => {
            Check::all(all.into_iter().map(|each| assume_unlisted(each, list)).collect::<Vec<_>>())
        }
        Check::Any(any) => any.into_iter().map(|each| assume_unlisted(each, list)).fold(Never, Check::or),
        Check::Not(inner) => assume_unlisted(*inner, list).not(),
        other => other,
    }
}
