//! Counts the exchanges and violations of a proxy session for its summary.

use std::{collections::BTreeMap, fmt::Write as _};

use contract_codegen::mock::ExchangeVerdict;
use serde_json::{Value, json};

use super::proxy::sided_violations;
use crate::cli::generate::count_noun;

/// The name of requests that match no operation.
const UNDECLARED: &str = "not in the contract";
/// The maximum number of different violations of one operation that are counted separately. Pointers into the
/// objects of a service may differ in each response.
const MAX_DISTINCT_VIOLATIONS: usize = 200;
/// The entry for violations beyond [`MAX_DISTINCT_VIOLATIONS`].
const OTHER_VIOLATIONS: &str = "other violations";

/// The exchanges of a session by operation.
#[derive(Debug)]
pub(super) struct SessionStatistics {
    /// The operations in the order of the contract.
    operations: Vec<OperationStatistics>,
    undeclared: OperationStatistics,
}

/// The exchanges of one operation.
#[derive(Debug)]
struct OperationStatistics {
    id: String,
    requests: usize,
    /// The number of violations by description. Array indexes in pointers are replaced by `*`.
    violations: BTreeMap<String, usize>,
}

impl OperationStatistics {
    fn new(id: String) -> Self {
        Self { id, requests: 0, violations: BTreeMap::new() }
    }

    fn violation_count(&self) -> usize {
        self.violations.values().sum()
    }

    fn to_json(&self) -> Value {
        let violations = self.violations.iter();
        let violations: Vec<Value> =
            violations.map(|(violation, count)| json!({ "violation": violation, "count": count })).collect();
        json!({ "requests": self.requests, "violations": violations })
    }
}

impl SessionStatistics {
    pub(super) fn new(operations: impl Iterator<Item = String>) -> Self {
        let operations = operations.map(OperationStatistics::new).collect();
        Self { operations, undeclared: OperationStatistics::new(UNDECLARED.to_owned()) }
    }

    pub(super) fn add_exchange(&mut self, verdict: &ExchangeVerdict) {
        let operation = self.operations.iter_mut().find(|each| Some(&each.id) == verdict.operation.as_ref());
        let operation = operation.unwrap_or(&mut self.undeclared);
        operation.requests += 1;
        for (side, violation) in sided_violations(verdict) {
            let tokens = violation.pointer.split('/').map(|token| {
                let is_index = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
                if is_index { "*" } else { token }
            });
            let mut general = violation.clone();
            general.pointer = tokens.collect::<Vec<&str>>().join("/");
            let mut text = format!("{side} {general}");
            let is_full = operation.violations.len() >= MAX_DISTINCT_VIOLATIONS;
            if is_full && !operation.violations.contains_key(&text) {
                OTHER_VIOLATIONS.clone_into(&mut text);
            }
            *operation.violations.entry(text).or_default() += 1;
        }
    }

    /// Returns the summary, with at most `limit` violations of each operation.
    pub(super) fn format_text(&self, limit: usize) -> String {
        let all = || self.operations.iter().chain([&self.undeclared]);
        let requests: usize = all().map(|each| each.requests).sum();
        let violations: usize = all().map(OperationStatistics::violation_count).sum();
        let called = self.operations.iter().filter(|each| each.requests > 0).count();
        let mut text = format!(
            "requests: {requests}; violations: {violations}; operations called: {called} of {}\n",
            self.operations.len()
        );
        for each in all().filter(|each| each.requests > 0) {
            let requests = count_noun(each.requests, "request");
            let violations = count_noun(each.violation_count(), "violation");
            let _ = writeln!(text, "{}: {requests}, {violations}", each.id);
            let mut sorted: Vec<(&String, &usize)> = each.violations.iter().collect();
            sorted.sort_by(|one, other| other.1.cmp(one.1));
            for (violation, count) in sorted.iter().take(limit) {
                let _ = writeln!(text, "  {count} x {violation}");
            }
            if sorted.len() > limit {
                let _ = writeln!(text, "  and {} more; use --verbose to list all", sorted.len() - limit);
            }
        }
        let missing = self.never_called();
        if !missing.is_empty() {
            let _ = writeln!(text, "never called: {}", missing.join(", "));
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        let called = self.operations.iter().filter(|each| each.requests > 0);
        let called: BTreeMap<&str, Value> = called.map(|each| (each.id.as_str(), each.to_json())).collect();
        json!({
            "exit": 0, "operations": called, "never-called": self.never_called(),
            "undeclared": self.undeclared.to_json(),
        })
    }

    fn never_called(&self) -> Vec<&str> {
        self.operations.iter().filter(|each| each.requests == 0).map(|each| each.id.as_str()).collect()
    }
}
