//! Checks witnesses against whole values: the body, parameter or header that contains the changed schema.
//!
//! Rules compare schemas at inner locations, such as a property or a branch of a union. A value that only one
//! version accepts at such a location proves nothing if another branch of the receiving version accepts it.
//! Therefore, each witness is completed with surroundings that the sending version accepts, step by step up
//! to the whole value. It proves a break only if the receiving version rejects a completed value.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use contract_codegen_core::{
    conjunction::{SchemaConjunction, sample::SampleEffort},
    tree::unescape_token,
};
use contract_runtime::Json;

use super::{
    comparison::Comparison,
    findings::{BreakingPath, ComparedSchemas, ProofCorrection},
    paths::{PathEdge, PathStart},
    proof::VersionSide,
    site::{ComparisonSite, SiteStep, StepKind, ValueUse},
    verdicts::{GivenAndRefusing, SideSchemas},
};

/// The maximum number of values that each sample contributes to the surroundings of a location. Surroundings are values
/// of the enclosing schema into which a witness is inserted.
const MAX_SURROUNDINGS: usize = 24;
/// The maximum number of locations whose surroundings are sampled with [`SampleEffort::Thorough`]. Further locations
/// are sampled with [`SampleEffort::Quick`], which yields fewer surroundings.
const MAX_THOROUGH_NODES: usize = 32;
/// The maximum number of locations for which surroundings are generated. Witnesses at other locations lose their
/// proof if the whole value requires more than the witness.
const MAX_SAMPLED_NODES: usize = 512;
/// The maximum number of completed values that are kept at one location.
const MAX_COMPLETED: usize = 6;

/// A value that only one of the versions accepts.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub(super) value: Json,
    /// The site of the schemas for which the value was found.
    pub(super) site: ComparisonSite,
    /// The whole value that contains `value`, if it was checked.
    pub(super) whole: Option<Json>,
}

/// The result of a check against whole values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WholeVerdict {
    /// Only one version accepts this whole value.
    Confirmed(Json),
    /// Both versions accept the completed values, and the search finds no other value that only the sending
    /// version accepts.
    Refuted,
    /// No complete value was found, or both versions accept those that were found although other values may
    /// distinguish the versions.
    Undecided,
}

/// Values that contain a witness, and the path from a node to them. They are completed to values at the node.
struct CompletedValues {
    node: usize,
    steps: Vec<SiteStep>,
    values: Rc<Vec<Json>>,
    /// Whether the witness is certainly at the place for which it was found. In a condition or a property
    /// with an unknown name, it may have no effect.
    is_exact: bool,
}

/// The results that all checks of a comparison share, by node.
#[derive(Default)]
pub(super) struct WholeValueCache {
    surroundings: RefCell<HashMap<usize, Rc<Vec<Json>>>>,
    differences: RefCell<HashMap<usize, bool>>,
    uncovered: RefCell<HashMap<usize, bool>>,
}

/// A checker of witnesses.
pub(super) struct WholeValueChecker<'c, 'g> {
    comparison: &'c Comparison<'g>,
    cache: &'c WholeValueCache,
}

impl<'c, 'g> WholeValueChecker<'c, 'g> {
    pub(super) fn new(comparison: &'c Comparison<'g>) -> Self {
        Self { comparison, cache: comparison.whole_value_cache() }
    }

    /// Checks each breaking change that concerns accepted values, from the finding at the position `first` on.
    /// Returns the corrections of their levels and proofs.
    pub(super) fn find_corrections(&self, first: usize) -> Vec<ProofCorrection> {
        if self.comparison.enabled_prover(ValueUse::Read).is_none() {
            return Vec::new();
        }
        let paths = self.comparison.findings().breaking_paths().filter(|path| path.finding >= first);
        paths.filter_map(|path| self.check_path(&path)).collect()
    }

    fn check_path(&self, path: &BreakingPath<'_>) -> Option<ProofCorrection> {
        let BreakingPath { finding, edge, proof } = path;
        let (is_breaking, is_proven, whole) = match &proof.witness {
            // Validation tables cannot validate values that are sent as plain strings.
            Some(witness) if witness.site.is_plain_string() => return None,
            Some(witness) => match self.check_witness(witness) {
                WholeVerdict::Confirmed(whole) => (true, true, Some(whole)),
                WholeVerdict::Refuted => (false, false, None),
                WholeVerdict::Undecided => (true, false, None),
            },
            None => (!self.is_covered_by_union(edge), proof.is_proven && self.is_whole_value(edge), None),
        };
        Some(ProofCorrection { finding: *finding, edge: (*edge).clone(), is_breaking, is_proven, whole })
    }

