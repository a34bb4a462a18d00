//! Who may call: schemes and scopes.

use std::collections::{BTreeMap, BTreeSet};

use contract_runtime::{Json, json::Object};

use super::{
    Version,
    enumerations::short,
    finding::Comparer,
    operations::{Calls, paired},
    places::in_document,
    rules,
};
use crate::{
    api::{Api, Operation},
    tree::{Place, escape},
};

/// What one alternative asks for: scheme and scope; no scope stands for the scheme itself.
type Needs<'g> = BTreeSet<(&'g str, Option<&'g str>)>;

impl<'g> Comparer<'g> {
    /// Compares what an operation asks of its callers.
    pub(super) fn security(&mut self, calls: &Calls<'g>) {
        let subject = calls.name();
        let places = calls.places();
        let same = BTreeMap::new();
        let renamed = self.renamed_schemes(calls.documents);
        let (before, after) =
            (alternatives(&calls.old.security, &renamed), alternatives(&calls.new.security, &same));
        self.schemes_elsewhere(calls, &renamed);
        let open = |all: &[Needs<'g>]| all.iter().any(BTreeSet::is_empty);
        let signed = |all: Vec<Needs<'g>>| all.into_iter().filter(|one| !one.is_empty()).collect::<Vec<_>>();
        let (was_open, is_open) = (open(&before), open(&after));
        let (old, new) = (signed(before), signed(after));
        let asked = new.iter().map(words).collect::<Vec<_>>().join(", or ");
        if was_open && !is_open {
            let message = format!("calls without credentials are refused: {asked} is needed");
            self.both(rules::SIGN_IN_REQUIRED, places, &subject, message);
        } else if is_open && (!was_open || !old.is_empty() && new.is_empty()) {
            let message = match was_open {
                true => "credentials are no longer looked at",
                false => "calls without credentials are answered",
            };
            self.both(rules::SIGN_IN_DROPPED, places, &subject, message.to_owned());
        }
        // Whoever satisfied an old alternative must satisfy a new one.
        let suffices = |before: &Needs<'g>| new.iter().any(|after| after.is_subset(before));
        let some_left = old.iter().any(suffices);
        for before in old.iter().filter(|before| !new.is_empty() && !suffices(before)) {
            let tokens = words(before);
            let same_schemes = |after: &&Needs<'g>| schemes(after) == schemes(before);
            let nearest =
                new.iter().filter(same_schemes).min_by_key(|after| after.difference(before).count());
            let Some(nearest) = nearest else {
                let rule =
                    if some_left { rules::SECURITY_ALTERNATIVE_REMOVED } else { rules::SECURITY_CHANGED };
                let then = if is_open { "such calls are anonymous, or " } else { "" };
                let message = format!("calls with {tokens} stop working: {then}{asked} is needed");
                self.both(rule, places, &subject, message);
                continue;
            };
            // Beside what the old tokens have and still need.
            let shared = nearest.intersection(before).any(|(_, scope)| scope.is_some());
            let too = if shared || before.is_subset(nearest) { " too" } else { "" };
            for (scheme, scope) in nearest.difference(before) {
                let scope = scope.unwrap_or_default();
                let message =
                    format!("tokens of {tokens} stop working: `{scope}` of `{scheme}` is needed{too}");
                self.both(rules::SCOPE_REQUIRED, places, &subject, message);
            }
        }
        if old.is_empty() && !is_open {
            return;
        }
        for after in new.iter().filter(|after| !old.iter().any(|before| before.is_subset(after))) {
            let before = old.iter().min_by_key(|other| other.symmetric_difference(after).count());
            let before = before.cloned().unwrap_or_default();
            let fewer: Vec<_> = before.difference(after).copied().collect();
            let reached = after.is_subset(&before) && fewer.iter().all(|(_, scope)| scope.is_some());
            if reached && !new.contains(&before) {
                for (scheme, scope) in fewer {
                    let scope = scope.unwrap_or_default();
                    let message = format!("the scope `{scope}` of `{scheme}` is no longer needed");
                    self.both(rules::SCOPE_RELEASED, places, &subject, message);
                }
            } else {
                let message = format!("{} suffices", words(after));
                self.both(rules::SECURITY_ALTERNATIVE_ADDED, places, &subject, message);
            }
        }
    }

    /// The schemes of two documents that only got another name.
    fn renamed_schemes(&mut self, documents: (&'g Api, &'g Api)) -> BTreeMap<&'g str, &'g str> {
        let (old, new) = documents;
        let known = self.schemes.entry((old.source, new.source));
        known.or_insert_with(|| renamed(old, new)).clone()
    }

    /// Compares the schemes of an operation that moved to another document, which has its own.
    fn schemes_elsewhere(&mut self, calls: &Calls<'g>, renamed: &BTreeMap<&'g str, &'g str>) {
        let (old, new) = calls.documents;
        if self.documents.contains(&(old.source, new.source)) {
            return;
        }
        let asked = asked_by(calls.new);
        for was in asked_by(calls.old) {
            let name = renamed.get(was).copied().unwrap_or(was);
            let both = scheme_of(old, was).zip(scheme_of(new, name)).filter(|_| asked.contains(name));
            let changed =
                both.map(|(old, new)| differences(&wordless(old), &wordless(new), "")).unwrap_or_default();
            if !changed.is_empty() {
                let changed = changed.join("; ");
                let message = format!("credentials of `{name}` may stop working: {changed}");
                self.both(rules::SECURITY_SCHEME_CHANGED, calls.places(), &calls.name(), message);
            }
        }
    }

    /// Compares all schemes and scopes of both contracts.
    pub(super) fn scopes(&mut self) {
        let (used, is_used) = (asked(self.old), asked(self.new));
        let (old, new) = (known(self.old, &used), known(self.new, &is_used));
        let documents = paired(self.old, self.new);
        let nowhere = (None, None);
        let (before, after) = documents.first().map_or(nowhere, |each| self.schemes_at(*each, ("", "")));
        let places = (before.as_ref(), after.as_ref());
        for scope in new.difference(&old) {
            self.both(rules::SCOPE_NEW, places, &format!("scope {scope}"), format!("`{scope}` is new"));
        }
        for scope in old.difference(&new) {
            let message = match used.contains(scope) {
                true => format!("no operation asks for `{scope}` any more"),
                false => format!("`{scope}` is no longer declared"),
            };
            self.both(rules::SCOPE_GONE, places, &format!("scope {scope}"), message);
        }
        for (earlier, later) in documents {
            for (was, is) in self.renamed_schemes((earlier, later)) {
                let (before, after) = self.schemes_at((earlier, later), (was, is));
                let message = format!("the security scheme is called `{is}`, was `{was}`");
                let subject = format!("security scheme {is}");
                let places = (before.as_ref(), after.as_ref());
                self.both(rules::SECURITY_SCHEME_RENAMED, places, &subject, message);
            }
            for (name, before) in &earlier.security_schemes {
                let same = later.security_schemes.iter().find(|(other, _)| other == name);
                let Some((_, after)) = same.filter(|(_, after)| wordless(before) != wordless(after)) else {
                    continue;
                };
                self.scheme((earlier, later), name, (before, after), (&old, &new));
            }
        }
    }

    /// Compares a scheme by its members, and each of its flows by itself; scopes that are new or gone in
    /// the whole contract were said.
    fn scheme(
        &mut self,
        documents: (&Api, &Api),
        name: &str,
        (before, after): (&Json, &Json),
        (old, new): (&BTreeSet<&str>, &BTreeSet<&str>),
    ) {
        let (old_place, new_place) = self.schemes_at(documents, (name, name));
        let places = (old_place.as_ref(), new_place.as_ref());
        let subject = format!("security scheme {name}");
        let (was, is) = (flows(before), flows(after));
        let mut changed = differences(&without_flows(before), &without_flows(after), "");
        for (flow, before) in &was {
            let Some(after) = is.get(flow) else {
                changed.push(format!("`{flow}` of `flows` is gone"));
                continue;
            };
            let of = format!(" of `{flow}`");
            changed.extend(differences(&without_scopes(before), &issuing(after, before), &of));
            let (had, has) = (scopes(before), scopes(after));
            for scope in had.difference(&has).filter(|scope| new.contains(**scope)) {
                let message = format!("`{flow}` of `{name}` does not give `{scope}` any more");
                self.both(rules::SCOPE_GONE, places, &format!("scope {scope}"), message);
            }
            for scope in has.difference(&had).filter(|scope| old.contains(**scope)) {
                let message = format!("`{flow}` of `{name}` gives `{scope}` too");
                self.both(rules::SCOPE_NEW, places, &format!("scope {scope}"), message);
            }
        }
        for flow in is.keys().filter(|flow| !was.contains_key(*flow)) {
            // Of a scheme that had none it is said what it is now.
            if !was.is_empty() {
                let message = format!("tokens by `{flow}` suffice too");
                self.both(rules::SECURITY_ALTERNATIVE_ADDED, places, &subject, message);
            }
        }
        if !changed.is_empty() {
            let changed = changed.join("; ");
            let (rule, message) = match is_asked(documents.0, name) {
                true => {
                    let message = format!("credentials of `{name}` may stop working: {changed}");
                    (rules::SECURITY_SCHEME_CHANGED, message)
                }
                false => {
                    (rules::SECURITY_SCHEME_UNASKED, format!("no operation asks for `{name}`: {changed}"))
                }
            };
            self.both(rule, places, &subject, message);
        }
    }

    /// Where schemes are declared, by their names in both versions of a document.
    fn schemes_at(&self, documents: (&Api, &Api), names: (&str, &str)) -> (Option<Place>, Option<Place>) {
        let spot = |contract: &Version, api: &Api, scheme: &str| {
            in_document(contract, api.source, &format!("/components/securitySchemes/{}", escape(scheme)))
        };
        (spot(self.old, documents.0, names.0), spot(self.new, documents.1, names.1))
    }
}

/// Whether an operation can be called with the credentials of a scheme.
fn is_asked(api: &Api, scheme: &str) -> bool {
    let mut needs =
        api.operations.iter().chain(&api.webhooks).flat_map(|operation| operation.security.iter().flatten());
    needs.any(|(name, _)| name == scheme)
}

/// The schemes that an operation asks for.
fn asked_by(operation: &Operation) -> BTreeSet<&str> {
    operation.security.iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// What a document says of a scheme.
fn scheme_of<'g>(api: &'g Api, scheme: &str) -> Option<&'g Json> {
    api.security_schemes.iter().find(|(name, _)| name == scheme).map(|(_, scheme)| scheme)
}

