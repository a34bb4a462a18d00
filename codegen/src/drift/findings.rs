//! The findings of a comparison. A finding is a difference between the versions, with all paths from
//! operations to the changed element. The findings are converted to [`ContractChange`]s at the end.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_codegen_core::{schema::keywords::Keyword, tree::DocumentLocation};

use super::{
    ChangeLevel, ContractChange, ContractVersion,
    lifecycle::RemovalNote,
    locations::{LocationPair, SourceLocator},
    paths::{PathEdge, PathGraph, PathStart},
    proof::VersionSide,
    rules::{self, DriftRule},
    site::ComparisonSite,
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
    pub(super) witness: Option<String>,
}

/// A change to be recorded.
pub(super) struct NewFinding {
    pub(super) rule: &'static DriftRule,
    pub(super) levels: LevelPair,
    pub(super) locations: LocationPair,
    pub(super) message: String,
    /// The outcome of the proof; `None` if the change needs no proof.
    pub(super) proof: Option<ProofOutcome>,
    /// The effect of a removed element's lifecycle; `None` if the element declares no lifecycle.
    pub(super) removal: Option<RemovalNote>,
}

/// A recorded change, and the data from which its subject, its uses and its witness are determined at the
/// end.
struct RecordedFinding {
    change: ContractChange,
    /// The paths to the change, each with the level of the change at this path. The report shows the path
    /// with the highest level.
    paths: BTreeMap<PathEdge, ChangeLevel>,
    /// The witnesses that were found, by path. A witness is a value that only one of the versions accepts.
    witnesses: BTreeMap<PathEdge, String>,
    removal: Option<RemovalNote>,
    /// The reasons for the levels. An element that operations and webhooks use may have two.
    reasons: Vec<&'static str>,
    /// Whether a proof was attempted for at least one path.
    has_proof_attempt: bool,
    /// Whether all attempted proofs succeeded.
    are_all_proven: bool,
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
    locator: SourceLocator<'g>,
}

impl<'g> FindingLog<'g> {
    pub(super) fn new(old: &'g ContractVersion, new: &'g ContractVersion) -> Self {
        Self {
            findings: Vec::new(),
            index: HashMap::new(),
            paths: PathGraph::default(),
            locator: SourceLocator::new(old, new),
        }
    }

    /// Adds a node to the path graph for a pair of schemas that is compared at a site, and returns its index.
    pub(super) fn add_pair(&mut self, site: &ComparisonSite) -> usize {
        let edge = self.edge_to(site);
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
        PathEdge { from, path: site.path.clone() }
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
        finding.change.readers = finding.change.readers.max(readers);
        finding.change.writers = finding.change.writers.max(writers);
        if let Some(ProofOutcome { is_proven, witness }) = proof {
            finding.has_proof_attempt = true;
            finding.are_all_proven &= is_proven;
            if let Some(witness) = witness {
                finding.witnesses.entry(edge.clone()).or_insert(witness);
            }
        }
        finding.change.proven = finding.has_proof_attempt && finding.are_all_proven;
        let level = finding.paths.entry(edge).or_default();
        *level = (*level).max(readers).max(writers);
    }

    /// Returns the nodes of the path graph at which a breaking change was recorded.
    pub(super) fn breaking_nodes(&self) -> BTreeSet<usize> {
        let paths = self.findings.iter().flat_map(|finding| &finding.paths);
        let breaking = paths.filter(|(_, level)| **level == ChangeLevel::Breaking);
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
        let changes = self.findings.into_iter().map(|finding| {
            let RecordedFinding { mut change, paths, mut witnesses, removal, reasons, .. } = finding;
            change.reason = reasons.join(" ");
            (change.subject, change.uses) = resolved.describe_paths(&paths);
            change.witness = resolved.worst_path(&paths).and_then(|path| witnesses.remove(path));
            if let Some(RemovalNote { text, .. }) = &removal {
                change.message.push_str("; ");
                change.message.push_str(text);
            }
            // An allowed removal affects clients, although it is not breaking.
            let is_allowed = removal.is_some_and(|removal| removal.is_allowed);
            if let Some(rule) = rules::find_rule(change.rule).filter(|_| !is_allowed) {
                let consequence = describe_consequence(rule, &change);
                change.message.push_str(&consequence);
            }
            change
        });
        changes.collect()
    }
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
            accepted: None,
        };
        Self {
            change,
            paths: BTreeMap::new(),
            witnesses: BTreeMap::new(),
            removal: None,
            reasons: Vec::new(),
            has_proof_attempt: false,
            are_all_proven: true,
        }
    }
}

/// Returns the second half of a message, which describes the effect of the change on readers and writers.
/// Returns an empty string if the rule is never breaking.
fn describe_consequence(rule: &DriftRule, change: &ContractChange) -> String {
    use ChangeLevel::Breaking;
    let may_break = rule.readers.max(rule.writers) == Breaking;
    let breaks_in_webhooks =
        rules::webhook_levels(rule.id).is_some_and(|levels| levels.readers.max(levels.writers) == Breaking);
    if !(may_break || breaks_in_webhooks && change.level() == Breaking) {
        return String::new();
    }
    let effect = match (change.readers, change.writers) {
        (Breaking, Breaking) => "readers and writers of the old version may fail",
        (Breaking, _) => "readers of the old version may receive something that they cannot handle",
        (_, Breaking) => "values that writers of the old version send may be rejected or ignored",
        _ if change.proven && change.level() == ChangeLevel::Same => "proven: the same values are valid",
        _ if change.proven => "proven: no valid value is rejected and no unexpected value is sent",
        _ => "clients of the old version are not affected",
    };
    format!("; {effect}")
}
