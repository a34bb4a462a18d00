//! Patterns and lengths of texts, decided by the runtime's own automata.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use contract_runtime::Json;
use serde_json::json;

use super::{
    enumerations::{short, visible},
    finding::{Comparer, Facet, Pair},
    flat::Flat,
    proof::{Side, validator},
    rules,
};
use crate::{
    pattern::{
        PatternError,
        inclusion::{Inclusion, Program, Texts, included},
    },
    schema::{SchemaId, keywords::Keyword},
};

const TEXTS: &[Keyword] = &[Keyword::Pattern, Keyword::MinLength, Keyword::MaxLength];

/// Whether keywords are about texts alone.
pub(super) fn about_texts(keywords: &[Keyword]) -> bool {
    !keywords.is_empty() && keywords.iter().all(|keyword| TEXTS.contains(keyword))
}

/// Whether the texts of one side pass the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    /// All of them do.
    Holds,
    /// This one does not, and none is shorter.
    Fails(String),
    /// Nobody knows, and why.
    Unknown(String),
}

/// Patterns that were compiled, and which of them every text matches.
#[derive(Debug, Default)]
pub(super) struct Programs {
    compiled: RefCell<HashMap<String, Rc<Result<Program, PatternError>>>>,
    of_all: RefCell<HashMap<String, bool>>,
}

impl Programs {
    fn of(&self, pattern: &str) -> Rc<Result<Program, PatternError>> {
        if let Some(known) = self.compiled.borrow().get(pattern) {
            return Rc::clone(known);
        }
        let compiled = Rc::new(Program::of(pattern));
        self.compiled.borrow_mut().insert(pattern.to_owned(), Rc::clone(&compiled));
        compiled
    }

    /// Whether a text matches a pattern (ECMA-262), as generated code reads it; one that it cannot run
    /// is read by `jsonschema`, and one that nobody reads matches nothing.
    pub(super) fn matches(&self, pattern: &str, text: &str) -> bool {
        match self.of(pattern).as_ref() {
            Ok(program) => program.is_match(text),
            Err(_) => {
                let judge = validator(&json!({ "pattern": pattern }));
                judge.is_some_and(|judge| judge.is_valid(&json!(text)))
            }
        }
    }

    /// Whether every text matches a pattern; `false` when nobody knows.
    pub(super) fn matches_all(&self, pattern: &str) -> bool {
        if let Some(known) = self.of_all.borrow().get(pattern) {
            return *known;
        }
        let any = |patterns| Texts { patterns, least: 0, most: None };
        let holds = match self.of(pattern).as_ref() {
            // Most do not match the empty one.
            Ok(program) => {
                program.is_match("") && included(&any(Vec::new()), &any(vec![program])) == Inclusion::Holds
            }
            Err(_) => false,
        };
        self.of_all.borrow_mut().insert(pattern.to_owned(), holds);
        holds
    }

    /// Whether all texts of one side pass some keywords of the other.
    pub(super) fn decide(&self, given: &Flat<'_>, taken: &Flat<'_>, keywords: &[Keyword]) -> Decided {
        fn patterns<'g>(flat: &Flat<'g>) -> Vec<&'g str> {
            flat.texts(|schema| schema.pattern.as_ref())
        }
        let own = patterns(given);
        let mut asked = if keywords.contains(&Keyword::Pattern) { patterns(taken) } else { Vec::new() };
        // What one side asks for word for word, the other side's texts have.
        asked.retain(|pattern| !own.contains(pattern));
        let bounds =
            |flat: &Flat<'_>| (flat.least(|s| s.min_length).unwrap_or(0), flat.most(|s| s.max_length));
        let (least, most) = bounds(given);
        let (mut shortest, mut longest) = (0, None);
        if keywords.contains(&Keyword::MinLength) || keywords.contains(&Keyword::MaxLength) {
            (shortest, longest) = bounds(taken);
        }
        self.compare((&own, least, most), (&asked, shortest, longest))
    }

    /// Whether two patterns take the same texts; `false` when nobody knows.
    pub(super) fn equal(&self, one: &str, other: &str) -> bool {
        self.within(one, other) && self.within(other, one)
    }

    /// Whether one pattern takes all texts of another; `false` when nobody knows.
    pub(super) fn within(&self, narrow: &str, wide: &str) -> bool {
        let compare = || self.compare((&[narrow], 0, None), (&[wide], 0, None));
        narrow == wide || compare() == Decided::Holds
    }

    fn compare(
        &self,
        (own, least, most): (&[&str], u64, Option<u64>),
        (asked, shortest, longest): (&[&str], u64, Option<u64>),
    ) -> Decided {
        let (own, asked) = (own.iter(), asked.iter());
        let own: Vec<_> = own.map(|pattern| (*pattern, self.of(pattern))).collect();
        let asked: Vec<_> = asked.map(|pattern| (*pattern, self.of(pattern))).collect();
        let mut unread = None;
        let mut programs = |all: &[(&str, Rc<Result<Program, PatternError>>)]| {
            let read = |(pattern, program): &(&str, Rc<Result<Program, PatternError>>)| match program.as_ref()
            {
                Ok(program) => Some(program.clone()),
                Err(error) => {
                    unread.get_or_insert_with(|| {
                        format!("{} cannot be compared: {}", quoted(pattern), error.reason)
                    });
                    None
                }
            };
            all.iter().filter_map(read).collect::<Vec<_>>()
        };
        let (own, asked) = (programs(&own), programs(&asked));
        let given = Texts { patterns: own.iter().collect(), least, most };
        let taken = Texts { patterns: asked.iter().collect(), least: shortest, most: longest };
        match (included(&given, &taken), unread) {
            (_, Some(reason)) => Decided::Unknown(reason),
            (Inclusion::Holds, None) => Decided::Holds,
            (Inclusion::Fails(text), None) => Decided::Fails(text),
            (Inclusion::TooLarge, None) => Decided::Unknown("the automata are too large".to_owned()),
        }
    }
}

