//! Sets of OAuth scopes, and the check of the scopes that a client requests (IDP-05, IDP-06).

use std::collections::BTreeSet;

use exchange_api::oauth_errors::OauthError;
use exchange_api::scopes::Scope;

use super::oauth_error_response::OauthErrorResponse;
use crate::registry::RegisteredClient;

/// The scope with which a connection outlives the member's browser session (IDP-08).
pub const OFFLINE_ACCESS: &str = "offline_access";

/// A set of scopes that a client requested or was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeSet(BTreeSet<String>);

impl ScopeSet {
    /// Parses a space-separated list of scopes, and checks each scope (RFC 6749, section 3.3).
    ///
    /// # Errors
    /// Returns `invalid_scope` if the list contains no scope of the exchange, or if it contains a scope that does not exist or for
    /// which the client is not registered. The scopes `openid`, `profile` and `email` do not exist, because
    /// clients must not learn the member's identity (IDP-06).
    pub(super) fn parse_requested(text: &str, client: &RegisteredClient) -> Result<Self, OauthErrorResponse> {
        let scopes = Self::from_stored(text);
        // `offline_access` alone permits nothing, so the consent page would have nothing to show.
        if scopes.0.iter().all(|scope| scope == OFFLINE_ACCESS) {
            return Err(OauthErrorResponse::new(
                OauthError::InvalidScope,
                "no scope of the exchange was requested",
            ));
        }
        let allowed = |scope: &String| {
            scope == OFFLINE_ACCESS || Scope::from(scope.as_str()).is_known() && client.scopes.contains(scope)
        };
        if scopes.0.iter().all(allowed) {
            Ok(scopes)
        } else {
            let description = "unknown scope, or the client is not registered for it";
            Err(OauthErrorResponse::new(OauthError::InvalidScope, description))
        }
    }

    /// Parses stored scopes, which were checked before they were stored.
    pub(super) fn from_stored(text: &str) -> Self {
        Self(text.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the subset of scopes that a refresh requests (RFC 6749, section 6). Without a request, returns
    /// all scopes.
    ///
    /// # Errors
    /// Returns `invalid_scope` if the requested list is empty or is not a subset.
    pub(super) fn narrow_to(&self, requested: Option<&str>) -> Result<Self, OauthErrorResponse> {
        let Some(requested) = requested else { return Ok(self.clone()) };
        let requested = Self::from_stored(requested);
        if !requested.0.is_empty() && requested.0.is_subset(&self.0) {
            Ok(requested)
        } else {
            Err(OauthErrorResponse::new(
                OauthError::InvalidScope,
                "the requested scopes exceed the granted ones",
            ))
        }
    }

    /// Formats the set as a space-separated string, as in the store and in responses.
    #[must_use]
    pub fn to_scope_string(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Returns true if the connection outlives the browser session (IDP-08).
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.0.contains(OFFLINE_ACCESS)
    }

    /// Returns the scopes of the exchange in the order of the contract. Each one is a line of the consent
    /// page (WEB-03).
    pub fn capabilities(&self) -> impl Iterator<Item = &'static Scope> {
        Scope::ALL.iter().filter(|scope| self.0.contains(scope.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> RegisteredClient {
        let scopes = ["exchange.connect", "exchange.stock.read", "exchange.future"];
        RegisteredClient {
            name: "A client".to_owned(),
            suspended: false,
            scopes: scopes.map(str::to_owned).into(),
            min_version: None,
            requests_per_minute: None,
            writes_per_day: None,
        }
    }

    /// IDP-05, IDP-06: a client gets only scopes for which it is registered, and none that identify the
    /// member.
    #[test]
    fn only_registered_scopes_are_granted() {
        let check = |text: &str, expect: Option<&str>| {
            let requested = ScopeSet::parse_requested(text, &client());
            let code = requested.as_ref().map_err(OauthErrorResponse::error_code);
            match expect {
                Some(expect) => assert_eq!(code.unwrap().to_scope_string(), expect, "{text}"),
                None => assert_eq!(code.unwrap_err(), "invalid_scope", "{text}"),
            }
        };
        check("exchange.connect offline_access", Some("exchange.connect offline_access"));
        check(" exchange.stock.read  exchange.connect", Some("exchange.connect exchange.stock.read"));
        check("exchange.connect exchange.connect", Some("exchange.connect"));
        check("offline_access", None);
        check("", None);
        check(" ", None);
        for invalid in
            ["openid", "profile", "email", "exchange.stock.write", "exchange.future", "Offline_access"]
        {
            check(&format!("exchange.connect {invalid}"), None);
        }
    }

    /// A refresh never widens the granted scopes.
    #[test]
    fn refresh_never_widens_scopes() {
        let granted = ScopeSet::from_stored("exchange.connect exchange.stock.read");
        let check = |requested: Option<&str>, expect: Option<&str>| {
            assert_eq!(
                granted.narrow_to(requested).ok().map(|scopes| scopes.to_scope_string()).as_deref(),
                expect
            );
        };
        check(None, Some("exchange.connect exchange.stock.read"));
        check(Some("exchange.connect"), Some("exchange.connect"));
        check(Some("exchange.connect exchange.stock.write"), None);
        check(Some("exchange.connect offline_access"), None);
        check(Some(""), None);
    }

    /// WEB-03: the consent page lists the scopes in the order of the contract.
    #[test]
    fn capabilities_follow_the_contracts_order() {
        let scopes = ScopeSet::from_stored("offline_access exchange.stock.read exchange.connect");
        let lines: Vec<_> = scopes.capabilities().filter_map(Scope::consent).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], "See your warehouse stock");
    }
}
