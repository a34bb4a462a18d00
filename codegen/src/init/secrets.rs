//! Finds schemas that look like secrets because of the name of their property, `format: password`,
//! `writeOnly` or their description.

use std::collections::BTreeMap;

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    conjunction::{SchemaConjunction, SchemaFacts},
    generate::shortest_selector,
    schema::{SchemaId, TypeSet},
};
use heck::ToSnakeCase as _;

/// The typical last words of the names of properties that contain secrets.
const SECRET_WORDS: [&str; 13] = [
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
/// The typical last two words of the names of properties that contain secrets.
const SECRET_WORD_PAIRS: [(&str, &str); 5] =
    [("api", "key"), ("private", "key"), ("access", "key"), ("signing", "key"), ("session", "key")];
/// Phrases that are typical of the descriptions of secrets.
const SECRET_PHRASES: [&str; 30] = [
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
    "is secret",
    "is a secret",
    "is confidential",
    "a secret value",
    "the secret value",
    "secret used to",
    "secret that",
    "must be kept private",
    "keep this private",
    "do not share",
    "never share",
    "must not be logged",
    "must not be shared",
    "not be shown again",
    "store it securely",
    "store this securely",
];
/// Words that, before `token`, `key` or another last word, name a position, a version or a request instead of a
/// secret: `nextToken`, `batch_token`, `idempotency_key`. The property is a secret only if the contract declares it,
/// by `format: password`, `writeOnly` or its description.
const HARMLESS_WORDS: [&str; 28] = [
    "page",
    "paging",
    "pagination",
    "next",
    "previous",
    "prev",
    "continuation",
    "continue",
    "sync",
    "cursor",
    "offset",
    "position",
    "resume",
    "scroll",
    "checkpoint",
    "watermark",
    "delta",
    "batch",
    "version",
    "revision",
    "concurrency",
    "lock",
    "etag",
    "idempotency",
    "idempotent",
    "dedup",
    "deduplication",
    "correlation",
];

/// Returns the selectors of schemas that look like secrets, each with the reason, sorted by selector.
pub(super) fn find_secrets(contract: &AnalyzedContract) -> Vec<(String, String)> {
    let graph = &contract.graph;
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let named = graph.ids().flat_map(|id| &graph.schema(id).properties);
    let named = named.map(|(name, member)| (Some(name.as_str()), *member));
    // Schemas without a property name, such as those of items, map values, components and parameters, can be
    // secrets as well.
    let all = named.chain(graph.ids().map(|id| (None, id)));
    for (name, member) in all {
        // If the schema is only a reference, its target is recorded as the secret.
        let target = contract.shapes.aliases.get(&member).copied().unwrap_or(member);
        let schemas = [graph.schema(member), graph.schema(target)];
        let password = schemas.iter().any(|s| s.format.as_deref() == Some("password"));
        let why = if password {
            "has `format: password`".to_owned()
        } else if schemas.iter().any(|s| s.write_only) {
            "is `writeOnly`".to_owned()
        } else if let Some(name) = name.filter(|name| is_secret_name(name)) {
            format!("is named `{name}`")
        } else if let Some(phrase) = schemas.iter().find_map(|s| secret_phrase(s.description.as_deref()?)) {
            format!("is described as \"{phrase}\"")
        } else {
            continue;
        };
        if is_free_string(contract, target) {
            found.entry(shortest_selector(graph, target)).or_insert(why);
        }
    }
    found.into_iter().collect()
}

/// Returns true if a property name ends with words that are typical of secrets, and none of its words is typical of
/// cursors, versions and requests.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_snake_case();
    let words: Vec<&str> = name.split('_').collect();
    if words.iter().any(|word| HARMLESS_WORDS.contains(word)) {
        return false;
    }
    match words.as_slice() {
        [.., before, last] => SECRET_WORDS.contains(last) || SECRET_WORD_PAIRS.contains(&(before, last)),
        [only] => SECRET_WORDS.contains(only),
        [] => false,
    }
}

/// Returns the phrase in a description that indicates a secret, or `None` if there is none.
fn secret_phrase(description: &str) -> Option<&'static str> {
    let words: Vec<&str> = description.split_whitespace().collect();
    let text = words.join(" ").to_lowercase();
    SECRET_PHRASES.into_iter().find(|phrase| text.contains(phrase))
}

/// Returns true if the schema accepts strings and does not enumerate them. Enumerated strings are not
/// secrets.
fn is_free_string(contract: &AnalyzedContract, id: SchemaId) -> bool {
    let facts = SchemaFacts::from_conjunction(
        &contract.graph,
        &SchemaConjunction::from_schema(id),
        contract.options.implied_objects,
    );
    let listed = facts.unconditional.iter().map(|id| contract.graph.schema(*id));
    facts.types.difference(TypeSet::NULL) == TypeSet::STRING
        && !listed.into_iter().any(|s| s.enumeration.is_some() || s.constant.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_reveal_secrets() {
        assert_eq!(secret_phrase("The signing value.\n\n**Keep this\nsecret.**"), Some("keep this secret"));
        assert_eq!(secret_phrase("It is shown only once."), Some("shown only once"));
        assert_eq!(secret_phrase("This value is secret."), Some("is secret"));
        assert_eq!(secret_phrase("No secret: a name that everyone sees."), None);
    }

    #[test]
    fn names_of_secrets_end_like_secrets() {
        for name in ["password", "newPassword", "client_secret", "accessToken", "apiKey", "X-Api-Key", "cvv"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["token_type", "secretName", "passwordHint", "key", "tokens", "monkey"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn cursors_versions_and_request_ids_are_no_secrets() {
        for name in [
            "nextPageToken",
            "next_page_token",
            "page_token",
            "previousToken",
            "continuationToken",
            "sync_token",
            "nextSyncToken",
            "cursorToken",
            "resume_token",
            "scrollToken",
            "batch_token",
            "version_token",
            "deltaToken",
            "idempotency_token",
            "Idempotency-Token",
            "dedup_token",
            "optimistic_lock_token",
            "etag_token",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
        for name in ["token", "session_token", "refreshToken", "csrfToken", "webhook_secret", "device_token"]
        {
            assert!(is_secret_name(name), "{name}");
        }
    }
}