/// The scopes that operations ask for.
fn asked(contract: &Version) -> BTreeSet<&str> {
    let operations = contract.apis.iter().flat_map(|api| api.operations.iter().chain(&api.webhooks));
    let needs = operations.flat_map(|operation| operation.security.iter().flatten());
    needs.flat_map(|(_, scopes)| scopes.iter().map(String::as_str)).collect()
}

/// Those, and all that the schemes declare, which anybody may ask for.
fn known<'g>(contract: &'g Version, asked: &BTreeSet<&'g str>) -> BTreeSet<&'g str> {
    let declared = declared(contract).into_iter().flat_map(|(_, scheme)| flows(scheme).into_values());
    declared.flat_map(scopes).chain(asked.iter().copied()).collect()
}

/// The flows of OAuth 2 that a scheme has.
fn flows(scheme: &Json) -> BTreeMap<&str, &Json> {
    let flows = scheme.as_object().and_then(|members| members.get("flows")).and_then(Json::as_object);
    flows.into_iter().flat_map(Object::iter).filter(|(_, flow)| flow.as_object().is_some()).collect()
}

/// The scopes that a flow gives.
fn scopes(flow: &Json) -> BTreeSet<&str> {
    let scopes = flow.as_object().and_then(|members| members.get("scopes")).and_then(Json::as_object);
    scopes.into_iter().flat_map(Object::keys).collect()
}