    /// Completes a witness to whole values, and validates them in both versions.
    pub(super) fn check_witness(&self, witness: &Witness) -> WholeVerdict {
        let Some(node) = witness.site.node else { return WholeVerdict::Undecided };
        let steps = witness.site.steps.as_slice();
        let values = Rc::new(vec![witness.value.clone()]);
        let is_exact = steps.iter().all(is_exact_step);
        let mut pending = vec![CompletedValues { node, steps: steps.to_vec(), values, is_exact }];
        let (mut visited, mut refuting, mut has_dead_end) = (BTreeSet::new(), Vec::new(), false);
        let mut by_named_schema = None;
        while let Some(CompletedValues { node, steps, values, is_exact }) = pending.pop() {
            if !visited.insert(node) {
                continue;
            }
            let values = self.complete_values(node, &steps, &values);
            let values = match self.filter_values(node, values) {
                Ok(values) => Rc::new(values),
                Err(true) => {
                    refuting.push((node, is_exact));
                    continue;
                }
                Err(false) => {
                    has_dead_end = true;
                    continue;
                }
            };
            for (from, steps) in self.comparison.findings().incoming_paths(node) {
                match from {
                    PathStart::Base(base) if self.comparison.findings().is_named_schema(base) => {
                        by_named_schema = values.first().cloned();
                    }
                    PathStart::Base(_) => {
                        let whole = values.first().cloned();
                        return whole.map_or(WholeVerdict::Undecided, WholeVerdict::Confirmed);
                    }
                    PathStart::Node(parent) => {
                        let (steps, values) = (steps.to_vec(), Rc::clone(&values));
                        let is_exact = is_exact && steps.iter().all(is_exact_step);
                        pending.push(CompletedValues { node: parent, steps, values, is_exact });
                    }
                }
            }
        }
        if let Some(whole) = by_named_schema {
            // A value of a named schema proves nothing for the operations that use the schema.
            return match self.is_used_by_operation(node) {
                true => WholeVerdict::Undecided,
                false => WholeVerdict::Confirmed(whole),
            };
        }
        let is_refuted = !has_dead_end && !refuting.is_empty();
        match is_refuted && !refuting.into_iter().any(|(node, is_exact)| self.has_difference(node, is_exact))
        {
            true => WholeVerdict::Refuted,
            false => WholeVerdict::Undecided,
        }
    }

    /// Returns true if a path leads from a part of an operation to a node.
    fn is_used_by_operation(&self, node: usize) -> bool {
        let findings = self.comparison.findings();
        let mut nodes = BTreeSet::new();
        findings.add_with_ancestors(node, &mut nodes);
        let mut starts = nodes.iter().flat_map(|node| findings.incoming_paths(*node));
        starts.any(|(from, _)| matches!(from, PathStart::Base(base) if !findings.is_named_schema(base)))
    }

    /// Returns those values that only the sending version accepts at a node. At a node for a part of a value,
    /// returns all values. If there are none, returns whether both versions accept one of the values.
    fn filter_values(&self, node: usize, mut values: Vec<Json>) -> Result<Vec<Json>, bool> {
        let Some(pair) = self.comparison.findings().pair_at(node) else { return Err(false) };
        if self.comparison.is_value_node(node) {
            let prover = self.comparison.prover(pair.value_use);
            let GivenAndRefusing { giving, refusing } = schemas_of(pair);
            values.retain(|value| prover.accepts_value(giving.0, giving.1, value));
            let is_accepted = !values.is_empty();
            values.retain(|value| !prover.accepts_value(refusing.0, refusing.1, value));
            if values.is_empty() {
                return Err(is_accepted);
            }
        }
        values.truncate(MAX_COMPLETED);
        if values.is_empty() { Err(false) } else { Ok(values) }
    }

