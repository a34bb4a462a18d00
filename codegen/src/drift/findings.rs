//! The findings of a comparison. A finding is a difference between the versions, with all paths from
//! operations to the changed element. The findings are converted to [`ContractChange`]s at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use contract_codegen_core::{
    schema::{SchemaId, TypeSet, keywords::Keyword},
    tree::DocumentLocation,
};
use contract_runtime::Json;

use super::{
    ChangeLevel, ContractChange, ContractVersion,
    lifecycle::RemovalNote,
    locations::{LocationPair, SourceLocator},
    paths::{PathEdge, PathGraph, PathStart},
    proof::VersionSide,
    rules::{self, DriftRule},
    site::{ComparisonSite, SiteStep, ValueUse},
    whole_values::Witness,
};

/// The locations of an element in the documents of both versions; `None` for a version without the element.
pub(super) type PlacePair<'p> = (Option<&'p DocumentLocation>, Option<&'p DocumentLocation>);

/// The levels of a change for readers and writers.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelPair {
    pub(super) readers: ChangeLevel,
    pub(super) writers: ChangeLevel,
    /// The reason for the levels; `None` if it is that of the rule.
    pub(super) reason: Option<&'static str>,
}

/// The outcome of an attempt to prove a change.
#[derive(Clone, Debug)]
pub(super) struct ProofOutcome {
    /// True if a proof confirmed the level of the change. False if the level is that of the rule, without a
    /// proof.
    pub(super) is_proven: bool,
    /// A value that only one of the versions accepts.
    pub(super) witness: Option<Witness>,
}

/// The schemas of a compared pair, and the direction and the types of their values.
#[derive(Clone, Debug)]
pub(super) struct ComparedSchemas {
    pub(super) old: Vec<SchemaId>,
    pub(super) new: Vec<SchemaId>,
    pub(super) value_use: ValueUse,
    pub(super) types: TypeSet,
}

/// The levels of a change at one of its paths, and the outcome of the proof there.
struct PathEntry {
    readers: ChangeLevel,
    writers: ChangeLevel,
    proof: Option<ProofOutcome>,
}

/// The result of a check against whole values, for one path of a finding.
pub(super) struct ProofCorrection {
    pub(super) finding: usize,
    pub(super) edge: PathEdge,
    /// Whether the change breaks clients at this path.
    pub(super) is_breaking: bool,
    pub(super) is_proven: bool,
    /// The smallest complete value that contains the witness; `None` if the witness is dropped.
    pub(super) whole: Option<Json>,
}

/// A breaking change at one path, with the proof that was attempted there.
pub(super) struct BreakingPath<'l> {
    pub(super) finding: usize,
    pub(super) edge: &'l PathEdge,
    pub(super) proof: &'l ProofOutcome,
}

/// A change to be recorded.
pub(super) struct NewFinding {
    pub(super) rule: &'static DriftRule,
    pub(super) levels: LevelPair,
    pub(super) locations: LocationPair,
    pub(super) message: String,
    /// The outcome of the proof; `None` if the change needs no proof.
    pub(super) proof: Option<ProofOutcome>,
    /// The effect of a removed element's lifecycle; `None` for other changes.
    pub(super) removal: Option<RemovalNote>,
}

/// A recorded change, and the data from which its subject, its uses and its witness are determined at the
/// end.
struct RecordedFinding {
    change: ContractChange,
    /// The paths to the change, each with the levels of the change at this path. The report shows the path
    /// with the highest level.
    paths: BTreeMap<PathEdge, PathEntry>,
    removal: Option<RemovalNote>,
    /// The reasons for the levels. An element that operations and webhooks use may have two.
    reasons: Vec<&'static str>,
    /// Whether the receiving version accepts the affected values because of another part of the schema.
    is_accepted_elsewhere: bool,
}

/// The key of a finding. Changes with equal keys are recorded as one finding.
#[derive(PartialEq, Eq, Hash)]
struct FindingKey {
    rule: &'static str,
    locations: LocationPair,
    message: String,
}

