//! Compares the security schemes that the versions declare, and the scopes that they declare or require.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen_core::{
    api::OpenApiDocument,
    tree::{DocumentLocation, escape_token},
};
use contract_runtime::{Json, json::JsonObject};

use super::{
    ContractVersion, comparison::Comparison, enumerations::format_value, locations::nearest_place,
    operations::DocumentPair, rules,
};

/// The security schemes that were renamed without another change. The key is the old name, the value the new
/// name.
pub(super) type RenamedSchemes<'g> = BTreeMap<&'g str, &'g str>;

/// For each version, all scopes that its schemes declare or its operations require.
struct KnownScopes<'g> {
    old: BTreeSet<&'g str>,
    new: BTreeSet<&'g str>,
}

/// A comparer for the security schemes and scopes of both versions.
pub(super) struct SchemeComparer<'c, 'g> {
    comparison: &'c mut Comparison<'g>,
}

impl<'c, 'g> SchemeComparer<'c, 'g> {
    pub(super) const fn new(comparison: &'c mut Comparison<'g>) -> Self {
        Self { comparison }
    }

    /// Compares all schemes and scopes. Each entry of `documents` is a pair of corresponding documents with
    /// its renamed schemes.
    pub(super) fn compare_schemes_and_scopes(
        &mut self,
        documents: &[(DocumentPair<'g>, std::rc::Rc<RenamedSchemes<'g>>)],
    ) {
        let (old, new) = self.comparison.versions();
        let required = required_scopes(old);
        let scopes =
            KnownScopes { old: known_scopes(old, &required), new: known_scopes(new, &required_scopes(new)) };
        let first = documents.first().map(|(documents, _)| *documents);
        self.compare_scopes(&scopes, &required, first);
        for (documents, renamed) in documents {
            for (was, is) in renamed.iter() {
                let (old, new) = self.scheme_places(*documents, (was, is));
                let message = format!("the security scheme was renamed from `{was}` to `{is}`");
                let subject = format!("security scheme {is}");
                let (rule, places) = (rules::SECURITY_SCHEME_RENAMED, (old.as_ref(), new.as_ref()));
                self.comparison.report_contract_change(rule, places, &subject, message);
            }
            for (name, before) in &documents.old.security_schemes {
                if let Some(after) = find_scheme(documents.new, name)
                    && without_documentation(before) != without_documentation(after)
                {
                    self.compare_scheme(*documents, name, (before, after), &scopes);
                }
            }
        }
    }

    /// Reports the scopes that only one version has.
    fn compare_scopes(
        &mut self,
        scopes: &KnownScopes<'g>,
        required: &BTreeSet<&'g str>,
        documents: Option<DocumentPair<'g>>,
    ) {
        let (old, new) = documents.map_or((None, None), |each| self.scheme_places(each, ("", "")));
        let places = (old.as_ref(), new.as_ref());
        for scope in scopes.new.difference(&scopes.old) {
            let (subject, message) = (format!("scope {scope}"), format!("`{scope}` is new"));
            self.comparison.report_contract_change(rules::SCOPE_ADDED, places, &subject, message);
        }
        for scope in scopes.old.difference(&scopes.new) {
            let message = match required.contains(scope) {
                true => format!("`{scope}` is no longer declared or required"),
                false => format!("`{scope}` is no longer declared"),
            };
            let subject = format!("scope {scope}");
            self.comparison.report_contract_change(rules::SCOPE_REMOVED, places, &subject, message);
        }
    }