    /// Returns true if the search finds a value that only the sending version accepts at a node. If
    /// `is_exact` is false, returns true unless a proof shows that there is no such value; see
    /// [`CompletedValues::is_exact`].
    fn has_difference(&self, node: usize, is_exact: bool) -> bool {
        if !is_exact {
            return self.has_uncovered_values(node);
        }
        if let Some(known) = self.cache.differences.borrow().get(&node) {
            return *known;
        }
        let found = self.comparison.findings().pair_at(node).is_none_or(|pair| {
            let GivenAndRefusing { giving, refusing } = schemas_of(pair);
            let prover = self.comparison.prover(pair.value_use);
            !prover.is_covered(giving, refusing, pair.types)
                && prover
                    .find_refused_value(
                        giving,
                        refusing,
                        (pair.value_use, pair.types),
                        SampleEffort::Thorough,
                    )
                    .is_some()
        });
        self.cache.differences.borrow_mut().insert(node, found);
        found
    }

    /// Returns true if a change is inside a branch or another part of a value, and the receiving version is
    /// proven to accept all of these values.
    fn is_covered_by_union(&self, edge: &PathEdge) -> bool {
        let PathStart::Node(node) = edge.from else { return false };
        let mut pending = vec![node];
        let mut visited = BTreeSet::new();
        let mut is_covered = false;
        while let Some(node) = pending.pop() {
            if !visited.insert(node) {
                continue;
            }
            for (from, steps) in self.comparison.findings().incoming_paths(node) {
                let PathStart::Node(parent) = from else { return false };
                let is_in_part = steps.is_empty() || steps.iter().any(|step| step.kind == StepKind::Part);
                if is_in_part && self.comparison.is_value_node(parent) {
                    if self.has_uncovered_values(parent) {
                        return false;
                    }
                    is_covered = true;
                } else {
                    pending.push(parent);
                }
            }
        }
        is_covered
    }

    fn has_uncovered_values(&self, node: usize) -> bool {
        if let Some(known) = self.cache.uncovered.borrow().get(&node) {
            return *known;
        }
        let found = self.comparison.findings().pair_at(node).is_none_or(|pair| {
            let GivenAndRefusing { giving, refusing } = schemas_of(pair);
            !self.comparison.prover(pair.value_use).is_covered(giving, refusing, pair.types)
        });
        self.cache.uncovered.borrow_mut().insert(node, found);
        found
    }

    /// Returns true if the schemas at the start of a path describe a whole body, parameter or header.
    fn is_whole_value(&self, edge: &PathEdge) -> bool {
        match edge.from {
            PathStart::Base(_) => true,
            PathStart::Node(node) => self
                .comparison
                .findings()
                .incoming_paths(node)
                .any(|(from, _)| matches!(from, PathStart::Base(_))),
        }
    }

    /// Inserts the given values into surroundings of the node, at the location to which `steps` lead. Returns the
    /// results that the sending version accepts, at most [`MAX_COMPLETED`] for each inserted value. Without steps,
    /// returns the given values unchanged.
    fn complete_values(&self, node: usize, steps: &[SiteStep], values: &[Json]) -> Vec<Json> {
        let Some(pair) = self.comparison.findings().pair_at(node) else { return Vec::new() };
        let GivenAndRefusing { giving, .. } = schemas_of(pair);
        let prover = self.comparison.prover(pair.value_use);
        // Only the outermost of several steps has known surroundings.
        let inner = steps.iter().skip(1).rev().fold(values.to_vec(), |values, step| {
            values.iter().flat_map(|value| surround_value(step, value, &[])).collect()
        });
        let surroundings = self.surroundings(node);
        let completed = |step: &SiteStep| {
            let mut completed: Vec<Json> = Vec::new();
            for value in &inner {
                let accepted = surround_value(step, value, &surroundings)
                    .into_iter()
                    .filter(|value| prover.accepts_value(giving.0, giving.1, value));
                completed.extend(accepted.take(MAX_COMPLETED));
            }
            completed
        };
        steps.first().map_or_else(|| inner.clone(), completed)
    }