fn without_flows(scheme: &Json) -> Json {
    let mut scheme = wordless(scheme);
    let flows: Vec<String> = flows(&scheme).into_keys().map(str::to_owned).collect();
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
    let mut flow = wordless(flow);
    if let Json::Object(members) = &mut flow {
        members.remove("scopes");
    }
    flow
}

/// A flow without its scopes, and without an address to refresh tokens that there was none of: nobody
/// used it.
fn issuing(flow: &Json, earlier: &Json) -> Json {
    const REFRESHING: &str = "refreshUrl";
    let mut flow = without_scopes(flow);
    let had_one = earlier.as_object().is_some_and(|members| members.contains_key(REFRESHING));
    if let (Json::Object(members), false) = (&mut flow, had_one) {
        members.remove(REFRESHING);
    }
    flow
}

/// The schemes of all documents.
fn declared(contract: &Version) -> Vec<&(String, Json)> {
    contract.apis.iter().flat_map(|api| &api.security_schemes).collect()
}

/// Schemes that only got another name, old to new: what is gone is what the one new scheme is that says
/// the same.
fn renamed<'g>(old: &'g Api, new: &'g Api) -> BTreeMap<&'g str, &'g str> {
    let (old, new) = (&old.security_schemes, &new.security_schemes);
    let alone = |own: &'g [(String, Json)], other: &'g [(String, Json)]| {
        let all = own.iter().filter(|(name, _)| !other.iter().any(|(known, _)| known == name));
        all.map(|(name, scheme)| (name.as_str(), wordless(scheme))).collect::<Vec<_>>()
    };
    let (gone, added) = (alone(old, new), alone(new, old));
    let only = |all: &[(&'g str, Json)], scheme: &Json| {
        let mut same = all.iter().filter(|(_, other)| other == scheme);
        same.next().map(|(name, _)| *name).filter(|_| same.next().is_none())
    };
    let pairs = gone.iter().filter_map(|(name, scheme)| {
        only(&gone, scheme)?;
        Some((*name, only(&added, scheme)?))
    });
    pairs.collect()
}

