//! Evaluation of the keywords that apply to object members.

use super::Keyword;
use super::SchemaId;
use super::evaluate::Evaluation;
use super::evaluate::SchemaApplication;
use super::evaluated::EvaluatedSet;
use super::evaluated::position_bit;
use super::sink::ProbeSink;
use super::sink::ViolationSink;
use crate::Json;
use crate::Map;
use crate::pattern::Pattern;
use crate::text;

impl Evaluation<'_> {
    #[inline(never)]
    pub(super) fn apply_object_keyword<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        keyword: &Keyword<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        match keyword {
            Keyword::DependentRequired(entries) => {
                let mut valid = true;
                for (trigger, names) in *entries {
                    if members.get(trigger).is_some() {
                        valid &= self.check_required(sink, at, members, names, "dependentRequired");
                    }
                }
                valid
            }
            Keyword::DependentSchemas(entries) => {
                self.apply_dependent_schemas(sink, at, members, entries, evaluated)
            }
            Keyword::PatternProperties(patterns) => {
                self.apply_pattern_properties(sink, at, members, patterns, evaluated)
            }
            Keyword::AdditionalProperties { schema, declared, patterns } => {
                self.apply_additional_properties(sink, at, members, (*schema, declared, patterns), evaluated)
            }
            Keyword::PropertyNames(id) => self.apply_property_names(sink, at, members, *id),
            _ => true,
        }
    }

    pub(super) fn check_required<S: ViolationSink>(
        &self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        names: &[&str],
        keyword: &'static str,
    ) -> bool {
        let mut valid = true;
        for name in names {
            if members.get(name).is_none() {
                sink.record_violation(&at.path.key(name), keyword, at.schema);
                valid = false;
                if sink.is_done() {
                    break;
                }
            }
        }
        valid
    }

    fn apply_dependent_schemas<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        entries: &[(&str, SchemaId)],
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        for (trigger, id) in entries {
            let applies = members.get(trigger).is_some();
            if applies && !self.apply_in_place(sink, at, *id, evaluated.as_deref_mut()) {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        valid
    }

    /// Applies `properties`, and in the same pass checks which of them are required.
    #[inline(never)]
    pub(super) fn apply_properties<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        (declared, required): (&[(&str, SchemaId)], u64),
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        let mut due = required;
        let wide = declared.len() > 64;
        // Iterates over the shorter of the two lists.
        if declared.len() < members.len() {
            for (place, &(name, schema)) in declared.iter().enumerate() {
                let Some((index, member)) = members.get_full(name) else { continue };
                due &= !position_bit(place);
                valid &=
                    self.apply_property(sink, at, (index, name, member), schema, evaluated.as_deref_mut());
                if !valid && self.is_finished(sink) {
                    return false;
                }
            }
        } else {
            for (index, (name, member)) in members.iter().enumerate() {
                let Some((place, &(_, schema))) = find_by_name(declared, name, |(other, _)| other) else {
                    continue;
                };
                due &= !if wide { position_bit(place) } else { 1 << (place % 64) };
                valid &=
                    self.apply_property(sink, at, (index, name, member), schema, evaluated.as_deref_mut());
                if !valid && self.is_finished(sink) {
                    return false;
                }
            }
        }
        if due == 0 {
            return valid;
        }
        for (place, (name, _)) in declared.iter().enumerate() {
            if due & position_bit(place) != 0 {
                sink.record_violation(&at.path.key(name), "required", at.schema);
                if sink.is_done() {
                    break;
                }
            }
        }
        false
    }

    /// Applies the schema of a declared member and marks the member as evaluated.
    #[inline(always)]
    fn apply_property<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        (index, name, member): (usize, &str, &Json),
        schema: SchemaId,
        evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        if let Some(evaluated) = evaluated {
            evaluated.mark(index);
        }
        let schema = self.tables.schema(schema);
        match self.try_shallow::<S>(schema, member) {
            Some(valid) => valid,
            None => self.apply_full(sink, schema, (member, &at.path.key(name)), at.scope, None),
        }
    }

    fn apply_pattern_properties<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        patterns: &[(&Pattern<'_>, SchemaId)],
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        for (index, (name, member)) in members.iter().enumerate() {
            for (_, id) in patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                if let Some(evaluated) = evaluated.as_deref_mut() {
                    evaluated.mark(index);
                }
                if !self.apply_id(sink, *id, member, &at.path.key(name), at.scope, None) {
                    valid = false;
                    if self.is_finished(sink) {
                        return false;
                    }
                }
            }
        }
        valid
    }

    fn apply_additional_properties<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        (id, declared, patterns): (SchemaId, &[&str], &[&Pattern<'_>]),
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        let mut valid = true;
        let schema = self.tables.schema(id);
        for (index, (name, member)) in members.iter().enumerate() {
            let known = find_by_name(declared, name, |other| other).is_some()
                || patterns.iter().any(|pattern| pattern.is_match(name));
            if known {
                continue;
            }
            if let Some(evaluated) = evaluated.as_deref_mut() {
                evaluated.mark(index);
            }
            let place = at.path.key(name);
            if !self.apply_to_child(sink, at, schema, (member, &place), "additionalProperties") {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        valid
    }

    fn apply_property_names<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        id: SchemaId,
    ) -> bool {
        let mut valid = true;
        let mut value = Json::String(String::new());
        for (name, _) in members.iter() {
            let place = at.path.key(name);
            if let Json::String(text) = &mut value {
                text.clear();
                text.push_str(name);
            }
            if !self.apply_id(&mut ProbeSink, id, &value, &place, at.scope, None) {
                sink.record_violation(&place, "propertyNames", at.schema);
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        valid
    }

    #[inline(never)]
    pub(super) fn apply_unevaluated_properties<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        members: &Map<Json>,
        id: SchemaId,
        evaluated: &mut EvaluatedSet,
    ) -> bool {
        let mut valid = true;
        let schema = self.tables.schema(id);
        for (index, (name, member)) in members.iter().enumerate() {
            if evaluated.contains(index) {
                continue;
            }
            let place = at.path.key(name);
            if !self.apply_to_child(sink, at, schema, (member, &place), "unevaluatedProperties") {
                valid = false;
                if self.is_finished(sink) {
                    break;
                }
            }
        }
        evaluated.mark_all();
        valid
    }
}

/// The maximum number of names for which a linear search is used, because it is faster than a binary search.
const MAX_LINEAR_SEARCH: usize = 16;

/// Returns the position and the entry with this name in a list that is sorted by name.
#[inline]
fn find_by_name<'a, T>(entries: &'a [T], name: &str, name_of: impl Fn(&T) -> &str) -> Option<(usize, &'a T)> {
    if entries.len() <= MAX_LINEAR_SEARCH {
        for (place, entry) in entries.iter().enumerate() {
            if text::str_eq(name_of(entry), name) {
                return Some((place, entry));
            }
        }
        return None;
    }
    let place = entries.binary_search_by(|entry| name_of(entry).cmp(name)).ok()?;
    entries.get(place).map(|entry| (place, entry))
}
