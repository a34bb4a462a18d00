//! Evaluation of `anyOf` and `oneOf`, and selection of the branch whose violations are reported.

use super::BranchSelector;
use super::Keyword;
use super::Literal;
use super::SchemaId;
use super::TagCertainty;
use super::TypeSet;
use super::closest_branch::ClosestBranch;
use super::evaluate::Evaluation;
use super::evaluate::SchemaApplication;
use super::evaluated::EvaluatedSet;
use super::limit_text::type_text;
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
                let open = |by| {
                    let all = branches.iter().copied().enumerate();
                    all.filter(|(_, id)| !refusing(&id, by)).collect::<Vec<_>>()
                };
                // Types are checked first, because an unknown value of an enumeration next to `null` has the
                // right type.
                let (by_type, by_value) = (open(MismatchLevel::Type), open(MismatchLevel::TypeOrValue));
                match (branches, by_type.as_slice(), by_value.as_slice()) {
                    ([id], ..) | (_, [(_, id)], _) | (_, _, [(_, id)]) => {
                        let _ = self.apply_in_place(sink, at, *id, evaluated);
                    }
                    (_, [], []) => self.report_type(sink, at, union, branches),
                    (_, _, []) => self.report_closest(sink, at, union, &by_type, evaluated),
                    _ => self.report_closest(sink, at, union, &by_value, evaluated),
                }
            }
        }
    }

    /// Records the violation of the union and the violations of the branch to which the value is closest, if there
    /// is one.
    fn report_closest<S: ViolationSink>(
        &mut self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        union: UnionKeyword,
        candidates: &[(usize, SchemaId)],
        evaluated: Option<&mut EvaluatedSet>,
    ) {
        let closest =
            if S::FINDS_CLOSEST { self.find_closest(at, candidates, evaluated.is_some()) } else { None };
        match closest {
            None => sink.record_violation(at.path, union.as_str(), at.schema),
            Some(ClosestBranch::Missing(names)) => {
                let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
                let limit = format!("{} is required", names.join(" or "));
                sink.record_with_limit(at.path, union.as_str(), at.schema, limit);
            }
            Some(ClosestBranch::Branch { id, index, effort }) => {
                let limit = format!("the closest is {}", self.branch_name(id, index));
                sink.record_with_limit(at.path, union.as_str(), at.schema, limit);
                // The comparison has shown that this effort suffices.
                let remaining = std::mem::replace(&mut self.effort, effort);
                self.apply_in_place(sink, at, id, evaluated);
                self.effort = remaining;
            }
        }
    }

    /// Records the violation of a union by a value that has none of the types of the branches.
    fn report_type<S: ViolationSink>(
        &self,
        sink: &mut S,
        at: &SchemaApplication<'_>,
        union: UnionKeyword,
        branches: &[SchemaId],
    ) {
        let types = branches.iter().map(|id| self.stated_types(*id, MAX_FOLLOWED_REFERENCES));
        let types = types.reduce(|all, types| Some(all?.union(types?)));
        match types.flatten() {
            None => sink.record_violation(at.path, union.as_str(), at.schema),
            Some(types) => {
                let limit = format!("must be {}", type_text(types));
                sink.record_with_limit(at.path, union.as_str(), at.schema, limit);
            }
        }
    }

    /// Returns the types in the `type` of a schema, or of the schemas that it includes. `None` if there is none.
    /// Follows at most `follow` nested references.
    fn stated_types(&self, id: SchemaId, follow: u32) -> Option<TypeSet> {
        let follow = follow.checked_sub(1)?;
        self.tables.schema(id).keywords.iter().find_map(|keyword| match keyword {
            Keyword::Type(types) => Some(*types),
            Keyword::Ref(id) => self.stated_types(*id, follow),
            Keyword::AllOf(parts) => parts.iter().find_map(|id| self.stated_types(*id, follow)),
            Keyword::AnyOf(branches, _) | Keyword::OneOf(branches, _) => {
                let types = branches.iter().map(|id| self.stated_types(*id, follow));
                types.reduce(|all, types| Some(all?.union(types?))).flatten()
            }
            _ => None,
        })
    }

    /// Returns the name of a branch for messages: the last part of its location, without the extension of a file, or
    /// else its number.
    fn branch_name(&self, mut id: SchemaId, index: usize) -> String {
        for _ in 0..MAX_FOLLOWED_REFERENCES {
            let [Keyword::Ref(target)] = self.tables.schema(id).keywords else { break };
            id = *target;
        }
        let location = self.tables.schema_location(self.tables.schema(id));
        let (resource, pointer) = location.split_once('#').unwrap_or((&location, ""));
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let name = match pointer {
            "" => last(resource).split('.').next().unwrap_or_default().to_owned(),
            pointer => last(pointer),
        };
        if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
            format!("alternative {}", index + 1)
        } else {
            format!("`{name}`")
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