/// All findings, the graph of paths to the compared pairs, and the locations in the source files.
pub(super) struct FindingLog<'g> {
    findings: Vec<RecordedFinding>,
    index: HashMap<FindingKey, usize>,
    paths: PathGraph,
    /// The schemas of each node of the path graph.
    pairs: Vec<ComparedSchemas>,
    /// The labels of the named schemas that are compared on their own.
    named_schemas: HashSet<String>,
    /// The labels of the unstable operations of the old version.
    unstable_operations: HashSet<String>,
    /// The steps of each path.
    steps: HashMap<PathEdge, Vec<SiteStep>>,
    locator: SourceLocator<'g>,
}

impl<'g> FindingLog<'g> {
    pub(super) fn new(old: &'g ContractVersion, new: &'g ContractVersion) -> Self {
        Self {
            findings: Vec::new(),
            index: HashMap::new(),
            paths: PathGraph::default(),
            pairs: Vec::new(),
            named_schemas: HashSet::new(),
            unstable_operations: HashSet::new(),
            steps: HashMap::new(),
            locator: SourceLocator::new(old, new),
        }
    }

    /// Adds a node to the path graph for a pair of schemas that is compared at a site, and returns its index.
    pub(super) fn add_pair(&mut self, site: &ComparisonSite, schemas: ComparedSchemas) -> usize {
        let edge = self.edge_to(site);
        self.pairs.push(schemas);
        let node = self.paths.add_node();
        self.paths.add_edge(node, edge);
        node
    }

    /// Adds a further path to the node of a pair of schemas.
    pub(super) fn add_path(&mut self, node: usize, site: &ComparisonSite) {
        let edge = self.edge_to(site);
        self.paths.add_edge(node, edge);
    }

    fn edge_to(&mut self, site: &ComparisonSite) -> PathEdge {
        let from =
            site.node.map_or_else(|| PathStart::Base(self.paths.add_base(&site.base)), PathStart::Node);
        let edge = PathEdge { from, path: site.path.clone() };
        self.steps.entry(edge.clone()).or_insert_with(|| site.steps.clone());
        edge
    }

    /// Returns the location of an element, or of a keyword in it, in the source files of each version.
    pub(super) fn locate(
        &mut self,
        (old, new): PlacePair<'_>,
        (old_keyword, new_keyword): (Option<Keyword>, Option<Keyword>),
    ) -> LocationPair {
        let old = old.map(|place| self.locator.locate(VersionSide::Old, place, old_keyword));
        (old, new.map(|place| self.locator.locate(VersionSide::New, place, new_keyword)))
    }

    /// Records a change. If an equal change was recorded before, the new path is added to that change.
    pub(super) fn record(&mut self, finding: NewFinding, site: &ComparisonSite) {
        let NewFinding { rule, levels, locations, message, proof, removal } = finding;
        let LevelPair { readers, writers, reason } = levels;
        let edge = self.edge_to(site);
        let key = FindingKey { rule: rule.id, locations: locations.clone(), message: message.clone() };
        let index = *self.index.entry(key).or_insert(self.findings.len());
        if index == self.findings.len() {
            self.findings.push(RecordedFinding::new(rule, locations, message));
        }
        let Some(finding) = self.findings.get_mut(index) else { return };
        // Changes with equal locations have the same lifecycle.
        finding.removal = finding.removal.take().or(removal);
        let reason = reason.unwrap_or(rule.reason);
        if !finding.reasons.contains(&reason) {
            finding.reasons.push(reason);
        }
        finding.add_path(edge, PathEntry { readers, writers, proof });
    }

    /// Returns the number of recorded findings.
    pub(super) const fn count(&self) -> usize {
        self.findings.len()
    }

