//! Scopes of a request: which of them exist, and which a client may ask for (IDP-05, IDP-06).

use std::collections::BTreeSet;

use exchange_api::oauth_errors::OauthError;
use exchange_api::scopes::Scope;

use super::refusal::Refusal;
use crate::registry::Client;

/// Keeps a connection when its member signs out of the browser (IDP-08).
pub const OFFLINE_ACCESS: &str = "offline_access";

/// Scopes that a client asks for, or was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(BTreeSet<String>);

impl Scopes {
    /// Reads a list of scopes separated by blanks, and checks each (RFC 6749, 3.3).
    ///
    /// # Errors
    /// `invalid_scope` when there is none, or one that does not exist or that the client is not
    /// registered for. `openid`, `profile` and `email` do not exist: no client learns who its member is
    /// (IDP-06).
    pub(super) fn asked(text: &str, client: &Client) -> Result<Self, Refusal> {
        let scopes = Self::read(text);
        if scopes.0.is_empty() {
            return Err(Refusal::new(OauthError::InvalidScope, "no scope is asked for"));
        }
        let allowed = |scope: &String| {
            scope == OFFLINE_ACCESS || Scope::from(scope.as_str()).is_known() && client.scopes.contains(scope)
        };
        if scopes.0.iter().all(allowed) {
            Ok(scopes)
        } else {
            let said = "a scope does not exist, or the client is not registered for it";
            Err(Refusal::new(OauthError::InvalidScope, said))
        }
    }

    /// Scopes that were checked before, as they are stored.
    pub(super) fn read(text: &str) -> Self {
        Self(text.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect())
    }

    /// The part of them that a refresh asks for (RFC 6749, 6).
    ///
    /// # Errors
    /// `invalid_scope` when it asks for more, or for nothing.
    pub(super) fn narrowed(&self, asked: Option<&str>) -> Result<Self, Refusal> {
        let Some(asked) = asked else { return Ok(self.clone()) };
        let asked = Self::read(asked);
        if !asked.0.is_empty() && asked.0.is_subset(&self.0) {
            Ok(asked)
        } else {
            Err(Refusal::new(OauthError::InvalidScope, "more is asked for than was granted"))
        }
    }

    /// As they are stored and answered.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether the connection outlives the browser session (IDP-08).
    #[must_use]
    pub fn is_offline(&self) -> bool {
        self.0.contains(OFFLINE_ACCESS)
    }

    /// The scopes of the exchange among them, in the contract's order: one line of the consent page each
    /// (WEB-03).
    pub fn capabilities(&self) -> impl Iterator<Item = &'static Scope> {
        Scope::ALL.iter().filter(|scope| self.0.contains(scope.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        let scopes = ["exchange.connect", "exchange.stock.read", "exchange.future"];
        Client {
            name: "A client".to_owned(),
            suspended: false,
            scopes: scopes.map(str::to_owned).into(),
            min_version: None,
            requests_per_minute: None,
            writes_per_day: None,
        }
    }

    /// IDP-05, IDP-06: a client gets what it is registered for and nothing that tells who its member is.
    #[test]
    fn what_may_be_asked_for() {
        let check = |text: &str, expect: Option<&str>| {
            let asked = Scopes::asked(text, &client());
            let code = asked.as_ref().map_err(Refusal::code);
            match expect {
                Some(expect) => assert_eq!(code.unwrap().text(), expect, "{text}"),
                None => assert_eq!(code.unwrap_err(), "invalid_scope", "{text}"),
            }
        };
        check("exchange.connect offline_access", Some("exchange.connect offline_access"));
        check(" exchange.stock.read  exchange.connect", Some("exchange.connect exchange.stock.read"));
        check("exchange.connect exchange.connect", Some("exchange.connect"));
        check("offline_access", Some("offline_access"));
        check("", None);
        check(" ", None);
        for wrong in
            ["openid", "profile", "email", "exchange.stock.write", "exchange.future", "Offline_access"]
        {
            check(&format!("exchange.connect {wrong}"), None);
        }
    }

    /// List G: scope widening.
    #[test]
    fn a_refresh_never_widens() {
        let granted = Scopes::read("exchange.connect exchange.stock.read");
        let check = |asked: Option<&str>, expect: Option<&str>| {
            assert_eq!(granted.narrowed(asked).ok().map(|scopes| scopes.text()).as_deref(), expect);
        };
        check(None, Some("exchange.connect exchange.stock.read"));
        check(Some("exchange.connect"), Some("exchange.connect"));
        check(Some("exchange.connect exchange.stock.write"), None);
        check(Some("exchange.connect offline_access"), None);
        check(Some(""), None);
    }

    /// WEB-03
    #[test]
    fn capabilities_stand_in_the_contracts_order() {
        let scopes = Scopes::read("offline_access exchange.stock.read exchange.connect");
        let lines: Vec<_> = scopes.capabilities().filter_map(Scope::consent).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], "See your warehouse stock");
    }
}
