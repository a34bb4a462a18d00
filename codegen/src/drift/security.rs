//! Compares the security requirements of an operation.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen_core::api::Operation;

use super::{
    comparison::Comparison,
    operations::{DocumentPair, OperationPair},
    rules::{self, DriftRule},
    schemes::{RenamedSchemes, describe_scheme_change},
};

/// One alternative of a security requirement, as pairs of a scheme and a scope. Each scheme also has a pair
/// with `None`, because a scheme without scopes would otherwise have no pair.
type SecurityRequirement<'g> = BTreeSet<(&'g str, Option<&'g str>)>;

/// The credentials that one version of an operation accepts.
struct AcceptedCredentials<'g> {
    is_anonymous_accepted: bool,
    /// The alternatives that require credentials. A call must satisfy one of them, unless anonymous calls are
    /// accepted.
    requirements: Vec<SecurityRequirement<'g>>,
}

/// A comparer for the security requirements of an operation.
pub(super) struct SecurityComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
    operation: &'c OperationPair<'g>,
}

impl<'c, 'g> SecurityComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>, operation: &'c OperationPair<'g>) -> Self {
        Self { comparison, operation }
    }

    /// Compares the security requirements of both versions. `renamed` contains the renamed schemes of the
    /// operation's document. If the operation moved to another document, the required schemes are compared as
    /// well.
    pub(super) fn compare_security(&mut self, renamed: &RenamedSchemes<'g>) {
        let OperationPair { old, new, documents, .. } = *self.operation;
        if !documents.is_matched {
            self.compare_moved_schemes(documents, renamed);
        }
        let old = AcceptedCredentials::from_operation(old, renamed);
        let new = AcceptedCredentials::from_operation(new, &BTreeMap::new());
        let required = new.requirements.iter().map(describe_requirement).collect::<Vec<_>>().join(", or ");
        self.compare_anonymous_access(&old, &new, &required);
        self.report_refused_credentials(&old, &new, &required);
        if !old.requirements.is_empty() || new.is_anonymous_accepted {
            self.report_accepted_credentials(&old, &new);
        }
    }

    fn report(&mut self, rule: &'static DriftRule, message: String) {
        let operation = self.operation;
        operation.report(self.comparison, rule, operation.places(), &operation.label(), message);
    }

    fn compare_anonymous_access(
        &mut self,
        old: &AcceptedCredentials<'g>,
        new: &AcceptedCredentials<'g>,
        required: &str,
    ) {
        match (old.is_anonymous_accepted, new.is_anonymous_accepted) {
            (true, false) => {
                let message = format!("calls without credentials are rejected; {required} is required");
                self.report(rules::SIGN_IN_REQUIRED, message);
            }
            (false, true) => {
                self.report(rules::SIGN_IN_DROPPED, "calls without credentials are now accepted".to_owned());
            }
            (true, true) if !old.requirements.is_empty() && new.requirements.is_empty() => {
                self.report(rules::SIGN_IN_DROPPED, "credentials are no longer checked".to_owned());
            }
            _ => {}
        }
    }

    /// Reports each old requirement whose credentials satisfy none of the new requirements. Calls with these
    /// credentials stop working. `required` describes all new requirements.
    fn report_refused_credentials(
        &mut self,
        old: &AcceptedCredentials<'g>,
        new: &AcceptedCredentials<'g>,
        required: &str,
    ) {
        let is_satisfied =
            |before: &SecurityRequirement<'g>| new.requirements.iter().any(|after| after.is_subset(before));
        let is_any_satisfied = old.requirements.iter().any(is_satisfied);
        let is_refused =
            |before: &&SecurityRequirement<'g>| !new.requirements.is_empty() && !is_satisfied(before);
        for before in old.requirements.iter().filter(is_refused) {
            let tokens = describe_requirement(before);
            let has_same_schemes =
                |after: &&SecurityRequirement<'g>| scheme_names(after) == scheme_names(before);
            let candidates = new.requirements.iter().filter(has_same_schemes);
            let Some(nearest) = candidates.min_by_key(|after| after.difference(before).count()) else {
                let rule = match is_any_satisfied {
                    true => rules::SECURITY_ALTERNATIVE_REMOVED,
                    false => rules::SECURITY_CHANGED,
                };
                let anonymous = if new.is_anonymous_accepted { "they count as anonymous, or " } else { "" };
                let message = format!("calls with {tokens} stop working: {anonymous}{required} is required");
                self.report(rule, message);
                continue;
            };
            let candidates: Vec<_> = new.requirements.iter().filter(has_same_schemes).collect();
            if candidates.len() > 1 {
                let any = candidates.into_iter().map(describe_requirement).collect::<Vec<_>>().join(", or ");
                let message = format!("tokens of {tokens} stop working: {any} is required");
                self.report(rules::SCOPE_REQUIRED, message);
                continue;
            }
            // The message contains "too" if the old scopes are still required.
            let has_shared_scope = nearest.intersection(before).any(|(_, scope)| scope.is_some());
            let too = if has_shared_scope || before.is_subset(nearest) { " too" } else { "" };
            for (scheme, scope) in nearest.difference(before) {
                let scope = scope.unwrap_or_default();
                let message =
                    format!("tokens of {tokens} stop working: `{scope}` of `{scheme}` is required{too}");
                self.report(rules::SCOPE_REQUIRED, message);
            }
        }
    }

    /// Reports each new requirement whose credentials satisfied none of the old requirements: as a scope that
    /// is no longer required, or as a new alternative.
    fn report_accepted_credentials(&mut self, old: &AcceptedCredentials<'g>, new: &AcceptedCredentials<'g>) {
        let is_new =
            |after: &&SecurityRequirement<'g>| !old.requirements.iter().any(|before| before.is_subset(after));
        for after in new.requirements.iter().filter(is_new) {
            let nearest =
                old.requirements.iter().min_by_key(|other| other.symmetric_difference(after).count());
            let before = nearest.cloned().unwrap_or_default();
            let released: Vec<_> = before.difference(after).copied().collect();
            let only_scopes = after.is_subset(&before) && released.iter().all(|(_, scope)| scope.is_some());
            if only_scopes && !new.requirements.contains(&before) {
                for (scheme, scope) in released {
                    let scope = scope.unwrap_or_default();
                    let message = format!("the scope `{scope}` of `{scheme}` is no longer required");
                    self.report(rules::SCOPE_RELEASED, message);
                }
            } else {
                let message = format!("calls with {} are now accepted", describe_requirement(after));
                self.report(rules::SECURITY_ALTERNATIVE_ADDED, message);
            }
        }
    }

    fn compare_moved_schemes(&mut self, documents: DocumentPair<'g>, renamed: &RenamedSchemes<'g>) {
        let OperationPair { old, new, .. } = *self.operation;
        let required = required_schemes(new);
        for old_name in required_schemes(old) {
            let name = renamed.get(old_name).copied().unwrap_or(old_name);
            if !required.contains(name) {
                continue;
            }
            if let Some(change) = describe_scheme_change(documents, old_name, name) {
                let message = format!("credentials of `{name}` may stop working: {change}");
                self.report(rules::SECURITY_SCHEME_CHANGED, message);
            }
        }
    }
}