    /// Compares the properties and the flows of a scheme. Skips scopes that were added to or removed from the
    /// whole contract, which [`SchemeComparer::compare_scopes`] reports.
    fn compare_scheme(
        &mut self,
        documents: DocumentPair<'g>,
        name: &str,
        (before, after): (&Json, &Json),
        scopes: &KnownScopes<'g>,
    ) {
        let (old_place, new_place) = self.scheme_places(documents, (name, name));
        let places = (old_place.as_ref(), new_place.as_ref());
        let subject = format!("security scheme {name}");
        let (old_flows, new_flows) = (oauth_flows(before), oauth_flows(after));
        let mut changes = describe_differences(&without_flows(before), &without_flows(after), "");
        for (flow, before) in &old_flows {
            let Some(after) = new_flows.get(flow) else {
                changes.push(format!("`{flow}` of `flows` was removed"));
                continue;
            };
            let after_refresh = without_new_refresh_url(after, before);
            let owner = format!(" of `{flow}`");
            changes.extend(describe_differences(&without_scopes(before), &after_refresh, &owner));
            let (old_scopes, new_scopes) = (flow_scopes(before), flow_scopes(after));
            for scope in old_scopes.difference(&new_scopes).filter(|scope| scopes.new.contains(**scope)) {
                let message = format!("`{flow}` of `{name}` no longer grants `{scope}`");
                let subject = format!("scope {scope}");
                self.comparison.report_contract_change(rules::SCOPE_REMOVED, places, &subject, message);
            }
            for scope in new_scopes.difference(&old_scopes).filter(|scope| scopes.old.contains(**scope)) {
                let message = format!("`{flow}` of `{name}` also grants `{scope}`");
                let subject = format!("scope {scope}");
                self.comparison.report_contract_change(rules::SCOPE_ADDED, places, &subject, message);
            }
        }
        // If the old scheme has no flows, only its other properties are reported.
        let is_new_flow = |flow: &&&str| !old_flows.is_empty() && !old_flows.contains_key(**flow);
        for flow in new_flows.keys().filter(is_new_flow) {
            let (rule, message) =
                (rules::SECURITY_ALTERNATIVE_ADDED, format!("tokens from `{flow}` are now accepted"));
            self.comparison.report_contract_change(rule, places, &subject, message);
        }
        if !changes.is_empty() {
            let changes = changes.join("; ");
            let (rule, message) = match is_required_scheme(documents.old, name) {
                true => {
                    let message = format!("credentials of `{name}` may stop working: {changes}");
                    (rules::SECURITY_SCHEME_CHANGED, message)
                }
                false => (
                    rules::SECURITY_SCHEME_CHANGED_UNUSED,
                    format!("`{name}`, which no operation requires, changed: {changes}"),
                ),
            };
            self.comparison.report_contract_change(rule, places, &subject, message);
        }
    }

    /// Returns the locations at which both versions of a document declare a scheme.
    fn scheme_places(
        &self,
        documents: DocumentPair<'g>,
        (old_name, new_name): (&str, &str),
    ) -> (Option<DocumentLocation>, Option<DocumentLocation>) {
        let place = |version: &ContractVersion, api: &OpenApiDocument, scheme: &str| {
            let pointer = format!("/components/securitySchemes/{}", escape_token(scheme));
            nearest_place(version, api.source, &pointer)
        };
        let (old, new) = self.comparison.versions();
        (place(old, documents.old, old_name), place(new, documents.new, new_name))
    }
}

/// Describes the difference between a scheme of the old document and a scheme of the new document. Returns
/// `None` if they are equal, or if one of them does not exist.
pub(super) fn describe_scheme_change(
    documents: DocumentPair<'_>,
    old_name: &str,
    new_name: &str,
) -> Option<String> {
    let (old, new) = (find_scheme(documents.old, old_name)?, find_scheme(documents.new, new_name)?);
    let changes = describe_differences(&without_documentation(old), &without_documentation(new), "");
    (!changes.is_empty()).then(|| changes.join("; "))
}

fn is_required_scheme(api: &OpenApiDocument, scheme: &str) -> bool {
    let mut needs =
        api.operations.iter().chain(&api.webhooks).flat_map(|operation| operation.security.iter().flatten());
    needs.any(|(name, _)| name == scheme)
}

fn find_scheme<'g>(api: &'g OpenApiDocument, scheme: &str) -> Option<&'g Json> {
    api.security_schemes.iter().find(|(name, _)| name == scheme).map(|(_, scheme)| scheme)
}

fn required_scopes(contract: &ContractVersion) -> BTreeSet<&str> {
    let operations = contract.apis.iter().flat_map(|api| api.operations.iter().chain(&api.webhooks));
    let needs = operations.flat_map(|operation| operation.security.iter().flatten());
    needs.flat_map(|(_, scopes)| scopes.iter().map(String::as_str)).collect()
}

fn known_scopes<'g>(contract: &'g ContractVersion, required: &BTreeSet<&'g str>) -> BTreeSet<&'g str> {
    let declared =
        declared_schemes(contract).into_iter().flat_map(|(_, scheme)| oauth_flows(scheme).into_values());
    declared.flat_map(flow_scopes).chain(required.iter().copied()).collect()
}

fn oauth_flows(scheme: &Json) -> BTreeMap<&str, &Json> {
    let flows = scheme.as_object().and_then(|members| members.get("flows")).and_then(Json::as_object);
    flows.into_iter().flat_map(JsonObject::iter).filter(|(_, flow)| flow.as_object().is_some()).collect()
}

