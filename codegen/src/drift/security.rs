//! Who may call: schemes and scopes.

use std::collections::BTreeSet;

use contract_runtime::Json;

use super::{Version, finding::Comparer, operations::Calls, rules};

/// What one alternative asks for: scheme and scope; no scope stands for the scheme itself.
type Needs<'g> = BTreeSet<(&'g str, Option<&'g str>)>;

impl<'g> Comparer<'g> {
    /// Compares what an operation asks of its callers.
    pub(super) fn security(&mut self, calls: &Calls<'g>) {
        let subject = calls.name();
        let places = calls.places();
        let (old, new) = (alternatives(&calls.old.security), alternatives(&calls.new.security));
        let open = |all: &[Needs<'g>]| all.iter().any(BTreeSet::is_empty);
        match (open(&old), open(&new)) {
            (true, true) => return,
            (true, false) => {
                self.both(
                    rules::SIGN_IN_REQUIRED,
                    places,
                    &subject,
                    "anonymous calls are refused".to_owned(),
                );
                return;
            }
            (false, true) => {
                self.both(
                    rules::SIGN_IN_DROPPED,
                    places,
                    &subject,
                    "anonymous calls are answered".to_owned(),
                );
                return;
            }
            (false, false) => {}
        }
        let nearest = |wanted: &Needs<'g>, all: &'_ [Needs<'g>]| {
            all.iter()
                .min_by_key(|other| other.symmetric_difference(wanted).count())
                .cloned()
                .unwrap_or_default()
        };
        // Whoever satisfied an old alternative must satisfy a new one.
        for before in &old {
            if new.iter().any(|after| after.is_subset(before)) {
                continue;
            }
            let after = nearest(before, &new);
            let missing: Vec<_> = after.difference(before).copied().collect();
            let same_schemes = missing.iter().all(|(_, scope)| scope.is_some());
            if same_schemes {
                for (scheme, scope) in missing {
                    let message =
                        format!("the scope `{}` of `{scheme}` is needed", scope.unwrap_or_default());
                    self.both(rules::SCOPE_REQUIRED, places, &subject, message);
                }
            } else {
                let message = format!("{} is needed, {} sufficed", words(&after), words(before));
                self.both(rules::SECURITY_CHANGED, places, &subject, message);
            }
        }
        for after in &new {
            if old.iter().any(|before| before.is_subset(after)) {
                continue;
            }
            let before = nearest(after, &old);
            let fewer: Vec<_> = before.difference(after).copied().collect();
            let reached = after.is_subset(&before) && fewer.iter().all(|(_, scope)| scope.is_some());
            if reached && !new.contains(&before) {
                for (scheme, scope) in fewer {
                    let message = format!(
                        "the scope `{}` of `{scheme}` is no longer needed",
                        scope.unwrap_or_default()
                    );
                    self.both(rules::SCOPE_RELEASED, places, &subject, message);
                }
            } else {
                let message = format!("{} suffices", words(after));
                self.both(rules::SECURITY_ALTERNATIVE_ADDED, places, &subject, message);
            }
        }
    }

    /// Compares all schemes and scopes of both contracts.
    pub(super) fn scopes(&mut self) {
        let all = |contract: &'g Version| {
            let operations = contract.apis.iter().flat_map(|api| api.operations.iter().chain(&api.webhooks));
            let needs = operations.flat_map(|operation| operation.security.iter().flatten());
            needs.flat_map(|(_, scopes)| scopes.iter().map(String::as_str)).collect::<BTreeSet<_>>()
        };
        let (old, new) = (all(self.old), all(self.new));
        for scope in new.difference(&old) {
            self.both(rules::SCOPE_NEW, (None, None), &format!("scope {scope}"), format!("`{scope}` is new"));
        }
        for scope in old.difference(&new) {
            let message = format!("no operation asks for `{scope}` any more");
            self.both(rules::SCOPE_GONE, (None, None), &format!("scope {scope}"), message);
        }
        let schemes = |contract: &'g Version| {
            contract.apis.iter().flat_map(|api| &api.security_schemes).collect::<Vec<_>>()
        };
        let new = schemes(self.new);
        for (name, before) in schemes(self.old) {
            let Some((_, after)) = new.iter().find(|(other, _)| other == name) else { continue };
            if wordless(before) != wordless(after) {
                let message = format!("the scheme `{name}` is described differently");
                self.both(
                    rules::SECURITY_SCHEME_CHANGED,
                    (None, None),
                    &format!("security scheme {name}"),
                    message,
                );
            }
        }
    }
}

/// Without members that are only read by people.
fn wordless(scheme: &Json) -> Json {
    let mut scheme = scheme.clone();
    if let Json::Object(members) = &mut scheme {
        members.remove("description");
    }
    scheme
}

fn alternatives(security: &[Vec<(String, Vec<String>)>]) -> Vec<Needs<'_>> {
    if security.is_empty() {
        return vec![Needs::new()];
    }
    security.iter().map(|alternative| needs(alternative)).collect()
}

fn needs(alternative: &[(String, Vec<String>)]) -> Needs<'_> {
    let mut needs = Needs::new();
    for (scheme, scopes) in alternative {
        needs.insert((scheme.as_str(), None));
        needs.extend(scopes.iter().map(|scope| (scheme.as_str(), Some(scope.as_str()))));
    }
    needs
}

fn words(needs: &Needs<'_>) -> String {
    let each = |(scheme, scope): &(&str, Option<&str>)| match scope {
        Some(scope) => format!("`{scope}`"),
        None => format!("`{scheme}`"),
    };
    needs.iter().map(each).collect::<Vec<_>>().join(" with ")
}
