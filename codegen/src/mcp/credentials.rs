//! Reads the credentials of a contract's security schemes from environment variables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_codegen_core::{
    credentials::{self, CredentialScheme, SecuritySchemeKind},
    names,
};
use contract_runtime::{
    client::credentials::{ClientCredentials, Keyring},
    operation::Operation,
    security::{SchemeKind, SecurityRequirement, SecurityScheme, SecurityTable},
};

use super::ContractTools;

/// The environment variables of one security scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialVariables {
    /// The name of the scheme in the contract.
    pub scheme: String,
    /// The alternatives. All variables of one alternative are required together.
    pub alternatives: Vec<Vec<String>>,
    /// The number of listed tools that may need the credential.
    pub tools: usize,
}

impl CredentialVariables {
    /// Returns true if all variables of an alternative are set. Empty variables count as not set.
    #[must_use]
    pub fn is_set(&self, variable: &dyn Fn(&str) -> Option<String>) -> bool {
        let is_set = |name: &String| read_variable(variable, name).is_some();
        self.alternatives.iter().any(|all| all.iter().all(is_set))
    }

    /// Returns the variables as text, such as `OAUTH_TOKEN, or OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET`.
    #[must_use]
    pub fn describe(&self) -> String {
        let all: Vec<String> = self.alternatives.iter().map(|names| names.join(" and ")).collect();
        all.join(", or ")
    }
}