impl<'g> Comparer<'g> {
    /// Compares what texts must match.
    pub(super) fn patterns(&mut self, pair: &Pair<'g>) {
        let pick = |flat: &Flat<'g>| flat.texts(|schema| schema.pattern.as_ref());
        let (old, new) = (pick(&pair.old), pick(&pair.new));
        let gone: Vec<&str> = old.iter().filter(|pattern| !new.contains(pattern)).copied().collect();
        let more: Vec<&str> = new.iter().filter(|pattern| !old.contains(pattern)).copied().collect();
        if gone.is_empty() && more.is_empty() {
            return;
        }
        let all =
            |patterns: &[&str]| patterns.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(" and ");
        let mut message = match (gone.is_empty(), more.is_empty()) {
            (true, _) => format!("the text must match {}", all(&more)),
            (_, true) => format!("the text need not match {}", all(&gone)),
            _ => format!("the pattern is {}, was {}", all(&more), all(&gone)),
        };
        let lost = self.prover(pair.at.usage).texts(&pair.old, &pair.new, &[Keyword::Pattern]);
        let gained = self.prover(pair.at.usage).texts(&pair.new, &pair.old, &[Keyword::Pattern]);
        let mut tries = Vec::new();
        let (before, after) = ((Side::Old, &pair.old_ids), (Side::New, &pair.new_ids));
        for (decided, words, giving, refusing) in
            [(&gained, "is valid now", after, before), (&lost, "no longer is", before, after)]
        {
            match decided {
                Decided::Fails(text) => {
                    let value = Json::String(text.clone());
                    let valid = |(side, ids): (Side, &[SchemaId])| {
                        self.prover(pair.at.usage).accepts(side, ids, &value)
                    };
                    // Something else may refuse it on both sides.
                    if valid((giving.0, giving.1)) && !valid((refusing.0, refusing.1)) {
                        message.push_str(&format!(", {} {words}", short(&value)));
                    }
                    tries.push(value);
                }
                Decided::Unknown(reason) => {
                    // A value may show it nevertheless.
                    message.push_str(&format!(
                        "; by the patterns alone it is not decided whether a text {words}, as {reason}"
                    ));
                }
                Decided::Holds => {}
            }
        }
        let rule = match (&lost, &gained) {
            (Decided::Holds, Decided::Holds) => {
                let bounded =
                    |flat: &Flat<'g>| flat.any(|s| s.min_length.is_some() || s.max_length.is_some());
                let everywhere = match (gone.as_slice(), more.as_slice()) {
                    _ if !bounded(&pair.old) && !bounded(&pair.new) => true,
                    ([was], [is]) => self.prover(pair.at.usage).same_texts(was, is),
                    _ => false,
                };
                message.push_str(", which matches the same texts");
                message.push_str(if everywhere { "" } else { " of the lengths that are valid" });
                self.note_of(rules::PATTERN_REWRITTEN, pair, Keyword::Pattern, message);
                return;
            }
            (Decided::Holds, _) if more.is_empty() => rules::PATTERN_REMOVED,
            (_, Decided::Holds) if gone.is_empty() => rules::PATTERN_ADDED,
            (Decided::Holds, Decided::Fails(_)) => rules::PATTERN_WIDENED,
            (Decided::Fails(_), Decided::Holds) => rules::PATTERN_NARROWED,
            _ => rules::PATTERN_CHANGED,
        };
        self.set(rule, pair, message, Facet::of(&[Keyword::Pattern]).tries(tries));
    }
}

fn quoted(pattern: &str) -> String {
    format!("`{}`", visible(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern is compiled once, however many names and objects it is asked about.
    #[test]
    fn patterns_are_compiled_once() {
        let programs = Programs::default();
        for (pattern, name, is_match, is_all) in [
            ("^x", "xa", true, false),
            ("^x", "ax", false, false),
            ("", "a", true, true),
            (".*", "", true, true),
        ] {
            assert_eq!(programs.matches(pattern, name), is_match, "{pattern} {name}");
            assert_eq!(programs.matches_all(pattern), is_all, "{pattern}");
        }
        assert_eq!((programs.compiled.borrow().len(), programs.of_all.borrow().len()), (3, 3));
        assert!(Rc::ptr_eq(&programs.of("^x"), &programs.of("^x")));
    }
}
