//! Compares patterns and lengths of strings with the automata of the runtime.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use contract_codegen_core::{
    pattern::{
        PatternError,
        inclusion::{Inclusion, PatternLanguage, PatternProgram, check_inclusion},
    },
    schema::{SchemaId, keywords::Keyword},
};
use contract_runtime::Json;
use serde_json::json;

use super::{
    comparison::{Comparison, SchemaPair},
    enumerations::{escape_invisible, format_value},
    flattened::FlattenedSchema,
    proof::{VersionSide, build_validator},
    rules,
    verdicts::KeywordFacet,
};

const STRING_KEYWORDS: &[Keyword] = &[Keyword::Pattern, Keyword::MinLength, Keyword::MaxLength];

/// Returns true if all of the given keywords restrict only strings.
pub(super) fn are_string_keywords(keywords: &[Keyword]) -> bool {
    !keywords.is_empty() && keywords.iter().all(|keyword| STRING_KEYWORDS.contains(keyword))
}

/// The result of the check whether the other version accepts all strings that one version accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InclusionVerdict {
    /// All strings that one version accepts are valid in the other version.
    Holds,
    /// This string is not valid in the other version. It is one of the shortest counterexamples.
    Fails(String),
    /// The check is not possible for the given reason.
    Unknown(String),
}

/// A cache of two results for each pattern: the compiled program, and whether the pattern matches every string.
#[derive(Debug, Default)]
pub(super) struct PatternCache {
    compiled: RefCell<HashMap<String, Rc<Result<PatternProgram, PatternError>>>>,
    universal: RefCell<HashMap<String, bool>>,
}

impl PatternCache {
    fn compile(&self, pattern: &str) -> Rc<Result<PatternProgram, PatternError>> {
        if let Some(known) = self.compiled.borrow().get(pattern) {
            return Rc::clone(known);
        }
        let compiled = Rc::new(PatternProgram::compile(pattern));
        self.compiled.borrow_mut().insert(pattern.to_owned(), Rc::clone(&compiled));
        compiled
    }

    /// Returns true if a string matches a pattern (ECMA-262). The runtime evaluates the pattern as in
    /// generated code. If the runtime does not support the pattern, the crate `jsonschema` evaluates it. A
    /// pattern that neither of them supports matches no string.
    pub(super) fn matches_pattern(&self, pattern: &str, text: &str) -> bool {
        match self.compile(pattern).as_ref() {
            Ok(program) => program.is_match(text),
            Err(_) => {
                let judge = build_validator(&json!({ "pattern": pattern }));
                judge.is_some_and(|judge| judge.is_valid(&json!(text)))
            }
        }
    }

    /// Returns true if a pattern is proven to match every string.
    pub(super) fn matches_every_string(&self, pattern: &str) -> bool {
        if let Some(known) = self.universal.borrow().get(pattern) {
            return *known;
        }
        let any = |patterns| PatternLanguage { patterns, least: 0, most: None };
        let holds = match self.compile(pattern).as_ref() {
            // This check rules out most patterns, because they do not match the empty string.
            Ok(program) => {
                program.is_match("")
                    && check_inclusion(&any(Vec::new()), &any(vec![program])) == Inclusion::Holds
            }
            Err(_) => false,
        };
        self.universal.borrow_mut().insert(pattern.to_owned(), holds);
        holds
    }