    /// Returns the paths at which a change breaks clients because of the values that the versions accept.
    pub(super) fn breaking_paths(&self) -> impl Iterator<Item = BreakingPath<'_>> {
        self.findings.iter().enumerate().flat_map(|(finding, recorded)| {
            recorded.paths.iter().filter_map(move |(edge, entry)| {
                let proof = entry.proof.as_ref().filter(|_| entry.level() == ChangeLevel::Breaking)?;
                Some(BreakingPath { finding, edge, proof })
            })
        })
    }

    /// Corrects the levels and proofs of findings after a check against whole values.
    pub(super) fn apply_corrections(&mut self, corrections: Vec<ProofCorrection>) {
        for ProofCorrection { finding, edge, is_breaking, is_proven, whole } in corrections {
            let Some(recorded) = self.findings.get_mut(finding) else { continue };
            recorded.is_accepted_elsewhere |= !is_breaking;
            let Some(PathEntry { readers, writers, proof }) = recorded.paths.get_mut(&edge) else { continue };
            if !is_breaking {
                let highest = ChangeLevel::Additive;
                (*readers, *writers) = ((*readers).min(highest), (*writers).min(highest));
            }
            if let Some(proof) = proof {
                proof.is_proven = is_proven;
                proof.witness = proof.witness.take().filter(|_| whole.is_some());
                if let Some(witness) = &mut proof.witness {
                    witness.whole = whole;
                }
            }
        }
    }

    /// Records that a base is a named schema and not a part of an operation.
    pub(super) fn mark_named_schema(&mut self, label: &str) {
        self.named_schemas.insert(label.to_owned());
    }

    /// Records that the old version declares an operation as unstable.
    pub(super) fn mark_unstable_operation(&mut self, label: &str) {
        self.unstable_operations.insert(label.to_owned());
    }

    /// Returns true if a base is a named schema.
    pub(super) fn is_named_schema(&self, base: usize) -> bool {
        self.paths.base_label(base).is_some_and(|label| self.named_schemas.contains(label))
    }

    /// Returns the schemas of a node of the path graph.
    pub(super) fn pair_at(&self, node: usize) -> Option<&ComparedSchemas> {
        self.pairs.get(node)
    }

    /// Returns the paths that lead to a node, each with its steps.
    pub(super) fn incoming_paths(&self, node: usize) -> impl Iterator<Item = (PathStart, &[SiteStep])> {
        let steps = |edge: &PathEdge| self.steps.get(edge).map_or(&[][..], Vec::as_slice);
        self.paths.edges_to(node).map(move |edge| (edge.from, steps(edge)))
    }

    /// Returns the nodes of the path graph at which a breaking change was recorded.
    pub(super) fn breaking_nodes(&self) -> BTreeSet<usize> {
        let paths = self.findings.iter().flat_map(|finding| &finding.paths);
        let breaking = paths.filter(|(_, entry)| entry.level() == ChangeLevel::Breaking);
        breaking
            .filter_map(|(edge, _)| match edge.from {
                PathStart::Node(node) => Some(node),
                PathStart::Base(_) => None,
            })
            .collect()
    }

    /// Adds a node of the path graph and all of its ancestors to `nodes`.
    pub(super) fn add_with_ancestors(&self, node: usize, nodes: &mut BTreeSet<usize>) {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if nodes.insert(node) {
                waiting.extend(self.paths.predecessors(node));
            }
        }
    }

    /// Returns the changes, each with its subject, its uses, and its effect on readers and writers.
    pub(super) fn into_changes(self) -> Vec<ContractChange> {
        let resolved = self.paths.resolve_paths();
        let unstable_operations = self.unstable_operations;
        let changes = self.findings.into_iter().map(|finding| {
            let RecordedFinding { mut change, mut paths, mut removal, reasons, is_accepted_elsewhere } =
                finding;
            let proofs = || paths.values().filter_map(|entry| entry.proof.as_ref());
            change.proven = proofs().next().is_some() && proofs().all(|proof| proof.is_proven);
            change.readers = paths.values().map(|entry| entry.readers).max().unwrap_or_default();
            change.writers = paths.values().map(|entry| entry.writers).max().unwrap_or_default();
            let levels = paths.iter().map(|(edge, entry)| (edge.clone(), entry.level())).collect();
            change.reason = reasons.join(" ");
            (change.subject, change.uses) = resolved.describe_paths(&levels);
            if let Some(removal) = &mut removal {
                removal.apply_uses(have_unstable_operations(&change.uses, &unstable_operations));
                if removal.is_allowed {
                    change.readers = change.readers.min(ChangeLevel::Additive);
                    change.writers = change.writers.min(ChangeLevel::Additive);
                }
            }
            let shown = resolved.worst_path(&levels).and_then(|path| paths.remove(path)?.proof?.witness);
            if let Some(Witness { value, whole, .. }) = shown {
                change.witness = Some(value.to_string());
                change.whole_witness = whole.map(|whole| whole.to_string());
            }
            if let Some(RemovalNote { text, .. }) =
                removal.as_ref().filter(|removal| !removal.text.is_empty())
            {
                change.message.push_str("; ");
                change.message.push_str(text);
            }
            // An allowed removal affects clients, although it is not breaking.
            let is_allowed = removal.is_some_and(|removal| removal.is_allowed);
            if let Some(rule) = rules::find_rule(change.rule).filter(|_| !is_allowed) {
                let consequence = describe_consequence(rule, &change, is_accepted_elsewhere);
                change.message.push_str(&consequence);
            }
            change
        });
        changes.collect()
    }
}