fn flow_scopes(flow: &Json) -> BTreeSet<&str> {
    let scopes = flow.as_object().and_then(|members| members.get("scopes")).and_then(Json::as_object);
    scopes.into_iter().flat_map(JsonObject::keys).collect()
}

fn without_flows(scheme: &Json) -> Json {
    let mut scheme = without_documentation(scheme);
    let flows: Vec<String> = oauth_flows(&scheme).into_keys().map(str::to_owned).collect();
    if let Json::Object(members) = &mut scheme
        && let Some(Json::Object(held)) = members.get_mut("flows")
    {
        for flow in flows {
            held.remove(&flow);
        }
        if held.is_empty() {
            members.remove("flows");
        }
    }
    scheme
}

fn without_scopes(flow: &Json) -> Json {
    let mut flow = without_documentation(flow);
    if let Json::Object(members) = &mut flow {
        members.remove("scopes");
    }
    flow
}

fn without_new_refresh_url(flow: &Json, earlier: &Json) -> Json {
    const REFRESHING: &str = "refreshUrl";
    let mut flow = without_scopes(flow);
    let had_one = earlier.as_object().is_some_and(|members| members.contains_key(REFRESHING));
    if let (Json::Object(members), false) = (&mut flow, had_one) {
        members.remove(REFRESHING);
    }
    flow
}

fn declared_schemes(contract: &ContractVersion) -> Vec<&(String, Json)> {
    contract.apis.iter().flat_map(|api| &api.security_schemes).collect()
}

pub(super) fn match_renamed_schemes<'g>(
    old: &'g OpenApiDocument,
    new: &'g OpenApiDocument,
) -> RenamedSchemes<'g> {
    let (old, new) = (&old.security_schemes, &new.security_schemes);
    let only_in = |one: &'g [(String, Json)], other: &'g [(String, Json)]| {
        let all = one.iter().filter(|(name, _)| !other.iter().any(|(known, _)| known == name));
        all.map(|(name, scheme)| (name.as_str(), without_documentation(scheme))).collect::<Vec<_>>()
    };
    let (removed, added) = (only_in(old, new), only_in(new, old));
    let single_equal = |all: &[(&'g str, Json)], scheme: &Json| {
        let mut same = all.iter().filter(|(_, other)| other == scheme);
        same.next().map(|(name, _)| *name).filter(|_| same.next().is_none())
    };
    let pairs = removed.iter().filter_map(|(name, scheme)| {
        single_equal(&removed, scheme)?;
        Some((*name, single_equal(&added, scheme)?))
    });
    pairs.collect()
}

fn without_documentation(scheme: &Json) -> Json {
    let Json::Object(members) = scheme else { return scheme.clone() };
    let is_read = |name: &str| !matches!(name, "description" | "bearerFormat") && !name.starts_with("x-");
    let has_value = |name: &str, word: &str| members.get(name).and_then(Json::as_str) == Some(word);
    let has_no_case = |name: &str| {
        name == "scheme" && has_value("type", "http") || name == "name" && has_value("in", "header")
    };
    let members = members.iter().filter(|(name, _)| is_read(name));
    let convert = |name: &str, value: &Json| match value {
        Json::String(text) if has_no_case(name) => Json::String(text.to_ascii_lowercase()),
        Json::Object(scopes) if name == "scopes" => {
            Json::Object(scopes.keys().map(|scope| (scope.to_owned(), Json::Null)).collect())
        }
        value => without_documentation(value),
    };
    Json::Object(members.map(|(name, value)| (name.to_owned(), convert(name, value))).collect())
}

fn describe_differences(old: &Json, new: &Json, owner: &str) -> Vec<String> {
    let (Json::Object(old), Json::Object(new)) = (old, new) else {
        return if old == new { Vec::new() } else { vec!["the value changed".to_owned()] };
    };
    let mut names: Vec<&str> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let changed = names.into_iter().filter(|name| old.get(name) != new.get(name));
    let describe_property = |name: &str| {
        let (is, was) = (new.get(name), old.get(name));
        let describe = |value: Option<&Json>, format: fn(&Json) -> String| {
            value.map_or_else(|| "missing".to_owned(), format)
        };
        let (mut after, mut before) = (describe(is, format_value), describe(was, format_value));
        // If the shortened values look equal, they differ only in the part that was cut off, so the whole
        // values are shown.
        if after == before {
            (after, before) = (describe(is, format_whole_value), describe(was, format_whole_value));
        }
        format!("`{name}`{owner} changed from {before} to {after}")
    };
    changed.map(describe_property).collect()
}

fn format_whole_value(value: &Json) -> String {
    format!("`{value}`")
}