fn read_variable(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

/// Returns the first part of the names of a scheme's variables: `bearerAuth` becomes `BEARER_AUTH`.
fn variable_stems(schemes: &[CredentialScheme<'_>]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut by_name: BTreeMap<&str, String> = BTreeMap::new();
    let mut wires: Vec<&str> = schemes.iter().map(|scheme| scheme.name).collect();
    wires.sort_unstable();
    for wire in wires {
        let stem = names::constant_name(wire);
        let numbered = (2_u32..).map(|number| format!("{stem}_{number}"));
        let free = std::iter::once(stem.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
        by_name.insert(wire, free.unwrap_or(stem));
    }
    schemes.iter().map(|scheme| by_name.get(scheme.name).cloned().unwrap_or_default()).collect()
}

/// Adds a suffix such as `_API_KEY`, unless the name already ends with its last word.
fn with_suffix(stem: &str, suffix: &str) -> String {
    let word = suffix.rsplit('_').next().unwrap_or(suffix);
    let is_complete = stem == word || stem.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'));
    if is_complete { stem.to_owned() } else { format!("{stem}_{suffix}") }
}

/// Returns the alternatives of the variables of a scheme. The first one contains the secret itself.
fn scheme_variables(stem: &str, kind: &SecuritySchemeKind) -> Vec<Vec<String>> {
    let both = |one: &str, other: &str| vec![format!("{stem}_{one}"), format!("{stem}_{other}")];
    match kind {
        SecuritySchemeKind::Header(_) | SecuritySchemeKind::Query(_) | SecuritySchemeKind::Cookie(_) => {
            vec![vec![with_suffix(stem, "API_KEY")]]
        }
        SecuritySchemeKind::Basic => vec![both("USERNAME", "PASSWORD")],
        SecuritySchemeKind::BearerToken { token_url } if !token_url.is_empty() => {
            vec![vec![with_suffix(stem, "TOKEN")], both("CLIENT_ID", "CLIENT_SECRET")]
        }
        SecuritySchemeKind::BearerToken { .. } | SecuritySchemeKind::HttpScheme(_) => {
            vec![vec![with_suffix(stem, "TOKEN")]]
        }
        SecuritySchemeKind::MutualTls => Vec::new(),
    }
}

impl ContractTools {
    /// Returns the environment variables of all security schemes that listed tools may need.
    #[must_use]
    pub fn credential_variables(&self) -> Vec<CredentialVariables> {
        let schemes = credentials::used_schemes(self.mock.plan);
        let stems = variable_stems(&schemes);
        let all = schemes.iter().zip(stems).map(|(scheme, stem)| {
            let needs = self.listed().filter(|tool| {
                let security = &self.mock.plan.calls[tool.at].operation.security;
                security.iter().flatten().any(|(name, _)| name == scheme.name)
            });
            CredentialVariables {
                scheme: scheme.name.to_owned(),
                alternatives: scheme_variables(&stem, &scheme.kind),
                tools: needs.count(),
            }
        });
        all.filter(|each| !each.alternatives.is_empty() && each.tools > 0).collect()
    }

    /// Returns the credentials in environment variables, for [`Keyring::wrap`]. `variable` returns the value of a
    /// variable. The requirements of each operation are those of its `security`.
    #[must_use]
    pub fn read_credentials(&self, variable: &dyn Fn(&str) -> Option<String>) -> Keyring {
        let schemes = credentials::used_schemes(self.mock.plan);
        let stems = variable_stems(&schemes);
        let rows: Vec<SecurityScheme> = schemes.iter().map(scheme_row).collect();
        let none: fn(&Operation) -> &'static [SecurityRequirement] = |_| &[];
        let table = SecurityTable { schemes: rows.leak(), requirements: none, scopes: |_| &[] };
        let mut keyring = Keyring::new(table).with_requirements(self.requirements(&schemes));
        for (index, (scheme, stem)) in schemes.iter().zip(stems).enumerate() {
            for names in scheme_variables(&stem, &scheme.kind).iter().rev() {
                let values: Option<Vec<String>> =
                    names.iter().map(|name| read_variable(variable, name)).collect();
                keyring = match (values.as_deref(), &scheme.kind) {
                    (Some([name, password]), SecuritySchemeKind::Basic) => {
                        keyring.basic(index, name, password)
                    }
                    (Some([id, secret]), _) => {
                        let client = ClientCredentials::new(id.as_str(), secret.as_str());
                        keyring.client(index, client.with_scopes(self.scopes(scheme.name)))
                    }
                    (Some([secret]), _) => keyring.secret(index, secret.as_str()),
                    _ => keyring,
                };
            }
        }
        keyring
    }

    /// Returns a function that returns the alternatives of an operation's `security`, as indices of schemes.
    fn requirements(
        &self,
        schemes: &[CredentialScheme<'_>],
    ) -> impl Fn(&Operation) -> &'static [SecurityRequirement] + Send + Sync + use<> {
        let index =
            |name: &String| schemes.iter().position(|scheme| scheme.name == name).unwrap_or(schemes.len());
        let rows = self.mock.plan.calls.iter().map(|call| {
            let alternatives =
                credentials::ordered_alternatives(call.operation, schemes).into_iter().map(|all| {
                    let indices: Vec<usize> = all.iter().map(|(name, _)| index(name)).collect();
                    &*indices.leak()
                });
            let alternatives: Vec<SecurityRequirement> = alternatives.collect();
            (call.operation.id.as_str(), &*alternatives.leak())
        });
        let rows: HashMap<&'static str, &'static [SecurityRequirement]> = rows.collect();
        move |operation| rows.get(operation.id).copied().unwrap_or_default()
    }

    /// Returns the scopes of a scheme that listed tools require.
    fn scopes(&self, scheme: &str) -> BTreeSet<String> {
        let security = self.listed().flat_map(|tool| &self.mock.plan.calls[tool.at].operation.security);
        let own = security.flatten().filter(|(name, _)| name == scheme);
        own.flat_map(|(_, scopes)| scopes.iter().cloned()).collect()
    }
}

fn scheme_row(scheme: &CredentialScheme<'_>) -> SecurityScheme {
    let leak = |text: &str| -> &'static str { text.to_owned().leak() };
    let kind = match &scheme.kind {
        SecuritySchemeKind::Header(name) => SchemeKind::Header(leak(name)),
        SecuritySchemeKind::Query(name) => SchemeKind::Query(leak(name)),
        SecuritySchemeKind::Cookie(name) => SchemeKind::Cookie(leak(name)),
        SecuritySchemeKind::Basic => SchemeKind::Basic,
        SecuritySchemeKind::BearerToken { token_url } => SchemeKind::Bearer { token_url: leak(token_url) },
        SecuritySchemeKind::HttpScheme(word) => SchemeKind::Authorization(leak(word)),
        SecuritySchemeKind::MutualTls => SchemeKind::Connection,
    };
    SecurityScheme { name: leak(scheme.name), kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_do_not_repeat_the_kind() {
        for (stem, suffix, expected) in [
            ("API_KEY", "API_KEY", "API_KEY"),
            ("KEY", "API_KEY", "KEY"),
            ("X_KEY", "API_KEY", "X_KEY"),
            ("MONKEY", "API_KEY", "MONKEY_API_KEY"),
            ("BEARER_AUTH", "TOKEN", "BEARER_AUTH_TOKEN"),
            ("TOKEN", "TOKEN", "TOKEN"),
        ] {
            assert_eq!(with_suffix(stem, suffix), expected);
        }
    }
}
