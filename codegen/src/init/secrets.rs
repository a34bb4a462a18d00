//! Members that look like secrets: by name, by `format: password`, by `writeOnly`, by what is said
//! about them.

use std::collections::BTreeMap;

use heck::ToSnakeCase as _;

use crate::{
    generate::selector,
    reading::Reading,
    schema::{SchemaId, Types},
    together::{Conj, Facts},
};

/// Last words of a secret's name.
const WORDS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "privatekey",
    "jwt",
    "otp",
    "cvv",
    "cvc",
];
/// Last two words of a secret's name.
const PAIRS: [(&str, &str); 5] =
    [("api", "key"), ("private", "key"), ("access", "key"), ("signing", "key"), ("session", "key")];
/// What is said of secrets.
const SAID: [&str; 14] = [
    "keep this secret",
    "keep it secret",
    "kept secret",
    "keep secret",
    "keep this confidential",
    "kept confidential",
    "treat this as a password",
    "like a password",
    "do not log",
    "never log",
    "only shown once",
    "shown only once",
    "client secret",
    "bearer token",
];
/// Words that make a token a place in a list.
const HARMLESS: [&str; 7] = ["page", "next", "previous", "prev", "continuation", "sync", "cursor"];

/// Selectors of schemas that look like secrets, and why, by selector.
pub(super) fn secrets(contract: &Reading) -> Vec<(String, String)> {
    let graph = &contract.graph;
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for id in graph.ids() {
        for (name, member) in &graph.schema(id).properties {
            // Whoever holds a reference holds what it names.
            let target = contract.shapes.aliases.get(member).copied().unwrap_or(*member);
            let schemas = [graph.schema(*member), graph.schema(target)];
            let password = schemas.iter().any(|s| s.format.as_deref() == Some("password"));
            let why = if password {
                "format: password".to_owned()
            } else if schemas.iter().any(|s| s.write_only) {
                "writeOnly".to_owned()
            } else if is_secret(name) {
                format!("called `{name}`")
            } else if let Some(said) = schemas.iter().find_map(|s| said(s.description.as_deref()?)) {
                format!("\"{said}\"")
            } else {
                continue;
            };
            if is_text(contract, target) {
                found.entry(selector(graph, target)).or_insert(why);
            }
        }
    }
    found.into_iter().collect()
}

/// Whether a name ends like those of secrets.
fn is_secret(name: &str) -> bool {
    let name = name.to_snake_case();
    let words: Vec<&str> = name.split('_').collect();
    if words.iter().any(|word| HARMLESS.contains(word)) {
        return false;
    }
    match words.as_slice() {
        [.., before, last] => WORDS.contains(last) || PAIRS.contains(&(before, last)),
        [only] => WORDS.contains(only),
        [] => false,
    }
}

/// What a description says that only secrets are said.
fn said(description: &str) -> Option<&'static str> {
    let words: Vec<&str> = description.split_whitespace().collect();
    let text = words.join(" ").to_lowercase();
    SAID.into_iter().find(|said| text.contains(said))
}

/// Whether any string can stand there; a listed one is no secret.
fn is_text(contract: &Reading, id: SchemaId) -> bool {
    let facts = Facts::of(&contract.graph, &Conj::one(id), contract.options.implied_objects);
    let listed = facts.members.iter().map(|id| contract.graph.schema(*id));
    facts.types.without(Types::NULL) == Types::STRING
        && !listed.into_iter().any(|s| s.enumeration.is_some() || s.constant.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_spoken_of_like_secrets() {
        assert_eq!(said("The signing value.\n\n**Keep this\nsecret.**"), Some("keep this secret"));
        assert_eq!(said("It is shown only once."), Some("shown only once"));
        assert_eq!(said("No secret about it: a name that everybody sees."), None);
    }

    #[test]
    fn names_of_secrets_end_like_secrets() {
        for name in ["password", "newPassword", "client_secret", "accessToken", "apiKey", "X-Api-Key", "cvv"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["token_type", "secretName", "nextPageToken", "passwordHint", "key", "tokens", "monkey"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