impl<'g> AcceptedCredentials<'g> {
    /// Returns the requirements of an operation, with the new names of renamed schemes.
    fn from_operation(operation: &'g Operation, renamed: &RenamedSchemes<'g>) -> Self {
        let alternatives = security_alternatives(&operation.security, renamed);
        let is_anonymous_accepted = alternatives.iter().any(BTreeSet::is_empty);
        let requirements = alternatives.into_iter().filter(|one| !one.is_empty()).collect();
        Self { is_anonymous_accepted, requirements }
    }
}

fn required_schemes(operation: &Operation) -> BTreeSet<&str> {
    operation.security.iter().flatten().map(|(name, _)| name.as_str()).collect()
}

fn scheme_names<'g>(requirement: &SecurityRequirement<'g>) -> BTreeSet<&'g str> {
    requirement.iter().map(|(scheme, _)| *scheme).collect()
}

fn security_alternatives<'g>(
    security: &'g [Vec<(String, Vec<String>)>],
    renamed: &RenamedSchemes<'g>,
) -> Vec<SecurityRequirement<'g>> {
    if security.is_empty() {
        return vec![SecurityRequirement::new()];
    }
    security.iter().map(|alternative| parse_requirement(alternative, renamed)).collect()
}

fn parse_requirement<'g>(
    alternative: &'g [(String, Vec<String>)],
    renamed: &RenamedSchemes<'g>,
) -> SecurityRequirement<'g> {
    let mut requirement = SecurityRequirement::new();
    for (scheme, scopes) in alternative {
        let scheme = renamed.get(scheme.as_str()).copied().unwrap_or(scheme);
        requirement.insert((scheme, None));
        requirement.extend(scopes.iter().map(|scope| (scheme, Some(scope.as_str()))));
    }
    requirement
}

fn describe_requirement(requirement: &SecurityRequirement<'_>) -> String {
    let each = |scheme: &str| {
        let scopes = requirement.iter().filter(|(other, _)| *other == scheme).filter_map(|(_, scope)| *scope);
        let scopes: Vec<String> = scopes.map(|scope| format!("`{scope}`")).collect();
        let with = if scopes.is_empty() { "" } else { " with " };
        format!("`{scheme}`{with}{}", scopes.join(" and "))
    };
    scheme_names(requirement).into_iter().map(each).collect::<Vec<_>>().join(" together with ")
}
