//! Properties: declared, required, by pattern, undeclared.

use super::{
    finding::{Comparer, Facet, Pair, place},
    flat::{Closing, Flat},
    rules::{self, Rule},
    subject::{Step, Subject, Use},
};
use crate::{
    schema::{SchemaId, Types, keywords::Keyword},
    tree::{Place, escape},
};

const CLOSING: &[Keyword] = &[
    Keyword::AdditionalProperties,
    Keyword::UnevaluatedProperties,
    Keyword::Properties,
    Keyword::PatternProperties,
];

const MEMBERS: &[Keyword] = &[Keyword::Properties, Keyword::PatternProperties, Keyword::AdditionalProperties];

impl<'g> Comparer<'g> {
    /// Compares two objects.
    pub(super) fn objects(&mut self, pair: &Pair<'g>) {
        let mut names = pair.old.declared();
        for name in pair.new.declared() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in &names {
            match (pair.old.declares(name), pair.new.declares(name)) {
                (true, true) => {
                    self.requirement(pair, name);
                    let (old, new) = (pair.old.applicable(name), pair.new.applicable(name));
                    let at = pair.at.step(Step::Member, &escape(name));
                    let idle = [&pair.old, &pair.new].map(|flat| flat.does_without(name, at.usage));
                    self.pair(&old, &new, &if idle == [true; 2] { at.harmless() } else { at });
                }
                (false, _) => self.added(pair, name),
                (true, false) => self.removed(pair, name),
            }
        }
        let undeclared = |flat: &Flat<'g>| {
            let all = flat.schemas().flat_map(|schema| &schema.required).map(String::as_str);
            all.filter(|name| !names.contains(name)).collect::<Vec<_>>()
        };
        let mut required = undeclared(&pair.old);
        for name in undeclared(&pair.new) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        required.sort_unstable();
        required.dedup();
        for name in required {
            self.requirement(pair, name);
        }
        self.patterned(pair);
        self.others(pair);
        let names =
            |flat: &Flat<'g>| flat.schemas().filter_map(|schema| schema.property_names).collect::<Vec<_>>();
        let (old, new) = (names(&pair.old), names(&pair.new));
        if !old.is_empty() || !new.is_empty() {
            // Names are strings, whatever is asked of them.
            self.pair(&old, &new, &pair.at.step(Step::Part, "{names}").within(Types::STRING));
        }
    }

    fn requirement(&mut self, pair: &Pair<'g>, name: &str) {
        let usage = pair.at.usage;
        let (old, new) = (pair.old.needs(name, usage), pair.new.needs(name, usage));
        let (rule, message) = match (old, new) {
            (false, true) => {
                // One direction asked for it alone, in the words of OpenAPI 3.0.
                let why = if pair.old.requires(name) { " whatever the direction" } else { "" };
                (rules::PROPERTY_REQUIRED, format!("`{name}` is required{why}"))
            }
            (true, false) => (rules::PROPERTY_OPTIONAL, format!("`{name}` may be missing")),
            _ => return,
        };
        let at = pair.at.step(Step::Member, &escape(name));
        let places = (own(&pair.old, name), own(&pair.new, name));
        self.asked(rule, pair, (name, &at), places, message);
    }

    /// A member that is asked for, or no longer is. Where `required` says so on both sides, the direction
    /// does, and no judge of values knows of directions.
    fn asked(
        &mut self,
        rule: &'static Rule,
        pair: &Pair<'g>,
        (name, at): (&str, &Subject),
        places: (Option<&Place>, Option<&Place>),
        message: String,
    ) {
        if pair.old.requires(name) == pair.new.requires(name) {
            self.note_at(rule, at, places, message);
        } else {
            self.set_at(rule, pair, at, places, message, Facet::of(&[Keyword::Required]));
        }
    }

    fn added(&mut self, pair: &Pair<'g>, name: &str) {
        let at = member(pair, name);
        let places = (place(&pair.old), own(&pair.new, name));
        let asked = pair.old.needs(name, at.usage);
        let is_asked = pair.new.needs(name, at.usage);
        // Some forms may take other values of it.
        let sometimes = pair.old.knows_sometimes(name) && demanded(&pair.new, name);
        if is_asked && !asked {
            let message = format!("`{name}` is new and required");
            self.asked(rules::PROPERTY_ADDED_REQUIRED, pair, (name, &at), places, message);
        } else if asked && !is_asked {
            self.requirement(pair, name);
        } else if pair.old.closed_for(name) {
            let message = format!("`{name}` is new where nothing undeclared was allowed");
            self.set_at(rules::PROPERTY_ADDED_CLOSED, pair, &at, places, message, Facet::of(CLOSING));
        } else if !sometimes {
            self.note_at(rules::PROPERTY_ADDED, &at, places, format!("`{name}` is new and optional"));
        }
        if sometimes {
            let message = format!("`{name}` is declared for all forms, was for some");
            let facet = Facet::of(MEMBERS);
            self.set_at(rules::PROPERTY_DECLARED_ALWAYS, pair, &at, places, message, facet);
        }
        // Names that were undeclared may have had a schema all the same.
        let before = self.described(&pair.old, name);
        if !before.is_empty() {
            let after = pair.new.applicable(name);
            self.pair(&before, &after, &at);
        }
    }

    fn removed(&mut self, pair: &Pair<'g>, name: &str) {
        let at = member(pair, name);
        let after = self.described(&pair.new, name);
        if !after.is_empty() {
            self.requirement(pair, name);
            let before = pair.old.applicable(name);
            self.pair(&before, &after, &at);
            return;
        }
        let places = (own(&pair.old, name), place(&pair.new));
        if pair.new.knows_sometimes(name) && demanded(&pair.old, name) {
            let message = format!("`{name}` is declared for some forms, was for all");
            let facet = Facet::of(MEMBERS);
            self.set_at(rules::PROPERTY_DECLARED_SOMETIMES, pair, &at, places, message, facet);
            return;
        }
        let before = Flat::of(pair.old.graph, &pair.old.applicable(name));
        if before.any(|schema| schema.deprecated) {
            self.note_at(
                rules::PROPERTY_RESERVED_REMOVED,
                &at,
                places,
                format!("the retired `{name}` is no longer declared"),
            );
        } else if pair.old.requires(name) {
            self.note_at(
                rules::PROPERTY_REMOVED_REQUIRED,
                &at,
                places,
                format!("`{name}`, which was required, is gone"),
            );
        } else {
            self.note_at(rules::PROPERTY_REMOVED, &at, places, format!("the optional `{name}` is gone"));
        }
    }

    /// What an undeclared name must satisfy, where that is more than being allowed or forbidden.
    fn described(&self, flat: &Flat<'g>, name: &str) -> Vec<SchemaId> {
        let mut ids = flat.applicable(name);
        ids.retain(|id| flat.restricts(*id));
        ids
    }

    fn patterned(&mut self, pair: &Pair<'g>) {
        let all = |flat: &Flat<'g>| {
            flat.schemas().flat_map(|schema| &schema.pattern_properties).collect::<Vec<_>>()
        };
        let (old, new) = (all(&pair.old), all(&pair.new));
        // A pattern of every text is about all names, as those of `others` are.
        let programs = &pair.old.graph.programs;
        let of_some = |(pattern, _): &&&(String, SchemaId)| !programs.matches_all(pattern);
        let mut patterns: Vec<(&String, &String)> = Vec::new();
        for (pattern, _) in old.iter().filter(of_some) {
            if !patterns.iter().any(|(known, _)| *known == pattern) {
                patterns.push((pattern, pattern));
            }
        }
        for (pattern, _) in new.iter().filter(of_some) {
            if patterns.iter().any(|(_, known)| *known == pattern) {
                continue;
            }
            // The same names in another spelling.
            let gone = |known: &String| !new.iter().any(|(other, _)| other == known);
            let same = |(known, _): &&mut (&String, &String)| gone(known) && programs.equal(known, pattern);
            match patterns.iter_mut().find(same) {
                Some((known, other)) => {
                    *other = pattern;
                    let message =
                        format!("the pattern of names is `{pattern}`, was `{known}`, which matches the same");
                    self.note_of(rules::PATTERN_REWRITTEN, pair, Keyword::PatternProperties, message);
                }
                None => patterns.push((pattern, pattern)),
            }
        }
        for (pattern, renamed) in patterns {
            // All patterns that match these names are asked for, wider ones too.
            let described = |all: &[&(String, SchemaId)], pattern: &str| {
                let holds = |(other, _): &&&(String, SchemaId)| programs.within(pattern, other);
                all.iter().filter(holds).map(|(_, id)| *id).collect::<Vec<_>>()
            };
            let (mut before, mut after) = (described(&old, pattern), described(&new, renamed));
            let at = pair.at.step(Step::Member, &format!("{{{pattern}}}"));
            let places = (place(&pair.old), place(&pair.new));
            if before.is_empty() && pair.old.closed() {
                let message = format!("names that match `{pattern}` are valid where nothing undeclared was");
                let facet = Facet::of(CLOSING);
                self.set_at(rules::PATTERN_PROPERTIES_ADDED, pair, &at, places, message, facet);
            } else if after.is_empty() && pair.new.closed() {
                let message = format!("names that match `{pattern}` are no longer valid");
                let facet = Facet::of(CLOSING);
                self.set_at(rules::PATTERN_PROPERTIES_REMOVED, pair, &at, places, message, facet);
            } else {
                // Or treats such names as any other.
                if before.is_empty() {
                    before = pair.old.additional();
                }
                if after.is_empty() {
                    after = pair.new.additional();
                }
                self.pair(&before, &after, &at);
            }
        }
    }

    fn others(&mut self, pair: &Pair<'g>) {
        match (pair.old.closed(), pair.new.closed()) {
            (false, true) => {
                self.set(
                    rules::OBJECT_CLOSED,
                    pair,
                    "undeclared properties are refused".to_owned(),
                    Facet::of(CLOSING),
                );
            }
            (true, false) => {
                self.set(
                    rules::OBJECT_OPENED,
                    pair,
                    "undeclared properties are valid".to_owned(),
                    Facet::of(CLOSING),
                );
            }
            (true, true) => self.reclosed(pair),
            (false, false) => {
                let (old, new) = (pair.old.additional(), pair.new.additional());
                if !old.is_empty() || !new.is_empty() {
                    self.pair(&old, &new, &pair.at.step(Step::Member, "{*}"));
                }
            }
        }
    }

    /// Who closes an object, and what they see: names that are declared elsewhere are none that they know.
    fn reclosed(&mut self, pair: &Pair<'g>) {
        let closings = |flat: &Flat<'g>, other: &Flat<'g>| {
            let mut all: Vec<Closing<'g>> = flat.closings().into_iter().collect();
            // A member that is always declared, and only here, came or went, as did a pattern.
            let is_own = |name: &str| flat.declares(name) && !other.offers(name);
            let matches = |flat: &Flat<'g>, pattern: &str| {
                flat.any(|schema| schema.pattern_properties.iter().any(|(known, _)| known == pattern))
            };
            for closing in &mut all {
                closing.names.retain(|name| !is_own(name));
                closing.patterns.retain(|pattern| !matches(flat, pattern) || matches(other, pattern));
            }
            all.sort();
            all.dedup();
            all
        };
        if closings(&pair.old, &pair.new) == closings(&pair.new, &pair.old) {
            return;
        }
        let facet = Facet::of(CLOSING);
        let verdict = self.verdict(pair, pair.at.usage, &facet);
        if verdict == Some(Ok(())) || verdict.is_none() && self.alike(pair) {
            return;
        }
        let (rule, message) = match pair.at.usage {
            Use::Read => {
                (rules::OBJECT_OPENED, "properties are valid that were undeclared where it is closed")
            }
            Use::Write => (rules::OBJECT_CLOSED, "properties are refused as undeclared where it is closed"),
        };
        self.set_by(rule, pair, message.to_owned(), &facet, verdict);
    }
}

/// Where a property stands.
fn own<'g>(flat: &Flat<'g>, name: &str) -> Option<&'g Place> {
    let declared = flat.schemas().flat_map(|schema| &schema.properties).find(|(other, _)| other == name);
    declared.map(|(_, id)| &flat.graph.schema(*id).place).or_else(|| place(flat))
}

/// A member; what nobody sends cannot be lost.
fn member(pair: &Pair<'_>, name: &str) -> Subject {
    let at = pair.at.step(Step::Member, &escape(name));
    let giving = if at.usage == Use::Write { &pair.old } else { &pair.new };
    if giving.does_without(name, at.usage) { at.harmless() } else { at }
}

/// Whether something is asked of a property, wherever it is declared.
fn demanded(flat: &Flat<'_>, name: &str) -> bool {
    flat.applicable(name).iter().any(|id| flat.demands(*id))
}
