//! Evaluation of `anyOf` and `oneOf`, and selection of the branch whose violations are reported.

use super::BranchSelector;
use super::Keyword;
use super::Literal;
use super::SchemaId;
use super::TagCertainty;
use super::evaluate::Evaluation;
use super::evaluate::SchemaApplication;
use super::evaluated::EvaluatedSet;
use super::sink::ViolationSink;
use crate::Json;

/// The keyword that is being evaluated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnionKeyword {
    AnyOf,
    OneOf,
}

impl UnionKeyword {
    fn as_str(self) -> &'static str {
        match self {
            UnionKeyword::AnyOf => "anyOf",
            UnionKeyword::OneOf => "oneOf",
        }
    }
}

/// The criterion by which a branch rejects a value outright, that is, without inspecting its members or
/// elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MismatchLevel {
    /// The value has none of the types that `type`, `const` or `enum` permit.
    Type,
    /// Same as `Type`, or `const` or `enum` does not permit the value itself.
    TypeOrValue,
}

/// The maximum number of references that `Evaluation::rejects_outright` follows. A branch with more
/// references counts as possible.
const MAX_FOLLOWED_REFERENCES: u32 = 16;

type UnionBranches<'b> = (&'b [SchemaId], Option<&'b BranchSelector<'b>>);

impl Evaluation<'_> {
    #[inline(never)]
    pub(super) fn apply_union<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        union: UnionKeyword,
        (branches, choice): UnionBranches<'_>,
        mut evaluated: Option<&mut EvaluatedSet>,
    ) -> bool {
        // The result of a single branch is the result of the union. If violations are collected, this
        // shortcut is not used.
        if let ([only], false) = (branches, S::COLLECTS) {
            return self.apply_in_place(sink, at, *only, evaluated);
        }
        let proven = choice.filter(|choice| choice.certainty != TagCertainty::Hint);
        if let Some(branch) = proven.and_then(|choice| choice.select_branch(at.value, branches)) {
            return self.apply_in_place(sink, at, branch, evaluated);
        }
        let mut matches = 0;
        for id in branches {
            if self.probe_schema(at, *id, evaluated.as_deref_mut()) {
                matches += 1;
                let settled = match union {
                    // Every matching branch contributes evaluated parts (Core 10.2.1.2).
                    UnionKeyword::AnyOf => evaluated.is_none(),
                    UnionKeyword::OneOf => matches > 1,
                };
                if settled {
                    break;
                }
            }
        }
        let valid = match union {
            UnionKeyword::AnyOf => matches > 0,
            UnionKeyword::OneOf => matches == 1,
        };
        if !valid && S::COLLECTS && !self.is_exhausted() {
            if matches == 0 {
                self.report_mismatch(sink, at, union, (branches, choice), evaluated);
            } else {
                sink.record_violation(at.path, union.as_str(), at.schema);
            }
        }
        valid
    }

    /// Records the reason why no branch matched.
    #[cold]
    #[inline(never)]
    fn report_mismatch<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        union: UnionKeyword,
        (branches, choice): UnionBranches<'_>,
        mut evaluated: Option<&mut EvaluatedSet>,
    ) {
        if let Some(id) = choice.and_then(|choice| choice.select_branch(at.value, branches)) {
            let _ = self.apply_in_place(sink, at, id, evaluated.as_deref_mut());
        } else {
            self.report_without_tag(sink, at, union, (branches, choice), evaluated.as_deref_mut());
        }
        // The branch may have evaluated any of the members, so none of them is additionally reported as
        // unevaluated.
        if let Some(evaluated) = evaluated {
            evaluated.mark_all();
        }
    }

    /// Records the reason why no branch matched, if no tag selects a branch.
    fn report_without_tag<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        union: UnionKeyword,
        (branches, choice): UnionBranches<'_>,
        evaluated: Option<&mut EvaluatedSet>,
    ) {
        let refusing = |id: &&SchemaId, by| self.rejects_outright(at, **id, by, MAX_FOLLOWED_REFERENCES);
        let missing = |choice: &BranchSelector<'_>| {
            at.value.as_object().is_some_and(|all| !all.contains_key(choice.tag))
        };
        // A missing optional tag, or a tag that is only a hint, does not rule out any branch.
        let choice = choice.filter(|choice| match choice.certainty {
            TagCertainty::Required => true,
            TagCertainty::Present => !missing(choice),
            TagCertainty::Hint => false,
        });
        match (choice, at.value) {
            (Some(choice), Json::Object(_)) => {
                let keyword = if missing(choice) { "required" } else { union.as_str() };
                sink.record_violation(&at.path.key(choice.tag), keyword, at.schema);
            }
            (Some(_), _) => {
                let all_refuse = branches.iter().all(|id| refusing(&id, MismatchLevel::Type));
                sink.record_violation(at.path, if all_refuse { "type" } else { union.as_str() }, at.schema);
            }
            (None, _) => {
                let only = |by| {
                    let mut open = branches.iter().filter(|id| !refusing(id, by));
                    open.next().filter(|_| open.next().is_none())
                };
                let single = if let [single] = branches { Some(single) } else { None };
                // Types are checked first, because an unknown value of an enumeration next to `null` has the
                // right type.
                let meant =
                    single.or_else(|| only(MismatchLevel::Type)).or_else(|| only(MismatchLevel::TypeOrValue));
                match meant.copied() {
                    Some(id) => drop(self.apply_in_place(sink, at, id, evaluated)),
                    None => sink.record_violation(at.path, union.as_str(), at.schema),
                }
            }
        }
    }

    /// Returns true if the schema rejects this value by `type`, `const` or `enum`, regardless of the value's
    /// members or elements. Follows at most `follow` nested references.
    fn rejects_outright(
        &self,
        at: &SchemaApplication<'_>,
        id: SchemaId,
        by: MismatchLevel,
        follow: u32,
    ) -> bool {
        let Some(follow) = follow.checked_sub(1) else {
            return false;
        };
        let refuses = |id: SchemaId| self.rejects_outright(at, id, by, follow);
        self.tables.schema(id).keywords.iter().any(|keyword| match keyword {
            Keyword::False => true,
            Keyword::Type(types) => !types.contains(at.value),
            Keyword::Const(literal) => !by.allows_literal(literal, at.value),
            Keyword::Enum(literals) => !literals.iter().any(|one| by.allows_literal(one, at.value)),
            Keyword::Ref(id) => refuses(*id),
            Keyword::DynamicRef { anchor, initial } => {
                refuses(self.resolve_dynamic_ref(anchor, *initial, at.scope))
            }
            Keyword::AllOf(branches) => branches.iter().any(|id| refuses(*id)),
            Keyword::AnyOf(branches, _) | Keyword::OneOf(branches, _) => {
                branches.iter().all(|id| refuses(*id))
            }
            _ => false,
        })
    }
}

impl MismatchLevel {
    fn allows_literal(self, literal: &Literal<'_>, value: &Json) -> bool {
        match self {
            MismatchLevel::Type => literal.same_type(value),
            MismatchLevel::TypeOrValue => literal.equals(value),
        }
    }
}

impl BranchSelector<'_> {
    /// Returns the branch that the tag of the value selects.
    fn select_branch(&self, value: &Json, branches: &[SchemaId]) -> Option<SchemaId> {
        let Json::Object(members) = value else {
            return None;
        };
        let tag = members.get(self.tag)?;
        let (_, index) = self.branches.iter().find(|(literal, _)| literal.equals(tag))?;
        branches.get(*index).copied()
    }
}