/// Returns true if all uses of an element are parts of unstable operations.
fn have_unstable_operations(uses: &[String], unstable_operations: &HashSet<String>) -> bool {
    let is_part = |place: &str, operation: &str| {
        place.strip_prefix(operation).is_some_and(|part| part.is_empty() || part.starts_with(' '))
    };
    !uses.is_empty()
        && uses.iter().all(|place| unstable_operations.iter().any(|operation| is_part(place, operation)))
}

impl RecordedFinding {
    fn new(rule: &'static DriftRule, (old, new): LocationPair, message: String) -> Self {
        let change = ContractChange {
            rule: rule.id,
            readers: ChangeLevel::Same,
            writers: ChangeLevel::Same,
            reason: String::new(),
            old,
            new,
            subject: String::new(),
            uses: Vec::new(),
            difference: message.clone(),
            message,
            proven: false,
            witness: None,
            whole_witness: None,
            accepted: None,
        };
        Self {
            change,
            paths: BTreeMap::new(),
            removal: None,
            reasons: Vec::new(),
            is_accepted_elsewhere: false,
        }
    }
}

impl RecordedFinding {
    /// Adds a path to the change. If the path is known, the higher levels apply, and the first witness.
    fn add_path(&mut self, edge: PathEdge, new: PathEntry) {
        let known = self.paths.entry(edge).or_insert(PathEntry {
            readers: ChangeLevel::Same,
            writers: ChangeLevel::Same,
            proof: None,
        });
        known.readers = known.readers.max(new.readers);
        known.writers = known.writers.max(new.writers);
        known.proof = match (known.proof.take(), new.proof) {
            (Some(known), Some(new)) => Some(ProofOutcome {
                is_proven: known.is_proven && new.is_proven,
                witness: known.witness.or(new.witness),
            }),
            (known, new) => known.or(new),
        };
    }
}

impl PathEntry {
    fn level(&self) -> ChangeLevel {
        self.readers.max(self.writers)
    }
}

/// Returns the second half of a message, which describes the effect of the change on readers and writers.
/// Returns an empty string if the rule is never breaking.
fn describe_consequence(rule: &DriftRule, change: &ContractChange, is_accepted_elsewhere: bool) -> String {
    use ChangeLevel::Breaking;
    let may_break = rule.readers.max(rule.writers) == Breaking;
    let breaks_in_webhooks =
        rules::webhook_levels(rule.id).is_some_and(|levels| levels.readers.max(levels.writers) == Breaking);
    if !(may_break || breaks_in_webhooks && change.level() == Breaking) {
        return String::new();
    }
    let effect = match (change.readers, change.writers) {
        (Breaking, Breaking) if rule.id == rules::DEFAULT_CHANGED.id => {
            "a missing value has another meaning for readers and writers of the old version"
        }
        (Breaking, _) if rule.id == rules::DEFAULT_CHANGED.id => {
            "readers of the old version assume the old default for a missing value"
        }
        (_, Breaking) if rule.id == rules::DEFAULT_CHANGED.id => {
            "writers of the old version that omit the value rely on the old default"
        }
        (Breaking, Breaking) => "readers and writers of the old version may fail",
        (Breaking, _) => "readers of the old version may receive something that they cannot handle",
        (_, Breaking) => "values that writers of the old version send may be rejected or ignored",
        _ if change.proven && change.level() == ChangeLevel::Same => "proven: the same values are valid",
        (ChangeLevel::Same, _) if change.proven => {
            "proven: no value that writers of the old version send is rejected"
        }
        (_, ChangeLevel::Same) if change.proven => {
            "proven: readers of the old version receive no unexpected value"
        }
        _ if change.proven => "proven: no valid value is rejected and no unexpected value is sent",
        _ if is_accepted_elsewhere => {
            "another part of the schema accepts these values, so clients of the old version are not affected"
        }
        _ => "clients of the old version are not affected",
    };
    format!("; {effect}")
}
