//! Selection of the branch of a union to which an invalid value is closest. Its violations explain why the union
//! rejects the value.

use std::cmp::Reverse;

use super::Keyword;
use super::Schema;
use super::SchemaId;
use super::evaluate::Evaluation;
use super::evaluate::SchemaApplication;
use super::evaluated::EvaluatedSet;
use super::sink::ViolationSink;
use crate::Json;
use crate::violation::InstancePath;

/// The maximum number of references that `Evaluation::count_declared` follows.
const MAX_FOLLOWED_REFERENCES: u32 = 16;

/// The maximum number of missing members that [`ClosestBranch::Missing`] lists.
const MAX_MISSING: usize = 4;

/// The branch to which a value is closest.
pub(super) enum ClosestBranch {
    /// The branch, its index, and the effort of applying it.
    Branch { id: SchemaId, index: usize, effort: u64 },
    /// Several branches are equally close, and each requires a different member, which the value lacks.
    Missing(Vec<String>),
}

/// A compared branch.
struct Candidate {
    distance: Distance,
    id: SchemaId,
    index: usize,
    effort: u64,
    /// The only required member that the value lacks.
    missing: Option<String>,
}

/// The distance between a value and a branch; a smaller one is closer. Consists of the number of violations that
/// affect the form of the value, the number of its members that the branch declares, and the number of all
/// violations. Readers of generated code compare the forms of branches in the same order.
type Distance = (usize, Reverse<usize>, usize);

/// A sink that counts violations.
struct DistanceSink {
    /// The depth of the value.
    depth: usize,
    /// The number of violations of the value itself and of its members that affect their presence or type.
    misfits: usize,
    total: usize,
    /// The required members that the value lacks.
    missing: Vec<String>,
}

impl ViolationSink for DistanceSink {
    const COLLECTS: bool = true;
    const FINDS_CLOSEST: bool = false;

    fn record_violation(&mut self, path: &InstancePath<'_>, keyword: &'static str, _: &Schema<'_>) {
        self.total += 1;
        let is_form =
            matches!(keyword, "required" | "type" | "const" | "enum" | "additionalProperties" | "false");
        if !is_form || path.depth() > self.depth + 1 {
            return;
        }
        self.misfits += 1;
        if let (InstancePath::Key(_, name), "required") = (path, keyword) {
            self.missing.push((*name).to_owned());
        }
    }

    fn is_done(&self) -> bool {
        false
    }

    fn ignores_path(&self, _: &InstancePath<'_>) -> bool {
        false
    }
}

impl Evaluation<'_> {
    /// Returns the branch to which an invalid value is closest. `None` if several branches are equally close, or
    /// if a limit is exceeded. `tracks_evaluated` is true if the union is applied with an [`EvaluatedSet`].
    pub(super) fn find_closest(
        &mut self,
        at: &SchemaApplication<'_>,
        candidates: &[(usize, SchemaId)],
        tracks_evaluated: bool,
    ) -> Option<ClosestBranch> {
        // Comparisons have an effort of their own, so that they do not change the result of the validation.
        let effort = std::mem::replace(&mut self.effort, self.comparison_effort);
        let found = self.compare_branches(at, candidates, tracks_evaluated);
        self.comparison_effort = std::mem::replace(&mut self.effort, effort);
        // Nothing exceeded a limit before.
        if self.exceeded_limit.take().is_some() { None } else { found }
    }

    fn compare_branches(
        &mut self,
        at: &SchemaApplication<'_>,
        candidates: &[(usize, SchemaId)],
        tracks_evaluated: bool,
    ) -> Option<ClosestBranch> {
        let depth = at.path.depth();
        let mut compared = Vec::new();
        for &(index, id) in candidates {
            let before = self.effort;
            let mut sink = DistanceSink { depth, misfits: 0, total: 0, missing: Vec::new() };
            let mut own_evaluated = tracks_evaluated.then(|| EvaluatedSet::empty_for(at.value));
            self.apply_in_place(&mut sink, at, id, own_evaluated.as_mut());
            if self.is_exhausted() {
                return None;
            }
            let declared = self.count_declared(at, id, MAX_FOLLOWED_REFERENCES);
            let distance = (sink.misfits, Reverse(declared), sink.total);
            let effort = before.saturating_sub(self.effort);
            let missing = sink.missing.pop().filter(|_| sink.missing.is_empty());
            compared.push(Candidate { distance, id, index, effort, missing });
        }
        let least = compared.iter().map(|one| one.distance).min()?;
        compared.retain(|one| one.distance == least);
        if let [Candidate { id, index, effort, .. }] = compared.as_slice() {
            return Some(ClosestBranch::Branch { id: *id, index: *index, effort: *effort });
        }
        let mut missing: Vec<String> = Vec::new();
        for candidate in compared {
            let name = candidate.missing?;
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
        (missing.len() <= MAX_MISSING).then_some(ClosestBranch::Missing(missing))
    }

    /// Returns the number of the value's members that a schema declares. Follows at most `follow` nested
    /// references.
    fn count_declared(&self, at: &SchemaApplication<'_>, id: SchemaId, follow: u32) -> usize {
        let (Json::Object(members), Some(follow)) = (at.value, follow.checked_sub(1)) else { return 0 };
        let keywords = self.tables.schema(id).keywords.iter();
        keywords
            .map(|keyword| match keyword {
                Keyword::Properties(declared, _) => {
                    declared.iter().filter(|(name, _)| members.contains_key(name)).count()
                }
                Keyword::Ref(id) => self.count_declared(at, *id, follow),
                Keyword::AllOf(parts) => parts.iter().map(|id| self.count_declared(at, *id, follow)).sum(),
                _ => 0,
            })
            .sum()
    }
}