    /// Returns values that the sending version accepts at a node.
    fn surroundings(&self, node: usize) -> Rc<Vec<Json>> {
        if let Some(known) = self.cache.surroundings.borrow().get(&node) {
            return Rc::clone(known);
        }
        let sampled = self.cache.surroundings.borrow().len();
        let pair = self.comparison.findings().pair_at(node).filter(|_| sampled < MAX_SAMPLED_NODES);
        let values = pair.map_or_else(Vec::new, |pair| {
            let GivenAndRefusing { giving, refusing } = schemas_of(pair);
            let prover = self.comparison.prover(pair.value_use);
            let sample = |(side, ids): SideSchemas<'_>, effort| {
                let conjunction = SchemaConjunction::from_schemas(ids.iter().copied());
                let values = prover.sample_with_effort(side, &conjunction, effort).into_iter();
                values
                    .filter(|value| matches!(value, Json::Object(_) | Json::Array(_)))
                    .take(MAX_SURROUNDINGS)
            };
            let quick = sample(giving, SampleEffort::Quick);
            // In a large contract, many samples take too long.
            let is_quick = sampled >= MAX_THOROUGH_NODES;
            let effort = if is_quick { SampleEffort::Quick } else { SampleEffort::Thorough };
            let thorough = sample(giving, effort);
            quick.chain(thorough).chain(sample(refusing, SampleEffort::Quick)).collect()
        });
        let values = Rc::new(values);
        self.cache.surroundings.borrow_mut().insert(node, Rc::clone(&values));
        values
    }
}

/// Returns the sending and the receiving schemas of a pair.
fn schemas_of(pair: &ComparedSchemas) -> GivenAndRefusing<'_> {
    let (old, new): (SideSchemas<'_>, SideSchemas<'_>) =
        ((VersionSide::Old, &pair.old), (VersionSide::New, &pair.new));
    match pair.value_use {
        ValueUse::Write => GivenAndRefusing { giving: old, refusing: new },
        ValueUse::Read => GivenAndRefusing { giving: new, refusing: old },
    }
}

/// Returns true if the place to which a step leads is known: a declared property, an element, or a branch of a
/// union. Conditions and properties that a pattern selects are not known.
fn is_exact_step(step: &SiteStep) -> bool {
    let has_label = step.token.starts_with('{');
    let is_condition = ["{then}", "{else}", "{names}"].contains(&step.token.as_str());
    let is_branch = has_label && !is_condition && !step.token.starts_with("{beside ");
    if step.kind == StepKind::Part { is_branch } else { !has_label }
}

/// Returns values that contain `value` at the place to which a step leads. Each of the surroundings is a value
/// of the enclosing schema, in which the place is replaced.
fn surround_value(step: &SiteStep, value: &Json, surroundings: &[Json]) -> Vec<Json> {
    match step.kind {
        StepKind::Part => {
            let mut completed = vec![value.clone()];
            if let Json::Object(members) = value {
                completed.extend(surroundings.iter().filter_map(|around| {
                    let mut merged = around.as_object()?.clone();
                    for (name, member) in members {
                        merged.insert(name.to_owned(), member.clone());
                    }
                    Some(Json::Object(merged))
                }));
            }
            if let (Json::String(name), "{names}") = (value, step.token.as_str()) {
                completed.extend(surroundings.iter().filter_map(|around| {
                    let mut members = around.as_object()?.clone();
                    let member = members.values().next().cloned().unwrap_or(Json::Null);
                    members.insert(name.clone(), member);
                    Some(Json::Object(members))
                }));
            }
            completed
        }
        StepKind::Member => surround_member(step, value, surroundings),
        StepKind::Element => surround_element(value, surroundings),
    }
}

fn surround_member(step: &SiteStep, value: &Json, surroundings: &[Json]) -> Vec<Json> {
    let empty = [Json::Object(contract_runtime::Map::default())];
    let mut completed = Vec::new();
    for members in surroundings.iter().chain(&empty).filter_map(Json::as_object) {
        let mut insert = |name: &str| {
            let mut members = members.clone();
            members.insert(name.to_owned(), value.clone());
            completed.push(Json::Object(members));
        };
        insert(&unescape_token(&step.token));
        if step.token.starts_with('{') {
            members.keys().for_each(&mut insert);
            insert("other");
        }
    }
    completed
}

fn surround_element(value: &Json, surroundings: &[Json]) -> Vec<Json> {
    let mut completed = vec![Json::Array(vec![value.clone()])];
    for items in surroundings.iter().filter_map(Json::as_array) {
        for position in 0..=items.len() {
            let mut items = items.to_vec();
            match items.get_mut(position) {
                Some(item) => *item = value.clone(),
                None => items.push(value.clone()),
            }
            completed.push(Json::Array(items));
        }
    }
    completed
}