    /// Decides whether all strings that match the patterns and lengths of `given` satisfy the given keywords
    /// of `accepting`.
    pub(super) fn decide_inclusion(
        &self,
        given: &FlattenedSchema<'_>,
        accepting: &FlattenedSchema<'_>,
        keywords: &[Keyword],
    ) -> InclusionVerdict {
        fn patterns<'g>(flat: &FlattenedSchema<'g>) -> Vec<&'g str> {
            flat.distinct_strings(|schema| schema.pattern.as_ref())
        }
        let own = patterns(given);
        let mut required =
            if keywords.contains(&Keyword::Pattern) { patterns(accepting) } else { Vec::new() };
        // Patterns that both versions require are satisfied.
        required.retain(|pattern| !own.contains(pattern));
        let bounds = |flat: &FlattenedSchema<'_>| {
            (flat.max_lower_limit(|s| s.min_length).unwrap_or(0), flat.min_upper_limit(|s| s.max_length))
        };
        let (least, most) = bounds(given);
        let (mut shortest, mut longest) = (0, None);
        if keywords.contains(&Keyword::MinLength) || keywords.contains(&Keyword::MaxLength) {
            (shortest, longest) = bounds(accepting);
        }
        self.compare_constraints((&own, least, most), (&required, shortest, longest))
    }

    /// Returns true if two patterns are proven to match the same strings.
    pub(super) fn are_equal_patterns(&self, one: &str, other: &str) -> bool {
        self.is_included(one, other) && self.is_included(other, one)
    }

    /// Returns true if the pattern `wide` is proven to match every string that `narrow` matches.
    pub(super) fn is_included(&self, narrow: &str, wide: &str) -> bool {
        let compare = || self.compare_constraints((&[narrow], 0, None), (&[wide], 0, None));
        narrow == wide || compare() == InclusionVerdict::Holds
    }

    fn compare_constraints(
        &self,
        (own, least, most): (&[&str], u64, Option<u64>),
        (required, shortest, longest): (&[&str], u64, Option<u64>),
    ) -> InclusionVerdict {
        let (own, required) = (own.iter(), required.iter());
        let own: Vec<_> = own.map(|pattern| (*pattern, self.compile(pattern))).collect();
        let required: Vec<_> = required.map(|pattern| (*pattern, self.compile(pattern))).collect();
        let mut unread = None;
        let mut programs = |all: &[(&str, Rc<Result<PatternProgram, PatternError>>)]| {
            let read = |(pattern, program): &(&str, Rc<Result<PatternProgram, PatternError>>)| match program
                .as_ref()
            {
                Ok(program) => Some(program.clone()),
                Err(error) => {
                    unread.get_or_insert_with(|| {
                        format!("{} cannot be compared: {}", quote_pattern(pattern), error.reason)
                    });
                    None
                }
            };
            all.iter().filter_map(read).collect::<Vec<_>>()
        };
        let (own, required) = (programs(&own), programs(&required));
        let given = PatternLanguage { patterns: own.iter().collect(), least, most };
        let accepting =
            PatternLanguage { patterns: required.iter().collect(), least: shortest, most: longest };
        match (check_inclusion(&given, &accepting), unread) {
            (_, Some(reason)) => InclusionVerdict::Unknown(reason),
            (Inclusion::Holds, None) => InclusionVerdict::Holds,
            (Inclusion::Fails(text), None) => InclusionVerdict::Fails(text),
            (Inclusion::TooLarge, None) => InclusionVerdict::Unknown("the automata are too large".to_owned()),
        }
    }
}

/// A comparer for the patterns of a pair of schemas.
pub(super) struct PatternComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    pair: &'c SchemaPair<'g>,
}

