//! Writes challenges for the header `WWW-Authenticate` (RFC 9110, 11.6.1).

use super::{SchemeKind, SecurityScheme, SecurityTable};
use crate::operation::Operation;

/// Writes the challenges of an operation.
pub(super) struct ChallengeWriter<'a> {
    pub(super) security: &'a SecurityTable,
    pub(super) operation: &'a Operation,
    pub(super) realm: String,
}

impl ChallengeWriter<'_> {
    /// Returns one challenge for each scheme of the operation, in the order of the contract, without
    /// duplicates. `own` returns the user's challenge for a scheme; an empty one is left out.
    ///
    /// HTTP defines no challenge for the certificate of a connection, so such a scheme has one only if the
    /// operation has no other scheme.
    pub(super) fn challenges(
        &self,
        own: &dyn Fn(&SecurityScheme) -> Option<String>,
        is_invalid: &dyn Fn(usize) -> bool,
    ) -> String {
        let mut found: Vec<String> = Vec::new();
        let mut last: Vec<String> = Vec::new();
        for &scheme in (self.security.requirements)(self.operation).iter().copied().flatten() {
            let Some(row) = self.security.schemes.get(scheme) else { continue };
            let (text, list) = match own(row) {
                Some(text) => (text, &mut found),
                None if row.kind == SchemeKind::Connection => {
                    (self.parameters("ClientCertificate", &[]), &mut last)
                }
                None => (self.default_challenge(scheme, row.kind, is_invalid(scheme)), &mut found),
            };
            if !text.is_empty() && !list.contains(&text) {
                list.push(text);
            }
        }
        if found.is_empty() { last.join(", ") } else { found.join(", ") }
    }

    /// Returns the challenge for a token without the required scopes (RFC 6750, 3.1).
    pub(super) fn insufficient_scope(&self, scheme: usize, scopes: &[&str]) -> Option<String> {
        let row = self.security.schemes.get(scheme)?;
        let scopes = scopes.join(" ");
        matches!(row.kind, SchemeKind::Bearer { .. })
            .then(|| self.parameters("Bearer", &[("error", "insufficient_scope"), ("scope", &scopes)]))
    }

    fn default_challenge(&self, scheme: usize, kind: SchemeKind, is_invalid: bool) -> String {
        match kind {
            SchemeKind::Bearer { .. } => {
                let mut rows = (self.security.scopes)(self.operation).iter();
                let scopes = rows.find(|row| row.scheme == scheme).map(|row| row.names.join(" "));
                // Without a credential, the challenge contains no error (RFC 6750, 3.1).
                let error = is_invalid.then_some(("error", "invalid_token"));
                let scope = scopes.as_deref().map(|scopes| ("scope", scopes));
                self.parameters("Bearer", &error.into_iter().chain(scope).collect::<Vec<_>>())
            }
            SchemeKind::Basic => self.parameters("Basic", &[("charset", "UTF-8")]),
            SchemeKind::Authorization(word) => self.parameters(word, &[]),
            SchemeKind::Header(name) => self.parameters("ApiKey", &[("in", "header"), ("name", name)]),
            SchemeKind::Query(name) => self.parameters("ApiKey", &[("in", "query"), ("name", name)]),
            SchemeKind::Cookie(name) => self.parameters("ApiKey", &[("in", "cookie"), ("name", name)]),
            SchemeKind::Connection => String::new(),
        }
    }

    /// Returns a challenge with `realm` and other parameters, all of them quoted strings.
    fn parameters(&self, scheme: &str, others: &[(&str, &str)]) -> String {
        let mut text = format!("{scheme} realm={}", quote(&self.realm));
        for (name, value) in others {
            text.push_str(&format!(", {name}={}", quote(value)));
        }
        text
    }
}

/// Returns a quoted string (RFC 9110, 5.6.4). Characters other than visible ASCII become `?`.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(if c.is_ascii_graphic() || c == ' ' { c } else { '?' });
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_strings_are_visible_ascii() {
        assert_eq!(quote(r#"The "Vault" \ ärger"#), r#""The \"Vault\" \\ ?rger""#);
    }
}
