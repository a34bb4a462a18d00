//! The keywords that look into objects.

use super::Keyword;
use super::SchemaId;
use super::evaluate::At;
use super::evaluate::Run;
use super::seen::Seen;
use super::seen::bit;
use super::sink::Probe;
use super::sink::Sink;
use crate::Json;
use crate::Map;
use crate::pattern::Pattern;
use crate::text;

impl Run<'_> {
    #[inline(never)]
    pub(super) fn object<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        keyword: &Keyword<'_>,
        seen: Option<&mut Seen>,
    ) -> bool {
        match keyword {
            Keyword::DependentRequired(entries) => {
                let mut held = true;
                for (trigger, names) in *entries {
                    if members.get(trigger).is_some() {
                        held &= self.all_present(sink, at, members, names, "dependentRequired");
                    }
                }
                held
            }
            Keyword::DependentSchemas(entries) => self.dependent_schemas(sink, at, members, entries, seen),
            Keyword::PatternProperties(patterns) => {
                self.pattern_properties(sink, at, members, patterns, seen)
            }
            Keyword::AdditionalProperties { schema, declared, patterns } => {
                self.additional_properties(sink, at, members, (*schema, declared, patterns), seen)
            }
            Keyword::PropertyNames(id) => self.property_names(sink, at, members, *id),
            _ => true,
        }
    }

    pub(super) fn all_present<S: Sink>(
        &self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        names: &[&str],
        keyword: &'static str,
    ) -> bool {
        let mut held = true;
        for name in names {
            if members.get(name).is_none() {
                sink.record(&at.path.key(name), keyword, at.schema);
                held = false;
                if sink.done() {
                    break;
                }
            }
        }
        held
    }

    fn dependent_schemas<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        entries: &[(&str, SchemaId)],
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut held = true;
        for (trigger, id) in entries {
            let applies = members.get(trigger).is_some();
            if applies && !self.in_place(sink, at, *id, seen.as_deref_mut()) {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        held
    }

    /// `properties`, and which of them are required: those are met on the way.
    #[inline(never)]
    pub(super) fn properties<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        (declared, required): (&[(&str, SchemaId)], u64),
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut held = true;
        let mut due = required;
        let wide = declared.len() > 64;
        // By whichever of the two lists is shorter.
        if declared.len() < members.len() {
            for (place, &(name, schema)) in declared.iter().enumerate() {
                let Some((index, member)) = members.get_full(name) else { continue };
                due &= !bit(place);
                held &= self.declared(sink, at, (index, name, member), schema, seen.as_deref_mut());
                if !held && self.over(sink) {
                    return false;
                }
            }
        } else {
            for (index, (name, member)) in members.iter().enumerate() {
                let Some((place, &(_, schema))) = find(declared, name, |(other, _)| other) else { continue };
                due &= !if wide { bit(place) } else { 1 << (place % 64) };
                held &= self.declared(sink, at, (index, name, member), schema, seen.as_deref_mut());
                if !held && self.over(sink) {
                    return false;
                }
            }
        }
        if due == 0 {
            return held;
        }
        for (place, (name, _)) in declared.iter().enumerate() {
            if due & bit(place) != 0 {
                sink.record(&at.path.key(name), "required", at.schema);
                if sink.done() {
                    break;
                }
            }
        }
        false
    }

    /// Applies what is declared of a member, which is evaluated by that.
    #[inline(always)]
    fn declared<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        (index, name, member): (usize, &str, &Json),
        schema: SchemaId,
        seen: Option<&mut Seen>,
    ) -> bool {
        if let Some(seen) = seen {
            seen.mark(index);
        }
        let schema = self.tables.schema(schema);
        match self.plain::<S>(schema, member) {
            Some(held) => held,
            None => self.apply_row(sink, schema, (member, &at.path.key(name)), at.scope, None),
        }
    }

    fn pattern_properties<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        patterns: &[(&Pattern<'_>, SchemaId)],
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut held = true;
        for (index, (name, member)) in members.iter().enumerate() {
            for (_, id) in patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                if let Some(seen) = seen.as_deref_mut() {
                    seen.mark(index);
                }
                if !self.apply(sink, *id, member, &at.path.key(name), at.scope, None) {
                    held = false;
                    if self.over(sink) {
                        return false;
                    }
                }
            }
        }
        held
    }

    fn additional_properties<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        (id, declared, patterns): (SchemaId, &[&str], &[&Pattern<'_>]),
        mut seen: Option<&mut Seen>,
    ) -> bool {
        let mut held = true;
        let schema = self.tables.schema(id);
        for (index, (name, member)) in members.iter().enumerate() {
            let known = find(declared, name, |other| other).is_some()
                || patterns.iter().any(|pattern| pattern.is_match(name));
            if known {
                continue;
            }
            if let Some(seen) = seen.as_deref_mut() {
                seen.mark(index);
            }
            let place = at.path.key(name);
            if !self.below(sink, at, schema, (member, &place), "additionalProperties") {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        held
    }

    fn property_names<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        id: SchemaId,
    ) -> bool {
        let mut held = true;
        let mut value = Json::String(String::new());
        for (name, _) in members.iter() {
            let place = at.path.key(name);
            if let Json::String(text) = &mut value {
                text.clear();
                text.push_str(name);
            }
            if !self.apply(&mut Probe, id, &value, &place, at.scope, None) {
                sink.record(&place, "propertyNames", at.schema);
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        held
    }

    #[inline(never)]
    pub(super) fn unevaluated_properties<S: Sink>(
        &mut self,
        sink: &mut S,
        at: &At<'_>,
        members: &Map<Json>,
        id: SchemaId,
        seen: &mut Seen,
    ) -> bool {
        let mut held = true;
        let schema = self.tables.schema(id);
        for (index, (name, member)) in members.iter().enumerate() {
            if seen.has(index) {
                continue;
            }
            let place = at.path.key(name);
            if !self.below(sink, at, schema, (member, &place), "unevaluatedProperties") {
                held = false;
                if self.over(sink) {
                    break;
                }
            }
        }
        seen.mark_all();
        held
    }
}

/// So many names are found faster by comparing lengths than by bisecting.
const FEW: usize = 16;

/// The entry of that name in a list sorted by name, and its place.
#[inline]
fn find<'a, T>(entries: &'a [T], name: &str, name_of: impl Fn(&T) -> &str) -> Option<(usize, &'a T)> {
    if entries.len() <= FEW {
        for (place, entry) in entries.iter().enumerate() {
            if text::same(name_of(entry), name) {
                return Some((place, entry));
            }
        }
        return None;
    }
    let place = entries.binary_search_by(|entry| name_of(entry).cmp(name)).ok()?;
    entries.get(place).map(|entry| (place, entry))
}