impl<'c, 'g> PatternComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, pair: &'c SchemaPair<'g>) -> Self {
        Self { comparison, pair }
    }

    pub(super) fn compare_patterns(&mut self) {
        let pair = self.pair;
        let pick = |flat: &FlattenedSchema<'g>| flat.distinct_strings(|schema| schema.pattern.as_ref());
        let (old, new) = (pick(&pair.old), pick(&pair.new));
        let removed: Vec<&str> = old.iter().filter(|pattern| !new.contains(pattern)).copied().collect();
        let added: Vec<&str> = new.iter().filter(|pattern| !old.contains(pattern)).copied().collect();
        if removed.is_empty() && added.is_empty() {
            return;
        }
        let all = |patterns: &[&str]| {
            patterns.iter().map(|one| quote_pattern(one)).collect::<Vec<_>>().join(" and ")
        };
        let mut message = match (removed.is_empty(), added.is_empty()) {
            (true, _) => format!("strings must match {}", all(&added)),
            (_, true) => format!("strings need not match {}", all(&removed)),
            _ => format!("the pattern changed from {} to {}", all(&removed), all(&added)),
        };
        let narrowed = self.comparison.prover(pair.site.value_use).decide_strings(
            &pair.old,
            &pair.new,
            &[Keyword::Pattern],
        );
        let widened = self.comparison.prover(pair.site.value_use).decide_strings(
            &pair.new,
            &pair.old,
            &[Keyword::Pattern],
        );
        let mut tries = Vec::new();
        let (before, after) = ((VersionSide::Old, &pair.old_ids), (VersionSide::New, &pair.new_ids));
        for (decided, words, giving, refusing) in
            [(&widened, "is now valid", after, before), (&narrowed, "is no longer valid", before, after)]
        {
            match decided {
                InclusionVerdict::Fails(text) => {
                    let value = Json::String(text.clone());
                    let valid = |(side, ids): (VersionSide, &[SchemaId])| {
                        self.comparison.prover(pair.site.value_use).accepts_value(side, ids, &value)
                    };
                    // Another keyword may refuse the string in both versions.
                    if valid((giving.0, giving.1)) && !valid((refusing.0, refusing.1)) {
                        message.push_str(&format!("; {} {words}", format_value(&value)));
                    }
                    tries.push(value);
                }
                InclusionVerdict::Unknown(reason) => {
                    // A sample value may decide the question nevertheless.
                    message.push_str(&format!(
                        "; the patterns do not decide whether any string {words}, because {reason}"
                    ));
                }
                InclusionVerdict::Holds => {}
            }
        }
        let rule = match (&narrowed, &widened) {
            (InclusionVerdict::Holds, InclusionVerdict::Holds) => {
                let bounded = |flat: &FlattenedSchema<'g>| {
                    flat.any_schema(|s| s.min_length.is_some() || s.max_length.is_some())
                };
                let everywhere = match (removed.as_slice(), added.as_slice()) {
                    _ if !bounded(&pair.old) && !bounded(&pair.new) => true,
                    ([was], [is]) => {
                        self.comparison.prover(pair.site.value_use).matches_same_strings(was, is)
                    }
                    _ => false,
                };
                message.push_str(", which matches the same strings");
                message.push_str(if everywhere { "" } else { " of valid length" });
                self.comparison.report_keyword_change(
                    rules::PATTERN_REWRITTEN,
                    pair,
                    Keyword::Pattern,
                    message,
                );
                return;
            }
            (InclusionVerdict::Holds, _) if added.is_empty() => rules::PATTERN_REMOVED,
            (_, InclusionVerdict::Holds) if removed.is_empty() => rules::PATTERN_ADDED,
            (InclusionVerdict::Holds, InclusionVerdict::Fails(_)) => rules::PATTERN_WIDENED,
            (InclusionVerdict::Fails(_), InclusionVerdict::Holds) => rules::PATTERN_NARROWED,
            _ => rules::PATTERN_CHANGED,
        };
        self.comparison.report_restriction(
            rule,
            pair,
            message,
            KeywordFacet::new(&[Keyword::Pattern]).with_candidates(tries),
        );
    }
}

fn quote_pattern(pattern: &str) -> String {
    format!("`{}`", escape_invisible(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern is compiled only once, regardless of the number of names and objects to which it is applied.
    #[test]
    fn patterns_are_compiled_once() {
        let programs = PatternCache::default();
        for (pattern, name, is_match, is_all) in [
            ("^x", "xa", true, false),
            ("^x", "ax", false, false),
            ("", "a", true, true),
            (".*", "", true, true),
        ] {
            assert_eq!(programs.matches_pattern(pattern, name), is_match, "{pattern} {name}");
            assert_eq!(programs.matches_every_string(pattern), is_all, "{pattern}");
        }
        assert_eq!((programs.compiled.borrow().len(), programs.universal.borrow().len()), (3, 3));
        assert!(Rc::ptr_eq(&programs.compile("^x"), &programs.compile("^x")));
    }
}
