//! The disagreements that `peer.toml` explains.

use serde::Deserialize;

use crate::go_tests::DocumentPair;

/// The content of `peer.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownDisagreements {
    #[serde(default, rename = "disagreement")]
    groups: Vec<DisagreementGroup>,
}

/// Disagreements with the same reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DisagreementGroup {
    /// The verdict of `drift`: `breaking`, `not breaking` or `unreadable`.
    drift: String,
    reason: String,
    /// The old and the new document of each pair, relative to the folder `data` of the checkout.
    pairs: Vec<[String; 2]>,
}

impl KnownDisagreements {
    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Returns the reason for the verdict of `drift` on a pair.
    pub(crate) fn reason(&self, documents: &DocumentPair, verdict: &str) -> Option<&str> {
        let is_listed = |group: &&DisagreementGroup| {
            group.drift == verdict && group.pairs.iter().any(|[old, new]| documents.has_names(old, new))
        };
        self.groups.iter().find(is_listed).map(|group| group.reason.as_str())
    }

    /// Returns a description of each invalid verdict, each missing reason and each pair that is listed twice.
    #[cfg(test)]
    pub(crate) fn find_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for group in &self.groups {
            if !["breaking", "not breaking", "unreadable"].contains(&group.drift.as_str()) {
                faults.push(format!("unknown verdict: {}", group.drift));
            }
            if !group.reason.ends_with('.') {
                faults.push(format!("not a sentence: {}", group.reason));
            }
            let repeated = group.pairs.iter().filter(|pair| !seen.insert(*pair));
            faults.extend(repeated.map(|pair| format!("listed twice: {pair:?}")));
        }
        faults
    }
}