/// Without what is only read by people: descriptions, also those of scopes, hints at what a token is
/// (OpenAPI 3.1, 4.8.27), and what only its authors know the meaning of. What has no case is small
/// (RFC 9110, 5.1 and 11.1).
fn wordless(scheme: &Json) -> Json {
    let Json::Object(members) = scheme else { return scheme.clone() };
    let is_read = |name: &str| !matches!(name, "description" | "bearerFormat") && !name.starts_with("x-");
    let says = |name: &str, word: &str| members.get(name).and_then(Json::as_str) == Some(word);
    let has_no_case =
        |name: &str| name == "scheme" && says("type", "http") || name == "name" && says("in", "header");
    let members = members.iter().filter(|(name, _)| is_read(name));
    let without = |name: &str, value: &Json| match value {
        Json::String(text) if has_no_case(name) => Json::String(text.to_ascii_lowercase()),
        Json::Object(scopes) if name == "scopes" => {
            Json::Object(scopes.keys().map(|scope| (scope.to_owned(), Json::Null)).collect())
        }
        value => wordless(value),
    };
    Json::Object(members.map(|(name, value)| (name.to_owned(), without(name, value))).collect())
}

/// The members that are different, in words.
fn differences(old: &Json, new: &Json, of: &str) -> Vec<String> {
    let (Json::Object(old), Json::Object(new)) = (old, new) else {
        return if old == new { Vec::new() } else { vec!["it is another one".to_owned()] };
    };
    let mut names: Vec<&str> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let changed = names.into_iter().filter(|name| old.get(name) != new.get(name));
    let each = |name: &str| {
        let (is, was) = (new.get(name), old.get(name));
        let said = |value: Option<&Json>, words: fn(&Json) -> String| {
            value.map_or_else(|| "missing".to_owned(), words)
        };
        let (mut after, mut before) = (said(is, short), said(was, short));
        // What differs may stand behind where a long text is cut.
        if after == before {
            (after, before) = (said(is, whole), said(was, whole));
        }
        format!("`{name}`{of} is {after}, was {before}")
    };
    changed.map(each).collect()
}

fn whole(value: &Json) -> String {
    format!("`{value}`")
}

/// The schemes without their scopes.
fn schemes<'g>(needs: &Needs<'g>) -> BTreeSet<&'g str> {
    needs.iter().map(|(scheme, _)| *scheme).collect()
}

/// What suffices, the schemes by what they are called now.
fn alternatives<'g>(
    security: &'g [Vec<(String, Vec<String>)>],
    renamed: &BTreeMap<&'g str, &'g str>,
) -> Vec<Needs<'g>> {
    if security.is_empty() {
        return vec![Needs::new()];
    }
    security.iter().map(|alternative| needs(alternative, renamed)).collect()
}

fn needs<'g>(alternative: &'g [(String, Vec<String>)], renamed: &BTreeMap<&'g str, &'g str>) -> Needs<'g> {
    let mut needs = Needs::new();
    for (scheme, scopes) in alternative {
        let scheme = renamed.get(scheme.as_str()).copied().unwrap_or(scheme);
        needs.insert((scheme, None));
        needs.extend(scopes.iter().map(|scope| (scheme, Some(scope.as_str()))));
    }
    needs
}

/// `` `oauth` with `read` and `write` ``; schemes that go together one after the other.
fn words(needs: &Needs<'_>) -> String {
    let each = |scheme: &str| {
        let scopes = needs.iter().filter(|(other, _)| *other == scheme).filter_map(|(_, scope)| *scope);
        let scopes: Vec<String> = scopes.map(|scope| format!("`{scope}`")).collect();
        let with = if scopes.is_empty() { "" } else { " with " };
        format!("`{scheme}`{with}{}", scopes.join(" and "))
    };
    schemes(needs).into_iter().map(each).collect::<Vec<_>>().join(" together with ")
}
